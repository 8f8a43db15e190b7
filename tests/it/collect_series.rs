//! `heapdump collect --histogram`, `--every` and `--when` at a JVM that is played.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::cmd::{Ran, finish, heapdump, project, run_with_input};
use crate::common::fixtures::unpacked;
use crate::common::peer::{Process, UnixPeer, attach_request};

/// A JVM with 100 sessions of 1,000 bytes, and as many more each time it is asked; it gives no dumps.
fn leaking_jvm() -> UnixPeer {
    let asked = AtomicU64::new(0);
    UnixPeer::start(move |mut stream| {
        let request = attach_request(&mut stream);
        assert_eq!(request[1], "jcmd");
        assert!(["GC.class_histogram", "GC.class_histogram -all"].contains(&request[2].as_str()), "{request:?}");
        let count = (asked.fetch_add(1, Ordering::SeqCst) + 1) * 100;
        let text = format!(
            "0\n num     #instances         #bytes  class name (module)\n---\n   1: {count} {}  L$Session\n   2: 7 70  [B \
             (java.base@17)\nTotal {} {}\n",
            count * 1000,
            count + 7,
            count * 1000 + 70
        );
        let _ = stream.write_all(text.as_bytes());
    })
}

/// A JVM that answers in these words.
fn answering_jvm(answer: &'static str) -> UnixPeer {
    UnixPeer::start(move |mut stream| {
        attach_request(&mut stream);
        let _ = stream.write_all(answer.as_bytes());
    })
}

fn command(peer: &UnixPeer, pid: &str, more: &[&str]) -> std::process::Command {
    heapdump(&[&["collect", pid, "--runtime", "hotspot", "--socket", &peer.name()], more].concat())
}

fn collect(peer: &UnixPeer, more: &[&str]) -> Ran {
    finish(command(peer, &Process::idle().pid(), more))
}

