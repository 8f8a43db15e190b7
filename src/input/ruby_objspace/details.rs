//! Texts, names of references and places of allocation: from an object's own line, which is read again. A table of the
//! lowest and highest address in each part of the dump, made when the first of them is asked for, tells where to look.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use twox_hash::XxHash3_128;

use super::block::Record;
use crate::graph::{ColumnSink, HeapGraph, Lookup, NodeId};
use crate::input::json_lines::{ids, unescaped};
use crate::input::text::split_line;
use crate::input::{
    ContentKey, Contents, FieldValue, ObjectDetails, RandomAccess, ReadError, ReferenceName, Reread, ShownValue,
    Strings, Text, WantedContents,
};

const PART_BYTES: usize = 1 << 20;
/// Of a part that one long line makes larger so much is read; a longer line says nothing of its object.
const MOST_PART_BYTES: u64 = 64 << 20;
/// Shapes above one are followed so far; an object has at most some hundred variables.
const MOST_SHAPES: usize = 10_000;

/// Reads lines of a dump again.
#[derive(Debug)]
pub(super) struct RubyDetails {
    input: Reread,
    table: Mutex<Option<Arc<Table>>>,
}

/// A part of the dump: whole lines.
#[derive(Debug)]
struct Part {
    offset: u64,
    bytes: u64,
    /// Of its objects.
    lowest: u64,
    highest: u64,
}

/// The name that a shape adds, and the shape it adds it to.
type Shape = (Option<String>, Option<u64>);

#[derive(Debug)]
struct Table {
    dump: RandomAccess,
    parts: Vec<Part>,
    shapes: FxHashMap<u64, Shape>,
}

impl Table {
    /// One pass over the dump. 32 bytes for each MiB of it, and its shapes.
    fn new(dump: RandomAccess) -> Result<Self, ReadError> {
        let mut table = Table { dump, parts: Vec::new(), shapes: FxHashMap::default() };
        let (mut at, mut buffer, mut is_open) = (0, Vec::new(), false);
        while at < table.dump.len() {
            let bytes = (table.dump.len() - at).min(PART_BYTES as u64);
            buffer.resize(bytes as usize, 0);
            table.dump.read_at(at, &mut buffer)?;
            let end = memchr::memrchr(b'\n', &buffer);
            let mut rest = &buffer[..end.map_or(buffer.len(), |end| end + 1)];
            let mut part = Part { offset: at, bytes: rest.len() as u64, lowest: u64::MAX, highest: 0 };
            at += part.bytes;
            while !rest.is_empty() {
                let (line, behind) = split_line(rest);
                rest = behind;
                table.note_line(line, &mut part);
            }
            // What follows the start of a long line belongs to the part in which it begins.
            match table.parts.last_mut().filter(|_| is_open) {
                Some(last) => {
                    last.bytes += part.bytes;
                    last.lowest = last.lowest.min(part.lowest);
                    last.highest = last.highest.max(part.highest);
                }
                None => table.parts.push(part),
            }
            is_open = end.is_none();
        }
        Ok(table)
    }

    fn note_line(&mut self, line: &[u8], part: &mut Part) {
        // The type is the first or the second key.
        if memchr::memmem::find(&line[..line.len().min(64)], b"\"type\":\"SHAPE\"").is_some()
            && let Ok(record) = Record::of_line(line)
            && let Some(id) = record.shape
        {
            let name = record.edge_name.map(|name| unescaped(name).into_owned());
            self.shapes.insert(id, (name, record.parent_shape));
        } else if let Some(address) = address_of(line) {
            part.lowest = part.lowest.min(address);
            part.highest = part.highest.max(address);
        }
    }

