//! Immediate dominators of everything that strong roots reach.
//!
//! Semi-NCA (Georgiadis, "Linear-time algorithms for dominators and related problems", 2005) over depth-first numbers,
//! from a virtual root with number 0 above all strong roots. Two changes make it fit for real heaps. The depth-first walk
//! counts references that are no tree edges, and a pass over all in the order they lie in sorts those into lists by
//! target: most objects have none. And where climbing to a nearest common ancestor takes too many steps in all (an array that
//! also holds the items of a long list: quadratic in the textbook form), the buckets of Lengauer and Tarjan ("A fast
//! algorithm for finding dominators in a flowgraph", 1979) take over, so that the worst case is
//! O(references x log objects) for certain. Nothing recurses.
//!
//! Time goes into waiting for memory. What a loop is about to read from all over the heap is therefore asked for some
//! rounds before (`prefetch`), so that the waits overlap: half the time on graphs without order.
//!
//! Four words of 4 bytes an object, and one for each edge beside the tree, are all that it takes, and three where there
//! are more such edges than objects: two for cells of a parent and the place of a list, then of an ancestor and a label,
//! and at last the immediate dominators; one for the counts of edges by node, which become numbers by node; one for the
//! nodes by number, which are given up where there are many edges, and made of the numbers again. A semidominator that is
//! not the parent takes the place of an edge. Of the parents the tree remains, in two bits an object, and of the lists
//! their lengths.

use crate::graph::{HeapGraph, NodeId, NodeSet, prefetch};

/// In place of the number of what is not reached.
pub(super) const UNREACHED: u32 = u32::MAX;
/// Distances, in edges, at which the steps of a climb are asked for in advance, first step first: each reads what the
/// one before asked for.
const HOP_PREFETCH_DISTANCES: [usize; 3] = [24, 16, 8];
/// The object of the stack, from its top, whose place of references is asked for.
const REFERENCE_OFFSET_PREFETCH_DISTANCE: usize = 6;
/// The one whose references are asked for.
const REFERENCE_PREFETCH_DISTANCE: usize = 3;
/// Edges whose places are looked up together, so that the waits overlap.
const EDGE_LOOKUP_BATCH: usize = 256;
/// Edges that are sorted in while the numbers of as many are looked up.
const EDGE_SORT_BATCH: usize = 1 << 16;
/// Distance at which what belongs to them is asked for in advance.
const EDGE_PREFETCH_DISTANCE: usize = 12;

/// A tree by depth-first numbers, from the virtual root on.
pub(super) struct DepthFirstDominators {
    /// By number; the first means nothing.
    pub(super) nodes: Vec<NodeId>,
    /// By number.
    pub(super) immediate_dominators: Vec<u32>,
    /// Steps that were taken up trees.
    pub(super) climb_steps: u64,
    /// Memory that was used, a word for each number: to ask the system for as much again would cost more than most work
    /// on it.
    pub(super) scratch_words: Vec<u32>,
}

/// The dominator tree. `step_budget` climbing steps per object before buckets take over.
pub(super) fn compute(graph: &HeapGraph, step_budget: u64) -> DepthFirstDominators {
    let DepthFirstWalk { nodes, mut cells, tree, non_tree_reference_counts, counted_number_limit } =
        depth_first_walk(graph);
    let (numbers, lengths) = number_nodes(&nodes, non_tree_reference_counts, graph, &mut cells);
    // Lists of so many edges take more memory than the nodes: these can be made again.
    let nodes = Some(nodes).filter(|nodes| lengths.sum() <= nodes.len());
    let mut sources = sources_by_target(graph, &numbers, counted_number_limit, &mut cells, lengths.sum());
    let nodes = nodes.unwrap_or_else(|| nodes_by_number(numbers, &lengths, &mut cells));
    let (mut steps, step_budget) = (0, step_budget * nodes.len() as u64);
    let semi = semidominators(&mut cells, &mut sources, &mut steps);
    let tree = SemidominatorTree { tree, source_list_lengths: lengths, semidominators: semi };
    let immediate = immediate_dominators(&tree, cells, step_budget, &mut steps);
    sources.truncate(nodes.len());
    sources.shrink_to_fit();
    DepthFirstDominators { nodes, immediate_dominators: immediate, climb_steps: steps, scratch_words: sources }
}

struct DepthFirstWalk {
    /// By number; the first means nothing.
    nodes: Vec<NodeId>,
    /// By number, with the parent.
    cells: Vec<AncestorCell>,
    tree: DepthFirstTree,
    /// By node: one less than the references to it that are no tree edges; `UNREACHED` of what is not reached.
    non_tree_reference_counts: Vec<u32>,
    /// References of objects with this number or a greater one count for nothing.
    counted_number_limit: u32,
}

