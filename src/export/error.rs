//! Reasons why a dump cannot be exported. Texts name no command-line options: the command line adds those.

use std::io;

use crate::answers::AnswerError;
use crate::dump::OpenDump;

/// Bytes that the paths of a flame graph may take: the drawing is made in memory.
pub const MAX_FLAMEGRAPH_BYTES: usize = 32 << 20;

/// The reason why a dump cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The dump does not have what was asked for, or it takes more memory than it may.
    #[error(transparent)]
    Answer(AnswerError),
    /// The index that the dump came from is damaged, and why. Nothing was written.
    #[error("{0}")]
    DamagedIndex(&'static str),
    /// The paths of a flame graph take more than [`MAX_FLAMEGRAPH_BYTES`].
    #[error("the paths take more than {MAX_FLAMEGRAPH_BYTES} bytes, too much for a flame graph")]
    FlamegraphTooLarge,
    /// A flame graph without a path: nothing is reachable, or nothing is large enough. What the drawing library says.
    #[error("cannot draw the flame graph: nothing is reachable, or nothing is large enough: {0}")]
    NothingToDraw(String),
    /// The output cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl<E: Into<AnswerError>> From<E> for ExportError {
    fn from(error: E) -> Self {
        ExportError::Answer(error.into())
    }
}

/// Checks the index that a dump came from, all of it: exports are written while they are computed. Error: when it is
/// damaged.
pub(super) fn verify_index_file(dump: &OpenDump) -> Result<(), ExportError> {
    dump.verify_index();
    let damage = dump.index_check().and_then(|check| check.damage());
    damage.map_or(Ok(()), |why| Err(ExportError::DamagedIndex(why)))
}
