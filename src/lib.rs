//! Heap dumps of several runtimes, read into one object graph, or into allocation trees, and analysed.
#![deny(missing_docs)]
#![deny(unsafe_code)]

pub mod allocations;
pub mod analysis;
pub mod answers;
pub mod cli;
pub mod dump;
pub mod export;
pub mod files;
pub mod graph;
pub mod index;
pub mod input;
pub mod report;
pub mod units;
