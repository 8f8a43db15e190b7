//! Facts about a file that must be known before its values can be taken out: classes, which texts are names, where
//! objects lie, which objects hold kept texts.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::input::hprof::layout::texts::{TextRecords, source_form};
use crate::input::hprof::records::{ClassDump, FieldRecord};
use crate::input::hprof::wire::{OBJECT, value_bytes};
use crate::redact::keep::KeptFields;

/// Superclasses above a class that are followed: a damaged file may have circles.
const MAX_SUPERCLASSES: usize = 1000;
/// Of longer values nothing is kept in mind: each instance is laid out for itself.
const MAX_KEPT_STEPS: usize = 1 << 16;

/// Facts about a file. Memory grows with its texts and classes, not with its objects.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) id_bytes: usize,
    pub(super) texts: TextRecords,
    /// Ids of texts that are names of classes, methods, files, fields, heaps.
    pub(super) names: FxHashSet<u64>,
    pub(super) class_names: FxHashMap<u64, u64>,
    /// Classes whose ids have other names later in the file: nothing is kept by their names.
    pub(super) renamed_classes: FxHashSet<u64>,
    pub(super) frames: FxHashSet<u64>,
    /// By dump of the file, from 1: the class dumps, the first of an id.
    pub(super) dumps: Vec<FxHashMap<u64, ClassDump>>,
    pub(super) places: Places,
    /// By dump of the file: strings whose texts are kept, and the arrays of their characters.
    pub(super) kept: Vec<KeptTexts>,
    /// Hashes of the kept texts, where equal values stay equal.
    pub(super) kept_texts: FxHashSet<u64>,
    /// Arrays of a dump that are longer than what is at hand: the hash of their content; `None` of zeros alone.
    pub(super) digests: FxHashMap<(usize, u64), Option<[u64; 2]>>,
}

/// Objects whose texts are kept, by id; of an id that comes again the first counts. Of an array the parts (first element,
/// elements) that strings have of it; none if it is kept whole.
pub(super) type KeptTexts = FxHashMap<u64, Vec<(u32, u32)>>;

/// Zeros all elements of an array but those that are kept.
pub(super) fn keep_parts(elements: &mut [u8], basic_type: u8, parts: &[(u32, u32)]) {
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

impl Facts {
    /// Returns true for the elements of a kept text, in whatever array: it may stay there too.
    pub(super) fn is_kept_text(&self, basic_type: u8, elements: &[u8]) -> bool {
        !self.kept_texts.is_empty() && self.kept_texts.contains(&hash_of_text(basic_type, elements))
    }

    pub(super) fn is_class(&self, id: u64) -> bool {
        self.class_names.contains_key(&id) || self.dumps.iter().any(|classes| classes.contains_key(&id))
    }

    /// The name of a class as source code has it; empty where it is not certain.
    pub(super) fn class_name(&self, class: u64) -> String {
        if self.renamed_classes.contains(&class) {
            return String::new();
        }
        let raw = self.class_names.get(&class).and_then(|&name| self.texts.get(name)).unwrap_or_default();
        source_form(&String::from_utf8_lossy(raw))
    }

    pub(super) fn is_kept(&self, keep: &KeptFields, class: &str, field: u64) -> bool {
        self.texts.get(field).is_some_and(|name| keep.has(class, &String::from_utf8_lossy(name)))
    }

    /// What is done with the values of a class's instances, as far as so many bytes; `None` of an unknown class.
    fn plan(&self, dump: usize, class: u64, keep: &KeptFields, most_bytes: usize, are_apart: bool) -> Option<Plan> {
        let classes = self.dumps.get(dump)?;
        let mut above = classes.get(&class);
        above?;
        let mut plan = Plan { is_whole: true, ..Plan::default() };
        let mut at = 0usize;
        for _ in 0..MAX_SUPERCLASSES {
            let Some(dump) = above else { break };
            let name = self.class_name(dump.id);
            for FieldRecord { name: field, basic_type } in dump.fields.iter().copied() {
                let Some(bytes) = value_bytes(basic_type, self.id_bytes).filter(|_| at < most_bytes) else { break };
                let is_kept = self.is_kept(keep, &name, field);
                if basic_type == OBJECT && is_kept {
                    plan.holds_kept.push(at as u32);
                }
                if name == "java.lang.String" {
                    match (basic_type, self.texts.get(field)) {
                        (OBJECT, Some(b"value")) => plan.characters = Some(at as u32),
                        (INT, Some(b"offset")) => plan.part.0 = Some(at as u32),
                        (INT, Some(b"count")) => plan.part.1 = Some(at as u32),
                        _ => {}
                    }
                }
                let apart = if are_apart { dump.id.rotate_left(32) ^ field } else { 0 };
                let step = match (basic_type, is_kept) {
                    (OBJECT, _) => Step::Reference,
                    (_, true) => Step::Keep,
                    _ => Step::Number(bytes as u32, apart),
                };
                plan.add(at as u32, bytes as u32, step);
                at += bytes;
            }
            above = classes.get(&dump.super_id);
            plan.is_whole &= above.is_some() || dump.super_id == 0;
        }
        plan.bytes = at as u32;
        Some(plan)
    }
}

/// What is done with some bytes of an instance's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Reference,
    Keep,
    /// Numbers, each of so many bytes; of a field, where those of fields are told apart.
    Number(u32, u64),
}

/// The steps for the values of a class's instances.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// (offset, bytes, step): without gaps.
    pub(super) steps: Vec<(u32, u32, Step)>,
    pub(super) bytes: u32,
    /// Offsets of references to texts that are kept.
    pub(super) holds_kept: Vec<u32>,
    /// The offset of a string's array.
    pub(super) characters: Option<u32>,
    /// Offsets of the numbers that say which part of the array it has, in Java 6 and before.
    pub(super) part: (Option<u32>, Option<u32>),
    /// All superclasses are known.
    is_whole: bool,
}

