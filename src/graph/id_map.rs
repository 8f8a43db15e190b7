//! From original ids to dense ranks and back: a bitmap over the id space with a rank per 64-bit word.
//!
//! A node's number is the rank of its id, so ids need no array of their own: `select` gives them back, and a
//! reference to an id that is not there shows for free. Three forms, chosen by what they cost: one flat bitmap; pages
//! of 32,768 units behind a hash directory where the id space is wide and clustered; a sorted array where ids are
//! truly scattered. docs/performance.md has the figures.

use std::io;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::column::{Column, ColumnSink, ColumnSource};
use super::prefetch::prefetch;

/// A page of the paged form has 2 to the power of this many units.
const PAGE_BITS: u32 = 15;
const WORDS_PER_PAGE: usize = 1 << (PAGE_BITS - 6);
/// A flat bitmap is taken up to this many bytes per id (1.5 bits of bitmap and rank for each unit of the range).
const MAX_FLAT_BYTES_PER_ID: u64 = 4;
/// A paged one up to this; a sorted array costs 8.
const MAX_PAGED_BYTES_PER_ID: usize = 10;

/// The ids of one section, each with its rank.
#[derive(Debug)]
/// The smallest id.
pub(super) struct IdRankMap {
    /// Low bits in which no two ids differ: a unit stands for `1 << shift` ids.
    base: u64,
    shift: u32,
    form: MapForm,
    id_count: usize,
}

#[derive(Debug)]
enum MapForm {
    FlatBitmap(Bitmap),
    /// Boxed, for a dump of very many sections has very many maps.
    PagedBitmap(Box<PagedBitmap>),
    SortedIds(Column<u64>),
}

/// Pages in ascending order; the directory finds one by number.
#[derive(Debug)]
struct PagedBitmap {
    bitmap: Bitmap,
    /// Numbers of the pages, ascending.
    page_numbers: Column<u64>,
    /// By number of a page: its place among them.
    directory: FxHashMap<u64, u32>,
}

/// A bit for each unit, and how many ids there are before each run of words.
#[derive(Debug, Default)]
struct Bitmap {
    words: Column<u64>,
    /// Ids before each run of words.
    ranks: Column<u32>,
    /// A run is so many bits of a word's number: single words in memory, where a rank is asked for every reference.
    run_bits: u32,
}

/// Ids that are looked up together.
const LOOKUP_BATCH: usize = 64;
/// No page, and no place of one.
const NO_PAGE: (u64, u32) = (u64::MAX, 0);

/// Runs of 8 words in an index: a tenth of the map's size for a rank of 10 ns.
const STORED_RUN_BITS: u32 = 3;

/// A bitmap to be filled.
struct BitmapWords(Vec<u64>);

impl BitmapWords {
    fn new(words: usize) -> Self {
        BitmapWords(vec![0; words])
    }

    #[inline]
    fn set(&mut self, unit: usize) {
        self.0[unit >> 6] |= 1 << (unit & 63);
    }

    /// The bitmap without its ranks, and how many ids it has.
    fn finish(self) -> (Bitmap, usize) {
        let count = self.0.iter().map(|word| word.count_ones() as usize).sum();
        (Bitmap { words: self.0.into(), ranks: Column::default(), run_bits: 0 }, count)
    }
}

impl Bitmap {
    fn compute_ranks(&mut self) {
        let mut rank = 0u32;
        let ranks = self.words.all_values().iter().map(|word| {
            let before = rank;
            rank += word.count_ones();
            before
        });
        self.ranks = ranks.collect::<Vec<_>>().into();
    }

    #[inline(always)]
    fn rank(&self, unit: usize) -> Option<u32> {
        // The common case on its own: every reference of a dump comes here.
        if let (Some(words), Some(ranks), 0) =
            (self.words.values_in_memory(), self.ranks.values_in_memory(), self.run_bits)
        {
            let word = *words.get(unit >> 6)?;
            let bit = 1u64 << (unit & 63);
            return (word & bit != 0).then(|| ranks[unit >> 6] + (word & (bit - 1)).count_ones());
        }
        self.mapped_rank(unit)
    }

