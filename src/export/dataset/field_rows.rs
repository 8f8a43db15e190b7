//! The table `fields`: a row for each field of each object, and each static field of each class, with what it holds.

use std::io::Write;

use parquet::data_type::ByteArray;
use rayon::prelude::*;

use super::TableName;
use super::error::TableError;
use super::object_heap::ObjectHeap;
use super::parquet_table::{ParquetColumn, ParquetTable, to_byte_array, to_i64};
use crate::answers::AnswerError;
use crate::dump::NoValues;
use crate::graph::{NodeId, NodeSet};
use crate::input::{FieldValue, ObjectDetails, PRIMITIVES, ReadError, ReferenceName, ShownValue, Value};

/// Objects whose fields are read together.
const OBJECTS_READ_TOGETHER: usize = 1 << 12;
/// Rows of a row group, about: fewer than of other tables, for texts are kept until it is written.
const GROUP_ROWS: usize = 1 << 18;
/// Bytes of the rows of a group at most that are asked for beforehand; texts of 1,024 units each are seldom.
const BYTES_PER_ROW: u64 = 400;
/// UTF-16 units of a text; the rest is cut off.
const MAX_TEXT_UNITS: usize = 1024;

/// A field of an object.
struct FieldRow {
    node: NodeId,
    class: Option<ByteArray>,
    field: ByteArray,
    kind: &'static str,
    value: Value,
    /// What the object says that the field refers to.
    target_text: Option<ShownValue>,
}

/// Writes `fields`, of all objects or of some: by object, fields in the order of the dump. A few reads of the file for each
/// object, on all threads; some 100 MB. Error: of a dump without values.
pub(super) fn write_fields<W: Write + Send>(
    heap: &ObjectHeap<'_>,
    chosen: Option<&NodeSet>,
    out: W,
) -> Result<W, TableError> {
    let details = heap.dump.values().map_err(AnswerError::NoValues)?;
    heap.dump.check_rows_memory(GROUP_ROWS as u64, BYTES_PER_ROW)?;
    let mut table = ParquetTable::begin(out, TableName::Fields.name(), &columns_of_fields(&[]), &[])?;
    let mut rows: Vec<FieldRow> = Vec::new();
    let nodes: Vec<NodeId> =
        heap.graph.nodes().filter(|&node| chosen.is_none_or(|chosen| chosen.contains(node))).collect();
    for nodes in nodes.chunks(OBJECTS_READ_TOGETHER * rayon::current_num_threads()) {
        let read = |nodes: &[NodeId]| rows_of(heap, details, nodes);
        let read: Result<Vec<Vec<FieldRow>>, ReadError> = nodes.par_chunks(OBJECTS_READ_TOGETHER).map(read).collect();
        let unreadable = |error: ReadError| AnswerError::NoValues(NoValues::Unreadable(error.to_string()));
        rows.extend(read.map_err(unreadable)?.into_iter().flatten());
        if rows.len() >= GROUP_ROWS {
            table.write_rows(rows.len(), &columns_of_fields(&rows))?;
            rows.clear();
        }
    }
    table.write_rows(rows.len(), &columns_of_fields(&rows))?;
    Ok(table.finish()?)
}

/// The fields of some objects, ascending.
fn rows_of(heap: &ObjectHeap<'_>, details: &dyn ObjectDetails, nodes: &[NodeId]) -> Result<Vec<FieldRow>, ReadError> {
    let graph = heap.graph;
    let mut rows = Vec::new();
    for &node in nodes {
        for FieldValue { name, kind, value } in details.fields(graph, node)? {
            let (class, field) = match &name {
                ReferenceName::Field(class, field) => (Some(*class), field.as_str()),
                ReferenceName::StaticField(field) => (graph.types().type_of_class_object(node), field.as_str()),
                name => (None, &*name.to_string()),
            };
            let kind = PRIMITIVES.iter().find(|(known, ..)| *known == kind).map_or("object", |(_, name, _)| name);
            let (class, field) = (class.map(|class| heap.type_name(class)), to_byte_array(field));
            rows.push(FieldRow { node, class, field, kind, value, target_text: None });
        }
    }
    let target = |row: &FieldRow| if let Value::Object(target) = row.value { Some(target) } else { None };
    let mut targets: Vec<NodeId> = rows.iter().filter_map(target).collect();
    targets.sort_unstable();
    targets.dedup();
    let said = details.shown_values(graph, &targets, MAX_TEXT_UNITS)?;
    for row in &mut rows {
        row.target_text = target(row).and_then(|target| said[targets.binary_search(&target).ok()?].clone());
    }
    Ok(rows)
}

impl FieldRow {
    /// The value, or that in the box that it refers to.
    fn primitive(&self) -> &Value {
        match &self.target_text {
            Some(ShownValue::Primitive(value)) => value,
            _ => &self.value,
        }
    }

    /// A whole number, a truth value as 0 or 1, the UTF-16 unit of a character.
    fn whole_number(&self) -> Option<i64> {
        match *self.primitive() {
            Value::Integer(number) => Some(number),
            Value::Boolean(is_true) => Some(is_true.into()),
            Value::Char(unit) => Some(unit.into()),
            _ => None,
        }
    }

    fn double(&self) -> Option<f64> {
        match *self.primitive() {
            Value::Double(number) => Some(number),
            Value::Float(number) => Some(number.into()),
            _ => None,
        }
    }

    fn text(&self) -> Option<ByteArray> {
        match (&self.target_text, self.primitive()) {
            (Some(ShownValue::Text(text) | ShownValue::Name(text)), _) => Some(to_byte_array(&text.text)),
            (_, Value::Text(text)) => Some(to_byte_array(text)),
            (_, Value::Char(unit)) => Some(to_byte_array(&String::from_utf16_lossy(&[*unit]))),
            _ => None,
        }
    }
}

fn columns_of_fields(rows: &[FieldRow]) -> [ParquetColumn<'_>; 8] {
    [
        ParquetColumn::new("node", |row| to_i64(rows[row].node.index())).delta_encoded(),
        ParquetColumn::new("class", |row| rows[row].class.clone()),
        ParquetColumn::new("field", |row| rows[row].field.clone()),
        ParquetColumn::new("kind", |row| to_byte_array(rows[row].kind)),
        ParquetColumn::new("long", |row| rows[row].whole_number()),
        ParquetColumn::new("double", |row| rows[row].double()),
        ParquetColumn::new("text", |row| rows[row].text()),
        ParquetColumn::new("target", |row| match rows[row].value {
            Value::Object(target) => Some(to_i64(target.index())),
            _ => None,
        }),
    ]
}
