//! Allocations of 4 MiB and more, on large pages of Linux where it has them. Pages of what is freed are moved into what is
//! allocated next: a new page must be cleared, and in a virtual machine be had of its host, which took a fifth to a third of the
//! time of `leaks`. What waits for a question gives all back that is free.
#![allow(
    unsafe_code,
    reason = "an allocator, of memory that the system maps; `dominators` of V8 and XNA dumps takes a tenth to a fifth less time with it"
)]

use std::alloc::Layout;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrayvec::ArrayVec;
use rustix::mm::{self, Advice, MapFlags, MremapFlags, ProtFlags};

const MIN_LARGE_BYTES: usize = 4 << 20;
/// The least page of all machines.
const MAX_ALIGNMENT: usize = 4096;
/// A large page of x86-64, and of arm64 with pages of 4 KiB. Free blocks begin and end with one: what is moved stays one.
const LARGE_PAGE_BYTES: usize = 2 << 20;
/// Blocks of this size are kept when they are freed.
const MIN_KEPT_BYTES: usize = 16 << 20;
/// Smaller ones are kept while all that is free is at most this part of what is allocated: of small dumps what is allocated
/// next is no large block, and would be new beside them.
const ALLOCATED_PER_FREE: usize = 64;
/// When so many are free, the smallest is given back.
const MAX_FREE_BLOCKS: usize = 64;
/// When there are so many, contents are copied.
const MAX_SEAMS: usize = 1024;
/// The rest is for what grows.
const MIN_SEAM_ROOM: usize = MAX_SEAMS / 2;

static LARGE_BLOCKS: Mutex<LargeBlocks> = Mutex::new(LargeBlocks::new());

/// Whole pages.
#[derive(Debug, Clone, Copy)]
struct Block {
    address: usize,
    bytes: usize,
}

impl Block {
    /// Of an allocation of so many bytes.
    fn allocated(place: *mut u8, bytes: usize) -> Block {
        Block { address: place.expose_provenance(), bytes: bytes.next_multiple_of(page_bytes()) }
    }

    fn end(self) -> usize {
        self.address + self.bytes
    }

    fn place(self) -> *mut c_void {
        ptr::with_exposed_provenance_mut(self.address)
    }

    /// So many bytes, and what is behind them.
    fn split(self, bytes: usize) -> (Block, Block) {
        let bytes = bytes.min(self.bytes);
        (Block { bytes, ..self }, Block { address: self.address + bytes, bytes: self.bytes - bytes })
    }

    /// What is before the first large page, and the rest.
    fn split_at_large_page(self) -> (Block, Block) {
        self.split(self.address.next_multiple_of(LARGE_PAGE_BYTES) - self.address)
    }
}

/// An allocator cannot allocate: the lists are of fixed capacity.
#[derive(Debug)]
struct LargeBlocks {
    /// Whole large pages that are free, most of them written to. Each is one mapping.
    free_blocks: ArrayVec<Block, MAX_FREE_BLOCKS>,
    /// Where within allocations one mapping ends and another begins: the system moves them one by one.
    seams: ArrayVec<usize, MAX_SEAMS>,
    allocated_bytes: usize,
}

impl LargeBlocks {
    const fn new() -> Self {
        LargeBlocks { free_blocks: ArrayVec::new_const(), seams: ArrayVec::new_const(), allocated_bytes: 0 }
    }

    fn lock() -> MutexGuard<'static, Self> {
        LARGE_BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free_bytes(&self) -> usize {
        self.free_blocks.iter().map(|block| block.bytes).sum()
    }

    /// New pages. `None` where the system has no more.
    fn map(&mut self, bytes: usize) -> Option<Block> {
        // The system has such begin with a large page.
        let large_pages = bytes.checked_next_multiple_of(LARGE_PAGE_BYTES)?;
        let once_more = |blocks: &mut Self| blocks.give_back_free_blocks().then(|| map_at(None, large_pages)).flatten();
        let (block, unneeded) = map_at(None, large_pages).or_else(|| once_more(self))?.split(bytes);
        give_back(unneeded);
        self.allocated_bytes += bytes;
        Some(block)
    }

