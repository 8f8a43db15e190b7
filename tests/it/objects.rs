//! Lists of objects, single objects and their root paths as a library: against the heap by definition, and against what
//! the commands print.
#![allow(clippy::needless_range_loop)] // An object is its number.

use std::io::Cursor;

use heapdump::analysis::type_patterns::TypePattern;
use heapdump::answers::figure::{ID, RETAINED, SHALLOW, TYPE};
use heapdump::answers::{
    AnswerError, Limits, ObjectId, ObjectOptions, ObjectsOptions, Reachability, RootPathsOptions, ScopeOptions, object,
    objects, root_paths,
};
use heapdump::dump::{OpenDump, OpenOptions, RootPolicy};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::Value;

use crate::common::cmd::{heapdump, run, run_on_terminal};
use crate::common::heap::{Heap, Target};
use crate::common::synth::xna_cf;
use crate::common::{cmd, fixtures};
use crate::oracle::heaps;

fn opened(heap: &Heap) -> OpenDump {
    OpenOptions::default().open_reader(Cursor::new(xna_cf(heap).into_bytes())).expect("a dump")
}

fn id_of(number: usize) -> ObjectId {
    format!("{:x}", Heap::address(number)).parse().expect("an id")
}

fn number_of(id: &str) -> usize {
    let address = u64::from_str_radix(id, 16).expect("an id");
    (0..).find(|&number| Heap::address(number) >= address).expect("a number")
}

