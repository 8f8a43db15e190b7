//! Totals by the names of frames: what each allocated itself (flat), and with all that it called (cum). A stack that a name is
//! on several times counts once.

use rustc_hash::FxHashMap;

use super::allocation_totals::{AllocationAmount, AllocationTotals, TotalsOptions};
use crate::allocations::{AllocationHeap, CountingMode, NameId};

/// Amounts of one name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlatAndCum {
    /// Allocated by frames of the name themselves.
    pub flat: AllocationAmount,
    /// On stacks that have the name.
    pub cum: AllocationAmount,
}

impl FlatAndCum {
    /// Adds those of another heap.
    pub fn add_amounts(&mut self, other: &FlatAndCum) {
        self.flat.add(other.flat.bytes, other.flat.allocations);
        self.cum.add(other.cum.bytes, other.cum.allocations);
    }
}

/// Bytes, and allocations where they are counted.
#[derive(Debug, Clone, Copy)]
struct PackedAmount {
    bytes: u64,
    /// [`NOT_COUNTED`] where they are not.
    allocations: u64,
}

const NOT_COUNTED: u64 = u64::MAX;

impl PackedAmount {
    const NOTHING: PackedAmount = PackedAmount { bytes: 0, allocations: NOT_COUNTED };

    fn of(amount: AllocationAmount) -> Self {
        PackedAmount { bytes: amount.bytes, allocations: amount.allocations.unwrap_or(NOT_COUNTED) }
    }

    fn allocations(self) -> Option<u64> {
        Some(self.allocations).filter(|&count| count != NOT_COUNTED)
    }

    fn add(&mut self, bytes: u64, allocations: Option<u64>) {
        let mut sum = AllocationAmount { bytes: self.bytes, allocations: self.allocations(), ..Default::default() };
        sum.add(bytes, allocations);
        *self = PackedAmount::of(sum);
    }
}

/// Amounts of each frame: what it allocated itself, and with all below it.
#[derive(Debug)]
pub struct AmountsByFrame {
    total: AllocationAmount,
    flat: Vec<PackedAmount>,
    cum: Vec<PackedAmount>,
    /// As in [`AllocationTotals`].
    pub left_out_pair_count: u64,
}

impl AmountsByFrame {
    /// O(frames + entries), 32 bytes a frame where entries say what was allocated at a frame itself; else those of
    /// [`AllocationTotals`].
    pub fn compute(heap: &AllocationHeap) -> Self {
        if heap.counting_mode != CountingMode::Exclusive {
            let totals = AllocationTotals::compute(heap, &TotalsOptions::WHOLE);
            let frames = 0..heap.frames.len() as u32;
            return AmountsByFrame {
                total: totals.total_at(0),
                flat: frames.clone().map(|frame| PackedAmount::of(totals.own_amount(frame))).collect(),
                cum: frames.map(|frame| PackedAmount::of(totals.total_at(frame))).collect(),
                left_out_pair_count: totals.left_out_pair_count,
            };
        }
        let mut flat = vec![PackedAmount::NOTHING; heap.frames.len()];
        for entry in &heap.entries {
            flat[entry.frame() as usize].add(entry.bytes(), entry.allocations());
        }
        if heap.entries.is_empty() {
            // Nothing is missing: nothing was allocated.
            flat[0].allocations = 0;
        }
        let mut cum = flat.clone();
        // Callees have greater numbers.
        for (at, frame) in heap.frames.iter().enumerate().skip(1).rev() {
            let PackedAmount { bytes, .. } = cum[at];
            let allocations = cum[at].allocations();
            cum[frame.parent() as usize].add(bytes, allocations);
        }
        let all = cum[0];
        let total =
            AllocationAmount { bytes: all.bytes, allocations: all.allocations(), ..AllocationAmount::default() };
        AmountsByFrame { total, flat, cum, left_out_pair_count: 0 }
    }

    /// Bytes of a frame with all below it. O(1).
    pub fn cum_bytes(&self, frame: u32) -> u64 {
        self.cum[frame as usize].bytes
    }

    /// All there is.
    pub fn total(&self) -> AllocationAmount {
        self.total
    }
}

