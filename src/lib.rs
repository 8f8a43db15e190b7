//! Heap dumps of several runtimes, read into one object graph and analysed.
#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod analysis;
pub mod cli;
pub mod graph;
pub mod input;
pub mod report;
