//! One run at a time at one process. The lock is an abstract socket's name: it is gone with this program, however it ends.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use super::process::Process;
use super::refusal::{Refusal, RefusalCode};

/// Held while a process is at work for us.
#[derive(Debug)]
pub(super) struct Lock {
    _socket: UnixListener,
}

impl Lock {
    /// Takes the lock of a process.
    ///
    /// # Errors
    /// `busy`.
    pub(super) fn take(process: &Process) -> Result<Self, Refusal> {
        let name = format!("heapdump-collect-{}-{}", process.pid, process.start);
        let address = SocketAddr::from_abstract_name(&name).map_err(|error| Refusal::system("lock", error))?;
        let socket = UnixListener::bind_addr(&address).map_err(|_| {
            let holder = holder_of(&name).map_or(String::new(), |pid| format!(" (process {pid})"));
            let text = format!("heapdump collect {} is already running{holder}", process.pid);
            Refusal::new(RefusalCode::Busy, text).hint("a second dump at the same time would damage both")
        })?;
        Ok(Lock { _socket: socket })
    }
}

/// The process that holds an abstract socket, where we may look.
fn holder_of(name: &str) -> Option<u32> {
    let table = fs::read_to_string("/proc/self/net/unix").ok()?;
    let line = table.lines().find(|line| line.split_whitespace().nth(7) == Some(&format!("@{name}")))?;
    let link = format!("socket:[{}]", line.split_whitespace().nth(6)?);
    let pids =
        fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.into_iter().find(|pid| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.into_iter().any(|fd| fs::read_link(fd.path()).is_ok_and(|to| to.as_os_str() == link.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_is_told_who_is_there() {
        let process = Process::open(std::process::id()).expect("this process");
        let lock = Lock::take(&process).expect("free");
        let refusal = Lock::take(&process).expect_err("taken");
        assert_eq!(refusal.code, RefusalCode::Busy);
        let own = std::process::id();
        assert_eq!(refusal.text, format!("heapdump collect {own} is already running (process {own})"));
        drop(lock);
        Lock::take(&process).expect("free again");
    }
}
