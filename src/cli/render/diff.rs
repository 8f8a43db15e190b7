//! `heapdump diff`.

use super::histogram::name_column;
use crate::answers::diff::{
    AllocationDiffRow, AllocationDiffRows, Amounts, Change, ChangedObjects, ChangedType, DiffRows, ObjectDiffRows,
    RETAINED_KEYS, delta, percent_words,
};
use crate::answers::{Diff, DiffBy, GroupBy};
use crate::report::{Column, Columns, Format, Present, Style, Table, TextPage, Unit};

impl Present for Diff {
    const COMMAND: &'static str = "diff";

    fn table(&self, style: &Style) -> Table<'_> {
        let is_drawn = style.terminal && style.format == Format::Table;
        match &self.rows {
            DiffRows::Objects(rows) => object_table(rows, is_drawn),
            DiffRows::ByObject(rows) => changes_table(rows),
            DiffRows::Allocations(rows) => allocation_table(rows, is_drawn),
        }
    }

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        page.paragraph(self.headline(|bytes| style.bytes(bytes), |grown| style.bold(grown)));
        if let DiffRows::ByObject(rows) = &self.rows {
            page.paragraph(rows.sentence());
        }
        page.line("");
        let table = self.table(&style);
        match table.row_count + table.rows_hidden {
            0 => page.line(format!("no {} changed", self.row_word())),
            _ => page.table(&table),
        }
    }
}

/// How much that is of what there was before: for people, as others can work it out.
const PERCENT: Column = Column::share("percent", "+%").hide_priority(3);

fn object_table(rows: &ObjectDiffRows, is_drawn: bool) -> Table<'_> {
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
    let percent = |(_, change): &mut ChangedRow<'_>| percent_words(change.old.bytes, change.new.bytes);
    let mut columns = add_change(columns, keys.bytes, bytes, Unit::Bytes, |amounts| amounts.bytes).add_if(
        is_drawn,
        if rows.by_percent { PERCENT.hide_priority(0) } else { PERCENT },
        percent,
    );
    if rows.retained {
        columns = add_change(columns, RETAINED_KEYS, RETAINED, Unit::Bytes, |amounts| amounts.retained_bytes);
    }
    columns.add(name, |(name, _)| name.as_str()).table(rows.rows.len(), rows.hidden, |at| &rows.rows[at])
}

fn changes_table(rows: &ChangedObjects) -> Table<'_> {
    Columns::new()
        .add(Column::count("new", "New"), |row: &mut &ChangedType| row.new)
        .add(Column::bytes("new_bytes", "New\nbytes"), |row| row.new_bytes)
        .add(Column::count("gone", "Gone"), |row| row.gone)
        .add(Column::bytes("gone_bytes", "Gone\nbytes"), |row| row.gone_bytes)
        .add(Column::text("type", "Type"), |row| row.type_name.as_str())
        .table(rows.types.len(), rows.hidden, |at| &rows.types[at])
}

type ChangedRow<'r> = &'r (String, Change<Amounts>);

/// Before, after, and by how much it grew. On a narrow terminal: what grew is the question, what there was before tells
/// the least.
fn add_change<'r>(
    columns: Columns<'r, ChangedRow<'r>>,
    keys: [&'static str; 3],
    titles: [&'static str; 3],
    unit: Unit,
    amount: fn(&Amounts) -> u64,
) -> Columns<'r, ChangedRow<'r>> {
    let column = |at: usize| Column::new(keys[at], titles[at], unit).hide_priority(2 - at as u8);
    columns
        .add(column(0), move |(_, change)| amount(&change.old))
        .add(column(1), move |(_, change)| amount(&change.new))
        .add(column(2), move |(_, change)| delta(amount(&change.old), amount(&change.new)))
}

const OBJECTS: [&str; 3] = ["Objects\nold", "Objects\nnew", "Objects\n+-"];
const RETAINED: [&str; 3] = ["Retained\nold", "Retained\nnew", "Retained\n+-"];

fn allocation_table(rows: &AllocationDiffRows, is_drawn: bool) -> Table<'_> {
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
        .add_if(is_drawn && rows.is_by_percent(), PERCENT, |row| {
            percent_words(row.total_bytes_old, row.total_bytes_new)
        })
        .add(Column::count("allocations_delta", "Allocations"), |row| row.allocations_delta)
        .add(name, |row| row.name.shortened().into_owned())
        .table(rows.len(), rows.hidden(), |at| rows.get(at))
}
