//! What instances hold in a dump that was only counted, without a graph: passes over the file, each on all threads. Nothing is
//! kept of an object; of what fields refer to, ids are looked for, and their objects say what boxes and strings say.

use std::fmt;

use rustc_hash::FxHashMap;

use super::finder::ObjectPlaces;
use super::object_pass::{ArrayHead, ObjectVisitor, visit_objects};
use super::shown_values::{CharacterRange, TextSource, characters_in, string_or_box};
use super::texts_of_strings::{CharacterArrayVisitor, MAX_ARRAY_BYTES};
use super::values::{content_key_of, primitive_value, raw_value_at};
use crate::graph::{FieldKind, IdStyle, MemoryBudget};
use crate::input::hprof::layout::classes::Classes;
use crate::input::hprof::layout::sizes::decoded_text;
use crate::input::hprof::layout::texts::TextRecords;
use crate::input::hprof::wire::{primitive_kind, value_bytes};
use crate::input::{ContentKey, ReadError, RereadableFile, Text, Value};

/// The value of a field as it stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RawValue {
    pub(crate) kind: FieldKind,
    /// The bytes of the value in the low ones; of a reference the id, 0 for null.
    pub(crate) bits: u64,
}

impl RawValue {
    pub(crate) const NULL: RawValue = RawValue { kind: FieldKind::Reference, bits: 0 };

    /// The value; of a reference null.
    pub(crate) fn primitive(self) -> Value {
        primitive_value(self.kind, self.bits)
    }

    /// The id of the object that it refers to.
    pub(crate) fn target(self) -> Option<u64> {
        (self.kind == FieldKind::Reference && self.bits != 0).then_some(self.bits)
    }
}

/// An instance in a pass.
pub(crate) struct CountedInstance<'v> {
    /// The index of its type among those that were counted.
    pub(crate) type_index: u32,
    pub(crate) shallow_bytes: u64,
    /// By name that was asked for: what its field holds; `None` where its class has no such field.
    pub(crate) values: &'v [Option<RawValue>],
}

/// What the object of an id is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReferredObject {
    /// The dump has none.
    Missing,
    /// A box with this value.
    Boxed(RawValue),
    String,
    Array,
    ClassObject,
    /// Another instance, of the type of this index.
    Other(u32),
}

/// A string among the objects of some ids.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReferredString {
    /// The id of the array with its characters, 0 for none.
    array: u64,
    /// The place of its own id.
    pub(crate) target: u32,
    type_index: u32,
    /// The first unit, and how many there are at most.
    start: u32,
    count: u32,
    is_wide: bool,
}

/// The class of instances that were counted.
#[derive(Debug, Clone, Copy)]
pub(in crate::input::hprof) struct CountedClass {
    pub(in crate::input::hprof) type_index: u32,
    pub(in crate::input::hprof) instance_bytes: u64,
}

/// Instances of a dump that was only counted.
pub struct CountedInstances {
    pub(in crate::input::hprof) places: ObjectPlaces,
    /// `None` where the dump came through a pipe of which nothing is kept.
    pub(in crate::input::hprof) reread: Option<RereadableFile>,
    pub(in crate::input::hprof) classes: Classes,
    pub(in crate::input::hprof) texts: TextRecords,
    /// By id of the class.
    pub(in crate::input::hprof) counted_classes: FxHashMap<u64, CountedClass>,
    pub(in crate::input::hprof) budget: MemoryBudget,
}

impl fmt::Debug for CountedInstances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountedInstances").field("classes", &self.counted_classes.len()).finish_non_exhaustive()
    }
}

/// A field of a class that is asked for: the place of its name, its kind, and where it is in the values.
type WantedField = (usize, FieldKind, usize);

impl CountedInstances {
    /// Returns true unless the dump came through a pipe of which not all was kept.
    pub(crate) fn are_readable(&self) -> bool {
        self.reread.as_ref().is_some_and(RereadableFile::is_available)
    }

