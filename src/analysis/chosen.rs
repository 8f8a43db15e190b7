//! Some objects in a dominator tree, and the way down to them.

use super::dominators::{DomNode, Dominators};
use crate::graph::{NodeId, NodeSet};

/// Some objects of a dominator tree, and which objects have any of them below.
#[derive(Debug)]
pub struct Chosen<'s> {
    objects: &'s NodeSet,
    /// By number in the tree.
    leads: Vec<bool>,
}

impl<'s> Chosen<'s> {
    /// Finds the ways down. O(objects), a byte for each.
    pub fn new(dominators: &Dominators, objects: &'s NodeSet) -> Self {
        let mut leads = vec![false; dominators.reached_count() + 1];
        for number in dominators.all().rev() {
            if leads[number.index()] || objects.contains(dominators.node_at(number)) {
                leads[number.index()] = true;
                leads[dominators.immediate_of(number).index()] = true;
            }
        }
        Chosen { objects, leads }
    }

    /// Is the object one of them?
    pub fn has(&self, node: NodeId) -> bool {
        self.objects.contains(node)
    }

    /// Is it one of them, or does it dominate one?
    pub fn leads(&self, number: DomNode) -> bool {
        self.leads[number.index()]
    }
}
