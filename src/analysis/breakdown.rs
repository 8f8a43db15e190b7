//! An allocation heap as a tree to be shown: backtraces, types, `<self>` and `<other>`.
//!
//! `<other>` is what a node has more than all its children that are shown along one axis; it is never taken along both.
//! Rows come in the order of a walk down the tree, each with its level; nothing recurses.

use super::allocation_totals::{Amount, Totals};
use crate::allocations::{AllocationHeap, NameId, Names};

/// Along which axis a tree is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Backtraces; types below backtraces that have none below them.
    Backtrace,
    /// Types, and their backtraces below.
    Type,
    /// Every backtrace along both axes.
    Both,
}

/// What a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The heap.
    Root,
    /// A frame of a backtrace.
    Backtrace,
    /// A type.
    Type,
    /// What was allocated at the backtrace itself.
    OwnPart,
    /// What is not told apart.
    Other,
}

/// Which axis a row belongs to: `<self>` and `<other>` exist on both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Backtraces.
    Backtrace,
    /// Types.
    Type,
}

/// A row of the tree.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Level, 0 for the root.
    pub depth: u32,
    /// What it stands for.
    pub kind: Kind,
    /// The axis it is on.
    pub axis: Axis,
    /// The name of a frame or type.
    pub name: Option<NameId>,
    /// How much.
    pub amount: Amount,
    /// Of `<other>`: children that are known and not shown.
    pub hidden: u64,
}

/// How to order children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By bytes, largest first.
    Bytes,
    /// By allocations, most first.
    Allocations,
    /// By name.
    Name,
}

/// What to show.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// The axis.
    pub by: By,
    /// Levels below the root.
    pub depth: u32,
    /// Children with fewer bytes become part of `<other>`.
    pub min_bytes: u64,
    /// Children of a node that are shown, at most.
    pub limit: usize,
    /// Their order.
    pub order: Order,
    /// The order turned round.
    pub reverse: bool,
    /// Types below backtraces, when laid out by backtrace.
    pub types_below: bool,
    /// Rows that there may be.
    pub most_rows: usize,
}

/// Rows that are too many to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyRows;

/// Rows of all trees of an answer, at most.
pub const MOST_ROWS: usize = 1_000_000;

/// A place in the tree.
#[derive(Clone, Copy)]
struct Place {
    frame: u32,
    type_name: Option<NameId>,
    /// Only what was allocated there itself.
    own: bool,
}

/// A node that can be shown.
#[derive(Clone, Copy)]
struct Candidate {
    place: Place,
    row: Row,
}

/// Lays the tree out. O(rows x log), plus children that are not shown.
///
/// # Errors
/// When there are more rows than the layout allows.
pub fn lay_out(
    heap: &AllocationHeap,
    totals: &Totals,
    names: &Names,
    layout: &Layout,
) -> Result<Vec<Row>, TooManyRows> {
    let tree = Tree { heap, totals, layout };
    let root = Candidate {
        place: Place { frame: 0, type_name: None, own: false },
        row: Row { depth: 0, kind: Kind::Root, axis: Axis::Backtrace, name: None, amount: totals.at(0), hidden: 0 },
    };
    let mut rows = Vec::new();
    let mut open = vec![(root, true)];
    while let Some((candidate, has_place)) = open.pop() {
        if rows.len() >= layout.most_rows {
            return Err(TooManyRows);
        }
        rows.push(candidate.row);
        if has_place && candidate.row.depth < layout.depth {
            let from = open.len();
            for (children, axis) in tree.children(&candidate) {
                shown(
                    children,
                    &candidate.row,
                    axis,
                    layout,
                    names,
                    |child| child.row,
                    |child, row| match child {
                        Some(child) => open.push((*child, true)),
                        None => open.push((Candidate { place: candidate.place, row }, false)),
                    },
                );
            }
            open[from..].reverse();
        }
    }
    Ok(rows)
}

/// Chooses and orders children of one axis, and hands them out, what is left last.
pub(super) fn shown<C>(
    mut children: Vec<C>,
    parent: &Row,
    axis: Axis,
    layout: &Layout,
    names: &Names,
    row_of: impl Fn(&C) -> Row,
    mut take: impl FnMut(Option<&C>, Row),
) {
    let known = children.len();
    children.retain(|child| row_of(child).amount.bytes >= layout.min_bytes);
    let text = |row: &Row| row.name.map(|name| names.text(name)).unwrap_or_default();
    children.sort_by(|a, b| {
        let (a, b) = (row_of(a), row_of(b));
        let by_figure = match layout.order {
            Order::Bytes => b.amount.bytes.cmp(&a.amount.bytes),
            Order::Allocations => b.amount.allocations.cmp(&a.amount.allocations),
            Order::Name => std::cmp::Ordering::Equal,
        };
        let order = by_figure.then_with(|| text(&a).cmp(text(&b)));
        let order = if layout.reverse { order.reverse() } else { order };
        (a.kind == Kind::OwnPart).cmp(&(b.kind == Kind::OwnPart)).then(order)
    });
    children.truncate(layout.limit);
    let mut left = parent.amount;
    for child in &children {
        let row = row_of(child);
        left.bytes = left.bytes.saturating_sub(row.amount.bytes);
        left.allocations = left.allocations.zip(row.amount.allocations).map(|(all, own)| all.saturating_sub(own));
        take(Some(child), row);
    }
    let hidden = (known - children.len()) as u64;
    if !children.is_empty() && left.is_something() {
        let row = Row { depth: parent.depth + 1, kind: Kind::Other, axis, name: None, amount: left, hidden };
        take(None, row);
    }
}

