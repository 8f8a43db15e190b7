//! The content of a dump, collected block after block in the order of the file.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use super::layout::classes::Classes;
use super::layout::measured_distances::{MeasuredDistances, NearestDistance};
use super::segments::block::Block;
use super::segments::block_parts::{
    AndroidHeap, DeferredInstance, FileExtent, HprofTypeCount, HprofTypeCounts, RESIDUE_COUNT, RawRoot,
    SubRecordCounts, TypeKind, primitive_array_types,
};
use super::segments::lock_classes;
use crate::graph::{
    BuildError, ClearableKind, GraphBuilder, IdStyle, MemoryBudget, MemoryShare, ObjectColumns, Section, SectionId,
};
use crate::input::ReadError;
use crate::input::java_types::PRIMITIVES;
use crate::input::repeat_detector::RepeatDetector;
use crate::input::sink::ObjectSink;

/// A type by the builder's slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlotType {
    /// The class; for arrays of primitives the basic type.
    pub(super) class_or_basic_type: u64,
    pub(super) kind: TypeKind,
    /// Position of its first object.
    pub(super) first_position: u64,
}

/// Objects of one type, where objects are only counted.
#[derive(Debug, Clone, Default)]
pub(super) struct HprofTypeTotal {
    pub(super) objects: u64,
    pub(super) elements: u64,
    /// Arrays by their elements modulo `RESIDUE_COUNT`; empty for instances.
    pub(super) arrays_by_residue: Vec<u64>,
}

impl HprofTypeTotal {
    pub(super) fn add(&mut self, count: &HprofTypeCount) {
        self.objects += count.objects;
        self.elements += count.elements;
        if !count.arrays_by_residue.is_empty() {
            self.arrays_by_residue.resize(RESIDUE_COUNT, 0);
            for (sum, &residue) in self.arrays_by_residue.iter_mut().zip(&count.arrays_by_residue) {
                *sum += u64::from(residue);
            }
        }
    }
}

/// Instances whose class came after them.
#[derive(Debug, Default)]
pub(super) struct DeferredInstances {
    /// Where the values of each are in `values`.
    pub(super) instances: Vec<DeferredInstance>,
    /// The values of all, one after another.
    pub(super) values: Vec<u8>,
}

/// The records found in a dump.
#[derive(Default)]
pub(super) struct HprofRecords {
    pub(super) builder: GraphBuilder,
    pub(super) section: SectionId,
    pub(super) slot_types: Vec<SlotType>,
    slot_by_type: FxHashMap<(u64, TypeKind), u32>,
    pub(super) classes: Arc<Mutex<Classes>>,
    pub(super) dump_number: usize,
    pub(super) counts: SubRecordCounts,
    pub(super) roots: Vec<RawRoot>,
    pub(super) deferred: DeferredInstances,
    /// Instances of `java.lang.Class`, which some writers have beside class dumps: id, position, references.
    pub(super) java_lang_class_instances: Vec<(u64, u64, Vec<u64>)>,
    /// Objects that have several records.
    pub(super) repeated_ids: Vec<u64>,
    pub(super) null_references: u64,
    /// Where entries could not be read: offset, and true if the file ends there.
    pub(super) unreadable_places: Vec<(u64, bool)>,
    /// Bytes behind these places.
    pub(super) unread_bytes: u64,
    /// Instances by slot.
    pub(super) distances: MeasuredDistances,
    /// By class object: the next object that is none.
    pub(super) object_after_class: FxHashMap<u64, u64>,
    /// By slot: the first position at which an instance has more or fewer bytes than its fields.
    pub(super) size_mismatches: FxHashMap<u32, u64>,
    /// Parts of the file that have objects.
    pub(super) extents: Vec<FileExtent>,
    /// (object, heap) where the heap changes.
    pub(super) heap_changes: Vec<(u32, AndroidHeap)>,
    /// By slot, where objects are only counted.
    pub(super) totals: Vec<HprofTypeTotal>,
    /// Tells from the ids of blocks whether objects may be listed twice, where objects are only counted.
    pub(super) repeats: RepeatDetector,
    /// (from, to, how) of references that hold until the runtime gives them up.
    pub(super) soft_references: Vec<(u64, u64, ClearableKind)>,
    share: MemoryShare,
    budget: MemoryBudget,
}

impl HprofRecords {
    pub(super) fn new(classes: Arc<Mutex<Classes>>, budget: &MemoryBudget) -> Self {
        let mut builder = GraphBuilder::new(IdStyle::Prefixed);
        builder.limit_memory(budget);
        let section = builder.begin_section(Section { name: "heap".into(), ..Section::default() });
        let (share, budget) = (budget.for_content(), budget.clone());
        let mut content = HprofRecords { builder, section, classes, share, budget, ..HprofRecords::default() };
        for (basic_type, kind) in primitive_array_types() {
            content.find_or_add_slot(basic_type, kind, 0);
        }
        content
    }

    /// The builder's slot for objects of a class, or for arrays.
    pub(super) fn find_or_add_slot(&mut self, class: u64, kind: TypeKind, position: u64) -> u32 {
        *self.slot_by_type.entry((class, kind)).or_insert_with(|| {
            self.slot_types.push(SlotType { class_or_basic_type: class, kind, first_position: position });
            self.builder.new_type().0
        })
    }

