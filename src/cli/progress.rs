//! Progress on standard error, for work over half a second, only on a terminal.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::input::ReadProgress;

const PATIENCE: Duration = Duration::from_millis(500);
const BETWEEN_DRAWS: Duration = Duration::from_millis(100);

/// Shows how far the work is until it is dropped.
pub(super) struct Progress {
    pub(super) read: Arc<ReadProgress>,
    phase: Arc<Mutex<&'static str>>,
    ended: Arc<AtomicBool>,
    drawer: Option<JoinHandle<()>>,
}

impl Progress {
    /// Begins to watch, unless nobody would see it.
    pub(super) fn start(quiet: bool) -> Self {
        let mut progress = Progress {
            read: Arc::default(),
            phase: Arc::new(Mutex::new("reading")),
            ended: Arc::default(),
            drawer: None,
        };
        if !quiet && std::io::stderr().is_terminal() {
            let (read, phase, ended) =
                (Arc::clone(&progress.read), Arc::clone(&progress.phase), Arc::clone(&progress.ended));
            progress.drawer = Some(std::thread::spawn(move || draw(&read, &phase, &ended)));
        }
        progress
    }

    /// Says what is being done now.
    pub(super) fn phase(&self, name: &'static str) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = name;
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

fn draw(read: &ReadProgress, phase: &Mutex<&'static str>, ended: &AtomicBool) {
    std::thread::park_timeout(PATIENCE);
    if ended.load(Ordering::Relaxed) {
        return;
    }
    let total = read.bytes_total.load(Ordering::Relaxed);
    let bar = ProgressBar::with_draw_target((total > 0).then_some(total), ProgressDrawTarget::stderr());
    let template = if total > 0 {
        "{msg} [{wide_bar}] {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}"
    } else {
        "{msg} {binary_bytes} {binary_bytes_per_sec} {elapsed}"
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    while !ended.load(Ordering::Relaxed) {
        bar.set_message(*phase.lock().unwrap_or_else(PoisonError::into_inner));
        bar.set_position(read.bytes_read.load(Ordering::Relaxed));
        std::thread::park_timeout(BETWEEN_DRAWS);
    }
    bar.finish_and_clear();
}
