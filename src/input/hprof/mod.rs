//! Java heap dumps: HPROF, of HotSpot, Android's runtime, native images and others.
//!
//! ```text
//! "JAVA PROFILE 1.0.2" NUL, u4 bytes of an id, u8 time
//! records: u1 tag, u4 time, u4 length, body
//!   texts, classes with their names, frames and traces of threads
//!   heap dumps, in one record or in segments: class dumps, instances, arrays, roots; not in a fixed order
//! ```
//!
//! An instance is the values of its fields: where the references are says its class, which may come later. Sizes are not
//! in the file: they follow from classes and addresses (`sizes`). docs/formats/hprof.md has the layout, the codes, and
//! where each rule comes from.

mod assemble;
mod collected_records;
mod details;
mod java_vm;
pub(crate) mod layout;
mod problem_codes;
pub(crate) mod records;
mod segments;
pub(crate) mod wire;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::blocks::parse_source_blocks;
use super::counted_instances::CountedClass;
use super::problem_codes::{GraphCodes, POSSIBLE_REPEAT};
use super::{
    Format, FormatMatch, Loss, ObjectDetails, ParsedContent, ParsedDump, ParsedObjects, ParsedTypes, Position,
    ProblemCode, ReadError, ReadErrorKind, ReadExtent, Reader, Reading, RereadableFile, Rules, Runtime, SnapshotChoice,
    SnapshotInfo, Source, TypeOrigin,
};
use crate::graph::{ColumnSource, HeapGraph, ObjectColumns, Occurrences, ResolveOptions};
use assemble::Assembler;
use collected_records::{BlockSink, HprofRecords};
use details::HprofDetails;
use details::counted_instances::HprofInstances;
use details::finder::ObjectPlaces;
use problem_codes::*;
use records::{BadHeader, Header};
use segments::block::{Block, parse_block};
use segments::block_parts::HprofTypeCounts;
use segments::{BlockContext, SegmentReader, lock_classes};

pub(super) struct Hprof;

impl Reader for Hprof {
    fn format(&self) -> Format {
        Format::binary("hprof", "Java heap dump (HPROF)", Runtime::Java)
    }

    /// By its first bytes.
    fn detect(&self, start: &[u8]) -> FormatMatch {
        if start.starts_with(records::FILE_MAGIC) { FormatMatch::Yes } else { FormatMatch::No }
    }

