//! What inspectors answer to GET: whether one is at an address, and what is behind it.

use std::net::SocketAddr;
use std::time::Duration;

use super::protocol::{TargetInfo, VersionInfo};
use crate::collect::TargetRuntime;
use crate::collect::http::get;
use crate::collect::ports::connect_tcp;
use crate::collect::process::Process;
use crate::collect::process_watch::DEFAULT_SILENCE_LIMIT;
use crate::collect::refusal::Refusal;

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
