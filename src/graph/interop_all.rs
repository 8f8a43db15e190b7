//! petgraph's visit traits for a heap with its weak references; `interop` has them for the strong ones.

use petgraph::Direction;
use petgraph::visit::{
    Data, EdgeRef, GraphBase, GraphProp, GraphRef, IntoEdgeReferences, IntoEdges, IntoNeighbors, IntoNeighborsDirected,
    IntoNodeIdentifiers, IntoNodeReferences, NodeCompactIndexable, NodeCount, NodeIndexable, Visitable,
};

use super::interop::NodeReferences;
use super::references::{References, Referrers};
use super::{HeapGraph, NodeId, NodeSet, Reference, Strength, TypeId};

/// A heap with its weak references besides the strong ones. A class that its objects hold is one of theirs, in both
/// directions; one that is a root, which they do not hold, is not.
#[derive(Debug, Clone, Copy)]
pub struct All<'a>(pub &'a HeapGraph);

/// One reference of [`All`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnyReferenceEdge {
    source: NodeId,
    /// References of the source before this one.
    place: u32,
    target: NodeId,
    strength: Strength,
}

impl EdgeRef for AnyReferenceEdge {
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
        (self.source, self.place)
    }
}

/// The references of one node of [`All`].
#[derive(Debug, Clone)]
pub struct EdgesOf<'a> {
    source: NodeId,
    place: u32,
    references: References<'a>,
}

impl Iterator for EdgesOf<'_> {
    type Item = AnyReferenceEdge;

    fn next(&mut self) -> Option<AnyReferenceEdge> {
        let Reference { node: target, is_weak } = self.references.next()?;
        let strength = if is_weak { Strength::Weak } else { Strength::Strong };
        let edge = AnyReferenceEdge { source: self.source, place: self.place, target, strength };
        self.place += 1;
        Some(edge)
    }
}

/// The references of all nodes of [`All`].
#[derive(Debug, Clone)]
pub struct EdgesOfAll<'a> {
    graph: All<'a>,
    sources: std::ops::Range<usize>,
    current: Option<EdgesOf<'a>>,
}

impl Iterator for EdgesOfAll<'_> {
    type Item = AnyReferenceEdge;

    fn next(&mut self) -> Option<AnyReferenceEdge> {
        loop {
            if let Some(edge) = self.current.as_mut().and_then(Iterator::next) {
                return Some(edge);
            }
            self.current = Some(self.graph.edges(NodeId::new(self.sources.next()?)));
        }
    }
}

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

impl GraphBase for All<'_> {
    type NodeId = NodeId;
    type EdgeId = (NodeId, u32);
}

impl GraphRef for All<'_> {}

impl GraphProp for All<'_> {
    type EdgeType = petgraph::Directed;
}

impl Data for All<'_> {
    type NodeWeight = TypeId;
    type EdgeWeight = Strength;
}

impl NodeCount for All<'_> {
    fn node_count(&self) -> usize {
        self.0.node_count()
    }
}

impl NodeIndexable for All<'_> {
    fn node_bound(&self) -> usize {
        self.0.node_count()
    }

    fn to_index(&self, node: NodeId) -> usize {
        node.index()
    }

    fn from_index(&self, index: usize) -> NodeId {
        NodeId::new(index)
    }
}

impl NodeCompactIndexable for All<'_> {}

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
            Direction::Outgoing => AnyNeighbors::Outgoing(self.0.listed_references(node)),
            Direction::Incoming => AnyNeighbors::Incoming(self.0.listed_referrers(node)),
        }
    }
}

impl<'a> IntoNodeIdentifiers for All<'a> {
    type NodeIdentifiers = <&'a HeapGraph as IntoNodeIdentifiers>::NodeIdentifiers;

    fn node_identifiers(self) -> Self::NodeIdentifiers {
        self.0.node_identifiers()
    }
}

impl<'a> IntoNodeReferences for All<'a> {
    type NodeRef = (NodeId, &'a TypeId);
    type NodeReferences = NodeReferences<'a>;

    fn node_references(self) -> NodeReferences<'a> {
        self.0.node_references()
    }
}

impl<'a> IntoEdgeReferences for All<'a> {
    type EdgeRef = AnyReferenceEdge;
    type EdgeReferences = EdgesOfAll<'a>;

    fn edge_references(self) -> EdgesOfAll<'a> {
        EdgesOfAll { graph: self, sources: 0..self.0.node_count(), current: None }
    }
}

impl<'a> IntoEdges for All<'a> {
    type Edges = EdgesOf<'a>;

    fn edges(self, node: NodeId) -> EdgesOf<'a> {
        EdgesOf { source: node, place: 0, references: self.0.listed_references(node) }
    }
}

impl Visitable for All<'_> {
    type Map = NodeSet;

    fn visit_map(&self) -> NodeSet {
        NodeSet::new(self.0.node_count())
    }

    fn reset_map(&self, map: &mut NodeSet) {
        *map = self.visit_map();
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
        let edge = |_, edge: AnyReferenceEdge| format!("label = \"{}\"", edge.weight());
        let config = [Config::NodeNoLabel, Config::EdgeNoLabel];
        let dot = format!("{:?}", Dot::with_attr_getters(All(&graph), &config, &edge, &node));
        assert!(dot.contains("0 [ label = \"Node\"") && dot.contains("0 -> 3 [ label = \"weak\""), "{dot}");
        assert_eq!(dot.matches("->").count(), 4);
    }
}
