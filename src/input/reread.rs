//! A dump's file, to be read again after its graph was made.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::{Encoding, ReadError, Source};

/// A file that a dump was read from. None for a pipe: what it gave is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reread {
    path: PathBuf,
    is_packed: bool,
}

impl Reread {
    /// The file at `path`; `is_packed` when its bytes are not those of the dump.
    pub fn new(path: &Path, is_packed: bool) -> Self {
        Reread { path: path.to_path_buf(), is_packed }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file by position; `None` for a packed one, which has no positions.
    ///
    /// # Errors
    /// When it cannot be opened any more.
    pub fn by_position(&self) -> Result<Option<RandomAccess>, ReadError> {
        if self.is_packed {
            return Ok(None);
        }
        let file = File::open(&self.path)?;
        let bytes = file.metadata()?.len();
        Ok(Some(RandomAccess { file: Mutex::new(file), bytes }))
    }

    /// The dump from its start, unpacked on the way.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn from_start(&self) -> Result<Source, ReadError> {
        Source::open(&self.path)
    }
}

impl Source {
    /// The file, to be read again after this source was used up; `None` for a pipe.
    pub fn reread(&self) -> Option<Reread> {
        let is_packed = !self.compression().is_empty() || self.encoding() != Encoding::Utf8;
        self.path().map(|path| Reread::new(path, is_packed))
    }
}

/// A file that is read at any place, by several threads in turn.
#[derive(Debug)]
pub struct RandomAccess {
    file: Mutex<File>,
    bytes: u64,
}

impl RandomAccess {
    /// Bytes of the file when it was opened.
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Returns true if the file has none.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Fills `out` with the bytes at `offset`.
    ///
    /// # Errors
    /// When the file has fewer, or cannot be read.
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_at_any_place_and_again_from_its_start() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("dump");
        std::fs::write(&path, b"0123456789").unwrap();
        let reread = Source::open(&path).unwrap().reread().expect("a file");
        let file = reread.by_position().unwrap().expect("not packed");
        let mut out = [0; 3];
        for offset in [7, 2] {
            file.read_at(offset, &mut out).unwrap();
            assert_eq!(out, b"0123456789"[offset as usize..][..3]);
        }
        assert!(file.read_at(8, &mut out).is_err());
        assert_eq!(reread.from_start().unwrap().start(), b"0123456789");
        assert_eq!(Source::from_reader(&b"0123"[..]).unwrap().reread(), None);
        assert!(Reread::new(&path, true).by_position().unwrap().is_none());
    }
}
