//! References that follow from something else than the dump's lists: an object's to its class, a thread's to its stack.

use super::csr::{Csr, Offsets};
use super::{HeapGraph, NodeId, NodeSet, TypeId};
use crate::parallel;

impl HeapGraph {
    /// Makes the class the last strong reference of objects whose class is no strong root: such a class is held by its
    /// objects, and all that it holds with it. Where the class is a strong root the reference would change nothing. That
    /// they are stored, not implied, keeps every walk over references a walk over slices. O(types) where that changes
    /// nothing, else O(objects + references).
    pub(super) fn store_class_references(&mut self) {
        if !self.types.objects_hold_class {
            return;
        }
        let mut is_root = NodeSet::new(self.node_count());
        self.strong_roots().for_each(|root| {
            is_root.insert(root.node);
        });
        let mut classes: Vec<Option<NodeId>> = vec![None; self.types.details.len()];
        for (index, class) in classes.iter_mut().enumerate() {
            let type_id = TypeId::new(index);
            *class = self
                .types
                .class_object(type_id)
                .filter(|&class| !self.types.class_is_stored(type_id) && !is_root.contains(class));
        }
        if classes.iter().any(Option::is_some) {
            let node_types = &self.node_types;
            let class_of = |node: NodeId| classes.get(node_types.get(node.index()).index()).copied().flatten();
            self.references = std::mem::take(&mut self.references).with_last(node_types.len(), class_of);
            self.referrers = Default::default();
        }
        for (details, class) in self.types.details.iter_mut().zip(&classes) {
            details.class_is_stored |= class.is_some();
        }
        let is_left_out: Vec<bool> = (0..self.types.details.len())
            .map(TypeId::new)
            .map(|type_id| self.types.class_object(type_id).is_some() && !self.types.class_is_stored(type_id))
            .collect();
        let types = self.node_types.all();
        self.classes_left_out = parallel::count(types.len(), |at| is_left_out.get(types[at].index()) == Some(&true));
    }

    /// Takes out one strong reference for each pair (from, to), the last of several. O(objects + references).
    pub(super) fn remove_references(&mut self, mut removed: Vec<(NodeId, NodeId)>) {
        if removed.is_empty() {
            return;
        }
        removed.sort_unstable();
        self.references = self.references.without(self.node_types.len(), &removed);
        self.referrers = Default::default();
    }
}

impl Csr {
    /// One more target behind those of some nodes: in place where offsets stay narrow.
    fn with_last(self, node_count: usize, last: impl Fn(NodeId) -> Option<NodeId> + Sync) -> Csr {
        let last = |index: usize| last(NodeId::new(index));
        let added = parallel::count(node_count, |index| last(index).is_some());
        let fits = self.targets.len() as u64 + added as u64 <= u64::from(u32::MAX);
        let Csr { offsets, targets } = self;
        let (offsets, targets) = match (offsets, targets.into_memory()) {
            (Offsets::Narrow(offsets), Ok(targets)) if fits => match offsets.into_memory() {
                Ok(offsets) => {
                    let (offsets, targets) = with_last_in_place(offsets, targets, added, last);
                    return Csr { offsets: Offsets::Narrow(offsets.into()), targets: targets.into() };
                }
                Err(offsets) => (Offsets::Narrow(offsets), targets.into()),
            },
            (offsets, Ok(targets)) => (offsets, targets.into()),
            (offsets, Err(targets)) => (offsets, targets),
        };
        // In an index, whose offsets may turn out damaged: copied by lists, which are within the column.
        let (old, mut new) = (Csr { offsets, targets }, Vec::new());
        let mut counts = Vec::with_capacity(node_count + 1);
        for index in 0..node_count {
            let before = new.len();
            new.extend_from_slice(old.targets_of(index));
            new.extend(last(index));
            counts.push((new.len() - before) as u32);
        }
        Csr { offsets: Offsets::from_counts(counts), targets: new.into() }
    }

    /// `removed` is sorted.
    fn without(&self, node_count: usize, removed: &[(NodeId, NodeId)]) -> Csr {
        let mut counts = Vec::with_capacity(node_count + 1);
        let mut targets = Vec::with_capacity(self.targets.len());
        let mut left = removed;
        for index in 0..node_count {
            let first = targets.len();
            targets.extend_from_slice(self.targets_of(index));
            let own = left.partition_point(|(from, _)| from.index() <= index);
            for (_, to) in &left[..own] {
                if let Some(at) = targets[first..].iter().rposition(|target| target == to) {
                    targets.remove(first + at);
                }
            }
            left = &left[own..];
            counts.push((targets.len() - first) as u32);
        }
        Csr { offsets: Offsets::from_counts(counts), targets: targets.into() }
    }
}

/// `added` more targets, each behind those of its node. From the back, so that every target moves once.
fn with_last_in_place(
    mut offsets: Vec<u32>,
    mut targets: Vec<NodeId>,
    added: usize,
    last: impl Fn(usize) -> Option<NodeId>,
) -> (Vec<u32>, Vec<NodeId>) {
    let mut end = targets.len();
    targets.reserve_exact(added);
    targets.resize(end + added, NodeId(0));
    let mut to = targets.len();
    for index in (0..offsets.len().saturating_sub(1)).rev() {
        if end == to {
            break;
        }
        let start = offsets[index] as usize;
        offsets[index + 1] = to as u32;
        if let Some(last) = last(index) {
            to -= 1;
            targets[to] = last;
        }
        // A few at a time: cheaper than a call.
        while end > start {
            (end, to) = (end - 1, to - 1);
            targets[to] = targets[end];
        }
    }
    (offsets, targets)
}
