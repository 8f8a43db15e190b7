//! Writing the index of a dump.

use super::index::{DerivedResults, IndexMeta, ReadKey, WriteIndexError};
use super::options::OpenOptions;
use super::{OpenDump, Phase};
use crate::files::OutputTarget;
use crate::index::{self, SourceKey};

/// Writes the graph of a dump that was opened with `options` and without an index, and what follows from it, as an index
/// to `target`; returns the bytes written. `source` identifies the dump's file as it was before it was read; `None` for a
/// dump from a pipe. O(references x log objects).
///
/// # Errors
/// When the dump holds no objects, when there is not the memory, or when the file cannot be written.
pub fn write_index(
    dump: &OpenDump,
    target: &OutputTarget,
    source: Option<SourceKey>,
    options: &OpenOptions,
) -> Result<u64, WriteIndexError> {
    let graph = dump.graph().ok_or(WriteIndexError::NotObjects)?;
    dump.memory_limit.check_index_memory(graph).map_err(WriteIndexError::Memory)?;
    options.observer.phase_begun(Phase::ComputingDominators);
    let (derived, source) =
        rayon::join(|| DerivedResults::compute(graph), || source.map(SourceKey::with_content_checksum));
    options.observer.phase_begun(Phase::WritingIndex);
    index::write(target, source, |sink| {
        let stored = graph.store(sink)?;
        let dominators = derived.store(sink)?;
        if let Some(details) = dump.details() {
            details.store(sink)?;
        }
        let (info, diagnostics) = (dump.info.clone(), dump.diagnostics.clone());
        Ok(IndexMeta { options: ReadKey::of(&options.read), graph: stored, dominators, info, diagnostics })
    })
    .map_err(WriteIndexError::Io)
}
