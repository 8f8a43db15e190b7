//! What lines say of objects besides the graph: texts, names of references, places of allocation.

use rustc_hash::FxHashMap;

use super::block::sorted_places;
use super::record::{NonObjectLine, ObjectLine, source_place_of};
use crate::graph::{HeapGraph, NodeId, Reference, Root, SourcePlace, TypeId};
use crate::input::json_lines::{RawValue, array_elements, ids, unescaped};
use crate::input::line_details::{LineFormat, only_node_of_id};
use crate::input::text::decimal_field;
use crate::input::{ReferenceKind, ReferenceName, Runtime};

/// Lines of this form.
#[derive(Debug)]
pub(super) struct HeapgraphLines;

impl LineFormat for HeapgraphLines {
    type Line<'a> = ObjectLine<'a>;
    /// The program is one of JavaScript.
    type Notes = bool;

    fn id_of(line: &[u8]) -> Option<u64> {
        // As most write it, without a look at the rest of the line.
        if let Some(number) = line.strip_prefix(b"{\"id\":")
            && let Some(end) = memchr::memchr(b',', &number[..number.len().min(24)])
            && let Some(id) = decimal_field(&number[..end])
        {
            return Some(id);
        }
        ObjectLine::of_line(line).ok()?.id?.id()
    }

    fn note_if_other_line(line: &[u8], is_script: &mut bool) -> bool {
        // Any key may come first; the lines of most objects need no second look.
        if line.starts_with(b"{\"id\":") || memchr::memmem::find(line, b"\"heapgraph\"").is_none() {
            return false;
        }
        let Some(header) = NonObjectLine::of_line(line).ok().filter(|header| header.heapgraph.is_some()) else {
            return false;
        };
        *is_script |= header.runtime.and_then(|runtime| Runtime::from_words(&runtime)) == Some(Runtime::JavaScript);
        true
    }

    fn merge_notes(is_script: &mut bool, later: bool) {
        *is_script |= later;
    }

    fn parse(line: &[u8]) -> Option<ObjectLine<'_>> {
        ObjectLine::of_line(line).ok()
    }

    fn text(line: &ObjectLine<'_>) -> Option<String> {
        line.text.map(|text| unescaped(text).into_owned())
    }

    fn text_if_string(line: &ObjectLine<'_>) -> Option<Option<String>> {
        line.text.map(|_| Self::text(line))
    }

    fn reference_names(graph: &HeapGraph, from: NodeId, _: &bool, line: &ObjectLine<'_>) -> Vec<Option<ReferenceName>> {
        let (mut names, targets) = (array_elements(line.reference_names), Vec::from_iter(graph.references(from)));
        let mut found: Vec<Option<ReferenceName>> = Vec::with_capacity(targets.len());
        for id in ids(line.refs) {
            let name = names.next().and_then(RawValue::text);
            if targets.get(found.len()).is_some_and(|target| id == Some(graph.original_id(target.node))) {
                found.push(name.map(|name| reference_name_of_word(&unescaped(name), graph.type_of(from))));
            }
        }
        // Behind those of the line: what lies on a thread's stack, and the class.
        let is_class = graph.types().objects_hold_class() && graph.types().class_object(graph.type_of(from)).is_some();
        let own = found.len()..targets.len() - usize::from(is_class && found.len() < targets.len());
        if !own.is_empty() {
            let is_own = |root: &&Root| {
                let thread = root.thread.and_then(|thread| graph.threads()[thread.index()].node);
                root.is_through_thread && thread == Some(from)
            };
            let mut frames = FxHashMap::default();
            for root in graph.roots().iter().filter(is_own) {
                frames.entry(root.node).or_insert(root.frame);
            }
            let frame = |target: &Reference| frames.get(&target.node).copied().map(ReferenceName::Local);
            found.extend(targets[own].iter().map(frame));
        }
        found.extend((is_class && found.len() < targets.len()).then_some(Some(ReferenceName::Class)));
        found
    }

    const REFERENCE_NAME_KEYS: Option<&'static [&'static [u8]]> = Some(&[b"\"names\"", b"\"frames\""]);
    const ALLOCATION_PLACE_KEY: &'static [u8] = b"\"at\"";

    /// `orders.py` of `orders.py:12`, and of `f (orders.py:12)`.
    fn allocation_file(line: &ObjectLine<'_>) -> Option<String> {
        let place = unescaped(line.allocation_place?).into_owned();
        let inner = place.strip_suffix(')').and_then(|place| Some(place.rsplit_once(" (")?.1)).unwrap_or(&place);
        let file = inner.rsplit_once(':').filter(|(_, line)| line.bytes().all(|byte| byte.is_ascii_digit()));
        Some(file.map_or(inner, |(file, _)| file).to_string())
    }

    fn collections_before_allocation(line: &ObjectLine<'_>) -> Option<u64> {
        line.generation
    }

    fn allocation_place(line: &ObjectLine<'_>) -> Option<String> {
        line.allocation_place.map(|place| unescaped(place).into_owned())
    }

    fn function_name(line: &ObjectLine<'_>) -> Option<String> {
        line.function.map(|name| unescaped(name).into_owned())
    }

    fn function_of_captured_variables(line: &ObjectLine<'_>) -> Option<String> {
        line.variables_of.map(|name| unescaped(name).into_owned())
    }

    fn source_place(line: &ObjectLine<'_>) -> Option<SourcePlace> {
        source_place_of(line.source_place)
    }

    fn script_file(line: &ObjectLine<'_>) -> Option<String> {
        line.script.map(|script| unescaped(script).into_owned())
    }

    fn has_reference_kinds(is_script: &bool) -> bool {
        *is_script
    }

    fn reference_kinds(graph: &HeapGraph, line: &ObjectLine<'_>) -> Vec<(ReferenceKind, String)> {
        let weak = sorted_places(line.weak_places);
        let mut names = array_elements(line.reference_names);
        let mut kinds = Vec::new();
        for (at, id) in (0..).zip(ids(line.refs)) {
            let name = names.next().and_then(RawValue::text);
            let leads_somewhere = id.is_some_and(|id| only_node_of_id(graph, id).is_some());
            if leads_somewhere && weak.binary_search(&at).is_err() {
                let name = name.map(|name| reference_name_of_word(&unescaped(name), TypeId::new(0)));
                kinds.push(name.map_or((ReferenceKind::Hidden, String::new()), kind_and_bare_name));
            }
        }
        kinds
    }
}

