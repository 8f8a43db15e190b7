//! The reader of one format, its input and its result. Everything that formats have in common is
//! done by [`read`](super::read()) around it.

use super::counted_instances::CountedInstances;
use super::details::ObjectDetails;
use super::diagnostics::{Diagnostics, ProblemCode};
use super::error::{Position, ReadError};
use super::gzip_members::UNPACKING_MEMORY_BYTES_PER_THREAD;
use super::info::FormatInfo;
use super::options::{ReadOptions, Rules};
use super::problem_codes::{self, GraphCodes};
use super::rereadable_file::RereadableFile;
use super::runtime::Runtime;
use super::source::{Source, SourceEnding};
use crate::allocations::{AllocationDump, ClassHistograms};
use crate::graph::{ColumnSource, GraphBuilder, HeapGraph, MemoryBudget, ResolveCounts, ResolveOptions, SourcePlace};

/// Does a dump's start look like a format?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatMatch {
    /// For certain.
    Yes,
    /// Certainly not.
    No,
    /// It may be; asked for only when nobody is certain.
    Maybe,
}

/// The names of a format and what it shows.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// `xna-cf`: for `--input-format`; with `_` for `-` the name of the folders in `src/input` and `fixtures`, and as it
    /// is that of the file in `docs/formats`.
    pub name: &'static str,
    /// The format in words.
    pub title: &'static str,
    /// The runtime whose heaps it shows.
    pub runtime: Runtime,
    /// It is text: `info` then names the encoding.
    pub is_text: bool,
}

impl Format {
    /// A format that is text.
    pub const fn text(name: &'static str, title: &'static str, runtime: Runtime) -> Self {
        Format { name, title, runtime, is_text: true }
    }

    /// A format of bytes.
    pub const fn binary(name: &'static str, title: &'static str, runtime: Runtime) -> Self {
        Format { name, title, runtime, is_text: false }
    }
}

/// One dump format: a folder in `src/input`, a line in [`READERS`](super::READERS), a document in `docs/formats`, a folder
/// in `fixtures`.
///
/// A reader recognises its format and parses its records; it never fails because a dump is damaged as long as anything
/// can be read, and counts what is wrong as [`Reading::diagnostics`]. What it need not think of, because it is done once
/// for all formats: detection among readers, packing and encodings, input that breaks off in its packing, an error when
/// nothing could be read, resolving ids, dangling references and repeated objects, sums that overflow, `strict`, names of
/// types that are told apart.
pub trait Reader: Sync {
    /// The names of the format and what it shows.
    fn format(&self) -> Format;

    /// `xna-cf`, see [`Format::name`].
    fn name(&self) -> &'static str {
        self.format().name
    }

    /// Looks at the first bytes, some 8 KiB, unpacked and in UTF-8; never fails.
    fn detect(&self, head: &[u8]) -> FormatMatch;

    /// Returns true for a format that may begin behind much text of other programs: it is looked for in more than the first
    /// bytes where no reader recognises these.
    fn may_stand_behind_text(&self) -> bool {
        false
    }

    /// The rules that the format can be read by.
    fn rules(&self) -> &'static [Rules] {
        &[Rules::Heapdump]
    }

    /// Memory that the graph of a dump of that many (unpacked) bytes takes at least, as far as the length tells. To be
    /// refused before it is read, not to be killed after.
    fn least_memory_bytes(&self, _dump_bytes: u64) -> u64 {
        0
    }

    /// The format's words for what the graph's builder finds.
    fn graph_codes(&self) -> &'static GraphCodes {
        &GraphCodes::DEFAULT
    }

    /// Reads the dump to its end into a builder or an allocation dump. Fills `reading.info` (version, producer, records,
    /// trailer, snapshots; format, title, encoding and packing are there) and `reading.diagnostics`, and lets everything
    /// that grows with the dump ask `reading.budget`.
    ///
    /// # Errors
    /// If the input cannot be read at all.
    fn read(&self, source: Source, reading: &mut Reading) -> Result<ParsedDump, ReadError>;

    /// Objects and bytes by type, in one pass with memory for types alone. Repeated objects count each time.
    ///
    /// # Errors
    /// As `read`.
    fn count_types(&self, source: Source, reading: &mut Reading) -> Result<ParsedTypes, ReadError>;

    /// Returns true for a format of which a strict reading tells problems that another does not look for.
    fn sees_more_under_strict(&self) -> bool {
        false
    }

    /// Returns true for a format of profiles, which [`ReadOptions::profile`] is for.
    fn is_profile(&self) -> bool {
        false
    }

    /// Bytes of an array without an element, by the width of addresses, narrow ones first: no object is smaller, and no
    /// other array as small. Nothing where that is not so.
    fn empty_array_bytes(&self) -> &'static [u64] {
        &[]
    }

    /// Returns true for a format that says what objects hold besides references: texts, numbers, names.
    fn has_values(&self) -> bool {
        false
    }

    /// The reader of single objects of the dump in `input`, from what [`ObjectDetails::store`] wrote into an index.
    /// `None` for a format that says no more than the graph has.
    fn details(&self, _columns: &dyn ColumnSource, _input: RereadableFile) -> Option<Box<dyn ObjectDetails>> {
        None
    }
}