/// A series, however full the disk of the tests is.
fn series(peer: &UnixPeer, more: &[&str]) -> Ran {
    collect(peer, &[&["--histogram", "--min-free", "0"], more].concat())
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_histogram_is_the_text_of_the_jvm_behind_its_time() {
    let ran = collect(&leaking_jvm(), &["--histogram", "--all"]).expect_code(0);
    assert!(ran.stderr.contains("all its threads stop while its objects are counted"), "{}", ran.stderr);
    let info = run_with_input(&["info", "-", "-f", "json"], ran.stdout.as_bytes()).expect_code(0).json();
    let snapshot = &info["snapshots"][0];
    assert_eq!((&snapshot["objects"], &snapshot["shallow_bytes"]), (&107.into(), &100_070.into()));
    assert_eq!(snapshot["taken_at"].as_str(), ran.stdout.lines().next());
    assert_eq!(info["problems"], serde_json::json!([]));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("h.txt").display().to_string();
    let answer = collect(&leaking_jvm(), &["--histogram", "-o", &file, "-f", "json"]).expect_code(0).json();
    assert_eq!((&answer["format"], &answer["complete"]), (&"jvm-histogram".into(), &true.into()));
    assert_eq!(answer["bytes"].as_u64(), std::fs::metadata(&file).ok().map(|facts| facts.len()));
}

#[test]
fn a_histogram_that_breaks_off_is_none() {
    for (answer, code) in [
        ("0\n num     #instances         #bytes  class name\n   1: 7 70  [B\n", "incomplete"),
        ("0\njava.lang.IllegalArgumentException: Unknown diagnostic command\n", "refused-by-target"),
        ("-1\n", "refused-by-target"),
        ("", "protocol"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("h.txt").display().to_string();
        let ran = collect(&answering_jvm(answer), &["--histogram", "-o", &file]).expect_code(2);
        assert!(ran.stderr.contains(&format!("[{code}]")), "{}", ran.stderr);
        assert_eq!(names_in(folder.path()), [""; 0]);
    }
    let idle = Process::idle();
    for (runtime, words) in
        [("chromium", "take a dump: heapdump stats FILE"), ("openj9", "GC.class_histogram of its own JDK")]
    {
        let ran = finish(heapdump(&["collect", &idle.pid(), "--histogram", "--runtime", runtime])).expect_code(2);
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }
}

#[test]
fn a_series_is_a_folder_that_trend_reads() {
    let peer = leaking_jvm();
    let folder = tempfile::tempdir().expect("a folder");
    let watched = folder.path().join("new/watched").display().to_string();
    let began = Instant::now();
    // What may stay of dumps is nothing to histograms.
    let ran = series(&peer, &["--every", "1s", "--times", "3", "--keep", "1", "-o", &watched]);
    let ran = ran.expect_code(0);
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(ran.stderr.matches("all its threads stop").count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("the series ends: 3 files taken"), "{}", ran.stderr);
    let names = names_in(Path::new(&watched));
    // Two may be of one second.
    assert!(names.len() == 3 && names.iter().all(|name| name.split('.').nth(1).map(str::len) == Some(3)), "{names:?}");
    let trend = finish(heapdump(&["trend", &watched, "-q", "-f", "json"])).expect_code(0).json();
    assert_eq!(trend["types"][0]["objects"], serde_json::json!([100, 200, 300]));
    let slope = trend["types"][0]["objects_per_hour"].as_f64().expect("a slope");
    assert!((300_000.0..400_000.0).contains(&slope), "{slope} sessions an hour");
    // On standard output it is a log.
    let log = series(&peer, &["--every", "1s", "--for", "1s", "-o", "-"]).expect_code(0).stdout;
    assert_eq!(log.matches("Total ").count(), 2, "{log}");
    let rows = series(&peer, &["--every", "1s", "--times", "1", "-o", &watched, "-f", "jsonl"]);
    let row = rows.expect_code(0).json();
    assert_eq!((&row["format"], &row["refusal"]), (&"jvm-histogram".into(), &serde_json::Value::Null));
}

#[test]
fn a_series_ends_with_its_process_at_the_disk_and_by_a_signal() {
    let (peer, mut idle) = (leaking_jvm(), Process::idle());
    let folder = tempfile::tempdir().expect("a folder");
    let watched = folder.path().join("w");
    let path = watched.display().to_string();
    let first_file = || {
        let began = Instant::now();
        while names_in(&watched).is_empty() {
            assert!(began.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let series = ["--histogram", "--every", "1h", "-o", &path, "--min-free", "0"];
    let mut child =
        command(&peer, &idle.pid(), &series).stderr(std::process::Stdio::null()).spawn().expect("it starts");
    first_file();
    kill_process(Pid::from_raw(child.id() as i32).expect("a number"), Signal::TERM).expect("sent");
    let status = child.wait().expect("ended");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(Signal::TERM.as_raw()));
    assert_eq!(names_in(&watched).len(), 1);
    std::fs::remove_dir_all(&watched).expect("removed");
    let ended = std::thread::scope(|scope| {
        let command = command(&peer, &idle.pid(), &series);
        let ended = scope.spawn(move || finish(command));
        first_file();
        idle.0.kill().expect("killed");
        ended.join().expect("no panic")
    });
    assert!(ended.expect_code(0).stderr.contains("the process has ended: 1 file taken"));
    let full = collect(&peer, &["--histogram", "--every", "1s", "-o", &path, "--min-free", "9000TiB"]).expect_code(2);
    assert!(full.stderr.contains("are left alone [no-space]"), "{}", full.stderr);
    // What is refused at once ends a series.
    let refused = collect(&answering_jvm("-1\n"), &series).expect_code(2);
    assert!(refused.stderr.contains("[refused-by-target]"), "{}", refused.stderr);
}

#[test]
fn a_condition_calls_for_it_when_it_holds() {
    let peer = leaking_jvm();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    let began = Instant::now();
    let held = series(&peer, &["--when", "memory > 99% or memory > 1KiB for 2s", "-o", &path]);
    let (held, took) = (held.expect_code(0), began.elapsed());
    assert!(held.stderr.contains(": memory > 1KiB for 2s"), "{}", held.stderr);
    assert!((2.0..5.0).contains(&took.as_secs_f64()), "{took:?}");
    assert_eq!(names_in(folder.path()).len(), 1);
    let never = series(&peer, &["--when", "memory > 99%", "--for", "1s", "-o", &path]).expect_code(1);
    assert!(never.stderr.contains("0 files taken"), "{}", never.stderr);
    let unknown = series(&peer, &["--when", "heap > 1KiB", "-o", &path]).expect_code(2);
    assert!(unknown.stderr.contains("does not publish") && unknown.stderr.contains("[usage]"), "{}", unknown.stderr);
}

#[test]
fn wrong_usage_of_a_series_asks_nothing() {
    let idle = Process::idle();
    let pid = idle.pid();
    for (args, words) in [
        (&["--times", "3"][..], "required"),
        (&["--histogram", "--every", "10ms", "-o", "x"], "1s or more"),
        (&["--every", "1s"], "-o FOLDER"),
        (&["--every", "1s", "-o", "-"], "-o FOLDER"),
        (&["--every", "1s", "--histogram", "-o", "-", "--runtime", "node"], "-o FOLDER"),
        (&["--profile", "0s", "-o", "x"], "in no time"),
        (&["--every", "1s", "--when", "memory > 5%", "-o", "x"], "--histogram"),
        (&["--every", "1s", "-o", "x", "-f", "json"], "jsonl"),
        (&["--when", "memory < 5%", "-o", "x"], "no condition"),
        (&["--every", "1s", "--redact", "-o", "x"], "cannot be used"),
    ] {
        let runtime = if args.contains(&"--runtime") { &[][..] } else { &["--runtime", "hotspot"] };
        let ran = finish(heapdump(&[&["collect", &pid], runtime, args].concat())).expect_code(2);
        assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
    }
}

/// What a condition calls for is looked at when the wait begins.
#[test]
fn what_could_not_be_taken_is_refused_before_the_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("w").display().to_string();
    let idle = Process::idle();
    let pid = idle.pid();
    for (more, words) in [
        (&["--runtime", "node"][..], "[signal-not-caught]"),
        (&["--runtime", "node", "--histogram"], "[signal-not-caught]"),
        (&["--runtime", "chromium", "--histogram"], "take a dump: heapdump stats FILE"),
        (&["--runtime", "dotnet"], "[socket-missing]"),
        (&["--runtime", "dotnet", "--histogram"], "[socket-missing]"),
        (&["--runtime", "hotspot"], "[signal-not-caught]"),
        (&["--runtime", "hotspot", "--histogram", "--every", "1h"], "[signal-not-caught]"),
        (&["--runtime", "openj9"], "[not-supported-yet]"),
        (&["--runtime", "go"], "[no-target]"),
        (&[], "[no-runtime]"),
        (&["--runtime", "hotspot", "--socket", "x", "--min-free", "9000TiB"], "[no-space]"),
    ] {
        let words_of_line =
            [&["collect", &pid, "--when", "memory > 99%", "-o", &path, "--min-free", "0"], more].concat();
        let min_free = more.contains(&"--min-free");
        let words_of_line = words_of_line.into_iter().enumerate().filter(|(at, _)| !(min_free && [6, 7].contains(at)));
        let began = Instant::now();
        let ran = finish(heapdump(&words_of_line.map(|(_, word)| word).collect::<Vec<_>>())).expect_code(2);
        assert!(ran.stderr.contains(words) && began.elapsed() < Duration::from_secs(20), "{more:?}: {}", ran.stderr);
    }
    assert_eq!(names_in(Path::new(&path)), [""; 0]);
}

/// A folder has any name that the system takes.
#[test]
fn old_dumps_go_from_a_folder_of_another_encoding() {
    use std::os::unix::ffi::OsStrExt;
    let whole = unpacked("fixtures/hprof/zoo-jdk17-serial.hprof.zst");
    let peer = crate::collect::jvm_of_files(whole, "0\nHeap dump file created\n");
    let folder = tempfile::tempdir().expect("a folder");
    let watched = folder.path().join(std::ffi::OsStr::from_bytes(b"w\xff"));
    let idle = Process::idle();
    let mut command =
        command(&peer, &idle.pid(), &["--every", "1s", "--times", "3", "--keep", "1", "--min-free", "0", "-o"]);
    command.arg(&watched);
    finish(command).expect_code(0);
    assert_eq!(names_in(&watched).len(), 1, "{:?}", names_in(&watched));
}

/// The manifest that the document shows: the line of its sidecar is run, with a shell and `pidof` as there, at a process that is no JVM.
#[test]
fn the_line_of_the_sidecar_is_a_command() {
    let document = std::fs::read_to_string(project("docs/watching.md")).expect("readable");
    let manifest = document.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a manifest");
    let folder = tempfile::tempdir().expect("a folder");
    let block = manifest.split("- |\n").nth(1).expect("a block").lines();
    let line: String =
        block.take_while(|line| line.starts_with("          ")).map(|line| format!("{}\n", line.trim())).collect();
    assert!(
        line.contains("pidof java") && line.contains("-o /dumps") && manifest.contains("mountPath: /dumps"),
        "{line}"
    );
    assert_eq!(manifest.matches("runAsUser: 1000").count(), 2);
    assert!(manifest.contains("\n  shareProcessNamespace: true\n"));
    let idle = Process::idle();
    for (name, text) in [
        ("pidof", format!("#!/bin/sh\necho {}\n", idle.pid())),
        ("heapdump", format!("#!/bin/sh\nexec {} \"$@\" --runtime hotspot\n", env!("CARGO_BIN_EXE_heapdump"))),
    ] {
        std::fs::write(folder.path().join(name), text).expect("written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(folder.path().join(name), mode).expect("set");
    }
    let dumps = folder.path().join("dumps").display().to_string();
    let line = line.replace("/dumps", &dumps).replace("sleep 3600", "true");
    let mut command = std::process::Command::new("sh");
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").expect("a path"));
    let ran = finish({
        command.args(["-c", &line]).env("PATH", path);
        command
    });
    // All words are known, and what is not a JVM is refused before the wait.
    assert!(ran.stderr.contains("[signal-not-caught]") || ran.stderr.contains("[no-space]"), "{line}{}", ran.stderr);
}
