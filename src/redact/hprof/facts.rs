//! Facts about a file that must be known before its values can be taken out: classes, which texts are names, where
//! objects lie, which objects hold kept texts.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::input::hprof::layout::texts::{TextRecords, hprof_source_form};
use crate::input::hprof::records::{ClassDump, FieldRecord};
use crate::input::hprof::wire::{OBJECT_BASIC_TYPE, id_at_with_width, u32_at, value_bytes};
use crate::redact::kept_fields::KeptFields;

/// Superclasses above a class that are followed: a damaged file may have circles.
const MAX_SUPERCLASSES: usize = 1000;
/// Of longer values nothing is kept in mind: each instance is laid out for itself.
const MAX_CACHED_PLAN_ACTIONS: usize = 1 << 16;
/// Of longer values the bits that stay are not laid out.
const MAX_KEPT_BITS_BYTES: usize = 1 << 12;

/// Facts about a file. Memory grows with its texts and classes, not with its objects.
#[derive(Debug, Default)]
pub(super) struct HprofFacts {
    pub(super) id_bytes: usize,
    pub(super) texts: TextRecords,
    /// Ids of texts that are names of classes, methods, files, fields, heaps.
    pub(super) name_text_ids: FxHashSet<u64>,
    /// By class: the id of the text that is its name.
    pub(super) class_name_ids: FxHashMap<u64, u64>,
    /// Classes whose ids have other names later in the file: nothing is kept by their names.
    pub(super) classes_of_several_names: FxHashSet<u64>,
    /// Frames that stack traces have and whose signatures read as those of methods.
    pub(super) frame_ids: FxHashSet<u64>,
    /// By dump of the file, from 1: the class dumps, the first of an id.
    pub(super) classes_by_dump: Vec<FxHashMap<u64, ClassDump>>,
    pub(super) object_addresses: ObjectAddresses,
    /// By dump of the file: strings whose texts are kept, and the arrays of their characters.
    pub(super) kept_texts_by_dump: Vec<KeptTexts>,
    /// Hashes of the kept texts, where equal values stay equal.
    pub(super) kept_text_hashes: FxHashSet<u64>,
    /// Arrays of a dump that are longer than what is at hand: the hash of their content; `None` of zeros alone.
    pub(super) long_array_digests: FxHashMap<(usize, u64), Option<[u64; 2]>>,
}

/// Objects whose texts are kept, by id; of an id that comes again the first counts. Of an array the parts (first element,
/// elements) that strings have of it; none if it is kept whole.
pub(super) type KeptTexts = FxHashMap<u64, Vec<(u32, u32)>>;

/// Keeps the part that a string has of an array.
pub(super) fn keep_part(kept: &mut KeptTexts, (array, part): (u64, (u32, u32))) {
    let parts = kept.entry(array).or_default();
    if !parts.contains(&part) {
        parts.push(part);
    }
}

/// Zeros all elements of an array of text but those of `parts`, without parts none; of any other array all.
pub(super) fn zero_all_but_parts(elements: &mut [u8], basic_type: u8, parts: &[(u32, u32)]) {
    let width = match basic_type {
        CHAR => 2,
        BYTE => 1,
        // No text.
        _ => return elements.fill(0),
    };
    if parts.is_empty() {
        return;
    }
    let before = elements.to_vec();
    elements.fill(0);
    for &(start, count) in parts {
        let start = (start as usize).saturating_mul(width).min(elements.len());
        let end = start.saturating_add((count as usize).saturating_mul(width)).min(elements.len());
        elements[start..end].copy_from_slice(&before[start..end]);
    }
}

/// Basic types, as HPROF numbers them.
pub(super) const CHAR: u8 = 5;
pub(super) const BYTE: u8 = 8;
const INT: u8 = 10;

/// A hash of an array's elements and their type.
pub(super) fn hash_of_text(basic_type: u8, elements: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u8(basic_type);
    hasher.write(elements);
    hasher.finish()
}

impl HprofFacts {
    /// Returns true for the elements of a kept text, in whatever array: it may stay there too.
    pub(super) fn is_kept_text(&self, basic_type: u8, elements: &[u8]) -> bool {
        !self.kept_text_hashes.is_empty() && self.kept_text_hashes.contains(&hash_of_text(basic_type, elements))
    }

