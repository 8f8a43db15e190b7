//! Makes heaps: gives nodes to backtraces and adds up entries.
//!
//! One builder makes all heaps of a file, for they have most backtraces in common: a path of names, once found, is a
//! number, and a heap's node of it is found by that number. Files of one heap need the tree alone.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxBuildHasher;

use super::{AllocationEntry, FrameList, NameId};

/// A tree of frames that grows.
///
/// The first callee of a frame that was made last is the node behind it, and found there: what only one stack has costs 2 to 4 bytes
/// a frame. All other callees are in a table besides, 5 to 12 bytes each; those of node 0, which every stack asks for, in a column.
#[derive(Debug)]
pub struct FrameTree {
    frames: FrameList,
    /// Callees of node 0 by name; 0 for none.
    outermost: Vec<u32>,
    /// Callees of others that are not the node behind their caller, by caller and name.
    table: HashTable<u32>,
}

fn hash_of_callee(caller: u32, name: NameId) -> u64 {
    FxBuildHasher.hash_one(u64::from(caller) << 32 | u64::from(name.0))
}

impl FrameTree {
    /// Node 0 alone; `root` is the empty name.
    pub fn new(root: NameId) -> Self {
        let mut frames = FrameList::default();
        frames.push(root, 0);
        FrameTree { frames, outermost: Vec::new(), table: HashTable::new() }
    }

    /// Room in the table for so many stacks.
    pub fn reserve_stacks(&mut self, stacks: usize) {
        let frames = &self.frames;
        self.table.reserve(stacks, |&node| hash_of_callee(frames.parent(node), frames.name(node)));
    }

    /// The node of a name below a node, made when it is new. O(1), one search in a table at most.
    #[inline]
    pub fn find_or_add(&mut self, caller: u32, name: NameId) -> u32 {
        if caller == 0 {
            return self.find_or_add_outermost(name);
        }
        if caller + 1 == self.frames.len() as u32 {
            return self.frames.push(name, caller);
        }
        if self.frames.is_callee_behind(caller, name) { caller + 1 } else { self.find_or_add_in_table(caller, name) }
    }

    /// The node of names one below the other, below a node. O(names); most of a stack that shares callers with another one, and
    /// all of what is new, is one comparison or one copy.
    pub fn find_or_add_path(&mut self, mut node: u32, mut names: &[NameId]) -> u32 {
        while let Some((&name, others)) = names.split_first() {
            let known = self.frames.known_chain_behind(node, names);
            if known > 0 {
                node += known as u32;
                names = &names[known..];
            } else if node > 0 && node + 1 == self.frames.len() as u32 {
                return self.frames.push_chain(names);
            } else {
                // It is not behind its caller.
                node = if node == 0 { self.find_or_add_outermost(name) } else { self.find_or_add_in_table(node, name) };
                names = others;
            }
        }
        node
    }

    fn find_or_add_outermost(&mut self, name: NameId) -> u32 {
        let at = name.0 as usize;
        if at >= self.outermost.len() {
            self.outermost.resize(at + 1, 0);
        }
        if self.outermost[at] == 0 {
            self.outermost[at] = self.frames.push(name, 0);
        }
        self.outermost[at]
    }

