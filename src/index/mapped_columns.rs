//! Columns of a mapped file, checked when they are first touched.

use crate::parallel;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use memmap2::Mmap;

use super::layout::{ALIGNMENT_BYTES, BLOCK_BYTES};
use super::source_key::checksum_of;
use crate::graph::MappedImage;

/// The columns of a mapped file. Blocks that passed their check stay good; the first that does not is remembered.
pub(super) struct MappedColumns {
    map: Mmap,
    column_bytes: usize,
    block_checksums: Vec<u64>,
    /// Blocks that passed their check.
    checked_blocks: Box<[AtomicBool]>,
    /// What was wrong first.
    damage: OnceLock<&'static str>,
}

impl MappedColumns {
    /// The length of the map was compared with `column_bytes` and the number of checks.
    pub(super) fn new(map: Mmap, column_bytes: usize, checks: Vec<u64>) -> Self {
        let checked = checks.iter().map(|_| AtomicBool::new(false)).collect();
        MappedColumns { map, column_bytes, block_checksums: checks, checked_blocks: checked, damage: OnceLock::new() }
    }

    /// The damage of the file; `None` while everything that was touched is as it was written.
    pub(super) fn damage(&self) -> Option<&'static str> {
        self.damage.get().copied()
    }

    /// Checks every block; [`damage`](Self::damage) then has what is wrong. O(bytes), on all threads.
    pub(super) fn verify_all(&self) {
        const BLOCKS_AT_ONCE: usize = 64;
        let starts = (0..self.block_checksums.len()).step_by(BLOCKS_AT_ONCE).collect();
        parallel::map(starts, &|start: usize| {
            for block in start..self.block_checksums.len().min(start + BLOCKS_AT_ONCE) {
                self.verify_block(block);
            }
        });
    }

    /// Gives back the memory of what was read.
    pub(super) fn release_pages(&self) {
        super::memory_map::release_pages(&self.map);
    }

    /// The bytes of all columns with the gaps between them.
    fn column_region(&self) -> &[u8] {
        &self.map[ALIGNMENT_BYTES..ALIGNMENT_BYTES + self.column_bytes]
    }

    fn verify_block(&self, block: usize) -> bool {
        if self.checked_blocks[block].load(Ordering::Acquire) {
            return true;
        }
        let start = block * BLOCK_BYTES;
        let end = self.column_bytes.min(start + BLOCK_BYTES);
        let is_good = checksum_of(&self.column_region()[start..end]) == self.block_checksums[block];
        if is_good {
            self.checked_blocks[block].store(true, Ordering::Release);
        } else {
            self.mark_damaged("a block of it is not as it was written");
        }
        is_good
    }
}

impl MappedImage for MappedColumns {
    fn verify(&self, range: Range<usize>) -> bool {
        range.is_empty()
            || (range.start / BLOCK_BYTES..=(range.end - 1) / BLOCK_BYTES).all(|block| self.verify_block(block))
    }

    fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.column_region()[range]
    }

    fn mark_damaged(&self, reason: &'static str) {
        self.damage.get_or_init(|| reason);
    }
}

impl fmt::Debug for MappedColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappedColumns").field("column_bytes", &self.column_bytes).finish_non_exhaustive()
    }
}
