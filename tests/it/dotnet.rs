//! What .NET formats add: several snapshots, generations, modules, names of roots, twins, samples, damage in the trace itself.

use crate::common::cmd::run;
use crate::common::fixtures::unpacked;
use crate::common::{graph, read};
use heapdump::analysis::dominators::Dominators;
use heapdump::analysis::reachability::compute_reachable;
use heapdump::analysis::retained::RetainedSizes;
use heapdump::graph::HeapGraph;
use heapdump::input::{Dump, ReadOptions};
use serde_json::Value;

const SMALL: &str = "fixtures/nettrace/small-net9.nettrace.zst";
const THREE: &str = "fixtures/nettrace/three-gcs-net9.nettrace.zst";
const RANGES: &str = "fixtures/nettrace/ranges-net9.nettrace.zst";
const TWIN: &str = "fixtures/gcdump/small-net9.gcdump.zst";

fn json(args: &[&str]) -> Value {
    let mut args = args.to_vec();
    args.extend(["-q", "-f", "json"]);
    run(&args).expect_code(0).json()
}

#[test]
fn several_snapshots_are_listed_and_chosen() {
    let info = json(&["info", THREE]);
    let objects: Vec<&Value> = info["snapshots"].as_array().unwrap().iter().map(|row| &row["objects"]).collect();
    assert_eq!(objects, [2734, 6100, 6100]);
    assert_eq!(info["snapshots"][0]["taken_at"], "2026-11-20T06:05:59.501Z");
    assert_eq!(json(&["stats", THREE])["totals"]["objects"], 2734);
    for last in ["3", "last"] {
        assert_eq!(json(&["stats", THREE, "--snapshot", last])["totals"]["objects"], 6100);
        assert_eq!(json(&["stats", THREE, "--shallow", "--snapshot", last])["totals"]["objects"], 6100);
    }
    let ran = run(&["stats", THREE, "--snapshot", "4"]).expect_code(2);
    assert!(ran.stderr.contains("snapshots 1 to 3"), "{}", ran.stderr);
}

#[test]
fn groups_by_generation_and_module() {
    let groups = json(&["stats", RANGES, "--by", "generation"]);
    let objects: u64 = groups["groups"].as_array().unwrap().iter().map(|row| row["objects"].as_u64().unwrap()).sum();
    assert_eq!(objects, 2740);
    assert!(groups["groups"].as_array().unwrap().iter().any(|row| row["group"] == "loh" && row["objects"] == 2));
    let ran = run(&["stats", SMALL, "--by", "generation"]).expect_code(2);
    assert!(ran.stderr.contains("does not say where generations are"), "{}", ran.stderr);
    let modules = json(&["stats", SMALL, "--by", "module"]);
    assert_eq!(modules["groups"][0]["group"], "System.Private.CoreLib.dll");
    run(&["stats", "fixtures/xna_cf/01_seed_xna.txt", "--by", "module"]).expect_code(2);
}

#[test]
fn types_of_one_name_stay_apart_when_asked() {
    let rows = |args: &[&str]| -> Vec<u64> {
        let stats = json(args);
        let types = stats["types"].as_array().unwrap().iter();
        types.filter(|row| row["type"] == "<>c").map(|row| row["objects"].as_u64().unwrap()).collect()
    };
    assert_eq!(rows(&["stats", SMALL]), [3]);
    assert_eq!(rows(&["stats", SMALL, "--raw-types"]), [1, 1, 1]);
}

#[test]
fn roots_have_names() {
    let root_of = |pattern: &str| {
        let id = run(&["list", SMALL, "-q", "--ids", "-n", "1", "-t", pattern]).expect_code(0).stdout;
        json(&["roots", id.trim(), SMALL])["paths"][0]["root"].clone()
    };
    let field = root_of("/^Demo\\.Model\\.Publisher$/");
    assert_eq!((&field["kind"], &field["name"]), (&"static".into(), &"Bus".into()));
    let local = root_of("/^Demo\\.Model\\.StackOnly$/");
    assert_eq!((&local["kind"], &local["name"]), (&"local".into(), &"Demo.Program.Worker".into()));
}

