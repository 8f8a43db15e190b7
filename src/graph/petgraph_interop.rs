//! petgraph's visit traits: its walkers and algorithms run on a heap without a copy.
//!
//! Two views: `&HeapGraph` has strong references alone (which objects hold which, what our own analyses walk), [`All`] has
//! weak references too. `petgraph::visit::Reversed` turns either round. A node's weight is its type, an edge's its
//! strength, so that `petgraph::dot::Dot` can write both.
//!
//! Fit for real heaps: `Dfs`, `Bfs`, `DfsPostOrder`, `Reversed`, `kosaraju_scc`, `Dot` (`export::write_dot` draws a part
//! of a heap with labels). Not fit: `tarjan_scc` (recursive) and `dominators::simple_fast` (cubic on doubly linked lists);
//! the latter is the second opinion in tests.

use std::iter::{Copied, Map};
use std::ops::Range;
use std::slice::Iter;

use petgraph::Direction;
use petgraph::visit::{
    Data, EdgeRef, GraphBase, GraphProp, GraphRef, IntoEdgeReferences, IntoEdges, IntoNeighbors, IntoNeighborsDirected,
    IntoNodeIdentifiers, IntoNodeReferences, NodeCompactIndexable, NodeCount, NodeIndexable, VisitMap, Visitable,
};

use super::references::{References, Referrers};
use super::{HeapGraph, NodeId, NodeSet, Reference, TypeId};

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

/// A heap with its weak references besides the strong ones. A class that its objects hold is one of theirs, in both
/// directions; one that is a root, which they do not hold, is not.
#[derive(Debug, Clone, Copy)]
pub struct All<'a>(pub &'a HeapGraph);

/// Nodes a node leads to by strong references, or that lead to it.
pub type StrongNeighbors<'a> = Copied<Iter<'a, NodeId>>;

/// Nodes that a node of [`All`] leads to, or that lead to it.
#[derive(Debug, Clone)]
pub enum AnyNeighbors<'a> {
    /// Objects that it refers to.
    Outgoing(References<'a>),
    /// Objects that refer to it.
    Incoming(Referrers<'a>),
}

impl Iterator for AnyNeighbors<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        let reference = match self {
            AnyNeighbors::Outgoing(references) => references.next(),
            AnyNeighbors::Incoming(referrers) => referrers.next(),
        };
        Some(reference?.node)
    }
}

/// One reference of either view: its source with its place among the source's references is its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReferenceEdge {
    source: NodeId,
    reference_index: u32,
    target: NodeId,
    strength: Strength,
}

impl EdgeRef for ReferenceEdge {
    type NodeId = NodeId;
    type EdgeId = (NodeId, u32);
    type Weight = Strength;

    fn source(&self) -> NodeId {
        self.source
    }

    fn target(&self) -> NodeId {
        self.target
    }

    fn weight(&self) -> &Strength {
        &self.strength
    }

    fn id(&self) -> (NodeId, u32) {
        (self.source, self.reference_index)
    }
}

/// The references of some consecutive nodes of either view.
#[derive(Debug, Clone)]
pub struct ReferenceEdges<'a> {
    graph: &'a HeapGraph,
    /// The references that a node has in this view.
    references_of: fn(&'a HeapGraph, NodeId) -> References<'a>,
    /// Nodes whose references are still to come.
    sources: Range<usize>,
    /// The node at hand, how many of its references were given, and those that are left.
    current: Option<(NodeId, u32, References<'a>)>,
}

impl Iterator for ReferenceEdges<'_> {
    type Item = ReferenceEdge;

    fn next(&mut self) -> Option<ReferenceEdge> {
        loop {
            if let Some((source, place, references)) = &mut self.current
                && let Some(Reference { node: target, is_weak }) = references.next()
            {
                let strength = if is_weak { Strength::Weak } else { Strength::Strong };
                *place += 1;
                return Some(ReferenceEdge { source: *source, reference_index: *place - 1, target, strength });
            }
            let source = NodeId::new(self.sources.next()?);
            self.current = Some((source, 0, (self.references_of)(self.graph, source)));
        }
    }
}

/// All nodes with their types.
#[derive(Debug, Clone)]
pub struct NodeReferences<'a> {
    graph: &'a HeapGraph,
    indices: Range<usize>,
}

