//! From a trace to heaps: dumps put in order, ids turned into backtraces and types.

use rustc_hash::FxHashMap;

use super::collector::{DumpEvent, Trace, TraceProcess};
use super::frame_stacks::FrameNodeCache;
use super::heap_maker::{HeapMaker, ModuleMap, UnnamedHeap, process_name_by_threads};
use super::problem_codes;
use super::process_maps::ProcessMaps;
use crate::allocations::{AllocationDump, AllocationEntry, AllocationHeap, MemoryDump, NameId, NameTable};
use crate::graph::{BuildError, MemoryBudget, MemoryShare};
use crate::input::problem_codes::SIZE_OVERFLOW;
use crate::input::{Diagnostics, Position};
use crate::sort;

/// Puts heaps together.
pub(super) struct Assembler<'a> {
    heap_maker: HeapMaker<'a>,
    /// By (dump, pid, allocator): how many heaps there are already.
    heap_counts: FxHashMap<(usize, i64, NameId), u32>,
    /// By dump: bytes of its heaps so far.
    dump_bytes: FxHashMap<usize, u128>,
    heaps_share: MemoryShare,
    names_share: MemoryShare,
    /// Of all heaps so far.
    frame_count: u64,
    /// Of all heaps so far.
    entry_count: u64,
}

impl<'a> Assembler<'a> {
    pub(super) fn new(
        names: &'a mut NameTable,
        diagnostics: &'a mut Diagnostics,
        raw_types: bool,
        budget: &MemoryBudget,
    ) -> Self {
        let (share, names_share) = (budget.for_content(), budget.for_content());
        Assembler {
            heap_maker: HeapMaker::new(names, diagnostics, raw_types),
            heap_counts: FxHashMap::default(),
            dump_bytes: FxHashMap::default(),
            heaps_share: share,
            names_share,
            frame_count: 0,
            entry_count: 0,
        }
    }

    /// Are the backtraces of all heaps so deep that no program has made them? A small file can ask for billions of
    /// frames, for each heap has its own. Chromium cuts backtraces off at 48 frames.
    pub(super) fn has_too_deep_backtraces(&self) -> bool {
        const FRAMES_ALWAYS_ALLOWED: u64 = 4_000_000;
        const MAX_FRAMES_PER_ENTRY: u64 = 64;
        self.frame_count > FRAMES_ALWAYS_ALLOWED + MAX_FRAMES_PER_ENTRY * self.entry_count
    }

