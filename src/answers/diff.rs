//! What grew between two dumps: types (or other groups), paths, kinds of roots, backtraces. Joined by name, never by id,
//! so that the dumps may be of different formats of one runtime.

use std::collections::{BTreeMap, BTreeSet};

pub use super::diff_limits::{GrowthLimit, GrowthLimits, OverLimit};
pub use super::diff_rows::*;
pub use super::diff_words::DiffFlags;
use super::diff_words::check_runtimes;
use super::figure::Figure;
use super::groups::{Groups, TypesApart};
use super::heaps::{ChosenHeaps, HeapChoice, process_title_of, title_of};
use super::object_diff::object_diff;
use super::problems::problems_of;
use super::{AnswerError, CommandLine, GroupBy, Limits, Scope, ScopeOptions};
use crate::allocations::{AllocationDump, AllocationHeap};
use crate::analysis::allocation_diff::AllocationDiff;
use crate::analysis::allocation_totals::{self, TotalsOptions};
use crate::analysis::diff::{PATH_DEPTH, held_by_root_kind, join, places_by_path, places_by_path_bytes};
use crate::analysis::dominators::DomNode;
use crate::analysis::heap_total::HeapTotal;
use crate::analysis::histogram::Tally;
use crate::analysis::type_tree::TypeTree;
use crate::dump::{AnswerNeed, Content, OpenDump};
use crate::graph::HeapGraph;

/// What the rows of a diff are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiffBy {
    /// Types, or other groups of objects. Of allocation totals types alone.
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
        ("backtrace", DiffBy::Backtraces),
        ("object", DiffBy::Objects),
    ];
}

impl Default for DiffBy {
    fn default() -> Self {
        DiffBy::Groups(GroupBy::Type)
    }
}

/// How two dumps are compared.
#[derive(Debug, Clone, Default)]
pub struct DiffOptions {
    /// Which objects, in either dump.
    pub scope: ScopeOptions,
    /// Which heaps, of allocation totals. Its memory dump may be a pair, `1,8`: of the old side and of the new one.
    pub heaps: HeapChoice,
    /// What the rows are of.
    pub by: DiffBy,
    /// Retained bytes of groups too: a lower bound, by the dominator tree.
    pub retained: bool,
    /// Rows that did not change too.
    pub unchanged: bool,
    /// The order of the rows: one of [`orders`](DiffBy::orders), figures largest first, by percent what was not there first of
    /// all; ties by growth in bytes. Default: growth in bytes.
    pub order: Option<Figure>,
    /// How many rows.
    pub limits: Limits,
    /// The most that everything and types may grow by. Those of types act where the rows are types.
    pub growth_limits: GrowthLimits,
}

impl DiffOptions {
    /// The command line that asks the same of two dumps, or of two memory dumps of one.
    pub fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new("diff");
        match self.by {
            DiffBy::Groups(GroupBy::Type) => &mut line,
            DiffBy::Groups(by) => line.option("--by", Some(by.name())),
            DiffBy::Paths => line.word("--paths"),
            DiffBy::RootKinds => line.word("--roots"),
            DiffBy::Backtraces => line.option("--by", Some("backtrace")),
            DiffBy::Objects => line.option("--by", Some("object")),
        };
        line.switch("--retained", self.retained);
        line.switch("--all", self.unchanged);
        line.sort(self.order.filter(|order| *order != TOTAL_DELTA), SHALLOW_DELTA);
        self.growth_limits.add_to(&mut line);
        self.scope.add_to(&mut line);
        self.heaps.add_to(&mut line);
        self.limits.add_to(&mut line);
        line
    }
}