    /// The account of the memory that answers may take.
    pub(crate) fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// Fields of these names that classes with instances have, the nearest class's. O(fields).
    fn wanted_fields(&self, names: &[&str]) -> FxHashMap<u64, (CountedClass, Vec<WantedField>)> {
        let mut name_by_id: FxHashMap<u64, Option<usize>> = FxHashMap::default();
        let mut name_of = |id: u64| {
            *name_by_id.entry(id).or_insert_with(|| {
                let text = decoded_text(&self.texts, id, &Default::default())?;
                names.iter().position(|name| *name == text)
            })
        };
        let mut wanted_by_number: Vec<Vec<WantedField>> = vec![Vec::new(); self.classes.class_dumps.len()];
        let mut wanted_by_class = FxHashMap::default();
        for &number in &self.classes.superclass_first_order {
            let dump = &self.classes.class_dumps[number as usize];
            let (mut wanted, mut at): (Vec<WantedField>, usize) = (Vec::new(), 0);
            let is_new = |wanted: &[WantedField], name| wanted.iter().all(|(known, ..)| *known != name);
            for field in &dump.fields {
                if let Some(name) = name_of(field.name_id).filter(|&name| is_new(&wanted, name)) {
                    wanted.push((name, primitive_kind(field.basic_type).unwrap_or(FieldKind::Reference), at));
                }
                at = at.saturating_add(value_bytes(field.basic_type, self.places.id_bytes).unwrap_or(0));
            }
            if let Some(above) = self.classes.superclass_number(number) {
                for &(name, kind, offset) in &wanted_by_number[above as usize] {
                    if is_new(&wanted, name) {
                        wanted.push((name, kind, at.saturating_add(offset)));
                    }
                }
            }
            if let Some(&class) = self.counted_classes.get(&dump.id) {
                wanted_by_class.insert(dump.id, (class, wanted.clone()));
            }
            wanted_by_number[number as usize] = wanted;
        }
        wanted_by_class
    }

    /// By name: whether a class with instances has such a field. O(fields).
    pub(crate) fn have_fields(&self, names: &[&str]) -> Vec<bool> {
        let wanted = self.wanted_fields(names);
        let has = |name: usize| wanted.values().any(|(_, fields)| fields.iter().any(|(known, ..)| *known == name));
        (0..names.len()).map(has).collect()
    }

    fn visit<V: ObjectVisitor>(&self, make: impl Fn() -> V + Sync) -> Result<Vec<V>, ReadError> {
        self.reread.as_ref().map_or(Ok(Vec::new()), |reread| visit_objects(&self.places, reread, make))
    }

