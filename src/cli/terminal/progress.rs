//! Progress on standard error, for work over half a second, only on a terminal.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Error;

use crate::filter::FilterError;
use crate::input::{Observer, Phase};
use crate::names::shorten_middle;
use crate::report::{escape_controls, progress_line, progress_prefix, wrap_sentence};

/// Shorter work shows no progress.
const FIRST_DRAW_DELAY: Duration = Duration::from_millis(500);
const DRAW_INTERVAL: Duration = Duration::from_millis(100);

/// The one line of standard error that shows progress, however many dumps are open.
pub(crate) struct ProgressDisplay {
    line: Mutex<ProgressLine>,
    /// Bytes taken from the file or pipe (packed, if it is packed), and bytes there are; 0 when unknown. Of later phases
    /// steps.
    done_and_total: [AtomicU64; 2],
    /// Progress is shown some time after this, not some time after the start of each of many small files.
    started_at: Instant,
    /// The thread that draws is started once.
    drawer_start: Once,
    /// Who is told in place of standard error.
    listener: Option<Arc<dyn Observer>>,
}

#[derive(Default)]
struct ProgressLine {
    work: Option<WorkInProgress>,
    /// Number and count of the files, where there are several.
    file_number_and_count: (usize, usize),
    is_drawn: bool,
}

impl ProgressLine {
    /// Draws a text in its place, at once; an empty one clears it.
    fn show(&mut self, text: &str) {
        // In the last column some terminals begin the next line.
        let room = terminal_width().saturating_sub(1);
        if self.is_drawn || !text.is_empty() {
            // Nobody looks at a standard error that is closed.
            _ = write!(std::io::stderr(), "\r{:room$}\r{}", "", shorten_middle(text, room));
        }
        self.is_drawn = !text.is_empty();
    }
}

/// A phase of a dump that is being worked on.
struct WorkInProgress {
    /// The file, where there are several.
    file_prefix: String,
    phase: Phase,
    started_at: Instant,
}

impl Default for ProgressDisplay {
    fn default() -> Self {
        ProgressDisplay {
            line: Mutex::default(),
            done_and_total: Default::default(),
            started_at: Instant::now(),
            drawer_start: Once::new(),
            listener: None,
        }
    }
}

impl ProgressDisplay {
    /// Tells somebody, and draws nothing.
    pub(crate) fn for_listener(listener: Arc<dyn Observer>) -> Arc<Self> {
        Arc::new(ProgressDisplay { listener: Some(listener), ..ProgressDisplay::default() })
    }

    fn lock_line(&self) -> MutexGuard<'_, ProgressLine> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints a sentence beside the answer, on standard error, above the progress: why the exit code is 1, what is wrong
    /// with a dump.
    pub(crate) fn print_sentence(&self, text: &str) {
        self.print_escaped(&escape_controls(text));
    }

    /// Prints why something failed, behind the name of what it is about. Of an expression the place is marked in a line
    /// of its own.
    pub(crate) fn print_error(&self, error: &Error, name: &str) {
        let text = format!("{error:#}");
        let has_lines = error.chain().any(|cause| cause.is::<FilterError>());
        let text = if name.is_empty() || text.starts_with(name) { text } else { format!("{name}: {text}") };
        let lines = text.split(|c| c == '\n' && has_lines).map(escape_controls);
        self.print_escaped(&lines.collect::<Vec<_>>().join("\n"));
    }

    fn print_escaped(&self, text: &str) {
        if let Some(listener) = &self.listener {
            return listener.note_for_user(text);
        }
        let text = format!("heapdump: {text}");
        let has_lines = text.contains('\n') || !std::io::stderr().is_terminal();
        let text = if has_lines { text } else { wrap_sentence(&text, terminal_width()) };
        // A closed standard error must not change the answer.
        let mut line = self.lock_line();
        line.show("");
        _ = writeln!(std::io::stderr(), "{text}");
    }

    /// The files are counted, where there are several.
    pub(crate) fn set_file_number(&self, number: usize, count: usize) {
        self.lock_line().file_number_and_count = (number, count);
    }

