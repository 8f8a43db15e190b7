//! The first walks: what must be known before a value can be taken out.

use rustc_hash::FxHashSet;

use super::facts::{BYTE, CHAR, HprofFacts, InstancePlanCache, hash_of_text, keep_part};
use super::walk::{MAX_WHOLE_ENTRY_BYTES, RecordVisitor, count_at};
use crate::input::hprof::records::{ClassDump, FrameRecord, LoadClass, StaticValue, TraceRecord};
use crate::input::hprof::wire::{OBJECT_BASIC_TYPE, id_at_with_width, record_tags, sub_record_tags};
use crate::redact::kept_fields::KeptFields;
use crate::redact::keyed_hash::{KeyedHash, PartialDigest};

/// Gathers facts.
pub(super) struct FactScan<'k> {
    pub(super) facts: HprofFacts,
    kept_fields: &'k KeptFields,
    /// Where equal contents stay equal: for arrays that are never at hand as a whole.
    hash: Option<&'k KeyedHash>,
    plans: InstancePlanCache,
    is_first_scan: bool,
    dump_number: usize,
    /// There were objects whose class was not known yet.
    pub(super) has_unknown_classes: bool,
    /// Objects with kept texts, and holders of such, that were met on this walk: dump and id.
    seen_kept_objects: FxHashSet<(usize, u64)>,
    /// How many of these are kept themselves; and how many were to be kept in all when the walk before ended.
    seen_kept_count: usize,
    previous_kept_count: usize,
    /// Of the array whose elements come: its id, and the hash so far.
    open_array_digest: Option<(u64, PartialDigest)>,
    /// What may be a name, if it turns out to be of something.
    candidate_frames: Vec<FrameRecord>,
    traced_frame_ids: FxHashSet<u64>,
    field_name_ids: FxHashSet<u64>,
    /// Classes of arrays, and of instances whose class has no class dump so far.
    used_classes: FxHashSet<u64>,
    /// The class of the last array of objects.
    last_array_class: u64,
    /// The walk ends at the first object; and has ended there.
    ends_at_object: bool,
    is_done: bool,
    /// Records that tell of names and classes.
    pub(super) fact_count: u64,
}

impl<'k> FactScan<'k> {
    pub(super) fn new(id_bytes: usize, keep: &'k KeptFields, hash: Option<&'k KeyedHash>) -> Self {
        let facts = HprofFacts {
            id_bytes,
            // Dumps are counted from 1.
            classes_by_dump: vec![Default::default()],
            kept_texts_by_dump: vec![Default::default()],
            object_addresses: super::facts::ObjectAddresses::new(id_bytes),
            ..HprofFacts::default()
        };
        FactScan {
            facts,
            kept_fields: keep,
            hash,
            plans: InstancePlanCache::new(false),
            is_first_scan: true,
            dump_number: 0,
            has_unknown_classes: false,
            seen_kept_objects: FxHashSet::default(),
            seen_kept_count: 0,
            previous_kept_count: 0,
            open_array_digest: None,
            candidate_frames: Vec::new(),
            traced_frame_ids: FxHashSet::default(),
            field_name_ids: FxHashSet::default(),
            used_classes: FxHashSet::default(),
            last_array_class: 0,
            ends_at_object: false,
            is_done: false,
            fact_count: 0,
        }
    }

    /// One that looks at what comes before the first object.
    pub(super) fn of_start(id_bytes: usize, keep: &'k KeptFields) -> Self {
        FactScan { ends_at_object: true, ..FactScan::new(id_bytes, keep, None) }
    }

    /// What is known before the first object, if all classes that were named turn out to have their place among objects.
    pub(super) fn end_start(mut self) -> HprofFacts {
        self.used_classes.extend(self.facts.class_name_ids.keys());
        self.end_scan(false);
        self.facts
    }

    /// A walk is over, which could not pass everything if `is_damaged`. Returns true if another may find more.
    pub(super) fn end_scan(&mut self, is_damaged: bool) -> bool {
        self.end_array_digest();
        if self.is_first_scan {
            self.find_name_texts(is_damaged);
            self.keep_static_texts();
        }
        let kept = self.facts.kept_texts_by_dump.iter().map(|kept| kept.len()).sum();
        let is_unmet = kept > self.seen_kept_count && (self.is_first_scan || kept > self.previous_kept_count);
        let is_to_repeat = is_unmet || (self.is_first_scan && self.has_unknown_classes);
        (self.is_first_scan, self.dump_number, self.seen_kept_count, self.previous_kept_count) = (false, 0, 0, kept);
        self.seen_kept_objects.clear();
        self.plans.clear();
        is_to_repeat
    }