    /// Shows the instances of the types that are wanted and have one of these fields to `take`, on all threads; returns the
    /// states of these. One pass. Error: if the file cannot be read again.
    pub(crate) fn visit_fields<S: Send>(
        &self,
        names: &[&str],
        is_wanted: impl Fn(u32) -> bool,
        make: impl Fn() -> S + Sync,
        take: impl Fn(&mut S, &CountedInstance<'_>) + Sync,
    ) -> Result<Vec<S>, ReadError> {
        let mut classes = self.wanted_fields(names);
        classes.retain(|_, (class, fields)| !fields.is_empty() && is_wanted(class.type_index));
        let make = || FieldVisitor {
            id_bytes: self.places.id_bytes,
            classes: &classes,
            last_class: (0, None),
            values: vec![None; names.len()],
            state: make(),
            take: &take,
        };
        Ok(self.visit(make)?.into_iter().map(|visitor| visitor.state).collect())
    }

    /// What the objects of these ids are, which must ascend, and the strings among them. One pass; 48 bytes for each. Error: if
    /// the file cannot be read again, or there is no memory.
    pub(crate) fn referred_objects(
        &self,
        ids: &[u64],
    ) -> Result<(Vec<ReferredObject>, Vec<ReferredString>), ReadError> {
        let mut share = self.budget.for_content();
        share.set_held_bytes((ids.len() as u64).saturating_mul(48))?;
        let raw_name = |class: u64| decoded_text(&self.texts, *self.classes.name_ids.get(&class)?, &Default::default());
        let fields = ["value", "coder", "offset", "count"];
        let source_of = |class: u64, wanted: &[WantedField]| {
            let place = |name: &str| {
                let found = wanted.iter().find(|(known, ..)| fields[*known] == name);
                found.map(|&(_, kind, at)| (kind, at))
            };
            string_or_box(&raw_name(class)?.replace('/', "."), place)
        };
        let wanted = self.wanted_fields(&fields).into_iter();
        let sources = wanted.map(|(id, (class, wanted))| (id, (class.type_index, source_of(id, &wanted))));
        let classes: FxHashMap<u64, (u32, Option<TextSource>)> = sources.collect();
        let make = || ReferredVisitor {
            id_bytes: self.places.id_bytes,
            ids,
            at: 0,
            classes: &classes,
            found: Vec::new(),
            strings: Vec::new(),
        };
        let mut objects = vec![ReferredObject::Missing; ids.len()];
        let mut strings = Vec::new();
        for visitor in self.visit(make)? {
            visitor.found.into_iter().for_each(|(at, object)| objects[at as usize] = object);
            strings.extend(visitor.strings);
        }
        for &class in self.classes.by_id.keys() {
            if let Ok(at) = ids.binary_search(&class) {
                objects[at] = ReferredObject::ClassObject;
            }
        }
        strings.sort_unstable_by_key(|string| (string.array, string.target));
        strings.dedup_by_key(|string| (string.array, string.target));
        Ok((objects, strings))
    }

    /// Shows the texts of strings, as [`referred_objects`](Self::referred_objects) returns them, to `take` with the key of
    /// all their characters; of each text at most so many units. Returns the states of threads. One pass. Error: if the file
    /// cannot be read again, or there is no memory for a long text.
    pub(crate) fn visit_texts<S: Send>(
        &self,
        strings: &[ReferredString],
        most_units: usize,
        make: impl Fn() -> S + Sync,
        take: impl Fn(&mut S, u32, Text, &dyn Fn() -> ContentKey) + Sync,
    ) -> Result<Vec<S>, ReadError> {
        let see = |state: &mut S, first: usize, array: &ArrayHead, bytes: &[u8]| {
            for string in strings[first..].iter().take_while(|string| string.array == array.id) {
                let (start, count) = (string.start as usize, string.count as usize);
                let range = CharacterRange { is_wide: string.is_wide, start, count: Some(count) };
                let text = characters_in(array.element_kind, array.length.into(), bytes, range, most_units);
                let key = || {
                    let is_wide = string.is_wide && array.element_kind == FieldKind::Byte;
                    let width = if is_wide { 2 } else { array.element_kind.bytes(0) as usize };
                    let start = start.saturating_mul(width).min(bytes.len());
                    let end = start.saturating_add(count.saturating_mul(width)).min(bytes.len());
                    let key = content_key_of(array.element_kind, &bytes[start..end]);
                    if is_wide { key.for_other_encoding() } else { key }
                };
                if let Some(text) = text {
                    take(state, string.target, text, &key);
                }
            }
        };
        let make = || {
            let (state, mut at) = (make(), 0);
            let number_of = move |id| seek_first(strings, |string| string.array, &mut at, id);
            CharacterArrayVisitor::new(number_of, MAX_ARRAY_BYTES, state, &see, self.budget.for_buffer())
        };
        self.visit(make)?.into_iter().map(CharacterArrayVisitor::into_state).collect()
    }

    /// The name of a string that has no characters: its id and the name of its type.
    pub(crate) fn name_of_textless(
        &self,
        id: u64,
        string: &ReferredString,
        type_name: impl Fn(u32) -> String,
    ) -> String {
        format!("{} {}", IdStyle::Prefixed.format(id), type_name(string.type_index))
    }
}

/// The first of the items, which ascend by id, that has this id. Objects mostly come in the order of their ids: `at`, where
/// the last one was looked for, is mostly near.
fn seek_first<T>(items: &[T], id_of: impl Fn(&T) -> u64, at: &mut usize, id: u64) -> Option<usize> {
    let is_before = |place: usize| items.get(place).is_some_and(|item| id_of(item) < id);
    let is_first = |place: usize| (place == 0 || is_before(place - 1)) && !is_before(place);
    if !is_first(*at) {
        *at = if is_first(*at + 1) { *at + 1 } else { items.partition_point(|item| id_of(item) < id) };
    }
    items.get(*at).filter(|item| id_of(item) == id).map(|_| *at)
}

/// Shows the wanted fields of instances.
struct FieldVisitor<'p, S, F> {
    id_bytes: usize,
    classes: &'p FxHashMap<u64, (CountedClass, Vec<WantedField>)>,
    /// The class of the instance before, and its wanted fields.
    last_class: (u64, Option<&'p (CountedClass, Vec<WantedField>)>),
    values: Vec<Option<RawValue>>,
    state: S,
    take: &'p F,
}

impl<S: Send, F: Fn(&mut S, &CountedInstance<'_>) + Sync> ObjectVisitor for FieldVisitor<'_, S, F> {
    #[inline]
    fn visit_instance(&mut self, _: u64, class: u64, values: &[u8]) {
        if self.last_class.0 != class {
            self.last_class = (class, self.classes.get(&class));
            self.values.fill(None);
        }
        let Some((class, fields)) = self.last_class.1 else { return };
        for &(name, kind, at) in fields {
            // A record that is too short has nothing there.
            let bits = raw_value_at(kind, values, at, self.id_bytes);
            self.values[name] = Some(bits.map_or(RawValue::NULL, |bits| RawValue { kind, bits }));
        }
        let (type_index, shallow_bytes) = (class.type_index, class.instance_bytes);
        (self.take)(&mut self.state, &CountedInstance { type_index, shallow_bytes, values: &self.values });
    }
}

/// Looks for the objects of some ids.
struct ReferredVisitor<'p> {
    id_bytes: usize,
    ids: &'p [u64],
    /// Where the last one was looked for.
    at: usize,
    classes: &'p FxHashMap<u64, (u32, Option<TextSource>)>,
    /// By the place of the id.
    found: Vec<(u32, ReferredObject)>,
    strings: Vec<ReferredString>,
}

impl ReferredVisitor<'_> {
    fn place_of(&mut self, id: u64) -> Option<u32> {
        seek_first(self.ids, |&id| id, &mut self.at, id).map(|at| at as u32)
    }
}

