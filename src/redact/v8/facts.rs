//! Facts about a snapshot: which of its strings name something.
//!
//! Names are those of types, functions and slots, of variables, and of properties: of these what reads as an identifier or
//! is a part of the name of a type (a plain object is named by its properties), and is no key of an object that is used as
//! a dictionary. What is wrong with a row may make a name of any text: of a damaged snapshot no string stays. Damage shows
//! by numbers that make no sense, counts that are not those of the header, signs between strings, and the order of strings:
//! V8 numbers them as they are met, first in nodes, then in edges, then in functions of stacks.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashSet, FxHasher};

use super::header::{EDGE_KINDS, NODE_KINDS};
use super::pieces::SnapshotPieces;
use crate::graph::make_room;
use crate::input::v8_snapshot::block::DANGLING_TARGET;
use crate::input::v8_snapshot::layout::{EdgeKind, NodeKind, SnapshotHeader};
use crate::input::v8_snapshot::scan::{EndOfInput, SnapshotArray, end_of_string};
use crate::input::{ReadError, is_identifier};
use crate::redact::dump_file::DumpFile;

/// An object with so many properties is a dictionary.
const MIN_DICTIONARY_PROPERTIES: usize = 1000;
/// One with so many that no other object has is one too, if three of four are such and lead to objects of one class.
const MIN_UNSHARED_DICTIONARY_PROPERTIES: usize = 10;
/// Characters of the name of a plain object.
const MAX_PLAIN_OBJECT_NAME_UNITS: u32 = 120;
/// What is odd in one of so many strings, or fewer, is damage; in more of them the habit of another writer.
const DAMAGE_SHARE_DIVISOR: usize = 4;
/// Of a string: bytes before its characters, which are at most two each; smaller ones are as they are.
const MAX_STRING_HEADER_BYTES: usize = 24;
const MIN_OVERSIZED_STRING_BYTES: usize = 64;
/// V8 cuts longer texts.
const MAX_UNCUT_TEXT_UNITS: usize = 1000;

mod role {
    /// Of a type, a function, an internal slot.
    pub(super) const NAME: u16 = 1;
    /// A text, a number, a symbol.
    pub(super) const VALUE: u16 = 1 << 1;
    /// Of a property, and of one more.
    pub(super) const PROPERTY: u16 = 1 << 2;
    pub(super) const REPEATED_PROPERTY: u16 = 1 << 3;
    /// Of a property by which a plain object is named.
    pub(super) const NAMES_PLAIN_OBJECT: u16 = 1 << 4;
    /// Of a dictionary.
    pub(super) const DICTIONARY_KEY: u16 = 1 << 5;
    /// Of a variable, or a slot that has the name of a field: it stays where it reads as an identifier.
    pub(super) const SLOT: u16 = 1 << 10;
    /// Of anything.
    pub(super) const USED: u16 = 1 << 11;
    // ---- by the text itself
    pub(super) const IDENTIFIER: u16 = 1 << 6;
    /// Small letters and blanks alone, as in `heap number`.
    pub(super) const LOWERCASE_WORDS: u16 = 1 << 7;
    /// Control characters.
    pub(super) const HAS_CONTROL_CHARACTERS: u16 = 1 << 8;
    /// The text is `Object`; the text is `map`.
    pub(super) const IS_TEXT_OBJECT: u16 = 1 << 9;
    pub(super) const IS_TEXT_MAP: u16 = 1 << 12;
}

/// Facts about a snapshot. Memory: 7 bytes a string, 3 bytes a node.
#[derive(Debug)]
pub(super) struct SnapshotFacts {
    pub(super) layout: Arc<SnapshotHeader>,
    /// By number of the node's kind: such nodes are named by their value.
    kind_has_value: Vec<bool>,
    /// By string: its length in units of UTF-16.
    string_units: Vec<u32>,
    string_roles: Vec<u16>,
    /// By node: some bits of a hash of its class.
    class_hashes: Vec<u16>,
    /// The strings that are to get another entry for values, in the order of these entries.
    pub(super) strings_with_value_entry: Vec<u32>,
    /// Nothing is wrong with header, rows and strings.
    pub(super) is_undamaged: bool,
    /// Strings have the order in which V8 numbers them.
    has_v8_string_order: bool,
    /// The file ends early.
    pub(super) is_cut: bool,
    /// Something follows the end.
    pub(super) has_data_after_end: bool,
}

