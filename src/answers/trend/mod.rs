//! Growth over many dumps: rows that never shrink first.
//!
//! Dumps are asked one after another and not kept; of each stay two figures a row.

mod rows;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

pub use rows::{DumpsTrend, TrendDump, TrendLimit, TrendRow, TrendRows, hours_text, rounded_hours};

use super::dump_comparison::{DiffBy, DumpSide, group_word};
use super::error::MIN_JUDGED_DUMPS;
use super::figure::{ALLOCATED_BYTES, CUM_BYTES, FLAT_BYTES, RETAINED, SHALLOW};
use super::times_and_file_names::{unix_ms_in_file_name, utc_text};
use super::{AllocationHeapChoice, AnswerError, CommandLine, Limits, ScopeOptions};
use crate::allocations::ClassHistograms;
use crate::analysis::diff::DiffAmounts;
pub use crate::analysis::series::Trend;
use crate::analysis::threshold::{Percent, Threshold};
use crate::dump::{Content, OpenDump};
use crate::filter::FieldSelection;
use crate::sort;

/// Options of a trend.
#[derive(Debug, Clone)]
pub struct TrendOptions {
    /// Objects of each dump.
    pub scope: ScopeOptions,
    /// Heaps, of allocation totals.
    pub heaps: AllocationHeapChoice,
    /// Kind of rows: groups, or paths of the dominator tree.
    pub by: DiffBy,
    /// The field whose values are the rows, of [`GroupBy::Field`](crate::answers::GroupBy::Field).
    pub field: Option<FieldSelection>,
    /// Retained bytes are judged, in place of shallow ones; of names of frames cum in place of flat.
    pub judges_retained: bool,
    /// Rows that are the same in all dumps too.
    pub with_unchanged: bool,
    /// Rows that change by less are left out; a share is one of the last heap. Default: 0.1 %.
    pub min_growth: Threshold,
    /// Growth is judged: that takes [`MIN_JUDGED_DUMPS`] dumps.
    pub judges_growth: bool,
    /// Tables have a column for each dump.
    pub is_wide: bool,
    /// Dumps are put in the order of the times that they have.
    pub sorts_by_time: bool,
    /// Size of the heap that must not be reached: how long that takes is told.
    pub until_bytes: Option<u64>,
    /// Number and direction of rows.
    pub limits: Limits,
    /// The most that the heap or some rows may grow by.
    pub growth_limits: Vec<TrendLimit>,
}

impl Default for TrendOptions {
    fn default() -> Self {
        TrendOptions {
            scope: ScopeOptions::default(),
            heaps: AllocationHeapChoice::default(),
            by: DiffBy::default(),
            field: None,
            judges_retained: false,
            with_unchanged: false,
            min_growth: Threshold::Share(Percent::PER_MILLE),
            judges_growth: false,
            is_wide: false,
            sorts_by_time: false,
            until_bytes: None,
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
            DiffBy::Paths => line.add_word("--paths"),
            DiffBy::Groups(by) if self.by != DiffBy::default() => {
                line.add_option("--by", Some(group_word(by, self.field.as_ref())))
            }
            _ => &mut line,
        };
        line.add_switch("--retained", self.judges_retained)
            .add_switch("--all", self.with_unchanged)
            .add_switch("--wide", self.is_wide);
        line.add_switch("--sort-by-time", self.sorts_by_time).add_switch("--grows", self.judges_growth);
        if self.min_growth != Threshold::Share(Percent::PER_MILLE) {
            line.add_option("--min-growth", Some(&self.min_growth.to_string()));
        }
        line.add_option("--until", self.until_bytes.map(|bytes| bytes.to_string()).as_deref());
        line.add_repeated_option("--fail-over", self.growth_limits.iter().map(|limit| limit.text.as_str()));
        self.scope.add_to(&mut line);
        self.heaps.add_to(&mut line);
        self.limits.add_to(&mut line);
        line
    }
}

