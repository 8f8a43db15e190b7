//! Figures and the sentences around them: types of one name, shares, plurals, sizes in two forms, and what each option
//! makes of a sentence.

use serde_json::Value;

use crate::common::cmd::{run, run_on_terminal, run_with_input};

const TWIN_TYPES: &str = "tests/inputs/twin_types.nettrace";
const TWIN_GROUP: &str = "tests/inputs/twin_group.nettrace";
const TWIN_ITEMS: &str = "tests/inputs/twin_items.nettrace";
const SAMPLED: &str = "tests/inputs/sampled_two_sizes.gcdump";
const SAMPLED_REAL: &str = "fixtures/gcdump/sampled-net31.gcdump.zst";
const NAMELESS: &str = "fixtures/nettrace/nonames-net9.nettrace.zst";
const SMALL: &str = "fixtures/nettrace/small-net9.nettrace.zst";
const SEVEN: &str = "tests/inputs/seven_percent.txt";
const BY_TYPE: &str = "tests/inputs/export_by_type.trace";

fn json(args: &[&str]) -> Value {
    run(&[args, &["-f", "json", "-q"]].concat()).expect_code(0).json()
}

/// What a terminal of 200 columns shows.
fn shown(line: &str) -> String {
    run_on_terminal(&format!("heapdump {line}"), 200).stdout
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a number: {value}"))
}

/// A1: multipliers of types merged under one name were averaged and put on all their bytes.
#[test]
fn a_sample_is_estimated_by_the_multipliers_of_its_own_types() {
    for (file, objects, bytes) in [(SAMPLED, 6, 5450), (SAMPLED_REAL, 2640, 555_768)] {
        for options in [&[][..], &["--raw-types"], &["--by", "package"], &["--by", "module"]] {
            let totals = &json(&[&["stats", file], options].concat())["totals"];
            let estimated = (number(&totals["estimated_objects"]), number(&totals["estimated_bytes"]));
            assert_eq!(estimated, (objects, bytes), "{file} {options:?}");
        }
    }
    let types = json(&["stats", SAMPLED])["types"].clone();
    assert_eq!(types.as_array().unwrap().len(), 1, "{types}");
    assert_eq!((&types[0]["estimated_objects"], &types[0]["estimated_bytes"]), (&6.into(), &5450.into()));
}

/// A2: rows of two type ids of one name overwrote each other.
#[test]
fn paths_of_types_of_one_name_are_added_up() {
    for options in [&[][..], &["--raw-types"]] {
        let diff = |file: &str| json(&[&["diff", file, file, "--paths", "--all"], options].concat());
        let twin = diff(TWIN_TYPES);
        assert_eq!(twin["paths"].as_array().unwrap().len(), 1);
        assert_eq!(
            (&twin["paths"][0]["objects_new"], &twin["paths"][0]["retained_bytes_new"]),
            (&2.into(), &150.into())
        );
        let rows = diff(NAMELESS);
        let rows = rows["paths"].as_array().unwrap().iter();
        let tops = rows.filter(|row| !row["path"].as_str().unwrap().contains(" > "));
        assert_eq!(tops.map(|row| number(&row["retained_bytes_new"])).sum::<u64>(), 620_200);
    }
}

