//! Immediate dominators of everything that strong roots reach.
//!
//! Semi-NCA (Georgiadis, "Linear-time algorithms for dominators and related problems", 2005) over depth-first numbers,
//! from a virtual root with number 0 above all strong roots. Two changes make it fit for real heaps. References that are no
//! tree edges are sorted into lists by target, by two threads in one pass over all in the order they lie in: most objects
//! have none. How long each list gets is counted while the depth-first walk goes on, for all that lead to an object but one
//! are in its list. And where climbing to a nearest common ancestor takes too many steps in all (an array that
//! also holds the items of a long list: quadratic in the textbook form), the buckets of Lengauer and Tarjan ("A fast
//! algorithm for finding dominators in a flowgraph", 1979) take over, so that the worst case is
//! O(references x log objects) for certain. Nothing recurses.
//!
//! Time goes into waiting for memory. What a loop is about to read from all over the heap is therefore asked for some
//! rounds before (`prefetch`), so that the waits overlap: half the time on graphs without order.
//!
//! Three words of 4 bytes an object, and one for each edge beside the tree, are all that it takes: one for the nodes by
//! number; one for the numbers by node; one for the places of lists by number, which become cells of an ancestor and a
//! label, when the numbers are done with, and at last the immediate dominators. A semidominator that is not the parent
//! takes the place of an edge. The tree is kept in two bits an object, which of the references are its edges in a bit
//! each, and the lengths of the lists in little more than one bit each.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::graph::{HeapGraph, NodeId, NodeSet, prefetch};

/// Distances, in edges, at which the steps of a climb are asked for in advance, first step first: each reads what the
/// one before asked for.
const HOP_PREFETCH_DISTANCES: [usize; 3] = [24, 16, 8];
/// The object of the stack, from its top, whose place of references is asked for.
const REFERENCE_OFFSET_PREFETCH_DISTANCE: usize = 6;
/// The one whose references are asked for.
const REFERENCE_PREFETCH_DISTANCE: usize = 3;
/// Edges whose places are looked up together, so that the waits overlap.
const EDGE_LOOKUP_BATCH: usize = 256;
/// References of which the edges are taken while those of as many are looked for.
const REFERENCE_BATCH: usize = 1 << 16;
/// References of the tree that are marked together.
const TREE_REFERENCE_BATCH: usize = 32;
/// Distance at which what belongs to references is asked for in advance.
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

/// The dominator tree. `step_budget` climbing steps per object before buckets take over. `take_reached` gets what strong roots
/// reach as soon as that is known.
pub(super) fn compute(
    graph: &HeapGraph,
    step_budget: u64,
    take_reached: &mut dyn FnMut(&NodeSet),
) -> DepthFirstDominators {
    let mut counts = TargetCounts::new(graph.node_count());
    let (mut numbers, mut places) = (Vec::new(), Vec::new());
    // The walk stays on this thread: what other threads allocate stays with them.
    let walk = rayon::in_place_scope(|scope| {
        scope.spawn(|_| {
            counts.add_references(graph);
            (numbers, places) = (resident_zeros(graph.node_count()), resident_zeros(graph.node_count() + 1));
        });
        depth_first_walk(graph, take_reached)
    });
    let DepthFirstWalk { nodes, tree, is_tree_reference, followed } = walk;
    places.truncate(nodes.len());
    let lengths = rayon::in_place_scope(|scope| {
        scope.spawn(|_| number_nodes(&nodes, &mut numbers));
        counts.remove_references_of_others(graph, &followed);
        rooted_nodes(graph).into_iter().for_each(|target| counts.add(target));
        list_lengths_and_ends(&nodes, counts, &mut places)
    });
    let edges = EdgesBesideTree { graph, is_tree_reference, followed };
    let mut sources = edges.sources_by_target(&numbers, &mut places, lengths.sum());
    drop((edges, numbers));
    let mut words = tree.pair_with_parents(places);
    let (mut steps, step_budget) = (0, step_budget * nodes.len() as u64);
    let semi = semidominators(as_ancestor_cells(&mut words), &mut sources, &mut steps);
    let tree = SemidominatorTree { tree, source_list_lengths: lengths, semidominators: semi };
    let immediate = immediate_dominators(&tree, words, step_budget, &mut steps);
    sources.truncate(nodes.len());
    sources.shrink_to_fit();
    DepthFirstDominators { nodes, immediate_dominators: immediate, climb_steps: steps, scratch_words: sources }
}

