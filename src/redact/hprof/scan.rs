//! The first walks: what must be known before a value can be taken out.

use super::facts::{Facts, Plans};
use super::walk::{MOST_WHOLE_BYTES, Work, count_at};
use crate::input::hprof::records::{ClassDump, Frame, LoadClass, Static};
use crate::input::hprof::wire::{OBJECT, id_of, record, sub};
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
    /// Kept texts that were met.
    met: usize,
    kept_before: usize,
    array: Option<(u64, PartialDigest)>,
}

impl<'k> Scan<'k> {
    pub(super) fn new(id_bytes: usize, keep: &'k KeptFields, hash: Option<&'k KeyedHash>) -> Self {
        let facts = Facts {
            id_bytes,
            // Dumps are counted from 1.
            dumps: vec![Default::default()],
            places: super::facts::Places::new(id_bytes),
            ..Facts::default()
        };
        Scan {
            facts,
            keep,
            hash,
            plans: Plans::new(),
            is_first: true,
            dump: 0,
            is_incomplete: false,
            met: 0,
            kept_before: 0,
            array: None,
        }
    }

    /// A walk is over. Returns true if another may find more.
    pub(super) fn is_to_repeat(&mut self) -> bool {
        self.end_array();
        if self.is_first {
            self.keep_statics();
        }
        let is_unmet = self.facts.kept.len() > self.met && (self.is_first || self.facts.kept.len() > self.kept_before);
        let is_to_repeat = is_unmet || (self.is_first && self.is_incomplete);
        (self.is_first, self.dump, self.met) = (false, 0, 0);
        self.kept_before = self.facts.kept.len();
        self.plans.clear();
        is_to_repeat
    }

    /// Static variables that are kept.
    fn keep_statics(&mut self) {
        self.facts.texts.sort();
        let mut kept = Vec::new();
        for dump in self.facts.dumps.iter().flat_map(|classes| classes.values()) {
            let name = self.facts.class_name(dump.id);
            let is_kept = |one: &&Static| one.basic_type == OBJECT && self.facts.is_kept(self.keep, &name, one.name);
            kept.extend(dump.statics.iter().filter(is_kept).map(|one| one.value).filter(|&id| id != 0));
        }
        self.facts.kept.extend(kept);
    }

    fn instance(&mut self, data: &[u8]) {
        let id_bytes = self.facts.id_bytes;
        let head = 9 + 2 * id_bytes;
        let (Some(id), Some(class)) = (id_of(data, 1, id_bytes), id_of(data, 5 + id_bytes, id_bytes)) else { return };
        let bytes = count_at(data, 5 + 2 * id_bytes);
        let Some(plan) = self.plans.of(&self.facts, self.dump, class, self.keep, bytes) else {
            self.is_incomplete = true;
            if self.facts.class_names.contains_key(&class) {
                self.facts.places.add(id);
            }
            return;
        };
        self.facts.places.add(id);
        for &at in &plan.holds_kept {
            let held = id_of(data, head + at as usize, id_bytes).unwrap_or(0);
            if held != 0 {
                self.facts.kept.insert(held);
            }
        }
        if let Some(at) = plan.characters
            && self.facts.kept.contains(&id)
        {
            self.met += 1;
            if let Some(array) = id_of(data, head + at as usize, id_bytes).filter(|&array| array != 0) {
                self.facts.kept.insert(array);
            }
        }
    }

    fn array(&mut self, data: &[u8], id: u64) {
        self.facts.places.add(id);
        self.met += usize::from(!self.facts.kept.is_empty() && self.facts.kept.contains(&id));
        self.end_array();
        let elements = data.get(10 + self.facts.id_bytes..).unwrap_or_default();
        if self.hash.is_some()
            && elements.is_empty()
            && count_at(data, 5 + self.facts.id_bytes) as u64 > MOST_WHOLE_BYTES / 16
        {
            self.array = self.hash.map(|hash| (id, hash.begin()));
        }
    }

    fn end_array(&mut self) {
        if let Some((id, digest)) = self.array.take() {
            self.facts.digests.entry(id).or_insert(digest.finish());
        }
    }
}

impl Work for Scan<'_> {
    fn begin_dump(&mut self) {
        self.facts.texts.sort();
        self.dump += 1;
        self.plans.clear();
        if self.facts.dumps.len() <= self.dump {
            self.facts.dumps.push(Default::default());
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
            record::LOAD_CLASS => {
                if let Some(load) = LoadClass::parse(body, id_bytes) {
                    facts.class_names.entry(load.class).or_insert(load.name);
                    facts.names.insert(load.name);
                }
            }
            record::FRAME => {
                if let Some(frame) = Frame::parse(body, id_bytes) {
                    facts.frames.insert(frame.id);
                    facts.names.extend([frame.method, frame.signature, frame.file]);
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
                if self.facts.is_class(class) {
                    self.facts.places.add(id);
                } else {
                    self.is_incomplete = true;
                }
            }
            sub::CLASS_DUMP if self.is_first => {
                if let Ok((_, dump)) = ClassDump::parse(&data[1..], id_bytes, 0) {
                    let fields = dump.fields.iter().map(|field| field.name);
                    self.facts.names.extend(dump.statics.iter().map(|one| one.name).chain(fields));
                    self.facts.places.add(dump.id);
                    self.facts.dumps[self.dump].entry(dump.id).or_insert(dump);
                }
            }
            sub::HEAP_INFO => self.facts.names.extend(id_of(data, 5, id_bytes)),
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
