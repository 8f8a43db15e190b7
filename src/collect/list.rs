//! List of what can be dumped. Of processes `/proc` alone is read, but for one request to .NET and to inspectors
//! that a command line names.

use std::time::Duration;

use rustix::process::Signal;
use serde::Serialize;

use super::detect::{detect_runtime, is_browser_helper};
use super::hotspot::{PerfData, check_attachable};
use super::process::{Process, all_pids, user_name};
use super::refusal::{Refusal, RefusalCode};
use super::{TargetRuntime, dotnet, inspector};

/// A .NET runtime that does not answer by then is listed with the version that its path gives.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// List of what can be dumped.
#[derive(Debug, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum DumpTargetList {
    /// On this machine.
    #[non_exhaustive]
    Processes {
        /// By number.
        processes: Vec<ProcessRow>,
        /// Processes that this user may not look into.
        unreadable: u64,
        #[serde(skip)]
        /// Their numbers.
        unreadable_pids: Vec<u32>,
    },
    /// Behind an inspector.
    #[non_exhaustive]
    InspectorTargets {
        /// In the inspector's order.
        targets: Vec<InspectorTargetRow>,
    },
}

/// A process that runs what gives heap dumps.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct ProcessRow {
    /// Its number.
    pub pid: u32,
    /// Its user.
    pub user: String,
    /// Its runtime.
    pub runtime: TargetRuntime,
    /// As the runtime writes it; where it can be told without asking, or by .NET's answer.
    pub version: Option<String>,
    /// Bytes of the heap in use, garbage included; of JVMs.
    pub heap: Option<u64>,
    /// Bytes of memory in use.
    pub memory: u64,
    /// `yes`, or the word of the refusal.
    pub can_dump: String,
    /// Command that was started.
    pub command: String,
}

/// A page or worker.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct InspectorTargetRow {
    /// From 1, for `--target`.
    pub number: usize,
    /// `page`, `node`, `worker`.
    pub kind: String,
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
}

impl DumpTargetList {
    /// Is there nothing?
    pub fn is_empty(&self) -> bool {
        match self {
            DumpTargetList::Processes { processes, .. } => processes.is_empty(),
            DumpTargetList::InspectorTargets { targets } => targets.is_empty(),
        }
    }

    /// Note beside the list.
    pub fn unreadable_note(&self) -> Option<String> {
        match self {
            DumpTargetList::Processes { unreadable: count @ 1.., unreadable_pids, .. } => {
                let which = match rustix::process::geteuid().is_root() {
                    // There are few, which protect themselves.
                    true => format!(": {}", first_pids_text(unreadable_pids)),
                    false => ": they are of other users; root can".into(),
                };
                Some(format!("{} cannot be looked into{which}", crate::units::count_with_noun(*count, "processes")))
            }
            _ => None,
        }
    }
}

/// Ten at most, and how many more there are.
fn first_pids_text(pids: &[u32]) -> String {
    const MAX_NAMED_PIDS: usize = 10;
    let named: Vec<String> = pids.iter().take(MAX_NAMED_PIDS).map(u32::to_string).collect();
    let more = pids.len().saturating_sub(MAX_NAMED_PIDS);
    named.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// Lists the processes of this machine.
pub fn list_processes() -> DumpTargetList {
    let mut pids: Vec<u32> = all_pids().collect();
    pids.sort_unstable();
    let (mut processes, mut unreadable_pids) = (Vec::new(), Vec::new());
    for pid in pids.into_iter().filter(|&pid| pid != std::process::id()) {
        // One that has ended meanwhile is none.
        let Ok(process) = Process::open(pid) else { continue };
        match detect_runtime(&process) {
            Ok(runtime) if !is_browser_helper(&process, runtime) => processes.extend(process_row(&process, runtime)),
            Err(refusal) if refusal.code == RefusalCode::NotPermitted => unreadable_pids.push(pid),
            _ => {}
        }
    }
    DumpTargetList::Processes { processes, unreadable: unreadable_pids.len() as u64, unreadable_pids }
}

/// Lists the pages and workers behind an inspector. Error: `protocol`, `timeout`, what the system says.
pub fn list_inspector_targets(url: &str) -> Result<DumpTargetList, Refusal> {
    let rows = inspector::list_target_fields(url)?.into_iter().enumerate();
    let row = |(at, (kind, title, url))| InspectorTargetRow { number: at + 1, kind, title, url };
    Ok(DumpTargetList::InspectorTargets { targets: rows.map(row).collect() })
}

fn process_row(process: &Process, runtime: TargetRuntime) -> Option<ProcessRow> {
    let state = process.state().ok()?;
    let data = (runtime == TargetRuntime::Hotspot).then(|| PerfData::of(process)).flatten();
    let published = data.as_ref().and_then(|data| data.full_java_version().map(String::from));
    let (version, can_dump) = match runtime {
        // It could not answer.
        _ if state.is_stopped() => (published, Some(RefusalCode::Stopped)),
        TargetRuntime::Hotspot => {
            (published, check_attachable(process, data.as_ref()).err().map(|refusal| refusal.code))
        }
        TargetRuntime::Dotnet => dotnet_version_and_refusal_code(process),
        TargetRuntime::Node | TargetRuntime::Chromium => match inspector::find_inspector(process, false) {
            Some(inspector) => (Some(inspector.version), None),
            None if runtime == TargetRuntime::Chromium => (None, Some(RefusalCode::DiagnosticsDisabled)),
            None if state.catches(Signal::USR1) => (None, Some(RefusalCode::NeedsOpenInspector)),
            None => (None, Some(RefusalCode::SignalNotCaught)),
        },
        TargetRuntime::OpenJ9 | TargetRuntime::Go => (None, Some(RefusalCode::NotSupportedYet)),
    };
    let command = data.as_ref().and_then(|data| data.command().map(String::from));
    Some(ProcessRow {
        pid: process.pid,
        user: user_name(process.uid),
        runtime,
        version,
        heap: data.as_ref().and_then(PerfData::used_heap_bytes).filter(|&bytes| bytes > 0),
        memory: process.rss_bytes(),
        can_dump: can_dump.map_or("yes".into(), |code| code.to_string()),
        command: command.unwrap_or_else(|| process.arguments().join(" ")),
    })
}

fn dotnet_version_and_refusal_code(process: &Process) -> (Option<String>, Option<RefusalCode>) {
    let by_path = || dotnet::version_by_path(process);
    match dotnet::probe_version(process, ANSWER_TIMEOUT) {
        Ok(Some(version)) => (version.or_else(by_path), None),
        Ok(None) if dotnet::is_diagnostics_disabled(process) => (by_path(), Some(RefusalCode::DiagnosticsDisabled)),
        Ok(None) => (by_path(), Some(RefusalCode::SocketMissing)),
        Err(refusal) => (by_path(), Some(refusal.code)),
    }
}
