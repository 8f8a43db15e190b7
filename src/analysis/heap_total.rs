//! Amounts of a heap in all, and of each type: those of the top of [`AllocationTotals`], without the rest.
//!
//! `info` asks this of every heap of a file. In a heap of totals what is reported deep below can exceed what is reported
//! above it, so the answer needs the totals of all backtraces after all; but of one type at a time, and none are kept.

use rustc_hash::FxHashMap;

use super::allocation_totals::{
    AllocationAmount, AllocationTotals, TotalsOptions, TypeAmount, max_backtrace_type_pairs,
};
use crate::allocations::{AllocationEntry, AllocationHeap, CountingMode, NameId};

/// Amounts of a heap in all, and of each type.
#[derive(Debug)]
pub struct AllocationHeapTotal {
    /// All there is.
    pub total: AllocationAmount,
    /// By type, by number of the type's name.
    pub type_amounts: Vec<TypeAmount>,
    /// As in [`AllocationTotals`].
    pub left_out_pair_count: u64,
}

impl AllocationHeapTotal {
    /// Computes it without the totals of each backtrace. O(frames + entries x depth), memory O(frames + entries).
    pub fn compute(heap: &AllocationHeap) -> Self {
        if heap.counting_mode == CountingMode::Exclusive {
            return total_of_exclusive_heap(&heap.entries);
        }
        let by_type = EntriesByType::new(&heap.entries);
        HeapTotalComputation::new(heap)
            .compute_if_few_pairs(&by_type)
            .unwrap_or_else(|| Self::from_backtrace_totals(heap))
    }

    /// The same from the totals of all backtraces: slower, but pairs of backtrace and type are left out where there are
    /// too many.
    fn from_backtrace_totals(heap: &AllocationHeap) -> Self {
        // Without levels all that is allocated counts at the top, so that its types are all there.
        let totals =
            AllocationTotals::compute(heap, &TotalsOptions { max_depth: 0, is_by_type: true, is_type_wanted: None });
        AllocationHeapTotal {
            total: totals.total_at(0),
            type_amounts: totals.type_amounts_at(0).to_vec(),
            left_out_pair_count: totals.left_out_pair_count,
        }
    }
}

/// Entries that name a type, sorted by it.
struct EntriesByType {
    /// (type, end of its entries), by type.
    type_ends: Vec<(NameId, usize)>,
    entries: Vec<AllocationEntry>,
}

impl EntriesByType {
    fn new(entries: &[AllocationEntry]) -> Self {
        let typed = || entries.iter().filter_map(|entry| entry.type_name().map(|type_name| (type_name, entry)));
        let mut counts: FxHashMap<NameId, usize> = FxHashMap::default();
        typed().for_each(|(type_name, _)| *counts.entry(type_name).or_default() += 1);
        let mut types: Vec<_> = counts.into_iter().collect();
        types.sort_unstable();
        let mut next: FxHashMap<NameId, usize> = FxHashMap::default();
        let mut end = 0;
        for (type_name, count) in &mut types {
            next.insert(*type_name, end);
            end += *count;
            *count = end;
        }
        let mut sorted = vec![AllocationEntry::new(0, None, 0, None); end];
        for (type_name, entry) in typed() {
            let place = next.entry(type_name).or_default();
            sorted[*place] = *entry;
            *place += 1;
        }
        EntriesByType { type_ends: types, entries: sorted }
    }

    fn iter(&self) -> impl Iterator<Item = (NameId, &[AllocationEntry])> {
        let starts = std::iter::once(0).chain(self.type_ends.iter().map(|&(_, end)| end));
        self.type_ends.iter().zip(starts).map(|(&(type_name, end), start)| (type_name, &self.entries[start..end]))
    }
}

/// The total of a heap that counts at each backtrace what was allocated there itself: the sum of its entries.
fn total_of_exclusive_heap(entries: &[AllocationEntry]) -> AllocationHeapTotal {
    let mut by_type: FxHashMap<NameId, AllocationAmount> = FxHashMap::default();
    for entry in entries {
        let Some(type_name) = entry.type_name() else { continue };
        by_type.entry(type_name).or_insert(ZERO_REPORTED).add(entry.bytes(), entry.allocations());
    }
    let of_type = |(type_name, own)| TypeAmount { type_name, total: own, exclusive: own };
    let mut types: Vec<TypeAmount> = by_type.into_iter().map(of_type).collect();
    types.sort_unstable_by_key(|amount| amount.type_name);
    let mut total = ZERO_REPORTED;
    types.iter().for_each(|amount| total.add(amount.total.bytes, amount.total.allocations));
    if types.is_empty() {
        // Nothing is missing in parts: where there are none, nothing was allocated.
        total.allocations = Some(0);
    }
    AllocationHeapTotal { type_amounts: types, total, left_out_pair_count: 0 }
}

