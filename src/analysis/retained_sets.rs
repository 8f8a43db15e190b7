//! Retained sizes of sets of objects: of a type, a package, a section.
//!
//! The retained size of a set is not the sum of its members' retained sizes: one member may hold another,
//! and two together may hold what neither holds alone. The sum over the members that no member of the same set
//! dominates counts nothing twice and is a lower bound; the exact figure takes a marking of the heap without the set.

use std::collections::VecDeque;

use rayon::prelude::*;

use super::dominators::{DominatorChildren, DominatorNode, DominatorWalkStep, Dominators};
use super::retained::RetainedSizes;
use crate::graph::{HeapGraph, NodeId, NodeSet};

/// The members of a set that no other member dominates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TopmostTotals {
    /// Number of members.
    pub objects: u64,
    /// Their retained bytes, added up.
    pub retained_bytes: u64,
}

/// No set: an object that is not counted.
pub const NO_SET: u32 = u32::MAX;

/// For each of `set_count` disjoint sets its topmost members among the objects below `from` in the dominator tree. `set_of` says which set an object is in. O(objects).
pub fn retained_lower_bound_by_set(
    dominators: &Dominators,
    retained: &RetainedSizes,
    children: &DominatorChildren<'_>,
    from: DominatorNode,
    set_count: usize,
    set_of: impl Fn(NodeId) -> u32,
) -> Vec<TopmostTotals> {
    let mut topmost = vec![TopmostTotals::default(); set_count];
    // By set: the place on the way behind all that its last topmost member dominates.
    let mut ends = vec![0u32; set_count];
    let mut next = 0u32;
    children.walk(from, |step| {
        let DominatorWalkStep::Enter(number) = step else { return };
        let place = next;
        // Wraps only over a damaged index, whose answers are thrown away.
        next = next.wrapping_add(1);
        let set = set_of(dominators.node_at(number));
        if set != NO_SET && place >= ends[set as usize] {
            ends[set as usize] = place.wrapping_add(retained.objects_at(number));
            let topmost = &mut topmost[set as usize];
            topmost.objects += 1;
            topmost.retained_bytes = topmost.retained_bytes.saturating_add(retained.bytes_at(number));
        }
    });
    topmost
}

/// The topmost members of one set, by number in the tree. O(objects).
pub fn topmost_members(
    dominators: &Dominators,
    children: &DominatorChildren<'_>,
    is_member: impl Fn(NodeId) -> bool,
) -> Vec<DominatorNode> {
    let mut members = Vec::new();
    let mut open = 0u32;
    children.walk(DominatorNode::ROOT, |step| {
        let (DominatorWalkStep::Enter(number) | DominatorWalkStep::Leave(number)) = step;
        if !is_member(dominators.node_at(number)) {
            return;
        }
        match step {
            DominatorWalkStep::Leave(_) => open = open.wrapping_sub(1),
            DominatorWalkStep::Enter(_) => {
                if open == 0 {
                    members.push(number);
                }
                open = open.wrapping_add(1);
            }
        }
    });
    members
}

/// An answer that would take more steps than were allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManySteps;

/// Sets that one marking takes out, each for itself: a bit of a word each, and one for what is reached at all.
const SETS_PER_MARKING: usize = 63;
/// The bit of a word that says that the object is reached.
const REACHED_BIT: u64 = 1 << SETS_PER_MARKING;
/// Markings at one time: each has its own words for all objects.
const CONCURRENT_MARKINGS: usize = 4;
/// Memory of [`retained_exact_by_set`] beside the graph, per object, at most.
pub const MAX_MARKING_BYTES_PER_OBJECT: u64 = 4 + CONCURRENT_MARKINGS as u64 * 13;

/// Steps that `retained_exact_by_set` is to be allowed for a graph: far more than all types of a program take, unless
/// they hold each other in ways that no program has. In small graphs some tenths of a second.
pub fn max_exact_marking_steps(graph: &HeapGraph) -> u64 {
    const MIN_STEPS: u64 = 100_000_000;
    const STEPS_PER_OBJECT: u64 = 500;
    MIN_STEPS.max((graph.node_count() as u64 + graph.strong_reference_count() as u64).saturating_mul(STEPS_PER_OBJECT))
}