    /// The same of a node that is not behind its caller, which is not the last one.
    fn find_or_add_in_table(&mut self, caller: u32, name: NameId) -> u32 {
        let frames = &self.frames;
        let is_callee = |&node: &u32| frames.name(node) == name && frames.parent(node) == caller;
        let hash_of_node = |&node: &u32| hash_of_callee(frames.parent(node), frames.name(node));
        match self.table.entry(hash_of_callee(caller, name), is_callee, hash_of_node) {
            Entry::Occupied(known) => return *known.get(),
            Entry::Vacant(free) => free.insert(frames.len() as u32),
        };
        self.frames.push(name, caller)
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// The name of a node.
    pub fn name(&self, node: u32) -> NameId {
        self.frames.name(node)
    }

    /// Bytes of memory it takes. O(1).
    pub fn memory_bytes(&self) -> usize {
        self.frames.memory_bytes() + self.outermost.capacity() * size_of::<u32>() + self.table.allocation_size()
    }

    /// The nodes, each behind its caller.
    pub fn into_frames(self) -> FrameList {
        let mut frames = self.frames;
        frames.shrink_to_fit();
        frames
    }
}

/// A path of names from the top down; the same in all heaps of a builder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathId(u32);

/// Stands for a path that the heap at hand has no node of.
const NO_FRAME: u32 = u32::MAX;

/// Makes heaps, one after another.
#[derive(Debug)]
pub struct AllocationHeapBuilder {
    root_name: NameId,
    paths: FrameTree,
    /// By path: its node in the heap at hand.
    node_of_path: Vec<u32>,
    frames: FrameList,
    /// By node: its path.
    frame_paths: Vec<u32>,
    entries: Vec<AllocationEntry>,
}

impl AllocationHeapBuilder {
    /// A heap with node 0 alone; `root` is the empty name.
    pub fn new(root: NameId) -> Self {
        let (paths, node_of_path) = (FrameTree::new(root), vec![0]);
        let mut builder = AllocationHeapBuilder {
            root_name: root,
            paths,
            node_of_path,
            frames: FrameList::default(),
            frame_paths: Vec::new(),
            entries: Vec::new(),
        };
        builder.begin_heap();
        builder
    }

    fn begin_heap(&mut self) {
        self.frames.push(self.root_name, 0);
        self.frame_paths.push(0);
    }

    /// Room for so many entries.
    pub fn reserve_entries(&mut self, entries: usize) {
        self.entries.reserve_exact(entries);
    }

    /// The path of a name below a node's. O(1), one search in a table.
    pub fn find_or_add_child_path(&mut self, parent: u32, name: NameId) -> PathId {
        let path = self.paths.find_or_add(self.frame_paths[parent as usize], name);
        self.node_of_path.resize(self.paths.len(), NO_FRAME);
        PathId(path)
    }

    /// The path of a node. O(1).
    pub fn path_of_frame(&self, node: u32) -> PathId {
        PathId(self.frame_paths[node as usize])
    }

    /// The node of a path one name longer than that of `parent`, made when it is new. O(1).
    pub fn find_or_add_frame_of_path(&mut self, parent: u32, path: PathId) -> u32 {
        let node = &mut self.node_of_path[path.0 as usize];
        if *node == NO_FRAME {
            *node = self.frames.push(self.paths.name(path.0), parent);
            self.frame_paths.push(path.0);
        }
        *node
    }

    /// The node of a name below a node, made when it is new. O(1).
    pub fn find_or_add_frame(&mut self, parent: u32, name: NameId) -> u32 {
        let path = self.find_or_add_child_path(parent, name);
        self.find_or_add_frame_of_path(parent, path)
    }

    /// Adds figures to those of the same node and type. O(1).
    pub fn add_entry(&mut self, entry: AllocationEntry) {
        self.entries.push(entry);
    }

