//! Values of objects and of their fields, in JSON and in words.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::rows::CLOSURE_VARIABLES_TYPE;
use super::{AnswerError, ObjectRow};
use crate::dump::{NoValues, OpenDump};
use crate::filter::FieldPathValue;
use crate::graph::{FieldKind, HeapGraph, NodeId};
pub use crate::input::ShownValue;
use crate::input::{ArrayElements, FieldValue, ObjectDetails, PRIMITIVES, ReadError, ReferenceName, Text, Value};
use crate::units::format_count;

/// UTF-16 units of a text that are read; the rest is cut off.
pub const MAX_TEXT_UNITS_SHOWN: usize = 1024;
/// Elements of an array of primitive values that are read.
pub const MAX_ELEMENTS_SHOWN: usize = 100;
/// Characters of a text in words.
const MAX_CHARACTERS_IN_WORDS: usize = 100;

/// The bare name of a field.
pub(in crate::answers) fn field_name(field: &FieldValue) -> &str {
    match &field.name {
        ReferenceName::Field(_, name) | ReferenceName::StaticField(name) | ReferenceName::Property(name) => name,
        _ => "",
    }
}

/// Reads what objects and their fields say, for rows and in words.
#[derive(Debug, Clone, Copy)]
pub(in crate::answers) struct ValueReader<'d> {
    graph: &'d HeapGraph,
    details: &'d dyn ObjectDetails,
}

impl<'d> ValueReader<'d> {
    /// Returns the reader, or `None` without values; [`find`](Self::find) gives the reason.
    pub(in crate::answers) fn of(dump: &'d OpenDump) -> Option<Self> {
        Self::find(dump).ok()
    }

    /// Returns the reader, or the reason that there are no values.
    pub(in crate::answers) fn find(dump: &'d OpenDump) -> Result<Self, AnswerError> {
        let details = dump.values().map_err(AnswerError::NoValues)?;
        Ok(ValueReader { graph: dump.graph().ok_or(AnswerError::NeedsObjects)?, details })
    }

    /// Value of each of some objects: a text, a number, a name. Those of a dump that cannot be read any more are `None`.
    pub(in crate::answers) fn shown_values(&self, nodes: &[NodeId]) -> Vec<Option<ShownValue>> {
        let said = self.details.shown_values(self.graph, nodes, MAX_TEXT_UNITS_SHOWN);
        said.unwrap_or_else(|_| vec![None; nodes.len()])
    }

    pub(in crate::answers) fn shown_value(&self, node: NodeId) -> Option<ShownValue> {
        self.shown_values(&[node]).pop().flatten()
    }

    /// The same in words, for people.
    pub(in crate::answers) fn values_in_words(&self, nodes: &[NodeId]) -> Vec<Option<String>> {
        let said = self.shown_values(nodes).into_iter().zip(nodes);
        said.map(|(said, &node)| self.value_in_words(node, said.as_ref())).collect()
    }

    /// Words for what an object says; of variables that closures have captured those for the function of these.
    pub(in crate::answers) fn value_in_words(&self, node: NodeId, said: Option<&ShownValue>) -> Option<String> {
        if self.graph.type_name(self.graph.type_of(node)) != CLOSURE_VARIABLES_TYPE {
            return said.map(ShownValue::words);
        }
        let function = self.details.function_of_captured_variables(self.graph, node).ok().flatten();
        function.map(|function| format!("of {function}"))
    }

    /// The fields of an object as the dump has them. A dump that cannot be read any more has none.
    pub(in crate::answers) fn raw_fields(&self, node: NodeId) -> Vec<FieldValue> {
        self.details.fields(self.graph, node).unwrap_or_default()
    }

    /// The objects among the first elements of an array; none of what is no array, and of a dump that cannot be read.
    pub(in crate::answers) fn objects_in_array(&self, array: NodeId, limit: usize) -> Vec<NodeId> {
        let elements = self.details.elements(self.graph, array, limit).ok().flatten();
        elements.map_or(Vec::new(), |elements| elements.first_elements.iter().filter_map(object_in_value).collect())
    }

    pub(in crate::answers) fn row_with_value(&self, node: NodeId) -> ObjectRow {
        let said = self.values_in_words(&[node]).pop().flatten();
        ObjectRow { value_words: said, ..ObjectRow::new(self.graph, node) }
    }