impl<'a> Iterator for NodeReferences<'a> {
    type Item = (NodeId, &'a TypeId);

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.indices.next()?;
        let type_id = self.graph.node_types.get(index);
        Some((NodeId::new(index), self.graph.types.listed_ids().get(type_id.index())?))
    }
}

/// The traits of a view that differ in nothing but the references of a node: the view as petgraph's graph, the same as
/// what is walked, the heap behind it, and the references.
macro_rules! view {
    ($view:ty, $walked:ty, |$self:ident| $heap:expr, $references:expr) => {
        impl GraphBase for $view {
            type NodeId = NodeId;
            type EdgeId = (NodeId, u32);
        }

        impl GraphProp for $view {
            type EdgeType = petgraph::Directed;
        }

        impl Data for $view {
            type NodeWeight = TypeId;
            type EdgeWeight = Strength;
        }

        impl NodeCount for $view {
            fn node_count(&$self) -> usize {
                HeapGraph::node_count($heap)
            }
        }

        impl NodeIndexable for $view {
            fn node_bound(&$self) -> usize {
                HeapGraph::node_count($heap)
            }

            fn to_index(&self, node: NodeId) -> usize {
                node.index()
            }

            fn from_index(&self, index: usize) -> NodeId {
                NodeId::new(index)
            }
        }

        impl NodeCompactIndexable for $view {}

        impl Visitable for $view {
            type Map = NodeSet;

            fn visit_map(&$self) -> NodeSet {
                NodeSet::new(HeapGraph::node_count($heap))
            }

            fn reset_map(&self, map: &mut NodeSet) {
                *map = self.visit_map();
            }
        }

        impl<'a> IntoNodeIdentifiers for $walked {
            type NodeIdentifiers = Map<Range<usize>, fn(usize) -> NodeId>;

            fn node_identifiers($self) -> Self::NodeIdentifiers {
                (0..HeapGraph::node_count($heap)).map(NodeId::new)
            }
        }

        impl<'a> IntoNodeReferences for $walked {
            type NodeRef = (NodeId, &'a TypeId);
            type NodeReferences = NodeReferences<'a>;

            fn node_references($self) -> NodeReferences<'a> {
                NodeReferences { graph: $heap, indices: 0..HeapGraph::node_count($heap) }
            }
        }

        impl<'a> IntoEdgeReferences for $walked {
            type EdgeRef = ReferenceEdge;
            type EdgeReferences = ReferenceEdges<'a>;

            fn edge_references($self) -> ReferenceEdges<'a> {
                let sources = 0..HeapGraph::node_count($heap);
                ReferenceEdges { graph: $heap, references_of: $references, sources, current: None }
            }
        }

        impl<'a> IntoEdges for $walked {
            type Edges = ReferenceEdges<'a>;

            fn edges($self, node: NodeId) -> ReferenceEdges<'a> {
                let sources = node.index()..node.index() + 1;
                ReferenceEdges { graph: $heap, references_of: $references, sources, current: None }
            }
        }
    };
}

view!(HeapGraph, &'a HeapGraph, |self| self, HeapGraph::only_strong_references);
view!(All<'_>, All<'a>, |self| self.0, HeapGraph::listed_references);

impl GraphRef for All<'_> {}

impl<'a> IntoNeighbors for &'a HeapGraph {
    type Neighbors = StrongNeighbors<'a>;

    #[inline]
    fn neighbors(self, node: NodeId) -> StrongNeighbors<'a> {
        self.strong_references(node).iter().copied()
    }
}

impl<'a> IntoNeighborsDirected for &'a HeapGraph {
    type NeighborsDirected = StrongNeighbors<'a>;

    fn neighbors_directed(self, node: NodeId, direction: Direction) -> StrongNeighbors<'a> {
        match direction {
            Direction::Outgoing => self.strong_references(node).iter().copied(),
            Direction::Incoming => self.strong_referrers(node).iter().copied(),
        }
    }
}

impl<'a> IntoNeighbors for All<'a> {
    type Neighbors = AnyNeighbors<'a>;

    fn neighbors(self, node: NodeId) -> AnyNeighbors<'a> {
        AnyNeighbors::Outgoing(self.0.listed_references(node))
    }
}

