//! The root records of each object, found without a look at all of them.

use super::root_paths::telling_rank;
use crate::graph::{HeapGraph, NodeId, Root};

/// The places of a graph's root records, by object.
#[derive(Debug)]
pub struct RootsByNode<'g> {
    roots: &'g [Root],
    places: Vec<u32>,
}

impl<'g> RootsByNode<'g> {
    /// Sorts the records. O(records x log); 4 bytes for each.
    pub fn new(graph: &'g HeapGraph) -> Self {
        let roots = graph.roots();
        let mut places: Vec<u32> = (0..roots.len() as u32).collect();
        places.sort_unstable_by_key(|&place| (roots[place as usize].node, place));
        RootsByNode { roots, places }
    }

    /// The records of an object, in the order of the dump. O(log records), then O(1) each.
    pub fn of(&self, node: NodeId) -> impl Iterator<Item = &'g Root> + Clone + use<'g, '_> {
        let roots = self.roots;
        let start = self.places.partition_point(|&place| roots[place as usize].node < node);
        let places = self.places[start..].iter().map(move |&place| &roots[place as usize]);
        places.take_while(move |root| root.node == node)
    }

    /// The record to show for an object: strong before weak, then the most telling kind, then the first.
    pub fn most_telling(&self, node: NodeId, wanted: impl Fn(&Root) -> bool) -> Option<&'g Root> {
        self.of(node).filter(|root| wanted(root)).min_by_key(|root| telling_rank(root))
    }
}