    /// Finds the texts that name something: classes that objects have or that lie among them, frames of stack traces, fields. A
    /// record of a damaged file may be taken for another, and its text for ids.
    fn find_name_texts(&mut self, is_damaged: bool) {
        let FactScan {
            facts,
            candidate_frames: frames,
            traced_frame_ids: frames_of_traces,
            field_name_ids: field_names,
            used_classes,
            ..
        } = self;
        facts.texts.sort_by_id();
        let HprofFacts { texts, name_text_ids: names, class_name_ids: class_names, object_addresses: places, .. } =
            facts;
        let is_name = |id: u64| texts.get(id).is_some_and(reads_as_name);
        class_names
            .retain(|class, name| (places.may_hold_object(*class) || used_classes.contains(class)) && is_name(*name));
        names.extend(class_names.values());
        names.extend(field_names.iter().filter(|name| is_name(**name)));
        for frame in frames.iter().filter(|frame| frames_of_traces.contains(&frame.id)) {
            if texts.get(frame.signature_id).is_none_or(|signature| signature.starts_with(b"(")) {
                facts.frame_ids.insert(frame.id);
                // Methods may have blanks in their names.
                names.extend(
                    [frame.method_name_id, frame.signature_id, frame.file_name_id]
                        .into_iter()
                        .filter(|&id| !is_damaged || is_name(id)),
                );
            }
        }
    }

    /// Keeps the texts that kept static variables refer to.
    fn keep_static_texts(&mut self) {
        let mut kept = Vec::new();
        for (number, classes) in self.facts.classes_by_dump.iter().enumerate() {
            for dump in classes.values() {
                let name = self.facts.class_name(dump.id);
                let is_kept = |one: &&StaticValue| {
                    one.basic_type == OBJECT_BASIC_TYPE
                        && self.facts.is_kept_field(self.kept_fields, &name, one.name_id)
                };
                let ids = dump.statics.iter().filter(is_kept).map(|one| one.value).filter(|&id| id != 0);
                kept.extend(ids.map(|id| (number, id)));
            }
        }
        for (number, id) in kept {
            self.facts.kept_texts_by_dump[number].entry(id).or_default();
        }
    }

    #[inline]
    fn scan_instance(&mut self, data: &[u8]) {
        let id_bytes = self.facts.id_bytes;
        let head = 9 + 2 * id_bytes;
        let (Some(id), Some(class)) =
            (id_at_with_width(data, 1, id_bytes), id_at_with_width(data, 5 + id_bytes, id_bytes))
        else {
            return;
        };
        let bytes = count_at(data, 5 + 2 * id_bytes);
        let Some(plan) = self.plans.plan_for(&self.facts, self.dump_number, class, self.kept_fields, bytes) else {
            self.has_unknown_classes = true;
            self.used_classes.insert(class);
            if self.facts.class_name_ids.contains_key(&class) {
                self.facts.object_addresses.add(id);
            }
            return;
        };
        self.facts.object_addresses.add(id);
        let kept = &mut self.facts.kept_texts_by_dump[self.dump_number];
        if !plan.kept_reference_offsets.is_empty() && self.seen_kept_objects.insert((self.dump_number, id)) {
            for &at in &plan.kept_reference_offsets {
                let held = id_at_with_width(data, head + at as usize, id_bytes).unwrap_or(0);
                if held != 0 {
                    kept.entry(held).or_default();
                }
            }
        }
        if plan.character_array_offset.is_some()
            && kept.contains_key(&id)
            && self.seen_kept_objects.insert((self.dump_number, id))
        {
            self.seen_kept_count += 1;
            // An array of this id would be another object.
            kept.insert(id, vec![(0, 0)]);
            if let Some(array) = plan.characters_of_string(data.get(head..).unwrap_or_default(), id_bytes) {
                keep_part(kept, array);
            }
        }
    }

    fn scan_primitive_array(&mut self, data: &[u8], id: u64) {
        self.facts.object_addresses.add(id);
        let elements = data.get(10 + self.facts.id_bytes..).unwrap_or_default();
        let parts = self.facts.kept_texts_by_dump[self.dump_number].get(&id);
        // Of a text that is a part of a longer array no other is known to be equal.
        let is_whole = parts.is_some_and(|parts| parts.iter().all(|&(start, count)| start == 0 && count == u32::MAX));
        if parts.is_some() && self.seen_kept_objects.insert((self.dump_number, id)) {
            self.seen_kept_count += 1;
            if let (Some(&(BYTE | CHAR)), true) = (data.get(9 + self.facts.id_bytes), is_whole) {
                self.facts.kept_text_hashes.insert(hash_of_text(data[9 + self.facts.id_bytes], elements));
            }
        }
        self.end_array_digest();
        if self.hash.is_some()
            && elements.is_empty()
            && count_at(data, 5 + self.facts.id_bytes) as u64 > MAX_WHOLE_ENTRY_BYTES / 16
        {
            self.open_array_digest = self.hash.map(|hash| (id, hash.begin_digest()));
        }
    }

