//! Payloads of the heap's events. Counts are never believed: what does not fit the payload is not there.

use std::ops::Range;

use nom::Parser;
use nom::bytes::complete::take;
use nom::number::complete::{le_u8, le_u16, le_u32, le_u64};

use super::primitives::{Parsed, address_at, length_prefixed_utf8, u32_at, u64_at, utf16z, varu64};
use super::snapshots::HeapEventKind;
use crate::graph::{Generation, GenerationRange};

/// A root: what holds an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct RootEdge {
    pub(super) object: u64,
    /// As the event has it: 0 local, 1 finalizer, 2 and 4 handle, 3 of the runtime, 5 other.
    pub(super) kind: u8,
    pub(super) flags: u32,
    /// Of a local: its method. Of a handle: its address.
    pub(super) root_id: u64,
}

/// A dependent handle: the value lives as long as the key.
#[derive(Debug, Clone, Copy)]
pub(super) struct DependentHandle {
    pub(super) key: u64,
    pub(super) value: u64,
}

/// A static field that holds an object.
#[derive(Debug, Clone)]
pub(super) struct StaticRoot {
    pub(super) object: u64,
    /// 1: each thread has its own.
    pub(super) flags: u32,
    /// In the collector's buffer of names.
    pub(super) name: Range<usize>,
}

/// An object that COM code refers to.
#[derive(Debug, Clone, Copy)]
pub(super) struct ComReference {
    pub(super) object: u64,
    pub(super) reference_count: u32,
    /// 1: it is held strongly.
    pub(super) flags: u32,
}

/// Rows that an event added; not complete when the event is shorter than it says.
#[derive(Debug)]
pub(super) struct AddedRows {
    pub(super) rows: Range<usize>,
    pub(super) is_complete: bool,
}

/// An event of many entries: its number, how many it says there are, and their bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct BulkHead<'a> {
    pub(super) index: u32,
    pub(super) count: u32,
    pub(super) entries: &'a [u8],
}

/// The value that was parsed, whatever follows.
fn parsed<T>(result: Parsed<'_, T>) -> Result<T, ()> {
    result.map(|(_, value)| value).map_err(|_| ())
}

/// The number most events begin with.
pub(super) fn first_number(payload: &[u8]) -> Result<u32, ()> {
    parsed(le_u32(payload))
}

/// `u32 count, u32 generation, u32 reason, u32 type, u16 clr`; version 0: `u32 count, u32 reason`. Type 0 stops the program.
pub(super) fn gc_start(payload: &[u8], version: u32) -> Result<HeapEventKind, ()> {
    let count = first_number(payload)?;
    let may_hold_snapshot = version == 0 || payload.len() < 18 || (u32_at(payload, 4) >= 2 && u32_at(payload, 12) == 0);
    Ok(HeapEventKind::CollectionStart { collection_number: count, may_hold_snapshot })
}

/// `u32 index, u32 count, u16 clr`, entries.
pub(super) fn bulk_head(payload: &[u8]) -> Result<BulkHead<'_>, ()> {
    let (entries, (index, count, _)) = (le_u32, le_u32, le_u16).parse(payload).map_err(|_: nom::Err<()>| ())?;
    Ok(BulkHead { index, count, entries })
}

/// Entries of one length, at most `count`; and whether that many are available.
fn entries(input: &[u8], count: u32, length: usize) -> (impl Iterator<Item = &[u8]>, bool) {
    let available = input.len() / length;
    (input.chunks_exact(length).take(count as usize), available >= count as usize)
}

/// Entries `A object, u8 kind, u32 flags, A rootId`.
pub(super) fn root_edges(payload: &[u8], pointer: usize, roots: &mut Vec<RootEdge>) -> Result<(u32, AddedRows), ()> {
    let head = bulk_head(payload)?;
    let first = roots.len();
    let (entries, complete) = entries(head.entries, head.count, 2 * pointer + 5);
    roots.extend(entries.map(|entry| RootEdge {
        object: address_at(entry, 0, pointer),
        kind: entry[pointer],
        flags: u32_at(entry, pointer + 1),
        root_id: address_at(entry, pointer + 5, pointer),
    }));
    Ok((head.index, AddedRows { rows: first..roots.len(), is_complete: complete }))
}

