//! What strong roots reach.

use petgraph::visit::Dfs;

use crate::graph::{HeapGraph, NodeId, NodeSet, Root};

/// The objects that strong roots reach. O(objects + references); a bit per object, and a stack of at most a word per
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
pub fn reach_from(graph: &HeapGraph, starts: Vec<NodeId>, reached: NodeSet) -> NodeSet {
    let mut walk = Dfs::from_parts(Vec::new(), reached);
    for start in starts {
        if !walk.discovered.contains(start) {
            walk.move_to(start);
            while walk.next(graph).is_some() {}
        }
    }
    walk.discovered
}
