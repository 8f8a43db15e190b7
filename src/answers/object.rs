//! One object: its sizes, what holds it, references out and in.

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use super::histogram_rows::is_false;
use super::paths::NamedRow;
use super::reference_names::ReferenceNames;
use super::{AnswerError, CommandLine, ObjectId, ObjectRow, Reachability, RootRow, ScopeOptions};
use crate::analysis::dominators::Dominator;
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId};

/// Which object.
#[derive(Debug, Clone)]
pub struct ObjectOptions {
    /// Its id.
    pub object: ObjectId,
    /// Its section, where several have one of this id.
    pub scope: ScopeOptions,
    /// References out and in at most. Default: all.
    pub rows: Option<usize>,
}

impl ObjectOptions {
    /// All about an object.
    pub fn new(object: ObjectId) -> Self {
        ObjectOptions { object, scope: ScopeOptions::default(), rows: None }
    }

    /// The command line that asks the same.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("show");
        line.option("-n", Some(&self.rows.unwrap_or(0).to_string()));
        self.scope.add_to(&mut line);
        line.word(self.object.to_string());
        line
    }
}

/// An object. Rows of references are made when they are asked for.
#[derive(Serialize)]
#[non_exhaustive]
pub struct ObjectAnswer<'d> {
    /// The object.
    pub object: ShownObject,
    /// Whether a strong root reaches it.
    #[serde(rename = "reachable")]
    pub reachability: Reachability,
    /// Its own root records, weak ones too.
    pub roots: Vec<RootRow>,
    /// What it refers to, in the order of the dump, repeats kept.
    pub references: NodeRows<'d>,
    /// What refers to it, by section and id.
    pub referrers: NodeRows<'d>,
    /// Roots are inferred: the dump has none.
    #[serde(skip_serializing_if = "is_false")]
    pub roots_inferred: bool,
    /// The section it is in, from 1, and its name, where there are several.
    #[serde(skip)]
    pub section: Option<(usize, String)>,
    /// Its immediate dominator.
    #[serde(skip)]
    pub dominator: Option<ObjectRow>,
    /// The dump has class objects.
    #[serde(skip)]
    pub has_classes: bool,
}

/// The object that was asked for.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ShownObject {
    /// Id, type and size.
    #[serde(flatten)]
    pub row: ObjectRow,
    /// Bytes that would be freed with it; `None` when no strong root reaches it.
    pub retained_bytes: Option<u64>,
    /// The id of its immediate dominator; `None` where no single object holds it.
    pub dominator: Option<String>,
}

/// Up to this many rows are made when the question is asked; more are made one by one when they are written.
pub(super) const FEW_ROWS: usize = 4096;

/// Objects by number. Many rows are made one by one.
#[derive(Debug)]
pub struct NodeRows<'d> {
    graph: &'d HeapGraph,
    nodes: &'d [NodeId],
    shown: usize,
    few: Option<Vec<ObjectRow>>,
    /// What the references are called, of the first rows.
    names: Vec<Option<String>>,
}

impl<'d> NodeRows<'d> {
    fn new(graph: &'d HeapGraph, nodes: &'d [NodeId], limit: Option<usize>) -> Self {
        let shown = limit.map_or(nodes.len(), |limit| nodes.len().min(limit));
        let made = || nodes[..shown].iter().map(|&node| ObjectRow::new(graph, node)).collect();
        NodeRows { graph, nodes, shown, few: (shown <= FEW_ROWS).then(made), names: Vec::new() }
    }

    /// What the reference of a row is called, where the dump says so.
    pub fn reference(&self, row: usize) -> Option<&str> {
        self.names.get(row)?.as_deref()
    }

    /// Rows that are shown.
    pub fn len(&self) -> usize {
        self.shown
    }

    /// Returns true if no row is shown.
    pub fn is_empty(&self) -> bool {
        self.shown == 0
    }

    /// Rows that there are, shown or not.
    pub fn total(&self) -> usize {
        self.nodes.len()
    }

    /// A row below `len`. O(log objects).
    pub fn get(&self, row: usize) -> ObjectRow {
        match &self.few {
            Some(rows) => rows[row].clone(),
            None => ObjectRow::new(self.graph, self.nodes[row]),
        }
    }

    /// The rows that are shown, one by one.
    pub fn iter(&self) -> impl Iterator<Item = ObjectRow> + '_ {
        (0..self.shown).map(|row| self.get(row))
    }
}

impl Serialize for NodeRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.shown))?;
        for (at, row) in self.iter().enumerate() {
            let reference = self.reference(at).map(str::to_string);
            rows.serialize_element(&NamedRow { row, reference })?;
        }
        rows.end()
    }
}

/// One object. O(references) once for all references reversed, and the dominator tree.
///
/// # Errors
/// When the dump holds no objects, has no such object, or takes more memory than it may.
pub fn object<'d>(dump: &'d OpenDump, options: &ObjectOptions) -> Result<ObjectAnswer<'d>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NotObjects)?;
    let node = options.object.find(graph, &options.scope)?;
    dump.check_referrers()?;
    let (dominators, retained) = dump.dominators()?;
    let retained_bytes = retained.bytes_of(dominators, node);
    let dominator = match dominators.dominator_of(node) {
        Dominator::Node(dominator) => Some(ObjectRow::new(graph, dominator)),
        Dominator::Roots | Dominator::Unreachable => None,
    };
    let section = graph.section_of(node);
    let mut references = NodeRows::new(graph, graph.strong_references(node), options.rows);
    if let Some(names) = ReferenceNames::of(dump) {
        references.names = names.of_strong(node, references.len().min(FEW_ROWS));
    }
    let referrers = NodeRows::new(graph, graph.strong_referrers(node), options.rows);
    if references.few.is_none() || referrers.few.is_none() {
        // Rows are printed while they are made.
        dump.verify_index();
    }
    Ok(ObjectAnswer {
        object: ShownObject {
            row: ObjectRow::new(graph, node),
            retained_bytes,
            dominator: dominator.as_ref().map(|dominator| dominator.id.clone()),
        },
        reachability: Reachability::find(dump, graph, node, retained_bytes.is_some()),
        roots: graph.roots().iter().filter(|root| root.node == node).map(|root| RootRow::new(graph, root)).collect(),
        references,
        referrers,
        roots_inferred: graph.roots_inferred(),
        section: (graph.sections().len() > 1)
            .then(|| (section.number(), graph.sections()[section.index()].name.clone())),
        dominator,
        has_classes: !graph.types().class_objects().is_empty(),
    })
}
