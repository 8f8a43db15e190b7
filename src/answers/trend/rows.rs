//! The answer of `trend`: the dumps, the course of the whole, rows, and limits on growth.

use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::analysis::diff::saturating_delta;
use crate::analysis::series::{SeriesTrend, Trend, median_slope, sparkline};
use crate::analysis::threshold::Threshold;
use crate::analysis::type_patterns::TypePattern;
use crate::answers::DiffBy;
use crate::answers::histogram_row::KeyedValue;
use crate::answers::limit_result::LimitResult;
use crate::answers::times_and_file_names::shared_folder_of;
use crate::units::{count_with_noun, format_bytes, format_count};

/// One of the dumps. What is not known of one that could not be read is null.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TrendDump {
    /// Its name.
    pub file: String,
    /// The name of its format.
    pub format: Option<String>,
    /// Time at which it was taken, where it says so.
    pub taken_at: Option<String>,
    /// Objects in it, of those that are asked for.
    pub objects: Option<u64>,
    /// Their shallow bytes.
    pub shallow_bytes: Option<u64>,
    /// Shallow bytes of those that strong roots reach.
    pub reachable_bytes: Option<u64>,
    /// Of allocation totals: bytes, of those that are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    /// Allocations, where they are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocations: Option<u64>,
    #[serde(skip)]
    pub(super) taken_unix_ms: Option<i64>,
    /// Time since the start of its program, where it says that.
    #[serde(skip)]
    pub(super) uptime_ms: Option<i64>,
    /// Shallow bytes of all objects, asked for or not.
    #[serde(skip)]
    pub(super) heap_bytes: u64,
}

/// Growth over many dumps.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct DumpsTrend {
    /// The dumps, in their order.
    pub dumps: Vec<TrendDump>,
    /// Bytes that the rows have: `shallow_bytes` or `retained_bytes`; of allocation totals `total_bytes`, `flat_bytes` or `cum_bytes`.
    pub measure: &'static str,
    /// Kind of the rows.
    pub by: &'static str,
    /// The whole heap, or all that is asked for.
    pub total: Option<TrendRow>,
    /// The rows that are shown, in their order.
    #[serde(flatten)]
    pub rows: TrendRows,
    /// What explains that the last dump is larger than the first, a sentence each, where that is asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// Tables have a column for each dump.
    #[serde(skip)]
    pub is_wide: bool,
    /// The dumps have no times, or are in their order.
    #[serde(skip)]
    pub is_in_order: bool,
    /// Bytes of the whole in each dump that was read.
    #[serde(skip)]
    pub(super) total_bytes_by_dump: Vec<u64>,
    /// Words for the whole: `the heap`, or `what matches`.
    #[serde(skip)]
    pub(super) total_noun: &'static str,
    /// Of the dumps that were read, their places among all.
    #[serde(skip)]
    pub(super) read_places: Vec<usize>,
    /// In hours, where all dumps have them in their order.
    #[serde(skip)]
    pub(super) times_in_hours: Option<Vec<f64>>,
    /// What the heap must not reach, in bytes.
    #[serde(skip)]
    pub(super) until_bytes: Option<u64>,
    /// Rows that never shrink, all, and flat ones.
    #[serde(skip)]
    pub(super) growing_all_flat_counts: [usize; 3],
    /// A sentence for each limit that was passed, and a note for each that nothing matches.
    #[serde(skip)]
    pub limit_results: Vec<LimitResult>,
    /// A sentence for each row that grows, shown or not.
    #[serde(skip)]
    pub growth_sentences: Vec<String>,
}

/// The rows of a trend.
#[derive(Debug)]
pub struct TrendRows {
    by: DiffBy,
    rows: Vec<TrendRow>,
    /// Rows that a limit left out.
    pub rows_hidden: usize,
}