/// A6: types of one name were two rows, two suspects and two items.
#[test]
fn types_of_one_name_are_one_wherever_they_are_grouped() {
    let suspects = json(&["leaks", "--threshold", "60%", TWIN_GROUP])["suspects"].clone();
    assert_eq!(suspects.as_array().unwrap().len(), 1, "{suspects}");
    let group = &suspects[0];
    assert_eq!(
        (&group["type"], &group["objects"], &group["retained_bytes"]),
        (&"Game.A".into(), &20.into(), &200.into())
    );
    assert_eq!(group["holds"], serde_json::json!([{"type": "Game.A", "objects": 20, "shallow_bytes": 200}]));

    let items = json(&["leaks", "--threshold", "60%", TWIN_ITEMS])["suspects"][0].clone();
    assert_eq!(items["accumulation_point"]["members"], 20);
    assert_eq!(items["holds"].as_array().unwrap().len(), 2);

    let tree = json(&["roots", "--type", "Game.A", TWIN_GROUP])["tree"].clone();
    assert_eq!(tree.as_array().unwrap().len(), 1, "{tree}");
    assert_eq!((&tree[0]["objects"], &tree[0]["retained_bytes"]), (&20.into(), &200.into()));

    let folded = run(&["export", "--to", "folded", TWIN_ITEMS, "-q"]).expect_code(0).stdout;
    assert_eq!(folded, "Game.B 10\nGame.B;Game.A 200\n");
    let rows = json(&["dominators", "--by", "type", TWIN_ITEMS])["types"].clone();
    assert_eq!(rows.as_array().unwrap().len(), 2, "{rows}");
}

/// What `--raw-types` is for stays.
#[test]
fn raw_types_tells_types_of_one_name_apart() {
    let types = |file: &str| json(&["stats", file, "--raw-types"])["types"].as_array().unwrap().len();
    assert_eq!((types(TWIN_TYPES), types(TWIN_GROUP), types(SAMPLED)), (2, 3, 2));
    let tree = json(&["roots", "--type", "Game.A", TWIN_GROUP, "--raw-types"])["tree"].clone();
    assert_eq!(tree.as_array().unwrap().len(), 2);
    // What is like one another goes by its name; what it holds, by type.
    let holds = json(&["leaks", "--threshold", "60%", TWIN_GROUP, "--raw-types"])["suspects"][0]["holds"].clone();
    let counts: Vec<_> = holds.as_array().unwrap().iter().map(|row| (&row["type"], &row["objects"])).collect();
    assert_eq!(counts, [(&"Game.A".into(), &10.into()); 2], "{holds}");
}

/// An index has the same rows as its dump.
#[test]
fn an_index_groups_as_its_dump_does() {
    let folder = tempfile::tempdir().unwrap();
    for options in [&[][..], &["--raw-types"]] {
        for (file, question) in [
            (TWIN_GROUP, &["leaks", "--threshold", "60%"][..]),
            (TWIN_GROUP, &["roots", "--type", "Game.A"]),
            (SAMPLED_REAL, &["stats"]),
        ] {
            let index = folder.path().join("twin.hdx").display().to_string();
            run(&[&["index", file, "-o", &index, "-q"], options].concat()).expect_code(0);
            let ask = |file: &str| json(&[question, options, &[file]].concat()).to_string();
            let looks_at_name = |answer: String| answer.replace(&index, file);
            assert_eq!(looks_at_name(ask(&index)), ask(file), "{question:?} {options:?}");
        }
    }
}

/// A4: objects that lost their roots on request were said to be on the frozen heap.
#[test]
fn only_what_has_no_root_in_the_dump_is_on_the_frozen_heap() {
    let without = ["--exclude-roots", "static", "--exclude-roots", "handle", "--exclude-roots", "local"];
    let stats = json(&[&["stats", SMALL], &without[..]].concat());
    assert_eq!(stats["unreachable_are_alive"], false);
    assert_eq!(stats["totals"]["excluded_roots_objects"], 2634);
    assert_eq!(json(&["stats", SMALL])["unreachable_are_alive"], true);
    let sentence = run(&["roots", "0x1000", TWIN_TYPES, "--exclude-roots", "local"]).expect_code(1).stderr;
    assert!(
        sentence.contains("0x1000 is not reachable from any strong root but those that --exclude-roots leaves out")
    );
    assert!(!sentence.contains("frozen"), "{sentence}");

    let text = shown(&format!("stats {SMALL} {}", without.join(" ")));
    assert!(text.contains("\n85 objects have no root but are alive: they are on the frozen heap\n"), "{text}");
    assert!(text.contains("\n2,634 objects lost their roots on request (--exclude-roots)\n"), "{text}");
    for line in [
        format!("stats {TWIN_TYPES} --exclude-roots local"),
        format!("roots 0x1000 {TWIN_TYPES} --exclude-roots local"),
    ] {
        let text = shown(&line);
        assert!(!text.contains("frozen"), "{text}");
    }
}

