//! Conditions over columns, 4,096 objects at a time: a byte for each, joined by `and` and `or`, then packed to bits.
//!
//! There is no `not` here: it is taken into the tests when an expression is bound, so that a test of what is not known
//! is false either way.

use std::ops::Range;

use rayon::prelude::*;

use super::number::UnsignedRange;
use crate::analysis::dominators::{DominatorNode, Dominators};
use crate::analysis::retained::RetainedSizes;
use crate::graph::{HeapGraph, NodeId, NodeSet, TypeId};

/// Objects whose masks are made together: small enough for the nearest cache.
const CHUNK_NODES: usize = 4096;
/// Chunks that a thread takes at a time.
const CHUNKS_TOGETHER: usize = 16;

/// A condition that is bound to a dump.
#[derive(Debug)]
pub(super) enum NodeCondition {
    /// No node.
    Never,
    /// Every node.
    Always,
    /// By type: 1 where its objects match.
    Types(Vec<u8>),
    /// By the type of the immediate dominator; without one, nothing matches.
    DominatorTypes(Vec<u8>),
    /// By the immediate dominator, in ascending runs of nodes; without one, nothing matches.
    DominatorRanges(Vec<Range<usize>>),
    /// Ascending runs of nodes.
    NodeRanges(Vec<Range<usize>>),
    /// Nodes in a set, or those that are not.
    NodeSet(NodeSet, bool),
    /// Nodes that strong roots reach, or those that they do not.
    Reachable(bool),
    Shallow(UnsignedRange),
    References(UnsignedRange),
    Referrers(UnsignedRange),
    Retained(UnsignedRange),
    /// Objects in the subtree of the dominator tree, itself among them.
    Dominated(UnsignedRange),
    /// Levels below the roots, by number in the dominator tree.
    Depth(UnsignedRange),
    /// In the dominator tree, or not.
    InDominatorTree(bool),
    /// Immediately dominated by an object, or not.
    HasDominator(bool),
    All(Vec<NodeCondition>),
    Any(Vec<NodeCondition>),
}

/// The columns of a dump; those that take work are there when a mask names them.
#[derive(Debug)]
pub(super) struct DumpColumns<'d> {
    pub(super) graph: &'d HeapGraph,
    pub(super) reachable: Option<&'d NodeSet>,
    /// Of objects that strong roots reach.
    pub(super) dominators_and_retained: Option<(&'d Dominators, &'d RetainedSizes)>,
    /// Levels below the roots, by number in the dominator tree.
    pub(super) depths: Vec<u32>,
}

impl NodeCondition {
    /// Levels of masks inside one another.
    fn nesting_depth(&self) -> usize {
        match self {
            NodeCondition::All(parts) | NodeCondition::Any(parts) => {
                1 + parts.iter().map(NodeCondition::nesting_depth).max().unwrap_or(0)
            }
            _ => 0,
        }
    }
}

/// The nodes of a range that match. O(nodes), on all threads.
pub(super) fn select_nodes(mask: &NodeCondition, columns: &DumpColumns<'_>, nodes: Range<usize>) -> NodeSet {
    let node_count = columns.graph.node_count();
    let mut words = vec![0u64; node_count.div_ceil(64)];
    let depth = mask.nesting_depth();
    let pieces = words.par_chunks_mut(CHUNKS_TOGETHER * CHUNK_NODES / 64).enumerate();
    pieces.for_each(|(piece, words)| {
        let mut bytes = vec![0u8; CHUNK_NODES];
        let mut scratch = vec![vec![0u8; CHUNK_NODES]; depth];
        for (chunk, words) in words.chunks_mut(CHUNK_NODES / 64).enumerate() {
            let start = (piece * CHUNKS_TOGETHER + chunk) * CHUNK_NODES;
            let end = (start + CHUNK_NODES).min(node_count);
            let (from, to) = (start.max(nodes.start), end.min(nodes.end));
            if from >= to {
                continue;
            }
            bytes.fill(0);
            columns.fill_matches(mask, from, &mut bytes[from - start..to - start], &mut scratch);
            for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(64)) {
                *word = pack_bits(bytes);
            }
        }
    });
    NodeSet::from_words(words, node_count).unwrap_or_default()
}

/// 64 bytes of 0 and 1 as bits, the first in the lowest.
fn pack_bits(bytes: &[u8]) -> u64 {
    let mut word = 0;
    for (at, eight) in bytes.chunks_exact(8).enumerate() {
        let eight =
            u64::from_le_bytes([eight[0], eight[1], eight[2], eight[3], eight[4], eight[5], eight[6], eight[7]]);
        // Each byte's bit moves to another place of the highest byte.
        word |= (eight.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * at);
    }
    word
}

