//! Events in the order of the file. Bulk data goes into columns at once; what says where it belongs is kept as heap events,
//! to be sorted by time once the file has been read: a server GC writes the start of a collection after its end.

use std::ops::Range;

use nom::Parser;
use nom::number::complete::{le_u16, le_u32, le_u64};
use rustc_hash::FxHashMap;

use super::events::{Event, SequenceNumbers, for_each_event, for_each_sequence_number};
use super::metadata::{self, DeclaredEvent, EventKind};
use super::payload::{self, ComReference, DependentHandle, RootEdge, StaticRoot};
use super::primitives::{Parsed, varu32, varu64};
use super::problem_codes::*;
use super::recording::{BlockKind, Recording};
use super::rundown::{RUNTIME_VERSION_END, Rundown};
use super::snapshot_store::SnapshotStore;
use super::snapshots::{BulkEvent, EventGap, HeapEvent, HeapEventKind};
use super::trace_types::TraceTypes;
use crate::graph::{BuildError, MemoryShare};
use crate::input::observer::ObjectTally;
use crate::input::{BlottedPart, Diagnostics, Position, ProblemCode};

/// Takes the blocks of a trace, in the order of the file.
#[derive(Default)]
pub(super) struct EventCollector {
    pub(super) store: SnapshotStore,
    pub(super) heap_events: Vec<HeapEvent>,
    pub(super) types: TraceTypes,
    pub(super) roots: Vec<RootEdge>,
    pub(super) dependent_handles: Vec<DependentHandle>,
    pub(super) static_roots: Vec<StaticRoot>,
    /// Names of static fields, as they came.
    pub(super) static_field_names: Vec<u8>,
    pub(super) com_references: Vec<ComReference>,
    pub(super) rundown: Rundown,
    /// Facts of the recording, once they came.
    pub(super) recording: Option<Recording>,
    pub(super) diagnostics: Diagnostics,
    /// Events of all kinds.
    pub(super) event_count: u64,
    pub(super) runtime_callable_wrapper_count: u64,
    /// Set by what cannot be built; the first counts.
    pub(super) build_error: Option<BuildError>,
    /// By metadata id.
    declared_events: FxHashMap<u32, DeclaredEvent>,
    sequences: SequenceNumbers,
    /// Where events were lost.
    pub(super) gaps: Vec<EventGap>,
    /// Process of each thread index (version 6).
    thread_processes: FxHashMap<u64, u64>,
    pointer_bytes: usize,
    /// Parts of the file that tell of more than the heap, where they are asked for.
    pub(super) private_parts: Option<Vec<BlottedPart>>,
    /// Headers with a text, and of events that the trace does not describe: where it is broken these are texts, and no headers.
    pub(super) doubtful_headers: Vec<BlottedPart>,
    /// This block has an event that cannot be one: those behind it may be none either.
    has_false_event: bool,
    /// Memory that is kept beside the graph's builder.
    share: MemoryShare,
    tally: ObjectTally,
}

/// Events between two looks at what was kept of them.
const EVENTS_PER_MEMORY_CHECK: u64 = 256;

impl EventCollector {
    /// `share` is of content.
    pub(super) fn new(store: SnapshotStore, share: MemoryShare, tally: ObjectTally) -> Self {
        EventCollector { store, pointer_bytes: 8, share, tally, ..EventCollector::default() }
    }

    /// Notes when what is kept takes more memory than it may.
    fn check_memory(&mut self) {
        // An event is kept, then sorted, then listed by snapshots.
        const MEMORY_BYTES_PER_EVENT: usize = 3 * size_of::<HeapEvent>();
        const TABLE_SLOT_BYTES: usize = 40;
        let places = self.declared_events.len() + self.sequences.0.len() + self.thread_processes.len();
        let bytes = self.heap_events.len() * MEMORY_BYTES_PER_EVENT
            + self.types.memory_bytes()
            + self.roots.len() * size_of::<RootEdge>()
            + self.dependent_handles.len() * size_of::<DependentHandle>()
            + self.static_roots.len() * size_of::<StaticRoot>()
            + self.static_field_names.len()
            + self.com_references.len() * size_of::<ComReference>()
            + self.rundown.memory_bytes()
            + self.gaps.len() * size_of::<EventGap>()
            + places * TABLE_SLOT_BYTES
            + self.store.memory_bytes();
        self.build_error = self.build_error.or(self.share.set_held_bytes(bytes as u64).err());
    }

