//! From a trace to heaps: dumps put in order, ids turned into backtraces and types.

use rustc_hash::{FxHashMap, FxHashSet};

use super::codes;
use super::dumps::RawEntry;
use super::naming::{Modules, process_of_threads, unwrapped};
use super::rows::MapsOfProcess;
use super::trace::{DumpEvent, Process, Trace};
use crate::allocations::{AllocationDump, AllocationHeap, DumpTime, Entry, HeapBuilder, Meaning, NameId, Names};
use crate::input::diagnostics::excerpt;
use crate::input::{Diagnostics, Position};

/// What the frame is called that stands for its parent's own allocations.
const SELF_NAME: &str = "<self>";

/// Puts heaps together.
pub(super) struct Assembler<'a> {
    pub(super) names: &'a mut Names,
    pub(super) diagnostics: &'a mut Diagnostics,
    pub(super) raw_types: bool,
    /// (dump, pid, allocator): how many heaps there are already.
    parts: FxHashMap<(usize, i64, NameId), u32>,
    self_name: NameId,
    root: NameId,
}

impl<'a> Assembler<'a> {
    pub(super) fn new(names: &'a mut Names, diagnostics: &'a mut Diagnostics, raw_types: bool) -> Self {
        let (self_name, root) = (names.intern(SELF_NAME), names.intern(""));
        Assembler { names, diagnostics, raw_types, parts: FxHashMap::default(), self_name, root }
    }

    /// Adds the heaps of a trace. Its dumps are numbered behind those that are there.
    pub(super) fn add(&mut self, mut trace: Trace, all: &mut AllocationDump) {
        let mut events = std::mem::take(&mut trace.dumps);
        let started = |event: &DumpEvent| trace.started_us.get(&event.id).copied().unwrap_or(event.time_us);
        // Stable: events of one moment stay in the order of the file.
        events.sort_by(|a, b| (started(a), &a.id, a.time_us).cmp(&(started(b), &b.id, b.time_us)));
        let mut regions: FxHashMap<i64, Modules> = FxHashMap::default();
        let mut last_of: FxHashMap<i64, usize> = FxHashMap::default();
        let mut last_in: FxHashMap<(&str, i64), usize> = FxHashMap::default();
        for (at, event) in events.iter().enumerate().filter(|(_, event)| !event.dumps.regions.is_empty()) {
            last_of.insert(event.pid, at);
            last_in.insert((&event.id, event.pid), at);
        }
        let mut maps: FxHashMap<i64, MapsOfProcess> = FxHashMap::default();
        let mut repeats: FxHashMap<(&str, i64), u32> = FxHashMap::default();
        let mut v2_events: FxHashMap<(&str, i64), u32> = FxHashMap::default();
        for event in events.iter().filter(|event| event.dumps.heaps_v2.is_some()) {
            *v2_events.entry((&event.id, event.pid)).or_default() += 1;
        }
        let nobody = Process::default();
        for (at, event) in events.iter().enumerate() {
            let process = trace.processes.get(&event.pid).unwrap_or(&nobody);
            // The map in the same event is the right one even where several processes have one number.
            let map_at = (!event.dumps.regions.is_empty())
                .then_some(at)
                .or_else(|| last_in.get(&(event.id.as_str(), event.pid)).copied())
                .or_else(|| last_of.get(&event.pid).copied());
            let modules = match map_at {
                Some(at) => Modules::new(&events[at].dumps.regions),
                None => Modules::default(),
            };
            regions.insert(event.pid, modules);
            let modules = &regions[&event.pid];
            let mut dump = None;
            for (allocator, entries) in &event.dumps.heaps {
                if entries.is_empty() {
                    self.note(&codes::EMPTY_HEAP, event, String::new);
                    continue;
                }
                let number = *dump.get_or_insert_with(|| number_of_dump(all, event, &trace));
                let heap = self.heap_of_totals(entries, event, process, &trace.global_frames, modules);
                let part = self.part(number, event, *allocator, None);
                let name = process_name(process);
                self.push(all, heap, number, event, process, (name, part), *allocator);
            }
            let Some(v2) = &event.dumps.heaps_v2 else { continue };
            let maps = maps.entry(event.pid).or_default();
            maps.learn(v2, self.names);
            let part = repeats.entry((&event.id, event.pid)).or_default();
            *part += 1;
            let part = *part;
            if v2.version != Some(1) {
                self.note(&codes::UNKNOWN_VERSION, event, || format!("{:?}", v2.version));
            }
            for (allocator, columns) in &v2.allocators {
                if columns.sizes.is_empty() {
                    self.note(&codes::EMPTY_HEAP, event, String::new);
                    continue;
                }
                let number = *dump.get_or_insert_with(|| number_of_dump(all, event, &trace));
                let heap = maps.heap(self, columns, event, modules);
                let several = v2_events[&(event.id.as_str(), event.pid)] > 1;
                let threads = heap.frames.iter().skip(1).filter(|frame| frame.parent == 0);
                let told = process_of_threads(threads.map(|frame| self.names.text(frame.name)));
                let name = match told.filter(|_| several) {
                    Some(name) => name.to_string(),
                    // Of several processes under one number the number's name belongs to one at most.
                    None if several && part > 1 => String::new(),
                    None => process_name(process),
                };
                let part = self.part(number, event, *allocator, several.then_some(part));
                self.push(all, heap, number, event, process, (name, part), *allocator);
            }
        }
    }

