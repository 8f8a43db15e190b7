//! HotSpot: heap dumps over the attach protocol.
//!
//! The dump comes through a FIFO in a folder of ours in the process's `/tmp`: no file there, no disk space, and a JVM whose
//! reader dies stops at once and goes on. Java 8 knows no way to write into a FIFO: it writes a file in such a folder.

mod attach;
mod histogram;
mod hprof_check;
mod perfdata;
mod transfer;

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Gid, Uid};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

use super::background_writer::{BackgroundWriter, LARGE_WRITE_QUEUE_BYTES, SMALL_WRITE_QUEUE_BYTES};
use super::process::Process;
use super::process_watch::{DEFAULT_SILENCE_LIMIT, ProcessWatch};
use super::refusal::{Refusal, RefusalCode, format_seconds};
use super::request::{DumpOutcome, DumpRequest};
use super::{CollectOptions, CollectPlan, Collected};
use crate::units::format_bytes;
pub(super) use attach::check_attachable;
use histogram::ask_for_histogram;
pub(super) use perfdata::{PerfData, PerfDataFile};
use transfer::{DumpAnswer, DumpChannel, FIRST_VERSION_WITH_SEGMENT_FILES, RequestOptions, Transfer};

/// The first that writes into what is there already.
const FIRST_VERSION_WITH_OVERWRITE: u32 = 9;
/// Dumps are larger than the heap: measured 1.39 times, of small objects.
const DUMP_SIZE_PERCENT_OF_HEAP: u64 = 140;
/// The pause for a GiB of heap: measured 0.17 to 0.38 s for 46 MB on a loaded machine.
const PAUSE_PER_GIB: Duration = Duration::from_secs(5);
/// The same of a histogram, which collects garbage and counts: measured 0.5 s for 240 MiB of small objects on a loaded machine.
const HISTOGRAM_PAUSE_PER_GIB: Duration = Duration::from_secs(2);

/// May a dump or histogram be asked for? Nothing is asked. Error: `too-old`, `diagnostics-disabled`, `signal-not-caught`.
pub(super) fn check_can_dump(process: &Process, options: &CollectOptions) -> Result<(), Refusal> {
    let data = PerfData::of(process);
    java_version_for_dump(process, data.as_ref())?;
    if options.runtime_socket.is_some() { Ok(()) } else { check_attachable(process, data.as_ref()) }
}

/// 8, 11, 17, as far as it is known. Error: `too-old`.
fn java_version_for_dump(process: &Process, data: Option<&PerfData>) -> Result<Option<u32>, Refusal> {
    let major = data.and_then(PerfData::java_major_version).or_else(|| java_8_by_path(process));
    if let Some(old) = major.filter(|&major| major < 8) {
        let text = format!("Java {old}: too old: no heap snapshot over its diagnostics");
        let hint = format!("its own JDK's jmap may do: jmap -dump:live,format=b,file=FILE {}", process.pid);
        return Err(Refusal::new(RefusalCode::TooOld, text).with_hint(hint));
    }
    Ok(major)
}

pub(super) fn dump(
    process: &Process,
    mut request: DumpRequest<'_>,
    collected: &mut Collected,
) -> Result<DumpOutcome, Refusal> {
    let options = request.options;
    let data = PerfData::of(process);
    let data = data.as_ref();
    let major = java_version_for_dump(process, data)?;
    collected.runtime_version = data.and_then(|data| data.full_java_version().map(String::from));
    let rss = process.rss_bytes();
    let counted = data.and_then(PerfData::used_heap_bytes).filter(|&heap| heap > 0);
    let heap = counted.map_or(rss, |heap| heap.min(rss));
    let is_histogram = options.take_histogram;
    let expected = if is_histogram { 0 } else { heap / 100 * DUMP_SIZE_PERCENT_OF_HEAP };
    let (pause, work) = match is_histogram {
        true => (HISTOGRAM_PAUSE_PER_GIB, "its objects are counted"),
        false => (PAUSE_PER_GIB, "the heap is written"),
    };
    let pause = CollectPlan::rounded_pause(pause.mul_f64(heap as f64 / f64::from(1 << 30)));
    request.seek_approval(plan_dump(process, data, work, pause, request.space_refusal(expected)))?;
    let attach = || {
        attach_as_owner(
            process,
            data,
            major,
            options.runtime_socket.as_deref(),
            options.silence_limit.unwrap_or(DEFAULT_SILENCE_LIMIT),
        )
    };
    let mut way = if major.is_some_and(|major| major < FIRST_VERSION_WITH_OVERWRITE) {
        DumpChannel::File
    } else {
        DumpChannel::Fifo
    };
    let DumpRequest { mut file, supervisor: observer, .. } = request;
    if is_histogram {
        let stream = attach()?;
        let mut watch = ProcessWatch::new(Some(process), options.silence_limit, observer);
        let (text, pause) = ask_for_histogram(process, &stream, &mut watch, options.include_unreachable)?;
        collected.note_memory_and_pause(&watch, Some(pause));
        file.write(format!("{}\n{text}\n", collected.taken_at).as_bytes())?;
        return Ok((file, None));
    }
    loop {
        let stream = attach()?;
        let watch = ProcessWatch::new(Some(process), options.silence_limit, &mut *observer);
        let folder = file.folder();
        let (own, is_forced) = (folder.as_deref(), options.accept_risk);
        let request = RequestOptions {
            includes_unreachable: options.include_unreachable,
            java_major_version: major,
            output_folder: own,
            expected_bytes: expected,
            ignores_free_space: is_forced,
        };
        let transfer = Transfer::prepare(process, watch, stream, way, request)?;
        // From 22 on it stands still for its own file alone, which it copies into the FIFO when it has gone on.
        let has_gone_on = major.is_some_and(|major| major >= FIRST_VERSION_WITH_SEGMENT_FILES);
        let mut dump_writer =
            BackgroundWriter::start(file, if has_gone_on { SMALL_WRITE_QUEUE_BYTES } else { LARGE_WRITE_QUEUE_BYTES })?;
        let (answer, watch) = transfer.run(&mut dump_writer)?;
        file = dump_writer.finish()?;
        match answer {
            DumpAnswer::Created(pause) => {
                collected.note_memory_and_pause(&watch, Some(pause));
                return Ok((file, None));
            }
            // Such an argument is refused before the heap is looked at: nothing has stopped.
            DumpAnswer::CannotOverwrite if way == DumpChannel::Fifo => way = DumpChannel::File,
            DumpAnswer::CannotOverwrite => {
                let text = format!("process {}: it takes no request for a dump", process.pid);
                return Err(Refusal::new(RefusalCode::RefusedByTarget, text));
            }
        }
    }
}

