//! Values of fields of a dump that was only counted: as groups, and added up. Memory goes by the groups and by the objects
//! that the fields refer to, not by those of the heap.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, Ordering};

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::field_figures::{FieldTotals, note_if_other, number_of};
use super::{HistogramOptions, HistogramRow};
use crate::answers::AnswerError;
use crate::answers::field_groups::{GroupNames, NULL_GROUP};
use crate::answers::values::unreadable_values;
use crate::dump::{CountedTypes, MemoryError, MemoryPurpose, NoValues};
use crate::filter::{FieldSelection, MAX_TEXT_UNITS, PathStep, is_size_name};
use crate::graph::{BuildError, MemoryShare};
use crate::input::{
    ContentKey, CountedInstance, CountedInstances, RawValue, ReadError, ReadErrorKind, ReferredObject, ReferredString,
    Text,
};

/// What is counted of fields.
pub(super) struct CountedFields {
    /// Values that are groups, with objects and bytes; none where rows are of types or packages.
    pub(super) groups: Vec<(String, (u64, u64))>,
    /// Totals of each group, or of each type that was counted: of all fields that are added up.
    pub(super) totals: Vec<FieldTotals>,
}

/// The fields of a question.
struct CountedQuestion<'q> {
    options: &'q HistogramOptions,
    /// Their names, each once.
    names: Vec<&'q str>,
    /// Whose values are the groups.
    by: Option<usize>,
    /// Which are added up.
    figures: Vec<usize>,
}

impl<'q> CountedQuestion<'q> {
    /// Error: if it takes more than the instances that have the fields.
    fn of(options: &'q HistogramOptions) -> Result<Self, AnswerError> {
        let (mut names, mut figures): (Vec<&str>, Vec<usize>) = Default::default();
        let mut name_of = |(path, steps): (&str, &'q [PathStep])| match steps {
            // Of known collections it is their size where they have no such field: to know them takes types and references.
            [PathStep::Field(name)] if is_size_name(name) => {
                Err(AnswerError::FieldNeedsGraph(path.into(), "is the size of collections too".into()))
            }
            [PathStep::Field(name)] => Ok(names.iter().position(|known| known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })),
            _ => Err(AnswerError::FieldNeedsGraph(path.into(), "leads from object to object".into())),
        };
        let by = options.field.as_ref().and_then(|field| field.paths().zip(field.steps()).next());
        let by = by.map(&mut name_of).transpose()?;
        for path in options.field_figures.paths() {
            figures.push(name_of(path)?);
        }
        Ok(CountedQuestion { options, names, by, figures })
    }

    fn is_of_type(&self, counted: &CountedTypes, type_index: u32) -> bool {
        let name = counted.types.get(type_index as usize).map_or("", |(name, ..)| name);
        self.options.scope.types.as_ref().is_none_or(|types| types.matches(name))
    }
}

/// The fields that are asked for and that no object has, in a sentence. O(fields of all classes).
pub fn missing_fields_of_counted(counted: &CountedTypes, options: &HistogramOptions) -> Option<String> {
    let CountedQuestion { mut names, .. } = CountedQuestion::of(options).ok()?;
    let have = counted.instances.as_ref()?.have_fields(&names);
    let mut have = have.into_iter();
    names.retain(|_| have.next() == Some(false));
    names.sort_unstable();
    let names: Vec<String> = names.iter().map(|name| format!(".{name}")).collect();
    (!names.is_empty()).then(|| format!("no object has a field {}", names.join(" or ")))
}

