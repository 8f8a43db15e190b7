//! The terminal as it was, and putting it right again: once, whoever comes first: the end, a panic, a signal.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::time::Duration;

use super::system::{self, Terminal};
use crate::files::ExitAction;

/// Alternate screen, no cursor.
const ENTER_SEQUENCE: &[u8] = b"\x1b[?1049h\x1b[?25l";
const LEAVE_SEQUENCE: &[u8] = b"\x1b[?1006l\x1b[?1000l\x1b[0m\x1b[?25h\x1b[?1049l";
/// The source of keys, and its state before.
static TERMINAL: OnceLock<Terminal> = OnceLock::new();
/// The browser is on the screen.
static IS_ON_SCREEN: AtomicBool = AtomicBool::new(false);
/// Held by whoever draws.
static DRAWING_LOCK: Mutex<()> = Mutex::new(());

/// Puts the terminal right, if it is not. Takes no lock and no memory where signal handlers do so too.
pub(super) fn leave_screen() {
    if IS_ON_SCREEN.swap(false, Ordering::SeqCst) {
        system::write_all(LEAVE_SEQUENCE);
        if let Some(terminal) = TERMINAL.get() {
            terminal.restore();
        }
    }
}

/// Returns true if the browser is on the screen.
pub(super) fn is_on_screen() -> bool {
    IS_ON_SCREEN.load(Ordering::SeqCst)
}

/// The output of drawing, as long as the browser is on the screen.
pub(super) struct ScreenWriter;

impl io::Write for ScreenWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if is_on_screen() { system::write(bytes) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn enter_screen(mouse: bool) -> io::Result<()> {
    let Some(terminal) = TERMINAL.get() else { return Err(io::ErrorKind::NotConnected.into()) };
    IS_ON_SCREEN.store(true, Ordering::SeqCst);
    terminal.make_raw()?;
    system::write_all(ENTER_SEQUENCE);
    if mouse { terminal.take_mouse() } else { Ok(()) }
}

/// The browser's time on the terminal.
pub(super) struct TerminalGuard {
    takes_mouse: bool,
    /// Leaves when it is dropped, and when a signal ends the program.
    at_end: ExitAction,
}

impl TerminalGuard {
    /// Enters. From now on a panic of this thread leaves the screen before it is reported, and one of another is not
    /// reported: whoever waits for that thread says so.
    pub(super) fn enter(mouse: bool) -> io::Result<Self> {
        if TERMINAL.get().is_none() {
            _ = TERMINAL.set(Terminal::find()?);
        }
        let at_end = ExitAction::new(|| {
            // A signal does not wait for somebody who writes to a terminal that takes nothing.
            let drawing = wait_for_drawing();
            leave_screen();
            // What is drawn from now on goes nowhere.
            drop(drawing);
        })?;
        restore_terminal_on_panic();
        at_end.run_unless_ending(|| enter_screen(mouse))?;
        Ok(TerminalGuard { takes_mouse: mouse, at_end })
    }

    /// The source of keys.
    pub(super) fn key_terminal(&self) -> Option<&'static Terminal> {
        TERMINAL.get()
    }

    /// Returns true if there is no terminal any more.
    pub(super) fn is_gone(&self) -> bool {
        TERMINAL.get().is_none_or(Terminal::is_gone)
    }

    /// There is nothing to be put right any more, and nobody to write to.
    pub(super) fn note_terminal_gone(&self) {
        IS_ON_SCREEN.store(false, Ordering::SeqCst);
    }

    /// Draws, unless a signal is just putting the terminal right.
    pub(super) fn with_drawing_lock<T>(&self, draw: impl FnOnce() -> T) -> T {
        let _held = DRAWING_LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        draw()
    }

    /// Gives the terminal back until the process is continued.
    pub(super) fn suspend(&self) {
        leave_screen();
        system::suspend();
        // Should that fail, the next look finds the terminal gone.
        _ = self.at_end.run_unless_ending(|| enter_screen(self.takes_mouse));
    }
}

fn wait_for_drawing() -> Option<MutexGuard<'static, ()>> {
    for _ in 0..20 {
        match DRAWING_LOCK.try_lock() {
            Ok(held) => return Some(held),
            Err(TryLockError::Poisoned(held)) => return Some(held.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    None
}

fn restore_terminal_on_panic() {
    static PANIC_HOOK_SET: OnceLock<()> = OnceLock::new();
    let own = std::thread::current().id();
    PANIC_HOOK_SET.get_or_init(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().id() == own {
                leave_screen();
                before(panic);
            } else if !is_on_screen() {
                before(panic);
            }
        }));
    });
}
