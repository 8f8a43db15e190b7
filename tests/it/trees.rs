//! Trees as the library gives them: by definition, and the same as the commands print.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use heapdump::analysis::threshold::Threshold;
use heapdump::analysis::type_patterns::TypePattern;
use heapdump::answers::breakdown::{Breakdown, BreakdownBy, BreakdownRowKind};
use heapdump::answers::dominator_tree::DominatorRows;
use heapdump::answers::figure::RETAINED;
use heapdump::answers::tree::LazyTree;
use heapdump::answers::{
    AnswerError, BreakdownOptions, DominatorTreeOptions, GroupBy, Limits, MergedPathsOptions, ScopeOptions, breakdown,
    dominator_tree, merged_paths,
};
use heapdump::dump::OpenDump;
use proptest::prelude::*;
use serde::Serialize;

use crate::common::cmd::{run, run_with_input};
use crate::common::heap::Heap;
use crate::common::questions;
use crate::common::synth::xna_cf;
use crate::common::synth_java::{Held, JavaDump};
use crate::oracle::heaps;

const GAME: &str = "fixtures/xna_cf/small_1k.txt";
const TRACE: &str = "fixtures/memory_infra/chromium66-heaps.trace.gz";

fn open(heap: &Heap) -> OpenDump {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(xna_cf(heap).as_bytes()).unwrap();
    heapdump::dump::open(file.path()).unwrap()
}

fn pattern(text: &str) -> TypePattern {
    TypePattern::parse(text).unwrap()
}

fn json(answer: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(answer).unwrap()
}

/// The answer's JSON is what the command prints, byte for byte.
fn assert_same(answer: &impl Serialize, args: &[&str]) {
    let printed = run(&[args, &["-f", "json", "-q"]].concat()).expect_code(0).stdout;
    let schema = format!("{{\"schema\":\"heapdump.{}/1\",", args[0]);
    let answer = serde_json::to_string(answer).unwrap().replacen('{', &schema, 1) + "\n";
    assert_eq!(answer, printed, "{args:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_dominator_tree_agrees_with_the_definition(heap in heaps(14, 2), rows in 1usize..4) {
        let dump = open(&heap);
        let all = dominator_tree(&dump, &DominatorTreeOptions { depth: 500, ..Default::default() }).unwrap();
        let DominatorRows::Objects { nodes: all } = all.rows else { panic!("no objects") };
        let mut path: Vec<u64> = Vec::new();
        let mut seen = 0;
        for place in all.iter() {
            path.truncate(place.depth as usize);
            let object = (0..heap.objects.len()).find(|&o| format!("{:x}", Heap::address(o)) == place.row.id).unwrap();
            prop_assert_eq!(Some(place.row.retained_bytes), heap.retained_bytes(object));
            prop_assert!(place.hidden_after == 0 && path.len() == place.depth as usize);
            // What dominates it goes with it.
            prop_assert!(path.last().is_none_or(|&above| above >= place.row.retained_bytes));
            path.push(place.row.retained_bytes);
            seen += 1;
        }
        prop_assert_eq!(seen, heap.reach(&heap.strong_starts(), None).iter().filter(|&&reached| reached).count());
        // The cut tree has the first rows of each level, and says how many are missing.
        let limits = Limits { rows: Some(rows), reverse: false };
        let cut = dominator_tree(&dump, &DominatorTreeOptions { depth: 500, limits, ..Default::default() }).unwrap();
        let DominatorRows::Objects { nodes: cut } = cut.rows else { panic!("no objects") };
        let mut expected = Vec::new();
        let mut places: Vec<usize> = Vec::new();
        let mut hidden_at = None;
        for place in all.iter() {
            let depth = place.depth as usize;
            if hidden_at.is_some_and(|at| depth > at) {
                continue;
            }
            places.resize(depth + 1, 0);
            places[depth] += 1;
            places.truncate(depth + 1);
            hidden_at = (places[depth] > rows).then_some(depth);
            if hidden_at.is_none() {
                expected.push(place.row.id);
            }
        }
        prop_assert_eq!(cut.iter().map(|place| place.row.id).collect::<Vec<_>>(), expected);
        let count = |depth: u32| all.iter().filter(|place| place.depth == depth).count();
        let hidden: u32 = cut.iter().filter(|place| place.depth == 0).map(|place| place.hidden_after).sum();
        prop_assert_eq!(hidden as usize, count(0).saturating_sub(rows));
    }
}

