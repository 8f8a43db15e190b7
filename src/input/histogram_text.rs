//! Texts in which tables of types stand, one or many, between lines of other programs: what the readers of class
//! histograms have in common. The lines of a table may all stand behind the same words, those of a log.

use std::collections::HashMap;

use chrono::{DateTime, NaiveDateTime};

use super::blocks::{BlockCutRule, ParsedBlockContent, TextBlockContext, parse_text_blocks};
use super::{
    Format, FormatMatch, ParsedContent, ParsedDump, ParsedTypes, Position, ProblemCode, ReadError, ReadErrorKind,
    ReadExtent, Reader, Reading, SnapshotChoice, SnapshotInfo, Source, text,
};
use crate::allocations::{ClassHistograms, NameId, TypeTotal};

/// A form of tables: the reader of a format.
pub(super) struct TableForm {
    pub(super) format: Format,
    /// The words above the columns, in each form that is known.
    pub(super) headings: &'static [&'static [&'static str]],
    /// Reads a row.
    pub(super) parse_line: fn(&str) -> TableLine<'_>,
    /// A type's name as source code writes it.
    pub(super) source_name: fn(&str) -> String,
    pub(super) codes: &'static TableCodes,
}

/// The problems of tables, in a format's words.
pub(super) struct TableCodes {
    pub(super) bad_row: ProblemCode,
    pub(super) no_total: ProblemCode,
    pub(super) wrong_total: ProblemCode,
}

/// What a line in a table is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TableLine<'l> {
    /// A type with objects and bytes.
    Row(&'l str, u64, u64),
    /// Blocks and bytes that are no objects, and part of the totals.
    NonObjectBlocks(u64, u64),
    /// The end of the table: objects and, where they are told, bytes.
    Total(u64, Option<u64>),
    /// A row that cannot be read.
    BadRow,
    /// Something else.
    Other,
}

/// A block of lines, as they are: one after the other needs what was before.
#[derive(Default)]
struct RawLines(Vec<u8>);

impl ParsedBlockContent for RawLines {
    fn memory_bytes(&self) -> usize {
        self.0.capacity()
    }
}

impl Reader for TableForm {
    fn format(&self) -> Format {
        self.format
    }

    /// One of the headings stands in the first lines.
    fn detect(&self, start: &[u8]) -> FormatMatch {
        let start = String::from_utf8_lossy(start);
        match start.lines().any(|line| word_count_before_heading(self, line).is_some()) {
            true => FormatMatch::Yes,
            false => FormatMatch::No,
        }
    }

    /// Reads all tables, and chooses one as the options say.
    fn read(&self, source: Source, reading: &mut Reading) -> Result<ParsedDump, ReadError> {
        let (extent, histograms) = parse_tables(self, source, reading)?;
        let content = match histograms.types_by_histogram.is_empty() {
            true => ParsedContent::NoHeap("no table of types is in the text".into()),
            false => ParsedContent::Histograms(histograms),
        };
        Ok(ParsedDump { extent, content })
    }

