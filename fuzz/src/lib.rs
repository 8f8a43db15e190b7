//! What all targets do with a dump: read it, and walk what came out so that a broken graph would show.

use std::io::{Cursor, Write};

use heapdump::allocations::AllocationDump;
use heapdump::analysis::allocation_totals::{AllocationTotals, TotalsOptions};
use heapdump::analysis::dominators::Dominators;
use heapdump::analysis::reachability::{add_unreachable_roots, infer_roots};
use heapdump::analysis::retained::RetainedSizes;
use heapdump::analysis::root_paths::find_root_paths;
use heapdump::dump::{MemoryLimit, OpenOptions};
use heapdump::graph::HeapGraph;
use heapdump::input::{self, Dump, ReadOptions, Source};

/// Objects whose values are asked for.
const MOST_ASKED: usize = 200;

/// Memory that a dump may take: a small input that takes more is a finding.
const MAX_MEMORY_BYTES: u64 = 256 << 20;

/// Reads bytes as a dump of this format, in both ways that readers have.
pub fn read(format: &str, bytes: &[u8]) {
    let options = ReadOptions {
        input_format: Some(format.into()),
        threads: 1,
        max_memory_bytes: Some(MAX_MEMORY_BYTES),
        ..ReadOptions::default()
    };
    let source = || Source::from_reader(Cursor::new(bytes.to_vec()));
    if let Ok(source) = source() {
        let _ = input::count_types(source, &options);
    }
    let Ok(source) = source() else { return };
    let Ok(loaded) = input::read(source, &options) else { return };
    match loaded.dump {
        Dump::Graph(mut graph) => {
            if loaded.info.has_no_roots {
                infer_roots(&mut graph);
            }
            walk(&graph);
            add_unreachable_roots(&mut graph);
            walk(&graph);
        }
        Dump::Allocations(dump) => walk_allocations(&dump),
        _ => {}
    }
}

/// Reads bytes as a dump of this format, and asks its first objects for their fields, names and texts, which are read
/// from the file again.
pub fn read_values(format: &str, bytes: &[u8]) {
    read(format, bytes);
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("written");
    let read = ReadOptions { input_format: Some(format.into()), threads: 1, ..ReadOptions::default() };
    let memory = MemoryLimit::of(MAX_MEMORY_BYTES);
    let options = OpenOptions { read, memory, ..OpenOptions::default() };
    let Ok(dump) = options.open(file.path()) else { return };
    let (Some(graph), Some(details)) = (dump.graph(), dump.details()) else { return };
    let nodes: Vec<_> = graph.nodes().take(MOST_ASKED).collect();
    if let Ok(values) = details.shown_values(graph, &nodes, 100) {
        assert_eq!(values.len(), nodes.len());
    }
    for &node in &nodes {
        let _ = (details.fields(graph, node), details.text(graph, node), details.distance(graph, node));
        if let Ok(Some(elements)) = details.elements(graph, node, 100) {
            assert!(elements.first_elements.len() as u64 <= elements.length.min(100));
        }
        for nth in 0..graph.references(node).len().min(100) {
            let _ = details.reference_name(graph, node, nth);
        }
    }
}

/// Asks a graph everything.
fn walk(graph: &HeapGraph) {
    let dominators = Dominators::compute(graph);
    let retained = RetainedSizes::compute(graph, &dominators);
    for node in graph.nodes() {
        let mut others = graph.references(node).map(|to| to.node).chain(graph.referrers(node).map(|from| from.node));
        assert!(others.all(|other| other.index() < graph.node_count()));
        assert!(graph.type_of(node).index() < graph.type_count());
        assert!(!graph.display_id(node).is_empty());
    }
    if let Some(last) = graph.nodes().next_back() {
        let path = find_root_paths(graph, last, 1, false, |_| false);
        let is_retained = retained.bytes_of(&dominators, last).is_some();
        assert!(path.is_empty() != is_retained || (path.is_empty() && graph.has_unheld_in_dominator_tree()));
    }
}

fn walk_allocations(dump: &AllocationDump) {
    for heap in &dump.heaps {
        for (at, frame) in heap.frames.iter().enumerate().skip(1) {
            assert!((frame.parent() as usize) < at && dump.names.text(frame.name).len() < usize::MAX);
        }
        let _ = AllocationTotals::compute(heap, &TotalsOptions { max_depth: 500, is_by_type: true, is_type_wanted: None });
    }
}