/// Counts values of fields in one pass over the file; where fields refer to objects in a second, and where these are strings
/// in a third. Some 60 bytes for each group, 130 for each group and field that is added up, and 100 for each object that is
/// referred to and its text. Error: if the file cannot be read again, a field takes a graph, or there is no memory.
pub(super) fn count_fields(
    counted: &CountedTypes,
    instances: &CountedInstances,
    options: &HistogramOptions,
) -> Result<CountedFields, AnswerError> {
    let question = &CountedQuestion::of(options)?;
    if !instances.are_readable() {
        return Err(AnswerError::NoValues(NoValues::PipeNotKept));
    }
    let explain = |error: ReadError| match error.kind() {
        ReadErrorKind::TooLarge(BuildError::TooMuchMemory(limit_bytes)) => AnswerError::OutOfMemory(MemoryError {
            purpose: MemoryPurpose::HeldWhileAnswering,
            needed_bytes: None,
            limit_bytes: *limit_bytes,
        }),
        _ => unreadable_values(error),
    };
    let make = || FieldTally::new(question, counted.types.len(), instances.budget().for_content());
    let is_wanted = |type_index| question.is_of_type(counted, type_index);
    let tallies = instances.visit_fields(&question.names, is_wanted, make, FieldTally::add).map_err(explain)?;
    let merged = tallies.into_iter().reduce(FieldTally::merged_with).unwrap_or_else(make);
    let mut tally = merged.checked().map_err(explain)?;
    let (mut ids, mut boxed) = tally.take_targets().map_err(explain)?;
    ids.sort_unstable();
    ids.dedup();
    let (objects, strings) = match ids.is_empty() {
        true => Default::default(),
        false => instances.referred_objects(&ids).map_err(explain)?,
    };
    boxed.sort_unstable();
    tally.add_boxed(&boxed, &ids, &objects);
    drop(boxed);
    options.field_figures.check_numbers(&tally.totals, &tally.holds_others)?;
    let Some(by) = options.field.as_ref().filter(|_| question.by.is_some()) else {
        return Ok(CountedFields { groups: Vec::new(), totals: tally.totals });
    };
    let mut names = GroupNames::with_no_field_and_null();
    let referred = ReferredGroups { by, counted, ids: &ids, objects: &objects };
    let group_of = referred.groups_of(&tally, &mut names)?;
    let said = match strings.is_empty() {
        true => Vec::new(),
        false => referred.groups_of_texts(instances, &strings, &mut names).map_err(explain)?,
    };
    let group_of = group_of.into_iter().map(|group| match group {
        GroupOrString::Group(group) => group,
        GroupOrString::String(target) => said.get(target as usize).copied().unwrap_or(NULL_GROUP),
    });
    tally.into_fields(group_of.collect(), names, counted).map_err(explain)
}

/// Objects with one value of the field whose values are groups.
struct CountedGroup {
    /// `None` without such a field.
    key: Option<RawValue>,
    objects: u64,
    shallow_bytes: u64,
}

/// What one thread counted.
struct FieldTally<'q> {
    question: &'q CountedQuestion<'q>,
    groups: Vec<CountedGroup>,
    groups_by_key: HashTable<u32>,
    /// The group of the instance before.
    last_group: usize,
    /// By group, or by type: of each field that is added up.
    totals: Vec<FieldTotals>,
    /// (place in `totals`, id of an object that may be a number in a box): how often.
    boxed: FxHashMap<(usize, u64), u64>,
    /// By field that is added up: it holds what is no number.
    holds_others: Vec<AtomicBool>,
    share: MemoryShare,
    error: Option<BuildError>,
}

/// A box in a field that is added up: the id, where it is added, how often.
type BoxedUse = (u64, usize, u64);

impl<'q> FieldTally<'q> {
    fn new(question: &'q CountedQuestion<'q>, type_count: usize, share: MemoryShare) -> Self {
        let mut tally = FieldTally {
            question,
            groups: Vec::new(),
            groups_by_key: HashTable::new(),
            last_group: 0,
            totals: Vec::new(),
            boxed: FxHashMap::default(),
            holds_others: question.figures.iter().map(|_| AtomicBool::new(false)).collect(),
            share,
            error: None,
        };
        if question.by.is_none() {
            let slots = type_count.saturating_mul(question.figures.len());
            tally.hold(slots.saturating_mul(size_of::<FieldTotals>()));
            tally.totals = vec![FieldTotals::default(); if tally.error.is_none() { slots } else { 0 }];
        }
        tally
    }

    /// Notes that there is no memory for so many bytes, if there is none.
    fn hold(&mut self, bytes: usize) {
        self.error = self.share.set_held_bytes(bytes as u64).err().or(self.error.take());
    }