struct PendingReference {
    source_number: u32,
    target: NodeId,
}

fn depth_first_walk(graph: &HeapGraph) -> DepthFirstWalk {
    // Reserved for the worst case: pages that are not written to cost nothing.
    let mut nodes = Vec::with_capacity(graph.node_count() + 1);
    let mut cells = Vec::with_capacity(graph.node_count() + 1);
    nodes.push(NodeId::new(0));
    cells.push([0, 0]);
    let mut pending: Vec<PendingReference> =
        rooted_nodes(graph).into_iter().rev().map(|target| PendingReference { source_number: 0, target }).collect();
    let mut walk = DepthFirstWalk {
        nodes,
        cells,
        tree: DepthFirstTree::with_capacity(graph.node_count()),
        non_tree_reference_counts: vec![UNREACHED; graph.node_count() + 1],
        counted_number_limit: 0,
    };
    let mut seen = NodeSet::new(graph.node_count());
    walk.follow_references(graph, &mut pending, &mut seen);
    if graph.has_unheld_in_dominator_tree() && walk.nodes.len() <= graph.node_count() {
        walk.attach_unrooted(graph, &mut pending, &mut seen);
    }
    walk.nodes.shrink_to_fit();
    walk
}

/// Objects that strong roots hold, ascending.
fn rooted_nodes(graph: &HeapGraph) -> Vec<NodeId> {
    let mut starts: Vec<NodeId> = graph.strong_roots().map(|root| root.node).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

impl DepthFirstWalk {
    /// Follows references depth first until none is left. What was seen before is known by a bit each, which stay near
    /// the processor.
    fn follow_references(&mut self, graph: &HeapGraph, pending: &mut Vec<PendingReference>, seen: &mut NodeSet) {
        let DepthFirstWalk { nodes, cells, tree, non_tree_reference_counts, counted_number_limit } = self;
        while let Some(PendingReference { source_number: source, target }) = pending.pop() {
            if !seen.insert(target) {
                non_tree_reference_counts[target.index()] = non_tree_reference_counts[target.index()].wrapping_add(1);
                continue;
            }
            let number = nodes.len() as u32;
            nodes.push(target);
            cells.push([source, 0]);
            tree.push(source);
            for &below in graph.strong_references(target).iter().rev() {
                if !seen.contains(below) {
                    graph.prefetch_reference_offset(below);
                    pending.push(PendingReference { source_number: number, target: below });
                } else if below != target {
                    non_tree_reference_counts[below.index()] = non_tree_reference_counts[below.index()].wrapping_add(1);
                }
            }
            // What the objects that come next will read.
            if let Some(next) = pending.len().checked_sub(REFERENCE_OFFSET_PREFETCH_DISTANCE) {
                graph.prefetch_reference_offset(pending[next].target);
            }
            if let Some(next) = pending.len().checked_sub(REFERENCE_PREFETCH_DISTANCE) {
                graph.prefetch_references(pending[next].target);
            }
        }
        *counted_number_limit = nodes.len() as u32;
    }

    /// Hangs what no root reaches on the tree's root: what no other object holds, with all that it holds; then each
    /// object of the cycles that are left by itself, whose references count for nothing.
    fn attach_unrooted(&mut self, graph: &HeapGraph, pending: &mut Vec<PendingReference>, seen: &mut NodeSet) {
        let mut is_held = NodeSet::new(graph.node_count());
        for node in graph.nodes().filter(|&node| !seen.contains(node)) {
            for &target in graph.strong_references(node) {
                is_held.insert(target);
            }
        }
        let starts = graph.nodes().rev().filter(|&node| !seen.contains(node) && !is_held.contains(node));
        pending.extend(starts.map(|target| PendingReference { source_number: 0, target }));
        self.follow_references(graph, pending, seen);
        for node in graph.nodes().filter(|&node| !seen.contains(node)) {
            self.nodes.push(node);
            self.cells.push([0, 0]);
            self.tree.push(0);
        }
    }
}

/// Numbers that are small on average: for each as many zeros, and a one.
struct UnaryCodedNumbers {
    words: Vec<u64>,
    number_count: usize,
    bit_count: usize,
}

impl UnaryCodedNumbers {
    /// None so far. Room for as many bits as there will be numbers, and one for each that these count.
    fn new(bits: usize) -> Self {
        UnaryCodedNumbers { words: vec![0; bits / 64 + 1], number_count: 0, bit_count: 0 }
    }

    #[inline(always)]
    fn push(&mut self, number: u32) {
        self.bit_count += number as usize;
        self.words[self.bit_count >> 6] |= 1 << (self.bit_count & 63);
        self.bit_count += 1;
        self.number_count += 1;
    }

    fn sum(&self) -> usize {
        self.bit_count - self.number_count
    }

    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let mut at = 0;
        (0..self.number_count).map(move |_| {
            let from = at;
            let mut word = self.words[at >> 6] >> (at & 63);
            while word == 0 {
                at = (at | 63) + 1;
                word = self.words[at >> 6];
            }
            at += word.trailing_zeros() as usize + 1;
            at - from - 1
        })
    }
}

