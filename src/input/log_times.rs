//! The times that lines of logs tell: those of the day, as programs, loggers and `date` write them, and those since the start of a
//! JVM, as its unified logging does.

use std::time::SystemTime;

use chrono::{DateTime, Datelike, NaiveDateTime, TimeDelta, Utc};

/// A line's own time stands in front, behind words of those who pass it on.
const MAX_TIME_PLACE: usize = 200;
/// The longest form, with its zone.
const MAX_TIME_CHARS: usize = 48;

/// With a zone by number, or in UTC.
const ZONED_FORMS: [&str; 3] = ["%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f%#z", "%d/%b/%Y:%H:%M:%S %z"];
/// Without one, or with its name, which is passed over: several zones have the same.
const PLAIN_FORMS: [&str; 11] = [
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y/%m/%d %H:%M:%S%.f",
    "%d/%b/%Y:%H:%M:%S",
    "%b %e, %Y %I:%M:%S %p",
    "%a %b %e %I:%M:%S %p %Z %Y",
    "%a %e %b %Y %I:%M:%S %p %Z",
    "%a %b %e %H:%M:%S %Y",
    "%a %b %e %H:%M:%S %Z %Y",
    "%a %e %b %H:%M:%S %Z %Y",
    "%a %e %b %Y %H:%M:%S %Z",
];
/// Behind a year: that of syslog, which says none.
const FORM_WITHOUT_YEAR: &str = "%Y %b %e %H:%M:%S";

/// Times in milliseconds, as far as a line tells them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LineTimes {
    /// Since 1970.
    pub(super) unix_ms: Option<i64>,
    /// Since the start of the program that writes the log.
    pub(super) uptime_ms: Option<i64>,
}

impl LineTimes {
    /// The first of each kind. A line that is a number of ten or thirteen digits alone is a time too (`date +%s`).
    pub(super) fn of(line: &str) -> Self {
        LineTimes { unix_ms: unix_ms_in(line), uptime_ms: uptime_ms_in(line) }
    }

    /// What is not told here by another line.
    pub(super) fn or(self, other: Self) -> Self {
        LineTimes { unix_ms: self.unix_ms.or(other.unix_ms), uptime_ms: self.uptime_ms.or(other.uptime_ms) }
    }
}

fn unix_ms_in(line: &str) -> Option<i64> {
    let alone = line.trim();
    match (alone.len(), alone.parse::<i64>()) {
        (10, Ok(seconds)) => return Some(seconds * 1000),
        (13, Ok(ms)) => return Some(ms),
        _ => {}
    }
    let mut is_in_word = false;
    let starts = line.char_indices().take(MAX_TIME_PLACE).filter(|(_, letter)| {
        let was_in_word = std::mem::replace(&mut is_in_word, letter.is_ascii_alphanumeric());
        is_in_word && !was_in_word
    });
    starts.map(|(at, _)| &line[at..]).filter(|text| may_begin_time(text.as_bytes())).find_map(unix_ms_at_start)
}

/// Are there four digits of a year, two of a day, or three letters of a day or month?
fn may_begin_time(text: &[u8]) -> bool {
    let is_digits = |count: usize| text.iter().take(count).all(u8::is_ascii_digit);
    match text {
        [_, _, _, _, b'-' | b'/', ..] if is_digits(4) => true,
        [_, _, b'/', b'A'..=b'Z', ..] => is_digits(2),
        [b'A'..=b'Z', b'a'..=b'z', b'a'..=b'z', b' ', ..] => true,
        _ => false,
    }
}

fn unix_ms_at_start(text: &str) -> Option<i64> {
    let letters: Vec<char> = text.chars().take(MAX_TIME_CHARS).collect();
    // A comma before a fraction is a point.
    let is_fraction = |at: usize| letters.get(at + 1).is_some_and(char::is_ascii_digit);
    let letters = letters.iter().enumerate();
    let text: String = letters.map(|(at, &c)| if c == ',' && is_fraction(at) { '.' } else { c }).collect();
    let zoned = ZONED_FORMS.iter().find_map(|form| DateTime::parse_and_remainder(&text, form).ok());
    let plain = || {
        let told = PLAIN_FORMS.iter().find_map(|form| NaiveDateTime::parse_and_remainder(&text, form).ok());
        told.map(|(time, _)| time).or_else(|| time_of_latest_year(&text))
    };
    zoned.map(|(time, _)| time.timestamp_millis()).or_else(|| plain().map(|time| time.and_utc().timestamp_millis()))
}

