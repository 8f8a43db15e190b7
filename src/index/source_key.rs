//! The identity of the file that an index belongs to.

use std::hash::Hasher;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::files::{self, hash_file};

/// Bytes at both ends of the source that are compared.
const COMPARED_END_BYTES: u64 = 1 << 16;

/// Identity of a source. O(1): a change that keeps length, time and both ends is seen by
/// [`has_content_of`](Self::has_content_of) alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SourceKey {
    name: String,
    bytes: u64,
    modified_ns: Option<i128>,
    start_check: u64,
    end_check: u64,
    /// Of all its bytes.
    #[serde(default)]
    content_check: Option<u64>,
    #[serde(skip)]
    path: PathBuf,
}

impl SourceKey {
    /// The key of a file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(path: &Path) -> io::Result<Self> {
        let mut file = files::open(path)?;
        let facts = file.metadata()?;
        let modified_ns = facts.modified().ok().map(|time| match time.duration_since(UNIX_EPOCH) {
            Ok(after) => after.as_nanos() as i128,
            Err(before) => -(before.duration().as_nanos() as i128),
        });
        let mut end = Vec::new();
        (&mut file).take(COMPARED_END_BYTES).read_to_end(&mut end)?;
        let start_check = checksum_of(&end);
        file.seek(SeekFrom::Start(facts.len().saturating_sub(COMPARED_END_BYTES)))?;
        end.clear();
        file.take(COMPARED_END_BYTES).read_to_end(&mut end)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(SourceKey {
            name,
            bytes: facts.len(),
            modified_ns,
            start_check,
            end_check: checksum_of(&end),
            content_check: None,
            path: path.to_path_buf(),
        })
    }

    /// The same with the check of all bytes of the file, where it can be read. O(bytes).
    pub fn with_content_checksum(mut self) -> Self {
        self.content_check = content_checksum_of(&self.path).ok();
        self
    }

    /// Are all bytes of this file those of which the key was taken? `None` when it does not have their check. O(bytes).
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn has_content_of(&self, path: &Path) -> io::Result<Option<bool>> {
        self.content_check.map(|own| Ok(own == content_checksum_of(path)?)).transpose()
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

fn content_checksum_of(path: &Path) -> io::Result<u64> {
    let mut hasher = XxHash3_64::new();
    hash_file(path, &mut hasher)?;
    Ok(hasher.finish())
}

pub(super) fn checksum_of(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}
