//! References that follow from something else than the dump's lists: an object's to its class, a thread's to its stack.

use super::csr::{Csr, CsrOffsets};
use super::list_lengths::ListLengths;
use super::{HeapGraph, NodeId, NodeSet, TypeId};
use crate::parallel;

impl HeapGraph {
    /// Makes the class the last strong reference of objects whose class is no strong root: such a class is held by its
    /// objects, and all that it holds with it. Where the class is a strong root the reference would change nothing. That
    /// they are stored, not implied, keeps every walk over references a walk over slices. O(types) where that changes
    /// nothing, else O(objects + references).
    pub(super) fn store_class_references(&mut self) {
        let classes = self.mark_classes_to_store();
        if !classes.is_empty() {
            let (mut counts, mut targets) = std::mem::take(&mut self.references).into_lists(self.node_count());
            self.append_class_references(&classes, &mut counts, &mut targets);
            self.references = Csr::of_lists(&counts, targets);
            self.referrers = Default::default();
        }
    }

    /// By type: the class that its objects are to have as their last reference, which is taken as done. Empty where none
    /// have.
    pub(super) fn mark_classes_to_store(&mut self) -> Vec<Option<NodeId>> {
        if !self.types.objects_hold_class {
            return Vec::new();
        }
        let mut is_root = NodeSet::new(self.node_count());
        self.strong_roots().for_each(|root| {
            is_root.insert(root.node);
        });
        let is_new = |type_id, class| !self.types.stores_class_reference(type_id) && !is_root.contains(class);
        let types = (0..self.types.details.len()).map(TypeId::new);
        let class_of = |type_id| self.types.class_object(type_id).filter(|&class| is_new(type_id, class));
        let classes: Vec<Option<NodeId>> = types.clone().map(class_of).collect();
        for (details, class) in self.types.details.iter_mut().zip(&classes) {
            details.stores_class_reference |= class.is_some();
        }
        let is_left_out: Vec<bool> = types
            .map(|type_id| self.types.class_object(type_id).is_some() && !self.types.stores_class_reference(type_id))
            .collect();
        let types = &self.node_types;
        self.objects_without_stored_class =
            parallel::count(types.len(), |at| is_left_out.get(types.get(at).index()) == Some(&true));
        if classes.iter().any(Option::is_some) { classes } else { Vec::new() }
    }

    /// Puts these behind the references of their objects: from the back, so that each reference moves once.
    pub(super) fn append_class_references(
        &self,
        classes: &[Option<NodeId>],
        counts: &mut ListLengths,
        targets: &mut Vec<NodeId>,
    ) {
        let class_of = |index: usize| classes.get(self.node_types.get(index).index()).copied().flatten();
        let added = parallel::count(counts.len(), |index| class_of(index).is_some());
        let (mut end, mut to) = (targets.len(), targets.len() + added);
        targets.reserve_exact(added);
        targets.resize(to, NodeId(0));
        for index in (0..counts.len()).rev() {
            if end == to {
                break;
            }
            let own = counts.get(index);
            if let Some(class) = class_of(index) {
                to -= 1;
                targets[to] = class;
                counts.set(index, own + 1);
            }
            // A few at a time: cheaper than a call.
            for _ in 0..own {
                (end, to) = (end - 1, to - 1);
                targets[to] = targets[end];
            }
        }
    }

    /// Takes out one strong reference for each pair (from, to), the last of several. O(objects + references).
    pub(super) fn remove_references(&mut self, mut removed: Vec<(NodeId, NodeId)>) {
        if removed.is_empty() {
            return;
        }
        removed.sort_unstable();
        let (counts, targets) = self.references.copied_without(self.node_count(), &removed);
        self.references = Csr::of_lists(&counts, targets);
        self.referrers = Default::default();
    }
}

impl Csr {
    pub(super) fn of_lists(counts: &ListLengths, targets: Vec<NodeId>) -> Csr {
        Csr { offsets: CsrOffsets::from_counts(counts.iter()), targets: targets.into() }
    }

    /// How many targets each node has, and all of them. From an index, whose offsets may turn out damaged, both are copied
    /// by lists, which are within the column.
    fn into_lists(self, node_count: usize) -> (ListLengths, Vec<NodeId>) {
        let Csr { offsets, targets } = self;
        match targets.into_vec() {
            Ok(targets) => ((0..node_count).map(|index| offsets.range(index).len() as u32).collect(), targets),
            Err(targets) => Csr { offsets, targets }.copied_without(node_count, &[]),
        }
    }

    /// The same, copied, without the last target of each pair: these are sorted.
    fn copied_without(&self, node_count: usize, removed: &[(NodeId, NodeId)]) -> (ListLengths, Vec<NodeId>) {
        let mut counts = ListLengths::default();
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
            counts.extend([(targets.len() - first) as u32]);
        }
        (counts, targets)
    }
}
