//! The answer of a histogram: its totals, what requested roots change in them, and all of it in sentences.

use std::cmp::Ordering;

use serde::Serialize;

use crate::analysis::histogram::GroupTally;
use crate::analysis::reachability::compute_reachable_from;
use crate::answers::allocation_heaps::{FullerDump, HeapRow};
use crate::answers::figure::{
    ALLOCATED_BYTES, CHARGED_BYTES, CHARGED_OBJECTS, ESTIMATED_BYTES, ESTIMATED_OBJECTS, OBJECTS, OFF_HEAP,
    REACHABLE_BYTES, REACHABLE_OBJECTS, RETAINED, SHALLOW,
};
use crate::answers::groups::Groups;
use crate::answers::histogram::options::RetainedBy;
use crate::answers::histogram_row::{FieldNumber, HistogramRow, KeyedValue, Totals};
use crate::answers::limit_result::LimitResult;
use crate::answers::owners::no_owner_note;
use crate::answers::problems::ProblemRow;
use crate::answers::rows::is_false;
use crate::answers::{Figure, GroupBy};
use crate::graph::{HeapGraph, Root};
use crate::units::count_with_noun;

/// Figures of rows of objects; the last two of those in a sample.
pub(super) const OBJECT_FIGURES: [Figure; 6] =
    [OBJECTS, SHALLOW, REACHABLE_OBJECTS, REACHABLE_BYTES, ESTIMATED_OBJECTS, ESTIMATED_BYTES];

/// Rows of the histogram.
pub const TYPES: Figure = Figure::count("types", "Types");
/// Root records whose object is in the dump.
pub const ROOTS: Figure = Figure::count("roots", "Roots");
/// Objects without bytes, which no row counts; in dumps that have parts of objects apart.
pub const OBJECTS_WITHOUT_BYTES: Figure = Figure::count("objects_without_bytes", "Without bytes");
/// References from keys to values of dependent handles.
pub const DEPENDENT_REFERENCES: Figure = Figure::count("dependent_references", "Dependent");
/// Objects that only roots left out on request would reach, if there are any.
pub const EXCLUDED_ROOTS_OBJECTS: Figure = Figure::count("excluded_roots_objects", "Lost");
/// Bytes of allocations of types too small to be dumped, or of none.
pub(super) const OTHER_BYTES: Figure = Figure::bytes("other_bytes", "Other", "other_bytes");
pub(super) const DANGLING_REFERENCES: Figure = Figure::count("dangling_references", "Dangling");
pub(super) const NULL_REFERENCES: Figure = Figure::count("null_references", "Null");
pub(super) const GIVEN_ROOTS_OBJECTS: Figure = Figure::count("given_roots_objects", "Given");
pub(super) const GIVEN_ROOTS_BYTES: Figure = Figure::bytes("given_roots_bytes", "Given", "given_roots_bytes");
pub(super) const EXCLUDED_ROOTS_BYTES: Figure = Figure::bytes("excluded_roots_bytes", "Lost", "excluded_roots_bytes");

/// The objects that fulfil an expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MatchingTotals {
    /// The expression.
    #[serde(rename = "where")]
    pub filter: String,
    /// Number of them.
    pub matching_objects: u64,
    /// Their shallow bytes.
    pub matching_bytes: u64,
}

