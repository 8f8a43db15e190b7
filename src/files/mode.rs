//! Permissions of files.

/// The permission bits that an output could have.
pub(super) const MAX_OUTPUT_MODE: u32 = 0o666;
