//! The answer of `diff` against the histograms of its two dumps, and against what the command prints.

use std::collections::BTreeMap;

use heapdump::answers::diff::OBJECTS_DELTA;
use heapdump::answers::{
    AllocationHeapChoice, DiffBy, DiffOptions, GroupBy, HistogramOptions, Limits, diff, histogram,
};
use heapdump::dump::{OpenDump, open};
use serde_json::Value;

use crate::common::cmd::{project, run};
use crate::common::fixtures::unpacked;

const PAIRS: [[&str; 2]; 4] = [
    ["fixtures/xna_cf/pair_before.txt", "fixtures/xna_cf/pair_after.txt"],
    ["fixtures/gcdump/small-net31.gcdump.zst", "fixtures/nettrace/small-net9.nettrace.zst"],
    ["fixtures/ibm_classic/small.native.txt.gz", "fixtures/hprof/android.hprof"],
    ["fixtures/memory_infra/chromium49-heaps.trace.gz", "fixtures/memory_infra/chromium66-heaps.trace.gz"],
];

fn opened(files: [&str; 2]) -> [OpenDump; 2] {
    files.map(|file| open(project(file)).expect("a dump"))
}

/// Bytes and number of objects or allocations by type.
fn types_of(dump: &OpenDump) -> BTreeMap<String, [u64; 2]> {
    let answer = serde_json::to_value(histogram(dump, &HistogramOptions::default()).expect("an answer")).unwrap();
    let figure = |row: &Value, keys: [&str; 2]| keys.iter().find_map(|key| row[key].as_u64()).unwrap_or(0);
    let rows = answer["types"].as_array().expect("types");
    rows.iter()
        .map(|row| {
            let amounts = [figure(row, ["shallow_bytes", "total_bytes"]), figure(row, ["objects", "allocations"])];
            (row["type"].as_str().expect("a type").to_string(), amounts)
        })
        .collect()
}

#[test]
fn rows_are_the_difference_of_two_histograms() {
    for files in PAIRS {
        let [old, new] = opened(files);
        let options = DiffOptions { with_unchanged: true, ..DiffOptions::default() };
        let answer = serde_json::to_value(diff(&old, &new, &options).expect("an answer")).unwrap();
        let mut expected: BTreeMap<String, [i64; 2]> = BTreeMap::new();
        for (sign, dump) in [(-1, &old), (1, &new)] {
            for (name, amounts) in types_of(dump) {
                let sum = expected.entry(name).or_default();
                *sum = [0, 1].map(|at| sum[at] + sign * amounts[at] as i64);
            }
        }
        let rows: BTreeMap<String, [i64; 2]> = answer["types"]
            .as_array()
            .expect("types")
            .iter()
            .map(|row| {
                let figure = |keys: [&str; 2]| keys.iter().find_map(|key| row[key].as_i64()).unwrap_or(0);
                let amounts = [
                    figure(["shallow_bytes_delta", "total_bytes_delta"]),
                    figure(["objects_delta", "allocations_delta"]),
                ];
                (row["type"].as_str().expect("a type").to_string(), amounts)
            })
            .collect();
        let is_counted = old.graph().is_some();
        let bytes = |rows: &BTreeMap<String, [i64; 2]>| -> Vec<(String, [i64; 2])> {
            rows.iter()
                .map(|(name, [bytes, count])| (name.clone(), [*bytes, if is_counted { *count } else { 0 }]))
                .collect()
        };
        assert!(rows.len() > 5);
        assert_eq!(bytes(&rows), bytes(&expected), "{files:?}");
    }
}

#[test]
fn the_json_is_that_of_the_command() {
    let [by_package, by_path, by_root] = [DiffBy::Groups(GroupBy::Package), DiffBy::Paths, DiffBy::RootKinds];
    let some = Limits { rows: Some(3), reverse: true };
    let default = DiffOptions::default;
    for files in PAIRS {
        let [old, new] = opened(files);
        let mut asked: Vec<(DiffOptions, &[&str])> = vec![
            (default(), &[]),
            (DiffOptions { with_unchanged: true, limits: some, ..default() }, &["--all", "-n", "3", "--reverse"]),
        ];
        if old.graph().is_some() {
            asked.extend::<Vec<(DiffOptions, &[&str])>>(vec![
                (DiffOptions { by: by_package, with_retained: true, ..default() }, &["--by", "package", "--retained"]),
                (
                    DiffOptions { by: by_path, order: Some(OBJECTS_DELTA), ..default() },
                    &["--paths", "--sort", "objects"],
                ),
                (DiffOptions { by: by_root, ..default() }, &["--roots"]),
            ]);
        } else {
            let all = AllocationHeapChoice { memory_dump: Some("all".into()), ..AllocationHeapChoice::default() };
            asked.push((DiffOptions { heaps: all, ..default() }, &["--dump", "all"]));
        }
        for (options, words) in asked {
            let answer = diff(&old, &new, &options).expect("an answer");
            let words = [&["diff", files[0], files[1], "-f", "json", "-q"], words].concat();
            let printed = run(&words).expect_code(0).stdout;
            let expected = serde_json::to_string(&answer).unwrap().replacen('{', "{\"schema\":\"heapdump.diff/1\",", 1);
            assert!(printed.trim_end() == expected, "{words:?}\n{printed}\n{expected}");
        }
    }
}