    /// Which of several heaps of the same dump, process number and allocator this is; from 1. In `heaps_v2` all
    /// allocators of an event have the number of the event.
    fn part(&mut self, dump: usize, event: &DumpEvent, allocator: NameId, fixed: Option<u32>) -> u32 {
        let count = self.parts.entry((dump, event.pid, allocator)).or_default();
        *count += 1;
        let (count, part) = (*count, fixed.unwrap_or(*count));
        if count > 1 {
            self.note(&codes::REPEATED_HEAP, event, String::new);
        }
        part
    }

    pub(super) fn note(&mut self, code: &'static crate::input::Code, event: &DumpEvent, text: impl FnOnce() -> String) {
        self.diagnostics.add(code, 1, Position::Byte(event.offset), text);
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a heap, each from another place")]
    fn push(
        &mut self,
        all: &mut AllocationDump,
        heap: HeapParts,
        dump: usize,
        event: &DumpEvent,
        process: &Process,
        (name, part): (String, u32),
        allocator: NameId,
    ) {
        let exceeding = heap.frames_exceeded();
        if exceeding > 0 {
            self.diagnostics.add(&codes::CHILDREN_EXCEED_PARENT, exceeding, Position::Byte(event.offset), String::new);
        }
        all.heaps.push(AllocationHeap {
            dump,
            pid: event.pid,
            part,
            process: name,
            labels: process.labels.clone(),
            allocator: self.names.text(allocator).to_string(),
            meaning: heap.meaning,
            frames: heap.frames,
            entries: heap.entries,
        });
    }

    /// `heaps`, in all three meanings.
    fn heap_of_totals(
        &mut self,
        entries: &[RawEntry],
        event: &DumpEvent,
        process: &Process,
        global: &FxHashMap<NameId, StackFrameOf>,
        modules: &Modules,
    ) -> HeapParts {
        let frames = if process.frames.is_empty() { global } else { &process.frames };
        let mut builder = HeapBuilder::new(self.root);
        let mut nodes: FxHashMap<NameId, u32> = FxHashMap::default();
        nodes.insert(self.root, 0);
        // Before Chromium 48 sizes were those of the exact backtrace, and the total had no backtrace at all.
        let old = entries[0].backtrace.is_none();
        let mut types: FxHashMap<NameId, Option<NameId>> = FxHashMap::default();
        for entry in entries {
            let Some(bytes) = entry.bytes else {
                self.note(&codes::BAD_ENTRY, event, String::new);
                continue;
            };
            let mut frame = 0;
            if let Some(id) = entry.backtrace {
                match self.node_of(&mut builder, &mut nodes, frames, id, event, modules) {
                    Some(node) => frame = node,
                    None => {
                        self.unknown(&codes::UNKNOWN_FRAME, event, id);
                        continue;
                    }
                }
                if old {
                    frame = builder.frame(frame, self.self_name);
                }
            }
            let type_name = match entry.type_id {
                None => None,
                Some(id) => match *types.entry(id).or_insert_with(|| self.type_of(process, id, event)) {
                    None => continue,
                    known => known,
                },
            };
            builder.add(Entry { frame, type_name, bytes, allocations: entry.allocations });
        }
        let (frames, entries) = builder.finish(Some(self.self_name));
        HeapParts { meaning: Meaning::Totals, frames, entries }
    }

    fn unknown(&mut self, code: &'static crate::input::Code, event: &DumpEvent, id: NameId) {
        let text = self.names.text(id).to_string();
        self.note(code, event, || excerpt(text.as_bytes()));
    }

    /// The name of a type by its id; `None` for an id that the trace does not have, though it has others.
    fn type_of(&mut self, process: &Process, id: NameId, event: &DumpEvent) -> Option<NameId> {
        match &process.types {
            None => {
                self.unknown(&codes::MISSING_TYPE_NAMES, event, id);
                let text = format!("<type {}>", self.names.text(id));
                Some(self.names.intern(&text))
            }
            Some(types) => match types.get(&id) {
                Some(&name) if self.raw_types => Some(name),
                Some(&name) => {
                    let text = unwrapped(self.names.text(name)).to_string();
                    Some(self.names.intern(&text))
                }
                None => {
                    self.unknown(&codes::UNKNOWN_TYPE, event, id);
                    None
                }
            },
        }
    }

    /// The node of a stack frame's id, made with all its callers. Each frame is looked at once in a heap.
    fn node_of(
        &mut self,
        builder: &mut HeapBuilder,
        nodes: &mut FxHashMap<NameId, u32>,
        frames: &FxHashMap<NameId, StackFrameOf>,
        id: NameId,
        event: &DumpEvent,
        modules: &Modules,
    ) -> Option<u32> {
        if id != self.root && !nodes.contains_key(&id) && !frames.contains_key(&id) {
            return None;
        }
        let mut path = Vec::new();
        let mut on_path = FxHashSet::default();
        let mut at = id;
        let mut node = loop {
            if let Some(&node) = nodes.get(&at) {
                break node;
            }
            let Some(frame) = frames.get(&at) else {
                self.unknown(&codes::UNKNOWN_FRAME, event, at);
                break 0;
            };
            if !on_path.insert(at) {
                self.unknown(&codes::CYCLIC_STACK_FRAMES, event, at);
                break 0;
            }
            path.push((at, frame.name));
            match frame.parent {
                Some(parent) if parent != self.root => at = parent,
                _ => break 0,
            }
        };
        while let Some((id, name)) = path.pop() {
            let name = self.frame_name(name, modules);
            node = builder.frame(node, name);
            nodes.insert(id, node);
        }
        Some(node)
    }

    /// The frame's name as it is shown.
    pub(super) fn frame_name(&mut self, name: NameId, modules: &Modules) -> NameId {
        match modules.place(self.names.text(name), self.names) {
            Some(place) => self.names.intern(&place),
            None => name,
        }
    }

    pub(super) fn root(&self) -> NameId {
        self.root
    }

    pub(super) fn self_name(&self) -> NameId {
        self.self_name
    }
}

type StackFrameOf = super::event::StackFrame;

/// A heap without its name tag.
pub(super) struct HeapParts {
    pub(super) meaning: Meaning,
    pub(super) frames: Vec<crate::allocations::Frame>,
    pub(super) entries: Vec<Entry>,
}

impl HeapParts {
    /// Backtraces whose total is less than those of the backtraces below them.
    fn frames_exceeded(&self) -> u64 {
        if self.meaning == Meaning::Parts {
            return 0;
        }
        let mut stated: Vec<Option<u64>> = vec![None; self.frames.len()];
        for entry in self.entries.iter().filter(|entry| entry.type_name.is_none()) {
            stated[entry.frame as usize] = Some(entry.bytes);
        }
        let mut below = vec![0u64; self.frames.len()];
        for (frame, bytes) in self.frames.iter().zip(&stated).skip(1) {
            let sum = &mut below[frame.parent as usize];
            *sum = sum.saturating_add(bytes.unwrap_or(0));
        }
        stated.iter().zip(below).filter(|(stated, below)| stated.is_some_and(|stated| stated < *below)).count() as u64
    }
}

fn process_name(process: &Process) -> String {
    match &process.name {
        Some(name) => name.clone(),
        None if process.is_browser => "Browser".into(),
        None => String::new(),
    }
}

/// The number of the event's dump, which gets the next one when it has none.
fn number_of_dump(all: &mut AllocationDump, event: &DumpEvent, trace: &Trace) -> usize {
    // Events are sorted by dump: only the last can be the same.
    let started_us = trace.started_us.get(&event.id).copied().unwrap_or(event.time_us);
    if !all.dumps.last().is_some_and(|dump| dump.id == event.id && dump.started_us == started_us) {
        all.dumps.push(DumpTime { id: event.id.clone(), started_us, detail: event.dumps.detail.clone() });
    }
    all.dumps.len()
}
