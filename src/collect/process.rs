//! Facts of a process, and the memory that it may still take, by `/proc` and control groups alone: nothing is asked of it.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::refusal::{Refusal, RefusalCode};

/// Files of `/proc` are read up to this size.
const MAX_PROC_FILE_BYTES: u64 = 16 << 20;

/// A process, held by a descriptor: its number cannot come to mean another one.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// In clock ticks since the machine started.
    pub(super) start_ticks: u64,
    /// The number in its own namespace.
    pub(super) namespace_pid: u32,
    /// Effective ids.
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) name: String,
    descriptor: OwnedFd,
}

/// State that changes from moment to moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessState {
    /// As `/proc/PID/status` has it: `T` is stopped.
    state_letter: char,
    /// By signal a bit, the lowest of number 1.
    caught_signals: u64,
}

impl ProcessState {
    pub(super) fn is_stopped(self) -> bool {
        matches!(self.state_letter, 'T' | 't')
    }

    /// Would the process live on with this signal?
    pub(super) fn catches(self, signal: Signal) -> bool {
        self.caught_signals >> (signal.as_raw() - 1) & 1 == 1
    }
}

/// A file of `/proc`, bounded.
pub(super) fn read_proc_file(pid: u32, file: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(format!("/proc/{pid}/{file}"))?.take(MAX_PROC_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn proc_text(pid: u32, file: &str) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&read_proc_file(pid, file)?).into_owned())
}

/// The text behind `Name:` in a file of such lines.
fn named_field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// Fields of `/proc/PID/stat` behind the name, which may hold anything: the first is number 3.
pub(super) fn stat_field(text: &str, number: usize) -> Option<u64> {
    text.rsplit_once(')')?.1.split_whitespace().nth(number - 3)?.parse().ok()
}

impl Process {
    /// Takes hold of a process and finds out who it is. Error: `no-such-process`; what the system says where it gives
    /// no descriptors of processes.
    pub(super) fn open(pid: u32) -> Result<Self, Refusal> {
        let none = || Refusal::new(RefusalCode::NoSuchProcess, format!("no process {pid}"));
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(none)?;
        // Fails for a thread's number too.
        let descriptor = pidfd_open(number, PidfdFlags::empty()).map_err(|error| no_pidfd_refusal(pid, error))?;
        let status = proc_text(pid, "status").map_err(|_| none())?;
        let stat = proc_text(pid, "stat").map_err(|_| none())?;
        let ids = |name: &str| {
            let second = named_field(&status, name)?.split_whitespace().nth(1)?;
            second.parse().ok()
        };
        let process = Process {
            pid,
            start_ticks: stat_field(&stat, 22).ok_or_else(none)?,
            namespace_pid: named_field(&status, "NSpid")
                .and_then(|ids| ids.split_whitespace().last()?.parse().ok())
                .unwrap_or(pid),
            uid: ids("Uid").ok_or_else(none)?,
            gid: ids("Gid").ok_or_else(none)?,
            name: named_field(&status, "Name").unwrap_or_default().to_string(),
            descriptor,
        };
        if matches!(process.state()?.state_letter, 'Z' | 'X') {
            let text = format!("process {pid} has ended (zombie)");
            return Err(Refusal::new(RefusalCode::NoSuchProcess, text).with_hint("its parent has not taken note of it"));
        }
        Ok(process)
    }

    /// State at this moment. Error: `no-such-process` when it is gone.
    pub(super) fn state(&self) -> Result<ProcessState, Refusal> {
        let gone = || Refusal::new(RefusalCode::NoSuchProcess, format!("process {} has ended", self.pid));
        let status = proc_text(self.pid, "status").map_err(|_| gone())?;
        // A number that was given to another process since.
        let start = proc_text(self.pid, "stat").ok().and_then(|stat| stat_field(&stat, 22));
        if !self.is_alive() || start != Some(self.start_ticks) {
            return Err(gone());
        }
        Ok(ProcessState {
            state_letter: named_field(&status, "State").and_then(|text| text.chars().next()).unwrap_or('?'),
            caught_signals: named_field(&status, "SigCgt")
                .and_then(|mask| u64::from_str_radix(mask, 16).ok())
                .unwrap_or(0),
        })
    }