/// For each of `sets` what would become unreachable if all of it were taken out, in bytes: 0 when none of it is
/// reachable. 63 sets share a marking, in which each object has a bit for each of them: still reached without that set.
/// O(objects + references) for each 63 sets, unless the sets reach objects one after another: then an object is visited
/// again, 63 times at worst. `progress` is told how many sets are done.
///
/// # Errors
/// When it takes more than `most_steps`, an object or reference looked at being one.
pub fn retained_exact_by_set(
    graph: &HeapGraph,
    sets: &[u32],
    set_of: impl Fn(NodeId) -> u32,
    most_steps: u64,
    progress: impl Fn(usize),
) -> Result<Vec<u64>, TooManySteps> {
    let last = sets.iter().copied().max().map_or(0, |set| set as usize + 1);
    let mut place_of_set = vec![NO_SET; last];
    for (place, &set) in sets.iter().enumerate() {
        place_of_set[set as usize] = place as u32;
    }
    let place_of = |node| place_of_set.get(set_of(node) as usize).copied().unwrap_or(NO_SET);
    let places: Vec<u32> = graph.nodes().map(place_of).collect();
    let starts: Vec<usize> = (0..sets.len()).step_by(SETS_PER_MARKING).collect();
    let mut left = most_steps;
    let mut bytes = Vec::with_capacity(sets.len());
    // The same markings run together whatever threads there are, so that the same answers are refused.
    for together in starts.chunks(CONCURRENT_MARKINGS) {
        let found: Vec<Result<(Vec<u64>, u64), TooManySteps>> = together
            .par_iter()
            .map(|&start| {
                let count = SETS_PER_MARKING.min(sets.len() - start);
                SetMarking::new(graph, &places, start as u32, left).run(count)
            })
            .collect();
        for found in found {
            let (of_sets, steps) = found?;
            left = left.checked_sub(steps).ok_or(TooManySteps)?;
            bytes.extend(of_sets);
        }
        progress(bytes.len());
    }
    Ok(bytes)
}

/// One marking: which objects are still reached without each of up to 63 sets.
struct SetMarking<'a> {
    graph: &'a HeapGraph,
    /// By object: the place of its set.
    set_places: &'a [u32],
    /// Place of the first set of this marking.
    first_set: u32,
    /// By object: a bit for each set without which it is still reached.
    reached_without: Vec<u64>,
    queued: NodeSet,
    queue: VecDeque<NodeId>,
    max_steps: u64,
}

impl<'a> SetMarking<'a> {
    fn new(graph: &'a HeapGraph, places: &'a [u32], first_set: u32, most_steps: u64) -> Self {
        let count = graph.node_count();
        let (reached, queued) = (vec![0; count], NodeSet::new(count));
        SetMarking {
            graph,
            set_places: places,
            first_set,
            reached_without: reached,
            queued,
            queue: VecDeque::new(),
            max_steps: most_steps,
        }
    }

    /// Bytes that each of the `count` sets holds, and steps that it took.
    fn run(mut self, count: usize) -> Result<(Vec<u64>, u64), TooManySteps> {
        let all = REACHED_BIT | (REACHED_BIT - 1) >> (SETS_PER_MARKING - count);
        for root in self.graph.strong_roots() {
            self.reach_without(root.node, all);
        }
        let mut steps = 0;
        while let Some(node) = self.queue.pop_front() {
            self.queued.remove(node);
            let references = self.graph.strong_references(node);
            steps += 1 + references.len() as u64;
            if steps > self.max_steps {
                return Err(TooManySteps);
            }
            let without = self.reached_without[node.index()];
            for &target in references {
                self.reach_without(target, without);
            }
        }
        let mut bytes = vec![0u64; count];
        for node in self.graph.nodes() {
            let reached = self.reached_without[node.index()];
            let mut lost = if reached & REACHED_BIT == 0 { 0 } else { all & !reached };
            while lost != 0 {
                let of_set = &mut bytes[lost.trailing_zeros() as usize];
                *of_set = of_set.saturating_add(self.graph.shallow_bytes(node));
                lost &= lost - 1;
            }
        }
        Ok((bytes, steps))
    }

    /// An object is reached without these sets, unless it is in one of them.
    fn reach_without(&mut self, node: NodeId, mut without: u64) {
        let own = self.set_places[node.index()].wrapping_sub(self.first_set);
        if (own as usize) < SETS_PER_MARKING {
            without &= !(1 << own);
        }
        let reached = &mut self.reached_without[node.index()];
        if without & !*reached != 0 {
            *reached |= without;
            if self.queued.insert(node) {
                self.queue.push_back(node);
            }
        }
    }
}
