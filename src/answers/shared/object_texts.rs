//! What objects of some classes of the JDK say: dates, numbers of any size, ids, as Java writes them.

use chrono::{DateTime, SecondsFormat};

use super::values::field_name;
use crate::graph::NodeId;
use crate::input::{FieldValue, ShownValue, Text, Value};

/// Words of 32 bits of the largest number that is written with its digits.
const MAX_NUMBER_WORDS: usize = 1024;
/// Digits behind the point that are written out.
const MAX_SCALE: i64 = 10_000;

/// What an object of a class says by its fields; `None` of other classes, and of fields that make no sense.
pub(super) fn text_of_known_class<'f>(
    class: &str,
    field: &dyn Fn(&str) -> Option<&'f Value>,
    of_object: &dyn Fn(NodeId) -> Vec<FieldValue>,
    elements: &dyn Fn(NodeId, usize) -> Option<Vec<Value>>,
) -> Option<ShownValue> {
    let number = |name: &str| match field(name)? {
        Value::Integer(number) => Some(*number),
        _ => None,
    };
    let numbers_of = |name: &str, names: &[&str]| -> Option<Vec<i64>> {
        let Some(Value::Object(node)) = field(name) else { return None };
        let fields = of_object(*node);
        let number = |wanted: &&str| {
            let found = fields.iter().find(|field| field_name(field) == *wanted)?;
            if let Value::Integer(number) = found.value { Some(number) } else { None }
        };
        names.iter().map(number).collect()
    };
    let text = match class {
        "java.util.concurrent.atomic.AtomicInteger" | "java.util.concurrent.atomic.AtomicLong" => {
            return Some(Value::Integer(number("value")?).into());
        }
        "java.util.concurrent.atomic.AtomicBoolean" => return Some(Value::Boolean(number("value")? != 0).into()),
        "java.util.Date" => {
            instant_text(number("fastTime")?.div_euclid(1000), number("fastTime")?.rem_euclid(1000) * 1_000_000)?
        }
        "java.sql.Timestamp" => instant_text(number("fastTime")?.div_euclid(1000), number("nanos")?)?,
        "java.time.Instant" => instant_text(number("seconds")?, number("nanos")?)?,
        "java.time.Duration" => duration_text(number("seconds")?, number("nanos")?)?,
        "java.time.LocalDate" => date_text(&[number("year")?, number("month")?, number("day")?])?,
        "java.time.LocalTime" => time_text(&[number("hour")?, number("minute")?, number("second")?, number("nano")?])?,
        "java.time.LocalDateTime" => {
            let date = date_text(&numbers_of("date", &["year", "month", "day"])?)?;
            format!("{date}T{}", time_text(&numbers_of("time", &["hour", "minute", "second", "nano"])?)?)
        }
        "java.util.UUID" => {
            let (high, low) = (number("mostSigBits")? as u64, number("leastSigBits")? as u64);
            let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
            format!("{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff)
        }
        "java.math.BigInteger" => {
            let Some(Value::Object(words)) = field("mag") else { return None };
            whole_number_text(number("signum")?, &elements(*words, MAX_NUMBER_WORDS)?)?
        }
        "java.math.BigDecimal" => {
            let digits = match number("intCompact")? {
                i64::MIN => {
                    let Some(Value::Object(node)) = field("intVal") else { return None };
                    let fields = of_object(*node);
                    let of =
                        |name: &str| fields.iter().find(|field| field_name(field) == name).map(|field| &field.value);
                    let (Value::Integer(sign), Value::Object(words)) = (of("signum")?, of("mag")?) else { return None };
                    whole_number_text(*sign, &elements(*words, MAX_NUMBER_WORDS)?)?
                }
                number => number.to_string(),
            };
            decimal_text(&digits, number("scale")?)?
        }
        _ => return None,
    };
    Some(ShownValue::Text(Text { text, is_cut: false }))
}

/// `2026-11-26T21:30:00.250Z`
fn instant_text(seconds: i64, nanoseconds: i64) -> Option<String> {
    let time = DateTime::from_timestamp(seconds, u32::try_from(nanoseconds).ok()?)?;
    Some(time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

/// `2026-11-26`
fn date_text(year_month_day: &[i64]) -> Option<String> {
    let [year, month @ 1..=12, day @ 1..=31] = *year_month_day else { return None };
    Some(match year {
        0..=9999 => format!("{year:04}-{month:02}-{day:02}"),
        10_000.. => format!("+{year}-{month:02}-{day:02}"),
        _ => format!("-{:04}-{month:02}-{day:02}", year.unsigned_abs()),
    })
}

/// `21:30`, `21:30:05.250`
fn time_text(parts: &[i64]) -> Option<String> {
    let [hour @ 0..=23, minute @ 0..=59, second @ 0..=59, nano @ 0..=999_999_999] = *parts else { return None };
    let seconds = if second == 0 && nano == 0 { String::new() } else { format!(":{second:02}") };
    Some(format!("{hour:02}:{minute:02}{seconds}{}", fraction_text(nano, 3)))
}

/// Nanoseconds as `.250`: in groups of some digits.
fn fraction_text(nanoseconds: i64, group: usize) -> String {
    let digits = format!("{nanoseconds:09}");
    let needed = digits.trim_end_matches('0').len().div_ceil(group) * group;
    if needed == 0 { String::new() } else { format!(".{}", &digits[..needed]) }
}

/// `PT8H6M12.345S`
fn duration_text(seconds: i64, nanoseconds: i64) -> Option<String> {
    if !(0..1_000_000_000).contains(&nanoseconds) {
        return None;
    }
    let total = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    let sign = if total < 0 { "-" } else { "" };
    let total = total.unsigned_abs();
    let (whole, fraction) = (total / 1_000_000_000, (total % 1_000_000_000) as i64);
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    let mut text = String::from("PT");
    for (number, unit) in [(hours, 'H'), (minutes, 'M')].into_iter().filter(|(number, _)| *number > 0) {
        text += &format!("{sign}{number}{unit}");
    }
    if rest > 0 || fraction > 0 || total == 0 {
        text += &format!("{sign}{rest}{}S", fraction_text(fraction, 1));
    }
    Some(text)
}

/// The digits of a number of some words of 32 bits, the highest first. O(words²), of so many at most.
fn whole_number_text(sign: i64, words: &[Value]) -> Option<String> {
    const BASE: u64 = 1_000_000_000;
    let word = |word: &Value| if let Value::Integer(word) = word { Some(u64::from(*word as u32)) } else { None };
    let mut words: Vec<u64> = words.iter().map(word).collect::<Option<_>>()?;
    let mut groups = Vec::new();
    while words.iter().any(|word| *word > 0) {
        let mut rest = 0;
        for word in &mut words {
            let number = rest << 32 | *word;
            (*word, rest) = (number / BASE, number % BASE);
        }
        groups.push(rest);
    }
    let Some(first) = groups.pop() else { return Some("0".into()) };
    let rest = groups.iter().rev().map(|group| format!("{group:09}"));
    let sign = if sign < 0 { "-" } else { "" };
    Some(format!("{sign}{first}{}", rest.collect::<String>()))
}

/// As `BigDecimal.toString` writes it: `12.50`, `1.25E+20`.
fn decimal_text(digits: &str, scale: i64) -> Option<String> {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let exponent = digits.len() as i64 - 1 - scale;
    if scale == 0 {
        return Some(format!("{sign}{digits}"));
    }
    if scale > 0 && exponent >= -6 {
        if scale > MAX_SCALE {
            return None;
        }
        let padded = format!("{digits:0>width$}", width = scale as usize + 1);
        let (whole, fraction) = padded.split_at(padded.len() - scale as usize);
        return Some(format!("{sign}{whole}.{fraction}"));
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let exponent = if exponent == 0 { String::new() } else { format!("E{exponent:+}") };
    Some(format!("{sign}{first}{point}{rest}{exponent}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Java 17 writes.
    #[test]
    fn texts_are_those_of_java() {
        assert_eq!(instant_text(1_764_193_800, 250_000_000).as_deref(), Some("2025-11-26T21:50:00.250Z"));
        assert_eq!(instant_text(-1, 999_999_999).as_deref(), Some("1969-12-31T23:59:59.999999999Z"));
        assert_eq!(instant_text(i64::MAX, 0), None);
        for (parts, text) in [
            ([21, 30, 0, 0], "21:30"),
            ([0, 0, 5, 0], "00:00:05"),
            ([1, 2, 0, 1_000_000], "01:02:00.001"),
            ([1, 2, 3, 1_000], "01:02:03.000001"),
        ] {
            assert_eq!(time_text(&parts).as_deref(), Some(text));
        }
        assert_eq!(date_text(&[-44, 3, 15]).as_deref(), Some("-0044-03-15"));
        assert_eq!(date_text(&[2026, 13, 1]), None);
        for (seconds, nanos, text) in [
            (0, 0, "PT0S"),
            (29_172, 345_000_000, "PT8H6M12.345S"),
            (60, 0, "PT1M"),
            (-1, 500_000_000, "PT-0.5S"),
            (-3661, 0, "PT-1H-1M-1S"),
        ] {
            assert_eq!(duration_text(seconds, nanos).as_deref(), Some(text));
        }
        let words = |words: &[i64]| words.iter().map(|&word| Value::Integer(word)).collect::<Vec<_>>();
        assert_eq!(whole_number_text(-1, &words(&[1, 0])).as_deref(), Some("-4294967296"));
        assert_eq!(whole_number_text(1, &words(&[-1, -1, -1])).as_deref(), Some("79228162514264337593543950335"));
        assert_eq!(whole_number_text(0, &[]).as_deref(), Some("0"));
        for (digits, scale, text) in [
            ("1250", 2, "12.50"),
            ("-5", 3, "-0.005"),
            ("125", -18, "1.25E+20"),
            ("1", 7, "1E-7"),
            ("0", 2, "0.00"),
            ("7", 0, "7"),
        ] {
            assert_eq!(decimal_text(digits, scale).as_deref(), Some(text));
        }
        assert_eq!(decimal_text("1", i64::from(i32::MAX)).as_deref(), Some("1E-2147483647"));
    }
}
