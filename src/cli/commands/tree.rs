//! Trees of allocation totals in every output form: nested in JSON, indented for people, a row a node everywhere else.

use std::io::{self, Write};

use anyhow::Result;
use serde_json::{Map, Value};

use crate::allocations::Names;
use crate::analysis::breakdown::{Axis, Kind, Row, row_text};
use crate::cli::args::options::OutputArgs;
use crate::cli::terminal::output::bold;
use crate::report::{Cell, Column, Format, Nested, Report, Style, Table, Unit, escape_controls, format_count};

/// The tree of one heap.
pub(crate) struct HeapTree<'a> {
    pub(crate) title: String,
    pub(crate) json: Map<String, Value>,
    pub(crate) pid: i64,
    pub(crate) dump: usize,
    /// `None` of a dump of objects.
    pub(crate) allocator: Option<&'a str>,
    /// In the order of a walk down; the root first.
    pub(crate) rows: Vec<Row>,
}

/// Prints trees as the answer of a command.
pub(crate) fn print_trees(
    command: &'static str,
    json: Map<String, Value>,
    trees: &[HeapTree<'_>],
    names: &Names,
    output: &OutputArgs,
) -> Result<()> {
    let style = output.style();
    let all: Vec<(&HeapTree<'_>, &Row)> =
        trees.iter().flat_map(|tree| tree.rows.iter().map(move |row| (tree, row))).collect();
    let indent = matches!(style.format, Format::Table | Format::Markdown);
    let report = Report {
        command,
        fields: Box::new(|members| {
            members.put_all(&json)?;
            members.put_objects("heaps", trees.len(), |place, members| {
                members.put_all(&trees[place].json)?;
                members.put_tree(&nested(&trees[place].rows, names))
            })
        }),
        table: Table {
            columns: vec![
                Column::new("dump", "Dump", Unit::Count),
                Column::new("pid", "Process", Unit::Word),
                Column::new("allocator", "Allocator", Unit::Word),
                Column::new("bytes", "Bytes", Unit::Bytes),
                Column::new("allocations", "Allocations", Unit::Count),
                Column::new("exact", "Exact", Unit::Word),
                Column::new("depth", "Depth", Unit::Count),
                Column::new("kind", "Kind", Unit::Word),
                Column::new("name", "Name", Unit::Text),
            ],
            row_count: all.len(),
            rows_hidden: 0,
            row: Box::new(|at| {
                let (tree, row) = all[at];
                let name = row_text(row, names);
                vec![
                    Cell::Number(tree.dump as u64),
                    Cell::text(tree.pid.to_string()),
                    Cell::text(tree.allocator.unwrap_or("-")),
                    Cell::Number(row.amount.bytes),
                    Cell::number(row.amount.allocations),
                    Cell::text(if row.amount.at_least { "at-least" } else { "exact" }),
                    Cell::Number(row.depth.into()),
                    Cell::text(kind_name(row.kind)),
                    if indent {
                        Cell::text(format!("{}{}", indentation(row), label(row, names)))
                    } else {
                        Cell::text(name)
                    },
                ]
            }),
        },
        rows_key: None,
        nested: None,
        summary: String::new(),
        text: Some(Box::new(|out| text(trees, names, &style, out))),
        markdown: None,
    };
    output.print(&report)
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Root => "root",
        Kind::Backtrace => "backtrace",
        Kind::Type => "type",
        Kind::OwnPart => "self",
        Kind::Other => "other",
    }
}

/// Deep rows are not pushed off the screen.
fn indentation(row: &Row) -> String {
    const DEEPEST: u32 = 40;
    " ".repeat(2 * row.depth.min(DEEPEST) as usize)
}

/// The name, in brackets where it is a type's or stands for types.
fn label(row: &Row, names: &Names) -> String {
    let text = row_text(row, names);
    let text = if text.is_empty() { "\"\"" } else { text };
    if row.axis == Axis::Type { format!("[{text}]") } else { text.to_string() }
}

fn text(trees: &[HeapTree<'_>], names: &Names, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    for (number, tree) in trees.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        let title = bold(&escape_controls(&tree.title), style);
        let whole = tree.rows[0].amount.bytes.max(1) as f64;
        let counted = tree.rows.iter().any(|row| row.amount.allocations.is_some());
        let (count_title, title_of_rows) = match tree.allocator {
            Some(_) if counted => ("  allocations", "backtrace, [type]"),
            Some(_) => ("", "backtrace, [type]"),
            None => ("      objects", "type"),
        };
        writeln!(out, "{title}\n\n      bytes    share{count_title}  {title_of_rows}")?;
        for row in &tree.rows {
            let bytes = row.amount.bytes;
            let size = style.size(bytes);
            let size = if row.amount.at_least { format!("≥ {size}") } else { size };
            let count = match row.amount.allocations {
                _ if !counted => String::new(),
                Some(count) => format!("  {:>11}", format_count(count)),
                None => format!("  {:>11}", "-"),
            };
            let start = format!("{size:>11}  {:>6.1}%{count}  {}", bytes as f64 * 100.0 / whole, indentation(row));
            let hidden = match row.hidden {
                0 => String::new(),
                hidden => format!(" with {} more", format_count(hidden)),
            };
            let name = style.fit(start.chars().count() + hidden.len(), &label(row, names));
            writeln!(out, "{start}{name}{hidden}")?;
        }
    }
    Ok(())
}

/// Rows as nested objects.
fn nested<'r>(rows: &'r [Row], names: &'r Names) -> Nested<'r> {
    Nested {
        key: "tree",
        row_count: rows.len(),
        level: Box::new(|row| rows[row].depth as usize),
        object: Box::new(|row, members| {
            let row = &rows[row];
            members.put("name", row_text(row, names))?;
            members.put("kind", kind_name(row.kind))?;
            if matches!(row.kind, Kind::OwnPart | Kind::Other) {
                members.put("axis", if row.axis == Axis::Type { "type" } else { "backtrace" })?;
            }
            members.put("bytes", &row.amount.bytes)?;
            members.put("allocations", &row.amount.allocations)?;
            if row.amount.at_least {
                members.put("at_least", &true)?;
            }
            if row.hidden > 0 {
                members.put("hidden", &row.hidden)?;
            }
            Ok(())
        }),
    }
}
