//! Times and names of files, as answers write them.

/// A time in milliseconds since 1970, as `2026-11-20T06:04:12.898Z`; empty for a time outside years 0 to 9999.
pub fn utc(unix_ms: i64) -> String {
    const FORM: &[time::format_description::BorrowedFormatItem<'_>] =
        time::macros::format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    let time = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_ms) * 1_000_000);
    time.ok().and_then(|time| time.format(FORM).ok()).unwrap_or_default()
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
