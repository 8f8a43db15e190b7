//! Immediate dominators of everything that strong roots reach: which object must be passed on every path to another.
//!
//! Semi-NCA (Georgiadis, "Linear-time algorithms for dominators and related problems", 2005) over depth-first numbers,
//! from a virtual root with number 0 above all strong roots. Two changes make it fit for real heaps. The depth-first
//! walk writes what is no tree edge into a log, which a counting sort turns into predecessor lists of back and cross
//! edges only; forward edges give their value at once. And where climbing to a nearest common ancestor takes too many
//! steps in all (an array that also holds the items of a long list: quadratic in the textbook form), the buckets of
//! Lengauer and Tarjan ("A fast algorithm for finding dominators in a flowgraph", 1979) take over, so that the worst
//! case is O(references x log objects) for certain. Nothing recurses.
//!
//! Time goes into waiting for memory. What a loop is about to read from all over the heap is therefore asked for some
//! rounds before (`prefetch`), so that the waits overlap: half the time on graphs without order.
//!
//! petgraph's `simple_fast` is the second opinion in tests; it is cubic on doubly linked lists.

mod children;
mod levels;
mod node;
pub mod retained;

use std::sync::OnceLock;

use rayon::prelude::*;

pub use children::{ChildNumbers, Children, Step};
pub use levels::StoredDominators;
pub use node::DomNode;

use crate::graph::{Column, HeapGraph, NodeId, NodeSet, prefetch};

const UNREACHED: u32 = u32::MAX;
/// Steps for each object after which climbing is given up for buckets.
pub(super) const STEP_BUDGET: u64 = 4;

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
    steps: u64,
}

/// Immediate dominators of all nodes.
#[derive(Debug)]
enum ImmediateDominators {
    /// Depth-first numbers of the walk: the immediate dominator of each.
    Listed(Vec<u32>),
    /// Numbers level by level: those that a number dominates follow one another from here on, up to those of the next.
    Levels(Column<u32>),
}

impl Dominators {
    /// Computes the tree. O(references x log objects) at worst, near O(references) on heaps; about 33 bytes per object
    /// while it runs, 12 are kept.
    pub fn compute(graph: &HeapGraph) -> Self {
        Self::compute_with_step_budget(graph, STEP_BUDGET)
    }

    fn compute_with_step_budget(graph: &HeapGraph, step_budget: u64) -> Self {
        Self::compute_and_leave(graph, step_budget).0
    }

    /// The tree, and memory that was used for it and can be used again. `step_budget` climbing steps per object before
    /// buckets take over.
    pub(super) fn compute_and_leave(graph: &HeapGraph, step_budget: u64) -> (Self, Used) {
        let DepthFirstWalk { nodes, parents, log, numbers } = walk(graph);
        let (semi, lists, log) = sort_log(&parents, log, numbers);
        let mut steps = 0;
        let (semi, cells) = semidominators(&parents, semi, &lists, log, &mut steps);
        let EdgeLists { ends, sources } = lists;
        drop(sources);
        let step_budget = step_budget * parents.len() as u64;
        let (immediate, cells) = immediate_dominators(parents, &semi, cells, ends, step_budget, &mut steps);
        let dominators = Dominators {
            nodes: nodes.into(),
            tree: ImmediateDominators::Listed(immediate),
            numbers: OnceLock::new(),
            node_count: graph.node_count(),
            steps,
        };
        let mut cells = cells;
        cells.clear();
        (dominators, Used { narrow: semi, wide: cells.into_iter().map(|cell| cell.0).collect() })
    }

    /// Reached objects.
    pub fn reached_count(&self) -> usize {
        self.nodes.len() - 1
    }

    /// The reached objects. O(objects), a bit for each.
    pub fn reached(&self) -> NodeSet {
        let mut reached = NodeSet::new(self.node_count);
        for &node in self.nodes.all().iter().skip(1) {
            reached.insert(node);
        }
        reached
    }

    /// The object in this tree, if it is reached. O(1) but for the first call, which makes a table of all: O(objects), 4
    /// bytes each.
    pub fn number_of(&self, node: NodeId) -> Option<DomNode> {
        self.known(self.numbers().get(node.index()))
    }

