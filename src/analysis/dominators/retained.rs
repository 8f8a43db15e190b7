//! Retained sizes: what would be freed with an object, by its dominator tree.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{CLIMB_STEPS_PER_OBJECT, DominatorNode, Dominators};
use crate::graph::{ByteCounts, Column, ColumnSink, ColumnSource, HeapGraph, NodeId, NodeSet};
use crate::parallel;

/// Retained bytes of each object, by its number in the dominator tree.
#[derive(Debug)]
enum RetainedBytes {
    Computed(WideByteSums),
    /// As an index has them.
    Stored(ByteCounts<u32>),
}

/// Sums of bytes: 4 bytes each, and as many again only where a sum needs more.
#[derive(Debug)]
struct WideByteSums {
    /// The low 32 bits of each sum.
    low: Vec<u32>,
    /// Empty while all are below 4 GiB. Pages of it that stay zero cost nothing.
    high: Vec<u32>,
}

impl WideByteSums {
    #[inline]
    fn get(&self, at: usize) -> u64 {
        let high = if self.high.is_empty() { 0 } else { self.high[at] };
        u64::from(high) << 32 | u64::from(self.low[at])
    }

    #[inline]
    fn add(&mut self, at: usize, bytes: u64) {
        // Sizes are the dump's: a damaged one may add up to more than there can be.
        let sum = self.get(at).saturating_add(bytes);
        self.low[at] = sum as u32;
        if sum > u64::from(u32::MAX) {
            self.set_high(at, (sum >> 32) as u32);
        }
    }

    #[cold]
    fn set_high(&mut self, at: usize, high: u32) {
        if self.high.is_empty() {
            self.high = vec![0; self.low.len()];
        }
        self.high[at] = high;
    }
}

/// Bytes and objects that each reached object retains, itself included.
#[derive(Debug)]
pub struct RetainedSizes {
    /// By number in the dominator tree; 0 is everything that is reached.
    bytes: RetainedBytes,
    /// Objects, by the same number.
    objects: Column<u32>,
}

impl RetainedSizes {
    /// One sweep from the last number to the first. O(objects); 8 bytes per reached object, 12 where there are 4 GiB.
    pub fn compute(graph: &HeapGraph, dominators: &Dominators) -> Self {
        Self::compute_reusing(graph, dominators, Vec::new())
    }

    /// The tree and these sizes, in the tree's memory: faster than one after the other. `take_reached` gets what strong roots
    /// reach, long before the tree is done.
    pub fn with_dominators(graph: &HeapGraph, take_reached: &mut dyn FnMut(&NodeSet)) -> (Dominators, Self) {
        let (dominators, used) = Dominators::compute_with_scratch(graph, CLIMB_STEPS_PER_OBJECT, take_reached);
        let retained = Self::compute_reusing(graph, &dominators, used);
        (dominators, retained)
    }

    fn compute_reusing(graph: &HeapGraph, dominators: &Dominators, memory: Vec<u32>) -> Self {
        let count = dominators.reached_count() + 1;
        let mut bytes = WideByteSums { low: vec![0; count], high: Vec::new() };
        let has_giants = AtomicBool::new(false);
        let shallow_bytes = |number: usize| graph.shallow_bytes(dominators.node_at(DominatorNode::new(number)));
        parallel::for_each_piece(&mut bytes.low[1..], &|first, piece| {
            for (at, low) in piece.iter_mut().enumerate() {
                let bytes = shallow_bytes(1 + first + at);
                *low = bytes as u32;
                if bytes > u64::from(u32::MAX) {
                    has_giants.store(true, Ordering::Relaxed);
                }
            }
        });
        if has_giants.into_inner() {
            for number in 1..count {
                let bytes_of_object = shallow_bytes(number);
                bytes.low[number] = 0;
                bytes.add(number, bytes_of_object);
            }
        }
        let mut objects = memory;
        objects.clear();
        objects.resize(count, 1);
        objects[0] = 0;
        rayon::join(
            || {
                dominators.for_each_with_dominator_descending(|number, dominator| {
                    bytes.add(dominator.index(), bytes.get(number.index()));
                });
            },
            || {
                dominators.for_each_with_dominator_descending(|number, dominator| {
                    objects[dominator.index()] += objects[number.index()];
                });
            },
        );
        RetainedSizes { bytes: RetainedBytes::Computed(bytes), objects: objects.into() }
    }

    /// Bytes, by number in the tree; number 0 is all that is reached. O(1).
    pub fn bytes_at(&self, number: DominatorNode) -> u64 {
        let number = number.index();
        match &self.bytes {
            RetainedBytes::Computed(bytes) => bytes.get(number),
            RetainedBytes::Stored(bytes) => bytes.get(number),
        }
    }

    /// Objects, by number in the tree; number 0 is all that is reached. O(1).
    pub fn objects_at(&self, number: DominatorNode) -> u32 {
        self.objects.get(number.index())
    }

    /// Bytes the object retains; `None` when no strong root reaches it. O(1).
    pub fn bytes_of(&self, dominators: &Dominators, node: NodeId) -> Option<u64> {
        dominators.number_of(node).map(|number| self.bytes_at(number))
    }

    /// Writes the sizes in another order: `order` has the number here of each number there. O(objects).
    pub(super) fn store(&self, order: &[DominatorNode], sink: &mut dyn ColumnSink) -> io::Result<()> {
        ByteCounts::<u32>::pack(order.iter().map(|&number| self.bytes_at(number))).store(sink, "retained.bytes")?;
        let objects: Vec<u32> = order.iter().map(|&number| self.objects.get(number.index())).collect();
        Column::from(objects).store(sink, "retained.objects")
    }

    pub(super) fn from_stored(source: &dyn ColumnSource, count: usize) -> Option<RetainedSizes> {
        let bytes = RetainedBytes::Stored(ByteCounts::from_stored(source, "retained.bytes", count)?);
        let objects: Column<u32> = Column::from_stored(source, "retained.objects", u64::MAX)?;
        (objects.len() == count).then_some(RetainedSizes { bytes, objects })
    }
}
