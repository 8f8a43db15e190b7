//! Reasons for which a dump cannot be opened. Texts name no command-line options: the command line adds those.

use std::path::PathBuf;

use super::memory::MemoryError;
use crate::input::ReadError;

/// The reason for which a dump, or an index in its place, cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It takes more memory than it may.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The file has one snapshot, and another was asked for by this number.
    #[error("the file has one snapshot, there is no \"{0}\"")]
    NoSuchSnapshot(usize),
    /// The path names an index that cannot be used, and its dump is not beside it: the index, and why in words.
    #[error("{0} {1}, and its dump is not beside it")]
    UnusableIndex(PathBuf, String),
    /// The path names an index, no index may be used, and its dump is not beside it.
    #[error("{0} is an index, and none is to be used")]
    OnlyAnIndex(PathBuf),
}

/// The reason for which there are no dominators and retained sizes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DominatorError {
    /// There is not the memory for them.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The dump broke off before the end of its references.
    #[error(
        "the dump is cut off before the end of its references: what holds an object, and what it retains, cannot be told"
    )]
    NoReferences,
}

/// The reason for which the values of objects cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoValues {
    /// Dumps of this format hold none.
    #[error("{0} dumps hold no values")]
    NotInFormat(String),
    /// The dump came through a pipe, and what it gave is gone.
    #[error(
        "no fields, texts and names of references: they are read from the dump a second time, and of standard input too \
         little was kept for that; name the file, or keep more with --spool SIZE"
    )]
    PipeNotKept,
    /// They are not told, on request.
    #[error("values of objects are left out here")]
    Hidden,
    /// The dump is not beside its index.
    #[error("no fields, texts and names of references: they are read from the dump, which is not beside its index")]
    OnlyAnIndex,
    /// The dump cannot be read again: why.
    #[error("no values: the dump cannot be read again: {0}")]
    Unreadable(String),
}

impl NoValues {
    /// Says true where any answer lacks something for it, not only one that asks for values.
    pub fn concerns_every_answer(&self) -> bool {
        matches!(self, NoValues::PipeNotKept | NoValues::OnlyAnIndex)
    }
}