    fn rules(&self) -> &'static [Rules] {
        &[Rules::Heapdump, Rules::Mat]
    }

    fn graph_codes(&self) -> &'static GraphCodes {
        &GRAPH_CODES
    }

    fn read(&self, source: Source, reading: &mut Reading) -> Result<ParsedDump, ReadError> {
        let reread = source.rereadable_file();
        let is_soon_read =
            source.compression.is_empty() || source.file_bytes.is_some_and(|bytes| bytes < MAX_QUICK_REREAD_BYTES);
        let parsed = ParsedFile::parse::<ObjectColumns>(source, reading)?;
        let classes = lock_classes(&parsed.reader.classes);
        let mut assembler = Assembler::new(parsed.records, &parsed.reader, &classes, &reading.options);
        let extent = report_file_end(&mut assembler);
        if assembler.object_count() == 0 && parsed.reader.dumps.is_empty() && !has_lost_data(&assembler) {
            reading.diagnostics = std::mem::take(&mut assembler.diagnostics);
            return Ok(ParsedDump { extent, content: ParsedContent::NoHeap(NO_HEAP_TEXT.into()) });
        }
        let sizes = assembler.find_size_model();
        assembler.finish_objects(&sizes)?;
        let places = take_object_places(&mut assembler);
        assembler.describe_types()?;
        let has_no_roots = assembler.add_threads_and_roots()?;
        assembler.diagnostics.add(&NO_ROOTS, has_no_roots.into(), extent.end, String::new);
        fill_info(&assembler, reading);
        reading.info.sizes = Some(sizes.describe());
        reading.info.has_no_roots = has_no_roots;
        reading.info.loss = loss_of(&assembler, has_no_roots);
        // Of a dump that lost anything it is not known what was not listed.
        let archived_mirrors = assembler.archived_mirror_rule(&sizes).filter(|_| reading.info.loss.is_none());
        reading.details = reread
            .filter(RereadableFile::is_available)
            .map(|reread| Box::new(HprofDetails::new(places, reread)) as Box<dyn ObjectDetails>);
        reading.diagnostics = std::mem::take(&mut assembler.diagnostics);
        let builder = std::mem::take(&mut assembler.records.builder);
        let objects = ParsedObjects::new(builder)
            .with_resolve_options(ResolveOptions { archived_mirror_search: archived_mirrors, ..Default::default() });
        let objects = objects.with_finish(move |graph, found, reading| {
            let Occurrences { count, first_position } = found.archived_mirror_references;
            reading.diagnostics.add(&ARCHIVED_MIRROR, count, Position::Byte(first_position), String::new);
            add_graph_facts(graph, reading, is_soon_read);
        });
        Ok(ParsedDump { extent, content: ParsedContent::Objects(Box::new(objects)) })
    }

    fn has_values(&self) -> bool {
        true
    }

    fn details(&self, columns: &dyn ColumnSource, input: RereadableFile) -> Option<Box<dyn ObjectDetails>> {
        Some(Box::new(HprofDetails::new(ObjectPlaces::from_stored(columns)?, input)))
    }

    fn count_types(&self, source: Source, reading: &mut Reading) -> Result<ParsedTypes, ReadError> {
        let reread = source.rereadable_file();
        let mut parsed = ParsedFile::parse::<HprofTypeCounts>(source, reading)?;
        let mut classes = lock_classes(&parsed.reader.classes);
        let mut assembler = Assembler::new(parsed.records, &parsed.reader, &classes, &reading.options);
        let extent = report_file_end(&mut assembler);
        if assembler.object_count() == 0 && parsed.reader.dumps.is_empty() && !has_lost_data(&assembler) {
            return Err(ReadError::new(ReadErrorKind::NoHeap(NO_HEAP_TEXT.into())));
        }
        let sizes = assembler.find_size_model();
        let totals = assembler.totals_by_slot(&sizes);
        assembler.describe_types()?;
        fill_info(&assembler, reading);
        reading.info.sizes = Some(sizes.describe());
        reading.diagnostics = std::mem::take(&mut assembler.diagnostics);
        let repeats = &assembler.records.repeats;
        let first = Position::Byte(repeats.first_repeat_position);
        reading.diagnostics.add(&POSSIBLE_REPEAT, repeats.possible_repeat_count, first, String::new);
        let origins: Vec<TypeOrigin> = totals.iter().map(|&(slot, ..)| assembler.type_origin(slot)).collect();
        let (sections, names) = std::mem::take(&mut assembler.records.builder).into_section_and_type_names();
        let mut types = std::collections::BTreeMap::<(&str, TypeOrigin), (u64, u128, Vec<(u64, u64)>)>::new();
        for ((slot, objects, bytes), origin) in
            totals.into_iter().zip(origins).filter(|((_, objects, _), _)| *objects > 0)
        {
            let sum = types.entry((&names[slot as usize], origin)).or_default();
            (sum.0, sum.1) = (sum.0 + objects, sum.1 + bytes);
            sum.2.extend(assembler.class_and_instance_bytes(slot, &sizes));
        }
        let mut counted_classes = FxHashMap::default();
        for (type_index, (.., own)) in (0..).zip(types.values()) {
            counted_classes.extend(
                own.iter().map(|&(class, bytes)| {
                    (class, CountedClass { type_index, instance_bytes: bytes, has_name: false })
                }),
            );
        }
        let shown = |bytes: u128| u64::try_from(bytes).unwrap_or(u64::MAX);
        let types = types.into_iter();
        let (types, origins) =
            types.map(|((name, origin), (objects, bytes, _))| ((name.into(), objects, shown(bytes)), origin)).unzip();
        let places = take_object_places(&mut assembler);
        let classes = std::mem::take(&mut *classes);
        let texts = std::mem::take(&mut parsed.reader.texts);
        let budget = reading.budget.clone();
        reading.counted_instances =
            Some(Box::new(HprofInstances { places, reread, classes, texts, counted_classes, budget }));
        Ok(ParsedTypes { extent, types, origins, section_names: sections })
    }
}

