//! Holders in words of JavaScript: the nearest object of a class with a name and the fields from there, the
//! variables above it, the module.

use super::holder_words::{HolderDescription, HolderKind, HolderRow};
use super::leak_path::{LeakPath, LeakPathStep};
use super::prepared_heap::{AnalysedHeap, LIST_LINK_NAMES, owner_of_script};
use crate::analysis::leaks::{CodeOwner, ELEMENT_LABEL};
use crate::graph::NodeId;
use crate::input::{ReferenceKind, ReferenceName};

/// An object on the way with the name of what it refers to.
struct ScriptStep {
    class_name: String,
    field_name: String,
    node: NodeId,
    is_variable: bool,
    /// The object is a class, and the field a static one.
    is_static: bool,
}

impl HolderDescription {
    /// The words for a way in a heap of V8.
    pub(super) fn of_javascript(analysed: &AnalysedHeap<'_>, way: &LeakPath) -> Self {
        let above = &way.steps[..way.steps_above_growth];
        let mut parts: Vec<ScriptStep> = above
            .iter()
            .filter_map(|step| {
                let field = programmer_name_of_reference(analysed, step)?;
                let is_variable = matches!(step.name, Some(ReferenceName::CapturedVariable(_)));
                let own_class = class_name_of_static(analysed, step);
                let is_static = own_class.is_some();
                let class = own_class.unwrap_or_else(|| class_name_of(analysed, step.from));
                Some(ScriptStep { class_name: class, field_name: field, node: step.from, is_variable, is_static })
            })
            .collect();
        let is_named = |part: &ScriptStep| has_telling_class_name(analysed, part.node, &part.class_name);
        let last = above.last().map_or(way.start, |step| step.from);
        let last_class = class_name_of(analysed, last);
        if has_telling_class_name(analysed, last, &last_class) && parts.last().is_none_or(|part| part.node != last) {
            let (class, field) = (last_class.clone(), String::new());
            parts.push(ScriptStep {
                class_name: class,
                field_name: field,
                node: last,
                is_variable: false,
                is_static: false,
            });
        }
        let named = parts.iter().rposition(is_named);
        let (text, via, class) = match named {
            Some(at) => {
                let fields = join_names(&parts[at..]);
                let dot = if fields.is_empty() || fields.starts_with('[') { "" } else { "." };
                let static_ = if parts[at].is_static { "static " } else { "" };
                (
                    format!("{static_}{}{dot}{fields}", parts[at].class_name),
                    shorten_names(&parts[..at]),
                    Some(parts[at].class_name.clone()),
                )
            }
            None => (join_names(&parts[parts.len().saturating_sub(3)..]), String::new(), None),
        };
        let fields =
            parts[named.unwrap_or(0)..].iter().map(|part| part.field_name.clone()).filter(|field| !field.is_empty());
        let is_variable = named.is_none() && parts.last().is_some_and(|part| part.is_variable);
        let holder = HolderRow {
            text: if text.is_empty() { last_class } else { text },
            class,
            fields: fields.collect(),
            kind: match named {
                Some(at) if parts[at].is_static => HolderKind::Static,
                _ if is_variable => HolderKind::Variable,
                _ => HolderKind::Field,
            },
        };
        let outer_holder = match (via.is_empty(), module_in_words(analysed, way)) {
            (true, place) => place,
            (false, place) if place.is_empty() => via,
            (false, place) => format!("{via} of {place}"),
        };
        let outer_holder = if outer_holder == holder.text { String::new() } else { outer_holder };
        HolderDescription { holder, outer_holder, holder_node: named.map_or(way.start, |at| parts[at].node) }
    }
}

/// The module that the way begins in; of the runtime's own the file of the program that made what is kept.
fn module_in_words(analysed: &AnalysedHeap<'_>, way: &LeakPath) -> String {
    let heap = &analysed.heap;
    let Some(file) = heap.modules.get(&way.start) else {
        let name = heap.type_name(way.start);
        return if name.starts_with("global") { "global".into() } else { String::new() };
    };
    let module = format!("module {}", file_name(file));
    if owner_of_script(file) != CodeOwner::Runtime {
        return module;
    }
    let below = way.steps[way.steps_above_growth.saturating_sub(1)..].iter().map(|step| step.to);
    let made = below.into_iter().find_map(|node| {
        let script = heap.reference_kinds.as_ref()?.script_file(node)?;
        if owner_of_script(&script) != CodeOwner::Application {
            return None;
        }
        let function = heap.details?.function_name(heap.graph, node).ok().flatten();
        let function = function.filter(|name| name.ends_with("()") && name.len() > 2);
        let function = function.map_or(String::new(), |name| format!("{} in ", name.trim_end_matches("()")));
        let place = heap.details?.source_place(heap.graph, node).ok().flatten();
        let line = place.map_or(String::new(), |place| format!(":{}", place.line + 1));
        Some(format!("{function}{}{line}", file_name(&script)))
    });
    match made {
        Some(made) => format!("{module} (made in {made})"),
        None => module,
    }
}

