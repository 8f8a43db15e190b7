//! V8 heap snapshots: every node against what Chrome DevTools makes of it, the forms of one snapshot, damage, names.

use std::io::Read;

use serde_json::{Value, json};

use crate::common::cmd::{project, run, run_with_input};
use crate::common::synth_v8::{Node, node as made, v8_nodes};
use heapdump::analysis::dominators::Dominator;
use heapdump::dump::{self, OpenOptions};
use heapdump::graph::{HeapGraph, IdLookup, NodeId};
use heapdump::input::{ReadOptions, ReferenceName, Rules, Source};

fn fixture(name: &str) -> std::path::PathBuf {
    project("fixtures/v8_snapshot").join(name)
}

fn unpacked(path: &std::path::Path) -> Vec<u8> {
    let mut source = Source::open(path).expect("a file");
    let mut bytes = vec![0; 16 << 20];
    let length = source.fill(&mut bytes).expect("readable");
    bytes.truncate(length);
    bytes
}

fn node(graph: &HeapGraph, id: u64) -> Option<NodeId> {
    match graph.find_by_id(None, id) {
        IdLookup::One(node) => Some(node),
        _ => None,
    }
}

/// Compares every node with a row of (id, self size, shallow, retained, distance, dominator, detachedness, class).
fn check_every_node(name: &str, expected: &str) -> usize {
    let dump = dump::open(fixture(name)).expect("readable");
    let graph = dump.graph().expect("objects");
    let details = dump.details().expect("a file");
    let (dominators, retained) = dump.dominators().expect("memory");
    let rows = unpacked(&project("tests/nodes/v8").join(expected));
    let rows = String::from_utf8(rows).expect("text");
    let mut objects = 0;
    for row in rows.lines() {
        let cells: Vec<&str> = row.split('\t').collect();
        let number = |at: usize| cells[at].parse::<i64>().expect("a number");
        let class: String = serde_json::from_str(cells[7]).expect("a text");
        let Some(node) = node(graph, number(0) as u64) else {
            // The root and its categories are no objects.
            assert_eq!((class.as_str(), cells[1]), ("(synthetic)", "0"), "{name}: {row}");
            continue;
        };
        objects += 1;
        assert_eq!(graph.shallow_bytes(node), number(2) as u64, "{name}: {row}");
        assert_eq!(retained.bytes_of(dominators, node), Some(number(3) as u64), "{name}: {row}");
        let distance = Some(number(4) as u32).filter(|_| (0..100_000_000).contains(&number(4)));
        assert_eq!(details.distance(graph, node).expect("readable"), distance, "{name}: {row}");
        let dominator = match dominators.dominator_of(node) {
            Dominator::Node(dominator) => Some(dominator),
            _ => None,
        };
        assert_eq!(dominator, self::node(graph, number(5) as u64), "{name}: {row}");
        assert_eq!(graph.type_name(graph.type_of(node)), class, "{name}: {row}");
        let is_reached = distance.is_some() || number(4) >= 100_000_000;
        assert_eq!(dump.reachable().contains(node), is_reached, "{name}: {row}");
    }
    assert_eq!(objects, graph.node_count(), "{name}");
    objects
}

#[test]
fn every_node_is_as_devtools_has_it() {
    for name in ["tiny", "tiny-one-line", "tiny-pretty", "tiny-sorted-keys", "tiny-new-fields"] {
        assert_eq!(check_every_node(&format!("{name}.heapsnapshot"), "tiny.nodes.tsv"), 19);
    }
    assert_eq!(check_every_node("tiny-old-fields.heapsnapshot", "tiny-old-fields.nodes.tsv"), 19);
    assert_eq!(check_every_node("page156.heapsnapshot.zst", "page156.nodes.tsv.zst"), 36_824);
}

fn listed(arguments: &[&str]) -> Vec<Value> {
    let mut all = vec!["list", "-q", "-f", "json", "--sort", "id"];
    all.extend(arguments);
    run(&all).expect_code(0).json()["objects"].as_array().expect("rows").clone()
}

