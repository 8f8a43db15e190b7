//! Numbers of which few are large: the one place where the form of such a column in memory is chosen.

use super::byte_counts::{ByteCounts, PackedBytes};
use crate::parallel;

/// One number in so many may be in the table of large ones, 12 bytes each, for 2 bytes each to be worth it.
const MIN_NUMBERS_PER_LARGE: usize = 8;

/// Numbers by index.
#[derive(Debug)]
pub enum PackedNumbers {
    /// 2 bytes each, and a table of the few that need more.
    Narrow(ByteCounts<u16>),
    /// 4 bytes each, and the table.
    Wide(ByteCounts<u32>),
}

impl PackedNumbers {
    /// The numbers below `count`, each asked for up to three times. O(count), on all threads.
    pub fn collect(count: usize, number: impl Fn(usize) -> u64 + Sync) -> Self {
        let large = parallel::count(count, |at| number(at) >= u16::LARGE.into());
        if large <= count / MIN_NUMBERS_PER_LARGE {
            PackedNumbers::Narrow(ByteCounts::collect(count, number))
        } else {
            PackedNumbers::Wide(ByteCounts::collect(count, number))
        }
    }

    /// The number at `index`, which must be below `len`. O(1), of large ones O(log of how many there are).
    #[inline]
    pub fn get(&self, index: usize) -> u64 {
        match self {
            PackedNumbers::Narrow(numbers) => numbers.get(index),
            PackedNumbers::Wide(numbers) => numbers.get(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_large_numbers_leave_a_column_narrow_and_many_do_not() {
        for (every, is_narrow) in [(7, false), (9, true)] {
            let number = |at: usize| if at % every == 1 { (at as u64) << 20 } else { at as u64 };
            let numbers = PackedNumbers::collect(50_000, number);
            assert_eq!(matches!(numbers, PackedNumbers::Narrow(_)), is_narrow, "every {every}");
            assert!((0..50_000).all(|at| numbers.get(at) == number(at)));
        }
    }
}
