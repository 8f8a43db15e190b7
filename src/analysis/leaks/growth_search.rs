//! The walk after what grew, from the top of the rows to where it spreads over like objects.

use rustc_hash::{FxHashMap, FxHashSet};

use super::row_tree::{METADATA_LABEL, MergedRow, RowTree};
use super::type_role::{CodeOwner, TypeRole};
use crate::analysis::diff::saturating_delta;
use crate::analysis::threshold::Threshold;

/// Nothing that grew by less is a cause, unless that is asked for.
pub(super) const MIN_GROWTH_BYTES: u64 = 64 << 10;
/// More objects explain a row's growth where they make up so much of it.
const MIN_GROWTH_SHARE_BY_COUNT: f64 = 0.5;
/// An element has so much of the growth below the rows that grew;
const MIN_ELEMENT_GROWTH_SHARE: f64 = 0.25;
/// or there is one in every second of what grew, with so much of the growth.
const MIN_ELEMENTS_PER_OBJECT: f64 = 0.5;
const MIN_FREQUENT_ELEMENT_GROWTH_SHARE: f64 = 0.04;
/// The same of the program's own types: what is kept with each of them, as contexts of functions, may be much larger.
const MIN_FREQUENT_OWN_ELEMENT_GROWTH_SHARE: f64 = 0.02;
/// Without an older dump: so many times the objects of the row above are a collection.
const MIN_OBJECTS_PER_PARENT: u64 = 10;
/// Levels below the rows that grew in which the element is looked for.
const MAX_ELEMENT_LEVELS: usize = 20;
/// Types beside the element are told with it where there is one object of them for so many of the element's.
const MAX_ELEMENTS_PER_NEIGHBOUR: u64 = 4;
/// A list's nodes give way to what they carry where there is one for so many of them.
const MIN_ELEMENTS_PER_LIST_NODE: f64 = 0.9;
/// A path has moved where less than this share of the new objects is new in the whole heap.
const MIN_NEW_OBJECTS_SHARE_OF_HEAP: f64 = 0.5;

/// A place that grew, and the type that is kept there.
#[derive(Debug, Clone, PartialEq)]
pub struct GrownPlace {
    /// Rows of like objects that grew in number, side by side, ascending; below each row they are one.
    pub rows: Vec<u32>,
    /// The row of what is kept.
    pub element_row: u32,
    /// Objects of the element's name below the rows.
    pub element_objects: u64,
    /// The same in the older dump.
    pub element_objects_old: u64,
    /// Rows of other types in the same place, of as many objects almost, the most first; with the same figures.
    pub neighbour_types: Vec<(u32, u64, u64)>,
    /// Bytes by which the rows grew, all below them included.
    pub growth_bytes: u64,
    /// More objects explain that, or many; else it is one thing that is large.
    pub grew_in_number: bool,
}

/// The rows of a dump beside those of an older one.
pub struct GrowthSearch<'s> {
    new_tree: &'s RowTree,
    old_tree: Option<&'s RowTree>,
    type_roles: &'s [TypeRole],
    /// By row of the newer dump: that of the older one with the same path of keys. Empty without an older dump.
    old_row_by_row: Vec<Option<u32>>,
    threshold_bytes: u64,
}

impl<'s> GrowthSearch<'s> {
    /// Joins the rows of both dumps. The least growth of a cause is a share of all that grew, by type; without an older
    /// dump of all. O(rows).
    pub fn new(new: &'s RowTree, old: Option<&'s RowTree>, type_roles: &'s [TypeRole], least: Threshold) -> Self {
        let old_rows = old.map_or_else(Vec::new, |old| join_rows(new, old));
        let whole = match old {
            Some(old) => {
                let grown =
                    new.bytes_by_symbol().map(|(symbol, bytes)| bytes.saturating_sub(old.totals_of_symbol(symbol).1));
                grown.fold(0, u64::saturating_add)
            }
            None => new.row(0).total_bytes,
        };
        let threshold = match least {
            Threshold::Share(_) if old.is_some() => least.min_bytes_of(whole).max(MIN_GROWTH_BYTES),
            _ => least.min_bytes_of(whole).max(1),
        };
        GrowthSearch { new_tree: new, old_tree: old, type_roles, old_row_by_row: old_rows, threshold_bytes: threshold }
    }

