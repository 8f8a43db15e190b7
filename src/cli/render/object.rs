//! `heapdump show`.

use super::rows::{CLASS, TYPE, heading, note_inferred_roots, root_text, root_words};
use crate::answers::object::NodeRows;
use crate::answers::{ObjectAnswer, ObjectRow};
use crate::report::{Column, Columns, Present, Style, Table, TextPage, escape_controls};

impl Present for ObjectAnswer<'_> {
    const COMMAND: &'static str = "show";

    fn table(&self, _: &Style) -> Table<'_> {
        let head = self.head_rows();
        let listed = head.len() + self.references.len();
        Columns::new()
            .add(Column::word("relation", "Relation"), |row: &mut Row| row.relation)
            .add(Column::word("id", "Object"), |row| row.id.take())
            .add(Column::bytes("shallow_bytes", "Shallow"), |row| row.shallow_bytes)
            .add_if(self.has_classes, CLASS, |row| row.class.take())
            .add(TYPE, |row| std::mem::take(&mut row.text))
            .table(listed + self.referrers.len(), 0, move |row| match row {
                _ if row < head.len() => head[row].clone(),
                _ if row < listed => Row::new("reference", self.references.get(row - head.len())),
                _ => Row::new("referrer", self.referrers.get(row - listed)),
            })
    }

    fn text(&self, page: &mut TextPage<'_>) {
        let style = *page.style();
        let row = &self.object.row;
        heading(row, page);
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
        note_inferred_roots(self.roots_inferred, page);
    }
}

/// A row of the table: the object itself, what is related to it, or a root.
#[derive(Clone, Default)]
struct Row {
    relation: &'static str,
    id: Option<String>,
    shallow_bytes: Option<u64>,
    class: Option<String>,
    text: String,
}

impl Row {
    fn new(relation: &'static str, object: ObjectRow) -> Self {
        let ObjectRow { id, type_name: text, class, shallow_bytes, .. } = object;
        Row { relation, id: Some(id), shallow_bytes: Some(shallow_bytes), class, text }
    }
}

impl ObjectAnswer<'_> {
    /// The rows before references and referrers.
    fn head_rows(&self) -> Vec<Row> {
        let object = Row::new("object", self.object.row.clone());
        let dominator = self.dominator.clone().map(|dominator| Row::new("dominator", dominator));
        let roots = self.roots.iter().map(|root| Row { relation: "root", text: root_text(root), ..Row::default() });
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
