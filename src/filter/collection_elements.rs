//! The elements of collections: keys with values, elements by number.

use std::sync::{Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use super::error::{FilterProblem, unreadable};
use super::path_step::PathStep;
use crate::analysis::collections::{CollectionTypes, ElementFields, EntryNames};
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId, TypeId};
use crate::input::{ObjectDetails, ReferenceName, Runtime, ShownValue, Value};

/// Collections in collections that are looked through.
const MAX_WRAPPERS: usize = 8;
/// Bytes of a slot of a table, of an entry, while they are read.
const BYTES_PER_ENTRY: u64 = 100;
/// Entries of one collection that are read before its memory is checked again.
const ENTRIES_BETWEEN_CHECKS: usize = 1 << 16;
/// Keys that are read together.
const KEYS_READ_TOGETHER: usize = 4096;

/// A key or a value of an element.
#[derive(Debug, Clone)]
pub(crate) enum ElementPart {
    /// There is none, or the dump does not have it.
    Nothing,
    /// The number of an element in its list.
    Index(u64),
    /// A name that is no object.
    Name(String),
    /// A value.
    Value(Value),
}

impl ElementPart {
    /// The object, where it is one.
    pub(crate) fn object(&self) -> Option<NodeId> {
        match self {
            ElementPart::Value(Value::Object(node)) => Some(*node),
            _ => None,
        }
    }
}

/// The elements of a collection.
#[derive(Debug, Default)]
pub(crate) struct FoundElements {
    /// How many there are.
    pub(crate) count: u64,
    /// Elements that its table has room for.
    pub(crate) capacity: Option<u64>,
    /// Buckets with an entry, where its table has buckets.
    pub(crate) used_buckets: Option<u64>,
    /// Elements have keys, though there may be none.
    pub(crate) is_map: bool,
    /// The first of them: the key of a map, the number in a list, nothing of a set; and the value.
    pub(crate) elements: Vec<(ElementPart, ElementPart)>,
}

/// Reads the elements of collections of one dump.
#[derive(Debug)]
pub(crate) struct CollectionReader<'d> {
    dump: &'d OpenDump,
    graph: &'d HeapGraph,
    details: &'d dyn ObjectDetails,
    types: &'d CollectionTypes,
    /// The dump's classes are known: its collections have fields.
    has_classes: bool,
    is_javascript: bool,
    /// What was looked up, by collection.
    looked_up: Mutex<FxHashMap<(NodeId, PathStep), Option<Value>>>,
}

impl<'d> CollectionReader<'d> {
    /// The reader. Error: of a dump without values.
    pub(crate) fn of(dump: &'d OpenDump, graph: &'d HeapGraph) -> Result<Self, FilterProblem> {
        Ok(CollectionReader {
            dump,
            graph,
            details: dump.values()?,
            types: dump.collection_types(),
            has_classes: graph.types().have_superclasses() || dump.info().runtime() == Some(Runtime::Java),
            is_javascript: dump.info().runtime() == Some(Runtime::JavaScript),
            looked_up: Mutex::default(),
        })
    }

    pub(super) fn types(&self) -> &CollectionTypes {
        self.types
    }

    /// The number of elements, and the first of them; `None` of what is no known collection and no array. A few reads of the
    /// file for each entry of its own, and the elements of its table at once.
    pub(crate) fn elements(&self, node: NodeId, limit: usize) -> Result<Option<FoundElements>, FilterProblem> {
        let mut walk = ElementWalk {
            reader: self,
            limit,
            field_numbers: FxHashMap::default(),
            visited_entries: FxHashSet::default(),
            found: FoundElements::default(),
            is_set: false,
        };
        Ok(walk.add_collection(node)?.then_some(walk.found))
    }

    /// The collection that does the work for another, if one does. A read of the file.
    pub(super) fn inner_collection(&self, node: NodeId) -> Result<Option<NodeId>, FilterProblem> {
        let fields = self.types.elements_of_type(self.graph.type_of(node));
        let Some(inner) = fields.and_then(|fields| fields.inner) else { return Ok(None) };
        Ok(match self.values_of(node)?.get(inner) {
            Some(Value::Object(inner)) => Some(*inner),
            _ => None,
        })
    }

    /// The element of a collection that a step of a path names: by its number in a list, or by what its key says; of a set by
    /// what it says itself. `None` where there is none. As [`elements`](Self::elements), once for each collection and step.
    pub(super) fn look_up(&self, node: NodeId, step: &PathStep) -> Result<Option<Value>, FilterProblem> {
        let known = |known: &FxHashMap<(NodeId, PathStep), Option<Value>>| known.get(&(node, step.clone())).cloned();
        if let Some(value) = known(&self.looked_up.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(value);
        }
        let value = self.find_element(node, step)?;
        let mut looked_up = self.looked_up.lock().unwrap_or_else(PoisonError::into_inner);
        looked_up.insert((node, step.clone()), value.clone());
        if looked_up.len().is_multiple_of(ENTRIES_BETWEEN_CHECKS) {
            self.dump.check_rows_memory(looked_up.len() as u64, BYTES_PER_ENTRY)?;
        }
        Ok(value)
    }

