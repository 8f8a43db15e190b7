//! From bytes to a heap graph, or to allocation trees: one folder per format, all listed in [`READERS`].
//!
//! A new format is one folder and one line here. A reader recognises its format by content, reads whatever of a
//! damaged dump can be read, and reports the rest under stable codes. nom lives here and nowhere else.

mod blocks;
mod diagnostics;
mod dotnet;
mod encoding;
mod error;
mod foreign;
mod gcdump;
mod ibm_classic;
mod memory_infra;
mod nettrace;
mod observer;
mod repeats;
mod runtime;
mod sink;
mod source;
mod stored;
mod text;
mod xna_cf;

pub use diagnostics::{Code, Diagnostics, Problem};
pub use encoding::Encoding;
pub use error::{Position, ReadError, ReadErrorKind};
pub use observer::{NoObserver, Observer, Phase};
pub use runtime::Runtime;
pub use source::Source;
pub use xna_cf::SizeRadix;

use serde::{Deserialize, Serialize};

use crate::allocations::AllocationDump;
use crate::graph::HeapGraph;
use stored::FixedText;

/// Does a dump's start look like a format?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detected {
    /// For certain.
    Yes,
    /// Certainly not.
    No,
    /// It may be; asked for only when nobody is certain.
    Maybe,
}

/// One dump format. Readers are listed in [`READERS`] and have no other registration.
pub trait Reader: Sync {
    /// `xna-cf`: for `--input-format`; with `_` for `-` the name of the folders in `src/input` and `fixtures`, and as it
    /// is that of the file in `docs/formats`.
    fn name(&self) -> &'static str;
    /// The format in words.
    fn title(&self) -> &'static str;
    /// Whose heaps the format shows.
    fn runtime(&self) -> Runtime;
    /// Looks at the first bytes, at most 8 KiB; never fails.
    fn detect(&self, start: &[u8]) -> Detected;
    /// Memory that the graph of a dump of so many (unpacked) bytes takes at least, as far as the length tells. To be
    /// refused before it is read, not to be killed after.
    fn least_memory_bytes(&self, _dump_bytes: u64) -> u64 {
        0
    }
    /// Reads the dump.
    ///
    /// # Errors
    /// When the input cannot be read at all, or under `strict` at the first problem.
    fn read(&self, source: Source, options: &ReadOptions) -> Result<Loaded, ReadError>;
    /// Objects and bytes by type, in one pass with memory for types alone. Repeated objects count each time.
    ///
    /// # Errors
    /// As `read`.
    fn count_types(&self, source: Source, options: &ReadOptions) -> Result<Counted, ReadError>;
}

/// Every format there is, weak text formats last.
pub static READERS: &[&dyn Reader] =
    &[&gcdump::Gcdump, &nettrace::Nettrace, &memory_infra::MemoryInfra, &ibm_classic::IbmClassic, &xna_cf::XnaCf];

/// How to read, for all formats; what is special to one is in a struct of its own.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// A reader's name: no recognition. Default: none.
    pub input_format: Option<String>,
    /// Type names exactly as in the dump. Default: false.
    pub raw_types: bool,
    /// The first problem is an error. Default: false.
    pub strict: bool,
    /// Threads that parse. Default: as many as there are cores.
    pub threads: usize,
    /// Memory that the dump may take while it is read, with everything that grows with it. A dump that takes more is an
    /// error. Default: no limit.
    pub max_memory_bytes: Option<u64>,
    /// Which of several snapshots. Default: the first complete one.
    pub snapshot: SnapshotChoice,
    /// Options of the XNA / .NET CF reader.
    pub xna_cf: xna_cf::XnaCfOptions,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            input_format: None,
            raw_types: false,
            strict: false,
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            max_memory_bytes: None,
            snapshot: SnapshotChoice::default(),
            xna_cf: xna_cf::XnaCfOptions::default(),
        }
    }
}

/// Which of several snapshots in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum SnapshotChoice {
    /// The first complete one; where none is, the first.
    #[default]
    FirstComplete,
    /// By number, from 1.
    Number(usize),
    /// The last one.
    Last,
}

/// What a dump holds.
#[derive(Debug)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "there is one, and it is moved once")]
pub enum Dump {
    /// Objects and references.
    Graph(HeapGraph),
    /// Allocation totals by backtrace and type.
    Allocations(AllocationDump),
}

/// A dump that was read.
#[derive(Debug)]
pub struct Loaded {
    /// Its content.
    pub dump: Dump,
    /// What the file says of itself.
    pub facts: Facts,
    /// What was wrong with it.
    pub diagnostics: Diagnostics,
}

/// A dump that was only counted.
#[derive(Debug)]
pub struct Counted {
    /// (type, objects, bytes), by name; types without objects left out.
    pub types: Vec<(String, u64, u64)>,
    /// Sections' names.
    pub sections: Vec<String>,
    /// What the file says of itself.
    pub facts: Facts,
    /// What was wrong with it.
    pub diagnostics: Diagnostics,
}

