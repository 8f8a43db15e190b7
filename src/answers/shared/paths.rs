//! Paths from roots as every answer shows them.

use std::collections::HashSet;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::entry_steps::{EntryStep, OpenCollection};
use super::reference_names::ReferenceNames;
use super::{ObjectRow, RootRow};
use crate::analysis::dominators::Dominators;
use crate::analysis::retained::RetainedSizes;
use crate::analysis::root_paths::RootsByNode;
use crate::analysis::root_paths::{PathNodes, RootPath};
use crate::graph::{HeapGraph, Loader, NodeId, Root};

/// A shortest path from a rooted object to the one asked for. Its rows are made when they are asked for: it may be as
/// long as the dump.
#[derive(Debug, Clone, Copy)]
pub struct PathRow<'p> {
    graph: &'p HeapGraph,
    roots: &'p RootsByNode<'p>,
    path: RootPath<'p>,
    names: Option<ReferenceNames<'p>>,
    /// The place of the first object that explains it.
    explained_from: usize,
}

impl<'p> PathRow<'p> {
    pub(in crate::answers) fn new(
        graph: &'p HeapGraph,
        roots: &'p RootsByNode<'p>,
        path: RootPath<'p>,
        names: Option<ReferenceNames<'p>>,
    ) -> Self {
        PathRow { graph, roots, path, names, explained_from: 0 }
    }

    /// The same, told from a place on: what stands before explains nothing.
    pub(in crate::answers) fn starting_at(self, start: usize) -> Self {
        PathRow { explained_from: start, ..self }
    }

    /// The root record to show for the first object: strong before weak, then by kind.
    pub fn root(&self) -> RootRow {
        RootRow::new(self.graph, self.path.root)
    }

