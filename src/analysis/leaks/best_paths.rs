//! The best way to every object: the one that explains most, which is not the shortest.

use crate::graph::{HeapGraph, NodeId, NodeSet};

/// The cost of a way ends here: what is further away is as far.
const MAX: u8 = 200;
/// The distance of what no way leads to.
const UNREACHED: u8 = u8::MAX;
const NO_PARENT: u32 = u32::MAX;
/// A reference of this cost or more explains nothing: what is reached over it stands by itself.
pub const CUT: u8 = 12;
/// In a label: the reference explains nothing.
const IS_CUT: u32 = 1 << 31;

/// An object that needs no other to explain it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// The object.
    pub node: NodeId,
    /// The less it explains the more it costs.
    pub cost: u8,
    /// Stands for the reference that leads to it.
    pub label: u32,
}

/// One reference as a way takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The less it explains the more it costs; from [`CUT`] on nothing.
    pub cost: u8,
    /// The number of its name: references of one name from objects of one row are one row.
    pub label: u32,
}

/// Costs and labels of references.
pub trait Ways {
    /// Appends a step for each of the strong references of an object, in their order.
    fn steps(&mut self, from: NodeId, to: &[NodeId], steps: &mut Vec<Step>);
}

/// One parent for each object that is reached: the tree of best ways.
#[derive(Debug)]
pub struct BestPaths {
    parents: Vec<u32>,
    /// By object: the label of the reference from its parent.
    labels: Vec<u32>,
    distances: Vec<u8>,
    /// Objects with references, each behind its parent.
    order: Vec<NodeId>,
}

impl BestPaths {
    /// Dijkstra's algorithm with small whole numbers as costs, in a queue for each cost. Of ways of one cost the first that
    /// is found stays. O(objects + references); 13 bytes per object, and 4 for each that is queued.
    pub fn find(graph: &HeapGraph, starts: &[Start], ways: &mut impl Ways) -> Self {
        let count = graph.node_count();
        let mut paths = BestPaths {
            parents: vec![NO_PARENT; count],
            labels: vec![0; count],
            distances: vec![UNREACHED; count],
            order: Vec::new(),
        };
        let mut queues: Vec<Vec<NodeId>> = vec![Vec::new(); usize::from(MAX) + 1];
        for start in starts {
            let cost = start.cost.min(MAX);
            if cost < paths.distances[start.node.index()] {
                paths.distances[start.node.index()] = cost;
                paths.labels[start.node.index()] = start.label | IS_CUT;
                queues[usize::from(cost)].push(start.node);
            }
        }
        let mut is_done = NodeSet::new(count);
        let mut steps = Vec::new();
        for cost in 0..=MAX {
            let mut at = 0;
            // References that cost nothing make the queue longer while it is worked on.
            while let Some(&from) = queues[usize::from(cost)].get(at) {
                at += 1;
                if paths.distances[from.index()] != cost || !is_done.insert(from) {
                    continue;
                }
                paths.order.push(from);
                let targets = graph.strong_references(from);
                steps.clear();
                ways.steps(from, targets, &mut steps);
                for (&to, step) in targets.iter().zip(&steps) {
                    let further = cost.saturating_add(step.cost).min(MAX);
                    let distance = &mut paths.distances[to.index()];
                    if further >= *distance {
                        continue;
                    }
                    *distance = further;
                    paths.parents[to.index()] = from.index() as u32;
                    paths.labels[to.index()] = step.label | if step.cost >= CUT { IS_CUT } else { 0 };
                    // What refers to nothing leads nowhere.
                    if !graph.strong_references(to).is_empty() {
                        queues[usize::from(further)].push(to);
                    }
                }
            }
            queues[usize::from(cost)] = Vec::new();
        }
        paths
    }

    /// The object before this one on the best way; `None` where the way begins.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        let parent = self.parents[node.index()];
        (parent != NO_PARENT).then(|| NodeId::new(parent as usize))
    }

    /// Does a way lead to the object?
    fn reaches(&self, node: NodeId) -> bool {
        self.distances[node.index()] != UNREACHED
    }

    /// The best way, from its start to the object itself. O(length).
    pub fn way_to(&self, node: NodeId) -> Vec<NodeId> {
        let mut way: Vec<NodeId> = std::iter::successors(Some(node), |&at| self.parent(at)).collect();
        way.reverse();
        way
    }

    /// The label of the reference from the parent, and whether that explains nothing.
    pub(super) fn label(&self, node: NodeId) -> (u32, bool) {
        let label = self.labels[node.index()];
        (label & !IS_CUT, label & IS_CUT != 0)
    }

    /// Every object that is reached, each behind its parent: first those that lead on.
    pub(super) fn ordered(&self, graph: &HeapGraph) -> impl Iterator<Item = NodeId> {
        let leaves = graph.nodes().filter(|&node| {
            self.reaches(node) && graph.strong_references(node).is_empty() && self.parent(node).is_some()
        });
        self.order.iter().copied().chain(leaves)
    }

    /// Gives up all but the parents: rows are made of the rest.
    pub(super) fn keep_parents(&mut self) {
        (self.labels, self.distances, self.order) = Default::default();
    }
}
