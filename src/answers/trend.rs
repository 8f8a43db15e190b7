//! What grew over many dumps: rows that never shrink first.
//!
//! Dumps are asked one after another and not kept; of each stay two figures a row.

mod limits;

use std::collections::HashMap;

use rayon::prelude::*;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

pub use limits::TrendLimit;

use super::diff::{DiffBy, DiffOptions, amounts_of};
pub use super::diff_rows::delta;
use super::info::utc;
use super::{AnswerError, CommandLine, Limits, ScopeOptions};
use crate::analysis::diff::Amounts;
pub use crate::analysis::series::Trend;
use crate::analysis::series::{Course, median_slope, shape};
use crate::analysis::threshold::{Percent, Threshold};
use crate::dump::OpenDump;
use crate::units::{count_of, format_count};

/// How dumps are compared.
#[derive(Debug, Clone)]
pub struct TrendOptions {
    /// Which objects, in each dump.
    pub scope: ScopeOptions,
    /// What the rows are of: groups, or paths of the dominator tree.
    pub by: DiffBy,
    /// Retained bytes are judged, in place of shallow ones.
    pub retained: bool,
    /// Rows that are the same in all dumps too.
    pub flat: bool,
    /// Rows that change by less are left out; a share is one of the last heap. Default: 0.1 %.
    pub min_growth: Threshold,
    /// Dumps are put in the order of the times that they have.
    pub by_time: bool,
    /// How many rows.
    pub limits: Limits,
    /// The most that the heap or some rows may grow by.
    pub growth_limits: Vec<TrendLimit>,
}

impl Default for TrendOptions {
    fn default() -> Self {
        TrendOptions {
            scope: ScopeOptions::default(),
            by: DiffBy::default(),
            retained: false,
            flat: false,
            min_growth: Threshold::Share(Percent::PER_MILLE),
            by_time: false,
            limits: Limits::default(),
            growth_limits: Vec::new(),
        }
    }
}

impl TrendOptions {
    /// The command line that asks the same.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("trend");
        match self.by {
            DiffBy::Paths => line.word("--paths"),
            DiffBy::Groups(by) if self.by != DiffBy::default() => line.option("--by", Some(by.name())),
            _ => &mut line,
        };
        line.switch("--retained", self.retained).switch("--all", self.flat).switch("--sort-by-time", self.by_time);
        if self.min_growth != Threshold::Share(Percent::PER_MILLE) {
            line.option("--min-growth", Some(&self.min_growth.to_string()));
        }
        for limit in &self.growth_limits {
            line.option("--fail-over", Some(limit.text()));
        }
        self.scope.add_to(&mut line);
        self.limits.add_to(&mut line);
        line
    }
}

/// One of the dumps. What is not known of one that could not be read is null.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TrendDump {
    /// Its name.
    pub file: String,
    /// The name of its format.
    pub format: Option<String>,
    /// When it was taken, where it says so.
    pub taken_at: Option<String>,
    /// Objects in it, of those that are asked for.
    pub objects: Option<u64>,
    /// Their shallow bytes.
    pub shallow_bytes: Option<u64>,
    /// Shallow bytes of those that strong roots reach.
    pub reachable_bytes: Option<u64>,
    #[serde(skip)]
    taken_ms: Option<i64>,
}

/// Dumps that are asked one after another.
#[derive(Debug)]
pub struct TrendOfDumps {
    options: TrendOptions,
    dumps: Vec<TrendDump>,
    rows: HashMap<String, usize>,
    /// By row: the number of a dump, objects and bytes there.
    values: Vec<Vec<(u32, u64, u64)>>,
}

impl TrendOfDumps {
    /// No dumps yet.
    pub fn new(options: TrendOptions) -> Self {
        TrendOfDumps { options, dumps: Vec::new(), rows: HashMap::new(), values: Vec::new() }
    }

    /// Says which dump is next; it counts as unreadable until it is added.
    pub fn expect(&mut self, file: &str) {
        self.dumps.push(TrendDump { file: file.to_string(), ..TrendDump::default() });
    }

