//! The tree of best paths merged by type and reference.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use super::best_paths::{BestPaths, NO_ROW, ReferenceCosts, SearchMemory, StartObject};
use super::type_role::{CodeOwner, TypeRole};
use crate::graph::{HeapGraph, NodeId, TypeId, make_room, prefetch};
use crate::parallel;

/// The label of an element, an entry, a key: it names none in particular.
pub const ELEMENT_LABEL: u32 = 0;
/// The label of a reference from one node of a list to the next or the one before, of objects without a class of their own.
pub const LIST_LINK_LABEL: u32 = (u32::MAX >> 1) - 1;
/// The label of a reference by which the engine knows what an object is: what is reached over it alone is no cause.
pub const METADATA_LABEL: u32 = LIST_LINK_LABEL - 1;
/// Rows above an object in which one of its type is looked for.
const MAX_FOLD_LEVELS: usize = 6;
/// Objects ahead whose columns are asked for.
const PREFETCH_DISTANCE: usize = 16;
/// Rows below one that are looked at for a key, before it is looked up.
const MAX_WALKED_ROWS: usize = 8;

/// What makes a row: the row above, the symbol and the label.
type RowKey = (u32, u32, u32);

/// Like objects that are reached alike.
#[derive(Debug, Clone, Copy)]
pub struct MergedRow {
    /// The row above; the top's is the top.
    pub parent: u32,
    /// The number of the type's name, or of the object's own.
    pub symbol: u32,
    /// The label of the reference from the row above.
    pub label: u32,
    /// The type of the first.
    pub type_id: TypeId,
    /// Objects, but those that are parts of others.
    pub objects: u32,
    /// Bytes of the row and of all below; of its own objects while they come.
    pub total_bytes: u64,
    /// Some of them refer to others of them.
    pub is_folded: bool,
    /// Rows before it below the same parent; 255 where there are more.
    place: u8,
    /// The last row below, 0 where there is none.
    last_below: u32,
    /// The next row beside; of the last the first.
    next: u32,
}

impl MergedRow {
    fn key(&self) -> RowKey {
        (self.parent, self.symbol, self.label)
    }

    /// A row without objects.
    fn new((parent, symbol, label): RowKey, type_id: TypeId) -> Self {
        let (objects, total_bytes, is_folded) = (0, 0, false);
        MergedRow { parent, symbol, label, type_id, objects, total_bytes, is_folded, last_below: 0, next: 0, place: 0 }
    }
}

/// The rows below a row, in their order.
fn rows_below(rows: &[MergedRow], row: u32) -> impl Iterator<Item = u32> {
    let last = rows[row as usize].last_below;
    let first = (last != 0).then(|| rows[last as usize].next);
    std::iter::successors(first, move |&at| (at != last).then(|| rows[at as usize].next))
}

/// Finds the row with a key. Nearly every row has few below it, which stand beside each other: the first few are looked at, and
/// only what comes behind them is in the table, whose hashes no file can foresee.
#[derive(Debug, Default)]
struct RowsByKey(HashMap<RowKey, u32>);

impl RowsByKey {
    /// The row with a key. O(1).
    fn find(&self, rows: &[MergedRow], key: RowKey) -> Option<u32> {
        let mut walked = 0;
        for row in rows_below(rows, key.0).take(MAX_WALKED_ROWS) {
            if rows[row as usize].key() == key {
                return Some(row);
            }
            walked += 1;
        }
        if walked < MAX_WALKED_ROWS { None } else { self.0.get(&key).copied() }
    }

    /// Takes a row out of the table, where that has it for its key.
    fn forget(&mut self, key: RowKey, row: u32) {
        if self.0.get(&key) == Some(&row) {
            self.0.remove(&key);
        }
    }

    /// Puts a new row behind the others below its parent. O(1).
    fn link(&mut self, rows: &mut [MergedRow], new: u32) {
        let key = rows[new as usize].key();
        let last = std::mem::replace(&mut rows[key.0 as usize].last_below, new) as usize;
        let (mut first, mut place) = (new, 0);
        if last != 0 {
            first = std::mem::replace(&mut rows[last].next, new);
            place = rows[last].place.saturating_add(1);
        }
        rows[new as usize] = MergedRow { next: first, place, ..rows[new as usize] };
        if usize::from(place) >= MAX_WALKED_ROWS {
            self.0.insert(key, new);
        }
    }
}

/// Rows by number; 0 is the top, and each comes behind its parent.
#[derive(Debug)]
pub struct RowTree {
    rows: Vec<MergedRow>,
    by_key: RowsByKey,
    paths: BestPaths,
    /// By symbol of a type: objects and bytes of all that is reached.
    totals_by_symbol: FxHashMap<u32, (u64, u64)>,
}

