//! Sizes of objects: the format does not state them, so they follow from classes and from addresses.
//!
//! True sizes need to know the object header and what a reference takes in the heap; both are measured. Where they cannot
//! be, and with `--rules mat`, sizes are those that Eclipse MAT derives.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use super::classes::Classes;
use super::measured_distances::{
    HEADER_AND_REFERENCE_CANDIDATES, MeasuredDistances, NearestDistance, array_header_bytes,
};
use super::texts::{TextRecords, decoded_modified_utf8};
use crate::input::hprof::records::{ClassDump, StaticValue};
use crate::input::hprof::wire::{OBJECT_BASIC_TYPE, value_bytes};

/// Classes with fewer instances side by side with others say nothing.
const MIN_TELLING_INSTANCES: u64 = 8;
/// Fewer arrays say nothing.
const MIN_TELLING_ARRAYS: u32 = 100;
/// A distance is the size of class objects if it occurs so often.
const MIN_CLASS_BASE_OCCURRENCES: u64 = 4;
/// A distance is not the size if all instances of a class lie before a gap with more than this probability.
const MAX_GAP_PROBABILITY: f64 = 0.001;
/// Fields that only the virtual machine sees are not more than this.
const MAX_HIDDEN_BYTES: u64 = 48;

/// The rules by which sizes are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeRule {
    /// By header and reference as they were measured.
    Measured,
    /// As Eclipse MAT does.
    Mat,
    /// The sizes in the class dumps, as Android writes them.
    Android,
}

/// The rule by which sizes of this dump are computed.
#[derive(Debug)]
pub struct SizeModel {
    pub rule: SizeRule,
    pub header_bytes: u64,
    pub reference_bytes: u64,
    pub alignment_bytes: u64,
    /// A class object without its statics, where that could be measured.
    pub class_base_bytes: Option<u64>,
    /// Of classes with fields that only the virtual machine sees: bytes of a whole instance.
    bytes_with_hidden_fields: FxHashMap<u64, u64>,
    /// By place among the class dumps, where sizes are those of Eclipse MAT: bytes of an instance, not aligned.
    unaligned_mat_instance_bytes: Vec<u64>,
}

/// The facts from which sizes follow, once the file has been read.
pub struct SizeEvidence<'a> {
    pub classes: &'a Classes,
    pub texts: &'a TextRecords,
    pub distances: &'a MeasuredDistances,
    /// For each class, the smallest distance of an instance.
    pub nearest_distances: &'a FxHashMap<u64, NearestDistance>,
    /// For each class, the distance from its class object to the next object.
    pub distances_behind_class: &'a FxHashMap<u64, u64>,
    pub is_android: bool,
    pub uses_mat_rule: bool,
}

impl SizeModel {
    fn of_rule(rule: SizeRule, (header, reference): (u64, u64), alignment: u64) -> Self {
        let (hidden, mat_instance_bytes) = (FxHashMap::default(), Vec::new());
        SizeModel {
            rule,
            header_bytes: header,
            reference_bytes: reference,
            alignment_bytes: alignment,
            class_base_bytes: None,
            bytes_with_hidden_fields: hidden,
            unaligned_mat_instance_bytes: mat_instance_bytes,
        }
    }

    /// The rule for a dump, with what it takes to compute sizes.
    pub fn find(evidence: &SizeEvidence<'_>) -> SizeModel {
        let id_bytes = evidence.classes.id_bytes as u64;
        let reference = if id_bytes == 8 && evidence.distances.array_overlap_test.has_overlap { 4 } else { id_bytes };
        let alignment = evidence.distances.id_alignment();
        let mut sizes = SizeModel::of_rule(SizeRule::Mat, (id_bytes + reference, reference), alignment);
        if evidence.is_android {
            (sizes.rule, sizes.header_bytes, sizes.reference_bytes, sizes.alignment_bytes) =
                (SizeRule::Android, 8, 4, 8);
        } else if !evidence.uses_mat_rule
            && let Some((header, reference)) = measured_header_and_reference(evidence, alignment)
        {
            (sizes.rule, sizes.header_bytes, sizes.reference_bytes) = (SizeRule::Measured, header, reference);
            sizes.find_class_base(evidence);
            sizes.find_bytes_with_hidden_fields(evidence);
        } else {
            sizes.find_mat_instance_bytes(evidence.classes);
        }
        sizes
    }

    /// One sentence.
    pub fn describe(&self) -> String {
        let SizeModel { header_bytes: header, reference_bytes: reference, alignment_bytes: alignment, .. } = self;
        match self.rule {
            SizeRule::Measured => {
                format!("object header {header}, references {reference}, alignment {alignment}: measured")
            }
            SizeRule::Mat => format!(
                "object header {header}, references {reference}, alignment {alignment}: as Eclipse MAT derives them, not \
                 measured"
            ),
            SizeRule::Android => "as the class dumps say (Android)".into(),
        }
    }