/// The time in this year, or where that is still to come in the last one.
fn time_of_latest_year(text: &str) -> Option<NaiveDateTime> {
    let now = DateTime::<Utc>::from(SystemTime::now()).naive_utc();
    let in_year = |year: i32| {
        let text = format!("{year} {text}");
        NaiveDateTime::parse_and_remainder(&text, FORM_WITHOUT_YEAR).ok().map(|(time, _)| time)
    };
    let mut times = [now.year(), now.year() - 1].into_iter().filter_map(in_year);
    // Zones are up to a day apart.
    times.find(|time| *time <= now + TimeDelta::days(1))
}

/// `[123.456s][info][gc] ...`, `[123456ms]`: one of the first words in brackets; some languages have a comma.
fn uptime_ms_in(line: &str) -> Option<i64> {
    let mut rest = line.trim_start();
    while let Some((word, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let (number, ms_in_unit) = match (word.strip_suffix("ms"), word.strip_suffix('s')) {
            (Some(number), _) => (number, 1.0),
            (None, Some(number)) => (number, 1000.0),
            _ => ("", 1.0),
        };
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','));
        if let Some(time) = number.replace(',', ".").parse::<f64>().ok().filter(|_| is_number) {
            return Some((time * ms_in_unit).round() as i64);
        }
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_logs() {
        let noon = 1_795_608_000_000;
        for (line, expected) in [
            ("2026-11-25T12:00:00Z", noon),
            ("[2026-11-25 12:00:00,250] INFO jcmd", noon + 250),
            ("pod-7 2026-11-25T13:00:00.5+01:00 stdout F", noon + 500),
            ("[2026-11-25T12:00:00.000+0000][info][gc] GC(3)", noon),
            ("[2026-11-25T13:00:00,007+0100][5,250s] GC(3)", noon + 7),
            ("2026-11-25 13:00:00 +0100 app", noon),
            ("2026-11-25 12:00:00 - app", noon),
            ("2026/11/25 12:00:00 app: x", noon),
            ("10.0.0.1 - - [25/Nov/2026:14:00:00 +0200] \"GET /\"", noon),
            ("Wed Nov 25 12:00:00 UTC 2026", noon),
            ("Wed Nov 25 12:00:00 CET 2026", noon),
            ("Wed Nov 25 12:00:00 2026", noon),
            ("Wed Nov 25 12:00:00 PM UTC 2026", noon),
            ("Wed 25 Nov 12:00:00 UTC 2026", noon),
            ("Wed 25 Nov 2026 01:00:00 PM UTC", noon + 3_600_000),
            ("Wed 25 Nov 2026 12:00:00 UTC", noon),
            ("Nov 25, 2026 12:00:00 PM shop.Main run", noon),
            ("--- 2026-11-25 12:00:00", noon),
            ("1795608000", noon),
            ("1795608000000\r", noon),
        ] {
            assert_eq!(LineTimes::of(line).unix_ms, Some(expected), "{line}");
        }
        for line in ["1: 14789 1252992 [B", "2026-1", "", "17556:", "Nov 25", "The 25 of them 12:00:00", "25/Nov"] {
            assert_eq!(LineTimes::of(line), LineTimes::default(), "{line}");
        }
    }

    #[test]
    fn a_day_without_a_year_is_the_latest_one() {
        let day_ms = 24 * 3600 * 1000;
        let now = DateTime::<Utc>::from(SystemTime::now());
        for days_ago in [0, 1, 40, 300] {
            let time = now - TimeDelta::days(days_ago);
            let told = LineTimes::of(&time.format("%b %e %H:%M:%S host app[12]: x").to_string()).unix_ms;
            assert!(told.is_some_and(|ms| (ms - time.timestamp_millis()).abs() < day_ms), "{days_ago}: {told:?}");
        }
    }

    #[test]
    fn times_since_the_start() {
        for (line, expected) in [
            ("[123.456s][info][gc] GC(3)", Some(123_456)),
            ("[0,020s] x", Some(20)),
            ("[2026-11-25T12:00:00.000+0000][5250ms][gc]", Some(5250)),
            ("[info][s][ms] x", None),
            ("[1e5s] x", None),
            ("a [123.456s]", None),
        ] {
            assert_eq!(LineTimes::of(line).uptime_ms, expected, "{line}");
        }
    }
}
