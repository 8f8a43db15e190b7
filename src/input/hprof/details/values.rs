//! Values in the records of objects.

use super::finder::SubRecord;
use crate::graph::{Field, FieldKind, HeapGraph, Lookup, TypeId};
use crate::input::Value;
use crate::input::hprof::wire::{element_bytes, id_of, sub, u32_at};

/// The value of an id.
pub fn reference(graph: &HeapGraph, id: u64) -> Value {
    match graph.find(None, id) {
        _ if id == 0 => Value::Null,
        Lookup::One(node) => Value::Object(node),
        _ => Value::Dangling(id),
    }
}

/// The value of a field or element at an offset.
pub fn value_at(graph: &HeapGraph, kind: FieldKind, bytes: &[u8], at: usize, id_bytes: usize) -> Option<Value> {
    if kind == FieldKind::Reference {
        return id_of(bytes, at, id_bytes).map(|id| reference(graph, id));
    }
    let bytes = bytes.get(at..at.checked_add(kind.bytes(0) as usize)?)?;
    let raw = bytes.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
    Some(primitive(kind, raw))
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
pub fn array(record: &SubRecord, id_bytes: usize) -> Option<(FieldKind, u64, &[u8])> {
    let length = u64::from(u32_at(&record.bytes, 5 + id_bytes)?);
    let (kind, start) = match record.tag {
        sub::OBJECT_ARRAY => (FieldKind::Reference, 9 + 2 * id_bytes),
        sub::PRIMITIVE_ARRAY | sub::PRIMITIVE_ARRAY_NO_DATA => {
            (kind_of(*record.bytes.get(9 + id_bytes)?)?, 10 + id_bytes)
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

pub fn kind_of(basic_type: u8) -> Option<FieldKind> {
    element_bytes(basic_type)?;
    Some(match basic_type {
        4 => FieldKind::Boolean,
        5 => FieldKind::Char,
        6 => FieldKind::Float,
        7 => FieldKind::Double,
        8 => FieldKind::Byte,
        9 => FieldKind::Short,
        10 => FieldKind::Int,
        _ => FieldKind::Long,
    })
}

/// A value by its bytes in the low ones of a number.
pub fn primitive(kind: FieldKind, raw: u64) -> Value {
    match kind {
        FieldKind::Reference => Value::Null,
        FieldKind::Boolean => Value::Boolean(raw as u8 != 0),
        FieldKind::Char => Value::Char(raw as u16),
        FieldKind::Float => Value::Float(f32::from_bits(raw as u32)),
        FieldKind::Double => Value::Double(f64::from_bits(raw)),
        FieldKind::Byte => Value::Integer((raw as u8 as i8).into()),
        FieldKind::Short => Value::Integer((raw as u16 as i16).into()),
        FieldKind::Int => Value::Integer((raw as u32 as i32).into()),
        FieldKind::Long => Value::Integer(raw as i64),
    }
}