    /// Its descriptor becomes readable when it ends: that has not happened yet.
    pub(super) fn is_alive(&self) -> bool {
        let mut fds = [PollFd::new(&self.descriptor, PollFlags::IN)];
        !matches!(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(1..))
    }

    /// Waits until a time, or until the process ends. Returns true if it has.
    pub(super) fn wait_for_end_until(&self, time: Instant) -> bool {
        loop {
            let left = time.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.is_alive() {
                return !self.is_alive();
            }
            let wait = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            // A signal breaks it off: the time that is left is looked at again.
            let _ = poll(&mut [PollFd::new(&self.descriptor, PollFlags::IN)], Some(&wait));
        }
    }

    /// Does a process end that has just closed its end of a connection? Looks for 0.2 s: it closes a moment before.
    pub(super) fn ends_within_moment(&self) -> bool {
        const MAX_POLLS: u32 = 20;
        const POLL_INTERVAL: Duration = Duration::from_millis(10);
        (0..MAX_POLLS).any(|moment| {
            if moment > 0 {
                std::thread::sleep(POLL_INTERVAL);
            }
            !self.is_alive()
        })
    }

    /// CPU time of all its threads; nothing when it has ended.
    pub(super) fn cpu_time(&self) -> Option<Duration> {
        // Linux counts in hundredths of a second here, on every architecture.
        const CLOCK_TICK: Duration = Duration::from_millis(10);
        let stat = proc_text(self.pid, "stat").ok()?;
        let ticks = stat_field(&stat, 14)?.checked_add(stat_field(&stat, 15)?)?;
        Some(CLOCK_TICK * u32::try_from(ticks).unwrap_or(u32::MAX))
    }

    /// Memory that it has in use.
    pub(super) fn rss_bytes(&self) -> u64 {
        let statm = proc_text(self.pid, "statm").unwrap_or_default();
        let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
        pages.unwrap_or(0).saturating_mul(rustix::param::page_size() as u64)
    }

    /// Sends a signal that the process catches at this very moment. Error: `signal-not-caught`, where it would end the
    /// process; `stopped`.
    pub(super) fn send_wake_signal(&self, signal: Signal, name: &str) -> Result<(), Refusal> {
        let state = self.state()?;
        if state.is_stopped() {
            return Err(self.stopped_refusal());
        }
        if !state.catches(signal) {
            return Err(self.signal_not_caught_refusal(name));
        }
        pidfd_send_signal(&self.descriptor, signal)
            .map_err(|error| Refusal::system(&format!("process {}: {name}", self.pid), error))
    }

    pub(super) fn stopped_refusal(&self) -> Refusal {
        let text = format!("process {} is stopped (state T): it could not answer", self.pid);
        Refusal::new(RefusalCode::Stopped, text).with_hint(format!("continue it first: kill -CONT {}", self.pid))
    }

    pub(super) fn signal_not_caught_refusal(&self, name: &str) -> Refusal {
        let text = format!(
            "process {} does not catch {name} ({}still starting): sending it would end the process",
            self.pid,
            if name == "SIGQUIT" { "-Xrs, or " } else { "" }
        );
        Refusal::new(RefusalCode::SignalNotCaught, text).with_hint("nothing was sent")
    }

    /// May we look into it? Its own user and root may.
    pub(super) fn check_permitted(&self) -> Result<(), Refusal> {
        let own = rustix::process::geteuid();
        if own.is_root() || own.as_raw() == self.uid {
            return Ok(());
        }
        let user = user_name(self.uid);
        let text = format!("process {} belongs to {user}: run as that user or as root", self.pid);
        Err(Refusal::new(RefusalCode::NotPermitted, text)
            .with_hint(format!("sudo -u {user} heapdump collect {}", self.pid)))
    }

    /// Refusal for files of a process that the system does not let be read, which happens to its own user too where it protects itself.
    pub(super) fn unreadable_refusal(&self, error: io::Error) -> Refusal {
        let refusal = Refusal::system(&format!("process {} cannot be looked into", self.pid), error);
        if rustix::process::geteuid().is_root() { refusal } else { refusal.with_hint("root may be able to") }
    }

