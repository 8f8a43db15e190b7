//! PHD dumps: every kind of record, derived sizes, damage, the same answers as the text form of the same heap.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::common::cmd::{project, run};
use crate::common::heap::Heap;
use crate::common::synth::{Shape, ibm_classic};
use crate::common::synth_phd::phd;
use crate::common::{graph, graph_with, read};
use heapdump::analysis::dominators::Dominators;
use heapdump::analysis::retained::Retained;
use heapdump::graph::{HeapGraph, Lookup, NodeId};
use heapdump::input::{ReadOptions, count_types};

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(project("fixtures/phd").join(name)).expect("readable")
}

fn node(graph: &HeapGraph, id: u64) -> NodeId {
    match graph.find(None, id) {
        Lookup::One(node) => node,
        other => panic!("{id:#x}: {other:?}"),
    }
}

/// The records of a dump, as a program has them that shares nothing with the reader.
fn expected(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(project("tests/nodes/phd").join(name)).expect("readable");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    json["list"].as_array().expect("records").clone()
}

fn number(value: &Value) -> u64 {
    let text = value.as_str().expect("an address");
    u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("hexadecimal")
}

#[test]
fn every_kind_of_record_is_read() {
    for name in ["every-record-v4-32bit", "every-record-v5-32bit", "every-record-v5-64bit", "every-record-v6-64bit"] {
        let options = ReadOptions { raw_types: true, ..ReadOptions::default() };
        let (graph, loaded) = graph_with(&fixture(&format!("{name}.phd")), &options);
        let records = expected(&format!("{name}.json"));
        assert_eq!(graph.node_count(), records.len(), "{name}: {:?}", loaded.diagnostics);
        let addresses: Vec<u64> = records.iter().map(|record| number(&record["address"])).collect();
        for record in &records {
            let node = node(&graph, number(&record["address"]));
            let type_name = graph.type_name(graph.type_of(node));
            match record["record"].as_str() {
                Some("object") if record["type"].is_null() => assert!(type_name.starts_with("unknown class 0x"), "{type_name}"),
                Some("object") => assert!(
                    Some(type_name) == record["type"].as_str() || type_name.starts_with("unknown class 0x"),
                    "{name}: {record}: {type_name}"
                ),
                Some("class") => {
                    assert_eq!(type_name, "java/lang/Class", "{name}");
                    let class = graph.types().of_class_object(node).expect("a class");
                    assert_eq!(Some(graph.type_name(class)), record["type"].as_str(), "{name}");
                }
                _ => assert!(type_name.starts_with('[') || type_name.ends_with("[]"), "{name}: {type_name}"),
            }
            if let Some(bytes) = record["size"].as_u64() {
                assert_eq!(graph.shallow_bytes(node), bytes, "{name}: {record}");
            }
            let found: Vec<u64> = graph.references(node).map(|target| graph.original_id(target.node)).collect();
            let wanted = record["refs"].as_array().cloned().unwrap_or_default();
            let wanted: Vec<u64> = wanted.iter().map(number).filter(|target| addresses.contains(target)).collect();
            assert_eq!(found, wanted, "{name}: {record}");
        }
    }
}

#[test]
fn arrays_that_state_no_length_have_their_stated_size() {
    let (graph, _) = graph(&fixture("jdmpview-lengths-v6.phd"));
    let records = expected("jdmpview-lengths-v6.json");
    assert_eq!(graph.node_count(), records.len());
    for record in records.iter().filter(|record| !record["size"].is_null()) {
        let node = node(&graph, number(&record["address"]));
        assert_eq!(Some(graph.shallow_bytes(node)), record["size"].as_u64(), "{record}");
    }
}

#[test]
fn counting_alone_gives_the_same_sizes() {
    for name in ["every-record-v4-32bit", "every-record-v5-64bit", "every-record-v6-64bit", "cut-before-classes"] {
        let (graph, _) = graph(&fixture(&format!("{name}.phd")));
        let mut types: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for node in graph.nodes() {
            let row = types.entry(graph.type_name(graph.type_of(node)).into()).or_default();
            *row = (row.0 + 1, row.1 + graph.shallow_bytes(node));
        }
        let source = heapdump::input::Source::open(&project(&format!("fixtures/phd/{name}.phd"))).expect("a dump");
        let counted = count_types(source, &ReadOptions::default()).expect("readable");
        let counted: BTreeMap<String, (u64, u64)> =
            counted.types.into_iter().map(|(name, objects, bytes)| (name, (objects, bytes))).collect();
        assert_eq!(counted, types, "{name}");
    }
}

#[test]
fn every_cut_is_read_as_far_as_it_goes() {
    let whole = fixture("every-record-v6-64bit.phd");
    let mut before = 0;
    for length in 1..whole.len() {
        let Ok(loaded) = read(&whole[..length], &ReadOptions::default()) else { continue };
        let heapdump::input::Dump::Graph(graph) = loaded.dump else { panic!("a graph") };
        assert!(graph.node_count() >= before, "{length}");
        before = graph.node_count();
        let codes: Vec<&str> = loaded.diagnostics.sorted().iter().map(|problem| problem.code.name).collect();
        assert!(codes.contains(&"truncated") || codes.contains(&"bad-record"), "{length}: {codes:?}");
    }
    assert!(before >= 36, "{before}");
}

#[test]
fn a_dump_answers_as_the_text_form_of_its_heap() {
    let mut heap = Heap::default();
    let numbers: Vec<usize> =
        (0..40).map(|number| heap.object(["demo.Node", "demo.Leaf"][number % 2], 16 + 8 * (number as u64 % 5))).collect();
    for &number in &numbers {
        for step in [1, 7, 11] {
            if (number * step) % 3 != 1 {
                heap.refer(number, (number * step + step) % numbers.len());
            }
        }
    }
    let answers = |bytes: &[u8]| {
        let (graph, _) = graph(bytes);
        let dominators = Dominators::compute(&graph);
        let retained = Retained::compute(&graph, &dominators);
        numbers
            .iter()
            .map(|&number| {
                let node = node(&graph, Heap::address(number));
                let targets: Vec<u64> = graph.references(node).map(|target| graph.original_id(target.node)).collect();
                let roots: Vec<String> =
                    graph.roots().iter().filter(|root| root.node == node).map(|root| root.kind.name()).collect();
                let type_name = graph.type_name(graph.type_of(node)).to_string();
                (type_name, graph.shallow_bytes(node), targets, retained.bytes_of(&dominators, node), roots)
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(answers(&phd(&heap)), answers(ibm_classic(&heap, Shape::Native).as_bytes()));
}

#[test]
fn what_cannot_be_read_says_why() {
    for (name, text) in [
        ("ascii-transfer", "sent as text"),
        ("version-7", "version 7"),
        ("cut-in-header", "cut off within its header"),
        ("huge-counts", "bad-record"),
        ("negative-count", "bad-record"),
    ] {
        let path = project(&format!("fixtures/phd/{name}.phd")).display().to_string();
        let ran = run(&["stats", &path]).expect_code(2);
        assert!(ran.stderr.contains(text), "{name}: {}", ran.stderr);
    }
}