#[test]
fn answers_are_what_the_commands_print() {
    let dump = heapdump::dump::open(crate::common::cmd::project(GAME)).unwrap();
    let types = || ScopeOptions { types: Some(pattern("*Level*").into()), ..ScopeOptions::default() };
    let limits = Limits { rows: Some(3), reverse: false };
    let tree = |options: DominatorTreeOptions| dominator_tree(&dump, &options).unwrap();
    let all = Limits::default();
    let default = DominatorTreeOptions::default;
    assert_same(&tree(default()), &["dominators", GAME]);
    assert_same(
        &tree(DominatorTreeOptions { depth: 4, limits, ..default() }),
        &["dominators", GAME, "--depth", "4", "-n", "3"],
    );
    let by = DominatorTreeOptions { group_by: Some(GroupBy::Package), limits: all, ..default() };
    assert_same(&tree(by), &["dominators", GAME, "--by", "package"]);
    assert_same(
        &tree(DominatorTreeOptions { scope: types(), ..default() }),
        &["dominators", GAME, "--type", "*Level*"],
    );
    let paths = merged_paths(&dump, &MergedPathsOptions::new(pattern("*Level*"))).unwrap();
    assert_same(&paths, &["roots", "--type", "*Level*", GAME]);
}

#[test]
fn breakdowns_of_both_models_are_what_the_command_prints() {
    let objects = heapdump::dump::open(crate::common::cmd::project(GAME)).unwrap();
    let trace = heapdump::dump::open(crate::common::cmd::project(TRACE)).unwrap();
    assert_same(&breakdown(&objects, &BreakdownOptions::default()).unwrap(), &["breakdown", GAME]);
    assert_same(&breakdown(&trace, &BreakdownOptions::default()).unwrap(), &["breakdown", TRACE]);
    for (by, args) in [(BreakdownBy::Both, ["--by", "both"].as_slice()), (BreakdownBy::Caller, &["--invert"])] {
        let options = BreakdownOptions { by, depth: Some(6), ..BreakdownOptions::default() };
        let line = options.command_line().for_shell(Some(TRACE.as_ref()));
        assert_eq!(line, format!("heapdump breakdown {} --depth 6 -n 0 {TRACE}", args.join(" ")));
        let answer = breakdown(&trace, &options).unwrap();
        assert_same(&answer, &line.split(' ').skip(1).collect::<Vec<_>>());
        // Along one axis the children of a node and what is left are the node.
        for heap in answer.heaps.iter().filter(|_| by == BreakdownBy::Caller) {
            let rows = heap.tree.rows();
            assert_eq!(rows[0].row.bytes, heap.heap.total_bytes);
            for (at, place) in rows.iter().enumerate() {
                let below = rows[at + 1..].iter().take_while(|below| below.depth > place.depth);
                let children: Vec<u64> =
                    below.filter(|below| below.depth == place.depth + 1).map(|below| below.row.bytes).collect();
                let is_whole = children.is_empty() || children.iter().sum::<u64>() == place.row.bytes;
                assert!(
                    is_whole && (place.hidden_after == 0 || place.row.kind == BreakdownRowKind::Other),
                    "{}",
                    place.row.name
                );
            }
        }
    }
}

/// The objects that go with one, by definition.
fn retained_by(heap: &Heap, object: usize) -> BTreeSet<usize> {
    let starts = heap.strong_starts();
    let (with, without) = (heap.reach(&starts, None), heap.reach(&starts, Some(object)));
    (0..heap.objects.len()).filter(|&other| with[other] && !without[other]).collect()
}