/// What a file says of itself, and what was found in it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Facts {
    /// The reader's name.
    #[serde(deserialize_with = "stored::leaked")]
    pub format: FixedText,
    /// The format in words.
    #[serde(deserialize_with = "stored::leaked")]
    pub title: FixedText,
    /// The format's version or variant, if there are several.
    pub version: Option<String>,
    /// Which program wrote the dump, in its own words.
    pub producer: Option<String>,
    /// The text's encoding.
    #[serde(deserialize_with = "stored::leaked_option")]
    pub encoding: Option<FixedText>,
    /// Packings around the dump, outermost first.
    #[serde(deserialize_with = "stored::leaked_list")]
    pub compression: Vec<FixedText>,
    /// Records by kind, in a fixed order.
    #[serde(deserialize_with = "stored::leaked_counts")]
    pub records: Vec<(FixedText, u64)>,
    /// The dump's own totals against what was found, where it has them: one sentence.
    pub trailer: Option<String>,
    /// The format has no root records: roots must be inferred.
    pub has_no_roots: bool,
    /// The snapshots in the file, in the order of time, where the format can hold several.
    pub snapshots: Vec<SnapshotFacts>,
    /// Objects without a root are alive all the same: on the frozen heap, which is never collected.
    pub unrooted_are_alive: bool,
    /// The dump is a sample: objects and bytes of the heap are about so many times those in the dump.
    #[serde(with = "stored::bits")]
    pub sampled: Option<(f32, f32)>,
}

/// One of the snapshots in a file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SnapshotFacts {
    /// When it was taken, in milliseconds since 1970.
    pub unix_ms: Option<i64>,
    /// It is there from its start to its end, as far as the file can tell.
    pub complete: bool,
    /// Objects in it, as many as arrived.
    pub objects: u64,
    /// Their bytes.
    pub shallow_bytes: u64,
    /// References in it, as many as arrived.
    pub references: u64,
    /// It is the one that was read.
    pub chosen: bool,
}

/// The packed input broke off; the same for every format.
pub(crate) static BROKEN_COMPRESSION: Code =
    Code::warning("broken-compression", "the compressed data is cut or damaged; what came before was read");

/// Sums do not fit 64 bits; the same for every format.
pub(crate) static SIZE_OVERFLOW: Code =
    Code::warning("size-overflow", "sections with more than 18,446,744,073,709,551,615 bytes; sums end there");

/// Objects were counted, not kept: which of them came before is not known; the same for every format.
pub(crate) static POSSIBLE_REPEAT: Code = Code::note(
    "possible-repeat",
    "objects that may be listed twice: --shallow counts repeats each time, a full read leaves them out",
);

/// An error when no object was read and some were lost.
///
/// # Errors
/// When `objects` is 0 and the dump has any of these problems.
pub(crate) fn check_any_read(objects: u64, problems: &Diagnostics, lost: &[&'static Code]) -> Result<(), ReadError> {
    let first = problems.sorted().into_iter().filter(|problem| lost.contains(&problem.code));
    match first.min_by_key(|problem| problem.first_at).filter(|_| objects == 0) {
        None => Ok(()),
        Some(problem) => {
            let mut text = problem.code.meaning.to_string();
            if !problem.first_text.is_empty() {
                text = format!("{text}: {}", problem.first_text);
            }
            Err(ReadError::new(ReadErrorKind::NothingRead(problem.code.name, text)).at(problem.first_at))
        }
    }
}

/// Runs of padding that no tool writes; the same for every format.
pub(crate) static PADDING: Code = Code::warning(
    "padding",
    "long runs of NULs or blanks, which were skipped: the file was filled up or not all written",
);

/// Finds the reader for a source.
///
/// # Errors
/// When `input_format` names no reader, when no reader recognises the content, or when several may.
pub fn detect(source: &Source, options: &ReadOptions) -> Result<&'static dyn Reader, ReadError> {
    if source.start().iter().all(|&byte| text::is_blank(byte)) && source.is_whole() {
        return Err(ReadError::new(ReadErrorKind::Empty));
    }
    if let Some(name) = &options.input_format {
        return READERS
            .iter()
            .find(|reader| reader.name() == name)
            .copied()
            .ok_or_else(|| ReadError::new(ReadErrorKind::NoSuchFormat(name.clone())));
    }
    let saying = |wanted: Detected| -> Vec<&'static dyn Reader> {
        READERS.iter().filter(|reader| reader.detect(source.start()) == wanted).copied().collect()
    };
    let certain = saying(Detected::Yes);
    let candidates = if certain.is_empty() { saying(Detected::Maybe) } else { certain };
    match candidates[..] {
        [] => Err(ReadError::new(match foreign::name(source.start()) {
            Some(sentence) => ReadErrorKind::NotSupported(sentence),
            None => ReadErrorKind::UnknownFormat,
        })),
        [reader] => Ok(reader),
        _ => {
            Err(ReadError::new(ReadErrorKind::AmbiguousFormat(candidates.iter().map(|reader| reader.name()).collect())))
        }
    }
}

/// Reads a dump with the reader that recognises it.
///
/// # Errors
/// As [`detect`] and [`Reader::read`].
pub fn read(source: Source, options: &ReadOptions) -> Result<Loaded, ReadError> {
    let mut loaded = detect(&source, options)?.read(source, options)?;
    if let Dump::Graph(graph) = &mut loaded.dump {
        graph.tell_types_apart(options.raw_types);
    }
    Ok(loaded)
}

/// Counts a dump's objects by type with the reader that recognises it.
///
/// # Errors
/// As [`detect`] and [`Reader::count_types`].
pub fn count_types(source: Source, options: &ReadOptions) -> Result<Counted, ReadError> {
    detect(&source, options)?.count_types(source, options)
}
