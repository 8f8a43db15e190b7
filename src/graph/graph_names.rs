//! Texts that many things share: names of variables, methods, fields, modules and files, each kept once.

use super::ids::NonMaxNumber;

/// A text of a graph; [`HeapGraph::name`](super::HeapGraph::name) gives it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GraphNameId(NonMaxNumber);

impl GraphNameId {
    pub(super) fn new(number: u32) -> Self {
        GraphNameId(NonMaxNumber::new(number))
    }

    pub(super) fn number(self) -> u32 {
        self.0.number()
    }
}

/// The texts of a graph by number.
#[derive(Debug, Default)]
pub struct GraphNames(pub(super) Vec<Box<str>>);

impl GraphNames {
    /// The text; empty for a number of another graph. O(1).
    pub fn get(&self, name: GraphNameId) -> &str {
        self.0.get(name.number() as usize).map_or("", |text| &**text)
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
