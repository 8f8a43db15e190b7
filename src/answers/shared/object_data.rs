//! An object as data: texts, numbers, lists and maps, and all else by its fields.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::object_texts::text_of_known_class;
use super::values::{ShownValue, field_name, unreadable_values};
use super::{AnswerError, CommandLine};
use crate::answers::libraries::dotted_type_name;
use crate::dump::OpenDump;
use crate::filter::{CollectionReader, ElementPart, FoundElements};
use crate::graph::{HeapGraph, NodeId, TypeId};
use crate::input::{FieldValue, ObjectDetails, ReferenceName, Text, Value};

/// UTF-16 units of a text that are read with those of others; a longer one is read by itself.
const UNITS_READ_TOGETHER: usize = 1024;

/// How much of an object's data is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataOptions {
    /// References that are followed one behind the other, at most [`MAX_DEPTH`](Self::MAX_DEPTH).
    pub depth: usize,
    /// Values, at most.
    pub max_values: usize,
    /// Bytes of texts, at most.
    pub max_bytes: usize,
}

impl DataOptions {
    /// The deepest that is told.
    pub const MAX_DEPTH: usize = 32;

    /// Objects down to a depth: 10,000 values and 1 MiB of texts of each object that is asked for.
    pub fn new(depth: usize) -> Self {
        DataOptions { depth: depth.min(Self::MAX_DEPTH), max_values: 10_000, max_bytes: 1 << 20 }
    }

    /// Adds the options that ask for them to a command line.
    pub(in crate::answers) fn add_to(options: Option<Self>, line: &mut CommandLine) {
        let Some(DataOptions { depth, max_values, max_bytes }) = options else { return };
        let default = Self::new(depth);
        let is_other = |number: usize, default: usize| (number != default).then(|| number.to_string());
        line.add_option("--deep", Some(&depth.to_string()));
        line.add_option("-f", Some("json"));
        line.add_option("--deep-values", is_other(max_values, default.max_values).as_deref());
        line.add_option("--deep-bytes", is_other(max_bytes, default.max_bytes).as_deref());
    }
}

/// Data of an object.
///
/// In JSON: what is no text, number, truth value, list or map is an object with `@type`, `@id` and its fields; one that is told
/// before it `{"@ref": id}`; one that is too deep `@type` and `@id` alone; `@more` tells how many elements, fields or bytes of
/// a text are left out.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ObjectData {
    /// A value that has no parts.
    Value(ShownValue),
    /// Elements.
    List(Vec<ObjectData>),
    /// Entries, or fields with what is said beside them. Names are different.
    Map(Vec<(String, ObjectData)>),
}

impl ObjectData {
    fn text(text: impl Into<String>) -> Self {
        ObjectData::Value(ShownValue::Text(Text { text: text.into(), is_cut: false }))
    }

    fn number(number: u64) -> Self {
        ObjectData::Value(Value::Integer(number as i64).into())
    }
}

impl Serialize for ObjectData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ObjectData::Value(value) => value.serialize(serializer),
            ObjectData::List(elements) => {
                let mut list = serializer.serialize_seq(Some(elements.len()))?;
                elements.iter().try_for_each(|element| list.serialize_element(element))?;
                list.end()
            }
            ObjectData::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
                map.end()
            }
        }
    }
}

/// Reads objects as data.
pub(in crate::answers) struct DataReader<'d> {
    graph: &'d HeapGraph,
    details: &'d dyn ObjectDetails,
    collections: CollectionReader<'d>,
    /// By type: constants of enumerations.
    is_enum: Vec<bool>,
    options: DataOptions,
}

impl<'d> DataReader<'d> {
    /// The reader. Error: of a dump without values.
    pub(in crate::answers) fn find(dump: &'d OpenDump, options: DataOptions) -> Result<Self, AnswerError> {
        let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
        let types = graph.types();
        let is_enum = types.map_by_superclass(|type_id, above: Option<&bool>| {
            above.copied().unwrap_or(false) || dotted_type_name(types.name(type_id)) == "java.lang.Enum"
        });
        let details = dump.values().map_err(AnswerError::NoValues)?;
        Ok(DataReader { graph, details, collections: CollectionReader::of(dump, graph)?, is_enum, options })
    }

    /// The data of an object. A few reads of the dump for each value.
    pub(in crate::answers) fn data(&self, node: NodeId) -> Result<ObjectData, AnswerError> {
        let DataOptions { depth, max_values, max_bytes } = self.options;
        let mut walk = DataWalk { reader: self, told: HashSet::new(), values_left: max_values, bytes_left: max_bytes };
        let said = walk.shown_values(&[node])?.remove(&node);
        walk.object(node, said, Some(depth))
    }
}