/// What is said of a file without a heap dump.
const NO_HEAP_TEXT: &str =
    "a Java profile without a heap dump in it: the file is cut off before the heap, or was made for other data";

/// A packed file of this length is unpacked again soon enough to look for the virtual machine's name in it.
const MAX_QUICK_REREAD_BYTES: u64 = 16 << 20;

/// Adds facts of the finished graph to the dump's.
fn add_graph_facts(graph: &HeapGraph, reading: &mut Reading, is_soon_read: bool) {
    if let Some(snapshot) = reading.info.snapshots.iter_mut().find(|snapshot| snapshot.chosen) {
        snapshot.objects = graph.node_count() as u64;
        snapshot.shallow_bytes = graph.nodes().fold(0, |sum: u64, node| sum.saturating_add(graph.shallow_bytes(node)));
        snapshot.references = graph.reference_count() as u64;
    }
    let details = reading.details.as_deref().filter(|_| is_soon_read);
    reading.info.producer = details.and_then(|details| java_vm::producer(graph, details));
    reading.info.reason = java_vm::dump_reason(graph, details);
}

/// A file whose blocks have all been parsed.
struct ParsedFile {
    reader: SegmentReader,
    records: HprofRecords,
}

impl ParsedFile {
    fn parse<S: BlockSink>(source: Source, reading: &Reading) -> Result<ParsedFile, ReadError> {
        let (options, budget) = (&reading.options, &reading.budget);
        let header = Header::parse(source.start()).map_err(header_error)?;
        let threads = if source.is_all_in_start { 1 } else { options.threads };
        let (id_bytes, mut tally) = (header.id_bytes, source.tally());
        let reader = SegmentReader::new(source, header, options.snapshot, options.rules != Rules::Mat, budget)?;
        let mut content = HprofRecords::new(Arc::clone(&reader.classes), budget);
        let reader = parse_source_blocks(
            reader,
            budget,
            threads,
            |bytes, context: BlockContext, block: &mut Block<S>| {
                parse_block(bytes, &context.pieces, id_bytes, context.dump_number, &context.layouts, block);
            },
            |block| {
                tally.add_and_report(
                    block.sink.object_count() + block.deferred.len() + block.java_lang_class_instances.len(),
                );
                content.take_block(block)
            },
        )?;
        if let SnapshotChoice::Number(number) = options.snapshot
            && (number == 0 || number > reader.dumps.len().max(1))
        {
            return Err(ReadError::new(ReadErrorKind::NoSuchSnapshot(number, reader.dumps.len())));
        }
        lock_classes(&reader.classes).lay_out(&reader.texts, options.rules != Rules::Mat, true);
        Ok(ParsedFile { reader, records: content })
    }
}

/// The error of a file with such a header.
fn header_error(header: BadHeader) -> ReadError {
    let text = match header {
        BadHeader::Truncated => "a Java heap dump that is cut off within its header".into(),
        BadHeader::UnknownVersion(version) => {
            format!("a Java profile of version {version:?}; heapdump reads heap dumps of versions 1.0 to 1.0.3")
        }
        BadHeader::WrongIdBytes(bytes) => {
            format!("a Java heap dump with ids of {bytes} bytes; there are only ids of 4 and 8")
        }
    };
    ReadError::new(ReadErrorKind::NotSupported(text))
}

/// Problems by which objects may be lost.
static LOSS_CODES: [&ProblemCode; 4] = [&TRUNCATED, &BAD_RECORD, &BAD_SUBRECORD, &DATA_AFTER_END];

/// Were there problems by which objects may be lost?
fn has_lost_data(assembler: &Assembler<'_>) -> bool {
    assembler.diagnostics.sorted().iter().any(|problem| LOSS_CODES.iter().any(|code| problem.has_code(code)))
}