    /// Room for twice as many groups and boxes, of what is full.
    fn make_room(&mut self) {
        let doubled =
            |length: usize, capacity: usize| if length < capacity { capacity } else { (2 * length).max(1024) };
        let groups = doubled(self.groups.len(), self.groups.capacity());
        let boxes = doubled(self.boxed.len(), self.boxed.capacity());
        let bytes_per_group =
            size_of::<CountedGroup>() + 16 + self.question.figures.len() * size_of::<FieldTotals>() * 3 / 2;
        let of_types = if self.question.by.is_none() { self.totals.len() * size_of::<FieldTotals>() } else { 0 };
        self.hold(groups * bytes_per_group + boxes * 48 + of_types);
        if self.error.is_none() {
            self.groups.reserve_exact(groups - self.groups.len());
        }
    }

    fn group_of(&mut self, key: Option<RawValue>) -> Option<usize> {
        if self.groups.get(self.last_group).is_some_and(|group| group.key == key) {
            return Some(self.last_group);
        }
        let hash = |key: Option<RawValue>| FxBuildHasher.hash_one(key);
        let known = self.groups_by_key.find(hash(key), |&group| self.groups[group as usize].key == key);
        if let Some(&group) = known {
            self.last_group = group as usize;
            return Some(self.last_group);
        }
        if self.groups.len() == self.groups.capacity() {
            self.make_room();
        }
        let number = u32::try_from(self.groups.len()).ok().filter(|_| self.error.is_none())?;
        self.groups.push(CountedGroup { key, objects: 0, shallow_bytes: 0 });
        let groups = &self.groups;
        self.groups_by_key.insert_unique(hash(key), number, |&group| hash(groups[group as usize].key));
        self.totals.resize(self.groups.len() * self.question.figures.len(), FieldTotals::default());
        self.last_group = number as usize;
        Some(self.last_group)
    }

    fn add(&mut self, instance: &CountedInstance<'_>) {
        if self.error.is_some() {
            return;
        }
        let group = match self.question.by {
            None => instance.type_index as usize,
            Some(by) => {
                let Some(group) = self.group_of(instance.values[by]) else { return };
                self.groups[group].add(1, instance.shallow_bytes);
                group
            }
        };
        let question = self.question;
        for (at, &name) in question.figures.iter().enumerate() {
            let Some(value) = instance.values[name] else { continue };
            let slot = group * question.figures.len() + at;
            match value.target() {
                Some(target) => self.add_target(slot, target, 1),
                None => {
                    let value = value.primitive();
                    note_if_other(&self.holds_others[at], &value);
                    number_of(&value).into_iter().for_each(|number| self.totals[slot].add_number(number));
                }
            }
        }
    }

    fn add_target(&mut self, slot: usize, target: u64, times: u64) {
        if self.boxed.len() == self.boxed.capacity() {
            self.make_room();
        }
        if self.error.is_none() {
            *self.boxed.entry((slot, target)).or_default() += times;
        }
    }

