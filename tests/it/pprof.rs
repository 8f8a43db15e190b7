//! Profiles that mean harm: what a few bytes of them ask for is bounded. Profiles that are written: they are what was read.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::common::cmd::{run, run_with_input};

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn message(field: u64, content: &[u8]) -> Vec<u8> {
    [&varint(field << 3 | 2), &varint(content.len() as u64), content].concat()
}

/// A profile of one stack: so many times one location, in which a function is inlined so many times.
fn profile(depth: usize, lines: usize, drop_frames: &str) -> Vec<u8> {
    let (line, mut location) = (message(4, &number(1, 1)), number(1, 1));
    location.extend(line.repeat(lines));
    let sample = [message(1, &vec![1; depth]), number(2, 1_000)].concat();
    let texts = ["", "space", "bytes", "f", drop_frames].map(|text| message(6, text.as_bytes())).concat();
    let kind = [number(1, 1), number(2, 2)].concat();
    let function = [number(1, 1), number(2, 3)].concat();
    [message(1, &kind), message(2, &sample), message(4, &location), message(5, &function), number(7, 4), texts].concat()
}

#[test]
fn hostile_profiles_take_bounded_memory() {
    let small = run_with_input(&["stats", "-f", "json", "-"], &profile(3, 2, "g")).expect_code(0).json();
    assert_eq!(small["totals"]["total_bytes"], 1_000);
    // A file of 300 KB that asks for 900 million frames.
    let deep = run_with_input(&["stats", "--max-memory", "100MiB", "-"], &profile(30_000, 30_000, "g")).expect_code(2);
    assert!(deep.stderr.contains("memory"), "{}", deep.stderr);
    for pattern in ["(a*)*".repeat(6_000), "(".into()] {
        let info = run_with_input(&["info", "-f", "json", "-"], &profile(3, 2, &pattern)).expect_code(0).json();
        assert_eq!(info["problems"][0]["code"], "bad-pattern");
    }
    // The function is all there is: it stays.
    let dropped = run_with_input(&["info", "-f", "json", "-"], &profile(1, 2, "f|g")).expect_code(0).json();
    assert_eq!((dropped["heaps"][0]["total_bytes"].as_u64(), &dropped["problems"]), (Some(1_000), &json!([])));
}

fn tree(file: &str) -> Vec<Value> {
    let words = ["breakdown", "--by", "backtrace", "--depth", "100", "--min-bytes", "0", "-f", "json", "-q", file];
    let answer = run(&words).expect_code(0).json();
    answer["heaps"].as_array().unwrap().iter().map(|heap| heap["tree"].clone()).collect()
}

/// What each path has itself; frames of one name that follow one another are one, as in folded stacks.
fn own_bytes(node: &Value, path: &str, own: &mut BTreeMap<String, u64>) {
    let below = node["children"].as_array().unwrap().iter().filter(|child| child["kind"] == "backtrace");
    let mut bytes = node["bytes"].as_u64().unwrap();
    for child in below {
        bytes -= child["bytes"].as_u64().unwrap();
        let name = child["name"].as_str().unwrap();
        let path = match path.rsplit(';').next() {
            Some(last) if last == name => path.to_string(),
            Some("") | None => name.to_string(),
            Some(_) => format!("{path};{name}"),
        };
        own_bytes(child, &path, own);
    }
    if bytes > 0 {
        *own.entry(path.to_string()).or_default() += bytes;
    }
}

/// Of a profile, of traces whose figures include what is below, and of objects.
#[test]
fn exported_profiles_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let exported = folder.path().join("heap.pb.gz").display().to_string();
    let export = |args: &[&str]| {
        run(&[&["export", "--to", "pprof", "-q", "-o", &exported], args].concat()).expect_code(0);
    };
    for measure in ["inuse", "alloc"] {
        export(&["fixtures/pprof/go-heap.pb.gz", "--measure", measure]);
        let words = ["stats", "-f", "json", "-q", "--measure", measure];
        let rows = |file: &str| run(&[&words[..], &[file]].concat()).expect_code(0).json();
        let (mut before, mut after) = (rows("fixtures/pprof/go-heap.pb.gz"), rows(&exported));
        for rows in [&mut before, &mut after] {
            rows["heaps"][0]["process"].take();
        }
        assert_eq!(before, after);
    }
    export(&["fixtures/pprof/go-heap.pb.gz"]);
    assert_eq!(tree(&exported), tree("fixtures/pprof/go-heap.pb.gz"));
    let profile = std::fs::read(&exported).unwrap();
    assert_eq!(profile[..2], [0x1f, 0x8b], "packed");

    // Several heaps: each below its title, with all of its bytes and allocations.
    for trace in ["fixtures/memory_infra/seed-multi.trace", "fixtures/memory_infra/chromium66-heaps.trace.gz"] {
        export(&[trace, "--dump", "all"]);
        let heaps = run(&["info", "-f", "json", "-q", trace]).expect_code(0).json()["heaps"].clone();
        let (heaps, written) = (heaps.as_array().unwrap(), tree(&exported)[0].clone());
        for (figure, name) in [("bytes", "total_bytes"), ("allocations", "allocations")] {
            let whole = heaps.iter().filter_map(|heap| heap[name].as_u64()).reduce(|sum, more| sum + more);
            assert_eq!(written[figure], json!(whole), "{trace} {figure}");
        }
        assert!(heaps.len() > 1 && written["children"].as_array().unwrap().len() == heaps.len());
    }

    // Objects: retained sizes by path, as folded stacks have them.
    let dump = "fixtures/gcdump/small-net9.gcdump.zst";
    export(&[dump]);
    let mut own = BTreeMap::new();
    own_bytes(&tree(&exported)[0], "", &mut own);
    let folded = run(&["export", "--to", "folded", "--min-bytes", "0", "-q", dump]).expect_code(0).stdout;
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for (path, bytes) in folded.lines().map(|line| line.rsplit_once(' ').unwrap()) {
        *expected.entry(path.to_string()).or_default() += bytes.parse::<u64>().unwrap();
    }
    assert!(own == expected && own.len() > 100, "{own:#?}");
}
