//! The virtual machine that wrote a dump, and why: read from the objects themselves.

use crate::graph::{HeapGraph, NodeId, SourceLine, TypeId};
use crate::input::{ObjectDetails, ReferenceName, Value};

/// Classes in which class libraries keep their version, and the static variables with it.
const VERSION_FIELDS: [(&str, &[&str]); 2] = [
    ("java.lang.VersionProps", &["java_runtime_name", "java_runtime_version"]),
    ("sun.misc.Version", &["java_runtime_name", "java_runtime_version"]),
];

/// `OpenJDK Runtime Environment 17.0.15+6`, as far as the dump says.
pub(super) fn producer(graph: &HeapGraph, details: &dyn ObjectDetails) -> Option<String> {
    let class_named = |name: &str| graph.types().ids().find(|&class| graph.type_name(class) == name);
    let (class, variables) =
        VERSION_FIELDS.iter().find_map(|(name, variables)| Some((class_named(name)?, *variables)))?;
    let node = graph.types().class_object(class)?;
    let text = |wanted: &&str| {
        let is_wanted = |name: &ReferenceName| matches!(name, ReferenceName::StaticField(name) if name == wanted);
        text_of_field(graph, details, node, is_wanted)
    };
    // Some texts were blotted out.
    let words: Vec<String> = variables.iter().filter_map(text).filter(|text| text.chars().any(|c| c != '\0')).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The reason for the dump, if a thread shows it: HotSpot gives one that ran out of memory a frame of its own.
pub(super) fn dump_reason(graph: &HeapGraph, details: Option<&dyn ObjectDetails>) -> Option<String> {
    let is_error = |class: TypeId| graph.type_name(class) == "java.lang.OutOfMemoryError";
    let thread = graph.threads().iter().find(|thread| {
        let innermost = graph.frames_of(thread).first();
        innermost.is_some_and(|frame| frame.class.is_some_and(is_error) && graph.types().text(frame.method) == "<init>")
    })?;
    let mut text = "OutOfMemoryError".to_string();
    let is_name = |name: &ReferenceName| matches!(name, ReferenceName::Field(_, name) if name == "name");
    let name = thread.node.zip(details).and_then(|(node, details)| text_of_field(graph, details, node, is_name));
    match (name, thread.node) {
        (Some(name), _) => text += &format!(" of thread {name:?}"),
        (None, Some(node)) => text += &format!(" of thread {}", graph.display_id(node)),
        _ => {}
    }
    if let Some(frame) = graph.frames_of(thread).get(1) {
        let types = graph.types();
        let class = frame.class.map_or(String::new(), |class| format!("{}.", graph.type_name(class)));
        text += &format!(" in {class}{}", types.text(frame.method));
        let file = frame.source_file.map(|file| types.text(file));
        match (file, frame.line) {
            (Some(file), SourceLine::Number(line)) => text += &format!(" ({file}:{line})"),
            (Some(file), _) => text += &format!(" ({file})"),
            _ => {}
        }
    }
    Some(text)
}

fn text_of_field(
    graph: &HeapGraph,
    details: &dyn ObjectDetails,
    node: NodeId,
    is_wanted: impl Fn(&ReferenceName) -> bool,
) -> Option<String> {
    match details.fields(graph, node).ok()?.iter().find(|field| is_wanted(&field.name))?.value {
        Value::Object(text) => details.text(graph, text).ok()?,
        _ => None,
    }
}
