//! Copies of dumps that may be shared: the graph, its types, names and sizes stay, values go.
//!
//! A copy has the format of its dump. Of each format with values there is a writer that walks through the file and
//! replaces what is a value; what it cannot parse it does not copy.

mod blotted_copy;
mod compare;
mod compressed_output;
mod copy;
mod dump_file;
mod filler;
mod hprof;
mod json;
mod json_redactor;
mod kept_fields;
mod keyed_hash;
mod lines;
mod names;
mod options;
mod text_runs;
mod v8;

pub use compare::{CopyCheck, DumpDigest, compare};
pub use compressed_output::{CompressedOutput, OutputCompression};
pub use copy::{check_redacted_copy, redact, redact_in_one_walk};
pub use dump_file::DumpFile;
pub use kept_fields::KeptFields;
pub use keyed_hash::KeyedHash;
pub use names::NameMap;
pub use options::{LostBytes, RedactError, RedactOptions, RedactedCopy, lost_text};
