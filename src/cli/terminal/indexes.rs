//! Indexes that the answers of this command come from. An answer is printed when all that was read of them was as
//! written; when one turns out damaged, nothing of the answer is printed, and the command runs again without indexes.

use std::io::{self, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::cli::terminal::output::print_sentence;
use crate::dump::{IndexCheck, OpenDump};

/// An answer is held back up to this size; before a larger one is printed, the whole index is checked.
const HELD_BYTES: usize = 1 << 20;

static IN_USE: Mutex<Vec<(PathBuf, IndexCheck)>> = Mutex::new(Vec::new());
/// No notes.
static IS_QUIET: AtomicBool = AtomicBool::new(false);
static ARE_IGNORED: AtomicBool = AtomicBool::new(false);

fn in_use() -> MutexGuard<'static, Vec<(PathBuf, IndexCheck)>> {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers the index that a dump came from, if it came from one.
pub(crate) fn remember(dump: &OpenDump, is_quiet: bool) {
    IS_QUIET.store(is_quiet, Ordering::Relaxed);
    if let Some(check) = dump.index_check() {
        in_use().push((dump.path().map(Path::to_path_buf).unwrap_or_default(), check));
    }
}

/// Returns true if indexes are not to be used any more.
pub(crate) fn are_ignored() -> bool {
    ARE_IGNORED.load(Ordering::Relaxed)
}

/// Why an index in use is not to be believed, and whose it is; `None` if all are good so far.
fn damage() -> Option<(PathBuf, &'static str)> {
    in_use().iter().find_map(|(path, check)| check.damage().map(|why| (path.clone(), why)))
}

/// If an index in use is damaged: says so, and uses none from now on. Returns true if the command is to run again.
pub(crate) fn give_up_damaged() -> bool {
    let Some((path, why)) = damage() else { return false };
    in_use().clear();
    ARE_IGNORED.store(true, Ordering::Relaxed);
    if !IS_QUIET.load(Ordering::Relaxed) {
        print_sentence(&format!("note: the index of {} is damaged ({why}); reading the dump", path.display()));
    }
    true
}

/// Checks all blocks of all indexes in use: for outputs that are written while the answer is computed.
///
/// # Errors
/// When one is damaged.
pub(crate) fn verify_all() -> io::Result<()> {
    in_use().iter().for_each(|(_, check)| check.verify_all());
    match damage() {
        Some((_, why)) => Err(io::Error::other(why)),
        None => Ok(()),
    }
}

/// Standard output for an answer.
pub(crate) struct AnswerOutput {
    out: io::BufWriter<StdoutLock<'static>>,
    /// What is held back; `None` once what follows cannot be wrong.
    held: Option<Vec<u8>>,
}

impl AnswerOutput {
    /// Begins an answer.
    pub(crate) fn begin() -> Self {
        let held = (!in_use().is_empty()).then(Vec::new);
        AnswerOutput { out: io::BufWriter::with_capacity(64 * 1024, io::stdout().lock()), held }
    }

    /// Ends the answer: prints what was held back.
    ///
    /// # Errors
    /// When an index is damaged, and nothing was printed; or when standard output cannot be written to.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if let Some(held) = self.held.take() {
            if let Some((_, why)) = damage() {
                return Err(io::Error::other(why));
            }
            self.out.write_all(&held)?;
        }
        self.out.flush()
    }
}

impl Write for AnswerOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.held {
            Some(held) if held.len() + bytes.len() <= HELD_BYTES => {
                held.extend_from_slice(bytes);
                return Ok(bytes.len());
            }
            Some(held) => {
                verify_all()?;
                self.out.write_all(held)?;
                self.held = None;
            }
            None => {}
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        // What is held back waits for the end.
        if self.held.is_some() { Ok(()) } else { self.out.flush() }
    }
}