    /// Adds the dump that was said to be next. O(objects); with retained bytes or by paths its dominator tree. 24 bytes
    /// for each row.
    ///
    /// # Errors
    /// When it holds no objects, does not have what is asked for, or there is not the memory.
    pub fn add(&mut self, dump: &OpenDump) -> Result<(), AnswerError> {
        let TrendOptions { scope, by, retained, .. } = &self.options;
        let options = DiffOptions { scope: scope.clone(), by: *by, retained: *retained, ..DiffOptions::default() };
        let (totals, amounts) = amounts_of(dump, &options)?;
        let number = self.dumps.len().saturating_sub(1);
        let Some(entry) = self.dumps.last_mut() else { return Ok(()) };
        entry.format = Some(dump.info().format.to_string());
        entry.taken_ms = dump.info().snapshots.iter().find(|one| one.chosen).and_then(|one| one.unix_ms);
        entry.taken_at = entry.taken_ms.map(utc);
        entry.objects = Some(totals.objects);
        entry.shallow_bytes = Some(totals.shallow_bytes);
        entry.reachable_bytes = Some(totals.reachable_bytes);
        for (name, Amounts { count, bytes, retained_bytes }) in amounts {
            let next = self.rows.len();
            let row = *self.rows.entry(name).or_insert(next);
            if row == self.values.len() {
                self.values.push(Vec::new());
            }
            let bytes = if *retained { retained_bytes } else { bytes };
            self.values[row].push((number as u32, count, bytes));
        }
        Ok(())
    }

    /// What grew.
    ///
    /// # Errors
    /// When the dumps are of different formats, or are to be put in an order that they do not have.
    pub fn finish(self) -> Result<DumpsTrend, AnswerError> {
        let TrendOfDumps { options, mut dumps, rows, values } = self;
        let mut formats: Vec<&str> = dumps.iter().filter_map(|dump| dump.format.as_deref()).collect();
        formats.dedup();
        if let [first, other, ..] = formats[..] {
            return Err(AnswerError::MixedFormats(first.to_string(), other.to_string()));
        }
        let is_read = |dump: &TrendDump| dump.format.is_some();
        let all_have_times = dumps.iter().filter(|dump| is_read(dump)).all(|dump| dump.taken_ms.is_some());
        // From the number of a dump to its place.
        let mut order: Vec<usize> = (0..dumps.len()).collect();
        if options.by_time {
            if !all_have_times {
                return Err(AnswerError::NoTimes);
            }
            order.sort_by_key(|&number| (dumps[number].taken_ms.is_none(), dumps[number].taken_ms));
            dumps = order.iter().map(|&number| dumps[number].clone()).collect();
        }
        let mut place_of = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &number)| place_of[number] = place);
        let read: Vec<usize> = (0..dumps.len()).filter(|&place| is_read(&dumps[place])).collect();
        let hours = |&place: &usize| dumps[place].taken_ms.map(|ms| ms as f64 / 3_600_000.0);
        let times: Option<Vec<f64>> = read
            .iter()
            .map(hours)
            .collect::<Option<Vec<f64>>>()
            .filter(|times| times.windows(2).all(|step| step[0] <= step[1]));
        let is_in_order =
            !all_have_times || read.windows(2).all(|step| dumps[step[0]].taken_ms <= dumps[step[1]].taken_ms);
        let total_of = |dump: &TrendDump| if options.retained { dump.reachable_bytes } else { dump.shallow_bytes };
        let mut trend = DumpsTrend {
            whole: if options.scope.is_choice() { "what matches" } else { "the heap" },
            measure: if options.retained || options.by == DiffBy::Paths { "retained_bytes" } else { "shallow_bytes" },
            by: options.by.titles().0,
            total_values: dumps.iter().filter_map(total_of).collect(),
            places: read.iter().map(|&place| place as f64).collect(),
            times,
            total: None,
            rows: TrendRows { by: options.by, rows: Vec::new(), hidden: 0 },
            is_in_order,
            counts: [0; 3],
            over: Vec::new(),
            growing: Vec::new(),
            dumps,
        };
        let whole = trend.total_values.clone();
        let total = trend.row(String::new(), whole.iter().map(|&bytes| (1, bytes)).collect(), &read);
        trend.total = Some(TrendTotal { bytes_per_hour: trend.per_hour(&whole), row: total });
        let course = |(name, row): (String, usize)| {
            let mut figures = vec![(0, 0); trend.dumps.len()];
            for &(number, objects, bytes) in &values[row] {
                figures[place_of[number as usize]] = (objects, bytes);
            }
            trend.row(name, read.iter().map(|&place| figures[place]).collect(), &read)
        };
        let mut all: Vec<TrendRow> = rows.into_par_iter().map(course).collect();
        all.sort_by(|a, b| {
            let growth = b.growth_bytes.cmp(&a.growth_bytes);
            a.trend.cmp(&b.trend).then(growth).then_with(|| a.name.cmp(&b.name))
        });
        trend.over = options.growth_limits.iter().filter_map(|limit| limit.check(&trend, &all)).collect();
        let never_shrink = all.iter().filter(|row| row.trend == Trend::Grows || row.trend == Trend::Appeared).count();
        let flat = all.iter().filter(|row| row.trend == Trend::Flat).count();
        trend.counts = [never_shrink, all.len(), flat];
        let last_heap = trend.dumps.iter().rev().find_map(|dump| dump.shallow_bytes).unwrap_or(0);
        let least = options.min_growth.at_least(last_heap);
        all.retain(|row| match row.trend {
            Trend::Flat => options.flat,
            _ => row.range() >= least,
        });
        trend.growing = all.iter().filter(|row| row.trend == Trend::Grows).map(TrendRow::sentence).collect();
        if options.limits.reverse {
            all.reverse();
        }
        let shown = options.limits.shown(all.len());
        trend.rows.hidden = all.len() - shown;
        all.truncate(shown);
        trend.rows.rows = all;
        Ok(trend)
    }
}

