//! What rows can be sorted by, and the words for it.

use super::CommandLine;

/// Orders, each by the words for it: its short name first, then its key as in CSV.
pub type OrderWords<T> = &'static [(&'static [&'static str], T)];

/// What the rows of an answer can be sorted by.
pub trait Order: Copy + Default + PartialEq + 'static {
    /// All orders.
    const WORDS: OrderWords<Self>;

    /// Adds `--sort` where the order is not the default.
    fn add_to(self, line: &mut CommandLine) {
        let named = Self::WORDS.iter().find(|(_, order)| *order == self && self != Self::default());
        line.option("--sort", named.map(|(words, _)| words[0]));
    }
}
