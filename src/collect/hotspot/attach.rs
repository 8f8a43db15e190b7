//! Attaching to a JVM: its socket, which it opens on request, and one request over it.
//!
//! Protocol 1: `"1\0" command "\0" argument "\0" argument "\0" argument "\0"`, always three arguments. The reply is a number
//! in decimal, a line end, a text; then the JVM closes.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, OFlags};
use rustix::io::Errno;
use rustix::process::Signal;

use super::perfdata::PerfData;
use crate::collect::TargetRuntime;
use crate::collect::detect::check_runtime;
use crate::collect::ports::connect_unix;
use crate::collect::private_folder::{
    descriptor_path, open_in_root, open_working_folder, place_attach_file, remove_old_attach_file,
};
use crate::collect::process::{Process, read_proc_file, user_name};
use crate::collect::process_watch::CONNECT_TIMEOUT;
use crate::collect::refusal::{Refusal, RefusalCode};

/// For a JVM to open its socket after a signal has ended this program.
const SOCKET_OPEN_GRACE: Duration = Duration::from_secs(5);
/// A reply is some lines.
pub(super) const MAX_REPLY_BYTES: usize = 64 << 10;

/// Connects to the JVM's socket, which it is asked to open where it has none. Error: `signal-not-caught`,
/// `diagnostics-disabled`, `socket-missing`, `timeout`, and what the system says.
pub(super) fn connect(
    process: &Process,
    data: Option<&PerfData>,
    socket: Option<&Path>,
    patience: Duration,
) -> Result<UnixStream, Refusal> {
    if let Some(path) = socket {
        return connect_to(process, path, &path.display().to_string());
    }
    check_attachable(process, data)?;
    let name = attach_file_name(process);
    for folder in [open_working_folder(process), open_tmp_folder(process)].into_iter().flatten() {
        remove_old_attach_file(process, &folder, &name);
    }
    if let Some(stream) = connect_to_open_socket(process)? {
        return Ok(stream);
    }
    if !process.state()?.catches(Signal::QUIT) {
        return Err(process.signal_not_caught_refusal("SIGQUIT"));
    }
    check_runtime(process, TargetRuntime::Hotspot)?;
    if data.is_some_and(|data| !reopens_lost_socket(data)) && is_listening_for_attach(process) {
        let text = format!("process {}: its diagnostics socket is gone from /tmp (cleaned up?)", process.pid);
        return Err(Refusal::new(RefusalCode::SocketMissing, text)
            .with_hint("this version of Java opens it once only: nothing but a restart helps"));
    }
    wake_and_connect(process, patience)
}

/// Has it a socket, or may it open one? Nothing is asked. Error: `diagnostics-disabled`, `signal-not-caught`.
pub(crate) fn check_attachable(process: &Process, data: Option<&PerfData>) -> Result<(), Refusal> {
    if data.is_some_and(PerfData::is_attach_disabled) {
        let text = format!("process {}: attach is switched off (-XX:+DisableAttachMechanism)", process.pid);
        return Err(Refusal::new(RefusalCode::DiagnosticsDisabled, text).with_hint("only a restart without it helps"));
    }
    if has_socket(process) || process.state()?.catches(Signal::QUIT) {
        return Ok(());
    }
    Err(process.signal_not_caught_refusal("SIGQUIT"))
}

/// The socket that is there; a file that nobody listens behind is none. What cannot be looked at is not taken for absent: a
/// signal would follow.
fn connect_to_open_socket(process: &Process) -> Result<Option<UnixStream>, Refusal> {
    let path = format!("/tmp/.java_pid{}", process.namespace_pid);
    let failed = |error: io::Error| Refusal::system(&format!("process {}: {path}", process.pid), error);
    let found = match open_in_root(process, &path, OFlags::PATH | OFlags::NOFOLLOW) {
        Ok(found) => found,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(failed(error.into())),
    };
    let facts = rustix::fs::fstat(&found).map_err(|error| failed(error.into()))?;
    if ![process.uid, 0].contains(&facts.st_uid) {
        return Ok(None);
    }
    match connect_to(process, descriptor_path(&found), &path) {
        Err(Refusal { code: RefusalCode::SocketMissing, .. }) => Ok(None),
        connected => connected.map(Some),
    }
}

