//! Outputs being written, and those that are begun when there is something to write.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::locked_file;
use super::system::{free_bytes_in, set_mode};
use super::target::{OutputTarget, TargetPlace, folder_of, open_stream};
use super::unfinished::UnfinishedFile;

/// Bytes of a file that are written at a time, from a multiple of them on. The system allocates pages in one piece for each write: of
/// 510 MB on ext4, 64 KiB at a time take 0.25 s of its time, from other offsets on 0.42 s; 4 MiB at a time up to 1.6 s.
const WRITE_BYTES: usize = 64 * 1024;
/// Ends the name of a file that is not whole yet.
const PART_SUFFIX: &str = ".part";
/// Characters of a file's name in that name: what is added must not make it too long.
const MAX_NAME_CHARS: usize = 50;
/// Nobody writes for so long without a byte.
const MIN_ABANDONED_AGE: Duration = Duration::from_secs(3600);

/// A file, or standard output: without a buffer.
#[derive(Debug)]
pub(crate) enum RawOutput {
    /// A file, and the offset at which it is written next.
    File(File, u64),
    /// Standard output, which has no places to go back to.
    StandardOutput(io::Stdout),
}

impl Write for RawOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            RawOutput::File(file, offset) => {
                let most = WRITE_BYTES - (*offset % WRITE_BYTES as u64) as usize;
                let count = file.write(&bytes[..bytes.len().min(most)])?;
                *offset += count as u64;
                Ok(count)
            }
            RawOutput::StandardOutput(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            RawOutput::File(file, _) => file.flush(),
            RawOutput::StandardOutput(out) => out.flush(),
        }
    }
}

impl Seek for RawOutput {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            RawOutput::File(file, offset) => {
                *offset = file.seek(to)?;
                Ok(*offset)
            }
            RawOutput::StandardOutput(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}

/// An output being written, with a buffer. Only [`Output::finish`] makes it what it was to be: dropped before, a file is
/// as it was.
#[derive(Debug)]
pub struct Output {
    out: BufWriter<RawOutput>,
    /// The file aside, and the name it will have.
    unfinished: Option<(UnfinishedFile, PathBuf)>,
}

impl OutputTarget {
    /// Makes sure, before long work, that it can be written. Error: when no file can be made in its folder.
    pub fn check_writable(&self) -> io::Result<()> {
        match &self.place {
            TargetPlace::File(_) => self.begin().map(drop),
            TargetPlace::StandardOutput | TargetPlace::Stream(_) => Ok(()),
        }
    }

    /// Begins to write. Of a FIFO this waits for its reader. Error: when no file can be made in its folder, or what is
    /// there cannot be opened.
    pub fn begin(&self) -> io::Result<Output> {
        let (raw, aside) = match &self.place {
            TargetPlace::StandardOutput => (RawOutput::StandardOutput(io::stdout()), None),
            TargetPlace::Stream(path) => (RawOutput::File(open_stream(path)?, 0), None),
            TargetPlace::File(path) => {
                let (file, unfinished) = create_unfinished_beside(path, self.mode)?;
                (RawOutput::File(file, 0), Some((unfinished, path.clone())))
            }
        };
        Ok(Output { out: BufWriter::with_capacity(WRITE_BYTES, raw), unfinished: aside })
    }

    /// Begins to write a file under a name of one's own beside its place, so that nobody else writes it meanwhile. What
    /// a run that was killed has left under that name is taken away. Error: as [`begin`](Self::begin), when the target
    /// is no file, and when another run is at work under that name.
    pub fn begin_locked(&self, name: &str) -> io::Result<Output> {
        let TargetPlace::File(path) = &self.place else { return Err(io::ErrorKind::Unsupported.into()) };
        let (file, unfinished) = locked_file::create_locked(folder_of(path), name, self.mode)?;
        let out = BufWriter::with_capacity(WRITE_BYTES, RawOutput::File(file, 0));
        Ok(Output { out, unfinished: Some((unfinished, path.clone())) })
    }

    /// An output that is begun with its first byte. `before` is called before that.
    pub fn begin_lazily<F: FnMut()>(&self, before: F) -> LazyOutput<'_, F> {
        LazyOutput { target: self, before_begin: before, begun: None }
    }
}

impl Output {
    /// Can bytes that were written be written again?
    pub fn is_seekable(&self) -> bool {
        self.unfinished.is_some()
    }

    /// Everything is written: a file is brought to the disk and gets its name. Error: those of the file system; what
    /// was there before is still there then.
    pub fn finish(self) -> io::Result<()> {
        self.complete()?.publish()
    }

