//! Many histograms or dumps of one process: at intervals, and when a condition holds. Between them the process is asked nothing.

use std::collections::VecDeque;
use std::fs::{DirBuilder, File};
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::condition::{Condition, ConditionWatch, READING_INTERVAL};
use super::inspector::InspectorSession;
use super::process::Process;
use super::refusal::{Refusal, RefusalCode};
use super::run::{check_can_collect, collect_from_process, find_runtime};
use super::{CollectOptions, CollectSupervisor, Collected, TargetRuntime};
use crate::files::free_bytes;
use crate::units::{count_with_noun, format_bytes};

/// A tenth of a disk is left free, unless the user says otherwise.
const MIN_FREE_DISK_DIVISOR: u64 = 10;

/// When histograms or dumps are taken, and how many stay.
#[derive(Debug, Clone)]
pub struct SeriesOptions {
    /// From one to the next.
    pub interval: Option<Duration>,
    /// Ends after so many; with a condition so many that it has called for.
    pub max_count: Option<usize>,
    /// Ends after this time.
    pub max_duration: Option<Duration>,
    /// Of the dumps or profiles of this series the newest stay; histograms all do.
    pub max_kept_dumps: Option<usize>,
    /// Free bytes of the disk that are left alone. Default: a tenth of it.
    pub min_free_bytes: Option<u64>,
    /// When a dump is taken too; in a series of histograms that has an interval a dump, else what the options ask for.
    pub condition: Option<Condition>,
    /// From one dump that the condition has called for to the next.
    pub min_condition_dump_interval: Duration,
}

/// Why a series ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum SeriesEnd {
    /// All were taken, or the time is over; a condition may never have held.
    Complete,
    /// The process has ended.
    ProcessEnded,
    /// There can be no more.
    Refused(Refusal),
}

/// A series that has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct SeriesResult {
    /// Why.
    pub end: SeriesEnd,
    /// Histograms and dumps that there are.
    pub taken_count: usize,
    /// Histograms and dumps that could not be taken.
    pub failed_count: usize,
    /// Dumps that the condition has called for.
    pub condition_dump_count: usize,
}

/// Whoever is told what happens in a series.
pub trait SeriesObserver: CollectSupervisor {
    /// Called for each histogram or dump, taken or refused.
    fn report_collected(&mut self, collected: &Collected);
    /// Called when the condition holds, with a sentence, before the dump.
    fn report_condition_holds(&mut self, sentence: &str);
}

impl SeriesResult {
    /// Why it ended, and how many were taken, in a sentence, and what to do about a refusal that was not told before.
    pub fn end_lines(&self) -> Vec<String> {
        let taken = format!("{} taken", count_with_noun(self.taken_count as u64, "files"));
        match &self.end {
            SeriesEnd::Complete => vec![format!("the series ends: {taken}")],
            SeriesEnd::ProcessEnded => vec![format!("the process has ended: {taken}")],
            SeriesEnd::Refused(refusal) => {
                let hint = refusal.hint.clone().filter(|_| self.failed_count == 0);
                [format!("the series ends, {taken}: {refusal}")].into_iter().chain(hint).collect()
            }
        }
    }
}

/// Takes histograms or dumps of a process, into `output_folder` (made where it is not there) or to standard output,
/// until the options say so, the process ends, or the disk has no room. Memory is that of the condition's window.
pub fn collect_series(
    options: &CollectOptions,
    series: &SeriesOptions,
    observer: &mut dyn SeriesObserver,
) -> SeriesResult {
    let mut result =
        SeriesResult { end: SeriesEnd::Complete, taken_count: 0, failed_count: 0, condition_dump_count: 0 };
    result.end = run_series(options, series, observer, &mut result).unwrap_or_else(SeriesEnd::Refused);
    result
}