/// Connects to a socket, of which `name` is told.
fn connect_to(process: &Process, path: impl AsRef<Path>, name: &str) -> Result<UnixStream, Refusal> {
    connect_unix(path, CONNECT_TIMEOUT).map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => {
            Refusal::timeout(process.pid, CONNECT_TIMEOUT).with_hint("its attach socket takes no connection")
        }
        io::ErrorKind::ConnectionRefused => {
            let text = format!("process {}: nobody listens behind {name}", process.pid);
            Refusal::new(RefusalCode::SocketMissing, text)
        }
        _ => Refusal::system(&format!("process {}: {name}", process.pid), error),
    })
}

/// Is there a socket that somebody may listen behind? Nothing is asked.
fn has_socket(process: &Process) -> bool {
    let path = format!("/tmp/.java_pid{}", process.namespace_pid);
    open_in_root(process, &path, OFlags::PATH | OFlags::NOFOLLOW).is_ok()
}

/// Java 14, and 11 from 11.0.13, open the socket anew when its file is gone.
fn reopens_lost_socket(data: &PerfData) -> bool {
    let update = data
        .full_java_version()
        .and_then(|version| version.strip_prefix("11.0.")?.split(['.', '+', '_']).next()?.parse().ok());
    match data.java_major_version() {
        Some(11) => update.is_some_and(|update: u32| update >= 13),
        Some(major) => major >= 14,
        None => true,
    }
}

/// Does the process listen, though the file may be gone?
fn is_listening_for_attach(process: &Process) -> bool {
    let table = read_proc_file(process.pid, "net/unix").unwrap_or_default();
    let path = format!("/tmp/.java_pid{}", process.namespace_pid);
    // The name that it was bound to; then it is renamed.
    let first = format!("{path}.tmp");
    String::from_utf8_lossy(&table)
        .lines()
        .any(|line| line.split_whitespace().nth(7).is_some_and(|own| own == path || own == first))
}

fn attach_file_name(process: &Process) -> String {
    format!(".attach_pid{}", process.namespace_pid)
}

