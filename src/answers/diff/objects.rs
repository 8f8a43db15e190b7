//! Objects that came and went between two dumps of one process, by type: for formats whose ids stay with their objects.

use std::collections::BTreeMap;

use serde::Serialize;

use super::options::DiffOptions;
use crate::analysis::diff::delta;
use crate::answers::diff_figures::{GONE_BYTES, NEW, NEW_BYTES};
use crate::answers::figure::TYPE;
use crate::answers::two_dumps::{changes_of, retained_of};
use crate::answers::{AnswerError, Scope};
use crate::dump::OpenDump;
use crate::graph::NodeSet;
use crate::sort;
use crate::units::{count_of, format_bytes, format_count};

/// Objects that came and went. An object counts where it has bytes of its own.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct ChangedObjects {
    /// All of them.
    pub objects: ChangedTotals,
    /// By type, those that are shown: a new object under its type in the new dump, one that is gone under that in the old.
    pub types: Vec<ChangedType>,
    /// Rows that a limit left out.
    #[serde(skip)]
    pub hidden: usize,
}

/// Numbers of objects that came, went and stayed.
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

/// Objects of a type that came and went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChangedType {
    /// The type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// In the new dump alone.
    pub new: u64,
    /// Their bytes.
    pub new_bytes: u64,
    /// In the old dump alone.
    pub gone: u64,
    /// Their bytes.
    pub gone_bytes: u64,
}

impl ChangedObjects {
    /// The totals in a sentence.
    pub fn sentence(&self) -> String {
        let ChangedTotals { new, gone, kept, new_bytes, gone_bytes, new_retained_bytes } = self.objects;
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

/// The answer. O(objects + references) of the new dump, O(objects) of the old one.
///
/// # Errors
/// As [`changes_of`] and [`retained_of`], and when there is no such section.
pub(super) fn object_diff(
    old: &OpenDump,
    new: &OpenDump,
    options: &DiffOptions,
) -> Result<ChangedObjects, AnswerError> {
    let changes = changes_of(old, new)?;
    let Some(new_graph) = new.graph() else { return Err(AnswerError::NotObjects) };
    let (old_scope, new_scope) = (options.scope.resolve(old)?, options.scope.resolve(new)?);
    let mut rows: BTreeMap<&str, ChangedType> = BTreeMap::new();
    for (type_name, objects, bytes) in tally(&new_scope, &changes.new) {
        let row = rows.entry(type_name).or_default();
        (row.new, row.new_bytes) = (row.new + objects, row.new_bytes.saturating_add(bytes));
    }
    for (type_name, objects, bytes) in tally(&old_scope, &changes.gone) {
        let row = rows.entry(type_name).or_default();
        (row.gone, row.gone_bytes) = (row.gone + objects, row.gone_bytes.saturating_add(bytes));
    }
    let mut wanted = NodeSet::new(new_graph.node_count());
    new_scope.nodes().filter(|&node| changes.new.contains(node)).for_each(|node| {
        wanted.insert(node);
    });
    let mut objects = ChangedTotals { kept: changes.kept, ..ChangedTotals::default() };
    for row in rows.values() {
        objects.new += row.new;
        objects.gone += row.gone;
        objects.new_bytes = objects.new_bytes.saturating_add(row.new_bytes);
        objects.gone_bytes = objects.gone_bytes.saturating_add(row.gone_bytes);
    }
    objects.new_retained_bytes = retained_of(new, new_graph, &wanted)?;
    let named = rows.into_iter().map(|(name, row)| ChangedType { type_name: name.to_string(), ..row });
    let mut types: Vec<ChangedType> = named.collect();
    sort_rows(&mut types, options);
    let hidden = options.limits.cut(&mut types);
    Ok(ChangedObjects { objects, types, hidden })
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

/// Rows come by name; a stable sort keeps that among equals.
fn sort_rows(rows: &mut [ChangedType], options: &DiffOptions) {
    let growth = |row: &ChangedType| (delta(row.gone_bytes, row.new_bytes), row.new_bytes);
    sort::by_key(rows, |row| std::cmp::Reverse(growth(row)));
    match options.order {
        Some(NEW) => sort::by_key(rows, |row| std::cmp::Reverse(row.new)),
        Some(NEW_BYTES) => sort::by_key(rows, |row| std::cmp::Reverse(row.new_bytes)),
        Some(GONE_BYTES) => sort::by_key(rows, |row| std::cmp::Reverse(row.gone_bytes)),
        Some(TYPE) => sort::by(rows, &|a, b| a.type_name.cmp(&b.type_name)),
        _ => {}
    }
}
