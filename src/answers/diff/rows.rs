//! The rows and totals of a diff.

use std::borrow::Cow;
use std::cell::OnceCell;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::limits::TypeSizes;
use super::objects::ChangedObjects;
use super::options::DiffOptions;
use crate::allocations::NameId;
use crate::analysis::allocation_diff::AllocationDiff;
use crate::analysis::allocation_totals::Amount;
use crate::analysis::diff::{Amounts, Change, delta};
use crate::answers::DiffBy;
use crate::answers::diff_figures::{OBJECTS_DELTA, PERCENT, RETAINED, RETAINED_DELTA, TOTAL_NEW, TOTAL_OLD};
use crate::answers::figure::{Figure, Unit};
use crate::answers::heaps::FullerDump;
use crate::answers::histogram_row::Keyed;
use crate::answers::over_limit::OverLimit;
use crate::answers::paths::SerializeEach;
use crate::answers::problems::ProblemRow;
use crate::answers::rows::is_false;
use crate::sort;
use crate::units::{count_of, format_count};

/// Growth between two dumps.
#[derive(Serialize)]
#[non_exhaustive]
pub struct Diff {
    /// Everything in the old dump.
    pub old: DiffTotals,
    /// Everything in the new one.
    pub new: DiffTotals,
    /// By how many shallow bytes the heap grew; only of objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shallow_bytes_delta: Option<i64>,
    /// Roots of one dump or both are inferred: it has none.
    #[serde(skip_serializing_if = "is_false")]
    pub roots_inferred: bool,
    /// The rows that are shown, in their order.
    #[serde(flatten)]
    pub rows: DiffRows,
    /// Problems of the dumps.
    #[serde(skip_serializing_if = "DiffProblems::is_empty")]
    pub problems: DiffProblems,
    /// Limits that were passed, and those that no type matches.
    #[serde(skip)]
    pub over_limits: Vec<OverLimit>,
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
        match &self.rows {
            DiffRows::Objects(ObjectDiffRows { by: DiffBy::Groups(by), .. }) => by.titles().0.to_lowercase(),
            DiffRows::Objects(ObjectDiffRows { by: DiffBy::RootKinds, .. }) => "kind of roots".into(),
            DiffRows::Objects(_) => "path".into(),
            _ => "type".into(),
        }
    }

    /// Old and new totals in a line: sizes by `bytes`, the growth as `emphasis` has it.
    pub fn headline(&self, bytes: impl Fn(u64) -> String, emphasis: impl Fn(&str) -> String) -> String {
        let (old, new) = (self.old.bytes(), self.new.bytes());
        let sign = if new < old { "-" } else { "+" };
        let grown = format!("{sign}{}", bytes(new.abs_diff(old)));
        let sides = format!("{} -> {}", bytes(old), bytes(new));
        match (self.old, self.new) {
            (DiffTotals::Objects { objects: before, .. }, DiffTotals::Objects { objects: after, .. }) => {
                let share = match old {
                    0 => String::new(),
                    whole => format!(" ({:+.1} %)", (i128::from(new) - i128::from(old)) as f64 * 100.0 / whole as f64),
                };
                let (before, after) = (format_count(before), count_of(after, "objects"));
                format!("{sides}: {}{share}, {before} -> {after}", emphasis(&grown))
            }
            _ => format!("{sides}, {grown}"),
        }
    }
}

/// Everything in one dump, or all that a pattern matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum DiffTotals {
    /// Of an object graph.
    Objects {
        /// Objects.
        objects: u64,
        /// Their shallow bytes.
        shallow_bytes: u64,
    },
    /// Of allocation heaps.
    Allocations {
        /// Bytes.
        total_bytes: u64,
        /// Allocations, where they are counted.
        allocations: Option<u64>,
    },
}

impl DiffTotals {
    /// Returns true if there is nothing.
    pub fn is_empty(&self) -> bool {
        match *self {
            DiffTotals::Objects { objects, .. } => objects == 0,
            DiffTotals::Allocations { total_bytes, .. } => total_bytes == 0,
        }
    }

