//! Open dumps in the forms of other tools, one file a form: `write_x` takes the dump, the options of the form and where
//! to write. Outputs are streamed; nothing is written before what can fail beforehand has been checked.
//!
//! Not here: the forms of answers (see `report`), options of the command line and files (see `cli`).

#[cfg(feature = "parquet")]
pub mod dataset;
mod dot;
mod error;
#[cfg(feature = "cli")]
mod flamegraph;
mod folded;
mod heapgraph;
mod memory_infra;
mod pprof;
mod raw_contents;
mod stack_paths;
mod thread_dump;

pub use dot::{DotOptions, write_dot};
pub use error::{ExportError, MAX_FLAMEGRAPH_BYTES};
#[cfg(feature = "cli")]
pub use flamegraph::write_flamegraph;
pub use folded::{FoldedOptions, write_folded};
pub use heapgraph::{HeapgraphOptions, write_heapgraph};
pub use memory_infra::{MemoryInfraOptions, write_memory_infra};
pub use pprof::{PprofOptions, write_pprof};
pub use raw_contents::write_raw_contents;
pub use thread_dump::thread_dump_lines;