/// Compares two dumps, or two memory dumps of one that is given twice. O(objects) of both; with retained bytes, or by
/// paths, their dominator trees.
///
/// # Errors
/// When one dump holds objects and the other allocation totals, when they do not have what is asked for, or when the
/// answer takes more memory than it may.
pub fn diff(old: &OpenDump, new: &OpenDump, options: &DiffOptions) -> Result<Diff, AnswerError> {
    let [old_problems, new_problems] = [old, new].map(|dump| problems_of(dump.diagnostics()));
    Ok(Diff { problems: DiffProblems { old: old_problems, new: new_problems }, ..compare(old, new, options)? })
}

fn compare(old: &OpenDump, new: &OpenDump, options: &DiffOptions) -> Result<Diff, AnswerError> {
    match (old.content(), new.content()) {
        (Content::Objects(old_graph), Content::Objects(new_graph)) => {
            check_runtimes(old, new)?;
            options.heaps.check_on_objects()?;
            if options.by == DiffBy::Backtraces {
                return Err(AnswerError::NotAllocations);
            }
            let by_object = match options.by {
                DiffBy::Objects => Some(object_diff(old, new, options)?),
                _ => None,
            };
            let old = Side::find(old, old_graph, options, 0)?;
            let new = Side::find(new, new_graph, options, old.row_bytes)?;
            Ok(of_objects(old, new, by_object, options))
        }
        (Content::Allocations(old_dump), Content::Allocations(new_dump)) => {
            options.scope.check_on_allocations()?;
            let is_by_type_or_backtrace = matches!(options.by, DiffBy::Groups(GroupBy::Type) | DiffBy::Backtraces);
            if options.retained || !is_by_type_or_backtrace {
                return Err(AnswerError::NotObjects);
            }
            of_allocations(old, [old_dump, new_dump], options)
        }
        _ => Err(AnswerError::MixedContents),
    }
}

/// What the rows of a dump have, by name.
pub(super) type Rows = BTreeMap<String, Amounts>;

/// A dump of objects, by name.
struct Side {
    totals: Tally,
    rows: Rows,
    /// Memory that the rows of this dump and of the one before it take, where names are long.
    row_bytes: u64,
    roots_inferred: bool,
}

/// What the rows of one dump have, and all of it together. As one side of [`diff`].
///
/// # Errors
/// As [`diff`].
pub(super) fn amounts_of(dump: &OpenDump, options: &DiffOptions) -> Result<(Tally, Rows), AnswerError> {
    let graph = dump.graph().ok_or(AnswerError::NotObjects)?;
    Side::find(dump, graph, options, 0).map(|side| (side.totals, side.rows))
}

impl Side {
    /// `row_bytes`: what the rows of the other dump take.
    fn find(dump: &OpenDump, graph: &HeapGraph, options: &DiffOptions, row_bytes: u64) -> Result<Self, AnswerError> {
        let scope = options.scope.resolve(dump)?;
        let group_by = if let DiffBy::Groups(by) = options.by { by } else { GroupBy::Type };
        let groups = Groups::new(&scope, group_by, TypesApart::Never)?;
        let tallies = groups.tally(dump.reachable());
        let mut totals = Tally::default();
        tallies.iter().for_each(|tally| totals.add(tally));
        let mut side = Side { totals, rows: Rows::new(), row_bytes, roots_inferred: graph.roots_inferred() };
        match options.by {
            DiffBy::RootKinds => side.rows = held_by_root_kind(graph),
            DiffBy::Paths => side.add_paths(dump, &scope, options)?,
            DiffBy::Objects => {}
            DiffBy::Groups(_) | DiffBy::Backtraces => {
                let rows = groups.names.iter().zip(&tallies).filter(|(_, tally)| tally.objects > 0);
                side.rows = rows
                    .map(|(name, tally)| {
                        let Tally { objects: count, shallow_bytes: bytes, .. } = *tally;
                        (name.clone(), Amounts { count, bytes, retained_bytes: 0 })
                    })
                    .collect();
                if options.retained {
                    side.add_retained(dump, &groups)?;
                }
            }
        }
        Ok(side)
    }

