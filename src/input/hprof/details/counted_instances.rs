//! What instances hold in a dump that was only counted, without a graph: passes over the file that keep nothing of an object.

use rustc_hash::FxHashMap;

use super::finder::ObjectPlaces;
use super::object_pass::{ArrayHead, ObjectVisitor, visit_objects};
use super::shown_values::{CLASSES_WITH_NAME_FIELD, CharacterRange, characters_in};
use super::texts_of_strings::{CharacterArrayVisitor, MAX_ARRAY_BYTES};
use super::values::{content_key_of, primitive_value, raw_value_at};
use crate::graph::{FieldKind, MemoryBudget};
use crate::input::hprof::layout::classes::Classes;
use crate::input::hprof::layout::sizes::decoded_text;
use crate::input::hprof::layout::texts::TextRecords;
use crate::input::hprof::wire::{primitive_kind, value_bytes};
use crate::input::{ContentKey, ReadError, RereadableFile, Text, Value};

/// The value of a field as it stands in the file: its bytes in the low ones of a number, of a reference the id, 0 for null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RawValue {
    pub(crate) kind: FieldKind,
    pub(crate) bits: u64,
}

impl RawValue {
    /// The value; of a reference null.
    pub(crate) fn primitive(self) -> Value {
        primitive_value(self.kind, self.bits)
    }

    /// The id of the object that it refers to.
    pub(crate) fn target(self) -> Option<u64> {
        (self.kind == FieldKind::Reference && self.bits != 0).then_some(self.bits)
    }
}

/// An instance or array in a pass.
pub(crate) struct CountedInstance<'v> {
    pub(crate) id: u64,
    /// Its class; `None` for an array.
    pub(crate) class: Option<&'v CountedClass>,
    /// By name that was asked for: what its field holds; `None` where its class has no such field.
    pub(crate) values: &'v [Option<RawValue>],
}

/// The class of instances that were counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct CountedClass {
    /// The index of the type among those that were counted.
    pub(crate) type_index: u32,
    pub(crate) instance_bytes: u64,
    /// Of threads, loaders, constants of enumerations and classes, whose names other objects say.
    pub(crate) has_name: bool,
    /// The fields that are asked for: the place of the name, the kind, and where it is in the values.
    fields: Vec<(usize, FieldKind, usize)>,
}

impl CountedClass {
    pub(in crate::input::hprof) fn new(type_index: u32, instance_bytes: u64) -> Self {
        CountedClass { type_index, instance_bytes, ..CountedClass::default() }
    }
}

/// Instances of a dump that was only counted.
#[derive(Debug)]
pub struct CountedInstances {
    pub(in crate::input::hprof) places: ObjectPlaces,
    /// `None` where the dump came through a pipe of which nothing is kept.
    pub(in crate::input::hprof) reread: Option<RereadableFile>,
    pub(in crate::input::hprof) classes: Classes,
    pub(in crate::input::hprof) texts: TextRecords,
    /// By id of the class, without fields.
    pub(in crate::input::hprof) counted_classes: FxHashMap<u64, CountedClass>,
    /// The account of the memory that answers may take.
    pub(crate) budget: MemoryBudget,
}

impl CountedInstances {
    /// Returns true unless the dump came through a pipe of which not all was kept.
    pub(crate) fn are_readable(&self) -> bool {
        self.reread.as_ref().is_some_and(RereadableFile::is_available)
    }

    /// Returns true for the id of a class object.
    pub(crate) fn is_class_object(&self, id: u64) -> bool {
        self.classes.by_id.contains_key(&id)
    }

    /// Returns true if a class with instances has a field of this name. O(fields).
    pub fn have_field(&self, name: &str) -> bool {
        self.classes_with_fields(&[name]).values().any(|class| !class.fields.is_empty())
    }

    /// Classes that have instances, with their fields of these names: the nearest class's. O(fields).
    fn classes_with_fields(&self, names: &[&str]) -> FxHashMap<u64, CountedClass> {
        let text = |id: u64| decoded_text(&self.texts, id, &Default::default());
        let mut name_by_id: FxHashMap<u64, Option<usize>> = FxHashMap::default();
        let mut by_number = vec![CountedClass::default(); self.classes.class_dumps.len()];
        let mut counted = self.counted_classes.clone();
        for &number in &self.classes.superclass_first_order {
            let dump = &self.classes.class_dumps[number as usize];
            let mut class = counted.get(&dump.id).cloned().unwrap_or_default();
            let mut at = 0usize;
            let add = |class: &mut CountedClass, name, kind, at| {
                if class.fields.iter().all(|(known, ..)| *known != name) {
                    class.fields.push((name, kind, at));
                }
            };
            for field in &dump.fields {
                let name = name_by_id.entry(field.name_id).or_insert_with(|| {
                    let text = text(field.name_id)?;
                    names.iter().position(|name| *name == text)
                });
                let kind = primitive_kind(field.basic_type).unwrap_or(FieldKind::Reference);
                name.iter().for_each(|&name| add(&mut class, name, kind, at));
                at = at.saturating_add(value_bytes(field.basic_type, self.places.id_bytes).unwrap_or(0));
            }
            let class_name = self.classes.name_ids.get(&dump.id).and_then(|&id| text(id)).unwrap_or_default();
            let class_name = class_name.replace('/', ".");
            class.has_name = class_name == "java.lang.Class" || CLASSES_WITH_NAME_FIELD.contains(&&*class_name);
            if let Some(above) = self.classes.superclass_number(number).map(|above| &by_number[above as usize]) {
                class.has_name |= above.has_name;
                above.fields.iter().for_each(|&(name, kind, offset)| {
                    add(&mut class, name, kind, at.saturating_add(offset));
                });
            }
            counted.entry(dump.id).and_modify(|known| *known = class.clone());
            by_number[number as usize] = class;
        }
        counted
    }

