//! Copies of dumps that may be shared: the graph, its types, names and sizes stay, values go.
//!
//! A copy has the format of its dump. Of each format with values there is a writer that walks through the file and
//! replaces what is a value; what it cannot parse it does not copy.

mod blotted;
mod compare;
mod copy;
mod dump_file;
mod filler;
mod hprof;
mod json;
mod keep;
mod keyed;
mod lexer;
mod lines;
mod names;
mod options;
mod packed;
mod runs;
mod v8;

pub use compare::{Check, Seen, compare};
pub use copy::{find_left, redact};
pub use dump_file::DumpFile;
pub use keep::KeptFields;
pub use keyed::KeyedHash;
pub use names::NameMap;
pub use options::{LostBytes, RedactError, RedactOptions, Redacted, lost_text};
pub use packed::{OutputPacking, PackedOutput};
