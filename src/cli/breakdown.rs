//! `heapdump breakdown`: where the bytes are, as a tree of backtraces and types.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::Outcome;
use super::allocations::{HeapArgs, heap_json, heap_title, refuse_left_out, wanted_types};
use super::common::{Common, sort_key};
use super::load::{Opened, OpenedDump, open_dump};
use super::output::{fields, problems_json};
use super::tree::{HeapTree, print_trees};
use crate::allocations::{AllocationHeap, NameId, Names};
use crate::analysis::allocation_totals::{Totals, TotalsOptions};
use crate::analysis::breakdown::{By, Layout, MOST_ROWS, Order, Row, lay_out};
use crate::analysis::callers::lay_out_callers;
use crate::analysis::dominator_paths::heap_of_dominator_paths;
use crate::report::parse_size;

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
pub(super) struct Args {
    /// The dump; - for standard input
    file: Option<PathBuf>,
    /// Which axis comes first; both: every backtrace broken down along both
    #[arg(long, value_enum, default_value = "backtrace", value_name = "AXIS")]
    by: ByArg,
    /// Levels below the top, at most 500; not every reader of JSON takes so many: -f jsonl has them flat [default: all;
    /// 20 for dumps of objects]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MAX_DEPTH))]
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
    common: Common,
}

/// Levels that can be asked for: JSON is nested as deep.
const MAX_DEPTH: i64 = 500;
const DEPTH_OF_OBJECTS: u32 = 20;
const SMALLEST_SHARE: f64 = 0.005;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ByArg {
    Backtrace,
    Type,
    Both,
}

pub(super) fn run(args: &Args) -> Result<Outcome> {
    let least = Least::parse(args.min_bytes.as_deref(), args.min_percent)?;
    match open_dump(args.file.as_deref(), &args.common)? {
        OpenedDump::Graph(opened) => run_objects(args, least, &opened),
        OpenedDump::Allocations(opened) => {
            let pattern = args.common.input.pattern()?;
            let names = &opened.dump.names;
            let wanted = wanted_types(names, pattern.as_ref());
            let wanted = wanted.as_ref().map(|wanted| wanted as &dyn Fn(NameId) -> bool);
            let depth = args.depth.unwrap_or(MAX_DEPTH as u32);
            let default =
                if args.common.output.style().terminal { Least::Share(SMALLEST_SHARE) } else { Least::Bytes(0) };
            let mut trees = Vec::new();
            let mut rows_left = MOST_ROWS;
            for heap in args.heaps.choose(opened.dump, &args.common)? {
                let least = least.unwrap_or(default);
                let extent = Extent { depth, least, types_below: true, most_rows: rows_left };
                let (rows, totals) = args.tree(heap, names, wanted, &extent)?;
                rows_left -= rows.len();
                let (title, json) = (heap_title(heap), heap_json(heap, &totals.at(0)));
                trees.push(HeapTree {
                    title,
                    json,
                    pid: heap.pid,
                    dump: heap.dump,
                    allocator: Some(&heap.allocator),
                    rows,
                });
            }
            let nothing_matches = pattern.is_some() && trees.iter().all(|tree| tree.rows[0].amount.bytes == 0);
            let json = fields(json!({
                "format": opened.facts.format,
                "by": args.by_name(),
                "problems": problems_json(&opened.diagnostics),
            }));
            drop(opened.progress);
            print_trees("breakdown", json, &trees, names, &args.common)?;
            Ok(args.common.outcome(nothing_matches))
        }
    }
}

fn run_objects(args: &Args, least: Option<Least>, opened: &Opened) -> Result<Outcome> {
    args.heaps.refuse_on_objects()?;
    let graph = opened.graph;
    let pattern = args.common.input.pattern()?;
    let section = args.common.input.section(graph)?;
    let nodes = section.map_or(0..graph.node_count(), |section| graph.section_nodes(section));
    let dominators = opened.only_dominators()?;
    let depth = args.depth.unwrap_or(DEPTH_OF_OBJECTS);
    opened.progress.phase("merging paths");
    let (names, heap) = heap_of_dominator_paths(graph, dominators, depth.max(1), |node| nodes.contains(&node.index()));
    let wanted = wanted_types(&names, pattern.as_ref());
    let wanted = wanted.as_ref().map(|wanted| wanted as &dyn Fn(NameId) -> bool);
    let least = least.unwrap_or(Least::Share(SMALLEST_SHARE));
    let extent = Extent { depth, least, types_below: false, most_rows: MOST_ROWS };
    let (rows, totals) = args.tree(&heap, &names, wanted, &extent)?;
    let mut json: Map<String, Value> = heap_json(&heap, &totals.at(0));
    json.insert("pid".into(), Value::Null);
    json.insert("allocator".into(), Value::Null);
    let whole = if heap.process.is_empty() { "all sections".to_string() } else { heap.process.clone() };
    let title = format!("{whole}, types on the way down the dominator tree");
    let trees = [HeapTree { title, json, pid: 0, dump: 1, allocator: None, rows }];
    let mut json = fields(json!({
        "format": opened.facts.format,
        "by": args.by_name(),
        "problems": problems_json(&opened.diagnostics),
    }));
    if graph.roots_inferred() {
        json.insert("roots_inferred".into(), true.into());
    }
    print_trees("breakdown", json, &trees, &names, &args.common)?;
    let nothing_matches = pattern.is_some() && trees[0].rows[0].amount.bytes == 0;
    Ok(args.common.outcome(nothing_matches))
}

