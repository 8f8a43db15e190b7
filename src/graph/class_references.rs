//! References that follow from something else than the dump's lists: an object's to its class, a thread's to its stack.

use super::csr::{Csr, Offsets};
use super::{HeapGraph, NodeId, NodeSet, TypeId};

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
        let types = self.node_types.all();
        let is_left_out =
            |&&type_id: &&TypeId| self.types.class_object(type_id).is_some() && !self.types.class_is_stored(type_id);
        self.classes_left_out = types.iter().filter(is_left_out).count();
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
    fn with_last(self, node_count: usize, last: impl Fn(NodeId) -> Option<NodeId>) -> Csr {
        let last = |index: usize| last(NodeId::new(index));
        let added = (0..node_count).filter(|&index| last(index).is_some()).count();
        let count_of = |index| self.offsets.range(index).len() as u32 + u32::from(last(index).is_some());
        let counts: Vec<u32> = (0..node_count).map(count_of).collect();
        let (offsets, targets) = (self.offsets, self.targets);
        let mut targets = match targets.into_memory() {
            Ok(targets) => targets,
            // In an index, whose offsets may turn out damaged: copied by lists, which are within the column.
            Err(targets) => {
                let (old, mut new) = (Csr { offsets, targets }, Vec::new());
                for index in 0..node_count {
                    new.extend_from_slice(old.targets_of(index));
                    new.extend(last(index));
                }
                return Csr { offsets: Offsets::from_counts(counts), targets: new.into() };
            }
        };
        // From the back, so that every reference moves once and in place.
        let mut from = targets.len();
        targets.reserve_exact(added);
        targets.resize(from + added, NodeId(0));
        let mut to = targets.len();
        for index in (0..node_count).rev() {
            if let Some(last) = last(index) {
                to -= 1;
                targets[to] = last;
            }
            let own = offsets.range(index).len();
            targets.copy_within(from - own..from, to - own);
            (from, to) = (from - own, to - own);
            if from == to {
                break;
            }
        }
        Csr { offsets: Offsets::from_counts(counts), targets: targets.into() }
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
