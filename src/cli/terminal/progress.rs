//! Progress on standard error, for work over half a second, only on a terminal: what is being done, how fast the file
//! is read and how long that will still take, and later how long each step has been at work.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::input::{Observer, Phase};
use crate::report::{escape_controls, format_bytes, shorten_middle};

const DELAY: Duration = Duration::from_millis(500);
const BETWEEN_DRAWS: Duration = Duration::from_millis(100);
/// A bar of fewer characters shows nothing.
const MIN_BAR_WIDTH: usize = 8;
/// Characters of a file's name beside the bar.
const MAX_NAME_WIDTH: usize = 30;
/// The first phase, and the only one with a known end.
const READING: &str = "reading";

/// The one line of standard error that shows progress, however many dumps are open.
pub(crate) struct Progress {
    line: Mutex<Line>,
    /// Bytes taken from the file or pipe (packed, if it is packed), and bytes there are; 0 when unknown.
    bytes: [AtomicU64; 2],
    /// Progress is shown some time after this, not some time after the start of each of many small files.
    begun: Instant,
    has_drawer: Once,
}

#[derive(Default)]
struct Line {
    work: Option<Work>,
    bar: Option<ProgressBar>,
}

/// What is being done.
struct Work {
    /// The file, where there are several.
    prefix: String,
    phase: &'static str,
    since: Instant,
}

impl Default for Progress {
    fn default() -> Self {
        Progress { line: Mutex::default(), bytes: Default::default(), begun: Instant::now(), has_drawer: Once::new() }
    }
}

impl Progress {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints something to standard error where the progress may stand, which comes back below.
    fn print_aside(&self, print: impl FnOnce()) {
        match &self.line().bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Prints a sentence beside the answer, on standard error: why the exit code is 1, what is wrong with a dump.
    pub(crate) fn print_sentence(&self, text: &str) {
        // A closed standard error must not change the answer.
        self.print_aside(|| drop(writeln!(std::io::stderr(), "heapdump: {}", escape_controls(text))));
    }

    /// Clears the progress line before output is printed.
    pub(crate) fn end(&self) {
        let mut line = self.line();
        line.work = None;
        if let Some(bar) = line.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Draws the line from time to time as long as somebody holds the progress.
    fn start_drawer(self: &Arc<Self>) {
        let progress = Arc::downgrade(self);
        self.has_drawer.call_once(|| {
            std::thread::spawn(move || {
                while let Some(progress) = progress.upgrade() {
                    progress.draw();
                    drop(progress);
                    std::thread::sleep(BETWEEN_DRAWS);
                }
            });
        });
    }

    fn draw(&self) {
        let mut line = self.line();
        let Line { work: Some(Work { prefix, phase, since }), bar } = &mut *line else { return };
        if self.begun.elapsed() < DELAY {
            return;
        }
        let bar = bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            // The template is a constant: a wrong one would show at once, as indicatif's own in its place.
            let style = ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.with_style(style)
        });
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        let [done, total] = self.bytes.each_ref().map(|bytes| bytes.load(Ordering::Relaxed));
        // One message and not indicatif's own fields: it draws after every field that is set.
        bar.set_message(text(prefix, phase, since.elapsed(), (done, total), width));
    }
}

/// Shows the phases of one dump while it is open, and prints its notes.
pub(crate) struct Watch {
    progress: Arc<Progress>,
    prefix: String,
    quiet: bool,
    is_shown: bool,
}

impl Watch {
    /// Begins to watch, if standard error is a terminal and not quiet. `file` is shown where there are several.
    pub(crate) fn start(progress: &Arc<Progress>, quiet: bool, file: Option<&str>) -> Self {
        let is_shown = !quiet && std::io::stderr().is_terminal();
        let prefix = file.map_or(String::new(), prefix);
        let watch = Watch { progress: Arc::clone(progress), prefix, quiet, is_shown };
        watch.bytes_read(0, None);
        watch.phase(Phase::Reading);
        watch
    }
}

impl Observer for Watch {
    fn phase(&self, phase: Phase) {
        if !self.is_shown {
            return;
        }
        self.progress.line().work =
            Some(Work { prefix: self.prefix.clone(), phase: phase.name(), since: Instant::now() });
        self.progress.start_drawer();
    }

    fn bytes_read(&self, done: u64, total: Option<u64>) {
        self.progress.bytes[0].store(done, Ordering::Relaxed);
        self.progress.bytes[1].store(total.unwrap_or(0), Ordering::Relaxed);
    }

    fn note(&self, sentence: &str) {
        if !self.quiet {
            self.progress.print_sentence(&format!("note: {sentence}"));
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.progress.end();
    }
}

/// A file's name before what is done with it; which folder it is in matters less.
fn prefix(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    format!("{}: ", shorten_middle(&escape_controls(name), MAX_NAME_WIDTH))
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
