//! The last walk: everything that is a value is taken out, and what is no reference, name or number of the structure
//! does not pass.

use rustc_hash::FxHashSet;

use super::facts::{Facts, KeptTexts, Plans, Step, keep_parts};
use super::walk::{Work, count_at};
use crate::input::hprof::records::{FrameRecord, LoadClass, TraceRecord};
use crate::input::hprof::wire::{OBJECT, element_bytes, id_of, record, sub, value_bytes};
use crate::redact::keep::KeptFields;
use crate::redact::keyed::KeyedHash;
use crate::redact::names::NameMap;

/// Takes values out.
pub(super) struct Rewrite<'f> {
    facts: &'f Facts,
    keep: &'f KeptFields,
    hash: Option<&'f KeyedHash>,
    names: &'f NameMap,
    plans: Plans,
    dump: usize,
    /// Texts of this dump that are kept and have not come yet.
    kept: KeptTexts,
    /// Texts that have come: of an id that comes again the first counts.
    texts: FxHashSet<u64>,
    nowhere: u64,
    /// What the elements that follow are.
    array: OpenArray,
}

#[derive(Debug, Clone, Copy)]
enum OpenArray {
    References,
    Zeros,
    /// A hash, stretched, from this offset on.
    Stretched([u64; 2], u64),
}

impl<'f> Rewrite<'f> {
    pub(super) fn new(facts: &'f Facts, keep: &'f KeptFields, hash: Option<&'f KeyedHash>, names: &'f NameMap) -> Self {
        let nowhere = facts.places.nowhere();
        Rewrite {
            facts,
            keep,
            hash,
            names,
            plans: Plans::new(hash.is_some()),
            dump: 0,
            kept: KeptTexts::default(),
            texts: FxHashSet::default(),
            nowhere,
            array: OpenArray::Zeros,
        }
    }

    /// Lets the id at the start of `bytes` stay if it may be one of an object. False if it may not.
    #[inline]
    fn check(&self, bytes: &mut [u8]) -> bool {
        let id_bytes = self.facts.id_bytes;
        let is_fine = id_of(bytes, 0, id_bytes).is_some_and(|id| self.facts.places.has(id));
        if !is_fine {
            self.set(bytes, self.nowhere);
        }
        is_fine
    }

    fn set(&self, bytes: &mut [u8], id: u64) {
        let count = self.facts.id_bytes.min(bytes.len());
        let id = id.to_be_bytes();
        bytes[..count].copy_from_slice(&id[8 - self.facts.id_bytes..][..count]);
    }

    #[inline]
    fn check_all(&self, bytes: &mut [u8]) {
        let (places, nowhere) = (&self.facts.places, self.nowhere);
        let rest = if self.facts.id_bytes == 8 {
            let (ids, rest) = bytes.as_chunks_mut::<8>();
            for id in ids.iter_mut().filter(|id| !places.has(u64::from_be_bytes(**id))) {
                *id = nowhere.to_be_bytes();
            }
            rest
        } else {
            let (ids, rest) = bytes.as_chunks_mut::<4>();
            for id in ids.iter_mut().filter(|id| !places.has(u32::from_be_bytes(**id).into())) {
                *id = (nowhere as u32).to_be_bytes();
            }
            rest
        };
        rest.fill(0);
    }

    /// A class; one that is none becomes null.
    fn check_class(&self, bytes: &mut [u8]) {
        let is_class = |id| id == 0 || self.facts.is_class(id);
        if !id_of(bytes, 0, self.facts.id_bytes).is_some_and(is_class) {
            self.check(bytes);
        }
    }

    fn check_name(&self, bytes: &mut [u8]) {
        if !id_of(bytes, 0, self.facts.id_bytes).is_some_and(|id| self.is_name(id)) {
            self.set(bytes, 0);
        }
    }

    fn is_name(&self, id: u64) -> bool {
        id == 0 || self.facts.names.contains(&id)
    }

