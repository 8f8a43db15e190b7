//! Heap snapshots of V8: numbers stay as they are, and of the strings those that name something. All others become fillers of
//! their length, different ones for different texts.
//!
//! A string that names something and is a value too keeps its entry; its values get an entry of their own behind the last.

mod facts;
mod header;
mod left;
mod pieces;
mod write;

pub(super) use left::find_left;
pub(super) use write::redact;