#[test]
fn damage_that_changes_nothing_gives_the_same_objects() {
    let whole = listed(&[&fixture("tiny.heapsnapshot").display().to_string()]);
    for name in ["no-closing-brace", "count-too-small", "count-too-large", "string-past-end"] {
        let path = fixture(&format!("{name}.heapsnapshot"));
        assert_eq!(listed(&[&path.display().to_string()]), whole, "{name}");
    }
}

#[test]
fn a_pipe_gives_what_the_file_gives() {
    let path = fixture("page156.heapsnapshot.zst");
    let arguments = ["stats", "--retained", "-f", "json"];
    let from_file = run(&[&arguments[..], &[&path.display().to_string()]].concat()).expect_code(0).json();
    for bytes in [std::fs::read(&path).expect("readable"), unpacked(&path)] {
        assert_eq!(run_with_input(&arguments, &bytes).expect_code(0).json(), from_file);
    }
}

#[test]
fn one_thread_and_many_read_the_same() {
    let path = fixture("page156.heapsnapshot.zst").display().to_string();
    let with = |threads| run(&["list", "-f", "csv", "--threads", threads, &path]).expect_code(0).stdout;
    assert_eq!(with("1"), with("3"));
}

#[test]
fn classes_of_one_name_are_told_apart_and_parts_without_bytes_not_counted() {
    let path = fixture("page156.heapsnapshot.zst").display().to_string();
    let stats = run(&["stats", "-f", "json", &path]).expect_code(0).json();
    let rows = stats["types"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row["shallow_bytes"] != 0));
    let objects: u64 = rows.iter().map(|row| row["objects"].as_u64().expect("a count")).sum();
    assert_eq!(stats["totals"]["objects"], objects);
    assert_eq!(stats["totals"]["objects_without_bytes"].as_u64().expect("counted") + objects, 36_824);
    let names: Vec<&str> = rows.iter().filter_map(|row| row["type"].as_str()).collect();
    for row in rows.iter().filter(|row| !row["location"].is_null()) {
        let repeats = names.iter().filter(|&&name| row["type"] == name).count();
        assert!(repeats > 1 && row["location"]["line"].as_u64() > Some(0), "{row}");
    }
    let counted = run(&["stats", "--shallow", "-f", "json", &path]).expect_code(0).json();
    assert_eq!(counted["types"].as_array().map(Vec::len), Some(rows.len()));
}

#[test]
fn references_and_roots_have_their_names() {
    let path = fixture("tiny.heapsnapshot").display().to_string();
    let roots = |id: &str| run(&["roots", id, "-f", "json", &path]).expect_code(0).json();
    let names = |answer: &Value| {
        let nodes = answer["paths"][0]["nodes"].as_array().expect("nodes").clone();
        nodes.iter().skip(1).map(|node| node["reference"].as_str().expect("a name").to_string()).collect::<Vec<_>>()
    };
    for id in ["@17", "17"] {
        let answer = roots(id);
        assert_eq!(answer["object"]["id"], "@17");
        assert_eq!(answer["paths"][0]["root"]["kind"], "static");
        assert_eq!(answer["paths"][0]["root"]["name"], "Window / https://example.org");
        assert_eq!(names(&answer).len(), 2);
    }
    assert_eq!(names(&roots("@13")), [".app", ".cache"]);
    let shown = run(&["show", "@9", "-f", "json", &path]).expect_code(0).json();
    let rows = shown["references"].as_array().expect("rows");
    let strong = rows.iter().filter(|row| row["weak"] != true);
    let references: Vec<&str> = strong.filter_map(|row| row["reference"].as_str()).collect();
    assert_eq!(references, [".cache", "[0]", "[4000000000]", "{properties}"]);
    assert_eq!(shown["object"]["distance"], 2);
    assert_eq!(shown["roots"][0]["container"], "(Global handles)");
    run(&["roots", "@37", &path]).expect_code(1);
    run(&["roots", "@99", &path]).expect_code(2);
    run(&["show", "1f", &path]).expect_code(2);
}

