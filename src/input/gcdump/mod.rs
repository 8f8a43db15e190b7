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
mod codes;
mod heap_dump;
mod memory_graph;
mod roots;
mod serialization;

use super::sink::TypeCounts;
use super::{BROKEN_COMPRESSION, Counted, Detected, Dump, Facts, Loaded, PADDING, Position, ReadError, ReadErrorKind};
use super::{ReadOptions, Reader, Runtime, SnapshotFacts, Source};
use crate::graph::{MemoryBudget, MemoryShare, ObjectColumns, ResolveOptions, make_room};
use assemble::Assembly;
use codes::*;
use heap_dump::{HeapDump, Unreadable};

/// Bytes that are asked of the source at once.
const READ_BYTES: usize = 1 << 20;
/// Between the years 1 and 1970, in units of 100 ns.
const TICKS_BEFORE_1970: i64 = 621_355_968_000_000_000;

/// The reader.
pub(super) struct Gcdump;

impl Reader for Gcdump {
    fn name(&self) -> &'static str {
        "gcdump"
    }

    fn title(&self) -> &'static str {
        ".NET heap graph of PerfView or dotnet-gcdump"
    }

    fn runtime(&self) -> Runtime {
        Runtime::DotNet
    }

    /// The container's first bytes, and the name of its one object.
    fn detect(&self, start: &[u8]) -> Detected {
        let head = start.strip_prefix(serialization::START).unwrap_or_default();
        let named = memchr::memmem::find(&head[..head.len().min(40)], b"GCHeapDump").is_some();
        if named { Detected::Yes } else { Detected::No }
    }

    /// The file itself: it is read whole.
    fn least_memory_bytes(&self, dump_bytes: u64) -> u64 {
        dump_bytes
    }

    fn read(&self, mut source: Source, options: &ReadOptions) -> Result<Loaded, ReadError> {
        let mut facts = self.facts(&source);
        let budget = source.limit_memory(options.max_memory_bytes);
        let file = Whole::read(source, &budget)?;
        let (dump, share) = parse(&file.bytes, &budget)?;
        let mut assembly = Assembly::new(&dump, options, &budget)?;
        assembly.take_objects::<ObjectColumns>()?;
        assembly.take_roots()?;
        finish(&mut assembly, &mut facts, &file);
        assembly.check_any_read()?;
        assembly.diagnostics.check(options.strict)?;
        assembly.builder.set_generations(dump.generations.clone());
        let multipliers = assembly.multipliers();
        let (mut builder, mut diagnostics) = (std::mem::take(&mut assembly.builder), assembly.diagnostics);
        // The file is of no more use, and as large as what follows.
        drop((dump, share));
        drop(file);
        builder.check_resolve()?;
        let (mut graph, findings) = builder.resolve(ResolveOptions::default());
        if !multipliers.is_empty() {
            graph.set_multipliers(|type_id| multipliers.get(&type_id).copied().unwrap_or(1.0));
        }
        let tallies = [
            (&DANGLING_REF, findings.dangling_references),
            (&DANGLING_ROOT, findings.dangling_roots),
            (&DUPLICATE_OBJECT, findings.duplicate_objects),
            (&CONFLICTING_OBJECT, findings.conflicting_objects),
        ];
        diagnostics.add_tallies(&tallies, Position::Byte);
        diagnostics.check(options.strict)?;
        Ok(Loaded { dump: Dump::Graph(graph), facts, diagnostics })
    }

    fn count_types(&self, mut source: Source, options: &ReadOptions) -> Result<Counted, ReadError> {
        let mut facts = self.facts(&source);
        let budget = source.limit_memory(options.max_memory_bytes);
        let file = Whole::read(source, &budget)?;
        let (dump, _share) = parse(&file.bytes, &budget)?;
        let mut assembly = Assembly::new(&dump, options, &budget)?;
        assembly.take_objects::<TypeCounts>()?;
        finish(&mut assembly, &mut facts, &file);
        assembly.check_any_read()?;
        assembly.uncount_repeats();
        assembly.diagnostics.check(options.strict)?;
        let (sections, names) = assembly.builder.into_names();
        let types = assembly.totals.by_name(names);
        Ok(Counted { types, sections, facts, diagnostics: assembly.diagnostics })
    }
}

