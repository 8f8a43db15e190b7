//! The totals of a histogram, and all of it in sentences: what stands above its table, results of its limits.

use serde::Serialize;

use super::options::RetainedBy;
use super::owners::owner_note;
use super::requested_roots::ReachedBy;
use crate::analysis::histogram::Estimate;
use crate::answers::figure::RETAINED;
use crate::answers::heaps::{FullerDump, HeapRow};
use crate::answers::histogram_row::{HistogramRow, Keyed};
use crate::answers::over_limit::OverLimit;
use crate::answers::problems::ProblemRow;
use crate::answers::rows::is_false;
use crate::answers::{Figure, GroupBy};
use crate::units::count_of;

/// The objects that fulfil an expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MatchingRow {
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
    pub totals: HistogramTotals,
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
    #[serde(rename = "sampled", serialize_with = "is_some", skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
    /// Roots are inferred: the dump has none.
    #[serde(skip_serializing_if = "is_false")]
    pub roots_inferred: bool,
    /// Name of the grouping, unless rows are types.
    #[serde(rename = "by", skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<&'static str>,
    /// The way retained bytes were computed, if they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retained: Option<RetainedBy>,
    /// Objects that fulfil an expression, where only these are in the rows; the totals are of all.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub matching: Option<MatchingRow>,
    /// The heaps that were added up, of allocation totals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heaps: Option<Vec<HeapRow>>,
    /// The rows that are shown, in their order.
    #[serde(flatten)]
    pub rows: Keyed<Vec<HistogramRow>>,
    /// Figures of the rows, in the order of columns.
    #[serde(skip)]
    pub(super) figures: &'static [Figure],
    /// Grouping of the rows.
    #[serde(skip)]
    pub group_by: GroupBy,
    /// Rows that a limit left out.
    #[serde(skip)]
    pub rows_hidden: usize,
    /// Limits that were passed, and those that no type matches.
    #[serde(skip)]
    pub over_limits: Vec<OverLimit>,
    /// A memory dump with more heaps than the one that was chosen by default.
    #[serde(skip)]
    pub fuller_dump: Option<FullerDump>,
}

/// Factors from a sample to its heap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Objects.
    pub objects: f32,
    /// Bytes.
    pub bytes: f32,
}

/// All rows together.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum HistogramTotals {
    /// Of objects, counted with the graph.
    Objects(Box<ObjectTotals>),
    /// Of objects, counted without the graph.
    Counted(CountedTotals),
    /// Of allocation totals.
    Allocations(AllocationTotals),
}

/// Totals of an object graph.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct ObjectTotals {
    /// Objects.
    pub objects: u64,
    /// Their shallow bytes.
    pub shallow_bytes: u64,
    /// Rows of the histogram.
    pub types: usize,
    /// References between objects of the dump, repeats included.
    pub references: u64,
    /// Root records whose object is in the dump.
    pub roots: usize,
    /// Objects that strong roots reach.
    pub reachable_objects: u64,
    /// Their shallow bytes.
    pub reachable_bytes: u64,
    /// References to ids that are not in the dump.
    pub dangling_references: u64,
    /// References to 0.
    pub null_references: u64,
    /// Objects without bytes, which no row counts; in dumps that have parts of objects apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects_without_bytes: Option<u64>,
    /// References from keys to values of dependent handles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependent_references: Option<u64>,
    /// Estimates of the heap that a sample was taken of.
    #[serde(flatten)]
    pub estimate: Option<EstimateRow>,
    /// Objects that only roots given on request reach, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_roots_objects: Option<u64>,
    /// Their shallow bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_roots_bytes: Option<u64>,
    /// Objects that only roots left out on request would reach, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excluded_roots_objects: Option<u64>,
    /// Their shallow bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excluded_roots_bytes: Option<u64>,
    /// Objects by the roots that reach them.
    #[serde(skip)]
    pub reached_by: ReachedBy,
}

/// Totals of a dump that was only counted.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct CountedTotals {
    /// Objects.
    pub objects: u64,
    /// Their shallow bytes.
    pub shallow_bytes: u64,
    /// Rows of the histogram.
    pub types: usize,
}

/// Totals of allocation heaps.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct AllocationTotals {
    /// Bytes.
    pub total_bytes: u64,
    /// Allocations, where they are counted.
    pub allocations: Option<u64>,
    /// Rows of the histogram.
    pub types: usize,
    /// Bytes of types too small to be dumped, or of none.
    pub other_bytes: u64,
}

/// Figures of the heap that a sample was taken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EstimateRow {
    /// Objects.
    pub estimated_objects: u64,
    /// Their shallow bytes.
    pub estimated_bytes: u64,
}

impl From<Estimate> for EstimateRow {
    fn from(estimate: Estimate) -> Self {
        let Estimate { objects, bytes } = estimate;
        EstimateRow { estimated_objects: objects.round() as u64, estimated_bytes: bytes.round() as u64 }
    }
}

/// Serialises whether there is a sample; what it multiplies by is `info`'s to say.
fn is_some<S: serde::Serializer>(sample: &Option<Sample>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bool(sample.is_some())
}

/// A size that is to be seen first, if there is one, and what there is to say of it.
pub type Sentence = (String, String);

fn plain(text: impl Into<String>) -> Sentence {
    (String::new(), text.into())
}

impl Histogram {
    /// The figures of its rows, in the order of columns.
    pub fn figures(&self) -> Vec<Figure> {
        self.figures.iter().copied().chain(self.retained.map(|_| RETAINED)).collect()
    }

    /// The totals in sentences, with sizes by `bytes`. Texts of the dump are as they are there.
    pub fn sentences(&self, bytes: impl Fn(u64) -> String) -> Vec<Sentence> {
        match &self.totals {
            HistogramTotals::Objects(totals) => self.of_objects(totals, bytes),
            HistogramTotals::Counted(totals) => {
                let types = count_of(totals.types as u64, self.group_by.titles().1);
                let rest = format!(" in {} of {types}", count_of(totals.objects, "objects"));
                vec![(bytes(totals.shallow_bytes), rest)]
            }
            HistogramTotals::Allocations(totals) => {
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
        let HistogramTotals::Objects(totals) = &self.totals else { return None };
        let is_asked = self.group_by.is_owner();
        is_asked.then(|| owner_note(self.rows.as_slice(), self.rows_hidden, totals.shallow_bytes)).flatten()
    }

    /// Results of the limits of types; one of nothing is an error or a note. `file` is the dump's name where there are several.
    pub fn limit_sentences(&self, file: &str, is_strict: bool) -> impl Iterator<Item = String> {
        let file = if file.is_empty() { String::new() } else { format!("{file}: ") };
        self.over_limits.iter().map(move |limit| format!("{file}{}", limit.sentence(is_strict)))
    }
}
