//! From the file to blocks: the framing of NetTrace 4 and 5, and that of 6.

use nom::bytes::complete::{tag, take};
use nom::number::complete::{le_i32, le_i64, le_u16, le_u32};

use super::codes::*;
use super::collect::Collector;
use super::fields::{Parsed, utf8};
use super::window::Window;
use crate::input::{ReadError, ReadErrorKind};

/// The first bytes of every NetTrace file.
pub(super) const MAGIC: &[u8] = b"Nettrace";
/// How NetPerf files, .gcdump files and NetTrace 4 go on.
pub(super) const SERIALIZATION: &[u8] = b"\x14\0\0\0!FastSerialization.1";
/// No writer makes larger blocks: those of version 6 are below 16 MiB, others hold 100 KB or one event.
const MAX_BLOCK_BYTES: usize = 64 << 20;
const BEGIN_OBJECT: u8 = 5;
const NULL: u8 = 1;
const END_OBJECT: u8 = 6;
/// What a block's object begins with: an object, its type, no type of the type.
const OBJECT_START: &[u8] = &[BEGIN_OBJECT, BEGIN_OBJECT, NULL];

/// What the file says of the recording.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Trace {
    /// When `ticks` was read, in milliseconds since 1970.
    pub(super) unix_ms: i64,
    pub(super) ticks: i64,
    pub(super) ticks_per_second: i64,
    pub(super) pointer_bytes: usize,
    pub(super) process_id: u64,
}

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Events,
    Metadata,
    SequencePoint,
    Threads,
    RemovedThreads,
    /// Not needed for heaps.
    Other,
}

/// Reads all blocks into `collector`; gives the version as words.
///
/// # Errors
/// When the system cannot read, or the version is not known.
pub(super) fn read_blocks(window: &mut Window, collector: &mut Collector) -> Result<String, ReadError> {
    window.ahead(MAGIC.len())?;
    window.advance(MAGIC.len());
    let start = window.ahead(SERIALIZATION.len())?;
    if start.starts_with(SERIALIZATION) {
        window.advance(SERIALIZATION.len());
        let version = read_objects(window, collector)?;
        return Ok(version.map_or("4".into(), |version| version.to_string()));
    }
    match version6_header(start) {
        Ok((_, (0, 6, minor))) => {
            window.advance(12);
            read_plain_blocks(window, collector)?;
            Ok(format!("6.{minor}"))
        }
        Ok((_, (0, major, _))) => Err(ReadError::new(ReadErrorKind::NotSupported(format!(
            "a NetTrace file of version {major}, which is newer than heapdump knows (6)"
        )))),
        _ => Err(ReadError::new(ReadErrorKind::NotSupported(
            "begins as a NetTrace file but does not go on as one: it is damaged or ends here".into(),
        ))),
    }
}

fn version6_header(input: &[u8]) -> Parsed<'_, (u32, u32, u32)> {
    let (rest, zero) = le_u32(input)?;
    let (rest, major) = le_u32(rest)?;
    let (rest, minor) = le_u32(rest)?;
    Ok((rest, (zero, major, minor)))
}

/// `05 | 05 01, i32 version, i32 minReader, i32 length, name, 06`: an object's type, and its version.
fn object_type(input: &[u8]) -> Parsed<'_, (i32, &[u8])> {
    let (rest, _) = tag(OBJECT_START)(input)?;
    let (rest, version) = le_i32(rest)?;
    let (rest, _) = le_i32(rest)?;
    let (rest, length) = le_u32(rest)?;
    let (rest, name) = take(length.min(64))(rest)?;
    let (rest, _) = tag(&[END_OBJECT][..])(rest)?;
    Ok((rest, (version, name)))
}

