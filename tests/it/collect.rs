//! `heapdump collect` without any runtime: what it refuses, and what it makes of peers that speak a protocol wrong on purpose.
//! After each of these nothing is left: no file, no folder.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::common::cmd::{Ran, finish, heapdump, project};
use crate::common::fixtures::unpacked;
use crate::common::peer::{
    Process, UnixPeer, attach_request, client_text, frame, hang, http, inspector, ipc, ipc_request, ipc_text,
};

/// Runs `collect` with JSON, in a folder in which a dump may be left, and gives what is in there afterwards.
pub fn collect_in(folder: &Path, args: &[&str]) -> (Ran, Vec<String>) {
    let mut command = heapdump(&[&["collect", "-f", "json"], args].concat());
    command.current_dir(folder);
    let ran = finish(command);
    let entries = folder.read_dir().expect("a folder").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    (ran, names)
}

fn collect(args: &[&str]) -> (Ran, Vec<String>) {
    collect_in(tempfile::tempdir().expect("a folder").path(), args)
}

/// A run that is refused with one of these words, and leaves nothing.
pub fn refused(args: &[&str], codes: &[&str]) -> Ran {
    let (ran, left) = collect(args);
    assert_eq!(ran.code, 2, "{}\n{}", ran.stdout, ran.stderr);
    let answer = ran.json();
    let code = answer["refusal"]["code"].as_str().expect("a code").to_string();
    assert!(codes.contains(&code.as_str()), "{code}, not {codes:?}: {}", ran.stderr);
    assert_eq!((&answer["complete"], &answer["file"]), (&false.into(), &serde_json::Value::Null));
    assert!(ran.stderr.contains(&format!("[{code}]")), "{}", ran.stderr);
    assert!(left.is_empty(), "{left:?}");
    ran
}

#[test]
fn what_is_no_process_or_no_runtime_is_refused() {
    refused(&["4194305", "-o", "x"], &["no-such-process"]);
    let mut idle = Process::idle();
    let ran = refused(&[&idle.pid(), "-o", "x"], &["no-runtime"]);
    assert!(ran.stderr.contains("(sleep) runs no .NET, Java or Node"), "{}", ran.stderr);
    refused(&[&idle.pid(), "-o", "x", "--runtime", "openj9"], &["not-supported-yet"]);
    refused(&[&idle.pid(), "-o", "x", "--runtime", "dotnet", "--all"], &["usage"]);
    refused(&[&idle.pid(), "-o", "x", "--runtime", "hotspot", "--buffer", "1MB"], &["usage"]);
    // No handler: the signals would end it.
    refused(&[&idle.pid(), "-o", "x", "--runtime", "hotspot"], &["signal-not-caught"]);
    refused(&[&idle.pid(), "-o", "x", "--runtime", "node", "--open-inspector"], &["signal-not-caught"]);
    refused(&[&idle.pid(), "-o", "x", "--runtime", "dotnet"], &["socket-missing"]);
    refused(&[&idle.pid(), "-o", "x", "--runtime", "chromium"], &["diagnostics-disabled"]);
    assert!(idle.is_alive());
}

#[test]
fn wrong_usage_is_an_error_before_anything_is_asked() {
    let idle = Process::idle();
    let pid = idle.pid();
    for args in [&["collect"][..], &["collect", &pid, "-o", "-", "-f", "json"], &["collect", &pid, "-f", "csv"]] {
        assert_eq!(finish(heapdump(args)).code, 2, "{args:?}");
    }
    for args in [["--timeout", "1w"], ["--buffer", "x"], ["--runtime", "perl"]] {
        assert_eq!(finish(heapdump(&[&["collect", &pid], &args[..]].concat())).code, 2, "{args:?}");
    }
}

#[test]
fn a_stopped_process_is_refused_at_once() {
    let idle = Process::idle();
    let pid = rustix::process::Pid::from_raw(idle.0.id() as i32).expect("a number");
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("sent");
    std::thread::sleep(Duration::from_millis(50));
    refused(&[&idle.pid(), "-o", "x"], &["stopped"]);
}

#[test]
fn a_file_that_is_there_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("x"), "mine").expect("written");
    let idle = Process::idle();
    let args = [&idle.pid(), "-o", "x", "--runtime", "hotspot"];
    let (ran, left) = collect_in(folder.path(), &args);
    assert_eq!((ran.json()["refusal"]["code"].as_str(), left), (Some("exists"), vec!["x".to_string()]));
    assert_eq!(std::fs::read(folder.path().join("x")).expect("there"), b"mine");
}

// Attach, HotSpot.

/// The path that a request names.
fn path_in(request: &[String]) -> String {
    request[2].split(' ').next_back().expect("a path").to_string()
}

/// A JVM that answers every request with this, and writes this many bytes into the FIFO before.
pub fn jvm(bytes: Option<usize>, answer: &'static str) -> UnixPeer {
    UnixPeer::start(move |mut stream: UnixStream| {
        let request = attach_request(&mut stream);
        assert_eq!(request.len(), 5, "{request:?}");
        assert_eq!((request[0].as_str(), request[1].as_str()), ("1", "jcmd"));
        assert!(request[2].starts_with("GC.heap_dump -overwrite /tmp/.heapdump-"), "{request:?}");
        if let Some(bytes) = bytes {
            let mut fifo = std::fs::File::options().write(true).open(path_in(&request)).expect("a FIFO");
            // The reader may have gone.
            let _ = fifo.write_all(&vec![7; bytes]);
        }
        let _ = stream.write_all(answer.as_bytes());
    })
}

