//! How much memory an answer may take: an error before it is taken rather than the system's end of the process.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, anyhow, bail};
use sysinfo::System;

use super::common::InputArgs;
use crate::graph::{BuildError, HeapGraph};
use crate::input::{self, Counted, Loaded, ReadError, ReadErrorKind, ReadOptions, Source};
use crate::report::{format_bytes, parse_size};

/// Beside the graph, per object: what the dominator tree takes while it is computed.
const DOMINATORS_BYTES_PER_OBJECT: u64 = 29;

/// What is kept of it.
const KEPT_BYTES_PER_OBJECT: u64 = 24;
/// Beside both, per object: reverse references, paths, and the columns of the tree numbered anew.
const INDEX_BYTES_PER_OBJECT: u64 = 27;

/// Graphs of all dumps that are in memory.
static HELD_BYTES: AtomicU64 = AtomicU64::new(0);

fn graph_bytes(graph: &HeapGraph) -> u64 {
    let (objects, references, reverse) = graph.memory_bytes();
    (objects + references + reverse) as u64
}

/// The most memory that an answer may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemoryLimit {
    /// With all that is held.
    bytes: Option<u64>,
    is_asked_for: bool,
}

/// A graph that is in memory for some time.
#[derive(Debug)]
pub(super) struct Held(u64);

impl Held {
    /// Counts a graph among what is in memory while other dumps are read and answers are found.
    pub(super) fn new(graph: &HeapGraph) -> Self {
        let bytes = graph_bytes(graph);
        HELD_BYTES.fetch_add(bytes, Ordering::Relaxed);
        Held(bytes)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD_BYTES.fetch_sub(self.0, Ordering::Relaxed);
    }
}

impl MemoryLimit {
    /// `--max-memory`, else what the machine (or the container) has free.
    pub(super) fn find(args: &InputArgs) -> Result<Self> {
        if let Some(text) = &args.max_memory {
            let bytes = parse_size(text).map_err(|error| anyhow::anyhow!("--max-memory: {error}"))?;
            return Ok(MemoryLimit { bytes: Some(bytes), is_asked_for: true });
        }
        // Free memory is what is left beside what is held.
        let bytes = free_bytes().map(|bytes| bytes.saturating_add(HELD_BYTES.load(Ordering::Relaxed)));
        Ok(MemoryLimit { bytes, is_asked_for: false })
    }

    /// What readers are told.
    pub(super) fn bytes(self) -> Option<u64> {
        self.bytes.map(|bytes| bytes.saturating_sub(HELD_BYTES.load(Ordering::Relaxed)))
    }

    /// Fails when the dump's length alone says that it will not fit.
    pub(super) fn check_source(self, source: &Source, file_bytes: u64, options: &ReadOptions) -> Result<()> {
        let Some(limit) = self.bytes().filter(|_| source.compression().is_empty()) else { return Ok(()) };
        // What cannot be recognised is reported by whoever reads it.
        let Ok(reader) = input::detect(source, options) else { return Ok(()) };
        let least = reader.least_memory_bytes(file_bytes);
        if least > limit {
            bail!("its graph takes at least {} of memory, {}", format_bytes(least), self.words());
        }
        Ok(())
    }

    /// Fails when the graph and its dominator tree will not fit.
    pub(super) fn check_dominators(self, graph: &HeapGraph) -> Result<()> {
        self.check(graph, DOMINATORS_BYTES_PER_OBJECT, "the dominator tree takes")
    }

    /// Beside the graph, which is held.
    fn check(self, graph: &HeapGraph, bytes_per_object: u64, what: &str) -> Result<()> {
        self.check_bytes(graph.node_count() as u64 * bytes_per_object, what)
    }

    /// Fails when there is no room for so many bytes beside all that is held.
    fn check_bytes(self, bytes: u64, what: &str) -> Result<()> {
        let Some(limit) = self.bytes else { return Ok(()) };
        let needed = HELD_BYTES.load(Ordering::Relaxed).saturating_add(bytes);
        if needed > limit {
            bail!("{what} {} of memory with the graph, {}", format_bytes(needed), self.words());
        }
        Ok(())
    }

    /// Fails when what an index has does not fit: all of it may come into memory. Where nobody has said how much that
    /// may be, the system takes it back when it wants to.
    pub(super) fn check_mapped(self, bytes: u64) -> Result<()> {
        match self.bytes {
            Some(limit) if self.is_asked_for && bytes.saturating_add(HELD_BYTES.load(Ordering::Relaxed)) > limit => {
                bail!("takes up to {} of memory, {}", format_bytes(bytes), self.what_is_allowed())
            }
            _ => Ok(()),
        }
    }

    /// Fails when an index of the graph cannot be made: the dominator tree, all references turned round, and columns
    /// on their way out.
    pub(super) fn check_index(self, graph: &HeapGraph) -> Result<()> {
        self.check(graph, DOMINATORS_BYTES_PER_OBJECT + INDEX_BYTES_PER_OBJECT, "an index takes")
    }

    /// Fails when there is no room for all references turned round beside the graph and its dominator tree.
    pub(super) fn check_referrers(self, graph: &HeapGraph) -> Result<()> {
        let reverse = 4 * graph.reference_count() as u64 / graph.node_count().max(1) as u64;
        self.check(graph, KEPT_BYTES_PER_OBJECT + 8 + reverse, "the references to each object take")
    }

    /// A reader's result, with what it means that it went past the limit.
    pub(super) fn explained(self, read: Result<Loaded, ReadError>) -> Result<Loaded> {
        read.map_err(|error| self.of_reading(error, &self.words()))
    }

    /// The same for types alone.
    pub(super) fn explained_counting(self, read: Result<Counted, ReadError>) -> Result<Counted> {
        read.map_err(|error| self.of_reading(error, &self.what_is_allowed()))
    }

    fn of_reading(self, error: ReadError, words: &str) -> anyhow::Error {
        match error.kind() {
            ReadErrorKind::TooLarge(BuildError::TooMuchMemory(_)) => {
                anyhow!("the dump takes more memory than it may, {words}")
            }
            _ => error.into(),
        }
    }

    fn words(self) -> String {
        format!("{}. `heapdump stats --shallow` takes memory for types alone", self.what_is_allowed())
    }

    fn what_is_allowed(self) -> String {
        let limit = format_bytes(self.bytes.unwrap_or(u64::MAX));
        match self.is_asked_for {
            true => format!("and --max-memory allows {limit}"),
            false => format!("and {limit} are free; --max-memory SIZE allows more"),
        }
    }
}

/// Memory that can be had without the system giving something up; less in a container. `None` where it does not tell.
fn free_bytes() -> Option<u64> {
    let mut system = System::new();
    system.refresh_memory();
    if system.total_memory() == 0 {
        return None;
    }
    // Of what a container has used, cached files are given back when somebody asks.
    let container = system.cgroup_limits().map(|limits| limits.total_memory.saturating_sub(limits.rss));
    Some(system.available_memory()).into_iter().chain(container).min()
}
