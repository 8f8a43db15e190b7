//! `trend`: what never shrinks first, slopes, limits, and dumps that cannot be read.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::cmd::{Ran, run, run_on_terminal};
use crate::common::heap::Heap;
use crate::common::synth::xna_cf;
use crate::common::synth_v8::{FORMS as FORMS_OF_V8, v8_snapshot};

/// A heap with so many leaves of 24 bytes in a holder, nodes that come and go, and one of a type at the end.
fn heap(leaves: usize, nodes: usize, has_plain: bool) -> Heap {
    let mut heap = Heap::default();
    let holder = heap.object("demo.deep.Holder", 64);
    heap.root(holder);
    for _ in 0..leaves {
        let leaf = heap.object("demo.Leaf", 24);
        heap.refer(holder, leaf);
    }
    for _ in 0..nodes {
        heap.object("demo.Node", 100);
    }
    if has_plain {
        let plain = heap.object("Plain", 1000);
        heap.refer(holder, plain);
    }
    heap
}

/// Files of a series: (leaves, nodes, is there a plain one).
fn series(directory: &Path, dumps: &[(usize, usize, bool)]) -> Vec<String> {
    let write = |(number, &(leaves, nodes, has_plain)): (usize, &(usize, usize, bool))| {
        let path = directory.join(format!("{number:02}.txt"));
        std::fs::write(&path, xna_cf(&heap(leaves, nodes, has_plain))).expect("written");
        path.display().to_string()
    };
    dumps.iter().enumerate().map(write).collect()
}

fn trend(files: &[String], extra: &[&str]) -> Ran {
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    run(&[&["trend", "-q"], &files[..], extra].concat())
}

fn row<'r>(answer: &'r Value, name: &str) -> &'r Value {
    let rows = answer["types"].as_array().unwrap();
    rows.iter().find(|row| row["type"] == name).unwrap_or_else(|| panic!("no {name} in {answer}"))
}

const LEAK: [(usize, usize, bool); 6] =
    [(10, 5, false), (10, 3, false), (20, 5, false), (30, 9, false), (40, 1, true), (50, 5, true)];

#[test]
fn what_never_shrinks_comes_first() {
    let directory = tempfile::tempdir().unwrap();
    let files = series(directory.path(), &LEAK);
    let answer = trend(&files, &["-f", "json", "--all", "--min-growth", "0"]).expect_code(0).json();
    let names: Vec<(&str, &str)> = answer["types"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["trend"].as_str().unwrap(), row["type"].as_str().unwrap()))
        .collect();
    let expected =
        [("grows", "demo.Leaf"), ("appeared", "Plain"), ("varies", "demo.Node"), ("flat", "demo.deep.Holder")];
    assert_eq!(names, expected);
    assert_eq!(
        row(&answer, "demo.Leaf"),
        &json!({
            "type": "demo.Leaf", "trend": "grows", "first_bytes": 240, "last_bytes": 1200, "growth_bytes": 960,
            "bytes_per_dump": 240, "objects_per_dump": 10, "bytes_per_hour": null, "objects_per_hour": null,
            "hours_to_limit": null, "steps_up": 4, "steps_down": 0, "bytes": [240, 240, 480, 720, 960, 1200],
            "objects": [10, 10, 20, 30, 40, 50]
        })
    );
    assert_eq!(row(&answer, "demo.Node")["bytes"], json!([500, 300, 500, 900, 100, 500]));
    let total = &answer["total"];
    assert_eq!((&total["first_bytes"], &total["last_bytes"]), (&json!(240 + 500 + 64), &json!(1200 + 500 + 64 + 1000)));
    assert_eq!((&answer["measure"], &answer["by"]), (&json!("shallow_bytes"), &json!("type")));
    assert_eq!(answer["dumps"].as_array().unwrap().len(), 6);
    // One dump of before in the middle: up, no more grows.
    let mut broken = files.clone();
    broken[4] = files[0].clone();
    let answer = trend(&broken, &["-f", "json", "--min-growth", "0"]).expect_code(0).json();
    assert_eq!(row(&answer, "demo.Leaf")["trend"], "up");
    // The median does not see it.
    assert_eq!(row(&answer, "demo.Leaf")["bytes_per_dump"], 192);
}