#[test]
fn a_dump_has_not_grown_since_itself() {
    for [file, _] in PAIRS {
        let dump = open(project(file)).expect("a dump");
        let by = match dump.graph() {
            Some(_) => [DiffBy::default(), DiffBy::Paths, DiffBy::RootKinds].to_vec(),
            None => [DiffBy::default(), DiffBy::Backtraces].to_vec(),
        };
        for by in by {
            let answer = diff(&dump, &dump, &DiffOptions { by, ..DiffOptions::default() }).expect("an answer");
            assert!(answer.rows.is_empty() && answer.rows.rows_hidden() == 0, "{file} {by:?}");
            assert_eq!(answer.old, answer.new);
        }
    }
}

#[test]
fn models_are_not_mixed() {
    let [objects, _] = opened(PAIRS[0]);
    let [allocations, _] = opened(PAIRS[3]);
    let refused = |old, new, by| diff(old, new, &DiffOptions { by, ..DiffOptions::default() }).err().expect("refused");
    for (old, new, by, text) in [
        (&objects, &allocations, DiffBy::default(), "nothing to compare"),
        (&objects, &objects, DiffBy::Backtraces, "no allocation totals"),
        (&allocations, &allocations, DiffBy::Paths, "no objects"),
    ] {
        let error = refused(old, new, by).to_string();
        assert!(error.contains(text) && !error.contains("--"), "{error}");
    }
    let pair = AllocationHeapChoice { memory_dump: Some("1,1".into()), ..AllocationHeapChoice::default() };
    let answer = diff(&allocations, &allocations, &DiffOptions { heaps: pair, ..DiffOptions::default() });
    assert!(answer.is_ok_and(|answer| answer.rows.are_of_allocations() && answer.rows.is_empty()));
}

/// Types of different runtimes have nothing in common but their names.
#[test]
fn dumps_of_different_runtimes_do_not_compare() {
    let files = ["fixtures/hprof/android.hprof", "fixtures/xna_cf/small_1k.txt"];
    for command in ["diff", "leaks", "trend"] {
        let ran = run(&[command, files[0], files[1], "-q"]).expect_code(2);
        assert!(ran.stderr.contains("types of different runtimes do not compare"), "{command}: {}", ran.stderr);
    }
}

/// What is missing of a cut dump is under every limit.
#[test]
fn a_cut_dump_passes_no_limit() {
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.txt");
    let whole = std::fs::read(project(PAIRS[0][1])).unwrap();
    std::fs::write(&cut, &whole[..whole.len() / 3]).unwrap();
    let (old, cut) = (PAIRS[0][0], cut.to_str().unwrap());
    for limited in [
        &["diff", old, cut, "--fail-over", "10%"][..],
        &["diff", cut, old, "--fail-over", "1GiB"],
        &["diff", old, cut, "--fail-over-type", "1000%", "--min-bytes", "1GiB"],
        &["trend", old, cut, "--fail-over", "10%"],
        &["stats", cut, "--fail-over", "System=1GiB"],
        &["stats", "--shallow", cut, "--fail-over", "System=1GiB"],
    ] {
        let ran = run(&[limited, &["-q"]].concat()).expect_code(2);
        assert!(ran.stderr.contains("cut at") && ran.stderr.contains("--lenient"), "{limited:?}: {}", ran.stderr);
        assert!(!ran.stdout.is_empty(), "{limited:?}");
        run(&[limited, &["-q", "--lenient"]].concat()).expect_code(0);
    }
    // So it is where the loss is in the midst.
    let zoo = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
    let (damaged, mut bytes) = (folder.path().join("damaged.hprof"), unpacked(zoo));
    // An array with more elements than its segment has room for.
    let array = bytes.windows(6).rposition(|start| start == [0x23, 0, 0, 0, 0, 0xFD]).expect("an array");
    bytes[array + 13..array + 17].fill(0xFF);
    std::fs::write(&damaged, bytes).unwrap();
    let damaged = damaged.to_str().unwrap();
    let ran = run(&["diff", zoo, damaged, "--fail-over", "10%", "-q"]).expect_code(2);
    assert!(ran.stderr.contains("not complete at byte") && ran.stderr.contains("--lenient"), "{}", ran.stderr);
    run(&["diff", zoo, damaged, "--fail-over", "10%", "-q", "--lenient"]).expect_code(0);
    // What a dump lacks is no growth, if it is the first one.
    for limited in
        [&["diff", cut, PAIRS[0][1], "--fail-over", "10%"][..], &["trend", cut, PAIRS[0][1], "--fail-over", "10%"]]
    {
        let ran = run(&[limited, &["-q"]].concat()).expect_code(2);
        let sentence = format!("heapdump: {cut}: a limit is passed, but that says nothing");
        assert!(ran.stderr.contains(&sentence), "{limited:?}: {}", ran.stderr);
        run(&[limited, &["-q", "--lenient"]].concat()).expect_code(1);
    }
    run(&["trend", cut, cut, PAIRS[0][1], cut, "--fail-over", "10%", "-q"]).expect_code(2);
    // Growth from the first to the last does not depend on the dumps between them, growth from dump to dump does.
    let between = ["trend", old, cut, PAIRS[0][1], "-q", "--fail-over"];
    for (limit, code) in [("10%", 1), ("1GiB", 0), ("1/dump", 2), ("1GiB/dump", 2)] {
        let ran = run(&[&between[..], &[limit]].concat()).expect_code(code);
        assert_eq!(ran.stderr.contains(&format!("heapdump: {cut}: ")), code == 2, "{limit}: {}", ran.stderr);
    }
    run(&["trend", old, cut, old, PAIRS[0][1], "-q", "--grows"]).expect_code(2);
    run(&["stats", cut, "--fail-over", "System=1", "-q"]).expect_code(1);
    // Warnings name the dump.
    for command in [&["diff", old, cut][..], &["leaks", old, cut], &["report", "-o", "-", old, cut]] {
        let ran = run(command).expect_code(0);
        let mut warnings = ran.stderr.lines().filter(|line| line.contains("warning")).peekable();
        assert!(warnings.peek().is_some(), "{command:?}");
        assert!(warnings.all(|line| line.starts_with(&format!("heapdump: warning: {cut}: "))), "{}", ran.stderr);
    }
    let said = run(&["leaks", cut, "-q"]).expect_code(0).stdout;
    assert!(said.contains("cut at"), "{said}");
    for command in [&["leaks", cut][..], &["dominators", cut]] {
        let json = run(&[command, &["-q", "-f", "json"]].concat()).expect_code(0).json();
        assert!(json["problems"][0]["code"].is_string(), "{json}");
    }
    let json = run(&["diff", old, cut, "-q", "-f", "json"]).expect_code(0).json();
    assert!(
        json["problems"]["new"][0]["code"].is_string() && json["problems"]["old"] == serde_json::json!([]),
        "{json}"
    );
}

