//! A dump and its copy side by side: every answer that prints no values must be the same.

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::names::{NameMap, cleaned};
use crate::answers::{
    AnswerError, BreakdownOptions, DominatorTreeOptions, HistogramOptions, LeaksOptions, RetainedBy, ThreadsOptions,
    breakdown, dominator_tree, histogram, leaks, threads,
};
use crate::dump::OpenDump;
use crate::graph::{Frame, HeapGraph, NameId, NodeId, TypeId};
use crate::units::{count_of, format_count};

/// Levels of the dominator tree whose rows are compared; the tree itself is compared whole.
const DEPTH: usize = 3;

/// Something that was compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was compared, in words.
    pub what: String,
    /// Both are the same.
    pub is_same: bool,
    /// The first difference.
    pub difference: Option<String>,
}

impl Check {
    pub(super) fn new(what: impl Into<String>, difference: Option<String>) -> Self {
        Check { what: what.into(), is_same: difference.is_none(), difference }
    }
}

/// Compares a dump with its copy, whose classes may have other names: objects, references, roots, threads, dominators, retained
/// sizes, and answers. Both are to be open without values (`OpenOptions::hides_values`). O(objects + references) beside the
/// dominator trees.
///
/// # Errors
/// When there is not the memory for an answer.
pub fn compare(dump: &OpenDump, copy: &OpenDump, names: &NameMap) -> Result<Vec<Check>, AnswerError> {
    let mut checks = Vec::new();
    let formats = (dump.info().format == copy.info().format).then_some(());
    checks.push(Check::new("the format", formats.is_none().then(|| format!("the copy is {}", copy.info().format))));
    if let (Some(a), Some(b)) = (dump.graph(), copy.graph()) {
        let pair = Pair { a, b, names };
        checks.push(Check::new(
            format!("{} with ids, types, sizes and references", count_of(a.node_count() as u64, "objects")),
            pair.objects(),
        ));
        checks.push(Check::new(count_of(a.roots().len() as u64, "root records"), pair.roots()));
        let frames = format_count(a.frames().len() as u64);
        let what = format!("{} with {frames} frames", count_of(a.threads().len() as u64, "threads"));
        checks.push(Check::new(what, pair.threads()));
        // What is wrong with the objects is wrong with all that follows from them.
        if checks.iter().all(|check| check.is_same) && !a.references_missing() {
            checks.push(Check::new("dominators and retained sizes of all objects", retained(dump, copy)?));
        }
    }
    if names.is_empty() {
        let paths = [dump, copy].map(|dump| dump.path().map(|path| path.display().to_string()).unwrap_or_default());
        for (what, of_dump, of_copy) in
            answers(dump)?.into_iter().zip(answers(copy)?).map(|((what, a), (_, b))| (what, a, b))
        {
            checks.push(Check::new(what, first_difference("", &of_dump, &of_copy, &paths)));
        }
    }
    Ok(checks)
}

/// Answers as data.
fn answers(dump: &OpenDump) -> Result<Vec<(&'static str, Value)>, AnswerError> {
    let value = |answer: serde_json::Result<Value>| answer.unwrap_or_default();
    let has_tree = dump.graph().is_some_and(|graph| !graph.references_missing());
    let options = HistogramOptions { retained: has_tree.then_some(RetainedBy::Minimum), ..Default::default() };
    let mut answers = vec![("the histogram", value(serde_json::to_value(histogram(dump, &options)?)))];
    if !has_tree {
        let breakdown = breakdown(dump, &BreakdownOptions::default());
        answers.extend(breakdown.ok().map(|answer| ("the breakdown", value(serde_json::to_value(answer)))));
        return Ok(answers);
    }
    let options = DominatorTreeOptions { depth: DEPTH as u32, ..Default::default() };
    answers.push(("the dominator tree", value(serde_json::to_value(dominator_tree(dump, &options)?))));
    answers.push(("leak suspects", value(serde_json::to_value(leaks(dump, &LeaksOptions::default())?))));
    answers.push(("the threads' stacks", value(serde_json::to_value(threads(dump, &ThreadsOptions::default())?))));
    Ok(answers)
}

/// The first place where two answers differ, but for the files' names in command lines. Problems of the dumps are left out,
/// of which the copy has others.
fn first_difference(at: &str, a: &Value, b: &Value, paths: &[String; 2]) -> Option<String> {
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
            if without(a, &paths[0]) == without(b, &paths[1]) || cleaned(a) == *b || has_keys(a, b) =>
        {
            None
        }
        _ => (a != b).then(|| format!("{at}: {a} and {b}").chars().take(200).collect()),
    }
}

/// Returns true where a text differs in names that are keys in the copy.
fn has_keys(text: &str, of_copy: &str) -> bool {
    let mut parts = of_copy.split("[\"<key>\"]");
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    for part in parts {
        let Some(at) = rest.find(part).filter(|at| *at > 0 || part.is_empty()) else { return false };
        rest = &rest[at + part.len()..];
    }
    of_copy.contains("[\"<key>\"]") && (rest.is_empty() || of_copy.ends_with(']'))
}

