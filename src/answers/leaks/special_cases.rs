//! Evidence from the values of a dump: the field where memory piles up, how many elements a collection says it
//! has, weak maps that hold themselves, thread-local values, what a thread was doing, loaders that should be gone.

use super::suspect_view::SuspectView;
use super::suspects::Suspects;
use crate::analysis::leaks::LeakSuspect;
use crate::answers::frames::FrameRow;
use crate::answers::libraries::dotted_type_name;
use crate::answers::paths::reference_suffix;
use crate::answers::values::ValueReader;
use crate::graph::{HeapGraph, Loader, NodeId, TypeId};
use crate::input::Value;
use crate::units::count_with_noun;

/// Objects between a suspect and the place where memory piles up.
const MAX_STEPS_TO_ACCUMULATION: usize = 8;
/// Entries of a weak map that are looked at.
const MAX_WEAK_MAP_ENTRIES: usize = 64;
/// Types of a loader that are named.
const MAX_TYPES_NAMED: usize = 3;
/// Fields in which collections of Java and Android have their number of elements.
const SIZE_FIELD_NAMES: [&str; 4] = ["size", "elementCount", "count", "mSize"];

/// The fields on the way from the suspect to the place where memory piles up: `.listeners.elementData`.
pub(super) fn fields_to_accumulation(suspects: &Suspects<'_>, suspect: &LeakSuspect) -> Option<String> {
    let names = suspects.names?;
    let (mut fields, mut node) = (Vec::new(), suspect.accumulation.node);
    while node != suspect.largest_object() && fields.len() < MAX_STEPS_TO_ACCUMULATION {
        let above = suspects.dominator_of(node)?;
        let name = names.between(above, node)?;
        fields.push(reference_suffix(&name));
        node = above;
    }
    fields.reverse();
    Some(fields.concat().trim_start().to_string())
        .filter(|fields| !fields.is_empty() && node == suspect.largest_object())
}

/// Number of elements that the collection around an array says it has: `java.util.ArrayList.size is 300`.
pub(super) fn collection_size_clause(suspects: &Suspects<'_>, suspect: &LeakSuspect) -> Option<String> {
    let values = suspects.values?;
    let collection = suspects.dominator_of(suspect.accumulation.node)?;
    let fields = values.raw_fields(collection);
    let count = SIZE_FIELD_NAMES.iter().find_map(|wanted| {
        fields.iter().find_map(|field| match (&field.name, &field.value) {
            (crate::input::ReferenceName::Field(_, name), Value::Integer(count)) if name == wanted => {
                Some((*wanted, *count))
            }
            _ => None,
        })
    });
    let (field, count) = count?;
    let type_name = suspects.graph.type_name(suspects.graph.type_of(collection));
    Some(format!("{type_name}.{field} is {count}"))
}

