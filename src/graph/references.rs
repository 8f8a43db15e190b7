//! All references of an object: the strong ones, which hold what they refer to, and the weak ones between them.
//!
//! Analyses walk strong references alone: a slice of a column, as dense as can be. Weak ones are few (a reference
//! object has one), so each stands in a list of its own with its place among its object's: 12 bytes for each weak one,
//! none for a dump without. So does nothing that walks the heap ask what a reference is.

use std::ops::Range;

use super::weak_references::WeakReferences;
use super::{HeapGraph, NodeId};

/// One reference of an object, or to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// The other object: what is referred to; of a referrer: what refers.
    pub node: NodeId,
    /// It does not keep its target alive.
    pub is_weak: bool,
}

/// All references of an object: order of the dump, repeats kept, weak ones marked, last its class where objects hold that.
#[derive(Debug, Clone)]
pub struct References<'a> {
    /// Strong references that are still to come.
    strong: std::slice::Iter<'a, NodeId>,
    /// The class where it is none of the strong references: it comes last.
    class: Option<NodeId>,
    weak_references: &'a WeakReferences,
    remaining_weak: Range<usize>,
    reference_index: u32,
}

impl Iterator for References<'_> {
    type Item = Reference;

    fn next(&mut self) -> Option<Reference> {
        let weak_is_next = !self.remaining_weak.is_empty()
            && (self.strong.as_slice().is_empty()
                || self.weak_references.reference_indices.get(self.remaining_weak.start) <= self.reference_index);
        self.reference_index += 1;
        if weak_is_next {
            let at = self.remaining_weak.next()?;
            return Some(Reference { node: self.weak_references.targets.get(at), is_weak: true });
        }
        let node = self.strong.next().copied().or_else(|| self.class.take())?;
        Some(Reference { node, is_weak: false })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.strong.len() + self.remaining_weak.len() + usize::from(self.class.is_some());
        (left, Some(left))
    }
}

impl ExactSizeIterator for References<'_> {}

/// All references to an object: ascending, repeats kept, weak ones marked, without objects whose class it is.
#[derive(Debug, Clone)]
pub struct Referrers<'a> {
    /// Strong referrers that are still to come.
    strong: std::slice::Iter<'a, NodeId>,
    /// Of a class that its objects list: the graph, the object that came last, and how many list it.
    class: Option<(&'a HeapGraph, NodeId, Option<NodeId>, usize)>,
    weak_references: &'a WeakReferences,
    /// Places in the list by target.
    weak_places_left: Range<usize>,
}

impl Iterator for Referrers<'_> {
    type Item = Reference;

    fn next(&mut self) -> Option<Reference> {
        self.skip_objects_of_class();
        if !self.weak_places_left.is_empty() {
            let place = self.weak_references.by_target().get(self.weak_places_left.start) as usize;
            let source =
                if place < self.weak_references.len() { self.weak_references.sources.get(place) } else { NodeId(0) };
            if self.strong.as_slice().first().is_none_or(|&strong| source < strong) {
                self.weak_places_left.next();
                return Some(Reference { node: source, is_weak: true });
            }
        }
        self.strong.next().map(|&node| Reference { node, is_weak: false })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let of_class = self.class.map_or(0, |(.., left)| left);
        let left = self.strong.len() + self.weak_places_left.len() - of_class;
        (left, Some(left))
    }
}

impl Referrers<'_> {
    /// Returns true where objects of a class are left out: those that list it, and are among its strong referrers.
    pub fn leaves_out_objects(&self) -> bool {
        self.class.is_some()
    }

    /// Passes over the reference that an object has to its class: the first that is listed, for all are alike.
    fn skip_objects_of_class(&mut self) {
        let Some((graph, class, last, left)) = &mut self.class else { return };
        while let Some(&next) = self.strong.as_slice().first().filter(|&&next| *last != Some(next)) {
            *last = Some(next);
            if !graph.lists_as_class(next, *class) {
                break;
            }
            *left -= 1;
            self.strong.next();
        }
    }
}

impl ExactSizeIterator for Referrers<'_> {}

impl HeapGraph {
    /// Strong references of the object: order of the dump, repeats kept. This is what analyses walk. O(1).
    ///
    /// Where an object holds its class (`TypeTable::objects_hold_class`), the class is the last one, but only where that
    /// changes what is held: a class that is a strong root itself is left out here.
    #[inline]
    pub fn strong_references(&self, node: NodeId) -> &[NodeId] {
        self.references.targets_of(node.index())
    }

    /// The same, and how many strong references the objects before it have. O(1).
    #[inline(always)]
    pub(crate) fn indexed_strong_references(&self, node: NodeId) -> (usize, &[NodeId]) {
        self.references.indexed_targets_of(node.index())
    }

    /// Strong references by their index among all.
    pub(crate) fn strong_reference_slice(&self, indices: Range<usize>) -> &[NodeId] {
        self.references.targets.slice(indices)
    }

