//! Heap dumps of live processes, from outside: over the runtime's own socket, as its own tools do, with nothing but the
//! kernel. One file a protocol; beside them what is common: what a process is (`process`), the file (`dump_file`), what
//! is put right whatever happens ([`ExitAction`](crate::files::ExitAction)).
//!
//! The rules that hold for all runtimes:
//!
//! - No signal to a process that does not catch it; one request at a time; no second one after a pause.
//! - A dump has its name when it is whole: the runtime's own words and counts say so, not the end of the stream.
//! - Whatever ends this program, nothing is left in the process's folders but what the next run removes.
//! - What the process says is input: bounded, checked, escaped where it is printed.
//!
//! Not here: what the dump says (see `input`), how it is printed (see `cli`).

mod background_writer;
mod condition;
mod detect;
mod dotnet;
mod dump_file;
mod hotspot;
mod http;
mod inspector;
mod list;
mod part_file;
#[doc(hidden)]
pub mod peer_answers;
mod ports;
mod pprof;
mod private_folder;
mod process;
mod process_lock;
mod process_watch;
mod refusal;
mod request;
mod run;
mod second_process;
mod series;

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::input::Severity;
use crate::units::{count_with_noun, format_bytes};
pub use condition::Condition;
pub use list::{DumpTargetList, InspectorTargetRow, ProcessRow, list_inspector_targets, list_processes};
pub use refusal::{Refusal, RefusalCode};
pub use run::{collect, default_file_name};
pub use second_process::run_in_second_process;
pub use series::{SeriesEnd, SeriesObserver, SeriesOptions, SeriesResult, collect_series};

/// Runtime of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TargetRuntime {
    /// .NET Core 3.1 and later.
    Dotnet,
    /// OpenJDK's virtual machine, Java 8 and later.
    Hotspot,
    /// The virtual machine of IBM and Eclipse.
    OpenJ9,
    /// Node.js, and Electron's main process.
    Node,
    /// Chromium and what is made of it.
    Chromium,
    /// Go, and what else serves heap profiles over HTTP.
    Go,
}

impl TargetRuntime {
    /// The runtimes, by the words for them.
    pub const RUNTIME_NAMES: &[(&str, TargetRuntime)] = &[
        ("dotnet", TargetRuntime::Dotnet),
        ("hotspot", TargetRuntime::Hotspot),
        ("openj9", TargetRuntime::OpenJ9),
        ("node", TargetRuntime::Node),
        ("chromium", TargetRuntime::Chromium),
        ("go", TargetRuntime::Go),
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        TargetRuntime::RUNTIME_NAMES.iter().find(|(_, runtime)| *runtime == self).map_or("", |(name, _)| name)
    }

    /// The name of the format that its dumps have, and how their files' names end.
    fn format_and_extension(self) -> (&'static str, &'static str) {
        match self {
            TargetRuntime::Dotnet => ("nettrace", "nettrace"),
            TargetRuntime::Hotspot => ("hprof", "hprof"),
            TargetRuntime::OpenJ9 => ("phd", "phd"),
            TargetRuntime::Node | TargetRuntime::Chromium => ("v8-snapshot", "heapsnapshot"),
            TargetRuntime::Go => ("pprof", "pb.gz"),
        }
    }
}

/// Options of a collection.
#[derive(Debug, Clone, Default)]
pub struct CollectOptions {
    /// The process; none with an address.
    pub pid: Option<u32>,
    /// Address of an inspector, `http://127.0.0.1:9229`, or of a profile, `http://127.0.0.1:6060/debug/pprof/heap`.
    pub inspector_url: Option<String>,
    /// Page or worker: a number from 1, or a part of its title or address.
    pub inspector_target: Option<String>,
    /// What fills the heap in place of a dump: objects and bytes by class, as text (of Java; of .NET counted from a snapshot that
    /// is not kept); of Node.js bytes by space of its heap.
    pub take_histogram: bool,
    /// V8's sampling heap profile of so long in place of a dump; of Node.js and Chromium.
    pub profile_duration: Option<Duration>,
    /// Allow a signal that opens the inspector of a Node.js that has none open.
    pub open_inspector: bool,
    /// File of the dump; `-` is standard output. Default: a name made of the process and the time; of a histogram standard
    /// output.
    pub output: Option<PathBuf>,
    /// Folder of a file with the default name, in place of `output`.
    pub output_folder: Option<PathBuf>,
    /// Replace the file that is there.
    pub replace_existing: bool,
    /// Runtime of the process, not to be found out.
    pub runtime: Option<TargetRuntime>,
    /// Unreachable objects too, no collection first; of JVMs, and of the histogram of Node.js.
    pub include_unreachable: bool,
    /// The most that a .NET runtime may buffer. Default: by the size of the process.
    pub max_buffer_bytes: Option<u64>,
    /// No names of modules and methods; of .NET.
    pub omit_method_names: bool,
    /// The most bytes of the dump. Default: the free disk less a tenth, ten times as many where it is compressed.
    pub max_dump_bytes: Option<u64>,
    /// Longest time without a byte.
    pub silence_limit: Option<Duration>,
    /// Go on even if memory or disk may run out.
    pub accept_risk: bool,
    /// Of a dump that is not whole nothing is kept.
    pub discard_incomplete: bool,
    /// The runtime's socket, not to be found out: for tests.
    pub runtime_socket: Option<PathBuf>,
}

