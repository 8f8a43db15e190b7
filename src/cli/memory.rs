//! How much memory an answer may take: an error before it is taken rather than the system's end of the process.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, anyhow, bail};
use sysinfo::System;

use super::common::InputArgs;
use crate::analysis::retained_sets::EXACT_BYTES_PER_OBJECT;
use crate::graph::{BuildError, HeapGraph};
use crate::input::{self, Loaded, ReadError, ReadErrorKind, ReadOptions, Source};
use crate::report::{format_bytes, parse_size};

/// Beside the graph, per object: what the dominator tree takes while it is computed.
const DOMINATORS_BYTES_PER_OBJECT: u64 = 29;

/// What is kept of it.
const KEPT_BYTES_PER_OBJECT: u64 = 24;
/// Beside both, per object: reverse references, paths, and the columns of the tree numbered anew.
const INDEX_BYTES_PER_OBJECT: u64 = 27;

/// Of dumps that were read before.
static HELD_BYTES: AtomicU64 = AtomicU64::new(0);

fn graph_bytes(graph: &HeapGraph) -> u64 {
    let (objects, references, reverse) = graph.memory_bytes();
    (objects + references + reverse) as u64
}

/// The most memory that an answer may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemoryLimit {
    bytes: Option<u64>,
    is_asked_for: bool,
}

impl MemoryLimit {
    /// `--max-memory`, else what the machine (or the container) has free.
    pub(super) fn find(args: &InputArgs) -> Result<Self> {
        if let Some(text) = &args.max_memory {
            let bytes = parse_size(text).map_err(|error| anyhow::anyhow!("--max-memory: {error}"))?;
            // Free memory is what is left beside it anyway.
            let bytes = bytes.saturating_sub(HELD_BYTES.load(Ordering::Relaxed));
            return Ok(MemoryLimit { bytes: Some(bytes), is_asked_for: true });
        }
        Ok(MemoryLimit { bytes: free_bytes(), is_asked_for: false })
    }

    /// What readers are told.
    pub(super) fn bytes(self) -> Option<u64> {
        self.bytes
    }

    /// Fails when the dump's length alone says that it will not fit.
    pub(super) fn check_source(self, source: &Source, file_bytes: u64, options: &ReadOptions) -> Result<()> {
        let Some(limit) = self.bytes.filter(|_| source.compression().is_empty()) else { return Ok(()) };
        // What cannot be recognised is reported by whoever reads it.
        let Ok(reader) = input::detect(source, options) else { return Ok(()) };
        let least = reader.least_memory_bytes(file_bytes);
        if least > limit {
            bail!("its graph takes at least {} of memory, {}", format_bytes(least), self.words(limit));
        }
        Ok(())
    }

    /// Fails when the graph and its dominator tree will not fit.
    pub(super) fn check_dominators(self, graph: &HeapGraph) -> Result<()> {
        self.check(graph, DOMINATORS_BYTES_PER_OBJECT, "the dominator tree takes")
    }

    /// Fails when there is no room beside the graph for markings without each of some sets.
    pub(super) fn check_exact(self, graph: &HeapGraph) -> Result<()> {
        self.check(graph, EXACT_BYTES_PER_OBJECT, "exact retained sizes take")
    }

    fn check(self, graph: &HeapGraph, bytes_per_object: u64, what: &str) -> Result<()> {
        let Some(limit) = self.bytes else { return Ok(()) };
        let needed = graph_bytes(graph) + graph.node_count() as u64 * bytes_per_object;
        if needed > limit {
            bail!("{what} {} of memory with the graph, {}", format_bytes(needed), self.words(limit));
        }
        Ok(())
    }

    /// What a graph takes that stays while another dump is read: less for that one.
    pub(super) fn hold(graph: &HeapGraph) {
        HELD_BYTES.fetch_add(graph_bytes(graph), Ordering::Relaxed);
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
        read.map_err(|error| match error.kind() {
            ReadErrorKind::TooLarge(BuildError::TooMuchMemory(limit)) => {
                anyhow!("the dump takes more memory than it may, {}", self.words(*limit))
            }
            _ => error.into(),
        })
    }

    fn words(self, limit: u64) -> String {
        let limit = format_bytes(limit);
        let whose = match self.is_asked_for {
            true => format!("and --max-memory allows {limit}"),
            false => format!("and {limit} are free; --max-memory SIZE allows more"),
        };
        format!("{whose}. `heapdump stats --shallow` takes memory for types alone")
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
