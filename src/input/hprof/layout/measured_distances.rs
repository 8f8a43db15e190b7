//! Sizes measured by addresses: an object is at most as large as the distance to the next one, and exactly so large where
//! they lie side by side. Taken from objects that follow each other in the file, which is mostly the order of the heap, and
//! from the class objects between them, which have their records elsewhere.

use std::ops::Range;

/// (object header, reference) that virtual machines have, in bytes.
pub const HEADER_AND_REFERENCE_CANDIDATES: [(u64, u64); 5] = [(12, 4), (12, 8), (16, 8), (8, 4), (8, 8)];
/// Arrays of a block that are looked at: enough to tell the candidates apart.
const MAX_MEASURED_ARRAYS: u32 = 2048;
/// Slack is what a distance is larger than a size: less than 8, 16, 32, 64, 128 or 256 bytes, or more.
const SLACK_BUCKET_COUNT: usize = 7;

/// The object before, in the same piece.
#[derive(Debug, Clone, Copy, Default)]
pub struct PreviousObject {
    /// 0 for none.
    id: u64,
    kind: PreviousObjectKind,
    /// Type number of an instance, elements of an array.
    type_or_length: u32,
}

/// The kind of the object before.
#[derive(Debug, Clone, Copy, Default)]
enum PreviousObjectKind {
    #[default]
    Instance,
    ObjectArray,
    /// With so many bytes an element.
    PrimitiveArray(u8),
}

impl PreviousObject {
    pub fn instance(id: u64, type_number: u32) -> Self {
        PreviousObject { id, kind: PreviousObjectKind::Instance, type_or_length: type_number }
    }

    /// `width` in bytes for an array of primitives.
    pub fn array(id: u64, elements: u32, width: Option<u8>) -> Self {
        PreviousObject {
            id,
            kind: width.map_or(PreviousObjectKind::ObjectArray, PreviousObjectKind::PrimitiveArray),
            type_or_length: elements,
        }
    }
}

/// The smallest distance from an instance of a type to the next object, and how often it was met.
#[derive(Debug, Clone, Copy, Default)]
pub struct NearestDistance {
    pub distance: u64,
    pub occurrences: u64,
    /// Instances with an object behind them.
    pub neighbours: u64,
}

impl NearestDistance {
    #[inline]
    fn add(&mut self, distance: u64) {
        self.join(&NearestDistance { distance, occurrences: 1, neighbours: 1 });
    }

    pub fn join(&mut self, other: &NearestDistance) {
        if other.neighbours == 0 {
            return;
        }
        if self.neighbours == 0 || other.distance < self.distance {
            (self.distance, self.occurrences) = (other.distance, other.occurrences);
        } else if other.distance == self.distance {
            self.occurrences += other.occurrences;
        }
        self.neighbours += other.neighbours;
    }
}

/// Measured distances.
#[derive(Debug, Clone, Default)]
pub struct MeasuredDistances {
    /// By type number; the joined ones by the builder's slot.
    pub nearest_by_type: Vec<NearestDistance>,
    pub arrays: ArrayFit,
    pub array_overlap_test: ArrayOverlapTest,
    /// The ids' alignment: (the first, all others xor'ed with it and or'ed together).
    pub id_variation: Option<(u64, u64)>,
    /// For classes (by their place among the sorted ids): the next object behind the class object.
    pub object_after_class: Vec<(u32, u64)>,
    /// The first class object (by its place among the sorted ids) that was not passed yet.
    class_cursor: usize,
    /// The id of the object before.
    last_id: u64,
}

/// The fit of each candidate's array sizes to the distances.
#[derive(Debug, Clone, Default)]
pub struct ArrayFit {
    pub measured_arrays: u32,
    /// Sizes larger than the distance.
    exceeding_counts: [u32; HEADER_AND_REFERENCE_CANDIDATES.len()],
    /// Arrays by candidate and by bucket of slack.
    slack_counts: [[u32; SLACK_BUCKET_COUNT]; HEADER_AND_REFERENCE_CANDIDATES.len()],
}

