//! `heapdump list` and `heapdump show`.

use super::shared_columns::{
    CLASS, REFERENCE, TRUNCATED, VALUE, hide_priority, hideable_column, note_inferred_roots, root_words,
    value_for_cell, write_object_heading,
};
use crate::answers::figure::{ID, REFERENCES, RETAINED, SHALLOW, TYPE, TYPE_WORD};
use crate::answers::object::{ReferenceRows, RelatedRow, ShownObjects};
use crate::answers::objects::ListedObject;
use crate::answers::values::{FieldRow, ShownValue};
use crate::answers::{ObjectAnswer, ObjectList, ObjectRow, step_text, type_words};
use crate::report::{
    Column, ColumnUnit, Columns, Present, Style, Table, TextPage, count_with_noun, escape_controls, format_count,
};

impl Present for ObjectList<'_> {
    const COMMAND: &'static str = "list";

    fn table<'t>(&'t self, style: &Style) -> Table<'t> {
        let (rows, is_drawn) = (&self.objects, style.draws_tables());
        let for_people = style.is_for_people();
        let is_column = rows.with_values && !is_drawn;
        let type_column = if is_column { TYPE_WORD } else { TYPE };
        let in_order = |figure, place| hideable_column(figure, hide_priority(figure, Some(rows.order_figure()), place));
        let columns = Columns::new()
            .add(ID, |row: &mut ListedObject<'_>| std::mem::take(&mut row.id))
            .add(in_order(SHALLOW, 3), |row| row.shallow_bytes)
            .add(in_order(RETAINED, 1), |row| row.retained_bytes)
            .add(in_order(REFERENCES, 2), |row| row.references)
            .add_if(
                rows.distance_details.is_some(),
                Column::count("distance", "Distance").with_hide_priority(4),
                |row| row.distance.flatten().map(u64::from),
            )
            .add_if(rows.has_class_objects() && !is_drawn, CLASS, |row| row.class.flatten());
        let add_field = |columns: Columns<'t, _>, (place, path): (usize, &str)| {
            columns.add(Column::named(path, ColumnUnit::Word), move |row: &mut ListedObject<'_>| {
                let value = row.fields.as_ref().and_then(|fields| fields.at(place)).cloned();
                value.map(|value| value_for_cell(value, for_people))
            })
        };
        let columns = rows.field_paths().enumerate().fold(columns, add_field);
        columns
            .add(type_column, move |row| if is_drawn { row.type_text() } else { row.type_name.to_string() })
            .add_if(is_column, VALUE, move |row| {
                row.value.take().flatten().map(|value| value_for_cell(value, for_people))
            })
            .add_if((rows.with_values || rows.field_paths().next().is_some()) && !for_people, TRUNCATED, |row| {
                row.truncated
            })
            .table(
                rows.len(),
                self.found - rows.len(),
                move |at| if is_drawn { rows.row_with_value(at) } else { rows.get(at) },
            )
    }

    fn write_text(&self, page: &mut TextPage<'_>) {
        if self.roots_inferred {
            page.paragraph("Retained sizes rest on inferred roots: the dump has none.");
        }
        let table = self.table(page.style());
        page.draw_table(&table);
    }
}

/// Names of references to one object on its line.
const MAX_REFERENCE_NAMES_PER_LINE: usize = 8;
/// Rows whose ids decide how wide that column is.
const ROWS_SETTING_ID_WIDTH: usize = 4096;

impl Present for ShownObjects<'_> {
    const COMMAND: &'static str = "show";

    fn table(&self, style: &Style) -> Table<'_> {
        let (row_count, row) = self.related_count_and_row_at();
        let objects = self.as_slice();
        let values = objects.iter().any(ObjectAnswer::has_values);
        let for_people = style.is_for_people();
        let has_classes = objects.iter().any(|object| object.has_class_objects);
        let type_column = if values { TYPE_WORD } else { TYPE };
        Columns::new()
            .add_if(objects.len() > 1, Column::word("of", "Of"), |row: &mut RelatedRow| {
                std::mem::take(&mut row.of_object_id)
            })
            .add(Column::word("relation", "Relation"), |row| row.relation)
            .add(ID, |row| row.id.take())
            .add(SHALLOW, |row| row.shallow_bytes)
            .add_if(has_classes, CLASS, |row| row.class.take())
            .add_if(values, REFERENCE, |row| row.reference_name.take())
            .add(type_column, |row| std::mem::take(&mut row.type_or_root_text))
            .add_if(values, VALUE, move |row| row.value.clone().map(|value| value_for_cell(value, for_people)))
            .add_if(values && !style.is_for_people(), TRUNCATED, |row| {
                row.value.as_ref().is_some_and(ShownValue::is_cut)
            })
            .table(row_count, 0, row)
    }

    fn write_text(&self, page: &mut TextPage<'_>) {
        for (number, object) in self.as_slice().iter().enumerate() {
            if number > 0 {
                page.line("\n");
            }
            object.write_text(page);
        }
        note_inferred_roots(self.as_slice().iter().any(|object| object.roots_inferred), page);
    }
}

