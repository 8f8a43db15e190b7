//! Reading a dump: the choice of the reader, and what is alike for all formats, around the reader of one.

use std::io;

use super::counted_instances::CountedInstances;
use super::details::ObjectDetails;
use super::diagnostics::Diagnostics;
use super::error::{ReadError, ReadErrorKind};
use super::info::FormatInfo;
use super::options::ReadOptions;
use super::reader::{FormatMatch, ParsedContent, ParsedDump, ParsedTypes, Reader, Reading, TypeOrigin};
use super::runtime::Runtime;
use super::source::Source;
use super::{READERS, foreign_formats, text};
use crate::allocations::{AllocationDump, ClassHistograms};
use crate::graph::HeapGraph;

/// Text of other programs that is looked through for a dump behind it.
const MAX_TEXT_BYTES_BEFORE_DUMP: usize = 16 << 20;

/// The content of a dump.
#[derive(Debug)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "there is one, and it is moved once")]
pub enum Dump {
    /// Objects and references.
    Graph(HeapGraph),
    /// Allocation totals by backtrace and type.
    Allocations(AllocationDump),
    /// Objects and bytes by type alone.
    Histograms(ClassHistograms),
}

/// A dump that was read.
#[derive(Debug)]
pub struct LoadedDump {
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
pub struct CountedTypes {
    /// (type, objects, bytes), by name; types without objects left out.
    pub types: Vec<(String, u64, u64)>,
    /// The origin of each type, where that may tell types of one name apart; else empty.
    pub origins: Vec<TypeOrigin>,
    /// Sections' names.
    pub section_names: Vec<String>,
    /// What instances hold, where the format says it without a graph.
    pub instances: Option<Box<dyn CountedInstances>>,
    /// Facts about the dump and the file.
    pub info: FormatInfo,
    /// Problems that were met.
    pub diagnostics: Diagnostics,
}

/// Reads a dump with the reader that recognises it.
///
/// # Errors
/// As [`detect`]; when the input cannot be read at all, and under `strict` at the first problem.
pub fn read(mut source: Source, options: &ReadOptions) -> Result<LoadedDump, ReadError> {
    let reader = reader_for(&mut source, options)?;
    let mut reading = Reading::new(reader, &mut source, options);
    let ParsedDump { extent, content } = reader.read(source, &mut reading)?;
    let dump = match content {
        ParsedContent::Objects(objects) => {
            reading.check_read_extent(&extent)?;
            let mut graph = objects.resolve(reader.graph_codes(), extent.end, &mut reading)?;
            graph.set_types_apart(options.raw_types);
            Dump::Graph(graph)
        }
        ParsedContent::Allocations(dump) => {
            reading.report_broken_packing(extent.end);
            Dump::Allocations(dump)
        }
        ParsedContent::Histograms(histograms) => {
            reading.check_read_extent(&extent)?;
            Dump::Histograms(histograms)
        }
        ParsedContent::NoHeap(text) => {
            reading.report_broken_packing(extent.end);
            reading.diagnostics.fail_if_strict(options.strict)?;
            return Err(no_heap_error(text, &reading.diagnostics));
        }
    };
    reading.diagnostics.fail_if_strict(options.strict)?;
    Ok(LoadedDump { dump, info: reading.info, diagnostics: reading.diagnostics, details: reading.details })
}

/// Counts a dump's objects by type with the reader that recognises it.
///
/// # Errors
/// As [`read`], and for a dump without objects.
pub fn count_types(mut source: Source, options: &ReadOptions) -> Result<CountedTypes, ReadError> {
    let reader = reader_for(&mut source, options)?;
    let mut reading = Reading::new(reader, &mut source, options);
    let ParsedTypes { extent, types, origins, section_names: sections } = reader.count_types(source, &mut reading)?;
    reading.check_read_extent(&extent)?;
    reading.diagnostics.fail_if_strict(options.strict)?;
    let Reading { info, diagnostics, counted_instances: instances, .. } = reading;
    Ok(CountedTypes { types, origins, section_names: sections, instances, info, diagnostics })
}

/// The reader of a source, when it can read by the rules that are asked for.
fn reader_for(source: &mut Source, options: &ReadOptions) -> Result<&'static dyn Reader, ReadError> {
    let reader = detect(source, options)?;
    if let Some(option) = options.profile.given_profile_option().filter(|_| !reader.is_profile()) {
        let profiles = READERS.iter().copied().filter(|reader| reader.is_profile()).collect::<Vec<_>>();
        let text = format!(
            "{option} acts in profiles alone ({}), not in {}",
            reader_names(&profiles).join(", "),
            reader.name()
        );
        return Err(ReadError::new(ReadErrorKind::NotSupported(text)));
    }
    if reader.rules().contains(&options.rules) {
        Ok(reader)
    } else {
        let known = reader.rules().iter().map(|rules| rules.name()).collect();
        Err(ReadError::new(ReadErrorKind::NoSuchRules(options.rules.name(), reader.name(), known)))
    }
}

