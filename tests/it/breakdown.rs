//! Allocation totals through the binary: the worked example to its last number, both axes, callers, diff and export.

use std::collections::BTreeSet;

use crate::common::cmd::{run, run_with_input};
use serde_json::Value;

const EXAMPLE: &str = "fixtures/memory_infra/seed-example.trace";
const FULL: &str = "fixtures/memory_infra/seed-full-self.trace";
const COLUMNS: &str = "fixtures/memory_infra/seed-heaps_v2.trace";
const RECORDED: &str = "fixtures/memory_infra/chromium66-heaps.trace.gz";
const GAME: &str = "fixtures/xna_cf/small_1k.txt";

fn json(args: &[&str]) -> Value {
    let mut args = args.to_vec();
    args.extend(["-f", "json", "-q"]);
    run(&args).expect_code(0).json()
}

/// (path of labels, bytes): types in brackets, as the published figure shows them.
fn rows(tree: &Value) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    let mut open = vec![(tree, String::new())];
    while let Some((node, path)) = open.pop() {
        let name = node["name"].as_str().unwrap();
        let name = if node["kind"] == "type" || node["axis"] == "type" { format!("[{name}]") } else { name.into() };
        let path = if path.is_empty() { "/".to_string() } else { format!("{path}/{name}") };
        found.push((path.clone(), node["bytes"].as_u64().unwrap()));
        open.extend(node["children"].as_array().unwrap().iter().rev().map(|child| (child, path.clone())));
    }
    found
}

#[test]
fn the_worked_example_along_both_axes_in_the_published_order() {
    let expected = "\
        /=1538 //BrMain=876 //BrMain/MsgLp=601 //BrMain/MsgLp/[T]=307 //BrMain/MsgLp/[V]=281 //BrMain/MsgLp/[<other>]=13 \
        //BrMain/Init=242 //BrMain/Init/[T]=151 //BrMain/Init/[W]=83 //BrMain/Init/[<other>]=8 //BrMain/<other>=33 \
        //BrMain/[T]=465 //BrMain/[T]/MsgLp=307 //BrMain/[T]/Init=151 //BrMain/[T]/<other>=7 //BrMain/[V]=297 \
        //BrMain/[V]/MsgLp=281 //BrMain/[V]/<other>=16 //BrMain/[W]=96 //BrMain/[W]/Init=83 //BrMain/[W]/<other>=13 \
        //BrMain/[<other>]=18 //RdMain=628 //RdMain/RTask=556 //RdMain/RTask/[W]=337 //RdMain/RTask/[T]=211 \
        //RdMain/RTask/[<other>]=8 //RdMain/<other>=72 //RdMain/[W]=355 //RdMain/[W]/RTask=337 //RdMain/[W]/<other>=18 \
        //RdMain/[T]=229 //RdMain/[T]/RTask=211 //RdMain/[T]/<other>=18 //RdMain/[<other>]=44 //<other>=34 //[T]=698 \
        //[T]/BrMain=465 //[T]/BrMain/MsgLp=307 //[T]/BrMain/Init=151 //[T]/BrMain/<other>=7 //[T]/RdMain=229 \
        //[T]/RdMain/RTask=211 //[T]/RdMain/<other>=18 //[T]/<other>=4 //[W]=461 //[W]/RdMain=355 //[W]/RdMain/RTask=337 \
        //[W]/RdMain/<other>=18 //[W]/BrMain=96 //[W]/BrMain/Init=83 //[W]/BrMain/<other>=13 //[W]/<other>=10 //[V]=340 \
        //[V]/BrMain=297 //[V]/BrMain/MsgLp=281 //[V]/BrMain/<other>=16 //[V]/<other>=43 //[<other>]=39";
    let answer = json(&["breakdown", EXAMPLE, "--by", "both"]);
    let actual: Vec<String> =
        rows(&answer["heaps"][0]["tree"]).into_iter().map(|(path, bytes)| format!("{path}={bytes}")).collect();
    assert_eq!(actual, expected.split_whitespace().collect::<Vec<_>>());
}