/// Limits are of shallow bytes, with `--retained` of retained ones, of all types that match as for `--type`.
#[test]
fn limits_are_of_the_bytes_that_are_asked_for() {
    let [old, new] = PAIRS[0];
    // A choice of types without a difference keeps its limit; a limit of types would see no others than those chosen.
    run(&["diff", old, old, "--type", "System.String", "--fail-over", "10%", "-q"]).expect_code(0);
    run(&["diff", old, old, "--type", "System.String", "-q"]).expect_code(1);
    for command in ["diff", "trend"] {
        let ran = run(&[command, old, new, "--type", "System.String", "--fail-over", "*Bubble=1"]).expect_code(2);
        assert!(ran.stderr.contains("leave --type out"), "{}", ran.stderr);
    }
    let row = run(&["diff", old, new, "--retained", "-t", "/^BubbleGame.Level$/", "-f", "json", "-q"]).json();
    let grown = |key: &str| row["types"][0][key].as_i64().expect("a number");
    let (shallow, retained) = (grown("shallow_bytes_delta"), grown("retained_bytes_delta"));
    assert!(shallow > 0 && retained > 2 * shallow, "{row}");
    let limit = |bytes: i64| format!("/^BubbleGame.Level$/={bytes}");
    for (bytes, options, code) in [
        (shallow, &[][..], 0),
        (shallow - 1, &[], 1),
        (retained, &["--retained"], 0),
        (retained - 1, &["--retained"], 1),
    ] {
        run(&[&["diff", old, new, "-q", "--fail-over", &limit(bytes)], options].concat()).expect_code(code);
    }
    let row = run(&["stats", new, "--retained", "-t", "/^BubbleGame.Level$/", "-f", "json", "-q"]).json();
    let bytes = |key: &str| row["types"][0][key].as_i64().expect("a number");
    for (bytes, options, code) in [
        (bytes("shallow_bytes"), &[][..], 0),
        (bytes("shallow_bytes"), &["--retained"], 1),
        (bytes("retained_bytes"), &["--retained"], 0),
    ] {
        run(&[&["stats", new, "-q", "--fail-over", &limit(bytes)], options].concat()).expect_code(code);
    }
    // All types that have the text in their names, as for --type.
    let all = run(&["stats", new, "-t", "System.String", "-f", "json", "-q"]).json();
    let sum: i64 = all["types"].as_array().unwrap().iter().map(|row| row["shallow_bytes"].as_i64().unwrap()).sum();
    assert!(all["types"].as_array().unwrap().len() > 1);
    run(&["stats", new, "-q", "--fail-over", &format!("System.String={}", sum - 1)]).expect_code(1);
    run(&["stats", new, "-q", "--fail-over", &format!("System.String={sum}")]).expect_code(0);
    for args in [&["diff", old, new][..], &["trend", old, new], &["stats", new]] {
        let args = [args, &["--fail-over", "NoSuchType=1GB"]].concat();
        run(&args).expect_code(0);
        let ran = run(&[&args[..], &["--strict"]].concat()).expect_code(2);
        assert!(ran.stderr.contains("matches --fail-over NoSuchType"), "{}", ran.stderr);
    }
}
