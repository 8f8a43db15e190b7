//! The rows and totals of a diff, and objects that came and went between two dumps of one process.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::allocations::add_counts;
use crate::analysis::diff::AllocationDiff;
use crate::analysis::diff::{Change, DiffAmounts, JoinedRows, Measure};
use crate::answers::allocation_heaps::FullerDump;
use crate::answers::diff::options::DiffOptions;
use crate::answers::diff::options::NamedGrowth;
use crate::answers::dump_comparison::{
    CUM_DELTA, DiffColumn, DiffValue, GONE_BYTES, GROWTH_PERCENT, NEW_BYTES, NEW_OBJECTS, OBJECTS_DELTA,
    RETAINED_DELTA, TOTAL_NEW, TOTAL_OLD,
};
use crate::answers::dump_comparison::{object_changes, retained_bytes_of_set};
use crate::answers::figure::{ColumnUnit, OBJECTS};
use crate::answers::histogram_row::Totals;
use crate::answers::limit_result::LimitResult;
use crate::answers::paths::SerializeEach;
use crate::answers::problems::ProblemRow;
use crate::answers::rows::is_false;
use crate::answers::{AnswerError, DiffBy, Scope};
use crate::dump::OpenDump;
use crate::graph::NodeSet;
use crate::sort;
use crate::units::{count_with_noun, format_bytes, format_count};

/// Growth between two dumps.
#[derive(Serialize)]
#[non_exhaustive]
pub struct Diff {
    /// Everything in the old dump.
    pub old: Totals,
    /// Everything in the new one.
    pub new: Totals,
    /// By how many shallow bytes the heap grew; only of objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shallow_bytes_delta: Option<i64>,
    /// Roots of one dump or both are inferred: it has none.
    #[serde(skip_serializing_if = "is_false")]
    pub roots_inferred: bool,
    /// Objects that came and went, where these are the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<ObjectChangeTotals>,
    /// The rows that are shown, in their order.
    #[serde(flatten)]
    pub rows: DiffRows,
    /// Problems of the dumps.
    #[serde(skip_serializing_if = "DiffProblems::is_empty")]
    pub problems: DiffProblems,
    /// Limits that were passed, and those that no type matches.
    #[serde(skip)]
    pub limit_results: Vec<LimitResult>,
    /// Heaps of allocation totals that only one of the dumps has.
    #[serde(skip)]
    pub unmatched_heaps: UnmatchedHeaps,
    /// Memory dumps with more heaps than those that were chosen by default.
    #[serde(skip)]
    pub fuller_dumps: Vec<FullerDump>,
}

/// Problems of two dumps.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct DiffProblems {
    /// With the old one.
    pub old: Vec<ProblemRow>,
    /// With the new one.
    pub new: Vec<ProblemRow>,
}

impl DiffProblems {
    fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }
}

impl Diff {
    /// The word for a row: `type`.
    pub fn row_word(&self) -> String {
        match self.rows.by {
            DiffBy::Groups(by) => by.title_and_plural().0.to_lowercase(),
            DiffBy::RootKinds => "kind of roots".into(),
            DiffBy::Paths => "path".into(),
            DiffBy::Backtraces | DiffBy::Objects => "type".into(),
        }
    }

    /// Old and new totals in a line: sizes by `bytes`, the growth as `emphasis` has it.
    pub fn headline(&self, bytes: impl Fn(u64) -> String, emphasis: impl Fn(&str) -> String) -> String {
        let (old, new) = (self.old.bytes(), self.new.bytes());
        let sign = if new < old { "-" } else { "+" };
        let grown = format!("{sign}{}", bytes(new.abs_diff(old)));
        let sides = format!("{} -> {}", bytes(old), bytes(new));
        match self.old.figure(OBJECTS).zip(self.new.figure(OBJECTS)) {
            Some((before, after)) => {
                let share = match old {
                    0 => String::new(),
                    whole => format!(" ({:+.1} %)", (i128::from(new) - i128::from(old)) as f64 * 100.0 / whole as f64),
                };
                let (before, after) = (format_count(before), count_with_noun(after, "objects"));
                format!("{sides}: {}{share}, {before} -> {after}", emphasis(&grown))
            }
            None => format!("{sides}, {grown}"),
        }
    }
}