impl SnapshotFacts {
    /// Walks through a snapshot four times.
    pub(super) fn gather(file: &DumpFile) -> Result<SnapshotFacts, ReadError> {
        let mut pieces = SnapshotPieces::open(file, None)?;
        let (mut units, mut roles, mut is_undamaged) = (Vec::new(), Vec::new(), true);
        while pieces.next_piece_of(SnapshotArray::Strings)? {
            is_undamaged &= are_strings_separated(pieces.piece_text(), roles.is_empty());
            let mut start = 0;
            for &end in &pieces.block.string_ends {
                let text = String::from_utf8_lossy(&pieces.block.string_text[start..end as usize]);
                units.push(text.encode_utf16().count() as u32);
                roles.push(role_bits_of_text(&text));
                start = end as usize;
            }
        }
        let scanner = &pieces.scanner;
        // Without a header there was an error.
        let layout = scanner.layout.clone().unwrap_or_default();
        let has_value = layout.node_kind_names.iter().map(|name| is_value_kind(name)).collect();
        let is_cut = !matches!(scanner.end_of_input, EndOfInput::Complete | EndOfInput::MissingLastBrace);
        let (has_data_after_end, strings_with_value_entry) = (scanner.has_data_after_end, Vec::new());
        let class_hashes = Vec::new();
        is_undamaged &= layout.edge_kind_names.iter().map(|name| &**name).eq(EDGE_KINDS)
            && layout
                .node_kind_names
                .iter()
                .zip(NODE_KINDS)
                .all(|(name, known)| name == known || !NODE_KINDS.contains(&&**name));
        let mut facts = SnapshotFacts {
            layout,
            kind_has_value: has_value,
            string_units: units,
            string_roles: roles,
            class_hashes,
            strings_with_value_entry,
            is_undamaged,
            has_v8_string_order: false,
            is_cut,
            has_data_after_end,
        };
        facts.find_damage_in_rows(file)?;
        facts.mark_roles_in_rows(file)?;
        facts.mark_keys_and_object_names(file)?;
        let is_both = |at: &u32| facts.string_roles[*at as usize] & role::VALUE != 0 && facts.is_kept_string(*at);
        facts.strings_with_value_entry = (0..facts.string_roles.len() as u32).filter(is_both).collect();
        Ok(facts)
    }

    /// Returns true if a string stays.
    pub(super) fn is_kept_string(&self, string: u32) -> bool {
        let Some(&role) = self.string_roles.get(string as usize).filter(|_| self.is_undamaged) else { return false };
        let has = |bits: u16| role & bits == bits;
        let is_word =
            has(role::IDENTIFIER | role::SLOT) || has(role::IDENTIFIER | role::PROPERTY) && !has(role::DICTIONARY_KEY);
        !has(role::HAS_CONTROL_CHARACTERS) && (has(role::NAME) || has(role::NAMES_PLAIN_OBJECT) || is_word)
    }

    /// Returns true for a node that is named by its value: a number may be by a word, `heap number`.
    pub(super) fn is_value_node(&self, kind: u8, name: u32) -> bool {
        let has_word = || self.is_numeric_kind(kind) && self.has_role(name, role::LOWERCASE_WORDS);
        self.kind_has_value.get(usize::from(kind)).is_none_or(|&has_value| has_value && !has_word())
    }

    fn is_numeric_kind(&self, kind: u8) -> bool {
        let name = self.layout.node_kind_names.get(usize::from(kind));
        name.is_some_and(|name| ["number", "bigint"].contains(&&name[..]))
    }

    /// UTF-16 units of a string.
    pub(super) fn string_units(&self, string: u32) -> usize {
        self.string_units.get(string as usize).map_or(0, |&units| units as usize)
    }

    /// The entry for values of a string that has a name's entry too.
    pub(super) fn value_entry_of(&self, string: u32) -> Option<u64> {
        let at = self.strings_with_value_entry.binary_search(&string).ok()?;
        Some(self.string_units.len() as u64 + at as u64)
    }

    fn mark_role(&mut self, string: u32, bits: u16) {
        match self.string_roles.get_mut(string as usize) {
            Some(role) => *role |= bits | role::USED,
            // Strings that are cut off are not there.
            None => self.is_undamaged &= self.is_cut,
        }
    }

    fn has_role(&self, string: u32, bits: u16) -> bool {
        self.string_roles.get(string as usize).is_some_and(|role| role & bits != 0)
    }

