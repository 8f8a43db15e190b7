//! What the integration tests share: running the binary, fixtures, heaps described in a test and written as dumps.

pub mod cmd;
pub mod expect;
pub mod fixtures;
pub mod heap;
pub mod live;
#[cfg(target_os = "linux")]
pub mod peer;
#[cfg(all(target_os = "linux", feature = "explore"))]
pub mod pty;
pub mod questions;
pub mod synth;
pub mod synth_dotnet;
pub mod synth_hprof;
pub mod synth_java;
pub mod synth_phd;
pub mod synth_v8;

use std::io::Cursor;
use std::sync::LazyLock;

use heapdump::analysis::reachability::infer_roots;
use heapdump::graph::HeapGraph;
use heapdump::input::{self, Diagnostics, Dump, FormatInfo, LoadedDump, ReadError, ReadOptions, Source};

/// Reads a dump from memory.
pub fn read(bytes: &[u8], options: &ReadOptions) -> Result<LoadedDump, ReadError> {
    input::read(Source::from_reader(Cursor::new(bytes.to_vec()))?, options)
}

/// What a dump says of itself, and what is wrong with it.
pub struct Facts {
    pub info: FormatInfo,
    pub diagnostics: Diagnostics,
}

/// Reads a small dump that must be readable, with roots inferred where the format has none, as the program does.
pub fn graph(bytes: &[u8]) -> (HeapGraph, Facts) {
    // Counting the machine's cores reads files.
    static ALONE: LazyLock<ReadOptions> = LazyLock::new(|| ReadOptions { threads: 1, ..ReadOptions::default() });
    graph_with(bytes, &ALONE)
}

/// The same with options.
pub fn graph_with(bytes: &[u8], options: &ReadOptions) -> (HeapGraph, Facts) {
    let loaded = read(bytes, options).unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(bytes)));
    let LoadedDump { dump, info, diagnostics, .. } = loaded;
    let Dump::Graph(mut graph) = dump else { panic!("not a graph") };
    if info.has_no_roots {
        infer_roots(&mut graph);
    }
    (graph, Facts { info, diagnostics })
}
