//! Limits of memory: an answer that does not fit fails early, with figures, instead of being killed by the
//! system for lack of memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::analysis::retained_sets::MAX_MARKING_BYTES_PER_OBJECT;
use crate::graph::HeapGraph;
use crate::units::format_bytes;

/// Beside the graph, per object: what the dominator tree takes while it is computed, and what it and the retained sizes
/// take after that, the numbers by node among it.
const DOMINATORS_BYTES_PER_OBJECT: u64 = 20;
/// For each reference more than there are objects, while it is computed.
const DOMINATORS_BYTES_PER_REFERENCE: u64 = 4;
/// Per object: the dominator tree turned round, and marks on the way down.
const DOMINATOR_DESCENT_BYTES_PER_OBJECT: u64 = 9;
/// Per object: shortest paths from all roots, with the tree turned round before.
const MERGED_PATHS_BYTES_PER_OBJECT: u64 = 16;
/// Per object: best ways from all starts, rows, and the dominator tree turned round.
const BEST_PATHS_BYTES_PER_OBJECT: u64 = 23;
/// Beside both, per object: reverse references, paths, and the columns of the tree numbered by level.
const INDEX_BYTES_PER_OBJECT: u64 = 33;

/// The most memory that dumps and the answers from them may take. Clones are of one account: dumps that are open at the
/// same time share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryLimit {
    /// The limit; `None` for none.
    bytes: Option<u64>,
    /// Memory that an index maps counts too.
    pub(crate) counts_mapped_files: bool,
    /// Bytes of all that is held: graphs, dominator trees, allocation totals, indexes where they count.
    held_bytes: Arc<AtomicU64>,
}

/// Memory that counts as held until this is dropped.
#[derive(Debug)]
pub(super) struct HeldMemory {
    /// The account of the limit, from which `bytes` are taken in the end.
    all_held_bytes: Arc<AtomicU64>,
    bytes: u64,
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        self.all_held_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Memory that an answer needs besides the dominator tree and the retained sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerNeed {
    /// To walk down the dominator tree.
    DominatorDescent,
    /// Shortest paths from all roots.
    MergedPaths,
    /// Best ways to all objects.
    BestPaths,
}

impl AnswerNeed {
    fn bytes_per_object(self) -> u64 {
        match self {
            AnswerNeed::DominatorDescent => DOMINATOR_DESCENT_BYTES_PER_OBJECT,
            AnswerNeed::MergedPaths => MERGED_PATHS_BYTES_PER_OBJECT,
            AnswerNeed::BestPaths => BEST_PATHS_BYTES_PER_OBJECT,
        }
    }
}

/// State of the dominator tree and the retained sizes of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DominatorStorage {
    /// Not computed so far.
    NotComputed,
    /// In memory, and held.
    Held,
    /// In an index, which is held where it counts.
    Mapped,
}

impl DominatorStorage {
    /// Bytes that are still to be taken for them.
    fn bytes_still_needed(self, graph: &HeapGraph) -> u64 {
        match self {
            DominatorStorage::NotComputed => dominators_bytes(graph),
            DominatorStorage::Held | DominatorStorage::Mapped => 0,
        }
    }
}

/// Purpose of the memory that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryPurpose {
    /// The dump itself while it is read.
    Dump,
    /// The graph, judged by the length of the file before it is read.
    Graph,
    /// The dominator tree with the graph.
    Dominators,
    /// The references to each object with the graph.
    Referrers,
    /// Markings of the graph without each of some sets, for exact retained sizes.
    ExactRetained,
    /// Memory that an answer needs besides the dominator tree, with the graph.
    Answer,
    /// Whatever is in memory, while an answer is made.
    HeldWhileAnswering,
    /// The making of an index with the graph.
    Index,
    /// An index that is mapped into memory.
    MappedIndex,
}

/// A dump, an index or an answer takes more memory than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}, and {} are allowed", self.statement(), format_bytes(*limit_bytes))]
pub struct MemoryError {
    /// Purpose of the memory.
    pub purpose: MemoryPurpose,
    /// Bytes that it takes in all, where that is known before it is tried.
    pub needed_bytes: Option<u64>,
    /// Bytes that it may take.
    pub limit_bytes: u64,
}