/// Of two dumps it is what `diff` says.
#[test]
fn growth_is_that_of_diff() {
    let (old, new) = ("fixtures/xna_cf/pair_before.txt", "fixtures/xna_cf/pair_after.txt");
    let files = [old.to_string(), new.to_string()];
    for (extra, of_diff, key, bytes) in [
        (&[][..], &[][..], "types", "shallow_bytes"),
        (&["--by", "package", "--retained"], &["--by", "package", "--retained"], "groups", "retained_bytes"),
        (&["--paths"], &["--paths"], "paths", "retained_bytes"),
        (&["--where", "shallow > 40"], &["--where", "shallow > 40"], "types", "shallow_bytes"),
    ] {
        let trend = trend(&files, &[extra, &["-f", "json", "--all", "--min-growth", "0"]].concat()).expect_code(0);
        let diff = run(&[&["diff", old, new, "-q", "-f", "json", "--all"], of_diff].concat()).expect_code(0);
        let name = key.trim_end_matches('s');
        let mut ours: Vec<(String, Value)> = Vec::new();
        for row in trend.json()[key].as_array().unwrap() {
            ours.push((row[name].as_str().unwrap().into(), row["growth_bytes"].clone()));
        }
        let mut theirs: Vec<(String, Value)> = Vec::new();
        for row in diff.json()[key].as_array().unwrap() {
            theirs.push((row[name].as_str().unwrap().into(), row[format!("{bytes}_delta")].clone()));
        }
        let by_name = |rows: &mut Vec<(String, Value)>| rows.sort_by(|a, b| a.0.cmp(&b.0));
        by_name(&mut ours);
        by_name(&mut theirs);
        assert!(ours.len() > 3);
        assert_eq!(ours, theirs, "{extra:?}");
    }
}

#[test]
fn limits_decide_the_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let files = series(directory.path(), &LEAK);
    // The heap grows from 804 to 2764 bytes, leaves by 240 a dump.
    for (limit, said) in [
        ("300%", None),
        ("200%", Some("the heap grew by 1.9 KiB (1960 bytes), over the limit of 1.6 KiB")),
        ("1959", Some("(1960 bytes)")),
        ("1960", None),
        ("*Leaf=240B/dump", None),
        ("*Leaf=239B/dump", Some("*Leaf grew by 240 B a dump (240 bytes), over the limit of 239 B a dump")),
        ("demo.Node=0", None),
        ("demo=900", Some("demo grew by 960 B (960 bytes)")),
    ] {
        let ran = trend(&files, &["--fail-over", limit]).expect_code(i32::from(said.is_some()));
        assert!(ran.stderr.contains(said.unwrap_or("")) && ran.stderr.is_empty() == said.is_none(), "{}", ran.stderr);
        assert!(!ran.stdout.is_empty());
    }
    let both = trend(&files, &["--fail-over", "1%", "--fail-over", "1B/dump"]).expect_code(1);
    assert_eq!(both.stderr.lines().count(), 2, "{}", both.stderr);
    let ran = trend(&files, &["--grows"]).expect_code(1);
    assert_eq!(ran.stderr, "heapdump: demo.Leaf grows: +960 bytes in 6 dumps, at 4/5 steps, and never shrinks\n");
    // What is left of the rows decides.
    for left in [&["--type", "Node"][..], &["--where", "shallow > 24"], &["--min-growth", "1KiB"]] {
        trend(&files, &[&["--grows"], left].concat()).expect_code(0);
    }
    trend(&files[..3], &["--grows"]).expect_code(2);
    // Four are named, and three can be read.
    let three =
        [files[0].clone(), files[2].clone(), directory.path().join("absent").display().to_string(), files[3].clone()];
    let ran = trend(&three, &["--grows"]).expect_code(2);
    assert!(ran.stderr.contains("--grows: a row that grows over 3 dumps proves nothing: it takes 4"), "{}", ran.stderr);
    for wrong in [&["--fail-over", "10x"][..], &["--min-growth", "x"], &["--where", "x > 1"], &["--by", "x"]] {
        trend(&files, wrong).expect_code(2);
    }
    let ran = trend(&files, &["--fail-over", "Nothing=1KiB", "--by", "package"]).expect_code(0);
    assert_eq!(ran.stderr, "heapdump: note: no package in the dumps matches --fail-over Nothing=1KiB\n");
    trend(&files, &["--type", "Nothing"]).expect_code(1);
    trend(&files[..1], &[]).expect_code(2);
    let three = run(&["diff", &files[0], &files[1], &files[2]]).expect_code(2);
    assert!(three.stderr.contains("heapdump trend"), "{}", three.stderr);
}

#[test]
fn a_dump_that_cannot_be_read_is_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let mut files = series(directory.path(), &LEAK);
    files[1] = directory.path().join("absent.txt").display().to_string();
    let ran = trend(&files, &["-f", "json", "--min-growth", "0"]).expect_code(2);
    assert!(ran.stderr.contains("absent.txt"), "{}", ran.stderr);
    let answer = ran.json();
    let leaf = row(&answer, "demo.Leaf");
    assert_eq!((&leaf["bytes"], &leaf["trend"]), (&json!([240, null, 480, 720, 960, 1200]), &json!("grows")));
    assert_eq!((&answer["dumps"][1]["format"], &answer["dumps"][1]["objects"]), (&Value::Null, &Value::Null));
    // A place stays free for it: the slope is what it is with it.
    assert_eq!(leaf["bytes_per_dump"], 240);
    let java = directory.path().join("a.heapsnapshot");
    std::fs::write(&java, v8_snapshot(&heap(5, 5, true), FORMS_OF_V8[0])).expect("written");
    let mixed = [files[0].clone(), java.display().to_string()];
    let ran = trend(&mixed, &[]).expect_code(2);
    assert!(ran.stderr.contains("one dump is xna-cf, another v8-snapshot"), "{}", ran.stderr);
    let ran = trend(&files[2..], &["--sort-by-time"]).expect_code(2);
    assert!(ran.stderr.contains("--sort-by-time: not every dump says when it was taken"), "{}", ran.stderr);
    let totals = "fixtures/memory_infra/seed-example.trace".to_string();
    let ran = trend(&[totals, files[0].clone()], &[]).expect_code(2);
    assert!(ran.stderr.contains("one dump is memory-infra, another xna-cf"), "{}", ran.stderr);
}

