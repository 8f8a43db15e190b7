//! PHD dumps: every kind of record, derived sizes, damage, names of threads.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::common::cmd::{project, run};
use crate::common::heap::Heap;
use crate::common::synth_phd::{FORMS, phd, phd_of};
use crate::common::{graph, graph_with, read};
use heapdump::graph::{HeapGraph, IdLookup, NodeId};
use heapdump::input::{ReadOptions, count_types};

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(project("fixtures/phd").join(name)).expect("readable")
}

fn node(graph: &HeapGraph, id: u64) -> NodeId {
    match graph.find_by_id(None, id) {
        IdLookup::One(node) => node,
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
                Some("object") if record["type"].is_null() => {
                    assert!(type_name.starts_with("unknown class 0x"), "{type_name}")
                }
                Some("object") => assert!(
                    Some(type_name) == record["type"].as_str() || type_name.starts_with("unknown class 0x"),
                    "{name}: {record}: {type_name}"
                ),
                Some("class") => {
                    assert_eq!(type_name, "java/lang/Class", "{name}");
                    let class = graph.types().type_of_class_object(node).expect("a class");
                    assert_eq!(Some(graph.type_name(class)), record["type"].as_str(), "{name}");
                }
                _ => assert!(type_name.starts_with('[') || type_name.ends_with("[]"), "{name}: {type_name}"),
            }
            if let Some(bytes) = record["size"].as_u64() {
                assert_eq!(graph.shallow_bytes(node), bytes, "{name}: {record}");
            }
            let found: Vec<u64> = graph.references(node).map(|target| graph.original_id(target.node)).collect();
            let wanted = record["refs"].as_array().cloned().unwrap_or_default();
            let mut wanted: Vec<u64> = wanted.iter().map(number).filter(|target| addresses.contains(target)).collect();
            if record["record"] == "object array" {
                // The records have them as the file does: from the last element to the first.
                wanted.reverse();
            }
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
        let codes: Vec<&str> = loaded.diagnostics.sorted().iter().map(|problem| &*problem.code).collect();
        assert!(codes.contains(&"truncated") || codes.contains(&"bad-record"), "{length}: {codes:?}");
    }
    assert!(before >= 36, "{before}");
}

#[test]
fn objects_listed_again_are_left_out_or_said() {
    let mut heap = Heap::default();
    for _ in 0..3 {
        heap.object("demo.Leaf", 24);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("heap.phd").display().to_string();
    for (form, times) in FORMS.into_iter().flat_map(|form| [(form, 1), (form, 2)]) {
        std::fs::write(&file, phd_of(&heap, form, times)).expect("written");
        let objects = |how: &[&str]| {
            let ran = run(&[how, &["-t", "demo.Leaf", "-f", "json", &file]].concat()).expect_code(0);
            (ran.json()["types"][0]["objects"].as_u64().expect("a number"), ran.stderr.contains("possible-repeat"))
        };
        assert_eq!(objects(&["stats"]), (3, false));
        assert_eq!(objects(&["stats", "--shallow"]), (3 * times as u64, times == 2));
    }
}

const CORE: &str = "0SECTION       TITLE subcomponent dump routine\r\n\
3XMTHREADINFO      \"main \"1\"\" J9VMThread:0x20, java/lang/Thread:0x0000000000010000, state:R, prio=5\r\n\
3XMTHREADINFO1            (native thread ID:0x37C4, native priority:0x5, native policy:UNKNOWN)\r\n\
3XMTHREADINFO      \"no thread\" J9VMThread:0x30, java/lang/Thread:0x0000000000010018, state:R, prio=5\r\n\
3XMTHREADINFO      \"worker\" J9VMThread:0x40, java/lang/Thread:0x0000000000010030, state:CW, prio=5\r\n\
3XMTHREADINFO      \"gone\" J9VMThread:0x50, java/lang/Thread:0x0000000000999998, state:CW, prio=5\r\n";

#[test]
fn threads_have_their_names_from_the_java_core_beside_the_dump() {
    let mut heap = Heap::default();
    let main = heap.object("java.lang.Thread", 64);
    let leaf = heap.object("demo.Leaf", 24);
    let worker = heap.object("java.lang.Thread", 64);
    heap.refer(main, leaf);
    heap.refer(leaf, worker);
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        path.display().to_string()
    };
    let dump = write("heapdump.20260102.030405.77.0002.phd", &phd(&heap, FORMS[1]));
    let other = write("heapdump.20260102.030405.78.0002.phd", &phd(&heap, FORMS[1]));
    write("javacore.20260102.030405.77.0003.txt", CORE.as_bytes());
    let ask = |path: &str| run(&["info", path, "-f", "json", "--no-index"]).expect_code(0);
    let (info, without) = (ask(&dump), ask(&other));
    let roots = |info: &Value| info["sections"][0]["roots_by_kind"].clone();
    assert_eq!(roots(&info.json())["thread"], 2, "{}", info.stdout);
    assert!(roots(&without.json())["thread"].is_null(), "{}", without.stdout);
    let problems = info.json()["problems"].clone();
    assert_eq!((&problems[0]["code"], &problems[0]["count"]), (&"java-core".into(), &2.into()), "{problems}");
    assert_eq!(info.stderr, without.stderr, "a note is no warning");
    let shown = run(&["show", "10030", &dump, "-f", "json", "--no-index"]).expect_code(0);
    assert_eq!(shown.json()["roots"][0]["name"], "worker", "{}", shown.stdout);
    let listed = run(&["roots", "10018", &dump, "--no-index"]).expect_code(0);
    assert!(listed.stdout.contains("main \"1\""), "{}", listed.stdout);
}
