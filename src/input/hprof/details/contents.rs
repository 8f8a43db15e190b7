//! Contents of all objects: keys of texts and arrays, values of some fields. One pass over the file, two where strings are
//! parts of arrays (JDK 6).

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use twox_hash::XxHash3_128;

use super::finder::RecordFinder;
use super::object_pass::{ArrayHead, ObjectVisitor, visit_objects};
use super::shown_values::TextSource;
use super::values::{content_key_of, content_key_of_hash, field_places, types_by_class_id, whole_number_at};
use crate::graph::{FieldKind, HeapGraph, NodeId, NodeSet, TypeId};
use crate::input::contents::NodeNumbers;
use crate::input::hprof::wire::id_at_with_width;
use crate::input::{
    ContentKey, Contents, HeldValue, LengthColumn, MIN_LISTED_REFERENCE_ARRAY_LENGTH, ReadError, StringColumns,
    WantedContents, primitive_array_kinds,
};

/// Keys of arrays are kept as two halves, for all threads to write.
type KeyHalves = Vec<[AtomicU64; 2]>;

/// The strings of a graph and the arrays of their characters: what follows without the file. Keys are not known yet.
fn strings_of(graph: &HeapGraph, text_sources: &[TextSource]) -> StringColumns {
    let kinds = primitive_array_kinds(graph);
    let is_characters =
        |node: NodeId| matches!(kinds[graph.type_of(node).index()], Some(FieldKind::Byte | FieldKind::Char));
    let is_string = |type_id: TypeId| matches!(text_sources.get(type_id.index()), Some(TextSource::String(_)));
    let mut strings = StringColumns::default();
    for (node, type_id, _) in graph.objects(0..graph.node_count()) {
        if is_string(type_id) {
            let array = graph.strong_references(node).iter().find(|&&target| is_characters(target));
            strings.nodes.push(node);
            strings.array_nodes.push(array.map_or(u32::MAX, |array| array.index() as u32));
        }
    }
    strings
}

/// The parts of a class's instances that are read.
#[derive(Debug, Clone, Default)]
struct ClassReadPlan {
    /// Of strings: where it is said that characters take two bytes.
    coder_offset: Option<usize>,
    /// Of strings that are parts of arrays: where `offset` and `count` are.
    offset_and_count_offsets: Option<(usize, usize)>,
    /// (place among the wanted fields, what it holds, where it is).
    fields: Vec<(u16, FieldKind, usize)>,
}

/// What one pass over the file reads, and of which objects.
struct ContentPlan<'g> {
    graph: &'g HeapGraph,
    id_bytes: usize,
    classes: FxHashMap<u64, ClassReadPlan>,
    array_numbers: NodeNumbers,
    array_keys: KeyHalves,
    /// Lengths and nulls of arrays of references are read too.
    with_reference_arrays: bool,
    /// Lengths of all arrays are listed.
    with_lengths: bool,
}

pub fn read_contents(
    finder: &RecordFinder,
    graph: &HeapGraph,
    text_sources: &[TextSource],
    wanted: &WantedContents,
) -> Result<Contents, ReadError> {
    let mut strings = strings_of(graph, text_sources);
    let mut plan = ContentPlan::new(graph, finder.places.id_bytes, text_sources, wanted, &strings);
    let mut contents = Contents::default();
    let is_parts = plan.classes.values().any(|class| class.offset_and_count_offsets.is_some());
    if wanted.with_lengths {
        contents.lengths = LengthColumn::of_nodes(graph.node_count());
    }
    let found = visit_objects(&finder.places, &finder.reread, || FoundContents::new(&plan))?;
    strings.are_wide = vec![false; strings.len()];
    if is_parts {
        strings.array_parts = vec![(0, u32::MAX); strings.len()];
    }
    for reading in found {
        for node in reading.wide_strings {
            if let Some(at) = strings.find(node) {
                strings.are_wide[at] = true;
            }
        }
        for (node, start, count) in reading.string_parts {
            if let Some(at) = strings.find(node) {
                strings.array_parts[at] = (start, count);
            }
        }
        contents.long_reference_arrays.extend(reading.reference_arrays);
        contents.field_values.extend(reading.fields);
        reading.array_lengths.iter().for_each(|&(node, length)| contents.lengths.set(node, length.into()));
    }
    contents.long_reference_arrays.par_sort_unstable();
    contents.field_values.par_sort_by_key(|&(node, place, _)| (node, place));
    if wanted.with_lengths {
        set_lengths_of_texts(&strings, &mut contents.lengths);
        contents.strings = strings;
        return Ok(contents);
    }
    let keys = std::mem::take(&mut plan.array_keys);
    let key = |number: usize| ContentKey::from_halves([0, 1].map(|half| keys[number][half].load(Ordering::Relaxed)));
    let key_of_string = |(&array, &is_wide): (&u32, &bool)| {
        let number = if array == u32::MAX { None } else { plan.array_numbers.number(NodeId::new(array as usize)) };
        let key = number.map_or(ContentKey::UNKNOWN, key);
        if is_wide { key.for_other_encoding() } else { key }
    };
    strings.keys = strings.array_nodes.par_iter().zip(&strings.are_wide).map(key_of_string).collect();
    if wanted.with_arrays {
        let arrays = plan.array_numbers.nodes().enumerate().map(|(number, node)| (node, key(number)));
        let is_filled = |key: ContentKey| {
            key.is_known() && !KINDS_READ_WHEN_EMPTY.iter().any(|&kind| key == content_key_of(kind, &[]))
        };
        contents.primitive_array_keys = arrays.filter(|&(_, key)| is_filled(key)).collect();
    }
    drop(keys);
    if is_parts {
        super::texts_of_strings::set_keys_of_string_parts(finder, graph, &mut strings)?;
    }
    contents.strings = strings;
    Ok(contents)
}

