//! The terminal: what is entered and left, keys and mouse, the clipboard, and the loop that all of it runs in.
//!
//! Only this folder knows the terminal and signals.

#[cfg(unix)]
mod input_bytes;
mod key_thread;
mod loop_event;
mod screen;
#[cfg(unix)]
mod sigbus;
#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "unix.rs")]
mod system;
mod terminal_guard;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use base64::Engine;

use super::draw::draw_screen;
use super::input_events::KeyPress;
use super::load_progress::LoadProgress;
use super::screen_cells::{Rect, ScreenBuffer};
use super::setup::{BrowsedDumps, BrowserEnd, BrowserSetup, WriteIndex};
use super::state::{BrowserMessage, BrowserState};
use super::tasks::{BrowserWorker, Task, WorkerQueues};

use crate::dump::OpenDump;
use loop_event::LoopEvent;
use screen::Screen;
use terminal_guard::{ScreenWriter, TerminalGuard};

/// Time between two looks at the terminal and at the progress of reading.
const TICK_INTERVAL: Duration = Duration::from_millis(100);
/// A variable that makes the key `!` panic: for tests of what is left behind then.
const PANIC_KEY_VARIABLE: &str = "HEAPDUMP_EXPLORE_PANIC";

/// Shows the dumps until the user has seen enough. The terminal is as it was when this returns, panics, or is ended by
/// a signal. Error: when the terminal cannot be used, or a dump cannot be read.
pub(super) fn run_browser(setup: BrowserSetup<'_>) -> Result<BrowserEnd, String> {
    let BrowserSetup {
        context,
        screen_look: look,
        start_tab_and_object: start,
        takes_mouse: mouse,
        load_dumps: load,
        write_index,
        on_opened: opened,
    } = setup;
    let (events, queue) = channel();
    let guard = TerminalGuard::enter(mouse).map_err(|error| format!("cannot use the terminal: {error}"))?;
    let resized = Arc::new(AtomicBool::new(false));
    let _keys = key_thread::start_key_thread(&guard, events.clone(), &resized);
    let load_progress = LoadProgress::default();
    let (watched, loaded) = (load_progress.clone(), events.clone());
    // Without the thread the loop would wait for ever.
    std::thread::Builder::new()
        .name("loader".into())
        .spawn(move || {
            let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| load(&watched)));
            let read = read.unwrap_or_else(|_| Err("reading failed; it is a defect of heapdump".into()));
            // Nobody waits for it when the browser has ended.
            _ = loaded.send(LoopEvent::Loaded(Box::new(read)));
        })
        .map_err(|error| error.to_string())?;
    let state = BrowserState::new(context, look, start, terminal_size());
    let mut show = BrowserLoop {
        screen: Screen::default(),
        was_resized: resized,
        state,
        guard,
        workers: None,
        load_progress,
        events,
        write_index,
    };
    let ended = show.run_until_end(&queue, opened);
    // Reading stops by itself; the program does not wait for it.
    show.load_progress.cancel_reading();
    // Nor for an index or rows that are being written.
    crate::files::remove_unfinished();
    if matches!(ended, Ok(BrowserEnd::TerminalGone)) {
        show.guard.note_terminal_gone();
    }
    ended
}

/// Columns and lines of the terminal; those of the oldest ones where it does not say.
fn terminal_size() -> (u16, u16) {
    terminal_size::terminal_size().map_or((80, 24), |(width, height)| (width.0, height.0))
}

struct BrowserLoop {
    screen: Screen,
    /// Set when the size of the terminal changes, even where it is the same again when it is looked at.
    was_resized: Arc<AtomicBool>,
    state: BrowserState,
    guard: TerminalGuard,
    workers: Option<WorkerQueues>,
    load_progress: LoadProgress,
    events: Sender<LoopEvent>,
    write_index: Option<WriteIndex>,
}

