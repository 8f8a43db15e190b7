//! Immediate dominators of everything that strong roots reach.
//!
//! Semi-NCA (Georgiadis, "Linear-time algorithms for dominators and related problems", 2005) over depth-first numbers,
//! from a virtual root with number 0 above all strong roots. Two changes make it fit for real heaps. A second pass over
//! the references, in the order they lie in, counts those that are no tree edges and sorts them into lists by target:
//! most objects have none. And where climbing to a nearest common ancestor takes too many steps in all (an array that
//! also holds the items of a long list: quadratic in the textbook form), the buckets of Lengauer and Tarjan ("A fast
//! algorithm for finding dominators in a flowgraph", 1979) take over, so that the worst case is
//! O(references x log objects) for certain. Nothing recurses.
//!
//! Time goes into waiting for memory. What a loop is about to read from all over the heap is therefore asked for some
//! rounds before (`prefetch`), so that the waits overlap: half the time on graphs without order.
//!
//! Four words of 4 bytes an object, and one for each edge beside the tree, are all that it takes: the order of the walk;
//! two for the parents, which become cells of an ancestor and the place of a list, then of an ancestor and a label, and
//! at last the immediate dominators; one for the numbers by node, which become the places of lists and, from behind, the
//! semidominators. Of the parents the shape of the tree remains, in two bits an object.

use crate::graph::{HeapGraph, NodeId, NodeSet, prefetch};

/// Distances, in numbers, at which the steps of a climb are asked for in advance, first step first: each reads what the
/// one before asked for.
const HOPS_AHEAD: [usize; 3] = [24, 16, 8];
/// The object of the stack, from its top, whose place of references is asked for.
const PLACE_AHEAD: usize = 6;
/// The one whose references are asked for.
const REFERENCES_AHEAD: usize = 3;
/// Edges whose numbers are looked up together, so that the waits overlap.
const EDGES_AT_ONCE: usize = 256;
/// Distance at which what belongs to them is asked for in advance.
const EDGES_AHEAD: usize = 12;

/// A tree by depth-first numbers, from the virtual root on.
pub(super) struct DominatorTree {
    /// By number; the first means nothing.
    pub(super) nodes: Vec<NodeId>,
    /// By number.
    pub(super) immediate: Vec<u32>,
    /// Steps that were taken up trees.
    pub(super) steps: u64,
    /// Memory that was used, a word for each number: to ask the system for as much again would cost more than most work
    /// on it.
    pub(super) memory: Vec<u32>,
}

/// The dominator tree. `step_budget` climbing steps per object before buckets take over.
pub(super) fn compute(graph: &HeapGraph, step_budget: u64) -> DominatorTree {
    let DepthFirstWalk { nodes, parents, followed } = walk(graph);
    let (shape, memory) = TreeShape::of(&parents, graph.node_count());
    let numbers = numbers(&nodes, graph.node_count(), memory);
    let mut cells = paired(parents);
    let sources = list_edges(graph, &numbers, followed, &mut cells);
    let (mut steps, step_budget) = (0, step_budget * nodes.len() as u64);
    let semi = semidominators(&mut cells, sources, numbers, &mut steps);
    let immediate = immediate_dominators(&shape, &semi, cells, step_budget, &mut steps);
    DominatorTree { nodes, immediate, steps, memory: semi }
}

/// One depth-first walk.
struct DepthFirstWalk {
    /// By number; the first means nothing.
    nodes: Vec<NodeId>,
    /// By number.
    parents: Vec<u32>,
    /// References of objects with this number or a greater one count for nothing.
    followed: u32,
}

/// A reference still to be followed.
struct PendingReference {
    source: u32,
    target: NodeId,
}