/// The course of a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TrendRow {
    /// Its name; none of the whole heap.
    #[serde(flatten, skip_serializing_if = "is_unnamed")]
    pub name: KeyedValue<String>,
    /// Direction of the course.
    pub trend: Trend,
    /// Bytes in the first dump.
    pub first_bytes: u64,
    /// In the last one.
    pub last_bytes: u64,
    /// By how much it grew.
    pub growth_bytes: i64,
    /// The median slope.
    pub bytes_per_dump: i64,
    /// The same of objects.
    pub objects_per_dump: i64,
    /// The median slope by time, where all dumps have one.
    pub bytes_per_hour: Option<i64>,
    /// The same of objects.
    pub objects_per_hour: Option<i64>,
    /// Time until the heap is as large as it must not be, at this slope alone.
    #[serde(serialize_with = "serialize_rounded")]
    pub hours_to_limit: Option<f64>,
    /// Steps at which it grew.
    pub steps_up: usize,
    /// Steps at which it shrank.
    pub steps_down: usize,
    /// In each dump; `None` in one that was not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bytes: Vec<Option<u64>>,
    /// Objects in each dump.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<Option<u64>>,
    /// From the least to the most that it has.
    #[serde(skip)]
    pub(super) range_bytes: u64,
}

/// Hours to a third of a second.
pub fn rounded_hours(hours: f64) -> f64 {
    (hours * 10_000.0).round() / 10_000.0
}

fn serialize_rounded<S: Serializer>(hours: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    hours.map(rounded_hours).serialize(serializer)
}

fn is_unnamed(name: &KeyedValue<String>) -> bool {
    name.key.is_empty()
}

impl TrendRow {
    /// The bytes of the dumps that were read as bars.
    pub fn sparkline(&self) -> String {
        sparkline(&self.bytes.iter().flatten().copied().collect::<Vec<u64>>())
    }

    /// `18/29`: of how many steps it grew at how many.
    pub fn steps_up_text(&self) -> String {
        format!("{}/{}", self.steps_up, self.bytes.iter().flatten().count().saturating_sub(1))
    }
}

impl TrendRows {
    pub(super) fn new(by: DiffBy, rows: Vec<TrendRow>, hidden: usize) -> Self {
        TrendRows { by, rows, rows_hidden: hidden }
    }

    /// The rows that are shown.
    pub fn as_slice(&self) -> &[TrendRow] {
        &self.rows
    }

    /// Kind of the rows.
    pub fn by(&self) -> DiffBy {
        self.by
    }
}

/// Under the key that `diff` has for such rows.
impl Serialize for TrendRows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        KeyedValue { key: self.by.rows_key(), value: &self.rows }.serialize(serializer)
    }
}

impl DumpsTrend {
    /// Course of a row with these (objects, bytes) in the dumps that were read: all but its slope, and its figures in
    /// each dump.
    pub(super) fn row_without_slope(&self, name: String, figures: &[(u64, u64)]) -> TrendRow {
        let values: Vec<u64> = figures.iter().map(|&(_, bytes)| bytes).collect();
        let is_there = |at: usize| figures.get(at).is_some_and(|&(objects, bytes)| objects > 0 || bytes > 0);
        let SeriesTrend { trend, steps_up, steps_down } = SeriesTrend::of(&values, is_there);
        let (first_bytes, last_bytes) = (values.first().copied().unwrap_or(0), values.last().copied().unwrap_or(0));
        let range_bytes = values.iter().max().unwrap_or(&0) - values.iter().min().unwrap_or(&0);
        TrendRow {
            name: KeyedValue { key: self.rows.by.name_figure().key, value: name },
            trend,
            first_bytes,
            last_bytes,
            growth_bytes: saturating_delta(first_bytes, last_bytes),
            bytes_per_dump: 0,
            objects_per_dump: 0,
            bytes_per_hour: None,
            objects_per_hour: None,
            hours_to_limit: None,
            steps_up,
            steps_down,
            bytes: Vec::new(),
            objects: Vec::new(),
            range_bytes,
        }
    }

