//! `heapdump list`.

use crate::answers::ObjectList;
use crate::report::{Cell, Column, Present, Style, Table, TextPage, Unit};

impl Present for ObjectList<'_> {
    const COMMAND: &'static str = "list";

    fn table(&self, _: &Style) -> Table<'_> {
        let rows = &self.objects;
        let mut columns = vec![
            Column::new("id", "Object", Unit::Word),
            Column::new("shallow_bytes", "Shallow", Unit::Bytes),
            Column::new("retained_bytes", "Retained", Unit::Bytes),
            Column::new("references", "References", Unit::Count),
        ];
        columns.extend(super::rows::type_columns(rows.has_classes()));
        Table {
            columns,
            row_count: rows.len(),
            rows_hidden: self.found - rows.len(),
            row: Box::new(|at| {
                let row = rows.get(at);
                let mut cells = Vec::with_capacity(6);
                cells.extend([
                    Cell::text(row.id),
                    Cell::Number(row.shallow_bytes),
                    Cell::number(row.retained_bytes),
                    Cell::Number(row.references),
                ]);
                cells.extend(row.class.map(|class| class.map_or(Cell::Missing, Cell::text)));
                cells.push(Cell::text(row.type_name));
                cells
            }),
        }
    }

    fn text(&self, page: &mut TextPage<'_>) {
        if self.roots_inferred {
            page.line("Retained sizes rest on inferred roots: the dump has none.");
        }
        let table = self.table(page.style());
        page.table(&table);
    }
}
