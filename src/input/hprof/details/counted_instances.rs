//! What instances hold in a dump that was only counted, without a graph: passes over the file that keep nothing of an object.

use rustc_hash::FxHashMap;

use super::finder::ObjectPlaces;
use super::object_pass::{ArrayHead, ObjectVisitor, visit_objects};
use super::shown_values::{CLASSES_WITH_NAME_FIELD, characters_in};
use super::texts_of_strings::{CharacterArrayVisitor, MAX_ARRAY_BYTES};
use super::values::{content_key_of, raw_value_at};
use crate::graph::{FieldKind, MemoryBudget};
use crate::input::counted_instances::{
    CharacterRange, CountedClass, CountedInstance, CountedInstances, RawValue, TakeInstance, TakeText, seek_first,
};
use crate::input::hprof::layout::classes::Classes;
use crate::input::hprof::layout::sizes::decoded_text;
use crate::input::hprof::layout::texts::TextRecords;
use crate::input::hprof::wire::{primitive_kind, value_bytes};
use crate::input::{ReadError, RereadableFile};

/// A class with the fields of its instances that are asked for: the place of the name, the kind, and where it is in the values.
type ClassWithFields = (CountedClass, Vec<(usize, FieldKind, usize)>);

/// Instances of a dump that was only counted.
#[derive(Debug)]
pub struct HprofInstances {
    pub(in crate::input::hprof) places: ObjectPlaces,
    /// `None` where the dump came through a pipe of which nothing is kept.
    pub(in crate::input::hprof) reread: Option<RereadableFile>,
    pub(in crate::input::hprof) classes: Classes,
    pub(in crate::input::hprof) texts: TextRecords,
    /// By id of the class, without fields.
    pub(in crate::input::hprof) counted_classes: FxHashMap<u64, CountedClass>,
    /// The account of the memory that answers may take.
    pub(in crate::input::hprof) budget: MemoryBudget,
}

impl HprofInstances {
    /// Classes that have instances, with their fields of these names: the nearest class's. O(fields).
    fn classes_with_fields(&self, names: &[&str]) -> FxHashMap<u64, ClassWithFields> {
        let text = |id: u64| decoded_text(&self.texts, id, &Default::default());
        let mut name_by_id: FxHashMap<u64, Option<usize>> = FxHashMap::default();
        let mut by_number = vec![ClassWithFields::default(); self.classes.class_dumps.len()];
        let counted = self.counted_classes.iter().map(|(&id, &class)| (id, (class, Vec::new())));
        let mut counted: FxHashMap<u64, ClassWithFields> = counted.collect();
        for &number in &self.classes.superclass_first_order {
            let dump = &self.classes.class_dumps[number as usize];
            let (mut class, mut fields) = counted.get(&dump.id).cloned().unwrap_or_default();
            let mut at = 0usize;
            let mut add = |name, kind, at| {
                if fields.iter().all(|(known, ..)| *known != name) {
                    fields.push((name, kind, at));
                }
            };
            for field in &dump.fields {
                let name = name_by_id.entry(field.name_id).or_insert_with(|| {
                    let text = text(field.name_id)?;
                    names.iter().position(|name| *name == text)
                });
                let kind = primitive_kind(field.basic_type).unwrap_or(FieldKind::Reference);
                name.iter().for_each(|&name| add(name, kind, at));
                at = at.saturating_add(value_bytes(field.basic_type, self.places.id_bytes).unwrap_or(0));
            }
            let class_name = self.classes.name_ids.get(&dump.id).and_then(|&id| text(id)).unwrap_or_default();
            let class_name = class_name.replace('/', ".");
            class.has_name = class_name == "java.lang.Class" || CLASSES_WITH_NAME_FIELD.contains(&&*class_name);
            if let Some(above) = self.classes.superclass_number(number).map(|above| &by_number[above as usize]) {
                class.has_name |= above.0.has_name;
                above.1.iter().for_each(|&(name, kind, offset)| {
                    add(name, kind, at.saturating_add(offset));
                });
            }
            counted.entry(dump.id).and_modify(|known| *known = (class, fields.clone()));
            by_number[number as usize] = (class, fields);
        }
        counted
    }

    fn visit<V: ObjectVisitor>(&self, make: impl Fn() -> V + Sync) -> Result<(), ReadError> {
        self.reread.as_ref().map_or(Ok(()), |reread| visit_objects(&self.places, reread, make).map(|_| ()))
    }
}

impl CountedInstances for HprofInstances {
    fn are_readable(&self) -> bool {
        self.reread.as_ref().is_some_and(RereadableFile::is_available)
    }

    fn is_class_object(&self, id: u64) -> bool {
        self.classes.by_id.contains_key(&id)
    }

    fn have_field(&self, name: &str) -> bool {
        self.classes_with_fields(&[name]).values().any(|(_, fields)| !fields.is_empty())
    }

    fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    fn visit_fields<'s>(&self, names: &[&str], make: &(dyn Fn() -> TakeInstance<'s> + Sync)) -> Result<(), ReadError> {
        let (classes, id_bytes) = (&self.classes_with_fields(names), self.places.id_bytes);
        let make = || {
            let (take, last_class, values) = (make(), (0, None), vec![None; names.len()]);
            FieldVisitor { id_bytes, classes, last_class, values, take }
        };
        self.visit(make)
    }

    fn visit_texts(
        &self,
        strings: &[(u64, CharacterRange, u32)],
        most_units: usize,
        take: &TakeText<'_>,
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
        self.visit(make)
    }
}

/// Shows instances with their wanted fields, and arrays.
struct FieldVisitor<'p, 's> {
    id_bytes: usize,
    classes: &'p FxHashMap<u64, ClassWithFields>,
    /// The class of the instance before.
    last_class: (u64, Option<&'p ClassWithFields>),
    values: Vec<Option<RawValue>>,
    take: TakeInstance<'s>,
}

impl ObjectVisitor for FieldVisitor<'_, '_> {
    #[inline]
    fn visit_instance(&mut self, id: u64, class: u64, values: &[u8]) {
        if self.last_class.0 != class {
            self.last_class = (class, self.classes.get(&class));
            self.values.fill(None);
        }
        let Some((class, fields)) = self.last_class.1 else { return };
        for &(name, kind, at) in fields {
            // A record that is too short has nothing there.
            let value = raw_value_at(kind, values, at, self.id_bytes).map(|bits| RawValue { kind, bits });
            self.values[name] = Some(value.unwrap_or(RawValue { kind: FieldKind::Reference, bits: 0 }));
        }
        (self.take)(&CountedInstance { id, class: Some(*class), values: &self.values });
    }

    #[inline]
    fn visit_array(&mut self, array: &ArrayHead) -> bool {
        (self.take)(&CountedInstance { id: array.id, class: None, values: &[] });
        false
    }
}
