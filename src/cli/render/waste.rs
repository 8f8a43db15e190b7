//! `heapdump waste`.

use super::rows::hidden;
use crate::answers::Waste;
use crate::answers::figure::{EXAMPLE, KIND, OBJECTS, TYPE, TYPE_WORD, WASTED};
use crate::answers::waste::{FlatWasteRow, WasteKindRow, WasteRow};
use crate::report::{Column, Columns, Present, Style, Table, TextPage, count_of};

impl Present for Waste {
    const COMMAND: &'static str = "waste";

    fn table(&self, _: &Style) -> Table<'_> {
        let rows = self.flat_rows();
        let hidden = self.kinds.iter().map(|kind| kind.rows_hidden).sum();
        let columns = Columns::new()
            .add(KIND, |flat: &mut FlatWasteRow<'_>| flat.kind.name())
            .add(OBJECTS, |flat| flat.row.objects)
            .add(WASTED, |flat| flat.row.wasted_bytes)
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

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        let (wasted, share) = (style.bytes(self.totals.wasted_bytes), self.totals.share * 100.0);
        let heap = style.bytes(self.totals.heap_bytes);
        page.paragraph(format!("{} of {heap} is wasted ({share:.1} %).\n", style.bold(&wasted)));
        page.table(
            &Columns::new()
                .add(WASTED, |kind: &mut &WasteKindRow| kind.wasted_bytes)
                .add(OBJECTS, |kind| kind.objects)
                .add(KIND, |kind| kind.kind.name())
                .add(Column::text("meaning", "Meaning"), |kind| kind.kind.words())
                .table(self.kinds.len(), 0, |at| &self.kinds[at]),
        );
        for kind in self.kinds.iter().filter(|kind| !kind.rows.is_empty()) {
            let (name, bytes) = (style.bold(kind.kind.name()), style.bytes(kind.wasted_bytes));
            page.paragraph(format!(
                "\n{name} ({}): {bytes} in {}",
                kind.kind.words(),
                count_of(kind.objects, "objects")
            ));
            page.table(
                &Columns::new()
                    .add(WASTED, |row: &mut &WasteRow| row.wasted_bytes)
                    .add(OBJECTS, |row| row.objects)
                    .add(hidden(EXAMPLE, 1), |row| row.example.as_str())
                    // What holds it has the rest of the line.
                    .add(TYPE, |row| style.fit(style.width * 2 / 3, &row.shown_type()))
                    .add(Column::text("held_by", "Held by"), |row| row.held_by.as_str())
                    .table(kind.rows.len(), kind.rows_hidden, |at| &kind.rows[at]),
            );
        }
    }
}
