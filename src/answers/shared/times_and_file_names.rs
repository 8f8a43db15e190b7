//! Times and names of files, as answers write them.

use chrono::{DateTime, Datelike, NaiveDateTime};

/// A time in milliseconds since 1970, as `2026-11-20T06:04:12.898Z`; empty for a time outside years 0 to 9999.
pub fn utc_text(unix_ms: i64) -> String {
    let time = DateTime::from_timestamp_millis(unix_ms).filter(|time| (0..=9999).contains(&time.year()));
    time.map_or(String::new(), |time| time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
}

/// The time in the name of a file as `collect` writes it, `heap-4711-20261126-150000.250.heapsnapshot`, in milliseconds since
/// 1970: for dumps that have no time themselves.
pub(in crate::answers) fn unix_ms_in_file_name(file: &str) -> Option<i64> {
    let name = file.rsplit('/').next().unwrap_or(file).strip_prefix("heap-")?;
    let time = name.split_once('-')?.1;
    let mut forms = ["%Y%m%d-%H%M%S%.f", "%Y%m%d-%H%M%S"].iter();
    let (time, _) = forms.find_map(|form| NaiveDateTime::parse_and_remainder(time, form).ok())?;
    Some(time.and_utc().timestamp_millis())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_names_of_collected_files() {
        for (file, time) in [
            ("w/heap-4711-20261126-150000.250.heapsnapshot", Some("2026-11-26T15:00:00.250Z")),
            ("heap-4711-20261126-150000.hprof", Some("2026-11-26T15:00:00.000Z")),
            ("heap-4711-20261326-150000.hprof", None),
            ("heap-20261126.hprof", None),
            ("a/b.hprof", None),
        ] {
            assert_eq!(unix_ms_in_file_name(file).map(utc_text).as_deref(), time, "{file}");
        }
    }
}
