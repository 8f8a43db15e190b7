//! `heapdump export --to memory-infra`: heaps as Chromium's trace viewer reads them.
//!
//! Sizes include everything below a backtrace, are hexadecimal, and are cut off by the format's own rule; `<other>` is
//! never written. What frames allocated themselves is a frame `<self>` below them, where everything is written.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use rustc_hash::FxHashMap;
use serde_json::json;

use crate::allocations::{AllocationHeap, DumpTime, NameId, Names};
use crate::analysis::allocation_totals::{Totals, TotalsOptions};
use crate::analysis::dominator_paths::heap_of_dominator_paths;
use crate::analysis::dump_rule::{Chosen, DumpRule, choose_entries};
use crate::analysis::threshold::Threshold;
use crate::cli::Outcome;
use crate::cli::args::heaps::{HeapArgs, refuse_left_out};
use crate::cli::args::options::{InputArgs, SectionArgs};
use crate::cli::terminal::load::{OpenedDump, open_dump};
use crate::cli::terminal::progress;
use crate::files::Target;
use crate::report::json_text;

/// What is asked for.
pub(crate) struct Request<'a> {
    pub(crate) file: Option<&'a Path>,
    pub(crate) target: &'a Target,
    pub(crate) least: Option<Threshold>,
    pub(crate) depth: Option<u32>,
    pub(crate) heaps: &'a HeapArgs,
    pub(crate) section: &'a SectionArgs,
    pub(crate) input: &'a InputArgs,
}

/// Memory for a node or an entry of allocation totals: in the totals by node, and in the tables of frames.
const BYTES_PER_ROW: u64 = 720;
const DEPTH_OF_OBJECTS: u32 = 64;
/// As Chromium's own default.
const LEAST_OF_OBJECTS: u64 = 1024;

pub(crate) fn run(request: &Request<'_>) -> Result<Outcome> {
    let rule = |default: DumpRule| match request.least {
        None => default,
        Some(Threshold::Bytes(bytes)) => DumpRule::Fixed(bytes),
        Some(Threshold::Share(share)) => DumpRule::Relative(share),
    };
    let opened = open_dump(request.file, request.input)?;
    // The output is written while the answer is computed.
    crate::cli::terminal::indexes::verify_all()?;
    match opened {
        OpenedDump::Graph(opened) => {
            request.heaps.refuse_on_objects(request.section, &request.input.read)?;
            let graph = opened.graph;
            let section = request.section.find(graph)?;
            let nodes = section.map_or(0..graph.node_count(), |section| graph.section_nodes(section));
            let dominators = opened.only_dominators()?;
            let depth = request.depth.unwrap_or(DEPTH_OF_OBJECTS);
            let (names, mut heap) =
                heap_of_dominator_paths(graph, dominators, depth, |node| nodes.contains(&node.index()));
            if let Some(section) = section {
                heap.process = graph.sections()[section.index()].name.clone();
            }
            let time = DumpTime { id: "0x1".into(), started_us: 0, detail: "detailed".into() };
            write(request, &names, &[time], &[&heap], rule(DumpRule::Fixed(LEAST_OF_OBJECTS)))?;
        }
        OpenedDump::Allocations(opened) => {
            let heaps = request.heaps.choose(opened.dump, request.section, &request.input.read)?;
            opened.check_rows(&heaps, BYTES_PER_ROW)?;
            write(request, &opened.dump.names, &opened.dump.dumps, &heaps, rule(DumpRule::Everything))?;
        }
    }
    Ok(Outcome::Done)
}

fn write(
    request: &Request<'_>,
    names: &Names,
    dumps: &[DumpTime],
    heaps: &[&AllocationHeap],
    rule: DumpRule,
) -> Result<()> {
    progress::end();
    let context = || format!("cannot write {}", request.target.name());
    let mut out = request.target.begin().with_context(context)?;
    write_trace(&mut out, request, names, dumps, heaps, rule)?;
    out.finish().with_context(context)
}

fn write_trace(
    out: &mut dyn Write,
    request: &Request<'_>,
    names: &Names,
    dumps: &[DumpTime],
    heaps: &[&AllocationHeap],
    rule: DumpRule,
) -> Result<()> {
    write!(out, "{{\"traceEvents\":[")?;
    let mut processes: Vec<Process<'_>> = Vec::new();
    let mut first = true;
    for &heap in heaps {
        let depth = request.depth.unwrap_or(u32::MAX);
        let totals = Totals::compute(heap, &TotalsOptions { depth, by_type: true, wanted: None });
        refuse_left_out(heap, totals.pairs_left_out)?;
        let chosen = choose_entries(heap, &totals, rule);
        let at = match processes.iter().position(|process| process.is(heap)) {
            Some(at) => at,
            None => {
                let pid = free_pid(&processes, heaps, heap);
                processes.push(Process::new(heap, pid));
                processes.len() - 1
            }
        };
        let time = &dumps[heap.dump - 1];
        writeln!(out, "{}", if std::mem::take(&mut first) { "" } else { "," })?;
        let head = json!({
            "ph": "v", "cat": "disabled-by-default-memory-infra", "name": "explicitly_triggered",
            "pid": processes[at].pid, "tid": 0, "ts": time.started_us, "id": time.id,
        });
        let head = json_text(&head);
        // The entries are streamed behind the head, which ends in a brace.
        write!(out, "{},\"args\":{{\"dumps\":{{\"level_of_detail\":\"detailed\",", &head[..head.len() - 1])?;
        write!(out, "\"heaps\":{{{}:{{\"entries\":[", json_text(&heap.allocator))?;
        let mut ids = vec![None; heap.frames.len()];
        for (number, entry) in chosen.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let count = entry.amount.allocations.map_or(String::new(), |count| format!("\"count\":\"{count:x}\","));
            let type_id = match entry.type_name {
                Some(name) => format!(",\"type\":\"{}\"", processes[at].type_id(name)),
                None => String::new(),
            };
            let backtrace = processes[at].backtrace(heap, &mut ids, entry);
            write!(out, "{comma}\n{{\"size\":\"{:x}\",{count}\"bt\":\"{backtrace}\"{type_id}}}", entry.amount.bytes)?;
        }
        write!(out, "]}}}}}}}}}}")?;
    }
    for process in &processes {
        process.write(out, names)?;
    }
    writeln!(out, "\n]}}")?;
    Ok(())
}

