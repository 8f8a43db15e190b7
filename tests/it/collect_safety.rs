//! `heapdump collect` does no harm: no signal to what only has a runtime's name, one run at a time from wherever it is
//! started, and every refusal that there is has a run here or beside that meets it.

use std::io::Write;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::collect::{ask_inspector, collect_in, dotnet, dotnet_args, node, refused};
use crate::common::cmd::{finish, heapdump, project, run_on_terminal};
use crate::common::live::not_tested;
use crate::common::peer::{Process, UnixPeer, attach_request, hang, http, inspector, ipc, ipc_request, ipc_text};

const NOBODY: u32 = 65534;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Programs that catch the signals and have the names of runtimes: `node` is a block chain's, `java` a script.
#[test]
fn a_name_is_not_enough_for_a_signal() {
    let line = "trap 'touch got' QUIT USR1; touch ready; while :; do read -t 0.1 < /dev/zero; done";
    for (name, options) in [
        ("node", &["--open-inspector"][..]),
        ("java", &["--runtime", "hotspot"]),
        ("server", &["--runtime", "hotspot"]),
        ("server", &["--runtime", "node", "--open-inspector"]),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut shell = Process::shell_named(folder.path(), name, line, &[]);
        until("it is ready", || folder.path().join("ready").exists());
        let ran = refused(&[&[&shell.pid()[..], "-o", "x"], options].concat(), &["no-runtime"]);
        assert!(ran.stderr.contains("no signal is sent"), "{}", ran.stderr);
        std::thread::sleep(Duration::from_millis(300));
        assert!(shell.is_alive() && !folder.path().join("got").exists(), "{name} {options:?}");
        let left = folder.path().read_dir().expect("a folder").flatten();
        let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with(".attach")).count();
        assert_eq!(left, 0);
    }
}

/// A profile's folder is its user's to fill: a FIFO there must not hold whoever looks, and a link leads nowhere.
#[test]
fn a_profile_that_is_a_trap_is_passed_by() {
    for is_link in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("DevToolsActivePort");
        if is_link {
            std::os::unix::fs::symlink("/dev/zero", &file).expect("a link");
        } else {
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, mode, 0).expect("a FIFO");
        }
        let profile = format!("--user-data-dir={}", folder.path().display());
        let browser = Process::shell_named(folder.path(), "chromium", "sleep 60; true", &[&profile]);
        until("it runs", || {
            let program = std::fs::read_link(format!("/proc/{}/exe", browser.pid())).unwrap_or_default();
            program.ends_with("chromium")
        });
        let answer = finish(heapdump(&["collect", "--list", "-f", "json"])).json();
        let rows = answer["processes"].as_array().expect("processes");
        let row = rows.iter().find(|row| row["pid"].as_u64() == browser.pid().parse().ok()).expect("listed");
        assert_eq!((&row["runtime"], &row["can_dump"]), (&"chromium".into(), &"diagnostics-disabled".into()));
    }
}

/// One run waits for its peer; another one is told which, also from another network, where names of sockets are others.
#[test]
fn two_runs_at_once_are_one_wherever_they_are_started() {
    let mut networks = vec![None];
    if is_root() {
        networks.push(Some(["unshare", "-n"]));
    } else {
        not_tested("runs in two networks: only root can make one");
    }
    for outer in &networks {
        for inner in &networks {
            let peer = UnixPeer::start(|mut stream| {
                ipc_request(&mut stream);
                hang();
            });
            let idle = Process::idle();
            let folder = tempfile::tempdir().expect("a folder");
            let start = |network: &Option<[&str; 2]>| {
                let (pid, socket) = (idle.pid(), peer.name());
                let mut args = dotnet_args(&pid, &socket);
                args[6] = "20s";
                let collect = heapdump(&[&["collect", "-f", "json"], &args[..]].concat());
                let mut command = match network {
                    Some([program, option]) => {
                        let mut command = Command::new(program);
                        command.arg(option).arg(collect.get_program()).args(collect.get_args());
                        command
                    }
                    None => collect,
                };
                command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
                Process(command.spawn().expect("it starts"))
            };
            let name = format!("@heapdump-collect-{}-", idle.pid());
            let first = start(outer);
            until("it holds the lock", || {
                let table = std::fs::read_to_string(format!("/proc/{}/net/unix", idle.pid())).unwrap_or_default();
                table.contains(&name)
            });
            let mut second = start(inner);
            let mut text = String::new();
            std::io::Read::read_to_string(&mut second.0.stdout.take().expect("piped"), &mut text).expect("text");
            let answer: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(answer["refusal"]["code"], "busy", "{answer}");
            let words = answer["refusal"]["text"].as_str().expect("a text");
            assert!(words.ends_with(&format!("(process {})", first.pid())), "{words}");
        }
    }
}

