//! `heapdump diff` of allocation totals: two files, or two dumps of one, joined by names of backtraces and types.

use std::collections::BTreeSet;
use std::io;

use anyhow::{Result, bail};
use clap::ValueEnum;
use serde_json::json;

use crate::allocations::AllocationHeap;
use crate::analysis::allocation_diff::{AllocationDiff, Change};
use crate::analysis::allocation_top::Top;
use crate::analysis::allocation_totals::{Totals, TotalsOptions};
use crate::analysis::threshold::Threshold;
use crate::answers::heaps::process_title_of;
use crate::cli::Outcome;
use crate::cli::args::heaps::{HeapArgs, refuse_left_out};
use crate::cli::args::options::{Common, LimitArgs, SectionArgs, SortArgs, TypeArgs, sort_key};
use crate::cli::terminal::load::OpenedAllocations;
use crate::cli::terminal::output::{fields, print_sentence};
use crate::report::{Cell, Column, Format, Members, Report, Table, Unit, format_bytes};

/// What the rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffBy {
    Type,
    Backtrace,
}

/// What is asked for.
pub(crate) struct Request<'a> {
    /// Two, or one of which two dumps are compared.
    pub(crate) dumps: &'a [OpenedAllocations<'a>],
    pub(crate) by: DiffBy,
    pub(crate) all: bool,
    /// A size, or a share of the old heaps.
    pub(crate) fail_over: Option<Threshold>,
    pub(crate) heaps: &'a HeapArgs,
    pub(crate) limit: &'a LimitArgs,
    pub(crate) order: &'a SortArgs,
    pub(crate) types: &'a TypeArgs,
    pub(crate) section: &'a SectionArgs,
    pub(crate) common: &'a Common,
}

/// The dumps to choose on either side: `--dump OLD,NEW`, or one for both.
fn sides(request: &Request<'_>) -> Result<[HeapArgs; 2]> {
    let side = |dump: Option<&str>| HeapArgs {
        dump: dump.map(str::to_string),
        process: request.heaps.process.clone(),
        allocator: request.heaps.allocator.clone(),
    };
    match (request.heaps.dump.as_deref().and_then(|dump| dump.split_once(',')), request.dumps) {
        (Some((old, new)), _) => Ok([side(Some(old.trim())), side(Some(new.trim()))]),
        (None, [_, _]) => Ok([side(request.heaps.dump.as_deref()), side(request.heaps.dump.as_deref())]),
        _ => bail!("name two files, or two dumps of one: --dump OLD,NEW"),
    }
}

const LONE_HEAPS_SHOWN: usize = 6;
/// Memory for a node or an entry of either dump: in the totals by node, and as a row.
const BYTES_PER_ROW: u64 = 400;

/// A heap that only one side has counts as grown or gone, though it may only not have been dumped.
fn tell_of_lone_heaps(sides: &[Vec<&AllocationHeap>]) {
    let keys = |side: &[&AllocationHeap]| -> BTreeSet<String> {
        let name = |heap: &AllocationHeap| match heap.process.as_str() {
            // Numbers of processes mean nothing in another trace.
            "" => heap.allocator.clone(),
            _ => format!("{} ({})", process_title_of(heap), heap.allocator),
        };
        side.iter().map(|heap| name(heap)).collect()
    };
    let [old, new] = sides else { return };
    let (old, new) = (keys(old), keys(new));
    for (side, lone) in [("old", old.difference(&new)), ("new", new.difference(&old))] {
        let lone: Vec<&str> = lone.map(String::as_str).collect();
        if !lone.is_empty() {
            let shown = &lone[..lone.len().min(LONE_HEAPS_SHOWN)];
            let more = lone.len() - shown.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            print_sentence(&format!("note: only the {side} dump has heaps of {}{more}", shown.join(", ")));
        }
    }
}

