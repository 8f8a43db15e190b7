//! Values in the records of objects, places of fields in the bytes of instances, and keys of the contents of arrays.

use rustc_hash::FxHashMap;
use twox_hash::XxHash3_128;

use super::finder::SubRecord;
use crate::graph::{Field, FieldKind, HeapGraph, IdLookup, TypeId};
use crate::input::counted_instances::primitive_value;
use crate::input::hprof::wire::{id_at_with_width, primitive_kind, sub_record_tags, u32_at};
use crate::input::{ContentKey, Value};

/// The value of a field or element that holds this id.
pub fn reference_value(graph: &HeapGraph, id: u64) -> Value {
    match graph.find_by_id(None, id) {
        _ if id == 0 => Value::Null,
        IdLookup::One(node) => Value::Object(node),
        _ => Value::Dangling(id),
    }
}

/// The value of a field or element at an offset.
pub fn value_at(graph: &HeapGraph, kind: FieldKind, bytes: &[u8], at: usize, id_bytes: usize) -> Option<Value> {
    if kind == FieldKind::Reference {
        return id_at_with_width(bytes, at, id_bytes).map(|id| reference_value(graph, id));
    }
    primitive_at(kind, bytes, at)
}

/// The same of a kind that is no reference.
fn primitive_at(kind: FieldKind, bytes: &[u8], at: usize) -> Option<Value> {
    raw_value_at(kind, bytes, at, 0).map(|raw| primitive_value(kind, raw))
}

/// The bytes of the value of a field, in the low ones of a number; of a reference the id.
#[inline]
pub fn raw_value_at(kind: FieldKind, bytes: &[u8], at: usize, id_bytes: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(kind.bytes(id_bytes as u32) as usize)?)?;
    Some(bytes.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte)))
}

/// The whole number, truth value or unit of a field; `None` for others, and where the record is too short.
pub fn whole_number_at(kind: FieldKind, values: &[u8], at: usize) -> Option<i64> {
    match primitive_at(kind, values, at)? {
        Value::Boolean(is_true) => Some(is_true.into()),
        Value::Char(unit) => Some(unit.into()),
        Value::Integer(number) => Some(number),
        _ => None,
    }
}

/// The fields of an instance of a type with their values, from the record's tag on; as many as are there.
pub fn instance_values<'g>(
    graph: &'g HeapGraph,
    type_id: TypeId,
    record: &'g [u8],
    id_bytes: usize,
) -> impl Iterator<Item = (TypeId, Field, Value)> + 'g {
    let mut at = 9 + 2 * id_bytes;
    graph.types().instance_fields(type_id).map_while(move |(declaring, field)| {
        let value = value_at(graph, field.kind, record, at, id_bytes)?;
        at += field.kind.bytes(id_bytes as u32) as usize;
        Some((declaring, field, value))
    })
}

/// The kind of an array's elements, their number, and the bytes of those that were read.
pub fn parsed_array(record: &SubRecord, id_bytes: usize) -> Option<(FieldKind, u64, &[u8])> {
    let length = u64::from(u32_at(&record.bytes, 5 + id_bytes)?);
    let (kind, start) = match record.tag {
        sub_record_tags::OBJECT_ARRAY => (FieldKind::Reference, 9 + 2 * id_bytes),
        sub_record_tags::PRIMITIVE_ARRAY | sub_record_tags::PRIMITIVE_ARRAY_NO_DATA => {
            (primitive_kind(*record.bytes.get(9 + id_bytes)?)?, 10 + id_bytes)
        }
        _ => return None,
    };
    Some((kind, length, record.bytes.get(start..).unwrap_or(&[])))
}

/// The elements of an array that were read.
pub fn array_values<'g>(
    graph: &'g HeapGraph,
    kind: FieldKind,
    bytes: &'g [u8],
    id_bytes: usize,
) -> impl Iterator<Item = Value> + 'g {
    let width = kind.bytes(id_bytes as u32) as usize;
    bytes.chunks_exact(width).map_while(move |element| value_at(graph, kind, element, 0, id_bytes))
}

/// A field of the instances of a type.
#[derive(Debug, Clone, Copy)]
pub struct FieldPlace {
    pub declaring_type: TypeId,
    pub field: Field,
    /// In the bytes of values.
    pub offset: usize,
}

/// The fields of a type's instances in the order of the file.
pub fn field_places(graph: &HeapGraph, type_id: TypeId, id_bytes: usize) -> Vec<FieldPlace> {
    let mut at = 0;
    let fields = graph.types().instance_fields(type_id).map(|(declaring, field)| {
        let place = FieldPlace { declaring_type: declaring, field, offset: at };
        at += field.kind.bytes(id_bytes as u32) as usize;
        place
    });
    fields.collect()
}

/// Types by the ids of their class objects.
pub fn types_by_class_id(graph: &HeapGraph) -> FxHashMap<u64, TypeId> {
    let types = graph.types();
    let of_type = |type_id| Some((graph.original_id(types.class_object(type_id)?), type_id));
    types.ids().filter_map(of_type).collect()
}

/// The key of the elements of an array.
pub fn content_key_of(kind: FieldKind, bytes: &[u8]) -> ContentKey {
    let is_zero = !bytes.is_empty() && bytes.iter().all(|&byte| byte == 0);
    content_key_of_hash(kind, XxHash3_128::oneshot(bytes), is_zero)
}

/// Arrays of two kinds are never equal.
pub fn content_key_of_hash(kind: FieldKind, hash: u128, is_zero: bool) -> ContentKey {
    ContentKey::new(hash ^ (kind as u128).wrapping_mul(0xD6E8_FEB8_6659_FD93_A076_1D64_78BD_642F), is_zero)
}
