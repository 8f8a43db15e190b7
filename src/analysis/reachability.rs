//! Objects that strong roots reach, and roots for dumps that have none or for objects that no strong root reaches.

use petgraph::visit::Dfs;

use crate::graph::{HeapGraph, NodeId, NodeSet, Root, RootKind, RootOrigin};

/// The objects that strong roots reach. O(objects + references); two bits per object, and a stack of at most a word per
/// reference.
pub fn compute_reachable(graph: &HeapGraph) -> NodeSet {
    compute_reachable_from(graph, Root::is_strong)
}

/// The same from the roots that are wanted: those of the dump (`Root::is_strong_in_dump`), say, whatever was left out or
/// given on request.
pub fn compute_reachable_from(graph: &HeapGraph, is_wanted: impl Fn(&Root) -> bool) -> NodeSet {
    let mut roots: Vec<NodeId> = graph.roots().iter().filter(|root| is_wanted(root)).map(|root| root.node).collect();
    roots.sort_unstable();
    roots.dedup();
    reach_from(graph, roots, NodeSet::new(graph.node_count()))
}

/// `reached` and whatever `starts` reach outside it. O(objects + references).
///
/// Objects lie near what they refer to, mostly before it: one sweep over all objects in their order follows what leads
/// ahead, which is most of it and reads memory from its start to its end. What leads back is walked after that.
pub fn reach_from(graph: &HeapGraph, starts: Vec<NodeId>, mut reached: NodeSet) -> NodeSet {
    let mut ahead = NodeSet::new(graph.node_count());
    for start in starts {
        if reached.insert(start) {
            ahead.insert(start);
        }
    }
    let mut behind = Vec::new();
    for word in 0..ahead.words().len() {
        // Objects of this word may add others of it.
        let mut rest = u64::MAX;
        loop {
            let open = ahead.words()[word] & rest;
            if open == 0 {
                break;
            }
            let bit = open.trailing_zeros();
            rest = u64::MAX.checked_shl(bit + 1).unwrap_or(0);
            let node = NodeId::new(word << 6 | bit as usize);
            for &target in graph.strong_references(node) {
                if !reached.contains(target) {
                    reached.insert(target);
                    if target > node {
                        ahead.insert(target);
                    } else {
                        behind.push(target);
                    }
                }
            }
        }
    }
    drop(ahead);
    // A walk takes as new what is not discovered: the objects themselves are.
    let mut walk = Dfs::from_parts(Vec::new(), reached);
    for start in behind {
        walk.discovered.remove(start);
        walk.move_to(start);
        while walk.next(graph).is_some() {}
    }
    walk.discovered
}

/// Adds roots of kind class, unreferenced and cycle to a dump without root records (IBM classic). What must be held is still
/// visible: classes; objects that nothing refers to; and of the cycles that are left, one object of each strongly connected
/// component that nothing outside leads into. Every object is reached after. O(objects + references).
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
    let cycles = source_component_starts(graph, reached);
    for (nodes, kind) in [(classes, RootKind::Class), (unreferenced, RootKind::Unreferenced), (cycles, RootKind::Cycle)]
    {
        graph.add_roots(nodes.into_iter().map(|node| Root::new(node, kind, RootOrigin::Inferred)), true);
    }
}

/// Adds roots of kind unreachable for what strong roots do not reach: objects that nothing refers to, and one of each
/// remaining cycle. Every object is reached after. O(objects + references).
pub fn add_unreachable_roots(graph: &mut HeapGraph) {
    let reached = super::reachability::compute_reachable(graph);
    let added = source_component_starts(graph, reached).into_iter();
    let roots: Vec<Root> = added.map(|node| Root::new(node, RootKind::Unreachable, RootOrigin::Requested)).collect();
    graph.add_roots(roots, false);
}

/// The first object of every strongly connected component outside `reached` that nothing else outside leads into.
/// `reached` must be closed: whatever a node in it refers to is in it too. No components are computed: walking from every
/// node not yet seen, in ascending order, and then again from those starts in reverse order, leaves exactly one start per
/// source component, its first object. Linear, whatever the graph.
fn source_component_starts(graph: &HeapGraph, reached: NodeSet) -> Vec<NodeId> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{GraphBuilder, IdStyle, NumberedObjects, ResolveOptions, Section};
    use proptest::prelude::*;

    fn graph(references: &[Vec<u32>]) -> HeapGraph {
        let mut builder = GraphBuilder::new(IdStyle::Decimal);
        let section = builder.begin_section(Section::default());
        let slot = builder.new_type();
        builder.name_type(slot, "T");
        let mut objects = NumberedObjects {
            type_slots: references.iter().map(|_| slot.0).collect(),
            shallow: vec![1; references.len()],
            reference_counts: references.iter().map(|own| own.len() as u32).collect(),
            references: references.concat(),
            ..NumberedObjects::default()
        };
        objects.ids.extend(&(1..=references.len() as u64).collect::<Vec<_>>());
        builder.append_numbered(section, objects).expect("room");
        builder.resolve(ResolveOptions::default()).0
    }

    proptest! {
        /// All objects that a walk from each start finds that does not enter what was reached before.
        #[test]
        fn a_sweep_finds_what_a_walk_finds(
            references in proptest::collection::vec(proptest::collection::vec(0u32..150, 0..3), 150),
            starts in proptest::collection::vec(0usize..150, 0..5),
            before in proptest::collection::vec(0usize..150, 0..20),
        ) {
            let graph = graph(&references);
            let mut barrier = NodeSet::new(graph.node_count());
            before.iter().for_each(|&node| _ = barrier.insert(NodeId::new(node)));
            let mut expected = barrier.clone();
            let mut open: Vec<NodeId> = starts.iter().map(|&start| NodeId::new(start)).collect();
            while let Some(node) = open.pop() {
                if expected.insert(node) {
                    open.extend_from_slice(graph.strong_references(node));
                }
            }
            let starts = starts.iter().map(|&start| NodeId::new(start)).collect();
            let found = reach_from(&graph, starts, barrier);
            prop_assert_eq!(found.words(), expected.words());
        }
    }
}