/// Versions 4 and 5: objects, one after another, until a null.
fn read_objects(window: &mut Window, collector: &mut Collector) -> Result<Option<i32>, ReadError> {
    let mut version = None;
    loop {
        let ahead = window.ahead(96)?;
        if ahead.first() == Some(&NULL) {
            return Ok(version);
        }
        let length = ahead.len();
        let Ok((rest, (number, name))) = object_type(ahead) else {
            if length < 96 && (length == 0 || OBJECT_START.starts_with(&ahead[..length.min(3)])) {
                collector.problem(&TRUNCATED, window.offset());
                return Ok(version);
            }
            if !skip_to_object(window, collector)? {
                return Ok(version);
            }
            continue;
        };
        let used = length - rest.len();
        let kind = match name {
            b"Trace" => {
                version = Some(number);
                window.advance(used);
                if !read_trace(window, collector)? {
                    return Ok(version);
                }
                continue;
            }
            b"EventBlock" => BlockKind::Events,
            b"MetadataBlock" => BlockKind::Metadata,
            b"SPBlock" => BlockKind::SequencePoint,
            _ => BlockKind::Other,
        };
        window.advance(used);
        if !read_block(window, collector, kind)? {
            return Ok(version);
        }
    }
}

/// `i32 size`, zeros up to a file offset divisible by 4, content, `06`. Is there more to read?
fn read_block(window: &mut Window, collector: &mut Collector, kind: BlockKind) -> Result<bool, ReadError> {
    let size = le_i32::<_, ()>(window.ahead(4)?).map_or(-1, |(_, size)| size);
    let start = window.offset() + 4;
    let padding = (start.next_multiple_of(4) - start) as usize;
    let Some(size) = usize::try_from(size).ok().filter(|&size| size <= MAX_BLOCK_BYTES) else {
        return skip_to_object(window, collector);
    };
    let before = 4 + padding;
    let whole = before + size + 1;
    let ahead = window.ahead(whole)?;
    let (is_whole, ends_well) = (ahead.len() >= whole, ahead.get(whole - 1) == Some(&END_OBJECT));
    let end = ahead.len().min(whole - 1);
    let content = ahead.get(before..end).unwrap_or_default();
    let offset = start + padding as u64;
    let read = collector.block(kind, content, offset, false);
    collector.check()?;
    match read {
        Ok(()) if ends_well => window.advance(whole),
        Ok(()) if !is_whole => {
            collector.problem(&TRUNCATED, offset);
            return Ok(false);
        }
        Ok(()) => {
            window.advance(whole - 1);
            return skip_to_object(window, collector);
        }
        // The file may have been cut in an event, or the size may be wrong: another block may begin anywhere behind
        // what was good.
        Err(good) => {
            if is_whole {
                collector.problem(&MALFORMED_BLOCK, offset + good as u64);
            }
            if is_whole && ends_well {
                window.advance(whole);
                return Ok(true);
            }
            window.advance(before + good);
            return skip_to_object(window, collector);
        }
    }
    Ok(true)
}

/// Moves on to where the next block begins. Is there one?
fn skip_to_object(window: &mut Window, collector: &mut Collector) -> Result<bool, ReadError> {
    let from = window.offset();
    loop {
        let ahead = window.ahead(64 * 1024)?;
        let length = ahead.len();
        let found = memchr::memmem::find_iter(ahead, OBJECT_START)
            .find(|&at| object_type(&ahead[at..]).is_ok_and(|(_, (_, name))| name.is_ascii()));
        if let Some(at) = found {
            window.advance(at);
            collector.problem(&MALFORMED_CONTAINER, from);
            return Ok(true);
        }
        if length < 64 * 1024 {
            window.advance(length);
            collector.problem(&TRUNCATED, from);
            return Ok(false);
        }
        // A start may be cut by the window's end.
        window.advance(length - 96);
    }
}

/// The object of the recording: 48 bytes and `06`. Is there more to read?
fn read_trace(window: &mut Window, collector: &mut Collector) -> Result<bool, ReadError> {
    let ahead = window.ahead(49)?;
    match trace(ahead) {
        Ok((rest, found)) => {
            let used = ahead.len() - rest.len();
            collector.set_trace(found, window.offset());
            window.advance(used + 1);
            Ok(true)
        }
        Err(_) => {
            collector.problem(&TRUNCATED, window.offset());
            Ok(false)
        }
    }
}

