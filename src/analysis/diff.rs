//! Two heaps compared by name: of types, packages, root kinds, paths. Never by object id: ids do not carry over.

use std::collections::BTreeMap;

use super::reachability::reach_from;
use super::type_tree::TypeTree;
use crate::graph::{HeapGraph, NodeSet, RootKind};

/// What one side of a row has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Side {
    /// Objects (or root records).
    pub objects: u64,
    /// Shallow bytes (or bytes held).
    pub bytes: u64,
    /// Retained bytes, where they were asked for.
    pub retained_bytes: u64,
}

/// A name with what it has on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The name.
    pub name: String,
    /// In the old heap.
    pub old: Side,
    /// In the new one.
    pub new: Side,
}

impl Change {
    /// Growth in bytes.
    pub fn bytes_delta(&self) -> i64 {
        delta(self.old.bytes, self.new.bytes)
    }
}

/// New less old; a difference that does not fit is cut off.
pub fn delta(old: u64, new: u64) -> i64 {
    i64::try_from(i128::from(new) - i128::from(old)).unwrap_or(if new > old { i64::MAX } else { i64::MIN })
}

/// Joins two sides by name: largest growth in bytes first, then in objects, then by name.
pub fn join(old: BTreeMap<String, Side>, mut new: BTreeMap<String, Side>) -> Vec<Change> {
    let mut changes: Vec<Change> = old
        .into_iter()
        .map(|(name, old)| {
            let new = new.remove(&name).unwrap_or_default();
            Change { name, old, new }
        })
        .collect();
    changes.extend(new.into_iter().map(|(name, new)| Change { name, old: Side::default(), new }));
    changes.sort_by(|a, b| {
        let key = |change: &Change| (change.bytes_delta(), delta(change.old.objects, change.new.objects));
        key(b).cmp(&key(a)).then_with(|| a.name.cmp(&b.name))
    });
    changes
}

/// Root records by kind, with the bytes that only roots of that kind hold: what would become unreachable without them.
/// One marking per kind of strong roots: O(objects + references) each.
pub fn held_by_root_kind(graph: &HeapGraph) -> BTreeMap<String, Side> {
    let mut kinds: BTreeMap<String, Side> = BTreeMap::new();
    let mut strong: Vec<RootKind> = Vec::new();
    for root in graph.roots().iter().filter(|root| !root.excluded) {
        let weak = if root.is_weak() { "weak " } else { "" };
        kinds.entry(format!("{weak}{}", root.kind.name())).or_default().objects += 1;
        if root.is_strong() && !strong.contains(&root.kind) {
            strong.push(root.kind);
        }
    }
    let reached_bytes = |without: Option<RootKind>| {
        let starts = graph.strong_roots().filter(|root| Some(root.kind) != without).map(|root| root.node).collect();
        let reached = reach_from(graph, starts, NodeSet::new(graph.node_count()));
        let nodes = graph.nodes().filter(|&node| reached.contains(node));
        nodes.fold(0u64, |sum, node| sum.saturating_add(graph.shallow_bytes(node)))
    };
    let all = reached_bytes(None);
    for kind in strong {
        kinds.entry(kind.name()).or_default().bytes = all.saturating_sub(reached_bytes(Some(kind)));
    }
    kinds
}

/// Memory that [`places_by_path`] takes: a path has the names of all types on it. O(places).
pub fn places_by_path_bytes(graph: &HeapGraph, tree: &TypeTree) -> u64 {
    /// What a row has besides its path.
    const ROW_BYTES: u64 = 200;
    let mut lengths: Vec<u64> = Vec::with_capacity(tree.places.len());
    for place in &tree.places {
        let own = graph.type_name(place.type_id).len() as u64;
        lengths.push(place.above.map_or(own, |above| lengths[above] + 3 + own));
    }
    // While they are made there are two of each, and after that one in each of two dumps or one for both.
    lengths.iter().map(|length| 2 * length + ROW_BYTES).sum()
}

/// Places of a merged dominator tree by their path of types, `A > B > C`: objects there, bytes there and below.
pub fn places_by_path(graph: &HeapGraph, tree: &TypeTree) -> BTreeMap<String, Side> {
    let mut names: Vec<String> = Vec::with_capacity(tree.places.len());
    let mut places = BTreeMap::new();
    for place in &tree.places {
        let own = graph.type_name(place.type_id);
        let name = match place.above {
            Some(above) => format!("{} > {own}", names[above]),
            None => own.to_string(),
        };
        // Types that are told apart in the tree have one name here: nothing of theirs may get lost.
        let side: &mut Side = places.entry(name.clone()).or_default();
        side.objects += place.objects;
        side.bytes = side.bytes.saturating_add(place.retained_bytes);
        names.push(name);
    }
    places
}
