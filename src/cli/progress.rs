//! Progress on standard error, for work over half a second, only on a terminal: what is being done, how fast the file
//! is read and how long that will still take, and later how long each step has been at work.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::input::ReadProgress;
use crate::report::{escape_controls, format_bytes};

const PATIENCE: Duration = Duration::from_millis(500);
const BETWEEN_DRAWS: Duration = Duration::from_millis(100);
/// The first phase, and the only one with a known end.
const READING: &str = "reading";

/// The one line of standard error that shows progress, however many dumps are open.
struct Line {
    /// Whose progress it is: the number of one that began or went on last; 0 for nobody's.
    owner: u64,
    bar: Option<ProgressBar>,
}

static LINE: Mutex<Line> = Mutex::new(Line { owner: 0, bar: None });

impl Line {
    fn lock() -> MutexGuard<'static, Line> {
        LINE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_to(&mut self, owner: u64) {
        if self.owner != owner {
            self.owner = owner;
            self.clear();
        }
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Prints something to standard error where the progress may stand, which comes back below.
pub(super) fn print_aside(print: impl FnOnce()) {
    match &Line::lock().bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// Takes the progress away, for the answer is there.
pub(super) fn end() {
    Line::lock().give_to(0);
}

/// Shows how far the work is until it is dropped.
pub(super) struct Progress {
    pub(super) read: Arc<ReadProgress>,
    number: u64,
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
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let mut progress = Progress {
            read: Arc::default(),
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            phase: Arc::new(Mutex::new(Phase::new(READING))),
            ended: Arc::default(),
            drawer: None,
        };
        if !quiet && std::io::stderr().is_terminal() {
            Line::lock().give_to(progress.number);
            let drawer = Drawer {
                number: progress.number,
                prefix: file.map_or(String::new(), |file| format!("{}: ", escape_controls(file))),
                read: Arc::clone(&progress.read),
                phase: Arc::clone(&progress.phase),
            };
            let ended = Arc::clone(&progress.ended);
            progress.drawer = Some(std::thread::spawn(move || drawer.run(&ended)));
        }
        progress
    }

    /// Says what is being done now.
    pub(super) fn phase(&self, name: &'static str) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = Phase::new(name);
        Line::lock().give_to(self.number);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let mut line = Line::lock();
        if line.owner == self.number {
            line.give_to(0);
        }
        drop(line);
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

/// Draws from time to time what one progress is at.
struct Drawer {
    number: u64,
    prefix: String,
    read: Arc<ReadProgress>,
    phase: Arc<Mutex<Phase>>,
}

impl Drawer {
    fn run(&self, ended: &AtomicBool) {
        std::thread::park_timeout(patience_left());
        // Constants: a wrong template would show at once, as indicatif's own in its place.
        let style = |template| ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let with_end = style("{prefix} [{wide_bar}] {msg}").progress_chars("=> ");
        let without_end = style("{prefix}, {msg}");
        while !ended.load(Ordering::Relaxed) {
            self.draw(&with_end, &without_end);
            std::thread::park_timeout(BETWEEN_DRAWS);
        }
    }

    fn draw(&self, with_end: &ProgressStyle, without_end: &ProgressStyle) {
        let Phase { name, since } = *self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        let (done, total) =
            (self.read.bytes_read.load(Ordering::Relaxed), self.read.bytes_total.load(Ordering::Relaxed));
        let is_reading = name == READING && (total == 0 || done < total);
        // What is left to do of the reading when the last byte is in.
        let name = if name == READING && !is_reading { "resolving references" } else { name };
        let mut line = Line::lock();
        if line.owner != self.number {
            return;
        }
        let bar = line.bar.get_or_insert_with(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()));
        bar.set_style(if is_reading && total > 0 { with_end.clone() } else { without_end.clone() });
        bar.set_prefix(format!("{}{name}", self.prefix));
        bar.set_length(total);
        bar.set_position(done);
        bar.set_message(if is_reading { reading(done, total, since.elapsed()) } else { seconds(since.elapsed()) });
        bar.tick();
    }
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
