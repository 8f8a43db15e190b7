//! V8 heap snapshots: of Node.js, Chromium, Electron, Deno and others.
//!
//! ```text
//! {"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count", ...], ...},"node_count":..., ...},
//!  "nodes":[9,1,1,0,5, ...],      rows of numbers; fields and their order stand in the header
//!  "edges":[1,1,7, ...],          rows of (type, name or index, flat index of the target), by node in turn
//!  "locations":[...],
//!  "strings":["<dummy>", ...]}    every name is an index into these
//! ```
//!
//! `scan` cuts the stream into pieces that threads parse (`block`) into columns (`snapshot`); `edge_rules` and `classes`
//! are Chrome DevTools' reading of them, `assemble` makes the graph. docs/formats/v8-snapshot.md has the layout, the
//! rules, the codes, and where each is from.

mod assemble;
mod bit_set;
pub(crate) mod block;
mod classes;
mod collection_tables;
mod details;
mod distances;
mod edge_labels;
mod edge_rules;
pub(crate) mod layout;
mod numbers;
mod plain_objects;
mod problem_codes;
mod reference_kinds;
mod reference_names;
mod reread_snapshot;
mod ropes;
pub(crate) mod scan;
mod snapshot;
mod stacks;
mod strings;

use super::problem_codes::GraphCodes;
use super::{
    Format, FormatMatch, ObjectDetails, ParsedContent, ParsedDump, ParsedObjects, ParsedTypes, Position, ReadError,
    ReadExtent, Reader, Reading, RereadableFile, Rules, Runtime, Source,
};
use crate::graph::ColumnSource;
use assemble::SizesAsRead;
use details::V8Details;
use problem_codes::*;
use snapshot::Snapshot;
use strings::KeptStrings;

pub(crate) struct V8Snapshot;

/// Problems by which objects may be lost.
static LOSS_CODES: [&crate::input::ProblemCode; 3] = [&TRUNCATED, &BAD_NUMBER, &INCOMPLETE_ROW];

impl Reader for V8Snapshot {
    fn format(&self) -> Format {
        Format::text("v8-snapshot", "V8 heap snapshot", Runtime::JavaScript)
    }

    /// By the keys of its header, which other programs may have moved back.
    fn detect(&self, start: &[u8]) -> FormatMatch {
        let has = |key: &[u8]| memchr::memmem::find(start, key).is_some();
        if has(b"\"snapshot\"") && has(b"\"node_fields\"") {
            return FormatMatch::Yes;
        }
        if begins_with_rows(start) { FormatMatch::Maybe } else { FormatMatch::No }
    }

