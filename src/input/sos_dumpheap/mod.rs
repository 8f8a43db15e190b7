//! What `dumpheap -stat` of SOS (WinDbg, LLDB, dotnet-dump) and `dotnet-gcdump report` print, once or many times in a log.
//!
//! ```text
//! Statistics:
//!               MT    Count    TotalSize Class Name
//! 00007f6c1dc00f90   206770     19494060 System.String
//! Total 428516 objects
//!
//!    Object Bytes     Count  Type
//!         200,024       190  System.Byte[] (Bytes > 100K)  [System.Private.CoreLib.dll]
//! ```
//!
//! `heapdump collect --histogram` writes the first form without the column MT. Newer versions have commas in numbers and bytes in the last line. docs/formats/sos-dumpheap.md has the forms, the codes, and
//! where each rule comes from.

mod problem_codes;

use super::dotnet::{is_array_name, source_type_name, without_size_suffix};
use super::histogram_text::{TableForm, TableHeading, TableLine, parse_count, split_word};
use super::{Format, Runtime};

/// The reader.
pub(super) static SOS_DUMPHEAP: TableForm = TableForm {
    format: Format::text(
        "sos-dumpheap",
        ".NET heap statistics (dumpheap -stat of SOS, dotnet-gcdump report)",
        Runtime::DotNet,
    ),
    headings: &[
        TableHeading {
            words: &["MT", "Count", "TotalSize", "Class", "Name"],
            parse_line: parse_table_line,
            has_total: true,
        },
        TableHeading {
            words: &["Count", "TotalSize", "Class", "Name"],
            parse_line: parse_line_without_table,
            has_total: true,
        },
        TableHeading { words: &["Object", "Bytes", "Count", "Type"], parse_line: parse_report_line, has_total: false },
    ],
    source_name: without_assemblies,
    codes: &problem_codes::CODES,
};

/// `Total 25,000 objects, 1,234,567 bytes`, where it is one.
fn parse_total(line: &str) -> Option<TableLine<'_>> {
    let (count, rest) = split_word(line.strip_prefix("Total ")?.trim_start());
    let (word, rest) = split_word(rest);
    let total = |objects| TableLine::Total(objects, rest.strip_suffix(" bytes").and_then(parse_count));
    word.starts_with("objects").then(|| parse_count(count).map_or(TableLine::BadRow, total))
}

/// A row without the method table, as `heapdump collect --histogram` writes it.
fn parse_line_without_table(line: &str) -> TableLine<'_> {
    let (count, rest) = split_word(line);
    let (bytes, name) = split_word(rest);
    match (parse_count(count), parse_count(bytes)) {
        (Some(objects), Some(bytes)) if !name.is_empty() => TableLine::Row(name.trim_end(), objects, bytes),
        (Some(_), _) => TableLine::BadRow,
        _ => parse_total(line).unwrap_or(TableLine::Other),
    }
}

fn parse_table_line(line: &str) -> TableLine<'_> {
    if let Some(total) = parse_total(line) {
        return total;
    }
    let (table, rest) = split_word(line);
    let (count, rest) = split_word(rest);
    let (bytes, rest) = split_word(rest);
    let is_table = table.len() >= 4 && table.bytes().all(|byte| byte.is_ascii_hexdigit());
    match (parse_count(count), parse_count(bytes)) {
        _ if !is_table => TableLine::Other,
        // Free blocks are no objects.
        (Some(blocks), Some(bytes)) if rest.trim() == "Free" => TableLine::NonObjectBlocks(blocks, bytes),
        (Some(objects), Some(bytes)) if !rest.is_empty() => TableLine::Row(rest.trim_end(), objects, bytes),
        _ => TableLine::BadRow,
    }
}

/// A row of `dotnet-gcdump report`: bytes of one object, objects, type, and its module in brackets. Objects of one type are of
/// one size but for arrays and strings, of which it is that of one of them.
fn parse_report_line(line: &str) -> TableLine<'_> {
    let (size, rest) = split_word(line);
    let (objects, name) = split_word(rest);
    let (Some(size), Some(objects)) = (parse_count(size), parse_count(objects)) else { return TableLine::Other };
    let name = name.trim();
    let name = without_size_suffix(name.rsplit_once("  [").map_or(name, |(name, _)| name));
    let bytes = objects.saturating_mul(size);
    match () {
        // What stands above the table of the next report.
        () if name.is_empty() => TableLine::Other,
        () if is_array_name(name) || name == "System.String" => TableLine::EstimatedRow(name, objects, bytes),
        () => TableLine::Row(name, objects, bytes),
    }
}

