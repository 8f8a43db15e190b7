//! Objects that came and went between two dumps of one process, where ids stay with their objects (V8 snapshots).
//!
//! Objects stand in the order of their ids in either graph: both are walked side by side, once. An object counts where it
//! has bytes of its own.

use rustc_hash::FxHashMap;

use crate::graph::{HeapGraph, NodeId, NodeSet};

/// Objects that came and went.
#[derive(Debug)]
pub struct ObjectChanges {
    /// Objects of the new dump that do not count in the old one.
    pub new: NodeSet,
    /// Objects of the old dump that do not count in the new one.
    pub gone: NodeSet,
    /// Objects that count in both.
    pub kept: u64,
    /// Of these how many have the same type and the same bytes in both.
    pub alike: u64,
}

impl ObjectChanges {
    /// Returns true if ids tell the same objects: of those with one id, nine in ten are alike. Recordings of one process
    /// have nearly all alike, of two programs not half. Two runs of one program, stopped at the same step, can
    /// be as alike as one.
    pub fn are_of_one_process(&self) -> bool {
        self.kept > 0 && u128::from(self.alike) * 10 >= u128::from(self.kept) * 9
    }
}

/// Compares two dumps. O(objects of both * log objects); a bit for each.
pub fn compare_objects(old: &HeapGraph, new: &HeapGraph) -> ObjectChanges {
    let mut numbers = FxHashMap::default();
    let old_types = numbers_of_names(old, &mut numbers);
    let new_types = numbers_of_names(new, &mut numbers);
    let mut changes =
        ObjectChanges { new: NodeSet::new(new.node_count()), gone: NodeSet::new(old.node_count()), kept: 0, alike: 0 };
    walk_together(old, new, |before, after| match (before, after) {
        (Some(before), Some(after)) => {
            let same_type = old_types[old.type_of(before).index()] == new_types[new.type_of(after).index()];
            changes.kept += 1;
            changes.alike += u64::from(same_type && old.shallow_bytes(before) == new.shallow_bytes(after));
        }
        (None, Some(after)) => {
            changes.new.insert(after);
        }
        (Some(before), None) => {
            changes.gone.insert(before);
        }
        (None, None) => {}
    });
    changes
}

/// Objects of `then` that are in `among` and count in `now` too: each as it is in both. O(objects of both * log objects).
pub fn survivors(then: &HeapGraph, among: &NodeSet, now: &HeapGraph) -> Vec<(NodeId, NodeId)> {
    let mut found = Vec::new();
    walk_together(then, now, |then, now| {
        if let (Some(then), Some(now)) = (then, now)
            && among.contains(then)
        {
            found.push((then, now));
        }
    });
    found
}

/// Calls `meet` for every id, ascending, with the objects that count and have it.
fn walk_together(old: &HeapGraph, new: &HeapGraph, mut meet: impl FnMut(Option<NodeId>, Option<NodeId>)) {
    fn counted(graph: &HeapGraph) -> impl Iterator<Item = (u64, NodeId)> {
        let nodes = graph.nodes().filter(move |&node| graph.shallow_bytes(node) > 0);
        nodes.map(move |node| (graph.original_id(node), node))
    }
    let (mut olds, mut news) = (counted(old).peekable(), counted(new).peekable());
    loop {
        let id = match (olds.peek(), news.peek()) {
            (None, None) => return,
            (Some(&(id, _)), None) | (None, Some(&(id, _))) => id,
            (Some(&(old, _)), Some(&(new, _))) => old.min(new),
        };
        let before = olds.next_if(|&(other, _)| other == id).map(|(_, node)| node);
        let after = news.next_if(|&(other, _)| other == id).map(|(_, node)| node);
        meet(before, after);
    }
}

/// By type: a number that types of the same name have in both dumps. Nodes of a page may be taken out of it in between,
/// and have another name for that.
fn numbers_of_names<'g>(graph: &'g HeapGraph, numbers: &mut FxHashMap<&'g str, u32>) -> Vec<u32> {
    let number = |type_id: crate::graph::TypeId| {
        let name = graph.type_name(type_id);
        let name = name.strip_prefix("Detached ").unwrap_or(name);
        let next = numbers.len() as u32;
        *numbers.entry(name).or_insert(next)
    };
    graph.types().ids().map(number).collect()
}
