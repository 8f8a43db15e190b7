//! Comparing dumps: kinds of rows with their figures and orders, the amounts of one dump by name, and conditions for two
//! to be compared.

use std::collections::BTreeMap;

use crate::allocations::{AllocationDump, ClassHistograms, FrameNaming, add_counts};
use crate::analysis::allocation_totals::AllocationAmount;
use crate::analysis::diff::{
    DiffAmounts, MAX_TYPE_PATH_LEVELS, Measure, amounts_by_root_kind, totals_by_path, totals_by_path_memory_bytes,
};
use crate::analysis::diff::{ObjectChanges, compare_objects};
use crate::analysis::frame_totals::FlatAndCum;
use crate::analysis::heap_total::AllocationHeapTotal;
use crate::analysis::histogram::GroupTally;
use crate::analysis::retained_sets::{NO_SET, max_exact_marking_steps, retained_exact_by_set};
use crate::analysis::type_tree::TypeTree;
use crate::answers::shared::allocation_heaps::{AllocationHeapChoice, heap_title};
use crate::answers::shared::field_groups::groups_by_field;
use crate::answers::shared::figure::{
    CHARGED_BYTES, CHARGED_OBJECTS, ColumnUnit, Figure, KIND, OBJECTS, PATH, SHALLOW, TYPE,
};
use crate::answers::shared::frame_amounts::FrameAmounts;
use crate::answers::shared::groups::{Groups, SameNameTypes};
use crate::answers::shared::owners::{TypeOwnership, rows_of_owners};
use crate::answers::shared::{AnswerError, GroupBy, Scope, ScopeOptions};
use crate::dump::{AnswerNeed, Content, OpenDump, Phase};
use crate::filter::FieldSelection;
use crate::graph::{HeapGraph, NodeId, NodeSet};

/// Kinds of rows of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiffBy {
    /// Types, or other groups of objects. Of allocation totals types, and names of frames.
    Groups(GroupBy),
    /// Paths of types in the dominator tree: what grew under what. Of objects.
    Paths,
    /// Kinds of roots, with what only roots of that kind hold. Of objects.
    RootKinds,
    /// Backtraces. Of allocation totals.
    Backtraces,
    /// Objects that came and went, by type. Of two dumps of one process, in formats whose ids stay with their objects.
    Objects,
}

impl DiffBy {
    /// Groups of one model or the other, by the words for them. Paths and kinds of roots have none.
    pub const WORDS: &[(&str, DiffBy)] = &[
        ("type", DiffBy::Groups(GroupBy::Type)),
        ("package", DiffBy::Groups(GroupBy::Package)),
        ("domain", DiffBy::Groups(GroupBy::Section)),
        ("module", DiffBy::Groups(GroupBy::Module)),
        ("loader", DiffBy::Groups(GroupBy::Loader)),
        ("superclass", DiffBy::Groups(GroupBy::Superclass)),
        ("owner", DiffBy::Groups(GroupBy::Owner)),
        ("function", DiffBy::Groups(GroupBy::Function)),
        ("line", DiffBy::Groups(GroupBy::Line)),
        ("file", DiffBy::Groups(GroupBy::File)),
        ("backtrace", DiffBy::Backtraces),
        ("object", DiffBy::Objects),
    ];

    /// What frames of stacks have to be named by, where rows of allocations are the names of frames.
    pub fn frame_names(self) -> Option<FrameNaming> {
        if let DiffBy::Groups(by) = self { by.frame_names() } else { None }
    }

    /// The word for one row, and several in a sentence.
    pub(in crate::answers) fn row_word_and_plural(self) -> (&'static str, &'static str) {
        match self {
            DiffBy::Groups(by) => (by.name(), by.title_and_plural().1),
            DiffBy::Paths => ("path", "paths"),
            DiffBy::RootKinds => ("root-kind", "kinds of roots"),
            DiffBy::Backtraces => ("backtrace", "backtraces"),
            DiffBy::Objects => ("object", "types"),
        }
    }
}

impl Default for DiffBy {
    fn default() -> Self {
        DiffBy::Groups(GroupBy::Type)
    }
}

