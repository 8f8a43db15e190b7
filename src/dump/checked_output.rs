//! Answers from indexes that are checked while they are read: an answer is written when all that was read of them was as
//! it had been made; when one turns out damaged, nothing of the answer is written, and it can be asked again without.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{IndexCheck, OpenDump};

/// An answer is held back up to this size; before a larger one is written, the whole index is checked.
const MAX_HELD_BYTES: usize = 1 << 20;

/// The indexes that open dumps came from.
#[derive(Default)]
pub struct IndexesInUse {
    in_use: Mutex<Vec<IndexInUse>>,
    are_ignored: AtomicBool,
}

struct IndexInUse {
    path: PathBuf,
    index_check: IndexCheck,
    is_quiet: bool,
}

impl IndexesInUse {
    fn lock(&self) -> MutexGuard<'_, Vec<IndexInUse>> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the index that a dump came from, if it came from one.
    pub fn remember_index_of(&self, dump: &OpenDump, is_quiet: bool) {
        if let Some(check) = dump.index_check() {
            let path = dump.path().map(Path::to_path_buf).unwrap_or_default();
            self.lock().push(IndexInUse { path, index_check: check, is_quiet });
        }
    }

    /// Returns true if indexes are not to be used any more.
    pub fn are_ignored(&self) -> bool {
        self.are_ignored.load(Ordering::Relaxed)
    }

    /// If an index in use is damaged: says so, and all are ignored from now on. Returns true if what was asked is to be
    /// asked again.
    pub fn ignore_all_if_damaged(&self, say: impl FnOnce(&str)) -> bool {
        let mut in_use = self.lock();
        let damaged = in_use.iter().find_map(|index| Some((index, index.index_check.damage()?)));
        let Some((IndexInUse { path, is_quiet, .. }, why)) = damaged else { return false };
        if !is_quiet {
            say(&format!("note: the index of {} is damaged ({why}); reading the dump", path.display()));
        }
        in_use.clear();
        self.are_ignored.store(true, Ordering::Relaxed);
        true
    }

    /// Fails when an index in use is not to be believed.
    fn check_undamaged(&self) -> io::Result<()> {
        let damage = self.lock().iter().find_map(|index| index.index_check.damage());
        damage.map_or(Ok(()), |why| Err(io::Error::other(why)))
    }

    /// Checks all blocks of all indexes in use, touched or not: for outputs that are written while the answer is computed.
    ///
    /// # Errors
    /// When one is damaged.
    pub fn verify_all(&self) -> io::Result<()> {
        self.lock().iter().for_each(|index| index.index_check.verify_all());
        self.check_undamaged()
    }
}

/// Checked writer of an answer from indexes.
pub struct CheckedOutput<'s, W> {
    indexes: &'s IndexesInUse,
    out: W,
    /// The part that is held back; `None` once what follows cannot be wrong.
    held_output: Option<Vec<u8>>,
}

impl<'s, W: Write> CheckedOutput<'s, W> {
    /// Begins an answer.
    pub fn begin(indexes: &'s IndexesInUse, out: W) -> Self {
        let held = (!indexes.lock().is_empty()).then(Vec::new);
        CheckedOutput { indexes, out, held_output: held }
    }

    /// Ends the answer: writes what was held back.
    ///
    /// # Errors
    /// When an index is damaged, and nothing was written; or when `out` cannot be written to.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(held) = self.held_output.take() {
            self.indexes.check_undamaged()?;
            self.out.write_all(&held)?;
        }
        self.out.flush()
    }
}

impl<W: Write> Write for CheckedOutput<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.held_output {
            Some(held) if held.len() + bytes.len() <= MAX_HELD_BYTES => {
                held.extend_from_slice(bytes);
                return Ok(bytes.len());
            }
            Some(held) => {
                self.indexes.verify_all()?;
                self.out.write_all(held)?;
                self.held_output = None;
            }
            None => {}
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        // What is held back waits for the end.
        if self.held_output.is_some() { Ok(()) } else { self.out.flush() }
    }
}
