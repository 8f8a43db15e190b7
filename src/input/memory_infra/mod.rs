//! Heap dumps in Chromium's traces (memory-infra): how much was allocated, by backtrace and type. No objects.
//!
//! ```text
//! {"traceEvents":[
//!   {"ph":"M","pid":7,"name":"stackFrames","args":{"stackFrames":{"0":{"name":"main"},"1":{"name":"f","parent":"0"}}}},
//!   {"ph":"M","pid":7,"name":"typeNames","args":{"typeNames":{"0":"[unknown]","1":"T"}}},
//!   {"ph":"v","pid":7,"id":"0x1","ts":1000,"args":{"dumps":{"heaps":{"malloc":{"entries":[
//!     {"size":"602","bt":""},{"size":"36c","bt":"0"},{"size":"1d1","bt":"0","type":"1"}]}}}}}]}
//! ```
//!
//! Sizes are hexadecimal and include everything below a backtrace; what was too small is not in the dump. Older traces
//! have sizes of exact backtraces, newer ones (`heaps_v2`) columns of numbers with tables of names. A trace is mostly
//! other events: `trace_text` finds the ends of those without parsing them, in a thread of its own, and `extract` reads
//! the long arrays of the others before serde_json reads the rest.
//! docs/formats/memory-infra.md has all forms, the codes, and where each rule comes from.

mod assemble;
mod collector;
mod event;
mod event_dumps;
mod extract;
mod frame_stacks;
mod heap_maker;
mod html;
mod json_scan;
mod problem_codes;
mod process_maps;
mod raw_ids;
mod simple_json;
mod trace;
mod trace_text;
mod values;

use std::io::Cursor;

use super::problem_codes::BROKEN_COMPRESSION;
use super::{
    Format, FormatMatch, ParsedContent, ParsedDump, ParsedTypes, Position, ReadError, ReadErrorKind, ReadExtent,
    Reader, Reading, Runtime, Source, text,
};
use crate::allocations::{AllocationDump, NameTable};
use assemble::Assembler;
use collector::Trace;
use html::HtmlPage;
use trace::read_trace;
use trace_text::TraceText;

pub(super) struct MemoryInfra;

/// First keys of a trace that has its events further back.
const TRACE_KEYS: [&[u8]; 6] = [
    b"\"traceEvents\"",
    b"\"displayTimeUnit\"",
    b"\"systemTraceEvents\"",
    b"\"stackFrames\"",
    b"\"metadata\"",
    b"\"otherData\"",
];

/// Is the first line an object, and another begins behind it, as in a log?
fn is_lines_of_objects(start: &[u8]) -> bool {
    let (line, after) = text::split_line(start);
    line.trim_ascii_end().ends_with(b"}") && after.starts_with(b"{")
}

impl Reader for MemoryInfra {
    fn format(&self) -> Format {
        Format::text("memory-infra", "Chromium memory-infra heap dumps (trace event JSON)", Runtime::Native)
    }

    /// Certain with a key of traces in an object, a phase in the objects of an array, or the script element of the trace
    /// viewer's pages, which may also lie behind all of the viewer's own code.
    fn detect(&self, start: &[u8]) -> FormatMatch {
        let start = start.trim_ascii_start();
        let has = |text: &[u8]| memchr::memmem::find(start, text).is_some();
        match start {
            [b'{', rest @ ..] => {
                let rest = rest.trim_ascii_start();
                let first = TRACE_KEYS.iter().any(|key| rest.starts_with(key));
                if first || has(TRACE_KEYS[0]) {
                    return FormatMatch::Yes;
                }
                // Other programs write keys of their own in front. V8's heap snapshots are known to be something else.
                let other = !rest.starts_with(b"\"") || rest.starts_with(b"\"snapshot\"") || is_lines_of_objects(start);
                if other { FormatMatch::No } else { FormatMatch::Maybe }
            }
            [b'[', ..] if has(b"\"ph\"") => FormatMatch::Yes,
            [b'[', rest @ ..] if rest.trim_ascii_start().starts_with(b"{") => FormatMatch::Maybe,
            [b'<', ..] if has(b"<script id=\"viewer-data\"") => FormatMatch::Yes,
            [b'<', ..] if has(b"trace-viewer") || has(b"trace_viewer") => FormatMatch::Maybe,
            _ => FormatMatch::No,
        }
    }