impl BrowserLoop {
    fn run_until_end(
        &mut self,
        queue: &Receiver<LoopEvent>,
        opened: &dyn Fn(BrowsedDumps),
    ) -> Result<BrowserEnd, String> {
        let has_panic_key = std::env::var_os(PANIC_KEY_VARIABLE).is_some();
        let mut is_changed = true;
        loop {
            if is_changed && !self.draw() {
                return Ok(BrowserEnd::TerminalGone);
            }
            if self.is_index_damaged() {
                return Ok(BrowserEnd::IndexDamaged);
            }
            is_changed = true;
            let first = match queue.recv_timeout(TICK_INTERVAL) {
                Ok(event) => event,
                Err(RecvTimeoutError::Disconnected) => return Ok(BrowserEnd::TerminalGone),
                Err(RecvTimeoutError::Timeout) => {
                    if self.guard.is_gone() {
                        return Ok(BrowserEnd::TerminalGone);
                    }
                    is_changed = self.poll_changes();
                    continue;
                }
            };
            // All that has come is followed before anything is drawn.
            for event in std::iter::once(first).chain(queue.try_iter()) {
                let msg = match event {
                    LoopEvent::TerminalGone => return Ok(BrowserEnd::TerminalGone),
                    LoopEvent::Loaded(loaded) => {
                        let dumps = (*loaded)?.leak_until_exit();
                        opened(dumps);
                        self.start_workers(dumps)
                    }
                    LoopEvent::Message(BrowserMessage::Key(KeyPress::Char('!'))) if has_panic_key => {
                        panic!("asked for by {PANIC_KEY_VARIABLE}")
                    }
                    LoopEvent::Message(msg) => msg,
                };
                if self.update(msg) {
                    return Ok(BrowserEnd::Quit);
                }
            }
        }
    }

    /// Returns false if the terminal is gone.
    fn draw(&mut self) -> bool {
        let (screen, state) = (&mut self.screen, &mut self.state);
        self.guard.with_drawing_lock(|| {
            state.screen_size = terminal_size();
            let (width, height) = state.screen_size;
            let mut buffer = ScreenBuffer::new(state.screen_size);
            draw_screen(state, Rect { x: 0, y: 0, width, height }, &mut buffer);
            screen.send_changed_lines(state.screen_size, &buffer, &mut ScreenWriter).is_ok()
        })
    }

    /// Returns true if an index turned out damaged: checked before what was read stays on the screen.
    fn is_index_damaged(&self) -> bool {
        let dumps = self.state.dumps.into_iter().flat_map(BrowsedDumps::all);
        dumps.filter_map(OpenDump::index_check).any(|check| check.damage().is_some())
    }

    /// Follows what has changed by itself: the size, the progress of reading. Returns true if anything has.
    fn poll_changes(&mut self) -> bool {
        let size = terminal_size();
        if size != self.state.screen_size || self.was_resized.swap(false, Ordering::Relaxed) {
            self.forget_drawn_screen();
            self.update(BrowserMessage::Resize(size.0, size.1));
            return true;
        }
        if self.state.dumps.is_some() && !self.state.is_dominator_tree_pending {
            return false;
        }
        self.update(BrowserMessage::ReadProgressed(self.load_progress.current_progress()));
        true
    }

    /// Everything is drawn the next time: what is on the screen is not known. The terminal is asked nothing.
    fn forget_drawn_screen(&mut self) {
        self.screen = Screen::default();
    }

    fn start_workers(&mut self, dumps: BrowsedDumps) -> BrowserMessage {
        if dumps.new.is_indexed() || dumps.old.is_some_and(OpenDump::is_indexed) {
            system::restore_terminal_on_cut_index();
        }
        let events = self.events.clone();
        // Nobody waits for answers when the browser has ended.
        let answer = move |answer| _ = events.send(LoopEvent::Message(BrowserMessage::Answer(answer)));
        self.workers = Some(WorkerQueues::start(&BrowserWorker::new(dumps, self.write_index.take(), answer)));
        self.state.warnings.extend(self.load_progress.notes());
        BrowserMessage::Opened(dumps)
    }

    /// Follows what happened, and does what is to be done for it. Returns true if the browser is to end.
    fn update(&mut self, msg: BrowserMessage) -> bool {
        for ask in self.state.update(msg) {
            match ask {
                Task::Quit => return true,
                Task::Suspend => {
                    self.guard.suspend();
                    // What is on the screen was drawn by others.
                    self.forget_drawn_screen();
                }
                Task::Redraw => self.forget_drawn_screen(),
                Task::CopyText(text) => copy_to_clipboard(&text),
                ask => self.workers.iter().for_each(|workers| workers.send_to_worker(&ask)),
            }
        }
        false
    }
}

/// Gives a text to the terminal's clipboard (OSC 52). A terminal without one takes no notice.
fn copy_to_clipboard(text: &str) {
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    // Should the terminal be gone, the loop sees it.
    _ = ScreenWriter.write_all(format!("\x1b]52;c;{encoded}\x07").as_bytes());
}
