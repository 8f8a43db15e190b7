//! An allocation heap as a tree: backtraces, types, `<self>` and `<other>`.
//!
//! `<other>` is what a node has more than all its children that are shown along one axis; it is never taken along both.
//! Here: the children of a place, and what is left beside those that are shown. Not here: which are shown.

use serde::Serialize;

use super::allocation_totals::{Amount, Totals};
use crate::allocations::{AllocationHeap, NameId};

/// Along which axis a tree is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Axes {
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
pub enum Kind {
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

impl Kind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Root => "root",
            Kind::Backtrace => "backtrace",
            Kind::Type => "type",
            Kind::SelfCost => "self",
            Kind::Other => "other",
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
pub struct Row {
    /// Frame, type, or another part of the heap.
    pub kind: Kind,
    /// The axis it is on.
    pub axis: Axis,
    /// The name of a frame or type.
    pub name: Option<NameId>,
    /// Amount of the row.
    pub amount: Amount,
}

impl Row {
    /// The heap.
    pub fn root(amount: Amount) -> Self {
        Row { kind: Kind::Root, axis: Axis::Backtrace, name: None, amount }
    }

    /// The remainder of the row beside these of its children along one axis: a row called `<other>`, if that is anything.
    pub fn other<'r>(&self, axis: Axis, children: impl IntoIterator<Item = &'r Row>) -> Option<Row> {
        let mut left = self.amount;
        let mut any = false;
        for Row { amount, .. } in children {
            any = true;
            left.bytes = left.bytes.saturating_sub(amount.bytes);
            left.allocations = left.allocations.zip(amount.allocations).map(|(all, own)| all.saturating_sub(own));
        }
        (any && left.is_something()).then_some(Row { kind: Kind::Other, axis, name: None, amount: left })
    }
}

/// A row, and where in the tree it is; a row called `<other>` is nowhere.
#[derive(Debug, Clone)]
pub struct Node<P> {
    /// The row.
    pub row: Row,
    /// Position of the row.
    pub position: P,
}

/// A place in the tree.
#[derive(Debug, Clone, Copy)]
pub struct Position {
    frame: u32,
    type_name: Option<NameId>,
    /// Only what was allocated there itself.
    exclusive: bool,
}

/// The tree of one heap.
#[derive(Debug, Clone, Copy)]
pub struct BreakdownTree<'a> {
    /// The heap.
    pub heap: &'a AllocationHeap,
    /// Its totals by backtrace.
    pub totals: &'a Totals,
    /// The axes.
    pub axes: Axes,
    /// Types below backtraces, when laid out by backtrace.
    pub types_below: bool,
}

/// A node of [`BreakdownTree`].
pub type BreakdownNode = Node<Option<Position>>;

fn node(row: Row, position: Position) -> BreakdownNode {
    Node { row, position: Some(position) }
}

impl BreakdownTree<'_> {
    /// The heap.
    pub fn root(&self) -> BreakdownNode {
        node(Row::root(self.totals.at(0)), Position { frame: 0, type_name: None, exclusive: false })
    }

    /// The children along each axis, in the order of the axes. O(children).
    pub fn children(&self, of: &BreakdownNode) -> Vec<(Vec<BreakdownNode>, Axis)> {
        let Some(position) = of.position else { return Vec::new() };
        let Position { frame, type_name, exclusive } = position;
        if type_name.is_some() {
            // Below a type there are backtraces, but not where a backtrace has come before and only types follow.
            let stop = self.axes == Axes::Backtrace || exclusive;
            return if stop { Vec::new() } else { vec![(self.callees(position), Axis::Backtrace)] };
        }
        let is_root = of.row.kind == Kind::Root;
        let callees = if exclusive || self.axes == Axes::Type { Vec::new() } else { self.callees(position) };
        let types = match self.axes {
            Axes::Type => is_root,
            Axes::Both => true,
            Axes::Backtrace => callees.is_empty() && self.types_below,
        };
        let types = if types { self.types(frame, exclusive) } else { Vec::new() };
        vec![(callees, Axis::Backtrace), (types, Axis::Type)]
    }

    /// Backtraces one level below, of one type or of all, and what the place has itself.
    fn callees(&self, position: Position) -> Vec<BreakdownNode> {
        let amount_at = |frame: u32| match position.type_name {
            None => Some(self.totals.at(frame)),
            Some(type_name) => self.totals.of_type(frame, type_name).map(|amount| amount.total),
        };
        let callees = match position.type_name {
            None => self.totals.callees(position.frame).to_vec(),
            Some(type_name) => self.totals.callees_with(position.frame, type_name),
        };
        let mut found: Vec<BreakdownNode> = callees
            .into_iter()
            .filter_map(|frame| {
                let called = self.heap.frames[frame as usize];
                let kind = if called.is_self { Kind::SelfCost } else { Kind::Backtrace };
                let amount = amount_at(frame).filter(|amount| amount.is_something() || amount.is_reported)?;
                let row = Row { kind, axis: Axis::Backtrace, name: Some(called.name), amount };
                Some(node(row, Position { frame, exclusive: false, ..position }))
            })
            .collect();
        // A type that was allocated at the frame alone, though the frame has others below it: a part called <self> says
        // nothing that the frame does not, and heaps of parts have none there.
        if let (Some(_), [only]) = (position.type_name, &found[..])
            && only.row.kind == Kind::SelfCost
            && self.totals.callees(position.frame).len() > 1
            && amount_at(position.frame).is_some_and(|all| all.same_figures(&only.row.amount))
        {
            found.clear();
        }
        let amount = match position.type_name {
            None => self.totals.exclusive(position.frame),
            Some(type_name) => {
                self.totals.of_type(position.frame, type_name).map_or(Amount::default(), |a| a.exclusive)
            }
        };
        if !found.is_empty() && amount.is_something() {
            let row = Row { kind: Kind::SelfCost, axis: Axis::Backtrace, name: None, amount };
            found.push(node(row, Position { exclusive: true, ..position }));
        }
        found
    }

    fn types(&self, frame: u32, exclusive: bool) -> Vec<BreakdownNode> {
        let amounts = self.totals.types(frame).iter();
        amounts
            .filter_map(|amount| {
                let type_name = Some(amount.type_name);
                let amount = if exclusive { amount.exclusive } else { amount.total };
                if !amount.is_something() && (exclusive || !amount.is_reported) {
                    return None;
                }
                let row = Row { kind: Kind::Type, axis: Axis::Type, name: type_name, amount };
                Some(node(row, Position { frame, type_name, exclusive }))
            })
            .collect()
    }
}