    /// The same, of the chosen table alone.
    fn count_types(&self, source: Source, reading: &mut Reading) -> Result<ParsedTypes, ReadError> {
        let (extent, histograms) = parse_tables(self, source, reading)?;
        let mut types: Vec<(String, u64, u64)> = histograms
            .type_rows(histograms.chosen_index)
            .map(|(name, objects, bytes)| (name.to_string(), objects, bytes))
            .filter(|(_, objects, _)| *objects > 0)
            .collect();
        types.sort_unstable();
        Ok(ParsedTypes { extent, types, origins: Vec::new(), section_names: Vec::new() })
    }
}

fn parse_tables(
    form: &TableForm,
    source: Source,
    reading: &mut Reading,
) -> Result<(ReadExtent, ClassHistograms), ReadError> {
    let mut share = reading.budget.for_content();
    let mut tables = TableCollector::new(form, reading);
    let copy = |text: &[u8], _: TextBlockContext, lines: &mut RawLines| {
        lines.0.clear();
        lines.0.extend_from_slice(text);
    };
    parse_text_blocks(source, BlockCutRule::AfterLine, 1, copy, |lines| {
        let mut rest = &lines.0[..];
        while !rest.is_empty() {
            let (line, after) = text::split_line(rest);
            tables.take_line(&String::from_utf8_lossy(line));
            rest = after;
        }
        Ok(share.set_held_bytes(tables.memory_bytes())?)
    })?;
    tables.finish()
}

/// The number of words before the heading in a line; `None` of a line without one.
fn word_count_before_heading(form: &TableForm, line: &str) -> Option<usize> {
    form.headings.iter().find_map(|heading| {
        // Few lines come so far.
        let words: Vec<&str> = line.contains(heading[1]).then(|| line.split_whitespace().collect())?;
        words.windows(heading.len()).position(|found| found == *heading)
    })
}

/// A line without so many words in front.
fn without_leading_words(line: &str, count: usize) -> &str {
    (0..count)
        .fold(line.trim_start(), |rest, _| rest.find(char::is_whitespace).map_or("", |at| rest[at..].trim_start()))
}

/// The time in a line, as logs write it: `2026-11-25T12:00:01.5Z`, with a blank for the T, with or without a zone (then
/// UTC), or as `date` writes it in UTC.
fn unix_ms_in(line: &str) -> Option<i64> {
    let is_date = |at: &usize| line.as_bytes().get(*at + 4) == Some(&b'-');
    let begins = |at: &usize| *at == 0 || !line.as_bytes()[at - 1].is_ascii_alphanumeric();
    let digits = line.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(at, _)| at);
    let iso = digits.filter(begins).find(is_date).and_then(|at| {
        let text = line[at..].trim_start_matches(['[', '"']);
        let end = text.char_indices().skip(11).find(|(_, c)| !(c.is_ascii_digit() || "Z:.,+-".contains(*c)));
        let text =
            text[..end.map_or(text.len(), |(at, _)| at)].trim_end_matches(['.', ',', ':', '-']).replace(',', ".");
        let zoned = ["%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f%#z"];
        let plain = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"];
        let zoned = zoned.iter().find_map(|form| DateTime::parse_from_str(&text, form).ok());
        let plain = || plain.iter().find_map(|form| NaiveDateTime::parse_from_str(&text, form).ok());
        zoned.map(|time| time.timestamp_millis()).or_else(|| plain().map(|time| time.and_utc().timestamp_millis()))
    });
    iso.or_else(|| {
        NaiveDateTime::parse_from_str(line.trim(), "%a %b %e %H:%M:%S UTC %Y")
            .ok()
            .map(|time| time.and_utc().timestamp_millis())
    })
}

struct Table {
    /// Words in front of each of its lines.
    leading_word_count: usize,
    unix_ms: Option<i64>,
    first_line: u64,
    totals_by_name: HashMap<NameId, (u64, u64)>,
    objects: u64,
    bytes: u64,
    /// What the totals have besides objects.
    non_object_blocks_and_bytes: (u64, u64),
}

struct TableCollector<'r, 'f> {
    form: &'f TableForm,
    reading: &'r mut Reading,
    histograms: ClassHistograms,
    snapshots: Vec<SnapshotInfo>,
    open_table: Option<Table>,
    line_number: u64,
    /// The latest time that a line told since the last table.
    last_unix_ms: Option<i64>,
    row_count: u64,
    other_line_count: u64,
}

impl<'r, 'f> TableCollector<'r, 'f> {
    fn new(form: &'f TableForm, reading: &'r mut Reading) -> Self {
        let found = ClassHistograms::default();
        TableCollector {
            form,
            reading,
            histograms: found,
            snapshots: Vec::new(),
            open_table: None,
            line_number: 0,
            last_unix_ms: None,
            row_count: 0,
            other_line_count: 0,
        }
    }

    fn memory_bytes(&self) -> u64 {
        // An entry and free places of the map.
        let open = self.open_table.as_ref().map_or(0, |table| table.totals_by_name.len() * 64);
        (self.histograms.memory_bytes() + open) as u64
    }

    fn take_line(&mut self, line: &str) {
        self.line_number += 1;
        if let Some(words) = word_count_before_heading(self.form, line) {
            self.close_table(None);
            let unix_ms = unix_ms_in(line).or(self.last_unix_ms.take());
            let (rows, first_line) = (HashMap::new(), self.line_number);
            self.open_table = Some(Table {
                leading_word_count: words,
                unix_ms,
                first_line,
                totals_by_name: rows,
                objects: 0,
                bytes: 0,
                non_object_blocks_and_bytes: (0, 0),
            });
            return;
        }
        let Some(table) = &mut self.open_table else {
            self.last_unix_ms = unix_ms_in(line).or(self.last_unix_ms);
            self.other_line_count += u64::from(!line.trim().is_empty());
            return;
        };
        match (self.form.parse_line)(without_leading_words(line, table.leading_word_count)) {
            TableLine::Row(name, objects, bytes) => {
                let name = self.histograms.names.intern(&(self.form.source_name)(name));
                let sum = table.totals_by_name.entry(name).or_default();
                *sum = (sum.0.saturating_add(objects), sum.1.saturating_add(bytes));
                table.objects = table.objects.saturating_add(objects);
                table.bytes = table.bytes.saturating_add(bytes);
                self.row_count += 1;
            }
            TableLine::Total(objects, bytes) => self.close_table(Some((objects, bytes))),
            TableLine::NonObjectBlocks(blocks, bytes) => {
                table.non_object_blocks_and_bytes = (
                    table.non_object_blocks_and_bytes.0.saturating_add(blocks),
                    table.non_object_blocks_and_bytes.1.saturating_add(bytes),
                );
            }
            TableLine::BadRow => {
                let (code, at) = (&self.form.codes.bad_row, Position::Line(self.line_number));
                self.reading.diagnostics.add(code, 1, at, || line.trim().chars().take(80).collect());
            }
            // A table may have no end: then the time of the next one follows.
            TableLine::Other => {
                self.last_unix_ms = unix_ms_in(line).or(self.last_unix_ms);
                self.other_line_count += u64::from(!line.trim().is_empty() && !line.trim().ends_with("---"));
            }
        }
    }

