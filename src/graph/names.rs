//! Texts that many things share: names of variables, methods, fields, modules and files, each kept once.

/// A text of a graph; [`HeapGraph::name`](super::HeapGraph::name) gives it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub(super) u32);

/// The texts of a graph by number.
#[derive(Debug, Default)]
pub struct Names(pub(super) Vec<Box<str>>);

impl Names {
    /// The text; empty for a number of another graph. O(1).
    pub fn get(&self, name: NameId) -> &str {
        self.0.get(name.0 as usize).map_or("", |text| &**text)
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