/// The error for a file without a heap, with the first problem.
fn no_heap_error(mut text: String, problems: &Diagnostics) -> ReadError {
    if let Some(problem) = problems.sorted().first() {
        text += &format!(" ({}: {}, at {})", problem.code, problem.meaning, problem.first_at);
    }
    ReadError::new(ReadErrorKind::NoHeap(text))
}

/// Finds the reader for a source.
///
/// # Errors
/// If `input_format` names no reader, when no reader recognises the content, or when several may.
pub fn detect(source: &mut Source, options: &ReadOptions) -> Result<&'static dyn Reader, ReadError> {
    if source.start().iter().all(|&byte| text::is_blank(byte)) && source.is_all_in_start {
        return Err(ReadError::new(ReadErrorKind::Empty));
    }
    if let Some(name) = &options.input_format {
        let reader = READERS.iter().find(|reader| reader.name() == name).copied();
        return reader.ok_or_else(|| ReadError::new(ReadErrorKind::NoSuchFormat(name.clone(), reader_names(READERS))));
    }
    let fitting = |wanted: FormatMatch| -> Vec<&'static dyn Reader> {
        READERS.iter().filter(|reader| reader.detect(source.start()) == wanted).copied().collect()
    };
    let certain = fitting(FormatMatch::Yes);
    let foreign = foreign_formats::describe_start(source.start()).filter(|_| certain.is_empty());
    let candidates = if certain.is_empty() && foreign.is_none() { fitting(FormatMatch::Maybe) } else { certain };
    match candidates[..] {
        [] => match reader_behind_text(source, options)? {
            Some(reader) => Ok(reader),
            None => Err(ReadError::new(unread_kind(source.start(), foreign))),
        },
        [reader] => Ok(reader),
        _ => Err(ReadError::new(ReadErrorKind::AmbiguousFormat(reader_names(&candidates)))),
    }
}

/// The reader of what begins behind text of other programs, as in a log. O([`MAX_TEXT_BYTES_BEFORE_DUMP`]), and as much memory.
fn reader_behind_text(source: &mut Source, options: &ReadOptions) -> io::Result<Option<&'static dyn Reader>> {
    if source.start().contains(&0) {
        return Ok(None);
    }
    let eighth = options.max_memory_bytes.map_or(usize::MAX, |bytes| usize::try_from(bytes / 8).unwrap_or(usize::MAX));
    let start = source.longer_start(MAX_TEXT_BYTES_BEFORE_DUMP.min(eighth))?;
    let is_found = |reader: &&dyn Reader| reader.may_stand_behind_text() && reader.detect(start) == FormatMatch::Yes;
    Ok(READERS.iter().copied().find(is_found))
}

/// What is to be said of a start that no reader recognises.
fn unread_kind(start: &[u8], foreign: Option<String>) -> ReadErrorKind {
    let sentence = foreign.or_else(|| foreign_formats::describe_page_or_text(start, &reader_names(READERS)));
    sentence.map_or_else(|| ReadErrorKind::UnknownFormat(reader_names(READERS)), ReadErrorKind::NotSupported)
}

/// Bytes of an array without an element in the heaps of a format, by the width of addresses; none where other arrays
/// are as small, or the format does not tell.
pub fn empty_array_bytes(name: &str) -> &'static [u64] {
    READERS.iter().find(|reader| reader.name() == name).map_or(&[], |reader| reader.empty_array_bytes())
}

impl Runtime {
    /// The runtime of a reader's format; `None` when no reader has this name.
    pub fn of_format(name: &str) -> Option<Self> {
        READERS.iter().find(|reader| reader.name() == name).map(|reader| reader.format().runtime)
    }
}

fn reader_names(readers: &[&'static dyn Reader]) -> Vec<&'static str> {
    readers.iter().map(|reader| reader.name()).collect()
}
