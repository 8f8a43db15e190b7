//! Progress of reading, as the readers report it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::dump::{Observer, Phase};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ReadProgress {
    pub(super) phase: Option<Phase>,
    /// Since the phase began.
    pub(super) elapsed: Duration,
    pub(super) done_bytes: u64,
    /// 0 where that is not known.
    pub(super) total_bytes: u64,
    /// Found so far; 0 before the first, and of dumps without objects.
    pub(super) object_count: u64,
    /// The file that is read, where there are two.
    pub(super) file_number: usize,
}

/// Progress of the dumps, for all threads.
#[derive(Debug, Clone, Default)]
pub struct LoadProgress(Arc<SharedLoad>);

#[derive(Debug, Default)]
struct SharedLoad {
    state: Mutex<LoadingState>,
    is_cancelled: AtomicBool,
}

#[derive(Debug, Default)]
struct LoadingState {
    progress: ReadProgress,
    phase_began: Option<Instant>,
    notes: Vec<String>,
}

impl SharedLoad {
    fn state(&self) -> MutexGuard<'_, LoadingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct FileObserver(Arc<SharedLoad>, usize);

impl LoadProgress {
    /// Returns an observer of a dump, by its place on the command line.
    pub fn observer_of_file(&self, number: usize) -> Arc<dyn Observer> {
        Arc::new(FileObserver(Arc::clone(&self.0), number))
    }

    /// Reading stops where it is.
    pub(super) fn cancel_reading(&self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub(super) fn current_progress(&self) -> ReadProgress {
        let state = self.0.state();
        let elapsed = state.phase_began.map_or_else(Duration::default, |began| began.elapsed());
        ReadProgress { elapsed, ..state.progress }
    }

    /// Notes on the dumps and their indexes.
    pub(super) fn notes(&self) -> Vec<String> {
        self.0.state().notes.clone()
    }
}

impl FileObserver {
    /// Progress of this file, which is the one that is read from now on: objects of another do not count.
    fn record_progress(&self, done: u64, total: u64, change: impl FnOnce(&mut LoadingState)) {
        let mut state = self.0.state();
        let objects = if state.progress.file_number == self.1 { state.progress.object_count } else { 0 };
        state.progress = ReadProgress {
            done_bytes: done,
            total_bytes: total,
            object_count: objects,
            file_number: self.1,
            ..state.progress
        };
        change(&mut state);
    }
}

impl Observer for FileObserver {
    fn phase_begun(&self, phase: Phase) {
        self.record_progress(0, 0, |state| {
            state.progress.phase = Some(phase);
            state.phase_began = Some(Instant::now());
        });
    }

    fn bytes_read(&self, done: u64, total: Option<u64>) {
        self.record_progress(done, total.unwrap_or(0), |state| {
            state.progress.phase.get_or_insert(Phase::Reading);
            state.phase_began.get_or_insert_with(Instant::now);
        });
    }

    fn objects_read(&self, objects: u64) {
        self.0.state().progress.object_count = objects;
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Relaxed)
    }

    fn note_for_user(&self, sentence: &str) {
        self.0.state().notes.push(sentence.to_string());
    }
}
