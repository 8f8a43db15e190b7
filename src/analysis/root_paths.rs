//! Roots by the object that they hold, and shortest paths to an object from such objects: why it is alive.

use crate::graph::{HeapGraph, NodeId, NodeSet, Root, RootKind};

/// Shortest paths to one object. What they have in common is kept once: their nodes are walked, not listed, so that
/// thousands of long paths take no more memory than the graph has objects.
#[derive(Debug, Clone)]
pub struct RootPaths<'g> {
    starts: Vec<PathStart<'g>>,
    links: PathLinks,
}

#[derive(Debug, Clone, Copy)]
struct PathStart<'g> {
    root: &'g Root,
    node: NodeId,
    reference_count: usize,
}

#[derive(Debug, Clone)]
enum PathLinks {
    /// By object the next one on the way to the target; the objects in order of distance from it.
    NextByNode(Vec<u32>, Vec<NodeId>),
    /// The objects of the only path.
    SinglePath(Vec<NodeId>),
}

/// A shortest path from one rooted object.
#[derive(Debug, Clone, Copy)]
pub struct RootPath<'p> {
    /// The root record to show for the first object.
    pub root: &'p Root,
    /// References on the way.
    pub length: usize,
    start: NodeId,
    links: &'p PathLinks,
}

impl<'g> RootPaths<'g> {
    /// One path, from the rooted object to the object asked for.
    pub(super) fn single(root: &'g Root, nodes: Vec<NodeId>) -> Self {
        let starts = nodes.first().map(|&node| PathStart { root, node, reference_count: nodes.len() - 1 });
        RootPaths { starts: starts.into_iter().collect(), links: PathLinks::SinglePath(nodes) }
    }

    /// The first path alone, its objects listed.
    pub fn into_first_path(self) -> Option<Self> {
        let path = self.get(0)?;
        let nodes = path.nodes().collect();
        Some(Self::single(self.starts[0].root, nodes))
    }

    /// The path over these objects, of which a strong root holds the first.
    pub fn of_nodes(roots: &RootsByNode<'g>, nodes: Vec<NodeId>) -> Option<Self> {
        Some(Self::single(roots.strong_display_root(*nodes.first()?)?, nodes))
    }

    /// Number of paths.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// A path by its place in the order of length.
    pub fn get(&self, place: usize) -> Option<RootPath<'_>> {
        let start = self.starts.get(place)?;
        Some(RootPath { root: start.root, length: start.reference_count, start: start.node, links: &self.links })
    }

    /// The last `count` objects of each path, of a shorter one all, without a walk down each. O(objects).
    pub fn last_nodes_of_paths(&self, count: usize) -> Vec<PathNodes<'_>> {
        let count = count.max(1);
        let PathLinks::NextByNode(next, order) = &self.links else {
            let whole = self.iter().map(|path| path.nodes());
            return whole
                .map(|nodes| PathNodes {
                    given_node_count: nodes.remaining_node_count.saturating_sub(count),
                    remaining_node_count: nodes.remaining_node_count.min(count),
                    ..nodes
                })
                .collect();
        };
        // By object: where `count` are left of its path, itself if there are fewer; found for the nearer ones first.
        let mut gates: Vec<u32> = vec![0; next.len()];
        let mut lefts: Vec<u32> = vec![0; next.len()];
        for (place, node) in order.iter().map(|node| node.index()).enumerate() {
            let after = next[node] as usize;
            let left = if place == 0 { 1 } else { lefts[after] as usize + 1 };
            (gates[node], lefts[node]) =
                if left > count { (gates[after], count as u32) } else { (node as u32, left as u32) };
        }
        let end_of = |start: &PathStart<'_>| PathNodes {
            links: &self.links,
            next_node: NodeId::new(gates[start.node.index()] as usize),
            given_node_count: 0,
            remaining_node_count: lefts[start.node.index()] as usize,
        };
        self.starts.iter().map(end_of).collect()
    }

    /// The paths in order of length.
    pub fn iter(&self) -> impl Iterator<Item = RootPath<'_>> {
        (0..self.len()).filter_map(|place| self.get(place))
    }
}

