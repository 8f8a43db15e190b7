//! Java heap dumps: sizes by measurement, damage, several dumps, names and values of single objects.

use std::collections::BTreeMap;

use crate::common::cmd::{project, run};
use crate::common::{fixtures, graph, graph_with, read};
use heapdump::graph::{HeapGraph, NodeId};
use heapdump::input::{self, ObjectDetails, ReadOptions, ReferenceName, Rules, SnapshotChoice, Source, Value};

fn fixture(name: &str) -> std::path::PathBuf {
    project("fixtures/hprof").join(name)
}

fn whole() -> Vec<u8> {
    std::fs::read(fixture("tiny-8byte-segments.hprof")).expect("readable")
}

fn unpacked(name: &str) -> Vec<u8> {
    fixtures::unpacked(&format!("fixtures/hprof/{name}"))
}

#[test]
fn measured_sizes_fill_the_heap_and_never_exceed_it() {
    // The collector Z leaves gaps.
    for (name, header, percent) in [
        ("zoo-jdk11-serial.hprof.zst", "header 12, references 4,", 98),
        ("zoo-jdk17-serial.hprof.zst", "header 12, references 4,", 98),
        ("zoo-jdk21-serial.hprof.zst", "header 12, references 4,", 98),
        ("zoo-jdk17-zgc.hprof.zst", "header 12, references 8,", 80),
        ("zoo-jdk25-coh.hprof.zst", "header 8, references 4,", 98),
    ] {
        let (graph, loaded) = graph(&unpacked(name));
        let sizes = loaded.info.sizes.expect("derived");
        assert!(sizes.contains(header) && sizes.ends_with("measured"), "{name}: {sizes}");
        let nodes: Vec<NodeId> = graph.nodes().collect();
        let mut equal = 0;
        for pair in nodes.windows(2) {
            let distance = graph.original_id(pair[1]) - graph.original_id(pair[0]);
            let bytes = graph.shallow_bytes(pair[0]);
            assert!(
                bytes <= distance,
                "{name}: {} of {}",
                graph.display_id(pair[0]),
                graph.type_name(graph.type_of(pair[0]))
            );
            equal += usize::from(bytes == distance);
        }
        assert!(equal * 100 >= nodes.len() * percent, "{name}: {equal} of {}", nodes.len());
    }
}

#[test]
fn counting_alone_gives_the_same_sizes() {
    for name in ["zoo-jdk17-serial.hprof.zst", "android.hprof", "tiny-4byte.hprof"] {
        for rules in [Rules::Heapdump, Rules::Mat] {
            let options = ReadOptions { rules, ..ReadOptions::default() };
            let (graph, loaded) = graph_with(&unpacked(name), &options);
            let mut types: BTreeMap<String, (u64, u64)> = BTreeMap::new();
            for node in graph.nodes() {
                let row = types.entry(graph.type_name(graph.type_of(node)).into()).or_default();
                *row = (row.0 + 1, row.1 + graph.shallow_bytes(node));
            }
            let counted = input::count_types(Source::open(&fixture(name)).unwrap(), &options).unwrap();
            let mut counted_types: BTreeMap<String, (u64, u64)> = BTreeMap::new();
            for (name, objects, bytes) in counted.types {
                let row = counted_types.entry(name).or_default();
                *row = (row.0 + objects, row.1 + bytes);
            }
            assert_eq!(counted_types, types, "{name}");
            assert_eq!(counted.info.sizes, loaded.info.sizes, "{name}");
        }
    }
}

#[test]
fn weak_referents_hold_only_by_the_rules_of_mat() {
    let reachable = |rules: Rules| {
        let (graph, _) = graph_with(&whole(), &ReadOptions { rules, ..ReadOptions::default() });
        let reached = heapdump::analysis::reachability::compute_reachable(&graph);
        reached.len()
    };
    assert_eq!((reachable(Rules::Mat), reachable(Rules::Heapdump)), (45, 44));
    let refused = run(&["stats", "--rules", "mat", &project("fixtures/xna_cf/pair_after.txt").display().to_string()]);
    assert!(refused.expect_code(2).stderr.contains("--rules mat"));
}