fn walk(graph: &HeapGraph) -> DepthFirstWalk {
    // Reserved for the worst case: pages that are not written to cost nothing. The parents become cells.
    let mut nodes = Vec::with_capacity(graph.node_count() + 1);
    let mut parents = Vec::with_capacity(2 * (graph.node_count() + 1));
    nodes.push(NodeId::new(0));
    parents.push(0);
    let mut pending: Vec<PendingReference> =
        starts(graph).into_iter().rev().map(|target| PendingReference { source: 0, target }).collect();
    let mut walk = DepthFirstWalk { nodes, parents, followed: 0 };
    let mut seen = NodeSet::new(graph.node_count());
    walk.follow(graph, &mut pending, &mut seen);
    if graph.unheld_in_tree() && walk.nodes.len() <= graph.node_count() {
        walk.hang_unheld(graph, &mut pending, &mut seen);
    }
    walk.nodes.shrink_to_fit();
    walk
}

/// Objects that strong roots hold, ascending.
fn starts(graph: &HeapGraph) -> Vec<NodeId> {
    let mut starts: Vec<NodeId> = graph.strong_roots().map(|root| root.node).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

impl DepthFirstWalk {
    /// Follows references depth first until none is left. What was seen before is known by a bit each, which stay near
    /// the processor.
    fn follow(&mut self, graph: &HeapGraph, pending: &mut Vec<PendingReference>, seen: &mut NodeSet) {
        let DepthFirstWalk { nodes, parents, followed } = self;
        while let Some(PendingReference { source, target }) = pending.pop() {
            if !seen.insert(target) {
                continue;
            }
            let number = nodes.len() as u32;
            nodes.push(target);
            parents.push(source);
            for &below in graph.strong_references(target).iter().rev() {
                if !seen.contains(below) {
                    graph.prefetch_place(below);
                    pending.push(PendingReference { source: number, target: below });
                }
            }
            // What the objects that come next will read.
            if let Some(next) = pending.len().checked_sub(PLACE_AHEAD) {
                graph.prefetch_place(pending[next].target);
            }
            if let Some(next) = pending.len().checked_sub(REFERENCES_AHEAD) {
                graph.prefetch_references(pending[next].target);
            }
        }
        *followed = nodes.len() as u32;
    }

    /// Hangs what no root reaches on the tree's root: what no other object holds, with all that it holds; then each
    /// object of the cycles that are left by itself, whose references count for nothing.
    fn hang_unheld(&mut self, graph: &HeapGraph, pending: &mut Vec<PendingReference>, seen: &mut NodeSet) {
        let mut is_held = NodeSet::new(graph.node_count());
        for node in graph.nodes().filter(|&node| !seen.contains(node)) {
            for &target in graph.strong_references(node) {
                is_held.insert(target);
            }
        }
        let starts = graph.nodes().rev().filter(|&node| !seen.contains(node) && !is_held.contains(node));
        pending.extend(starts.map(|target| PendingReference { source: 0, target }));
        self.follow(graph, pending, seen);
        for node in graph.nodes().filter(|&node| !seen.contains(node)) {
            self.nodes.push(node);
            self.parents.push(0);
        }
    }
}

/// The shape of a depth-first tree in two bits an object: the parents again, once their memory served something else.
struct TreeShape {
    /// For each number but the first: a zero for each level up from the number before it to its parent, and a one.
    words: Vec<u64>,
    count: usize,
}

impl TreeShape {
    /// The shape, and memory that was used for it, with room for a number for each node of the graph.
    fn of(parents: &[u32], node_count: usize) -> (Self, Vec<u32>) {
        let mut depths = Vec::with_capacity(parents.len().max(node_count));
        depths.push(0u32);
        let (mut words, mut at, mut depth_before) = (vec![0u64; parents.len() / 32 + 1], 0, 0);
        for &parent in &parents[1..] {
            let depth = depths[parent as usize] + 1;
            depths.push(depth);
            at += (depth_before + 1 - depth) as usize;
            words[at >> 6] |= 1 << (at & 63);
            at += 1;
            depth_before = depth;
        }
        (TreeShape { words, count: parents.len() }, depths)
    }

    /// The depth of each number but the first, ascending: one more than that of its parent, which is the last number
    /// before it of that depth.
    #[inline(always)]
    fn depths(&self) -> impl Iterator<Item = usize> + '_ {
        let (mut at, mut depth) = (0, 0);
        (1..self.count).map(move |_| {
            let from = at;
            let mut word = self.words[at >> 6] >> (at & 63);
            while word == 0 {
                at = (at | 63) + 1;
                word = self.words[at >> 6];
            }
            at += word.trailing_zeros() as usize + 1;
            depth = depth + 2 - (at - from);
            depth
        })
    }

    fn parents(&self) -> Vec<u32> {
        let (mut path, mut parents) = (vec![0; self.count], Vec::with_capacity(self.count));
        parents.push(0);
        for (number, depth) in (1..).zip(self.depths()) {
            parents.push(path[depth - 1]);
            path[depth] = number;
        }
        parents
    }
}

