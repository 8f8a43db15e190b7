//! What a block is made of, and what is found in it.

use std::sync::Arc;

use super::classes::Layout;

/// A part of a segment within a block: sub-records, one after another.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    /// Its bytes in the block.
    pub(super) range: std::ops::Range<usize>,
    /// Its offset in the file.
    pub(super) offset: u64,
    /// The file ends with it, before the segment does.
    pub(super) is_cut: bool,
    /// The values of its last sub-record, a large array of numbers, were passed over.
    pub(super) skips_values: bool,
    /// It begins with so many elements of the array that the piece before ended in.
    pub(super) leading_elements: u64,
    /// Its last sub-record, a large array of objects, goes on in the next pieces.
    pub(super) ends_in_array: bool,
    /// The Android heap at its start, 0 for the default one; else the id of the name and the type of a `HEAP_INFO`.
    pub(super) heap: Heap,
}

/// A part of the file with whole sub-records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    /// Objects of it have ids from this ...
    pub(super) least: u64,
    /// ... to this.
    pub(super) greatest: u64,
}

/// An Android heap: its type and the id of its name.
pub(super) type Heap = Option<(u32, u64)>;

/// A root record.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawRoot {
    pub(super) tag: u8,
    pub(super) object: u64,
    /// Serial of the thread; of a root of a JNI reference its id.
    pub(super) thread: u64,
    /// Number of the frame, or for a thread's own root the serial of its trace.
    pub(super) number: u32,
    pub(super) position: u64,
}

/// An instance whose class was not known.
#[derive(Debug, Clone)]
pub(super) struct Deferred {
    pub(super) id: u64,
    pub(super) class: u64,
    pub(super) position: u64,
    pub(super) heap: Heap,
    /// The object that is next in the file, of those that were not put aside.
    pub(super) before: u32,
    /// Where its values are in the block's `deferred_bytes`, and how many.
    pub(super) length: u32,
    pub(super) start: usize,
}

/// A type as one block numbers it.
#[derive(Debug, Clone)]
pub(super) struct LocalType {
    /// The class; for arrays of primitives the basic type.
    pub(super) class: u64,
    pub(super) kind: TypeKind,
    /// Where the first object of it in a block is.
    pub(super) position: u64,
    /// What is known of an instance's class.
    pub(super) layout: Option<Arc<Layout>>,
    /// Where the first instance is whose bytes are more or fewer than its fields'.
    pub(super) mismatch: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TypeKind {
    Instance,
    ObjectArray,
    PrimitiveArray,
}

/// Sub-records by kind.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) instances: u64,
    pub(super) object_arrays: u64,
    pub(super) primitive_arrays: u64,
    pub(super) classes: u64,
    pub(super) roots: u64,
}
