//! The objects around one as a graph for Graphviz. petgraph's `Dot` writes it straight from a view of the heap graph:
//! nothing is copied but the numbers of the objects that are drawn, and labels are made while they are written.

use std::cmp::Reverse;
use std::fmt;
use std::io::Write;

use petgraph::dot::{Config, Dot};
use petgraph::visit::{
    Data, EdgeRef, GraphBase, GraphProp, GraphRef, IntoEdgeReferences, IntoNodeIdentifiers, IntoNodeReferences,
    NodeIndexable, NodeRef,
};

use super::ExportError;
use super::error::check_index;
use crate::analysis::dominators::{DomNode, Dominators};
use crate::analysis::retained::Retained;
use crate::analysis::roots_by_node::RootsByNode;
use crate::answers::{AnswerError, ObjectId, ObjectRow, RootRow, ScopeOptions};
use crate::dump::{AnswerNeed, OpenDump};
use crate::escape::escape_dot;
use crate::graph::{HeapGraph, NodeId, NodeSet};
use crate::units::format_bytes;

/// The objects that are drawn.
#[derive(Debug, Clone)]
pub struct DotOptions {
    /// The object that the others are around.
    pub object: ObjectId,
    /// Its section, by name or number from 1, where several have an object of this id.
    pub section: Option<String>,
    /// Draw what the object retains, in place of what it refers to and what refers to it.
    pub retained: bool,
    /// References away from the object, or levels below it in the dominator tree.
    pub depth: u32,
    /// Objects at most.
    pub max_objects: usize,
}

impl DotOptions {
    /// Two references around an object, 100 objects at most.
    pub fn around(object: ObjectId) -> Self {
        DotOptions { object, section: None, retained: false, depth: 2, max_objects: 100 }
    }
}

/// Draws the objects around one, nearest first, and the references among them. The dominator tree, then O(objects drawn
/// and their references).
///
/// # Errors
/// When the dump holds no objects or has no such object, when no strong root reaches the object and what it retains is
/// asked for, when there is not the memory, or when `out` cannot be written to.
pub fn write_dot(dump: &OpenDump, options: &DotOptions, out: &mut dyn Write) -> Result<(), ExportError> {
    let graph = dump.graph().ok_or(AnswerError::NotObjects)?;
    check_index(dump)?;
    let node = options.object.find(graph, &ScopeOptions::of_section(options.section.as_deref()))?;
    let (dominators, retained) = dump.dominators()?;
    dump.check_answer(AnswerNeed::Descent, 0)?;
    if options.retained && dominators.number_of(node).is_none() {
        return Err(AnswerError::Unreachable(graph.display_id(node)).into());
    }
    let nodes = match options.retained {
        true => select(graph, node, options, retained_by(dominators, retained)),
        false => select(graph, node, options, |node| {
            graph.strong_references(node).iter().chain(graph.strong_referrers(node)).copied().collect()
        }),
    };
    let mut numbers: Vec<(NodeId, usize)> = nodes.iter().copied().zip(0..).collect();
    numbers.sort_unstable();
    let roots = RootsByNode::new(graph);
    let drawing = Drawing { graph, dominators, retained, roots: &roots, nodes: &nodes, numbers: &numbers };
    Ok(writeln!(out, "{}", Dot::with_config(drawing, &[Config::EdgeNoLabel]))?)
}

/// Objects from `node` on to what `near` gives for each, nearest first.
fn select(graph: &HeapGraph, node: NodeId, options: &DotOptions, near: impl Fn(NodeId) -> Vec<NodeId>) -> Vec<NodeId> {
    let mut known = NodeSet::new(graph.node_count());
    known.insert(node);
    let mut nodes = vec![node];
    let mut level_start = 0;
    for _ in 0..options.depth {
        let level_end = nodes.len();
        for at in level_start..level_end {
            for next in near(nodes[at]) {
                if nodes.len() < options.max_objects && known.insert(next) {
                    nodes.push(next);
                }
            }
        }
        if nodes.len() == level_end {
            break;
        }
        level_start = level_end;
    }
    nodes
}

/// The objects right below one in the dominator tree, the largest first.
fn retained_by<'d>(dominators: &'d Dominators, retained: &'d Retained) -> impl Fn(NodeId) -> Vec<NodeId> + 'd {
    let children = dominators.children();
    move |node| {
        let Some(number) = dominators.number_of(node) else { return Vec::new() };
        let mut numbers: Vec<DomNode> = children.of(number).collect();
        numbers.sort_by_key(|&number| (Reverse(retained.bytes_at(number)), number));
        numbers.into_iter().map(|number| dominators.node_at(number)).collect()
    }
}

