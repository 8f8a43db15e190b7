//! Reachability of an object from roots, and what else is known of one that none reaches.

use serde::{Serialize, Serializer};

use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId};
use crate::units::format_count;

/// Reachability of an object. Serialises as true if a strong root reaches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reachability {
    /// A strong root reaches it.
    Reached,
    /// Only strong roots that were left out on request would reach it.
    LeftOut,
    /// No strong root reaches it, but it is alive: on the frozen heap, which is never collected.
    Frozen,
    /// No strong root reaches it.
    Unreached,
}

impl Reachability {
    /// O(1) for an object that a strong root reaches, and where no roots were left out; else O(objects + references)
    /// once for all objects.
    pub(in crate::answers) fn find(dump: &OpenDump, graph: &HeapGraph, node: NodeId) -> Self {
        if dump.reachable().contains(node) {
            return Reachability::Reached;
        }
        let some_left_out = graph.roots().iter().any(|root| root.excluded);
        match some_left_out && dump.reachable_as_dumped().contains(node) {
            true => Reachability::LeftOut,
            false if dump.info().frozen_heap => Reachability::Frozen,
            false => Reachability::Unreached,
        }
    }

    /// Behind "not reachable from any strong root": the roots that would reach it.
    pub fn but_what(self) -> &'static str {
        if self == Reachability::LeftOut { " but those that --exclude-roots leaves out" } else { "" }
    }

    /// Returns true if a strong root reaches it.
    pub fn is_reached(self) -> bool {
        self == Reachability::Reached
    }
}

/// Note on objects without a retained size, with the reason; `None` where all have one.
pub(in crate::answers) fn unreached_note(count: u64, are_alive: bool) -> Option<String> {
    let (are, have, them) = if count == 1 { ("is", "has", "it") } else { ("are", "have", "them") };
    let count = (count > 0).then(|| format_count(count))?;
    Some(match are_alive {
        true => format!(
            "note: {count} of these objects {have} no root but {are} alive, on the frozen heap: no retained size"
        ),
        false => format!(
            "note: {count} of these objects {are} not reachable from any strong root and {have} no retained size; \
             --keep-unreachable gives {them} one"
        ),
    })
}

impl Serialize for Reachability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(self.is_reached())
    }
}
