//! `heapdump breakdown`: where the bytes are, as a tree of backtraces and types.

use anyhow::Result;
use clap::ValueEnum;

use crate::answers::breakdown::{BreakdownBy, BreakdownOptions, BreakdownOrder as Order, breakdown, small_share};
use crate::answers::{Limits, ScopeOptions};
use crate::cli::Outcome;
use crate::cli::args::heaps::{HeapArgs, note_fuller_dump};
use crate::cli::args::object::{parse_object_id, split_object_and_file};
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, SortArgs, TypeArgs, parse_smallest};
use crate::cli::terminal::{asking::ask, asking::print_answer, output::print_sentence};

/// Where the bytes are: a tree of backtraces and types
///
/// For dumps of allocation totals: what each backtrace allocated with all it called. "Other" is what the dump does not
/// tell apart, "self" what a frame allocated itself. For dumps of objects: the types on the way down the dominator tree,
/// each with what its objects retain, from the top or below one object (exit code 1 when no strong root reaches that).
///
/// Example: heapdump breakdown trace.json.gz --process Browser --min-percent 1
///
/// Example: heapdump breakdown trace.json --by type --depth 2
///
/// Example: heapdump breakdown 7fe45 dump.txt --depth 1
#[derive(Debug, clap::Args)]
#[command(override_usage = "heapdump breakdown [OPTIONS] [OBJID] [FILE]")]
pub(crate) struct Args {
    /// The object to begin at [default: the top], and the dump; - for standard input
    #[arg(value_names = ["OBJID", "FILE"], num_args = 0..=2)]
    words: Vec<String>,
    /// Which axis comes first; both: every backtrace broken down along both
    #[arg(long, value_enum, default_value = "backtrace", value_name = "AXIS")]
    by: By,
    /// Levels below the top, at most 500; not every reader of JSON takes so many: -f jsonl has them flat [default: all;
    /// 20 for dumps of objects]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=500))]
    depth: Option<u32>,
    /// Leave smaller nodes to "other": bytes, or a share of the heap, or of what OBJID retains, such as 1%
    #[arg(long, value_name = "SIZE")]
    min_bytes: Option<String>,
    /// The same as a share in percent [default: 0.5 on a terminal and for dumps of objects]
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

#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    Backtrace,
    Type,
    Both,
}

const ORDERS: [(&[&str], Order); 3] =
    [(&["bytes"], Order::Bytes), (&["allocations"], Order::Allocations), (&["name"], Order::Name)];

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let (common, min_size) = (&args.common, parse_smallest(args.min_bytes.as_deref(), args.min_percent)?);
    let (object, file) = split_object_and_file(&args.words);
    let options = BreakdownOptions {
        scope: ScopeOptions { section: args.section.domain.clone(), types: args.types.pattern()? },
        heaps: args.heaps.choice(&args.section, &common.input.read),
        object: object.as_deref().map(parse_object_id).transpose()?,
        by: match args.by {
            _ if args.invert => BreakdownBy::Caller,
            By::Backtrace => BreakdownBy::Backtrace,
            By::Type => BreakdownBy::Type,
            By::Both => BreakdownBy::Both,
        },
        depth: args.depth,
        min_size: min_size.or_else(|| common.output.style().terminal.then(small_share)),
        order: args.order.column(&ORDERS)?,
        limits: Limits { rows: args.limit.limit_here(), reverse: args.order.reverse },
    };
    ask(file.as_deref(), &common.input, |asked| {
        asked.warn(None, common.is_quiet());
        let answer = breakdown(asked.dump, &options).map_err(|error| asked.explain(error))?;
        answer.fuller_dump.iter().filter(|_| !common.is_quiet()).for_each(note_fuller_dump);
        if let Some(object) = &answer.unreachable {
            print_sentence(&format!("{object} is not reachable from any strong root"));
        }
        print_answer(&answer, &common.output)?;
        let is_empty = args.types.type_pattern.is_some() && answer.heaps.iter().all(|heap| heap.total_bytes() == 0);
        Ok(if answer.unreachable.is_some() { Outcome::No } else { args.types.outcome(is_empty, common.is_quiet()) })
    })
}
