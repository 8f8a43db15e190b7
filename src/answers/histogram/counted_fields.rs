//! Values of fields of a dump that was only counted: as groups, and added up. Memory goes by the groups and by the objects
//! that the fields refer to, not by those of the heap.

use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::field_figures::FieldTotals;
use super::{HistogramOptions, HistogramRow};
use crate::answers::AnswerError;
use crate::answers::field_groups::{FieldGroups, NULL_GROUP};
use crate::answers::values::unreadable_values;
use crate::dump::{CountedTypes, MemoryError, MemoryPurpose, NoValues};
use crate::filter::{MAX_TEXT_UNITS, PathStep, is_size_name};
use crate::graph::{BuildError, FieldKind, IdStyle, MemoryShare};
use crate::input::{
    BOX_CLASSES, CharacterRange, CountedInstance, CountedInstances, RawValue, ReadError, ReadErrorKind, seek_first,
};

/// Objects of a group or type.
#[derive(Default)]
pub(super) struct CountedGroup {
    pub(super) objects: u64,
    pub(super) shallow_bytes: u64,
    /// Of each field that is added up; none where no object has such fields.
    pub(super) totals: Vec<FieldTotals>,
}

impl CountedGroup {
    pub(super) fn merge(&mut self, other: CountedGroup) {
        self.objects = self.objects.saturating_add(other.objects);
        self.shallow_bytes = self.shallow_bytes.saturating_add(other.shallow_bytes);
        if self.totals.is_empty() {
            self.totals = other.totals;
        } else {
            self.totals.iter_mut().zip(&other.totals).for_each(|(own, other)| own.merge(other));
        }
    }
}

/// What a group is known by. Where groups are values of a field: the value, `None` of objects without that field. Where
/// they are types: the number of the type.
type CountedKey = Option<RawValue>;

fn key_of_type(type_index: u32) -> CountedKey {
    Some(RawValue { kind: FieldKind::Int, bits: type_index.into() })
}

/// What one thread counted.
#[derive(Default)]
struct FieldTally {
    groups: FxHashMap<CountedKey, CountedGroup>,
    /// (group, number of the field, id of what may be a number in a box): how often.
    boxed: FxHashMap<(CountedKey, usize, u64), u64>,
    share: MemoryShare,
    /// Groups and boxes that there is memory for.
    room: usize,
    error: Option<BuildError>,
}

impl FieldTally {
    /// Adds an instance of a group with what it holds in fields that are added up; `None` where it has no such field.
    fn add(&mut self, key: CountedKey, bytes: u64, values: impl ExactSizeIterator<Item = Option<RawValue>>) {
        if self.groups.len() + self.boxed.len() >= self.room && self.error.is_none() {
            self.room = (2 * self.room).max(1024);
            let row_bytes = 2 * size_of::<(CountedKey, CountedGroup)>() + values.len() * size_of::<FieldTotals>();
            self.error = self.share.set_held_bytes((self.room * row_bytes) as u64).err();
        }
        if self.error.is_some() {
            return;
        }
        let group = self.groups.entry(key).or_default();
        group.objects += 1;
        group.shallow_bytes = group.shallow_bytes.saturating_add(bytes);
        if group.totals.len() < values.len() {
            group.totals = vec![FieldTotals::default(); values.len()];
        }
        for (at, value) in values.enumerate() {
            match value.map(|value| (value, value.target())) {
                Some((_, Some(target))) => *self.boxed.entry((key, at, target)).or_default() += 1,
                Some((value, None)) => group.totals[at].add_values(&value.primitive(), 1),
                None => {}
            }
        }
    }

    fn merged_with(mut self, other: Self) -> Self {
        let held = self.share.set_held_bytes(self.share.held_bytes() + other.share.held_bytes());
        other.groups.into_iter().for_each(|(key, group)| self.groups.entry(key).or_default().merge(group));
        other.boxed.into_iter().for_each(|(key, times)| *self.boxed.entry(key).or_default() += times);
        FieldTally { error: self.error.or(other.error).or(held.err()), ..self }
    }
}

/// What the object of an id says.
#[derive(Clone, Copy)]
enum Said {
    /// No instance or array has it.
    Missing,
    Boxed(RawValue),
    /// The array with its characters, which of them, and the type.
    String(u64, CharacterRange, u32),
    /// An object without a text or number of its own: its type, and whether it has a name, which another object holds.
    Nothing(u32, bool),
    Array,
    ClassObject,
}

