//! Changes in totals by roots that were left out or given on request.

use crate::analysis::histogram::Tally;
use crate::analysis::reachability::compute_reachable_from;
use crate::answers::groups::Groups;
use crate::graph::{HeapGraph, Root};

/// Objects and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReachedAmount {
    /// Objects.
    pub objects: u64,
    /// Their shallow bytes.
    pub shallow_bytes: u64,
}

impl ReachedAmount {
    fn reachable(tally: &Tally) -> Self {
        ReachedAmount { objects: tally.reachable_objects, shallow_bytes: tally.reachable_bytes }
    }

    fn without(self, part: ReachedAmount) -> Self {
        ReachedAmount {
            objects: self.objects.saturating_sub(part.objects),
            shallow_bytes: self.shallow_bytes.saturating_sub(part.shallow_bytes),
        }
    }
}

/// Objects of an answer by the roots that reach them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReachedBy {
    /// From roots of the dump that were not left out.
    pub roots: ReachedAmount,
    /// From roots given on request alone.
    pub given_roots: ReachedAmount,
    /// From roots left out on request alone: nothing that the answer counts reaches them.
    pub excluded_roots: ReachedAmount,
    /// From no root that the dump has.
    pub no_root: ReachedAmount,
}

impl ReachedBy {
    /// `totals` are those with the roots as they are now. O(roots), and O(objects + references) for each of both
    /// requests that was made.
    pub(super) fn find(graph: &HeapGraph, groups: &Groups<'_>, totals: &Tally) -> Self {
        let reached = |is_wanted: &dyn Fn(&Root) -> bool| {
            let mut sum = Tally::default();
            groups.tally_all(&compute_reachable_from(graph, is_wanted)).iter().for_each(|tally| sum.add(tally));
            ReachedAmount::reachable(&sum)
        };
        let now = ReachedAmount::reachable(totals);
        let from_roots = match graph.roots().iter().any(Root::is_requested) {
            true => reached(&|root| root.is_strong() && !root.is_requested()),
            false => now,
        };
        let in_dump = match graph.roots().iter().any(|root| root.excluded) {
            true => reached(&Root::is_strong_in_dump),
            false => from_roots,
        };
        let all = ReachedAmount { objects: totals.objects, shallow_bytes: totals.shallow_bytes };
        ReachedBy {
            roots: from_roots,
            given_roots: now.without(from_roots),
            excluded_roots: in_dump.without(from_roots),
            no_root: all.without(in_dump),
        }
    }
}
