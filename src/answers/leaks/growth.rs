//! By how much suspects grew since an older dump.

use serde::Serialize;

use crate::analysis::diff::delta;
use crate::analysis::suspects::{LeakSuspect, SuspectSubject};
use crate::answers::type_map::{TypeMap, TypeMapOptions, type_map};
use crate::answers::{AnswerError, ScopeOptions};
use crate::dump::OpenDump;
use crate::graph::HeapGraph;

/// By how much a suspect grew: what hangs at the same path of types in both dominator trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SuspectGrowth {
    /// Retained bytes at that path in the old dump; 0 where it has no such path.
    pub retained_bytes_old: u64,
    /// By how many they grew; negative where they shrank.
    pub retained_bytes_delta: i64,
}

/// The dominator trees of both dumps, merged by type.
pub(super) struct Growth<'d> {
    old: TypeMap<'d>,
    new: TypeMap<'d>,
}

impl<'d> Growth<'d> {
    pub(super) fn find(old: &'d OpenDump, new: &'d OpenDump, scope: &ScopeOptions) -> Result<Self, AnswerError> {
        let options = TypeMapOptions { section: scope.section.clone() };
        Ok(Growth { old: type_map(old, &options)?, new: type_map(new, &options)? })
    }

    /// O(depth of the suspect).
    pub(super) fn of(&self, graph: &HeapGraph, suspect: &LeakSuspect) -> SuspectGrowth {
        let place = match &suspect.subject {
            SuspectSubject::Object(node) => self.new.place_of(&graph.display_id(*node)),
            SuspectSubject::Group(type_id, _) => self.new.find(&[graph.type_name(*type_id)]),
        };
        let new = place.map_or(suspect.retained_bytes, |place| self.new.retained_bytes(place));
        let old = place.and_then(|place| self.old.find(&self.new.path(place)));
        let old = old.map_or(0, |place| self.old.retained_bytes(place));
        SuspectGrowth { retained_bytes_old: old, retained_bytes_delta: delta(old, new) }
    }
}
