//! A mapped index that is cut meanwhile ends the program (SIGBUS): the terminal is put right before.
#![allow(unsafe_code, reason = "a handler of a signal; what it calls is made for handlers")]

use rustix::thread::{Timespec, nanosleep};
use signal_hook::consts::SIGBUS;
use signal_hook::low_level::{emulate_default_handler, register};

use super::system::write_all;
use super::terminal_guard::{is_on_screen, leave_screen};

/// Puts right what another thread may have changed on the screen of before.
const RESET_SEQUENCE: &[u8] = b"\x1b[?1006l\x1b[?1000l\x1b[0m\x1b[?25h";

/// Leaves in a handler of a signal: another thread may just be drawing, and is not waited for. What it wrote meanwhile
/// is put right a moment later, when it has seen that nothing is drawn any more.
fn restore_terminal_at_once() {
    if is_on_screen() {
        leave_screen();
        _ = nanosleep(&Timespec { tv_sec: 0, tv_nsec: 20_000_000 });
        write_all(RESET_SEQUENCE);
    }
}

/// From now on the end by SIGBUS leaves the terminal as it was.
pub(super) fn restore_on_sigbus() {
    let put_right = || {
        restore_terminal_at_once();
        _ = emulate_default_handler(SIGBUS);
    };
    // SAFETY: the action runs in a signal handler. `restore_terminal_at_once` does nothing but atomic loads, `fcntl`, `poll`, `write`, `tcflush`, `tcsetattr` and
    // `nanosleep`, which may be called there: it takes no lock and no memory; `emulate_default_handler` is documented to be safe there.
    let registered = unsafe { register(SIGBUS, put_right) };
    // Without it the program ends all the same, with the terminal as the browser has it.
    drop(registered);
}
