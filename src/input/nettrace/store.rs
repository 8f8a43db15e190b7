//! Destinations of bulk data: the graph's builder, or totals by type alone.

use super::counts::CountStore;
use super::fields::{u32_at, u64_at};
use super::heap_event::BulkEvent;
use super::payload::BulkHead;
use super::types::TypeTable;
use crate::graph::{BuildError, GraphBuilder, IdStyle, MemoryBudget, ObjectColumns, Section, SectionId};

/// Takes the bulk streams.
pub(super) enum SnapshotStore {
    Graph(Box<GraphStore>),
    Counts(CountStore),
}

/// Every event's objects or references are a piece of the builder's two streams.
pub(super) struct GraphStore {
    pub(super) builder: GraphBuilder,
    pub(super) section: SectionId,
    columns: ObjectColumns,
    /// The builder's slot of each type number.
    pub(super) slots: Vec<u32>,
}

impl Default for SnapshotStore {
    fn default() -> Self {
        SnapshotStore::Counts(CountStore::default())
    }
}

impl SnapshotStore {
    pub(super) fn graph(budget: &MemoryBudget) -> Self {
        let mut builder = GraphBuilder::new(IdStyle::Prefixed);
        builder.limit_memory(budget);
        let section = builder.begin_section(Section::default());
        SnapshotStore::Graph(Box::new(GraphStore {
            builder,
            section,
            columns: ObjectColumns::default(),
            slots: Vec::new(),
        }))
    }

    /// Bytes of memory it has besides the builder.
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            SnapshotStore::Graph(graph) => graph.columns.memory_bytes() + graph.slots.len() * 4,
            SnapshotStore::Counts(counts) => counts.memory_bytes(),
        }
    }

    /// Entries `A address, u64 bytes, u64 typeId, u64 references`.
    pub(super) fn add_nodes(
        &mut self,
        head: BulkHead<'_>,
        offset: u64,
        pointer: usize,
        types: &mut TypeTable,
    ) -> Result<BulkEvent, BuildError> {
        if pointer == 4 {
            let (entries, _) = head.entries.as_chunks::<28>();
            let nodes = entries.iter().map(|e| (u64::from(u32_at(e, 0)), u64_at(e, 4), u64_at(e, 12), u64_at(e, 20)));
            self.add(nodes.take(head.count as usize), head.index, offset, 28, types)
        } else {
            let (entries, _) = head.entries.as_chunks::<32>();
            let nodes = entries.iter().map(|e| (u64_at(e, 0), u64_at(e, 8), u64_at(e, 16), u64_at(e, 24)));
            self.add(nodes.take(head.count as usize), head.index, offset, 32, types)
        }
    }

    fn add(
        &mut self,
        nodes: impl Iterator<Item = (u64, u64, u64, u64)>,
        index: u32,
        offset: u64,
        stride: u64,
        types: &mut TypeTable,
    ) -> Result<BulkEvent, BuildError> {
        let mut bulk = BulkEvent { index, ..BulkEvent::default() };
        // Noted on the way, so that the entries are read once.
        let noted = nodes.map(|(address, bytes, type_id, references)| {
            bulk.count += 1;
            bulk.bytes = bulk.bytes.saturating_add(bytes);
            bulk.declared_references = bulk.declared_references.saturating_add(references);
            (address, types.number(type_id), bytes, references)
        });
        match self {
            SnapshotStore::Graph(graph) => {
                graph.columns.clear();
                graph.columns.extend_counted(noted, offset + 10, stride);
                graph.columns.seal();
                while graph.slots.len() < types.ids.len() {
                    graph.slots.push(graph.builder.new_type().0);
                }
                bulk.piece = graph.builder.chunk_counts().0;
                let objects = 0..graph.columns.len();
                // An empty event must have a piece too: they are counted as they come.
                if !objects.is_empty() {
                    graph.builder.append(graph.section, &graph.columns, objects, &graph.slots, 0, false)?;
                }
            }
            SnapshotStore::Counts(counts) => {
                let noted = noted.map(|(address, number, bytes, _)| (address, number, bytes));
                bulk.piece = counts.add(offset, noted);
            }
        }
        Ok(bulk)
    }

    /// Entries `A target, u32 field`; the field is always 0.
    pub(super) fn add_edges(
        &mut self,
        head: BulkHead<'_>,
        offset: u64,
        pointer: usize,
    ) -> Result<BulkEvent, BuildError> {
        let stride = pointer + 4;
        let count = (head.entries.len() / stride).min(head.count as usize);
        let mut bulk = BulkEvent { index: head.index, count: count as u64, ..BulkEvent::default() };
        if let SnapshotStore::Graph(graph) = self {
            graph.columns.clear();
            if pointer == 4 {
                let (entries, _) = head.entries.as_chunks::<8>();
                graph.columns.extend_references(entries[..count].iter().map(|entry| u32_at(entry, 0).into()));
            } else {
                let (entries, _) = head.entries.as_chunks::<12>();
                graph.columns.extend_references(entries[..count].iter().map(|entry| u64_at(entry, 0)));
            }
            graph.columns.seal();
            bulk.piece = graph.builder.chunk_counts().1;
            graph.builder.append_references(&graph.columns, offset + 10, stride as u64)?;
        }
        Ok(bulk)
    }
}
