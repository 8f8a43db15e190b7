//! Numbers that identify things in one graph: newtypes that cannot be mixed up.
//!
//! A number belongs to the graph that gave it out and means nothing in another.

use std::num::NonZeroU32;

use bytemuck::{Pod, Zeroable};

use super::column::ColumnNumber;

/// An object of one [`HeapGraph`](super::HeapGraph): dense, from 0, ascending by section and then by original id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct NodeId(pub(super) u32);

/// A type (class) of one graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct TypeId(pub(super) u32);

/// A section of one graph (AppDomain, heap space, process); users see it numbered from 1.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct SectionId(pub(super) u32);

/// A number from 0 to `u32::MAX - 1`, stored one higher: an `Option` of it takes no more room. Graphs have millions of
/// roots, of which few have a name, a thread or a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub(super) struct NonMaxNumber(NonZeroU32);

impl NonMaxNumber {
    pub(super) fn new(number: u32) -> Self {
        NonMaxNumber(NonZeroU32::MIN.saturating_add(number))
    }

    pub(super) fn number(self) -> u32 {
        self.0.get() - 1
    }
}

impl ColumnNumber for NodeId {
    fn value(self) -> u64 {
        self.0.into()
    }
}

impl ColumnNumber for TypeId {
    fn value(self) -> u64 {
        self.0.into()
    }
}

/// Ids that are indices from 0.
macro_rules! indices {
    ($($id:ident)*) => { $(
        impl $id {
            /// The id with this index; meaningful only below the number of such things in the graph.
            pub fn new(index: usize) -> Self {
                $id(index as u32)
            }

            /// Index from 0, into arrays with an entry for each.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )* };
}

indices!(NodeId TypeId SectionId);

impl SectionId {
    /// The number users see and type, from 1.
    pub fn number(self) -> usize {
        self.0 as usize + 1
    }
}

/// A type as readers number it: several slots of one name become one type of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeSlot(pub u32);
