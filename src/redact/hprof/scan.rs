//! The first walks: what must be known before a value can be taken out.

use rustc_hash::FxHashSet;

use super::facts::{BYTE, CHAR, Facts, Plans, hash_of_text};
use super::walk::{MAX_WHOLE_BYTES, Work, count_at};
use crate::input::hprof::records::{ClassDump, FrameRecord, LoadClass, StaticValue, TraceRecord};
use crate::input::hprof::wire::{OBJECT, id_of, record, sub, u32_at};
use crate::redact::keep::KeptFields;
use crate::redact::keyed::{KeyedHash, PartialDigest};

/// Gathers facts.
pub(super) struct Scan<'k> {
    pub(super) facts: Facts,
    keep: &'k KeptFields,
    /// Where equal contents stay equal: for arrays that are never at hand as a whole.
    hash: Option<&'k KeyedHash>,
    plans: Plans,
    is_first: bool,
    dump: usize,
    /// Objects whose class was not known yet.
    pub(super) is_incomplete: bool,
    /// Objects with kept texts, and holders of such, that were met on this walk: dump and id.
    met: FxHashSet<(usize, u64)>,
    /// Of these those that are kept, and all that are.
    met_kept: usize,
    kept_before: usize,
    array: Option<(u64, PartialDigest)>,
    /// What may be a name, if it turns out to be of something.
    frames: Vec<FrameRecord>,
    frames_of_traces: FxHashSet<u64>,
    field_names: FxHashSet<u64>,
    /// Classes of objects, without those that have a class dump.
    used_classes: FxHashSet<u64>,
    last_class: u64,
}

impl<'k> Scan<'k> {
    pub(super) fn new(id_bytes: usize, keep: &'k KeptFields, hash: Option<&'k KeyedHash>) -> Self {
        let facts = Facts {
            id_bytes,
            // Dumps are counted from 1.
            dumps: vec![Default::default()],
            kept: vec![Default::default()],
            places: super::facts::Places::new(id_bytes),
            ..Facts::default()
        };
        Scan {
            facts,
            keep,
            hash,
            plans: Plans::new(false),
            is_first: true,
            dump: 0,
            is_incomplete: false,
            met: FxHashSet::default(),
            met_kept: 0,
            kept_before: 0,
            array: None,
            frames: Vec::new(),
            frames_of_traces: FxHashSet::default(),
            field_names: FxHashSet::default(),
            used_classes: FxHashSet::default(),
            last_class: 0,
        }
    }

    /// A walk is over, which could not pass everything if `is_damaged`. Returns true if another may find more.
    pub(super) fn is_to_repeat(&mut self, is_damaged: bool) -> bool {
        self.end_array();
        if self.is_first {
            self.settle_names(is_damaged);
            self.keep_statics();
        }
        let kept = self.facts.kept.iter().map(|kept| kept.len()).sum();
        let is_unmet = kept > self.met_kept && (self.is_first || kept > self.kept_before);
        let is_to_repeat = is_unmet || (self.is_first && self.is_incomplete);
        (self.is_first, self.dump, self.met_kept, self.kept_before) = (false, 0, 0, kept);
        self.met.clear();
        self.plans.clear();
        is_to_repeat
    }

    /// Finds the texts that name something: classes that objects have or that lie among them, frames of stack traces, fields. A
    /// record of a damaged file may be taken for another, and its text for ids.
    fn settle_names(&mut self, is_damaged: bool) {
        let Scan { facts, frames, frames_of_traces, field_names, used_classes, .. } = self;
        facts.texts.sort();
        let Facts { texts, names, class_names, places, .. } = facts;
        let is_name = |id: u64| texts.get(id).is_some_and(reads_as_name);
        class_names.retain(|class, name| (places.has(*class) || used_classes.contains(class)) && is_name(*name));
        names.extend(class_names.values());
        names.extend(field_names.iter().filter(|name| is_name(**name)));
        for frame in frames.iter().filter(|frame| frames_of_traces.contains(&frame.id)) {
            if texts.get(frame.signature).is_none_or(|signature| signature.starts_with(b"(")) {
                facts.frames.insert(frame.id);
                // Methods may have blanks in their names.
                names.extend(
                    [frame.method, frame.signature, frame.file].into_iter().filter(|&id| !is_damaged || is_name(id)),
                );
            }
        }
    }

