//! Allocations of 4 MiB and more, on large pages of Linux where it has them. What is freed is used again: a new page must be
//! cleared, and in a virtual machine be had of its host, which took a fifth to a third of the time of `leaks`. No page of
//! another large block is new while as much is free, so that large dumps take no more memory; what waits for a question gives all back.
#![allow(
    unsafe_code,
    reason = "an allocator, of memory that the system maps; `dominators` of V8 and XNA dumps takes a tenth to a fifth less time with it"
)]

use std::alloc::Layout;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::mm::{self, Advice, MapFlags, MremapFlags, ProtFlags};

const MIN_LARGE_BYTES: usize = 4 << 20;
/// The least page of all machines.
const MAX_ALIGNMENT: usize = 4096;
/// Smaller ones are given back: of small dumps what is allocated next is no large block, and would be new beside them.
const MIN_KEPT_BYTES: usize = 16 << 20;
/// More are given back.
const MAX_FREE_BLOCKS: usize = 64;

static FREE_BLOCKS: Mutex<FreeBlocks> =
    Mutex::new(FreeBlocks { blocks: [Block { address: 0, bytes: 0 }; MAX_FREE_BLOCKS], count: 0 });

/// Whole pages.
#[derive(Debug, Clone, Copy)]
struct Block {
    address: usize,
    bytes: usize,
}

/// Blocks that nobody has; their pages have been written to, for the most part.
#[derive(Debug)]
struct FreeBlocks {
    blocks: [Block; MAX_FREE_BLOCKS],
    count: usize,
}

impl FreeBlocks {
    fn lock() -> MutexGuard<'static, Self> {
        FREE_BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The smallest that has so many bytes, cut to them; else the largest.
    fn take(&mut self, bytes: usize) -> Option<Block> {
        let rank = |at: &usize| match self.blocks[*at].bytes {
            enough if enough >= bytes => (0, enough),
            less => (1, usize::MAX - less),
        };
        let at = (0..self.count).min_by_key(rank)?;
        let block = self.blocks[at];
        let taken = Block { bytes: block.bytes.min(bytes), ..block };
        self.blocks[at] = Block { address: block.address + taken.bytes, bytes: block.bytes - taken.bytes };
        if block.bytes == taken.bytes {
            self.count -= 1;
            self.blocks[at] = self.blocks[self.count];
        }
        Some(taken)
    }

    /// Keeps a block; gives the smallest back where there are too many.
    fn keep(&mut self, block: Block) {
        if self.count == MAX_FREE_BLOCKS
            && let Some(smallest) = self.blocks.iter_mut().min_by_key(|block| block.bytes)
        {
            let given_back = std::mem::replace(smallest, block);
            return give_back(given_back);
        }
        self.blocks[self.count] = block;
        self.count += 1;
    }

    /// Gives so many bytes back to the system, as far as they are there.
    fn give_back(&mut self, mut bytes: usize) {
        while bytes > 0 && self.count > 0 {
            let last = &mut self.blocks[self.count - 1];
            let given_back = last.bytes.min(bytes);
            last.bytes -= given_back;
            let block = Block { address: last.address + last.bytes, bytes: given_back };
            if last.bytes == 0 {
                self.count -= 1;
            }
            bytes -= given_back;
            give_back(block);
        }
    }
}

fn give_back(block: Block) {
    // SAFETY: whole pages that nobody has.
    _ = unsafe { mm::munmap(ptr::with_exposed_provenance_mut(block.address), block.bytes) };
}

fn whole_pages(bytes: usize) -> usize {
    bytes.next_multiple_of(rustix::param::page_size())
}

/// Is an allocation made here? The others are the system's allocator's.
#[inline]
pub(crate) fn is_large(layout: Layout) -> bool {
    layout.size() >= MIN_LARGE_BYTES && layout.align() <= MAX_ALIGNMENT
}

/// Null where the system has no more.
pub(crate) fn allocate(bytes: usize, zeroed: bool) -> *mut u8 {
    let whole = whole_pages(bytes);
    let mut free = FreeBlocks::lock();
    let block = free.take(whole);
    free.give_back(whole - block.map_or(0, |block| block.bytes));
    drop(free);
    let Some(block) = block else { return map(whole) };
    let place: *mut u8 = ptr::with_exposed_provenance_mut(block.address);
    // SAFETY: `take` left the block to nobody else.
    let place = unsafe { resize_mapping(place, block.bytes, whole) };
    if place.is_null() {
        give_back(block);
        return map(whole);
    }
    if zeroed {
        // SAFETY: within what was mapped; the rest is new.
        unsafe { place.write_bytes(0, block.bytes) };
    }
    place
}

/// # Safety
/// The allocation is one of `allocate` with so many bytes, and is not used afterwards unless null is returned.
pub(crate) unsafe fn resize(place: *mut u8, old_bytes: usize, bytes: usize) -> *mut u8 {
    let (old_whole, whole) = (whole_pages(old_bytes), whole_pages(bytes));
    if whole > old_whole {
        FreeBlocks::lock().give_back(whole - old_whole);
    }
    // SAFETY: as the caller says.
    let resized = unsafe { resize_mapping(place, old_whole, whole) };
    if !resized.is_null() {
        return resized;
    }
    // Where the system moves no mapping.
    let copy = allocate(bytes, false);
    if !copy.is_null() {
        // SAFETY: both have as many bytes as the smaller, and are two allocations.
        unsafe { copy.copy_from_nonoverlapping(place, old_bytes.min(bytes)) };
        // SAFETY: as the caller says.
        unsafe { free(place, old_bytes) };
    }
    copy
}