impl MemoryError {
    /// Purpose and bytes, in words; what it may take is left to be said.
    pub fn statement(&self) -> String {
        let needed = self.needed_bytes.map_or("more".into(), format_bytes);
        match self.purpose {
            MemoryPurpose::Dump | MemoryPurpose::MappedIndex => "the dump takes more memory than it may".into(),
            MemoryPurpose::HeldWhileAnswering => "the answer takes more memory than it may".into(),
            MemoryPurpose::Graph => format!("its graph takes at least {needed} of memory"),
            MemoryPurpose::Dominators => format!("the dominator tree takes {needed} of memory with the graph"),
            MemoryPurpose::Referrers => format!("the references to each object take {needed} of memory with the graph"),
            MemoryPurpose::ExactRetained => format!("exact retained sizes take {needed} of memory with the graph"),
            MemoryPurpose::Answer => format!("the answer takes {needed} of memory with the graph"),
            MemoryPurpose::Index => format!("an index takes {needed} of memory with the graph"),
        }
    }
}

impl MemoryLimit {
    /// At most so many bytes, those that an index maps into memory included.
    pub fn of(bytes: u64) -> Self {
        MemoryLimit { bytes: Some(bytes), counts_mapped_files: true, held_bytes: Arc::default() }
    }

    /// A limit of free bytes: at most so many, without those that an index maps, which the system can take back.
    pub fn of_free_memory(bytes: u64) -> Self {
        MemoryLimit { counts_mapped_files: false, ..Self::of(bytes) }
    }

    /// The limit in bytes; `None` for no limit.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// Bytes that are left of the limit beside the dumps that are open.
    pub fn left_bytes(&self) -> Option<u64> {
        self.bytes.map(|bytes| bytes.saturating_sub(self.held_bytes.load(Ordering::Relaxed)))
    }

    /// Counts a graph among what is in memory.
    pub(super) fn hold_graph(&self, graph: &HeapGraph) -> HeldMemory {
        self.hold_bytes(graph_bytes(graph))
    }

    /// Counts what an index maps into memory, where that counts.
    pub(super) fn hold_mapped(&self, bytes: u64) -> Option<HeldMemory> {
        self.counts_mapped_files.then(|| self.hold_bytes(bytes))
    }

    /// Counts the dominator tree and the retained sizes of a graph.
    pub(super) fn hold_dominators(&self, graph: &HeapGraph) -> HeldMemory {
        self.hold_bytes(graph.node_count() as u64 * DOMINATORS_BYTES_PER_OBJECT)
    }

    /// Counts bytes among what is in memory.
    pub(super) fn hold_bytes(&self, bytes: u64) -> HeldMemory {
        self.held_bytes.fetch_add(bytes, Ordering::Relaxed);
        HeldMemory { all_held_bytes: Arc::clone(&self.held_bytes), bytes }
    }

    /// Fails when there is no room for so many bytes beside all that is held.
    pub(super) fn check_fits(&self, what: MemoryPurpose, bytes: u64) -> Result<(), MemoryError> {
        let needed_bytes = self.held_bytes.load(Ordering::Relaxed).saturating_add(bytes);
        match self.bytes {
            Some(limit_bytes) if needed_bytes > limit_bytes => {
                Err(MemoryError { purpose: what, needed_bytes: Some(needed_bytes), limit_bytes })
            }
            _ => Ok(()),
        }
    }

    /// Fails when what an index has does not fit: all of it may come into memory.
    pub(super) fn check_mapped_memory(&self, bytes: u64) -> Result<(), MemoryError> {
        if self.counts_mapped_files { self.check_fits(MemoryPurpose::MappedIndex, bytes) } else { Ok(()) }
    }

    /// Fails when the dominator tree of a graph that is held will not fit.
    pub(super) fn check_dominators_memory(&self, graph: &HeapGraph) -> Result<(), MemoryError> {
        self.check_fits(MemoryPurpose::Dominators, dominators_bytes(graph))
    }

    /// Fails when an index of a graph that is held cannot be made: the dominator tree, all references reversed, and
    /// columns on their way out.
    pub(super) fn check_index_memory(&self, graph: &HeapGraph) -> Result<(), MemoryError> {
        self.check_fits(
            MemoryPurpose::Index,
            dominators_bytes(graph) + graph.node_count() as u64 * INDEX_BYTES_PER_OBJECT,
        )
    }

    /// Fails when there is no room for a walk down the dominator tree of a graph that is held, or for paths from all
    /// roots, and `bytes` of rows. `results` says where the dominator tree is.
    pub(super) fn check_answer_memory(
        &self,
        graph: &HeapGraph,
        results: DominatorStorage,
        need: AnswerNeed,
        bytes: u64,
    ) -> Result<(), MemoryError> {
        self.check_fits(MemoryPurpose::Answer, answer_bytes(graph, results, need).saturating_add(bytes))
    }

