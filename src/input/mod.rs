//! From bytes to a heap graph, or to allocation trees: one folder per format, all listed in [`READERS`].
//!
//! A new format is one folder and two lines here, a document in `docs/formats` and a folder in `fixtures`. A reader
//! recognises its format by content, reads whatever of a damaged dump can be read, and reports the rest under stable
//! codes; [`Reader`] says what it need not think of. nom lives here and nowhere else.
//!
//! - `source`, `unpack`, `encoding`: bytes of files and pipes, unpacked and in UTF-8
//! - `reader`, `read`: the choice of the reader, and the frame around each; `foreign`: bytes that are nobody's; `options`,
//!   `info`, `runtime`, `diagnostics`, `error`, `codes`: its words
//! - `details`, `reread`: what is read from the dump again when it is printed; `contents`: of all objects at once
//! - `stack_profile`: what readers of profiles share
//! - `blocks`, `text`, `json_lines`, `line_details`, `sink`, `repeats`: tools for readers of text; `dotnet`, `java_types`: names of types

pub(crate) mod blocks;
mod blot;
mod contents;
mod details;
mod diagnostics;
mod dotnet;
mod encoding;
mod error;
mod foreign;
pub(crate) mod gcdump;
mod gperftools;
mod gzip_members;
mod heapgraph;
mod heapprofile;
pub(crate) mod hprof;
pub(crate) mod ibm_classic;
mod info;
mod java_types;
mod jemalloc;
mod json_lines;
mod line_details;
mod memory_infra;
mod names_only;
pub(crate) mod nettrace;
mod observer;
mod options;
mod phd;
mod pprof;
mod problem_codes;
mod read;
mod reader;
mod repeats;
mod reread;
mod ruby_objspace;
mod runtime;
mod sink;
mod source;
mod spool;
mod stack_profile;
mod text;
mod unpack;
pub(crate) mod v8_snapshot;
pub(crate) mod xna_cf;

pub(crate) use blot::Blot;
pub use contents::{
    ContentKey, Contents, HeldValue, MIN_LONG_ARRAY_ELEMENTS, Strings, WantedContents, primitive_array_kinds,
};
pub(crate) use details::is_identifier;
pub use details::{
    AllocationGroup, Elements, FieldValue, NamedGroups, ObjectDetails, ReferenceKind, ReferenceKinds, ReferenceName,
    ShownValue, Text, Value,
};
pub use diagnostics::{Diagnostics, Problem, ProblemCode, Severity};
pub use encoding::Encoding;
pub use error::{Position, ReadError, ReadErrorKind};
pub use info::{FormatInfo, Loss, SnapshotInfo};
pub(crate) use java_types::PRIMITIVES;
pub(crate) use names_only::NamesOnly;
#[cfg(all(feature = "collect", target_os = "linux"))]
pub(crate) use nettrace::follow::Follower;
pub use observer::{NoObserver, Observer, Phase};
pub use options::{ProfileOptions, ReadOptions, Rules, SizeRadix, SnapshotChoice};
#[cfg(feature = "cli")]
pub(crate) use problem_codes::POSSIBLE_REPEAT;
pub use read::{Counted, Dump, Loaded, count_types, detect, empty_array_bytes, read};
pub use reader::{
    Extent, Format, FormatMatch, ParsedContent, ParsedDump, ParsedObjects, ParsedTypes, Reader, Reading, TypeOrigin,
};
pub use reread::{RandomAccess, Reread};
pub use runtime::Runtime;
pub use source::Source;

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
    &gperftools::Gperftools,
    &jemalloc::Jemalloc,
    &heapprofile::Heapprofile,
    &ibm_classic::IbmClassic,
    &xna_cf::XnaCf,
];