    fn end_array_digest(&mut self) {
        if let Some((id, digest)) = self.open_array_digest.take() {
            self.facts.long_array_digests.entry((self.dump_number, id)).or_insert(digest.finish());
        }
    }
}

/// Returns true for a text without blanks and control characters.
fn reads_as_name(text: &[u8]) -> bool {
    text.iter().all(|byte| *byte > b' ' && *byte != 0x7F)
}

/// Returns true for a record that is no heap and may tell of names and classes.
pub(super) fn tells_facts(tag: u8) -> bool {
    matches!(tag, record_tags::TEXT | record_tags::LOAD_CLASS | record_tags::FRAME | record_tags::TRACE)
}

impl RecordVisitor for FactScan<'_> {
    fn begin_dump(&mut self) {
        self.end_array_digest();
        self.facts.texts.sort_by_id();
        self.dump_number += 1;
        self.plans.clear();
        if self.facts.classes_by_dump.len() <= self.dump_number {
            self.facts.classes_by_dump.push(Default::default());
            self.facts.kept_texts_by_dump.push(Default::default());
        }
    }

    fn non_heap_record(&mut self, tag: u8, body: &mut [u8]) -> Option<Vec<u8>> {
        if !self.is_first_scan {
            return None;
        }
        self.fact_count += u64::from(tells_facts(tag));
        let id_bytes = self.facts.id_bytes;
        let facts = &mut self.facts;
        match tag {
            record_tags::TEXT => {
                if let Some(id) = id_at_with_width(body, 0, id_bytes) {
                    facts.texts.add(id, &body[id_bytes..]);
                }
            }
            record_tags::LOAD_CLASS if body.len() == 8 + 2 * id_bytes => {
                if let Some(load) = LoadClass::parse(body, id_bytes) {
                    let name = *facts.class_name_ids.entry(load.class_id).or_insert(load.name_id);
                    if name != load.name_id {
                        facts.classes_of_several_names.insert(load.class_id);
                    }
                }
            }
            record_tags::FRAME if body.len() == 8 + 4 * id_bytes => {
                self.candidate_frames.extend(FrameRecord::parse(body, id_bytes))
            }
            record_tags::TRACE => {
                if let Some(trace) = TraceRecord::parse(body, id_bytes).filter(|trace| trace.fills_body(body, id_bytes))
                {
                    self.traced_frame_ids.extend(trace.frame_ids);
                }
            }
            _ => {}
        }
        None
    }

    #[inline]
    fn heap_entry(&mut self, _: u64, data: &mut [u8]) {
        let id_bytes = self.facts.id_bytes;
        match data[0] {
            sub_record_tags::INSTANCE..=sub_record_tags::PRIMITIVE_ARRAY | sub_record_tags::PRIMITIVE_ARRAY_NO_DATA
                if self.ends_at_object =>
            {
                self.is_done = true
            }
            sub_record_tags::INSTANCE => self.scan_instance(data),
            sub_record_tags::PRIMITIVE_ARRAY | sub_record_tags::PRIMITIVE_ARRAY_NO_DATA => {
                if let Some(id) = id_at_with_width(data, 1, id_bytes) {
                    self.scan_primitive_array(data, id);
                }
            }
            sub_record_tags::OBJECT_ARRAY => {
                self.end_array_digest();
                let (Some(id), Some(class)) =
                    (id_at_with_width(data, 1, id_bytes), id_at_with_width(data, 9 + id_bytes, id_bytes))
                else {
                    return;
                };
                if class != self.last_array_class {
                    self.used_classes.insert(class);
                    self.last_array_class = class;
                }
                if self.facts.is_class(class) {
                    self.facts.object_addresses.add(id);
                } else {
                    self.has_unknown_classes = true;
                }
            }
            sub_record_tags::CLASS_DUMP if self.is_first_scan => {
                self.fact_count += 1;
                if let Ok((_, dump)) = ClassDump::parse(&data[1..], id_bytes, 0) {
                    let fields = dump.fields.iter().map(|field| field.name_id);
                    self.field_name_ids.extend(dump.statics.iter().map(|one| one.name_id).chain(fields));
                    self.facts.object_addresses.add(dump.id);
                    self.facts.classes_by_dump[self.dump_number].entry(dump.id).or_insert(dump);
                }
            }
            sub_record_tags::HEAP_INFO => self.field_name_ids.extend(id_at_with_width(data, 5, id_bytes)),
            _ => {}
        }
    }

    fn array_elements(&mut self, bytes: &mut [u8]) {
        if let Some((_, digest)) = &mut self.open_array_digest {
            digest.write(bytes);
        }
    }

    fn unparsed_bytes(&mut self, _: &mut [u8]) {}

    fn is_done(&self) -> bool {
        self.is_done
    }
}