/// A7: "of all that is reachable" was of a section; roots given on request counted as roots of the dump.
#[test]
fn sentences_name_what_they_speak_of() {
    let two = "a 2 one.exe\nt 1 A\no 10 1 100\nr 10 1 0\nc one.exe\na 2 two.exe\nt 1 B\no 20 1 40\no 30 1 20\nr 20 1 0\nc two.exe\n";
    let text = |args: &[&str]| {
        let leaks =
            run_with_input(&[&["leaks", "-f", "json", "-q"], args].concat(), two.as_bytes()).expect_code(0).json();
        leaks["suspects"][0]["text"].as_str().unwrap().to_string()
    };
    assert!(
        text(&["--domain", "2"]).contains(" 100.0 % of all that is reachable in section 2 (two.exe), in 1 object.")
    );
    assert!(text(&[]).contains(" 80.0 % of all that is reachable, in 1 object."));
    assert!(text(&["--keep-unreachable"]).contains(" % of all that is reachable or given roots on request, in 1"));

    let stats = run_with_input(&["stats", "--keep-unreachable", "-f", "json"], two.as_bytes()).expect_code(0).json();
    assert_eq!(
        (&stats["totals"]["reachable_objects"], &stats["totals"]["given_roots_objects"]),
        (&3.into(), &1.into())
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.txt");
    std::fs::write(&file, two).unwrap();
    let file = file.display();
    let text = shown(&format!("stats --keep-unreachable {file}"));
    assert!(
        text.contains("in 2 objects reachable from roots, 90.9 %; the others were given roots on request\n"),
        "{text}"
    );
    let text = shown(&format!("dominators --keep-unreachable {file}"));
    assert!(text.contains("in 3 objects reachable from roots or given roots on request\n"), "{text}");
    let text = shown(&format!("breakdown --domain 2 {file}"));
    assert!(text.contains("section 2 (two.exe), types on the way") && !text.contains("all sections"), "{text}");
}

/// A9: no allocations were an unknown number of them; `--invert` left objects without bytes out.
#[test]
fn no_allocations_are_0_and_objects_of_0_bytes_are_counted() {
    for options in [&[][..], &["--invert"], &["--by", "type"]] {
        let heap = json(&[&["breakdown", "tests/inputs/empty.txt"], options].concat())["heaps"][0].clone();
        assert_eq!((&heap["allocations"], &heap["tree"]["allocations"]), (&0.into(), &0.into()), "{options:?}");
    }
    let dump = "a 2 x.exe\nt 1 A\nt 2 B\no 10 1 8 20\no 20 2 0\nr 10 1 0\nc x.exe\n";
    let args = ["breakdown", "--invert", "--min-bytes", "0", "-f", "json"];
    let tree = run_with_input(&args, dump.as_bytes()).expect_code(0).json()["heaps"][0]["tree"].clone();
    let children = tree["children"].as_array().unwrap();
    let counts: Vec<u64> = children.iter().map(|child| number(&child["allocations"])).collect();
    assert_eq!((number(&tree["allocations"]), &counts[..]), (2, &[1, 1][..]), "{tree}");

    // What holds others has a part of its own, though it has no bytes.
    let dump = "a 2 x.exe\nt 1 A\nt 2 B\no 10 1 0 20\no 20 2 8\nr 10 1 0\nc x.exe\n";
    let args = ["breakdown", "--min-bytes", "0", "-f", "jsonl"];
    let rows = run_with_input(&args, dump.as_bytes()).expect_code(0).stdout;
    let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: Vec<_> = rows.iter().map(|row| (row["name"].as_str().unwrap(), number(&row["allocations"]))).collect();
    assert_eq!(said, [("/", 2), ("A", 2), ("B", 1), ("<self>", 1)]);
}

/// A11: 7 % of 100 bytes were more than 7 bytes.
#[test]
fn what_has_exactly_the_smallest_share_stays() {
    let names = |args: &[&str]| -> Vec<String> {
        let tree = json(args)["heaps"][0]["tree"].clone();
        let children = tree["children"].as_array().unwrap().iter();
        children.map(|child| child["name"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(names(&["breakdown", SEVEN, "--min-percent", "7"]), ["A", "B", "<other>"]);
    assert_eq!(names(&["breakdown", SEVEN, "--min-bytes", "7%"]), ["A", "B", "<other>"]);
    assert_eq!(names(&["breakdown", SEVEN, "--min-percent", "7.1"]), ["A", "<other>"]);
    assert_eq!(json(&["leaks", SEVEN, "--threshold", "7%"])["suspects"].as_array().unwrap().len(), 2);
    let folded = |least: &str| run(&["export", "--to", "folded", "--min-bytes", least, SEVEN]).expect_code(0).stdout;
    assert_eq!(folded("7%"), "<smaller> 3\nA 90\nB 7\n");
    assert_eq!(folded("7.1%"), "<smaller> 10\nA 90\n");
    // Of what was taken so far: 7 of 97.
    let export = |percent: &str| {
        let args = ["export", "--to", "memory-infra", "--min-percent", percent, SEVEN];
        let trace = run(&args).expect_code(0).json();
        trace["traceEvents"][0]["args"]["dumps"]["heaps"]["objects"]["entries"].as_array().unwrap().len()
    };
    assert!(export("7") > export("7.3"));
    // One byte more than a tenth is more than a tenth, though a tenth is no whole number.
    let old = "a 2 x\nt 1 A\no 10 1 69\nr 10 1 0\nc x\n";
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let old_file = write("old.txt", old);
    for (grown, code) in [("73", 0), ("74", 1)] {
        let new = write("new.txt", &old.replace("69", grown));
        run(&["diff", &old_file, &new, "--fail-over", "10%"]).expect_code(code);
    }
}

/// A12: the exported file had a `<self>` of 100 % below a frame.
#[test]
fn an_exported_heap_has_the_tree_it_was_made_of() {
    let folder = tempfile::tempdir().unwrap();
    for file in
        [BY_TYPE, "fixtures/memory_infra/seed-heaps_v2.trace", "fixtures/memory_infra/chromium120-heaps_v2.trace.gz"]
    {
        let exported = folder.path().join("exported.trace").display().to_string();
        run(&["export", "--to", "memory-infra", file, "-o", &exported, "-q"]).expect_code(0);
        for by in ["type", "both", "backtrace"] {
            let trees = |file: &str| -> Vec<Value> {
                let answer = json(&["breakdown", "--by", by, "--depth", "6", file]);
                answer["heaps"].as_array().unwrap().iter().map(|heap| heap["tree"].clone()).collect()
            };
            assert!(trees(file) == trees(&exported), "{file} --by {by}");
        }
    }
}

/// A14: "1 objects of 1 types"; 1024.0 KiB.
#[test]
fn one_is_singular_and_sizes_take_the_next_unit() {
    let one = "tests/inputs/one.txt";
    let text = shown(&format!("stats {one}"));
    assert!(text.contains(" in 1 object of 1 type\n") && text.contains(" in 1 object reachable from roots"), "{text}");
    let text = shown(&format!("info {one}"));
    assert!(text.contains("1 app domain, 1 type, 1 object, 0 references, 1 root, 1 end\n"), "{text}");
    assert!(text.contains("x.exe: 1 object, 24 B"), "{text}");
    let text = shown(&format!("dominators {one}"));
    assert!(text.contains(" in 1 object reachable from roots\n"), "{text}");
    let text = shown(&format!("roots --type A {one}"));
    assert!(text.contains(" of 1 object has a path from a root"), "{text}");
    let dump = "a 2 x\nt 1 A\no 10 1 ffff0 20\no 20 1 10\nr 10 1 0\nc x\n";
    let human = run_with_input(&["stats", "--human", "--no-header"], dump.as_bytes()).expect_code(0).stdout;
    assert_eq!(human.split_whitespace().nth(1), Some("1.0MiB"), "{human}");
    let human = run_with_input(&["list", "--human", "--no-header"], dump.as_bytes()).expect_code(0).stdout;
    assert_eq!(human.split_whitespace().nth(1), Some("1.0MiB"), "{human}");
}

/// A18: what members keep was only in the text, and `holds` had no end.
#[test]
fn leaks_as_json_says_what_is_kept_and_the_largest_types() {
    let mut dump = String::from("a 2 x\nt 1 Game.Top\n");
    (2..=30).for_each(|kind| dump += &format!("t {kind:x} Game.T{kind}\n"));
    let ids: Vec<String> = (2..=30).map(|kind| format!("{:x}", 0x100 * kind)).collect();
    dump += &format!("o 10 1 8 {}\n", ids.join(" "));
    (2..=30).for_each(|kind| dump += &format!("o {:x} {kind:x} {:x}\n", 0x100 * kind, 0x10 * kind));
    dump += "r 10 1 0\nc x\n";
    let suspect =
        run_with_input(&["leaks", "-f", "json"], dump.as_bytes()).expect_code(0).json()["suspects"][0].clone();
    let holds = suspect["holds"].as_array().unwrap();
    let sum = |key: &str| holds.iter().map(|row| number(&row[key])).sum::<u64>();
    assert_eq!((holds.len(), &holds[20]["type"], &holds[20]["types"]), (21, &"<other>".into(), &10.into()));
    assert_eq!(sum("objects"), number(&suspect["retained_objects"]));
    assert_eq!(sum("shallow_bytes"), number(&suspect["retained_bytes"]));
    assert_eq!(suspect.get("keeping"), Some(&Value::Null));

    let mut dump = String::from("a 2 x\nt 1 System.Object[]\nt 2 System.Box\nt 3 Game.Item\n");
    let boxes: Vec<String> = (1..=6).map(|at| format!("{:x}", 0x1000 * at)).collect();
    dump += &format!("o 10 1 20 {}\n", boxes.join(" "));
    (1..=6).for_each(|at| {
        dump += &format!("o {:x} 2 10 {:x}\no {:x} 3 100\n", 0x1000 * at, 0x1000 * at + 8, 0x1000 * at + 8)
    });
    dump += "r 10 1 0\nc x\n";
    let suspect =
        run_with_input(&["leaks", "-f", "json"], dump.as_bytes()).expect_code(0).json()["suspects"][0].clone();
    assert_eq!(suspect["keeping"], serde_json::json!({"type": "Game.Item", "objects": 6}));
}

/// B12: 38460 in one command, 38,460 in another.
#[test]
fn plain_numbers_on_a_terminal_have_one_form() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.txt");
    std::fs::write(&file, "a 2 x\nt 1 A\no 10 1 963c\nr 10 1 0\nc x\n").unwrap();
    let file = file.display();
    for command in [
        "stats",
        "list",
        "show 10",
        "roots 10",
        "roots --type A",
        "dominators",
        "breakdown",
        "breakdown --invert",
        "leaks",
        "info",
    ] {
        let text = shown(&format!("{command} {file} --bytes"));
        assert!(text.contains("38,460") && !text.contains("38460") && !text.contains("KiB"), "{command}\n{text}");
    }
}