    /// The least growth of a cause.
    pub fn threshold_bytes(&self) -> u64 {
        self.threshold_bytes
    }

    /// The row of the older dump that a row is joined with.
    pub fn old_row_number(&self, row: u32) -> Option<u32> {
        self.old_row_by_row.get(row as usize).copied().flatten()
    }

    fn row(&self, row: u32) -> &MergedRow {
        self.new_tree.row(row)
    }

    fn type_role(&self, row: u32) -> &TypeRole {
        &self.type_roles[self.row(row).type_id.index()]
    }

    fn old_row(&self, row: u32) -> Option<&MergedRow> {
        Some(self.old_tree?.row(self.old_row_number(row)?))
    }

    /// Bytes by which a row grew with all below it.
    pub fn growth_bytes(&self, row: u32) -> i64 {
        let before = self.old_row(row).map_or(0, |before| before.total_bytes);
        saturating_delta(before, self.row(row).total_bytes)
    }

    fn new_object_count(&self, row: u32) -> u64 {
        let before = self.old_row(row).map_or(0, |before| before.objects);
        u64::from(self.row(row).objects.saturating_sub(before))
    }

    fn grew_by_at_least(&self, row: u32, least: u64) -> bool {
        u64::try_from(self.growth_bytes(row)).is_ok_and(|growth| growth >= least)
    }

    /// True where more objects explain the growth.
    fn is_explained_by_count(&self, row: u32) -> bool {
        let objects = u64::from(self.row(row).objects);
        if self.old_tree.is_none() {
            let grew_in_number =
                objects >= MIN_OBJECTS_PER_PARENT * u64::from(self.row(self.row(row).parent).objects.max(1));
            return grew_in_number && !self.leads_to_more_objects(row);
        }
        let new = self.new_object_count(row) as f64 / objects.max(1) as f64;
        new > 0.0 && new * self.row(row).total_bytes as f64 >= MIN_GROWTH_SHARE_BY_COUNT * self.growth_bytes(row) as f64
    }

    /// True where the way of most bytes leads to more objects below each of a row than the row has: there the walk goes on.
    fn leads_to_more_objects(&self, row: u32) -> bool {
        let (top, mut at) = (self.row(row), row);
        let objects = u64::from(top.objects);
        let least = objects * objects.max(MIN_OBJECTS_PER_PARENT);
        while !self.type_role(at).is_notable {
            let below = || self.new_tree.rows_below(at);
            let Some(largest) = below().max_by_key(|&below| self.row(below).total_bytes) else { break };
            let label = self.row(largest).label;
            let alike = || below().map(|below| self.row(below)).filter(|row| row.label == label);
            let bytes = alike().fold(0, |sum: u64, row| sum.saturating_add(row.total_bytes));
            if (bytes as f64) < MIN_GROWTH_SHARE_BY_COUNT * top.total_bytes as f64 || self.type_role(largest).is_notable
            {
                break;
            }
            if alike().map(|row| u64::from(row.objects)).sum::<u64>() > least {
                return true;
            }
            at = largest;
        }
        false
    }

    /// So many of what grew at most, that which grew most first. O(rows) beside the sorting: a row is below one candidate,
    /// save where one for each of several stands for it, and only those that are needed are looked into.
    pub fn find_grown_places(&self, most: usize) -> Vec<GrownPlace> {
        let growth = |rows: &Vec<u32>| rows.iter().map(|&row| self.growth_bytes(row)).sum::<i64>().max(0);
        let mut found = self.candidate_rows(false);
        if found.is_empty() {
            found = self.candidate_rows(true);
        }
        found.sort_by_cached_key(|(rows, _)| std::cmp::Reverse(growth(rows)));
        found
            .into_iter()
            .filter_map(|(rows, grew_in_number)| self.grown_place(rows, grew_in_number))
            .take(most)
            .collect()
    }

