//! The objects that waste, by kind: a byte counts for one kind only. By their contents, or by types, sizes and references where
//! a dump has no values.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::analysis::collections::CollectionTypes;
use crate::answers::grouped_strings::GroupedStrings;
use crate::answers::waste::options::WasteKind;
use crate::filter::{FoundCollection, collections_of, references_but_class};
use crate::graph::{HeapGraph, NodeId, NodeSet, TypeId};
use crate::input::{ContentKey, Contents, PRIMITIVES, Runtime};

#[derive(Debug, Clone, Copy)]
pub(super) struct WastefulObject {
    pub(super) kind: WasteKind,
    pub(super) node: NodeId,
    pub(super) wasted_bytes: u64,
}

/// Tables and arrays with fewer slots are not called sparse.
pub(super) const MIN_SPARSE_SLOTS: u64 = 16;
/// Maps with fewer entries are not said to collide.
const MIN_COLLIDING_ENTRIES: u64 = 16;

/// Finds the objects of all kinds that the contents show.
pub(super) fn find_waste(
    graph: &HeapGraph,
    types: &CollectionTypes,
    contents: &Contents,
    strings: &GroupedStrings,
) -> Vec<WastefulObject> {
    let mut found = Vec::new();
    let mut of_strings = NodeSet::new(graph.node_count());
    for array in (0..strings.strings.len()).filter_map(|at| strings.strings.array(at)) {
        of_strings.insert(array);
    }
    let mut counted = NodeSet::new(graph.node_count());
    add_zero_arrays(graph, contents, strings, &of_strings, &mut counted, &mut found);
    add_duplicate_strings(graph, strings, &mut counted, &mut found);
    add_duplicate_arrays(graph, contents, &of_strings, &mut counted, &mut found);
    let (collections, tables) = collections_of(graph, types, contents);
    let reference_bytes = reference_bytes(graph, contents);
    let empty = || collections.iter().filter(|one| one.size == 0);
    let mut views: Vec<(NodeId, NodeId)> = empty().flat_map(|one| views_of(graph, types, one)).collect();
    views.sort_unstable();
    let referrers = reference_counts_of_parts(graph, empty(), &views);
    for collection in &collections {
        add_collection_waste(graph, collection, reference_bytes, &referrers, &views, &mut found);
    }
    add_sparse_arrays(contents, &tables, reference_bytes, &mut found);
    add_boxed_numbers(graph, &mut found);
    found
}

fn add_zero_arrays(
    graph: &HeapGraph,
    contents: &Contents,
    strings: &GroupedStrings,
    of_strings: &NodeSet,
    counted: &mut NodeSet,
    found: &mut Vec<WastefulObject>,
) {
    // Characters that were blotted out say nothing of the program, nor do other arrays where all of them are zeros.
    let others = || contents.primitive_array_keys.iter().filter(|(node, _)| !of_strings.contains(*node));
    let is_blotted = strings.redacted.is_some() && others().all(|(_, key)| key.is_all_zero());
    let is_meant = |node: NodeId| strings.redacted.is_none() || !(is_blotted || of_strings.contains(node));
    for &(node, key) in contents.primitive_array_keys.iter().filter(|(node, key)| key.is_all_zero() && is_meant(*node))
    {
        debug_assert!(key.is_known());
        counted.insert(node);
        found.push(WastefulObject { kind: WasteKind::ZeroArrays, node, wasted_bytes: graph.shallow_bytes(node) });
    }
}

fn add_duplicate_strings(
    graph: &HeapGraph,
    grouped: &GroupedStrings,
    counted: &mut NodeSet,
    found: &mut Vec<WastefulObject>,
) {
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
            found.push(WastefulObject {
                kind: WasteKind::DuplicateStrings,
                node: grouped.strings.node(at),
                wasted_bytes: bytes,
            });
        }
        seen.drain(..).for_each(|array| {
            counted.insert(array);
        });
    }
}

