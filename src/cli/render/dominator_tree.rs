//! `heapdump dominators`.

use super::histogram::name_column;
use crate::answers::DominatorTree;
use crate::answers::dominator_tree::{DominatorGroups, DominatorNodes, DominatorRow, DominatorRows};
use crate::report::{Cell, Column, Outline, OutlineRow, Present, Style, Table, TextPage, Unit, count_of, format_count};

impl Present for DominatorTree<'_> {
    const COMMAND: &'static str = "dominators";

    fn table(&self, _: &Style) -> Table<'_> {
        match &self.rows {
            DominatorRows::Objects { nodes } => table_of_objects(nodes),
            DominatorRows::Groups(groups) => table_of_groups(groups),
        }
    }

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        page.line(format!(
            "{} in {} reachable from roots{}{}\n",
            style.bold(&style.bytes(self.reachable_bytes)),
            count_of(self.reachable_objects, "objects"),
            if self.roots_inferred { " (inferred: the dump has none)" } else { "" },
            if self.has_requested_roots { " or given roots on request" } else { "" },
        ));
        match &self.rows {
            DominatorRows::Objects { nodes } => page.tree(&outline(nodes, style)),
            DominatorRows::Groups(groups) => page.table(&table_of_groups(groups)),
        }
    }
}

fn table_of_objects<'t>(nodes: &'t DominatorNodes<'_>) -> Table<'t> {
    let with_classes = nodes.has_classes();
    let mut columns = vec![
        Column::new("level", "Level", Unit::Count),
        Column::new("retained_bytes", "Retained", Unit::Bytes),
        Column::new("share", "Share", Unit::Share),
        Column::new("shallow_bytes", "Shallow", Unit::Bytes),
        Column::new("dominated_objects", "Objects", Unit::Count),
        Column::new("id", "Object", Unit::Word),
    ];
    if with_classes {
        columns.push(Column::new("class", "Class", Unit::Word).hide_priority(1));
    }
    columns.push(Column::new("type", "Type", Unit::Text));
    Table {
        columns,
        row_count: nodes.len(),
        rows_hidden: 0,
        row: Box::new(move |at| {
            let place = nodes.get(at);
            let DominatorRow { id, type_name, class, shallow_bytes, retained_bytes, share, dominated_objects, .. } =
                place.row;
            let mut cells = Vec::with_capacity(8);
            cells.extend([
                Cell::Number(place.depth.into()),
                Cell::Number(retained_bytes),
                Cell::Share(share),
                Cell::Number(shallow_bytes),
                Cell::Number(dominated_objects.into()),
                Cell::text(id),
            ]);
            if with_classes {
                cells.push(class.map_or(Cell::Missing, Cell::text));
            }
            cells.push(Cell::text(type_name));
            cells
        }),
    }
}

fn outline<'t>(nodes: &'t DominatorNodes<'_>, style: Style) -> Outline<'t> {
    Outline {
        figures: vec![("retained", 10), ("share", 7), ("shallow", 10), ("objects", 11)],
        gap: 1,
        title: "object",
        header: style.header,
        max_indent: usize::MAX,
        row_count: nodes.len(),
        row: Box::new(move |at| {
            let place = nodes.get(at);
            let row = place.row;
            OutlineRow {
                depth: place.depth as usize,
                hidden_after: place.hidden_after.into(),
                figures: vec![
                    style.size(row.retained_bytes),
                    format!("{:.1}%", row.share * 100.0),
                    style.size(row.shallow_bytes),
                    format_count(row.dominated_objects.into()),
                ],
                start: format!("{}  ", row.id),
                name: match row.class {
                    Some(class) => format!("{} of {class}", row.type_name),
                    None => row.type_name.to_string(),
                },
                end: String::new(),
            }
        }),
    }
}

fn table_of_groups(groups: &DominatorGroups) -> Table<'_> {
    let rows = groups.rows.as_slice();
    let (key, title) = name_column(groups.group_by);
    Table {
        columns: vec![
            Column::new("objects", "Objects", Unit::Count),
            Column::new("shallow_bytes", "Shallow", Unit::Bytes),
            Column::new("topmost_objects", "Topmost", Unit::Count),
            Column::new("retained_bytes", "Retained", Unit::Bytes),
            Column::new(key, title, Unit::Text),
        ],
        row_count: rows.len(),
        rows_hidden: groups.rows_hidden,
        row: Box::new(|at| {
            let row = &rows[at];
            let figures = [row.objects, row.shallow_bytes, row.topmost_objects, row.retained_bytes];
            figures.into_iter().map(Cell::Number).chain([Cell::text(row.name.text())]).collect()
        }),
    }
}
