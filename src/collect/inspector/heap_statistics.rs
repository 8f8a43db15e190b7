//! V8's own figures of its memory, through the inspector of Node.js: bytes by space of the heap, and outside it. V8 counts objects
//! by class in snapshots alone.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::plan::{collection_pause, target_title};
use super::session::InspectorSession;
use crate::collect::process::Process;
use crate::collect::process_watch::ProcessWatch;
use crate::collect::refusal::{Refusal, RefusalCode, format_seconds};
use crate::collect::request::{DumpOutcome, DumpRequest};
use crate::collect::{CollectPlan, Collected};
use crate::units::format_bytes;

/// Without syntax that Node.js 8 does not know.
const STATISTICS_EXPRESSION: &str = "(v8 => ({spaces: v8.getHeapSpaceStatistics(), memory: process.memoryUsage()}))\
                                     (process.getBuiltinModule ? process.getBuiltinModule('v8') : require('v8'))";

/// Answer of `Runtime.evaluate`.
#[derive(Deserialize)]
struct Evaluated {
    result: EvaluatedResult,
}

/// A value, or what was thrown in its place.
#[derive(Deserialize)]
struct EvaluatedResult {
    value: Option<HeapStatistics>,
    description: Option<String>,
}

/// Numbers are as JavaScript has them.
#[derive(Deserialize)]
struct HeapStatistics {
    spaces: Vec<HeapSpace>,
    memory: MemoryUsage,
}

#[derive(Deserialize)]
struct HeapSpace {
    space_name: String,
    space_used_size: f64,
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[derive(Default)]
struct MemoryUsage {
    external: f64,
    /// Part of `external`; not told before version 13.
    array_buffers: f64,
}

/// Asks for the figures, behind a garbage collection unless unreachable objects are to be counted too.
pub(super) fn take_heap_statistics(
    session: &mut InspectorSession,
    process: Option<&Process>,
    mut request: DumpRequest<'_>,
    collected: &mut Collected,
) -> Result<DumpOutcome, Refusal> {
    let heap = session.ask_used_heap_bytes()?.unwrap_or_default();
    let collects = !request.options.include_unreachable;
    let pause = collection_pause(heap);
    let (pause, cost) = match collects {
        true => {
            (pause, format!("it collects garbage first, its main thread stops for about {}", format_seconds(pause)))
        }
        false => (Duration::ZERO, "nothing stands still".into()),
    };
    let target = target_title(process, session.socket.peer(), collected);
    let heap = format_bytes(heap);
    let text = format!("{target}, heap of {heap}: its bytes by space, for V8 counts none by class; {cost}");
    request.seek_approval(CollectPlan { text, expected_pause: pause, risk: None })?;
    let DumpRequest { options, mut file, supervisor } = request;
    let mut watch = ProcessWatch::new(process, options.silence_limit, supervisor);
    session.ask_for_end_notice()?;
    if collects {
        session.ask("HeapProfiler.collectGarbage", json!({}), &mut watch)?;
    }
    let expression = json!({
        "expression": STATISTICS_EXPRESSION, "includeCommandLineAPI": true, "returnByValue": true, "silent": true,
    });
    let answer = session.ask("Runtime.evaluate", expression, &mut watch)?;
    // How long it stood still is not known: an answer waits until the thread has time for it.
    collected.note_memory_and_pause(&watch, None);
    let statistics = parse_statistics(&answer).map_err(|reason| {
        let text = format!("{target} does not tell its heap statistics: {reason}");
        Refusal::new(RefusalCode::RefusedByTarget, text)
    })?;
    let (pid, name) = process.map_or((0, ""), |process| (process.pid, process.name.as_str()));
    file.write(statistics.to_memory_infra(pid, name).to_string().as_bytes())?;
    file.write(b"\n")?;
    Ok((file, None))
}

/// The value of the expression. Error: why there is none, a line.
fn parse_statistics(answer: &RawValue) -> Result<HeapStatistics, String> {
    let evaluated: Evaluated = serde_json::from_str(answer.get())
        .map_err(|error| format!("the program has a v8 or process.memoryUsage of its own ({error})"))?;
    let EvaluatedResult { value, description } = evaluated.result;
    // Below what was thrown stands where.
    value.ok_or_else(|| description.unwrap_or_default().lines().next().unwrap_or("it has no value").to_string())
}

impl HeapStatistics {
    /// A trace with one heap dump: docs/formats/memory-infra.md.
    fn to_memory_infra(&self, pid: u32, process_name: &str) -> Value {
        const HEAP_NODE: u32 = 1;
        const EXTERNAL_NODE: u32 = 2;
        let in_heap = self.spaces.iter().map(|space| (HEAP_NODE, &*space.space_name, space.space_used_size));
        let MemoryUsage { external, array_buffers } = self.memory;
        let outside = [("array buffers", array_buffers), ("other", external - array_buffers)];
        let outside = outside.into_iter().map(|(name, bytes)| (EXTERNAL_NODE, name, bytes));
        let rows: Vec<_> = in_heap.chain(outside).filter(|(_, _, bytes)| *bytes >= 1.0).collect();
        let mut strings =
            vec![json!({"id": HEAP_NODE, "string": "heap"}), json!({"id": EXTERNAL_NODE, "string": "external"})];
        let nodes: Vec<_> = [HEAP_NODE, EXTERNAL_NODE].map(|id| json!({"id": id, "name_sid": id})).into();
        let mut types = Vec::new();
        for (number, (_, name, _)) in (EXTERNAL_NODE + 1..).zip(&rows) {
            strings.push(json!({"id": number, "string": name}));
            types.push(json!({"id": number, "name_sid": number}));
        }
        let columns = json!({
            "nodes": rows.iter().map(|row| row.0).collect::<Vec<_>>(),
            "types": types.iter().map(|row| row["id"].clone()).collect::<Vec<_>>(),
            "sizes": rows.iter().map(|row| row.2 as u64).collect::<Vec<_>>(),
        });
        let maps = json!({"strings": strings, "nodes": nodes, "types": types});
        let heaps = json!({"version": 1, "maps": maps, "allocators": {"v8": columns}});
        let dumps = json!({"level_of_detail": "detailed", "heaps_v2": heaps});
        json!({"traceEvents": [
            {"ph": "v", "cat": "disabled-by-default-memory-infra", "name": "explicitly_triggered", "id": "0x1",
             "pid": pid, "ts": 0, "args": {"dumps": dumps}},
            {"ph": "M", "cat": "__metadata", "name": "process_name", "pid": pid, "ts": 0, "args": {"name": process_name}},
        ]})
    }
}
