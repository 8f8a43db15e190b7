//! One trace: its events sorted out, and what they say of processes kept until the dumps can be put together.
//!
//! Names of frames and types may come before or after the dumps that need them, so dumps keep their ids until the end.

use std::io;

use memchr::memmem::Finder;
use rustc_hash::FxHashMap;

use super::codes;
use super::container::{Text, Value};
use super::dumps::Dumps;
use super::event::{Event, StackFrame, read_stack_frames};
use crate::allocations::{NameId, Names};
use crate::input::diagnostics::excerpt;
use crate::input::{Diagnostics, Position};

/// What is known of a process.
#[derive(Default)]
pub(super) struct Process {
    pub(super) name: Option<String>,
    pub(super) labels: String,
    /// It has the thread that only browsers have.
    pub(super) is_browser: bool,
    pub(super) frames: FxHashMap<NameId, StackFrame>,
    /// `None` until there is a `typeNames` event, even an empty one.
    pub(super) types: Option<FxHashMap<NameId, NameId>>,
}

/// An event with something of a dump.
pub(super) struct DumpEvent {
    pub(super) offset: u64,
    pub(super) pid: i64,
    pub(super) time_us: i64,
    pub(super) id: String,
    pub(super) dumps: Dumps,
}

/// What a trace holds of memory dumps.
#[derive(Default)]
pub(super) struct Trace {
    pub(super) events: u64,
    pub(super) dump_events: u64,
    pub(super) processes: FxHashMap<i64, Process>,
    /// Frames that stand outside events: for processes that have none of their own.
    pub(super) global_frames: FxHashMap<NameId, StackFrame>,
    /// When the first event of each dump was written.
    pub(super) started_us: FxHashMap<String, i64>,
    /// In the order of the file.
    pub(super) dumps: Vec<DumpEvent>,
}

/// Reads a trace from its first byte on. `before` is added to the places of problems.
pub(super) fn read_trace(
    text: &mut Text<'_>,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
    before: u64,
) -> io::Result<Trace> {
    let mut reader = TraceReader { trace: Trace::default(), names, diagnostics, before, phase: Finder::new(b"\"ph\"") };
    match text.peek()? {
        Some(b'[') => {
            text.pass();
            if !reader.events(text)? {
                let at = reader.place(text.offset());
                reader.diagnostics.add(&codes::UNTERMINATED_ARRAY, 1, at, String::new);
                return Ok(reader.trace);
            }
        }
        Some(b'{') => {
            text.pass();
            if !reader.members(text)? {
                reader.truncated(text.offset());
                return Ok(reader.trace);
            }
        }
        _ => {
            reader.diagnostics.add(&codes::NOT_AN_EVENT, 1, Position::Byte(before), String::new);
            return Ok(reader.trace);
        }
    }
    if text.peek()?.is_some() {
        let at = reader.place(text.offset());
        reader.diagnostics.add(&codes::TRAILING_DATA, 1, at, String::new);
    }
    Ok(reader.trace)
}

struct TraceReader<'a> {
    trace: Trace,
    names: &'a mut Names,
    diagnostics: &'a mut Diagnostics,
    before: u64,
    phase: Finder<'static>,
}

