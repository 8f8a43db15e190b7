//! Heaps as Chromium's trace viewer reads them.
//!
//! Sizes include everything below a backtrace, are hexadecimal, and are cut off by the format's own rule; `<other>` is
//! never written. What frames allocated themselves is a frame `<self>` below them, where everything is written.

use std::io::{self, Write};

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::ExportError;
use super::error::verify_index_file;
use crate::allocations::{AllocationHeap, MemoryDump, NameId, NameTable};
use crate::analysis::allocation_totals::{AllocationTotals, TotalsOptions};
use crate::analysis::cutoff::{ChosenEntry, Cutoff, select_entries};
use crate::analysis::dominator_paths::dominator_tree_as_allocations;
use crate::analysis::dominators::DominatorNode;
use crate::answers::allocation_heaps::{FullerDump, heap_title};
use crate::answers::{AllocationHeapChoice, AnswerError, ScopeOptions};
use crate::dump::{Content, OpenDump};
use crate::escape::json_text;
use crate::graph::HeapGraph;

/// Options for writing a dump.
#[derive(Debug, Clone, Default)]
pub struct MemoryInfraOptions {
    /// The heaps; of objects the section.
    pub heaps: AllocationHeapChoice,
    /// Levels of backtraces; what is deeper counts for the last. Default: 64 of objects, else all.
    pub depth: Option<u32>,
    /// The rule by which entries are too small. Default: objects below 1 KiB, as in Chromium; of allocation totals none.
    pub cutoff: Option<Cutoff>,
}

/// Memory for a node or an entry of allocation totals: in the totals by node, and in the tables of frames.
pub(super) const MEMORY_BYTES_PER_ROW: u64 = 720;
const DEFAULT_OBJECT_TREE_DEPTH: u32 = 64;
/// As Chromium's own default.
const DEFAULT_MIN_OBJECT_PATH_BYTES: u64 = 1024;

/// Writes heaps of allocation totals, or objects as one heap whose backtraces are the types on the way down the dominator
/// tree. Returns a memory dump that holds more heaps than the one that was chosen by default. O(pairs of backtrace and
/// type).
///
/// # Errors
/// When the dump has no such heaps or section, when a heap has too many pairs of backtrace and type, when there is not
/// the memory, or when `out` cannot be written to.
pub fn write_memory_infra(
    dump: &OpenDump,
    options: &MemoryInfraOptions,
    out: &mut dyn Write,
) -> Result<Option<FullerDump>, ExportError> {
    verify_index_file(dump)?;
    match dump.content() {
        Content::Objects(graph) => {
            let (names, heap) = heap_of_objects(dump, graph, &options.heaps, options.depth)?;
            let time = MemoryDump { id: "0x1".into(), detail_level: "detailed".into(), ..MemoryDump::default() };
            let rule = options.cutoff.unwrap_or(Cutoff::BelowBytes(DEFAULT_MIN_OBJECT_PATH_BYTES));
            let trace = HeapTrace { names: &names, dumps: &[time], heaps: &[&heap] };
            trace.write(options.depth.unwrap_or(u32::MAX), rule, out)?;
            Ok(None)
        }
        Content::Histograms(_) => Err(AnswerError::NeedsObjects.into()),
        Content::Allocations(allocations) => {
            let chosen = options.heaps.choose(allocations)?;
            let rows: usize = chosen.heaps.iter().map(|heap| heap.frame_and_entry_count()).sum();
            dump.check_rows_memory(rows as u64, MEMORY_BYTES_PER_ROW)?;
            let rule = options.cutoff.unwrap_or(Cutoff::KeepEverything);
            let trace = HeapTrace { names: &allocations.names, dumps: &allocations.dumps, heaps: &chosen.heaps };
            trace.write(options.depth.unwrap_or(u32::MAX), rule, out)?;
            Ok(chosen.fuller_dump)
        }
    }
}

