//! `heapdump list`; and objects and roots of commands that walk the graph themselves, in words.

use std::io;

use anyhow::Result;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::answers::{ObjectId, ObjectList, ScopeOptions};
pub(crate) use crate::cli::args::object::parse_object_id;
use crate::cli::args::options::SectionArgs;
use crate::cli::terminal::asking::explain;
use crate::graph::{HeapGraph, NodeId, Root, RootKind};
use crate::report::{Cell, Column, Members, Present, Style, Table, TextPage, Unit, escape_controls};

/// Finds the object in the section asked for.
pub(crate) fn find_object(id: &ObjectId, graph: &HeapGraph, section: &SectionArgs) -> Result<NodeId> {
    let scope = ScopeOptions { section: section.domain.clone(), types: None };
    id.find(graph, &scope).map_err(explain)
}

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

/// The type's name; a class object's with the class it stands for.
pub(crate) fn type_text(graph: &HeapGraph, node: NodeId) -> String {
    let name = graph.type_name(graph.type_of(node));
    match graph.types().of_class_object(node) {
        Some(class) => format!("{name} of {}", graph.type_name(class)),
        None => name.to_string(),
    }
}

/// The last columns of a table of objects: the type, and before it the class that a class object stands for, where the
/// dump has such.
pub(crate) fn type_columns(graph: &HeapGraph) -> Vec<Column> {
    let class = (!graph.types().class_objects().is_empty()).then(|| Column::new("class", "Class", Unit::Word).spare(1));
    class.into_iter().chain([Column::new("type", "Type", Unit::Text)]).collect()
}

/// An object's cells for `type_columns`.
pub(crate) fn type_cells(graph: &HeapGraph, node: NodeId) -> impl Iterator<Item = Cell<'_>> {
    let class =
        || graph.types().of_class_object(node).map_or(Cell::Missing, |class| Cell::text(graph.type_name(class)));
    let class = (!graph.types().class_objects().is_empty()).then(class);
    class.into_iter().chain([Cell::text(graph.type_name(graph.type_of(node)))])
}

/// What JSON says of an object wherever one is named, written without a tree of values between.
#[derive(Clone, Copy)]
pub(crate) struct ObjectJson<'g>(pub(crate) &'g HeapGraph, pub(crate) NodeId);

impl ObjectJson<'_> {
    /// As members of an object that has others too.
    pub(crate) fn put_into(self, members: &mut Members<'_>) -> io::Result<()> {
        self.entries().try_for_each(|(key, value)| members.put(key, &value))
    }

    fn entries(&self) -> impl Iterator<Item = (&'static str, ObjectValue<'_>)> {
        let ObjectJson(graph, node) = *self;
        let name = graph.type_name(graph.type_of(node));
        let class =
            graph.types().of_class_object(node).map(|class| ("class", ObjectValue::Name(graph.type_name(class))));
        let front = [("id", ObjectValue::Id(graph.display_id(node))), ("type", ObjectValue::Name(name))];
        let size = ("shallow_bytes", ObjectValue::Bytes(Some(graph.shallow_bytes(node))));
        front.into_iter().chain(class).chain([size])
    }
}

/// What a member of an object can be.
#[derive(Serialize)]
#[serde(untagged)]
enum ObjectValue<'g> {
    Id(String),
    Name(&'g str),
    Bytes(Option<u64>),
}

impl Serialize for ObjectJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.entries())
    }
}

/// A root record for JSON.
pub(crate) struct RootJson<'g>(pub(crate) &'g HeapGraph, pub(crate) &'g Root);

impl Serialize for RootJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let RootJson(graph, root) = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", &root.kind.name())?;
        map.serialize_entry("flags", &root.flags.names())?;
        if let Some(container) = root.container {
            map.serialize_entry("container", graph.type_name(container))?;
        }
        if let Some(name) = graph.root_name(root) {
            map.serialize_entry("name", name)?;
        }
        map.end()
    }
}

/// A root record in a line: `static BubbleGame.Events.EventBus (pinned)`, `local of Demo.Program.Main`.
pub(crate) fn root_text(graph: &HeapGraph, root: &Root) -> String {
    let mut text = root.kind.name();
    if root.kind == RootKind::Local && root.name.is_some() {
        text.push_str(" of");
    }
    if let Some(name) = whose(graph, root) {
        text.push(' ');
        text.push_str(&name);
    }
    let flags = root.flags.names();
    if !flags.is_empty() {
        text.push_str(&format!(" ({})", flags.join(", ")));
    }
    text
}

/// The same for people who do not know the kinds: `a static variable of BubbleGame.Events.EventBus, pinned`;
/// `static field Head : Demo.Model.ListNode`; `a local of method Demo.Program.WaitHolding`.
pub(crate) fn root_words(graph: &HeapGraph, root: &Root) -> String {
    let mut text = match (root.kind, root.name, root.container) {
        (RootKind::Static, Some(_), _) => "static field".into(),
        (RootKind::Local, Some(_), _) => "a local of method".into(),
        (kind, _, Some(_)) => format!("{} of", kind.meaning()),
        (kind, ..) => kind.meaning().to_string(),
    };
    if let Some(name) = whose(graph, root) {
        text.push(' ');
        text.push_str(&name);
    }
    for flag in root.flags.names() {
        text.push_str(", ");
        text.push_str(&flag);
    }
    text
}

/// The variable, method or class of a root. Where the class with a static variable is not known, the type of its value
/// stands behind its name, as in a declaration.
fn whose(graph: &HeapGraph, root: &Root) -> Option<String> {
    let container = root.container.map(|container| graph.type_name(container));
    let text = match (container, graph.root_name(root)) {
        (Some(container), Some(name)) => format!("{container}.{name}"),
        (Some(container), None) => container.to_string(),
        (None, Some(name)) if root.kind == RootKind::Static => {
            format!("{name} : {}", graph.type_name(graph.type_of(root.node)))
        }
        (None, Some(name)) => name.to_string(),
        (None, None) => return None,
    };
    Some(escape_controls(&text).into_owned())
}