/// The word for groups in a command line: a field by its path.
pub(in crate::answers) fn group_word(by: GroupBy, field: Option<&FieldSelection>) -> &str {
    field.and_then(|field| field.paths().next()).unwrap_or(by.name())
}

/// One of the dumps that are compared: its amounts by name.
pub(in crate::answers) struct DumpSide {
    pub(in crate::answers) totals: GroupTally,
    pub(in crate::answers) amounts_by_name: BTreeMap<String, DiffAmounts>,
    /// Memory that the rows of this dump and of the one before it take, where names are long.
    pub(in crate::answers) row_memory_bytes: u64,
    pub(in crate::answers) roots_inferred: bool,
}

impl DumpSide {
    /// `row_bytes`: what the rows of the other dump take. Error: if the dump does not have what is asked for, or it
    /// takes more memory than it may.
    pub(in crate::answers) fn find(
        dump: &OpenDump,
        objects: &ScopeOptions,
        (by, field): (DiffBy, Option<&FieldSelection>),
        retained: bool,
        row_bytes: u64,
    ) -> Result<Self, AnswerError> {
        if let Content::Histograms(histograms) = dump.content() {
            return DumpSide::of_histogram(histograms, histograms.chosen_index, objects, by, retained);
        }
        let scope = objects.resolve(dump)?;
        let graph = scope.graph();
        let group_by = if let DiffBy::Groups(by) = by { by } else { GroupBy::Type };
        let by_field = match field.filter(|_| group_by == GroupBy::Field) {
            Some(field) => Some(groups_by_field(dump, graph, field, scope.types())?),
            None => None,
        };
        let groups = Groups::new(&scope, group_by, SameNameTypes::Merged, by_field)?;
        let tallies = groups.tally(dump.reachable());
        let mut totals = GroupTally::default();
        tallies.iter().for_each(|tally| totals.add(tally));
        let mut side = DumpSide {
            totals,
            amounts_by_name: BTreeMap::new(),
            row_memory_bytes: row_bytes,
            roots_inferred: graph.roots_inferred(),
        };
        match by {
            DiffBy::RootKinds => side.amounts_by_name = amounts_by_root_kind(graph),
            DiffBy::Paths => side.add_paths(dump, &scope, objects)?,
            DiffBy::Objects => {}
            DiffBy::Groups(by) if by.is_by_owner() => {
                if retained {
                    return Err(AnswerError::NoSuchGroups(by, "what owners retain: what they own is counted"));
                }
                for row in rows_of_owners(dump, graph, &scope, by, &TypeOwnership::default())? {
                    let sum = |figures: [Figure; 2]| {
                        figures.into_iter().filter_map(|figure| row.figure(figure)).fold(0, u64::saturating_add)
                    };
                    side.add_amounts(row.name.as_str(), sum([OBJECTS, CHARGED_OBJECTS]), sum([SHALLOW, CHARGED_BYTES]));
                }
            }
            DiffBy::Groups(_) | DiffBy::Backtraces => {
                let rows = groups.names.iter().zip(&tallies).filter(|(_, tally)| tally.objects > 0);
                rows.for_each(|(name, tally)| side.add_amounts(name, tally.objects, tally.shallow_bytes));
                if retained {
                    side.add_retained_bytes(dump, &groups)?;
                }
            }
        }
        Ok(side)
    }