/// Sets the UTF-16 units of strings whose characters the dump has, by the lengths of all arrays.
fn set_lengths_of_texts(strings: &StringColumns, lengths: &mut LengthColumn) {
    for at in 0..strings.len() {
        let Some(length) = strings.array(at).and_then(|array| lengths.get(array)) else { continue };
        let there = if strings.are_wide[at] { length / 2 } else { length };
        let part =
            strings.array_parts.get(at).map(|&(start, count)| there.saturating_sub(start.into()).min(count.into()));
        lengths.set(strings.node(at), part.unwrap_or(there));
    }
}

/// Arrays of characters are read when they are empty too.
const KINDS_READ_WHEN_EMPTY: [FieldKind; 2] = [FieldKind::Byte, FieldKind::Char];

impl<'g> ContentPlan<'g> {
    fn new(
        graph: &'g HeapGraph,
        id_bytes: usize,
        text_sources: &[TextSource],
        wanted: &WantedContents,
        strings: &StringColumns,
    ) -> Self {
        let ids: FxHashMap<TypeId, u64> =
            types_by_class_id(graph).into_iter().map(|(id, type_id)| (type_id, id)).collect();
        let mut classes: FxHashMap<u64, ClassReadPlan> = FxHashMap::default();
        for (at, source) in text_sources.iter().enumerate() {
            let (TextSource::String(places), Some(&id)) = (source, ids.get(&TypeId::new(at))) else { continue };
            let (coder_offset, offset_and_count_offsets) = (places.coder, places.offset_and_count);
            classes.insert(id, ClassReadPlan { coder_offset, offset_and_count_offsets, fields: Vec::new() });
        }
        for (place, &(type_id, field)) in wanted.fields.iter().enumerate() {
            let Some((&id, found)) = ids.get(&type_id).zip(field_places(graph, type_id, id_bytes).get(field).copied())
            else {
                continue;
            };
            classes.entry(id).or_default().fields.push((place as u16, found.field.kind, found.offset));
        }
        let mut set = NodeSet::new(graph.node_count());
        if wanted.with_arrays {
            let kinds = primitive_array_kinds(graph);
            for (node, type_id, _) in graph.objects(0..graph.node_count()) {
                if kinds[type_id.index()].is_some() {
                    set.insert(node);
                }
            }
        } else if !wanted.with_lengths {
            for &array in strings.array_nodes.iter().filter(|&&array| array != u32::MAX) {
                set.insert(NodeId::new(array as usize));
            }
        }
        let arrays = NodeNumbers::new(set);
        let keys = (0..arrays.len()).map(|_| Default::default()).collect();
        let (with_references, with_lengths) = (wanted.with_arrays, wanted.with_lengths);
        ContentPlan {
            graph,
            id_bytes,
            classes,
            array_numbers: arrays,
            array_keys: keys,
            with_reference_arrays: with_references,
            with_lengths,
        }
    }

    fn set_key(&self, number: usize, key: ContentKey) {
        for (half, value) in self.array_keys[number].iter().zip(key.halves()) {
            half.store(value, Ordering::Relaxed);
        }
    }
}

/// The findings of one thread.
struct FoundContents<'p> {
    plan: &'p ContentPlan<'p>,
    wide_strings: Vec<NodeId>,
    /// Of strings that are parts of arrays: node, first unit, number of units.
    string_parts: Vec<(NodeId, u32, u32)>,
    /// Arrays of references: node, length, number of nulls.
    reference_arrays: Vec<(NodeId, u32, u32)>,
    fields: Vec<(NodeId, u16, HeldValue)>,
    array_lengths: Vec<(NodeId, u32)>,
    /// The class of the instance before, and its plan.
    last_class_and_plan: (u64, Option<&'p ClassReadPlan>),
    /// Of the array whose elements come: its number, or its node.
    current_array_number: usize,
    current_array_node: NodeId,
    /// Nulls so far in the array of references whose elements come.
    current_array_null_count: u32,
    /// Of an array whose elements come in pieces: the hash so far, and whether all are zero.
    partial_hash: Option<(XxHash3_128, bool)>,
}