#[test]
fn texts_are_put_together() {
    let dump = dump::open(fixture("tiny.heapsnapshot")).expect("readable");
    let (graph, details) = (dump.graph().expect("objects"), dump.details().expect("a file"));
    let text = |id: u64| details.text(graph, node(graph, id).expect("an object")).expect("readable");
    assert_eq!(text(31).as_deref(), Some("Hello, "));
    assert_eq!(text(23).as_deref(), Some("Hello, wörld 😀 \"quoted\"\n"));
    assert_eq!(text(9), None);
    let table = node(graph, 15).expect("an object");
    let names: Vec<ReferenceName> =
        (0..3).filter_map(|nth| details.reference_name(graph, table, nth).expect("readable")).collect();
    assert!(names.iter().any(|name| name.to_string().contains("WeakMap (table @15)")), "{names:?}");
}

#[test]
fn plain_rules_leave_sizes_where_the_file_has_them() {
    let options =
        OpenOptions { read: ReadOptions { rules: Rules::Plain, ..ReadOptions::default() }, ..OpenOptions::default() };
    let dump = options.open(fixture("tiny.heapsnapshot")).expect("readable");
    let graph = dump.graph().expect("objects");
    let mut rows = String::new();
    std::fs::File::open(project("tests/nodes/v8/tiny.nodes.tsv"))
        .expect("there")
        .read_to_string(&mut rows)
        .expect("text");
    for row in rows.lines() {
        let cells: Vec<u64> = row.split('\t').take(2).map(|cell| cell.parse().expect("a number")).collect();
        if let Some(node) = node(graph, cells[0]) {
            assert_eq!(graph.shallow_bytes(node), cells[1], "{row}");
        }
    }
    let path = fixture("tiny.heapsnapshot").display().to_string();
    let devtools = run(&["list", "-f", "json", "--rules", "devtools", &path]).expect_code(0).stdout;
    assert_eq!(run(&["list", "-f", "json", &path]).expect_code(0).stdout, devtools);
    run(&["list", "--rules", "mat", &path]).expect_code(2);
}

#[test]
fn an_index_answers_as_its_snapshot() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("page.heapsnapshot.zst");
    std::fs::copy(fixture("page156.heapsnapshot.zst"), &path).expect("copied");
    let path = path.display().to_string();
    let questions: [&[&str]; 3] = [&["stats", "--retained"], &["list", "-n", "200"], &["dominators"]];
    let ask = |question: &[&str]| run(&[question, &["-f", "json", &path]].concat()).expect_code(0).stdout;
    let before = questions.map(ask);
    run(&["index", &path]).expect_code(0);
    assert_eq!(questions.map(ask), before);
}

#[test]
fn ids_that_repeat_stay_two_objects() {
    let path = fixture("duplicate-id.heapsnapshot").display().to_string();
    assert_eq!(listed(&[&path]).len(), 19);
    run(&["stats", "--strict", &path]).expect_code(2);
}

#[test]
fn what_is_not_named_has_a_number() {
    let path = fixture("cut-before-strings.heapsnapshot").display().to_string();
    let stats = run(&["stats", "-q", "-f", "json", &path]).expect_code(0).json();
    let rows = stats["types"].as_array().expect("rows");
    let names: Vec<&str> = rows.iter().filter_map(|row| row["type"].as_str()).collect();
    assert!(names.contains(&"<string 5>") && names.contains(&"Detached <string 17>"), "{names:?}");
    assert!(names.contains(&"Function"), "{names:?}");
}

