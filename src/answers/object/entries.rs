//! The elements of a collection as a programmer sees them: keys with values, elements by number.

use rustc_hash::FxHashMap;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::analysis::collections::{CollectionRules, CollectionTypes, ElementFields, EntryNames};
use crate::answers::rows::ROWS_READ_TOGETHER;
use crate::answers::values::{ShownValue, ValueReader, unreadable_values};
use crate::answers::{AnswerError, ObjectRow};
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId, NodeSet, TypeId};
use crate::input::{ObjectDetails, ReferenceName, Value};
use crate::units::{count_with_noun, format_count};

/// Collections in collections that are looked through.
const MAX_WRAPPERS: usize = 8;
/// Bytes of a slot of a table, of an entry, while they are read.
const BYTES_PER_ENTRY: u64 = 100;

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
    let details = dump.values().map_err(AnswerError::NoValues)?;
    let types = CollectionRules::built_in().resolve(graph);
    let mut walk = EntryWalk {
        dump,
        graph,
        details,
        types: &types,
        limit: limit.unwrap_or(usize::MAX),
        field_numbers: FxHashMap::default(),
        visited_entries: NodeSet::new(graph.node_count()),
        found: FoundEntries::default(),
        is_set: false,
    };
    if !walk.add_collection(node)? {
        return Ok(None);
    }
    let FoundEntries { mut figures, used_buckets, entries } = walk.found;
    figures.collisions = used_buckets.map(|used| figures.entry_count.saturating_sub(used));
    let reader = ValueReader::find(dump)?;
    let tree = dump.dominators_unless_cut()?;
    let mut rows = Vec::with_capacity(entries.len());
    for entries in entries.chunks(ROWS_READ_TOGETHER) {
        let objects = entries.iter().flat_map(|(key, value)| [key, value]).filter_map(FoundEnd::object);
        let mut objects: Vec<NodeId> = objects.collect();
        objects.sort_unstable();
        objects.dedup();
        let said = reader.shown_values(&objects);
        let end = |end: &FoundEnd| {
            Some(match end {
                FoundEnd::Nothing => return None,
                FoundEnd::Index(number) => EntryEnd::Index(*number),
                FoundEnd::Name(name) => EntryEnd::Name(name.clone()),
                FoundEnd::Value(Value::Object(node)) => {
                    let retained = tree.and_then(|(dominators, retained)| retained.bytes_of(dominators, *node));
                    let said = objects.binary_search(node).ok().and_then(|at| said[at].clone());
                    EntryEnd::Object(Box::new(ObjectRow::new(graph, *node)), retained, said)
                }
                FoundEnd::Value(value) => EntryEnd::Value(value.clone().into()),
            })
        };
        let row = |(key, value): &(FoundEnd, FoundEnd)| {
            Some(EntryRow { key: end(key), value: end(value).unwrap_or(EntryEnd::Value(Value::Null.into())) })
        };
        rows.extend(entries.iter().filter_map(row));
    }
    Ok(Some(CollectionEntries { figures, rows }))
}

/// A key or a value that was found.
#[derive(Debug, Clone)]
enum FoundEnd {
    Nothing,
    Index(u64),
    Name(String),
    Value(Value),
}

impl FoundEnd {
    fn object(&self) -> Option<NodeId> {
        match self {
            FoundEnd::Value(Value::Object(node)) => Some(*node),
            _ => None,
        }
    }
}

#[derive(Debug, Default)]
struct FoundEntries {
    figures: CollectionFigures,
    used_buckets: Option<u64>,
    entries: Vec<(FoundEnd, FoundEnd)>,
}

/// Numbers of the fields of entries of a type: key, value, next, left, bin.
type EntryFieldNumbers = [Option<usize>; 5];

struct EntryWalk<'d> {
    dump: &'d OpenDump,
    graph: &'d HeapGraph,
    details: &'d dyn ObjectDetails,
    types: &'d CollectionTypes,
    limit: usize,
    field_numbers: FxHashMap<TypeId, EntryFieldNumbers>,
    /// Entries that were met: damaged ones may go round in a circle.
    visited_entries: NodeSet,
    found: FoundEntries,
    /// Elements are the keys alone.
    is_set: bool,
}

