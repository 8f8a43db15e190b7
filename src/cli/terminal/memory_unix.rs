//! The memory of this process, as Linux tells it.

use std::fs::File;
use std::io::Read;

/// Resident bytes of this process, with or without the files that are mapped. `None` where there is no `/proc`.
pub(super) fn resident_bytes(with_files: bool) -> Option<u64> {
    // On the stack: an allocator reserves 64 MiB of addresses for each thread that asks it.
    let mut text = [0; 128];
    let length = File::open("/proc/self/statm").and_then(|mut file| file.read(&mut text)).ok()?;
    let mut pages =
        std::str::from_utf8(&text[..length]).ok()?.split(' ').skip(1).map_while(|word| word.parse::<u64>().ok());
    let (resident, of_files) = (pages.next()?, pages.next()?);
    Some(if with_files { resident } else { resident.saturating_sub(of_files) } * rustix::param::page_size() as u64)
}