impl ObjectAnswer<'_> {
    fn write_text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        let row = &self.object.row;
        write_object_heading(row, page);
        page.line(format!("  shallow    {}", style.bytes_in_column(row.shallow_bytes)));
        let retained = self.object.retained_bytes.map(|bytes| style.bytes_in_column(bytes));
        page.paragraph(format!("  retained   {}", retained.as_deref().unwrap_or("- (no strong root reaches it)")));
        if let Some(location) = &self.object.location {
            page.line(style.fitted_row("  location   ", &[], &location.text()));
        }
        if let Some(length) = self.object.length {
            page.line(format!("  length     {}", format_count(length)));
        }
        if let Some((number, name)) = &self.section {
            page.line(style.fitted_row(&format!("  section    {number} "), &[], name));
        }
        match &self.dominator {
            Some(dominator) => page.line(object_line("  dominator  ", dominator, 0, "", &style)),
            None if self.reachability.is_reached() => page.paragraph("  dominator  none: no single object holds it"),
            None => {}
        }
        for root in &self.roots {
            page.paragraph_breaking_words(format!("  root       {}", root_words(root)));
        }
        if let Some(frames) = &self.object.backtrace {
            page.line(format!("\n{}", style.bold("Allocated by")));
            frames.iter().for_each(|frame| page.line(style.fitted_row("  ", &[], frame)));
        }
        if let Some(elements) = self.object.elements.as_ref().filter(|elements| !elements.is_empty()) {
            let words: Vec<String> = elements.iter().map(ShownValue::words).collect();
            let all = self.object.length.filter(|all| *all > elements.len() as u64);
            let which =
                all.map_or(String::new(), |all| format!(", the first {} of {}", elements.len(), format_count(all)));
            page.line(format!("\n{}{which}", style.bold("Elements")));
            page.paragraph(escape_controls(&format!("  {}", words.join(", "))));
        }
        if let Some(entries) = &self.entries {
            page.line(format!("\n{} ({})", style.bold("Entries"), entries.figures.words()));
            for entry in &entries.rows {
                let key = entry.key.as_ref().map_or(String::new(), |key| format!("{} → ", key.words()));
                let retained = entry.value.object().and_then(|(_, retained)| retained);
                let retained = retained.map(|bytes| format!(" (retained {})", style.bytes_in_column(bytes)));
                let line = format!("{key}{}{}", entry.value.words(), retained.unwrap_or_default());
                page.line(style.fitted_row("  ", &[], &line));
            }
            let hidden = entries.figures.entry_count.saturating_sub(entries.rows.len() as u64);
            if hidden > 0 {
                page.line(format!("  {} more; -n 0 shows all", format_count(hidden)));
            }
        }
        for fields in self.fields.iter().filter(|fields| !fields.is_empty()) {
            page.line(format!("\n{}", style.bold("Fields")));
            page.draw_table(
                &Columns::new()
                    .add(Column::word("name", "Field"), |field: &mut FieldRow| field.label())
                    .add(TYPE_WORD, |field| field.type_name)
                    .add(VALUE, |field| field.words())
                    .table(fields.len(), 0, |at| fields[at].clone()),
            );
        }
        write_references("References", &self.references, page);
        write_references("Referrers", &self.referrers, page);
        if self.referrers.len() < self.referrers.total() {
            write_type_counts("Referrers by type", &self.referrers, page);
        }
    }
}

fn write_references(title: &str, rows: &ReferenceRows<'_>, page: &mut TextPage<'_>) {
    let style = *page.style();
    page.line(format!("\n{} ({})", style.bold(title), rows.total()));
    let width = (0..rows.len().min(ROWS_SETTING_ID_WIDTH)).map(|row| rows.get(row).id.len()).max().unwrap_or(0);
    let mut at = 0;
    while at < rows.len() {
        let weak = if rows.is_weak(at) { "(weak) " } else { "" };
        // References to one object, one behind the other, are one line.
        let repeats = rows.repeat_count(at);
        let mut names: Vec<&str> =
            (at..at + repeats.min(MAX_REFERENCE_NAMES_PER_LINE)).filter_map(|at| rows.reference_name(at)).collect();
        names.dedup();
        names.extend((repeats > MAX_REFERENCE_NAMES_PER_LINE && !names.is_empty()).then_some("..."));
        let name = if names.is_empty() { String::new() } else { step_text(Some(&names.join(", ")), "") };
        let times = if repeats > 1 { format!("×{} ", format_count(repeats as u64)) } else { String::new() };
        page.line(object_line("  ", &rows.row_with_value(at), width, &format!("{weak}{times}{name}"), &style));
        at += repeats;
    }
    if at < rows.total() {
        page.line(format!("  {} more; -n 0 shows all", format_count((rows.total() - at) as u64)));
    }
}

/// Of more objects than are shown one by one: their types.
fn write_type_counts(title: &str, rows: &ReferenceRows<'_>, page: &mut TextPage<'_>) {
    let style = *page.style();
    page.line(format!("\n{}", style.bold(title)));
    let types = rows.counts_by_type();
    for (count, name) in types.iter().take(rows.len()) {
        page.line(style.fitted_row(&format!("  {:>10}  ", format_count(*count)), &[], &type_words(name)));
    }
    if rows.len() < types.len() {
        page.line(format!("  {}", count_with_noun((types.len() - rows.len()) as u64, "more types")));
    }
}

fn object_line(start: &str, row: &ObjectRow, width: usize, name: &str, style: &Style) -> String {
    let figures = [format!("{:>10}", style.bytes_in_column(row.shallow_bytes))];
    style.fitted_row(&format!("{start}{:<width$}  ", row.id), &figures, &format!("{name}{}", row.type_text()))
}
