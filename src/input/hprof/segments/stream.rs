//! The file's bytes, with a look ahead.

use crate::input::{ReadError, Source};

/// Bytes that are read at once beside those that go to blocks.
const CHUNK_BYTES: usize = 128 * 1024;

/// An input that can be looked into, whose offset is known.
pub struct Stream {
    source: Source,
    read_ahead: Vec<u8>,
    read_ahead_used: usize,
    /// Of the next byte.
    pub offset: u64,
    source_has_ended: bool,
    total_bytes: Option<u64>,
}

impl Stream {
    pub fn new(source: Source) -> Self {
        let total = source.file_bytes.filter(|_| source.compression.is_empty());
        Stream {
            source,
            read_ahead: Vec::new(),
            read_ahead_used: 0,
            offset: 0,
            source_has_ended: false,
            total_bytes: total,
        }
    }

    /// Bytes that follow, where the input's length is known.
    pub fn remaining_bytes(&self) -> Option<u64> {
        self.total_bytes.map(|total| total.saturating_sub(self.offset))
    }

    /// The bytes that were looked at: at least as many as `look_ahead` was asked for.
    pub fn ahead(&self) -> &[u8] {
        &self.read_ahead[self.read_ahead_used..]
    }

    /// Returns true if so many bytes follow, which then are in `read_ahead`. Memory grows with what is there, not with what is
    /// asked for.
    pub fn look_ahead(&mut self, bytes: usize) -> Result<bool, ReadError> {
        while self.read_ahead.len() - self.read_ahead_used < bytes && !self.source_has_ended {
            self.read_ahead.drain(..self.read_ahead_used);
            self.read_ahead_used = 0;
            let start = self.read_ahead.len();
            self.read_ahead.resize(start + CHUNK_BYTES, 0);
            let got = self.source.fill(&mut self.read_ahead[start..])?;
            self.read_ahead.truncate(start + got);
            self.source_has_ended = got < CHUNK_BYTES;
        }
        Ok(self.read_ahead.len() - self.read_ahead_used >= bytes)
    }

    /// Passes over bytes that were looked at.
    pub fn consume(&mut self, bytes: usize) {
        self.read_ahead_used += bytes;
        self.offset += bytes as u64;
    }

    /// Moves the next bytes to `to`; fewer than its length mean the end.
    pub fn read_into(&mut self, to: &mut [u8]) -> Result<usize, ReadError> {
        let first = to.len().min(self.read_ahead.len() - self.read_ahead_used);
        to[..first].copy_from_slice(&self.read_ahead[self.read_ahead_used..self.read_ahead_used + first]);
        self.read_ahead_used += first;
        let mut got = first;
        if got < to.len() && !self.source_has_ended {
            got += self.source.fill(&mut to[first..])?;
            self.source_has_ended = got < to.len();
        }
        self.offset += got as u64;
        Ok(got)
    }

    /// Gives back bytes that were taken last.
    pub fn put_back(&mut self, bytes: &[u8]) {
        self.offset -= bytes.len() as u64;
        self.read_ahead.splice(..self.read_ahead_used, bytes.iter().copied());
        self.read_ahead_used = 0;
    }

    /// Passes over bytes; fewer than asked for mean the end.
    pub fn skip(&mut self, bytes: u64) -> Result<u64, ReadError> {
        let mut skipped = 0;
        while skipped < bytes {
            let ahead = self.read_ahead.len() - self.read_ahead_used;
            if ahead == 0 && !self.look_ahead(1)? {
                break;
            }
            let next = (self.read_ahead.len() - self.read_ahead_used)
                .min(usize::try_from(bytes - skipped).unwrap_or(usize::MAX));
            self.consume(next);
            skipped += next as u64;
        }
        Ok(skipped)
    }
}