/// The heap as paths see it that go around objects of a type: those hold nothing and lead nowhere, but for `target`.
fn without_type(heap: &Heap, type_name: &str, target: usize) -> Heap {
    let mut heap = heap.clone();
    let avoided: Vec<bool> = heap.objects.iter().map(|object| object.type_name == type_name).collect();
    heap.roots.retain(|root| !avoided[root.object] || root.object == target);
    for (object, _) in heap.objects.iter_mut().zip(&avoided).filter(|(_, avoided)| **avoided) {
        object.references.clear();
    }
    heap
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn an_object_is_what_the_heap_says(heap in heaps(14, 2)) {
        let dump = opened(&heap);
        let reached = heap.reach(&heap.strong_starts(), None);
        for number in 0..heap.objects.len() {
            let answer = object(&dump, &ObjectOptions::new(id_of(number))).unwrap();
            let own = &heap.objects[number];
            prop_assert_eq!((number_of(&answer.object.row.id), answer.object.row.shallow_bytes), (number, own.bytes));
            prop_assert_eq!(answer.object.row.type_text(), own.type_name);
            prop_assert_eq!(answer.object.retained_bytes, heap.retained_bytes(number));
            let expected = if reached[number] { Reachability::Reachable } else { Reachability::Unreachable };
            prop_assert_eq!(answer.reachability, expected);
            prop_assert_eq!(answer.roots.len(), heap.roots.iter().filter(|root| root.object == number).count());
            let references: Vec<usize> = answer.references.iter().map(|row| number_of(&row.id)).collect();
            prop_assert_eq!(references, heap.targets(number).collect::<Vec<usize>>());
            let referrers: Vec<usize> = answer.referrers.iter().map(|row| number_of(&row.id)).collect();
            let all = (0..heap.objects.len()).flat_map(|other| heap.targets(other).map(move |target| (other, target)));
            let mut expected: Vec<usize> = all.filter(|(_, target)| *target == number).map(|(other, _)| other).collect();
            // An object that refers to it twice is one referrer or two, as the graph counts.
            let mut shown = referrers.clone();
            shown.dedup();
            expected.dedup();
            prop_assert_eq!(shown, expected);
        }
    }

    #[test]
    fn paths_are_the_shortest_chains_from_roots(heap in heaps(14, 2)) {
        let dump = opened(&heap);
        let starts = heap.strong_starts();
        let distances = heap.distances(&starts);
        for number in 0..heap.objects.len() {
            let options = RootPathsOptions { max_paths: None, ..RootPathsOptions::new(id_of(number)) };
            let answer = root_paths(&dump, &options).unwrap();
            prop_assert_eq!(answer.paths.get(0).map(|path| path.length()), distances[number]);
            prop_assert_eq!(answer.reachability.is_reached(), distances[number].is_some());
            prop_assert!(!answer.is_blocked_by_avoided());
            let mut rooted: Vec<usize> =
                starts.iter().copied().filter(|&start| heap.reach(&[start], None)[number]).collect();
            rooted.sort_unstable();
            rooted.dedup();
            prop_assert_eq!(answer.paths.len(), rooted.len());
            let ends = answer.paths.path_ends(2);
            for (place, path) in answer.paths.iter().enumerate() {
                let nodes: Vec<usize> = path.nodes().map(|row| number_of(&row.id)).collect();
                prop_assert_eq!(nodes.len(), path.length() + 1);
                prop_assert_eq!(nodes[path.length()], number);
                prop_assert!(rooted.contains(&nodes[0]));
                prop_assert!(nodes.windows(2).all(|step| heap.targets(step[0]).any(|target| target == step[1])));
                let strong = heap.roots.iter().filter(|root| root.object == nodes[0] && !root.is_weak());
                prop_assert_eq!(path.roots().count(), strong.count());
                let retained: Vec<Option<u64>> =
                    answer.paths.steps(place).unwrap().map(|step| step.retained_bytes).collect();
                prop_assert_eq!(retained, nodes.iter().map(|&node| heap.retained_bytes(node)).collect::<Vec<_>>());
                let end: Vec<usize> = ends[place].clone().map(|step| number_of(&step.object.id)).collect();
                prop_assert_eq!(&end[..], &nodes[nodes.len().saturating_sub(2)..]);
            }
        }
    }

    #[test]
    fn paths_go_around_what_is_avoided(heap in heaps(14, 2), avoided in 0..4usize) {
        let type_name = crate::common::heap::TYPES[avoided];
        // Whole names: no name of these is part of another.
        let pattern = TypePattern::parse(type_name).unwrap();
        let dump = opened(&heap);
        for number in 0..heap.objects.len() {
            let mut around = without_type(&heap, type_name, number);
            // The target may lead to itself through others; its distance is 0 then anyway.
            around.objects[number].references = heap.objects[number].references.clone();
            let options =
                RootPathsOptions { avoided_types: vec![pattern.clone()], ..RootPathsOptions::new(id_of(number)) };
            let answer = root_paths(&dump, &options).unwrap();
            let expected = around.distances(&around.strong_starts())[number];
            prop_assert_eq!(answer.paths.get(0).map(|path| path.length()), expected);
            let reached = heap.reach(&heap.strong_starts(), None)[number];
            prop_assert_eq!(answer.is_blocked_by_avoided(), reached && expected.is_none());
        }
    }

    /// Roots of kind 1 are locals; what only they hold is told apart from what nothing holds.
    #[test]
    fn what_only_roots_left_out_hold_is_told_apart(heap in heaps(14, 2)) {
        let roots = RootPolicy { excluded_kinds: vec!["local".into()], ..RootPolicy::default() };
        let options = OpenOptions { roots, ..OpenOptions::default() };
        let dump = options.open_reader(Cursor::new(xna_cf(&heap).into_bytes())).unwrap();
        let graph = dump.graph().unwrap();
        let left: Vec<usize> =
            graph.roots().iter().filter(|root| root.is_strong()).map(|root| root.node.index()).collect();
        let (now, before) = (heap.reach(&left, None), heap.reach(&heap.strong_starts(), None));
        for number in 0..heap.objects.len() {
            let expected = match (now[number], before[number]) {
                (true, _) => Reachability::Reachable,
                (false, true) => Reachability::ByExcludedRootsOnly,
                (false, false) => Reachability::Unreachable,
            };
            let id = id_of(number);
            prop_assert_eq!(object(&dump, &ObjectOptions::new(id.clone())).unwrap().reachability, expected);
            prop_assert_eq!(root_paths(&dump, &RootPathsOptions::new(id)).unwrap().reachability, expected);
        }
    }

    #[test]
    fn a_list_is_every_object_in_order(heap in heaps(40, 2), reverse in any::<bool>(), limit in 0..50usize) {
        let dump = opened(&heap);
        // Distances are of V8 alone.
        for order in ObjectsOptions::ORDERS.into_iter().filter(|order| order.key != "distance").map(Some) {
            let key = |number: usize| {
                let object = &heap.objects[number];
                let retained = heap.retained_bytes(number).map_or(0, |bytes| bytes + 1);
                let (figure, name) = match order {
                    Some(SHALLOW) => (object.bytes, ""),
                    Some(RETAINED) => (retained, ""),
                    Some(TYPE) => (0, object.type_name),
                    Some(ID) => (0, ""),
                    _ => (heap.targets(number).count() as u64, ""),
                };
                (std::cmp::Reverse(figure), name, number)
            };
            let mut expected: Vec<usize> = (0..heap.objects.len()).collect();
            expected.sort_by(|&a, &b| key(a).cmp(&key(b)));
            if reverse {
                expected.reverse();
            }
            expected.truncate(limit);
            let limits = Limits { rows: Some(limit), reverse };
            let answer = objects(&dump, &ObjectsOptions { order, limits, ..ObjectsOptions::default() }).unwrap();
            prop_assert_eq!(answer.found, heap.objects.len());
            let shown: Vec<usize> = answer.objects.iter().map(|row| number_of(&row.id)).collect();
            prop_assert_eq!(&shown, &expected);
            for row in answer.objects.iter() {
                prop_assert_eq!(row.retained_bytes, heap.retained_bytes(number_of(&row.id)));
            }
        }
    }
}

