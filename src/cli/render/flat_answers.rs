//! Tables: `heapdump stats`, `info`, `strings`, `waste`.

use super::shared_columns::{TRUNCATED, group_name, hide_priority, hideable_column};
use crate::answers::figure::{
    ALLOCATED_BYTES, ALLOCATIONS, BYTES, COPIES, ESTIMATED_OBJECTS, EXAMPLE, FILE, FORMAT, KIND, LEVEL, OBJECTS,
    PROBLEMS, REACHABLE_OBJECTS, SECTIONS, SHALLOW, TYPE_WORD, WASTED_BYTES,
};
use crate::answers::histogram::{Histogram, HistogramRow};
use crate::answers::info::{Info, InfoOfFile, InfoOfFiles};
use crate::answers::secrets::SecretRow;
use crate::answers::strings::TextRow;
use crate::answers::waste::{FlatWasteRow, WasteKindRow, WasteRow};
use crate::answers::{Figure, Secrets, StringsAnswer, Waste};
use crate::report::{
    Column, ColumnUnit, Columns, Outline, Present, Style, Table, TextPage, count_with_noun, escape_controls,
};

/// Figures of a class with all that extend it.
const WITH_SUBCLASSES: [Figure; 2] = [
    Figure::count("objects_with_subclasses", "With subclasses #"),
    Figure::bytes("shallow_bytes_with_subclasses", "With subclasses", "shallow_bytes_with_subclasses"),
];

impl Present for Histogram {
    const COMMAND: &'static str = "stats";

    fn table(&self, style: &Style) -> Table<'_> {
        let rows = self.rows.as_slice();
        let style = *style;
        let module = Column::word("module", "Module").with_hide_priority(1);
        let location = Column::word("location", "Constructor").with_hide_priority(1);
        let columns = self.figures().into_iter().fold(Columns::new(), |columns, figure| {
            let place = match figure {
                REACHABLE_OBJECTS => 3,
                ESTIMATED_OBJECTS => 2,
                _ => 0,
            };
            columns.add(
                hideable_column(figure, hide_priority(figure, self.order, place)),
                move |row: &mut &HistogramRow| row.figure(figure),
            )
        });
        let is_tree = rows.first().is_some_and(|row| row.class_place.is_some());
        let name_figure = self.group_by.figure();
        let name_figure = if is_tree { name_figure.with_title("Class") } else { name_figure };
        let place = |row: &mut &HistogramRow| row.class_place.as_deref().copied().unwrap_or_default();
        let columns = columns
            .add_if(is_tree, hideable_column(WITH_SUBCLASSES[0], 2), move |row| place(row).objects_with_subclasses)
            .add_if(is_tree, WITH_SUBCLASSES[1], move |row| place(row).shallow_bytes_with_subclasses)
            .add_if(is_tree && !style.is_for_people(), LEVEL, move |row| place(row).level);
        let fields = rows.iter().find_map(|row| row.field_figures.as_deref());
        let figures = fields.into_iter().flat_map(|fields| &fields.figures).enumerate();
        let columns = figures.fold(columns, |columns, (at, figure)| {
            let name = format!("{}({})", figure.function, figure.path);
            columns.add(Column::named(&name, ColumnUnit::Count), move |row: &mut &HistogramRow| {
                row.field_figures.as_ref().and_then(|fields| fields.figures[at].number)
            })
        });
        let without = fields.into_iter().flat_map(|fields| &fields.objects_without).enumerate();
        let columns = without.fold(columns, |columns, (at, (path, _))| {
            let column = Column::named(&format!("nulls({path})"), ColumnUnit::Count).with_hide_priority(4);
            columns.add(column, move |row: &mut &HistogramRow| {
                row.field_figures.as_ref().map(|fields| fields.objects_without[at].1)
            })
        });
        columns
            .add_if(rows.iter().any(|row| row.module.is_some()), module, |row| {
                row.module.as_deref().unwrap_or("(none)")
            })
            .add_if(rows.iter().any(|row| row.location.is_some()), location, |row| {
                row.location.map_or(String::new(), |location| location.text())
            })
            .add(name_figure, move |row| {
                // A section without a name.
                Some(group_name(row, &style)).filter(|name| !style.is_for_people() || !name.is_empty())
            })
            .table(rows.len(), self.rows_hidden, |at| &rows[at])
    }

    fn write_text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        for (size, rest) in self.sentences(|bytes| style.bytes_in_sentence(bytes)) {
            page.paragraph(format!("{}{}", style.bold(&size), escape_controls(&rest)));
        }
        page.line("");
        let table = self.table(&style);
        let places = self.rows.as_slice().iter().map_while(|row| row.class_place.as_ref());
        match places.map(|place| (place.level, place.hidden_after as u64)).collect::<Vec<_>>() {
            places if places.is_empty() => page.draw_table(&table),
            places => page.draw_tree(&Outline::of_table(&table, places, &style)),
        }
    }
}