    /// Returns the error of data that cannot be built, once it shows: reading on is of no use. Error: that.
    pub(super) fn check_error(&mut self) -> Result<(), BuildError> {
        self.check_memory();
        self.build_error.map_or(Ok(()), Err)
    }

    pub(super) fn add_problem(&mut self, code: &'static ProblemCode, offset: u64) {
        self.diagnostics.add(code, 1, Position::Byte(offset), String::new);
    }

    /// Takes the facts of the recording.
    pub(super) fn set_recording(&mut self, trace: Recording, offset: u64) {
        match trace.pointer_bytes {
            4 | 8 => self.pointer_bytes = trace.pointer_bytes,
            _ => self.add_problem(&MALFORMED_BLOCK, offset),
        }
        self.recording = Some(trace);
    }

    /// Takes a block's content, which may be cut; where it is broken, gives how much of it was good.
    pub(super) fn take_block(
        &mut self,
        kind: BlockKind,
        content: &[u8],
        offset: u64,
        version6: bool,
    ) -> Result<(), usize> {
        let good = |rest: &[u8]| content.len() - rest.len();
        match kind {
            BlockKind::Other => {
                self.add_private_part(offset..offset + content.len() as u64, Vec::new());
                Ok(())
            }
            BlockKind::Events => {
                self.has_false_event = false;
                for_each_event(content, offset, version6, |event| self.take_event(event))
            }
            BlockKind::Metadata if version6 => {
                let (_, header) = le_u16::<_, ()>(content).map_err(|_| 0usize)?;
                let mut rest = content.get(2 + usize::from(header)..).ok_or(0usize)?;
                while !rest.is_empty() {
                    let (after, declared) = metadata::row_of_version6(rest).map_err(|_| good(rest))?;
                    self.declared_events.insert(declared.metadata_id, declared);
                    rest = after;
                }
                Ok(())
            }
            BlockKind::Metadata => {
                let (read, (bad, first)) = metadata::read_metadata_block(content, offset, &mut self.declared_events);
                read?;
                self.diagnostics.add(&MALFORMED_EVENT, bad.min(1), Position::Byte(first), String::new);
                Ok(())
            }
            BlockKind::SequencePoint => {
                let parsed = if version6 {
                    self.take_sequence_point_of_version6(content, offset)
                } else {
                    for_each_sequence_number(content, |thread, last, time| {
                        self.note_lost_events(thread, last, time, offset, true)
                    })
                };
                parsed.map(|_| ()).map_err(|_| 0)
            }
            BlockKind::Threads => self.take_thread_rows(content).map(|_| ()).map_err(|_| 0),
            BlockKind::RemovedThreads => {
                let mut rest = content;
                while !rest.is_empty() {
                    let ((index, last), after) =
                        thread_and_number(rest).map(|(a, f)| (f, a)).map_err(|_| good(rest))?;
                    self.note_lost_events(index, last, u64::MAX, offset, true);
                    self.sequences.0.remove(&index);
                    rest = after;
                }
                Ok(())
            }
        }
    }

