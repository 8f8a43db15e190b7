//! Places of fields in the bytes of instances.

use rustc_hash::FxHashMap;

use crate::graph::{Field, FieldKind, HeapGraph, TypeId};

/// A field of the instances of a type.
#[derive(Debug, Clone, Copy)]
pub struct FieldPlace {
    pub declaring: TypeId,
    pub field: Field,
    /// In the bytes of values.
    pub at: usize,
}

/// The fields of a type's instances in the order of the file.
pub fn field_places(graph: &HeapGraph, type_id: TypeId, id_bytes: usize) -> Vec<FieldPlace> {
    let mut at = 0;
    let fields = graph.types().instance_fields(type_id).map(|(declaring, field)| {
        let place = FieldPlace { declaring, field, at };
        at += field.kind.bytes(id_bytes as u32) as usize;
        place
    });
    fields.collect()
}

/// The whole number, truth value or unit of a field; `None` for others, and where the record is too short.
pub fn whole_number(kind: FieldKind, values: &[u8], at: usize) -> Option<i64> {
    let bytes = values.get(at..at.checked_add(kind.bytes(0) as usize)?)?;
    let raw = bytes.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
    Some(match kind {
        FieldKind::Boolean | FieldKind::Char => raw as i64,
        FieldKind::Byte => (raw as u8 as i8).into(),
        FieldKind::Short => (raw as u16 as i16).into(),
        FieldKind::Int => (raw as u32 as i32).into(),
        FieldKind::Long => raw as i64,
        FieldKind::Reference | FieldKind::Float | FieldKind::Double => return None,
    })
}

/// Types by the ids of their class objects.
pub fn types_by_class(graph: &HeapGraph) -> FxHashMap<u64, TypeId> {
    let types = graph.types();
    let of_type = |type_id| Some((graph.original_id(types.class_object(type_id)?), type_id));
    types.ids().filter_map(of_type).collect()
}