    /// StaticValue variables that are kept.
    fn keep_statics(&mut self) {
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
            self.facts.kept[number].entry(id).or_default();
        }
    }

    #[inline]
    fn instance(&mut self, data: &[u8]) {
        let id_bytes = self.facts.id_bytes;
        let head = 9 + 2 * id_bytes;
        let (Some(id), Some(class)) = (id_of(data, 1, id_bytes), id_of(data, 5 + id_bytes, id_bytes)) else { return };
        let bytes = count_at(data, 5 + 2 * id_bytes);
        let Some(plan) = self.plans.of(&self.facts, self.dump, class, self.keep, bytes) else {
            self.is_incomplete = true;
            self.used_classes.insert(class);
            if self.facts.class_names.contains_key(&class) {
                self.facts.places.add(id);
            }
            return;
        };
        self.facts.places.add(id);
        let kept = &mut self.facts.kept[self.dump];
        if !plan.holds_kept.is_empty() && self.met.insert((self.dump, id)) {
            for &at in &plan.holds_kept {
                let held = id_of(data, head + at as usize, id_bytes).unwrap_or(0);
                if held != 0 {
                    kept.entry(held).or_default();
                }
            }
        }
        if let Some(at) = plan.characters
            && kept.contains_key(&id)
            && self.met.insert((self.dump, id))
        {
            self.met_kept += 1;
            // An array of this id would be another object.
            kept.insert(id, vec![(0, 0)]);
            let number = |at: Option<u32>| u32_at(data, head + at? as usize);
            let part = number(plan.part.0).zip(number(plan.part.1)).unwrap_or((0, u32::MAX));
            if let Some(array) = id_of(data, head + at as usize, id_bytes).filter(|&array| array != 0) {
                let parts = kept.entry(array).or_default();
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
        }
    }

    fn array(&mut self, data: &[u8], id: u64) {
        self.facts.places.add(id);
        let elements = data.get(10 + self.facts.id_bytes..).unwrap_or_default();
        let parts = self.facts.kept[self.dump].get(&id);
        // Of a text that is a part of a longer array no other is known to be equal.
        let is_whole = parts.is_some_and(|parts| parts.iter().all(|&(start, count)| start == 0 && count == u32::MAX));
        if parts.is_some() && self.met.insert((self.dump, id)) {
            self.met_kept += 1;
            if let (Some(&(BYTE | CHAR)), true) = (data.get(9 + self.facts.id_bytes), is_whole) {
                self.facts.kept_texts.insert(hash_of_text(data[9 + self.facts.id_bytes], elements));
            }
        }
        self.end_array();
        if self.hash.is_some()
            && elements.is_empty()
            && count_at(data, 5 + self.facts.id_bytes) as u64 > MAX_WHOLE_BYTES / 16
        {
            self.array = self.hash.map(|hash| (id, hash.begin()));
        }
    }

    fn end_array(&mut self) {
        if let Some((id, digest)) = self.array.take() {
            self.facts.digests.entry((self.dump, id)).or_insert(digest.finish());
        }
    }
}

/// Returns true for a text without blanks and control characters.
fn reads_as_name(text: &[u8]) -> bool {
    text.iter().all(|byte| *byte > b' ' && *byte != 0x7F)
}

impl Work for Scan<'_> {
    fn begin_dump(&mut self) {
        self.end_array();
        self.facts.texts.sort();
        self.dump += 1;
        self.plans.clear();
        if self.facts.dumps.len() <= self.dump {
            self.facts.dumps.push(Default::default());
            self.facts.kept.push(Default::default());
        }
    }

    fn record(&mut self, tag: u8, body: &mut [u8]) -> Option<Vec<u8>> {
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
                if let Some(trace) = TraceRecord::parse(body, id_bytes).filter(|trace| trace.is_whole(body, id_bytes)) {
                    self.frames_of_traces.extend(trace.frames);
                }
            }
            _ => {}
        }
        None
    }

    #[inline]
    fn entry(&mut self, data: &mut [u8]) {
        let id_bytes = self.facts.id_bytes;
        match data[0] {
            sub::INSTANCE => self.instance(data),
            sub::PRIMITIVE_ARRAY | sub::PRIMITIVE_ARRAY_NO_DATA => {
                if let Some(id) = id_of(data, 1, id_bytes) {
                    self.array(data, id);
                }
            }
            sub::OBJECT_ARRAY => {
                self.end_array();
                let (Some(id), Some(class)) = (id_of(data, 1, id_bytes), id_of(data, 9 + id_bytes, id_bytes)) else {
                    return;
                };
                if class != self.last_class {
                    self.used_classes.insert(class);
                    self.last_class = class;
                }
                if self.facts.is_class(class) {
                    self.facts.places.add(id);
                } else {
                    self.is_incomplete = true;
                }
            }
            sub::CLASS_DUMP if self.is_first => {
                if let Ok((_, dump)) = ClassDump::parse(&data[1..], id_bytes, 0) {
                    let fields = dump.fields.iter().map(|field| field.name);
                    self.field_names.extend(dump.statics.iter().map(|one| one.name).chain(fields));
                    self.facts.places.add(dump.id);
                    self.facts.dumps[self.dump].entry(dump.id).or_insert(dump);
                }
            }
            sub::HEAP_INFO => self.field_names.extend(id_of(data, 5, id_bytes)),
            _ => {}
        }
    }

    fn elements(&mut self, bytes: &mut [u8]) {
        if let Some((_, digest)) = &mut self.array {
            digest.write(bytes);
        }
    }

    fn unknown(&mut self, _: &mut [u8]) {}
}