/// Heaps (process and allocator) that only one side has: grown or gone, or only not dumped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnmatchedHeaps {
    /// In the old dump alone.
    pub old: Vec<String>,
    /// In the new one alone.
    pub new: Vec<String>,
}

impl UnmatchedHeaps {
    /// The same in words: a sentence for each dump that has some.
    pub fn sentences(&self) -> impl Iterator<Item = String> {
        const MAX_NAMES_SHOWN: usize = 6;
        let lone = [("old", &self.old), ("new", &self.new)].into_iter().filter(|(_, heaps)| !heaps.is_empty());
        lone.map(|(side, heaps)| {
            let shown = &heaps[..heaps.len().min(MAX_NAMES_SHOWN)];
            let more = heaps.len() - shown.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("only the {side} dump has heaps of {}{more}", shown.join(", "))
        })
    }
}

/// Compares by how many times the old bytes there are of new ones; what was not there is more than any.
fn compare_growth_percent(a: (u64, u64), b: (u64, u64)) -> std::cmp::Ordering {
    let times = |(_, new): (u64, u64), (old, _): (u64, u64)| u128::from(new) * u128::from(old);
    let is_new = |(old, new): (u64, u64)| old == 0 && new > 0;
    is_new(a).cmp(&is_new(b)).then_with(|| times(a, b).cmp(&times(b, a)))
}

/// By how much of its old bytes a row grew: `+12.5 %`; `new` for what was not there.
pub(crate) fn growth_percent_words(old: u64, new: u64) -> String {
    match (old, new) {
        (0, 0) => "-".into(),
        (0, _) => "new".into(),
        _ => format!("{:+.1} %", (i128::from(new) - i128::from(old)) as f64 * 100.0 / old as f64),
    }
}

/// The rows of a diff. They are put in order when they are first asked for, and a row is made when it is written.
pub struct DiffRows {
    /// Kind of the rows. Serialised are of allocation totals both types and backtraces.
    pub by: DiffBy,
    /// Columns of the rows but their name.
    pub columns: Vec<DiffColumn>,
    source: RowSource,
    options: DiffOptions,
    /// Rows as `by` says; of allocation totals types, and backtraces.
    ordered_rows: [OnceCell<OrderedRows>; 2],
}

/// Data that rows are made of, by number.
pub(super) enum RowSource {
    /// Rows of dumps of objects by name, in the order of growth.
    Objects(JoinedRows),
    /// Rows of allocation totals by names of frames, in the order of growth; what is retained is cum.
    Frames(JoinedRows),
    /// Types and backtraces of allocation totals.
    Allocations(Box<AllocationDiff>),
}

/// Numbers of the rows that are shown, in order.
struct OrderedRows {
    row_numbers: Vec<u32>,
    hidden_count: usize,
}

/// A row of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiffRow<'d> {
    /// Name of the row.
    pub name: DiffName<'d>,
    /// Its figures on both sides.
    pub change: Change<DiffAmounts>,
}

/// Name of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum DiffName<'d> {
    /// Of a type or group, of a kind of roots, or a path of types.
    Text(&'d str),
    /// A backtrace, from the top down; first the heap where there are several.
    Backtrace(Vec<&'d str>),
}

impl<'d> DiffName<'d> {
    /// The name; the names of a backtrace in a line, of a long one without its middle.
    pub fn shortened(&self) -> Cow<'d, str> {
        const MAX_NAMES_SHOWN: usize = 40;
        let names = match self {
            DiffName::Text(name) => return (*name).into(),
            DiffName::Backtrace(names) if names.len() <= MAX_NAMES_SHOWN => return names.join(" > ").into(),
            DiffName::Backtrace(names) => names,
        };
        let (start, end) = (&names[..MAX_NAMES_SHOWN / 2], &names[names.len() - MAX_NAMES_SHOWN / 2..]);
        format!("{} > ... {} left out ... > {}", start.join(" > "), names.len() - MAX_NAMES_SHOWN, end.join(" > "))
            .into()
    }

    /// The names on the way down, of a path or backtrace.
    pub fn step_names(&self) -> Vec<&'d str> {
        match self {
            DiffName::Text(path) => path.split(" > ").collect(),
            DiffName::Backtrace(names) => names.clone(),
        }
    }
}

