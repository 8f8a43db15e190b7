//! Two heaps compared by name: of types, packages, root kinds, paths. Never by object id: ids do not carry over.

use std::collections::BTreeMap;

use super::dominators::{Children, Dominators};
use super::retained::Retained;
use super::type_tree::TypeTree;
use crate::graph::{HeapGraph, RootFlags};

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

impl Side {
    fn add_bytes(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }
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

/// Root records by kind with the bytes that would be freed with what they hold alone; what several hold together is
/// under `several`. The bytes of all kinds are all that is reachable. O(roots + objects directly under them).
pub fn held_by_root_kind(
    graph: &HeapGraph,
    dominators: &Dominators,
    retained: &Retained,
    children: &Children,
) -> BTreeMap<String, Side> {
    let mut kinds: BTreeMap<String, Side> = BTreeMap::new();
    let mut kind_of = rustc_hash::FxHashMap::default();
    let mut roots: Vec<_> = graph.strong_roots().collect();
    roots.sort_by_key(|root| (root.node, root.kind));
    for root in roots {
        kind_of.entry(root.node).or_insert(root.kind);
    }
    for root in graph.roots() {
        let weak = if root.flags.has(RootFlags::WEAK) { "weak " } else { "" };
        kinds.entry(format!("{weak}{}", root.kind.name())).or_default().objects += 1;
    }
    for &number in children.of(0) {
        let node = dominators.node_at(number as usize);
        let name = kind_of.get(&node).map_or_else(|| "several".to_string(), |kind| kind.name());
        kinds.entry(name).or_default().add_bytes(retained.bytes_at(number as usize));
    }
    kinds
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
        let side = Side { objects: place.objects, bytes: place.retained_bytes, retained_bytes: 0 };
        places.insert(name.clone(), side);
        names.push(name);
    }
    places
}