/// Numbers by node; of a node that has none: none that there is.
fn numbers(nodes: &[NodeId], node_count: usize, memory: Vec<u32>) -> Vec<u32> {
    let mut numbers = memory;
    numbers.clear();
    numbers.resize(node_count.max(nodes.len()), u32::MAX);
    for (number, node) in nodes.iter().enumerate().skip(1) {
        if let Some(ahead) = nodes.get(number + EDGES_AHEAD) {
            prefetch(&numbers, ahead.index());
        }
        numbers[node.index()] = number as u32;
    }
    numbers
}

/// A number's parent or an ancestor; and beside it where its list ends, then its label: the smallest semidominator on the
/// way to the ancestor.
type Cell = [u32; 2];
const ANCESTOR: usize = 0;
const LABEL: usize = 1;

/// Cells with these ancestors, in their memory where that has room.
fn paired(mut ancestors: Vec<u32>) -> Vec<u32> {
    let count = ancestors.len();
    ancestors.resize(2 * count, 0);
    for number in (0..count).rev() {
        (ancestors[2 * number], ancestors[2 * number + 1]) = (ancestors[number], 0);
    }
    ancestors
}

fn cells_of(words: &mut [u32]) -> &mut [Cell] {
    words.as_chunks_mut().0
}

/// A reference between objects by number.
#[derive(Clone, Copy)]
struct Edge {
    target: u32,
    source: u32,
}

/// Calls `take` with all edges between different objects that are not of the tree, and the cells of their targets.
fn each_edge_beside_tree(
    graph: &HeapGraph,
    numbers: &[u32],
    followed: u32,
    cells: &mut [Cell],
    mut take: impl FnMut(Edge, &mut Cell),
) {
    let mut take_all = |edges: &mut Vec<Edge>| {
        for at in 0..edges.len() {
            if let Some(ahead) = edges.get(at + EDGES_AHEAD) {
                prefetch(cells, ahead.target as usize);
            }
            let edge = edges[at];
            let cell = &mut cells[edge.target as usize];
            if edge.source != cell[ANCESTOR] && edge.source != edge.target {
                take(edge, cell);
            }
        }
        edges.clear();
    };
    let mut edges = Vec::with_capacity(EDGES_AT_ONCE);
    edges.extend(starts(graph).into_iter().map(|start| Edge { target: numbers[start.index()], source: 0 }));
    for (node, &source) in graph.nodes().zip(numbers) {
        if source >= followed {
            continue;
        }
        for target in graph.strong_references(node) {
            if edges.len() >= EDGES_AT_ONCE {
                take_all(&mut edges);
            }
            edges.push(Edge { target: numbers[target.index()], source });
        }
    }
    take_all(&mut edges);
}

/// Sources of all edges beside the tree, by target; the labels become the places where each target's begin.
fn list_edges(graph: &HeapGraph, numbers: &[u32], followed: u32, words: &mut [u32]) -> Vec<u32> {
    let cells = cells_of(words);
    each_edge_beside_tree(graph, numbers, followed, cells, |_, cell| cell[LABEL] += 1);
    let mut sum = 0;
    for cell in &mut *cells {
        sum += cell[LABEL];
        cell[LABEL] = sum;
    }
    // Filled from behind, the ends become the beginnings.
    let mut sources = vec![0; sum as usize];
    each_edge_beside_tree(graph, numbers, followed, cells, |edge, cell| {
        cell[LABEL] -= 1;
        sources[cell[LABEL] as usize] = edge.source;
    });
    sources
}