    /// The same of consecutive objects: faster than asking for each.
    pub fn numbers_of(&self, nodes: std::ops::Range<usize>) -> impl Iterator<Item = Option<DomNode>> {
        self.numbers().slice(nodes).iter().map(|&number| self.known(number))
    }

    fn numbers(&self) -> &Column<u32> {
        self.numbers.get_or_init(|| {
            let mut numbers = vec![UNREACHED; self.node_count];
            for (number, node) in self.nodes.all().iter().enumerate().skip(1) {
                numbers[node.index()] = number as u32;
            }
            numbers.into()
        })
    }

    /// `None` where it is not reached, or what a file says that no tree has.
    #[inline]
    fn known(&self, number: u32) -> Option<DomNode> {
        Some(DomNode(number)).filter(|number| number.index() < self.nodes.len())
    }

    /// Levels below the roots, by number: 0 for the virtual root, 1 for what nothing single dominates. O(objects), 4 bytes
    /// for each.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths = vec![0u32; self.nodes.len()];
        for number in self.all() {
            depths[number.index()] = depths[self.immediate_of(number).index()].saturating_add(1);
        }
        depths
    }

    /// The object of a node of this tree other than the root. O(1).
    #[inline]
    pub fn node_at(&self, number: DomNode) -> NodeId {
        self.nodes.get(number.index())
    }

    /// Every reached object, each after its immediate dominator.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = DomNode> + use<> {
        (1..self.nodes.len()).map(DomNode::new)
    }

    /// The immediate dominator of a node other than the root. O(1), or O(log objects) in a tree from an index.
    #[inline]
    pub fn immediate_of(&self, number: DomNode) -> DomNode {
        match &self.tree {
            ImmediateDominators::Listed(immediate) => DomNode(immediate[number.index()]),
            ImmediateDominators::Levels(first_child) => {
                let number = number.index();
                // The last whose own begin at or before; never below itself, whatever a file says.
                DomNode::new(first_child.partition_point(|first| first as usize <= number).clamp(1, number.max(1)) - 1)
            }
        }
    }

    /// Immediate dominator of the object. O(1), or O(log objects) in a tree from an index.
    pub fn dominator_of(&self, node: NodeId) -> Dominator {
        match self.number_of(node).map(|number| self.immediate_of(number)) {
            None => Dominator::Unreachable,
            Some(DomNode::ROOT) => Dominator::Roots,
            Some(number) => Dominator::Node(self.node_at(number)),
        }
    }

    /// Nodes that a node immediately dominates, ascending. O(objects) where these are not together; `children` is the way to
    /// ask often.
    pub fn children_of(&self, number: DomNode) -> Vec<DomNode> {
        match &self.tree {
            ImmediateDominators::Listed(immediate) => {
                let numbers = immediate.iter().enumerate().skip(1);
                numbers.filter(|&(_, &parent)| parent == number.0).map(|(child, _)| DomNode::new(child)).collect()
            }
            ImmediateDominators::Levels(_) => self.children().of(number).collect(),
        }
    }

    /// The tree turned round, for walking down. O(objects) and 8 bytes for each; nothing in a tree from an index.
    pub fn children(&self) -> Children<'_> {
        let immediate = match &self.tree {
            ImmediateDominators::Listed(immediate) => immediate,
            ImmediateDominators::Levels(first_child) => return Children::of_levels(first_child),
        };
        Children::of_list(immediate)
    }

    /// Steps that were taken up trees while computing: what grows without bound in algorithms that are not linear.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

/// Memory that was used: to ask the system for as much again would cost more than most work on it.
pub(super) struct Used {
    pub(super) narrow: Vec<u32>,
    pub(super) wide: Vec<u64>,
}

/// One depth-first walk: numbers, parents, and a log of the edges that are not of its tree.
struct DepthFirstWalk {
    /// By number.
    nodes: Vec<NodeId>,
    /// By number.
    parents: Vec<u32>,
    log: Vec<Edge>,
    /// By node; given back only for its memory.
    numbers: Vec<u32>,
}