    /// Adds the heaps of a trace, unless they are too deep. Its dumps are numbered behind those that are there. Error:
    /// if there is no memory for them.
    pub(super) fn add_trace(&mut self, mut trace: Trace, all: &mut AllocationDump) -> Result<(), BuildError> {
        let mut events = std::mem::take(&mut trace.kept_dump_events);
        let started = |event: &DumpEvent| trace.started_us.get(&event.dump_id).copied().unwrap_or(event.time_us);
        // Stable: events of one moment stay in the order of the file.
        sort::rows_by(&mut events, &|a, b| {
            (started(a), &a.dump_id, a.time_us).cmp(&(started(b), &b.dump_id, b.time_us))
        });
        let places = MemoryMapEvents::new(&events);
        let mut modules: FxHashMap<i64, (Option<usize>, ModuleMap)> = FxHashMap::default();
        let mut stacks: FxHashMap<i64, FrameNodeCache> = FxHashMap::default();
        let mut maps: FxHashMap<i64, ProcessMaps> = FxHashMap::default();
        let mut repeats: FxHashMap<(String, i64), u32> = FxHashMap::default();
        let mut v2_events: FxHashMap<(String, i64), u32> = FxHashMap::default();
        for event in events.iter().filter(|event| event.dumps.heaps_v2.is_some()) {
            *v2_events.entry((event.dump_id.clone(), event.pid)).or_default() += 1;
        }
        let nobody = TraceProcess::default();
        for at in 0..events.len() {
            // Taken, so that what was read of a heap goes when the heap is there.
            trace.kept_bytes = trace.kept_bytes.saturating_sub(events[at].dumps.memory_bytes() as u64);
            let heaps = std::mem::take(&mut events[at].dumps.heaps);
            let v2 = events[at].dumps.heaps_v2.take();
            let event = &events[at];
            let process = trace.processes.get(&event.pid).unwrap_or(&nobody);
            let map_at = places.event_index_for(at, event);
            let stacks = stacks.entry(event.pid).or_default();
            let maps = maps.entry(event.pid).or_default();
            let (known_at, modules) = modules.entry(event.pid).or_default();
            if *known_at != map_at {
                let new = map_at.map_or_else(ModuleMap::default, |at| ModuleMap::new(&events[at].dumps.regions));
                if new != *modules {
                    stacks.forget_names();
                    maps.forget_names();
                    *modules = new;
                }
                *known_at = map_at;
            }
            let modules = &*modules;
            let mut dump = None;
            for (allocator, entries) in heaps {
                if self.has_too_deep_backtraces() {
                    return Ok(());
                }
                if entries.is_empty() {
                    self.heap_maker.add_problem(&problem_codes::EMPTY_HEAP, event, String::new);
                    continue;
                }
                let number = *dump.get_or_insert_with(|| find_or_add_dump_number(all, event, &trace.started_us));
                let frames = if process.frames.row_by_id.is_empty() { &trace.global_frames } else { &process.frames };
                let heap = stacks.build_heap(&mut self.heap_maker, entries, event, process, frames, modules);
                let instance = self.next_part_number(number, event, allocator, None);
                let name = process_name(process);
                self.push_heap(all, heap, number, event, process, (name, instance), allocator)?;
            }
            trace.share.set_held_bytes(trace.kept_bytes)?;
            let Some(v2) = v2 else { continue };
            maps.merge_maps(&v2, self.heap_maker.names);
            let instance = repeats.entry((event.dump_id.clone(), event.pid)).or_default();
            *instance += 1;
            let instance = *instance;
            if v2.version != Some(1) {
                self.heap_maker.add_problem(&problem_codes::UNKNOWN_VERSION, event, || format!("{:?}", v2.version));
            }
            for (allocator, columns) in v2.allocators {
                if self.has_too_deep_backtraces() {
                    return Ok(());
                }
                if columns.sizes.len() == 0 {
                    self.heap_maker.add_problem(&problem_codes::EMPTY_HEAP, event, String::new);
                    continue;
                }
                let number = *dump.get_or_insert_with(|| find_or_add_dump_number(all, event, &trace.started_us));
                let heap = maps.build_heap(&mut self.heap_maker, &columns, event, modules);
                let several = v2_events[&(event.dump_id.clone(), event.pid)] > 1;
                let threads = heap.frames.iter().skip(1).filter(|frame| frame.parent() == 0);
                let found = process_name_by_threads(threads.map(|frame| self.heap_maker.names.text(frame.name)));
                let name = match found.filter(|_| several) {
                    Some(name) => name.to_string(),
                    // Of several processes under one number the number's name belongs to one at most.
                    None if several && instance > 1 => String::new(),
                    None => process_name(process),
                };
                let instance = self.next_part_number(number, event, allocator, several.then_some(instance));
                self.push_heap(all, heap, number, event, process, (name, instance), allocator)?;
            }
        }
        Ok(())
    }