/// What grew over many dumps.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct DumpsTrend {
    /// The dumps, in their order.
    pub dumps: Vec<TrendDump>,
    /// Which bytes the rows have: `shallow_bytes` or `retained_bytes`.
    pub measure: &'static str,
    /// What the rows are of.
    pub by: &'static str,
    /// The whole heap, or all that is asked for.
    pub total: Option<TrendTotal>,
    /// The rows that are shown, in their order.
    #[serde(flatten)]
    pub rows: TrendRows,
    /// The dumps have no times, or are in their order.
    #[serde(skip)]
    pub is_in_order: bool,
    /// Bytes of the whole in each dump that was read.
    #[serde(skip)]
    total_values: Vec<u64>,
    /// What that is.
    #[serde(skip)]
    whole: &'static str,
    #[serde(skip)]
    places: Vec<f64>,
    /// In hours, where all dumps have them in their order.
    #[serde(skip)]
    times: Option<Vec<f64>>,
    /// Rows that never shrink, all, and flat ones.
    #[serde(skip)]
    counts: [usize; 3],
    /// A sentence for each limit that was passed.
    #[serde(skip)]
    pub over: Vec<String>,
    /// A sentence for each row that grows, shown or not.
    #[serde(skip)]
    pub growing: Vec<String>,
}

/// The course of the whole heap.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct TrendTotal {
    /// Its figures.
    #[serde(flatten)]
    row: TrendRow,
    /// The median slope by time, where all dumps have one.
    pub bytes_per_hour: Option<i64>,
}

/// The rows of a trend.
#[derive(Debug)]
pub struct TrendRows {
    by: DiffBy,
    rows: Vec<TrendRow>,
    /// Rows that a limit left out.
    pub hidden: usize,
}

/// The course of a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TrendRow {
    /// Its name.
    #[serde(skip)]
    pub name: String,
    /// Which way it goes.
    pub trend: Trend,
    /// Bytes in the first dump.
    pub first_bytes: u64,
    /// In the last one.
    pub last_bytes: u64,
    /// By how much it grew.
    pub growth_bytes: i64,
    /// The median slope.
    pub bytes_per_dump: i64,
    /// Steps at which it grew.
    pub steps_up: usize,
    /// Steps at which it shrank.
    pub steps_down: usize,
    /// In each dump; `None` in one that was not read.
    #[serde(skip)]
    pub bytes: Vec<Option<u64>>,
    /// Objects in each dump.
    #[serde(skip)]
    pub objects: Vec<Option<u64>>,
}

impl TrendRow {
    /// The bytes of the dumps that were read as bars.
    pub fn shape(&self) -> String {
        shape(&self.bytes.iter().flatten().copied().collect::<Vec<u64>>())
    }

    /// `18/29`: of how many steps it grew at how many.
    pub fn steps(&self) -> String {
        format!("{}/{}", self.steps_up, self.bytes.iter().flatten().count().saturating_sub(1))
    }

    /// From the least to the most that it has.
    fn range(&self) -> u64 {
        let bytes = || self.bytes.iter().flatten().copied();
        bytes().max().unwrap_or(0) - bytes().min().unwrap_or(0)
    }

    fn sentence(&self) -> String {
        let dumps = count_of(self.bytes.iter().flatten().count() as u64, "dumps");
        format!(
            "{} grows: {:+} bytes in {dumps}, at {} steps, and never shrinks",
            self.name,
            self.growth_bytes,
            self.steps()
        )
    }
}

