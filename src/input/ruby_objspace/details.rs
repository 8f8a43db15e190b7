//! What lines of Ruby say of objects: texts, names of references, places of allocation.

use rustc_hash::FxHashMap;

use super::block::LineRecord;
use crate::graph::{HeapGraph, NodeId};
use crate::input::ReferenceName;
use crate::input::json_lines::{ids, unescaped};
use crate::input::line_details::LineFormat;
use crate::input::text::hex_field;

/// Shapes above one are followed so far; an object has at most some hundred variables.
const MAX_SHAPE_CHAIN: usize = 10_000;

/// Lines of Ruby.
#[derive(Debug)]
pub(super) struct RubyLines;

/// By number: the name that a shape adds, and the shape it adds it to.
#[derive(Debug, Default)]
pub(super) struct Shapes(FxHashMap<u64, (Option<String>, Option<u64>)>);

impl Shapes {
    /// The variables of a shape, first one first. `None` where the chain is broken.
    fn variables_of(&self, shape: u64) -> Option<Vec<&str>> {
        let (mut names, mut next, mut may_end) = (Vec::new(), Some(shape), false);
        for _ in 0..MAX_SHAPE_CHAIN {
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

/// The address that a line begins with, and what follows it.
fn leading_address(line: &[u8]) -> Option<(u64, &[u8])> {
    let text = line.strip_prefix(b"{\"address\":\"")?;
    let end = text.iter().take(24).position(|&byte| byte == b'"')?;
    Some((hex_field(&text[..end])?, &text[end + 1..]))
}

impl LineFormat for RubyLines {
    type Line<'a> = LineRecord<'a>;
    type Notes = Shapes;

    /// The address that a line begins with.
    fn id_of(line: &[u8]) -> Option<u64> {
        Some(leading_address(line)?.0)
    }

    fn note_if_other_line(line: &[u8], shapes: &mut Shapes) -> bool {
        // The type is the first or the second key.
        let behind = leading_address(line).map_or(line, |(_, behind)| behind);
        let key = behind.strip_prefix(b"{").or_else(|| behind.strip_prefix(b",")).unwrap_or(behind);
        if !key.trim_ascii_start().starts_with(b"\"type\":\"SHAPE\"") {
            return false;
        }
        if let Ok(record) = LineRecord::of_line(line)
            && let Some(id) = record.shape_id
        {
            let name = record.edge_name.map(|name| unescaped(name).into_owned());
            shapes.0.insert(id, (name, record.parent_shape_id));
        }
        true
    }

    fn merge_notes(shapes: &mut Shapes, later: Shapes) {
        shapes.0.extend(later.0);
    }

    fn parse(line: &[u8]) -> Option<LineRecord<'_>> {
        LineRecord::of_line(line).ok()
    }

    fn text(record: &LineRecord<'_>) -> Option<String> {
        let is_text = matches!(record.kind, b"STRING" | b"SYMBOL");
        record.text.filter(|_| is_text).map(|text| unescaped(text).into_owned())
    }

    fn text_if_string(record: &LineRecord<'_>) -> Option<Option<String>> {
        (record.kind == b"STRING").then(|| Self::text(record))
    }

    fn reference_names(
        graph: &HeapGraph,
        from: NodeId,
        shapes: &Shapes,
        record: &LineRecord<'_>,
    ) -> Vec<Option<ReferenceName>> {
        let (listed, targets) = (Vec::from_iter(ids(record.references)), Vec::from_iter(graph.references(from)));
        let has_all = record.length == Some(listed.len() as u64);
        let variables =
            record.shape_id.filter(|_| record.kind == b"OBJECT").and_then(|shape| shapes.variables_of(shape));
        let variables = variables.filter(|variables| variables.len() == listed.len());
        let mut found: Vec<Option<ReferenceName>> = Vec::with_capacity(targets.len());
        for (place, &id) in listed.iter().enumerate() {
            if targets.get(found.len()).is_none_or(|target| id != Some(graph.original_id(target.node))) {
                continue;
            }
            found.push(match record.kind {
                // Numbers, nil and true have no references: a place is certain only where each element has one.
                b"ARRAY" => has_all.then_some(ReferenceName::Element(place as u64)),
                b"OBJECT" => variables
                    .as_ref()
                    .map(|variables| ReferenceName::Field(graph.type_of(from), variables[place].to_string())),
                b"CLASS" | b"ICLASS" if id == record.superclass => Some(ReferenceName::Superclass),
                _ => None,
            });
        }
        let class = (record.kind != b"IMEMO").then_some(ReferenceName::Class);
        found.resize(targets.len(), class);
        found
    }

    const REFERENCE_NAME_KEYS: Option<&'static [&'static [u8]]> = None;
    const ALLOCATION_PLACE_KEY: &'static [u8] = b"\"file\":\"";

    fn allocation_file(record: &LineRecord<'_>) -> Option<String> {
        record.allocation_file.map(|file| unescaped(file).into_owned())
    }

    fn collections_before_allocation(record: &LineRecord<'_>) -> Option<u64> {
        record.allocation_generation
    }

    /// Where allocations were traced.
    fn allocation_place(record: &LineRecord<'_>) -> Option<String> {
        let (file, line) = (unescaped(record.allocation_file?), record.allocation_line?);
        let method = record.allocating_method.map_or_else(|| "(top level)".into(), unescaped);
        Some(format!("{method} ({file}:{line})"))
    }
}
