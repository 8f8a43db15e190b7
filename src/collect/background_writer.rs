//! The bytes of a process are read in one thread and written in another: a slow disk, or compression, must not make the pause
//! longer before the slack between them is used up. An output that takes nothing more ends the run: the process may be
//! standing still until its last byte is read.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use super::dump_file::DumpFile;
use super::process_watch::{POLL_INTERVAL, ProcessWatch};
use super::refusal::{Refusal, RefusalCode, format_seconds};
use crate::files::ExitAction;

pub(super) const CHUNK_BYTES: usize = 256 << 10;
/// Bytes between the two threads where the process stands still until all is read: used when the disk is slow.
pub(super) const LARGE_WRITE_QUEUE_BYTES: usize = 128 << 20;
/// The same where it goes on meanwhile, or keeps what is not read itself.
pub(super) const SMALL_WRITE_QUEUE_BYTES: usize = 2 << 20;
/// Overhead of a chunk beside its bytes: they may come one by one.
const CHUNK_OVERHEAD_BYTES: usize = 128;

/// Bytes that wait for the thread that writes, and a signal when there are fewer.
#[derive(Debug, Default)]
struct WaitingBytes {
    bytes: Mutex<usize>,
    on_fewer_bytes: Condvar,
}

impl WaitingBytes {
    fn lock(&self) -> MutexGuard<'_, usize> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file being written by a thread of its own.
pub(super) struct BackgroundWriter {
    chunk_sender: Option<Sender<Vec<u8>>>,
    writer_thread: Option<JoinHandle<Result<DumpFile, Refusal>>>,
    waiting_bytes: Arc<WaitingBytes>,
    max_queued_bytes: usize,
    /// Of the file, as the user wrote it.
    file_name: String,
    /// Takes the file away when the run fails: its writer may be waiting for a disk meanwhile.
    removal: Option<ExitAction>,
}

impl BackgroundWriter {
    /// Starts the thread; `slack` bytes may wait for it.
    pub(super) fn start(mut file: DumpFile, slack: usize) -> Result<Self, Refusal> {
        let (chunks, received) = channel();
        let (name, removal) = (file.display_name(), file.take_removal());
        let waiting = Arc::new(WaitingBytes::default());
        let shared = Arc::clone(&waiting);
        let write = move || write_chunks(file, received, &shared);
        let writer = std::thread::Builder::new().name("dump file".into()).spawn(write);
        let writer = writer.map_err(|error| Refusal::system("cannot start a thread", error))?;
        Ok(BackgroundWriter {
            chunk_sender: Some(chunks),
            writer_thread: Some(writer),
            waiting_bytes: waiting,
            max_queued_bytes: slack,
            file_name: name,
            removal,
        })
    }

    /// Hands bytes on; waits only where the slack is used up. Error: those of the file, as soon as they are known;
    /// `timeout` when the output takes nothing more.
    pub(super) fn write(&mut self, bytes: &[u8], watch: &mut ProcessWatch<'_>) -> Result<(), Refusal> {
        for chunk in bytes.chunks(CHUNK_BYTES) {
            self.wait_for_room(watch)?;
            *self.waiting_bytes.lock() += chunk.len() + CHUNK_OVERHEAD_BYTES;
            let sent = self.chunk_sender.as_ref().is_some_and(|chunks| chunks.send(chunk.to_vec()).is_ok());
            if !sent {
                // The writer ends early for one reason.
                return Err(self.join_writer().err().unwrap_or_else(writer_ended_refusal));
            }
        }
        Ok(())
    }

