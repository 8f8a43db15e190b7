//! Events of a trace that describe its snapshots.

use std::ops::Range;

use crate::graph::GenerationRange;

/// A piece of one of the bulk streams.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BulkEvent {
    /// The event's number within its collection, from 0.
    pub(super) index: u32,
    /// Its place in the store.
    pub(super) piece: usize,
    pub(super) count: u64,
    /// Bytes of the objects.
    pub(super) bytes: u64,
    /// References that the objects say they have.
    pub(super) declared_references: u64,
}

/// The meaning of an event for a snapshot.
#[derive(Debug, Clone)]
pub(super) enum HeapEventKind {
    /// A collection begins; one of all generations that stops the program may hold a snapshot.
    Start {
        count: u32,
        full: bool,
    },
    End {
        count: u32,
    },
    /// Begin and end of a snapshot without a collection of its own.
    AwareBegin,
    AwareEnd,
    Nodes(BulkEvent),
    Edges(BulkEvent),
    Roots {
        index: u32,
        rows: Range<usize>,
    },
    Dependents {
        index: u32,
        rows: Range<usize>,
    },
    Statics(Range<usize>),
    Com(Range<usize>),
    Generation(GenerationRange),
}

/// An event that matters for snapshots.
#[derive(Debug, Clone)]
pub(super) struct HeapEvent {
    pub(super) timestamp: u64,
    pub(super) offset: u64,
    pub(super) process: u64,
    pub(super) kind: HeapEventKind,
}

/// Events of a thread that were lost, between two times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) events: u64,
    pub(super) offset: u64,
}
