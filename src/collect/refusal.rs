//! Refusals: a word for scripts, a sentence, and what to do.

use std::time::Duration;
use std::{fmt, io};

use serde::Serialize;

use crate::units::format_bytes;

/// The word for a refusal. Words are only ever added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RefusalCode {
    /// No process has this number, or it has ended.
    NoSuchProcess,
    /// The process is stopped: it would obey when it is continued, long after.
    Stopped,
    /// The process is another user's, or the system denies access.
    NotPermitted,
    /// The process runs nothing that gives heap dumps.
    NoRuntime,
    /// The runtime is older than what gives heap dumps.
    TooOld,
    /// The process was started with its diagnostics off.
    DiagnosticsDisabled,
    /// The runtime's socket is gone, or nobody listens behind it.
    SocketMissing,
    /// Node.js without an open inspector.
    NeedsOpenInspector,
    /// The signal that wakes the runtime would end the process.
    SignalNotCaught,
    /// The inspector's port is another process's.
    PortTaken,
    /// Another run is at this process.
    Busy,
    /// The process may not have the memory that a dump takes.
    NoMemory,
    /// The disk is too small, or full.
    NoSpace,
    /// More came than may.
    TooLarge,
    /// The file is there already.
    Exists,
    /// Nothing came for too long.
    Timeout,
    /// The process ended during the dump, or closed the connection.
    TargetDied,
    /// A part of the dump was lost.
    Incomplete,
    /// The peer does not speak the protocol.
    Protocol,
    /// The runtime's own refusal.
    RefusedByTarget,
    /// A runtime that is recognised, and no more.
    NotSupportedYet,
    /// A system that is not supported.
    NotSupportedHere,
    /// There is nothing at that address that could be dumped.
    NoTarget,
    /// An option or a condition that the runtime has no use for.
    Usage,
    /// The user's own answer to the question before a long pause.
    Declined,
    /// The system's error.
    System,
}

impl fmt::Display for RefusalCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Refusal with the reason.
#[derive(Debug, Clone, Serialize, thiserror::Error)]
#[error("{text} [{code}]")]
#[non_exhaustive]
pub struct Refusal {
    /// The word for it.
    pub code: RefusalCode,
    /// A sentence without a full stop. It may hold what the process said: to be escaped where it is printed.
    pub text: String,
    /// Advice, where something can be done.
    pub hint: Option<String>,
}

impl Refusal {
    pub(super) fn new(code: RefusalCode, text: impl Into<String>) -> Self {
        Refusal { code, text: text.into(), hint: None }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn system(what: &str, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        let code = match error.kind() {
            io::ErrorKind::PermissionDenied => RefusalCode::NotPermitted,
            io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge | io::ErrorKind::QuotaExceeded => {
                RefusalCode::NoSpace
            }
            _ => RefusalCode::System,
        };
        Refusal::new(code, format!("{what}: {error}"))
    }

    pub(super) fn no_memory(pid: u32, needed: u64, free: u64) -> Self {
        let (needed, free) = (format_bytes(needed), format_bytes(free));
        let text = format!("a snapshot needs up to {needed} in process {pid}, its memory limit leaves {free}");
        Refusal::new(RefusalCode::NoMemory, text).with_hint("--yes goes on all the same; the system may end it")
    }

    pub(super) fn timeout(pid: u32, waited: Duration) -> Self {
        Refusal::new(RefusalCode::Timeout, format!("process {pid} did not answer for {}", format_seconds(waited)))
    }

    pub(super) fn target_died(pid: u32) -> Self {
        Refusal::new(RefusalCode::TargetDied, format!("process {pid} ended during the dump"))
    }

    pub(super) fn protocol(peer: &str, protocol: &str, bytes: &[u8]) -> Self {
        const SHOWN_BYTES: usize = 20;
        let shown: Vec<String> = bytes.iter().take(SHOWN_BYTES).map(|byte| format!("{byte:02x}")).collect();
        let first = if shown.is_empty() { "nothing came".into() } else { format!("first bytes {}", shown.join(" ")) };
        Refusal::new(RefusalCode::Protocol, format!("what answers at {peer} does not speak {protocol}: {first}"))
    }
}

/// `30 s`, `0.28 s`, `12.3 s`.
pub(super) fn format_seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        _ if seconds.fract() == 0.0 => format!("{seconds:.0} s"),
        ..1.0 => format!("{seconds:.2} s"),
        _ => format!("{seconds:.1} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_json() {
        for code in [RefusalCode::NoSuchProcess, RefusalCode::RefusedByTarget, RefusalCode::Busy] {
            assert_eq!(serde_json::to_string(&code).expect("JSON"), format!("\"{code}\""));
        }
    }
}