    /// Looks at all rows in the order of the file: whether the numbers are some, as many as the header says, and the strings
    /// in the order in which V8 numbers them. Marks the names of functions of stacks as names.
    fn find_damage_in_rows(&mut self, file: &DumpFile) -> Result<(), ReadError> {
        let mut pieces = SnapshotPieces::open(file, Some(&self.layout))?;
        let mut order =
            StringOrder { is_seen: vec![false; self.string_roles.len()], highest_seen_string: 0, break_count: 0 };
        let (mut nodes, mut edges, mut texts, mut odd_texts) = (0, 0, 0, 0);
        while pieces.next_piece_of_rows()? {
            let block = &pieces.block;
            self.is_undamaged &= block.bad_numbers == 0 && block.incomplete_rows == 0;
            nodes += block.nodes.names.len() as u64;
            edges += block.edges.labels.len() as u64;
            block.nodes.names.iter().for_each(|&name| order.note_string(name));
            let rows = block.nodes.kinds.iter().zip(&block.nodes.names).zip(&block.nodes.sizes);
            for ((_, &name), &size) in rows.filter(|((kind, _), _)| self.layout.kind(**kind) == NodeKind::String) {
                texts += 1;
                let units = self.string_units.get(name as usize).map_or(MAX_UNCUT_TEXT_UNITS, |&units| units as usize);
                let most = (MAX_STRING_HEADER_BYTES + 2 * units).max(MIN_OVERSIZED_STRING_BYTES);
                // Longer texts are cut.
                odd_texts += usize::from(units < MAX_UNCUT_TEXT_UNITS && usize::from(size) > most);
            }
            let has_name = |kind: u8| ![EdgeKind::Element as u8, EdgeKind::Hidden as u8].contains(&kind);
            block
                .edges
                .labels
                .iter()
                .filter(|(kind, _)| has_name(*kind))
                .for_each(|&(_, name)| order.note_string(name));
            for function in &block.functions {
                [function.name, function.script_name].into_iter().for_each(|name| order.note_string(name));
                [function.name, function.script_name].into_iter().for_each(|name| self.mark_role(name, role::NAME));
            }
        }
        let is_whole = |array| pieces.scanner.whole_arrays.contains(&array);
        let is_said = |said: Option<u64>, count, array| said.is_none_or(|said| said == count) || !is_whole(array);
        self.is_undamaged &= is_said(self.layout.node_count, nodes, SnapshotArray::Nodes)
            && is_said(self.layout.edge_count, edges, SnapshotArray::Edges);
        // Other writers number strings as they like; one that breaks V8's order now and then is V8, damaged.
        self.is_undamaged &=
            order.break_count == 0 || order.break_count > self.string_roles.len() / DAMAGE_SHARE_DIVISOR;
        self.has_v8_string_order = order.break_count == 0;
        // The same of strings that are larger than their texts would be: these have been moved.
        self.is_undamaged &= odd_texts == 0 || odd_texts > texts / DAMAGE_SHARE_DIVISOR;
        Ok(())
    }

    /// Marks what strings are in rows: names or values of nodes, properties, slots, variables.
    fn mark_roles_in_rows(&mut self, file: &DumpFile) -> Result<(), ReadError> {
        let mut rows = NodeAndEdgeRows::open(file, &self.layout)?;
        let mut properties = Vec::new();
        while let Some((kind, name, edges)) = rows.next_node()? {
            self.is_undamaged &= self.kind_has_value.len() > usize::from(kind);
            let is_value = self.is_value_node(kind, name);
            self.mark_role(name, if is_value { role::VALUE } else { role::NAME });
            let mut hasher = FxHasher::default();
            (kind, if is_value { 0 } else { name }).hash(&mut hasher);
            make_room(&mut self.class_hashes, 1);
            self.class_hashes.push((hasher.finish() >> 48) as u16);
            properties.clear();
            for _ in 0..edges {
                let Some((kind, name, _)) = rows.next_edge()? else { break };
                match kind {
                    EdgeKind::Property => properties.push(name),
                    EdgeKind::Internal => self.mark_role(name, role::NAME),
                    EdgeKind::Context | EdgeKind::Shortcut | EdgeKind::Weak => self.mark_role(name, role::SLOT),
                    EdgeKind::Element | EdgeKind::Hidden | EdgeKind::Other => {}
                }
            }
            let of_name = if properties.len() < MIN_DICTIONARY_PROPERTIES { role::PROPERTY } else { 0 };
            for &name in &properties {
                let again = if self.has_role(name, of_name) { role::REPEATED_PROPERTY } else { 0 };
                self.mark_role(name, of_name | again);
            }
        }
        // V8 writes no string that nothing uses: where the last one is such, a quote too many has moved all behind it.
        let is_last_used = self.string_roles.last().is_none_or(|role| role & role::USED != 0);
        self.is_undamaged &= rows.is_undamaged()? && (self.is_cut || is_last_used);
        Ok(())
    }

