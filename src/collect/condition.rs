//! Conditions for a dump, and what they are judged by: figures that the system and the runtime publish anyway. The process is
//! asked nothing.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::hotspot::{PerfData, PerfDataFile};
use super::process::{Process, memory_limit_bytes};
use super::refusal::{Refusal, RefusalCode};
use crate::units::{format_bytes, parse_duration, parse_size};

/// Between two readings.
pub(super) const READING_INTERVAL: Duration = Duration::from_secs(1);
/// Of what grows, and of the share of a time, where the condition names no window.
const DEFAULT_WINDOW: Duration = Duration::from_secs(60);
/// A reading a second takes 16 bytes.
const MAX_WINDOW: Duration = Duration::from_secs(24 * 3600);

/// What a condition is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    /// Resident memory: bytes, or a share of the limit.
    Memory,
    /// Bytes of a JVM's heap in use, garbage included, or a share of the most that it may have.
    Heap,
    /// Slope of resident memory: bytes a second.
    Growth,
    /// Share of time in a JVM's garbage collections.
    GcTime,
}

impl Measure {
    const WORDS: [(&str, Measure); 4] = [
        ("memory", Measure::Memory),
        ("heap", Measure::Heap),
        ("growth", Measure::Growth),
        ("gc-time", Measure::GcTime),
    ];

    fn is_measured_over_window(self) -> bool {
        matches!(self, Measure::Growth | Measure::GcTime)
    }
}

/// One of the conditions that `or` joins.
#[derive(Debug, Clone, PartialEq)]
struct ConditionTerm {
    text: String,
    measure: Measure,
    /// Bytes, a share, or bytes a second.
    limit: f64,
    /// The limit is a share.
    is_limit_share: bool,
    /// How long it must hold without a break; of what grows and of `gc-time` the time that is looked back on.
    window: Duration,
}

/// `memory > 75%`, `heap > 90% for 30s`, `growth > 10MiB/min for 5min`, `gc-time > 20% for 1min`, joined by `or`: when a dump is
/// to be taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    terms: Vec<ConditionTerm>,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<&str> = self.terms.iter().map(|term| term.text.as_str()).collect();
        f.write_str(&terms.join(" or "))
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let terms = words.split(|word| *word == "or").map(|words| words.join(" ").parse());
        Ok(Condition { terms: terms.collect::<Result<_, _>>()? })
    }
}

impl FromStr for ConditionTerm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{text}\" is no condition; write memory > 75%, memory > 3GiB, heap > 90%, growth > 10MiB/min for 5min or gc-time > 20% for 1min, joined by \"or\""
            )
        };
        let (name, rest) = text.split_once('>').ok_or_else(wrong)?;
        let known = Measure::WORDS.iter().find(|(word, _)| *word == name.trim());
        let &(_, measure) = known.ok_or_else(wrong)?;
        let (limit, window) = match rest.split_once(" for ") {
            Some((limit, window)) => (limit.trim(), Some(parse_duration(window.trim())?)),
            None => (rest.trim(), None),
        };
        let share = limit.strip_suffix('%').map(|number| number.trim().parse::<f64>().map_err(|_| wrong()));
        let (limit, is_share) = match (measure, share.transpose()?) {
            (Measure::Memory | Measure::Heap | Measure::GcTime, Some(percent)) if (0.0..100.0).contains(&percent) => {
                (percent / 100.0, true)
            }
            (Measure::Memory | Measure::Heap, None) => (parse_size(limit)? as f64, false),
            (Measure::Growth, None) => {
                let (size, unit) = limit.split_once('/').ok_or_else(wrong)?;
                let unit = Some(unit.trim()).filter(|unit| unit.starts_with(|c: char| c.is_ascii_alphabetic()));
                let time = parse_duration(&format!("1{}", unit.ok_or_else(wrong)?))?;
                (parse_size(size)? as f64 / time.as_secs_f64(), false)
            }
            _ => return Err(wrong()),
        };
        let default = if measure.is_measured_over_window() { DEFAULT_WINDOW } else { Duration::ZERO };
        let window = window.unwrap_or(default);
        if window > MAX_WINDOW || measure.is_measured_over_window() && window < READING_INTERVAL * 2 {
            return Err(format!("\"{text}\": the time is from 2s to 24h"));
        }
        Ok(ConditionTerm { text: text.to_string(), measure, limit, is_limit_share: is_share, window })
    }
}