    /// Rows that grew in number, side by side, in the order of the walk; without an older dump those too that are only large. What
    /// the engine knows objects by, as prototypes, is none of these unless it is asked for.
    fn candidate_rows(&self, with_metadata: bool) -> Vec<(Vec<u32>, bool)> {
        // With each row the highest of those above that have as many objects, where there are several.
        let (mut found, mut open) = (Vec::new(), vec![(0, 0)]);
        let mut is_known = FxHashSet::default();
        while let Some((row, one_each)) = open.pop() {
            // The runtime's own data is not looked into, but where the program refers to it and it leads on.
            let is_runtime_metadata = |below: u32| {
                self.type_role(below).is_runtime_metadata && (row == 0 || !self.type_role(below).is_chain_link)
                    || !with_metadata
                        && self.row(below).label == METADATA_LABEL
                        && self.type_role(below).has_no_own_class
            };
            let large =
                |below: &u32| self.grew_by_at_least(*below, self.threshold_bytes) && !is_runtime_metadata(*below);
            let large: Vec<u32> = self.new_tree.rows_below(row).filter(large).collect();
            let (mut more, fewer): (Vec<u32>, Vec<u32>) =
                large.iter().partition(|&&row| self.is_explained_by_count(row));
            let objects = self.row(row).objects;
            let is_same = |below: u32| row != 0 && objects > 1 && self.row(below).objects == objects;
            open.extend(fewer.into_iter().map(|below| (below, if is_same(below) { one_each } else { below })));
            if !more.is_empty() {
                more.extend(self.companion_rows(row, &more));
                more.sort_unstable();
                found.push((more, true));
            } else if large.is_empty()
                && row != 0
                && !self.type_role(row).is_runtime_metadata
                && self.grew_by_at_least(row, self.threshold_bytes)
            {
                found.extend(
                    self.growth_spread_below(row, one_each)
                        .filter(|(rows, _)| rows[..] != [one_each] || is_known.insert(one_each)),
                );
            }
        }
        found
    }

    /// Small objects of the program's own beside those that grew, one for every second of them: what is in these may be
    /// reached the shorter way.
    fn companion_rows(&self, row: u32, more: &[u32]) -> Vec<u32> {
        let growth: i64 = more.iter().map(|&row| self.growth_bytes(row)).sum();
        let new_objects = more.iter().map(|&row| self.new_object_count(row)).max().unwrap_or(0);
        let least = ((MIN_FREQUENT_ELEMENT_GROWTH_SHARE * growth as f64) as u64).max(1);
        let is_one = |below: &u32| {
            self.type_role(*below).owner == CodeOwner::Application
                && !self.grew_by_at_least(*below, self.threshold_bytes)
                && self.grew_by_at_least(*below, least)
                && self.is_explained_by_count(*below)
                && self.new_object_count(*below) as f64 >= MIN_ELEMENTS_PER_OBJECT * new_objects as f64
        };
        self.new_tree.rows_below(row).filter(is_one).collect()
    }

    /// Rows below one that grew though none of them did by enough: all that grew in number; else the row itself, as the
    /// highest that has as many objects, for what each of several has is explained with them.
    fn growth_spread_below(&self, row: u32, one_each: u32) -> Option<(Vec<u32>, bool)> {
        let grew = |below: &u32| self.grew_by_at_least(*below, 1) && self.is_explained_by_count(*below);
        let below: Vec<u32> = self.new_tree.rows_below(row).filter(grew).collect();
        let together: i64 = below.iter().map(|&row| self.growth_bytes(row)).sum();
        if together as u64 >= self.threshold_bytes / 2 && !below.is_empty() {
            return Some((below, true));
        }
        let before = self.old_tree.zip(self.old_row_number(row)).map_or(0, |(old, before)| old.own_bytes(before));
        let is_itself = self.new_tree.own_bytes(row).saturating_sub(before) >= self.threshold_bytes / 2;
        let grew_in_number = is_itself && (self.old_tree.is_some() || self.row(one_each).objects > 1);
        (is_itself || self.old_tree.is_none()).then(|| (vec![one_each], grew_in_number))
    }

