//! Entries of `heaps` to heaps, with the stack frames and types of their process.

use rustc_hash::FxHashMap;

use super::collector::{DumpEvent, FramesById, TraceProcess};
use super::event::StackFrame;
use super::heap_maker::{HeapMaker, ModuleMap, UnnamedHeap};
use super::problem_codes;
use super::raw_ids::{RawEntry, RawId};
use crate::allocations::{AllocationEntry, AllocationHeapBuilder, CountingMode, NameId, PathId};
use crate::input::ProblemCode;
use crate::input::diagnostics::excerpt;

/// A process's stack frames known from the heaps before: nearly all have the same backtraces.
#[derive(Default)]
pub(super) struct FrameNodeCache {
    frame_caches: Vec<FrameCache>,
    /// By frame: its caller's row.
    caller_rows: Vec<u32>,
    /// By frame: its node in the heap at hand. Apart, for every entry asks for one.
    nodes_in_heap: Vec<u32>,
    /// Generation of the module map; names of earlier ones are forgotten.
    module_map_generation: u32,
    /// Frames that have a node in the heap at hand.
    frames_in_heap: Vec<u32>,
    /// On the way up from a frame to one that has a node.
    path: Vec<u32>,
}

/// What is known of a stack frame from the heaps before.
#[derive(Clone, Copy)]
pub(super) struct FrameCache {
    /// Display name in the current module map.
    display_name: Option<NameId>,
    /// Its caller's path and its own, in the heap where it was met last.
    caller_and_own_path: Option<(PathId, PathId)>,
    /// The path of what it allocated itself.
    self_path: Option<PathId>,
    /// Generation of the module map this entry was computed for.
    module_map_generation: u32,
}

impl FrameCache {
    pub(super) const EMPTY: Self =
        FrameCache { display_name: None, caller_and_own_path: None, self_path: None, module_map_generation: 0 };

    /// Display name in the module map of this generation, found once.
    pub(super) fn name(&mut self, generation: u32, find: impl FnOnce() -> NameId) -> NameId {
        if self.module_map_generation != generation {
            *self = FrameCache { module_map_generation: generation, ..FrameCache::EMPTY };
        }
        *self.display_name.get_or_insert_with(find)
    }

    /// Makes its node below its caller's, and gives it.
    pub(super) fn make_node(&mut self, builder: &mut AllocationHeapBuilder, caller: u32, name: NameId) -> u32 {
        let above = builder.path_of_frame(caller);
        let path = match self.caller_and_own_path {
            Some((before, path)) if before == above => path,
            _ => {
                let path = builder.find_or_add_child_path(caller, name);
                (self.caller_and_own_path, self.self_path) = (Some((above, path)), None);
                path
            }
        };
        builder.find_or_add_frame_of_path(caller, path)
    }
}

/// For a caller's row: it has none.
const NO_CALLER: u32 = u32::MAX;
/// For a caller's row: nobody has told of it.
const UNKNOWN_CALLER: u32 = u32::MAX - 1;

/// The row of a frame's caller, or what stands in its place.
fn caller_row_of(frame: &StackFrame, frames: &FramesById) -> u32 {
    match frame.parent {
        Some(parent) if parent != RawId::EMPTY_TEXT => frames.row_by_id.find(parent).unwrap_or(UNKNOWN_CALLER),
        _ => NO_CALLER,
    }
}

/// No node yet.
pub(super) const NO_NODE: u32 = u32::MAX;
/// No node yet, and the way up came by.
const NO_NODE_ON_PATH: u32 = u32::MAX - 1;

impl FrameNodeCache {
    /// Addresses may be called otherwise now: another memory map.
    pub(super) fn forget_names(&mut self) {
        self.module_map_generation += 1;
    }

    /// Makes the heap of an allocator. Figures are those of whole backtraces, with what is below them.
    pub(super) fn build_heap(
        &mut self,
        maker: &mut HeapMaker<'_>,
        entries: Vec<RawEntry>,
        event: &DumpEvent,
        process: &TraceProcess,
        frames: &FramesById,
        modules: &ModuleMap,
    ) -> UnnamedHeap {
        if self.caller_rows.len() < frames.rows.len() {
            self.frame_caches.resize(frames.rows.len(), FrameCache::EMPTY);
            self.nodes_in_heap.resize(frames.rows.len(), NO_NODE);
            self.caller_rows = frames.rows.iter().map(|frame| caller_row_of(frame, frames)).collect();
        }
        let heap = HeapBeingRead { frame_cache: self, event, process, frames, modules };
        let parts = heap.read_entries(maker, &entries);
        for row in self.frames_in_heap.drain(..) {
            self.nodes_in_heap[row as usize] = NO_NODE;
        }
        parts
    }
}

/// What it takes to read a heap.
struct HeapBeingRead<'a> {
    frame_cache: &'a mut FrameNodeCache,
    event: &'a DumpEvent,
    process: &'a TraceProcess,
    frames: &'a FramesById,
    modules: &'a ModuleMap,
}

