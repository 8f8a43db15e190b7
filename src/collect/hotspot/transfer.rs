//! One request to a JVM, and what comes of it: bytes through a FIFO, or a file of its own that is copied, and a reply.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::attach::{
    DumpReport, MAX_REPLY_BYTES, MEMORY_FOLDER, Reply, candidate_folders, parse_dump_report, send_command,
    shared_folder,
};
use super::hprof_check::HprofCheck;
use crate::collect::background_writer::{BackgroundWriter, CHUNK_BYTES};
use crate::collect::dump_file::check_space;
use crate::collect::private_folder::{PrivateFolder, remove_leftover_folders};
use crate::collect::process::Process;
use crate::collect::process_watch::{POLL_INTERVAL, ProcessWatch};
use crate::collect::refusal::{Refusal, RefusalCode};

/// The kernel's most for a pipe of a user.
const PIPE_BYTES: usize = 1 << 20;
/// From this version on a JVM has a file beside the FIFO, to the end.
pub(super) const FIRST_VERSION_WITH_SEGMENT_FILES: u32 = 22;
/// A FIFO whose writer has not come, or has gone, is always ready.
const NO_WRITER_PAUSE: Duration = Duration::from_millis(5);

/// Channel of the bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DumpChannel {
    Fifo,
    File,
}

/// Options of a request to a JVM.
#[derive(Clone, Copy)]
pub(super) struct RequestOptions<'o> {
    /// Unreachable objects too.
    pub(super) includes_unreachable: bool,
    /// The version of Java, where it is known.
    pub(super) java_major_version: Option<u32>,
    /// The folder of the user's file.
    pub(super) output_folder: Option<&'o Path>,
    /// Bytes of the dump, about.
    pub(super) expected_bytes: u64,
    /// Go on though there is no room for it.
    pub(super) ignores_free_space: bool,
}

impl RequestOptions<'_> {
    /// Does a JVM have a file beside the FIFO? Where its version is not known it may.
    fn may_write_segment_files(&self) -> bool {
        self.java_major_version.is_none_or(|major| major >= FIRST_VERSION_WITH_SEGMENT_FILES)
    }
}

/// A JVM's answer to the request for a dump.
pub(super) enum DumpAnswer {
    /// A dump, which is whole; it stood still for so long.
    Created(Duration),
    /// It does not know how to write to what is there already, and has done nothing.
    CannotOverwrite,
}

/// Times at which bytes came. A JVM that has segments writes the heap to them while it stands still, and is silent; then it goes on,
/// and copies them into the FIFO.
struct ArrivalTimes {
    waiting_since: Instant,
    longest_silence: Duration,
    /// The first ones after the longest silence, and the last of all.
    resumed_at: Instant,
    last_arrival_at: Instant,
}

impl ArrivalTimes {
    fn begin() -> Self {
        let now = Instant::now();
        ArrivalTimes { waiting_since: now, longest_silence: Duration::ZERO, resumed_at: now, last_arrival_at: now }
    }

    fn note_arrival(&mut self, now: Instant) {
        let silence = now.saturating_duration_since(self.waiting_since);
        if silence > self.longest_silence {
            (self.longest_silence, self.resumed_at) = (silence, now);
        }
        self.last_arrival_at = now;
    }

    /// Duration of the bytes behind the longest silence.
    fn time_after_longest_silence(&self) -> Duration {
        self.last_arrival_at.saturating_duration_since(self.resumed_at)
    }
}

/// A request, ready to be made.
pub(super) struct Transfer<'a> {
    process: &'a Process,
    watch: ProcessWatch<'a>,
    stream: UnixStream,
    channel: DumpChannel,
    options: RequestOptions<'a>,
    /// Removed before the FIFO is closed: a JVM that comes late must not wait in it.
    private_folder: Option<PrivateFolder>,
    fifo: Option<File>,
    reply: Reply,
    arrivals: ArrivalTimes,
    hprof_check: HprofCheck,
}

impl<'a> Transfer<'a> {
    /// Makes what the JVM will write to.
    pub(super) fn prepare(
        process: &'a Process,
        watch: ProcessWatch<'a>,
        stream: UnixStream,
        channel: DumpChannel,
        options: RequestOptions<'a>,
    ) -> Result<Self, Refusal> {
        remove_all_leftover_folders(process, options.output_folder);
        let folder = make_folder_for(process, channel, &options)?;
        let fifo = match channel {
            DumpChannel::Fifo => Some(folder.make_fifo(process)?),
            DumpChannel::File => {
                folder.let_process_write(process)?;
                None
            }
        };
        if let Some(fifo) = &fifo {
            // Where the user has too many pipes the usual size does.
            let _ = rustix::pipe::fcntl_setpipe_size(fifo, PIPE_BYTES);
        }
        let fifo = fifo.map(File::from);
        Ok(Transfer {
            process,
            watch,
            stream,
            channel,
            options,
            private_folder: Some(folder),
            fifo,
            reply: Reply::default(),
            arrivals: ArrivalTimes::begin(),
            hprof_check: HprofCheck::default(),
        })
    }