    /// One of the histograms of a dump of types alone. Error: if more than types is asked for.
    pub(in crate::answers) fn of_histogram(
        histograms: &ClassHistograms,
        place: usize,
        objects: &ScopeOptions,
        by: DiffBy,
        retained: bool,
    ) -> Result<Self, AnswerError> {
        objects.check_on_allocations()?;
        let group_by = match by {
            DiffBy::Groups(by @ (GroupBy::Type | GroupBy::Package | GroupBy::PackageLevels(_))) if !retained => by,
            _ => return Err(AnswerError::NeedsObjects),
        };
        let mut side = DumpSide {
            totals: GroupTally::default(),
            amounts_by_name: BTreeMap::new(),
            row_memory_bytes: 0,
            roots_inferred: false,
        };
        let types = histograms.type_rows(place).filter(|(name, objects_of, _)| {
            *objects_of > 0 && objects.types.as_ref().is_none_or(|pattern| pattern.matches(name))
        });
        for (name, objects, bytes) in types {
            let name = group_by.group_of_type_name(name).to_string();
            let row =
                side.amounts_by_name.entry(name).or_insert(DiffAmounts { count: Some(0), bytes: 0, retained_bytes: 0 });
            row.count = row.count.map(|count| count.saturating_add(objects));
            row.bytes = row.bytes.saturating_add(bytes);
            side.totals.objects = side.totals.objects.saturating_add(objects);
            side.totals.shallow_bytes = side.totals.shallow_bytes.saturating_add(bytes);
        }
        Ok(side)
    }

    /// Types of allocation totals with their bytes, or names of frames with flat and, as retained bytes, cum. Error: if anything
    /// else is asked for, or there is no memory.
    pub(in crate::answers) fn of_allocations(
        dump: &OpenDump,
        allocations: &AllocationDump,
        objects: &ScopeOptions,
        heaps: &AllocationHeapChoice,
        by: DiffBy,
    ) -> Result<Self, AnswerError> {
        objects.check_on_allocations()?;
        let chosen = heaps.choose(allocations)?.heaps;
        let mut total = AllocationAmount::default();
        let mut rows: BTreeMap<String, DiffAmounts> = BTreeMap::new();
        let is_wanted = |name: &str| objects.types.as_ref().is_none_or(|types| types.matches(name));
        if let Some(frame_names) = by.frame_names() {
            let amounts = FrameAmounts::compute(dump, allocations, &chosen, frame_names, std::iter::empty())?;
            total = amounts.total;
            for (name, FlatAndCum { flat, cum }) in amounts.by_name.into_iter().filter(|(name, _)| is_wanted(name)) {
                let row = DiffAmounts { count: flat.allocations, bytes: flat.bytes, retained_bytes: cum.bytes };
                rows.insert(name.to_string(), row);
            }
        } else if by == DiffBy::default() {
            for heap in chosen {
                let top = AllocationHeapTotal::compute(heap);
                if top.left_out_pair_count > 0 {
                    return Err(AnswerError::TooManyBacktraceTypePairs(heap_title(heap)));
                }
                total.add(top.total.bytes, top.total.allocations);
                let named = top.type_amounts.iter().map(|of| (allocations.names.text(of.type_name), of.total));
                for (name, amount) in named.filter(|(name, _)| is_wanted(name)) {
                    let row = rows.entry(name.to_string()).or_default();
                    row.count = add_counts(row.count, amount.allocations);
                    row.bytes = row.bytes.saturating_add(amount.bytes);
                }
            }
        } else {
            return Err(AnswerError::NeedsObjects);
        }
        if objects.types.is_some() {
            total = AllocationAmount::default();
            rows.values().for_each(|row| total.add(row.bytes, row.count));
        }
        let (objects, shallow_bytes) = (total.allocations.unwrap_or(0), total.bytes);
        let totals = GroupTally { objects, shallow_bytes, ..GroupTally::default() };
        Ok(DumpSide { totals, amounts_by_name: rows, row_memory_bytes: 0, roots_inferred: false })
    }

    /// Adds objects to a row: values of a field that are written alike are one.
    fn add_amounts(&mut self, name: &str, objects: u64, bytes: u64) {
        let row = self.amounts_by_name.entry(name.to_string()).or_default();
        row.count = Some(row.count.unwrap_or(0).saturating_add(objects));
        row.bytes = row.bytes.saturating_add(bytes);
    }

    fn add_retained_bytes(&mut self, dump: &OpenDump, groups: &Groups<'_>) -> Result<(), AnswerError> {
        for (name, topmost) in groups.names.iter().zip(groups.topmost_totals(dump)?) {
            if let Some(row) = self.amounts_by_name.get_mut(name) {
                row.retained_bytes = row.retained_bytes.saturating_add(topmost.retained_bytes);
            }
        }
        Ok(())
    }

