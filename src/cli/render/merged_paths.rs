//! `heapdump roots --type`.

use super::rows::{root_text, root_words};
use crate::answers::MergedRootPaths;
use crate::report::{
    Cell, Column, Outline, OutlineRow, Present, Style, Table, TextPage, Unit, count_of, escape_controls, format_count,
};

impl Present for MergedRootPaths<'_> {
    const COMMAND: &'static str = "roots";

    fn table(&self, _: &Style) -> Table<'_> {
        Table {
            columns: vec![
                Column::new("level", "Level", Unit::Count),
                Column::new("objects", "Objects", Unit::Count),
                Column::new("retained_bytes", "Retained", Unit::Bytes),
                Column::new("type", "Type", Unit::Text),
            ],
            row_count: self.tree.len(),
            rows_hidden: 0,
            row: Box::new(|at| {
                let place = self.tree.get(at);
                let row = place.row;
                let name = match &row.root {
                    Some(root) => Cell::text(format!("{} <- {}", row.type_name, root_text(root))),
                    None => Cell::text(row.type_name),
                };
                vec![
                    Cell::Number(place.depth.into()),
                    Cell::Number(row.objects),
                    Cell::Number(row.retained_bytes),
                    name,
                ]
            }),
        }
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
                let name = match &row.root {
                    Some(root) => format!("{}: {}", root_words(root), escape_controls(row.type_name)),
                    None => row.type_name.to_string(),
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
        if self.roots_inferred {
            page.line("\nRoots are inferred: this format has no root records.");
        }
    }
}