/// (objects, bytes) by the types on the way down from an object, itself left out, to those that it retains. On the way
/// to an object are those that retain it: the more one of them retains the higher it is.
fn by_types_below(heap: &Heap, object: usize) -> BTreeMap<Vec<&'static str>, (u64, u64)> {
    let retained: Vec<BTreeSet<usize>> = (0..heap.objects.len()).map(|above| retained_by(heap, above)).collect();
    let mut found: BTreeMap<Vec<&str>, (u64, u64)> = BTreeMap::new();
    for &below in &retained[object] {
        let mut way: Vec<usize> = retained[object].iter().copied().filter(|&o| retained[o].contains(&below)).collect();
        way.sort_by_key(|&above| std::cmp::Reverse(retained[above].len()));
        assert_eq!(way[0], object);
        let types: Vec<&str> = way[1..].iter().map(|&above| heap.objects[above].type_name).collect();
        for length in 0..=types.len() {
            let figures = found.entry(types[..length].to_vec()).or_default();
            figures.0 += 1;
            figures.1 += heap.objects[below].bytes;
        }
    }
    found
}

/// Children and what is left are their parent, to the byte and the object.
fn assert_sums(answer: &Breakdown<'_>) -> Result<(), TestCaseError> {
    let rows = answer.heaps[0].tree.rows();
    prop_assert_eq!(rows[0].row.bytes, answer.heaps[0].heap.total_bytes);
    for (at, place) in rows.iter().enumerate() {
        let below = rows[at + 1..].iter().take_while(|below| below.depth > place.depth);
        let children: Vec<_> = below.filter(|below| below.depth == place.depth + 1).collect();
        let bytes: u64 = children.iter().map(|child| child.row.bytes).sum();
        let objects: u64 = children.iter().map(|child| child.row.allocations.unwrap()).sum();
        let is_whole = (bytes, Some(objects)) == (place.row.bytes, place.row.allocations);
        prop_assert!(children.is_empty() || is_whole, "{:?} below {:?}", children, place);
        prop_assert!(place.hidden_after == 0 || place.row.kind == BreakdownRowKind::Other);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_breakdown_of_an_object_is_what_it_retains(heap in heaps(14, 2), rows in 1usize..3, least in 0u64..600) {
        let dump = open(&heap);
        for object in 0..heap.objects.len() {
            let id = Some(format!("{:x}", Heap::address(object)).parse().unwrap());
            let all = BreakdownOptions { object: id, min_size: Some(Threshold::Bytes(0)), ..Default::default() };
            let answer = breakdown(&dump, &all).unwrap();
            let Some(bytes) = heap.retained_bytes(object) else {
                prop_assert!(answer.heaps.is_empty() && answer.unreachable_object_id.is_some());
                continue;
            };
            assert_sums(&answer)?;
            let row = &answer.heaps[0];
            let asked = row.object.as_ref().unwrap();
            prop_assert_eq!((asked.retained_bytes, &*asked.type_name), (bytes, heap.objects[object].type_name));
            // Every node by definition; what a node has itself is what its children have not.
            let mut expected = by_types_below(&heap, object);
            let mut path: Vec<&str> = Vec::new();
            for place in answer.heaps[0].tree.rows() {
                let figures = (place.row.allocations.unwrap(), place.row.bytes);
                if place.row.kind == BreakdownRowKind::SelfCost {
                    prop_assert!(place.depth > 1 || figures == (1, heap.objects[object].bytes));
                    continue;
                }
                path.truncate((place.depth as usize).saturating_sub(1));
                if place.depth > 0 {
                    path.push(place.row.name);
                }
                prop_assert_eq!(expected.remove(&path), Some(figures), "{:?}", path);
            }
            prop_assert!(expected.is_empty(), "{expected:?}");
            // Cut in every way: the object's own bytes stay, and the sums too.
            let limits = Limits { rows: Some(rows), reverse: false };
            let by_all = [BreakdownBy::Backtrace, BreakdownBy::Type, BreakdownBy::Caller];
            for by in by_all {
                let cut = BreakdownOptions { by, limits, min_size: Some(Threshold::Bytes(least)), ..all.clone() };
                let answer = breakdown(&dump, &cut).unwrap();
                assert_sums(&answer)?;
                let below = answer.heaps[0].tree.rows();
                let own = below.iter().find(|place| (place.depth, place.row.kind) == (1, BreakdownRowKind::SelfCost));
                let has_own = own.is_some_and(|own| own.row.bytes == heap.objects[object].bytes);
                prop_assert!(has_own || by != BreakdownBy::Backtrace || retained_by(&heap, object).len() == 1);
            }
        }
    }
}

#[test]
fn breakdowns_of_objects_agree_with_the_dominators_in_every_format() {
    let mut checked = 0;
    for fixture in crate::common::fixtures::all() {
        let Ok(dump) = heapdump::dump::open(&fixture.path) else { continue };
        let file = fixture.name();
        for id in questions::ids(&dump, Some(RETAINED), Some(4)) {
            let object = Some(id.clone());
            let tree = DominatorTreeOptions { object: object.clone(), ..Default::default() };
            let shown = json(&dominator_tree(&dump, &tree).unwrap())["nodes"][0].clone();
            let min_size = Some(Threshold::Bytes(0));
            let options = BreakdownOptions { object, min_size, depth: Some(1), ..Default::default() };
            let answer = json(&breakdown(&dump, &options).unwrap());
            if shown.is_null() {
                assert_eq!(answer["heaps"], serde_json::json!([]), "{id} {file}");
                continue;
            }
            let heap = &answer["heaps"][0];
            let tree = &heap["tree"];
            for key in ["id", "type", "class", "retained_bytes"] {
                assert_eq!(heap["object"][key], shown[key], "{id} {file}");
            }
            assert_eq!((&tree["name"], &tree["bytes"]), (&shown["type"], &shown["retained_bytes"]), "{id} {file}");
            assert_eq!((&heap["total_bytes"], &tree["allocations"]), (&tree["bytes"], &shown["dominated_objects"]));
            let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
            for child in shown["children"].as_array().unwrap() {
                let bytes = expected.entry(child["type"].as_str().unwrap()).or_default();
                *bytes += child["retained_bytes"].as_u64().unwrap();
            }
            if !expected.is_empty() {
                expected.insert("<self>", shown["shallow_bytes"].as_u64().unwrap());
            }
            let children = tree["children"].as_array().unwrap().iter();
            let found = children.map(|row| (row["name"].as_str().unwrap(), row["bytes"].as_u64().unwrap())).collect();
            assert_eq!(expected, found, "{id} {file}");
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn breakdowns_of_an_object_in_every_form_and_their_errors() {
    let dump = heapdump::dump::open(crate::common::cmd::project(GAME)).unwrap();
    let object = Some("1#7fe2d".parse().unwrap());
    let limits = Limits { rows: Some(2), reverse: false };
    for by in [BreakdownBy::Backtrace, BreakdownBy::Type, BreakdownBy::Both, BreakdownBy::Caller] {
        let options = BreakdownOptions { object: object.clone(), by, limits, ..Default::default() };
        let line = options.command_line().for_shell(Some(GAME.as_ref()));
        assert!(line.ends_with(&format!("1#7fe2d {GAME}")), "{line}");
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        assert_same(&breakdown(&dump, &options).unwrap(), &words);
    }
    // Of some types alone: the tree has what these have, the object what it retains.
    let strings = run(&["breakdown", "1#7fe2d", GAME, "-q", "-f", "json", "--type", "System.String"]).expect_code(0);
    let heap = strings.json()["heaps"][0].clone();
    assert_eq!((&heap["object"]["retained_bytes"], &heap["tree"]["bytes"]), (&68940.into(), &heap["total_bytes"]));
    assert!(heap["total_bytes"].as_u64() < Some(68940));
    // The section of the object asked for is its own; what it retains may be in others.
    let code = |args: &[&str], code: i32| run(&[&["breakdown"], args].concat()).expect_code(code);
    code(&["7fe2d", GAME, "--domain", "1"], 0);
    assert!(code(&["1#7fe2d", GAME, "--domain", "2"], 2).stderr.contains("--domain"));
    assert!(code(&["123456", GAME], 2).stderr.contains("no object 123456 in the dump"));
    assert!(code(&["nofile.txt"], 2).stderr.contains("neither a file nor an object id"));
    assert!(code(&["1", TRACE], 2).stderr.contains("no objects"));
    let trace = heapdump::dump::open(crate::common::cmd::project(TRACE)).unwrap();
    let options = BreakdownOptions { object, ..Default::default() };
    assert!(matches!(breakdown(&trace, &options), Err(AnswerError::StartObjectNeedsObjectDump(_))));
    // A lone word is FILE where such a file exists, else OBJID of the dump on standard input.
    let text = std::fs::read(crate::common::cmd::project(GAME)).unwrap();
    let piped = run_with_input(&["breakdown", "1#7fe2d", "-q"], &text).expect_code(0).stdout;
    assert_eq!(piped, code(&["1#7fe2d", GAME, "-q"], 0).stdout);
    for form in ["table", "markdown", "csv", "tsv", "json", "jsonl"] {
        let stats = run(&["list", "--ids", "-q", GAME, "--sort", "retained", "--reverse", "-n", "1"]).expect_code(0);
        let ran = code(&[stats.stdout.trim(), GAME, "-f", form, "-q"], 1);
        assert!(ran.stderr.contains("is not reachable from any strong root"), "{}", ran.stderr);
    }
}

#[test]
fn command_lines_ask_the_same() {
    let dump = heapdump::dump::open(crate::common::cmd::project(GAME)).unwrap();
    let limits = Limits { rows: Some(2), reverse: true };
    let options = DominatorTreeOptions { depth: 3, limits, ..Default::default() };
    let line = options.command_line().for_shell(Some(GAME.as_ref()));
    assert_eq!(line, format!("heapdump dominators --depth 3 --reverse -n 2 {GAME}"));
    assert_same(&dominator_tree(&dump, &options).unwrap(), &line.split(' ').skip(1).collect::<Vec<_>>());
    let options = MergedPathsOptions { avoided_types: vec![pattern("X")], ..MergedPathsOptions::new(pattern("Level")) };
    let line = options.command_line().for_shell(Some(GAME.as_ref()));
    assert_eq!(line, format!("heapdump roots --exclude X -n 0 --type Level {GAME}"));
    assert_same(&merged_paths(&dump, &options).unwrap(), &line.split(' ').skip(1).collect::<Vec<_>>());
}

/// `T.root` is an `A`, behind which a `B` and an `A` again hold the leaf; a list of 3,000 nodes ends with one, and so does the
/// way down a tree.
#[test]
fn merged_paths_have_every_step_and_count_chains() {
    let mut dump = JavaDump::new();
    let none = Held::Reference(0);
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let statics = [("root", Held::Reference(0x10)), ("list", Held::Reference(0x1000)), ("tree", Held::Reference(0x90))];
    dump.class("app.T", object, &[], &statics);
    let (a, b) =
        (dump.class("app.A", object, &[("next", none)], &[]), dump.class("app.B", object, &[("b", none)], &[]));
    let node = dump.class("app.Node", object, &[("next", none), ("value", none)], &[]);
    let fork = dump.class("app.Fork", object, &[("left", none), ("right", none)], &[]);
    let leaves = ["First", "Second", "Third"].map(|name| dump.class(&format!("app.{name}Leaf"), object, &[], &[]));
    for (id, class, held) in [(0x10, a, 0x20), (0x20, b, 0x30), (0x30, a, 0x40), (0x40, leaves[0], 0)] {
        dump.instance(id, class, &[Held::Reference(held)][..usize::from(held != 0)]);
    }
    const LENGTH: u64 = 3000;
    for number in 0..LENGTH {
        let is_last = number + 1 == LENGTH;
        let next = if is_last { 0 } else { 0x1000 + 16 * (number + 1) };
        dump.instance(
            0x1000 + 16 * number,
            node,
            &[Held::Reference(next), Held::Reference(if is_last { 0x50 } else { 0 })],
        );
    }
    dump.instance(0x50, leaves[1], &[]);
    // Left, right, left, right: the last holds the leaf.
    for (id, left, right) in [(0x90, 0xa0, 0), (0xa0, 0, 0xb0), (0xb0, 0xc0, 0), (0xc0, 0, 0xd0), (0xd0, 0x60, 0)] {
        dump.instance(id, fork, &[Held::Reference(left), Held::Reference(right)]);
    }
    dump.instance(0x60, leaves[2], &[]);
    let bytes = dump.finish();
    let path = |args: &[&str]| -> Vec<(String, String, u64)> {
        let tree = run_with_input_file(args, &bytes);
        let mut row = &tree["tree"][0];
        let mut rows = Vec::new();
        loop {
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_string();
            rows.push((text("reference"), text("type"), row["chain_objects"].as_u64().unwrap_or(1)));
            let Some(below) = row["children"].get(0) else { return rows };
            row = below;
        }
    };
    let expected = |rows: &[(&str, &str, u64)]| -> Vec<(String, String, u64)> {
        rows.iter().map(|&(name, type_name, chain)| (name.into(), type_name.into(), chain)).collect()
    };
    for args in [&["--type", "app.FirstLeaf"][..], &["0x40", "--merge"]] {
        let steps = [("", "java.lang.Class", 1), ("static T.root", "app.A", 1), (".next", "app.B", 1)];
        let ends = [(".b", "app.A", 1), (".next", "app.FirstLeaf", 1)];
        assert_eq!(path(args), expected(&[&steps[..], &ends].concat()), "{args:?}");
    }
    let list = [("static T.list", "app.Node", 1), (".next", "app.Node", LENGTH - 1), (".value", "app.SecondLeaf", 1)];
    assert_eq!(path(&["--type", "app.SecondLeaf"])[1..], expected(&list));
    let tree = [(".left", "app.Fork", 1), (".right, .left", "app.Fork", 3), (".left", "app.ThirdLeaf", 1)];
    assert_eq!(path(&["--type", "app.ThirdLeaf"])[2..], expected(&tree));
    let (_folder, file) = as_file(&bytes);
    let text = run(&["roots", "--type", "app.SecondLeaf", &file, "-q", "--pretty", "--color", "never"]).stdout;
    assert!(text.contains(".next  app.Node × 2,999\n"), "{text}");
    let csv = run(&["roots", "--type", "app.SecondLeaf", &file, "-q", "-f", "csv"]).stdout;
    assert!(csv.contains("\n2,1,16,2999,.next,app.Node\n"), "{csv}");
}

/// Chains of one type and of two fold, and the path of types that is left is one of the heap.
#[test]
fn paths_of_types_fold_repeats_alone() {
    let mut dump = String::from("a 1 App 1\nt 1 All\nt 2 A\nt 3 B\nt 4 Leaf\nt 5 C\n");
    // All holds A > B > A > C, and A > B > A > B > ... > Leaf, and C > C > C.
    dump += "o 10 1 8 20 40 30\nr 10 4 0 1\no 20 2 8 21\no 21 3 8 22\no 22 2 8 23\no 23 5 8\n";
    dump += "o 30 5 8 31\no 31 5 8 32\no 32 5 8\n";
    (0x40..0x440).for_each(|id| dump += &format!("o {id:x} {} 8 {:x}\n", 2 + id % 2, id + 1));
    dump += "o 440 4 8\n";
    let folded =
        run_with_input(&["export", "--to", "folded", "--min-bytes", "0"], dump.as_bytes()).expect_code(0).stdout;
    let paths: Vec<&str> = folded.lines().map(|line| line.rsplit_once(' ').unwrap().0).collect();
    let expected = ["All", "All;A", "All;A;B", "All;A;B;A", "All;A;B;A;C", "All;A;B;Leaf", "All;C"];
    assert_eq!(BTreeSet::from_iter(paths), BTreeSet::from(expected));
}

fn as_file(bytes: &[u8]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dump");
    std::fs::write(&file, bytes).unwrap();
    let name = file.to_str().unwrap().to_string();
    (folder, name)
}

/// `roots` on a dump, as JSON.
fn run_with_input_file(args: &[&str], bytes: &[u8]) -> serde_json::Value {
    let (_folder, file) = as_file(bytes);
    let (before, after) = if args[0] == "--type" { (&args[..2], &args[2..]) } else { (&args[..1], &args[1..]) };
    run(&[&["roots"], before, &[file.as_str()], after, &["-q", "-f", "json"]].concat()).expect_code(0).json()
}