/// Plan of a collection.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CollectPlan {
    /// For people: the process, how long it will stop, what that takes.
    pub text: String,
    /// Time for which its threads will stop, about.
    pub expected_pause: Duration,
    /// Why it goes on only with the user's word: memory or disk may run out.
    pub risk: Option<Refusal>,
}

impl CollectPlan {
    /// A pause that was estimated, in tenths of a second, at least one.
    fn rounded_pause(pause: Duration) -> Duration {
        Duration::from_millis(100) * (pause.as_millis() / 100).max(1) as u32
    }

    /// Pauses from here on are asked about.
    const LONG_PAUSE_THRESHOLD: Duration = Duration::from_secs(5);

    /// Will the process stand still for long?
    pub fn is_pause_long(&self) -> bool {
        self.expected_pause > CollectPlan::LONG_PAUSE_THRESHOLD
    }
}

/// Whoever approves a collection, and is told how it goes on.
pub trait CollectSupervisor {
    /// Called before the request. Returns false if it is not to be made.
    fn approve(&mut self, plan: &CollectPlan) -> bool;
    /// Called every ten seconds while the process is at work.
    fn report_progress(&mut self, text: &str);
}

/// Agrees to everything.
#[cfg(test)]
struct AgreeingObserver;

#[cfg(test)]
impl CollectSupervisor for AgreeingObserver {
    fn approve(&mut self, _: &CollectPlan) -> bool {
        true
    }

    fn report_progress(&mut self, _: &str) {}
}

/// Result of a collection.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Collected {
    /// The process.
    pub pid: Option<u32>,
    /// Its runtime.
    pub runtime: Option<TargetRuntime>,
    /// As the runtime writes it.
    pub runtime_version: Option<String>,
    /// When the run began, in UTC.
    pub taken_at: String,
    /// The format of the dump.
    pub format: Option<&'static str>,
    /// The file as the user wrote it, or what is kept of a dump that is not whole; nothing where there is none.
    pub file: Option<String>,
    /// The path of a dump that is whole: what is shown of it need not be.
    #[serde(skip)]
    pub path: Option<PathBuf>,
    /// Bytes of the dump, before compression.
    pub bytes: u64,
    /// Is all of the heap in it?
    pub complete: bool,
    /// Objects, where the protocol tells.
    pub objects: Option<u64>,
    /// Events that the runtime had no room for.
    pub lost_events: u64,
    /// Time for which the process stood still, in milliseconds, by the runtime's own measure where it has one.
    pub pause_ms: Option<f64>,
    /// Of the whole run, in milliseconds.
    pub duration_ms: u64,
    /// Memory of the process before the request.
    pub target_rss_before: u64,
    /// The most that was seen until the end.
    pub target_rss_peak: u64,
    /// Problems besides.
    pub problems: Vec<CollectProblem>,
    /// The refusal, where there is no dump.
    pub refusal: Option<Refusal>,
}

/// Something that was met beside the dump.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CollectProblem {
    /// The word for it.
    pub code: &'static str,
    /// Number of occurrences.
    pub count: u64,
    /// Position of the first; not known here.
    pub first_at: Option<String>,
    /// Severity: a loss is a warning.
    pub severity: Severity,
}

impl Collected {
    /// The result, for people: a line, and what to do where there is no dump. They may hold what the process said.
    pub fn result_lines(&self) -> Vec<String> {
        let problems = self.problems.iter().map(CollectProblem::sentence);
        if let Some(refusal) = &self.refusal {
            let lines = [Some(refusal.to_string()), refusal.hint.clone()];
            return lines.into_iter().flatten().chain(problems).collect();
        }
        let mut line = format!("{}: {}", self.file.as_deref().unwrap_or_default(), format_bytes(self.bytes));
        if let Some(objects) = self.objects {
            line += &format!(", {}", count_with_noun(objects, "objects"));
        }
        if let Some(pause) = self.pause_ms {
            let pause = refusal::format_seconds(Duration::from_secs_f64(pause / 1000.0));
            line += &format!("; the process stood still for {pause}");
        }
        [line].into_iter().chain(problems).collect()
    }
}

impl CollectProblem {
    /// What is no loss.
    fn note(code: &'static str) -> Self {
        CollectProblem { code, count: 1, first_at: None, severity: Severity::Note }
    }

    fn sentence(&self) -> String {
        let (code, count) = (self.code, self.count);
        let words = match code {
            "other-session" => format!("{count} collections were asked for: another tool was at the process, too"),
            "dropped-events" => format!("{} were lost", count_with_noun(count, "events")),
            "sampled-shorter" => "the program came to its end: what is sampled is the time until then".to_string(),
            "malformed-block" => format!("{} cannot be read", count_with_noun(count, "places")),
            _ => format!("met {count} times"),
        };
        format!("{words} [{code}]")
    }
}
