//! Places in a walk down the dominator tree: what an object retains is one range of them.

use super::dominators::{DominatorNode, Dominators};
use super::retained::RetainedSizes;

/// The place of each reached object in a walk that meets every object before those that it dominates, and how deep it is.
#[derive(Debug)]
pub struct DominatorOrder {
    /// By number in the tree; that of the root means nothing.
    walk_places: Vec<u32>,
    /// By number: dominators above the object, itself included.
    depths: Vec<u32>,
}

impl DominatorOrder {
    /// One sweep from the first number to the last. O(objects); 8 bytes per reached object, 12 meanwhile.
    pub fn compute(dominators: &Dominators, retained: &RetainedSizes) -> Self {
        let count = dominators.reached_count() + 1;
        let mut places = vec![0u32; count];
        let mut depths = vec![0u32; count];
        // By number: the place of the next that it dominates.
        let mut next = vec![0u32; count];
        for number in dominators.all_reached() {
            let (own, above) = (number.index(), dominators.immediate_dominator_of(number).index());
            let place = next[above];
            places[own] = place;
            depths[own] = depths[above] + 1;
            // Wraps only over a damaged index, whose answers are thrown away.
            next[above] = place.wrapping_add(retained.objects_at(number));
            next[own] = place.wrapping_add(1);
        }
        DominatorOrder { walk_places: places, depths }
    }

    /// The place in the walk, from 0. What the object retains has this place and those behind it, as many as it retains
    /// objects. O(1).
    pub fn walk_place_at(&self, number: DominatorNode) -> u32 {
        self.walk_places[number.index()]
    }

    /// Dominators above the object, itself included: 1 for those that nothing single dominates. O(1).
    pub fn depth_at(&self, number: DominatorNode) -> u32 {
        self.depths[number.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_object_retains_is_a_range() {
        let dump = crate::open("fixtures/xna_cf/pair_after.txt").expect("readable");
        let graph = dump.graph().expect("objects");
        let (dominators, retained) = dump.dominators().expect("room");
        let order = DominatorOrder::compute(dominators, retained);
        let mut bytes = vec![None; dominators.reached_count()];
        for number in dominators.all_reached() {
            let own = &mut bytes[order.walk_place_at(number) as usize];
            assert_eq!(own.replace(graph.shallow_bytes(dominators.node_at(number))), None);
        }
        for number in dominators.all_reached() {
            let (start, count) = (order.walk_place_at(number) as usize, retained.objects_at(number) as usize);
            let sum: u64 = bytes[start..start + count].iter().flatten().sum();
            assert_eq!(sum, retained.bytes_at(number));
            let mut steps = 0;
            let mut at = number;
            while at != DominatorNode::ROOT {
                at = dominators.immediate_dominator_of(at);
                steps += 1;
            }
            assert_eq!(order.depth_at(number), steps);
        }
    }
}
