//! A dump and its copy: every answer that prints no values must be the same. One is looked at after the other, for both may not
//! have room beside each other.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use serde_json::Value;

use super::names::{NameMap, without_program_data};
use crate::analysis::dominators::Dominator;
use crate::answers::{
    AnswerError, BreakdownOptions, DominatorTreeOptions, HistogramOptions, LeaksOptions, RetainedBy, ThreadsOptions,
    breakdown, dominator_tree, histogram, leaks, threads,
};
use crate::dump::OpenDump;
use crate::graph::{GraphNameId, HeapGraph, NodeId, TypeId};
use crate::units::{count_with_noun, format_count};

/// Levels of the dominator tree whose rows are compared; the tree itself is compared whole.
const COMPARED_TREE_DEPTH: usize = 3;
/// Objects with one hash.
const OBJECTS_PER_HASH: usize = 1 << 12;

/// Something that was compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyCheck {
    /// What was compared, in words.
    pub subject: String,
    /// Both are the same.
    pub is_same: bool,
    /// The first difference.
    pub difference: Option<String>,
}

impl CopyCheck {
    pub(super) fn new(what: impl Into<String>, difference: Option<String>) -> Self {
        CopyCheck { subject: what.into(), is_same: difference.is_none(), difference }
    }
}

/// What is compared of a dump: hashes of its objects, references, roots, threads, dominators and retained sizes, and answers. 16 bytes for
/// each 4,096 objects.
#[derive(Debug, Default)]
pub struct DumpDigest {
    format: String,
    path: String,
    /// What, and its hashes: each with the object that it begins with, where it is one of objects.
    hashed_parts: Vec<(String, Vec<(u64, String)>)>,
    /// What, and the answer as data.
    answers: Vec<(&'static str, Value)>,
}

impl DumpDigest {
    /// Looks at a dump that is open without values (`OpenOptions::hides_values`), as a copy with other names would be. O(objects +
    /// references) beside the dominator tree and the answers.
    ///
    /// # Errors
    /// When there is not the memory for an answer.
    pub fn of(dump: &OpenDump, names: &NameMap) -> Result<Self, AnswerError> {
        let path = dump.path().map(|path| path.display().to_string()).unwrap_or_default();
        let mut seen = DumpDigest { format: dump.info().format.to_string(), path, ..DumpDigest::default() };
        if let Some(graph) = dump.graph() {
            let types: Vec<u64> =
                graph.types().ids().map(|id| hash_of(name_in_copy(names, graph.type_name(id)))).collect();
            let type_of = |type_id: TypeId| types.get(type_id.index());
            let what = format!(
                "{} with ids, types, sizes and references",
                count_with_noun(graph.node_count() as u64, "objects")
            );
            seen.add_object_hashes(graph, what, |node, hasher| {
                (graph.original_id(node), type_of(graph.type_of(node)), graph.shallow_bytes(node)).hash(hasher);
                graph.references(node).for_each(|to| (to.node.index(), to.is_weak).hash(hasher));
            });
            let roots = graph.roots().iter().map(|root| {
                let text = format!("{:?}", (root.kind, root.flags, root.thread, root.frame, root.origin));
                (hash_of((root.node.index(), text)), format!("a root of {}", graph.display_id(root.node)))
            });
            seen.hashed_parts.push((count_with_noun(graph.roots().len() as u64, "root records"), roots.collect()));
            seen.hashed_parts.push(thread_hashes(graph, names));
            if !graph.lacks_references() {
                let (dominators, retained) = dump.dominators()?;
                seen.add_object_hashes(graph, "dominators and retained sizes of all objects".into(), |node, hasher| {
                    match dominators.dominator_of(node) {
                        Dominator::Node(dominator) => dominator.index().hash(hasher),
                        other => format!("{other:?}").hash(hasher),
                    }
                    retained.bytes_of(dominators, node).hash(hasher);
                });
            }
        }
        seen.answers = compared_answers(dump)?;
        Ok(seen)
    }