/// Dumps that are asked one after another.
#[derive(Debug)]
pub struct TrendBuilder {
    options: TrendOptions,
    added: Mutex<AddedDumps>,
}

#[derive(Debug, Default)]
struct AddedDumps {
    dumps: Vec<TrendDump>,
    /// By name: the number of the row.
    row_numbers: HashMap<String, usize>,
    /// By row: the number of a dump, objects and bytes there.
    values_by_row: Vec<Vec<(u32, u64, u64)>>,
}

impl TrendBuilder {
    /// No dumps yet.
    pub fn new(options: TrendOptions) -> Self {
        TrendBuilder { options, added: Mutex::default() }
    }

    fn lock_added(&self) -> MutexGuard<'_, AddedDumps> {
        self.added.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces the next dump; it counts as unreadable until it is added.
    pub fn announce_dump(&self, file: &str) {
        self.lock_added().dumps.push(TrendDump { file: file.to_string(), ..TrendDump::default() });
    }

    /// Adds the dump that was said to be next. O(objects); with retained bytes or by paths its dominator tree. 24 bytes
    /// for each row, and a name for each that no dump before had.
    ///
    /// # Errors
    /// If it holds no objects, does not have what is asked for, or there is not the memory.
    pub fn add_dump(&self, dump: &OpenDump) -> Result<(), AnswerError> {
        let TrendOptions { scope, heaps, by, field, judges_retained: retained, .. } = &self.options;
        if let Content::Allocations(allocations) = dump.content() {
            if *retained && by.frame_names().is_none() {
                return Err(AnswerError::NeedsObjects);
            }
            let side = DumpSide::of_allocations(dump, allocations, scope, heaps, *by)?;
            self.add_side(dump, side, (allocations.dumps.last().and_then(|moment| moment.unix_ms), None));
            return Ok(());
        }
        heaps.check_on_objects()?;
        let chosen = dump.info().snapshots.iter().find(|one| one.chosen);
        let times = chosen.map(|one| (one.unix_ms, one.uptime_ms));
        self.add_side(
            dump,
            DumpSide::find(dump, scope, (*by, field.as_ref()), *retained, 0)?,
            times.unwrap_or_default(),
        );
        Ok(())
    }

    /// Adds all class histograms of a file, the first of which was said to be next; the others are named by their numbers.
    ///
    /// # Errors
    /// If more than types is asked for.
    pub fn add_histograms(&self, dump: &OpenDump, histograms: &ClassHistograms, file: &str) -> Result<(), AnswerError> {
        let TrendOptions { scope, by, judges_retained: retained, .. } = &self.options;
        for place in 0..histograms.types_by_histogram.len() {
            let side = DumpSide::of_histogram(histograms, place, scope, *by, *retained)?;
            if place > 0 {
                self.announce_dump(&format!("{file} ({})", place + 1));
            }
            let times = dump.info().snapshots.get(place).map(|one| (one.unix_ms, one.uptime_ms));
            self.add_side(dump, side, times.unwrap_or_default());
        }
        Ok(())
    }

