//! The first walks: what must be known before a value can be taken out.

use rustc_hash::FxHashSet;

use super::facts::{BYTE, CHAR, HprofFacts, InstancePlanCache, hash_of_text};
use super::walk::{MAX_WHOLE_ENTRY_BYTES, RecordVisitor, count_at};
use crate::input::hprof::records::{ClassDump, FrameRecord, LoadClass, StaticValue, TraceRecord};
use crate::input::hprof::wire::{OBJECT, id_of, record, sub, u32_at};
use crate::redact::kept_fields::KeptFields;
use crate::redact::keyed_hash::{KeyedHash, PartialDigest};

/// Gathers facts.
pub(super) struct FactScan<'k> {
    pub(super) facts: HprofFacts,
    keep: &'k KeptFields,
    /// Where equal contents stay equal: for arrays that are never at hand as a whole.
    hash: Option<&'k KeyedHash>,
    plans: InstancePlanCache,
    is_first: bool,
    dump: usize,
    /// Objects whose class was not known yet.
    pub(super) is_incomplete: bool,
    /// Objects with kept texts, and holders of such, that were met on this walk: dump and id.
    seen_kept_objects: FxHashSet<(usize, u64)>,
    /// Of these those that are kept, and all that are.
    seen_kept_count: usize,
    previous_kept_count: usize,
    open_array_digest: Option<(u64, PartialDigest)>,
    /// What may be a name, if it turns out to be of something.
    frames: Vec<FrameRecord>,
    frames_of_traces: FxHashSet<u64>,
    field_names: FxHashSet<u64>,
    /// Classes of arrays, and of instances whose class has no class dump so far.
    used_classes: FxHashSet<u64>,
    last_class: u64,
}

impl<'k> FactScan<'k> {
    pub(super) fn new(id_bytes: usize, keep: &'k KeptFields, hash: Option<&'k KeyedHash>) -> Self {
        let facts = HprofFacts {
            id_bytes,
            // Dumps are counted from 1.
            dumps: vec![Default::default()],
            kept_texts_by_dump: vec![Default::default()],
            object_addresses: super::facts::ObjectAddresses::new(id_bytes),
            ..HprofFacts::default()
        };
        FactScan {
            facts,
            keep,
            hash,
            plans: InstancePlanCache::new(false),
            is_first: true,
            dump: 0,
            is_incomplete: false,
            seen_kept_objects: FxHashSet::default(),
            seen_kept_count: 0,
            previous_kept_count: 0,
            open_array_digest: None,
            frames: Vec::new(),
            frames_of_traces: FxHashSet::default(),
            field_names: FxHashSet::default(),
            used_classes: FxHashSet::default(),
            last_class: 0,
        }
    }

    /// A walk is over, which could not pass everything if `is_damaged`. Returns true if another may find more.
    pub(super) fn end_scan(&mut self, is_damaged: bool) -> bool {
        self.end_array_digest();
        if self.is_first {
            self.find_name_texts(is_damaged);
            self.keep_static_texts();
        }
        let kept = self.facts.kept_texts_by_dump.iter().map(|kept| kept.len()).sum();
        let is_unmet = kept > self.seen_kept_count && (self.is_first || kept > self.previous_kept_count);
        let is_to_repeat = is_unmet || (self.is_first && self.is_incomplete);
        (self.is_first, self.dump, self.seen_kept_count, self.previous_kept_count) = (false, 0, 0, kept);
        self.seen_kept_objects.clear();
        self.plans.clear();
        is_to_repeat
    }

    /// Finds the texts that name something: classes that objects have or that lie among them, frames of stack traces, fields. A
    /// record of a damaged file may be taken for another, and its text for ids.
    fn find_name_texts(&mut self, is_damaged: bool) {
        let FactScan { facts, frames, frames_of_traces, field_names, used_classes, .. } = self;
        facts.texts.sort_by_id();
        let HprofFacts { texts, name_text_ids: names, class_names, object_addresses: places, .. } = facts;
        let is_name = |id: u64| texts.get(id).is_some_and(reads_as_name);
        class_names
            .retain(|class, name| (places.may_hold_object(*class) || used_classes.contains(class)) && is_name(*name));
        names.extend(class_names.values());
        names.extend(field_names.iter().filter(|name| is_name(**name)));
        for frame in frames.iter().filter(|frame| frames_of_traces.contains(&frame.id)) {
            if texts.get(frame.signature).is_none_or(|signature| signature.starts_with(b"(")) {
                facts.frame_ids.insert(frame.id);
                // Methods may have blanks in their names.
                names.extend(
                    [frame.method, frame.signature, frame.file].into_iter().filter(|&id| !is_damaged || is_name(id)),
                );
            }
        }
    }