    /// Clears the progress line before output is printed.
    pub(crate) fn clear(&self) {
        let mut line = self.lock_line();
        line.work = None;
        line.show("");
    }

    /// Draws the line from time to time as long as somebody holds the progress.
    fn start_drawer(self: &Arc<Self>) {
        let progress = Arc::downgrade(self);
        self.drawer_start.call_once(|| {
            std::thread::spawn(move || {
                while let Some(progress) = progress.upgrade() {
                    progress.draw();
                    drop(progress);
                    std::thread::sleep(DRAW_INTERVAL);
                }
            });
        });
    }

    fn draw(&self) {
        let mut line = self.lock_line();
        let ProgressLine { work: Some(WorkInProgress { file_prefix: prefix, phase, started_at: since }), .. } = &*line
        else {
            return;
        };
        if self.started_at.elapsed() < FIRST_DRAW_DELAY {
            return;
        }
        let [done, total] = self.done_and_total.each_ref().map(|bytes| bytes.load(Ordering::Relaxed));
        // The first phase is the only one with a known end, and goes on after the last byte.
        let (step, bytes) = match phase {
            Phase::Reading if total > 0 && done >= total => ("resolving references".into(), None),
            Phase::Reading => (phase.name().to_string(), Some((done, total))),
            phase if total > 0 => (format!("{}: {done} of {total}", phase.name()), None),
            phase => (phase.name().to_string(), None),
        };
        let text = progress_line(prefix, &step, since.elapsed(), bytes, terminal_width().saturating_sub(1));
        line.show(&text);
    }
}

/// Shows the phases of one dump while it is open, and prints its notes.
pub(crate) struct ProgressWatch {
    progress: Arc<ProgressDisplay>,
    file_prefix: String,
    is_quiet: bool,
    is_shown: bool,
}

impl ProgressWatch {
    /// The observer of a dump: this, or who is told in place of standard error.
    pub(crate) fn observer(progress: &Arc<ProgressDisplay>, quiet: bool, file: Option<&str>) -> Arc<dyn Observer> {
        progress.listener.clone().unwrap_or_else(|| Arc::new(ProgressWatch::start(progress, quiet, file)))
    }

    /// Begins to watch, if standard error is a terminal and not quiet. `file` is shown where there are several.
    fn start(progress: &Arc<ProgressDisplay>, quiet: bool, file: Option<&str>) -> Self {
        let is_shown = !quiet && std::io::stderr().is_terminal();
        let count = match progress.lock_line().file_number_and_count {
            (number, count) if count > 1 => format!("{number}/{count} "),
            _ => String::new(),
        };
        let prefix = file.map_or(String::new(), |file| count + &progress_prefix(file));
        let watch = ProgressWatch { progress: Arc::clone(progress), file_prefix: prefix, is_quiet: quiet, is_shown };
        watch.phase_begun(Phase::Reading);
        watch
    }
}

impl Observer for ProgressWatch {
    fn phase_begun(&self, phase: Phase) {
        if !self.is_shown {
            return;
        }
        // What was read is no step of what comes now.
        self.bytes_read(0, None);
        self.progress.lock_line().work =
            Some(WorkInProgress { file_prefix: self.file_prefix.clone(), phase, started_at: Instant::now() });
        self.progress.start_drawer();
    }

    fn bytes_read(&self, done: u64, total: Option<u64>) {
        self.progress.done_and_total[0].store(done, Ordering::Relaxed);
        self.progress.done_and_total[1].store(total.unwrap_or(0), Ordering::Relaxed);
    }

    fn steps_done(&self, done: u64, total: u64) {
        self.bytes_read(done, Some(total));
    }

    fn note_for_user(&self, sentence: &str) {
        if !self.is_quiet {
            self.progress.print_sentence(&format!("note: {sentence}"));
        }
    }
}

impl Drop for ProgressWatch {
    fn drop(&mut self) {
        self.progress.clear();
    }
}

/// Columns of the terminal, else COLUMNS, else 80.
pub(crate) fn terminal_width() -> usize {
    let said = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|&columns| columns > 0);
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)).or_else(said).unwrap_or(80)
}
