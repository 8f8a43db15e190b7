//! `heapdump list`.

use super::rows::{CLASS, TYPE};
use crate::answers::ObjectList;
use crate::answers::objects::ListedObject;
use crate::report::{Column, Columns, Present, Style, Table, TextPage};

impl Present for ObjectList<'_> {
    const COMMAND: &'static str = "list";

    fn table(&self, _: &Style) -> Table<'_> {
        let rows = &self.objects;
        Columns::new()
            .add(Column::word("id", "Object"), |row: &mut ListedObject<'_>| std::mem::take(&mut row.id))
            .add(Column::bytes("shallow_bytes", "Shallow"), |row| row.shallow_bytes)
            .add(Column::bytes("retained_bytes", "Retained"), |row| row.retained_bytes)
            .add(Column::count("references", "References"), |row| row.references)
            .add_if(rows.has_classes(), CLASS, |row| row.class.flatten())
            .add(TYPE, |row| row.type_name)
            .table(rows.len(), self.found - rows.len(), |at| rows.get(at))
    }

    fn text(&self, page: &mut TextPage<'_>) {
        if self.roots_inferred {
            page.line("Retained sizes rest on inferred roots: the dump has none.");
        }
        let table = self.table(page.style());
        page.table(&table);
    }
}