    /// Bytes of an instance of a class, which may have no dump. O(1).
    pub fn instance_bytes(&self, class: u64, classes: &Classes) -> u64 {
        let bytes = match self.rule {
            SizeRule::Android => {
                let stated = classes.class_dump(class).map_or(0, |dump| u64::from(dump.stated_instance_bytes));
                return stated.max(8).next_multiple_of(8);
            }
            SizeRule::Measured => {
                if let Some(&bytes) = self.bytes_with_hidden_fields.get(&class) {
                    return bytes;
                }
                let layout = classes.layouts.by_class.get(&class);
                let fields = layout.map_or(0, |layout| {
                    let references = u64::from(layout.reference_count);
                    u64::from(layout.value_bytes).saturating_sub(references * classes.id_bytes as u64)
                        + references * self.reference_bytes
                });
                self.header_bytes + fields
            }
            SizeRule::Mat => {
                let number = classes.by_id.get(&class);
                number
                    .and_then(|&number| self.unaligned_mat_instance_bytes.get(number as usize))
                    .copied()
                    .unwrap_or(self.header_bytes)
            }
        };
        bytes.next_multiple_of(self.alignment_bytes)
    }

    /// Bytes of an instance of each class as Eclipse MAT adds them up, before they are aligned: the topmost class counts as
    /// a header, whatever fields it has.
    fn find_mat_instance_bytes(&mut self, classes: &Classes) {
        let mut bytes = vec![self.header_bytes; classes.class_dumps.len()];
        for &number in &classes.superclass_first_order {
            if let Some(parent) = classes.superclass_number(number) {
                let fields = classes.class_dumps[number as usize].fields.iter();
                let own: u64 = fields.map(|field| self.value_bytes(field.basic_type)).sum();
                bytes[number as usize] = (bytes[parent as usize] + own).next_multiple_of(self.reference_bytes);
            }
        }
        self.unaligned_mat_instance_bytes = bytes;
    }

    fn value_bytes(&self, basic_type: u8) -> u64 {
        if basic_type == OBJECT_BASIC_TYPE {
            self.reference_bytes
        } else {
            value_bytes(basic_type, 8).unwrap_or(0) as u64
        }
    }

    /// Bytes of an array before its elements, and of one element; `width` for an array of primitives.
    fn array_base_and_element_bytes(&self, width: Option<u64>) -> (u64, u64) {
        let element = width.unwrap_or(self.reference_bytes);
        let base = match self.rule {
            SizeRule::Measured => array_header_bytes((self.header_bytes, self.reference_bytes), width),
            SizeRule::Android if element == 8 => 16,
            SizeRule::Android => 12,
            SizeRule::Mat => match width {
                None => self.header_bytes + 4,
                Some(_) => (self.header_bytes + 4).next_multiple_of(self.reference_bytes),
            },
        };
        (base, element)
    }

    /// Bytes of an array.
    #[inline]
    pub fn array_bytes(&self, elements: u64, width: Option<u64>) -> u64 {
        let (base, element) = self.array_base_and_element_bytes(width);
        (base + elements * element).next_multiple_of(self.alignment_bytes)
    }

    /// Bytes of many arrays of one type: how many, their elements together, and how many have so many elements modulo the
    /// number of residues (those without elements may be missing there).
    pub fn bytes_of_arrays(&self, arrays: u64, elements: u64, residues: &[u64], width: Option<u64>) -> u128 {
        let (base, element) = self.array_base_and_element_bytes(width);
        let padding = |elements: u64| self.array_bytes(elements, width) - (base + elements * element);
        let mut bytes = u128::from(base) * u128::from(arrays) + u128::from(element) * u128::from(elements);
        let mut others = arrays;
        for (residue, &count) in residues.iter().enumerate() {
            bytes += u128::from(padding(residue as u64)) * u128::from(count);
            others -= count;
        }
        bytes + u128::from(padding(0)) * u128::from(others)
    }

    /// Bytes of the class object that a class dump describes.
    pub fn class_object_bytes(&self, dump: &ClassDump, texts: &TextRecords) -> u64 {
        let statics = dump.statics.iter();
        let bytes: u64 = match self.class_base_bytes {
            Some(base) => {
                base + statics
                    .filter(|one| !is_made_up_static(one, texts))
                    .map(|one| self.value_bytes(one.basic_type))
                    .sum::<u64>()
            }
            None => statics.map(|one| self.value_bytes(one.basic_type)).sum(),
        };
        bytes.next_multiple_of(self.alignment_bytes)
    }