    fn add_retained(&mut self, dump: &OpenDump, groups: &Groups<'_>) -> Result<(), AnswerError> {
        for (name, topmost) in groups.names.iter().zip(groups.topmost(dump)?) {
            if let Some(row) = self.rows.get_mut(name) {
                row.retained_bytes = topmost.retained_bytes;
            }
        }
        Ok(())
    }

    fn add_paths(&mut self, dump: &OpenDump, scope: &Scope<'_>, options: &DiffOptions) -> Result<(), AnswerError> {
        let (graph, nodes) = (scope.graph(), scope.range());
        let (dominators, _) = dump.dominators()?;
        dump.check_answer(AnswerNeed::Descent, 0)?;
        let children = dominators.children();
        let tops = children.of(DomNode::ROOT);
        let tops = tops.filter(|&number| nodes.contains(&dominators.node_at(number).index()));
        let tree =
            TypeTree::build_of(graph, dominators, &children, tops, PATH_DEPTH, scope.chosen(dominators).as_ref());
        self.row_bytes += places_by_path_bytes(graph, &tree);
        dump.check_answer(AnswerNeed::Descent, self.row_bytes)?;
        self.rows = places_by_path(graph, &tree).map_err(|_| AnswerError::PathsTooLong)?;
        if let Some(pattern) = &options.scope.types {
            self.rows.retain(|path, _| pattern.matches(path));
        }
        Ok(())
    }

    fn totals(&self) -> DiffTotals {
        DiffTotals::Objects { objects: self.totals.objects, shallow_bytes: self.totals.shallow_bytes }
    }
}

fn of_objects(old: Side, new: Side, by_object: Option<ChangedObjects>, options: &DiffOptions) -> Diff {
    let (old_totals, new_totals) = (old.totals(), new.totals());
    let roots_inferred = old.roots_inferred || new.roots_inferred;
    let rows = join(old.rows, new.rows);
    let whole = if options.scope.is_choice() { "what matches" } else { "the heap" };
    let whole = (whole, old_totals.bytes(), new_totals.bytes());
    let bytes_of = |amounts: &Amounts| if options.retained { amounts.retained_bytes } else { amounts.bytes };
    let sizes = rows.iter().map(|(name, change)| (name.as_str(), bytes_of(&change.old), bytes_of(&change.new)));
    let over_limits = options.growth_limits.check(whole, &sizes.collect::<Vec<_>>());
    let rows = match by_object {
        Some(rows) => DiffRows::ByObject(rows),
        None => DiffRows::Objects(ObjectDiffRows::new(rows, options)),
    };
    let shallow_bytes_delta = Some(delta(old_totals.bytes(), new_totals.bytes()));
    Diff { shallow_bytes_delta, roots_inferred, over_limits, ..Diff::new(old_totals, new_totals, rows) }
}

impl Diff {
    fn new(old: DiffTotals, new: DiffTotals, rows: DiffRows) -> Self {
        Diff {
            old,
            new,
            shallow_bytes_delta: None,
            roots_inferred: false,
            rows,
            problems: DiffProblems::default(),
            over_limits: Vec::new(),
            unmatched_heaps: UnmatchedHeaps::default(),
            fuller_dumps: Vec::new(),
        }
    }
}

/// Memory for a node or an entry of either dump: in the totals by node, and as a row.
const BYTES_PER_ROW: u64 = 400;