/// (objects, problems that are warnings) of the tiny dump after a change, which dangles in two places before.
fn outcome(bytes: &[u8]) -> Result<(usize, Vec<String>), String> {
    let loaded = read(bytes, &ReadOptions::default()).map_err(|error| error.to_string())?;
    let input::Dump::Graph(graph) = &loaded.dump else { panic!("no graph") };
    let problems = loaded.diagnostics.sorted().into_iter();
    let problems = problems.filter(|problem| !problem.is_note() && !problem.code.to_string().starts_with("dangling"));
    Ok((graph.node_count(), problems.map(|problem| problem.code.to_string()).collect()))
}

/// Offset, tag and length of each record.
fn records(bytes: &[u8]) -> Vec<(usize, u8, usize)> {
    let mut at = bytes.iter().position(|&byte| byte == 0).unwrap() + 13;
    let mut found = Vec::new();
    while at < bytes.len() {
        let length = u32::from_be_bytes(bytes[at + 5..at + 9].try_into().unwrap()) as usize;
        found.push((at, bytes[at], length));
        at += 9 + length;
    }
    found
}

#[test]
fn damage_has_its_outcome() {
    let whole = whole();
    let records = records(&whole);
    let segments: Vec<_> = records.iter().filter(|record| record.1 == 0x1C).collect();
    let (&&(first, _, first_length), &&(last, _, last_length)) = (&segments[0], &segments[2]);
    let text = records.iter().filter(|record| record.1 == 1).nth(3).unwrap().0;
    let put = |at: usize, new: &[u8]| {
        let mut bytes = whole.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        bytes
    };
    let insert = |at: usize, new: &[u8]| [&whole[..at], new, &whole[at..]].concat();
    let length = |length: usize| (length as u32).to_be_bytes();
    let end = whole.len();
    let all: &[(&str, Vec<u8>, usize, &[&str])] = &[
        ("whole", whole.clone(), 47, &[]),
        (
            "cut in the last segment",
            whole[..last + 9 + last_length * 2 / 3].to_vec(),
            36,
            &["no-class-dump", "no-end", "truncated"],
        ),
        ("cut before the end", whole[..end - 9].to_vec(), 47, &["no-end"]),
        ("cut in the end", whole[..end - 4].to_vec(), 47, &["no-end", "truncated"]),
        ("segment too long", put(last + 5, &length(last_length + 1000)), 47, &["no-end", "truncated"]),
        ("last segment without length", put(last + 5, &length(0)), 47, &["zero-length-segment"]),
        (
            "segment too short",
            put(last + 5, &length(last_length - 5)),
            46,
            &["bad-record", "bad-subrecord", "no-class-dump", "no-end"],
        ),
        ("unknown record", insert(first, b"\x77\0\0\0\0\0\0\0\x06abcdef"), 47, &["unknown-record"]),
        ("empty segment", insert(first, b"\x1C\0\0\0\0\0\0\0\0"), 47, &[]),
        ("junk behind", [&whole[..], &[0; 50]].concat(), 47, &["data-after-end"]),
        ("two files", [&whole[..], &whole[..]].concat(), 47, &["data-after-end"]),
        ("unknown sub-record", put(last + 9, b"\x5A"), 13, &["bad-subrecord", "no-class-dump"]),
        ("repeated objects", insert(last, &whole[first..first + 9 + first_length]), 47, &["repeated-object"]),
    ];
    for (name, bytes, objects, problems) in all {
        assert_eq!(outcome(bytes), Ok((*objects, problems.iter().map(ToString::to_string).collect())), "{name}");
    }
    for (name, bytes, text) in [
        ("cut in the header", whole[..25].to_vec(), "header"),
        ("header alone", whole[..31].to_vec(), "without a heap dump"),
        ("cut before the heap", whole[..first].to_vec(), "without a heap dump"),
        ("cut in a text", whole[..text + 15].to_vec(), "truncated"),
        ("cut in an object", whole[..first + 49].to_vec(), "truncated"),
        ("a text of 4 GiB", put(text + 5, &length(0xFFFF_FFF0)), "truncated"),
        ("ids of 3 bytes", put(19, &length(3)), "ids of 3 bytes"),
    ] {
        let error = outcome(&bytes).expect_err(name);
        assert!(error.contains(text), "{name}: {error}");
    }
}

