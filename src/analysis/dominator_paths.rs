//! An object graph as an allocation heap: backtrace = types on the way down the dominator tree, type = the object's.
//!
//! The size of a path is that of all that its last objects retain. Objects whose dominators have the same types are one node.

use super::dominators::{DominatorNode, DominatorWalkStep, Dominators};
use super::type_tree::ChosenObjects;
use crate::allocations::{AllocationEntry, AllocationHeap, AllocationHeapBuilder, NameId, NameTable};
use crate::graph::{HeapGraph, NodeId, TypeId};

/// The heap of the objects below `from`, of those that are wanted; where some are chosen, these alone count, and others are
/// only on the way to them. An object at `from` is at the root of the frames itself, wanted or not. Paths longer than `depth`
/// end there and hold what is below. With it, by frame, the first and the last of its objects, without those below a path's
/// end. O(objects below), 8 bytes for each object of the graph besides the paths.
pub fn dominator_tree_as_allocations(
    graph: &HeapGraph,
    dominators: &Dominators,
    from: DominatorNode,
    depth: u32,
    wanted: impl Fn(NodeId) -> bool,
    chosen: Option<&ChosenObjects<'_>>,
) -> (NameTable, AllocationHeap, Vec<(DominatorNode, DominatorNode)>) {
    let counts = |node: NodeId| chosen.is_none_or(|chosen| chosen.contains(node));
    let mut names = NameTable::default();
    let root = names.intern("");
    let types: Vec<NameId> =
        (0..graph.type_count()).map(|index| names.intern(graph.type_name(TypeId::new(index)))).collect();
    let mut builder = AllocationHeapBuilder::new(root);
    if from != DominatorNode::ROOT {
        let node = dominators.node_at(from);
        let type_name = types[graph.type_of(node).index()];
        if counts(node) {
            builder.add_entry(AllocationEntry::new(0, Some(type_name), graph.shallow_bytes(node), Some(1)));
        }
    }
    // Frames from the top down to the object at hand, each with its depth. Down the tree rather than by number: the
    // order of the heap's frames must not hang on how the tree is numbered.
    let mut above = vec![(0u32, 0u32)];
    let mut examples = vec![(from, from)];
    dominators.children().walk(from, |step| {
        let number = match step {
            DominatorWalkStep::Enter(number) => number,
            DominatorWalkStep::Leave(_) => {
                above.pop();
                return;
            }
        };
        let node = dominators.node_at(number);
        if !wanted(node) || chosen.is_some_and(|chosen| !chosen.leads_to_member(number)) {
            above.push((0, 0));
            return;
        }
        let type_name = types[graph.type_of(node).index()];
        let place = match above.last() {
            Some(&(frame, own_depth)) if own_depth < depth => {
                let own = builder.find_or_add_frame(frame, type_name);
                match examples.get_mut(own as usize) {
                    Some((_, last)) => *last = number,
                    None => examples.push((number, number)),
                }
                (own, own_depth + 1)
            }
            Some(&place) => place,
            None => (0, 0),
        };
        above.push(place);
        if counts(node) {
            builder.add_entry(AllocationEntry::new(place.0, Some(type_name), graph.shallow_bytes(node), Some(1)));
        }
    });
    let (frames, entries) = builder.finish_heap(None);
    let process = graph.sections().first().filter(|_| graph.sections().len() == 1);
    let process = process.map_or(String::new(), |section| section.name.clone());
    let heap = AllocationHeap { pid: 1, ..AllocationHeap::alone(process, "objects", frames, entries) };
    (names, heap, examples)
}
