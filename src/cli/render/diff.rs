//! `heapdump diff`.

use super::histogram::name_column;
use crate::answers::diff::{
    AllocationDiffRow, AllocationDiffRows, Amounts, Change, DiffRows, DiffTotals, ObjectDiffRows, RETAINED_KEYS, delta,
};
use crate::answers::{Diff, DiffBy, GroupBy};
use crate::report::{Column, Columns, Present, Style, Table, TextPage, Unit, count_of, format_count};

impl Present for Diff {
    const COMMAND: &'static str = "diff";

    fn table(&self, _: &Style) -> Table<'_> {
        match &self.rows {
            DiffRows::Objects(rows) => object_table(rows),
            DiffRows::Allocations(rows) => allocation_table(rows),
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

fn object_table(rows: &ObjectDiffRows) -> Table<'_> {
    let keys = rows.by.keys();
    let (count, bytes, name) = match rows.by {
        DiffBy::RootKinds => (
            ["Roots\nold", "Roots\nnew", "Roots\n+-"],
            ["Held alone\nold", "Held alone\nnew", "Held alone\n+-"],
            Column::text(keys.name, "Kind"),
        ),
        DiffBy::Groups(by) => (OBJECTS, ["Shallow\nold", "Shallow\nnew", "Shallow\n+-"], name_column(by)),
        _ => (OBJECTS, RETAINED, Column::text(keys.name, "Path by type")),
    };
    let columns = add_change(Columns::new(), keys.count, count, Unit::Count, |amounts| amounts.count);
    let mut columns = add_change(columns, keys.bytes, bytes, Unit::Bytes, |amounts| amounts.bytes);
    if rows.retained {
        columns = add_change(columns, RETAINED_KEYS, RETAINED, Unit::Bytes, |amounts| amounts.retained_bytes);
    }
    columns.add(name, |(name, _)| name.as_str()).table(rows.rows.len(), rows.hidden, |at| &rows.rows[at])
}

type ObjectDiffRow<'r> = &'r (String, Change<Amounts>);

/// Before, after, and by how much it grew. On a narrow terminal: what grew is the question, what there was before tells
/// the least.
fn add_change<'r>(
    columns: Columns<'r, ObjectDiffRow<'r>>,
    keys: [&'static str; 3],
    titles: [&'static str; 3],
    unit: Unit,
    amount: fn(&Amounts) -> u64,
) -> Columns<'r, ObjectDiffRow<'r>> {
    let column = |at: usize| Column::new(keys[at], titles[at], unit).hide_priority(2 - at as u8);
    columns
        .add(column(0), move |(_, change)| amount(&change.old))
        .add(column(1), move |(_, change)| amount(&change.new))
        .add(column(2), move |(_, change)| delta(amount(&change.old), amount(&change.new)))
}

const OBJECTS: [&str; 3] = ["Objects\nold", "Objects\nnew", "Objects\n+-"];
const RETAINED: [&str; 3] = ["Retained\nold", "Retained\nnew", "Retained\n+-"];

fn allocation_table(rows: &AllocationDiffRows) -> Table<'_> {
    let name = match rows.by {
        DiffBy::Backtraces => Column::text("path", "Backtrace"),
        _ => name_column(GroupBy::Type),
    };
    Columns::new()
        .add(Column::bytes("total_bytes_old", "Old").hide_priority(2), |row: &mut AllocationDiffRow<'_>| {
            row.total_bytes_old
        })
        .add(Column::bytes("total_bytes_new", "New").hide_priority(1), |row| row.total_bytes_new)
        .add(Column::bytes("total_bytes_delta", "Growth"), |row| row.total_bytes_delta)
        .add(Column::count("allocations_delta", "Allocations"), |row| row.allocations_delta)
        .add(name, |row| row.name.shortened().into_owned())
        .table(rows.len(), rows.hidden(), |at| rows.get(at))
}

/// By how much more the heap grew than it may; `None` if it did not.
pub(crate) fn over_the_limit(answer: &Diff, is_of_types: bool) -> Option<String> {
    let check = answer.growth_check.filter(|check| check.is_over())?;
    let what = match answer.rows {
        DiffRows::Allocations(_) => "the heaps",
        DiffRows::Objects(_) if is_of_types => "what matches --type",
        DiffRows::Objects(_) => "the heap",
    };
    Some(format!("{what} {}", check.statement()))
}
