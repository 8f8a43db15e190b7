//! A session at an inspector: from a process or an address to an open connection, which a series keeps between its dumps.

use std::net::TcpStream;
use std::time::Instant;

use serde_json::json;
use serde_json::value::RawValue;

use super::find::{choose_target, find_inspector, first_answer_of, parse_url};
use super::http::{GET_TIMEOUT, fetch_targets, probe_inspector_at};
use super::opened_inspector::{self, OpenedInspector};
use super::protocol::{AnyAnswer, ErrorInfo, InspectorMessage, request_text};
use super::websocket::{Received, WebSocket};
use crate::collect::ports::connect_tcp;
use crate::collect::process::Process;
use crate::collect::process_lock::ProcessLock;
use crate::collect::process_watch::{DEFAULT_SILENCE_LIMIT, ProcessWatch};
use crate::collect::refusal::{Refusal, RefusalCode};
use crate::collect::request::check_options;
use crate::collect::{CollectOptions, Collected, TargetRuntime};

const HEAP_USAGE_REQUEST_ID: u64 = 4;
pub(super) const END_NOTICE_REQUEST_ID: u64 = 5;
/// Of requests that are answered one after the other.
const ANY_REQUEST_ID: u64 = 6;

/// Dropped, the connection ends as the protocol has it, and behind it an inspector that was opened for it is closed.
pub(crate) struct InspectorSession {
    pub(super) socket: WebSocket,
    pub(super) runtime_version: Option<String>,
    /// The process waits for the end of this session, for it to end.
    pub(super) is_ending: bool,
    /// It will say when it does: it was asked to, and knows how.
    pub(super) tells_its_end: bool,
    _opened: Option<OpenedInspector>,
    lock: Option<ProcessLock>,
}

impl InspectorSession {
    /// Finds the inspector of a process, which is opened where the user allows it, or the one at an address, and connects to the
    /// target that is asked for.
    pub(super) fn open(
        process: Option<&Process>,
        runtime: TargetRuntime,
        options: &CollectOptions,
        collected: &mut Collected,
    ) -> Result<Self, Refusal> {
        let limit = options.silence_limit.unwrap_or(DEFAULT_SILENCE_LIMIT);
        let mut opened = None;
        let (address, path) = match (&options.inspector_url, process) {
            (Some(url), _) => {
                let (addresses, path) = parse_url(url)?;
                let address = if path.is_some() {
                    first_answer_of(&addresses, |address| connect_tcp(None, address).map(|_| address))?
                } else {
                    let inspector = first_answer_of(&addresses, |address| probe_inspector_at(None, address, limit))?;
                    collected.runtime = Some(inspector.runtime);
                    check_options(options, inspector.runtime)?;
                    collected.runtime_version = Some(inspector.version);
                    inspector.address
                };
                (address, path)
            }
            (None, Some(process)) => {
                let inspector = match find_inspector(process, true) {
                    Some(inspector) => inspector,
                    None => {
                        let (inspector, closing) =
                            opened_inspector::open(process, runtime, options.open_inspector, limit)?;
                        opened = Some(closing);
                        inspector
                    }
                };
                collected.runtime_version = Some(inspector.version.clone());
                (inspector.address, None)
            }
            (None, None) => return Err(Refusal::new(RefusalCode::NoTarget, "neither a process nor --url")),
        };
        let path = match path {
            Some(path) => path,
            None => {
                let target = choose_target(&fetch_targets(process, address)?, options.inspector_target.as_deref())?;
                let rest = target.web_socket_debugger_url.split_once("://").map_or("", |(_, rest)| rest);
                format!("/{}", rest.split_once('/').map_or("", |(_, path)| path))
            }
        };
        let runtime_version = collected.runtime_version.clone();
        let version = runtime_version.as_deref().unwrap_or_default();
        if is_too_old(version, runtime) {
            let text = format!("Node {version}: too old: no heap snapshot over its diagnostics");
            return Err(Refusal::new(RefusalCode::TooOld, text));
        }
        // An inspector that is just being closed for a signal is left alone.
        crate::files::wait_if_signalled();
        let stream = connect_tcp(process, address)?;
        let socket = WebSocket::open(stream, &address.to_string(), &path, limit)?;
        crate::files::wait_if_signalled();
        Ok(InspectorSession {
            socket,
            runtime_version,
            is_ending: false,
            tells_its_end: false,
            _opened: opened,
            lock: None,
        })
    }

    /// Keeps the process for this session.
    pub(crate) fn hold_lock(&mut self, lock: ProcessLock) {
        self.lock = Some(lock);
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        self.socket.stream()
    }