/// The lock goes with whoever holds it.
#[test]
fn a_run_that_was_killed_holds_nothing() {
    let hanging = UnixPeer::start(|mut stream| {
        ipc_request(&mut stream);
        hang();
    });
    let idle = Process::idle();
    let (pid, socket) = (idle.pid(), hanging.name());
    let mut first =
        Process(heapdump(&[&["collect"], &dotnet_args(&pid, &socket)[..]].concat()).spawn().expect("it starts"));
    until("it holds the lock", || {
        std::fs::read_to_string("/proc/net/unix")
            .is_ok_and(|table| table.contains(&format!("@heapdump-collect-{pid}-")))
    });
    let second = first.second().expect("the process that works");
    first.0.kill().expect("killed");
    first.0.wait().expect("ended");
    refused(&dotnet_args(&pid, &socket), &["timeout"]);
    // Its parent takes note of it at some time.
    let stat = || std::fs::read_to_string(format!("/proc/{second}/stat")).unwrap_or_default();
    until("it has ended", || stat().is_empty() || stat().contains(") Z "));
}

/// A run that is ended by a signal leaves nothing, at whichever file system the file is.
#[test]
fn a_run_that_is_ended_by_a_signal_leaves_nothing() {
    // Under nohup nothing ends by HUP.
    let status = std::fs::read_to_string("/proc/self/status").expect("readable");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
    let ignored = u64::from_str_radix(ignored.trim(), 16).expect("a mask");
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        if ignored >> (signal.as_raw() - 1) & 1 == 1 {
            continue;
        }
        let (asked, was_asked) = std::sync::mpsc::channel();
        let peer = UnixPeer::start(move |mut stream| {
            let request = attach_request(&mut stream);
            let path = request[2].split(' ').next_back().expect("a path").to_string();
            let mut fifo = std::fs::File::options().write(true).open(&path).expect("a FIFO");
            let _ = fifo.write_all(&[7; 1000]);
            let _ = asked.send(());
            hang();
        });
        let idle = Process::idle();
        let folder = tempfile::tempdir().expect("a folder");
        let pid = idle.pid();
        let args = ["collect", &pid, "-o", "x", "--runtime", "hotspot", "--socket", &peer.name()];
        let mut child = heapdump(&args).current_dir(folder.path()).spawn().expect("it starts");
        was_asked.recv_timeout(Duration::from_secs(30)).expect("it asks");
        kill_process(Pid::from_raw(child.id() as i32).expect("a number"), signal).expect("sent");
        let status = child.wait().expect("ended");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(signal.as_raw()));
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
        let left = std::fs::read_dir("/tmp").expect("a folder").flatten();
        let prefix = format!(".heapdump-{pid}-");
        assert_eq!(left.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix)).count(), 0);
    }
}

// Refusals that no other run meets.