impl EntryWalk<'_> {
    fn add_entry(&mut self, key: FoundEnd, value: FoundEnd) {
        self.found.figures.entry_count += 1;
        if self.found.entries.len() < self.limit {
            let entry = if self.is_set { (FoundEnd::Nothing, key) } else { (key, value) };
            self.found.entries.push(entry);
        }
    }

    fn values_of(&self, node: NodeId) -> Result<Vec<Value>, AnswerError> {
        let fields = self.details.fields(self.graph, node).map_err(unreadable_values)?;
        Ok(fields.into_iter().map(|field| field.value).collect())
    }

    fn elements_of(&self, array: NodeId) -> Result<Option<Vec<Value>>, AnswerError> {
        let length = self.details.elements(self.graph, array, 0).map_err(unreadable_values)?.map(|array| array.length);
        let Some(length) = length else { return Ok(None) };
        self.dump.check_rows_memory(length, BYTES_PER_ENTRY)?;
        let elements = self.details.elements(self.graph, array, length as usize).map_err(unreadable_values)?;
        Ok(elements.map(|elements| elements.first_elements))
    }

    /// Adds the elements of a collection; false if it is none.
    fn add_collection(&mut self, start: NodeId) -> Result<bool, AnswerError> {
        let types = self.types;
        let mut node = start;
        for _ in 0..MAX_WRAPPERS {
            let Some(fields) = types.elements_of_type(self.graph.type_of(node)) else {
                return if node == start { self.add_without_rule(node) } else { Ok(false) };
            };
            let values = self.values_of(node)?;
            self.is_set |= fields.is_set;
            match fields.inner.map(|field| values.get(field)) {
                Some(Some(Value::Object(inner))) => node = *inner,
                Some(_) => return Ok(true),
                None => return self.add_elements(fields, &values),
            }
        }
        Ok(false)
    }

    /// Arrays, and objects of JavaScript.
    fn add_without_rule(&mut self, node: NodeId) -> Result<bool, AnswerError> {
        if let Some(elements) = self.elements_of(node)? {
            self.found.figures.capacity = Some(elements.len() as u64);
            for (at, element) in (0..).zip(elements) {
                self.add_entry(FoundEnd::Index(at), FoundEnd::Value(element));
            }
            return Ok(true);
        }
        if !self.details.has_reference_names() || self.graph.types().have_superclasses() {
            return Ok(false);
        }
        let mut holders = vec![node];
        let mut is_any = false;
        while let Some(node) = holders.pop() {
            for (nth, reference) in self.graph.references(node).enumerate() {
                let name = self.details.reference_name(self.graph, node, nth).map_err(unreadable_values)?;
                let key = match name {
                    Some(ReferenceName::Property(name)) if name != "__proto__" => FoundEnd::Name(name),
                    Some(ReferenceName::Element(at)) => FoundEnd::Index(at),
                    // The value is called by its key.
                    Some(ReferenceName::MapEntry(name)) if name == "Map key" => continue,
                    Some(ReferenceName::MapEntry(name)) if name == "Set key" => FoundEnd::Nothing,
                    Some(ReferenceName::MapEntry(name)) => FoundEnd::Name(key_of_map_entry(&name).to_string()),
                    Some(ReferenceName::Internal(name)) if name == "table" && holders.is_empty() && !is_any => {
                        holders.push(reference.node);
                        continue;
                    }
                    _ => continue,
                };
                is_any = true;
                self.add_entry(key, FoundEnd::Value(Value::Object(reference.node)));
            }
        }
        Ok(is_any)
    }

    fn add_elements(&mut self, fields: &ElementFields, values: &[Value]) -> Result<bool, AnswerError> {
        let object = |field: Option<usize>| match values.get(field?) {
            Some(Value::Object(node)) => Some(*node),
            _ => None,
        };
        let number = |field: Option<usize>| match values.get(field?) {
            Some(Value::Integer(number)) => usize::try_from(*number).ok(),
            _ => None,
        };
        if !fields.each.is_empty() {
            let each: Vec<Value> = fields.each.iter().filter_map(|&field| values.get(field).cloned()).collect();
            // The first is always there; what stands for no second one is null or a plain object.
            let is_there = |at: usize, value: &Value| match value {
                _ if at == 0 || fields.slots_per_entry > 1 => true,
                Value::Object(node) => self.graph.type_name(self.graph.type_of(*node)) != "java.lang.Object",
                value => *value != Value::Null,
            };
            let each = each.into_iter().enumerate().filter(|(at, value)| is_there(*at, value));
            let each: Vec<Value> = each.map(|(_, value)| value).collect();
            self.add_slots(each, fields, None);
            return Ok(true);
        }
        if let Some((first, through)) = &fields.first {
            let mut entry = object(Some(*first));
            if let Some(holder) = entry.filter(|_| !through.is_empty()) {
                let field = CollectionTypes::field_number(self.graph, self.graph.type_of(holder), through);
                let values = self.values_of(holder)?;
                entry = field.and_then(|field| match values.get(field) {
                    Some(Value::Object(node)) => Some(*node),
                    _ => None,
                });
            }
            self.add_entries_from(entry, fields)?;
            return Ok(true);
        }
        let Some(table) = object(fields.table) else { return Ok(fields.table.is_some()) };
        let Some(mut slots) = self.elements_of(table)? else { return Ok(false) };
        self.found.figures.capacity = Some((slots.len() / fields.slots_per_entry) as u64);
        if !fields.entry.are_empty() {
            let used = slots.iter().filter(|slot| matches!(slot, Value::Object(_))).count();
            self.found.used_buckets = fields.has_buckets.then_some(used as u64);
            for slot in slots {
                if let Value::Object(entry) = slot {
                    self.add_entries_from(Some(entry), fields)?;
                }
            }
            return Ok(true);
        }
        if fields.head.is_some() && !slots.is_empty() {
            let head = number(fields.head).unwrap_or(0) % slots.len();
            slots.rotate_left(head);
        }
        let beside = match object(fields.keys.or(fields.values)) {
            Some(array) => self.elements_of(array)?,
            None => None,
        };
        // Lists are filled from the front; elsewhere what is null is no element.
        let is_list = fields.slots_per_entry == 1 && beside.is_none();
        if let Some(size) = number(fields.size).filter(|_| is_list) {
            slots.truncate(size);
        }
        self.add_slots(slots, fields, beside);
        Ok(true)
    }

    /// Adds the elements that slots hold: one by one, a key and a value in turn, or with those of another array.
    fn add_slots(&mut self, slots: Vec<Value>, fields: &ElementFields, beside: Option<Vec<Value>>) {
        let is_null = |value: &Value| matches!(value, Value::Null);
        if fields.slots_per_entry == 2 {
            for pair in slots.chunks_exact(2).filter(|pair| !is_null(&pair[0]) || !is_null(&pair[1])) {
                self.add_entry(FoundEnd::Value(pair[0].clone()), FoundEnd::Value(pair[1].clone()));
            }
            return;
        }
        let skips_nulls = fields.skips_nulls || beside.is_some();
        let mut index = 0;
        for (at, slot) in slots.into_iter().enumerate() {
            if skips_nulls && is_null(&slot) {
                continue;
            }
            let other = beside.as_ref().and_then(|values| values.get(at)).cloned();
            let (key, value) = match other {
                Some(key) if fields.keys.is_some() => (FoundEnd::Value(key), FoundEnd::Value(slot)),
                Some(value) => (FoundEnd::Value(slot), FoundEnd::Value(value)),
                None if self.is_set => (FoundEnd::Value(slot), FoundEnd::Nothing),
                None => (FoundEnd::Index(index), FoundEnd::Value(slot)),
            };
            index += 1;
            self.add_entry(key, value);
        }
    }

    /// Adds an entry and all that follow it, those of a tree in its order.
    fn add_entries_from(&mut self, start: Option<NodeId>, fields: &ElementFields) -> Result<(), AnswerError> {
        let mut open: Vec<(NodeId, Option<(Value, Value)>)> = start.map(|node| (node, None)).into_iter().collect();
        while let Some((node, passed)) = open.pop() {
            if let Some((key, value)) = passed {
                self.add_key_and_value(fields, key, value);
                continue;
            }
            if !self.visited_entries.insert(node) {
                continue;
            }
            let (graph, names) = (self.graph, &fields.entry);
            let type_id = graph.type_of(node);
            let numbers = *self.field_numbers.entry(type_id).or_insert_with(|| field_numbers(graph, type_id, names));
            let values = self.values_of(node)?;
            let [key, value, next, left, bin] = numbers.map(|field| field.and_then(|field| values.get(field)).cloned());
            let object = |value: Option<Value>| match value {
                Some(Value::Object(node)) => Some((node, None)),
                _ => None,
            };
            if numbers[4].is_some() {
                open.extend(object(bin));
                continue;
            }
            if key.is_none() && value.is_none() {
                continue;
            }
            let entry = (key.unwrap_or(Value::Null), value.unwrap_or(Value::Null));
            open.extend(object(next));
            match object(left) {
                Some(left) => open.extend([(node, Some(entry)), left]),
                None => self.add_key_and_value(fields, entry.0, entry.1),
            }
        }
        Ok(())
    }

    fn add_key_and_value(&mut self, fields: &ElementFields, key: Value, value: Value) {
        let is_gone = |names: &str, value: &Value| !names.is_empty() && matches!(value, Value::Null);
        let EntryNames { key: of_key, value: of_value, .. } = &fields.entry;
        if fields.skips_nulls && (is_gone(of_key, &key) || is_gone(of_value, &value)) {
            return;
        }
        match (of_key.is_empty(), of_value.is_empty()) {
            (true, _) => self.add_entry(FoundEnd::Index(self.found.figures.entry_count), FoundEnd::Value(value)),
            (_, true) => self.add_entry(FoundEnd::Nothing, FoundEnd::Value(key)),
            _ => self.add_entry(FoundEnd::Value(key), FoundEnd::Value(value)),
        }
    }
}

fn field_numbers(graph: &HeapGraph, type_id: TypeId, names: &EntryNames) -> EntryFieldNumbers {
    let EntryNames { key, value, next, left, bin } = names;
    [key, value, next, left, bin].map(|names| CollectionTypes::field_number(graph, type_id, names))
}

/// `key` of `Map["key"]`.
fn key_of_map_entry(name: &str) -> &str {
    let key = name.split_once('[').map_or(name, |(_, key)| key.trim_end_matches(']'));
    key.strip_prefix('"').and_then(|key| key.strip_suffix('"')).unwrap_or(key)
}