/// A reference between objects by number. One word, as a [`PathCell`]: the memory of one list serves another.
#[derive(Debug, Clone, Copy)]
struct Edge(u64);

impl Edge {
    #[inline]
    fn new(target: u32, source: u32) -> Self {
        Edge(u64::from(target) << 32 | u64::from(source))
    }

    #[inline]
    fn target(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    fn source(self) -> u32 {
        self.0 as u32
    }
}

/// Distance, in numbers, at which values are asked for in advance.
const PREFETCH_DISTANCE: usize = 16;
/// Distances, in numbers, at which the steps of a climb are asked for in advance, first step first: each reads what the one before asked for.
const HOPS_AHEAD: [usize; 3] = [24, 16, 8];
/// The object of the stack, from its top, whose place of references is asked for.
const PLACE_AHEAD: usize = 6;
/// The one whose references are asked for.
const REFERENCES_AHEAD: usize = 3;

/// A reference still to be followed.
struct PendingReference {
    source: u32,
    target: NodeId,
}

fn walk(graph: &HeapGraph) -> DepthFirstWalk {
    let mut starts: Vec<NodeId> = graph.strong_roots().map(|root| root.node).collect();
    starts.sort_unstable();
    starts.dedup();
    // Reserved for the worst case: pages that are not written to cost nothing.
    let mut nodes = Vec::with_capacity(graph.node_count() + 1);
    let mut parents = Vec::with_capacity(graph.node_count() + 1);
    let log = Vec::with_capacity(graph.strong_reference_count() + starts.len() + 1);
    let numbers = vec![UNREACHED; graph.node_count()];
    nodes.push(NodeId::new(0));
    parents.push(0);
    let mut pending: Vec<PendingReference> =
        starts.iter().rev().map(|&target| PendingReference { source: 0, target }).collect();
    let mut tree = DepthFirstWalk { nodes, parents, log, numbers };
    let mut seen = NodeSet::new(graph.node_count());
    tree.follow(graph, &mut pending, &mut seen);
    if graph.unheld_in_tree() && tree.nodes.len() <= graph.node_count() {
        tree.hang_unheld(graph, &mut seen);
    }
    drop(seen);
    tree.number_targets();
    let DepthFirstWalk { mut nodes, mut parents, log, numbers } = tree;
    nodes.shrink_to_fit();
    parents.shrink_to_fit();
    DepthFirstWalk { nodes, parents, log, numbers }
}

impl DepthFirstWalk {
    /// Follows references depth first until none is left. What was seen before is known by a bit each, which stay near
    /// the processor; the log has objects for targets until `number_targets`.
    fn follow(&mut self, graph: &HeapGraph, pending: &mut Vec<PendingReference>, seen: &mut NodeSet) {
        let DepthFirstWalk { nodes, parents, log, numbers } = self;
        while let Some(PendingReference { source, target }) = pending.pop() {
            if !seen.insert(target) {
                log.push(Edge::new(target.index() as u32, source));
                continue;
            }
            let number = nodes.len() as u32;
            numbers[target.index()] = number;
            nodes.push(target);
            parents.push(source);
            let references = graph.strong_references(target);
            for &below in references.iter().rev() {
                if !seen.contains(below) {
                    graph.prefetch_place(below);
                    pending.push(PendingReference { source: number, target: below });
                } else if below != target {
                    log.push(Edge::new(below.index() as u32, number));
                }
            }
            // What the objects that come next will read.
            if let Some(next) = pending.len().checked_sub(PLACE_AHEAD) {
                graph.prefetch_place(pending[next].target);
            }
            if let Some(next) = pending.len().checked_sub(REFERENCES_AHEAD) {
                graph.prefetch_references(pending[next].target);
                prefetch(numbers, pending[next].target.index());
            }
        }
    }

    /// Gives the targets in the log their numbers: loads that wait for nothing but memory, on all threads.
    fn number_targets(&mut self) {
        let DepthFirstWalk { log, numbers, .. } = self;
        log.par_iter_mut().for_each(|edge| *edge = Edge::new(numbers[edge.target() as usize], edge.source()));
    }

