//! Weak references, which stand apart from the strong ones.

use std::io;
use std::ops::Range;
use std::sync::OnceLock;

use super::NodeId;
use super::column::{Column, ColumnSink, ColumnSource};

/// Weak references, ascending by source and place.
#[derive(Debug, Default)]
pub(super) struct WeakReferences {
    pub(super) sources: Column<NodeId>,
    /// References of the same object before this one.
    pub(super) reference_indices: Column<u32>,
    pub(super) targets: Column<NodeId>,
    /// Indices of all, by target; found when they are asked for.
    pub(super) by_target: OnceLock<Column<u32>>,
}

/// A weak reference on its way into the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WeakReference {
    /// An object as it was appended, then a node.
    pub(super) source: u32,
    pub(super) reference_index: u32,
    pub(super) target: NodeId,
}

impl WeakReferences {
    pub(super) fn new(mut weak: Vec<WeakReference>) -> Self {
        if weak.is_empty() {
            return Self::default();
        }
        weak.sort_unstable();
        WeakReferences {
            sources: weak.iter().map(|weak| NodeId(weak.source)).collect::<Vec<_>>().into(),
            reference_indices: weak.iter().map(|weak| weak.reference_index).collect::<Vec<_>>().into(),
            targets: weak.iter().map(|weak| weak.target).collect::<Vec<_>>().into(),
            by_target: OnceLock::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.sources.len()
    }

    pub(super) fn range_of_source(&self, node: NodeId) -> Range<usize> {
        if self.sources.is_empty() {
            return 0..0;
        }
        let start = self.sources.partition_point(|source| source < node);
        start..start + (start..self.len()).take_while(|&at| self.sources.get(at) == node).count()
    }

    pub(super) fn by_target(&self) -> &Column<u32> {
        self.by_target.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.len() as u32).collect();
            order.sort_by_key(|&at| self.targets.get(at as usize));
            order.into()
        })
    }

    /// Target of the reference at a place; of places that only a damaged file has, node 0.
    pub(super) fn target_at(&self, place: u32) -> NodeId {
        if (place as usize) < self.len() { self.targets.get(place as usize) } else { NodeId(0) }
    }

    /// Places in `by_target`.
    pub(super) fn range_of_target(&self, node: NodeId) -> Range<usize> {
        if self.sources.is_empty() {
            return 0..0;
        }
        let order = self.by_target();
        let start = order.partition_point(|place| self.target_at(place) < node);
        start..start + (start..order.len()).take_while(|&at| self.target_at(order.get(at)) == node).count()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.len() * 12 + self.by_target.get().map_or(0, |order| order.len() * 4)
    }

    pub(super) fn store(&self, sink: &mut dyn ColumnSink) -> io::Result<()> {
        self.sources.store(sink, "weak.sources")?;
        self.reference_indices.store(sink, "weak.places")?;
        self.targets.store(sink, "weak.targets")?;
        self.by_target().store(sink, "weak.by_target")
    }

    pub(super) fn from_stored(source: &dyn ColumnSource, nodes: usize) -> Option<Self> {
        let sources = Column::from_stored(source, "weak.sources", nodes as u64)?;
        let count = sources.len();
        let places: Column<u32> = Column::from_stored(source, "weak.places", u64::MAX)?;
        let targets: Column<NodeId> = Column::from_stored(source, "weak.targets", nodes as u64)?;
        let by_target: Column<u32> = Column::from_stored(source, "weak.by_target", count as u64)?;
        let fits = [places.len(), targets.len(), by_target.len()] == [count; 3];
        fits.then(|| WeakReferences {
            sources,
            reference_indices: places,
            targets,
            by_target: OnceLock::from(by_target),
        })
    }
}
