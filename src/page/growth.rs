//! Growth since an older dump: by type, and by the way down the dominator tree.

use super::columns::{Budgets, FigureTable, LeftOut, signed};
use super::names::{NameTable, shown};
use crate::answers::diff::{
    AllocationDiffName, AllocationDiffRow, Amounts, Change, Diff, DiffBy, DiffOptions, DiffRows, NEW, OBJECTS_DELTA,
    RETAINED_DELTA, SHALLOW_DELTA, TOTAL_NEW, delta, diff,
};
use crate::answers::{AnswerError, Figure, Limits, ScopeOptions};
use crate::dump::OpenDump;

/// Paths that grew.
pub(super) const PATHS_SHOWN: usize = 15;

/// By type, retained bytes too where there are objects.
pub(super) fn growth_by_type(old: &OpenDump, new: &OpenDump, scope: &ScopeOptions) -> Result<Diff, AnswerError> {
    let retained = new.graph().is_some();
    let order = retained.then_some(RETAINED_DELTA);
    diff(old, new, &DiffOptions { scope: scope.clone(), retained, order, ..DiffOptions::default() })
}

pub(super) fn path_options(scope: ScopeOptions, is_objects: bool) -> DiffOptions {
    let limits = Limits { rows: Some(PATHS_SHOWN), ..Limits::default() };
    let by = if is_objects { DiffBy::Paths } else { DiffBy::Backtraces };
    DiffOptions { scope, by, limits, ..DiffOptions::default() }
}

/// By the types on the way down the dominator tree, or by backtrace, those that grew most; `None` where that takes more
/// memory than it may.
pub(super) fn growth_by_path(old: &OpenDump, new: &OpenDump, scope: &ScopeOptions) -> Option<Diff> {
    diff(old, new, &path_options(scope.clone(), new.graph().is_some())).ok()
}

/// By type: retained bytes, bytes, objects or allocations, and how many of these there were and are.
pub(super) fn growth_table(
    diff: &Diff,
    budgets: &Budgets,
    names: &mut NameTable,
    left_out: &mut LeftOut,
) -> FigureTable<u32> {
    let (bytes, count) = match &diff.rows {
        DiffRows::Allocations(_) => ("Bytes ±", "Allocations"),
        _ => ("Shallow ±", "Objects"),
    };
    let figures = vec![
        RETAINED_DELTA.titled("Retained ±"),
        SHALLOW_DELTA.titled(bytes),
        OBJECTS_DELTA.titled(count),
        Figure::count("old", "Old"),
        NEW,
    ];
    let keep = kept_of(diff.rows.len(), budgets.grown, budgets.shrunk);
    left_out.grown = (diff.rows.len() - keep.clone().count()) as u64;
    let row = |at: usize| match &diff.rows {
        DiffRows::Objects(list) => {
            let (name, Change { old, new }) = &list.rows[at];
            let [retained, bytes] = [delta(old.retained_bytes, new.retained_bytes), delta(old.bytes, new.bytes)];
            let [before, after] = [old.count, new.count].map(|count| Some(signed(count)));
            let figures = vec![Some(retained), Some(bytes), Some(delta(old.count, new.count)), before, after];
            Some((names.number(name), figures))
        }
        // The page does not ask for it.
        DiffRows::ByObject(_) => None,
        DiffRows::Allocations(list) => {
            let row = list.get(at);
            let AllocationDiffName::Type(name) = row.name else { return None };
            let [before, after] = [row.allocations_old, row.allocations_new].map(|count| count.map(signed));
            let figures = vec![None, Some(row.total_bytes_delta), row.allocations_delta, before, after];
            Some((names.number(name), figures))
        }
    };
    FigureTable { figures, growing: 3, rows: keep.filter_map(row).collect() }
}

/// Places of the rows that grew most and of those that shrank most, of rows in order of growth.
fn kept_of(rows: usize, grown: usize, shrunk: usize) -> impl Iterator<Item = usize> + Clone {
    (0..rows).filter(move |&at| at < grown || at + shrunk >= rows)
}

/// Paths that grew, most first: their steps, by how much they grew, and their bytes now.
pub(super) fn path_table(paths: &Diff) -> FigureTable<Vec<String>> {
    let mut rows: Vec<(Vec<String>, Vec<Option<i64>>)> = match &paths.rows {
        DiffRows::Objects(list) => {
            let row = |(path, Change { old, new }): &(String, Change<Amounts>)| {
                let grown = [delta(old.bytes, new.bytes), delta(old.count, new.count), signed(new.bytes)];
                (path.split(" > ").map(shown).collect(), grown.map(Some).to_vec())
            };
            list.rows.iter().map(row).collect()
        }
        DiffRows::ByObject(_) => Vec::new(),
        DiffRows::Allocations(list) => {
            let row = |row: AllocationDiffRow<'_>| {
                let AllocationDiffName::Path(names) = row.name else { return None };
                let bytes = Some(signed(row.total_bytes_new));
                let figures = vec![Some(row.total_bytes_delta), row.allocations_delta, bytes];
                Some((names.iter().map(|name| shown(name)).collect(), figures))
            };
            (0..list.len()).filter_map(|at| row(list.get(at))).collect()
        }
    };
    rows.retain(|(_, figures)| figures[0] > Some(0));
    let count = if matches!(paths.rows, DiffRows::Objects(_)) { "Objects ±" } else { "Allocations ±" };
    let figures = [SHALLOW_DELTA.titled("Bytes ±"), OBJECTS_DELTA.titled(count), TOTAL_NEW.titled("Bytes now")];
    FigureTable { figures: figures.to_vec(), growing: 2, rows }
}
