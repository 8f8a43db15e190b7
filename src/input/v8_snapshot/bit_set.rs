//! Sets of numbers.

/// A set of ordinals, or of indices of strings.
#[derive(Debug, Clone, Default)]
pub(super) struct BitSet(Vec<u64>);

impl BitSet {
    pub(super) fn new(len: usize) -> Self {
        BitSet(vec![0; len.div_ceil(64)])
    }

    #[inline]
    pub(super) fn has(&self, at: u32) -> bool {
        self.0.get(at as usize >> 6).is_some_and(|word| word >> (at & 63) & 1 == 1)
    }

    /// The number of bits before each word.
    pub(super) fn ranks(&self) -> Vec<u32> {
        let mut rank = 0;
        let count = |word: &u64| {
            rank += word.count_ones();
            rank - word.count_ones()
        };
        self.0.iter().map(count).collect()
    }

    /// The number of bits before one of them, by `ranks`; `None` for a bit that is not set.
    #[inline]
    pub(super) fn rank(&self, at: u32, ranks: &[u32]) -> Option<usize> {
        let (word, bit) = (*self.0.get(at as usize >> 6)?, 1u64 << (at & 63));
        (word & bit != 0).then(|| ranks[at as usize >> 6] as usize + (word & (bit - 1)).count_ones() as usize)
    }

    /// Forgets numbers from `len` on, but for those in the last word.
    pub(super) fn truncate(&mut self, len: usize) {
        self.0.truncate(len.div_ceil(64));
    }

    pub(super) fn remove(&mut self, at: u32) {
        self.0[at as usize >> 6] &= !(1 << (at & 63));
    }

    /// Adds one; returns true if it is new.
    #[inline]
    pub(super) fn insert(&mut self, at: u32) -> bool {
        let word = &mut self.0[at as usize >> 6];
        let bit = 1 << (at & 63);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}