impl ArrayFit {
    #[cold]
    #[inline(never)]
    fn add(&mut self, distance: u64, elements: u64, width: Option<u64>) {
        self.measured_arrays += 1;
        for (at, &candidate) in HEADER_AND_REFERENCE_CANDIDATES.iter().enumerate() {
            let bytes = array_header_bytes(candidate, width) + elements * width.unwrap_or(candidate.1);
            match distance.checked_sub(bytes) {
                None => self.exceeding_counts[at] += 1,
                Some(slack_bytes) => {
                    let class = (0..SLACK_BUCKET_COUNT - 1)
                        .position(|class| slack_bytes < 8 << class)
                        .unwrap_or(SLACK_BUCKET_COUNT - 1);
                    self.slack_counts[at][class] += 1;
                }
            }
        }
    }

    pub fn join(&mut self, other: &ArrayFit) {
        self.measured_arrays += other.measured_arrays;
        for at in 0..HEADER_AND_REFERENCE_CANDIDATES.len() {
            self.exceeding_counts[at] += other.exceeding_counts[at];
            for class in 0..SLACK_BUCKET_COUNT {
                self.slack_counts[at][class] += other.slack_counts[at][class];
            }
        }
    }

    /// Does any size by this candidate exceed its distance?
    pub fn exceeds(&self, candidate: usize) -> bool {
        self.exceeding_counts[candidate] > 0
    }

    /// Arrays whose size by this candidate, aligned so, is their distance.
    pub fn count_equal(&self, candidate: usize, alignment: u64) -> u64 {
        self.count_in_slack_buckets(candidate, 0..slack_buckets_below(alignment))
    }

    /// Arrays whose size is less than their distance, but by less than 64 bytes: a small gap is behind them.
    pub(super) fn count_small_gaps(&self, candidate: usize, alignment: u64) -> u64 {
        self.count_in_slack_buckets(candidate, slack_buckets_below(alignment)..slack_buckets_below(64))
    }

    /// The number of arrays whose slack is in these buckets.
    fn count_in_slack_buckets(&self, candidate: usize, classes: Range<usize>) -> u64 {
        self.slack_counts[candidate].get(classes).unwrap_or_default().iter().map(|&count| u64::from(count)).sum()
    }
}

/// How many buckets have slack of less than so many bytes.
fn slack_buckets_below(bytes: u64) -> usize {
    ((bytes / 8).max(1).ilog2() as usize + 1).min(SLACK_BUCKET_COUNT)
}

/// Bytes of an array before its elements (of `width` bytes, or references).
pub fn array_header_bytes((header, reference): (u64, u64), width: Option<u64>) -> u64 {
    match (header, width.unwrap_or(reference)) {
        (16, _) => 24,
        (_, 8) => (header + 4).next_multiple_of(8),
        _ => header + 4,
    }
}

/// Does any array of objects begin within what the one before it would take if references had 8 bytes? Then they have 4.
#[derive(Debug, Clone, Copy, Default)]
pub struct ArrayOverlapTest {
    first_array_id: Option<u64>,
    /// Start and end of the last.
    last_array_bounds: (u64, u64),
    pub has_overlap: bool,
}

impl ArrayOverlapTest {
    fn add(&mut self, id: u64, elements: u32) {
        self.has_overlap |= self.last_array_bounds.0 < id && id < self.last_array_bounds.1;
        self.first_array_id.get_or_insert(id);
        self.last_array_bounds = (id, id.saturating_add(16 + 8 * u64::from(elements)));
    }

    /// Takes the arrays that come behind.
    fn join(&mut self, next: &ArrayOverlapTest) {
        let Some(first) = next.first_array_id else { return };
        self.has_overlap |= next.has_overlap || (self.last_array_bounds.0 < first && first < self.last_array_bounds.1);
        self.first_array_id.get_or_insert(first);
        self.last_array_bounds = next.last_array_bounds;
    }
}

impl MeasuredDistances {
    pub fn clear(&mut self) {
        self.nearest_by_type.fill(NearestDistance::default());
        let (instances, object_after_class) =
            (std::mem::take(&mut self.nearest_by_type), std::mem::take(&mut self.object_after_class));
        *self = MeasuredDistances { nearest_by_type: instances, object_after_class, ..MeasuredDistances::default() };
        self.object_after_class.clear();
    }