    /// Asks for what `rank` will read.
    #[inline(always)]
    fn prefetch(&self, unit: usize) {
        if let (Some(words), Some(ranks)) = (self.words.values_in_memory(), self.ranks.values_in_memory()) {
            prefetch(words, unit >> 6);
            prefetch(ranks, unit >> 6);
        }
    }

    #[cold]
    #[inline(never)]
    fn mapped_rank(&self, unit: usize) -> Option<u32> {
        if unit >> 6 >= self.words.len() {
            return None;
        }
        let word = self.words.get(unit >> 6);
        let bit = 1u64 << (unit & 63);
        if word & bit == 0 {
            return None;
        }
        Some(self.rank_before_word(unit >> 6) + (word & (bit - 1)).count_ones())
    }

    /// Ids before a word.
    #[inline]
    fn rank_before_word(&self, at: usize) -> u32 {
        if self.run_bits == 0 {
            return self.ranks.get(at);
        }
        let run = at >> self.run_bits;
        let mut rank = self.ranks.get(run);
        for word in self.words.slice(run << self.run_bits..at) {
            rank = rank.wrapping_add(word.count_ones());
        }
        rank
    }

    /// The unit of the id with this rank, which must exist.
    fn select(&self, rank: u32) -> usize {
        let run = self.ranks.partition_point(|before| before <= rank).saturating_sub(1);
        let mut left = rank.saturating_sub(self.ranks.get(run));
        let mut at = run << self.run_bits;
        let mut word = self.words.get(at);
        // What comes from a file may be anything: not past the end, and no more steps than a word has bits.
        while left >= word.count_ones() && at + 1 < self.words.len() {
            left -= word.count_ones();
            at += 1;
            word = self.words.get(at);
        }
        for _ in 0..left.min(63) {
            word &= word.wrapping_sub(1);
        }
        (at << 6) + (word.trailing_zeros() as usize).min(63)
    }

    fn memory_bytes(&self) -> usize {
        self.words.len() * 8 + self.ranks.len() * 4
    }

    fn store(&self, sink: &mut dyn ColumnSink, name: &str) -> io::Result<()> {
        self.words.store(sink, name)?;
        let runs = (0..self.words.len()).step_by(1 << STORED_RUN_BITS);
        let ranks: Vec<u32> = runs.map(|at| self.rank_before_word(at)).collect();
        Column::from(ranks).store(sink, &format!("{name}.ranks"))
    }

    fn from_stored(source: &dyn ColumnSource, name: &str, count: usize) -> Option<Self> {
        let words: Column<u64> = Column::from_stored(source, name, u64::MAX)?;
        let ranks: Column<u32> = Column::from_stored(source, &format!("{name}.ranks"), count as u64 + 1)?;
        let fits = words.len().div_ceil(1 << STORED_RUN_BITS) == ranks.len() && !words.is_empty();
        fits.then_some(Bitmap { words, ranks, run_bits: STORED_RUN_BITS })
    }
}

/// The part of a map that is stored as JSON.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct StoredIdRankMap {
    base: u64,
    shift: u32,
    count: usize,
    form: StoredForm,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum StoredForm {
    #[serde(rename = "Flat")]
    FlatBitmap,
    #[serde(rename = "Paged")]
    PagedBitmap,
    #[serde(rename = "Sorted")]
    SortedIds,
}

/// Facts about a set of ids that are needed before its map is built.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdRange {
    pub(super) min: u64,
    pub(super) max: u64,
    /// All ids xor'ed with the first, or'ed together: its trailing zeros are the alignment.
    pub(super) varying_bits: u64,
    /// The id that was added first.
    pub(super) first: u64,
}

impl IdRange {
    pub(super) fn of(first: u64) -> Self {
        IdRange { min: first, max: first, varying_bits: 0, first }
    }

    #[inline]
    pub(super) fn add(&mut self, id: u64) {
        self.min = self.min.min(id);
        self.max = self.max.max(id);
        self.varying_bits |= id ^ self.first;
    }

    pub(super) fn join(&mut self, other: &IdRange) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.varying_bits |= other.varying_bits | (other.first ^ self.first);
    }
}

