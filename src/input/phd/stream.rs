//! The numbers that a dump is made of, big-endian, one after another.

use crate::graph::{MemoryBudget, MemoryShare};
use crate::input::{ReadError, Source};

const WINDOW_BYTES: usize = 1 << 20;

/// A reason for which a record cannot be read.
#[derive(Debug)]
pub(super) enum StopReason {
    /// The file ends within it; it would have had so many bytes more, as far as it says.
    Truncated(u64),
    /// It cannot be.
    Malformed,
    /// The source cannot be read.
    ReadError(ReadError),
}

impl From<ReadError> for StopReason {
    fn from(error: ReadError) -> Self {
        StopReason::ReadError(error)
    }
}

/// Numbers one after another.
pub(super) struct Stream {
    source: Source,
    window: Vec<u8>,
    window_offset: usize,
    filled_bytes: usize,
    window_file_offset: u64,
    _share: MemoryShare,
}

impl Stream {
    pub(super) fn new(source: Source, budget: &MemoryBudget) -> Result<Self, ReadError> {
        let mut share = budget.for_buffer();
        share.set_held_bytes(WINDOW_BYTES as u64)?;
        Ok(Stream {
            source,
            window: vec![0; WINDOW_BYTES],
            window_offset: 0,
            filled_bytes: 0,
            window_file_offset: 0,
            _share: share,
        })
    }

    /// Bytes that were taken so far.
    pub(super) fn position(&self) -> u64 {
        self.window_file_offset + self.window_offset as u64
    }

    pub(super) fn skip(&mut self, bytes: usize) -> Result<(), StopReason> {
        (0..bytes).try_for_each(|_| self.u8().map(|_| ()))
    }

    /// The next bytes, at most eight.
    fn take_bytes<const N: usize>(&mut self) -> Result<[u8; N], StopReason> {
        if self.filled_bytes - self.window_offset < N {
            self.window.copy_within(self.window_offset..self.filled_bytes, 0);
            self.window_file_offset += self.window_offset as u64;
            self.filled_bytes -= self.window_offset;
            self.window_offset = 0;
            self.filled_bytes += self
                .source
                .fill(&mut self.window[self.filled_bytes..])
                .map_err(|error| StopReason::ReadError(error.into()))?;
        }
        match self.window[self.window_offset..self.filled_bytes].first_chunk::<N>() {
            Some(&bytes) => {
                self.window_offset += N;
                Ok(bytes)
            }
            None => Err(StopReason::Truncated(0)),
        }
    }

    pub(super) fn u8(&mut self) -> Result<u8, StopReason> {
        Ok(u8::from_be_bytes(self.take_bytes()?))
    }

    pub(super) fn u16(&mut self) -> Result<u16, StopReason> {
        Ok(u16::from_be_bytes(self.take_bytes()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32, StopReason> {
        Ok(u32::from_be_bytes(self.take_bytes()?))
    }

    /// A number that cannot be negative.
    pub(super) fn count(&mut self) -> Result<u32, StopReason> {
        self.u32().and_then(|count| if count > i32::MAX as u32 { Err(StopReason::Malformed) } else { Ok(count) })
    }

    /// An address of 4 or 8 bytes.
    pub(super) fn word(&mut self, word_bytes: u32) -> Result<u64, StopReason> {
        if word_bytes == 8 { Ok(u64::from_be_bytes(self.take_bytes()?)) } else { Ok(self.u32()?.into()) }
    }

    /// A signed number of 1, 2, 4 or 8 bytes, by its width code.
    pub(super) fn signed_of_width(&mut self, code: u8) -> Result<i64, StopReason> {
        Ok(match code {
            0 => i8::from_be_bytes(self.take_bytes()?).into(),
            1 => i16::from_be_bytes(self.take_bytes()?).into(),
            2 => i32::from_be_bytes(self.take_bytes()?).into(),
            _ => i64::from_be_bytes(self.take_bytes()?),
        })
    }

    /// The same without a sign.
    pub(super) fn unsigned_of_width(&mut self, code: u8) -> Result<u64, StopReason> {
        Ok(match code {
            0 => self.u8()?.into(),
            1 => self.u16()?.into(),
            2 => self.u32()?.into(),
            _ => u64::from_be_bytes(self.take_bytes()?),
        })
    }

    pub(super) fn text_bytes(&mut self, bytes: u16) -> Result<Vec<u8>, StopReason> {
        (0..bytes).map(|_| self.u8()).collect()
    }
}