/// The kind of a reference by its name, and that without what tells the kind.
fn kind_and_bare_name(name: ReferenceName) -> (ReferenceKind, String) {
    match name {
        ReferenceName::Property(name) | ReferenceName::Field(_, name) | ReferenceName::StaticField(name) => {
            (ReferenceKind::Property, name)
        }
        ReferenceName::Element(index) => (ReferenceKind::Element, index.to_string()),
        ReferenceName::CapturedVariable(name) => (ReferenceKind::CapturedVariable, name),
        ReferenceName::CapturedVariableSlot(slot) => (ReferenceKind::Hidden, slot.to_string()),
        // A slot of the map's table.
        ReferenceName::MapEntry(_) => (ReferenceKind::Internal, "0".into()),
        ReferenceName::Internal(slot) => match slot.strip_prefix("slot ") {
            Some(number) => (ReferenceKind::Hidden, number.into()),
            None => (ReferenceKind::Internal, slot),
        },
        name => (ReferenceKind::Internal, name.to_string()),
    }
}

/// A name as the form writes it: its start or its brackets tell what it is of; `'` that what follows is a name as it stands.
fn reference_name_of_word(word: &str, type_id: TypeId) -> ReferenceName {
    let inside = |open: char, close: char| word.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    if let Some(index) = inside('[', ']').and_then(|inside| inside.parse().ok()) {
        return ReferenceName::Element(index);
    }
    if let Some(slot) = inside('{', '}') {
        return ReferenceName::Internal(slot.to_string());
    }
    let behind = |start: &str| word.strip_prefix(start).map(str::to_string);
    match word {
        "<class>" => return ReferenceName::Class,
        "<superclass>" => return ReferenceName::Superclass,
        "<loader>" => return ReferenceName::Loader,
        "<local>" => return ReferenceName::Local(None),
        _ if word.starts_with('@') => return ReferenceName::Field(type_id, word.to_string()),
        _ => {}
    }
    behind(".")
        .map(|name| ReferenceName::Field(type_id, name))
        .or_else(|| behind("static ").map(ReferenceName::StaticField))
        .or_else(|| behind("context variable ").map(ReferenceName::CapturedVariable))
        .or_else(|| Some(ReferenceName::CapturedVariableSlot(word.strip_prefix("context slot ")?.parse().ok()?)))
        .or_else(|| behind(" ").map(ReferenceName::MapEntry))
        .or_else(|| behind("'").map(ReferenceName::Property))
        .unwrap_or_else(|| ReferenceName::Property(word.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let property = |name: &str| ReferenceName::Property(name.into());
        for (word, name) in [
            ("number", property("number")),
            ("@orders", ReferenceName::Field(TypeId::new(3), "@orders".into())),
            ("[7]", ReferenceName::Element(7)),
            ("[x]", property("[x]")),
            ("{map}", ReferenceName::Internal("map".into())),
            ("<class>", ReferenceName::Class),
            (".next", ReferenceName::Field(TypeId::new(3), "next".into())),
            ("static CACHE", ReferenceName::StaticField("CACHE".into())),
            ("'static x", property("static x")),
            ("''", property("'")),
            ("context variable x", ReferenceName::CapturedVariable("x".into())),
            ("context slot 4", ReferenceName::CapturedVariableSlot(4)),
            (" Map[\"a\"]", ReferenceName::MapEntry("Map[\"a\"]".into())),
            ("", property("")),
        ] {
            assert_eq!(reference_name_of_word(word, TypeId::new(3)), name, "{word}");
        }
    }

    #[test]
    fn ids_are_found_wherever_they_stand() {
        for (line, id) in [
            (r#"{"id":12,"size":1}"#, Some(12)),
            (r#"{"id":"0xff"}"#, Some(255)),
            (r#"{"size":1, "id" : 18446744073709551615 }"#, Some(u64::MAX)),
            (r#"{"root":1}"#, None),
            (r#"{"id":1.5,"size":1}"#, None),
        ] {
            assert_eq!(HeapgraphLines::id_of(line.as_bytes()), id, "{line}");
        }
    }
}
