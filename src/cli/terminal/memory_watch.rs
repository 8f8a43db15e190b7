//! Holds `--max-memory` for everything the program allocates: a thread reads the process's resident memory and ends the
//! program when it is over the limit. Estimates made before the work (`dump::memory`) refuse most of it earlier; this
//! needs none. On systems without `/proc` there are the estimates alone.

use std::fs::File;
use std::io::Read;
use std::time::Duration;

use crate::dump::MemoryLimit;

/// More than what all cores write to fresh pages.
const BYTES_PER_MS: u64 = 16 << 20;
const STACK_BYTES: usize = 64 << 10;
const LONGEST_WAIT: Duration = Duration::from_millis(50);
const SHORTEST_WAIT: Duration = Duration::from_micros(250);
/// What the program itself takes beside what it has at the start: code that it comes to, and small buffers.
const PROGRAM_BYTES: u64 = 5 << 20;

/// Calls `end` once the process has more memory than `limit` and a twentieth, by which estimates that allowed the work
/// may be off, beside what the program itself takes. A poll takes some microseconds; there is one in 0.25 to 50 ms, by
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

/// Resident bytes of this process, with or without the files that are mapped. `None` where the system does not tell.
fn resident_bytes(with_files: bool) -> Option<u64> {
    // On the stack: an allocator reserves 64 MiB of addresses for each thread that asks it.
    let mut text = [0; 128];
    let length = File::open("/proc/self/statm").and_then(|mut file| file.read(&mut text)).ok()?;
    let mut pages =
        std::str::from_utf8(&text[..length]).ok()?.split(' ').skip(1).map_while(|word| word.parse::<u64>().ok());
    let (resident, of_files) = (pages.next()?, pages.next()?);
    Some(if with_files { resident } else { resident.saturating_sub(of_files) } * page_bytes())
}

#[cfg(unix)]
fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

#[cfg(not(unix))]
fn page_bytes() -> u64 {
    4096
}
