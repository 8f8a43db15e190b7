//! The entries of a heap that are worth dumping, by the rule of the memory-infra format: from the top down along both axes, the
//! children of each axis by size, until they are too small. What is left out is `<other>` to whoever reads the dump.

use rustc_hash::FxHashSet;

use super::allocation_totals::{AllocationAmount, AllocationTotals};
use super::threshold::Percent;
use crate::allocations::{AllocationHeap, NameId};
use crate::sort;

/// Rule by which children are too small.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cutoff {
    /// Nothing is: all that is known is written, what frames have themselves too.
    KeepEverything,
    /// Below so many bytes (Chromium from 53 on).
    BelowBytes(u64),
    /// Below this share of all that was taken so far in their list, itself included (Chromium 48 to 52, with 0.8 %).
    BelowShare(Percent),
}

/// An entry to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenEntry {
    /// The backtrace.
    pub frame: u32,
    /// Only what was allocated there itself.
    pub is_exclusive: bool,
    /// The type; `None` for all.
    pub type_name: Option<NameId>,
    /// Amount of the entry.
    pub amount: AllocationAmount,
}

/// The entries, the heap's total first, then by backtrace and type. What the heap only infers is not among them. O(pairs
/// of backtrace and type that are chosen, and their children).
pub fn select_entries(heap: &AllocationHeap, totals: &AllocationTotals, rule: Cutoff) -> Vec<ChosenEntry> {
    let mut chosen = vec![ChosenEntry { frame: 0, is_exclusive: false, type_name: None, amount: totals.total_at(0) }];
    let mut seen: FxHashSet<(u32, Option<NameId>)> = FxHashSet::default();
    let mut open: Vec<(u32, Option<NameId>)> = vec![(0, None)];
    while let Some((frame, type_name)) = open.pop() {
        // Writers that leave out what is small never wrote what a frame has itself: its context ends there.
        let written = |callee: &u32| rule == Cutoff::KeepEverything || !heap.frames.get(*callee).is_self_cost();
        let callees = match type_name {
            None => totals.callees(frame).to_vec(),
            Some(type_name) => totals.callees_with_type(frame, type_name),
        };
        let callees = callees.into_iter().filter(written).filter_map(|callee| {
            let amount = match type_name {
                None => Some(totals.total_at(callee)),
                Some(type_name) => totals.type_amount_at(callee, type_name).map(|amount| amount.total),
            };
            amount.map(|amount| (callee, type_name, amount))
        });
        let mut lists = vec![callees.collect::<Vec<_>>()];
        if type_name.is_none() {
            let types = totals.type_amounts_at(frame).iter();
            lists.push(types.map(|amount| (frame, Some(amount.type_name), amount.total)).collect());
            // A type's own part below a frame is found from here: the frame's list of types has all of them.
            add_exclusive_entries(totals, frame, rule, &mut chosen);
        }
        for list in lists {
            for (frame, type_name, amount) in children_above_cutoff(list, rule) {
                if seen.insert((frame, type_name)) {
                    if amount.is_reported {
                        chosen.push(ChosenEntry { frame, is_exclusive: false, type_name, amount });
                    }
                    open.push((frame, type_name));
                }
            }
        }
    }
    sort::rows_by_key(&mut chosen, |entry| (entry.frame, entry.is_exclusive, entry.type_name));
    chosen
}

/// Adds the amounts of a frame itself, where it has others below it and everything is written.
fn add_exclusive_entries(totals: &AllocationTotals, frame: u32, rule: Cutoff, chosen: &mut Vec<ChosenEntry>) {
    let own = totals.exclusive_at(frame);
    if rule != Cutoff::KeepEverything || totals.callees(frame).is_empty() || own.bytes == 0 {
        return;
    }
    chosen.push(ChosenEntry { frame, is_exclusive: true, type_name: None, amount: own });
    let types = totals.type_amounts_at(frame).iter().filter(|amount| amount.exclusive.bytes > 0);
    chosen.extend(types.map(|amount| ChosenEntry {
        frame,
        is_exclusive: true,
        type_name: Some(amount.type_name),
        amount: amount.exclusive,
    }));
}

type ChildEntry = (u32, Option<NameId>, AllocationAmount);

fn children_above_cutoff(mut list: Vec<ChildEntry>, rule: Cutoff) -> impl Iterator<Item = ChildEntry> {
    sort::rows_by_key(&mut list, |&(frame, type_name, amount)| (std::cmp::Reverse(amount.bytes), frame, type_name));
    let mut taken = 0u64;
    list.into_iter().take_while(move |(.., amount)| {
        taken = taken.saturating_add(amount.bytes);
        match rule {
            Cutoff::KeepEverything => amount.bytes > 0 || amount.is_reported,
            Cutoff::BelowBytes(bytes) => amount.bytes > 0 && amount.bytes >= bytes,
            Cutoff::BelowShare(share) => amount.bytes > 0 && amount.bytes >= share.share_rounded_up(taken),
        }
    })
}
