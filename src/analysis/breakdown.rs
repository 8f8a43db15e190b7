//! An allocation heap as a tree: backtraces, types, `<self>` and `<other>`; or from the frames that allocate up to their callers.
//!
//! `<other>` is what a node has more than all its children that are shown along one axis; it is never taken along both.
//! Here: the children of a place, and what is left beside those that are shown. Not here: which are shown.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::allocations::{AllocationHeap, NameId};
use crate::analysis::allocation_totals::{AllocationAmount, AllocationTotals};

/// Along which axis a tree is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BreakdownAxes {
    /// Backtraces; types below backtraces that have none below them.
    #[default]
    Backtrace,
    /// Types, and their backtraces below.
    Type,
    /// Every backtrace along both axes.
    Both,
}

/// Meaning of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BreakdownRowKind {
    /// The heap.
    Root,
    /// A frame of a backtrace.
    Backtrace,
    /// A type.
    Type,
    /// Memory allocated at the backtrace itself.
    #[serde(rename = "self")]
    SelfCost,
    /// The remainder that is not told apart.
    Other,
}

impl BreakdownRowKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            BreakdownRowKind::Root => "root",
            BreakdownRowKind::Backtrace => "backtrace",
            BreakdownRowKind::Type => "type",
            BreakdownRowKind::SelfCost => "self",
            BreakdownRowKind::Other => "other",
        }
    }
}

/// Axis of a row: `<self>` and `<other>` exist on both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// Backtraces.
    Backtrace,
    /// Types.
    Type,
}

/// A row of the tree.
#[derive(Debug, Clone, Copy)]
pub struct BreakdownEntry {
    /// Frame, type, or another part of the heap.
    pub kind: BreakdownRowKind,
    /// The axis it is on.
    pub axis: Axis,
    /// The name of a frame or type.
    pub name: Option<NameId>,
    /// The frame, of a tree from the top down.
    pub frame: Option<u32>,
    /// Amount of the row.
    pub amount: AllocationAmount,
}

impl BreakdownEntry {
    /// The heap.
    pub fn root(amount: AllocationAmount) -> Self {
        BreakdownEntry { kind: BreakdownRowKind::Root, axis: Axis::Backtrace, name: None, frame: None, amount }
    }

    /// The remainder of the row beside these of its children along one axis: a row called `<other>`, if that is anything.
    pub fn other_row<'r>(
        &self,
        axis: Axis,
        children: impl IntoIterator<Item = &'r BreakdownEntry>,
    ) -> Option<BreakdownEntry> {
        let mut left = self.amount;
        let mut any = false;
        for BreakdownEntry { amount, .. } in children {
            any = true;
            left.bytes = left.bytes.saturating_sub(amount.bytes);
            left.allocations = left.allocations.zip(amount.allocations).map(|(all, own)| all.saturating_sub(own));
        }
        (any && left.is_nonzero()).then_some(BreakdownEntry {
            kind: BreakdownRowKind::Other,
            axis,
            name: None,
            frame: None,
            amount: left,
        })
    }
}

/// A row, and where in the tree it is; a row called `<other>` is nowhere.
#[derive(Debug, Clone)]
pub struct PositionedRow<P> {
    /// The row.
    pub row: BreakdownEntry,
    /// Position of the row.
    pub position: P,
}

/// A place in the tree.
#[derive(Debug, Clone, Copy)]
pub struct BreakdownPosition {
    frame: u32,
    type_name: Option<NameId>,
    /// Only what was allocated there itself.
    is_exclusive: bool,
}

/// The tree of one heap.
#[derive(Debug, Clone, Copy)]
pub struct BreakdownTree<'a> {
    /// The heap.
    pub heap: &'a AllocationHeap,
    /// Its totals by backtrace.
    pub totals: &'a AllocationTotals,
    /// The axes.
    pub axes: BreakdownAxes,
    /// Types below backtraces, when laid out by backtrace.
    pub shows_types_below_backtraces: bool,
}

/// A node of [`BreakdownTree`].
pub type BreakdownNode = PositionedRow<Option<BreakdownPosition>>;

fn breakdown_node(row: BreakdownEntry, position: BreakdownPosition) -> BreakdownNode {
    PositionedRow { row, position: Some(position) }
}

