//! Sizes of objects: the format does not state them, so they follow from classes and from addresses.
//!
//! True sizes need to know the object header and what a reference takes in the heap; both are measured. Where they cannot
//! be, and with `--rules mat`, sizes are those that Eclipse MAT derives.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use super::classes::Classes;
use super::measure::{CANDIDATES, Measure, NearestDistance, array_base};
use super::texts::{TextRecords, decoded};
use crate::input::hprof::records::{ClassDump, Static};
use crate::input::hprof::wire::{OBJECT, value_bytes};

/// Classes with fewer instances side of_rule side with others say nothing.
const MIN_INSTANCES: u64 = 8;
/// Fewer arrays say nothing.
const MIN_ARRAYS: u32 = 100;
/// A distance is the size of class objects if it occurs so often.
const MIN_TIMES: u64 = 4;
/// All instances of a class may lie before a gap so often.
const MAX_CHANCE: f64 = 0.001;
/// Fields that only the virtual machine sees are not more than this.
const MAX_HIDDEN_BYTES: u64 = 48;

/// By which rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// By header and reference as they were measured.
    Measured,
    /// As Eclipse MAT does.
    Mat,
    /// The sizes in the class dumps, as Android writes them.
    Android,
}

/// The rule of_rule which sizes of this dump are computed.
#[derive(Debug)]
pub struct Sizes {
    pub rule: Rule,
    pub header: u64,
    pub reference: u64,
    pub alignment: u64,
    /// A class object without its statics, where that could be measured.
    pub class_base: Option<u64>,
    /// Classes with fields that only the virtual machine sees.
    hidden: FxHashMap<u64, u64>,
    /// By place among the class dumps, where that is the rule.
    like_mat: Vec<u64>,
}

/// The facts from which sizes follow, once the file has been read.
pub struct SizeEvidence<'a> {
    pub classes: &'a Classes,
    pub texts: &'a TextRecords,
    pub measure: &'a Measure,
    /// For each class, the smallest distance of an instance.
    pub nearest: &'a FxHashMap<u64, NearestDistance>,
    /// For each class, the distance from its class object to the next object.
    pub behind_class: &'a FxHashMap<u64, u64>,
    pub is_android: bool,
    pub like_mat: bool,
}

impl Sizes {
    fn of_rule(rule: Rule, (header, reference): (u64, u64), alignment: u64) -> Self {
        let (hidden, like_mat) = (FxHashMap::default(), Vec::new());
        Sizes { rule, header, reference, alignment, class_base: None, hidden, like_mat }
    }

    pub fn find(evidence: &SizeEvidence<'_>) -> Sizes {
        let id_bytes = evidence.classes.id_bytes as u64;
        let reference = if id_bytes == 8 && evidence.measure.spans.overlap { 4 } else { id_bytes };
        let alignment = evidence.measure.alignment();
        let mut sizes = Sizes::of_rule(Rule::Mat, (id_bytes + reference, reference), alignment);
        if evidence.is_android {
            (sizes.rule, sizes.header, sizes.reference, sizes.alignment) = (Rule::Android, 8, 4, 8);
        } else if !evidence.like_mat
            && let Some((header, reference)) = measured(evidence, alignment)
        {
            (sizes.rule, sizes.header, sizes.reference) = (Rule::Measured, header, reference);
            sizes.find_class_base(evidence);
            sizes.find_hidden(evidence);
        } else {
            sizes.find_like_mat(evidence.classes);
        }
        sizes
    }

    /// One sentence.
    pub fn describe(&self) -> String {
        let Sizes { header, reference, alignment, .. } = self;
        match self.rule {
            Rule::Measured => {
                format!("object header {header}, references {reference}, alignment {alignment}: measured")
            }
            Rule::Mat => format!(
                "object header {header}, references {reference}, alignment {alignment}: as Eclipse MAT derives them, not \
                 measured"
            ),
            Rule::Android => "as the class dumps say (Android)".into(),
        }
    }

