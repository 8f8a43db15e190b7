//! The tree numbered from the top down, all that a number dominates right behind it: children need no list, only how many
//! numbers to step over.

use std::sync::Arc;

use super::compute::DepthFirstDominators;
use crate::graph::{NodeId, PackedNumbers, prefetch};
use crate::parallel;

/// Distance at which places are asked for in advance.
const PREFETCH_DISTANCE: usize = 12;

/// A tree in preorder.
pub(super) struct PreorderTree {
    /// By number; the first means nothing.
    pub(super) nodes: Vec<NodeId>,
    /// By number.
    pub(super) immediate: StepsUp,
    /// By number: how many numbers it dominates, itself among them; of the first without itself.
    pub(super) sizes: Arc<PackedNumbers>,
    /// Memory that was used, 4 bytes for each number.
    pub(super) memory: Vec<u32>,
}

/// Immediate dominators of numbers in preorder.
#[derive(Debug)]
pub(super) enum StepsUp {
    /// How far before a number its immediate dominator is, or `FAR`.
    Near {
        /// By number.
        steps: Vec<u16>,
        /// Numbers whose immediate dominator is far, ascending, each the first of some that have the same, and that.
        far: Vec<(u32, u32)>,
    },
    /// The immediate dominators themselves, by number.
    All(Vec<u32>),
}

/// In place of steps that do not fit.
const FAR: u16 = u16::MAX;
/// One change of a far dominator in so many numbers, 8 bytes each, leaves these small.
const MIN_NUMBERS_PER_CHANGE: usize = 8;

impl StepsUp {
    fn of(immediate: &[u32]) -> Self {
        let step = |number: usize| u16::try_from(number - immediate[number] as usize).unwrap_or(FAR);
        let steps = parallel::collect(immediate.len(), step);
        let mut far: Vec<(u32, u32)> = Vec::new();
        for (number, _) in steps.iter().enumerate().filter(|(_, steps)| **steps == FAR) {
            if far.last().is_none_or(|last| last.1 != immediate[number]) {
                if far.len() > immediate.len() / MIN_NUMBERS_PER_CHANGE {
                    return StepsUp::All(immediate.to_vec());
                }
                far.push((number as u32, immediate[number]));
            }
        }
        far.shrink_to_fit();
        StepsUp::Near { steps, far }
    }

    /// The immediate dominator of a number other than the first. O(1), where it is far O(log of how often that changes).
    #[inline]
    pub(super) fn of_number(&self, number: usize) -> usize {
        match self {
            StepsUp::Near { steps, far } => match steps[number] {
                FAR => far[far.partition_point(|&(first, _)| first as usize <= number) - 1].1 as usize,
                steps => number - usize::from(steps),
            },
            StepsUp::All(immediate) => immediate[number] as usize,
        }
    }
}

/// Numbers a tree anew; of numbers with one immediate dominator the order stays. O(objects); 16 bytes for each, those of the
/// tree among them.
pub(super) fn renumbered(tree: DepthFirstDominators) -> PreorderTree {
    let DepthFirstDominators { nodes, immediate, memory: mut sizes, .. } = tree;
    let count = nodes.len();
    sizes.clear();
    sizes.resize(count, 1);
    for number in (1..count).rev() {
        sizes[immediate[number] as usize] += sizes[number];
    }
    // The new number of what comes next below each; at last of what comes behind all below it.
    let mut ends = vec![1u32; count];
    for number in 1..count {
        let next = &mut ends[immediate[number] as usize];
        let own = *next;
        *next += sizes[number];
        ends[number] = own + 1;
    }
    let mut nodes_in_preorder = immediate;
    scatter(&sizes, &ends, &mut nodes_in_preorder, |number| nodes[number].index() as u32);
    // u32 and NodeId have one layout, so collecting in place costs nothing, here and below.
    let mut sizes_in_preorder: Vec<u32> = nodes.into_iter().map(|node| node.index() as u32).collect();
    scatter(&sizes, &ends, &mut sizes_in_preorder, |number| sizes[number]);
    let nodes = nodes_in_preorder.into_iter().map(|node| NodeId::new(node as usize)).collect();
    drop(sizes);
    // The nearest before it that reaches behind it dominates a number.
    let (mut immediate, sizes_by_number) = (ends, &mut sizes_in_preorder);
    immediate[0] = 0;
    for number in 1..count as u32 {
        let mut above = number - 1;
        while above + sizes_by_number[above as usize] <= number {
            above = immediate[above as usize];
        }
        immediate[number as usize] = above;
    }
    sizes_by_number[0] -= 1;
    let steps_up = StepsUp::of(&immediate);
    let sizes = PackedNumbers::collect(count, |number| sizes_in_preorder[number].into());
    PreorderTree { nodes, immediate: steps_up, sizes: Arc::new(sizes), memory: immediate }
}

/// Puts values by number where the subtrees of these sizes and ends begin.
fn scatter(sizes: &[u32], ends: &[u32], values: &mut [u32], value: impl Fn(usize) -> u32) {
    for (number, (size, end)) in sizes.iter().zip(ends).enumerate() {
        if let (Some(size), Some(end)) = (sizes.get(number + PREFETCH_DISTANCE), ends.get(number + PREFETCH_DISTANCE)) {
            prefetch(values, (end - size) as usize);
        }
        values[(end - size) as usize] = value(number);
    }
}
