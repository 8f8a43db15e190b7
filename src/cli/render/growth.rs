//! What grew: `heapdump diff` and `heapdump trend`.

use super::rows::hidden;
use crate::answers::diff::{
    ALLOCATIONS_DELTA, AllocationDiffRow, AllocationDiffRows, Amounts, Change, ChangedObjects, ChangedType,
    DiffFigures, DiffRows, GONE, GONE_BYTES, NEW, NEW_BYTES, ObjectDiffRows, PERCENT, RETAINED, TOTAL_DELTA, TOTAL_NEW,
    TOTAL_OLD, delta, percent_words,
};
use crate::answers::figure::{PATH, TYPE};
use crate::answers::trend::{DumpsTrend, TrendRow};
use crate::answers::{Diff, DiffBy, Figure};
use crate::names::shorten_middle;
use crate::report::{Cell, Column, Columns, Format, Present, Style, Table, TextPage, Unit, escape_controls};

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

/// Characters of a dump's name above its column on a terminal.
const LONGEST_TITLE: usize = 20;

type TrendCells<'r> = &'r TrendRow;

impl Present for DumpsTrend {
    const COMMAND: &'static str = "trend";

    fn table(&self, style: &Style) -> Table<'_> {
        self.columns(style, false, &|_, column| column)
    }

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        page.paragraph(self.headline(|bytes| style.bytes(bytes), |grown| style.bold(grown)));
        page.line("");
        let (names, last) = (self.short_names(), self.dumps.len().saturating_sub(1));
        // The first dump and the last stay longest, those in the middle go first.
        let priority =
            |at: usize| if at == last { 1 } else { 2 + 3 * (at > 0) as u8 + at.min(last - at).min(200) as u8 };
        page.table(&self.columns(&style, true, &|at, column| {
            let title = shorten_middle(&escape_controls(names[at]), LONGEST_TITLE);
            Column { title: title.into(), ..column }.hide_priority(priority(at))
        }));
    }
}

impl DumpsTrend {
    /// A column for each figure and, where that is wanted, for each dump; in text words for people.
    fn columns<'t>(&'t self, style: &Style, is_text: bool, of_dump: &dyn Fn(usize, Column) -> Column) -> Table<'t> {
        let trend = || Column::word("trend", "Trend");
        let has_ends = !is_text || !self.is_wide;
        let steps = if is_text { Column::word } else { Column::count }("steps_up", "Steps").hide_priority(3);
        let columns = Columns::new()
            .add_if(is_text, trend(), |row: &mut TrendCells<'_>| row.trend.name())
            .add_if(has_ends, Column::bytes("first_bytes", "First").hide_priority(2), |row| row.first_bytes)
            .add_if(has_ends, Column::bytes("last_bytes", "Last").hide_priority(1), |row| row.last_bytes)
            .add(Column::bytes("growth_bytes", "Growth"), |row| row.growth_bytes)
            .add(Column::bytes("bytes_per_dump", "Per dump"), |row| row.bytes_per_dump)
            .add(steps, move |row| if is_text { Cell::text(row.steps()) } else { row.steps_up.into() })
            .add_if(!is_text, trend(), |row| row.trend.name())
            .add_if(is_text && style.draws_bars(), Column::word("shape", "Shape").hide_priority(4), |row| row.shape());
        let name = match self.rows.by() {
            DiffBy::Groups(by) => by.figure(),
            _ => PATH,
        };
        let rows = self.rows.as_slice();
        let dumps = self.dumps.iter().enumerate().filter(|_| self.is_wide);
        let columns = dumps.fold(columns, |columns, (at, dump)| {
            let column = of_dump(at, Column::named(&dump.file, Unit::Bytes));
            columns.add(column, move |row: &mut TrendCells<'_>| row.bytes[at])
        });
        columns.add(name, |row| row.name.as_str()).table(rows.len(), self.rows.hidden, |at| &rows[at])
    }
}
