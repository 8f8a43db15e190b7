//! Snapshots of one process: objects that came and went, what lives since, nodes that were taken out of their page.

use std::path::Path;

use serde_json::Value;

use crate::common::cmd::{run, run_on_terminal};
use crate::common::heap::{Heap, HeapRoot};
use crate::common::synth_v8::{FORMS, v8_snapshot};

const PAGE: &str = "fixtures/v8_snapshot/page156.heapsnapshot.zst";

/// A heap of one process: objects have their ids by their number, and one of 0 bytes is as good as not there.
fn heap(objects: &[(&'static str, u64)], references: &[(usize, usize)]) -> Heap {
    let mut heap = Heap::default();
    for &(type_name, bytes) in objects {
        heap.object(type_name, bytes);
    }
    references.iter().for_each(|&(from, to)| heap.refer(from, to));
    heap.roots = vec![HeapRoot { object: 0, kind: 1, flags: 0 }];
    heap
}

/// Ten objects that stay, and what is between and behind them in three snapshots.
fn three() -> [Heap; 3] {
    let stay = [("demo.Node", 40); 10];
    let of = |more: &[(&'static str, u64)], references: &[(usize, usize)]| {
        let stays = (1..10).map(|number| (0, number));
        heap(&[&stay[..], more].concat(), &stays.chain(references.iter().copied()).collect::<Vec<_>>())
    };
    let first = of(&[("demo.Leaf", 16), ("demo.Leaf", 24)], &[(1, 10), (2, 11)]);
    // 11 is gone; 12 to 16 are new; 13 and 14 are held together by 12, and 16 by 13 and by 15.
    let held = [(1, 10), (3, 12), (12, 13), (12, 14), (13, 16), (4, 15), (15, 16)];
    let new = [("demo.deep.Holder", 48), ("demo.Leaf", 32), ("demo.Leaf", 64), ("Plain", 8), ("Plain", 88)];
    let second = of(&[&[("demo.Leaf", 16), ("demo.Leaf", 0)], &new[..]].concat(), &held);
    // 14 is gone, 17 came.
    let mut left = [&[("demo.Leaf", 16), ("demo.Leaf", 0)], &new[..], &[("demo.Leaf", 104)]].concat();
    left[4].1 = 0;
    let third = of(&left, &[&held[..], &[(12, 17)]].concat());
    [first, second, third]
}

fn write(folder: &Path, name: &str, heap: &Heap) -> String {
    let form = FORMS[name.len() % FORMS.len()];
    let path = folder.join(name);
    std::fs::write(&path, v8_snapshot(heap, form)).expect("written");
    path.display().to_string()
}

#[test]
fn objects_that_came_and_went_are_counted_by_type() {
    let folder = tempfile::tempdir().expect("a folder");
    let [first, second, _] = three();
    let [old, new] =
        [("a.heapsnapshot", &first), ("bb.heapsnapshot", &second)].map(|(name, heap)| write(folder.path(), name, heap));
    let answer = run(&["diff", &old, &new, "--by", "object", "-f", "json", "-q"]).expect_code(0).json();
    let expected = serde_json::json!({
        "new": 5, "gone": 1, "kept": 11, "new_bytes": 240, "gone_bytes": 24,
        "new_retained_bytes": second.retained_bytes_together(&[12, 13, 14, 15, 16]),
    });
    assert_eq!(answer["objects"], expected);
    let row = |type_name: &str, new: u64, new_bytes: u64, gone: u64, gone_bytes: u64| serde_json::json!({"type": type_name, "new": new, "new_bytes": new_bytes, "gone": gone, "gone_bytes": gone_bytes});
    let rows = [row("Plain", 2, 96, 0, 0), row("demo.Leaf", 2, 96, 1, 24), row("demo.deep.Holder", 1, 48, 0, 0)];
    assert_eq!(answer["types"], Value::from(rows.to_vec()));
    let leaves =
        run(&["diff", &old, &new, "--by", "object", "-f", "json", "-q", "-t", "demo.Leaf"]).expect_code(0).json();
    assert_eq!(leaves["objects"]["new_bytes"], 96);
    assert_eq!(leaves["objects"]["new_retained_bytes"], second.retained_bytes_together(&[13, 14]));
    let sorted = run(&["diff", &old, &new, "--by", "object", "--sort", "gone_bytes", "-n", "1", "-f", "csv", "-q"]);
    assert_eq!(sorted.expect_code(0).stdout, "new,new_bytes,gone,gone_bytes,type\n2,96,1,24,demo.Leaf\n");
    let back = run(&["diff", &new, &old, "--by", "object", "-f", "json", "-q"]).expect_code(0).json();
    assert_eq!((&back["objects"]["new"], &back["objects"]["gone_bytes"]), (&1.into(), &240.into()));
}

#[test]
fn what_lives_since_then_is_shown_with_a_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let heaps = three();
    let names = ["a.heapsnapshot", "bb.heapsnapshot", "ccc.heapsnapshot"];
    let [a, b, c] = [0, 1, 2].map(|at| write(folder.path(), names[at], &heaps[at]));
    let ask = |form: &[&str]| run(&[&["leaks", "--since", &a, "--until", &b, &c, "-q"], form].concat());
    let answer = ask(&["-f", "json"]).expect_code(0).json();
    let survivors = [12, 13, 15, 16];
    let expected = serde_json::json!({
        "objects": 4, "shallow_bytes": 176, "retained_bytes": heaps[2].retained_bytes_together(&survivors),
    });
    assert_eq!(answer["survivors"], expected);
    let rows = answer["types"].as_array().expect("rows");
    let figures: Vec<(&str, u64, u64, u64)> = rows
        .iter()
        .map(|row| {
            let number = |key: &str| row[key].as_u64().expect("a number");
            (
                row["type"].as_str().expect("a type"),
                number("objects"),
                number("shallow_bytes"),
                number("retained_bytes"),
            )
        })
        .collect();
    let retained = |objects: &[usize]| heaps[2].retained_bytes_together(objects);
    let expected = [
        ("Plain", 2, 96, retained(&[15, 16])),
        ("demo.deep.Holder", 1, 48, retained(&[12])),
        ("demo.Leaf", 1, 32, retained(&[13])),
    ];
    assert_eq!(figures, expected);
    let path = &rows[2]["path"];
    assert_eq!((path["length"].as_u64(), &path["nodes"][3]["id"]), (Some(3), &rows[2]["example"]), "{path}");
    let text = run_on_terminal(&format!("heapdump leaks --since {a} --until {b} {c} -q"), 200).expect_code(0).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let example = rows[1]["example"].as_str().expect("an id");
    assert!(text.contains("demo.deep.Holder") && text.contains(&format!("{example} is kept alive by")), "{text}");
    ask(&["-t", "nothing like that"]).expect_code(1);
}

#[test]
fn new_objects_retain_at_least_their_own_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let [first, ..] = three();
    let mut second = three()[0].clone();
    // Nothing holds the first, which holds the second.
    for bytes in [500, 30] {
        second.object("Plain", bytes);
    }
    second.refer(12, 13);
    let old = write(folder.path(), "a.heapsnapshot", &first);
    let new = write(folder.path(), "b.heapsnapshot", &second);
    let answer = run(&["diff", &old, &new, "--by", "object", "-f", "json", "-q"]).expect_code(0).json();
    assert_eq!((&answer["objects"]["new_bytes"], &answer["objects"]["new_retained_bytes"]), (&530.into(), &530.into()));
}

#[test]
fn other_processes_and_formats_are_refused_with_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let [first, ..] = three();
    let old = write(folder.path(), "a.heapsnapshot", &first);
    let other = write(folder.path(), "b.heapsnapshot", &heap(&[("Plain", 8); 14], &[(0, 1)]));
    let zoo = "fixtures/hprof/tiny-8byte-segments.hprof";
    for (files, sentence) in
        [([&old, &*other], "of two inspector sessions of one"), ([zoo, zoo], "only V8 heap snapshots keep the ids")]
    {
        let ran = run(&["diff", files[0], files[1], "--by", "object"]).expect_code(2);
        assert!(ran.stderr.contains(sentence), "{}", ran.stderr);
        let ran = run(&["leaks", "--since", files[0], "--until", files[0], files[1]]).expect_code(2);
        assert!(ran.stderr.contains(sentence), "{}", ran.stderr);
    }
    for words in [&["leaks", "--since", &old, &old][..], &["leaks", "--since", &old, "--until", &old]] {
        run(words).expect_code(2);
    }
    let ran = run(&["diff", &old, &old, "--by", "object", "--retained"]).expect_code(2);
    assert!(ran.stderr.contains("--by object"), "{}", ran.stderr);
    let ran = run(&["list", zoo, "--detached"]).expect_code(2);
    assert!(ran.stderr.contains("V8"), "{}", ran.stderr);
    let page = "fixtures/v8_snapshot/two-constructors.heapsnapshot";
    for (words, code, sentence) in [
        (&["list", page, "--detached"][..], 0, ""),
        (&["list", page, "--detached", "-t", "App"], 1, "no node of what is asked for is detached"),
        (
            &["list", page, "--detached", "-t", "Functoin"],
            1,
            "no type matches --type Functoin (capitals matter); did you mean",
        ),
        (&["list", old.as_str(), "--detached"], 1, "no node is detached"),
    ] {
        let ran = run(words).expect_code(code);
        assert!(ran.stderr.contains(sentence), "{}", ran.stderr);
    }
}

