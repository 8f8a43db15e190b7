//! Destinations of a reader's objects: columns for the graph, or totals by type alone.

use std::ops::Range;

use super::problem_codes::{POSSIBLE_REPEAT, SIZE_OVERFLOW};
use super::repeat_detector::RepeatDetector;
use super::{Diagnostics, Position};
use crate::graph::{BuildError, GraphBuilder, ObjectColumns, SectionId};

/// A destination of parsed objects; generic, so that counting costs nothing of building.
pub(super) trait ObjectSink: Default + Send {
    /// True where a graph comes of it; else roots and references need not be kept.
    const BUILDS_GRAPH: bool;
    /// Begins an object. `type_number` is the block's number for its type; `size` its bytes, or the elements of an array
    /// whose bytes are not known yet.
    fn push_object(&mut self, id: u64, type_number: u32, size: u64, position: u64);
    /// A reference of the object begun last.
    fn push_reference(&mut self, id: u64);
    /// The same that holds nothing.
    fn push_weak_reference(&mut self, id: u64) {
        self.push_reference(id);
    }
    /// Objects so far.
    fn object_count(&self) -> usize;
    /// Takes everything out, keeping the memory.
    fn clear(&mut self);
    /// Bytes of memory it has, used or not.
    fn memory_bytes(&self) -> usize;
    /// Called once the block is complete, on the thread that parsed it: to pack what is in it.
    fn seal(&mut self) {}
}

/// A destination of the objects of text blocks, which lie in sections.
pub(super) trait RecordSink: ObjectSink {
    /// References so far.
    fn reference_count(&self) -> usize;
    /// Hands a part of the block on; returns references that no object can take.
    fn deliver(
        &self,
        part: SectionPart<'_>,
        builder: &mut GraphBuilder,
        totals: &mut SlotTotals,
    ) -> Result<usize, BuildError>;
}

/// A part of a block that lies in one section.
#[derive(Debug)]
pub(super) struct SectionPart<'a> {
    pub(super) section: SectionId,
    pub(super) objects: Range<usize>,
    /// Type numbers of the block that were first used in this part.
    pub(super) type_indices: Range<usize>,
    /// The builder's slot of each of the block's type numbers.
    pub(super) slots: &'a [u32],
    pub(super) lines_before: u64,
    /// References before the block's first object belong to the last object of the block before.
    pub(super) takes_leading_references: bool,
}

/// Objects and bytes by the builder's type slots.
#[derive(Debug, Default)]
pub(super) struct SlotTotals {
    pub(super) by_slot: Vec<ObjectsAndBytes>,
    pub(super) sums: ByteSums,
    repeats: RepeatDetector,
}

/// Bytes of all objects and of one section's, to see where they no longer fit 64 bits.
#[derive(Debug, Default)]
pub(super) struct ByteSums {
    all_bytes: u128,
    section_bytes: u128,
    /// Sections that do not fit; and where the first object is with which the sum did not.
    overflowed_sections: u64,
    first_overflow_position: Option<u64>,
}

impl ByteSums {
    pub(super) fn begin_section(&mut self) {
        self.section_bytes = 0;
    }

    /// Adds bytes; `position` is asked for with what was counted before, once they do not fit.
    pub(super) fn add(&mut self, bytes: u128, position: impl FnOnce(u128) -> u64) {
        const MAX: u128 = u64::MAX as u128;
        if self.all_bytes + bytes > MAX && self.first_overflow_position.is_none() {
            self.first_overflow_position = Some(position(self.all_bytes));
        }
        self.overflowed_sections += u64::from(self.section_bytes <= MAX && self.section_bytes + bytes > MAX);
        self.section_bytes += bytes;
        self.all_bytes += bytes;
    }

    /// Reports sums that end before the last object.
    pub(super) fn report_overflow(&self, diagnostics: &mut Diagnostics, place: fn(u64) -> Position) {
        if let Some(position) = self.first_overflow_position {
            diagnostics.add(&SIZE_OVERFLOW, self.overflowed_sections.max(1), place(position), String::new);
        }
    }
}

impl SlotTotals {
    /// Begins a section, with ids of its own.
    pub(super) fn begin_section(&mut self) {
        self.sums.begin_section();
        self.repeats.begin_section();
    }

    /// Takes the ids of objects, of which the least and the greatest are given; without order any may be a repeat.
    pub(super) fn add_run(&mut self, ids: (u64, u64), objects: u64, ascending: bool, position: u64) {
        if ascending {
            self.repeats.add_run(ids, objects, position);
        } else {
            self.repeats.note_repeats(objects, position);
            self.repeats.add_run(ids, 0, position);
        }
    }

    /// Reports what counting alone can tell of the objects.
    pub(super) fn report(&self, diagnostics: &mut Diagnostics, place: fn(u64) -> Position) {
        self.sums.report_overflow(diagnostics, place);
        diagnostics.add(
            &POSSIBLE_REPEAT,
            self.repeats.possible_repeat_count,
            place(self.repeats.first_repeat_position),
            String::new,
        );
    }

    /// (name, objects, bytes) of every type that has objects, slots of one name together, by name.
    pub(super) fn by_name(&self, slot_names: impl IntoIterator<Item = String>) -> Vec<(String, u64, u64)> {
        totals_by_name(self.by_slot.iter().copied().zip(slot_names))
    }
}