/// Names of objects, and bytes that they hold outside the heap.
#[derive(Debug, Default)]
pub struct ObjectFacts {
    /// Numbers of the names of single objects.
    pub name_symbols: FxHashMap<NodeId, u32>,
    /// Bytes outside the heap.
    pub off_heap_bytes: FxHashMap<NodeId, u64>,
}

/// Rows that are being made of objects on their best ways.
struct RowBuilder<'a> {
    graph: &'a HeapGraph,
    type_roles: &'a [TypeRole],
    facts: &'a ObjectFacts,
    paths: &'a BestPaths,
    rows: Vec<MergedRow>,
    by_key: RowsByKey,
    /// The row that was found last.
    last: (RowKey, u32),
    /// By type: objects and bytes.
    totals_by_type: Vec<(u64, u64)>,
}

impl RowBuilder<'_> {
    /// Puts objects into their rows. A look-up for each, for some those of the rows above.
    fn append(&mut self, objects: &[NodeId]) {
        for (at, &object) in objects.iter().enumerate() {
            if let Some(&ahead) = objects.get(at + 2 * PREFETCH_DISTANCE) {
                self.paths.prefetch(ahead);
            }
            if let Some(&ahead) = objects.get(at + PREFETCH_DISTANCE) {
                self.graph.prefetch_type(ahead);
                self.graph.prefetch_shallow_bytes(ahead);
                self.paths.parent(ahead).into_iter().for_each(|parent| self.paths.prefetch(parent));
            }
            if let Some(&ahead) = objects.get(at + PREFETCH_DISTANCE / 2)
                && let Some(parent) = self.paths.parent(ahead)
            {
                prefetch(&self.rows, self.paths.row(parent) as usize);
            }
            self.append_object(object);
        }
    }

    fn append_object(&mut self, node: NodeId) {
        let (label, is_unexplained) = self.paths.label(node);
        let type_id = self.graph.type_of(node);
        let type_role = &self.type_roles[type_id.index()];
        let above = self.paths.parent(node).filter(|_| !is_unexplained);
        let parent = above.map_or(0, |parent| self.paths.row(parent));
        let own_symbol = if type_role.has_named_objects { self.facts.name_symbols.get(&node).copied() } else { None };
        let folded = match parent {
            0 => None,
            _ => row_to_fold_into(&self.rows, self.type_roles, parent, type_id, label),
        };
        let row = folded.unwrap_or_else(|| {
            let key = (parent, own_symbol.unwrap_or(type_role.symbol), label);
            if self.last.0 != key || self.last.1 == 0 {
                let found = self.by_key.find(&self.rows, key);
                let row = found.unwrap_or(self.rows.len() as u32);
                if found.is_none() {
                    make_room(&mut self.rows, 1);
                    self.rows.push(MergedRow::new(key, type_id));
                    self.by_key.link(&mut self.rows, row);
                }
                self.last = (key, row);
            }
            self.last.1
        });
        self.paths.set_row(node, row);
        let mut bytes = self.graph.shallow_bytes(node);
        if !self.facts.off_heap_bytes.is_empty() {
            bytes = bytes.saturating_add(self.facts.off_heap_bytes.get(&node).copied().unwrap_or(0));
        }
        let into = &mut self.rows[row as usize];
        into.is_folded |= folded == Some(parent);
        into.objects += u32::from(!(type_role.is_composite_text && folded == Some(parent)));
        into.total_bytes = into.total_bytes.saturating_add(bytes);
        let of_type = &mut self.totals_by_type[type_id.index()];
        *of_type = (of_type.0 + 1, of_type.1.saturating_add(bytes));
    }
}