/// Entries `A key, A value, A rootId`.
pub(super) fn dependent_handles(
    payload: &[u8],
    pointer: usize,
    found: &mut Vec<DependentHandle>,
) -> Result<(u32, AddedRows), ()> {
    let head = bulk_head(payload)?;
    let first = found.len();
    let (entries, complete) = entries(head.entries, head.count, 3 * pointer);
    found.extend(entries.map(|entry| DependentHandle {
        key: address_at(entry, 0, pointer),
        value: address_at(entry, pointer, pointer),
    }));
    Ok((head.index, AddedRows { rows: first..found.len(), is_complete: complete }))
}

/// `u32 count, u64 appDomain, u16 clr`, entries `u64 rootId, u64 object, u64 typeId, u32 flags, ustr field`.
pub(super) fn static_roots(payload: &[u8], found: &mut Vec<StaticRoot>, names: &mut Vec<u8>) -> Result<AddedRows, ()> {
    let count = first_number(payload)?;
    let mut rest = payload.get(14..).ok_or(())?;
    let first = found.len();
    for _ in 0..count {
        let Ok((after, (object, flags, name))) = static_field(rest) else {
            return Ok(AddedRows { rows: first..found.len(), is_complete: false });
        };
        let start = names.len();
        names.extend_from_slice(name);
        found.push(StaticRoot { object, flags, name: start..names.len() });
        rest = after;
    }
    Ok(AddedRows { rows: first..found.len(), is_complete: true })
}

fn static_field(input: &[u8]) -> Parsed<'_, (u64, u32, &[u8])> {
    let (rest, (_, object, _, flags, name)) = (le_u64, le_u64, le_u64, le_u32, utf16z).parse(input)?;
    Ok((rest, (object, flags, name)))
}

/// `u32 count, u16 clr`, entries of 44 bytes `u64 rootId, u64 object, u64 typeId, u64 iunknown, u32 references,
/// u32 pegged, u32 flags`, 48 in old runtimes. The CLR 4.5.1 used the event's number for something shorter: ignored.
pub(super) fn com_callable_wrappers(payload: &[u8], found: &mut Vec<ComReference>) -> Result<AddedRows, ()> {
    let count = first_number(payload)?;
    let body = payload.get(6..).ok_or(())?;
    let first = found.len();
    if (body.len() as u64) < 40 * u64::from(count) {
        return Ok(AddedRows { rows: first..first, is_complete: true });
    }
    let length = if body.len() as u64 == 48 * u64::from(count) { 48 } else { 44 };
    let (entries, complete) = entries(body, count, length);
    found.extend(entries.map(|entry| ComReference {
        object: u64_at(entry, 8),
        reference_count: u32_at(entry, 32),
        flags: u32_at(entry, 40),
    }));
    Ok(AddedRows { rows: first..found.len(), is_complete: complete })
}

/// `u8 generation, A start, u64 used, u64 reserved, u16 clr`; 3 is the heap of large objects, 4 that of pinned ones.
pub(super) fn generation_range(payload: &[u8], pointer: usize) -> Result<GenerationRange, ()> {
    if payload.len() < 9 + pointer {
        return Err(());
    }
    let start = address_at(payload, 1, pointer);
    let generation = match payload[0] {
        3 => Generation::Large,
        4 => Generation::Pinned,
        number => Generation::Numbered(number),
    };
    Ok(GenerationRange { start, end: start.saturating_add(u64_at(payload, 1 + pointer)), generation })
}

/// `u16 size, varu index`, options; (index, process).
pub(super) fn thread_row(input: &[u8]) -> Parsed<'_, (u64, u64)> {
    let (rest, size) = le_u16(input)?;
    let (after, row) = take(size)(rest)?;
    let (mut row, index) = varu64(row)?;
    let mut process = 0;
    while !row.is_empty() {
        let kind;
        (row, kind) = le_u8(row)?;
        match kind {
            1 => (row, _) = length_prefixed_utf8(row)?,
            2 => (row, process) = varu64(row)?,
            3 => (row, _) = varu64(row)?,
            4 => {
                (row, _) = length_prefixed_utf8(row)?;
                (row, _) = length_prefixed_utf8(row)?;
            }
            _ => break,
        }
    }
    Ok((after, (index, process)))
}
