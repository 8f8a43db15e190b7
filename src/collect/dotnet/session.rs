//! A session: asked for, copied and followed, and ended as soon as the collection has.

use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::ipc::{AnswerWait, DiagnosticPort, IpcError, UNKNOWN_COMMAND_ERROR, encode_text};
use crate::collect::background_writer::{BackgroundWriter, CHUNK_BYTES};
use crate::collect::process_watch::{DEFAULT_SILENCE_LIMIT, ProcessWatch, read_some};
use crate::collect::refusal::{Refusal, RefusalCode};
use crate::collect::request::DumpOutcome;
use crate::collect::{CollectProblem, Collected};
use crate::files::ExitAction;
use crate::input::{Severity, TraceFollower};
use crate::units::{count_with_noun, format_bytes, format_count};

const RUNTIME_PROVIDER: &str = "Microsoft-Windows-DotNETRuntime";
/// Heap dump, types, collections, names of types.
const HEAP_KEYWORDS: u64 = 0x198_0001;
const VERBOSE_LEVEL: u32 = 5;
/// The container of versions 4 and 5.
const NETTRACE_FORMAT: u32 = 1;
/// Names of modules and methods, without what heaps do not need.
const RUNDOWN_KEYWORDS: u64 = 0x38;
/// Events were lost, the end of the collection may be among them.
const WAIT_AFTER_LOSS: Duration = Duration::from_secs(2);
/// A collection that has not come after so many times the pause that was expected does not come.
const MAX_EXPECTED_PAUSES: u32 = 3;
/// For a collection to end whose run is ended by a signal.
const COLLECTION_END_TIMEOUT: Duration = Duration::from_secs(10);
/// For the end of a session that goes wrong.
const SESSION_END_TIMEOUT: Duration = Duration::from_secs(1);

/// Options of a session.
pub(super) struct SessionOptions {
    pub(super) buffer_mib: u64,
    /// Of modules and methods, at the end of the trace.
    pub(super) includes_names: bool,
    /// Memory of the process.
    pub(super) rss_bytes: u64,
    /// Time of the collection, about.
    pub(super) expected_pause: Duration,
}

/// Commands that begin a session, the newest first: what stands between the format and the providers.
fn session_start_commands(names: bool) -> [(u8, Vec<u8>); 2] {
    let rundown = if names { RUNDOWN_KEYWORDS } else { 0 };
    [
        // CollectTracing4: keywords of the rundown, no stacks.
        (5, [&rundown.to_le_bytes()[..], &[0]].concat()),
        // CollectTracing2: a rundown or none.
        (3, vec![u8::from(names)]),
    ]
}

/// Begins a session; the answer comes with version 5 and later when the collection is over.
fn begin_session(
    port: &DiagnosticPort<'_>,
    options: &SessionOptions,
    watch: &mut ProcessWatch<'_>,
) -> Result<(UnixStream, u64), Refusal> {
    let pid = port.process.pid;
    let buffer = u32::try_from(options.buffer_mib).unwrap_or(u32::MAX);
    let provider = [
        &HEAP_KEYWORDS.to_le_bytes()[..],
        &VERBOSE_LEVEL.to_le_bytes(),
        &encode_text(RUNTIME_PROVIDER),
        &encode_text(""),
    ]
    .concat();
    let mut last = IpcError::ErrorNumber(UNKNOWN_COMMAND_ERROR);
    for (command, middle) in session_start_commands(options.includes_names) {
        let payload =
            [&buffer.to_le_bytes()[..], &NETTRACE_FORMAT.to_le_bytes(), &middle, &1u32.to_le_bytes(), &provider]
                .concat();
        let stream = port.send((2, command), &payload)?;
        match port.read_answer(&stream, AnswerWait::WhileProcessWorks(watch)) {
            Ok(answer) => {
                let id = answer.first_chunk::<8>().map(|id| u64::from_le_bytes(*id));
                let foreign = || Refusal::protocol(&port.description(), ".NET's diagnostics protocol", &answer);
                return Ok((stream, id.ok_or_else(foreign)?));
            }
            // Nothing has been done: an older command may do.
            Err(IpcError::ErrorNumber(UNKNOWN_COMMAND_ERROR)) => last = IpcError::ErrorNumber(UNKNOWN_COMMAND_ERROR),
            Err(error) => return Err(error.into_refusal(pid)),
        }
    }
    Err(last.into_refusal(pid))
}