    /// How many strong references the objects up to this one have. O(1).
    #[inline(always)]
    pub(crate) fn strong_reference_end(&self, node: NodeId) -> usize {
        self.references.offsets.start(node.index() + 1)
    }

    /// Asks the processor for the place where an object's references begin.
    #[inline(always)]
    pub(crate) fn prefetch_reference_offset(&self, node: NodeId) {
        self.references.prefetch_offset(node.index());
    }

    /// Asks for the type of an object.
    #[inline(always)]
    pub(crate) fn prefetch_type(&self, node: NodeId) {
        self.node_types.prefetch(node.index());
    }

    /// Asks for the bytes of an object.
    #[inline(always)]
    pub(crate) fn prefetch_shallow_bytes(&self, node: NodeId) {
        self.shallow.prefetch(node.index());
    }

    /// Asks the processor for an object's first references; reads their place.
    #[inline(always)]
    pub(crate) fn prefetch_references(&self, node: NodeId) {
        self.references.prefetch_targets(node.index());
    }

    /// All that the object refers to: order of the dump, repeats kept, weak references marked, and the class last
    /// where objects hold theirs. O(1), in dumps with weak references O(log of these).
    pub fn references(&self, node: NodeId) -> References<'_> {
        References {
            strong: self.strong_references(node).iter(),
            class: self.unstored_class(node),
            weak_references: &self.weak_references,
            remaining_weak: self.weak_references.range_of_source(node),
            reference_index: 0,
        }
    }

    /// Strong and weak references of the object, without a class that is no strong reference: the reverse of
    /// [`listed_referrers`](Self::listed_referrers).
    pub(super) fn listed_references(&self, node: NodeId) -> References<'_> {
        References { class: None, ..self.references(node) }
    }

    pub(super) fn only_strong_references(&self, node: NodeId) -> References<'_> {
        let strong = self.strong_references(node).iter();
        References {
            strong,
            class: None,
            weak_references: &self.weak_references,
            remaining_weak: 0..0,
            reference_index: 0,
        }
    }

    /// Strong and weak references to the object: of a class its objects too, where they list it.
    pub(super) fn listed_referrers(&self, node: NodeId) -> Referrers<'_> {
        let (strong, weak_left) = (self.strong_referrers(node).iter(), self.weak_references.range_of_target(node));
        Referrers { strong, class: None, weak_references: &self.weak_references, weak_places_left: weak_left }
    }

    /// References that are stored in an object, weak ones and repeats included: all but the one to its class. O(1), in
    /// dumps with weak references O(log of these).
    pub fn stored_reference_count(&self, node: NodeId) -> usize {
        let all = self.strong_references(node).len() + self.weak_references.range_of_source(node).len();
        all - usize::from(self.types.stores_class_reference(self.type_of(node))).min(all)
    }

    /// The class that an object holds and that is not among its strong references.
    fn unstored_class(&self, node: NodeId) -> Option<NodeId> {
        if !self.types.objects_hold_class {
            return None;
        }
        let type_id = self.type_of(node);
        if self.types.stores_class_reference(type_id) { None } else { self.types.class_object(type_id) }
    }

    /// Strong references to the object: ascending, repeats kept. The first call turns all strong references round:
    /// O(nodes + references) and 4 bytes for each of both.
    pub fn strong_referrers(&self, node: NodeId) -> &[NodeId] {
        self.reverse_references().targets_of(node.index())
    }

    /// All that refers to the object: ascending, repeats kept, weak references marked. A class is listed without its
    /// objects. Costs as [`strong_referrers`](Self::strong_referrers), and O(objects of the class).
    pub fn referrers(&self, node: NodeId) -> Referrers<'_> {
        let all = self.listed_referrers(node);
        let is_listed =
            self.types.type_of_class_object(node).is_some_and(|type_id| self.types.stores_class_reference(type_id));
        let class = is_listed.then(|| {
            let different = all.strong.as_slice().chunk_by(|a, b| a == b).map(|same| same[0]);
            (self, node, None, different.filter(|&from| self.lists_as_class(from, node)).count())
        });
        Referrers { class, ..all }
    }

    fn lists_as_class(&self, node: NodeId, class: NodeId) -> bool {
        let type_id = self.type_of(node);
        self.types.stores_class_reference(type_id) && self.types.class_object(type_id) == Some(class)
    }

    /// References between objects of the dump, weak ones and repeats included: as many as `references` gives. O(1).
    pub fn reference_count(&self) -> usize {
        self.strong_reference_count() + self.weak_references.len() + self.objects_without_stored_class
    }

    /// Strong references between objects of the dump: as many as `strong_references` gives. O(1).
    pub fn strong_reference_count(&self) -> usize {
        self.references.targets.len()
    }

    /// Weak references between objects of the dump. O(1).
    pub fn weak_reference_count(&self) -> usize {
        self.weak_references.len()
    }
}
