//! Retained sizes: what would be freed with an object, by its dominator tree.

use super::dominators::Dominators;
use crate::graph::{HeapGraph, NodeId};

/// Bytes and objects that each reached object retains, itself included.
#[derive(Debug)]
pub struct Retained {
    /// By number in the dominator tree; 0 is everything that is reached.
    bytes: Vec<u64>,
    objects: Vec<u32>,
}

impl Retained {
    /// One sweep from the last number to the first. O(objects); 12 bytes per reached object.
    pub fn compute(graph: &HeapGraph, dominators: &Dominators) -> Self {
        let count = dominators.reached_count() + 1;
        let mut bytes = vec![0u64; count];
        let mut objects = vec![0u32; count];
        for number in (1..count).rev() {
            // Sizes are the dump's: a damaged one may add up to more than there can be.
            bytes[number] = bytes[number].saturating_add(graph.shallow_bytes(dominators.node_at(number)));
            objects[number] += 1;
            let above = dominators.immediate_of(number);
            bytes[above] = bytes[above].saturating_add(bytes[number]);
            objects[above] += objects[number];
        }
        Retained { bytes, objects }
    }

    /// Bytes, by number in the tree; number 0 is all that is reached. O(1).
    pub fn bytes_at(&self, number: usize) -> u64 {
        self.bytes[number]
    }

    /// Objects, by number in the tree; number 0 is all that is reached. O(1).
    pub fn objects_at(&self, number: usize) -> u32 {
        self.objects[number]
    }

    /// Bytes the object retains; `None` when no strong root reaches it. O(1).
    pub fn bytes_of(&self, dominators: &Dominators, node: NodeId) -> Option<u64> {
        dominators.number_of(node).map(|number| self.bytes[number])
    }
}
