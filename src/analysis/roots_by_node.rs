//! The root records of each object, found by binary search.

use crate::graph::{HeapGraph, NodeId, Root, RootKind};

/// The places of a graph's root records, by object.
#[derive(Debug)]
pub struct RootsByNode<'g> {
    roots: &'g [Root],
    places: Vec<u32>,
    /// The strong record to show for each object that has one, by object.
    strong: Vec<u32>,
}

impl<'g> RootsByNode<'g> {
    /// Sorts the records. O(records x log); 8 bytes for each at most.
    pub fn new(graph: &'g HeapGraph) -> Self {
        let roots = graph.roots();
        let mut places: Vec<u32> = (0..roots.len() as u32).collect();
        places.sort_unstable_by_key(|&place| (roots[place as usize].node, place));
        let mut strong: Vec<u32> = Vec::new();
        for &place in places.iter().filter(|&&place| roots[place as usize].is_strong()) {
            let root = &roots[place as usize];
            match strong.last_mut() {
                Some(best) if roots[*best as usize].node == root.node => {
                    if display_rank(root) < display_rank(&roots[*best as usize]) {
                        *best = place;
                    }
                }
                _ => strong.push(place),
            }
        }
        RootsByNode { roots, places, strong }
    }

    /// The records of an object, in the order of the dump. O(log records), then O(1) each.
    pub fn of(&self, node: NodeId) -> impl Iterator<Item = &'g Root> + Clone + use<'g, '_> {
        let roots = self.roots;
        let start = self.places.partition_point(|&place| roots[place as usize].node < node);
        let places = self.places[start..].iter().map(move |&place| &roots[place as usize]);
        places.take_while(move |root| root.node == node)
    }

    /// The strong record to show for an object. O(log records).
    pub fn strong_display_root(&self, node: NodeId) -> Option<&'g Root> {
        let found = self.strong.binary_search_by_key(&node, |&place| self.roots[place as usize].node).ok()?;
        Some(&self.roots[self.strong[found] as usize])
    }

    /// The record to show for an object: strong before weak, then by kind, then the first. O(log records), then O(1) for each
    /// of the object's.
    pub fn display_root(&self, node: NodeId, wanted: impl Fn(&Root) -> bool) -> Option<&'g Root> {
        self.of(node).filter(|root| wanted(root)).min_by_key(|root| display_rank(root))
    }
}

/// Orders the root records of an object: the one with the smallest rank is shown. Strong before weak, then by kind (that it
/// is a thread before its locals: a thread that runs is its own `this`), then those that name a variable, method or class.
pub(super) fn display_rank(root: &Root) -> (bool, bool, RootKind, bool) {
    let is_telling = matches!(root.kind, RootKind::Static | RootKind::Thread);
    (root.is_weak(), !is_telling, root.kind, root.container.is_none() && root.name.is_none())
}
