//! From bytes to a heap graph, or to allocation trees: one folder per format, all listed in [`READERS`].
//!
//! A new format is one folder and two lines here, a document in `docs/formats` and a folder in `fixtures`. A reader
//! recognises its format by content, reads whatever of a damaged dump can be read, and reports the rest under stable
//! codes; [`Reader`] says what it need not think of. nom lives here and nowhere else.
//!
//! - `source`, `unpack`, `encoding`: bytes of files and pipes, unpacked and in UTF-8
//! - `reader`, `read`: the choice of the reader, and the frame around each; `foreign_formats`: bytes of others; `options`,
//!   `info`, `runtime`, `diagnostics`, `error`, `problem_codes`: its words
//! - `details`, `rereadable_file`: what is read from the dump again when it is printed; `contents`: of all objects at once;
//!   `counted_instances`: without a graph
//! - `stack_profile`: what readers of profiles share
//! - `blocks`, `text`, `json_lines`, `line_details`, `histogram_text`, `log_times`, `sink`, `repeat_detector`: tools for readers of text; `dotnet`, `java_types`: names of types

pub(crate) mod blocks;
mod contents;
mod counted_instances;
mod details;
mod diagnostics;
mod dotnet;
mod encoding;
mod error;
mod foreign_formats;
pub(crate) mod gcdump;
mod gperftools;
mod gzip_members;
mod heapgraph;
mod heapprofile;
mod histogram_text;
pub(crate) mod hprof;
pub(crate) mod ibm_classic;
mod info;
mod java_types;
mod jemalloc;
mod json_lines;
mod jvm_histogram;
mod line_details;
mod log_times;
mod memory_infra;
mod names_only;
pub(crate) mod nettrace;
mod observer;
mod options;
mod phd;
mod pprof;
mod private_part;
mod problem_codes;
mod read;
mod reader;
mod repeat_detector;
mod rereadable_file;
mod ruby_objspace;
mod runtime;
mod sink;
mod sos_dumpheap;
mod source;
mod spool;
mod stack_profile;
mod text;
mod unpack;
pub(crate) mod v8_snapshot;
pub(crate) mod xna_cf;

pub use contents::{
    ContentKey, Contents, HeldValue, LengthColumn, MIN_LISTED_REFERENCE_ARRAY_LENGTH, StringColumns, WantedContents,
    primitive_array_kinds,
};
pub(crate) use counted_instances::seek_first;
pub use counted_instances::{
    CharacterRange, CountedClass, CountedInstance, CountedInstances, RawValue, TakeInstance, TakeText,
};
pub(crate) use details::is_identifier;
pub use details::{
    AllocationGrouping, ArrayElements, FieldValue, NamedFieldValue, NamedGroups, ObjectDetails, ReferenceKind,
    ReferenceKinds, ReferenceName, ShownValue, Text, Value,
};
pub use diagnostics::{Diagnostics, Problem, ProblemCode, Severity};
pub use encoding::Encoding;
pub use error::{Position, ReadError, ReadErrorKind};
pub use info::{FormatInfo, Loss, SnapshotInfo};
pub(crate) use java_types::{BOX_CLASSES, PRIMITIVES};
pub(crate) use names_only::NamesOnly;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) use nettrace::trace_follower::TraceFollower;
pub use observer::{NoObserver, Observer, Phase};
pub use options::{ProfileOptions, ReadOptions, Rules, SizeRadix, SnapshotChoice};
pub(crate) use private_part::BlottedPart;
#[cfg(feature = "cli")]
pub(crate) use problem_codes::POSSIBLE_REPEAT;
pub use read::{CountedTypes, Dump, LoadedDump, count_types, detect, empty_array_bytes, read};
pub use reader::{
    Format, FormatMatch, ParsedContent, ParsedDump, ParsedObjects, ParsedTypes, ReadExtent, Reader, Reading, TypeOrigin,
};
pub use rereadable_file::{RandomAccess, RereadableFile};
pub use runtime::Runtime;
pub use source::Source;
pub(crate) use spool::{SharedFile, SharedFileReader};

/// Every format there is. All are asked; two that claim the same dump are an error.
pub static READERS: &[&dyn Reader] = &[
    &hprof::Hprof,
    &phd::Phd,
    &gcdump::Gcdump,
    &nettrace::Nettrace,
    &v8_snapshot::V8Snapshot,
    &heapgraph::Heapgraph,
    &ruby_objspace::RubyObjspace,
    &memory_infra::MemoryInfra,
    &pprof::Pprof,
    &jvm_histogram::JVM_HISTOGRAM,
    &sos_dumpheap::SOS_DUMPHEAP,
    &gperftools::Gperftools,
    &jemalloc::Jemalloc,
    &heapprofile::Heapprofile,
    &ibm_classic::IbmClassic,
    &xna_cf::XnaCf,
];