    /// Shallow bytes of objects, or bytes of allocations.
    pub fn bytes(&self) -> u64 {
        let (DiffTotals::Objects { shallow_bytes: bytes, .. } | DiffTotals::Allocations { total_bytes: bytes, .. }) =
            *self;
        bytes
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
        const SHOWN: usize = 6;
        let lone = [("old", &self.old), ("new", &self.new)].into_iter().filter(|(_, heaps)| !heaps.is_empty());
        lone.map(|(side, heaps)| {
            let shown = &heaps[..heaps.len().min(SHOWN)];
            let more = heaps.len() - shown.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("only the {side} dump has heaps of {}{more}", shown.join(", "))
        })
    }
}

/// The rows of a diff, of either model.
#[derive(Serialize)]
#[serde(untagged)]
pub enum DiffRows {
    /// Of objects.
    Objects(ObjectDiffRows),
    /// Of objects that came and went.
    ByObject(ChangedObjects),
    /// Of allocation totals.
    Allocations(Box<AllocationDiffRows>),
}

impl DiffRows {
    /// Number of rows that are shown.
    pub fn len(&self) -> usize {
        match self {
            DiffRows::Objects(rows) => rows.rows.len(),
            DiffRows::ByObject(rows) => rows.types.len(),
            DiffRows::Allocations(rows) => rows.len(),
        }
    }

    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows that a limit left out.
    pub fn hidden(&self) -> usize {
        match self {
            DiffRows::Objects(rows) => rows.hidden,
            DiffRows::ByObject(rows) => rows.hidden,
            DiffRows::Allocations(rows) => rows.hidden(),
        }
    }
}

/// Compares by how many times the old bytes there are of new ones; what was not there is more than any.
fn by_percent(a: (u64, u64), b: (u64, u64)) -> std::cmp::Ordering {
    let times = |(_, new): (u64, u64), (old, _): (u64, u64)| u128::from(new) * u128::from(old);
    let is_new = |(old, new): (u64, u64)| old == 0 && new > 0;
    is_new(a).cmp(&is_new(b)).then_with(|| times(a, b).cmp(&times(b, a)))
}

/// By how much of its old bytes a row grew: `+12.5 %`; `new` for what was not there.
pub(crate) fn percent_words(old: u64, new: u64) -> String {
    match (old, new) {
        (0, 0) => "-".into(),
        (0, _) => "new".into(),
        _ => format!("{:+.1} %", (i128::from(new) - i128::from(old)) as f64 * 100.0 / old as f64),
    }
}

/// Rows of objects.
pub struct ObjectDiffRows {
    /// Kind of the rows.
    pub by: DiffBy,
    /// They have retained bytes beside their shallow bytes.
    pub retained: bool,
    /// They are in the order of percents.
    pub by_percent: bool,
    /// Name and amounts of each that is shown, in order.
    pub rows: Vec<(String, Change<Amounts>)>,
    /// Rows that a limit left out.
    pub hidden: usize,
}

impl ObjectDiffRows {
    /// Of both sides, joined by name, what is asked for.
    pub(super) fn new(mut rows: Vec<(String, Change<Amounts>)>, options: &DiffOptions) -> Self {
        if !options.unchanged {
            rows.retain(|(_, change)| change.old != change.new);
        }
        let mut largest_first = |amount: fn(&Amounts) -> u64| {
            sort::by_key(&mut rows, |(_, Change { old, new })| std::cmp::Reverse(delta(amount(old), amount(new))));
        };
        let sides = |row: &Change<Amounts>| (row.old.bytes, row.new.bytes);
        // Joined rows come ordered by growth: a stable sort keeps that among equals.
        match options.order {
            Some(OBJECTS_DELTA) => largest_first(|amounts| amounts.count),
            Some(RETAINED_DELTA) => largest_first(|amounts| amounts.retained_bytes),
            Some(PERCENT) => sort::by(&mut rows, &|(_, a), (_, b)| by_percent(sides(b), sides(a))),
            Some(name) if name.unit == Unit::Text => sort::by(&mut rows, &|(a, _), (b, _)| a.cmp(b)),
            _ => {}
        }
        let hidden = options.limits.cut(&mut rows);
        let by_percent = options.order == Some(PERCENT);
        ObjectDiffRows { by: options.by, retained: options.retained, by_percent, rows, hidden }
    }
}