    /// Fails when there is no room for all references reversed beside a graph that is held and its dominator tree.
    pub(super) fn check_referrers_memory(
        &self,
        graph: &HeapGraph,
        results: DominatorStorage,
    ) -> Result<(), MemoryError> {
        let reverse = 4 * graph.strong_reference_count() as u64 + 8 * graph.node_count() as u64;
        self.check_fits(MemoryPurpose::Referrers, results.bytes_still_needed(graph) + reverse)
    }

    /// Fails when there is no room for markings without each of some sets beside a graph that is held.
    pub(super) fn check_exact_retained_memory(&self, graph: &HeapGraph) -> Result<(), MemoryError> {
        self.check_fits(MemoryPurpose::ExactRetained, graph.node_count() as u64 * MAX_MARKING_BYTES_PER_OBJECT)
    }
}

/// Bytes that the dominator tree of a graph takes beside it, at the most.
pub(super) fn dominators_bytes(graph: &HeapGraph) -> u64 {
    let (objects, references) = (graph.node_count() as u64, graph.strong_reference_count() as u64);
    DOMINATORS_BYTES_PER_OBJECT * objects + DOMINATORS_BYTES_PER_REFERENCE * references.saturating_sub(objects)
}

/// Bytes that are still to be taken for an answer from a graph, its dominator tree among them.
pub(super) fn answer_bytes(graph: &HeapGraph, results: DominatorStorage, need: AnswerNeed) -> u64 {
    let own = graph.node_count() as u64 * need.bytes_per_object();
    let tree = results.bytes_still_needed(graph);
    match need {
        // It begins when the tree is there, which takes less by then.
        AnswerNeed::DominatorDescent => {
            tree.max(tree.min(graph.node_count() as u64 * DOMINATORS_BYTES_PER_OBJECT) + own)
        }
        _ => tree + own,
    }
}

/// Bytes of memory that a graph takes. O(sections).
pub(super) fn graph_bytes(graph: &HeapGraph) -> u64 {
    let (objects, references, reverse) = graph.memory_bytes();
    (objects + references + reverse) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_that_are_open_share_one_limit() {
        let limit = MemoryLimit::of(100);
        let same = limit.clone();
        let held = limit.hold_bytes(60);
        assert_eq!((held.bytes, same.left_bytes()), (60, Some(40)));
        for (bytes, fits) in [(0, true), (40, true), (41, false), (u64::MAX, false)] {
            assert_eq!(same.check_fits(MemoryPurpose::Answer, bytes).is_ok(), fits, "{bytes}");
        }
        let error = same.check_fits(MemoryPurpose::Graph, 41).expect_err("too much");
        assert_eq!(error.to_string(), "its graph takes at least 101 B of memory, and 100 B are allowed");
        drop(held);
        assert!(same.check_fits(MemoryPurpose::Answer, 100).is_ok());
        let none = MemoryLimit::default();
        assert!(none.check_fits(MemoryPurpose::Dump, u64::MAX).is_ok() && none.left_bytes().is_none());
    }

    #[test]
    fn what_an_index_maps_counts_where_the_user_set_the_limit() {
        for (limit, counts) in [(MemoryLimit::of(10), true), (MemoryLimit::of_free_memory(10), false)] {
            assert_eq!(limit.check_mapped_memory(11).is_err(), counts);
            let held = limit.hold_mapped(4);
            assert_eq!((held.is_some(), limit.left_bytes()), (counts, Some(if counts { 6 } else { 10 })));
        }
    }

    #[test]
    fn every_use_has_a_sentence_of_its_own() {
        let of = |what, needed_bytes| MemoryError { purpose: what, needed_bytes, limit_bytes: 1 }.statement();
        for (what, needed, text) in [
            (MemoryPurpose::Dump, None, "the dump takes more memory than it may"),
            (MemoryPurpose::Dominators, Some(1024), "the dominator tree takes 1.0 KiB of memory with the graph"),
            (MemoryPurpose::Referrers, Some(7), "the references to each object take 7 B of memory with the graph"),
            (MemoryPurpose::Index, None, "an index takes more of memory with the graph"),
        ] {
            assert_eq!(of(what, needed), text);
        }
    }
}