impl DiffRows {
    pub(super) fn new(source: RowSource, options: &DiffOptions) -> Self {
        let of_objects = matches!(source, RowSource::Objects(_));
        let columns = options.by.columns(of_objects, options.with_retained);
        DiffRows { by: options.by, columns, source, options: options.clone(), ordered_rows: Default::default() }
    }

    /// Returns true if they are of allocation totals.
    pub fn are_of_allocations(&self) -> bool {
        !matches!(self.source, RowSource::Objects(_))
    }

    /// Returns true if they are in the order of percents.
    pub fn are_ordered_by_percent(&self) -> bool {
        self.options.order == Some(GROWTH_PERCENT)
    }

    /// All rows by name, types as a rule, with their bytes on both sides; of those that are asked for.
    pub(super) fn growth_by_name(&self) -> Vec<NamedGrowth<'_>> {
        let is_of_frames = matches!(self.source, RowSource::Frames(_));
        let of_retained = self.options.with_retained || is_of_frames;
        let bytes = |amounts: &DiffAmounts| if of_retained { amounts.retained_bytes } else { amounts.bytes };
        match &self.source {
            RowSource::Objects(_) if self.by == DiffBy::Objects => Vec::new(),
            RowSource::Objects(rows) | RowSource::Frames(rows) => {
                let rows = rows.iter().map(|(name, change)| (name.as_str(), bytes(&change.old), bytes(&change.new)));
                rows.map(|(name, old_bytes, new_bytes)| NamedGrowth { name, old_bytes, new_bytes }).collect()
            }
            RowSource::Allocations(diff) => {
                let types = diff
                    .type_name_numbers_by_growth(true)
                    .into_iter()
                    .map(|name| (diff.type_name(name), diff.change_of_type(name)));
                let growth = |(name, change): (_, Change<DiffAmounts>)| NamedGrowth {
                    name,
                    old_bytes: change.old.bytes,
                    new_bytes: change.new.bytes,
                };
                types.map(growth).filter(|row| self.is_asked_for(row.name)).collect()
            }
        }
    }

    fn is_asked_for(&self, name: &str) -> bool {
        self.options.scope.types.as_ref().is_none_or(|types| types.matches(name))
    }

    /// Number of rows that are shown.
    pub fn len(&self) -> usize {
        self.ordered_rows(self.by).row_numbers.len()
    }

    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows that a limit left out.
    pub fn rows_hidden(&self) -> usize {
        self.ordered_rows(self.by).hidden_count
    }

    /// A row below `len`. O(frames of the backtrace).
    pub fn get(&self, row: usize) -> DiffRow<'_> {
        self.row(self.by, self.ordered_rows(self.by).row_numbers[row])
    }

    fn row(&self, by: DiffBy, number: u32) -> DiffRow<'_> {
        let name = match &self.source {
            RowSource::Objects(rows) | RowSource::Frames(rows) => DiffName::Text(&rows[number as usize].0),
            RowSource::Allocations(diff) if by == DiffBy::Backtraces => DiffName::Backtrace(diff.names_of(number)),
            RowSource::Allocations(diff) => DiffName::Text(diff.type_name(number)),
        };
        DiffRow { name, change: self.change(by, number) }
    }

    fn change(&self, by: DiffBy, number: u32) -> Change<DiffAmounts> {
        match &self.source {
            RowSource::Objects(rows) | RowSource::Frames(rows) => rows[number as usize].1,
            RowSource::Allocations(diff) if by == DiffBy::Backtraces => diff.change_of_path(number),
            RowSource::Allocations(diff) => diff.change_of_type(number),
        }
    }

    fn ordered_rows(&self, by: DiffBy) -> &OrderedRows {
        self.ordered_rows[usize::from(by == DiffBy::Backtraces)].get_or_init(|| self.sorted_rows(by))
    }

    /// Rows come ordered by growth; a stable sort keeps that among equals.
    fn sorted_rows(&self, by: DiffBy) -> OrderedRows {
        let with_all = self.options.with_unchanged || by == DiffBy::Objects;
        let is_shown = |change: &Change<DiffAmounts>| with_all || change.old != change.new;
        let mut rows: Vec<u32> = match &self.source {
            RowSource::Objects(rows) | RowSource::Frames(rows) => {
                (0u32..).zip(rows).filter(|(_, row)| is_shown(&row.1)).map(|row| row.0).collect()
            }
            RowSource::Allocations(diff) => {
                let is_path = by == DiffBy::Backtraces;
                let mut rows =
                    if is_path { diff.paths_by_growth(with_all) } else { diff.type_name_numbers_by_growth(with_all) };
                let last_name = |&row: &u32| if is_path { diff.last_name_of(row) } else { diff.type_name(row) };
                rows.retain(|row| self.is_asked_for(last_name(row)));
                rows
            }
        };
        let mut largest_first = |figure: fn(&Change<DiffAmounts>) -> i128| {
            rows.sort_by_key(|&row| Reverse(figure(&self.change(by, row))));
        };
        match self.options.order {
            Some(OBJECTS_DELTA) => largest_first(|change| change.growth(Measure::Count).unwrap_or(0).into()),
            Some(RETAINED_DELTA | CUM_DELTA) => {
                largest_first(|change| change.growth(Measure::RetainedBytes).unwrap_or(0).into())
            }
            Some(TOTAL_OLD | GONE_BYTES) => largest_first(|change| change.old.bytes.into()),
            Some(TOTAL_NEW | NEW_BYTES) => largest_first(|change| change.new.bytes.into()),
            Some(NEW_OBJECTS) => largest_first(|change| change.new.count.unwrap_or(0).into()),
            Some(GROWTH_PERCENT) => {
                let sides = |&row: &u32| (self.change(by, row).old.bytes, self.change(by, row).new.bytes);
                rows.sort_by(|a, b| compare_growth_percent(sides(b), sides(a)));
            }
            Some(name) if name.unit == ColumnUnit::Text => {
                rows.sort_by_cached_key(|&row| match self.row(by, row).name {
                    DiffName::Text(name) => Cow::Borrowed(name),
                    DiffName::Backtrace(names) => names.join("\0").into(),
                })
            }
            _ => {}
        }
        let hidden = self.options.limits.reverse_and_cut(&mut rows);
        OrderedRows { row_numbers: rows, hidden_count: hidden }
    }
}