    /// Calls `take` with each mapping of an allocation, or of its end, which is moved or freed. The seam behind one is taken out
    /// before, so that there is room for that of the place where it goes.
    fn take_apart(&mut self, mut block: Block, mut take: impl FnMut(&mut Self, Block)) {
        while block.bytes > 0 {
            let (seams, within) = (&self.seams, block.address..block.end());
            let next = (0..seams.len()).filter(|&at| within.contains(&seams[at])).min_by_key(|&at| seams[at]);
            let end = next.map_or(block.end(), |at| self.seams.swap_remove(at));
            let (mapping, rest) = block.split(end - block.address);
            // A seam is where the end of an allocation begins.
            if mapping.bytes > 0 {
                take(self, mapping);
            }
            block = rest;
        }
    }

    /// Moves pages to the start of what is left of a new allocation, and returns what is left then.
    ///
    /// # Safety
    /// Nobody uses either; the pages are one mapping, and no more than there is place for.
    unsafe fn move_pages(&mut self, from: Block, to: Block) -> Block {
        let (place, rest) = to.split(from.bytes);
        let can_move = self.seams.remaining_capacity() > 0;
        let move_there = || unsafe {
            // SAFETY: as the caller says; what is unmapped there is new.
            mm::mremap_fixed(from.place(), from.bytes, from.bytes, MremapFlags::MAYMOVE, place.place())
        };
        if !can_move || move_there().is_err() {
            // Not every system moves them, and what was mapped there may be no more.
            if can_move && map_at(Some(place.place()), place.bytes).is_none() {
                std::process::abort();
            }
            // SAFETY: both are mapped, and of one length.
            unsafe { place.place().cast::<u8>().copy_from_nonoverlapping(from.place().cast(), from.bytes) };
            give_back(from);
        }
        if can_move && rest.bytes > 0 {
            self.seams.push(rest.address);
        }
        rest
    }

    /// Moves free pages to the start of what is left of a new allocation, as many as there are, and returns what is left then.
    fn fill(&mut self, mut rest: Block) -> Block {
        let (before, large_pages) = rest.split_at_large_page();
        if self.free_blocks.is_empty()
            || self.seams.remaining_capacity() < MIN_SEAM_ROOM
            || large_pages.bytes < LARGE_PAGE_BYTES
        {
            return rest;
        }
        if before.bytes > 0 {
            self.seams.push(large_pages.address);
        }
        rest = large_pages;
        while rest.bytes >= LARGE_PAGE_BYTES && self.seams.remaining_capacity() >= MIN_SEAM_ROOM {
            let wanted = whole_large_pages(rest.bytes);
            // The smallest that is enough, else the largest.
            let rank = |&at: &usize| {
                let bytes = self.free_blocks[at].bytes;
                (bytes < wanted, bytes.abs_diff(wanted))
            };
            let Some(at) = (0..self.free_blocks.len()).min_by_key(rank) else { break };
            let (taken, unneeded) = self.free_blocks.swap_remove(at).split(wanted);
            if unneeded.bytes > 0 {
                self.free_blocks.push(unneeded);
            }
            // SAFETY: the one was free, the other is new.
            rest = unsafe { self.move_pages(taken, rest) };
        }
        rest
    }

    /// Keeps a mapping; gives the smallest back where there is no room.
    fn keep(&mut self, mapping: Block) {
        if self.free_blocks.is_full()
            && let Some(smallest) = (0..self.free_blocks.len()).min_by_key(|&at| self.free_blocks[at].bytes)
        {
            give_back(self.free_blocks.swap_remove(smallest));
        }
        self.free_blocks.push(mapping);
    }

    /// The block, and the end of it that is new and zero. `None` where the system has no more.
    fn allocate(&mut self, bytes: usize) -> Option<(Block, Block)> {
        let block = self.map(bytes.checked_next_multiple_of(page_bytes())?)?;
        Some((block, self.fill(block)))
    }

    /// # Safety
    /// The block is allocated, and is not used afterwards unless `None` is returned.
    unsafe fn resize(&mut self, old: Block, bytes: usize) -> Option<Block> {
        let whole = bytes.checked_next_multiple_of(page_bytes())?;
        if whole <= old.bytes {
            let (kept, unneeded) = old.split(whole);
            // SAFETY: as the caller says.
            unsafe { self.free(unneeded) };
            return Some(kept);
        }
        let Some(block) = self.map(whole) else {
            // What is one mapping the system makes larger without room for both.
            // SAFETY: as the caller says.
            let place = unsafe { mm::mremap(old.place(), old.bytes, whole, MremapFlags::MAYMOVE) }.ok()?;
            self.allocated_bytes += whole - old.bytes;
            return Some(Block { address: place.expose_provenance(), bytes: whole });
        };
        self.allocated_bytes -= old.bytes;
        let mut rest = block;
        self.take_apart(old, |blocks, mapping| {
            // SAFETY: as the caller says.
            rest = unsafe { blocks.move_pages(mapping, rest) };
        });
        self.fill(rest);
        Some(block)
    }

