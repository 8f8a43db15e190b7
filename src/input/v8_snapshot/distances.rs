//! Distances of nodes from those that a page or a program holds.

use rustc_hash::FxHashSet;

use super::bit_set::BitSet;
use super::block::DANGLING_TARGET;
use super::edge_rules::{WeakMapPairName, user_roots, weak_map_pair_names};
use super::layout::{EdgeKind, NodeKind};
use super::snapshot::Snapshot;

/// Never reached.
pub(super) const UNREACHED: u32 = u32::MAX;
/// Distances from here on are from V8's own roots.
pub(super) const FIRST_SYSTEM_DISTANCE: u32 = 100_000_000;

/// Distances by ordinal: breadth first in the order of the file. O(nodes + edges).
pub(super) fn distances_of_nodes(snapshot: &Snapshot) -> Vec<u32> {
    let mut walk = DistanceWalk::new(snapshot);
    let user = user_roots(snapshot);
    for &node in &user {
        walk.distances[node as usize] = 1;
    }
    let has_user_roots = !user.is_empty();
    walk.walk_from(user);
    if let Some(root) = snapshot.root() {
        walk.distances[root as usize] = if has_user_roots { FIRST_SYSTEM_DISTANCE } else { 0 };
        walk.walk_from(vec![root]);
    }
    walk.distances
}

/// A walk that gives nodes their distances, breadth first.
struct DistanceWalk<'a> {
    snapshot: &'a Snapshot,
    distances: Vec<u32>,
    /// Entries of WeakMaps of which one of two edges was met.
    entries_met_by_one_half: FxHashSet<&'a str>,
    /// Indices of the names of WeakMaps' entries.
    pair_names: BitSet,
    /// Indices of the string `sloppy_function_map`; so for the next two.
    sloppy_map_names: Vec<u32>,
    native_context_names: Vec<u32>,
    map_descriptor_names: Vec<u32>,
}

impl<'a> DistanceWalk<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let strings = &snapshot.strings;
        DistanceWalk {
            snapshot,
            distances: vec![UNREACHED; snapshot.len()],
            entries_met_by_one_half: FxHashSet::default(),
            pair_names: weak_map_pair_names(snapshot),
            sloppy_map_names: strings.indices_of("sloppy_function_map"),
            native_context_names: strings.indices_of("system / NativeContext"),
            map_descriptor_names: strings.indices_of("(map descriptors)"),
        }
    }

    /// Gives distances to what these nodes reach and nothing did before.
    fn walk_from(&mut self, mut open: Vec<u32>) {
        let snapshot = self.snapshot;
        let mut at = 0;
        while let Some(&node) = open.get(at) {
            at += 1;
            let distance = self.distances[node as usize].saturating_add(1);
            for edge in snapshot.edges(node) {
                let target = snapshot.targets[edge];
                if target == DANGLING_TARGET
                    || snapshot.is_kind(edge, EdgeKind::Weak)
                    || self.distances[target as usize] != UNREACHED
                    || self.passes_over_edge(node, edge)
                {
                    continue;
                }
                self.distances[target as usize] = distance;
                open.push(target);
            }
        }
    }

    /// Is an edge passed over? Of the two edges to an entry of a WeakMap the first is, which is noted here.
    fn passes_over_edge(&mut self, node: u32, edge: usize) -> bool {
        let snapshot = self.snapshot;
        let edge_name = snapshot.edge_number(edge);
        let is_numbered = snapshot.is_kind(edge, EdgeKind::Element) || snapshot.is_kind(edge, EdgeKind::Hidden);
        let node_name = snapshot.names.get(node);
        match snapshot.kind(node) {
            NodeKind::Hidden
                if !is_numbered
                    && self.sloppy_map_names.contains(&edge_name)
                    && self.native_context_names.contains(&node_name) =>
            {
                return true;
            }
            NodeKind::Array if self.map_descriptor_names.contains(&node_name) => {
                let number = if is_numbered {
                    Some(edge_name)
                } else {
                    leading_number(&snapshot.strings.text_or_placeholder(edge_name))
                };
                if number.is_some_and(|number| number >= 2 && number % 3 == 1) {
                    return true;
                }
            }
            _ => {}
        }
        if snapshot.is_kind(edge, EdgeKind::Internal)
            && self.pair_names.has(edge_name)
            && let Some(pair) = snapshot.strings.get(edge_name).and_then(WeakMapPairName::parse)
            && !self.entries_met_by_one_half.remove(pair.entry_name)
        {
            self.entries_met_by_one_half.insert(pair.entry_name);
            return true;
        }
        false
    }
}

/// The number that a text begins with.
fn leading_number(text: &str) -> Option<u32> {
    let digits = text.len() - text.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    text[..digits].parse().ok()
}