    /// Adds the rows of a dump, with its times since 1970 and since the start of its program.
    fn add_side(&self, dump: &OpenDump, side: DumpSide, (taken_unix_ms, uptime_ms): (Option<i64>, Option<i64>)) {
        let DumpSide { totals, amounts_by_name: amounts, .. } = side;
        let mut added = self.lock_added();
        let AddedDumps { dumps, row_numbers, values_by_row: values } = &mut *added;
        let number = dumps.len().saturating_sub(1);
        let Some(entry) = dumps.last_mut() else { return };
        entry.format = Some(dump.info().format.to_string());
        // Of a log its name says no more than the day.
        let of_file = || unix_ms_in_file_name(&entry.file).filter(|_| dump.info().snapshots.len() < 2);
        entry.taken_unix_ms = taken_unix_ms.or_else(of_file);
        entry.taken_at = entry.taken_unix_ms.map(utc_text);
        entry.uptime_ms = uptime_ms;
        match dump.content() {
            Content::Allocations(_) => {
                entry.total_bytes = Some(totals.shallow_bytes);
                entry.allocations = Some(totals.objects).filter(|count| *count > 0);
            }
            _ => {
                entry.objects = Some(totals.objects);
                entry.shallow_bytes = Some(totals.shallow_bytes);
            }
        }
        entry.reachable_bytes = dump.graph().map(|_| totals.reachable_bytes);
        entry.heap_bytes = match (dump.graph(), self.options.scope.chooses_some()) {
            (Some(graph), true) => graph.shallow_bytes_of(0..graph.node_count()).fold(0, u64::saturating_add),
            _ => totals.shallow_bytes,
        };
        for (name, DiffAmounts { count, bytes, retained_bytes }) in amounts {
            let next = row_numbers.len();
            let row = *row_numbers.entry(name).or_insert(next);
            if row == values.len() {
                values.push(Vec::new());
            }
            let bytes = if self.options.judges_retained { retained_bytes } else { bytes };
            values[row].push((number as u32, count.unwrap_or(0), bytes));
        }
    }

