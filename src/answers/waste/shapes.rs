//! Wasteful arrays by the graph alone, where a dump has no values: by their types, sizes and references.

use std::collections::BTreeMap;

use super::find::{MIN_SPARSE_SLOTS, Wasting};
use super::options::WasteKind;
use crate::graph::{HeapGraph, NodeId, TypeId};
use crate::input::Runtime;

/// Arrays of one type and size from this number on are told of.
const MIN_SAME_SIZE: u64 = 16;
/// ... where they take this part of the heap's bytes together.
const SAME_SIZE_PART: u64 = 100;
/// References of an array that are looked at, to see whether its elements are references.
const LOOKED_AT: usize = 64;

/// Returns true for a type of arrays: in all formats with arrays their names end in brackets.
fn is_array(name: &str) -> bool {
    element_of(name).is_some()
}

/// `Foo` of `Foo[]`, `Foo[,]`; the element of `Foo[][,]`, an array of `Foo[,]`, is taken for `Foo[]`.
fn element_of(name: &str) -> Option<&str> {
    let (element, rank) = name.strip_suffix(']')?.rsplit_once('[')?;
    rank.bytes().all(|byte| byte == b',').then_some(element).filter(|element| !element.is_empty())
}

/// By type: are its objects arrays?
fn array_types(graph: &HeapGraph) -> Vec<bool> {
    graph.types().ids().map(|type_id| is_array(graph.type_name(type_id))).collect()
}

/// Arrays of equal type and size: many at once, together a hundredth of the heap. O(n).
pub(super) fn same_size_arrays(graph: &HeapGraph, found: &mut Vec<Wasting>) {
    let is_array = array_types(graph);
    let arrays = || graph.objects(0..graph.node_count()).filter(|(_, type_id, _)| is_array[type_id.index()]);
    let mut counts: BTreeMap<(TypeId, u64), u64> = BTreeMap::new();
    for (_, type_id, bytes) in arrays() {
        *counts.entry((type_id, bytes)).or_default() += 1;
    }
    let heap_bytes = heap_bytes(graph);
    counts.retain(|&(_, bytes), count| {
        *count >= MIN_SAME_SIZE && count.saturating_mul(bytes).saturating_mul(SAME_SIZE_PART) >= heap_bytes.max(1)
    });
    found.extend(
        arrays().filter(|&(_, type_id, bytes)| counts.contains_key(&(type_id, bytes))).map(|(node, ..)| Wasting {
            kind: WasteKind::SameSizeArrays,
            node,
            bytes: 0,
        }),
    );
}

/// Arrays without an element: all of a type but one, which could stand for the others. O(n).
pub(super) fn empty_arrays(graph: &HeapGraph, empty_bytes: u64, found: &mut Vec<Wasting>) {
    let is_array = array_types(graph);
    let mut seen = vec![false; is_array.len()];
    for (node, type_id, bytes) in graph.objects(0..graph.node_count()) {
        if is_array[type_id.index()] && bytes == empty_bytes {
            let is_another = std::mem::replace(&mut seen[type_id.index()], true);
            found.push(Wasting { kind: WasteKind::EmptyArrays, node, bytes: if is_another { bytes } else { 0 } });
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
pub(super) fn sparse_arrays(graph: &HeapGraph, runtime: Option<Runtime>, found: &mut Vec<Wasting>) {
    let holds_references = reference_arrays(graph, runtime);
    let arrays = || graph.objects(0..graph.node_count()).filter(|(_, type_id, _)| holds_references[type_id.index()]);
    let stored = |node: NodeId| stored_references(graph, node);
    // An array holds more than fits with slots of 8 bytes: then they have 4.
    let has_narrow = arrays().any(|(node, _, bytes)| stored(node).saturating_mul(8) > bytes);
    let (slot_bytes, head_bytes) = if has_narrow { (4, 16) } else { (8, 24) };
    for (node, _, bytes) in arrays() {
        let slots = bytes.saturating_sub(head_bytes) / slot_bytes;
        let nulls = slots.saturating_sub(stored(node));
        if slots >= MIN_SPARSE_SLOTS && 4 * nulls >= 3 * slots {
            found.push(Wasting { kind: WasteKind::SparseArrays, node, bytes: nulls.saturating_mul(slot_bytes) });
        }
    }
}

/// References that an array holds, the class left out.
fn stored_references(graph: &HeapGraph, node: NodeId) -> u64 {
    let class = u64::from(graph.types().class_is_stored(graph.type_of(node)));
    (graph.strong_references(node).len() as u64).saturating_sub(class)
}

/// By type: are its objects arrays of references? Java's names say so. .NET's arrays of structures hold references too,
/// more or fewer than elements: there an array counts whose elements are objects by name, or that refers to an object of
/// its element type.
fn reference_arrays(graph: &HeapGraph, runtime: Option<Runtime>) -> Vec<bool> {
    const PRIMITIVE: [&str; 8] = ["boolean", "char", "float", "double", "byte", "short", "int", "long"];
    const OBJECTS: [&str; 2] = ["System.Object", "System.String"];
    let elements: Vec<Option<&str>> = graph.types().ids().map(|type_id| element_of(graph.type_name(type_id))).collect();
    let mut holds: Vec<bool> = elements
        .iter()
        .map(|element| match (runtime, element) {
            (Some(Runtime::Java), Some(element)) => !PRIMITIVE.contains(element),
            (_, Some(element)) => OBJECTS.contains(element) || is_array(element),
            (_, None) => false,
        })
        .collect();
    if runtime == Some(Runtime::DotNet) {
        for (node, type_id, _) in graph.objects(0..graph.node_count()) {
            let Some(element) = elements[type_id.index()].filter(|_| !holds[type_id.index()]) else { continue };
            let targets = graph.strong_references(node).iter().take(LOOKED_AT);
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
    use super::element_of;

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
            assert_eq!(element_of(name), element, "{name}");
        }
    }
}
