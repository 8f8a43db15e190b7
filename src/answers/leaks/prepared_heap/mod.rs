//! A dump made ready for the search for causes: owners and natures of its types, what references explain, where ways
//! begin, and the rows of the tree of best paths.

mod analysed_heap;
mod classified_heap;
mod java;
mod javascript;
mod modules;
mod symbols;
mod type_roles;
mod unnamed_references;

pub(super) use analysed_heap::{AnalysedHeap, HeapWithPaths};
pub(super) use classified_heap::{ClassifiedHeap, mask_numbers};
pub(super) use java::LeftOverLoaders;
pub(super) use javascript::LIST_LINK_NAMES;
pub(super) use modules::{Modules, owner_of_script};
pub(super) use symbols::SymbolTable;
pub(super) use type_roles::{V8_STRING_TYPES, simple_name};