    #[inline]
    fn instance(&mut self, data: &mut [u8]) {
        let id_bytes = self.facts.id_bytes;
        let (head, values) = data.split_at_mut((9 + 2 * id_bytes).min(data.len()));
        self.array = OpenArray::Zeros;
        let is_fine = self.check(&mut head[1..]);
        if !is_fine {
            head[1 + id_bytes..5 + id_bytes].fill(0);
        }
        let class = id_of(head, 5 + id_bytes, id_bytes).unwrap_or(0);
        let said = count_at(head, 5 + 2 * id_bytes);
        let Some(plan) = self.plans.of(self.facts, self.dump, class, self.keep, said) else {
            self.check_class(&mut head[5 + id_bytes..]);
            values.fill(0);
            return;
        };
        let mut end = 0;
        let (facts, hash, nowhere) = (self.facts, self.hash, self.nowhere);
        for &(at, bytes, step) in &plan.steps {
            let from = (at as usize).min(values.len());
            end = (from + bytes as usize).min(values.len());
            let part = &mut values[from..end];
            match step {
                Step::Keep => {}
                Step::Number(_, field) => match hash {
                    Some(hash) => hash.number(part, field),
                    None => part.fill(0),
                },
                Step::Reference => check_ids(facts, nowhere, part),
            }
        }
        values[end..].fill(0);
    }

    fn primitive_array(&mut self, data: &mut [u8]) {
        let id_bytes = self.facts.id_bytes;
        let (head, elements) = data.split_at_mut((10 + id_bytes).min(data.len()));
        let id = id_of(head, 1, id_bytes).unwrap_or(0);
        if !self.check(&mut head[1..]) {
            head[1 + id_bytes..5 + id_bytes].fill(0);
        }
        let said = (count_at(head, 5 + id_bytes) as u64) * element_bytes(head[9 + id_bytes]).unwrap_or(0) as u64;
        let basic_type = head[9 + id_bytes];
        // A text that is longer than what is at hand is no name.
        let kept = if self.kept.is_empty() { None } else { self.kept.remove(&id) };
        if let Some(parts) = kept.filter(|_| elements.len() as u64 == said) {
            keep_parts(elements, basic_type, &parts);
        } else if let (Some(hash), true) = (self.hash, elements.len() as u64 == said) {
            if !self.facts.is_kept_text(basic_type, elements) {
                hash.content(elements);
            }
        } else {
            elements.fill(0);
            let digest = self.facts.digests.get(&(self.dump, id)).copied().flatten();
            self.array = digest.map_or(OpenArray::Zeros, |digest| OpenArray::Stretched(digest, 0));
        }
    }

    /// `id, u4 trace, 6 * id, u4 size, u2 n * (u2, u1 type, value), u2 n * (id name, u1 type, value), u2 n * (id name, u1 type)`
    fn class_dump(&mut self, data: &mut [u8]) -> Option<()> {
        let id_bytes = self.facts.id_bytes;
        let class = id_of(data, 1, id_bytes)?;
        let name = self.facts.class_name(class);
        self.check(&mut data[1..]);
        self.check_all(data.get_mut(5 + id_bytes..5 + 7 * id_bytes)?);
        let mut at = 9 + 7 * id_bytes;
        let count = |data: &[u8], at: usize| Some(usize::from(u16::from_be_bytes(*data.get(at..)?.first_chunk()?)));
        let constants = count(data, at)?;
        at += 2;
        for _ in 0..constants {
            at = self.value(data, at + 2, false, class)?;
        }
        let statics = count(data, at)?;
        at += 2;
        for _ in 0..statics {
            let field = id_of(data, at, id_bytes)?;
            self.check_name(data.get_mut(at..)?);
            let is_kept = self.facts.is_kept(self.keep, &name, field);
            at = self.value(data, at + id_bytes, is_kept, class.rotate_left(32) ^ field)?;
        }
        let fields = count(data, at)?;
        at += 2;
        for _ in 0..fields {
            self.check_name(data.get_mut(at..)?);
            at += id_bytes + 1;
        }
        Some(())
    }

    /// A type and a value of it at an offset, of a field. Returns where it ends.
    fn value(&self, data: &mut [u8], at: usize, is_kept: bool, field: u64) -> Option<usize> {
        let basic_type = *data.get(at)?;
        let bytes = value_bytes(basic_type, self.facts.id_bytes)?;
        let value = data.get_mut(at + 1..at + 1 + bytes)?;
        match basic_type {
            OBJECT => self.check_all(value),
            _ if is_kept => {}
            _ => match self.hash {
                Some(hash) => hash.number(value, field),
                None => value.fill(0),
            },
        }
        Some(at + 1 + bytes)
    }
}