fn retained(dump: &OpenDump, copy: &OpenDump) -> Result<Option<String>, AnswerError> {
    let ((dominators, retained), (of_copy, retained_of_copy)) = (dump.dominators()?, copy.dominators()?);
    let Some(graph) = dump.graph() else { return Ok(None) };
    let differs = |node: &NodeId| {
        dominators.dominator_of(*node) != of_copy.dominator_of(*node)
            || retained.bytes_of(dominators, *node) != retained_of_copy.bytes_of(of_copy, *node)
    };
    Ok(graph.nodes().find(differs).map(|node| graph.display_id(node)))
}

/// Two graphs that should be the same.
struct Pair<'g> {
    a: &'g HeapGraph,
    b: &'g HeapGraph,
    names: &'g NameMap,
}

impl Pair<'_> {
    fn is_renamed(&self, a: &str, b: &str) -> bool {
        match self.names.rename(a.as_bytes()) {
            Some(renamed) => renamed == b.as_bytes(),
            None => a == b || cleaned(a) == b,
        }
    }

    fn is_same_type(&self, a: TypeId, b: TypeId) -> bool {
        self.is_renamed(self.a.type_name(a), self.b.type_name(b))
    }

    fn objects(&self) -> Option<String> {
        let Pair { a, b, .. } = *self;
        if a.node_count() != b.node_count() {
            return Some(format!("the copy has {}", count_of(b.node_count() as u64, "objects")));
        }
        let mut types: FxHashMap<TypeId, TypeId> = FxHashMap::default();
        let differs = |node: &NodeId| {
            let (of_a, of_b) = (a.type_of(*node), b.type_of(*node));
            let known = *types.entry(of_a).or_insert(of_b);
            let is_first = known == of_b;
            a.original_id(*node) != b.original_id(*node)
                || !is_first
                || a.shallow_bytes(*node) != b.shallow_bytes(*node)
                || !a
                    .references(*node)
                    .map(|to| (to.node, to.is_weak))
                    .eq(b.references(*node).map(|to| (to.node, to.is_weak)))
        };
        let node = a.nodes().find(differs);
        let of_types = types.iter().find(|&(a, b)| !self.is_same_type(*a, *b));
        node.map(|node| format!("object {}", a.display_id(node)))
            .or_else(|| of_types.map(|(a, b)| format!("{} is {}", self.a.type_name(*a), self.b.type_name(*b))))
    }

    fn roots(&self) -> Option<String> {
        let Pair { a, b, .. } = *self;
        if a.roots().len() != b.roots().len() {
            return Some(format!("the copy has {}", count_of(b.roots().len() as u64, "root records")));
        }
        let differs = |(a, b): &(&crate::graph::Root, &crate::graph::Root)| {
            (a.node, a.kind, a.flags, a.thread, a.frame, a.origin)
                != (b.node, b.kind, b.flags, b.thread, b.frame, b.origin)
        };
        let differing = a.roots().iter().zip(b.roots()).find(differs);
        differing.map(|(root, _)| format!("a root of {}", a.display_id(root.node)))
    }

    fn threads(&self) -> Option<String> {
        let Pair { a, b, .. } = *self;
        let text = |graph: &HeapGraph, name: Option<NameId>| name.map(|name| graph.name(name).to_string());
        let is_same_text = |of_a: Option<NameId>, of_b: Option<NameId>| match (text(a, of_a), text(b, of_b)) {
            (Some(a), Some(b)) => self.is_renamed(&a, &b),
            (a, b) => a == b,
        };
        let is_same = |(of_a, of_b): (&Frame, &Frame)| {
            let is_same_class = match (of_a.class, of_b.class) {
                (Some(a), Some(b)) => self.is_same_type(a, b),
                (a, b) => a.is_none() && b.is_none(),
            };
            is_same_class
                && of_a.line == of_b.line
                && is_same_text(Some(of_a.method), Some(of_b.method))
                && is_same_text(of_a.signature, of_b.signature)
                && is_same_text(of_a.source_file, of_b.source_file)
        };
        let (threads, of_copy) = (a.threads(), b.threads());
        let is_same_thread = |(a, b): (&crate::graph::Thread, &crate::graph::Thread)| {
            (a.serial, a.node, a.frames()) == (b.serial, b.node, b.frames())
        };
        if threads.len() != of_copy.len() || !threads.iter().zip(of_copy).all(is_same_thread) {
            return Some("the threads differ".to_string());
        }
        let is_same = a.frames().len() == b.frames().len() && a.frames().iter().zip(b.frames()).all(is_same);
        (!is_same).then(|| "the frames differ".to_string())
    }
}