/// 7 + 16 + 13 bytes of types would be left of /BrMain's 33: so there are no types beside frames.
#[test]
fn types_stand_below_frames_that_have_no_frames_below_them() {
    let answer = json(&["breakdown", EXAMPLE]);
    let rows = rows(&answer["heaps"][0]["tree"]);
    assert!(rows.contains(&("//BrMain/MsgLp/[<other>]".into(), 13)));
    assert!(rows.contains(&("//BrMain/<other>".into(), 33)));
    assert!(!rows.iter().any(|(path, _)| path.starts_with("//[") || path.starts_with("//BrMain/[")), "{rows:?}");
    let sum = |paths: &[&str]| -> u64 {
        paths.iter().map(|path| rows.iter().find(|(other, _)| other == path).unwrap().1).sum()
    };
    let leaves = ["//BrMain/Init", "//BrMain/MsgLp", "//RdMain/RTask"];
    let left = ["//BrMain/<other>", "//RdMain/<other>", "//<other>"];
    assert_eq!(sum(&leaves) + sum(&left), 1538);
}

#[test]
fn the_full_table_cut_at_64_bytes_is_the_published_list_of_20_entries() {
    let expected: BTreeSet<(String, String, u64)> = "\
        / - 1538 /BrMain - 876 /RdMain - 628 /BrMain/Init - 242 /BrMain/MsgLp - 601 /RdMain/RTask - 556 / T 698 / V 340 \
        / W 461 /BrMain T 465 /BrMain V 297 /BrMain W 96 /BrMain/Init T 151 /BrMain/Init W 83 /BrMain/MsgLp T 307 \
        /BrMain/MsgLp V 281 /RdMain T 229 /RdMain W 355 /RdMain/RTask T 211 /RdMain/RTask W 337"
        .split_whitespace()
        .collect::<Vec<_>>()
        .chunks(3)
        .map(|row| (row[0].to_string(), row[1].to_string(), row[2].parse().unwrap()))
        .collect();
    assert_eq!(expected.len(), 20);
    for (dump, least) in [(FULL, "64"), (COLUMNS, "64"), (COLUMNS, "40"), (COLUMNS, "83"), (EXAMPLE, "0")] {
        let trace = run(&["export", "--to", "memory-infra", dump, "--dump", "1", "--min-bytes", least, "-q"]);
        let trace: Value = serde_json::from_str(&trace.expect_code(0).stdout).unwrap();
        let event = |name: &str| -> Value {
            trace["traceEvents"].as_array().unwrap().iter().find(|event| event["name"] == name).unwrap()["args"].clone()
        };
        let (frames, types) = (event("stackFrames")["stackFrames"].clone(), event("typeNames")["typeNames"].clone());
        let path = |id: &str| {
            let mut path = String::new();
            let mut at = &frames[id];
            while let Some(name) = at["name"].as_str() {
                path = format!("/{name}{path}");
                at = &frames[at["parent"].as_str().unwrap_or("none")];
            }
            if path.is_empty() { "/".to_string() } else { path }
        };
        let entries = event("explicitly_triggered")["dumps"]["heaps"]["partition_alloc"]["entries"].clone();
        let entries = entries.as_array().unwrap();
        assert_eq!(entries.len(), 20, "{dump} at {least}");
        assert_eq!((&entries[0]["bt"], &entries[0]["size"]), (&"".into(), &"602".into()));
        let written: BTreeSet<(String, String, u64)> = entries
            .iter()
            .map(|entry| {
                let type_name = entry["type"].as_str().map_or("-", |id| types[id].as_str().unwrap());
                let bytes = u64::from_str_radix(entry["size"].as_str().unwrap(), 16).unwrap();
                (path(entry["bt"].as_str().unwrap()), type_name.to_string(), bytes)
            })
            .collect();
        assert_eq!(written, expected, "{dump} at {least}");
    }
}

/// The relative rule of Chromium 49 keeps every cell and sum of the example that is not zero: 44, and `<self>` is none.
#[test]
fn the_relative_rule_compares_with_what_was_taken_so_far() {
    let count = |least: &str| {
        let ran = run(&["export", "--to", "memory-infra", FULL, "--min-percent", least, "-q"]);
        ran.expect_code(0).stdout.matches("\"size\"").count()
    };
    assert_eq!(count("0.8"), 44);
    assert!(count("40") < 20);
}