/// Figures of one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reading {
    /// Resident memory.
    memory_bytes: u64,
    /// Memory that there may be: of the control group, else of the machine.
    memory_limit_bytes: Option<u64>,
    heap_bytes: Option<u64>,
    /// That the heap may have at most.
    max_heap_bytes: Option<u64>,
    /// In collections, since the start.
    gc_time: Option<Duration>,
}

impl Reading {
    /// Bytes in use, and those that there may be.
    fn used_and_limit(&self, measure: Measure) -> (Option<u64>, Option<u64>) {
        match measure {
            Measure::Heap => (self.heap_bytes, self.max_heap_bytes),
            _ => (Some(self.memory_bytes), self.memory_limit_bytes),
        }
    }

    /// The figure that a measure goes by; of what has a window the one whose change is looked at.
    fn figure_for(&self, term: &ConditionTerm) -> Option<f64> {
        let (used, limit) = self.used_and_limit(term.measure);
        match term.measure {
            Measure::GcTime => self.gc_time.map(|time| time.as_secs_f64()),
            _ if term.is_limit_share => Some(used? as f64 / limit.filter(|&limit| limit > 0)? as f64),
            _ => used.map(|bytes| bytes as f64),
        }
    }
}

/// A condition and what it has seen.
#[derive(Debug)]
pub(super) struct ConditionWatch<'c> {
    condition: &'c Condition,
    /// The JVM's counters, where the condition needs them.
    counters: Option<PerfDataFile>,
    /// By term: readings that count, the oldest first. Of a level it is the one since which it holds.
    readings: Vec<VecDeque<(Duration, f64)>>,
}

impl<'c> ConditionWatch<'c> {
    pub(super) fn new(condition: &'c Condition, process: &Process) -> Self {
        let needs_counters = condition.terms.iter().any(|term| matches!(term.measure, Measure::Heap | Measure::GcTime));
        let counters = needs_counters.then(|| PerfDataFile::open(process)).flatten();
        ConditionWatch { condition, counters, readings: vec![VecDeque::new(); condition.terms.len()] }
    }

    /// The figures of this moment.
    pub(super) fn read_figures(&self, process: &Process) -> Reading {
        let data = self.counters.as_ref().and_then(PerfDataFile::read);
        Reading {
            memory_bytes: process.rss_bytes(),
            memory_limit_bytes: memory_limit_bytes(process),
            heap_bytes: data.as_ref().and_then(PerfData::used_heap_bytes),
            max_heap_bytes: data.as_ref().and_then(PerfData::max_heap_bytes),
            gc_time: data.as_ref().and_then(PerfData::gc_time),
        }
    }

    /// Error: `usage`, where a figure that the condition needs is not published.
    pub(super) fn check_figures_published(&self, process: &Process) -> Result<(), Refusal> {
        let reading = self.read_figures(process);
        match self.condition.terms.iter().find(|term| reading.figure_for(term).is_none()) {
            None => Ok(()),
            Some(term) => {
                let text = format!("process {} does not publish what \"{}\" takes", process.pid, term.text);
                Err(Refusal::new(RefusalCode::Usage, text).with_hint(
"heap and gc-time are counters of HotSpot (not under -XX:-UsePerfData; heap not of ZGC and Shenandoah); memory and growth are known of every process",
))
            }
        }
    }

    /// Forgets what was seen: a dump changes the memory of a process.
    pub(super) fn forget_readings(&mut self) {
        self.readings.iter_mut().for_each(VecDeque::clear);
    }

    /// Takes note of a reading at a time that only goes forward; gives a sentence when the condition holds. O(window).
    pub(super) fn note_reading(&mut self, at: Duration, reading: &Reading) -> Option<String> {
        let terms = self.condition.terms.iter().zip(&mut self.readings);
        let mut held = terms.filter_map(|(term, readings)| {
            let figure = reading.figure_for(term)?;
            term.note_figure_and_check(readings, at, figure).then(|| term.sentence(readings, figure, reading))
        });
        let first = held.next();
        // Each term takes note of each reading.
        held.for_each(drop);
        first
    }
}