fn add_duplicate_arrays(
    graph: &HeapGraph,
    contents: &Contents,
    of_strings: &NodeSet,
    counted: &mut NodeSet,
    found: &mut Vec<WastefulObject>,
) {
    let is_meant = |node: NodeId| !of_strings.contains(node) && !counted.contains(node);
    let mut arrays: Vec<(ContentKey, NodeId)> = contents
        .primitive_array_keys
        .iter()
        .filter(|(node, key)| !key.is_all_zero() && is_meant(*node))
        .map(|&(node, key)| (key, node))
        .collect();
    arrays.par_sort_unstable();
    for equal in arrays.chunk_by(|a, b| a.0 == b.0).filter(|equal| equal.len() > 1) {
        for (at, &(_, node)) in equal.iter().enumerate() {
            let bytes = if at == 0 { 0 } else { graph.shallow_bytes(node) };
            found.push(WastefulObject { kind: WasteKind::DuplicateArrays, node, wasted_bytes: bytes });
        }
    }
}

/// The views of its keys or entries that a collection keeps, each with it: they refer to nothing else.
fn views_of(
    graph: &HeapGraph,
    types: &CollectionTypes,
    collection: &FoundCollection,
) -> impl Iterator<Item = (NodeId, NodeId)> {
    let map = collection.inner.unwrap_or(collection.node);
    let is_view = move |&view: &NodeId| {
        let type_id = graph.type_of(view);
        types.is_collection_or_inside_one(type_id)
            && types.of_type(type_id).is_none()
            && references_but_class(graph, view) == [map]
    };
    let mut views: Vec<NodeId> = references_but_class(graph, map).iter().copied().filter(is_view).collect();
    views.sort_unstable();
    views.dedup();
    views.into_iter().map(move |view| (map, view))
}

/// Numbers of references to the tables, inner collections and views of some collections, without those from views; 2
/// for more. A byte for each object.
fn reference_counts_of_parts<'c>(
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

fn add_collection_waste(
    graph: &HeapGraph,
    collection: &FoundCollection,
    reference_bytes: u64,
    referrers: &[u8],
    views: &[(NodeId, NodeId)],
    found: &mut Vec<WastefulObject>,
) {
    let &FoundCollection { node, size, table, inner, capacity, slots_per_entry, used_buckets } = collection;
    let mut add = |kind: WasteKind, bytes: u64| found.push(WastefulObject { kind, node, wasted_bytes: bytes });
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
    if used_buckets.is_some_and(|used| size >= MIN_COLLIDING_ENTRIES && used <= size / 4) {
        add(WasteKind::CollidingMaps, 0);
    }
    if size.saturating_mul(100) >= graph.node_count() as u64 {
        add(WasteKind::HugeCollections, 0);
    }
}

/// Bytes of a reference in the heap: those of the longest array by its elements.
fn reference_bytes(graph: &HeapGraph, contents: &Contents) -> u64 {
    let longest = contents.long_reference_arrays.iter().max_by_key(|array| array.1);
    longest.map_or(4, |&(node, length, _)| if graph.shallow_bytes(node) < 6 * u64::from(length) { 4 } else { 8 })
}

fn add_sparse_arrays(contents: &Contents, tables: &NodeSet, reference_bytes: u64, found: &mut Vec<WastefulObject>) {
    for &(node, length, nulls) in &contents.long_reference_arrays {
        let (length, nulls) = (u64::from(length), u64::from(nulls));
        if length >= MIN_SPARSE_SLOTS && 4 * nulls >= 3 * length && !tables.contains(node) {
            found.push(WastefulObject { kind: WasteKind::SparseArrays, node, wasted_bytes: nulls * reference_bytes });
        }
    }
}

