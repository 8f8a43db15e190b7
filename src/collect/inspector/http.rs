//! GET over a connection of its own, as inspectors answer it: whether one answers at an address, and what is behind it.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::protocol::{TargetInfo, VersionInfo};
use crate::collect::TargetRuntime;
use crate::collect::ports::connect_tcp;
use crate::collect::process::Process;
use crate::collect::process_watch::{DEFAULT_SILENCE_LIMIT, read_some};
use crate::collect::refusal::Refusal;

const MAX_HEAD_BYTES: usize = 64 << 10;
const MAX_BODY_BYTES: usize = 1 << 20;

pub(super) struct HttpHead {
    pub(super) head_text: String,
    pub(super) body_start: Vec<u8>,
}

impl HttpHead {
    /// 200, 101.
    pub(super) fn status(&self) -> Option<u32> {
        let line = self.head_text.lines().next()?;
        line.strip_prefix("HTTP/1.")?.split_whitespace().nth(1)?.parse().ok()
    }

    /// The value of a field, by its name in any case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head_text.lines().skip(1).filter_map(|line| line.split_once(':'));
        Some(fields.find(|(other, _)| other.eq_ignore_ascii_case(name))?.1.trim())
    }
}

/// Sends a request and reads the head of the answer. The connection does not block from here on. Error: `protocol`,
/// `timeout`, what the system says.
pub(super) fn send_request(
    mut stream: &TcpStream,
    peer: &str,
    request: &str,
    limit: Duration,
) -> Result<HttpHead, Refusal> {
    let failed = |error: io::Error| Refusal::system(peer, error);
    let foreign = |bytes: &[u8]| Refusal::protocol(peer, "the inspector's protocol", bytes);
    stream.write_all(request.as_bytes()).and_then(|()| stream.set_nonblocking(true)).map_err(failed)?;
    let started = Instant::now();
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            let head = HttpHead { head_text: String::from_utf8_lossy(&bytes).into_owned(), body_start: rest };
            return if head.status().is_some() { Ok(head) } else { Err(foreign(&bytes)) };
        }
        let known = bytes.len().min(7);
        if bytes[..known] != b"HTTP/1."[..known] || bytes.len() > MAX_HEAD_BYTES {
            return Err(foreign(&bytes));
        }
        if !read_more(stream, &mut bytes, peer, started, limit)? {
            return Err(foreign(&bytes));
        }
    }
}

/// The body behind a path. Error: those of [`send_request`]; `protocol` for an answer that is not 200.
pub(super) fn get(stream: &TcpStream, peer: &str, path: &str, limit: Duration) -> Result<Vec<u8>, Refusal> {
    let text = format!("GET {path} HTTP/1.1\r\nHost: {peer}\r\nConnection: close\r\n\r\n");
    let head = send_request(stream, peer, &text, limit)?;
    let length: Option<usize> = head.header("content-length").and_then(|length| length.parse().ok());
    let status = head.status();
    let mut body = head.body_start;
    let started = Instant::now();
    if status != Some(200) {
        return Err(Refusal::protocol(peer, "the inspector's protocol", head.head_text.as_bytes()));
    }
    while length.is_none_or(|length| body.len() < length) && body.len() < MAX_BODY_BYTES {
        if !read_more(stream, &mut body, peer, started, limit)? {
            break;
        }
    }
    Ok(body)
}

/// Reads what is there. Returns false at the end.
fn read_more(
    stream: &TcpStream,
    bytes: &mut Vec<u8>,
    peer: &str,
    started: Instant,
    limit: Duration,
) -> Result<bool, Refusal> {
    let mut chunk = [0u8; 4096];
    let read = read_some(stream, &mut chunk).map_err(|error| Refusal::system(peer, error))?;
    if read == Some(0) {
        return Ok(false);
    }
    bytes.extend_from_slice(&chunk[..read.unwrap_or(0)]);
    if started.elapsed() < limit {
        return Ok(true);
    }
    let waited = crate::collect::refusal::format_seconds(limit);
    let text = format!("what listens at {peer} did not answer for {waited}");
    Err(Refusal::new(crate::collect::RefusalCode::Timeout, text))
}

pub(super) const DEFAULT_INSPECTOR_PORT: u16 = 9229;

/// A request that is answered at once by an inspector.
pub(super) const GET_TIMEOUT: Duration = Duration::from_secs(2);

pub(in crate::collect) struct Inspector {
    pub(in crate::collect) address: SocketAddr,
    pub(super) runtime: TargetRuntime,
    /// `v20.20.2` of `node.js/v20.20.2`.
    pub(in crate::collect) version: String,
}

/// Asks an address whether it is an inspector's.
pub(super) fn probe_inspector_at(
    process: Option<&Process>,
    address: SocketAddr,
    limit: Duration,
) -> Result<Inspector, Refusal> {
    let stream = connect_tcp(process, address)?;
    let peer = address.to_string();
    let body = get(&stream, &peer, "/json/version", limit)?;
    let foreign = |_| Refusal::protocol(&peer, "the inspector's protocol", &body);
    let info: VersionInfo = serde_json::from_slice(&body).map_err(foreign)?;
    let (name, version) = info.browser.rsplit_once('/').unwrap_or(("", &info.browser));
    let runtime = if name == "node.js" { TargetRuntime::Node } else { TargetRuntime::Chromium };
    Ok(Inspector { address, runtime, version: version.to_string() })
}

pub(super) fn fetch_targets(process: Option<&Process>, address: SocketAddr) -> Result<Vec<TargetInfo>, Refusal> {
    let peer = address.to_string();
    let body = get(&connect_tcp(process, address)?, &peer, "/json/list", DEFAULT_SILENCE_LIMIT)?;
    serde_json::from_slice(&body).map_err(|_| Refusal::protocol(&peer, "the inspector's protocol", &body))
}

/// Options of Node.js: its words, and the options of its environment.
pub(super) fn node_options_of(process: &Process) -> Vec<String> {
    let mut words = process.arguments();
    let options = process.environment().remove("NODE_OPTIONS").unwrap_or_default();
    words.extend(options.split_whitespace().map(String::from));
    words
}
