//! From the file to blocks: the framing of NetTrace 4 and 5, and that of 6.

use nom::Parser;
use nom::bytes::complete::{tag, take};
use nom::number::complete::{le_i32, le_u32};

use super::collector::EventCollector;
use super::primitives::Parsed;
use super::problem_codes::*;
use super::recording::{BlockKind, recording, recording_of_version6};
use super::window::Window;
use crate::input::{ReadError, ReadErrorKind};

/// The first bytes of every NetTrace file.
pub(super) const MAGIC: &[u8] = b"Nettrace";
/// The bytes that follow in NetPerf files, .gcdump files and NetTrace 4.
pub(super) const SERIALIZATION_MAGIC: &[u8] = b"\x14\0\0\0!FastSerialization.1";
/// No writer makes larger blocks: those of version 6 are below 16 MiB, others hold 100 KB or one event.
const MAX_BLOCK_BYTES: usize = 64 << 20;
const BEGIN_OBJECT_TAG: u8 = 5;
pub(super) const NULL_TAG: u8 = 1;
const END_OBJECT_TAG: u8 = 6;
/// The first bytes of a block's object: an object, its type, no type of the type.
pub(super) const OBJECT_START: &[u8] = &[BEGIN_OBJECT_TAG, BEGIN_OBJECT_TAG, NULL_TAG];

/// Reads all blocks into `collector`; gives the version as words. Error: if the system cannot read, or the version is
/// not known.
pub(super) fn read_blocks(window: &mut Window, collector: &mut EventCollector) -> Result<String, ReadError> {
    window.ahead(MAGIC.len())?;
    window.advance(MAGIC.len());
    let start = window.ahead(SERIALIZATION_MAGIC.len())?;
    if start.starts_with(SERIALIZATION_MAGIC) {
        window.advance(SERIALIZATION_MAGIC.len());
        let version = read_object_blocks(window, collector)?;
        return Ok(version.map_or("4".into(), |version| version.to_string()));
    }
    let version: Parsed<'_, (u32, u32, u32)> = (le_u32, le_u32, le_u32).parse(start);
    match version {
        Ok((_, (0, 6, minor))) => {
            window.advance(12);
            read_blocks_of_version6(window, collector)?;
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

/// `05 | 05 01, i32 version, i32 minReader, i32 length, name, 06`: an object's type, and its version.
pub(super) fn object_type(input: &[u8]) -> Parsed<'_, (i32, &[u8])> {
    let (rest, (_, version, _, length)) = (tag(OBJECT_START), le_i32, le_i32, le_u32).parse(input)?;
    let (rest, name) = take(length.min(64))(rest)?;
    let (rest, _) = tag(&[END_OBJECT_TAG][..])(rest)?;
    Ok((rest, (version, name)))
}

/// Versions 4 and 5: objects, one after another, until a null or what cannot be read. Returns the version of the trace.
fn read_object_blocks(window: &mut Window, collector: &mut EventCollector) -> Result<Option<i32>, ReadError> {
    let mut version = None;
    loop {
        let ahead = window.ahead(96)?;
        if ahead.first() == Some(&NULL_TAG) {
            return Ok(version);
        }
        let length = ahead.len();
        let Ok((rest, (number, name))) = object_type(ahead) else {
            if length < 96 && (length == 0 || OBJECT_START.starts_with(&ahead[..length.min(3)])) {
                collector.add_problem(&TRUNCATED, window.offset);
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
                if !read_recording(window, collector)? {
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

/// `i32 size`, zeros up to a file offset divisible by 4, content, `06`. Returns true if more follows.
fn read_block(window: &mut Window, collector: &mut EventCollector, kind: BlockKind) -> Result<bool, ReadError> {
    let size = le_i32::<_, ()>(window.ahead(4)?).map_or(-1, |(_, size)| size);
    let start = window.offset + 4;
    let padding = (start.next_multiple_of(4) - start) as usize;
    let Some(size) = usize::try_from(size).ok().filter(|&size| size <= MAX_BLOCK_BYTES) else {
        return skip_to_object(window, collector);
    };
    let before = 4 + padding;
    let length = before + size + 1;
    let ahead = window.ahead(length)?;
    let (is_complete, ends_well) = (ahead.len() >= length, ahead.get(length - 1) == Some(&END_OBJECT_TAG));
    let end = ahead.len().min(length - 1);
    let content = ahead.get(before..end).unwrap_or_default();
    let offset = start + padding as u64;
    let read = collector.take_block(kind, content, offset, false);
    collector.check_error()?;
    match read {
        Ok(()) if ends_well => window.advance(length),
        Ok(()) if !is_complete => {
            collector.add_problem(&TRUNCATED, offset);
            return Ok(false);
        }
        Ok(()) => {
            window.advance(length - 1);
            return skip_to_object(window, collector);
        }
        // The file may have been cut in an event, or the size may be wrong: another block may begin anywhere behind
        // what was good.
        Err(good) => {
            if is_complete {
                collector.add_problem(&MALFORMED_BLOCK, offset + good as u64);
            }
            if is_complete && ends_well {
                window.advance(length);
                return Ok(true);
            }
            window.advance(before + good);
            return skip_to_object(window, collector);
        }
    }
    Ok(true)
}

/// Moves on to where the next block begins. Returns true if there is one.
fn skip_to_object(window: &mut Window, collector: &mut EventCollector) -> Result<bool, ReadError> {
    let from = window.offset;
    loop {
        let ahead = window.ahead(64 * 1024)?;
        let length = ahead.len();
        let found = memchr::memmem::find_iter(ahead, OBJECT_START)
            .find(|&at| object_type(&ahead[at..]).is_ok_and(|(_, (_, name))| name.is_ascii()));
        if let Some(at) = found {
            window.advance(at);
            collector.add_problem(&MALFORMED_CONTAINER, from);
            return Ok(true);
        }
        if length < 64 * 1024 {
            window.advance(length);
            collector.add_problem(&TRUNCATED, from);
            return Ok(false);
        }
        // A start may be cut by the window's end.
        window.advance(length - 96);
    }
}

/// The object of the recording: 48 bytes and `06`. Returns true if more follows.
fn read_recording(window: &mut Window, collector: &mut EventCollector) -> Result<bool, ReadError> {
    let ahead = window.ahead(49)?;
    match recording(ahead) {
        Ok((rest, found)) => {
            let used = ahead.len() - rest.len();
            collector.set_recording(found, window.offset);
            window.advance(used + 1);
            Ok(true)
        }
        Err(_) => {
            collector.add_problem(&TRUNCATED, window.offset);
            Ok(false)
        }
    }
}

/// Version 6: `u32 kind and size`, content, until kind 0.
fn read_blocks_of_version6(window: &mut Window, collector: &mut EventCollector) -> Result<(), ReadError> {
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
        let offset = window.offset + 4;
        let ahead = window.ahead(4 + size)?;
        let is_complete = ahead.len() >= 4 + size;
        let content = &ahead[4..ahead.len().min(4 + size)];
        if head >> 24 == 1 {
            match recording_of_version6(content) {
                Ok((_, found)) => collector.set_recording(found, offset),
                Err(_) => collector.add_problem(&MALFORMED_BLOCK, offset),
            }
        } else if let Err(good) = collector.take_block(kind, content, offset, true)
            && is_complete
        {
            collector.add_problem(&MALFORMED_BLOCK, offset + good as u64);
        }
        collector.check_error()?;
        if !is_complete {
            break;
        }
        window.advance(4 + size);
    }
    collector.add_problem(&TRUNCATED, window.offset);
    Ok(())
}
