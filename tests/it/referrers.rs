//! Who refers to it: against the heap by definition, and what names references have.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use heapdump::analysis::type_patterns::TypePattern;
use heapdump::answers::referrers::{ReferredTo, ReferrersOptions};
use heapdump::answers::{ScopeOptions, referrers};
use heapdump::dump::OpenOptions;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::cmd::{run, run_on_terminal};
use crate::common::heap::{Heap, TYPES};
use crate::common::synth::xna_cf;
use crate::oracle::heaps;

const ZOO: &str = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";

/// Rows by definition: by type the objects that refer to one of `targets`, how often, and what refers to those, down to
/// this depth; without objects of the rows above.
fn by_definition(heap: &Heap, targets: &BTreeSet<usize>, above: &BTreeSet<usize>, depth: u32) -> Value {
    let mut rows: BTreeMap<&str, (BTreeSet<usize>, u64)> = BTreeMap::new();
    for (number, object) in heap.objects.iter().enumerate().filter(|(number, _)| !above.contains(number)) {
        let references = heap.targets(number).filter(|target| targets.contains(target)).count() as u64;
        if references > 0 {
            let row = rows.entry(object.type_name).or_default();
            row.0.insert(number);
            row.1 += references;
        }
    }
    let rows = rows.into_iter().map(|(type_name, (nodes, references))| {
        let bytes: u64 = nodes.iter().map(|&node| heap.objects[node].bytes).sum();
        let children = match depth {
            1 => json!([]),
            _ => by_definition(heap, &nodes, &above.union(&nodes).copied().collect(), depth - 1),
        };
        json!({"type": type_name, "referrers": nodes.len(), "references": references, "shallow_bytes": bytes,
               "children": children})
    });
    Value::Array(rows.collect())
}

/// Rows in the order of their types.
fn sorted(rows: &Value) -> Value {
    let mut rows = rows.as_array().expect("rows").clone();
    rows.iter_mut().for_each(|row| row["children"] = sorted(&row["children"]));
    rows.sort_by_key(|row| row["type"].as_str().expect("a type").to_string());
    Value::Array(rows)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn referrers_are_those_of_the_definition(heap in heaps(12, 3), depth in 1..4u32) {
        let dump = OpenOptions::default().open_reader(Cursor::new(xna_cf(&heap).into_bytes())).expect("a dump");
        for number in 0..heap.objects.len() {
            let id = format!("{:x}", Heap::address(number)).parse().expect("an id");
            let options = ReferrersOptions { depth, ..ReferrersOptions::new(ReferredTo::Object(id)) };
            let answer = serde_json::to_value(referrers(&dump, &options).unwrap()).unwrap();
            // An object may refer to itself: only below its first row it stands above.
            let rows = by_definition_of(&heap, &BTreeSet::from([number]), depth);
            prop_assert_eq!(sorted(&answer["referrers"]), rows);
        }
        for type_name in TYPES {
            let pattern = TypePattern::parse(&format!("/^{type_name}$/")).unwrap();
            let scope = ScopeOptions { types: Some(pattern.into()), ..ScopeOptions::default() };
            let options = ReferrersOptions { depth, scope, ..ReferrersOptions::new(ReferredTo::Scope) };
            let answer = serde_json::to_value(referrers(&dump, &options).unwrap()).unwrap();
            let asked: BTreeSet<usize> =
                (0..heap.objects.len()).filter(|&number| heap.objects[number].type_name == type_name).collect();
            prop_assert_eq!(answer["of"]["objects"].as_u64(), Some(asked.len() as u64));
            prop_assert_eq!(sorted(&answer["referrers"]), by_definition_of(&heap, &asked, depth));
        }
    }
}

/// The first row has objects that were asked for too, where they refer to each other.
fn by_definition_of(heap: &Heap, asked: &BTreeSet<usize>, depth: u32) -> Value {
    let mut rows = by_definition(heap, asked, &BTreeSet::new(), 1);
    for row in rows.as_array_mut().expect("rows").iter_mut().filter(|_| depth > 1) {
        let of_type = |number: &usize| heap.objects[*number].type_name == row["type"].as_str().expect("a type");
        let nodes: BTreeSet<usize> = (0..heap.objects.len())
            .filter(of_type)
            .filter(|&number| heap.targets(number).any(|target| asked.contains(&target)))
            .collect();
        row["children"] = by_definition(heap, &nodes, &asked.union(&nodes).copied().collect(), depth - 1);
    }
    rows
}

#[test]
fn references_have_their_names() {
    let answer = run(&["referrers", "0xfd5c0330", ZOO, "-q", "-f", "json"]).expect_code(0).json();
    assert_eq!(answer["of"], json!({"id": "0xfd5c0330", "objects": 1}));
    let rows = answer["referrers"].as_array().expect("rows");
    assert!(
        rows.iter().any(|row| row["type"] == "java.lang.Class" && row["reference"] == "static Zoo.bus"),
        "{rows:?}"
    );
    let views =
        run(&["referrers", "--type", "zoo.Zoo$View", ZOO, "-q", "-f", "json", "--depth", "2"]).expect_code(0).json();
    let elements = &views["referrers"][0];
    assert_eq!((&elements["type"], &elements["reference"]), (&json!("java.lang.Object[]"), &json!("[*]")));
    assert_eq!((&elements["referrers"], &elements["references"]), (&json!(1), &json!(300)));
    assert_eq!(elements["children"][0]["reference"], ".elementData");
}

#[test]
fn what_cannot_be_asked_is_said() {
    run(&["referrers", ZOO, "-q"]).expect_code(2);
    run(&["referrers", "--type", "zoo.Zoo$View", "0xfd5c0330", ZOO, "-q"]).expect_code(2);
    run(&["referrers", "0x1", ZOO, "-q"]).expect_code(2);
    run(&["referrers", "--type", "NoSuchType", ZOO]).expect_code(1);
    run(&["referrers", "10", "fixtures/memory_infra/chromium120-heaps_v2.trace.gz", "-q"]).expect_code(2);
    let line = "heapdump referrers 0xfd5c0330 fixtures/hprof/zoo-jdk17-serial.hprof.zst -q --color never";
    let drawn = run_on_terminal(line, 100).expect_code(0).stdout;
    assert!(drawn.starts_with("What refers to 0xfd5c0330  zoo.Zoo$Bus\n"), "{drawn}");
}
