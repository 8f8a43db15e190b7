//! Growth since an older dump: by type, and by the way down the dominator tree.

use super::columns::{Budgets, FigureTable, LeftOut, signed};
use super::names::{NameTable, shown};
use crate::answers::diff::{
    Diff, DiffBy, DiffOptions, DiffRow, Measure, NEW, OBJECTS_DELTA, RETAINED_DELTA, SHALLOW_DELTA, TOTAL_NEW, diff,
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
    let is_of_allocations = diff.rows.are_of_allocations();
    let (bytes, count) = if is_of_allocations { ("Bytes ±", "Allocations") } else { ("Shallow ±", "Objects") };
    let figures = vec![
        RETAINED_DELTA.titled("Retained ±"),
        SHALLOW_DELTA.titled(bytes),
        OBJECTS_DELTA.titled(count),
        Figure::count("old", "Old"),
        NEW,
    ];
    let keep = kept_of(diff.rows.len(), budgets.grown, budgets.shrunk);
    left_out.grown = (diff.rows.len() - keep.clone().count()) as u64;
    let row = |at: usize| {
        let DiffRow { name, change, .. } = diff.rows.get(at);
        let retained = change.growth(Measure::Retained).filter(|_| !is_of_allocations);
        let [before, after] = [change.old.count, change.new.count].map(|count| count.map(signed));
        let figures = vec![retained, change.growth(Measure::Bytes), change.growth(Measure::Count), before, after];
        (names.number(&name.shortened()), figures)
    };
    FigureTable { figures, growing: 3, rows: keep.map(row).collect() }
}

/// Places of the rows that grew most and of those that shrank most, of rows in order of growth.
fn kept_of(rows: usize, grown: usize, shrunk: usize) -> impl Iterator<Item = usize> + Clone {
    (0..rows).filter(move |&at| at < grown || at + shrunk >= rows)
}

/// Paths that grew, most first: their steps, by how much they grew, and their bytes now.
pub(super) fn path_table(paths: &Diff) -> FigureTable<Vec<String>> {
    let row = |DiffRow { name, change, .. }: DiffRow<'_>| {
        let grown = [change.growth(Measure::Bytes), change.growth(Measure::Count), Some(signed(change.new.bytes))];
        (name.steps().into_iter().map(shown).collect(), grown.to_vec())
    };
    let mut rows: Vec<(Vec<String>, Vec<Option<i64>>)> =
        (0..paths.rows.len()).map(|at| row(paths.rows.get(at))).collect();
    rows.retain(|(_, figures)| figures[0] > Some(0));
    let count = if paths.rows.are_of_allocations() { "Allocations ±" } else { "Objects ±" };
    let figures = [SHALLOW_DELTA.titled("Bytes ±"), OBJECTS_DELTA.titled(count), TOTAL_NEW.titled("Bytes now")];
    FigureTable { figures: figures.to_vec(), growing: 2, rows }
}