    fn rules(&self) -> &'static [Rules] {
        &[Rules::Heapdump, Rules::Devtools, Rules::Plain]
    }

    fn has_values(&self) -> bool {
        true
    }

    fn graph_codes(&self) -> &'static GraphCodes {
        &GRAPH_CODES
    }

    fn read(&self, source: Source, reading: &mut Reading) -> Result<ParsedDump, ReadError> {
        let reread = source.rereadable_file();
        let keep = if keeps_details(&source, reading) { KeptStrings::All } else { KeptStrings::Names };
        let (mut snapshot, mut share) =
            Snapshot::read(source, keep, reading.options.threads, &reading.budget, &mut reading.diagnostics)?;
        let kept_sizes = (keep == KeptStrings::All).then(|| SizesAsRead::of(&snapshot));
        if kept_sizes.is_some() {
            share.set_held_bytes(share.held_bytes() + snapshot.changed_columns_bytes())?;
        }
        let applied = assemble::apply_rules(&mut snapshot, &reading.options, true);
        fill_info(&snapshot, reading);
        let end = Position::Byte(snapshot.end_offset);
        let has_edges = snapshot.has_all_edges;
        let samples = match &kept_sizes {
            Some(_) => snapshot.samples.clone(),
            None => std::mem::take(&mut snapshot.samples),
        };
        let assembled = assemble::assemble(snapshot, kept_sizes, applied, share, &mut reading.diagnostics)?;
        reading.details = reread
            .filter(RereadableFile::is_available)
            .map(|reread| Box::new(V8Details::new(reread, assembled.kept)) as Box<dyn ObjectDetails>);
        let extent = ReadExtent { end, objects: assembled.object_count, loss_codes: &LOSS_CODES };
        let objects = ParsedObjects::new(assembled.builder).with_finish(move |graph, _, _| {
            graph.has_unheld_in_dominator_tree = true;
            graph.counts_only_objects_with_bytes = true;
            graph.allocation_intervals = stacks::allocation_intervals(graph, &samples);
            if !has_edges {
                graph.lacks_references = true;
            }
        });
        Ok(ParsedDump { extent, content: ParsedContent::Objects(Box::new(objects)) })
    }

    fn details(&self, _columns: &dyn ColumnSource, input: RereadableFile) -> Option<Box<dyn ObjectDetails>> {
        Some(Box::new(V8Details::new(input, None)))
    }

    /// Classes of plain objects follow from their edges, and sizes from who refers to what: the snapshot is read whole.
    fn count_types(&self, source: Source, reading: &mut Reading) -> Result<ParsedTypes, ReadError> {
        let (mut snapshot, _share) = Snapshot::read(
            source,
            KeptStrings::Names,
            reading.options.threads,
            &reading.budget,
            &mut reading.diagnostics,
        )?;
        let applied = assemble::apply_rules(&mut snapshot, &reading.options, false);
        fill_info(&snapshot, reading);
        let (types, origins): (Vec<_>, _) = assemble::class_totals(&snapshot, &applied.classes).into_iter().unzip();
        let objects = types.iter().map(|(_, objects, _): &(String, u64, u64)| objects).sum();
        let extent = ReadExtent { end: Position::Byte(snapshot.end_offset), objects, loss_codes: &LOSS_CODES };
        Ok(ParsedTypes { extent, types, origins, section_names: vec![String::new()] })
    }
}

/// True where what tells of single objects is to be kept, and there is the memory for the whole file beside its graph.
fn keeps_details(source: &Source, reading: &Reading) -> bool {
    /// Times the file's size.
    const MEMORY_PER_FILE_BYTE: u64 = 4;
    let is_plain = source.rereadable_file().is_some_and(|reread| !reread.is_packed);
    let file = source.path().filter(|_| reading.options.keeps_details && is_plain);
    let bytes = file.and_then(|path| std::fs::metadata(path).ok()).map(|facts| facts.len());
    bytes.is_some_and(|bytes| {
        reading.budget.limit_bytes().is_none_or(|limit| bytes.saturating_mul(MEMORY_PER_FILE_BYTE) <= limit)
    })
}

/// Does the file begin with an array of edges or nodes? Sorted keys have the header behind what it tells of; blanks may
/// stand anywhere.
fn begins_with_rows(start: &[u8]) -> bool {
    let mut rest = start;
    for parts in [&[&b"{"[..]][..], &[b"\"edges\"", b"\"nodes\""], &[b":"], &[b"["]] {
        rest = rest.trim_ascii_start();
        let Some(behind) = parts.iter().find_map(|part| rest.strip_prefix(*part)) else { return false };
        rest = behind;
    }
    rest.trim_ascii_start().first().is_some_and(u8::is_ascii_digit)
}

fn fill_info(snapshot: &Snapshot, reading: &mut Reading) {
    reading.info.version = Some(snapshot.layout.describe());
    reading.info.set_records(assemble::record_counts(snapshot));
    if snapshot.layout.extra_native_bytes > 0 {
        reading.info.records.push(("extra_native_bytes".into(), snapshot.layout.extra_native_bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_with_sorted_keys_is_one_whatever_its_blanks() {
        for start in ["{\"edges\":[1,2", "{\n  \"edges\" : [\n    1,\n", " {\"nodes\":[\r\n9"] {
            assert_eq!(V8Snapshot.detect(start.as_bytes()), FormatMatch::Maybe, "{start}");
        }
        for start in ["{\"edges\":[\"a\"", "{\"edges\":[", "[{\"nodes\":[1", "{\"nodes\":{", "{\"traceEvents\":[1", ""]
        {
            assert_eq!(V8Snapshot.detect(start.as_bytes()), FormatMatch::No, "{start}");
        }
    }
}
