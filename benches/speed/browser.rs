//! The browser on a terminal, as a user has it: keys in, and the time until the last of what they change is drawn.

use std::process::Command;
use std::time::{Duration, Instant};

use super::pty::Pty;
use super::{MILLION, dumps, heading};

/// Nothing more is drawn after so long; a figure is the time of the last byte before.
const QUIET: Duration = Duration::from_millis(2000);
/// The same for one key.
const QUIET_KEY: Duration = Duration::from_millis(25);
/// Keys that are pressed one by one.
const KEYS: u32 = 100;

/// Seconds of each step on a dump of 10 M objects with its index, and what the process has taken then.
pub fn table() {
    heading("`explore`, 10 M objects with an index", "| what | s | asked |");
    let dump = dumps::dump("xna-cf", 10 * MILLION).expect("written");
    let index = std::path::PathBuf::from(format!("{}.hdx", dump.display()));
    let heapdump = || Command::new(env!("CARGO_BIN_EXE_heapdump"));
    assert!(heapdump().args(["index", "-q"]).arg(&dump).status().expect("runs").success());
    let mut command = heapdump();
    command.arg("explore").arg(&dump).env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
    let begun = Instant::now();
    let mut pty = Pty::start(command, (110, 30)).expect("a terminal");
    let line = |what: &str, time: Duration, asked: &str| println!("| {what} | {:.4} | {asked} |", time.as_secs_f64());
    line("start to first rows", pty.until_quiet(begun, QUIET).expect("drawn"), "0.1");
    let drawn = String::from_utf8_lossy(&pty.drawn);
    assert!(drawn.contains("Retained") && drawn.contains("MiB") && drawn.contains("10,000,000 objects"), "{drawn}");
    let process = std::path::Path::new("/proc").join(pty.child.id().to_string());
    let mut press = |keys: &[u8], quiet: Duration| {
        let begun = Instant::now();
        pty.type_keys(keys).expect("typed");
        let time = pty.until_quiet(begun, quiet).expect("drawn");
        // What was drawn is not looked at again.
        pty.drawn.clear();
        time
    };
    line("types with retained bytes, the first time", press(b"2", QUIET), "-");
    line("a find over all types", press(b"/String\r", QUIET), "0.05");
    press(b"\x1b", QUIET);
    press(b"ss", QUIET);
    line("all objects of the type with most", press(b"\r", QUIET), "-");
    line("`G`", press(b"G", QUIET), "0.05");
    line("`g`", press(b"g", QUIET), "0.05");
    line("2,000 × `j` at once", press(&[b'j'; 2000], QUIET), "0.2");
    let all: Duration = (0..KEYS).map(|_| press(b"j", QUIET_KEY)).sum();
    line("`j`", all / KEYS, "0.005");
    let ticks = || {
        let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        // proc(5): user and system time, the 14th and 15th field of all.
        fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>()
    };
    let before = ticks();
    std::thread::sleep(Duration::from_secs(5));
    let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
    let memory = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap_or("RssAnon: unknown");
    println!("\nTicks of the processor in 5 s without a key: {} (asked: 0). {memory}.", ticks() - before);
    // Other tables time what is done without it.
    std::fs::remove_file(&index).expect("removed");
}
