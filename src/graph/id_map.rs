//! From original ids to dense ranks and back: a bitmap over the id space with a rank per 64-bit word.
//!
//! A node's number is the rank of its id, so ids need no array of their own: `select` gives them back, and a
//! reference to an id that is not there shows for free. Three forms, chosen by what they cost: one flat bitmap; pages
//! of 32,768 units behind a hash directory where the id space is wide and clustered; a sorted array where ids are
//! truly scattered. docs/performance.md has the figures.

use rustc_hash::FxHashMap;

/// Units in one page of the paged form.
const PAGE_BITS: u32 = 15;
const PAGE_WORDS: usize = 1 << (PAGE_BITS - 6);
/// A flat bitmap is taken up to this many bytes per id (1.5 bits of bitmap and rank for each unit of the range).
const FLAT_BYTES_PER_ID: u64 = 4;
/// A paged one up to this; a sorted array costs 8.
const PAGED_BYTES_PER_ID: usize = 10;

/// The ids of one section, each with its rank.
#[derive(Debug)]
pub(super) struct IdMap {
    base: u64,
    shift: u32,
    form: Form,
    count: usize,
}

#[derive(Debug)]
enum Form {
    Flat(Bitmap),
    /// Boxed, for a dump of very many sections has very many maps.
    Paged(Box<Paged>),
    Sorted(Vec<u64>),
}

/// Pages in ascending order; the directory finds one by number.
#[derive(Debug)]
struct Paged {
    bitmap: Bitmap,
    numbers: Vec<u64>,
    directory: FxHashMap<u64, u32>,
}

#[derive(Debug, Default)]
struct Bitmap {
    words: Vec<u64>,
    /// Ids before each word.
    ranks: Vec<u32>,
}

impl Bitmap {
    fn new(words: usize) -> Self {
        Bitmap { words: vec![0; words], ranks: Vec::new() }
    }

    #[inline]
    fn set(&mut self, unit: usize) {
        self.words[unit >> 6] |= 1 << (unit & 63);
    }

    fn finish(&mut self) -> usize {
        let mut rank = 0u32;
        self.ranks = self
            .words
            .iter()
            .map(|word| {
                let before = rank;
                rank += word.count_ones();
                before
            })
            .collect();
        rank as usize
    }

    #[inline]
    fn rank(&self, unit: usize) -> Option<u32> {
        let word = *self.words.get(unit >> 6)?;
        let bit = 1u64 << (unit & 63);
        if word & bit == 0 {
            return None;
        }
        Some(self.ranks[unit >> 6] + (word & (bit - 1)).count_ones())
    }

    /// The unit of the id with this rank, which must exist.
    fn select(&self, rank: u32) -> usize {
        let at = self.ranks.partition_point(|&before| before <= rank) - 1;
        let mut word = self.words[at];
        for _ in 0..rank - self.ranks[at] {
            word &= word - 1;
        }
        (at << 6) + word.trailing_zeros() as usize
    }

    fn bytes(&self) -> usize {
        self.words.len() * 8 + self.ranks.len() * 4
    }
}

/// What must be known of a set of ids before its map is built.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdRange {
    pub(super) min: u64,
    pub(super) max: u64,
    /// All ids xor'ed with the first, or'ed together: its trailing zeros are the alignment.
    pub(super) varying: u64,
    pub(super) first: u64,
}

impl IdRange {
    pub(super) fn of(first: u64) -> Self {
        IdRange { min: first, max: first, varying: 0, first }
    }

    pub(super) fn add(&mut self, id: u64) {
        self.min = self.min.min(id);
        self.max = self.max.max(id);
        self.varying |= id ^ self.first;
    }

    pub(super) fn join(&mut self, other: &IdRange) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.varying |= other.varying | (other.first ^ self.first);
    }
}

impl IdMap {
    /// No ids at all.
    pub(super) fn empty() -> Self {
        IdMap { base: 0, shift: 0, form: Form::Sorted(Vec::new()), count: 0 }
    }

    /// The map of `ids()`, which is asked for up to two times and may give repeats. O(ids + range / 64).
    pub(super) fn build<I: Iterator<Item = u64>>(range: IdRange, len: usize, ids: impl Fn() -> I) -> Self {
        let base = range.min;
        let shift = if range.varying == 0 { 0 } else { range.varying.trailing_zeros() };
        let top = (range.max - base) >> shift;
        let flat_words = top / 64 + 1;
        if flat_words.saturating_mul(12) <= 64 + FLAT_BYTES_PER_ID * len as u64 {
            let mut bitmap = Bitmap::new(flat_words as usize);
            for id in ids() {
                bitmap.set(((id - base) >> shift) as usize);
            }
            let count = bitmap.finish();
            return IdMap { base, shift, form: Form::Flat(bitmap), count };
        }
        if let Some(map) = Self::build_paged(base, shift, len, &ids) {
            return map;
        }
        let mut sorted = Vec::with_capacity(len);
        sorted.extend(ids());
        sorted.sort_unstable();
        sorted.dedup();
        let count = sorted.len();
        IdMap { base, shift, form: Form::Sorted(sorted), count }
    }

