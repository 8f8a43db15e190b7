//! Two heaps compared by name: of types, packages, root kinds, paths. Never by object id: an id means nothing in another dump.

use std::collections::BTreeMap;

use super::type_tree::TypeTree;
use crate::allocations::add_counts;
use crate::graph::{HeapGraph, NodeId, RootKind};
use crate::sort;

/// Levels of a path that are told apart.
pub const PATH_DEPTH: usize = 12;

/// Values before and after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Change<T> {
    /// In the old dump.
    pub old: T,
    /// In the new one.
    pub new: T,
}

/// Figures of a name in one heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amounts {
    /// Objects, root records, or allocations where they are counted.
    pub count: Option<u64>,
    /// Shallow bytes of the objects, bytes held by the roots, bytes at and below a path, or allocated bytes.
    pub bytes: u64,
    /// Retained bytes, where they were asked for.
    pub retained_bytes: u64,
}

/// One of the figures of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// [`Amounts::count`].
    Count,
    /// [`Amounts::bytes`].
    Bytes,
    /// [`Amounts::retained_bytes`].
    Retained,
}

impl Default for Amounts {
    /// Nothing, counted.
    fn default() -> Self {
        Amounts { count: Some(0), bytes: 0, retained_bytes: 0 }
    }
}

impl Amounts {
    /// One of the figures, where it is known.
    pub fn get(&self, of: Measure) -> Option<u64> {
        match of {
            Measure::Count => self.count,
            Measure::Bytes => Some(self.bytes),
            Measure::Retained => Some(self.retained_bytes),
        }
    }
}

impl Change<Amounts> {
    /// By how much a figure grew; of counts `None` unless both sides are counted or have nothing.
    pub fn growth(&self, of: Measure) -> Option<i64> {
        let figure = |amounts: &Amounts| amounts.get(of).or((amounts.bytes == 0).then_some(0));
        Some(delta(figure(&self.old)?, figure(&self.new)?))
    }
}

/// New less old, saturated at the limits of `i64`.
pub fn delta(old: u64, new: u64) -> i64 {
    i64::try_from(i128::from(new) - i128::from(old)).unwrap_or(if new > old { i64::MAX } else { i64::MIN })
}

/// Joins two heaps by name: largest growth in bytes first, then in objects, then by name.
pub fn join(old: BTreeMap<String, Amounts>, mut new: BTreeMap<String, Amounts>) -> Vec<(String, Change<Amounts>)> {
    let mut changes: Vec<(String, Change<Amounts>)> = old
        .into_iter()
        .map(|(name, old)| {
            let new = new.remove(&name).unwrap_or_default();
            (name, Change { old, new })
        })
        .collect();
    changes.extend(new.into_iter().map(|(name, new)| (name, Change { old: Amounts::default(), new })));
    sort::by(&mut changes, &|(a_name, a), (b_name, b)| {
        let key = |change: &Change<Amounts>| [Measure::Bytes, Measure::Count].map(|of| change.growth(of));
        key(b).cmp(&key(a)).then_with(|| a_name.cmp(b_name))
    });
    changes
}

/// Root records by kind, with the bytes that only roots of that kind hold: what would become unreachable without them.
/// One marking for all kinds of strong roots: each object is reached by none, by one kind, or by several.
/// O(objects + references); 8 bytes per object.
pub fn held_by_root_kind(graph: &HeapGraph) -> BTreeMap<String, Amounts> {
    const NONE: u32 = u32::MAX;
    const SEVERAL: u32 = u32::MAX - 1;
    let mut kinds: BTreeMap<String, Amounts> = BTreeMap::new();
    let mut strong: BTreeMap<RootKind, u32> = BTreeMap::new();
    let mut kind_of = vec![NONE; graph.node_count()];
    let mut queue: Vec<NodeId> = Vec::new();
    let reach = |kind_of: &mut [u32], queue: &mut Vec<NodeId>, node: NodeId, kind: u32| {
        let known = &mut kind_of[node.index()];
        if *known != kind && *known != SEVERAL {
            *known = if *known == NONE { kind } else { SEVERAL };
            queue.push(node);
        }
    };
    for root in graph.roots().iter().filter(|root| !root.excluded) {
        let weak = if root.is_weak() { "weak " } else { "" };
        let count = &mut kinds.entry(format!("{weak}{}", root.kind.name())).or_default().count;
        *count = add_counts(*count, Some(1));
        if root.is_strong() {
            let next = strong.len() as u32;
            let kind = *strong.entry(root.kind).or_insert(next);
            reach(&mut kind_of, &mut queue, root.node, kind);
        }
    }
    while let Some(node) = queue.pop() {
        let kind = kind_of[node.index()];
        for &target in graph.strong_references(node) {
            reach(&mut kind_of, &mut queue, target, kind);
        }
    }
    let mut held = vec![0u64; strong.len()];
    for node in graph.nodes() {
        if let Some(held) = held.get_mut(kind_of[node.index()] as usize) {
            *held = held.saturating_add(graph.shallow_bytes(node));
        }
    }
    for (kind, number) in strong {
        kinds.entry(kind.name()).or_default().bytes = held[number as usize];
    }
    kinds
}

/// Paths whose texts would take more memory than the heap is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathsTooLong;

/// Bytes that the texts of all paths of a heap may take.
fn most_path_bytes(graph: &HeapGraph) -> usize {
    const LEAST: usize = 50_000_000;
    const PER_OBJECT: usize = 100;
    LEAST.max(graph.node_count().saturating_mul(PER_OBJECT))
}

/// Memory that [`places_by_path`] takes: a path has the names of all types on it. O(places).
pub fn places_by_path_bytes(graph: &HeapGraph, tree: &TypeTree) -> u64 {
    /// Bytes of a row besides its path.
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
///
/// # Errors
/// When names are so long that the paths take more than 50 MB, and more than 100 bytes for each object of the heap.
pub fn places_by_path(graph: &HeapGraph, tree: &TypeTree) -> Result<BTreeMap<String, Amounts>, PathsTooLong> {
    let mut left = most_path_bytes(graph);
    let mut names: Vec<String> = Vec::with_capacity(tree.places.len());
    let mut places = BTreeMap::new();
    for place in &tree.places {
        let own = graph.type_name(place.type_id);
        let name = match place.above {
            Some(above) => format!("{} > {own}", names[above]),
            None => own.to_string(),
        };
        left = left.checked_sub(name.len()).ok_or(PathsTooLong)?;
        // Types that are told apart in the tree have one name here: nothing of theirs may get lost.
        let amounts: &mut Amounts = places.entry(name.clone()).or_default();
        amounts.count = add_counts(amounts.count, Some(place.objects));
        amounts.bytes = amounts.bytes.saturating_add(place.retained_bytes);
        names.push(name);
    }
    Ok(places)
}
