//! V8: a heap snapshot over the inspector, of Node.js, Electron and Chromium.
//!
//! The snapshot's text comes in chunks of 100 KB and is written as it comes. V8 stops its thread for seconds while it makes
//! it, and takes several times the heap: both are said before. Progress is never asked for: it ends Node.js 16 and 18.

mod http;
mod opened_inspector;
mod protocol;
mod snapshot_check;
mod websocket;

use std::fs::File;
use std::io::Read;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use serde_json::json;

use super::background_writer::{BackgroundWriter, SMALL_WRITE_QUEUE_BYTES};
use super::ports::{connect_tcp, listening_addresses};
use super::private_folder::{open_below, open_in_root, open_working_folder};
use super::process::{Process, free_memory_bytes};
use super::process_watch::{DEFAULT_SILENCE_LIMIT, ProcessWatch};
use super::refusal::{Refusal, RefusalCode, format_seconds};
use super::request::{DumpOutcome, DumpRequest};
use super::{CollectPlan, Collected, TargetRuntime};
use crate::sort;
use crate::units::format_bytes;
pub(super) use http::Inspector;
use http::{DEFAULT_INSPECTOR_PORT, GET_TIMEOUT, fetch_targets, node_options_of, probe_inspector_at};
use protocol::{InspectorMessage, SurrogateJoiner, TargetInfo, request_text};
use snapshot_check::SnapshotCheck;
use websocket::{Received, WebFrame, WebFrames, WebSocket};

const MIB: u64 = 1 << 20;
/// Memory of a Node.js that has nothing in its heap.
const BARE_PROCESS_BYTES: u64 = 45 * MIB;
/// Memory for a snapshot, in heaps, and besides: measured 364 MiB for 20 MiB of small objects, 302 for 38, 630 for 84.
const SNAPSHOT_MEMORY_FACTOR: u64 = 7;
const SNAPSHOT_MEMORY_BASE_BYTES: u64 = 224 * MIB;
/// CPU time for 100 MB of heap: measured 5 s for 84 MB.
const PAUSE_PER_100_MB: Duration = Duration::from_secs(4);

const ENABLE_REQUEST_ID: u64 = 1;
const SNAPSHOT_REQUEST_ID: u64 = 2;
/// For the last words of a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
const DISABLE_REQUEST_ID: u64 = 3;
const HEAP_USAGE_REQUEST_ID: u64 = 4;

/// Ports that the command line and the environment name, and the usual one.
pub(super) fn configured_ports(process: &Process) -> Vec<u16> {
    const PORT_OPTIONS: [&str; 3] = ["--inspect", "--debug-port", "--remote-debugging-port"];
    let words = node_options_of(process);
    let is_option = |word: &str| PORT_OPTIONS.iter().any(|option| word.starts_with(option));
    let named = (0..words.len()).filter(|&at| is_option(&words[at]) || at > 0 && is_option(&words[at - 1]));
    let ports = named.filter_map(|at| words[at].rsplit(['=', ':']).next()?.parse().ok());
    ports.chain([DEFAULT_INSPECTOR_PORT]).collect()
}

/// The inspector of a process, if it has one open: of the ports that it listens on, those that are named first. `all` asks
/// the others too: a server of another kind sees one GET.
pub(super) fn find_inspector(process: &Process, all: bool) -> Option<Inspector> {
    let named = configured_ports(process);
    let mut addresses = listening_addresses(process);
    let has_profile = port_in_browser_profile(process);
    let is_named = |address: &SocketAddr| {
        // `--inspect=0` is any port.
        let is_any = named.contains(&0) && address.ip().is_loopback();
        is_any || named.contains(&address.port()) || has_profile == Some(address.port())
    };
    sort::rows_by_key(&mut addresses, |address| !is_named(address));
    let tried = addresses.iter().filter(|address| all || is_named(address));
    tried.copied().find_map(|address| probe_inspector_at(Some(process), address, GET_TIMEOUT).ok())
}

/// Chromium writes its port into its profile's folder, which is its user's to fill: a file, and a short one.
fn port_in_browser_profile(process: &Process) -> Option<u16> {
    const MAX_PORT_FILE_BYTES: u64 = 64;
    let words = process.arguments();
    let folder = words.iter().find_map(|word| word.strip_prefix("--user-data-dir="))?;
    let (path, flags) = (format!("{folder}/DevToolsActivePort"), OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW);
    let file = match folder.starts_with('/') {
        true => open_in_root(process, &path, flags),
        false => open_below(&open_working_folder(process).ok()?, &path, flags),
    };
    let file = File::from(file.ok()?);
    let mut text = String::new();
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    file.take(MAX_PORT_FILE_BYTES).read_to_string(&mut text).ok()?;
    text.lines().next()?.parse().ok()
}

