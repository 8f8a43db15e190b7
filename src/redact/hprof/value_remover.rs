//! The last walk: everything that is a value is taken out, and what is no reference, name or number of the structure
//! does not pass.

use rustc_hash::FxHashSet;

use super::fact_scan::tells_facts;
use super::facts::{HprofFacts, InstancePlanCache, KeptTexts, ObjectAddresses, ValueAction, zero_all_but_parts};
use super::walk::{RecordVisitor, count_at};
use crate::input::hprof::records::{FrameRecord, LoadClass, TraceRecord};
use crate::input::hprof::wire::{
    OBJECT_BASIC_TYPE, element_bytes, id_at_with_width, record_tags, sub_record_tags, value_bytes,
};
use crate::redact::kept_fields::KeptFields;
use crate::redact::keyed_hash::KeyedHash;
use crate::redact::names::NameMap;

/// What a walk that takes values out knows of the objects of a file.
pub(super) trait KnownObjects {
    /// An id that no object has.
    fn unused_id(&self) -> u64;
    /// May an object have the id of a reference or a root? Null may.
    fn may_hold_object(&mut self, id: u64) -> bool;
    /// The same of the id that the object or array says it has of which so many bytes are at an offset of the file.
    #[inline]
    fn may_be_object(&mut self, id: u64, _offset: u64, _bytes: usize) -> bool {
        self.may_hold_object(id)
    }
    /// A class, or a text that is a name, is not known.
    fn note_unknown(&mut self) {}
    /// Another dump of the file begins.
    fn begin_dump(&mut self) {}
    /// A record or an entry that tells of names and classes.
    fn note_fact(&mut self) {}
    /// The heap of Android that the next objects are in.
    fn note_heap(&mut self) {}
    /// Nothing more is wanted.
    #[inline]
    fn is_done(&self) -> bool {
        false
    }
    /// An object holds texts that are kept.
    fn note_kept_texts(&mut self, _holder: u64, _texts: impl Iterator<Item = u64>) {}
}

impl KnownObjects for &ObjectAddresses {
    fn unused_id(&self) -> u64 {
        ObjectAddresses::unused_id(self)
    }

    #[inline]
    fn may_hold_object(&mut self, id: u64) -> bool {
        ObjectAddresses::may_hold_object(self, id)
    }
}

/// Takes values out.
pub(super) struct ValueRemover<'f, A> {
    facts: &'f HprofFacts,
    pub(super) objects: A,
    kept_fields: &'f KeptFields,
    hash: Option<&'f KeyedHash>,
    names: &'f NameMap,
    plans: InstancePlanCache,
    dump_number: usize,
    /// Texts of this dump that are kept and have not come yet.
    kept_texts: KeptTexts,
    /// Texts that have come: of an id that comes again the first counts.
    seen_text_ids: FxHashSet<u64>,
    /// An id that no object has, in place of ids that may not stay.
    unused_id: u64,
    /// The class of the last array of objects, which is known.
    last_array_class: u64,
    /// What the elements that follow are.
    element_action: ElementAction,
}

#[derive(Debug, Clone, Copy)]
enum ElementAction {
    CheckObjectIds,
    FillWithZeros,
    /// A hash, stretched, from this offset on.
    FillFromDigest([u64; 2], u64),
}

impl<'f, A: KnownObjects> ValueRemover<'f, A> {
    pub(super) fn new(
        facts: &'f HprofFacts,
        objects: A,
        keep: &'f KeptFields,
        hash: Option<&'f KeyedHash>,
        names: &'f NameMap,
    ) -> Self {
        let unused_id = objects.unused_id();
        ValueRemover {
            facts,
            objects,
            kept_fields: keep,
            hash,
            names,
            plans: InstancePlanCache::new(hash.is_some()),
            dump_number: 0,
            kept_texts: KeptTexts::default(),
            seen_text_ids: FxHashSet::default(),
            unused_id,
            last_array_class: 0,
            element_action: ElementAction::FillWithZeros,
        }
    }

    /// Lets the id of a root at the start of `bytes` stay if it may be one of an object. False if it may not.
    fn keep_or_replace_id(&mut self, bytes: &mut [u8]) -> bool {
        let id = id_at_with_width(bytes, 0, self.facts.id_bytes);
        let is_fine = id.is_some_and(|id| self.objects.may_hold_object(id));
        if !is_fine {
            self.write_id(bytes, self.unused_id);
        }
        is_fine
    }

