//! Events of a trace about memory dumps, kept until the dumps can be put together.
//!
//! Names of frames and types may come before or after the dumps that need them, so dumps keep their ids until the end.

use rustc_hash::FxHashMap;

use super::event::{StackFrame, TraceEvent, read_stack_frames};
use super::event_dumps::EventDumps;
use super::problem_codes;
use super::raw_ids::RawIdMap;
use crate::allocations::{NameId, NameTable};
use crate::graph::{BuildError, MemoryShare};
use crate::input::diagnostics::excerpt;
use crate::input::{Diagnostics, Position};

/// A frame, its place by id, and what it becomes in a tree.
const MEMORY_BYTES_PER_FRAME: usize = size_of::<StackFrame>() + TABLE_SLOT_BYTES + 16;
/// Bytes of a place in a hash table.
const TABLE_SLOT_BYTES: usize = 48;

/// An item that the search for events hands on.
#[derive(Clone, Copy)]
pub(super) enum TraceItem {
    /// An event that may matter.
    Event,
    /// The last event, which the file ends in.
    CutEvent,
    /// The `stackFrames` that stand outside events.
    StackFrames,
}

/// What a trace says of a process.
#[derive(Default)]
pub(super) struct TraceProcess {
    pub(super) name: Option<String>,
    pub(super) labels: String,
    /// It has the thread that only browsers have.
    pub(super) is_browser: bool,
    pub(super) frames: FramesById,
    /// `None` until there is a `typeNames` event, even an empty one.
    pub(super) types: Option<RawIdMap<NameId>>,
}

/// An event with a part of a memory dump.
pub(super) struct DumpEvent {
    /// Of the event, in the file.
    pub(super) offset: u64,
    pub(super) pid: i64,
    pub(super) time_us: i64,
    pub(super) dump_id: String,
    pub(super) dumps: EventDumps,
}

/// Stack frames by id.
#[derive(Default)]
pub(super) struct FramesById {
    pub(super) rows: Vec<StackFrame>,
    pub(super) row_by_id: RawIdMap<u32>,
}

impl FramesById {
    /// Adds a frame, unless its id is there; gives back the frame that has the id.
    fn insert(&mut self, frame: StackFrame) -> StackFrame {
        if let Some(row) = self.row_by_id.find(frame.id) {
            return self.rows[row as usize];
        }
        self.row_by_id.insert(frame.id, self.rows.len() as u32);
        self.rows.push(frame);
        frame
    }

    /// Adds a frame; a later one takes the place of an earlier one with its id.
    fn insert_or_replace(&mut self, frame: StackFrame) {
        self.insert(frame);
        if let Some(row) = self.row_by_id.find(frame.id) {
            self.rows[row as usize] = frame;
        }
    }
}

/// The content of a trace, as far as memory dumps go.
#[derive(Default)]
pub(super) struct Trace {
    pub(super) event_count: u64,
    pub(super) dump_event_count: u64,
    pub(super) processes: FxHashMap<i64, TraceProcess>,
    /// Frames that stand outside events: for processes that have none of their own.
    pub(super) global_frames: FramesById,
    /// Time of each dump's first event.
    pub(super) started_us: FxHashMap<String, i64>,
    /// In the order of the file.
    pub(super) kept_dump_events: Vec<DumpEvent>,
    /// Memory of all of it, and the account on which that is noted.
    pub(super) kept_bytes: u64,
    pub(super) share: MemoryShare,
}

/// Takes what may have to do with dumps, in the order of the file.
pub(super) struct TraceCollector<'a> {
    pub(super) trace: Trace,
    pub(super) names: &'a mut NameTable,
    pub(super) diagnostics: Diagnostics,
    /// The place of the trace in the file: it is added to places in the trace.
    pub(super) trace_offset: u64,
    /// Memory of the part of the trace that is kept.
    pub(super) share: MemoryShare,
    /// Memory of the event at hand while it is read.
    pub(super) parsing_share: MemoryShare,
    pub(super) names_share: MemoryShare,
}

/// Longer texts are held in memory once more while they are read, without the arrays that are read first, and as values.
const LONG_TEXT_BYTES: usize = 64 * 1024;

