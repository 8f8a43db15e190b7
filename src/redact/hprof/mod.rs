//! HPROF: byte by byte in place. Ids, lengths, names and times stay where they are; every number and every character that
//! is no part of the structure becomes zero, or a keyed hash.
//!
//! HotSpot writes all symbols of the virtual machine as texts, literals of the program among them: a text that names
//! nothing in the dump goes like any other.

mod fact_scan;
mod facts;
mod gathered_facts;
mod one_walk;
mod remaining_content;
mod value_remover;
mod walk;
mod write;

pub(super) use one_walk::redact_in_one_walk;
pub(super) use remaining_content::find_remaining_content;
pub(super) use write::redact;
