//! A set of nodes, as walks and analyses mark them.

use super::NodeId;

/// A set of nodes: a bit each.
#[derive(Debug, Clone, Default)]
pub struct NodeSet {
    words: Vec<u64>,
}

impl NodeSet {
    /// An empty set for nodes below `node_count`.
    pub fn new(node_count: usize) -> Self {
        NodeSet { words: vec![0; node_count.div_ceil(64)] }
    }

    /// The set as words of 64 nodes, the first node in the lowest bit.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The set of these words; `None` when they are not as many as nodes below `node_count` take.
    pub fn from_words(words: Vec<u64>, node_count: usize) -> Option<Self> {
        (words.len() == node_count.div_ceil(64)).then_some(NodeSet { words })
    }

    /// Adds a node; was it new?
    #[inline]
    pub fn insert(&mut self, node: NodeId) -> bool {
        let (word, bit) = (&mut self.words[node.index() >> 6], 1u64 << (node.index() & 63));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Is the node in the set?
    #[inline]
    pub fn contains(&self, node: NodeId) -> bool {
        self.words[node.index() >> 6] & (1 << (node.index() & 63)) != 0
    }

    /// Takes a node out.
    pub fn remove(&mut self, node: NodeId) {
        self.words[node.index() >> 6] &= !(1 << (node.index() & 63));
    }

    /// Nodes in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// No node at all?
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }
}