struct DataWalk<'r, 'd> {
    reader: &'r DataReader<'d>,
    /// Objects that were told with their parts.
    told: HashSet<NodeId>,
    values_left: usize,
    bytes_left: usize,
}

impl DataWalk<'_, '_> {
    fn has_room(&self) -> bool {
        self.values_left > 0 && self.bytes_left > 0
    }

    fn take_bytes(&mut self, bytes: usize) {
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
    }

    /// What some objects say.
    fn shown_values(&self, nodes: &[NodeId]) -> Result<HashMap<NodeId, ShownValue>, AnswerError> {
        let reader = self.reader;
        let said = reader.details.shown_values(reader.graph, nodes, UNITS_READ_TOGETHER).map_err(unreadable_values)?;
        Ok(nodes.iter().zip(said).filter_map(|(&node, said)| Some((node, said?))).collect())
    }

    /// An object that says this of itself, with what is so many references behind it; `None`: without its parts.
    fn object(
        &mut self,
        node: NodeId,
        said: Option<ShownValue>,
        depth: Option<usize>,
    ) -> Result<ObjectData, AnswerError> {
        let reader = self.reader;
        let graph = reader.graph;
        self.values_left = self.values_left.saturating_sub(1);
        match said {
            Some(ShownValue::Text(text)) => return self.text(node, text),
            Some(value @ ShownValue::Primitive(_)) => return Ok(ObjectData::Value(value)),
            Some(ShownValue::Name(name)) if self.is_told_by_name(node) => {
                self.take_bytes(name.text.len());
                return Ok(ObjectData::text(name.text));
            }
            _ => {}
        }
        if self.told.contains(&node) {
            return Ok(ObjectData::Map(vec![("@ref".into(), ObjectData::text(graph.display_id(node)))]));
        }
        let fields = reader.details.fields(graph, node).map_err(unreadable_values)?;
        let class = dotted_type_name(graph.type_name(graph.type_of(node)));
        if let Some(text) = self.known_text(&class, &fields)? {
            return Ok(text);
        }
        let mut parts = vec![
            ("@type".to_string(), ObjectData::text(graph.type_name(graph.type_of(node)))),
            ("@id".to_string(), ObjectData::text(graph.display_id(node))),
        ];
        let Some(depth) = depth.map(|depth| depth.checked_sub(1)) else {
            return Ok(ObjectData::Map(parts));
        };
        self.told.insert(node);
        if class == "java.util.Optional" || class == "java.util.concurrent.atomic.AtomicReference" {
            let value = fields.into_iter().find(|field| field_name(field) == "value").map(|field| field.value);
            return Ok(self.values(vec![value.unwrap_or(Value::Null)], depth)?.remove(0));
        }
        if let Some(found) = reader.collections.elements(node, self.values_left.saturating_add(1))? {
            let is_of_names = |(key, _): &(ElementPart, ElementPart)| matches!(key, ElementPart::Name(_));
            if !reader.graph.types().have_superclasses() && found.elements.iter().any(is_of_names) {
                // Properties of an object of JavaScript.
                return self.properties(parts, found.elements, found.count, depth);
            }
            let is_plain = !reader.graph.types().have_superclasses() && !is_script_collection(&class);
            if is_plain && fields.is_empty() && found.elements.is_empty() {
                return Ok(ObjectData::Map(parts));
            }
            return self.collection(found, depth);
        }
        let named: Vec<(String, Value)> = self.named_fields(fields);
        self.add_named(&mut parts, named, depth)?;
        Ok(ObjectData::Map(parts))
    }

    /// Fields with their names, those whose name comes twice with their class.
    fn named_fields(&self, fields: Vec<FieldValue>) -> Vec<(String, Value)> {
        let types = self.reader.graph.types();
        let mut known = HashSet::new();
        let name = |field: FieldValue| {
            let name = field_name(&field).to_string();
            let of_class = |class: TypeId| format!("{}.{name}", types.name(class));
            let name = match &field.name {
                ReferenceName::Field(class, _) if known.contains(&name) => of_class(*class),
                _ => name.clone(),
            };
            (known.insert(name.clone())).then_some((name, field.value))
        };
        fields.into_iter().filter_map(name).collect()
    }

    fn properties(
        &mut self,
        mut parts: Vec<(String, ObjectData)>,
        elements: Vec<(ElementPart, ElementPart)>,
        count: u64,
        depth: Option<usize>,
    ) -> Result<ObjectData, AnswerError> {
        let more = count - elements.len() as u64;
        let named = elements.into_iter().map(|(key, value)| {
            let name = match key {
                ElementPart::Index(at) => at.to_string(),
                ElementPart::Name(name) => name,
                _ => String::new(),
            };
            (name, value_of_part(value))
        });
        let named = named.collect();
        self.add_named(&mut parts, named, depth)?;
        if more > 0 && parts.last().is_none_or(|(name, _)| name != "@more") {
            parts.push(("@more".into(), ObjectData::number(more)));
        }
        Ok(ObjectData::Map(parts))
    }