fn of_allocations(asked: &OpenDump, dumps: [&AllocationDump; 2], options: &DiffOptions) -> Result<Diff, AnswerError> {
    let mut sides = Vec::new();
    for (choice, dump) in sides_of(&options.heaps).iter().zip(dumps) {
        sides.push(choice.choose(dump)?);
    }
    let rows: usize = sides.iter().flat_map(|side| &side.heaps).map(|heap| heap.row_count()).sum();
    asked.check_rows(rows as u64, BYTES_PER_ROW)?;
    // Numbers of processes do not carry over from one run to another, names do.
    let prefix_of = |heap: &AllocationHeap| format!("{}, {}", process_title_of(heap), heap.allocator);
    let several = sides.iter().any(|side| side.heaps.len() > 1);
    let mut diff = AllocationDiff::new();
    for (number, (side, dump)) in sides.iter().zip(dumps).enumerate() {
        for heap in &side.heaps {
            let prefix = several.then(|| prefix_of(heap));
            let by_type = HeapTotal::compute(heap);
            if by_type.pairs_left_out > 0 {
                return Err(AnswerError::TooManyPairs(title_of(heap)));
            }
            let of_paths = TotalsOptions { depth: u32::MAX, by_type: false, wanted: None };
            let paths = allocation_totals::Totals::compute(heap, &of_paths);
            diff.add_types(&by_type.types, &dump.names, number == 1);
            diff.add_paths(heap, &paths, &dump.names, prefix.as_deref(), number == 1);
        }
    }
    let [old, new] = [diff.whole().old, diff.whole().new]
        .map(|amount| DiffTotals::Allocations { total_bytes: amount.bytes, allocations: amount.allocations });
    let rows = AllocationDiffRows::new(diff, options);
    let whole = ("the heaps", old.bytes(), new.bytes());
    let over_limits = options.growth_limits.check(whole, &rows.sizes_of_types());
    let rows = DiffRows::Allocations(Box::new(rows));
    let unmatched_heaps = UnmatchedHeaps::find(&sides);
    let fuller_dumps = sides.iter().filter_map(|side| side.fuller_dump).collect();
    Ok(Diff { unmatched_heaps, fuller_dumps, over_limits, ..Diff::new(old, new, rows) })
}

/// The heaps to choose on either side.
fn sides_of(choice: &HeapChoice) -> [HeapChoice; 2] {
    match choice.dump.as_deref().and_then(|pair| pair.split_once(',')) {
        Some((old, new)) => [old, new].map(|dump| HeapChoice { dump: Some(dump.trim().into()), ..choice.clone() }),
        None => [choice.clone(), choice.clone()],
    }
}

impl UnmatchedHeaps {
    fn find(sides: &[ChosenHeaps<'_>]) -> Self {
        let names = |side: &ChosenHeaps<'_>| -> BTreeSet<String> {
            let name = |heap: &&AllocationHeap| match heap.process.as_str() {
                // Numbers of processes mean nothing in another trace.
                "" => heap.allocator.clone(),
                _ => format!("{} ({})", process_title_of(heap), heap.allocator),
            };
            side.heaps.iter().map(name).collect()
        };
        let [old, new] = sides else { return UnmatchedHeaps::default() };
        let (old, new) = (names(old), names(new));
        let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect();
        UnmatchedHeaps { old: only(&old, &new), new: only(&new, &old) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::selection::TypePattern;
    use std::path::Path;

    #[test]
    fn the_command_line_asks_the_same() {
        let options = DiffOptions {
            scope: ScopeOptions {
                types: TypePattern::parse("A b").ok().map(Into::into),
                ..ScopeOptions::of_section(Some("2"))
            },
            by: DiffBy::Paths,
            unchanged: true,
            order: Some(crate::answers::figure::NAME),
            limits: Limits { rows: Some(5), reverse: true },
            growth_limits: GrowthLimits { of_some: vec!["12.5%".parse().unwrap()], ..GrowthLimits::default() },
            ..DiffOptions::default()
        };
        let paths = [Path::new("old.txt"), Path::new("new.txt")];
        assert_eq!(
            options.command_line().for_shell(paths),
            "heapdump diff --paths --all --sort name --fail-over 12.5% --type 'A b' --domain 2 --reverse -n 5 old.txt new.txt"
        );
        assert_eq!(DiffOptions::default().command_line().for_shell(paths), "heapdump diff -n 0 old.txt new.txt");
    }
}