    /// First elements of an array; `None` for any other object.
    pub(in crate::answers) fn first_elements(&self, node: NodeId) -> Result<Option<ArrayElements>, AnswerError> {
        self.details.elements(self.graph, node, MAX_ELEMENTS_SHOWN).map_err(unreadable_values)
    }

    pub(in crate::answers) fn field_rows(&self, node: NodeId) -> Result<Vec<FieldRow>, AnswerError> {
        let fields = self.details.fields(self.graph, node).map_err(unreadable_values)?;
        let targets: Vec<NodeId> = fields.iter().filter_map(|field| object_in_value(&field.value)).collect();
        let mut said = self.shown_values(&targets).into_iter();
        let mut rows: Vec<FieldRow> = fields
            .into_iter()
            .map(|field| {
                let said = object_in_value(&field.value).and_then(|_| said.next().flatten());
                self.field_row(node, field, said)
            })
            .collect();
        let mut names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
        names.sort_unstable();
        for row in &mut rows {
            let first = names.partition_point(|name| *name < row.name);
            row.shares_its_name = names.get(first + 1) == Some(&row.name);
        }
        Ok(rows)
    }

    fn field_row(&self, node: NodeId, field: FieldValue, said: Option<ShownValue>) -> FieldRow {
        let types = self.graph.types();
        let (name, class, is_static) = match field.name {
            ReferenceName::Field(class, name) => (name, Some(class), false),
            ReferenceName::StaticField(name) => (name, types.type_of_class_object(node), true),
            other => (other.to_string().trim_start().trim_start_matches('.').to_string(), None, false),
        };
        FieldRow {
            name,
            class: class.map(|class| types.name(class).to_string()),
            type_name: field_kind_name(field.kind),
            is_static,
            contents: match field.value {
                Value::Null => FieldContents::Null,
                Value::Object(target) => FieldContents::Object(Box::new(ObjectRow {
                    value_words: said.as_ref().map(ShownValue::words),
                    ..ObjectRow::new(self.graph, target)
                })),
                Value::Dangling(id) => FieldContents::Dangling(self.graph.id_style().format(id)),
                value => FieldContents::Value(value.into()),
            },
            target_value: said,
            shares_its_name: false,
        }
    }
}

fn object_in_value(value: &Value) -> Option<NodeId> {
    match value {
        Value::Object(node) => Some(*node),
        _ => None,
    }
}

pub(in crate::answers) fn unreadable_values(error: ReadError) -> AnswerError {
    AnswerError::NoValues(NoValues::Unreadable(error.to_string()))
}

/// The name of what a field holds: of a primitive type, or `object`.
pub(in crate::answers) fn field_kind_name(kind: FieldKind) -> &'static str {
    PRIMITIVES.iter().find(|(known, ..)| *known == kind).map_or("object", |(_, name, _)| name)
}

impl ShownValue {
    /// Returns true if a text is longer than what is here of it.
    pub fn is_cut(&self) -> bool {
        matches!(self, ShownValue::Text(text) | ShownValue::Name(text) if text.is_cut)
    }

    /// Returns true if JSON writes the value as it is; else as a text.
    pub fn is_json_literal(&self) -> bool {
        let ShownValue::Primitive(value) = self else { return false };
        match value {
            Value::Float(number) => number.is_finite(),
            Value::Double(number) => number.is_finite(),
            value => !matches!(value, Value::Char(_)),
        }
    }

    /// The value as it is, for columns.
    pub fn plain_text(&self) -> String {
        let value = match self {
            ShownValue::Text(text) | ShownValue::Name(text) => return text.text.clone(),
            ShownValue::Primitive(value) => value,
        };
        match value {
            Value::Null | Value::Object(_) | Value::Dangling(_) => "null".into(),
            Value::Boolean(value) => value.to_string(),
            Value::Char(unit) => utf16_unit_text(*unit),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => float_text(f64::from(*number), || format!("{number:?}")),
            Value::Double(number) => float_text(*number, || format!("{number:?}")),
            Value::Text(text) => text.clone(),
        }
    }