impl Serialize for DiffRows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let lists = match self.source {
            RowSource::Allocations(_) => vec![DiffBy::default(), DiffBy::Backtraces],
            RowSource::Objects(_) | RowSource::Frames(_) => vec![self.by],
        };
        let rows = |by: DiffBy| {
            let keyed = move |&row: &u32| SerializableDiffRow { row: self.row(by, row), by, list: self };
            SerializeEach(move || self.ordered_rows(by).row_numbers.iter().map(keyed))
        };
        serializer.collect_map(lists.into_iter().map(|by| (by.rows_key(), rows(by))))
    }
}

/// A row with what says under which keys its fields are written.
struct SerializableDiffRow<'r> {
    row: DiffRow<'r>,
    by: DiffBy,
    list: &'r DiffRows,
}

impl Serialize for SerializableDiffRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let DiffRow { name, change } = &self.row;
        let key = self.by.name_figure().key;
        let name_comes_first = self.list.are_of_allocations() || self.by == DiffBy::Objects;
        let mut map = serializer.serialize_map(None)?;
        if name_comes_first {
            map.serialize_entry(key, name)?;
        }
        for &DiffColumn { figure, measure, value } in &self.list.columns {
            match value {
                DiffValue::Old => map.serialize_entry(figure.key, &change.old.get(measure))?,
                DiffValue::New => map.serialize_entry(figure.key, &change.new.get(measure))?,
                DiffValue::Growth => map.serialize_entry(figure.key, &change.growth(measure))?,
            }
        }
        if !name_comes_first {
            map.serialize_entry(key, name)?;
        }
        map.end()
    }
}

/// Numbers of objects that came, went and stayed. An object counts where it has bytes of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ObjectChangeTotals {
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

