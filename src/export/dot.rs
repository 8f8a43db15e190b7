//! The objects around one as a graph for Graphviz, in the form that petgraph's `Dot` has. Nothing is copied but the numbers
//! of the objects that are drawn, and labels are made while they are written.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::Write;

use super::ExportError;
use super::error::verify_index_file;
use crate::analysis::dominators::{DominatorNode, Dominators};
use crate::analysis::retained::RetainedSizes;
use crate::analysis::root_paths::RootsByNode;
use crate::answers::{AnswerError, ObjectId, ObjectRow, RootRow, ScopeOptions};
use crate::dump::{AnswerNeed, OpenDump};
use crate::escape::escape_dot_label_text;
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
    pub draws_retained: bool,
    /// References away from the object, or levels below it in the dominator tree.
    pub depth: u32,
    /// Objects at most.
    pub max_objects: usize,
}

impl DotOptions {
    /// Two references around an object, 100 objects at most.
    pub fn around(object: ObjectId) -> Self {
        DotOptions { object, section: None, draws_retained: false, depth: 2, max_objects: 100 }
    }
}

/// Draws the objects around one, nearest first, and the references among them. The dominator tree, then O(objects drawn
/// and their references).
///
/// # Errors
/// When the dump holds no objects or has no such object, when no strong root reaches the object and what it retains is
/// asked for, when there is not the memory, or when `out` cannot be written to.
pub fn write_dot(dump: &OpenDump, options: &DotOptions, out: &mut dyn Write) -> Result<(), ExportError> {
    let graph = dump.graph().ok_or(AnswerError::NeedsObjects)?;
    verify_index_file(dump)?;
    let node = options.object.find(graph, &ScopeOptions::of_section(options.section.as_deref()))?;
    let (dominators, retained) = dump.dominators()?;
    dump.check_answer_memory(AnswerNeed::DominatorDescent, 0)?;
    if options.draws_retained && dominators.number_of(node).is_none() {
        return Err(AnswerError::Unreachable(graph.display_id(node)).into());
    }
    let nodes = match options.draws_retained {
        true => nearest_objects(graph, node, options, dominated_largest_first(dominators, retained)),
        false => nearest_objects(graph, node, options, |node| {
            graph.strong_references(node).iter().chain(graph.strong_referrers(node)).copied().collect()
        }),
    };
    let mut numbers: Vec<(NodeId, usize)> = nodes.iter().copied().zip(0..).collect();
    numbers.sort_unstable();
    let roots = RootsByNode::new(graph);
    writeln!(out, "digraph {{")?;
    for (number, &node) in nodes.iter().enumerate() {
        let object = ObjectRow::new(graph, node);
        let size = format_bytes(object.shallow_bytes);
        let mut label = format!("{}\n{}\n{size}", escape_dot_label_text(&object.type_text()), object.id);
        // Writing to a string cannot fail.
        if let Some(bytes) = retained.bytes_of(dominators, node) {
            let _ = write!(label, ", retains {}", format_bytes(bytes));
        }
        for root in roots.of(node) {
            let _ = write!(label, "\nroot: {}", escape_dot_label_text(&RootRow::new(graph, root).text()));
        }
        let label = label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\l");
        writeln!(out, "    {number} [ label = \"{label}\" ]")?;
    }
    // By the objects' place in the dump, each object's references in its order, repeats kept.
    for &(node, source) in &numbers {
        for target in graph.strong_references(node) {
            if let Ok(at) = numbers.binary_search_by_key(target, |&(node, _)| node) {
                writeln!(out, "    {source} -> {} [ ]", numbers[at].1)?;
            }
        }
    }
    Ok(writeln!(out, "}}\n")?)
}

/// Objects from `node` on to what `near` gives for each, nearest first.
fn nearest_objects(
    graph: &HeapGraph,
    node: NodeId,
    options: &DotOptions,
    near: impl Fn(NodeId) -> Vec<NodeId>,
) -> Vec<NodeId> {
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
fn dominated_largest_first<'d>(
    dominators: &'d Dominators,
    retained: &'d RetainedSizes,
) -> impl Fn(NodeId) -> Vec<NodeId> + 'd {
    let children = dominators.children();
    move |node| {
        let Some(number) = dominators.number_of(node) else { return Vec::new() };
        let mut numbers: Vec<DominatorNode> = children.of(number).collect();
        numbers.sort_by_key(|&number| (Reverse(retained.bytes_at(number)), number));
        numbers.into_iter().map(|number| dominators.node_at(number)).collect()
    }
}