    pub(super) fn is_class(&self, id: u64) -> bool {
        self.class_name_ids.contains_key(&id) || self.classes_by_dump.iter().any(|classes| classes.contains_key(&id))
    }

    /// The name of a class as source code has it; empty where it is not certain.
    pub(super) fn class_name(&self, class: u64) -> String {
        if self.classes_of_several_names.contains(&class) {
            return String::new();
        }
        let raw = self.class_name_ids.get(&class).and_then(|&name| self.texts.get(name)).unwrap_or_default();
        hprof_source_form(&String::from_utf8_lossy(raw))
    }

    pub(super) fn is_kept_field(&self, keep: &KeptFields, class: &str, field: u64) -> bool {
        self.texts.get(field).is_some_and(|name| keep.contains(class, &String::from_utf8_lossy(name)))
    }

    /// What is done with the values of a class's instances, as far as so many bytes; `None` of an unknown class.
    fn instance_plan(
        &self,
        dump: usize,
        class: u64,
        keep: &KeptFields,
        most_bytes: usize,
        are_fields_apart: bool,
    ) -> Option<InstancePlan> {
        let classes = self.classes_by_dump.get(dump)?;
        let mut above = classes.get(&class);
        above?;
        let mut plan = InstancePlan { has_all_superclasses: true, ..InstancePlan::default() };
        let mut at = 0usize;
        for _ in 0..MAX_SUPERCLASSES {
            let Some(dump) = above else { break };
            let name = self.class_name(dump.id);
            for FieldRecord { name_id: field, basic_type } in dump.fields.iter().copied() {
                let Some(bytes) = value_bytes(basic_type, self.id_bytes).filter(|_| at < most_bytes) else { break };
                let is_kept = self.is_kept_field(keep, &name, field);
                if basic_type == OBJECT_BASIC_TYPE && is_kept {
                    plan.kept_reference_offsets.push(at as u32);
                }
                if name == "java.lang.String" {
                    match (basic_type, self.texts.get(field)) {
                        (OBJECT_BASIC_TYPE, Some(b"value")) => plan.character_array_offset = Some(at as u32),
                        (INT, Some(b"offset")) => plan.array_part_offsets.0 = Some(at as u32),
                        (INT, Some(b"count")) => plan.array_part_offsets.1 = Some(at as u32),
                        _ => {}
                    }
                }
                let apart = if are_fields_apart { dump.id.rotate_left(32) ^ field } else { 0 };
                let step = match (basic_type, is_kept) {
                    (OBJECT_BASIC_TYPE, _) => ValueAction::CheckReferences,
                    (_, true) => ValueAction::Keep,
                    _ => ValueAction::ReplaceNumbers(bytes as u32, apart),
                };
                plan.add_action(at as u32, bytes as u32, step);
                at += bytes;
            }
            above = classes.get(&dump.super_id);
            plan.has_all_superclasses &= above.is_some() || dump.super_id == 0;
        }
        plan.planned_bytes = at as u32;
        if at <= MAX_KEPT_BITS_BYTES {
            plan.kept_bits = vec![[0; 8]; at.div_ceil(8)];
            for &(at, bytes, step) in &plan.actions {
                if !matches!(step, ValueAction::ReplaceNumbers(..)) {
                    plan.kept_bits.as_flattened_mut()[at as usize..][..bytes as usize].fill(0xFF);
                }
                if step == ValueAction::CheckReferences {
                    plan.references.push((at, bytes));
                }
            }
        }
        Some(plan)
    }
}

/// What is done with some bytes of an instance's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueAction {
    CheckReferences,
    Keep,
    /// Numbers, each of so many bytes; of a field, where those of fields are told apart.
    ReplaceNumbers(u32, u64),
}

/// The steps for the values of a class's instances.
#[derive(Debug, Default)]
pub(super) struct InstancePlan {
    /// (offset, bytes, step): without gaps.
    pub(super) actions: Vec<(u32, u32, ValueAction)>,
    /// The bits of the values that stay where numbers become zero, references among them: quicker than the actions, one after
    /// the other. Empty where the values are long.
    pub(super) kept_bits: Vec<[u8; 8]>,
    /// (offset, bytes) of neighbouring references.
    pub(super) references: Vec<(u32, u32)>,
    /// Bytes of values that the actions are for.
    pub(super) planned_bytes: u32,
    /// Offsets of references to texts that are kept.
    pub(super) kept_reference_offsets: Vec<u32>,
    /// The offset of a string's array.
    pub(super) character_array_offset: Option<u32>,
    /// Offsets of the numbers that say which part of the array it has, in Java 6 and before.
    pub(super) array_part_offsets: (Option<u32>, Option<u32>),
    /// All superclasses are known.
    has_all_superclasses: bool,
}

