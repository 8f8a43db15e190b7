//! `heapdump info`: of one file a field and its value a line; of several a row for each file.

use super::rows::hidden;
use crate::answers::figure::{ALLOCATIONS, FILE, FORMAT, OBJECTS, PROBLEMS, SECTIONS, SHALLOW, TOTAL};
use crate::answers::info::{Info, InfoOfFile, InfoOfFiles};
use crate::report::{Column, Columns, Present, Style, Table, TextPage, escape_controls};

impl Present for Info {
    const COMMAND: &'static str = "info";

    fn table(&self, _: &Style) -> Table<'_> {
        let rows = self.fields();
        Columns::new()
            .add(Column::word("field", "Field"), |row: &mut (String, String)| std::mem::take(&mut row.0))
            .add(Column::text("value", "Value"), |row| std::mem::take(&mut row.1))
            .table(rows.len(), 0, move |at| rows[at].clone())
    }

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        self.lines(|bytes| style.bytes(bytes)).iter().for_each(|(field, text)| page.field(field, text));
    }
}

/// The table, with files' names from this byte on.
fn table_from(answer: &InfoOfFiles, name_start: usize) -> Table<'_> {
    let with_allocations = answer.files.iter().any(|file| file.info.allocated().is_some());
    let with_objects = answer.files.iter().any(|file| file.info.objects().is_some());
    Columns::new()
        .add(FORMAT, |row: &mut &InfoOfFile| row.info.format().format.as_str())
        // A version without what it means: `B` of `B (J9 2.6 and later, OpenJ9)`.
        .add(Column::word("version", "Version").hide_priority(2), |row| {
            row.info.format().version.as_deref().map(|text| text.split(" (").next().unwrap_or(text))
        })
        .add(hidden(SECTIONS, 1), |row| row.figure(SECTIONS))
        .add_if(with_objects, OBJECTS, |row| row.figure(OBJECTS))
        .add_if(with_objects, SHALLOW, |row| row.figure(SHALLOW))
        .add_if(with_allocations, hidden(ALLOCATIONS, 1), |row| row.figure(ALLOCATIONS))
        .add_if(with_allocations, TOTAL.titled("Allocated"), |row| row.figure(TOTAL))
        .add(PROBLEMS, |row| row.figure(PROBLEMS))
        .add(FILE, move |row| &row.file[name_start..])
        .table(answer.files.len(), answer.rows_hidden, |at| &answer.files[at])
}

impl Present for InfoOfFiles {
    const COMMAND: &'static str = "info";

    fn table(&self, _: &Style) -> Table<'_> {
        table_from(self, 0)
    }

    /// Narrow terminals have room for the part of a path that differs, not for the shared folder.
    fn text(&self, page: &mut TextPage<'_>) {
        let folder = self.shared_folder();
        if !folder.is_empty() {
            page.line(format!("in {}", escape_controls(folder)));
        }
        page.table(&table_from(self, folder.len()));
    }
}
