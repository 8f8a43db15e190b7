//! Reasons for which a dump cannot be opened. Texts name no command-line options: the command line adds those.

use std::fmt;
use std::path::PathBuf;

use super::memory::MemoryError;
use crate::input::ReadError;

/// The reason for which a dump, or an index in its place, cannot be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// It cannot be read.
    Read(ReadError),
    /// It takes more memory than it may.
    Memory(MemoryError),
    /// The file has one snapshot, and another was asked for by this number.
    NoSuchSnapshot(usize),
    /// The path names an index that cannot be used, and its dump is not beside it: the index, and why in words.
    UnusableIndex(PathBuf, String),
    /// The path names an index, no index may be used, and its dump is not beside it.
    OnlyAnIndex(PathBuf),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Read(error) => error.fmt(f),
            OpenError::Memory(error) => error.fmt(f),
            OpenError::NoSuchSnapshot(number) => write!(f, "the file has one snapshot, there is no \"{number}\""),
            OpenError::UnusableIndex(path, why) => {
                write!(f, "{} {why}, and its dump is not beside it", path.display())
            }
            OpenError::OnlyAnIndex(path) => write!(f, "{} is an index, and none is to be used", path.display()),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Their text is this one's already.
            OpenError::Read(error) => error.source(),
            _ => None,
        }
    }
}

impl From<ReadError> for OpenError {
    fn from(error: ReadError) -> Self {
        OpenError::Read(error)
    }
}

impl From<MemoryError> for OpenError {
    fn from(error: MemoryError) -> Self {
        OpenError::Memory(error)
    }
}

/// The reason for which there are no dominators and retained sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TreeError {
    /// There is not the memory for them.
    Memory(MemoryError),
    /// The dump broke off before its references.
    NoReferences,
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TreeError::Memory(error) => error.fmt(f),
            TreeError::NoReferences => f.write_str(
                "the dump is cut off before the end of its references: what holds an object, and what it retains, cannot be told",
            ),
        }
    }
}

impl std::error::Error for TreeError {}

impl From<MemoryError> for TreeError {
    fn from(error: MemoryError) -> Self {
        TreeError::Memory(error)
    }
}

/// The reason for which the values of objects cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoValues {
    /// Dumps of this format hold none.
    Format(String),
    /// The dump came through a pipe, and what it gave is gone.
    Pipe,
    /// The dump is not beside its index.
    OnlyAnIndex,
    /// The dump cannot be read again: why.
    Unreadable(String),
}

impl fmt::Display for NoValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoValues::Format(format) => write!(f, "{format} dumps hold no values"),
            NoValues::Pipe => f.write_str(
                "no fields, texts and names of references: they are read from the dump a second time, and of standard input too \
                 little was kept for that; name the file, or keep more with --spool SIZE",
            ),
            NoValues::OnlyAnIndex => f.write_str("no values: they are in the dump, which is not beside its index"),
            NoValues::Unreadable(why) => write!(f, "no values: the dump cannot be read again: {why}"),
        }
    }
}
