//! Events of a trace that describe its snapshots, sorted into these: a walk over the events in the order of time. A collection of
//! all generations that stops the program holds a snapshot when objects, references or roots come before its end.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::graph::GenerationRange;
use crate::sort;

/// A piece of one of the bulk streams.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BulkEvent {
    /// The event's number within its collection, from 0.
    pub(super) index: u32,
    /// The place of its content in the store.
    pub(super) piece: usize,
    /// Objects or references.
    pub(super) count: u64,
    pub(super) bytes: u64,
    /// References that the objects say they have.
    pub(super) declared_references: u64,
}

/// What an event says of the heap. Ranges are of rows in the collector.
#[derive(Debug, Clone)]
pub(super) enum HeapEventKind {
    /// A collection begins; one of all generations that stops the program may hold a snapshot.
    CollectionStart {
        collection_number: u32,
        may_hold_snapshot: bool,
    },
    CollectionEnd {
        collection_number: u32,
    },
    /// Begin and end of a snapshot without a collection of its own.
    GenAwareBegin,
    GenAwareEnd,
    Nodes(BulkEvent),
    Edges(BulkEvent),
    Roots {
        index: u32,
        rows: Range<usize>,
    },
    DependentHandles {
        index: u32,
        rows: Range<usize>,
    },
    StaticRoots(Range<usize>),
    ComReferences(Range<usize>),
    GenerationRange(GenerationRange),
}

/// An event that tells of the heap.
#[derive(Debug, Clone)]
pub(super) struct HeapEvent {
    pub(super) timestamp: u64,
    /// Of its payload, in the file.
    pub(super) offset: u64,
    /// The number of the process; 0 where the file does not say it.
    pub(super) process: u64,
    pub(super) kind: HeapEventKind,
}

/// Events of a thread that were lost, between two times.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventGap {
    pub(super) from_ticks: u64,
    pub(super) until_ticks: u64,
    pub(super) lost_event_count: u64,
    /// Where it shows, in the file.
    pub(super) offset: u64,
}

/// The events of one snapshot, as indices of `heap_events`.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// The collection's number, if its start was seen.
    collection_number: Option<u32>,
    /// The start of its collection was seen.
    pub(super) is_start_seen: bool,
    /// The end of its collection was seen.
    pub(super) is_end_seen: bool,
    pub(super) first_ticks: u64,
    /// The time of its end; the greatest number where its end was not seen.
    pub(super) last_ticks: u64,
    /// Of its first event, in the file.
    pub(super) offset: u64,
    node_events: Vec<usize>,
    edge_events: Vec<usize>,
    /// Roots, dependent handles, statics, COM objects.
    pub(super) other_events: Vec<usize>,
    generation_ranges: Vec<GenerationRange>,
    /// Number of ranges before the first objects: they are of before the collection.
    ranges_before_objects: usize,
}

/// One of the two bulk streams of a snapshot, in the order of the events' numbers.
#[derive(Debug, Default)]
pub(super) struct BulkStream {
    /// Places in the store.
    pub(super) pieces: Vec<usize>,
    /// Objects or references in all pieces.
    pub(super) count: u64,
    pub(super) bytes: u64,
    /// References that its objects say they have.
    pub(super) declared_references: u64,
    /// Objects or references before the first missing event.
    pub(super) contiguous_count: u64,
    /// Missing events, and where the first shows.
    pub(super) missing_events: (u64, u64),
    /// Events whose number was there before, and the first of them.
    pub(super) repeated_events: (u64, u64),
}

impl Snapshot {
    fn begin(event: &HeapEvent, gc: Option<u32>, has_begun: bool) -> Self {
        Snapshot {
            collection_number: gc,
            is_start_seen: has_begun,
            first_ticks: event.timestamp,
            offset: event.offset,
            ..Snapshot::default()
        }
    }

    fn is_empty(&self) -> bool {
        self.node_events.is_empty() && self.edge_events.is_empty() && self.other_events.is_empty()
    }

    pub(super) fn node_stream(&self, heap_events: &[HeapEvent]) -> BulkStream {
        BulkStream::of(&self.node_events, heap_events)
    }

    pub(super) fn edge_stream(&self, heap_events: &[HeapEvent]) -> BulkStream {
        BulkStream::of(&self.edge_events, heap_events)
    }

    /// Its collection was seen from the start to the end.
    pub(super) fn is_complete(&self) -> bool {
        self.is_start_seen && self.is_end_seen
    }

    /// Is it whole, with nothing missing as far as the numbers say?
    pub(super) fn is_undamaged(&self, heap_events: &[HeapEvent]) -> bool {
        let (nodes, edges) = (self.node_stream(heap_events), self.edge_stream(heap_events));
        self.is_complete()
            && nodes.missing_events.0 + edges.missing_events.0 == 0
            && nodes.declared_references == edges.count
    }

    /// The collector's generations after the collection.
    pub(super) fn generations(&self) -> Vec<GenerationRange> {
        let new = &self.generation_ranges[self.ranges_before_objects..];
        if new.is_empty() { self.generation_ranges.clone() } else { new.to_vec() }
    }
}

