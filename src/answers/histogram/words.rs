//! A histogram in sentences: what stands above its table, and what its limits came to.

use super::owners::owner_note;
use super::requested_roots::ReachedBy;
use super::rows::{Histogram, ObjectTotals, Totals};
use crate::answers::over_limit::unmatched_sentence;
use crate::units::count_of;

/// A size that is to be seen first, if there is one, and what there is to say of it.
pub type Sentence = (String, String);

fn plain(text: impl Into<String>) -> Sentence {
    (String::new(), text.into())
}

impl Histogram {
    /// The totals in sentences, with sizes by `bytes`. Texts of the dump are as they are there.
    pub fn sentences(&self, bytes: impl Fn(u64) -> String) -> Vec<Sentence> {
        match &self.totals {
            Totals::Objects(totals) => self.of_objects(totals, bytes),
            Totals::Counted(totals) => {
                let types = count_of(totals.types as u64, self.group_by.titles().1);
                let rest = format!(" in {} of {types}", count_of(totals.objects, "objects"));
                vec![(bytes(totals.shallow_bytes), rest)]
            }
            Totals::Allocations(totals) => {
                let heaps = self.heaps.iter().flatten().map(|heap| {
                    let allocations = heap.allocations.map(|count| format!(" in {}", count_of(count, "allocations")));
                    (bytes(heap.total_bytes), format!("{}: {}", allocations.unwrap_or_default(), heap.title))
                });
                let other = (totals.other_bytes > 0)
                    .then(|| format!("{} of types too small to be dumped, or of none", bytes(totals.other_bytes)));
                heaps.chain(other.map(plain)).collect()
            }
        }
    }

    fn of_objects(&self, totals: &ObjectTotals, bytes: impl Fn(u64) -> String) -> Vec<Sentence> {
        let ReachedBy { roots, given_roots, excluded_roots, no_root, .. } = totals.reached_by;
        let share = match totals.shallow_bytes {
            0 => 0.0,
            whole => roots.shallow_bytes as f64 * 100.0 / whole as f64,
        };
        let mut lines = vec![
            (
                bytes(totals.shallow_bytes),
                format!(
                    " in {} of {}",
                    count_of(totals.objects, "objects"),
                    count_of(totals.types as u64, self.group_by.titles().1),
                ),
            ),
            plain(format!(
                "{} in {} reachable from roots{}, {share:.1} %{}",
                bytes(roots.shallow_bytes),
                count_of(roots.objects, "objects"),
                if self.roots_inferred { " (inferred: the dump has none)" } else { "" },
                if given_roots.objects > 0 { "; the others were given roots on request" } else { "" },
            )),
        ];
        lines.extend(self.matching.as_ref().map(|matching| {
            let objects = count_of(matching.matching_objects, "objects");
            (bytes(matching.matching_bytes), format!(" in {objects} where {}", matching.filter))
        }));
        let (alive, lost) = (count_of(no_root.objects, "objects"), count_of(excluded_roots.objects, "objects"));
        match no_root.objects {
            count if count == 0 || !self.unrooted_are_alive => {}
            1 => lines.push(plain(format!("{alive} has no root but is alive: it is on the frozen heap"))),
            _ => lines.push(plain(format!("{alive} have no root but are alive: they are on the frozen heap"))),
        }
        if excluded_roots.objects > 0 {
            let whose = if excluded_roots.objects == 1 { "its" } else { "their" };
            lines.push(plain(format!("{lost} lost {whose} roots on request (--exclude-roots)")));
        }
        if let (Some(sample), Some(estimate)) = (self.sample, totals.estimate) {
            lines.push(plain(format!(
                "a sample: figures of the heap are estimates, {} in {} (objects x{:.2}, bytes x{:.2})",
                bytes(estimate.estimated_bytes),
                count_of(estimate.estimated_objects, "objects"),
                sample.objects,
                sample.bytes,
            )));
        }
        lines.extend(self.retained.map(|retained| plain(retained.statement())));
        lines
    }

    /// Advice where most bytes are nobody's, of the rows that are shown.
    pub fn owner_note(&self) -> Option<String> {
        let Totals::Objects(totals) = &self.totals else { return None };
        let is_asked = self.group_by.is_owner();
        is_asked.then(|| owner_note(self.rows.as_slice(), self.rows_hidden, totals.shallow_bytes)).flatten()
    }

    /// Results of the limits of types; one of nothing is an error or a note. `file` is the dump's name where there are several.
    pub fn limit_sentences(&self, file: &str, is_strict: bool) -> impl Iterator<Item = String> {
        let file = if file.is_empty() { String::new() } else { format!("{file}: ") };
        self.limit_checks.iter().filter_map(move |check| match &check.unmatched {
            Some(unmatched) => Some(format!("{file}{}", unmatched_sentence(unmatched, is_strict))),
            None => check.is_over().then(|| format!("{file}{}", check.statement())),
        })
    }
}