impl IdRankMap {
    pub(super) fn empty() -> Self {
        IdRankMap { base: 0, shift: 0, form: MapForm::SortedIds(Column::default()), id_count: 0 }
    }

    /// Memory that `build` takes at most.
    pub(super) fn max_build_bytes(range: IdRange, len: usize) -> u64 {
        let shift = if range.varying_bits == 0 { 0 } else { range.varying_bits.trailing_zeros() };
        let flat = (((range.max - range.min) >> shift) / 64 + 1).saturating_mul(12);
        if flat <= 64 + MAX_FLAT_BYTES_PER_ID * len as u64 { flat } else { MAX_PAGED_BYTES_PER_ID as u64 * len as u64 }
    }

    /// The map of `ids()`, which is asked for up to two times and may give repeats. O(ids + range / 64).
    pub(super) fn build<I: Iterator<Item = u64>>(range: IdRange, len: usize, ids: impl Fn() -> I) -> Self {
        let mut map = Self::build_without_ranks(range, len, ids);
        map.compute_ranks();
        map
    }

    /// Makes a map that was filled ready to be asked.
    pub(super) fn compute_ranks(&mut self) {
        match &mut self.form {
            MapForm::FlatBitmap(bitmap) => bitmap.compute_ranks(),
            MapForm::PagedBitmap(paged) => paged.bitmap.compute_ranks(),
            MapForm::SortedIds(_) => {}
        }
    }

    /// The same as `build`, up to `compute_ranks`: that needs no ids any more.
    pub(super) fn build_without_ranks<I: Iterator<Item = u64>>(
        range: IdRange,
        len: usize,
        ids: impl Fn() -> I,
    ) -> Self {
        let base = range.min;
        let shift = if range.varying_bits == 0 { 0 } else { range.varying_bits.trailing_zeros() };
        let top = (range.max - base) >> shift;
        let flat_words = top / 64 + 1;
        if flat_words.saturating_mul(12) <= 64 + MAX_FLAT_BYTES_PER_ID * len as u64 {
            let mut bitmap = BitmapWords::new(flat_words as usize);
            for id in ids() {
                bitmap.set(((id - base) >> shift) as usize);
            }
            let (bitmap, count) = bitmap.finish();
            return IdRankMap { base, shift, form: MapForm::FlatBitmap(bitmap), id_count: count };
        }
        if let Some(map) = Self::try_build_paged(base, shift, len, &ids) {
            return map;
        }
        let mut sorted = Vec::with_capacity(len);
        sorted.extend(ids());
        sorted.sort_unstable();
        sorted.dedup();
        let count = sorted.len();
        IdRankMap { base, shift, form: MapForm::SortedIds(sorted.into()), id_count: count }
    }

    fn try_build_paged<I: Iterator<Item = u64>>(
        base: u64,
        shift: u32,
        len: usize,
        ids: &impl Fn() -> I,
    ) -> Option<Self> {
        let page_limit = len * MAX_PAGED_BYTES_PER_ID / (WORDS_PER_PAGE * 12);
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
        let mut bitmap = BitmapWords::new(numbers.len() * WORDS_PER_PAGE);
        let (mut last, mut slot) = (u64::MAX, 0usize);
        for id in ids() {
            let unit = (id - base) >> shift;
            if unit >> PAGE_BITS != last {
                last = unit >> PAGE_BITS;
                slot = directory[&last] as usize;
            }
            bitmap.set((slot << PAGE_BITS) + (unit & ((1 << PAGE_BITS) - 1)) as usize);
        }
        let (bitmap, count) = bitmap.finish();
        let paged = PagedBitmap { bitmap, page_numbers: numbers.into(), directory };
        Some(IdRankMap { base, shift, form: MapForm::PagedBitmap(Box::new(paged)), id_count: count })
    }

    /// Distinct ids.
    pub(super) fn len(&self) -> usize {
        self.id_count
    }

