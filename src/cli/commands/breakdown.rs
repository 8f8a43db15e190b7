//! `heapdump breakdown`: where the bytes are, as a tree of backtraces and types.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;

use crate::answers::breakdown::{BreakdownBy, default_min_share};
use crate::answers::{BreakdownOptions, breakdown};
use crate::cli::CommandOutcome;
use crate::cli::args::object_and_heap_args::{AllocationHeapArgs, fuller_dump_note};
use crate::cli::args::object_and_heap_args::{parse_object_id, split_object_and_file};
use crate::cli::args::options::{CommonArgs, RowArgs, ScopeArgs, parse_min_size, word_parser};
use crate::cli::terminal::{ask_dump::ask, session::Session};

/// Where the bytes are: a tree of backtraces and types
///
/// For dumps of allocation totals: what each backtrace allocated with all it called. "Other" is what the dump does not
/// tell apart, "self" what a frame allocated itself. For dumps of objects: the types on the way down the dominator tree,
/// each with what its objects retain, from the top or below one object (exit code 1 when no strong root reaches that);
/// allocations are objects there, in a pipe and in CSV too.
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
    #[arg(id = "words", value_names = ["OBJID", "FILE"], num_args = 0..=2)]
    object_and_file: Vec<OsString>,
    /// Which axis comes first; both: every backtrace broken down along both
    #[arg(long, value_parser = word_parser(BreakdownBy::WORDS), default_value = "backtrace", value_name = "AXIS")]
    by: BreakdownBy,
    /// Begin below this path: names from the top down, as "main;run;parse"
    #[arg(long, value_name = "PATH")]
    below: Option<String>,
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
    heaps: AllocationHeapArgs,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let (options, file) = args.options()?;
    ask(session, file.as_deref(), &args.common.input, |asked| {
        let answer = breakdown(asked.dump, &options).map_err(|error| asked.explain(error))?;
        answer.fuller_dump.iter().for_each(|dump| asked.print_unless_quiet(&fuller_dump_note(dump)));
        if let Some(object) = &answer.unreachable_object_id {
            session.print_sentence(&format!("{object} is not reachable from any strong root"));
        }
        session.print_answer(&answer, &args.common.output)?;
        let is_empty = answer.heaps.iter().all(|heap| heap.heap.total_bytes == 0);
        let outcome = args.scope.outcome_with_note(asked, is_empty);
        Ok(answer.unreachable_object_id.map_or(outcome, |_| CommandOutcome::NegativeAnswer))
    })
}

impl Args {
    /// The question, and the file of the dump.
    pub(crate) fn options(&self) -> Result<(BreakdownOptions, Option<PathBuf>)> {
        let (common, min_size) = (&self.common, parse_min_size(self.min_bytes.as_deref(), self.min_percent)?);
        let (object, file) = split_object_and_file(&self.object_and_file);
        let options = BreakdownOptions {
            scope: self.scope.options()?,
            heaps: self.heaps.heap_choice(&self.scope.section, &common.input.read),
            object: object.as_deref().map(parse_object_id).transpose()?,
            by: if self.invert { BreakdownBy::Caller } else { self.by },
            below_path: self.below.clone(),
            depth: self.depth,
            min_size: min_size.or_else(|| common.output.style().is_terminal.then(default_min_share)),
            order: self.rows.order(&BreakdownOptions::ORDERS)?,
            limits: self.rows.limits(&common.output),
        };
        Ok((options, file))
    }
}