impl InstancePlan {
    /// Of the values of a string: the array with its characters, and the part of it that is its own (first element, elements).
    pub(super) fn characters_of_string(&self, values: &[u8], id_bytes: usize) -> Option<(u64, (u32, u32))> {
        let array = id_at_with_width(values, self.character_array_offset? as usize, id_bytes).filter(|&id| id != 0)?;
        let number = |at: Option<u32>| u32_at(values, at? as usize);
        let (start, count) = self.array_part_offsets;
        Some((array, number(start).zip(number(count)).unwrap_or((0, u32::MAX))))
    }

    fn add_action(&mut self, at: u32, bytes: u32, step: ValueAction) {
        match self.actions.last_mut() {
            Some((_, length, last)) if *last == step => *length += bytes,
            _ => self.actions.push((at, bytes, step)),
        }
    }
}

/// The plans of classes, as they are asked for.
#[derive(Debug)]
pub(super) struct InstancePlanCache {
    plans: Vec<InstancePlan>,
    plan_number_by_class: FxHashMap<u64, u32>,
    /// Those asked for last, by some bits of the class.
    recently_used: Box<[(u64, u32)]>,
    /// Each field is a step of its own.
    are_fields_apart: bool,
}

const RECENT_PLAN_SLOTS: usize = 1 << 10;
const NO_PLAN: u32 = u32::MAX;

impl InstancePlanCache {
    pub(super) fn new(are_fields_apart: bool) -> Self {
        let recent = vec![(0, NO_PLAN); RECENT_PLAN_SLOTS].into();
        InstancePlanCache {
            plans: Vec::new(),
            plan_number_by_class: FxHashMap::default(),
            recently_used: recent,
            are_fields_apart,
        }
    }

    pub(super) fn clear(&mut self) {
        *self = InstancePlanCache::new(self.are_fields_apart);
    }

    /// The plan for an instance of so many bytes; `None` of an unknown class.
    #[inline]
    pub(super) fn plan_for(
        &mut self,
        facts: &HprofFacts,
        dump: usize,
        class: u64,
        keep: &KeptFields,
        bytes: usize,
    ) -> Option<&InstancePlan> {
        let place = (class >> 3) as usize % RECENT_PLAN_SLOTS;
        let mut number = match self.recently_used[place] {
            (recent, number) if recent == class => number,
            _ => NO_PLAN,
        };
        if number == NO_PLAN || self.plans[number as usize].planned_bytes != bytes as u32 {
            number = self.find_or_make_plan_number(facts, dump, class, keep, bytes)?;
            self.recently_used[place] = (class, number);
        }
        Some(&self.plans[number as usize])
    }

    #[cold]
    fn find_or_make_plan_number(
        &mut self,
        facts: &HprofFacts,
        dump: usize,
        class: u64,
        keep: &KeptFields,
        bytes: usize,
    ) -> Option<u32> {
        if let Some(&number) = self.plan_number_by_class.get(&class)
            && self.plans[number as usize].planned_bytes == bytes as u32
        {
            return Some(number);
        }
        let plan = facts.instance_plan(dump, class, keep, bytes, self.are_fields_apart)?;
        let is_usual = plan.planned_bytes == bytes as u32
            && plan.has_all_superclasses
            && plan.actions.len() < MAX_CACHED_PLAN_ACTIONS;
        let number = self.plans.len() as u32;
        // An instance of another length than its class has: in the place of the one before it.
        match self.plan_number_by_class.get(&0).copied().filter(|_| !is_usual) {
            Some(spare) => {
                self.plans[spare as usize] = plan;
                self.recently_used
                    .iter_mut()
                    .filter(|recent| recent.1 == spare)
                    .for_each(|recent| *recent = (0, NO_PLAN));
                Some(spare)
            }
            None => {
                self.plans.push(plan);
                self.plan_number_by_class.insert(if is_usual { class } else { 0 }, number);
                Some(number)
            }
        }
    }
}

