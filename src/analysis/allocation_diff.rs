//! Two sets of allocation heaps, joined by the names on the way down: what grew.

use rustc_hash::FxHashMap;

use super::allocation_totals::{Amount, Totals, TypeAmount};
use super::diff::{Amounts, Change, delta};
use crate::allocations::{AllocationHeap, NameId, Names, add_counts};

impl Change<Amount> {
    fn bytes_delta(&self) -> i64 {
        delta(self.old.bytes, self.new.bytes)
    }

    fn amounts(&self) -> Change<Amounts> {
        let amounts = |amount: Amount| Amounts { count: amount.allocations, bytes: amount.bytes, retained_bytes: 0 };
        Change { old: amounts(self.old), new: amounts(self.new) }
    }

    fn has_changed(&self) -> bool {
        let figures = |amount: &Amount| (amount.bytes, amount.allocations.unwrap_or(0));
        figures(&self.old) != figures(&self.new)
    }

    fn side(&mut self, new: bool) -> &mut Amount {
        if new { &mut self.new } else { &mut self.old }
    }
}

/// Levels that are told apart; what is deeper counts where it leaves them. A row names all that is above it.
const DEEPEST: u32 = 500;

/// The names of both sides, and the paths and types that they have together.
#[derive(Debug, Default)]
pub struct AllocationDiff {
    names: Names,
    paths: FxHashMap<(u32, NameId), u32>,
    /// (path one level up, name) of each path but 0, which is the top.
    nodes: Vec<(u32, Option<NameId>)>,
    changes: Vec<Change<Amount>>,
    types: FxHashMap<NameId, Change<Amount>>,
}

impl AllocationDiff {
    /// Nothing on either side.
    pub fn new() -> Self {
        AllocationDiff { nodes: vec![(0, None)], changes: vec![Change::default()], ..AllocationDiff::default() }
    }

    /// Adds a heap's types to the old side or the new one. O(types).
    pub fn add_types(&mut self, types: &[TypeAmount], names: &Names, new: bool) {
        for amount in types {
            let name = self.names.intern(names.text(amount.type_name));
            add_amount(self.types.entry(name).or_default().side(new), amount.total);
        }
    }

    /// Adds a heap's backtraces to the old side or the new one, below `prefix`. O(frames).
    pub fn add_paths(
        &mut self,
        heap: &AllocationHeap,
        totals: &Totals,
        names: &Names,
        prefix: Option<&str>,
        new: bool,
    ) {
        let mut top = 0;
        add_amount(self.changes[0].side(new), totals.at(0));
        if let Some(prefix) = prefix {
            let name = self.names.intern(prefix);
            top = self.below(0, name);
            add_amount(self.changes[top as usize].side(new), totals.at(0));
        }
        let mut joined: Vec<u32> = vec![top; heap.frames.len()];
        let mut depths = vec![0u32; heap.frames.len()];
        for (at, frame) in heap.frames.iter().enumerate().skip(1) {
            depths[at] = depths[frame.parent as usize].saturating_add(1);
            let above = joined[frame.parent as usize];
            if depths[at] > DEEPEST {
                joined[at] = above;
                continue;
            }
            let name = self.names.intern(names.text(frame.name));
            joined[at] = self.below(above, name);
            add_amount(self.changes[joined[at] as usize].side(new), totals.at(at as u32));
        }
    }

    fn below(&mut self, above: u32, name: NameId) -> u32 {
        let next = self.nodes.len() as u32;
        *self.paths.entry((above, name)).or_insert_with(|| {
            self.nodes.push((above, Some(name)));
            self.changes.push(Change::default());
            next
        })
    }

    /// Everything together.
    pub fn whole(&self) -> Change<Amounts> {
        self.changes[0].amounts()
    }

    /// Numbers of the names of types in the order of growth, then of name; all of them, or those that changed.
    pub fn types(&self, all: bool) -> Vec<u32> {
        let chosen = self.types.iter().filter(|(_, change)| all || change.has_changed());
        let mut rows: Vec<(NameId, i64)> = chosen.map(|(&name, change)| (name, change.bytes_delta())).collect();
        rows.sort_by(|(a, left), (b, right)| {
            right.cmp(left).then_with(|| self.names.text(*a).cmp(self.names.text(*b)))
        });
        rows.into_iter().map(|(name, _)| name.0).collect()
    }

    /// Numbers of paths in the order of growth, then of first appearance; all of them, or those that changed.
    pub fn paths(&self, all: bool) -> Vec<u32> {
        let mut rows: Vec<u32> =
            (1..self.nodes.len() as u32).filter(|&at| all || self.changes[at as usize].has_changed()).collect();
        rows.sort_by_key(|&at| (std::cmp::Reverse(self.changes[at as usize].bytes_delta()), at));
        rows
    }

    /// Change of a type. O(1).
    pub fn change_of_type(&self, name: u32) -> Change<Amounts> {
        self.types.get(&NameId(name)).map_or_else(|| Change::default().amounts(), Change::amounts)
    }

    /// Change at a path. O(1).
    pub fn change_of_path(&self, path: u32) -> Change<Amounts> {
        self.changes[path as usize].amounts()
    }

    /// The name of a type. O(1).
    pub fn type_name(&self, name: u32) -> &str {
        self.names.text(NameId(name))
    }

    /// The name at the end of a path; empty for the top. O(1).
    pub fn last_name_of(&self, path: u32) -> &str {
        self.nodes[path as usize].1.map_or("", |name| self.names.text(name))
    }

    /// The names on the way down to a path.
    pub fn names_of(&self, path: u32) -> Vec<&str> {
        let mut names = Vec::new();
        let mut at = path;
        while let (above, Some(name)) = self.nodes[at as usize] {
            names.push(self.names.text(name));
            at = above;
        }
        names.reverse();
        names
    }
}

fn add_amount(to: &mut Amount, amount: Amount) {
    to.bytes = to.bytes.saturating_add(amount.bytes);
    to.allocations = add_counts(to.allocations, amount.allocations);
    to.is_lower_bound |= amount.is_lower_bound;
}
