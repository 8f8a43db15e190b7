//! The dominator tree merged by type: what hangs where, without its millions of objects; of all objects or of some.
//!
//! All objects of one type below one place of the merged tree are one place. A chain of one type (a linked list, a
//! tree of nodes) folds into a single place. Of one that alternates between two types every pair behind the first folds
//! into that: the depth is that of the program's structures and not of its data, and each path of places is one of the heap.

use rustc_hash::FxHashMap;

use crate::analysis::dominators::{DominatorChildren, DominatorNode, Dominators};
use crate::graph::{HeapGraph, NodeId, NodeSet, TypeId};

/// One place of the merged tree.
#[derive(Debug, Clone)]
pub struct TypeTreeNode {
    /// The type of its objects.
    pub type_id: TypeId,
    /// The place above; `None` at the top.
    pub parent: Option<usize>,
    /// Places from the top, 0 for those at the top.
    pub depth: usize,
    /// The first of its objects that was found.
    pub first_object: DominatorNode,
    /// Objects at this place.
    pub objects: u64,
    /// Their shallow bytes.
    pub shallow_bytes: u64,
    /// Shallow bytes of this place and of all below it.
    pub retained_bytes: u64,
    /// Objects of the longest chain that folded into this place, below one another or with one of the type above between
    /// them; 1 where none did.
    pub chain_objects: u64,
}

/// The merged tree: every place comes after the one above it.
#[derive(Debug, Default)]
pub struct TypeTree {
    /// The places.
    pub places: Vec<TypeTreeNode>,
}

/// Objects still to be placed: their number in the dominator tree, the place above them, and how many objects of the
/// chains that folded into that place and the one above it are above them.
struct PendingObject {
    number: DominatorNode,
    place_above: Option<usize>,
    chain_lengths: [u32; 2],
}

impl TypeTree {
    /// Merges these objects (by number in the dominator tree) and all below them. Places deeper than `max_depth` count
    /// for the one at that depth. Objects that are not of the `chosen` have no place unless they dominate one, and count
    /// nothing. O(objects), 12 bytes per object still to be placed.
    pub fn build(
        graph: &HeapGraph,
        dominators: &Dominators,
        children: &DominatorChildren<'_>,
        starts: impl IntoIterator<Item = DominatorNode>,
        max_depth: usize,
        chosen: Option<&ChosenObjects<'_>>,
    ) -> Self {
        let has_chosen_below = |number: &DominatorNode| chosen.is_none_or(|chosen| chosen.leads_to_member(*number));
        let mut tree = TypeTree::default();
        let mut known: FxHashMap<(Option<usize>, TypeId), usize> = FxHashMap::default();
        let mut pending: Vec<PendingObject> = starts
            .into_iter()
            .filter(has_chosen_below)
            .map(|number| PendingObject { number, place_above: None, chain_lengths: [0; 2] })
            .collect();
        while let Some(PendingObject { number, place_above: above, chain_lengths }) = pending.pop() {
            let node = dominators.node_at(number);
            let type_id = graph.shown_type_of(node);
            let folded = tree.ancestor_to_fold_into(above, type_id, max_depth);
            let chain_lengths = match folded {
                Some(place) if tree.places[place].type_id != type_id => chain_lengths,
                Some(place) if Some(place) == above => [chain_lengths[0] + 1, chain_lengths[1]],
                Some(_) => [chain_lengths[1] + 1, chain_lengths[0]],
                None => [1, chain_lengths[0]],
            };
            let place = folded.unwrap_or_else(|| {
                *known.entry((above, type_id)).or_insert_with(|| tree.push_place(type_id, above, number))
            });
            tree.places[place].chain_objects = tree.places[place].chain_objects.max(chain_lengths[0].into());
            if chosen.is_none_or(|chosen| chosen.contains(node)) {
                tree.places[place].objects += 1;
                let bytes = &mut tree.places[place].shallow_bytes;
                *bytes = bytes.saturating_add(graph.shallow_bytes(node));
            }
            pending.extend(children.of(number).filter(has_chosen_below).map(|number| PendingObject {
                number,
                place_above: Some(place),
                chain_lengths,
            }));
        }
        tree.sum_subtrees();
        tree
    }

    /// The same of the whole dominator tree, faster: from the first number to the last, without a walk. Chains that folded
    /// are not counted: every place has one level. O(objects), 4 bytes for each.
    pub fn of_all(graph: &HeapGraph, dominators: &Dominators, max_depth: usize) -> Self {
        const NONE: u32 = u32::MAX;
        let mut tree = TypeTree::default();
        let mut known: FxHashMap<(u32, TypeId), u32> = FxHashMap::default();
        let mut last = ((NONE, TypeId::new(0)), NONE);
        let mut place_of = vec![NONE; dominators.reached_count() + 1];
        for number in dominators.all_reached() {
            let node = dominators.node_at(number);
            let type_id = graph.shown_type_of(node);
            let above = place_of[dominators.immediate_dominator_of(number).index()];
            let key = (above, type_id);
            // Objects with one dominator and one type often follow one another.
            if last.0 != key || last.1 == NONE {
                last = (
                    key,
                    *known.entry(key).or_insert_with(|| {
                        let above = (above != NONE).then_some(above as usize);
                        if let Some(folded) = tree.ancestor_to_fold_into(above, type_id, max_depth) {
                            return folded as u32;
                        }
                        tree.push_place(type_id, above, number) as u32
                    }),
                );
            }
            place_of[number.index()] = last.1;
            let place = &mut tree.places[last.1 as usize];
            place.objects += 1;
            place.shallow_bytes = place.shallow_bytes.saturating_add(graph.shallow_bytes(node));
        }
        tree.sum_subtrees();
        tree
    }