    fn find_element(&self, node: NodeId, step: &PathStep) -> Result<Option<Value>, FilterProblem> {
        let (wanted, is_text) = match step {
            PathStep::Key(text) => (text.as_str(), true),
            PathStep::Word(word) => (word.as_str(), false),
            PathStep::Field(_) => return Ok(None),
        };
        let Some(found) = self.elements(node, usize::MAX)? else { return Ok(None) };
        let of_element = |value: &ElementPart| match value {
            ElementPart::Value(value) => value.clone(),
            _ => Value::Null,
        };
        let (index, mut asked) = (wanted.parse::<u64>().ok().filter(|_| !is_text), Vec::new());
        for (at, (key, value)) in found.elements.iter().enumerate() {
            let key = if matches!(key, ElementPart::Nothing) { value } else { key };
            let is_it = match key {
                ElementPart::Index(number) => index == Some(*number),
                ElementPart::Name(name) => name == wanted,
                ElementPart::Value(Value::Object(key)) => {
                    asked.push((*key, at));
                    false
                }
                ElementPart::Value(Value::Text(text)) => is_text && text == wanted,
                ElementPart::Value(value) => !is_text && ShownValue::from(value.clone()).plain_text() == wanted,
                ElementPart::Nothing => false,
            };
            if is_it {
                return Ok(Some(of_element(value)));
            }
        }
        // One unit more, so that a longer text is another.
        let most_units = wanted.encode_utf16().count() + 1;
        for asked in asked.chunks(KEYS_READ_TOGETHER) {
            let keys: Vec<NodeId> = asked.iter().map(|(key, _)| *key).collect();
            let said = self.details.shown_values(self.graph, &keys, most_units).map_err(unreadable)?;
            let is_it = |said: &Option<ShownValue>| match said {
                Some(ShownValue::Text(text)) => is_text && !text.is_cut && text.text == wanted,
                Some(ShownValue::Name(text)) => !is_text && !text.is_cut && text.text == wanted,
                Some(value) => !is_text && value.plain_text() == wanted,
                None => false,
            };
            if let Some(at) = said.iter().position(is_it) {
                return Ok(Some(of_element(&found.elements[asked[at].1].1)));
            }
        }
        Ok(None)
    }

    fn values_of(&self, node: NodeId) -> Result<Vec<Value>, FilterProblem> {
        let fields = self.details.fields(self.graph, node).map_err(unreadable)?;
        Ok(fields.into_iter().map(|field| field.value).collect())
    }

    fn elements_of(&self, array: NodeId) -> Result<Option<Vec<Value>>, FilterProblem> {
        let length = self.details.elements(self.graph, array, 0).map_err(unreadable)?.map(|array| array.length);
        let Some(length) = length else { return Ok(None) };
        self.dump.check_rows_memory(length, BYTES_PER_ENTRY)?;
        let elements = self.details.elements(self.graph, array, length as usize).map_err(unreadable)?;
        Ok(elements.map(|elements| elements.first_elements))
    }
}

/// Numbers of the fields of entries of a type: key, value, next, left, bin.
type EntryFieldNumbers = [Option<usize>; 5];

struct ElementWalk<'r, 'd> {
    reader: &'r CollectionReader<'d>,
    limit: usize,
    field_numbers: FxHashMap<TypeId, EntryFieldNumbers>,
    /// Entries that were met: damaged ones may go round in a circle.
    visited_entries: FxHashSet<NodeId>,
    found: FoundElements,
    /// Elements are the keys alone.
    is_set: bool,
}
impl ElementWalk<'_, '_> {
    fn add_entry(&mut self, key: ElementPart, value: ElementPart) {
        self.found.count += 1;
        if self.found.elements.len() < self.limit {
            let entry = if self.is_set { (ElementPart::Nothing, key) } else { (key, value) };
            self.found.elements.push(entry);
        }
    }

