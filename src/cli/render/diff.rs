//! `heapdump diff`.

use super::rows::hidden;
use crate::answers::diff::{
    ALLOCATIONS_DELTA, AllocationDiffRow, AllocationDiffRows, Amounts, Change, ChangedObjects, ChangedType,
    DiffFigures, DiffRows, GONE, GONE_BYTES, NEW, NEW_BYTES, ObjectDiffRows, PERCENT, RETAINED, TOTAL_DELTA, TOTAL_NEW,
    TOTAL_OLD, delta, percent_words,
};
use crate::answers::figure::{PATH, TYPE};
use crate::answers::{Diff, DiffBy, Figure};
use crate::report::{Columns, Format, Present, Style, Table, TextPage};

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

fn object_table(rows: &ObjectDiffRows, is_drawn: bool) -> Table<'_> {
    let DiffFigures { count, bytes, name, .. } = rows.by.figures();
    let columns = add_change(Columns::new(), count, |amounts| amounts.count);
    // For people, as others can work it out.
    let percent = hidden(PERCENT, if rows.by_percent { 0 } else { 3 });
    let mut columns = add_change(columns, bytes, |amounts| amounts.bytes)
        .add_if(is_drawn, percent, |(_, change)| percent_words(change.old.bytes, change.new.bytes));
    if rows.retained {
        columns = add_change(columns, RETAINED, |amounts| amounts.retained_bytes);
    }
    columns.add(name, |(name, _)| name.as_str()).table(rows.rows.len(), rows.hidden, |at| &rows.rows[at])
}

fn changes_table(rows: &ChangedObjects) -> Table<'_> {
    Columns::new()
        .add(NEW, |row: &mut &ChangedType| row.new)
        .add(NEW_BYTES, |row| row.new_bytes)
        .add(GONE, |row| row.gone)
        .add(GONE_BYTES, |row| row.gone_bytes)
        .add(TYPE, |row| row.type_name.as_str())
        .table(rows.types.len(), rows.hidden, |at| &rows.types[at])
}

type ChangedRow<'r> = &'r (String, Change<Amounts>);

/// Before, after, and by how much it grew. On a narrow terminal: what grew is the question, what there was before tells
/// the least.
fn add_change<'r>(
    columns: Columns<'r, ChangedRow<'r>>,
    [old, new, growth]: [Figure; 3],
    amount: fn(&Amounts) -> u64,
) -> Columns<'r, ChangedRow<'r>> {
    columns
        .add(hidden(old, 2), move |(_, change)| amount(&change.old))
        .add(hidden(new, 1), move |(_, change)| amount(&change.new))
        .add(growth, move |(_, change)| delta(amount(&change.old), amount(&change.new)))
}

fn allocation_table(rows: &AllocationDiffRows, is_drawn: bool) -> Table<'_> {
    let name = if rows.by == DiffBy::Backtraces { PATH.titled("Backtrace") } else { TYPE };
    Columns::new()
        .add(hidden(TOTAL_OLD, 2), |row: &mut AllocationDiffRow<'_>| row.total_bytes_old)
        .add(hidden(TOTAL_NEW, 1), |row| row.total_bytes_new)
        .add(TOTAL_DELTA, |row| row.total_bytes_delta)
        .add_if(is_drawn && rows.is_by_percent(), hidden(PERCENT, 3), |row| {
            percent_words(row.total_bytes_old, row.total_bytes_new)
        })
        .add(ALLOCATIONS_DELTA, |row| row.allocations_delta)
        .add(name, |row| row.name.shortened().into_owned())
        .table(rows.len(), rows.hidden(), |at| rows.get(at))
}