/// Where objects lie, in coarse steps: what is no place of an object is no reference, but foreign bytes of a damaged file.
#[derive(Debug, Default)]
pub(super) struct ObjectAddresses {
    /// A step is an address without so many of its low bits.
    step_shift: u32,
    /// A bit for each step from `first_near_step` on.
    near_step_bits: Vec<u64>,
    first_near_step: u64,
    /// Steps that are far from those.
    far_steps: FxHashSet<u64>,
    /// There are too many to tell.
    has_too_many_steps: bool,
}

/// Bits that are kept at most: 8 MiB.
const MAX_NEAR_STEP_BITS: u64 = 1 << 26;
const MAX_FAR_STEPS: usize = 1 << 16;

impl ObjectAddresses {
    pub(super) fn new(id_bytes: usize) -> Self {
        ObjectAddresses { step_shift: if id_bytes == 8 { 20 } else { 12 }, ..ObjectAddresses::default() }
    }

    #[inline]
    pub(super) fn add(&mut self, id: u64) {
        let step = id >> self.step_shift;
        let at = step.wrapping_sub(self.first_near_step);
        match self.near_step_bits.get_mut((at >> 6) as usize) {
            // Mostly it is there: what is not written is read sooner.
            Some(word) if *word >> (at & 63) & 1 == 1 => {}
            Some(word) => *word |= 1 << (at & 63),
            None => self.add_outside_near_bits(step),
        }
    }

    #[cold]
    fn add_outside_near_bits(&mut self, step: u64) {
        if self.near_step_bits.is_empty() {
            self.first_near_step = step & !63;
        }
        let first = self.first_near_step.min(step & !63);
        let end = (self.first_near_step + 64 * self.near_step_bits.len() as u64).max(step | 63);
        if end - first > MAX_NEAR_STEP_BITS {
            self.has_too_many_steps |= self.far_steps.len() > MAX_FAR_STEPS;
            if !self.has_too_many_steps {
                self.far_steps.insert(step);
            }
            return;
        }
        let before = ((self.first_near_step - first) / 64) as usize;
        self.near_step_bits.splice(..0, std::iter::repeat_n(0, before));
        self.first_near_step = first;
        self.near_step_bits.resize((end - first) as usize / 64 + 1, 0);
        let at = step - first;
        self.near_step_bits[(at >> 6) as usize] |= 1 << (at & 63);
    }

    /// May an object have this id? Null may.
    #[inline]
    pub(super) fn may_hold_object(&self, id: u64) -> bool {
        id == 0 || self.has_step(id >> self.step_shift)
    }

    #[inline]
    fn has_step(&self, step: u64) -> bool {
        let at = step.wrapping_sub(self.first_near_step);
        match self.near_step_bits.get((at >> 6) as usize) {
            Some(word) if word >> (at & 63) & 1 == 1 => true,
            _ => self.has_too_many_steps || self.far_steps.contains(&step),
        }
    }

    /// Is each step of this also one of `others`?
    pub(super) fn are_among(&self, others: &ObjectAddresses) -> bool {
        let near = self.near_step_bits.iter().enumerate().filter(|(_, word)| **word != 0).flat_map(|(at, word)| {
            let first = self.first_near_step + 64 * at as u64;
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| first + bit)
        });
        others.has_too_many_steps
            || !self.has_too_many_steps && near.chain(self.far_steps.iter().copied()).all(|step| others.has_step(step))
    }

    /// An id that no object has, for references that lead nowhere.
    pub(super) fn unused_id(&self) -> u64 {
        let is_free = |step: &u64| !self.may_hold_object(step << self.step_shift);
        (1..u64::from(u16::MAX)).find(is_free).map_or(0, |step| step << self.step_shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_know_what_was_added_and_what_is_near() {
        let mut places = ObjectAddresses::new(8);
        for id in [0x7_0000_0000, 0x7_8000_0000, 0x6_1234_5678, 0x7F00_0000_0000_0000] {
            places.add(id);
        }
        for (id, is_there) in [
            (0, true),
            (0x7_0000_0008, true),
            (0x6_1234_0000, true),
            (0x7F00_0000_0000_1000, true),
            (0x6_1334_5678, false),
            (0x7061_7373_776F_7264, false),
        ] {
            assert_eq!(places.may_hold_object(id), is_there, "{id:#x}");
        }
        assert!(!places.may_hold_object(places.unused_id()));
    }
}
