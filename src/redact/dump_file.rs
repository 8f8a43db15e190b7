//! A dump that is read more than once, wherever it comes from.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::PathBuf;
use std::sync::Arc;

use crate::files::nameless_file;
use crate::input::{Observer, ReadError, Source};

/// A dump that is read more than once.
pub struct DumpFile {
    place: Place,
    observer: Arc<dyn Observer>,
}

enum Place {
    Path(PathBuf),
    /// What came through a pipe, or has no name.
    Copy(File),
}

impl DumpFile {
    /// A dump in a file. A pipe with a name is read to its end now.
    ///
    /// # Errors
    /// When a pipe cannot be read, or kept in a temporary file.
    pub fn of_path(path: PathBuf, observer: Arc<dyn Observer>) -> io::Result<Self> {
        match path.metadata() {
            Ok(facts) if !facts.is_file() && !facts.is_dir() => Self::of_reader(File::open(path)?, observer),
            _ => Ok(DumpFile { place: Place::Path(path), observer }),
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
        DumpFile { place: Place::Copy(file), observer }
    }

    /// The dump from its start.
    pub(super) fn open(&self) -> Result<Source, ReadError> {
        let observer = Arc::clone(&self.observer);
        match &self.place {
            Place::Path(path) => Source::open_observed(path, observer),
            Place::Copy(copy) => {
                let mut copy = copy.try_clone()?;
                copy.rewind()?;
                Source::from_reader_observed(copy, observer)
            }
        }
    }
}
