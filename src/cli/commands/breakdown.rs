//! `heapdump breakdown`: where the bytes are, as a tree of backtraces and types.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use serde_json::{Map, Value, json};

use crate::allocations::{AllocationHeap, NameId, Names};
use crate::analysis::allocation_totals::{Totals, TotalsOptions};
use crate::analysis::breakdown::{By, Layout, MOST_ROWS, Order, Row, lay_out};
use crate::analysis::callers::lay_out_callers;
use crate::analysis::dominator_paths::heap_of_dominator_paths;
use crate::analysis::threshold::{Percent, Threshold};
use crate::answers::heaps::title_of;
use crate::cli::Outcome;
use crate::cli::args::heaps::{HeapArgs, heap_json, refuse_left_out, wanted_types};
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, SortArgs, TypeArgs, parse_smallest, sort_key};
use crate::cli::commands::tree::{HeapTree, print_trees};
use crate::cli::terminal::load::{Opened, OpenedDump, open_dump};
use crate::cli::terminal::output::{fields, problems_json, section_words};
use crate::graph::NodeId;

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

/// Levels that can be asked for: JSON is nested as deep.
const MAX_DEPTH: i64 = 500;
const DEPTH_OF_OBJECTS: u32 = 20;
/// Memory for a node or an entry of allocation totals: in the totals by node, and as a row.
const BYTES_PER_ROW: u64 = 600;
const SMALLEST_PERCENT: f64 = 0.5;

fn smallest_share() -> Threshold {
    Percent::new(SMALLEST_PERCENT).map_or(Threshold::Bytes(0), Threshold::Share)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ByArg {
    Backtrace,
    Type,
    Both,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let least = parse_smallest(args.min_bytes.as_deref(), args.min_percent)?;
    match open_dump(args.file.as_deref(), &args.common.input)? {
        OpenedDump::Graph(opened) => run_objects(args, least, &opened),
        OpenedDump::Allocations(opened) => {
            let pattern = args.types.pattern()?;
            let names = &opened.dump.names;
            let wanted = wanted_types(names, pattern.as_ref());
            let wanted = wanted.as_ref().map(|wanted| wanted as &dyn Fn(NameId) -> bool);
            let depth = args.depth.unwrap_or(MAX_DEPTH as u32);
            let default = if args.common.output.style().terminal { smallest_share() } else { Threshold::Bytes(0) };
            let mut trees = Vec::new();
            let mut rows_left = MOST_ROWS;
            let heaps = args.heaps.choose(opened.dump, &args.section, &args.common.input.read)?;
            opened.check_rows(&heaps, BYTES_PER_ROW)?;
            for heap in heaps {
                let least = least.unwrap_or(default);
                let extent = Extent { depth, least, types_below: true, most_rows: rows_left };
                let (rows, totals) = args.tree(heap, names, wanted, &extent)?;
                rows_left -= rows.len();
                let (title, json) = (title_of(heap), heap_json(heap, &totals.at(0)));
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
            print_trees("breakdown", json, &trees, names, &args.common.output)?;
            Ok(args.types.outcome(nothing_matches, args.common.is_quiet()))
        }
    }
}

fn run_objects(args: &Args, least: Option<Threshold>, opened: &Opened) -> Result<Outcome> {
    args.heaps.refuse_on_objects(&args.section, &args.common.input.read)?;
    let graph = opened.graph;
    let pattern = args.types.pattern()?;
    let section = args.section.find(graph)?;
    let nodes = section.map_or(0..graph.node_count(), |section| graph.section_nodes(section));
    let dominators = opened.only_dominators()?;
    let depth = args.depth.unwrap_or(DEPTH_OF_OBJECTS);
    opened.progress.phase("merging paths");
    let in_section = |node: NodeId| nodes.contains(&node.index());
    let (names, mut heap) = heap_of_dominator_paths(graph, dominators, depth.max(1), in_section);
    let one_section = section_words(graph, section);
    if let Some(section) = section {
        heap.process = graph.sections()[section.index()].name.clone();
    }
    let wanted = wanted_types(&names, pattern.as_ref());
    let wanted = wanted.as_ref().map(|wanted| wanted as &dyn Fn(NameId) -> bool);
    let least = least.unwrap_or(smallest_share());
    let extent = Extent { depth, least, types_below: false, most_rows: MOST_ROWS };
    let (rows, totals) = args.tree(&heap, &names, wanted, &extent)?;
    let mut json: Map<String, Value> = heap_json(&heap, &totals.at(0));
    json.insert("pid".into(), Value::Null);
    json.insert("allocator".into(), Value::Null);
    let whole = match one_section {
        Some(section) => section,
        None if heap.process.is_empty() => "all sections".to_string(),
        None => heap.process.clone(),
    };
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
    print_trees("breakdown", json, &trees, &names, &args.common.output)?;
    let nothing_matches = pattern.is_some() && trees[0].rows[0].amount.bytes == 0;
    Ok(args.types.outcome(nothing_matches, args.common.is_quiet()))
}

/// How much of a tree is shown.
struct Extent {
    depth: u32,
    least: Threshold,
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
        let known = [("bytes", "bytes"), ("allocations", "allocations"), ("name", "name")];
        let order = match sort_key(self.order.sort.as_deref(), "bytes", &known)? {
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
            min_bytes: extent.least.at_least(totals.at(0).bytes),
            limit: self.limit.rows(usize::MAX),
            order,
            reverse: self.order.reverse,
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
                title_of(heap),
                if extent.most_rows < MOST_ROWS { "the trees up to this one have" } else { "the tree has" },
                if extent.most_rows < MOST_ROWS { ", or fewer with --dump, --process and --allocator" } else { "" },
            ),
        }
    }
}
