//! Objects of one block of input as columns: what a reader's thread fills and the builder appends.
//!
//! Ids and references are pushed as the dump writes them (u64). `seal` packs them to 4 bytes each, relative to the
//! block's own smallest value and alignment, so that a load never holds 8 bytes per reference for the whole dump.

use super::byte_counts::PackedBytes;
use super::id_map::IdRange;

/// The packed form of a reference to 0, which is a null.
pub(super) const PACKED_NULL: u32 = u32::MAX;

/// Packing of a block's ids or references.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WordPacking {
    /// The smallest value of the block.
    base: u64,
    /// Low bits that are zero in every distance from `base`, and left out.
    shift: u32,
    /// Two words each, low first: the block's values do not fit 32 bits.
    is_wide: bool,
}

impl WordPacking {
    /// Packs `values` into `out`, which is cleared first. With `nulls`, 0 is a null and does not stretch the packing.
    fn pack(values: &[u64], nulls: bool, out: &mut Vec<u32>) -> (WordPacking, Option<IdRange>) {
        out.clear();
        let mut range: Option<IdRange> = None;
        for &value in values.iter().filter(|&&value| !nulls || value != 0) {
            range.get_or_insert(IdRange::of(value)).add(value);
        }
        let mut packing = WordPacking::default();
        if let Some(range) = &range {
            packing.base = range.min;
            packing.shift = if range.varying_bits == 0 { 0 } else { range.varying_bits.trailing_zeros() };
            packing.is_wide = (range.max - range.min) >> packing.shift >= u64::from(PACKED_NULL);
        }
        if packing.is_wide {
            out.extend(values.iter().flat_map(|&value| [value as u32, (value >> 32) as u32]));
        } else {
            out.extend(values.iter().map(|&value| {
                if nulls && value == 0 { PACKED_NULL } else { ((value - packing.base) >> packing.shift) as u32 }
            }));
        }
        (packing, range)
    }

    #[inline]
    pub(super) fn words_per_value(self) -> usize {
        1 + usize::from(self.is_wide)
    }

    /// The value at `index`, counted in values; a null comes back as 0.
    #[inline]
    pub(super) fn unpack(self, words: &[u32], index: usize) -> u64 {
        if !self.is_wide && words[index] == PACKED_NULL { 0 } else { self.unpack_id(words, index) }
    }

    /// As `unpack`, for ids: no value stands for a null.
    #[inline]
    pub(super) fn unpack_id(self, words: &[u32], index: usize) -> u64 {
        if self.is_wide {
            u64::from(words[2 * index]) | u64::from(words[2 * index + 1]) << 32
        } else {
            self.base + (u64::from(words[index]) << self.shift)
        }
    }
}

/// A run of objects at evenly spaced positions (lines of text, or bytes), so that a problem can be placed later.
#[derive(Debug, Clone, Copy)]
pub(super) struct PositionRun {
    pub(super) first_object: u32,
    pub(super) first_position: u64,
    /// From one object to the next.
    pub(super) stride: u64,
}

/// Columns of one block. Reused from block to block.
#[derive(Debug, Default)]
pub struct ObjectColumns {
    ids: Vec<u64>,
    /// Ids that the objects refer to, as the dump has them.
    references: Vec<u64>,
    pub(super) leading_reference_count: usize,
    /// Positions in `references` of those that are weak, ascending.
    pub(super) weak_indices: Vec<u32>,
    pub(super) type_indices: Vec<u32>,
    pub(super) shallow: Vec<u16>,
    /// (object in the block, bytes).
    pub(super) large_shallow: Vec<(u32, u64)>,
    /// Start of each object's references in `references`.
    reference_starts: Vec<u32>,
    /// Number of references of each object, where these come apart from it; else empty.
    pub(super) reference_counts: Vec<u32>,
    pub(super) position_runs: Vec<PositionRun>,
    /// Position of the object begun last.
    last_position: u64,
    pub(super) id_words: Vec<u32>,
    pub(super) id_packing: WordPacking,
    pub(super) reference_words: Vec<u32>,
    pub(super) reference_packing: WordPacking,
}

impl ObjectColumns {
    /// Takes everything out, keeping the memory.
    pub fn clear(&mut self) {
        self.ids.clear();
        self.references.clear();
        self.leading_reference_count = 0;
        self.weak_indices.clear();
        self.type_indices.clear();
        self.shallow.clear();
        self.large_shallow.clear();
        self.reference_starts.clear();
        self.reference_counts.clear();
        self.position_runs.clear();
        self.last_position = 0;
        self.id_words.clear();
        self.reference_words.clear();
    }

    /// Objects so far.
    pub fn len(&self) -> usize {
        self.type_indices.len()
    }

    /// Bytes of memory the columns have, used or not.
    pub fn memory_bytes(&self) -> usize {
        let wide = self.ids.capacity() + self.references.capacity();
        let narrow = self.type_indices.capacity()
            + self.reference_starts.capacity()
            + self.weak_indices.capacity()
            + self.reference_counts.capacity()
            + self.id_words.capacity()
            + self.reference_words.capacity();
        8 * wide
            + 4 * narrow
            + 2 * self.shallow.capacity()
            + self.large_shallow.capacity() * size_of::<(u32, u64)>()
            + self.position_runs.capacity() * size_of::<PositionRun>()
    }

