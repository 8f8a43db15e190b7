//! `heapdump trend`.

use crate::answers::DiffBy;
use crate::answers::figure::PATH;
use crate::answers::trend::{DumpsTrend, TrendRow};
use crate::report::{Column, Columns, Present, Style, Table, TextPage, Unit, escape_controls, shorten_middle};

/// Characters of a dump's name above its column on a terminal.
const LONGEST_TITLE: usize = 20;

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
        self.named(columns, &|_, column| column)
    }

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        page.paragraph(self.headline(|bytes| style.bytes(bytes), |grown| style.bold(grown)));
        page.line("");
        let columns = Columns::new()
            .add(Column::word("trend", "Trend"), |row: &mut Row<'_>| row.trend.name())
            .add_if(!self.is_wide, Column::bytes("first_bytes", "First").hide_priority(2), |row| row.first_bytes)
            .add_if(!self.is_wide, Column::bytes("last_bytes", "Last").hide_priority(1), |row| row.last_bytes)
            .add(Column::bytes("growth_bytes", "Growth"), |row| row.growth_bytes)
            .add(Column::bytes("bytes_per_dump", "Per dump"), |row| row.bytes_per_dump)
            .add(Column::word("steps_up", "Steps").hide_priority(3), |row| row.steps())
            .add_if(style.draws_bars(), Column::word("shape", "Shape").hide_priority(4), |row| row.shape());
        let (names, last) = (self.short_names(), self.dumps.len().saturating_sub(1));
        // The first dump and the last stay longest, those in the middle go first.
        let priority =
            |at: usize| if at == last { 1 } else { 2 + 3 * (at > 0) as u8 + at.min(last - at).min(200) as u8 };
        page.table(&self.named(columns, &|at, column| {
            let title = shorten_middle(&escape_controls(names[at]), LONGEST_TITLE);
            Column { title: title.into(), ..column }.hide_priority(priority(at))
        }));
    }
}

impl DumpsTrend {
    fn named<'t>(&'t self, columns: Columns<'t, Row<'t>>, of_dump: &dyn Fn(usize, Column) -> Column) -> Table<'t> {
        let name = match self.rows.by() {
            DiffBy::Groups(by) => by.figure(),
            _ => PATH,
        };
        let rows = self.rows.as_slice();
        let dumps = self.dumps.iter().enumerate().filter(|_| self.is_wide);
        let columns = dumps.fold(columns, |columns, (at, dump)| {
            let column = of_dump(at, Column::named(&dump.file, Unit::Bytes));
            columns.add(column, move |row: &mut Row<'_>| row.bytes[at])
        });
        columns.add(name, |row| row.name.as_str()).table(rows.len(), self.rows.hidden, |at| &rows[at])
    }
}
