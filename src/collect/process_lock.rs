//! One run at a time at one process. The lock is an abstract socket's name: it is gone with this program, however it ends. Such
//! names belong to a network: the process's own is taken, so that runs in its container and outside see each other.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::{Duration, Instant};
use std::{fs, io};

use super::ports::{holder_of_socket, run_in_network_namespace_of};
use super::process::{Process, read_proc_file, stat_field};
use super::refusal::{Refusal, RefusalCode};
use super::second_process::FIRST_PROCESS_VARIABLE;

/// For the second process of a run that was killed to put all right.
const ENDING_HOLDER_TIMEOUT: Duration = Duration::from_secs(20);
/// For a holder that cannot be seen: it ends, or is another user's.
const UNSEEN_HOLDER_TIMEOUT: Duration = Duration::from_secs(1);
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Held while a process is at work for us.
#[derive(Debug)]
pub(super) struct ProcessLock {
    _socket: UnixListener,
}

impl ProcessLock {
    /// Takes the lock of a process. Error: `busy`.
    pub(super) fn acquire(process: &Process) -> Result<Self, Refusal> {
        // The same for a run in the process's container, which knows it by that number.
        let name = format!("heapdump-collect-{}-{}", process.namespace_pid, process.start_ticks);
        let failed = |error: io::Error| Refusal::system("the lock of the process", error);
        let address = SocketAddr::from_abstract_name(&name).map_err(failed)?;
        let began = Instant::now();
        loop {
            let bound = run_in_network_namespace_of(process, || UnixListener::bind_addr(&address))
                // Only root may go there: what is here keeps apart those that are here.
                .unwrap_or_else(|_| UnixListener::bind_addr(&address));
            match bound {
                Ok(socket) => return Ok(ProcessLock { _socket: socket }),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(failed(error)),
            }
            let holder = holder_of_abstract_socket(process, &name);
            // One that nobody is seen to hold is mostly being given back.
            let limit = match holder {
                Some(pid) if is_orphaned_second_process(pid) => ENDING_HOLDER_TIMEOUT,
                Some(_) => Duration::ZERO,
                None => UNSEEN_HOLDER_TIMEOUT,
            };
            if began.elapsed() < limit {
                std::thread::sleep(RETRY_INTERVAL);
                continue;
            }
            // The process that the user has started: see [`run_in_second_process`](super::run_in_second_process).
            let holder = holder
                .map_or(String::new(), |pid| format!(" (process {})", parent_of_same_program(pid).unwrap_or(pid)));
            let text = format!("heapdump collect {} is already running{holder}", process.pid);
            return Err(
                Refusal::new(RefusalCode::Busy, text).with_hint("a second dump at the same time would damage both")
            );
        }
    }
}

/// Is it the second process of a run whose first one was killed? It puts all right, and ends.
fn is_orphaned_second_process(holder: u32) -> bool {
    let environment = read_proc_file(holder, "environ").unwrap_or_default();
    let is_second =
        environment.split(|&byte| byte == 0).any(|pair| pair.starts_with(FIRST_PROCESS_VARIABLE.as_bytes()));
    is_second && parent_of_same_program(holder).is_none()
}

/// The parent of a process, if it is the same program.
fn parent_of_same_program(pid: u32) -> Option<u32> {
    let stat = String::from_utf8_lossy(&read_proc_file(pid, "stat").ok()?).into_owned();
    let parent = u32::try_from(stat_field(&stat, 4)?).ok()?;
    let program = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok();
    (program(pid)? == program(parent)?).then_some(parent)
}

/// The process that holds an abstract socket, where we may look.
fn holder_of_abstract_socket(process: &Process, name: &str) -> Option<u32> {
    let table = String::from_utf8_lossy(&read_proc_file(process.pid, "net/unix").ok()?).into_owned();
    let line = table.lines().find(|line| line.split_whitespace().nth(7) == Some(&format!("@{name}")))?;
    holder_of_socket(line.split_whitespace().nth(6)?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_is_told_who_is_there() {
        let process = Process::open(std::process::id()).expect("this process");
        let lock = ProcessLock::acquire(&process).expect("free");
        let refusal = ProcessLock::acquire(&process).expect_err("taken");
        assert_eq!(refusal.code, RefusalCode::Busy);
        let own = std::process::id();
        assert_eq!(refusal.text, format!("heapdump collect {own} is already running (process {own})"));
        drop(lock);
        ProcessLock::acquire(&process).expect("free again");
    }
}
