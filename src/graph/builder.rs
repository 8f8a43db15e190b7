//! `GraphBuilder`: what readers fill. It keeps everything as the dump wrote it until the dump has been read whole;
//! `resolve` then turns ids into nodes, so that all formats treat dangling and repeated ids alike.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::budget::{MemoryBudget, MemoryShare, make_room};
use super::byte_counts::PackedBytes;
use super::graph_names::GraphNameId;
use super::heap_parts::ClearableKind;
use super::id_map::{IdRange, IdRankMap};
use super::numbered_objects::NumberedExtras;
use super::object_columns::{ObjectColumns, PositionRun};
use super::object_order::ObjectOrder;
use super::packed_objects::{ObjectChunk, PackedObjects};
use super::reference_stream::ReferenceStream;
use super::resolve_counts::{RepeatedObject, ResolveOptions};
use super::roots::RootRecord;
use super::threads::{StackFrame, StackRange, ThreadRecord};
use super::types::{DescribedType, Field, SourcePlace, TypeRecord};
use super::weak_references::WeakReference;
use super::{
    BuildError, GenerationRange, IdStyle, RootFlags, RootKind, Section, SectionId, SectionIds, TypeId, TypeSlot,
};

/// Longer names are seldom, and on the way out there are more copies of them than of anything else.
const LONG_NAME_BYTES: usize = 64 * 1024;

/// Memory for the characters of a name: in a list and in a map, and what a long one takes where it is shown.
fn name_memory_bytes(bytes: usize) -> usize {
    if bytes < LONG_NAME_BYTES { 2 * bytes } else { 8 * bytes }
}

/// The number of a text among those that are there, which it joins where it is new.
fn intern(
    text: &str,
    texts: &mut Vec<Box<str>>,
    numbers: &mut FxHashMap<Box<str>, u32>,
    cost_bytes: &mut usize,
) -> u32 {
    if let Some(&number) = numbers.get(text) {
        return number;
    }
    let number = texts.len() as u32;
    texts.push(text.into());
    *cost_bytes += name_memory_bytes(text.len());
    numbers.insert(text.into(), number);
    number
}

/// A section that is being filled, with what its ids so far tell.
#[derive(Debug, Default)]
pub(super) struct SectionInProgress {
    pub(super) section: Section,
    pub(super) id_range: Option<IdRange>,
    pub(super) has_ascending_ids: bool,
    /// The id appended last.
    pub(super) last_id: Option<u64>,
    pub(super) object_count: usize,
}

/// Collects a dump. Sections are filled one after another; within a section objects come in any order.
#[derive(Debug, Default)]
pub struct GraphBuilder {
    pub(super) sections: Vec<SectionInProgress>,
    pub(super) objects: PackedObjects,
    /// By slot: the number of its type; `None` while it has no name.
    pub(super) slot_types: Vec<Option<u32>>,
    pub(super) type_names: Vec<Box<str>>,
    type_name_numbers: FxHashMap<Box<str>, u32>,
    /// (object, slot), ascending by object: the class a class object stands for.
    pub(crate) class_objects: Vec<(u32, TypeSlot)>,
    /// (section, record).
    pub(super) roots: Vec<(u32, RootRecord)>,
    /// Texts beside the types' names.
    pub(super) texts: Vec<Box<str>>,
    text_numbers: FxHashMap<Box<str>, u32>,
    /// By type: the text that names the module, `u32::MAX` for none. The last types may have no entry.
    pub(super) type_modules: Vec<u32>,
    /// Types with the places of their constructors, in the order they were named in.
    pub(super) type_places: Vec<(TypeId, SourcePlace)>,
    pub(super) type_descriptions: Vec<DescribedType>,
    pub(super) fields: Vec<Field>,
    /// Every object holds the class object of its type; readers do not add these references themselves.
    pub(crate) objects_hold_class: bool,
    /// (section, thread).
    pub(super) threads: Vec<(u32, ThreadRecord)>,
    pub(super) frames: Vec<StackFrame<TypeSlot>>,
    weak_reference_count: usize,
    /// References that came apart from their objects, in dumps that have two streams.
    pub(super) reference_stream: Option<ReferenceStream>,
    /// (section, from, to, position): references added to what the objects list themselves.
    pub(super) added_references: Vec<(u32, u64, u64, u64)>,
    /// References that `add_reference` adds may lead nowhere, which is not counted.
    pub(crate) added_references_may_dangle: bool,
    /// The ranges of the collector's generations, in dumps of one section.
    pub(crate) generations: Vec<GenerationRange>,
    /// Objects that came by number instead of by id, for dumps that do.
    pub(super) numbered_objects: Option<NumberedExtras>,
    /// Names of parts of the heap, and (object as it was appended, part) where they go over to another one, ascending.
    pub(crate) heap_parts: (Vec<String>, Vec<(u32, u32)>),
    /// (section, from, to, how).
    pub(super) soft_references: Option<Vec<(u32, u64, u64, ClearableKind)>>,
    pub(crate) id_style: IdStyle,
    /// Nodes of the ids and the objects that repeat one, where they were asked for before the end.
    pub(super) cached_object_order: Option<(Vec<SectionIds>, ObjectOrder, Vec<RepeatedObject>)>,
    /// The first of the objects that were appended late, and before which object each of them stands in the dump: of
    /// several objects of one id the first of the dump is kept.
    pub(crate) late_objects: (usize, Vec<u32>),
    pub(super) memory_share: MemoryShare,
    /// Cost of all names together.
    names_memory_bytes: usize,
}