    /// Adds the elements of a collection; false if it is none.
    fn add_collection(&mut self, start: NodeId) -> Result<bool, FilterProblem> {
        let (graph, types) = (self.reader.graph, self.reader.types);
        let mut node = start;
        for _ in 0..MAX_WRAPPERS {
            let Some(fields) = types.elements_of_type(graph.type_of(node)) else {
                return if node == start { self.add_without_rule(node) } else { Ok(false) };
            };
            let values = self.reader.values_of(node)?;
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
    fn add_without_rule(&mut self, node: NodeId) -> Result<bool, FilterProblem> {
        if let Some(elements) = self.reader.elements_of(node)? {
            self.found.capacity = Some(elements.len() as u64);
            for (at, element) in (0..).zip(elements) {
                self.add_entry(ElementPart::Index(at), ElementPart::Value(element));
            }
            return Ok(true);
        }
        if !self.reader.details.has_reference_names() || self.reader.has_classes {
            return Ok(false);
        }
        self.add_of_script_object(node)
    }

    /// Adds the entries of a map or a set of JavaScript; of any other object its elements and properties. Small whole numbers
    /// are not in snapshots: an entry without its key, or without its value, or none. False of texts, numbers and the like.
    fn add_of_script_object(&mut self, start: NodeId) -> Result<bool, FilterProblem> {
        let (graph, details) = (self.reader.graph, self.reader.details);
        let said = details.shown_values(graph, &[start], 1).map_err(unreadable)?.pop().flatten();
        if matches!(said, Some(ShownValue::Text(_) | ShownValue::Primitive(_))) {
            return Ok(false);
        }
        let name_of = |node, nth| details.reference_name(graph, node, nth).map_err(unreadable);
        let mut own = Vec::new();
        for (nth, reference) in graph.references(start).enumerate() {
            match name_of(start, nth)? {
                Some(ReferenceName::Property(name)) if name != "__proto__" => {
                    own.push((ElementPart::Name(name), reference.node));
                }
                Some(ReferenceName::Element(at)) => own.push((ElementPart::Index(at), reference.node)),
                Some(ReferenceName::Internal(name))
                    if name == "table" && self.add_table_of_script_map(reference.node)? =>
                {
                    return Ok(true);
                }
                _ => {}
            }
        }
        let is_any = !own.is_empty();
        for (key, value) in own {
            self.add_entry(key, ElementPart::Value(Value::Object(value)));
        }
        Ok(is_any || self.reader.is_javascript)
    }

    /// Adds the entries in the table of a map or a set; false if it is none.
    fn add_table_of_script_map(&mut self, table: NodeId) -> Result<bool, FilterProblem> {
        let (graph, details) = (self.reader.graph, self.reader.details);
        let (mut key, mut is_table) = (None, graph.references(table).len() == 0);
        let flush = |walk: &mut Self, key: &mut Option<Value>| {
            if let Some(key) = key.take() {
                walk.add_entry(ElementPart::Value(key), ElementPart::Nothing);
            }
        };
        for (nth, reference) in graph.references(table).enumerate() {
            let name = details.reference_name(graph, table, nth).map_err(unreadable)?;
            let node = Value::Object(reference.node);
            match name {
                Some(ReferenceName::MapEntry(name)) if name == "Map key" => {
                    flush(self, &mut key);
                    key = Some(node);
                }
                Some(ReferenceName::MapEntry(name)) if name == "Set key" => {
                    self.add_entry(ElementPart::Nothing, ElementPart::Value(node));
                }
                // The key before it is its own, unless it has none.
                Some(ReferenceName::MapEntry(name)) if name == "Map value" => {
                    flush(self, &mut key);
                    self.add_entry(ElementPart::Nothing, ElementPart::Value(node));
                }
                Some(ReferenceName::MapEntry(_)) => {
                    let key = key.take().map_or(ElementPart::Nothing, ElementPart::Value);
                    self.add_entry(key, ElementPart::Value(node));
                }
                _ => continue,
            }
            is_table = true;
        }
        flush(self, &mut key);
        Ok(is_table)
    }

    fn add_elements(&mut self, fields: &ElementFields, values: &[Value]) -> Result<bool, FilterProblem> {
        let object = |field: Option<usize>| match values.get(field?) {
            Some(Value::Object(node)) => Some(*node),
            _ => None,
        };
        let number = |field: Option<usize>| match values.get(field?) {
            Some(Value::Integer(number)) => usize::try_from(*number).ok(),
            _ => None,
        };
        let EntryNames { key, value, .. } = &fields.entry;
        let has_keys = fields.slots_per_entry == 2 || fields.keys.or(fields.values).is_some();
        self.found.is_map = !self.is_set && (has_keys || !key.is_empty() && !value.is_empty() || fields.is_map);
        if fields.is_empty {
            return Ok(true);
        }
        if !fields.each.is_empty() {
            let each: Vec<Value> = fields.each.iter().filter_map(|&field| values.get(field).cloned()).collect();
            // The first is always there; what stands for no second one is null or a plain object.
            let is_there = |at: usize, value: &Value| match value {
                _ if at == 0 || fields.slots_per_entry > 1 => true,
                Value::Object(node) => {
                    self.reader.graph.type_name(self.reader.graph.type_of(*node)) != "java.lang.Object"
                }
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
                let field =
                    CollectionTypes::field_number(self.reader.graph, self.reader.graph.type_of(holder), through);
                let values = self.reader.values_of(holder)?;
                entry = field.and_then(|field| match values.get(field) {
                    Some(Value::Object(node)) => Some(*node),
                    _ => None,
                });
            }
            if let Some(slots) = object(fields.table).map(|table| self.reader.elements_of(table)).transpose()?.flatten()
            {
                self.count_slots(fields, &slots);
            }
            self.add_entries_from(entry, fields)?;
            return Ok(true);
        }
        let Some(table) = object(fields.table) else { return Ok(fields.table.is_some()) };
        let Some(mut slots) = self.reader.elements_of(table)? else { return Ok(false) };
        self.count_slots(fields, &slots);
        if !fields.entry.are_empty() {
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
            Some(array) => self.reader.elements_of(array)?,
            None => None,
        };
        // Filled from the front, unless what is null is no element.
        if let Some(size) = number(fields.size).filter(|_| !fields.skips_nulls) {
            slots.truncate(size.saturating_mul(fields.slots_per_entry));
        }
        self.add_slots(slots, fields, beside);
        Ok(true)
    }

    fn count_slots(&mut self, fields: &ElementFields, slots: &[Value]) {
        self.found.capacity = Some((slots.len() / fields.slots_per_entry) as u64);
        let used = slots.iter().filter(|slot| matches!(slot, Value::Object(_))).count();
        self.found.used_buckets = fields.has_buckets.then_some(used as u64);
    }

    /// Adds the elements that slots hold: one by one, a key and a value in turn, or with those of another array.
    fn add_slots(&mut self, slots: Vec<Value>, fields: &ElementFields, beside: Option<Vec<Value>>) {
        let is_null = |value: &Value| matches!(value, Value::Null);
        if fields.slots_per_entry == 2 {
            let is_there = |pair: &&[Value]| !fields.skips_nulls || !is_null(&pair[0]) || !is_null(&pair[1]);
            for pair in slots.chunks_exact(2).filter(is_there) {
                self.add_entry(ElementPart::Value(pair[0].clone()), ElementPart::Value(pair[1].clone()));
            }
            return;
        }
        let mut index = 0;
        for (at, slot) in slots.into_iter().enumerate() {
            if fields.skips_nulls && is_null(&slot) {
                continue;
            }
            let other = beside.as_ref().and_then(|values| values.get(at)).cloned();
            let (key, value) = match other {
                Some(key) if fields.keys.is_some() => (ElementPart::Value(key), ElementPart::Value(slot)),
                Some(value) => (ElementPart::Value(slot), ElementPart::Value(value)),
                None if self.is_set => (ElementPart::Value(slot), ElementPart::Nothing),
                None => (ElementPart::Index(index), ElementPart::Value(slot)),
            };
            index += 1;
            self.add_entry(key, value);
        }
    }

    /// Adds an entry and all that follow it, those of a tree in its order.
    fn add_entries_from(&mut self, start: Option<NodeId>, fields: &ElementFields) -> Result<(), FilterProblem> {
        let mut open: Vec<(NodeId, Option<(Value, Value)>)> = start.map(|node| (node, None)).into_iter().collect();
        while let Some((node, passed)) = open.pop() {
            if let Some((key, value)) = passed {
                self.add_key_and_value(fields, key, value);
                continue;
            }
            if !self.visited_entries.insert(node) {
                continue;
            }
            if self.visited_entries.len().is_multiple_of(ENTRIES_BETWEEN_CHECKS) {
                self.reader.dump.check_rows_memory(self.visited_entries.len() as u64, BYTES_PER_ENTRY)?;
            }
            let (graph, names) = (self.reader.graph, &fields.entry);
            let type_id = graph.type_of(node);
            let numbers = *self.field_numbers.entry(type_id).or_insert_with(|| field_numbers(graph, type_id, names));
            let values = self.reader.values_of(node)?;
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
            (true, _) => self.add_entry(ElementPart::Index(self.found.count), ElementPart::Value(value)),
            (_, true) => self.add_entry(ElementPart::Nothing, ElementPart::Value(key)),
            _ => self.add_entry(ElementPart::Value(key), ElementPart::Value(value)),
        }
    }
}

fn field_numbers(graph: &HeapGraph, type_id: TypeId, names: &EntryNames) -> EntryFieldNumbers {
    let EntryNames { key, value, next, left, bin } = names;
    [key, value, next, left, bin].map(|names| CollectionTypes::field_number(graph, type_id, names))
}
