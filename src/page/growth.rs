//! What grew since an older dump: by type, and by the way down the dominator tree.

use serde::Serialize;

use super::data::{Budgets, LeftOut};
use super::html::Html;
use super::names::{NameTable, shown};
use super::sections::Sections;
use super::tables::{
    bar_cell, cell, filter_table_close, filter_table_open, optional_count, signed_bytes, signed_count, table_close,
    table_open, type_name,
};
use crate::answers::diff::{
    AllocationDiffName, AllocationDiffRow, Amounts, Change, Diff, DiffBy, DiffOptions, DiffOrder, DiffRows, delta, diff,
};
use crate::answers::{AnswerError, Limits, ScopeOptions};
use crate::dump::OpenDump;
use crate::units::{count_of, format_bytes};

/// Types that stand there without a script.
const GROWN_SHOWN: usize = 25;
/// Paths that grew.
const PATHS_SHOWN: usize = 15;

#[derive(Serialize, Default)]
pub(super) struct GrowthColumns {
    pub(super) name: Vec<u32>,
    pub(super) old: Vec<Option<u64>>,
    pub(super) new: Vec<Option<u64>>,
    pub(super) objects: Vec<Option<i64>>,
    pub(super) shallow: Vec<i64>,
    pub(super) retained: Vec<Option<i64>>,
}

/// By type, retained bytes too where there are objects.
pub(super) fn growth_by_type(old: &OpenDump, new: &OpenDump, scope: &ScopeOptions) -> Result<Diff, AnswerError> {
    let retained = new.graph().is_some();
    let order = if retained { DiffOrder::RetainedGrowth } else { DiffOrder::Growth };
    diff(old, new, &DiffOptions { scope: scope.clone(), retained, order, ..DiffOptions::default() })
}

fn path_options(scope: ScopeOptions, is_objects: bool) -> DiffOptions {
    let limits = Limits { rows: Some(PATHS_SHOWN), ..Limits::default() };
    let by = if is_objects { DiffBy::Paths } else { DiffBy::Backtraces };
    DiffOptions { scope, by, limits, ..DiffOptions::default() }
}

/// By the types on the way down the dominator tree, or by backtrace, those that grew most; `None` where that takes more
/// memory than it may.
pub(super) fn growth_by_path(old: &OpenDump, new: &OpenDump, scope: &ScopeOptions) -> Option<Diff> {
    diff(old, new, &path_options(scope.clone(), new.graph().is_some())).ok()
}

pub(super) fn growth_columns(
    diff: &Diff,
    budgets: &Budgets,
    names: &mut NameTable,
    left_out: &mut LeftOut,
) -> GrowthColumns {
    let mut columns = GrowthColumns::default();
    let (grown, shrunk) = (budgets.grown, budgets.shrunk);
    match &diff.rows {
        DiffRows::Objects(list) => {
            let keep = kept_of(list.rows.len(), grown, shrunk);
            left_out.grown = (list.rows.len() - keep.clone().count()) as u64;
            for (name, Change { old, new }) in keep.map(|at| &list.rows[at]) {
                columns.name.push(names.number(name));
                columns.old.push(Some(old.count));
                columns.new.push(Some(new.count));
                columns.objects.push(Some(delta(old.count, new.count)));
                columns.shallow.push(delta(old.bytes, new.bytes));
                columns.retained.push(Some(delta(old.retained_bytes, new.retained_bytes)));
            }
        }
        DiffRows::Allocations(list) => {
            let keep = kept_of(list.len(), grown, shrunk);
            left_out.grown = (list.len() - keep.clone().count()) as u64;
            for row in keep.map(|at| list.get(at)) {
                let AllocationDiffName::Type(name) = row.name else { continue };
                columns.name.push(names.number(name));
                columns.old.push(row.allocations_old);
                columns.new.push(row.allocations_new);
                columns.objects.push(row.allocations_delta);
                columns.shallow.push(row.total_bytes_delta);
                columns.retained.push(None);
            }
        }
    }
    columns
}

/// Places of the rows that grew most and of those that shrank most, of rows in order of growth.
fn kept_of(rows: usize, grown: usize, shrunk: usize) -> impl Iterator<Item = usize> + Clone {
    (0..rows).filter(move |&at| at < grown || at + shrunk >= rows)
}