#[test]
fn one_of_several_dumps_is_read() {
    let bytes = std::fs::read(fixture("two-dumps.hprof")).unwrap();
    for (snapshot, leaves, seconds) in
        [(SnapshotChoice::FirstComplete, 3, 3), (SnapshotChoice::Number(2), 5, 5), (SnapshotChoice::Last, 5, 5)]
    {
        let (graph, loaded) = graph_with(&bytes, &ReadOptions { snapshot, ..ReadOptions::default() });
        let leaf = |node: &NodeId| graph.type_name(graph.type_of(*node)) == "app.Leaf";
        assert_eq!(graph.nodes().filter(leaf).count(), leaves);
        let chosen = loaded.info.snapshots.iter().find(|snapshot| snapshot.chosen).expect("one");
        assert_eq!(chosen.unix_ms, Some(1_700_000_000_000 + 1000 * seconds));
        assert_eq!((loaded.info.snapshots.len(), chosen.objects), (2, graph.node_count() as u64));
    }
    let third = ReadOptions { snapshot: SnapshotChoice::Number(3), ..ReadOptions::default() };
    assert!(read(&bytes, &third).is_err());
}

#[test]
fn a_thread_holds_what_lies_on_its_stack() {
    let (graph, _) = graph(&std::fs::read(fixture("tiny-8byte-segments.hprof")).unwrap());
    assert_eq!(graph.threads().len(), 1);
    let frames = graph.frames_of(&graph.threads()[0]);
    let methods: Vec<&str> = frames.iter().map(|frame| graph.types().text(frame.method)).collect();
    assert_eq!(methods, ["work", "run", "main"]);
    let locals: Vec<_> = graph.roots().iter().filter(|root| root.is_through_thread).collect();
    assert_eq!(locals.len(), 4);
    assert!(locals.iter().all(|root| !root.is_strong()));
}

#[test]
fn info_names_the_machine_and_the_reason() {
    let info =
        |name: &str| run(&["info", "-q", "-f", "json", &fixture(name).display().to_string()]).expect_code(0).json();
    let reason = info("out-of-memory.hprof")["reason"].clone();
    assert_eq!(reason, "OutOfMemoryError of thread \"worker\" in app.Leaf.fill (Leaf.java:12)");
    let machine = info("zoo-jdk17-serial.hprof.zst");
    assert_eq!(machine["producer"], "OpenJDK Runtime Environment 17.0.15+6-Debian-1deb12u1");
    assert_eq!(machine["sizes"], "object header 12, references 4, alignment 8: measured");
    assert_eq!(machine["reason"], serde_json::Value::Null);
}

#[test]
fn paths_name_their_references() {
    let file = fixture("tiny-4byte.hprof").display().to_string();
    for (object, names) in [
        ("0x220c0", &["local of app.Leaf.work (App.java:42)"][..]),
        ("0x22100", &["[0]"]),
        ("0x22040", &["static Leaf.HEAD", ".next"]),
    ] {
        let paths = run(&["roots", object, &file, "-f", "json"]).expect_code(0).json();
        let nodes = paths["paths"][0]["nodes"].as_array().expect("a path").clone();
        assert_eq!(nodes[0].get("reference"), None, "{object}");
        let found: Vec<&str> = nodes[1..].iter().filter_map(|node| node["reference"].as_str()).collect();
        assert_eq!(found, names, "{object}");
    }
    let array = run(&["show", "0x22280", &file, "-f", "json"]).expect_code(0).json();
    let references = array["references"].as_array().expect("references");
    let names: Vec<&str> = references.iter().filter_map(|row| row["reference"].as_str()).collect();
    assert_eq!(names[..4], ["[0]", "[2]", "[3]", "[4]"]);
}