struct Tree<'a> {
    heap: &'a AllocationHeap,
    totals: &'a Totals,
    layout: &'a Layout,
}

impl Tree<'_> {
    /// The children along each axis, in the order of the axes.
    fn children(&self, of: &Candidate) -> Vec<(Vec<Candidate>, Axis)> {
        let depth = of.row.depth + 1;
        let Place { frame, type_name, own } = of.place;
        let by = self.layout.by;
        if type_name.is_some() {
            // Below a type there are backtraces, but not where a backtrace has come before and only types follow.
            let stop = by == By::Backtrace || own;
            return if stop { Vec::new() } else { vec![(self.callees(of.place, depth), Axis::Backtrace)] };
        }
        let is_root = of.row.kind == Kind::Root;
        let callees = if own || by == By::Type { Vec::new() } else { self.callees(of.place, depth) };
        let types = match by {
            By::Type => is_root,
            By::Both => true,
            By::Backtrace => callees.is_empty() && self.layout.types_below,
        };
        let types = if types { self.types(frame, own, depth) } else { Vec::new() };
        vec![(callees, Axis::Backtrace), (types, Axis::Type)]
    }

    /// Backtraces one level below, of one type or of all, and what the place has itself.
    fn callees(&self, place: Place, depth: u32) -> Vec<Candidate> {
        let amount_at = |frame: u32| match place.type_name {
            None => Some(self.totals.at(frame)),
            Some(type_name) => self.totals.of_type(frame, type_name).map(|amount| amount.total),
        };
        let callees = match place.type_name {
            None => self.totals.callees(place.frame).to_vec(),
            Some(type_name) => self.totals.callees_with(place.frame, type_name),
        };
        let mut found: Vec<Candidate> = callees
            .into_iter()
            .filter_map(|frame| {
                let node = self.heap.frames[frame as usize];
                let kind = if node.is_self { Kind::OwnPart } else { Kind::Backtrace };
                let amount = amount_at(frame).filter(|amount| amount.is_something() || amount.stated)?;
                let place = Place { frame, own: false, ..place };
                let row = Row { depth, kind, axis: Axis::Backtrace, name: Some(node.name), amount, hidden: 0 };
                Some(Candidate { place, row })
            })
            .collect();
        // A type that was allocated at the frame alone, though the frame has others below it: a part called <self> says
        // nothing that the frame does not, and heaps of parts have none there.
        if let (Some(_), [only]) = (place.type_name, &found[..])
            && only.row.kind == Kind::OwnPart
            && self.totals.callees(place.frame).len() > 1
            && amount_at(place.frame).is_some_and(|all| all.same_figures(&only.row.amount))
        {
            found.clear();
        }
        let own = match place.type_name {
            None => self.totals.own(place.frame),
            Some(type_name) => self.totals.of_type(place.frame, type_name).map_or(Amount::default(), |a| a.own),
        };
        if !found.is_empty() && own.is_something() {
            let row = Row { depth, kind: Kind::OwnPart, axis: Axis::Backtrace, name: None, amount: own, hidden: 0 };
            found.push(Candidate { place: Place { own: true, ..place }, row });
        }
        found
    }

    fn types(&self, frame: u32, own: bool, depth: u32) -> Vec<Candidate> {
        let amounts = self.totals.types(frame).iter();
        amounts
            .filter_map(|amount| {
                let name = amount.type_name;
                let amount = if own { amount.own } else { amount.total };
                if !amount.is_something() && (own || !amount.stated) {
                    return None;
                }
                let place = Place { frame, type_name: Some(name), own };
                let row = Row { depth, kind: Kind::Type, axis: Axis::Type, name: Some(name), amount, hidden: 0 };
                Some(Candidate { place, row })
            })
            .collect()
    }
}

/// The text of a row: its name, or what it stands for.
pub fn row_text<'n>(row: &Row, names: &'n Names) -> &'n str {
    match (row.kind, row.name) {
        (Kind::Root, _) => "/",
        (Kind::Other, _) => "<other>",
        (_, Some(name)) => names.text(name),
        (_, None) => "<self>",
    }
}
