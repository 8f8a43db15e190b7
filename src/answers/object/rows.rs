//! References from one object and to it.

use std::cell::OnceCell;
use std::collections::HashMap;

use serde::{Serialize, Serializer};

use crate::answers::ObjectRow;
use crate::answers::rows::{ROWS_READ_TOGETHER, is_false};
use crate::answers::values::{ShownValue, ValueReader};
use crate::graph::{HeapGraph, NodeId, Reference};
use crate::sort;

/// References from one object, or to it, as rows that are made one by one: they may be many.
#[derive(Debug)]
pub struct ReferenceRows<'d> {
    graph: &'d HeapGraph,
    /// Objects at the other ends of strong references, in order; without those in `unlisted_references`.
    strong_ends: &'d [NodeId],
    /// Those that are not in the slice, with their places among all: weak ones, and a class that is held anyway.
    unlisted_references: Vec<(usize, Reference)>,
    shown_count: usize,
    /// Names of the references of the first rows.
    pub(super) names: Vec<Option<String>>,
    values: Option<ValueReader<'d>>,
    shown_values: OnceCell<Vec<Option<ShownValue>>>,
}

/// An object at the other end of a reference, with what is said of that.
#[derive(Debug, Clone, Serialize)]
struct ReferenceRow {
    #[serde(flatten)]
    row: ObjectRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    weak: bool,
}

impl<'d> ReferenceRows<'d> {
    /// References of an object. O(references) where some are weak.
    pub(super) fn references(
        graph: &'d HeapGraph,
        node: NodeId,
        limit: Option<usize>,
        values: Option<ValueReader<'d>>,
    ) -> Self {
        let all = graph.references(node);
        Self::new(graph, graph.strong_references(node), all, limit, values)
    }

    /// Referrers of an object. O(referrers) where some are weak.
    pub(super) fn referrers(
        graph: &'d HeapGraph,
        node: NodeId,
        limit: Option<usize>,
        values: Option<ValueReader<'d>>,
    ) -> Self {
        let (strong, all) = (graph.strong_referrers(node), graph.referrers(node));
        let strong = if all.leaves_out_objects() { &[] } else { strong };
        Self::new(graph, strong, all, limit, values)
    }

    fn new(
        graph: &'d HeapGraph,
        strong: &'d [NodeId],
        all: impl ExactSizeIterator<Item = Reference>,
        limit: Option<usize>,
        values: Option<ValueReader<'d>>,
    ) -> Self {
        let mut left = strong.iter();
        let mut unlisted_references = Vec::new();
        let total = all.len();
        if total > strong.len() {
            for (place, reference) in all.enumerate() {
                let is_next = !reference.is_weak && left.as_slice().first() == Some(&reference.node);
                match is_next {
                    true => drop(left.next()),
                    false => unlisted_references.push((place, reference)),
                }
            }
        }
        let shown_count = limit.map_or(total, |limit| total.min(limit));
        ReferenceRows {
            graph,
            strong_ends: strong,
            unlisted_references,
            shown_count,
            names: Vec::new(),
            values,
            shown_values: OnceCell::new(),
        }
    }

    /// Name of a row's reference, where the dump has it.
    pub fn reference_name(&self, row: usize) -> Option<&str> {
        self.names.get(row)?.as_deref()
    }

    /// Rows that are shown.
    pub fn len(&self) -> usize {
        self.shown_count
    }

    /// Rows that there are, shown or not.
    pub fn total(&self) -> usize {
        self.strong_ends.len() + self.unlisted_references.len()
    }

    /// The reference of a row. O(log weak references).
    fn reference_at(&self, row: usize) -> Reference {
        let before = self.unlisted_references.partition_point(|(place, _)| *place < row);
        match self.unlisted_references.get(before) {
            Some((place, reference)) if *place == row => *reference,
            _ => Reference { node: self.strong_ends[row - before], is_weak: false },
        }
    }

    /// Number of rows from this one on, shown or not, of the same object. O(those).
    pub fn repeat_count(&self, row: usize) -> usize {
        let node = self.reference_at(row).node;
        (row..self.total()).take_while(|&next| self.reference_at(next).node == node).count()
    }

    /// All rows by type, shown or not: most first, then by name. O(rows).
    pub fn counts_by_type(&self) -> Vec<(u64, &'d str)> {
        let mut counts: HashMap<&str, u64> = HashMap::new();
        for row in 0..self.total() {
            *counts.entry(self.graph.type_name(self.graph.type_of(self.reference_at(row).node))).or_default() += 1;
        }
        let mut counts: Vec<(u64, &str)> = counts.into_iter().map(|(name, count)| (count, name)).collect();
        sort::rows_by(&mut counts, &|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        counts
    }

    /// Returns true if the reference of a row holds nothing.
    pub fn is_weak(&self, row: usize) -> bool {
        self.reference_at(row).is_weak
    }

    /// A row below `len`. O(log objects).
    pub fn get(&self, row: usize) -> ObjectRow {
        ObjectRow::new(self.graph, self.reference_at(row).node)
    }

    /// The rows that are shown, one by one.
    pub fn iter(&self) -> impl Iterator<Item = ObjectRow> + '_ {
        (0..self.shown_count).map(|row| self.get(row))
    }

    /// Value of a row's object, of the first 4,096 rows. Reads them all when it is first asked.
    pub fn shown_value(&self, row: usize) -> Option<&ShownValue> {
        let read = || {
            let nodes: Vec<NodeId> =
                (0..self.shown_count.min(ROWS_READ_TOGETHER)).map(|row| self.reference_at(row).node).collect();
            self.values.map_or(Vec::new(), |values| values.shown_values(&nodes))
        };
        self.shown_values.get_or_init(read).get(row)?.as_ref()
    }

    /// A row with what its object says.
    pub fn row_with_value(&self, row: usize) -> ObjectRow {
        let node = self.reference_at(row).node;
        ObjectRow {
            value_words: self.values.and_then(|values| values.value_in_words(node, self.shown_value(row))),
            ..self.get(row)
        }
    }
}

impl Serialize for ReferenceRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.shown_count).map(|at| ReferenceRow {
            row: self.get(at),
            reference: self.reference_name(at).map(str::to_string),
            weak: self.is_weak(at),
        }))
    }
}
