//! Places of objects (heaps of Android), and references that hold for as long as the runtime lets
//! them (soft references, finalizers).

use std::io;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::column::{Column, ColumnSink};
use super::object_order::ObjectOrder;
use super::{NodeId, SectionIds};

/// Parts of the heap by name, as runs of nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeapParts {
    /// The parts' names.
    pub names: Vec<String>,
    /// Runs of nodes with their parts, ascending; all of them, or none where the dump does not say.
    pub runs: Vec<(Range<usize>, u32)>,
}

impl HeapParts {
    /// From (object, part) where objects as they were appended go over to another part.
    pub(super) fn new(names: Vec<String>, changes: &[(u32, u32)], objects: usize, order: &ObjectOrder) -> Self {
        if names.is_empty() {
            return Self::default();
        }
        let mut of_object = vec![0u32; objects];
        for (at, &(object, part)) in changes.iter().enumerate() {
            let end = changes.get(at + 1).map_or(objects, |next| next.0 as usize);
            if let Some(objects) = of_object.get_mut(object as usize..end) {
                objects.fill(part);
            }
        }
        let mut runs: Vec<(Range<usize>, u32)> = Vec::new();
        for (node, part) in order.reorder_column(of_object).into_iter().enumerate() {
            match runs.last_mut() {
                Some((nodes, last)) if *last == part => nodes.end = node + 1,
                _ => runs.push((node..node + 1, part)),
            }
        }
        HeapParts { names, runs }
    }

    /// The same from an index, if it is of so many nodes.
    pub(super) fn clone_if_valid(&self, nodes: usize) -> Option<Self> {
        let fits = |(run, part): &(Range<usize>, u32)| {
            run.start <= run.end && run.end <= nodes && (*part as usize) < self.names.len()
        };
        let ascend = self.runs.windows(2).all(|pair| pair[0].0.end == pair[1].0.start);
        (ascend && self.runs.iter().all(fits)).then(|| self.clone())
    }
}

/// Strength of a reference that the runtime may give up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClearableKind {
    /// Until memory runs short.
    Soft,
    /// Until the object's finalizer has run.
    Final,
}

/// A strong reference that the runtime may give up: a soft one, or a finalizer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SoftReference {
    /// The reference object.
    pub source: NodeId,
    /// Object held.
    pub target: NodeId,
    /// Strength of the reference.
    pub kind: ClearableKind,
}

/// Those of (section, from, to, holding) that have both objects, ascending.
pub(super) fn resolve_soft_references(
    soft: Vec<(u32, u64, u64, ClearableKind)>,
    maps: &[SectionIds],
) -> Vec<SoftReference> {
    let mut resolved: Vec<SoftReference> = soft
        .into_iter()
        .filter_map(|(section, from, to, holding)| {
            let map = &maps[section as usize];
            Some(SoftReference { source: map.node_of_id(from)?, target: map.node_of_id(to)?, kind: holding })
        })
        .collect();
    resolved.sort_unstable();
    resolved
}

/// Numbers of one in a column: source, target, 1 for `Final`.
pub(super) const NUMBERS_PER_SOFT_REFERENCE: usize = 3;

pub(super) fn store_soft_references(soft: &[SoftReference], sink: &mut dyn ColumnSink) -> io::Result<()> {
    let numbers =
        soft.iter().flat_map(|soft| [soft.source.0, soft.target.0, (soft.kind == ClearableKind::Final).into()]);
    Column::from(numbers.collect::<Vec<u32>>()).store(sink, "soft")
}

pub(super) fn soft_reference_from_numbers(
    [source, target, kind]: [u32; NUMBERS_PER_SOFT_REFERENCE],
    nodes: usize,
) -> Option<SoftReference> {
    let holding = if kind == 0 { ClearableKind::Soft } else { ClearableKind::Final };
    let fits = (source as usize) < nodes && (target as usize) < nodes && kind < 2;
    fits.then_some(SoftReference { source: NodeId(source), target: NodeId(target), kind: holding })
}
