//! Totals by the names of frames: what each allocated itself (flat), and with all that it called (cum). A stack that a name is
//! on several times counts once.

use rustc_hash::FxHashMap;

use super::allocation_totals::{AllocationAmount, AllocationTotals};
use crate::allocations::{AllocationHeap, NameId};

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

/// Amounts by name; the root's is of what has no stack. `totals` are those of all depths. O(frames).
pub fn totals_by_frame_name(heap: &AllocationHeap, totals: &AllocationTotals) -> FxHashMap<NameId, FlatAndCum> {
    let mut by_name: FxHashMap<NameId, FlatAndCum> = FxHashMap::default();
    // Frames of each name between the root and the frame at hand.
    let mut uses: FxHashMap<NameId, u32> = FxHashMap::default();
    let mut open = vec![(0u32, false)];
    while let Some((at, is_done)) = open.pop() {
        let frame = &heap.frames[at as usize];
        let name = if frame.is_self_cost() { heap.frames[frame.parent() as usize].name } else { frame.name };
        if is_done {
            uses.entry(name).and_modify(|uses| *uses -= 1);
            continue;
        }
        let amounts = by_name.entry(name).or_default();
        let own = totals.own(at);
        amounts.flat.add(own.bytes, own.allocations);
        let uses = uses.entry(name).or_default();
        if *uses == 0 {
            let cum = if at == 0 { own } else { totals.total_at(at) };
            amounts.cum.add(cum.bytes, cum.allocations);
        }
        *uses += 1;
        open.push((at, true));
        open.extend(totals.callees(at).iter().map(|&callee| (callee, false)));
    }
    // Nothing is missing: what has no entries of its own allocated nothing itself.
    for amounts in by_name.values_mut().filter(|amounts| totals.is_of_parts && amounts.cum.allocations.is_some()) {
        amounts.flat.allocations.get_or_insert(0);
    }
    by_name
}

/// Bytes on stacks that have any of the names, each stack once. O(frames).
pub fn cum_bytes_of_names(
    heap: &AllocationHeap,
    totals: &AllocationTotals,
    mut is_wanted: impl FnMut(NameId) -> bool,
) -> u64 {
    let mut is_below = vec![false; heap.frames.len()];
    let mut bytes = 0u64;
    // Callers have smaller numbers.
    for (at, frame) in heap.frames.iter().enumerate().skip(1) {
        let is_below_caller = is_below[frame.parent() as usize];
        is_below[at] = is_below_caller || !frame.is_self_cost() && is_wanted(frame.name);
        if is_below[at] && !is_below_caller {
            bytes = bytes.saturating_add(totals.total_at(at as u32).bytes);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocations::{AllocationEntry, CountingMode, HeapBuilder, NameTable};
    use crate::analysis::allocation_totals::TotalsOptions;
    use proptest::prelude::*;

    proptest! {
        /// Against the definition: an entry counts flat for the last name of its stack, cum once for each name on it.
        #[test]
        fn a_name_counts_once_for_each_stack(
            stacks in proptest::collection::vec((proptest::collection::vec(0usize..4, 0..6), 0u64..100), 0..30),
        ) {
            let mut names = NameTable::default();
            let ids = ["", "a", "b", "c", "d"].map(|name| names.intern(name));
            let (mut builder, mut expected) = (HeapBuilder::new(ids[0]), FxHashMap::<NameId, (u64, u64)>::default());
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
            let (process, labels, allocator) = Default::default();
            let counting = CountingMode::Exclusive;
            let heap = AllocationHeap { dump_number: 1, pid: 1, part: 1, process, labels, allocator, counting, frames, entries };
            let totals = AllocationTotals::compute(&heap, &TotalsOptions::WHOLE);
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
