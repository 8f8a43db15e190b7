//! The tree of best paths merged by type and reference.

use rustc_hash::FxHashMap;

use super::best_paths::{BestPaths, NO_ROW, ReferenceCosts, SearchMemory, StartObject};
use super::row_index::{RowIndex, RowKey};
use super::type_role::{CodeOwner, TypeRole};
use crate::graph::{HeapGraph, NodeId, TypeId, prefetch};
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
}

impl MergedRow {
    fn key(&self) -> RowKey {
        (self.parent, self.symbol, self.label)
    }

    /// A row without objects.
    fn new(parent: u32, symbol: u32, label: u32, type_id: TypeId) -> Self {
        MergedRow { parent, symbol, label, type_id, objects: 0, total_bytes: 0, is_folded: false }
    }
}

/// Rows by number; 0 is the top, and each comes behind its parent.
#[derive(Debug)]
pub struct RowTree {
    rows: Vec<MergedRow>,
    paths: BestPaths,
    /// Rows below row `n` are `list[starts[n]..starts[n + 1]]`.
    child_starts: Vec<u32>,
    children: Vec<u32>,
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
    known: RowIndex,
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
                let parent = self.paths.row(parent);
                prefetch(&self.rows, parent as usize);
                let symbol = self.type_roles[self.graph.type_of(ahead).index()].symbol;
                self.known.prefetch(self.known.hash_of_key((parent, symbol, self.paths.label(ahead).0)));
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
                let new = self.rows.len() as u32;
                let rows = &self.rows;
                let hash = self.known.hash_of_key(key);
                let row = self.known.find_or_insert(hash, new, |row| rows[row as usize].key() == key);
                if row == new {
                    self.rows.push(MergedRow::new(parent, key.1, label, type_id));
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
    /// a look-up for each object, for some those of the rows above; 45 to 58 bytes per row, 100 while they come.
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
            rows: vec![MergedRow::new(0, 0, 0, TypeId::new(0))],
            known: RowIndex::default(),
            last: ((0, 0, 0), 0),
            totals_by_type: vec![(0, 0); graph.type_count()],
        };
        parallel::pipe(|reach| paths.find(graph, starts, ways, distances, reach), &mut |objects: &[NodeId]| {
            builder.append(objects)
        });
        let RowBuilder { mut rows, totals_by_type, .. } = builder;
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
        let (mut child_starts, mut children) = (Vec::new(), Vec::new());
        list_children(&rows, &mut child_starts, &mut children);
        RowTree { rows, paths, child_starts, children, totals_by_symbol }
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

    /// Makes rows that are said to be elements such, which makes those of one type below one row one. O(rows + objects), and a
    /// look-up for elements beside them and all below.
    pub(super) fn merge_as_elements(&mut self, is_element: &[bool]) {
        let mut has_new_elements = vec![false; self.rows.len()];
        for (row, _) in self.rows.iter().zip(is_element).filter(|(_, is_element)| **is_element) {
            has_new_elements[row.parent as usize] = true;
        }
        // Others have no row to be one with.
        let mut may_be_repeated = vec![false; self.rows.len()];
        let mut known: FxHashMap<RowKey, u32> = FxHashMap::default();
        let (rows, mut number, mut count) = (&mut self.rows, vec![0u32; is_element.len()], 1);
        for at in 1..rows.len() {
            let row = rows[at];
            let above = row.parent as usize;
            let label = if is_element[at] { ELEMENT_LABEL } else { row.label };
            let (parent, new) = (number[above], count);
            may_be_repeated[at] = may_be_repeated[above] || has_new_elements[above] && label == ELEMENT_LABEL;
            number[at] = match may_be_repeated[at] {
                true => *known.entry((parent, row.symbol, label)).or_insert(new),
                false => new,
            };
            let into = &mut rows[number[at] as usize];
            if number[at] == new {
                *into = MergedRow { parent, label, ..row };
                count += 1;
            } else {
                into.objects += row.objects;
                into.total_bytes = into.total_bytes.saturating_add(row.total_bytes);
                into.is_folded |= row.is_folded;
            }
        }
        rows.truncate(count as usize);
        self.paths.renumber_rows(&number);
        list_children(&self.rows, &mut self.child_starts, &mut self.children);
    }

    /// The rows, each behind its parent.
    pub fn rows(&self) -> &[MergedRow] {
        &self.rows
    }

    /// A row.
    pub fn row(&self, row: u32) -> &MergedRow {
        &self.rows[row as usize]
    }

    /// The rows below a row.
    pub fn rows_below(&self, row: u32) -> &[u32] {
        &self.children[self.child_starts[row as usize] as usize..self.child_starts[row as usize + 1] as usize]
    }

    /// Bytes of a row's own objects. O(rows below it).
    pub(super) fn own_bytes(&self, row: u32) -> u64 {
        let below = self.rows_below(row).iter().map(|&below| self.row(below).total_bytes);
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
                open.extend_from_slice(self.rows_below(row));
            }
        }
        is_around
    }

    /// These rows, none of them below another, and all below them. O(rows in the answer).
    pub fn with_descendants(&self, tops: &[u32]) -> Vec<u32> {
        let mut all = tops.to_vec();
        let mut at = 0;
        while at < all.len() {
            all.extend_from_slice(self.rows_below(all[at]));
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

/// Rows by their parent, in the memory of these lists.
fn list_children(rows: &[MergedRow], starts: &mut Vec<u32>, list: &mut Vec<u32>) {
    starts.clear();
    starts.resize(rows.len() + 1, 0);
    // Every place is written.
    list.resize(rows.len() - 1, 0);
    rows.iter().skip(1).for_each(|row| starts[row.parent as usize] += 1);
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    for (at, row) in rows.iter().enumerate().skip(1).rev() {
        let start = &mut starts[row.parent as usize];
        *start -= 1;
        list[*start as usize] = at as u32;
    }
}
