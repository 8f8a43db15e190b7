//! The files behind outputs.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// A file, or standard output: without a buffer.
#[derive(Debug)]
pub(crate) enum Raw {
    /// A file.
    File(File),
    /// Standard output, which has no places to go back to.
    StandardOutput(io::Stdout),
}

impl Write for Raw {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Raw::File(file) => file.write(bytes),
            Raw::StandardOutput(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Raw::File(file) => file.flush(),
            Raw::StandardOutput(out) => out.flush(),
        }
    }
}

impl Seek for Raw {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Raw::File(file) => file.seek(to),
            Raw::StandardOutput(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}