/// The working state of a reader: given beside the input, and filled on its way.
#[derive(Debug)]
pub struct Reading {
    /// Options of reading.
    pub options: ReadOptions,
    /// The memory that the dump may take while it is read.
    pub budget: MemoryBudget,
    /// Facts about the dump and the file.
    pub info: FormatInfo,
    /// Problems that were met.
    pub diagnostics: Diagnostics,
    /// The reader of single objects of the dump (from [`Source::rereadable_file`]), where the format says more of them than the
    /// graph has. Filled while reading, or by the work of [`ParsedObjects::with_finish`].
    pub details: Option<Box<dyn ObjectDetails>>,
    /// What instances hold, of a dump that was only counted: where its reader knows that without a graph.
    pub counted_instances: Option<Box<dyn CountedInstances>>,
    /// `None` once it was asked.
    ending: Option<SourceEnding>,
}

impl Reading {
    /// For a source that is about to be read, which gets its limits of memory and threads here.
    pub(super) fn new(reader: &dyn Reader, source: &mut Source, options: &ReadOptions) -> Self {
        // What is unpacked ahead takes memory of its own.
        let most = options.max_memory_bytes.map_or(u64::MAX, |bytes| bytes / UNPACKING_MEMORY_BYTES_PER_THREAD);
        source.use_threads(options.threads.min(usize::try_from(most).unwrap_or(usize::MAX)));
        Reading {
            options: options.clone(),
            budget: source.limit_memory(options.max_memory_bytes),
            info: FormatInfo {
                format: reader.name().into(),
                title: reader.format().title.into(),
                encoding: reader.format().is_text.then(|| source.encoding.name().into()),
                compression: source.compression.iter().map(|&packing| packing.into()).collect(),
                ..FormatInfo::default()
            },
            diagnostics: Diagnostics::default(),
            details: None,
            counted_instances: None,
            ending: Some(source.ending()),
        }
    }

    /// Looks at what was read to its end: reports packed data that broke off. `read` does it for every reader, and
    /// checks `strict` once there is a graph; a reader that goes on looking for what merely follows from the problems
    /// so far does it before, with [`check_strict`](Self::check_strict). Error: if no object was read and some were
    /// lost.
    pub(super) fn check_read_extent(&mut self, extent: &ReadExtent) -> Result<(), ReadError> {
        self.report_broken_packing(extent.end);
        problem_codes::fail_if_nothing_read(extent.objects, &self.diagnostics, extent.loss_codes)
    }

    /// Reports packed data that broke off, once.
    pub(super) fn report_broken_packing(&mut self, end: Position) {
        if let Some(text) = self.ending.take().and_then(|ending| ending.broken_reason()) {
            self.diagnostics.add(&problem_codes::BROKEN_COMPRESSION, 1, end, || text);
        }
    }

    /// Checks `strict`. Error: under `strict` at the first problem.
    pub(super) fn check_strict(&self) -> Result<(), ReadError> {
        self.diagnostics.fail_if_strict(self.options.strict)
    }
}

