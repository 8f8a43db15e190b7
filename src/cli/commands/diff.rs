//! `heapdump diff OLD NEW`: what grew between two dumps.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use serde_json::{Map, Value, json};

use crate::analysis::diff::{Change, Side, delta, held_by_root_kind, join, places_by_path, places_by_path_bytes};
use crate::analysis::histogram::Tally;
use crate::analysis::retained_sets::topmost_of_sets;
use crate::analysis::threshold::Threshold;
use crate::analysis::type_tree::TypeTree;
use crate::cli::Outcome;
use crate::cli::args::groups::{By, group};
use crate::cli::args::heaps::HeapArgs;
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, SortArgs, TypeArgs, parse_threshold, sort_key};
use crate::cli::commands::diff_allocations::{self, DiffBy};
use crate::cli::terminal::load::{Opened, OpenedDump, open_dump};
use crate::cli::terminal::output::{bold, fields, print_sentence};
use crate::dump::AnswerNeed;
use crate::report::{Cell, Column, Report, Style, Table, Unit, count_of, format_bytes, format_count};

/// What grew between two dumps, by type
///
/// Joined by name and never by object id, so the dumps may be of different formats. Types that changed only, largest
/// growth first. Exit code 1 when the heap grew by more than --fail-over.
///
/// Of allocation totals two dumps of one trace can be compared too, with --dump OLD,NEW.
///
/// Example: heapdump diff monday.txt friday.txt -n 10
///
/// Example: heapdump diff before.txt after.txt --fail-over 10% || echo leaking
#[derive(Debug, clap::Args)]
#[command(override_usage = "heapdump diff [OPTIONS] OLD NEW")]
pub(crate) struct Args {
    /// The earlier and the later dump; one of them may be -
    #[arg(value_names = ["OLD", "NEW"], num_args = 1..=2, required = true)]
    files: Vec<PathBuf>,
    /// What to group by
    #[arg(long, value_enum, default_value = "type", value_name = "GROUP", conflicts_with_all = ["paths", "roots"])]
    by: Axis,
    /// Retained bytes too: at least so much would be freed with all objects of a row
    #[arg(long)]
    retained: bool,
    /// Paths of the dominator tree by type in place of types: what grew under what
    #[arg(long, conflicts_with_all = ["retained", "roots"])]
    paths: bool,
    /// Kinds of roots in place of types, with what only roots of that kind hold
    #[arg(long, conflicts_with_all = ["retained", "type_pattern", "domain"])]
    roots: bool,
    /// Rows that did not change too
    #[arg(long)]
    all: bool,
    /// Fail when the heap grew by more: a size, or a share of the old heap as 10%
    #[arg(long, value_name = "SIZE")]
    fail_over: Option<String>,
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

/// What rows can be of, in one model or the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Axis {
    Type,
    Package,
    Domain,
    Module,
    /// Of allocation totals
    Backtrace,
}

impl Axis {
    fn of_objects(self) -> Result<By> {
        match self {
            Axis::Type => Ok(By::Type),
            Axis::Package => Ok(By::Package),
            Axis::Domain => Ok(By::Domain),
            Axis::Module => Ok(By::Module),
            Axis::Backtrace => bail!("--by backtrace: the dumps hold objects; --paths shows where what grew hangs"),
        }
    }

    fn of_allocations(self) -> Result<DiffBy> {
        match self {
            Axis::Type => Ok(DiffBy::Type),
            Axis::Backtrace => Ok(DiffBy::Backtrace),
            _ => bail!("the dumps hold allocation totals: --by is type or backtrace"),
        }
    }
}

/// Levels of a path that are told apart.
const PATH_DEPTH: usize = 12;

/// One dump, by name.
struct Summary {
    totals: Tally,
    rows: BTreeMap<String, Side>,
    row_bytes: u64,
    roots: BTreeMap<String, Side>,
    roots_inferred: bool,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    // Wrong limits are told before the work, not after.
    let limit = args.fail_over.as_deref().map(parse_threshold).transpose()?;
    if args.files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        bail!("standard input is one dump: only one side may be -");
    }
    let (mut graphs, mut allocations) = (Vec::new(), Vec::new());
    for file in &args.files {
        match open_dump(Some(file), &args.common.input)? {
            OpenedDump::Graph(opened) => graphs.push(opened),
            OpenedDump::Allocations(opened) => allocations.push(opened),
        }
    }
    if graphs.is_empty() {
        if args.retained || args.paths || args.roots {
            bail!("the dumps hold allocation totals, no objects: leave --retained, --paths and --roots out");
        }
        return diff_allocations::run(&diff_allocations::Request {
            dumps: &allocations,
            by: args.by.of_allocations()?,
            all: args.all,
            fail_over: limit,
            heaps: &args.heaps,
            limit: &args.limit,
            order: &args.order,
            types: &args.types,
            section: &args.section,
            common: &args.common,
        });
    }
    let mut graphs = graphs.into_iter();
    match (graphs.next(), graphs.next()) {
        (Some(old), Some(new)) => diff_graphs(args, limit, old, new),
        _ if !allocations.is_empty() => {
            bail!("one dump holds objects, the other allocation totals: nothing to compare")
        }
        _ => bail!("name two files: heapdump diff OLD NEW"),
    }
}

