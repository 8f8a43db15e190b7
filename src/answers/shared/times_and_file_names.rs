//! Times and names of files, as answers write them.

use chrono::{DateTime, Datelike};

/// A time in milliseconds since 1970, as `2026-11-20T06:04:12.898Z`; empty for a time outside years 0 to 9999.
pub fn utc_text(unix_ms: i64) -> String {
    let time = DateTime::from_timestamp_millis(unix_ms).filter(|time| (0..=9999).contains(&time.year()));
    time.map_or(String::new(), |time| time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
}

/// The folder that all files are in, with the slash behind it; else empty. O(files).
pub fn shared_folder_of<'f>(mut files: impl Iterator<Item = &'f str>) -> &'f str {
    let Some(first) = files.next() else { return "" };
    let mut folder = &first[..first.rfind('/').map_or(0, |slash| slash + 1)];
    for file in files {
        while !file.starts_with(folder) {
            // Never longer than before, and empty at the latest without another slash.
            folder = &folder[..folder.trim_end_matches('/').rfind('/').map_or(0, |slash| slash + 1)];
        }
    }
    folder
}