/// Reports a missing end and further dumps; returns how far the file was read.
fn report_file_end(assembler: &mut Assembler<'_>) -> ReadExtent {
    let reader = assembler.reader;
    let end = Position::Byte(reader.end_offset());
    let chosen = reader.dumps.get(reader.chosen_dump_number().wrapping_sub(1));
    let has_no_end = chosen.is_some_and(|dump| dump.is_in_segments && !dump.is_complete);
    let several = if reader.dumps.len() > 1 { reader.dumps.len() as u64 } else { 0 };
    assembler.diagnostics.add(&NO_END, has_no_end.into(), end, String::new);
    assembler.diagnostics.add(&SEVERAL_DUMPS, several, Position::Byte(0), String::new);
    ReadExtent { end, objects: assembler.object_count(), loss_codes: &LOSS_CODES }
}

/// The loss of a dump that is cut or damaged; `None` of one that is whole.
fn loss_of(assembler: &Assembler<'_>, has_no_roots: bool) -> Option<Loss> {
    let problems = assembler.diagnostics.sorted();
    let count = |code: &ProblemCode| problems.iter().find(|problem| problem.has_code(code)).map_or(0, |one| one.count);
    let reader = assembler.reader;
    let unread = reader.lost_bytes.unread_bytes + assembler.records.unread_bytes;
    let lost_bytes = reader.lost_bytes.missing_bytes + unread + reader.lost_bytes.bytes_behind_end;
    let is_cut = count(&TRUNCATED) + count(&NO_END) > 0;
    if lost_bytes == 0 && !is_cut {
        return None;
    }
    let mut lost = Vec::new();
    let mut add = |is_lost: bool, what: &str| lost.extend(is_lost.then(|| what.to_string()));
    add(reader.lost_bytes.missing_bytes > 0, "the end of the last record");
    add(count(&BAD_SUBRECORD) + count(&BAD_RECORD) > 0, "what stands behind entries that cannot be read");
    add(has_no_roots, "all root records");
    add(count(&NO_END) > 0, "the end record, and whatever came before it");
    let classes = count(&NO_CLASS_DUMP);
    add(classes > 0, &format!("descriptions of classes: {classes} that objects are of have none"));
    // A segment says how long it is, and not how many follow it.
    let is_all_known = count(&NO_END) == 0;
    Some(Loss { read_bytes: reader.end_offset().saturating_sub(unread), lost_bytes, is_all_known, lost })
}

/// Takes the places of objects, for those who read them again.
fn take_object_places(assembler: &mut Assembler<'_>) -> ObjectPlaces {
    let classes = assembler.classes.class_dumps.iter().map(|dump| (dump.id, dump.position));
    let mut classes: Vec<(u64, u64)> = classes.collect();
    classes.sort_unstable();
    ObjectPlaces {
        id_bytes: assembler.reader.header.id_bytes,
        class_held_by_boot_loader: assembler.class_held_by_boot_loader(),
        extents: std::mem::take(&mut assembler.records.extents),
        class_dump_offsets: classes,
        repeated_ids: std::mem::take(&mut assembler.records.repeated_ids),
    }
}

fn fill_info(assembler: &Assembler<'_>, reading: &mut Reading) {
    let (counts, reader) = (&assembler.records.counts, assembler.reader);
    reading.info.version = Some(reader.header.version.clone());
    reading.info.set_records([
        ("instances", counts.instances),
        ("object_arrays", counts.object_arrays),
        ("primitive_arrays", counts.primitive_arrays),
        ("classes", assembler.classes.class_dumps.len() as u64),
        ("roots", counts.roots),
        ("segments", reader.segment_count),
    ]);
    let chosen = reader.chosen_dump_number();
    let snapshots = reader.dumps.iter().enumerate().map(|(index, dump)| SnapshotInfo {
        unix_ms: i64::try_from(reader.header.unix_ms + dump.micros_after_header / 1000).ok(),
        complete: dump.is_complete,
        objects: if index + 1 == chosen { assembler.object_count() } else { 0 },
        chosen: index + 1 == chosen,
        is_passed_over: index + 1 != chosen,
        ..SnapshotInfo::default()
    });
    reading.info.snapshots = snapshots.collect();
}