/// Types of numbers that are objects, and bytes of their values.
const BOX_TYPES: [(&str, u64); 21] = [
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

fn add_boxed_numbers(graph: &HeapGraph, found: &mut Vec<WastefulObject>) {
    let width = |type_id: TypeId| {
        let name = graph.type_name(type_id);
        let known = BOX_TYPES.iter().find(|(known, _)| *known == name);
        known.or_else(|| BOX_TYPES.iter().find(|(known, _)| *known == name.replace('/', "."))).map(|(_, width)| *width)
    };
    let widths: Vec<Option<u64>> = graph.types().ids().map(width).collect();
    for (node, type_id, bytes) in graph.objects(0..graph.node_count()) {
        if let Some(width) = widths[type_id.index()] {
            found.push(WastefulObject {
                kind: WasteKind::BoxedNumbers,
                node,
                wasted_bytes: bytes.saturating_sub(width),
            });
        }
    }
}

/// Arrays of one type and size from this number on are told of.
const MIN_SAME_SIZE_ARRAYS: u64 = 16;
/// ... where they take this part of the heap's bytes together.
const SAME_SIZE_HEAP_DIVISOR: u64 = 100;
/// References of an array that are looked at, to see whether its elements are references.
const MAX_REFERENCES_SAMPLED: usize = 64;

/// Returns true for a type of arrays: in all formats with arrays their names end in brackets.
fn is_array(name: &str) -> bool {
    element_type_of(name).is_some()
}

/// `Foo` of `Foo[]`, `Foo[,]`; the element of `Foo[][,]`, an array of `Foo[,]`, is taken for `Foo[]`.
fn element_type_of(name: &str) -> Option<&str> {
    let (element, rank) = name.strip_suffix(']')?.rsplit_once('[')?;
    rank.bytes().all(|byte| byte == b',').then_some(element).filter(|element| !element.is_empty())
}

/// By type: are its objects arrays?
fn is_array_by_type(graph: &HeapGraph) -> Vec<bool> {
    graph.types().ids().map(|type_id| is_array(graph.type_name(type_id))).collect()
}

/// Arrays of equal type and size: many at once, together a hundredth of the heap. O(n).
pub(super) fn add_same_size_arrays(graph: &HeapGraph, found: &mut Vec<WastefulObject>) {
    let is_array = is_array_by_type(graph);
    let arrays = || graph.objects(0..graph.node_count()).filter(|(_, type_id, _)| is_array[type_id.index()]);
    let mut counts: BTreeMap<(TypeId, u64), u64> = BTreeMap::new();
    for (_, type_id, bytes) in arrays() {
        *counts.entry((type_id, bytes)).or_default() += 1;
    }
    let heap_bytes = heap_bytes(graph);
    counts.retain(|&(_, bytes), count| {
        *count >= MIN_SAME_SIZE_ARRAYS
            && count.saturating_mul(bytes).saturating_mul(SAME_SIZE_HEAP_DIVISOR) >= heap_bytes.max(1)
    });
    found.extend(
        arrays()
            .filter(|&(_, type_id, bytes)| counts.contains_key(&(type_id, bytes)))
            .map(|(node, ..)| WastefulObject { kind: WasteKind::SameSizeArrays, node, wasted_bytes: 0 }),
    );
}

/// Arrays without an element: all of a type but one, which could stand for the others. O(n).
pub(super) fn add_empty_arrays(graph: &HeapGraph, empty_bytes: u64, found: &mut Vec<WastefulObject>) {
    let is_array = is_array_by_type(graph);
    let mut seen = vec![false; is_array.len()];
    for (node, type_id, bytes) in graph.objects(0..graph.node_count()) {
        if is_array[type_id.index()] && bytes == empty_bytes {
            let is_another = std::mem::replace(&mut seen[type_id.index()], true);
            found.push(WastefulObject {
                kind: WasteKind::EmptyArrays,
                node,
                wasted_bytes: if is_another { bytes } else { 0 },
            });
        }
    }
}

/// Bytes of an array without an element in this dump: of the sizes that the format's runtimes give one, that of the
/// dump's smallest object, which is a plain one, or a string without characters and 2 bytes less. `None` where no size is
/// known. O(n).
pub(super) fn empty_array_bytes(graph: &HeapGraph, by_width: &[u64]) -> Option<u64> {
    let smallest = graph.nodes().map(|node| graph.shallow_bytes(node)).filter(|&bytes| bytes > 0).min()?;
    by_width.iter().copied().find(|&bytes| (bytes.saturating_sub(2)..bytes.saturating_add(4)).contains(&smallest))
}

/// Arrays of references that are mostly null: what fits into them and is not there. O(n + references).
pub(super) fn add_sparse_arrays_by_size(graph: &HeapGraph, runtime: Option<Runtime>, found: &mut Vec<WastefulObject>) {
    let holds_references = is_reference_array_by_type(graph, runtime);
    let arrays = || graph.objects(0..graph.node_count()).filter(|(_, type_id, _)| holds_references[type_id.index()]);
    let stored = |node: NodeId| count_references_but_class(graph, node);
    // An array holds more than fits with slots of 8 bytes: then they have 4.
    let has_narrow = arrays().any(|(node, _, bytes)| stored(node).saturating_mul(8) > bytes);
    let (slot_bytes, head_bytes) = if has_narrow { (4, 16) } else { (8, 24) };
    for (node, _, bytes) in arrays() {
        let slots = bytes.saturating_sub(head_bytes) / slot_bytes;
        let nulls = slots.saturating_sub(stored(node));
        if slots >= MIN_SPARSE_SLOTS && 4 * nulls >= 3 * slots {
            found.push(WastefulObject {
                kind: WasteKind::SparseArrays,
                node,
                wasted_bytes: nulls.saturating_mul(slot_bytes),
            });
        }
    }
}

/// References that an array holds, the class left out.
fn count_references_but_class(graph: &HeapGraph, node: NodeId) -> u64 {
    let class = u64::from(graph.types().stores_class_reference(graph.type_of(node)));
    (graph.strong_references(node).len() as u64).saturating_sub(class)
}

/// By type: are its objects arrays of references? Java's names say so. .NET's arrays of structures hold references too,
/// more or fewer than elements: there an array counts whose elements are objects by name, or that refers to an object of
/// its element type.
fn is_reference_array_by_type(graph: &HeapGraph, runtime: Option<Runtime>) -> Vec<bool> {
    const REFERENCE_ELEMENT_TYPES: [&str; 2] = ["System.Object", "System.String"];
    let elements: Vec<Option<&str>> =
        graph.types().ids().map(|type_id| element_type_of(graph.type_name(type_id))).collect();
    let mut holds: Vec<bool> = elements
        .iter()
        .map(|element| match (runtime, element) {
            (Some(Runtime::Java), Some(element)) => PRIMITIVES.iter().all(|(_, name, _)| name != element),
            (_, Some(element)) => REFERENCE_ELEMENT_TYPES.contains(element) || is_array(element),
            (_, None) => false,
        })
        .collect();
    if runtime == Some(Runtime::DotNet) {
        for (node, type_id, _) in graph.objects(0..graph.node_count()) {
            let Some(element) = elements[type_id.index()].filter(|_| !holds[type_id.index()]) else { continue };
            let targets = graph.strong_references(node).iter().take(MAX_REFERENCES_SAMPLED);
            holds[type_id.index()] =
                targets.into_iter().any(|&target| graph.type_name(graph.type_of(target)) == element);
        }
    }
    holds
}

pub(super) fn heap_bytes(graph: &HeapGraph) -> u64 {
    graph.nodes().fold(0, |sum: u64, node| sum.saturating_add(graph.shallow_bytes(node)))
}

#[cfg(test)]
mod tests {
    use super::element_type_of;

    #[test]
    fn arrays_are_known_by_their_names() {
        for (name, element) in [
            ("System.Byte[]", Some("System.Byte")),
            ("System.Int32[,,]", Some("System.Int32")),
            ("int[][]", Some("int[]")),
            ("System.Collections.Generic.List<System.Int32[]>", None),
            ("Foo[System.Int32]", None),
            ("[]", None),
            ("Foo", None),
        ] {
            assert_eq!(element_type_of(name), element, "{name}");
        }
    }
}
