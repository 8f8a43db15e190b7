//! A mapped index that is cut meanwhile ends the program (SIGBUS): the terminal is put right before.
#![allow(unsafe_code, reason = "a handler of a signal; what it calls is made for handlers")]

use signal_hook::consts::SIGBUS;
use signal_hook::low_level::{emulate_default_handler, register};

/// From now on the end by SIGBUS leaves the terminal as it was.
pub(super) fn watch() {
    let put_right = || {
        super::guard::leave_at_once();
        _ = emulate_default_handler(SIGBUS);
    };
    // SAFETY: the action runs in a signal handler. `leave_at_once` does nothing but atomic loads, `fcntl`, `poll`, `write`, `tcflush`, `tcsetattr` and
    // `nanosleep`, which may be called there: it takes no lock and no memory; `emulate_default_handler` is documented to be safe there.
    let registered = unsafe { register(SIGBUS, put_right) };
    // Without it the program ends all the same, with the terminal as the browser has it.
    drop(registered);
}
