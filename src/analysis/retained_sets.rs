//! Retained sizes of sets of objects: of a type, a package, a section.
//!
//! What would be freed if a whole set went is not the sum of its members' retained sizes: one member may hold another,
//! and two together may hold what neither holds alone. The sum over the members that no member of the same set
//! dominates counts nothing twice and is a lower bound; the exact figure takes a marking of the heap without the set.

use petgraph::visit::{Dfs, VisitMap};
use rayon::prelude::*;

use super::dominators::{Children, Dominators, Step};
use super::retained::Retained;
use crate::graph::{HeapGraph, NodeId, NodeSet};

/// The members of a set that no other member dominates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Topmost {
    /// How many there are.
    pub objects: u64,
    /// Their retained bytes, added up.
    pub retained_bytes: u64,
}

/// No set: an object that is not counted.
pub const NO_SET: u32 = u32::MAX;

/// For each of `set_count` disjoint sets its topmost members among the objects below `from` in the dominator tree (0:
/// among all). `set_of` says which set an object is in. O(objects).
pub fn topmost_of_sets(
    dominators: &Dominators,
    retained: &Retained,
    children: &Children<'_>,
    from: usize,
    set_count: usize,
    set_of: impl Fn(NodeId) -> u32,
) -> Vec<Topmost> {
    let mut topmost = vec![Topmost::default(); set_count];
    let mut open = vec![0u32; set_count];
    children.walk(from, |step| {
        let (Step::Enter(number) | Step::Leave(number)) = step;
        let set = set_of(dominators.node_at(number));
        if set == NO_SET {
            return;
        }
        let open = &mut open[set as usize];
        match step {
            // Wraps only over a damaged index, whose answers are thrown away.
            Step::Leave(_) => *open = open.wrapping_sub(1),
            Step::Enter(_) => {
                if *open == 0 {
                    let topmost = &mut topmost[set as usize];
                    topmost.objects += 1;
                    topmost.retained_bytes = topmost.retained_bytes.saturating_add(retained.bytes_at(number));
                }
                *open = open.wrapping_add(1);
            }
        }
    });
    topmost
}

/// The topmost members of one set, by number in the tree. O(objects).
pub fn topmost_members(
    dominators: &Dominators,
    children: &Children<'_>,
    is_member: impl Fn(NodeId) -> bool,
) -> Vec<u32> {
    let mut members = Vec::new();
    let mut open = 0u32;
    children.walk(0, |step| {
        let (Step::Enter(number) | Step::Leave(number)) = step;
        if !is_member(dominators.node_at(number)) {
            return;
        }
        match step {
            Step::Leave(_) => open = open.wrapping_sub(1),
            Step::Enter(_) => {
                if open == 0 {
                    members.push(number as u32);
                }
                open = open.wrapping_add(1);
            }
        }
    });
    members
}

/// For each of `sets` what would become unreachable if all of it were taken out, in bytes: 0 when none of it is
/// reachable. `reachable_bytes` is what all strong roots reach. One marking per set, on all threads:
/// O(objects + references) each.
pub fn exact_retained_bytes(
    graph: &HeapGraph,
    reachable_bytes: u64,
    sets: &[u32],
    set_of: impl Fn(NodeId) -> u32 + Sync,
) -> Vec<u64> {
    let mut starts: Vec<NodeId> = graph.strong_roots().map(|root| root.node).collect();
    starts.sort_unstable();
    starts.dedup();
    sets.par_iter()
        .map(|&set| {
            let seen = Without { seen: NodeSet::new(graph.node_count()), is_out: |node| set_of(node) == set };
            let mut walk = Dfs::from_parts(Vec::new(), seen);
            let mut left = 0u64;
            for &start in &starts {
                if !walk.discovered.is_visited(&start) {
                    walk.move_to(start);
                    while let Some(node) = walk.next(graph) {
                        left = left.saturating_add(graph.shallow_bytes(node));
                    }
                }
            }
            reachable_bytes.saturating_sub(left)
        })
        .collect()
}

/// A set of seen nodes in which those that are taken out count as seen from the start.
struct Without<F> {
    seen: NodeSet,
    is_out: F,
}

impl<F: Fn(NodeId) -> bool> VisitMap<NodeId> for Without<F> {
    fn visit(&mut self, node: NodeId) -> bool {
        !(self.is_out)(node) && self.seen.insert(node)
    }

    fn is_visited(&self, node: &NodeId) -> bool {
        self.seen.contains(*node) || (self.is_out)(*node)
    }

    fn unvisit(&mut self, node: NodeId) -> bool {
        let was = self.seen.contains(node);
        self.seen.remove(node);
        was
    }
}
