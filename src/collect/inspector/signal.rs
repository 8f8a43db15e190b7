//! Opening the inspector of a Node.js that has none, and closing it again.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::protocol::request;
use super::websocket::{Received, WebSocket};
use super::{GET, Inspector, USUAL_PORT, find, inspector_at, targets};
use crate::collect::Runtime;
use crate::collect::detect::check_is;
use crate::collect::ports::{connect, holder_of_port};
use crate::collect::process::Process;
use crate::collect::refusal::{Refusal, RefusalCode};
use crate::files::AtEnd;

/// For an inspector to close: an open one is open to every user, so a busy process is waited for.
const MOMENT: Duration = Duration::from_secs(5);
/// Node.js takes 27 to 112 ms to open one.
const OPENING: Duration = Duration::from_secs(10);
const CLOSE: u64 = 9;
/// The only line that is ever run in a process: it closes what we opened. The second way is of versions before 20.16.
/// `require` is there while the line runs, not when the timer does.
const CLOSING: &str = "(inspector => setTimeout(() => inspector.close(), 0))\
                       (process.getBuiltinModule ? process.getBuiltinModule('inspector') : require('inspector')), 0";

/// Opens the inspector, where the user allows it and the signal does no harm.
///
/// # Errors
/// `needs-open-inspector`, `signal-not-caught`, `port-taken`, `diagnostics-disabled` of Chromium.
pub(super) fn open(
    process: &Process,
    runtime: Runtime,
    is_allowed: bool,
    limit: Duration,
) -> Result<Inspector, Refusal> {
    let pid = process.pid;
    if runtime != Runtime::Node {
        let text = format!("process {pid} has no remote debugging port open");
        return Err(Refusal::new(RefusalCode::DiagnosticsDisabled, text).hint(
            "start the browser with --remote-debugging-port=0; the process is the browser's, --target says which page",
        ));
    }
    let port = inspect_port(process);
    if !process.state()?.catches(Signal::USR1) {
        return Err(process.not_caught("SIGUSR1"));
    }
    check_is(process, Runtime::Node)?;
    if !is_allowed {
        let text = format!(
            "no inspector is open in process {pid}: --open-inspector opens one on 127.0.0.1:{port} for the time of the dump \
             (every user of this machine can use it meanwhile)"
        );
        return Err(Refusal::new(RefusalCode::NeedsOpenInspector, text)
            .hint("an application with a handler of its own for SIGUSR1 would run that instead"));
    }
    if let Some(holder) = holder_of_port(process, port).filter(|_| port != 0) {
        let holder = if holder == 0 { "another process".into() } else { format!("process {holder}") };
        let text = format!("port {port} is used by {holder}");
        return Err(Refusal::new(RefusalCode::PortTaken, text).hint("nothing was sent"));
    }
    process.wake(Signal::USR1, "SIGUSR1")?;
    let asked = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(20));
        if let Some(inspector) = find(process, false) {
            return Ok(inspector);
        }
        if !process.is_alive() {
            return Err(Refusal::target_died(pid));
        }
        if asked.elapsed() >= OPENING.min(limit) {
            return Err(Refusal::timeout(pid, OPENING.min(limit))
                .hint("no inspector came: has the application a handler of its own for SIGUSR1?"));
        }
    }
}

/// Where the inspector will listen.
fn inspect_port(process: &Process) -> u16 {
    let words = process.words();
    let options = process.environment().remove("NODE_OPTIONS").unwrap_or_default();
    let mut words = words.iter().map(String::as_str).chain(options.split_whitespace());
    let port =
        words.find_map(|word| word.strip_prefix("--inspect-port=").or_else(|| word.strip_prefix("--debug-port=")));
    port.and_then(|port| port.rsplit(':').next()?.parse().ok()).unwrap_or(USUAL_PORT)
}

/// An inspector that we opened: closed when it is not needed any more, however that comes.
pub(super) struct OpenedInspector {
    closing: AtEnd,
}

impl OpenedInspector {
    pub(super) fn of(process: &Process, address: SocketAddr) -> Result<Self, Refusal> {
        let pid = process.pid;
        let start = process.start;
        let closing = AtEnd::new(move || {
            // The process may have ended, and its number be another's.
            if let Ok(process) = Process::open(pid)
                && process.start == start
            {
                close(&process, address);
            }
        });
        Ok(OpenedInspector { closing: closing.map_err(|error| Refusal::system("signals", error))? })
    }

    pub(super) fn close(self) {
        drop(self.closing);
    }
}

/// Asks the inspector to close, and gives it a moment. If it does not, nothing more can be done.
fn close(process: &Process, address: SocketAddr) {
    let Some(target) = targets(Some(process), address).ok().and_then(|targets| targets.into_iter().next()) else {
        return;
    };
    let path = target.web_socket_debugger_url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    let Some((_, path)) = path else { return };
    let Ok(stream) = connect(Some(process), address) else { return };
    let Ok(mut socket) = WebSocket::open(stream, &address.to_string(), &format!("/{path}"), MOMENT) else { return };
    let what = json!({ "expression": CLOSING, "includeCommandLineAPI": true });
    if socket.send(&request(CLOSE, "Runtime.evaluate", what)).is_err() {
        return;
    }
    let asked = Instant::now();
    // Its answer; the connection must go before the inspector can.
    while asked.elapsed() < MOMENT && matches!(socket.receive(), Ok(Received::Nothing | Received::Progress)) {}
    drop(socket);
    while asked.elapsed() < MOMENT && inspector_at(Some(process), address, GET).is_ok() {
        std::thread::sleep(Duration::from_millis(10));
    }
}