/// Sentences on what is special about a suspect.
pub(super) fn special_case_sentences(suspects: &Suspects<'_>, suspect: &LeakSuspect, view: &SuspectView<'_>) -> String {
    let Some(values) = suspects.values else { return String::new() };
    let graph = suspects.graph;
    let largest = suspect.largest_object();
    let all = [
        weak_map_key_sentence(suspects, suspect),
        thread_sentence(graph, values, largest),
        loader_sentence(graph, largest),
        view.path.row().and_then(|path| thread_local_sentence(graph, values, path.node_ids())),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn is_instance_of(graph: &HeapGraph, node: NodeId, class: &str) -> bool {
    is_class_or_subclass(graph, graph.type_of(node), class)
}

fn is_class_or_subclass(graph: &HeapGraph, type_id: TypeId, class: &str) -> bool {
    graph.types().superclass_chain(type_id).any(|above| dotted_type_name(graph.types().name(above)) == class)
}

/// A weak map whose values refer to their own keys.
fn weak_map_key_sentence(suspects: &Suspects<'_>, suspect: &LeakSuspect) -> Option<String> {
    let graph = suspects.graph;
    let table = suspect.accumulation.node;
    let map = suspects.dominator_of(table).filter(|&map| is_instance_of(graph, map, "java.util.WeakHashMap"))?;
    let is_entry = |node: &NodeId| is_instance_of(graph, *node, "java.util.WeakHashMap$Entry");
    let entries = graph.references(table).map(|to| to.node).filter(is_entry).take(MAX_WEAK_MAP_ENTRIES);
    let (mut looked_at, mut holding) = (0u64, 0u64);
    for entry in entries {
        let Some(key) = graph.references(entry).find(|to| to.is_weak).map(|to| to.node) else { continue };
        let values = graph.references(entry).filter(|to| !to.is_weak).map(|to| to.node);
        let mut others = values.filter(|value| !is_entry(value));
        looked_at += 1;
        holding += u64::from(others.any(|value| graph.references(value).any(|to| to.node == key && !to.is_weak)));
    }
    (holding > 0).then(|| {
        format!(
            "It is a weak map ({}) that holds itself: of {}, {holding} refer to their own keys, so that these entries are \
             never cleared.",
            graph.display_id(map),
            count_with_noun(looked_at, "values looked at"),
        )
    })
}

/// The call that a thread was in.
fn thread_sentence(graph: &HeapGraph, values: ValueReader<'_>, node: NodeId) -> Option<String> {
    let thread = graph.threads().iter().find(|thread| thread.node == Some(node))?;
    let frames = graph.frames_of(thread);
    let is_of_the_runtime = |frame: &&crate::graph::StackFrame| {
        let class = frame.class.map_or("", |class| graph.type_name(class));
        ["java.", "jdk.", "sun."].iter().any(|package| class.starts_with(package))
    };
    let own = frames.iter().find(|frame| !is_of_the_runtime(frame)).or(frames.first())?;
    let name = values.shown_value(node).map_or(String::new(), |name| format!(" \"{}\"", name.plain_text()));
    Some(format!("It is the thread{name}, in {}.", FrameRow::new(graph, own, &[]).text()))
}

/// A loader of classes whose types other loaders of its kind have too.
fn loader_sentence(graph: &HeapGraph, node: NodeId) -> Option<String> {
    if !is_instance_of(graph, node, "java.lang.ClassLoader") {
        return None;
    }
    let types = graph.types();
    let own: Vec<TypeId> = types.ids().filter(|&id| types.loader(id) == Loader::Object(node)).collect();
    let mut others: Vec<NodeId> = Vec::new();
    let mut shared: Vec<&str> = Vec::new();
    let names: std::collections::BTreeSet<&str> = own.iter().map(|&id| types.name(id)).collect();
    for id in types.ids().filter(|&id| names.contains(types.name(id))) {
        match types.loader(id) {
            Loader::Object(other) if other != node && graph.type_of(other) == graph.type_of(node) => {
                others.push(other);
                shared.push(graph.type_name(id));
            }
            _ => {}
        }
    }
    others.sort_unstable();
    others.dedup();
    shared.sort_unstable();
    shared.dedup();
    (!others.is_empty()).then(|| {
        let more = if shared.len() > MAX_TYPES_NAMED { ", ..." } else { "" };
        shared.truncate(MAX_TYPES_NAMED);
        format!(
            "It is one of {} that have loaded types of the same names ({}{more}): all but one may be left from before.",
            count_with_noun(others.len() as u64 + 1, "loaders"),
            shared.join(", ")
        )
    })
}

/// A value that a thread keeps for itself.
fn thread_local_sentence(
    graph: &HeapGraph,
    values: ValueReader<'_>,
    path: impl Iterator<Item = NodeId>,
) -> Option<String> {
    let nodes: Vec<NodeId> = path.take(MAX_STEPS_TO_ACCUMULATION * 4).collect();
    let entry =
        nodes.iter().position(|&node| is_instance_of(graph, node, "java.lang.ThreadLocal$ThreadLocalMap$Entry"))?;
    let thread = nodes[..entry].iter().rev().find(|&&node| is_instance_of(graph, node, "java.lang.Thread"))?;
    let name = values
        .shown_value(*thread)
        .map_or_else(|| graph.display_id(*thread), |name| format!("\"{}\"", name.plain_text()));
    Some(format!("It is a thread-local value of thread {name}: that ends with the thread, or when it is removed."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::root_paths::find_root_paths;
    use crate::graph::IdLookup;

    #[test]
    fn loaders_and_thread_local_values_are_recognised() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/hprof/zoo-jdk17-serial.hprof.zst");
        let dump = crate::dump::open(path).unwrap();
        let (graph, values) = (dump.graph().unwrap(), ValueReader::of(&dump).unwrap());
        let node = |id: u64| match graph.find_by_id(None, id) {
            IdLookup::One(node) => node,
            other => panic!("{id:x}: {other:?}"),
        };
        // Two loaders of one plugin; loaders of the runtime have types of their own.
        let text = "It is one of 2 loaders that have loaded types of the same names (zoo.Plugin): all but one may be left \
                    from before.";
        assert_eq!(loader_sentence(graph, node(0xFD5E_0FF0)).as_deref(), Some(text));
        assert_eq!(loader_sentence(graph, node(0xFD59_B640)), None);
        assert_eq!(loader_sentence(graph, node(0xFD5C_0330)), None);
        // What threads of the zoo program keep for themselves.
        for (id, thread) in [(0xFD5E_9100, "main"), (0xFD66_4D38, "zoo-worker")] {
            let paths = find_root_paths(graph, node(id), 1, false, |_| false);
            let path = paths.iter().next().expect("a path");
            let text = format!(
                "It is a thread-local value of thread \"{thread}\": that ends with the thread, or when it is removed."
            );
            assert_eq!(thread_local_sentence(graph, values, path.nodes()), Some(text));
        }
        let bus = find_root_paths(graph, node(0xFD5C_0330), 1, false, |_| false);
        assert_eq!(thread_local_sentence(graph, values, bus.iter().next().expect("a path").nodes()), None);
    }
}
