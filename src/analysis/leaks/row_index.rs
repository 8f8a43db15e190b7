//! Rows by their keys, where there may be millions of them: what is looked up is asked of memory ahead.

use std::hash::{BuildHasher, RandomState};

use crate::graph::prefetch;

/// Parts of 8 that may be taken.
const MAX_TAKEN_EIGHTHS: usize = 5;

/// What makes a row: the row above, the symbol and the label.
pub(super) type RowKey = (u32, u32, u32);

/// The number of a row for each key, whose columns stand in the rows themselves. 13 to 26 bytes for each.
#[derive(Debug)]
pub(super) struct RowIndex {
    /// By hash, or behind: the hash and the row, which is not 0 where a slot is taken. A power of two of them.
    slots: Vec<[u32; 2]>,
    taken: usize,
    /// Of this table alone, so that no file has keys that meet.
    seed: u64,
}

impl Default for RowIndex {
    fn default() -> Self {
        RowIndex { slots: vec![[0; 2]; 16], taken: 0, seed: RandomState::new().hash_one(0) }
    }
}

impl RowIndex {
    /// Spread over all bits: multiplied by odd numbers, the halves folded.
    #[inline]
    pub(super) fn hash_of_key(&self, (parent, symbol, label): RowKey) -> u32 {
        let pair = ((u64::from(parent) << 32) | u64::from(symbol)) ^ self.seed;
        let mixed = (pair ^ u64::from(label).wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(self.seed | 1);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed >> 32) as u32
    }

    fn first_slot(&self, hash: u32) -> usize {
        // The upper bits, so that slots stay in their order when there are more.
        ((u64::from(hash) * self.slots.len() as u64) >> 32) as usize
    }

    /// Asks for where a key is looked up.
    #[inline]
    pub(super) fn prefetch(&self, hash: u32) {
        prefetch(&self.slots, self.first_slot(hash));
    }

    /// The row that has the key with this hash, as `is_it` says; else `new`, which is not 0, and has it from now on. O(1).
    #[inline]
    pub(super) fn find_or_insert(&mut self, hash: u32, new: u32, is_it: impl Fn(u32) -> bool) -> u32 {
        if (self.taken + 1) * 8 > self.slots.len() * MAX_TAKEN_EIGHTHS {
            self.grow();
        }
        let mut at = self.first_slot(hash);
        loop {
            match self.slots[at] {
                [_, 0] => {
                    self.slots[at] = [hash, new];
                    self.taken += 1;
                    return new;
                }
                [known, row] if known == hash && is_it(row) => return row,
                _ => at = (at + 1) & (self.slots.len() - 1),
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let count = 2 * self.slots.len();
        let old = std::mem::replace(&mut self.slots, vec![[0; 2]; count]);
        for slot in old.into_iter().filter(|slot| slot[1] != 0) {
            let mut at = self.first_slot(slot[0]);
            while self.slots[at][1] != 0 {
                at = (at + 1) & (self.slots.len() - 1);
            }
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn keys_have_the_rows_that_a_map_gives_them() {
        let mut index = RowIndex::default();
        let (mut keys, mut known) = (vec![(0, 0, 0)], HashMap::new());
        for at in 0..200_000u32 {
            let key = (at % 977, at % 31, at % 1013 % 53);
            let new = keys.len() as u32;
            let row = index.find_or_insert(index.hash_of_key(key), new, |row| keys[row as usize] == key);
            assert_eq!(row, *known.entry(key).or_insert(new));
            if row == new {
                keys.push(key);
            }
        }
        assert!(keys.len() > 50_000);
    }
}
