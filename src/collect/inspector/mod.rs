//! V8: a heap snapshot over the inspector, of Node.js, Electron and Chromium.
//!
//! The snapshot's text comes in chunks of 100 KB and is written as it comes. V8 stops its thread for seconds while it makes
//! it, and takes several times the heap: both are said before. Progress is never asked for: it ends Node.js 16 and 18.

mod find;
mod heap_statistics;
mod http;
mod opened_inspector;
mod plan;
mod profile;
mod protocol;
mod session;
mod snapshot_check;
mod websocket;

use std::time::{Duration, Instant};

use serde_json::json;

use super::background_writer::{BackgroundWriter, SMALL_WRITE_QUEUE_BYTES};
use super::process::Process;
use super::process_watch::ProcessWatch;
use super::refusal::{Refusal, RefusalCode};
use super::request::{DumpOutcome, DumpRequest};
use super::{CollectOptions, Collected, TargetRuntime};
use find::choose_target;
pub(super) use find::{find_inspector, list_target_fields};
use heap_statistics::take_heap_statistics;
use plan::{plan_dump, plan_dump_without_process};
use profile::take_profile;
use protocol::{InspectorMessage, SurrogateJoiner, TargetInfo, request_text};
pub(super) use session::InspectorSession;
use session::{END_NOTICE_REQUEST_ID, closed_refusal, inspector_error_refusal};
use snapshot_check::SnapshotCheck;
use websocket::{Received, WebFrame, WebFrames, WebSocket};

const ENABLE_REQUEST_ID: u64 = 1;
const SNAPSHOT_REQUEST_ID: u64 = 2;
/// For the last words of a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
const DISABLE_REQUEST_ID: u64 = 3;

/// May a snapshot be asked for? Of a process without an inspector nothing is asked but who answers at its ports. Error:
/// `needs-open-inspector`, `signal-not-caught`, `port-taken`, `diagnostics-disabled`, what the system says.
pub(super) fn check_can_dump(
    process: &Process,
    runtime: TargetRuntime,
    options: &CollectOptions,
) -> Result<(), Refusal> {
    match find_inspector(process, true) {
        Some(_) => Ok(()),
        None => opened_inspector::check_can_open(process, runtime, options.open_inspector),
    }
}

/// Takes a snapshot, in the session that is in its place or in one of its own. Where there is a place for one the session stays
/// open there: V8 forgets the ids of objects when one ends.
pub(super) fn dump(
    process: Option<&Process>,
    runtime: TargetRuntime,
    mut request: DumpRequest<'_>,
    mut place: Option<&mut Option<InspectorSession>>,
    collected: &mut Collected,
) -> Result<DumpOutcome, Refusal> {
    let open = place.as_deref_mut().and_then(Option::take);
    let mut session = open.map_or_else(|| InspectorSession::open(process, runtime, request.options, collected), Ok)?;
    collected.runtime_version = session.runtime_version.clone();
    // A page's memory and CPU time are those of a process of its own, which cannot be told.
    let watched = process.filter(|_| runtime == TargetRuntime::Node);
    if request.options.take_histogram {
        let outcome = take_heap_statistics(&mut session, watched, request, collected)?;
        if let Some(place) = place.filter(|_| session.tells_its_end && !session.is_ending) {
            *place = Some(session);
        }
        return Ok(outcome);
    }
    if let Some(duration) = request.options.profile_duration {
        return take_profile(&mut session, watched, request, duration, collected);
    }
    // In a session that was just opened for it too: what a snapshot takes is known by the heap alone.
    let heap = session.ask_used_heap_bytes()?;
    let version = session.runtime_version.as_deref().unwrap_or_default();
    request.seek_approval(match watched {
        Some(process) => plan_dump(process, version, heap, &request),
        None => plan_dump_without_process(session.socket.peer(), collected, heap, &request),
    })?;
    let DumpRequest { options, file, supervisor } = request;
    if place.is_some() && runtime == TargetRuntime::Node {
        session.ask_for_end_notice()?;
    }
    let mut transfer = SnapshotTransfer {
        socket: &mut session.socket,
        watch: ProcessWatch::new(watched, options.silence_limit, supervisor),
        dump_writer: BackgroundWriter::start(file, SMALL_WRITE_QUEUE_BYTES)?,
        snapshot_check: SnapshotCheck::default(),
        surrogate_joiner: SurrogateJoiner::default(),
        is_profiler_enabled: false,
        // A browser does not wait for who is connected.
        tells_its_end: runtime == TargetRuntime::Chromium,
        is_ending: session.is_ending,
    };
    let pause = transfer.run()?;
    let place = place.filter(|_| transfer.tells_its_end && !transfer.is_ending);
    if place.is_none() {
        transfer.disable_profiler();
    }
    let objects = transfer.finish()?;
    let SnapshotTransfer { watch, dump_writer, .. } = transfer;
    collected.note_memory_and_pause(&watch, Some(pause));
    match place {
        Some(place) => *place = Some(session),
        None => drop(session),
    }
    let file = dump_writer.finish()?;
    collected.objects = Some(objects);
    Ok((file, None))
}

/// A snapshot on its way from the inspector into the file.
struct SnapshotTransfer<'w> {
    socket: &'w mut WebSocket,
    watch: ProcessWatch<'w>,
    dump_writer: BackgroundWriter,
    snapshot_check: SnapshotCheck,
    surrogate_joiner: SurrogateJoiner,
    /// Has the first request been answered?
    is_profiler_enabled: bool,
    /// It will say when it waits for this session, for it to end.
    tells_its_end: bool,
    /// It has said so.
    is_ending: bool,
}

impl SnapshotTransfer<'_> {
    /// Lets the snapshot come, and gives the time that it took.
    fn run(&mut self) -> Result<Duration, Refusal> {
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
                Received::Closed => return Err(closed_refusal(&self.watch)),
            }
        }
        let pause = asked.elapsed();
        self.watch.check_progress(true)?;
        Ok(pause)
    }

    /// Writes what is left, and gives the number of objects. Error: `incomplete`.
    fn finish(&mut self) -> Result<u64, Refusal> {
        let rest = std::mem::take(&mut self.surrogate_joiner).finish();
        self.write(&rest)?;
        self.snapshot_check.object_count_if_whole().ok_or_else(|| {
            let text = "the snapshot is not whole: its end or its counts do not fit";
            Refusal::new(RefusalCode::Incomplete, text)
        })
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
        self.is_ending |= message.is_end_notice();
        self.tells_its_end |= message.id == Some(END_NOTICE_REQUEST_ID) && message.error.is_none();
        if message.method.as_deref() == Some("HeapProfiler.addHeapSnapshotChunk") {
            let bytes = self.surrogate_joiner.join(message.params.chunk.0);
            self.write(&bytes)?;
        }
        self.is_profiler_enabled |= message.id == Some(ENABLE_REQUEST_ID);
        match (message.id, message.error) {
            (Some(ENABLE_REQUEST_ID | SNAPSHOT_REQUEST_ID), Some(error)) => Err(inspector_error_refusal(&error)),
            (id, _) => Ok(id == Some(SNAPSHOT_REQUEST_ID)),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.snapshot_check.feed(bytes);
        self.dump_writer.write(bytes, &mut self.watch)
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
