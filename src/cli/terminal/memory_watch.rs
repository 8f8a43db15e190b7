//! Holds `--max-memory` for everything the program allocates: a thread reads the process's resident memory and ends the
//! program before it is over the limit. Estimates made before the work (`dump::memory`) refuse most of it earlier; this
//! needs none. On a busy machine that thread may come late by some ms, in which others take as many MiB: near the limit
//! they look themselves when they allocate, and wait for it. (Of 300 runs at 12 to 64 MiB beside other work, 8 went past
//! a tenth and 10 MiB without that, by up to 10 MiB; of 400 with it one, by 0.3 MiB, when a MiB less was kept back.) On
//! macOS there are the estimates alone.

#[cfg_attr(windows, path = "memory_windows.rs")]
#[cfg_attr(not(windows), path = "memory_unix.rs")]
mod system;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::OnceLock;
use std::time::Duration;

use system::ProcessMemoryGauge;

use crate::dump::MemoryLimit;
#[cfg(target_os = "linux")]
use crate::large_blocks;

/// More than what all cores write to fresh pages.
const MAX_GROWTH_BYTES_PER_MS: u64 = 16 << 20;
const WATCH_STACK_BYTES: usize = 64 << 10;
const MAX_CHECK_INTERVAL: Duration = Duration::from_millis(50);
const MIN_CHECK_INTERVAL: Duration = Duration::from_micros(50);
/// Bytes that the program itself may take beside the limit: its code for the most part.
const PROGRAM_BYTES: u64 = 10 << 20;
/// Bytes that code which is come to later and small buffers take, whatever the limit.
const MIN_HEADROOM_BYTES: u64 = 4 << 20;
/// Bytes that are taken before they are seen: at least so many, and of large limits a share, for those are asked for on
/// machines of more cores.
const MIN_UNSEEN_BYTES: u64 = 5 << 20;
const UNSEEN_BYTES_DIVISOR: u64 = 32;
/// Of what is left the part that one thread allocates before it looks again, and its bounds.
const UNCHECKED_BYTES_DIVISOR: u64 = 64;
const MIN_AND_MAX_UNCHECKED_BYTES: (u64, u64) = (64 << 10, 64 << 20);
/// How long a thread waits at most that would allocate more than there may be: it may have what the end waits for.
const MAX_WAITS_FOR_PROGRAM_END: usize = 100;
const WAIT_FOR_PROGRAM_END: Duration = Duration::from_millis(1);

static MEMORY_WATCH: OnceLock<MemoryWatch> = OnceLock::new();

/// What a thread looks at before it allocates near the limit.
struct MemoryWatch {
    gauge: ProcessMemoryGauge,
    /// Files that are mapped count too.
    counts_mapped_files: bool,
    limit_bytes: u64,
}

impl MemoryWatch {
    /// Bytes that may still be taken. `None` when there are more than there may be, of which none are free.
    fn left_bytes(&self) -> Option<u64> {
        let left = || self.limit_bytes.checked_sub(self.gauge.resident_bytes(self.counts_mapped_files).unwrap_or(0));
        let left_now = left();
        #[cfg(target_os = "linux")]
        if left_now.is_none() && large_blocks::give_back_free_blocks() {
            return left();
        }
        left_now
    }
}

/// Calls `end` before the process has more memory than `limit`, a tenth, by which estimates that allowed the work may be
/// off, and what the program itself takes. A poll takes a microsecond or two; there is one in 0.05 to 50 ms, by the
/// distance to the limit. The first limit of a process is the one that holds.
pub(super) fn start_memory_watch(limit: &MemoryLimit, end: impl FnOnce() + Send + 'static) {
    let counts_mapped = limit.counts_mapped_files;
    let (Some(bytes), Some(gauge)) = (limit.bytes(), ProcessMemoryGauge::open()) else { return };
    let Some(own_bytes) = gauge.resident_bytes(counts_mapped) else { return };
    let unseen = MIN_UNSEEN_BYTES.max(bytes / UNSEEN_BYTES_DIVISOR);
    let limit_bytes =
        bytes.saturating_add(bytes / 10 + own_bytes.max(PROGRAM_BYTES) - unseen).max(own_bytes + MIN_HEADROOM_BYTES);
    if MEMORY_WATCH.get().is_some() {
        return;
    }
    let watch = move || {
        BYTES_UNTIL_CHECK.set(usize::MAX);
        while let Some(left) = MEMORY_WATCH.wait().left_bytes() {
            std::thread::sleep(
                Duration::from_micros(left / (MAX_GROWTH_BYTES_PER_MS / 1000))
                    .clamp(MIN_CHECK_INTERVAL, MAX_CHECK_INTERVAL),
            );
        }
        end();
    };
    // Without the thread there are the estimates.
    if std::thread::Builder::new().name("memory".into()).stack_size(WATCH_STACK_BYTES).spawn(watch).is_ok() {
        let _ = MEMORY_WATCH.set(MemoryWatch { gauge, counts_mapped_files: counts_mapped, limit_bytes });
    }
}