#[test]
fn without_its_references_a_snapshot_is_counted_and_nothing_is_said_of_holding() {
    for name in ["cut-in-edges", "cut-in-nodes"] {
        let path = fixture(&format!("{name}.heapsnapshot")).display().to_string();
        let stats = run(&["stats", "-q", "-f", "json", &path]).expect_code(0).json();
        assert!(stats["types"].as_array().is_some_and(|rows| rows.iter().any(|row| row["type"] == "(object)")));
        for question in [
            &["dominators"][..],
            &["roots", "@9"],
            &["roots", "--type", "(object)"],
            &["leaks"],
            &["stats", "--retained"],
            &["export", "--to", "folded"],
        ] {
            let refused = run(&[question, &["-q", &path]].concat()).expect_code(2);
            assert!(refused.stderr.contains("cut off before the end of its references"), "{}", refused.stderr);
        }
        let shown = run(&["show", "-q", "-f", "json", "@9", &path]).expect_code(0).json();
        assert!(shown["object"]["retained_bytes"].is_null());
    }
}

#[test]
fn entries_variables_functions_and_numbers_have_their_names() {
    let path = fixture("allocations.heapsnapshot").display().to_string();
    let shown = |id: &str| run(&["show", id, "-f", "json", &path]).expect_code(0).json();
    let names = |id: &str| -> Vec<String> {
        let shown = shown(id);
        let rows = shown["references"].as_array().expect("rows").iter();
        rows.filter_map(|row| row["reference"].as_str().map(str::to_string)).collect()
    };
    // Key, value, key, value: the keys are a text and an object.
    assert_eq!(names("@25"), ["Map key", "Map[\"first \\\"key\\\"\"]", "Map key", "Map[@7]"]);
    assert_eq!(names("@17"), ["context variable count", "captured variable (slot 0)"]);
    assert_eq!(names("@5").last().map(String::as_str), Some(".get size"));
    let roots = |id: &str| run(&["roots", id, "-f", "json", &path]).expect_code(0).json();
    let last = |id: &str| roots(id)["paths"][0]["nodes"].as_array().and_then(|nodes| nodes.last().cloned());
    assert_eq!(last("@19").expect("a path")["reference"], "context variable count in closure handler()");
    assert_eq!(shown("@19")["object"]["value"], 3.25);
    assert_eq!(shown("@15")["object"]["value"], "handler() 7:31:15");
    assert_eq!(shown("@9")["object"]["location"], serde_json::json!({"script_id": 7, "line": 12, "column": 3}));
    assert!(shown("@5")["object"]["location"].is_null());
    let listed = listed(&["--values", &path]);
    assert!(listed.iter().any(|row| row["value"] == "leaked note") && listed.iter().any(|row| row["value"] == 3.25));
}

#[test]
fn recordings_tell_who_allocated_what_and_when() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("allocations.heapsnapshot");
    std::fs::copy(fixture("allocations.heapsnapshot"), &path).expect("copied");
    let path = path.display().to_string();
    let asked = || {
        let breakdown = run(&["breakdown", "-f", "json", "--min-bytes", "0", &path]).expect_code(0).json();
        let heaps = breakdown["heaps"].as_array().expect("heaps").clone();
        let totals = |heap: &Value| {
            let leak = &heap["tree"]["children"][0]["children"].as_array().expect("frames").iter();
            let leak = leak.clone().find(|row| row["name"] == "leak (/app.js:12:5)").expect("the function").clone();
            (heap["allocator"].clone(), heap["total_bytes"].clone(), leak["bytes"].clone(), leak["allocations"].clone())
        };
        let live = ("live".into(), 216.into(), 88.into(), 3.into());
        assert_eq!(totals(&heaps[0]), live);
        assert_eq!(totals(&heaps[1]), ("allocated".into(), 384.into(), 184.into(), 6.into()));
        let main = &heaps[1]["tree"]["children"][0]["children"];
        let own = main.as_array().expect("frames").iter().find(|row| row["kind"] == "self").expect("the own share");
        assert_eq!((&own["name"], &own["bytes"], &own["allocations"]), (&"<self>".into(), &200.into(), &4.into()));
        assert!(!main.to_string().contains("<other>"));
        let shown = run(&["show", "@11", "-f", "json", &path]).expect_code(0).json();
        let frames = ["(anonymous) (/app.js:13:10)", "leak (/app.js:12:5)", "main (/app.js:1:1)"];
        assert_eq!(shown["object"]["backtrace"], serde_json::json!(frames));
        let stats = run(&["stats", "--by", "interval", "-f", "json", &path]).expect_code(0).json();
        let mut groups: Vec<(String, u64)> = stats["groups"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| (row["group"].as_str().unwrap_or_default().into(), row["shallow_bytes"].as_u64().unwrap_or(0)))
            .collect();
        groups.sort();
        let expected = [
            ("(not known: objects of the embedder)", 8),
            ("0.000 to 0.001 s", 104),
            ("0.001 to 0.003 s", 296),
            ("before 0.000 s", 40),
            ("while the snapshot was taken", 24),
        ];
        assert_eq!(groups, expected.map(|(name, bytes)| (name.to_string(), bytes)));
    };
    asked();
    run(&["index", &path]).expect_code(0);
    asked();
    // The dominator tree is there for those who ask for types.
    let types = run(&["breakdown", "--by", "type", "-f", "json", &path]).expect_code(0).json();
    assert_eq!(types["heaps"].as_array().map(Vec::len), Some(1));
    run(&["stats", "--by", "interval", &fixture("tiny.heapsnapshot").display().to_string()]).expect_code(2);
}