fn ask_jvm(peer: &UnixPeer, more: &[&str], codes: &[&str]) -> Ran {
    let idle = Process::idle();
    let (pid, socket) = (idle.pid(), peer.name());
    let ran = refused(&[&[&pid[..], "-o", "x", "--runtime", "hotspot", "--socket", &socket], more].concat(), codes);
    let left = std::fs::read_dir("/tmp").expect("a folder").flatten();
    let prefix = format!(".heapdump-{pid}-");
    let left: Vec<_> = left.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix)).collect();
    assert!(left.is_empty(), "{left:?}");
    ran
}

#[test]
fn a_jvm_has_its_say_and_code_0_is_no_success() {
    for (answer, code) in [
        ("-1\nOperation not recognized!", "refused-by-target"),
        ("101\n", "protocol"),
        ("gibberish\n", "protocol"),
        ("", "protocol"),
        ("0\nUnable to create /tmp/\u{1b}[31mx: Permission denied\n", "refused-by-target"),
        ("0\nDumping heap ...\nDump file is incomplete: No space left on device\n", "no-space"),
        ("0\n", "refused-by-target"),
    ] {
        let ran = ask_jvm(&jvm(None, answer), &[], &[code]);
        assert!(!ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
        assert_eq!(ran.stderr.contains("[31mx"), answer.contains("[31mx"), "{}", ran.stderr);
    }
    ask_jvm(&jvm(Some(1000), "0\nHeap dump file created [123456789 bytes in 0.1 secs]\n"), &[], &["incomplete"]);
}

#[test]
fn a_jvm_that_is_silent_times_out() {
    let silent = UnixPeer::start(|_stream| hang());
    let ran = ask_jvm(&silent, &["--timeout", "300ms"], &["timeout"]);
    assert!(ran.stderr.contains("did not answer for 0.30 s"), "{}", ran.stderr);
    // It takes the request and never opens the FIFO.
    let idle = UnixPeer::start(|mut stream| {
        attach_request(&mut stream);
        hang();
    });
    ask_jvm(&idle, &["--timeout", "300ms"], &["timeout"]);
}

#[test]
fn what_comes_in_bytes_is_a_dump_when_it_is_whole() {
    let whole = unpacked("fixtures/hprof/tiny-4byte.hprof");
    let dump = whole.clone();
    let peer = UnixPeer::start(move |mut stream: UnixStream| {
        let request = attach_request(&mut stream);
        let mut fifo = std::fs::File::options().write(true).open(path_in(&request)).expect("a FIFO");
        for bytes in dump.chunks(7) {
            fifo.write_all(bytes).expect("written");
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(fifo);
        for byte in b"0\nHeap dump file created [3947 bytes in 0.125 secs]\n" {
            stream.write_all(&[*byte]).expect("written");
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let idle = Process::idle();
    let folder = tempfile::tempdir().expect("a folder");
    let args = [&idle.pid(), "-o", "x", "--runtime", "hotspot", "--socket", &peer.name()];
    let (ran, left) = collect_in(folder.path(), &args);
    let ran = ran.expect_code(0);
    let answer = ran.json();
    assert_eq!(left, ["x"]);
    assert_eq!(
        (&answer["bytes"], &answer["complete"], &answer["pause_ms"]),
        (&3947.into(), &true.into(), &125.0.into())
    );
    assert_eq!(answer["refusal"], serde_json::Value::Null);
    let path = folder.path().join("x");
    assert_eq!(std::fs::read(&path).expect("there"), whole);
    assert_eq!(path.metadata().expect("there").permissions().mode() & 0o777, 0o600);
}

/// Finding C9: a count that fits says nothing of the bytes.
#[test]
fn what_a_jvm_writes_must_be_a_dump() {
    let sending = |bytes: Vec<u8>| {
        UnixPeer::start(move |mut stream: UnixStream| {
            let request = attach_request(&mut stream);
            let mut fifo = std::fs::File::options().write(true).open(path_in(&request)).expect("a FIFO");
            fifo.write_all(&bytes).expect("written");
            drop(fifo);
            let answer = format!("0\nHeap dump file created [{} bytes in 0.125 secs]\n", bytes.len());
            stream.write_all(answer.as_bytes()).expect("written");
        })
    };
    let whole = unpacked("fixtures/hprof/tiny-8byte-segments.hprof");
    // The head and the segments' end of a dump without a class.
    let empty = [&whole[..31], &[0x1C, 0, 0, 0, 0, 0, 0, 0, 1, 7, 0x2C, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    for (bytes, expected) in [
        (Vec::new(), "wrote 0 bytes, which are no whole heap dump"),
        (vec![0xA5; 100_000], "wrote 100000 bytes, which are no whole heap dump"),
        (whole[..whole.len() - 1].to_vec(), "which are no whole heap dump"),
        (empty, "which are no whole heap dump"),
    ] {
        let ran = ask_jvm(&sending(bytes), &[], &["incomplete"]);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
    let idle = Process::idle();
    let folder = tempfile::tempdir().expect("a folder");
    let peer = sending(whole);
    let args = [&idle.pid(), "-o", "x", "--runtime", "hotspot", "--socket", &peer.name()];
    collect_in(folder.path(), &args).0.expect_code(0);
}

/// A JVM that knows no `-overwrite`: it writes this into a file of ours.
pub fn jvm_of_files(dump: Vec<u8>, answer: &'static str) -> UnixPeer {
    UnixPeer::start(move |mut stream: UnixStream| {
        let request = attach_request(&mut stream);
        if request[1] == "jcmd" {
            let text = "-1\njava.lang.IllegalArgumentException: Unknown argument '-overwrite' in diagnostic command.\n";
            return stream.write_all(text.as_bytes()).expect("written");
        }
        assert_eq!((request[1].as_str(), request[3].as_str()), ("dumpheap", "-live"));
        std::fs::write(&request[2], &dump).expect("written");
        stream.write_all(answer.as_bytes()).expect("written");
    })
}

/// Java 8 says neither how many bytes nor how long: the dump itself must be whole.
#[test]
fn a_jvm_that_cannot_write_into_a_fifo_writes_a_file() {
    let whole = unpacked("fixtures/hprof/zoo-jdk17-serial.hprof.zst");
    for answer in ["0\nHeap dump file created\n", "0\nHeap dump file created [SIZE bytes in 0.05 secs]\n"] {
        let answer: &'static str = Box::leak(answer.replace("SIZE", &whole.len().to_string()).into_boxed_str());
        let peer = jvm_of_files(whole.clone(), answer);
        let idle = Process::idle();
        let folder = tempfile::tempdir().expect("a folder");
        let args = [&idle.pid(), "-o", "x.gz", "--runtime", "hotspot", "--socket", &peer.name()];
        let (ran, left) = collect_in(folder.path(), &args);
        let answer = ran.expect_code(0).json();
        assert_eq!((answer["bytes"].as_u64(), left), (Some(whole.len() as u64), vec!["x.gz".to_string()]));
        assert!(answer["pause_ms"].is_number());
        let packed = std::fs::File::open(folder.path().join("x.gz")).expect("there");
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).expect("gzip");
        assert_eq!(bytes, whole);
        ask_jvm(&jvm_of_files(whole[..whole.len() - 1].to_vec(), "0\nHeap dump file created\n"), &[], &["incomplete"]);
        ask_jvm(&jvm_of_files(vec![7; 500], "0\nHeap dump file created\n"), &[], &["incomplete"]);
    }
}

#[test]
fn a_redacted_dump_has_no_values_and_the_first_one_is_gone() {
    let whole = unpacked("fixtures/hprof/zoo-jdk17-serial.hprof.zst");
    let peer = jvm_of_files(whole.clone(), "0\nHeap dump file created\n");
    let idle = Process::idle();
    let folder = tempfile::tempdir().expect("a folder");
    let args = [&idle.pid(), "-o", "x.gz", "--redact", "--runtime", "hotspot", "--socket", &peer.name()];
    let (ran, left) = collect_in(folder.path(), &args);
    let answer = ran.expect_code(0).json();
    assert_eq!(
        (&answer["file"], answer["bytes"].as_u64(), left),
        (&"x.gz".into(), Some(whole.len() as u64), vec!["x.gz".to_string()])
    );
    let copy = unpacked(&folder.path().join("x.gz").display().to_string());
    let has = |bytes: &[u8]| bytes.windows(14).any(|run| run == b"duplicate text");
    assert!(has(&whole) && !has(&copy) && copy.len() == whole.len());
    let (ran, _) = collect_in(folder.path(), &args);
    assert!(ran.code == 2 && ran.stderr.contains("exists"), "{}", ran.stderr);
    ask_jvm(
        &jvm_of_files(whole[..whole.len() - 1].to_vec(), "0\nHeap dump file created\n"),
        &["--redact"],
        &["incomplete"],
    );
    ask_jvm(&jvm(None, "-1\nOperation not recognized!"), &["--redact"], &["refused-by-target"]);
    // Killed while the process writes: the file has no name, so that nothing is left.
    let peer = UnixPeer::start(|mut stream| {
        attach_request(&mut stream);
        hang();
    });
    let folder = tempfile::tempdir().expect("a folder");
    let mut command =
        heapdump(&["collect", &idle.pid(), "-o", "x", "--redact", "--runtime", "hotspot", "--socket", &peer.name()]);
    let mut child = command.current_dir(folder.path()).stderr(std::process::Stdio::null()).spawn().expect("it starts");
    let holder = || {
        let processes = std::fs::read_dir("/proc").expect("there").flatten();
        let holds = |process: &std::fs::DirEntry| {
            let files = std::fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
            files.filter_map(|file| file.path().read_link().ok()).any(|file| file.starts_with(folder.path()))
        };
        processes.filter(holds).find_map(|process| process.file_name().to_str()?.parse::<u32>().ok())
    };
    let pid = (0..500).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        holder()
    });
    let pid = pid.expect("a process has the file open").to_string();
    assert!(std::process::Command::new("kill").args(["-KILL", &pid]).status().expect("kill runs").success());
    child.wait().expect("ended");
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
}

/// A JVM stands still until its last byte is read: an output that takes nothing more must not hold it.
#[test]
fn an_output_that_stalls_lets_the_jvm_go() {
    let (freed, was_freed) = std::sync::mpsc::channel();
    let peer = UnixPeer::start(move |mut stream: UnixStream| {
        let request = attach_request(&mut stream);
        let mut fifo = std::fs::File::options().write(true).open(path_in(&request)).expect("a FIFO");
        let chunk = vec![7; 1 << 20];
        let refused = (0..1000).find_map(|_| fifo.write_all(&chunk).err());
        let _ = freed.send(refused.map(|error| error.kind()));
    });
    let idle = Process::idle();
    let args = ["collect", &idle.pid(), "-o", "-", "--runtime", "hotspot", "--timeout", "1s", "--socket", &peer.name()];
    let mut child = heapdump(&args)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    // Nobody reads.
    let _output = child.stdout.take();
    let kind = was_freed.recv_timeout(Duration::from_secs(60)).expect("it was let go");
    assert_eq!(kind, Some(std::io::ErrorKind::BrokenPipe));
    let ended = child.wait_with_output().expect("ended");
    let text = String::from_utf8_lossy(&ended.stderr);
    assert!(
        ended.status.code() == Some(2) && text.contains("standard output took nothing for 1 s [timeout]"),
        "{text}"
    );
}

// .NET.

const UNKNOWN_COMMAND_ERROR: [u8; 4] = 0x8013_1385u32.to_le_bytes();

/// A runtime of version 9 whose session is served by a function.
pub fn dotnet(session: impl Fn(UnixStream) + Send + Sync + 'static) -> UnixPeer {
    UnixPeer::start(move |mut stream: UnixStream| {
        let Some((set, command, _)) = ipc_request(&mut stream) else { return };
        let ok = |payload: &[u8]| ipc(0xFF, 0, payload);
        let answer = match (set, command) {
            (4, 8) => ipc(0xFF, 0xFF, &UNKNOWN_COMMAND_ERROR),
            (4, 4) => {
                let texts = ["app", "Linux", "x64", "App", "9.0.7"].map(ipc_text).concat();
                ok(&[&[0; 24][..], &texts].concat())
            }
            (2, 1) => ok(&7u64.to_le_bytes()),
            (2, 5) => ipc(0xFF, 0xFF, &UNKNOWN_COMMAND_ERROR),
            (2, 3) => {
                // It may have gone.
                let _ = stream.write_all(&ok(&7u64.to_le_bytes()));
                return session(stream);
            }
            _ => panic!("command {set}, {command}"),
        };
        let _ = stream.write_all(&answer);
    })
}

pub fn dotnet_args<'a>(pid: &'a str, socket: &'a str) -> Vec<&'a str> {
    vec![pid, "-o", "x", "--runtime", "dotnet", "--timeout", "1s", "--yes", "--socket", socket]
}

fn ask_dotnet(peer: &UnixPeer, codes: &[&str]) -> Ran {
    let idle = Process::idle();
    refused(&dotnet_args(&idle.pid(), &peer.name()), codes)
}

/// A runtime that answers everything with these bytes.
fn answering(bytes: Vec<u8>) -> UnixPeer {
    UnixPeer::start(move |mut stream: UnixStream| {
        ipc_request(&mut stream);
        let _ = stream.write_all(&bytes);
    })
}

#[test]
fn a_dotnet_runtime_that_answers_wrong_is_refused() {
    ask_dotnet(&answering(ipc(0xFF, 0xFF, &UNKNOWN_COMMAND_ERROR)), &["refused-by-target"]);
    let ran = ask_dotnet(&answering(b"HTTP/1.1 400 Bad Request".to_vec()), &["protocol"]);
    assert!(ran.stderr.contains("first bytes 48 54 54 50"), "{}", ran.stderr);
    ask_dotnet(&answering(Vec::new()), &["protocol", "target-died"]);
    let ran = ask_dotnet(&answering(ipc(0xFF, 0, &[])[..15].to_vec()), &["protocol"]);
    assert!(ran.stderr.contains("closed after 15 of 20 bytes"), "{}", ran.stderr);
    ask_dotnet(&UnixPeer::start(|_| hang()), &["timeout"]);
    ask_dotnet(
        &UnixPeer::start(|mut stream| {
            ipc_request(&mut stream);
            let mut header = ipc(0xFF, 0, &[]);
            header[14..16].copy_from_slice(&u16::MAX.to_le_bytes());
            let _ = stream.write_all(&header);
            hang();
        }),
        &["timeout"],
    );
    ask_dotnet(&answering(ipc(0xFF, 0, &[0xFF; 100])), &["protocol", "target-died"]);
}

#[test]
fn a_trace_that_is_none_or_ends_early_is_refused() {
    ask_dotnet(
        &dotnet(|mut stream| drop(stream.write_all(b"Nettrace\x14\0\0\0!FastSerialization.1\x05\x05\x01"))),
        &["target-died"],
    );
    ask_dotnet(&dotnet(|mut stream| drop(stream.write_all(&[0xA5; 5000]))), &["protocol"]);
    ask_dotnet(
        &dotnet(|mut stream| {
            let _ = stream.write_all(b"Nettrace\x14\0\0\0!FastSerialization.1");
            hang();
        }),
        &["timeout"],
    );
    // The end mark is missing.
    let trace = unpacked("fixtures/nettrace/small-net9.nettrace.zst");
    ask_dotnet(&dotnet(move |mut stream| drop(stream.write_all(&trace[..trace.len() - 1]))), &["target-died"]);
}

#[test]
fn a_whole_trace_is_a_dump_however_it_comes() {
    let trace = unpacked("fixtures/nettrace/small-net9.nettrace.zst");
    let bytes = trace.clone();
    let peer = dotnet(move |mut stream| {
        let (slowly, at_once) = bytes.split_at(300);
        for byte in slowly {
            let _ = stream.write_all(&[*byte]);
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = stream.write_all(at_once);
    });
    let idle = Process::idle();
    let folder = tempfile::tempdir().expect("a folder");
    let (ran, left) = collect_in(folder.path(), &dotnet_args(&idle.pid(), &peer.name()));
    let answer = ran.expect_code(0).json();
    assert_eq!(left, ["x"]);
    assert_eq!(std::fs::read(folder.path().join("x")).expect("there"), trace);
    let info = finish(heapdump(&["stats", "-f", "json", &folder.path().join("x").display().to_string()])).json();
    assert_eq!(answer["objects"], info["totals"]["objects"]);
    assert_eq!((&answer["lost_events"], &answer["runtime_version"]), (&0.into(), &"9.0.7".into()));
}

/// Events were lost, the end of the collection among them, and other events trickle for ever: what came is kept under
/// another name, and `info` counts the same loss.
#[test]
fn a_trace_with_lost_events_is_kept_as_incomplete() {
    let trace = unpacked("fixtures/nettrace/dropped-net9.nettrace.zst");
    let whole = trace.clone();
    for trickles in [false, true] {
        // Without the blocks that have the end, and as far as the loss is told.
        let bytes = if trickles { [&trace[..855_833], &trace[936_085..1_039_134]].concat() } else { whole.clone() };
        let (left, was_left) = std::sync::mpsc::channel();
        let peer = dotnet(move |mut stream| {
            let _ = stream.write_all(&bytes);
            while trickles && stream.write_all(&[0]).is_ok() {
                std::thread::sleep(Duration::from_millis(100));
            }
            let _ = left.send(());
        });
        let idle = Process::idle();
        let folder = tempfile::tempdir().expect("a folder");
        let mut args = dotnet_args(&idle.pid(), &peer.name()).into_iter().map(String::from).collect::<Vec<_>>();
        args[6] = "20s".into();
        let (ran, names) = collect_in(folder.path(), &args.iter().map(String::as_str).collect::<Vec<_>>());
        let ran = ran.expect_code(2);
        let answer = ran.json();
        was_left.recv_timeout(Duration::from_secs(10)).expect("it did not wait for the end");
        assert_eq!(names, ["x.incomplete"], "{answer}");
        assert_eq!(answer["refusal"]["code"], "incomplete");
        assert!(answer["refusal"]["hint"].as_str().expect("a hint").contains("--buffer "), "{answer}");
        assert_eq!(answer["problems"][0]["code"], "dropped-events");
        assert_eq!(answer["file"], "x.incomplete");
        assert!(ran.stderr.contains("events were lost [dropped-events]"), "{}", ran.stderr);
        let kept = folder.path().join("x.incomplete").display().to_string();
        let info = finish(heapdump(&["info", "-f", "json", &kept])).json();
        let problems = info["problems"].as_array().expect("problems");
        let is_dropped = |code: &str| ["dropped-events", "dropped-elsewhere"].contains(&code);
        let dropped = problems.iter().filter(|problem| is_dropped(problem["code"].as_str().expect("a code")));
        let dropped: u64 = dropped.map(|problem| problem["count"].as_u64().expect("a count")).sum();
        assert_eq!(answer["lost_events"].as_u64(), Some(dropped));
    }
}

/// A histogram of .NET is counted from a snapshot, and says what `stats` says of it.
#[test]
fn a_histogram_of_dotnet_is_that_of_its_snapshot() {
    let name = "fixtures/nettrace/small-net9.nettrace.zst";
    let trace = unpacked(name);
    let peer = dotnet(move |mut stream| drop(stream.write_all(&trace)));
    let idle = Process::idle();
    let folder = tempfile::tempdir().expect("a folder");
    let (pid, socket) = (idle.pid(), peer.name());
    let (ran, left) = collect_in(folder.path(), &[&dotnet_args(&pid, &socket)[..], &["--histogram"]].concat());
    let ran = ran.expect_code(0);
    let answer = ran.json();
    assert!(ran.stderr.contains("a histogram is counted from a whole snapshot"), "{}", ran.stderr);
    assert_eq!((left, &answer["format"]), (vec!["x".to_string()], &"sos-dumpheap".into()));
    let stats = |file: &str| finish(heapdump(&["stats", "-f", "json", file])).expect_code(0).json();
    let (counted, whole) = (stats(&folder.path().join("x").display().to_string()), stats(name));
    assert_eq!(counted["problems"], serde_json::json!([]));
    let rows = |answer: &serde_json::Value| -> Vec<(String, u64, u64)> {
        let types = answer["types"].as_array().expect("types").iter();
        let row = |row: &serde_json::Value| {
            let number = |key: &str| row[key].as_u64().expect("a number");
            (row["type"].as_str().expect("a name").to_string(), number("objects"), number("shallow_bytes"))
        };
        types.map(row).collect()
    };
    assert!(rows(&whole).len() > 5 && rows(&counted) == rows(&whole), "{counted}");
    assert_eq!(answer["objects"], whole["totals"]["objects"]);
    // What is not whole is not counted.
    let lossy = unpacked("fixtures/nettrace/dropped-net9.nettrace.zst");
    let peer = dotnet(move |mut stream| drop(stream.write_all(&lossy)));
    refused(&[&dotnet_args(&idle.pid(), &peer.name())[..], &["--histogram"]].concat(), &["incomplete"]);
}

// Inspectors.

pub const SNAPSHOT: &str = r#"{"snapshot":{"meta":{"node_fields":["a"],"edge_fields":["b"]},"node_count":2,"edge_count":0},"nodes":[1,2],"edges":[],"strings":["x"]}"#;

/// A message with a chunk.
fn chunk(text: &str) -> Vec<u8> {
    let params = serde_json::json!({"chunk": text});
    serde_json::json!({"method": "HeapProfiler.addHeapSnapshotChunk", "params": params}).to_string().into_bytes()
}

const DONE: &[u8] = br#"{"id":2,"result":{}}"#;

/// How a websocket answers the one key that is sent, by RFC 6455.
const UPGRADED: &str = "HTTP/1.1 101 Switching Protocols\r\nsec-websocket-accept: Jy5jBgmwEchesryBnAk/B9qeOGA=\r\n\r\n";

/// An inspector with one target, whose websocket is served by a function behind the handshake and the first requests.
pub fn node(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    inspector(move |path, mut stream, port| match path {
        "/json/version" => http(&mut stream, r#"{"Browser":"node.js/v20.1.0","Protocol-Version":"1.1"}"#),
        "/json/list" => {
            let url = format!("ws://127.0.0.1:{port}/u");
            http(&mut stream, &format!(r#"[{{"type":"node","title":"x","webSocketDebuggerUrl":"{url}"}}]"#));
        }
        "/u" => {
            let _ = stream.write_all(UPGRADED.as_bytes());
            // Its first question is how large the heap is; it may have gone.
            let Some(asked) = client_text(&mut stream) else { return };
            assert!(asked.contains("Runtime.getHeapUsage"), "{asked}");
            let _ = stream.write_all(&frame(0x81, br#"{"id":4,"result":{"usedSize":2e8,"totalSize":3e8}}"#));
            if client_text(&mut stream).is_some_and(|text| text.contains("HeapProfiler.enable")) {
                serve(stream);
            }
        }
        _ => panic!("{path}"),
    })
}

pub fn ask_inspector(url: &str, codes: &[&str]) -> Ran {
    refused(&["--url", url, "-o", "x", "--timeout", "1s"], codes)
}

/// Sends this and no more, and goes when the other side has.
fn sends(frames: Vec<u8>) -> impl Fn(TcpStream) + Send + Sync {
    move |mut stream| {
        let _ = stream.write_all(&frames);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
}

/// Takes requests and says nothing until the other side leaves.
fn is_silent(mut stream: TcpStream) {
    while client_text(&mut stream).is_some_and(|text| !text.is_empty()) {}
}

/// A profile comes as it is; one that breaks off, and what is none, is refused.
#[test]
fn a_served_profile_is_a_dump_when_it_is_whole() {
    let profile = std::fs::read(project("fixtures/pprof/go-heap.pb.gz")).unwrap();
    let serve = |body: Vec<u8>, head: String| {
        inspector(move |path, mut stream, _| {
            assert_eq!(path, "/debug/pprof/heap");
            let _ = stream.write_all(head.as_bytes());
            body.chunks(700).for_each(|chunk| drop(stream.write_all(chunk)));
        }) + "/debug/pprof/heap"
    };
    let ok = || "HTTP/1.0 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n".to_string();
    let with_length = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", profile.len());
    for head in [ok(), with_length] {
        let folder = tempfile::tempdir().unwrap();
        let (ran, left) = collect_in(folder.path(), &[&serve(profile.clone(), head), "-o", "heap.pb.gz"]);
        let answer = ran.expect_code(0).json();
        assert_eq!(
            (&answer["complete"], &answer["format"], &answer["runtime"]),
            (&true.into(), &"pprof".into(), &"go".into())
        );
        assert_eq!(left, ["heap.pb.gz"]);
        let taken = unpacked(&folder.path().join("heap.pb.gz").display().to_string());
        assert_eq!(taken, unpacked("fixtures/pprof/go-heap.pb.gz"));
    }
    let (ran, left) = collect(&[&serve(profile[..900].to_vec(), ok()), "-o", "heap.pb.gz"]);
    assert_eq!((ran.code, ran.json()["refusal"]["code"].as_str()), (2, Some("incomplete")), "{left:?}");
    assert!(!left.contains(&"heap.pb.gz".to_string()), "{left:?}");
    refused(&[&serve(b"heap profile: 1: 2 [3: 4]".to_vec(), ok()), "-o", "x"], &["protocol"]);
    refused(&[&serve(Vec::new(), "HTTP/1.0 404 Not Found\r\n\r\n".into()), "-o", "x"], &["refused-by-target"]);
    refused(&["https://127.0.0.1:1/debug/pprof/heap", "--runtime", "go", "-o", "x"], &["no-target"]);
}

#[test]
fn what_is_no_inspector_is_refused() {
    ask_inspector(&inspector(|_, mut stream, _| drop(stream.write_all(b"HTTP/1.1 400 Bad\r\n\r\n"))), &["protocol"]);
    ask_inspector(&inspector(|_, mut stream, _| drop(stream.write_all(&[0xA5; 300]))), &["protocol"]);
    ask_inspector(&inspector(|_, _, _| {}), &["protocol"]);
    ask_inspector(&inspector(|_, _stream, _| hang()), &["timeout"]);
    ask_inspector(&inspector(|_, mut stream, _| http(&mut stream, "[1]")), &["protocol"]);
    let empty = inspector(|path, mut stream, _| match path {
        "/json/version" => http(&mut stream, r#"{"Browser":"node.js/v20.1.0","Protocol-Version":"1.1"}"#),
        _ => http(&mut stream, "[]"),
    });
    ask_inspector(&empty, &["no-target"]);
    ask_inspector("ftp://127.0.0.1:1", &["no-target"]);
}

/// Finding C12: what answers 101 to anything is no websocket.
#[test]
fn what_does_not_take_the_key_is_no_websocket() {
    let inspector = inspector(|path, mut stream, port| match path {
        "/json/list" => {
            let url = format!("ws://127.0.0.1:{port}/u");
            http(&mut stream, &format!(r#"[{{"type":"node","title":"x","webSocketDebuggerUrl":"{url}"}}]"#));
        }
        "/u" => drop(stream.write_all(UPGRADED.replace("Jy5j", "Jy5k").as_bytes())),
        _ => http(&mut stream, r#"{"Browser":"node.js/v20.1.0","Protocol-Version":"1.1"}"#),
    });
    ask_inspector(&inspector, &["protocol"]);
}

/// Finding C12: of many targets ten are listed.
#[test]
fn many_targets_are_ten_and_a_number() {
    let targets: Vec<String> = (1..=3000).map(|at| format!(r#"{{"type":"page","title":"page {at}"}}"#)).collect();
    let list = format!("[{}]", targets.join(","));
    let inspector = inspector(move |path, mut stream, _| match path {
        "/json/list" => http(&mut stream, &list),
        _ => http(&mut stream, r#"{"Browser":"Chrome/120","Protocol-Version":"1.3"}"#),
    });
    let ran = ask_inspector(&inspector, &["no-target"]);
    assert!(ran.stderr.contains("10 page \"page 10\" ; 2990 more: collect --list --url"), "{}", ran.stderr);
    assert!(ran.stderr.len() < 1000);
}

/// Finding C12: a stream that does not end.
#[test]
fn no_more_comes_than_may() {
    let endless = node(|mut stream: TcpStream| {
        let frames = frame(0x81, &chunk(&" ".repeat(50_000)));
        // Until the other side leaves: it says so, and waits for an end.
        let own = stream.try_clone().expect("a descriptor");
        std::thread::spawn(move || {
            is_silent(own.try_clone().expect("a descriptor"));
            let _ = own.shutdown(std::net::Shutdown::Both);
        });
        while stream.write_all(&frames).is_ok() {}
    });
    for name in ["x", "x.gz"] {
        let args = ["--url", &endless, "-o", name, "--timeout", "1s", "--max-size", "2MiB"];
        let ran = refused(&args, &["too-large"]);
        assert!(ran.stderr.contains(&format!("more than 2.0 MiB came for {name} [too-large]")), "{}", ran.stderr);
        assert!(ran.stderr.contains("--max-size allows more"), "{}", ran.stderr);
    }
}

/// An inspector whose answers to what is asked by a name are these results, or errors; all others are empty.
fn answering_inspector(answers: &'static [(&'static str, &'static str)]) -> String {
    inspector(move |path, mut stream, port| match path {
        "/json/version" => http(&mut stream, r#"{"Browser":"node.js/v20.1.0","Protocol-Version":"1.1"}"#),
        "/json/list" => {
            let url = format!("ws://127.0.0.1:{port}/u");
            http(&mut stream, &format!(r#"[{{"type":"node","title":"x","webSocketDebuggerUrl":"{url}"}}]"#));
        }
        _ => {
            let _ = stream.write_all(UPGRADED.as_bytes());
            while let Some(asked) = client_text(&mut stream).filter(|asked| !asked.is_empty()) {
                let asked: serde_json::Value = serde_json::from_str(&asked).expect("a request");
                let known = answers.iter().find(|(method, _)| asked["method"] == *method);
                let answer = known.map_or(r#""result":{}"#, |(_, answer)| answer);
                let _ = stream.write_all(&frame(0x81, format!(r#"{{"id":{},{answer}}}"#, asked["id"]).as_bytes()));
            }
        }
    })
}

/// Node.js tells its heap by space, behind a collection unless that is not wanted, and what was allocated meanwhile.
#[test]
fn node_tells_spaces_and_samples() {
    const SPACES: (&str, &str) = (
        "Runtime.evaluate",
        r#""result":{"result":{"type":"object","value":{"spaces":[{"space_name":"new_space","space_size":2e6,"space_used_size":1000},
           {"space_name":"old_space","space_used_size":3e9},{"space_name":"code_space","space_used_size":0}],
           "memory":{"rss":9e9,"external":700,"arrayBuffers":200}}}}"#,
    );
    const UNASKED: (&str, &str) = ("HeapProfiler.collectGarbage", r#""error":{"code":-1,"message":"not to be asked"}"#);
    const PROFILE: (&str, &str) = (
        "HeapProfiler.stopSampling",
        r#""result":{"profile":{"head":{"callFrame":{"functionName":"(root)"},"selfSize":0,"children":[{"callFrame":{"functionName":"keep",
           "scriptId":"1","url":"a.js","lineNumber":0,"columnNumber":0},"selfSize":4096,"id":2,"children":[]}]},"samples":[]}}"#,
    );
    const IDLE: (&str, &str) =
        ("HeapProfiler.getSamplingProfile", r#""error":{"code":-32000,"message":"sampling profiler was not started"}"#);
    let folder = tempfile::tempdir().expect("a folder");
    let stats = |args: &[&str]| {
        let (ran, left) = collect_in(folder.path(), &[args, &["-o", "x", "--force", "--timeout", "5s"]].concat());
        let answer = ran.expect_code(0).json();
        assert_eq!(left, ["x"]);
        let file = folder.path().join("x").display().to_string();
        (answer, finish(heapdump(&["stats", "-f", "json", &file])).expect_code(0).json())
    };
    let url = answering_inspector(&[SPACES]);
    let (answer, spaces) = stats(&["--url", &url, "--histogram"]);
    assert_eq!((&answer["format"], &answer["complete"]), (&"memory-infra".into(), &true.into()));
    let types: Vec<_> = spaces["types"].as_array().expect("types").iter().collect();
    let row =
        |row: &&serde_json::Value| (row["type"].as_str().unwrap().to_string(), row["total_bytes"].as_u64().unwrap());
    assert_eq!(
        types.iter().map(row).collect::<Vec<_>>(),
        [("old_space", 3_000_000_000), ("new_space", 1000), ("other", 500), ("array buffers", 200)]
            .map(|(name, bytes)| (name.to_string(), bytes))
    );
    assert_eq!(spaces["problems"], serde_json::json!([]));
    let url = answering_inspector(&[SPACES, UNASKED]);
    stats(&["--url", &url, "--histogram", "--all"]);
    let ran = refused(&["--url", &url, "--histogram", "-o", "y"], &["refused-by-target"]);
    assert!(ran.stderr.contains("not to be asked"), "{}", ran.stderr);
    let ran = refused(&["--url", &answering_inspector(&[]), "--histogram", "-o", "y"], &["refused-by-target"]);
    assert!(ran.stderr.contains("does not tell its heap statistics"), "{}", ran.stderr);

    let began = std::time::Instant::now();
    let (answer, profile) = stats(&["--url", &answering_inspector(&[IDLE, PROFILE]), "--profile", "300ms"]);
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!((&answer["format"], &profile["types"][0]["type"]), (&"heapprofile".into(), &"keep".into()));
    assert_eq!(profile["types"][0]["total_bytes"], 4096);
    refused(&["--url", &answering_inspector(&[IDLE]), "--profile", "1ms", "-o", "y"], &["protocol"]);
    refused(&["--url", &answering_inspector(&[PROFILE]), "--profile", "1ms", "-o", "y"], &["busy"]);
    refused(&[&Process::idle().pid(), "--runtime", "dotnet", "--profile", "1s", "-o", "y"], &["usage"]);
}

#[test]
fn an_inspector_that_goes_wrong_is_refused() {
    let error = frame(0x81, br#"{"id":2,"error":{"code":-32000,"message":"Failed to take heap snapshot"}}"#);
    let ran = ask_inspector(&node(sends(error)), &["refused-by-target"]);
    assert!(ran.stderr.contains("Failed to take heap snapshot"), "{}", ran.stderr);
    ask_inspector(&node(sends(frame(0x81, &chunk(&SNAPSHOT[..50])))), &["target-died"]);
    ask_inspector(&node(sends([frame(0x81, &chunk(&SNAPSHOT[..50])), frame(0x81, DONE)].concat())), &["incomplete"]);
    ask_inspector(&node(sends(frame(0x81, br#"{"method":"#))), &["protocol"]);
    ask_inspector(&node(sends(b"\x81\x82abcdxx".to_vec())), &["protocol"]);
    ask_inspector(&node(sends(b"\x81\x7f\x40\0\0\0\0\0\0\0".to_vec())), &["protocol"]);
    ask_inspector(&node(is_silent), &["timeout"]);
}

#[test]
fn a_whole_snapshot_is_a_dump_in_whatever_frames_it_comes() {
    let (first, second) = SNAPSHOT.split_at(60);
    let split = chunk(second);
    let frames = [
        frame(0x89, b"ping"),
        frame(0x81, &chunk(first)),
        frame(0x01, &split[..9]),
        frame(0x00, &split[9..20]),
        frame(0x80, &split[20..]),
        frame(0x81, DONE),
    ]
    .concat();
    let url = node(move |mut stream| {
        let asked = client_text(&mut stream).expect("a request");
        assert!(
            asked.contains("HeapProfiler.takeHeapSnapshot") && asked.contains("\"captureNumericValue\":true"),
            "{asked}"
        );
        for byte in &frames {
            let _ = stream.write_all(&[*byte]);
            std::thread::sleep(Duration::from_micros(500));
        }
        std::thread::sleep(Duration::from_millis(300));
    });
    let folder = tempfile::tempdir().expect("a folder");
    let (ran, left) = collect_in(folder.path(), &["--url", &url, "-o", "x", "--timeout", "5s"]);
    let answer = ran.expect_code(0).json();
    assert_eq!((left, &answer["objects"]), (vec!["x".to_string()], &2.into()));
    assert_eq!(std::fs::read_to_string(folder.path().join("x")).expect("there"), SNAPSHOT);
    assert_eq!((&answer["runtime"], &answer["runtime_version"]), (&"node".into(), &"v20.1.0".into()));
}

/// Command lines, behind `heapdump` and before `-f json`, whose answers have every key that there is. Peers of this test
/// answer them.
pub fn lines_with_all_keys() -> Vec<Vec<String>> {
    let words = |line: &[&str]| -> Vec<String> { line.iter().map(|word| word.to_string()).collect() };
    let trace = unpacked("fixtures/nettrace/dropped-net9.nettrace.zst");
    let runtime: &'static UnixPeer = Box::leak(Box::new(dotnet(move |mut stream| drop(stream.write_all(&trace)))));
    let idle: &'static Process = Box::leak(Box::new(Process::idle()));
    let url = node(|_stream| {});
    // What is called so is taken for it.
    let folder = Box::leak(Box::new(tempfile::tempdir().expect("a folder")));
    let program = folder.path().join("node");
    std::fs::copy("/bin/sleep", &program).expect("copied");
    let listed = std::process::Command::new(program).arg("60").spawn().expect("it starts");
    Box::leak(Box::new(Process(listed)));
    let (pid, socket) = (idle.pid(), runtime.name());
    // What is incomplete is kept, but of a device.
    let mut asked = dotnet_args(&pid, &socket);
    asked[2] = "/dev/null";
    vec![
        words(&[&["collect"], &asked[..]].concat()),
        words(&["collect", "--list", "--url", &url]),
        words(&["collect", "--list"]),
    ]
}
