//! Seconds and peak memory of a step, each in a process of its own so that peaks do not mix.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// What a step took.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    pub seconds: f64,
    /// Peak resident bytes of the process, above what was there before the step; 0 where the system does not tell.
    pub peak_bytes: u64,
}

/// Runs this program again as `--step WORDS`, `runs` times; the median by seconds.
pub fn in_own_process(words: &[&str], runs: usize) -> Figure {
    let mut figures: Vec<Figure> = (0..runs)
        .map(|_| {
            let output = Command::new(std::env::current_exe().expect("a path"))
                .arg("--step")
                .args(words)
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .and_then(Child::wait_with_output)
                .expect("the step runs");
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let mut numbers = text.lines().last().unwrap_or_default().split_whitespace();
            let mut number = || numbers.next().and_then(|word| word.parse().ok());
            match (number(), number()) {
                (Some(seconds), Some(peak)) => Figure { seconds, peak_bytes: peak as u64 },
                _ => panic!("step {words:?} failed: {text}"),
            }
        })
        .collect();
    figures.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    figures[runs / 2]
}

/// Prints what the step took to standard error, for `in_own_process`; `base` bytes were there before it.
pub fn report(started: Instant, base: u64) {
    eprintln!("{} {}", started.elapsed().as_secs_f64(), peak_bytes().saturating_sub(base) as f64);
}

/// Seconds and peak of a whole run of the program, in this program's own code.
pub fn heapdump(args: &[&str], dump: &Path, runs: usize) -> Figure {
    let mut words = vec!["program"];
    words.extend(args);
    let dump = dump.display().to_string();
    words.push(&dump);
    in_own_process(&words, runs)
}

/// Peak resident bytes of this process, on Linux.
pub fn peak_bytes() -> u64 {
    status_bytes("VmHWM:")
}

/// Resident bytes of this process now; its peak begins here anew (Linux: proc(5), clear_refs).
pub fn begin_peak() -> u64 {
    // Without it the peak is too high, and the figure says so by being large.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    status_bytes("VmRSS:")
}

fn status_bytes(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(key));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) * 1024
}
