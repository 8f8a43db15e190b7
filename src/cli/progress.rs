//! Progress on standard error, for work over half a second, only on a terminal: what is being done, how fast the file
//! is read and how long that will still take, and later how long each step has been at work.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::input::ReadProgress;
use crate::report::format_bytes;

const PATIENCE: Duration = Duration::from_millis(500);
const BETWEEN_DRAWS: Duration = Duration::from_millis(100);
/// The first phase, and the only one with a known end.
const READING: &str = "reading";

/// Shows how far the work is until it is dropped.
pub(super) struct Progress {
    pub(super) read: Arc<ReadProgress>,
    phase: Arc<Mutex<Phase>>,
    ended: Arc<AtomicBool>,
    drawer: Option<JoinHandle<()>>,
}

#[derive(Clone, Copy)]
struct Phase {
    name: &'static str,
    since: Instant,
}

impl Phase {
    fn new(name: &'static str) -> Self {
        Phase { name, since: Instant::now() }
    }
}

impl Progress {
    /// Begins to watch, unless nobody would see it. `file` is said where there are several.
    pub(super) fn start(quiet: bool, file: Option<&str>) -> Self {
        let mut progress = Progress {
            read: Arc::default(),
            phase: Arc::new(Mutex::new(Phase::new(READING))),
            ended: Arc::default(),
            drawer: None,
        };
        if !quiet && std::io::stderr().is_terminal() {
            let (read, phase, ended) =
                (Arc::clone(&progress.read), Arc::clone(&progress.phase), Arc::clone(&progress.ended));
            let prefix = file.map_or(String::new(), |file| format!("{file}: "));
            progress.drawer = Some(std::thread::spawn(move || draw(&prefix, &read, &phase, &ended)));
        }
        progress
    }

    /// Says what is being done now.
    pub(super) fn phase(&self, name: &'static str) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = Phase::new(name);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(drawer) = self.drawer.take() {
            drawer.thread().unpark();
            // A drawer that failed has nothing to say that matters to the answer.
            let _ = drawer.join();
        }
    }
}

/// The patience with the whole program, not with each of many small files.
fn patience_left() -> Duration {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    PATIENCE.saturating_sub(BEGUN.get_or_init(Instant::now).elapsed())
}

fn draw(prefix: &str, read: &ReadProgress, phase: &Mutex<Phase>, ended: &AtomicBool) {
    std::thread::park_timeout(patience_left());
    if ended.load(Ordering::Relaxed) {
        return;
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    // The templates are constants, so that a wrong one would show at once: then the bar keeps the default.
    let with_end = ProgressStyle::with_template("{prefix} [{wide_bar}] {msg}").map(|style| style.progress_chars("=> "));
    let without_end = ProgressStyle::with_template("{prefix}, {msg}");
    while !ended.load(Ordering::Relaxed) {
        let Phase { name, since } = *phase.lock().unwrap_or_else(PoisonError::into_inner);
        let (done, total) = (read.bytes_read.load(Ordering::Relaxed), read.bytes_total.load(Ordering::Relaxed));
        let is_reading = name == READING && (total == 0 || done < total);
        let style = if is_reading && total > 0 { &with_end } else { &without_end };
        if let Ok(style) = style {
            bar.set_style(style.clone());
        }
        // What is left to do of the reading when the last byte is in has no name of its own.
        let name = if name == READING && !is_reading { "resolving references" } else { name };
        bar.set_prefix(format!("{prefix}{name}"));
        bar.set_length(total);
        bar.set_position(done);
        bar.set_message(if is_reading { reading(done, total, since.elapsed()) } else { seconds(since.elapsed()) });
        bar.tick();
        std::thread::park_timeout(BETWEEN_DRAWS);
    }
    bar.finish_and_clear();
}

/// `1.2 GiB of 3.0 GiB, 310.5 MiB/s, 6 s left`. By the average since the start, which jumps about less than any other.
fn reading(done: u64, total: u64, elapsed: Duration) -> String {
    let rate = done as f64 / elapsed.as_secs_f64().max(0.001);
    let per_second = format!("{}/s", format_bytes(rate as u64));
    match total.checked_sub(done) {
        Some(left) if done > 0 => {
            let time = seconds(Duration::from_secs_f64((left as f64 / rate).min(1e6)));
            format!("{} of {}, {per_second}, {time} left", format_bytes(done), format_bytes(total))
        }
        _ => format!("{}, {per_second}", format_bytes(done)),
    }
}

/// `7 s`, `2 min 5 s`.
fn seconds(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_time_left_are_those_of_the_file() {
        let second = Duration::from_secs(1);
        assert_eq!(reading(1 << 20, 4 << 20, second), "1.0 MiB of 4.0 MiB, 1.0 MiB/s, 3 s left");
        assert_eq!(reading(1 << 20, 200 << 20, second), "1.0 MiB of 200.0 MiB, 1.0 MiB/s, 3 min 19 s left");
        // From a pipe nobody knows the end; before the first byte nobody knows anything.
        assert_eq!(reading(3 << 20, 0, 2 * second), "3.0 MiB, 1.5 MiB/s");
        assert_eq!(reading(0, 10, Duration::ZERO), "0 B, 0 B/s");
        assert_eq!(reading(1, u64::MAX, Duration::ZERO), "1 B of 16777216.0 TiB, 1000 B/s, 16666 min 40 s left");
    }
}
