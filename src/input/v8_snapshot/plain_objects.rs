//! Names of plain objects, made of the properties that they have.

use std::hash::{BuildHasher, Hasher};

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::layout::{EdgeKind, NodeKind};
use super::snapshot::Snapshot;
use crate::graph::make_room;
use crate::sort;

/// UTF-16 units after which a name made of properties takes no more of them.
const MAX_NAME_UNITS: usize = 120;
/// A plain object that no name fits.
pub(super) const NO_NAME: u32 = u32::MAX;

/// Names of plain objects by their properties, and which object has which.
#[derive(Debug, Default)]
pub(super) struct NamesOfPlainObjects {
    pub(super) names: Vec<String>,
    /// The number of the name, or `NO_NAME`, of all plain objects in their order.
    pub(super) name_number_by_object: Vec<u32>,
}

/// Different lists of properties, numbered in the order in which they are met.
#[derive(Default)]
struct PropertyLists {
    /// All lists one behind another: indices of strings.
    list_items: Vec<u32>,
    list_ends: Vec<u32>,
    /// The number of times that each was met.
    object_counts: Vec<u32>,
    /// Half of the hash of a list, and its number, one higher; a power of two of them.
    hash_table: Vec<u64>,
}

impl PropertyLists {
    fn get(&self, number: usize) -> &[u32] {
        let start = number.checked_sub(1).map_or(0, |before| self.list_ends[before] as usize);
        &self.list_items[start..self.list_ends[number] as usize]
    }

    /// The place of a list in the table, or the free one for it.
    fn slot_of(&self, list: &[u32], hash: u32) -> usize {
        let mask = self.hash_table.len() - 1;
        let mut at = hash as usize & mask;
        while self.hash_table[at] != 0 {
            let (own, number) = ((self.hash_table[at] >> 32) as u32, self.hash_table[at] as u32 - 1);
            if own == hash && self.get(number as usize) == list {
                break;
            }
            at = (at + 1) & mask;
        }
        at
    }

    fn grow_hash_table(&mut self) {
        let mask = (2 * self.hash_table.len()).max(64) - 1;
        let old = std::mem::replace(&mut self.hash_table, vec![0; mask + 1]);
        for entry in old.into_iter().filter(|&entry| entry != 0) {
            let mut at = (entry >> 32) as usize & mask;
            while self.hash_table[at] != 0 {
                at = (at + 1) & mask;
            }
            self.hash_table[at] = entry;
        }
    }

    /// Counts a list once more; returns its number.
    fn count_list(&mut self, list: &[u32]) -> u32 {
        if 4 * self.list_ends.len() >= 3 * self.hash_table.len() {
            self.grow_hash_table();
        }
        let mut hasher = FxBuildHasher.build_hasher();
        list.iter().for_each(|&value| hasher.write_u32(value));
        // The upper half is the better one.
        let hash = (hasher.finish() >> 32) as u32;
        let at = self.slot_of(list, hash);
        if self.hash_table[at] == 0 {
            make_room(&mut self.list_items, list.len());
            self.list_items.extend_from_slice(list);
            self.list_ends.push(self.list_items.len() as u32);
            self.object_counts.push(0);
            self.hash_table[at] = u64::from(hash) << 32 | self.list_ends.len() as u64;
        }
        let number = self.hash_table[at] as u32 - 1;
        self.object_counts[number as usize] += 1;
        number
    }

    fn len(&self) -> usize {
        self.list_ends.len()
    }
}

/// A name made of properties.
struct NamedProperties {
    name: String,
    /// Strings' indices, ascending.
    properties: Vec<u32>,
    object_count: usize,
}

impl NamesOfPlainObjects {
    /// Of the objects whose name is among `plain`. O(their edges), and O(names) for each list of properties.
    pub(super) fn find(snapshot: &Snapshot, plain: &[u32]) -> NamesOfPlainObjects {
        let is_plain = |node: u32| snapshot.kind(node) == NodeKind::Object && plain.contains(&snapshot.names.get(node));
        let mut lists = PropertyLists::default();
        let mut of_objects: Vec<u32> = Vec::new();
        let mut own = Vec::new();
        for node in (0..snapshot.len() as u32).filter(|&node| is_plain(node)) {
            own.clear();
            let properties = snapshot.edges(node).filter(|&edge| snapshot.is_kind(edge, EdgeKind::Property));
            own.extend(properties.map(|edge| snapshot.edge_number(edge)));
            make_room(&mut of_objects, 1);
            of_objects.push(lists.count_list(&own));
        }
        lists.hash_table = Vec::new();
        let kept = candidate_names(snapshot, &lists, of_objects.len());
        let best = best_name_by_list(&lists, &kept);
        of_objects.iter_mut().for_each(|list| *list = best[*list as usize]);
        NamesOfPlainObjects {
            names: kept.into_iter().map(|candidate| candidate.name).collect(),
            name_number_by_object: of_objects,
        }
    }
}

/// For each list the name that fits it best.
fn best_name_by_list(lists: &PropertyLists, kept: &[NamedProperties]) -> Vec<u32> {
    // Candidates by their greatest property: a list is only looked for among those that it can have.
    let mut by_last: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    for (at, candidate) in kept.iter().enumerate() {
        if let Some(&last) = candidate.properties.last() {
            by_last.entry(last).or_default().push(at);
        }
    }
    let mut sorted = Vec::new();
    let best = (0..lists.len()).map(|list| {
        sorted.clear();
        sorted.extend_from_slice(lists.get(list));
        sorted.sort_unstable();
        sorted.dedup();
        let possible = sorted.iter().filter_map(|name| by_last.get(name)).flatten().copied();
        let fitting = possible.filter(|&at| is_subset(&kept[at].properties, &sorted));
        // The most properties; of equal ones the more frequent, which stands first.
        let best = fitting.min_by_key(|&at| (std::cmp::Reverse(kept[at].properties.len()), at));
        best.map_or(NO_NAME, |at| at as u32)
    });
    best.collect()
}

