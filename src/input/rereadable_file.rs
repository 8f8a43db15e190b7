//! A dump's file, to be read again after its graph was made; of a pipe a copy in a temporary file, where that is wanted.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::spool::{SharedFile, SharedFileReader};
use super::{Encoding, ReadError, Source};
use crate::files;
use crate::graph::{HeapGraph, MemoryBudget};

/// A packed dump of fewer bytes is unpacked into memory.
const MAX_BYTES_IN_MEMORY: u64 = 64 << 20;
/// Bytes that are unpacked at a time.
const UNPACK_STEP_BYTES: usize = 1 << 20;

/// The place from which a dump can be read again.
#[derive(Debug, Clone)]
pub(super) enum RereadOrigin {
    Path(PathBuf),
    OpenFile(SharedFile),
}

/// A file that a dump was read from, or what was kept of a pipe.
#[derive(Debug, Clone)]
pub struct RereadableFile {
    origin: RereadOrigin,
    /// The file's bytes are not those of the dump.
    pub(super) is_packed: bool,
    limit_bytes: Option<u64>,
}

impl RereadableFile {
    /// The file at `path`; `is_packed` when its bytes are not those of the dump.
    pub fn new(path: &Path, is_packed: bool) -> Self {
        RereadableFile { origin: RereadOrigin::Path(path.to_path_buf()), is_packed, limit_bytes: None }
    }

    /// The same with a limit to the memory that what is read again may take beside its graph.
    pub fn with_memory_limit(self, limit_bytes: Option<u64>) -> Self {
        RereadableFile { limit_bytes, ..self }
    }

    /// An account for what is read again beside this graph. O(types of the graph).
    pub(super) fn budget_beside(&self, graph: &HeapGraph) -> MemoryBudget {
        let (a, b, c) = graph.memory_bytes();
        MemoryBudget::new(self.limit_bytes.map(|limit| limit.saturating_sub((a + b + c) as u64)))
    }

    /// Returns true unless it came through a pipe of which not all was kept. To be asked when all was read.
    pub(super) fn is_available(&self) -> bool {
        match &self.origin {
            RereadOrigin::Path(_) => true,
            RereadOrigin::OpenFile(kept) => kept.is_open(),
        }
    }

    /// The dump by position. One that is packed is unpacked, once: into memory while it is short, else into a temporary file
    /// that has no name and is gone with the program.
    ///
    /// # Errors
    /// If it cannot be opened any more, or there is no room for what is unpacked.
    pub fn random_access(&self) -> Result<RandomAccess, ReadError> {
        if self.is_packed {
            return self.unpack();
        }
        let file = match &self.origin {
            RereadOrigin::Path(path) => SharedFile::new(files::open(path)?),
            RereadOrigin::OpenFile(kept) => kept.clone(),
        };
        let bytes = file.with_file(|file| Ok(file.metadata()?.len()))?;
        Ok(RandomAccess { bytes, source: RereadSource::File(file) })
    }

    fn unpack(&self) -> Result<RandomAccess, ReadError> {
        let mut source = self.from_start()?;
        let (mut unpacked, mut file, mut bytes) = (Vec::new(), None, 0);
        loop {
            let start = unpacked.len();
            unpacked.resize(start + UNPACK_STEP_BYTES, 0);
            let got = source.fill(&mut unpacked[start..])?;
            unpacked.truncate(start + got);
            bytes += got as u64;
            if file.is_none() && bytes >= MAX_BYTES_IN_MEMORY {
                file = Some(tempfile::tempfile().map_err(no_room_error)?);
            }
            if let Some(to) = &mut file {
                to.write_all(&unpacked).map_err(no_room_error)?;
                unpacked.clear();
            }
            if got < UNPACK_STEP_BYTES {
                let place =
                    file.map_or(RereadSource::Memory(unpacked), |file| RereadSource::File(SharedFile::new(file)));
                return Ok(RandomAccess { bytes, source: place });
            }
        }
    }

    /// The dump from its start, unpacked on the way.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn from_start(&self) -> Result<Source, ReadError> {
        match &self.origin {
            RereadOrigin::Path(path) => Source::open(path),
            RereadOrigin::OpenFile(kept) => Source::from_reader(SharedFileReader::of(kept)),
        }
    }
}

impl Source {
    /// The file, to be read again after this source was used up; `None` for a pipe of which nothing is kept.
    pub fn rereadable_file(&self) -> Option<RereadableFile> {
        let is_packed = !self.compression.is_empty() || self.encoding != Encoding::Utf8;
        let path = self.path().map(|path| RereadOrigin::Path(path.to_path_buf()));
        let origin = path.or_else(|| self.reread_file.clone().map(RereadOrigin::OpenFile))?;
        Some(RereadableFile { origin, is_packed, limit_bytes: self.budget.limit_bytes() })
    }
}

