//! Values of fields that expressions name by dotted paths, read from the dump in one pass.

use super::FilterProblem;
use super::expression_tree::{Predicate, matches_text};
use crate::dump::{MemoryError, NoValues, OpenDump};
use crate::graph::{Field, HeapGraph, NodeId};
use crate::input::{ShownValue, Value, WantedContents};

/// UTF-16 units of a text that are read; the rest is cut off.
const MAX_TEXT_UNITS: usize = 1024;
/// Objects whose texts are read together.
const VALUES_READ_TOGETHER: usize = 64 * 1024;

/// The end of a path of fields.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FieldPathValue {
    /// A value, not null; the text of a string object, or its name.
    Value(ShownValue),
    /// An object that says nothing of itself; it is not null, and equals nothing.
    Object(NodeId),
}

impl FieldPathValue {
    /// `None` for null, and for an object, which is asked what it says.
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Null | Value::Object(_) | Value::Dangling(_) => None,
            Value::Char(unit) => Some(FieldPathValue::Value(Value::Text(String::from_utf16_lossy(&[*unit])).into())),
            value => Some(FieldPathValue::Value(value.clone().into())),
        }
    }

    /// Answer of the value to a question; `None` where they do not compare.
    pub(super) fn satisfies(&self, predicate: &Predicate) -> Option<bool> {
        match (self, predicate) {
            (FieldPathValue::Value(ShownValue::Primitive(value)), predicate) => match (value, predicate) {
                (Value::Integer(number), Predicate::Number(op, other)) => {
                    Some(other.matching_range(*op, 0).contains((*number).into()))
                }
                // Of two decimal numbers that are the same in 32 bits neither is the larger: 0.1 is what was stored as 0.1.
                (Value::Float(number), Predicate::Number(op, other)) => {
                    number.partial_cmp(&(other.to_float() as f32)).map(|order| op.holds(order))
                }
                (Value::Double(number), Predicate::Number(op, other)) => {
                    number.partial_cmp(&other.to_float()).map(|order| op.holds(order))
                }
                (Value::Boolean(value), Predicate::IsTrue) => Some(*value),
                _ => None,
            },
            (
                FieldPathValue::Value(ShownValue::Text(text)),
                Predicate::OneOf(_) | Predicate::Text(..) | Predicate::Matches(_),
            ) => Some(matches_text(predicate, &text.text)),
            _ => None,
        }
    }
}

/// Values of one path, of the objects where it leads to anything.
#[derive(Debug)]
pub(crate) struct FieldValues {
    /// Ascending by node; the place in `values`.
    nodes: Vec<(NodeId, u32)>,
    values: Vec<FieldPathValue>,
}

impl FieldValues {
    /// Of the objects where the path leads to something: it.
    pub(super) fn iter(&self) -> impl Iterator<Item = (NodeId, &FieldPathValue)> {
        self.nodes.iter().map(|&(node, place)| (node, &self.values[place as usize]))
    }

    /// The value of an object; `None` for null.
    pub(crate) fn value_of(&self, node: NodeId) -> Option<&FieldPathValue> {
        let at = self.nodes.binary_search_by_key(&node, |&(known, _)| known).ok()?;
        self.values.get(self.nodes[at].1 as usize)
    }
}