/// Contents of the heap by type or group.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Histogram {
    /// The name of the dump's format.
    pub format: String,
    /// Names of the sections; none for allocation totals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sections: Option<Vec<String>>,
    /// All rows together, those that are not shown too.
    pub totals: Totals,
    /// Problems of the dump.
    pub problems: Vec<ProblemRow>,
    /// Objects that no root reaches are alive all the same: on the frozen heap, which is never collected. Not if some lost
    /// their roots on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreachable_are_alive: Option<bool>,
    /// Objects without a root of the dump are alive all the same, whatever roots were left out.
    #[serde(skip)]
    pub unrooted_are_alive: bool,
    /// The dump is a sample; estimated figures are of the heap.
    #[serde(rename = "sampled", serialize_with = "serialize_presence", skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleFactors>,
    /// Roots are inferred: the dump has none.
    #[serde(skip_serializing_if = "is_false")]
    pub roots_inferred: bool,
    /// Name of the grouping, unless rows are types.
    #[serde(rename = "by", skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<String>,
    /// The way retained bytes were computed, if they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retained: Option<RetainedBy>,
    /// Objects that fulfil an expression, where only these are in the rows; the totals are of all.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub matching: Option<MatchingTotals>,
    /// The heaps that were added up, of allocation totals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heaps: Option<Vec<HeapRow>>,
    /// The rows that are shown, in their order.
    #[serde(flatten)]
    pub rows: KeyedValue<Vec<HistogramRow>>,
    /// Objects by the roots that reach them, where these are known.
    #[serde(skip)]
    pub reached_by: Option<ReachedBy>,
    /// Figures of the rows, in the order of columns.
    #[serde(skip)]
    pub(super) figures_without_retained: &'static [Figure],
    /// Rows have bytes outside the heap.
    #[serde(skip)]
    pub(super) with_off_heap: bool,
    /// Grouping of the rows.
    #[serde(skip)]
    pub group_by: GroupBy,
    /// The figure that rows are ordered by, where one was asked for.
    #[serde(skip)]
    pub order: Option<Figure>,
    /// Rows that a limit left out.
    #[serde(skip)]
    pub rows_hidden: usize,
    /// Limits that were passed, and those that no type matches.
    #[serde(skip)]
    pub limit_results: Vec<LimitResult>,
    /// A memory dump with more heaps than the one that was chosen by default.
    #[serde(skip)]
    pub fuller_dump: Option<FullerDump>,
}

/// Factors from a sample to its heap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleFactors {
    /// Objects.
    pub objects: f32,
    /// Bytes.
    pub bytes: f32,
}

/// Serialises whether there is a sample; what it multiplies by is `info`'s to say.
fn serialize_presence<S: serde::Serializer>(sample: &Option<SampleFactors>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bool(sample.is_some())
}

/// A size that is to be seen first, if there is one, and what there is to say of it.
pub type SizedSentence = (String, String);

fn sentence_without_size(text: impl Into<String>) -> SizedSentence {
    (String::new(), text.into())
}

impl Histogram {
    /// The figures of its rows, in the order of columns.
    pub fn figures(&self) -> Vec<Figure> {
        let retained = self.retained.map(|_| RETAINED);
        let off_heap = self.with_off_heap.then_some(OFF_HEAP);
        self.figures_without_retained.iter().copied().chain(retained).chain(off_heap).collect()
    }

    /// The totals in sentences, with sizes by `bytes`. Texts of the dump are as they are there.
    pub fn sentences(&self, bytes: impl Fn(u64) -> String) -> Vec<SizedSentence> {
        let figure = |figure: Figure| self.totals.figure(figure).unwrap_or(0);
        if let Some(heaps) = &self.heaps {
            let heaps = heaps.iter().map(|heap| {
                let allocations =
                    heap.allocations.map(|count| format!(" in {}", count_with_noun(count, "allocations")));
                (bytes(heap.total_bytes), format!("{}: {}", allocations.unwrap_or_default(), heap.title))
            });
            let other = Some(figure(OTHER_BYTES)).filter(|&other| other > 0);
            let other = other.map(|other| format!("{} of types too small to be dumped, or of none", bytes(other)));
            let meaning = self.group_by.frame_names().map(|names| {
                format!("flat: allocated by a {} itself; cum: with all it called, of each stack once", names.name())
            });
            return heaps.chain(other.into_iter().chain(meaning).map(sentence_without_size)).collect();
        }
        let (objects, types) = (count_with_noun(figure(OBJECTS), "objects"), self.group_by.title_and_plural().1);
        let whole = (bytes(figure(SHALLOW)), format!(" in {objects} of {}", count_with_noun(figure(TYPES), types)));
        let mut lines = vec![whole];
        lines.extend(self.reached_by.into_iter().flat_map(|reached_by| self.reach_sentences(reached_by, &bytes)));
        lines
    }

