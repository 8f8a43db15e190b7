//! Watching a process while it is at work: its memory, whether it lives, and how long nothing has come.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::process::Process;
use super::refusal::{Refusal, RefusalCode, format_seconds};
use super::{CollectSupervisor, Collected};

/// Longest time for an answer that needs no pause, and longest time without a byte from a process that uses no CPU.
pub(super) const DEFAULT_SILENCE_LIMIT: Duration = Duration::from_secs(30);
/// A connection is there at once, or not at all.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Between two looks at the process.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Longest time without a byte from what has taken a request, where it cannot be seen whether it is at work.
const UNWATCHED_SILENCE_LIMIT: Duration = Duration::from_secs(600);
/// Between two lines that say that it is still at work.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// A process at work.
pub(super) struct ProcessWatch<'a> {
    process: Option<&'a Process>,
    supervisor: &'a mut dyn CollectSupervisor,
    /// Limit of the user; `None`: as long as it uses CPU.
    silence_limit: Option<Duration>,
    pub(super) rss_bytes_before: u64,
    pub(super) rss_bytes_peak: u64,
    last_report_at: Instant,
    last_progress_at: Instant,
    cpu_time_at_start: Duration,
    last_cpu_time: Duration,
    last_cpu_change_at: Instant,
}

impl<'a> ProcessWatch<'a> {
    /// Begins to watch. Without a process only the time is.
    pub(super) fn new(
        process: Option<&'a Process>,
        limit: Option<Duration>,
        observer: &'a mut dyn CollectSupervisor,
    ) -> Self {
        let now = Instant::now();
        let rss = process.map_or(0, Process::rss_bytes);
        let cpu = process.and_then(Process::cpu_time).unwrap_or_default();
        ProcessWatch {
            process,
            supervisor: observer,
            silence_limit: limit,
            rss_bytes_before: rss,
            rss_bytes_peak: rss,
            last_report_at: now,
            last_progress_at: now,
            cpu_time_at_start: cpu,
            last_cpu_time: cpu,
            last_cpu_change_at: now,
        }
    }

    /// For an answer that needs no pause.
    pub(super) fn answer_limit(&self) -> Duration {
        self.silence_limit.unwrap_or(DEFAULT_SILENCE_LIMIT)
    }

    /// For an answer that needs no pause, of what cannot be seen at work; else nothing. Error: `timeout`.
    pub(super) fn check_answer_time_if_unwatched(&self, asked: Instant) -> Result<(), Refusal> {
        let limit = self.answer_limit();
        if self.process.is_some() || asked.elapsed() < limit { Ok(()) } else { Err(no_answer_refusal(limit)) }
    }

    /// Does a process end that has just closed its end? Looks for 0.2 s. Never, where none is known.
    pub(super) fn ends_within_moment(&self) -> bool {
        self.process.is_some_and(Process::ends_within_moment)
    }

    /// Looks at memory and CPU time, says now and then that it is still at work, and fails when nothing comes for too long. To be
    /// called every [`POLL_INTERVAL`] or so: `progressed` when something came since the last time. Error: `timeout`.
    pub(super) fn check_progress(&mut self, progressed: bool) -> Result<(), Refusal> {
        let now = Instant::now();
        if progressed {
            self.last_progress_at = now;
        }
        let Some(process) = self.process else {
            let (waited, limit) = (now - self.last_progress_at, self.silence_limit.unwrap_or(UNWATCHED_SILENCE_LIMIT));
            return if waited < limit { Ok(()) } else { Err(no_answer_refusal(limit)) };
        };
        self.rss_bytes_peak = self.rss_bytes_peak.max(process.rss_bytes());
        let cpu = process.cpu_time().unwrap_or(self.last_cpu_time);
        if cpu != self.last_cpu_time {
            (self.last_cpu_time, self.last_cpu_change_at) = (cpu, now);
        }
        let used = cpu.saturating_sub(self.cpu_time_at_start);
        if now - self.last_report_at >= PROGRESS_INTERVAL {
            self.last_report_at = now;
            self.supervisor.report_progress(&format!("still at it: {} of CPU since the request", format_seconds(used)));
        }
        let waited = match self.silence_limit {
            Some(limit) => (now - self.last_progress_at, limit),
            None => (now - self.last_progress_at.max(self.last_cpu_change_at), DEFAULT_SILENCE_LIMIT),
        };
        if waited.0 < waited.1 {
            return Ok(());
        }
        let hint = match used {
            Duration::ZERO => "it used no CPU time meanwhile".to_string(),
            used => format!("it used {} of CPU since the request; --timeout allows more", format_seconds(used)),
        };
        Err(Refusal::timeout(process.pid, waited.1).with_hint(hint))
    }
}

/// Waits for bytes, a tick at most.
pub(super) fn wait_tick_for_bytes(stream: &impl AsFd) {
    let tick = Timespec { tv_sec: 0, tv_nsec: POLL_INTERVAL.as_nanos() as i64 };
    // An error shows at the next read.
    let _ = poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&tick));
}

/// Reads what is there: the number of bytes, 0 at the end, which a peer that ends may break off. `None` where nothing comes
/// for a tick.
pub(super) fn read_some<S: AsFd>(stream: &S, chunk: &mut [u8]) -> io::Result<Option<usize>>
where
    for<'s> &'s S: Read,
{
    let mut reader = stream;
    match reader.read(chunk) {
        Ok(count) => Ok(Some(count)),
        Err(error) if is_retryable(&error) => {
            wait_tick_for_bytes(stream);
            Ok(None)
        }
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(Some(0)),
        Err(error) => Err(error),
    }
}

pub(super) fn is_retryable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

impl Collected {
    /// Notes, of a dump that has been taken, the memory that was watched, and the pause.
    pub(super) fn note_memory_and_pause(&mut self, watch: &ProcessWatch<'_>, pause: Option<Duration>) {
        (self.target_rss_before, self.target_rss_peak) = (watch.rss_bytes_before, watch.rss_bytes_peak);
        self.pause_ms = pause.map(|pause| (pause.as_secs_f64() * 10_000.0).round() / 10.0);
    }
}

fn no_answer_refusal(waited: Duration) -> Refusal {
    Refusal::new(RefusalCode::Timeout, format!("no answer for {}", format_seconds(waited)))
        .with_hint("--timeout allows more")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::AgreeingObserver;

    #[test]
    fn what_is_out_of_sight_has_a_limit_too() {
        let mut silent = AgreeingObserver;
        let mut watch = ProcessWatch::new(None, None, &mut silent);
        watch.check_progress(false).expect("just begun");
        let began = |ago| Instant::now().checked_sub(ago).expect("a machine that has run for a while");
        watch.check_answer_time_if_unwatched(began(DEFAULT_SILENCE_LIMIT / 2)).expect("patience");
        assert_eq!(
            watch.check_answer_time_if_unwatched(began(DEFAULT_SILENCE_LIMIT)).expect_err("no answer").code,
            RefusalCode::Timeout
        );
        watch.last_progress_at = began(UNWATCHED_SILENCE_LIMIT / 2);
        watch.check_progress(false).expect("it may be at work");
        watch.last_progress_at = began(UNWATCHED_SILENCE_LIMIT);
        assert_eq!(watch.check_progress(false).expect_err("too long").code, RefusalCode::Timeout);
    }
}
