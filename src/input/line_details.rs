//! Details of objects that each stand on a line of their own, which is read again: texts, names of references and places of
//! allocation. A table, made when the first of them is asked for, tells where each object's line begins.

use std::borrow::Cow;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use twox_hash::XxHash3_128;

use super::text::split_line;
use super::{
    AllocationGrouping, ContentKey, Contents, FieldValue, LengthColumn, NamedGroups, ObjectDetails, RandomAccess,
    ReadError, ReferenceKind, ReferenceKinds, ReferenceName, RereadableFile, ShownValue, StringColumns, Text,
    WantedContents,
};
use crate::allocations::{AllocationDump, AllocationEntry, AllocationHeap, AllocationHeapBuilder, NameId, NameTable};
use crate::graph::{ColumnSink, HeapGraph, IdLookup, NodeId, SourcePlace, TypeId};

/// Stands for the place of allocation where none was traced.
const NOT_TRACED: &str = "(not traced)";
const DUMP_PART_BYTES: usize = 1 << 20;
/// A longer line says nothing of its object; nor does a part that one makes longer.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// Read for one line: of lines that follow each other, and of one alone.
const WINDOW_BYTES: u64 = 64 << 10;
const LONE_LINE_BYTES: u64 = 1 << 10;
/// Parts whose lines are found before they go into the table.
const PARTS_AT_ONCE: usize = 64;
/// Lines that one thread reads one behind the other.
const LINES_AT_ONCE: usize = 512;

