//! Immediate dominators of everything that strong roots reach: which object must be passed on every path to another.
//!
//! `compute` has the algorithm, `stored_dominators` the tree as an index keeps it, `retained` the sums over it.
//!
//! petgraph's `simple_fast` is the second opinion in tests; it is cubic on doubly linked lists.

mod children;
mod compute;
mod node;
pub mod retained;
mod stored_dominators;

use std::sync::OnceLock;

pub use children::{ChildNumbers, DominatorChildren, DominatorWalkStep, LazyDominatorChildren};
pub use node::DominatorNode;
pub use stored_dominators::StoredDominators;

use crate::graph::{Column, HeapGraph, NodeId, NodeSet};
use compute::{DepthFirstDominators, compute};

/// In place of the number of what is not reached.
const UNREACHED: u32 = u32::MAX;
/// Steps for each object after which climbing is given up for buckets.
pub(super) const CLIMB_STEPS_PER_OBJECT: u64 = 4;

/// Immediate dominator of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dominator {
    /// No strong root reaches the object.
    Unreachable,
    /// Nothing single: only the roots together.
    Roots,
    /// This object.
    Node(NodeId),
}

/// The dominator tree, in numbers of its own: 0 is the virtual root, reached objects follow, and every number is
/// greater than that of its immediate dominator. Which object has which number depends on how the tree was made; of
/// objects with one immediate dominator the order is always the same.
#[derive(Debug)]
pub struct Dominators {
    /// By number; the first means nothing.
    nodes: Column<NodeId>,
    tree: ImmediateDominators,
    /// By node; made when first asked for.
    numbers: OnceLock<Column<u32>>,
    node_count: usize,
    climb_steps: u64,
}

#[derive(Debug)]
enum ImmediateDominators {
    /// Depth-first numbers of the walk: the immediate dominator of each.
    DepthFirst(Vec<u32>),
    /// Numbers level by level: those that a number dominates follow one another from here on, up to those of the next.
    LevelOrder(Column<u32>),
}

impl Dominators {
    /// Computes the tree. O(references x log objects) at worst, near O(references) on heaps; 13 bytes per object and 4
    /// for each reference beside the tree while it runs, 17 at the least, 8 are kept.
    pub fn compute(graph: &HeapGraph) -> Self {
        Self::compute_with_step_budget(graph, CLIMB_STEPS_PER_OBJECT)
    }

    fn compute_with_step_budget(graph: &HeapGraph, step_budget: u64) -> Self {
        Self::compute_with_scratch(graph, step_budget, &mut |_| ()).0
    }

    /// The tree, and memory that can be used again. `take_reached` gets what strong roots reach before it is done.
    fn compute_with_scratch(
        graph: &HeapGraph,
        step_budget: u64,
        take_reached: &mut dyn FnMut(&NodeSet),
    ) -> (Self, Vec<u32>) {
        let DepthFirstDominators { nodes, immediate_dominators: immediate, climb_steps: steps, scratch_words: memory } =
            compute(graph, step_budget, take_reached);
        let tree = ImmediateDominators::DepthFirst(immediate);
        let (nodes, node_count) = (nodes.into(), graph.node_count());
        (Dominators { nodes, tree, numbers: OnceLock::new(), node_count, climb_steps: steps }, memory)
    }

    /// Reached objects.
    pub fn reached_count(&self) -> usize {
        self.nodes.len() - 1
    }

    /// The reached objects. O(objects), a bit for each.
    pub fn reached_nodes(&self) -> NodeSet {
        let mut reached = NodeSet::new(self.node_count);
        for &node in self.nodes.all_values().iter().skip(1) {
            reached.insert(node);
        }
        reached
    }

    /// The object in this tree, if it is reached. O(1) but for the first call, which makes a table of all: O(objects), 4
    /// bytes each.
    pub fn number_of(&self, node: NodeId) -> Option<DominatorNode> {
        self.reached_number(self.numbers().get(node.index()))
    }

    /// The same of consecutive objects: faster than asking for each.
    pub fn numbers_of(&self, nodes: std::ops::Range<usize>) -> impl Iterator<Item = Option<DominatorNode>> {
        self.numbers().slice(nodes).iter().map(|&number| self.reached_number(number))
    }

    fn numbers(&self) -> &Column<u32> {
        self.numbers.get_or_init(|| {
            let mut numbers = vec![UNREACHED; self.node_count];
            for (number, node) in self.nodes.all_values().iter().enumerate().skip(1) {
                numbers[node.index()] = number as u32;
            }
            numbers.into()
        })
    }

    /// `None` where it is not reached, or what a file says that no tree has.
    #[inline]
    fn reached_number(&self, number: u32) -> Option<DominatorNode> {
        Some(DominatorNode(number)).filter(|number| number.index() < self.nodes.len())
    }