/// How much of a tree is shown.
struct Extent {
    depth: u32,
    least: Least,
    types_below: bool,
    most_rows: usize,
}

impl Args {
    fn by_name(&self) -> &'static str {
        match self.by {
            _ if self.invert => "caller",
            ByArg::Backtrace => "backtrace",
            ByArg::Type => "type",
            ByArg::Both => "both",
        }
    }

    fn tree(
        &self,
        heap: &AllocationHeap,
        names: &Names,
        wanted: Option<&dyn Fn(NameId) -> bool>,
        extent: &Extent,
    ) -> Result<(Vec<Row>, Totals)> {
        let by_type = self.by != ByArg::Backtrace;
        // Callers are found from the last frames, however deep these are.
        let kept = if self.invert { u32::MAX } else { extent.depth };
        let totals = Totals::compute(heap, &TotalsOptions { depth: kept, by_type, wanted });
        refuse_left_out(heap, totals.pairs_left_out)?;
        let output = &self.common.output;
        let known = [("bytes", "bytes"), ("allocations", "allocations"), ("name", "name")];
        let order = match sort_key(output.sort.as_deref(), "bytes", &known)? {
            "allocations" => Order::Allocations,
            "name" => Order::Name,
            _ => Order::Bytes,
        };
        let by = match self.by {
            ByArg::Backtrace => By::Backtrace,
            ByArg::Type => By::Type,
            ByArg::Both => By::Both,
        };
        let layout = Layout {
            by,
            depth: extent.depth,
            min_bytes: extent.least.of(totals.at(0).bytes),
            limit: output.rows(usize::MAX),
            order,
            reverse: output.reverse,
            types_below: extent.types_below,
            most_rows: extent.most_rows,
        };
        let rows = if self.invert {
            lay_out_callers(heap, &totals, names, &layout)
        } else {
            lay_out(heap, &totals, names, &layout)
        };
        match rows {
            Ok(rows) => Ok((rows, totals)),
            Err(_) => bail!(
                "{}: {} more than {MOST_ROWS} rows; show less with --depth, --min-percent or -n{}",
                heap_title(heap),
                if extent.most_rows < MOST_ROWS { "the trees up to this one have" } else { "the tree has" },
                if extent.most_rows < MOST_ROWS { ", or fewer with --dump, --process and --allocator" } else { "" },
            ),
        }
    }
}

/// The smallest nodes that are shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Least {
    Bytes(u64),
    /// Of the heap.
    Share(f64),
}

impl Least {
    pub(super) fn parse(bytes: Option<&str>, percent: Option<f64>) -> Result<Option<Self>> {
        let share = |percent: f64, option: &str| {
            if (0.0..=100.0).contains(&percent) {
                Ok(Some(Least::Share(percent / 100.0)))
            } else {
                bail!("{option}: a share is 0 to 100 percent")
            }
        };
        match (bytes, percent) {
            (None, None) => Ok(None),
            (_, Some(percent)) => share(percent, "--min-percent"),
            (Some(text), None) => match text.strip_suffix('%').map(|number| number.trim().parse::<f64>()) {
                Some(Ok(percent)) => share(percent, "--min-bytes"),
                Some(Err(_)) => bail!("--min-bytes: \"{text}\" is no share; write it as 1%"),
                None => match parse_size(text) {
                    Ok(bytes) => Ok(Some(Least::Bytes(bytes))),
                    Err(why) => bail!("--min-bytes: {why}"),
                },
            },
        }
    }

    fn of(self, whole: u64) -> u64 {
        match self {
            Least::Bytes(bytes) => bytes,
            Least::Share(share) => (whole as f64 * share).ceil() as u64,
        }
    }
}
