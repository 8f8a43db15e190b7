//! A snapshot that was read again, with all its strings, to tell of single objects.

use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::block::DANGLING_TARGET;
use super::collection_tables::{CollectionKind, collection_tables};
use super::ropes::Ropes;
use super::snapshot::Snapshot;
use super::stacks::AllocationStacks;
use crate::allocations::{
    AllocationDump, AllocationEntry, AllocationHeap, AllocationHeapBuilder, CountingMode, NameId, NameTable,
};
use crate::graph::{HeapGraph, NodeId};
use crate::input::Text;
use crate::parallel;

/// Source places are found from the first of so many nodes.
pub(super) const NODES_PER_LOCATION_START: usize = 64;

/// A snapshot with all its strings, and tables that are made of it when they are asked for.
#[derive(Debug)]
pub(super) struct RereadSnapshot {
    pub(super) snapshot: Snapshot,
    /// By node: its ordinal.
    pub(super) ordinals: Vec<u32>,
    /// Tables of maps and sets, ascending.
    pub(super) collection_tables: Vec<(u32, CollectionKind)>,
    /// By [`NODES_PER_LOCATION_START`] nodes: the first of their source places.
    pub(super) location_starts: Vec<u32>,
    /// Stacks, in recordings of allocations.
    pub(super) stacks: AllocationStacks,
    /// Edges that lead to no object, ascending.
    pub(super) edges_to_no_object: Vec<u32>,
    /// Entries of maps that have keys: the edge to the value, ascending, and the key. Once they are asked for.
    pub(super) entry_keys: OnceLock<Vec<(u32, u32)>>,
    /// By scope a closure of its function. Once they are asked for.
    pub(super) scope_closures: OnceLock<FxHashMap<u32, u32>>,
    /// Once they are asked for.
    pub(super) ropes: OnceLock<Ropes>,
    /// By ordinal; once they are asked for.
    pub(super) distances: OnceLock<Vec<u32>>,
}

impl RereadSnapshot {
    /// A snapshot whose ids are all different.
    pub(super) fn new(snapshot: Snapshot) -> Self {
        let ordinals_by_id = || {
            let mut ordinals = Vec::with_capacity(snapshot.len());
            ordinals.extend((0..snapshot.len() as u32).filter(|&node| !snapshot.is_category(node)));
            ordinals.par_sort_by_key(|&ordinal| snapshot.ids.get(ordinal as usize));
            ordinals
        };
        let (collection_tables, ordinals) = rayon::join(|| collection_tables(&snapshot), ordinals_by_id);
        let leads_nowhere = |&target: &u32| target == DANGLING_TARGET || snapshot.is_category(target);
        let edges_of_piece = |piece: Range<usize>| -> Vec<u32> {
            let targets = &snapshot.targets[piece.clone()];
            let edges = (piece.start as u32..).zip(targets);
            edges.filter(|(_, target)| leads_nowhere(target)).map(|(edge, _)| edge).collect()
        };
        let pieces = parallel::pieces(snapshot.targets.len());
        RereadSnapshot {
            ordinals,
            collection_tables,
            location_starts: location_starts(&snapshot),
            stacks: AllocationStacks::read(&snapshot),
            edges_to_no_object: parallel::map(pieces, &edges_of_piece).concat(),
            entry_keys: OnceLock::new(),
            scope_closures: OnceLock::new(),
            ropes: OnceLock::new(),
            distances: OnceLock::new(),
            snapshot,
        }
    }

    pub(super) fn ropes(&self) -> &Ropes {
        self.ropes.get_or_init(|| Ropes::new(&self.snapshot))
    }

    /// The start of a text, so many units at most.
    pub(super) fn text(&self, ordinal: u32, most_units: usize) -> Option<Text> {
        self.ropes().text(&self.snapshot, ordinal, most_units)
    }

    /// The ordinal of a node of the graph.
    pub(super) fn ordinal(&self, node: NodeId) -> Option<u32> {
        self.ordinals.get(node.index()).copied()
    }

    /// The edge of a node's reference, counted as the graph counts them. O(log edges that are no references).
    pub(super) fn edge_of_reference(&self, ordinal: u32, nth: usize) -> Option<usize> {
        let edges = self.snapshot.edges(ordinal);
        let behind =
            &self.edges_to_no_object[self.edges_to_no_object.partition_point(|&edge| (edge as usize) < edges.start)..];
        // How many of these come before: so many that as many references as are passed over lie between.
        let (mut least, mut most) = (0, behind.partition_point(|&edge| (edge as usize) < edges.end));
        while least < most {
            let middle = (least + most) / 2;
            match behind[middle] as usize - edges.start - middle > nth {
                true => most = middle,
                false => least = middle + 1,
            }
        }
        Some(edges.start + nth + least).filter(|edge| edges.contains(edge))
    }
}

