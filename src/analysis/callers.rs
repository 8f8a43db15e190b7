//! The tree turned round: from the frames that allocate up to those that call them.
//!
//! Bytes belong to the last frame of a backtrace. In a dump that was cut, what a frame has more than the frames below it
//! may be its own or that of frames too small to be dumped: that stays `<other>`, and every other figure is "at least".

use std::collections::BTreeMap;

use super::allocation_totals::{Amount, Totals};
use super::breakdown::{Axis, Kind, Node, Row};
use crate::allocations::{AllocationHeap, NameId};

/// A part of a node: a backtrace, and the bytes that come from it.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    /// The frame that the node names, of this backtrace.
    frame: u32,
    bytes: u64,
    allocations: Option<u64>,
}

/// A node of [`CallerTree`].
pub type CallerNode = Node<Vec<Share>>;

/// The inverted tree of one heap. O(backtraces x their depth) for all of it.
#[derive(Debug)]
pub struct CallerTree<'a> {
    heap: &'a AllocationHeap,
    /// Some bytes are not told apart by their last frame.
    is_cut: bool,
}

impl<'a> CallerTree<'a> {
    /// The tree and its root. O(backtraces).
    pub fn new(heap: &'a AllocationHeap, totals: &Totals) -> (Self, CallerNode) {
        let shares = last_frames(heap, totals);
        let whole = totals.at(0);
        let known: u64 = shares.iter().fold(0, |sum, share| sum.saturating_add(share.bytes));
        let tree = CallerTree { heap, is_cut: known < whole.bytes };
        (tree, Node { row: Row::root(whole), position: shares })
    }

    /// The children of a node, which gives up its shares.
    pub fn children(&self, of: &mut CallerNode) -> Vec<CallerNode> {
        let shares = std::mem::take(&mut of.position);
        let callers = if of.row.kind == Kind::Root { shares } else { one_up(self.heap, &shares) };
        by_name(self.heap, callers, self.is_cut)
    }
}

/// The last frames of backtraces with what is known to be theirs.
fn last_frames(heap: &AllocationHeap, totals: &Totals) -> Vec<Share> {
    let mut shares = Vec::new();
    for frame in 0..heap.frames.len() as u32 {
        let node = heap.frames[frame as usize];
        let (at, amount) = if totals.complete {
            (frame, totals.exclusive(frame))
        } else if !totals.callees(frame).is_empty() || !totals.is_known(frame) {
            continue;
        } else {
            // What a frame called <self> has is its caller's.
            (if node.is_self { node.parent } else { frame }, totals.at(frame))
        };
        if amount.is_something() {
            shares.push(Share { frame: at, bytes: amount.bytes, allocations: amount.allocations });
        }
    }
    shares
}

fn one_up(heap: &AllocationHeap, shares: &[Share]) -> Vec<Share> {
    let called = shares.iter().map(|share| Share { frame: heap.frames[share.frame as usize].parent, ..*share });
    called.filter(|share| share.frame != 0).collect()
}

/// Groups by the name of the frame. What belongs to no frame at all is a row of its own.
fn by_name(heap: &AllocationHeap, shares: Vec<Share>, is_cut: bool) -> Vec<CallerNode> {
    let mut groups: BTreeMap<Option<NameId>, Vec<Share>> = BTreeMap::new();
    for share in shares {
        let name = (share.frame != 0).then(|| heap.frames[share.frame as usize].name);
        groups.entry(name).or_default().push(share);
    }
    let node = |(name, shares): (Option<NameId>, Vec<Share>)| {
        let mut amount = Amount { is_lower_bound: is_cut, is_reported: !is_cut, ..Amount::default() };
        for share in &shares {
            amount.bytes = amount.bytes.saturating_add(share.bytes);
            amount.allocations = crate::allocations::add_counts(amount.allocations, share.allocations);
        }
        let (kind, position) = if name.is_some() { (Kind::Backtrace, shares) } else { (Kind::SelfCost, Vec::new()) };
        Node { row: Row { kind, axis: Axis::Backtrace, name, amount }, position }
    };
    groups.into_iter().map(node).collect()
}
