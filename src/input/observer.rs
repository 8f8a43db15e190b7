//! Watching work that takes long: what is being done, how far reading is, and whether it shall stop.

use std::sync::Arc;

/// A phase of the work on a dump.
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
    ComputingExactRetained,
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
            Phase::ComputingExactRetained => "taking types out",
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
    fn phase_begun(&self, _phase: Phase) {}

    /// So many bytes were taken from the file or pipe (packed bytes, if it is packed), of `total` where that is known.
    fn bytes_read(&self, _done: u64, _total: Option<u64>) {}

    /// So many objects were found so far in the dump that is read, of all its snapshots. Told for blocks of objects,
    /// not for each; may be 0.
    fn objects_read(&self, _objects: u64) {}

    /// So many steps of the phase are done, of `total`; of phases that have steps.
    fn steps_done(&self, _done: u64, _total: u64) {}

    /// Returns true if the work shall stop: reading then fails with [`ReadErrorKind::Cancelled`].
    ///
    /// [`ReadErrorKind::Cancelled`]: super::ReadErrorKind::Cancelled
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Something that the user should know about the dump or its index; a complete sentence, without the file's name.
    fn note_for_user(&self, _sentence: &str) {}
}

/// An observer that does nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}

/// Counts the objects that a reader finds, for its observer.
pub(super) struct ObjectTally {
    observer: Arc<dyn Observer>,
    reported_object_count: u64,
}

impl Default for ObjectTally {
    fn default() -> Self {
        ObjectTally::new(Arc::new(NoObserver))
    }
}

impl ObjectTally {
    /// Objects between two reports of `set_total`.
    const REPORT_STEP: u64 = 1 << 14;

    pub(super) fn new(observer: Arc<dyn Observer>) -> Self {
        ObjectTally { observer, reported_object_count: 0 }
    }

    /// Adds objects and reports the sum.
    pub(super) fn add_and_report(&mut self, objects: usize) {
        self.reported_object_count += objects as u64;
        self.observer.objects_read(self.reported_object_count);
    }

    /// Sets the sum; reports the first object, and then every `REPORT_STEP` objects.
    #[inline]
    pub(super) fn set_total(&mut self, objects: u64) {
        if self.reported_object_count == 0 || objects >= self.reported_object_count + Self::REPORT_STEP {
            self.add_and_report((objects - self.reported_object_count) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::super::{ReadOptions, Source, read};
    use super::*;

    #[derive(Default)]
    struct LastCount(AtomicU64);

    impl Observer for LastCount {
        fn objects_read(&self, objects: u64) {
            let before = self.0.swap(objects, Ordering::Relaxed);
            assert!(before <= objects, "{objects} after {before}");
        }
    }

    /// While any dump with objects is read, its observer learns how many there are.
    #[test]
    fn observers_learn_of_objects() {
        let reported_count = |fixture: &str| {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(fixture);
            let last = Arc::new(LastCount::default());
            let loaded = read(Source::open_observed(&path, last.clone()).unwrap(), &ReadOptions::default()).unwrap();
            assert!(matches!(loaded.dump, super::super::Dump::Graph(_)), "{fixture}");
            last.0.load(Ordering::Relaxed)
        };
        for (fixture, objects) in FIXTURES {
            assert_eq!(reported_count(fixture), objects, "{fixture}");
        }
    }

    /// Records of objects, by what the expected results beside the fixtures say of them: V8's pseudo nodes are nodes. Of PHD
    /// the first is reported at once, the others by thousands.
    const FIXTURES: [(&str, u64); 7] = [
        ("hprof/zoo-jdk17-serial.hprof.zst", 16_418),
        ("gcdump/small-net9.gcdump.zst", 2_740),
        ("nettrace/small-net9.nettrace.zst", 2_740),
        ("xna_cf/pair_after.txt", 2_252),
        ("ibm_classic/small.native.txt.gz", 847 + 14_477 + 5_668),
        ("phd/every-record-v6-64bit.phd", 1),
        ("v8_snapshot/page156.heapsnapshot.zst", 36_856),
    ];
}
