//! The rows and totals of a histogram.

use std::borrow::Cow;

use serde::Serialize;

use super::options::{LimitCheck, RetainedBy};
use super::requested_roots::{Amount, ReachedBy};
use crate::analysis::histogram::Estimate;
use crate::answers::figure::{
    ALLOCATIONS, CHARGED, CHARGED_OBJECTS, ESTIMATED, ESTIMATED_OBJECTS, OBJECTS, REACHABLE, REACHABLE_OBJECTS,
    RETAINED, SHALLOW, TOTAL,
};
use crate::answers::heaps::{FullerDump, HeapRow};
use crate::answers::loader_row::{LoaderRow, loader_or_null, name_with_loader};
use crate::answers::problems::ProblemRow;
use crate::answers::rows::{LocationRow, RowName, is_false};
use crate::answers::{Figure, GroupBy};

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
    pub rows: Rows,
    /// Grouping of the rows.
    #[serde(skip)]
    pub group_by: GroupBy,
    /// Rows that a limit left out.
    #[serde(skip)]
    pub rows_hidden: usize,
    /// Results of the size limits.
    #[serde(skip)]
    pub limit_checks: Vec<LimitCheck>,
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
pub enum Totals {
    /// Of objects, counted with the graph.
    Objects(ObjectTotals),
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
    #[serde(flatten)]
    pub given_roots: Option<RequestedRow>,
    /// Objects that only roots left out on request would reach, if there are any.
    #[serde(flatten)]
    pub excluded_roots: Option<RequestedRow>,
    /// Objects by the roots that reach them.
    #[serde(skip)]
    pub reached_by: ReachedBy,
}

/// Objects that only roots given or left out on request reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RequestedRow {
    /// Given.
    Given {
        /// Objects.
        given_roots_objects: u64,
        /// Their shallow bytes.
        given_roots_bytes: u64,
    },
    /// Left out.
    Excluded {
        /// Objects.
        excluded_roots_objects: u64,
        /// Their shallow bytes.
        excluded_roots_bytes: u64,
    },
}

impl RequestedRow {
    pub(super) fn new(amount: Amount, row: fn(Amount) -> Self) -> Option<Self> {
        (amount.objects > 0).then(|| row(amount))
    }

    pub(super) fn given(Amount { objects, shallow_bytes }: Amount) -> Self {
        RequestedRow::Given { given_roots_objects: objects, given_roots_bytes: shallow_bytes }
    }

    pub(super) fn excluded(Amount { objects, shallow_bytes }: Amount) -> Self {
        RequestedRow::Excluded { excluded_roots_objects: objects, excluded_roots_bytes: shallow_bytes }
    }
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

/// The rows, under the key that tells what they are.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rows {
    /// A row for each type.
    Types(Vec<HistogramRow>),
    /// A row for each group of another kind.
    Groups(Vec<HistogramRow>),
}

impl Rows {
    pub(super) fn new(group_by: GroupBy, rows: Vec<HistogramRow>) -> Self {
        if group_by == GroupBy::Type { Rows::Types(rows) } else { Rows::Groups(rows) }
    }

    /// The rows, whatever they are of.
    pub fn as_slice(&self) -> &[HistogramRow] {
        let (Rows::Types(rows) | Rows::Groups(rows)) = self;
        rows
    }
}

/// A row.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct HistogramRow {
    /// Amounts of the row.
    #[serde(flatten)]
    pub amount: RowAmount,
    /// Bytes that would be freed with the row's objects, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retained_bytes: Option<u64>,
    /// The module a type is from, where types of one name are apart and modules are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Place of the type's constructor, where another row has the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<LocationRow>,
    /// Loader of the type, where rows of several loaders have its name and the dump knows; `null` for the runtime itself.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "loader_or_null")]
    pub loader: Option<LoaderRow>,
    /// Name of the type or group.
    #[serde(flatten)]
    pub name: RowName,
    /// The group's number while the answer is computed.
    #[serde(skip)]
    pub(super) group: u32,
}