    fn add_paths(&mut self, dump: &OpenDump, scope: &Scope<'_>, objects: &ScopeOptions) -> Result<(), AnswerError> {
        let graph = scope.graph();
        let (dominators, _) = dump.dominators()?;
        dump.check_answer_memory(AnswerNeed::DominatorDescent, 0)?;
        let children = dominators.children();
        let tops = scope.top_level(dominators).into_iter();
        let tree = TypeTree::build(
            graph,
            dominators,
            &children,
            tops,
            MAX_TYPE_PATH_LEVELS,
            scope.chosen_objects(dominators).as_ref(),
        );
        self.row_memory_bytes += totals_by_path_memory_bytes(graph, &tree);
        dump.check_answer_memory(AnswerNeed::DominatorDescent, self.row_memory_bytes)?;
        self.amounts_by_name = totals_by_path(graph, &tree).map_err(|_| AnswerError::PathsTooLong)?;
        if let Some(pattern) = &objects.types {
            self.amounts_by_name.retain(|path, _| pattern.matches(path));
        }
        Ok(())
    }
}

/// A column of a diff, and what it is of.
#[derive(Debug, Clone, Copy)]
pub struct DiffColumn {
    /// Key and title.
    pub figure: Figure,
    /// The measure that it compares.
    pub measure: Measure,
    /// Which value of it the column has.
    pub value: DiffValue,
}

/// A value of a row: on either side, or what lies between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffValue {
    /// The old dump.
    Old,
    /// The new one.
    New,
    /// From one to the other.
    Growth,
}

/// Columns of an old value, a new one and the growth from one to the other.
const fn change_columns(
    old: (&'static str, &'static str),
    new: (&'static str, &'static str),
    growth: Figure,
) -> [Figure; 3] {
    [Figure::new(old.0, old.1, growth.unit, old.0), Figure::new(new.0, new.1, growth.unit, new.0), growth]
}

const RETAINED_COLUMNS: [Figure; 3] =
    change_columns(("retained_bytes_old", "Retained\nold"), ("retained_bytes_new", "Retained\nnew"), RETAINED_DELTA);
const SHALLOW_COLUMNS: [Figure; 3] =
    change_columns(("shallow_bytes_old", "Shallow\nold"), ("shallow_bytes_new", "Shallow\nnew"), SHALLOW_DELTA);
const OBJECTS_COLUMNS: [Figure; 3] =
    change_columns(("objects_old", "Objects\nold"), ("objects_new", "Objects\nnew"), OBJECTS_DELTA);
const ROOTS_COLUMNS: [Figure; 3] =
    change_columns(("roots_old", "Roots\nold"), ("roots_new", "Roots\nnew"), Figure::count("roots_delta", "Roots\n+-"));
const HELD_COLUMNS: [Figure; 3] = change_columns(
    ("held_bytes_old", "Held alone\nold"),
    ("held_bytes_new", "Held alone\nnew"),
    Figure::bytes("held_bytes_delta", "Held alone\n+-", "held_bytes_delta"),
);
/// Growth in shallow bytes; of paths in what they retain, of kinds of roots in what these alone hold.
pub const SHALLOW_DELTA: Figure = Figure::bytes("shallow_bytes_delta", "Shallow\n+-", "shallow");
/// Growth in objects; of kinds of roots in roots.
pub const OBJECTS_DELTA: Figure = Figure::new("objects_delta", "Objects\n+-", ColumnUnit::Count, "objects");
/// Growth in retained bytes.
pub const RETAINED_DELTA: Figure = Figure::bytes("retained_bytes_delta", "Retained\n+-", "retained");
/// Growth in bytes as a share of the old ones.
pub const GROWTH_PERCENT: Figure = Figure::new("percent", "+%", ColumnUnit::Share, "percent");
/// Bytes of a row in the old dump, of allocations or of objects.
pub const TOTAL_OLD: Figure = Figure::bytes("total_bytes_old", "Old", "old");
/// Bytes of a row in the new dump, of allocations or of objects.
pub const TOTAL_NEW: Figure = Figure::bytes("total_bytes_new", "New", "new");
/// Growth in bytes of a row of allocations.
pub const TOTAL_DELTA: Figure = Figure::bytes("total_bytes_delta", "Growth", "delta");
/// Growth in allocations.
pub const ALLOCATIONS_DELTA: Figure = Figure::count("allocations_delta", "Allocations");
/// Growth in what functions allocated themselves.
pub const FLAT_DELTA: Figure = Figure::bytes("flat_bytes_delta", "Flat\n+-", "flat");
/// Growth in what functions allocated with all that they called.
pub const CUM_DELTA: Figure = Figure::bytes("cum_bytes_delta", "Cum\n+-", "cum");
const FLAT_COLUMNS: [Figure; 3] =
    change_columns(("flat_bytes_old", "Flat\nold"), ("flat_bytes_new", "Flat\nnew"), FLAT_DELTA);
