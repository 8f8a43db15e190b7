//! Progress on standard error, for work over half a second, only on a terminal: what is being done, how fast the file
//! is read and how long that will still take, and later how long each step has been at work.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::terminal::output::print_sentence;
use crate::input::{Observer, Phase as Work};
use crate::report::{escape_controls, format_bytes, shorten_middle};

const DELAY: Duration = Duration::from_millis(500);
const BETWEEN_DRAWS: Duration = Duration::from_millis(100);
/// A bar of fewer characters shows nothing.
const MIN_BAR_WIDTH: usize = 8;
/// Characters of a file's name beside the bar.
const MAX_NAME_WIDTH: usize = 30;
/// The first phase, and the only one with a known end.
const READING: &str = "reading";

/// How far reading has come, for the drawer in another thread.
#[derive(Debug, Default)]
pub(crate) struct ReadProgress {
    /// Bytes taken from the file or pipe (packed, if it is packed).
    bytes_read: AtomicU64,
    /// Bytes there are; 0 when unknown.
    bytes_total: AtomicU64,
}

/// Shows the library's phases and prints its notes.
pub(crate) struct Watch {
    pub(crate) progress: Arc<Progress>,
    pub(crate) quiet: bool,
}

impl Observer for Watch {
    fn phase(&self, phase: Work) {
        self.progress.phase(phase.name());
    }

    fn bytes_read(&self, done: u64, total: Option<u64>) {
        self.progress.read.bytes_read.store(done, Ordering::Relaxed);
        self.progress.read.bytes_total.store(total.unwrap_or(0), Ordering::Relaxed);
    }

    fn note(&self, sentence: &str) {
        if !self.quiet {
            print_sentence(&format!("note: {sentence}"));
        }
    }
}

/// The one line of standard error that shows progress, however many dumps are open.
struct Line {
    /// Id of the `Progress` that owns the line; 0 if none does.
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
pub(crate) fn print_aside(print: impl FnOnce()) {
    match &Line::lock().bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// Clears the progress line before output is printed.
pub(crate) fn end() {
    Line::lock().give_to(0);
}

/// Shows how far the work is until it is dropped.
pub(crate) struct Progress {
    read: Arc<ReadProgress>,
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
    /// Begins to watch, if standard error is a terminal and not quiet. `file` is shown where there are several.
    pub(crate) fn start(quiet: bool, file: Option<&str>) -> Self {
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
                prefix: file.map_or(String::new(), prefix),
                read: Arc::clone(&progress.read),
                phase: Arc::clone(&progress.phase),
            };
            let ended = Arc::clone(&progress.ended);
            progress.drawer = Some(std::thread::spawn(move || drawer.run(&ended)));
        }
        progress
    }

    /// Sets what is shown as being done now.
    pub(crate) fn phase(&self, name: &'static str) {
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
            // A drawer that failed does not change the answer.
            let _ = drawer.join();
        }
    }
}

/// A file's name before what is done with it; which folder it is in matters less.
fn prefix(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    format!("{}: ", shorten_middle(&escape_controls(name), MAX_NAME_WIDTH))
}

/// Time until progress is shown: counted from the program's start, not for each of many small files.
fn delay_left() -> Duration {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    DELAY.saturating_sub(BEGUN.get_or_init(Instant::now).elapsed())
}

/// Draws the progress line from time to time.
struct Drawer {
    number: u64,
    prefix: String,
    read: Arc<ReadProgress>,
    phase: Arc<Mutex<Phase>>,
}

impl Drawer {
    fn run(&self, ended: &AtomicBool) {
        std::thread::park_timeout(delay_left());
        while !ended.load(Ordering::Relaxed) {
            self.draw();
            std::thread::park_timeout(BETWEEN_DRAWS);
        }
    }

    fn draw(&self) {
        let Phase { name, since } = *self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        let mut line = Line::lock();
        if line.owner != self.number {
            return;
        }
        let bar = line.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            // The template is a constant: a wrong one would show at once, as indicatif's own in its place.
            let style = ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.with_style(style)
        });
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        let (done, total) =
            (self.read.bytes_read.load(Ordering::Relaxed), self.read.bytes_total.load(Ordering::Relaxed));
        // One message and not indicatif's own fields: it draws after every field that is set.
        bar.set_message(text(&self.prefix, name, since.elapsed(), (done, total), width));
    }
}

/// The whole line: `reading [=====>     ] 1.2 GiB of 3.0 GiB, 310.5 MiB/s, 6 s left`, `computing dominators, 12 s`.
fn text(prefix: &str, name: &str, elapsed: Duration, (done, total): (u64, u64), width: usize) -> String {
    if name != READING {
        return match elapsed.as_secs() {
            0 => format!("{prefix}{name}"),
            _ => format!("{prefix}{name}, {}", seconds(elapsed)),
        };
    }
    if total > 0 && done >= total {
        // The last step of reading, after the last byte.
        return format!("{prefix}resolving references");
    }
    // By the average since the start, which jumps about less than any other.
    let rate = done as f64 / elapsed.as_secs_f64().max(0.001);
    let per_second = format!("{}/s", format_bytes(rate as u64));
    if total == 0 || done == 0 {
        return format!("{prefix}{name}, {}, {per_second}", format_bytes(done));
    }
    let left = ((total - done) as f64 / rate).min(1e6).ceil();
    let left = seconds(Duration::from_secs_f64(left));
    let figures = format!("{} of {}, {per_second}, {left} left", format_bytes(done), format_bytes(total));
    // The bar takes what the words leave, if that is enough to show anything.
    let room = width.saturating_sub(prefix.chars().count() + name.len() + figures.len() + 5);
    if room < MIN_BAR_WIDTH {
        return format!("{prefix}{name}, {figures}");
    }
    let full = (room as u128 * u128::from(done) / u128::from(total)) as usize;
    format!("{prefix}{name} [{:=<full$}{:room$}] {figures}", "", ">", room = room - full)
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
        let line = text("", READING, second, (1 << 20, 4 << 20), 80);
        assert_eq!(line, "reading [=======>                     ] 1.0 MiB of 4.0 MiB, 1.0 MiB/s, 3 s left");
        assert_eq!(line.len(), 79);
        let line = text("a: ", READING, second, (1 << 20, 200 << 20), 50);
        assert_eq!(line, "a: reading, 1.0 MiB of 200.0 MiB, 1.0 MiB/s, 3 min 19 s left");
        assert_eq!(text("", READING, second, (4 << 20, 4 << 20), 80), "resolving references");
        // The end of a pipe is not known; before the first byte nothing is.
        assert_eq!(text("", READING, 2 * second, (3 << 20, 0), 80), "reading, 3.0 MiB, 1.5 MiB/s");
        assert_eq!(text("", READING, Duration::ZERO, (0, 10), 80), "reading, 0 B, 0 B/s");
        assert!(text("", READING, Duration::ZERO, (u64::MAX - 1, u64::MAX), 80).ends_with("1 s left"));
        assert_eq!(text("b: ", "computing dominators", Duration::ZERO, (9, 9), 80), "b: computing dominators");
        assert_eq!(text("", "computing dominators", 125 * second, (9, 9), 80), "computing dominators, 2 min 5 s");
    }
}