thread_local! {
    /// Bytes that this thread may allocate before it looks.
    static BYTES_UNTIL_CHECK: Cell<usize> = const { Cell::new(0) };
}

/// The allocator of the system, for the program: near its limit of memory a thread looks before it allocates. On Linux large
/// blocks are the program's own.
#[derive(Debug)]
pub struct WatchedAllocator;

#[allow(unsafe_code, reason = "an allocator; it passes on what it is asked")]
// SAFETY: all is done by the system's allocator or by `large_blocks`, which have what they allocated by its size; looking
// allocates nothing.
unsafe impl GlobalAlloc for WatchedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        check_before_allocating(layout.size());
        #[cfg(target_os = "linux")]
        if large_blocks::is_large(layout) {
            return large_blocks::allocate(layout.size(), false);
        }
        or_give_back(|| unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        check_before_allocating(layout.size());
        #[cfg(target_os = "linux")]
        if large_blocks::is_large(layout) {
            return large_blocks::allocate(layout.size(), true);
        }
        or_give_back(|| unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let bytes_more = size.saturating_sub(layout.size());
        #[cfg(target_os = "linux")]
        {
            // SAFETY: the caller says it of the size.
            let resized = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
            match (large_blocks::is_large(layout), large_blocks::is_large(resized)) {
                (false, false) => {}
                (true, true) => {
                    check_before_allocating(bytes_more);
                    return unsafe { large_blocks::resize(place, layout.size(), size) };
                }
                _ => {
                    let moved = unsafe { self.alloc(resized) };
                    if !moved.is_null() {
                        // SAFETY: both have as many bytes as the smaller, and are two allocations.
                        unsafe { moved.copy_from_nonoverlapping(place, size.min(layout.size())) };
                        unsafe { self.dealloc(place, layout) };
                    }
                    return moved;
                }
            }
        }
        check_before_allocating(bytes_more);
        or_give_back(|| unsafe { System.realloc(place, layout, size) })
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        #[cfg(target_os = "linux")]
        if large_blocks::is_large(layout) {
            return unsafe { large_blocks::free(place, layout.size()) };
        }
        unsafe { System.dealloc(place, layout) }
    }
}

/// Allocates; where the system has no more, once more after what is free was given back.
#[inline]
fn or_give_back(allocate: impl Fn() -> *mut u8) -> *mut u8 {
    let place = allocate();
    #[cfg(target_os = "linux")]
    if place.is_null() && large_blocks::give_back_free_blocks() {
        return allocate();
    }
    place
}

/// Looks at the memory of the process once this thread has allocated what it may without.
#[inline]
fn check_before_allocating(bytes: usize) {
    match BYTES_UNTIL_CHECK.get().checked_sub(bytes) {
        Some(left) => BYTES_UNTIL_CHECK.set(left),
        None => check_memory_or_await_end(),
    }
}

/// Sets how much this thread may allocate until the next look; past the limit it waits for the end of the program.
#[cold]
fn check_memory_or_await_end() {
    let Some(watch) = MEMORY_WATCH.get() else { return };
    for _ in 0..MAX_WAITS_FOR_PROGRAM_END {
        if let Some(left) = watch.left_bytes() {
            let (least, most) = MIN_AND_MAX_UNCHECKED_BYTES;
            return BYTES_UNTIL_CHECK.set((left / UNCHECKED_BYTES_DIVISOR).clamp(least, most) as usize);
        }
        std::thread::sleep(WAIT_FOR_PROGRAM_END);
    }
}