    /// The type that rows keep, with its figures; `None` if the whole heap has no more of it than before: then it is only reached another way.
    fn grown_place(&self, rows: Vec<u32>, grew_in_number: bool) -> Option<GrownPlace> {
        let element = if grew_in_number { self.kept_element_row(&rows) } else { rows[0] };
        let symbol = self.row(element).symbol;
        let old_rows: Vec<u32> = rows.iter().filter_map(|&row| self.old_row_number(row)).collect();
        let counts = |like: u32| self.count_alike(like, &rows, &old_rows);
        let (objects, objects_old) = counts(element);
        if let Some(old) = self.old_tree {
            let in_heap = |tree: &RowTree| tree.totals_of_symbol(symbol).0;
            let more = objects.saturating_sub(objects_old) as f64;
            let more_in_heap = in_heap(self.new_tree).saturating_sub(in_heap(old)) as f64;
            // Named objects are no type: nothing is known of them.
            let is_type = self.type_roles[self.row(element).type_id.index()].symbol == symbol;
            if more > 0.0 && is_type && more_in_heap < MIN_NEW_OBJECTS_SHARE_OF_HEAP * more {
                return None;
            }
        }
        let growth: i64 = rows.iter().map(|&row| self.growth_bytes(row)).sum();
        let growth = u64::try_from(growth).unwrap_or(0);
        let mut neighbour_types: Vec<(u32, u64, u64)> = Vec::new();
        if grew_in_number {
            let others = self.rows_beside(element, &rows).map(|row| (row, counts(row)));
            neighbour_types.extend(others.map(|(row, (objects, objects_old))| (row, objects, objects_old)));
            neighbour_types.sort_by_key(|&(_, objects, _)| std::cmp::Reverse(objects));
            // Nodes that carry one each have all of them; of more some are the keys of the others.
            let carriers = u64::from(self.row(self.row(element).parent).objects);
            let all = neighbour_types.iter().fold(objects, |sum, (_, objects, _)| sum + objects);
            if carriers >= objects && all > carriers + carriers / MIN_OBJECTS_PER_PARENT {
                neighbour_types.clear();
            }
        }
        Some(GrownPlace {
            element_row: element,
            element_objects: objects,
            element_objects_old: objects_old,
            neighbour_types,
            growth_bytes: growth,
            grew_in_number,
            rows,
        })
    }

    /// Objects below the rows that are of the type of one of them, and the same in the older dump. Objects without a class are all
    /// of one type: what they have inside is none of them, but where it has their shape. O(rows below).
    fn count_alike(&self, like: u32, rows: &[u32], old_rows: &[u32]) -> (u64, u64) {
        let (symbol, type_id) = (self.row(like).symbol, self.row(like).type_id);
        // With each row those of the symbol from the top down to it.
        let alike = |tree: &RowTree, tops: &[u32]| {
            let (mut open, mut at) = (tops.iter().map(|&top| (top, 0u32)).collect::<Vec<_>>(), 0);
            while let Some((row, levels)) = open.get_mut(at) {
                *levels += u32::from(tree.row(*row).symbol == symbol);
                let (row, levels) = (*row, *levels);
                open.extend(tree.rows_below(row).map(|below| (below, levels)));
                at += 1;
            }
            open.retain(|&(row, _)| tree.row(row).symbol == symbol);
            open
        };
        let sum =
            |tree: &RowTree, rows: &[(u32, u32)]| rows.iter().map(|&(row, _)| u64::from(tree.row(row).objects)).sum();
        let mut new = alike(self.new_tree, rows);
        let mut old = self.old_tree.map_or_else(Vec::new, |old| alike(old, old_rows));
        if self.type_role(like).has_no_own_class {
            let levels = new.iter().find(|&&(row, _)| row == like).map(|&(_, levels)| levels);
            new.retain(|&(row, at)| Some(at) == levels || self.row(row).type_id == type_id);
            let partners: FxHashSet<u32> = new.iter().filter_map(|&(row, _)| self.old_row_number(row)).collect();
            old.retain(|&(row, at)| Some(at) == levels || partners.contains(&row));
        }
        (sum(self.new_tree, &new), self.old_tree.map_or(0, |tree| sum(tree, &old)))
    }