impl GraphBuilder {
    /// An empty dump whose ids are printed in `id_style`.
    pub fn new(id_style: IdStyle) -> Self {
        GraphBuilder { id_style, ..Self::default() }
    }

    /// Makes `append`, `append_references` and `check_memory` fail when the dump takes more memory than there is in the
    /// budget.
    pub fn limit_memory(&mut self, budget: &MemoryBudget) {
        self.memory_share = budget.for_content();
    }

    /// Fails when what was appended so far takes more memory than it may. O(1): readers call it once a block.
    ///
    /// # Errors
    /// When it does.
    pub fn check_memory(&mut self) -> Result<(), BuildError> {
        self.memory_share.set_held_bytes(self.memory_bytes())
    }

    /// Fails when there is no room for a name of so many bytes, which some callers make a copy of.
    ///
    /// # Errors
    /// When there is not.
    pub fn check_name_memory(&mut self, bytes: usize) -> Result<(), BuildError> {
        if bytes < LONG_NAME_BYTES {
            return Ok(());
        }
        self.memory_share.set_held_bytes(self.memory_bytes() + name_memory_bytes(bytes) as u64)
    }

    /// Fails when there is no room for what `resolve` takes besides. For all but the smallest dumps.
    ///
    /// # Errors
    /// When there is not.
    pub fn check_resolve_memory(&mut self, options: &ResolveOptions) -> Result<(), BuildError> {
        let apart = self.reference_stream.as_ref().map_or(0, ReferenceStream::word_count);
        let (objects, references) =
            (self.objects.type_slots.len() as u64, (self.objects.reference_words.len() + apart) as u64);
        // Ids as a map; the packed ids are still there while it is made.
        let map_bytes =
            |section: &SectionInProgress| Some(IdRankMap::max_build_bytes(section.id_range?, section.object_count));
        let maps: u64 = self.sections.iter().filter_map(map_bytes).sum();
        let needed = if self.sections.iter().all(|section| section.has_ascending_ids) {
            maps
        } else {
            // Order of the objects, then types, sizes and references in that order beside those in the order of the dump.
            maps + 4 * objects + (4 * references).max(4 * objects)
        };
        let needed = self.memory_bytes() + needed;
        self.memory_share.set_held_bytes(needed)?;
        let for_mirrors = self.archived_mirrors_work_bytes(options.archived_mirror_search);
        self.memory_share.set_held_bytes(needed + for_mirrors)
    }

    /// Fails when there is no room for a copy of so many bytes of what was appended.
    pub(super) fn check_copy_memory(&mut self, bytes: u64) -> Result<(), BuildError> {
        self.memory_share.set_held_bytes(self.memory_bytes() + bytes)
    }