    /// # Safety
    /// The block is allocated, or the end of one that is, and is not used afterwards.
    unsafe fn free(&mut self, block: Block) {
        self.allocated_bytes -= block.bytes;
        let is_kept = block.bytes >= MIN_KEPT_BYTES
            || self.free_bytes() + block.bytes <= self.allocated_bytes / ALLOCATED_PER_FREE;
        self.take_apart(block, |blocks, mapping| {
            let used = if is_kept { used_bytes(mapping) } else { 0 };
            let (before, large_pages) = mapping.split(used).0.split_at_large_page();
            let (kept, _) = large_pages.split(whole_large_pages(large_pages.bytes));
            give_back(before);
            give_back(mapping.split(before.bytes + kept.bytes).1);
            if kept.bytes > 0 {
                blocks.keep(kept);
            }
        });
    }

    /// True if there were any.
    fn give_back_free_blocks(&mut self) -> bool {
        let had_some = !self.free_blocks.is_empty();
        self.free_blocks.drain(..).for_each(give_back);
        had_some
    }
}

fn whole_large_pages(bytes: usize) -> usize {
    bytes / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES
}

fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// New pages, here if it is said where.
fn map_at(place: Option<*mut c_void>, bytes: usize) -> Option<Block> {
    let writable = ProtFlags::READ | ProtFlags::WRITE;
    let flags = if place.is_some() { MapFlags::PRIVATE | MapFlags::FIXED } else { MapFlags::PRIVATE };
    // SAFETY: a mapping of its own, or in place of one that nobody uses. Systems without large pages refuse the advice.
    let place = unsafe {
        let place = mm::mmap_anonymous(place.unwrap_or(ptr::null_mut()), bytes, writable, flags).ok()?;
        _ = mm::madvise(place, bytes, Advice::LinuxHugepage);
        place
    };
    Some(Block { address: place.expose_provenance(), bytes })
}

/// Nothing is done with an empty one.
fn give_back(block: Block) {
    // SAFETY: whole pages that nobody has.
    _ = unsafe { mm::munmap(block.place(), block.bytes) };
}

/// Is an allocation made here? The others are the system's allocator's.
#[inline]
pub(crate) fn is_large(layout: Layout) -> bool {
    layout.size() >= MIN_LARGE_BYTES && layout.align() <= MAX_ALIGNMENT
}

/// Null where the system has no more.
pub(crate) fn allocate(bytes: usize, zeroed: bool) -> *mut u8 {
    let allocated = LargeBlocks::lock().allocate(bytes);
    let Some((block, new)) = allocated else { return ptr::null_mut() };
    if zeroed {
        // SAFETY: within what was mapped; the rest is new.
        unsafe { block.place().cast::<u8>().write_bytes(0, block.bytes - new.bytes) };
    }
    block.place().cast()
}

/// # Safety
/// The allocation is one of `allocate` with so many bytes, and is not used afterwards unless null is returned.
pub(crate) unsafe fn resize(place: *mut u8, old_bytes: usize, bytes: usize) -> *mut u8 {
    // SAFETY: as the caller says.
    let resized = unsafe { LargeBlocks::lock().resize(Block::allocated(place, old_bytes), bytes) };
    resized.map_or(ptr::null_mut(), |block| block.place().cast())
}

/// # Safety
/// The allocation is one of `allocate` with so many bytes, and is not used afterwards.
pub(crate) unsafe fn free(place: *mut u8, bytes: usize) {
    // SAFETY: as the caller says.
    unsafe { LargeBlocks::lock().free(Block::allocated(place, bytes)) };
}

/// Gives all back that is free. True if there was anything.
pub(crate) fn give_back_free_blocks() -> bool {
    LargeBlocks::lock().give_back_free_blocks()
}