impl RowTree {
    /// Finds the tree of best paths and merges it, beside each other where there are two threads. As `BestPaths::find`, and
    /// a look-up for each object, for some those of the rows above; 40 bytes per row, and 17 to 39 for each behind
    /// the eighth below one.
    pub fn build_with_paths(
        graph: &HeapGraph,
        starts: &[StartObject],
        ways: &mut impl ReferenceCosts,
        type_roles: &[TypeRole],
        facts: &ObjectFacts,
        SearchMemory { distances, paths }: SearchMemory,
    ) -> Self {
        let mut builder = RowBuilder {
            graph,
            type_roles,
            facts,
            paths: &paths,
            rows: vec![MergedRow::new((0, 0, 0), TypeId::new(0))],
            by_key: RowsByKey::default(),
            last: ((0, 0, 0), 0),
            totals_by_type: vec![(0, 0); graph.type_count()],
        };
        parallel::pipe(|reach| paths.find(graph, starts, ways, distances, reach), &mut |objects: &[NodeId]| {
            builder.append(objects)
        });
        let RowBuilder { mut rows, by_key, totals_by_type, .. } = builder;
        rows.shrink_to_fit();
        for at in (1..rows.len()).rev() {
            let parent = rows[at].parent as usize;
            rows[parent].total_bytes = rows[parent].total_bytes.saturating_add(rows[at].total_bytes);
        }
        let mut totals_by_symbol: FxHashMap<u32, (u64, u64)> = FxHashMap::default();
        for (type_role, (objects, bytes)) in type_roles.iter().zip(totals_by_type) {
            let all = totals_by_symbol.entry(type_role.symbol).or_default();
            *all = (all.0 + objects, all.1.saturating_add(bytes));
        }
        RowTree { rows, by_key, paths, totals_by_symbol }
    }

    /// The paths of which the rows are made.
    pub fn paths(&self) -> &BestPaths {
        &self.paths
    }

    /// The same without the rows.
    pub fn into_paths(self) -> BestPaths {
        self.paths
    }

    /// Asks for the row of an object ahead.
    pub(super) fn prefetch_row_of(&self, node: NodeId) {
        self.paths.prefetch(node);
    }

    /// Makes rows that are said to be elements such, which makes those of one type below one row one. A row that became part of
    /// another has no objects any more, and is below none. O(rows + objects).
    pub(super) fn merge_as_elements(&mut self, is_element: &[bool]) {
        let rows = &mut self.rows;
        let mut has_new_elements = vec![false; rows.len()];
        for (row, _) in rows.iter().zip(is_element).filter(|(_, is_element)| **is_element) {
            has_new_elements[row.parent as usize] = true;
        }
        // Only these can have the key of another row.
        let mut may_be_repeated = vec![false; rows.len()];
        let mut number: Vec<u32> = (0..rows.len() as u32).collect();
        let mut is_any_repeated = false;
        for at in 0..rows.len() {
            let mut row = rows[at];
            let above = row.parent as usize;
            let is_linked_anew = at != 0 && row.objects != 0 && (has_new_elements[above] || may_be_repeated[above]);
            if is_linked_anew {
                self.by_key.forget(row.key(), at as u32);
                row.label = if is_element[at] { ELEMENT_LABEL } else { row.label };
                row.parent = number[above];
                may_be_repeated[at] = may_be_repeated[above] || row.label == ELEMENT_LABEL;
            }
            if has_new_elements[at] || may_be_repeated[at] {
                row.last_below = 0;
            }
            rows[at] = row;
            if !is_linked_anew {
                continue;
            }
            // The table still has rows that come later.
            let known = self.by_key.find(rows, row.key()).filter(|&known| may_be_repeated[at] && (known as usize) < at);
            let Some(same) = known else {
                self.by_key.link(rows, at as u32);
                continue;
            };
            (number[at], is_any_repeated) = (same, true);
            rows[at] = MergedRow { objects: 0, total_bytes: 0, ..row };
            let into = &mut rows[same as usize];
            into.objects += row.objects;
            into.total_bytes = into.total_bytes.saturating_add(row.total_bytes);
            into.is_folded |= row.is_folded;
        }
        if is_any_repeated {
            self.paths.renumber_rows(&number);
        }
    }

    /// The rows, each behind its parent; those that a merge emptied have no objects, and are below none.
    pub fn rows(&self) -> &[MergedRow] {
        &self.rows
    }

    /// A row.
    pub fn row(&self, row: u32) -> &MergedRow {
        &self.rows[row as usize]
    }

    /// The rows below a row, in their order.
    pub fn rows_below(&self, row: u32) -> impl Iterator<Item = u32> {
        rows_below(&self.rows, row)
    }

    /// The row with a key. O(1).
    pub(super) fn find(&self, key: RowKey) -> Option<u32> {
        self.by_key.find(&self.rows, key)
    }

    /// Bytes of a row's own objects. O(rows below it).
    pub(super) fn own_bytes(&self, row: u32) -> u64 {
        let below = self.rows_below(row).map(|below| self.row(below).total_bytes);
        self.row(row).total_bytes.saturating_sub(below.fold(0, u64::saturating_add))
    }

    /// The row of an object; `None` of one that is not reached.
    pub fn row_of(&self, node: NodeId) -> Option<u32> {
        Some(self.paths.row(node)).filter(|&row| row != NO_ROW)
    }

