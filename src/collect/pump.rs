//! What a process sends is read in one thread and written in another: a slow disk, or compression, must not make the pause
//! longer before the slack between them is used up.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::dump_file::DumpFile;
use super::refusal::{Refusal, RefusalCode};

/// Bytes of a chunk at most.
pub(super) const CHUNK_BYTES: usize = 256 << 10;
/// Chunks between the two threads where the process stands still until all is read: 128 MiB, used when the disk is slow.
pub(super) const MANY_CHUNKS: usize = 512;
/// The same where it goes on meanwhile, or keeps what is not read itself.
pub(super) const FEW_CHUNKS: usize = 8;

/// A file being written by a thread of its own.
pub(super) struct Pump {
    chunks: Option<SyncSender<Vec<u8>>>,
    writer: Option<JoinHandle<Result<DumpFile, Refusal>>>,
}

impl Pump {
    /// Starts the thread; `chunks` may wait for it.
    pub(super) fn start(file: DumpFile, chunks: usize) -> Result<Self, Refusal> {
        let (chunks, received) = sync_channel(chunks);
        let writer = std::thread::Builder::new().name("dump file".into()).spawn(move || write_all(file, received));
        let writer = writer.map_err(|error| Refusal::system("cannot start a thread", error))?;
        Ok(Pump { chunks: Some(chunks), writer: Some(writer) })
    }

    /// Hands bytes on; waits only where the slack is used up.
    ///
    /// # Errors
    /// Those of the file, as soon as they are known.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        for chunk in bytes.chunks(CHUNK_BYTES) {
            let sent = self.chunks.as_ref().is_some_and(|chunks| chunks.send(chunk.to_vec()).is_ok());
            if !sent {
                // The writer ends early for one reason.
                return Err(self.end().err().unwrap_or_else(ended));
            }
        }
        Ok(())
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// Those of the file.
    pub(super) fn finish(mut self) -> Result<DumpFile, Refusal> {
        self.end()
    }

    fn end(&mut self) -> Result<DumpFile, Refusal> {
        self.chunks = None;
        let writer = self.writer.take().ok_or_else(ended)?;
        writer.join().map_err(|_| ended())?
    }
}

fn ended() -> Refusal {
    Refusal::new(RefusalCode::System, "the thread that writes the file has ended")
}

fn write_all(mut file: DumpFile, chunks: Receiver<Vec<u8>>) -> Result<DumpFile, Refusal> {
    for chunk in chunks {
        file.write(&chunk)?;
    }
    Ok(file)
}
