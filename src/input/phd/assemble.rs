//! From records to objects: types by class, sizes when all records are known.

use rustc_hash::FxHashMap;

use super::javacore::JavaCore;
use super::layout::{ArrayForm, PhdHeader, SECTION_NAME, position, round_up_to_8};
use super::problem_codes::*;
use super::records::{PhdRecord, RecordReader};
use crate::graph::{
    GraphBuilder, IdStyle, ObjectColumns, RootKind, RootRecord, Section, SectionId, ThreadRecord, TypeRecord, TypeSlot,
};
use crate::input::java_types::{PRIMITIVES, source_form};
use crate::input::repeat_detector::RepeatDetector;
use crate::input::sink::{ObjectsAndBytes, totals_by_name};
use crate::input::{ProblemCode, ReadError, ReadExtent, Reading};

/// Objects that are handed on together.
const OBJECTS_PER_BATCH: usize = 16 * 1024;
/// Known arrays of fewer elements say little about the width of a reference.
const MIN_TELLING_ELEMENTS: u64 = 4;
/// Classes that a class is derived from, at most.
const MAX_SUPERCLASSES: usize = 1000;
/// Problems by which objects may be lost.
static LOSS_CODES: [&ProblemCode; 2] = [&TRUNCATED, &BAD_RECORD];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum SlotKind {
    /// Of the class at this address.
    Object(u64),
    /// Arrays with this word for their class.
    ObjectArray(u64),
    PrimitiveArray(u8),
    Class,
}

#[derive(Debug)]
struct PhdClass {
    address: u64,
    instance_bytes: u32,
    superclass_address: u64,
    name: String,
    /// The number of its record among the objects.
    object_number: usize,
}

#[derive(Debug, Default, Clone, Copy)]
struct SlotCount {
    objects: u64,
    /// Position of the first of them in the file.
    first_position: u64,
    /// Bytes of arrays: as stated, or in each form of 64 bits.
    bytes_by_form: [u128; 3],
}

/// Takes records one by one.
pub(super) struct Assembler<'r> {
    pub(super) reading: &'r mut Reading,
    pub(super) builder: GraphBuilder,
    section: SectionId,
    /// Or else objects are only counted.
    builds_graph: bool,
    columns: ObjectColumns,
    slot_kinds: Vec<SlotKind>,
    slot_by_kind: FxHashMap<SlotKind, u32>,
    /// Each slot's own number: columns number types by slot.
    identity_slots: Vec<u32>,
    slot_counts: Vec<SlotCount>,
    /// Repeats, where objects are only counted.
    pub(super) repeat_detector: RepeatDetector,
    classes: Vec<PhdClass>,
    class_by_address: FxHashMap<u64, usize>,
    /// Once the header was read.
    header: Option<PhdHeader>,
    pub(super) objects: u64,
    references: u64,
    arrays: u64,
    /// The record before: its address, and elements of an array of references.
    previous_record: Option<(u64, SlotKind, u64)>,
    /// Signs of the width of references, by distances.
    has_telling_arrays: bool,
    has_compressed_references: bool,
    has_16_byte_header: bool,
    min_distance_after_class: Option<u64>,
    end_offset: u64,
    is_complete: bool,
    array_form: ArrayForm,
    java_core: Option<JavaCore>,
    /// Threads of the Java core, and the classes of their objects where these are in the dump.
    thread_classes: FxHashMap<u64, Option<u64>>,
}

impl<'r> Assembler<'r> {
    pub(super) fn new(reading: &'r mut Reading, builds_graph: bool) -> Self {
        let mut builder = GraphBuilder::new(IdStyle::Padded(16));
        builder.limit_memory(&reading.budget);
        let section = builder.begin_section(Section { name: SECTION_NAME.into(), ..Section::default() });
        reading.info.has_no_roots = true;
        Assembler {
            reading,
            builder,
            section,
            builds_graph,
            columns: ObjectColumns::default(),
            slot_kinds: Vec::new(),
            slot_by_kind: FxHashMap::default(),
            identity_slots: Vec::new(),
            slot_counts: Vec::new(),
            repeat_detector: RepeatDetector::default(),
            classes: Vec::new(),
            class_by_address: FxHashMap::default(),
            header: None,
            objects: 0,
            references: 0,
            arrays: 0,
            previous_record: None,
            has_telling_arrays: false,
            has_compressed_references: false,
            has_16_byte_header: false,
            min_distance_after_class: None,
            end_offset: 0,
            is_complete: false,
            array_form: ArrayForm::Bits32,
            java_core: None,
            thread_classes: FxHashMap::default(),
        }
    }

    /// Takes what names the threads of the dump, before its first record.
    pub(super) fn take_java_core(&mut self, core: JavaCore) {
        self.thread_classes = core.threads.iter().map(|thread| (thread.object_address, None)).collect();
        self.java_core = Some(core);
    }