    /// Hangs what no root reaches on the tree's root: what no other object holds, with all that it holds; then each
    /// object of the cycles that are left by itself, whose references count for nothing.
    fn hang_unheld(&mut self, graph: &HeapGraph, seen: &mut NodeSet) {
        let mut is_held = NodeSet::new(graph.node_count());
        let is_unheld = |walk: &DepthFirstWalk, node: NodeId| walk.numbers[node.index()] == UNREACHED;
        for node in graph.nodes().filter(|&node| is_unheld(self, node)) {
            for &target in graph.strong_references(node) {
                is_held.insert(target);
            }
        }
        let starts = graph.nodes().rev().filter(|&node| is_unheld(self, node) && !is_held.contains(node));
        let mut pending: Vec<PendingReference> = starts.map(|target| PendingReference { source: 0, target }).collect();
        self.follow(graph, &mut pending, seen);
        for node in graph.nodes() {
            if is_unheld(self, node) {
                self.numbers[node.index()] = self.nodes.len() as u32;
                self.nodes.push(node);
                self.parents.push(0);
            }
        }
    }
}

/// Sources of back and cross edges by target.
struct EdgeLists {
    /// Entry `number` ends where entry `number + 1` begins; one more than there are numbers.
    ends: Vec<u32>,
    sources: Vec<u32>,
}

impl EdgeLists {
    #[inline]
    fn sources_of(&self, number: usize) -> &[u32] {
        &self.sources[self.ends[number] as usize..self.ends[number + 1] as usize]
    }
}

/// First values of the semidominators (parents and sources of forward edges), and the lists of all other edges.
/// `memory` becomes the former: fresh pages cost more than the work on them. That of the log comes back, for as many
/// words as there are objects.
fn sort_log(parents: &[u32], log: Vec<Edge>, memory: Vec<u32>) -> (Vec<u32>, EdgeLists, Vec<u64>) {
    let mut semi = memory;
    semi.clear();
    semi.extend_from_slice(parents);
    let mut ends = vec![0u32; parents.len() + 1];
    let mut kept = 0usize;
    for edge in &log {
        let (target, source) = (edge.target(), edge.source());
        if source < target {
            let value = &mut semi[target as usize];
            *value = (*value).min(source);
        } else {
            ends[target as usize] += 1;
            kept += 1;
        }
    }
    let mut sum = 0;
    for end in &mut ends {
        sum += *end;
        *end = sum;
    }
    // Filled from behind, the ends become the beginnings.
    let mut sources = vec![0u32; kept];
    for edge in log.iter().rev() {
        let (target, source) = (edge.target(), edge.source());
        if source > target {
            let cursor = &mut ends[target as usize];
            *cursor -= 1;
            sources[*cursor as usize] = source;
        }
    }
    let mut memory = log;
    memory.clear();
    memory.shrink_to(parents.len());
    // One layout: collecting in place costs nothing.
    (semi, EdgeLists { ends, sources }, memory.into_iter().map(|edge| edge.0).collect())
}

/// An ancestor, and the smallest semidominator on the way to it.
#[derive(Clone, Copy)]
struct PathCell(u64);

impl PathCell {
    #[inline]
    fn new(ancestor: u32, label: u32) -> Self {
        PathCell(u64::from(ancestor) << 32 | u64::from(label))
    }