/// What is asked of fields.
struct AskedFields<'q> {
    /// The path of the field whose values are groups.
    by: Option<&'q str>,
    /// Names, each once, ascending.
    names: Vec<&'q str>,
    /// By field, that of groups first: the place of its name.
    places: Vec<usize>,
    /// By type that was counted: whether its objects are asked for.
    wanted_types: Vec<bool>,
}

impl<'q> AskedFields<'q> {
    /// Error: if a field takes the graph.
    fn of(counted: &CountedTypes, options: &'q HistogramOptions) -> Result<Self, AnswerError> {
        let by = options.field.as_ref().and_then(|field| field.paths().zip(field.steps()).next());
        let fields = by.into_iter().chain(options.field_figures.paths()).map(|(path, steps)| match steps {
            // Collections are known by their references: how many elements they have is not in a field of this name.
            [PathStep::Field(name)] if is_size_name(name) => Err(needs_graph(path, "may be the size of a collection")),
            [PathStep::Field(name)] => Ok(name.as_str()),
            _ => Err(needs_graph(path, "leads over several objects")),
        });
        let fields = fields.collect::<Result<Vec<&str>, _>>()?;
        let mut names = fields.clone();
        names.sort_unstable();
        names.dedup();
        let places = fields.iter().filter_map(|name| names.binary_search(name).ok()).collect();
        let is_wanted = |name: &String| options.scope.types.as_ref().is_none_or(|types| types.matches(name));
        let wanted_types = counted.types.iter().map(|(name, ..)| is_wanted(name)).collect();
        Ok(AskedFields { by: by.map(|(path, _)| path), names, places, wanted_types })
    }

    fn add(&self, tally: &mut FieldTally, instance: &CountedInstance<'_>) {
        let Some(class) = instance.class.filter(|class| self.wanted_types[class.type_index as usize]) else { return };
        let (of_group, of_figures) = self.places.split_at(usize::from(self.by.is_some()));
        let key = of_group.first().map_or(key_of_type(class.type_index), |&name| instance.values[name]);
        let values = of_figures.iter().map(|&name| instance.values[name]);
        if (self.by.is_some() && key.is_some()) || values.clone().any(|value| value.is_some()) {
            tally.add(key, class.instance_bytes, values);
        }
    }
}

fn needs_graph(path: &str, why: &str) -> AnswerError {
    AnswerError::FieldNeedsGraph(path.into(), why.into())
}

fn explain(error: ReadError) -> AnswerError {
    match error.kind() {
        ReadErrorKind::TooLarge(BuildError::TooMuchMemory(limit_bytes)) => AnswerError::OutOfMemory(MemoryError {
            purpose: MemoryPurpose::HeldWhileAnswering,
            needed_bytes: None,
            limit_bytes: *limit_bytes,
        }),
        _ => unreadable_values(error),
    }
}

/// Counts the values of fields, in one pass over the file; where they refer to objects in a second, and where these are strings
/// in a third. Returns groups with their names, of which the first has no such field, or a group for each type that was
/// counted. Memory: some 120 bytes for each group and 200 for each object that is referred to, on each thread. Error: if the
/// file cannot be read again, a field takes the graph, or there is no memory.
pub(super) fn count_fields(
    counted: &CountedTypes,
    instances: &dyn CountedInstances,
    options: &HistogramOptions,
) -> Result<Vec<(String, CountedGroup)>, AnswerError> {
    let asked = AskedFields::of(counted, options)?;
    if !instances.are_readable() {
        return Err(AnswerError::NoValues(NoValues::PipeNotKept));
    }
    let new_tally = || FieldTally { share: instances.budget().for_content(), ..FieldTally::default() };
    let add = |tally: &mut FieldTally, instance: &CountedInstance<'_>| asked.add(tally, instance);
    let tallies = visit_fields(instances, &asked.names, new_tally, add).map_err(explain)?;
    let FieldTally { mut groups, boxed, mut share, error, .. } =
        tallies.into_iter().reduce(FieldTally::merged_with).unwrap_or_default();
    error.map_or(Ok(()), |error| Err(explain(error.into())))?;
    let targets = groups.keys().filter_map(|key| (*key)?.target());
    let mut ids: Vec<u64> = targets.chain(boxed.keys().map(|(.., target)| *target)).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut hold = |bytes: usize| {
        let bytes = share.held_bytes().saturating_add(bytes as u64);
        share.set_held_bytes(bytes).map_err(|error| explain(error.into()))
    };
    hold(ids.len() * 4 * size_of::<(u32, Said)>())?;
    let said = objects_of(&ids, counted, instances).map_err(explain)?;
    let referred = ReferredObjects { counted, instances, ids, said };
    for ((key, field, target), times) in boxed {
        let Some(total) = groups.get_mut(&key).and_then(|group| group.totals.get_mut(field)) else { continue };
        match referred.said_by(target).1 {
            Said::Boxed(value) => total.add_values(&value.primitive(), times),
            Said::Missing => {}
            _ => total.holds_others = true,
        }
    }
    options.field_figures.check_numbers(groups.values().map(|group| &group.totals[..]))?;
    let Some(path) = asked.by else {
        let of_type = |(type_index, (name, ..)): (u32, &(String, u64, u64))| {
            (name.clone(), groups.remove(&key_of_type(type_index)).unwrap_or_default())
        };
        return Ok((0..).zip(&counted.types).map(of_type).collect());
    };
    let mut without = CountedGroup::default();
    for ((_, objects, shallow_bytes), _) in counted.types.iter().zip(&asked.wanted_types).filter(|(_, wanted)| **wanted)
    {
        without.merge(CountedGroup { objects: *objects, shallow_bytes: *shallow_bytes, totals: Vec::new() });
    }
    let groups = referred.named_groups(path, groups, without)?;
    hold(groups.len() * (size_of::<HistogramRow>() + 64))?;
    Ok(groups)
}

