//! Entries of `heaps` to heaps, with the stack frames and types of their process.

use rustc_hash::FxHashMap;

use super::problem_codes;
use super::collect::{DumpEvent, Frames, Process};
use super::event::StackFrame;
use super::heap_maker::{HeapMaker, HeapParts, Modules};
use super::ids::{RawEntry, RawId};
use crate::allocations::{Counting, Entry, HeapBuilder, NameId, Path};
use crate::input::ProblemCode;
use crate::input::diagnostics::excerpt;

/// A process's stack frames known from the heaps before: nearly all have the same backtraces.
#[derive(Default)]
pub(super) struct Stacks {
    caches: Vec<FrameCache>,
    /// By frame: its caller's row.
    callers: Vec<u32>,
    /// By frame: its node in the heap at hand. Apart, for every entry asks for one.
    nodes: Vec<u32>,
    /// Generation of the module map; names of earlier ones are forgotten.
    generation: u32,
    /// Frames that have a node in the heap at hand.
    in_heap: Vec<u32>,
    /// On the way up from a frame to one that has a node.
    path: Vec<u32>,
}

#[derive(Clone, Copy)]
pub(super) struct FrameCache {
    /// Display name in the current module map.
    shown: Option<NameId>,
    /// Its caller's path and its own, in the heap where it was met last.
    below: Option<(Path, Path)>,
    /// The path of what it allocated itself.
    own: Option<Path>,
    /// Generation of the module map this entry was computed for.
    generation: u32,
}

impl FrameCache {
    pub(super) const EMPTY: Self = FrameCache { shown: None, below: None, own: None, generation: 0 };

    /// Display name in the module map of this generation, found once.
    pub(super) fn name(&mut self, generation: u32, find: impl FnOnce() -> NameId) -> NameId {
        if self.generation != generation {
            *self = FrameCache { generation, ..FrameCache::EMPTY };
        }
        *self.shown.get_or_insert_with(find)
    }

    /// Makes its node below its caller's, and gives it.
    pub(super) fn make_node(&mut self, builder: &mut HeapBuilder, caller: u32, name: NameId) -> u32 {
        let above = builder.path_of(caller);
        let path = match self.below {
            Some((before, path)) if before == above => path,
            _ => {
                let path = builder.path(caller, name);
                (self.below, self.own) = (Some((above, path)), None);
                path
            }
        };
        builder.frame_at(caller, path)
    }
}

/// For a caller's row: it has none.
const ROOT: u32 = u32::MAX;
/// For a caller's row: nobody has told of it.
const UNKNOWN: u32 = u32::MAX - 1;

fn caller_of(frame: &StackFrame, frames: &Frames) -> u32 {
    match frame.parent {
        Some(parent) if parent != RawId::EMPTY => frames.by_id.find(parent).unwrap_or(UNKNOWN),
        _ => ROOT,
    }
}

/// No node yet.
pub(super) const NONE: u32 = u32::MAX;
/// No node yet, and the way up came by.
const ON_PATH: u32 = u32::MAX - 1;

impl Stacks {
    /// Addresses may be called otherwise now: another memory map.
    pub(super) fn forget_names(&mut self) {
        self.generation += 1;
    }

    /// The heap of an allocator, in all three meanings.
    pub(super) fn heap(
        &mut self,
        maker: &mut HeapMaker<'_>,
        entries: Vec<RawEntry>,
        event: &DumpEvent,
        process: &Process,
        frames: &Frames,
        modules: &Modules,
    ) -> HeapParts {
        if self.callers.len() < frames.rows.len() {
            self.caches.resize(frames.rows.len(), FrameCache::EMPTY);
            self.nodes.resize(frames.rows.len(), NONE);
            self.callers = frames.rows.iter().map(|frame| caller_of(frame, frames)).collect();
        }
        let heap = HeapBeingRead { stacks: self, event, process, frames, modules };
        let parts = heap.read(maker, &entries);
        for row in self.in_heap.drain(..) {
            self.nodes[row as usize] = NONE;
        }
        parts
    }
}

struct HeapBeingRead<'a> {
    stacks: &'a mut Stacks,
    event: &'a DumpEvent,
    process: &'a Process,
    frames: &'a Frames,
    modules: &'a Modules,
}

