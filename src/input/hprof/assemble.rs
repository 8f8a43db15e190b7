//! The steps after the file has been read: sizes, class objects, names, roots and threads, and of all that the graph.

use std::cell::Cell;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::collected_records::{HprofRecords, SlotType};
use super::layout::classes::{ClassLayout, Classes};
use super::layout::measured_distances::NearestDistance;
use super::layout::sizes::{SizeEvidence, SizeModel, decoded_text};
use super::layout::texts::{TextRecords, hprof_source_form};
use super::problem_codes::*;
use super::records::ClassDump;
use super::segments::SegmentReader;
use super::segments::block_parts::{AndroidHeap, RawRoot, TypeKind};
use super::wire::{FIRST_PRIMITIVE_BASIC_TYPE, OBJECT_BASIC_TYPE, element_bytes, primitive_kind, sub_record_tags};
use crate::graph::{
    ArchivedMirrorSearch, BuildError, Field, FieldKind, IdStyle, LoaderRecord, ObjectColumns, RootFlags, RootKind,
    RootRecord, SourceLine, StackFrame, StackRange, ThreadRecord, TypeRecord, TypeSlot,
};
use crate::input::java_types::PRIMITIVES;
use crate::input::{Diagnostics, Position, ReadError, ReadOptions, Rules, TypeOrigin};

/// In place of the class of class objects, where the dump does not have it.
const NO_JAVA_LANG_CLASS: u64 = u64::MAX;
/// Objects that are handed on together.
const OBJECTS_PER_BATCH: usize = 16 * 1024;

/// Makes the graph, or the totals by type, of a dump whose blocks have all been taken.
pub(super) struct Assembler<'a> {
    pub(super) records: HprofRecords,
    pub(super) reader: &'a SegmentReader,
    pub(super) classes: &'a Classes,
    pub(super) diagnostics: Diagnostics,
    /// Names of types stay as the dump writes them.
    pub(super) raw_types: bool,
    /// The rules of Eclipse MAT are asked for: of sizes, and of references that the runtime may give up.
    pub(super) uses_mat_rules: bool,
    /// The class `java.lang.Class`.
    java_lang_class: Option<u64>,
}

impl<'a> Assembler<'a> {
    pub(super) fn new(
        content: HprofRecords,
        reader: &'a SegmentReader,
        classes: &'a Classes,
        options: &ReadOptions,
    ) -> Self {
        let java_lang_class = classes.class_named("java.lang.Class", &reader.texts).map(|dump| dump.id);
        let mut diagnostics = reader.diagnostics.clone();
        for &(offset, is_cut) in &content.unreadable_places {
            let code = if is_cut { &TRUNCATED } else { &BAD_SUBRECORD };
            diagnostics.add(code, 1, Position::Byte(offset), String::new);
        }
        let (raw_types, uses_mat_rules) = (options.raw_types, options.rules == Rules::Mat);
        Assembler { records: content, reader, classes, diagnostics, raw_types, uses_mat_rules, java_lang_class }
    }