    fn visit<V: ObjectVisitor>(&self, make: impl Fn() -> V + Sync) -> Result<Vec<V>, ReadError> {
        self.reread.as_ref().map_or(Ok(Vec::new()), |reread| visit_objects(&self.places, reread, make))
    }

    /// Shows all instances and arrays, with their fields of these names, to `take`, on all threads; returns the states of
    /// these. One pass. Error: if the file cannot be read again.
    pub(crate) fn visit_fields<S: Send>(
        &self,
        names: &[&str],
        make: impl Fn() -> S + Sync,
        take: impl Fn(&mut S, &CountedInstance<'_>) + Sync,
    ) -> Result<Vec<S>, ReadError> {
        let (classes, id_bytes) = (&self.classes_with_fields(names), self.places.id_bytes);
        let make = || {
            let (state, last_class, values) = (make(), (0, None), vec![None; names.len()]);
            FieldVisitor { id_bytes, classes, last_class, values, state, take: &take }
        };
        Ok(self.visit(make)?.into_iter().map(|visitor| visitor.state).collect())
    }

    /// Shows the texts of strings to `take`, on all threads: the last number of each, at most so many units, and the key of
    /// all its characters. Strings ascend by the id of their array, which comes first. One pass; memory for the longest array, 64
    /// MiB of it at most, for each thread. Error: if the file cannot be read again.
    pub(crate) fn visit_texts(
        &self,
        strings: &[(u64, CharacterRange, u32)],
        most_units: usize,
        take: impl Fn(u32, Text, &dyn Fn() -> ContentKey) + Sync,
    ) -> Result<(), ReadError> {
        let see = |first: usize, array: &ArrayHead, bytes: &[u8]| {
            for &(_, range, number) in strings[first..].iter().take_while(|string| string.0 == array.id) {
                let text = characters_in(array.element_kind, array.length.into(), bytes, range, most_units);
                let key = || {
                    let is_wide = range.is_wide && array.element_kind == FieldKind::Byte;
                    let width = if is_wide { 2 } else { array.element_kind.bytes(0) as usize };
                    let start = range.start.saturating_mul(width).min(bytes.len());
                    let part = &bytes[start..];
                    let end = range.count.map_or(part.len(), |count| count.saturating_mul(width).min(part.len()));
                    let key = content_key_of(array.element_kind, &part[..end]);
                    if is_wide { key.for_other_encoding() } else { key }
                };
                text.into_iter().for_each(|text| take(number, text, &key));
            }
        };
        let make = || {
            let mut at = 0;
            let number_of = move |id| seek_first(strings, |string| string.0, &mut at, id);
            CharacterArrayVisitor::new(number_of, MAX_ARRAY_BYTES, &see)
        };
        self.visit(make).map(|_| ())
    }
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

/// Shows instances with their wanted fields, and arrays.
struct FieldVisitor<'p, S, F> {
    id_bytes: usize,
    classes: &'p FxHashMap<u64, CountedClass>,
    /// The class of the instance before.
    last_class: (u64, Option<&'p CountedClass>),
    values: Vec<Option<RawValue>>,
    state: S,
    take: &'p F,
}

impl<S: Send, F: Fn(&mut S, &CountedInstance<'_>) + Sync> ObjectVisitor for FieldVisitor<'_, S, F> {
    #[inline]
    fn visit_instance(&mut self, id: u64, class: u64, values: &[u8]) {
        if self.last_class.0 != class {
            self.last_class = (class, self.classes.get(&class));
            self.values.fill(None);
        }
        let Some(class) = self.last_class.1 else { return };
        for &(name, kind, at) in &class.fields {
            // A record that is too short has nothing there.
            let value = raw_value_at(kind, values, at, self.id_bytes).map(|bits| RawValue { kind, bits });
            self.values[name] = Some(value.unwrap_or(RawValue { kind: FieldKind::Reference, bits: 0 }));
        }
        (self.take)(&mut self.state, &CountedInstance { id, class: Some(class), values: &self.values });
    }

    #[inline]
    fn visit_array(&mut self, array: &ArrayHead) -> bool {
        (self.take)(&mut self.state, &CountedInstance { id: array.id, class: None, values: &[] });
        false
    }
}
