//! Errors for dumps that cannot be read. The path is not part of the text, nor is what to do on a command line: whoever
//! opened the file adds these.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::graph::BuildError;

/// A place in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Position {
    /// Line of the text, from 1.
    Line(u64),
    /// Byte offset in the (unpacked) input, from 0.
    Byte(u64),
}

impl Position {
    /// A place of the same kind: a line for a line, an offset for an offset.
    pub fn with_value(self, place: u64) -> Position {
        match self {
            Position::Line(_) => Position::Line(place),
            Position::Byte(_) => Position::Byte(place),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Line(line) => write!(f, "line {line}"),
            Position::Byte(offset) => write!(f, "byte {offset}"),
        }
    }
}

/// A dump that could not be read, and where that showed.
#[derive(Debug)]
pub struct ReadError(Box<ReadErrorParts>);

#[derive(Debug)]
struct ReadErrorParts {
    kind: ReadErrorKind,
    position: Option<Position>,
}

/// The kind of an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The operating system could not read the input.
    #[error("cannot read")]
    Io(#[source] std::io::Error),
    /// The path names a directory.
    #[error("is a directory; name the dump file in it")]
    IsDirectory,
    /// Not a single byte, or nothing but white space.
    #[error("the file is empty")]
    Empty,
    /// The packed data is broken before anything came out of it.
    #[error("the compressed data is broken: {0}")]
    BrokenCompression(String),
    /// No reader knows the content. Names of all readers.
    #[error("unknown format: not a dump that heapdump recognises")]
    UnknownFormat(Vec<&'static str>),
    /// Several readers think it may be theirs.
    #[error("may be any of {}", .0.join(", "))]
    AmbiguousFormat(Vec<&'static str>),
    /// No reader has this name. Names of all readers.
    #[error("no input format is called \"{}\"; there are {}", .0, .1.join(", "))]
    NoSuchFormat(String, Vec<&'static str>),
    /// A format, a dump or an option that is known and not supported here; the text says which and what to do.
    #[error("{0}")]
    NotSupported(String),
    /// The file is of the format and holds no heap, or not the values that were asked for; the text says which.
    #[error("{0}")]
    NoHeap(String),
    /// The format has no objects that could be counted: what it has.
    #[error("{0}, no objects to be counted")]
    NoObjects(&'static str),
    /// The file is of the format, and of its objects none could be read: code, and what was found.
    #[error("no object could be read: {1} ({0})")]
    NothingRead(String, String),
    /// A snapshot (the number that was asked for) that the file has not, and how many it has.
    #[error("the file has {}", no_such_snapshot_text(*.0, *.1))]
    NoSuchSnapshot(usize, usize),
    /// The format is not read by these rules: the rules, the format, and the rules that it has.
    #[error("the rules {} are not for {}, which has {}", .0, .1, .2.join(", "))]
    NoSuchRules(&'static str, &'static str, Vec<&'static str>),
    /// A problem met under `--strict`: code, and what was found.
    #[error("{1} ({0})")]
    StrictProblem(String, String),
    /// More than can be numbered, or than there is memory for.
    #[error(transparent)]
    TooLarge(BuildError),
    /// The observer of the reading said to stop.
    #[error("{Cancelled}")]
    Cancelled,
}

fn no_such_snapshot_text(asked: usize, count: usize) -> String {
    match count {
        1 => format!("one snapshot, there is no \"{asked}\""),
        _ => format!("snapshots 1 to {count}, there is no \"{asked}\"; `info` lists them"),
    }
}

impl ReadError {
    /// An error of this kind, place unknown.
    pub fn new(kind: ReadErrorKind) -> Self {
        ReadError(Box::new(ReadErrorParts { kind, position: None }))
    }

    /// The same, at a place.
    pub fn at(mut self, at: Position) -> Self {
        self.0.position = Some(at);
        self
    }

    /// The kind of the error.
    pub fn kind(&self) -> &ReadErrorKind {
        &self.0.kind
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = self.0.position {
            write!(f, "{at}: ")?;
        }
        write!(f, "{}", self.0.kind)
    }
}

impl Error for ReadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.kind.source()
    }
}

impl From<std::io::Error> for ReadError {
    /// Unwraps what a source's budget refused, which comes through readers of bytes as an error of theirs.
    fn from(error: std::io::Error) -> Self {
        if error.get_ref().is_some_and(|inner| inner.is::<Cancelled>()) {
            return ReadError::new(ReadErrorKind::Cancelled);
        }
        match error.get_ref().and_then(|inner| inner.downcast_ref::<BuildError>()) {
            Some(&refused) => refused.into(),
            None => ReadError::new(ReadErrorKind::Io(error)),
        }
    }
}

/// The observer's wish to stop, on its way through code that passes on errors of the system.
#[derive(Debug, thiserror::Error)]
#[error("stopped before the end")]
pub(super) struct Cancelled;

impl From<BuildError> for ReadError {
    fn from(error: BuildError) -> Self {
        ReadError::new(ReadErrorKind::TooLarge(error))
    }
}