    /// Makes the request and copies what comes.
    pub(super) fn run(mut self, dump_writer: &mut BackgroundWriter) -> Result<(DumpAnswer, ProcessWatch<'a>), Refusal> {
        let asked = Instant::now();
        self.send_request()?;
        let keeps_folder = self.channel == DumpChannel::File || self.options.may_write_segment_files();
        let mut count = self.copy_until_reply(keeps_folder, dump_writer)?;
        let took = asked.elapsed();
        let copied = match self.options.java_major_version {
            Some(major) if major >= FIRST_VERSION_WITH_SEGMENT_FILES && self.channel == DumpChannel::Fifo => {
                self.arrivals.time_after_longest_silence()
            }
            _ => Duration::ZERO,
        };
        let (code, text) = self.reply.parse(self.process.pid).map_err(|refusal| self.or_target_died(refusal))?;
        if code != 0 && text.contains("Unknown argument '-overwrite'") {
            return Ok((DumpAnswer::CannotOverwrite, self.watch));
        }
        let Some(created) = parse_dump_report(&text) else { return Err(self.refusal_of_reply(&text)) };
        if self.channel == DumpChannel::File {
            let most = match created {
                DumpReport::WithSize { bytes, .. } => Some(bytes),
                DumpReport::WithoutSize => None,
            };
            count = self.copy_dump_file(most, dump_writer)?;
        }
        let (said, pause) = match created {
            DumpReport::WithSize { bytes, pause } => (bytes, pause.saturating_sub(copied)),
            // No time either: from the request to the answer it was at work.
            DumpReport::WithoutSize => (count, took),
        };
        let incomplete = |text: String| self.or_target_died(Refusal::new(RefusalCode::Incomplete, text));
        let pid = self.process.pid;
        if said != count {
            return Err(incomplete(format!("process {pid} wrote {said} bytes, of which {count} came")));
        }
        if !self.hprof_check.is_whole() {
            return Err(incomplete(format!("process {pid} wrote {count} bytes, which are no whole heap dump")));
        }
        Ok((DumpAnswer::Created(pause), self.watch))
    }

    /// A process that ends answers anything.
    fn or_target_died(&self, refusal: Refusal) -> Refusal {
        if self.watch.ends_within_moment() { Refusal::target_died(self.process.pid) } else { refusal }
    }

    fn system_refusal(&self, what: &str, error: impl Into<io::Error>) -> Refusal {
        Refusal::system(&format!("process {}: {what}", self.process.pid), error)
    }

    fn send_request(&self) -> Result<(), Refusal> {
        let path = self.private_folder.as_ref().map(|folder| folder.dump_path_in_process.as_str()).unwrap_or_default();
        let asked = match (self.channel, self.options.includes_unreachable) {
            (DumpChannel::Fifo, true) => {
                send_command(&self.stream, "jcmd", [&format!("GC.heap_dump -overwrite -all {path}"), ""])
            }
            (DumpChannel::Fifo, false) => {
                send_command(&self.stream, "jcmd", [&format!("GC.heap_dump -overwrite {path}"), ""])
            }
            (DumpChannel::File, true) => send_command(&self.stream, "dumpheap", [path, "-all"]),
            (DumpChannel::File, false) => send_command(&self.stream, "dumpheap", [path, "-live"]),
        };
        let asked = asked.and_then(|()| self.stream.set_nonblocking(true));
        asked.map_err(|error| self.system_refusal("its attach socket", error))
    }