/// A depth-first tree in two bits an object: the parents again, once their memory served something else.
struct DepthFirstTree {
    /// For each number but the first the levels up from the number before it to its parent.
    levels_up: UnaryCodedNumbers,
    /// From the root to the last number.
    path: Vec<u32>,
}

impl DepthFirstTree {
    /// The root alone, and room for as many numbers below it.
    fn with_capacity(count: usize) -> Self {
        DepthFirstTree { levels_up: UnaryCodedNumbers::new(2 * count), path: vec![0] }
    }

    /// Adds the next number, below a parent that is the last number or an ancestor of it.
    #[inline(always)]
    fn push(&mut self, parent: u32) {
        let levels_below = self.path.iter().rev().position(|&number| number == parent).unwrap_or_default();
        self.path.truncate(self.path.len() - levels_below);
        self.levels_up.push(levels_below as u32);
        self.path.push(self.levels_up.number_count as u32);
    }

    /// The depth of each number but the first, ascending: one more than that of its parent, which is the last number
    /// before it of that depth.
    #[inline(always)]
    fn depths(&self) -> impl Iterator<Item = usize> + '_ {
        let mut depth = 0;
        self.levels_up.iter().map(move |levels| {
            depth = depth + 1 - levels;
            depth
        })
    }

    fn parents(&self) -> Vec<u32> {
        let count = self.levels_up.number_count + 1;
        let (mut path, mut parents) = (vec![0; count], Vec::with_capacity(count));
        parents.push(0);
        for (number, depth) in (1..).zip(self.depths()) {
            parents.push(path[depth - 1]);
            path[depth] = number;
        }
        parents
    }
}

/// A number's parent or an ancestor; and beside it where its list ends, then its label: the smallest semidominator on the
/// way to the ancestor.
type AncestorCell = [u32; 2];
const ANCESTOR_INDEX: usize = 0;
const LABEL_INDEX: usize = 1;

fn as_ancestor_cells(words: &mut [u32]) -> &mut [AncestorCell] {
    words.as_chunks_mut().0
}

/// Numbers by node, in the memory of the counts, and these by number; the labels become the ends of lists that are as
/// long. `UNREACHED` is that of a node that has no number.
fn number_nodes(
    nodes: &[NodeId],
    non_tree_reference_counts: Vec<u32>,
    graph: &HeapGraph,
    cells: &mut [AncestorCell],
) -> (Vec<u32>, UnaryCodedNumbers) {
    let mut numbers = non_tree_reference_counts;
    let edge_limit = graph.strong_reference_count() + graph.strong_roots().count();
    let (mut lengths, mut sum) = (UnaryCodedNumbers::new(nodes.len() + edge_limit), 0);
    for (number, node) in nodes.iter().enumerate().skip(1) {
        if let Some(ahead) = nodes.get(number + EDGE_PREFETCH_DISTANCE) {
            prefetch(&numbers, ahead.index());
        }
        let count = std::mem::replace(&mut numbers[node.index()], number as u32).wrapping_add(1);
        lengths.push(count);
        sum += count;
        cells[number][LABEL_INDEX] = sum;
    }
    (numbers, lengths)
}

/// A reference between objects by number.
#[derive(Clone, Copy)]
struct Edge {
    target: u32,
    source: u32,
}

/// Lists of the sources of edges beside the tree, by target.
struct SourceListBuilder<'a> {
    /// The labels say where the list of each number begins, of what is in it so far.
    cells: &'a mut [AncestorCell],
    sources: Vec<u32>,
    /// Numbers whose tree edge was met: edges like it are beside the tree.
    has_met_tree_edge: NodeSet,
}