fn run_series(
    options: &CollectOptions,
    series: &SeriesOptions,
    observer: &mut dyn SeriesObserver,
    result: &mut SeriesResult,
) -> Result<SeriesEnd, Refusal> {
    let pid = options.pid.unwrap_or_default();
    let process = Process::open(pid)?;
    process.check_permitted()?;
    let mut condition = series.condition.as_ref().map(|condition| ConditionWatch::new(condition, &process));
    condition.as_ref().map_or(Ok(()), |condition| condition.check_figures_published(&process))?;
    let folder = options.output_folder.as_deref();
    if let Some(folder) = folder {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| Refusal::system(&format!("cannot make {}", folder.display()), error))?;
    }
    if folder.is_none() && find_runtime(Some(&process), options).is_ok_and(|runtime| runtime == TargetRuntime::Node) {
        let text = "the histograms of Node.js are files of their own: a series of them goes into a folder";
        return Err(Refusal::new(RefusalCode::Usage, text).with_hint("-o FOLDER"));
    }
    let takes_histogram_on_condition = options.take_histogram && series.interval.is_none();
    if condition.is_some() {
        // What would be refused when it holds, perhaps in days, is refused now.
        let options = CollectOptions { take_histogram: takes_histogram_on_condition, ..options.clone() };
        folder.map(|folder| writable_bytes_in(folder, series.min_free_bytes)).transpose()?;
        check_can_collect(&process, &options)
            .or_else(|refusal| if may_pass(&refusal) { Ok(()) } else { Err(refusal) })?;
    }
    let began = Instant::now();
    let (mut next, mut not_before) = (series.interval.map(|_| began), began);
    let (mut dumps, mut session) = (VecDeque::new(), None);
    loop {
        let now = Instant::now();
        let is_due = next.is_some_and(|next| now >= next);
        let held = condition
            .as_mut()
            .filter(|_| now >= not_before)
            .and_then(|condition| condition.note_reading(now - began, &condition.read_figures(&process)));
        if !process.is_alive() {
            return Ok(SeriesEnd::ProcessEnded);
        }
        let mut wanted = Vec::new();
        if is_due {
            wanted.push(options.take_histogram);
        }
        if let Some(sentence) = &held {
            observer.report_condition_holds(sentence);
            wanted.push(takes_histogram_on_condition);
        }
        let mut is_answered = false;
        for histogram in wanted {
            let options = CollectOptions { take_histogram: histogram, ..options.clone() };
            let collected = take_one(&process, &options, folder, series, &mut session, observer)?;
            let Some(refusal) = collected.refusal else {
                result.taken_count += 1;
                is_answered |= held.is_some();
                if let (false, Some(file)) = (histogram, collected.path) {
                    dumps.push_back(file);
                    remove_oldest_dumps(&mut dumps, series.max_kept_dumps);
                }
                continue;
            };
            if !process.is_alive() {
                return Ok(SeriesEnd::ProcessEnded);
            }
            result.failed_count += 1;
            // What is refused at once is refused for ever, but for what passes; and what a disk has no room for too.
            let is_full = matches!(refusal.code, RefusalCode::NoSpace | RefusalCode::TooLarge);
            if is_full || result.taken_count == 0 && !may_pass(&refusal) {
                return Err(refusal);
            }
        }
        let now = Instant::now();
        if let (true, Some(condition)) = (held.is_some(), &mut condition) {
            // What could not be taken is called for again.
            result.condition_dump_count += usize::from(is_answered);
            not_before = now + series.min_condition_dump_interval;
            condition.forget_readings();
        }
        // What took longer than the interval is not made up for.
        if let (true, Some(due), Some(every)) = (is_due, &mut next, series.interval) {
            let missed = (now - *due).as_nanos() / every.as_nanos().max(1);
            *due += every * u32::try_from(missed + 1).unwrap_or(u32::MAX);
        }
        let count =
            if condition.is_some() { result.condition_dump_count } else { result.taken_count + result.failed_count };
        let end = series.max_duration.map(|duration| began + duration);
        if series.max_count.is_some_and(|times| count >= times) || end.is_some_and(|end| now >= end) {
            return Ok(SeriesEnd::Complete);
        }
        let reading = condition.as_ref().map(|_| not_before.max(now + READING_INTERVAL));
        let soonest = [next, reading, end].into_iter().flatten().min();
        if wait_for_end_until(&process, soonest.unwrap_or(now + READING_INTERVAL), &mut session) {
            return Ok(SeriesEnd::ProcessEnded);
        }
    }
}