    fn read(&self, mut source: Source, reading: &mut Reading) -> Result<ParsedDump, ReadError> {
        let mut names = NameTable::default();
        let (traces, end) = if source.start().trim_ascii_start().starts_with(b"<") {
            reading.info.version = Some("in a page of the trace viewer".into());
            read_page(&mut source, &mut names, reading)?
        } else {
            let threads = if source.is_all_in_start { 1 } else { reading.options.threads };
            let mut text = TraceText::new(Box::new(|buf| source.fill(buf)), reading.budget.for_buffer());
            let trace = read_trace(&mut text, &mut names, &mut reading.diagnostics, 0, threads, &reading.budget)?;
            (vec![trace], text.offset())
        };
        let events: u64 = traces.iter().map(|trace| trace.event_count).sum();
        let dump_events: u64 = traces.iter().map(|trace| trace.dump_event_count).sum();
        let mut dump = AllocationDump::default();
        let raw_types = reading.options.raw_types;
        let mut assembler = Assembler::new(&mut names, &mut reading.diagnostics, raw_types, &reading.budget);
        for trace in traces {
            assembler.add_trace(trace, &mut dump)?;
        }
        if assembler.has_too_deep_backtraces() {
            return Err(ReadError::new(ReadErrorKind::NotSupported(
                "its heaps have more than 4,000,000 stack frames, and more than 64 for each entry: backtraces so deep \
                 are no program's"
                    .into(),
            )));
        }
        dump.names = names;
        let entries = dump.heaps.iter().map(|heap| heap.entries.len() as u64).sum();
        reading.info.set_records([
            ("events", events),
            ("memory_dump_events", dump_events),
            ("dumps", dump.dumps.len() as u64),
            ("heaps", dump.heaps.len() as u64),
            ("entries", entries),
        ]);
        let content = if dump.heaps.is_empty() {
            ParsedContent::NoHeap(no_heaps_text(events, dump_events))
        } else {
            ParsedContent::Allocations(dump)
        };
        Ok(ParsedDump { extent: ReadExtent { end: Position::Byte(end), objects: 0, loss_codes: &[] }, content })
    }

    /// The file has no objects to be counted.
    fn count_types(&self, _: Source, _: &mut Reading) -> Result<ParsedTypes, ReadError> {
        Err(ReadError::new(ReadErrorKind::NoObjects("a memory-infra trace holds allocation totals")))
    }
}

/// The reason for which there is nothing to show.
fn no_heaps_text(events: u64, dump_events: u64) -> String {
    match (events, dump_events) {
        (0, _) => "JSON or HTML in which there are no trace events: neither a Chromium trace with heap dumps nor a V8 heap snapshot".into(),
        (_, 0) => format!(
            "a trace of {events} events without memory dumps: record it with the category \
             disabled-by-default-memory-infra and with heap profiling on"
        ),
        _ => "a trace with memory dumps but without heap dumps: Chromium writes those only while heap profiling is on \
              (--memlog=all, before that --enable-heap-profiling), and recent versions (156 for one) write none at all, \
              their heap profiles go to Perfetto's own format"
            .into(),
    }
}

/// The traces in a page, and where it ends.
fn read_page(
    source: &mut Source,
    names: &mut NameTable,
    reading: &mut Reading,
) -> Result<(Vec<Trace>, u64), ReadError> {
    let Reading { budget, diagnostics, options, .. } = reading;
    let mut traces = Vec::new();
    let mut page = HtmlPage::new(source);
    while let Some(block) = page.next_block()? {
        if !block.is_closed {
            diagnostics.add(&problem_codes::TRUNCATED, 1, Position::Byte(block.offset), String::new);
        }
        let at = Position::Byte(block.offset);
        let mut inner = match Source::from_reader(Cursor::new(block.content)) {
            Ok(inner) => inner,
            Err(error) => {
                diagnostics.add(&BROKEN_COMPRESSION, 1, at, || error.to_string());
                continue;
            }
        };
        inner.share_budget(budget);
        let threads = if inner.is_all_in_start { 1 } else { options.threads };
        let mut text = TraceText::new(Box::new(|buf| inner.fill(buf)), budget.for_buffer());
        traces.push(read_trace(&mut text, names, diagnostics, block.offset, threads, budget)?);
        drop(text);
        if let Some(why) = inner.early_end_reason() {
            diagnostics.add(&BROKEN_COMPRESSION, 1, at, || why);
        }
    }
    let (end, is_complete) = page.end_and_completeness();
    // What is missing may hold another trace.
    if !is_complete {
        diagnostics.add(&problem_codes::TRUNCATED, 1, Position::Byte(end), String::new);
    }
    Ok((traces, end))
}
