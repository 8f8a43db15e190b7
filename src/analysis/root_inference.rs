//! Roots for dumps that have none, and for objects that no strong root reaches.
//!
//! In a dump without root records (IBM classic), what must be held is still visible: classes; objects that nothing refers
//! to; and of the cycles that are left, one object of each strongly connected component that nothing outside leads into. The
//! last are found without computing components: walking from every node not yet seen, in ascending order, and then
//! again from those starts in reverse order, leaves exactly one start per source component, its first object. Linear,
//! whatever the shape.

use petgraph::visit::Dfs;

use super::reachability::reach_from;
use crate::graph::{HeapGraph, NodeId, NodeSet, Root, RootKind, RootOrigin};

/// Adds roots of kind class, unreferenced and cycle to a dump without root records. Every object is reached after.
/// O(objects + references).
pub fn infer_roots(graph: &mut HeapGraph) {
    let node_count = graph.node_count();
    let mut referenced = NodeSet::new(node_count);
    for node in graph.nodes() {
        for &target in graph.strong_references(node) {
            if target != node {
                referenced.insert(target);
            }
        }
    }
    let classes: Vec<NodeId> = graph.types().class_objects().iter().map(|&(node, _)| node).collect();
    let mut is_class = NodeSet::new(node_count);
    classes.iter().for_each(|&node| {
        is_class.insert(node);
    });
    let unreferenced: Vec<NodeId> =
        graph.nodes().filter(|&node| !referenced.contains(node) && !is_class.contains(node)).collect();
    drop((referenced, is_class));

    let starts = classes.iter().chain(&unreferenced).copied().collect();
    let reached = reach_from(graph, starts, NodeSet::new(node_count));
    let cycles = source_components(graph, reached);
    for (nodes, kind) in [(classes, RootKind::Class), (unreferenced, RootKind::Unreferenced), (cycles, RootKind::Cycle)]
    {
        graph.add_roots(nodes.into_iter().map(|node| Root::new(node, kind, RootOrigin::Inferred)), true);
    }
}

/// Adds roots of kind unreachable for what strong roots do not reach: objects that nothing refers to, and one of each
/// remaining cycle. Every object is reached after. O(objects + references).
pub fn add_unreachable_roots(graph: &mut HeapGraph) {
    let reached = super::reachability::compute_reachable(graph);
    let added = source_components(graph, reached).into_iter();
    let roots: Vec<Root> = added.map(|node| Root::new(node, RootKind::Unreachable, RootOrigin::Requested)).collect();
    graph.add_roots(roots, false);
}

/// The first object of every strongly connected component outside `reached` that nothing else outside leads into.
/// `reached` must be closed: whatever a node in it refers to is in it too.
fn source_components(graph: &HeapGraph, reached: NodeSet) -> Vec<NodeId> {
    let mut candidates = Vec::new();
    let mut walk = Dfs::from_parts(Vec::new(), reached.clone());
    for node in graph.nodes() {
        if !walk.discovered.contains(node) {
            candidates.push(node);
            walk.move_to(node);
            while walk.next(graph).is_some() {}
        }
    }
    // A later candidate may lead to an earlier one, never the other way round.
    let mut sources = Vec::new();
    let mut walk = Dfs::from_parts(Vec::new(), reached);
    for &node in candidates.iter().rev() {
        if !walk.discovered.contains(node) {
            sources.push(node);
            walk.move_to(node);
            while walk.next(graph).is_some() {}
        }
    }
    sources.reverse();
    sources
}
