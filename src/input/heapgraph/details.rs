//! What lines say of objects besides the graph: texts, names of references, places of allocation.

use super::record::ObjectLine;
use crate::graph::{HeapGraph, NodeId, Root, TypeId};
use crate::input::ReferenceName;
use crate::input::json_lines::{elements, ids, unescaped};
use crate::input::line_details::{Lines, node_of_id};
use crate::input::text::decimal_field;

/// Lines of this form.
#[derive(Debug)]
pub(super) struct HeapgraphLines;

impl Lines for HeapgraphLines {
    type Line<'a> = ObjectLine<'a>;
    type Notes = ();

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

    fn note(_: &[u8], (): &mut ()) -> bool {
        false
    }

    fn parse(line: &[u8]) -> Option<ObjectLine<'_>> {
        ObjectLine::of_line(line).ok()
    }

    fn text(line: &ObjectLine<'_>) -> Option<String> {
        line.text.map(|text| unescaped(text).into_owned())
    }

    fn string(line: &ObjectLine<'_>) -> Option<Option<String>> {
        line.text.map(|_| Self::text(line))
    }

    fn reference_name(
        graph: &HeapGraph,
        from: NodeId,
        nth: usize,
        (): &(),
        line: &ObjectLine<'_>,
    ) -> Option<ReferenceName> {
        let listed = ids(line.refs).enumerate();
        let mut in_dump = listed.filter(|(_, id)| id.is_some_and(|id| node_of_id(graph, id).is_some()));
        let Some((place, _)) = in_dump.nth(nth) else {
            let target = graph.references(from).nth(nth)?.node;
            let is_it = |root: &&Root| {
                let thread = root.thread.and_then(|thread| graph.threads()[thread.index()].node);
                root.is_through_thread && root.node == target && thread == Some(from)
            };
            if let Some(root) = graph.roots().iter().find(is_it) {
                return Some(ReferenceName::Local(root.frame));
            }
            let is_class =
                graph.types().objects_hold_class() && graph.types().class_object(graph.type_of(from)).is_some();
            return is_class.then_some(ReferenceName::Class);
        };
        let name = elements(line.names).nth(place)?.text()?;
        Some(name_of_word(&unescaped(name), graph.type_of(from)))
    }

    const NAMES_KEY: Option<&'static [u8]> = Some(b"\"names\"");
    const PLACE_KEY: &'static [u8] = b"\"at\"";

    /// `orders.py` of `orders.py:12`, and of `f (orders.py:12)`.
    fn file(line: &ObjectLine<'_>) -> Option<String> {
        let place = unescaped(line.at?).into_owned();
        let inner = place.strip_suffix(')').and_then(|place| Some(place.rsplit_once(" (")?.1)).unwrap_or(&place);
        let file = inner.rsplit_once(':').filter(|(_, line)| line.bytes().all(|byte| byte.is_ascii_digit()));
        Some(file.map_or(inner, |(file, _)| file).to_string())
    }

    fn generation(line: &ObjectLine<'_>) -> Option<u64> {
        line.generation
    }

    fn place(line: &ObjectLine<'_>) -> Option<String> {
        line.at.map(|place| unescaped(place).into_owned())
    }
}

/// A name as the form writes it: what is no property is told by its brackets. Ruby's variables are fields of the type.
fn name_of_word(word: &str, type_id: TypeId) -> ReferenceName {
    let inside = |open: char, close: char| word.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    if let Some(index) = inside('[', ']').and_then(|inside| inside.parse().ok()) {
        return ReferenceName::Element(index);
    }
    if let Some(slot) = inside('{', '}') {
        return ReferenceName::Internal(slot.to_string());
    }
    match word {
        _ if word.starts_with('@') => ReferenceName::Field(type_id, word.to_string()),
        "<class>" => ReferenceName::Class,
        "<superclass>" => ReferenceName::Superclass,
        "<loader>" => ReferenceName::Loader,
        "<local>" => ReferenceName::Local(None),
        _ => match (word.strip_prefix("context variable "), word.strip_prefix(' ')) {
            (Some(variable), _) => ReferenceName::Variable(variable.to_string()),
            (_, Some(text)) => ReferenceName::OfMap(text.to_string()),
            _ => ReferenceName::Property(word.to_string()),
        },
    }
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
            ("context variable x", ReferenceName::Variable("x".into())),
            (" Map[\"a\"]", ReferenceName::OfMap("Map[\"a\"]".into())),
            ("", property("")),
        ] {
            assert_eq!(name_of_word(word, TypeId::new(3)), name, "{word}");
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
