//! The parts of a block, before and after parsing; and totals by type, where no graph is built.

use std::sync::Arc;

use crate::input::hprof::layout::classes::ClassLayout;
use crate::input::hprof::wire::FIRST_PRIMITIVE_BASIC_TYPE;
use crate::input::java_types::PRIMITIVES;
use crate::input::sink::ObjectSink;

/// A part of a segment within a block: sub-records, one after another.
#[derive(Debug, Clone)]
pub struct SegmentPiece {
    /// Its bytes in the block.
    pub range: std::ops::Range<usize>,
    /// Its offset in the file.
    pub offset: u64,
    /// The file ends with it, before the segment does.
    pub is_cut: bool,
    /// The values of its last sub-record, a large array of numbers, were passed over.
    pub last_values_skipped: bool,
    /// It begins with so many elements of the array that the piece before ended in.
    pub leading_element_count: u64,
    /// Its last sub-record, a large array of objects, goes on in the next pieces.
    pub ends_in_object_array: bool,
    /// The Android heap at its start.
    pub heap: AndroidHeap,
}

/// A part of the file with whole sub-records.
#[derive(Debug, Clone, Copy)]
pub struct FileExtent {
    pub offset: u64,
    pub bytes: u64,
    /// Objects of it have ids from this ...
    pub min_id: u64,
    /// ... to this.
    pub max_id: u64,
}

/// An Android heap: its type and the id of its name; `None` for the default one.
pub type AndroidHeap = Option<(u32, u64)>;

/// A root record.
#[derive(Debug, Clone, Copy)]
pub struct RawRoot {
    pub tag: u8,
    pub object: u64,
    /// Serial of the thread; of a global root of JNI the id of the reference; 0 where the record has neither.
    pub thread_or_jni_reference: u64,
    /// Number of the frame, or for a thread's own root the serial of its trace.
    pub frame_or_trace: u32,
    pub position: u64,
}

/// An instance whose class was not known.
#[derive(Debug, Clone)]
pub struct DeferredInstance {
    pub id: u64,
    pub class: u64,
    pub position: u64,
    pub heap: AndroidHeap,
    /// The object that is next in the file, of those that were not put aside.
    pub next_object: u32,
    /// Length of its values.
    pub value_bytes: u32,
    /// Offset of its values in the block's `deferred_values`, later among those of all.
    pub value_start: usize,
}

/// A type as one block numbers it.
#[derive(Debug, Clone)]
pub struct BlockType {
    /// The class; for arrays of primitives the basic type.
    pub class_or_basic_type: u64,
    pub kind: TypeKind,
    /// Position of its first object in a block.
    pub first_position: u64,
    /// The layout of an instance's class, if it is known.
    pub layout: Option<Arc<ClassLayout>>,
    /// Position of the first instance whose bytes are more or fewer than its fields'.
    pub size_mismatch_position: Option<u64>,
}

impl BlockType {
    pub fn new(class: u64, kind: TypeKind, position: u64, layout: Option<Arc<ClassLayout>>) -> Self {
        BlockType { class_or_basic_type: class, kind, first_position: position, layout, size_mismatch_position: None }
    }
}

/// All types of primitive arrays, by the basic types of their elements.
pub fn primitive_array_types() -> impl Iterator<Item = (u64, TypeKind)> {
    (u64::from(FIRST_PRIMITIVE_BASIC_TYPE)..)
        .take(PRIMITIVES.len())
        .map(|basic_type| (basic_type, TypeKind::PrimitiveArray))
}

/// Whether objects of a type are instances or arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TypeKind {
    Instance,
    ObjectArray,
    PrimitiveArray,
}

/// Sub-records by kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct SubRecordCounts {
    pub instances: u64,
    pub object_arrays: u64,
    pub primitive_arrays: u64,
    pub classes: u64,
    pub roots: u64,
}

/// Arrays are counted by their number of elements modulo this: enough to know what rounding up to any alignment adds.
pub const RESIDUE_COUNT: usize = 256;

/// Objects of one type of a block.
#[derive(Debug, Clone, Default)]
pub struct HprofTypeCount {
    pub objects: u64,
    pub elements: u64,
    /// Arrays by the number of their elements modulo `RESIDUE_COUNT`; empty for instances.
    pub arrays_by_residue: Box<[u32]>,
}

/// Counts by type number, and ids.
#[derive(Debug, Default)]
pub struct HprofTypeCounts {
    pub counts_by_type: Vec<HprofTypeCount>,
    /// The least and the greatest id.
    pub id_bounds: Option<(u64, u64)>,
    /// Position of the first object.
    pub first_position: u64,
    /// Some id is not greater than the one before it.
    pub has_unordered_ids: bool,
    last_id: u64,
    pub object_count: u64,
}

impl ObjectSink for HprofTypeCounts {
    const BUILDS_GRAPH: bool = false;

    #[inline]
    fn push_object(&mut self, id: u64, type_number: u32, elements: u64, position: u64) {
        let index = type_number as usize;
        if index >= self.counts_by_type.len() {
            self.counts_by_type.resize(index + 1, HprofTypeCount::default());
        }
        let count = &mut self.counts_by_type[index];
        count.objects += 1;
        if elements > 0 {
            if count.arrays_by_residue.is_empty() {
                count.arrays_by_residue = vec![0; RESIDUE_COUNT].into();
            }
            count.elements += elements;
            count.arrays_by_residue[elements as usize % RESIDUE_COUNT] += 1;
        }
        match &mut self.id_bounds {
            Some((least, greatest)) => {
                self.has_unordered_ids |= id <= self.last_id;
                (*least, *greatest) = ((*least).min(id), (*greatest).max(id));
            }
            None => (self.id_bounds, self.first_position) = (Some((id, id)), position),
        }
        self.last_id = id;
        self.object_count += 1;
    }

    fn push_reference(&mut self, _: u64) {}

    fn object_count(&self) -> usize {
        self.object_count as usize
    }

    fn clear(&mut self) {
        for count in &mut self.counts_by_type {
            (count.objects, count.elements) = (0, 0);
            count.arrays_by_residue.fill(0);
        }
        (self.id_bounds, self.has_unordered_ids, self.object_count) = (None, false, 0);
    }

    fn memory_bytes(&self) -> usize {
        let arrays = self.counts_by_type.iter().filter(|count| !count.arrays_by_residue.is_empty()).count();
        self.counts_by_type.capacity() * size_of::<HprofTypeCount>() + arrays * RESIDUE_COUNT * 4
    }
}