impl BreakdownTree<'_> {
    /// The heap.
    pub fn root(&self) -> BreakdownNode {
        breakdown_node(
            BreakdownEntry::root(self.totals.total_at(0)),
            BreakdownPosition { frame: 0, type_name: None, is_exclusive: false },
        )
    }

    /// The children along each axis, in the order of the axes. O(children).
    pub fn children(&self, of: &BreakdownNode) -> Vec<(Vec<BreakdownNode>, Axis)> {
        let Some(position) = of.position else { return Vec::new() };
        let BreakdownPosition { frame, type_name, is_exclusive } = position;
        if type_name.is_some() {
            // Below a type there are backtraces, but not where a backtrace has come before and only types follow.
            let stop = self.axes == BreakdownAxes::Backtrace || is_exclusive;
            return if stop { Vec::new() } else { vec![(self.callee_nodes(position), Axis::Backtrace)] };
        }
        let is_root = of.row.kind == BreakdownRowKind::Root;
        let callees =
            if is_exclusive || self.axes == BreakdownAxes::Type { Vec::new() } else { self.callee_nodes(position) };
        let types = match self.axes {
            BreakdownAxes::Type => is_root,
            BreakdownAxes::Both => true,
            BreakdownAxes::Backtrace => callees.is_empty() && self.shows_types_below_backtraces,
        };
        let mut types = if types { self.type_nodes(frame, is_exclusive) } else { Vec::new() };
        // In profiles that know no types the function stands for one.
        types.retain(|of| is_exclusive || of.row.name != Some(self.heap.frames.name(frame)));
        vec![(callees, Axis::Backtrace), (types, Axis::Type)]
    }

    /// Backtraces one level below, of one type or of all, and what the place has itself.
    fn callee_nodes(&self, position: BreakdownPosition) -> Vec<BreakdownNode> {
        let amount_at = |frame: u32| match position.type_name {
            None => Some(self.totals.total_at(frame)),
            Some(type_name) => self.totals.type_amount_at(frame, type_name).map(|amount| amount.total),
        };
        let callees = match position.type_name {
            None => self.totals.callees(position.frame).to_vec(),
            Some(type_name) => self.totals.callees_with_type(position.frame, type_name),
        };
        let mut found: Vec<BreakdownNode> = callees
            .into_iter()
            .filter_map(|frame| {
                let called = self.heap.frames.get(frame);
                let kind = if called.is_self_cost() { BreakdownRowKind::SelfCost } else { BreakdownRowKind::Backtrace };
                let amount = amount_at(frame).filter(|amount| amount.is_nonzero() || amount.is_reported)?;
                let row =
                    BreakdownEntry { kind, axis: Axis::Backtrace, name: Some(called.name), frame: Some(frame), amount };
                Some(breakdown_node(row, BreakdownPosition { frame, is_exclusive: false, ..position }))
            })
            .collect();
        // A type that was allocated at the frame alone, though the frame has others below it: a part called <self> says
        // nothing that the frame does not, and heaps of parts have none there.
        if let (Some(_), [only]) = (position.type_name, &found[..])
            && only.row.kind == BreakdownRowKind::SelfCost
            && self.totals.callees(position.frame).len() > 1
            && amount_at(position.frame).is_some_and(|all| all.has_same_figures(&only.row.amount))
        {
            found.clear();
        }
        let amount = match position.type_name {
            None => self.totals.exclusive_at(position.frame),
            Some(type_name) => self
                .totals
                .type_amount_at(position.frame, type_name)
                .map_or(AllocationAmount::default(), |a| a.exclusive),
        };
        if !found.is_empty() && amount.is_nonzero() {
            let row = BreakdownEntry {
                kind: BreakdownRowKind::SelfCost,
                axis: Axis::Backtrace,
                name: None,
                frame: None,
                amount,
            };
            found.push(breakdown_node(row, BreakdownPosition { is_exclusive: true, ..position }));
        }
        found
    }

    fn type_nodes(&self, frame: u32, is_exclusive: bool) -> Vec<BreakdownNode> {
        let amounts = self.totals.type_amounts_at(frame).iter();
        amounts
            .filter_map(|amount| {
                let type_name = Some(amount.type_name);
                let amount = if is_exclusive { amount.exclusive } else { amount.total };
                if !amount.is_nonzero() && (is_exclusive || !amount.is_reported) {
                    return None;
                }
                let row = BreakdownEntry {
                    kind: BreakdownRowKind::Type,
                    axis: Axis::Type,
                    name: type_name,
                    frame: None,
                    amount,
                };
                Some(breakdown_node(row, BreakdownPosition { frame, type_name, is_exclusive }))
            })
            .collect()
    }
}

