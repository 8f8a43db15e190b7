//! Makes heaps: gives nodes to backtraces and adds up entries.
//!
//! One builder makes all heaps of a file, for they have most backtraces in common: a path of names, once found, is a
//! number, and a heap's node of it is found by that number.

use rustc_hash::FxHashMap;

use super::{Entry, Frame, NameId};

/// A path of names from the top down; the same in all heaps of a builder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path(u32);

/// Stands for a path that the heap at hand has no node of.
const NO_NODE: u32 = u32::MAX;

/// Makes heaps, one after another.
#[derive(Debug)]
pub struct HeapBuilder {
    root: NameId,
    /// The path of a name below a path.
    longer: FxHashMap<(u32, NameId), u32>,
    /// By path: its last name, and its node in the heap at hand.
    paths: Vec<(NameId, u32)>,
    frames: Vec<Frame>,
    /// By node: its path.
    path_of: Vec<u32>,
    entries: Vec<Entry>,
    /// Place of the entry of a node and type.
    places: FxHashMap<u64, u32>,
}

impl HeapBuilder {
    /// A heap with node 0 alone; `root` is the empty name.
    pub fn new(root: NameId) -> Self {
        let mut builder = HeapBuilder {
            root,
            longer: FxHashMap::default(),
            paths: vec![(root, 0)],
            frames: Vec::new(),
            path_of: Vec::new(),
            entries: Vec::new(),
            places: FxHashMap::default(),
        };
        builder.begin();
        builder
    }

    fn begin(&mut self) {
        self.frames.push(Frame { name: self.root, parent: 0, is_self: false });
        self.path_of.push(0);
    }

    /// Room for so many entries.
    pub fn reserve(&mut self, entries: usize) {
        self.entries.reserve_exact(entries);
        self.places.reserve(entries);
    }

    /// The path of a name below a node's. O(1), one search in a table.
    pub fn path(&mut self, parent: u32, name: NameId) -> Path {
        let next = self.paths.len() as u32;
        let path = *self.longer.entry((self.path_of[parent as usize], name)).or_insert(next);
        if path == next {
            self.paths.push((name, NO_NODE));
        }
        Path(path)
    }

    /// The path of a node. O(1).
    pub fn path_of(&self, node: u32) -> Path {
        Path(self.path_of[node as usize])
    }

    /// The node of a path one name longer than that of `parent`, made when it is new. O(1).
    pub fn frame_at(&mut self, parent: u32, path: Path) -> u32 {
        let (name, node) = &mut self.paths[path.0 as usize];
        if *node == NO_NODE {
            *node = self.frames.len() as u32;
            self.frames.push(Frame { name: *name, parent, is_self: false });
            self.path_of.push(path.0);
        }
        *node
    }

    /// The node of a name below a node, made when it is new. O(1).
    pub fn frame(&mut self, parent: u32, name: NameId) -> u32 {
        let path = self.path(parent, name);
        self.frame_at(parent, path)
    }

    /// Adds figures to those of the same node and type. O(1).
    pub fn add(&mut self, entry: Entry) {
        let next = self.entries.len() as u32;
        let place = *self.places.entry(entry.place()).or_insert(next);
        if place == next {
            self.entries.push(entry);
        } else {
            let known = &mut self.entries[place as usize];
            *known = known.with(&entry);
        }
    }

    /// The finished parts; the next heap begins. Nodes called `self_name` with nothing below them are what their parents
    /// allocated themselves.
    pub fn finish(&mut self, self_name: Option<NameId>) -> (Vec<Frame>, Vec<Entry>) {
        for &path in &self.path_of[1..] {
            self.paths[path as usize].1 = NO_NODE;
        }
        self.path_of.clear();
        self.places.clear();
        let (mut frames, entries) = (std::mem::take(&mut self.frames), std::mem::take(&mut self.entries));
        if let Some(self_name) = self_name {
            let mut has_callees = vec![false; frames.len()];
            for frame in &frames[1..] {
                has_callees[frame.parent as usize] = true;
            }
            for (frame, has_callees) in frames.iter_mut().zip(has_callees).skip(1) {
                frame.is_self = !has_callees && frame.name == self_name;
            }
        }
        frames.shrink_to_fit();
        self.begin();
        (frames, entries)
    }
}