    /// The same of an object at an offset and its stack trace, behind the tag. Returns the id.
    #[inline(always)]
    fn keep_or_replace_own_id(&mut self, id_bytes: usize, offset: u64, data: &mut [u8]) -> u64 {
        let id = id_at_with_width(data, 1, id_bytes);
        if !id.is_some_and(|id| self.objects.may_be_object(id, offset, data.len())) {
            self.write_id(&mut data[1..], self.unused_id);
            data[1 + id_bytes..5 + id_bytes].fill(0);
        }
        id.unwrap_or(0)
    }

    fn write_id(&self, bytes: &mut [u8], id: u64) {
        let count = self.facts.id_bytes.min(bytes.len());
        let id = id.to_be_bytes();
        bytes[..count].copy_from_slice(&id[8 - self.facts.id_bytes..][..count]);
    }

    #[inline]
    fn keep_or_replace_ids(&mut self, bytes: &mut [u8]) {
        keep_or_replace_object_ids(&mut self.objects, (self.facts.id_bytes, self.unused_id), bytes);
    }

    /// The id of a class stays, and one that may be that of an object; any other becomes one that no object has.
    fn keep_or_replace_class_id(&mut self, bytes: &mut [u8]) {
        match id_at_with_width(bytes, 0, self.facts.id_bytes) {
            Some(id) if id == self.last_array_class => {}
            Some(id) if self.facts.is_class(id) => self.last_array_class = id,
            _ => {
                self.objects.note_unknown();
                self.keep_or_replace_id(bytes);
            }
        }
    }

    fn keep_or_null_name_id(&mut self, bytes: &mut [u8]) {
        if !id_at_with_width(bytes, 0, self.facts.id_bytes).is_some_and(|id| self.is_name_id(id)) {
            self.objects.note_unknown();
            self.write_id(bytes, 0);
        }
    }

    fn is_name_id(&self, id: u64) -> bool {
        id == 0 || self.facts.name_text_ids.contains(&id)
    }

    #[inline(always)]
    fn redact_instance(&mut self, id_bytes: usize, offset: u64, data: &mut [u8]) {
        let id = self.keep_or_replace_own_id(id_bytes, offset, data);
        let (head, values) = data.split_at_mut((9 + 2 * id_bytes).min(data.len()));
        self.element_action = ElementAction::FillWithZeros;
        let class = id_at_with_width(head, 5 + id_bytes, id_bytes).unwrap_or(0);
        let said = count_at(head, 5 + 2 * id_bytes);
        let Some(plan) = self.plans.plan_for(self.facts, self.dump_number, class, self.kept_fields, said) else {
            self.objects.note_unknown();
            self.keep_or_replace_class_id(&mut head[5 + id_bytes..]);
            values.fill(0);
            return;
        };
        if !plan.kept_reference_offsets.is_empty() {
            let places = plan.kept_reference_offsets.iter();
            let texts = places.filter_map(|&at| id_at_with_width(values, at as usize, id_bytes));
            self.objects.note_kept_texts(id, texts);
        }
        if self.hash.is_none() && values.len() == plan.planned_bytes as usize && !plan.kept_bits.is_empty() {
            let (words, rest) = values.as_chunks_mut::<8>();
            let (kept, last) = plan.kept_bits.split_at(words.len());
            for (word, kept) in words.iter_mut().zip(kept) {
                *word = (u64::from_ne_bytes(*word) & u64::from_ne_bytes(*kept)).to_ne_bytes();
            }
            for (byte, kept) in rest.iter_mut().zip(last.as_flattened()) {
                *byte &= kept;
            }
            for &(at, bytes) in &plan.references {
                let ids = &mut values[at as usize..][..bytes as usize];
                keep_or_replace_object_ids(&mut self.objects, (id_bytes, self.unused_id), ids);
            }
            return;
        }
        let mut end = 0;
        for &(at, bytes, step) in &plan.actions {
            let from = (at as usize).min(values.len());
            end = (from + bytes as usize).min(values.len());
            let part = &mut values[from..end];
            match step {
                ValueAction::Keep => {}
                ValueAction::ReplaceNumbers(_, field) => match self.hash {
                    Some(hash) => hash.replace_number(part, field),
                    None => part.fill(0),
                },
                ValueAction::CheckReferences => {
                    keep_or_replace_object_ids(&mut self.objects, (id_bytes, self.unused_id), part)
                }
            }
        }
        values[end..].fill(0);
    }