    fn memory_bytes(&self) -> u64 {
        let words = self.objects.id_words.len() + self.objects.reference_words.len();
        // Names stand in a list and in a map, their types in a reader's table, and both in an answer's rows (measured:
        // 400 bytes while types are counted, 600 where their objects are read).
        const NAME_BYTES: usize = 500;
        // A section's facts, and the map of its ids.
        const SECTION_BYTES: usize = size_of::<SectionInProgress>() + 160;
        let names = self.type_names.len() + self.texts.len();
        let bytes = words * size_of::<u32>()
            + self.objects.type_slots.memory_bytes()
            + self.objects.reference_counts.memory_bytes()
            + self.objects.shallow.len() * size_of::<u16>()
            + self.roots.len() * size_of::<(u32, RootRecord)>()
            + self.slot_types.len() * size_of::<Option<u32>>()
            + self.class_objects.len() * size_of::<(u32, TypeSlot)>()
            + self.type_descriptions.len() * size_of::<DescribedType>()
            + self.fields.len() * size_of::<Field>()
            + self.type_places.len() * size_of::<(TypeId, SourcePlace)>()
            + self.threads.len() * size_of::<(u32, ThreadRecord)>()
            + self.frames.len() * size_of::<StackFrame<TypeSlot>>()
            + self.weak_reference_count * (size_of::<u32>() + size_of::<WeakReference>())
            + self.objects.large_shallow.len() * size_of::<(u32, u64)>()
            + self.objects.position_runs.len() * size_of::<PositionRun>()
            + self.objects.chunks.len() * size_of::<ObjectChunk>()
            + self.late_objects.1.len() * size_of::<u32>()
            + self.added_references.len() * size_of::<(u32, u64, u64, u64)>()
            + self.heap_parts.1.len() * size_of::<(u32, u32)>()
            + self.soft_references.as_ref().map_or(0, |soft| soft.len() * size_of::<(u32, u64, u64, ClearableKind)>())
            + self.reference_stream.as_ref().map_or(0, ReferenceStream::memory_bytes)
            + self.sections.len() * SECTION_BYTES
            + self.numbered_memory_bytes()
            + names * NAME_BYTES
            + self.names_memory_bytes;
        bytes as u64
    }

    /// Begins a section; the ones before it are complete.
    pub fn begin_section(&mut self, section: Section) -> SectionId {
        self.names_memory_bytes += name_memory_bytes(section.name.len());
        self.sections.push(SectionInProgress {
            section,
            id_range: None,
            has_ascending_ids: true,
            last_id: None,
            object_count: 0,
        });
        SectionId::new(self.sections.len() - 1)
    }

    /// The section's facts, to be filled in as they become known.
    pub fn section_mut(&mut self, section: SectionId) -> &mut Section {
        &mut self.sections[section.index()].section
    }

    /// Objects appended, repeated ones included.
    pub fn object_count(&self) -> usize {
        self.objects.type_slots.len()
    }

    /// A type without a name so far.
    pub fn new_type(&mut self) -> TypeSlot {
        self.slot_types.push(None);
        TypeSlot(self.slot_types.len() as u32 - 1)
    }

    /// Names a type. Types of one name become one.
    pub fn name_type(&mut self, slot: TypeSlot, name: &str) {
        let number = intern(name, &mut self.type_names, &mut self.type_name_numbers, &mut self.names_memory_bytes);
        self.slot_types[slot.0 as usize] = Some(number);
    }

    /// Names a type that stays apart from others of the same name, and says which module it is from.
    pub fn name_type_apart(&mut self, slot: TypeSlot, name: &str, module: Option<&str>) {
        const NO_MODULE: u32 = u32::MAX;
        let number = self.type_names.len();
        self.type_names.push(name.into());
        self.names_memory_bytes += name_memory_bytes(name.len());
        if let Some(module) = module {
            let module = self.intern_text(module);
            self.type_modules.resize(number, NO_MODULE);
            self.type_modules.push(module.number());
        }
        self.slot_types[slot.0 as usize] = Some(number as u32);
    }

