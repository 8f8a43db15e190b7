//! The answer of `diff` against the histograms of its two dumps, and against what the command prints.

use std::collections::BTreeMap;

use heapdump::answers::diff::{DiffOrder, DiffRows};
use heapdump::answers::{DiffBy, DiffOptions, GroupBy, HeapChoice, HistogramOptions, Limits, diff, histogram};
use heapdump::dump::{OpenDump, open};
use serde_json::Value;

use crate::common::cmd::{project, run};

const PAIRS: [[&str; 2]; 4] = [
    ["fixtures/xna_cf/pair_before.txt", "fixtures/xna_cf/pair_after.txt"],
    ["fixtures/gcdump/small-net31.gcdump.zst", "fixtures/nettrace/small-net9.nettrace.zst"],
    ["fixtures/ibm_classic/small.native.txt.gz", "fixtures/xna_cf/small_1k.txt"],
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
        let options = DiffOptions { unchanged: true, ..DiffOptions::default() };
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
            (DiffOptions { unchanged: true, limits: some, ..default() }, &["--all", "-n", "3", "--reverse"]),
        ];
        if old.graph().is_some() {
            asked.extend::<Vec<(DiffOptions, &[&str])>>(vec![
                (DiffOptions { by: by_package, retained: true, ..default() }, &["--by", "package", "--retained"]),
                (
                    DiffOptions { by: by_path, order: DiffOrder::CountGrowth, ..default() },
                    &["--paths", "--sort", "objects"],
                ),
                (DiffOptions { by: by_root, ..default() }, &["--roots"]),
            ]);
        } else {
            let all = HeapChoice { dump: Some("all".into()), ..HeapChoice::default() };
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
            assert!(answer.rows.is_empty() && answer.rows.hidden() == 0, "{file} {by:?}");
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
    let pair = HeapChoice { dump: Some("1,1".into()), ..HeapChoice::default() };
    let answer = diff(&allocations, &allocations, &DiffOptions { heaps: pair, ..DiffOptions::default() });
    assert!(matches!(answer.map(|answer| answer.rows), Ok(DiffRows::Allocations(rows)) if rows.is_empty()));
}
