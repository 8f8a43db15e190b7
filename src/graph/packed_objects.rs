//! Objects as they were appended: packed ids and references, columns of types and sizes.

use std::ops::Range;

use super::byte_counts::PackedBytes;
use super::list_lengths::ListLengths;
use super::object_columns::{PositionRun, WordPacking};
use super::type_columns::SlotColumn;

/// A run of objects packed in the same way, within one section.
#[derive(Debug)]
pub(super) struct ObjectChunk {
    /// Index of its section.
    pub(super) section: u32,
    /// Numbers of its objects among all that were appended.
    pub(super) objects: Range<usize>,
    /// Where its ids begin in `PackedObjects::id_words`.
    pub(super) first_id_word: usize,
    pub(super) id_packing: WordPacking,
    /// Each id is greater than the one before.
    pub(super) is_ascending: bool,
    pub(super) reference_word_count: usize,
    pub(super) reference_packing: WordPacking,
    /// References at the start that belong to the last object of the chunk before.
    pub(super) leading_reference_count: usize,
    /// The first of them is that object's first reference.
    pub(super) leading_begins_list: bool,
    /// Positions of its weak references, counted from its first, ascending.
    pub(super) weak_indices: Vec<u32>,
}

/// All objects of a dump that is being read, in the order of the dump.
#[derive(Debug, Default)]
pub(super) struct PackedObjects {
    pub(super) chunks: Vec<ObjectChunk>,
    pub(super) id_words: Vec<u32>,
    pub(super) type_slots: SlotColumn,
    pub(super) shallow: Vec<u16>,
    /// (object, bytes) of those whose bytes do not fit `shallow`, ascending.
    pub(super) large_shallow: Vec<(u32, u64)>,
    pub(super) reference_counts: ListLengths,
    /// Empty where references come apart from their objects.
    pub(super) reference_words: Vec<u32>,
    pub(super) position_runs: Vec<PositionRun>,
}

impl PackedObjects {
    /// Bytes of an object, or what it was appended with in their place.
    pub(super) fn shallow_bytes(&self, object: usize) -> u64 {
        match self.shallow[object] {
            u16::LARGE_MARK => self
                .large_shallow
                .binary_search_by_key(&(object as u32), |&(at, _)| at)
                .map_or(0, |at| self.large_shallow[at].1),
            bytes => u64::from(bytes),
        }
    }

    /// The objects of these chunks, in this order, without references of their own; `note_id` is told every id.
    pub(super) fn of_chunks(&self, numbers: &[usize], mut note_id: impl FnMut(u64)) -> PackedObjects {
        let mut new = PackedObjects::default();
        for &number in numbers {
            let chunk = &self.chunks[number];
            let objects = chunk.objects.clone();
            let first = new.type_slots.len();
            let first_id_word = new.id_words.len();
            let id_words = &self.id_words[chunk.first_id_word..][..objects.len() * chunk.id_packing.words_per_value()];
            new.id_words.extend_from_slice(id_words);
            new.type_slots.extend_from(&self.type_slots, objects.clone());
            new.shallow.extend_from_slice(&self.shallow[objects.clone()]);
            new.reference_counts.extend(self.reference_counts.range(objects.clone()));
            let from = self.large_shallow.partition_point(|&(object, _)| (object as usize) < objects.start);
            let large = self.large_shallow[from..].iter().take_while(|&&(object, _)| (object as usize) < objects.end);
            new.large_shallow
                .extend(large.map(|&(object, bytes)| ((object as usize - objects.start + first) as u32, bytes)));
            let position = position_of(&self.position_runs, objects.start);
            let stride = position_of(&self.position_runs, objects.start + 1).wrapping_sub(position);
            new.position_runs.push(PositionRun { first_object: first as u32, first_position: position, stride });
            for index in 0..objects.len() {
                note_id(chunk.id_packing.unpack_id(id_words, index));
            }
            new.chunks.push(ObjectChunk {
                section: chunk.section,
                objects: first..first + objects.len(),
                first_id_word,
                id_packing: chunk.id_packing,
                is_ascending: chunk.is_ascending,
                reference_word_count: 0,
                reference_packing: WordPacking::default(),
                leading_reference_count: 0,
                leading_begins_list: false,
                weak_indices: Vec::new(),
            });
        }
        new
    }
}

/// The line (or byte offset) of an object, counted over all that were appended.
pub(super) fn position_of(positions: &[PositionRun], object: usize) -> u64 {
    let Some(at) = positions.partition_point(|run| run.first_object as usize <= object).checked_sub(1) else {
        return 0;
    };
    let run = positions[at];
    run.first_position.wrapping_add(run.stride.wrapping_mul(object as u64 - u64::from(run.first_object)))
}
