//! The bytes of files and pipes alike, unpacked and turned into UTF-8 on the way, with the start to look at.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::encoding::{Encoding, Utf8Reader};
use super::error::{Cancelled, ReadError, ReadErrorKind};
use super::gzip_members::{KeptByteCount, WorkerCount};
use super::observer::{NoObserver, ObjectTally, Observer};
use super::spool::{SharedFile, SpoolingReader};
use super::unpack::{BrokenNote, Packing};
use crate::files;
use crate::graph::{MemoryBudget, MemoryShare};

/// Bytes that are looked at to recognise packing, encoding and format.
const START_BYTES: usize = 8 * 1024;
/// Blanks at the start that are looked past.
const MAX_LEADING_BLANKS: usize = 1 << 20;
/// Packings inside one another that are undone.
const MAX_PACKING_LAYERS: usize = 3;

/// An open input, positioned at its (unpacked, decoded) start.
pub struct Source {
    reader: Box<dyn Read + Send>,
    start: Vec<u8>,
    /// Of these the first, by which most formats are recognised.
    first_byte_count: usize,
    /// All of it is in `start`.
    pub(super) is_all_in_start: bool,
    pub(super) encoding: Encoding,
    /// Its packings, the outermost first.
    pub(crate) compression: Vec<&'static str>,
    broken_note: BrokenNote,
    /// Bytes of the file, packed as they are.
    pub(crate) file_bytes: Option<u64>,
    observer: Arc<dyn Observer>,
    /// Memory of the packing's windows.
    kept_bytes: KeptByteCount,
    worker_count: WorkerCount,
    pub(super) budget: MemoryBudget,
    kept_bytes_share: MemoryShare,
    path: Option<PathBuf>,
    pub(super) reread_file: Option<SharedFile>,
}

/// The ending of a source, known after its last byte.
#[derive(Debug)]
pub(super) struct SourceEnding(BrokenNote);

impl SourceEnding {
    /// The reason for which packed data ended before its end, if it did.
    pub(super) fn broken_reason(&self) -> Option<String> {
        self.0.lock().map_or(None, |note| note.clone())
    }
}

