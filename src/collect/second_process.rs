//! A run is two processes: the one that was started waits, the other one works. A runtime does not always survive that its
//! peer breaks off in the middle (Node.js 20 and .NET Core 3.1 end now and then), and SIGKILL lets nobody say a last word: it
//! ends the one that waits, and the other one ends as by SIGTERM, with all put right.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::{Arc, OnceLock};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, getppid, kill_process, pidfd_open, set_parent_process_death_signal};

use crate::files::{ExitAction, wait_if_signalled};

/// Says to the second process which the first one is.
pub(super) const FIRST_PROCESS_VARIABLE: &str = "HEAPDUMP_COLLECT_FIRST";
/// For the second process to put all right.
const CLEANUP_SECONDS: i64 = 30;

/// Starts the program with these words once more, for it to do the work, and waits for it. Nothing, where the words are not of
/// a dump, where this is the second process, and where none can be started: the caller does the work then.
pub fn run_in_second_process(words: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut words = words.into_iter();
    let own = words.next()?;
    let words: Vec<OsString> = words.collect();
    let is_list = words.iter().any(|word| ["--list", "-h", "--help"].iter().any(|other| word == other));
    if words.first().is_none_or(|word| word != "collect") || is_list {
        return None;
    }
    if let Some(first) = std::env::var_os(FIRST_PROCESS_VARIABLE) {
        let parent = || getppid().map(|pid| OsString::from(pid.as_raw_nonzero().to_string()));
        // Not of a process that has started this one for another reason.
        if set_parent_process_death_signal(Some(Signal::TERM)).is_ok() && parent().as_ref() != Some(&first) {
            return Some(ExitCode::from(2));
        }
        return None;
    }
    let mut command = Command::new("/proc/self/exe");
    command.arg0(own).args(words).env(FIRST_PROCESS_VARIABLE, std::process::id().to_string());
    let number = Arc::new(OnceLock::new());
    let known = Arc::clone(&number);
    let start = || {
        let second = command.spawn()?;
        let _ = number.set(Pid::from_child(&second));
        Ok(second)
    };
    let forward = move || {
        let Some((pid, Ok(descriptor))) = known.get().map(|&pid| (pid, pidfd_open(pid, PidfdFlags::empty()))) else {
            return;
        };
        // It may have got the same signal from the terminal.
        let _ = kill_process(pid, Signal::TERM);
        let limit = Timespec { tv_sec: CLEANUP_SECONDS, tv_nsec: 0 };
        let _ = poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&limit));
    };
    let (mut second, forward) = ExitAction::make_with_undo(start, forward).ok()?;
    let ended = second.wait();
    // It ends by the signal that it has got itself.
    wait_if_signalled();
    forward.forget();
    let code = ended.ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    Some(ExitCode::from(code.unwrap_or(2)))
}
