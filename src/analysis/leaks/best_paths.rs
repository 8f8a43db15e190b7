//! The best way to every object: the one that explains most, which is not the shortest.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::graph::{HeapGraph, NodeId, NodeSet, prefetch};
use crate::parallel;

/// The cost of a way ends here: what is further away is as far.
const MAX_COST: u8 = 200;
/// The distance of what no way leads to.
const UNREACHED: u8 = u8::MAX;
/// In place of a parent where a way begins, and where none leads.
const NO_PARENT: u32 = u32::MAX;
/// In place of a row, of an object that is not reached.
pub(super) const NO_ROW: u32 = u32::MAX;
/// Objects ahead in a queue whose references are asked for, and of each so many.
const PREFETCH_DISTANCE: usize = 4;
const MAX_PREFETCHED_REFERENCES: usize = 8;
/// A reference of this cost or more explains nothing: what is reached over it stands by itself.
pub const MIN_UNEXPLAINED_COST: u8 = 12;
/// In a label: the reference explains nothing, or there is none: the object is where a path starts.
const UNEXPLAINED_LABEL_BIT: u32 = 1 << 31;

/// An object that needs no other to explain it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartObject {
    /// The object.
    pub node: NodeId,
    /// The less it explains the more it costs.
    pub cost: u8,
    /// Stands for the reference that leads to it.
    pub label: u32,
}

/// One reference as a way takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostedReference {
    /// The less it explains the more it costs; from [`MIN_UNEXPLAINED_COST`] on nothing.
    pub cost: u8,
    /// The number of its name: references of one name from objects of one row are one row.
    pub label: u32,
}

/// Costs and labels of references.
pub trait ReferenceCosts {
    /// Appends a step for each of the strong references of an object, in their order.
    fn append_costs(&mut self, from: NodeId, to: &[NodeId], steps: &mut Vec<CostedReference>);

    /// Asks ahead for what the costs of an object's references follow from, where that helps.
    fn prefetch(&self, _from: NodeId) {}
}

/// One parent for each object that is reached, the tree of best paths, and its row.
#[derive(Debug)]
pub struct BestPaths {
    /// By object its parent, and the label of the reference from that, until in its place comes the number of the row: what
    /// finds parents and what makes rows of them are two threads, and an object goes from one to the other when it is found.
    pub(super) steps: Vec<[AtomicU32; 2]>,
}

/// Columns of objects for a search and for what it finds: 9 bytes for each. To have them from the system takes as long as a
/// good part of the search, so that they may be asked for while nobody knows yet where it begins.
#[derive(Debug)]
pub struct SearchMemory {
    pub(super) distances: Vec<u8>,
    pub(super) paths: BestPaths,
}

impl SearchMemory {
    /// For a search in this graph. O(objects).
    pub fn new(graph: &HeapGraph) -> Self {
        let count = graph.node_count();
        SearchMemory {
            distances: vec![UNREACHED; count],
            paths: BestPaths {
                steps: (0..count).map(|_| [AtomicU32::new(NO_PARENT), AtomicU32::new(NO_ROW)]).collect(),
            },
        }
    }
}

