//! Holders in words.

use rustc_hash::FxHashSet;
use serde::Serialize;

use super::leak_path::{LeakPath, LeakPathStep, ThreadLocalValue, most_telling_root, root_owner_and_text};
use super::prepared_heap::{AnalysedHeap, mask_numbers, simple_name};
use crate::analysis::leaks::CodeOwner;
use crate::answers::libraries::dotted_type_name;
use crate::graph::{NodeId, RootKind};
use crate::input::ReferenceName;

/// Objects whose ways are asked for the threads that they begin at.
const MAX_OBJECTS_ASKED_FOR_THREADS: usize = 500;
/// Steps that are gone up for that, for all.
const MAX_STEPS_TO_THREADS: usize = 1 << 20;

/// The holder of what is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HolderRow {
    /// In words: `static PriceService.CACHE`.
    pub text: String,
    /// The class that has the first of the fields, or whose method has the variable.
    pub class: Option<String>,
    /// The fields from there to what holds it all.
    pub fields: Vec<String>,
    /// The way it is held.
    pub kind: HolderKind,
}

/// The way in which something is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum HolderKind {
    /// A static variable.
    Static,
    /// A local variable of a method that runs.
    Local,
    /// A value that a thread keeps for itself.
    ThreadLocal,
    /// A field of an object.
    Field,
    /// A variable of a module or a closure.
    Variable,
    /// A root that is none of these.
    Root,
}

/// The holder, and what keeps that.
#[derive(Debug, Clone)]
pub(super) struct HolderDescription {
    pub(super) holder: HolderRow,
    /// In words; empty where the holder says it.
    pub(super) outer_holder: String,
    /// The object with the holder's field.
    pub(super) holder_node: NodeId,
}

impl HolderDescription {
    /// The words for a way in a Java heap, or one without names.
    pub(super) fn of(analysed: &AnalysedHeap<'_>, way: &LeakPath, rows: &[u32]) -> Self {
        let heap = &analysed.heap;
        let above = &way.steps[..way.steps_above_growth];
        let is_collection = |node: NodeId| heap.structural_names.is_plain_collection(&heap.type_name(node));
        let is_carrier = |node: NodeId| heap.type_role(node).is_carrier;
        if let Some(value) = way.thread_local_value(analysed)
            && !above.iter().any(|step| step.is_of_program() && !heap.thread_names.contains_key(&step.from))
        {
            return HolderDescription::of_thread_local(analysed, value, rows);
        }
        let root = most_telling_root(analysed, way.start);
        let (root_owner, root_words) =
            root.map_or((CodeOwner::Runtime, String::new()), |root| root_owner_and_text(analysed, root));
        let Some(own) = deepest_step_index(above, LeakPathStep::is_of_program)
            .or_else(|| (root_owner == CodeOwner::Application).then_some(usize::MAX))
            .or_else(|| {
                deepest_step_index(above, |step| {
                    step.owner == CodeOwner::Library
                        && step.field_or_variable_name().is_some()
                        && !is_carrier(step.from)
                })
            })
            .or_else(|| root_words.starts_with("static ").then_some(usize::MAX))
            .or(if above.is_empty() { None } else { Some(0) })
        else {
            // Threads that grew, each with a variable of the program's methods.
            if let Some(step) = way.steps.iter().find(|step| step.is_local() && step.is_of_program()) {
                let holder = holder_of_step(analysed, step);
                return HolderDescription { holder, outer_holder: String::new(), holder_node: step.from };
            }
            let text = if root_words.is_empty() { heap.type_name(way.start) } else { root_words };
            let holder = HolderRow { text, class: None, fields: Vec::new(), kind: HolderKind::Root };
            return HolderDescription { holder, outer_holder: String::new(), holder_node: way.start };
        };
        let (mut holder, rest, mut last) = match above.get(own) {
            Some(step) => (holder_of_step(analysed, step), &above[own + 1..], step.to),
            None => {
                let holder =
                    HolderRow { text: root_words.clone(), class: None, fields: Vec::new(), kind: HolderKind::Static };
                (holder, above, way.start)
            }
        };
        // Fields of libraries on the way from there: one is joined by a dot; of more only the last, nearest to what is kept.
        let is_named = |step: &&LeakPathStep| {
            step.field_or_variable_name().is_some() && !is_carrier(step.from) && !is_collection(step.from)
        };
        let named: Vec<&LeakPathStep> = rest.iter().filter(is_named).collect();
        if let [.., nearest] = &named[..]
            && named.len() > 1
        {
            holder.text += &format!(" ({}) … {}", simple_name(&heap.type_name(last)), nearest.text(analysed));
            holder.fields.extend(nearest.field_or_variable_name());
            last = nearest.to;
        } else {
            for step in rest {
                if !is_named(&step) || is_carrier(step.to) {
                    break;
                }
                let field = step.field_or_variable_name().unwrap_or_default();
                holder.text += &format!(".{field}");
                holder.fields.push(field);
                last = step.to;
            }
        }
        // A class without a name is what it is derived from.
        let mut types = heap.graph.types().superclass_chain(heap.graph.type_of(last));
        let with_name = types
            .find(|id| !heap.type_roles[id.index()].is_anonymous)
            .filter(|id| heap.graph.types().superclass(*id).is_some());
        let last_type = with_name
            .map_or_else(|| heap.type_name(last), |id| dotted_type_name(heap.graph.type_name(id)).into_owned());
        let is_kept = analysed.rows.row_of(last).is_some_and(|row| rows.binary_search(&row).is_ok());
        if !is_kept && !last_type.ends_with(']') && heap.graph.types().type_of_class_object(last).is_none() {
            holder.text += &format!(" ({})", simple_name(&last_type));
        }
        let is_static_root = root.is_some_and(|root| root.kind == RootKind::Static);
        let variable =
            way.thread_local_value(analysed).and_then(|value| variable_of_thread_local(analysed, value.key?));
        let origin = match (variable, above.first()) {
            (Some((class, name)), _) => {
                format!("the ThreadLocal {class}.{name} in {}", threads_of_rows_in_words(analysed, rows))
            }
            (None, _) if is_static_root => root_words,
            (None, Some(first)) if own != 0 => first.text(analysed),
            _ => String::new(),
        };
        let outer_holder = if holder.text.contains(&origin) { String::new() } else { origin };
        HolderDescription { holder, outer_holder, holder_node: above.get(own).map_or(way.start, |step| step.from) }
    }