    /// Number of smaller ids, if `id` is in the map. O(1), or a binary search in the sorted form.
    #[inline]
    pub(super) fn rank(&self, id: u64) -> Option<u32> {
        match self.bitmap_or_sorted_ids() {
            Ok(bitmap) => bitmap.rank(self.unit(id, &mut { NO_PAGE })?),
            Err(sorted) => {
                let rank = sorted.partition_point(|other| other < id);
                (rank < sorted.len() && sorted.get(rank) == id).then_some(rank as u32)
            }
        }
    }

    #[inline(always)]
    fn bitmap_or_sorted_ids(&self) -> Result<&Bitmap, &Column<u64>> {
        match &self.form {
            MapForm::FlatBitmap(bitmap) => Ok(bitmap),
            MapForm::PagedBitmap(paged) => Ok(&paged.bitmap),
            MapForm::SortedIds(sorted) => Err(sorted),
        }
    }

    /// The unit of an id in the bitmap, which may lack it. `last_page` is a page and its place: that of the id before.
    #[inline(always)]
    fn unit(&self, id: u64, last_page: &mut (u64, u32)) -> Option<usize> {
        let distance = id.wrapping_sub(self.base);
        if id < self.base || distance & ((1u64 << self.shift) - 1) != 0 {
            return None;
        }
        let unit = distance >> self.shift;
        let MapForm::PagedBitmap(paged) = &self.form else { return usize::try_from(unit).ok() };
        let page = unit >> PAGE_BITS;
        if page != last_page.0 {
            *last_page = (page, *paged.directory.get(&page)?);
        }
        Some(((last_page.1 as usize) << PAGE_BITS) + (unit & ((1 << PAGE_BITS) - 1)) as usize)
    }

    /// The id with this rank, which must be below `len`. O(log ids).
    pub(super) fn select(&self, rank: u32) -> u64 {
        match &self.form {
            MapForm::FlatBitmap(bitmap) => self.base.wrapping_add((bitmap.select(rank) as u64) << self.shift),
            MapForm::PagedBitmap(paged) => {
                let unit = paged.bitmap.select(rank);
                let page = paged.page_numbers.get(unit >> PAGE_BITS);
                let unit = (page << PAGE_BITS) + (unit & ((1 << PAGE_BITS) - 1)) as u64;
                self.base.wrapping_add(unit << self.shift)
            }
            MapForm::SortedIds(sorted) => sorted.get(rank as usize),
        }
    }

