//! Growth between two dumps: types (or other groups), paths, kinds of roots, backtraces. Joined by name, never by id,
//! so that the dumps may be of different formats of one runtime.

mod options;
mod rows;

use std::collections::{BTreeMap, BTreeSet};

pub use options::{DiffFlags, DiffOptions, GrowthLimit, GrowthLimits};
pub use rows::*;

pub use super::shared::dump_comparison::*;
pub use super::shared::limit_result::LimitResult;
pub use crate::analysis::diff::{Change, DiffAmounts, Measure, saturating_delta};

use super::allocation_heaps::{AllocationHeapChoice, ChosenHeaps, heap_title, process_title_of};
use super::dump_comparison::{DumpSide, check_runtimes};
use super::frame_amounts::FrameAmounts;
pub use super::histogram_row::Totals;
use super::problems::problems_of;
use super::{AnswerError, GroupBy};
use crate::allocations::{AllocationDump, AllocationHeap, FrameNaming};
use crate::analysis::allocation_totals::{self, TotalsOptions};
use crate::analysis::diff::{AllocationDiff, join_by_name};
use crate::analysis::frame_totals::FlatAndCum;
use crate::analysis::heap_total::AllocationHeapTotal;
use crate::dump::{Content, OpenDump};
use options::NamedGrowth;
use rows::diff_by_object;

/// Compares two dumps, or two memory dumps of one that is given twice. O(objects) of both; with retained bytes, or by
/// paths, their dominator trees.
///
/// # Errors
/// If one dump holds objects and the other allocation totals, when they do not have what is asked for, or when the
/// answer takes more memory than it may.
pub fn diff(old: &OpenDump, new: &OpenDump, options: &DiffOptions) -> Result<Diff, AnswerError> {
    let orders = options.by.orders(!matches!(old.content(), Content::Allocations(_)), options.with_retained);
    if let Some(order) = options.order.filter(|order| !orders.contains(order)) {
        return Err(AnswerError::NoSuchOrder(order.key));
    }
    let [old_problems, new_problems] = [old, new].map(|dump| problems_of(dump.diagnostics()));
    Ok(Diff {
        problems: DiffProblems { old: old_problems, new: new_problems },
        ..diff_without_problems(old, new, options)?
    })
}

fn diff_without_problems(old: &OpenDump, new: &OpenDump, options: &DiffOptions) -> Result<Diff, AnswerError> {
    match (old.content(), new.content()) {
        (Content::Objects(_) | Content::Histograms(_), Content::Objects(_) | Content::Histograms(_)) => {
            check_runtimes(old, new)?;
            options.heaps.check_on_objects()?;
            if options.by == DiffBy::Backtraces {
                return Err(AnswerError::NeedsAllocations);
            }
            let by_object = match options.by {
                DiffBy::Objects => Some(diff_by_object(old, new, options)?),
                _ => None,
            };
            let side = |dump, bytes| {
                DumpSide::find(dump, &options.scope, (options.by, options.field.as_ref()), options.with_retained, bytes)
            };
            let old = side(old, 0)?;
            let new = side(new, old.row_memory_bytes)?;
            let roots_inferred = old.roots_inferred || new.roots_inferred;
            let totals = |side: &DumpSide| Totals::of_objects(side.totals.objects, side.totals.shallow_bytes);
            let (old_totals, new_totals) = (totals(&old), totals(&new));
            let (objects, rows) = match by_object {
                Some((objects, rows)) => (Some(objects), rows),
                None => (None, join_by_name(old.amounts_by_name, new.amounts_by_name)),
            };
            let whole = if options.scope.chooses_some() { "what matches" } else { "the heap" };
            let diff = Diff::new(old_totals, new_totals, whole, RowSource::Objects(rows), NO_PATTERN_SUMS, options);
            Ok(Diff { roots_inferred, objects, ..diff })
        }
        (Content::Allocations(old_dump), Content::Allocations(new_dump)) => {
            options.scope.check_on_allocations()?;
            if let Some(frame_names) = options.by.frame_names().filter(|_| !options.with_retained) {
                return diff_by_frame_name([(old, old_dump), (new, new_dump)], frame_names, options);
            }
            let is_by_type_or_backtrace = matches!(options.by, DiffBy::Groups(GroupBy::Type) | DiffBy::Backtraces);
            if options.with_retained || !is_by_type_or_backtrace {
                return Err(AnswerError::NeedsObjects);
            }
            diff_of_allocations(old, [old_dump, new_dump], options)
        }
        _ => Err(AnswerError::MixedContents),
    }
}