const CUM_COLUMNS: [Figure; 3] =
    change_columns(("cum_bytes_old", "Cum\nold"), ("cum_bytes_new", "Cum\nnew"), CUM_DELTA);
const TOTAL_COLUMNS: [Figure; 3] = [TOTAL_OLD, TOTAL_NEW, TOTAL_DELTA];
const ALLOCATIONS_COLUMNS: [Figure; 3] =
    change_columns(("allocations_old", "Old"), ("allocations_new", "New"), ALLOCATIONS_DELTA);
/// Objects in the new dump: those that came, or all of a row.
pub const NEW_OBJECTS: Figure = Figure::count("new", "New");
/// Their bytes.
pub const NEW_BYTES: Figure = Figure::bytes("new_bytes", "New\nbytes", "new_bytes");
/// Objects in the old dump alone.
pub const GONE_OBJECTS: Figure = Figure::count("gone", "Gone");
/// Bytes of objects in the old dump alone.
pub const GONE_BYTES: Figure = Figure::bytes("gone_bytes", "Gone\nbytes", "gone_bytes");
/// New bytes without those that are gone.
pub const NET_GROWTH_BYTES: Figure = Figure::bytes("growth", "Growth", "growth");

impl DiffBy {
    /// The column with the names of rows.
    pub fn name_figure(self) -> Figure {
        match self {
            DiffBy::RootKinds => Figure { unit: ColumnUnit::Text, ..KIND },
            DiffBy::Paths | DiffBy::Backtraces => PATH,
            DiffBy::Groups(by) => by.figure(),
            DiffBy::Objects => TYPE,
        }
    }

