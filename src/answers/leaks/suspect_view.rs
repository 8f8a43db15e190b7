//! A suspect as it is shown: plain data, and the path to it.

use serde::{Serialize, Serializer};

use super::described_causes::ElementTypeRow;
use super::holder_words::HolderRow;
use super::suspect_growth::SuspectGrowth;
use crate::analysis::leaks::{AccumulationPoint, AccumulationShape, LeakSuspect, SuspectSubject, split_largest_types};
use crate::analysis::root_paths::RootPaths;
use crate::analysis::root_paths::RootsByNode;
use crate::answers::reference_names::ReferenceNames;
use crate::answers::{CommandLine, ObjectRow, PathRow};
use crate::graph::HeapGraph;

/// Types inside a suspect that are listed.
const MAX_TYPES_LISTED: usize = 20;

/// Kinds of suspects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SuspectKind {
    /// One object.
    Object,
    /// Objects of one type that no single object holds together.
    Group,
}

impl SuspectKind {
    /// The kind as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            SuspectKind::Object => "object",
            SuspectKind::Group => "group",
        }
    }
}

/// Subject and retained size of a suspect.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SuspectRow<'s> {
    /// One object or a group.
    pub kind: SuspectKind,
    /// The object's id; `None` of a group.
    pub id: Option<String>,
    /// The type of the object or of the group.
    #[serde(rename = "type")]
    pub type_name: &'s str,
    /// Objects that are suspected: 1, or those of the group.
    pub objects: usize,
    /// Bytes that would be freed with it.
    pub retained_bytes: u64,
    /// Objects that would be freed with it.
    pub retained_objects: u64,
    /// `retained_bytes` of what strong roots reach in the section, 0 to 1.
    pub share: f64,
}

impl<'s> SuspectRow<'s> {
    pub(super) fn new(graph: &'s HeapGraph, suspect: &LeakSuspect, reachable_bytes: u64) -> Self {
        let (kind, id, type_id) = match &suspect.subject {
            SuspectSubject::Object(node) => (SuspectKind::Object, Some(graph.display_id(*node)), graph.type_of(*node)),
            SuspectSubject::Group(type_id, _) => (SuspectKind::Group, None, *type_id),
        };
        SuspectRow {
            kind,
            id,
            type_name: graph.type_name(type_id),
            objects: suspect.suspected_object_count(),
            retained_bytes: suspect.retained_bytes,
            retained_objects: suspect.retained_objects,
            share: suspect.retained_bytes as f64 / reachable_bytes.max(1) as f64,
        }
    }
}

/// A suspect with the evidence.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SuspectView<'s> {
    /// Subject and retained size.
    #[serde(flatten)]
    pub row: SuspectRow<'s>,
    /// The nearest object above a suspect of a library's type whose type is the application's own.
    pub owner: Option<ObjectRow>,
    /// Place where the memory piles up; of a group, below its largest object.
    pub accumulation_point: AccumulationRow<'s>,
    /// The application's own type that most members of a collection of library objects keep.
    pub keeping: Option<KeptTypeRow<'s>>,
    /// A path from the roots, through what holds it; of a group, to its largest object.
    pub path: SuspectPath<'s>,
    /// The largest types inside, and the others together.
    pub holds: Vec<HeldTypeRow<'s>>,
    /// The types inside that the paragraph names, in words.
    #[serde(skip)]
    pub contents_in_words: String,
    /// Bytes outside the heap that go with it.
    pub off_heap_bytes: u64,
    /// By how much it grew, where an older dump was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<SuspectGrowth>,
    /// The cause in one sentence: what is kept, where, by whom, and how it grew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sentence: Option<String>,
    /// The type that is kept, and how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element: Option<ElementTypeRow>,
    /// The field or variable that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<HolderRow>,
    /// The name of a shape that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<&'static str>,
    /// The advice that goes with that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<&'static str>,
    /// The object or group with its size, what keeps it alive, and where memory piles up: a line each.
    #[serde(skip)]
    pub evidence: Vec<String>,
    /// All of this in a paragraph.
    pub text: String,
    /// The command that shows what is inside.
    #[serde(skip)]
    pub look_further: CommandLine,
}