/// A snapshot in a folder of its own.
fn written(nodes: &[Node]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made.heapsnapshot");
    std::fs::write(&path, v8_nodes(nodes)).expect("written");
    let path = path.display().to_string();
    (folder, path)
}

const TIMES: usize = 20_000;

/// A program that adds to a text many times; the list holds what it had each time, or the last alone.
fn added_to_a_text(holds_all: bool) -> Vec<Node> {
    let ropes = 4..4 + TIMES;
    let mut list = made("object", "List", 16);
    for (at, rope) in ropes.clone().enumerate().filter(|(_, rope)| holds_all || *rope == ropes.end - 1) {
        list = list.edge("element", at, rope);
    }
    let mut nodes = vec![
        made("synthetic", "", 0).edge("shortcut", "global", 1),
        list,
        made("string", "abcdefg; ", 24),
        made("string", "begun: ", 24),
    ];
    for rope in ropes {
        nodes.push(
            made("concatenated string", "(concatenated string)", 32)
                .edge("internal", "first", rope - 1)
                .edge("internal", "second", 2),
        );
    }
    nodes
}

#[test]
fn texts_that_were_added_to_are_read_once_and_compared_whole() {
    let (_folder, path) = written(&added_to_a_text(true));
    // All texts together have 1.8 GB.
    let run = |words: &[&str]| run(&[words, &["-q", "--max-memory", "100MB", &path]].concat()).expect_code(0);
    let strings = |words: &[&str]| run(&[&["strings", "-f", "json", "-n", "3"], words].concat());
    let totals = strings(&[]).json()["totals"].clone();
    let figures = ["strings", "distinct", "wasted_bytes"].map(|key| totals[key].as_u64().expect("a count"));
    assert_eq!(figures, [TIMES as u64 + 2, TIMES as u64 + 2, 0]);
    assert_eq!(strings(&["--duplicates"]).json()["found"], 0);
    let found = strings(&["--grep", "begun: abcdefg; abcdefg; abcdefg; abcdefg; "]).json();
    assert_eq!(found["found"], TIMES - 3);
    // Every text is printed.
    let all = run(&["strings", "-f", "csv"]).stdout;
    assert_eq!(all.lines().count(), TIMES + 3);
    run(&["waste", "-f", "json"]);
    let listed = run(&["list", "-f", "csv", "--values", "-t", "concatenated"]).stdout;
    assert_eq!(listed.lines().count(), TIMES + 1);
}

