//! The type of each object: in 2 bytes while there are few enough types.

use std::io;
use std::ops::Range;

use super::column::{Column, ColumnSink, ColumnSource};
use super::prefetch::prefetch;
use super::{TypeId, TypeSlot, make_room};
use crate::parallel;

/// As many types, or slots, as 2 bytes tell apart.
const MAX_NARROW_COUNT: usize = 1 << 16;

/// A column of numbers, narrow while they fit.
#[derive(Debug, Clone)]
pub enum TwoWidths<N, W> {
    /// All fit.
    Narrow(Vec<N>),
    /// Any.
    Wide(Vec<W>),
}

impl<N, W> Default for TwoWidths<N, W> {
    fn default() -> Self {
        TwoWidths::Narrow(Vec::new())
    }
}

impl<N: Copy, W: Copy> TwoWidths<N, W> {
    /// Numbers in it.
    pub fn len(&self) -> usize {
        match self {
            TwoWidths::Narrow(numbers) => numbers.len(),
            TwoWidths::Wide(numbers) => numbers.len(),
        }
    }

    /// Bytes that they take.
    pub fn memory_bytes(&self) -> usize {
        self.len() * if let TwoWidths::Narrow(_) = self { size_of::<N>() } else { size_of::<W>() }
    }

    /// Takes out those at these places, which are ascending.
    pub fn remove_at_indices(&mut self, places: &[u32]) {
        match self {
            TwoWidths::Narrow(numbers) => remove_at_indices(numbers, places),
            TwoWidths::Wide(numbers) => remove_at_indices(numbers, places),
        }
    }
}

/// Slots of objects in the order they were appended in: 2 bytes each while all are below 2^16.
pub type SlotColumn = TwoWidths<u16, u32>;

impl FromIterator<u32> for SlotColumn {
    fn from_iter<I: IntoIterator<Item = u32>>(slots: I) -> Self {
        SlotColumn::Wide(slots.into_iter().collect())
    }
}

impl SlotColumn {
    /// The slot of an object, which must be there.
    #[inline]
    pub fn get(&self, object: usize) -> TypeSlot {
        match self {
            SlotColumn::Narrow(slots) => TypeSlot(slots[object].into()),
            SlotColumn::Wide(slots) => TypeSlot(slots[object]),
        }
    }

    /// Appends one.
    #[inline]
    pub fn push(&mut self, slot: u32) {
        self.extend(std::iter::once(slot), slot as usize + 1);
    }

    /// Appends slots, each below `slot_count`.
    pub(super) fn extend(&mut self, slots: impl ExactSizeIterator<Item = u32>, slot_count: usize) {
        if slot_count > MAX_NARROW_COUNT
            && let SlotColumn::Narrow(slots) = self
        {
            *self = SlotColumn::Wide(slots.iter().map(|&slot| slot.into()).collect());
        }
        match self {
            SlotColumn::Narrow(column) => {
                make_room(column, slots.len());
                column.extend(slots.map(|slot| slot as u16));
            }
            SlotColumn::Wide(column) => {
                make_room(column, slots.len());
                column.extend(slots);
            }
        }
    }

    /// Appends some of another column's.
    pub(super) fn extend_from(&mut self, other: &SlotColumn, objects: Range<usize>) {
        match other {
            SlotColumn::Narrow(slots) => self.extend(slots[objects].iter().map(|&slot| slot.into()), 0),
            SlotColumn::Wide(slots) => self.extend(slots[objects].iter().copied(), usize::MAX),
        }
    }

    /// The types of the slots, in their memory where that has the right form.
    pub(super) fn into_type_column(self, slot_types: &[TypeId], type_count: usize) -> TypeColumn {
        match self {
            SlotColumn::Narrow(mut slots) if type_count <= MAX_NARROW_COUNT => {
                parallel::for_each_piece(&mut slots, &|_, piece| {
                    piece.iter_mut().for_each(|slot| *slot = slot_types[usize::from(*slot)].0 as u16);
                });
                TypeColumn::Narrow(slots.into())
            }
            SlotColumn::Wide(slots) if type_count <= MAX_NARROW_COUNT => {
                let types: Vec<u16> =
                    parallel::collect_indexed(slots.len(), |at| slot_types[slots[at] as usize].0 as u16);
                TypeColumn::Narrow(types.into())
            }
            slots => {
                let type_of = |at: usize| slot_types[slots.get(at).0 as usize].0;
                let types: Vec<u32> = parallel::collect_indexed(slots.len(), type_of);
                // One layout: collecting in place costs nothing.
                TypeColumn::Wide(types.into_iter().map(TypeId).collect::<Vec<_>>().into())
            }
        }
    }
}

/// Takes values out of a column, by ascending numbers. O(column), each value moved once.
pub fn remove_at_indices<T: Copy>(column: &mut Vec<T>, numbers: &[u32]) {
    let mut write = numbers.first().map_or(0, |&first| first as usize);
    for (at, &number) in numbers.iter().enumerate() {
        let end = numbers.get(at + 1).map_or(column.len(), |&next| next as usize);
        column.copy_within(number as usize + 1..end, write);
        write += end - number as usize - 1;
    }
    if !numbers.is_empty() {
        column.truncate(write);
    }
}

/// Types of the nodes of a graph.
#[derive(Debug)]
pub(super) enum TypeColumn {
    /// Of at most 2^16 types.
    Narrow(Column<u16>),
    /// Of any.
    Wide(Column<TypeId>),
}

impl Default for TypeColumn {
    fn default() -> Self {
        TypeColumn::Narrow(Column::default())
    }
}

impl TypeColumn {
    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            TypeColumn::Narrow(types) => types.len(),
            TypeColumn::Wide(types) => types.len(),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            TypeColumn::Narrow(types) => 2 * types.len(),
            TypeColumn::Wide(types) => 4 * types.len(),
        }
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> TypeId {
        match self {
            TypeColumn::Narrow(types) => TypeId(types.get(index).into()),
            TypeColumn::Wide(types) => types.get(index),
        }
    }

    /// Asks for the type of a node, if it is in memory.
    #[inline(always)]
    pub(super) fn prefetch(&self, index: usize) {
        match self {
            TypeColumn::Narrow(types) => types.values_in_memory().into_iter().for_each(|types| prefetch(types, index)),
            TypeColumn::Wide(types) => types.values_in_memory().into_iter().for_each(|types| prefetch(types, index)),
        }
    }

    /// The types of a range, faster than asking for each.
    #[inline]
    pub(super) fn range(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = TypeId> + '_ {
        let (narrow, wide): (&[u16], &[TypeId]) = match self {
            TypeColumn::Narrow(types) => (types.slice(range.clone()), &[]),
            TypeColumn::Wide(types) => (&[], types.slice(range.clone())),
        };
        (0..range.len()).map(move |at| narrow.get(at).map_or_else(|| wide[at], |&number| TypeId(number.into())))
    }

    pub(super) fn store(&self, sink: &mut dyn ColumnSink, name: &str) -> io::Result<()> {
        match self {
            TypeColumn::Narrow(types) => types.store(sink, name),
            TypeColumn::Wide(types) => types.store(sink, name),
        }
    }

    /// The column of a graph with so many types.
    pub(super) fn from_stored(source: &dyn ColumnSource, name: &str, type_count: usize) -> Option<Self> {
        let limit = type_count as u64;
        if type_count <= MAX_NARROW_COUNT {
            Column::from_stored(source, name, limit).map(TypeColumn::Narrow)
        } else {
            Column::from_stored(source, name, limit).map(TypeColumn::Wide)
        }
    }
}
