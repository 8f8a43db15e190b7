//! An object graph as an allocation heap: backtrace = types on the way down the dominator tree, type = the object's.
//!
//! What a path has is what its last objects retain. Objects whose dominators have the same types are one node.

use super::dominators::Dominators;
use crate::allocations::{AllocationHeap, Entry, HeapBuilder, Meaning, NameId, Names};
use crate::graph::{HeapGraph, NodeId, TypeId};

/// The heap of a graph's reachable objects, of those that are wanted. Paths longer than `depth` end there and hold what is below. O(objects), 4
/// bytes for each besides the paths.
pub fn heap_of_dominator_paths(
    graph: &HeapGraph,
    dominators: &Dominators,
    depth: u32,
    wanted: impl Fn(NodeId) -> bool,
) -> (Names, AllocationHeap) {
    let mut names = Names::default();
    let root = names.intern("");
    let types: Vec<NameId> =
        (0..graph.type_count()).map(|index| names.intern(graph.type_name(TypeId::new(index)))).collect();
    let mut builder = HeapBuilder::new(root);
    let mut depths = vec![0u32];
    let mut frames = vec![0u32; dominators.reached_count() + 1];
    for number in 1..frames.len() {
        let node = dominators.node_at(number);
        if !wanted(node) {
            continue;
        }
        let above = frames[dominators.immediate_of(number)];
        let type_name = types[graph.type_of(node).index()];
        // A dominator has a smaller number: its frame is there already.
        let frame = if depths[above as usize] >= depth { above } else { builder.frame(above, type_name) };
        if frame as usize == depths.len() {
            depths.push(depths[above as usize] + 1);
        }
        frames[number] = frame;
        let bytes = graph.shallow_bytes(node);
        builder.add(Entry::new(frame, Some(type_name), bytes, Some(1)));
    }
    let (frames, entries) = builder.finish(None);
    let process = graph.sections().first().filter(|_| graph.sections().len() == 1);
    let heap = AllocationHeap {
        dump: 1,
        pid: 1,
        part: 1,
        process: process.map_or(String::new(), |section| section.name.clone()),
        labels: String::new(),
        allocator: "objects".into(),
        meaning: Meaning::Parts,
        frames,
        entries,
    };
    (names, heap)
}
