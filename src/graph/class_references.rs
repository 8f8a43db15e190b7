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
        let types = &self.node_types;
        self.classes_left_out =
            parallel::count(types.len(), |at| is_left_out.get(types.get(at).index()) == Some(&true));
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
    /// One more target behind those of some nodes.
    fn with_last(self, node_count: usize, last: impl Fn(NodeId) -> Option<NodeId> + Sync) -> Csr {
        let last = |index: usize| last(NodeId::new(index));
        let Csr { offsets: old, targets } = self;
        let mut targets = match targets.into_memory() {
            Ok(targets) => targets,
            Err(targets) => return with_last_copied(&Csr { offsets: old, targets }, node_count, last),
        };
        let count = |index: usize| (old.range(index).len() + usize::from(last(index).is_some())) as u32;
        let offsets = Offsets::from_counts(&parallel::collect(node_count, count));
        let (mut end, mut to) = (targets.len(), offsets.range(node_count.saturating_sub(1)).end);
        targets.reserve_exact(to - end);
        targets.resize(to, NodeId(0));
        // From the back, so that every target moves once.
        for index in (0..node_count).rev() {
            if end == to {
                break;
            }
            if let Some(last) = last(index) {
                to -= 1;
                targets[to] = last;
            }
            // A few at a time: cheaper than a call.
            for _ in old.range(index) {
                (end, to) = (end - 1, to - 1);
                targets[to] = targets[end];
            }
        }
        Csr { offsets, targets: targets.into() }
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
        Csr { offsets: Offsets::from_counts(&counts), targets: targets.into() }
    }
}

/// The same from an index, whose offsets may turn out damaged: copied by lists, which are within the column.
fn with_last_copied(old: &Csr, node_count: usize, last: impl Fn(usize) -> Option<NodeId>) -> Csr {
    let (mut targets, mut counts) = (Vec::new(), Vec::with_capacity(node_count));
    for index in 0..node_count {
        let before = targets.len();
        targets.extend_from_slice(old.targets_of(index));
        targets.extend(last(index));
        counts.push((targets.len() - before) as u32);
    }
    Csr { offsets: Offsets::from_counts(&counts), targets: targets.into() }
}