fn check_ids(facts: &Facts, nowhere: u64, bytes: &mut [u8]) {
    let id_bytes = facts.id_bytes;
    for id in bytes.chunks_mut(id_bytes) {
        match id_of(id, 0, id_bytes) {
            Some(known) if facts.places.has(known) => {}
            Some(_) => id.copy_from_slice(&nowhere.to_be_bytes()[8 - id_bytes..]),
            None => id.fill(0),
        }
    }
}

impl Work for Rewrite<'_> {
    fn begin_dump(&mut self) {
        self.dump += 1;
        self.plans.clear();
        self.kept = self.facts.kept.get(self.dump).cloned().unwrap_or_default();
    }

    /// Times stay; of a record that is not in the file they may be anything.
    fn head(&mut self, head: &mut [u8], fits: bool) {
        match head[0] {
            record::HEAP_DUMP_END if !fits => head.fill(0),
            tag if !record::is_known(tag) || !fits => head[1..5].fill(0),
            _ => {}
        }
    }

    fn record(&mut self, tag: u8, body: &mut [u8]) -> Option<Vec<u8>> {
        let id_bytes = self.facts.id_bytes;
        let used = match tag {
            record::TEXT => match id_of(body, 0, id_bytes) {
                Some(id) if self.facts.names.contains(&id) && self.texts.insert(id) => {
                    let renamed = self.names.rename(&body[id_bytes..])?;
                    return Some([&body[..id_bytes], &renamed].concat());
                }
                Some(_) => {
                    // An id that nothing refers to: that of no text is 0.
                    body[..id_bytes].fill(0xFF);
                    id_bytes
                }
                None => 0,
            },
            record::LOAD_CLASS => match LoadClass::parse(body, id_bytes) {
                Some(load) if self.facts.class_names.contains_key(&load.class) && self.is_name(load.name) => {
                    8 + 2 * id_bytes
                }
                _ => 0,
            },
            record::FRAME => match FrameRecord::parse(body, id_bytes) {
                Some(frame)
                    if self.facts.frames.contains(&frame.id)
                        && [frame.method, frame.signature, frame.file].iter().all(|&name| self.is_name(name)) =>
                {
                    8 + 4 * id_bytes
                }
                _ => 0,
            },
            record::TRACE => match TraceRecord::parse(body, id_bytes).filter(|trace| trace.is_whole(body, id_bytes)) {
                Some(trace) => {
                    for (frame, id) in trace.frames.iter().zip(body[12..].chunks_mut(id_bytes)) {
                        if !self.facts.frames.contains(frame) {
                            id.fill(0);
                        }
                    }
                    body.len()
                }
                None => 0,
            },
            _ => 0,
        };
        body[used..].fill(0);
        None
    }

    #[inline]
    fn entry(&mut self, data: &mut [u8]) {
        let id_bytes = self.facts.id_bytes;
        match data[0] {
            sub::INSTANCE => self.instance(data),
            sub::PRIMITIVE_ARRAY | sub::PRIMITIVE_ARRAY_NO_DATA => self.primitive_array(data),
            sub::OBJECT_ARRAY => {
                let (head, elements) = data.split_at_mut((9 + 2 * id_bytes).min(data.len()));
                if !self.check(&mut head[1..]) {
                    head[1 + id_bytes..5 + id_bytes].fill(0);
                }
                self.check_class(&mut head[9 + id_bytes..]);
                self.check_all(elements);
                self.array = OpenArray::References;
            }
            sub::CLASS_DUMP => {
                if self.class_dump(data).is_none() {
                    data[1..].fill(0);
                }
            }
            sub::HEAP_INFO => self.check_name(&mut data[5..]),
            // A root: without an object there are no thread and no frame.
            tag => {
                if !self.check(&mut data[1..]) || tag == sub::ROOT_JNI_GLOBAL {
                    data[1 + id_bytes..].fill(0);
                }
            }
        }
    }

    fn elements(&mut self, bytes: &mut [u8]) {
        match &mut self.array {
            OpenArray::References => self.check_all(bytes),
            OpenArray::Zeros => bytes.fill(0),
            OpenArray::Stretched(digest, at) => {
                KeyedHash::stretch(*digest, *at, bytes);
                *at += bytes.len() as u64;
            }
        }
    }

    fn unknown(&mut self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}
