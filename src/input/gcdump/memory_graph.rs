//! The object `Graphs.MemoryGraph`: types, and for each node an offset into a blob of packed records, and an address.

use nom::Parser;
use nom::bytes::complete::take;
use nom::number::complete::{le_i32, le_i64, le_u32};
use rustc_hash::FxHashMap;

use super::serialization::{FoundObject, ObjectReader, Parsed, TaggedValue, TypeHead, end_tag, tagged_value, text};
use crate::graph::{BuildError, MemoryShare};

#[derive(Debug, Clone, Default)]
pub(super) struct DumpType {
    /// As in the dump; none where the maker left it to be looked up later.
    pub(super) name: Option<String>,
    /// Of objects that do not say theirs.
    pub(super) default_bytes: i32,
    pub(super) module: Option<String>,
}

/// A type with the places of its two texts, and its slot.
const MEMORY_BYTES_PER_TYPE: usize = size_of::<DumpType>() + 40;

/// The heap, still packed.
#[derive(Debug, Default)]
pub(super) struct MemoryGraph<'a> {
    pub(super) stated_total_bytes: i64,
    pub(super) root_index: i32,
    pub(super) types: Vec<DumpType>,
    /// u32 each.
    node_offsets: &'a [u8],
    pub(super) node_blob: &'a [u8],
    pub(super) blob_file_offset: usize,
    /// i64 each; fewer than nodes when the dump is cut.
    node_addresses: &'a [u8],
    pub(super) node_count: usize,
    pub(super) is_complete: bool,
    /// There was not the memory for the types.
    pub(super) types_error: Option<BuildError>,
}

/// A node's record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) type_index: usize,
    pub(super) bytes: u64,
    packed_children: &'a [u8],
    pub(super) child_count: usize,
    index: i32,
    /// Bytes of the record.
    pub(super) record_bytes: usize,
}

/// The record at a node's place.
#[derive(Debug)]
pub(super) enum NodeRecord<'a> {
    Node(Node<'a>),
    /// Referred to, never described.
    Undefined,
    Malformed,
}

impl<'a> MemoryGraph<'a> {
    /// Reads the fields as far as they are there; the rest of the file behind them, if they all are.
    pub(super) fn read(
        objects: &mut ObjectReader<'a>,
        head: &TypeHead,
        input: &'a [u8],
        share: &mut MemoryShare,
    ) -> (Self, Option<&'a [u8]>) {
        let mut graph = MemoryGraph::default();
        let rest = graph.read_fields(objects, head, input, share).ok().map(|(rest, ())| rest);
        graph.is_complete = rest.is_some();
        (graph, rest)
    }

    fn read_fields(
        &mut self,
        objects: &mut ObjectReader<'a>,
        head: &TypeHead,
        input: &'a [u8],
        share: &mut MemoryShare,
    ) -> Parsed<'a, ()> {
        let (rest, total) = le_i64(input)?;
        let (rest, root) = le_i32(rest)?;
        let (mut rest, types) = le_u32(rest)?;
        (self.stated_total_bytes, self.root_index) = (total, root);
        let mut type_bytes = 0;
        for _ in 0..types {
            let found;
            (rest, found) = type_record(rest)?;
            let texts = [&found.name, &found.module].map(|text| text.as_ref().map_or(0, String::len));
            type_bytes += MEMORY_BYTES_PER_TYPE + texts[0] + texts[1];
            if let Err(refused) = share.set_held_bytes(type_bytes as u64) {
                self.types_error = Some(refused);
                return Err(nom::Err::Error(()));
            }
            self.types.push(found);
        }
        let (rest, nodes) = le_u32(rest)?;
        let there = (nodes as usize).min(rest.len() / 4);
        self.node_count = there;
        self.node_offsets = &rest[..4 * there];
        let (rest, _) = take(4 * nodes as usize)(rest)?;
        let (rest, blob_bytes) = le_u32(rest)?;
        self.blob_file_offset = objects.offset(rest);
        self.node_blob = &rest[..rest.len().min(blob_bytes as usize)];
        let (mut rest, _) = take(blob_bytes)(rest)?;
        if head.min_reader_version >= 1 {
            (rest, ()) = self.read_deferred_type_names(objects, rest)?;
        }
        let (rest, addresses) = le_u32(rest)?;
        self.node_addresses = &rest[..rest.len().min(8 * addresses as usize) / 8 * 8];
        let (rest, _) = take(8 * addresses as usize)(rest)?;
        skip_past_end_tag(rest)
    }

    /// `i32 forward, i32 count, count x { i32 typeId, module, str suffix }, 06`: names for the first types, which have
    /// none (.NET Native).
    fn read_deferred_type_names(&mut self, objects: &mut ObjectReader<'a>, input: &'a [u8]) -> Parsed<'a, ()> {
        let (rest, _) = le_i32(input)?;
        let (mut rest, count) = le_u32(rest)?;
        let mut modules: FxHashMap<u32, Option<String>> = FxHashMap::default();
        for at in 0..count as usize {
            let (id, found, suffix);
            (rest, id) = le_u32(rest)?;
            (rest, found) = objects.object_start(rest)?;
            let module = match found {
                FoundObject::Null => None,
                FoundObject::BackReference(offset) => modules.get(&offset).cloned().flatten(),
                FoundObject::Begun(_, offset) => {
                    let path;
                    (rest, path) = path_of_module_record(rest)?;
                    modules.insert(offset, path.clone());
                    path
                }
            };
            (rest, suffix) = text(rest)?;
            if let Some(known) = self.types.get_mut(at).filter(|known| known.name.is_none()) {
                known.name = Some(format!("TypeID({id:#x}){}", suffix.unwrap_or_default()));
                known.module = module;
            }
        }
        end_tag(rest)
    }

    /// Offset of the node's record in the blob; 0 where there is none.
    pub(super) fn node_offset_in_blob(&self, index: usize) -> usize {
        self.node_offsets.as_chunks::<4>().0.get(index).map_or(0, |bytes| u32::from_le_bytes(*bytes)) as usize
    }

    /// The node's record. O(its children).
    pub(super) fn record(&self, index: usize) -> NodeRecord<'a> {
        let offset = self.node_offset_in_blob(index);
        if offset == 0 {
            return NodeRecord::Undefined;
        }
        self.node_at(offset, index as i32).map_or(NodeRecord::Malformed, NodeRecord::Node)
    }

    fn node_at(&self, offset: usize, index: i32) -> Option<Node<'a>> {
        let record = self.node_blob.get(offset..)?;
        let mut at = 0;
        let head = read_compressed_number(record, &mut at)?;
        let type_index = usize::try_from(head >> 1).ok()?;
        let own = if head & 1 != 0 {
            read_compressed_number(record, &mut at)?
        } else {
            self.types.get(type_index)?.default_bytes
        };
        self.types.get(type_index)?;
        let child_count = usize::try_from(read_compressed_number(record, &mut at)?).ok()?;
        let children = &record[at..];
        let length = at + bytes_of_compressed_numbers(children, child_count)?;
        Some(Node {
            type_index,
            bytes: u64::try_from(own).ok()?,
            packed_children: children,
            child_count,
            index,
            record_bytes: length,
        })
    }

    pub(super) fn type_name_of_node(&self, index: usize) -> Option<&str> {
        match self.record(index) {
            NodeRecord::Node(node) => self.types[node.type_index].name.as_deref(),
            _ => None,
        }
    }

    /// The node's address: 0 where the node is no object, none where it is cut off.
    pub(super) fn address(&self, index: usize) -> Option<u64> {
        self.node_addresses.as_chunks::<8>().0.get(index).map(|bytes| u64::from_le_bytes(*bytes))
    }
}