impl Source {
    /// Opens a file.
    ///
    /// # Errors
    /// As the other ways to get a source: if it cannot be opened or read, is a directory, is empty, or is packed data that gives nothing.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::open_observed(path, Arc::new(NoObserver))
    }

    /// Opens a file and tells `observer` of the bytes that are read.
    pub fn open_observed(path: &Path, observer: Arc<dyn Observer>) -> Result<Self, ReadError> {
        let file = files::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(ReadError::new(ReadErrorKind::IsDirectory));
        }
        let total_bytes = metadata.is_file().then_some(metadata.len());
        let mut source = Self::build(file, ByteObserver { observer, total_bytes })?;
        source.path = total_bytes.map(|_| path.to_path_buf());
        Ok(source)
    }

    /// Takes any reader, for instance standard input.
    pub fn from_reader(reader: impl Read + Send + 'static) -> Result<Self, ReadError> {
        Self::from_reader_observed(reader, Arc::new(NoObserver))
    }

    /// Takes any reader and tells `observer` of the bytes that are read.
    pub fn from_reader_observed(
        reader: impl Read + Send + 'static,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, ReadError> {
        Self::build(reader, ByteObserver { observer, total_bytes: None })
    }

    /// The same, and keeps what it gives, `most_bytes` at most, in a temporary file without a name: a dump with values is
    /// read again from there.
    pub fn from_reader_spooled(
        reader: impl Read + Send + 'static,
        observer: Arc<dyn Observer>,
        most_bytes: u64,
    ) -> Result<Self, ReadError> {
        let file = if most_bytes > 0 { tempfile::tempfile().ok() } else { None };
        let Some(kept) = file.map(SharedFile::new) else { return Self::from_reader_observed(reader, observer) };
        let reader = SpoolingReader::new(reader, kept.clone(), most_bytes);
        let mut source = Self::from_reader_observed(reader, observer)?;
        source.reread_file = Some(kept);
        Ok(source)
    }

    /// The same of a file that is open twice: it is read again from `again`, from its start.
    pub fn from_reader_and_file(
        reader: impl Read + Send + 'static,
        observer: Arc<dyn Observer>,
        again: File,
    ) -> Result<Self, ReadError> {
        let mut source = Self::from_reader_observed(reader, observer)?;
        source.reread_file = Some(SharedFile::new(again));
        Ok(source)
    }

    /// Keeps nothing of a pipe: nobody will read it again.
    pub(crate) fn forget_spool(&mut self) {
        if let Some(spool) = self.reread_file.take() {
            spool.close();
        }
    }

    fn build(reader: impl Read + Send + 'static, observed: ByteObserver) -> Result<Self, ReadError> {
        let (file_bytes, observer) = (observed.total_bytes, Arc::clone(&observed.observer));
        let broken = BrokenNote::default();
        let (kept_bytes, worker_count) = (KeptByteCount::default(), WorkerCount::default());
        let mut compression = Vec::new();
        let mut reader: Box<dyn Read + Send> = Box::new(CountingReader { inner: reader, observed, done_bytes: 0 });
        let mut start = read_start(&mut reader)?;
        while let Some(packing) = Packing::recognise(&start).filter(|_| compression.len() < MAX_PACKING_LAYERS) {
            compression.push(packing.name());
            reader = packing.unpack(
                Cursor::new(std::mem::take(&mut start)).chain(reader),
                &broken,
                &kept_bytes,
                &worker_count,
            );
            start = read_start(&mut reader)?;
        }
        let (encoding, mark) = Encoding::recognise(&start);
        if matches!(encoding, Encoding::Utf8 | Encoding::Utf8Bom) {
            start.drain(..mark);
        } else {
            let rest = start.split_off(mark);
            reader = Box::new(Utf8Reader::new(Cursor::new(rest).chain(reader), encoding));
            start = read_start(&mut reader)?;
        }
        let mut is_whole = start.len() < START_BYTES - 3;
        // A format shows by its first content: blanks before it are looked past, though not without end.
        while !is_whole && start.len() < MAX_LEADING_BLANKS && start.iter().all(u8::is_ascii_whitespace) {
            let more = read_start(&mut reader)?;
            is_whole = more.len() < START_BYTES;
            start.extend(more);
        }
        let (budget, kept_bytes_share) = (MemoryBudget::default(), MemoryShare::default());
        let source = Source {
            is_all_in_start: is_whole,
            reader,
            first_byte_count: start.len(),
            start,
            encoding,
            compression,
            broken_note: broken,
            file_bytes,
            observer,
            kept_bytes,
            worker_count,
            budget,
            kept_bytes_share,
            path: None,
            reread_file: None,
        };
        if source.start.is_empty() {
            return Err(ReadError::new(match source.early_end_reason() {
                Some(text) => ReadErrorKind::BrokenCompression(text),
                None => ReadErrorKind::Empty,
            }));
        }
        Ok(source)
    }

    /// The file; `None` for a pipe.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The first bytes, 8 KiB or as many as it takes to get past blanks, for recognising the format.
    pub fn start(&self) -> &[u8] {
        &self.start[..self.first_byte_count.min(self.start.len())]
    }

    /// As many bytes as `most`, or all there are, for a format that may begin behind other text. Error: as [`fill`](Self::fill).
    pub(super) fn longer_start(&mut self, most: usize) -> io::Result<&[u8]> {
        let wanted = most.saturating_sub(self.start.len());
        self.reader.by_ref().take(wanted as u64).read_to_end(&mut self.start)?;
        self.is_all_in_start |= self.start.len() < most;
        Ok(&self.start)
    }

    /// After the last byte: why packed data ended before its end, if it did.
    pub fn early_end_reason(&self) -> Option<String> {
        self.ending().broken_reason()
    }

    /// The ending of the input, to be asked when it was read.
    pub(super) fn ending(&self) -> SourceEnding {
        SourceEnding(Arc::clone(&self.broken_note))
    }

    /// A counter of objects that reports to the observer.
    pub(super) fn tally(&self) -> ObjectTally {
        ObjectTally::new(Arc::clone(&self.observer))
    }

    /// Sets what the dump may take while it is read, and gives the account that everything which grows with the dump
    /// must ask: buffers of bytes on their way, too.
    pub(super) fn limit_memory(&mut self, limit_bytes: Option<u64>) -> MemoryBudget {
        self.share_budget(&MemoryBudget::new(limit_bytes));
        self.budget.clone()
    }

    /// The same for a source within another: one account for both.
    pub(super) fn share_budget(&mut self, budget: &MemoryBudget) {
        self.budget = budget.clone();
        self.kept_bytes_share = budget.for_buffer();
    }

    /// Lets unpacking take so many threads.
    pub(super) fn use_threads(&mut self, threads: usize) {
        self.worker_count.store(threads, Ordering::Relaxed);
    }

    /// Fills `buf` as far as there is input; fewer bytes than asked for mean its end.
    ///
    /// # Errors
    /// If the operating system cannot read, when what is packed cannot be unpacked in the memory there is, or when the
    /// observer says to stop. Packing that breaks off is the end of the input, see `early_end_reason`.
    pub fn fill(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.observer.is_cancelled() {
            return Err(io::Error::other(Cancelled));
        }
        let from_start = buf.len().min(self.start.len());
        buf[..from_start].copy_from_slice(&self.start[..from_start]);
        self.start.drain(..from_start);
        let mut filled = from_start;
        while filled < buf.len() {
            match self.reader.read(&mut buf[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.kept_bytes_share.set_held_bytes(self.kept_bytes.load(Ordering::Relaxed)).map_err(io::Error::other)?;
        Ok(filled)
    }
}

fn read_start(reader: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::with_capacity(START_BYTES);
    reader.take(START_BYTES as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// An observer of the bytes taken from a file, and the file's length.
struct ByteObserver {
    observer: Arc<dyn Observer>,
    total_bytes: Option<u64>,
}

/// Counts what is taken from the file.
struct CountingReader<R> {
    inner: R,
    observed: ByteObserver,
    done_bytes: u64,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let ByteObserver { observer, total_bytes } = &self.observed;
        let count = self.inner.read(buf)?;
        self.done_bytes += count as u64;
        observer.bytes_read(self.done_bytes, *total_bytes);
        Ok(count)
    }
}