    /// The first level below the rows with a type of the program's own that has its share of the growth; where there is none
    /// a library's, then the runtime's.
    fn kept_element_row(&self, rows: &[u32]) -> u32 {
        let total: i64 = rows.iter().map(|&row| self.growth_bytes(row)).sum();
        let most_new = rows.iter().map(|&row| self.new_object_count(row)).max().unwrap_or(0);
        let is_large = |row: u32| {
            let growth = self.growth_bytes(row) as f64;
            let least_share = match self.type_role(row).owner {
                CodeOwner::Application => MIN_FREQUENT_OWN_ELEMENT_GROWTH_SHARE,
                _ => MIN_FREQUENT_ELEMENT_GROWTH_SHARE,
            };
            growth >= MIN_ELEMENT_GROWTH_SHARE * total as f64
                || growth >= least_share * total as f64
                    && self.new_object_count(row) as f64 >= MIN_ELEMENTS_PER_OBJECT * most_new as f64
        };
        // By rank: the level and the row.
        let mut best: FxHashMap<(CodeOwner, bool), (usize, u32)> = FxHashMap::default();
        let mut level: Vec<u32> = rows.to_vec();
        for depth in 0..MAX_ELEMENT_LEVELS {
            for &row in &level {
                let type_role = self.type_role(row);
                if type_role.is_notable {
                    return row;
                }
                if type_role.is_carrier && !type_role.has_no_own_class
                    || type_role.is_runtime_metadata
                    || !is_large(row)
                {
                    continue;
                }
                let best = best.entry((type_role.owner, type_role.is_class)).or_insert((depth, row));
                if best.0 == depth && self.growth_bytes(row) > self.growth_bytes(best.1) {
                    *best = (depth, row);
                }
            }
            level = level.iter().flat_map(|&row| self.new_tree.rows_below(row)).filter(|&row| is_large(row)).collect();
            if level.is_empty() {
                break;
            }
        }
        let largest = rows.iter().copied().max_by_key(|&row| self.growth_bytes(row)).unwrap_or(0);
        let element = best.iter().min_by_key(|(rank, _)| **rank).map_or(largest, |(_, &(_, row))| row);
        self.carried_row(element).unwrap_or(element)
    }

    /// Rows of other types that are in the same place as the element: a list may hold several.
    fn rows_beside(&self, element: u32, rows: &[u32]) -> impl Iterator<Item = u32> {
        let (own, type_role) = (self.row(element), *self.type_role(element));
        let is_top = rows.contains(&element);
        let is_beside = move |below: &u32| {
            let (row, other) = (self.row(*below), self.type_role(*below));
            *below != element
                && row.label == own.label
                && other.owner == type_role.owner
                && !(other.is_carrier || other.is_runtime_metadata || other.is_class)
                && u64::from(row.objects) * MAX_ELEMENTS_PER_NEIGHBOUR >= u64::from(own.objects)
                && (self.old_tree.is_none() || self.new_object_count(*below) > 0)
                && (!is_top || rows.contains(below))
        };
        self.new_tree.rows_below(own.parent).filter(is_beside)
    }

    /// The row that the nodes of a list of the program's own carry, or objects of a class without a name.
    fn carried_row(&self, element: u32) -> Option<u32> {
        let type_role = self.type_role(element);
        if !(type_role.is_anonymous || type_role.is_list_node && self.row(element).is_folded) {
            return None;
        }
        let nodes = f64::from(self.row(element).objects);
        let carries = |below: &u32| {
            let type_role = self.type_role(*below);
            !type_role.is_carrier
                && type_role.owner == CodeOwner::Application
                && f64::from(self.row(*below).objects) >= MIN_ELEMENTS_PER_LIST_NODE * nodes
        };
        self.new_tree.rows_below(element).filter(carries).max_by_key(|&row| self.growth_bytes(row))
    }
}

/// By row of the newer dump: that of the older one with the same path of keys.
pub(super) fn join_rows(new: &RowTree, old: &RowTree) -> Vec<Option<u32>> {
    let mut old_rows = vec![None; new.rows().len()];
    old_rows[0] = Some(0);
    for (at, row) in new.rows().iter().enumerate().skip(1) {
        old_rows[at] = old_rows[row.parent as usize].and_then(|parent| old.find((parent, row.symbol, row.label)));
    }
    old_rows
}