fn details_of(name: &str) -> (HeapGraph, Box<dyn ObjectDetails>) {
    let source = Source::open(&fixture(name)).expect("opens");
    let loaded = input::read(source, &ReadOptions::default()).expect("readable");
    let input::Dump::Graph(graph) = loaded.dump else { panic!("no graph") };
    (graph, loaded.details.expect("details"))
}

#[test]
fn values_are_read_again() {
    for name in ["tiny-4byte.hprof", "tiny-8byte-segments.hprof"] {
        let (graph, details) = details_of(name);
        let text = |node: NodeId| details.text(&graph, node).unwrap();
        let mut texts: Vec<String> = graph.nodes().filter_map(text).collect();
        texts.sort();
        assert_eq!(texts, ["app-thread", "app-thread", "\u{4f60}\u{597d}"], "{name}");
        let leaf = graph.nodes().find(|&node| graph.type_name(graph.type_of(node)) == "app.Leaf").expect("one");
        let fields = details.fields(&graph, leaf).unwrap();
        let field = |wanted: &str| {
            let named =
                fields.iter().find(|field| matches!(&field.name, ReferenceName::Field(_, name) if name == wanted));
            named.map(|field| field.value.clone()).expect(wanted)
        };
        assert_eq!(field("z"), Value::Boolean(true));
        assert_eq!(field("c"), Value::Char(0x42));
        assert_eq!(field("f"), Value::Float(1.5));
        assert_eq!(field("s"), Value::Integer(-1));
        assert_eq!(field("d"), Value::Double(0.25));
        assert_eq!(field("l"), Value::Integer(1_000_000_000_001));
    }
}

#[test]
fn every_reference_has_its_name() {
    for name in ["tiny-4byte.hprof", "tiny-8byte-segments.hprof", "android.hprof", "zoo-jdk17-serial.hprof.zst"] {
        let (graph, details) = details_of(name);
        for from in graph.nodes().step_by(if name.starts_with("zoo") { 29 } else { 1 }) {
            let references: Vec<_> = graph.references(from).collect();
            for (nth, reference) in references.iter().enumerate().take(20) {
                let found = details.reference_name(&graph, from, nth).unwrap();
                let found = found.unwrap_or_else(|| panic!("{name}: {} {nth}", graph.display_id(from)));
                // What the name says is what the reference leads to.
                if let ReferenceName::Element(index) = found {
                    let array = details.elements(&graph, from, index as usize + 1).unwrap().expect("an array");
                    assert_eq!(array.first_elements.last(), Some(&Value::Object(reference.node)), "{name}: {found:?}");
                }
                let fields = details.fields(&graph, from).unwrap();
                if let Some(field) = fields.iter().find(|field| field.name == found) {
                    let repeated = fields.iter().filter(|field| field.name == found).count();
                    assert!(repeated > 1 || field.value == Value::Object(reference.node), "{name}: {found:?}");
                }
            }
            let past = details.reference_name(&graph, from, references.len()).unwrap();
            assert_eq!(past, None, "{name}: {}", graph.display_id(from));
        }
    }
    let (graph, details) = details_of("tiny-4byte.hprof");
    let thread = graph.threads()[0].node.expect("an object");
    let names = (0..graph.references(thread).len()).map(|nth| details.reference_name(&graph, thread, nth).unwrap());
    let locals = names.flatten().filter(|name| matches!(name, ReferenceName::Local(_))).count();
    assert_eq!(locals, 4);
}