fn retained(graph: &HeapGraph) -> Vec<(u64, u64, Option<u64>)> {
    let dominators = Dominators::compute(graph);
    let retained = RetainedSizes::compute(graph, &dominators);
    let row = |node| (graph.original_id(node), graph.shallow_bytes(node), retained.bytes_of(&dominators, node));
    graph.nodes().map(row).collect()
}

#[test]
fn twins_have_the_same_objects_and_reachability() {
    let (trace, _) = graph(&unpacked(SMALL));
    let (converted, _) = graph(&unpacked(TWIN));
    let (a, b) = (retained(&trace), retained(&converted));
    assert!(a.iter().map(|row| (row.0, row.1)).eq(b.iter().map(|row| (row.0, row.1))));
    assert!(a.iter().map(|row| row.2.is_some()).eq(b.iter().map(|row| row.2.is_some())));
    assert_eq!(compute_reachable(&trace).len(), compute_reachable(&converted).len());
    // Only what hangs on keys of dependent handles differs, and there are ten of those.
    let differing = a.iter().zip(&b).filter(|(a, b)| a.2 != b.2).count();
    assert!((1..60).contains(&differing), "{differing}");
}

#[test]
fn a_sample_says_so() {
    let stats = json(&["stats", "fixtures/gcdump/sampled-net31.gcdump.zst"]);
    assert_eq!(stats["sampled"], true);
    assert!(stats["totals"]["estimated_objects"].as_u64() > stats["totals"]["objects"].as_u64());
}

#[test]
fn traces_without_a_heap_say_what_to_do() {
    let bytes = unpacked(SMALL);
    let error = read(&bytes[..3000], &ReadOptions::default()).expect_err("no snapshot").to_string();
    assert!(error.contains("0x1980001"), "{error}");
}

/// Reads, and walks what came out so that a broken graph would show.
fn survives(bytes: &[u8]) -> Option<usize> {
    let loaded = read(bytes, &ReadOptions::default()).ok()?;
    let Dump::Graph(graph) = &loaded.dump else { return None };
    let mut references = 0;
    for node in graph.nodes() {
        references += graph.references(node).len();
        assert!(graph.references(node).all(|target| target.node.index() < graph.node_count()));
    }
    assert_eq!(references, graph.reference_count());
    Some(graph.node_count())
}

#[test]
fn cut_and_changed_files_never_panic() {
    for path in [
        SMALL,
        "fixtures/nettrace/small-32bit.nettrace.gz",
        "fixtures/nettrace/small-uncompressed.nettrace.gz",
        "fixtures/nettrace/small-v6.nettrace.gz",
        TWIN,
        "fixtures/gcdump/sampled-net31.gcdump.zst",
    ] {
        let mut bytes = unpacked(path);
        let step = bytes.len() / 40 + 1;
        for length in (0..bytes.len()).step_by(step) {
            let cut = read(&bytes[..length], &ReadOptions::default());
            if let Ok(loaded) = cut {
                let problems = loaded.diagnostics.sorted();
                let reported = ["truncated", "unreadable-extras"];
                assert!(problems.iter().any(|problem| reported.contains(&&*problem.code)), "{path} cut at {length}");
            }
        }
        // Every byte of the start, where the structures are; then here and there.
        let places = (32..400.min(bytes.len())).step_by(3).chain((400..bytes.len()).step_by(step / 2));
        for at in places {
            let before = bytes[at];
            for value in [0, 0x7F, 0xFF] {
                bytes[at] = value;
                survives(&bytes);
            }
            bytes[at] = before;
        }
    }
}

/// A block in the middle that cannot be read costs that block alone.
#[test]
fn reading_goes_on_behind_a_broken_block() {
    let mut bytes = unpacked(SMALL);
    let name = b"\x0A\0\0\0EventBlock\x06";
    let blocks: Vec<usize> =
        bytes.windows(name.len()).enumerate().filter(|(_, w)| w == name).map(|(at, _)| at).collect();
    let last = blocks[blocks.len() - 1] + name.len();
    bytes[last..last + 4].copy_from_slice(&[0xFF, 0xFF, 0xFF, 0x7F]);
    assert_eq!(survives(&bytes), Some(2740));
}