#[test]
fn runtimes_that_are_too_old_are_told() {
    let old = UnixPeer::start(|mut stream| {
        let Some((set, command, _)) = ipc_request(&mut stream) else { return };
        assert_eq!(set, 4, "nothing more is asked of it");
        let texts = ["app", "Linux", "x64", "App", "3.0.1"].map(ipc_text).concat();
        let answer = match command {
            4 => ipc(0xFF, 0, &[&[0; 24][..], &texts].concat()),
            _ => ipc(0xFF, 0xFF, &0x8013_1385u32.to_le_bytes()),
        };
        let _ = stream.write_all(&answer);
    });
    let idle = Process::idle();
    let ran = refused(&dotnet_args(&idle.pid(), &old.name()), &["too-old"]);
    assert!(ran.stderr.contains(".NET Core 3.0.1: too old"), "{}", ran.stderr);
    let node6 = inspector(|path, mut stream, port| match path {
        "/json/version" => http(&mut stream, r#"{"Browser":"node.js/v6.17.1","Protocol-Version":"1.1"}"#),
        _ => {
            let list = format!(r#"[{{"type":"node","webSocketDebuggerUrl":"ws://127.0.0.1:{port}/u"}}]"#);
            http(&mut stream, &list);
        }
    });
    ask_inspector(&node6, &["too-old"]);
}

#[test]
fn a_process_of_another_user_is_refused() {
    if !is_root() {
        return not_tested("a process of another user: only root can be one");
    }
    let idle = Process::idle();
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = heapdump(&["collect", &idle.pid(), "-o", "x", "-f", "json"]);
    // The program's own folder may not be theirs to enter.
    let program = folder.path().join("heapdump");
    std::fs::copy(command.get_program(), &program).expect("copied");
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("open");
    let args: Vec<_> = command.get_args().map(std::ffi::OsStr::to_os_string).collect();
    command = Command::new(program);
    command.args(args).current_dir(folder.path()).stdin(Stdio::null()).uid(NOBODY).gid(NOBODY);
    let answer = finish(command).expect_code(2).json();
    assert_eq!(answer["refusal"]["code"], "not-permitted", "{answer}");
    assert!(answer["refusal"]["text"].as_str().is_some_and(|text| text.contains("belongs to root")), "{answer}");
}

/// A control group leaves less than a third of what a snapshot takes: only on the user's word it goes on.
#[test]
fn a_process_without_memory_for_it_is_not_asked() {
    let group = Path::new("/sys/fs/cgroup/memory").join(format!("heapdump-test-{}", std::process::id()));
    if std::fs::create_dir(&group).is_err() {
        return not_tested("a process without memory: no control group can be made here");
    }
    let idle = Process::idle();
    std::fs::write(group.join("tasks"), idle.pid()).expect("moved");
    std::fs::write(group.join("memory.limit_in_bytes"), "200K").expect("limited");
    let peer = dotnet(|_stream| {});
    let (pid, socket) = (idle.pid(), peer.name());
    let mut args = dotnet_args(&pid, &socket);
    args.retain(|arg| *arg != "--yes");
    refused(&args, &["no-memory"]);
    // Asked all the same, its peer says that it has ended.
    refused(&dotnet_args(&pid, &socket), &["target-died"]);
    drop(idle);
    until("the group is empty", || std::fs::remove_dir(&group).is_ok());
}

/// A pause of more than 5 s is asked about on a terminal: 200 MB of heap are 8 s.
#[test]
fn a_long_pause_is_asked_about() {
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = std::sync::Arc::clone(&asked);
    let url = node(move |_stream: TcpStream| seen.store(true, std::sync::atomic::Ordering::SeqCst));
    let folder = tempfile::tempdir().expect("a folder");
    // What stands in for the user says nothing, which is no.
    let line = format!("cd {}; heapdump collect --url {url} -o x", folder.path().display());
    let ran = run_on_terminal(&line, 200).expect_code(2);
    assert!(ran.stdout.contains("about 8 s of CPU") && ran.stdout.contains("go on? [y/N]"), "{}", ran.stdout);
    assert!(ran.stdout.contains(&format!("[{}]", "declined")), "{}", ran.stdout);
    assert!(!asked.load(std::sync::atomic::Ordering::SeqCst), "{}", ran.stdout);
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
}

#[test]
fn what_the_system_says_is_passed_on() {
    let idle = Process::idle();
    let folder = tempfile::tempdir().expect("a folder");
    let (ran, _) = collect_in(folder.path(), &[&idle.pid(), "-o", ".", "--runtime", "hotspot"]);
    assert_eq!(ran.json()["refusal"]["code"], "system");
}

/// Every word for a refusal stands in the document, with when it is said, and a run of the tests meets it.
#[test]
fn the_list_of_refusals_is_whole() {
    let text = |path: &str| std::fs::read_to_string(project(path)).expect("readable");
    let source = text("src/collect/refusal.rs");
    let document = text("docs/getting-a-dump.md");
    let tests = ["tests/it/collect.rs", "tests/it/collect_live.rs", "tests/it/collect_safety.rs"].map(text).concat();
    let list = source.split("pub enum RefusalCode {").nth(1).and_then(|rest| rest.split('}').next()).expect("a list");
    let names = list.lines().filter_map(|line| line.trim().strip_suffix(',')).filter(|name| !name.contains(' '));
    let words = names.map(|name| {
        let letters = name.chars().enumerate();
        let dashed =
            letters.map(|(place, c)| if place > 0 && c.is_uppercase() { format!("-{c}") } else { c.to_string() });
        dashed.collect::<String>().to_lowercase()
    });
    let words: Vec<String> = words.collect();
    assert_eq!(words.len(), 26, "{words:?}");
    for word in words {
        assert!(document.contains(&format!("`{word}`")), "{word} is not documented");
        // Of a system that is not Linux, where these tests do not run.
        let is_met = tests.contains(&format!("\"{word}\"")) || word == "not-supported-here";
        assert!(is_met, "{word} is met by no test");
    }
}
