//! Heap graphs of PerfView and dotnet-gcdump (.gcdump), versions 9 and 10.
//!
//! ```text
//! i32 20 "!FastSerialization.1"          objects with types, strings counted in UTF-16 units
//! GCHeapDump
//!   MemoryGraph: i64 bytes, i32 root, types { name, bytes, module }, u32 offsets, blob of packed records, i64 addresses
//!   sampling multipliers, segments, process, tool
//! ```
//!
//! A record is type, bytes and children, in numbers of 7-bit groups. What holds objects are pseudo nodes without address
//! (`[static vars]`, `[local vars]`): they become roots, not objects. Dependent handles have lost their keys.
//! docs/formats/gcdump.md has the layout, the codes, and where each rule comes from.

mod assemble;
mod heap_dump;
mod memory_graph;
mod problem_codes;
mod roots;
mod serialization;

use super::observer::ObjectTally;
use super::sink::TypeCounts;
use super::{
    BlottedPart, Format, FormatMatch, ParsedContent, ParsedDump, ParsedObjects, ParsedTypes, ReadError, ReadErrorKind,
    Reader, Reading, Runtime, Source,
};
use crate::graph::{MemoryBudget, MemoryShare, ObjectColumns, make_room};
use assemble::Assembler;
use heap_dump::{HeapDump, UnreadableReason};

/// Bytes that are asked of the source at once.
const READ_BYTES: usize = 1 << 20;

pub(crate) struct Gcdump;

impl Reader for Gcdump {
    fn format(&self) -> Format {
        Format::binary("gcdump", ".NET heap graph of PerfView or dotnet-gcdump", Runtime::DotNet)
    }

    /// Head, type and length, on 32 bits and on 64; arrays of elements are larger, objects at least as large.
    fn empty_array_bytes(&self) -> &'static [u64] {
        &[12, 24]
    }

    /// The container's first bytes, and the name of its one object.
    fn detect(&self, start: &[u8]) -> FormatMatch {
        let head = start.strip_prefix(serialization::FILE_MAGIC).unwrap_or_default();
        let named = memchr::memmem::find(&head[..head.len().min(40)], b"GCHeapDump").is_some();
        if named { FormatMatch::Yes } else { FormatMatch::No }
    }

    /// The file itself: it is read whole.
    fn least_memory_bytes(&self, dump_bytes: u64) -> u64 {
        dump_bytes
    }

    fn read(&self, source: Source, reading: &mut Reading) -> Result<ParsedDump, ReadError> {
        let mut file = WholeFile::read(source, &reading.budget)?;
        let (dump, _share) = parse(&file.bytes, &reading.budget)?;
        let mut assembly = Assembler::new(&dump, reading)?;
        assembly.add_objects::<ObjectColumns>(&mut file.tally)?;
        assembly.add_roots()?;
        let extent = assembly.finish(file.bytes.len(), file.padding_bytes);
        assembly.reading.check_read_extent(&extent)?;
        assembly.reading.check_strict()?;
        let multipliers = assembly.multipliers();
        let mut builder = assembly.builder;
        builder.generations = dump.generation_ranges.clone();
        let objects = ParsedObjects::new(builder).with_finish(move |graph, _, _| {
            if !multipliers.is_empty() {
                graph.set_multipliers(|type_id| multipliers.get(&type_id).copied().unwrap_or(1.0));
            }
        });
        Ok(ParsedDump { extent, content: ParsedContent::Objects(Box::new(objects)) })
    }

    fn count_types(&self, source: Source, reading: &mut Reading) -> Result<ParsedTypes, ReadError> {
        let mut file = WholeFile::read(source, &reading.budget)?;
        let (dump, _share) = parse(&file.bytes, &reading.budget)?;
        let mut assembly = Assembler::new(&dump, reading)?;
        assembly.add_objects::<TypeCounts>(&mut file.tally)?;
        let extent = assembly.finish(file.bytes.len(), file.padding_bytes);
        assembly.uncount_repeats();
        let (sections, names) = assembly.builder.into_section_and_type_names();
        Ok(ParsedTypes { extent, types: assembly.totals.by_name(names), origins: Vec::new(), section_names: sections })
    }
}

/// The parts of a file that tell of the machine and of how the dump was taken, and from where on it cannot be read. Reads it whole.
pub(crate) fn private_parts(source: Source) -> Result<(Vec<BlottedPart>, Option<u64>), ReadError> {
    let budget = MemoryBudget::default();
    let file = WholeFile::read(source, &budget)?;
    let (dump, _share) = parse(&file.bytes, &budget)?;
    let parts = dump.private_ranges.iter().map(|part| (part.start as u64..part.end as u64, Vec::new()));
    Ok((parts.collect(), dump.unread_from_offset.map(|from| from as u64)))
}

/// The whole file, for its parts refer to each other from end to end.
struct WholeFile {
    bytes: Vec<u8>,
    /// NULs behind it that were not kept: no part of a dump is so long and nothing but NULs.
    padding_bytes: u64,
    share: MemoryShare,
    tally: ObjectTally,
}

impl WholeFile {
    fn read(mut source: Source, budget: &MemoryBudget) -> Result<Self, ReadError> {
        let (share, tally) = (budget.for_content(), source.tally());
        let mut file = WholeFile { bytes: Vec::new(), padding_bytes: 0, share, tally };
        let mut chunk = vec![0; READ_BYTES];
        loop {
            let got = source.fill(&mut chunk)?;
            let is_last = got < READ_BYTES;
            if got > 0 && chunk[..got].iter().all(|&byte| byte == 0) && (!is_last || file.padding_bytes > 0) {
                file.padding_bytes += got as u64;
            } else {
                file.append(&chunk[..got])?;
            }
            if is_last {
                return Ok(file);
            }
        }
    }

    /// Appends bytes, after NULs that were none of padding.
    fn append(&mut self, bytes: &[u8]) -> Result<(), ReadError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let before = self.bytes.len() as u64;
        let length = before.saturating_add(self.padding_bytes).saturating_add(bytes.len() as u64);
        self.share.set_held_bytes(length)?;
        let padding = std::mem::take(&mut self.padding_bytes) as usize;
        make_room(&mut self.bytes, padding + bytes.len());
        self.bytes.resize(before as usize + padding, 0);
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

/// The dump, and what its own tables take.
fn parse<'a>(file: &'a [u8], budget: &MemoryBudget) -> Result<(HeapDump<'a>, MemoryShare), ReadError> {
    let content = file.strip_prefix(serialization::FILE_MAGIC).unwrap_or(file);
    let mut share = budget.for_content();
    let dump = HeapDump::read(file, content, &mut share).map_err(|error| {
        let text = match error {
            UnreadableReason::UnsupportedVersion(version) => format!(
                "a .gcdump of version {version}; heapdump reads 9 and newer: open and save it with a newer PerfView"
            ),
            UnreadableReason::Damaged => "a .gcdump that is cut or damaged before its heap begins".into(),
        };
        ReadError::new(ReadErrorKind::NotSupported(text))
    })?;
    match dump.graph.types_error {
        Some(refused) => Err(refused.into()),
        None => Ok((dump, share)),
    }
}