    /// Finds the keys of dictionaries, and the properties that name plain objects.
    fn mark_keys_and_object_names(&mut self, file: &DumpFile) -> Result<(), ReadError> {
        let mut rows = NodeAndEdgeRows::open(file, &self.layout)?;
        let (mut properties, mut unnamed, mut shapes) = (Vec::new(), Vec::new(), FxHashSet::default());
        // By node that is a map: whether objects with values have it, and whether others have.
        let mut holders = vec![0u8; self.class_hashes.len()];
        while let Some((kind, name, edges)) = rows.next_node()? {
            properties.clear();
            unnamed.clear();
            let holder = match self.layout.node_kind_names.get(usize::from(kind)).map_or("", |name| name) {
                "hidden" | "symbol" => 0,
                _ => 1 << u8::from(self.kind_has_value.get(usize::from(kind)).is_some_and(|has_value| *has_value)),
            };
            for _ in 0..edges {
                let Some((kind, name, to)) = rows.next_edge()? else { break };
                if kind == EdgeKind::Internal
                    && self.has_role(name, role::IS_TEXT_MAP)
                    && let Some(holders) = holders.get_mut(to as usize)
                {
                    *holders |= holder;
                }
                properties.extend((kind == EdgeKind::Property).then_some(name));
                if kind == EdgeKind::Property && !self.has_role(name, role::NAME) {
                    unnamed.push((self.class_hashes.get(to as usize).copied(), name));
                }
            }
            let unnamed_count = unnamed.len();
            unnamed.retain(|(_, name)| !self.has_role(*name, role::REPEATED_PROPERTY));
            unnamed.sort_unstable();
            let of_class = unnamed.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).max().unwrap_or(0);
            if of_class >= MIN_UNSHARED_DICTIONARY_PROPERTIES && 4 * of_class >= 3 * unnamed_count {
                unnamed.iter().for_each(|&(_, name)| self.mark_role(name, role::DICTIONARY_KEY));
            } else if self.layout.kind(kind) == NodeKind::Object && self.has_role(name, role::IS_TEXT_OBJECT) {
                let mut left = MAX_PLAIN_OBJECT_NAME_UNITS;
                let fits = |name: &&u32| {
                    let units = self.string_units(**name) as u32 + 2;
                    left.checked_sub(units).inspect(|&rest| left = rest).is_some()
                };
                let named_by = properties.iter().take_while(fits).count().max(1).min(properties.len());
                let mut hasher = FxHasher::default();
                properties[..named_by].hash(&mut hasher);
                if !shapes.insert(hasher.finish()) {
                    properties[..named_by].iter().for_each(|&name| self.mark_role(name, role::NAMES_PLAIN_OBJECT));
                }
            }
        }
        // V8's objects of one map are of one kind.
        self.is_undamaged &= !self.has_v8_string_order || holders.iter().all(|&holders| holders != 3);
        Ok(())
    }
}

/// Returns true for kinds of nodes whose names are what they hold, and for kinds that are not known.
fn is_value_kind(kind: &str) -> bool {
    let holds_one = ["string", "symbol", "regexp", "bigint", "number"].iter().any(|word| kind.contains(word));
    holds_one || !NODE_KINDS.contains(&kind)
}

/// Are there only commas and blanks between the strings, one comma for each but the first of all, and no control characters in
/// them?
fn are_strings_separated(bytes: &[u8], mut is_first: bool) -> bool {
    let mut at = 0;
    while let Some(begin) = memchr::memchr(b'"', &bytes[at..]).map(|found| at + found) {
        let end = end_of_string(bytes, begin + 1).unwrap_or(bytes.len());
        let is_comma = bytes[at..begin].trim_ascii() == if is_first { &b""[..] } else { b"," };
        if !is_comma || bytes[begin..end].iter().any(|&byte| byte < b' ') {
            return false;
        }
        (at, is_first) = (end, false);
    }
    bytes[at..].trim_ascii().is_empty()
}

/// Strings in the order in which they are met.
struct StringOrder {
    /// By string.
    is_seen: Vec<bool>,
    highest_seen_string: u32,
    /// Strings that were met first and are not those behind the last such.
    break_count: usize,
}

