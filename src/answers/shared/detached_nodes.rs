//! Parts of a page that were taken out of it and are held all the same: in V8 snapshots, whose types say so.

use std::collections::BTreeMap;

use serde::Serialize;

use super::AnswerError;
use super::reference_names::ReferenceNames;
use crate::analysis::dominators::DominatorWalkStep;
use crate::analysis::retained_sets::topmost_members;
use crate::analysis::root_paths::RootsByNode;
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId, TypeSet};
use crate::sort;
use crate::units::{count_with_noun, format_bytes};

/// Detached trees whose topmost nodes are of one type and held in one way.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct DetachedRow {
    /// The type of the topmost nodes.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Number of topmost nodes.
    pub trees: u64,
    /// Detached nodes in the trees.
    pub objects: u64,
    /// Bytes that would be freed with the trees.
    pub retained_bytes: u64,
    /// The topmost node that retains the most.
    pub example: String,
    /// Object of the program that holds the example; `None` when only the browser does, or nothing.
    pub holder: Option<DetachedHolder>,
}

/// The nearest object of the program on the way to a detached node.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct DetachedHolder {
    /// The object.
    pub id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Names of the references down to the node, where the dump has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// `listener`, `timer`, `promise reaction`, `closure`, where the way leads through one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<&'static str>,
}

impl DetachedRow {
    /// The row in a sentence.
    pub fn text(&self) -> String {
        let trees = match self.trees {
            1 => format!("{} ({})", self.type_name, self.example),
            trees => format!("{} of {}", count_with_noun(trees, "trees"), self.type_name),
        };
        let held = match &self.holder {
            None => "no object of the program holds it".to_string(),
            Some(DetachedHolder { id, type_name, reference, through }) => {
                let what = if self.trees == 1 { "it" } else { &self.example };
                let through = through.map_or(String::new(), |through| format!(", through a {through}"));
                format!("{what} is held by {type_name} ({id}){}{through}", reference.as_deref().unwrap_or(""))
            }
        };
        format!(
            "Detached from its page: {trees}, {} in all, {}; {held}.",
            count_with_noun(self.objects, "nodes"),
            format_bytes(self.retained_bytes)
        )
    }
}

/// The types of detached nodes. O(types). Node.js marks objects of its own in the same way, which never were in a page.
pub(in crate::answers) fn detached_types(graph: &HeapGraph) -> TypeSet {
    let is_detached = |name: &str| name.starts_with("Detached ") && !name.starts_with("Detached Node / ");
    TypeSet::of(graph, |type_id| is_detached(graph.type_name(type_id)))
}

/// Detached nodes by the topmost of them and what holds it, most retained bytes first. O(objects + references) where
/// there are any, else O(types). Error: if there is not the memory for it.
pub(in crate::answers) fn detached_trees(dump: &OpenDump, graph: &HeapGraph) -> Result<Vec<DetachedRow>, AnswerError> {
    let types = detached_types(graph);
    if types.is_empty() {
        return Ok(Vec::new());
    }
    let is_detached = |node: NodeId| types.contains(graph.type_of(node));
    let (dominators, retained) = dump.dominators()?;
    let children = dominators.children();
    let parents = dump.shortest_parents();
    let roots = RootsByNode::new(graph);
    let mut groups: BTreeMap<(&str, &str), DetachedGroup> = BTreeMap::new();
    for number in topmost_members(dominators, &children, is_detached) {
        let node = dominators.node_at(number);
        let mut objects = 1;
        children.walk(number, |step| {
            if let DominatorWalkStep::Enter(below) = step {
                objects += u64::from(is_detached(dominators.node_at(below)));
            }
        });
        let path = parents.path_to(graph, &roots, node);
        let path: Vec<NodeId> = path.iter().flat_map(|paths| paths.get(0)).flat_map(|path| path.nodes()).collect();
        let holder = path.iter().rposition(|&node| is_of_program(graph.type_name(graph.type_of(node))));
        let holder_type = holder.map_or("", |at| graph.type_name(graph.type_of(path[at])));
        let bytes = retained.bytes_at(number);
        let group = groups.entry((graph.type_name(graph.type_of(node)), holder_type)).or_default();
        group.trees += 1;
        group.objects += objects;
        group.retained_bytes = group.retained_bytes.saturating_add(bytes);
        if group.example.is_none_or(|(_, most)| bytes > most) {
            group.example = Some((node, bytes));
            group.way = holder.map_or(Vec::new(), |at| path[at..].to_vec());
        }
    }
    let names = ReferenceNames::of(dump);
    let rows = groups.into_iter().filter_map(|((type_name, _), group)| {
        Some(DetachedRow {
            type_name: type_name.to_string(),
            trees: group.trees,
            objects: group.objects,
            retained_bytes: group.retained_bytes,
            example: graph.display_id(group.example?.0),
            holder: holder_of(graph, names, &group.way),
        })
    });
    let mut rows: Vec<DetachedRow> = rows.collect();
    sort::rows_by_key(&mut rows, |row| std::cmp::Reverse(row.retained_bytes));
    Ok(rows)
}

