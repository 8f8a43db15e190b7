//! An index with bytes changed and checks that fit: whatever it says, nothing may break.
#![no_main]

use std::io::{Cursor, Write};
use std::sync::OnceLock;

use heapdump::analysis::dominators::{DominatorNode, Dominators, DominatorWalkStep, StoredDominators};
use heapdump::analysis::retained::RetainedSizes;
use heapdump::analysis::root_paths::RootsByNode;
use heapdump::analysis::root_paths::find_root_paths;
use heapdump::analysis::shortest_parents::ShortestParents;
use heapdump::files::{Inputs, OutputTarget};
use heapdump::graph::{HeapGraph, StoredGraph};
use heapdump::index::{self, Index};
use heapdump::input::{self, Dump, ReadOptions, Source};
use twox_hash::XxHash3_64;

const HEADER: usize = 64;
const BLOCK: usize = 1 << 16;

/// The index of a small dump.
fn good() -> &'static [u8] {
    static GOOD: OnceLock<Vec<u8>> = OnceLock::new();
    GOOD.get_or_init(|| {
        let dump = include_bytes!("../../fixtures/xna_cf/pair_after.txt");
        let source = Source::from_reader(Cursor::new(dump.to_vec())).expect("a dump");
        let Dump::Graph(graph) = input::read(source, &ReadOptions::default()).expect("a dump").dump else { panic!() };
        let dominators = Dominators::compute(&graph);
        let retained = RetainedSizes::compute(&graph, &dominators);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("good.hdx");
        let target = OutputTarget::find(Some(&path), &Inputs::new()).expect("a target");
        index::write(&target, None, |sink| {
            ShortestParents::compute(&graph).store(sink)?;
            Ok((graph.store(sink)?, dominators.store(&retained, sink)?))
        })
        .expect("written");
        std::fs::read(path).expect("readable")
    })
}

fn number(index: &[u8], at: usize) -> usize {
    u64::from_ne_bytes(index[at..at + 8].try_into().expect("8 bytes")) as usize
}

/// Makes the checks fit, as long as the header's lengths still do.
fn seal(index: &mut [u8]) {
    let (columns, json) = (number(index, 24), number(index, 32));
    let blocks = columns.div_ceil(BLOCK);
    if HEADER + columns.next_multiple_of(64) + blocks * 8 + json == index.len() {
        let tail = index.len() - json - blocks * 8;
        for block in 0..blocks {
            let start = HEADER + block * BLOCK;
            let check = XxHash3_64::oneshot(&index[start..(start + BLOCK).min(HEADER + columns)]);
            index[tail + block * 8..][..8].copy_from_slice(&check.to_ne_bytes());
        }
        let check = XxHash3_64::oneshot(&index[tail..]);
        index[40..48].copy_from_slice(&check.to_ne_bytes());
    }
    let check = XxHash3_64::oneshot(&index[..56]);
    index[56..64].copy_from_slice(&check.to_ne_bytes());
}

fn ask(index: Index) -> Option<()> {
    let (stored, tree): (StoredGraph, StoredDominators) = index.json_content().ok()?;
    let columns = index.into_columns();
    let graph = HeapGraph::from_stored(&stored, &columns)?;
    let (dominators, retained) = Dominators::from_stored(tree, &graph, &columns)?;
    let parents = ShortestParents::from_stored(&graph, &columns)?;
    let roots = RootsByNode::new(&graph);
    for node in graph.nodes() {
        let _ = (graph.type_name(graph.type_of(node)), graph.shallow_bytes(node), graph.display_id(node));
        let _ = graph.find_by_id(None, graph.original_id(node));
        let _ = (dominators.dominator_of(node), retained.bytes_of(&dominators, node));
        let _ = parents.path_to(&graph, &roots, node);
    }
    dominators.children().walk(DominatorNode::ROOT, |step| {
        let (DominatorWalkStep::Enter(number) | DominatorWalkStep::Leave(number)) = step;
        let _ = dominators.node_at(number);
    });
    let dominators = Dominators::compute(&graph);
    let _ = RetainedSizes::compute(&graph, &dominators);
    if let Some(last) = graph.nodes().next_back() {
        let _ = find_root_paths(&graph, last, 0, true, |_| false);
    }
    Some(())
}

// Each five bytes of input change one byte of the index.
libfuzzer_sys::fuzz_target!(|changes: &[u8]| {
    let mut index = good().to_vec();
    for change in changes.chunks_exact(5) {
        let at = u32::from_le_bytes(change[..4].try_into().expect("4 bytes")) as usize % index.len();
        index[at] = change[4];
    }
    seal(&mut index);
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(&index).expect("written");
    let _ = Index::open(file.path()).ok().and_then(ask);
});