pub(super) fn run_session(
    port: &DiagnosticPort<'_>,
    options: &SessionOptions,
    mut watch: ProcessWatch<'_>,
    dump_writer: BackgroundWriter,
    collected: &mut Collected,
) -> Result<DumpOutcome, Refusal> {
    // A session that has nothing to write is not dropped when its connection is.
    let number = PendingSessionId::default();
    let (address, shared) = (port.address.try_clone(), number.clone());
    let address = address.map_err(|error| Refusal::system("socket", error))?;
    let stop = ExitAction::new(move || shared.wait().into_iter().for_each(|id| address.stop_session(id)));
    let stop = stop.map_err(|error| Refusal::system("signals", error))?;
    let begun = begin_session(port, options, &mut watch);
    number.set(begun.as_ref().ok().map(|(_, id)| *id));
    let (stream, id) = begun?;
    let (follower, begun, first) = (
        TraceFollower::default(),
        Instant::now(),
        DEFAULT_SILENCE_LIMIT.max(options.expected_pause * MAX_EXPECTED_PAUSES),
    );
    let mut copy = TraceCopy {
        port,
        session_id: id,
        stream,
        watch,
        dump_writer,
        follower,
        begun_at: begun,
        first_object_timeout: first,
        stop_request: None,
    };
    copy.run()?;
    if copy.stop_request.is_some() || copy.follower.is_complete {
        stop.forget();
    }
    let TraceCopy { follower, watch, dump_writer, .. } = copy;
    let incomplete = check_trace_whole(port, &follower, options, &watch)?.err();
    let file = dump_writer.finish()?;
    let problems = [
        ("other-session", Severity::Note, follower.collection_count(), 1),
        ("dropped-events", Severity::Warning, follower.lost_event_count, 0),
        ("malformed-block", Severity::Warning, follower.unreadable_place_count, 0),
    ];
    let problems = problems.into_iter().filter(|(_, _, count, usual)| count > usual);
    collected.problems =
        problems.map(|(code, severity, count, _)| CollectProblem { code, count, first_at: None, severity }).collect();
    (collected.objects, collected.lost_events) = (Some(follower.object_count), follower.lost_event_count);
    collected.note_memory_and_pause(&watch, follower.collection_duration());
    Ok((file, incomplete))
}

/// Is the trace whole? Inside: why it is kept as incomplete; outside: why it is not kept.
fn check_trace_whole(
    port: &DiagnosticPort<'_>,
    follower: &TraceFollower,
    options: &SessionOptions,
    watch: &ProcessWatch<'_>,
) -> Result<Result<(), Refusal>, Refusal> {
    let incomplete = |text: String| Refusal::new(RefusalCode::Incomplete, text);
    let pid = port.process.pid;
    if !follower.is_complete && watch.ends_within_moment() {
        return Err(Refusal::target_died(pid));
    }
    if follower.lost_event_count > 0 {
        let (lost, came) = (count_with_noun(follower.lost_event_count, "events"), format_count(follower.object_count));
        let buffer = format_bytes(options.rss_bytes.max(options.buffer_mib << 20).saturating_mul(2)).replace(' ', "");
        let refusal = incomplete(format!("{lost} lost: {came} objects came, others are missing"));
        return Ok(Err(refusal.with_hint(format!("--buffer {buffer} would hold all"))));
    }
    if follower.is_complete && follower.collection_duration().is_some() && follower.missing_type_count() > 0 {
        let types = count_with_noun(follower.missing_type_count(), "types");
        let refusal = incomplete(format!("{types} of objects have no names in it: another session was open"));
        return Ok(Err(refusal.with_hint("another tool's, or of a run that was killed: ask again, that is gone now")));
    }
    if follower.is_complete && follower.collection_duration().is_some() {
        return Ok(match follower.unreadable_place_count {
            0 => Ok(()),
            count => Err(incomplete(format!("{} of the trace cannot be read", count_with_noun(count, "places")))),
        });
    }
    let where_it_ended =
        if follower.collection_duration().is_some() { "its end mark" } else { "the collection had ended" };
    let text = format!("the trace of process {pid} ended before {where_it_ended}");
    Err(Refusal::new(RefusalCode::TargetDied, text))
}