    /// Bytes of a heap in use, where the inspector tells. It needs no pause.
    pub(super) fn ask_used_heap_bytes(&mut self) -> Result<Option<u64>, Refusal> {
        self.socket.send_text(&request_text(HEAP_USAGE_REQUEST_ID, "Runtime.getHeapUsage", json!({})))?;
        let asked = Instant::now();
        let answer = self.wait_for_answer(HEAP_USAGE_REQUEST_ID, |_| Ok(asked.elapsed() < GET_TIMEOUT))?;
        // What else is wrong with it is said later.
        let message: InspectorMessage = serde_json::from_slice(&answer.unwrap_or_default()).unwrap_or_default();
        Ok(message.result.map(|usage| usage.used_size as u64).filter(|&bytes| bytes > 0))
    }

    /// Asks for something, and gives the result as JSON. Error: `refused-by-target`, `target-died`, `timeout`, `protocol`.
    pub(super) fn ask(
        &mut self,
        method: &str,
        params: serde_json::Value,
        watch: &mut ProcessWatch<'_>,
    ) -> Result<Box<RawValue>, Refusal> {
        self.socket.send_text(&request_text(ANY_REQUEST_ID, method, params))?;
        let asked = Instant::now();
        let answer = self.wait_for_answer(ANY_REQUEST_ID, |progressed| {
            watch.check_progress(progressed).and_then(|()| watch.check_answer_time_if_unwatched(asked)).map(|()| true)
        })?;
        let Some(answer) = answer else { return Err(closed_refusal(watch)) };
        let foreign = || Refusal::protocol("the inspector", "its protocol", &answer);
        match serde_json::from_slice::<AnyAnswer>(&answer) {
            Ok(AnyAnswer { result: Some(result), .. }) => Ok(result),
            Ok(AnyAnswer { error: Some(error), .. }) => Err(inspector_error_refusal(&error)),
            _ => Err(foreign()),
        }
    }

    /// Waits for the answer to a request; `goes_on` says, each time that something came or nothing for a tick, whether to wait on.
    /// `None` where it is not, and where the connection ends.
    fn wait_for_answer(
        &mut self,
        id: u64,
        mut goes_on: impl FnMut(bool) -> Result<bool, Refusal>,
    ) -> Result<Option<Vec<u8>>, Refusal> {
        loop {
            let received = self.socket.receive()?;
            let progressed = !matches!(received, Received::NothingYet);
            if let Received::Message(text) = received {
                let message: InspectorMessage = serde_json::from_slice(&text).unwrap_or_default();
                self.is_ending |= message.is_end_notice();
                self.tells_its_end |= message.id == Some(END_NOTICE_REQUEST_ID) && message.error.is_none();
                if message.id == Some(id) {
                    return Ok(Some(text));
                }
            } else if matches!(received, Received::Closed) {
                return Ok(None);
            }
            if !goes_on(progressed)? {
                return Ok(None);
            }
        }
    }

    /// A Node.js that is done waits until all sessions have ended: it is to say so. Versions before 12 do not know how.
    pub(super) fn ask_for_end_notice(&mut self) -> Result<(), Refusal> {
        let what = json!({ "enabled": true });
        self.socket.send_text(&request_text(END_NOTICE_REQUEST_ID, "NodeRuntime.notifyWhenWaitingForDisconnect", what))
    }

    /// Reads what has come, or waits a tick for it. Returns true if the process waits for the end of the session, or has ended it.
    pub(crate) fn is_to_end(&mut self) -> bool {
        loop {
            match self.socket.receive() {
                Ok(Received::Message(text)) => {
                    let message: InspectorMessage = serde_json::from_slice(&text).unwrap_or_default();
                    if message.is_end_notice() {
                        return true;
                    }
                }
                Ok(Received::PartialMessage) => {}
                Ok(Received::NothingYet) => return false,
                Ok(Received::Closed) | Err(_) => return true,
            }
        }
    }
}

/// Of a connection that ends in the middle.
pub(super) fn closed_refusal(watch: &ProcessWatch<'_>) -> Refusal {
    let text = match watch.ends_within_moment() {
        true => "the process ended during the dump",
        false => "the inspector closed the connection during the dump",
    };
    Refusal::new(RefusalCode::TargetDied, text)
}

pub(super) fn inspector_error_refusal(error: &ErrorInfo) -> Refusal {
    Refusal::new(RefusalCode::RefusedByTarget, format!("the inspector says: {}", error.message))
}

fn is_too_old(version: &str, runtime: TargetRuntime) -> bool {
    const FIRST_SUPPORTED_VERSION: u32 = 8;
    let major = version.strip_prefix('v').and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    runtime == TargetRuntime::Node && major.is_some_and(|major| major < FIRST_SUPPORTED_VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_before_8_are_too_old() {
        assert!(is_too_old("v6.17.1", TargetRuntime::Node) && !is_too_old("v20.20.2", TargetRuntime::Node));
        assert!(!is_too_old("6.0.0.0", TargetRuntime::Chromium));
    }
}
