//! The outermost JSON of a trace: finds the events without parsing what is not asked for.
//!
//! A value's end is found by counting brackets outside strings; only the one value at hand is in memory, and what is not
//! wanted not even that. So a fault in one event does not cost the others, depth costs nothing, and an event that the
//! file cuts short is still handed out.

use std::io;

use super::json_scan::ValueEndScanner;
use crate::graph::MemoryShare;

/// Bytes of the buffer at first; half as many are free at least when more is read.
const READ_BYTES: usize = 1 << 20;
/// The longest value that is kept in memory; a heap dump of a million entries has 0.05 of it.
const MAX_VALUE_BYTES: usize = 1 << 30;

/// A cursor over the text of a trace.
pub(super) struct TraceText<'s> {
    fill_bytes: FillBytes<'s>,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were passed.
    used_bytes: usize,
    /// Bytes of `buffer` that have been read.
    filled_bytes: usize,
    /// Bytes before `buffer`.
    bytes_before: u64,
    source_ended: bool,
    share: MemoryShare,
}

/// Gives bytes, fewer than asked for at the end alone.
pub(super) type FillBytes<'s> = Box<dyn FnMut(&mut [u8]) -> io::Result<usize> + Send + 's>;

/// A value as it was found, with its offset.
pub(super) enum JsonValue<'a> {
    /// All of it.
    Whole(&'a [u8], u64),
    /// The file ends in it.
    Truncated(&'a [u8], u64),
    /// It was too long to keep, and skipped.
    TooLong(u64),
}

impl<'s> TraceText<'s> {
    /// `share` is of a buffer: it grows with the longest value.
    pub(super) fn new(fill_bytes: FillBytes<'s>, share: MemoryShare) -> Self {
        TraceText {
            fill_bytes,
            buffer: vec![0; READ_BYTES],
            used_bytes: 0,
            filled_bytes: 0,
            bytes_before: 0,
            source_ended: false,
            share,
        }
    }

    /// The cursor's offset in the input.
    pub(super) fn offset(&self) -> u64 {
        self.bytes_before + self.used_bytes as u64
    }

    /// More bytes behind those that are kept from `keep` on; the new place of `keep` is 0. False at the end.
    fn read_more(&mut self, keep: usize) -> io::Result<bool> {
        if self.source_ended {
            return Ok(false);
        }
        self.buffer.copy_within(keep..self.filled_bytes, 0);
        self.bytes_before += keep as u64;
        self.used_bytes -= keep;
        self.filled_bytes -= keep;
        if self.buffer.len() - self.filled_bytes < READ_BYTES / 2 {
            let (length, larger) = (self.buffer.len(), self.buffer.len() * 2);
            // While it moves, it is there twice.
            self.share.set_held_bytes((length + larger) as u64).map_err(io::Error::other)?;
            self.buffer.reserve_exact(larger - length);
            self.buffer.resize(larger, 0);
            self.share.set_held_bytes(larger as u64).map_err(io::Error::other)?;
        }
        let got = (self.fill_bytes)(&mut self.buffer[self.filled_bytes..])?;
        self.filled_bytes += got;
        self.source_ended = got == 0;
        Ok(got > 0)
    }

    /// The next byte that is no blank; `None` at the end.
    pub(super) fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            while self.used_bytes < self.filled_bytes {
                match self.buffer[self.used_bytes] {
                    b' ' | b'\t' | b'\r' | b'\n' => self.used_bytes += 1,
                    byte => return Ok(Some(byte)),
                }
            }
            if !self.read_more(self.used_bytes)? {
                return Ok(None);
            }
        }
    }

    /// Passes one byte, which was peeked at.
    pub(super) fn advance(&mut self) {
        self.used_bytes += 1;
    }

    /// Passes a value and keeps nothing of it. False when the file ends in it.
    pub(super) fn skip_value(&mut self) -> io::Result<bool> {
        let mut scan = ValueEndScanner::default();
        loop {
            if let Some(length) = scan.find_end(&self.buffer[self.used_bytes..self.filled_bytes]) {
                self.used_bytes += length;
                return Ok(true);
            }
            self.used_bytes = self.filled_bytes;
            if !self.read_more(self.used_bytes)? {
                return Ok(scan.is_scalar());
            }
        }
    }

    /// Passes a value and hands it out.
    pub(super) fn take_value(&mut self) -> io::Result<JsonValue<'_>> {
        let mut scan = ValueEndScanner::default();
        let mut length = 0;
        loop {
            if let Some(rest) = scan.find_end(&self.buffer[self.used_bytes + length..self.filled_bytes]) {
                let (from, start) = (self.offset(), self.used_bytes);
                self.used_bytes += length + rest;
                return Ok(JsonValue::Whole(&self.buffer[start..self.used_bytes], from));
            }
            length = self.filled_bytes - self.used_bytes;
            if length > MAX_VALUE_BYTES {
                let from = self.offset();
                self.skip_value()?;
                return Ok(JsonValue::TooLong(from));
            }
            if !self.read_more(self.used_bytes)? {
                let (from, start) = (self.offset(), self.used_bytes);
                self.used_bytes = self.filled_bytes;
                let text = &self.buffer[start..self.filled_bytes];
                return Ok(if scan.is_scalar() {
                    JsonValue::Whole(text, from)
                } else {
                    JsonValue::Truncated(text, from)
                });
            }
        }
    }
}
