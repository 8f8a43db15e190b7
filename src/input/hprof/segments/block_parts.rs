//! The parts of a block, before and after parsing.

use std::sync::Arc;

use crate::input::hprof::layout::classes::Layout;

/// A part of a segment within a block: sub-records, one after another.
#[derive(Debug, Clone)]
pub(in crate::input::hprof) struct Piece {
    /// Its bytes in the block.
    pub(in crate::input::hprof) range: std::ops::Range<usize>,
    /// Its offset in the file.
    pub(in crate::input::hprof) offset: u64,
    /// The file ends with it, before the segment does.
    pub(in crate::input::hprof) is_cut: bool,
    /// The values of its last sub-record, a large array of numbers, were passed over.
    pub(in crate::input::hprof) skips_values: bool,
    /// It begins with so many elements of the array that the piece before ended in.
    pub(in crate::input::hprof) leading_elements: u64,
    /// Its last sub-record, a large array of objects, goes on in the next pieces.
    pub(in crate::input::hprof) ends_in_array: bool,
    /// The Android heap at its start, 0 for the default one; else the id of the name and the type of a `HEAP_INFO`.
    pub(in crate::input::hprof) heap: Heap,
}

/// A part of the file with whole sub-records.
#[derive(Debug, Clone, Copy)]
pub(in crate::input::hprof) struct Extent {
    pub(in crate::input::hprof) offset: u64,
    pub(in crate::input::hprof) bytes: u64,
    /// Objects of it have ids from this ...
    pub(in crate::input::hprof) least: u64,
    /// ... to this.
    pub(in crate::input::hprof) greatest: u64,
}

/// An Android heap: its type and the id of its name.
pub(in crate::input::hprof) type Heap = Option<(u32, u64)>;

/// A root record.
#[derive(Debug, Clone, Copy)]
pub(in crate::input::hprof) struct RawRoot {
    pub(in crate::input::hprof) tag: u8,
    pub(in crate::input::hprof) object: u64,
    /// Serial of the thread; of a root of a JNI reference its id.
    pub(in crate::input::hprof) thread: u64,
    /// Number of the frame, or for a thread's own root the serial of its trace.
    pub(in crate::input::hprof) number: u32,
    pub(in crate::input::hprof) position: u64,
}

/// An instance whose class was not known.
#[derive(Debug, Clone)]
pub(in crate::input::hprof) struct Deferred {
    pub(in crate::input::hprof) id: u64,
    pub(in crate::input::hprof) class: u64,
    pub(in crate::input::hprof) position: u64,
    pub(in crate::input::hprof) heap: Heap,
    /// The object that is next in the file, of those that were not put aside.
    pub(in crate::input::hprof) before: u32,
    /// Offset of its values in the block's `deferred_bytes`, and their length.
    pub(in crate::input::hprof) length: u32,
    pub(in crate::input::hprof) start: usize,
}

/// A type as one block numbers it.
#[derive(Debug, Clone)]
pub(in crate::input::hprof) struct LocalType {
    /// The class; for arrays of primitives the basic type.
    pub(in crate::input::hprof) class: u64,
    pub(in crate::input::hprof) kind: TypeKind,
    /// Position of its first object in a block.
    pub(in crate::input::hprof) position: u64,
    /// The layout of an instance's class, if it is known.
    pub(in crate::input::hprof) layout: Option<Arc<Layout>>,
    /// Position of the first instance whose bytes are more or fewer than its fields'.
    pub(in crate::input::hprof) mismatch: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::input::hprof) enum TypeKind {
    Instance,
    ObjectArray,
    PrimitiveArray,
}

/// Sub-records by kind.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::input::hprof) struct Counts {
    pub(in crate::input::hprof) instances: u64,
    pub(in crate::input::hprof) object_arrays: u64,
    pub(in crate::input::hprof) primitive_arrays: u64,
    pub(in crate::input::hprof) classes: u64,
    pub(in crate::input::hprof) roots: u64,
}