/// Amounts by name; the root's is of what has no stack. O(frames), 8 bytes for each.
pub fn totals_by_frame_name(heap: &AllocationHeap, amounts: &AmountsByFrame) -> FxHashMap<NameId, FlatAndCum> {
    const NONE: u32 = u32::MAX;
    let mut first_callee = vec![NONE; heap.frames.len()];
    let mut next_callee = vec![NONE; heap.frames.len()];
    for (at, frame) in heap.frames.iter().enumerate().skip(1).rev() {
        let first = &mut first_callee[frame.parent() as usize];
        next_callee[at] = std::mem::replace(first, at as u32);
    }
    let name_of = |at: u32| {
        let frame = heap.frames.get(at);
        if frame.is_self_cost() { heap.frames.name(frame.parent()) } else { frame.name }
    };
    // By name: its amounts, and its frames between the root and the frame at hand.
    let mut by_name: FxHashMap<NameId, (FlatAndCum, u32)> = FxHashMap::default();
    let mut at = 0;
    'frames: loop {
        let (known, uses) = by_name.entry(name_of(at)).or_default();
        let own = amounts.flat[at as usize];
        known.flat.add(own.bytes, own.allocations());
        if *uses == 0 {
            let cum = if at == 0 { own } else { amounts.cum[at as usize] };
            known.cum.add(cum.bytes, cum.allocations());
        }
        *uses += 1;
        let mut next = first_callee[at as usize];
        while next == NONE {
            by_name.entry(name_of(at)).and_modify(|(_, uses)| *uses -= 1);
            if at == 0 {
                break 'frames;
            }
            next = next_callee[at as usize];
            if next == NONE {
                at = heap.frames.parent(at);
            }
        }
        at = next;
    }
    let is_complete = heap.counting_mode == CountingMode::Exclusive;
    let mut by_name: FxHashMap<NameId, FlatAndCum> =
        by_name.into_iter().map(|(name, (amounts, _))| (name, amounts)).collect();
    // Nothing is missing: what has no entries of its own allocated nothing itself.
    for amounts in by_name.values_mut().filter(|amounts| is_complete && amounts.cum.allocations.is_some()) {
        amounts.flat.allocations.get_or_insert(0);
    }
    by_name
}

/// Bytes on stacks that have any of the names, each stack once. O(frames).
pub fn cum_bytes_of_names(
    heap: &AllocationHeap,
    amounts: &AmountsByFrame,
    mut is_wanted: impl FnMut(NameId) -> bool,
) -> u64 {
    let mut is_below = vec![false; heap.frames.len()];
    let mut bytes = 0u64;
    // Callers have smaller numbers.
    for (at, frame) in heap.frames.iter().enumerate().skip(1) {
        let is_below_caller = is_below[frame.parent() as usize];
        is_below[at] = is_below_caller || !frame.is_self_cost() && is_wanted(frame.name);
        if is_below[at] && !is_below_caller {
            bytes = bytes.saturating_add(amounts.cum[at].bytes);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocations::{AllocationEntry, AllocationHeapBuilder, NameTable};
    use proptest::prelude::*;

    proptest! {
        /// Against the definition: an entry counts flat for the last name of its stack, cum once for each name on it.
        #[test]
        fn a_name_counts_once_for_each_stack(
            stacks in proptest::collection::vec((proptest::collection::vec(0usize..4, 0..6), 0u64..100), 0..30),
        ) {
            let mut names = NameTable::default();
            let ids = ["", "a", "b", "c", "d"].map(|name| names.intern(name));
            let (mut builder, mut expected) = (AllocationHeapBuilder::new(ids[0]), FxHashMap::<NameId, (u64, u64)>::default());
            for (stack, bytes) in &stacks {
                let stack: Vec<NameId> = stack.iter().map(|&name| ids[name + 1]).collect();
                let node = stack.iter().fold(0, |node, &name| builder.find_or_add_frame(node, name));
                builder.add_entry(AllocationEntry::new(node, Some(ids[1]), *bytes, Some(1)));
                expected.entry(stack.last().copied().unwrap_or(ids[0])).or_default().0 += bytes;
                let mut on_stack = if stack.is_empty() { vec![ids[0]] } else { stack };
                on_stack.sort_unstable();
                on_stack.dedup();
                on_stack.iter().for_each(|name| expected.entry(*name).or_default().1 += bytes);
            }
            let (frames, entries) = builder.finish_heap(None);
            let heap = AllocationHeap::alone(String::new(), "", frames, entries);
            let totals = AmountsByFrame::compute(&heap);
            let found = totals_by_frame_name(&heap, &totals);
            let bytes = |name| found.get(name).map_or((0, 0), |amounts: &FlatAndCum| (amounts.flat.bytes, amounts.cum.bytes));
            for (name, expected) in &expected {
                prop_assert_eq!(bytes(name), *expected);
            }
            // Names together: every stack that has one of them.
            let wanted = [ids[1], ids[2]];
            let of_stack = |(stack, bytes): &(Vec<usize>, u64)| if stack.iter().any(|&name| name < 2) { *bytes } else { 0 };
            let together: u64 = stacks.iter().map(of_stack).sum();
            prop_assert_eq!(cum_bytes_of_names(&heap, &totals, |name| wanted.contains(&name)), together);
            prop_assert!(found.iter().all(|(name, amounts)| expected.contains_key(name) || amounts.cum.bytes == 0));
        }
    }
}
