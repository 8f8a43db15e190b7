//! .NET: a heap snapshot as an event trace, over the runtime's diagnostics port.
//!
//! One session with the keywords of a heap snapshot makes the runtime collect and write every object as events. It writes
//! them all while its threads stand still, into a buffer that must hold the whole: its size is an upper bound that costs
//! nothing until it is used, so it is made from the process's memory. The bytes of the session are the `.nettrace` file.

mod histogram;
mod ipc;
mod session;

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{FileType, OFlags, fstat};

use super::background_writer::{BackgroundWriter, SMALL_WRITE_QUEUE_BYTES};
use super::private_folder::open_in_root;
use super::process::{Process, free_memory_bytes};
use super::process_watch::ProcessWatch;
use super::refusal::{Refusal, RefusalCode, format_seconds};
use super::request::{DumpOutcome, DumpRequest};
use super::{CollectOptions, CollectPlan, Collected};
use crate::units::format_bytes;
pub(super) use histogram::take_histogram;
use ipc::{DiagnosticPort, IpcError, PortAddress, UNKNOWN_COMMAND_ERROR, decode_text};
use session::{SessionOptions, run_session};

const MIB: u64 = 1 << 20;
/// As other tools ask for; larger where the process is, smaller where memory is short or the user says so.
const USUAL_BUFFER_BYTES: u64 = 256 * MIB;
/// The pause for a GiB of memory in use: measured 0.1 to 0.76 s for 94 MB, 2.9 s for 501 MB.
const PAUSE_PER_GIB: Duration = Duration::from_secs(6);

/// The process's diagnostics socket, where it has one. Error: what the system says of one that is there.
pub(super) fn find_diagnostic_socket(process: &Process) -> Result<Option<OwnedFd>, Refusal> {
    let folder = process.environment().remove("TMPDIR").filter(|folder| !folder.is_empty());
    let folder = folder.unwrap_or_else(|| "/tmp".into());
    // The time tells it from one that a process of the same number has left.
    let path = format!(
        "{}/dotnet-diagnostic-{}-{}-socket",
        folder.trim_end_matches('/'),
        process.namespace_pid,
        process.start_ticks
    );
    match open_in_root(process, &path, OFlags::PATH | OFlags::NOFOLLOW) {
        // Another user's is none: anybody may make a file of this name.
        Ok(socket) => Ok(Some(socket).filter(|socket| is_socket_of(process, socket))),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(None),
        Err(error) => Err(process.unreadable_refusal(io::Error::from(error))),
    }
}

fn is_socket_of(process: &Process, file: &OwnedFd) -> bool {
    fstat(file)
        .is_ok_and(|facts| FileType::from_raw_mode(facts.st_mode) == FileType::Socket && facts.st_uid == process.uid)
}

/// Was it started with its diagnostics off?
pub(super) fn is_diagnostics_disabled(process: &Process) -> bool {
    const DIAGNOSTICS_SWITCH_VARIABLES: [&str; 3] =
        ["DOTNET_EnableDiagnostics", "DOTNET_EnableDiagnostics_IPC", "COMPlus_EnableDiagnostics"];
    let environment = process.environment();
    DIAGNOSTICS_SWITCH_VARIABLES
        .iter()
        .any(|name| environment.get(*name).is_some_and(|value| value.trim_start_matches('0').is_empty()))
}

fn no_socket_refusal(process: &Process) -> Refusal {
    let pid = process.pid;
    if is_diagnostics_disabled(process) {
        let text = format!("process {pid}: .NET's diagnostics are switched off (DOTNET_EnableDiagnostics=0)");
        return Refusal::new(RefusalCode::DiagnosticsDisabled, text).with_hint("only a restart without it helps");
    }
    let text = format!("process {pid}: its diagnostics socket is gone from its temporary folder (cleaned up?)");
    Refusal::new(RefusalCode::SocketMissing, text).with_hint("only a restart of the process helps")
}