/// Nothing yet of what the dump says itself.
const ZERO_REPORTED: AllocationAmount =
    AllocationAmount { bytes: 0, allocations: None, is_reported: true, is_lower_bound: false };

/// Bytes and allocations of types. There is one for every backtrace, and what is small stays in the processor's cache.
#[derive(Clone, Copy, Default)]
struct TypeSum {
    bytes: u64,
    allocations: u64,
}

/// Flag of a backtrace: it has types, whose amounts are in its [`TypeSum`].
const HAS_TYPES: u8 = 1;
/// Flag of a backtrace: allocations of some of its types are counted.
const HAS_ALLOCATION_COUNTS: u8 = 2;

/// What is known of the type at hand at one backtrace.
struct FrameTypeAmounts {
    frame: u32,
    /// The place of its caller among the backtraces that have the type.
    caller_place: usize,
    /// Callees whose totals are not settled yet.
    unsettled_callees: u32,
    reported: Option<AllocationAmount>,
    below: AllocationAmount,
}

struct HeapTotalComputation<'a> {
    heap: &'a AllocationHeap,
    /// Amounts that are not reported equal what is below, exactly.
    is_complete: bool,
    /// Backtraces that have the type at hand.
    frame_amounts: Vec<FrameTypeAmounts>,
    /// By backtrace: where it is among those, plus `places_base`, plus one; what is not above `places_base` is of
    /// earlier types.
    frame_places: Vec<u32>,
    places_base: u32,
    /// By backtrace: its caller.
    callers: Vec<u32>,
    /// By backtrace: the totals of its types together.
    sums_of_types: Vec<TypeSum>,
    /// By backtrace: which of those there are.
    frame_flags: Vec<u8>,
    /// Pairs of backtrace and type that are known from below only.
    inferred_pair_count: usize,
}

impl<'a> HeapTotalComputation<'a> {
    fn new(heap: &'a AllocationHeap) -> Self {
        let count = heap.frames.len();
        HeapTotalComputation {
            heap,
            is_complete: heap.counting_mode == CountingMode::CompleteInclusive,
            frame_amounts: Vec::new(),
            frame_places: vec![0; count],
            places_base: 0,
            callers: heap.frames.iter().map(|frame| frame.parent()).collect(),
            sums_of_types: vec![TypeSum::default(); count],
            frame_flags: vec![0; count],
            inferred_pair_count: 0,
        }
    }

    /// `None` when there are more pairs than are kept in [`AllocationTotals`].
    fn compute_if_few_pairs(mut self, by_type: &EntriesByType) -> Option<AllocationHeapTotal> {
        let mut types = Vec::with_capacity(by_type.type_ends.len());
        let most = max_backtrace_type_pairs(self.heap);
        for (type_name, entries) in by_type.iter() {
            for entry in entries {
                let place = self.mark_with_callers(entry.frame());
                let reported = &mut self.frame_amounts[place].reported;
                self.inferred_pair_count -= usize::from(reported.is_none());
                reported.get_or_insert(ZERO_REPORTED).add(entry.bytes(), entry.allocations());
            }
            if self.inferred_pair_count > most {
                return None;
            }
            types.push(TypeAmount { type_name, total: self.finish_type(), exclusive: AllocationAmount::default() });
        }
        Some(AllocationHeapTotal { total: self.total_at_top(), type_amounts: types, left_out_pair_count: 0 })
    }

    /// Marks a backtrace and its callers as ones that have the type; gives its place among them.
    fn mark_with_callers(&mut self, frame: u32) -> usize {
        let (mut at, mut callee) = (frame, None);
        loop {
            let place = self.frame_places[at as usize].checked_sub(self.places_base + 1).map(|place| place as usize);
            let caller = place.unwrap_or(self.frame_amounts.len());
            if let Some(callee) = callee {
                let callee: &mut FrameTypeAmounts = &mut self.frame_amounts[callee];
                callee.caller_place = caller;
            }
            if place.is_none() {
                self.frame_amounts.push(FrameTypeAmounts {
                    frame: at,
                    caller_place: 0,
                    unsettled_callees: 0,
                    reported: None,
                    below: AllocationAmount::default(),
                });
                self.frame_places[at as usize] = self.places_base + self.frame_amounts.len() as u32;
                self.inferred_pair_count += 1;
            }
            self.frame_amounts[caller].unsettled_callees += u32::from(callee.is_some());
            if place.is_some() || at == 0 {
                return (self.frame_places[frame as usize] - self.places_base - 1) as usize;
            }
            (at, callee) = (self.callers[at as usize], Some(caller));
        }
    }