impl Node<'_> {
    /// Indices of what the node refers to, as they stand: they may be of no node.
    pub(super) fn children(&self) -> impl Iterator<Item = i32> + '_ {
        let mut at = 0;
        (0..self.child_count).map_while(move |_| {
            read_compressed_number(self.packed_children, &mut at).map(|step| step.wrapping_add(self.index))
        })
    }
}

/// Bytes that so many numbers take, if they are all there: each ends with a byte without the high bit.
fn bytes_of_compressed_numbers(numbers: &[u8], count: usize) -> Option<usize> {
    if count == 0 {
        return Some(0);
    }
    if count > numbers.len() {
        return None;
    }
    let mut left = count;
    for (at, byte) in numbers.iter().enumerate() {
        left -= usize::from(byte & 0x80 == 0);
        if left == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// A signed number in one to five bytes: groups of seven bits, the highest first; its first bit is the sign.
#[inline]
fn read_compressed_number(bytes: &[u8], at: &mut usize) -> Option<i32> {
    let mut byte = *bytes.get(*at)?;
    *at += 1;
    let mut value = i32::from((byte << 1) as i8 >> 1);
    let mut left = 4;
    while byte & 0x80 != 0 {
        if left == 0 {
            return None;
        }
        left -= 1;
        byte = *bytes.get(*at)?;
        *at += 1;
        value = value.wrapping_shl(7) | i32::from(byte & 0x7F);
    }
    Some(value)
}

/// `str name, i32 bytes, str module`.
fn type_record(input: &[u8]) -> Parsed<'_, DumpType> {
    let (rest, (name, bytes, module)) = (text, le_i32, text).parse(input)?;
    Ok((rest, DumpType { name, default_bytes: bytes, module }))
}

/// `str path, i64 base, i32 bytes, i64 built, str pdb, 16 bytes, i32 age`, and its end.
fn path_of_module_record(input: &[u8]) -> Parsed<'_, Option<String>> {
    let (rest, (path, ..)) = (text, take(20usize), text, take(20usize), skip_past_end_tag).parse(input)?;
    Ok((rest, path))
}

/// Skips what newer writers put behind an object's fields.
pub(super) fn skip_past_end_tag(input: &[u8]) -> Parsed<'_, ()> {
    let mut rest = input;
    loop {
        let value;
        (rest, value) = tagged_value(rest)?;
        match value {
            TaggedValue::End => return Ok((rest, ())),
            TaggedValue::ObjectFollows => return Err(nom::Err::Error(())),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read_compressed_number;

    #[test]
    fn packed_numbers() {
        for (bytes, value) in [
            (&[0x00][..], 0),
            (&[0x3F], 63),
            (&[0x40], -64),
            (&[0x80, 0x40], 64),
            (&[0xFF, 0x00], -128),
            (&[0x87, 0xFF, 0xFF, 0xFF, 0x7F], i32::MAX),
            (&[0xF8, 0x80, 0x80, 0x80, 0x00], i32::MIN),
        ] {
            let mut at = 0;
            assert_eq!(read_compressed_number(bytes, &mut at), Some(value), "{bytes:x?}");
            assert_eq!(at, bytes.len());
        }
        assert_eq!(read_compressed_number(&[0x80; 6], &mut 0), None);
        assert_eq!(read_compressed_number(&[0x80], &mut 0), None);
    }
}