    /// All records of the first object that hold it; of a path from a weak root the weak ones. O(log records), then O(1)
    /// each.
    pub fn roots(&self) -> impl Iterator<Item = RootRow> + use<'p> {
        let graph = self.graph;
        self.root_records().map(move |root| RootRow::new(graph, root))
    }

    /// References on the way.
    pub fn length(&self) -> usize {
        self.path.length
    }

    /// The objects, from the rooted one to the one asked for. O(log objects) each.
    pub fn nodes(&self) -> impl Iterator<Item = ObjectRow> + use<'p> {
        let graph = self.graph;
        self.path.nodes().map(move |node| ObjectRow::new(graph, node))
    }

    /// The same of some objects of the path, by their place on it. O(log objects) each, and the steps before them.
    pub fn nodes_at(&self, places: std::ops::Range<usize>) -> Vec<PathNodeRow> {
        let start = places.start.saturating_sub(OBJECTS_LOOKED_BACK);
        self.nodes_from(start).skip(places.start - start).take(places.len()).collect()
    }

    /// The objects from a place on, each with the name of the reference that leads to it.
    fn nodes_from(&self, place: usize) -> impl Iterator<Item = PathNodeRow> + use<'p> {
        let (graph, names) = (self.graph, self.names);
        let (mut before, mut last) = (None, None);
        let mut open = OpenCollection::default();
        self.path.nodes().skip(place).map(move |node| {
            let from = last.replace(node);
            let entry = names.and_then(|names| open.take(names.entry_namer(), node));
            let (reference, via) = match entry {
                Some(EntryStep { name, inner_types }) => (Some(name), inner_types),
                None => {
                    (names.zip(from).and_then(|(names, from)| names.between_on_path(before, from, node)), Vec::new())
                }
            };
            before = from;
            PathNodeRow { row: ObjectRow::new(graph, node), reference, via }
        })
    }

    /// The places of the first class object on the path that a loader before it has loaded, and of that loader: what stands
    /// before the class is the same for every class of a program. O(steps to it, some at most).
    pub fn class_and_loader_places(&self) -> Option<(usize, usize)> {
        const MAX_OBJECTS_UP_TO_CLASS: usize = 16;
        let types = self.graph.types();
        let nodes: Vec<NodeId> = self.path.nodes().take(MAX_OBJECTS_UP_TO_CLASS).collect();
        nodes.iter().enumerate().find_map(|(place, &node)| match types.loader(types.type_of_class_object(node)?) {
            Loader::Object(loader) => Some((place, nodes[..place].iter().position(|node| *node == loader)?)),
            _ => None,
        })
    }

    /// All holders of the first object in words: clearing the static variable alone frees nothing if a local is
    /// left. More than 50 are counted.
    pub fn holders_in_words(&self) -> String {
        let mut words = vec![self.root().words()];
        let mut known = HashSet::new();
        let mut more = 0;
        for root in self.root_records() {
            if !known.insert((root.kind, root.flags.0, root.declaring_class, self.graph.root_name(root))) {
                continue;
            }
            if words.len() == MAX_HOLDERS_NAMED {
                more += 1;
                continue;
            }
            let text = RootRow::new(self.graph, root).words();
            if !words.contains(&text) {
                words.push(text);
            }
        }
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        words.join(" and by ") + &more
    }

    /// The path as an expression, `Window.widgets[0].el`; without names of references the types, `Window -> Array`. The
    /// middle of a long one is left out.
    pub fn expression(&self) -> String {
        const MAX_STEPS_SHOWN: usize = 12;
        let start = self.class_and_loader_places().map_or(self.explained_from, |(place, _)| place);
        let count = self.length() + 1 - start;
        let text = |places: std::ops::Range<usize>| -> String {
            let is_start = places.start == 0;
            let mut rows = self.nodes_at(places.start + start..places.end + start);
            remove_inner_steps(&mut rows, |row| row.via.len());
            let rows = rows.into_iter().enumerate();
            rows.map(|(number, step)| match (step.reference, is_start && number == 0) {
                (Some(name), false) => reference_suffix(&name),
                (_, true) => step.row.type_text(),
                (None, false) => format!(" -> {}", step.row.type_text()),
            })
            .collect()
        };
        if count <= MAX_STEPS_SHOWN {
            return text(0..count);
        }
        let half = MAX_STEPS_SHOWN / 2;
        format!("{} ... {} more ... {}", text(0..half), count - 2 * half, text(count - half..count).trim_start())
    }

    /// The types of some objects of the path but the last, by their place on it, each with the name of the reference that
    /// leads on; of class objects with the class they stand for.
    pub(in crate::answers) fn step_texts(&self, places: std::ops::Range<usize>) -> Vec<String> {
        let rows = self.nodes_at(places.start..places.end + 1);
        let pairs = rows.iter().zip(rows.iter().skip(1));
        pairs
            .map(|(from, to)| match &to.reference {
                Some(name) => format!("{} ({name})", from.row.type_text()),
                None => from.row.type_text(),
            })
            .collect()
    }

    /// The objects, from the rooted one to the one asked for.
    pub(in crate::answers) fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<'p> {
        self.path.nodes()
    }

    /// The rooted object.
    pub(in crate::answers) fn start_node(&self) -> NodeId {
        self.path.start()
    }

    fn root_records(&self) -> impl Iterator<Item = &'p Root> + use<'p> {
        let is_weak = self.path.root.is_weak();
        let of_start = self.roots.of(self.path.start());
        of_start.filter(move |root| !root.is_excluded && root.is_weak() == is_weak)
    }
}

/// Objects before the first that are looked at for its name: a table, an entry and some behind it.
const OBJECTS_LOOKED_BACK: usize = 8;

/// Takes out the rows of the inner objects of collections: so many before each row of an element as that says.
pub(crate) fn remove_inner_steps<T>(rows: &mut Vec<T>, inner_count: impl Fn(&T) -> usize) {
    let mut kept: Vec<T> = Vec::with_capacity(rows.len());
    for row in rows.drain(..) {
        kept.truncate(kept.len().saturating_sub(inner_count(&row)));
        kept.push(row);
    }
    *rows = kept;
}