impl StringOrder {
    fn note_string(&mut self, string: u32) {
        // The first has no name's number.
        if let Some(is_seen) = self.is_seen.get_mut(string as usize).filter(|is_seen| !**is_seen && string > 0) {
            *is_seen = true;
            self.break_count += usize::from(string != self.highest_seen_string + 1);
            self.highest_seen_string = self.highest_seen_string.max(string);
        }
    }
}

fn role_bits_of_text(text: &str) -> u16 {
    let accessed = text.strip_prefix("get ").or_else(|| text.strip_prefix("set "));
    let symbol = text.strip_prefix("<symbol").and_then(|text| text.strip_suffix('>'));
    let is_symbol = symbol.is_some_and(|name| name.trim_start().split('.').all(is_identifier));
    let bit = |is_so: bool, role: u16| if is_so { role } else { 0 };
    bit(is_symbol || is_identifier(accessed.unwrap_or(text)), role::IDENTIFIER)
        | bit(text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b' '), role::LOWERCASE_WORDS)
        | bit(text.contains(char::is_control), role::HAS_CONTROL_CHARACTERS)
        | bit(text == "Object", role::IS_TEXT_OBJECT)
        | bit(text == "map", role::IS_TEXT_MAP)
}

/// Rows of nodes, and behind each those of its edges: two ways through one file.
struct NodeAndEdgeRows {
    node_pieces: SnapshotPieces,
    edge_pieces: SnapshotPieces,
    /// Of the pieces at hand: rows that were passed.
    node_index: usize,
    edge_index: usize,
    are_rows_whole: bool,
}

impl NodeAndEdgeRows {
    fn open(file: &DumpFile, layout: &Arc<SnapshotHeader>) -> Result<Self, ReadError> {
        let [nodes, edges] = [SnapshotPieces::open(file, Some(layout))?, SnapshotPieces::open(file, Some(layout))?];
        Ok(NodeAndEdgeRows {
            node_pieces: nodes,
            edge_pieces: edges,
            node_index: 0,
            edge_index: 0,
            are_rows_whole: true,
        })
    }

    /// Kind, name and number of edges of the next node.
    fn next_node(&mut self) -> Result<Option<(u8, u32, u32)>, ReadError> {
        while self.node_index == self.node_pieces.block.nodes.kinds.len() {
            self.note_damage(true);
            if !self.node_pieces.next_piece_of(SnapshotArray::Nodes)? {
                return Ok(None);
            }
            self.node_index = 0;
        }
        let (nodes, at) = (&self.node_pieces.block.nodes, self.node_index);
        self.node_index += 1;
        Ok(Some((nodes.kinds[at], nodes.names[at], nodes.edge_counts[at])))
    }

    /// Kind, name and target of the next edge.
    fn next_edge(&mut self) -> Result<Option<(EdgeKind, u32, u32)>, ReadError> {
        while self.edge_index == self.edge_pieces.block.edges.labels.len() {
            self.note_damage(false);
            if !self.edge_pieces.next_piece_of(SnapshotArray::Edges)? {
                // Edges that are cut off are not there.
                self.are_rows_whole &= !self.edge_pieces.scanner.whole_arrays.contains(&SnapshotArray::Edges);
                return Ok(None);
            }
            self.edge_index = 0;
        }
        let edges = &self.edge_pieces.block.edges;
        let ((kind, name), to) = (edges.labels[self.edge_index], edges.targets[self.edge_index]);
        self.are_rows_whole &= to != DANGLING_TARGET;
        self.edge_index += 1;
        Ok(Some((EdgeKind::ALL[usize::from(kind).min(EdgeKind::ALL.len() - 1)], name, to)))
    }

    /// Notes what was wrong with the piece that is passed.
    fn note_damage(&mut self, of_nodes: bool) {
        let block = if of_nodes { &self.node_pieces.block } else { &self.edge_pieces.block };
        self.are_rows_whole &= block.bad_numbers == 0 && block.incomplete_rows == 0;
    }

    /// All rows are whole, and each edge belongs to a node.
    fn is_undamaged(&mut self) -> Result<bool, ReadError> {
        let is_over = self.edge_index == self.edge_pieces.block.edges.labels.len()
            && !self.edge_pieces.next_piece_of(SnapshotArray::Edges)?;
        self.note_damage(false);
        Ok(self.are_rows_whole && is_over)
    }
}
