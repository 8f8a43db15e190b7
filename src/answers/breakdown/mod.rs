//! Breakdown of bytes: a tree of backtraces and types for each heap of allocation totals; of objects the types on the
//! way down the dominator tree, from the top or below one object.

mod tree;

pub use tree::{
    Breakdown, BreakdownBy, BreakdownHeap, BreakdownOptions, BreakdownRow, BreakdownStartObject, HeapTree,
    NAME_SEPARATOR, default_min_share, heap_choice_of,
};
use tree::{BreakdownRowBuilder, MAX_ROWS};

use crate::allocations::{AllocationDump, AllocationHeap};
pub use crate::analysis::breakdown::{Axis, BreakdownRowKind};
use crate::analysis::dominator_paths::dominator_tree_as_allocations;
use crate::analysis::dominators::DominatorNode;
use crate::analysis::threshold::Threshold;
use crate::answers::allocation_heaps::{HeapRow, check_totals_memory};
use crate::answers::reference_names::ReferenceNames;
use crate::answers::rows::ROWS_READ_TOGETHER;
use crate::answers::tree::MAX_DEPTH;
use crate::answers::values::{ValueReader, unreadable_values};
use crate::answers::{AnswerError, ScopeOptions};
use crate::dump::{Content, OpenDump, Phase};
use crate::graph::{HeapGraph, NodeId, TypeId};

/// Memory for a node or an entry of allocation totals: in the totals by node, and as a row.
const MEMORY_BYTES_PER_ROW: u64 = 600;

/// Lays the heaps of a dump out as trees. O(nodes and entries x depth), of objects O(objects) and the dominator tree.
///
/// # Errors
/// If the dump has no such section, heap or object, a tree has too many rows, or it takes more memory than it may.
pub fn breakdown<'d>(dump: &'d OpenDump, options: &BreakdownOptions) -> Result<Breakdown<'d>, AnswerError> {
    match dump.content() {
        Content::Objects(graph) => match allocation_totals_if_wanted(dump, graph, options)? {
            Some(stacks) => breakdown_of_allocations(dump, stacks, options),
            None => breakdown_of_objects(dump, graph, options),
        },
        Content::Allocations(allocations) => match &options.object {
            Some(object) => Err(AnswerError::StartObjectNeedsObjectDump(object.to_string())),
            None => breakdown_of_allocations(dump, allocations, options),
        },
        Content::Histograms(_) => Err(AnswerError::NeedsObjects),
    }
}

/// Allocation totals by stack of a dump of objects that has them, where the question is not about objects.
fn allocation_totals_if_wanted<'d>(
    dump: &'d OpenDump,
    graph: &HeapGraph,
    options: &BreakdownOptions,
) -> Result<Option<&'d AllocationDump>, AnswerError> {
    let is_of_objects = options.object.is_some() || options.scope.filter.is_some() || options.by == BreakdownBy::Type;
    match dump.details() {
        Some(details) if !is_of_objects => details.allocations(graph).map_err(unreadable_values),
        _ => Ok(None),
    }
}

fn breakdown_of_allocations<'d>(
    dump: &'d OpenDump,
    allocations: &'d AllocationDump,
    options: &BreakdownOptions,
) -> Result<Breakdown<'d>, AnswerError> {
    options.scope.check_on_allocations()?;
    let chosen = options.heaps.choose(allocations)?;
    let rows: usize = chosen.heaps.iter().map(|heap| heap.frame_and_entry_count()).sum();
    match options.by {
        BreakdownBy::Backtrace | BreakdownBy::Caller => check_totals_memory(dump, &chosen.heaps, MEMORY_BYTES_PER_ROW)?,
        BreakdownBy::Type | BreakdownBy::Both => dump.check_rows_memory(rows as u64, MEMORY_BYTES_PER_ROW)?,
    }
    let depth = options.depth.unwrap_or(MAX_DEPTH);
    let min_size = options.min_size.unwrap_or(Threshold::Bytes(0));
    let mut heaps: Vec<BreakdownHeap<'_>> = Vec::new();
    let mut rows_left = MAX_ROWS;
    for heap in chosen.heaps {
        let names = &allocations.names;
        let view = BreakdownRowBuilder {
            options,
            heap,
            names,
            max_depth: depth,
            min_size,
            shows_types_below_backtraces: true,
            keeps_self_row: false,
            rows_left,
        };
        let (rows, totals) = view.rows_and_totals()?;
        if rows.is_empty() {
            continue;
        }
        let tree = HeapTree::new(rows, "/", |name| names.text(name), |_| None);
        rows_left -= tree.rows().len();
        heaps.push(BreakdownHeap { heap: HeapRow::new(heap, &totals.total_at(0)), object: None, tree });
    }
    match &options.below_path {
        Some(path) if heaps.is_empty() => Err(AnswerError::NoSuchPath(path.clone())),
        _ => Ok(Breakdown::new(dump, options, heaps, chosen.fuller_dump)),
    }
}

