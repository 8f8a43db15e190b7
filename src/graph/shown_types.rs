//! Which type ids are one type wherever types are shown, compared or grouped.
//!
//! A runtime gives several ids to one name: a type loaded twice, a type that a writer split by size. They are one row,
//! unless the user asks for names as the dump has them.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::{HeapGraph, NodeId, TypeId};

/// Type id -> the type it is shown as.
#[derive(Debug, Default)]
pub(super) struct ShownTypes {
    are_apart: bool,
    /// By type: the first of its name; `None` where every name has one type.
    first_of_name: OnceLock<Option<Box<[TypeId]>>>,
}

impl ShownTypes {
    fn of_one_name(&self, names: &[Box<str>]) -> Option<&[TypeId]> {
        self.first_of_name.get_or_init(|| first_of_name(names)).as_deref()
    }
}

fn first_of_name(names: &[Box<str>]) -> Option<Box<[TypeId]>> {
    let mut known: FxHashMap<&str, TypeId> = FxHashMap::default();
    let first = names.iter().enumerate().map(|(index, name)| *known.entry(name).or_insert(TypeId::new(index)));
    let first: Box<[TypeId]> = first.collect();
    (known.len() < names.len()).then_some(first)
}

impl HeapGraph {
    /// Are type ids of one name told apart (`--raw-types`)? They are one type unless this says so, or the dump knows
    /// where their constructors stand.
    pub fn tell_types_apart(&mut self, are_apart: bool) {
        self.types.shown.are_apart = are_apart;
    }

    /// The type that stands for all of its name: whatever groups or compares types goes by this one. The first call
    /// looks at all names; O(1) after.
    #[inline]
    pub fn shown_type(&self, type_id: TypeId) -> TypeId {
        if self.types.shown.are_apart || self.types.have_places() { type_id } else { self.type_of_name(type_id) }
    }

    /// The same for an object's type.
    #[inline]
    pub fn shown_type_of(&self, node: NodeId) -> TypeId {
        self.shown_type(self.type_of(node))
    }

    /// The first type of the same name, even where type ids are told apart: what is joined by name goes by this one.
    #[inline]
    pub fn type_of_name(&self, type_id: TypeId) -> TypeId {
        self.types.shown.of_one_name(&self.types.names).map_or(type_id, |first| first[type_id.index()])
    }
}