fn diff_graphs(args: &Args, limit: Option<Threshold>, old: Opened, new: Opened) -> Result<Outcome> {
    args.heaps.refuse_on_objects(&args.section, &args.common.input.read)?;
    let by = args.by.of_objects()?;
    let mut known = vec![("shallow_bytes_delta", "shallow"), ("objects_delta", "objects"), (by.key(), by.name())];
    if args.retained {
        known.push(("retained_bytes_delta", "retained"));
    }
    let order = sort_key(args.order.sort.as_deref(), "shallow_bytes_delta", &known)?;
    let old = summarize(old, args, by, 0)?;
    let new = summarize(new, args, by, old.row_bytes)?;
    let limit = limit.map(|limit| limit.at_most(old.totals.shallow_bytes));
    let mut rows = if args.roots { join(old.roots, new.roots) } else { join(old.rows, new.rows) };
    if !args.all {
        rows.retain(|row| row.old != row.new);
    }
    sort_rows(&mut rows, order, args.order.reverse);
    let grown = delta(old.totals.shallow_bytes, new.totals.shallow_bytes);
    let mut json = fields(json!({
        "old": {"objects": old.totals.objects, "shallow_bytes": old.totals.shallow_bytes},
        "new": {"objects": new.totals.objects, "shallow_bytes": new.totals.shallow_bytes},
        "shallow_bytes_delta": grown,
    }));
    if old.roots_inferred || new.roots_inferred {
        json.insert("roots_inferred".into(), true.into());
    }
    let style = args.common.output.style();
    let summary = summary_text(&old.totals, &new.totals, grown, &style);
    print(args, by, &rows, json, summary)?;
    match limit {
        Some(limit) if grown > 0 && grown.unsigned_abs() > limit => {
            let what = if args.types.type_pattern.is_some() { "what matches --type" } else { "the heap" };
            print_sentence(&format!(
                "{what} grew by {} ({grown} bytes), over the limit of {}",
                format_bytes(grown.unsigned_abs()),
                format_bytes(limit)
            ));
            Ok(Outcome::No)
        }
        _ if rows.is_empty() && args.types.type_pattern.is_some() => Ok(Outcome::No),
        _ => Ok(Outcome::Done),
    }
}

/// `row_bytes`: what the rows of the other dump take.
fn summarize(opened: Opened, args: &Args, by: By, mut row_bytes: u64) -> Result<Summary> {
    let pattern = args.types.pattern()?;
    let graph = opened.graph;
    let section = args.section.find(graph)?;
    let wanted = pattern.map(|pattern| pattern.select(graph));
    let groups = group(graph, by, section, wanted.as_deref(), false)?;
    let reachable = opened.reachable();
    let tallies = groups.tally(reachable);
    let mut totals = Tally::default();
    tallies.iter().for_each(|tally| totals.add(tally));
    let mut rows: BTreeMap<String, Side> = groups
        .names
        .iter()
        .zip(&tallies)
        .filter(|(_, tally)| tally.objects > 0)
        .map(|(name, tally)| {
            (name.clone(), Side { objects: tally.objects, bytes: tally.shallow_bytes, retained_bytes: 0 })
        })
        .collect();
    let roots = if args.roots { held_by_root_kind(graph) } else { BTreeMap::new() };
    if args.retained || args.paths {
        let (dominators, retained) = opened.dominators()?;
        opened.check_answer(AnswerNeed::Descent, 0)?;
        let children = dominators.children();
        if args.paths {
            let nodes = section.map_or(0..graph.node_count(), |section| graph.section_nodes(section));
            let tops = children.of(0);
            let tops = tops.filter(|&number| nodes.contains(&dominators.node_at(number as usize).index()));
            let tree = TypeTree::build(graph, dominators, &children, tops, PATH_DEPTH);
            row_bytes += places_by_path_bytes(graph, &tree);
            opened.check_answer(AnswerNeed::Descent, row_bytes)?;
            rows = match places_by_path(graph, &tree) {
                Ok(rows) => rows,
                Err(_) => bail!("--paths: names are so long that the paths take too much memory; leave --paths out"),
            };
            if let Some(pattern) = args.types.pattern()? {
                rows.retain(|path, _| pattern.matches(path));
            }
        } else if args.retained {
            let topmost =
                topmost_of_sets(dominators, retained, &children, 0, groups.names.len(), |node| groups.of(node));
            for (name, topmost) in groups.names.iter().zip(topmost) {
                if let Some(side) = rows.get_mut(name) {
                    side.retained_bytes = topmost.retained_bytes;
                }
            }
        }
    }
    Ok(Summary { totals, rows, row_bytes, roots, roots_inferred: graph.roots_inferred() })
}

