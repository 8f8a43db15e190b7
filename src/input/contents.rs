//! Contents of all objects at once: texts of strings, elements of arrays, fields of some types, read in one pass over the
//! dump. Columns by object, nothing per object beside them; what is equal has equal keys.

use std::ops::Range;

use super::java_types::PRIMITIVES;
use crate::graph::{FieldKind, HeapGraph, NodeId, NodeSet, TypeId};

/// A key of the contents of a text or an array: 126 bits that are equal for equal contents (of arrays of one
/// type), and whether all of it is zero. Two contents that differ have the same key by a chance of 1 in 2^126.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ContentKey(u128);

impl ContentKey {
    /// Contents that the dump does not have.
    pub const UNKNOWN: ContentKey = ContentKey(0);
    const KNOWN_BIT: u128 = 2;

    /// The key of contents with this hash.
    pub fn new(hash: u128, is_zero: bool) -> Self {
        ContentKey(hash << 2 | Self::KNOWN_BIT | u128::from(is_zero))
    }

    /// The key of other contents that are the same bytes read in another way.
    pub(super) fn for_other_encoding(self) -> Self {
        let other = self.0 ^ (0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C834 << 2);
        if self.is_known() { ContentKey(other) } else { self }
    }

    /// Returns true if the dump has the contents.
    pub fn is_known(self) -> bool {
        self.0 & Self::KNOWN_BIT != 0
    }

    /// Returns true for at least one element or character, and nothing but zeros.
    pub fn is_all_zero(self) -> bool {
        self.0 & 1 != 0
    }

    pub(super) fn halves(self) -> [u64; 2] {
        [self.0 as u64, (self.0 >> 64) as u64]
    }

    pub(super) fn from_halves([low, high]: [u64; 2]) -> Self {
        ContentKey(u128::from(high) << 64 | u128::from(low))
    }
}

/// The string objects of a dump, ascending. 24 bytes each, and 8 more where strings share their arrays (JDK 6).
#[derive(Debug, Default)]
pub struct StringColumns {
    pub(super) nodes: Vec<NodeId>,
    /// `u32::MAX` for none.
    pub(super) array_nodes: Vec<u32>,
    pub(super) keys: Vec<ContentKey>,
    /// Strings whose bytes are two a character.
    pub(super) are_wide: Vec<bool>,
    /// The part of its array's characters that each string is: from, length. Empty where all are whole.
    pub(super) array_parts: Vec<(u32, u32)>,
}

impl StringColumns {
    /// Strings that hold their characters themselves.
    pub(super) fn without_arrays(nodes: Vec<NodeId>, keys: Vec<ContentKey>) -> Self {
        StringColumns { nodes, keys, ..StringColumns::default() }
    }

    /// Appends the arrays of bytes and of characters that no string has, to be read as texts of their own (the bytes as
    /// Latin-1). Of formats whose strings have arrays. O(objects).
    pub fn append_unowned_arrays(&mut self, graph: &HeapGraph) {
        if self.array_nodes.is_empty() {
            return;
        }
        let mut known = NodeSet::new(graph.node_count());
        (0..self.len()).filter_map(|at| self.array(at)).for_each(|array| _ = known.insert(array));
        let kinds = primitive_array_kinds(graph);
        for node in graph.nodes().filter(|&node| !known.contains(node)) {
            if let Some(FieldKind::Byte | FieldKind::Char) = kinds[graph.type_of(node).index()] {
                self.nodes.push(node);
                self.array_nodes.push(node.index() as u32);
                self.are_wide.push(false);
                self.keys.push(ContentKey::UNKNOWN);
                if !self.array_parts.is_empty() {
                    self.array_parts.push((0, u32::MAX));
                }
            }
        }
    }

    /// The number of strings.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The object of a string.
    pub fn node(&self, at: usize) -> NodeId {
        self.nodes[at]
    }

    /// The array that holds the characters of a string, where it is an object of its own.
    pub fn array(&self, at: usize) -> Option<NodeId> {
        self.array_nodes.get(at).filter(|&&array| array != u32::MAX).map(|&array| NodeId::new(array as usize))
    }

    /// Leaves out strings whose objects are not wanted. O(strings).
    pub fn retain(&mut self, is_wanted: impl Fn(NodeId) -> bool) {
        let StringColumns { nodes, array_nodes: arrays, keys, are_wide: wide, array_parts: parts } = self;
        let wanted: Vec<bool> = nodes.iter().map(|&node| is_wanted(node)).collect();
        fn keep<T>(column: &mut Vec<T>, wanted: &[bool]) {
            // Columns that all strings do without are empty.
            let mut wanted = wanted.iter();
            column.retain(|_| wanted.next().copied().unwrap_or(false));
        }
        keep(nodes, &wanted);
        keep(arrays, &wanted);
        keep(keys, &wanted);
        keep(wide, &wanted);
        keep(parts, &wanted);
    }

    /// The key of a string's text.
    pub fn key(&self, at: usize) -> ContentKey {
        self.keys.get(at).copied().unwrap_or(ContentKey::UNKNOWN)
    }

    /// The place of a string among these.
    pub fn find(&self, node: NodeId) -> Option<usize> {
        self.nodes.binary_search(&node).ok()
    }
}

/// The contents of a dump that are wanted beside its strings.
#[derive(Debug, Clone, Default)]
pub struct WantedContents {
    /// Keys of all primitive arrays, and lengths of long arrays of references.
    pub with_arrays: bool,
    /// Fields of objects: of which exact type, and which of `TypeTable::instance_fields`.
    pub fields: Vec<(TypeId, usize)>,
    /// Lengths of all arrays and texts, in place of the keys of texts, whose characters are not read then.
    pub with_lengths: bool,
}