    /// Bytes of an instance of a class, which may have no dump. O(1).
    pub fn instance(&self, class: u64, classes: &Classes) -> u64 {
        let bytes = match self.rule {
            Rule::Android => {
                let stated = classes.dump(class).map_or(0, |dump| u64::from(dump.instance_bytes));
                return stated.max(8).next_multiple_of(8);
            }
            Rule::Measured => {
                if let Some(&bytes) = self.hidden.get(&class) {
                    return bytes;
                }
                let layout = classes.layouts.by_class.get(&class);
                let fields = layout.map_or(0, |layout| {
                    let references = u64::from(layout.reference_count);
                    u64::from(layout.bytes).saturating_sub(references * classes.id_bytes as u64)
                        + references * self.reference
                });
                self.header + fields
            }
            Rule::Mat => {
                let number = classes.by_id.get(&class);
                number.and_then(|&number| self.like_mat.get(number as usize)).copied().unwrap_or(self.header)
            }
        };
        bytes.next_multiple_of(self.alignment)
    }

    /// Bytes of an instance of each class as Eclipse MAT adds them up, before they are aligned: the topmost class counts as
    /// a header, whatever fields it has.
    fn find_like_mat(&mut self, classes: &Classes) {
        let mut bytes = vec![self.header; classes.dumps.len()];
        for &number in &classes.order {
            if let Some(parent) = classes.parent(number) {
                let fields = classes.dumps[number as usize].fields.iter();
                let own: u64 = fields.map(|field| self.value_bytes(field.basic_type)).sum();
                bytes[number as usize] = (bytes[parent as usize] + own).next_multiple_of(self.reference);
            }
        }
        self.like_mat = bytes;
    }

    fn value_bytes(&self, basic_type: u8) -> u64 {
        if basic_type == OBJECT { self.reference } else { value_bytes(basic_type, 8).unwrap_or(0) as u64 }
    }

    /// Bytes of an array before its elements, and of one element; `width` for an array of primitives.
    fn array_parts(&self, width: Option<u64>) -> (u64, u64) {
        let element = width.unwrap_or(self.reference);
        let base = match self.rule {
            Rule::Measured => array_base((self.header, self.reference), width),
            Rule::Android if element == 8 => 16,
            Rule::Android => 12,
            Rule::Mat => match width {
                None => self.header + 4,
                Some(_) => (self.header + 4).next_multiple_of(self.reference),
            },
        };
        (base, element)
    }

    /// Bytes of an array.
    #[inline]
    pub fn array(&self, elements: u64, width: Option<u64>) -> u64 {
        let (base, element) = self.array_parts(width);
        (base + elements * element).next_multiple_of(self.alignment)
    }

    /// Bytes of many arrays of one type: how many, their elements together, and how many have so many elements modulo the
    /// number of residues (those without elements may be missing there).
    pub fn arrays(&self, arrays: u64, elements: u64, residues: &[u64], width: Option<u64>) -> u128 {
        let (base, element) = self.array_parts(width);
        let padding = |elements: u64| self.array(elements, width) - (base + elements * element);
        let mut bytes = u128::from(base) * u128::from(arrays) + u128::from(element) * u128::from(elements);
        let mut others = arrays;
        for (residue, &count) in residues.iter().enumerate() {
            bytes += u128::from(padding(residue as u64)) * u128::from(count);
            others -= count;
        }
        bytes + u128::from(padding(0)) * u128::from(others)
    }

    pub fn class_object(&self, dump: &ClassDump, texts: &TextRecords) -> u64 {
        let statics = dump.statics.iter();
        let bytes: u64 = match self.class_base {
            Some(base) => {
                base + statics
                    .filter(|one| !is_pseudo(one, texts))
                    .map(|one| self.value_bytes(one.basic_type))
                    .sum::<u64>()
            }
            None => statics.map(|one| self.value_bytes(one.basic_type)).sum(),
        };
        bytes.next_multiple_of(self.alignment)
    }

    /// Bytes of an instance of `java.lang.Class` that no class dump describes: of `int.class` and the like.
    pub fn class_instance(&self, class: u64, classes: &Classes) -> u64 {
        self.class_base.unwrap_or_else(|| self.instance(class, classes))
    }