/// What a thread has, handed on when it is done.
struct ThreadState<'l, S: Default> {
    state: S,
    done: &'l Mutex<Vec<S>>,
}

impl<S: Default> Drop for ThreadState<'_, S> {
    fn drop(&mut self) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(&mut self.state));
    }
}

/// Shows all instances and arrays, with their fields of these names, to `take`, on all threads; returns what these had. One pass.
fn visit_fields<S: Default + Send>(
    instances: &dyn CountedInstances,
    names: &[&str],
    make: impl Fn() -> S + Sync,
    take: impl Fn(&mut S, &CountedInstance<'_>) + Sync,
) -> Result<Vec<S>, ReadError> {
    let done = Mutex::new(Vec::new());
    instances.visit_fields(names, &|| {
        let (mut own, take) = (ThreadState { state: make(), done: &done }, &take);
        Box::new(move |instance| take(&mut own.state, instance))
    })?;
    Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn type_name(counted: &CountedTypes, type_index: u32) -> &str {
    counted.types.get(type_index as usize).map_or("", |(name, ..)| name)
}

/// The objects that fields refer to.
struct ReferredObjects<'f> {
    counted: &'f CountedTypes,
    instances: &'f dyn CountedInstances,
    /// Ascending.
    ids: Vec<u64>,
    said: Vec<Said>,
}

impl ReferredObjects<'_> {
    /// What an object says, and the place of its id.
    fn said_by(&self, target: u64) -> (usize, Said) {
        let at = self.ids.binary_search(&target).unwrap_or(usize::MAX);
        match self.said.get(at) {
            None | Some(Said::Missing) if self.instances.is_class_object(target) => (at, Said::ClassObject),
            said => (at, said.copied().unwrap_or(Said::Missing)),
        }
    }

    /// Groups by what they say, of groups by the value of the field of this path. Those in no group are left of `without`, all
    /// that are asked for. A pass where values refer to strings. Error: if one refers to what takes the graph.
    fn named_groups(
        &self,
        path: &str,
        groups: FxHashMap<CountedKey, CountedGroup>,
        mut without: CountedGroup,
    ) -> Result<Vec<(String, CountedGroup)>, AnswerError> {
        // In the order of the keys: what is said does not go by that of threads.
        let mut groups: Vec<(CountedKey, CountedGroup)> = groups.into_iter().collect();
        groups.sort_unstable_by_key(|(key, _)| key.map(|key| (key.kind as u8, key.bits)));
        // Before the texts are read.
        for target in groups.iter().filter_map(|(key, _)| (*key)?.target()) {
            let what = match self.said_by(target).1 {
                Said::Nothing(type_index, true) => type_name(self.counted, type_index),
                Said::Array => "an array",
                Said::ClassObject => "a class",
                _ => continue,
            };
            return Err(needs_graph(path, &format!("refers to {what}, whose name is not in the object itself")));
        }
        let mut found = FieldGroups::with_no_field_and_null();
        let group_of_text = groups_of_texts(&self.said, self.instances, &mut found).map_err(explain)?;
        let mut amounts: Vec<CountedGroup> = Vec::new();
        for (key, group) in groups {
            let Some(value) = key else {
                without.totals = group.totals;
                continue;
            };
            let number = match value.target().map(|target| (target, self.said_by(target))) {
                None => found.group_of_value(&value.primitive()),
                Some((_, (_, Said::Missing | Said::Array | Said::ClassObject))) => NULL_GROUP,
                Some((_, (_, Said::Boxed(value)))) => found.group_of_value(&value.primitive()),
                Some((_, (at, Said::String(..)))) if group_of_text[at] > 0 => group_of_text[at],
                Some((target, (_, Said::String(.., type_index) | Said::Nothing(type_index, _)))) => {
                    let name = type_name(self.counted, type_index);
                    found.names.push(format!("{} {name}", IdStyle::Prefixed.format(target)));
                    found.names.len() as u32 - 1
                }
            };
            without.objects = without.objects.saturating_sub(group.objects);
            without.shallow_bytes = without.shallow_bytes.saturating_sub(group.shallow_bytes);
            amounts.resize_with(amounts.len().max(number as usize + 1), CountedGroup::default);
            amounts[number as usize].merge(group);
        }
        amounts.resize_with(found.names.len(), CountedGroup::default);
        amounts[0] = without;
        Ok(found.names.into_iter().zip(amounts).collect())
    }
}

