//! The tree turned round: from the frames that allocate up to those that call them.
//!
//! Bytes belong to the last frame of a backtrace. In a dump that was cut, what a frame has more than the frames below it
//! may be its own or that of frames too small to be dumped: that stays `<other>`, and every other figure is "at least".

use std::collections::BTreeMap;

use super::allocation_totals::{Amount, Totals};
use super::breakdown::{Axis, Kind, Layout, Row, TooManyRows, shown};
use crate::allocations::{AllocationHeap, NameId, Names};

/// A part of a node: a backtrace, and the bytes that come from it.
#[derive(Clone, Copy)]
struct Share {
    /// The frame that the node names, of this backtrace.
    frame: u32,
    bytes: u64,
    allocations: Option<u64>,
}

struct Node {
    row: Row,
    shares: Vec<Share>,
}

/// Lays the inverted tree out. O(backtraces x their depth).
///
/// # Errors
/// When there are more rows than the layout allows.
pub fn lay_out_callers(
    heap: &AllocationHeap,
    totals: &Totals,
    names: &Names,
    layout: &Layout,
) -> Result<Vec<Row>, TooManyRows> {
    let shares = last_frames(heap, totals);
    let whole = totals.at(0);
    let told: u64 = shares.iter().fold(0, |sum, share| sum.saturating_add(share.bytes));
    let cut = told < whole.bytes;
    let root = Row { depth: 0, kind: Kind::Root, axis: Axis::Backtrace, name: None, amount: whole, hidden: 0 };
    let mut rows = Vec::new();
    let mut open = vec![Node { row: root, shares }];
    while let Some(node) = open.pop() {
        if rows.len() >= layout.most_rows {
            return Err(TooManyRows);
        }
        rows.push(node.row);
        if node.row.depth >= layout.depth {
            continue;
        }
        let callers = if node.row.kind == Kind::Root { node.shares } else { one_up(heap, &node.shares) };
        let children = by_name(heap, callers, node.row.depth + 1, cut);
        let from = open.len();
        shown(
            children,
            &node.row,
            Axis::Backtrace,
            layout,
            names,
            |child| child.row,
            |child, row| {
                open.push(Node { row, shares: child.map_or(Vec::new(), |child| child.shares.clone()) });
            },
        );
        open[from..].reverse();
    }
    Ok(rows)
}

/// The last frames of backtraces with what is known to be theirs.
fn last_frames(heap: &AllocationHeap, totals: &Totals) -> Vec<Share> {
    let mut shares = Vec::new();
    for frame in 0..heap.frames.len() as u32 {
        let node = heap.frames[frame as usize];
        let (at, amount) = if totals.complete {
            (frame, totals.own(frame))
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
fn by_name(heap: &AllocationHeap, shares: Vec<Share>, depth: u32, cut: bool) -> Vec<Node> {
    let mut groups: BTreeMap<Option<NameId>, Vec<Share>> = BTreeMap::new();
    for share in shares {
        let name = (share.frame != 0).then(|| heap.frames[share.frame as usize].name);
        groups.entry(name).or_default().push(share);
    }
    let node = |(name, shares): (Option<NameId>, Vec<Share>)| {
        let mut amount = Amount { at_least: cut, stated: !cut, ..Amount::default() };
        for share in &shares {
            amount.bytes = amount.bytes.saturating_add(share.bytes);
            amount.allocations = crate::allocations::add_counts(amount.allocations, share.allocations);
        }
        let (kind, shares) = if name.is_some() { (Kind::Backtrace, shares) } else { (Kind::OwnPart, Vec::new()) };
        Node { row: Row { depth, kind, axis: Axis::Backtrace, name, amount, hidden: 0 }, shares }
    };
    groups.into_iter().map(node).collect()
}