    /// Ends the trend.
    ///
    /// # Errors
    /// If the dumps are of different formats, or are to be put in an order that they do not have.
    pub fn finish(self) -> Result<DumpsTrend, AnswerError> {
        let TrendBuilder { options, added } = self;
        let AddedDumps { mut dumps, row_numbers, values_by_row: values } =
            added.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut formats: Vec<&str> = dumps.iter().filter_map(|dump| dump.format.as_deref()).collect();
        let read_count = formats.len();
        formats.dedup();
        if let [first, other, ..] = formats[..] {
            return Err(AnswerError::MixedRuntimes(first.to_string(), other.to_string()));
        }
        let least = if options.judges_growth { MIN_JUDGED_DUMPS } else { 2 };
        if read_count < least {
            return Err(AnswerError::TooFewDumps(read_count, least));
        }
        let is_read = |dump: &TrendDump| dump.format.is_some();
        use_uptimes_without_times(&mut dumps);
        let all_have_times = dumps.iter().filter(|dump| is_read(dump)).all(|dump| dump.taken_unix_ms.is_some());
        // From the number of a dump to its place.
        let mut order: Vec<usize> = (0..dumps.len()).collect();
        if options.sorts_by_time {
            if !all_have_times {
                return Err(AnswerError::NoDumpTimes);
            }
            sort::rows_by_key(&mut order, |&number| {
                (dumps[number].taken_unix_ms.is_none(), dumps[number].taken_unix_ms)
            });
            dumps = order.iter().map(|&number| dumps[number].clone()).collect();
        }
        let mut place_of = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &number)| place_of[number] = place);
        let read: Vec<usize> = (0..dumps.len()).filter(|&place| is_read(&dumps[place])).collect();
        // From the first: hours since 1970 have no milliseconds left in a double.
        let start = read.first().and_then(|&place| dumps[place].taken_unix_ms).unwrap_or(0);
        let hours = |&place: &usize| dumps[place].taken_unix_ms.map(|ms| ms.saturating_sub(start) as f64 / 3_600_000.0);
        let times: Option<Vec<f64>> = read
            .iter()
            .map(hours)
            .collect::<Option<Vec<f64>>>()
            .filter(|times| times.windows(2).all(|step| step[0] <= step[1]));
        let is_in_order =
            !all_have_times || read.windows(2).all(|step| dumps[step[0]].taken_unix_ms <= dumps[step[1]].taken_unix_ms);
        let is_of_allocations = dumps.iter().any(|dump| dump.total_bytes.is_some());
        let total_of = |dump: &TrendDump| {
            let of_objects = if options.judges_retained { dump.reachable_bytes } else { dump.shallow_bytes };
            dump.total_bytes.or(of_objects)
        };
        let mut trend = DumpsTrend {
            total_noun: if options.scope.chooses_some() { "what matches" } else { "the heap" },
            measure: match options.by.frame_names() {
                None if is_of_allocations => ALLOCATED_BYTES.key,
                Some(_) if is_of_allocations => {
                    if options.judges_retained {
                        CUM_BYTES.key
                    } else {
                        FLAT_BYTES.key
                    }
                }
                _ if options.judges_retained || options.by == DiffBy::Paths => RETAINED.key,
                _ => SHALLOW.key,
            },
            by: options.by.row_word_and_plural().0,
            causes: Vec::new(),
            is_wide: options.is_wide,
            total_bytes_by_dump: dumps.iter().filter_map(total_of).collect(),
            read_places: read.clone(),
            times_in_hours: times,
            until_bytes: options.until_bytes,
            total: None,
            rows: TrendRows::new(options.by, Vec::new(), 0),
            is_in_order,
            growing_all_flat_counts: [0; 3],
            limit_results: Vec::new(),
            growth_sentences: Vec::new(),
            dumps,
        };
        trend.total = Some(trend.row_of_whole());
        // Of a row: objects and bytes in the dumps that were read.
        let figures = |row: usize| -> Vec<(u64, u64)> {
            let mut figures = vec![(0, 0); trend.dumps.len()];
            for &(number, objects, bytes) in &values[row] {
                figures[place_of[number as usize]] = (objects, bytes);
            }
            read.iter().map(|&place| figures[place]).collect()
        };
        let mut all: Vec<(TrendRow, usize)> = row_numbers
            .into_par_iter()
            .map(|(name, row)| (trend.row_without_slope(name, &figures(row)), row))
            .collect();
        all.par_sort_by(|(a, _), (b, _)| {
            let growth = b.growth_bytes.cmp(&a.growth_bytes);
            a.trend.cmp(&b.trend).then(growth).then_with(|| a.name.as_str().cmp(b.name.as_str()))
        });
        let bytes_of = |row: usize| figures(row).into_iter().map(|(_, bytes)| bytes);
        let over = options.growth_limits.iter().filter_map(|limit| limit.check_limit(&trend, &all, bytes_of)).collect();
        let number_of = |is: fn(Trend) -> bool| all.iter().filter(|(row, _)| is(row.trend)).count();
        let never_shrink = number_of(|trend| trend == Trend::Grows || trend == Trend::Appeared);
        let counts = [never_shrink, all.len(), number_of(|trend| trend == Trend::Flat)];
        let last_heap = read.last().map_or(0, |&place| trend.dumps[place].heap_bytes);
        let least = options.min_growth.min_bytes_of(last_heap);
        all.retain(|(row, _)| match row.trend {
            Trend::Flat => options.with_unchanged,
            _ => row.range_bytes >= least,
        });
        let growing = all.iter().filter(|(row, _)| row.trend == Trend::Grows);
        let growing = growing.map(|(row, _)| trend.growth_sentence(row)).collect();
        let hidden = options.limits.reverse_and_cut(&mut all);
        // The median of all slopes is taken of what is shown alone.
        let rows = all.into_par_iter().map(|(row, at)| trend.complete_row(row, &figures(at))).collect();
        trend.rows = TrendRows::new(options.by, rows, hidden);
        (trend.limit_results, trend.growing_all_flat_counts, trend.growth_sentences) = (over, counts, growing);
        Ok(trend)
    }
}

/// Where not all dumps that were read say when they were taken, but all say how long their program had run, which goes forward, the
/// slope is by that.
fn use_uptimes_without_times(dumps: &mut [TrendDump]) {
    let read = || dumps.iter().filter(|dump| dump.format.is_some());
    let uptimes: Option<Vec<i64>> = read().map(|dump| dump.uptime_ms).collect();
    let goes_forward = uptimes.is_some_and(|times| times.is_sorted());
    if goes_forward && read().any(|dump| dump.taken_unix_ms.is_none()) {
        dumps.iter_mut().for_each(|dump| dump.taken_unix_ms = dump.uptime_ms);
    }
}