#[test]
fn parts_of_ropes_are_no_texts_of_their_own() {
    let (_folder, path) = written(&added_to_a_text(false));
    let answer = run(&["strings", "-q", "-f", "json", &path]).expect_code(0).json();
    let rows = answer["strings"].as_array().expect("rows");
    let row = |example: &str| rows.iter().find(|row| row["example"] == example).expect("a row");
    assert_eq!(rows.len(), 3);
    let last = row(&format!("@{}", 2 * (TIMES + 3) + 1));
    assert_eq!((&last["truncated"], &last["bytes"]), (&true.into(), &32.into()));
    assert!(last["text"].as_str().is_some_and(|text| text.starts_with("begun: abcdefg; ") && text.len() == 1024));
}

#[test]
fn what_is_not_known_of_a_rope_is_equal_to_nothing() {
    let rope = |first: usize, second: usize| {
        made("concatenated string", "(concatenated string)", 32)
            .edge("internal", "first", first)
            .edge("internal", "second", second)
    };
    let list = (4..11).fold(made("object", "List", 16), |list, text| list.edge("element", text, text));
    let long = "x".repeat(1024);
    let nodes = [
        made("synthetic", "", 0).edge("shortcut", "global", 1),
        list,
        made("string", "GET ", 24),
        made("sliced string", "(sliced string)", 32).edge("internal", "parent", 6),
        // Two with a slice, one of two texts, and the same as one text; three that V8 cut, of which two are as long.
        rope(2, 3),
        rope(2, 3),
        rope(2, 2),
        made("string", "GET GET ", 24),
        made("string", long.clone(), 1048),
        made("string", long.clone(), 1048),
        made("string", long, 2000),
    ];
    let (_folder, path) = written(&nodes);
    let answer = run(&["strings", "-q", "-f", "json", &path]).expect_code(0).json();
    let mut rows: Vec<(String, bool, u64)> = answer["strings"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| {
            let text: String = row["text"].as_str().expect("a text").chars().take(9).collect();
            (text, row["truncated"] == true, row["copies"].as_u64().expect("a count"))
        })
        .collect();
    rows.sort();
    let expected = [
        ("GET ", false, 1),
        ("GET ", true, 1),
        ("GET ", true, 1),
        ("GET GET ", false, 2),
        ("xxxxxxxxx", true, 1),
        ("xxxxxxxxx", true, 2),
    ];
    assert_eq!(rows, expected.map(|(text, is_cut, copies)| (text.to_string(), is_cut, copies)));
    assert!(run(&["show", "-q", "-f", "json", "@7", &path]).expect_code(0).json()["object"]["value"].is_null());
}

/// A Map of objects by their texts.
fn map(entries: usize) -> Vec<Node> {
    const BUCKETS: u64 = 1 << 16;
    let mut table = made("array", "", 16 + 8 * (3 + 7 * BUCKETS));
    let mut nodes = vec![
        made("synthetic", "", 0).edge("shortcut", "global", 1),
        made("object", "Map", 32).edge("internal", "table", 2),
        made("array", "", 0),
    ];
    for entry in 0..entries {
        let (slot, key) = (3 + BUCKETS as usize + 3 * entry, nodes.len());
        table = table.edge("internal", slot, key).edge("internal", slot + 1, key + 1);
        nodes.push(made("string", format!("k{entry}"), 16));
        nodes.push(made("object", "Session", 24).edge("property", "key", key).edge("property", "id", key));
    }
    nodes[2] = table;
    nodes
}

#[test]
fn fields_and_entries_of_a_large_map_are_read_in_one_pass() {
    let (_folder, path) = written(&map(100_000));
    let list = |words: &[&str]| run(&[&["list", "-t", "Session", "-f", "csv"], words, &[&path]].concat());
    let selected = list(&["--select", ".id,.key"]).expect_code(0).stdout;
    assert_eq!(selected.lines().count(), 100_001);
    assert!(selected.contains(",k99999,k99999"), "{}", &selected[..200]);
    let found = run(&["list", "--where", ".id = 'k77'", "--ids", &path]).expect_code(0).stdout;
    assert_eq!(found, format!("@{}\n", 2 * (3 + 2 * 77 + 1) + 1));
    let shown = run(&["show", "@5", "-n", "0", "-f", "json", &path]).expect_code(0).json();
    let names = shown["references"].as_array().expect("rows").iter().filter_map(|row| row["reference"].as_str());
    let names: Vec<&str> = names.collect();
    assert_eq!(names.first_chunk(), Some(&["Map key", "Map[\"k0\"]", "Map key", "Map[\"k1\"]"]));
}