fn sort_rows(rows: &mut [Change], order: &str, reverse: bool) {
    let value = |row: &Change| match order {
        "objects_delta" => delta(row.old.objects, row.new.objects),
        "retained_bytes_delta" => delta(row.old.retained_bytes, row.new.retained_bytes),
        "shallow_bytes_delta" => row.bytes_delta(),
        _ => 0,
    };
    // Joined rows come ordered by growth: a stable sort keeps that among equals, but names go by name.
    if matches!(order, "objects_delta" | "retained_bytes_delta" | "shallow_bytes_delta") {
        rows.sort_by_key(|row| std::cmp::Reverse(value(row)));
    } else {
        rows.sort_by(|a, b| a.name.cmp(&b.name));
    }
    if reverse {
        rows.reverse();
    }
}

fn summary_text(old: &Tally, new: &Tally, grown: i64, style: &Style) -> String {
    let sign = if grown < 0 { "-" } else { "+" };
    let share = match old.shallow_bytes {
        0 => String::new(),
        whole => format!(" ({:+.1} %)", grown as f64 * 100.0 / whole as f64),
    };
    format!(
        "{} -> {}: {}{share}, {} -> {}\n\n",
        style.bytes(old.shallow_bytes),
        style.bytes(new.shallow_bytes),
        bold(&format!("{sign}{}", style.bytes(grown.unsigned_abs())), style),
        format_count(old.objects),
        count_of(new.objects, "objects"),
    )
}

fn print(args: &Args, by: By, rows: &[Change], fields: Map<String, Value>, summary: String) -> Result<()> {
    let (keys, name, title, rows_key) = if args.roots {
        (
            ["roots_old", "roots_new", "roots_delta", "held_bytes_old", "held_bytes_new", "held_bytes_delta"],
            "kind",
            "Kind",
            "kinds",
        )
    } else {
        let bytes = if args.paths {
            ["retained_bytes_old", "retained_bytes_new", "retained_bytes_delta"]
        } else {
            ["shallow_bytes_old", "shallow_bytes_new", "shallow_bytes_delta"]
        };
        let keys = ["objects_old", "objects_new", "objects_delta", bytes[0], bytes[1], bytes[2]];
        match args.paths {
            true => (keys, "path", "Path by type", "paths"),
            false => (keys, by.key(), by.title(), by.rows_key()),
        }
    };
    let titles = match (args.roots, args.paths) {
        (true, _) => ["Roots\nold", "Roots\nnew", "Roots\n+-", "Held alone\nold", "Held alone\nnew", "Held alone\n+-"],
        (_, true) => ["Objects\nold", "Objects\nnew", "Objects\n+-", "Retained\nold", "Retained\nnew", "Retained\n+-"],
        _ => ["Objects\nold", "Objects\nnew", "Objects\n+-", "Shallow\nold", "Shallow\nnew", "Shallow\n+-"],
    };
    let units = [Unit::Count, Unit::Count, Unit::Count, Unit::Bytes, Unit::Bytes, Unit::Bytes];
    let mut columns: Vec<Column> =
        keys.into_iter().zip(titles).zip(units).map(|((key, title), unit)| Column::new(key, title, unit)).collect();
    if args.retained {
        columns.push(Column::new("retained_bytes_old", "Retained\nold", Unit::Bytes));
        columns.push(Column::new("retained_bytes_new", "Retained\nnew", Unit::Bytes));
        columns.push(Column::new("retained_bytes_delta", "Retained\n+-", Unit::Bytes));
    }
    // On a narrow terminal: what grew is the question, what there was before tells the least.
    for three in columns.chunks_mut(3) {
        three[0] = three[0].spare(2);
        three[1] = three[1].spare(1);
    }
    columns.push(Column::new(name, title, Unit::Text));
    let shown = args.limit.rows(rows.len());
    let report = Report {
        command: "diff",
        fields: Box::new(|json| json.put_all(&fields)),
        table: Table {
            columns,
            row_count: shown,
            rows_hidden: rows.len() - shown,
            row: Box::new(|row| {
                let Change { name, old, new } = &rows[row];
                let three = |old: u64, new: u64| [Cell::Number(old), Cell::Number(new), Cell::Signed(delta(old, new))];
                let mut cells: Vec<Cell<'_>> = three(old.objects, new.objects).into();
                cells.extend(three(old.bytes, new.bytes));
                if args.retained {
                    cells.extend(three(old.retained_bytes, new.retained_bytes));
                }
                cells.push(Cell::text(name.as_str()));
                cells
            }),
        },
        rows_key: Some(rows_key),
        nested: None,
        summary,
        text: None,
        markdown: None,
    };
    args.common.output.print(&report)
}