/// May what was refused be had at another time?
fn may_pass(refusal: &Refusal) -> bool {
    matches!(refusal.code, RefusalCode::Stopped | RefusalCode::Busy | RefusalCode::NoMemory | RefusalCode::Timeout)
}

/// Waits until a time, or until the process ends, which it does not while a session is open. Returns true if it has.
fn wait_for_end_until(process: &Process, time: Instant, session: &mut Option<InspectorSession>) -> bool {
    loop {
        let has_ended = process.wait_for_end_until(time, session.as_ref().map(InspectorSession::stream));
        session.take_if(|session| session.is_to_end());
        if has_ended || Instant::now() >= time {
            return has_ended;
        }
    }
}

/// One histogram or dump, where the disk has room. Error: `no-space`.
fn take_one(
    process: &Process,
    options: &CollectOptions,
    folder: Option<&Path>,
    series: &SeriesOptions,
    session: &mut Option<InspectorSession>,
    observer: &mut dyn SeriesObserver,
) -> Result<Collected, Refusal> {
    let room = folder.map(|folder| writable_bytes_in(folder, series.min_free_bytes)).transpose()?.flatten();
    let max_bytes = [room, options.max_dump_bytes].into_iter().flatten().min();
    let options = CollectOptions { max_dump_bytes: max_bytes, ..options.clone() };
    let mut collected = collect_from_process(Some(process), &options, Some(session), observer);
    if let (Some(folder), Some(room), Some(refusal)) = (folder, room, &mut collected.refusal)
        && refusal.code == RefusalCode::TooLarge
        && max_bytes == Some(room)
    {
        *refusal = no_space_refusal(format!(
            "it takes more than the {} that may be used in {}",
            format_bytes(room),
            folder.display()
        ));
    }
    // What the end by a signal has broken off is nothing to report.
    crate::files::wait_if_signalled();
    observer.report_collected(&collected);
    Ok(collected)
}

/// Bytes that may be written; `None` where the system does not tell. Error: `no-space`, when there are none.
fn writable_bytes_in(folder: &Path, min_free_bytes: Option<u64>) -> Result<Option<u64>, Refusal> {
    let place = File::open(folder).map_err(|error| Refusal::system(&folder.display().to_string(), error))?;
    let (Some(free), Some(all)) = (free_bytes(&place), total_disk_bytes(&place)) else { return Ok(None) };
    let least = min_free_bytes.unwrap_or(all / MIN_FREE_DISK_DIVISOR);
    match free.checked_sub(least) {
        Some(room @ 1..) => Ok(Some(room)),
        _ => {
            let text = format!(
                "{} free in {}, of which {} are left alone",
                format_bytes(free),
                folder.display(),
                format_bytes(least)
            );
            Err(no_space_refusal(text))
        }
    }
}

fn no_space_refusal(text: String) -> Refusal {
    Refusal::new(RefusalCode::NoSpace, text).with_hint("--min-free leaves less alone")
}

fn remove_oldest_dumps(dumps: &mut VecDeque<PathBuf>, kept: Option<usize>) {
    while kept.is_some_and(|kept| dumps.len() > kept) {
        // It may be gone already.
        let _ = dumps.pop_front().map(std::fs::remove_file);
    }
}

/// All bytes of the file system of an open folder.
fn total_disk_bytes(place: impl AsFd) -> Option<u64> {
    rustix::fs::fstatvfs(place).ok().map(|facts| facts.f_blocks.saturating_mul(facts.f_frsize))
}