#[test]
fn reading_back_what_was_written_gives_the_same_trees() {
    let mut checked = 0;
    for fixture in crate::common::fixtures::all() {
        if !fixture.holds_allocations() || fixture.expected["error"].is_string() {
            continue;
        }
        let path = fixture.path.display().to_string();
        let written = run(&["export", "--to", "memory-infra", &path, "--dump", "all", "-q"]).expect_code(0).stdout;
        for by in ["backtrace", "type", "both"] {
            let before = json(&["breakdown", &path, "--dump", "all", "--by", by]);
            let words = ["breakdown", "-", "--dump", "all", "--by", by, "-f", "json", "-q"];
            let after = run_with_input(&words, written.as_bytes()).expect_code(0).json();
            let heaps = |answer: &Value| -> Vec<String> {
                let keys = ["process", "dump", "allocator", "total_bytes", "allocations", "tree"];
                let heaps = answer["heaps"].as_array().unwrap().iter();
                let mut heaps: Vec<String> =
                    heaps.map(|heap| keys.iter().map(|key| heap[*key].to_string()).collect()).collect();
                heaps.sort();
                heaps
            };
            assert!(heaps(&before) == heaps(&after), "{} by {by}", fixture.name());
        }
        checked += 1;
    }
    assert!(checked >= 10, "{checked}");
}

#[test]
fn callers_of_the_frames_that_allocate() {
    let answer = json(&["breakdown", EXAMPLE, "--invert"]);
    let tree = &answer["heaps"][0]["tree"];
    let found = rows(tree);
    for row in [("//MsgLp", 601), ("//MsgLp/BrMain", 601), ("//RTask/RdMain", 556), ("//Init/BrMain", 242)] {
        assert!(found.contains(&(row.0.into(), row.1)), "{row:?}: {found:?}");
    }
    assert!(found.contains(&("//<other>".into(), 139)), "{found:?}");
    assert_eq!(tree["children"][0]["at_least"], true);
    // Columns are whole: everything is exact, and nothing is left.
    let answer = json(&["breakdown", COLUMNS, "--dump", "1", "--invert"]);
    let tree = &answer["heaps"][0]["tree"];
    let found = rows(tree);
    assert!(found.contains(&("//BrMain".into(), 33)) && found.contains(&("//<root>".into(), 17)), "{found:?}");
    assert!(!found.iter().any(|(path, _)| path.contains("<other>")) && tree["children"][0]["at_least"].is_null());
}

#[test]
fn limits_send_what_is_small_or_deep_to_other() {
    let found = |args: &[&str]| rows(&json(args)["heaps"][0]["tree"]);
    assert_eq!(found(&["breakdown", EXAMPLE, "--depth", "1"]).len(), 4);
    let cut = found(&["breakdown", EXAMPLE, "--min-bytes", "600", "--depth", "2"]);
    assert!(cut.contains(&("//BrMain/<other>".into(), 275)), "{cut:?}");
    assert_eq!(found(&["breakdown", EXAMPLE, "--min-percent", "50"]).len(), 3);
    assert_eq!(found(&["breakdown", EXAMPLE, "--min-bytes", "50%"]).len(), 3);
    assert_eq!(found(&["breakdown", EXAMPLE, "-n", "1", "--depth", "1"])[2], ("//<other>".into(), 662));
}

#[test]
fn heaps_are_chosen_by_dump_process_and_allocator() {
    let heaps = |args: &[&str]| json(args)["heaps"].as_array().unwrap().len();
    let multi = "fixtures/memory_infra/seed-multi.trace";
    assert_eq!(heaps(&["breakdown", multi]), 3);
    assert_eq!(heaps(&["breakdown", multi, "--dump", "all"]), 6);
    assert_eq!(heaps(&["breakdown", multi, "--snapshot", "1", "--process", "2"]), 1);
    assert_eq!(heaps(&["stats", multi, "--dump", "all", "--allocator", "malloc"]), 2);
    assert_eq!(heaps(&["stats", RECORDED, "--process", "Browser", "--dump", "1"]), 1);
    assert!(
        run(&["breakdown", multi, "--dump", "3"]).expect_code(2).stderr.contains("there are 1 to 2, last, and all")
    );
    assert!(run(&["breakdown", multi, "--process", "x"]).expect_code(2).stderr.contains("Browser"));
    let wanted = rows(&json(&["breakdown", EXAMPLE, "--type", "T"])["heaps"][0]["tree"]);
    assert!(wanted.contains(&("//BrMain".into(), 465)), "{wanted:?}");
    run(&["breakdown", EXAMPLE, "--type", "nothing"]).expect_code(1);
}