    /// Adds what has a name, as far as there is room.
    fn add_named(
        &mut self,
        parts: &mut Vec<(String, ObjectData)>,
        named: Vec<(String, Value)>,
        depth: Option<usize>,
    ) -> Result<(), AnswerError> {
        let said = self.said_by(named.iter().map(|(_, value)| value))?;
        let count = named.len();
        for (at, (name, value)) in named.into_iter().enumerate() {
            if !self.has_room() {
                parts.push(("@more".into(), ObjectData::number((count - at) as u64)));
                break;
            }
            self.take_bytes(name.len());
            let data = self.value(value, &said, depth)?;
            parts.push((name, data));
        }
        Ok(())
    }

    fn said_by<'v>(&self, values: impl Iterator<Item = &'v Value>) -> Result<HashMap<NodeId, ShownValue>, AnswerError> {
        let object = |value: &Value| if let Value::Object(node) = value { Some(*node) } else { None };
        let objects: BTreeSet<NodeId> = values.filter_map(object).take(self.values_left.saturating_add(1)).collect();
        self.shown_values(&objects.into_iter().collect::<Vec<_>>())
    }

    fn value(
        &mut self,
        value: Value,
        said: &HashMap<NodeId, ShownValue>,
        depth: Option<usize>,
    ) -> Result<ObjectData, AnswerError> {
        match value {
            Value::Object(node) => self.object(node, said.get(&node).cloned(), depth),
            Value::Dangling(id) => {
                self.values_left = self.values_left.saturating_sub(1);
                let id = self.reader.graph.id_style().format(id);
                Ok(ObjectData::Map(vec![("@ref".into(), ObjectData::text(id))]))
            }
            value => {
                self.values_left = self.values_left.saturating_sub(1);
                Ok(ObjectData::Value(value.into()))
            }
        }
    }

    /// Values one after another, as far as there is room; then how many more there are.
    fn values(&mut self, values: Vec<Value>, depth: Option<usize>) -> Result<Vec<ObjectData>, AnswerError> {
        let said = self.said_by(values.iter())?;
        let mut list = Vec::new();
        let count = values.len();
        for (at, value) in values.into_iter().enumerate() {
            if !(self.has_room() || list.is_empty() && count == 1) {
                list.push(more(count - at));
                break;
            }
            list.push(self.value(value, &said, depth)?);
        }
        Ok(list)
    }

    /// A list, or a map where there are keys: by their texts where all have different ones, else a list of keys with values.
    fn collection(
        &mut self,
        FoundElements { count, elements, is_map, .. }: FoundElements,
        depth: Option<usize>,
    ) -> Result<ObjectData, AnswerError> {
        let unread = count.saturating_sub(elements.len() as u64) as usize;
        let is_map =
            is_map || elements.iter().any(|(key, _)| matches!(key, ElementPart::Value(_) | ElementPart::Name(_)));
        if !is_map {
            let values = elements.into_iter().map(|(_, value)| value_of_part(value)).collect();
            let mut list = self.values(values, depth)?;
            if unread > 0 {
                match list.pop() {
                    Some(ObjectData::Map(parts)) if parts.first().is_some_and(|(name, _)| name == "@more") => {
                        let Some((_, ObjectData::Value(ShownValue::Primitive(Value::Integer(left))))) = parts.first()
                        else {
                            return Ok(ObjectData::List(list));
                        };
                        list.push(more(*left as usize + unread));
                    }
                    last => {
                        list.extend(last);
                        list.push(more(unread));
                    }
                }
            }
            return Ok(ObjectData::List(list));
        }
        let (keys, values): (Vec<Value>, Vec<Value>) =
            elements.into_iter().map(|(key, value)| (value_of_part(key), value_of_part(value))).unzip();
        let said_keys = self.said_by(keys.iter())?;
        let said = self.said_by(values.iter())?;
        let mut names = HashSet::new();
        let key_text = |key: &Value| match key {
            Value::Object(node) => match said_keys.get(node)? {
                ShownValue::Text(text) if text.is_cut => None,
                ShownValue::Name(_) if !self.is_told_by_name(*node) => None,
                said => Some(said.plain_text()),
            },
            Value::Dangling(_) => None,
            value => Some(ShownValue::from(value.clone()).plain_text()),
        };
        let texts: Option<Vec<String>> = keys.iter().map(key_text).collect();
        let texts = texts.filter(|texts| texts.iter().all(|text| names.insert(text.clone()) && !text.starts_with('@')));
        if let Some(texts) = texts {
            let mut parts = Vec::new();
            self.add_named(&mut parts, texts.into_iter().zip(values).collect(), depth)?;
            if unread > 0 {
                let left = match parts.last() {
                    Some((name, ObjectData::Value(ShownValue::Primitive(Value::Integer(left))))) if name == "@more" => {
                        let left = *left as usize;
                        parts.pop();
                        left
                    }
                    _ => 0,
                };
                parts.push(("@more".into(), ObjectData::number((left + unread) as u64)));
            }
            return Ok(ObjectData::Map(parts));
        }
        let mut list = Vec::new();
        let total = keys.len() + unread;
        for (at, (key, value)) in keys.into_iter().zip(values).enumerate() {
            if !self.has_room() {
                list.push(more(total - at));
                return Ok(ObjectData::List(list));
            }
            let key = self.value(key, &said_keys, depth)?;
            let value = self.value(value, &said, depth)?;
            list.push(ObjectData::Map(vec![("key".into(), key), ("value".into(), value)]));
        }
        if unread > 0 {
            list.push(more(unread));
        }
        Ok(ObjectData::List(list))
    }

    /// A text as far as there is room for it.
    fn text(&mut self, node: NodeId, mut text: Text) -> Result<ObjectData, AnswerError> {
        let reader = self.reader;
        if text.is_cut && text.text.len() < self.bytes_left {
            // A unit takes a byte at least.
            let said =
                reader.details.shown_values(reader.graph, &[node], self.bytes_left).map_err(unreadable_values)?;
            if let Some(Some(ShownValue::Text(whole))) = said.into_iter().next() {
                text = whole;
            }
        }
        if text.text.len() > self.bytes_left {
            let fits = (0..=self.bytes_left).rev().find(|&end| text.text.is_char_boundary(end));
            text.text.truncate(fits.unwrap_or(0));
            text.is_cut = true;
        }
        self.take_bytes(text.text.len());
        if !text.is_cut {
            return Ok(ObjectData::text(text.text));
        }
        let (mut all, shown) = (0u64, text.text.len() as u64);
        let mut count = |bytes: &[u8]| {
            all += bytes.len() as u64;
            true
        };
        reader.details.visit_whole_content(reader.graph, node, &mut count).map_err(unreadable_values)?;
        let parts = [("@text", ObjectData::text(text.text)), ("@more", ObjectData::number(all.saturating_sub(shown)))];
        Ok(ObjectData::Map(parts.map(|(name, value)| (name.to_string(), value)).into()))
    }

    /// Constants of enumerations and classes are their names; a thread is more than its name.
    fn is_told_by_name(&self, node: NodeId) -> bool {
        let graph = self.reader.graph;
        !graph.types().have_superclasses()
            || self.reader.is_enum[graph.type_of(node).index()]
            || graph.types().type_of_class_object(node).is_some()
    }

    fn known_text(&mut self, class: &str, fields: &[FieldValue]) -> Result<Option<ObjectData>, AnswerError> {
        let reader = self.reader;
        let field = |name: &str| fields.iter().find(|field| field_name(field) == name).map(|field| &field.value);
        let of_object = |node: NodeId| reader.details.fields(reader.graph, node).unwrap_or_default();
        let elements = |node: NodeId, limit: usize| {
            let array = reader.details.elements(reader.graph, node, limit).ok().flatten()?;
            (array.length as usize <= limit).then_some(array.first_elements)
        };
        Ok(match text_of_known_class(class, &field, &of_object, &elements) {
            Some(ShownValue::Text(text)) => {
                self.take_bytes(text.text.len());
                Some(ObjectData::Value(ShownValue::Text(text)))
            }
            Some(value) => Some(ObjectData::Value(value)),
            None if class == "java.net.URI" => {
                let Some(Value::Object(node)) = field("string").cloned() else { return Ok(None) };
                match self.shown_values(&[node])?.remove(&node) {
                    Some(ShownValue::Text(text)) => Some(self.text(node, text)?),
                    _ => None,
                }
            }
            None => None,
        })
    }
}

fn is_script_collection(class: &str) -> bool {
    ["Array", "Map", "Set"].contains(&class)
}

fn value_of_part(part: ElementPart) -> Value {
    match part {
        ElementPart::Value(value) => value,
        ElementPart::Name(name) => Value::Text(name),
        ElementPart::Index(number) => Value::Integer(number as i64),
        ElementPart::Nothing => Value::Null,
    }
}

fn more(count: usize) -> ObjectData {
    ObjectData::Map(vec![("@more".into(), ObjectData::number(count as u64))])
}
