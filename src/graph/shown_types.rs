//! Types that count as one type wherever types are shown, compared or grouped.
//!
//! A runtime gives several ids to one name: a type loaded twice, a type that a writer split by size. They are one row,
//! unless the user asks for names as the dump has them.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::TypeId;

/// Type id -> the type it is shown as.
#[derive(Debug, Default)]
pub(super) struct ShownTypes {
    pub(super) are_told_apart: bool,
    /// By type: the first of its name; `None` where every name has one type.
    first_of_name: OnceLock<Option<Box<[TypeId]>>>,
}

impl ShownTypes {
    pub(super) fn first_types_by_name(&self, names: &[Box<str>]) -> Option<&[TypeId]> {
        self.first_of_name.get_or_init(|| first_of_name(names)).as_deref()
    }
}

/// By type: the first of its name; `None` where every name has one type.
fn first_of_name(names: &[Box<str>]) -> Option<Box<[TypeId]>> {
    let mut known: FxHashMap<&str, TypeId> = FxHashMap::default();
    let first = names.iter().enumerate().map(|(index, name)| *known.entry(name).or_insert(TypeId::new(index)));
    let first: Box<[TypeId]> = first.collect();
    (known.len() < names.len()).then_some(first)
}