/// Values of each path. One pass over the values of the dump, and the texts of what is at the ends; 24 bytes for each
/// object with a field of a name that occurs, and the texts. Error: when the dump has no values, or cannot be read
/// again.
pub(crate) fn read_field_values(
    dump: &OpenDump,
    graph: &HeapGraph,
    paths: &[Vec<String>],
) -> Result<Vec<FieldValues>, FilterProblem> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let unreadable = |error: crate::input::ReadError| NoValues::Unreadable(error.to_string());
    let details = dump.values()?;
    let mut names: Vec<&str> = paths.iter().flatten().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    check_field_memory(dump, graph, &names)?;
    let columns = details.values_of_fields(graph, &names).map_err(unreadable)?;
    names
        .iter()
        .zip(&columns)
        .filter(|(_, column)| column.is_empty())
        .for_each(|(name, _)| dump.note_missing_field(name));
    let column = |name: &str| names.binary_search(&name).map_or(&[][..], |at| columns[at].as_slice());
    let value_of = |name: &str, node: NodeId| {
        let column = column(name);
        column.binary_search_by_key(&node, |(known, _)| *known).ok().map(|at| &column[at].1)
    };
    let mut found = Vec::new();
    for path in paths {
        let (mut nodes, mut values, mut asked) = (Vec::new(), Vec::new(), Vec::new());
        let Some((first, rest)) = path.split_first() else { continue };
        for (node, start) in column(first) {
            let end = rest.iter().try_fold(start, |value, name| match value {
                Value::Object(target) => value_of(name, *target),
                _ => None,
            });
            match end {
                Some(Value::Object(target)) => asked.push((*target, *node)),
                Some(value) => {
                    if let Some(value) = FieldPathValue::of(value) {
                        nodes.push((*node, values.len() as u32));
                        values.push(value);
                    }
                }
                None => {}
            }
        }
        asked.sort_unstable();
        for asked in asked.chunks(VALUES_READ_TOGETHER) {
            let mut targets: Vec<NodeId> = asked.iter().map(|(target, _)| *target).collect();
            targets.dedup();
            let said = details.shown_values(graph, &targets, MAX_TEXT_UNITS).map_err(unreadable)?;
            let first = values.len();
            values.extend(targets.iter().zip(said).map(|(&target, said)| match said {
                Some(ShownValue::Text(text) | ShownValue::Name(text)) => FieldPathValue::Value(ShownValue::Text(text)),
                Some(ShownValue::Primitive(value)) => {
                    FieldPathValue::of(&value).unwrap_or(FieldPathValue::Object(target))
                }
                _ => FieldPathValue::Object(target),
            }));
            for (target, node) in asked {
                let place = targets.binary_search(target).unwrap_or_default();
                nodes.push((*node, (first + place) as u32));
            }
        }
        nodes.sort_unstable();
        found.push(FieldValues { nodes, values });
    }
    Ok(found)
}

/// Elements of arrays and UTF-16 units of texts, ascending. One pass over the contents of the dump; 64 bytes for each.
/// Error: when the dump has no values, or cannot be read again, or it takes more memory than it may.
pub(super) fn read_lengths(dump: &OpenDump, graph: &HeapGraph) -> Result<Vec<(NodeId, u64)>, FilterProblem> {
    let details = dump.values()?;
    let is_text = |name: &str| name.ends_with("String") || name.ends_with("string)");
    let has_length = |name: &str| name.ends_with("[]") || name.starts_with('[') || is_text(name);
    let types: Vec<bool> = graph.types().ids().map(|type_id| has_length(graph.type_name(type_id))).collect();
    let count = graph.node_types(0..graph.node_count()).filter(|type_id| types[type_id.index()]).count();
    dump.check_rows_memory(count as u64, 64)?;
    let wanted = WantedContents { with_lengths: true, ..WantedContents::default() };
    let contents = details.contents(graph, &wanted).map_err(|error| NoValues::Unreadable(error.to_string()))?;
    Ok(contents.lengths)
}

/// Bytes of an object's field: its value, and its place on the way to the end of a path.
const BYTES_PER_FIELD: u64 = 72;

/// Fails when the fields do not fit: of the objects whose types declare them, or of all where types declare none.
fn check_field_memory(dump: &OpenDump, graph: &HeapGraph, names: &[&str]) -> Result<(), MemoryError> {
    let types = graph.types();
    let is_wanted = |field: &&Field| !field.is_static && names.binary_search(&types.text(field.name)).is_ok();
    let declare_any = types.ids().any(|type_id| !types.fields(type_id).is_empty());
    let by_type: Vec<u64> = types.map_by_superclass(|type_id, above: Option<&u64>| match declare_any {
        true => above.copied().unwrap_or(0) + types.fields(type_id).iter().filter(is_wanted).count() as u64,
        false => 1,
    });
    let of_objects = graph.node_types(0..graph.node_count()).map(|type_id| by_type[type_id.index()]);
    dump.check_rows_memory(of_objects.sum(), BYTES_PER_FIELD)
}