/// A part of a node: a backtrace, and the bytes that come from it.
#[derive(Debug, Clone, Copy)]
pub struct FrameShare {
    /// The frame that the node names, of this backtrace.
    frame: u32,
    bytes: u64,
    allocations: Option<u64>,
}

/// A node of [`CallerTree`].
pub type CallerNode = PositionedRow<Vec<FrameShare>>;

/// The inverted tree of one heap. O(backtraces x their depth) for all of it.
///
/// Bytes belong to the last frame of a backtrace. In a dump that was cut, what a frame has more than the frames below it
/// may be its own or that of frames too small to be dumped: that stays `<other>`, and every other figure is "at least".
#[derive(Debug)]
pub struct CallerTree<'a> {
    heap: &'a AllocationHeap,
    /// Some bytes are not told apart by their last frame.
    has_unattributed_bytes: bool,
}

impl<'a> CallerTree<'a> {
    /// The tree and its root. O(backtraces).
    pub fn new(heap: &'a AllocationHeap, totals: &AllocationTotals) -> (Self, CallerNode) {
        let shares = shares_by_last_frame(heap, totals);
        let whole = totals.total_at(0);
        let known: u64 = shares.iter().fold(0, |sum, share| sum.saturating_add(share.bytes));
        let tree = CallerTree { heap, has_unattributed_bytes: known < whole.bytes };
        (tree, PositionedRow { row: BreakdownEntry::root(whole), position: shares })
    }

    /// The children of a node, which gives up its shares.
    pub fn take_children(&self, of: &mut CallerNode) -> Vec<CallerNode> {
        let shares = std::mem::take(&mut of.position);
        let callers =
            if of.row.kind == BreakdownRowKind::Root { shares } else { shares_of_callers(self.heap, &shares) };
        merge_by_frame_name(self.heap, callers, self.has_unattributed_bytes)
    }
}

/// The last frames of backtraces with what is known to be theirs.
fn shares_by_last_frame(heap: &AllocationHeap, totals: &AllocationTotals) -> Vec<FrameShare> {
    let mut shares = Vec::new();
    for frame in 0..heap.frames.len() as u32 {
        let node = heap.frames.get(frame);
        let (at, amount) = if totals.counts_exclusively {
            (frame, totals.exclusive_at(frame))
        } else if !totals.callees(frame).is_empty() || !totals.has_amount_at(frame) {
            continue;
        } else {
            // What a frame called <self> has is its caller's.
            (if node.is_self_cost() { node.parent() } else { frame }, totals.total_at(frame))
        };
        if amount.is_nonzero() {
            shares.push(FrameShare { frame: at, bytes: amount.bytes, allocations: amount.allocations });
        }
    }
    shares
}

fn shares_of_callers(heap: &AllocationHeap, shares: &[FrameShare]) -> Vec<FrameShare> {
    let called = shares.iter().map(|share| FrameShare { frame: heap.frames.parent(share.frame), ..*share });
    called.filter(|share| share.frame != 0).collect()
}

/// Groups by the name of the frame. What belongs to no frame at all is a row of its own.
fn merge_by_frame_name(
    heap: &AllocationHeap,
    shares: Vec<FrameShare>,
    has_unattributed_bytes: bool,
) -> Vec<CallerNode> {
    let mut groups: BTreeMap<Option<NameId>, Vec<FrameShare>> = BTreeMap::new();
    for share in shares {
        let name = (share.frame != 0).then(|| heap.frames.name(share.frame));
        groups.entry(name).or_default().push(share);
    }
    let node = |(name, shares): (Option<NameId>, Vec<FrameShare>)| {
        let mut amount = AllocationAmount {
            is_lower_bound: has_unattributed_bytes,
            is_reported: !has_unattributed_bytes,
            ..AllocationAmount::default()
        };
        for share in &shares {
            amount.bytes = amount.bytes.saturating_add(share.bytes);
            amount.allocations = crate::allocations::add_counts(amount.allocations, share.allocations);
        }
        let (kind, position) = if name.is_some() {
            (BreakdownRowKind::Backtrace, shares)
        } else {
            (BreakdownRowKind::SelfCost, Vec::new())
        };
        PositionedRow { row: BreakdownEntry { kind, axis: Axis::Backtrace, name, frame: None, amount }, position }
    };
    groups.into_iter().map(node).collect()
}