    /// The same, if there is one already.
    pub(super) fn known_slot(&self, class: u64, kind: TypeKind) -> Option<u32> {
        self.slot_by_type.get(&(class, kind)).copied()
    }

    /// Takes the next block of the file: of its lists nothing is left in it. Error: if there is no memory for it.
    pub(super) fn take_block<S: BlockSink>(&mut self, block: &mut Block<S>) -> Result<(), ReadError> {
        if self.dump_number != block.dump_number && self.dump_number != 0 {
            self.begin_next_dump();
        }
        self.dump_number = block.dump_number;
        for local in &block.types[block.slots.len()..] {
            self.find_or_add_slot(local.class_or_basic_type, local.kind, local.first_position);
        }
        for number in block.slots.len()..block.types.len() {
            let local = &block.types[number];
            let slot = self.slot_by_type[&(local.class_or_basic_type, local.kind)];
            block.slots.push(slot);
        }
        let first = self.builder.object_count() as u32;
        block.sink.deliver(&block.slots, self)?;
        {
            let mut classes = lock_classes(&self.classes);
            for dump in block.classes.drain(..) {
                classes.add_class_dump(dump, block.dump_number);
            }
        }
        self.distances.join(&block.distances, &block.slots);
        for &(class, id) in &block.distances.object_after_class {
            let Some(&class) = block.class_ids.get(class as usize) else { continue };
            let behind = self.object_after_class.entry(class).or_insert(id);
            *behind = (*behind).min(id);
        }
        self.counts.add(&block.counts);
        self.roots.append(&mut block.roots);
        self.null_references += block.null_references;
        self.unreadable_places.append(&mut block.unreadable_places);
        self.unread_bytes += block.unread_bytes;
        self.extents.append(&mut block.extents);
        self.java_lang_class_instances.append(&mut block.java_lang_class_instances);
        self.soft_references.append(&mut block.soft_references);
        // Each segment begins in the default heap.
        let begins_elsewhere = block.heap_changes.first().is_some_and(|&(object, _)| object == 0);
        if !begins_elsewhere && self.heap_changes.last().is_some_and(|(_, heap)| heap.is_some()) {
            self.heap_changes.push((first, None));
        }
        self.heap_changes.extend(block.heap_changes.drain(..).map(|(object, heap)| (first + object, heap)));
        for (local, &slot) in block.types.iter().zip(&block.slots) {
            if let Some(position) = local.size_mismatch_position {
                let at = self.size_mismatches.entry(slot).or_insert(position);
                *at = (*at).min(position);
            }
        }
        let start = self.deferred.values.len();
        self.deferred.values.extend_from_slice(&block.deferred_values);
        self.deferred.instances.extend(block.deferred.drain(..).map(|mut deferred| {
            deferred.value_start += start;
            deferred.next_object += first;
            deferred
        }));
        let own = self.deferred.values.capacity()
            + self.deferred.instances.capacity() * size_of::<DeferredInstance>()
            + self.extents.capacity() * size_of::<FileExtent>()
            + self.roots.capacity() * size_of::<RawRoot>()
            + self.soft_references.capacity() * size_of::<(u64, u64, ClearableKind)>()
            + self.slot_types.len() * (size_of::<NearestDistance>() + size_of::<HprofTypeTotal>() + 64);
        Ok(self.share.set_held_bytes(own as u64)?)
    }

    /// Another dump of the file begins, and it is the one that is wanted. Slots stay as they are.
    fn begin_next_dump(&mut self) {
        let types = std::mem::take(&mut self.slot_types);
        let mut fresh = HprofRecords::new(Arc::clone(&self.classes), &self.budget);
        for slot in &types[PRIMITIVES.len()..] {
            fresh.find_or_add_slot(slot.class_or_basic_type, slot.kind, slot.first_position);
        }
        *self = fresh;
    }
}

/// A sink that can hand its block on.
pub(super) trait BlockSink: ObjectSink {
    /// Hands a block on. `slots` are those of its type numbers.
    fn deliver(&self, slots: &[u32], content: &mut HprofRecords) -> Result<(), BuildError>;
}

impl BlockSink for ObjectColumns {
    fn deliver(&self, slots: &[u32], content: &mut HprofRecords) -> Result<(), BuildError> {
        content.builder.append(content.section, self, 0..self.len(), slots, 0, true)?;
        Ok(())
    }
}

impl BlockSink for HprofTypeCounts {
    fn deliver(&self, slots: &[u32], content: &mut HprofRecords) -> Result<(), BuildError> {
        for (count, &slot) in self.counts_by_type.iter().zip(slots).filter(|(count, _)| count.objects > 0) {
            let slot = slot as usize;
            if slot >= content.totals.len() {
                content.totals.resize(slot + 1, HprofTypeTotal::default());
            }
            content.totals[slot].add(count);
        }
        if let Some(ids) = self.id_bounds {
            // Without order any may be a repeat of another in the block: not worth a note, for writers do not repeat
            // objects so near to each other.
            let objects = if self.has_unordered_ids { 0 } else { self.object_count };
            content.repeats.add_run(ids, objects, self.first_position);
        }
        Ok(())
    }
}

impl SubRecordCounts {
    fn add(&mut self, other: &SubRecordCounts) {
        self.instances += other.instances;
        self.object_arrays += other.object_arrays;
        self.primitive_arrays += other.primitive_arrays;
        self.classes += other.classes;
        self.roots += other.roots;
    }
}