/// # Safety
/// The allocation is one of `allocate` with so many bytes, and is not used afterwards.
pub(crate) unsafe fn free(place: *mut u8, bytes: usize) {
    let mut block = Block { address: place.expose_provenance(), bytes: whole_pages(bytes) };
    let used = if block.bytes < MIN_KEPT_BYTES { 0 } else { used_bytes(block) };
    let kept = if used < MIN_KEPT_BYTES { 0 } else { used };
    if kept < block.bytes {
        give_back(Block { address: block.address + kept, bytes: block.bytes - kept });
        block.bytes = kept;
    }
    if kept > 0 {
        FreeBlocks::lock().keep(block);
    }
}

/// Bytes of a block until behind a page that is there and has none behind it; all where the last is there, or nobody says: what is written to
/// from the start on, as a list is, ends there.
fn used_bytes(block: Block) -> usize {
    let page = rustix::param::page_size();
    let Ok(map) = rustix::fs::open(
        "/proc/self/pagemap",
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    ) else {
        return block.bytes;
    };
    let is_there = |at: usize| {
        let mut entry = [0; 8];
        let read = rustix::io::pread(&map, &mut entry, (8 * (block.address / page + at)) as u64);
        read.is_err() || u64::from_ne_bytes(entry) >> 63 != 0
    };
    let (mut least, mut most) = (0, block.bytes / page);
    if is_there(most - 1) {
        return block.bytes;
    }
    while least < most {
        let middle = (least + most) / 2;
        match is_there(middle) {
            true => least = middle + 1,
            false => most = middle,
        }
    }
    least * page
}

/// Gives all back that is free. True if there was anything.
pub(crate) fn give_back_free_blocks() -> bool {
    let mut free = FreeBlocks::lock();
    let had_some = free.count > 0;
    free.give_back(usize::MAX);
    had_some
}

/// New pages.
fn map(whole: usize) -> *mut u8 {
    let writable = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a mapping of its own. Systems without large pages refuse the advice.
    unsafe {
        let Ok(place) = mm::mmap_anonymous(ptr::null_mut(), whole, writable, MapFlags::PRIVATE) else {
            return if give_back_free_blocks() { map(whole) } else { ptr::null_mut() };
        };
        _ = mm::madvise(place, whole, Advice::LinuxHugepage);
        place.cast()
    }
}

/// # Safety
/// So many bytes are mapped there, and belong to the caller. Null, and nothing done, where the system has no more.
unsafe fn resize_mapping(place: *mut u8, old_whole: usize, whole: usize) -> *mut u8 {
    if old_whole == whole {
        return place;
    }
    // SAFETY: as the caller says.
    let resized = unsafe { mm::mremap(place.cast(), old_whole, whole, MremapFlags::MAYMOVE) };
    resized.map_or(ptr::null_mut(), |place| {
        place.expose_provenance();
        place.cast()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn blocks_keep_their_bytes_and_free_ones_are_used_again_but_not_beside_new_pages() {
        let free_bytes = || {
            let free = FreeBlocks::lock();
            free.blocks[..free.count].iter().map(|block| block.bytes).sum::<usize>()
        };
        let fill = |place: *mut u8, bytes: usize| unsafe { place.write_bytes(7, bytes) };
        let all_are = |place: *const u8, bytes: usize, value: u8| {
            unsafe { std::slice::from_raw_parts(place, bytes) }.iter().all(|&byte| byte == value)
        };
        let first = allocate(32 * MIB, false);
        fill(first, 32 * MIB);
        let larger = unsafe { resize(first, 32 * MIB, 80 * MIB + 5) };
        assert!(all_are(larger, 32 * MIB, 7));
        // What was not written to is given back, where the system tells.
        unsafe { free(larger, 80 * MIB + 5) };
        let most = if std::fs::exists("/proc/self/pagemap").unwrap() { 48 * MIB } else { 84 * MIB };
        assert!((32 * MIB..most).contains(&free_bytes()), "{}", free_bytes());
        let more = free_bytes() - 32 * MIB;
        FreeBlocks::lock().give_back(more);
        let kept = free_bytes();
        let zeroed = allocate(20 * MIB, true);
        assert!(all_are(zeroed, 20 * MIB, 0) && free_bytes() == kept - 20 * MIB);
        // The rest becomes part of what is larger.
        let other = allocate(36 * MIB, true);
        assert!(all_are(other, 36 * MIB, 0) && free_bytes() == 0);
        fill(other, 36 * MIB);
        unsafe { free(other, 36 * MIB) };
        // New pages only for what is given back.
        let zeroed = unsafe { resize(zeroed, 20 * MIB, 44 * MIB) };
        assert!(all_are(zeroed, 44 * MIB, 0) && free_bytes() == 12 * MIB);
        let smaller = unsafe { resize(zeroed, 44 * MIB, 16 * MIB) };
        unsafe { free(smaller, 16 * MIB) };
        assert!(give_back_free_blocks() && free_bytes() == 0 && !give_back_free_blocks());
    }
}
