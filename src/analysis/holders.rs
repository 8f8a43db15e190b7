//! Holders of objects: the field that holds one is the nearest above it on its shortest path from the roots. Arrays, collections and what is
//! inside of these are passed over, for a field that holds a list holds what is in it.

use super::collections::CollectionTypes;
use super::shortest_parents::ShortestParents;
use crate::graph::{HeapGraph, NodeId, TypeId};

/// Holder of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// A reference of the first object to the second: to the object itself, or to what it is in.
    Reference(NodeId, NodeId),
    /// A root: it holds this object.
    Root(NodeId),
    /// No strong root reaches it.
    Unreachable,
}

/// By type: do its objects only contain, as arrays and parts of collections do? What holds something is behind them.
pub fn is_container_by_type(graph: &HeapGraph, collections: &CollectionTypes) -> Vec<bool> {
    let is_array = |type_id: TypeId| {
        let name = graph.type_name(type_id);
        name.ends_with(']') || name.starts_with('[')
    };
    graph.types().ids().map(|type_id| is_array(type_id) || collections.is_collection_or_inside_one(type_id)).collect()
}

/// Finds what holds objects. 4 bytes per object: chains of passed objects (linked lists) are walked once.
pub struct HolderFinder<'g> {
    graph: &'g HeapGraph,
    parents: &'g ShortestParents,
    /// By type: its objects only contain others.
    is_container: &'g [bool],
    /// By object that only contains: the last one on the way up that is; `UNKNOWN_TOP` until it was looked for.
    chain_tops: Vec<u32>,
}

/// Stands for a top that was not looked for so far.
const UNKNOWN_TOP: u32 = u32::MAX;

impl<'g> HolderFinder<'g> {
    /// For a graph with its types that only contain.
    pub fn new(graph: &'g HeapGraph, parents: &'g ShortestParents, is_container: &'g [bool]) -> Self {
        HolderFinder { graph, parents, is_container, chain_tops: vec![UNKNOWN_TOP; graph.node_count()] }
    }

    fn container_parent(&self, node: NodeId) -> Option<NodeId> {
        let parent = self.parents.parent(node)?;
        self.is_container[self.graph.type_of(parent).index()].then_some(parent)
    }

    /// Holder of an object. O(1) on the average over many.
    pub fn holder_of(&mut self, node: NodeId) -> Holder {
        let child = match self.container_parent(node) {
            Some(parent) => self.chain_top(parent),
            None => node,
        };
        match self.parents.parent(child) {
            Some(parent) => Holder::Reference(parent, child),
            None if self.parents.is_rooted(child) => Holder::Root(child),
            None => Holder::Unreachable,
        }
    }

    /// The last object that is passed over on the way up from one that is.
    fn chain_top(&mut self, start: NodeId) -> NodeId {
        let mut at = start;
        let top = loop {
            let known = self.chain_tops[at.index()];
            if known != UNKNOWN_TOP {
                break NodeId::new(known as usize);
            }
            // A damaged index may lead in circles.
            self.chain_tops[at.index()] = at.index() as u32;
            match self.container_parent(at) {
                Some(parent) => at = parent,
                None => break at,
            }
        };
        let mut below = start;
        while below != at {
            self.chain_tops[below.index()] = top.index() as u32;
            let Some(parent) = self.container_parent(below) else { break };
            below = parent;
        }
        top
    }
}