    fn find_class_base(&mut self, evidence: &SizeEvidence<'_>) {
        let mut nearest = NearestDistance::default();
        for dump in &evidence.classes.dumps {
            let has_statics = dump.statics.iter().any(|one| !is_pseudo(one, evidence.texts));
            if let Some(&distance) = evidence.behind_class.get(&dump.id).filter(|_| !has_statics) {
                nearest.join(&NearestDistance { distance, times: 1, neighbours: 1 });
            }
        }
        self.class_base = Some(nearest.distance).filter(|_| nearest.times >= MIN_TIMES);
    }

    fn find_hidden(&mut self, evidence: &SizeEvidence<'_>) {
        // Some collectors (ZGC, Shenandoah) write objects in another order than that of the heap: what follows in the file
        // is no neighbour there (a third of the arrays at most, seen with JDK 17 and 25), and distances say only what sizes
        // are not. With the others nearly all are, however large the heap, and the distance is the size, of a single instance
        // too, so that a class has one size in all dumps of a process.
        let arrays = &evidence.measure.arrays;
        let candidate = CANDIDATES.iter().position(|&candidate| candidate == (self.header, self.reference));
        let equal = candidate.map_or(0, |candidate| arrays.equal(candidate, self.alignment));
        if equal * 10 < u64::from(arrays.measured) * 9 {
            return;
        }
        // What is not listed leaves gaps. Those of archived mirrors (behind up to 3 % of the arrays, seen with G1) are larger
        // than hidden fields. Gaps as small as these were not seen with such collectors; where there are any, all instances
        // of a class must not lie before one of_rule chance.
        let small_gaps = candidate.map_or(0, |candidate| arrays.small_gaps(candidate, self.alignment));
        let gap_share = small_gaps as f64 / f64::from(arrays.measured.max(1));
        let is_chance = |instances: u64| gap_share.powf(instances as f64) > MAX_CHANCE;
        let mut hidden = FxHashMap::default();
        for (&class, nearest) in evidence.nearest.iter().filter(|(_, nearest)| !is_chance(nearest.neighbours)) {
            // Only the virtual machine's own classes have such.
            let is_own = evidence.classes.dump(class).is_some_and(|dump| dump.loader == 0);
            let bytes = self.instance(class, evidence.classes);
            if is_own && nearest.distance > bytes && nearest.distance - bytes <= MAX_HIDDEN_BYTES {
                hidden.insert(class, nearest.distance);
            }
        }
        self.hidden = hidden;
    }
}

/// Statics that virtual machines make up for a dump: `<resolved_references>` and others in angle brackets.
pub fn is_pseudo(one: &Static, texts: &TextRecords) -> bool {
    texts.get(one.name).is_some_and(|name| name.starts_with(b"<"))
}

/// The header and the bytes of a reference with which no size exceeds the distance to the next object and most equal it.
fn measured(evidence: &SizeEvidence<'_>, alignment: u64) -> Option<(u64, u64)> {
    let arrays = &evidence.measure.arrays;
    if arrays.measured < MIN_ARRAYS {
        return None;
    }
    let mut best: Option<(u64, (u64, u64))> = None;
    for (number, &(header, reference)) in CANDIDATES.iter().enumerate() {
        if reference > evidence.classes.id_bytes as u64 || arrays.exceeds(number) {
            continue;
        }
        let sizes = Sizes::of_rule(Rule::Measured, (header, reference), alignment);
        let mut equal = arrays.equal(number, alignment);
        let mut fits = true;
        for (&class, nearest) in evidence.nearest.iter().filter(|(_, nearest)| nearest.neighbours >= MIN_INSTANCES) {
            let bytes = sizes.instance(class, evidence.classes);
            fits &= bytes <= nearest.distance;
            equal += u64::from(bytes == nearest.distance);
        }
        if fits && best.is_none_or(|(most, _)| equal > most) {
            best = Some((equal, (header, reference)));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// A text of the dump, and whether some of it is no text.
pub fn text_of(texts: &TextRecords, id: u64, is_bad: &Cell<bool>) -> Option<String> {
    texts.get(id).map(|bytes| decoded(bytes, is_bad))
}