    /// Bytes of an instance of `java.lang.Class` that no class dump describes: of `int.class` and the like.
    pub fn undumped_class_object_bytes(&self, class: u64, classes: &Classes) -> u64 {
        self.class_base_bytes.unwrap_or_else(|| self.instance_bytes(class, classes))
    }

    /// Measures class objects without statics.
    fn find_class_base(&mut self, evidence: &SizeEvidence<'_>) {
        let mut nearest = NearestDistance::default();
        for dump in &evidence.classes.class_dumps {
            let has_statics = dump.statics.iter().any(|one| !is_made_up_static(one, evidence.texts));
            if let Some(&distance) = evidence.distances_behind_class.get(&dump.id).filter(|_| !has_statics) {
                nearest.join(&NearestDistance { distance, occurrences: 1, neighbours: 1 });
            }
        }
        self.class_base_bytes = Some(nearest.distance).filter(|_| nearest.occurrences >= MIN_CLASS_BASE_OCCURRENCES);
    }

    /// Finds the classes whose instances are larger than their fields, and how large these are.
    fn find_bytes_with_hidden_fields(&mut self, evidence: &SizeEvidence<'_>) {
        // Some collectors (ZGC, Shenandoah) write objects in another order than that of the heap: what follows in the file
        // is no neighbour there (a third of the arrays at most, seen with JDK 17 and 25), and distances say only what sizes
        // are not. With the others nearly all are, however large the heap, and the distance is the size, of a single instance
        // too, so that a class has one size in all dumps of a process.
        let arrays = &evidence.distances.arrays;
        let candidate = HEADER_AND_REFERENCE_CANDIDATES
            .iter()
            .position(|&candidate| candidate == (self.header_bytes, self.reference_bytes));
        let equal = candidate.map_or(0, |candidate| arrays.count_equal(candidate, self.alignment_bytes));
        if equal * 10 < u64::from(arrays.measured_arrays) * 9 {
            return;
        }
        // What is not listed leaves gaps. Those of archived mirrors (behind up to 3 % of the arrays, seen with G1) are larger
        // than hidden fields. Gaps as small as these were not seen with such collectors; where there are any, all instances
        // of a class must not lie before one by chance.
        let small_gaps = candidate.map_or(0, |candidate| arrays.count_small_gaps(candidate, self.alignment_bytes));
        let gap_share = small_gaps as f64 / f64::from(arrays.measured_arrays.max(1));
        let is_chance = |instances: u64| gap_share.powf(instances as f64) > MAX_GAP_PROBABILITY;
        let mut hidden = FxHashMap::default();
        for (&class, nearest) in evidence.nearest_distances.iter().filter(|(_, nearest)| !is_chance(nearest.neighbours))
        {
            // Only the virtual machine's own classes have such.
            let is_own = evidence.classes.class_dump(class).is_some_and(|dump| dump.loader_id == 0);
            let bytes = self.instance_bytes(class, evidence.classes);
            if is_own && nearest.distance > bytes && nearest.distance - bytes <= MAX_HIDDEN_BYTES {
                hidden.insert(class, nearest.distance);
            }
        }
        self.bytes_with_hidden_fields = hidden;
    }
}

/// Statics that virtual machines make up for a dump: `<resolved_references>` and others in angle brackets.
pub fn is_made_up_static(one: &StaticValue, texts: &TextRecords) -> bool {
    texts.get(one.name_id).is_some_and(|name| name.starts_with(b"<"))
}

/// The header and the bytes of a reference with which no size exceeds the distance to the next object and most equal it.
fn measured_header_and_reference(evidence: &SizeEvidence<'_>, alignment: u64) -> Option<(u64, u64)> {
    let arrays = &evidence.distances.arrays;
    if arrays.measured_arrays < MIN_TELLING_ARRAYS {
        return None;
    }
    let mut best: Option<(u64, (u64, u64))> = None;
    for (number, &(header, reference)) in HEADER_AND_REFERENCE_CANDIDATES.iter().enumerate() {
        if reference > evidence.classes.id_bytes as u64 || arrays.exceeds(number) {
            continue;
        }
        let sizes = SizeModel::of_rule(SizeRule::Measured, (header, reference), alignment);
        let mut equal = arrays.count_equal(number, alignment);
        let mut fits = true;
        for (&class, nearest) in
            evidence.nearest_distances.iter().filter(|(_, nearest)| nearest.neighbours >= MIN_TELLING_INSTANCES)
        {
            let bytes = sizes.instance_bytes(class, evidence.classes);
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
pub fn decoded_text(texts: &TextRecords, id: u64, is_bad: &Cell<bool>) -> Option<String> {
    texts.get(id).map(|bytes| decoded_modified_utf8(bytes, is_bad))
}
