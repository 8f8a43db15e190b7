//! The dumps that are looked at.

use std::sync::Arc;

use crate::dump::OpenDump;

/// The dumps that are looked at. They stay open as long as the program runs.
#[derive(Debug, Clone, Copy)]
pub struct BrowsedDumps {
    /// The dump.
    pub new: &'static OpenDump,
    /// The one since which it grew.
    pub old: Option<&'static OpenDump>,
}

/// Writes the index of the dump.
pub type WriteIndex = Arc<dyn Fn(&OpenDump) -> Result<String, String> + Send + Sync>;
