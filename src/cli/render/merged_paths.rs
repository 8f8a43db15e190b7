//! `heapdump roots --type`.

use super::rows::{REFERENCE, note_inferred_roots, root_text, root_words};
use crate::answers::MergedRootPaths;
use crate::answers::figure::{LEVEL, OBJECTS, RETAINED, TYPE};
use crate::answers::roots::merged_paths::MergedPathRow;
use crate::answers::tree::{LazyTree, TreeRow};
use crate::report::{
    Cell, Column, Columns, Outline, OutlineRow, Present, Style, Table, TextPage, escape_controls, format_count,
    width_of_sizes,
};

impl Present for MergedRootPaths<'_> {
    const COMMAND: &'static str = "roots";

    fn table(&self, _: &Style) -> Table<'_> {
        let of_one = self.object.is_some();
        Columns::new()
            .add(LEVEL, |place: &mut TreeRow<MergedPathRow<'_>>| place.depth)
            .add_if(of_one, Column::count("paths", "Paths"), |place| place.row.paths)
            .add_if(!of_one, OBJECTS, |place| place.row.objects)
            .add_if(!of_one, RETAINED, |place| place.row.retained_bytes)
            .add(Column::count("chain_objects", "Chain"), |place| place.row.chain_objects)
            .add_if(self.tree.have_names(), REFERENCE, |place| place.row.reference.take())
            .add(TYPE, |place| match &place.row.root {
                Some(root) => Cell::text(format!("{} <- {}", place.row.type_name, root_text(root))),
                None => Cell::text(place.row.type_name),
            })
            .table(self.tree.len(), 0, |at| self.tree.get(at))
    }

    fn text(&self, page: &mut TextPage<'_>) {
        if self.objects == 0 {
            return;
        }
        let (style, of_one) = (*page.style(), self.object.is_some());
        let (count, rest) = self.sentence();
        page.paragraph(format!("{}{}\n", style.bold(&count), escape_controls(&rest)));
        page.tree(&Outline {
            figures: match of_one {
                true => vec![("paths", 11)],
                false => vec![("objects", 11), ("retained", width_of_sizes(self.tree.largest_bytes(), &style))],
            },
            gap: 1,
            title: "held by",
            header: style.header,
            deepest: self.tree.deepest(),
            row_count: self.tree.len(),
            options_for_all: self.tree.options_for_all(),
            row: Box::new(move |at| {
                let place = self.tree.get(at);
                let row = place.row;
                let mut name = match (&row.root, &row.reference) {
                    (Some(root), _) => format!("{}: {}", root_words(root), escape_controls(row.type_name)),
                    (None, Some(reference)) => format!("{reference}  {}", row.type_name),
                    (None, None) => row.type_name.to_string(),
                };
                name += &row.chain_text();
                let figures = |count: Option<u64>, bytes: Option<u64>| {
                    let (count, bytes) = (count.map(format_count), bytes.map(|bytes| style.size(bytes)));
                    count.into_iter().chain(bytes).collect::<Vec<_>>()
                };
                let (count, bytes) = self.tree.hidden_after(at);
                OutlineRow {
                    depth: place.depth as usize,
                    hidden_after: place.hidden_after.into(),
                    hidden_figures: figures(Some(count), (!of_one).then_some(bytes)),
                    figures: figures(row.paths.or(row.objects), row.retained_bytes),
                    name,
                    ..OutlineRow::default()
                }
            }),
        });
        note_inferred_roots(self.roots_inferred, page);
    }
}