/// Kind, title and address of what is behind an inspector.
pub(super) fn list_target_fields(url: &str) -> Result<Vec<(String, String, String)>, Refusal> {
    let (addresses, _) = parse_url(url)?;
    let targets = first_answer_of(&addresses, |address| fetch_targets(None, address))?;
    Ok(targets.into_iter().map(|target| (target.kind, target.title, target.url)).collect())
}

/// Asks the addresses of a name one after another; `localhost` has two, and who listens on one need not on the other.
fn first_answer_of<T>(addresses: &[SocketAddr], ask: impl Fn(SocketAddr) -> Result<T, Refusal>) -> Result<T, Refusal> {
    let mut refusal = None;
    for &address in addresses {
        match ask(address) {
            Ok(answer) => return Ok(answer),
            Err(error) => refusal = Some(error),
        }
    }
    Err(refusal.unwrap_or_else(|| Refusal::new(RefusalCode::NoTarget, "no address")))
}

const MAX_LISTED_TARGETS: usize = 10;

/// The one that is meant: by number from 1, by a part of its title or address, or the only one.
fn choose_target(targets: &[TargetInfo], asked: Option<&str>) -> Result<TargetInfo, Refusal> {
    let none = |text: String| Refusal::new(RefusalCode::NoTarget, text);
    let listed = || {
        let lines = targets.iter().enumerate().take(MAX_LISTED_TARGETS);
        let lines = lines.map(|(at, target)| format!("{} {} \"{}\" {}", at + 1, target.kind, target.title, target.url));
        let more = match targets.len().saturating_sub(MAX_LISTED_TARGETS) {
            0 => String::new(),
            more => format!("; {more} more: collect --list --url"),
        };
        format!("--target N or a part of a title: {}{more}", lines.collect::<Vec<_>>().join("; "))
    };
    let matches = |at: usize, target: &TargetInfo| match asked {
        Some(asked) => match asked.parse::<usize>() {
            Ok(number) => at + 1 == number,
            Err(_) => target.title.contains(asked) || target.url.contains(asked),
        },
        None => target.kind == "node" || target.kind == "page",
    };
    let found: Vec<&TargetInfo> =
        targets.iter().enumerate().filter(|(at, target)| matches(*at, target)).map(|(_, target)| target).collect();
    match found[..] {
        _ if targets.is_empty() => Err(none("the inspector lists no page or worker".into())),
        [] => Err(none("the inspector lists no such page or worker".into()).with_hint(listed())),
        [only] if only.web_socket_debugger_url.is_empty() => {
            Err(none(format!("another program is at \"{}\": its developer tools?", only.title)))
        }
        [only] => Ok(only.clone()),
        _ => Err(none(format!("the inspector lists {} pages and workers", found.len())).with_hint(listed())),
    }
}

/// `http://HOST:PORT`, `ws://HOST:PORT/PATH`: the addresses, and the path of a websocket.
fn parse_url(url: &str) -> Result<(Vec<SocketAddr>, Option<String>), Refusal> {
    let wrong = || Refusal::new(RefusalCode::NoTarget, format!("--url {url}: write it as http://127.0.0.1:9229"));
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let addresses = host.to_socket_addrs().map_err(|_| wrong())?.collect();
    match scheme {
        "http" => Ok((addresses, None)),
        "ws" => Ok((addresses, Some(format!("/{path}")))),
        _ => Err(wrong()),
    }
}