    #[inline(always)]
    fn redact_primitive_array(&mut self, id_bytes: usize, offset: u64, data: &mut [u8]) {
        let id = self.keep_or_replace_own_id(id_bytes, offset, data);
        let (head, elements) = data.split_at_mut((10 + id_bytes).min(data.len()));
        let said = (count_at(head, 5 + id_bytes) as u64) * element_bytes(head[9 + id_bytes]).unwrap_or(0) as u64;
        let basic_type = head[9 + id_bytes];
        // A text that is longer than what is at hand is no name.
        let kept = if self.kept_texts.is_empty() { None } else { self.kept_texts.remove(&id) };
        if let Some(parts) = kept.filter(|_| elements.len() as u64 == said) {
            zero_all_but_parts(elements, basic_type, &parts);
        } else if let (Some(hash), true) = (self.hash, elements.len() as u64 == said) {
            if !self.facts.is_kept_text(basic_type, elements) {
                hash.replace_content(elements);
            }
        } else {
            elements.fill(0);
            let digest = self.facts.long_array_digests.get(&(self.dump_number, id)).copied().flatten();
            self.element_action =
                digest.map_or(ElementAction::FillWithZeros, |digest| ElementAction::FillFromDigest(digest, 0));
        }
    }

    /// An entry at an offset. Inlined, for each width of ids once.
    #[inline(always)]
    fn redact_entry(&mut self, id_bytes: usize, offset: u64, data: &mut [u8]) {
        match data[0] {
            sub_record_tags::INSTANCE => self.redact_instance(id_bytes, offset, data),
            sub_record_tags::PRIMITIVE_ARRAY | sub_record_tags::PRIMITIVE_ARRAY_NO_DATA => {
                self.redact_primitive_array(id_bytes, offset, data)
            }
            sub_record_tags::OBJECT_ARRAY => {
                self.keep_or_replace_own_id(id_bytes, offset, data);
                let (head, elements) = data.split_at_mut((9 + 2 * id_bytes).min(data.len()));
                self.keep_or_replace_class_id(&mut head[9 + id_bytes..]);
                keep_or_replace_object_ids(&mut self.objects, (id_bytes, self.unused_id), elements);
                self.element_action = ElementAction::CheckObjectIds;
            }
            sub_record_tags::CLASS_DUMP => {
                self.objects.note_fact();
                if self.redact_class_dump(data).is_none() {
                    data[1..].fill(0);
                }
            }
            sub_record_tags::HEAP_INFO => {
                self.objects.note_heap();
                self.keep_or_null_name_id(&mut data[5..])
            }
            // A root: without an object there are no thread and no frame.
            tag => {
                if !self.keep_or_replace_id(&mut data[1..]) || tag == sub_record_tags::ROOT_JNI_GLOBAL {
                    data[1 + id_bytes..].fill(0);
                }
            }
        }
    }

    /// `id, u4 trace, 6 * id, u4 size, u2 n * (u2, u1 type, value), u2 n * (id name, u1 type, value), u2 n * (id name, u1 type)`
    fn redact_class_dump(&mut self, data: &mut [u8]) -> Option<()> {
        let id_bytes = self.facts.id_bytes;
        let class = id_at_with_width(data, 1, id_bytes)?;
        let name = self.facts.class_name(class);
        self.keep_or_replace_id(&mut data[1..]);
        self.keep_or_replace_ids(data.get_mut(5 + id_bytes..5 + 7 * id_bytes)?);
        let mut at = 9 + 7 * id_bytes;
        let count = |data: &[u8], at: usize| Some(usize::from(u16::from_be_bytes(*data.get(at..)?.first_chunk()?)));
        let constants = count(data, at)?;
        at += 2;
        for _ in 0..constants {
            at = self.redact_typed_value(data, at + 2, false, class)?;
        }
        let statics = count(data, at)?;
        at += 2;
        for _ in 0..statics {
            let field = id_at_with_width(data, at, id_bytes)?;
            self.keep_or_null_name_id(data.get_mut(at..)?);
            let is_kept = self.facts.is_kept_field(self.kept_fields, &name, field);
            at = self.redact_typed_value(data, at + id_bytes, is_kept, class.rotate_left(32) ^ field)?;
        }
        let fields = count(data, at)?;
        at += 2;
        for _ in 0..fields {
            self.keep_or_null_name_id(data.get_mut(at..)?);
            at += id_bytes + 1;
        }
        Some(())
    }

