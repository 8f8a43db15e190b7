//! The making of one heap, whichever form its entries have, with names as people know them: types without the compiler's text
//! around them, program counters as places in files.

use rustc_hash::FxHashMap;

use super::collector::DumpEvent;
use super::event_dumps::MappedRegion;
use crate::allocations::{AllocationEntry, AllocationHeapBuilder, CountingMode, FrameList, NameId, NameTable};
use crate::input::{Diagnostics, Position, ProblemCode};

/// The name of the frame that stands for its parent's own allocations.
const SELF_NAME: &str = "<self>";

/// Makes heaps one after another, with names as people know them.
pub(super) struct HeapMaker<'a> {
    pub(super) names: &'a mut NameTable,
    pub(super) diagnostics: &'a mut Diagnostics,
    /// Names of types stay as the trace has them.
    pub(super) keeps_raw_types: bool,
    pub(super) builder: AllocationHeapBuilder,
    pub(super) self_name: NameId,
}

impl<'a> HeapMaker<'a> {
    pub(super) fn new(names: &'a mut NameTable, diagnostics: &'a mut Diagnostics, raw_types: bool) -> Self {
        let (self_name, root) = (names.intern(SELF_NAME), names.intern(""));
        HeapMaker {
            names,
            diagnostics,
            keeps_raw_types: raw_types,
            builder: AllocationHeapBuilder::new(root),
            self_name,
        }
    }

    pub(super) fn add_problem(&mut self, code: &'static ProblemCode, event: &DumpEvent, text: impl FnOnce() -> String) {
        self.diagnostics.add(code, 1, Position::Byte(event.offset), text);
    }

    /// The name of a frame as it is shown: a place in a file for a program counter in one.
    pub(super) fn frame_name(&mut self, name: NameId, modules: &ModuleMap) -> NameId {
        match modules.module_place(self.names.text(name), self.names) {
            Some(place) => self.names.intern(&place),
            None => name,
        }
    }

    /// The name of a type as it is shown: without the text that compilers put around it, unless raw names are wanted.
    pub(super) fn type_name(&mut self, name: NameId) -> NameId {
        if self.keeps_raw_types {
            return name;
        }
        let text = unwrapped_type_name(self.names.text(name)).to_string();
        self.names.intern(&text)
    }
}

/// A heap without the names of its process and allocator.
pub(super) struct UnnamedHeap {
    pub(super) counting: CountingMode,
    pub(super) frames: FrameList,
    pub(super) entries: Vec<AllocationEntry>,
}

impl UnnamedHeap {
    /// Bytes of the heap; of more than 64 bits, too.
    pub(super) fn total_bytes(&self) -> u128 {
        if self.counting == CountingMode::Exclusive {
            return self.entries.iter().map(|entry| u128::from(entry.bytes())).sum();
        }
        // Each figure includes what is below it.
        let (mut root, mut callees) = (0, 0);
        for entry in self.entries.iter().filter(|entry| entry.type_name().is_none()) {
            match entry.frame() {
                0 => root += u128::from(entry.bytes()),
                frame if self.frames.parent(frame) == 0 => callees += u128::from(entry.bytes()),
                _ => {}
            }
        }
        root.max(callees)
    }

    /// The number of backtraces whose total is less than those of the backtraces below them.
    pub(super) fn exceeded_frame_count(&self) -> u64 {
        if self.counting == CountingMode::Exclusive {
            return 0;
        }
        let mut stated: Vec<Option<u64>> = vec![None; self.frames.len()];
        for entry in self.entries.iter().filter(|entry| entry.type_name().is_none()) {
            stated[entry.frame() as usize] = Some(entry.bytes());
        }
        let mut below = vec![0u64; self.frames.len()];
        for (frame, bytes) in self.frames.iter().zip(&stated).skip(1) {
            let sum = &mut below[frame.parent() as usize];
            *sum = sum.saturating_add(bytes.unwrap_or(0));
        }
        stated.iter().zip(below).filter(|(stated, below)| stated.is_some_and(|stated| stated < *below)).count() as u64
    }
}

/// Texts that compilers put around a type's name when a template function prints its own. GCC, Clang and MSVC; seen in
/// Chromium 49 to 56.
const TYPE_NAME_WRAPPINGS: [(&str, &str); 3] = [
    ("const char *WTF::getStringWithTypeName() [T = ", "]"),
    ("const char* WTF::getStringWithTypeName() [with T = ", "]"),
    ("const char *__cdecl WTF::getStringWithTypeName<", ">(void)"),
];

/// A type's name without its wrapping. Both ends must be there: names that the writer cut off stay as they are.
pub(super) fn unwrapped_type_name(name: &str) -> &str {
    let inside = |(prefix, suffix): &(&str, &str)| {
        name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix)).filter(|inside| !inside.is_empty())
    };
    TYPE_NAME_WRAPPINGS.iter().find_map(inside).unwrap_or(name)
}

/// A name that was escaped twice, its inner escapes undone; else `None` (so in the exporter of Chromium's heap profiler).
pub(super) fn undo_double_escape(name: &str) -> Option<String> {
    if !name.contains('\\') || (!name.contains("\\\"") && !name.contains("\\u00")) {
        return None;
    }
    serde_json::from_str(&format!("\"{name}\"")).ok()
}

/// Places of the files in a process.
#[derive(Default, PartialEq)]
pub(super) struct ModuleMap {
    /// (start, end, file, lowest start of that file), by start.
    regions: Vec<(u64, u64, NameId, u64)>,
}

impl ModuleMap {
    pub(super) fn new(regions: &[MappedRegion]) -> Self {
        let mut lowest: FxHashMap<NameId, u64> = FxHashMap::default();
        for region in regions {
            let start = lowest.entry(region.file).or_insert(region.start);
            *start = (*start).min(region.start);
        }
        let mut regions: Vec<_> = regions
            .iter()
            .map(|region| (region.start, region.start.saturating_add(region.bytes), region.file, lowest[&region.file]))
            .collect();
        regions.sort_unstable();
        ModuleMap { regions }
    }

    /// `libcef.so+0x1234` for a frame called `pc:7ff7395a497c`; `None` for other frames, and outside known files.
    pub(super) fn module_place(&self, name: &str, names: &NameTable) -> Option<String> {
        let pc = u64::from_str_radix(name.strip_prefix("pc:")?, 16).ok()?;
        let after = self.regions.partition_point(|&(start, ..)| start <= pc);
        let &(_, end, file, base) = self.regions.get(after.checked_sub(1)?)?;
        if pc >= end {
            return None;
        }
        let path = names.text(file);
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        Some(format!("{file}+{:#x}", pc - base))
    }
}

/// The process that the main thread's name tells, in dumps that give all processes the browser's number.
pub(super) fn process_name_by_threads<'a>(mut threads: impl Iterator<Item = &'a str>) -> Option<&'static str> {
    threads.find_map(|thread| match thread {
        "CrBrowserMain" => Some("Browser"),
        "CrGpuMain" => Some("GPU Process"),
        "CrRendererMain" => Some("Renderer"),
        _ if thread.ends_with("CrUtilityMain") => Some("Utility"),
        _ => None,
    })
}