    fn wait_for_room(&self, watch: &mut ProcessWatch<'_>) -> Result<(), Refusal> {
        let waiting = Arc::clone(&self.waiting_bytes);
        let mut bytes = waiting.lock();
        let (mut last, mut moved) = (*bytes, Instant::now());
        while *bytes > self.max_queued_bytes && self.writer_thread.as_ref().is_some_and(|writer| !writer.is_finished())
        {
            let waited = self.waiting_bytes.on_fewer_bytes.wait_timeout(bytes, POLL_INTERVAL);
            bytes = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(bytes, _)| bytes);
            if *bytes != last {
                (last, moved) = (*bytes, Instant::now());
            }
            // Its CPU time does not matter here: it is the output that does not go on.
            watch.check_progress(true)?;
            if moved.elapsed() >= watch.answer_limit() {
                let text = format!("{} took nothing for {}", self.file_name, format_seconds(watch.answer_limit()));
                return Err(Refusal::new(RefusalCode::Timeout, text)
                    .with_hint("the run was ended, for the process not to stand still; --timeout allows more"));
            }
        }
        Ok(())
    }

    /// Waits until all is written. Error: those of the file.
    pub(super) fn finish(mut self) -> Result<DumpFile, Refusal> {
        let mut file = self.join_writer()?;
        file.put_removal(self.removal.take());
        Ok(file)
    }

    fn join_writer(&mut self) -> Result<DumpFile, Refusal> {
        self.chunk_sender = None;
        let writer = self.writer_thread.take().ok_or_else(writer_ended_refusal)?;
        writer.join().map_err(|_| writer_ended_refusal())?
    }
}

fn writer_ended_refusal() -> Refusal {
    Refusal::new(RefusalCode::System, "the thread that writes the file has ended")
}

fn write_chunks(mut file: DumpFile, chunks: Receiver<Vec<u8>>, waiting: &WaitingBytes) -> Result<DumpFile, Refusal> {
    for chunk in chunks {
        file.write(&chunk)?;
        *waiting.lock() -= chunk.len() + CHUNK_OVERHEAD_BYTES;
        waiting.on_fewer_bytes.notify_one();
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::collect::AgreeingObserver;

    fn watch(silent: &mut AgreeingObserver) -> ProcessWatch<'_> {
        ProcessWatch::new(None, Some(Duration::from_millis(100)), silent)
    }

    #[test]
    fn the_slack_is_counted_in_bytes_and_an_output_that_stalls_ends_the_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("fifo");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).expect("a FIFO");
        let reader = std::fs::File::options().read(true).write(true).open(&path).expect("open");
        let file = DumpFile::create(&path, false).expect("a FIFO is written to");
        let slack = 4 << 20;
        let mut dump_writer = BackgroundWriter::start(file, slack).expect("a thread");
        let (mut silent, mut sent) = (AgreeingObserver, 0);
        let refusal = loop {
            // Far more chunks than bytes of slack would hold of large ones.
            match dump_writer.write(&[7; 1000], &mut watch(&mut silent)) {
                Ok(()) => sent += 1000,
                Err(refusal) => break refusal,
            }
        };
        assert_eq!(refusal.code, RefusalCode::Timeout);
        assert!(refusal.text.ends_with("fifo took nothing for 0.10 s"), "{}", refusal.text);
        assert!((slack / 2..slack + (2 << 20)).contains(&sent), "{sent}");
        drop(reader);
    }

    #[test]
    fn a_run_that_fails_takes_its_part_away_though_the_writer_waits() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        let no_unnamed = |_: &std::path::Path| Err(std::io::Error::from(rustix::io::Errno::OPNOTSUPP));
        let parts = || folder.path().read_dir().expect("a folder").count();
        let file = DumpFile::create_with(&path, false, no_unnamed).expect("a file");
        let mut dump_writer = BackgroundWriter::start(file, SMALL_WRITE_QUEUE_BYTES).expect("a thread");
        let mut silent = AgreeingObserver;
        dump_writer.write(b"half", &mut watch(&mut silent)).expect("written");
        assert_eq!(parts(), 1);
        drop(dump_writer);
        assert_eq!(parts(), 0);
        let file = DumpFile::create_with(&path, false, no_unnamed).expect("a file");
        let mut dump_writer = BackgroundWriter::start(file, SMALL_WRITE_QUEUE_BYTES).expect("a thread");
        dump_writer.write(b"whole", &mut watch(&mut silent)).expect("written");
        dump_writer.finish().expect("written").finish().expect("named");
        assert_eq!((std::fs::read(&path).expect("there"), parts()), (b"whole".to_vec(), 1));
    }
}