struct DepthFirstWalk {
    /// By number; the first means nothing.
    nodes: Vec<NodeId>,
    tree: DepthFirstTree,
    /// By place of a reference among all, then by number of the rooted node: an edge of the tree. The last means nothing.
    is_tree_reference: NodeSet,
    /// Objects whose references count.
    followed: NodeSet,
}

struct PendingReference {
    target: NodeId,
    /// In `is_tree_reference`.
    reference_index: u32,
}

fn depth_first_walk(graph: &HeapGraph, take_reached: &mut dyn FnMut(&NodeSet)) -> DepthFirstWalk {
    // Reserved for the worst case: pages that are not written to cost nothing.
    let mut nodes = Vec::with_capacity(graph.node_count() + 1);
    nodes.push(NodeId::new(0));
    let rooted = rooted_nodes(graph);
    let of_roots = (rooted.iter().copied()).zip(graph.strong_reference_count() as u32..);
    let mut pending: Vec<PendingReference> =
        of_roots.map(|(target, reference_index)| PendingReference { target, reference_index }).collect();
    pending.reverse();
    let mut walk = DepthFirstWalk {
        nodes,
        tree: DepthFirstTree::with_capacity(graph.node_count()),
        is_tree_reference: NodeSet::new(graph.strong_reference_count() + rooted.len() + 1),
        followed: NodeSet::new(graph.node_count()),
    };
    walk.follow_references(graph, &mut pending);
    take_reached(&walk.followed);
    if graph.has_unheld_in_dominator_tree() && walk.nodes.len() <= graph.node_count() {
        let reference_index = (graph.strong_reference_count() + rooted.len()) as u32;
        walk.attach_unrooted(graph, reference_index);
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
    fn follow_references(&mut self, graph: &HeapGraph, pending: &mut Vec<PendingReference>) {
        let DepthFirstWalk { nodes, tree, is_tree_reference, followed } = self;
        // Of each object on the way: references that were pending before its own.
        let mut pending_before: Vec<usize> = Vec::new();
        let mut tree_references = Vec::with_capacity(TREE_REFERENCE_BATCH);
        let mut mark = |indices: &mut Vec<u32>| {
            for index in indices.drain(..) {
                is_tree_reference.insert(NodeId::new(index as usize));
            }
        };
        loop {
            while pending_before.pop_if(|before| *before == pending.len()).is_some() {
                tree.step_up();
            }
            let Some(PendingReference { target, reference_index }) = pending.pop() else { break };
            if !followed.insert(target) {
                continue;
            }
            nodes.push(target);
            tree.push_below_last();
            tree_references.push(reference_index);
            if tree_references.len() == TREE_REFERENCE_BATCH {
                mark(&mut tree_references);
            }
            let before = pending.len();
            let (first_index, references) = graph.indexed_strong_references(target);
            for (at, &below) in references.iter().enumerate().rev() {
                if !followed.contains(below) {
                    graph.prefetch_reference_offset(below);
                    pending.push(PendingReference { target: below, reference_index: (first_index + at) as u32 });
                }
            }
            if pending.len() > before {
                pending_before.push(before);
            } else {
                tree.step_up();
            }
            // What the objects that come next will read.
            if let Some(next) = pending.len().checked_sub(REFERENCE_OFFSET_PREFETCH_DISTANCE) {
                graph.prefetch_reference_offset(pending[next].target);
            }
            if let Some(next) = pending.len().checked_sub(REFERENCE_PREFETCH_DISTANCE) {
                graph.prefetch_references(pending[next].target);
            }
        }
        mark(&mut tree_references);
    }

    /// Hangs what no root reaches on the tree's root: what no other object holds, with all that it holds; then each
    /// object of the cycles that are left by itself, whose references count for nothing.
    fn attach_unrooted(&mut self, graph: &HeapGraph, reference_index: u32) {
        let unrooted = |followed: &NodeSet| graph.nodes().filter(|&node| !followed.contains(node)).collect::<Vec<_>>();
        let mut is_held = NodeSet::new(graph.node_count());
        let nodes = unrooted(&self.followed);
        for &target in nodes.iter().flat_map(|&node| graph.strong_references(node)) {
            is_held.insert(target);
        }
        let starts = nodes.into_iter().rev().filter(|&node| !is_held.contains(node));
        let mut pending = starts.map(|target| PendingReference { target, reference_index }).collect();
        self.follow_references(graph, &mut pending);
        for node in unrooted(&self.followed) {
            self.nodes.push(node);
            self.tree.push_below_last();
            self.tree.step_up();
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
    /// Levels up from the last number to the parent of the next.
    levels_to_next_parent: u32,
}

impl DepthFirstTree {
    /// The root alone, and room for as many numbers below it.
    fn with_capacity(count: usize) -> Self {
        DepthFirstTree { levels_up: UnaryCodedNumbers::new(2 * count), levels_to_next_parent: 0 }
    }

    /// Adds the next number, below the last one or as many levels up from it as steps were taken.
    #[inline(always)]
    fn push_below_last(&mut self) {
        self.levels_up.push(std::mem::take(&mut self.levels_to_next_parent));
    }

    #[inline(always)]
    fn step_up(&mut self) {
        self.levels_to_next_parent += 1;
    }

    /// Cells of the parents and these labels, in the memory of the labels.
    fn pair_with_parents(&self, labels: Vec<u32>) -> Vec<u32> {
        // Larger only now, when others have given their memory back.
        let (count, mut words) = (labels.len(), labels);
        words.resize(2 * count, 0);
        for number in (0..count).rev() {
            (words[2 * number], words[2 * number + 1]) = (0, words[number]);
        }
        self.for_each_parent(|number, parent| words[2 * number + ANCESTOR_INDEX] = parent);
        words
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

    /// Calls `take` with each number but the first and its parent, ascending.
    #[inline(always)]
    fn for_each_parent(&self, mut take: impl FnMut(usize, u32)) {
        let mut path = vec![0; self.levels_up.number_count + 1];
        for (number, depth) in (1..).zip(self.depths()) {
            take(number, path[depth - 1]);
            path[depth] = number as u32;
        }
    }

    fn parents(&self) -> Vec<u32> {
        let mut parents = vec![0; self.levels_up.number_count + 1];
        self.for_each_parent(|number, parent| parents[number] = parent);
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

/// Zeros whose pages the system gives now, while another thread is at work, and not when they are written to.
fn resident_zeros(count: usize) -> Vec<u32> {
    const WORDS_PER_PAGE: usize = 1024;
    let mut zeros = vec![0; count];
    zeros.iter_mut().step_by(WORDS_PER_PAGE).for_each(|zero| *zero = std::hint::black_box(0));
    zeros
}

/// Sets the numbers by node.
fn number_nodes(nodes: &[NodeId], numbers: &mut [u32]) {
    for (number, node) in nodes.iter().enumerate().skip(1) {
        numbers[node.index()] = number as u32;
    }
}

/// How many edges beside the tree lead to each number; sets where lists that are as long end, by number.
fn list_lengths_and_ends(nodes: &[NodeId], counts: TargetCounts, ends: &mut [u32]) -> UnaryCodedNumbers {
    let mut lengths = UnaryCodedNumbers::new(nodes.len() + counts.sum);
    let mut sum = 0;
    for (number, &node) in nodes.iter().enumerate().skip(1) {
        if let Some(ahead) = nodes.get(number + EDGE_PREFETCH_DISTANCE) {
            prefetch(&counts.small, ahead.index());
        }
        // One is the tree's. What hangs on the root without a reference has none.
        let length = counts.of(node).saturating_sub(1);
        lengths.push(length);
        sum += length;
        ends[number] = sum;
    }
    lengths
}

/// How often each node is a target: a byte each, so that most stay near the processor.
struct TargetCounts {
    small: Vec<u8>,
    /// Of those that are targets `u8::MAX` times or more often.
    large: FxHashMap<NodeId, u32>,
    sum: usize,
}

impl TargetCounts {
    fn new(node_count: usize) -> Self {
        TargetCounts { small: vec![0; node_count], large: FxHashMap::default(), sum: 0 }
    }

    /// Adds the targets of all references but those of objects to themselves.
    fn add_references(&mut self, graph: &HeapGraph) {
        let all = graph.strong_reference_slice(0..graph.strong_reference_count());
        for source in graph.nodes() {
            let (first, own) = graph.indexed_strong_references(source);
            for (at, &target) in (first + EDGE_PREFETCH_DISTANCE..).zip(own) {
                if let Some(ahead) = all.get(at) {
                    prefetch(&self.small, ahead.index());
                }
                if target != source {
                    self.add(target);
                }
            }
        }
    }

    /// Takes out the targets of objects whose references do not count.
    fn remove_references_of_others(&mut self, graph: &HeapGraph, followed: &NodeSet) {
        let words = followed.words().iter().enumerate().filter(|&(_, &word)| word != u64::MAX);
        let sources = words.flat_map(|(at, _)| 64 * at..graph.node_count().min(64 * at + 64)).map(NodeId::new);
        let sources = sources.filter(|&source| !followed.contains(source));
        let references = sources.flat_map(|source| graph.strong_references(source).iter().map(move |&to| (source, to)));
        for (_, target) in references.filter(|(source, target)| source != target) {
            match &mut self.small[target.index()] {
                &mut u8::MAX => {
                    let count = self.large.entry(target).or_insert(u8::MAX.into());
                    *count = count.saturating_sub(1);
                }
                small => *small = small.saturating_sub(1),
            }
        }
    }

    #[inline(always)]
    fn add(&mut self, target: NodeId) {
        self.sum += 1;
        match &mut self.small[target.index()] {
            &mut u8::MAX => *self.large.entry(target).or_insert(u8::MAX.into()) += 1,
            small => *small += 1,
        }
    }

    #[inline(always)]
    fn of(&self, node: NodeId) -> u32 {
        match self.small[node.index()] {
            u8::MAX => self.large.get(&node).copied().unwrap_or(u8::MAX.into()),
            small => small.into(),
        }
    }
}

/// A reference between objects by number.
#[derive(Clone, Copy)]
struct Edge {
    target: u32,
    source: u32,
}

/// Sorts edges into lists by target, from behind; they are lost. `places` says where the list of each number begins, of
/// what is in it so far.
fn add_edges(edges: &mut [Edge], places: &mut [u32], sources: &mut [u32]) {
    for edges in edges.chunks_mut(EDGE_LOOKUP_BATCH) {
        for at in 0..edges.len() {
            if let Some(ahead) = edges.get(at + EDGE_PREFETCH_DISTANCE) {
                prefetch(places, ahead.target as usize);
            }
            let place = &mut places[edges[at].target as usize];
            // Lists of a damaged index may have other edges than were counted.
            *place = place.wrapping_sub(1);
            edges[at].target = *place;
            prefetch(sources, *place as usize);
        }
        for edge in edges {
            if let Some(source) = sources.get_mut(edge.target as usize) {
                *source = edge.source;
            }
        }
    }
}

/// References that are no edges of the depth-first tree.
struct EdgesBesideTree<'a> {
    graph: &'a HeapGraph,
    /// As the walk has them.
    is_tree_reference: NodeSet,
    followed: NodeSet,
}

impl EdgesBesideTree<'_> {
    /// Objects that roots hold once more.
    fn targets_of_roots(&self) -> impl Iterator<Item = NodeId> {
        let of_roots = rooted_nodes(self.graph).into_iter().zip(self.graph.strong_reference_count()..);
        of_roots.filter(|&(_, index)| !self.is_tree_reference.contains(NodeId::new(index))).map(|(target, _)| target)
    }

    /// Calls `take` with the source and the target of each edge among these references; `source` is the object that the
    /// first of them is of, or one before, and becomes that of the last.
    #[inline(always)]
    fn for_each(&self, references: Range<usize>, source: &mut NodeId, mut take: impl FnMut(NodeId, NodeId)) {
        let targets = self.graph.strong_reference_slice(references.clone());
        let (last, mut end) = (self.graph.node_count() - 1, self.graph.strong_reference_end(*source));
        let mut is_followed = self.followed.contains(*source);
        for (index, word) in (references.start / 64..).zip(&self.is_tree_reference.words()[references.start / 64..]) {
            let mut beside_tree = !word;
            while beside_tree != 0 {
                let reference = 64 * index + beside_tree.trailing_zeros() as usize;
                beside_tree &= beside_tree - 1;
                let Some(&target) = targets.get(reference - references.start) else { return };
                if end <= reference {
                    while end <= reference && source.index() < last {
                        *source = NodeId::new(source.index() + 1);
                        end = self.graph.strong_reference_end(*source);
                    }
                    is_followed = self.followed.contains(*source);
                }
                if is_followed && target != *source {
                    take(*source, target);
                }
            }
        }
    }

    /// Takes edges by batches, each while `make` finds those of the next among the references.
    fn in_batches(
        &self,
        mut make: impl FnMut(Range<usize>, &mut Vec<Edge>) + Send,
        mut take: impl FnMut(&mut Vec<Edge>) + Send,
    ) {
        let count = self.graph.strong_reference_count();
        // What other threads allocate stays with them.
        let (mut batch, mut next) = (Vec::with_capacity(REFERENCE_BATCH), Vec::with_capacity(REFERENCE_BATCH));
        for start in (0..count).step_by(REFERENCE_BATCH) {
            next.clear();
            rayon::join(|| take(&mut batch), || make(start..count.min(start + REFERENCE_BATCH), &mut next));
            std::mem::swap(&mut batch, &mut next);
        }
        take(&mut batch);
    }

    /// Sources of all edges by target; where each target's end, as `places` has it, becomes where they begin.
    fn sources_by_target(&self, numbers: &[u32], places: &mut [u32], edge_count: usize) -> Vec<u32> {
        let mut sources = vec![0; edge_count];
        let of_roots = self.targets_of_roots().map(|target| Edge { target: numbers[target.index()], source: 0 });
        add_edges(&mut of_roots.collect::<Vec<_>>(), places, &mut sources);
        let mut source = NodeId::new(0);
        let find = |references, edges: &mut Vec<Edge>| {
            self.for_each(references, &mut source, |source, target| {
                edges.push(Edge { target: target.index() as u32, source: numbers[source.index()] });
            });
            for at in 0..edges.len() {
                if let Some(ahead) = edges.get(at + EDGE_PREFETCH_DISTANCE) {
                    prefetch(numbers, ahead.target as usize);
                }
                edges[at].target = numbers[edges[at].target as usize];
            }
        };
        self.in_batches(find, |edges| add_edges(edges, places, &mut sources));
        sources
    }
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
fn immediate_dominators(tree: &SemidominatorTree<'_>, memory: Vec<u32>, step_budget: u64, steps: &mut u64) -> Vec<u32> {
    let mut words = memory;
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