/// A map and a set of classes that extend these, with constants as V8 names them now and as it did before version 13.
#[test]
fn entries_of_what_extends_maps_and_sets() {
    let nodes = [
        made("synthetic", "", 0).edge("shortcut", "a", 1).edge("shortcut", "b", 10).edge("shortcut", "c", 7),
        made("object", "Cache", 32).edge("property", "limit", 3).edge("internal", "table", 2),
        // Two buckets: the first entry is in slot 5.
        made("array", "", 16 + 8 * (3 + 7 * 2))
            .edge("internal", "5", 3)
            .edge("internal", "6", 4)
            .edge("internal", "8", 5)
            .edge("internal", "9", 6)
            .edge("internal", "11", 7)
            .edge("internal", "12", 8),
        made("string", "a", 16),
        made("hidden", "true", 0),
        made("hidden", "system / Oddball", 48).edge("hidden", "0", 12),
        made("hidden", "undefined", 0),
        made("object", "Session", 16)
            .edge("property", "on", 4)
            .edge("property", "gone", 5)
            .edge("property", "other", 6),
        made("hidden", "system / Oddball", 48).edge("internal", "map", 9).edge("hidden", "0", 13),
        made("hidden", "system / Map", 8),
        made("object", "Tags", 32).edge("internal", "table", 11),
        made("array", "", 16 + 8 * (3 + 5 * 2)).edge("internal", "5", 3).edge("internal", "7", 8),
        made("string", "null", 16),
        made("string", "false", 16),
        made("hidden", "system / Oddball", 48),
    ];
    let (_folder, path) = written(&nodes);
    let shown = |id: &str, words: &[&str]| {
        run(&[&["show", id, "-q", "-f", "json"], words, &[&path]].concat()).expect_code(0).json()
    };
    let entries = |id: &str| -> Vec<Value> {
        let rows = shown(id, &["--entries"])["entries"].as_array().expect("entries").clone();
        let said = |end: &Value| end.get("value").or(end.get("id")).unwrap_or(end).clone();
        rows.iter().map(|row| json!([row.get("key").map(said), said(&row["value"])])).collect()
    };
    assert_eq!(entries("@3"), [json!(["a", true]), json!([null, "undefined"]), json!(["@15", false])]);
    assert_eq!(entries("@21"), [json!([null, "a"]), json!([null, false])]);
    let session = json!({"@type": "Session", "@id": "@15", "on": true, "gone": null, "other": "undefined"});
    assert_eq!(
        shown("@3", &["--deep", "2"])["json"],
        json!([{"key": "a", "value": true}, {"key": null, "value": "undefined"}, {"key": session, "value": false}])
    );
    assert_eq!(shown("@21", &["--deep", "1"])["json"], json!(["a", false]));
    let drawn = run(&["show", "@3", "--entries", "-p", "-q", &path]).expect_code(0).stdout;
    for words in ["\"a\" → true", "null → undefined", "Session @15 → false"] {
        assert!(drawn.contains(words), "{words}\n{drawn}");
    }
    let fields = ["list", "-q", "-f", "json", "-t", "Session", "--select", ".on,.gone,.other", &path];
    let fields = run(&fields).expect_code(0).json()["objects"][0]["fields"].clone();
    assert_eq!(fields, json!({".on": true, ".gone": null, ".other": "undefined"}));
    let groups = run(&["stats", "-q", "-f", "json", "-t", "Session", "--by", ".gone", &path]).expect_code(0).json();
    assert_eq!(groups["groups"][0]["group"], "(null)");
    // An oddball without its word says nothing.
    assert!(shown("@29", &[])["object"].get("value").is_none());
}

