//! What a snapshot costs, said before it is taken.

use std::time::Duration;

use crate::collect::process::{Process, free_memory_bytes};
use crate::collect::refusal::{Refusal, format_seconds};
use crate::collect::request::DumpRequest;
use crate::collect::{CollectPlan, Collected, TargetRuntime};
use crate::units::format_bytes;

const MIB: u64 = 1 << 20;
/// Memory of a Node.js that has nothing in its heap.
const BARE_PROCESS_BYTES: u64 = 45 * MIB;
/// Memory for a snapshot, in heaps, and besides: measured 364 MiB for 20 MiB of small objects, 302 for 38, 548 for 42, 630 for 84.
const SNAPSHOT_MEMORY_FACTOR: u64 = 8;
const SNAPSHOT_MEMORY_BASE_BYTES: u64 = 224 * MIB;
/// CPU time for 100 MB of heap: measured 5 s for 84 MB.
const PAUSE_PER_100_MB: Duration = Duration::from_secs(4);
/// For a GiB of heap: V8 collects until nothing more is freed.
const COLLECTION_PAUSE_PER_GIB: Duration = Duration::from_secs(4);

/// How long a garbage collection of a heap of so many bytes takes.
pub(super) fn collection_pause(heap: u64) -> Duration {
    CollectPlan::rounded_pause(COLLECTION_PAUSE_PER_GIB.mul_f64(heap as f64 / f64::from(1 << 30)))
}

/// Plan with the cost, by the bytes in use of the heap where the inspector has told: in the process's memory that of earlier
/// snapshots may still be.
pub(super) fn plan_dump(process: &Process, version: &str, heap: Option<u64>, request: &DumpRequest<'_>) -> CollectPlan {
    let rss = process.rss_bytes();
    let by_what = if heap.is_none() { " (by its memory: it does not tell its heap)" } else { "" };
    let heap = heap.unwrap_or_else(|| rss.saturating_sub(BARE_PROCESS_BYTES)).min(rss);
    let needed = snapshot_memory_bytes(heap);
    let pause = expected_pause(heap);
    let free = free_memory_bytes(process).filter(|&free| free < needed);
    let risk = free.map(|free| Refusal::no_memory(process.pid, needed, free));
    let version = if version.is_empty() { String::new() } else { format!(" {version}") };
    let text = format!(
        "Node.js{version}, process {} ({}), {}: its main thread's heap; that thread stops while it is written: about {} of CPU, \
         and it takes up to {} more{by_what}, a part of which may stay",
        process.pid,
        process.name,
        format_bytes(rss),
        format_seconds(pause),
        format_bytes(needed),
    );
    CollectPlan { text, expected_pause: pause, risk: risk.or_else(|| request.space_refusal(snapshot_bytes(heap))) }
}

/// The same of what is behind an address.
pub(super) fn plan_dump_without_process(
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
    CollectPlan { text, expected_pause: pause, risk: heap.and_then(|heap| request.space_refusal(snapshot_bytes(heap))) }
}

/// Who is asked, for people.
pub(super) fn target_title(process: Option<&Process>, peer: &str, collected: &Collected) -> String {
    let runtime = collected.runtime.map_or("inspector", TargetRuntime::name);
    process
        .map_or_else(|| format!("{runtime} at {peer}"), |process| format!("process {} ({})", process.pid, process.name))
}

/// Bytes of the snapshot's file.
fn snapshot_bytes(heap: u64) -> u64 {
    heap / 4 * 5
}

fn snapshot_memory_bytes(heap: u64) -> u64 {
    heap.saturating_mul(SNAPSHOT_MEMORY_FACTOR).saturating_add(SNAPSHOT_MEMORY_BASE_BYTES)
}

fn expected_pause(heap: u64) -> Duration {
    CollectPlan::rounded_pause(PAUSE_PER_100_MB.mul_f64(heap as f64 / 1e8))
}