pub(crate) fn run(request: &Request<'_>) -> Result<Outcome> {
    let common = request.common;
    let known =
        [("total_bytes_delta", "delta"), ("total_bytes_new", "new"), ("total_bytes_old", "old"), ("name", "name")];
    let order = sort_key(request.order.sort.as_deref(), "total_bytes_delta", &known)?;
    let pattern = request.types.pattern()?;
    let sides = sides(request)?;
    let opened = [&request.dumps[0], request.dumps.last().unwrap_or(&request.dumps[0])];
    let mut chosen = Vec::new();
    for (heaps, opened) in sides.iter().zip(opened) {
        chosen.push(heaps.choose(opened.dump, request.section, &common.input.read)?);
    }
    opened[0].check_rows(&chosen.concat(), BYTES_PER_ROW)?;
    if !common.is_quiet() {
        tell_of_lone_heaps(&chosen);
    }
    let several = chosen.iter().any(|heaps| heaps.len() > 1);
    let mut diff = AllocationDiff::new();
    for (number, (heaps, opened)) in chosen.iter().zip(opened).enumerate() {
        for heap in heaps {
            let prefix = several.then(|| prefix(heap));
            let by_type = Top::compute(heap);
            refuse_left_out(heap, by_type.pairs_left_out)?;
            let paths = Totals::compute(heap, &TotalsOptions { depth: u32::MAX, by_type: false, wanted: None });
            let (names, new) = (&opened.dump.names, number == 1);
            diff.add_types(&by_type.types, names, new);
            diff.add_paths(heap, &paths, names, prefix.as_deref(), new);
        }
    }
    let rows = |by: DiffBy| {
        let mut rows: Vec<(Key<'_>, Change)> = match by {
            DiffBy::Type => {
                diff.types(request.all).into_iter().map(|(name, change)| (Key::Type(name), change)).collect()
            }
            DiffBy::Backtrace => {
                diff.paths(request.all).into_iter().map(|path| (Key::Path(path), *diff.change_of(path))).collect()
            }
        };
        if let Some(pattern) = &pattern {
            rows.retain(|(key, _)| key.names(&diff).last().is_some_and(|name| pattern.matches(name)));
        }
        match order {
            "total_bytes_new" => rows.sort_by_key(|(_, change)| std::cmp::Reverse(change.new.bytes)),
            "total_bytes_old" => rows.sort_by_key(|(_, change)| std::cmp::Reverse(change.old.bytes)),
            "name" => rows.sort_by_cached_key(|(key, _)| key.names(&diff).join("\0")),
            _ => {}
        }
        if request.order.reverse {
            rows.reverse();
        }
        rows
    };
    // JSON has both axes, a table one.
    let [main, side] = match request.by {
        DiffBy::Type => [DiffBy::Type, DiffBy::Backtrace],
        DiffBy::Backtrace => [DiffBy::Backtrace, DiffBy::Type],
    };
    let beside = if common.output.style().format == Format::Json { rows(side) } else { Vec::new() };
    let rows = rows(main);
    print(request, &diff, &rows, &beside)?;
    let whole = diff.whole();
    let limit = request.fail_over.map(|limit| limit.at_most(whole.old.bytes));
    let grown = u64::try_from(whole.delta_bytes()).unwrap_or(0);
    let grown_too_much = limit.is_some_and(|limit| grown > limit);
    if let (Some(limit), true) = (limit, grown_too_much) {
        print_sentence(&format!(
            "the heaps grew by {} ({grown} bytes), over the limit of {}",
            format_bytes(grown),
            format_bytes(limit)
        ));
    }
    let nothing_matches = pattern.is_some() && rows.is_empty();
    Ok(if grown_too_much || nothing_matches { Outcome::No } else { Outcome::Done })
}

/// What a row is about. Names are looked up when they are printed: paths are long and many.
#[derive(Clone, Copy)]
enum Key<'a> {
    Type(&'a str),
    Path(u32),
}