impl Serialize for ObjectDiffRows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = SerializeEach(|| self.rows.iter().map(|row| ObjectDiffRow { row, list: self }));
        Keyed { key: self.by.figures().rows, value: rows }.serialize(serializer)
    }
}

/// A row of objects with its keys.
struct ObjectDiffRow<'r> {
    row: &'r (String, Change<Amounts>),
    list: &'r ObjectDiffRows,
}

impl Serialize for ObjectDiffRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (name, Change { old, new }) = self.row;
        let figures = self.list.by.figures();
        let mut map = serializer.serialize_map(None)?;
        let mut put = |figures: [Figure; 3], old: u64, new: u64| {
            map.serialize_entry(figures[0].key, &old)?;
            map.serialize_entry(figures[1].key, &new)?;
            map.serialize_entry(figures[2].key, &delta(old, new))
        };
        put(figures.count, old.count, new.count)?;
        put(figures.bytes, old.bytes, new.bytes)?;
        if self.list.retained {
            put(RETAINED, old.retained_bytes, new.retained_bytes)?;
        }
        map.serialize_entry(figures.name.key, name)?;
        map.end()
    }
}

/// Rows of allocation totals: types, and backtraces. Both are put in order when they are first asked for, and a row is
/// made when it is written.
pub struct AllocationDiffRows {
    /// Kind of the rows of tables; serialised are both.
    pub by: DiffBy,
    diff: AllocationDiff,
    options: DiffOptions,
    types: OnceCell<Ordered>,
    paths: OnceCell<Ordered>,
}

struct Ordered {
    rows: Vec<AllocationKey>,
    hidden: usize,
}

#[derive(Clone, Copy)]
enum AllocationKey {
    Type(NameId),
    Path(u32),
}

/// A row of allocation totals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AllocationDiffRow<'d> {
    /// Name of the row.
    #[serde(flatten)]
    pub name: AllocationDiffName<'d>,
    /// Bytes before.
    pub total_bytes_old: u64,
    /// Bytes after.
    pub total_bytes_new: u64,
    /// By how many it grew.
    pub total_bytes_delta: i64,
    /// Allocations before, where they are counted.
    pub allocations_old: Option<u64>,
    /// Allocations after.
    pub allocations_new: Option<u64>,
    /// By how many they grew.
    pub allocations_delta: Option<i64>,
}

/// Name of a row of allocation totals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AllocationDiffName<'d> {
    /// A type.
    Type(&'d str),
    /// A backtrace, from the top down; first the heap where there are several.
    Path(Vec<&'d str>),
}

impl AllocationDiffName<'_> {
    /// The type; the names of a path in a line, of a long one without its middle.
    pub fn shortened(&self) -> Cow<'_, str> {
        const SHOWN: usize = 40;
        let names = match self {
            AllocationDiffName::Type(name) => return (*name).into(),
            AllocationDiffName::Path(names) if names.len() <= SHOWN => return names.join(" > ").into(),
            AllocationDiffName::Path(names) => names,
        };
        let (start, end) = (&names[..SHOWN / 2], &names[names.len() - SHOWN / 2..]);
        format!("{} > ... {} left out ... > {}", start.join(" > "), names.len() - SHOWN, end.join(" > ")).into()
    }
}

impl AllocationDiffRows {
    pub(super) fn new(diff: AllocationDiff, options: &DiffOptions) -> Self {
        let (types, paths) = Default::default();
        AllocationDiffRows { by: options.by, diff, options: options.clone(), types, paths }
    }

    /// Returns true if they are in the order of percents.
    pub fn is_by_percent(&self) -> bool {
        self.options.order == Some(PERCENT)
    }