/// Levels, where no depth is asked for.
const DEFAULT_DEPTH_OF_OBJECTS: u32 = 20;

/// The tree of all objects, of those of a section, or of those that one retains.
pub(super) fn breakdown_of_objects<'d>(
    dump: &'d OpenDump,
    graph: &'d HeapGraph,
    options: &BreakdownOptions,
) -> Result<Breakdown<'d>, AnswerError> {
    options.heaps.check_on_objects()?;
    let scope = ScopeOptions { types: None, ..options.scope.clone() };
    let start = options.object.as_ref().map(|object| object.find(graph, &scope)).transpose()?;
    let scope = scope.resolve(dump)?;
    let dominators = dump.dominator_tree()?;
    let answer =
        |heaps| Breakdown { roots_inferred: graph.roots_inferred(), ..Breakdown::new(dump, options, heaps, None) };
    let Some(from) = start.map_or(Some(DominatorNode::ROOT), |node| dominators.number_of(node)) else {
        return Ok(Breakdown { unreachable_object_id: start.map(|node| graph.display_id(node)), ..answer(Vec::new()) });
    };
    let depth = options.depth.unwrap_or(DEFAULT_DEPTH_OF_OBJECTS);
    let levels = depth.max(1).saturating_add(options.levels_above_start());
    dump.announce_phase(Phase::MergingPaths);
    // What an object retains is its own, in whichever section.
    let is_wanted = |node: NodeId| start.is_some() || scope.node_range().contains(&node.index());
    let chosen = scope.chosen_objects(dominators);
    let (mut names, mut heap, examples) =
        dominator_tree_as_allocations(graph, dominators, from, levels, is_wanted, chosen.as_ref());
    if let Some(section) = scope.section() {
        heap.process_name = graph.sections()[section.index()].name.clone();
    }
    let min_size = options.min_size.unwrap_or_else(default_min_share);
    let (keeps_self_row, rows_left) = (start.is_some(), MAX_ROWS);
    let view = BreakdownRowBuilder {
        options,
        heap: &heap,
        names: &names,
        max_depth: depth,
        min_size,
        shows_types_below_backtraces: false,
        keeps_self_row,
        rows_left,
    };
    let (rows, totals) = view.rows_and_totals()?;
    if let Some(path) = options.below_path.as_ref().filter(|_| rows.is_empty()) {
        return Err(AnswerError::NoSuchPath(path.clone()));
    }
    // Every name is that of a type, and lives as long as the graph.
    let mut texts = vec![""; graph.type_count() + 1];
    for type_name in (0..graph.type_count()).map(|index| graph.type_name(TypeId::new(index))) {
        texts[names.intern(type_name).0 as usize] = type_name;
    }
    let top = start.map_or("/", |node| graph.type_name(graph.type_of(node)));
    let mut named = ReferenceNames::of(dump).into_iter().cycle().take(ROWS_READ_TOGETHER);
    let reference = |frame: u32| {
        if from == DominatorNode::ROOT && heap.frames.parent(frame) == 0 {
            return None;
        }
        let (first, last) = examples[frame as usize];
        let step = |number| (dominators.node_at(dominators.immediate_dominator_of(number)), dominators.node_at(number));
        named.next()?.joint_name_of_dominated(&[step(first), step(last)])
    };
    let tree = HeapTree::new(rows, top, |name| texts[name.0 as usize], reference);
    let object = start.map(|node| BreakdownStartObject::new(dump, graph, node, &heap));
    let whole = match scope.section().filter(|_| graph.sections().len() > 1) {
        Some(section) if heap.process_name.is_empty() => format!("section {}", section.number()),
        Some(section) => format!("section {} ({})", section.number(), heap.process_name),
        None if heap.process_name.is_empty() => "all sections".to_string(),
        None => heap.process_name.clone(),
    };
    let title = || format!("{whole}, types on the way down the dominator tree");
    let title = object.as_ref().map_or_else(title, BreakdownStartObject::tree_title);
    let heap = HeapRow { pid: None, allocator: None, title, ..HeapRow::new(&heap, &totals.total_at(0)) };
    Ok(answer(vec![BreakdownHeap { heap, object, tree }]))
}

impl BreakdownStartObject {
    /// `heap` has what the object retains.
    fn new(dump: &OpenDump, graph: &HeapGraph, node: NodeId, heap: &AllocationHeap) -> Self {
        BreakdownStartObject {
            id: graph.display_id(node),
            type_name: graph.type_name(graph.type_of(node)).to_string(),
            class: graph.types().type_of_class_object(node).map(|class| graph.type_name(class).to_string()),
            value_words: ValueReader::of(dump).and_then(|values| values.row_with_value(node).value_words),
            retained_bytes: heap.entries.iter().fold(0, |sum: u64, entry| sum.saturating_add(entry.bytes())),
        }
    }
}
