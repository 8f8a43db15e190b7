//! What the terminal was, and putting it right again: once, whoever comes first: the end, a panic, a signal.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, QueueSelector, Termios, isatty, tcflush, tcgetattr, tcsetattr};

use crate::files::AtEnd;

/// Alternate screen, no cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l";
/// Clicks and the wheel, in numbers of any size.
const MOUSE: &[u8] = b"\x1b[?1000h\x1b[?1006h";
const LEAVE: &[u8] = b"\x1b[?1006l\x1b[?1000l\x1b[0m\x1b[?25h\x1b[?1049l";
/// The same without the way back to the screen of before.
const AGAIN: &[u8] = b"\x1b[?1006l\x1b[?1000l\x1b[0m\x1b[?25h";

/// Where keys come from, and how it was before.
static BEFORE: OnceLock<(OwnedFd, Termios)> = OnceLock::new();
/// The browser is on the screen.
static IS_IN: AtomicBool = AtomicBool::new(false);
/// Held by whoever draws.
static DRAWING: Mutex<()> = Mutex::new(());

/// Standard input, else the terminal of the process: for a dump that comes through standard input.
fn find_terminal() -> io::Result<(OwnedFd, Termios)> {
    let terminal = match isatty(rustix::stdio::stdin()) {
        true => rustix::io::dup(rustix::stdio::stdin())?,
        false => std::fs::File::options().read(true).write(true).open("/dev/tty")?.into(),
    };
    let before = tcgetattr(&terminal)?;
    Ok((terminal, before))
}

/// How long a terminal that takes nothing is waited for, in milliseconds: nobody looks at it.
const PATIENCE_MS: i64 = 300;

/// Writes all of it, without a lock: signal handlers do so too. Gives up when the terminal takes nothing for a while.
fn write(bytes: &[u8]) {
    let out = rustix::stdio::stdout();
    let mut left = bytes;
    let before = fcntl_getfl(out);
    // Without this the write itself would wait, however long.
    let waits_here = before.is_ok_and(|before| fcntl_setfl(out, before | OFlags::NONBLOCK).is_ok());
    while !left.is_empty() {
        match rustix::io::write(out, left) {
            Ok(0) => break,
            Ok(written) => left = left.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if waits_here => {
                let mut polled = [PollFd::from_borrowed_fd(out, PollFlags::OUT)];
                let limit = Timespec { tv_sec: 0, tv_nsec: PATIENCE_MS * 1_000_000 };
                if !matches!(poll(&mut polled, Some(&limit)), Ok(1..) | Err(Errno::INTR)) {
                    break;
                }
            }
            Err(_) => break,
        }
    }
    if let Ok(before) = before {
        _ = fcntl_setfl(out, before);
    }
}

/// Puts the terminal right, if it is not. Takes no lock and no memory.
pub(super) fn leave() {
    if IS_IN.swap(false, Ordering::SeqCst) {
        write(LEAVE);
        if let Some((terminal, before)) = BEFORE.get() {
            // A terminal that is gone needs nothing. What was typed for the browser is nobody else's; what is still to be
            // shown is not waited for.
            _ = tcflush(terminal, QueueSelector::IFlush);
            _ = tcsetattr(terminal, OptionalActions::Now, before);
        }
    }
}

/// The same for a handler of a signal: another thread may just be drawing, and is not waited for. What it wrote meanwhile
/// is put right a moment later, when it has seen that nothing is drawn any more.
pub(super) fn leave_at_once() {
    if IS_IN.load(Ordering::SeqCst) {
        leave();
        _ = rustix::thread::nanosleep(&Timespec { tv_sec: 0, tv_nsec: 20_000_000 });
        write(AGAIN);
    }
}

/// What is drawn goes here, as long as the browser is on the screen.
pub(super) struct ToScreen;

impl io::Write for ToScreen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match IS_IN.load(Ordering::SeqCst) {
            true => Ok(rustix::io::write(rustix::stdio::stdout(), bytes)?),
            false => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn enter(mouse: bool) -> io::Result<()> {
    let Some((terminal, before)) = BEFORE.get() else { return Err(io::ErrorKind::NotConnected.into()) };
    let mut raw = before.clone();
    raw.make_raw();
    IS_IN.store(true, Ordering::SeqCst);
    // What was typed ahead is for the browser.
    tcsetattr(terminal, OptionalActions::Now, &raw)?;
    write(ENTER);
    if mouse {
        write(MOUSE);
    }
    Ok(())
}

/// The browser's time on the terminal.
pub(super) struct Guard {
    mouse: bool,
    /// Leaves when it is dropped, and when a signal ends the program.
    at_end: AtEnd,
}

impl Guard {
    /// Enters. From now on a panic of this thread leaves the screen before it is reported, and one of another is not
    /// reported: whoever waits for that thread says so.
    pub(super) fn enter(mouse: bool) -> io::Result<Self> {
        if BEFORE.get().is_none() {
            _ = BEFORE.set(find_terminal()?);
        }
        let at_end = AtEnd::new(|| {
            // A signal does not wait for somebody who writes to a terminal that takes nothing.
            let drawing = wait_for_drawing();
            leave();
            // What is drawn from now on goes nowhere.
            drop(drawing);
        })?;
        hook_panics();
        at_end.before(|| enter(mouse))?;
        Ok(Guard { mouse, at_end })
    }

    /// Where keys come from.
    pub(super) fn terminal(&self) -> Option<&'static OwnedFd> {
        BEFORE.get().map(|(terminal, _)| terminal)
    }

    /// Returns true if there is no terminal any more.
    pub(super) fn is_gone(&self) -> bool {
        let Some((terminal, _)) = BEFORE.get() else { return true };
        let mut polled = [PollFd::new(terminal, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut polled, Some(&now)) {
            Ok(_) => polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL),
            Err(error) => error != Errno::INTR,
        }
    }

    /// There is nothing to be put right any more, and nobody to write to.
    pub(super) fn give_up(&self) {
        IS_IN.store(false, Ordering::SeqCst);
    }

    /// Draws, unless a signal is just putting the terminal right.
    pub(super) fn drawing<T>(&self, draw: impl FnOnce() -> T) -> T {
        let _held = DRAWING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        draw()
    }

    /// Gives the terminal back until the process is continued.
    pub(super) fn suspend(&self) {
        leave();
        _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP);
        // Should that fail, the next look finds the terminal gone.
        _ = self.at_end.before(|| enter(self.mouse));
    }
}

fn wait_for_drawing() -> Option<MutexGuard<'static, ()>> {
    for _ in 0..20 {
        match DRAWING.try_lock() {
            Ok(held) => return Some(held),
            Err(TryLockError::Poisoned(held)) => return Some(held.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    None
}

fn hook_panics() {
    static HOOKED: OnceLock<()> = OnceLock::new();
    let own = std::thread::current().id();
    HOOKED.get_or_init(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().id() == own {
                leave();
                before(panic);
            } else if !IS_IN.load(Ordering::SeqCst) {
                before(panic);
            }
        }));
    });
}
