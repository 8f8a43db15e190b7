//! `dumps`: one row, which says what the file is and how much is in it. It is written last: it makes the dump be there.

use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

use parquet::data_type::ByteArray;

use super::TableName;
use super::dump_place::CHECKSUM_NOTE_KEY;
use super::error::TableError;
use super::parquet_table::{ParquetColumn, ParquetTable, SCHEMA_VERSION, to_byte_array, to_i32, to_i64};
use crate::answers::allocation_heaps::pids_and_parts;
use crate::answers::figure::{Figure, OBJECTS, REACHABLE_BYTES, REACHABLE_OBJECTS, REFERENCES, SHALLOW};
use crate::answers::histogram::{DEPENDENT_REFERENCES, ROOTS, TYPES};
use crate::answers::{AllocationHeapChoice, HistogramOptions, cut_word, histogram};
use crate::dump::{Content, OpenDump};

/// Columns of the row that the dump itself does not have.
#[derive(Debug)]
pub(super) struct ExternalDumpFacts<'o> {
    pub(super) id: &'o ByteArray,
    /// As the user named it; `None` for a pipe.
    pub(super) file: Option<&'o Path>,
    pub(super) checksum: &'o str,
    /// The expression that rows of objects fulfil.
    pub(super) filter: Option<&'o str>,
    pub(super) labels: &'o [(String, String)],
}

pub(super) fn write<W: Write + Send>(dump: &OpenDump, origin: &ExternalDumpFacts<'_>, out: W) -> Result<W, TableError> {
    let heaps = AllocationHeapChoice {
        memory_dump: matches!(dump.content(), Content::Allocations(_)).then(|| "all".into()),
        ..AllocationHeapChoice::default()
    };
    let totals = &histogram(dump, &HistogramOptions { heaps, ..HistogramOptions::default() })?.totals;
    // Of allocation totals there are only types.
    let total = |name: &'static str, figure: Figure| {
        ParquetColumn::new(name, move |_| to_i64(totals.figure(figure).unwrap_or(0)))
    };
    let info = dump.info();
    let facts = origin.file.and_then(|file| file.metadata().ok());
    let modified = facts.as_ref().and_then(|facts| facts.modified().ok()).and_then(unix_micros);
    let exported = unix_micros(SystemTime::now()).unwrap_or(0);
    let taken = info.snapshots.iter().find(|snapshot| snapshot.chosen).and_then(|snapshot| snapshot.unix_ms);
    let file = origin.file.map_or("standard input".into(), |file| file.to_string_lossy());
    let (sections, inferred) = match dump.content() {
        Content::Objects(graph) => (graph.sections().len(), graph.roots_inferred()),
        Content::Allocations(allocations) => (pids_and_parts(allocations).len(), false),
        Content::Histograms(_) => (0, false),
    };
    let columns = [
        ParquetColumn::constant("dump", origin.id),
        ParquetColumn::new("file", |_| to_byte_array(&file)),
        ParquetColumn::new("file_bytes", |_| facts.as_ref().map_or(0, |facts| to_i64(facts.len()))),
        ParquetColumn::new("format", |_| to_byte_array(&info.format)),
        ParquetColumn::new("format_version", |_| info.version.as_deref().map(to_byte_array)),
        ParquetColumn::new("producer", |_| info.producer.as_deref().map(to_byte_array)),
        ParquetColumn::time("taken_at", |_| taken.and_then(|millis| millis.checked_mul(1000))),
        ParquetColumn::time("file_modified_at", |_| modified),
        ParquetColumn::time("exported_at", |_| exported),
        ParquetColumn::new("schema_version", |_| SCHEMA_VERSION),
        ParquetColumn::new("heapdump_version", |_| to_byte_array(env!("CARGO_PKG_VERSION"))),
        ParquetColumn::new("section_count", |_| to_i32(sections)),
        total("object_count", OBJECTS),
        total("shallow_bytes", SHALLOW),
        total("reachable_objects", REACHABLE_OBJECTS),
        total("reachable_bytes", REACHABLE_BYTES),
        total("reference_count", REFERENCES),
        total("dependent_references", DEPENDENT_REFERENCES),
        total("root_count", ROOTS),
        total("type_count", TYPES),
        ParquetColumn::new("roots_inferred", |_| inferred),
        ParquetColumn::new("complete", |_| is_complete(dump)),
        ParquetColumn::new("problem_count", |_| to_i32(dump.diagnostics().sorted().len())),
        ParquetColumn::constant_map("labels", origin.labels),
        ParquetColumn::new("object_filter", |_| origin.filter.map(to_byte_array)),
    ];
    let notes = [(CHECKSUM_NOTE_KEY, origin.checksum.to_string())];
    let mut table = ParquetTable::begin(out, TableName::Dumps.name(), &columns, &notes)?;
    table.write_rows(1, &columns)?;
    Ok(table.finish()?)
}

/// Is all of the dump there, as far as its format tells?
fn is_complete(dump: &OpenDump) -> bool {
    let info = dump.info();
    let sections = dump.graph().map_or(&[][..], |graph| graph.sections());
    let mut snapshots = info.snapshots.iter().filter(|snapshot| snapshot.chosen);
    cut_word(dump.diagnostics()).is_none()
        && info.loss.is_none()
        && sections.iter().all(|section| section.complete)
        && snapshots.all(|snapshot| snapshot.complete)
}

/// Microseconds since 1970.
fn unix_micros(time: SystemTime) -> Option<i64> {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).ok(),
        Err(before) => i64::try_from(before.duration().as_micros()).ok().map(|micros| -micros),
    }
}