impl Present for Info {
    const COMMAND: &'static str = "info";

    fn table(&self, _: &Style) -> Table<'_> {
        let rows = self.fields();
        Columns::new()
            .add(Column::word("field", "Field"), |row: &mut (String, String)| std::mem::take(&mut row.0))
            .add(Column::text("value", "Value"), |row| std::mem::take(&mut row.1))
            .table(rows.len(), 0, move |at| rows[at].clone())
    }

    fn write_text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        self.lines(|bytes| style.bytes_in_sentence(bytes))
            .iter()
            .for_each(|(field, text)| page.label_and_value(field, text));
    }
}

/// The table, with files' names from this byte on.
fn info_of_files_table(answer: &InfoOfFiles, name_start: usize) -> Table<'_> {
    let with_allocations = answer.files.iter().any(|file| file.info.allocations_and_bytes().is_some());
    let with_objects = answer.files.iter().any(|file| file.info.objects_and_bytes().is_some());
    Columns::new()
        .add(FORMAT, |row: &mut &InfoOfFile| row.info.format().format.as_str())
        // A version without what it means: `B` of `B (J9 2.6 and later, OpenJ9)`.
        .add(Column::word("version", "Version").with_hide_priority(2), |row| {
            row.info.format().version.as_deref().map(|text| text.split(" (").next().unwrap_or(text))
        })
        .add(hideable_column(SECTIONS, 1), |row| row.figure(SECTIONS))
        .add_if(with_objects, OBJECTS, |row| row.figure(OBJECTS))
        .add_if(with_objects, SHALLOW, |row| row.figure(SHALLOW))
        .add_if(with_allocations, hideable_column(ALLOCATIONS, 1), |row| row.figure(ALLOCATIONS))
        .add_if(with_allocations, ALLOCATED_BYTES.with_title("Allocated"), |row| row.figure(ALLOCATED_BYTES))
        .add(PROBLEMS, |row| row.figure(PROBLEMS))
        .add(FILE, move |row| &row.file[name_start..])
        .table(answer.files.len(), answer.rows_hidden, |at| &answer.files[at])
}

impl Present for InfoOfFiles {
    const COMMAND: &'static str = "info";

    fn table(&self, _: &Style) -> Table<'_> {
        info_of_files_table(self, 0)
    }

    /// Narrow terminals have room for the part of a path that differs, not for the shared folder.
    fn write_text(&self, page: &mut TextPage<'_>) {
        let folder = self.shared_folder();
        if !folder.is_empty() {
            page.line(format!("in {}", escape_controls(folder)));
        }
        page.draw_table(&info_of_files_table(self, folder.len()));
    }
}

/// Holders in a line for people.
const MAX_HOLDERS_PER_LINE: usize = 3;

impl Present for StringsAnswer<'_> {
    const COMMAND: &'static str = "strings";

    fn table(&self, style: &Style) -> Table<'_> {
        let (rows, is_drawn) = (&self.strings, style.draws_tables());
        let style = *style;
        let holders = || if is_drawn { Column::text } else { Column::word }("holders", "Held by");
        Columns::new()
            .add(COPIES, |row: &mut TextRow| row.copies)
            .add(hideable_column(BYTES, hide_priority(BYTES, self.order, 1)), |row| row.bytes)
            .add(WASTED_BYTES, |row| row.wasted_bytes)
            .add(hideable_column(EXAMPLE, 2), |row| std::mem::take(&mut row.example))
            .add_if(rows.held_by.is_some() && !is_drawn, holders(), |row| row.holders_in_words())
            .add(Column::text("text", "Text"), move |row| match is_drawn {
                true => row.words(),
                false if style.is_for_people() => row.in_table(),
                false => std::mem::take(&mut row.text),
            })
            .add_if(rows.held_by.is_some() && is_drawn, holders(), |row| row.few_holders_in_words(MAX_HOLDERS_PER_LINE))
            .add_if(!style.is_for_people(), TRUNCATED, |row| row.truncated)
            .table(rows.len(), self.found - rows.len(), |at| rows.get(at))
    }

    fn write_text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        let totals = &self.totals;
        page.paragraph(format!(
            "{} in {}, {}; {} would be freed if each text were there once.",
            style.bold(&style.bytes_in_sentence(totals.bytes)),
            count_with_noun(totals.strings, "strings"),
            count_with_noun(totals.distinct, "different texts"),
            style.bold(&style.bytes_in_sentence(totals.wasted_bytes)),
        ));
        if let Some(matching) = &self.matching {
            page.paragraph(format!(
                "{} with {} match: {}.",
                count_with_noun(matching.strings, "strings"),
                count_with_noun(matching.distinct, "different texts"),
                style.bytes_in_sentence(matching.bytes)
            ));
        }
        page.line("");
        page.draw_table(&self.table(&style));
    }
}