#[test]
fn a_field_that_no_object_has_is_said() {
    let (_folder, path) = written(&map(2));
    for words in [&["--select", ".weight"][..], &["--where", ".weight > 5"]] {
        let ran = run(&[&["list"], words, &[&path]].concat());
        assert!(ran.stderr.contains("no object has a field .weight; a V8 snapshot"), "{}", ran.stderr);
        let quiet = run(&[&["list", "-q"], words, &[&path]].concat());
        assert_eq!(quiet.stderr, "");
    }
    assert_eq!(run(&["list", "--select", ".id", &path]).expect_code(0).stderr, "");
}

#[test]
fn objects_of_the_embedder_have_their_names_and_roots_of_their_own() {
    let nodes = [
        made("synthetic", "", 0).edge("element", 1, 1).edge("element", 2, 2),
        made("synthetic", "(GC roots)", 0).edge("element", 0, 3),
        made("synthetic", "Node / TCPServerWrap", 408).edge("internal", "native_to_javascript", 4),
        made("object", "Held", 16),
        made("object", "TCP", 56),
    ];
    let (_folder, path) = written(&nodes);
    for words in [&["stats"][..], &["stats", "--shallow"], &["stats", "--raw-types"]] {
        let stats = run(&[words, &["-f", "json", &path]].concat()).expect_code(0).json();
        let rows = stats["types"].as_array().expect("rows");
        assert!(rows.iter().any(|row| row["type"] == "Node / TCPServerWrap"), "{stats}");
    }
    let roots = run(&["roots", "@9", "-f", "json", &path]).expect_code(0).json();
    assert_eq!(roots["paths"][0]["root"]["kind"], "embedder");
    let words = run(&["roots", "@9", "-p", &path]).expect_code(0).stdout;
    assert!(words.contains("native code around V8") && !words.contains("collector"), "{words}");
    assert_eq!(run(&["roots", "@7", "-f", "json", &path]).expect_code(0).json()["paths"][0]["root"]["kind"], "gc");
}

#[test]
fn a_file_has_as_many_objects_as_its_histogram() {
    let path = fixture("page156.heapsnapshot.zst").display().to_string();
    let totals = run(&["stats", "-f", "json", &path]).expect_code(0).json()["totals"].clone();
    let info = run(&["info", "-f", "json", &path]).expect_code(0).json();
    for key in ["objects", "objects_without_bytes", "reachable_objects", "shallow_bytes"] {
        assert_eq!(info["sections"][0][key], totals[key], "{key}");
    }
    let table = run(&["info", &path]).expect_code(0).stdout;
    assert!(table.contains("objects_without_bytes"), "{table}");
}

#[test]
fn packages_of_javascript_are_refused_with_what_to_group_by() {
    let path = fixture("tiny.heapsnapshot").display().to_string();
    for words in [&["stats"][..], &["stats", "--shallow"], &["dominators"], &["diff", &path]] {
        let ran = run(&[words, &["--by", "package", &path]].concat()).expect_code(2);
        assert!(ran.stderr.contains("--by owner"), "{words:?}: {}", ran.stderr);
    }
    let ran = run(&["show", "zz", &path]).expect_code(2);
    assert!(ran.stderr.contains("of a V8 snapshot @ and decimal"), "{}", ran.stderr);
    let page = tempfile::tempdir().expect("a folder");
    run(&["report", &path, "-o", &page.path().join("page.html").display().to_string()]).expect_code(0);
}

#[test]
fn a_header_is_no_longer_than_headers_are() {
    let mut bytes = std::fs::read(fixture("tiny-one-line.heapsnapshot")).expect("readable");
    let at = memchr::memmem::find(&bytes, b"\"node_count\"").expect("a header");
    let list = format!("\"more\":[{}0],", "0,".repeat(1 << 20));
    bytes.splice(at..at, list.into_bytes());
    let ran = run_with_input(&["stats", "--max-memory", "200MiB"], &bytes).expect_code(2);
    assert!(ran.stderr.contains("whose header has 65536 bytes or more"), "{}", ran.stderr);
}