    /// Objects and bytes of the types of a name.
    pub fn totals_of_symbol(&self, symbol: u32) -> (u64, u64) {
        self.totals_by_symbol.get(&symbol).copied().unwrap_or_default()
    }

    /// Bytes of the types of each name.
    pub(super) fn bytes_by_symbol(&self) -> impl Iterator<Item = (u32, u64)> {
        self.totals_by_symbol.iter().map(|(&symbol, &(_, bytes))| (symbol, bytes))
    }

    /// By row: true for these and those above them. O(rows).
    pub fn mark_with_ancestors(&self, rows: &[u32]) -> Vec<bool> {
        let mut is_above = vec![false; self.rows.len()];
        for &row in rows {
            let mut at = row;
            while !std::mem::replace(&mut is_above[at as usize], true) {
                at = self.row(at).parent;
            }
        }
        is_above
    }

    /// By row: true for these, those below and those above them. O(rows).
    pub fn mark_with_ancestors_and_descendants(&self, rows: &[u32]) -> Vec<bool> {
        let mut is_around = self.mark_with_ancestors(rows);
        let mut is_below = vec![false; self.rows.len()];
        let mut open = rows.to_vec();
        while let Some(row) = open.pop() {
            if !std::mem::replace(&mut is_below[row as usize], true) {
                is_around[row as usize] = true;
                open.extend(self.rows_below(row));
            }
        }
        is_around
    }

    /// These rows, none of them below another, and all below them. O(rows in the answer).
    pub fn with_descendants(&self, tops: &[u32]) -> Vec<u32> {
        let mut all = tops.to_vec();
        let mut at = 0;
        while at < all.len() {
            all.extend(self.rows_below(all[at]));
            at += 1;
        }
        all
    }
}

