//! Breakdown of bytes: a tree of backtraces and types for each heap of allocation totals; of objects the types on the
//! way down the dominator tree, from the top or below one object.

mod of_objects;
mod tree;

pub use tree::{
    BETWEEN_NAMES, Breakdown, BreakdownBy, BreakdownHeap, BreakdownObject, BreakdownOptions, BreakdownRow, HeapTree,
    choice_of, small_share,
};

pub use crate::analysis::breakdown::{Axis, Kind};

use super::AnswerError;
use super::heaps::HeapRow;
use super::tree::MAX_DEPTH;
use super::values::unreadable;
use crate::allocations::AllocationDump;
use crate::analysis::threshold::Threshold;
use crate::dump::{Content, OpenDump};
use crate::graph::HeapGraph;
use tree::{MAX_ROWS, TreeView};

/// Memory for a node or an entry of allocation totals: in the totals by node, and as a row.
const BYTES_PER_ROW: u64 = 600;

/// Lays the heaps of a dump out as trees. O(nodes and entries x depth), of objects O(objects) and the dominator tree.
///
/// # Errors
/// If the dump has no such section, heap or object, a tree has too many rows, or it takes more memory than it may.
pub fn breakdown<'d>(dump: &'d OpenDump, options: &BreakdownOptions) -> Result<Breakdown<'d>, AnswerError> {
    match dump.content() {
        Content::Objects(graph) => match stacks_of(dump, graph, options)? {
            Some(stacks) => of_allocations(dump, stacks, options),
            None => of_objects::breakdown(dump, graph, options),
        },
        Content::Allocations(allocations) => match &options.object {
            Some(object) => Err(AnswerError::NoObjectsToBeginAt(object.to_string())),
            None => of_allocations(dump, allocations, options),
        },
    }
}

/// Allocation totals by stack of a dump of objects that has them, where the question is not about objects.
fn stacks_of<'d>(
    dump: &'d OpenDump,
    graph: &HeapGraph,
    options: &BreakdownOptions,
) -> Result<Option<&'d AllocationDump>, AnswerError> {
    let is_of_objects = options.object.is_some() || options.scope.filter.is_some() || options.by == BreakdownBy::Type;
    match dump.details() {
        Some(details) if !is_of_objects => details.allocations(graph).map_err(unreadable),
        _ => Ok(None),
    }
}

fn of_allocations<'d>(
    dump: &'d OpenDump,
    allocations: &'d AllocationDump,
    options: &BreakdownOptions,
) -> Result<Breakdown<'d>, AnswerError> {
    options.scope.check_on_allocations()?;
    let chosen = options.heaps.choose(allocations)?;
    let rows: usize = chosen.heaps.iter().map(|heap| heap.row_count()).sum();
    dump.check_rows(rows as u64, BYTES_PER_ROW)?;
    let depth = options.depth.unwrap_or(MAX_DEPTH);
    let min_size = options.min_size.unwrap_or(Threshold::Bytes(0));
    let mut heaps: Vec<BreakdownHeap<'_>> = Vec::new();
    let mut rows_left = MAX_ROWS;
    for heap in chosen.heaps {
        let names = &allocations.names;
        let view = TreeView { options, heap, names, depth, min_size, types_below: true, keep_self: false, rows_left };
        let (rows, totals) = view.rows()?;
        if rows.is_empty() {
            continue;
        }
        let tree = HeapTree::new(rows, "/", |name| names.text(name));
        rows_left -= tree.rows().len();
        heaps.push(BreakdownHeap { heap: HeapRow::new(heap, &totals.at(0)), object: None, tree });
    }
    match &options.below {
        Some(path) if heaps.is_empty() => Err(AnswerError::NoSuchPath(path.clone())),
        _ => Ok(Breakdown::new(dump, options, heaps, chosen.fuller_dump)),
    }
}
