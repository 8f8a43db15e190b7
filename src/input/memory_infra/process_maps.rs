//! Rows of `heaps_v2` to heaps, with the maps that a process's dumps have brought so far.

use rustc_hash::FxHashMap;

use super::collector::DumpEvent;
use super::event_dumps::{EntryColumns, HeapsV2, NodeOrTypeRow};
use super::frame_stacks::{FrameCache, NO_NODE};
use super::heap_maker::{HeapMaker, ModuleMap, UnnamedHeap, undo_double_escape};
use super::problem_codes;
use super::raw_ids::NumberMap;
use crate::allocations::{AllocationEntry, CountingMode, NameId, NameTable};

/// Strings, nodes and types of a process. Later dumps send what is new; an id sent again has its new meaning.
#[derive(Default)]
pub(super) struct ProcessMaps {
    /// Texts by the ids of strings.
    strings: NumberMap<NameId>,
    /// Places in `node_rows`.
    rows_by_node_id: NumberMap<u32>,
    node_rows: Vec<NodeOrTypeRow>,
    /// By row.
    frame_caches: Vec<FrameCache>,
    /// By row: its node in the heap at hand.
    nodes_in_heap: Vec<u32>,
    /// Generation of the module map; names of earlier ones are forgotten.
    module_map_generation: u32,
    /// Rows that have a node in the heap at hand.
    rows_in_heap: Vec<u32>,
    /// By id of a type: the id of the string that is its name.
    type_name_string_ids: FxHashMap<u64, u64>,
    /// Names of nodes were asked for whose string nobody had told.
    has_unnamed_nodes: bool,
}

impl ProcessMaps {
    /// Adds the maps of one dump to those that are known of its process.
    pub(super) fn merge_maps(&mut self, heaps: &HeapsV2, names: &mut NameTable) {
        let mut renamed = false;
        for &(id, name) in &heaps.strings {
            let name = match undo_double_escape(names.text(name)) {
                Some(text) => names.intern(&text),
                None => name,
            };
            let before = self.strings.insert(id, name);
            renamed |= before.map_or(self.has_unnamed_nodes, |before| before != name);
        }
        if renamed {
            self.forget_names();
        }
        for &node in &heaps.nodes {
            let Some(row) = self.rows_by_node_id.find(node.id) else {
                self.rows_by_node_id.insert(node.id, self.node_rows.len() as u32);
                self.node_rows.push(node);
                self.frame_caches.push(FrameCache::EMPTY);
                self.nodes_in_heap.push(NO_NODE);
                continue;
            };
            let row = row as usize;
            if self.node_rows[row] != node {
                self.node_rows[row] = node;
                self.frame_caches[row] = FrameCache::EMPTY;
            }
        }
        self.type_name_string_ids.extend(heaps.types.iter().copied());
    }

    /// Nodes may be called otherwise now: another memory map, or other strings.
    pub(super) fn forget_names(&mut self) {
        self.module_map_generation += 1;
        self.has_unnamed_nodes = false;
    }

    /// Makes the heap of an allocator from its columns.
    pub(super) fn build_heap(
        &mut self,
        maker: &mut HeapMaker<'_>,
        columns: &EntryColumns,
        event: &DumpEvent,
        modules: &ModuleMap,
    ) -> UnnamedHeap {
        let rows = columns.sizes.len().min(columns.types.len()).min(columns.nodes.len());
        let longest = columns.sizes.len().max(columns.types.len()).max(columns.nodes.len());
        if rows < longest || (columns.counts.len() != 0 && columns.counts.len() != longest) {
            maker.add_problem(&problem_codes::UNEVEN_COLUMNS, event, || format!("{rows} of {longest} rows"));
        }
        maker.builder.reserve_entries(rows);
        let mut types: FxHashMap<u64, NameId> = FxHashMap::default();
        for row in 0..rows {
            let Some(bytes) = columns.sizes.at(row) else {
                maker.add_problem(&problem_codes::BAD_ENTRY, event, String::new);
                continue;
            };
            let frame = match columns.nodes.at(row) {
                Some(id) => self.find_or_add_node(maker, id, event, modules),
                None => 0,
            };
            let type_id = columns.types.at(row).unwrap_or(0);
            let type_name = *types.entry(type_id).or_insert_with(|| self.type_name_of_id(maker, type_id, event));
            let allocations = columns.counts.at(row);
            maker.builder.add_entry(AllocationEntry::new(frame, Some(type_name), bytes, allocations));
        }
        let (frames, entries) = maker.builder.finish_heap(Some(maker.self_name));
        for row in self.rows_in_heap.drain(..) {
            self.nodes_in_heap[row as usize] = NO_NODE;
        }
        UnnamedHeap { counting: CountingMode::Exclusive, frames, entries }
    }

    /// The name of a type by its id, or what stands in for it.
    fn type_name_of_id(&self, maker: &mut HeapMaker<'_>, id: u64, event: &DumpEvent) -> NameId {
        match self.type_name_string_ids.get(&id).and_then(|string| self.strings.find(*string)) {
            Some(name) => maker.type_name(name),
            None => {
                maker.add_problem(&problem_codes::UNKNOWN_TYPE, event, || id.to_string());
                maker.names.intern(&format!("<type {id}>"))
            }
        }
    }

    /// The node of an id, made with all its callers; node 0 for ids that nobody has told (-1 stands for an empty
    /// backtrace).
    fn find_or_add_node(&mut self, maker: &mut HeapMaker<'_>, id: u64, event: &DumpEvent, modules: &ModuleMap) -> u32 {
        let mut path = Vec::new();
        let mut at = id;
        let mut node = loop {
            let Some(row) = self.rows_by_node_id.find(at) else {
                if at != u64::MAX {
                    maker.add_problem(&problem_codes::UNKNOWN_FRAME, event, || at.to_string());
                }
                break 0;
            };
            match self.nodes_in_heap[row as usize] {
                NO_NODE => {}
                node => break node,
            }
            // A path longer than there are nodes goes in circles.
            if path.len() >= self.node_rows.len() {
                maker.add_problem(&problem_codes::CYCLIC_STACK_FRAMES, event, || at.to_string());
                break 0;
            }
            path.push(row);
            match self.node_rows[row as usize].parent {
                Some(parent) => at = parent,
                None => break 0,
            }
        };
        while let Some(row) = path.pop() {
            let name_sid = self.node_rows[row as usize].name_sid;
            let cache = &mut self.frame_caches[row as usize];
            let name = cache.name(self.module_map_generation, || match self.strings.find(name_sid) {
                Some(name) => maker.frame_name(name, modules),
                None => {
                    self.has_unnamed_nodes = true;
                    maker.names.intern(&format!("<string {name_sid}>"))
                }
            });
            node = cache.make_node(&mut maker.builder, node, name);
            self.nodes_in_heap[row as usize] = node;
            self.rows_in_heap.push(row);
        }
        node
    }
}
