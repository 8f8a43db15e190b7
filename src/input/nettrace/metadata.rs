//! Events by their metadata ids. The runtime's events carry no names: provider and number tell them apart.

use nom::Parser;
use nom::bytes::complete::take;
use nom::number::complete::{le_i32, le_u8, le_u16};
use rustc_hash::FxHashMap;

use super::events::for_each_event;
use super::primitives::{Parsed, length_prefixed_utf8, text_of_utf16, utf16z, varu32};

/// Events that matter for heaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    GcStart,
    GcEnd,
    BulkType,
    RootEdges,
    DependentHandles,
    Nodes,
    Edges,
    GenerationRange,
    ComCallableWrappers,
    RuntimeCallableWrappers,
    StaticRoots,
    GenAwareBegin,
    GenAwareEnd,
    Module,
    Method,
    RuntimeInformation,
    ProcessInfo,
    /// Any other event.
    Other,
}

/// What an event with this metadata id is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeclaredEvent {
    pub(super) metadata_id: u32,
    pub(super) kind: EventKind,
    pub(super) version: u32,
}

fn event_kind(provider: &str, event: u32) -> EventKind {
    match (provider, event) {
        ("Microsoft-Windows-DotNETRuntime", event) => match event {
            1 => EventKind::GcStart,
            2 => EventKind::GcEnd,
            15 => EventKind::BulkType,
            16 => EventKind::RootEdges,
            17 => EventKind::DependentHandles,
            18 => EventKind::Nodes,
            19 => EventKind::Edges,
            23 => EventKind::GenerationRange,
            36 => EventKind::ComCallableWrappers,
            37 => EventKind::RuntimeCallableWrappers,
            38 => EventKind::StaticRoots,
            143 => EventKind::Method,
            152 => EventKind::Module,
            187 => EventKind::RuntimeInformation,
            206 => EventKind::GenAwareBegin,
            207 => EventKind::GenAwareEnd,
            _ => EventKind::Other,
        },
        ("Microsoft-Windows-DotNETRuntimeRundown", 143 | 144) => EventKind::Method,
        ("Microsoft-Windows-DotNETRuntimeRundown", 153 | 154) => EventKind::Module,
        ("Microsoft-Windows-DotNETRuntimeRundown", 187) => EventKind::RuntimeInformation,
        ("Microsoft-DotNETCore-EventPipe", 1) => EventKind::ProcessInfo,
        _ => EventKind::Other,
    }
}

/// `i32 id, ustr provider, i32 event, ustr name, i64 keywords, i32 version, i32 level`, and fields that do not matter.
fn metadata_row(input: &[u8]) -> Parsed<'_, DeclaredEvent> {
    let (rest, (id, provider, event, _, _, version)) =
        (le_i32, utf16z, le_i32, utf16z, take(8usize), le_i32).parse(input)?;
    let kind = event_kind(&text_of_utf16(provider), event as u32);
    Ok((rest, DeclaredEvent { metadata_id: id as u32, kind, version: version as u32 }))
}

/// Takes the rows of a block of versions 4 and 5; gives the number of those that cannot be read, and where the first is.
/// Where the block itself is broken, how much of it was good.
pub(super) fn read_metadata_block(
    content: &[u8],
    offset: u64,
    declared: &mut FxHashMap<u32, DeclaredEvent>,
) -> (Result<(), usize>, (u64, u64)) {
    let mut bad = (0, 0);
    let read = for_each_event(content, offset, false, |event| match metadata_row(event.payload) {
        Ok((_, row)) => drop(declared.insert(row.metadata_id, row)),
        Err(_) => bad = (bad.0 + 1, if bad.0 == 0 { event.payload_offset } else { bad.1 }),
    });
    (read, bad)
}

/// Version 6: `u16 rowSize, varu id, str provider, varu event, str name`, fields, options; one of them is the version.
pub(super) fn row_of_version6(input: &[u8]) -> Parsed<'_, DeclaredEvent> {
    let (rest, size) = le_u16(input)?;
    let (after, row) = take(size)(rest)?;
    let (row, (id, provider, event, _)) = (varu32, length_prefixed_utf8, varu32, length_prefixed_utf8).parse(row)?;
    let kind = event_kind(&String::from_utf8_lossy(provider), event);
    // A broken tail costs the version alone.
    let version = version_option(row).map_or(0, |(_, version)| version);
    Ok((after, DeclaredEvent { metadata_id: id, kind, version }))
}

/// The version among the options of a row; 0 where it has none.
fn version_option(row: &[u8]) -> Parsed<'_, u32> {
    let (mut row, fields) = le_u16(row)?;
    for _ in 0..fields {
        let size;
        (row, size) = le_u16(row)?;
        (row, _) = take(size)(row)?;
    }
    let (row, size) = le_u16(row)?;
    let (_, mut options) = take(size)(row)?;
    while !options.is_empty() {
        let kind;
        (options, kind) = le_u8(options)?;
        options = match kind {
            1 | 8 => take(1usize)(options)?.0,
            3 => take(8usize)(options)?.0,
            4 | 5 => length_prefixed_utf8(options)?.0,
            6 => length_prefixed_utf8(length_prefixed_utf8(options)?.0)?.0,
            7 => take(16usize)(options)?.0,
            9 => return le_u8(options).map(|(rest, version)| (rest, u32::from(version))),
            _ => break,
        };
    }
    Ok((options, 0))
}