    /// Levels below the roots, by number: 0 for the virtual root, 1 for what nothing single dominates. O(objects), 4 bytes
    /// for each.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths = vec![0u32; self.nodes.len()];
        for number in self.all_reached() {
            depths[number.index()] = depths[self.immediate_dominator_of(number).index()].saturating_add(1);
        }
        depths
    }

    /// The object of a node of this tree other than the root. O(1).
    #[inline]
    pub fn node_at(&self, number: DominatorNode) -> NodeId {
        self.nodes.get(number.index())
    }

    /// The object so many numbers behind, to be asked for ahead.
    #[inline]
    pub(crate) fn node_ahead(&self, number: DominatorNode, distance: usize) -> Option<NodeId> {
        let ahead = number.index() + distance;
        (ahead < self.nodes.len()).then(|| self.nodes.get(ahead))
    }

    /// Every reached object, each after its immediate dominator.
    pub(crate) fn all_reached(&self) -> impl DoubleEndedIterator<Item = DominatorNode> + use<> {
        (1..self.nodes.len()).map(DominatorNode::new)
    }

    /// Calls `take` with every reached object and its immediate dominator, of which that comes first. O(objects).
    pub(crate) fn for_each_with_dominator(&self, mut take: impl FnMut(DominatorNode, DominatorNode)) {
        match &self.tree {
            ImmediateDominators::DepthFirst(immediate) => {
                self.all_reached()
                    .zip(&immediate[1..])
                    .for_each(|(number, &dominator)| take(number, DominatorNode(dominator)));
            }
            ImmediateDominators::LevelOrder(_) => {
                let (mut all, children) = (self.all_reached(), self.children());
                let dominators = std::iter::once(DominatorNode::ROOT).chain(self.all_reached());
                let pairs =
                    dominators.flat_map(|dominator| children.of(dominator).map(move |number| (number, dominator)));
                // Level by level, each number once, whatever a file says.
                pairs
                    .filter(|pair| pair.0.index() < self.nodes.len())
                    .take_while(|&(number, _)| all.next() == Some(number))
                    .for_each(|(number, dominator)| take(number, dominator));
            }
        }
    }

    /// The same from the last number to the first: each object after all that it dominates.
    pub(crate) fn for_each_with_dominator_descending(&self, mut take: impl FnMut(DominatorNode, DominatorNode)) {
        let reached = self.all_reached().rev();
        match &self.tree {
            ImmediateDominators::DepthFirst(immediate) => reached
                .zip(immediate[1..].iter().rev())
                .for_each(|(number, &dominator)| take(number, DominatorNode(dominator))),
            ImmediateDominators::LevelOrder(_) => {
                reached.for_each(|number| take(number, self.immediate_dominator_of(number)))
            }
        }
    }

    /// The immediate dominator of a node other than the root. O(1), or O(log objects) in a tree from an index.
    #[inline]
    pub fn immediate_dominator_of(&self, number: DominatorNode) -> DominatorNode {
        match &self.tree {
            ImmediateDominators::DepthFirst(immediate) => DominatorNode(immediate[number.index()]),
            ImmediateDominators::LevelOrder(first_child) => {
                let number = number.index();
                // The last whose own begin at or before; never below itself, whatever a file says.
                DominatorNode::new(
                    first_child.partition_point(|first| first as usize <= number).clamp(1, number.max(1)) - 1,
                )
            }
        }
    }

    /// Immediate dominator of the object. O(1), or O(log objects) in a tree from an index.
    pub fn dominator_of(&self, node: NodeId) -> Dominator {
        match self.number_of(node).map(|number| self.immediate_dominator_of(number)) {
            None => Dominator::Unreachable,
            Some(DominatorNode::ROOT) => Dominator::Roots,
            Some(number) => Dominator::Node(self.node_at(number)),
        }
    }

    /// Nodes that a node immediately dominates, ascending. O(objects) where these are not together; `children` is the way to
    /// ask often.
    pub fn children_of(&self, number: DominatorNode) -> Vec<DominatorNode> {
        match &self.tree {
            ImmediateDominators::DepthFirst(immediate) => {
                let numbers = immediate.iter().enumerate().skip(1);
                numbers.filter(|&(_, &parent)| parent == number.0).map(|(child, _)| DominatorNode::new(child)).collect()
            }
            ImmediateDominators::LevelOrder(_) => self.children().of(number).collect(),
        }
    }

    /// The tree turned round, for walking down. O(objects) and 8 bytes for each; nothing in a tree from an index.
    pub fn children(&self) -> DominatorChildren<'_> {
        let immediate = match &self.tree {
            ImmediateDominators::DepthFirst(immediate) => immediate,
            ImmediateDominators::LevelOrder(first_child) => return DominatorChildren::of_level_order(first_child),
        };
        DominatorChildren::of_immediate_dominators(immediate)
    }

    /// The same, made when it is first asked for.
    pub fn children_when_asked(&self) -> LazyDominatorChildren<'_> {
        LazyDominatorChildren::new(Box::new(|| self.children()))
    }

    /// Steps that were taken up trees while computing: what grows without bound in algorithms that are not linear.
    pub fn climb_steps(&self) -> u64 {
        self.climb_steps
    }
}

#[cfg(test)]
mod tests;
