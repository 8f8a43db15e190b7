//! Destinations of bulk data: the graph's builder, or totals by type alone. Those are kept apart for each event: only at the end
//! of the file is known which events make a snapshot. An event's totals are packed, a few bytes for each type that it has:
//! about 1 % of the event.

use super::payload::BulkHead;
use super::primitives::{u32_at, u64_at};
use super::snapshots::BulkEvent;
use super::types::TraceTypes;
use crate::graph::{BuildError, GraphBuilder, IdStyle, MemoryBudget, ObjectColumns, Section, SectionId};
use crate::input::repeat_detector::MAX_ID_STEP;
use crate::input::sink::{ObjectsAndBytes, SlotTotals};
use crate::input::{Diagnostics, Position};

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
    pub(super) type_slots: Vec<u32>,
}

impl Default for SnapshotStore {
    fn default() -> Self {
        SnapshotStore::Counts(CountStore::default())
    }
}

impl SnapshotStore {
    pub(super) fn new_graph(budget: &MemoryBudget) -> Self {
        let mut builder = GraphBuilder::new(IdStyle::Prefixed);
        builder.limit_memory(budget);
        let section = builder.begin_section(Section::default());
        SnapshotStore::Graph(Box::new(GraphStore {
            builder,
            section,
            columns: ObjectColumns::default(),
            type_slots: Vec::new(),
        }))
    }

