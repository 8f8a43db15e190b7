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
use super::{BROKEN_COMPRESSION, Counted, Detected, Dump, Facts, Loaded, Position, ReadError, ReadErrorKind};
use super::{ReadOptions, Reader, SnapshotFacts, Source};
use crate::graph::{BuildError, ObjectColumns, ResolveOptions};
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

    fn read(&self, source: Source, options: &ReadOptions) -> Result<Loaded, ReadError> {
        let mut facts = self.facts(&source);
        let (file, broken) = whole(source, options.max_memory_bytes)?;
        let dump = parse(&file)?;
        let mut assembly = Assembly::new(&dump, options);
        assembly.take_objects::<ObjectColumns>()?;
        assembly.take_roots();
        finish(&mut assembly, &mut facts, broken, file.len());
        assembly.check_any_read()?;
        assembly.diagnostics.check(options.strict)?;
        assembly.builder.set_generations(dump.generations.clone());
        let multipliers = assembly.multipliers();
        let (builder, mut diagnostics) = (std::mem::take(&mut assembly.builder), assembly.diagnostics);
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

    fn count_types(&self, source: Source, options: &ReadOptions) -> Result<Counted, ReadError> {
        let mut facts = self.facts(&source);
        let (file, broken) = whole(source, options.max_memory_bytes)?;
        let dump = parse(&file)?;
        let mut assembly = Assembly::new(&dump, options);
        assembly.take_objects::<TypeCounts>()?;
        finish(&mut assembly, &mut facts, broken, file.len());
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

/// The whole file, for its parts refer to each other from end to end; and why packed data broke off, if it did.
fn whole(mut source: Source, max_bytes: Option<u64>) -> Result<(Vec<u8>, Option<String>), ReadError> {
    let mut file = Vec::new();
    loop {
        let length = file.len();
        file.resize(length + READ_BYTES, 0);
        let got = source.fill(&mut file[length..])?;
        file.truncate(length + got);
        if let Some(max_bytes) = max_bytes.filter(|&max_bytes| file.len() as u64 > max_bytes) {
            return Err(BuildError::TooMuchMemory(max_bytes).into());
        }
        if got < READ_BYTES {
            return Ok((file, source.ended_early()));
        }
    }
}

fn parse(file: &[u8]) -> Result<HeapDump<'_>, ReadError> {
    let content = file.strip_prefix(serialization::START).unwrap_or(file);
    HeapDump::read(file, content).map_err(|error| {
        let text = match error {
            Unreadable::Version(version) => format!(
                "a .gcdump of version {version}; heapdump reads 9 and newer: open and save it with a newer PerfView"
            ),
            Unreadable::Damaged => "a .gcdump that is cut or damaged before its heap begins".into(),
        };
        ReadError::new(ReadErrorKind::NotSupported(text))
    })
}

fn finish(assembly: &mut Assembly<'_>, facts: &mut Facts, broken: Option<String>, file_bytes: usize) {
    assembly.judge();
    if let Some(text) = broken {
        assembly.diagnostics.add(&BROKEN_COMPRESSION, 1, Position::Byte(file_bytes as u64), || text);
    }
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
