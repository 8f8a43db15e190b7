//! The class histogram of a JVM: objects and bytes by class, in its own words, over the attach socket. All threads stand still
//! while it counts.

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::attach::{Reply, send_command};
use crate::collect::process::Process;
use crate::collect::process_watch::{ProcessWatch, wait_tick_for_bytes};
use crate::collect::refusal::{Refusal, RefusalCode};

/// A hundred thousand classes take some 10 MB. The text is read whole before it is written: an output that stalls must not
/// let a JVM wait that counts while it sends.
const MAX_HISTOGRAM_BYTES: usize = 64 << 20;

/// Asks for the histogram: of what is reachable, which takes a collection, or of all there is. Gives the text and the time to
/// the reply. Error: `incomplete` without the line of totals, which is the last one; the JVM's own words.
pub(super) fn ask_for_histogram(
    process: &Process,
    stream: &UnixStream,
    watch: &mut ProcessWatch<'_>,
    includes_unreachable: bool,
) -> Result<(String, Duration), Refusal> {
    let pid = process.pid;
    let failed = |error| Refusal::system(&format!("process {pid}: its attach socket"), error);
    let command = if includes_unreachable { "GC.class_histogram -all" } else { "GC.class_histogram" };
    let asked = Instant::now();
    send_command(stream, "jcmd", [command, ""]).and_then(|()| stream.set_nonblocking(true)).map_err(failed)?;
    let mut reply = Reply::default();
    let mut known_bytes = 0;
    while !reply.read_available(stream, MAX_HISTOGRAM_BYTES).map_err(failed)? {
        watch.check_progress(reply.len() > known_bytes)?;
        known_bytes = reply.len();
        wait_tick_for_bytes(stream);
    }
    let took = asked.elapsed();
    let or_target_died = |refusal| if watch.ends_within_moment() { Refusal::target_died(pid) } else { refusal };
    let (code, text) = reply.parse(pid).map_err(or_target_died)?;
    let last = text.lines().next_back().unwrap_or("no reason given");
    if code == 0 && last.starts_with("Total ") {
        return Ok((text, took));
    }
    Err(or_target_died(match text.contains("#instances") {
        true => Refusal::new(RefusalCode::Incomplete, format!("process {pid}: its histogram breaks off")),
        false => Refusal::new(RefusalCode::RefusedByTarget, format!("process {pid} says: {last}")),
    }))
}
