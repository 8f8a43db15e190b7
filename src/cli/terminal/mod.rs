//! The process and its terminal: the dumps that are asked, progress, notes and warnings, help, outputs.
//!
//! Not here: what a command asks (see `commands`), how an answer looks (see `render`).

pub(crate) mod ask_dump;
#[cfg(feature = "parquet")]
pub(crate) mod dataset;
pub(crate) mod dump_input;
pub(crate) mod help;
pub(crate) mod kept_dumps;
pub(super) mod memory_watch;
pub(crate) mod output;
pub(crate) mod output_target;
pub(crate) mod progress;
pub(crate) mod session;
