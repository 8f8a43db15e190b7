//! One piece of an array as columns: what a thread parses.

use std::sync::Arc;

use super::layout::{EdgeFieldPositions, EdgeKind, MAX_FIELDS, NodeFieldPositions, RowFieldPositions, SnapshotHeader};
use super::numbers::NumberReader;
use super::scan::{PieceContext, SnapshotArray, end_of_string};
use crate::graph::{PackedBytes, SourcePlace};
use crate::input::blocks::ParsedBlockContent;

/// Stands for an edge that leads to no node.
pub(crate) const DANGLING_TARGET: u32 = u32::MAX;
/// Marks a size that is among the large ones.
pub(crate) const LARGE_SIZE_MARK: u16 = u16::LARGE_MARK;

/// Rows of nodes, in columns.
#[derive(Debug, Default)]
pub(crate) struct NodeColumns {
    /// By the header's numbers.
    pub(crate) kinds: Vec<u8>,
    /// Indices of strings.
    pub(crate) names: Vec<u32>,
    pub(crate) ids: Vec<u64>,
    /// Bytes of each, or `LARGE_SIZE_MARK`.
    pub(crate) sizes: Vec<u16>,
    /// (node of the piece, bytes).
    pub(crate) large_sizes: Vec<(u32, u64)>,
    pub(crate) edge_counts: Vec<u32>,
    /// (node of the piece, state), where there is one.
    pub(crate) detachedness: Vec<(u32, u8)>,
    /// (node of the piece, id of the stack that allocated it), where it is known.
    pub(crate) stack_ids: Vec<(u32, u32)>,
}

/// A function of a stack: names are indices of strings, line and column from 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TraceFunction {
    pub(crate) name: u32,
    pub(crate) script_name: u32,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Rows of edges, in columns.
#[derive(Debug, Default)]
pub(crate) struct EdgeColumns {
    /// The kind of each, and the index of its name or its number.
    pub(crate) labels: Vec<(u8, u32)>,
    /// Ordinals of nodes, or [`DANGLING_TARGET`].
    pub(crate) targets: Vec<u32>,
}

/// The parsed content of a piece; of one region at a time. Who takes it leaves it empty.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// The array that the piece is of.
    pub(crate) region: SnapshotArray,
    /// The header, where it came before.
    pub(crate) layout: Option<Arc<SnapshotHeader>>,
    /// Of the piece, in the input.
    pub(crate) offset: u64,
    pub(crate) nodes: NodeColumns,
    pub(crate) edges: EdgeColumns,
    /// (ordinal, place in a script).
    pub(crate) locations: Vec<(u32, SourcePlace)>,
    pub(crate) functions: Vec<TraceFunction>,
    /// (time in microseconds, last id that was given until then).
    pub(crate) samples: Vec<(u64, u64)>,
    /// Strings behind one another, and where each ends.
    pub(crate) string_text: Vec<u8>,
    pub(crate) string_ends: Vec<u32>,
    /// Numbers of a piece before the header.
    pub(crate) numbers_before_header: Vec<i64>,
    /// Values that are no numbers, or out of their range.
    pub(crate) bad_numbers: u64,
    /// Rows that end before their last value.
    pub(crate) incomplete_rows: u64,
}

impl ParsedBlockContent for Block {
    fn memory_bytes(&self) -> usize {
        let NodeColumns { kinds, names, ids, sizes, large_sizes: large, edge_counts, detachedness, stack_ids: stacks } =
            &self.nodes;
        let nodes = kinds.capacity()
            + 4 * (names.capacity() + edge_counts.capacity())
            + 2 * sizes.capacity()
            + 8 * (ids.capacity() + detachedness.capacity() + stacks.capacity())
            + 16 * large.capacity();
        let edges = 8 * self.edges.labels.capacity() + 4 * self.edges.targets.capacity();
        let rest = 16 * (self.locations.capacity() + self.functions.capacity() + self.samples.capacity())
            + self.string_text.capacity()
            + 4 * self.string_ends.capacity()
            + 8 * self.numbers_before_header.capacity();
        nodes + edges + rest
    }
}

impl Block {
    /// Parses a piece into the columns of its region.
    pub(crate) fn parse(&mut self, bytes: &[u8], context: &PieceContext) {
        (self.region, self.offset) = (context.region, context.offset);
        self.layout.clone_from(&context.layout);
        match (context.region, &context.layout) {
            (SnapshotArray::Strings, _) => self.parse_strings(bytes),
            (region, Some(layout)) => {
                let mut numbers = NumberReader::new(bytes);
                self.parse_rows(region, layout, context.value_count, &mut numbers);
                self.bad_numbers += numbers.bad_numbers;
            }
            (_, None) => {
                let mut numbers = NumberReader::new(bytes);
                self.numbers_before_header.reserve(context.value_count);
                self.numbers_before_header.extend(&mut numbers);
                self.bad_numbers += numbers.bad_numbers;
            }
        }
    }