impl<'a> Key<'a> {
    fn names(self, diff: &'a AllocationDiff) -> Vec<&'a str> {
        match self {
            Key::Type(name) => vec![name],
            Key::Path(path) => diff.names_of(path),
        }
    }
}

/// Process numbers do not carry over from one run to another, names do.
fn prefix(heap: &AllocationHeap) -> String {
    format!("{}, {}", process_title_of(heap), heap.allocator)
}

/// Rows as JSON has them.
fn put_rows(
    json: &mut Members<'_>,
    rows_key: &str,
    diff: &AllocationDiff,
    rows: &[(Key<'_>, Change)],
) -> io::Result<()> {
    json.put_objects(rows_key, rows.len(), |row, json| {
        let (key, change) = &rows[row];
        match key {
            Key::Type(name) => json.put("type", name)?,
            Key::Path(_) => json.put("path", &key.names(diff))?,
        }
        json.put("total_bytes_old", &change.old.bytes)?;
        json.put("total_bytes_new", &change.new.bytes)?;
        json.put("total_bytes_delta", &change.delta_bytes())?;
        json.put("allocations_old", &change.old.allocations)?;
        json.put("allocations_new", &change.new.allocations)?;
        json.put("allocations_delta", &change.delta_allocations())
    })
}

fn print(
    request: &Request<'_>,
    diff: &AllocationDiff,
    rows: &[(Key<'_>, Change)],
    beside: &[(Key<'_>, Change)],
) -> Result<()> {
    let output = &request.common.output;
    let style = output.style();
    let shown = request.limit.rows(rows.len());
    let whole = diff.whole();
    let (key, title) = match request.by {
        DiffBy::Type => ("type", "Type"),
        DiffBy::Backtrace => ("path", "Backtrace"),
    };
    let sides = fields(json!({
        "old": {"total_bytes": whole.old.bytes, "allocations": whole.old.allocations},
        "new": {"total_bytes": whole.new.bytes, "allocations": whole.new.allocations},
    }));
    let [types, paths] = match request.by {
        DiffBy::Type => [&rows[..shown], &beside[..request.limit.rows(beside.len())]],
        DiffBy::Backtrace => [&beside[..request.limit.rows(beside.len())], &rows[..shown]],
    };
    let sign = if whole.delta_bytes() < 0 { "-" } else { "+" };
    let report = Report {
        command: "diff",
        fields: Box::new(|json| {
            json.put_all(&sides)?;
            put_rows(json, "types", diff, types)?;
            put_rows(json, "paths", diff, paths)
        }),
        table: Table {
            columns: vec![
                Column::new("total_bytes_old", "Old", Unit::Bytes).spare(2),
                Column::new("total_bytes_new", "New", Unit::Bytes).spare(1),
                Column::new("total_bytes_delta", "Growth", Unit::Bytes),
                Column::new("allocations_delta", "Allocations", Unit::Count),
                Column::new(key, title, Unit::Text),
            ],
            row_count: shown,
            rows_hidden: rows.len() - shown,
            row: Box::new(|row| {
                let (key, change) = &rows[row];
                vec![
                    Cell::Number(change.old.bytes),
                    Cell::Number(change.new.bytes),
                    Cell::Signed(change.delta_bytes()),
                    change.delta_allocations().map_or(Cell::Missing, Cell::Signed),
                    Cell::text(shortened(&key.names(diff))),
                ]
            }),
        },
        rows_key: None,
        nested: None,
        summary: format!(
            "{} -> {}, {sign}{}\n\n",
            style.bytes(whole.old.bytes),
            style.bytes(whole.new.bytes),
            style.bytes(whole.delta_bytes().unsigned_abs()),
        ),
        text: None,
        markdown: None,
    };
    request.common.output.print(&report)
}

/// The names of a path; long ones without their middle.
fn shortened(names: &[&str]) -> String {
    const SHOWN: usize = 40;
    if names.len() <= SHOWN {
        return names.join(" > ");
    }
    let (start, end) = (&names[..SHOWN / 2], &names[names.len() - SHOWN / 2..]);
    format!("{} > ... {} left out ... > {}", start.join(" > "), names.len() - SHOWN, end.join(" > "))
}