/// The number of a session, which comes when the collection is over: a run that is ended before waits for it.
#[derive(Clone, Default)]
struct PendingSessionId(Arc<(Mutex<Option<Option<u64>>>, Condvar)>);

impl PendingSessionId {
    fn set(&self, number: Option<u64>) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(number);
        self.0.1.notify_all();
    }

    fn wait(&self) -> Option<u64> {
        let known = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(known, COLLECTION_END_TIMEOUT, |known| known.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.flatten()
    }
}

/// A trace on its way from the runtime into the file.
struct TraceCopy<'a, 'w> {
    port: &'a DiagnosticPort<'a>,
    session_id: u64,
    stream: UnixStream,
    watch: ProcessWatch<'w>,
    dump_writer: BackgroundWriter,
    follower: TraceFollower,
    begun_at: Instant,
    /// Longest time for the first object: version 3.1 answers before it collects.
    first_object_timeout: Duration,
    /// The connection over which the end was asked for, and when that was.
    stop_request: Option<(UnixStream, Instant)>,
}

impl TraceCopy<'_, '_> {
    /// Copies until the runtime closes.
    fn run(&mut self) -> Result<(), Refusal> {
        let mut chunk = vec![0u8; CHUNK_BYTES];
        let mut last_bulk = (0, Instant::now());
        let mut last_block = (0, Instant::now());
        let mut gives_up = false;
        loop {
            let read = read_some(&self.stream, &mut chunk);
            let read = read.map_err(|error| Refusal::system(&self.port.description(), error))?;
            if read == Some(0) {
                // What came says whether it is whole.
                return Ok(());
            }
            let bytes = &chunk[..read.unwrap_or(0)];
            if !bytes.is_empty() {
                self.dump_writer.write(bytes, &mut self.watch)?;
                let foreign = |_| Refusal::protocol(&self.port.description(), "NetTrace", bytes);
                self.follower.feed(bytes).map_err(foreign)?;
            }
            let now = Instant::now();
            let bulk = (self.follower.bulk_event_count, self.follower.collection_count());
            let is_bulk_new = last_bulk.0 != bulk.0 + bulk.1;
            if is_bulk_new {
                last_bulk = (bulk.0 + bulk.1, now);
            }
            if last_block.0 != self.follower.complete_block_count {
                last_block = (self.follower.complete_block_count, now);
            }
            match &self.stop_request {
                None => {
                    gives_up = self.follower.lost_event_count > 0 && now - last_bulk.1 >= WAIT_AFTER_LOSS;
                    if self.follower.collection_duration().is_some() || gives_up {
                        self.stop_request = Some((self.port.send_stop(self.session_id)?, now));
                    } else if self.follower.object_count == 0 && now - self.begun_at >= self.first_object_timeout {
                        return Err(self.no_collection_refusal());
                    }
                    self.watch.check_progress(is_bulk_new)?;
                }
                // Bytes may trickle for ever; blocks of a rundown come one behind the other.
                Some((_, at)) if gives_up && now - last_block.1.max(*at) >= SESSION_END_TIMEOUT => return Ok(()),
                Some(_) => self.watch.check_progress(read.is_some())?,
            }
        }
    }

    fn no_collection_refusal(&self) -> Refusal {
        Refusal::timeout(self.port.process.pid, self.first_object_timeout)
            .with_hint("it took the request, and its heap did not come")
    }
}