impl Present for Secrets {
    const COMMAND: &'static str = "strings";

    fn table(&self, _: &Style) -> Table<'_> {
        let rows = &self.secrets;
        Columns::new()
            .add(KIND, |row: &mut &SecretRow| row.kind.as_str())
            .add(COPIES, |row| row.copies)
            .add(EXAMPLE, |row| row.example.as_str())
            .add(Column::word("masked", "Secret"), |row| row.masked.as_str())
            .add(Column::text("holder", "Held by"), |row| row.holder.as_deref())
            .table(rows.len(), self.found - rows.len(), |at| &rows[at])
    }
}

impl Present for Waste {
    const COMMAND: &'static str = "waste";

    fn table(&self, _: &Style) -> Table<'_> {
        let rows = self.flat_rows();
        let hidden = self.kinds.iter().map(|kind| kind.rows_hidden).sum();
        let columns = Columns::new()
            .add(KIND, |flat: &mut FlatWasteRow<'_>| flat.kind.name())
            .add(OBJECTS, |flat| flat.row.objects)
            .add(WASTED_BYTES, |flat| flat.row.wasted_bytes)
            .add(EXAMPLE, |flat| flat.row.example.as_str());
        let columns = match rows.iter().any(|flat| flat.row.bytes_each.is_some()) {
            true => columns.add(Column::bytes("bytes_each", "Each"), |flat| flat.row.bytes_each),
            false => columns,
        };
        columns
            .add(TYPE_WORD, |flat| flat.row.type_name.as_str())
            .add(Column::word("holder", "Holder"), |flat| flat.row.holder.as_deref())
            .add(Column::text("reference", "Reference"), |flat| flat.row.reference.as_deref())
            .table(rows.len(), hidden, move |at| rows[at])
    }

    fn write_text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        let (wasted, share) = (style.bytes_in_sentence(self.totals.wasted_bytes), self.totals.share * 100.0);
        let heap = style.bytes_in_sentence(self.totals.heap_bytes);
        page.paragraph(format!("{} of {heap} is wasted ({share:.1} %).\n", style.bold(&wasted)));
        page.draw_table(
            &Columns::new()
                .add(WASTED_BYTES, |kind: &mut &WasteKindRow| kind.wasted_bytes)
                .add(OBJECTS, |kind| kind.objects)
                .add(KIND, |kind| kind.kind.name())
                .add(Column::text("meaning", "Meaning"), |kind| kind.kind.words())
                .table(self.kinds.len(), 0, |at| &self.kinds[at]),
        );
        for kind in self.kinds.iter().filter(|kind| !kind.rows.is_empty()) {
            let (name, bytes) = (style.bold(kind.kind.name()), style.bytes_in_sentence(kind.wasted_bytes));
            page.paragraph(format!(
                "\n{name} ({}): {bytes} in {}",
                kind.kind.words(),
                count_with_noun(kind.objects, "objects")
            ));
            page.draw_table(
                &Columns::new()
                    .add(WASTED_BYTES, |row: &mut &WasteRow| row.wasted_bytes)
                    .add(OBJECTS, |row| row.objects)
                    .add(hideable_column(EXAMPLE, 1), |row| row.example.as_str())
                    .add(TYPE_WORD, |row| row.type_with_size())
                    .add(Column::text("held_by", "Held by"), |row| row.short_holder_text())
                    .table(kind.rows.len(), kind.rows_hidden, |at| &kind.rows[at]),
            );
        }
    }
}