    /// Number of ids that are smaller than `id`, which need not be in the map. O(log² ids).
    pub(super) fn count_below(&self, id: u64) -> u32 {
        let (mut low, mut high) = (0, self.id_count as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.select(middle) < id { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Writes the map's columns under names that begin with `name`.
    pub(super) fn store(&self, sink: &mut dyn ColumnSink, name: &str) -> io::Result<StoredIdRankMap> {
        let form = match &self.form {
            MapForm::FlatBitmap(bitmap) => {
                bitmap.store(sink, name)?;
                StoredForm::FlatBitmap
            }
            MapForm::PagedBitmap(paged) => {
                paged.bitmap.store(sink, name)?;
                paged.page_numbers.store(sink, &format!("{name}.pages"))?;
                StoredForm::PagedBitmap
            }
            MapForm::SortedIds(sorted) => {
                sorted.store(sink, name)?;
                StoredForm::SortedIds
            }
        };
        Ok(StoredIdRankMap { base: self.base, shift: self.shift, count: self.id_count, form })
    }

    /// The map back; `None` when the columns are not those of a map. O(1), or O(pages).
    pub(super) fn from_stored(stored: &StoredIdRankMap, source: &dyn ColumnSource, name: &str) -> Option<Self> {
        let StoredIdRankMap { base, shift, count, form } = *stored;
        if shift > 63 {
            return None;
        }
        let form = match form {
            StoredForm::FlatBitmap => MapForm::FlatBitmap(Bitmap::from_stored(source, name, count)?),
            StoredForm::PagedBitmap => {
                let bitmap = Bitmap::from_stored(source, name, count)?;
                let numbers: Column<u64> = Column::from_stored(source, &format!("{name}.pages"), u64::MAX)?;
                if bitmap.words.len() != numbers.len() * WORDS_PER_PAGE {
                    return None;
                }
                let directory =
                    numbers.all_values().iter().enumerate().map(|(slot, &number)| (number, slot as u32)).collect();
                MapForm::PagedBitmap(Box::new(PagedBitmap { bitmap, page_numbers: numbers, directory }))
            }
            StoredForm::SortedIds => MapForm::SortedIds(Column::from_stored(source, name, u64::MAX)?),
        };
        let can_hold = match &form {
            MapForm::FlatBitmap(bitmap) => bitmap.words.len() * 64,
            MapForm::PagedBitmap(paged) => paged.bitmap.words.len() * 64,
            MapForm::SortedIds(sorted) => sorted.len(),
        };
        (count <= can_hold).then_some(IdRankMap { base, shift, form, id_count: count })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match &self.form {
            MapForm::FlatBitmap(bitmap) => bitmap.memory_bytes(),
            MapForm::PagedBitmap(paged) => {
                paged.bitmap.memory_bytes() + paged.page_numbers.len() * 8 + paged.directory.capacity() * 17
            }
            MapForm::SortedIds(sorted) => sorted.len() * 8,
        }
    }
}

/// Ids with their ranks, one after another: some are looked up together, so that the waits for memory overlap.
pub(super) struct IdLookups<'a> {
    map: &'a IdRankMap,
    ids: Vec<u64>,
    ranks: Vec<Option<u32>>,
    next: usize,
}

impl<'a> IdLookups<'a> {
    pub(super) fn new(map: &'a IdRankMap) -> Self {
        let (ids, ranks) = (Vec::with_capacity(LOOKUP_BATCH), Vec::with_capacity(LOOKUP_BATCH));
        IdLookups { map, ids, ranks, next: 0 }
    }

    /// The next id, of which `left` begins with those that were not given so far.
    #[inline(always)]
    pub(super) fn next(&mut self, left: impl Iterator<Item = u64>) -> (u64, Option<u32>) {
        if self.next == self.ids.len() {
            self.next = 0;
            self.ids.clear();
            self.ids.extend(left.take(LOOKUP_BATCH));
            self.look_up();
        }
        self.next += 1;
        (self.ids[self.next - 1], self.ranks[self.next - 1])
    }

    fn look_up(&mut self) {
        let IdLookups { map, ids, ranks, .. } = self;
        ranks.clear();
        let Ok(bitmap) = map.bitmap_or_sorted_ids() else {
            ranks.extend(ids.iter().map(|&id| map.rank(id)));
            return;
        };
        let (mut units, mut last_page) = ([None; LOOKUP_BATCH], NO_PAGE);
        for (unit, &id) in units.iter_mut().zip(&*ids) {
            *unit = map.unit(id, &mut last_page);
            unit.iter().for_each(|&unit| bitmap.prefetch(unit));
        }
        ranks.extend(units[..ids.len()].iter().map(|&unit| bitmap.rank(unit?)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn build(ids: &[u64]) -> IdRankMap {
        let mut range = IdRange::of(ids[0]);
        ids.iter().for_each(|&id| range.add(id));
        IdRankMap::build(range, ids.len(), || ids.iter().copied())
    }

    fn check(ids: &[u64]) {
        let map = build(ids);
        let set: BTreeSet<u64> = ids.iter().copied().collect();
        let asked: Vec<u64> = ids.iter().flat_map(|&id| [id, id.wrapping_add(8), id ^ (1 << 63)]).collect();
        let mut lookups = IdLookups::new(&map);
        for (at, &id) in asked.iter().enumerate() {
            assert_eq!(lookups.next(asked[at..].iter().copied()), (id, map.rank(id)));
        }
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
        assert!(matches!(build(&dense).form, MapForm::FlatBitmap(_)));
        check(&dense);
        let clustered: Vec<u64> = (0..50_000).map(|i| (i % 5) * (1 << 45) + i * 16).collect();
        assert!(matches!(build(&clustered).form, MapForm::PagedBitmap(_)));
        check(&clustered);
        let scattered: Vec<u64> = (1..5_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        assert!(matches!(build(&scattered).form, MapForm::SortedIds(_)));
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