impl ObjectChangeTotals {
    /// The totals in a sentence.
    pub fn sentence(&self) -> String {
        let ObjectChangeTotals { new, gone, kept, new_bytes, gone_bytes, new_retained_bytes } = *self;
        format!(
            "{} came ({}, retaining {}), {} went ({}), {} stayed",
            count_with_noun(new, "objects"),
            format_bytes(new_bytes),
            format_bytes(new_retained_bytes),
            format_count(gone),
            format_bytes(gone_bytes),
            format_count(kept)
        )
    }
}

/// The totals, and by type what came and went: a new object under its type in the new dump, one that is gone under that
/// in the old, most growth first. O(objects + references) of the new dump, O(objects) of the old one. Error: as
/// [`object_changes`] and [`retained_bytes_of_set`], and when there is no such section.
pub(super) fn diff_by_object(
    old: &OpenDump,
    new: &OpenDump,
    options: &DiffOptions,
) -> Result<(ObjectChangeTotals, JoinedRows), AnswerError> {
    let changes = object_changes(old, new)?;
    let Some(new_graph) = new.graph() else { return Err(AnswerError::NeedsObjects) };
    let (old_scope, new_scope) = (options.scope.resolve(old)?, options.scope.resolve(new)?);
    let mut rows: BTreeMap<&str, Change<DiffAmounts>> = BTreeMap::new();
    let mut totals = ObjectChangeTotals { kept: changes.in_both_count, ..ObjectChangeTotals::default() };
    for (type_name, objects, bytes) in tally_by_type(&new_scope, &changes.new_objects) {
        add_amounts(&mut rows.entry(type_name).or_default().new, objects, bytes);
        (totals.new, totals.new_bytes) = (totals.new + objects, totals.new_bytes.saturating_add(bytes));
    }
    for (type_name, objects, bytes) in tally_by_type(&old_scope, &changes.gone_objects) {
        add_amounts(&mut rows.entry(type_name).or_default().old, objects, bytes);
        (totals.gone, totals.gone_bytes) = (totals.gone + objects, totals.gone_bytes.saturating_add(bytes));
    }
    let mut wanted = NodeSet::new(new_graph.node_count());
    new_scope.nodes().filter(|&node| changes.new_objects.contains(node)).for_each(|node| {
        wanted.insert(node);
    });
    totals.new_retained_bytes = retained_bytes_of_set(new, new_graph, &wanted)?;
    let mut rows: JoinedRows = rows.into_iter().map(|(name, change)| (name.to_string(), change)).collect();
    sort::rows_by_key(&mut rows, |(_, change)| Reverse((change.growth(Measure::Bytes), change.new.bytes)));
    Ok((totals, rows))
}

/// Types of one name may be several.
fn add_amounts(to: &mut DiffAmounts, objects: u64, bytes: u64) {
    to.count = add_counts(to.count, Some(objects));
    to.bytes = to.bytes.saturating_add(bytes);
}

/// Objects of a set by type: name, how many, their bytes; types without any left out. O(objects).
fn tally_by_type<'d>(scope: &Scope<'d>, set: &NodeSet) -> Vec<(&'d str, u64, u64)> {
    let graph = scope.graph();
    let mut tallies = vec![(0u64, 0u64); graph.type_count()];
    for node in scope.nodes().filter(|&node| set.contains(node)) {
        let tally = &mut tallies[graph.type_of(node).index()];
        *tally = (tally.0 + 1, tally.1.saturating_add(graph.shallow_bytes(node)));
    }
    let of_types = graph.types().ids().zip(tallies).filter(|(_, (objects, _))| *objects > 0);
    of_types.map(|(type_id, (objects, bytes))| (graph.type_name(type_id), objects, bytes)).collect()
}

#[cfg(test)]
mod tests {
    use super::{compare_growth_percent, growth_percent_words};

    #[test]
    fn rows_by_percent() {
        let mut sides = vec![(100, 150), (10, 40), (0, 0), (5, 0), (0, 1), (u64::MAX, u64::MAX), (3, 3)];
        sides.sort_by(|a, b| compare_growth_percent(*b, *a));
        let words: Vec<String> = sides.into_iter().map(|(old, new)| growth_percent_words(old, new)).collect();
        assert_eq!(words[..3], ["new", "+300.0 %", "+50.0 %"], "{words:?}");
        assert_eq!(words.last().map(String::as_str), Some("-100.0 %"), "{words:?}");
    }
}
