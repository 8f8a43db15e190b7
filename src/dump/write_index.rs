//! Writing the index of a dump.

use super::index::{Derived, IndexMeta, ReadKey, WriteIndexError};
use super::options::OpenOptions;
use super::{Observer, OpenDump, Phase};
use crate::files::Target;
use crate::index::{self, SourceKey};
use crate::input::ReadOptions;

impl OpenDump {
    /// Writes the dump's graph and what follows from it as an index to `target`; returns the bytes written. `source`
    /// identifies the dump's file as it was before it was read; `None` for a dump from a pipe. `read` is how it was
    /// read. O(references x log objects).
    ///
    /// # Errors
    /// When the dump holds no objects, when there is not the memory, or when the file cannot be written.
    fn write_index_to(
        &self,
        target: &Target,
        source: Option<SourceKey>,
        read: &ReadOptions,
        observer: &dyn Observer,
    ) -> Result<u64, WriteIndexError> {
        let graph = self.graph().ok_or(WriteIndexError::NotObjects)?;
        self.memory.check_index(graph).map_err(WriteIndexError::Memory)?;
        observer.phase(Phase::ComputingDominators);
        let (derived, source) = rayon::join(|| Derived::compute(graph), || source.map(SourceKey::with_content));
        observer.phase(Phase::WritingIndex);
        index::write(target, source, |sink| {
            let stored = graph.store(sink)?;
            let dominators = derived.store(sink)?;
            if let Some(details) = self.details() {
                details.store(sink)?;
            }
            Ok(IndexMeta {
                options: ReadKey::of(read),
                graph: stored,
                dominators,
                info: self.info.clone(),
                diagnostics: self.diagnostics.clone(),
            })
        })
        .map_err(WriteIndexError::Io)
    }
}

/// Writes the index of a dump that was opened with `options` and without an index.
///
/// # Errors
/// When the dump holds no objects, when there is not the memory, or when the file cannot be written.
pub fn write_index(
    dump: &OpenDump,
    target: &Target,
    source: Option<SourceKey>,
    options: &OpenOptions,
) -> Result<u64, WriteIndexError> {
    dump.write_index_to(target, source, &options.read, &*options.observer)
}