    /// The course of the whole. O(dumps x dumps) for the slope.
    pub(super) fn row_of_whole(&self) -> TrendRow {
        let whole: Vec<(u64, u64)> = self.total_bytes_by_dump.iter().map(|&bytes| (1, bytes)).collect();
        let name = KeyedValue { key: "", value: String::new() };
        let count_of_dump = |dump: &TrendDump| dump.objects.or(dump.allocations).unwrap_or(0);
        let objects = self.read_places.iter().map(|&place| count_of_dump(&self.dumps[place])).collect::<Vec<_>>();
        self.with_slopes(
            TrendRow { name, ..self.row_without_slope(String::new(), &whole) },
            &objects,
            &self.total_bytes_by_dump,
        )
    }

    /// O(dumps x dumps).
    fn with_slopes(&self, mut row: TrendRow, objects: &[u64], bytes: &[u64]) -> TrendRow {
        (row.objects_per_dump, row.bytes_per_dump) = (self.slope_per_dump(objects), self.slope_per_dump(bytes));
        (row.objects_per_hour, row.bytes_per_hour) = (self.slope_per_hour(objects), self.slope_per_hour(bytes));
        row.hours_to_limit = row.bytes_per_hour.and_then(|slope| self.steps_to_limit(slope));
        row
    }

    /// Steps of so many bytes until the heap is as large as it must not be; `None` where it never is.
    fn steps_to_limit(&self, bytes_a_step: i64) -> Option<f64> {
        let left = self.until_bytes?.saturating_sub(self.total_bytes_by_dump.last().copied()?);
        (bytes_a_step > 0).then(|| left as f64 / bytes_a_step as f64)
    }

    /// A row with all that is shown. O(dumps x dumps) for the slope.
    pub(super) fn complete_row(&self, mut row: TrendRow, figures: &[(u64, u64)]) -> TrendRow {
        let values: Vec<u64> = figures.iter().map(|&(_, bytes)| bytes).collect();
        let objects: Vec<u64> = figures.iter().map(|&(objects, _)| objects).collect();
        row = self.with_slopes(row, &objects, &values);
        row.bytes = vec![None; self.dumps.len()];
        row.objects = vec![None; self.dumps.len()];
        for (&place, &(count, size)) in self.read_places.iter().zip(figures) {
            (row.objects[place], row.bytes[place]) = (Some(count), Some(size));
        }
        row
    }

    pub(super) fn growth_sentence(&self, row: &TrendRow) -> String {
        let read = self.read_count();
        format!(
            "{} grows: {:+} bytes in {}, at {}/{} steps, and never shrinks",
            row.name.as_str(),
            row.growth_bytes,
            count_with_noun(read as u64, "dumps"),
            row.steps_up,
            read.saturating_sub(1)
        )
    }

    /// The median slope of bytes or objects, from one dump to the next.
    pub(super) fn slope_per_dump(&self, values: &[u64]) -> i64 {
        let places: Vec<f64> = self.read_places.iter().map(|&place| place as f64).collect();
        median_slope(&places, values).round() as i64
    }

    /// The median slope of bytes or objects by time, where all dumps have one.
    pub(super) fn slope_per_hour(&self, values: &[u64]) -> Option<i64> {
        self.times_in_hours.as_ref().map(|times| median_slope(times, values).round() as i64)
    }

    /// The time by which slopes are shown: of dumps of less than two hours the minute, and how many are in an hour; `None` where
    /// the dumps have no times.
    pub fn slope_time(&self) -> Option<(&'static str, i64)> {
        let times = self.times_in_hours.as_ref()?;
        let hours = times.last()? - times.first()?;
        if hours <= 0.0 { None } else { Some(if hours < 2.0 { ("minute", 60) } else { ("hour", 1) }) }
    }

    /// Of each dump that was read where it stands in a chart: hours since the first, or where they have no times its place.
    pub fn chart_places(&self) -> Vec<f64> {
        match self.times_in_hours.as_ref().filter(|_| self.slope_time().is_some()) {
            Some(times) => times.iter().map(|time| time - times.first().unwrap_or(&0.0)).collect(),
            None => (0..self.read_count()).map(|place| place as f64).collect(),
        }
    }