/// Version that the runtime gives, asked in the newest way that it knows. Versions before 5 know none.
fn ask_version(port: &DiagnosticPort<'_>, limit: Duration) -> Result<Option<String>, Refusal> {
    for (command, texts_before, has_version) in [(8, 4, true), (4, 4, false), (0, 0, false)] {
        match port.ask((4, command), &[], limit) {
            Ok(payload) if command != 0 => return Ok(version_in_payload(&payload, texts_before, has_version)),
            Ok(_) => return Ok(None),
            Err(IpcError::ErrorNumber(UNKNOWN_COMMAND_ERROR)) => {}
            Err(error) => return Err(error.into_refusal(port.process.pid)),
        }
    }
    Ok(None)
}

/// `[u32 version], u64 pid, 16 bytes, texts: command line, system, architecture, assembly, runtime version`.
fn version_in_payload(payload: &[u8], texts_before: usize, has_version: bool) -> Option<String> {
    let mut rest = payload.get(if has_version { 28 } else { 24 }..)?;
    for _ in 0..texts_before {
        decode_text(&mut rest)?;
    }
    let is_number = |text: &String| text.starts_with(|c: char| c.is_ascii_digit());
    let plain = |text: &String| is_number(text) && text.len() < 100 && text.chars().all(|c| c.is_ascii_graphic());
    decode_text(&mut rest).filter(plain)
}

/// By the folder that the runtime lies in; a program in one file has none.
pub(super) fn version_by_path(process: &Process) -> Option<String> {
    let files = process.mapped_files().ok()?;
    files.iter().find_map(|file| {
        let (_, rest) = file.split_once("/Microsoft.NETCore.App/")?;
        Some(rest.split('/').next()?.to_string())
    })
}

/// Version that the runtime gives, for lists; nothing of one that has no socket.
pub(super) fn probe_version(process: &Process, limit: Duration) -> Result<Option<Option<String>>, Refusal> {
    Ok(diagnostic_port_of(process)?.map(|port| ask_version(&port, limit).ok().flatten()))
}

fn diagnostic_port_of(process: &Process) -> Result<Option<DiagnosticPort<'_>>, Refusal> {
    Ok(find_diagnostic_socket(process)?
        .map(|socket| DiagnosticPort { process, address: PortAddress::HeldDescriptor(socket) }))
}

/// May a dump be asked for? Nothing is asked. Error: `diagnostics-disabled`, `socket-missing`.
pub(super) fn check_can_dump(process: &Process, options: &CollectOptions) -> Result<(), Refusal> {
    port_for_dump(process, options).map(drop)
}

fn port_for_dump<'p>(process: &'p Process, options: &CollectOptions) -> Result<DiagnosticPort<'p>, Refusal> {
    match &options.runtime_socket {
        Some(path) => Ok(DiagnosticPort { process, address: PortAddress::Path(path.clone()) }),
        None => diagnostic_port_of(process)?.ok_or_else(|| no_socket_refusal(process)),
    }
}

pub(super) fn dump(
    process: &Process,
    mut request: DumpRequest<'_>,
    collected: &mut Collected,
) -> Result<DumpOutcome, Refusal> {
    let options = request.options;
    let port = port_for_dump(process, options)?;
    let limit = options.silence_limit.unwrap_or(super::process_watch::DEFAULT_SILENCE_LIMIT);
    let version = ask_version(&port, limit)?.or_else(|| version_by_path(process)).unwrap_or_else(|| "3.1".into());
    collected.runtime_version = Some(version.clone());
    if ["2.", "3.0"].iter().any(|old| version.starts_with(old)) {
        let text = format!(".NET Core {version}: too old: no heap snapshot over its diagnostics");
        return Err(Refusal::new(RefusalCode::TooOld, text));
    }
    let rss = process.rss_bytes();
    let (buffer, no_memory) =
        buffer_bytes_and_risk(process.pid, free_memory_bytes(process), rss, options.max_buffer_bytes);
    let risk = no_memory.or_else(|| request.space_refusal(rss));
    let plan = plan_dump(process, &version, rss, options.take_histogram, risk);
    let pause = plan.expected_pause;
    request.seek_approval(plan)?;
    let DumpRequest { file, supervisor: observer, .. } = request;
    let watch = ProcessWatch::new(Some(process), options.silence_limit, observer);
    let dump_writer = BackgroundWriter::start(file, SMALL_WRITE_QUEUE_BYTES)?;
    let session_options = SessionOptions {
        buffer_mib: buffer.div_ceil(MIB),
        includes_names: !options.omit_method_names,
        rss_bytes: rss,
        expected_pause: pause,
    };
    run_session(&port, &session_options, watch, dump_writer, collected)
}