impl Diff {
    /// `whole_words`: those for everything, which the limits are checked for; `sums`: the old and new bytes of all that the pattern of
    /// a limit matches, by limit that has one, where they are not the sums of rows.
    fn new(
        old: Totals,
        new: Totals,
        whole_words: &str,
        source: RowSource,
        sums: impl Iterator<Item = (u64, u64)>,
        options: &DiffOptions,
    ) -> Self {
        let rows = DiffRows::new(source, options);
        let whole = NamedGrowth { name: whole_words, old_bytes: old.bytes(), new_bytes: new.bytes() };
        Diff {
            limit_results: options.growth_limits.check_limits(whole, &rows.growth_by_name(), sums),
            shallow_bytes_delta: (!rows.are_of_allocations()).then(|| saturating_delta(old.bytes(), new.bytes())),
            old,
            new,
            roots_inferred: false,
            objects: None,
            rows,
            problems: DiffProblems::default(),
            unmatched_heaps: UnmatchedHeaps::default(),
            fuller_dumps: Vec::new(),
        }
    }
}

/// Limits are of the sums of rows.
const NO_PATTERN_SUMS: std::iter::Empty<(u64, u64)> = std::iter::empty();

/// Memory for a node or an entry of either dump: in the totals by node, and as a row.
const MEMORY_BYTES_PER_ROW: u64 = 400;

fn diff_of_allocations(
    asked: &OpenDump,
    dumps: [&AllocationDump; 2],
    options: &DiffOptions,
) -> Result<Diff, AnswerError> {
    let mut sides = Vec::new();
    for (choice, dump) in heap_choices_of_sides(&options.heaps).iter().zip(dumps) {
        sides.push(choice.choose(dump)?);
    }
    let rows: usize = sides.iter().flat_map(|side| &side.heaps).map(|heap| heap.frame_and_entry_count()).sum();
    asked.check_rows_memory(rows as u64, MEMORY_BYTES_PER_ROW)?;
    // Numbers of processes do not carry over from one run to another, names do.
    let prefix_of = |heap: &AllocationHeap| format!("{}, {}", process_title_of(heap), heap.allocator_name);
    let several = sides.iter().any(|side| side.heaps.len() > 1);
    let mut diff = AllocationDiff::new();
    for (number, (side, dump)) in sides.iter().zip(dumps).enumerate() {
        for heap in &side.heaps {
            let prefix = several.then(|| prefix_of(heap));
            let by_type = AllocationHeapTotal::compute(heap);
            if by_type.left_out_pair_count > 0 {
                return Err(AnswerError::TooManyBacktraceTypePairs(heap_title(heap)));
            }
            let paths = allocation_totals::AllocationTotals::compute(heap, &TotalsOptions::WHOLE);
            diff.add_type_amounts(&by_type.type_amounts, &dump.names, number == 1);
            diff.add_backtraces(heap, &paths, &dump.names, prefix.as_deref(), number == 1);
        }
    }
    let Change { old, new } = diff.total();
    let [old, new] = [old, new].map(|amounts| Totals::of_allocations(amounts.bytes, amounts.count));
    let unmatched_heaps = UnmatchedHeaps::find(&sides);
    let fuller_dumps = sides.iter().filter_map(|side| side.fuller_dump).collect();
    let source = RowSource::Allocations(Box::new(diff));
    Ok(Diff { unmatched_heaps, fuller_dumps, ..Diff::new(old, new, "the heaps", source, NO_PATTERN_SUMS, options) })
}

