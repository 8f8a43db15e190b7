//! What lines of Ruby say of objects: texts, names of references, places of allocation.

use rustc_hash::FxHashMap;

use super::block::Record;
use crate::graph::{HeapGraph, NodeId};
use crate::input::ReferenceName;
use crate::input::json_lines::{ids, unescaped};
use crate::input::line_details::{Lines, node_of_id};
use crate::input::text::hex_field;

/// Shapes above one are followed so far; an object has at most some hundred variables.
const MAX_SHAPES: usize = 10_000;

/// Lines of Ruby.
#[derive(Debug)]
pub(super) struct RubyLines;

/// By number: the name that a shape adds, and the shape it adds it to.
#[derive(Debug, Default)]
pub(super) struct Shapes(FxHashMap<u64, (Option<String>, Option<u64>)>);

impl Shapes {
    /// The variables of a shape, first one first. `None` where the chain is broken.
    fn variables(&self, shape: u64) -> Option<Vec<&str>> {
        let (mut names, mut next, mut may_end) = (Vec::new(), Some(shape), false);
        for _ in 0..MAX_SHAPES {
            let Some((name, parent)) = next.and_then(|id| self.0.get(&id)) else {
                names.reverse();
                return (may_end || next.is_none()).then_some(names);
            };
            names.extend(name.as_deref());
            // Above its first shapes Ruby 3.3 and 3.4 have one that is not there (65535, 524287).
            may_end = name.is_none();
            next = *parent;
        }
        None
    }
}

impl Lines for RubyLines {
    type Line<'a> = Record<'a>;
    type Notes = Shapes;

    /// The address that a line begins with.
    fn id_of(line: &[u8]) -> Option<u64> {
        let digits = line.strip_prefix(b"{\"address\":\"")?;
        let end = memchr::memchr(b'"', &digits[..digits.len().min(24)])?;
        hex_field(&digits[..end])
    }

    fn note(line: &[u8], shapes: &mut Shapes) -> bool {
        // The type is the first or the second key.
        if memchr::memmem::find(&line[..line.len().min(64)], b"\"type\":\"SHAPE\"").is_none() {
            return false;
        }
        if let Ok(record) = Record::of_line(line)
            && let Some(id) = record.shape
        {
            let name = record.edge_name.map(|name| unescaped(name).into_owned());
            shapes.0.insert(id, (name, record.parent_shape));
        }
        true
    }

    fn parse(line: &[u8]) -> Option<Record<'_>> {
        Record::of_line(line).ok()
    }

    fn text(record: &Record<'_>) -> Option<String> {
        let is_text = matches!(record.kind, b"STRING" | b"SYMBOL");
        record.value.filter(|_| is_text).map(|text| unescaped(text).into_owned())
    }

    fn string(record: &Record<'_>) -> Option<Option<String>> {
        (record.kind == b"STRING").then(|| Self::text(record))
    }

    fn reference_name(
        graph: &HeapGraph,
        from: NodeId,
        nth: usize,
        shapes: &Shapes,
        record: &Record<'_>,
    ) -> Option<ReferenceName> {
        let listed: Vec<Option<u64>> = ids(record.references).collect();
        let mut in_dump =
            listed.iter().enumerate().filter(|(_, id)| id.is_some_and(|id| node_of_id(graph, id).is_some()));
        let Some((place, &target)) = in_dump.nth(nth) else {
            return (record.kind != b"IMEMO").then_some(ReferenceName::Class);
        };
        match record.kind {
            // Numbers, nil and true have no references: a place is certain only where each element has one.
            b"ARRAY" => (record.length? == listed.len() as u64).then_some(ReferenceName::Element(place as u64)),
            b"OBJECT" => {
                let variables = shapes.variables(record.shape?)?;
                let name = variables.get(place).filter(|_| variables.len() == listed.len())?;
                Some(ReferenceName::Field(graph.type_of(from), (*name).to_string()))
            }
            b"CLASS" | b"ICLASS" if target == record.superclass => Some(ReferenceName::Superclass),
            _ => None,
        }
    }

    const NAMES_KEYS: Option<&'static [&'static [u8]]> = None;
    const PLACE_KEY: &'static [u8] = b"\"file\":\"";

    fn file(record: &Record<'_>) -> Option<String> {
        record.file.map(|file| unescaped(file).into_owned())
    }

    fn generation(record: &Record<'_>) -> Option<u64> {
        record.generation
    }

    /// Where allocations were traced.
    fn place(record: &Record<'_>) -> Option<String> {
        let (file, line) = (unescaped(record.file?), record.line?);
        let method = record.method.map_or_else(|| "(top level)".into(), unescaped);
        Some(format!("{method} ({file}:{line})"))
    }
}
