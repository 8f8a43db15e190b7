//! Blocks of events: the block's header, then events, each with a header that says what changed since the one before; and
//! the numbers by which lost events show.

use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::length_data;
use nom::number::complete::{le_u8, le_u16, le_u32, le_u64};

use rustc_hash::FxHashMap;

use super::primitives::{Parsed, varu32, varu64};

/// An event of a block, of any kind.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Event<'a> {
    pub(super) metadata_id: u32,
    /// Its number among the events of the thread that wrote it.
    pub(super) sequence_number: u32,
    /// Of the thread that wrote the event; an index in version 6.
    pub(super) capture_thread: u64,
    /// The thread the event is about; an index in version 6.
    pub(super) thread: u64,
    pub(super) timestamp: u64,
    /// The bytes before the payload.
    pub(super) header: &'a [u8],
    pub(super) payload: &'a [u8],
    /// Of the payload, in the file.
    pub(super) payload_offset: u64,
}

/// Calls `each` for the events of a block's content; `offset` is that of the content in the file. Where the block is
/// broken, or ends in an event, gives how much of it was good.
pub(super) fn for_each_event<'a>(
    content: &'a [u8],
    offset: u64,
    version6: bool,
    mut each: impl FnMut(&Event<'a>),
) -> Result<(), usize> {
    let Ok((mut rest, compressed)) = block_header(content) else { return Err(0) };
    let mut event = Event::default();
    let mut payload_bytes = 0;
    while !rest.is_empty() {
        let at = content.len() - rest.len();
        let parsed = if compressed {
            compressed_event(rest, version6, &mut event, &mut payload_bytes)
        } else {
            plain_event(rest, version6, &mut event)
        };
        let Ok((after, payload)) = parsed else { return Err(at) };
        let payload_at = content.len() - after.len() - payload.len();
        (event.header, event.payload) = (&content[at..payload_at], payload);
        event.payload_offset = offset + payload_at as u64;
        each(&event);
        rest = after;
        if !compressed && !version6 {
            // Padded to 4 bytes from the block's start; the last one may do without.
            let used = content.len() - rest.len();
            rest = rest.get(used.next_multiple_of(4) - used..).unwrap_or_default();
        }
    }
    Ok(())
}

/// `u16 headerSize, u16 flags, i64 min, i64 max`, and what later versions add; are the events compressed?
fn block_header(content: &[u8]) -> Parsed<'_, bool> {
    let (_, size) = le_u16(content)?;
    let (rest, header) = take(size)(content)?;
    let (_, flags) = le_u16(header.get(2..).unwrap_or_default())?;
    if size < 20 {
        return Err(nom::Err::Error(()));
    }
    Ok((rest, flags & 1 != 0))
}

/// The first byte names what changed; all else is as in the event before.
fn compressed_event<'a>(
    input: &'a [u8],
    version6: bool,
    event: &mut Event<'a>,
    payload_bytes: &mut u32,
) -> Parsed<'a, &'a [u8]> {
    let (mut rest, flags) = le_u8(input)?;
    let mut next = *event;
    if flags & 0x01 != 0 {
        (rest, next.metadata_id) = varu32(rest)?;
    }
    if flags & 0x02 != 0 {
        let step;
        (rest, step) = varu32(rest)?;
        next.sequence_number = next.sequence_number.wrapping_add(step);
        (rest, next.capture_thread) = varu64(rest)?;
        (rest, _) = varu32(rest)?;
    }
    if version6 || next.metadata_id != 0 {
        next.sequence_number = next.sequence_number.wrapping_add(1);
    }
    if flags & 0x04 != 0 {
        (rest, next.thread) = varu64(rest)?;
    }
    if flags & 0x08 != 0 {
        (rest, _) = varu32(rest)?;
    }
    // The step may be negative, written as 2^64 - x: seen in traces of Tizen devices.
    let step;
    (rest, step) = varu64(rest)?;
    next.timestamp = next.timestamp.wrapping_add(step);
    if flags & 0x10 != 0 {
        rest = if version6 { varu32(rest)?.0 } else { take(16usize)(rest)?.0 };
    }
    if flags & 0x20 != 0 && !version6 {
        (rest, _) = take(16usize)(rest)?;
    }
    let mut size = *payload_bytes;
    if flags & 0x80 != 0 {
        (rest, size) = varu32(rest)?;
    }
    let (rest, payload) = take(size)(rest)?;
    *payload_bytes = size;
    *event = next;
    Ok((rest, payload))
}

/// `u32 size, u32 metadataId, u32 sequence, u64 thread, u64 captureThread, u32 processor, u32 stack, u64 timestamp`, then
/// two GUIDs (version 6: a label list's number), `u32 payloadSize, payload`.
fn plain_event<'a>(input: &'a [u8], version6: bool, event: &mut Event<'a>) -> Parsed<'a, &'a [u8]> {
    let ids_bytes = if version6 { 4usize } else { 32 };
    let (after, blob) = length_data(le_u32).parse(input)?;
    let (_, (metadata_id, sequence, thread, capture_thread, _, timestamp, _, payload)) =
        (le_u32, le_u32, le_u64, le_u64, take(8usize), le_u64, take(ids_bytes), length_data(le_u32)).parse(blob)?;
    *event = Event {
        metadata_id: metadata_id & 0x7FFF_FFFF,
        sequence_number: sequence,
        capture_thread,
        thread,
        timestamp,
        ..Event::default()
    };
    Ok((after, payload))
}

/// The last number of each thread that writes events, and when that was: they are numbered one by one.
#[derive(Debug, Default)]
pub(super) struct SequenceNumbers(pub(super) FxHashMap<u64, (u32, u64)>);

impl SequenceNumbers {
    /// Takes the number of an event, or (`is_reached`) the one that a thread's events have come to. Gives the number of events
    /// that were lost before it, and since when: a jump means lost events; a fall, that another thread got its id.
    pub(super) fn advance_and_count_lost(
        &mut self,
        thread: u64,
        number: u32,
        time: u64,
        is_reached: bool,
    ) -> Option<(u32, u64)> {
        let Some((last, since)) = self.0.get_mut(&thread) else {
            self.0.insert(thread, (number, time));
            return None;
        };
        let expected = if is_reached { *last } else { last.wrapping_add(1) };
        let lost = number.wrapping_sub(expected);
        let is_jump = lost < u32::MAX / 2;
        let gap = (lost > 0 && is_jump).then_some((lost, *since));
        if !is_reached || is_jump {
            (*last, *since) = (number, time);
        }
        gap
    }
}

/// `i64 timestamp, i32 count, count x { i64 thread, u32 last }`: the numbers that each thread's events have reached, and
/// when: (thread, number, time).
pub(super) fn for_each_sequence_number(content: &[u8], mut each: impl FnMut(u64, u32, u64)) -> Parsed<'_, ()> {
    let (rest, time) = le_u64(content)?;
    let (mut rest, count) = le_u32(rest)?;
    for _ in 0..count {
        let (thread, last);
        (rest, thread) = le_u64(rest)?;
        (rest, last) = le_u32(rest)?;
        each(thread, last, time);
    }
    Ok((rest, ()))
}
