//! Holds `--max-memory` for everything the program allocates: a thread reads the process's resident memory and ends the
//! program when it is over the limit. Estimates made before the work (`dump::memory`) refuse most of it earlier; this
//! needs none. On macOS there are the estimates alone.

#[cfg_attr(windows, path = "memory_windows.rs")]
#[cfg_attr(not(windows), path = "memory_unix.rs")]
mod system;

use std::time::Duration;

use system::resident_bytes;

use crate::dump::MemoryLimit;

/// More than what all cores write to fresh pages.
const BYTES_PER_MS: u64 = 16 << 20;
const STACK_BYTES: usize = 64 << 10;
const LONGEST_WAIT: Duration = Duration::from_millis(50);
const SHORTEST_WAIT: Duration = Duration::from_micros(100);
/// Bytes that the program itself takes beside those at the start: code that it comes to, and small buffers.
const PROGRAM_BYTES: u64 = 5 << 20;

/// Calls `end` once the process has more memory than `limit` and a twentieth, by which estimates that allowed the work
/// may be off, beside what the program itself takes. A poll takes some microseconds; there is one in 0.1 to 50 ms, by
/// the distance to the limit.
pub(super) fn start(limit: &MemoryLimit, end: impl FnOnce() + Send + 'static) {
    let counts_mapped = limit.counts_mapped();
    let (Some(bytes), Some(own_bytes)) = (limit.bytes(), resident_bytes(counts_mapped)) else { return };
    let most = bytes.saturating_add(bytes / 20).saturating_add(own_bytes + PROGRAM_BYTES);
    let watch = move || {
        while let Some(resident) = resident_bytes(counts_mapped) {
            if resident > most {
                return end();
            }
            let wait = Duration::from_micros((most - resident) / (BYTES_PER_MS / 1000));
            std::thread::sleep(wait.clamp(SHORTEST_WAIT, LONGEST_WAIT));
        }
    };
    // Without the thread there are the estimates.
    drop(std::thread::Builder::new().name("memory".into()).stack_size(STACK_BYTES).spawn(watch));
}