    /// Ends the table that is open, with its totals.
    fn close_table(&mut self, total: Option<(u64, Option<u64>)>) {
        let Some(table) = self.open_table.take() else { return };
        let codes = self.form.codes;
        let at = Position::Line(table.first_line);
        match total {
            None => self.reading.diagnostics.add(&codes.no_total, 1, at, String::new),
            Some((objects, bytes)) => {
                let listed = table.objects.saturating_add(table.non_object_blocks_and_bytes.0);
                let listed_bytes = table.bytes.saturating_add(table.non_object_blocks_and_bytes.1);
                let is_same = objects == listed && bytes.is_none_or(|bytes| bytes == listed_bytes);
                let text = || format!("{objects} in all, {listed} are listed");
                self.reading.diagnostics.add(&codes.wrong_total, u64::from(!is_same), at, text);
            }
        }
        self.snapshots.push(SnapshotInfo {
            unix_ms: table.unix_ms,
            complete: total.is_some(),
            objects: table.objects,
            shallow_bytes: table.bytes,
            ..SnapshotInfo::default()
        });
        let mut rows: Vec<TypeTotal> = table
            .totals_by_name
            .into_iter()
            .map(|(name, (objects, bytes))| TypeTotal { name, object_count: objects, bytes })
            .collect();
        rows.sort_unstable_by_key(|row| row.name);
        rows.shrink_to_fit();
        self.histograms.types_by_histogram.push(rows);
    }

    fn finish(mut self) -> Result<(ReadExtent, ClassHistograms), ReadError> {
        self.close_table(None);
        let TableCollector {
            reading,
            histograms: mut found,
            mut snapshots,
            line_number: line,
            row_count: rows,
            other_line_count: other_lines,
            ..
        } = self;
        let count = snapshots.len();
        found.chosen_index = match reading.options.snapshot {
            SnapshotChoice::FirstComplete => snapshots.iter().position(|snapshot| snapshot.complete).unwrap_or(0),
            SnapshotChoice::Last => count.saturating_sub(1),
            SnapshotChoice::Number(number) if number > count && count > 0 => {
                return Err(ReadError::new(ReadErrorKind::NoSuchSnapshot(number, count)));
            }
            SnapshotChoice::Number(number) => number - 1,
        };
        if let Some(chosen) = snapshots.get_mut(found.chosen_index) {
            chosen.chosen = true;
        }
        reading.info.set_records([("histograms", count as u64), ("rows", rows), ("other_lines", other_lines)]);
        reading.info.snapshots = snapshots;
        reading.info.has_no_roots = true;
        let (objects, _) = found.totals(found.chosen_index);
        Ok((ReadExtent { end: Position::Line(line), objects, loss_codes: &[] }, found))
    }
}

#[cfg(test)]
mod tests {
    use super::unix_ms_in;

    #[test]
    fn times_of_logs() {
        let noon = Some(1_795_608_000_000);
        for (line, expected) in [
            ("2026-11-25T12:00:00Z", noon),
            ("[2026-11-25 12:00:00,250] INFO jcmd", noon.map(|ms| ms + 250)),
            ("pod-7 2026-11-25T13:00:00.5+01:00 stdout F", noon.map(|ms| ms + 500)),
            ("Wed Nov 25 12:00:00 UTC 2026", noon),
            ("--- 2026-11-25 12:00:00", noon),
            ("1: 14789 1252992 [B", None),
            ("2026-1", None),
            ("", None),
        ] {
            assert_eq!(unix_ms_in(line), expected, "{line}");
        }
    }
}