/// The name of a reference as it stands behind the object.
pub(in crate::answers) fn reference_suffix(name: &str) -> String {
    let joins = name.starts_with(['.', '[', '{']);
    if joins { name.to_string() } else { format!(" {name}") }
}

/// Different roots of one object that a path names.
const MAX_HOLDERS_NAMED: usize = 50;

impl Serialize for PathRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("root", &self.root())?;
        map.serialize_entry("roots", &SerializeEach(|| self.roots()))?;
        map.serialize_entry("length", &self.length())?;
        map.serialize_entry("nodes", &SerializeEach(|| self.nodes_from(0)))?;
        map.end()
    }
}

/// An array of what an iterator gives, one after another.
pub(in crate::answers) struct SerializeEach<F>(pub(in crate::answers) F);

impl<T: Serialize, I: Iterator<Item = T>, F: Fn() -> I> Serialize for SerializeEach<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// An object with the name of the reference that leads to it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PathNodeRow {
    /// The object.
    #[serde(flatten)]
    pub row: ObjectRow,
    /// Name of the reference from the object before, where the dump has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Of an element of a collection, whose `reference` is its key or number: types of the objects of the collection before it
    /// on the path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
}

/// An object on a path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathStep {
    /// The object.
    pub object: ObjectRow,
    /// Bytes that would be freed with it; `None` when no strong root reaches it.
    pub retained_bytes: Option<u64>,
    /// Name of the reference from the object before, where the dump has it.
    pub reference: Option<String>,
    /// Of an element of a collection: how many objects before it on the path are the collection's own.
    pub inner_count: usize,
    /// The same object in the graph.
    pub(in crate::answers) node: NodeId,
}

/// The objects of a path or of its end with their retained sizes, one after another. O(log objects) each.
#[derive(Clone)]
pub struct PathSteps<'p> {
    graph: &'p HeapGraph,
    dominator_tree: (&'p Dominators, &'p RetainedSizes),
    nodes: PathNodes<'p>,
    names: Option<ReferenceNames<'p>>,
    /// The object that was given last.
    last_node: Option<NodeId>,
    /// The object before that one.
    node_before_last: Option<NodeId>,
    /// The collection that the objects are in.
    open: OpenCollection,
}

impl<'p> PathSteps<'p> {
    pub(in crate::answers) fn new(
        graph: &'p HeapGraph,
        tree: (&'p Dominators, &'p RetainedSizes),
        nodes: PathNodes<'p>,
        names: Option<ReferenceNames<'p>>,
    ) -> PathSteps<'p> {
        PathSteps {
            graph,
            dominator_tree: tree,
            nodes,
            names,
            last_node: None,
            node_before_last: None,
            open: OpenCollection::default(),
        }
    }
}

impl Iterator for PathSteps<'_> {
    type Item = PathStep;

    fn next(&mut self) -> Option<PathStep> {
        self.nth(0)
    }

    /// Steps over `skipped` objects without making their rows.
    fn nth(&mut self, skipped: usize) -> Option<PathStep> {
        if let Some(most) = skipped.checked_sub(1) {
            if let Some(most) = most.checked_sub(1) {
                self.last_node = Some(self.nodes.nth(most)?);
            }
            self.node_before_last = self.last_node.replace(self.nodes.next()?);
            self.open = OpenCollection::default();
        }
        let node = self.nodes.next()?;
        let from = self.last_node.replace(node);
        let before = std::mem::replace(&mut self.node_before_last, from);
        let (dominators, retained) = self.dominator_tree;
        let entry = self.names.and_then(|names| self.open.take(names.entry_namer(), node));
        let inner_count = entry.as_ref().map_or(0, |entry| entry.inner_types.len());
        let own_name = || self.names.zip(from).and_then(|(names, from)| names.between_on_path(before, from, node));
        Some(PathStep {
            object: ObjectRow::new(self.graph, node),
            retained_bytes: retained.bytes_of(dominators, node),
            node,
            reference: entry.map(|entry| entry.name).or_else(own_name),
            inner_count,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.nodes.size_hint()
    }
}

impl ExactSizeIterator for PathSteps<'_> {}