/// What the objects of these ids, which ascend, say. One pass.
fn objects_of(ids: &[u64], counted: &CountedTypes, instances: &dyn CountedInstances) -> Result<Vec<Said>, ReadError> {
    let mut said = vec![Said::Missing; ids.len()];
    if ids.is_empty() {
        return Ok(said);
    }
    let look = |(at, found): &mut (usize, Vec<(u32, Said)>), instance: &CountedInstance<'_>| {
        let Some(place) = seek_first(ids, |&id| id, at, instance.id) else { return };
        let Some(class) = instance.class else { return found.push((place as u32, Said::Array)) };
        let name = type_name(counted, class.type_index).replace('/', ".");
        let of_kind = |at: usize, kind| instance.values[at].filter(|value| value.kind == kind).map(|value| value.bits);
        let number = |at| of_kind(at, FieldKind::Int).and_then(|bits| usize::try_from(bits as u32 as i32).ok());
        found.push((
            place as u32,
            match instance.values[0] {
                Some(value) if value.kind != FieldKind::Reference && BOX_CLASSES.contains(&&*name) => {
                    Said::Boxed(value)
                }
                _ if name == "java.lang.String" => {
                    // A count alone (Android) says something else.
                    let part = number(2).zip(number(3));
                    let range = CharacterRange {
                        is_wide: of_kind(1, FieldKind::Byte) == Some(1),
                        start: part.map_or(0, |part| part.0),
                        count: part.map(|part| part.1),
                    };
                    Said::String(of_kind(0, FieldKind::Reference).unwrap_or(0), range, class.type_index)
                }
                _ => Said::Nothing(class.type_index, class.has_name),
            },
        ));
    };
    for (_, found) in visit_fields(instances, &["value", "coder", "offset", "count"], Default::default, look)? {
        found.into_iter().for_each(|(place, one)| said[place as usize] = one);
    }
    Ok(said)
}

/// Groups of strings by the places of their ids; 0 for those without characters. One pass.
fn groups_of_texts(
    said: &[Said],
    instances: &dyn CountedInstances,
    found: &mut FieldGroups,
) -> Result<Vec<u32>, ReadError> {
    let string = |(at, said): (u32, &Said)| match said {
        Said::String(array, range, _) => Some((*array, *range, at)),
        _ => None,
    };
    let mut strings: Vec<(u64, CharacterRange, u32)> = (0..).zip(said).filter_map(string).collect();
    strings.sort_unstable_by_key(|&(array, _, at)| (array, at));
    let mut share = instances.budget().for_content();
    share.set_held_bytes((strings.len() * size_of::<(u64, CharacterRange, u32)>()) as u64)?;
    let mut groups = vec![0; said.len()];
    if strings.is_empty() {
        return Ok(groups);
    }
    let shared = Mutex::new((found, &mut groups, share, None));
    instances.visit_texts(&strings, MAX_TEXT_UNITS, &|place, text, key| {
        let (found, groups, share, error) = &mut *shared.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, bytes) = (found.names.len(), text.text.len() as u64);
        if error.is_none() {
            groups[place as usize] = found.group_of_string(text, key);
        }
        if found.names.len() > known {
            *error = share.set_held_bytes(share.held_bytes() + bytes + 64).err();
        }
    })?;
    let (.., error) = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    error.map_or(Ok(groups), |error| Err(error.into()))
}