/// Objects as one heap, whose backtraces are the types on the way down the dominator tree.
pub(super) fn heap_of_objects(
    dump: &OpenDump,
    graph: &HeapGraph,
    heaps: &AllocationHeapChoice,
    depth: Option<u32>,
) -> Result<(NameTable, AllocationHeap), ExportError> {
    heaps.check_on_objects()?;
    let scope = ScopeOptions::of_section(heaps.section.as_deref()).resolve(dump)?;
    let dominators = dump.dominator_tree()?;
    let depth = depth.unwrap_or(DEFAULT_OBJECT_TREE_DEPTH);
    let (names, mut heap, _) =
        dominator_tree_as_allocations(graph, dominators, DominatorNode::ROOT, depth, |node| scope.contains(node), None);
    if let Some(section) = scope.section() {
        heap.process_name = graph.sections()[section.index()].name.clone();
    }
    Ok((names, heap))
}

/// A trace: heaps, and the memory dumps that they are of.
struct HeapTrace<'a> {
    names: &'a NameTable,
    dumps: &'a [MemoryDump],
    heaps: &'a [&'a AllocationHeap],
}

impl<'a> HeapTrace<'a> {
    fn write(&self, depth: u32, rule: Cutoff, out: &mut dyn Write) -> Result<(), ExportError> {
        write!(out, "{{\"traceEvents\":[")?;
        let mut processes: Vec<TraceProcess<'a>> = Vec::new();
        let mut first = true;
        for &heap in self.heaps {
            let totals = AllocationTotals::compute(
                heap,
                &TotalsOptions { max_depth: depth, is_by_type: true, is_type_wanted: None },
            );
            if totals.left_out_pair_count > 0 {
                return Err(AnswerError::TooManyBacktraceTypePairs(heap_title(heap)).into());
            }
            let at = match processes.iter().position(|process| process.is_process_of(heap)) {
                Some(at) => at,
                None => {
                    let pid = unused_pid(&processes, self.heaps, heap);
                    processes.push(TraceProcess::new(heap, pid));
                    processes.len() - 1
                }
            };
            writeln!(out, "{}", if std::mem::take(&mut first) { "" } else { "," })?;
            let time = &self.dumps[heap.dump_number - 1];
            write_heap(out, heap, time, &select_entries(heap, &totals, rule), &mut processes[at])?;
        }
        for process in &processes {
            process.write_metadata(out, self.names)?;
        }
        writeln!(out, "\n]}}")?;
        Ok(())
    }
}

/// The first fields of an event of the trace.
#[derive(Serialize)]
struct EventHead<'a> {
    ph: &'static str,
    cat: &'static str,
    name: &'static str,
    pid: i64,
    tid: u32,
    ts: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
}

impl EventHead<'_> {
    /// The event up to its arguments, which are streamed behind it: the brace is left open.
    fn text_up_to_arguments(&self) -> String {
        let mut text = json_text(self);
        text.pop();
        text + ",\"args\":"
    }
}

fn write_heap(
    out: &mut dyn Write,
    heap: &AllocationHeap,
    time: &MemoryDump,
    chosen: &[ChosenEntry],
    process: &mut TraceProcess<'_>,
) -> io::Result<()> {
    let head = EventHead {
        ph: "v",
        cat: "disabled-by-default-memory-infra",
        name: "explicitly_triggered",
        pid: process.pid,
        tid: 0,
        ts: time.started_us,
        id: Some(&time.id),
    };
    write!(out, "{}{{\"dumps\":{{\"level_of_detail\":\"detailed\",", head.text_up_to_arguments())?;
    write!(out, "\"heaps\":{{{}:{{\"entries\":[", json_text(&heap.allocator_name))?;
    let mut ids = vec![None; heap.frames.len()];
    for (number, entry) in chosen.iter().enumerate() {
        let comma = if number == 0 { "" } else { "," };
        let count = entry.amount.allocations.map_or(String::new(), |count| format!("\"count\":\"{count:x}\","));
        let type_id = match entry.type_name {
            Some(name) => format!(",\"type\":\"{}\"", process.type_id(name)),
            None => String::new(),
        };
        let backtrace = process.backtrace_id(heap, &mut ids, entry);
        write!(out, "{comma}\n{{\"size\":\"{:x}\",{count}\"bt\":\"{backtrace}\"{type_id}}}", entry.amount.bytes)?;
    }
    write!(out, "]}}}}}}}}}}")
}

