//! How much memory an answer may take: what does not fit fails early, with figures, instead of being killed by the
//! system for lack of memory.

use std::fmt;

use crate::graph::HeapGraph;

/// Beside the graph, per object: what the dominator tree takes while it is computed.
const DOMINATORS_BYTES_PER_OBJECT: u64 = 29;
/// Per object: what is kept of the dominator tree and the retained sizes.
const KEPT_BYTES_PER_OBJECT: u64 = 24;
/// Beside both, per object: reverse references, paths, and the columns of the tree numbered by level.
const INDEX_BYTES_PER_OBJECT: u64 = 27;

/// The most memory that a dump and the answers from it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryLimit {
    bytes: Option<u64>,
}

/// What does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryUse {
    /// The dump itself while it is read.
    Dump,
    /// The graph, judged by the length of the file before it is read.
    Graph,
    /// The dominator tree with the graph.
    Dominators,
    /// The references to each object with the graph.
    Referrers,
    /// An index with the graph.
    Index,
}

/// An answer takes more memory than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryError {
    /// What does not fit.
    pub what: MemoryUse,
    /// What it takes in all, where that is known before it is tried.
    pub needed_bytes: Option<u64>,
    /// What it may take.
    pub limit_bytes: u64,
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            MemoryUse::Dump => "the dump takes",
            MemoryUse::Graph => "the graph of the dump takes at least",
            MemoryUse::Dominators => "the dominator tree takes with the graph",
            MemoryUse::Referrers => "the references to each object take with the graph",
            MemoryUse::Index => "an index takes with the graph",
        };
        match self.needed_bytes {
            Some(bytes) => write!(f, "{what} {bytes} bytes of memory, and {} are allowed", self.limit_bytes),
            None => write!(f, "{what} more than the {} bytes of memory that are allowed", self.limit_bytes),
        }
    }
}

impl std::error::Error for MemoryError {}

impl MemoryLimit {
    /// No limit.
    pub const NONE: Self = MemoryLimit { bytes: None };

    /// At most so many bytes.
    pub fn of(bytes: u64) -> Self {
        MemoryLimit { bytes: Some(bytes) }
    }

    /// The limit in bytes; `None` for no limit.
    pub fn bytes(self) -> Option<u64> {
        self.bytes
    }

    /// What is left of the limit beside a graph that stays in memory, for a second dump.
    pub fn beside(self, held_bytes: u64) -> Self {
        MemoryLimit { bytes: self.bytes.map(|bytes| bytes.saturating_sub(held_bytes)) }
    }

    pub(super) fn check(self, what: MemoryUse, needed_bytes: u64) -> Result<(), MemoryError> {
        match self.bytes {
            Some(limit_bytes) if needed_bytes > limit_bytes => {
                Err(MemoryError { what, needed_bytes: Some(needed_bytes), limit_bytes })
            }
            _ => Ok(()),
        }
    }

    /// Fails when the graph and its dominator tree will not fit.
    pub(super) fn check_dominators(self, graph: &HeapGraph) -> Result<(), MemoryError> {
        self.check_beside(graph, MemoryUse::Dominators, DOMINATORS_BYTES_PER_OBJECT)
    }

    /// Fails when an index of the graph cannot be made: the dominator tree, all references reversed, and columns on
    /// their way out.
    pub(super) fn check_index(self, graph: &HeapGraph) -> Result<(), MemoryError> {
        self.check_beside(graph, MemoryUse::Index, DOMINATORS_BYTES_PER_OBJECT + INDEX_BYTES_PER_OBJECT)
    }

    /// Fails when there is no room for all references reversed beside the graph and its dominator tree.
    pub(super) fn check_referrers(self, graph: &HeapGraph) -> Result<(), MemoryError> {
        let reverse = 4 * graph.reference_count() as u64 / graph.node_count().max(1) as u64;
        self.check_beside(graph, MemoryUse::Referrers, KEPT_BYTES_PER_OBJECT + 8 + reverse)
    }

    fn check_beside(self, graph: &HeapGraph, what: MemoryUse, bytes_per_object: u64) -> Result<(), MemoryError> {
        self.check(what, graph_bytes(graph) + graph.node_count() as u64 * bytes_per_object)
    }
}

/// Bytes of memory that a graph takes. O(sections).
pub(super) fn graph_bytes(graph: &HeapGraph) -> u64 {
    let (objects, references, reverse) = graph.memory_bytes();
    (objects + references + reverse) as u64
}
