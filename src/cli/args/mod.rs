//! Options that commands share: small groups, flattened into a command's arguments only where they act, and what they
//! mean for the library.
//!
//! Not here: options of one command (see `commands`), opening files (see `terminal`).

pub(crate) mod data_args;
pub(crate) mod object_and_heap_args;
pub(crate) mod options;
