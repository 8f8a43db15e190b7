//! How much a heap has in all, and of each type: what [`Totals`] says of its top, without the rest.
//!
//! `info` asks this of every heap of a file. In a heap of totals what is stated deep below can exceed what is stated
//! above it, so the answer needs the totals of all backtraces after all; but of one type at a time, and none are kept.

use rustc_hash::FxHashMap;

use super::allocation_totals::{Amount, MOST_PAIRS, Totals, TotalsOptions, TypeAmount};
use crate::allocations::{AllocationHeap, Entry, Meaning, NameId};

/// The top of a heap.
#[derive(Debug)]
pub struct Top {
    /// All there is.
    pub total: Amount,
    /// By type, by number of the type's name.
    pub types: Vec<TypeAmount>,
    /// As in [`Totals`].
    pub pairs_left_out: u64,
}

impl Top {
    /// Computes the top. O(frames + entries x depth), memory O(frames + entries).
    pub fn compute(heap: &AllocationHeap) -> Self {
        let by_type = EntriesByType::new(&heap.entries);
        let top = match heap.meaning {
            Meaning::Parts => Some(top_of_parts(&by_type)),
            Meaning::Totals => TopOfTotals::new(heap).run(&by_type),
        };
        top.unwrap_or_else(|| Self::of_totals(heap))
    }

    /// The same from the totals of all backtraces, which knows how to leave pairs out where there are too many.
    fn of_totals(heap: &AllocationHeap) -> Self {
        // Without levels all that is allocated counts at the top, so that its types are all there.
        let totals = Totals::compute(heap, &TotalsOptions { depth: 0, by_type: true, wanted: None });
        Top { total: totals.at(0), types: totals.types(0).to_vec(), pairs_left_out: totals.pairs_left_out }
    }
}

/// The entries that have a type, by type.
struct EntriesByType<'a> {
    entries: &'a [Entry],
    /// (type, its last entry), by type.
    last: Vec<(NameId, usize)>,
    /// By entry: the one before it of the same type.
    before: Vec<Option<u32>>,
}

impl<'a> EntriesByType<'a> {
    fn new(entries: &'a [Entry]) -> Self {
        let mut last: FxHashMap<NameId, usize> = FxHashMap::default();
        let mut before = vec![None; entries.len()];
        for (at, entry) in entries.iter().enumerate() {
            if let Some(type_name) = entry.type_name() {
                before[at] = last.insert(type_name, at).map(|before| before as u32);
            }
        }
        let mut last: Vec<_> = last.into_iter().collect();
        last.sort_unstable();
        EntriesByType { entries, last, before }
    }

    /// The entries of a type, from the one that `last` names backwards.
    fn of(&self, last: usize) -> impl Iterator<Item = &'a Entry> {
        std::iter::successors(Some(last), |&at| self.before[at].map(|at| at as usize)).map(|at| &self.entries[at])
    }
}

fn top_of_parts(by_type: &EntriesByType<'_>) -> Top {
    let mut total = STATED;
    let types = by_type.last.iter().map(|&(type_name, last)| {
        let mut own = STATED;
        by_type.of(last).for_each(|entry| own.add(entry.bytes(), entry.allocations()));
        total.add(own.bytes, own.allocations);
        TypeAmount { type_name, total: own, own }
    });
    Top { types: types.collect(), total, pairs_left_out: 0 }
}

/// Nothing yet of what the dump says itself.
const STATED: Amount = Amount { bytes: 0, allocations: None, stated: true, at_least: false };

/// What is known of a backtrace in the type at hand.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The number of that type; other figures are old.
    turn: u32,
    /// Callees whose totals are not settled yet.
    open: u32,
    stated: Option<Amount>,
    below: Amount,
}

struct TopOfTotals<'a> {
    heap: &'a AllocationHeap,
    known: Vec<Known>,
    turn: u32,
    /// By backtrace: the totals of its types together, if it has any.
    of_types: Vec<Option<Amount>>,
    /// Pairs of backtrace and type that are known from below only.
    inferred: usize,
}

impl<'a> TopOfTotals<'a> {
    fn new(heap: &'a AllocationHeap) -> Self {
        let count = heap.frames.len();
        TopOfTotals { heap, known: vec![Known::default(); count], turn: 0, of_types: vec![None; count], inferred: 0 }
    }

    /// `None` when there are more pairs than are kept in [`Totals`].
    fn run(mut self, by_type: &EntriesByType<'a>) -> Option<Top> {
        let mut types = Vec::with_capacity(by_type.last.len());
        for &(type_name, last) in &by_type.last {
            self.turn += 1;
            let total = self.total_of(|| by_type.of(last));
            types.push(TypeAmount { type_name, total, own: Amount::default() });
            if self.inferred > MOST_PAIRS {
                return None;
            }
        }
        Some(Top { total: self.total(), types, pairs_left_out: 0 })
    }