/// A view of the heap graph: some of its objects, numbered as they are drawn, and the references among them.
#[derive(Clone, Copy)]
struct Drawing<'d> {
    graph: &'d HeapGraph,
    dominators: &'d Dominators,
    retained: &'d Retained,
    roots: &'d RootsByNode<'d>,
    /// By number.
    nodes: &'d [NodeId],
    /// The numbers of the same, by object.
    numbers: &'d [(NodeId, usize)],
}

impl<'d> Drawing<'d> {
    fn number_of(&self, node: NodeId) -> Option<usize> {
        let at = self.numbers.binary_search_by_key(&node, |&(node, _)| node).ok()?;
        Some(self.numbers[at].1)
    }
}

impl GraphBase for Drawing<'_> {
    type NodeId = usize;
    type EdgeId = (usize, usize);
}

impl GraphRef for Drawing<'_> {}

impl GraphProp for Drawing<'_> {
    type EdgeType = petgraph::Directed;
}

impl<'d> Data for Drawing<'d> {
    type NodeWeight = DrawnObject<'d>;
    type EdgeWeight = &'static str;
}

impl NodeIndexable for Drawing<'_> {
    fn node_bound(&self) -> usize {
        self.nodes.len()
    }

    fn to_index(&self, number: usize) -> usize {
        number
    }

    fn from_index(&self, index: usize) -> usize {
        index
    }
}

impl IntoNodeIdentifiers for Drawing<'_> {
    type NodeIdentifiers = std::ops::Range<usize>;

    fn node_identifiers(self) -> Self::NodeIdentifiers {
        0..self.nodes.len()
    }
}

impl<'d> IntoNodeReferences for Drawing<'d> {
    type NodeRef = DrawnObject<'d>;
    type NodeReferences = Box<dyn Iterator<Item = DrawnObject<'d>> + 'd>;

    fn node_references(self) -> Self::NodeReferences {
        Box::new((0..self.nodes.len()).map(move |number| DrawnObject { drawing: self, number }))
    }
}

impl<'d> IntoEdgeReferences for Drawing<'d> {
    type EdgeRef = DrawnReference;
    type EdgeReferences = Box<dyn Iterator<Item = DrawnReference> + 'd>;

    /// By the objects' place in the dump, each object's references in its order, repeats kept.
    fn edge_references(self) -> Self::EdgeReferences {
        Box::new(self.numbers.iter().flat_map(move |&(node, source)| {
            let targets = self.graph.strong_references(node).iter().filter_map(move |&target| self.number_of(target));
            targets.map(move |target| DrawnReference { source, target })
        }))
    }
}

/// One reference, by the numbers of its ends.
#[derive(Clone, Copy)]
struct DrawnReference {
    source: usize,
    target: usize,
}

impl EdgeRef for DrawnReference {
    type NodeId = usize;
    type EdgeId = (usize, usize);
    type Weight = &'static str;

    fn source(&self) -> usize {
        self.source
    }

    fn target(&self) -> usize {
        self.target
    }

    fn weight(&self) -> &&'static str {
        &""
    }

    fn id(&self) -> (usize, usize) {
        (self.source, self.target)
    }
}

/// One object; displayed, what its box says.
#[derive(Clone, Copy)]
struct DrawnObject<'d> {
    drawing: Drawing<'d>,
    number: usize,
}

impl<'d> NodeRef for DrawnObject<'d> {
    type NodeId = usize;
    type Weight = DrawnObject<'d>;

    fn id(&self) -> usize {
        self.number
    }

    fn weight(&self) -> &Self {
        self
    }
}

impl fmt::Display for DrawnObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Drawing { graph, dominators, retained, roots, nodes, .. } = self.drawing;
        let node = nodes[self.number];
        let object = ObjectRow::new(graph, node);
        write!(f, "{}\n{}\n", escape_dot(&object.type_text()), object.id)?;
        write!(f, "{}", format_bytes(object.shallow_bytes))?;
        if let Some(bytes) = retained.bytes_of(dominators, node) {
            write!(f, ", retains {}", format_bytes(bytes))?;
        }
        for root in roots.of(node) {
            write!(f, "\nroot: {}", escape_dot(&RootRow::new(graph, root).text()))?;
        }
        Ok(())
    }
}
