//! Calls to the terminal of a Unix.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{OptionalActions, QueueSelector, Termios, isatty, tcflush, tcgetattr, tcsetattr};

use super::input_bytes::take_messages;
pub(super) use super::sigbus::restore_on_sigbus as restore_terminal_on_cut_index;
use crate::explore::state::BrowserMessage;

/// Clicks and the wheel, in numbers of any size.
const ENABLE_MOUSE_SEQUENCE: &[u8] = b"\x1b[?1000h\x1b[?1006h";
/// A key that begins as longer ones do stands alone when nothing follows for so long, in nanoseconds.
const LONE_ESCAPE_WAIT_NS: i64 = 50_000_000;

/// The source of keys, and its state before.
pub(super) struct Terminal {
    key_source: OwnedFd,
    original_mode: Termios,
}

impl Terminal {
    /// Standard input, else the terminal of the process: for a dump that comes through standard input.
    pub(super) fn find() -> io::Result<Self> {
        let keys = match isatty(rustix::stdio::stdin()) {
            true => rustix::io::dup(rustix::stdio::stdin())?,
            false => std::fs::File::options().read(true).write(true).open("/dev/tty")?.into(),
        };
        let before = tcgetattr(&keys)?;
        Ok(Terminal { key_source: keys, original_mode: before })
    }

    /// From now on each key comes by itself, and nothing is done about it. What was typed ahead is for the browser.
    pub(super) fn make_raw(&self) -> io::Result<()> {
        let mut raw = self.original_mode.clone();
        raw.make_raw();
        Ok(tcsetattr(&self.key_source, OptionalActions::Now, &raw)?)
    }

    pub(super) fn take_mouse(&self) -> io::Result<()> {
        write_all(ENABLE_MOUSE_SEQUENCE);
        Ok(())
    }

    /// Makes it as it was. Takes no lock and no memory.
    pub(super) fn restore(&self) {
        // A terminal that is gone needs nothing. What was typed for the browser is nobody else's; what is still to be
        // shown is not waited for.
        _ = tcflush(&self.key_source, QueueSelector::IFlush);
        _ = tcsetattr(&self.key_source, OptionalActions::Now, &self.original_mode);
    }

    pub(super) fn is_gone(&self) -> bool {
        let mut polled = [PollFd::new(&self.key_source, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut polled, Some(&now)) {
            Ok(_) => polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL),
            Err(error) => error != Errno::INTR,
        }
    }
}

/// Milliseconds to wait for a terminal that takes nothing: nobody looks at it.
const MAX_WRITE_WAIT_MS: i64 = 300;

/// Writes all of it, without a lock: signal handlers do so too. Gives up when the terminal takes nothing for a while.
pub(super) fn write_all(bytes: &[u8]) {
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
                let limit = Timespec { tv_sec: 0, tv_nsec: MAX_WRITE_WAIT_MS * 1_000_000 };
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

pub(super) fn write(bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::io::write(rustix::stdio::stdout(), bytes)?)
}

/// Stops the process until it is continued.
pub(super) fn suspend() {
    // Should that fail, the next look finds the terminal gone.
    _ = kill_process(getpid(), Signal::TSTP);
}

pub(super) struct KeyReader {
    terminal: &'static Terminal,
    /// The beginning of what is not whole.
    partial_sequence: Vec<u8>,
}

impl KeyReader {
    /// Begins; from now on `resized` is set when the size changes.
    pub(super) fn new(terminal: &'static Terminal, resized: &Arc<AtomicBool>) -> Self {
        // Without it the size is looked at now and then all the same.
        _ = signal_hook::flag::register(signal_hook::consts::SIGWINCH, Arc::clone(resized));
        KeyReader { terminal, partial_sequence: Vec::new() }
    }

    /// Waits for what is whole, for ever or, in the middle of something, a moment.
    pub(super) fn next(&mut self, is_over: &AtomicBool) -> io::Result<Vec<BrowserMessage>> {
        let is_waiting = !self.partial_sequence.is_empty();
        let has_more = self.read_more(is_waiting, is_over)?;
        Ok(take_messages(&mut self.partial_sequence, is_waiting && !has_more))
    }

    /// Returns false when no bytes came, or when they are not for this thread.
    fn read_more(&mut self, is_waiting: bool, is_over: &AtomicBool) -> Result<bool, Errno> {
        let mut polled = [PollFd::new(&self.terminal.key_source, PollFlags::IN)];
        let moment = Timespec { tv_sec: 0, tv_nsec: LONE_ESCAPE_WAIT_NS };
        poll(&mut polled, is_waiting.then_some(&moment))?;
        let seen = polled[0].revents();
        if seen.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Err(Errno::PIPE);
        }
        if !seen.contains(PollFlags::IN) || is_over.load(Ordering::SeqCst) {
            return Ok(false);
        }
        let mut buffer = [0; 4096];
        match rustix::io::read(&self.terminal.key_source, &mut buffer)? {
            // The end of a terminal that reported nothing.
            0 => Err(Errno::PIPE),
            count => {
                self.partial_sequence.extend_from_slice(&buffer[..count]);
                Ok(true)
            }
        }
    }
}