impl DumpColumns<'_> {
    /// 1 for each of the nodes from `start` that matches, 0 for each that does not.
    fn fill_matches(&self, mask: &NodeCondition, start: usize, out: &mut [u8], scratch: &mut [Vec<u8>]) {
        let graph = self.graph;
        let range = start..start + out.len();
        let nodes = || range.clone().map(NodeId::new);
        match mask {
            NodeCondition::Never => out.fill(0),
            NodeCondition::Always => out.fill(1),
            NodeCondition::Types(table) => {
                let types = graph.node_types(range.clone());
                out.iter_mut().zip(types).for_each(|(out, type_id)| *out = table[type_id.index()]);
            }
            NodeCondition::Shallow(span) => {
                out.iter_mut()
                    .zip(graph.shallow_bytes_of(range.clone()))
                    .for_each(|(out, bytes)| *out = span.mask_byte(bytes));
            }
            NodeCondition::References(span) => {
                let count = |node| graph.stored_reference_count(node) as u64;
                out.iter_mut().zip(nodes()).for_each(|(out, node)| *out = span.mask_byte(count(node)));
            }
            NodeCondition::Referrers(span) => {
                let count = |node| graph.referrers(node).len() as u64;
                out.iter_mut().zip(nodes()).for_each(|(out, node)| *out = span.mask_byte(count(node)));
            }
            NodeCondition::NodeRanges(runs) => {
                out.fill(0);
                let first = runs.partition_point(|run| run.end <= range.start);
                for run in runs[first..].iter().take_while(|run| run.start < range.end) {
                    let (from, to) = (run.start.max(range.start), run.end.min(range.end));
                    out[from - start..to - start].fill(1);
                }
            }
            NodeCondition::NodeSet(set, is_in) => {
                out.iter_mut().zip(nodes()).for_each(|(out, node)| *out = u8::from(set.contains(node) == *is_in));
            }
            NodeCondition::Reachable(is_in) => {
                let has = |node| self.reachable.is_some_and(|set| set.contains(node));
                out.iter_mut().zip(nodes()).for_each(|(out, node)| *out = u8::from(has(node) == *is_in));
            }
            NodeCondition::Retained(span) => {
                self.fill_by_dominator_tree(range, out, |_, retained, number| span.mask_byte(retained.bytes_at(number)))
            }
            NodeCondition::Dominated(span) => self.fill_by_dominator_tree(range, out, |_, retained, number| {
                span.mask_byte(retained.objects_at(number).into())
            }),
            NodeCondition::Depth(span) => self
                .fill_by_dominator_tree(range, out, |_, _, number| span.mask_byte(self.depths[number.index()].into())),
            NodeCondition::InDominatorTree(true) => self.fill_by_dominator_tree(range, out, |_, _, _| 1),
            NodeCondition::HasDominator(true) => self.fill_by_dominator_tree(range, out, |dominators, _, number| {
                u8::from(dominators.immediate_dominator_of(number) != DominatorNode::ROOT)
            }),
            NodeCondition::InDominatorTree(false) | NodeCondition::HasDominator(false) => {
                let known = if matches!(mask, NodeCondition::InDominatorTree(_)) {
                    NodeCondition::InDominatorTree(true)
                } else {
                    NodeCondition::HasDominator(true)
                };
                self.fill_matches(&known, start, out, scratch);
                out.iter_mut().for_each(|out| *out ^= 1);
            }
            NodeCondition::DominatorTypes(table) => self.fill_by_dominator_tree(range, out, |dominators, _, number| {
                match dominators.immediate_dominator_of(number) {
                    DominatorNode::ROOT => 0,
                    dominator => table[graph.type_of(dominators.node_at(dominator)).index()],
                }
            }),
            NodeCondition::DominatorRanges(runs) => self.fill_by_dominator_tree(range, out, |dominators, _, number| {
                match dominators.immediate_dominator_of(number) {
                    DominatorNode::ROOT => 0,
                    dominator => {
                        let node = dominators.node_at(dominator).index();
                        let run = runs.partition_point(|run| run.end <= node);
                        u8::from(runs.get(run).is_some_and(|run| run.start <= node))
                    }
                }
            }),
            NodeCondition::All(parts) => self.fill_joined(parts, start, out, scratch, 0, |out, other| *out &= other),
            NodeCondition::Any(parts) => self.fill_joined(parts, start, out, scratch, 1, |out, other| *out |= other),
        }
    }

    /// Joins parts; once all bytes are `decided`, the rest of them changes nothing and is not looked at.
    fn fill_joined(
        &self,
        parts: &[NodeCondition],
        start: usize,
        out: &mut [u8],
        scratch: &mut [Vec<u8>],
        decided: u8,
        join: impl Fn(&mut u8, u8),
    ) {
        let Some((first, rest)) = parts.split_first() else { return out.fill(1 - decided) };
        let Some((other, deeper)) = scratch.split_first_mut() else { return out.fill(0) };
        self.fill_matches(first, start, out, deeper);
        for part in rest {
            if out.iter().all(|&byte| byte == decided) {
                return;
            }
            let other = &mut other[..out.len()];
            self.fill_matches(part, start, other, deeper);
            out.iter_mut().zip(&*other).for_each(|(out, &other)| join(out, other));
        }
    }

    /// 0 for nodes that are not in the dominator tree.
    fn fill_by_dominator_tree(
        &self,
        range: Range<usize>,
        out: &mut [u8],
        test: impl Fn(&Dominators, &RetainedSizes, DominatorNode) -> u8,
    ) {
        let Some((dominators, retained)) = self.dominators_and_retained else { return out.fill(0) };
        let numbers = dominators.numbers_of(range);
        out.iter_mut().zip(numbers).for_each(|(out, number)| {
            *out = number.map_or(0, |number| test(dominators, retained, number));
        });
    }
}

/// By type: 1 where the test holds.
pub(super) fn matches_by_type(graph: &HeapGraph, test: impl Fn(TypeId) -> bool) -> Vec<u8> {
    graph.types().ids().map(|type_id| u8::from(test(type_id))).collect()
}

#[cfg(test)]
mod tests {
    use super::pack_bits;

    #[test]
    fn bits_are_in_order() {
        for at in 0..64 {
            let bytes: Vec<u8> = (0..64).map(|place| u8::from(place == at)).collect();
            assert_eq!(pack_bits(&bytes), 1 << at);
        }
        let thirds: Vec<u8> = (0..64).map(|place| u8::from(place % 3 == 0)).collect();
        assert_eq!(pack_bits(&thirds), (0..64).filter(|at| at % 3 == 0).fold(0, |word, at| word | 1 << at));
    }
}