    fn build_paged<I: Iterator<Item = u64>>(base: u64, shift: u32, len: usize, ids: &impl Fn() -> I) -> Option<Self> {
        let page_limit = len * PAGED_BYTES_PER_ID / (PAGE_WORDS * 12);
        let mut directory: FxHashMap<u64, u32> = FxHashMap::default();
        let mut last = u64::MAX;
        for id in ids() {
            let page = (id - base) >> shift >> PAGE_BITS;
            if page != last {
                last = page;
                directory.insert(page, 0);
                if directory.len() > page_limit {
                    return None;
                }
            }
        }
        let mut numbers: Vec<u64> = directory.keys().copied().collect();
        numbers.sort_unstable();
        for (slot, number) in numbers.iter().enumerate() {
            directory.insert(*number, slot as u32);
        }
        let mut bitmap = Bitmap::new(numbers.len() * PAGE_WORDS);
        let (mut last, mut slot) = (u64::MAX, 0usize);
        for id in ids() {
            let unit = (id - base) >> shift;
            if unit >> PAGE_BITS != last {
                last = unit >> PAGE_BITS;
                slot = directory[&last] as usize;
            }
            bitmap.set((slot << PAGE_BITS) + (unit & ((1 << PAGE_BITS) - 1)) as usize);
        }
        let count = bitmap.finish();
        Some(IdMap { base, shift, form: Form::Paged(Box::new(Paged { bitmap, numbers, directory })), count })
    }

    /// Distinct ids.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// How many ids are smaller, if `id` is in the map. O(1), or a binary search in the sorted form.
    #[inline]
    pub(super) fn rank(&self, id: u64) -> Option<u32> {
        let distance = id.wrapping_sub(self.base);
        if id < self.base || distance & ((1u64 << self.shift) - 1) != 0 {
            return None;
        }
        let unit = distance >> self.shift;
        match &self.form {
            Form::Flat(bitmap) => bitmap.rank(usize::try_from(unit).ok()?),
            Form::Paged(paged) => {
                let slot = *paged.directory.get(&(unit >> PAGE_BITS))? as usize;
                paged.bitmap.rank((slot << PAGE_BITS) + (unit & ((1 << PAGE_BITS) - 1)) as usize)
            }
            Form::Sorted(sorted) => sorted.binary_search(&id).ok().map(|rank| rank as u32),
        }
    }

    /// The id with this rank, which must be below `len`. O(log ids).
    pub(super) fn select(&self, rank: u32) -> u64 {
        match &self.form {
            Form::Flat(bitmap) => self.base + ((bitmap.select(rank) as u64) << self.shift),
            Form::Paged(paged) => {
                let unit = paged.bitmap.select(rank);
                let page = paged.numbers[unit >> PAGE_BITS];
                let unit = (page << PAGE_BITS) + (unit & ((1 << PAGE_BITS) - 1)) as u64;
                self.base + (unit << self.shift)
            }
            Form::Sorted(sorted) => sorted[rank as usize],
        }
    }

    /// How many ids are smaller than `id`, which need not be in the map. O(log² ids).
    pub(super) fn smaller_than(&self, id: u64) -> u32 {
        let (mut low, mut high) = (0, self.count as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.select(middle) < id { low = middle + 1 } else { high = middle }
        }
        low
    }

    pub(super) fn bytes(&self) -> usize {
        match &self.form {
            Form::Flat(bitmap) => bitmap.bytes(),
            Form::Paged(paged) => paged.bitmap.bytes() + paged.numbers.len() * 8 + paged.directory.capacity() * 17,
            Form::Sorted(sorted) => sorted.len() * 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn build(ids: &[u64]) -> IdMap {
        let mut range = IdRange::of(ids[0]);
        ids.iter().for_each(|&id| range.add(id));
        IdMap::build(range, ids.len(), || ids.iter().copied())
    }

    fn check(ids: &[u64]) {
        let map = build(ids);
        let set: BTreeSet<u64> = ids.iter().copied().collect();
        assert_eq!(map.len(), set.len());
        for (rank, &id) in set.iter().enumerate() {
            assert_eq!(map.rank(id), Some(rank as u32));
            assert_eq!(map.select(rank as u32), id);
            for near in [id.wrapping_sub(1), id.wrapping_add(1), id.wrapping_add(8), id ^ (1 << 63)] {
                assert_eq!(map.rank(near).is_some(), set.contains(&near));
            }
        }
    }

    #[test]
    fn each_form_is_taken_and_right() {
        let dense: Vec<u64> = (0..50_000).map(|i| 0x7000 + i * 24).collect();
        assert!(matches!(build(&dense).form, Form::Flat(_)));
        check(&dense);
        let clustered: Vec<u64> = (0..50_000).map(|i| (i % 5) * (1 << 45) + i * 16).collect();
        assert!(matches!(build(&clustered).form, Form::Paged(_)));
        check(&clustered);
        let scattered: Vec<u64> = (1..5_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        assert!(matches!(build(&scattered).form, Form::Sorted(_)));
        check(&scattered);
    }

    proptest! {
        #[test]
        fn ranks_are_positions_in_the_sorted_set(ids in proptest::collection::vec(any::<u64>(), 1..50)) {
            check(&ids);
        }

        #[test]
        fn ranks_of_near_ids(ids in proptest::collection::vec(0u64..3000, 1..400), shift in 0u32..4) {
            let ids: Vec<u64> = ids.iter().map(|id| 0x1000 + (id << shift)).collect();
            check(&ids);
        }
    }
}
