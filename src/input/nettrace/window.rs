//! The file as a window of bytes that moves forward: read ahead by a thread of its own, never all of it in memory.

use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use crate::graph::{MemoryShare, make_room};
use crate::input::{ReadError, Source};

const CHUNK_BYTES: usize = 1 << 20;
/// Left free before each chunk, so that what is left of the last one can be put there: nearly nothing is copied.
const HEADROOM_BYTES: usize = 128 * 1024;
const CHUNKS_AHEAD: usize = 3;

/// A buffer, and how many bytes were read into it behind the headroom.
type Chunk = io::Result<(Vec<u8>, usize)>;

/// Bytes from a place in the file on.
pub(super) struct Window {
    filled_chunks: Receiver<Chunk>,
    used_buffers: Sender<Vec<u8>>,
    buffer: Vec<u8>,
    /// The window is the bytes of `buffer` from here ...
    start: usize,
    /// ... to here.
    end: usize,
    /// Of the first byte of the window, in the file.
    pub(super) offset: u64,
    source_ended: bool,
    reader: JoinHandle<()>,
    share: MemoryShare,
}

impl Window {
    pub(super) fn new(source: Source) -> Self {
        let share = source.budget.for_buffer();
        let (send, chunks) = sync_channel(CHUNKS_AHEAD);
        let (used, reuse) = channel();
        let reader = std::thread::spawn(move || read_ahead(source, &send, &reuse));
        Window {
            filled_chunks: chunks,
            used_buffers: used,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            offset: 0,
            source_ended: false,
            reader,
            share,
        }
    }

    /// At least `wanted` bytes, unless the file ends before. Error: if the system cannot read.
    pub(super) fn ahead(&mut self, wanted: usize) -> Result<&[u8], ReadError> {
        while self.end - self.start < wanted && !self.source_ended {
            self.refill()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Moves the window forward, not beyond what `ahead` gave.
    pub(super) fn advance(&mut self, bytes: usize) {
        let bytes = bytes.min(self.end - self.start);
        self.start += bytes;
        self.offset += bytes as u64;
    }

    fn refill(&mut self) -> Result<(), ReadError> {
        let Ok(chunk) = self.filled_chunks.recv() else {
            self.source_ended = true;
            return Ok(());
        };
        let (mut next, length) = chunk?;
        let rest = &self.buffer[self.start..self.end];
        if rest.len() <= HEADROOM_BYTES {
            let start = HEADROOM_BYTES - rest.len();
            next[start..HEADROOM_BYTES].copy_from_slice(rest);
            (self.start, self.end) = (start, HEADROOM_BYTES + length);
            std::mem::swap(&mut self.buffer, &mut next);
        } else {
            self.buffer.truncate(self.end);
            self.buffer.drain(..self.start);
            self.share.set_held_bytes((self.buffer.len() + length) as u64)?;
            make_room(&mut self.buffer, length);
            self.buffer.extend_from_slice(&next[HEADROOM_BYTES..HEADROOM_BYTES + length]);
            (self.start, self.end) = (0, self.buffer.len());
        }
        // The reader may have ended: then nobody wants it back.
        let _ = self.used_buffers.send(next);
        Ok(())
    }

    /// Waits for the thread that reads; what follows the window is read and left.
    pub(super) fn join(self) {
        while let Ok(chunk) = self.filled_chunks.recv() {
            // The reader may have ended: then nobody wants it back.
            let _ = chunk.map(|(buffer, _)| self.used_buffers.send(buffer));
        }
        let _ = self.reader.join();
    }
}

fn read_ahead(mut source: Source, send: &SyncSender<Chunk>, reuse: &Receiver<Vec<u8>>) {
    loop {
        let mut chunk = reuse.try_recv().unwrap_or_default();
        chunk.resize(HEADROOM_BYTES + CHUNK_BYTES, 0);
        chunk.truncate(HEADROOM_BYTES + CHUNK_BYTES);
        let (result, last) = match source.fill(&mut chunk[HEADROOM_BYTES..]) {
            Ok(length) => (Ok((chunk, length)), length < CHUNK_BYTES),
            Err(error) => (Err(error), true),
        };
        if send.send(result).is_err() || last {
            return;
        }
    }
}
