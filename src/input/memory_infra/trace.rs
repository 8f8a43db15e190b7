//! One trace: its events found, and those that may have to do with memory dumps handed on.

use std::io;
use std::sync::mpsc::{channel, sync_channel};

use memchr::memmem::Finder;

use super::collector::{Trace, TraceCollector, TraceItem};
use super::problem_codes;
use super::trace_text::{JsonValue, TraceText};
use crate::allocations::NameTable;
use crate::graph::{BuildError, MemoryBudget, MemoryShare};
use crate::input::{Diagnostics, Position, ProblemCode, ReadError};

/// Reads a trace from its first byte on, which is at `before` in the file. With several threads, another
/// finds the events, and this one reads those that matter.
pub(super) fn read_trace(
    text: &mut TraceText<'_>,
    names: &mut NameTable,
    diagnostics: &mut Diagnostics,
    before: u64,
    threads: usize,
    budget: &MemoryBudget,
) -> Result<Trace, ReadError> {
    let mut collector = TraceCollector {
        trace: Trace::default(),
        names,
        diagnostics: Diagnostics::default(),
        trace_offset: before,
        share: budget.for_content(),
        parsing_share: budget.for_buffer(),
        names_share: budget.for_content(),
    };
    let mut found = Diagnostics::default();
    let mut events = 0;
    let mut find = |hand_on: ItemHandler<'_>| {
        let phase = Finder::new(b"\"ph\"");
        let mut reader =
            TraceReader { event_count: 0, diagnostics: &mut found, trace_offset: before, phase_finder: phase, hand_on };
        let read = reader.read(text);
        events = reader.event_count;
        read
    };
    if threads > 1 {
        pass_items_between_threads(budget, find, |found, json, offset| collector.take_item(found, json, offset))?;
    } else {
        find(&mut |found, json, offset| collector.take_item(found, json, offset).map_err(io::Error::other))?;
    }
    // An event's fault can lie where the next problem does, and comes before it.
    diagnostics.merge_block(&mut collector.diagnostics, 0);
    diagnostics.merge_block(&mut found, 0);
    collector.trace.event_count = events;
    collector.trace.share = collector.share;
    Ok(collector.trace)
}

/// Takes an item of the trace with its JSON and its offset.
type ItemHandler<'a> = &'a mut dyn FnMut(TraceItem, &[u8], u64) -> io::Result<()>;

/// Finds the events of a trace, and hands on those that may matter.
struct TraceReader<'a> {
    event_count: u64,
    diagnostics: &'a mut Diagnostics,
    trace_offset: u64,
    phase_finder: Finder<'static>,
    hand_on: ItemHandler<'a>,
}

impl TraceReader<'_> {
    fn read(&mut self, text: &mut TraceText<'_>) -> io::Result<()> {
        match text.peek()? {
            Some(b'[') => {
                text.advance();
                if !self.read_events(text)? {
                    self.add_problem(&problem_codes::UNTERMINATED_ARRAY, text.offset());
                    return Ok(());
                }
            }
            Some(b'{') => {
                text.advance();
                if !self.read_members(text)? {
                    self.add_problem(&problem_codes::TRUNCATED, text.offset());
                    return Ok(());
                }
            }
            _ => {
                self.add_problem(&problem_codes::NOT_AN_EVENT, 0);
                return Ok(());
            }
        }
        if text.peek()?.is_some() {
            self.add_problem(&problem_codes::TRAILING_DATA, text.offset());
        }
        Ok(())
    }

    fn add_problem(&mut self, code: &'static ProblemCode, offset: u64) {
        self.diagnostics.add(code, 1, Position::Byte(self.trace_offset + offset), String::new);
    }

    /// The members of the trace object; false when the file ends in them.
    fn read_members(&mut self, text: &mut TraceText<'_>) -> io::Result<bool> {
        while let Some(byte) = text.peek()? {
            match byte {
                b'}' => {
                    text.advance();
                    return Ok(true);
                }
                b'"' => {
                    let key: String = match text.take_value()? {
                        JsonValue::Whole(key, _) => serde_json::from_slice(key).unwrap_or_default(),
                        JsonValue::Truncated(..) => return Ok(false),
                        JsonValue::TooLong(_) => String::new(),
                    };
                    if text.peek()? == Some(b':') {
                        text.advance();
                        if !self.read_member(&key, text)? {
                            return Ok(false);
                        }
                    }
                }
                b',' => text.advance(),
                _ => self.skip_invalid_text(text)?,
            }
        }
        Ok(false)
    }

    /// The value of a member of the trace object; false when the file ends in it.
    fn read_member(&mut self, key: &str, text: &mut TraceText<'_>) -> io::Result<bool> {
        match (key, text.peek()?) {
            (_, None) => Ok(false),
            ("traceEvents", Some(b'[')) => {
                text.advance();
                self.read_events(text)
            }
            ("stackFrames", Some(b'{')) => {
                let (json, is_whole) = match text.take_value()? {
                    JsonValue::Whole(json, _) => (json, true),
                    JsonValue::Truncated(json, _) => (json, false),
                    JsonValue::TooLong(_) => (&b"{}"[..], true),
                };
                (self.hand_on)(TraceItem::StackFrames, json, 0)?;
                Ok(is_whole)
            }
            // A bracket that closes something else would be skipped as a value of no length.
            (_, Some(b'}' | b']' | b',')) => Ok(true),
            _ => text.skip_value(),
        }
    }

    /// Something that is no member, no event and no comma.
    fn skip_invalid_text(&mut self, text: &mut TraceText<'_>) -> io::Result<()> {
        self.add_problem(&problem_codes::NOT_AN_EVENT, text.offset());
        match text.peek()? {
            Some(b'}' | b']' | b':' | b',') => text.advance(),
            _ => {
                text.skip_value()?;
            }
        }
        Ok(())
    }

    /// The events behind the opening bracket; false when the file ends in them.
    fn read_events(&mut self, text: &mut TraceText<'_>) -> io::Result<bool> {
        while let Some(byte) = text.peek()? {
            match byte {
                b']' => {
                    text.advance();
                    return Ok(true);
                }
                b',' => text.advance(),
                b'{' => match text.take_value()? {
                    JsonValue::Whole(json, offset) => self.hand_on_event(json, offset, true)?,
                    JsonValue::Truncated(json, offset) => {
                        self.hand_on_event(json, offset, false)?;
                        self.add_problem(&problem_codes::TRUNCATED, offset);
                        return Ok(false);
                    }
                    JsonValue::TooLong(offset) => {
                        self.add_problem(&problem_codes::HUGE_EVENT, offset);
                    }
                },
                _ => self.skip_invalid_text(text)?,
            }
        }
        Ok(false)
    }

    /// Counts an event, complete or cut, and hands it on if it may matter: in one that is cut the phase may be missing.
    fn hand_on_event(&mut self, json: &[u8], offset: u64, is_whole: bool) -> io::Result<()> {
        self.event_count += 1;
        if !is_whole {
            (self.hand_on)(TraceItem::CutEvent, json, offset)
        } else if self.may_concern_dumps(json) {
            (self.hand_on)(TraceItem::Event, json, offset)
        } else {
            Ok(())
        }
    }

    /// Can the event be one of ours? Told without parsing: no if all that looks like its phase is another.
    fn may_concern_dumps(&self, json: &[u8]) -> bool {
        let mut found = false;
        for at in self.phase_finder.find_iter(json) {
            found = true;
            let value = json[at + 4..].iter().filter(|byte| !matches!(byte, b' ' | b':' | b'\t' | b'\n' | b'\r'));
            if matches!(value.take(3).collect::<Vec<_>>()[..], [b'"', b'v' | b'V' | b'M', b'"']) {
                return true;
            }
        }
        !found
    }
}

