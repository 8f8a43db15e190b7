//! What roots that were left out or given on request change in the totals of `heapdump stats`.

use super::groups::Groups;
use crate::analysis::histogram::Tally;
use crate::analysis::reachability::compute_reachable_from;
use crate::graph::{HeapGraph, Root};
use crate::report::count_of;

/// Objects and their bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Amount {
    pub(super) objects: u64,
    pub(super) shallow_bytes: u64,
}

impl Amount {
    fn reachable(tally: &Tally) -> Self {
        Amount { objects: tally.reachable_objects, shallow_bytes: tally.reachable_bytes }
    }

    fn without(self, part: Amount) -> Self {
        Amount {
            objects: self.objects.saturating_sub(part.objects),
            shallow_bytes: self.shallow_bytes.saturating_sub(part.shallow_bytes),
        }
    }
}

/// How the objects of the answer are reached.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestedRoots {
    /// From roots of the dump that were not left out.
    pub(super) from_roots: Amount,
    /// From roots given on request alone (`--keep-unreachable`).
    pub(super) given: Amount,
    /// From roots left out on request alone (`--exclude-roots`).
    pub(super) lost: Amount,
    /// From no root that the dump has.
    without_root: Amount,
}

impl RequestedRoots {
    /// `totals` are those with the roots as they are now. O(roots), and O(objects + references) for each of both
    /// requests that was made.
    pub(super) fn find(graph: &HeapGraph, groups: &Groups<'_>, totals: &Tally) -> Self {
        let reached = |is_wanted: &dyn Fn(&Root) -> bool| {
            let mut sum = Tally::default();
            groups.tally(&compute_reachable_from(graph, is_wanted)).iter().for_each(|tally| sum.add(tally));
            Amount::reachable(&sum)
        };
        let now = Amount::reachable(totals);
        let from_roots = match graph.roots().iter().any(Root::is_requested) {
            true => reached(&|root| root.is_strong() && !root.is_requested()),
            false => now,
        };
        let in_dump = match graph.roots().iter().any(|root| root.excluded) {
            true => reached(&Root::is_strong_in_dump),
            false => from_roots,
        };
        let all = Amount { objects: totals.objects, shallow_bytes: totals.shallow_bytes };
        RequestedRoots {
            from_roots,
            given: now.without(from_roots),
            lost: in_dump.without(from_roots),
            without_root: all.without(in_dump),
        }
    }

    /// For JSON: what requests changed.
    pub(super) fn figures(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let figures = |objects, bytes, amount: Amount| {
            let amount = (amount.objects > 0).then_some(amount);
            amount.into_iter().flat_map(move |amount| [(objects, amount.objects), (bytes, amount.shallow_bytes)])
        };
        figures("given_roots_objects", "given_roots_bytes", self.given).chain(figures(
            "excluded_roots_objects",
            "excluded_roots_bytes",
            self.lost,
        ))
    }

    /// For people: who is alive without a root, and who lost theirs.
    pub(super) fn words(&self, unrooted_are_alive: bool) -> String {
        let mut words = String::new();
        let objects = |amount: Amount| count_of(amount.objects, "objects");
        match self.without_root.objects {
            _ if !unrooted_are_alive => {}
            0 => {}
            1 => words += "1 object has no root and is alive all the same: it is on the frozen heap\n",
            _ => {
                words += &objects(self.without_root);
                words += " have no root and are alive all the same: they are on the frozen heap\n";
            }
        }
        match self.lost.objects {
            0 => {}
            1 => words += "1 object lost its roots on request (--exclude-roots)\n",
            _ => words += &format!("{} lost their roots on request (--exclude-roots)\n", objects(self.lost)),
        }
        words
    }
}