impl Sections<'_, '_> {
    pub(super) fn growth(&self, html: &mut Html) {
        let (Some(growth), Some(old)) = (&self.data.growth, &self.options.old_file) else { return };
        let is_objects = self.data.objects.is_some();
        html.markup("<section id=\"growth\"><h2>Growth</h2><p class=\"under\">By type, from ").text(shown(old));
        html.text(format!(" to {}; joined by name, for ids do not carry over.", shown(self.options.title())));
        if is_objects {
            html.markup(" Retained: at least so much more would be freed if all objects of the type went.");
        }
        if self.data.left_out.grown > 0 {
            html.text(format!(" {} that changed less are left out.", count_of(self.data.left_out.grown, "types")));
        }
        html.markup("</p>\n");
        let count = if is_objects { "Objects" } else { "Allocations" };
        let bytes = if is_objects { "Shallow ±" } else { "Bytes ±" };
        filter_table_open(html, "Growth by type", &["", "Retained ±", bytes, count, "Old", "New", "Type"]);
        let largest = growth.retained.iter().map(|delta| delta.unwrap_or(0).unsigned_abs()).max().unwrap_or(0);
        for at in 0..growth.name.len().min(GROWN_SHOWN) {
            let retained = growth.retained[at];
            html.markup("<tr>");
            bar_cell(html, retained.unwrap_or(0).unsigned_abs(), largest);
            cell(html, retained.map_or("-".into(), signed_bytes));
            cell(html, signed_bytes(growth.shallow[at]));
            cell(html, growth.objects[at].map_or("-".into(), signed_count));
            cell(html, optional_count(growth.old[at]));
            cell(html, optional_count(growth.new[at]));
            self.type_cell(html, growth.name[at]);
            html.markup("</tr>");
        }
        filter_table_close(html);
        let options = DiffOptions { scope: self.scope(), retained: is_objects, ..DiffOptions::default() };
        let mut line = options.command_line();
        line.word(old.as_str());
        self.command(&line, html);
        self.grown_paths(html);
        html.markup("</section>\n");
    }

    /// What grew under what.
    fn grown_paths(&self, html: &mut Html) {
        let (Some(paths), Some(old)) = (&self.page.grown_paths, &self.options.old_file) else { return };
        let rows = path_rows(paths);
        let Some(first) = rows.first() else { return };
        let is_objects = self.data.objects.is_some();
        html.markup(match is_objects {
            true => {
                "<h3>Paths that grew</h3><p class=\"under\">What grew under what, by types on the way down the \
                     dominator tree. A path that grew as much as the one above it only passes the growth on.</p>\n"
            }
            false => "<h3>Backtraces that grew</h3>\n",
        });
        let count = if is_objects { "Objects ±" } else { "Allocations ±" };
        let name = if is_objects { "Path" } else { "Backtrace" };
        table_open(html, "What grew under what", &["", "Bytes ±", count, "Bytes now", name]);
        for row in &rows {
            html.markup("<tr>");
            bar_cell(html, row.grown_bytes.unsigned_abs(), first.grown_bytes.unsigned_abs());
            cell(html, signed_bytes(row.grown_bytes));
            cell(html, row.grown_count.map_or("-".into(), signed_count));
            cell(html, format_bytes(row.bytes));
            html.markup("<td class=\"name way\">");
            for (at, step) in row.steps.iter().enumerate() {
                html.markup(if at > 0 { " › " } else { "" });
                type_name(html, step);
            }
            html.markup("</td></tr>");
        }
        table_close(html);
        let mut line = path_options(self.scope(), is_objects).command_line();
        line.word(old.as_str());
        self.command(&line, html);
    }
}

/// A path that grew.
struct PathRow {
    grown_bytes: i64,
    grown_count: Option<i64>,
    bytes: u64,
    steps: Vec<String>,
}

/// Paths that grew, most first.
fn path_rows(paths: &Diff) -> Vec<PathRow> {
    let mut rows: Vec<PathRow> = match &paths.rows {
        DiffRows::Objects(list) => {
            let row = |(path, Change { old, new }): &(String, Change<Amounts>)| PathRow {
                grown_bytes: delta(old.bytes, new.bytes),
                grown_count: Some(delta(old.count, new.count)),
                bytes: new.bytes,
                steps: path.split(" > ").map(shown).collect(),
            };
            list.rows.iter().map(row).collect()
        }
        DiffRows::Allocations(list) => {
            let rows = (0..list.len()).map(|at| list.get(at));
            let row = |row: AllocationDiffRow<'_>| {
                let AllocationDiffName::Path(names) = row.name else { return None };
                let steps = names.iter().map(|name| shown(name)).collect();
                let (grown_bytes, bytes) = (row.total_bytes_delta, row.total_bytes_new);
                Some(PathRow { grown_bytes, grown_count: row.allocations_delta, bytes, steps })
            };
            rows.filter_map(row).collect()
        }
    };
    rows.retain(|row| row.grown_bytes > 0);
    rows
}