fn open_tmp_folder(process: &Process) -> rustix::io::Result<OwnedFd> {
    open_in_root(process, "/tmp", OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Takes a socket away that an ended process of this number, of another user, has left behind: nobody listens there,
/// and in /tmp the JVM cannot remove it itself. What is its own user's it replaces. Error: `socket-missing` where it is
/// in the way and cannot be taken away.
fn remove_dead_socket(process: &Process) -> Result<(), Refusal> {
    let name = format!(".java_pid{}", process.namespace_pid);
    let Ok(folder) = open_tmp_folder(process) else { return Ok(()) };
    let Ok(facts) = rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
    if facts.st_uid == process.uid || is_listening_for_attach(process) {
        return Ok(());
    }
    let is_socket = FileType::from_raw_mode(facts.st_mode) == FileType::Socket;
    if is_socket && rustix::fs::unlinkat(&folder, &name, AtFlags::empty()).is_ok() {
        return Ok(());
    }
    let owner = user_name(facts.st_uid);
    let text = format!("process {}: /tmp/{name} of {owner} is in the way of its diagnostics socket", process.pid);
    Err(Refusal::new(RefusalCode::SocketMissing, text).with_hint("an ended process has left it behind: remove it"))
}

/// A file of a certain name and a signal make a JVM open its socket. Without the file the signal would make it print its
/// threads; without a handler it would end.
fn wake_and_connect(process: &Process, patience: Duration) -> Result<UnixStream, Refusal> {
    let name = attach_file_name(process);
    remove_dead_socket(process)?;
    let waited_for = AttachFileInUse::default();
    let mark = open_working_folder(process)
        .and_then(|folder| place_attach_file(process, &folder, &name, waited_for.exit_wait(process)))
        .or_else(|_| place_attach_file(process, &open_tmp_folder(process)?, &name, waited_for.exit_wait(process)))
        .map_err(|error| Refusal::system(&format!("process {}: {name} cannot be made", process.pid), error))?;
    mark.run_unless_ending(|| {
        process.send_wake_signal(Signal::QUIT, "SIGQUIT")?;
        waited_for.set_awaited(true);
        Ok(())
    })?;
    let connected = await_socket_and_connect(process, patience);
    waited_for.set_awaited(false);
    connected
}

/// Is the JVM about to look for the mark? Then it is not removed before the socket is there, for a moment at most.
#[derive(Default)]
struct AttachFileInUse(Arc<AtomicBool>);

impl AttachFileInUse {
    fn set_awaited(&self, is_awaited: bool) {
        self.0.store(is_awaited, Ordering::SeqCst);
    }

    /// What the end of the program does: it waits for the JVM's socket.
    fn exit_wait(&self, process: &Process) -> impl FnOnce() + Send + 'static {
        let (is_awaited, pid, start) = (Arc::clone(&self.0), process.pid, process.start_ticks);
        move || {
            // One that an ended process has left is nobody's.
            let has_own_socket = |process: &Process| has_socket(process) && is_listening_for_attach(process);
            let asked = Instant::now();
            while is_awaited.load(Ordering::SeqCst) && asked.elapsed() < SOCKET_OPEN_GRACE {
                // It may have ended, and its number be another's.
                if Process::open(pid).map_or(true, |process| process.start_ticks != start || has_own_socket(&process)) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// Connects to the socket that the JVM was asked for.
fn await_socket_and_connect(process: &Process, patience: Duration) -> Result<UnixStream, Refusal> {
    let asked = Instant::now();
    let mut pause = Duration::from_millis(10);
    loop {
        std::thread::sleep(pause);
        if let Some(stream) = connect_to_open_socket(process)? {
            return Ok(stream);
        }
        if !process.is_alive() {
            return Err(Refusal::target_died(process.pid));
        }
        if asked.elapsed() >= patience {
            return Err(Refusal::timeout(process.pid, patience).with_hint("its attach socket did not come"));
        }
        pause = (pause * 3 / 2).min(Duration::from_millis(300));
    }
}

/// Sends a command with two arguments, which may be empty; the third one is. Error: those of the socket.
pub(super) fn send_command(mut stream: &UnixStream, command: &str, arguments: [&str; 2]) -> io::Result<()> {
    let [first, second] = arguments;
    stream.write_all(format!("1\0{command}\0{first}\0{second}\0\0").as_bytes())
}

/// What a JVM has replied so far.
#[derive(Debug, Default)]
pub(super) struct Reply {
    bytes: Vec<u8>,
}

impl Reply {
    /// Reads what is there, and keeps `most` bytes or a few more. Returns true at the end; a JVM that ends closes too.
    pub(super) fn read_available(&mut self, mut stream: &UnixStream, most: usize) -> io::Result<bool> {
        let mut chunk = [0u8; 4096];
        loop {
            match stream.read(&mut chunk) {
                Ok(0) => return Ok(true),
                // The rest cannot matter.
                Ok(_) if self.bytes.len() >= most => {}
                Ok(count) => self.bytes.extend(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(true),
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn of(bytes: &[u8]) -> Self {
        Reply { bytes: bytes.to_vec() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The number and the text. Error: `protocol`, when it is no reply.
    pub(super) fn parse(&self, pid: u32) -> Result<(i32, String), Refusal> {
        let end = memchr::memchr(b'\n', &self.bytes).unwrap_or(self.bytes.len());
        let code = std::str::from_utf8(&self.bytes[..end]).ok().and_then(|text| text.trim_end().parse().ok());
        let text = String::from_utf8_lossy(self.bytes.get(end + 1..).unwrap_or_default()).trim().to_string();
        let peer = || format!("the attach socket of process {pid}");
        let code = code.ok_or_else(|| Refusal::protocol(&peer(), "HotSpot's attach protocol", &self.bytes))?;
        match code {
            101 => {
                Err(Refusal::new(RefusalCode::Protocol, format!("{} does not know version 1 of the protocol", peer())))
            }
            code => Ok((code, text)),
        }
    }
}

/// Result that a JVM reports for a dump.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DumpReport {
    /// `Heap dump file created [N bytes in S secs]`.
    WithSize { bytes: u64, pause: Duration },
    /// Java 8 does not say how much.
    WithoutSize,
}

/// The one sentence that means success.
pub(super) fn parse_dump_report(text: &str) -> Option<DumpReport> {
    const CREATED_SENTENCE: &str = "Heap dump file created";
    if text.lines().any(|line| line.trim() == CREATED_SENTENCE) {
        return Some(DumpReport::WithoutSize);
    }
    let (_, rest) = text.split_once(CREATED_SENTENCE)?;
    let (bytes, rest) = rest.strip_prefix(" [")?.split_once(" bytes in ")?;
    let (seconds, _) = rest.split_once(" secs]")?;
    let seconds = seconds.replace(',', ".").parse::<f64>().ok().filter(|seconds| (0.0..1e9).contains(seconds))?;
    Some(DumpReport::WithSize { bytes: bytes.parse().ok()?, pause: Duration::from_secs_f64(seconds) })
}

type FolderOpener = fn(&Process) -> rustix::io::Result<OwnedFd>;

/// A file there takes memory.
pub(super) const MEMORY_FOLDER: &str = "/dev/shm";

/// Folders for a file that a JVM writes for us, tried in this order.
pub(super) fn candidate_folders() -> [(&'static str, FolderOpener); 3] {
    const FOLDER_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);
    [
        ("/tmp", open_tmp_folder),
        ("", open_working_folder),
        (MEMORY_FOLDER, |process| open_in_root(process, MEMORY_FOLDER, FOLDER_FLAGS)),
    ]
}

/// The folder of the user's own file, where the process sees the same file systems and its user can get to it.
pub(super) fn shared_folder(process: &Process, folder: Option<&Path>) -> Option<PathBuf> {
    let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
    let root = std::fs::read_link(process.proc_path("root")).ok()?;
    let is_shared = namespace("self")? == namespace(&process.pid.to_string())? && root.as_os_str() == "/";
    let folder = folder.filter(|_| is_shared)?.canonicalize().ok()?;
    let may_enter = |folder: &Path| {
        folder.metadata().is_ok_and(|facts| {
            let bit = if facts.uid() == process.uid { 0o100 } else { 0o001 };
            process.uid == 0 || facts.mode() & bit != 0
        })
    };
    Some(folder)
        .filter(|folder| folder.to_str().is_some_and(fits_in_attach_command) && folder.ancestors().all(may_enter))
}

/// Blanks, commas and quotes would be taken apart, and a long path cut off.
fn fits_in_attach_command(path: &str) -> bool {
    path.len() < 900 && !path.contains([' ', '"', '\'', '\t', '\n', ','])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_is_one_sentence() {
        let text = "Dumping heap to /tmp/x ...\nHeap dump file created [45912345 bytes in 0.262 secs]";
        let counted = DumpReport::WithSize { bytes: 45_912_345, pause: Duration::from_millis(262) };
        assert_eq!(parse_dump_report(text), Some(counted));
        assert_eq!(parse_dump_report("Heap dump file created\n"), Some(DumpReport::WithoutSize));
        for text in [
            "",
            "No Heap dump file created",
            "Heap dump file created [x bytes in 1 secs]",
            "Heap dump file created [1 bytes in -1 secs]",
        ] {
            assert_eq!(parse_dump_report(text), None, "{text}");
        }
    }

    #[test]
    fn replies_are_a_number_and_a_text() {
        let parsed = |bytes: &[u8]| Reply::of(bytes).parse(1);
        assert_eq!(parsed(b"0\nfine\n").expect("a reply"), (0, "fine".into()));
        assert_eq!(parsed(b"-1").expect("a reply"), (-1, String::new()));
        for wrong in [&b""[..], b"x\n", b"101\n", b"\xff\xfe", b"99999999999\n"] {
            assert_eq!(parsed(wrong).expect_err("none").code, RefusalCode::Protocol);
        }
    }
}