/// Texts on their way to the other thread, all in one.
struct JsonBatch {
    text: Vec<u8>,
    /// (what, its end in the text, its place in the file)
    items: Vec<(TraceItem, usize, u64)>,
    share: MemoryShare,
}

impl JsonBatch {
    fn new(budget: &MemoryBudget) -> Self {
        JsonBatch { text: Vec::new(), items: Vec::new(), share: budget.for_buffer() }
    }

    fn add_item(&mut self, found: TraceItem, json: &[u8], offset: u64) -> Result<(), BuildError> {
        let needed = self.text.len() + json.len();
        if needed > self.text.capacity() {
            self.share.set_held_bytes((self.text.capacity() + needed) as u64)?;
            self.text.reserve_exact(needed.max(2 * BATCH_BYTES) - self.text.len());
            self.share.set_held_bytes(self.text.capacity() as u64)?;
        }
        self.text.extend_from_slice(json);
        self.items.push((found, self.text.len(), offset));
        Ok(())
    }
}

/// Bytes of text that are worth a hand-over.
const BATCH_BYTES: usize = 256 * 1024;

/// Calls `take` with what `find`, in another thread, hands on, in the same order. The first error ends both.
fn pass_items_between_threads(
    budget: &MemoryBudget,
    find: impl FnOnce(ItemHandler<'_>) -> io::Result<()> + Send,
    mut take: impl FnMut(TraceItem, &[u8], u64) -> Result<(), BuildError>,
) -> Result<(), ReadError> {
    // One batch on its way: what waits is memory.
    let (send, batches) = sync_channel::<JsonBatch>(1);
    let (give_back, used) = channel::<JsonBatch>();
    std::thread::scope(|scope| {
        let finding = scope.spawn(move || {
            let mut batch = JsonBatch::new(budget);
            let read = find(&mut |found, json, offset| {
                batch.add_item(found, json, offset).map_err(io::Error::other)?;
                if batch.text.len() >= BATCH_BYTES {
                    let next = used.try_recv().unwrap_or_else(|_| JsonBatch::new(budget));
                    // Nobody takes it when the other thread has met an error.
                    send.send(std::mem::replace(&mut batch, next)).map_err(|_| io::ErrorKind::BrokenPipe)?;
                }
                Ok(())
            });
            let _ = send.send(batch);
            read
        });
        let mut refused = None;
        'taking: for mut batch in &batches {
            let mut start = 0;
            for &(found, end, offset) in &batch.items {
                if let Err(error) = take(found, &batch.text[start..end], offset) {
                    refused = Some(error);
                    break 'taking;
                }
                start = end;
            }
            if batch.text.capacity() > 4 * BATCH_BYTES {
                continue;
            }
            batch.text.clear();
            batch.items.clear();
            // Nobody waits for the last ones.
            let _ = give_back.send(batch);
        }
        drop(batches);
        let found = finding.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match refused {
            Some(refused) => Err(refused.into()),
            None => Ok(found?),
        }
    })
}