/// 8 where the library lies in the folder of that version, which may publish no counters; else nothing.
fn java_8_by_path(process: &Process) -> Option<u32> {
    const JAVA_8_LIBRARY_FOLDERS: [&str; 4] = ["/lib/amd64/", "/lib/aarch64/", "/lib/i386/", "/lib/ppc64le/"];
    let files = process.mapped_files().ok()?;
    let library = files.iter().find(|file| file.ends_with("/libjvm.so"))?;
    JAVA_8_LIBRARY_FOLDERS.iter().any(|folder| library.contains(folder)).then_some(8)
}

fn plan_dump(
    process: &Process,
    data: Option<&PerfData>,
    work: &str,
    pause: Duration,
    risk: Option<Refusal>,
) -> CollectPlan {
    let version = data.and_then(PerfData::full_java_version).map_or(String::new(), |version| format!(" {version}"));
    let command = data.and_then(PerfData::command).unwrap_or(&process.name);
    let name = command.split_whitespace().next().unwrap_or_default();
    let text = format!(
        "Java{version}, process {} ({name}), {}: all its threads stop while {work}: about {}",
        process.pid,
        format_bytes(process.rss_bytes()),
        format_seconds(pause),
    );
    CollectPlan { text, expected_pause: pause, risk }
}

/// Connects, to Java 8 as the process's own user: it takes root's word from version 9 on.
fn attach_as_owner(
    process: &Process,
    data: Option<&PerfData>,
    major: Option<u32>,
    socket: Option<&Path>,
    patience: Duration,
) -> Result<UnixStream, Refusal> {
    let is_own = rustix::process::geteuid().as_raw() == process.uid;
    if is_own || major != Some(8) {
        return attach::connect(process, data, socket, patience);
    }
    // By a thread that can remove what is root's.
    crate::files::watch_signals().map_err(|error| Refusal::system("signals", error))?;
    std::thread::scope(|scope| {
        let connected = scope.spawn(|| {
            // Of this thread alone; the socket says whom the connection was made by.
            set_thread_res_gid(None, Some(Gid::from_raw(process.gid)), None)
                .and_then(|()| set_thread_res_uid(None, Some(Uid::from_raw(process.uid)), None))
                .map_err(|error| Refusal::system("cannot become the process's user", error))?;
            attach::connect(process, data, socket, patience)
        });
        connected.join().unwrap_or_else(|_| Err(Refusal::new(RefusalCode::System, "a thread has ended")))
    })
}

/// Reads counters of a JVM, a reply of its attach socket, and the records of a dump, for fuzzing.
pub fn fuzz_answer(bytes: &[u8]) {
    if let Some(data) = PerfData::parse(bytes) {
        let _ = (
            data.full_java_version(),
            data.java_major_version(),
            data.command(),
            data.used_heap_bytes(),
            data.max_heap_bytes(),
            data.is_attach_disabled(),
            data.gc_time(),
        );
    }
    if let Ok((_, text)) = attach::Reply::of(bytes).parse(0) {
        let _ = attach::parse_dump_report(&text);
    }
    let mut check = hprof_check::HprofCheck::default();
    bytes.chunks(100).for_each(|piece| check.feed(piece));
    let _ = check.is_whole();
}
