//! How much memory an answer may take: an error before it is taken rather than the system's end of the process.

use anyhow::{Result, bail};
use sysinfo::System;

use super::common::InputArgs;
use crate::graph::HeapGraph;
use crate::input::{self, ReadOptions, Source};
use crate::report::{format_bytes, parse_size};

/// Beside the graph, per object: what the dominator tree takes while it is computed.
const DOMINATORS_BYTES_PER_OBJECT: u64 = 29;

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
        let Some(limit) = self.bytes else { return Ok(()) };
        let (objects, references, reverse) = graph.memory_bytes();
        let graph_bytes = (objects + references + reverse) as u64;
        let needed = graph_bytes + graph.node_count() as u64 * DOMINATORS_BYTES_PER_OBJECT;
        if needed > limit {
            bail!("the dominator tree takes {} of memory with the graph, {}", format_bytes(needed), self.words(limit));
        }
        Ok(())
    }

    /// What an error of a reader that went past the limit means.
    pub(super) fn explain(self) -> String {
        self.words(self.bytes.unwrap_or(0))
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
