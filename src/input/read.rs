//! Reading a dump: what is alike for all formats, around the reader of one.

use super::details::ObjectDetails;
use super::detect::detect;
use super::diagnostics::Diagnostics;
use super::error::{ReadError, ReadErrorKind};
use super::info::FormatInfo;
use super::options::ReadOptions;
use super::reader::{Content, ParsedDump, ParsedTypes, Reader, Reading, TypeOrigin};
use super::source::Source;
use crate::allocations::AllocationDump;
use crate::graph::HeapGraph;

/// The content of a dump.
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
    /// Facts about the dump and the file.
    pub info: FormatInfo,
    /// Problems that were met.
    pub diagnostics: Diagnostics,
    /// Reads single objects again, where the format says more of them than the graph has.
    pub details: Option<Box<dyn ObjectDetails>>,
}

/// A dump that was only counted.
#[derive(Debug)]
pub struct Counted {
    /// (type, objects, bytes), by name; types without objects left out.
    pub types: Vec<(String, u64, u64)>,
    /// The origin of each type, where that may tell types of one name apart; else empty.
    pub origins: Vec<TypeOrigin>,
    /// Sections' names.
    pub sections: Vec<String>,
    /// Facts about the dump and the file.
    pub info: FormatInfo,
    /// Problems that were met.
    pub diagnostics: Diagnostics,
}

/// Reads a dump with the reader that recognises it.
///
/// # Errors
/// As [`detect`]; when the input cannot be read at all, and under `strict` at the first problem.
pub fn read(mut source: Source, options: &ReadOptions) -> Result<Loaded, ReadError> {
    let reader = reader_for(&source, options)?;
    let mut reading = Reading::new(reader, &mut source, options);
    let ParsedDump { extent, content } = reader.read(source, &mut reading)?;
    let dump = match content {
        Content::Objects(objects) => {
            reading.close(&extent)?;
            let mut graph = objects.resolve(reader.graph_codes(), extent.end, &mut reading)?;
            graph.tell_types_apart(options.raw_types);
            Dump::Graph(graph)
        }
        Content::Allocations(dump) => {
            reading.note_end(extent.end);
            Dump::Allocations(dump)
        }
        Content::Nothing(text) => {
            reading.note_end(extent.end);
            reading.diagnostics.check(options.strict)?;
            return Err(no_heap(text, &reading.diagnostics));
        }
    };
    reading.diagnostics.check(options.strict)?;
    Ok(Loaded { dump, info: reading.info, diagnostics: reading.diagnostics, details: reading.details })
}

/// Counts a dump's objects by type with the reader that recognises it.
///
/// # Errors
/// As [`read`], and for a dump without objects.
pub fn count_types(mut source: Source, options: &ReadOptions) -> Result<Counted, ReadError> {
    let reader = reader_for(&source, options)?;
    let mut reading = Reading::new(reader, &mut source, options);
    let ParsedTypes { extent, types, origins, sections } = reader.count_types(source, &mut reading)?;
    reading.close(&extent)?;
    reading.diagnostics.check(options.strict)?;
    Ok(Counted { types, origins, sections, info: reading.info, diagnostics: reading.diagnostics })
}

/// The reader of a source, when it can read by the rules that are asked for.
fn reader_for(source: &Source, options: &ReadOptions) -> Result<&'static dyn Reader, ReadError> {
    let reader = detect(source, options)?;
    if reader.rules().contains(&options.rules) {
        Ok(reader)
    } else {
        let known = reader.rules().iter().map(|rules| rules.name()).collect();
        Err(ReadError::new(ReadErrorKind::NoSuchRules(options.rules.name(), reader.name(), known)))
    }
}

/// The error for a file without a heap, with the first problem.
fn no_heap(mut text: String, problems: &Diagnostics) -> ReadError {
    if let Some(problem) = problems.sorted().first() {
        text += &format!(" ({}: {}, at {})", problem.code, problem.meaning, problem.first_at);
    }
    ReadError::new(ReadErrorKind::NoHeap(text))
}