    /// References so far, leading ones included.
    pub fn reference_count(&self) -> usize {
        self.references.len()
    }

    /// Begins an object; `type_index` means what the reader's type table makes of it, `position` is the line (or
    /// byte offset) in the block.
    #[inline]
    pub fn push_object(&mut self, id: u64, type_index: u32, shallow_bytes: u64, position: u64) {
        let object = self.type_indices.len() as u32;
        match self.position_runs.last_mut() {
            Some(run) if object - run.first_object == 1 => run.stride = position.wrapping_sub(run.first_position),
            Some(run) if position.wrapping_sub(self.last_position) == run.stride => {}
            _ => self.position_runs.push(PositionRun { first_object: object, first_position: position, stride: 0 }),
        }
        self.last_position = position;
        self.ids.push(id);
        self.type_indices.push(type_index);
        self.reference_starts.push(self.references.len() as u32);
        self.shallow.push(u16::packed(shallow_bytes, object as usize, &mut self.large_shallow));
    }

    /// Objects whose references come apart from them, each as (id, type index, bytes, number of references), at even
    /// distances in the input. Not to be mixed with `push_object`.
    pub fn extend_counted_objects(
        &mut self,
        objects: impl Iterator<Item = (u64, u32, u64, u64)>,
        position: u64,
        stride: u64,
    ) {
        self.position_runs.push(PositionRun {
            first_object: self.type_indices.len() as u32,
            first_position: position,
            stride,
        });
        for (id, type_index, shallow_bytes, references) in objects {
            self.ids.push(id);
            self.shallow.push(u16::packed(shallow_bytes, self.type_indices.len(), &mut self.large_shallow));
            self.type_indices.push(type_index);
            self.reference_counts.push(u32::try_from(references).unwrap_or(u32::MAX));
        }
    }

    /// References that come apart from their objects.
    pub fn extend_references(&mut self, ids: impl Iterator<Item = u64>) {
        self.references.extend(ids);
    }

    /// A reference of the object begun last; before the first object: of the last object of the block before.
    /// 0 is a null.
    #[inline]
    pub fn push_reference(&mut self, id: u64) {
        self.references.push(id);
        if self.type_indices.is_empty() {
            self.leading_reference_count += 1;
        }
    }

    /// A reference of the object begun last that does not keep its target alive.
    pub fn push_weak_reference(&mut self, id: u64) {
        self.weak_indices.push(self.references.len() as u32);
        self.push_reference(id);
    }

    /// Packs ids and references. Called by the thread that filled the columns, before they are appended.
    pub fn seal(&mut self) {
        self.id_packing = WordPacking::pack(&self.ids, false, &mut self.id_words).0;
        self.reference_packing = WordPacking::pack(&self.references, true, &mut self.reference_words).0;
    }

    pub(super) fn id_range_and_order(&self, objects: std::ops::Range<usize>) -> Option<(IdRange, bool)> {
        let ids = &self.ids[objects];
        let mut range = IdRange::of(*ids.first()?);
        let mut ascending = true;
        let mut before = ids[0];
        for &id in &ids[1..] {
            range.add(id);
            ascending &= id > before;
            before = id;
        }
        Some((range, ascending))
    }

    pub(super) fn id(&self, object: usize) -> u64 {
        self.ids[object]
    }

    /// Start of the references of `object`; of `len`: where all end.
    pub(super) fn reference_start(&self, object: usize) -> usize {
        self.reference_starts.get(object).map_or(self.references.len(), |&start| start as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_gives_back_every_value() {
        let cases: [&[u64]; 5] = [
            &[],
            &[0, 0x10, 0x18, 0, 0x8000_0010],
            &[0x7f00_0000_0008, 0, 0x7f07_ffff_fff8],
            &[1, u64::MAX, 0, 0x1234_5678_9abc_def0],
            &[5, 5, 5],
        ];
        let mut words = Vec::new();
        for values in cases {
            for nulls in [true, false] {
                let (packing, _) = WordPacking::pack(values, nulls, &mut words);
                assert_eq!(words.len(), values.len() * packing.words_per_value());
                for (index, &value) in values.iter().enumerate() {
                    let back = if nulls { packing.unpack(&words, index) } else { packing.unpack_id(&words, index) };
                    assert_eq!(back, value);
                }
            }
        }
    }

    #[test]
    fn aligned_addresses_over_32_gib_stay_narrow() {
        let mut words = Vec::new();
        let values = [0x7f00_0000_0000, 0x7f00_0000_0008 + (31 << 30)];
        assert!(!WordPacking::pack(&values, true, &mut words).0.is_wide);
    }

    #[test]
    fn evenly_spaced_lines_are_one_run() {
        let mut columns = ObjectColumns::default();
        for line in [10, 12, 14, 16, 17, 18, 19] {
            columns.push_object(line, 0, 8, line);
        }
        assert_eq!(columns.position_runs.len(), 2);
    }
}