/// The process's own number, or another where several processes have that one.
fn free_pid(known: &[Process<'_>], heaps: &[&AllocationHeap], heap: &AllocationHeap) -> i64 {
    if !known.iter().any(|process| process.pid == heap.pid) {
        return heap.pid;
    }
    let largest = heaps.iter().map(|heap| heap.pid).chain(known.iter().map(|process| process.pid)).max();
    largest.unwrap_or(0).saturating_add(1)
}

/// A process's dictionaries, filled as its heaps are written.
struct Process<'a> {
    heap: &'a AllocationHeap,
    pid: i64,
    /// (parent's id, name) to id; the parent of a first frame has none.
    frames: FxHashMap<(Option<u32>, Option<NameId>), u32>,
    /// By id.
    frame_list: Vec<(Option<u32>, Option<NameId>)>,
    types: FxHashMap<NameId, usize>,
    type_list: Vec<NameId>,
}

impl<'a> Process<'a> {
    fn new(heap: &'a AllocationHeap, pid: i64) -> Self {
        Process {
            heap,
            pid,
            frames: FxHashMap::default(),
            frame_list: Vec::new(),
            types: FxHashMap::default(),
            type_list: Vec::new(),
        }
    }

    fn is(&self, heap: &AllocationHeap) -> bool {
        (self.heap.pid, self.heap.part, &self.heap.process) == (heap.pid, heap.part, &heap.process)
    }

    /// Number 0 is for what has no type, which is never written.
    fn type_id(&mut self, name: NameId) -> usize {
        let next = self.type_list.len() + 1;
        *self.types.entry(name).or_insert_with(|| {
            self.type_list.push(name);
            next
        })
    }

    fn frame_id(&mut self, parent: Option<u32>, name: Option<NameId>) -> u32 {
        let next = self.frame_list.len() as u32;
        *self.frames.entry((parent, name)).or_insert_with(|| {
            self.frame_list.push((parent, name));
            next
        })
    }

    /// The id of an entry's backtrace, made with those of its callers that have none yet; empty for the top. `ids` has
    /// the ids of the heap's frames that are known.
    fn backtrace(&mut self, heap: &AllocationHeap, ids: &mut [Option<u32>], entry: &Chosen) -> String {
        let mut path = Vec::new();
        let mut frame = entry.frame;
        while frame != 0 && ids[frame as usize].is_none() {
            path.push(frame);
            frame = heap.frames[frame as usize].parent;
        }
        let mut id = ids[frame as usize];
        for frame in path.into_iter().rev() {
            id = Some(self.frame_id(id, Some(heap.frames[frame as usize].name)));
            ids[frame as usize] = id;
        }
        if entry.own {
            id = Some(self.frame_id(id, None));
        }
        id.map_or(String::new(), |id| id.to_string())
    }

    fn write(&self, out: &mut dyn Write, names: &Names) -> Result<()> {
        let event = |name: &str| {
            json_text(&json!({"ph": "M", "cat": "__metadata", "name": name, "pid": self.pid, "tid": 0, "ts": 0}))
        };
        let open = |name: &str| event(name).trim_end_matches('}').to_string();
        if !self.heap.process.is_empty() {
            write!(out, ",\n{},\"args\":{}}}", open("process_name"), json_text(&json!({"name": self.heap.process})))?;
        }
        if !self.heap.labels.is_empty() {
            write!(
                out,
                ",\n{},\"args\":{}}}",
                open("process_labels"),
                json_text(&json!({"labels": self.heap.labels}))
            )?;
        }
        write!(out, ",\n{},\"args\":{{\"stackFrames\":{{", open("stackFrames"))?;
        for (id, (parent, name)) in self.frame_list.iter().enumerate() {
            let comma = if id == 0 { "" } else { "," };
            let parent = parent.map_or(String::new(), |parent| format!(",\"parent\":\"{parent}\""));
            let name = json_text(&name.map_or("<self>", |name| names.text(name)));
            write!(out, "{comma}\n\"{id}\":{{\"name\":{name}{parent}}}")?;
        }
        write!(out, "}}}}}},\n{},\"args\":{{\"typeNames\":{{\"0\":\"[unknown]\"", open("typeNames"))?;
        for (number, name) in self.type_list.iter().enumerate() {
            write!(out, ",\n\"{}\":{}", number + 1, json_text(&names.text(*name)))?;
        }
        write!(out, "}}}}}}")?;
        Ok(())
    }
}
