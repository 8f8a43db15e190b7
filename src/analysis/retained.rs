//! Retained sizes: what would be freed with an object, by its dominator tree.

use std::io;

use super::dominators::{DomNode, Dominators};
use crate::graph::{ByteCounts, Column, ColumnSink, ColumnSource, HeapGraph, NodeId};

/// By number in the dominator tree.
#[derive(Debug)]
enum Bytes {
    /// As computed.
    Wide(Vec<u64>),
    /// As stored.
    Packed(ByteCounts),
}

/// Bytes and objects that each reached object retains, itself included.
#[derive(Debug)]
pub struct Retained {
    /// By number in the dominator tree; 0 is everything that is reached.
    bytes: Bytes,
    objects: Column<u32>,
}

impl Retained {
    /// One sweep from the last number to the first. O(objects); 12 bytes per reached object.
    pub fn compute(graph: &HeapGraph, dominators: &Dominators) -> Self {
        let count = dominators.reached_count() + 1;
        let mut bytes = vec![0u64; count];
        let mut objects = vec![0u32; count];
        for node in dominators.all().rev() {
            let (number, parent) = (node.index(), dominators.immediate_of(node).index());
            // Sizes are the dump's: a damaged one may add up to more than there can be.
            bytes[number] = bytes[number].saturating_add(graph.shallow_bytes(dominators.node_at(node)));
            objects[number] += 1;
            bytes[parent] = bytes[parent].saturating_add(bytes[number]);
            objects[parent] += objects[number];
        }
        Retained { bytes: Bytes::Wide(bytes), objects: objects.into() }
    }

    /// Bytes, by number in the tree; number 0 is all that is reached. O(1).
    pub fn bytes_at(&self, number: DomNode) -> u64 {
        let number = number.index();
        match &self.bytes {
            Bytes::Wide(bytes) => bytes[number],
            Bytes::Packed(bytes) => bytes.get(number),
        }
    }

    /// Objects, by number in the tree; number 0 is all that is reached. O(1).
    pub fn objects_at(&self, number: DomNode) -> u32 {
        self.objects.get(number.index())
    }

    /// Bytes the object retains; `None` when no strong root reaches it. O(1).
    pub fn bytes_of(&self, dominators: &Dominators, node: NodeId) -> Option<u64> {
        dominators.number_of(node).map(|number| self.bytes_at(number))
    }

    /// Writes the sizes in another order: `order` has the number here of each number there. O(objects).
    pub(super) fn store(&self, order: &[DomNode], sink: &mut dyn ColumnSink) -> io::Result<()> {
        ByteCounts::pack(order.iter().map(|&number| self.bytes_at(number))).store(sink, "retained.bytes")?;
        let objects: Vec<u32> = order.iter().map(|&number| self.objects.get(number.index())).collect();
        Column::from(objects).store(sink, "retained.objects")
    }

    pub(super) fn from_stored(source: &dyn ColumnSource, count: usize) -> Option<Retained> {
        let bytes = Bytes::Packed(ByteCounts::from_stored(source, "retained.bytes", count)?);
        let objects: Column<u32> = Column::stored(source, "retained.objects", u64::MAX)?;
        (objects.len() == count).then_some(Retained { bytes, objects })
    }
}