    /// Static variables that are kept.
    fn keep_static_texts(&mut self) {
        let mut kept = Vec::new();
        for (number, classes) in self.facts.dumps.iter().enumerate() {
            for dump in classes.values() {
                let name = self.facts.class_name(dump.id);
                let is_kept =
                    |one: &&StaticValue| one.basic_type == OBJECT && self.facts.is_kept(self.keep, &name, one.name);
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
        let (Some(id), Some(class)) = (id_of(data, 1, id_bytes), id_of(data, 5 + id_bytes, id_bytes)) else { return };
        let bytes = count_at(data, 5 + 2 * id_bytes);
        let Some(plan) = self.plans.plan_for(&self.facts, self.dump, class, self.keep, bytes) else {
            self.is_incomplete = true;
            self.used_classes.insert(class);
            if self.facts.class_names.contains_key(&class) {
                self.facts.object_addresses.add(id);
            }
            return;
        };
        self.facts.object_addresses.add(id);
        let kept = &mut self.facts.kept_texts_by_dump[self.dump];
        if !plan.kept_reference_offsets.is_empty() && self.seen_kept_objects.insert((self.dump, id)) {
            for &at in &plan.kept_reference_offsets {
                let held = id_of(data, head + at as usize, id_bytes).unwrap_or(0);
                if held != 0 {
                    kept.entry(held).or_default();
                }
            }
        }
        if let Some(at) = plan.character_array_offset
            && kept.contains_key(&id)
            && self.seen_kept_objects.insert((self.dump, id))
        {
            self.seen_kept_count += 1;
            // An array of this id would be another object.
            kept.insert(id, vec![(0, 0)]);
            let number = |at: Option<u32>| u32_at(data, head + at? as usize);
            let part =
                number(plan.array_part_offsets.0).zip(number(plan.array_part_offsets.1)).unwrap_or((0, u32::MAX));
            if let Some(array) = id_of(data, head + at as usize, id_bytes).filter(|&array| array != 0) {
                let parts = kept.entry(array).or_default();
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
        }
    }

    fn scan_primitive_array(&mut self, data: &[u8], id: u64) {
        self.facts.object_addresses.add(id);
        let elements = data.get(10 + self.facts.id_bytes..).unwrap_or_default();
        let parts = self.facts.kept_texts_by_dump[self.dump].get(&id);
        // Of a text that is a part of a longer array no other is known to be equal.
        let is_whole = parts.is_some_and(|parts| parts.iter().all(|&(start, count)| start == 0 && count == u32::MAX));
        if parts.is_some() && self.seen_kept_objects.insert((self.dump, id)) {
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
            self.facts.long_array_digests.entry((self.dump, id)).or_insert(digest.finish());
        }
    }
}

/// Returns true for a text without blanks and control characters.
fn reads_as_name(text: &[u8]) -> bool {
    text.iter().all(|byte| *byte > b' ' && *byte != 0x7F)
}

impl RecordVisitor for FactScan<'_> {
    fn begin_dump(&mut self) {
        self.end_array_digest();
        self.facts.texts.sort_by_id();
        self.dump += 1;
        self.plans.clear();
        if self.facts.dumps.len() <= self.dump {
            self.facts.dumps.push(Default::default());
            self.facts.kept_texts_by_dump.push(Default::default());
        }
    }

    fn other_record(&mut self, tag: u8, body: &mut [u8]) -> Option<Vec<u8>> {
        if !self.is_first {
            return None;
        }
        let id_bytes = self.facts.id_bytes;
        let facts = &mut self.facts;
        match tag {
            record::TEXT => {
                if let Some(id) = id_of(body, 0, id_bytes) {
                    facts.texts.add(id, &body[id_bytes..]);
                }
            }
            record::LOAD_CLASS if body.len() == 8 + 2 * id_bytes => {
                if let Some(load) = LoadClass::parse(body, id_bytes) {
                    let name = *facts.class_names.entry(load.class).or_insert(load.name);
                    if name != load.name {
                        facts.renamed_classes.insert(load.class);
                    }
                }
            }
            record::FRAME if body.len() == 8 + 4 * id_bytes => self.frames.extend(FrameRecord::parse(body, id_bytes)),
            record::TRACE => {
                if let Some(trace) = TraceRecord::parse(body, id_bytes).filter(|trace| trace.fills_body(body, id_bytes))
                {
                    self.frames_of_traces.extend(trace.frames);
                }
            }
            _ => {}
        }
        None
    }

    #[inline]
    fn heap_entry(&mut self, data: &mut [u8]) {
        let id_bytes = self.facts.id_bytes;
        match data[0] {
            sub::INSTANCE => self.scan_instance(data),
            sub::PRIMITIVE_ARRAY | sub::PRIMITIVE_ARRAY_NO_DATA => {
                if let Some(id) = id_of(data, 1, id_bytes) {
                    self.scan_primitive_array(data, id);
                }
            }
            sub::OBJECT_ARRAY => {
                self.end_array_digest();
                let (Some(id), Some(class)) = (id_of(data, 1, id_bytes), id_of(data, 9 + id_bytes, id_bytes)) else {
                    return;
                };
                if class != self.last_class {
                    self.used_classes.insert(class);
                    self.last_class = class;
                }
                if self.facts.is_class(class) {
                    self.facts.object_addresses.add(id);
                } else {
                    self.is_incomplete = true;
                }
            }
            sub::CLASS_DUMP if self.is_first => {
                if let Ok((_, dump)) = ClassDump::parse(&data[1..], id_bytes, 0) {
                    let fields = dump.fields.iter().map(|field| field.name);
                    self.field_names.extend(dump.statics.iter().map(|one| one.name).chain(fields));
                    self.facts.object_addresses.add(dump.id);
                    self.facts.dumps[self.dump].entry(dump.id).or_insert(dump);
                }
            }
            sub::HEAP_INFO => self.field_names.extend(id_of(data, 5, id_bytes)),
            _ => {}
        }
    }

    fn array_elements(&mut self, bytes: &mut [u8]) {
        if let Some((_, digest)) = &mut self.open_array_digest {
            digest.write(bytes);
        }
    }

    fn unparsed_bytes(&mut self, _: &mut [u8]) {}
}
