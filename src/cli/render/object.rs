//! `heapdump show`.

use super::rows::{root_text, root_words, text_cells, type_cells, type_columns};
use crate::answers::object::NodeRows;
use crate::answers::{ObjectAnswer, ObjectRow};
use crate::report::{Cell, Column, Present, Style, Table, TextPage, Unit, escape_controls};

impl Present for ObjectAnswer<'_> {
    const COMMAND: &'static str = "show";

    fn table(&self, _: &Style) -> Table<'_> {
        let mut columns = vec![
            Column::new("relation", "Relation", Unit::Word),
            Column::new("id", "Object", Unit::Word),
            Column::new("shallow_bytes", "Shallow", Unit::Bytes),
        ];
        columns.extend(type_columns(self.has_classes));
        let head = self.head_rows();
        let listed = head.len() + self.references.len();
        Table {
            columns,
            row_count: listed + self.referrers.len(),
            rows_hidden: 0,
            row: Box::new(move |row| match row {
                _ if row < head.len() => head[row].clone(),
                _ if row < listed => self.cells("reference", self.references.get(row - head.len())),
                _ => self.cells("referrer", self.referrers.get(row - listed)),
            }),
        }
    }

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        let row = &self.object.row;
        page.line(format!("{}  {}", style.bold(&row.id), escape_controls(&row.type_text())));
        page.line(format!("  shallow    {}", style.size(row.shallow_bytes)));
        let retained = self.object.retained_bytes.map(|bytes| style.size(bytes));
        page.line(format!("  retained   {}", retained.as_deref().unwrap_or("- (no strong root reaches it)")));
        if let Some((number, name)) = &self.section {
            page.line(format!("  section    {number} {}", escape_controls(name)));
        }
        match &self.dominator {
            Some(dominator) => page.line(format!("  dominator{}", object_line(dominator, "", &style))),
            None if self.reachability.is_reached() => page.line("  dominator  none: no single object holds it"),
            None => {}
        }
        for root in &self.roots {
            page.line(format!("  root       {}", root_words(root)));
        }
        list("References", &self.references, page);
        list("Referrers", &self.referrers, page);
        if self.roots_inferred {
            page.line("\nRoots are inferred: this format has no root records.");
        }
    }
}

impl ObjectAnswer<'_> {
    fn cells<'c>(&self, relation: &'static str, mut row: ObjectRow) -> Vec<Cell<'c>> {
        let id = std::mem::take(&mut row.id);
        let mut cells = Vec::with_capacity(5);
        cells.extend([Cell::text(relation), Cell::text(id), Cell::Number(row.shallow_bytes)]);
        cells.extend(type_cells(row, self.has_classes));
        cells
    }

    /// The rows before references and referrers.
    fn head_rows<'c>(&self) -> Vec<Vec<Cell<'c>>> {
        let object = self.cells("object", self.object.row.clone());
        let dominator = self.dominator.clone().map(|dominator| self.cells("dominator", dominator));
        let roots = self.roots.iter().map(|root| {
            let start = [Cell::text("root"), Cell::Missing, Cell::Missing];
            start.into_iter().chain(text_cells(root_text(root), self.has_classes)).collect()
        });
        [object].into_iter().chain(dominator).chain(roots).collect()
    }
}

fn list(title: &str, rows: &NodeRows<'_>, page: &mut TextPage<'_>) {
    let style = *page.style();
    page.line(format!("\n{} ({})", style.bold(title), rows.total()));
    for (at, row) in rows.iter().enumerate() {
        let name = rows.reference(at).map_or(String::new(), |name| format!("{}  ", escape_controls(name)));
        page.line(object_line(&row, &name, &style));
    }
    if rows.len() < rows.total() {
        page.line(format!("  {} more; -n 0 shows all", rows.total() - rows.len()));
    }
}

fn object_line(row: &ObjectRow, name: &str, style: &Style) -> String {
    let start = format!("  {}  {:>10}  {name}", row.id, style.size(row.shallow_bytes));
    let name = style.fit(start.chars().count(), &row.type_text());
    start + &name
}
