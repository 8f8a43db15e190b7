//! Where a text reader's parsers put objects: into columns for the graph, or into totals by type alone.

use std::ops::Range;

use crate::graph::{BuildError, GraphBuilder, ObjectColumns, SectionId};

/// What parsers need of the place that takes objects; generic, so that counting costs nothing of building.
pub(super) trait ObjectSink: Default + Send {
    /// Does a graph come of it? Else roots need not be kept.
    const BUILDS_GRAPH: bool;
    /// Begins an object. `type_index` is the block's number for its type, `line` counts from 1 in the block.
    fn push_object(&mut self, id: u64, type_index: u32, shallow_bytes: u64, line: u64);
    /// A reference of the object begun last.
    fn push_reference(&mut self, id: u64);
    /// Objects so far.
    fn object_count(&self) -> usize;
    /// References so far.
    fn reference_count(&self) -> usize;
    /// Takes everything out, keeping the memory.
    fn clear(&mut self);
    /// Bytes of memory it has, used or not.
    fn memory_bytes(&self) -> usize;
    /// Called once the block is complete, on the thread that parsed it.
    fn seal(&mut self);
    /// Hands a part of the block on; returns references that no object can take.
    fn deliver(&self, part: Part<'_>, builder: &mut GraphBuilder, totals: &mut Totals) -> Result<usize, BuildError>;
}

/// A part of a block that lies in one section.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) section: SectionId,
    /// Objects of the block.
    pub(super) objects: Range<usize>,
    /// Type numbers of the block that were first used in this part.
    pub(super) type_indices: Range<usize>,
    /// The builder's slot of each of the block's type numbers.
    pub(super) slots: &'a [u32],
    pub(super) lines_before: u64,
    /// References before the block's first object belong to the last object of the block before.
    pub(super) takes_leading: bool,
}

/// Objects and bytes by the builder's type slots.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) by_slot: Vec<TypeTotal>,
}

impl Totals {
    /// (name, objects, bytes) of every type that has objects, slots of one name together, by name.
    pub(super) fn by_name(&self, slot_names: Vec<String>) -> Vec<(String, u64, u64)> {
        let mut types = std::collections::BTreeMap::<String, TypeTotal>::new();
        for (total, name) in self.by_slot.iter().zip(slot_names) {
            if total.objects > 0 {
                let sum = types.entry(name).or_default();
                sum.objects += total.objects;
                sum.bytes = sum.bytes.saturating_add(total.bytes);
            }
        }
        types.into_iter().map(|(name, total)| (name, total.objects, total.bytes)).collect()
    }
}

/// Objects and bytes of one type.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TypeTotal {
    pub(super) objects: u64,
    pub(super) bytes: u64,
}

impl ObjectSink for ObjectColumns {
    const BUILDS_GRAPH: bool = true;

    #[inline]
    fn push_object(&mut self, id: u64, type_index: u32, shallow_bytes: u64, line: u64) {
        self.push_object(id, type_index, shallow_bytes, line);
    }

    #[inline]
    fn push_reference(&mut self, id: u64) {
        self.push_reference(id);
    }

    fn object_count(&self) -> usize {
        self.len()
    }

    fn reference_count(&self) -> usize {
        self.reference_count()
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

    fn deliver(&self, part: Part<'_>, builder: &mut GraphBuilder, _: &mut Totals) -> Result<usize, BuildError> {
        builder.append(part.section, self, part.objects, part.slots, part.lines_before, part.takes_leading)
    }
}

/// Objects and bytes by the block's own type numbers.
#[derive(Debug, Default)]
pub(super) struct TypeCounts {
    totals: Vec<TypeTotal>,
    objects: usize,
    references: usize,
}

impl ObjectSink for TypeCounts {
    const BUILDS_GRAPH: bool = false;

    #[inline]
    fn push_object(&mut self, _: u64, type_index: u32, shallow_bytes: u64, _: u64) {
        let index = type_index as usize;
        if index >= self.totals.len() {
            self.totals.resize(index + 1, TypeTotal::default());
        }
        let total = &mut self.totals[index];
        total.objects += 1;
        total.bytes = total.bytes.saturating_add(shallow_bytes);
        self.objects += 1;
    }

    #[inline]
    fn push_reference(&mut self, _: u64) {
        self.references += 1;
    }

    fn object_count(&self) -> usize {
        self.objects
    }

    fn reference_count(&self) -> usize {
        self.references
    }

    fn clear(&mut self) {
        self.totals.clear();
        self.objects = 0;
        self.references = 0;
    }

    fn memory_bytes(&self) -> usize {
        self.totals.capacity() * size_of::<TypeTotal>()
    }

    fn seal(&mut self) {}

    fn deliver(&self, part: Part<'_>, _: &mut GraphBuilder, totals: &mut Totals) -> Result<usize, BuildError> {
        for index in part.type_indices {
            let Some(own) = self.totals.get(index) else { break };
            let slot = part.slots[index] as usize;
            if slot >= totals.by_slot.len() {
                totals.by_slot.resize(slot + 1, TypeTotal::default());
            }
            let total = &mut totals.by_slot[slot];
            total.objects += own.objects;
            total.bytes = total.bytes.saturating_add(own.bytes);
        }
        Ok(0)
    }
}
