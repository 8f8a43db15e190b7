//! Progress of reading, as the readers report it.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::state::ReadProgress;
use crate::dump::{Observer, Phase};

/// Progress of the dumps, for all threads.
#[derive(Debug, Clone, Default)]
pub struct Watching(Arc<Watched>);

#[derive(Debug, Default)]
struct Watched {
    phase: Mutex<Option<(Phase, Instant)>>,
    done: AtomicU64,
    total: AtomicU64,
    objects: AtomicU64,
    file: AtomicUsize,
    is_cancelled: AtomicBool,
    notes: Mutex<Vec<String>>,
}

impl Watched {
    /// Says that what comes now is of this file.
    fn of_file(&self, number: usize) {
        if self.file.swap(number, Ordering::Relaxed) != number {
            self.objects.store(0, Ordering::Relaxed);
        }
    }
}

/// Watches one dump.
struct OfFile(Arc<Watched>, usize);

impl Watching {
    /// Returns an observer of a dump, by its place on the command line.
    pub fn of_file(&self, number: usize) -> Arc<dyn Observer> {
        Arc::new(OfFile(Arc::clone(&self.0), number))
    }

    /// Reading stops where it is.
    pub(super) fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub(super) fn progress(&self) -> ReadProgress {
        let phase = *self.0.phase.lock().unwrap_or_else(PoisonError::into_inner);
        ReadProgress {
            phase: phase.map(|(phase, _)| phase),
            elapsed: phase.map_or_else(Default::default, |(_, since)| since.elapsed()),
            done: self.0.done.load(Ordering::Relaxed),
            total: self.0.total.load(Ordering::Relaxed),
            objects: self.0.objects.load(Ordering::Relaxed),
            file: self.0.file.load(Ordering::Relaxed),
        }
    }

    /// Notes on the dumps and their indexes.
    pub(super) fn notes(&self) -> Vec<String> {
        self.0.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Observer for OfFile {
    fn phase(&self, phase: Phase) {
        *self.0.phase.lock().unwrap_or_else(PoisonError::into_inner) = Some((phase, Instant::now()));
        self.0.of_file(self.1);
        self.0.done.store(0, Ordering::Relaxed);
        self.0.total.store(0, Ordering::Relaxed);
    }

    fn bytes_read(&self, done: u64, total: Option<u64>) {
        {
            let mut phase = self.0.phase.lock().unwrap_or_else(PoisonError::into_inner);
            phase.get_or_insert_with(|| (Phase::Reading, Instant::now()));
        }
        self.0.of_file(self.1);
        self.0.done.store(done, Ordering::Relaxed);
        self.0.total.store(total.unwrap_or(0), Ordering::Relaxed);
    }

    fn objects_read(&self, objects: u64) {
        self.0.objects.store(objects, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Relaxed)
    }

    fn note(&self, sentence: &str) {
        self.0.notes.lock().unwrap_or_else(PoisonError::into_inner).push(sentence.to_string());
    }
}
