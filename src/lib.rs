//! Heap dumps of several runtimes, read into one object graph, or into allocation trees, and analysed.
//!
//! A dump is opened, a question is asked, and the answer is plain data. Its serde form is the JSON of the command of that
//! name.
//!
//! ```
//! use heapdump::answers::{HistogramOptions, histogram};
//!
//! let dump = heapdump::open("fixtures/xna_cf/pair_after.txt")?;
//! let answer = histogram(&dump, &HistogramOptions::default())?;
//! let largest = &answer.rows.as_slice()[0];
//! assert_eq!((largest.name(), largest.bytes()), ("System.Byte[]", 286_632));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The reason for which an object is alive: the shortest path to it from an object that a root holds.
//!
//! ```
//! use heapdump::analysis::root_paths::find_root_paths;
//!
//! let dump = heapdump::open("fixtures/xna_cf/pair_after.txt")?;
//! let graph = dump.graph().ok_or("allocation totals have no objects")?;
//! let largest = graph.nodes().max_by_key(|&node| graph.shallow_bytes(node)).ok_or("empty")?;
//! let paths = find_root_paths(graph, largest, 1, false, |_| false);
//! let path = paths.get(0).ok_or("unreachable")?;
//! println!("{} root", path.root.kind.name());
//! for node in path.nodes() {
//!     println!("{} {}", graph.display_id(node), graph.type_name(graph.type_of(node)));
//! }
//! # assert_eq!(path.nodes().last(), Some(largest));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An algorithm of your own: `&HeapGraph` has the visit traits of [petgraph](https://docs.rs/petgraph), so that its walkers
//! and algorithms run on a heap without a copy.
//!
//! ```
//! use petgraph::algo::kosaraju_scc;
//!
//! let dump = heapdump::open("fixtures/xna_cf/pair_after.txt")?;
//! let graph = dump.graph().ok_or("allocation totals have no objects")?;
//! let groups = kosaraju_scc(graph);
//! let largest = groups.iter().map(Vec::len).max();
//! println!("{largest:?} objects hold each other");
//! # assert_eq!(groups.iter().map(Vec::len).sum::<usize>(), graph.node_count());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layers
//!
//! Each uses only those above it in this list:
//!
//! - [`graph`]: objects and references, in columns; [`allocations`]: allocation trees, of dumps without objects.
//! - [`input`]: one reader a format; [`analysis`]: algorithms, ids in and ids out; [`index`]: columns on disk.
//! - [`dump`]: an open dump, with what follows from it computed once, on demand.
//! - [`filter`]: expressions that choose objects.
//! - [`answers`]: questions, and their answers as data; [`export`]: the forms of other tools.
//!
//! With the feature `parquet`, on by default, there is `export::dataset` as well, which writes tables for other engines.
//! With the feature `cli`, on by default, there is the program as well: `report` (tables and texts), `page`, `explore`, `mcp`,
//! `collect` and `cli` (the command line). A library turns it off: `heapdump = { version = "0.1", default-features = false }`.
#![deny(missing_docs)]
#![deny(unsafe_code)]
#![allow(clippy::len_without_is_empty)] // only where something asks
// What only the program uses of the lower layers is not dead, only out of sight.
#![cfg_attr(not(feature = "cli"), allow(dead_code))]

pub mod allocations;
pub mod analysis;
pub mod answers;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub mod collect;
pub mod dump;
mod escape;
#[cfg(feature = "explore")]
pub mod explore;
pub mod export;
pub mod files;
pub mod filter;
pub mod graph;
pub mod index;
pub mod input;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod large_blocks;
#[cfg(feature = "cli")]
pub mod mcp;
mod names;
pub mod page;
mod parallel;
pub mod redact;
mod regex;
#[cfg(feature = "cli")]
pub mod report;
mod sort;
pub mod units;

pub use dump::{OpenDump, OpenError, OpenOptions, open};
