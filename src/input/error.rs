//! Errors for dumps that cannot be read. The path is not part of the text, nor is what to do on a command line: whoever
//! opened the file adds these.

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
    pub fn like(self, place: u64) -> Position {
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
pub struct ReadError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ReadErrorKind,
    at: Option<Position>,
}

/// The kind of an error.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The operating system could not read the input.
    Io(std::io::Error),
    /// The path names a directory.
    IsDirectory,
    /// Not a single byte, or nothing but white space.
    Empty,
    /// The packed data is broken before anything came out of it.
    BrokenCompression(String),
    /// No reader knows the content. Names of all readers.
    UnknownFormat(Vec<&'static str>),
    /// Several readers think it may be theirs.
    AmbiguousFormat(Vec<&'static str>),
    /// No reader has this name. Names of all readers.
    NoSuchFormat(String, Vec<&'static str>),
    /// A format that is recognised and not read; the text says which and what to do.
    NotSupported(String),
    /// The file is of the format and holds no heap; the text says what to do.
    NoHeap(String),
    /// The format has no objects that could be counted: what it has.
    NoObjects(&'static str),
    /// The file is of the format, and of its objects none could be read: code, and what was found.
    NothingRead(String, String),
    /// `--snapshot` names none of the file's snapshots, of which there are so many.
    NoSuchSnapshot(usize, usize),
    /// The format is not read by these rules: the rules, the format, and the rules that it has.
    NoSuchRules(&'static str, &'static str, Vec<&'static str>),
    /// A problem met under `--strict`: code, and what was found.
    Strict(String, String),
    /// More than can be numbered.
    TooLarge(BuildError),
    /// The observer of the reading said to stop.
    Cancelled,
}

impl ReadError {
    /// An error of this kind, place unknown.
    pub fn new(kind: ReadErrorKind) -> Self {
        ReadError(Box::new(Inner { kind, at: None }))
    }

    /// The same, at a place.
    pub fn at(mut self, at: Position) -> Self {
        self.0.at = Some(at);
        self
    }

    /// The kind of the error.
    pub fn kind(&self) -> &ReadErrorKind {
        &self.0.kind
    }

    /// The place at which it showed, if known.
    pub fn position(&self) -> Option<Position> {
        self.0.at
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = self.0.at {
            write!(f, "{at}: ")?;
        }
        match &self.0.kind {
            ReadErrorKind::Io(_) => f.write_str("cannot read"),
            ReadErrorKind::IsDirectory => f.write_str("is a directory; name the dump file in it"),
            ReadErrorKind::Empty => f.write_str("the file is empty"),
            ReadErrorKind::BrokenCompression(text) => write!(f, "the compressed data is broken: {text}"),
            ReadErrorKind::UnknownFormat(_) => f.write_str("unknown format: not a dump that heapdump recognises"),
            ReadErrorKind::AmbiguousFormat(names) => write!(f, "may be any of {}", names.join(", ")),
            ReadErrorKind::NoSuchFormat(name, names) => {
                write!(f, "no input format is called \"{name}\"; there are {}", names.join(", "))
            }
            ReadErrorKind::NotSupported(text) | ReadErrorKind::NoHeap(text) => f.write_str(text),
            ReadErrorKind::NoObjects(what) => write!(f, "{what}, no objects to be counted"),
            ReadErrorKind::NothingRead(code, text) => write!(f, "no object could be read: {text} ({code})"),
            ReadErrorKind::NoSuchSnapshot(asked, 1) => {
                write!(f, "the file has one snapshot, there is no \"{asked}\"")
            }
            ReadErrorKind::NoSuchSnapshot(asked, count) => {
                write!(f, "the file has snapshots 1 to {count}, there is no \"{asked}\"; `info` lists them")
            }
            ReadErrorKind::NoSuchRules(rules, format, known) => {
                write!(f, "the rules {rules} are not for {format}, which has {}", known.join(", "))
            }
            ReadErrorKind::Strict(code, text) => write!(f, "{text} ({code})"),
            ReadErrorKind::TooLarge(error) => write!(f, "{error}"),
            ReadErrorKind::Cancelled => f.write_str("stopped before the end"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            ReadErrorKind::Io(error) => Some(error),
            _ => None,
        }
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
#[derive(Debug)]
pub(super) struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped before the end")
    }
}

impl std::error::Error for Cancelled {}

impl From<BuildError> for ReadError {
    fn from(error: BuildError) -> Self {
        ReadError::new(ReadErrorKind::TooLarge(error))
    }
}