impl<'p> RootPath<'p> {
    /// From the rooted object to the object asked for, both included.
    pub fn nodes(&self) -> PathNodes<'p> {
        PathNodes {
            links: self.links,
            next_node: self.start,
            given_node_count: 0,
            remaining_node_count: self.length + 1,
        }
    }

    /// The object that the root holds.
    pub fn start(&self) -> NodeId {
        self.start
    }
}

/// The objects of a path, one after another.
#[derive(Debug, Clone)]
pub struct PathNodes<'p> {
    links: &'p PathLinks,
    next_node: NodeId,
    given_node_count: usize,
    remaining_node_count: usize,
}

impl Iterator for PathNodes<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        self.remaining_node_count = self.remaining_node_count.checked_sub(1)?;
        let node = match self.links {
            PathLinks::SinglePath(nodes) => *nodes.get(self.given_node_count)?,
            PathLinks::NextByNode(next, _) => {
                if self.given_node_count > 0 {
                    self.next_node = NodeId::new(next[self.next_node.index()] as usize);
                }
                self.next_node
            }
        };
        self.given_node_count += 1;
        Some(node)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining_node_count, Some(self.remaining_node_count))
    }
}

impl ExactSizeIterator for PathNodes<'_> {}

/// Up to `limit` paths to `target` (0: all), the shortest of each rooted object, in order of length. With `all_kinds`
/// weak roots count as well. Searches against the references, no farther than it must: O(objects + references) at
/// worst, the reverse references included if nobody asked for them before; 4 bytes per object.
/// No path touches an `avoided` object, but for the target itself.
pub fn find_root_paths<'g>(
    graph: &'g HeapGraph,
    target: NodeId,
    limit: usize,
    all_kinds: bool,
    is_avoided: impl Fn(NodeId) -> bool,
) -> RootPaths<'g> {
    const UNSEEN: u32 = u32::MAX;
    let wanted = |root: &Root| root.starts_paths(all_kinds);
    let mut rooted = NodeSet::new(graph.node_count());
    for root in graph.roots().iter().filter(|root| wanted(root)) {
        rooted.insert(root.node);
    }
    let mut starts = Vec::new();
    let mut next_hop = vec![UNSEEN; graph.node_count()];
    let mut queue = vec![target];
    next_hop[target.index()] = target.index() as u32;
    // Where in the queue the objects begin that are one reference farther away.
    let (mut at, mut length, mut level_end) = (0, 0, 1);
    while let Some(&node) = queue.get(at) {
        if at == level_end {
            length += 1;
            level_end = queue.len();
        }
        at += 1;
        if rooted.contains(node) {
            starts.push((node, length));
            if starts.len() == limit {
                break;
            }
        }
        for &referrer in graph.strong_referrers(node) {
            if next_hop[referrer.index()] == UNSEEN && !is_avoided(referrer) {
                next_hop[referrer.index()] = node.index() as u32;
                queue.push(referrer);
            }
        }
    }
    let roots = display_roots(graph, &starts, wanted);
    let starts = starts.iter().zip(roots);
    let starts = starts
        .filter_map(|(&(node, length), root)| root.map(|root| PathStart { root, node, reference_count: length }))
        .collect();
    RootPaths { starts, links: PathLinks::NextByNode(next_hop, queue) }
}

/// The shortest path to an object from whatever a strong root holds, both included; searched from the roots, which is less
/// work for what is near them. O(objects + references) at worst; 4 bytes for each object that is seen.
pub fn shortest_path_from_roots(graph: &HeapGraph, target: NodeId) -> Option<Vec<NodeId>> {
    const ROOTED: u32 = u32::MAX;
    // By object the one before, counted from 1: memory that stays zero is never touched.
    let mut before = vec![0u32; graph.node_count()];
    let mut queue: Vec<NodeId> = graph.strong_roots().map(|root| root.node).collect();
    queue.sort_unstable();
    queue.dedup();
    queue.iter().for_each(|node| before[node.index()] = ROOTED);
    let mut at = 0;
    while before[target.index()] == 0 {
        let node = *queue.get(at)?;
        at += 1;
        for &to in graph.strong_references(node) {
            if before[to.index()] == 0 {
                before[to.index()] = node.index() as u32 + 1;
                queue.push(to);
            }
        }
    }
    let step = |&node: &NodeId| match before[node.index()] {
        ROOTED => None,
        before => Some(NodeId::new(before as usize - 1)),
    };
    let mut path: Vec<NodeId> = std::iter::successors(Some(target), step).collect();
    path.reverse();
    Some(path)
}

