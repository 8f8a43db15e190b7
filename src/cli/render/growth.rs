//! Growth: `heapdump diff` and `heapdump trend`.

use super::shared_columns::{hideable_column, type_words_if};
use crate::answers::diff::{DiffColumn, DiffRow, DiffValue, GROWTH_PERCENT, Measure, growth_percent_words};
use crate::answers::figure::PATH;
use crate::answers::trend::{DumpsTrend, TrendRow, hours_text, rounded_hours};
use crate::answers::{Diff, DiffBy};
use crate::names::shorten_middle;
use crate::report::{Cell, Column, ColumnUnit, Columns, Present, Style, Table, TextPage, escape_controls};

impl Present for Diff {
    const COMMAND: &'static str = "diff";

    fn table(&self, style: &Style) -> Table<'_> {
        let is_drawn = style.draws_tables();
        let rows = &self.rows;
        let is_of_allocations = rows.are_of_allocations();
        let mut columns = Columns::new();
        for &DiffColumn { figure, measure, value } in &rows.columns {
            // On a narrow terminal: what grew is the question, what there was before tells the least.
            let hide_priority = match value {
                DiffValue::Old if rows.by != DiffBy::Objects => 2,
                DiffValue::New if rows.by != DiffBy::Objects => 1,
                _ => 0,
            };
            let is_shown = !is_of_allocations || measure != Measure::Count || value == DiffValue::Growth;
            columns = columns.add_if(is_shown, hideable_column(figure, hide_priority), move |row: &mut DiffRow<'_>| {
                match value {
                    DiffValue::Old => Cell::from(row.change.old.get(measure)),
                    DiffValue::New => row.change.new.get(measure).into(),
                    DiffValue::Growth => row.change.growth(measure).into(),
                }
            });
            // For people, as others can work it out.
            let has_percent = is_drawn && measure == Measure::Bytes && value == DiffValue::Growth;
            let has_percent = has_percent && (rows.are_ordered_by_percent() || !is_of_allocations);
            let hide_priority = if rows.are_ordered_by_percent() && !is_of_allocations { 0 } else { 3 };
            columns = columns.add_if(has_percent, hideable_column(GROWTH_PERCENT, hide_priority), |row| {
                growth_percent_words(row.change.old.bytes, row.change.new.bytes)
            });
        }
        let name = match rows.by {
            DiffBy::Backtraces => PATH.with_title("Backtrace"),
            by => by.name_figure(),
        };
        columns.add(name, move |row| type_words_if(is_drawn, row.name.shortened())).table(
            rows.len(),
            rows.rows_hidden(),
            |at| rows.get(at),
        )
    }

    fn write_text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        page.paragraph(self.headline(|bytes| style.bytes_in_sentence(bytes), |grown| style.bold(grown)));
        if let Some(objects) = &self.objects {
            page.paragraph(objects.sentence());
        }
        page.line("");
        let table = self.table(&style);
        match table.row_count + table.rows_hidden {
            0 => page.line(format!("no {} changed", self.row_word())),
            _ => page.draw_table(&table),
        }
    }
}

/// Characters of a dump's name above its column on a terminal.
const MAX_DUMP_TITLE_CHARACTERS: usize = 20;

type TrendRowRef<'r> = &'r TrendRow;

impl Present for DumpsTrend {
    const COMMAND: &'static str = "trend";

    fn table(&self, style: &Style) -> Table<'_> {
        self.trend_table(style, false, &|_, column| column)
    }

    fn write_text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        page.paragraph(self.headline(|bytes| style.bytes_in_sentence(bytes), |grown| style.bold(grown)));
        if let Some(pace) = self.pace_sentence(|bytes| style.bytes_in_sentence(bytes)) {
            page.paragraph(pace);
        }
        page.line("");
        let (names, last) = (self.short_file_names(), self.dumps.len().saturating_sub(1));
        // The first dump and the last stay longest, those in the middle go first.
        let priority =
            |at: usize| if at == last { 1 } else { 2 + 3 * (at > 0) as u8 + at.min(last - at).min(200) as u8 };
        page.draw_table(&self.trend_table(&style, true, &|at, column| {
            let title = shorten_middle(&escape_controls(names[at]), MAX_DUMP_TITLE_CHARACTERS);
            Column { title: title.into(), ..column }.with_hide_priority(priority(at))
        }));
        self.causes.iter().for_each(|cause| page.paragraph(format!("\n{}", escape_controls(cause))));
    }
}

impl DumpsTrend {
    /// A column for each figure and, where that is wanted, for each dump; in text words for people.
    fn trend_table<'t>(&'t self, style: &Style, is_text: bool, of_dump: &dyn Fn(usize, Column) -> Column) -> Table<'t> {
        let trend = || Column::word("trend", "Trend");
        let has_ends = !is_text || !self.is_wide;
        let time = self.slope_time();
        let (word, in_hour) = time.filter(|_| is_text).unwrap_or(("hour", 1));
        let titled = |column: Column, title: String| Column { title: title.into(), ..column };
        let by_time = move |slope: Option<i64>| slope.map_or(Cell::Missing, |slope| Cell::Signed(slope / in_hour));
        let steps = if is_text { Column::word } else { Column::count }("steps_up", "Steps").with_hide_priority(3);
        let columns = Columns::new()
            .add_if(is_text, trend(), |row: &mut TrendRowRef<'_>| row.trend.name())
            .add_if(has_ends, Column::bytes("first_bytes", "First").with_hide_priority(2), |row| row.first_bytes)
            .add_if(has_ends, Column::bytes("last_bytes", "Last").with_hide_priority(1), |row| row.last_bytes)
            .add(Column::bytes("growth_bytes", "Growth"), |row| row.growth_bytes)
            .add_if(!is_text || time.is_none(), Column::bytes("bytes_per_dump", "Per dump"), |row| row.bytes_per_dump)
            .add_if(time.is_some(), titled(Column::bytes("bytes_per_hour", ""), format!("Per {word}")), move |row| {
                by_time(row.bytes_per_hour)
            })
            .add_if(
                time.is_some(),
                titled(Column::count("objects_per_hour", ""), format!("Objects/{word}")).with_hide_priority(5),
                move |row| by_time(row.objects_per_hour),
            )
            .add_if(self.has_size_limit(), Column::word("hours_to_limit", "Reached in"), move |row| {
                match row.hours_to_limit {
                    Some(hours) if is_text => Cell::text(hours_text(hours)),
                    Some(hours) => Cell::JsonLiteral(format!("{}", rounded_hours(hours))),
                    None => Cell::Missing,
                }
            })
            .add(steps, move |row| if is_text { Cell::text(row.steps_up_text()) } else { row.steps_up.into() })
            .add_if(!is_text, trend(), |row| row.trend.name())
            .add_if(is_text && style.draws_bars(), Column::word("shape", "Shape").with_hide_priority(4), |row| {
                row.sparkline()
            });
        let name = match self.rows.by() {
            DiffBy::Groups(by) => by.figure(),
            _ => PATH,
        };
        let rows = self.rows.as_slice();
        let dumps = self.dumps.iter().enumerate().filter(|_| self.is_wide);
        let columns = dumps.fold(columns, |columns, (at, dump)| {
            let column = of_dump(at, Column::named(&dump.file, ColumnUnit::Bytes));
            columns.add(column, move |row: &mut TrendRowRef<'_>| row.bytes[at])
        });
        columns.add(name, move |row| type_words_if(is_text, row.name.as_str().into())).table(
            rows.len(),
            self.rows.rows_hidden,
            |at| &rows[at],
        )
    }
}
