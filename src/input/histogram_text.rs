//! Texts in which tables of types stand, one or many, between lines of other programs: what the readers of class
//! histograms have in common. The lines of a table may all stand behind the same words, those of a log.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use serde::Deserialize;

use super::blocks::{BlockCutRule, ParsedBlockContent, TextBlockContext, parse_text_blocks};
use super::log_times::LineTimes;
use super::{
    Format, FormatMatch, ParsedContent, ParsedDump, ParsedTypes, Position, ProblemCode, ReadError, ReadErrorKind,
    ReadExtent, Reader, Reading, SnapshotChoice, SnapshotInfo, Source, text,
};
use crate::allocations::{ClassHistograms, NameId, TypeTotal};

/// A heading is a short line, and so is one with its time; a log may have lines of megabytes.
const MAX_HEADING_BYTES: usize = 64 << 10;
/// Lines before a heading in which its time is looked for.
const MAX_LINES_BEFORE_TABLE: usize = 64;

/// A form of tables: the reader of a format.
pub(super) struct TableForm {
    pub(super) format: Format,
    /// Each form that is known.
    pub(super) headings: &'static [TableHeading],
    /// A type's name as source code writes it.
    pub(super) source_name: fn(&str) -> String,
    pub(super) codes: &'static TableCodes,
}

/// What begins a table, and how it goes on.
pub(super) struct TableHeading {
    /// The words above the columns.
    pub(super) words: &'static [&'static str],
    /// Reads a row.
    pub(super) parse_line: fn(&str) -> TableLine<'_>,
    /// A line of totals ends it.
    pub(super) has_total: bool,
}

/// The problems of tables, in a format's words.
pub(super) struct TableCodes {
    /// Of rows whose bytes are an estimate, where there are any.
    pub(super) estimated_row: Option<ProblemCode>,
    pub(super) bad_row: ProblemCode,
    pub(super) no_total: ProblemCode,
    pub(super) wrong_total: ProblemCode,
}