/// For each start the record to show for it.
fn display_roots<'g>(
    graph: &'g HeapGraph,
    starts: &[(NodeId, usize)],
    wanted: impl Fn(&Root) -> bool,
) -> Vec<Option<&'g Root>> {
    // Looking at all records once is less work than sorting them.
    if let [(node, _)] = starts {
        let of_node = graph.roots().iter().filter(|root| root.node == *node && wanted(root));
        return vec![of_node.min_by_key(|root| display_rank(root))];
    }
    let roots = RootsByNode::new(graph);
    starts.iter().map(|&(node, _)| roots.display_root(node, &wanted)).collect()
}

/// The places of a graph's root records, by object.
#[derive(Debug)]
pub struct RootsByNode<'g> {
    roots: &'g [Root],
    root_indices_by_node: Vec<u32>,
    /// The strong record to show for each object that has one, by object.
    strong_display_indices: Vec<u32>,
}

impl<'g> RootsByNode<'g> {
    /// Sorts the records. O(records x log); 8 bytes for each at most.
    pub fn new(graph: &'g HeapGraph) -> Self {
        let roots = graph.roots();
        let mut places: Vec<u32> = (0..roots.len() as u32).collect();
        places.sort_unstable_by_key(|&place| (roots[place as usize].node, place));
        let mut strong: Vec<u32> = Vec::new();
        for &place in places.iter().filter(|&&place| roots[place as usize].is_strong()) {
            let root = &roots[place as usize];
            match strong.last_mut() {
                Some(best) if roots[*best as usize].node == root.node => {
                    if display_rank(root) < display_rank(&roots[*best as usize]) {
                        *best = place;
                    }
                }
                _ => strong.push(place),
            }
        }
        RootsByNode { roots, root_indices_by_node: places, strong_display_indices: strong }
    }

    /// The records of an object, in the order of the dump. O(log records), then O(1) each.
    pub fn of(&self, node: NodeId) -> impl Iterator<Item = &'g Root> + Clone + use<'g, '_> {
        let roots = self.roots;
        let start = self.root_indices_by_node.partition_point(|&place| roots[place as usize].node < node);
        let places = self.root_indices_by_node[start..].iter().map(move |&place| &roots[place as usize]);
        places.take_while(move |root| root.node == node)
    }

    /// The strong record to show for an object. O(log records).
    pub fn strong_display_root(&self, node: NodeId) -> Option<&'g Root> {
        let found =
            self.strong_display_indices.binary_search_by_key(&node, |&place| self.roots[place as usize].node).ok()?;
        Some(&self.roots[self.strong_display_indices[found] as usize])
    }

    /// The record to show for an object: strong before weak, then by kind, then the first. O(log records), then O(1) for each
    /// of the object's.
    pub fn display_root(&self, node: NodeId, wanted: impl Fn(&Root) -> bool) -> Option<&'g Root> {
        self.of(node).filter(|root| wanted(root)).min_by_key(|root| display_rank(root))
    }
}

/// Orders the root records of an object: the one with the smallest rank is shown. Strong before weak, then by kind (that it
/// is a thread before its locals: a thread that runs is its own `this`), then those that name a variable, method or class.
pub(super) fn display_rank(root: &Root) -> (bool, bool, RootKind, bool) {
    let is_telling = matches!(root.kind, RootKind::Static | RootKind::Thread);
    (root.is_weak(), !is_telling, root.kind, root.declaring_class.is_none() && root.name.is_none())
}
