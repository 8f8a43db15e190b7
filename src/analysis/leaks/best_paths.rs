//! The best way to every object: the one that explains most, which is not the shortest.

use crate::graph::{HeapGraph, NodeId, NodeSet, prefetch};

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

/// One parent for each object that is reached: the tree of best paths.
#[derive(Debug)]
pub struct BestPaths {
    /// By object.
    parents: Vec<u32>,
}

/// Columns of objects for a search and for what it finds: 13 bytes for each. To have them from the system takes as long as a
/// good part of the search, so that they may be asked for while nobody knows yet where it begins.
#[derive(Debug)]
pub struct SearchMemory {
    pub(super) distances: Vec<u8>,
    /// By object its parent, and the label of the reference from that, beside each other: they are read and written together.
    pub(super) steps: Vec<u32>,
    pub(super) rows_by_node: Vec<u32>,
}

impl SearchMemory {
    /// For a search in this graph. O(objects).
    pub fn new(graph: &HeapGraph) -> Self {
        let count = graph.node_count();
        SearchMemory {
            distances: vec![UNREACHED; count],
            steps: vec![NO_PARENT; 2 * count],
            rows_by_node: vec![NO_ROW; count],
        }
    }
}

/// An object on its best way.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReachedObject {
    pub(super) node: NodeId,
    parent: u32,
    marked_label: u32,
}

impl ReachedObject {
    /// The object before it; `None` where the way begins.
    pub(super) fn parent(self) -> Option<NodeId> {
        (self.parent != NO_PARENT).then(|| NodeId::new(self.parent as usize))
    }

    /// The label of the reference from that.
    pub(super) fn label(self) -> u32 {
        self.marked_label & !UNEXPLAINED_LABEL_BIT
    }

    /// That reference explains nothing.
    pub(super) fn is_unexplained(self) -> bool {
        self.marked_label & UNEXPLAINED_LABEL_BIT != 0
    }
}

impl BestPaths {
    /// Dijkstra's algorithm with small whole numbers as costs, in a queue for each cost. Of ways of one cost the first that
    /// is found stays. `take` gets every object that is reached, each behind its parent, first those that lead on.
    /// O(objects + references); 4 bytes for each object that is queued, beside the memory given.
    pub(super) fn find(
        graph: &HeapGraph,
        starts: &[StartObject],
        ways: &mut impl ReferenceCosts,
        (mut distances, mut parents): (Vec<u8>, Vec<u32>),
        take: &mut dyn FnMut(ReachedObject),
    ) -> Self {
        let count = graph.node_count();
        let (steps_by_node, _) = parents.as_chunks_mut();
        let mut reach = |steps_by_node: &[[u32; 2]], node: NodeId| {
            let [parent, marked_label] = steps_by_node[node.index()];
            take(ReachedObject { node, parent, marked_label });
        };
        let mut queues: Vec<Vec<NodeId>> = vec![Vec::new(); usize::from(MAX_COST) + 1];
        for start in starts {
            let cost = start.cost.min(MAX_COST);
            if cost < distances[start.node.index()] {
                distances[start.node.index()] = cost;
                steps_by_node[start.node.index()][1] = start.label | UNEXPLAINED_LABEL_BIT;
                queues[usize::from(cost)].push(start.node);
            }
        }
        let mut is_done = NodeSet::new(count);
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
                    prefetch(steps_by_node, node.index());
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
                reach(steps_by_node, from);
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
                    steps_by_node[to.index()] = [from.index() as u32, step.label | unexplained];
                    // What refers to nothing leads nowhere.
                    if !graph.strong_references(to).is_empty() {
                        queues[usize::from(further)].push(to);
                    }
                }
            }
            queues[usize::from(cost)] = Vec::new();
        }
        for node in graph.nodes().filter(|node| distances[node.index()] != UNREACHED && !is_done.contains(*node)) {
            reach(steps_by_node, node);
        }
        (0..count).for_each(|node| parents[node] = parents[2 * node]);
        parents.truncate(count);
        parents.shrink_to_fit();
        BestPaths { parents }
    }

    /// The object before this one on the best way; `None` where the way begins.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        let parent = self.parents[node.index()];
        (parent != NO_PARENT).then(|| NodeId::new(parent as usize))
    }

    /// The best way, from its start to the object itself. O(length).
    pub fn path_to(&self, node: NodeId) -> Vec<NodeId> {
        let mut way: Vec<NodeId> = std::iter::successors(Some(node), |&at| self.parent(at)).collect();
        way.reverse();
        way
    }
}
