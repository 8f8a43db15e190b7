//! A dump made ready for the search for causes: owners and natures of its types, what references explain, where ways
//! begin, and the rows of the tree of best ways.

mod heap;
mod java;
mod javascript;
mod modules;
mod natures;
mod plain;
mod ready;
mod symbols;

pub(super) use heap::{Heap, masked};
pub(super) use java::LeftOverLoaders;
pub(super) use modules::{Modules, owner_of_script};
pub(super) use natures::{STRINGS, simple_name};
pub(super) use ready::Program;
pub(super) use symbols::Symbols;
