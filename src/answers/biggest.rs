//! The objects that retain most, and why: the dominator tree object by object, to be opened row by row, and the path to
//! each object with the steps that all paths share.

use std::collections::HashSet;

use super::reference_names::ReferenceNames;
use super::rows::dominators_above;
use super::values::ValueReader;
use super::{AnswerError, ObjectId, ObjectRow, PathRow, ScopeOptions};
pub use crate::analysis::dominators::DomNode;
use crate::analysis::dominators::{Children, Dominators};
use crate::analysis::retained::Retained;
use crate::analysis::root_paths::RootPaths;
use crate::analysis::roots_by_node::RootsByNode;
use crate::analysis::shortest_parents::ShortestParents;
use crate::dump::{AnswerNeed, OpenDump};
use crate::graph::{HeapGraph, NodeId};

/// The dominator tree from the top. An object is a number that holds for this answer alone.
pub struct Biggest<'d> {
    graph: &'d HeapGraph,
    dominators: &'d Dominators,
    retained: &'d Retained,
    children: Children<'d>,
    tops: Vec<DomNode>,
    values: Option<ValueReader<'d>>,
    names: Option<ReferenceNames<'d>>,
}

/// The dominator tree of a section, or of all. O(objects), and the dominator tree.
///
/// # Errors
/// If the dump holds no objects, has no such section, or takes more memory than it may.
pub fn biggest<'d>(dump: &'d OpenDump, section: Option<&str>) -> Result<Biggest<'d>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NotObjects)?;
    let scope = ScopeOptions::of_section(section).resolve(dump)?;
    let (dominators, retained) = dump.dominators()?;
    dump.check_answer(AnswerNeed::Descent, 0)?;
    let tops = scope.top_level(dominators);
    let (children, values, names) = (dominators.children(), ValueReader::of(dump), ReferenceNames::of(dump));
    Ok(Biggest { graph, dominators, retained, children, tops, values, names })
}

impl Biggest<'_> {
    /// Objects at the top.
    pub fn tops(&self) -> &[DomNode] {
        &self.tops
    }

    /// Objects that an object dominates.
    pub fn children(&self, object: DomNode) -> Vec<DomNode> {
        self.children.of(object).collect()
    }

    /// The objects of a run from this one on: each the only object of its type that the one before dominates, and of the
    /// same type; a linked list is one. At most `limit` of them. O(objects that they dominate directly).
    pub fn run_from(&self, object: DomNode, limit: usize) -> Vec<DomNode> {
        let mut run = vec![object];
        while run.len() < limit {
            match self.next_of_run(run[run.len() - 1]) {
                Some(next) => run.push(next),
                None => break,
            }
        }
        run
    }

    /// The one object of the same type among those that an object dominates.
    pub fn next_of_run(&self, object: DomNode) -> Option<DomNode> {
        let type_id = self.graph.type_of(self.node(object));
        let mut alike = self.children.of(object).filter(|&child| self.graph.type_of(self.node(child)) == type_id);
        let next = alike.next()?;
        alike.next().is_none().then_some(next)
    }

    /// Bytes of the object itself.
    pub fn shallow_bytes(&self, object: DomNode) -> u64 {
        self.graph.shallow_bytes(self.node(object))
    }

    /// Bytes that would be freed with it.
    pub fn retained_bytes(&self, object: DomNode) -> u64 {
        self.retained.bytes_at(object)
    }

    /// Objects that would be freed with it, itself included.
    pub fn dominated_objects(&self, object: DomNode) -> u64 {
        self.retained.objects_at(object).into()
    }

    /// Its place by section and id.
    pub fn rank(&self, object: DomNode) -> usize {
        self.node(object).index()
    }

    /// Its id, type and size.
    pub fn row(&self, object: DomNode) -> ObjectRow {
        ObjectRow::new(self.graph, self.node(object))
    }

    /// Values of some objects in words, where the dump has them; nothing of class objects, whose types say
    /// it. Reads the dump.
    pub fn said_by(&self, objects: &[DomNode]) -> Vec<Option<String>> {
        let Some(values) = &self.values else { return vec![None; objects.len()] };
        let nodes: Vec<NodeId> = objects.iter().map(|&object| self.node(object)).collect();
        let is_class = |node: NodeId| self.graph.types().of_class_object(node).is_some();
        let said = values.said(&nodes).into_iter().zip(nodes);
        said.map(|(said, node)| said.filter(|_| !is_class(node)).map(|said| said.words())).collect()
    }

    /// Names of the references by which objects are held by those that dominate them: `…` where these refer to them only by
    /// way of others; `None` at the top, and where the dump names none. Reads the dump. The first 16 million references of
    /// all holders together: arrays of millions are gone through for each of their elements.
    pub fn names_of_holders(&self, objects: &[DomNode]) -> Vec<Option<String>> {
        let mut left = 1usize << 24;
        let name = |&object: &DomNode| {
            let holder = self.node(dominators_above(self.dominators, object).next()?);
            left = left.saturating_sub(self.graph.references(holder).len());
            self.names.filter(|_| left > 0)?.held_by(holder, self.node(object))
        };
        objects.iter().map(name).collect()
    }

    /// The object of an id; `None` when there is none or no strong root reaches it. O(log objects).
    pub fn find(&self, id: &str) -> Option<DomNode> {
        let node = id.parse::<ObjectId>().ok()?.find(self.graph, &ScopeOptions::default()).ok()?;
        self.dominators.number_of(node)
    }

    /// Returns true if the one object is above the other in the dominator tree. O(depth of the other).
    pub fn is_above(&self, one: &str, other: &str) -> bool {
        let (Some(one), Some(other)) = (self.find(one), self.find(other)) else { return false };
        dominators_above(self.dominators, other).any(|above| above == one)
    }

    /// The type of the object at the top of the dominator tree above an object. O(depth of the object).
    pub fn type_at_top(&self, id: &str) -> Option<&str> {
        let object = self.find(id)?;
        let top = dominators_above(self.dominators, object).last().unwrap_or(object);
        Some(self.graph.type_name(self.graph.type_of(self.node(top))))
    }

    fn node(&self, object: DomNode) -> NodeId {
        self.dominators.node_at(object)
    }

    /// Objects above an object in the dominator tree: every path to it leads through these.
    fn dominators_of(&self, object: DomNode) -> HashSet<NodeId> {
        dominators_above(self.dominators, object).map(|above| self.node(above)).collect()
    }
}

