//! The exporters as a library: what they write is the command's output, and agrees with the heap itself.

use std::collections::BTreeMap;
use std::io::Write;

use heapdump::answers::{AnswerError, ObjectId};
use heapdump::dump::{OpenDump, open};
use heapdump::export::{
    DotOptions, ExportError, FoldedOptions, MemoryInfraOptions, write_dot, write_flamegraph, write_folded,
    write_memory_infra,
};

use heapdump::graph::{HeapGraph, NodeId, TypeId};
use petgraph::dot::{Config, Dot};

use crate::common::cmd::{project, run};

const GAME: &str = "fixtures/xna_cf/pair_after.txt";
const TRACE: &str = "fixtures/memory_infra/seed-heaps_v2.trace";

fn written<T>(write: impl FnOnce(&mut dyn Write) -> Result<T, ExportError>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("written");
    String::from_utf8(out).expect("text")
}

fn opened(path: &str) -> OpenDump {
    open(project(path)).expect("a dump")
}

fn id(text: &str) -> ObjectId {
    text.parse().expect("an id")
}

#[test]
fn the_command_writes_what_the_library_writes() {
    let dump = opened(GAME);
    let export = |form: &[&str]| run(&[&["export", GAME, "-q", "--to"], form].concat()).expect_code(0).stdout;
    assert_eq!(written(|out| write_folded(&dump, &FoldedOptions::default(), out)), export(&["folded"]));
    assert_eq!(written(|out| write_flamegraph(&dump, &FoldedOptions::default(), out)), export(&["flamegraph"]));
    let largest = run(&["list", GAME, "-q", "--ids", "--sort", "retained", "-n", "1"]).expect_code(0).stdout;
    let largest = largest.trim();
    let dot = written(|out| write_dot(&dump, &DotOptions::around(id(largest)), out));
    assert_eq!(dot, export(&["dot", "--object", largest]));
    for file in [GAME, TRACE] {
        let written = written(|out| {
            write_memory_infra(&opened(file), &MemoryInfraOptions::default(), out)
                .map(|fuller| assert!(fuller.is_none()))
        });
        assert_eq!(written, run(&["export", file, "-q", "--to", "memory-infra"]).expect_code(0).stdout);
    }
}

/// The drawing of a whole neighbourhood against the graph: boxes, and arrows with repeats.
#[test]
fn a_drawing_has_the_references_among_its_objects() {
    let dump = opened(GAME);
    let graph = dump.graph().expect("objects");
    let start = graph.nodes().max_by_key(|&node| graph.references(node).len()).expect("an object");
    let options = DotOptions { depth: 3, max_objects: 40, ..DotOptions::around(id(&graph.display_id(start))) };
    let text = written(|out| write_dot(&dump, &options, out));
    let mut drawn = BTreeMap::new();
    let mut arrows = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some((ends, _)) = line.split_once(" [ ]") {
            let (from, to) = ends.split_once(" -> ").expect("two ends");
            arrows.push((from.parse::<usize>().expect("a number"), to.parse::<usize>().expect("a number")));
        } else if let Some((number, label)) = line.split_once(" [ label = ") {
            let id = label.split("\\l").nth(1).expect("the id");
            drawn.insert(number.parse::<usize>().expect("a number"), id.to_string());
        }
    }
    assert_eq!(drawn[&0], graph.display_id(start));
    assert!(drawn.len() == 40 && arrows.len() >= 39, "{text}");
    let number_of = |node| drawn.iter().find(|(_, id)| **id == graph.display_id(node)).map(|(&number, _)| number);
    let mut expected = Vec::new();
    for (node, ..) in graph.objects(0..graph.node_count()) {
        let Some(from) = number_of(node) else { continue };
        expected.extend(graph.strong_references(node).iter().filter_map(|&target| Some((from, number_of(target)?))));
    }
    assert_eq!(arrows, expected);
}

#[test]
fn what_cannot_be_exported_is_an_error_of_its_own() {
    let (objects, totals) = (opened(GAME), opened(TRACE));
    let nothing = FoldedOptions { object: Some(id("1")), ..FoldedOptions::default() };
    let of_totals = write_folded(&totals, &nothing, &mut Vec::new());
    assert!(matches!(of_totals, Err(ExportError::Answer(AnswerError::NeedsObjects))));
    let of_nothing = write_flamegraph(&objects, &nothing, &mut Vec::new());
    assert!(matches!(of_nothing, Err(ExportError::Answer(AnswerError::NoSuchObject(_)))), "{of_nothing:?}");
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let to_full = write_memory_infra(&objects, &MemoryInfraOptions::default(), &mut Full);
    assert!(matches!(to_full, Err(ExportError::Write(_))));
}

/// A user's own drawing of a whole heap, by petgraph alone.
#[test]
fn petgraph_draws_the_graph_itself() {
    let dump = opened("fixtures/xna_cf/01_seed_xna.txt");
    let graph = dump.graph().expect("objects");
    let no_label = [Config::NodeNoLabel, Config::EdgeNoLabel];
    let label = |graph: &HeapGraph, (node, _): (NodeId, &TypeId)| format!("label = \"{}\" ", graph.display_id(node));
    let text = format!("{:?}", Dot::with_attr_getters(graph, &no_label, &|_, _| String::new(), &label));
    assert_eq!(text.matches("label").count(), graph.node_count());
    assert_eq!(text.matches(" -> ").count(), graph.reference_count());
    let first = graph.nodes().next().expect("an object");
    assert!(text.contains(&format!("    0 [ label = \"{}\" ]\n", graph.display_id(first))), "{text}");
}