    /// The value in a table that people read: a text that is all zero in words, a mark behind one that is cut.
    pub fn in_table(self) -> Self {
        match self {
            ShownValue::Text(text) => ShownValue::Text(Text { text: text_in_table(&text), ..text }),
            ShownValue::Name(text) => ShownValue::Name(Text { text: text_in_table(&text), ..text }),
            value => value,
        }
    }

    /// The value in a line for people: texts in quotes, long ones cut.
    pub fn words(&self) -> String {
        match self {
            ShownValue::Primitive(Value::Char(unit)) => format!("'{}'", utf16_unit_text(*unit)),
            ShownValue::Text(text) => text_words(text),
            ShownValue::Name(text) => text.text.chars().take(MAX_CHARACTERS_IN_WORDS).collect(),
            value => value.plain_text(),
        }
    }
}

/// The end of a path; of an object that says nothing of itself its id and type.
pub(in crate::answers) fn shown_field_value(graph: &HeapGraph, end: &FieldPathValue) -> ShownValue {
    match end {
        FieldPathValue::Value(value) => value.clone(),
        FieldPathValue::Object(node) => {
            let text = format!("{} {}", graph.display_id(*node), graph.type_name(graph.type_of(*node)));
            ShownValue::Name(Text { text, is_cut: false })
        }
    }
}

/// Of a text of several characters that are all zero: `(1,024 characters, all zero)`.
fn zeros_in_words(text: &Text) -> Option<String> {
    let is_zero = text.text.len() > 1 && text.text.bytes().all(|byte| byte == 0);
    let least = if text.is_cut { " or more" } else { "" };
    is_zero.then(|| format!("({} characters{least}, all zero)", format_count(text.text.len() as u64)))
}

pub(in crate::answers) fn text_in_table(text: &Text) -> String {
    zeros_in_words(text).unwrap_or_else(|| if text.is_cut { format!("{}…", text.text) } else { text.text.clone() })
}

/// A text in a line for people: in quotes, a long one cut.
pub(in crate::answers) fn text_words(text: &Text) -> String {
    if let Some(zeros) = zeros_in_words(text) {
        return zeros;
    }
    let shown: String = text.text.chars().take(MAX_CHARACTERS_IN_WORDS).collect();
    let more = if shown.len() < text.text.len() || text.is_cut { "…" } else { "" };
    format!("\"{shown}\"{more}")
}

/// A unit as a character; half a pair as its number.
fn utf16_unit_text(unit: u16) -> String {
    char::from_u32(unit.into()).map_or_else(|| format!("\\u{{{unit:x}}}"), String::from)
}

/// In Java's words where a number is none.
fn float_text(number: f64, digits: impl FnOnce() -> String) -> String {
    match number {
        _ if number.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        _ => digits(),
    }
}

impl Serialize for ShownValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ShownValue::Primitive(Value::Null) => serializer.serialize_none(),
            ShownValue::Primitive(Value::Boolean(value)) => serializer.serialize_bool(*value),
            ShownValue::Primitive(Value::Integer(number)) => serializer.serialize_i64(*number),
            ShownValue::Primitive(Value::Float(number)) if number.is_finite() => serializer.serialize_f32(*number),
            ShownValue::Primitive(Value::Double(number)) if number.is_finite() => serializer.serialize_f64(*number),
            value => serializer.serialize_str(&value.plain_text()),
        }
    }
}

/// Contents of a field.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FieldContents {
    /// Nothing.
    Null,
    /// This object.
    Object(Box<ObjectRow>),
    /// An object that is not in the dump: its id.
    Dangling(String),
    /// This value.
    Value(ShownValue),
}

/// A field of an object. Its JSON has `id` of a reference, `value` of all else and of objects that say something.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FieldRow {
    /// Its name.
    pub name: String,
    /// The class that declares it, where one does.
    pub class: Option<String>,
    /// The primitive type, or `object`.
    pub type_name: &'static str,
    /// It belongs to the class, not to each of its objects.
    pub is_static: bool,
    /// Contents.
    pub contents: FieldContents,
    /// Value of the object that it refers to.
    target_value: Option<ShownValue>,
    /// Another field of the object has the same name.
    shares_its_name: bool,
}