/// What a line in a table is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TableLine<'l> {
    /// A type with objects and bytes.
    Row(&'l str, u64, u64),
    /// The same where the bytes are an estimate.
    EstimatedRow(&'l str, u64, u64),
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

    /// One of the headings stands in a line.
    fn detect(&self, start: &[u8]) -> FormatMatch {
        let may_have_heading = |line: &&[u8]| self.headings.iter().any(|heading| has_heading_word(heading, line));
        let is_heading = |line: &[u8]| {
            let mut is_found = false;
            for_each_text(&String::from_utf8_lossy(line), |text, _| is_found |= heading_in(self, text).is_some());
            is_found
        };
        match start.split(|&byte| byte == b'\n').filter(may_have_heading).any(is_heading) {
            true => FormatMatch::Yes,
            false => FormatMatch::No,
        }
    }

    fn may_stand_behind_text(&self) -> bool {
        true
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

/// The heading in a line, and the number of words before it; `None` of a line without one.
fn heading_in(form: &TableForm, line: &str) -> Option<(&'static TableHeading, usize)> {
    form.headings.iter().find_map(|heading| {
        // Few lines come so far.
        let may_be = line.len() <= MAX_HEADING_BYTES && has_heading_word(heading, line.as_bytes());
        let words: Vec<&str> = may_be.then(|| line.split_whitespace().collect())?;
        Some((heading, words.windows(heading.words.len()).position(|found| found == heading.words)?))
    })
}

fn has_heading_word(heading: &TableHeading, line: &[u8]) -> bool {
    memchr::memmem::find(line, heading.words[1].as_bytes()).is_some()
}

/// A line without so many words in front.
fn without_leading_words(line: &str, count: usize) -> &str {
    let mut rest = line.trim_start();
    for _ in 0..count {
        if rest.is_empty() {
            break;
        }
        rest = split_word(rest).1;
    }
    rest
}

/// The first word, and what follows behind blanks. A blank that does not break is none: it may stand in a number.
pub(super) fn split_word(text: &str) -> (&str, &str) {
    let (word, after) = text.split_once([' ', '\t', '\r']).unwrap_or((text, ""));
    (word, after.trim_start())
}

/// `1234`, or in groups of three digits, or of two before the last (India), as some country writes them: `1,234`, `1.234`, `1'234`.
pub(super) fn parse_count(word: &str) -> Option<u64> {
    let groups: Vec<&str> = word.split([',', '.', '\'', '\u{2019}', '\u{a0}', '\u{202f}']).collect();
    let fits = match &groups[..] {
        [first, middle @ .., last] => {
            (1..=3).contains(&first.len()) && middle.iter().all(|group| matches!(group.len(), 2 | 3)) && last.len() == 3
        }
        _ => true,
    };
    let digits = groups.concat();
    digits.parse().ok().filter(|_| fits && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// No name of a type has a quotation mark, or a digit first: the line has other text around it than its table, or numbers that are
/// not read right.
fn is_type_name(name: &str) -> bool {
    !name.contains('"') && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// A line of a container's log as Docker keeps it, or of a logger that writes JSON.
#[derive(Deserialize)]
struct JsonLogLine<'l> {
    #[serde(borrow, alias = "message")]
    log: Cow<'l, str>,
    #[serde(borrow, default, alias = "@timestamp")]
    time: Cow<'l, str>,
}

/// Calls `take_text` with the lines in a line of JSON, and its time; with any other line as it is.
fn for_each_text(line: &str, mut take_text: impl FnMut(&str, LineTimes)) {
    let is_json = line.trim_start().starts_with('{');
    match is_json.then(|| serde_json::from_str::<JsonLogLine<'_>>(line).ok()).flatten() {
        Some(outer) => outer.log.lines().for_each(|text| take_text(text, LineTimes::of(&outer.time))),
        None => take_text(line, LineTimes::default()),
    }
}

struct Table {
    heading: &'static TableHeading,
    /// Words in front of each of its lines, or of the heading alone.
    leading_word_count: usize,
    times: LineTimes,
    first_line: u64,
    totals_by_name: HashMap<NameId, (u64, u64)>,
    objects: u64,
    bytes: u64,
    /// What the totals have besides objects.
    non_object_blocks_and_bytes: (u64, u64),
}

impl Table {
    /// What a line is, behind the words that stand in front of the heading, or, where only that has them, from its start.
    fn parse_line<'l>(&self, line: &'l str) -> TableLine<'l> {
        let parse = |count: usize| match (self.heading.parse_line)(without_leading_words(line, count)) {
            TableLine::Row(name, ..) | TableLine::EstimatedRow(name, ..) if !is_type_name(name) => TableLine::BadRow,
            row => row,
        };
        let is_known = |row: &TableLine<'_>| !matches!(row, TableLine::BadRow | TableLine::Other);
        let row = parse(self.leading_word_count);
        let from_start = (self.leading_word_count > 0 && !is_known(&row)).then(|| parse(0)).filter(is_known);
        from_start.unwrap_or(row)
    }
}

struct TableCollector<'r, 'f> {
    form: &'f TableForm,
    reading: &'r mut Reading,
    histograms: ClassHistograms,
    snapshots: Vec<SnapshotInfo>,
    open_table: Option<Table>,
    line_number: u64,
    /// The latest lines since the last table: one of them may tell the time of the next. Most are never looked at.
    last_lines: VecDeque<String>,
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
            last_lines: VecDeque::new(),
            row_count: 0,
            other_line_count: 0,
        }
    }

    fn memory_bytes(&self) -> u64 {
        // An entry and free places of the map.
        let open = self.open_table.as_ref().map_or(0, |table| table.totals_by_name.len() * 64);
        let lines: usize = self.last_lines.iter().map(String::capacity).sum();
        (self.histograms.memory_bytes() + open + lines) as u64
    }

    fn take_line(&mut self, line: &str) {
        self.line_number += 1;
        let may_be_heading = || self.form.headings.iter().any(|heading| has_heading_word(heading, line.as_bytes()));
        if self.open_table.is_none() && !may_be_heading() {
            self.note_other_line(line);
            return;
        }
        for_each_text(line, |text, times| self.take_text(text, times));
    }

    /// Takes a line of text, and the times of what it stands in.
    fn take_text(&mut self, line: &str, outer_times: LineTimes) {
        if let Some((heading, words)) = heading_in(self.form, line) {
            self.close_table(None);
            let times = self.times_before_table(LineTimes::of(line).or(outer_times));
            let (rows, first_line) = (HashMap::new(), self.line_number);
            self.open_table = Some(Table {
                heading,
                leading_word_count: words,
                times,
                first_line,
                totals_by_name: rows,
                objects: 0,
                bytes: 0,
                non_object_blocks_and_bytes: (0, 0),
            });
            return;
        }
        let Some(table) = &mut self.open_table else {
            self.note_other_line(line);
            return;
        };
        let line_of_table = table.parse_line(line);
        let is_estimated = matches!(line_of_table, TableLine::EstimatedRow(..));
        match line_of_table {
            TableLine::Row(name, objects, bytes) | TableLine::EstimatedRow(name, objects, bytes) => {
                if let (true, Some(code)) = (is_estimated, &self.form.codes.estimated_row) {
                    self.reading.diagnostics.add(code, 1, Position::Line(self.line_number), || name.to_string());
                }
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
            TableLine::Other if line.trim().ends_with("---") => {}
            TableLine::Other => self.note_other_line(line),
        }
    }

    /// Counts a line of other programs, and keeps it for its time.
    fn note_other_line(&mut self, line: &str) {
        self.other_line_count += u64::from(!line.trim().is_empty());
        if line.len() <= MAX_HEADING_BYTES {
            let is_full = self.last_lines.len() == MAX_LINES_BEFORE_TABLE;
            let mut kept = is_full.then(|| self.last_lines.pop_front()).flatten().unwrap_or_default();
            kept.clear();
            kept.push_str(line);
            self.last_lines.push_back(kept);
        }
    }

    /// The times of a table whose heading tells `times`: what they lack by the latest line that tells it.
    fn times_before_table(&mut self, mut times: LineTimes) -> LineTimes {
        for line in self.last_lines.drain(..).rev() {
            if times.unix_ms.is_some() {
                break;
            }
            for_each_text(&line, |text, outer_times| times = times.or(LineTimes::of(text).or(outer_times)));
        }
        times
    }

    /// Ends the table that is open, with its totals.
    fn close_table(&mut self, total: Option<(u64, Option<u64>)>) {
        let Some(table) = self.open_table.take() else { return };
        let codes = self.form.codes;
        let at = Position::Line(table.first_line);
        match total {
            None => {
                let count = u64::from(table.heading.has_total);
                self.reading.diagnostics.add(&codes.no_total, count, at, String::new);
            }
            Some((objects, bytes)) => {
                let listed = table.objects.saturating_add(table.non_object_blocks_and_bytes.0);
                let listed_bytes = table.bytes.saturating_add(table.non_object_blocks_and_bytes.1);
                let is_same = objects == listed && bytes.is_none_or(|bytes| bytes == listed_bytes);
                let text = || format!("{objects} in all, {listed} are listed");
                self.reading.diagnostics.add(&codes.wrong_total, u64::from(!is_same), at, text);
            }
        }
        self.snapshots.push(SnapshotInfo {
            unix_ms: table.times.unix_ms,
            uptime_ms: table.times.uptime_ms,
            complete: total.is_some() || !table.heading.has_total,
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
    use super::parse_count;

    #[test]
    fn numbers_of_many_countries() {
        for (word, number) in [
            ("1234", Some(1234)),
            ("1,234,567", Some(1_234_567)),
            ("1.234", Some(1234)),
            ("1'234", Some(1234)),
            ("12\u{202f}345", Some(12_345)),
            ("1\u{a0}234", Some(1234)),
            ("12,34,567", Some(1_234_567)),
            ("1.5", None),
            ("1,2,345", None),
            (",345", None),
            ("1,2345", None),
            ("1234,567", None),
            ("+5", None),
            ("", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(parse_count(word), number, "{word}");
        }
    }
}