#[test]
fn two_dumps_are_joined_by_names() {
    let diff = json(&["diff", COLUMNS, "--dump", "1,2"]);
    assert_eq!((&diff["old"]["total_bytes"], &diff["new"]["total_bytes"]), (&1538.into(), &1602.into()));
    let grown: i64 =
        diff["types"].as_array().unwrap().iter().map(|row| row["total_bytes_delta"].as_i64().unwrap()).sum();
    assert_eq!(grown, 64);
    let paths = json(&["diff", COLUMNS, COLUMNS, "--dump", "1,2", "--by", "backtrace"]);
    assert!(paths["paths"].as_array().unwrap().iter().any(|row| row["total_bytes_delta"] == 64));
    let same = json(&["diff", RECORDED, RECORDED, "--by", "backtrace"]);
    assert_eq!(same["paths"].as_array().unwrap().len(), 0);
    run(&["diff", COLUMNS, "--dump", "1,2", "--fail-over", "63", "-q"]).expect_code(1);
    run(&["diff", COLUMNS, "--dump", "1,2", "--fail-over", "64", "-q"]).expect_code(0);
    let browser = json(&["diff", RECORDED, "--dump", "1,8", "--process", "Browser"]);
    assert_eq!(
        (&browser["old"]["total_bytes"], &browser["new"]["total_bytes"]),
        (&3_949_171.into(), &11_281_259.into())
    );
}

#[test]
fn commands_that_need_objects_say_what_the_dump_holds() {
    for args in [
        &["roots", "1"][..],
        &["show", "1"],
        &["list"],
        &["dominators"],
        &["stats", "--by", "package"],
        &["stats", "--retained"],
        &["stats", "--shallow"],
    ] {
        let mut args = args.to_vec();
        args.push(EXAMPLE);
        let ran = run(&args).expect_code(2);
        assert!(
            ran.stderr.contains("allocation totals") && ran.stderr.lines().count() == 1,
            "{args:?}: {}",
            ran.stderr
        );
    }
    let recent = run(&["breakdown", "fixtures/memory_infra/no-heaps.trace"]).expect_code(2);
    assert!(recent.stderr.contains("recent versions (156 for one) write none"), "{}", recent.stderr);
}

/// The same tree on objects: what the objects at the end of each path of types retain.
#[test]
fn objects_break_down_by_the_types_that_dominate_them() {
    let stats = json(&["stats", GAME]);
    let answer = json(&["breakdown", GAME, "--min-percent", "0", "--depth", "100"]);
    let tree = &answer["heaps"][0]["tree"];
    assert_eq!(tree["bytes"], stats["totals"]["reachable_bytes"]);
    assert_eq!(tree["allocations"], stats["totals"]["reachable_objects"]);
    let top = json(&["dominators", GAME]);
    for child in tree["children"].as_array().unwrap() {
        let of_type = top["nodes"].as_array().unwrap().iter().filter(|node| node["type"] == child["name"]);
        let retained: u64 = of_type.map(|node| node["retained_bytes"].as_u64().unwrap()).sum();
        assert_eq!(child["bytes"], retained, "{}", child["name"]);
    }
    let by_type = json(&["breakdown", GAME, "--by", "type", "--min-percent", "0", "--depth", "1"]);
    for child in by_type["heaps"][0]["tree"]["children"].as_array().unwrap() {
        let mut row = stats["types"].as_array().unwrap().iter().filter(|row| row["type"] == child["name"]);
        assert_eq!(child["bytes"], row.next().unwrap()["reachable_bytes"], "{}", child["name"]);
    }
    let written = run(&["export", "--to", "memory-infra", GAME, "--min-bytes", "0", "-q"]).expect_code(0).stdout;
    let back = run_with_input(&["stats", "-", "-f", "json"], written.as_bytes()).expect_code(0).json();
    assert_eq!(back["totals"]["total_bytes"], stats["totals"]["reachable_bytes"]);
    assert_eq!(back["totals"]["other_bytes"], 0);
}
