//! .NET event traces with GC heap snapshots (.nettrace): container versions 4, 5 and 6.
//!
//! ```text
//! "Nettrace"  i32 20 "!FastSerialization.1"       versions 4 and 5; version 6: u32 0, u32 6, u32 minor
//! Trace       time, clock, pointer size, process
//! blocks      MetadataBlock: which number stands for which event; EventBlock: events; SPBlock: how far threads are
//! GCStart ... GCBulkNode: address, bytes, type, number of references; GCBulkEdge: the references, apart
//!             GCBulkRootEdge, GCBulkRootStaticVar, GCBulkRootConditionalWeakTableElementEdge ... GCEnd
//! BulkType    names of types: before, between, after
//! rundown     names of modules and methods, at the end
//! ```
//!
//! Objects and references are two streams: only the counts say whose a reference is, so a lost event ends what can be
//! told of references. Events are in the file in the order in which threads handed them over, not in that of time.
//! docs/formats/nettrace.md has the layout, the codes, and where each rule comes from.

mod assemble;
mod codes;
mod collect;
mod container;
mod counts;
mod events;
mod fields;
mod metadata;
mod payload;
mod rundown;
mod sink;
mod snapshots;
mod types;
mod window;

use super::{BROKEN_COMPRESSION, Counted, Detected, Dump, Facts, Loaded, Position, ReadError, ReadErrorKind};
use super::{ReadOptions, Reader, Runtime, Source};
use assemble::Chosen;
use collect::Collector;
use counts::CountSink;
use sink::Sink;
use window::Window;

/// The reader.
pub(super) struct Nettrace;

impl Reader for Nettrace {
    fn name(&self) -> &'static str {
        "nettrace"
    }

    fn title(&self) -> &'static str {
        ".NET event trace with GC heap snapshots"
    }

    fn runtime(&self) -> Runtime {
        Runtime::DotNet
    }

    /// By its first bytes. NetPerf, the container before, is recognised too, to say what it is.
    fn detect(&self, start: &[u8]) -> Detected {
        if start.starts_with(container::MAGIC) || is_netperf(start) { Detected::Yes } else { Detected::No }
    }

    fn read(&self, mut source: Source, options: &ReadOptions) -> Result<Loaded, ReadError> {
        let budget = source.limit_memory(options.max_memory_bytes);
        let (mut collector, chosen, facts) = self.collect(source, options, Sink::graph(&budget))?;
        let graph = collector.build_graph(&chosen, options.raw_types)?;
        collector.diagnostics.check(options.strict)?;
        Ok(Loaded { dump: Dump::Graph(graph), facts, diagnostics: collector.diagnostics })
    }

    fn count_types(&self, mut source: Source, options: &ReadOptions) -> Result<Counted, ReadError> {
        source.limit_memory(options.max_memory_bytes);
        let (collector, chosen, facts) = self.collect(source, options, Sink::Counts(CountSink::default()))?;
        let counted = collector.into_counted(&chosen, options.raw_types, facts);
        counted.diagnostics.check(options.strict)?;
        Ok(counted)
    }
}

impl Nettrace {
    /// The source has its budget.
    fn collect(
        &self,
        source: Source,
        options: &ReadOptions,
        sink: Sink,
    ) -> Result<(Collector, Chosen, Facts), ReadError> {
        if is_netperf(source.start()) {
            return Err(ReadError::new(ReadErrorKind::NotSupported(
                "a NetPerf trace, the container before NetTrace, which heapdump does not read; record it again in the \
                 NetTrace format, as `dotnet-trace collect` does"
                    .into(),
            )));
        }
        let mut facts = Facts {
            format: self.name(),
            title: self.title(),
            compression: source.compression().to_vec(),
            ..Facts::default()
        };
        let mut collector = Collector::new(sink, source.budget().for_content());
        let mut window = Window::new(source);
        facts.version = Some(container::read_blocks(&mut window, &mut collector)?);
        collector.check()?;
        let end = window.offset();
        if let Some(text) = window.into_source().and_then(|source| source.ended_early()) {
            collector.diagnostics.add(&BROKEN_COMPRESSION, 1, Position::Byte(end), || text);
        }
        let chosen = collector.choose(options.snapshot, &mut facts)?;
        collector.judge(&chosen);
        collector.check_any_read(&chosen)?;
        collector.state_facts(&chosen, &mut facts);
        collector.diagnostics.check(options.strict)?;
        Ok((collector, chosen, facts))
    }
}

/// As .gcdump files begin, but the first object is a trace.
fn is_netperf(start: &[u8]) -> bool {
    let Some(rest) = start.strip_prefix(container::SERIALIZATION) else { return false };
    let head = &rest[..rest.len().min(96)];
    let names: [&[u8]; 2] = [b"Microsoft.DotNet.Runtime.EventPipeFile", b"\x05\x00\x00\x00Trace"];
    names.iter().any(|name| memchr::memmem::find(head, name).is_some())
}
