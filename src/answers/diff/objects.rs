//! Objects that came and went between two dumps of one process, by type: for formats whose ids stay with their objects.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::options::DiffOptions;
use crate::allocations::add_counts;
use crate::analysis::diff::{Amounts, Change, Measure};
use crate::answers::two_dumps::{changes_of, retained_of};
use crate::answers::{AnswerError, Scope};
use crate::dump::OpenDump;
use crate::graph::NodeSet;
use crate::sort;
use crate::units::{count_of, format_bytes, format_count};

/// Numbers of objects that came, went and stayed. An object counts where it has bytes of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChangedTotals {
    /// In the new dump alone.
    pub new: u64,
    /// In the old dump alone.
    pub gone: u64,
    /// In both.
    pub kept: u64,
    /// Bytes of the new ones.
    pub new_bytes: u64,
    /// Bytes of those that are gone.
    pub gone_bytes: u64,
    /// Bytes that would be freed if all new ones went, with those of new ones that no root reaches.
    pub new_retained_bytes: u64,
}

impl ChangedTotals {
    /// The totals in a sentence.
    pub fn sentence(&self) -> String {
        let ChangedTotals { new, gone, kept, new_bytes, gone_bytes, new_retained_bytes } = *self;
        format!(
            "{} came ({}, retaining {}), {} went ({}), {} stayed",
            count_of(new, "objects"),
            format_bytes(new_bytes),
            format_bytes(new_retained_bytes),
            format_count(gone),
            format_bytes(gone_bytes),
            format_count(kept)
        )
    }
}

/// The totals, and by type what came and went: a new object under its type in the new dump, one that is gone under that in
/// the old, most growth first. O(objects + references) of the new dump, O(objects) of the old one.
///
/// # Errors
/// As [`changes_of`] and [`retained_of`], and when there is no such section.
pub(super) fn object_diff(
    old: &OpenDump,
    new: &OpenDump,
    options: &DiffOptions,
) -> Result<(ChangedTotals, Vec<(String, Change<Amounts>)>), AnswerError> {
    let changes = changes_of(old, new)?;
    let Some(new_graph) = new.graph() else { return Err(AnswerError::NotObjects) };
    let (old_scope, new_scope) = (options.scope.resolve(old)?, options.scope.resolve(new)?);
    let mut rows: BTreeMap<&str, Change<Amounts>> = BTreeMap::new();
    let mut totals = ChangedTotals { kept: changes.kept, ..ChangedTotals::default() };
    for (type_name, objects, bytes) in tally(&new_scope, &changes.new) {
        add(&mut rows.entry(type_name).or_default().new, objects, bytes);
        (totals.new, totals.new_bytes) = (totals.new + objects, totals.new_bytes.saturating_add(bytes));
    }
    for (type_name, objects, bytes) in tally(&old_scope, &changes.gone) {
        add(&mut rows.entry(type_name).or_default().old, objects, bytes);
        (totals.gone, totals.gone_bytes) = (totals.gone + objects, totals.gone_bytes.saturating_add(bytes));
    }
    let mut wanted = NodeSet::new(new_graph.node_count());
    new_scope.nodes().filter(|&node| changes.new.contains(node)).for_each(|node| {
        wanted.insert(node);
    });
    totals.new_retained_bytes = retained_of(new, new_graph, &wanted)?;
    let mut rows: Vec<(String, Change<Amounts>)> =
        rows.into_iter().map(|(name, change)| (name.to_string(), change)).collect();
    sort::by_key(&mut rows, |(_, change)| Reverse((change.growth(Measure::Bytes), change.new.bytes)));
    Ok((totals, rows))
}

/// Types of one name may be several.
fn add(to: &mut Amounts, objects: u64, bytes: u64) {
    to.count = add_counts(to.count, Some(objects));
    to.bytes = to.bytes.saturating_add(bytes);
}

/// Objects of a set by type: name, how many, their bytes; types without any left out. O(objects).
fn tally<'d>(scope: &Scope<'d>, set: &NodeSet) -> Vec<(&'d str, u64, u64)> {
    let graph = scope.graph();
    let mut tallies = vec![(0u64, 0u64); graph.type_count()];
    for node in scope.nodes().filter(|&node| set.contains(node)) {
        let tally = &mut tallies[graph.type_of(node).index()];
        *tally = (tally.0 + 1, tally.1.saturating_add(graph.shallow_bytes(node)));
    }
    let of_types = graph.types().ids().zip(tallies).filter(|(_, (objects, _))| *objects > 0);
    of_types.map(|(type_id, (objects, bytes))| (graph.type_name(type_id), objects, bytes)).collect()
}