/// The text that a property adds to a name.
#[derive(Clone, Copy)]
struct PropertyText {
    /// The first string of the same text.
    string_index: u32,
    units: u32,
    is_proto: bool,
}

/// Texts of properties, made once for each.
struct PropertyTexts<'a> {
    snapshot: &'a Snapshot,
    text_by_string: FxHashMap<u32, PropertyText>,
    /// A file that another program changed may have a string twice.
    first_string_of_text: FxHashMap<String, u32>,
}

impl PropertyTexts<'_> {
    fn get(&mut self, index: u32) -> PropertyText {
        *self.text_by_string.entry(index).or_insert_with(|| {
            let name = self.snapshot.strings.text_or_placeholder(index);
            let text = property_text(&name);
            let units = text.encode_utf16().count() as u32;
            let is_proto = name == "__proto__";
            PropertyText { string_index: *self.first_string_of_text.entry(text).or_insert(index), units, is_proto }
        })
    }
}

/// Names of properties that enough objects have, the most frequent first.
fn candidate_names(snapshot: &Snapshot, lists: &PropertyLists, objects: usize) -> Vec<NamedProperties> {
    let mut texts =
        PropertyTexts { snapshot, text_by_string: FxHashMap::default(), first_string_of_text: FxHashMap::default() };
    // Lists as names have them: by text, without what adds nothing, as far as a name goes.
    let mut named = PropertyLists::default();
    let mut objects_of: Vec<usize> = Vec::new();
    // The first list of each name.
    let mut first_list: Vec<u32> = Vec::new();
    let mut own = Vec::new();
    for list in 0..lists.len() {
        own.clear();
        let any = walk_name_properties(&mut texts, lists.get(list), |_, property, adds| {
            if adds {
                own.push(property.string_index);
            }
        });
        if !any {
            continue;
        }
        let number = named.count_list(&own) as usize;
        if number == objects_of.len() {
            objects_of.push(0);
            first_list.push(list as u32);
        }
        objects_of[number] += lists.object_counts[list] as usize;
    }
    // At least two, and at least one in a thousand.
    let is_frequent = |&number: &usize| objects_of[number] >= 2 && objects_of[number] * 1000 >= objects;
    let frequent: Vec<usize> = (0..named.len()).filter(is_frequent).collect();
    let mut named: Vec<NamedProperties> = Vec::new();
    for number in frequent {
        let (mut name, mut properties) = (String::from("{"), Vec::new());
        walk_name_properties(&mut texts, lists.get(first_list[number] as usize), |index, _, _| {
            if name.len() > 1 {
                name += ", ";
            }
            name += &property_text(&snapshot.strings.text_or_placeholder(index));
            properties.push(index);
        });
        name.push('}');
        properties.sort_unstable();
        properties.dedup();
        named.push(NamedProperties { name, properties, object_count: objects_of[number] });
    }
    sort::rows_by_key(&mut named, |candidate| std::cmp::Reverse(candidate.object_count));
    named
}

/// Goes over the properties that a name has, with whether each adds to its text; returns true if there are any.
fn walk_name_properties(
    texts: &mut PropertyTexts<'_>,
    list: &[u32],
    mut each: impl FnMut(u32, PropertyText, bool),
) -> bool {
    let (mut units, mut any) = (1, false);
    for &index in list {
        let property = texts.get(index);
        if property.is_proto {
            continue;
        }
        if units > 1 && units + property.units as usize > MAX_NAME_UNITS {
            break;
        }
        // What has no characters adds none while it is first.
        each(index, property, units > 1 || property.units > 0);
        units += property.units as usize + if units > 1 { 2 } else { 0 };
        any = true;
    }
    any
}

/// A property as a name has it: in quotes where it has characters of the name itself.
fn property_text(name: &str) -> String {
    if name.contains([',', '\'', '"', '{', '}']) {
        serde_json::to_string(name).unwrap_or_else(|_| name.into())
    } else {
        name.into()
    }
}

/// Both ascending.
fn is_subset(small: &[u32], large: &[u32]) -> bool {
    let mut rest = large.iter();
    small.iter().all(|wanted| rest.any(|name| name == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subsets_of_names() {
        assert!(is_subset(&[2, 5], &[1, 2, 3, 5]) && is_subset(&[], &[1]) && is_subset(&[1], &[1]));
        assert!(!is_subset(&[2, 6], &[1, 2, 3, 5]) && !is_subset(&[1], &[]));
        assert_eq!(property_text("a b"), "a b");
        assert_eq!(property_text("a,b"), "\"a,b\"");
        assert_eq!(property_text("it's"), "\"it's\"");
        assert_eq!(property_text("plain"), "plain");
    }

    #[test]
    fn lists_are_kept_once() {
        let mut lists = PropertyLists::default();
        let numbers: Vec<u32> = (0..1000u32).map(|at| lists.count_list(&[at % 300, at % 3])).collect();
        assert!(numbers.iter().enumerate().all(|(at, &number)| number == at as u32 % 300));
        assert_eq!(
            (lists.len(), lists.object_counts[99], lists.object_counts[100], lists.get(7)),
            (300, 4, 3, &[7, 1][..])
        );
        assert_eq!(lists.count_list(&[]), 300);
        assert_eq!(lists.get(300), &[] as &[u32]);
    }
}