impl HeapBeingRead<'_> {
    fn read(mut self, maker: &mut HeapMaker<'_>, entries: &[RawEntry]) -> HeapParts {
        maker.builder.reserve(entries.len());
        // Before Chromium 48 sizes were those of the exact backtrace, and the total had no backtrace at all.
        let old = entries[0].backtrace().is_none();
        let mut skipped = false;
        let mut types: FxHashMap<RawId, Option<NameId>> = FxHashMap::default();
        for entry in entries {
            let Some(bytes) = entry.bytes() else {
                maker.note(&problem_codes::BAD_ENTRY, self.event, String::new);
                skipped = true;
                continue;
            };
            let mut frame = 0;
            if let Some(id) = entry.backtrace() {
                let row = self.frames.by_id.find(id).filter(|_| id != RawId::EMPTY);
                match row {
                    Some(row) => frame = self.node_of(maker, row),
                    None if id == RawId::EMPTY => {}
                    None => {
                        unknown(maker, &problem_codes::UNKNOWN_FRAME, self.event, id);
                        skipped = true;
                        continue;
                    }
                }
                if old {
                    frame = self.own_node(maker, frame, row);
                }
            }
            let type_name = match entry.type_id() {
                None => None,
                Some(id) => match *types.entry(id).or_insert_with(|| type_of(maker, self.process, id, self.event)) {
                    None => continue,
                    known => known,
                },
            };
            maker.builder.add(Entry::new(frame, type_name, bytes, entry.allocations()));
        }
        let (frames, entries) = maker.builder.finish(Some(maker.self_name));
        // What was allocated at an exact backtrace was never too small for those writers.
        let counting = if old && !skipped { Counting::CompleteInclusive } else { Counting::Inclusive };
        HeapParts { counting, frames, entries }
    }

    /// The node of a stack frame, made with all its callers. Each frame is looked at once in a heap.
    fn node_of(&mut self, maker: &mut HeapMaker<'_>, row: u32) -> u32 {
        let known = self.stacks.nodes[row as usize];
        if known != NONE {
            return known;
        }
        let mut at = row;
        let mut node = loop {
            let node = &mut self.stacks.nodes[at as usize];
            match *node {
                NONE => *node = ON_PATH,
                ON_PATH => {
                    unknown(maker, &problem_codes::CYCLIC_STACK_FRAMES, self.event, self.frames.rows[at as usize].id);
                    break 0;
                }
                node => break node,
            }
            self.stacks.path.push(at);
            match self.stacks.callers[at as usize] {
                ROOT => break 0,
                UNKNOWN => {
                    if let Some(caller) = self.frames.rows[at as usize].parent {
                        unknown(maker, &problem_codes::UNKNOWN_FRAME, self.event, caller);
                    }
                    break 0;
                }
                caller => at = caller,
            }
        };
        while let Some(row) = self.stacks.path.pop() {
            let name = self.frames.rows[row as usize].name;
            let cache = &mut self.stacks.caches[row as usize];
            let name = cache.name(self.stacks.generation, || maker.frame_name(name, self.modules));
            node = cache.make_node(&mut maker.builder, node, name);
            self.stacks.nodes[row as usize] = node;
            self.stacks.in_heap.push(row);
        }
        node
    }

    /// The node of what a stack frame, or with none the root, allocated itself.
    fn own_node(&mut self, maker: &mut HeapMaker<'_>, node: u32, row: Option<u32>) -> u32 {
        let self_name = maker.self_name;
        let path = match row {
            None => maker.builder.path(node, self_name),
            Some(row) => {
                *self.stacks.caches[row as usize].own.get_or_insert_with(|| maker.builder.path(node, self_name))
            }
        };
        maker.builder.frame_at(node, path)
    }
}

fn unknown(maker: &mut HeapMaker<'_>, code: &'static ProblemCode, event: &DumpEvent, id: RawId) {
    let text = id.text(maker.names).into_owned();
    maker.note(code, event, || excerpt(text.as_bytes()));
}

/// The name of a type by its id; `None` for an id that the trace does not have, though it has others.
fn type_of(maker: &mut HeapMaker<'_>, process: &Process, id: RawId, event: &DumpEvent) -> Option<NameId> {
    let Some(types) = &process.types else {
        unknown(maker, &problem_codes::MISSING_TYPE_NAMES, event, id);
        let text = format!("<type {}>", id.text(maker.names));
        return Some(maker.names.intern(&text));
    };
    match types.find(id) {
        Some(name) => Some(maker.type_name(name)),
        None => {
            unknown(maker, &problem_codes::UNKNOWN_TYPE, event, id);
            None
        }
    }
}