/// The process's own number, or another where several processes have that one.
fn unused_pid(known: &[TraceProcess<'_>], heaps: &[&AllocationHeap], heap: &AllocationHeap) -> i64 {
    if !known.iter().any(|process| process.pid == heap.pid) {
        return heap.pid;
    }
    let largest = heaps.iter().map(|heap| heap.pid).chain(known.iter().map(|process| process.pid)).max();
    largest.unwrap_or(0).saturating_add(1)
}

/// A process's dictionaries, filled as its heaps are written.
struct TraceProcess<'a> {
    /// The heap that it was made for, which has its name and labels.
    first_heap: &'a AllocationHeap,
    pid: i64,
    /// (parent's id, name) to id; the parent of a first frame has none.
    frame_ids: FxHashMap<(Option<u32>, Option<NameId>), u32>,
    /// By id.
    frames_by_id: Vec<(Option<u32>, Option<NameId>)>,
    type_ids: FxHashMap<NameId, usize>,
    types_in_order: Vec<NameId>,
}

impl<'a> TraceProcess<'a> {
    fn new(heap: &'a AllocationHeap, pid: i64) -> Self {
        TraceProcess {
            first_heap: heap,
            pid,
            frame_ids: FxHashMap::default(),
            frames_by_id: Vec::new(),
            type_ids: FxHashMap::default(),
            types_in_order: Vec::new(),
        }
    }

    fn is_process_of(&self, heap: &AllocationHeap) -> bool {
        (self.first_heap.pid, self.first_heap.part_number, &self.first_heap.process_name)
            == (heap.pid, heap.part_number, &heap.process_name)
    }

    /// Number 0 is for what has no type, which is never written.
    fn type_id(&mut self, name: NameId) -> usize {
        let next = self.types_in_order.len() + 1;
        *self.type_ids.entry(name).or_insert_with(|| {
            self.types_in_order.push(name);
            next
        })
    }

    fn frame_id(&mut self, parent: Option<u32>, name: Option<NameId>) -> u32 {
        let next = self.frames_by_id.len() as u32;
        *self.frame_ids.entry((parent, name)).or_insert_with(|| {
            self.frames_by_id.push((parent, name));
            next
        })
    }

    /// The id of an entry's backtrace, made with those of its callers that have none yet; empty for the top. `ids` has
    /// the ids of the heap's frames that are known.
    fn backtrace_id(&mut self, heap: &AllocationHeap, ids: &mut [Option<u32>], entry: &ChosenEntry) -> String {
        let mut path = Vec::new();
        let mut frame = entry.frame;
        while frame != 0 && ids[frame as usize].is_none() {
            path.push(frame);
            frame = heap.frames.parent(frame);
        }
        let mut id = ids[frame as usize];
        for frame in path.into_iter().rev() {
            id = Some(self.frame_id(id, Some(heap.frames.name(frame))));
            ids[frame as usize] = id;
        }
        if entry.is_exclusive {
            id = Some(self.frame_id(id, None));
        }
        id.map_or(String::new(), |id| id.to_string())
    }

    fn write_metadata(&self, out: &mut dyn Write, names: &NameTable) -> io::Result<()> {
        let open = |name| {
            EventHead { ph: "M", cat: "__metadata", name, pid: self.pid, tid: 0, ts: 0, id: None }
                .text_up_to_arguments()
        };
        if !self.first_heap.process_name.is_empty() {
            write!(out, ",\n{}{{\"name\":{}}}}}", open("process_name"), json_text(&self.first_heap.process_name))?;
        }
        if !self.first_heap.process_labels.is_empty() {
            write!(
                out,
                ",\n{}{{\"labels\":{}}}}}",
                open("process_labels"),
                json_text(&self.first_heap.process_labels)
            )?;
        }
        write!(out, ",\n{}{{\"stackFrames\":{{", open("stackFrames"))?;
        for (id, (parent, name)) in self.frames_by_id.iter().enumerate() {
            let comma = if id == 0 { "" } else { "," };
            let parent = parent.map_or(String::new(), |parent| format!(",\"parent\":\"{parent}\""));
            let name = json_text(&name.map_or("<self>", |name| names.text(name)));
            write!(out, "{comma}\n\"{id}\":{{\"name\":{name}{parent}}}")?;
        }
        write!(out, "}}}}}},\n{}{{\"typeNames\":{{\"0\":\"[unknown]\"", open("typeNames"))?;
        for (number, name) in self.types_in_order.iter().enumerate() {
            write!(out, ",\n\"{}\":{}", number + 1, json_text(&names.text(*name)))?;
        }
        write!(out, "}}}}}}")
    }
}
