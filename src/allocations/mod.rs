//! The allocation trees: what a dump holds that counts allocations by backtrace and type instead of listing objects. And class
//! histograms, which count objects by type alone (`class_histograms`).
//!
//! Facts that every part relies on:
//! - A heap is what one allocator of one process held at one time. Its backtraces form a tree whose node 0, without a
//!   name, stands for all of them; a node's number is greater than its parent's.
//! - Siblings have different names: those that the dump repeats are one node, their figures added.
//! - An entry says how much there is of one type, or of all, at a node. In a heap that counts inclusively that includes everything
//!   below the node, and entries may be missing; in a complete one none is missing; in one that counts exclusively it is what was
//!   allocated right there, and nothing is missing. Nothing is ever subtracted across both axes: what is missing cannot be told apart by backtrace and type.
//! - Counts are optional: early dumps have none.

mod builder;
mod class_histograms;
mod frames;
mod names;

pub use builder::{AllocationHeapBuilder, FrameTree, PathId, merged_entries};
pub use class_histograms::{ClassHistograms, TypeTotal};
pub use frames::{Frame, FrameList};
pub use names::{NameId, NameTable};

/// What the frames of backtraces are named by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FrameNaming {
    /// Functions.
    #[default]
    Function,
    /// Functions with file and line.
    FunctionAndLine,
    /// Files of the source.
    File,
    /// Files of the program and its libraries.
    Module,
}

impl FrameNaming {
    /// The words for them.
    pub const WORDS: &[(&str, FrameNaming)] = &[
        ("function", FrameNaming::Function),
        ("line", FrameNaming::FunctionAndLine),
        ("file", FrameNaming::File),
        ("module", FrameNaming::Module),
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        Self::WORDS.iter().find(|(_, names)| *names == self).map_or("", |(word, _)| word)
    }
}

/// Amounts at a node. 24 bytes: a trace can have millions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocationEntry {
    /// The node, with a mark when allocations are counted.
    frame_and_mark: u32,
    type_name_number: u32,
    bytes: u64,
    allocations: u64,
}

/// Marks entries with a count. There are never so many nodes.
const HAS_ALLOCATION_COUNT: u32 = 1 << 31;
/// Stands for all types together.
const ALL_TYPES: u32 = u32::MAX;

impl AllocationEntry {
    /// An entry of a node below 2^31.
    pub fn new(frame: u32, type_name: Option<NameId>, bytes: u64, allocations: Option<u64>) -> Self {
        AllocationEntry {
            frame_and_mark: frame | if allocations.is_some() { HAS_ALLOCATION_COUNT } else { 0 },
            type_name_number: type_name.map_or(ALL_TYPES, |name| name.0),
            bytes,
            allocations: allocations.unwrap_or(0),
        }
    }

    /// Number of the backtrace node.
    pub fn frame(&self) -> u32 {
        self.frame_and_mark & !HAS_ALLOCATION_COUNT
    }

    /// The type; `None` for all together (in heaps of totals only).
    pub fn type_name(&self) -> Option<NameId> {
        (self.type_name_number != ALL_TYPES).then_some(NameId(self.type_name_number))
    }

    /// Bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Allocations, if the dump counts them.
    pub fn allocations(&self) -> Option<u64> {
        (self.frame_and_mark & HAS_ALLOCATION_COUNT != 0).then_some(self.allocations)
    }

    /// Node and type.
    fn frame_and_type_key(&self) -> u64 {
        u64::from(self.frame()) << 32 | u64::from(self.type_name_number)
    }

    /// With the figures of another of the same node and type.
    fn merged_with(&self, other: &AllocationEntry) -> AllocationEntry {
        let allocations = add_counts(self.allocations(), other.allocations());
        AllocationEntry::new(self.frame(), self.type_name(), self.bytes.saturating_add(other.bytes), allocations)
    }
}

/// Coverage of an entry's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountingMode {
    /// Everything below the node; entries that were too small to dump are missing.
    Inclusive,
    /// Everything below the node; nothing was left out, so a node without an entry has what is below it and no more.
    CompleteInclusive,
    /// Memory allocated at the node itself; nothing is missing.
    Exclusive,
}

/// Heap of one allocator of one process at one time.
#[derive(Debug)]
pub struct AllocationHeap {
    /// Number of the dump in the file, from 1.
    pub dump_number: usize,
    /// The process's number.
    pub pid: i64,
    /// Number among several heaps with the same dump, process number and allocator, from 1.
    pub part_number: u32,
    /// The process's name; empty when the dump does not tell.
    pub process_name: String,
    /// Other facts of the process, such as titles of its pages.
    pub process_labels: String,
    /// The allocator's name.
    pub allocator_name: String,
    /// Coverage of the entries' figures.
    pub counting_mode: CountingMode,
    /// The backtrace tree.
    pub frames: FrameList,
    /// Figures, at most one entry for each node and type.
    pub entries: Vec<AllocationEntry>,
}

impl AllocationHeap {
    /// The only heap of a file: what was allocated at each backtrace itself.
    pub fn alone(process_name: String, allocator_name: &str, frames: FrameList, entries: Vec<AllocationEntry>) -> Self {
        AllocationHeap {
            dump_number: 1,
            pid: 0,
            part_number: 1,
            process_name,
            process_labels: String::new(),
            allocator_name: allocator_name.to_string(),
            counting_mode: CountingMode::Exclusive,
            frames,
            entries,
        }
    }

    /// Nodes and entries: what answers have rows of.
    pub fn frame_and_entry_count(&self) -> usize {
        self.frames.len() + self.entries.len()
    }
}

impl AllocationDump {
    /// Bytes of memory it takes, about. O(heaps).
    pub fn memory_bytes(&self) -> usize {
        let of_heap = |heap: &AllocationHeap| {
            size_of::<AllocationHeap>()
                + heap.frames.memory_bytes()
                + heap.entries.len() * size_of::<AllocationEntry>()
                + heap.process_name.len()
                + heap.process_labels.len()
        };
        self.names.memory_bytes() + self.heaps.iter().map(of_heap).sum::<usize>()
    }
}

/// A moment at which heaps were dumped.
#[derive(Debug, Clone, Default)]
pub struct MemoryDump {
    /// The file's own id of it.
    pub id: String,
    /// Start, in microseconds of the file's clock.
    pub started_us: i64,
    /// The same in milliseconds since 1970, where the file says so.
    pub unix_ms: Option<i64>,
    /// `detailed`, `light`, `background`: how much was dumped.
    pub detail_level: String,
}

/// All heaps of a file.
#[derive(Debug, Default)]
pub struct AllocationDump {
    /// All names of frames and types.
    pub names: NameTable,
    /// What frames are named by.
    pub frame_naming: FrameNaming,
    /// The moments that have heaps, in order of time; `AllocationHeap::dump_number` is the place in this list, from 1.
    pub dumps: Vec<MemoryDump>,
    /// The heaps, in order of dump, then of the moments at which the processes wrote theirs.
    pub heaps: Vec<AllocationHeap>,
}

impl AllocationDump {
    /// The heaps of one moment.
    pub fn of_heaps(names: NameTable, heaps: Vec<AllocationHeap>) -> Self {
        AllocationDump { names, dumps: vec![MemoryDump::default()], heaps, ..AllocationDump::default() }
    }
}

/// Two counts together, as far as they are known.
pub fn add_counts(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (known, None) | (None, known) => known,
    }
}