    /// Values of a ThreadLocal: the variable that has it is what a programmer looks for.
    fn of_thread_local(analysed: &AnalysedHeap<'_>, value: ThreadLocalValue, rows: &[u32]) -> Self {
        let variable = value.key.and_then(|key| variable_of_thread_local(analysed, key));
        let text = variable
            .as_ref()
            .map_or_else(|| "(no static holds it any more)".into(), |(class, name)| format!("{class}.{name}"));
        let holder = HolderRow {
            text: format!("the ThreadLocal {text}"),
            class: variable.as_ref().map(|(class, _)| class.clone()),
            fields: variable.into_iter().map(|(_, name)| name).collect(),
            kind: HolderKind::ThreadLocal,
        };
        HolderDescription { holder, outer_holder: threads_of_rows_in_words(analysed, rows), holder_node: value.entry }
    }
}

fn deepest_step_index(steps: &[LeakPathStep], is_wanted: impl Fn(&LeakPathStep) -> bool) -> Option<usize> {
    steps.iter().rposition(is_wanted)
}

fn holder_of_step(analysed: &AnalysedHeap<'_>, step: &LeakPathStep) -> HolderRow {
    let heap = &analysed.heap;
    let class = heap.graph.types().type_of_class_object(step.from);
    let kind = match &step.name {
        Some(ReferenceName::Local(_)) => HolderKind::Local,
        Some(ReferenceName::CapturedVariable(_)) => HolderKind::Variable,
        _ if class.is_some() => HolderKind::Static,
        _ => HolderKind::Field,
    };
    let class = match &step.name {
        Some(ReferenceName::Local(frame)) => {
            heap.owner_and_method_of_local(*frame).1.rsplit_once('.').map(|(class, _)| class.to_string())
        }
        _ => Some(class.map_or_else(
            || heap.type_name(step.from),
            |class| dotted_type_name(heap.graph.type_name(class)).into_owned(),
        )),
    };
    let text = match (heap.thread_names.get(&step.from), kind) {
        (Some(thread), HolderKind::Field) => format!("{} of thread {thread}", step.text(analysed)),
        _ => step.text(analysed),
    };
    HolderRow { text, class, fields: step.field_or_variable_name().into_iter().collect(), kind }
}