    /// The files that it has mapped, also those that an update has replaced since.
    pub(super) fn mapped_files(&self) -> Result<Vec<String>, Refusal> {
        let maps = proc_text(self.pid, "maps").map_err(|error| self.unreadable_refusal(error))?;
        let mut files: Vec<String> =
            maps.lines().filter_map(|line| line.split_once('/')).map(|(_, path)| absolute_mapped_path(path)).collect();
        files.dedup();
        Ok(files)
    }

    pub(super) fn environment(&self) -> HashMap<String, String> {
        let bytes = read_proc_file(self.pid, "environ").unwrap_or_default();
        let pairs = bytes.split(|&byte| byte == 0).map(String::from_utf8_lossy);
        pairs.filter_map(|pair| pair.split_once('=').map(|(name, value)| (name.into(), value.into()))).collect()
    }

    pub(super) fn arguments(&self) -> Vec<String> {
        let bytes = read_proc_file(self.pid, "cmdline").unwrap_or_default();
        let words = bytes.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        let mut words: Vec<String> = words.collect();
        while words.last().is_some_and(String::is_empty) {
            words.pop();
        }
        words
    }

    /// The file it runs.
    pub(super) fn executable_path(&self) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/exe", self.pid)).ok()
    }

    pub(super) fn proc_path(&self, file: &str) -> String {
        format!("/proc/{}/{file}", self.pid)
    }
}

pub(super) fn all_pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// A path of `/proc/PID/maps` behind its first slash: with that, and without the mark of a deleted file.
fn absolute_mapped_path(path: &str) -> String {
    format!("/{}", path.strip_suffix(" (deleted)").unwrap_or(path))
}

/// Refusal where there is no descriptor: without one no signal is safe, so that nothing is guessed from what else there is.
fn no_pidfd_refusal(pid: u32, error: Errno) -> Refusal {
    match error {
        Errno::SRCH | Errno::INVAL | Errno::NOENT => {
            Refusal::new(RefusalCode::NoSuchProcess, format!("no process {pid}"))
        }
        Errno::NOSYS => Refusal::new(RefusalCode::NotSupportedHere, "this kernel has no descriptors of processes")
            .with_hint("Linux has them from 5.3 on"),
        error => Refusal::system(&format!("process {pid}: pidfd_open"), error),
    }
}

/// A user's name, or the number where it has none here.
pub(super) fn user_name(uid: u32) -> String {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_string())
    });
    name.unwrap_or_else(|| uid.to_string())
}

/// Bytes that a process may still take, at most: of the machine, and of the control groups that it is in.
pub(super) fn free_memory_bytes(process: &Process) -> Option<u64> {
    least_memory_bytes(process, "MemAvailable:", |limit, used| limit.saturating_sub(used))
}

/// Bytes that a process may have at most: the limit of its control groups, else all memory of the machine.
pub(super) fn memory_limit_bytes(process: &Process) -> Option<u64> {
    least_memory_bytes(process, "MemTotal:", |limit, _| limit)
}

/// The least of a figure of the machine and what the control groups of a process give by their limit and what is used.
fn least_memory_bytes(process: &Process, of_machine: &str, of_group: fn(u64, u64) -> u64) -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = meminfo.lines().find_map(|line| line.strip_prefix(of_machine));
    let machine = line.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok()).map(|kib| kib << 10);
    let groups = proc_text(process.pid, "cgroup").unwrap_or_default();
    let of_groups = match groups.contains("/..") {
        // Beside our own group, as from one container of a pod to another: its own view is that of its group.
        true => least_in_cgroups("0::/\n1:memory:/", Path::new(&process.proc_path("root/sys/fs/cgroup")), of_group),
        false => least_in_cgroups(&groups, Path::new("/sys/fs/cgroup"), of_group),
    };
    [machine, of_groups].into_iter().flatten().min()
}

