//! petgraph's visit traits for `&HeapGraph`: its walkers and algorithms run on a heap without a copy.
//!
//! Fit for real heaps: `Dfs`, `Bfs`, `DfsPostOrder`, `Reversed`, `kosaraju_scc`, `Dot` (`export::write_dot` draws a part
//! of a heap with labels). Not fit: `tarjan_scc` (recursive) and `dominators::simple_fast` (cubic on doubly linked lists);
//! the latter is the second opinion in tests.

use petgraph::Direction;
use petgraph::visit::{
    Data, EdgeRef, GraphBase, GraphProp, IntoEdgeReferences, IntoEdges, IntoNeighbors, IntoNeighborsDirected,
    IntoNodeIdentifiers, IntoNodeReferences, NodeCompactIndexable, NodeCount, NodeIndexable, VisitMap, Visitable,
};

use super::{HeapGraph, NodeId};

/// Nodes a node leads to, or that lead to it.
pub type Neighbors<'a> = std::iter::Copied<std::slice::Iter<'a, NodeId>>;

/// One reference: its number among all and its two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReferenceEdge {
    number: usize,
    source: NodeId,
    target: NodeId,
}

impl EdgeRef for ReferenceEdge {
    type NodeId = NodeId;
    type EdgeId = usize;
    type Weight = ();

    fn source(&self) -> NodeId {
        self.source
    }

    fn target(&self) -> NodeId {
        self.target
    }

    fn weight(&self) -> &() {
        &()
    }

    fn id(&self) -> usize {
        self.number
    }
}

/// The references of some consecutive nodes.
#[derive(Debug, Clone)]
pub struct ReferenceEdges<'a> {
    graph: &'a HeapGraph,
    source: usize,
    /// Edge numbers still to come.
    numbers: std::ops::Range<usize>,
}

impl Iterator for ReferenceEdges<'_> {
    type Item = ReferenceEdge;

    fn next(&mut self) -> Option<ReferenceEdge> {
        let number = self.numbers.next()?;
        while self.graph.references.offsets.range(self.source).end <= number {
            self.source += 1;
        }
        let target = self.graph.references.targets.get(number);
        Some(ReferenceEdge { number, source: NodeId::new(self.source), target })
    }
}

impl GraphBase for HeapGraph {
    type NodeId = NodeId;
    type EdgeId = usize;
}

impl GraphProp for HeapGraph {
    type EdgeType = petgraph::Directed;
}

impl Data for HeapGraph {
    type NodeWeight = ();
    type EdgeWeight = ();
}

impl NodeCount for HeapGraph {
    fn node_count(&self) -> usize {
        HeapGraph::node_count(self)
    }
}

impl NodeIndexable for HeapGraph {
    fn node_bound(&self) -> usize {
        HeapGraph::node_count(self)
    }

    fn to_index(&self, node: NodeId) -> usize {
        node.index()
    }

    fn from_index(&self, index: usize) -> NodeId {
        NodeId::new(index)
    }
}

impl NodeCompactIndexable for HeapGraph {}

impl<'a> IntoNeighbors for &'a HeapGraph {
    type Neighbors = Neighbors<'a>;

    fn neighbors(self, node: NodeId) -> Neighbors<'a> {
        self.strong_references(node).iter().copied()
    }
}

impl<'a> IntoNeighborsDirected for &'a HeapGraph {
    type NeighborsDirected = Neighbors<'a>;

    fn neighbors_directed(self, node: NodeId, direction: Direction) -> Neighbors<'a> {
        match direction {
            Direction::Outgoing => self.strong_references(node).iter().copied(),
            Direction::Incoming => self.strong_referrers(node).iter().copied(),
        }
    }
}

impl IntoNodeIdentifiers for &HeapGraph {
    type NodeIdentifiers = std::iter::Map<std::ops::Range<usize>, fn(usize) -> NodeId>;

    fn node_identifiers(self) -> Self::NodeIdentifiers {
        (0..HeapGraph::node_count(self)).map(NodeId::new)
    }
}

impl IntoNodeReferences for &HeapGraph {
    type NodeRef = (NodeId, ());
    type NodeReferences = std::iter::Map<std::ops::Range<usize>, fn(usize) -> (NodeId, ())>;

    fn node_references(self) -> Self::NodeReferences {
        (0..HeapGraph::node_count(self)).map(|index| (NodeId::new(index), ()))
    }
}

impl<'a> IntoEdgeReferences for &'a HeapGraph {
    type EdgeRef = ReferenceEdge;
    type EdgeReferences = ReferenceEdges<'a>;

    fn edge_references(self) -> ReferenceEdges<'a> {
        ReferenceEdges { graph: self, source: 0, numbers: 0..self.strong_reference_count() }
    }
}

impl<'a> IntoEdges for &'a HeapGraph {
    type Edges = ReferenceEdges<'a>;

    fn edges(self, node: NodeId) -> ReferenceEdges<'a> {
        ReferenceEdges { graph: self, source: node.index(), numbers: self.references.offsets.range(node.index()) }
    }
}

/// Which nodes a walk has seen: a bit each.
#[derive(Debug, Clone, Default)]
pub struct NodeSet {
    words: Vec<u64>,
}

impl NodeSet {
    /// An empty set for nodes below `node_count`.
    pub fn new(node_count: usize) -> Self {
        NodeSet { words: vec![0; node_count.div_ceil(64)] }
    }

    /// The set as words of 64 nodes, the first node in the lowest bit.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The set of these words; `None` when they are not as many as nodes below `node_count` take.
    pub fn from_words(words: Vec<u64>, node_count: usize) -> Option<Self> {
        (words.len() == node_count.div_ceil(64)).then_some(NodeSet { words })
    }

    /// Adds a node; was it new?
    #[inline]
    pub fn insert(&mut self, node: NodeId) -> bool {
        let (word, bit) = (&mut self.words[node.index() >> 6], 1u64 << (node.index() & 63));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Is the node in the set?
    #[inline]
    pub fn contains(&self, node: NodeId) -> bool {
        self.words[node.index() >> 6] & (1 << (node.index() & 63)) != 0
    }

    /// Takes a node out.
    pub fn remove(&mut self, node: NodeId) {
        self.words[node.index() >> 6] &= !(1 << (node.index() & 63));
    }

    /// Nodes in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// No node at all?
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }
}

impl VisitMap<NodeId> for NodeSet {
    fn visit(&mut self, node: NodeId) -> bool {
        self.insert(node)
    }

    fn is_visited(&self, node: &NodeId) -> bool {
        self.contains(*node)
    }

    fn unvisit(&mut self, node: NodeId) -> bool {
        let was = self.contains(node);
        self.remove(node);
        was
    }
}

impl Visitable for HeapGraph {
    type Map = NodeSet;

    fn visit_map(&self) -> NodeSet {
        NodeSet::new(HeapGraph::node_count(self))
    }

    fn reset_map(&self, map: &mut NodeSet) {
        *map = self.visit_map();
    }
}