impl<'a> IntoNeighborsDirected for All<'a> {
    type NeighborsDirected = AnyNeighbors<'a>;

    fn neighbors_directed(self, node: NodeId, direction: Direction) -> AnyNeighbors<'a> {
        match direction {
            Direction::Outgoing => self.neighbors(node),
            Direction::Incoming => AnyNeighbors::Incoming(self.0.listed_referrers(node)),
        }
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

#[cfg(test)]
mod tests {
    use petgraph::algo::{dominators, kosaraju_scc};
    use petgraph::dot::{Config, Dot};
    use petgraph::visit::{Bfs, Dfs, DfsPostOrder, Reversed, Walker};

    use super::*;
    use crate::graph::{GraphBuilder, IdStyle, ObjectColumns, ResolveOptions, Section};

    /// 0 -> 1 -> 2 -> 1, and a weak 0 -> 3.
    fn graph() -> HeapGraph {
        let mut builder = GraphBuilder::new(IdStyle::Hex);
        let slot = builder.new_type();
        builder.name_type(slot, "Node");
        let section = builder.begin_section(Section::default());
        let mut columns = ObjectColumns::default();
        for (id, strong, weak) in
            [(16, Some(32), Some(64)), (32, Some(48), None), (48, Some(32), None), (64, None, None)]
        {
            columns.push_object(id, 0, 8, 1);
            weak.into_iter().for_each(|id| columns.push_weak_reference(id));
            strong.into_iter().for_each(|id| columns.push_reference(id));
        }
        columns.seal();
        builder.append(section, &columns, 0..4, &[slot.0], 0, true).unwrap();
        builder.resolve(ResolveOptions::default()).0
    }

    fn indices(nodes: impl Iterator<Item = NodeId>) -> Vec<usize> {
        nodes.map(NodeId::index).collect()
    }

    #[test]
    fn walkers_and_algorithms_of_petgraph_run_on_both_views() {
        let graph = graph();
        let (first, last) = (NodeId::new(0), NodeId::new(3));
        assert_eq!(indices(Dfs::new(&graph, first).iter(&graph)), [0, 1, 2]);
        assert_eq!(indices(Bfs::new(All(&graph), first).iter(All(&graph))), [0, 3, 1, 2]);
        assert_eq!(indices(DfsPostOrder::new(&graph, first).iter(&graph)), [2, 1, 0]);
        let (strong, all) = (Reversed(&graph), Reversed(All(&graph)));
        assert_eq!(indices(Dfs::new(strong, last).iter(strong)), [3]);
        assert_eq!(indices(Dfs::new(all, last).iter(all)), [3, 0]);
        assert_eq!(kosaraju_scc(&graph).len(), 3);
        assert_eq!(kosaraju_scc(All(&graph)).len(), 3);
        let tree = dominators::simple_fast(&graph, first);
        assert_eq!(tree.immediate_dominator(NodeId::new(2)), Some(NodeId::new(1)));
    }

    #[test]
    fn edges_are_the_references() {
        let graph = graph();
        let all: Vec<_> = All(&graph).edge_references().collect();
        assert_eq!(all.len(), graph.reference_count());
        assert_eq!((all[0].id(), *all[0].weight(), all[0].target().index()), ((NodeId::new(0), 0), Strength::Weak, 3));
        assert_eq!((&graph).edge_references().count(), graph.strong_reference_count());
        assert!(all.iter().all(|edge| All(&graph).edges(edge.source()).any(|own| own == *edge)));
    }

    #[test]
    fn petgraph_writes_dot_of_a_heap() {
        let graph = graph();
        let node = |_, (_, type_id): (NodeId, &TypeId)| format!("label = \"{}\"", graph.type_name(*type_id));
        let edge = |_, edge: ReferenceEdge| format!("label = \"{}\"", edge.weight());
        let config = [Config::NodeNoLabel, Config::EdgeNoLabel];
        let dot = format!("{:?}", Dot::with_attr_getters(All(&graph), &config, &edge, &node));
        assert!(dot.contains("0 [ label = \"Node\"") && dot.contains("0 -> 3 [ label = \"weak\""), "{dot}");
        assert_eq!(dot.matches("->").count(), 4);
    }
}
