//! Long arrays of an event, read in one go before the rest of it: entries of heaps, rows and columns of `heaps_v2`.
//!
//! ```text
//! {"heaps":{"malloc":{"entries":[{"bt":"0","size":"9860"},...]}}}   becomes
//! {"heaps":{"malloc":{"entries":9731406582000000000}}}              and the entries
//! ```
//!
//! Only arrays of the JSON subset of `simple_json` are extracted; a number that the event has nowhere else takes the place
//! of each. Anything else stays where it is, for serde_json to read or to find fault with.

use memchr::{memchr, memmem};

use super::event_dumps::NodeOrTypeRow;
use super::raw_ids::RawEntry;
use super::simple_json::SimpleJsonCursor;

/// The number in the place of the first array; those of the others follow.
const PLACEHOLDER_BASE: u64 = 9_731_406_582_000_000_000;
/// The digits that the numbers in the places of all arrays begin with.
const PLACEHOLDER_DIGITS: &[u8] = b"9731406582";

/// An array that was cut out of an event's JSON.
#[derive(Debug, PartialEq)]
pub(super) enum ExtractedArray {
    /// `entries`
    Entries(Vec<RawEntry>),
    /// `strings`
    StringRows(StringRows),
    /// `nodes` and `types`.
    NodeOrTypeRows(Vec<NodeOrTypeRow>),
    /// A column.
    ColumnNumbers(Vec<u64>),
}

/// One array `strings`: ids and their texts, in one buffer.
#[derive(Debug, Default, PartialEq)]
pub(super) struct StringRows {
    /// (id, end of its text)
    rows: Vec<(u64, usize)>,
    text: String,
}

impl StringRows {
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &str)> {
        let starts = std::iter::once(0).chain(self.rows.iter().map(|&(_, end)| end));
        self.rows.iter().zip(starts).map(|(&(id, end), start)| (id, &self.text[start..end]))
    }
}

/// Arrays that were cut out of an event's JSON, by the number that stands in their place.
#[derive(Default)]
pub(super) struct ExtractedArrays(Vec<Option<ExtractedArray>>);

impl ExtractedArrays {
    /// The array that a number stands for, once.
    pub(super) fn take(&mut self, number: u64) -> Option<ExtractedArray> {
        self.0.get_mut(usize::try_from(number.checked_sub(PLACEHOLDER_BASE)?).ok()?)?.take()
    }
}

/// The event without its long arrays, and those; `None` when there is nothing to extract.
pub(super) fn extract_arrays(json: &[u8]) -> Option<(Vec<u8>, ExtractedArrays)> {
    let (mut rest, mut arrays) = (Vec::new(), ExtractedArrays::default());
    let (mut kept, mut at) = (0, 0);
    while let Some(found) = memchr(b'[', &json[at..]) {
        let start = at + found;
        at = start + 1;
        let mut cursor = SimpleJsonCursor::new(json, at);
        let array = key_before(&json[..start]).and_then(|key| cursor.read_array(key));
        // What follows must not become a part of the number.
        let is_apart = |next: &u8| matches!(next, b',' | b'}' | b']') || next.is_ascii_whitespace();
        if let Some(array) = array.filter(|_| json.get(cursor.offset).is_none_or(is_apart)) {
            rest.extend(&json[kept..start]);
            rest.extend((PLACEHOLDER_BASE + arrays.0.len() as u64).to_string().as_bytes());
            arrays.0.push(Some(array));
            (kept, at) = (cursor.offset, cursor.offset);
        }
    }
    rest.extend(&json[kept..]);
    let placeholders = memmem::find_iter(&rest, PLACEHOLDER_DIGITS).count();
    (!arrays.0.is_empty() && placeholders == arrays.0.len()).then_some((rest, arrays))
}

/// The key that a value at the end of `text` belongs to, if it is one of those that matter. In valid JSON the first quote
/// cannot be the end of a string, nor one inside: nothing but a key is followed by a colon and preceded by these.
fn key_before(text: &[u8]) -> Option<ArrayKey> {
    let text = text.trim_ascii_end().strip_suffix(b":")?.trim_ascii_end().strip_suffix(b"\"")?;
    let (key, text) = ARRAY_KEYS.iter().find_map(|&(name, key)| Some((key, text.strip_suffix(name)?)))?;
    let before = text.strip_suffix(b"\"")?.last()?;
    matches!(before, b'{' | b',' | b' ' | b'\n' | b'\r' | b'\t').then_some(key)
}