/// A chain longer than the rows that are made at once, and an object with more references than that.
#[test]
fn long_answers_are_made_row_by_row() {
    const COUNT: usize = 6000;
    let mut heap = Heap::default();
    (0..COUNT).for_each(|_| {
        heap.object("demo.Node", 16);
    });
    (1..COUNT).for_each(|number| heap.refer(number - 1, number));
    (0..COUNT).for_each(|number| heap.refer(COUNT - 1, number));
    heap.root(0);
    let dump = opened(&heap);
    let answer = root_paths(&dump, &RootPathsOptions::new(id_of(COUNT - 1))).unwrap();
    let value = json(&answer);
    assert_eq!(value["paths"][0]["nodes"].as_array().map(Vec::len), Some(COUNT));
    assert_eq!(value["paths"][0]["nodes"][77]["id"], format!("{:x}", Heap::address(77)));
    let answer = object(&dump, &ObjectOptions::new(id_of(COUNT - 1))).unwrap();
    assert_eq!((answer.references.len(), answer.references.total()), (COUNT, COUNT));
    assert_eq!(number_of(&answer.references.get(4321).id), 4321);
    let limited = ObjectOptions { max_references: Some(5), ..ObjectOptions::new(id_of(COUNT - 1)) };
    let answer = object(&dump, &limited).unwrap();
    assert_eq!((answer.references.len(), answer.references.total()), (5, COUNT));
    let answer = objects(&dump, &ObjectsOptions { order: Some(ID), ..ObjectsOptions::default() }).unwrap();
    assert_eq!(number_of(&answer.objects.get(COUNT - 1).id), COUNT - 1);
}

fn json<T: Serialize>(answer: &T) -> Value {
    serde_json::to_value(answer).expect("serialisable")
}

/// What a command prints as JSON, without its schema.
fn printed(args: &[&str]) -> Value {
    let mut value = cmd::finish(heapdump(&[args, &["-q", "-f", "json"]].concat())).json();
    value.as_object_mut().expect("an object").remove("schema");
    value
}

/// The serde form of every answer is the JSON of its command, on every fixture with objects.
#[test]
fn commands_print_what_answers_serialise_as() {
    let mut checked = 0;
    for fixture in fixtures::all() {
        // Options of reading are tested elsewhere.
        if fixture.has_no_objects() || !fixture.arguments().is_empty() {
            continue;
        }
        let path = fixture.path.to_str().expect("a path");
        let Ok(dump) = OpenOptions::default().open(path) else { continue };
        let Some(graph) = dump.graph() else { continue };
        let list = objects(&dump, &ObjectsOptions::default()).expect("a list");
        assert_eq!(json(&list), printed(&["list", path]), "{path}");
        let ids = graph.nodes().map(|node| graph.display_id(node));
        for id in ids.step_by(graph.node_count() / 2 + 1) {
            let parsed: ObjectId = id.parse().expect("an id");
            let answer = object(&dump, &ObjectOptions::new(parsed.clone())).expect("an object");
            assert_eq!(json(&answer), printed(&["show", &id, path]), "{path} {id}");
            checked += 1;
            if graph.lacks_references() {
                continue;
            }
            let all =
                RootPathsOptions { max_paths: None, with_weak_roots: true, ..RootPathsOptions::new(parsed.clone()) };
            let answer = root_paths(&dump, &all).expect("paths");
            assert_eq!(json(&answer), printed(&["roots", &id, path, "--paths", "0", "--all-kinds"]), "{path} {id}");
            let answer = root_paths(&dump, &RootPathsOptions::new(parsed)).expect("paths");
            assert_eq!(json(&answer), printed(&["roots", &id, path]), "{path} {id}");
        }
    }
    assert!(checked > 20, "{checked}");
}

