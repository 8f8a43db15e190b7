//! Opening the inspector of a Node.js that has none, and closing it again.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::http::{DEFAULT_INSPECTOR_PORT, GET_TIMEOUT, Inspector, fetch_targets, node_options_of, probe_inspector_at};
use super::protocol::request_text;
use super::websocket::{Received, WebSocket};
use crate::collect::TargetRuntime;
use crate::collect::detect::check_runtime;
use crate::collect::ports::{connect_tcp, holder_of_port, listening_addresses, run_in_network_namespace_of};
use crate::collect::process::Process;
use crate::collect::refusal::{Refusal, RefusalCode};
use crate::files::ExitAction;

/// For an inspector to close: an open one is open to every user, so a busy process is waited for.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Node.js takes 27 to 112 ms to open one.
const OPENING_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const CLOSE_REQUEST_ID: u64 = 9;
/// The only line that is run in a process beside the question for its heap statistics: it closes what we opened, a moment
/// later. Node.js ends with a segmentation fault now and then when its inspector closes while a client is there: ours has
/// gone by then. The second way is of versions before 20.16; `require` is there while the line runs, not when the timer does.
const CLOSING_SCRIPT: &str = "(inspector => void setTimeout(() => inspector.close(), 500))\
                       (process.getBuiltinModule ? process.getBuiltinModule('inspector') : require('inspector'))";

/// May the inspector be opened? Nothing is asked. Error: `needs-open-inspector`, `signal-not-caught`, `port-taken`,
/// `diagnostics-disabled` of Chromium; what the system says where the inspector could not be reached, and so not be closed.
pub(super) fn check_can_open(process: &Process, runtime: TargetRuntime, is_allowed: bool) -> Result<(), Refusal> {
    let pid = process.pid;
    if runtime != TargetRuntime::Node {
        let text = format!("process {pid} has no remote debugging port open");
        return Err(Refusal::new(RefusalCode::DiagnosticsDisabled, text).with_hint(
            "start the browser with --remote-debugging-port=0; the process is the browser's, --target says which page",
        ));
    }
    let port = inspector_port_of(&node_options_of(process));
    if !process.state()?.catches(Signal::USR1) {
        return Err(process.signal_not_caught_refusal("SIGUSR1"));
    }
    check_runtime(process, TargetRuntime::Node)?;
    if !is_allowed {
        let text = format!(
            "no inspector is open in process {pid}: --open-inspector opens one on 127.0.0.1:{port} for the time of the dump, or of the series \
             (every user of this machine can use it meanwhile)"
        );
        return Err(Refusal::new(RefusalCode::NeedsOpenInspector, text)
            .with_hint("an application with a handler of its own for SIGUSR1 would run that instead"));
    }
    if let Some(holder) = holder_of_port(process, port).filter(|_| port != 0) {
        let holder = if holder == 0 { "another process".into() } else { format!("process {holder}") };
        let text = format!("port {port} is used by {holder}");
        return Err(Refusal::new(RefusalCode::PortTaken, text).with_hint("nothing was sent"));
    }
    run_in_network_namespace_of(process, || ())
}