impl TrendRows {
    /// The rows that are shown.
    pub fn as_slice(&self) -> &[TrendRow] {
        &self.rows
    }

    /// What they are of.
    pub fn by(&self) -> DiffBy {
        self.by
    }
}

/// Under the key that `diff` has for such rows.
impl Serialize for TrendRows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Named<'r>(&'static str, &'r TrendRow);
        impl Serialize for Named<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Named(key, row) = self;
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry(key, &row.name)?;
                map.serialize_entry("trend", &row.trend)?;
                map.serialize_entry("first_bytes", &row.first_bytes)?;
                map.serialize_entry("last_bytes", &row.last_bytes)?;
                map.serialize_entry("growth_bytes", &row.growth_bytes)?;
                map.serialize_entry("bytes_per_dump", &row.bytes_per_dump)?;
                map.serialize_entry("steps_up", &row.steps_up)?;
                map.serialize_entry("steps_down", &row.steps_down)?;
                map.serialize_entry("bytes", &row.bytes)?;
                map.serialize_entry("objects", &row.objects)?;
                map.end()
            }
        }
        let keys = self.by.keys();
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(keys.rows, &self.rows.iter().map(|row| Named(keys.name, row)).collect::<Vec<_>>())?;
        map.end()
    }
}

impl DumpsTrend {
    /// A row of (objects, bytes) in each dump that was read.
    fn row(&self, name: String, figures: Vec<(u64, u64)>, read: &[usize]) -> TrendRow {
        let values: Vec<u64> = figures.iter().map(|&(_, bytes)| bytes).collect();
        let is_there = |at: usize| figures.get(at).is_some_and(|&(objects, _)| objects > 0);
        let Course { trend, steps_up, steps_down } = Course::of(&values, is_there);
        let (first_bytes, last_bytes) = (values.first().copied().unwrap_or(0), values.last().copied().unwrap_or(0));
        let mut bytes = vec![None; self.dumps.len()];
        let mut objects = vec![None; self.dumps.len()];
        for (&place, (count, size)) in read.iter().zip(figures) {
            (objects[place], bytes[place]) = (Some(count), Some(size));
        }
        let bytes_per_dump = if trend == Trend::Flat { 0 } else { self.slope(&values) };
        let growth_bytes = delta(first_bytes, last_bytes);
        TrendRow {
            name,
            trend,
            first_bytes,
            last_bytes,
            growth_bytes,
            bytes_per_dump,
            steps_up,
            steps_down,
            bytes,
            objects,
        }
    }

    /// Bytes from one dump to the next.
    fn slope(&self, values: &[u64]) -> i64 {
        median_slope(&self.places, values).round() as i64
    }

    fn per_hour(&self, values: &[u64]) -> Option<i64> {
        self.times.as_ref().map(|times| median_slope(times, values).round() as i64)
    }

    /// Dumps that were read.
    pub fn read_count(&self) -> usize {
        self.total_values.len()
    }

    /// How much there was and is, and how many rows grow, in a line: sizes by `bytes`.
    pub fn headline(&self, bytes: impl Fn(u64) -> String, emphasis: impl Fn(&str) -> String) -> String {
        let (first, last) =
            (self.total_values.first().copied().unwrap_or(0), self.total_values.last().copied().unwrap_or(0));
        let sign = if last < first { "-" } else { "+" };
        let grown = emphasis(&format!("{sign}{}", bytes(last.abs_diff(first))));
        let dumps = count_of(self.read_count() as u64, "dumps");
        let [never_shrink, all, flat] = self.counts.map(|count| format_count(count as u64));
        let rows = self.rows.by.titles().1;
        let (grow, shrink) = if self.counts[0] == 1 { ("grows", "shrinks") } else { ("grow", "shrink") };
        let are = if self.counts[2] == 1 { "is" } else { "are" };
        format!(
            "{} -> {} in {dumps}, {grown}; {never_shrink} of {all} {rows} {grow} and never {shrink}, {flat} {are} flat",
            bytes(first),
            bytes(last)
        )
    }

    /// Returns true if no dump has an object that is asked for.
    pub fn is_of_nothing(&self) -> bool {
        self.dumps.iter().all(|dump| dump.objects.unwrap_or(0) == 0)
    }

    /// That the dumps are not in the order of their times.
    pub fn order_note(&self) -> Option<String> {
        (!self.is_in_order).then(|| {
            "note: the dumps are not in the order in which they were taken; --sort-by-time puts them so".to_string()
        })
    }
}