    /// The total of the type at the top: its figures are passed up. The next type begins.
    fn finish_type(&mut self) -> AllocationAmount {
        let mut top = AllocationAmount::default();
        for place in 0..self.frame_amounts.len() {
            let mut at = place;
            // A backtrace is settled when all below it are; whoever settles the last of them goes on with it.
            while let FrameTypeAmounts { unsettled_callees: 0, frame, caller_place: caller, reported, below } =
                self.frame_amounts[at]
            {
                let total = AllocationAmount::reconcile(reported, below, self.is_complete);
                self.add_to_sum_of_types(frame as usize, &total);
                self.frame_amounts[at].unsettled_callees = u32::MAX;
                if frame == 0 {
                    top = total;
                    break;
                }
                let caller_known = &mut self.frame_amounts[caller];
                caller_known.below.add(total.bytes, total.allocations);
                caller_known.unsettled_callees -= 1;
                at = caller;
            }
        }
        self.places_base += self.frame_amounts.len() as u32;
        self.frame_amounts.clear();
        top
    }

    fn add_to_sum_of_types(&mut self, frame: usize, total: &AllocationAmount) {
        let sum = &mut self.sums_of_types[frame];
        sum.bytes = sum.bytes.saturating_add(total.bytes);
        sum.allocations = sum.allocations.saturating_add(total.allocations.unwrap_or(0));
        self.frame_flags[frame] |= HAS_TYPES | if total.allocations.is_some() { HAS_ALLOCATION_COUNTS } else { 0 };
    }

    fn sum_of_types(&self, frame: usize) -> Option<AllocationAmount> {
        let (sum, has) = (self.sums_of_types[frame], self.frame_flags[frame]);
        let allocations = (has & HAS_ALLOCATION_COUNTS != 0).then_some(sum.allocations);
        (has & HAS_TYPES != 0).then(|| AllocationAmount {
            bytes: sum.bytes,
            allocations,
            ..AllocationAmount::default()
        })
    }

    /// All there is at the top, types or not.
    fn total_at_top(&self) -> AllocationAmount {
        let mut reported: Vec<Option<AllocationAmount>> = vec![None; self.heap.frames.len()];
        for entry in self.heap.entries.iter().filter(|entry| entry.type_name().is_none()) {
            reported[entry.frame() as usize].get_or_insert(ZERO_REPORTED).add(entry.bytes(), entry.allocations());
        }
        let mut below = vec![None::<AllocationAmount>; self.heap.frames.len()];
        for at in (1..self.heap.frames.len()).rev() {
            if let Some(total) =
                AllocationAmount::of_all_types(reported[at], self.sum_of_types(at), below[at], self.is_complete)
            {
                let below = below[self.callers[at] as usize].get_or_insert_default();
                below.add(total.bytes, total.allocations);
            }
        }
        let nothing = AllocationAmount { is_lower_bound: !self.is_complete, ..AllocationAmount::default() };
        AllocationAmount::of_all_types(reported[0], self.sum_of_types(0), below[0], self.is_complete).unwrap_or(nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocations::{AllocationHeapBuilder, NameTable};
    use proptest::prelude::*;

    fn heap(counting: CountingMode, parents: &[usize], entries: &[(usize, u32, u64, u64)]) -> AllocationHeap {
        let mut names = NameTable::default();
        let types = ["", "A", "B", "C"].map(|name| names.intern(name));
        let mut builder = AllocationHeapBuilder::new(types[0]);
        let mut frames = vec![0];
        for (at, &parent) in parents.iter().enumerate() {
            let parent = frames[parent % frames.len()];
            frames.push(builder.find_or_add_frame(parent, names.intern(&at.to_string())));
        }
        for &(frame, type_number, bytes, allocations) in entries {
            let type_name = types.get(type_number as usize).copied().filter(|_| type_number > 0);
            builder.add_entry(AllocationEntry::new(
                frames[frame % frames.len()],
                type_name,
                bytes,
                allocations.checked_sub(1),
            ));
        }
        let (frames, entries) = builder.finish_heap(None);
        AllocationHeap { counting_mode: counting, ..AllocationHeap::alone(String::new(), "", frames, entries) }
    }

    proptest! {
        #[test]
        fn the_top_is_that_of_the_totals(
            counting in prop_oneof![Just(CountingMode::Inclusive), Just(CountingMode::CompleteInclusive), Just(CountingMode::Exclusive)],
            parents in proptest::collection::vec(0usize..64, 0..40),
            entries in proptest::collection::vec((0usize..64, 0u32..4, prop_oneof![0u64..9, Just(u64::MAX)], 0u64..9), 0..60),
        ) {
            let heap = heap(counting, &parents, &entries);
            let (top, same) = (AllocationHeapTotal::compute(&heap), AllocationHeapTotal::from_backtrace_totals(&heap));
            prop_assert_eq!(top.total, same.total);
            prop_assert_eq!(top.left_out_pair_count, same.left_out_pair_count);
            let types = |top: &AllocationHeapTotal| top.type_amounts.iter().map(|t| (t.type_name, t.total, t.exclusive)).collect::<Vec<_>>();
            prop_assert_eq!(types(&top), types(&same));
        }
    }
}
