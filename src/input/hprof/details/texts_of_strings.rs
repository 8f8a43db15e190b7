//! The texts of many strings: one pass over the file for all of them, in the order of the file.

use std::sync::atomic::{AtomicU64, Ordering};

use super::finder::RecordFinder;
use super::object_pass::{ArrayHead, ObjectVisitor, visit_objects};
use super::shown_values::characters_in;
use super::values::content_key_of;
use crate::graph::{FieldKind, HeapGraph, NodeId, NodeSet};
use crate::input::contents::NodeNumbers;
use crate::input::counted_instances::CharacterRange;
use crate::input::{ContentKey, ReadError, StringColumns, Text};

/// Bytes of an array that are looked at together; texts behind them are taken for equal.
pub const MAX_ARRAY_BYTES: usize = 64 << 20;

/// Strings by the arrays that hold their characters.
struct StringsByArray<'g> {
    graph: &'g HeapGraph,
    array_numbers: NodeNumbers,
    /// (array, string), ascending.
    array_string_pairs: Vec<(u32, u32)>,
    /// By number of the array: where its strings begin.
    first_pairs: Vec<u32>,
}

impl<'g> StringsByArray<'g> {
    fn new(graph: &'g HeapGraph, strings: &StringColumns, wanted: impl Iterator<Item = usize>) -> Self {
        let of_string = |at: usize| strings.array(at).map(|array| (array.index() as u32, at as u32));
        let mut pairs: Vec<(u32, u32)> = wanted.filter_map(of_string).collect();
        pairs.sort_unstable();
        let mut set = NodeSet::new(graph.node_count());
        let mut starts = Vec::new();
        for (at, &(array, _)) in pairs.iter().enumerate() {
            if set.insert(NodeId::new(array as usize)) {
                starts.push(at as u32);
            }
        }
        StringsByArray { graph, array_numbers: NodeNumbers::new(set), array_string_pairs: pairs, first_pairs: starts }
    }

    fn strings_of(&self, number: usize) -> impl Iterator<Item = usize> + '_ {
        let end = self.first_pairs.get(number + 1).map_or(self.array_string_pairs.len(), |&start| start as usize);
        self.array_string_pairs[self.first_pairs[number] as usize..end].iter().map(|&(_, string)| string as usize)
    }
}

/// Calls something with each array of characters that has a number: this and its bytes, of one in pieces the first
/// `most_bytes` together.
pub struct CharacterArrayVisitor<L, F> {
    /// By its id.
    number_of: L,
    most_bytes: usize,
    visit: F,
    current_array_number: usize,
    gathered_bytes: Vec<u8>,
}

impl<L, F> CharacterArrayVisitor<L, F> {
    pub fn new(number_of: L, most_bytes: usize, visit: F) -> Self {
        CharacterArrayVisitor { number_of, most_bytes, visit, current_array_number: 0, gathered_bytes: Vec::new() }
    }
}

impl<L: FnMut(u64) -> Option<usize> + Send, F: Fn(usize, &ArrayHead, &[u8]) + Send> ObjectVisitor
    for CharacterArrayVisitor<L, F>
{
    fn visit_array(&mut self, array: &ArrayHead) -> bool {
        if !matches!(array.element_kind, FieldKind::Byte | FieldKind::Char) {
            return false;
        }
        self.gathered_bytes.clear();
        (self.number_of)(array.id).inspect(|&number| self.current_array_number = number).is_some()
    }

    fn visit_elements(&mut self, array: &ArrayHead, bytes: &[u8], is_last: bool) {
        if is_last && self.gathered_bytes.is_empty() {
            return (self.visit)(self.current_array_number, array, bytes);
        }
        let room = self.most_bytes.saturating_sub(self.gathered_bytes.len()).min(bytes.len());
        self.gathered_bytes.extend_from_slice(&bytes[..room]);
        if is_last {
            (self.visit)(self.current_array_number, array, &self.gathered_bytes);
        }
    }
}

/// Calls `see` with the arrays of these strings: number, head, bytes.
fn visit_character_arrays(
    finder: &RecordFinder,
    by_array: &StringsByArray<'_>,
    most_bytes: usize,
    see: impl Fn(usize, &ArrayHead, &[u8]) + Sync,
) -> Result<(), ReadError> {
    let number_of = |id| by_array.graph.node_of_id(id).and_then(|node| by_array.array_numbers.number(node));
    let make = || CharacterArrayVisitor::new(number_of, most_bytes, &see);
    visit_objects(&finder.places, &finder.reread, make).map(|_| ())
}

/// Calls `take` with the texts of some strings, of each at most so many units; on all threads, in no order.
pub fn visit_texts(
    finder: &RecordFinder,
    graph: &HeapGraph,
    strings: &StringColumns,
    wanted: &[usize],
    most_units: usize,
    take: &(dyn Fn(usize, Text) + Sync),
) -> Result<(), ReadError> {
    let by_array = StringsByArray::new(graph, strings, wanted.iter().copied());
    let part =
        |at: usize| strings.array_parts.get(at).map_or((0, None), |&(start, count)| (start as usize, Some(count)));
    let last = wanted.iter().map(|&at| part(at).0).max().unwrap_or(0);
    let most_bytes = last.saturating_add(most_units).saturating_add(1).saturating_mul(2).min(MAX_ARRAY_BYTES);
    visit_character_arrays(finder, &by_array, most_bytes, |number, array, bytes| {
        for at in by_array.strings_of(number) {
            let (start, count) = part(at);
            let count = count.map(|count| count as usize);
            let range = CharacterRange { is_wide: strings.are_wide[at], start, count };
            let text = characters_in(array.element_kind, array.length.into(), bytes, range, most_units);
            if let Some(text) = text {
                take(at, text);
            }
        }
    })
}

/// Gives strings that are parts of arrays the keys of their own parts.
pub fn set_keys_of_string_parts(
    finder: &RecordFinder,
    graph: &HeapGraph,
    strings: &mut StringColumns,
) -> Result<(), ReadError> {
    let keys: Vec<[AtomicU64; 2]> = (0..strings.len()).map(|_| Default::default()).collect();
    let by_array = StringsByArray::new(graph, strings, 0..strings.len());
    visit_character_arrays(finder, &by_array, MAX_ARRAY_BYTES, |number, array, bytes| {
        let width = array.element_kind.bytes(0) as usize;
        for at in by_array.strings_of(number) {
            let (start, count) = strings.array_parts[at];
            let start = (start as usize).saturating_mul(width).min(bytes.len());
            let end = start.saturating_add((count as usize).saturating_mul(width)).min(bytes.len());
            let key = content_key_of(array.element_kind, &bytes[start..end]);
            for (half, value) in keys[at].iter().zip(key.halves()) {
                half.store(value, Ordering::Relaxed);
            }
        }
    })?;
    let key = |key: &[AtomicU64; 2]| ContentKey::from_halves([0, 1].map(|half| key[half].load(Ordering::Relaxed)));
    strings.keys = keys.iter().map(key).collect();
    Ok(())
}
