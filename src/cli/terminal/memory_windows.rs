//! The memory of this process, as Windows tells it.
#![allow(
    unsafe_code,
    reason = "a call of the system; sysinfo lists all processes for it, which takes longer than the polls are apart"
)]

use windows_sys::Win32::System::ProcessStatus::{
    K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS, PROCESS_MEMORY_COUNTERS_EX,
};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

/// The system's figures of this process.
#[derive(Debug)]
pub(super) struct ProcessMemoryGauge;

impl ProcessMemoryGauge {
    pub(super) fn open() -> Option<Self> {
        Some(ProcessMemoryGauge)
    }

    /// Bytes of this process: what is resident, files that are mapped included; without them what it has for itself.
    pub(super) fn resident_bytes(&self, with_files: bool) -> Option<u64> {
        let mut counters = PROCESS_MEMORY_COUNTERS_EX::default();
        let room: *mut PROCESS_MEMORY_COUNTERS = (&raw mut counters).cast();
        // SAFETY: the call fills as many bytes as it is told there are; the longer structure begins as the shorter one.
        let is_known = unsafe {
            K32GetProcessMemoryInfo(GetCurrentProcess(), room, size_of::<PROCESS_MEMORY_COUNTERS_EX>() as u32)
        } != 0;
        is_known.then_some(if with_files { counters.WorkingSetSize } else { counters.PrivateUsage } as u64)
    }
}