impl BestPaths {
    /// Dijkstra's algorithm with small whole numbers as costs, in a queue for each cost. Of ways of one cost the first that
    /// is found stays. `reach` gets every object that is reached, each behind its parent, first those that lead on; its parent
    /// and label are not touched from then on. O(objects + references); 4 bytes for each object that is queued.
    pub(super) fn find(
        &self,
        graph: &HeapGraph,
        starts: &[StartObject],
        ways: &mut impl ReferenceCosts,
        mut distances: Vec<u8>,
        reach: &mut dyn FnMut(NodeId),
    ) {
        let mut queues: Vec<Vec<NodeId>> = vec![Vec::new(); usize::from(MAX_COST) + 1];
        for start in starts {
            let cost = start.cost.min(MAX_COST);
            if cost < distances[start.node.index()] {
                distances[start.node.index()] = cost;
                self.steps[start.node.index()][1].store(start.label | UNEXPLAINED_LABEL_BIT, Relaxed);
                queues[usize::from(cost)].push(start.node);
            }
        }
        let mut is_done = NodeSet::new(graph.node_count());
        let mut steps = Vec::new();
        for cost in 0..=MAX_COST {
            let mut at = 0;
            // References that cost nothing make the queue longer while it is worked on.
            while let Some(&from) = queues[usize::from(cost)].get(at) {
                at += 1;
                let ahead = |by: usize| queues[usize::from(cost)].get(at + by).copied();
                if let Some(node) = ahead(4 * PREFETCH_DISTANCE) {
                    graph.prefetch_reference_offset(node);
                    graph.prefetch_type(node);
                    prefetch(&distances, node.index());
                }
                if let Some(node) = ahead(2 * PREFETCH_DISTANCE) {
                    graph.prefetch_references(node);
                    ways.prefetch(node);
                    prefetch(&self.steps, node.index());
                }
                for &to in ahead(PREFETCH_DISTANCE)
                    .map_or(&[][..], |node| graph.strong_references(node))
                    .iter()
                    .take(MAX_PREFETCHED_REFERENCES)
                {
                    prefetch(&distances, to.index());
                    graph.prefetch_reference_offset(to);
                    graph.prefetch_type(to);
                }
                if distances[from.index()] != cost || !is_done.insert(from) {
                    continue;
                }
                reach(from);
                let targets = graph.strong_references(from);
                // No way over this object is better.
                if targets.iter().all(|to| distances[to.index()] <= cost) {
                    continue;
                }
                steps.clear();
                ways.append_costs(from, targets, &mut steps);
                for (&to, step) in targets.iter().zip(&steps) {
                    let further = cost.saturating_add(step.cost).min(MAX_COST);
                    let distance = &mut distances[to.index()];
                    if further >= *distance {
                        continue;
                    }
                    *distance = further;
                    let unexplained = if step.cost >= MIN_UNEXPLAINED_COST { UNEXPLAINED_LABEL_BIT } else { 0 };
                    let [parent, label] = &self.steps[to.index()];
                    parent.store(from.index() as u32, Relaxed);
                    label.store(step.label | unexplained, Relaxed);
                    // What refers to nothing leads nowhere.
                    if !graph.strong_references(to).is_empty() {
                        queues[usize::from(further)].push(to);
                    }
                }
            }
            queues[usize::from(cost)] = Vec::new();
        }
        for node in graph.nodes().filter(|node| distances[node.index()] != UNREACHED && !is_done.contains(*node)) {
            reach(node);
        }
    }

    /// The object before this one on the best way; `None` where the way begins.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        let parent = self.steps[node.index()][0].load(Relaxed);
        (parent != NO_PARENT).then(|| NodeId::new(parent as usize))
    }

    /// The label of the reference from that, and whether it explains nothing; of an object that has no row yet.
    pub(super) fn label(&self, node: NodeId) -> (u32, bool) {
        let label = self.steps[node.index()][1].load(Relaxed);
        (label & !UNEXPLAINED_LABEL_BIT, label & UNEXPLAINED_LABEL_BIT != 0)
    }

    /// Gives an object its row, in place of the label.
    pub(super) fn set_row(&self, node: NodeId, row: u32) {
        self.steps[node.index()][1].store(row, Relaxed);
    }

    /// The row of an object; `NO_ROW` of one that is not reached.
    pub(super) fn row(&self, node: NodeId) -> u32 {
        self.steps[node.index()][1].load(Relaxed)
    }

    /// Asks for an object's parent and row.
    pub(super) fn prefetch(&self, node: NodeId) {
        prefetch(&self.steps, node.index());
    }

    /// Numbers all rows anew.
    pub(super) fn renumber_rows(&mut self, number: &[u32]) {
        parallel::for_each_piece(&mut self.steps, &|_, steps| {
            let rows = steps.iter_mut().map(|[_, row]| row.get_mut()).filter(|row| **row != NO_ROW);
            rows.for_each(|row| *row = number[*row as usize]);
        });
    }

    /// The best way, from its start to the object itself. O(length).
    pub fn path_to(&self, node: NodeId) -> Vec<NodeId> {
        let mut way: Vec<NodeId> = std::iter::successors(Some(node), |&at| self.parent(at)).collect();
        way.reverse();
        way
    }
}
