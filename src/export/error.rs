//! Reasons why a dump cannot be exported. Texts name no command-line options: the command line adds those.

use std::{fmt, io};

use crate::answers::AnswerError;
use crate::dump::OpenDump;

/// Bytes that the paths of a flame graph may take: the drawing is made in memory.
pub const MAX_FLAMEGRAPH_BYTES: usize = 32 << 20;

/// The reason why a dump cannot be exported.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExportError {
    /// The dump does not have what was asked for, or it takes more memory than it may.
    Answer(AnswerError),
    /// The index that the dump came from is damaged, and why. Nothing was written.
    DamagedIndex(&'static str),
    /// The paths of a flame graph take more than [`MAX_FLAMEGRAPH_BYTES`].
    FlamegraphTooLarge,
    /// A flame graph without a path: nothing is reachable, or nothing is large enough. What the drawing library says.
    NothingToDraw(String),
    /// The output cannot be written.
    Write(io::Error),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportError::Answer(error) => error.fmt(f),
            ExportError::DamagedIndex(why) => f.write_str(why),
            ExportError::FlamegraphTooLarge => {
                write!(f, "the paths take more than {MAX_FLAMEGRAPH_BYTES} bytes, too much for a flame graph")
            }
            ExportError::NothingToDraw(why) => {
                write!(f, "cannot draw the flame graph: nothing is reachable, or nothing is large enough: {why}")
            }
            ExportError::Write(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ExportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Their text is this one's already.
            ExportError::Answer(error) => error.source(),
            ExportError::Write(error) => error.source(),
            _ => None,
        }
    }
}

impl<E: Into<AnswerError>> From<E> for ExportError {
    fn from(error: E) -> Self {
        ExportError::Answer(error.into())
    }
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> Self {
        ExportError::Write(error)
    }
}

/// Checks the index that a dump came from, all of it: exports are written while they are computed.
///
/// # Errors
/// When it is damaged.
pub(super) fn check_index(dump: &OpenDump) -> Result<(), ExportError> {
    dump.verify_index();
    match dump.index_check().and_then(|check| check.damage()) {
        Some(why) => Err(ExportError::DamagedIndex(why)),
        None => Ok(()),
    }
}
