//! HPROF: byte by byte in place. Ids, lengths, names and times stay where they are; every number and every character that
//! is no part of the structure becomes zero, or a keyed hash.
//!
//! HotSpot writes all symbols of the virtual machine as texts, literals of the program among them: a text that names
//! nothing in the dump goes like any other.

mod facts;
mod gather;
mod left;
mod rewrite;
mod scan;
mod walk;
mod write;

pub(super) use left::find_left;
pub(super) use write::redact;