    /// `u64 timestamp, u32 flags, u32 count, count x { varu thread, varu last }`; flag 1 forgets threads, 2 metadata.
    fn take_sequence_point_of_version6<'a>(&mut self, content: &'a [u8], offset: u64) -> Parsed<'a, ()> {
        let (rest, time) = le_u64(content)?;
        let (rest, flags) = le_u32(rest)?;
        let (mut rest, count) = le_u32(rest)?;
        for _ in 0..count {
            let (thread, last);
            (rest, (thread, last)) = thread_and_number(rest)?;
            self.note_lost_events(thread, last, time, offset, true);
        }
        if flags & 1 != 0 {
            self.thread_processes.clear();
            self.sequences.0.clear();
        }
        if flags & 2 != 0 {
            self.declared_events.clear();
        }
        Ok((rest, ()))
    }

    /// Rows `u16 size, varu index`, options; option 2 is the process.
    fn take_thread_rows<'a>(&mut self, content: &'a [u8]) -> Parsed<'a, ()> {
        let mut rest = content;
        while !rest.is_empty() {
            let (index, process);
            (rest, (index, process)) = payload::thread_row(rest)?;
            self.thread_processes.insert(index, process);
        }
        Ok((rest, ()))
    }

    /// Takes the number of an event, or the one that a thread has reached; notes a gap where events were lost before.
    fn note_lost_events(&mut self, thread: u64, number: u32, time: u64, offset: u64, is_reached: bool) {
        if let Some((lost, from)) = self.sequences.advance_and_count_lost(thread, number, time, is_reached) {
            self.gaps.push(EventGap { from_ticks: from, until_ticks: time, lost_event_count: lost.into(), offset });
        }
    }

    fn take_event(&mut self, event: &Event<'_>) {
        self.event_count += 1;
        if self.event_count.is_multiple_of(EVENTS_PER_MEMORY_CHECK) {
            self.check_memory();
        }
        if self.build_error.is_some() {
            return;
        }
        self.note_lost_events(
            event.capture_thread,
            event.sequence_number,
            event.timestamp,
            event.payload_offset,
            false,
        );
        let declared = self.declared_events.get(&event.metadata_id).copied();
        if self.private_parts.is_some() {
            self.note_private_event(declared.map(|declared| declared.kind), event);
        }
        let Some(DeclaredEvent { kind, version, .. }) = declared else {
            self.has_false_event = true;
            self.add_problem(&UNKNOWN_METADATA, event.payload_offset);
            return;
        };
        if kind != EventKind::Other && self.take_payload(kind, version, event).is_err() {
            self.has_false_event = true;
            self.add_problem(&MALFORMED_EVENT, event.payload_offset);
        }
    }

    /// Adds a part of the file to the private ones, and what may stand in its place.
    fn add_private_part(&mut self, part: Range<u64>, instead: Vec<u8>) {
        if let Some(private) = self.private_parts.as_mut().filter(|_| !part.is_empty()) {
            private.push((part, instead));
        }
    }

    /// Of the runtime all behind its version; of the process all but its program; of other events all, and of texts behind
    /// what cannot be an event.
    fn note_private_event(&mut self, kind: Option<EventKind>, event: &Event<'_>) {
        if kind.is_none() || has_utf16_text(event.header) {
            let header = event.payload_offset - event.header.len() as u64..event.payload_offset;
            self.doubtful_headers.push((header, Vec::new()));
        }
        let (from, instead) = match kind {
            Some(_) if self.has_false_event && has_utf16_text(event.payload) => (0, Vec::new()),
            Some(EventKind::RuntimeInformation) => (event.payload.len().min(RUNTIME_VERSION_END), Vec::new()),
            Some(EventKind::ProcessInfo) => (0, Rundown::program_name_utf16(event.payload)),
            Some(EventKind::Other) | None => (0, Vec::new()),
            Some(_) => return,
        };
        self.add_private_part(
            event.payload_offset + from as u64..event.payload_offset + event.payload.len() as u64,
            instead,
        );
    }

    /// Takes what an event of this kind holds. Error: if it is shorter than it says.
    fn take_payload(&mut self, kind: EventKind, version: u32, event: &Event<'_>) -> Result<(), ()> {
        let payload = event.payload;
        let heap_event = match kind {
            EventKind::Other => return Ok(()),
            EventKind::BulkType => return self.types.add_descriptions(payload),
            EventKind::Module => return require_parsed(self.rundown.add_module(payload)),
            EventKind::Method => return require_parsed(self.rundown.add_method(payload)),
            EventKind::RuntimeInformation => return require_parsed(self.rundown.add_runtime(payload)),
            EventKind::ProcessInfo => return require_parsed(self.rundown.add_process(payload)),
            EventKind::RuntimeCallableWrappers => {
                self.runtime_callable_wrapper_count += u64::from(payload::first_number(payload)?);
                return Ok(());
            }
            EventKind::GcStart => payload::gc_start(payload, version)?,
            EventKind::GcEnd => HeapEventKind::CollectionEnd { collection_number: payload::first_number(payload)? },
            EventKind::GenAwareBegin => HeapEventKind::GenAwareBegin,
            EventKind::GenAwareEnd => HeapEventKind::GenAwareEnd,
            EventKind::GenerationRange => {
                HeapEventKind::GenerationRange(payload::generation_range(payload, self.pointer_bytes)?)
            }
            EventKind::Nodes | EventKind::Edges => return self.take_bulk_event(kind, event),
            EventKind::RootEdges => {
                let (index, rows) = payload::root_edges(payload, self.pointer_bytes, &mut self.roots)?;
                HeapEventKind::Roots { index, rows: rows.into_rows_reporting_missing(self, event) }
            }
            EventKind::DependentHandles => {
                let (index, rows) =
                    payload::dependent_handles(payload, self.pointer_bytes, &mut self.dependent_handles)?;
                HeapEventKind::DependentHandles { index, rows: rows.into_rows_reporting_missing(self, event) }
            }
            EventKind::StaticRoots => {
                let rows = payload::static_roots(payload, &mut self.static_roots, &mut self.static_field_names)?;
                HeapEventKind::StaticRoots(rows.into_rows_reporting_missing(self, event))
            }
            EventKind::ComCallableWrappers => {
                let rows = payload::com_callable_wrappers(payload, &mut self.com_references)?;
                HeapEventKind::ComReferences(rows.into_rows_reporting_missing(self, event))
            }
        };
        self.keep_heap_event(event, heap_event);
        Ok(())
    }

    fn keep_heap_event(&mut self, event: &Event<'_>, kind: HeapEventKind) {
        let process = self.thread_processes.get(&event.thread).copied().unwrap_or(0);
        self.heap_events.push(HeapEvent { timestamp: event.timestamp, offset: event.payload_offset, process, kind });
    }

    fn take_bulk_event(&mut self, kind: EventKind, event: &Event<'_>) -> Result<(), ()> {
        let head = payload::bulk_head(event.payload)?;
        let (added, heap_event): (_, fn(BulkEvent) -> HeapEventKind) = if kind == EventKind::Nodes {
            (
                self.store.add_nodes(head, event.payload_offset, self.pointer_bytes, &mut self.types),
                HeapEventKind::Nodes,
            )
        } else {
            (self.store.add_edges(head, event.payload_offset, self.pointer_bytes), HeapEventKind::Edges)
        };
        match added {
            Ok(bulk) => {
                if kind == EventKind::Nodes {
                    self.tally.add_and_report(bulk.count as usize);
                }
                self.keep_heap_event(event, heap_event(bulk));
                // What is short of its count was read as far as it goes.
                if bulk.count < u64::from(head.count) { Err(()) } else { Ok(()) }
            }
            Err(error) => {
                self.build_error = self.build_error.or(Some(error));
                Ok(())
            }
        }
    }
}

/// True where three letters, digits or signs follow one another in two bytes each, the zero last or first.
fn has_utf16_text(bytes: &[u8]) -> bool {
    let is_text = |run: &[u8], first: usize| run.iter().skip(first).step_by(2).all(|byte| matches!(byte, 0x20..=0x7E));
    let is_zero = |run: &[u8], first: usize| run.iter().skip(first).step_by(2).all(|byte| *byte == 0);
    bytes.windows(6).any(|run| is_text(run, 0) && is_zero(run, 1) || is_text(run, 1) && is_zero(run, 0))
}

fn thread_and_number(input: &[u8]) -> Parsed<'_, (u64, u32)> {
    (varu64, varu32).parse(input)
}

/// Whether a payload could be parsed.
fn require_parsed(parsed: Parsed<'_, ()>) -> Result<(), ()> {
    parsed.map(|_| ()).map_err(|_| ())
}

impl payload::AddedRows {
    /// The rows; a problem when they are fewer than the event says.
    fn into_rows_reporting_missing(self, collector: &mut EventCollector, event: &Event<'_>) -> Range<usize> {
        if !self.is_complete {
            collector.add_problem(&MALFORMED_EVENT, event.payload_offset);
        }
        self.rows
    }
}