impl SourceListBuilder<'_> {
    /// Sorts edges in; they are lost.
    fn add_edges(&mut self, edges: &mut [Edge]) {
        let SourceListBuilder { cells, sources, has_met_tree_edge } = self;
        for edges in edges.chunks_mut(EDGE_LOOKUP_BATCH) {
            // The same edges, with places for targets.
            let mut kept = 0;
            for at in 0..edges.len() {
                if let Some(ahead) = edges.get(at + EDGE_PREFETCH_DISTANCE) {
                    prefetch(cells, ahead.target as usize);
                }
                let Edge { target, source } = edges[at];
                let cell = &mut cells[target as usize];
                if source == target
                    || source == cell[ANCESTOR_INDEX] && has_met_tree_edge.insert(NodeId::new(target as usize))
                {
                    continue;
                }
                cell[LABEL_INDEX] -= 1;
                prefetch(sources, cell[LABEL_INDEX] as usize);
                edges[kept] = Edge { target: cell[LABEL_INDEX], source };
                kept += 1;
            }
            for edge in &edges[..kept] {
                sources[edge.target as usize] = edge.source;
            }
        }
    }
}

/// Sources of all edges beside the tree, by target; the labels, which count them, become the places where each target's
/// begin. While some edges are sorted in, the numbers of the next are looked up.
fn sources_by_target(
    graph: &HeapGraph,
    numbers: &[u32],
    counted_node_limit: u32,
    cells: &mut [AncestorCell],
    edge_count: usize,
) -> Vec<u32> {
    // Filled from behind, the ends become the beginnings.
    let mut lists =
        SourceListBuilder { sources: vec![0; edge_count], has_met_tree_edge: NodeSet::new(cells.len()), cells };
    let edge = |source: u32| move |target: &NodeId| Edge { target: numbers[target.index()], source };
    let mut edges: Vec<Edge> = rooted_nodes(graph).iter().map(edge(0)).collect();
    lists.add_edges(&mut edges);
    let (mut nodes, mut source, mut rest): (_, _, &[NodeId]) = (graph.nodes().zip(numbers), 0, &[]);
    let mut look_up = |edges: &mut Vec<Edge>| {
        edges.clear();
        loop {
            let (own, behind) = rest.split_at(rest.len().min(EDGE_SORT_BATCH - edges.len()));
            edges.extend(own.iter().map(edge(source)));
            rest = behind;
            if !rest.is_empty() {
                break;
            }
            let Some((node, &number)) = nodes.find(|&(_, &number)| number < counted_node_limit) else { break };
            (source, rest) = (number, graph.strong_references(node));
        }
    };
    look_up(&mut edges);
    let mut next = Vec::new();
    while edges.len() == EDGE_SORT_BATCH {
        rayon::join(|| lists.add_edges(&mut edges), || look_up(&mut next));
        std::mem::swap(&mut edges, &mut next);
    }
    lists.add_edges(&mut edges);
    lists.sources
}

/// Nodes by number, in the memory of the numbers by node.
fn nodes_by_number(mut numbers: Vec<u32>, lengths: &UnaryCodedNumbers, cells: &mut [AncestorCell]) -> Vec<NodeId> {
    // By way of the labels, so that both are never there; the places follow from the lengths.
    for (node, &number) in numbers.iter().enumerate() {
        if let Some(&ahead) = numbers.get(node + EDGE_PREFETCH_DISTANCE) {
            prefetch(cells, ahead as usize);
        }
        if number != UNREACHED {
            cells[number as usize][LABEL_INDEX] = node as u32;
        }
    }
    numbers.truncate(cells.len());
    numbers.shrink_to_fit();
    numbers[0] = 0;
    let mut place = 0;
    for ((node, cell), length) in numbers.iter_mut().zip(cells).skip(1).zip(lengths.iter()) {
        *node = std::mem::replace(&mut cell[LABEL_INDEX], place);
        place += length as u32;
    }
    // One layout: collecting in place costs nothing.
    numbers.into_iter().map(|node| NodeId::new(node as usize)).collect()
}

/// Semidominators of the numbers that have a list, ascending, in the memory of the lists; the labels have the places of
/// these.
fn semidominators<'a>(cells: &mut [AncestorCell], sources: &'a mut [u32], steps: &mut u64) -> &'a [u32] {
    let (mut path, mut end, mut first_semi) = (Vec::new(), sources.len(), sources.len());
    for number in (1..cells.len()).rev() {
        // No path has led through it so far: its ancestor is its parent, its label still the place of its list.
        let [parent, begin] = cells[number];
        let (mut best, begin) = (parent, begin as usize);
        for at in (begin..end).rev() {
            prefetch_climbs(cells, &sources[..at], number);
            if best == 0 {
                continue;
            }
            let source = sources[at];
            best = best.min(match source < number as u32 {
                true => source,
                false => smallest_label(cells, source, number as u32, &mut path, steps, |label| label),
            });
        }
        if begin < end {
            // Behind the lists that are still to come.
            first_semi -= 1;
            sources[first_semi] = best;
            end = begin;
        }
        cells[number][LABEL_INDEX] = best;
    }
    &sources[first_semi..]
}