/// The row above that an object belongs to: lists, trees and graphs of one type are one row.
fn row_to_fold_into(
    rows: &[MergedRow],
    type_roles: &[TypeRole],
    parent: u32,
    type_id: TypeId,
    label: u32,
) -> Option<u32> {
    let type_role = &type_roles[type_id.index()];
    let above = &type_roles[rows[parent as usize].type_id.index()];
    if type_role.folds_same_type && label != ELEMENT_LABEL && above.symbol == type_role.symbol {
        return Some(parent);
    }
    // Objects without a class go by the reference, and have shapes for types.
    let is_plain = type_role.has_no_own_class;
    let is_link = label == LIST_LINK_LABEL || label != ELEMENT_LABEL && rows[parent as usize].label == label;
    if is_plain && is_link && above.symbol == type_role.symbol {
        return Some(parent);
    }
    let is_own = type_role.owner == CodeOwner::Application && !type_role.is_carrier && !type_role.is_class;
    let mut at = parent;
    // Nothing but links between here and there.
    let mut is_chain = true;
    for _ in 0..MAX_FOLD_LEVELS {
        let between = &type_roles[rows[at as usize].type_id.index()];
        is_chain &= between.is_chain_link || between.has_no_own_class;
        at = rows[at as usize].parent;
        if at == 0 || !(is_own || is_chain) {
            return None;
        }
        let row = &rows[at as usize];
        let is_alike = row.type_id == type_id || is_plain && type_roles[row.type_id.index()].symbol == type_role.symbol;
        if is_alike && (is_own || (row.label == label && label != ELEMENT_LABEL)) {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use proptest::prelude::*;

    use super::*;

    /// A tree of rows with one object each, by parent, symbol and label; rows of a key that is there are left out.
    fn tree(keys: &[(prop::sample::Index, u32, u32)]) -> RowTree {
        let (mut rows, mut by_key) = (vec![MergedRow::new((0, 0, 0), TypeId::new(0))], RowsByKey::default());
        for (parent, symbol, label) in keys {
            let key = (parent.index(rows.len().min(9)) as u32, *symbol, *label);
            if by_key.find(&rows, key).is_none() {
                rows.push(MergedRow { objects: 1, total_bytes: 1 << symbol, ..MergedRow::new(key, TypeId::new(0)) });
                let new = rows.len() as u32 - 1;
                by_key.link(&mut rows, new);
            }
        }
        let steps = (0..rows.len() as u32).map(|row| [AtomicU32::new(0), AtomicU32::new(row)]).collect();
        RowTree { rows, by_key, paths: BestPaths { steps }, totals_by_symbol: FxHashMap::default() }
    }

    /// What `merge_as_elements` means, with all numbered anew: (key, objects, bytes) of each row, and the row of each old one.
    fn merged(tree: &RowTree, is_element: &[bool]) -> (Vec<(RowKey, u32, u64)>, Vec<usize>) {
        let (mut known, mut rows, mut number) = (HashMap::new(), vec![((0, 0, 0), 0, 0)], vec![0]);
        for (row, is_element) in tree.rows.iter().zip(is_element).skip(1) {
            let label = if *is_element { ELEMENT_LABEL } else { row.label };
            let key = (number[row.parent as usize] as u32, row.symbol, label);
            let at = *known.entry(key).or_insert(rows.len());
            if at == rows.len() {
                rows.push((key, 0, 0));
            }
            rows[at] = (key, rows[at].1 + row.objects, rows[at].2 + row.total_bytes);
            number.push(at);
        }
        (rows, number)
    }

    proptest! {
        #[test]
        fn rows_that_become_elements_are_merged_as_when_all_are_numbered_anew(
            keys in prop::collection::vec((any::<prop::sample::Index>(), 1..4u32, 0..9u32), 1..120),
            rounds in prop::collection::vec(prop::collection::vec(0..8u8, 121), 1..4),
        ) {
            let mut tree = tree(&keys);
            for chosen in rounds {
                // The same rows without those that are emptied, and their numbers there.
                let live: Vec<usize> = (0..tree.rows.len()).filter(|&at| at == 0 || tree.rows[at].objects != 0).collect();
                let place = |row: u32| live.binary_search(&(row as usize)).map(|at| at as u32);
                let mut compact = super::tests::tree(&[]);
                compact.rows = live.iter().map(|&at| tree.rows[at]).collect();
                for row in &mut compact.rows {
                    let parent = place(row.parent);
                    prop_assert!(parent.is_ok());
                    row.parent = parent.unwrap_or(0);
                }
                let is_element: Vec<bool> =
                    (0..tree.rows.len()).map(|at| at != 0 && tree.rows[at].objects != 0 && chosen[at] == 0).collect();
                let of_live: Vec<bool> = live.iter().map(|&at| is_element[at]).collect();
                let (expected, number) = merged(&compact, &of_live);
                tree.merge_as_elements(&is_element);
                let new: Vec<u32> =
                    (0..tree.rows.len() as u32).filter(|&at| at == 0 || tree.row(at).objects != 0).collect();
                prop_assert_eq!(new.len(), expected.len());
                let mut linked = 1;
                for (at, &row) in new.iter().enumerate() {
                    let MergedRow { parent, symbol, label, objects, total_bytes, .. } = *tree.row(row);
                    let compact_parent = new.binary_search(&parent);
                    prop_assert!(compact_parent.is_ok() && (parent < row || at == 0));
                    let key = (compact_parent.unwrap_or(0) as u32, symbol, label);
                    prop_assert_eq!((key, objects, total_bytes), expected[at]);
                    prop_assert!(at == 0 || tree.find((parent, symbol, label)) == Some(row));
                    let below: Vec<u32> = tree.rows_below(row).collect();
                    prop_assert!(below.is_sorted() && below.iter().all(|&below| tree.row(below).parent == row));
                    linked += below.len();
                }
                prop_assert_eq!(linked, new.len());
                for (old, &at) in live.iter().zip(&number) {
                    prop_assert_eq!(tree.row_of(NodeId::new(*old)), Some(new[at]));
                }
            }
        }
    }

    #[test]
    fn rows_have_the_numbers_that_a_map_gives_their_keys_and_stand_below_their_parents_in_order() {
        let (mut rows, mut by_key) = (vec![MergedRow::new((0, 0, 0), TypeId::new(0))], RowsByKey::default());
        let mut known = HashMap::new();
        for at in 0..200_000u32 {
            // Most have a few below them, some thousands.
            let parent = if at % 5 == 0 { at % 7 } else { at % 70_001 };
            let key = (parent.min(rows.len() as u32 - 1), at % 31, at % 1013 % 53);
            let new = rows.len() as u32;
            let found = by_key.find(&rows, key);
            assert_eq!(found, known.get(&key).copied());
            if found.is_none() {
                known.insert(key, new);
                rows.push(MergedRow::new(key, TypeId::new(0)));
                by_key.link(&mut rows, new);
            }
        }
        let mut below = vec![Vec::new(); rows.len()];
        (1..rows.len()).for_each(|at| below[rows[at].parent as usize].push(at as u32));
        assert!(below.iter().any(|below| below.len() > 1000) && below.iter().any(|below| below.len() == 1));
        for (at, below) in below.iter().enumerate() {
            assert_eq!(rows_below(&rows, at as u32).collect::<Vec<_>>(), *below);
        }
    }
}
