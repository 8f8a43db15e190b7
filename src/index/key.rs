//! Which file an index belongs to.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::layout::check_of;

/// Bytes at both ends of the source that are compared.
const END_BYTES: u64 = 1 << 16;

/// What a source is recognised by. O(1): a change that keeps length, time and both ends is not seen.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SourceKey {
    name: String,
    bytes: u64,
    modified_ns: Option<i128>,
    start_check: u64,
    end_check: u64,
}

impl SourceKey {
    /// The key of a file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let facts = file.metadata()?;
        let modified_ns = facts.modified().ok().map(|time| match time.duration_since(UNIX_EPOCH) {
            Ok(after) => after.as_nanos() as i128,
            Err(before) => -(before.duration().as_nanos() as i128),
        });
        let mut end = Vec::new();
        (&mut file).take(END_BYTES).read_to_end(&mut end)?;
        let start_check = check_of(&end);
        file.seek(SeekFrom::Start(facts.len().saturating_sub(END_BYTES)))?;
        end.clear();
        file.take(END_BYTES).read_to_end(&mut end)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(SourceKey { name, bytes: facts.len(), modified_ns, start_check, end_check: check_of(&end) })
    }

    /// The file's name without its folder, when the key was taken.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Is it the same file, by whatever name?
    pub fn is_same(&self, other: &SourceKey) -> bool {
        let facts = |key: &SourceKey| (key.bytes, key.modified_ns, key.start_check, key.end_check);
        facts(self) == facts(other)
    }
}