/// Size that the buffer may grow to, and the risk that the process does not survive it.
fn buffer_bytes_and_risk(pid: u32, free: Option<u64>, rss: u64, asked: Option<u64>) -> (u64, Option<Refusal>) {
    let free = free.map_or(u64::MAX, |free| free / 5 * 4);
    let wanted = asked.unwrap_or_else(|| USUAL_BUFFER_BYTES.max(rss / 4 * 5));
    let refusal = (free < rss / 3).then(|| Refusal::no_memory(pid, rss, free));
    let buffer = if asked.is_some() { wanted } else { wanted.min(free).max(MIB) };
    (buffer, refusal)
}

fn plan_dump(process: &Process, version: &str, rss: u64, is_histogram: bool, risk: Option<Refusal>) -> CollectPlan {
    let gib = rss as f64 / f64::from(1 << 30);
    let pause = CollectPlan::rounded_pause(PAUSE_PER_GIB.mul_f64(gib));
    let what = if is_histogram { "a histogram is counted from a whole snapshot: " } else { "" };
    let text = format!(
        ".NET {version}, process {} ({}), {}: {what}all its threads stop while the heap is written: about {}, and it needs \
         up to {} more meanwhile",
        process.pid,
        process.name,
        format_bytes(rss),
        format_seconds(pause),
        format_bytes(rss / 4 * 5),
    );
    CollectPlan { text, expected_pause: pause, risk }
}

/// Reads an answer, for fuzzing.
pub(super) fn fuzz_answer(bytes: &[u8]) {
    let Some((header, payload)) = bytes.split_at_checked(20) else { return };
    if ipc::AnswerHead::parse(header).and_then(|head| head.error_in(payload)).is_some() {
        for (texts_before, has_version) in [(4, true), (4, false)] {
            let _ = version_in_payload(payload, texts_before, has_version);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc::encode_text;

    #[test]
    fn the_buffer_is_made_from_the_process_and_what_is_free_to_it() {
        let buffer = |free, rss, asked| {
            let (bytes, risk) = buffer_bytes_and_risk(7, free, rss, asked);
            (bytes / MIB, risk.map(|refusal| refusal.code))
        };
        assert_eq!(buffer(None, 80 * MIB, None), (256, None));
        assert_eq!(buffer(Some(10 << 30), 800 * MIB, None), (1000, None));
        assert_eq!(buffer(Some(500 * MIB), 800 * MIB, None), (400, None));
        assert_eq!(buffer(Some(300 * MIB), 800 * MIB, None), (240, Some(RefusalCode::NoMemory)));
        assert_eq!(buffer(Some(300 * MIB), 800 * MIB, Some(7 * MIB)), (7, Some(RefusalCode::NoMemory)));
        assert_eq!(buffer(Some(0), MIB, None), (1, Some(RefusalCode::NoMemory)));
    }

    #[test]
    fn another_file_of_the_name_is_no_socket() {
        let mut process = Process::open(std::process::id()).expect("this process");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&path).expect("bound");
        let flags = OFlags::PATH | OFlags::NOFOLLOW;
        let open = |path: &std::path::Path| rustix::fs::open(path, flags, rustix::fs::Mode::empty()).expect("there");
        assert!(is_socket_of(&process, &open(&path)) && !is_socket_of(&process, &open(folder.path())));
        process.uid += 1;
        assert!(!is_socket_of(&process, &open(&path)));
    }

    #[test]
    fn versions_are_read_in_both_layouts() {
        let texts = ["app", "Linux", "x64", "App", "9.0.7", "linux-x64"].map(encode_text).concat();
        let second = [&[0; 24][..], &texts].concat();
        let third = [&[1, 0, 0, 0][..], &second].concat();
        assert_eq!(version_in_payload(&second, 4, false).as_deref(), Some("9.0.7"));
        assert_eq!(version_in_payload(&third, 4, true).as_deref(), Some("9.0.7"));
        // The layout of another command.
        assert_eq!(version_in_payload(&third, 4, false), None);
        for cut in 0..third.len() {
            let _ = version_in_payload(&third[..cut], 4, true);
        }
    }
}