/// `8 x i16 time, i64 ticks, i64 ticks per second, i32 pointer bytes, i32 process id`, processors, sampling rate.
fn trace(input: &[u8]) -> Parsed<'_, Trace> {
    let (rest, (unix_ms, ticks, ticks_per_second, pointer_bytes)) = trace_start(input)?;
    let (rest, process_id) = le_u32(rest)?;
    let (rest, _) = take(8usize)(rest)?;
    Ok((rest, Trace { unix_ms, ticks, ticks_per_second, pointer_bytes, process_id: process_id.into() }))
}

fn trace_start(input: &[u8]) -> Parsed<'_, (i64, i64, i64, usize)> {
    let mut rest = input;
    let mut time = [0i64; 8];
    for field in &mut time {
        let value;
        (rest, value) = le_u16(rest)?;
        *field = i64::from(value);
    }
    let (rest, ticks) = le_i64(rest)?;
    let (rest, ticks_per_second) = le_i64(rest)?;
    let (rest, pointer_bytes) = le_u32(rest)?;
    let [year, month, _, day, hour, minute, second, ms] = time;
    let seconds = (days_since_1970(year, month, day) * 24 + hour) * 3600 + minute * 60 + second;
    Ok((rest, (seconds * 1000 + ms, ticks, ticks_per_second, pointer_bytes as usize)))
}

/// Of the proleptic Gregorian calendar; years begin in March, so that the leap day is the last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5 + day
        - 719_469
}

/// Version 6: `u32 kind and size`, content, until kind 0.
fn read_plain_blocks(window: &mut Window, collector: &mut Collector) -> Result<(), ReadError> {
    while let Ok((_, head)) = le_u32::<_, ()>(window.ahead(4)?) {
        let size = (head & 0xFF_FFFF) as usize;
        let kind = match head >> 24 {
            0 => return Ok(()),
            2 => BlockKind::Events,
            3 => BlockKind::Metadata,
            4 => BlockKind::SequencePoint,
            6 => BlockKind::Threads,
            7 => BlockKind::RemovedThreads,
            _ => BlockKind::Other,
        };
        let offset = window.offset() + 4;
        let ahead = window.ahead(4 + size)?;
        let is_whole = ahead.len() >= 4 + size;
        let content = &ahead[4..ahead.len().min(4 + size)];
        if head >> 24 == 1 {
            match trace_of_version6(content) {
                Ok((_, found)) => collector.set_trace(found, offset),
                Err(_) => collector.problem(&MALFORMED_BLOCK, offset),
            }
        } else if let Err(good) = collector.block(kind, content, offset, true)
            && is_whole
        {
            collector.problem(&MALFORMED_BLOCK, offset + good as u64);
        }
        collector.check()?;
        if !is_whole {
            break;
        }
        window.advance(4 + size);
    }
    collector.problem(&TRUNCATED, window.offset());
    Ok(())
}

/// As before up to the pointer bytes, then `i32 count` pairs of strings.
fn trace_of_version6(input: &[u8]) -> Parsed<'_, Trace> {
    let (rest, (unix_ms, ticks, ticks_per_second, pointer_bytes)) = trace_start(input)?;
    let (mut rest, pairs) = le_u32(rest)?;
    let mut process_id = 0;
    for _ in 0..pairs {
        let (key, value);
        (rest, key) = utf8(rest)?;
        (rest, value) = utf8(rest)?;
        if key == b"ProcessId" {
            process_id = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        }
    }
    Ok((rest, Trace { unix_ms, ticks, ticks_per_second, pointer_bytes, process_id }))
}

#[cfg(test)]
mod tests {
    use super::days_since_1970;

    #[test]
    fn days() {
        assert_eq!(days_since_1970(1970, 1, 1), 0);
        assert_eq!(days_since_1970(2000, 3, 1), 11_017);
        assert_eq!(days_since_1970(2026, 11, 20), 20_777);
    }
}