    /// Names a type that stays apart from others of the same name, and says where its constructor stands.
    pub fn name_type_at(&mut self, slot: TypeSlot, name: &str, place: SourcePlace) {
        self.name_type_apart(slot, name, None);
        self.type_places.push((self.type_of(slot), place));
    }

    /// Says more of a type than its name. Said twice, the first counts.
    pub fn describe_type(&mut self, section: SectionId, slot: TypeSlot, record: TypeRecord) {
        let TypeRecord { class_object, loader, superclass, fields } = record;
        let first = self.fields.len() as u32;
        self.fields.extend(fields);
        let fields = first..self.fields.len() as u32;
        self.type_descriptions.push(DescribedType {
            section,
            slot,
            class_object,
            loader,
            superclass,
            field_range: fields,
        });
    }

    /// Frames of a stack, innermost first, for any number of threads.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub fn add_stack(&mut self, frames: Vec<StackFrame<TypeSlot>>) -> Result<StackRange, BuildError> {
        self.check_copy_memory((frames.len() * size_of::<StackFrame<TypeSlot>>()) as u64)?;
        let (first_frame, frame_count) = (self.frames.len() as u32, frames.len() as u32);
        self.frames.extend(frames);
        Ok(StackRange { first_frame, frame_count })
    }

    /// A thread. Root records name it by its serial, whichever comes first; of several with one serial the first counts.
    pub fn add_thread(&mut self, section: SectionId, thread: ThreadRecord) {
        self.threads.push((section.0, thread));
    }

    /// The name of a type, if it has one.
    pub fn type_name(&self, slot: TypeSlot) -> Option<&str> {
        self.slot_types[slot.0 as usize].map(|number| &*self.type_names[number as usize])
    }

    /// The type that a named slot will have in the graph.
    pub fn type_of(&self, slot: TypeSlot) -> TypeId {
        TypeId(self.slot_types[slot.0 as usize].unwrap_or(u32::MAX))
    }

    /// Have two types one name?
    pub fn have_same_type_name(&self, a: TypeSlot, b: TypeSlot) -> bool {
        self.slot_types[a.0 as usize] == self.slot_types[b.0 as usize]
    }

    /// Gives up the dump for its names: of the sections, and of the types by slot.
    pub fn into_section_and_type_names(self) -> (Vec<String>, Vec<String>) {
        let sections = self.sections.into_iter().map(|build| build.section.name).collect();
        let types = self
            .slot_types
            .iter()
            .map(|number| number.map_or_else(String::new, |number| self.type_names[number as usize].to_string()))
            .collect();
        (sections, types)
    }

    /// Gives every object so far the bytes that `bytes` makes of its type and of the number it was appended with, for
    /// formats whose sizes follow from the whole dump. O(objects).
    pub fn set_object_sizes(&mut self, bytes: impl Fn(TypeSlot, u64) -> u64) {
        let PackedObjects { type_slots: types, shallow, large_shallow: large, .. } = &mut self.objects;
        let mut numbers = std::mem::take(large).into_iter().peekable();
        for (object, small) in shallow.iter_mut().enumerate() {
            let number = match numbers.next_if(|&(at, _)| at as usize == object) {
                Some((_, number)) => number,
                None => u64::from(*small),
            };
            *small = u16::packed(bytes(types.get(object), number), object, large);
        }
    }

    /// Says which class an object (counted over all that were appended) stands for; ascending by object.
    pub fn add_class_object(&mut self, object: usize, class: TypeSlot) {
        self.class_objects.push((object as u32, class));
    }

    /// A root record. Whether its object exists shows when the dump is complete.
    pub fn add_root(
        &mut self,
        section: SectionId,
        id: u64,
        kind: RootKind,
        flags: RootFlags,
        container: Option<TypeSlot>,
        position: u64,
    ) {
        self.add_root_record(
            section,
            RootRecord { flags, declaring_class: container, ..RootRecord::new(id, kind, position) },
        );
    }

    /// The same with all that a dump can say.
    pub fn add_root_record(&mut self, section: SectionId, mut record: RootRecord) {
        if !record.kind.holds_in_dump() {
            record.flags.0 |= RootFlags::WEAK;
        }
        self.roots.push((section.0, record));
    }

    /// A text that variables, methods, fields, files or threads are named with; equal ones are kept once.
    pub fn intern_text(&mut self, text: &str) -> GraphNameId {
        GraphNameId::new(intern(text, &mut self.texts, &mut self.text_numbers, &mut self.names_memory_bytes))
    }

    /// A reference beside those that the object lists: the value of a dependent handle, which lives with its key.
    pub fn add_reference(&mut self, section: SectionId, from: u64, to: u64, position: u64) {
        self.added_references.push((section.0, from, to, position));
    }

    /// Says which references of reference objects the runtime may give up: (from, to, how). Readers add them to the
    /// objects' references as well.
    pub fn add_soft_references(&mut self, section: SectionId, soft: impl Iterator<Item = (u64, u64, ClearableKind)>) {
        let known = self.soft_references.get_or_insert_default();
        known.extend(soft.map(|(from, to, holding)| (section.0, from, to, holding)));
    }

    /// Appends `objects` of sealed columns to `section`, which must be the one begun last. `type_slots` translates the
    /// columns' type indices; `first_position` is added to their positions. References that lead the block go to the
    /// object appended last, if `takes_leading`; their number is returned when there is none to take them.
    ///
    /// # Errors
    /// When node numbers or reference counts do not fit 32 bits.
    pub fn append(
        &mut self,
        section: SectionId,
        columns: &ObjectColumns,
        objects: Range<usize>,
        type_slots: &[u32],
        first_position: u64,
        takes_leading: bool,
    ) -> Result<usize, BuildError> {
        self.check_memory()?;
        let first = self.objects.type_slots.len();
        if first + objects.len() > u32::MAX as usize - 1 {
            return Err(BuildError::TooManyObjects);
        }
        let (mut leading, mut orphans) = (0, 0);
        let mut from = columns.reference_start(objects.start);
        if objects.start == 0 && columns.leading_reference_count > 0 {
            if first == 0 || !takes_leading {
                orphans = columns.leading_reference_count;
            } else {
                leading = columns.leading_reference_count;
                from = 0;
            }
        }
        let to = columns.reference_start(objects.end);
        if to - from > u32::MAX as usize {
            return Err(BuildError::TooManyReferences);
        }
        let ends_with_leading = self.objects.chunks.last().is_some_and(|chunk| chunk.objects.is_empty());
        let leading_begins_list =
            leading > 0 && first > 0 && self.objects.reference_counts.get(first - 1) == 0 && !ends_with_leading;
        let weak = columns.weak_indices.partition_point(|&at| (at as usize) < from)
            ..columns.weak_indices.partition_point(|&at| (at as usize) < to);
        let weak: Vec<u32> = columns.weak_indices[weak].iter().map(|&at| at - from as u32).collect();
        self.weak_reference_count += weak.len();
        let (id_width, reference_width) =
            (columns.id_packing.words_per_value(), columns.reference_packing.words_per_value());
        let is_ascending = self.add_to_id_range(section, columns, objects.clone());
        if !objects.is_empty() || leading > 0 {
            self.objects.chunks.push(ObjectChunk {
                section: section.0,
                objects: first..first + objects.len(),
                first_id_word: self.objects.id_words.len(),
                id_packing: columns.id_packing,
                is_ascending,
                reference_word_count: (to - from) * reference_width,
                reference_packing: columns.reference_packing,
                leading_reference_count: leading,
                leading_begins_list,
                weak_indices: weak,
            });
        }
        make_room(&mut self.objects.id_words, objects.len() * id_width);
        make_room(&mut self.objects.shallow, objects.len());
        make_room(&mut self.objects.reference_words, (to - from) * reference_width);
        self.objects.id_words.extend_from_slice(&columns.id_words[objects.start * id_width..objects.end * id_width]);
        let slots = columns.type_indices[objects.clone()].iter().map(|&index| type_slots[index as usize]);
        self.objects.type_slots.extend(slots, self.slot_types.len());
        self.objects.shallow.extend_from_slice(&columns.shallow[objects.clone()]);
        let large = columns.large_shallow.partition_point(|&(object, _)| (object as usize) < objects.start)
            ..columns.large_shallow.partition_point(|&(object, _)| (object as usize) < objects.end);
        self.objects.large_shallow.extend(
            columns.large_shallow[large]
                .iter()
                .map(|&(object, bytes)| ((first + object as usize - objects.start) as u32, bytes)),
        );
        match columns.reference_counts.get(objects.clone()) {
            Some(counted) => self.objects.reference_counts.extend(counted.iter().copied()),
            None => self.objects.reference_counts.extend(
                objects
                    .clone()
                    .map(|object| (columns.reference_start(object + 1) - columns.reference_start(object)) as u32),
            ),
        }
        self.objects
            .reference_words
            .extend_from_slice(&columns.reference_words[from * reference_width..to * reference_width]);
        self.append_positions(columns, objects, first, first_position);
        Ok(orphans)
    }

    /// Widens the section's range by these ids. Returns true if each is greater than the one before.
    fn add_to_id_range(&mut self, section: SectionId, columns: &ObjectColumns, objects: Range<usize>) -> bool {
        let Some((range, ascending)) = columns.id_range_and_order(objects.clone()) else { return true };
        let build = &mut self.sections[section.index()];
        build.id_range.get_or_insert(range).join(&range);
        build.has_ascending_ids &= ascending && build.last_id.is_none_or(|last| last < range.first);
        build.last_id = Some(columns.id(objects.end - 1));
        build.object_count += objects.len();
        ascending
    }

    fn append_positions(&mut self, columns: &ObjectColumns, objects: Range<usize>, first: usize, offset: u64) {
        let runs = &columns.position_runs;
        let start = runs.partition_point(|run| run.first_object as usize <= objects.start).saturating_sub(1);
        for run in &runs[start..] {
            if run.first_object as usize >= objects.end {
                break;
            }
            let skipped = objects.start.saturating_sub(run.first_object as usize);
            self.objects.position_runs.push(PositionRun {
                first_object: (first + (run.first_object as usize + skipped) - objects.start) as u32,
                first_position: offset
                    .wrapping_add(run.first_position)
                    .wrapping_add(run.stride.wrapping_mul(skipped as u64)),
                stride: run.stride,
            });
        }
    }

    /// For each object in turn: its number, its type, its first reference's id (0: a null) if it has one. For
    /// readers that must look at the whole dump before they know what a first reference means. O(objects).
    pub fn first_references(&self) -> impl Iterator<Item = (usize, TypeSlot, Option<u64>)> + '_ {
        let mut word = 0;
        self.objects.chunks.iter().enumerate().flat_map(move |(number, chunk)| {
            let words = &self.objects.reference_words[word..word + chunk.reference_word_count];
            word += chunk.reference_word_count;
            let mut at = chunk.leading_reference_count;
            let borrowed = self.objects.chunks.get(number + 1).filter(|next| next.leading_begins_list).map(|next| {
                let from = word;
                next.reference_packing.unpack(&self.objects.reference_words[from..], 0)
            });
            chunk.objects.clone().map(move |object| {
                let count = self.objects.reference_counts.get(object) as usize;
                let first = if count > 0 {
                    Some(chunk.reference_packing.unpack(words, at))
                } else if object + 1 == chunk.objects.end {
                    borrowed
                } else {
                    None
                };
                at += count;
                (object, self.objects.type_slots.get(object), first)
            })
        })
    }

    /// The id of an object, counted over all that were appended. O(log blocks).
    pub fn id_of(&self, object: usize) -> u64 {
        let at = self.objects.chunks.partition_point(|chunk| chunk.objects.end <= object);
        let chunk = &self.objects.chunks[at];
        chunk.id_packing.unpack_id(&self.objects.id_words[chunk.first_id_word..], object - chunk.objects.start)
    }
}

impl SectionInProgress {
    pub(super) fn add_id(&mut self, id: u64) {
        self.id_range.get_or_insert(IdRange::of(id)).add(id);
        self.has_ascending_ids &= self.last_id.is_none_or(|last| last < id);
        self.last_id = Some(id);
        self.object_count += 1;
    }
}