impl ConditionTerm {
    /// Takes note of a figure; returns true when the term has held for its time.
    fn note_figure_and_check(&self, readings: &mut VecDeque<(Duration, f64)>, at: Duration, figure: f64) -> bool {
        if !self.measure.is_measured_over_window() {
            if figure <= self.limit {
                readings.clear();
                return false;
            }
            if readings.is_empty() {
                readings.push_back((at, figure));
            }
            return at.saturating_sub(readings[0].0) >= self.window;
        }
        readings.push_back((at, figure));
        // The oldest one is as old as the window, or older.
        while readings.get(1).is_some_and(|(second, _)| at.saturating_sub(*second) >= self.window) {
            readings.pop_front();
        }
        at.saturating_sub(readings[0].0) >= self.window && self.change_per_second(readings) > self.limit
    }

    /// Change a second, over the window: of memory between the medians of its halves, which a value that flickers does not
    /// bend; of time its share.
    fn change_per_second(&self, readings: &VecDeque<(Duration, f64)>) -> f64 {
        let half = readings.len() / 2;
        let (Some(first), Some(last), 1..) = (readings.front(), readings.back(), half) else { return 0.0 };
        let newer = readings.len() - half;
        let median = |start: usize| {
            let mut figures: Vec<f64> = readings.range(start..start + half).map(|(_, figure)| *figure).collect();
            *figures.select_nth_unstable_by((half - 1) / 2, f64::total_cmp).1
        };
        let (change, run) = match self.measure {
            Measure::GcTime => (last.1 - first.1, last.0 - first.0),
            _ => (median(newer) - median(0), readings[newer + half / 2].0 - readings[half / 2].0),
        };
        if run.is_zero() { 0.0 } else { change / run.as_secs_f64() }
    }

