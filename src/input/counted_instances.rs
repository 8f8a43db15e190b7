//! Instances of a dump that was only counted: what a reader shows of them without a graph, in passes over the file.

use std::fmt;

use super::{ContentKey, ReadError, Text, Value};
use crate::graph::{FieldKind, MemoryBudget};

/// The value of a field as it stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawValue {
    /// What it is.
    pub kind: FieldKind,
    /// Its bytes in the low ones; of a reference the id, 0 for null.
    pub bits: u64,
}

impl RawValue {
    /// The value; of a reference null.
    pub fn primitive(self) -> Value {
        primitive_value(self.kind, self.bits)
    }

    /// The id of the object that it refers to.
    pub fn target(self) -> Option<u64> {
        (self.kind == FieldKind::Reference && self.bits != 0).then_some(self.bits)
    }
}

/// A value by its bytes in the low ones of a number.
pub(super) fn primitive_value(kind: FieldKind, raw: u64) -> Value {
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

/// The class of instances that were counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountedClass {
    /// The index of the type among those that were counted.
    pub type_index: u32,
    /// Bytes of each instance.
    pub instance_bytes: u64,
    /// Of threads, loaders, constants of enumerations and classes, whose names other objects say.
    pub has_name: bool,
}

/// An instance or array in a pass.
#[derive(Debug)]
pub struct CountedInstance<'v> {
    /// Its id.
    pub id: u64,
    /// Its class; `None` for an array.
    pub class: Option<CountedClass>,
    /// By name that was asked for: what its field holds; `None` where its class has no such field.
    pub values: &'v [Option<RawValue>],
}

/// Some of the characters of an array.
#[derive(Debug, Clone, Copy)]
pub struct CharacterRange {
    /// Bytes of the array are two a unit.
    pub is_wide: bool,
    /// The first of them.
    pub start: usize,
    /// How many; `None` for all that follow.
    pub count: Option<usize>,
}

/// Takes the instances that one thread meets.
pub type TakeInstance<'s> = Box<dyn FnMut(&CountedInstance<'_>) + Send + 's>;

/// Takes texts of strings: the string's number, its text, and the key of all its characters.
pub type TakeText<'s> = dyn Fn(u32, Text, &dyn Fn() -> ContentKey) + Sync + 's;

/// Passes over the instances of a dump that was only counted. A trait, so that nothing around the readers names one of them.
pub trait CountedInstances: fmt::Debug + Send + Sync {
    /// Returns true unless the dump came through a pipe of which not all was kept.
    fn are_readable(&self) -> bool;

    /// Returns true for the id of a class object.
    fn is_class_object(&self, id: u64) -> bool;

    /// Returns true if a class with instances has a field of this name. O(fields).
    fn have_field(&self, name: &str) -> bool;

    /// The account of the memory that answers may take.
    fn budget(&self) -> &MemoryBudget;

    /// Shows all instances and arrays, with their fields of these names, on all threads, for each of which `make` is called. One
    /// pass.
    ///
    /// # Errors
    /// If the file cannot be read again.
    fn visit_fields<'s>(&self, names: &[&str], make: &(dyn Fn() -> TakeInstance<'s> + Sync)) -> Result<(), ReadError>;

    /// Shows the texts of strings to `take`, on all threads: the last number of each, at most so many units, and the key of all
    /// its characters. Strings ascend by the id of their array, which comes first. One pass; memory for the longest array, 64
    /// MiB of it at most, for each thread.
    ///
    /// # Errors
    /// If the file cannot be read again.
    fn visit_texts(
        &self,
        strings: &[(u64, CharacterRange, u32)],
        most_units: usize,
        take: &TakeText<'_>,
    ) -> Result<(), ReadError>;
}

/// The first of the items, which ascend by id, that has this id. Objects mostly come in the order of their ids: `at`, where
/// the last one was looked for, is mostly near.
pub(crate) fn seek_first<T>(items: &[T], id_of: impl Fn(&T) -> u64, at: &mut usize, id: u64) -> Option<usize> {
    let is_before = |place: usize| items.get(place).is_some_and(|item| id_of(item) < id);
    let is_first = |place: usize| (place == 0 || is_before(place - 1)) && !is_before(place);
    if !is_first(*at) {
        *at = if is_first(*at + 1) { *at + 1 } else { items.partition_point(|item| id_of(item) < id) };
    }
    items.get(*at).filter(|item| id_of(item) == id).map(|_| *at)
}