impl FieldRow {
    /// The name, with the class that declares it where another field is called so.
    pub fn label(&self) -> String {
        match &self.class {
            Some(class) if self.shares_its_name => {
                format!("{}.{}", class.rsplit_once('.').map_or(class.as_str(), |(_, simple)| simple), self.name)
            }
            _ => self.name.clone(),
        }
    }

    /// The primitive type; of a reference the type of the object.
    pub fn held_type(&self) -> &str {
        match &self.contents {
            FieldContents::Object(object) => &object.type_name,
            _ => self.type_name,
        }
    }

    /// The value for a column, where there is one.
    pub fn value(&self) -> Option<ShownValue> {
        match &self.contents {
            FieldContents::Null => Some(Value::Null.into()),
            FieldContents::Object(_) | FieldContents::Dangling(_) => self.target_value.clone(),
            FieldContents::Value(value) => Some(value.clone()),
        }
    }

    /// The id of the object that it refers to.
    pub fn target_id(&self) -> Option<&str> {
        match &self.contents {
            FieldContents::Object(object) => Some(&object.id),
            FieldContents::Dangling(id) => Some(id),
            _ => None,
        }
    }

    /// The contents in words: a value, or an object with its type and value.
    pub fn words(&self) -> String {
        match &self.contents {
            FieldContents::Null => "null".into(),
            FieldContents::Object(object) => format!("{}  {}", object.id, object.type_text()),
            FieldContents::Dangling(id) => format!("{id}  not in the dump"),
            FieldContents::Value(value) => value.words(),
        }
    }
}

impl Serialize for FieldRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("class", &self.class)?;
        map.serialize_entry("type", self.type_name)?;
        if self.is_static {
            map.serialize_entry("static", &true)?;
        }
        let mut value = self.target_value.as_ref();
        match &self.contents {
            FieldContents::Null => map.serialize_entry("id", &())?,
            FieldContents::Object(object) => {
                map.serialize_entry("id", &object.id)?;
                map.serialize_entry("target_type", &object.type_name)?;
            }
            FieldContents::Dangling(id) => map.serialize_entry("id", id)?,
            FieldContents::Value(own) => value = Some(own),
        }
        if let Some(value) = value {
            map.serialize_entry("value", value)?;
            if value.is_cut() {
                map.serialize_entry("truncated", &true)?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_json_in_columns_and_in_words() {
        let text = |text: &str, is_cut| Text { text: text.into(), is_cut };
        let long: String = "m".repeat(150);
        let shown = format!("\"{}\"…", "m".repeat(100));
        for (value, json, plain, words) in [
            (ShownValue::from(Value::Null), "null", "null", "null"),
            (ShownValue::from(Value::Boolean(true)), "true", "true", "true"),
            (ShownValue::from(Value::Char(0x20AC)), "\"€\"", "€", "'€'"),
            (ShownValue::from(Value::Char(0xD83D)), "\"\\\\u{d83d}\"", "\\u{d83d}", "'\\u{d83d}'"),
            (
                ShownValue::from(Value::Integer(i64::MIN)),
                "-9223372036854775808",
                "-9223372036854775808",
                "-9223372036854775808",
            ),
            (ShownValue::from(Value::Float(0.1)), "0.1", "0.1", "0.1"),
            (ShownValue::from(Value::Float(f32::NAN)), "\"NaN\"", "NaN", "NaN"),
            (ShownValue::from(Value::Double(f64::NEG_INFINITY)), "\"-Infinity\"", "-Infinity", "-Infinity"),
            (ShownValue::from(Value::Double(-2.25)), "-2.25", "-2.25", "-2.25"),
            (ShownValue::Text(text("a\"b", false)), "\"a\\\"b\"", "a\"b", "\"a\"b\""),
            (ShownValue::Text(text("a", true)), "\"a\"", "a", "\"a\"…"),
            (ShownValue::Text(text(&long, false)), &format!("\"{long}\""), &long, &shown),
            (ShownValue::Text(text("\0\0", true)), "\"\\u0000\\u0000\"", "\0\0", "(2 characters or more, all zero)"),
            (ShownValue::Name(text("main", false)), "\"main\"", "main", "main"),
        ] {
            assert_eq!(serde_json::to_string(&value).unwrap(), json);
            assert_eq!((value.plain_text().as_str(), value.words().as_str()), (plain, words));
        }
    }
}