/// Semidominators by number, in `memory`; the labels have the places of each number's `sources`.
fn semidominators(words: &mut [u32], sources: Vec<u32>, memory: Vec<u32>, steps: &mut u64) -> Vec<u32> {
    let cells = cells_of(words);
    // Until a number's turn comes, the place where its sources begin.
    let mut semi = memory;
    semi.truncate(cells.len());
    for (place, cell) in semi.iter_mut().zip(&mut *cells) {
        *place = std::mem::take(&mut cell[LABEL]);
    }
    let (mut path, mut end) = (Vec::new(), sources.len());
    for number in (1..cells.len()).rev() {
        for (hops, distance) in HOPS_AHEAD.into_iter().enumerate() {
            let ahead = number.saturating_sub(distance);
            for &source in sources[semi[ahead] as usize..semi[ahead + 1] as usize].iter().take(8) {
                let mut at = source;
                for _ in 0..hops {
                    at = cells[at as usize][ANCESTOR].max(ahead as u32);
                }
                prefetch(cells, at as usize);
            }
        }
        let begin = semi[number] as usize;
        // No path has led through it so far: its ancestor is its parent.
        let mut best = cells[number][ANCESTOR];
        for &source in &sources[begin..end] {
            if best == 0 {
                break;
            }
            best = best.min(match source < number as u32 {
                true => source,
                false => smallest_label(cells, source, number as u32, &mut path, steps, |label| label),
            });
        }
        end = begin;
        semi[number] = best;
        cells[number][LABEL] = best;
    }
    semi
}

/// The label with the smallest `key` on the tree path from `from` up to, and without, the first ancestor that is `limit` or
/// less; the path is compressed.
#[inline]
fn smallest_label(
    cells: &mut [Cell],
    from: u32,
    limit: u32,
    path: &mut Vec<u32>,
    steps: &mut u64,
    key: impl Fn(u32) -> u32,
) -> u32 {
    let mut at = from;
    while cells[at as usize][ANCESTOR] > limit {
        path.push(at);
        at = cells[at as usize][ANCESTOR];
    }
    *steps += path.len() as u64;
    let (ancestor, mut label) = (cells[at as usize][ANCESTOR], cells[at as usize][LABEL]);
    while let Some(below) = path.pop() {
        let cell = &mut cells[below as usize];
        if key(cell[LABEL]) < key(label) {
            label = cell[LABEL];
        }
        *cell = [ancestor, label];
    }
    label
}

/// Climbs from each parent to the first ancestor that is at or above the semidominator. `memory` has two words for each
/// number.
fn immediate_dominators(
    shape: &TreeShape,
    semi: &[u32],
    memory: Vec<u32>,
    step_budget: u64,
    steps: &mut u64,
) -> Vec<u32> {
    let mut words = memory;
    let limit_of_steps = *steps + step_budget;
    let (immediate, path) = words.split_at_mut(semi.len());
    (immediate[0], path[0]) = (0, 0);
    for (number, depth) in (1..).zip(shape.depths()) {
        let (mut at, limit) = (path[depth - 1], semi[number]);
        path[depth] = number as u32;
        while at > limit {
            at = immediate[at as usize];
            *steps += 1;
        }
        immediate[number] = at;
        if *steps > limit_of_steps {
            return lengauer_tarjan(&shape.parents(), semi, words, steps);
        }
    }
    words.truncate(semi.len());
    words.shrink_to_fit();
    words
}

/// The same without climbing: objects wait in the bucket of their semidominator until the path to it is complete, and
/// then the smallest semidominator on that path tells. Twice the work of climbing on ordinary heaps, never quadratic.
fn lengauer_tarjan(parents: &[u32], semi: &[u32], memory: Vec<u32>, steps: &mut u64) -> Vec<u32> {
    const NONE: u32 = 0;
    let count = parents.len();
    let mut words = memory;
    let cells = cells_of(&mut words);
    // In a cell here the label is the number with the smallest semidominator, not its value.
    for (number, cell) in cells.iter_mut().enumerate() {
        *cell = [parents[number], number as u32];
    }
    let mut immediate = vec![NONE; count];
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
    immediate
}
