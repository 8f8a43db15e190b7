//! The objects that waste, by kind: a byte counts for one kind only.

use rayon::prelude::*;

use super::collections::{FoundCollection, collections_of, elements};
use super::options::WasteKind;
use crate::analysis::collections::TypeFields;
use crate::answers::grouped_strings::GroupedStrings;
use crate::graph::{HeapGraph, NodeId, NodeSet, TypeId};
use crate::input::{ContentKey, Contents};

/// An object that wastes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wasting {
    pub(super) kind: WasteKind,
    pub(super) node: NodeId,
    pub(super) bytes: u64,
}

pub(super) const MIN_SPARSE_SLOTS: u64 = 16;
const MIN_COLLIDING: u64 = 16;

/// Finds the objects of all kinds that the contents show.
pub(super) fn find(
    graph: &HeapGraph,
    types: &TypeFields,
    contents: &Contents,
    strings: &GroupedStrings,
) -> Vec<Wasting> {
    let mut found = Vec::new();
    let mut of_strings = NodeSet::new(graph.node_count());
    for array in (0..strings.strings.len()).filter_map(|at| strings.strings.array(at)) {
        of_strings.insert(array);
    }
    let mut counted = NodeSet::new(graph.node_count());
    zero_arrays(graph, contents, strings, &of_strings, &mut counted, &mut found);
    duplicate_strings(graph, strings, &mut counted, &mut found);
    duplicate_arrays(graph, contents, &of_strings, &mut counted, &mut found);
    let (collections, tables) = collections_of(graph, types, contents);
    let reference_bytes = reference_bytes(graph, contents);
    let empty = || collections.iter().filter(|one| one.size == 0);
    let mut views: Vec<(NodeId, NodeId)> = empty().flat_map(|one| views_of(graph, types, one)).collect();
    views.sort_unstable();
    let referrers = references_to(graph, empty(), &views);
    for collection in &collections {
        collection_waste(graph, collection, reference_bytes, &referrers, &views, &mut found);
    }
    sparse_arrays(contents, &tables, reference_bytes, &mut found);
    boxed_numbers(graph, &mut found);
    found
}

fn zero_arrays(
    graph: &HeapGraph,
    contents: &Contents,
    strings: &GroupedStrings,
    of_strings: &NodeSet,
    counted: &mut NodeSet,
    found: &mut Vec<Wasting>,
) {
    // Characters that were blotted out say nothing of the program.
    let is_meant = |node: NodeId| strings.redacted.is_none() || !of_strings.contains(node);
    for &(node, key) in contents.arrays.iter().filter(|(node, key)| key.is_zero() && is_meant(*node)) {
        debug_assert!(key.is_known());
        counted.insert(node);
        found.push(Wasting { kind: WasteKind::ZeroArrays, node, bytes: graph.shallow_bytes(node) });
    }
}

fn duplicate_strings(graph: &HeapGraph, grouped: &GroupedStrings, counted: &mut NodeSet, found: &mut Vec<Wasting>) {
    let own = |at: usize| graph.shallow_bytes(grouped.strings.node(at));
    for group in grouped.groups.iter().filter(|group| grouped.is_duplicate(group)) {
        // An array of zeros is counted as that.
        let array = |at: usize| grouped.strings.array(at);
        let array_bytes = |node: NodeId| graph.shallow_bytes(node);
        let bytes = |at: usize| own(at) + array(at).map_or(0, array_bytes);
        let Some(kept) = grouped.copies(group).max_by_key(|&at| (bytes(at), std::cmp::Reverse(at))) else { continue };
        let mut seen: Vec<NodeId> = array(kept).into_iter().collect();
        for at in grouped.copies(group) {
            let mut bytes = 0;
            if at != kept {
                bytes = own(at);
                if let Some(array) = array(at).filter(|array| !counted.contains(*array))
                    && seen.first() != Some(&array)
                {
                    // Shared with another copy, it counts once.
                    counted.insert(array);
                    bytes += array_bytes(array);
                }
            }
            found.push(Wasting { kind: WasteKind::DuplicateStrings, node: grouped.strings.node(at), bytes });
        }
        seen.drain(..).for_each(|array| {
            counted.insert(array);
        });
    }
}

fn duplicate_arrays(
    graph: &HeapGraph,
    contents: &Contents,
    of_strings: &NodeSet,
    counted: &mut NodeSet,
    found: &mut Vec<Wasting>,
) {
    let is_meant = |node: NodeId| !of_strings.contains(node) && !counted.contains(node);
    let mut arrays: Vec<(ContentKey, NodeId)> = contents
        .arrays
        .iter()
        .filter(|(node, key)| !key.is_zero() && is_meant(*node))
        .map(|&(node, key)| (key, node))
        .collect();
    arrays.par_sort_unstable();
    for equal in arrays.chunk_by(|a, b| a.0 == b.0).filter(|equal| equal.len() > 1) {
        for (at, &(_, node)) in equal.iter().enumerate() {
            let bytes = if at == 0 { 0 } else { graph.shallow_bytes(node) };
            found.push(Wasting { kind: WasteKind::DuplicateArrays, node, bytes });
        }
    }
}

/// The views of its keys or entries that a collection keeps, each with it: they refer to nothing else.
fn views_of(
    graph: &HeapGraph,
    types: &TypeFields,
    collection: &FoundCollection,
) -> impl Iterator<Item = (NodeId, NodeId)> {
    let map = collection.inner.unwrap_or(collection.node);
    let is_view = move |&view: &NodeId| {
        let type_id = graph.type_of(view);
        types.is_in_collection(type_id) && types.of_type(type_id).is_none() && elements(graph, view) == [map]
    };
    let mut views: Vec<NodeId> = elements(graph, map).iter().copied().filter(is_view).collect();
    views.sort_unstable();
    views.dedup();
    views.into_iter().map(move |view| (map, view))
}

