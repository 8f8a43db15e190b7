//! `heapdump dominators`.

use super::rows::CLASS;
use crate::answers::DominatorTree;
use crate::answers::dominator_tree::{DominatorGroups, DominatorNodes, DominatorRow, DominatorRows};
use crate::answers::figure::{DOMINATED, ID, LEVEL, OBJECTS, RETAINED, SHALLOW, SHARE, TOPMOST, TYPE};
use crate::answers::histogram::HistogramRow;
use crate::answers::tree::{LazyTree, TreeRow};
use crate::report::{
    Columns, Outline, OutlineRow, Present, Style, Table, TextPage, count_of, format_count, width_of_sizes,
};

impl Present for DominatorTree<'_> {
    const COMMAND: &'static str = "dominators";

    fn table(&self, style: &Style) -> Table<'_> {
        match &self.rows {
            DominatorRows::Objects { nodes } => table_of_objects(nodes),
            DominatorRows::Groups(groups) => table_of_groups(groups, style.is_for_people()),
        }
    }

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        page.paragraph(format!(
            "{} in {} reachable from roots{}{}\n",
            style.bold(&style.bytes(self.reachable_bytes)),
            count_of(self.reachable_objects, "objects"),
            if self.roots_inferred { " (inferred: the dump has none)" } else { "" },
            if self.has_requested_roots { " or given roots on request" } else { "" },
        ));
        match &self.rows {
            DominatorRows::Objects { nodes } => page.tree(&outline(nodes, self.reachable_bytes, style)),
            DominatorRows::Groups(groups) => page.table(&table_of_groups(groups, style.is_for_people())),
        }
    }
}

fn table_of_objects<'t>(nodes: &'t DominatorNodes<'_>) -> Table<'t> {
    Columns::new()
        .add(LEVEL, |place: &mut TreeRow<DominatorRow<'t>>| place.depth)
        .add(RETAINED, |place| place.row.retained_bytes)
        .add(SHARE, |place| place.row.share)
        .add(SHALLOW, |place| place.row.shallow_bytes)
        .add(DOMINATED, |place| place.row.dominated_objects)
        .add(ID, |place| std::mem::take(&mut place.row.id))
        .add_if(nodes.has_classes(), CLASS, |place| place.row.class)
        .add(TYPE, |place| place.row.type_name)
        .table(nodes.len(), 0, |at| nodes.get(at))
}

fn outline<'t>(nodes: &'t DominatorNodes<'_>, reachable_bytes: u64, style: Style) -> Outline<'t> {
    let width = width_of_sizes(reachable_bytes, &style);
    Outline {
        figures: vec![("retained", width), ("share", 7), ("shallow", width), ("objects", 11)],
        gap: 1,
        title: "object",
        header: style.header,
        deepest: nodes.deepest(),
        row_count: nodes.len(),
        options_for_all: "-n 0",
        row: Box::new(move |at| {
            let place = nodes.get(at);
            let row = place.row;
            OutlineRow {
                depth: place.depth as usize,
                hidden_after: place.hidden_after.into(),
                hidden_figures: Vec::new(),
                figures: vec![
                    style.size(row.retained_bytes),
                    format!("{:.1}%", row.share * 100.0),
                    style.size(row.shallow_bytes),
                    format_count(row.dominated_objects.into()),
                ],
                start: format!("{}  ", row.id),
                name: nodes.type_text(at),
                end: String::new(),
            }
        }),
    }
}

fn table_of_groups(groups: &DominatorGroups, with_loader: bool) -> Table<'_> {
    let rows = groups.rows.as_slice();
    let figures = [OBJECTS, SHALLOW, TOPMOST, RETAINED].into_iter();
    let columns = figures
        .fold(Columns::new(), |columns, figure| columns.add(figure, move |row: &mut &HistogramRow| row.figure(figure)));
    columns.add(groups.group_by.figure(), move |row| row.name_with_loader(with_loader)).table(
        rows.len(),
        groups.rows_hidden,
        |at| &rows[at],
    )
}