/// The last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn join_names(parts: &[ScriptStep]) -> String {
    let mut text = String::new();
    for part in parts.iter().filter(|part| !part.field_name.is_empty()) {
        if !text.is_empty() && !part.field_name.starts_with('[') {
            text.push('.');
        }
        text += &part.field_name;
    }
    text
}

/// The names on a way; of a long one the first, which is a variable of the program, and the last two.
fn shorten_names(parts: &[ScriptStep]) -> String {
    match parts {
        [first, ..] if parts.len() > 4 => {
            format!("{} … {}", first.field_name, join_names(&parts[parts.len() - 2..]))
        }
        _ => join_names(parts),
    }
}

/// The name of a reference as a programmer knows it; `None` for the engine's own, elements and links.
fn programmer_name_of_reference(analysed: &AnalysedHeap<'_>, step: &LeakPathStep) -> Option<String> {
    let is_one = || analysed.rows.row_of(step.to).is_some_and(|row| analysed.rows.row(row).objects == 1);
    match step.name.as_ref()? {
        ReferenceName::Element(index) if analysed.heap.type_name(step.to) == "TimersList" => {
            Some(format!("[{index} ms]"))
        }
        ReferenceName::Property(name) if is_key(analysed, step) => {
            (analysed.heap.type_name(step.to) == "TimersList").then(|| format!("[{name} ms]"))
        }
        ReferenceName::Property(name) | ReferenceName::CapturedVariable(name) => {
            let name = name.strip_prefix("<symbol ").and_then(|name| name.strip_suffix('>')).unwrap_or(name);
            (name != "exports" && !LIST_LINK_NAMES.contains(&name)).then(|| name.to_string())
        }
        ReferenceName::MapEntry(name) if is_one() => {
            name.strip_prefix("Map").filter(|key| key.starts_with('[')).map(String::from)
        }
        _ => None,
    }
}

/// True where a property of a plain object is a key: it is in a row of elements.
fn is_key(analysed: &AnalysedHeap<'_>, step: &LeakPathStep) -> bool {
    let row = analysed.rows.row_of(step.to).map(|row| analysed.rows.row(row).label);
    analysed.heap.type_role(step.from).has_no_own_class && row == Some(ELEMENT_LABEL)
}

/// True for an object of a class with a name that says something.
fn has_telling_class_name(analysed: &AnalysedHeap<'_>, node: NodeId, class: &str) -> bool {
    let type_name = analysed.heap.type_name(node);
    let is_own_name = class == type_name;
    !(is_own_name && (analysed.heap.type_role(node).is_carrier || class == "Module"))
        && !class.starts_with("system / ")
        && !class.starts_with(['(', '{'])
}

/// The name of the class or function whose own property this is.
fn class_name_of_static(analysed: &AnalysedHeap<'_>, step: &LeakPathStep) -> Option<String> {
    let heap = &analysed.heap;
    let is_static = matches!(step.name, Some(ReferenceName::Property(_))) && heap.type_name(step.from) == "Function";
    let function = is_static.then(|| heap.details?.function_name(heap.graph, step.from).ok().flatten()).flatten()?;
    function.strip_suffix("()").filter(|name| !name.is_empty()).map(String::from)
}

/// The name of the constructor of the prototype, where it says more than V8's own name of the object.
fn class_name_of(analysed: &AnalysedHeap<'_>, node: NodeId) -> String {
    let heap = &analysed.heap;
    let name = heap.type_name(node);
    if heap.type_role(node).is_carrier {
        return name;
    }
    let find = |from: NodeId, wanted: &str| {
        heap.reference_kinds.as_ref()?.find_target(heap.graph, from, ReferenceKind::Property, wanted)
    };
    let constructor = find(node, "__proto__").and_then(|prototype| find(prototype, "constructor"));
    let function =
        constructor.and_then(|constructor| heap.details?.function_name(heap.graph, constructor).ok().flatten());
    let own = function.as_deref().and_then(|function| function.strip_suffix("()"));
    own.filter(|own| !own.is_empty() && *own != "Object").map_or(name, String::from)
}
