//! Columns as bytes: those of a mapped file, checked when they are first touched, or a good copy in memory.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use memmap2::Mmap;

use super::layout::{ALIGNMENT, BLOCK, check_of};
use crate::graph::Image;

/// Columns in memory, laid out as in the file.
#[derive(Debug, Default)]
pub struct MemoryImage {
    /// In words, so that it begins where columns of words may.
    words: Vec<u64>,
    bytes: usize,
}

impl MemoryImage {
    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }
}

impl io::Write for MemoryImage {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end = self.bytes + bytes.len();
        self.words.resize(end.div_ceil(8), 0);
        bytemuck::cast_slice_mut::<u64, u8>(&mut self.words)[self.bytes..end].copy_from_slice(bytes);
        self.bytes = end;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What to do when an index turns out damaged while it is in use: tell the user, and make the columns anew. Called
/// once. May end the process instead, when there is nothing to make them of.
pub type Damage = Box<dyn Fn(&str) -> MemoryImage + Send + Sync>;

/// The columns of a mapped file. What was handed out before damage showed came from blocks that had been checked, so it
/// stands; everything after comes from the good copy.
pub(super) struct FileImage {
    map: Mmap,
    column_bytes: usize,
    checks: Vec<u64>,
    checked: Box<[AtomicBool]>,
    is_rejected: AtomicBool,
    good: OnceLock<MemoryImage>,
    damage: Damage,
}

impl FileImage {
    /// The length of the map was compared with `column_bytes` and the number of checks.
    pub(super) fn new(map: Mmap, column_bytes: usize, checks: Vec<u64>, damage: Damage) -> Self {
        let checked = checks.iter().map(|_| AtomicBool::new(false)).collect();
        let is_rejected = AtomicBool::new(false);
        FileImage { map, column_bytes, checks, checked, is_rejected, good: OnceLock::new(), damage }
    }

    fn columns(&self) -> &[u8] {
        &self.map[ALIGNMENT..ALIGNMENT + self.column_bytes]
    }

    fn good(&self, reason: &str) -> &[u8] {
        let good = self.good.get_or_init(|| (self.damage)(reason));
        good.bytes()
    }
}

impl Image for FileImage {
    fn verify(&self, range: Range<usize>) {
        if range.is_empty() || self.is_rejected.load(Ordering::Acquire) {
            return;
        }
        for block in range.start / BLOCK..=(range.end - 1) / BLOCK {
            if self.checked[block].load(Ordering::Acquire) {
                continue;
            }
            let start = block * BLOCK;
            let end = self.column_bytes.min(start + BLOCK);
            if check_of(&self.columns()[start..end]) != self.checks[block] {
                return self.reject("a block of it is not as it was written");
            }
            self.checked[block].store(true, Ordering::Release);
        }
    }

    fn bytes(&self, range: Range<usize>) -> &[u8] {
        if self.is_rejected.load(Ordering::Acquire) {
            return &self.good("")[range];
        }
        &self.columns()[range]
    }

    fn reject(&self, reason: &str) {
        // Whoever comes second waits here until the good copy is there.
        self.good(reason);
        self.is_rejected.store(true, Ordering::Release);
    }
}

impl fmt::Debug for FileImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileImage").field("column_bytes", &self.column_bytes).finish_non_exhaustive()
    }
}