    /// Adds a place without objects.
    fn push_place(&mut self, type_id: TypeId, above: Option<usize>, first: DominatorNode) -> usize {
        let depth = above.map_or(0, |above| self.places[above].depth + 1);
        let (objects, shallow_bytes, retained_bytes) = (0, 0, 0);
        self.places.push(TypeTreeNode {
            type_id,
            parent: above,
            depth,
            first_object: first,
            objects,
            shallow_bytes,
            retained_bytes,
            chain_objects: 1,
        });
        self.places.len() - 1
    }

    /// Retained bytes of the places, from their own bytes.
    fn sum_subtrees(&mut self) {
        for place in (0..self.places.len()).rev() {
            let own = &mut self.places[place];
            own.retained_bytes = own.retained_bytes.saturating_add(own.shallow_bytes);
            let (above, bytes) = (own.parent, own.retained_bytes);
            if let Some(above) = above {
                let above = &mut self.places[above];
                above.retained_bytes = above.retained_bytes.saturating_add(bytes);
            }
        }
    }

    /// The place that an object of this type below a place folds into, if any: that place, or the one above it where that
    /// and the two around it alternate between two types.
    pub fn ancestor_to_fold_into(&self, above: Option<usize>, type_id: TypeId, max_depth: usize) -> Option<usize> {
        let parent = above?;
        if self.places[parent].type_id == type_id || self.places[parent].depth >= max_depth {
            return Some(parent);
        }
        let grandparent = self.places[parent].parent?;
        let alternates = |top: usize| self.places[top].type_id == self.places[parent].type_id;
        let is_repeat =
            self.places[grandparent].type_id == type_id && self.places[grandparent].parent.is_some_and(alternates);
        is_repeat.then_some(grandparent)
    }

    /// Types from the top down to a place. O(depth).
    pub fn type_path(&self, place: usize) -> Vec<TypeId> {
        let mut path = vec![self.places[place].type_id];
        let mut at = place;
        while let Some(above) = self.places[at].parent {
            path.push(self.places[above].type_id);
            at = above;
        }
        path.reverse();
        path
    }
}

/// Some objects of a dominator tree, and which objects have any of them below.
#[derive(Debug)]
pub struct ChosenObjects<'s> {
    objects: &'s NodeSet,
    /// By number in the tree: the object is one of them, or dominates one.
    leads_to_chosen: Vec<bool>,
}

impl<'s> ChosenObjects<'s> {
    /// Finds the ways down. O(objects), a byte for each.
    pub fn new(dominators: &Dominators, objects: &'s NodeSet) -> Self {
        let mut leads_to_chosen = vec![false; dominators.reached_count() + 1];
        for number in dominators.all_reached().rev() {
            if leads_to_chosen[number.index()] || objects.contains(dominators.node_at(number)) {
                leads_to_chosen[number.index()] = true;
                leads_to_chosen[dominators.immediate_dominator_of(number).index()] = true;
            }
        }
        ChosenObjects { objects, leads_to_chosen }
    }

    /// Is the object one of them?
    pub fn contains(&self, node: NodeId) -> bool {
        self.objects.contains(node)
    }

    /// Is it one of them, or does it dominate one?
    pub fn leads_to_member(&self, number: DominatorNode) -> bool {
        self.leads_to_chosen[number.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_walk_places_are_the_same() {
        for file in ["fixtures/xna_cf/pair_after.txt", "fixtures/hprof/android.hprof"] {
            let dump = crate::open(file).expect("readable");
            let graph = dump.graph().expect("objects");
            let (dominators, _) = dump.dominators().expect("room");
            let children = dominators.children();
            for depth in [0, 3, 12] {
                let rows = |tree: &TypeTree| {
                    let figures = |place: &TypeTreeNode| (place.objects, place.shallow_bytes, place.retained_bytes);
                    let rows = tree.places.iter().enumerate();
                    let mut rows: Vec<_> = rows.map(|(at, place)| (tree.type_path(at), figures(place))).collect();
                    rows.sort();
                    rows
                };
                let walked =
                    TypeTree::build(graph, dominators, &children, children.of(DominatorNode::ROOT), depth, None);
                assert_eq!(rows(&TypeTree::of_all(graph, dominators, depth)), rows(&walked), "{file}");
            }
        }
    }
}