/// Trees of one type of topmost node and of holder.
#[derive(Default)]
struct DetachedGroup {
    trees: u64,
    objects: u64,
    retained_bytes: u64,
    /// The topmost node that retains the most, and how much.
    example: Option<(NodeId, u64)>,
    /// From its holder down to it.
    way: Vec<NodeId>,
}

fn holder_of(graph: &HeapGraph, names: Option<ReferenceNames<'_>>, way: &[NodeId]) -> Option<DetachedHolder> {
    let &holder = way.first()?;
    let type_name = |node: NodeId| graph.type_name(graph.type_of(node));
    let names_of = names.map(|names| {
        let before = |at: usize| at.checked_sub(1).map(|at| way[at]);
        let pairs = way.windows(2).enumerate().map(|(at, pair)| names.between_on_path(before(at), pair[0], pair[1]));
        pairs.map(|name| super::paths::reference_suffix(&name.unwrap_or_else(|| "?".into()))).collect::<String>()
    });
    Some(DetachedHolder {
        id: graph.display_id(holder),
        type_name: type_name(holder).to_string(),
        reference: names_of,
        through: way.iter().rev().find_map(|&node| keeping_role_of(type_name(node))),
    })
}

/// Word for a type whose objects keep things for later.
fn keeping_role_of(type_name: &str) -> Option<&'static str> {
    match type_name {
        "Timeout" | "Immediate" | "TimersList" | "blink::DOMTimer" | "blink::ScheduledAction" => Some("timer"),
        _ if type_name.starts_with("system / Context") => Some("closure"),
        _ if type_name.contains("PromiseReaction") => Some("promise reaction"),
        _ if type_name.contains("EventListener") => Some("listener"),
        _ => None,
    }
}

/// Returns true for a type of objects that programs handle: not the engine's own, nor the browser's, nor a page's.
fn is_of_program(type_name: &str) -> bool {
    let is_engine =
        ["(", "<", "system / ", "Detached ", "Internal", "Node / "].iter().any(|start| type_name.starts_with(start));
    let is_browser = type_name.contains("::") || type_name.ends_with("EventListener");
    let is_page =
        matches!(type_name, "Text" | "Comment" | "Element" | "Document" | "HTMLDocument" | "DocumentFragment");
    !is_engine && !is_browser && !is_page
}

#[cfg(test)]
mod tests {
    use super::{is_of_program, keeping_role_of};

    #[test]
    fn objects_of_programs_are_told_from_those_of_engine_and_page() {
        for name in ["Widget", "Function", "Array", "Object", "Map", "Window [JSGlobalObject] / ://", "{row, text}"] {
            assert!(is_of_program(name), "{name}");
        }
        for name in ["(array)", "system / Context / scope @1", "Detached <div>", "<li>", "blink::LayoutText", "Text"] {
            assert!(!is_of_program(name), "{name}");
        }
    }

    #[test]
    fn what_keeps_for_later_has_a_word() {
        let words = ["V8EventListener", "system / PromiseReaction", "Timeout", "system / Context / scope @5", "Widget"];
        let roles: Vec<Option<&str>> = words.iter().map(|name| keeping_role_of(name)).collect();
        assert_eq!(roles, [Some("listener"), Some("promise reaction"), Some("timer"), Some("closure"), None]);
    }
}
