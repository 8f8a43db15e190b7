//! Why is an object alive: shortest paths to it from objects that roots hold.

use crate::graph::{HeapGraph, NodeId, NodeSet, Root, RootKind};

/// A shortest path from one rooted object.
#[derive(Debug, Clone)]
pub struct RootPath {
    /// The most telling root record of the first object.
    pub root: Root,
    /// From the rooted object to the object asked for, both included.
    pub nodes: Vec<NodeId>,
}

/// Up to `limit` paths to `target` (0: all), the shortest of each rooted object, in order of length. With `all_kinds`
/// weak roots count as well. Searches against the references, no farther than it must: O(objects + references) at
/// worst, the reverse references included if nobody asked for them before; 4 bytes per object.
/// No path touches an `avoided` object, but for the target itself.
pub fn find_root_paths(
    graph: &HeapGraph,
    target: NodeId,
    limit: usize,
    all_kinds: bool,
    is_avoided: impl Fn(NodeId) -> bool,
) -> Vec<RootPath> {
    const UNSEEN: u32 = u32::MAX;
    let wanted = |root: &Root| !root.excluded && (all_kinds || root.is_strong());
    let mut rooted = NodeSet::new(graph.node_count());
    for root in graph.roots().iter().filter(|root| wanted(root)) {
        rooted.insert(root.node);
    }
    let mut starts = Vec::new();
    let mut next_hop = vec![UNSEEN; graph.node_count()];
    let mut queue = vec![target];
    next_hop[target.index()] = target.index() as u32;
    let mut at = 0;
    while let Some(&node) = queue.get(at) {
        at += 1;
        if rooted.contains(node) {
            starts.push(node);
            if starts.len() == limit {
                break;
            }
        }
        for &referrer in graph.referrers(node) {
            if next_hop[referrer.index()] == UNSEEN && !is_avoided(referrer) {
                next_hop[referrer.index()] = node.index() as u32;
                queue.push(referrer);
            }
        }
    }
    let roots = most_telling_roots(graph, &starts, wanted);
    starts
        .into_iter()
        .zip(roots)
        .filter_map(|(start, root)| {
            let mut nodes = vec![start];
            let mut node = start;
            while node != target {
                node = NodeId::new(next_hop[node.index()] as usize);
                nodes.push(node);
            }
            root.map(|root| RootPath { root: root.clone(), nodes })
        })
        .collect()
}

/// What makes one root record of an object more telling than another: the smaller rank is to be shown.
pub(super) fn telling_rank(root: &Root) -> (bool, RootKind, bool) {
    (root.is_weak(), root.kind, root.container.is_none() && root.name.is_none())
}

/// For each node the record to show for it: strong before weak, then the most telling kind, then the first.
pub(super) fn most_telling_roots<'a>(
    graph: &'a HeapGraph,
    nodes: &[NodeId],
    wanted: impl Fn(&Root) -> bool,
) -> Vec<Option<&'a Root>> {
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_unstable_by_key(|&place| nodes[place]);
    let mut best: Vec<Option<&Root>> = vec![None; nodes.len()];
    for root in graph.roots().iter().filter(|root| wanted(root)) {
        if let Ok(found) = order.binary_search_by_key(&root.node, |&place| nodes[place]) {
            let place = &mut best[order[found]];
            if place.is_none_or(|known| telling_rank(root) < telling_rank(known)) {
                *place = Some(root);
            }
        }
    }
    best
}
