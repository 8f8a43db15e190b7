//! `heapdump diff`.

use super::histogram::name_column;
use crate::answers::diff::{
    AllocationDiffName, AllocationDiffRows, Change, DiffRows, DiffTotals, ObjectDiffRows, RETAINED_KEYS, delta,
};
use crate::answers::{Diff, DiffBy, GroupBy};
use crate::report::{Cell, Column, Present, Style, Table, TextPage, Unit, count_of, format_bytes, format_count};

impl Present for Diff {
    const COMMAND: &'static str = "diff";

    fn table(&self, _: &Style) -> Table<'_> {
        let (row_count, rows_hidden) = (self.rows.len(), self.rows.hidden());
        match &self.rows {
            DiffRows::Objects(rows) => Table {
                columns: object_columns(rows),
                row_count,
                rows_hidden,
                row: Box::new(|at| object_cells(rows, at)),
            },
            DiffRows::Allocations(rows) => Table {
                columns: allocation_columns(rows),
                row_count,
                rows_hidden,
                row: Box::new(|at| allocation_cells(rows, at)),
            },
        }
    }

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        let (old, new) = (self.old.bytes(), self.new.bytes());
        let sign = if new < old { "-" } else { "+" };
        let grown = format!("{sign}{}", style.bytes(new.abs_diff(old)));
        let sides = format!("{} -> {}", style.bytes(old), style.bytes(new));
        match (self.old, self.new) {
            (DiffTotals::Objects { objects: before, .. }, DiffTotals::Objects { objects: after, .. }) => {
                let share = match old {
                    0 => String::new(),
                    whole => format!(" ({:+.1} %)", (i128::from(new) - i128::from(old)) as f64 * 100.0 / whole as f64),
                };
                let (before, after) = (format_count(before), count_of(after, "objects"));
                page.line(format!("{sides}: {}{share}, {before} -> {after}", style.bold(&grown)));
            }
            _ => page.line(format!("{sides}, {grown}")),
        }
        page.line("");
        let table = self.table(&style);
        page.table(&table);
    }
}

fn object_columns(rows: &ObjectDiffRows) -> Vec<Column> {
    let keys = rows.by.keys();
    let objects = ["Objects\nold", "Objects\nnew", "Objects\n+-"];
    let retained = ["Retained\nold", "Retained\nnew", "Retained\n+-"];
    let (counts, bytes, title) = match rows.by {
        DiffBy::RootKinds => (
            ["Roots\nold", "Roots\nnew", "Roots\n+-"],
            ["Held alone\nold", "Held alone\nnew", "Held alone\n+-"],
            "Kind",
        ),
        DiffBy::Groups(by) => (objects, ["Shallow\nold", "Shallow\nnew", "Shallow\n+-"], name_column(by).1),
        _ => (objects, retained, "Path by type"),
    };
    let mut three = vec![(keys.count, counts, Unit::Count), (keys.bytes, bytes, Unit::Bytes)];
    if rows.retained {
        three.push((RETAINED_KEYS, retained, Unit::Bytes));
    }
    // On a narrow terminal: what grew is the question, what there was before tells the least.
    let mut columns: Vec<Column> = three
        .iter()
        .flat_map(|(keys, titles, unit)| {
            [2, 1, 0]
                .into_iter()
                .zip(keys)
                .zip(titles)
                .map(|((n, key), title)| Column::new(key, title, *unit).hide_priority(n))
        })
        .collect();
    columns.push(Column::new(keys.name, title, Unit::Text));
    columns
}

fn object_cells(rows: &ObjectDiffRows, at: usize) -> Vec<Cell<'_>> {
    let (name, Change { old, new }) = &rows.rows[at];
    let mut pairs = vec![(old.count, new.count), (old.bytes, new.bytes)];
    if rows.retained {
        pairs.push((old.retained_bytes, new.retained_bytes));
    }
    let three = |(old, new): (u64, u64)| [Cell::Number(old), Cell::Number(new), Cell::Signed(delta(old, new))];
    let mut cells: Vec<Cell<'_>> = pairs.into_iter().flat_map(three).collect();
    cells.push(Cell::text(name.as_str()));
    cells
}

fn allocation_columns(rows: &AllocationDiffRows) -> Vec<Column> {
    let (key, title) = match rows.by {
        DiffBy::Backtraces => ("path", "Backtrace"),
        _ => name_column(GroupBy::Type),
    };
    vec![
        Column::new("total_bytes_old", "Old", Unit::Bytes).hide_priority(2),
        Column::new("total_bytes_new", "New", Unit::Bytes).hide_priority(1),
        Column::new("total_bytes_delta", "Growth", Unit::Bytes),
        Column::new("allocations_delta", "Allocations", Unit::Count),
        Column::new(key, title, Unit::Text),
    ]
}

fn allocation_cells(rows: &AllocationDiffRows, at: usize) -> Vec<Cell<'_>> {
    let row = rows.get(at);
    vec![
        Cell::Number(row.total_bytes_old),
        Cell::Number(row.total_bytes_new),
        Cell::Signed(row.total_bytes_delta),
        row.allocations_delta.map_or(Cell::Missing, Cell::Signed),
        match row.name {
            AllocationDiffName::Type(name) => Cell::text(name),
            AllocationDiffName::Path(names) => Cell::text(shortened(&names)),
        },
    ]
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

/// What to say beside the answer: heaps that only one dump has.
pub(crate) fn unmatched_heaps(answer: &Diff) -> Vec<String> {
    const SHOWN: usize = 6;
    let sides = [("old", &answer.unmatched_heaps.old), ("new", &answer.unmatched_heaps.new)];
    let lone = sides.into_iter().filter(|(_, heaps)| !heaps.is_empty());
    lone.map(|(side, heaps)| {
        let shown = &heaps[..heaps.len().min(SHOWN)];
        let more = heaps.len() - shown.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("note: only the {side} dump has heaps of {}{more}", shown.join(", "))
    })
    .collect()
}

/// By how much more the heap grew than it may; `None` if it did not.
pub(crate) fn over_the_limit(answer: &Diff, is_of_types: bool) -> Option<String> {
    let check = answer.growth_check.filter(|check| check.is_over())?;
    let what = match answer.rows {
        DiffRows::Allocations(_) => "the heaps",
        DiffRows::Objects(_) if is_of_types => "what matches --type",
        DiffRows::Objects(_) => "the heap",
    };
    let (grown, limit) = (check.grown_bytes, format_bytes(check.limit_bytes));
    Some(format!("{what} grew by {} ({grown} bytes), over the limit of {limit}", format_bytes(grown.unsigned_abs())))
}