/// Place where memory piles up.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct AccumulationRow<'s> {
    /// The object.
    #[serde(flatten)]
    pub object: ObjectRow,
    /// Bytes that it retains.
    pub retained_bytes: u64,
    /// `linked-list`, `hash-table`, `array`, `collection`, `single` (the bytes are in the object itself) or `structure`.
    pub shape: &'static str,
    /// Objects in the list or collection.
    pub members: Option<u64>,
    /// Their type.
    pub member_type: Option<&'s str>,
}

/// Type that members of a collection keep.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct KeptTypeRow<'s> {
    /// The type that they keep.
    #[serde(rename = "type")]
    pub type_name: &'s str,
    /// Members that keep an object of it.
    pub objects: u64,
}

/// A type inside a suspect, or the rest of them.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct HeldTypeRow<'s> {
    /// The type, or `<other>`.
    #[serde(rename = "type")]
    pub type_name: &'s str,
    /// Of the rest: how many types.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<u64>,
    /// Objects that would be freed with the suspect.
    pub objects: u64,
    /// Their bytes.
    pub shallow_bytes: u64,
}

/// The path to a suspect.
#[derive(Debug, Clone)]
pub struct SuspectPath<'s> {
    pub(super) graph: &'s HeapGraph,
    pub(super) roots: &'s RootsByNode<'s>,
    /// With the place on it at which what explains it begins: before stands how a class or a module is held.
    pub(super) path_and_start: Option<(RootPaths<'s>, usize)>,
    pub(super) names: Option<ReferenceNames<'s>>,
}

impl SuspectPath<'_> {
    /// The path; `None` when no strong root reaches the suspect.
    pub fn row(&self) -> Option<PathRow<'_>> {
        let (paths, start) = self.path_and_start.as_ref()?;
        Some(PathRow::new(self.graph, self.roots, paths.get(0)?, self.names).starting_at(*start))
    }

    /// The place of the class or module that explains it.
    pub(super) fn explained_from(&self) -> usize {
        self.path_and_start.as_ref().map_or(0, |(_, before)| *before)
    }
}

impl Serialize for SuspectPath<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.row().serialize(serializer)
    }
}

impl<'s> AccumulationRow<'s> {
    pub(super) fn new(graph: &'s HeapGraph, point: &AccumulationPoint, object: ObjectRow) -> Self {
        let (shape, members) = match point.shape {
            AccumulationShape::LinkedList(length, type_id) => ("linked-list", Some((length, type_id))),
            AccumulationShape::Collection(count, type_id) => {
                (collection_shape(&object.type_name), Some((count, type_id)))
            }
            AccumulationShape::SingleObject => ("single", None),
            AccumulationShape::OtherStructure => ("structure", None),
        };
        AccumulationRow {
            object,
            retained_bytes: point.retained_bytes,
            shape,
            members: members.map(|(count, _)| count),
            member_type: members.map(|(_, type_id)| graph.type_name(type_id)),
        }
    }
}

/// Shape of a collection of this type: arrays behind dictionaries and maps are hash tables.
fn collection_shape(type_name: &str) -> &'static str {
    let is_array = type_name.ends_with(']') || type_name.starts_with('[') || type_name.contains("[]");
    let table_words = ["Entry", "Node[", "Bucket", "Slot", "Hash", "Dictionary"];
    match table_words.iter().any(|word| type_name.contains(word)) {
        true => "hash-table",
        false if is_array => "array",
        false => "collection",
    }
}

pub(super) fn held_types<'s>(graph: &'s HeapGraph, suspect: &LeakSuspect) -> Vec<HeldTypeRow<'s>> {
    let (largest, other) = split_largest_types(&suspect.held_types, MAX_TYPES_LISTED);
    let rows = largest.iter().map(|held| HeldTypeRow {
        type_name: graph.type_name(held.type_id),
        types: None,
        objects: held.objects,
        shallow_bytes: held.shallow_bytes,
    });
    let other = other.map(|other| HeldTypeRow {
        type_name: "<other>",
        types: Some(other.type_count),
        objects: other.objects,
        shallow_bytes: other.shallow_bytes,
    });
    rows.chain(other).collect()
}
