//! By how much suspects grew since an older dump.

use serde::Serialize;

/// By how much a suspect grew: what hangs at the same place in both dumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SuspectGrowth {
    /// Bytes that were retained there in the old dump; 0 where it has no such place.
    pub retained_bytes_old: u64,
    /// By how many they grew; never more than are retained now.
    pub retained_bytes_delta: i64,
}