    /// Takes the rows of a region from numbers, of which there are about `values`.
    pub(crate) fn parse_rows(
        &mut self,
        region: SnapshotArray,
        layout: &SnapshotHeader,
        values: usize,
        numbers: &mut impl Iterator<Item = i64>,
    ) {
        match region {
            SnapshotArray::Nodes => self.parse_node_rows(layout.node_fields, values, numbers),
            SnapshotArray::Edges => self.parse_edge_rows(layout, layout.edge_fields, values, numbers),
            SnapshotArray::Locations => {
                let Some(fields) = layout.location_fields else { return };
                while let Some([object, place @ ..]) = next_fields(fields, numbers, &mut self.incomplete_rows) {
                    let object = u64::try_from(object).unwrap_or(u64::MAX) / layout.node_fields.width as u64;
                    let [script, line, column] = place.map(to_u32_index);
                    let place = SourcePlace { script_number: script, line, column };
                    self.locations.push((u32::try_from(object).unwrap_or(DANGLING_TARGET), place));
                }
            }
            SnapshotArray::Functions => {
                let Some(fields) = layout.function_fields else { return };
                while let Some(values) = next_fields(fields, numbers, &mut self.incomplete_rows) {
                    let [name, script_name, line, column] = values.map(to_u32_index);
                    self.functions.push(TraceFunction { name, script_name, line, column });
                }
            }
            SnapshotArray::Samples => {
                let Some(fields) = layout.sample_fields else { return };
                while let Some(values) = next_fields(fields, numbers, &mut self.incomplete_rows) {
                    self.samples.push(values.map(|value| u64::try_from(value).unwrap_or(0)).into());
                }
            }
            SnapshotArray::Strings => {}
        }
    }

    fn parse_node_rows(&mut self, fields: NodeFieldPositions, values: usize, numbers: &mut impl Iterator<Item = i64>) {
        let rows = values / fields.width;
        let nodes = &mut self.nodes;
        nodes.kinds.reserve(rows);
        nodes.names.reserve(rows);
        nodes.ids.reserve(rows);
        nodes.sizes.reserve(rows);
        nodes.edge_counts.reserve(rows);
        let mut row = [0; MAX_FIELDS];
        let mut bad = 0;
        while fill_next_row(&mut row[..fields.width], numbers, &mut self.incomplete_rows) {
            let mut narrow = |value: i64| {
                u32::try_from(value).unwrap_or_else(|_| {
                    bad += 1;
                    0
                })
            };
            nodes.kinds.push(u8::try_from(row[fields.kind]).unwrap_or(u8::MAX));
            // A name is an index; what is out of range is past all strings.
            nodes.names.push(u32::try_from(row[fields.name]).unwrap_or(u32::MAX));
            nodes.edge_counts.push(narrow(row[fields.edge_count]));
            let size = u64::try_from(row[fields.self_size]).unwrap_or_else(|_| {
                bad += 1;
                0
            });
            nodes.sizes.push(u16::packed(size, nodes.sizes.len(), &mut nodes.large_sizes));
            let state = fields.detachedness.map_or(0, |place| row[place]);
            if state == 1 || state == 2 {
                nodes.detachedness.push((nodes.ids.len() as u32, state as u8));
            }
            let stack = fields.trace_node_id.map_or(0, |place| row[place]);
            if let Some(stack) = u32::try_from(stack).ok().filter(|&stack| stack > 0) {
                nodes.stack_ids.push((nodes.ids.len() as u32, stack));
            }
            nodes.ids.push(u64::try_from(row[fields.id]).unwrap_or_else(|_| {
                bad += 1;
                0
            }));
        }
        self.bad_numbers += bad;
    }

    fn parse_edge_rows(
        &mut self,
        layout: &SnapshotHeader,
        fields: EdgeFieldPositions,
        values: usize,
        numbers: &mut impl Iterator<Item = i64>,
    ) {
        let rows = values / fields.width;
        let edges = &mut self.edges;
        edges.labels.reserve(rows);
        edges.targets.reserve(rows);
        let mut kinds = [EdgeKind::Other as u8; 256];
        for (number, &kind) in layout.edge_kinds.iter().enumerate() {
            kinds[number] = kind as u8;
        }
        let width = layout.node_fields.width as u32;
        let mut take = |kind: i64, name: i64, to: i64| {
            let kind = kinds[usize::from(u8::try_from(kind).unwrap_or(u8::MAX))];
            // Indices of 2^31 and more are printed as if they had a sign.
            edges.labels.push((kind, name as u32));
            edges.targets.push(match u32::try_from(to) {
                // One that is not on a row's start leads nowhere.
                Ok(to) => {
                    if to % width == 0 {
                        to / width
                    } else {
                        DANGLING_TARGET
                    }
                }
                // Flat indices need not fit 32 bits.
                Err(_) => match u64::try_from(to).ok().filter(|to| to % u64::from(width) == 0) {
                    Some(to) => u32::try_from(to / u64::from(width)).unwrap_or(DANGLING_TARGET),
                    None => DANGLING_TARGET,
                },
            });
        };
        // What all writers so far write: three values in this order.
        if (fields.width, fields.kind, fields.name, fields.target) == (3, 0, 1, 2) {
            let mut row = [0; 3];
            while fill_next_row(&mut row, numbers, &mut self.incomplete_rows) {
                take(row[0], row[1], row[2]);
            }
        } else {
            let mut row = [0; MAX_FIELDS];
            while fill_next_row(&mut row[..fields.width], numbers, &mut self.incomplete_rows) {
                take(row[fields.kind], row[fields.name], row[fields.target]);
            }
        }
    }

