//! State that one run of the program has for all its dumps.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::{Context, Result};

use crate::cli::terminal::kept_dumps::KeptDumps;
use crate::cli::terminal::progress::ProgressDisplay;
use crate::dump::{IndexesInUse, MemoryLimit, OpenDump};

/// One run of the program: its progress line, the indexes and the memory in use, and what was said. It holds the dumps
/// that were asked until it is dropped: giving a large graph back piece by piece takes longer than letting the system
/// take all of it, so a program that ends with the run forgets its session.
#[derive(Default)]
pub struct Session {
    pub(crate) progress: Arc<ProgressDisplay>,
    /// Those that open dumps came from, to be given up when one is damaged.
    pub(crate) indexes: IndexesInUse,
    /// All dumps of a command share one account.
    pub(crate) memory_limit: Arc<OnceLock<MemoryLimit>>,
    /// Set once the number of threads is.
    threads_are_set: Arc<OnceLock<()>>,
    /// Not printed again when the command answers again.
    printed_notes: Mutex<Vec<String>>,
    held_dumps: Mutex<Vec<Arc<OpenDump>>>,
    /// Dumps that stay open from one call of a server to the next.
    pub(crate) kept_dumps: Option<Arc<KeptDumps>>,
    /// What objects hold besides references is not told.
    pub(crate) hides_values: AtomicBool,
    /// A server's answer, which is not printed.
    pub(crate) captured_answer: Option<Mutex<CapturedAnswer>>,
}

/// An answer in two forms.
#[derive(Default)]
pub(crate) struct CapturedAnswer {
    pub(crate) json: Vec<u8>,
    /// As in a pipe.
    pub(crate) text: Vec<u8>,
}

impl Session {
    /// The session of one call of a server: memory, threads and open dumps are those of all its calls.
    pub(crate) fn of_call(&self, progress: &Arc<ProgressDisplay>, kept: &Arc<KeptDumps>) -> Self {
        Session {
            progress: Arc::clone(progress),
            memory_limit: Arc::clone(&self.memory_limit),
            threads_are_set: Arc::clone(&self.threads_are_set),
            kept_dumps: Some(Arc::clone(kept)),
            captured_answer: Some(Mutex::default()),
            ..Session::default()
        }
    }

    /// The answer of a server's call.
    pub(crate) fn into_captured_answer(self) -> CapturedAnswer {
        self.captured_answer.unwrap_or_default().into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds a dump that has been asked, until the session is dropped.
    pub(crate) fn hold_until_end(&self, dump: Arc<OpenDump>) {
        self.held_dumps.lock().unwrap_or_else(PoisonError::into_inner).push(dump);
    }

    /// Analyses run on as many threads as parsing does. A command that opens two dumps sets this once.
    pub(crate) fn set_thread_count(&self, threads: usize) -> Result<()> {
        match self.threads_are_set.set(()) {
            Ok(()) => {
                rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().context("cannot start threads")
            }
            Err(()) => Ok(()),
        }
    }

    /// Prints a sentence beside the answer, on standard error: why the exit code is 1, what is wrong with a dump.
    pub(crate) fn print_sentence(&self, text: &str) {
        self.progress.print_sentence(text);
    }

    /// Prints `warning: file: text`. A command that answers again, without a damaged index, does not repeat it.
    pub(crate) fn print_note(&self, what: &str, file: Option<&str>, text: &str) {
        let file = file.map_or(String::new(), |file| format!("{file}: "));
        let line = format!("{what}: {file}{text}");
        let mut printed_notes = self.printed_notes.lock().unwrap_or_else(PoisonError::into_inner);
        if !(self.indexes.are_ignored() && printed_notes.contains(&line)) {
            self.print_sentence(&line);
            printed_notes.push(line);
        }
    }
}