/// The error for a packed dump that finds no room, with the reason.
fn no_room_error(error: io::Error) -> io::Error {
    let folder = std::env::temp_dir();
    let what = format!("no room to unpack the dump into {}: {error}; TMPDIR names another folder", folder.display());
    io::Error::new(error.kind(), what)
}

/// A dump that is read at any place, by several threads in turn.
#[derive(Debug)]
pub struct RandomAccess {
    /// The length of the dump, unpacked.
    bytes: u64,
    source: RereadSource,
}

#[derive(Debug)]
enum RereadSource {
    File(SharedFile),
    Memory(Vec<u8>),
}

impl RandomAccess {
    /// Bytes of the dump when it was opened.
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Fills `out` with the bytes at `offset`.
    ///
    /// # Errors
    /// If the dump has fewer, or cannot be read.
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match &self.source {
            RereadSource::File(file) => file.with_file(|file| {
                file.seek(SeekFrom::Start(offset))?;
                file.read_exact(out)
            }),
            RereadSource::Memory(bytes) => {
                let start = usize::try_from(offset).ok();
                let there = start.and_then(|start| bytes.get(start..)?.get(..out.len()));
                out.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::input::NoObserver;
    use std::fs::File;

    #[test]
    fn a_file_is_read_at_any_place_and_again_from_its_start() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("dump");
        std::fs::write(&path, b"0123456789").unwrap();
        let reread = Source::open(&path).unwrap().rereadable_file().expect("a file");
        let file = reread.random_access().unwrap();
        let mut out = [0; 3];
        for offset in [7, 2] {
            file.read_at(offset, &mut out).unwrap();
            assert_eq!(out, b"0123456789"[offset as usize..][..3]);
        }
        assert!(file.read_at(8, &mut out).is_err());
        assert_eq!(reread.from_start().unwrap().start(), b"0123456789");
        assert!(Source::from_reader(&b"0123"[..]).unwrap().rereadable_file().is_none());
    }

    #[test]
    fn a_pipe_is_read_again_where_all_of_it_was_kept() {
        let bytes: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        for (most_bytes, is_kept) in [(0, false), (bytes.len() as u64 - 1, false), (bytes.len() as u64, true)] {
            let pipe = io::Cursor::new(bytes.clone());
            let mut source = Source::from_reader_spooled(pipe, Arc::new(NoObserver), most_bytes).unwrap();
            let reread = source.rereadable_file();
            assert_eq!(source.fill(&mut vec![0; bytes.len() + 1]).unwrap(), bytes.len());
            let reread = reread.filter(RereadableFile::is_available);
            assert_eq!(reread.is_some(), is_kept, "{most_bytes}");
            let Some(reread) = reread else { continue };
            let (one, other, mut word) = (reread.random_access().unwrap(), reread.from_start().unwrap(), [0; 4]);
            one.read_at(4 * 70_000, &mut word).unwrap();
            assert_eq!((u32::from_le_bytes(word), one.len()), (70_000, bytes.len() as u64));
            assert_eq!(other.start(), &bytes[..other.start().len()]);
        }
    }

    #[test]
    fn a_packed_dump_is_unpacked_once_and_read_at_any_place() {
        use std::io::Write;

        let directory = tempfile::tempdir().unwrap();
        for (name, length) in [("short", 3_000_000_u64), ("long", MAX_BYTES_IN_MEMORY + 3_000_001)] {
            let path = directory.path().join(name);
            let file = File::create(&path).unwrap();
            let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
            let words = (0..length / 8).flat_map(u64::to_le_bytes).chain(vec![7; (length % 8) as usize]);
            packed.write_all(&words.collect::<Vec<u8>>()).unwrap();
            packed.finish().unwrap();
            let source = Source::open(&path).unwrap();
            let unpacked = source.rereadable_file().expect("a file").random_access().unwrap();
            assert_eq!(unpacked.len(), length);
            assert_eq!(matches!(unpacked.source, RereadSource::File(_)), name == "long");
            let mut word = [0; 8];
            for number in [5, length / 8 - 1, 130_000] {
                unpacked.read_at(number * 8, &mut word).unwrap();
                assert_eq!(u64::from_le_bytes(word), number);
            }
            assert!(unpacked.read_at(length - 7, &mut word).is_err());
        }
    }
}