    fn reach_sentences(&self, reached_by: ReachedBy, bytes: &dyn Fn(u64) -> String) -> Vec<SizedSentence> {
        let ReachedBy { roots, given_roots, excluded_roots, no_root, .. } = reached_by;
        let share = match self.totals.bytes() {
            0 => 0.0,
            whole => roots.shallow_bytes as f64 * 100.0 / whole as f64,
        };
        let mut lines = vec![sentence_without_size(format!(
            "{} in {} reachable from roots{}, {share:.1} %{}",
            bytes(roots.shallow_bytes),
            count_with_noun(roots.objects, "objects"),
            if self.roots_inferred { " (inferred: the dump has none)" } else { "" },
            if given_roots.objects > 0 { "; the others were given roots on request" } else { "" },
        ))];
        lines.extend(self.matching.as_ref().map(|matching| {
            let objects = count_with_noun(matching.matching_objects, "objects");
            (bytes(matching.matching_bytes), format!(" in {objects} where {}", matching.filter))
        }));
        let (alive, lost) =
            (count_with_noun(no_root.objects, "objects"), count_with_noun(excluded_roots.objects, "objects"));
        match no_root.objects {
            count if count == 0 || !self.unrooted_are_alive => {}
            1 => {
                lines.push(sentence_without_size(format!("{alive} has no root but is alive: it is on the frozen heap")))
            }
            _ => lines.push(sentence_without_size(format!(
                "{alive} have no root but are alive: they are on the frozen heap"
            ))),
        }
        if excluded_roots.objects > 0 {
            let whose = if excluded_roots.objects == 1 { "its" } else { "their" };
            lines.push(sentence_without_size(format!("{lost} lost {whose} roots on request (--exclude-roots)")));
        }
        if let Some(sample) = self.sample {
            let estimate = |figure: Figure| self.totals.figure(figure).unwrap_or(0);
            lines.push(sentence_without_size(format!(
                "a sample: figures of the heap are estimates, {} in {} (objects x{:.2}, bytes x{:.2})",
                bytes(estimate(ESTIMATED_BYTES)),
                count_with_noun(estimate(ESTIMATED_OBJECTS), "objects"),
                sample.objects,
                sample.bytes,
            )));
        }
        lines.extend(self.totals.figure(OFF_HEAP).map(|outside| (bytes(outside), " outside the heap".to_string())));
        lines.extend(self.retained.map(|retained| sentence_without_size(retained.statement())));
        lines
    }

    /// Advice where most bytes are nobody's, of the rows that are shown.
    pub fn no_owner_note(&self) -> Option<String> {
        let is_asked = self.group_by.is_by_owner();
        is_asked.then(|| no_owner_note(self.rows.as_slice(), self.rows_hidden, self.totals.bytes())).flatten()
    }

    /// Results of the limits of types; one of nothing is an error or a note. `file` is the dump's name where there are several.
    pub fn limit_sentences(&self, file: &str, is_strict: bool) -> impl Iterator<Item = String> {
        let file = if file.is_empty() { String::new() } else { format!("{file}: ") };
        self.limit_results.iter().map(move |limit| format!("{file}{}", limit.sentence(is_strict)))
    }
}

/// Objects and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReachedAmount {
    /// Objects.
    pub objects: u64,
    /// Their shallow bytes.
    pub shallow_bytes: u64,
}

impl ReachedAmount {
    fn of_reachable(tally: &GroupTally) -> Self {
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
    pub(super) fn find(graph: &HeapGraph, groups: &Groups<'_>, totals: &GroupTally) -> Self {
        let reached = |is_wanted: &dyn Fn(&Root) -> bool| {
            let mut sum = GroupTally::default();
            groups
                .tally_ignoring_filter(&compute_reachable_from(graph, is_wanted))
                .iter()
                .for_each(|tally| sum.add(tally));
            ReachedAmount::of_reachable(&sum)
        };
        let now = ReachedAmount::of_reachable(totals);
        let from_roots = match graph.roots().iter().any(Root::is_requested) {
            true => reached(&|root| root.is_strong() && !root.is_requested()),
            false => now,
        };
        let in_dump = match graph.roots().iter().any(|root| root.is_excluded) {
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

/// Value that an order compares: objects and bytes charged to an owner count with its own; of fields that of the first.
pub(super) fn sort_value_of(row: &HistogramRow, order: Option<Figure>) -> Option<FieldNumber> {
    let charged = |figure: Figure| row.figure(figure).unwrap_or(0);
    let of_field = |figure: &Figure| {
        let mut figures = row.field_figures.iter().flat_map(|fields| &fields.figures);
        figures.find(|of_field| of_field.function == figure.key)?.number
    };
    let amount = match order {
        None | Some(SHALLOW | ALLOCATED_BYTES) => Some(row.bytes().saturating_add(charged(CHARGED_BYTES))),
        Some(OBJECTS) => row.figure(OBJECTS).map(|objects| objects + charged(CHARGED_OBJECTS)),
        Some(figure) => row.figure(figure),
    };
    order.as_ref().and_then(of_field).or(amount.map(|amount| FieldNumber::Integer(amount.into())))
}

/// Numbers by size; nothing is less than all of them.
pub(super) fn compare_sort_values(a: &Option<FieldNumber>, b: &Option<FieldNumber>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.total_order(b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}
