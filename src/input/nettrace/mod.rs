//! .NET event traces with GC heap snapshots (.nettrace): container versions 4, 5 and 6.
//!
//! ```text
//! "Nettrace"  i32 20 "!FastSerialization.1"       versions 4 and 5; version 6: u32 0, u32 6, u32 minor
//! Trace       time, clock, pointer size, process
//! blocks      MetadataBlock: which number stands for which event; EventBlock: events; SPBlock: how far threads are
//! GCStart ... GCBulkNode: address, bytes, type, number of references; GCBulkEdge: the references, apart
//!             GCBulkRootEdge, GCBulkRootStaticVar, GCBulkRootConditionalWeakTableElementEdge ... GCEnd
//! BulkType    names of types: before, between, after
//! rundown     names of modules and methods, at the end
//! ```
//!
//! Objects and references are two streams: only the counts say whose a reference is, so a lost event ends what can be
//! told of references. Events are in the file in the order in which threads handed them over, not in that of time.
//! docs/formats/nettrace.md has the layout, the codes, and where each rule comes from.

mod assemble;
mod collector;
mod container;
mod events;
mod metadata;
mod payload;
mod primitives;
mod problem_codes;
mod recording;
mod rundown;
mod snapshot_store;
mod snapshots;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(super) mod trace_follower;
mod trace_types;
mod window;

use super::problem_codes::GraphCodes;
use super::{
    BlottedPart, Format, FormatMatch, ParsedContent, ParsedDump, ParsedObjects, ParsedTypes, Position, ReadError,
    ReadErrorKind, ReadExtent, Reader, Reading, Runtime, Source,
};
use crate::graph::MemoryBudget;
use assemble::SelectedSnapshot;
use collector::EventCollector;
use snapshot_store::{CountStore, SnapshotStore};
use window::Window;

pub(crate) struct Nettrace;

impl Reader for Nettrace {
    fn format(&self) -> Format {
        Format::binary("nettrace", ".NET event trace with GC heap snapshots", Runtime::DotNet)
    }

    /// Head, type and length, on 32 bits and on 64; arrays of elements are larger, objects at least as large.
    fn empty_array_bytes(&self) -> &'static [u64] {
        &[12, 24]
    }

    /// By its first bytes. NetPerf, the container before, is recognised too, to say what it is.
    fn detect(&self, start: &[u8]) -> FormatMatch {
        if start.starts_with(container::MAGIC) || is_netperf(start) { FormatMatch::Yes } else { FormatMatch::No }
    }

    fn graph_codes(&self) -> &'static GraphCodes {
        &problem_codes::GRAPH_CODES
    }

    fn read(&self, source: Source, reading: &mut Reading) -> Result<ParsedDump, ReadError> {
        let store = SnapshotStore::new_graph(&reading.budget);
        let (mut collector, selected, extent) = read_selected_snapshot(source, reading, store)?;
        let builder = collector.finish_builder(&selected, reading.options.raw_types)?;
        reading.diagnostics.merge_block(&mut collector.diagnostics, 0);
        Ok(ParsedDump { extent, content: ParsedContent::Objects(Box::new(ParsedObjects::new(builder))) })
    }

    fn count_types(&self, source: Source, reading: &mut Reading) -> Result<ParsedTypes, ReadError> {
        let store = SnapshotStore::Counts(CountStore::default());
        let (mut collector, selected, extent) = read_selected_snapshot(source, reading, store)?;
        let types = collector.count_types(&selected, reading.options.raw_types);
        reading.diagnostics.merge_block(&mut collector.diagnostics, 0);
        Ok(ParsedTypes { extent, types, origins: Vec::new(), section_names: vec![collector.section_name()] })
    }
}

/// Reads the trace, and selects the snapshot that was asked for.
fn read_selected_snapshot(
    source: Source,
    reading: &mut Reading,
    store: SnapshotStore,
) -> Result<(EventCollector, SelectedSnapshot, ReadExtent), ReadError> {
    if is_netperf(source.start()) {
        return Err(ReadError::new(ReadErrorKind::NotSupported(
            "a NetPerf trace, the container before NetTrace, which heapdump does not read; record it again in the \
             NetTrace format, as `dotnet-trace collect` does"
                .into(),
        )));
    }
    let mut collector = EventCollector::new(store, reading.budget.for_content(), source.tally());
    let mut window = Window::new(source);
    reading.info.version = Some(container::read_blocks(&mut window, &mut collector)?);
    collector.check_error()?;
    let end = Position::Byte(window.offset);
    window.join();
    let selected = collector.select_snapshot(reading)?;
    collector.report_inconsistencies(&selected);
    collector.fill_info(&selected, &mut reading.info);
    reading.diagnostics.merge_block(&mut collector.diagnostics, 0);
    let extent = ReadExtent { end, objects: selected.nodes.count, loss_codes: problem_codes::LOSS_CODES };
    reading.check_read_extent(&extent)?;
    reading.check_strict()?;
    Ok((collector, selected, extent))
}

/// The parts of a trace that tell of more than its heap: payloads of all other events, and the command line but for the program; and from where
/// on it cannot be read. 16 bytes for each.
pub(crate) fn private_parts(source: Source) -> Result<(Vec<BlottedPart>, Option<u64>), ReadError> {
    let budget = MemoryBudget::default();
    let store = SnapshotStore::Counts(CountStore::default());
    let mut collector = EventCollector::new(store, budget.for_content(), source.tally());
    collector.private_parts = Some(Vec::new());
    let mut window = Window::new(source);
    container::read_blocks(&mut window, &mut collector)?;
    collector.check_error()?;
    window.join();
    let damage =
        [problem_codes::TRUNCATED.name, problem_codes::MALFORMED_BLOCK.name, problem_codes::MALFORMED_CONTAINER.name];
    let unread_from = collector.diagnostics.first_offset_of(&damage);
    let mut parts = collector.private_parts.unwrap_or_default();
    if unread_from.is_some() {
        parts.append(&mut collector.doubtful_headers);
    }
    parts.sort_by_key(|(part, _)| part.start);
    Ok((parts, unread_from))
}

/// As .gcdump files begin, but the first object is a trace.
fn is_netperf(start: &[u8]) -> bool {
    let Some(rest) = start.strip_prefix(container::SERIALIZATION_MAGIC) else { return false };
    let head = &rest[..rest.len().min(96)];
    let names: [&[u8]; 2] = [b"Microsoft.DotNet.Runtime.EventPipeFile", b"\x05\x00\x00\x00Trace"];
    names.iter().any(|name| memchr::memmem::find(head, name).is_some())
}