    /// Takes whole strings.
    fn parse_strings(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while let Some(begin) = memchr::memchr(b'"', &bytes[at..]).map(|found| at + found + 1) {
            // The scanner cut behind a closing quote.
            let end = end_of_string(bytes, begin).unwrap_or(bytes.len() + 1);
            push_unescaped(&bytes[begin..end - 1], &mut self.string_text);
            self.string_ends.push(self.string_text.len() as u32);
            at = end.min(bytes.len());
        }
    }
}

/// An index, a line or a column; what is none is past all of them.
fn to_u32_index(value: i64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Some fields of the next row; `None` when there is none any more.
#[inline(always)]
fn next_fields<const N: usize>(
    fields: RowFieldPositions<N>,
    numbers: &mut impl Iterator<Item = i64>,
    incomplete: &mut u64,
) -> Option<[i64; N]> {
    let mut row = [0; MAX_FIELDS];
    fill_next_row(&mut row[..fields.width], numbers, incomplete).then(|| fields.positions.map(|place| row[place]))
}

/// Fills a row; false when there is none any more.
#[inline(always)]
fn fill_next_row(row: &mut [i64], numbers: &mut impl Iterator<Item = i64>, incomplete: &mut u64) -> bool {
    let width = row.len();
    for (at, value) in row.iter_mut().enumerate() {
        match numbers.next() {
            Some(number) => *value = number,
            None => {
                *incomplete += u64::from(at > 0 && at < width);
                return false;
            }
        }
    }
    true
}

/// Appends the text of a JSON string without its quotes; what is no text becomes U+FFFD.
pub(crate) fn push_unescaped(raw: &[u8], out: &mut Vec<u8>) {
    if memchr::memchr(b'\\', raw).is_none() {
        return push_lossy(raw, out);
    }
    let mut at = 0;
    while at < raw.len() {
        let Some(found) = memchr::memchr(b'\\', &raw[at..]) else {
            return push_lossy(&raw[at..], out);
        };
        push_lossy(&raw[at..at + found], out);
        at += found + 2;
        let mut buffer = [0; 4];
        let character = match raw.get(at - 1) {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'u') => {
                let unit = utf16_unit(raw, at);
                at += 4;
                match unit {
                    Some(high @ 0xd800..0xdc00) if raw.get(at..at + 2) == Some(b"\\u") => {
                        match self::utf16_unit(raw, at + 2) {
                            Some(low @ 0xdc00..0xe000) => {
                                at += 6;
                                char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
                            }
                            _ => None,
                        }
                    }
                    unit => unit.and_then(char::from_u32),
                }
                .unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            Some(&other) if other.is_ascii() => other.into(),
            _ => char::REPLACEMENT_CHARACTER,
        };
        out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
    }
}

/// The unit that four hexadecimal digits are.
fn utf16_unit(raw: &[u8], at: usize) -> Option<u32> {
    let digits = std::str::from_utf8(raw.get(at..at + 4)?).ok()?;
    u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
}

fn push_lossy(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.is_ascii() {
        out.extend_from_slice(bytes);
    } else {
        out.extend_from_slice(String::from_utf8_lossy(bytes).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_whatever_they_hold() {
        let cases: [(&[u8], &str); 7] = [
            (b"plain", "plain"),
            (br#"a\n\t\"\\\/\b\f"#, "a\n\t\"\\/\u{8}\u{c}"),
            (br"w\u00F6rld \uD83D\uDE00", "wörld 😀"),
            (br"\ud800x\udc00", "\u{fffd}x\u{fffd}"),
            (br"\u12", "\u{fffd}"),
            ("schön".as_bytes(), "schön"),
            (b"a\xffb", "a\u{fffd}b"),
        ];
        for (raw, text) in cases {
            let mut out = Vec::new();
            push_unescaped(raw, &mut out);
            assert_eq!(String::from_utf8(out).as_deref(), Ok(text));
        }
    }
}