/// Asks for what the climbs from the last of these sources will read; their targets lie little below `number`.
#[inline(always)]
fn prefetch_climbs(cells: &[AncestorCell], sources: &[u32], number: usize) {
    for (hops, distance) in HOP_PREFETCH_DISTANCES.into_iter().enumerate() {
        let Some(ahead) = sources.len().checked_sub(distance) else { return };
        let (mut at, nearby) = (sources[ahead], number.saturating_sub(distance) as u32);
        for _ in 0..hops {
            at = cells[at as usize][ANCESTOR_INDEX].max(nearby);
        }
        prefetch(cells, at as usize);
    }
}

/// The label with the smallest `key` on the tree path from `from` up to, and without, the first ancestor that is `limit` or
/// less; the path is compressed.
#[inline]
fn smallest_label(
    cells: &mut [AncestorCell],
    from: u32,
    limit: u32,
    path: &mut Vec<u32>,
    steps: &mut u64,
    key: impl Fn(u32) -> u32,
) -> u32 {
    let mut at = from;
    while cells[at as usize][ANCESTOR_INDEX] > limit {
        path.push(at);
        at = cells[at as usize][ANCESTOR_INDEX];
    }
    *steps += path.len() as u64;
    let (ancestor, mut label) = (cells[at as usize][ANCESTOR_INDEX], cells[at as usize][LABEL_INDEX]);
    while let Some(below) = path.pop() {
        let cell = &mut cells[below as usize];
        if key(cell[LABEL_INDEX]) < key(label) {
            label = cell[LABEL_INDEX];
        }
        *cell = [ancestor, label];
    }
    label
}

/// A depth-first tree with the semidominator of each number.
struct SemidominatorTree<'a> {
    tree: DepthFirstTree,
    /// Edges beside the tree of each number but the first.
    source_list_lengths: UnaryCodedNumbers,
    /// Of those that have any; that of all others is the parent.
    semidominators: &'a [u32],
}

impl SemidominatorTree<'_> {
    /// The depth of each number but the first, and its semidominator where that need not be the parent, ascending.
    #[inline(always)]
    fn depths_and_semidominators(&self) -> impl Iterator<Item = (usize, Option<u32>)> + '_ {
        let mut semi = self.semidominators.iter().copied();
        self.tree.depths().zip(self.source_list_lengths.iter()).map(move |(depth, length)| match length {
            0 => (depth, None),
            _ => (depth, semi.next()),
        })
    }
}

/// Climbs from each parent to the first ancestor that is at or above the semidominator. `memory` has two words for each
/// number.
fn immediate_dominators(
    tree: &SemidominatorTree<'_>,
    memory: Vec<AncestorCell>,
    step_budget: u64,
    steps: &mut u64,
) -> Vec<u32> {
    let mut words = memory.into_flattened();
    let (count, limit_of_steps) = (words.len() / 2, *steps + step_budget);
    let (immediate, path) = words.split_at_mut(count);
    (immediate[0], path[0]) = (0, 0);
    for (number, (depth, semi)) in (1..).zip(tree.depths_and_semidominators()) {
        let mut at = path[depth - 1];
        path[depth] = number as u32;
        let limit = semi.unwrap_or(at);
        while at > limit {
            at = immediate[at as usize];
            *steps += 1;
        }
        immediate[number] = at;
        if *steps > limit_of_steps {
            let parents = tree.tree.parents();
            let semi =
                tree.depths_and_semidominators().zip(&parents[1..]).map(|((_, semi), &parent)| semi.unwrap_or(parent));
            let semi: Vec<u32> = std::iter::once(0).chain(semi).collect();
            return lengauer_tarjan(&parents, &semi, words, steps);
        }
    }
    words.truncate(count);
    words.shrink_to_fit();
    words
}

/// The same without climbing: objects wait in the bucket of their semidominator until the path to it is complete, and
/// then the smallest semidominator on that path tells. Twice the work of climbing on ordinary heaps, never quadratic.
fn lengauer_tarjan(parents: &[u32], semi: &[u32], memory: Vec<u32>, steps: &mut u64) -> Vec<u32> {
    const NONE: u32 = 0;
    let count = parents.len();
    let mut words = memory;
    let cells = as_ancestor_cells(&mut words);
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
