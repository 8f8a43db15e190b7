//! Allocations by stack.

use super::again::Read;
use crate::allocations::{AllocationDump, AllocationHeap, Counting, Entry, HeapBuilder, MemoryDump, NameId, Names};
use crate::graph::{HeapGraph, NodeId};

impl Read {
    /// A function of a stack with its place: `leak (app.js:12:5)`.
    fn frame(&self, function: u64) -> String {
        let strings = &self.snapshot.strings;
        let found = usize::try_from(function).ok().and_then(|at| self.snapshot.functions.get(at));
        let Some(function) = found else { return format!("<function {function}>") };
        let name = strings.name(function.name);
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
    pub(super) fn stack(&self, node: u32) -> Option<Vec<String>> {
        let at = self.snapshot.stacks.binary_search_by_key(&node, |&(node, _)| node).ok()?;
        let number = self.stacks.find(self.snapshot.stacks[at].1)?;
        Some(self.stacks.functions(number).map(|function| self.frame(function)).collect())
    }

    /// Objects and bytes by stack, those that are alive and all that were allocated; `None` of a snapshot without stacks.
    pub(super) fn allocations(&self, graph: &HeapGraph, node_of: impl Fn(u32) -> Option<NodeId>) -> AllocationDump {
        let mut names = Names::default();
        let mut builder = HeapBuilder::new(names.intern(""));
        let own_share = names.intern("<self>");
        let mut heaps = Vec::new();
        for allocator in ["live", "allocated"] {
            let mut frames: Vec<u32> = Vec::with_capacity(self.stacks.all.len());
            for stack in &self.stacks.all {
                frames.push(match stack.parent {
                    Some(parent) => {
                        let name = names.intern(&self.frame(stack.function));
                        builder.frame(frames[parent as usize], name)
                    }
                    None => 0,
                });
            }
            if allocator == "live" {
                for &(ordinal, id) in &self.snapshot.stacks {
                    let (Some(stack), Some(node)) = (self.stacks.find(id), node_of(ordinal)) else { continue };
                    if graph.counts(node) {
                        let class: NameId = names.intern(graph.type_name(graph.type_of(node)));
                        let bytes = graph.shallow_bytes(node);
                        builder.add(Entry::new(frames[stack as usize], Some(class), bytes, Some(1)));
                    }
                }
            } else {
                // Of these no types are known: figures of a stack are those of all that go on from it, too.
                let mut sums: Vec<(u64, u64)> = self.stacks.all.iter().map(|own| (own.bytes, own.count)).collect();
                let mut goes_on = vec![false; sums.len()];
                for (number, stack) in self.stacks.all.iter().enumerate().rev() {
                    let (bytes, count) = sums[number];
                    builder.add(Entry::new(frames[number], None, bytes, Some(count)));
                    if goes_on[number] && (stack.bytes, stack.count) != (0, 0) {
                        let own = builder.frame(frames[number], own_share);
                        builder.add(Entry::new(own, None, stack.bytes, Some(stack.count)));
                    }
                    if let Some(parent) = stack.parent {
                        let sum = &mut sums[parent as usize];
                        *sum = (sum.0.saturating_add(bytes), sum.1.saturating_add(count));
                        goes_on[parent as usize] = true;
                    }
                }
            }
            let (frames, entries) = builder.finish(Some(own_share));
            heaps.push(AllocationHeap {
                dump: 1,
                pid: 0,
                part: 1,
                process: String::new(),
                labels: String::new(),
                allocator: allocator.into(),
                counting: if allocator == "live" { Counting::Exclusive } else { Counting::CompleteInclusive },
                frames,
                entries,
            });
        }
        let moment = MemoryDump { id: String::new(), started_us: 0, detail: String::new() };
        AllocationDump { names, dumps: vec![moment], heaps }
    }
}