    /// Copies what comes through the FIFO, where there is one, until the reply has come. Gives the number of bytes.
    fn copy_until_reply(&mut self, keeps_folder: bool, dump_writer: &mut BackgroundWriter) -> Result<u64, Refusal> {
        let mut chunk = vec![0u8; CHUNK_BYTES];
        let (mut count, mut is_answered) = (0u64, false);
        let tick = Timespec { tv_sec: 0, tv_nsec: POLL_INTERVAL.as_nanos() as i64 };
        let (mut has_writer, mut has_begun) = (true, self.channel == DumpChannel::File);
        let (asked, limit) = (Instant::now(), self.watch.answer_limit());
        self.arrivals = ArrivalTimes::begin();
        let mut progressed = false;
        loop {
            // The reply has come: what is in the FIFO is all there is.
            let read = match self.fifo.as_mut().map(|fifo| fifo.read(&mut chunk)) {
                None => None,
                Some(Ok(0)) => {
                    has_writer = false;
                    None
                }
                Some(Ok(read)) => Some(read),
                Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    (has_writer, has_begun) = (true, true);
                    None
                }
                Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
                Some(Err(error)) => return Err(self.system_refusal("its FIFO", error)),
            };
            if let Some(read) = read {
                has_begun = true;
                self.arrivals.note_arrival(Instant::now());
                if count == 0 && !keeps_folder {
                    // The JVM has opened the FIFO: killed from here on, nothing is left of us.
                    drop(self.private_folder.take());
                }
                count += read as u64;
                self.hprof_check.feed(&chunk[..read]);
                dump_writer.write(&chunk[..read], &mut self.watch)?;
                self.arrivals.waiting_since = Instant::now();
                progressed = true;
                if count % (4 << 20) < read as u64 {
                    self.watch.check_progress(true)?;
                }
                continue;
            }
            if is_answered {
                return Ok(count);
            }
            let mut fds = vec![PollFd::new(&self.stream, PollFlags::IN)];
            if let Some(fifo) = self.fifo.as_ref().filter(|_| has_writer) {
                fds.push(PollFd::new(fifo, PollFlags::IN));
            }
            let wait = if has_writer { tick } else { Timespec { tv_nsec: NO_WRITER_PAUSE.as_nanos() as i64, ..tick } };
            match poll(&mut fds, Some(&wait)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(self.system_refusal("poll", error)),
            }
            drop(fds);
            is_answered = self
                .reply
                .read_available(&self.stream, MAX_REPLY_BYTES)
                .map_err(|error| self.system_refusal("its attach socket", error))?;
            if is_answered && self.reply.is_empty() && self.watch.ends_within_moment() {
                return Err(Refusal::target_died(self.process.pid));
            }
            self.watch.check_progress(progressed)?;
            progressed = false;
            // It opens the FIFO before the heap is looked at.
            if !has_begun && asked.elapsed() >= limit {
                return Err(
                    Refusal::timeout(self.process.pid, limit).with_hint("it took the request and did not begin")
                );
            }
        }
    }

    /// Copies the file that the JVM has written: `most` bytes, where it says how many, and one more: that would say that it is
    /// not the file of which the reply speaks.
    fn copy_dump_file(&mut self, most: Option<u64>, dump_writer: &mut BackgroundWriter) -> Result<u64, Refusal> {
        let Some(folder) = self.private_folder.take() else { return Ok(0) };
        let file = folder.open_dump_file().map(File::from).map_err(|error| self.system_refusal("its file", error))?;
        let facts = file.metadata().map_err(|error| self.system_refusal("its file", error))?;
        if !facts.is_file() {
            return Err(Refusal::new(
                RefusalCode::Protocol,
                format!("process {}: its dump is no file", self.process.pid),
            ));
        }
        let (mut chunk, mut count) = (vec![0u8; CHUNK_BYTES], 0u64);
        let mut file = file.take(most.unwrap_or(facts.len()).saturating_add(1));
        loop {
            let read = file.read(&mut chunk).map_err(|error| self.system_refusal("its file", error))?;
            if read == 0 {
                break;
            }
            count += read as u64;
            self.hprof_check.feed(&chunk[..read]);
            dump_writer.write(&chunk[..read], &mut self.watch)?;
        }
        folder.remove();
        Ok(count)
    }

    /// The JVM's own words: code 0 does not mean success.
    fn refusal_of_reply(&self, text: &str) -> Refusal {
        if self.watch.ends_within_moment() {
            return Refusal::target_died(self.process.pid);
        }
        let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
        let pid = self.process.pid;
        if text.contains("No space left on device") {
            let text = format!("process {pid}: disk full: {line}");
            return Refusal::new(RefusalCode::NoSpace, text).with_hint("it writes to its own /tmp: make room there");
        }
        Refusal::new(RefusalCode::RefusedByTarget, format!("process {pid} says: {line}"))
    }
}

/// Removes folders of runs at this process that were killed: a JVM may wait in one, and would take no request.
fn remove_all_leftover_folders(process: &Process, own: Option<&Path>) {
    for (_, open) in candidate_folders() {
        if let Ok(parent) = open(process) {
            remove_leftover_folders(process, parent);
        }
    }
    if let Some(parent) = shared_folder(process, own).and_then(|path| File::open(path).ok()) {
        remove_leftover_folders(process, parent);
    }
}

