//! Objects of Java heap dumps by how they are held, by loader, by heap of Android.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::common::cmd::{project, run};

/// Objects by group.
fn groups(by: &str, file: &str) -> BTreeMap<String, u64> {
    let answer = run(&["stats", "--by", by, "-f", "json", "-q", file]).expect_code(0).json();
    let groups: BTreeMap<String, u64> = answer["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["group"].as_str().unwrap().to_string(), row["objects"].as_u64().unwrap()))
        .collect();
    assert_eq!(answer["totals"]["objects"], groups.values().sum::<u64>(), "{file}: each object is in one group");
    groups
}

/// The first figures are those of another program, which followed no referent, or none of weak and phantom references.
#[test]
fn what_references_hold_only_for_a_while_is_told_apart() {
    for (name, without_referents, without_weak) in [
        ("zoo-jdk11-serial.hprof.zst", 15_092, 15_131),
        ("zoo-jdk17-serial.hprof.zst", 16_687, 16_731),
        ("zoo-jdk21-serial.hprof.zst", 15_995, 16_330),
        ("zoo-jdk17-zgc.hprof.zst", 16_681, 16_725),
        ("zoo-jdk25-coh.hprof.zst", 33_378, 33_706),
        ("tiny-8byte-segments.hprof", 44, 44),
    ] {
        let file = format!("fixtures/hprof/{name}");
        let groups = groups("held", &file);
        let of = |group: &str| groups.get(group).copied().unwrap_or(0);
        assert_eq!(of("strong"), without_referents, "{name}: {groups:?}");
        assert_eq!(of("strong") + of("soft") + of("final"), without_weak, "{name}: {groups:?}");
        let totals = run(&["stats", "-f", "json", "-q", &file]).json()["totals"].clone();
        assert_eq!(totals["reachable_objects"], without_weak, "{name}: soft references and finalizers hold");
        let by_mat = run(&["stats", "-f", "json", "-q", "--rules", "mat", &file]).json()["totals"].clone();
        let all = of("strong") + of("soft") + of("final") + of("weak");
        assert_eq!(by_mat["reachable_objects"], all, "{name}: {groups:?}");
    }
}

#[test]
fn an_index_knows_them_too() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["zoo-jdk21-serial.hprof.zst", "android.hprof"] {
        let file = format!("fixtures/hprof/{name}");
        let index = directory.path().join("dump.hdx").display().to_string();
        run(&["index", "-q", &file, "-o", &index]).expect_code(0);
        for by in ["held", "loader", "heap"].iter().filter(|by| **by != "heap" || name.starts_with("android")) {
            assert_eq!(groups(by, &index), groups(by, &file), "{name} by {by}");
        }
    }
}

#[test]
fn what_a_dump_does_not_say_is_an_error() {
    let zoo = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
    let other = project("fixtures/xna_cf/pair_after.txt").display().to_string();
    for (words, text) in [
        (&["--by", "heap", zoo][..], "in which part of the heap"),
        (&["--by", "held", "--rules", "mat", zoo], "soft or weak"),
        (&["--by", "held", &other], "soft or weak"),
        (&["--by", "loader", &other], "what loaded its types"),
    ] {
        let ran = run(&[&["stats"], words].concat()).expect_code(2);
        assert!(ran.stderr.contains(text), "{words:?}: {}", ran.stderr);
    }
}

/// Counted by hand: records of objects and classes behind each mark.
#[test]
fn heaps_of_android_have_their_objects() {
    let expected = [("image", 33), ("zygote", 2), ("app", 21)];
    let expected: BTreeMap<String, u64> = expected.map(|(heap, objects)| (heap.to_string(), objects)).into();
    assert_eq!(groups("heap", "fixtures/hprof/android.hprof"), expected);
}

#[test]
fn types_of_one_name_and_two_loaders_are_two_rows() {
    for name in ["zoo-jdk11-serial.hprof.zst", "zoo-jdk17-zgc.hprof.zst", "zoo-jdk25-coh.hprof.zst"] {
        let file = format!("fixtures/hprof/{name}");
        let answer = run(&["stats", "-f", "json", "-q", &file]).expect_code(0).json();
        let rows: Vec<&Value> = answer["types"].as_array().unwrap().iter().collect();
        let twins: Vec<&&Value> = rows.iter().filter(|row| row["type"] == "zoo.Plugin").collect();
        assert_eq!(twins.len(), 2, "{name}");
        let loaders: Vec<&Value> = twins.iter().map(|row| &row["loader"]).collect();
        assert_ne!(loaders[0], loaders[1]);
        let types: Vec<&str> = loaders.iter().map(|loader| loader["type"].as_str().unwrap()).collect();
        assert!(types.iter().all(|name| *name == "zoo.Zoo$TwinLoader"), "{name}: {types:?}");
        assert!(rows.iter().filter(|row| row["type"] != "zoo.Plugin").all(|row| row.get("loader").is_none()), "{name}");
        // Tables say it in the name, forms for programs have the bare one.
        let table = run(&["stats", "-q", &file]).expect_code(0).stdout;
        let id = loaders[0]["id"].as_str().unwrap();
        assert!(table.contains(&format!("zoo.Plugin (zoo.Zoo$TwinLoader {id})")), "{name}");
        let csv = run(&["stats", "-q", "-f", "csv", "--type", "zoo.Plugin", &file]).expect_code(0).stdout;
        assert_eq!(csv.lines().filter(|line| line.ends_with(",zoo.Plugin")).count(), 2, "{csv}");
        let loaders = groups("loader", &file);
        assert!(loaders["(runtime)"] > 10_000, "{loaders:?}");
        assert!(loaders.keys().any(|loader| loader.contains(id)), "{loaders:?}");
        // What is compared goes by name.
        let diff = run(&["diff", "-q", "--all", "-f", "json", &file, &file]).expect_code(0).json();
        let named = diff["types"].as_array().unwrap().iter().filter(|row| row["type"] == "zoo.Plugin");
        assert_eq!(named.count(), 1, "{name}");
    }
}