    /// What `pick` makes of the lines of objects, in the order of the dump. Parts in which no wanted address can be (they
    /// ascend) are not read; without a list all are.
    fn scan<T: Send>(
        &self,
        wanted: Option<&[u64]>,
        pick: impl Fn(u64, &Record<'_>) -> Option<T> + Sync,
    ) -> Result<Vec<T>, ReadError> {
        let of_part = |part: &Part| {
            let mut found = Vec::new();
            let may_be = |wanted: &[u64]| {
                let next = wanted.partition_point(|&address| address < part.lowest);
                wanted.get(next).is_some_and(|&address| address <= part.highest)
            };
            if part.bytes > MOST_PART_BYTES || !wanted.is_none_or(may_be) {
                return Ok(found);
            }
            let mut text = vec![0; part.bytes as usize];
            self.dump.read_at(part.offset, &mut text)?;
            let mut rest = &text[..];
            while !rest.is_empty() {
                let (line, behind) = split_line(rest);
                rest = behind;
                let Some(address) = address_of(line) else { continue };
                if wanted.is_none_or(|wanted| wanted.binary_search(&address).is_ok())
                    && let Ok(record) = Record::of_line(line)
                {
                    found.extend(pick(address, &record));
                }
            }
            Ok(found)
        };
        let parts: Vec<Vec<T>> = self.parts.par_iter().map(of_part).collect::<Result<_, ReadError>>()?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// The variables of a shape, first one first. `None` where the chain is broken.
    fn variables(&self, shape: u64) -> Option<Vec<&str>> {
        let (mut names, mut shape) = (Vec::new(), Some(shape));
        for _ in 0..MOST_SHAPES {
            let Some(id) = shape else {
                names.reverse();
                return Some(names);
            };
            let (name, parent) = self.shapes.get(&id)?;
            names.extend(name.as_deref());
            shape = *parent;
        }
        None
    }
}

/// The address that a line of an object or a shape begins with.
fn address_of(line: &[u8]) -> Option<u64> {
    let digits = line.strip_prefix(b"{\"address\":\"")?;
    let end = memchr::memchr(b'"', &digits[..digits.len().min(24)])?;
    crate::input::text::hex_field(&digits[..end])
}

impl RubyDetails {
    pub(super) fn new(input: Reread) -> Self {
        RubyDetails { input, table: Mutex::new(None) }
    }

    fn table(&self) -> Result<Arc<Table>, ReadError> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = &*table {
            return Ok(Arc::clone(table));
        }
        Ok(Arc::clone(table.insert(Arc::new(Table::new(self.input.by_position()?)?))))
    }

    /// What `pick` makes of an object's line.
    fn of_node<T: Send>(
        &self,
        graph: &HeapGraph,
        node: NodeId,
        pick: impl Fn(&Table, &Record<'_>) -> Option<T> + Sync,
    ) -> Result<Option<T>, ReadError> {
        let table = self.table()?;
        // Of an object that is listed again the first line counts, whatever it says.
        let found = table.scan(Some(&[graph.original_id(node)]), |_, record| Some(pick(&table, record)))?;
        Ok(found.into_iter().next().flatten())
    }

    /// What `pick` makes of the lines of some objects, by their places in the list.
    fn of_nodes<T: Send>(
        &self,
        graph: &HeapGraph,
        nodes: impl Iterator<Item = NodeId>,
        pick: impl Fn(&Record<'_>) -> Option<T> + Sync,
    ) -> Result<Vec<Option<T>>, ReadError> {
        let mut places: Vec<(u64, usize)> = nodes.enumerate().map(|(at, node)| (graph.original_id(node), at)).collect();
        places.sort_unstable();
        let wanted: Vec<u64> = places.iter().map(|&(address, _)| address).collect();
        let mut answers: FxHashMap<u64, Option<T>> = FxHashMap::default();
        for (address, answer) in self.table()?.scan(Some(&wanted), |address, record| Some((address, pick(record))))? {
            answers.entry(address).or_insert(answer);
        }
        let mut all: Vec<Option<T>> = places.iter().map(|_| None).collect();
        for (address, at) in places {
            all[at] = answers.get_mut(&address).and_then(Option::take);
        }
        Ok(all)
    }
}

/// The text of a string or symbol, as far as the dump has it.
fn text_of(record: &Record<'_>) -> Option<String> {
    let is_text = matches!(record.kind, b"STRING" | b"SYMBOL");
    record.value.filter(|_| is_text).map(|text| unescaped(text).into_owned())
}

/// The start of a text.
fn start_of(text: &str, most_units: usize) -> Text {
    let mut units = 0;
    let end = text.char_indices().find(|(_, character)| {
        units += character.len_utf16();
        units > most_units
    });
    let start = &text[..end.map_or(text.len(), |(at, _)| at)];
    Text { text: start.to_string(), is_cut: start.len() < text.len() }
}

fn node(graph: &HeapGraph, address: u64) -> Option<NodeId> {
    match graph.find(None, address) {
        Lookup::One(node) => Some(node),
        _ => None,
    }
}

/// The name of a reference as far as the line tells: of the k-th of those that lead somewhere.
fn name_of(graph: &HeapGraph, from: NodeId, nth: usize, table: &Table, record: &Record<'_>) -> Option<ReferenceName> {
    let listed: Vec<Option<u64>> = ids(record.references).collect();
    let mut in_dump = listed.iter().enumerate().filter(|(_, id)| id.is_some_and(|id| node(graph, id).is_some()));
    let Some((place, &target)) = in_dump.nth(nth) else {
        return (record.kind != b"IMEMO").then_some(ReferenceName::Class);
    };
    match record.kind {
        // Numbers, nil and true have no references: a place is certain only where each element has one.
        b"ARRAY" => (record.length? == listed.len() as u64).then_some(ReferenceName::Element(place as u64)),
        b"OBJECT" => {
            let variables = table.variables(record.shape?)?;
            let name = variables.get(place).filter(|_| variables.len() == listed.len())?;
            Some(ReferenceName::Field(graph.type_of(from), (*name).to_string()))
        }
        b"CLASS" | b"ICLASS" if target == record.superclass => Some(ReferenceName::Superclass),
        _ => None,
    }
}

impl ObjectDetails for RubyDetails {
    /// Empty: the dump has no values but those of references.
    fn fields(&self, _: &HeapGraph, _: NodeId) -> Result<Vec<FieldValue>, ReadError> {
        Ok(Vec::new())
    }

    fn reference_name(&self, graph: &HeapGraph, from: NodeId, nth: usize) -> Result<Option<ReferenceName>, ReadError> {
        self.of_node(graph, from, |table, record| name_of(graph, from, nth, table, record))
    }

    fn text(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<String>, ReadError> {
        self.of_node(graph, node, |_, record| text_of(record))
    }

    fn has_texts(&self) -> bool {
        true
    }

    fn whole(
        &self,
        graph: &HeapGraph,
        node: NodeId,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<bool>, ReadError> {
        let text = self.text(graph, node)?;
        Ok(text.map(|text| {
            take(text.as_bytes());
            true
        }))
    }

    fn contents(&self, graph: &HeapGraph, wanted: &WantedContents) -> Result<Contents, ReadError> {
        let mut strings = self.table()?.scan(None, |address, record| {
            let node = node(graph, address)?;
            let text = record.value.filter(|_| record.kind == b"STRING").map(unescaped);
            let hash = |text: &str| ContentKey::new(XxHash3_128::oneshot(text.as_bytes()), false);
            let key = text.as_deref().map_or(ContentKey::UNKNOWN, hash);
            let units = text.as_deref().map(|text| text.encode_utf16().count() as u64);
            Some((node, (record.kind == b"STRING").then_some((key, units))))
        })?;
        strings.sort_by_key(|&(node, _)| node);
        strings.dedup_by_key(|&mut (node, _)| node);
        strings.retain(|(_, string)| string.is_some());
        let with_length = |&(node, string): &(NodeId, Option<(_, Option<u64>)>)| Some((node, string?.1?));
        let lengths = if wanted.lengths { strings.iter().filter_map(with_length).collect() } else { Vec::new() };
        let keys = strings.iter().filter_map(|(_, string)| Some((*string)?.0)).collect();
        let nodes = strings.into_iter().map(|(node, _)| node).collect();
        Ok(Contents { strings: Strings::without_arrays(nodes, keys), lengths, ..Contents::default() })
    }

    fn visit_texts(
        &self,
        graph: &HeapGraph,
        strings: &Strings,
        wanted: &[usize],
        most_units: usize,
        take: &(dyn Fn(usize, Text) + Sync),
    ) -> Result<(), ReadError> {
        let nodes = wanted.iter().map(|&at| strings.node(at));
        let texts = self.of_nodes(graph, nodes, |record| Some(start_of(&text_of(record)?, most_units)))?;
        for (&at, text) in wanted.iter().zip(texts) {
            text.into_iter().for_each(|text| take(at, text));
        }
        Ok(())
    }

    fn shown_values(
        &self,
        graph: &HeapGraph,
        nodes: &[NodeId],
        most_units: usize,
    ) -> Result<Vec<Option<ShownValue>>, ReadError> {
        let say = |record: &Record<'_>| Some(ShownValue::Text(start_of(&text_of(record)?, most_units)));
        self.of_nodes(graph, nodes.iter().copied(), say)
    }

    /// One frame, where allocations were traced.
    fn stack(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<Vec<String>>, ReadError> {
        self.of_node(graph, node, |_, record| {
            let (file, line) = (unescaped(record.file?), record.line?);
            let method = record.method.map_or_else(|| "(top level)".into(), unescaped);
            Some(vec![format!("{method} ({file}:{line})")])
        })
    }

    /// Nothing: the table is made anew in less time than it takes to check one.
    fn store(&self, _: &mut dyn ColumnSink) -> io::Result<()> {
        Ok(())
    }
}