impl BulkStream {
    fn of(events: &[usize], heap_events: &[HeapEvent]) -> Self {
        let mut bulks: Vec<(BulkEvent, u64)> = events
            .iter()
            .filter_map(|&at| match heap_events[at].kind {
                HeapEventKind::Nodes(bulk) | HeapEventKind::Edges(bulk) => Some((bulk, heap_events[at].offset)),
                _ => None,
            })
            .collect();
        sort::rows_by_key(&mut bulks, |(bulk, _)| bulk.index);
        let mut stream = BulkStream::default();
        let mut expected = 0u64;
        for (bulk, offset) in bulks {
            let index = u64::from(bulk.index);
            if index < expected {
                stream.repeated_events = (
                    stream.repeated_events.0 + 1,
                    if stream.repeated_events.0 == 0 { offset } else { stream.repeated_events.1 },
                );
                continue;
            }
            if index > expected {
                if stream.missing_events.0 == 0 {
                    stream.missing_events.1 = offset;
                }
                stream.missing_events.0 += index - expected;
            }
            expected = index + 1;
            // An event of nothing has no piece.
            if bulk.count > 0 {
                stream.pieces.push(bulk.piece);
            }
            stream.count += bulk.count;
            stream.bytes = stream.bytes.saturating_add(bulk.bytes);
            stream.declared_references = stream.declared_references.saturating_add(bulk.declared_references);
            if stream.missing_events.0 == 0 {
                stream.contiguous_count += bulk.count;
            }
        }
        stream
    }
}

/// All snapshots, in the order of time. The events must be in that order.
pub(super) fn find_snapshots(heap_events: &[HeapEvent]) -> Vec<Snapshot> {
    let mut found: Vec<Snapshot> = Vec::new();
    let mut open: FxHashMap<u64, Snapshot> = FxHashMap::default();
    let close = |found: &mut Vec<Snapshot>, snapshot: Option<Snapshot>, has_ended: bool, until: u64| {
        if let Some(mut snapshot) = snapshot.filter(|snapshot| !snapshot.is_empty()) {
            snapshot.is_end_seen = has_ended;
            // Without an end anything behind may have been part of it.
            snapshot.last_ticks = if has_ended { until } else { u64::MAX };
            found.push(snapshot);
        }
    };
    for (at, event) in heap_events.iter().enumerate() {
        let process = event.process;
        match &event.kind {
            HeapEventKind::CollectionStart { may_hold_snapshot: false, .. } => {}
            HeapEventKind::CollectionStart { collection_number: count, may_hold_snapshot: true } => {
                close(&mut found, open.remove(&process), false, event.timestamp);
                open.insert(process, Snapshot::begin(event, Some(*count), true));
            }
            HeapEventKind::GenAwareBegin => {
                close(&mut found, open.remove(&process), false, event.timestamp);
                open.insert(process, Snapshot::begin(event, None, true));
            }
            HeapEventKind::CollectionEnd { collection_number: count } => {
                if open.get(&process).is_some_and(|snapshot| snapshot.collection_number.is_none_or(|gc| gc == *count)) {
                    close(&mut found, open.remove(&process), true, event.timestamp);
                }
            }
            HeapEventKind::GenAwareEnd => close(&mut found, open.remove(&process), true, event.timestamp),
            HeapEventKind::GenerationRange(range) => {
                if let Some(snapshot) = open.get_mut(&process) {
                    snapshot.generation_ranges.push(*range);
                    if snapshot.node_events.is_empty() {
                        snapshot.ranges_before_objects = snapshot.generation_ranges.len();
                    }
                }
            }
            HeapEventKind::Nodes(bulk) => {
                // Numbers begin anew with each snapshot: here the end of one and the start of another are lost.
                if bulk.index == 0 && open.get(&process).is_some_and(|snapshot| !snapshot.node_events.is_empty()) {
                    close(&mut found, open.remove(&process), false, event.timestamp);
                }
                open.entry(process).or_insert_with(|| Snapshot::begin(event, None, false)).node_events.push(at);
            }
            HeapEventKind::Edges(_) => {
                open.entry(process).or_insert_with(|| Snapshot::begin(event, None, false)).edge_events.push(at);
            }
            HeapEventKind::Roots { .. } | HeapEventKind::DependentHandles { .. } => {
                open.entry(process).or_insert_with(|| Snapshot::begin(event, None, false)).other_events.push(at);
            }
            HeapEventKind::StaticRoots(_) | HeapEventKind::ComReferences(_) => {
                if let Some(snapshot) = open.get_mut(&process) {
                    snapshot.other_events.push(at);
                }
            }
        }
    }
    let mut rest: Vec<Snapshot> = open.into_values().collect();
    sort::rows_by_key(&mut rest, |snapshot| (snapshot.first_ticks, snapshot.offset));
    for snapshot in rest {
        close(&mut found, Some(snapshot), false, u64::MAX);
    }
    sort::rows_by_key(&mut found, |snapshot| (snapshot.first_ticks, snapshot.offset));
    found
}