    /// All types, with their bytes on both sides; of those that are asked for.
    pub(super) fn sizes_of_types(&self) -> Vec<TypeSizes<'_>> {
        let types = self.diff.types(true).into_iter();
        let sizes = types.map(|name| (self.diff.name(name), self.diff.change_of_type(name)));
        let is_asked_for = |name: &str| self.options.scope.types.as_ref().is_none_or(|types| types.matches(name));
        let sizes = sizes.map(|(name, change)| (name, change.old.bytes, change.new.bytes));
        sizes.filter(|(name, ..)| is_asked_for(name)).collect()
    }

    /// Number of rows that are shown.
    pub fn len(&self) -> usize {
        self.ordered(self.by).rows.len()
    }

    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows that a limit left out.
    pub fn hidden(&self) -> usize {
        self.ordered(self.by).hidden
    }

    /// A row below `len`. O(frames of the backtrace).
    pub fn get(&self, row: usize) -> AllocationDiffRow<'_> {
        self.row(self.ordered(self.by).rows[row])
    }

    fn row(&self, key: AllocationKey) -> AllocationDiffRow<'_> {
        let change = self.change(key);
        let name = match key {
            AllocationKey::Type(name) => AllocationDiffName::Type(self.diff.name(name)),
            AllocationKey::Path(path) => AllocationDiffName::Path(self.diff.names_of(path)),
        };
        AllocationDiffRow {
            name,
            total_bytes_old: change.old.bytes,
            total_bytes_new: change.new.bytes,
            total_bytes_delta: change.bytes_delta(),
            allocations_old: change.old.allocations,
            allocations_new: change.new.allocations,
            allocations_delta: change.allocations_delta(),
        }
    }

    fn change(&self, key: AllocationKey) -> Change<Amount> {
        match key {
            AllocationKey::Type(name) => self.diff.change_of_type(name),
            AllocationKey::Path(path) => self.diff.change_of_path(path),
        }
    }

    fn ordered(&self, by: DiffBy) -> &Ordered {
        match by {
            DiffBy::Backtraces => self.paths.get_or_init(|| {
                self.in_order(self.diff.paths(self.options.unchanged).into_iter().map(AllocationKey::Path).collect())
            }),
            _ => self.types.get_or_init(|| {
                self.in_order(self.diff.types(self.options.unchanged).into_iter().map(AllocationKey::Type).collect())
            }),
        }
    }

    /// Rows come ordered by growth; a stable sort keeps that among equals.
    fn in_order(&self, mut rows: Vec<AllocationKey>) -> Ordered {
        let last_name = |key: &AllocationKey| match *key {
            AllocationKey::Type(name) => self.diff.name(name),
            AllocationKey::Path(path) => self.diff.last_name_of(path),
        };
        if let Some(pattern) = &self.options.scope.types {
            rows.retain(|key| pattern.matches(last_name(key)));
        }
        match self.options.order {
            Some(PERCENT) => {
                let sides = |key: &AllocationKey| (self.change(*key).old.bytes, self.change(*key).new.bytes);
                rows.sort_by(|a, b| by_percent(sides(b), sides(a)));
            }
            Some(TOTAL_OLD) => rows.sort_by_key(|&key| std::cmp::Reverse(self.change(key).old.bytes)),
            Some(TOTAL_NEW) => rows.sort_by_key(|&key| std::cmp::Reverse(self.change(key).new.bytes)),
            Some(name) if name.unit == Unit::Text => rows.sort_by_cached_key(|&key| match key {
                AllocationKey::Type(name) => self.diff.name(name).to_string(),
                AllocationKey::Path(path) => self.diff.names_of(path).join("\0"),
            }),
            _ => {}
        }
        let hidden = self.options.limits.cut(&mut rows);
        Ordered { rows, hidden }
    }
}

impl Serialize for AllocationDiffRows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = |by| SerializeEach(move || self.ordered(by).rows.iter().map(|&key| self.row(key)));
        serializer.collect_map([("types", rows(DiffBy::default())), ("paths", rows(DiffBy::Backtraces))])
    }
}

#[cfg(test)]
mod tests {
    use super::{by_percent, percent_words};

    #[test]
    fn rows_by_percent() {
        let mut sides = vec![(100, 150), (10, 40), (0, 0), (5, 0), (0, 1), (u64::MAX, u64::MAX), (3, 3)];
        sides.sort_by(|a, b| by_percent(*b, *a));
        let words: Vec<String> = sides.into_iter().map(|(old, new)| percent_words(old, new)).collect();
        assert_eq!(words[..3], ["new", "+300.0 %", "+50.0 %"], "{words:?}");
        assert_eq!(words.last().map(String::as_str), Some("-100.0 %"), "{words:?}");
    }
}
