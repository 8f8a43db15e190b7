//! A shortest path from the roots to every object at once, for an index: each object's parent on the way up.

use std::io;

use rayon::prelude::*;

use super::root_paths::RootPaths;
use super::root_paths::RootsByNode;
use crate::graph::{Column, ColumnSink, ColumnSource, HeapGraph, NodeId};

/// No strong root reaches the object.
const UNREACHED: u32 = u32::MAX;
/// A strong root holds it. No node has this number.
const ROOTED: u32 = u32::MAX - 1;

/// By object its parent on a shortest path from the roots: of several the one with the smallest number, which gives the
/// path that `find_root_paths` finds first.
#[derive(Debug)]
pub struct ShortestParents {
    parents: Column<u32>,
}

impl ShortestParents {
    /// Breadth-first from all strong roots, level by level. O(objects + references), and a sort of each level; 8 bytes
    /// per object.
    pub fn compute(graph: &HeapGraph) -> Self {
        let mut parents = vec![UNREACHED; graph.node_count()];
        let mut level: Vec<NodeId> = graph.strong_roots().map(|root| root.node).collect();
        level.par_sort_unstable();
        level.dedup();
        for node in &level {
            parents[node.index()] = ROOTED;
        }
        let mut next = Vec::new();
        while !level.is_empty() {
            // In ascending order, so that the smallest parent reaches an object first.
            for &node in &level {
                for &child in graph.strong_references(node) {
                    let parent = &mut parents[child.index()];
                    if *parent == UNREACHED {
                        *parent = node.index() as u32;
                        next.push(child);
                    }
                }
            }
            std::mem::swap(&mut level, &mut next);
            next.clear();
            level.par_sort_unstable();
        }
        ShortestParents { parents: parents.into() }
    }

    /// Parent of an object on its shortest path; `None` for what a root holds or nothing reaches. O(1).
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        let parent = self.parents.get(node.index()) as usize;
        (parent < self.parents.len()).then(|| NodeId::new(parent))
    }

    /// Returns true if a strong root holds the object itself. O(1).
    pub fn is_rooted(&self, node: NodeId) -> bool {
        self.parents.get(node.index()) == ROOTED
    }

    /// The shortest path to `target`; `None` when no strong root reaches it. O(length).
    pub fn path_to<'g>(&self, graph: &HeapGraph, roots: &RootsByNode<'g>, target: NodeId) -> Option<RootPaths<'g>> {
        let mut nodes = vec![target];
        let mut at = target;
        loop {
            match self.parents.get(at.index()) {
                ROOTED => break,
                // A damaged file may lead in circles, or out of the graph.
                parent if (parent as usize) < graph.node_count() && nodes.len() <= graph.node_count() => {
                    at = NodeId::new(parent as usize);
                    nodes.push(at);
                }
                _ => return None,
            }
        }
        nodes.reverse();
        let root = roots.strong_display_root(at)?;
        Some(RootPaths::single(root, nodes))
    }

    /// Writes the parents.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn store(&self, sink: &mut dyn ColumnSink) -> io::Result<()> {
        self.parents.store(sink, "shortest_parents")
    }

    /// The parents back; `None` when the column is not that of this graph. O(1).
    pub fn from_stored(graph: &HeapGraph, source: &dyn ColumnSource) -> Option<Self> {
        let parents: Column<u32> = Column::from_stored(source, "shortest_parents", u64::MAX)?;
        (parents.len() == graph.node_count()).then_some(ShortestParents { parents })
    }
}
