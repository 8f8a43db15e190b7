//! petgraph's visit traits: its walkers and algorithms run on a heap without a copy.
//!
//! Two views: `&HeapGraph` is what holds what (strong references alone, what our own analyses walk), [`All`](super::All)
//! has weak references too. `petgraph::visit::Reversed` turns either round. A node's weight is its type, an edge's its
//! strength, so that `petgraph::dot::Dot` can write both.
//!
//! Fit for real heaps: `Dfs`, `Bfs`, `DfsPostOrder`, `Reversed`, `kosaraju_scc`, `Dot` (`export::write_dot` draws a part
//! of a heap with labels). Not fit: `tarjan_scc` (recursive) and `dominators::simple_fast` (cubic on doubly linked lists);
//! the latter is the second opinion in tests.

use petgraph::Direction;
use petgraph::visit::{
    Data, EdgeRef, GraphBase, GraphProp, IntoEdgeReferences, IntoEdges, IntoNeighbors, IntoNeighborsDirected,
    IntoNodeIdentifiers, IntoNodeReferences, NodeCompactIndexable, NodeCount, NodeIndexable, VisitMap, Visitable,
};

use super::{HeapGraph, NodeId, NodeSet, TypeId};

/// Effect of a reference on its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strength {
    /// It keeps its target alive.
    Strong,
    /// It does not.
    Weak,
}

impl std::fmt::Display for Strength {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Strength::Strong => "strong",
            Strength::Weak => "weak",
        })
    }
}

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
    type Weight = Strength;

    fn source(&self) -> NodeId {
        self.source
    }

    fn target(&self) -> NodeId {
        self.target
    }

    fn weight(&self) -> &Strength {
        &Strength::Strong
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
    type NodeWeight = TypeId;
    type EdgeWeight = Strength;
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

    #[inline]
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

impl<'a> IntoNodeReferences for &'a HeapGraph {
    type NodeRef = (NodeId, &'a TypeId);
    type NodeReferences = NodeReferences<'a>;

    fn node_references(self) -> NodeReferences<'a> {
        NodeReferences { graph: self, indices: 0..HeapGraph::node_count(self) }
    }
}

/// All nodes with their types.
#[derive(Debug, Clone)]
pub struct NodeReferences<'a> {
    graph: &'a HeapGraph,
    indices: std::ops::Range<usize>,
}

impl<'a> Iterator for NodeReferences<'a> {
    type Item = (NodeId, &'a TypeId);

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.indices.next()?;
        Some((NodeId::new(index), self.graph.node_types.slice(index..index + 1).first()?))
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
