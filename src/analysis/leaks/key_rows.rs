//! Properties of plain objects that are keys, not fields: their rows are one.

use rustc_hash::FxHashMap;

use super::growth_search::{MIN_GROWTH_BYTES, join_rows};
use super::row_tree::{ELEMENT_LABEL, MergedRow, RowTree};
use super::type_role::TypeRole;

/// Properties that grew, of one type and with the same below, are keys from here on.
const MIN_GROWN_KEYS: usize = 3;
/// Of fields one grows; of keys none has more of the growth of all.
const MAX_GROWTH_SHARE_OF_KEY: f64 = 0.7;
/// A map in a map in a map.
const MAX_NESTED_MAPS: usize = 3;

/// Makes rows of properties that are keys one row of elements, in both dumps alike: where several of like values grew beside each
/// other, and where one of the dumps has them as elements already. Without an older dump all bytes are growth. O(rows).
pub fn merge_rows_of_keys(new: &mut RowTree, mut old: Option<&mut RowTree>, type_roles: &[TypeRole]) {
    for _ in 0..MAX_NESTED_MAPS {
        let (in_new, in_old) = find_keys(new, old.as_deref(), type_roles);
        if !in_new.iter().chain(&in_old).any(|&is_key| is_key) {
            return;
        }
        new.merge_as_elements(&in_new);
        old.as_deref_mut().into_iter().for_each(|old| old.merge_as_elements(&in_old));
    }
}

/// By row of each dump: is it a property that is a key?
fn find_keys(new: &RowTree, old: Option<&RowTree>, type_roles: &[TypeRole]) -> (Vec<bool>, Vec<bool>) {
    let mut is_key = (vec![false; new.rows().len()], vec![false; old.map_or(0, |old| old.rows().len())]);
    let is_large_map = |at: &u32| {
        let row = new.row(*at);
        *at != 0 && row.total_bytes >= MIN_GROWTH_BYTES && type_roles[row.type_id.index()].has_no_own_class
    };
    let maps: Vec<u32> = (0..new.rows().len() as u32).filter(is_large_map).collect();
    if maps.iter().all(|&map| new.rows_below(map).next().is_none()) {
        return is_key;
    }
    let old_rows = old.map_or_else(Vec::new, |old| join_rows(new, old));
    let old_row = |row: u32| old_rows.get(row as usize).copied().flatten();
    let growth = |row: u32| {
        let before = old.zip(old_row(row)).map_or(0, |(old, before)| old.row(before).total_bytes);
        new.row(row).total_bytes.saturating_sub(before)
    };
    for map in maps {
        let old_map = old.zip(old_row(map));
        let of_old = || old_map.into_iter().flat_map(|(old, map)| old.rows_below(map));
        // By type of the values: the growth of each property that grew, by what grew below it.
        let mut grown: FxHashMap<u32, FxHashMap<(u32, u32), Vec<u64>>> = FxHashMap::default();
        let mut has_keys: Vec<u32> = Vec::new();
        let objects = new.row(map).objects;
        for below in new.rows_below(map) {
            let row = new.row(below);
            if row.label == ELEMENT_LABEL {
                has_keys.push(row.symbol);
            } else if growth(below) > 0 && (objects == 1 || row.objects <= objects / 2) {
                let inside = new.rows_below(below).max_by_key(|&inside| growth(inside));
                let inside = inside.map_or((0, 0), |inside| (new.row(inside).symbol, new.row(inside).label));
                grown.entry(row.symbol).or_default().entry(inside).or_default().push(growth(below));
            }
        }
        if let Some((old, _)) = old_map {
            let elements = of_old().map(|below| old.row(below)).filter(|row| row.label == ELEMENT_LABEL);
            has_keys.extend(elements.map(|row| row.symbol));
        }
        let are_keys = |grown: &Vec<u64>| {
            let most = grown.iter().copied().max().unwrap_or(0) as f64;
            grown.len() >= MIN_GROWN_KEYS && most <= MAX_GROWTH_SHARE_OF_KEY * grown.iter().sum::<u64>() as f64
        };
        has_keys.extend(grown.iter().filter(|(_, grown)| grown.values().any(are_keys)).map(|(symbol, _)| *symbol));
        let is_one = |row: &MergedRow| row.label != ELEMENT_LABEL && has_keys.contains(&row.symbol);
        new.rows_below(map).for_each(|below| is_key.0[below as usize] = is_one(new.row(below)));
        if let Some((old, _)) = old_map {
            of_old().for_each(|below| is_key.1[below as usize] = is_one(old.row(below)));
        }
    }
    is_key
}
