//! Class histograms of the JVM: what `jcmd PID GC.class_histogram` and `jmap -histo` print, once or many times in a log.
//!
//! ```text
//!  num     #instances         #bytes  class name (module)
//! -------------------------------------------------------
//!    1:         14789        1252992  [B (java.base@17.0.15)
//! Total         62674        3054024
//! ```
//!
//! OpenJ9's jmap and jcmd have `object count` and `total size`, and no colon. docs/formats/jvm-histogram.md has the forms, the codes, and
//! where each rule comes from.

mod problem_codes;

use super::histogram_text::{TableForm, TableHeading, TableLine, parse_count, split_word};
use super::java_types::source_form;
use super::{Format, Runtime};

/// The reader.
pub(super) static JVM_HISTOGRAM: TableForm = TableForm {
    format: Format::text("jvm-histogram", "Java class histogram (jcmd GC.class_histogram, jmap -histo)", Runtime::Java),
    headings: &[
        TableHeading {
            words: &["num", "#instances", "#bytes", "class", "name"],
            parse_line: parse_table_line,
            has_total: true,
        },
        TableHeading {
            words: &["num", "object", "count", "total", "size", "class", "name"],
            parse_line: parse_table_line,
            has_total: true,
        },
    ],
    source_name: source_form,
    codes: &problem_codes::CODES,
};

fn parse_table_line(line: &str) -> TableLine<'_> {
    let (first, rest) = split_word(line);
    let (second, rest) = split_word(rest);
    let (third, rest) = split_word(rest);
    let counts = parse_count(second).zip(parse_count(third));
    let number = first.strip_suffix(':').unwrap_or(first);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    match (first, counts) {
        ("Total", Some((objects, bytes))) if rest.is_empty() => TableLine::Total(objects, Some(bytes)),
        // The module stands behind the name.
        (_, Some((objects, bytes))) if is_number && !rest.is_empty() => {
            TableLine::Row(rest.split_once(" (").map_or(rest, |(name, _)| name).trim_end(), objects, bytes)
        }
        _ if is_number && first.ends_with(':') => TableLine::BadRow,
        _ => TableLine::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::{TableLine, parse_table_line};

    #[test]
    fn rows() {
        for (line, expected) in [
            ("1:         14789        1252992  [B (java.base@17.0.15)", TableLine::Row("[B", 14789, 1_252_992)),
            ("2:             3             72  L$Session", TableLine::Row("L$Session", 3, 72)),
            ("1           3354         107328    [C", TableLine::Row("[C", 3354, 107_328)),
            ("7: 1 16 <constMethodKlass>", TableLine::Row("<constMethodKlass>", 1, 16)),
            ("Total         62674        3054024", TableLine::Total(62674, Some(3_054_024))),
            ("12:   99999999999999999999   1  A", TableLine::BadRow),
            ("12:", TableLine::BadRow),
            ("Total", TableLine::Other),
            ("-----------", TableLine::Other),
            ("", TableLine::Other),
        ] {
            assert_eq!(parse_table_line(line), expected, "{line}");
        }
    }
}