/// The class and the static variable that have a ThreadLocal; else the object and the field.
pub(super) fn variable_of_thread_local(analysed: &AnalysedHeap<'_>, key: NodeId) -> Option<(String, String)> {
    let (graph, names) = (analysed.heap.graph, analysed.heap.names?);
    let has_it = |&&(class, _): &&(NodeId, crate::graph::TypeId)| graph.strong_references(class).contains(&key);
    let class = graph.types().class_objects().iter().find(has_it);
    let (holder, type_name) = match class {
        Some(&(class, type_id)) => (class, dotted_type_name(graph.type_name(type_id)).into_owned()),
        None => analysed.rows.paths().parent(key).map(|holder| (holder, analysed.heap.type_name(holder)))?,
    };
    match names.find_between(holder, key)? {
        ReferenceName::StaticField(name) | ReferenceName::Field(_, name) => {
            Some((simple_name(&type_name).to_string(), name))
        }
        _ => None,
    }
}

/// The threads at which the ways to some rows begin: `thread main`, `4 threads pool-1-thread-N`.
pub(super) fn threads_of_rows_in_words(analysed: &AnalysedHeap<'_>, rows: &[u32]) -> String {
    let (graph, heap) = (analysed.heap.graph, &analysed.heap);
    let is_member = |node: &NodeId| analysed.rows.row_of(*node).is_some_and(|row| rows.binary_search(&row).is_ok());
    let all: usize = rows.iter().map(|&row| analysed.rows.row(row).objects as usize).sum();
    let mut threads: FxHashSet<NodeId> = FxHashSet::default();
    let mut left = MAX_STEPS_TO_THREADS;
    for node in graph.nodes().filter(is_member).step_by((all / MAX_OBJECTS_ASKED_FOR_THREADS).max(1)) {
        let mut at = Some(node);
        while let Some(node) = at.filter(|_| left > 0) {
            if heap.thread_names.contains_key(&node) {
                threads.insert(node);
                break;
            }
            left -= 1;
            at = analysed.rows.paths().parent(node);
        }
    }
    let mut names: Vec<&str> =
        threads.iter().filter_map(|node| heap.thread_names.get(node)).map(String::as_str).collect();
    names.sort_unstable();
    threads_in_words(&names)
}

/// Threads in words: names that differ in their numbers alone are one.
pub(super) fn threads_in_words(names: &[&str]) -> String {
    if let [name] = names {
        return format!("thread {name}");
    }
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for name in names {
        let masked = mask_numbers(name);
        match groups.iter_mut().find(|(known, _)| *known == masked) {
            Some((_, names)) => names.push(name),
            None => groups.push((masked, vec![name])),
        }
    }
    groups.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let texts: Vec<String> = groups
        .iter()
        .take(2)
        .map(|(_, names)| match &names[..] {
            [name] => format!("thread {name}"),
            names => format!("{} threads {}", names.len(), name_without_differing_numbers(names)),
        })
        .collect();
    if texts.is_empty() { "a thread".into() } else { texts.join(" and ") }
}

/// Names with N in place of the numbers in which they differ; they are alike but for numbers.
pub(super) fn name_without_differing_numbers(names: &[&str]) -> String {
    let parts = |name: &str| -> Vec<String> {
        let mut parts: Vec<String> = Vec::new();
        for letter in name.chars() {
            let is_digit = letter.is_ascii_digit();
            match parts.last_mut() {
                Some(last) if last.ends_with(|end: char| end.is_ascii_digit() == is_digit) => last.push(letter),
                _ => parts.push(letter.to_string()),
            }
        }
        parts
    };
    let all: Vec<Vec<String>> = names.iter().map(|name| parts(name)).collect();
    let Some(first) = all.first() else { return String::new() };
    let common = first.iter().enumerate().map(|(at, part)| {
        let is_common = all.iter().all(|parts| parts.get(at) == Some(part));
        if is_common { part.as_str() } else { "N" }
    });
    common.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_differ_in_a_number_are_one_name() {
        let names = ["http-nio-8080-exec-1", "http-nio-8080-exec-2", "http-nio-8080-exec-11"];
        assert_eq!(threads_in_words(&names), "3 threads http-nio-8080-exec-N");
        assert_eq!(threads_in_words(&["main"]), "thread main");
        assert_eq!(threads_in_words(&["a-1", "a-2", "main"]), "2 threads a-N and thread main");
        assert_eq!(threads_in_words(&[]), "a thread");
    }
}