    /// An object follows another (or none) in the file. `class_ids` are sorted.
    #[inline(always)]
    pub fn add_neighbour(&mut self, previous: &PreviousObject, id: u64, class_ids: &[u64]) {
        self.note_id_alignment(id);
        let next = self.pass_classes_before(id, class_ids);
        if id <= previous.id || previous.id == 0 {
            return;
        }
        let distance = next - previous.id;
        match previous.kind {
            PreviousObjectKind::Instance => {
                let number = previous.type_or_length as usize;
                if number >= self.nearest_by_type.len() {
                    self.nearest_by_type.resize(number + 1, NearestDistance::default());
                }
                self.nearest_by_type[number].add(distance);
            }
            _ if self.arrays.measured_arrays >= MAX_MEASURED_ARRAYS => {}
            PreviousObjectKind::ObjectArray => self.arrays.add(distance, previous.type_or_length.into(), None),
            PreviousObjectKind::PrimitiveArray(width) => {
                self.arrays.add(distance, previous.type_or_length.into(), Some(width.into()))
            }
        }
    }

    /// Takes an id for the alignment.
    #[inline(always)]
    pub fn note_id_alignment(&mut self, id: u64) {
        match &mut self.id_variation {
            Some((first, varying)) => *varying |= id ^ *first,
            // The boot loader of some writers.
            None if id == 0 => {}
            None => self.id_variation = Some((id, 0)),
        }
    }

    /// Notes the object if it is the next behind class objects. Returns the first of those that lie between the object
    /// before and this one, or this one.
    #[inline(always)]
    fn pass_classes_before(&mut self, id: u64, class_ids: &[u64]) -> u64 {
        let mut next = id;
        if id < self.last_id || self.last_id == 0 {
            self.class_cursor = class_ids.partition_point(|&class| class < id);
            if self.class_cursor > 0 {
                self.object_after_class.push((self.class_cursor as u32 - 1, id));
            }
        } else if class_ids.get(self.class_cursor).is_some_and(|&class| class < id) {
            // One that has the id of the object before is no neighbour of it.
            self.class_cursor += usize::from(class_ids[self.class_cursor] == self.last_id);
            if let Some(&class) = class_ids.get(self.class_cursor).filter(|&&class| class < id) {
                next = class;
                while class_ids.get(self.class_cursor).is_some_and(|&class| class < id) {
                    self.class_cursor += 1;
                }
                self.object_after_class.push((self.class_cursor as u32 - 1, id));
            }
        }
        self.last_id = id;
        next
    }

    /// An array of objects, for the rule that Eclipse MAT has.
    #[inline]
    pub fn add_to_overlap_test(&mut self, id: u64, elements: u32) {
        self.array_overlap_test.add(id, elements);
    }

    /// Takes what was measured in the next block, whose type numbers stand for `slots`. What is behind classes is left to
    /// the caller, who knows which classes the block knew.
    pub fn join(&mut self, next: &MeasuredDistances, slots: &[u32]) {
        for (nearest, &slot) in next.nearest_by_type.iter().zip(slots) {
            if nearest.neighbours > 0 {
                let slot = slot as usize;
                if slot >= self.nearest_by_type.len() {
                    self.nearest_by_type.resize(slot + 1, NearestDistance::default());
                }
                self.nearest_by_type[slot].join(nearest);
            }
        }
        self.arrays.join(&next.arrays);
        self.array_overlap_test.join(&next.array_overlap_test);
        if let Some((first, varying)) = next.id_variation {
            self.note_id_alignment(first);
            if let Some((_, known)) = &mut self.id_variation {
                *known |= varying;
            }
        }
    }

    /// The alignment of all ids: a power of two from 8 to 256.
    pub fn id_alignment(&self) -> u64 {
        let bits = self.id_variation.map_or(u64::MAX, |(_, varying)| if varying == 0 { 8 } else { varying });
        (1 << bits.trailing_zeros().clamp(3, 8)).max(8)
    }
}
