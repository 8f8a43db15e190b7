//! The memory of this process, as Linux tells it.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The system's figures of this process. Kept open: it is read some thousand times a second near the limit.
#[derive(Debug)]
pub(super) struct ProcessMemoryGauge(File);

impl ProcessMemoryGauge {
    /// `None` where there is no `/proc`.
    pub(super) fn open() -> Option<Self> {
        File::open("/proc/self/statm").map(ProcessMemoryGauge).ok()
    }

    /// Resident bytes of this process, with or without the files that are mapped.
    pub(super) fn resident_bytes(&self, with_files: bool) -> Option<u64> {
        // On the stack: an allocator reserves 64 MiB of addresses for each thread that asks it.
        let mut text = [0; 128];
        let length = self.0.read_at(&mut text, 0).ok()?;
        let mut pages =
            std::str::from_utf8(&text[..length]).ok()?.split(' ').skip(1).map_while(|word| word.parse::<u64>().ok());
        let (resident, of_files) = (pages.next()?, pages.next()?);
        Some(if with_files { resident } else { resident.saturating_sub(of_files) } * rustix::param::page_size() as u64)
    }
}