    #[inline]
    fn ancestor(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    fn label(self) -> u32 {
        self.0 as u32
    }
}

/// `memory` becomes the cells.
fn semidominators(
    parents: &[u32],
    mut semi: Vec<u32>,
    lists: &EdgeLists,
    memory: Vec<u64>,
    steps: &mut u64,
) -> (Vec<u32>, Vec<PathCell>) {
    let mut cells: Vec<PathCell> = memory.into_iter().map(PathCell).collect();
    cells.extend(parents.iter().map(|&ancestor| PathCell::new(ancestor, 0)));
    let mut path = Vec::new();
    for number in (1..parents.len()).rev() {
        let mut best = semi[number];
        for (hops, distance) in HOPS_AHEAD.into_iter().enumerate() {
            let ahead = number.saturating_sub(distance);
            for &source in lists.sources_of(ahead).iter().take(8) {
                let mut at = source;
                for _ in 0..hops {
                    at = cells[at as usize].ancestor().max(ahead as u32);
                }
                prefetch(&cells, at as usize);
            }
        }
        for &source in lists.sources_of(number) {
            if best == 0 {
                break;
            }
            best = best.min(smallest_label(&mut cells, source, number as u32, &mut path, steps, |label| label));
        }
        semi[number] = best;
        cells[number] = PathCell::new(cells[number].ancestor(), best);
    }
    (semi, cells)
}

/// The label with the smallest `key` on the tree path from `from` up to, and without, the first ancestor that is `limit` or
/// less; the path is compressed.
#[inline]
fn smallest_label(
    cells: &mut [PathCell],
    from: u32,
    limit: u32,
    path: &mut Vec<u32>,
    steps: &mut u64,
    key: impl Fn(u32) -> u32,
) -> u32 {
    let mut at = from;
    while cells[at as usize].ancestor() > limit {
        path.push(at);
        at = cells[at as usize].ancestor();
    }
    *steps += path.len() as u64;
    let (ancestor, mut label) = (cells[at as usize].ancestor(), cells[at as usize].label());
    while let Some(below) = path.pop() {
        let cell = &mut cells[below as usize];
        if key(cell.label()) < key(label) {
            label = cell.label();
        }
        *cell = PathCell::new(ancestor, label);
    }
    label
}

/// Climbs from each parent to the first ancestor that is at or above the semidominator. `cells` and `memory` are used
/// again; the cells come back.
fn immediate_dominators(
    parents: Vec<u32>,
    semi: &[u32],
    mut cells: Vec<PathCell>,
    memory: Vec<u32>,
    step_budget: u64,
    steps: &mut u64,
) -> (Vec<u32>, Vec<PathCell>) {
    let mut immediate = memory;
    immediate.clear();
    immediate.extend_from_slice(&parents);
    let limit_of_steps = *steps + step_budget;
    for number in 1..immediate.len() {
        let limit = semi[number];
        // Still the parent's there.
        if let Some(&ahead) = immediate.get(number + PREFETCH_DISTANCE) {
            prefetch(&immediate, ahead as usize);
        }
        let mut at = immediate[number];
        while at > limit {
            at = immediate[at as usize];
            *steps += 1;
            if *steps > limit_of_steps {
                lengauer_tarjan(&parents, semi, &mut cells, &mut immediate, steps);
                return (immediate, cells);
            }
        }
        immediate[number] = at;
    }
    (immediate, cells)
}

/// The same without climbing: objects wait in the bucket of their semidominator until the path to it is complete, and
/// then the smallest semidominator on that path tells. Twice the work of climbing on ordinary heaps, never quadratic.
/// `cells` are memory to use again.
fn lengauer_tarjan(parents: &[u32], semi: &[u32], cells: &mut [PathCell], immediate: &mut [u32], steps: &mut u64) {
    const NONE: u32 = 0;
    let count = parents.len();
    // In a cell here the label is the number with the smallest semidominator, not its value.
    for (number, cell) in cells.iter_mut().enumerate() {
        *cell = PathCell::new(parents[number], number as u32);
    }
    let mut first = vec![NONE; count];
    let mut next = vec![NONE; count];
    let mut path = Vec::new();
    for number in (1..count).rev() {
        let semi_of_number = semi[number] as usize;
        next[number] = std::mem::replace(&mut first[semi_of_number], number as u32);
        let parent = parents[number];
        let mut waiting = std::mem::replace(&mut first[parent as usize], NONE);
        while waiting != NONE {
            let best = smallest_label(cells, waiting, parent, &mut path, steps, |label| semi[label as usize]);
            let better = semi[best as usize] < semi[waiting as usize];
            immediate[waiting as usize] = if better { best } else { parent };
            waiting = next[waiting as usize];
        }
    }
    for number in 1..count {
        if immediate[number] != semi[number] {
            immediate[number] = immediate[immediate[number] as usize];
        }
    }
}

#[cfg(test)]
mod tests;