    fn sentence(&self, readings: &VecDeque<(Duration, f64)>, figure: f64, reading: &Reading) -> String {
        let is = match self.measure {
            Measure::Memory | Measure::Heap => {
                let what = if self.measure == Measure::Heap { "the heap" } else { "memory" };
                let (used, limit) = reading.used_and_limit(self.measure);
                let [used, limit] = [used, limit].map(|bytes| format_bytes(bytes.unwrap_or(0)));
                let share = self.is_limit_share.then(|| format!(", {:.1} % of {limit}", figure * 100.0));
                format!("{what} is {used}{}", share.unwrap_or_default())
            }
            Measure::Growth => {
                format!("memory grows by {} a minute", format_bytes((self.change_per_second(readings) * 60.0) as u64))
            }
            Measure::GcTime => {
                format!("collections take {:.1} % of the time", self.change_per_second(readings) * 100.0)
            }
        };
        format!("{is}: {}", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn condition(text: &str) -> Condition {
        text.parse().expect("a condition")
    }

    fn this_process() -> Process {
        Process::open(std::process::id()).expect("this process")
    }

    /// Seconds at which a condition holds, of readings a second.
    fn holds_at(text: &str, readings: impl Iterator<Item = Reading>) -> Vec<u64> {
        let condition = condition(text);
        let mut watch = ConditionWatch::new(&condition, &this_process());
        let seconds = (0u64..).zip(readings);
        seconds.filter_map(|(at, reading)| watch.note_reading(Duration::from_secs(at), &reading).map(|_| at)).collect()
    }

    fn memory(bytes: u64) -> Reading {
        Reading { memory_bytes: bytes, memory_limit_bytes: Some(4 * GIB), ..Reading::default() }
    }

    #[test]
    fn conditions_as_they_are_written() {
        let read = condition("memory>75% or  heap > 90% for 30s or growth > 10MiB/min for 5min or gc-time > 20%");
        let terms: Vec<(Measure, f64, bool, u64)> = read
            .terms
            .iter()
            .map(|term| (term.measure, term.limit, term.is_limit_share, term.window.as_secs()))
            .collect();
        let wanted = [
            (Measure::Memory, 0.75, true, 0),
            (Measure::Heap, 0.9, true, 30),
            (Measure::Growth, (10 << 20) as f64 / 60.0, false, 300),
            (Measure::GcTime, 0.2, true, 60),
        ];
        assert_eq!(terms, wanted);
        for wrong in [
            "",
            "memory",
            "memory > ",
            "memory < 5%",
            "memory > 100%",
            "memory > -1%",
            "heap > 100%",
            "growth > 5MiB",
            "growth > 5%",
            "growth > 10MiB/5min",
            "gc-time > 5s",
            "gc-time > 20% for 1s",
            "growth > 1MiB/min for 25h",
            "memory > 5% or",
            "disk > 5%",
            "memory > 5% for ever",
        ] {
            assert!(wrong.parse::<Condition>().is_err(), "{wrong}");
        }
    }

    /// A day of readings: memory that grows by 1 MiB a minute from 1 GiB reaches 3 GiB after 2,048 minutes of 60 s.
    #[test]
    fn a_level_is_told_when_it_is_passed_and_never_before() {
        let grows = |at: u64| memory(GIB + at * (1 << 20) / 60);
        let first = |text: &str| holds_at(text, (0..48 * 3600).map(grows)).first().copied();
        assert_eq!(first("memory > 75%"), Some(2048 * 60 + 1));
        assert_eq!(first("memory > 3GiB for 10s"), Some(2048 * 60 + 11));
        assert_eq!(first("memory > 80% or memory > 75%"), Some(2048 * 60 + 1));
        assert_eq!(first("memory > 99%"), None);
    }

    #[test]
    fn a_share_of_the_heap_is_of_what_it_may_have() {
        let full = Reading { heap_bytes: Some(3 * GIB), max_heap_bytes: Some(4 * GIB), ..memory(3 * GIB) };
        let said =
            |text: &str| ConditionWatch::new(&condition(text), &this_process()).note_reading(Duration::ZERO, &full);
        assert_eq!(said("heap > 75%"), None);
        assert_eq!(said("heap > 74.9%").as_deref(), Some("the heap is 3.0 GiB, 75.0 % of 4.0 GiB: heap > 74.9%"));
        assert_eq!(said("heap > 2GiB").as_deref(), Some("the heap is 3.0 GiB: heap > 2GiB"));
    }

    #[test]
    fn what_flickers_does_not_hold() {
        // Above the limit for 9 s of 10.
        let flickers = |at: u64| memory(if at.is_multiple_of(10) { GIB } else { 3 * GIB + GIB / 2 });
        assert_eq!(holds_at("memory > 75% for 10s", (0..86_400).map(flickers)), [0; 0]);
        assert_eq!(holds_at("growth > 1MiB/min for 5min", (0..86_400).map(flickers)), [0; 0]);
        assert_eq!(holds_at("memory > 75%", (0..3).map(flickers)), [1, 2]);
    }

    #[test]
    fn growth_is_the_slope_over_the_window() {
        // 12 MiB a minute, with saws of 64 MiB of garbage.
        let grows = |at: u64| memory(GIB + at * (12 << 20) / 60 + (at % 20) * (64 << 20) / 20);
        let times = holds_at("growth > 10MiB/min for 5min", (0..3600).map(grows));
        assert_eq!((times.first(), times.len()), (Some(&300), 3300));
        assert_eq!(holds_at("growth > 14MiB/min for 5min", (0..3600).map(grows)), [0; 0]);
        // It stops: after half a window it is no longer told.
        let stops = holds_at("growth > 10MiB/min for 5min", (0..3600).map(|at| grows(at.min(1000))));
        assert!((1000..1150).contains(stops.last().expect("it held")), "{stops:?}");
    }

    #[test]
    fn the_share_of_collections_is_that_of_the_window() {
        // A collection of 30 s from second 100 on.
        let reading =
            |at: u64| Reading { gc_time: Some(Duration::from_secs(at.clamp(100, 130) - 100)), ..Reading::default() };
        let times = holds_at("gc-time > 20% for 1min", (0..300).map(reading));
        // More than 12 s of 60.
        assert_eq!((times.first(), times.last()), (Some(&113), Some(&177)));
        assert_eq!(holds_at("gc-time > 20%", (0..300).map(|_| Reading::default())), [0; 0]);
    }

    #[test]
    fn what_is_not_published_is_refused() {
        let process = this_process();
        let refusal =
            |text: &str| ConditionWatch::new(&condition(text), &process).check_figures_published(&process).err();
        assert!(refusal("memory > 75% or growth > 1GiB/min").is_none());
        assert_eq!(refusal("memory > 75% or heap > 1GiB").expect("no counters").code, RefusalCode::Usage);
    }
}