    /// Together with what another thread counted.
    fn merged_with(self, other: Self) -> Self {
        let (mut all, other) = if self.groups.len() < other.groups.len() { (other, self) } else { (self, other) };
        all.error = all.error.take().or(other.error);
        let fields = all.question.figures.len();
        let mut own_groups: Vec<usize> = (0..other.totals.len() / fields.max(1)).collect();
        if all.question.by.is_some() {
            own_groups.clear();
            for group in &other.groups {
                let Some(own) = all.group_of(group.key) else { return all };
                all.groups[own].add(group.objects, group.shallow_bytes);
                own_groups.push(own);
            }
        }
        let own_slot = |slot: usize| own_groups[slot / fields] * fields + slot % fields;
        for (slot, totals) in other.totals.iter().enumerate().filter(|_| all.error.is_none()) {
            all.totals[own_slot(slot)].merge(totals);
        }
        for ((slot, target), times) in other.boxed {
            all.add_target(own_slot(slot), target, times);
        }
        for (own, other) in all.holds_others.iter().zip(&other.holds_others) {
            own.fetch_or(other.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        all
    }

    fn checked(mut self) -> Result<Self, ReadError> {
        self.error.take().map_or(Ok(self), |error| Err(error.into()))
    }

    /// Ids of the objects that fields refer to, and those in fields that are added up.
    fn take_targets(&mut self) -> Result<(Vec<u64>, Vec<BoxedUse>), ReadError> {
        self.groups_by_key = HashTable::new();
        let targets = self.groups.iter().filter_map(|group| group.key?.target());
        let id_count = targets.clone().count() + self.boxed.len();
        let bytes = self.share.held_bytes() + (id_count * size_of::<u64>() + self.boxed.len() * 24) as u64;
        self.share.set_held_bytes(bytes)?;
        let mut ids = Vec::with_capacity(id_count);
        ids.extend(targets.chain(self.boxed.keys().map(|(_, target)| *target)));
        let boxed = std::mem::take(&mut self.boxed).into_iter().map(|((slot, target), times)| (target, slot, times));
        Ok((ids, boxed.collect()))
    }

    /// Adds the numbers in boxes, which ascend by id as all ids do.
    fn add_boxed(&mut self, boxed: &[BoxedUse], ids: &[u64], objects: &[ReferredObject]) {
        let mut objects = ids.iter().zip(objects).peekable();
        for &(target, slot, times) in boxed {
            while objects.next_if(|(id, _)| **id < target).is_some() {}
            let holds_others = &self.holds_others[slot % self.question.figures.len()];
            match objects.peek().map(|(_, object)| **object) {
                None | Some(ReferredObject::Missing) => {}
                Some(ReferredObject::Boxed(value)) => {
                    let value = value.primitive();
                    note_if_other(holds_others, &value);
                    number_of(&value).into_iter().for_each(|number| self.totals[slot].add_repeated(number, times));
                }
                Some(_) => holds_others.store(true, Ordering::Relaxed),
            }
        }
    }

    /// The groups by name, with their totals; objects without the field are what is left of all.
    fn into_fields(
        mut self,
        group_of: Vec<u32>,
        names: GroupNames,
        counted: &CountedTypes,
    ) -> Result<CountedFields, ReadError> {
        let (count, fields) = (names.names.len(), self.question.figures.len());
        let bytes_per_row = size_of::<HistogramRow>() + 64 + fields * size_of::<FieldTotals>();
        self.share.set_held_bytes(self.share.held_bytes() + (count * bytes_per_row) as u64)?;
        let mut groups: Vec<(String, (u64, u64))> = names.names.into_iter().map(|name| (name, (0, 0))).collect();
        let mut totals = vec![FieldTotals::default(); count * fields];
        let (mut objects, mut shallow_bytes) = (0u64, 0u64);
        for (type_index, (_, own_objects, own_bytes)) in (0..).zip(&counted.types) {
            if self.question.is_of_type(counted, type_index) {
                (objects, shallow_bytes) =
                    (objects.saturating_add(*own_objects), shallow_bytes.saturating_add(*own_bytes));
            }
        }
        for (at, (group, of)) in self.groups.iter().zip(group_of).enumerate() {
            if group.key.is_some() {
                let (sum, bytes) = &mut groups[of as usize].1;
                (*sum, *bytes) = (*sum + group.objects, bytes.saturating_add(group.shallow_bytes));
                objects = objects.saturating_sub(group.objects);
                shallow_bytes = shallow_bytes.saturating_sub(group.shallow_bytes);
            }
            for field in 0..fields {
                totals[of as usize * fields + field].merge(&self.totals[at * fields + field]);
            }
        }
        groups[0].1 = (objects, shallow_bytes);
        Ok(CountedFields { groups, totals })
    }
}

impl CountedGroup {
    fn add(&mut self, objects: u64, shallow_bytes: u64) {
        self.objects += objects;
        self.shallow_bytes = self.shallow_bytes.saturating_add(shallow_bytes);
    }
}

/// The group of a value, or the place of the string whose text it is.
#[derive(Clone, Copy)]
enum GroupOrString {
    Group(u32),
    String(u32),
}

/// Objects that the field whose values are groups refers to, among others.
struct ReferredGroups<'f> {
    by: &'f FieldSelection,
    counted: &'f CountedTypes,
    /// Ascending.
    ids: &'f [u64],
    objects: &'f [ReferredObject],
}

impl ReferredGroups<'_> {
    /// Groups by the place of their keys. In the order of the keys, that the numbers of groups do not go by that of threads.
    fn groups_of(&self, tally: &FieldTally<'_>, names: &mut GroupNames) -> Result<Vec<GroupOrString>, AnswerError> {
        let keys = &tally.groups;
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_unstable_by_key(|&at| keys[at as usize].key.map(|key| (key.kind as u8, key.bits)));
        let mut groups = vec![GroupOrString::Group(NULL_GROUP); keys.len()];
        let mut target = 0;
        for at in order {
            let Some(key) = keys[at as usize].key else {
                groups[at as usize] = GroupOrString::Group(0);
                continue;
            };
            let Some(id) = key.target() else {
                groups[at as usize] = GroupOrString::Group(names.group_of_value(&key.primitive()));
                continue;
            };
            while self.ids[target] < id {
                target += 1;
            }
            let other = match self.objects[target] {
                ReferredObject::Missing => continue,
                ReferredObject::Boxed(value) => {
                    groups[at as usize] = GroupOrString::Group(names.group_of_value(&value.primitive()));
                    continue;
                }
                ReferredObject::String => {
                    groups[at as usize] = GroupOrString::String(target as u32);
                    continue;
                }
                ReferredObject::Array => "an array".to_string(),
                ReferredObject::ClassObject => "a class".to_string(),
                ReferredObject::Other(type_index) => self.type_name(type_index).to_string(),
            };
            let path = self.by.paths().next().unwrap_or_default().to_string();
            let why = format!("refers to {other}, which is no string and no number in a box");
            return Err(AnswerError::FieldNeedsGraph(path, why));
        }
        Ok(groups)
    }