impl ObjectVisitor for ReferredVisitor<'_> {
    #[inline]
    fn visit_instance(&mut self, id: u64, class: u64, values: &[u8]) {
        let Some(target) = self.place_of(id) else { return };
        let Some(&(type_index, source)) = self.classes.get(&class) else {
            return self.found.push((target, ReferredObject::Other(u32::MAX)));
        };
        let object = match source {
            Some(TextSource::String(places)) => {
                let array = places.array.and_then(|at| raw_value_at(FieldKind::Reference, values, at, self.id_bytes));
                let CharacterRange { is_wide, start, count } = places.characters(values);
                let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
                let (start, count) = (narrow(start), count.map_or(u32::MAX, narrow));
                let array = array.unwrap_or(0);
                self.strings.push(ReferredString { array, target, type_index, start, count, is_wide });
                ReferredObject::String
            }
            Some(TextSource::BoxedPrimitive(kind, at)) => match raw_value_at(kind, values, at, 0) {
                Some(bits) => ReferredObject::Boxed(RawValue { kind, bits }),
                None => ReferredObject::Other(type_index),
            },
            _ => ReferredObject::Other(type_index),
        };
        self.found.push((target, object));
    }

    #[inline]
    fn visit_array(&mut self, array: &ArrayHead) -> bool {
        if let Some(target) = self.place_of(array.id) {
            self.found.push((target, ReferredObject::Array));
        }
        false
    }
}