    /// Everything is written: a file is brought to the disk. It gets its name when it is told to. Error: those of the
    /// file system.
    pub fn complete(mut self) -> io::Result<CompleteOutput> {
        self.out.flush()?;
        if let (RawOutput::File(file, _), Some(_)) = (self.out.get_ref(), &self.unfinished) {
            file.sync_all()?;
        }
        Ok(CompleteOutput { unfinished: self.unfinished.take(), out: self.out })
    }
}

/// An output that is whole and has not its name yet. Dropped, it is gone.
#[derive(Debug)]
pub struct CompleteOutput {
    unfinished: Option<(UnfinishedFile, PathBuf)>,
    /// Open to the end: who holds a lock on it holds its name.
    out: BufWriter<RawOutput>,
}

impl CompleteOutput {
    /// Gives the file its name, in place of what has that name now. Error: those of the file system; what was there
    /// before is still there then.
    pub fn publish(self) -> io::Result<()> {
        let CompleteOutput { unfinished: aside, out } = self;
        let Some((unfinished, path)) = aside else { return Ok(()) };
        unfinished.rename(&path)?;
        drop(out);
        // So that the name survives a loss of power too; not every file system can do that.
        let _ = File::open(folder_of(&path)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Seek for Output {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.out.seek(to)
    }
}

/// An output that is begun with its first byte: until then the target is left alone.
pub struct LazyOutput<'t, F> {
    target: &'t OutputTarget,
    /// Called before the output is begun.
    before_begin: F,
    begun: Option<Output>,
}

impl<F: FnMut()> LazyOutput<'_, F> {
    fn begin_once(&mut self) -> io::Result<&mut Output> {
        match &mut self.begun {
            Some(out) => Ok(out),
            begun => {
                (self.before_begin)();
                Ok(begun.insert(self.target.begin()?))
            }
        }
    }

    /// Everything is written, if only nothing. Error: those of [`Output::finish`].
    pub fn finish(self) -> io::Result<()> {
        self.complete()?.publish()
    }

    /// The same; a file gets its name when it is told to. Error: those of [`Output::complete`].
    pub fn complete(mut self) -> io::Result<CompleteOutput> {
        self.begin_once()?;
        self.begun.map_or_else(|| self.target.begin(), Ok)?.complete()
    }
}

impl<F: FnMut()> Write for LazyOutput<'_, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begin_once()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.begun.as_mut().map_or(Ok(()), Output::flush)
    }
}

/// Of a file: others have no places to go back to.
impl<F: FnMut()> Seek for LazyOutput<'_, F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.begin_once()?.seek(to)
    }
}

/// A file beside `path`, to become it when it is whole.
fn create_unfinished_beside(path: &Path, mode: u32) -> io::Result<(File, UnfinishedFile)> {
    let folder = folder_of(path);
    let name: String = path.file_name().unwrap_or_default().to_string_lossy().chars().take(MAX_NAME_CHARS).collect();
    let prefix = format!(".{name}.");
    remove_leftovers(folder, &prefix);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(PART_SUFFIX);
    set_mode(&mut builder, mode);
    // The name of the file that is not to be seen is left out of the error.
    UnfinishedFile::create_with(|| builder.tempfile_in(folder).map_err(|error| io::Error::from(error.kind())))
}

/// Takes away what runs that were killed have left of the same output.
fn remove_leftovers(folder: &Path, prefix: &str) {
    // A folder that cannot be listed may still be written to.
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_part = name.to_str().is_some_and(|name| name.starts_with(prefix) && name.ends_with(PART_SUFFIX));
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if is_part && age().is_some_and(|age| age > MIN_ABANDONED_AGE) {
            // Another run may have done it already; if it cannot be done, a new file can be written all the same.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Free bytes where [`nameless_file`] makes its files; `None` where the system does not tell.
pub fn free_temporary_bytes() -> Option<u64> {
    free_bytes_in(&std::env::temp_dir())
}

/// A file without a name, for what is only passed on: it is gone when it is closed, however the program ends. Error:
/// when none can be made in the system's folder for such files.
pub fn nameless_file() -> io::Result<File> {
    tempfile::tempfile()
}

/// The same in a folder.
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) fn nameless_file_in(folder: &Path) -> io::Result<File> {
    tempfile::tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_from_multiples_of_some_bytes_on() {
        let mut out = RawOutput::File(nameless_file().expect("a file"), 0);
        let bytes = vec![1; 3 * WRITE_BYTES];
        for (length, written) in [(100, 100), (bytes.len(), WRITE_BYTES - 100), (bytes.len(), WRITE_BYTES)] {
            assert_eq!(out.write(&bytes[..length]).expect("written"), written);
        }
        out.seek(SeekFrom::Start(5)).expect("a place");
        assert_eq!(out.write(&bytes).expect("written"), WRITE_BYTES - 5);
    }
}
