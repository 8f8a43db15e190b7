//! Units of columns; bytes and counts in words, exact and for people: of tables and of the sentences of answers.

use std::time::Duration;

/// Unit of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnUnit {
    /// A number of things.
    Count,
    /// A number of bytes.
    Bytes,
    /// A share of a whole, 0 to 1.
    Share,
    /// A word without blanks.
    Word,
    /// Text that may hold blanks; only the last columns may.
    Text,
}

const BINARY_UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// `1.2 MiB`, `24 B`: one decimal, binary units; never 1024.0 of a unit that has a larger one.
pub fn format_bytes(bytes: u64) -> String {
    for (at, (unit, size)) in BINARY_UNITS.iter().enumerate() {
        if bytes >= *size {
            let text = format!("{:.1}", bytes as f64 / *size as f64);
            return match at.checked_sub(1) {
                Some(larger) if text == "1024.0" => format!("1.0 {}", BINARY_UNITS[larger].0),
                _ => format!("{text} {unit}"),
            };
        }
    }
    format!("{bytes} B")
}

/// `1 object`, `1,234 objects`: a count with the regular English plural of what is counted.
pub fn count_with_noun(count: u64, plural: &str) -> String {
    match count {
        1 => format!("1 {}", singular(plural)),
        _ => format!("{} {plural}", format_count(count)),
    }
}

/// `object` for `objects`, `entry` for `entries`, `class` for `classes`.
fn singular(plural: &str) -> String {
    match (plural.strip_suffix("ies"), plural.strip_suffix("sses"), plural.strip_suffix('s')) {
        (Some(stem), ..) => format!("{stem}y"),
        (_, Some(stem), _) => format!("{stem}ss"),
        (.., Some(stem)) => stem.into(),
        _ => plural.into(),
    }
}

/// `1,234,567`, for people.
pub fn format_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A figure beside those that may be negative.
pub(crate) fn saturating_signed(figure: u64) -> i64 {
    i64::try_from(figure).unwrap_or(i64::MAX)
}

/// `+` or `-` for a change; nothing for none.
pub(crate) fn sign_prefix(change: i64) -> &'static str {
    match change {
        0 => "",
        1.. => "+",
        _ => "-",
    }
}

/// Reads a size as users type it: `4096`, `1KiB`, `20MB`, `1.5GiB`; `k`, `M`, `G` alone are binary. Error: in words,
/// when it is none.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("\"{text}\" is not a size; write it as 4096, 1KiB, 20MB or 1.5GiB");
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(wrong()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(wrong);
    }
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let bytes = number * factor as f64;
    if bytes.is_finite() && bytes < u64::MAX as f64 { Ok(bytes.round() as u64) } else { Err(wrong()) }
}

/// A hundred years: what is longer may not be added to a moment of the system's clock.
const MAX_DURATION: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Reads a time as users type it: `500ms`, `30s`, `5m` or `5min`, `24h`. Error: in words, when it is none.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("\"{text}\" is not a time; write it as 500ms, 30s, 5m or 24h");
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let seconds = number.parse::<f64>().map_err(|_| wrong())? * factor;
    Duration::try_from_secs_f64(seconds).ok().filter(|time| *time <= MAX_DURATION).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let times =
            ["500ms", "30s", "1.5m", "5min", "24h"].map(|text| parse_duration(text).expect("a time").as_millis());
        assert_eq!(times, [500, 30_000, 90_000, 300_000, 86_400_000]);
        for wrong in ["", "5", "s", "-1s", "1w", "1e99s", "..s", "3000000000000000h", "99999999999999999999999s"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_both_ways() {
        assert_eq!(format_bytes(1023), "1023 B");
        assert_eq!(format_bytes(1536), "1.5 KiB");
        assert_eq!(format_bytes(8_589_934_591), "8.0 GiB");
        assert_eq!(format_bytes(1_048_524), "1023.9 KiB");
        assert_eq!(format_bytes(1_048_560), "1.0 MiB");
        assert_eq!(format_bytes((1 << 40) - 1), "1.0 TiB");
        assert_eq!(format_bytes(1 << 50), "1024.0 TiB");
        let counts = ["objects", "app domains", "entries", "classes"].map(|plural| count_with_noun(1, plural));
        assert_eq!(counts, ["1 object", "1 app domain", "1 entry", "1 class"]);
        assert_eq!(
            (count_with_noun(0, "heaps"), count_with_noun(1234, "heaps")),
            ("0 heaps".into(), "1,234 heaps".into())
        );
        assert_eq!(format_count(1_234_567), "1,234,567");
        assert_eq!(format_count(999), "999");
        assert_eq!(parse_size("1.5KiB"), Ok(1536));
        assert_eq!(parse_size("20MB"), Ok(20_000_000));
        assert_eq!(parse_size("18446744073709551615"), Ok(u64::MAX));
        for wrong in ["", "x", "1XB", "-1", "1.2.3", "20000000TiB"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