impl<'p> FoundContents<'p> {
    fn new(plan: &'p ContentPlan<'p>) -> Self {
        FoundContents {
            plan,
            wide_strings: Vec::new(),
            string_parts: Vec::new(),
            reference_arrays: Vec::new(),
            fields: Vec::new(),
            array_lengths: Vec::new(),
            last_class_and_plan: (0, None),
            current_array_number: 0,
            current_array_node: NodeId::new(0),
            current_array_null_count: 0,
            partial_hash: None,
        }
    }

    /// Notes of a string whether its characters take two bytes, and which part of an array it is; its text is not read.
    fn note_string_encoding_and_part(&mut self, class: &ClassReadPlan, id: u64, values: &[u8]) {
        let is_wide = class.coder_offset.is_some_and(|at| values.get(at) == Some(&1));
        let number = |at| whole_number_at(FieldKind::Int, values, at).and_then(|number| u32::try_from(number).ok());
        let part = class.offset_and_count_offsets.and_then(|(start, count)| number(start).zip(number(count)));
        if (is_wide || part.is_some())
            && let Some(node) = self.plan.graph.node_of_id(id)
        {
            if is_wide {
                self.wide_strings.push(node);
            }
            self.string_parts.extend(part.map(|(start, count)| (node, start, count)));
        }
    }

    /// Takes the values of the wanted fields.
    fn read_fields(&mut self, class: &ClassReadPlan, id: u64, values: &[u8]) {
        let Some(node) = self.plan.graph.node_of_id(id) else { return };
        for &(place, kind, at) in &class.fields {
            let value = match kind {
                FieldKind::Reference => id_at_with_width(values, at, self.plan.id_bytes)
                    .filter(|&id| id != 0)
                    .and_then(|id| self.plan.graph.node_of_id(id))
                    .map_or(HeldValue::Nothing, HeldValue::Object),
                kind => match whole_number_at(kind, values, at) {
                    Some(number) => HeldValue::Number(number),
                    None => continue,
                },
            };
            self.fields.push((node, place, value));
        }
    }
}

impl ObjectVisitor for FoundContents<'_> {
    #[inline]
    fn visit_instance(&mut self, id: u64, class: u64, values: &[u8]) {
        if self.last_class_and_plan.0 != class {
            self.last_class_and_plan = (class, self.plan.classes.get(&class));
        }
        let Some(class) = self.last_class_and_plan.1 else { return };
        if class.coder_offset.is_some() || class.offset_and_count_offsets.is_some() {
            self.note_string_encoding_and_part(class, id, values);
        }
        if !class.fields.is_empty() {
            self.read_fields(class, id, values);
        }
    }

    #[inline]
    fn visit_array(&mut self, array: &ArrayHead) -> bool {
        if self.plan.with_lengths {
            let node = self.plan.graph.node_of_id(array.id);
            self.array_lengths.extend(node.map(|node| (node, array.length)));
            return false;
        }
        if array.element_kind == FieldKind::Reference {
            if !self.plan.with_reference_arrays || array.length < MIN_LISTED_REFERENCE_ARRAY_LENGTH {
                return false;
            }
            self.current_array_null_count = 0;
            let Some(node) = self.plan.graph.node_of_id(array.id) else { return false };
            self.current_array_node = node;
            return true;
        }
        let Some(number) = self.plan.graph.node_of_id(array.id).and_then(|node| self.plan.array_numbers.number(node))
        else {
            return false;
        };
        self.current_array_number = number;
        self.partial_hash = None;
        array.length > 0 || KINDS_READ_WHEN_EMPTY.contains(&array.element_kind)
    }

    fn visit_elements(&mut self, array: &ArrayHead, bytes: &[u8], is_last: bool) {
        if array.element_kind == FieldKind::Reference {
            let null_count = bytes.chunks_exact(self.plan.id_bytes).filter(|id| id.iter().all(|&byte| byte == 0));
            self.current_array_null_count += null_count.count() as u32;
            if is_last {
                self.reference_arrays.push((self.current_array_node, array.length, self.current_array_null_count));
            }
            return;
        }
        if is_last && self.partial_hash.is_none() {
            self.plan.set_key(self.current_array_number, content_key_of(array.element_kind, bytes));
            return;
        }
        let (hash, is_zero) = self.partial_hash.get_or_insert_with(|| (XxHash3_128::new(), true));
        hash.write(bytes);
        *is_zero &= bytes.iter().all(|&byte| byte == 0);
        if is_last && let Some((hash, is_zero)) = self.partial_hash.take() {
            self.plan.set_key(
                self.current_array_number,
                content_key_of_hash(array.element_kind, hash.finish_128(), is_zero),
            );
        }
    }
}
