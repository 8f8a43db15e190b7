//! Objects and roots as users name and read them: ids, types, root records in words.

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

use super::common::InputArgs;
use crate::graph::{Found, HeapGraph, NodeId, Root, RootKind, SectionId};
use crate::report::escape_controls;

/// Finds the object a user means: `7c79f`, `0x0007C79F`, `2#7c79f`.
pub(super) fn find_object(graph: &HeapGraph, text: &str, input: &InputArgs) -> Result<NodeId> {
    let (section, digits) = match text.split_once('#') {
        Some((number, digits)) => {
            let number: usize = number.parse().unwrap_or(0);
            if !(1..=graph.sections().len()).contains(&number) {
                bail!("object {text}: there are sections 1 to {}", graph.sections().len());
            }
            (Some(SectionId::new(number - 1)), digits)
        }
        None => (input.section(graph)?, text),
    };
    let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")).unwrap_or(digits);
    let valid = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let Some(id) = valid.then(|| u64::from_str_radix(digits, 16).ok()).flatten() else {
        bail!("\"{text}\" is neither a file nor an object id (hexadecimal, as the dump writes it)");
    };
    match graph.find(section, id) {
        Found::One(node) => Ok(node),
        Found::None => {
            bail!("no object {} in the dump; `heapdump list --ids` prints all ids", graph.id_style().format(id))
        }
        Found::Several(found) => {
            let ids: Vec<String> = found.iter().map(|&(_, node)| graph.display_id(node)).collect();
            bail!(
                "object {} is in several sections: {}; write it so, or say --domain",
                graph.id_style().format(id),
                ids.join(", ")
            )
        }
    }
}

/// The type's name; a class object's with the class it stands for.
pub(super) fn type_text(graph: &HeapGraph, node: NodeId) -> String {
    let name = graph.type_name(graph.type_of(node));
    match graph.class_named_by(node) {
        Some(class) => format!("{name} of {}", graph.type_name(class)),
        None => name.to_string(),
    }
}

/// What JSON says of an object wherever one is named.
pub(super) fn object_json(graph: &HeapGraph, node: NodeId) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("id".into(), graph.display_id(node).into());
    map.insert("type".into(), graph.type_name(graph.type_of(node)).into());
    if let Some(class) = graph.class_named_by(node) {
        map.insert("class".into(), graph.type_name(class).into());
    }
    map.insert("shallow_bytes".into(), graph.shallow_bytes(node).into());
    map
}

/// A root record for JSON.
pub(super) fn root_json(graph: &HeapGraph, root: &Root) -> Value {
    let mut value = json!({"kind": root.kind.name(), "flags": root.flags.names()});
    if let (Some(container), Value::Object(map)) = (root.container, &mut value) {
        map.insert("container".into(), graph.type_name(container).into());
    }
    if let (Some(name), Value::Object(map)) = (graph.root_name(root), &mut value) {
        map.insert("name".into(), name.into());
    }
    value
}

/// A root record in a line: `static BubbleGame.Events.EventBus (pinned)`, `local of Demo.Program.Main`.
pub(super) fn root_text(graph: &HeapGraph, root: &Root) -> String {
    let mut text = root.kind.name();
    if root.kind == RootKind::Local && root.name.is_some() {
        text.push_str(" of");
    }
    if let Some(name) = whose(graph, root) {
        text.push(' ');
        text.push_str(&name);
    }
    let flags = root.flags.names();
    if !flags.is_empty() {
        text.push_str(&format!(" ({})", flags.join(", ")));
    }
    text
}

/// The same for people who do not know the kinds: `a static variable of BubbleGame.Events.EventBus, pinned`;
/// `static field Head : Demo.Model.ListNode`; `a local of method Demo.Program.WaitHolding`.
pub(super) fn root_words(graph: &HeapGraph, root: &Root) -> String {
    let mut text = match (root.kind, root.name, root.container) {
        (RootKind::Static, Some(_), _) => "static field".into(),
        (RootKind::Local, Some(_), _) => "a local of method".into(),
        (kind, _, Some(_)) => format!("{} of", kind.meaning()),
        (kind, ..) => kind.meaning().to_string(),
    };
    if let Some(name) = whose(graph, root) {
        text.push(' ');
        text.push_str(&name);
    }
    for flag in root.flags.names() {
        text.push_str(", ");
        text.push_str(&flag);
    }
    text
}

/// The variable, method or class of a root. Where the class with a static variable is not known, the type of its value
/// stands behind its name, as in a declaration.
fn whose(graph: &HeapGraph, root: &Root) -> Option<String> {
    let container = root.container.map(|container| graph.type_name(container));
    let text = match (container, graph.root_name(root)) {
        (Some(container), Some(name)) => format!("{container}.{name}"),
        (Some(container), None) => container.to_string(),
        (None, Some(name)) if root.kind == RootKind::Static => {
            format!("{name} : {}", graph.type_name(graph.type_of(root.node)))
        }
        (None, Some(name)) => name.to_string(),
        (None, None) => return None,
    };
    Some(escape_controls(&text).into_owned())
}