/// Keys of the arrays that are cut out.
#[derive(Clone, Copy)]
enum ArrayKey {
    Entries,
    Strings,
    /// Rows of a map, or a column.
    NodesOrTypes,
    NumberColumn,
}

const ARRAY_KEYS: [(&[u8], ArrayKey); 6] = [
    (b"entries", ArrayKey::Entries),
    (b"strings", ArrayKey::Strings),
    (b"nodes", ArrayKey::NodesOrTypes),
    (b"types", ArrayKey::NodesOrTypes),
    (b"sizes", ArrayKey::NumberColumn),
    (b"counts", ArrayKey::NumberColumn),
];

impl SimpleJsonCursor<'_> {
    /// The array behind its bracket.
    fn read_array(&mut self, key: ArrayKey) -> Option<ExtractedArray> {
        match key {
            ArrayKey::Entries => {
                let mut entries = Vec::new();
                self.for_each_element(|json| json.heap_entry().map(|entry| entries.push(entry)))?;
                Some(ExtractedArray::Entries(entries))
            }
            ArrayKey::Strings => {
                let mut texts = StringRows::default();
                self.for_each_element(|json| json.add_string_row(&mut texts))?;
                Some(ExtractedArray::StringRows(texts))
            }
            ArrayKey::NodesOrTypes if self.peek()? == b'{' => {
                let mut rows = Vec::new();
                self.for_each_element(|json| json.node_or_type_row().map(|row| rows.push(row)))?;
                Some(ExtractedArray::NodeOrTypeRows(rows))
            }
            ArrayKey::NodesOrTypes | ArrayKey::NumberColumn => {
                let mut numbers = Vec::new();
                self.for_each_element(|json| json.number().map(|number| numbers.push(number)))?;
                Some(ExtractedArray::ColumnNumbers(numbers))
            }
        }
    }

    /// An entry of a heap.
    fn heap_entry(&mut self) -> Option<RawEntry> {
        let (mut backtrace, mut type_id, mut bytes, mut allocations) = (None, None, None, None);
        // Of an id that comes twice the first gets a name too, in the rest.
        let mut is_repeated = false;
        self.expect(b'{')?;
        loop {
            self.expect(b'"')?;
            // All of a key at once: there are millions.
            match self.remaining() {
                [b'b', b't', b'"', ..] => {
                    self.pass_key(2)?;
                    is_repeated |= backtrace.replace(self.id()?).is_some();
                }
                [b't', b'y', b'p', b'e', b'"', ..] => {
                    self.pass_key(4)?;
                    is_repeated |= type_id.replace(self.id()?).is_some();
                }
                [b's', b'i', b'z', b'e', b'"', ..] => {
                    self.pass_key(4)?;
                    bytes = Some(self.hex()?);
                }
                [b'c', b'o', b'u', b'n', b't', b'"', ..] => {
                    self.pass_key(5)?;
                    allocations = Some(self.hex()?);
                }
                _ => return None,
            }
            match self.next()? {
                b',' => {}
                b'}' => return (!is_repeated).then(|| RawEntry::new(backtrace, type_id, bytes, allocations)),
                _ => return None,
            }
        }
    }

    /// Adds a row of `strings`.
    fn add_string_row(&mut self, texts: &mut StringRows) -> Option<()> {
        let (mut id, mut text) = (None, None);
        self.for_each_member(|json, key| {
            match key {
                b"id" => id = Some(json.number()?),
                b"string" => {
                    json.expect(b'"')?;
                    text = Some(str::from_utf8(json.string()?).ok()?);
                }
                _ => return None,
            }
            Some(())
        })?;
        texts.text.push_str(text?);
        texts.rows.push((id?, texts.text.len()));
        Some(())
    }

    /// A row of `nodes` or `types`.
    fn node_or_type_row(&mut self) -> Option<NodeOrTypeRow> {
        let (mut id, mut name, mut parent) = (None, None, None);
        self.for_each_member(|json, key| {
            match key {
                b"id" => id = Some(json.number()?),
                b"name_sid" => name = Some(json.number()?),
                b"parent" => parent = Some(json.number()?),
                _ => return None,
            }
            Some(())
        })?;
        Some(NodeOrTypeRow { id: id?, name_sid: name?, parent })
    }
}

#[cfg(test)]
mod tests;