/// The extent to which a dump was read.
#[derive(Debug, Clone, Copy)]
pub struct ReadExtent {
    /// The last line of a text, or the length of a binary file. Positions that the builder was given are of the same kind.
    pub end: Position,
    /// Object records that were read.
    pub objects: u64,
    /// Problems by which objects may be lost: a dump that has one of them and no object is an error.
    pub loss_codes: &'static [&'static ProblemCode],
}

/// A dump as its reader leaves it.
pub struct ParsedDump {
    /// The extent to which it was read.
    pub extent: ReadExtent,
    /// The parsed records.
    pub content: ParsedContent,
}

/// The content of a dump's records.
pub enum ParsedContent {
    /// Objects, still with ids in place of node numbers.
    Objects(Box<ParsedObjects>),
    /// Allocation totals.
    Allocations(AllocationDump),
    /// Objects and bytes by type alone.
    Histograms(ClassHistograms),
    /// A file of the format without a heap: why, and what to do. The first problem is added to it.
    NoHeap(String),
}

/// Objects before their ids are resolved.
pub struct ParsedObjects {
    builder: GraphBuilder,
    resolve_options: ResolveOptions,
    finish: Option<FinishGraph>,
}

/// A format's work on the finished graph, with what did not fit.
type FinishGraph = Box<dyn FnOnce(&mut HeapGraph, &ResolveCounts, &mut Reading)>;

impl ParsedObjects {
    /// All that a builder has.
    pub fn new(builder: GraphBuilder) -> Self {
        ParsedObjects { builder, resolve_options: ResolveOptions::default(), finish: None }
    }

    /// The same, resolved in this way.
    pub fn with_resolve_options(self, resolve: ResolveOptions) -> Self {
        ParsedObjects { resolve_options: resolve, ..self }
    }

    /// The same; `finish` is called with the finished graph and what did not fit.
    pub fn with_finish(self, finish: impl FnOnce(&mut HeapGraph, &ResolveCounts, &mut Reading) + 'static) -> Self {
        ParsedObjects { finish: Some(Box::new(finish)), ..self }
    }

    /// Makes the graph and reports what did not fit in the words of `codes`; `end` tells the kind of positions. Error:
    /// if there is no memory for the graph.
    pub(super) fn resolve(
        self,
        codes: &'static GraphCodes,
        end: Position,
        reading: &mut Reading,
    ) -> Result<HeapGraph, ReadError> {
        let ParsedObjects { mut builder, resolve_options: resolve, finish } = self;
        builder.check_resolve_memory(&resolve)?;
        let (mut graph, findings) = builder.resolve(resolve);
        let tallies = [
            (&codes.dangling_ref, findings.dangling_references),
            (&codes.cross_domain_ref, findings.cross_section_references),
            (&codes.dangling_root, findings.dangling_roots),
            (&codes.dangling_class_root, findings.dangling_class_roots),
            (&codes.duplicate_object, findings.duplicate_objects),
            (&codes.conflicting_object, findings.conflicting_objects),
            (&problem_codes::SIZE_OVERFLOW, findings.size_overflows),
        ];
        for (code, tally) in tallies {
            reading.diagnostics.add(code, tally.count, end.with_value(tally.first_position), String::new);
        }
        if let Some(finish) = finish {
            finish(&mut graph, &findings, reading);
        }
        Ok(graph)
    }
}

/// The origin of a type, as far as counting tells.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TypeOrigin {
    /// Its loader: the id of an object, or the runtime itself.
    Loader(Option<String>),
    /// The place of its constructor, if that is known.
    ConstructorPlace(Option<SourcePlace>),
}

/// A dump that was only counted, as its reader leaves it.
pub struct ParsedTypes {
    /// The extent to which it was read.
    pub extent: ReadExtent,
    /// (type, objects, bytes), by name; types without objects left out.
    pub types: Vec<(String, u64, u64)>,
    /// By type: where it is from, where that may tell types of one name apart; else empty.
    pub origins: Vec<TypeOrigin>,
    /// Sections' names.
    pub section_names: Vec<String>,
}