/// The page has 527 detached nodes, in 40 elements of widgets, a table in a closure, and a child that is held alone.
#[test]
fn detached_nodes_are_listed_and_grouped_by_the_topmost() {
    let listed = run(&["list", PAGE, "--detached", "-f", "json", "-q"]).expect_code(0).json();
    assert_eq!(listed["found"], 527);
    let objects = listed["objects"].as_array().expect("rows");
    assert!(objects.iter().all(|row| row["type"].as_str().is_some_and(|name| name.starts_with("Detached "))));
    let answer = run(&["leaks", PAGE, "-f", "json", "-q"]).expect_code(0).json();
    let rows = answer["detached"].as_array().expect("rows");
    let row = |type_name: &str| rows.iter().find(|row| row["type"] == type_name).expect("a row");
    let divs = row("Detached <div>");
    assert_eq!((&divs["trees"], &divs["holder"]["type"]), (&40.into(), &"Widget".into()));
    assert_eq!(divs["holder"]["reference"], ".el");
    let table = row("Detached <table>");
    assert_eq!((&table["trees"], &table["holder"]["type"]), (&1.into(), &"Function".into()));
    assert_eq!(table["holder"]["reference"], "{context} context variable table in closure (5:9:210)");
    assert_eq!(table["holder"]["through"], "closure");
    let child = row("Detached <b>");
    assert_eq!(child["holder"]["reference"], ".innerChild");
    assert_eq!(rows.iter().map(|row| row["objects"].as_u64().expect("a count")).sum::<u64>(), 527);
    let retained = |id: &Value| {
        let shown = run(&["show", id.as_str().expect("an id"), PAGE, "-f", "json", "-q"]).expect_code(0).json();
        shown["object"]["retained_bytes"].clone()
    };
    assert_eq!(table["retained_bytes"], retained(&table["example"]));
    let text = run_on_terminal(&format!("heapdump leaks {PAGE} -q"), 200).expect_code(0).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("40 trees of Detached <div>") && text.contains("through a closure"), "{text}");
}