/// (name, objects, bytes) of every type that has objects, those of one name together, by name.
pub(super) fn totals_by_name(totals: impl Iterator<Item = (ObjectsAndBytes, String)>) -> Vec<(String, u64, u64)> {
    let mut types = std::collections::BTreeMap::<String, ObjectsAndBytes>::new();
    for (total, name) in totals.filter(|(total, _)| total.objects > 0) {
        let sum = types.entry(name).or_default();
        sum.objects += total.objects;
        sum.bytes += total.bytes;
    }
    let shown_bytes = |bytes| u64::try_from(bytes).unwrap_or(u64::MAX);
    types.into_iter().map(|(name, total)| (name, total.objects, shown_bytes(total.bytes))).collect()
}

/// Objects and bytes of one type.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ObjectsAndBytes {
    pub(super) objects: u64,
    pub(super) bytes: u128,
}

impl ObjectSink for ObjectColumns {
    const BUILDS_GRAPH: bool = true;

    #[inline]
    fn push_object(&mut self, id: u64, type_number: u32, size: u64, position: u64) {
        self.push_object(id, type_number, size, position);
    }

    #[inline]
    fn push_reference(&mut self, id: u64) {
        self.push_reference(id);
    }

    #[inline]
    fn push_weak_reference(&mut self, id: u64) {
        self.push_weak_reference(id);
    }

    fn object_count(&self) -> usize {
        self.len()
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn memory_bytes(&self) -> usize {
        self.memory_bytes()
    }

    fn seal(&mut self) {
        self.seal();
    }
}

impl RecordSink for ObjectColumns {
    fn reference_count(&self) -> usize {
        self.reference_count()
    }

    fn deliver(
        &self,
        part: SectionPart<'_>,
        builder: &mut GraphBuilder,
        _: &mut SlotTotals,
    ) -> Result<usize, BuildError> {
        builder.append(part.section, self, part.objects, part.slots, part.lines_before, part.takes_leading_references)
    }
}

/// Objects and bytes by the block's own type numbers.
#[derive(Debug, Default)]
pub(super) struct TypeCounts {
    totals: Vec<ObjectsAndBytes>,
    /// Id and line of each object of the block.
    ids_and_lines: Vec<(u64, u64)>,
    /// Objects of 4 GiB or more: (number, bytes).
    large_objects: Vec<(usize, u64)>,
    references: usize,
}

impl ObjectSink for TypeCounts {
    const BUILDS_GRAPH: bool = false;

    #[inline]
    fn push_object(&mut self, id: u64, type_index: u32, shallow_bytes: u64, line: u64) {
        let index = type_index as usize;
        if index >= self.totals.len() {
            self.totals.resize(index + 1, ObjectsAndBytes::default());
        }
        let total = &mut self.totals[index];
        total.objects += 1;
        total.bytes += u128::from(shallow_bytes);
        if shallow_bytes > u64::from(u32::MAX) {
            self.large_objects.push((self.ids_and_lines.len(), shallow_bytes));
        }
        self.ids_and_lines.push((id, line));
    }

    #[inline]
    fn push_reference(&mut self, _: u64) {
        self.references += 1;
    }

    fn object_count(&self) -> usize {
        self.ids_and_lines.len()
    }

    fn clear(&mut self) {
        self.totals.clear();
        self.ids_and_lines.clear();
        self.large_objects.clear();
        self.references = 0;
    }

    fn memory_bytes(&self) -> usize {
        self.totals.capacity() * size_of::<ObjectsAndBytes>()
            + self.ids_and_lines.capacity() * size_of::<(u64, u64)>()
            + self.large_objects.capacity() * size_of::<(usize, u64)>()
    }
}

impl RecordSink for TypeCounts {
    fn reference_count(&self) -> usize {
        self.references
    }

    fn deliver(
        &self,
        part: SectionPart<'_>,
        _: &mut GraphBuilder,
        totals: &mut SlotTotals,
    ) -> Result<usize, BuildError> {
        let mut bytes = 0;
        for index in part.type_indices.clone() {
            let Some(own) = self.totals.get(index) else { break };
            let slot = part.slots[index] as usize;
            if slot >= totals.by_slot.len() {
                totals.by_slot.resize(slot + 1, ObjectsAndBytes::default());
            }
            let total = &mut totals.by_slot[slot];
            total.objects += own.objects;
            total.bytes += own.bytes;
            bytes += own.bytes;
        }
        totals.sums.add(bytes, |before| part.lines_before + self.line_of_overflow(&part.objects, before));
        for &(id, line) in &self.ids_and_lines[part.objects] {
            totals.repeats.add(id, part.lines_before + line);
        }
        Ok(0)
    }
}

impl TypeCounts {
    /// The line of the large object with which a sum no longer fits 64 bits; small ones are not looked at.
    fn line_of_overflow(&self, objects: &Range<usize>, before: u128) -> u64 {
        let mut sum = before;
        let mut large = self.large_objects.iter().filter(|(object, _)| objects.contains(object));
        let over = large.find(|&&(_, bytes)| {
            sum += u128::from(bytes);
            sum > u128::from(u64::MAX)
        });
        let object = over.map_or(objects.end.saturating_sub(1), |&(object, _)| object);
        self.ids_and_lines.get(object).map_or(0, |&(_, line)| line)
    }
}