/// ``System.Func`2[[System.String, System.Private.CoreLib],[A.B, Main]]`` as `System.Func<System.String,A.B>`: the
/// arguments' assemblies are left out, as in other formats of .NET.
fn without_assemblies(raw: &str) -> String {
    if !raw.contains("[[") {
        return source_type_name(raw);
    }
    let mut plain = String::with_capacity(raw.len());
    // An argument is in a bracket of its own, directly behind another bracket or a comma.
    let mut arguments: Vec<bool> = Vec::new();
    let mut is_assembly = false;
    let bytes = raw.as_bytes();
    for (at, c) in raw.char_indices() {
        match c {
            '[' => {
                let is_argument =
                    at > 0 && (bytes[at - 1] == b'[' || (bytes[at - 1] == b',' && arguments.last() == Some(&false)));
                arguments.push(is_argument);
                if !is_argument && !is_assembly {
                    plain.push('[');
                }
            }
            ']' => {
                let was_argument = arguments.pop().unwrap_or(false);
                is_assembly &= !was_argument;
                if !was_argument && !is_assembly {
                    plain.push(']');
                }
            }
            ',' if arguments.last() == Some(&true) => is_assembly = true,
            _ if is_assembly => {}
            c => plain.push(c),
        }
    }
    source_type_name(&plain)
}

#[cfg(test)]
mod tests {
    use super::{TableLine, parse_report_line, parse_table_line, without_assemblies};

    #[test]
    fn rows() {
        for (line, expected) in [
            (
                "00007f6c1dc00f90   206770     19494060 System.String",
                TableLine::Row("System.String", 206_770, 19_494_060),
            ),
            ("7f6c1dc00f90 206,770 19,494,060 System.String", TableLine::Row("System.String", 206_770, 19_494_060)),
            ("7f6c1dc00f90 206.770 19\u{202f}494\u{a0}060 A", TableLine::Row("A", 206_770, 19_494_060)),
            ("00000000008c9db0     3847       116080      Free", TableLine::NonObjectBlocks(3847, 116_080)),
            ("Total 428516 objects", TableLine::Total(428_516, None)),
            ("Total 25,000 objects, 1,234,567 bytes", TableLine::Total(25_000, Some(1_234_567))),
            ("00007f6c1dc00f90   x     19494060 System.String", TableLine::BadRow),
            ("00007f6c1dc00f90", TableLine::BadRow),
            ("> exit", TableLine::Other),
            ("", TableLine::Other),
        ] {
            assert_eq!(parse_table_line(line), expected, "{line}");
        }
    }

    #[test]
    fn rows_of_reports() {
        for (line, expected) in [
            (
                "200,024       190  System.Byte[] (Bytes > 100K)  [System.Private.CoreLib.dll]",
                TableLine::EstimatedRow("System.Byte[]", 190, 38_004_560),
            ),
            ("22     2,094  System.String", TableLine::EstimatedRow("System.String", 2094, 46_068)),
            ("24  3  Shop.Cache<A[],B>  [Shop.dll]", TableLine::Row("Shop.Cache<A[],B>", 3, 72)),
            ("13,633  GC Heap objects", TableLine::Other),
            ("[static vars]", TableLine::Other),
            ("", TableLine::Other),
        ] {
            assert_eq!(parse_report_line(line), expected, "{line}");
        }
    }

    #[test]
    fn names() {
        for (raw, expected) in [
            ("System.Byte[]", "System.Byte[]"),
            ("System.Func`2[[System.String, System.Private.CoreLib],[A.B, Main]]", "System.Func<System.String,A.B>"),
            ("A`1[[B`1[[C[,], c]], b]][]", "A<B<C[,]>>[]"),
            ("A+<>c", "A+<>c"),
        ] {
            assert_eq!(without_assemblies(raw), expected);
        }
    }
}