#[test]
fn dumps_are_put_in_the_order_of_their_times() {
    let traces = ["small-net9", "ranges-net9", "three-gcs-net9"];
    let files = traces.map(|name| format!("fixtures/nettrace/{name}.nettrace.zst"));
    let times = |answer: &Value| -> Vec<String> {
        let dumps = answer["dumps"].as_array().unwrap();
        dumps.iter().map(|dump| dump["taken_at"].as_str().unwrap().to_string()).collect()
    };
    let given = trend(&files, &["-f", "json"]);
    let sorted = trend(&files, &["-f", "json", "--sort-by-time"]);
    let (given, mut expected) = (given.json(), times(&given.json()));
    expected.sort();
    assert_eq!(times(&sorted.json()), expected);
    assert!(sorted.json()["total"]["bytes_per_hour"].is_i64());
    let mut backwards = files.clone();
    backwards.sort_by_key(|file| {
        std::cmp::Reverse(times(&given)[files.iter().position(|one| one == file).unwrap()].clone())
    });
    let names: Vec<&str> = backwards.iter().map(String::as_str).collect();
    let ran = run(&[&["trend"], &names[..]].concat());
    assert!(ran.stderr.contains("--sort-by-time puts them so"), "{}", ran.stderr);
    assert!(run(&[&["trend", "--sort-by-time"], &names[..]].concat()).stderr.find("puts them so").is_none());
}

#[test]
fn on_a_terminal_rows_have_a_shape() {
    let directory = tempfile::tempdir().unwrap();
    let files = series(directory.path(), &LEAK).join(" ");
    let line = format!("LC_ALL=C.UTF-8 heapdump trend {files} --min-growth 0");
    let ran = run_on_terminal(&format!("{line} --color always"), 120).expect_code(0);
    assert!(ran.stdout.contains("▁▁▃▅▆█"), "{}", ran.stdout);
    let headline = "804 B -> 2.7 KiB in 6 dumps, ";
    assert!(ran.stdout.starts_with(headline), "{}", ran.stdout);
    assert!(ran.stdout.contains("2 of 4 types grow and never shrink, 1 is flat"), "{}", ran.stdout);
    let plain = run_on_terminal(&format!("{line} --color never"), 120).expect_code(0).stdout;
    assert!(!plain.contains('▁') && plain.contains("Per dump"), "{plain}");
}

/// What is left out is measured by the whole heap, whatever is asked for.
#[test]
fn small_growth_is_small_against_the_heap() {
    let directory = tempfile::tempdir().unwrap();
    let files =
        series(directory.path(), &[(1, 20_000, false), (10, 20_000, false), (20, 20_000, false), (30, 20_000, false)]);
    for scope in [&["--type", "Leaf"][..], &["--where", "shallow = 24"]] {
        let answer = trend(&files, &[scope, &["-f", "json"]].concat()).expect_code(0).json();
        assert_eq!(answer["types"], json!([]), "696 bytes of 2 MB are less than 0.1 %");
        trend(&files, &[scope, &["--grows"]].concat()).expect_code(0);
        trend(&files, &[scope, &["--grows", "--min-growth", "0"]].concat()).expect_code(1);
    }
}

#[test]
fn wide_tables_have_a_column_for_each_dump() {
    let directory = tempfile::tempdir().unwrap();
    let files = series(directory.path(), &LEAK);
    let ran = trend(&files, &["--wide", "-f", "csv", "--min-growth", "0"]).expect_code(0);
    let lines: Vec<Vec<&str>> = ran.stdout.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[0][6..12], files.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(lines[0][12], "type");
    assert_eq!(lines[1][6..], ["240", "240", "480", "720", "960", "1200", "demo.Leaf"]);
    assert!(!trend(&files, &["-f", "csv"]).stdout.contains(&files[0]));
    // In a pipe a column is a word, whatever its dump is called.
    let named = directory.path().join("a dump \u{1b}[1m.txt");
    std::fs::rename(&files[0], &named).unwrap();
    let files = [&[named.display().to_string()], &files[1..]].concat();
    let ran = trend(&files, &["--wide", "--min-growth", "0"]).expect_code(0);
    let header: Vec<&str> = ran.stdout.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(header.len(), 13, "{header:?}");
    assert!(header[6].ends_with("a\\u{20}dump\\u{20}\\u{1b}[1m.txt"), "{header:?}");
}
