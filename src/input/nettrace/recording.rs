//! The object that describes the recording, and what blocks there are.

use chrono::NaiveDate;
use nom::Parser;
use nom::bytes::complete::take;
use nom::number::complete::{le_i64, le_u16, le_u32};

use super::primitives::{Parsed, length_prefixed_utf8};

/// Facts of the recording.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Recording {
    /// The time at which `start_ticks` was read, in milliseconds since 1970; `None` if the file gives no date.
    pub(super) unix_ms: Option<i64>,
    pub(super) start_ticks: i64,
    pub(super) ticks_per_second: i64,
    pub(super) pointer_bytes: usize,
    pub(super) process_id: u64,
}

/// Kinds of blocks, of all versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Events,
    Metadata,
    SequencePoint,
    Threads,
    RemovedThreads,
    /// Not needed for heaps.
    Other,
}

/// `8 x i16 time, i64 ticks, i64 ticks per second, i32 pointer bytes, i32 process id`, processors, sampling rate.
pub(super) fn recording(input: &[u8]) -> Parsed<'_, Recording> {
    let (rest, start) = common_recording_part(input)?;
    let (rest, process_id) = le_u32(rest)?;
    let (rest, _) = take(8usize)(rest)?;
    Ok((rest, Recording { process_id: process_id.into(), ..start }))
}

/// The part that all versions have: all but the process.
fn common_recording_part(input: &[u8]) -> Parsed<'_, Recording> {
    let mut rest = input;
    let mut time = [0; 8];
    for field in &mut time {
        (rest, *field) = le_u16(rest)?;
    }
    let (rest, (ticks, ticks_per_second, pointer_bytes)) = (le_i64, le_i64, le_u32).parse(rest)?;
    let pointer_bytes = pointer_bytes as usize;
    Ok((
        rest,
        Recording {
            unix_ms: unix_ms_of_systemtime(time),
            start_ticks: ticks,
            ticks_per_second,
            pointer_bytes,
            process_id: 0,
        },
    ))
}

/// Milliseconds since 1970 of a Windows SYSTEMTIME in UTC: year, month, day of the week, day, hour, minute, second, ms.
fn unix_ms_of_systemtime(time: [u16; 8]) -> Option<i64> {
    let [year, month, _, day, hour, minute, second, ms] = time;
    if year > 9999 || ms > 999 {
        return None;
    }
    let date = NaiveDate::from_ymd_opt(year.into(), month.into(), day.into())?;
    let time = date.and_hms_milli_opt(hour.into(), minute.into(), second.into(), ms.into())?;
    Some(time.and_utc().timestamp_millis())
}

/// As before up to the pointer bytes, then `i32 count` pairs of strings.
pub(super) fn recording_of_version6(input: &[u8]) -> Parsed<'_, Recording> {
    let (rest, start) = common_recording_part(input)?;
    let (mut rest, pairs) = le_u32(rest)?;
    let mut process_id = 0;
    for _ in 0..pairs {
        let (key, value);
        (rest, key) = length_prefixed_utf8(rest)?;
        (rest, value) = length_prefixed_utf8(rest)?;
        if key == b"ProcessId" {
            process_id = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        }
    }
    Ok((rest, Recording { process_id, ..start }))
}

#[cfg(test)]
mod tests {
    use super::unix_ms_of_systemtime;

    #[test]
    fn times() {
        const DAY_MS: i64 = 86_400_000;
        assert_eq!(unix_ms_of_systemtime([1970, 1, 4, 1, 0, 0, 0, 0]), Some(0));
        assert_eq!(unix_ms_of_systemtime([2000, 3, 3, 1, 1, 2, 3, 4]), Some(11_017 * DAY_MS + 3_723_004));
        assert_eq!(unix_ms_of_systemtime([2026, 11, 5, 20, 23, 59, 59, 999]), Some(20_778 * DAY_MS - 1));
        assert_eq!(unix_ms_of_systemtime([2026, 13, 0, 20, 0, 0, 0, 0]), None);
        assert_eq!(unix_ms_of_systemtime([0; 8]), None);
    }
}