    /// The key of the rows in JSON.
    pub(in crate::answers) fn rows_key(self) -> &'static str {
        match self {
            DiffBy::RootKinds => "kinds",
            DiffBy::Paths | DiffBy::Backtraces => "paths",
            DiffBy::Groups(GroupBy::Type) | DiffBy::Objects => "types",
            DiffBy::Groups(_) => "groups",
        }
    }

    /// The columns of rows but their name.
    pub(in crate::answers) fn columns(self, of_objects: bool, retained: bool) -> Vec<DiffColumn> {
        use DiffValue::{Growth, New, Old};
        use Measure::{Bytes, Count};
        let sides = |measure: Measure, figures: [Figure; 3]| {
            [Old, New, Growth].into_iter().zip(figures).map(move |(value, figure)| DiffColumn {
                figure,
                measure,
                value,
            })
        };
        let (count, bytes) = match self {
            DiffBy::Objects => {
                let columns = [
                    (NEW_OBJECTS, Count, New),
                    (NEW_BYTES, Bytes, New),
                    (GONE_OBJECTS, Count, Old),
                    (GONE_BYTES, Bytes, Old),
                ];
                return columns.map(|(figure, measure, value)| DiffColumn { figure, measure, value }).to_vec();
            }
            _ if !of_objects && self.frame_names().is_some() => {
                return sides(Bytes, FLAT_COLUMNS).chain(sides(Measure::RetainedBytes, CUM_COLUMNS)).collect();
            }
            _ if !of_objects => return sides(Bytes, TOTAL_COLUMNS).chain(sides(Count, ALLOCATIONS_COLUMNS)).collect(),
            DiffBy::RootKinds => (ROOTS_COLUMNS, HELD_COLUMNS),
            DiffBy::Paths | DiffBy::Backtraces => (OBJECTS_COLUMNS, RETAINED_COLUMNS),
            DiffBy::Groups(_) => (OBJECTS_COLUMNS, SHALLOW_COLUMNS),
        };
        let retained = retained.then(|| sides(Measure::RetainedBytes, RETAINED_COLUMNS)).into_iter().flatten();
        sides(Count, count).chain(sides(Bytes, bytes)).chain(retained).collect()
    }

    /// Figures that the rows of a diff can be ordered by.
    pub fn orders(self, of_objects: bool, retained: bool) -> Vec<Figure> {
        let mut orders = match (self, of_objects) {
            (DiffBy::Objects, _) => vec![NET_GROWTH_BYTES, NEW_OBJECTS, NEW_BYTES, GONE_BYTES, TYPE],
            (DiffBy::Groups(by), true) => vec![SHALLOW_DELTA, OBJECTS_DELTA, GROWTH_PERCENT, by.figure()],
            (_, true) => vec![SHALLOW_DELTA, OBJECTS_DELTA, GROWTH_PERCENT, TYPE],
            (by, false) if by.frame_names().is_some() => vec![FLAT_DELTA, CUM_DELTA, GROWTH_PERCENT, by.name_figure()],
            (by, false) => {
                vec![TOTAL_DELTA, GROWTH_PERCENT, TOTAL_NEW, TOTAL_OLD, by.name_figure().with_sort_word("name")]
            }
        };
        orders.extend(retained.then_some(RETAINED_DELTA));
        orders
    }
}

/// Error: if the dumps are of different runtimes, whose types do not compare.
pub(in crate::answers) fn check_runtimes(old: &OpenDump, new: &OpenDump) -> Result<(), AnswerError> {
    let [old, new] = [old, new].map(OpenDump::info);
    match old.runtime() == new.runtime() {
        true => Ok(()),
        false => Err(AnswerError::MixedRuntimes(old.format.to_string(), new.format.to_string())),
    }
}

/// Compares the objects of two dumps of one process. Error: if ids of the format do not stay with their objects, or the
/// dumps are not of one process.
pub(in crate::answers) fn object_changes(old: &OpenDump, new: &OpenDump) -> Result<ObjectChanges, AnswerError> {
    let of = |dump: &'_ OpenDump| dump.graph().is_some_and(HeapGraph::has_lasting_ids);
    if !of(old) || !of(new) {
        return Err(AnswerError::UnstableIds);
    }
    let (Some(old), Some(new)) = (old.graph(), new.graph()) else { return Err(AnswerError::NeedsObjects) };
    let changes = compare_objects(old, new);
    match changes.are_of_one_process() {
        true => Ok(changes),
        false => Err(AnswerError::DifferentProcesses { alike: changes.unchanged_count, of: changes.in_both_count }),
    }
}

/// Bytes that would be freed if all objects of a set went, and those of its objects that no strong root reaches: at
/// least the bytes of all its objects. Error: if it takes too much work or memory.
pub(in crate::answers) fn retained_bytes_of_set(
    dump: &OpenDump,
    graph: &HeapGraph,
    set: &NodeSet,
) -> Result<u64, AnswerError> {
    dump.check_exact_retained_memory()?;
    dump.announce_phase(Phase::ComputingExactRetained);
    let set_of = |node: NodeId| if set.contains(node) { 0 } else { NO_SET };
    let bytes = retained_exact_by_set(graph, &[0], set_of, max_exact_marking_steps(graph), |_| {});
    let bytes = bytes.map_err(|_| AnswerError::SetTooLarge(set.len() as u64))?;
    let reachable = dump.reachable();
    let unreached =
        graph.objects(0..graph.node_count()).filter(|(node, ..)| set.contains(*node) && !reachable.contains(*node));
    Ok(unreached.fold(bytes.first().copied().unwrap_or(0), |sum, (_, _, bytes)| sum.saturating_add(bytes)))
}