/// By the names of frames, of all heaps that are chosen together.
fn diff_by_frame_name(
    dumps: [(&OpenDump, &AllocationDump); 2],
    frame_names: FrameNaming,
    options: &DiffOptions,
) -> Result<Diff, AnswerError> {
    let patterns = options.growth_limits.limits.iter().filter_map(GrowthLimit::types);
    let is_wanted = |name: &str| options.scope.types.as_ref().is_none_or(|types| types.matches(name));
    let side = |choice: &AllocationHeapChoice, (dump, allocations): (&OpenDump, &'_ AllocationDump)| {
        let chosen = choice.choose(allocations)?;
        let amounts = FrameAmounts::compute(dump, allocations, &chosen.heaps, frame_names, patterns.clone())?;
        let FrameAmounts { total, by_name, cum_bytes_of_patterns, .. } = amounts;
        let of_name = |(name, FlatAndCum { flat, cum }): (&str, FlatAndCum)| {
            let amounts = DiffAmounts { count: flat.allocations, bytes: flat.bytes, retained_bytes: cum.bytes };
            (name.to_string(), amounts)
        };
        let rows: BTreeMap<String, DiffAmounts> =
            by_name.into_iter().filter(|(name, _)| is_wanted(name)).map(of_name).collect();
        let fuller_dump = chosen.fuller_dump;
        Ok::<_, AnswerError>((
            UnmatchedHeaps::heap_names_of_side(&chosen),
            fuller_dump,
            rows,
            total,
            cum_bytes_of_patterns,
        ))
    };
    let [old_choice, new_choice] = heap_choices_of_sides(&options.heaps);
    let (old_heaps, old_fuller, old_rows, old, old_cum) = side(&old_choice, dumps[0])?;
    let (new_heaps, new_fuller, new_rows, new, new_cum) = side(&new_choice, dumps[1])?;
    let [old, new] = [old, new].map(|total| Totals::of_allocations(total.bytes, total.allocations));
    let unmatched_heaps = UnmatchedHeaps::of_names(&old_heaps, &new_heaps);
    let fuller_dumps = [old_fuller, new_fuller].into_iter().flatten().collect();
    let source = RowSource::Frames(join_by_name(old_rows, new_rows));
    let diff = Diff::new(old, new, "the heaps", source, old_cum.into_iter().zip(new_cum), options);
    Ok(Diff { unmatched_heaps, fuller_dumps, ..diff })
}

/// The heaps to choose on either side.
fn heap_choices_of_sides(choice: &AllocationHeapChoice) -> [AllocationHeapChoice; 2] {
    match choice.memory_dump.as_deref().and_then(|pair| pair.split_once(',')) {
        Some((old, new)) => {
            [old, new].map(|dump| AllocationHeapChoice { memory_dump: Some(dump.trim().into()), ..choice.clone() })
        }
        None => [choice.clone(), choice.clone()],
    }
}

impl UnmatchedHeaps {
    /// Names of the heaps of a side.
    fn heap_names_of_side(side: &ChosenHeaps<'_>) -> BTreeSet<String> {
        let name = |heap: &&AllocationHeap| match heap.process_name.as_str() {
            // Numbers of processes mean nothing in another trace.
            "" => heap.allocator_name.clone(),
            _ => format!("{} ({})", process_title_of(heap), heap.allocator_name),
        };
        side.heaps.iter().map(name).collect()
    }

    fn of_names(old: &BTreeSet<String>, new: &BTreeSet<String>) -> Self {
        let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect();
        UnmatchedHeaps { old: only(old, new), new: only(new, old) }
    }

    fn find(sides: &[ChosenHeaps<'_>]) -> Self {
        let [old, new] = sides else { return UnmatchedHeaps::default() };
        UnmatchedHeaps::of_names(&Self::heap_names_of_side(old), &Self::heap_names_of_side(new))
    }
}
