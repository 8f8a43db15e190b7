//! Bytes of a pipe, kept in a temporary file while they are read, for a dump to be read again. Not here: what is read again
//! (`rereadable_file`).

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// An open file that is read by several, each at a place of its own; none where what a pipe gave was not kept.
#[derive(Debug, Clone)]
pub(crate) struct SharedFile(Arc<Mutex<Option<File>>>);

impl SharedFile {
    pub(crate) fn new(file: File) -> Self {
        SharedFile(Arc::new(Mutex::new(Some(file))))
    }

    pub(super) fn with_file<T>(&self, work: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.as_mut().map_or_else(|| Err(io::ErrorKind::NotFound.into()), work)
    }

    /// Closes it: a temporary file is gone.
    pub(super) fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(super) fn is_open(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

/// Passes on what a pipe gives, and keeps it: all of it, or nothing where that is too much or there is no room.
pub(super) struct SpoolingReader<R> {
    inner: R,
    spool: SharedFile,
    bytes_left_to_spool: u64,
}

impl<R> SpoolingReader<R> {
    pub(super) fn new(inner: R, kept: SharedFile, most_bytes: u64) -> Self {
        SpoolingReader { inner, spool: kept, bytes_left_to_spool: most_bytes }
    }
}

impl<R: Read> Read for SpoolingReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buf)?;
        let left_bytes = self.bytes_left_to_spool.checked_sub(count as u64);
        self.bytes_left_to_spool = left_bytes.unwrap_or(0);
        if left_bytes.is_none() || self.spool.with_file(|file| file.write_all(&buf[..count])).is_err() {
            self.spool.close();
        }
        Ok(count)
    }
}

/// A shared file from its start.
pub(crate) struct SharedFileReader {
    file: SharedFile,
    offset: u64,
}

impl SharedFileReader {
    pub(crate) fn of(file: &SharedFile) -> Self {
        SharedFileReader { file: file.clone(), offset: 0 }
    }
}

impl Read for SharedFileReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let offset = self.offset;
        let count = self.file.with_file(|file| {
            file.seek(SeekFrom::Start(offset))?;
            file.read(buf)
        })?;
        self.offset += count as u64;
        Ok(count)
    }
}