    /// How fast the whole grows, and when it is as large as it must not be, where that is asked for: sizes by `bytes`.
    pub fn pace_sentence(&self, bytes: impl Fn(u64) -> String) -> Option<String> {
        let (limit, last, total) = (self.until_bytes?, self.total_bytes_by_dump.last().copied()?, self.total.as_ref()?);
        let limit_text = bytes(limit);
        let (slope, time, steps) = match (self.slope_time(), total.bytes_per_hour) {
            (Some((time, in_hour)), Some(slope)) => (slope / in_hour, time, total.hours_to_limit.map(hours_text)),
            _ => {
                let steps = self.steps_to_limit(total.bytes_per_dump);
                (total.bytes_per_dump, "dump", steps.map(|steps| count_with_noun(steps.ceil() as u64, "dumps")))
            }
        };
        Some(match steps {
            _ if last >= limit => format!("{} has {}: {limit_text} are reached", self.total_noun, bytes(last)),
            Some(steps) => {
                let slope = bytes(slope.unsigned_abs());
                format!("{} grows by {slope} a {time}: {limit_text} are reached in about {steps}", self.total_noun)
            }
            None => format!("{} does not grow: {limit_text} are not reached", self.total_noun),
        })
    }

    /// Is there a size that must not be reached?
    pub fn has_size_limit(&self) -> bool {
        self.until_bytes.is_some()
    }

    /// The name of each dump without the folder that all are in. O(dumps).
    pub fn short_file_names(&self) -> Vec<&str> {
        let folder = shared_folder_of(self.dumps.iter().map(|dump| dump.file.as_str())).len();
        self.dumps.iter().map(|dump| &dump.file[folder..]).collect()
    }

    /// Dumps that were read.
    pub fn read_count(&self) -> usize {
        self.total_bytes_by_dump.len()
    }

    /// First and last bytes and the number of rows that grow, in a line: sizes by `bytes`.
    pub fn headline(&self, bytes: impl Fn(u64) -> String, emphasis: impl Fn(&str) -> String) -> String {
        let (first, last) = (
            self.total_bytes_by_dump.first().copied().unwrap_or(0),
            self.total_bytes_by_dump.last().copied().unwrap_or(0),
        );
        let sign = if last < first { "-" } else { "+" };
        let grown = emphasis(&format!("{sign}{}", bytes(last.abs_diff(first))));
        let dumps = count_with_noun(self.read_count() as u64, "dumps");
        let [never_shrink, all, flat] = self.growing_all_flat_counts.map(|count| format_count(count as u64));
        let rows = self.rows.by.row_word_and_plural().1;
        let (grow, shrink) =
            if self.growing_all_flat_counts[0] == 1 { ("grows", "shrinks") } else { ("grow", "shrink") };
        let are = if self.growing_all_flat_counts[2] == 1 { "is" } else { "are" };
        format!(
            "{} -> {} in {dumps}, {grown}; {never_shrink} of {all} {rows} {grow} and never {shrink}, {flat} {are} flat",
            bytes(first),
            bytes(last)
        )
    }

    /// Returns true if no dump has an object or bytes that are asked for.
    pub fn matches_nothing(&self) -> bool {
        self.dumps.iter().all(|dump| dump.objects.or(dump.total_bytes).unwrap_or(0) == 0)
    }

    /// Notes on dumps that are not in the order of their times, and on profiles, which are no state of a heap.
    pub fn notes(&self) -> Vec<&'static str> {
        let has_profiles = self.dumps.iter().any(|dump| dump.format.as_deref() == Some("heapprofile"));
        let order = "note: the dumps are not in the order in which they were taken; --sort-by-time puts them so";
        let rates = "note: each profile has what was allocated while it was sampled and kept: what stays the same from one to the \
                     next is a leak that goes on, what grows is one that gets faster";
        [(!self.is_in_order, order), (has_profiles, rates)]
            .into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, note)| note)
            .collect()
    }
}

/// `40 s`, `20 min`, `9.5 h`, `12 days`.
pub fn hours_text(hours: f64) -> String {
    match hours {
        ..0.05 => format!("{:.0} s", hours * 3600.0),
        ..2.0 => format!("{:.0} min", hours * 60.0),
        ..48.0 => format!("{hours:.1} h"),
        _ => format!("{:.0} days", hours / 24.0),
    }
}

