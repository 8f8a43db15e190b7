//! `heapdump diff`.

use super::rows::hidden;
use crate::answers::diff::{DiffColumn, DiffRow, DiffSide, Measure, PERCENT, percent_words};
use crate::answers::figure::PATH;
use crate::answers::{Diff, DiffBy};
use crate::report::{Cell, Columns, Format, Present, Style, Table, TextPage};

impl Present for Diff {
    const COMMAND: &'static str = "diff";

    fn table(&self, style: &Style) -> Table<'_> {
        let is_drawn = style.terminal && style.format == Format::Table;
        let rows = &self.rows;
        let is_of_allocations = rows.are_of_allocations();
        let mut columns = Columns::new();
        for &DiffColumn { figure, of, at } in &rows.columns {
            // On a narrow terminal: what grew is the question, what there was before tells the least.
            let hide_priority = match at {
                DiffSide::Old if rows.by != DiffBy::Objects => 2,
                DiffSide::New if rows.by != DiffBy::Objects => 1,
                _ => 0,
            };
            let is_shown = !is_of_allocations || of == Measure::Bytes || at == DiffSide::Growth;
            columns = columns.add_if(is_shown, hidden(figure, hide_priority), move |row: &mut DiffRow<'_>| match at {
                DiffSide::Old => Cell::from(row.change.old.get(of)),
                DiffSide::New => row.change.new.get(of).into(),
                DiffSide::Growth => row.change.growth(of).into(),
            });
            // For people, as others can work it out.
            let has_percent = is_drawn && of == Measure::Bytes && at == DiffSide::Growth;
            let has_percent = has_percent && (rows.are_by_percent() || !is_of_allocations);
            let hide_priority = if rows.are_by_percent() && !is_of_allocations { 0 } else { 3 };
            columns = columns.add_if(has_percent, hidden(PERCENT, hide_priority), |row| {
                percent_words(row.change.old.bytes, row.change.new.bytes)
            });
        }
        let name = match rows.by {
            DiffBy::Backtraces => PATH.titled("Backtrace"),
            by => by.name_figure(),
        };
        columns.add(name, |row| row.name.shortened()).table(rows.len(), rows.hidden(), |at| rows.get(at))
    }

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        page.paragraph(self.headline(|bytes| style.bytes(bytes), |grown| style.bold(grown)));
        if let Some(objects) = &self.objects {
            page.paragraph(objects.sentence());
        }
        page.line("");
        let table = self.table(&style);
        match table.row_count + table.rows_hidden {
            0 => page.line(format!("no {} changed", self.row_word())),
            _ => page.table(&table),
        }
    }
}