/// A folder that the process can write to, and has room in where a file is to be.
fn make_folder_for(
    process: &Process,
    channel: DumpChannel,
    options: &RequestOptions<'_>,
) -> Result<PrivateFolder, Refusal> {
    let own = shared_folder(process, options.output_folder);
    let in_own = || -> Option<Result<PrivateFolder, Refusal>> {
        let path = own.as_deref()?;
        let parent: OwnedFd = File::open(path).ok()?.into();
        // The copy goes there too.
        Some(make_folder_in(
            process,
            parent,
            path.to_str()?,
            if channel == DumpChannel::File { 2 } else { 1 },
            channel,
            options,
        ))
    };
    let in_places = candidate_folders().into_iter().map(|(place, open)| {
        // A file in memory would be another heap.
        let has_file = channel == DumpChannel::File || options.may_write_segment_files();
        if place == MEMORY_FOLDER && has_file {
            return Err(Refusal::new(RefusalCode::NoSpace, format!("a file in {place} would be in memory")));
        }
        let parent =
            open(process).map_err(|error| Refusal::system(&format!("process {}: {place}", process.pid), error))?;
        make_folder_in(process, parent, place, 1, channel, options)
    });
    // A file is copied from there: at best it lies where there is room for a dump.
    let first = (channel == DumpChannel::File).then(in_own).flatten();
    let mut refusal = None;
    for folder in first.into_iter().chain(in_places) {
        match folder {
            Ok(folder) => return Ok(folder),
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    let none = || Refusal::new(RefusalCode::NotPermitted, format!("process {} can write nowhere", process.pid));
    in_own().unwrap_or_else(|| Err(refusal.unwrap_or_else(none)))
}

/// A folder in a place in which a file of this many dumps is to be.
fn make_folder_in(
    process: &Process,
    parent: OwnedFd,
    place: &str,
    dumps: u64,
    channel: DumpChannel,
    options: &RequestOptions<'_>,
) -> Result<PrivateFolder, Refusal> {
    if (channel == DumpChannel::File || options.may_write_segment_files()) && !options.ignores_free_space {
        let name = format!("{place} of process {}", process.pid);
        check_space(&parent, options.expected_bytes.saturating_mul(dumps), &name).map_err(|refusal| {
            refusal.with_hint("it writes there itself: make room, or go on all the same with --yes")
        })?;
    }
    PrivateFolder::create(process, parent, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_behind_the_longest_silence_is_copied_by_a_jvm_that_has_gone_on() {
        let begun = Instant::now();
        let at = |ms| begun + Duration::from_millis(ms);
        let mut arrivals = ArrivalTimes {
            waiting_since: begun,
            longest_silence: Duration::ZERO,
            resumed_at: begun,
            last_arrival_at: begun,
        };
        assert_eq!(arrivals.time_after_longest_silence(), Duration::ZERO);
        // The reader's own waits, for the disk, are no silence: it waits for bytes from 400 on.
        for (waiting_since, came) in [(0, 20), (20, 21), (22, 300), (400, 405), (405, 500)] {
            arrivals.waiting_since = at(waiting_since);
            arrivals.note_arrival(at(came));
        }
        assert_eq!(arrivals.time_after_longest_silence(), Duration::from_millis(200));
    }

    #[test]
    fn room_is_needed_where_a_file_is_to_be_unless_the_user_says_otherwise() {
        let process = Process::open(std::process::id()).expect("this process");
        let folder = tempfile::tempdir().expect("a folder");
        let (expected, own) = (u64::MAX / 4, None);
        let make = |channel, major, is_forced| {
            let parent = File::open(folder.path()).expect("a folder").into();
            let options = RequestOptions {
                includes_unreachable: false,
                java_major_version: major,
                output_folder: own,
                expected_bytes: expected,
                ignores_free_space: is_forced,
            };
            make_folder_in(&process, parent, "/x", 2, channel, &options).map(drop).map_err(|refusal| refusal.code)
        };
        assert_eq!(make(DumpChannel::Fifo, Some(17), false), Ok(()));
        // A part of it lies beside the FIFO.
        assert_eq!(make(DumpChannel::Fifo, Some(22), false), Err(RefusalCode::NoSpace));
        assert_eq!(make(DumpChannel::Fifo, None, false), Err(RefusalCode::NoSpace));
        assert_eq!(make(DumpChannel::File, Some(8), false), Err(RefusalCode::NoSpace));
        assert_eq!(make(DumpChannel::File, Some(8), true), Ok(()));
        assert_eq!(make(DumpChannel::Fifo, Some(25), true), Ok(()));
    }
}