    fn add_object_hashes(&mut self, graph: &HeapGraph, what: String, mut see: impl FnMut(NodeId, &mut FxHasher)) {
        let mut hashes = Vec::new();
        for first in (0..graph.node_count()).step_by(OBJECTS_PER_HASH) {
            let mut hasher = FxHasher::default();
            let end = (first + OBJECTS_PER_HASH).min(graph.node_count());
            (first..end).for_each(|node| see(NodeId::new(node), &mut hasher));
            hashes
                .push((hasher.finish(), format!("among the objects from {} on", graph.display_id(NodeId::new(first)))));
        }
        self.hashed_parts.push((what, hashes));
    }
}

fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A name as it is in the copy.
fn name_in_copy(names: &NameMap, name: &str) -> String {
    let renamed = names.rename(name.as_bytes()).map(|name| String::from_utf8_lossy(&name).into_owned());
    without_program_data(renamed.as_deref().unwrap_or(name)).into_owned()
}

fn thread_hashes(graph: &HeapGraph, names: &NameMap) -> (String, Vec<(u64, String)>) {
    let text = |name: Option<GraphNameId>| name.map(|name| name_in_copy(names, graph.name(name)));
    let frames = graph.frames().iter().map(|frame| {
        let class = frame.class.map(|class| name_in_copy(names, graph.type_name(class)));
        hash_of((
            class,
            format!("{:?}", frame.line),
            text(Some(frame.method)),
            text(frame.signature),
            text(frame.source_file),
        ))
    });
    let threads = graph
        .threads()
        .iter()
        .map(|thread| hash_of(format!("{:?}", (thread.serial, thread.node, thread.frame_range()))));
    let hashes =
        threads.map(|hash| (hash, "a thread".to_string())).chain(frames.map(|hash| (hash, "a frame".to_string())));
    let hashes = hashes.collect();
    let frames = format_count(graph.frames().len() as u64);
    (format!("{} with {frames} frames", count_with_noun(graph.threads().len() as u64, "threads")), hashes)
}

/// Compares what was seen of a dump with what was seen of its copy; answers unless `is_renamed`.
pub fn compare(dump: &DumpDigest, copy: &DumpDigest, is_renamed: bool) -> Vec<CopyCheck> {
    let format = (dump.format != copy.format).then(|| format!("the copy is {}", copy.format));
    let mut checks = vec![CopyCheck::new("the format", format)];
    for (at, (what, hashes)) in dump.hashed_parts.iter().enumerate() {
        let difference = match copy.hashed_parts.get(at) {
            Some((of_copy, _)) if of_copy != what => Some(format!("the copy has {of_copy}")),
            Some((_, of_copy)) => {
                let mut pairs = hashes.iter().zip(of_copy);
                pairs.find(|(a, b)| a.0 != b.0).map(|(a, _)| a.1.clone())
            }
            None => Some("the copy has none".to_string()),
        };
        // What is wrong with the objects is wrong with all that follows from them.
        let follows = at == 3 && checks.iter().any(|check| !check.is_same);
        if !follows {
            checks.push(CopyCheck::new(what, difference));
        }
    }
    if !is_renamed {
        let paths = [&dump.path, &copy.path];
        for ((what, a), (_, b)) in dump.answers.iter().zip(&copy.answers) {
            checks.push(CopyCheck::new(*what, first_difference("", a, b, &paths)));
        }
    }
    checks
}

/// Answers as data.
fn compared_answers(dump: &OpenDump) -> Result<Vec<(&'static str, Value)>, AnswerError> {
    let value = |answer: serde_json::Result<Value>| answer.unwrap_or_default();
    let has_tree = dump.graph().is_some_and(|graph| !graph.lacks_references());
    let options = HistogramOptions { retained: has_tree.then_some(RetainedBy::Minimum), ..Default::default() };
    let mut answers = vec![("the histogram", value(serde_json::to_value(histogram(dump, &options)?)))];
    if !has_tree {
        let breakdown = breakdown(dump, &BreakdownOptions::default());
        answers.extend(breakdown.ok().map(|answer| ("the breakdown", value(serde_json::to_value(answer)))));
        return Ok(answers);
    }
    let options = DominatorTreeOptions { depth: COMPARED_TREE_DEPTH as u32, ..Default::default() };
    answers.push(("the dominator tree", value(serde_json::to_value(dominator_tree(dump, &options)?))));
    answers.push(("leak suspects", value(serde_json::to_value(leaks(dump, &LeaksOptions::default())?))));
    answers.push(("the threads' stacks", value(serde_json::to_value(threads(dump, &ThreadsOptions::default())?))));
    Ok(answers)
}

/// The first place where two answers differ, but for the files' names in command lines. Problems of the dumps are left out,
/// of which the copy has others.
fn first_difference(at: &str, a: &Value, b: &Value, paths: &[&String; 2]) -> Option<String> {
    let without = |text: &str, path: &str| match path {
        "" => text.to_string(),
        path => text.replace(&format!("'{path}'"), "").replace(path, ""),
    };
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let missing = b.keys().find(|key| !a.contains_key(*key) && *key != "problems");
            let of_both = a.iter().filter(|(key, _)| *key != "problems").find_map(|(key, value)| {
                first_difference(&format!("{at}.{key}"), value, b.get(key).unwrap_or(&Value::Null), paths)
            });
            of_both.or_else(|| missing.map(|key| format!("{at}.{key}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(place, (a, b))| first_difference(&format!("{at}[{place}]"), a, b, paths))
        }
        (Value::String(a), Value::String(b))
            if without(a, paths[0]) == without(b, paths[1])
                || without_program_data(a) == *b
                || differs_in_masked_keys_only(a, b) =>
        {
            None
        }
        _ => (a != b).then(|| format!("{at}: {a} and {b}").chars().take(200).collect()),
    }
}

/// Returns true where a text differs in names that are keys in the copy.
fn differs_in_masked_keys_only(text: &str, of_copy: &str) -> bool {
    let mut parts = of_copy.split("[\"<key>\"]");
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    for part in parts {
        let Some(at) = rest.find(part).filter(|at| *at > 0 || part.is_empty()) else { return false };
        rest = &rest[at + part.len()..];
    }
    of_copy.contains("[\"<key>\"]") && (rest.is_empty() || of_copy.ends_with(']'))
}
