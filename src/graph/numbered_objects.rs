//! Dumps whose references are numbers of objects, in the order of the dump, not ids: nothing has to be looked up.

use super::id_map::{IdRange, IdRankMap};
use super::list_lengths::ListLengths;
use super::make_room;
use super::type_columns::{SlotColumn, TwoWidths};

/// Ids of objects by number: 4 bytes each while all are below 2^32.
pub type ObjectIds = TwoWidths<u32, u64>;

impl ObjectIds {
    /// The id of a number, which must be below `len`.
    #[inline]
    pub fn get(&self, number: usize) -> u64 {
        match self {
            ObjectIds::Narrow(ids) => ids[number].into(),
            ObjectIds::Wide(ids) => ids[number],
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).map(|number| self.get(number))
    }

    /// Appends more.
    pub fn extend(&mut self, more: &[u64]) {
        if let ObjectIds::Narrow(ids) = self {
            if more.iter().all(|&id| id <= u64::from(u32::MAX)) {
                make_room(ids, more.len());
                return ids.extend(more.iter().map(|&id| id as u32));
            }
            *self = ObjectIds::Wide(ids.iter().map(|&id| id.into()).collect());
        }
        if let ObjectIds::Wide(ids) = self {
            make_room(ids, more.len());
            ids.extend_from_slice(more);
        }
    }

    /// Facts for a map of them, and a flag: each is greater than the one before.
    pub(super) fn id_range_and_order(&self) -> Option<(IdRange, bool)> {
        let mut ids = self.iter();
        let first = ids.next()?;
        let (mut range, mut is_ascending, mut last) = (IdRange::of(first), true, first);
        for id in ids {
            range.add(id);
            is_ascending &= last < id;
            last = id;
        }
        Some((range, is_ascending))
    }

    /// Gives objects with the id of an object before them ids that are greater than all. How many, and the number of the
    /// first.
    pub fn make_unique(&mut self) -> (u64, usize) {
        let Some((range, is_ascending)) = self.id_range_and_order() else { return (0, 0) };
        if is_ascending || IdRankMap::build(range, self.len(), || self.iter()).len() == self.len() {
            return (0, 0);
        }
        let mut numbers: Vec<u32> = (0..self.len() as u32).collect();
        // Stable: of equal ids the first stays first.
        numbers.sort_by_key(|&number| self.get(number as usize));
        let pairs = numbers.windows(2);
        let repeated =
            pairs.filter(|pair| self.get(pair[0] as usize) == self.get(pair[1] as usize)).map(|pair| pair[1]);
        let mut repeated: Vec<u32> = repeated.collect();
        repeated.sort_unstable();
        let mut ids: Vec<u64> = self.iter().collect();
        for (&number, id) in repeated.iter().zip((0..=range.max.saturating_add(repeated.len() as u64)).rev()) {
            ids[number as usize] = id;
        }
        *self = ObjectIds::default();
        self.extend(&ids);
        (repeated.len() as u64, repeated.first().map_or(0, |&number| number as usize))
    }
}

/// A weak reference by numbers of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberedWeakReference {
    /// The object that refers.
    pub source: u32,
    /// References of the same object before this one, strong and weak.
    pub reference_index: u32,
    /// The object that is referred to.
    pub target: u32,
}

/// All objects of a dump of one section. An object's number is its place in each column.
#[derive(Debug, Default)]
pub struct NumberedObjects {
    /// Ids of the objects, each once.
    pub ids: ObjectIds,
    /// Slots of the builder.
    pub type_slots: SlotColumn,
    /// Shallow bytes; `u16::MAX` for those in `large_shallow`.
    pub shallow: Vec<u16>,
    /// (object, bytes) of those that do not fit, ascending.
    pub large_shallow: Vec<(u32, u64)>,
    /// Strong references of each.
    pub reference_counts: ListLengths,
    /// Strong references of all, as numbers.
    pub references: Vec<u32>,
    /// Ascending by source and place.
    pub weak_references: Vec<NumberedWeakReference>,
    /// References that led nowhere and were left out.
    pub dangling_reference_count: u64,
}

/// The part of numbered objects that is not with the builder's other objects.
#[derive(Debug, Default)]
pub(super) struct NumberedExtras {
    pub(super) ids: ObjectIds,
    pub(super) weak_references: Vec<NumberedWeakReference>,
    pub(super) dangling_reference_count: u64,
}
