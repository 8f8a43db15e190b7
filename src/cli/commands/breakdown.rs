//! `heapdump breakdown`: where the bytes are, as a tree of backtraces and types.

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;

use crate::answers::breakdown::{BreakdownBy, BreakdownOrder, small_share};
use crate::answers::{BreakdownOptions, Limits, ScopeOptions, breakdown};
use crate::cli::Outcome;
use crate::cli::args::heaps::{HeapArgs, note_fuller_dump};
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, SortArgs, TypeArgs, parse_smallest, sort_key};
use crate::cli::terminal::asking::{ask, print_answer};

/// Where the bytes are: a tree of backtraces and types
///
/// For dumps of allocation totals: what each backtrace allocated with all it called. "Other" is what the dump does not
/// tell apart, "self" what a frame allocated itself. For dumps of objects: the types on the way down the dominator tree,
/// each with what its objects retain.
///
/// Example: heapdump breakdown trace.json.gz --process Browser --min-percent 1
///
/// Example: heapdump breakdown trace.json --by type --depth 2
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// Which axis comes first; both: every backtrace broken down along both
    #[arg(long, value_enum, default_value = "backtrace", value_name = "AXIS")]
    by: By,
    /// Levels below the top, at most 500; not every reader of JSON takes so many: -f jsonl has them flat [default: all;
    /// 20 for dumps of objects]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=500))]
    depth: Option<u32>,
    /// Leave smaller nodes to "other": bytes, or a share of the heap such as 1%
    #[arg(long, value_name = "SIZE")]
    min_bytes: Option<String>,
    /// The same as a share of the heap, in percent [default: 0.5 on a terminal and for dumps of objects]
    #[arg(long, value_name = "PERCENT", conflicts_with = "min_bytes")]
    min_percent: Option<f64>,
    /// From the frames that allocate up to their callers
    #[arg(long, conflicts_with = "by")]
    invert: bool,
    #[command(flatten)]
    heaps: HeapArgs,
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    order: SortArgs,
    #[command(flatten)]
    types: TypeArgs,
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Backtrace,
    Type,
    Both,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let min_size = parse_smallest(args.min_bytes.as_deref(), args.min_percent)?;
    let common = &args.common;
    let known = [("bytes", "bytes"), ("allocations", "allocations"), ("name", "name")];
    let options = BreakdownOptions {
        scope: ScopeOptions { section: args.section.domain.clone(), types: args.types.pattern()? },
        heaps: args.heaps.choice(&args.section, &common.input.read),
        by: match args.by {
            _ if args.invert => BreakdownBy::Caller,
            By::Backtrace => BreakdownBy::Backtrace,
            By::Type => BreakdownBy::Type,
            By::Both => BreakdownBy::Both,
        },
        depth: args.depth,
        min_size: min_size.or_else(|| common.output.style().terminal.then(small_share)),
        order: match sort_key(args.order.sort.as_deref(), "bytes", &known)? {
            "allocations" => BreakdownOrder::Allocations,
            "name" => BreakdownOrder::Name,
            _ => BreakdownOrder::Bytes,
        },
        limits: Limits { rows: args.limit.limit_here(), reverse: args.order.reverse },
    };
    ask(args.file.as_deref(), &common.input, |asked| {
        asked.warn(None, common.is_quiet());
        let answer = breakdown(asked.dump, &options).map_err(|error| asked.explain(error))?;
        if let (Some(fuller), false) = (&answer.fuller_dump, common.is_quiet()) {
            note_fuller_dump(fuller);
        }
        print_answer(&answer, &common.output)?;
        let is_empty = answer.heaps.iter().all(|heap| heap.total_bytes() == 0);
        Ok(args.types.outcome(is_empty && args.types.type_pattern.is_some(), common.is_quiet()))
    })
}