    /// The number, from 1, among heaps of the same dump, process number and allocator. In `heaps_v2` all
    /// allocators of an event have the number of the event.
    fn next_part_number(&mut self, dump: usize, event: &DumpEvent, allocator: NameId, fixed: Option<u32>) -> u32 {
        let count = self.heap_counts.entry((dump, event.pid, allocator)).or_default();
        *count += 1;
        let (count, instance) = (*count, fixed.unwrap_or(*count));
        if count > 1 {
            self.heap_maker.add_problem(&problem_codes::REPEATED_HEAP, event, String::new);
        }
        instance
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a heap, each from another place")]
    fn push_heap(
        &mut self,
        all: &mut AllocationDump,
        heap: UnnamedHeap,
        dump: usize,
        event: &DumpEvent,
        process: &TraceProcess,
        (name, instance): (String, u32),
        allocator: NameId,
    ) -> Result<(), BuildError> {
        self.frame_count += heap.frames.len() as u64;
        self.entry_count += heap.entries.len() as u64;
        let at = Position::Byte(event.offset);
        self.heap_maker.diagnostics.add(
            &problem_codes::CHILDREN_EXCEED_PARENT,
            heap.exceeded_frame_count(),
            at,
            String::new,
        );
        let sum = self.dump_bytes.entry(dump).or_default();
        let before = std::mem::replace(sum, *sum + heap.total_bytes());
        if before <= u64::MAX.into() && *sum > u64::MAX.into() {
            self.heap_maker.add_problem(&SIZE_OVERFLOW, event, String::new);
        }
        let allocator = self.heap_maker.names.text(allocator).to_string();
        let bytes = 2 * size_of::<AllocationHeap>()
            + name.len()
            + process.labels.len()
            + allocator.len()
            + heap.frames.memory_bytes()
            + heap.entries.capacity() * size_of::<AllocationEntry>();
        self.heaps_share.set_held_bytes(self.heaps_share.held_bytes() + bytes as u64)?;
        self.names_share.set_held_bytes(self.heap_maker.names.memory_bytes() as u64)?;
        all.heaps.push(AllocationHeap {
            dump_number: dump,
            pid: event.pid,
            part_number: instance,
            process_name: name,
            process_labels: process.labels.clone(),
            allocator_name: allocator,
            counting_mode: heap.counting,
            frames: heap.frames,
            entries: heap.entries,
        });
        Ok(())
    }
}

/// The events whose memory maps belong to an event's addresses.
struct MemoryMapEvents {
    last_by_pid: FxHashMap<i64, usize>,
    last_by_dump_and_pid: FxHashMap<(String, i64), usize>,
}

impl MemoryMapEvents {
    fn new(events: &[DumpEvent]) -> Self {
        let mut places =
            MemoryMapEvents { last_by_pid: FxHashMap::default(), last_by_dump_and_pid: FxHashMap::default() };
        for (at, event) in events.iter().enumerate().filter(|(_, event)| !event.dumps.regions.is_empty()) {
            places.last_by_pid.insert(event.pid, at);
            places.last_by_dump_and_pid.insert((event.dump_id.clone(), event.pid), at);
        }
        places
    }

    /// The index of the event whose memory map is that of an event's addresses: its own where it has one, which is
    /// right even where several processes have one number.
    fn event_index_for(&self, at: usize, event: &DumpEvent) -> Option<usize> {
        if !event.dumps.regions.is_empty() {
            return Some(at);
        }
        let in_dump = self.last_by_dump_and_pid.get(&(event.dump_id.clone(), event.pid));
        in_dump.or_else(|| self.last_by_pid.get(&event.pid)).copied()
    }
}

/// The name that the trace gives a process; empty where it gives none.
fn process_name(process: &TraceProcess) -> String {
    match &process.name {
        Some(name) => name.clone(),
        None if process.is_browser => "Browser".into(),
        None => String::new(),
    }
}

/// The number of the event's dump, which gets the next one when it has none.
fn find_or_add_dump_number(all: &mut AllocationDump, event: &DumpEvent, started_us: &FxHashMap<String, i64>) -> usize {
    // Events are sorted by dump: only the last can be the same.
    let started_us = started_us.get(&event.dump_id).copied().unwrap_or(event.time_us);
    if !all.dumps.last().is_some_and(|dump| dump.id == event.dump_id && dump.started_us == started_us) {
        let detail = event.dumps.level_of_detail.clone();
        all.dumps.push(MemoryDump { id: event.dump_id.clone(), started_us, unix_ms: None, detail_level: detail });
    }
    all.dumps.len()
}