    /// The total of one type at the top: its entries are passed up from the last backtraces to the first.
    fn total_of<E: Iterator<Item = &'a Entry>>(&mut self, entries: impl Fn() -> E) -> Amount {
        for entry in entries() {
            self.reach(entry.frame());
            let stated = &mut self.known[entry.frame() as usize].stated;
            self.inferred -= usize::from(stated.is_none());
            stated.get_or_insert(STATED).add(entry.bytes(), entry.allocations());
        }
        let mut top = Amount::default();
        for entry in entries() {
            let mut at = entry.frame() as usize;
            // A backtrace is settled when all below it are; whoever settles the last of them goes on with it.
            while self.known[at].open == 0 {
                let known = self.known[at];
                let total = Amount::settle(known.stated, known.below);
                self.of_types[at].get_or_insert_default().add(total.bytes, total.allocations);
                // Not again for a second entry of this backtrace.
                self.known[at].open = u32::MAX;
                if at == 0 {
                    top = total;
                    break;
                }
                at = self.heap.frames[at].parent as usize;
                self.known[at].below.add(total.bytes, total.allocations);
                self.known[at].open -= 1;
            }
        }
        top
    }

    /// Marks a backtrace and its callers as ones that have the type.
    fn reach(&mut self, frame: u32) {
        let (mut at, mut open) = (frame as usize, 0);
        loop {
            let known = &mut self.known[at];
            if known.turn == self.turn {
                known.open += open;
                return;
            }
            *known = Known { turn: self.turn, open, ..Known::default() };
            self.inferred += 1;
            if at == 0 {
                return;
            }
            (at, open) = (self.heap.frames[at].parent as usize, 1);
        }
    }

    /// All there is at the top, types or not.
    fn total(&self) -> Amount {
        let mut stated: Vec<Option<Amount>> = vec![None; self.heap.frames.len()];
        for entry in self.heap.entries.iter().filter(|entry| entry.type_name().is_none()) {
            stated[entry.frame() as usize].get_or_insert(STATED).add(entry.bytes(), entry.allocations());
        }
        let mut below = vec![None::<Amount>; self.heap.frames.len()];
        for at in (1..self.heap.frames.len()).rev() {
            if let Some(total) = Amount::of_all(stated[at], self.of_types[at], below[at]) {
                let below = below[self.heap.frames[at].parent as usize].get_or_insert_default();
                below.add(total.bytes, total.allocations);
            }
        }
        let nothing = Amount { at_least: true, ..Amount::default() };
        Amount::of_all(stated[0], self.of_types[0], below[0]).unwrap_or(nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocations::{HeapBuilder, Names};
    use proptest::prelude::*;

    fn heap(meaning: Meaning, parents: &[usize], entries: &[(usize, u32, u64, u64)]) -> AllocationHeap {
        let mut names = Names::default();
        let types = ["", "A", "B", "C"].map(|name| names.intern(name));
        let mut builder = HeapBuilder::new(types[0]);
        let mut frames = vec![0];
        for (at, &parent) in parents.iter().enumerate() {
            let parent = frames[parent % frames.len()];
            frames.push(builder.frame(parent, names.intern(&at.to_string())));
        }
        for &(frame, type_number, bytes, allocations) in entries {
            let type_name = types.get(type_number as usize).copied().filter(|_| type_number > 0);
            builder.add(Entry::new(frames[frame % frames.len()], type_name, bytes, allocations.checked_sub(1)));
        }
        let (frames, entries) = builder.finish(None);
        let (process, labels, allocator) = (String::new(), String::new(), String::new());
        AllocationHeap { dump: 1, pid: 1, part: 1, process, labels, allocator, meaning, frames, entries }
    }

    proptest! {
        #[test]
        fn the_top_is_that_of_the_totals(
            parts: bool,
            parents in proptest::collection::vec(0usize..64, 0..40),
            entries in proptest::collection::vec((0usize..64, 0u32..4, prop_oneof![0u64..9, Just(u64::MAX)], 0u64..9), 0..60),
        ) {
            let heap = heap(if parts { Meaning::Parts } else { Meaning::Totals }, &parents, &entries);
            let (top, same) = (Top::compute(&heap), Top::of_totals(&heap));
            prop_assert_eq!(top.total, same.total);
            prop_assert_eq!(top.pairs_left_out, same.pairs_left_out);
            let types = |top: &Top| top.types.iter().map(|t| (t.type_name, t.total, t.own)).collect::<Vec<_>>();
            prop_assert_eq!(types(&top), types(&same));
        }
    }
}
