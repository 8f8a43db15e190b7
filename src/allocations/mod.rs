//! The allocation trees: what a dump holds that counts allocations by backtrace and type instead of listing objects.
//!
//! Facts that every part relies on:
//! - A heap is what one allocator of one process held at one time. Its backtraces form a tree whose node 0, without a
//!   name, stands for all of them; a node's number is greater than its parent's.
//! - Siblings have different names: those that the dump repeats are one node, their figures added.
//! - An entry says how much there is of one type, or of all, at a node. In a heap of `Totals` that includes everything
//!   below the node, and entries may be missing; in one of `Parts` it is what was allocated right there, and nothing is
//!   missing. Nothing is ever subtracted across both axes: what is missing cannot be told apart by backtrace and type.
//! - Counts are optional: early dumps have none.

use rustc_hash::FxHashMap;

/// A name, by its number in [`Names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(pub u32);

/// Strings, each stored once.
#[derive(Debug, Default)]
pub struct Names {
    texts: Vec<std::sync::Arc<str>>,
    numbers: FxHashMap<std::sync::Arc<str>, u32>,
}

impl Names {
    /// The number of a text; new texts are stored.
    pub fn intern(&mut self, text: &str) -> NameId {
        if let Some(&number) = self.numbers.get(text) {
            return NameId(number);
        }
        let number = self.texts.len() as u32;
        let text: std::sync::Arc<str> = text.into();
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        NameId(number)
    }

    /// The text of a number. O(1).
    pub fn text(&self, name: NameId) -> &str {
        &self.texts[name.0 as usize]
    }
}

/// A node of the backtrace tree.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// The frame's name; of node 0 the empty one.
    pub name: NameId,
    /// The caller, a smaller number; of node 0 itself.
    pub parent: u32,
    /// The dump says that this is what its parent allocated itself, not a function.
    pub is_self: bool,
}

/// How much there is at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Number of the backtrace node.
    pub frame: u32,
    /// The type; `None` for all together (in heaps of totals only).
    pub type_name: Option<NameId>,
    /// Bytes.
    pub bytes: u64,
    /// Allocations, if the dump counts them.
    pub allocations: Option<u64>,
}

/// What an entry's figures include.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Everything below the node; entries that were too small to dump are missing.
    Totals,
    /// What was allocated at the node itself; nothing is missing.
    Parts,
}

/// What one allocator of one process held at one time.
#[derive(Debug)]
pub struct AllocationHeap {
    /// Number of the dump in the file, from 1.
    pub dump: usize,
    /// The process's number.
    pub pid: i64,
    /// Which of several heaps with the same dump, process number and allocator it is, from 1.
    pub part: u32,
    /// The process's name; empty when the dump does not tell.
    pub process: String,
    /// What the process says of itself besides, such as titles of its pages.
    pub labels: String,
    /// The allocator's name.
    pub allocator: String,
    /// What the figures of entries include.
    pub meaning: Meaning,
    /// The backtrace tree.
    pub frames: Vec<Frame>,
    /// Figures, at most one entry for each node and type.
    pub entries: Vec<Entry>,
}

/// A moment at which heaps were dumped.
#[derive(Debug, Clone)]
pub struct DumpTime {
    /// The file's own id of it.
    pub id: String,
    /// When it was begun, in microseconds of the file's clock.
    pub started_us: i64,
    /// `detailed`, `light`, `background`: how much was dumped.
    pub detail: String,
}

/// All heaps of a file.
#[derive(Debug, Default)]
pub struct AllocationDump {
    /// All names of frames and types.
    pub names: Names,
    /// The moments that have heaps, in order of time; `AllocationHeap::dump` is the place in this list, from 1.
    pub dumps: Vec<DumpTime>,
    /// The heaps, in order of dump, then of the moments at which the processes wrote theirs.
    pub heaps: Vec<AllocationHeap>,
}

/// Makes a heap: gives nodes to backtraces and adds up entries.
#[derive(Debug)]
pub struct HeapBuilder {
    frames: Vec<Frame>,
    below: FxHashMap<(u32, NameId), u32>,
    entries: Vec<Entry>,
    places: FxHashMap<(u32, Option<NameId>), usize>,
}

impl HeapBuilder {
    /// A heap with node 0 alone; `root` is the empty name.
    pub fn new(root: NameId) -> Self {
        HeapBuilder {
            frames: vec![Frame { name: root, parent: 0, is_self: false }],
            below: FxHashMap::default(),
            entries: Vec::new(),
            places: FxHashMap::default(),
        }
    }

    /// The node of a name below a node, made when it is new. O(1).
    pub fn frame(&mut self, parent: u32, name: NameId) -> u32 {
        let next = self.frames.len() as u32;
        *self.below.entry((parent, name)).or_insert_with(|| {
            self.frames.push(Frame { name, parent, is_self: false });
            next
        })
    }

    /// Adds figures to those of the same node and type. O(1).
    pub fn add(&mut self, entry: Entry) {
        match self.places.entry((entry.frame, entry.type_name)) {
            std::collections::hash_map::Entry::Occupied(place) => {
                let known = &mut self.entries[*place.get()];
                known.bytes = known.bytes.saturating_add(entry.bytes);
                known.allocations = add_counts(known.allocations, entry.allocations);
            }
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(self.entries.len());
                self.entries.push(entry);
            }
        }
    }

    /// The finished parts. Nodes called `self_name` with nothing below them are what their parents allocated themselves.
    pub fn finish(mut self, self_name: Option<NameId>) -> (Vec<Frame>, Vec<Entry>) {
        if let Some(self_name) = self_name {
            let mut has_callees = vec![false; self.frames.len()];
            for frame in &self.frames[1..] {
                has_callees[frame.parent as usize] = true;
            }
            for (frame, has_callees) in self.frames.iter_mut().zip(has_callees).skip(1) {
                frame.is_self = !has_callees && frame.name == self_name;
            }
        }
        (self.frames, self.entries)
    }
}

/// Two counts together, as far as they are known.
pub fn add_counts(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (known, None) | (None, known) => known,
    }
}