impl TraceCollector<'_> {
    /// Error: if there is no memory for it.
    pub(super) fn take_item(&mut self, found: TraceItem, json: &[u8], offset: u64) -> Result<(), BuildError> {
        if json.len() > LONG_TEXT_BYTES {
            self.parsing_share.set_held_bytes(2 * json.len() as u64)?;
        }
        match found {
            TraceItem::Event => self.take_event(json, offset, true),
            TraceItem::CutEvent => self.take_event(json, offset, false),
            TraceItem::StackFrames => {
                let frames = read_stack_frames(json, self.names);
                self.count_kept_bytes(frames.len() * MEMORY_BYTES_PER_FRAME);
                frames.into_iter().for_each(|frame| self.trace.global_frames.insert_or_replace(frame));
            }
        }
        if json.len() > LONG_TEXT_BYTES {
            self.parsing_share.set_held_bytes(0)?;
        }
        self.names_share.set_held_bytes(self.names.memory_bytes() as u64)?;
        self.share.set_held_bytes(self.trace.kept_bytes)
    }

    /// Adds to the bytes of memory that the trace keeps.
    fn count_kept_bytes(&mut self, bytes: usize) {
        self.trace.kept_bytes += bytes as u64;
    }

    fn position_in_file(&self, offset: u64) -> Position {
        Position::Byte(self.trace_offset + offset)
    }

    fn take_event(&mut self, json: &[u8], offset: u64, is_whole: bool) {
        let (mut event, read) = TraceEvent::read(json, is_whole, self.names);
        let ours = matches!(&*event.phase, "v" | "V" | "M") || (!is_whole && event.phase.is_empty());
        if let (Err(error), true, true) = (read, ours, is_whole) {
            let at = self.position_in_file(offset + if error.line() == 1 { error.column() as u64 } else { 0 });
            self.diagnostics.add(&problem_codes::MALFORMED_EVENT, 1, at, || excerpt(error.to_string().as_bytes()));
        }
        if !ours {
            return;
        }
        let pid = event.pid.unwrap_or(0);
        if event.phase != "M" {
            self.take_dump_event(&mut event, pid, offset);
        }
        self.take_metadata(event, pid, offset);
    }

    /// Keeps the dumps of an event, and when its dump began.
    fn take_dump_event(&mut self, event: &mut TraceEvent, pid: i64, offset: u64) {
        self.trace.dump_event_count += u64::from(!event.phase.is_empty());
        self.count_kept_bytes(event.id.len() + TABLE_SLOT_BYTES);
        let started = self.trace.started_us.entry(event.id.clone()).or_insert(event.time_us);
        *started = (*started).min(event.time_us);
        let dumps = std::mem::take(&mut event.dumps);
        if !dumps.heaps.is_empty() || dumps.heaps_v2.is_some() || !dumps.regions.is_empty() {
            let (time_us, id) = (event.time_us, std::mem::take(&mut event.id));
            self.count_kept_bytes(dumps.memory_bytes() + id.len() + 2 * size_of::<DumpEvent>());
            self.trace.kept_dump_events.push(DumpEvent {
                offset: self.trace_offset + offset,
                pid,
                time_us,
                dump_id: id,
                dumps,
            });
        }
    }

    /// Takes what an event says of its process: names of it, its frames and its types.
    fn take_metadata(&mut self, event: TraceEvent, pid: i64, offset: u64) {
        if event.phase == "v" || event.phase == "V" {
            return;
        }
        let mut repeated = 0;
        let frames = event.stack_frames.as_ref().map_or(0, Vec::len);
        let types = event.type_names.as_ref().map_or(0, Vec::len);
        // Of texts only the last of a process is kept, but they may be long.
        let texts = event.arg_name.as_ref().map_or(0, String::len) + event.arg_labels.as_ref().map_or(0, String::len);
        self.count_kept_bytes(
            frames * MEMORY_BYTES_PER_FRAME + types * TABLE_SLOT_BYTES + 2 * texts + size_of::<TraceProcess>(),
        );
        let process = self.trace.processes.entry(pid).or_default();
        match (&*event.name, event.arg_name) {
            ("process_name", Some(name)) => process.name = Some(name),
            ("thread_name", Some(name)) => process.is_browser |= name == "CrBrowserMain",
            _ => {}
        }
        if let ("process_labels", Some(labels)) = (&*event.name, event.arg_labels) {
            process.labels = labels;
        }
        for frame in event.stack_frames.into_iter().flatten() {
            let known = process.frames.insert(frame);
            repeated += u64::from(known.name != frame.name || known.parent != frame.parent);
        }
        if let Some(types) = event.type_names {
            let known = process.types.get_or_insert_default();
            for (id, name) in types {
                known.insert(id, name);
                repeated += u64::from(known.find(id) != Some(name));
            }
        }
        let at = self.position_in_file(offset);
        self.diagnostics.add(&problem_codes::REPEATED_NAMES, repeated, at, String::new);
    }
}