    pub(super) fn take_header(&mut self, layout: &PhdHeader) {
        self.builder.id_style = IdStyle::Padded(if layout.word_bytes == 8 { 16 } else { 8 });
        self.reading.info.version = Some(format!("{}, {} bits", layout.version, 8 * layout.word_bytes));
        self.reading.info.producer.clone_from(&layout.producer);
        self.header = Some(layout.clone());
    }

    pub(super) fn add_problem(&mut self, code: &'static ProblemCode, count: u64, at: u64) {
        self.reading.diagnostics.add(code, count, position(at), String::new);
    }

    pub(super) fn take_record(&mut self, what: PhdRecord, records: &RecordReader, at: u64) -> Result<(), ReadError> {
        let kind = match &what {
            PhdRecord::Object(class) => SlotKind::Object(*class),
            PhdRecord::ObjectArray(class) => SlotKind::ObjectArray(*class),
            PhdRecord::PrimitiveArray(element) => SlotKind::PrimitiveArray(*element),
            PhdRecord::Class { .. } => SlotKind::Class,
            PhdRecord::End => return Ok(()),
        };
        self.measure_distance(kind, records);
        if let PhdRecord::Class { instance_bytes, superclass, name } = what {
            self.take_class(records.address, instance_bytes, superclass, &name, at);
        }
        if let SlotKind::Object(class) = kind
            && !self.thread_classes.is_empty()
            && let Some(found) = self.thread_classes.get_mut(&records.address)
        {
            found.get_or_insert(class);
        }
        let slot = self.find_or_add_slot(kind);
        let is_array = matches!(kind, SlotKind::ObjectArray(_) | SlotKind::PrimitiveArray(_));
        let number = match (is_array, records.header.has_array_sizes()) {
            (false, _) => 0,
            (true, true) => records.stated_bytes,
            (true, false) => records.element_count,
        };
        self.objects += 1;
        let count = &mut self.slot_counts[slot as usize];
        if count.objects == 0 {
            count.first_position = at;
        }
        count.objects += 1;
        self.arrays += u64::from(is_array);
        self.references += records.references.len() as u64;
        if !self.builds_graph {
            self.add_array_bytes(slot, kind, number, records);
            // Classes stand apart from the objects among which they lie.
            if kind != SlotKind::Class {
                self.repeat_detector.add(records.address, at);
            }
            return Ok(());
        }
        self.columns.push_object(records.address, slot, number, at);
        records.references.iter().for_each(|&target| self.columns.push_reference(target));
        if self.columns.len() >= OBJECTS_PER_BATCH || self.columns.reference_count() >= 8 * OBJECTS_PER_BATCH {
            self.flush()?;
        }
        Ok(())
    }

    /// Looks at how far it is from the record before, which follows it in memory mostly.
    fn measure_distance(&mut self, kind: SlotKind, records: &RecordReader) {
        if let Some((address, before, length)) = self.previous_record
            && let Some(distance) = records.address.checked_sub(address).filter(|&distance| distance > 0)
        {
            match before {
                SlotKind::ObjectArray(_) if length >= MIN_TELLING_ELEMENTS => {
                    self.has_telling_arrays = true;
                    self.has_compressed_references |= distance < 16 + 8 * length;
                    self.has_16_byte_header |= distance < 24 + 8 * length;
                }
                SlotKind::Class => {
                    self.min_distance_after_class =
                        Some(self.min_distance_after_class.map_or(distance, |least| least.min(distance)));
                }
                _ => {}
            }
        }
        self.previous_record = Some((records.address, kind, records.element_count));
    }

    fn take_class(&mut self, address: u64, instance_bytes: u32, superclass: u64, name: &[u8], at: u64) {
        let text = String::from_utf8_lossy(name);
        self.add_problem(&BAD_NAME, u64::from(matches!(text, std::borrow::Cow::Owned(_))), at);
        let object = self.objects as usize;
        let class = PhdClass {
            address,
            instance_bytes,
            superclass_address: superclass,
            name: text.into_owned(),
            object_number: object,
        };
        self.class_by_address.entry(address).or_insert(self.classes.len());
        self.classes.push(class);
    }

    fn find_or_add_slot(&mut self, kind: SlotKind) -> u32 {
        if let Some(&slot) = self.slot_by_kind.get(&kind) {
            return slot;
        }
        let TypeSlot(slot) = self.builder.new_type();
        self.slot_by_kind.insert(kind, slot);
        self.slot_kinds.push(kind);
        self.identity_slots.push(slot);
        self.slot_counts.push(SlotCount::default());
        slot
    }

