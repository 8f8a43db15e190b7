//! A dump that is read more than once, wherever it comes from.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use crate::files::{nameless_file, open};
use crate::input::{Observer, ReadError, SharedFile, SharedFileReader, Source};

/// A dump that is read more than once.
pub struct DumpFile {
    storage: DumpStorage,
    observer: Arc<dyn Observer>,
}

enum DumpStorage {
    Path(PathBuf),
    /// What came through a pipe, or has no name.
    OpenFile(SharedFile),
}

impl DumpFile {
    /// A dump in a file. A pipe with a name is read to its end now.
    ///
    /// # Errors
    /// When a pipe cannot be read, or kept in a temporary file.
    pub fn of_path(path: PathBuf, observer: Arc<dyn Observer>) -> io::Result<Self> {
        match path.metadata() {
            Ok(facts) if !facts.is_file() && !facts.is_dir() => Self::of_reader(File::open(path)?, observer),
            _ => Ok(DumpFile { storage: DumpStorage::Path(path), observer }),
        }
    }

    /// A dump that comes through a pipe: it is kept in a temporary file without a name.
    ///
    /// # Errors
    /// When it cannot be read or kept.
    pub fn of_reader(mut reader: impl Read, observer: Arc<dyn Observer>) -> io::Result<Self> {
        let mut copy = nameless_file()?;
        io::copy(&mut reader, &mut copy)?;
        Ok(Self::of_file(copy, observer))
    }

    /// A dump in a file that is open, with or without a name.
    pub fn of_file(file: File, observer: Arc<dyn Observer>) -> Self {
        DumpFile { storage: DumpStorage::OpenFile(SharedFile::new(file)), observer }
    }

    /// The bytes of a dump that has a name, at any place.
    pub(super) fn open_seekable(&self) -> io::Result<File> {
        match &self.storage {
            DumpStorage::Path(path) => open(path),
            DumpStorage::OpenFile(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }

    /// The dump from its start.
    pub(super) fn open(&self) -> Result<Source, ReadError> {
        let observer = Arc::clone(&self.observer);
        match &self.storage {
            DumpStorage::Path(path) => Source::open_observed(path, observer),
            DumpStorage::OpenFile(kept) => Source::from_reader_observed(SharedFileReader::of(kept), observer),
        }
    }
}
