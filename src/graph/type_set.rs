//! Sets of types.

use super::{HeapGraph, TypeId};

/// Some types of a graph. One byte for each type of the graph.
#[derive(Debug, Clone)]
pub struct TypeSet(Vec<bool>);

impl TypeSet {
    /// The types that belong to it. O(types).
    pub fn of(graph: &HeapGraph, belongs: impl Fn(TypeId) -> bool) -> Self {
        TypeSet((0..graph.type_count()).map(|index| belongs(TypeId::new(index))).collect())
    }

    /// Returns true if no type belongs to it. O(types).
    pub fn is_empty(&self) -> bool {
        !self.0.contains(&true)
    }

    /// Returns true if the type belongs to it; false for types of no graph. O(1).
    pub fn contains(&self, type_id: TypeId) -> bool {
        self.0.get(type_id.index()).copied().unwrap_or(false)
    }
}