    fn texts(&self) -> &'a TextRecords {
        &self.reader.texts
    }

    fn add_problem(
        &mut self,
        code: &'static crate::input::ProblemCode,
        count: u64,
        at: u64,
        text: impl FnOnce() -> String,
    ) {
        self.diagnostics.add(code, count, Position::Byte(at), text);
    }

    /// Objects of the dump, class objects among them.
    pub(super) fn object_count(&self) -> u64 {
        let counts = &self.records.counts;
        counts.instances + counts.object_arrays + counts.primitive_arrays + self.classes.class_dumps.len() as u64
    }

    // ---- sizes

    /// Finds out how large objects are. Before class objects are appended.
    pub(super) fn find_size_model(&self) -> SizeModel {
        let mut nearest: FxHashMap<u64, NearestDistance> = FxHashMap::default();
        for (slot, measured) in self.records.slot_types.iter().zip(&self.records.distances.nearest_by_type) {
            if slot.kind == TypeKind::Instance && measured.neighbours > 0 {
                nearest.insert(slot.class_or_basic_type, *measured);
            }
        }
        let mut ids: Vec<u64> = self.classes.by_id.keys().copied().collect();
        ids.sort_unstable();
        let mut distances_behind_class: FxHashMap<u64, u64> = FxHashMap::default();
        for (at, &id) in ids.iter().enumerate() {
            let next = [self.records.object_after_class.get(&id), ids.get(at + 1)].into_iter().flatten().min();
            if let Some(next) = next.filter(|&&next| next > id) {
                distances_behind_class.insert(id, next - id);
            }
        }
        let mut measure = self.records.distances.clone();
        ids.iter().for_each(|&id| measure.note_id_alignment(id));
        let evidence = SizeEvidence {
            classes: self.classes,
            texts: self.texts(),
            distances: &measure,
            nearest_distances: &nearest,
            distances_behind_class: &distances_behind_class,
            is_android: self.reader.header.version == "1.0.3",
            uses_mat_rule: self.uses_mat_rules,
        };
        SizeModel::find(&evidence)
    }

    /// How arrays that refer to archived mirrors are told; `None` where the dump can have none.
    pub(super) fn archived_mirror_rule(&self, sizes: &SizeModel) -> Option<ArchivedMirrorSearch> {
        let array = self.classes.class_named("[Ljava.lang.Object;", self.texts())?;
        let array_type = TypeSlot(self.records.known_slot(array.id, TypeKind::ObjectArray)?);
        Some(ArchivedMirrorSearch {
            array_type,
            min_class_object_bytes: sizes.undumped_class_object_bytes(self.java_lang_class?, self.classes),
        })
    }

    /// Bytes of each instance of a type; of an array of primitives what an element takes, of one of objects 0.
    fn instance_or_element_bytes(&self, slot: &SlotType, sizes: &SizeModel) -> u64 {
        match slot.kind {
            TypeKind::Instance if Some(slot.class_or_basic_type) == self.java_lang_class => {
                sizes.undumped_class_object_bytes(slot.class_or_basic_type, self.classes)
            }
            TypeKind::Instance => sizes.instance_bytes(slot.class_or_basic_type, self.classes),
            TypeKind::ObjectArray => 0,
            TypeKind::PrimitiveArray => element_bytes(slot.class_or_basic_type as u8).unwrap_or(1) as u64,
        }
    }

    /// The class of a slot of instances, and the bytes of each of these.
    pub(super) fn class_and_instance_bytes(&self, slot: u32, sizes: &SizeModel) -> Option<(u64, u64)> {
        let slot = self.records.slot_types.get(slot as usize).filter(|slot| slot.kind == TypeKind::Instance)?;
        Some((slot.class_or_basic_type, self.instance_or_element_bytes(slot, sizes)))
    }

    /// Objects and bytes by slot, where objects were only counted; class objects are those of `java.lang.Class`.
    pub(super) fn totals_by_slot(&mut self, sizes: &SizeModel) -> Vec<(u32, u64, u128)> {
        let mut totals = Vec::new();
        for (index, total) in self.records.totals.iter().enumerate().filter(|(_, total)| total.objects > 0) {
            let slot = &self.records.slot_types[index];
            let own = self.instance_or_element_bytes(slot, sizes);
            let bytes = match slot.kind {
                TypeKind::Instance => u128::from(own) * u128::from(total.objects),
                TypeKind::ObjectArray => {
                    sizes.bytes_of_arrays(total.objects, total.elements, &total.arrays_by_residue, None)
                }
                TypeKind::PrimitiveArray => {
                    sizes.bytes_of_arrays(total.objects, total.elements, &total.arrays_by_residue, Some(own))
                }
            };
            totals.push((index as u32, total.objects, bytes));
        }
        let classes = self.classes.class_dumps.iter();
        let bytes: u128 = classes.map(|dump| u128::from(sizes.class_object_bytes(dump, self.texts()))).sum();
        let slot = self.slot_of_java_lang_class();
        totals.push((slot, self.classes.class_dumps.len() as u64, bytes));
        totals
    }

    /// The loader of the type of a slot.
    pub(super) fn type_origin(&self, slot: u32) -> TypeOrigin {
        let slot = self.records.slot_types.get(slot as usize).filter(|slot| slot.kind != TypeKind::PrimitiveArray);
        let loader = slot.and_then(|slot| self.classes.class_dump(slot.class_or_basic_type)).map(|dump| dump.loader_id);
        TypeOrigin::Loader(loader.filter(|&id| id != 0).map(|id| IdStyle::Prefixed.format(id)))
    }

    // ---- objects

    /// Appends what was put aside, sizes everything, and appends class objects. Error: if there is no memory for them.
    pub(super) fn finish_objects(&mut self, sizes: &SizeModel) -> Result<(), ReadError> {
        self.append_deferred_instances()?;
        self.append_class_objects(sizes)?;
        let slot_of_java_lang_class = self.slot_of_java_lang_class();
        let types = std::mem::take(&mut self.records.slot_types);
        let layouts = &self.classes.layouts.by_class;
        for (id, slot, elements, references) in self.records.builder.repeated_objects() {
            self.records.repeated_ids.push(id);
            let of_type = &types[slot.0 as usize];
            let fields = match of_type.kind {
                TypeKind::Instance => {
                    layouts.get(&of_type.class_or_basic_type).map_or(0, |layout| layout.reference_count.into())
                }
                TypeKind::ObjectArray => elements,
                TypeKind::PrimitiveArray => 0,
            };
            if slot.0 != slot_of_java_lang_class {
                self.records.null_references =
                    self.records.null_references.saturating_sub(fields.saturating_sub(references.into()));
            }
        }
        self.records.repeated_ids.sort_unstable();
        self.records.repeated_ids.dedup();
        let own: Vec<u64> = types.iter().map(|slot| self.instance_or_element_bytes(slot, sizes)).collect();
        self.records.builder.set_object_sizes(|slot, number| match (slot.0, types[slot.0 as usize].kind) {
            // Classes have their bytes.
            (slot, _) if slot == slot_of_java_lang_class => number,
            (slot, TypeKind::Instance) => own[slot as usize],
            (_, TypeKind::ObjectArray) => sizes.array_bytes(number, None),
            (slot, TypeKind::PrimitiveArray) => sizes.array_bytes(number, Some(own[slot as usize])),
        });
        self.records.slot_types = types;
        self.add_heaps_and_soft_references();
        let chosen = self.reader.dumps.get(self.reader.chosen_dump_number().wrapping_sub(1));
        let section = self.records.builder.section_mut(self.records.section);
        section.null_references += self.records.null_references;
        section.complete = chosen.is_some_and(|dump| dump.is_complete);
        section.declared_types = self.classes.class_dumps.len() as u64;
        Ok(())
    }

    /// Appends the instances whose class came after them. Error: if there is no memory for them.
    fn append_deferred_instances(&mut self) -> Result<(), ReadError> {
        let deferred = std::mem::take(&mut self.records.deferred);
        let (classes, nothing) = (self.classes, ClassLayout::default());
        let layouts = &classes.layouts;
        let mut numbers: FxHashMap<u64, u32> = FxHashMap::default();
        let (mut columns, mut slots) = (ObjectColumns::default(), Vec::new());
        let (first, mut before, mut of_class) = (self.records.builder.object_count(), Vec::new(), Vec::new());
        for instance in &deferred.instances {
            let number = *numbers.entry(instance.class).or_insert_with(|| {
                slots.push(self.records.find_or_add_slot(instance.class, TypeKind::Instance, instance.position));
                slots.len() as u32 - 1
            });
            let layout = layouts.by_class.get(&instance.class).map_or(&nothing, |layout| &**layout);
            let values = &deferred.values[instance.value_start..][..instance.value_bytes as usize];
            if layout.value_bytes as usize != values.len() && classes.class_dump(instance.class).is_some() {
                self.records.size_mismatches.entry(slots[number as usize]).or_insert(instance.position);
            }
            let mut references = Vec::new();
            let mut keep = |at, id| references.push((at, id));
            match self.reader.header.id_bytes {
                8 => layout.for_each_reference::<8>(values, layouts, &mut keep),
                _ => layout.for_each_reference::<4>(values, layouts, &mut keep),
            }
            if layout.is_java_lang_class {
                let ids = references.into_iter().map(|(_, id)| id).filter(|&id| id != 0).collect();
                of_class.push((instance.id, instance.position, ids));
                continue;
            }
            columns.push_object(instance.id, number, 0, instance.position);
            before.push(instance.next_object);
            self.note_heap_change(columns.len() - 1, instance.heap);
            for (at, id) in references {
                if let Some((_, holding)) = layout.clearable_referent.filter(|soft| soft.0 == at && id != 0) {
                    self.records.soft_references.push((instance.id, id, holding));
                }
                match id {
                    0 => self.records.null_references += 1,
                    id if layout.weak_referent_offset == Some(at) => columns.push_weak_reference(id),
                    id => columns.push_reference(id),
                }
            }
            if columns.len() == OBJECTS_PER_BATCH {
                self.append_batch(&mut columns, &slots)?;
            }
        }
        self.append_batch(&mut columns, &slots)?;
        self.records.builder.late_objects = (first, before);
        // Those that were not put aside came behind, when their class was known.
        self.records.java_lang_class_instances.splice(0..0, of_class);
        Ok(())
    }

    /// Hands these objects on to the builder, and leaves none.
    fn append_batch(&mut self, columns: &mut ObjectColumns, slots: &[u32]) -> Result<(), BuildError> {
        columns.seal();
        let section = self.records.section;
        self.records.builder.append(section, columns, 0..columns.len(), slots, 0, false)?;
        columns.clear();
        Ok(())
    }

    fn slot_of_java_lang_class(&mut self) -> u32 {
        self.records.find_or_add_slot(self.java_lang_class.unwrap_or(NO_JAVA_LANG_CLASS), TypeKind::Instance, 0)
    }

    /// Class objects: their references are the superclass, the loader, and static variables.
    fn append_class_objects(&mut self, sizes: &SizeModel) -> Result<(), ReadError> {
        let slots = [self.slot_of_java_lang_class()];
        let mut columns = ObjectColumns::default();
        // Some writers have an instance beside a class dump: one object with the references of both.
        let mut also: FxHashMap<u64, Vec<u64>> = FxHashMap::default();
        let bytes = self.java_lang_class.map_or(0, |class| sizes.undumped_class_object_bytes(class, self.classes));
        let of_boot_loader = self.class_held_by_boot_loader();
        for (id, position, references) in std::mem::take(&mut self.records.java_lang_class_instances) {
            if self.classes.by_id.contains_key(&id) {
                match also.entry(id) {
                    Entry::Vacant(place) => drop(place.insert(references)),
                    Entry::Occupied(_) => self.records.repeated_ids.push(id),
                }
                continue;
            }
            columns.push_object(id, 0, bytes, position);
            references.iter().for_each(|&id| columns.push_reference(id));
        }
        for dump in &self.classes.class_dumps {
            columns.push_object(dump.id, 0, sizes.class_object_bytes(dump, self.texts()), dump.position);
            self.note_heap_change(columns.len() - 1, dump.android_heap);
            dump.class_references(of_boot_loader).for_each(|(_, id)| columns.push_reference(id));
            let statics = dump.statics.iter().filter(|one| one.basic_type == OBJECT_BASIC_TYPE);
            self.records.null_references += statics.filter(|one| one.value == 0).count() as u64;
            for &id in also.get(&dump.id).into_iter().flatten() {
                columns.push_reference(id);
            }
            if columns.len() == OBJECTS_PER_BATCH {
                self.append_batch(&mut columns, &slots)?;
            }
        }
        Ok(self.append_batch(&mut columns, &slots)?)
    }

    /// The class of loaders, which the boot loader holds as its own; `None` where it is held anyway.
    pub(super) fn class_held_by_boot_loader(&self) -> Option<u64> {
        let class = self.classes.class_named("java.lang.ClassLoader", self.texts())?.id;
        let is_root = |root: &RawRoot| root.tag == sub_record_tags::ROOT_STICKY_CLASS && root.object == class;
        (!self.records.roots.iter().any(is_root)).then_some(class)
    }

    // ---- heaps of Android

    /// Notes the heap of an object that is to be appended next but so many.
    fn note_heap_change(&mut self, ahead: usize, heap: AndroidHeap) {
        let heaps = &mut self.records.heap_changes;
        if heaps.last().map_or(heap.is_some(), |last| last.1 != heap) {
            heaps.push(((self.records.builder.object_count() + ahead) as u32, heap));
        }
    }

    /// Hands on in which heap each object is, and which references the runtime may give up.
    fn add_heaps_and_soft_references(&mut self) {
        let soft = std::mem::take(&mut self.records.soft_references);
        if !self.uses_mat_rules {
            self.records.builder.add_soft_references(self.records.section, soft.into_iter());
        }
        let mut heaps = std::mem::take(&mut self.records.heap_changes);
        if heaps.is_empty() {
            return;
        }
        heaps.insert(0, (0, None));
        let (mut names, mut changes) = (Vec::new(), Vec::new());
        for (object, heap) in heaps {
            let name = heap.and_then(|(_, name)| self.reader.texts.get(name)).map(|name| String::from_utf8_lossy(name));
            let name = name.map_or_else(|| "default".to_string(), std::borrow::Cow::into_owned);
            let part = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            changes.push((object, part as u32));
        }
        self.records.builder.heap_parts = (names, changes);
    }
    // ---- names

    /// Names all types and says what else is known of them. Error: if there is no memory for them.
    pub(super) fn describe_types(&mut self) -> Result<(), ReadError> {
        let classes = self.classes;
        let primitives = self.primitive_array_classes();
        for dump in &classes.class_dumps {
            let is_primitive = primitives.contains(&Some(dump.id));
            if !is_primitive && self.records.known_slot(dump.id, TypeKind::ObjectArray).is_none() {
                self.records.find_or_add_slot(dump.id, TypeKind::Instance, dump.position);
            }
        }
        let (mut bad_names, mut nameless, mut undumped) = (Vec::new(), Vec::new(), Vec::new());
        for (index, slot) in self.records.slot_types.clone().iter().enumerate() {
            let is_bad = Cell::new(false);
            let class = match slot.kind {
                TypeKind::PrimitiveArray => primitives[index],
                _ => Some(slot.class_or_basic_type),
            };
            let name = self.type_name(slot, class, &is_bad);
            if is_bad.get() {
                bad_names.push(slot.first_position);
            }
            if name.is_none() {
                nameless.push(slot.first_position);
            }
            let name = name.unwrap_or_else(|| format!("<class {:#x}>", slot.class_or_basic_type));
            self.records.builder.check_name_memory(name.len())?;
            self.records.builder.check_memory()?;
            self.records.builder.name_type_apart(TypeSlot(index as u32), &name, None);
            let dump = class.and_then(|class| classes.class_dump(class));
            match dump {
                Some(dump) => self.describe_class(TypeSlot(index as u32), dump),
                None if slot.kind != TypeKind::PrimitiveArray && slot.class_or_basic_type != NO_JAVA_LANG_CLASS => {
                    undumped.push((slot.first_position, name))
                }
                None => {}
            }
        }
        for (position, name) in undumped {
            self.add_problem(&NO_CLASS_DUMP, 1, position, || name);
        }
        for (code, positions) in [(&BAD_UTF8, bad_names), (&NO_NAME, nameless)] {
            self.add_problem(code, positions.len() as u64, positions.iter().copied().min().unwrap_or(0), String::new);
        }
        let (repeated, first) = classes.repeat_count_and_first_position;
        self.add_problem(&GRAPH_CODES.duplicate_object, repeated, first, String::new);
        let circles = || classes.circular_classes.iter().map(|&number| classes.class_dumps[number as usize].position);
        self.add_problem(&CLASS_CIRCLE, circles().count() as u64, circles().min().unwrap_or(0), String::new);
        let mismatches = std::mem::take(&mut self.records.size_mismatches);
        let first = mismatches.values().copied().min().unwrap_or(0);
        self.add_problem(&FIELD_MISMATCH, mismatches.len() as u64, first, String::new);
        if classes.class_dumps.len() as u64 > 0 || self.java_lang_class.is_some() {
            self.records.builder.objects_hold_class = true;
        }
        Ok(())
    }

    /// The name of a type; `None` when the dump has none.
    fn type_name(&self, slot: &SlotType, class: Option<u64>, is_bad: &Cell<bool>) -> Option<String> {
        if slot.kind == TypeKind::PrimitiveArray && !(self.raw_types && class.is_some()) {
            let (_, name, _) = PRIMITIVES[(slot.class_or_basic_type as u8 - FIRST_PRIMITIVE_BASIC_TYPE) as usize];
            return Some(format!("{name}[]"));
        }
        if slot.class_or_basic_type == NO_JAVA_LANG_CLASS {
            return Some("java.lang.Class".into());
        }
        let name = self.classes.name_ids.get(&class?).copied()?;
        let raw = decoded_text(self.texts(), name, is_bad)?;
        Some(if self.raw_types { raw } else { hprof_source_form(&raw) })
    }

    fn primitive_array_classes(&self) -> [Option<u64>; PRIMITIVES.len()] {
        let named = |name: String| self.classes.class_named(&name, self.texts()).map(|dump| dump.id);
        PRIMITIVES.map(|(_, name, letter)| named(format!("[{letter}")).or_else(|| named(format!("{name}[]"))))
    }

    fn describe_class(&mut self, slot: TypeSlot, dump: &ClassDump) {
        let mut field = |name: u64, basic_type: u8, is_static: bool| {
            let kind = primitive_kind(basic_type).unwrap_or(FieldKind::Reference);
            let text = decoded_text(&self.reader.texts, name, &Cell::new(false));
            let text = text.unwrap_or_else(|| format!("<name {name:#x}>"));
            Field { name: self.records.builder.intern_text(&text), kind, is_static }
        };
        let statics: Vec<Field> = dump.statics.iter().map(|one| field(one.name_id, one.basic_type, true)).collect();
        let own = dump.fields.iter().map(|one| field(one.name_id, one.basic_type, false));
        let fields = statics.into_iter().chain(own).collect();
        let superclass = self.classes.superclass(dump.id);
        let superclass = superclass.and_then(|above| self.records.known_slot(above.id, TypeKind::Instance));
        let record = TypeRecord {
            class_object: Some(dump.id),
            loader: if dump.loader_id == 0 { LoaderRecord::Runtime } else { LoaderRecord::Object(dump.loader_id) },
            superclass: superclass.map(TypeSlot),
            fields,
        };
        self.records.builder.describe_type(self.records.section, slot, record);
    }

    // ---- roots and threads

    /// Adds threads with their stacks, and all roots. Returns true if the dump records no strong root. Error: if there
    /// is no memory for them.
    pub(super) fn add_threads_and_roots(&mut self) -> Result<bool, BuildError> {
        let roots = std::mem::take(&mut self.records.roots);
        let section = self.records.section;
        let mut stacks: FxHashMap<u32, StackRange> = FxHashMap::default();
        let mut frames: FxHashMap<u64, Option<StackFrame<TypeSlot>>> = FxHashMap::default();
        for root in roots.iter().filter(|root| root.tag == sub_record_tags::ROOT_THREAD) {
            let stack =
                match (stacks.get(&root.frame_or_trace), self.reader.frame_ids_by_trace.get(&root.frame_or_trace)) {
                    (Some(stack), _) => *stack,
                    (None, Some(trace)) => {
                        let of_trace =
                            trace.iter().map(|&id| *frames.entry(id).or_insert_with(|| self.resolve_frame(id)));
                        let stack = of_trace.flatten().collect();
                        *stacks.entry(root.frame_or_trace).or_insert(self.records.builder.add_stack(stack)?)
                    }
                    (None, None) => StackRange::default(),
                };
            let object = Some(root.object).filter(|&id| id != 0);
            self.records.builder.add_thread(
                section,
                ThreadRecord { name: None, serial: root.thread_or_jni_reference as u32, object_id: object, stack },
            );
        }
        let mut has_strong = false;
        for root in roots.iter().filter(|root| root.object != 0) {
            let mut record = RootRecord::new(root.object, root_kind_of(root.tag), root.position);
            if root.tag == sub_record_tags::UNREACHABLE {
                record.flags = RootFlags(RootFlags::WEAK);
            } else {
                has_strong = true;
            }
            if has_thread(root) {
                record.thread_serial = Some(root.thread_or_jni_reference as u32);
                record.frame_index = Some(root.frame_or_trace)
                    .filter(|&frame| frame != u32::MAX && root.tag != sub_record_tags::ROOT_THREAD);
            }
            self.records.builder.add_root_record(section, record);
        }
        self.add_system_class_roots(&roots);
        Ok(!has_strong)
    }

    /// Roots for the system classes of JDKs before 6, which have no records of them: there every class of the boot
    /// loader is one, but for those of arrays.
    fn add_system_class_roots(&mut self, roots: &[RawRoot]) {
        let is_old = self.reader.header.version == "1.0.1"
            && roots.iter().any(|root| root.tag == sub_record_tags::ROOT_THREAD)
            && !roots.iter().any(|root| root.tag == sub_record_tags::ROOT_STICKY_CLASS);
        let section = self.records.section;
        for dump in self.classes.class_dumps.iter().filter(|dump| is_old && dump.loader_id == 0) {
            let is_array = self.classes.raw_name(dump.id, self.texts()).is_some_and(|name| name.starts_with(b"["));
            if !is_array {
                let record = RootRecord::new(dump.id, RootKind::SystemClass, dump.position);
                self.records.builder.add_root_record(section, record);
            }
        }
    }

    fn resolve_frame(&mut self, id: u64) -> Option<StackFrame<TypeSlot>> {
        let frame = *self.reader.frames.get(&id)?;
        let mut text = |id: u64| {
            let text = decoded_text(&self.reader.texts, id, &Cell::new(false)).filter(|text| !text.is_empty())?;
            Some(self.records.builder.intern_text(&text))
        };
        let method = text(frame.method_name_id)?;
        let (signature, source_file) = (text(frame.signature_id), text(frame.file_name_id));
        let class = self.classes.class_ids_by_serial.get(&frame.class_serial).copied();
        Some(StackFrame {
            method,
            class: class.and_then(|class| self.records.known_slot(class, TypeKind::Instance)).map(TypeSlot),
            signature,
            source_file,
            line: match frame.line {
                1.. => SourceLine::Number(frame.line as u32),
                -2 => SourceLine::Compiled,
                -3 => SourceLine::Native,
                _ => SourceLine::Unknown,
            },
        })
    }
}

