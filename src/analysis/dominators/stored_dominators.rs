//! The tree numbered level by level, as an index keeps it: what an object dominates stands together, so that children
//! need no list and immediate dominators no array.

use std::io;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::retained::RetainedSizes;
use super::{DominatorNode, Dominators, ImmediateDominators, UNREACHED};
use crate::graph::{Column, ColumnSink, ColumnSource, HeapGraph, NodeId};

/// The part of a tree that is stored beside its columns.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct StoredDominators {
    reached: usize,
}

impl Dominators {
    /// Writes the tree and its retained sizes, numbered level by level. O(objects), 20 bytes for each.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn store(&self, retained: &RetainedSizes, sink: &mut dyn ColumnSink) -> io::Result<StoredDominators> {
        let children = self.children();
        let count = self.reached_count() + 1;
        // By the new number: the number here, and where those below begin.
        let mut order = Vec::with_capacity(count);
        let mut first_child = Vec::with_capacity(count + 1);
        order.push(DominatorNode::ROOT);
        for at in 0..count {
            first_child.push(order.len() as u32);
            order.extend(children.of(order[at]));
        }
        first_child.push(order.len() as u32);
        drop(children);
        Column::from(first_child).store(sink, "dominators.first_below")?;
        let nodes: Vec<NodeId> = order.iter().map(|&number| self.nodes.get(number.index())).collect();
        let mut numbers = vec![UNREACHED; self.node_count];
        for (number, node) in nodes.iter().enumerate().skip(1) {
            numbers[node.index()] = number as u32;
        }
        Column::from(numbers).store(sink, "dominators.numbers")?;
        Column::from(nodes).store(sink, "dominators.nodes")?;
        retained.store(&order, sink)?;
        Ok(StoredDominators { reached: self.reached_count() })
    }

    /// The tree back, and its retained sizes. O(1). `None` when the columns are not those of a tree of this graph.
    pub fn from_stored(
        stored: StoredDominators,
        graph: &HeapGraph,
        source: &dyn ColumnSource,
    ) -> Option<(Dominators, RetainedSizes)> {
        let (count, node_count) = (stored.reached.checked_add(1)?, graph.node_count());
        // The first entry is no node: a graph of none has one all the same.
        let nodes: Column<NodeId> = Column::from_stored(source, "dominators.nodes", node_count.max(1) as u64)?;
        let numbers: Column<u32> = Column::from_stored(source, "dominators.numbers", u64::MAX)?;
        let first_child: Column<u32> = Column::from_stored(source, "dominators.first_below", count as u64 + 1)?;
        let retained = RetainedSizes::from_stored(source, count)?;
        let fits = nodes.len() == count && numbers.len() == node_count && first_child.len() == count + 1;
        fits.then(|| {
            let tree = ImmediateDominators::LevelOrder(first_child);
            (Dominators { nodes, tree, numbers: OnceLock::from(numbers), node_count, climb_steps: 0 }, retained)
        })
    }
}