impl TraceReader<'_> {
    fn place(&self, offset: u64) -> Position {
        Position::Byte(self.before + offset)
    }

    fn truncated(&mut self, offset: u64) {
        let at = self.place(offset);
        self.diagnostics.add(&codes::TRUNCATED, 1, at, String::new);
    }

    /// The members of the trace object; false when the file ends in them.
    fn members(&mut self, text: &mut Text<'_>) -> io::Result<bool> {
        while let Some(byte) = text.peek()? {
            match byte {
                b'}' => {
                    text.pass();
                    return Ok(true);
                }
                b'"' => {
                    let key: String = match text.take()? {
                        Value::Whole(key, _) => serde_json::from_slice(key).unwrap_or_default(),
                        Value::Cut(..) => return Ok(false),
                        Value::TooLong(_) => String::new(),
                    };
                    if text.peek()? == Some(b':') {
                        text.pass();
                        if !self.member(&key, text)? {
                            return Ok(false);
                        }
                    }
                }
                b',' => text.pass(),
                _ => self.junk(text)?,
            }
        }
        Ok(false)
    }

    fn member(&mut self, key: &str, text: &mut Text<'_>) -> io::Result<bool> {
        match (key, text.peek()?) {
            (_, None) => Ok(false),
            ("traceEvents", Some(b'[')) => {
                text.pass();
                self.events(text)
            }
            ("stackFrames", Some(b'{')) => {
                let (json, whole) = match text.take()? {
                    Value::Whole(json, _) => (json, true),
                    Value::Cut(json, _) => (json, false),
                    Value::TooLong(_) => (&b"{}"[..], true),
                };
                let (frames, _) = read_stack_frames(json, self.names);
                self.trace.global_frames.extend(frames.iter().map(|frame| (frame.id, *frame)));
                Ok(whole)
            }
            // A bracket that closes something else would be skipped as a value of no length.
            (_, Some(b'}' | b']' | b',')) => Ok(true),
            _ => text.skip(),
        }
    }

    /// Something that is no member, no event and no comma.
    fn junk(&mut self, text: &mut Text<'_>) -> io::Result<()> {
        let at = self.place(text.offset());
        self.diagnostics.add(&codes::NOT_AN_EVENT, 1, at, String::new);
        match text.peek()? {
            Some(b'}' | b']' | b':' | b',') => text.pass(),
            _ => {
                text.skip()?;
            }
        }
        Ok(())
    }

    /// The events behind the opening bracket; false when the file ends in them.
    fn events(&mut self, text: &mut Text<'_>) -> io::Result<bool> {
        while let Some(byte) = text.peek()? {
            match byte {
                b']' => {
                    text.pass();
                    return Ok(true);
                }
                b',' => text.pass(),
                b'{' => match text.take()? {
                    Value::Whole(json, offset) => self.event(json, offset, true),
                    Value::Cut(json, offset) => {
                        self.event(json, offset, false);
                        self.truncated(offset);
                        return Ok(false);
                    }
                    Value::TooLong(offset) => {
                        let at = self.place(offset);
                        self.diagnostics.add(&codes::HUGE_EVENT, 1, at, String::new);
                    }
                },
                _ => self.junk(text)?,
            }
        }
        Ok(false)
    }

    /// Can the event be one of ours? Told without parsing: no if all that looks like its phase is another.
    fn may_matter(&self, json: &[u8]) -> bool {
        let mut found = false;
        for at in self.phase.find_iter(json) {
            found = true;
            let value = json[at + 4..].iter().filter(|byte| !matches!(byte, b' ' | b':' | b'\t' | b'\n' | b'\r'));
            if matches!(value.take(3).collect::<Vec<_>>()[..], [b'"', b'v' | b'V' | b'M', b'"']) {
                return true;
            }
        }
        !found
    }

    fn event(&mut self, json: &[u8], offset: u64, whole: bool) {
        self.trace.events += 1;
        // Keys may be sorted, so that in an event that is cut the phase may be missing.
        if whole && !self.may_matter(json) {
            return;
        }
        let (mut event, read) = Event::read(json, self.names);
        let ours = matches!(&*event.phase, "v" | "V" | "M") || (!whole && event.phase.is_empty());
        if let (Err(error), true, true) = (read, ours, whole) {
            let at = self.place(offset + if error.line() == 1 { error.column() as u64 } else { 0 });
            self.diagnostics.add(&codes::MALFORMED_EVENT, 1, at, || excerpt(error.to_string().as_bytes()));
        }
        if !ours {
            return;
        }
        let pid = event.pid.unwrap_or(0);
        if event.phase != "M" {
            self.dump_event(&mut event, pid, offset);
        }
        self.metadata(event, pid, offset);
    }

    fn dump_event(&mut self, event: &mut Event, pid: i64, offset: u64) {
        self.trace.dump_events += u64::from(!event.phase.is_empty());
        let started = self.trace.started_us.entry(event.id.clone()).or_insert(event.time_us);
        *started = (*started).min(event.time_us);
        let dumps = std::mem::take(&mut event.dumps);
        if !dumps.heaps.is_empty() || dumps.heaps_v2.is_some() || !dumps.regions.is_empty() {
            let (time_us, id) = (event.time_us, std::mem::take(&mut event.id));
            self.trace.dumps.push(DumpEvent { offset: self.before + offset, pid, time_us, id, dumps });
        }
    }

    fn metadata(&mut self, event: Event, pid: i64, offset: u64) {
        if event.phase == "v" || event.phase == "V" {
            return;
        }
        let mut repeated = 0;
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
            let known = process.frames.entry(frame.id).or_insert(frame);
            repeated += u64::from(known.name != frame.name || known.parent != frame.parent);
        }
        if let Some(types) = event.type_names {
            let known = process.types.get_or_insert_default();
            for (id, name) in types {
                repeated += u64::from(*known.entry(id).or_insert(name) != name);
            }
        }
        let at = self.place(offset);
        self.diagnostics.add(&codes::REPEATED_NAMES, repeated, at, String::new);
    }
}