/// Amounts of a row.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum RowAmount {
    /// Objects, counted with the graph.
    Objects {
        /// Objects.
        objects: u64,
        /// Their shallow bytes.
        shallow_bytes: u64,
        /// Objects that strong roots reach.
        reachable_objects: u64,
        /// Their shallow bytes.
        reachable_bytes: u64,
        /// Estimates of the heap that a sample was taken of.
        #[serde(flatten)]
        estimate: Option<EstimateRow>,
    },
    /// Objects of the program, and those of libraries that are charged to it.
    Owned {
        /// The program's own.
        objects: u64,
        /// Their shallow bytes.
        shallow_bytes: u64,
        /// Objects of libraries.
        charged_objects: u64,
        /// Their shallow bytes.
        charged_bytes: u64,
    },
    /// Objects, counted without the graph.
    Counted {
        /// Objects.
        objects: u64,
        /// Their shallow bytes.
        shallow_bytes: u64,
    },
    /// Allocations.
    Allocations {
        /// Bytes.
        total_bytes: u64,
        /// Allocations, where they are counted.
        allocations: Option<u64>,
    },
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

impl HistogramRow {
    pub(super) fn new(name: String, group_by: GroupBy, amount: RowAmount) -> Self {
        let name = RowName::new(name, group_by);
        HistogramRow { amount, retained_bytes: None, module: None, location: None, loader: None, name, group: 0 }
    }

    /// The name of the type or group.
    pub fn name(&self) -> &str {
        self.name.text()
    }

    /// The number of its group among all that the dump has.
    pub fn group(&self) -> u32 {
        self.group
    }

    /// The name; where the loader tells it from another row and no column of its own says it, with that.
    pub fn name_with_loader(&self, is_wanted: bool) -> Cow<'_, str> {
        name_with_loader(self.name(), self.loader.as_ref().filter(|_| is_wanted))
    }

    /// Shallow bytes of objects, or bytes of allocations; what is charged to a row is not among them.
    pub fn bytes(&self) -> u64 {
        self.figure(SHALLOW).or_else(|| self.figure(TOTAL)).unwrap_or(0)
    }

    /// Objects or allocations, where they are counted.
    pub fn count(&self) -> Option<u64> {
        self.figure(OBJECTS).or_else(|| self.figure(ALLOCATIONS))
    }

    /// A figure of the row, where it has that.
    pub fn figure(&self, figure: Figure) -> Option<u64> {
        use RowAmount::{Allocations, Counted, Objects, Owned};
        match (figure, self.amount) {
            (RETAINED, _) => self.retained_bytes,
            (SHALLOW, Objects { shallow_bytes, .. } | Counted { shallow_bytes, .. } | Owned { shallow_bytes, .. }) => {
                Some(shallow_bytes)
            }
            (OBJECTS, Objects { objects, .. } | Counted { objects, .. } | Owned { objects, .. }) => Some(objects),
            (REACHABLE_OBJECTS, Objects { reachable_objects, .. }) => Some(reachable_objects),
            (REACHABLE, Objects { reachable_bytes, .. }) => Some(reachable_bytes),
            (ESTIMATED_OBJECTS, Objects { estimate, .. }) => Some(estimate?.estimated_objects),
            (ESTIMATED, Objects { estimate, .. }) => Some(estimate?.estimated_bytes),
            (CHARGED_OBJECTS, Owned { charged_objects, .. }) => Some(charged_objects),
            (CHARGED, Owned { charged_bytes, .. }) => Some(charged_bytes),
            (TOTAL, Allocations { total_bytes, .. }) => Some(total_bytes),
            (ALLOCATIONS, Allocations { allocations, .. }) => allocations,
            _ => None,
        }
    }

    /// Value that an order compares: objects and bytes charged to an owner count with its own.
    pub(super) fn figure_of_order(&self, order: Option<Figure>) -> Option<u64> {
        let charged = |figure: Figure| self.figure(figure).unwrap_or(0);
        match order {
            None | Some(SHALLOW | TOTAL) => Some(self.bytes().saturating_add(charged(CHARGED))),
            Some(OBJECTS) => self.figure(OBJECTS).map(|objects| objects + charged(CHARGED_OBJECTS)),
            Some(figure) => self.figure(figure),
        }
    }
}

/// Serialises whether there is a sample; what it multiplies by is `info`'s to say.
fn is_some<S: serde::Serializer>(sample: &Option<Sample>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bool(sample.is_some())
}