    fn add_array_bytes(&mut self, slot: u32, kind: SlotKind, number: u64, records: &RecordReader) {
        let count = &mut self.slot_counts[slot as usize];
        for (sum, form) in count.bytes_by_form.iter_mut().zip(ArrayForm::ALL_64_BIT) {
            let form = if records.header.word_bytes == 8 { form } else { ArrayForm::Bits32 };
            *sum += u128::from(array_bytes(kind, number, form, &records.header).unwrap_or(0));
        }
    }

    /// Hands the objects so far on to the builder.
    fn flush(&mut self) -> Result<(), ReadError> {
        self.columns.seal();
        let objects = 0..self.columns.len();
        self.builder.append(self.section, &self.columns, objects, &self.identity_slots, 0, false)?;
        self.columns.clear();
        Ok(())
    }

    /// The last record was read.
    pub(super) fn end_records(&mut self, at: u64, is_complete: bool) -> Result<(), ReadError> {
        (self.end_offset, self.is_complete) = (at, is_complete);
        if self.builds_graph { self.flush() } else { Ok(()) }
    }

    /// Names types and gives objects their sizes.
    pub(super) fn finish(&mut self) -> Result<ReadExtent, ReadError> {
        let Some(layout) = self.header.clone() else {
            return Ok(ReadExtent { end: position(self.end_offset), objects: 0, loss_codes: &LOSS_CODES });
        };
        self.array_form = match (layout.word_bytes, self.has_compressed_references) {
            (4, _) => ArrayForm::Bits32,
            (_, true) => ArrayForm::Bits64CompressedReferences,
            (_, false) if !self.has_telling_arrays => ArrayForm::Bits64CompressedReferences,
            (_, false) => {
                ArrayForm::Bits64FullReferences { header_bytes: if self.has_16_byte_header { 16 } else { 24 } }
            }
        };
        self.name_types();
        if self.builds_graph {
            let sizes: Vec<Option<u64>> = self.slot_kinds.iter().map(|&kind| self.fixed_bytes(kind)).collect();
            let (slots, form) = (&self.slot_kinds, self.array_form);
            self.builder.set_object_sizes(|slot, number| {
                let array = || array_bytes(slots[slot.0 as usize], number, form, &layout);
                sizes[slot.0 as usize].or_else(array).unwrap_or(0)
            });
            self.describe_classes();
            self.add_threads();
        }
        self.builder.section_mut(self.section).complete = self.is_complete;
        self.reading.info.sizes = Some(format!(
            "objects by their classes, {}; classes by the least distance between two",
            if layout.has_array_sizes() { "arrays as stated" } else { self.array_form.describe() },
        ));
        self.reading.info.set_records([
            ("objects", self.objects - self.arrays - self.classes.len() as u64),
            ("arrays", self.arrays),
            ("classes", self.classes.len() as u64),
            ("references", self.references),
        ]);
        Ok(ReadExtent { end: position(self.end_offset), objects: self.objects, loss_codes: &LOSS_CODES })
    }

    /// Bytes of an object that is no array; `None` for an array.
    fn fixed_bytes(&self, kind: SlotKind) -> Option<u64> {
        match kind {
            SlotKind::Object(class) => {
                Some(self.class_at(class).map_or(0, |class| round_up_to_8(class.instance_bytes.max(16).into())))
            }
            SlotKind::Class => Some(self.min_distance_after_class.unwrap_or(0)),
            SlotKind::ObjectArray(_) | SlotKind::PrimitiveArray(_) => None,
        }
    }

    fn class_at(&self, address: u64) -> Option<&PhdClass> {
        self.class_by_address.get(&address).map(|&at| &self.classes[at])
    }

    fn name_types(&mut self) {
        let raw_types = self.reading.options.raw_types;
        let shown = |name: &str| if raw_types { name.to_string() } else { source_form(name) };
        // Mostly the word of an array is the class of its elements; in some dumps it is its own.
        let mut words = self.slot_kinds.iter().filter_map(|&kind| match kind {
            SlotKind::ObjectArray(word) => self.class_at(word),
            _ => None,
        });
        let is_own = words.clone().next().is_some() && words.all(|class| class.name.starts_with('['));
        let unknown = |address: u64| format!("unknown class {}", self.padded_address(address));
        let names: Vec<String> = self
            .slot_kinds
            .iter()
            .map(|&kind| match kind {
                SlotKind::Object(class) => {
                    self.class_at(class).map_or_else(|| unknown(class), |class| shown(&class.name))
                }
                SlotKind::ObjectArray(class) => match self.class_at(class) {
                    Some(class) if is_own => shown(&class.name),
                    Some(class) if class.name.starts_with('[') => shown(&format!("[{}", class.name)),
                    Some(class) => shown(&format!("[L{};", class.name)),
                    None => format!("{}[]", unknown(class)),
                },
                SlotKind::PrimitiveArray(element) => shown(&format!("[{}", PRIMITIVES[usize::from(element)].2)),
                SlotKind::Class => shown("java/lang/Class"),
            })
            .collect();
        for (slot, name) in names.iter().enumerate() {
            self.builder.name_type(TypeSlot(slot as u32), name);
        }
        for (slot, count) in self.slot_kinds.iter().zip(&self.slot_counts) {
            if let SlotKind::Object(class) | SlotKind::ObjectArray(class) = *slot
                && self.class_at(class).is_none()
            {
                let text = self.padded_address(class);
                self.reading.diagnostics.add(&UNKNOWN_CLASS, count.objects, position(count.first_position), || text);
            }
        }
    }