/// `0::/a/b` is a group of version 2, `5:memory:/a/b` one of version 1: each group up to the top has a limit of its own.
fn least_in_cgroups(groups: &str, root: &Path, of_group: fn(u64, u64) -> u64) -> Option<u64> {
    let figure = |folder: &Path, limit: &str, used: &str| {
        let number = |file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
        Some(of_group(number(limit)?, number(used)?))
    };
    let mut least: Option<u64> = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let is_memory = controllers.split(',').any(|name| name == "memory");
        let (top, limit, used) = match controllers {
            "" => (root.to_path_buf(), "memory.max", "memory.current"),
            _ if is_memory => (root.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
            _ => continue,
        };
        let mut folder = Some(Path::new(path.trim_start_matches('/')));
        while let Some(below) = folder {
            let found = figure(&top.join(below), limit, used);
            least = [least, found].into_iter().flatten().min();
            folder = below.parent();
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_known() {
        let process = Process::open(std::process::id()).expect("this process");
        let state = process.state().expect("alive");
        assert!(process.is_alive() && !state.is_stopped() && process.rss_bytes() > 0);
        assert!(!state.catches(Signal::KILL));
        assert_eq!(process.uid, rustix::process::geteuid().as_raw());
        assert!(process.mapped_files().expect("maps").iter().any(|file| file.contains("heapdump")));
        assert!(process.cpu_time().is_some() && process.start_ticks > 0 && process.check_permitted().is_ok());
        assert_eq!(process.arguments()[0], std::env::args().next().expect("a name"));
    }

    #[test]
    fn there_is_no_process_of_a_number_that_is_none() {
        for pid in [0, u32::MAX, 4_194_305] {
            assert_eq!(Process::open(pid).expect_err("none").code, RefusalCode::NoSuchProcess);
        }
    }

    #[test]
    fn a_system_that_refuses_is_not_an_absent_process() {
        let code = |error| no_pidfd_refusal(7, error).code;
        assert_eq!(code(Errno::SRCH), RefusalCode::NoSuchProcess);
        assert_eq!(code(Errno::NOSYS), RefusalCode::NotSupportedHere);
        assert_eq!(code(Errno::PERM), RefusalCode::NotPermitted);
        assert_eq!(code(Errno::MFILE), RefusalCode::System);
    }

    #[test]
    fn a_file_that_was_replaced_has_its_name() {
        assert_eq!(absolute_mapped_path("usr/lib/libjvm.so (deleted)"), "/usr/lib/libjvm.so");
    }

    #[test]
    fn names_with_brackets_do_not_confuse() {
        let stat = "12 (a) b) S 1 12 12 0 -1 4194560 1 2 3 4 55 66 7 8 20 0 1 0 777 9";
        assert_eq!((stat_field(stat, 14), stat_field(stat, 22)), (Some(55), Some(777)));
        assert_eq!(stat_field("", 3), None);
    }

    #[test]
    fn the_tightest_group_counts() {
        let root = tempfile::tempdir().expect("a folder");
        let group = root.path().join("a/b");
        fs::create_dir_all(&group).expect("made");
        for (file, number) in [
            ("a/b/memory.max", "max"),
            ("a/b/memory.current", "5"),
            ("a/memory.max", "100"),
            ("a/memory.current", "30\n"),
        ] {
            fs::write(root.path().join(file), number).expect("written");
        }
        let free_in_cgroups =
            |groups: &str| least_in_cgroups(groups, root.path(), |limit, used| limit.saturating_sub(used));
        assert_eq!(free_in_cgroups("0::/a/b\n"), Some(70));
        assert_eq!(free_in_cgroups("0::/elsewhere\n1:cpu:/a\nnonsense"), None);
        fs::create_dir_all(root.path().join("memory/x")).expect("made");
        fs::write(root.path().join("memory/x/memory.limit_in_bytes"), "50").expect("written");
        fs::write(root.path().join("memory/x/memory.usage_in_bytes"), "60").expect("written");
        assert_eq!(free_in_cgroups("3:cpu,memory:/x\n0::/a/b"), Some(0));
        assert_eq!(least_in_cgroups("3:cpu,memory:/x\n0::/a/b", root.path(), |limit, _| limit), Some(50));
    }

    #[test]
    fn this_process_has_some() {
        let process = Process::open(std::process::id()).expect("this process");
        assert!(free_memory_bytes(&process).is_some_and(|bytes| bytes > 0));
        assert!(memory_limit_bytes(&process) > free_memory_bytes(&process));
    }
}