/// Does the record of such a root name a thread?
fn has_thread(root: &RawRoot) -> bool {
    matches!(
        root.tag,
        sub_record_tags::ROOT_JNI_LOCAL
            | sub_record_tags::ROOT_JAVA_FRAME
            | sub_record_tags::ROOT_NATIVE_STACK
            | sub_record_tags::ROOT_THREAD_BLOCK
            | sub_record_tags::ROOT_THREAD
            | sub_record_tags::ROOT_JNI_MONITOR
    )
}

fn root_kind_of(tag: u8) -> RootKind {
    match tag {
        sub_record_tags::ROOT_JNI_GLOBAL => RootKind::JniGlobal,
        sub_record_tags::ROOT_JNI_LOCAL => RootKind::JniLocal,
        sub_record_tags::ROOT_JAVA_FRAME => RootKind::JavaFrame,
        sub_record_tags::ROOT_NATIVE_STACK => RootKind::NativeStack,
        sub_record_tags::ROOT_STICKY_CLASS => RootKind::SystemClass,
        sub_record_tags::ROOT_THREAD_BLOCK => RootKind::ThreadBlock,
        sub_record_tags::ROOT_MONITOR => RootKind::Monitor,
        sub_record_tags::ROOT_THREAD => RootKind::Thread,
        sub_record_tags::ROOT_INTERNED_STRING => RootKind::InternedString,
        sub_record_tags::ROOT_FINALIZING => RootKind::Finalizing,
        sub_record_tags::ROOT_DEBUGGER => RootKind::Debugger,
        sub_record_tags::ROOT_REFERENCE_CLEANUP => RootKind::ReferenceCleanup,
        sub_record_tags::ROOT_VM_INTERNAL => RootKind::VmInternal,
        sub_record_tags::ROOT_JNI_MONITOR => RootKind::JniMonitor,
        sub_record_tags::UNREACHABLE => RootKind::Unreachable,
        _ => RootKind::Unknown,
    }
}