/// The most that something may grow by.
#[derive(Debug, Clone)]
pub struct TrendLimit {
    /// As it was written.
    pub(super) text: String,
    /// Rows that are limited together; `None` for the whole heap.
    row_pattern: Option<TypePattern>,
    /// The limit; a share is one of the first bytes.
    max_growth: Threshold,
    /// From one dump to the next, in place of from the first to the last.
    is_per_dump: bool,
}

/// `10%`, `20MiB`, `100KiB/dump`, each also behind `PATTERN=`.
impl FromStr for TrendLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (rows, size) = TypePattern::split_pattern_and_rest(text)?;
        let (size, is_per_dump) = match size.strip_suffix("/dump") {
            Some(size) => (size, true),
            None => (size, false),
        };
        let size: Threshold = size.parse()?;
        Ok(TrendLimit { text: text.to_string(), row_pattern: rows, max_growth: size, is_per_dump })
    }
}

impl TrendLimit {
    /// Returns true if it limits types, not the heap.
    pub fn limits_types(&self) -> bool {
        self.row_pattern.is_some()
    }

    /// Returns true if growth from one dump to the next is limited, which depends on all dumps.
    pub fn is_per_dump(&self) -> bool {
        self.is_per_dump
    }

    /// Result of the limit if it was passed or nothing matches. `rows` are all, whatever is shown, each with the number by which
    /// `bytes_of` knows its bytes in the dumps that were read.
    pub(super) fn check_limit<B: Iterator<Item = u64>>(
        &self,
        trend: &DumpsTrend,
        rows: &[(TrendRow, usize)],
        bytes_of: impl Fn(usize) -> B,
    ) -> Option<LimitResult> {
        let (what, values) = match &self.row_pattern {
            None => (trend.total_noun.to_string(), trend.total_bytes_by_dump.clone()),
            Some(pattern) => {
                let is_one = |row: &TrendRow| pattern.matches(row.name.as_str());
                if !rows.iter().any(|(row, _)| is_one(row)) {
                    return Some({
                        let names = rows.iter().map(|(row, _)| row.name.as_str());
                        LimitResult::without_matching_rows(
                            &format!("{} in the dumps", trend.by),
                            &self.text,
                            pattern,
                            names,
                        )
                    });
                }
                let mut sums = vec![0u64; trend.total_bytes_by_dump.len()];
                for (_, row) in rows.iter().filter(|(row, _)| is_one(row)) {
                    sums.iter_mut().zip(bytes_of(*row)).for_each(|(sum, bytes)| *sum = sum.saturating_add(bytes));
                }
                (pattern.text().to_string(), sums)
            }
        };
        let (first, last) = (values.first().copied().unwrap_or(0), values.last().copied().unwrap_or(0));
        let limit = self.max_growth.max_bytes_of(first);
        let (grown, per) = match self.is_per_dump {
            true => (trend.slope_per_dump(&values), " a dump"),
            false => (saturating_delta(first, last), ""),
        };
        let is_over = u64::try_from(grown).is_ok_and(|grown| grown > limit);
        is_over.then(|| {
            let words = format_bytes(grown.unsigned_abs());
            let text =
                format!("{what} grew by {words}{per} ({grown} bytes), over the limit of {}{per}", format_bytes(limit));
            LimitResult { text, is_over: true }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_as_they_are_written() {
        let limit = |text: &str| text.parse::<TrendLimit>().unwrap();
        assert!(limit("10%").row_pattern.is_none() && !limit("20MiB").is_per_dump && limit("100KiB/dump").is_per_dump);
        let limit = limit("*Bubble*=1KiB/dump");
        assert_eq!(limit.row_pattern.as_ref().map(TypePattern::text), Some("*Bubble*"));
        assert!(limit.is_per_dump && limit.max_growth == Threshold::Bytes(1024));
        for wrong in ["", "x", "a=", "1KiB/hour", "/(/=1KiB"] {
            assert!(wrong.parse::<TrendLimit>().is_err(), "{wrong}");
        }
    }
}