    fn padded_address(&self, address: u64) -> String {
        let digits = self.header.as_ref().map_or(16, |layout| 2 * layout.word_bytes);
        IdStyle::Padded(digits as u8).format(address)
    }

    /// Says which object is which class.
    fn describe_classes(&mut self) {
        let raw_types = self.reading.options.raw_types;
        let mut slot_of_class: Vec<TypeSlot> = Vec::with_capacity(self.classes.len());
        for class in &self.classes {
            let slot = match self.slot_by_kind.get(&SlotKind::Object(class.address)) {
                Some(&slot) => TypeSlot(slot),
                None => {
                    let slot = self.builder.new_type();
                    let name = if raw_types { class.name.clone() } else { source_form(&class.name) };
                    self.builder.name_type(slot, &name);
                    slot
                }
            };
            slot_of_class.push(slot);
        }
        for (class, &slot) in self.classes.iter().zip(&slot_of_class) {
            let superclass = self.class_by_address.get(&class.superclass_address).map(|&at| slot_of_class[at]);
            let record = TypeRecord { class_object: Some(class.address), superclass, ..TypeRecord::default() };
            self.builder.describe_type(self.section, slot, record);
            self.builder.add_class_object(class.object_number, slot);
        }
    }

    /// Adds the threads of the Java core whose objects are in the dump.
    fn add_threads(&mut self) {
        let Some(core) = self.java_core.take() else { return };
        let mut added = 0;
        for (number, thread) in (0u32..).zip(&core.threads) {
            // Of another process, at the address there may be anything.
            let class = self.thread_classes.remove(&thread.object_address).flatten();
            if !class.is_some_and(|class| self.is_thread_class(class)) {
                continue;
            }
            let name = Some(self.builder.intern_text(&thread.name));
            let object = Some(thread.object_address);
            let record = ThreadRecord { name, serial: number, object_id: object, ..ThreadRecord::default() };
            self.builder.add_thread(self.section, record);
            let record = RootRecord::new(thread.object_address, RootKind::Thread, 0);
            self.builder.add_root_record(self.section, RootRecord { name, thread_serial: Some(number), ..record });
            added += 1;
        }
        self.reading.diagnostics.add(&JAVA_CORE, added, position(0), || core.file_name);
    }

    /// Is this class `java/lang/Thread`, or derived from it?
    fn is_thread_class(&self, mut class: u64) -> bool {
        // A damaged dump may have classes that are derived from each other.
        for _ in 0..MAX_SUPERCLASSES {
            match self.class_at(class) {
                Some(found) if found.name == "java/lang/Thread" => return true,
                Some(found) => class = found.superclass_address,
                None => return false,
            }
        }
        false
    }

    /// Objects and bytes by type.
    pub(super) fn totals(&self) -> Vec<(String, u64, u64)> {
        let place = ArrayForm::ALL_64_BIT.iter().position(|&form| form == self.array_form).unwrap_or(0);
        let totals = self.slot_kinds.iter().zip(&self.slot_counts).enumerate().map(|(slot, (&kind, count))| {
            let bytes = match self.fixed_bytes(kind) {
                Some(bytes) => u128::from(bytes) * u128::from(count.objects),
                None => count.bytes_by_form[place],
            };
            let name = self.builder.type_name(TypeSlot(slot as u32)).unwrap_or_default();
            (ObjectsAndBytes { objects: count.objects, bytes }, name.to_string())
        });
        totals_by_name(totals)
    }
}

/// Bytes of an array, from what was kept of its record.
fn array_bytes(kind: SlotKind, number: u64, form: ArrayForm, layout: &PhdHeader) -> Option<u64> {
    let element_bytes = match kind {
        SlotKind::ObjectArray(_) => form.reference_bytes(),
        SlotKind::PrimitiveArray(element) => PRIMITIVES[usize::from(element)].0.bytes(0).into(),
        SlotKind::Object(_) | SlotKind::Class => return None,
    };
    Some(if layout.has_array_sizes() { number } else { form.bytes(number, element_bytes) })
}