pub(super) fn dump(
    process: Option<&Process>,
    runtime: TargetRuntime,
    mut request: DumpRequest<'_>,
    collected: &mut Collected,
) -> Result<DumpOutcome, Refusal> {
    let options = request.options;
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
                collected.runtime_version = Some(inspector.version);
                inspector.address
            };
            (address, path)
        }
        (None, Some(process)) => {
            let inspector = match find_inspector(process, true) {
                Some(inspector) => inspector,
                None => {
                    if runtime == TargetRuntime::Node {
                        request.seek_approval(plan_dump(process, "", None, &request))?;
                    }
                    let (inspector, closing) = opened_inspector::open(process, runtime, options.open_inspector, limit)?;
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
    let version = collected.runtime_version.clone().unwrap_or_default();
    if is_too_old(&version, runtime) {
        let text = format!("Node {version}: too old: no heap snapshot over its diagnostics");
        return Err(Refusal::new(RefusalCode::TooOld, text));
    }
    // A page's memory and CPU time are those of a process of its own, which cannot be told.
    let watched = process.filter(|_| runtime == TargetRuntime::Node);
    // An inspector that is just being closed for a signal is left alone.
    crate::files::wait_if_signalled();
    let stream = connect_tcp(process, address)?;
    let mut socket = WebSocket::open(stream, &address.to_string(), &path, limit)?;
    crate::files::wait_if_signalled();
    if opened.is_none() {
        let heap = ask_used_heap_bytes(&mut socket)?;
        request.seek_approval(match watched {
            Some(process) => plan_dump(process, &version, heap, &request),
            None => plan_dump_without_process(&address.to_string(), collected, heap, &request),
        })?;
    }
    let DumpRequest { file, supervisor: observer, .. } = request;
    let watch = ProcessWatch::new(watched, options.silence_limit, observer);
    let dump_writer = BackgroundWriter::start(file, SMALL_WRITE_QUEUE_BYTES)?;
    let (snapshot_check, surrogate_joiner) = (SnapshotCheck::default(), SurrogateJoiner::default());
    let dumped =
        SnapshotTransfer { socket, watch, dump_writer, snapshot_check, surrogate_joiner, is_profiler_enabled: false }
            .run(collected)?;
    if let Some(opened) = opened {
        opened.close();
    }
    Ok(dumped)
}

fn is_too_old(version: &str, runtime: TargetRuntime) -> bool {
    const FIRST_SUPPORTED_VERSION: u32 = 8;
    let major = version.strip_prefix('v').and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    runtime == TargetRuntime::Node && major.is_some_and(|major| major < FIRST_SUPPORTED_VERSION)
}

/// Plan with the cost, by the bytes in use of the heap where the inspector has told: in the process's memory that of earlier
/// snapshots may still be.
fn plan_dump(process: &Process, version: &str, heap: Option<u64>, request: &DumpRequest<'_>) -> CollectPlan {
    let rss = process.rss_bytes();
    let heap = heap.unwrap_or_else(|| rss.saturating_sub(BARE_PROCESS_BYTES)).min(rss);
    let needed = snapshot_memory_bytes(heap);
    let pause = expected_pause(heap);
    let free = free_memory_bytes(process).filter(|&free| free < needed);
    let risk = free.map(|free| Refusal::no_memory(process.pid, needed, free));
    let version = if version.is_empty() { String::new() } else { format!(" {version}") };
    let text = format!(
        "Node.js{version}, process {} ({}), {}: its main thread's heap; that thread stops while it is written: about {} of CPU, \
         and it takes up to {} more, a part of which may stay",
        process.pid,
        process.name,
        format_bytes(rss),
        format_seconds(pause),
        format_bytes(needed),
    );
    CollectPlan { text, expected_pause: pause, risk: risk.or_else(|| request.space_refusal(rss)) }
}

/// The same of what is behind an address.
fn plan_dump_without_process(
    peer: &str,
    collected: &Collected,
    heap: Option<u64>,
    request: &DumpRequest<'_>,
) -> CollectPlan {
    let runtime = collected.runtime.map_or("inspector", TargetRuntime::name);
    let version = collected.runtime_version.as_deref().map_or(String::new(), |version| format!(" {version}"));
    let (pause, cost) = match heap {
        Some(heap) => {
            let pause = expected_pause(heap);
            let needed = format_bytes(snapshot_memory_bytes(heap));
            (pause, format!("{} of CPU, and it takes up to {needed} more", format_seconds(pause)))
        }
        None => (Duration::ZERO, "4 s of CPU for 100 MB of its heap".into()),
    };
    let text = format!("{runtime}{version} at {peer}: its thread stops while its heap is written: about {cost}");
    CollectPlan { text, expected_pause: pause, risk: heap.and_then(|heap| request.space_refusal(heap / 4 * 5)) }
}

fn snapshot_memory_bytes(heap: u64) -> u64 {
    heap.saturating_mul(SNAPSHOT_MEMORY_FACTOR).saturating_add(SNAPSHOT_MEMORY_BASE_BYTES)
}

fn expected_pause(heap: u64) -> Duration {
    CollectPlan::rounded_pause(PAUSE_PER_100_MB.mul_f64(heap as f64 / 1e8))
}

/// Bytes of a heap in use, where the inspector tells. It needs no pause.
fn ask_used_heap_bytes(socket: &mut WebSocket) -> Result<Option<u64>, Refusal> {
    socket.send_text(&request_text(HEAP_USAGE_REQUEST_ID, "Runtime.getHeapUsage", json!({})))?;
    let asked = Instant::now();
    while asked.elapsed() < GET_TIMEOUT {
        match socket.receive()? {
            Received::Message(text) => {
                // What else is wrong with it is said later.
                let message: InspectorMessage = serde_json::from_slice(&text).unwrap_or_default();
                if message.id == Some(HEAP_USAGE_REQUEST_ID) {
                    return Ok(message.result.map(|usage| usage.used_size as u64).filter(|&bytes| bytes > 0));
                }
            }
            Received::PartialMessage | Received::NothingYet => {}
            Received::Closed => break,
        }
    }
    Ok(None)
}

/// A snapshot on its way from the inspector into the file.
struct SnapshotTransfer<'w> {
    socket: WebSocket,
    watch: ProcessWatch<'w>,
    dump_writer: BackgroundWriter,
    snapshot_check: SnapshotCheck,
    surrogate_joiner: SurrogateJoiner,
    /// Has the first request been answered?
    is_profiler_enabled: bool,
}

impl SnapshotTransfer<'_> {
    fn run(mut self, collected: &mut Collected) -> Result<DumpOutcome, Refusal> {
        self.socket.send_text(&request_text(ENABLE_REQUEST_ID, "HeapProfiler.enable", json!({})))?;
        let asked = Instant::now();
        // Without numbers an object of small ones has no fields. V8 before 9 does not know of them, and passes that over.
        let options = json!({ "reportProgress": false, "captureNumericValue": true });
        self.socket.send_text(&request_text(SNAPSHOT_REQUEST_ID, "HeapProfiler.takeHeapSnapshot", options))?;
        let mut progressed = false;
        loop {
            match self.socket.receive()? {
                Received::Message(text) => {
                    if self.handle_message(&text)? {
                        break;
                    }
                    progressed = true;
                }
                Received::PartialMessage => progressed = true,
                Received::NothingYet => {
                    self.watch.check_progress(progressed)?;
                    progressed = false;
                    if !self.is_profiler_enabled {
                        // That needs no pause.
                        self.watch.check_answer_time_if_unwatched(asked)?;
                    }
                }
                Received::Closed => return Err(self.closed_refusal()),
            }
        }
        let pause = asked.elapsed();
        self.watch.check_progress(true)?;
        self.disable_profiler();
        let rest = std::mem::take(&mut self.surrogate_joiner).finish();
        self.write(&rest)?;
        let Some(objects) = self.snapshot_check.object_count_if_whole() else {
            let text = "the snapshot is not whole: its end or its counts do not fit";
            return Err(Refusal::new(RefusalCode::Incomplete, text));
        };
        self.socket.close();
        let file = self.dump_writer.finish()?;
        collected.objects = Some(objects);
        collected.note_memory_and_pause(&self.watch, Some(pause));
        Ok((file, None))
    }

    /// The dump is there; what is answered now does not matter, but that it has been does: see [`WebSocket`].
    fn disable_profiler(&mut self) {
        let until = Instant::now() + CLOSE_TIMEOUT;
        let mut is_open =
            self.socket.send_text(&request_text(DISABLE_REQUEST_ID, "HeapProfiler.disable", json!({}))).is_ok();
        while is_open && Instant::now() < until {
            is_open = match self.socket.receive() {
                Ok(Received::Message(text)) => serde_json::from_slice::<InspectorMessage>(&text)
                    .is_ok_and(|message| message.id != Some(DISABLE_REQUEST_ID)),
                Ok(Received::NothingYet | Received::PartialMessage) => true,
                Ok(Received::Closed) | Err(_) => false,
            };
        }
    }

    /// Takes a message. Returns true if it ends the snapshot.
    fn handle_message(&mut self, text: &[u8]) -> Result<bool, Refusal> {
        let foreign = |_| Refusal::protocol("the inspector", "its protocol", text);
        let message: InspectorMessage = serde_json::from_slice(text).map_err(foreign)?;
        if message.method.as_deref() == Some("HeapProfiler.addHeapSnapshotChunk") {
            let bytes = self.surrogate_joiner.join(message.params.chunk.0);
            self.write(&bytes)?;
        }
        self.is_profiler_enabled |= message.id == Some(ENABLE_REQUEST_ID);
        match (message.id, message.error) {
            (Some(ENABLE_REQUEST_ID | SNAPSHOT_REQUEST_ID), Some(error)) => {
                Err(Refusal::new(RefusalCode::RefusedByTarget, format!("the inspector says: {}", error.message)))
            }
            (id, _) => Ok(id == Some(SNAPSHOT_REQUEST_ID)),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.snapshot_check.feed(bytes);
        self.dump_writer.write(bytes, &mut self.watch)
    }

    fn closed_refusal(&self) -> Refusal {
        let text = match self.watch.ends_within_moment() {
            true => "the process ended during the dump",
            false => "the inspector closed the connection during the dump",
        };
        Refusal::new(RefusalCode::TargetDied, text)
    }
}

/// Reads frames of an inspector's websocket, their messages, and the snapshot in these, for fuzzing.
pub fn fuzz_answer(bytes: &[u8]) {
    let (mut frames, mut surrogate_joiner, mut snapshot_check) =
        (WebFrames::default(), SurrogateJoiner::default(), SnapshotCheck::default());
    for piece in bytes.chunks(100) {
        frames.feed(piece);
        while let Ok(Some(frame)) = frames.next() {
            let WebFrame::Message(text) = frame else { continue };
            if let Ok(message) = serde_json::from_slice::<InspectorMessage>(&text) {
                snapshot_check.feed(&surrogate_joiner.join(message.params.chunk.0));
            }
        }
    }
    snapshot_check.feed(&surrogate_joiner.finish());
    let _ = snapshot_check.object_count_if_whole();
    let _ = serde_json::from_slice::<Vec<TargetInfo>>(bytes).map(|targets| choose_target(&targets, None));
    let _ = serde_json::from_slice::<protocol::VersionInfo>(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_an_address_and_perhaps_a_path() {
        let address: SocketAddr = "127.0.0.1:9229".parse().expect("an address");
        for url in ["http://127.0.0.1:9229", "127.0.0.1:9229", "http://127.0.0.1:9229/json"] {
            assert_eq!(parse_url(url).expect(url), (vec![address], None));
        }
        assert_eq!(parse_url("ws://127.0.0.1:9229/a/b").expect("a path"), (vec![address], Some("/a/b".into())));
        for url in ["", "http://", "https://127.0.0.1:1", "127.0.0.1"] {
            assert_eq!(parse_url(url).expect_err(url).code, RefusalCode::NoTarget);
        }
    }

    #[test]
    fn each_address_of_a_name_is_tried() {
        let addresses: Vec<SocketAddr> =
            ["[::1]:1", "127.0.0.1:2"].map(|text| text.parse().expect("an address")).to_vec();
        let answer = |address: SocketAddr| match address.port() {
            1 => Err(Refusal::new(RefusalCode::System, "refused")),
            port => Ok(port),
        };
        assert_eq!(first_answer_of(&addresses, answer).expect("the second"), 2);
        assert_eq!(first_answer_of(&addresses[..1], answer).expect_err("none").code, RefusalCode::System);
    }

    #[test]
    fn a_target_is_chosen_when_there_is_one_or_it_is_named() {
        let target = |kind: &str, title: &str| TargetInfo {
            kind: kind.into(),
            title: title.into(),
            url: format!("file:///{title}"),
            web_socket_debugger_url: "ws://x/1".into(),
        };
        let page = [target("service_worker", "w"), target("page", "a")];
        assert_eq!(choose_target(&page, None).expect("one").title, "a");
        assert_eq!(choose_target(&page, Some("1")).expect("the first").title, "w");
        let pages = [target("page", "a"), target("page", "b")];
        assert_eq!(choose_target(&pages, Some("b")).expect("by title").title, "b");
        for (targets, asked) in [(&pages[..], None), (&[], None), (&pages[..], Some("c")), (&pages[..], Some("3"))] {
            assert_eq!(choose_target(targets, asked).expect_err("none").code, RefusalCode::NoTarget);
        }
    }

    #[test]
    fn versions_before_8_are_too_old() {
        assert!(is_too_old("v6.17.1", TargetRuntime::Node) && !is_too_old("v20.20.2", TargetRuntime::Node));
        assert!(!is_too_old("6.0.0.0", TargetRuntime::Chromium));
    }
}
