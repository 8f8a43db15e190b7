//! Watching work that takes long: what is being done, how far reading is, and whether it shall stop.

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Reading the input and building the graph.
    Reading,
    /// Inferring roots of a dump that has none.
    InferringRoots,
    /// Finding objects that no root reaches, to give them roots.
    FindingUnreachable,
    /// Marking what strong roots reach.
    MarkingReachable,
    /// Computing the dominator tree and retained sizes.
    ComputingDominators,
    /// Computing exact retained sizes of types.
    RemovingTypes,
    /// Searching paths from roots.
    FindingPaths,
    /// Merging paths by type.
    MergingPaths,
    /// Looking for leak suspects.
    FindingSuspects,
    /// Writing an index.
    WritingIndex,
    /// Writing tables of a dataset.
    WritingTables,
}

impl Phase {
    /// The phase in words, for a progress line.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Reading => "reading",
            Phase::InferringRoots => "inferring roots",
            Phase::FindingUnreachable => "finding unreachable objects",
            Phase::MarkingReachable => "marking reachable objects",
            Phase::ComputingDominators => "computing dominators",
            Phase::RemovingTypes => "taking types out",
            Phase::FindingPaths => "finding paths",
            Phase::MergingPaths => "merging paths",
            Phase::FindingSuspects => "looking for suspects",
            Phase::WritingIndex => "writing the index",
            Phase::WritingTables => "writing tables",
        }
    }
}

/// Watches work on a dump. Every method has a default, so an observer implements what it needs. Called from any thread.
pub trait Observer: Send + Sync {
    /// A phase has begun; the one before it is over.
    fn phase(&self, _phase: Phase) {}

    /// So many bytes were taken from the file or pipe (packed bytes, if it is packed), of `total` where that is known.
    fn bytes_read(&self, _done: u64, _total: Option<u64>) {}

    /// So many steps of the phase are done, of `total`; of phases that have steps.
    fn steps(&self, _done: u64, _total: u64) {}

    /// Returns true if the work shall stop: reading then fails with [`ReadErrorKind::Cancelled`].
    ///
    /// [`ReadErrorKind::Cancelled`]: super::ReadErrorKind::Cancelled
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Something that the user should know about the dump or its index; a complete sentence, without the file's name.
    fn note(&self, _sentence: &str) {}
}

/// An observer that does nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}
