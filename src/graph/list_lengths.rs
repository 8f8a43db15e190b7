//! Lengths of lists, as of each object's references: a byte each, with a table beside for the rare long ones.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::make_room;

/// Marks a length that is in the table.
pub(super) const LONG_MARK: u8 = u8::MAX;

/// Lengths by index.
#[derive(Debug, Clone, Default)]
pub struct ListLengths {
    /// Each, or `LONG_MARK`.
    pub(super) short: Vec<u8>,
    /// By index: those that have the mark. An entry whose index has none is of a length before, and is not read.
    pub(super) long: FxHashMap<u32, u32>,
}

impl ListLengths {
    /// Lengths.
    pub(crate) fn len(&self) -> usize {
        self.short.len()
    }

    /// The length at `index`, which must be below `len`. O(1).
    #[inline]
    pub(crate) fn get(&self, index: usize) -> u32 {
        length_of(self.short[index], index, &self.long)
    }

    /// Puts another length in its place.
    #[inline]
    pub(super) fn set(&mut self, index: usize, length: u32) {
        self.short[index] = match u8::try_from(length) {
            Ok(length) if length != LONG_MARK => length,
            _ => {
                self.long.insert(index as u32, length);
                LONG_MARK
            }
        };
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.range(0..self.len())
    }

    pub(super) fn range(&self, indices: Range<usize>) -> impl ExactSizeIterator<Item = u32> + '_ {
        let first = indices.start;
        self.short[indices].iter().enumerate().map(move |(at, &short)| length_of(short, first + at, &self.long))
    }

    /// Bytes that they take.
    pub(crate) fn memory_bytes(&self) -> usize {
        /// An entry of the table, which is half full at worst.
        const LONG_BYTES: usize = 24;
        self.short.len() + LONG_BYTES * self.long.len()
    }

    /// Takes out those at these indices, which are ascending.
    pub(crate) fn remove_at_indices(&mut self, indices: &[u32]) {
        super::remove_at_indices(&mut self.short, indices);
        let kept = self.long.drain().filter(|(index, _)| indices.binary_search(index).is_err());
        let moved =
            kept.map(|(index, length)| (index - indices.partition_point(|&other| other < index) as u32, length));
        self.long = moved.collect();
    }
}

/// The length that an entry stands for.
#[inline]
pub(super) fn length_of(short: u8, index: usize, long: &FxHashMap<u32, u32>) -> u32 {
    if short == LONG_MARK { long_length(index, long) } else { short.into() }
}

#[cold]
fn long_length(index: usize, long: &FxHashMap<u32, u32>) -> u32 {
    long.get(&(index as u32)).copied().unwrap_or(LONG_MARK.into())
}

impl Extend<u32> for ListLengths {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, lengths: I) {
        let (lengths, first) = (lengths.into_iter(), self.short.len());
        make_room(&mut self.short, lengths.size_hint().0);
        let long = &mut self.long;
        self.short.extend(lengths.enumerate().map(|(at, length)| match u8::try_from(length) {
            Ok(length) if length != LONG_MARK => length,
            _ => {
                long.insert((first + at) as u32, length);
                LONG_MARK
            }
        }));
    }
}

impl FromIterator<u32> for ListLengths {
    fn from_iter<I: IntoIterator<Item = u32>>(lengths: I) -> Self {
        let mut all = ListLengths::default();
        all.extend(lengths);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_any_size_are_what_was_put_in() {
        let lengths: Vec<u32> = (0..2000).map(|at| if at % 7 == 0 { at } else { at % 3 + 253 }).collect();
        let mut column: ListLengths = lengths[..900].iter().copied().collect();
        column.extend(lengths[900..].iter().copied());
        assert!(column.iter().eq(lengths.iter().copied()));
        assert!(column.range(890..910).eq(lengths[890..910].iter().copied()));
        for (index, length) in [(3, 70_000), (7, 1), (1995, u32::MAX)] {
            column.set(index, length);
            assert_eq!(column.get(index), length);
        }
        assert_eq!((column.get(4), column.get(8)), (254, 255));
        column.remove_at_indices(&[0, 1, 7]);
        assert_eq!((column.len(), column.get(1), column.get(5), column.get(1992)), (1997, 70_000, 255, u32::MAX));
    }
}