/// Numbers of references to the tables, inner collections and views of some collections, without those from views; 2
/// for more. A byte for each object.
fn references_to<'c>(
    graph: &HeapGraph,
    collections: impl Iterator<Item = &'c FoundCollection>,
    views: &[(NodeId, NodeId)],
) -> Vec<u8> {
    let (mut wanted, mut passed) = (NodeSet::new(graph.node_count()), NodeSet::new(graph.node_count()));
    for node in collections.flat_map(|one| [one.table, one.inner]).flatten() {
        wanted.insert(node);
    }
    for &(_, view) in views {
        wanted.insert(view);
        passed.insert(view);
    }
    let mut counts = vec![0u8; if wanted.is_empty() { 0 } else { graph.node_count() }];
    if !counts.is_empty() {
        for node in graph.nodes().filter(|&node| !passed.contains(node)) {
            for target in graph.strong_references(node).iter().filter(|target| wanted.contains(**target)) {
                let count = &mut counts[target.index()];
                *count = (*count + 1).min(2);
            }
        }
    }
    counts
}

fn collection_waste(
    graph: &HeapGraph,
    collection: &FoundCollection,
    reference_bytes: u64,
    referrers: &[u8],
    views: &[(NodeId, NodeId)],
    found: &mut Vec<Wasting>,
) {
    let &FoundCollection { node, size, table, inner, capacity, slots_per_entry, used_buckets } = collection;
    let mut add = |kind: WasteKind, bytes: u64| found.push(Wasting { kind, node, bytes });
    if size == 0 {
        // What others have too (the empty arrays of class libraries) stays.
        let is_own = |part: &NodeId| referrers.get(part.index()) == Some(&1);
        let map = inner.unwrap_or(node);
        let first = views.partition_point(|view| view.0 < map);
        let views = views[first..].iter().take_while(|view| view.0 == map).map(|view| view.1);
        let parts = [table, inner].into_iter().flatten().chain(views).filter(is_own);
        let parts: u64 = parts.map(|part| graph.shallow_bytes(part)).sum();
        add(WasteKind::EmptyCollections, graph.shallow_bytes(node) + parts);
        return;
    }
    if let Some(capacity) = capacity.filter(|&capacity| capacity >= MIN_SPARSE_SLOTS && size <= capacity / 4) {
        let slots = (capacity - size).saturating_mul(slots_per_entry);
        add(WasteKind::SparseCollections, slots.saturating_mul(reference_bytes));
    }
    if used_buckets.is_some_and(|used| size >= MIN_COLLIDING && used <= size / 4) {
        add(WasteKind::CollidingMaps, 0);
    }
    if size.saturating_mul(100) >= graph.node_count() as u64 {
        add(WasteKind::HugeCollections, 0);
    }
}

/// Bytes of a reference in the heap: those of the longest array by its elements.
fn reference_bytes(graph: &HeapGraph, contents: &Contents) -> u64 {
    let longest = contents.reference_arrays.iter().max_by_key(|array| array.1);
    longest.map_or(4, |&(node, length, _)| if graph.shallow_bytes(node) < 6 * u64::from(length) { 4 } else { 8 })
}

fn sparse_arrays(contents: &Contents, tables: &NodeSet, reference_bytes: u64, found: &mut Vec<Wasting>) {
    for &(node, length, nulls) in &contents.reference_arrays {
        let (length, nulls) = (u64::from(length), u64::from(nulls));
        if length >= MIN_SPARSE_SLOTS && 4 * nulls >= 3 * length && !tables.contains(node) {
            found.push(Wasting { kind: WasteKind::SparseArrays, node, bytes: nulls * reference_bytes });
        }
    }
}

/// Types of numbers that are objects, and bytes of their values.
const BOXES: [(&str, u64); 21] = [
    ("java.lang.Boolean", 1),
    ("java.lang.Byte", 1),
    ("java.lang.Character", 2),
    ("java.lang.Short", 2),
    ("java.lang.Integer", 4),
    ("java.lang.Float", 4),
    ("java.lang.Long", 8),
    ("java.lang.Double", 8),
    ("System.Boolean", 1),
    ("System.Byte", 1),
    ("System.SByte", 1),
    ("System.Char", 2),
    ("System.Int16", 2),
    ("System.UInt16", 2),
    ("System.Int32", 4),
    ("System.UInt32", 4),
    ("System.Single", 4),
    ("System.Int64", 8),
    ("System.UInt64", 8),
    ("System.Double", 8),
    ("System.Decimal", 16),
];

fn boxed_numbers(graph: &HeapGraph, found: &mut Vec<Wasting>) {
    let width = |type_id: TypeId| {
        let name = graph.type_name(type_id);
        let known = BOXES.iter().find(|(known, _)| *known == name);
        known.or_else(|| BOXES.iter().find(|(known, _)| *known == name.replace('/', "."))).map(|(_, width)| *width)
    };
    let widths: Vec<Option<u64>> = graph.types().ids().map(width).collect();
    for (node, type_id, bytes) in graph.objects(0..graph.node_count()) {
        if let Some(width) = widths[type_id.index()] {
            found.push(Wasting { kind: WasteKind::BoxedNumbers, node, bytes: bytes.saturating_sub(width) });
        }
    }
}