impl Gcdump {
    fn facts(&self, source: &Source) -> Facts {
        Facts {
            format: self.name(),
            title: self.title(),
            compression: source.compression().to_vec(),
            ..Facts::default()
        }
    }
}

/// The whole file, for its parts refer to each other from end to end.
struct Whole {
    bytes: Vec<u8>,
    /// NULs behind it that were not kept: no part of a dump is so long and nothing but NULs.
    padding_bytes: u64,
    /// Why packed data broke off, if it did.
    broken: Option<String>,
    share: MemoryShare,
}

impl Whole {
    fn read(mut source: Source, budget: &MemoryBudget) -> Result<Self, ReadError> {
        let mut file = Whole { bytes: Vec::new(), padding_bytes: 0, broken: None, share: budget.for_content() };
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
                file.broken = source.ended_early();
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
        self.share.hold(length)?;
        let padding = std::mem::take(&mut self.padding_bytes) as usize;
        make_room(&mut self.bytes, padding + bytes.len());
        self.bytes.resize(before as usize + padding, 0);
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

/// The dump, and what its own tables take.
fn parse<'a>(file: &'a [u8], budget: &MemoryBudget) -> Result<(HeapDump<'a>, MemoryShare), ReadError> {
    let content = file.strip_prefix(serialization::START).unwrap_or(file);
    let mut share = budget.for_content();
    let dump = HeapDump::read(file, content, &mut share).map_err(|error| {
        let text = match error {
            Unreadable::Version(version) => format!(
                "a .gcdump of version {version}; heapdump reads 9 and newer: open and save it with a newer PerfView"
            ),
            Unreadable::Damaged => "a .gcdump that is cut or damaged before its heap begins".into(),
        };
        ReadError::new(ReadErrorKind::NotSupported(text))
    })?;
    match dump.graph.refused {
        Some(refused) => Err(refused.into()),
        None => Ok((dump, share)),
    }
}

fn finish(assembly: &mut Assembly<'_>, facts: &mut Facts, file: &Whole) {
    assembly.judge();
    let end = Position::Byte(file.bytes.len() as u64);
    if let Some(text) = &file.broken {
        assembly.diagnostics.add(&BROKEN_COMPRESSION, 1, end, || text.clone());
    }
    assembly.diagnostics.add(&PADDING, file.padding_bytes.min(1), end, || format!("{} bytes", file.padding_bytes));
    let (dump, counts) = (assembly.dump, &assembly.counts);
    facts.version = Some(dump.version.to_string());
    facts.producer = dump.tool.clone();
    facts.records = vec![
        ("objects", counts.objects),
        ("references", counts.references),
        ("types", dump.graph.types.len() as u64),
        ("pseudo_nodes", counts.pseudo_nodes),
        ("undefined_nodes", counts.undefined),
        ("com_objects", dump.wrappers.1.into()),
        ("com_wrappers", dump.wrappers.0.into()),
    ];
    let top = usize::try_from(dump.graph.root).ok().and_then(|root| dump.graph.type_name_of(root));
    // A heap that a tool walked holds dead objects too; what the runtime itself reports is what the collector kept.
    facts.unrooted_are_alive = top == Some("[.NET Roots]") && !dump.has_segments && dump.graph.complete;
    if assembly.is_sample() {
        facts.sampled = Some(dump.multipliers);
        let (objects, bytes) = dump.multipliers;
        let text = || format!("objects x{objects:.3}, bytes x{bytes:.3}");
        assembly.diagnostics.add(&SAMPLED, 1, Position::Byte(0), text);
    }
    if dump.ticks > TICKS_BEFORE_1970 {
        facts.snapshots = vec![SnapshotFacts {
            unix_ms: Some((dump.ticks - TICKS_BEFORE_1970) / 10_000),
            complete: dump.graph.complete,
            objects: counts.objects,
            shallow_bytes: counts.bytes,
            references: counts.references,
            chosen: true,
        }];
    }
    if !dump.graph.complete {
        return;
    }
    facts.trailer =
        Some(if u64::try_from(dump.graph.total_bytes) == Ok(counts.bytes.saturating_add(counts.pseudo_bytes)) {
            "agrees with what was read".into()
        } else {
            format!("says {} bytes in all, {} were read", dump.graph.total_bytes, counts.bytes)
        });
}
