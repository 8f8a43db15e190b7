//! Rows of `heaps_v2` to heaps, with the maps that a process's dumps have brought so far.

use rustc_hash::FxHashMap;

use super::assemble::{Assembler, HeapParts};
use super::codes;
use super::collect::DumpEvent;
use super::heaps_v2::{Columns, HeapsV2, NodeRow};
use super::naming::{Modules, unescaped_twice, unwrapped};
use crate::allocations::{Entry, Meaning, NameId, Names};

/// Strings, nodes and types of a process. Later dumps send what is new; an id sent again has its new meaning.
#[derive(Default)]
pub(super) struct MapsOfProcess {
    strings: FxHashMap<u64, NameId>,
    nodes: FxHashMap<u64, NodeRow>,
    types: FxHashMap<u64, u64>,
}

/// How far the nodes of a heap are known.
struct Nodes<'a> {
    /// By id.
    known: FxHashMap<u64, u32>,
    event: &'a DumpEvent,
    modules: &'a Modules,
}

impl MapsOfProcess {
    /// Takes over the maps of a dump.
    pub(super) fn learn(&mut self, heaps: &HeapsV2, names: &mut Names) {
        for &(id, name) in &heaps.strings {
            let name = match unescaped_twice(names.text(name)) {
                Some(text) => names.intern(&text),
                None => name,
            };
            self.strings.insert(id, name);
        }
        self.nodes.extend(heaps.nodes.iter().map(|node| (node.id, *node)));
        self.types.extend(heaps.types.iter().copied());
    }

    /// The heap of an allocator.
    pub(super) fn heap(
        &self,
        assembler: &mut Assembler<'_>,
        columns: &Columns,
        event: &DumpEvent,
        modules: &Modules,
    ) -> HeapParts {
        let rows = columns.sizes.len().min(columns.types.len()).min(columns.nodes.len());
        let longest = columns.sizes.len().max(columns.types.len()).max(columns.nodes.len());
        if rows < longest || (columns.counts.len() != 0 && columns.counts.len() != longest) {
            assembler.note(&codes::UNEVEN_COLUMNS, event, || format!("{rows} of {longest} rows"));
        }
        assembler.builder.reserve(rows);
        let mut nodes = Nodes { known: FxHashMap::default(), event, modules };
        let mut types: FxHashMap<u64, NameId> = FxHashMap::default();
        for row in 0..rows {
            let Some(bytes) = columns.sizes.at(row) else {
                assembler.note(&codes::BAD_ENTRY, event, String::new);
                continue;
            };
            let frame = match columns.nodes.at(row) {
                Some(id) => self.node_of(assembler, &mut nodes, id),
                None => 0,
            };
            let type_id = columns.types.at(row).unwrap_or(0);
            let type_name = *types.entry(type_id).or_insert_with(|| self.type_of(assembler, type_id, event));
            let allocations = columns.counts.at(row);
            assembler.builder.add(Entry::new(frame, Some(type_name), bytes, allocations));
        }
        let (frames, entries) = assembler.builder.finish(Some(assembler.self_name()));
        HeapParts { meaning: Meaning::Parts, frames, entries }
    }

    fn type_of(&self, assembler: &mut Assembler<'_>, id: u64, event: &DumpEvent) -> NameId {
        match self.types.get(&id).and_then(|string| self.strings.get(string)) {
            Some(&name) if assembler.raw_types => name,
            Some(&name) => {
                let text = unwrapped(assembler.names.text(name)).to_string();
                assembler.names.intern(&text)
            }
            None => {
                assembler.note(&codes::UNKNOWN_TYPE, event, || id.to_string());
                assembler.names.intern(&format!("<type {id}>"))
            }
        }
    }

    /// The node of an id, made with all its callers; node 0 for ids that nobody has told (-1 stands for an empty
    /// backtrace).
    fn node_of(&self, assembler: &mut Assembler<'_>, nodes: &mut Nodes<'_>, id: u64) -> u32 {
        let event = nodes.event;
        let mut path = Vec::new();
        let mut at = id;
        let mut node = loop {
            if let Some(&node) = nodes.known.get(&at) {
                break node;
            }
            let Some(row) = self.nodes.get(&at) else {
                if at != u64::MAX {
                    assembler.note(&codes::UNKNOWN_FRAME, event, || at.to_string());
                }
                break 0;
            };
            // A path longer than there are nodes goes in circles.
            if path.len() >= self.nodes.len() {
                assembler.note(&codes::CYCLIC_STACK_FRAMES, event, || at.to_string());
                break 0;
            }
            path.push(row);
            match row.parent {
                Some(parent) => at = parent,
                None => break 0,
            }
        };
        while let Some(row) = path.pop() {
            let name = match self.strings.get(&row.name_sid) {
                Some(&name) => assembler.frame_name(name, nodes.modules),
                None => assembler.names.intern(&format!("<string {}>", row.name_sid)),
            };
            node = assembler.builder.frame(node, name);
            nodes.known.insert(row.id, node);
        }
        node
    }
}
