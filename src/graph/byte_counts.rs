//! Bytes of every object: 2 bytes each for its own, 4 for those it retains, with a table beside for the rare giant.

use std::io;
use std::ops::Range;

use super::column::{Column, ColumnNumber, ColumnSink, ColumnSource};
use super::prefetch::prefetch;

/// A number that byte counts are packed in.
pub trait PackedBytes: ColumnNumber + TryFrom<u64> + PartialEq {
    /// Marks an entry whose bytes are in the table.
    const LARGE_MARK: Self;

    /// A byte count as it stands in a column; one that does not fit goes to `large` with its index.
    #[inline]
    fn packed(bytes: u64, index: usize, large: &mut Vec<(u32, u64)>) -> Self {
        match Self::try_from(bytes) {
            Ok(bytes) if bytes != Self::LARGE_MARK => bytes,
            _ => {
                large.push((index as u32, bytes));
                Self::LARGE_MARK
            }
        }
    }
}

impl PackedBytes for u16 {
    const LARGE_MARK: Self = u16::MAX;
}

impl PackedBytes for u32 {
    const LARGE_MARK: Self = u32::MAX;
}

/// Byte counts by index. Those that do not fit `T` are in a sorted table, 12 bytes each.
#[derive(Debug, Default)]
pub struct ByteCounts<T> {
    packed_bytes: Column<T>,
    /// Indices of the large ones, ascending, and their bytes.
    large_indices: Column<u32>,
    large_bytes: Column<u64>,
}

impl<T: PackedBytes> ByteCounts<T> {
    /// `small` with `LARGE_MARK` where `large` has the (index, bytes), ascending.
    pub(super) fn new(small: Vec<T>, large: &[(u32, u64)]) -> Self {
        ByteCounts {
            packed_bytes: small.into(),
            large_indices: large.iter().map(|&(at, _)| at).collect::<Vec<_>>().into(),
            large_bytes: large.iter().map(|&(_, bytes)| bytes).collect::<Vec<_>>().into(),
        }
    }

    /// The counts, packed. O(counts).
    pub fn pack(counts: impl Iterator<Item = u64>) -> Self {
        let mut large = Vec::new();
        let small = counts.enumerate().map(|(at, bytes)| T::packed(bytes, at, &mut large)).collect();
        Self::new(small, &large)
    }

    /// Counts.
    pub fn len(&self) -> usize {
        self.packed_bytes.len()
    }

    /// The count at `index`, which must be below `len`. O(1), for giants O(log giants).
    #[inline]
    pub fn get(&self, index: usize) -> u64 {
        self.unpacked(index, self.packed_bytes.get(index))
    }

    /// Asks for the count at `index`, if it is in memory.
    #[inline(always)]
    pub(super) fn prefetch(&self, index: usize) {
        self.packed_bytes.values_in_memory().into_iter().for_each(|counts| prefetch(counts, index));
    }

    /// The counts of a range, faster than asking for each.
    pub(super) fn range(&self, range: Range<usize>) -> impl Iterator<Item = u64> {
        range.clone().zip(self.packed_bytes.slice(range)).map(|(index, &small)| self.unpacked(index, small))
    }

    #[inline]
    fn unpacked(&self, index: usize, small: T) -> u64 {
        if small == T::LARGE_MARK { self.large_bytes_at(index as u32) } else { small.value() }
    }

    #[cold]
    fn large_bytes_at(&self, index: u32) -> u64 {
        let place = self.large_indices.partition_point(|at| at < index);
        if place < self.large_indices.len() && self.large_indices.get(place) == index {
            self.large_bytes.get(place)
        } else {
            T::LARGE_MARK.value()
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.packed_bytes.len() * size_of::<T>() + self.large_bytes.len() * 12
    }

    /// Writes the counts.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn store(&self, sink: &mut dyn ColumnSink, name: &str) -> io::Result<()> {
        self.packed_bytes.store(sink, name)?;
        self.large_indices.store(sink, &format!("{name}.large_at"))?;
        self.large_bytes.store(sink, &format!("{name}.large"))
    }

    /// The counts back; `None` when the columns are not those of so many. O(1).
    pub fn from_stored(source: &dyn ColumnSource, name: &str, count: usize) -> Option<Self> {
        let small = Column::from_stored(source, name, u64::MAX)?;
        let large_at = Column::from_stored(source, &format!("{name}.large_at"), u64::MAX)?;
        let large = Column::from_stored(source, &format!("{name}.large"), u64::MAX)?;
        let fits = small.len() == count && large.len() == large_at.len();
        fits.then_some(ByteCounts { packed_bytes: small, large_indices: large_at, large_bytes: large })
    }
}