    /// Bytes of memory it has besides the builder.
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            SnapshotStore::Graph(graph) => graph.columns.memory_bytes() + graph.type_slots.len() * 4,
            SnapshotStore::Counts(counts) => counts.memory_bytes(),
        }
    }

    /// Entries `A address, u64 bytes, u64 typeId, u64 references`.
    pub(super) fn add_nodes(
        &mut self,
        head: BulkHead<'_>,
        offset: u64,
        pointer: usize,
        types: &mut TraceTypes,
    ) -> Result<BulkEvent, BuildError> {
        if pointer == 4 {
            let (entries, _) = head.entries.as_chunks::<28>();
            let nodes = entries.iter().map(|e| (u64::from(u32_at(e, 0)), u64_at(e, 4), u64_at(e, 12), u64_at(e, 20)));
            self.add_node_rows(nodes.take(head.count as usize), head.index, offset, 28, types)
        } else {
            let (entries, _) = head.entries.as_chunks::<32>();
            let nodes = entries.iter().map(|e| (u64_at(e, 0), u64_at(e, 8), u64_at(e, 16), u64_at(e, 24)));
            self.add_node_rows(nodes.take(head.count as usize), head.index, offset, 32, types)
        }
    }

    fn add_node_rows(
        &mut self,
        nodes: impl Iterator<Item = (u64, u64, u64, u64)>,
        index: u32,
        offset: u64,
        stride: u64,
        types: &mut TraceTypes,
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
                graph.columns.extend_counted_objects(noted, offset + 10, stride);
                graph.columns.seal();
                while graph.type_slots.len() < types.ids.len() {
                    graph.type_slots.push(graph.builder.new_type().0);
                }
                bulk.piece = graph.builder.chunk_counts().0;
                let objects = 0..graph.columns.len();
                // An empty event must have a piece too: they are counted as they come.
                if !objects.is_empty() {
                    graph.builder.append(graph.section, &graph.columns, objects, &graph.type_slots, 0, false)?;
                }
            }
            SnapshotStore::Counts(counts) => {
                let noted = noted.map(|(address, number, bytes, _)| (address, number, bytes));
                bulk.piece = counts.add_event(offset, noted);
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

/// Runs of ascending addresses that are told apart in an event; what comes after is one more.
const MAX_ADDRESS_RUNS: usize = 16;

/// Totals by type of each event, where no graph is built.
#[derive(Debug, Default)]
pub(super) struct CountStore {
    /// Start of each event in `packed_totals`.
    event_starts: Vec<usize>,
    packed_totals: Vec<u8>,
    /// Of the event at hand, by type number.
    event_totals: Vec<ObjectsAndBytes>,
    /// The type numbers that the event at hand has.
    type_numbers: Vec<u32>,
    address_runs: Vec<AddressRun>,
    /// The greatest address so far: what does not go beyond it is a run of its own.
    greatest_address: u64,
}

/// Objects with ascending addresses; in the run that is one too many, with any addresses.
#[derive(Debug, Clone, Copy)]
struct AddressRun {
    lowest_address: u64,
    highest_address: u64,
    object_count: u64,
    is_ascending: bool,
}

impl CountStore {
    pub(super) fn memory_bytes(&self) -> usize {
        self.packed_totals.capacity()
            + self.event_starts.capacity() * size_of::<usize>()
            + self.event_totals.len() * size_of::<ObjectsAndBytes>()
    }

    /// Takes an event's objects (address, type number, bytes); gives the event's number.
    pub(super) fn add_event(&mut self, offset: u64, objects: impl Iterator<Item = (u64, u32, u64)>) -> usize {
        self.address_runs.clear();
        for (address, number, bytes) in objects {
            let at = number as usize;
            if at >= self.event_totals.len() {
                self.event_totals.resize(at + 1, ObjectsAndBytes::default());
            }
            if self.event_totals[at].objects == 0 {
                self.type_numbers.push(number);
            }
            self.event_totals[at].objects += 1;
            self.event_totals[at].bytes += u128::from(bytes);
            self.note_address(address);
        }
        self.event_starts.push(self.packed_totals.len());
        self.pack_event_totals(offset);
        self.event_starts.len() - 1
    }

    /// Adds an address to the runs of the event at hand.
    fn note_address(&mut self, address: u64) {
        let (greatest, is_full) = (self.greatest_address, self.address_runs.len() > MAX_ADDRESS_RUNS);
        self.greatest_address = greatest.max(address);
        match self.address_runs.last_mut() {
            // Goes on, and not beyond others or over what may come later.
            Some(run)
                if address > run.highest_address
                    && address - run.highest_address <= MAX_ID_STEP
                    && (run.highest_address == greatest || address < greatest) =>
            {
                (run.highest_address, run.object_count) = (address, run.object_count + 1);
            }
            Some(run) if is_full => {
                run.is_ascending &= address > run.highest_address;
                (run.lowest_address, run.highest_address) =
                    (run.lowest_address.min(address), run.highest_address.max(address));
                run.object_count += 1;
            }
            _ => self.address_runs.push(AddressRun {
                lowest_address: address,
                highest_address: address,
                object_count: 1,
                is_ascending: true,
            }),
        }
    }

    /// Packs the totals and runs of the event at hand, and leaves none.
    fn pack_event_totals(&mut self, offset: u64) {
        let packed = &mut self.packed_totals;
        push_packed_number(packed, offset.into());
        self.type_numbers.sort_unstable();
        push_packed_number(packed, self.type_numbers.len() as u128);
        let mut before = 0;
        for number in self.type_numbers.drain(..) {
            let total = std::mem::take(&mut self.event_totals[number as usize]);
            push_packed_number(packed, (number - before).into());
            push_packed_number(packed, total.objects.into());
            push_packed_number(packed, total.bytes);
            before = number;
        }
        push_packed_number(packed, self.address_runs.len() as u128);
        for run in &self.address_runs {
            push_packed_number(packed, run.lowest_address.into());
            push_packed_number(packed, (run.highest_address - run.lowest_address).into());
            push_packed_number(packed, u128::from(run.object_count) << 1 | u128::from(run.is_ascending));
        }
    }

    /// The totals of these events together, by type number.
    pub(super) fn totals_of(&self, events: &[usize], diagnostics: &mut Diagnostics) -> SlotTotals {
        let mut totals = SlotTotals::default();
        totals.by_slot.resize(self.event_totals.len(), ObjectsAndBytes::default());
        for &event in events {
            let Some(&start) = self.event_starts.get(event) else { continue };
            let mut at = start;
            let mut next = || read_packed_number(&self.packed_totals, &mut at);
            let offset = next() as u64;
            let (mut number, mut bytes) = (0, 0);
            for _ in 0..next() {
                number += next() as usize;
                let total = &mut totals.by_slot[number];
                total.objects += next() as u64;
                let added = next();
                total.bytes += added;
                bytes += added;
            }
            totals.sums.add(bytes, |_| offset);
            for _ in 0..next() {
                let first = next() as u64;
                let last = first + next() as u64;
                let objects = next();
                totals.add_run((first, last), (objects >> 1) as u64, objects & 1 == 1, offset);
            }
        }
        totals.report(diagnostics, Position::Byte);
        totals
    }
}

/// Seven bits a byte, low group first.
fn push_packed_number(packed: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        packed.push(value as u8 | 0x80);
        value >>= 7;
    }
    packed.push(value as u8);
}

fn read_packed_number(packed: &[u8], at: &mut usize) -> u128 {
    let (mut value, mut shift) = (0, 0);
    while let Some(&byte) = packed.get(*at) {
        *at += 1;
        value |= u128::from(byte & 0x7F) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}