impl HeapBeingRead<'_> {
    fn read_entries(mut self, maker: &mut HeapMaker<'_>, entries: &[RawEntry]) -> UnnamedHeap {
        maker.builder.reserve_entries(entries.len());
        // Before Chromium 48 sizes were those of the exact backtrace, and the total had no backtrace at all.
        let old = entries[0].backtrace().is_none();
        let mut skipped = false;
        let mut types: FxHashMap<RawId, Option<NameId>> = FxHashMap::default();
        for entry in entries {
            let Some(bytes) = entry.bytes() else {
                maker.add_problem(&problem_codes::BAD_ENTRY, self.event, String::new);
                skipped = true;
                continue;
            };
            let mut frame = 0;
            if let Some(id) = entry.backtrace() {
                let row = self.frames.row_by_id.find(id).filter(|_| id != RawId::EMPTY_TEXT);
                match row {
                    Some(row) => frame = self.find_or_add_node(maker, row),
                    None if id == RawId::EMPTY_TEXT => {}
                    None => {
                        add_problem_with_id(maker, &problem_codes::UNKNOWN_FRAME, self.event, id);
                        skipped = true;
                        continue;
                    }
                }
                if old {
                    frame = self.find_or_add_self_node(maker, frame, row);
                }
            }
            let type_name = match entry.type_id() {
                None => None,
                Some(id) => {
                    match *types.entry(id).or_insert_with(|| type_name_of_id(maker, self.process, id, self.event)) {
                        None => continue,
                        known => known,
                    }
                }
            };
            maker.builder.add_entry(AllocationEntry::new(frame, type_name, bytes, entry.allocations()));
        }
        let (frames, entries) = maker.builder.finish_heap(Some(maker.self_name));
        // What was allocated at an exact backtrace was never too small for those writers.
        let counting = if old && !skipped { CountingMode::CompleteInclusive } else { CountingMode::Inclusive };
        UnnamedHeap { counting, frames, entries }
    }

    /// The node of a stack frame, made with all its callers. Each frame is looked at once in a heap.
    fn find_or_add_node(&mut self, maker: &mut HeapMaker<'_>, row: u32) -> u32 {
        let known = self.frame_cache.nodes_in_heap[row as usize];
        if known != NO_NODE {
            return known;
        }
        let mut at = row;
        let mut node = loop {
            let node = &mut self.frame_cache.nodes_in_heap[at as usize];
            match *node {
                NO_NODE => *node = NO_NODE_ON_PATH,
                NO_NODE_ON_PATH => {
                    add_problem_with_id(
                        maker,
                        &problem_codes::CYCLIC_STACK_FRAMES,
                        self.event,
                        self.frames.rows[at as usize].id,
                    );
                    break 0;
                }
                node => break node,
            }
            self.frame_cache.path.push(at);
            match self.frame_cache.caller_rows[at as usize] {
                NO_CALLER => break 0,
                UNKNOWN_CALLER => {
                    if let Some(caller) = self.frames.rows[at as usize].parent {
                        add_problem_with_id(maker, &problem_codes::UNKNOWN_FRAME, self.event, caller);
                    }
                    break 0;
                }
                caller => at = caller,
            }
        };
        while let Some(row) = self.frame_cache.path.pop() {
            let name = self.frames.rows[row as usize].name;
            let cache = &mut self.frame_cache.frame_caches[row as usize];
            let name = cache.name(self.frame_cache.module_map_generation, || maker.frame_name(name, self.modules));
            node = cache.make_node(&mut maker.builder, node, name);
            self.frame_cache.nodes_in_heap[row as usize] = node;
            self.frame_cache.frames_in_heap.push(row);
        }
        node
    }

    /// The node of what a stack frame, or with none the root, allocated itself.
    fn find_or_add_self_node(&mut self, maker: &mut HeapMaker<'_>, node: u32, row: Option<u32>) -> u32 {
        let self_name = maker.self_name;
        let path = match row {
            None => maker.builder.find_or_add_child_path(node, self_name),
            Some(row) => *self.frame_cache.frame_caches[row as usize]
                .self_path
                .get_or_insert_with(|| maker.builder.find_or_add_child_path(node, self_name)),
        };
        maker.builder.find_or_add_frame_of_path(node, path)
    }
}

/// Adds a problem that shows an id.
fn add_problem_with_id(maker: &mut HeapMaker<'_>, code: &'static ProblemCode, event: &DumpEvent, id: RawId) {
    let text = id.text(maker.names).into_owned();
    maker.add_problem(code, event, || excerpt(text.as_bytes()));
}

/// The name of a type by its id; `None` for an id that the trace does not have, though it has others.
fn type_name_of_id(maker: &mut HeapMaker<'_>, process: &TraceProcess, id: RawId, event: &DumpEvent) -> Option<NameId> {
    let Some(types) = &process.types else {
        add_problem_with_id(maker, &problem_codes::MISSING_TYPE_NAMES, event, id);
        let text = format!("<type {}>", id.text(maker.names));
        return Some(maker.names.intern(&text));
    };
    match types.find(id) {
        Some(name) => Some(maker.type_name(name)),
        None => {
            add_problem_with_id(maker, &problem_codes::UNKNOWN_TYPE, event, id);
            None
        }
    }
}