    /// A type and a value of it at an offset, of a field. Returns where it ends.
    fn redact_typed_value(&mut self, data: &mut [u8], at: usize, is_kept: bool, field: u64) -> Option<usize> {
        let basic_type = *data.get(at)?;
        let bytes = value_bytes(basic_type, self.facts.id_bytes)?;
        let value = data.get_mut(at + 1..at + 1 + bytes)?;
        match basic_type {
            OBJECT_BASIC_TYPE => self.keep_or_replace_ids(value),
            _ if is_kept => {}
            _ => match self.hash {
                Some(hash) => hash.replace_number(value, field),
                None => value.fill(0),
            },
        }
        Some(at + 1 + bytes)
    }
}

/// Puts `unused_id` in the place of ids that may not be those of objects.
#[inline]
fn keep_or_replace_object_ids(objects: &mut impl KnownObjects, (id_bytes, unused_id): (usize, u64), bytes: &mut [u8]) {
    let rest = if id_bytes == 8 {
        let (ids, rest) = bytes.as_chunks_mut::<8>();
        for id in ids.iter_mut().filter(|id| !objects.may_hold_object(u64::from_be_bytes(**id))) {
            *id = unused_id.to_be_bytes();
        }
        rest
    } else {
        let (ids, rest) = bytes.as_chunks_mut::<4>();
        for id in ids.iter_mut().filter(|id| !objects.may_hold_object(u32::from_be_bytes(**id).into())) {
            *id = (unused_id as u32).to_be_bytes();
        }
        rest
    };
    rest.fill(0);
}

impl<A: KnownObjects> RecordVisitor for ValueRemover<'_, A> {
    fn begin_dump(&mut self) {
        self.dump_number += 1;
        self.objects.begin_dump();
        self.plans.clear();
        self.kept_texts = self.facts.kept_texts_by_dump.get(self.dump_number).cloned().unwrap_or_default();
    }

    /// Times stay; of a record that is not in the file they may be anything.
    fn record_head(&mut self, head: &mut [u8], fits: bool) {
        match head[0] {
            record_tags::HEAP_DUMP_END if !fits => head.fill(0),
            tag if !record_tags::is_known(tag) || !fits => head[1..5].fill(0),
            _ => {}
        }
    }

    fn non_heap_record(&mut self, tag: u8, body: &mut [u8]) -> Option<Vec<u8>> {
        let id_bytes = self.facts.id_bytes;
        if tells_facts(tag) {
            self.objects.note_fact();
        }
        let used = match tag {
            record_tags::TEXT => match id_at_with_width(body, 0, id_bytes) {
                Some(id) if self.facts.name_text_ids.contains(&id) && self.seen_text_ids.insert(id) => {
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
            record_tags::LOAD_CLASS => match LoadClass::parse(body, id_bytes) {
                Some(load)
                    if self.facts.class_name_ids.contains_key(&load.class_id) && self.is_name_id(load.name_id) =>
                {
                    8 + 2 * id_bytes
                }
                _ => 0,
            },
            record_tags::FRAME => match FrameRecord::parse(body, id_bytes) {
                Some(frame)
                    if self.facts.frame_ids.contains(&frame.id)
                        && [frame.method_name_id, frame.signature_id, frame.file_name_id]
                            .iter()
                            .all(|&name| self.is_name_id(name)) =>
                {
                    8 + 4 * id_bytes
                }
                _ => 0,
            },
            record_tags::TRACE => {
                match TraceRecord::parse(body, id_bytes).filter(|trace| trace.fills_body(body, id_bytes)) {
                    Some(trace) => {
                        for (frame, id) in trace.frame_ids.iter().zip(body[12..].chunks_mut(id_bytes)) {
                            if !self.facts.frame_ids.contains(frame) {
                                id.fill(0);
                            }
                        }
                        body.len()
                    }
                    None => 0,
                }
            }
            _ => 0,
        };
        body[used..].fill(0);
        None
    }

    #[inline]
    fn heap_entry(&mut self, offset: u64, data: &mut [u8]) {
        match self.facts.id_bytes {
            8 => self.redact_entry(8, offset, data),
            _ => self.redact_entry(4, offset, data),
        }
    }

    fn array_elements(&mut self, bytes: &mut [u8]) {
        match &mut self.element_action {
            ElementAction::CheckObjectIds => self.keep_or_replace_ids(bytes),
            ElementAction::FillWithZeros => bytes.fill(0),
            ElementAction::FillFromDigest(digest, at) => {
                KeyedHash::fill_from_digest(*digest, *at, bytes);
                *at += bytes.len() as u64;
            }
        }
    }

    fn unparsed_bytes(&mut self, bytes: &mut [u8]) {
        bytes.fill(0);
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.objects.is_done()
    }
}
