//! `heapdump export --to NAME`: a dump in another form, for other tools.

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;

use super::Outcome;
use super::allocations::HeapArgs;
use super::breakdown::Least;
use super::common::Common;
use super::export_memory_infra;

/// A dump in another form, for other tools
///
/// memory-infra: heap dumps as Chromium's trace viewer reads them. Of a dump of objects, a backtrace is the types on the way
/// down the dominator tree, and what is smaller than 1 KiB is left out.
///
/// Example: heapdump export --to memory-infra dump.txt > trace.json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// The form
    #[arg(long, value_enum, value_name = "NAME")]
    to: To,
    /// Where to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output_file: Option<PathBuf>,
    /// Leave smaller entries out, which shows as "other" [default: none; 1KiB for dumps of objects]
    #[arg(long, value_name = "SIZE")]
    min_bytes: Option<String>,
    /// Leave entries out that are less than this share, in percent, of their list so far (Chromium 49 has 0.8)
    #[arg(long, value_name = "PERCENT", conflicts_with = "min_bytes")]
    min_percent: Option<f64>,
    /// Levels of backtraces [default: all; 64 for dumps of objects]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,
    #[command(flatten)]
    heaps: HeapArgs,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum To {
    /// Chromium's heap dump format
    MemoryInfra,
}

pub(super) fn run(args: &Args) -> Result<Outcome> {
    let least = Least::parse(args.min_bytes.as_deref(), args.min_percent)?;
    match args.to {
        To::MemoryInfra => export_memory_infra::run(&export_memory_infra::Request {
            file: args.file.as_deref(),
            to: args.output_file.as_deref(),
            least,
            depth: args.depth,
            heaps: &args.heaps,
            common: &args.common,
        }),
    }
}