impl Plan {
    fn add(&mut self, at: u32, bytes: u32, step: Step) {
        match self.steps.last_mut() {
            Some((_, length, last)) if *last == step => *length += bytes,
            _ => self.steps.push((at, bytes, step)),
        }
    }
}

/// The plans of classes, as they are asked for.
#[derive(Debug)]
pub(super) struct Plans {
    list: Vec<Plan>,
    by_class: FxHashMap<u64, u32>,
    /// Those asked for last, by some bits of the class.
    recent: Box<[(u64, u32)]>,
    /// Each field is a step of its own.
    are_apart: bool,
}

const RECENT: usize = 1 << 10;
const UNKNOWN: u32 = u32::MAX;

impl Plans {
    pub(super) fn new(are_apart: bool) -> Self {
        let recent = vec![(0, UNKNOWN); RECENT].into();
        Plans { list: Vec::new(), by_class: FxHashMap::default(), recent, are_apart }
    }

    pub(super) fn clear(&mut self) {
        *self = Plans::new(self.are_apart);
    }

    /// The plan for an instance of so many bytes; `None` of an unknown class.
    #[inline]
    pub(super) fn of(
        &mut self,
        facts: &Facts,
        dump: usize,
        class: u64,
        keep: &KeptFields,
        bytes: usize,
    ) -> Option<&Plan> {
        let place = (class >> 3) as usize % RECENT;
        let mut number = match self.recent[place] {
            (recent, number) if recent == class => number,
            _ => UNKNOWN,
        };
        if number == UNKNOWN || self.list[number as usize].bytes != bytes as u32 {
            number = self.find(facts, dump, class, keep, bytes)?;
            self.recent[place] = (class, number);
        }
        Some(&self.list[number as usize])
    }

    #[cold]
    fn find(&mut self, facts: &Facts, dump: usize, class: u64, keep: &KeptFields, bytes: usize) -> Option<u32> {
        if let Some(&number) = self.by_class.get(&class)
            && self.list[number as usize].bytes == bytes as u32
        {
            return Some(number);
        }
        let plan = facts.plan(dump, class, keep, bytes, self.are_apart)?;
        let is_usual = plan.bytes == bytes as u32 && plan.is_whole && plan.steps.len() < MAX_KEPT_STEPS;
        let number = self.list.len() as u32;
        // An instance of another length than its class has: in the place of the one before it.
        match self.by_class.get(&0).copied().filter(|_| !is_usual) {
            Some(spare) => {
                self.list[spare as usize] = plan;
                self.recent.iter_mut().filter(|recent| recent.1 == spare).for_each(|recent| *recent = (0, UNKNOWN));
                Some(spare)
            }
            None => {
                self.list.push(plan);
                self.by_class.insert(if is_usual { class } else { 0 }, number);
                Some(number)
            }
        }
    }
}

/// Where objects lie, in coarse steps: what is no place of an object is no reference, but foreign bytes of a damaged file.
#[derive(Debug, Default)]
pub(super) struct Places {
    shift: u32,
    /// A bit for each step from `first` on.
    bits: Vec<u64>,
    first: u64,
    /// Steps that are far from those.
    far: FxHashSet<u64>,
    /// There are too many to tell.
    is_everywhere: bool,
}

/// Bits that are kept at most: 8 MiB.
const MAX_BITS: u64 = 1 << 26;
const MAX_FAR: usize = 1 << 16;

impl Places {
    pub(super) fn new(id_bytes: usize) -> Self {
        Places { shift: if id_bytes == 8 { 20 } else { 12 }, ..Places::default() }
    }

    #[inline]
    pub(super) fn add(&mut self, id: u64) {
        let step = id >> self.shift;
        let at = step.wrapping_sub(self.first);
        match self.bits.get_mut((at >> 6) as usize) {
            Some(word) => *word |= 1 << (at & 63),
            None => self.add_far(step),
        }
    }

    #[cold]
    fn add_far(&mut self, step: u64) {
        if self.bits.is_empty() {
            self.first = step & !63;
        }
        let first = self.first.min(step & !63);
        let end = (self.first + 64 * self.bits.len() as u64).max(step | 63);
        if end - first > MAX_BITS {
            self.is_everywhere |= self.far.len() > MAX_FAR;
            if !self.is_everywhere {
                self.far.insert(step);
            }
            return;
        }
        let before = ((self.first - first) / 64) as usize;
        self.bits.splice(..0, std::iter::repeat_n(0, before));
        self.first = first;
        self.bits.resize((end - first) as usize / 64 + 1, 0);
        let at = step - first;
        self.bits[(at >> 6) as usize] |= 1 << (at & 63);
    }

    /// May an object have this id? Null may.
    #[inline]
    pub(super) fn has(&self, id: u64) -> bool {
        let step = id >> self.shift;
        let at = step.wrapping_sub(self.first);
        match self.bits.get((at >> 6) as usize) {
            Some(word) if word >> (at & 63) & 1 == 1 => true,
            _ => id == 0 || self.is_everywhere || self.far.contains(&step),
        }
    }

    /// An id that no object has, for references that lead nowhere.
    pub(super) fn nowhere(&self) -> u64 {
        let is_free = |step: &u64| !self.has(step << self.shift);
        (1..u64::from(u16::MAX)).find(is_free).map_or(0, |step| step << self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_know_what_was_added_and_what_is_near() {
        let mut places = Places::new(8);
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
            assert_eq!(places.has(id), is_there, "{id:#x}");
        }
        assert!(!places.has(places.nowhere()));
    }
}