/// Shortest paths from roots to any object.
pub struct ReasonsAlive<'d> {
    graph: &'d HeapGraph,
    roots: RootsByNode<'d>,
    parents: &'d ShortestParents,
    names: Option<ReferenceNames<'d>>,
}

/// Finds a shortest path to every object. O(objects + references), 4 bytes per object.
///
/// # Errors
/// If the dump holds no objects.
pub fn reasons_alive(dump: &OpenDump) -> Result<ReasonsAlive<'_>, AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NotObjects)?;
    let parents = dump.shortest_parents();
    Ok(ReasonsAlive { graph, roots: RootsByNode::new(graph), parents, names: ReferenceNames::of(dump) })
}

/// The path to an object.
pub struct ReasonAlive<'r> {
    graph: &'r HeapGraph,
    roots: &'r RootsByNode<'r>,
    paths: RootPaths<'r>,
    names: Option<ReferenceNames<'r>>,
    dominators: HashSet<NodeId>,
    target: NodeId,
}

impl ReasonsAlive<'_> {
    /// Path to an object; `None` when no strong root reaches it. O(length of the path and depth of the object).
    pub fn of(&self, biggest: &Biggest<'_>, object: DomNode) -> Option<ReasonAlive<'_>> {
        let target = biggest.node(object);
        let paths = self.parents.path_to(self.graph, &self.roots, target)?;
        let dominators = biggest.dominators_of(object);
        Some(ReasonAlive { graph: self.graph, roots: &self.roots, paths, names: self.names, dominators, target })
    }
}

impl ReasonAlive<'_> {
    /// The path, from the rooted object to the object itself.
    pub fn path(&self) -> Option<PathRow<'_>> {
        Some(PathRow::new(self.graph, self.roots, self.paths.get(0)?, self.names))
    }

    /// By step of the path: do all paths to the object lead through it?
    pub fn is_on_all_paths(&self) -> Vec<bool> {
        let nodes = self.paths.get(0).into_iter().flat_map(|path| path.nodes());
        nodes.map(|node| node == self.target || self.dominators.contains(&node)).collect()
    }
}
