//! Retained sizes: what would be freed with an object, by its dominator tree.

use std::io;

use super::{DomNode, Dominators, STEP_BUDGET, Used};
use crate::graph::{ByteCounts, Column, ColumnSink, ColumnSource, HeapGraph, NodeId};
use crate::parallel;

/// Retained bytes of each object, by its number in the dominator tree.
#[derive(Debug)]
enum RetainedBytes {
    /// As computed.
    Computed(Vec<u64>),
    /// As an index has them.
    Stored(ByteCounts),
}

/// Bytes and objects that each reached object retains, itself included.
#[derive(Debug)]
pub struct Retained {
    /// By number in the dominator tree; 0 is everything that is reached.
    bytes: RetainedBytes,
    objects: Column<u32>,
}

impl Retained {
    /// One sweep from the last number to the first. O(objects); 12 bytes per reached object.
    pub fn compute(graph: &HeapGraph, dominators: &Dominators) -> Self {
        Self::compute_in(graph, dominators, Used { narrow: Vec::new(), wide: Vec::new() })
    }

    /// The tree and these sizes, in the tree's memory: faster than one after the other.
    pub fn with_dominators(graph: &HeapGraph) -> (Dominators, Self) {
        let (dominators, used) = Dominators::compute_and_leave(graph, STEP_BUDGET);
        let retained = Self::compute_in(graph, &dominators, used);
        (dominators, retained)
    }

    fn compute_in(graph: &HeapGraph, dominators: &Dominators, used: Used) -> Self {
        let count = dominators.reached_count() + 1;
        let Used { narrow: mut objects, wide: mut bytes } = used;
        bytes.clear();
        bytes.resize(count, 0);
        parallel::each_piece(&mut bytes[1..], &|first, piece| {
            for (at, bytes) in piece.iter_mut().enumerate() {
                *bytes = graph.shallow_bytes(dominators.node_at(DomNode::new(1 + first + at)));
            }
        });
        objects.clear();
        objects.resize(count, 1);
        objects[0] = 0;
        for node in dominators.all().rev() {
            let (number, parent) = (node.index(), dominators.immediate_of(node).index());
            // Sizes are the dump's: a damaged one may add up to more than there can be.
            bytes[parent] = bytes[parent].saturating_add(bytes[number]);
            objects[parent] += objects[number];
        }
        Retained { bytes: RetainedBytes::Computed(bytes), objects: objects.into() }
    }

    /// Bytes, by number in the tree; number 0 is all that is reached. O(1).
    pub fn bytes_at(&self, number: DomNode) -> u64 {
        let number = number.index();
        match &self.bytes {
            RetainedBytes::Computed(bytes) => bytes[number],
            RetainedBytes::Stored(bytes) => bytes.get(number),
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
        let bytes = RetainedBytes::Stored(ByteCounts::from_stored(source, "retained.bytes", count)?);
        let objects: Column<u32> = Column::stored(source, "retained.objects", u64::MAX)?;
        (objects.len() == count).then_some(Retained { bytes, objects })
    }
}