/// Bytes of a mapping until behind a page that is there and has none behind it; all where the last is there, or nobody says:
/// what is written to from the start on, as a list is, ends there. Up to a large page, which may end behind the mapping.
fn used_bytes(block: Block) -> usize {
    let page = page_bytes();
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
    (block.address + least * page).next_multiple_of(LARGE_PAGE_BYTES) - block.address
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: usize = 1 << 20;

    /// A word of each page.
    fn words(block: Block) -> impl Iterator<Item = (usize, *mut usize)> {
        let page = page_bytes();
        (0..block.bytes / page).map(move |at| (at, ptr::with_exposed_provenance_mut(block.address + at * page)))
    }

    fn write(block: Block, value: usize) {
        words(block).for_each(|(at, word)| unsafe { word.write(value + at) });
    }

    fn has(block: Block, value: usize) -> bool {
        words(block).all(|(at, word)| unsafe { word.read() } == value + at)
    }

    #[test]
    fn none_is_new_while_one_is_free() {
        let mut blocks = LargeBlocks::new();
        let (first, _) = blocks.allocate(32 * MIB).unwrap();
        write(first, 7);
        let larger = unsafe { blocks.resize(first, 80 * MIB + 5) }.unwrap();
        assert!(larger.bytes == 80 * MIB + page_bytes() && has(Block { bytes: 32 * MIB, ..larger }, 7));
        // What was not written to is given back, where the system tells.
        unsafe { blocks.free(larger) };
        let told = std::fs::exists("/proc/self/pagemap").unwrap();
        assert_eq!(blocks.free_bytes(), if told { 32 * MIB } else { 80 * MIB });
        let (second, new) = blocks.allocate(blocks.free_bytes() - 12 * MIB).unwrap();
        assert!(new.bytes == 0 && blocks.free_bytes() == 12 * MIB);
        // The rest becomes part of what is larger.
        let (other, new) = blocks.allocate(36 * MIB).unwrap();
        assert!(new.bytes == 24 * MIB && blocks.free_bytes() == 0);
        write(other, 7);
        unsafe { blocks.free(other) };
        assert_eq!(blocks.free_bytes(), 36 * MIB);
        let grown = unsafe { blocks.resize(second, second.bytes + 24 * MIB) }.unwrap();
        assert_eq!(blocks.free_bytes(), 12 * MIB);
        unsafe { blocks.resize(grown, grown.bytes - 28 * MIB) }.unwrap();
        assert_eq!(blocks.free_bytes(), 40 * MIB);
        unsafe { blocks.free(Block { bytes: grown.bytes - 28 * MIB, ..grown }) };
        assert_eq!(blocks.seams.len(), 0);
        assert!(blocks.give_back_free_blocks() && blocks.free_bytes() == 0 && !blocks.give_back_free_blocks());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn blocks_keep_what_was_written_to_them(
            steps in prop::collection::vec((any::<prop::sample::Index>(), 0..5u8, 18..40usize), 1..24),
            other_seams in prop::sample::select(vec![0, MIN_SEAM_ROOM - 3, MAX_SEAMS - 3, MAX_SEAMS]),
        ) {
            let mut blocks = LargeBlocks::new();
            (0..other_seams).for_each(|_| blocks.seams.push(1));
            let mut allocated: Vec<(Block, usize)> = Vec::new();
            for (value, (at, kind, mib)) in steps.into_iter().enumerate() {
                let (value, bytes) = (value << 32, mib * MIB + 5);
                if allocated.is_empty() || kind == 0 {
                    let (block, new) = blocks.allocate(bytes).unwrap();
                    let is_zero = words(new).all(|(_, word)| unsafe { word.read() } == 0);
                    prop_assert!(is_zero);
                    write(block, value);
                    allocated.push((block, value));
                    continue;
                }
                let at = at.index(allocated.len());
                let (block, old_value) = allocated[at];
                if kind == 1 {
                    unsafe { blocks.free(block) };
                    allocated.swap_remove(at);
                } else {
                    let resized = unsafe { blocks.resize(block, bytes) }.unwrap();
                    let kept = Block { bytes: bytes.min(block.bytes), ..resized };
                    prop_assert!(has(kept, old_value));
                    write(resized, value);
                    allocated[at] = (resized, value);
                }
                prop_assert!(allocated.iter().all(|&(block, value)| has(block, value)));
                // Where the system has a mapping begin within an allocation is a seam.
                let mappings = std::fs::read_to_string("/proc/self/maps").unwrap();
                for start in mappings.lines().map(|line| usize::from_str_radix(line.split('-').next().unwrap(), 16)) {
                    let start = start.unwrap();
                    let is_within = |&(block, _): &(Block, usize)| block.address < start && start < block.end();
                    prop_assert!(!allocated.iter().any(is_within) || blocks.seams.contains(&start));
                }
            }
            allocated.iter().for_each(|&(block, _)| unsafe { blocks.free(block) });
            prop_assert_eq!(blocks.seams.len(), other_seams);
            blocks.give_back_free_blocks();
        }
    }
}