/// A format's lines.
pub(super) trait LineFormat: std::fmt::Debug + Send + Sync + 'static {
    /// An object's line, its fields found.
    type Line<'a>;
    /// What is kept of other lines.
    type Notes: std::fmt::Debug + Default + Send + Sync;
    /// The id on an object's line.
    fn id_of(line: &[u8]) -> Option<u64>;
    /// Takes a note of a line that may be no object's; returns true if it is none.
    fn note_if_other_line(line: &[u8], notes: &mut Self::Notes) -> bool;
    /// Adds notes of lines further on.
    fn merge_notes(notes: &mut Self::Notes, later: Self::Notes);
    /// `None` for a line that cannot be read.
    fn parse(line: &[u8]) -> Option<Self::Line<'_>>;
    /// The text of a string or symbol, as far as the dump has it.
    fn text(line: &Self::Line<'_>) -> Option<String>;
    /// `None` for what is no string; of a string its text, as far as the dump has it.
    fn text_if_string(line: &Self::Line<'_>) -> Option<Option<String>>;
    /// The names of an object's references, as far as the line tells, in the order of `HeapGraph::references`; those behind
    /// the last have none. O(references).
    fn reference_names(
        graph: &HeapGraph,
        from: NodeId,
        notes: &Self::Notes,
        line: &Self::Line<'_>,
    ) -> Vec<Option<ReferenceName>>;
    /// What stands in lines that name references, where only some files have such.
    const REFERENCE_NAME_KEYS: Option<&'static [&'static [u8]]>;
    /// What stands in lines that say where the object was allocated, and nowhere else.
    const ALLOCATION_PLACE_KEY: &'static [u8];
    /// Where it was allocated, as one frame.
    fn allocation_place(line: &Self::Line<'_>) -> Option<String>;
    /// The file where it was allocated.
    fn allocation_file(line: &Self::Line<'_>) -> Option<String>;
    /// The number of collections before it was allocated.
    fn collections_before_allocation(line: &Self::Line<'_>) -> Option<u64>;
    /// The name of a function, in formats that have such.
    fn function_name(_: &Self::Line<'_>) -> Option<String> {
        None
    }
    /// The function whose captured variables it has.
    fn function_of_captured_variables(_: &Self::Line<'_>) -> Option<String> {
        None
    }
    /// The place of a function, or of the constructor of an object.
    fn source_place(_: &Self::Line<'_>) -> Option<SourcePlace> {
        None
    }
    /// The file of a function, or of the constructor of an object.
    fn script_file(_: &Self::Line<'_>) -> Option<String> {
        None
    }
    /// Lines tell kinds of references.
    fn has_reference_kinds(_: &Self::Notes) -> bool {
        false
    }
    /// Kinds and names of an object's strong references that lead somewhere.
    fn reference_kinds(_: &HeapGraph, _: &Self::Line<'_>) -> Vec<(ReferenceKind, String)> {
        Vec::new()
    }
}

/// Reads lines of a dump again.
#[derive(Debug)]
pub(super) struct LineDetails<L: LineFormat> {
    input: RereadableFile,
    table: Mutex<Option<Arc<LineTable<L>>>>,
    /// Around the line that was read last: what is asked for next is near, or is another thing of the same object.
    window: Mutex<LineWindow>,
    /// The names of the object whose reference was asked for last.
    last_names: Mutex<Option<(NodeId, Vec<Option<ReferenceName>>)>>,
    allocations: OnceLock<Option<AllocationDump>>,
}

/// A part of the dump: whole lines.
#[derive(Debug)]
struct DumpPart {
    offset: u64,
    bytes: u64,
}

#[derive(Debug)]
struct LineTable<L: LineFormat> {
    dump: RandomAccess,
    parts: Vec<DumpPart>,
    /// (id, where its line begins), ascending. An id that comes again has several.
    line_offsets: Vec<(u64, u64)>,
    notes: L::Notes,
    /// Lines say where objects were allocated.
    has_allocation_places: bool,
    /// Lines name references.
    has_reference_names: bool,
}

/// What a table has of one part.
#[derive(Debug)]
struct PartLines<L: LineFormat> {
    line_offsets: Vec<(u64, u64)>,
    notes: L::Notes,
    has_allocation_places: bool,
    has_reference_names: bool,
}

impl<L: LineFormat> PartLines<L> {
    /// One pass over a part, by pieces. `buffer` is used again.
    fn read(dump: &RandomAccess, part: &DumpPart, buffer: &mut Vec<u8>) -> Result<Self, ReadError> {
        let notes = L::Notes::default();
        let mut lines =
            PartLines { line_offsets: Vec::new(), notes, has_allocation_places: false, has_reference_names: false };
        let (mut at, mut is_open, part_end) = (part.offset, false, part.offset + part.bytes);
        while at < part_end {
            buffer.resize((part_end - at).min(DUMP_PART_BYTES as u64) as usize, 0);
            dump.read_at(at, buffer)?;
            let end = memchr::memrchr(b'\n', buffer);
            let mut rest = &buffer[..end.map_or(buffer.len(), |end| end + 1)];
            let is_there = |key: &&[u8]| memchr::memmem::find(rest, key).is_some();
            lines.has_reference_names |= L::REFERENCE_NAME_KEYS.unwrap_or_default().iter().any(is_there);
            lines.has_allocation_places |= is_there(&L::ALLOCATION_PLACE_KEY);
            while !rest.is_empty() {
                let (line, behind) = split_line(rest);
                // What follows the start of a long line is none.
                if !std::mem::take(&mut is_open)
                    && !L::note_if_other_line(line, &mut lines.notes)
                    && let Some(id) = L::id_of(line)
                {
                    lines.line_offsets.push((id, at));
                }
                at += (rest.len() - behind.len()) as u64;
                rest = behind;
            }
            is_open = end.is_none();
        }
        Ok(lines)
    }
}

/// Parts of whole lines.
fn parts_of_whole_lines(dump: &RandomAccess) -> Result<Vec<DumpPart>, ReadError> {
    let (mut parts, mut at, mut is_open): (Vec<DumpPart>, u64, bool) = (Vec::new(), 0, false);
    while at < dump.len() {
        let end = (at + DUMP_PART_BYTES as u64).min(dump.len());
        let cut = last_line_end(dump, at, end)?;
        let bytes = cut.unwrap_or(end) - at;
        match parts.last_mut().filter(|_| is_open) {
            Some(last) => last.bytes += bytes,
            None => parts.push(DumpPart { offset: at, bytes }),
        }
        at += bytes;
        is_open = cut.is_none();
    }
    Ok(parts)
}

/// The place behind the last line end between two places.
fn last_line_end(dump: &RandomAccess, start: u64, end: u64) -> Result<Option<u64>, ReadError> {
    let mut from = end;
    while from > start {
        // A little at first, since lines are short.
        from = end.saturating_sub(8 * (end - from).max(LONE_LINE_BYTES)).max(start);
        let mut text = vec![0; (end - from) as usize];
        dump.read_at(from, &mut text)?;
        if let Some(at) = memchr::memrchr(b'\n', &text) {
            return Ok(Some(from + at as u64 + 1));
        }
    }
    Ok(None)
}

impl<L: LineFormat> LineTable<L> {
    /// One pass over the dump, on all threads. 16 bytes for each object, and its notes.
    fn new(dump: RandomAccess) -> Result<Self, ReadError> {
        let parts = parts_of_whole_lines(&dump)?;
        let mut table = LineTable {
            dump,
            parts: Vec::new(),
            line_offsets: Vec::new(),
            notes: L::Notes::default(),
            has_allocation_places: false,
            has_reference_names: L::REFERENCE_NAME_KEYS.is_none(),
        };
        for parts in parts.chunks(PARTS_AT_ONCE) {
            let read = |buffer: &mut _, part| PartLines::<L>::read(&table.dump, part, buffer);
            let lines: Vec<_> = parts.par_iter().map_init(Vec::new, read).collect::<Result<_, _>>()?;
            for lines in lines {
                table.line_offsets.extend(lines.line_offsets);
                L::merge_notes(&mut table.notes, lines.notes);
                table.has_allocation_places |= lines.has_allocation_places;
                table.has_reference_names |= lines.has_reference_names;
            }
        }
        table.parts = parts;
        table.line_offsets.par_sort_unstable();
        Ok(table)
    }

    /// Where an object's line begins. Of one that is listed again the first line counts, whatever it says; of objects in
    /// several sections one id may stand for several, and for none.
    fn line_offset_of(&self, graph: &HeapGraph, node: NodeId) -> Option<u64> {
        let id = graph.original_id(node);
        let &(found, offset) = self.line_offsets.get(self.line_offsets.partition_point(|&(other, _)| other < id))?;
        (found == id && only_node_of_id(graph, id) == Some(node)).then_some(offset)
    }

    /// What `pick` makes of the lines of all objects, in the order of the dump.
    fn pick_from_all_lines<T: Send>(
        &self,
        pick: impl Fn(u64, &L::Line<'_>) -> Option<T> + Sync,
    ) -> Result<Vec<T>, ReadError> {
        let of_part = |part: &DumpPart| {
            let mut found = Vec::new();
            if part.bytes > MAX_LINE_BYTES {
                return Ok(found);
            }
            let mut text = vec![0; part.bytes as usize];
            self.dump.read_at(part.offset, &mut text)?;
            let mut rest = &text[..];
            while !rest.is_empty() {
                let (line, behind) = split_line(rest);
                rest = behind;
                if let Some(id) = L::id_of(line)
                    && let Some(line) = L::parse(line)
                {
                    found.extend(pick(id, &line));
                }
            }
            Ok(found)
        };
        let parts: Vec<Vec<T>> = self.parts.par_iter().map(of_part).collect::<Result<_, ReadError>>()?;
        Ok(parts.into_iter().flatten().collect())
    }
}

/// Bytes of the dump.
#[derive(Debug, Default)]
struct LineWindow {
    offset: u64,
    bytes: Vec<u8>,
}

impl LineWindow {
    /// The line that begins at a place. `None` for one that is too long.
    fn line_at(&mut self, dump: &RandomAccess, offset: u64) -> Result<Option<&[u8]>, ReadError> {
        let end = self.offset + self.bytes.len() as u64;
        let is_near = (self.offset..=end + WINDOW_BYTES).contains(&offset);
        let mut wanted = if is_near { WINDOW_BYTES } else { LONE_LINE_BYTES };
        loop {
            let end = self.offset + self.bytes.len() as u64;
            let start = offset.saturating_sub(self.offset) as usize;
            let is_whole = |text: &[u8]| end == dump.len() || memchr::memchr(b'\n', text).is_some();
            if (self.offset..end).contains(&offset) && is_whole(&self.bytes[start..]) {
                return Ok(Some(split_line(&self.bytes[start..]).0));
            }
            if wanted > MAX_LINE_BYTES {
                return Ok(None);
            }
            self.bytes = vec![0; wanted.min(dump.len() - offset) as usize];
            self.offset = offset;
            dump.read_at(offset, &mut self.bytes)?;
            wanted *= 4;
        }
    }
}

impl<L: LineFormat> LineDetails<L> {
    pub(super) fn new(input: RereadableFile) -> Self {
        LineDetails {
            input,
            table: Mutex::default(),
            window: Mutex::default(),
            last_names: Mutex::default(),
            allocations: OnceLock::new(),
        }
    }

    /// The table, which is made when it is first asked for.
    fn table(&self) -> Result<Arc<LineTable<L>>, ReadError> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = &*table {
            return Ok(Arc::clone(table));
        }
        Ok(Arc::clone(table.insert(Arc::new(LineTable::new(self.input.random_access()?)?))))
    }

    /// What `pick` makes of an object's line.
    fn pick_from_line<T: Send>(
        &self,
        graph: &HeapGraph,
        node: NodeId,
        pick: impl Fn(&LineTable<L>, &L::Line<'_>) -> Option<T> + Sync,
    ) -> Result<Option<T>, ReadError> {
        let table = self.table()?;
        let Some(offset) = table.line_offset_of(graph, node) else { return Ok(None) };
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let line = window.line_at(&table.dump, offset)?.and_then(L::parse);
        Ok(line.and_then(|line| pick(&table, &line)))
    }

    /// What `pick` makes of the lines of some objects, by their places in the list.
    fn pick_from_lines<T: Send>(
        &self,
        graph: &HeapGraph,
        nodes: impl Iterator<Item = NodeId>,
        pick: impl Fn(&L::Line<'_>) -> Option<T> + Sync,
    ) -> Result<Vec<Option<T>>, ReadError> {
        let table = self.table()?;
        let mut all = Vec::new();
        let mut lines = Vec::new();
        for node in nodes {
            lines.extend(table.line_offset_of(graph, node).map(|offset| (offset, all.len())));
            all.push(None);
        }
        lines.sort_unstable();
        let of_some = |lines: &[(u64, usize)]| {
            let (mut window, mut found) = (LineWindow::default(), Vec::new());
            for &(offset, at) in lines {
                let line = window.line_at(&table.dump, offset)?.and_then(L::parse);
                found.extend(line.and_then(|line| Some((at, pick(&line)?))));
            }
            Ok(found)
        };
        let found: Vec<Vec<(usize, T)>> =
            lines.par_chunks(LINES_AT_ONCE).map(of_some).collect::<Result<_, ReadError>>()?;
        for (at, answer) in found.into_iter().flatten() {
            all[at] = Some(answer);
        }
        Ok(all)
    }
}

impl<L: LineFormat> LineDetails<L> {
    /// Texts that `pick` makes of the lines of objects, each kept once, by object. Of one that is listed again the first line
    /// counts.
    fn texts_by_node(
        &self,
        graph: &HeapGraph,
        pick: impl Fn(&L::Line<'_>) -> Option<String> + Sync,
    ) -> Result<(NameTable, Vec<(NodeId, NameId)>), ReadError> {
        let texts = Mutex::new(NameTable::default());
        let mut found = self.table()?.pick_from_all_lines(|id, line| {
            let (node, text) = (only_node_of_id(graph, id)?, pick(line));
            Some((node, text.map(|text| texts.lock().unwrap_or_else(PoisonError::into_inner).intern(&text))))
        })?;
        found.sort_by_key(|&(node, _)| node);
        found.dedup_by_key(|&mut (node, _)| node);
        let found = found.into_iter().filter_map(|(node, text)| Some((node, text?))).collect();
        Ok((texts.into_inner().unwrap_or_else(PoisonError::into_inner), found))
    }

    /// `None` if no line says where its object was allocated: the key may stand in a text, or among names.
    fn allocations_by_place(&self, graph: &HeapGraph) -> Result<Option<AllocationDump>, ReadError> {
        let (mut names, places) = self.texts_by_node(graph, L::allocation_place)?;
        if places.is_empty() {
            return Ok(None);
        }
        let mut builder = AllocationHeapBuilder::new(names.intern(""));
        let untraced = names.intern(NOT_TRACED);
        let mut places = places.into_iter().peekable();
        let mut totals: FxHashMap<(NameId, TypeId), (u64, u64)> = FxHashMap::default();
        for node in graph.nodes() {
            let place = places.next_if(|&(placed, _)| placed == node).map_or(untraced, |(_, place)| place);
            let (bytes, objects) = totals.entry((place, graph.type_of(node))).or_default();
            *bytes = bytes.saturating_add(graph.shallow_bytes(node));
            *objects += 1;
        }
        let mut totals: Vec<_> = totals.into_iter().collect();
        totals.sort_unstable_by_key(|&((place, type_id), _)| (place.0, type_id));
        for ((place, type_id), (bytes, objects)) in totals {
            let class = names.intern(graph.type_name(type_id));
            let frame = builder.find_or_add_frame(0, place);
            builder.add_entry(AllocationEntry::new(frame, Some(class), bytes, Some(objects)));
        }
        let (frames, entries) = builder.finish_heap(None);
        let heap = AllocationHeap::alone(String::new(), "live", frames, entries);
        Ok(Some(AllocationDump::of_heaps(names, vec![heap])))
    }
}

/// Kinds of all references, with the files of functions.
struct LineReferenceKinds {
    names: NameTable,
    /// By node: where its references begin in `labels`; one more at the end.
    first_label_of_node: Vec<usize>,
    /// Places in `kinds`.
    labels: Vec<u32>,
    /// Those that differ.
    kinds: Vec<(ReferenceKind, NameId)>,
    script_files: FxHashMap<NodeId, NameId>,
}

impl LineReferenceKinds {
    fn new<L: LineFormat>(table: &LineTable<L>, graph: &HeapGraph) -> Result<Self, ReadError> {
        let names = Mutex::new(NameTable::default());
        let mut lines = table.pick_from_all_lines(|id, line| {
            let node = only_node_of_id(graph, id)?;
            let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
            let kinds = L::reference_kinds(graph, line).into_iter().map(|(kind, name)| (kind, names.intern(&name)));
            Some((node, kinds.collect::<Vec<_>>(), L::script_file(line).map(|script| names.intern(&script))))
        })?;
        lines.sort_by_key(|&(node, ..)| node);
        lines.dedup_by_key(|&mut (node, ..)| node);
        let mut all = LineReferenceKinds {
            names: names.into_inner().unwrap_or_else(PoisonError::into_inner),
            first_label_of_node: Vec::with_capacity(graph.node_count() + 1),
            labels: Vec::new(),
            kinds: Vec::new(),
            script_files: FxHashMap::default(),
        };
        let mut label_by_kind: FxHashMap<(ReferenceKind, NameId), u32> = FxHashMap::default();
        for (node, kinds, script) in lines {
            all.first_label_of_node.resize(node.index() + 1, all.labels.len());
            for kind in kinds {
                let new = all.kinds.len() as u32;
                let label = *label_by_kind.entry(kind).or_insert(new);
                if label == new {
                    all.kinds.push(kind);
                }
                all.labels.push(label);
            }
            all.script_files.extend(script.map(|script| (node, script)));
        }
        all.first_label_of_node.resize(graph.node_count() + 1, all.labels.len());
        Ok(all)
    }
}

impl ReferenceKinds for LineReferenceKinds {
    fn append_labels(&self, _: &HeapGraph, from: NodeId, labels: &mut Vec<u32>) {
        let own = self.first_label_of_node[from.index()]..self.first_label_of_node[from.index() + 1];
        labels.extend_from_slice(&self.labels[own]);
    }

    fn kind_and_name(&self, label: u32) -> (ReferenceKind, u32) {
        let (kind, name) = self.kinds[label as usize];
        (kind, name.0)
    }

    fn name(&self, number: u32) -> Cow<'_, str> {
        self.names.text(NameId(number)).into()
    }

    fn script_file(&self, node: NodeId) -> Option<Cow<'_, str>> {
        self.script_files.get(&node).map(|&script| self.names.text(script).into())
    }
}

/// The start of a text.
fn text_start(text: &str, most_units: usize) -> Text {
    let mut units = 0;
    let end = text.char_indices().find(|(_, character)| {
        units += character.len_utf16();
        units > most_units
    });
    let start = &text[..end.map_or(text.len(), |(at, _)| at)];
    Text { text: start.to_string(), is_cut: start.len() < text.len() }
}

/// The object of an id, if one alone has it.
pub(super) fn only_node_of_id(graph: &HeapGraph, id: u64) -> Option<NodeId> {
    match graph.find_by_id(None, id) {
        IdLookup::One(node) => Some(node),
        _ => None,
    }
}

impl<L: LineFormat> ObjectDetails for LineDetails<L> {
    /// Empty: the dump has no values but those of references.
    fn fields(&self, _: &HeapGraph, _: NodeId) -> Result<Vec<FieldValue>, ReadError> {
        Ok(Vec::new())
    }

    fn reference_name(&self, graph: &HeapGraph, from: NodeId, nth: usize) -> Result<Option<ReferenceName>, ReadError> {
        let mut last = self.last_names.lock().unwrap_or_else(PoisonError::into_inner);
        let names = match &*last {
            Some((node, names)) if *node == from => names,
            _ => {
                let names = |table: &LineTable<L>, line: &L::Line<'_>| {
                    Some(L::reference_names(graph, from, &table.notes, line))
                };
                let names = self.pick_from_line(graph, from, names)?.unwrap_or_default();
                &last.insert((from, names)).1
            }
        };
        Ok(names.get(nth).cloned().flatten())
    }

    fn text(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<String>, ReadError> {
        self.pick_from_line(graph, node, |_, line| L::text(line))
    }

    fn has_reference_names(&self) -> bool {
        self.table().is_ok_and(|table| table.has_reference_names)
    }

    fn has_texts(&self) -> bool {
        true
    }

    fn visit_whole_content(
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
        let mut strings = self.table()?.pick_from_all_lines(|id, line| {
            let node = only_node_of_id(graph, id)?;
            let Some(text) = L::text_if_string(line) else { return Some((node, None)) };
            let hash = |text: &str| ContentKey::new(XxHash3_128::oneshot(text.as_bytes()), false);
            let key = text.as_deref().map_or(ContentKey::UNKNOWN, hash);
            let units = text.as_deref().map(|text| text.encode_utf16().count() as u64);
            Some((node, Some((key, units))))
        })?;
        strings.sort_by_key(|&(node, _)| node);
        strings.dedup_by_key(|&mut (node, _)| node);
        strings.retain(|(_, string)| string.is_some());
        let mut lengths = LengthColumn::default();
        if wanted.with_lengths {
            lengths = LengthColumn::of_nodes(graph.node_count());
            let with_length = |&(node, string): &(NodeId, Option<(_, Option<u64>)>)| Some((node, string?.1?));
            strings.iter().filter_map(with_length).for_each(|(node, length)| lengths.set(node, length));
        }
        let keys = strings.iter().filter_map(|(_, string)| Some((*string)?.0)).collect();
        let nodes = strings.into_iter().map(|(node, _)| node).collect();
        Ok(Contents { strings: StringColumns::without_arrays(nodes, keys), lengths, ..Contents::default() })
    }

    fn visit_texts(
        &self,
        graph: &HeapGraph,
        strings: &StringColumns,
        wanted: &[usize],
        most_units: usize,
        take: &(dyn Fn(usize, Text) + Sync),
    ) -> Result<(), ReadError> {
        let nodes = wanted.iter().map(|&at| strings.node(at));
        let texts = self.pick_from_lines(graph, nodes, |line| Some(text_start(&L::text(line)?, most_units)))?;
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
        let say = |line: &L::Line<'_>| Some(ShownValue::Text(text_start(&L::text(line)?, most_units)));
        let mut values = self.pick_from_lines(graph, nodes.iter().copied(), say)?;
        let named = graph.threads().iter().filter_map(|thread| Some((thread.node?, graph.name(thread.name?))));
        let named: FxHashMap<NodeId, &str> = named.collect();
        for (value, node) in values.iter_mut().zip(nodes) {
            let name = || named.get(node).map(|name| ShownValue::Name(text_start(name, most_units)));
            *value = value.take().or_else(name);
        }
        Ok(values)
    }

    fn source_place(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<SourcePlace>, ReadError> {
        self.pick_from_line(graph, node, |_, line| L::source_place(line))
    }

    fn function_name(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<String>, ReadError> {
        self.pick_from_line(graph, node, |_, line| L::function_name(line))
    }

    fn function_of_captured_variables(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<String>, ReadError> {
        self.pick_from_line(graph, node, |_, line| L::function_of_captured_variables(line))
    }

    /// Of dumps of JavaScript. 4 bytes for each reference.
    fn reference_kinds(&self, graph: &HeapGraph) -> Result<Option<Box<dyn ReferenceKinds>>, ReadError> {
        let table = self.table()?;
        Ok(if L::has_reference_kinds(&table.notes) {
            Some(Box::new(LineReferenceKinds::new(&*table, graph)?))
        } else {
            None
        })
    }

    /// One frame, where allocations were traced.
    fn allocation_stack(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<Vec<String>>, ReadError> {
        self.pick_from_line(graph, node, |_, line| Some(vec![L::allocation_place(line)?]))
    }

    /// One heap of what is in the dump, each stack a frame.
    fn allocations(&self, graph: &HeapGraph) -> Result<Option<&AllocationDump>, ReadError> {
        if self.allocations.get().is_none() {
            let found = if self.table()?.has_allocation_places { self.allocations_by_place(graph)? } else { None };
            _ = self.allocations.set(found);
        }
        Ok(self.allocations.get().and_then(Option::as_ref))
    }

    fn allocation_groups(&self, graph: &HeapGraph, by: AllocationGrouping) -> Result<Option<NamedGroups>, ReadError> {
        if by == AllocationGrouping::File && !self.table()?.has_allocation_places {
            return Ok(None);
        }
        let (texts, groups) = match by {
            AllocationGrouping::File => self.texts_by_node(graph, L::allocation_file)?,
            AllocationGrouping::CollectionCount => {
                self.texts_by_node(graph, |line| Some(L::collections_before_allocation(line)?.to_string()))?
            }
        };
        let mut names = vec![NOT_TRACED.to_string()];
        let mut of_node = vec![0; graph.node_count()];
        let mut numbers: FxHashMap<NameId, u32> = FxHashMap::default();
        for (node, text) in groups {
            of_node[node.index()] = *numbers.entry(text).or_insert_with(|| {
                names.push(texts.text(text).to_string());
                names.len() as u32 - 1
            });
        }
        Ok((names.len() > 1).then_some((names, of_node)))
    }

    /// Nothing: the table is made anew in less time than it takes to check one.
    fn store(&self, _: &mut dyn ColumnSink) -> io::Result<()> {
        Ok(())
    }
}