/// By [`NODES_PER_LOCATION_START`] nodes the first of their source places, and behind the last the end.
fn location_starts(snapshot: &Snapshot) -> Vec<u32> {
    let mut starts = vec![0u32; snapshot.len() / NODES_PER_LOCATION_START + 2];
    snapshot.locations.iter().for_each(|&(node, _)| starts[node as usize / NODES_PER_LOCATION_START + 1] += 1);
    (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
    starts
}

impl RereadSnapshot {
    /// A function of a stack with its place: `leak (app.js:12:5)`.
    fn frame_text(&self, function: u64) -> String {
        let strings = &self.snapshot.strings;
        let found = usize::try_from(function).ok().and_then(|at| self.snapshot.functions.get(at));
        let Some(function) = found else { return format!("<function {function}>") };
        let name = strings.text_or_placeholder(function.name);
        let name = if name.is_empty() { "(anonymous)" } else { &name };
        match strings.get(function.script_name).filter(|script| !script.is_empty()) {
            Some(script) => {
                let (line, column) = (u64::from(function.line) + 1, u64::from(function.column) + 1);
                format!("{name} ({script}:{line}:{column})")
            }
            None => name.into(),
        }
    }

    /// The stack that allocated a node, the function that did first.
    pub(super) fn allocation_stack(&self, node: u32) -> Option<Vec<String>> {
        let at = self.snapshot.stack_ids.binary_search_by_key(&node, |&(node, _)| node).ok()?;
        let number = self.stacks.number_of_id(self.snapshot.stack_ids[at].1)?;
        Some(self.stacks.function_indices(number).map(|function| self.frame_text(function)).collect())
    }

    /// Objects and bytes by stack: those that are alive, and all that were allocated.
    pub(super) fn allocations(&self, graph: &HeapGraph, node_of: impl Fn(u32) -> Option<NodeId>) -> AllocationDump {
        let mut names = NameTable::default();
        let mut builder = AllocationHeapBuilder::new(names.intern(""));
        let own_share = names.intern("<self>");
        let mut heaps = Vec::new();
        for allocator in ["live", "allocated"] {
            let mut frames: Vec<u32> = Vec::with_capacity(self.stacks.trace_nodes.len());
            for stack in &self.stacks.trace_nodes {
                frames.push(match stack.parent {
                    Some(parent) => {
                        let name = names.intern(&self.frame_text(stack.function_index));
                        builder.find_or_add_frame(frames[parent as usize], name)
                    }
                    None => 0,
                });
            }
            if allocator == "live" {
                for &(ordinal, id) in &self.snapshot.stack_ids {
                    let (Some(stack), Some(node)) = (self.stacks.number_of_id(id), node_of(ordinal)) else { continue };
                    if graph.is_counted_in_histograms(node) {
                        let class: NameId = names.intern(graph.type_name(graph.type_of(node)));
                        let bytes = graph.shallow_bytes(node);
                        builder.add_entry(AllocationEntry::new(frames[stack as usize], Some(class), bytes, Some(1)));
                    }
                }
            } else {
                // Of these no types are known: figures of a stack are those of all that go on from it, too.
                let mut sums: Vec<(u64, u64)> =
                    self.stacks.trace_nodes.iter().map(|own| (own.allocated_bytes, own.allocation_count)).collect();
                let mut goes_on = vec![false; sums.len()];
                for (number, stack) in self.stacks.trace_nodes.iter().enumerate().rev() {
                    let (bytes, count) = sums[number];
                    builder.add_entry(AllocationEntry::new(frames[number], None, bytes, Some(count)));
                    if goes_on[number] && (stack.allocated_bytes, stack.allocation_count) != (0, 0) {
                        let own = builder.find_or_add_frame(frames[number], own_share);
                        builder.add_entry(AllocationEntry::new(
                            own,
                            None,
                            stack.allocated_bytes,
                            Some(stack.allocation_count),
                        ));
                    }
                    if let Some(parent) = stack.parent {
                        let sum = &mut sums[parent as usize];
                        *sum = (sum.0.saturating_add(bytes), sum.1.saturating_add(count));
                        goes_on[parent as usize] = true;
                    }
                }
            }
            let (frames, entries) = builder.finish_heap(Some(own_share));
            let counting = if allocator == "live" { CountingMode::Exclusive } else { CountingMode::CompleteInclusive };
            let heap = AllocationHeap::alone(String::new(), allocator, frames, entries);
            heaps.push(AllocationHeap { counting_mode: counting, ..heap });
        }
        AllocationDump::of_heaps(names, heaps)
    }
}