/// Contents of a dump.
#[derive(Debug, Default)]
pub struct Contents {
    /// Its strings.
    pub strings: StringColumns,
    /// Primitive arrays of at least one element, those that strings own among them.
    pub primitive_array_keys: Vec<(NodeId, ContentKey)>,
    /// Arrays of references with [`MIN_LISTED_REFERENCE_ARRAY_LENGTH`] elements or more: their length and how many are null.
    pub long_reference_arrays: Vec<(NodeId, u32, u32)>,
    /// By object and place in [`WantedContents::fields`], ascending.
    pub field_values: Vec<(NodeId, u16, HeldValue)>,
    /// Elements of arrays and UTF-16 units of texts, as far as the dump has them.
    pub lengths: LengthColumn,
}

/// Lengths of objects, by object: 8 bytes for each object of the dump.
#[derive(Debug, Default)]
pub struct LengthColumn(Vec<u64>);

impl LengthColumn {
    const NONE: u64 = u64::MAX;

    /// No lengths yet, of so many objects.
    pub fn of_nodes(count: usize) -> Self {
        LengthColumn(vec![Self::NONE; count])
    }

    /// Sets the length of an object.
    pub fn set(&mut self, node: NodeId, length: u64) {
        self.0[node.index()] = length;
    }

    /// The length of an object; `None` of one that has none.
    pub fn get(&self, node: NodeId) -> Option<u64> {
        self.0.get(node.index()).copied().filter(|&length| length != Self::NONE)
    }

    /// Objects with a length, in a range of objects; ascending.
    pub fn iter(&self, nodes: Range<usize>) -> impl Iterator<Item = (NodeId, u64)> + '_ {
        let end = nodes.end.min(self.0.len());
        (nodes.start.min(end)..end).map(NodeId::new).filter_map(|node| Some((node, self.get(node)?)))
    }
}

/// Arrays of references are told of from so many elements on.
pub const MIN_LISTED_REFERENCE_ARRAY_LENGTH: u32 = 16;

/// The value of an object's field, as far as analyses ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldValue {
    /// Nothing, or an object that is not in the dump.
    Nothing,
    /// An object.
    Object(NodeId),
    /// A whole number.
    Number(i64),
}

impl Contents {
    /// The value of an object's field, by its place in [`WantedContents::fields`].
    pub fn field_value(&self, node: NodeId, place: usize) -> Option<HeldValue> {
        let key = (node, place as u16);
        let at = self.field_values.binary_search_by_key(&key, |&(node, place, _)| (node, place)).ok()?;
        Some(self.field_values[at].2)
    }

    /// The length of a long array of references and how many of its elements are null.
    pub fn reference_array_length_and_nulls(&self, node: NodeId) -> Option<(u32, u32)> {
        let at = self.long_reference_arrays.binary_search_by_key(&node, |array| array.0).ok()?;
        let (_, length, nulls) = self.long_reference_arrays[at];
        Some((length, nulls))
    }
}

/// Numbers the nodes of a set, ascending. A bit and half a bit for each object of the graph.
#[derive(Debug)]
pub(super) struct NodeNumbers {
    set: NodeSet,
    counts_before_word: Vec<u32>,
    count: usize,
}

impl NodeNumbers {
    pub(super) fn new(set: NodeSet) -> Self {
        let mut count = 0;
        let before = set.words().iter().map(|word| {
            let before = count;
            count += word.count_ones();
            before
        });
        let before = before.collect();
        NodeNumbers { set, counts_before_word: before, count: count as usize }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The number of a node; `None` of one that is not in the set.
    #[inline]
    pub(super) fn number(&self, node: NodeId) -> Option<usize> {
        let at = node.index();
        let word = *self.set.words().get(at >> 6)?;
        let bit = 1u64 << (at & 63);
        (word & bit != 0).then(|| (self.counts_before_word[at >> 6] + (word & (bit - 1)).count_ones()) as usize)
    }

    /// The nodes, ascending.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.set.words().iter().enumerate().flat_map(|(at, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(NodeId::new((at << 6) + bit))
            })
        })
    }
}

/// By type: what an array of primitive values holds; `None` for all other types. By name, as the Java virtual machine and
/// source code have it.
pub fn primitive_array_kinds(graph: &HeapGraph) -> Vec<Option<FieldKind>> {
    let kind = |name: &str| {
        let primitive = PRIMITIVES
            .iter()
            .find(|(_, word, letter)| name.strip_suffix("[]") == Some(word) || name.strip_prefix('[') == Some(letter));
        primitive.map(|&(kind, ..)| kind)
    };
    graph.types().ids().map(|type_id| kind(graph.type_name(type_id))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_know_zeros_and_how_bytes_are_read() {
        let (text, zeros) = (ContentKey::new(77, false), ContentKey::new(77, true));
        assert!(text.is_known() && !text.is_all_zero() && zeros.is_all_zero() && text != zeros);
        assert!(zeros.for_other_encoding().is_all_zero() && zeros.for_other_encoding() != zeros);
        assert_eq!(ContentKey::UNKNOWN.for_other_encoding(), ContentKey::UNKNOWN);
        assert_eq!(ContentKey::from_halves(text.halves()), text);
    }

    #[test]
    fn nodes_of_a_set_are_numbered() {
        let mut set = NodeSet::new(200);
        for node in [3, 64, 65, 199] {
            set.insert(NodeId::new(node));
        }
        let numbers = NodeNumbers::new(set);
        assert_eq!(numbers.len(), 4);
        for (number, node) in numbers.nodes().enumerate() {
            assert_eq!(numbers.number(node), Some(number));
        }
        assert_eq!(numbers.number(NodeId::new(4)), None);
        assert_eq!(numbers.number(NodeId::new(900)), None);
    }
}
