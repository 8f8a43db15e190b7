//! `heapdump trend`.

use super::histogram::name_column;
use crate::answers::DiffBy;
use crate::answers::trend::{DumpsTrend, TrendRow};
use crate::report::{Column, Columns, Present, Style, Table, TextPage, Unit};

type Row<'r> = &'r TrendRow;

impl Present for DumpsTrend {
    const COMMAND: &'static str = "trend";

    fn table(&self, _: &Style) -> Table<'_> {
        let columns = Columns::new()
            .add(Column::bytes("first_bytes", "First"), |row: &mut Row<'_>| row.first_bytes)
            .add(Column::bytes("last_bytes", "Last"), |row| row.last_bytes)
            .add(Column::bytes("growth_bytes", "Growth"), |row| row.growth_bytes)
            .add(Column::bytes("bytes_per_dump", "Per dump"), |row| row.bytes_per_dump)
            .add(Column::count("steps_up", "Steps"), |row| row.steps_up)
            .add(Column::word("trend", "Trend"), |row| row.trend.name());
        self.named(columns)
    }

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        page.paragraph(self.headline(|bytes| style.bytes(bytes), |grown| style.bold(grown)));
        page.line("");
        let columns = Columns::new()
            .add(Column::word("trend", "Trend"), |row: &mut Row<'_>| row.trend.name())
            .add(Column::bytes("first_bytes", "First").hide_priority(2), |row| row.first_bytes)
            .add(Column::bytes("last_bytes", "Last").hide_priority(1), |row| row.last_bytes)
            .add(Column::bytes("growth_bytes", "Growth"), |row| row.growth_bytes)
            .add(Column::bytes("bytes_per_dump", "Per dump"), |row| row.bytes_per_dump)
            .add(Column::word("steps_up", "Steps").hide_priority(3), |row| row.steps())
            .add_if(style.draws_bars(), Column::word("shape", "Shape").hide_priority(4), |row| row.shape());
        page.table(&self.named(columns));
    }
}

impl DumpsTrend {
    fn named<'t>(&'t self, columns: Columns<'t, Row<'t>>) -> Table<'t> {
        let name = match self.rows.by() {
            DiffBy::Groups(by) => name_column(by),
            _ => Column::text("path", "Path by type"),
        };
        let rows = self.rows.as_slice();
        let dumps = self.dumps.iter().enumerate().filter(|_| self.is_wide);
        let columns = dumps.fold(columns, |columns, (at, dump)| {
            columns.add(Column::named(&dump.file, Unit::Bytes), move |row: &mut Row<'_>| row.bytes[at])
        });
        columns.add(name, |row| row.name.as_str()).table(rows.len(), self.rows.hidden, |at| &rows[at])
    }
}
