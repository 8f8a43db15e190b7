//! The outermost JSON of a trace: finds the events without parsing what is not asked for.
//!
//! A value's end is found by counting brackets outside strings; only the one value at hand is in memory, and what is not
//! wanted not even that. So a fault in one event does not cost the others, depth costs nothing, and an event that the
//! file cuts short is still handed out.

use std::io;

use super::json_scan::ValueEndScanner;
use crate::graph::MemoryShare;

const READ_BYTES: usize = 1 << 20;
/// The longest value that is kept in memory; a heap dump of a million entries has 0.05 of it.
const MAX_VALUE_BYTES: usize = 1 << 30;

pub(super) struct Text<'s> {
    read: FillBytes<'s>,
    data: Vec<u8>,
    at: usize,
    end: usize,
    /// Bytes before `data`.
    before: u64,
    has_ended: bool,
    share: MemoryShare,
}

/// Gives bytes, fewer than asked for at the end alone.
pub(super) type FillBytes<'s> = Box<dyn FnMut(&mut [u8]) -> io::Result<usize> + Send + 's>;

pub(super) enum Value<'a> {
    /// All of it.
    Whole(&'a [u8], u64),
    /// The file ends in it.
    Cut(&'a [u8], u64),
    /// It was too long to keep, and skipped.
    TooLong(u64),
}

impl<'s> Text<'s> {
    /// `share` is of a buffer: it grows with the longest value.
    pub(super) fn new(read: FillBytes<'s>, share: MemoryShare) -> Self {
        Text { read, data: vec![0; READ_BYTES], at: 0, end: 0, before: 0, has_ended: false, share }
    }

    /// The cursor's offset in the input.
    pub(super) fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    /// More bytes behind those that are kept from `keep` on; the new place of `keep` is 0. False at the end.
    fn more(&mut self, keep: usize) -> io::Result<bool> {
        if self.has_ended {
            return Ok(false);
        }
        self.data.copy_within(keep..self.end, 0);
        self.before += keep as u64;
        self.at -= keep;
        self.end -= keep;
        if self.data.len() - self.end < READ_BYTES / 2 {
            let (length, larger) = (self.data.len(), self.data.len() * 2);
            // While it moves, it is there twice.
            self.share.hold((length + larger) as u64).map_err(io::Error::other)?;
            self.data.reserve_exact(larger - length);
            self.data.resize(larger, 0);
            self.share.hold(larger as u64).map_err(io::Error::other)?;
        }
        let got = (self.read)(&mut self.data[self.end..])?;
        self.end += got;
        self.has_ended = got == 0;
        Ok(got > 0)
    }

    /// The next byte that is no blank; `None` at the end.
    pub(super) fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            while self.at < self.end {
                match self.data[self.at] {
                    b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                    byte => return Ok(Some(byte)),
                }
            }
            if !self.more(self.at)? {
                return Ok(None);
            }
        }
    }

    /// Passes one byte, which was peeked at.
    pub(super) fn pass(&mut self) {
        self.at += 1;
    }

    /// Passes a value and keeps nothing of it. False when the file ends in it.
    pub(super) fn skip(&mut self) -> io::Result<bool> {
        let mut scan = ValueEndScanner::default();
        loop {
            if let Some(length) = scan.find_end(&self.data[self.at..self.end]) {
                self.at += length;
                return Ok(true);
            }
            self.at = self.end;
            if !self.more(self.at)? {
                return Ok(scan.is_scalar());
            }
        }
    }

    /// Passes a value and hands it out.
    pub(super) fn take(&mut self) -> io::Result<Value<'_>> {
        let mut scan = ValueEndScanner::default();
        let mut length = 0;
        loop {
            if let Some(rest) = scan.find_end(&self.data[self.at + length..self.end]) {
                let (from, start) = (self.offset(), self.at);
                self.at += length + rest;
                return Ok(Value::Whole(&self.data[start..self.at], from));
            }
            length = self.end - self.at;
            if length > MAX_VALUE_BYTES {
                let from = self.offset();
                self.skip()?;
                return Ok(Value::TooLong(from));
            }
            if !self.more(self.at)? {
                let (from, start) = (self.offset(), self.at);
                self.at = self.end;
                let text = &self.data[start..self.end];
                return Ok(if scan.is_scalar() { Value::Whole(text, from) } else { Value::Cut(text, from) });
            }
        }
    }
}
