//! Recordings of allocations: when objects were allocated, and by which stacks.

use std::ops::Range;

use super::snapshot::Snapshot;
use crate::graph::{HeapGraph, HeapParts};

/// The intervals in which objects were allocated: ids are given in order, and samples say how far they were.
pub(super) fn allocation_intervals(graph: &HeapGraph, samples: &[(u64, u64)]) -> HeapParts {
    if samples.is_empty() {
        return HeapParts::default();
    }
    let seconds = |us: u64| format!("{:.3}", us as f64 / 1e6);
    let mut names: Vec<String> = Vec::new();
    for (field_index, &(time, _)) in samples.iter().enumerate() {
        names.push(match field_index.checked_sub(1) {
            Some(before) => format!("{} to {} s", seconds(samples[before].0), seconds(time)),
            None => format!("before {} s", seconds(time)),
        });
    }
    let (later, embedder) = (names.len() as u32, names.len() as u32 + 1);
    names.extend(["while the snapshot was taken".into(), "(not known: objects of the embedder)".into()]);
    let mut runs: Vec<(Range<usize>, u32)> = Vec::new();
    for node in graph.nodes() {
        // Even ids are not V8's own: they are given in no order.
        let id = graph.original_id(node);
        let interval = match samples.partition_point(|&(_, last)| last < id) {
            _ if id.is_multiple_of(2) => embedder,
            field_index if field_index == samples.len() => later,
            field_index => field_index as u32,
        };
        match runs.last_mut() {
            Some((nodes, last)) if *last == interval => nodes.end = node.index() + 1,
            _ => runs.push((node.index()..node.index() + 1, interval)),
        }
    }
    HeapParts { names, runs }
}

/// A stack: a function, and the stack from which it was called.
#[derive(Debug, Clone, Copy)]
pub(super) struct TraceNode {
    id: u32,
    /// The one that it goes on from; the first has none.
    pub(super) parent: Option<u32>,
    /// Its index among the functions of the snapshot.
    pub(super) function_index: u64,
    /// Allocations there, alive or not.
    pub(super) allocation_count: u64,
    pub(super) allocated_bytes: u64,
}

/// The stacks of a recording, each behind the one that it goes on from.
#[derive(Debug, Default)]
pub(super) struct AllocationStacks {
    pub(super) trace_nodes: Vec<TraceNode>,
    /// (id, number), ascending.
    numbers_by_id: Vec<(u32, u32)>,
}

/// A list of stacks that is being read.
struct OpenStackList {
    /// The stack that those of the list go on from.
    parent: Option<u32>,
    /// Fields of the stack at hand, and how many of them have come.
    row: [u64; super::layout::MAX_FIELDS],
    field_index: usize,
}

impl AllocationStacks {
    /// From nested lists of any depth; what is no list of stacks ends the reading.
    pub(super) fn read(snapshot: &Snapshot) -> AllocationStacks {
        let mut stacks = AllocationStacks::default();
        let Some(fields) = snapshot.layout.stack_fields else { return stacks };
        let json = &snapshot.stack_tree;
        let mut levels: Vec<OpenStackList> = Vec::new();
        let (mut field_index, new) =
            (0, |parent| OpenStackList { parent, row: [0; super::layout::MAX_FIELDS], field_index: 0 });
        while let Some(&byte) = json.get(field_index) {
            field_index += 1;
            match (byte, levels.last_mut()) {
                (b'[', None) if stacks.trace_nodes.is_empty() => levels.push(new(None)),
                // The last field of a stack has those below it.
                (b'[', Some(level)) if level.field_index + 1 == fields.width => {
                    let number = stacks.trace_nodes.len() as u32;
                    let [id, function, count, bytes, _] = fields.positions.map(|place| level.row[place]);
                    let id = u32::try_from(id).unwrap_or(0);
                    stacks.trace_nodes.push(TraceNode {
                        id,
                        parent: level.parent,
                        function_index: function,
                        allocation_count: count,
                        allocated_bytes: bytes,
                    });
                    level.field_index = 0;
                    levels.push(new(Some(number)));
                }
                (b']', Some(_)) => _ = levels.pop(),
                (b'0'..=b'9', Some(level)) if level.field_index + 1 < fields.width => {
                    let mut value = u64::from(byte - b'0');
                    while let Some(digit) =
                        json.get(field_index).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10)
                    {
                        value = value.wrapping_mul(10).wrapping_add(digit.into());
                        field_index += 1;
                    }
                    level.row[level.field_index] = value;
                    level.field_index += 1;
                }
                (b',' | b' ' | b'\n' | b'\r' | b'\t', _) => {}
                _ => break,
            }
        }
        stacks.numbers_by_id =
            stacks.trace_nodes.iter().enumerate().map(|(number, stack)| (stack.id, number as u32)).collect();
        stacks.numbers_by_id.sort_unstable();
        stacks
    }

    pub(super) fn is_empty(&self) -> bool {
        self.trace_nodes.is_empty()
    }

    /// The number of the stack with an id.
    pub(super) fn number_of_id(&self, id: u32) -> Option<u32> {
        let field_index = self.numbers_by_id.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        Some(self.numbers_by_id[field_index].1)
    }

    /// The functions of a stack from the one that allocated up to the first.
    pub(super) fn function_indices(&self, number: u32) -> impl Iterator<Item = u64> {
        let mut next = Some(number);
        std::iter::from_fn(move || {
            let stack = self.trace_nodes[next? as usize];
            next = stack.parent;
            // The first stands for all of them.
            stack.parent.map(|_| stack.function_index)
        })
    }
}