    fn type_name(&self, type_index: u32) -> &str {
        self.counted.types.get(type_index as usize).map_or("an object of an unknown class", |(name, ..)| name)
    }

    /// Groups of strings by the places of their ids.
    fn groups_of_texts(
        &self,
        instances: &CountedInstances,
        strings: &[ReferredString],
        names: &mut GroupNames,
    ) -> Result<Vec<u32>, ReadError> {
        let mut share = instances.budget().for_content();
        share.set_held_bytes((self.ids.len() * 4 + strings.len() * 16) as u64)?;
        let make = || TextTally { share: instances.budget().for_content(), ..TextTally::default() };
        let mut said = vec![u32::MAX; self.ids.len()];
        for tally in instances.visit_texts(strings, MAX_TEXT_UNITS, make, TextTally::add)? {
            tally.error.map_or(Ok(()), Err)?;
            let groups = names.absorb(tally.names);
            tally.found.into_iter().for_each(|(target, group)| said[target as usize] = groups[group as usize]);
        }
        for string in strings {
            let group = &mut said[string.target as usize];
            if *group == u32::MAX {
                *group = names.names.len() as u32;
                let id = self.ids[string.target as usize];
                names.names.push(instances.name_of_textless(id, string, |at| self.type_name(at).to_string()));
            }
        }
        Ok(said)
    }
}

/// Texts that one thread met.
#[derive(Default)]
struct TextTally {
    names: GroupNames,
    /// (place of the string's id, its group in `names`).
    found: Vec<(u32, u32)>,
    name_bytes: u64,
    share: MemoryShare,
    error: Option<BuildError>,
}

/// Bytes of a group beside its text, in all tables together.
const BYTES_PER_TEXT: u64 = 64;

impl TextTally {
    fn add(&mut self, target: u32, text: Text, key: &dyn Fn() -> ContentKey) {
        if self.error.is_some() {
            return;
        }
        let (before, bytes) = (self.names.names.len(), text.text.len() as u64 + BYTES_PER_TEXT);
        self.found.push((target, self.names.group_of_string(text, key)));
        if self.names.names.len() > before {
            self.name_bytes += bytes;
            // Names are copied into one list in the end.
            self.error = self.share.set_held_bytes(2 * self.name_bytes).err();
        }
    }
}
