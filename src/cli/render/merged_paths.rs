//! `heapdump roots --type`.

use super::rows::{REFERENCE, TYPE, note_inferred_roots, root_text, root_words};
use crate::answers::MergedRootPaths;
use crate::answers::merged_paths::MergedPathRow;
use crate::answers::tree::TreeRow;
use crate::report::{
    Cell, Column, Columns, Outline, OutlineRow, Present, Style, Table, TextPage, count_of, escape_controls,
    format_count,
};

impl Present for MergedRootPaths<'_> {
    const COMMAND: &'static str = "roots";

    fn table(&self, _: &Style) -> Table<'_> {
        Columns::new()
            .add(Column::count("level", "Level"), |place: &mut TreeRow<MergedPathRow<'_>>| place.depth)
            .add(Column::count("objects", "Objects"), |place| place.row.objects)
            .add(Column::bytes("retained_bytes", "Retained"), |place| place.row.retained_bytes)
            .add_if(self.tree.have_names(), REFERENCE, |place| place.row.reference.take())
            .add(TYPE, |place| match &place.row.root {
                Some(root) => Cell::text(format!("{} <- {}", place.row.type_name, root_text(root))),
                None => Cell::text(place.row.type_name),
            })
            .table(self.tree.len(), 0, |at| self.tree.get(at))
    }

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        page.line(format!(
            "{} of {} {} a path from a root{}; the shortest, merged by type\n",
            style.bold(&format_count(self.reachable_objects)),
            count_of(self.objects, "objects"),
            if self.objects == 1 { "has" } else { "have" },
            if self.avoids { " around what --exclude names" } else { "" },
        ));
        page.tree(&Outline {
            figures: vec![("objects", 11), ("retained", 10)],
            gap: 1,
            title: "held by",
            header: style.header,
            max_indent: usize::MAX,
            row_count: self.tree.len(),
            row: Box::new(move |at| {
                let place = self.tree.get(at);
                let row = place.row;
                let name = match (&row.root, &row.reference) {
                    (Some(root), _) => format!("{}: {}", root_words(root), escape_controls(row.type_name)),
                    (None, Some(reference)) => format!("{reference}  {}", row.type_name),
                    (None, None) => row.type_name.to_string(),
                };
                OutlineRow {
                    depth: place.depth as usize,
                    hidden_after: place.hidden_after.into(),
                    figures: vec![format_count(row.objects), style.size(row.retained_bytes)],
                    name,
                    ..OutlineRow::default()
                }
            }),
        });
        note_inferred_roots(self.roots_inferred, page);
    }
}
