//! `heapdump info A B C`: one row for each file.

use anyhow::Result;

use super::common::sort_key;
use super::info::{Args, put_fields, tallies};
use super::load::{self, OpenedDump};
use super::several::ask_each;
use super::{Outcome, info_allocations};
use crate::input::{Diagnostics, Facts};
use crate::report::{Cell, Column, Format, Members, Report, Table, Unit, escape_controls};

/// What is told of one file.
struct Row {
    facts: Facts,
    sections: u64,
    /// Objects and their bytes; allocation totals have none.
    heap: Option<(u64, u64)>,
    /// Allocations, where they are counted, and their bytes, in the last memory dump.
    allocated: Option<(Option<u64>, u64)>,
    problems: u64,
    /// Members of its object in JSON.
    json: Vec<u8>,
}

pub(super) fn run(args: &Args) -> Result<Outcome> {
    let output = &args.common.output;
    let known = [
        ("file", "file"),
        ("format", "format"),
        ("sections", "sections"),
        ("objects", "objects"),
        ("shallow_bytes", "shallow"),
        ("total_bytes", "bytes"),
        ("problems", "problems"),
    ];
    let order = args.order.sort.as_deref().map(|column| sort_key(Some(column), "file", &known)).transpose()?;
    let mut answers = ask_each(&args.files, &args.common.input, |place, file| {
        load::read_dump(place, Some(file), &args.common.input)?.lend(|opened| ask(&opened))
    })?;
    if answers.of_files.is_empty() {
        return Ok(answers.outcome(Outcome::Done));
    }
    if let Some(order) = order {
        sort_rows(&mut answers.of_files, order);
    }
    if args.order.reverse {
        answers.of_files.reverse();
    }
    let style = output.style();
    // Narrow terminals have room for what tells files apart, not for the folder they share.
    let folder = if style.terminal && style.format == Format::Table { shared_folder(&answers.of_files) } else { "" };
    output.print(&report(&answers.of_files, args.limit.rows(answers.of_files.len()), folder))?;
    Ok(answers.outcome(Outcome::Done))
}

fn ask(opened: &OpenedDump<'_>) -> Result<Row> {
    Ok(match opened {
        OpenedDump::Graph(opened) => {
            let tallies = tallies(opened);
            let sum = |value: fn(&_) -> u64| tallies.iter().map(value).fold(0, u64::saturating_add);
            Row {
                facts: opened.facts.clone(),
                sections: tallies.len() as u64,
                heap: Some((sum(|tally| tally.objects), sum(|tally| tally.shallow_bytes))),
                allocated: None,
                problems: count(&opened.diagnostics),
                json: Members::written(|json| put_fields(opened, &tallies, json))?,
            }
        }
        OpenedDump::Allocations(opened) => {
            let totals = info_allocations::totals(opened);
            let last = info_allocations::total_of_last_dump(opened, &totals);
            Row {
                facts: opened.facts.clone(),
                sections: super::allocations::processes(opened.dump).len() as u64,
                heap: None,
                allocated: Some((last.allocations, last.bytes)),
                problems: count(&opened.diagnostics),
                json: Members::written(|json| json.put_all(&info_allocations::json_fields(opened, &totals)))?,
            }
        }
    })
}

/// How often anything was wrong.
fn count(diagnostics: &Diagnostics) -> u64 {
    diagnostics.sorted().iter().fold(0, |sum, problem| sum.saturating_add(problem.count))
}

/// By a column, figures largest first; files that are equal stay in the order they were named in.
fn sort_rows(rows: &mut [(String, Row)], order: &str) {
    let figure = |row: &Row| match order {
        "sections" => row.sections,
        "objects" => row.heap.map_or(0, |(objects, _)| objects),
        "shallow_bytes" => row.heap.map_or(0, |(_, bytes)| bytes),
        "total_bytes" => row.allocated.map_or(0, |(_, bytes)| bytes),
        "problems" => row.problems,
        _ => 0,
    };
    rows.sort_by(|(file_a, a), (file_b, b)| match order {
        "file" => file_a.cmp(file_b),
        "format" => a.facts.format.cmp(b.facts.format),
        _ => figure(b).cmp(&figure(a)),
    });
}

/// The folder that all files are in, as they were named, with the slash behind it.
fn shared_folder(rows: &[(String, Row)]) -> &str {
    let [(first, _), rest @ ..] = rows else { return "" };
    let mut folder = &first[..first.rfind('/').map_or(0, |slash| slash + 1)];
    for (file, _) in rest {
        while !file.starts_with(folder) {
            // Never longer than before, and empty at the latest without another slash.
            folder = &folder[..folder.trim_end_matches('/').rfind('/').map_or(0, |slash| slash + 1)];
        }
    }
    folder
}

/// The files' names stand without `folder`, which is said above them.
fn report<'r>(rows: &'r [(String, Row)], shown: usize, folder: &'r str) -> Report<'r> {
    let with_allocations = rows.iter().any(|(_, row)| row.allocated.is_some());
    let with_objects = rows.iter().any(|(_, row)| row.heap.is_some());
    let mut columns = vec![
        Column::new("format", "Format", Unit::Word),
        Column::new("version", "Version", Unit::Word).spare(2),
        Column::new("sections", "Sections", Unit::Count).spare(1),
    ];
    if with_objects {
        columns.push(Column::new("objects", "Objects", Unit::Count));
        columns.push(Column::new("shallow_bytes", "Shallow", Unit::Bytes));
    }
    if with_allocations {
        columns.push(Column::new("allocations", "Allocations", Unit::Count).spare(1));
        columns.push(Column::new("total_bytes", "Allocated", Unit::Bytes));
    }
    columns.push(Column::new("problems", "Problems", Unit::Count));
    columns.push(Column::new("file", "File", Unit::Text));
    Report {
        command: "info",
        fields: Box::new(move |json| {
            json.put_objects("files", shown, |at, json| {
                let (file, row) = &rows[at];
                json.put("file", file)?;
                json.put_written(&row.json)
            })
        }),
        table: Table {
            columns,
            row_count: shown,
            rows_hidden: rows.len() - shown,
            row: Box::new(move |at| {
                let (file, row) = &rows[at];
                let version = row.facts.version.as_deref().map(short);
                let mut cells = vec![
                    Cell::text(row.facts.format),
                    version.map_or(Cell::Missing, Cell::text),
                    Cell::Number(row.sections),
                ];
                if with_objects {
                    cells.push(Cell::number(row.heap.map(|(objects, _)| objects)));
                    cells.push(Cell::number(row.heap.map(|(_, bytes)| bytes)));
                }
                if with_allocations {
                    cells.push(Cell::number(row.allocated.and_then(|(allocations, _)| allocations)));
                    cells.push(Cell::number(row.allocated.map(|(_, bytes)| bytes)));
                }
                cells.extend([Cell::Number(row.problems), Cell::text(&file[folder.len()..])]);
                cells
            }),
        },
        rows_key: None,
        nested: None,
        summary: if folder.is_empty() { String::new() } else { format!("in {}\n", escape_controls(folder)) },
        text: None,
        markdown: None,
    }
}

/// A version without what it means: `B` of `B (J9 2.6 and later, OpenJ9)`.
fn short(version: &str) -> &str {
    version.split(" (").next().unwrap_or(version)
}