/// The command line of an answer gives that answer.
#[test]
fn command_lines_ask_the_same() {
    let path = "fixtures/xna_cf/pair_after.txt";
    let dump = heapdump::dump::open(cmd::project(path)).expect("a dump");
    let printed = |line: String| {
        let words = shlex::split(&line).expect("words");
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        printed(&words)
    };
    let shown = std::path::Path::new(path);
    let options = ObjectsOptions {
        order: Some(TYPE),
        limits: Limits { rows: Some(7), reverse: true },
        scope: ScopeOptions { types: Some(TypePattern::parse("System.*").unwrap().into()), ..ScopeOptions::default() },
        ..ObjectsOptions::default()
    };
    let answer = objects(&dump, &options).expect("a list");
    assert_eq!(json(&answer), printed(options.command_line().for_shell(Some(shown))));
    let id: ObjectId = answer.objects.id(0).parse().expect("an id");
    let options = ObjectOptions { max_references: Some(1), ..ObjectOptions::new(id.clone()) };
    let answer = object(&dump, &options).expect("an object");
    assert_eq!(json(&answer), printed(options.command_line().for_shell(Some(shown))));
    let avoided = vec![TypePattern::parse("System.String").unwrap(), TypePattern::parse("*List*").unwrap()];
    let options = RootPathsOptions {
        max_paths: Some(3),
        avoided_types: avoided,
        with_weak_roots: true,
        ..RootPathsOptions::new(id)
    };
    let answer = root_paths(&dump, &options).expect("paths");
    assert_eq!(json(&answer), printed(options.command_line().for_shell(Some(shown))));
}

#[test]
fn questions_about_objects_need_objects() {
    let trace = heapdump::dump::open(cmd::project("fixtures/memory_infra/seed-heaps_v2.trace")).expect("a dump");
    let id: ObjectId = "1".parse().expect("an id");
    assert_eq!(objects(&trace, &ObjectsOptions::default()).err(), Some(AnswerError::NeedsObjects));
    assert_eq!(object(&trace, &ObjectOptions::new(id.clone())).err(), Some(AnswerError::NeedsObjects));
    assert_eq!(root_paths(&trace, &RootPathsOptions::new(id)).err(), Some(AnswerError::NeedsObjects));
    let heap = Heap { objects: vec![object_of_nothing()], ..Heap::default() };
    let missing = object(&opened(&heap), &ObjectOptions::new("dead".parse().expect("an id"))).err();
    assert_eq!(missing, Some(AnswerError::NoSuchObject("dead".into())));
    run(&["show", "dead", "fixtures/xna_cf/pair_after.txt"]).expect_code(2);
}

fn object_of_nothing() -> crate::common::heap::Object {
    crate::common::heap::Object { type_name: "Plain", bytes: 8, references: vec![Target::Null] }
}

/// References to one object are a line; referrers that are too many are told by type.
#[test]
fn what_is_alike_is_shown_once() {
    let zoo = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
    let array =
        run(&["list", zoo, "-q", "--type", "java.lang.Object[]", "--sort", "references", "-f", "json", "-n", "0"]);
    let array = array.json()["objects"].as_array().expect("objects").clone();
    // The half-empty array holds itself ten times.
    let held = array.iter().find(|row| row["references"] == 10 && row["shallow_bytes"].as_u64() > Some(4000));
    let id = held.expect("the array")["id"].as_str().expect("an id").to_string();
    let shown = run_on_terminal(&format!("heapdump show {id} {zoo} -q"), 100).stdout;
    assert!(shown.contains("×10 "), "{shown}");
    let many = ["list", zoo, "-q", "--type", "=java.lang.Class[]", "--where", "referrers > 100", "-f", "json"];
    let id = run(&many).json()["objects"][0]["id"].as_str().expect("an id").to_string();
    let shown = run_on_terminal(&format!("heapdump show {id} {zoo} -q"), 100).stdout;
    assert!(
        shown.contains("more; -n 0 shows all")
            && shown.contains("Referrers by type")
            && shown.contains("  java.lang.Class"),
        "{shown}"
    );
}
