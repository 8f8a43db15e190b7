//! The elements of a collection as a programmer sees them: keys with values, elements by number.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::answers::rows::ROWS_READ_TOGETHER;
use crate::answers::values::{ShownValue, ValueReader};
use crate::answers::{AnswerError, ObjectRow};
use crate::dump::OpenDump;
use crate::filter::{CollectionReader, ElementPart};
use crate::graph::NodeId;
use crate::input::Value;
use crate::units::{count_with_noun, format_count};

/// The elements of a collection.
#[derive(Debug, Clone, Serialize)]
pub struct CollectionEntries {
    /// How many there are, and where.
    #[serde(rename = "collection")]
    pub figures: CollectionFigures,
    /// The first of them.
    #[serde(rename = "entries")]
    pub rows: Vec<EntryRow>,
}

/// Figures of a collection.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct CollectionFigures {
    /// Number of elements.
    #[serde(rename = "entries")]
    pub entry_count: u64,
    /// Elements that its table has room for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u64>,
    /// Elements that share a bucket with one before them, of tables of buckets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collisions: Option<u64>,
}

impl CollectionFigures {
    /// In a line: `1,234 entries, room for 2,048, 17 collisions`.
    pub fn words(&self) -> String {
        let room = self.capacity.map(|capacity| format!(", room for {}", format_count(capacity)));
        let collisions = self.collisions.map(|count| format!(", {}", count_with_noun(count, "collisions")));
        let parts = [room, collisions].into_iter().flatten().collect::<String>();
        format!("{}{parts}", count_with_noun(self.entry_count, "entries"))
    }
}

/// An element of a collection.
#[derive(Debug, Clone)]
pub struct EntryRow {
    /// The key of a map, the number in a list; `None` of a set.
    pub key: Option<EntryEnd>,
    /// The value, or the element.
    pub value: EntryEnd,
}

/// A key, a value or an element.
#[derive(Debug, Clone)]
pub enum EntryEnd {
    /// The number of an element in its list.
    Index(u64),
    /// A name that is no object.
    Name(String),
    /// A value that is no object, or null.
    Value(ShownValue),
    /// An object, what it retains, and what it says.
    Object(Box<ObjectRow>, Option<u64>, Option<ShownValue>),
}

impl EntryEnd {
    /// In a line for people: `"abc-123"`, `demo.Session 0x7f2da480`.
    pub fn words(&self) -> String {
        match self {
            EntryEnd::Index(number) => format!("[{number}]"),
            EntryEnd::Name(name) => format!("\"{name}\""),
            EntryEnd::Value(value) => value.words(),
            EntryEnd::Object(_, _, Some(said)) => said.words(),
            EntryEnd::Object(object, ..) => format!("{} {}", object.type_text(), object.id),
        }
    }

    /// The object, where it is one.
    pub fn object(&self) -> Option<(&ObjectRow, Option<u64>)> {
        match self {
            EntryEnd::Object(object, retained, _) => Some((object, *retained)),
            _ => None,
        }
    }

    /// What it says, where it says something.
    pub fn value(&self) -> Option<&ShownValue> {
        match self {
            EntryEnd::Value(value) | EntryEnd::Object(_, _, Some(value)) => Some(value),
            _ => None,
        }
    }
}

impl Serialize for EntryEnd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            EntryEnd::Index(number) => serializer.serialize_u64(*number),
            EntryEnd::Name(name) => serializer.serialize_str(name),
            EntryEnd::Value(value) => value.serialize(serializer),
            EntryEnd::Object(object, retained, said) => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("id", &object.id)?;
                map.serialize_entry("type", &object.type_name)?;
                map.serialize_entry("retained_bytes", retained)?;
                if let Some(said) = said {
                    map.serialize_entry("value", said)?;
                    if said.is_cut() {
                        map.serialize_entry("truncated", &true)?;
                    }
                }
                map.end()
            }
        }
    }
}

impl Serialize for EntryRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(key) = &self.key {
            map.serialize_entry("key", key)?;
        }
        map.serialize_entry("value", &self.value)?;
        map.end()
    }
}

/// The elements of an object, of which so many are shown; `None` of what is no known collection and no array of references. A
/// few reads of the file for each entry of its own, and the elements of its table at once.
pub(super) fn collection_entries(
    dump: &OpenDump,
    node: NodeId,
    limit: Option<usize>,
) -> Result<Option<CollectionEntries>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    let Some(found) = CollectionReader::of(dump, graph)?.elements(node, limit.unwrap_or(usize::MAX))? else {
        return Ok(None);
    };
    let figures = CollectionFigures {
        entry_count: found.count,
        capacity: found.capacity,
        collisions: found.used_buckets.map(|used| found.count.saturating_sub(used)),
    };
    let reader = ValueReader::find(dump)?;
    let tree = dump.dominators_unless_cut()?;
    // Constants of JavaScript are objects that a program does not see.
    let has_constants = !graph.types().have_superclasses();
    let mut rows = Vec::with_capacity(found.elements.len());
    for elements in found.elements.chunks(ROWS_READ_TOGETHER) {
        let objects = elements.iter().flat_map(|(key, value)| [key, value]).filter_map(ElementPart::object);
        let mut objects: Vec<NodeId> = objects.collect();
        objects.sort_unstable();
        objects.dedup();
        let said = reader.shown_values(&objects);
        let end = |end: &ElementPart| {
            Some(match end {
                ElementPart::Nothing => return None,
                ElementPart::Index(number) => EntryEnd::Index(*number),
                ElementPart::Name(name) => EntryEnd::Name(name.clone()),
                ElementPart::Value(Value::Object(node)) => {
                    let said = objects.binary_search(node).ok().and_then(|at| said[at].clone());
                    if let Some(ShownValue::Primitive(Value::Null | Value::Boolean(_))) = &said
                        && has_constants
                    {
                        return said.map(EntryEnd::Value);
                    }
                    let retained = tree.and_then(|(dominators, retained)| retained.bytes_of(dominators, *node));
                    EntryEnd::Object(Box::new(ObjectRow::new(graph, *node)), retained, said)
                }
                ElementPart::Value(value) => EntryEnd::Value(value.clone().into()),
            })
        };
        let row = |(key, value): &(ElementPart, ElementPart)| {
            Some(EntryRow { key: end(key), value: end(value).unwrap_or(EntryEnd::Value(Value::Null.into())) })
        };
        rows.extend(elements.iter().filter_map(row));
    }
    Ok(Some(CollectionEntries { figures, rows }))
}