/// Opens the inspector, where the user allows it and the signal does no harm. Error: as [`check_can_open`]; `target-died`,
/// `timeout`.
pub(super) fn open(
    process: &Process,
    runtime: TargetRuntime,
    is_allowed: bool,
    limit: Duration,
) -> Result<(Inspector, OpenedInspector), Refusal> {
    check_can_open(process, runtime, is_allowed)?;
    let pid = process.pid;
    let mut opened = OpenedInspector::new(process)?;
    opened.send_wake_signal(process)?;
    loop {
        if let Some(inspector) = opened.find_if_open(process) {
            return Ok((inspector, opened));
        }
        if !process.is_alive() {
            return Err(Refusal::target_died(pid));
        }
        if opened.has_waited(OPENING_TIMEOUT.min(limit)) {
            return Err(Refusal::timeout(pid, OPENING_TIMEOUT.min(limit)).with_hint(
                "no inspector came: has the application a handler of its own for SIGUSR1? One that comes later stays open: \
                 --list shows it",
            ));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Port at which the inspector will listen: `--inspect-port=9333`, `--inspect-port 127.0.0.1:9333`.
fn inspector_port_of(words: &[String]) -> u16 {
    let value = |at: usize| {
        let rest = ["--inspect-port", "--debug-port"].iter().find_map(|option| words[at].strip_prefix(option))?;
        if rest.is_empty() { words.get(at + 1).map(String::as_str) } else { rest.strip_prefix('=') }
    };
    let port = (0..words.len()).find_map(value);
    port.and_then(|port| port.rsplit(':').next()?.parse().ok()).unwrap_or(DEFAULT_INSPECTOR_PORT)
}

#[derive(Debug, Clone, Copy)]
enum InspectorOpening {
    NotAsked,
    Asked(Instant),
    Open(SocketAddr),
}

/// An inspector that we open: closed when it is not needed any more, however that comes, and also when it opens late.
pub(super) struct OpenedInspector {
    /// Shared with what closes it.
    opening: Arc<Mutex<InspectorOpening>>,
    /// Addresses on which the process listened before.
    addresses_before: Vec<SocketAddr>,
    closing: ExitAction,
}

impl OpenedInspector {
    fn new(process: &Process) -> Result<Self, Refusal> {
        let (pid, start) = (process.pid, process.start_ticks);
        let before = listening_addresses(process);
        let opening = Arc::new(Mutex::new(InspectorOpening::NotAsked));
        let (shared, known) = (Arc::clone(&opening), before.clone());
        let closing = ExitAction::new(move || {
            let opening = *shared.lock().unwrap_or_else(PoisonError::into_inner);
            // The process may have ended, and its number be another's.
            if let Ok(process) = Process::open(pid)
                && process.start_ticks == start
            {
                close_when_open(&process, opening, &known);
            }
        });
        Ok(OpenedInspector {
            opening,
            addresses_before: before,
            closing: closing.map_err(|error| Refusal::system("signals", error))?,
        })
    }

    fn set_opening(&mut self, opening: InspectorOpening) {
        *self.opening.lock().unwrap_or_else(PoisonError::into_inner) = opening;
    }

    fn send_wake_signal(&mut self, process: &Process) -> Result<(), Refusal> {
        let opening = &self.opening;
        self.closing.run_unless_ending(|| {
            process.send_wake_signal(Signal::USR1, "SIGUSR1")?;
            *opening.lock().unwrap_or_else(PoisonError::into_inner) = InspectorOpening::Asked(Instant::now());
            Ok(())
        })
    }

    fn find_if_open(&mut self, process: &Process) -> Option<Inspector> {
        let inspector = inspector_opened_since(process, &self.addresses_before)?;
        self.set_opening(InspectorOpening::Open(inspector.address));
        Some(inspector)
    }

    fn has_waited(&self, limit: Duration) -> bool {
        let opening = *self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(opening, InspectorOpening::Asked(at) if at.elapsed() >= limit)
    }
}

/// The inspector on a port that the process has not listened on before, whichever that is.
fn inspector_opened_since(process: &Process, before: &[SocketAddr]) -> Option<Inspector> {
    let new = listening_addresses(process).into_iter().filter(|address| !before.contains(address));
    new.into_iter().find_map(|address| probe_inspector_at(Some(process), address, GET_TIMEOUT).ok())
}

fn close_when_open(process: &Process, opening: InspectorOpening, before: &[SocketAddr]) {
    match opening {
        InspectorOpening::NotAsked => {}
        InspectorOpening::Open(address) => close_inspector_at(process, address),
        InspectorOpening::Asked(at) => {
            while process.is_alive() {
                if let Some(inspector) = inspector_opened_since(process, before) {
                    return close_inspector_at(process, inspector.address);
                }
                if at.elapsed() >= CLOSE_TIMEOUT {
                    return;
                }
                std::thread::sleep(POLL_INTERVAL);
            }
        }
    }
}

/// Asks the inspector to close, and gives it a moment. If it does not, nothing more can be done.
fn close_inspector_at(process: &Process, address: SocketAddr) {
    let Some(target) = fetch_targets(Some(process), address).ok().and_then(|targets| targets.into_iter().next()) else {
        return;
    };
    let path = target.web_socket_debugger_url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    let Some((_, path)) = path else { return };
    let Ok(stream) = connect_tcp(Some(process), address) else { return };
    // Nothing else is at work here that would end it before its time.
    let Ok(mut socket) = WebSocket::upgrade(stream, &address.to_string(), &format!("/{path}"), CLOSE_TIMEOUT) else {
        return;
    };
    let what = json!({ "expression": CLOSING_SCRIPT, "includeCommandLineAPI": true });
    if socket.send_text(&request_text(CLOSE_REQUEST_ID, "Runtime.evaluate", what)).is_err() {
        return;
    }
    let asked = Instant::now();
    while asked.elapsed() < CLOSE_TIMEOUT
        && !matches!(socket.receive(), Ok(Received::Message(_) | Received::Closed) | Err(_))
    {}
    socket.close();
    // To look whether it is gone takes no connection.
    while asked.elapsed() < CLOSE_TIMEOUT && process.is_alive() && listening_addresses(process).contains(&address) {
        std::thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_what_the_options_say() {
        let port = |words: &str| inspector_port_of(&words.split(' ').map(String::from).collect::<Vec<_>>());
        assert_eq!(port("node app.js"), 9229);
        assert_eq!(port("node --inspect-port=0 app.js"), 0);
        assert_eq!(port("node --inspect-port 127.0.0.1:9333 app.js"), 9333);
        assert_eq!(port("node --debug-port=[::1]:7 --inspect-port"), 7);
        assert_eq!(port("node --inspect-port"), 9229);
    }
}