    /// The finished parts; the next heap begins. Nodes called `self_name` with nothing below them are what their parents
    /// allocated themselves. O(entries log entries).
    pub fn finish_heap(&mut self, self_name: Option<NameId>) -> (FrameList, Vec<AllocationEntry>) {
        for &path in &self.frame_paths[1..] {
            self.node_of_path[path as usize] = NO_FRAME;
        }
        self.frame_paths.clear();
        let (mut frames, entries) = (std::mem::take(&mut self.frames), std::mem::take(&mut self.entries));
        if let Some(self_name) = self_name {
            let mut has_callees = vec![false; frames.len()];
            for frame in frames.iter().skip(1) {
                has_callees[frame.parent() as usize] = true;
            }
            let is_self_cost = |&at: &u32| !has_callees[at as usize] && frames.name(at) == self_name;
            let self_costs = (1..frames.len() as u32).filter(is_self_cost).collect();
            frames.set_self_costs(self_costs);
        }
        frames.shrink_to_fit();
        self.begin_heap();
        (frames, merged_entries(entries))
    }
}

/// Entries by node and type, those of the same added up. O(entries log entries).
pub fn merged_entries(mut entries: Vec<AllocationEntry>) -> Vec<AllocationEntry> {
    entries.sort_unstable_by_key(AllocationEntry::frame_and_type_key);
    entries.dedup_by(|next, known| {
        let is_same = next.frame_and_type_key() == known.frame_and_type_key();
        if is_same {
            *known = known.merged_with(next);
        }
        is_same
    });
    entries.shrink_to_fit();
    entries
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::allocations::{NameTable, add_counts};

    #[test]
    fn backtraces_of_one_path_are_one_node_and_entries_of_one_place_are_added() {
        let mut names = NameTable::default();
        let [root, main, run, own] = ["", "main", "run", "<self>"].map(|name| names.intern(name));
        let mut builder = AllocationHeapBuilder::new(root);
        for round in 0..2 {
            let first = builder.find_or_add_frame(0, main);
            let second = builder.find_or_add_frame(first, run);
            let itself = builder.find_or_add_frame(first, own);
            let again = builder.find_or_add_child_path(0, main);
            assert_eq!((first, second, itself, builder.find_or_add_frame_of_path(0, again)), (1, 2, 3, 1), "{round}");
            assert_eq!((builder.path_of_frame(first), builder.path_of_frame(0) == again), (again, false));
            for (bytes, allocations) in [(10, None), (u64::MAX, Some(2)), (1, Some(3))] {
                builder.add_entry(AllocationEntry::new(second, Some(run), bytes, allocations));
            }
            builder.add_entry(AllocationEntry::new(second, None, 5, None));
            let (frames, entries) = builder.finish_heap(Some(own));
            let figures =
                |entry: &AllocationEntry| (entry.frame(), entry.type_name(), entry.bytes(), entry.allocations());
            let entries: Vec<_> = entries.iter().map(figures).collect();
            assert_eq!(entries, [(2, Some(run), u64::MAX, Some(5)), (2, None, 5, None)]);
            let nodes: Vec<_> = frames.iter().map(|frame| (frame.name, frame.parent(), frame.is_self_cost())).collect();
            assert_eq!(nodes, [(root, 0, false), (main, 0, false), (run, 1, false), (own, 1, true)]);
        }
    }

    proptest! {
        #[test]
        fn paths_are_found_and_made_as_their_frames_are(
            stacks in prop::collection::vec(prop::collection::vec(0_u32..3, 0..150), 0..40),
            first_name in prop::sample::select(vec![1_u32, 65_534]),
        ) {
            let mut trees = [(); 2].map(|()| FrameTree::new(NameId(0)));
            for stack in stacks {
                let stack: Vec<NameId> = stack.into_iter().map(|name| NameId(first_name + name)).collect();
                let (above, below) = stack.split_at(stack.len() / 3);
                let node = stack.iter().fold(0, |node, &name| trees[0].find_or_add(node, name));
                let above = trees[1].find_or_add_path(0, above);
                prop_assert_eq!(trees[1].find_or_add_path(above, below), node);
            }
            let frames = |tree: FrameTree| {
                tree.into_frames().iter().map(|frame| (frame.name, frame.parent())).collect::<Vec<_>>()
            };
            let [expected, found] = trees.map(frames);
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_node_with_callees_is_no_part_of_its_parent() {
        let mut names = NameTable::default();
        let [root, own] = ["", "<self>"].map(|name| names.intern(name));
        let mut builder = AllocationHeapBuilder::new(root);
        let outer = builder.find_or_add_frame(0, own);
        builder.find_or_add_frame(outer, own);
        let is_self_cost: Vec<bool> =
            builder.finish_heap(Some(own)).0.iter().map(|frame| frame.is_self_cost()).collect();
        assert_eq!(is_self_cost, [false, false, true]);
    }

    #[test]
    fn counts_add_up_as_far_as_they_are_known() {
        for (a, b, sum) in [
            (None, None, None),
            (Some(1), None, Some(1)),
            (None, Some(2), Some(2)),
            (Some(1), Some(2), Some(3)),
            (Some(u64::MAX), Some(2), Some(u64::MAX)),
        ] {
            assert_eq!(add_counts(a, b), sum);
        }
    }

    #[test]
    fn names_are_stored_once() {
        let mut names = NameTable::default();
        let numbers = ["a", "b", "a", ""].map(|text| names.intern(text));
        assert_eq!((numbers[0], numbers[1] == numbers[0], names.text(numbers[1])), (numbers[2], false, "b"));
        let before = names.memory_bytes();
        names.intern("b");
        assert_eq!(names.memory_bytes(), before);
    }
}
