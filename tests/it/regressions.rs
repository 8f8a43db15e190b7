//! What was once wrong, each with the sentence that describes it.

use crate::common::cmd::{run, run_with_input};
use crate::common::graph;
use serde_json::Value;

fn info(dump: &str) -> Value {
    run_with_input(&["info", "-f", "json"], dump.as_bytes()).expect_code(0).json()
}

fn problems(value: &Value) -> Vec<(String, u64)> {
    let list = value["problems"].as_array().unwrap().iter();
    list.map(|problem| (problem["code"].as_str().unwrap().to_string(), problem["count"].as_u64().unwrap())).collect()
}

/// "Room 101" at both ends was read as a room at 257 ms.
#[test]
fn names_that_end_in_a_number_are_names() {
    for name in ["Room 101", "Dead Face", "a b c", "x 1f3a"] {
        let section = &info(&format!("a 2 {name}\nc {name}\n"))["sections"][0];
        assert_eq!((&section["name"], &section["started"]), (&name.into(), &Value::Null));
    }
    let section = &info("a 2 Ship 1f3a\nc Ship 1f51\n")["sections"][0];
    assert_eq!((&section["name"], &section["duration_ms"]), (&"Ship".into(), &23.into()));
}

/// The head of a record on the line of the references before it became one of them.
#[test]
fn a_head_may_follow_on_the_line_of_references() {
    for (a, b) in [("0x00000010", "0x00000020"), ("0x0000000000000010", "0x0000000000000020")] {
        let dump = format!("// Version: x\n{a} [24] OBJ A\n\t{b} {b} [24] OBJ B\n\t{a} \n");
        let (graph, loaded) = graph(dump.as_bytes());
        assert_eq!((graph.node_count(), graph.reference_count()), (2, 2), "{dump}");
        let codes: Vec<&str> = loaded.diagnostics.sorted().iter().map(|problem| &*problem.code).collect();
        assert_eq!(codes, ["missing-trailer"]);
    }
}

/// Whether a repeated record was a duplicate or a conflict depended on which thread had read it.
#[test]
fn repeated_records_are_judged_by_content() {
    let mut dump = String::from("// Version: x\n");
    let record = |at: usize| format!("0x{:08X} [24] OBJ demo/Type{}\n\t0x{:08X} \n", 0x1000 + 24 * at, at % 50, 0x1000);
    (0..60_000).for_each(|at| dump += &record(at));
    (0..12).for_each(|at| dump += &record(at * 4321));
    for threads in ["1", "2", "5"] {
        let ran = run_with_input(&["info", "-f", "json", "--threads", threads], dump.as_bytes()).expect_code(0).json();
        assert!(problems(&ran).contains(&("duplicate-object".into(), 12)), "{threads}: {:?}", problems(&ran));
    }
}

/// The address of a head that was cut off became a reference; a record on one line lost the references it had.
#[test]
fn a_cut_head_leaves_nothing_and_a_cut_reference_only_itself() {
    for (end, objects, references) in [
        ("0x00000010 [2", 1, 0),
        ("0x00000010 ", 1, 0),
        ("0x00000010 [24] OBJ de", 1, 0),
        ("0x00000010 [24] OBJ B 0x00000020 0x000", 2, 1),
    ] {
        let dump = format!("// Version: x\n0x00000020 [24] OBJ B\n\t\n{end}");
        let (graph, loaded) = graph(dump.as_bytes());
        assert_eq!((graph.node_count(), graph.reference_count()), (objects, references), "{end}");
        assert!(loaded.diagnostics.sorted().iter().any(|problem| problem.code == "truncated-line"), "{end}");
    }
}

/// References of an unreadable record that went on in the next block were given to the record before it.
#[test]
fn references_of_an_unreadable_record_belong_to_nobody() {
    let mut dump = String::from("// Version: x\n0x00000010 [24] OBJ A\n\t\n0x00000020 [zz] OBJ B\n\t");
    (0..200_000).for_each(|_| dump += "0x00000010 ");
    dump += "\n0x00000030 [24] OBJ C\n\t0x00000010 \n";
    let (graph, loaded) = graph(dump.as_bytes());
    assert_eq!((graph.node_count(), graph.reference_count()), (2, 1));
    let orphans = loaded.diagnostics.sorted().iter().find(|problem| problem.code == "orphan-ref").map(|p| p.count);
    assert_eq!(orphans, Some(200_000));
}

/// Sizes that add up to more than 64 bits gave less than one of them.
#[test]
fn sums_stop_at_the_largest_number() {
    let dump = "a 2 x\nt 1 A\no 10 1 ffffffffffffffff 20\no 20 1 ffffffffffffffff\nr 10 1 0\nc x\n";
    for command in
        [&["show", "10"][..], &["dominators"], &["leaks"], &["stats", "--retained"], &["export", "--to", "folded"]]
    {
        run_with_input(command, dump.as_bytes()).expect_code(0);
    }
    let shown = run_with_input(&["show", "10", "-f", "json"], dump.as_bytes()).json();
    assert_eq!(shown["object"]["retained_bytes"], u64::MAX);
}

/// A wrong byte in zstd data went unnoticed though the frame has a checksum.
#[test]
fn zstd_checksums_are_compared() {
    let plain = "a 2 x\nt 1 A\no 10 1 10\nc x\n";
    let mut packed =
        ruzstd::encoding::compress_to_vec(plain.as_bytes(), ruzstd::encoding::CompressionLevel::Uncompressed);
    let at = packed.windows(4).position(|window| window == b"10 1").expect("stored as it is");
    packed[at] = b'2';
    let ran = run_with_input(&["stats"], &packed);
    assert!(ran.stderr.contains("broken-compression"), "{}", ran.stderr);
}

/// An object that no root reaches is an answer of "no", not an error.
#[test]
fn dominators_of_unreachable_objects_exit_with_1() {
    let file = "fixtures/xna_cf/17_weak_roots.txt";
    let ran = run(&["dominators", "10", file, "-f", "json"]).expect_code(1);
    assert_eq!(ran.json()["nodes"], serde_json::json!([]));
    assert!(ran.stderr.contains("not reachable"), "{}", ran.stderr);
}

/// `list` called the type of a class object another name than `show` and `stats`.
#[test]
fn a_type_has_one_name_in_every_command() {
    let file = "fixtures/ibm_classic/seed-asprinted.txt";
    let list = run(&["list", file, "-f", "json", "-q", "-t", "Class"]).json();
    let row = &list["objects"][0];
    assert_eq!((&row["type"], &row["class"]), (&"java.lang.Class".into(), &"java.lang.Runnable".into()));
    let show = run(&["show", "0x41532E68", file, "-f", "json", "-q"]).json();
    assert_eq!((&show["object"]["type"], &show["object"]["class"]), (&row["type"], &row["class"]));
}

/// A dump from z/OS without its version line begins with an empty line.
#[test]
fn ebcdic_is_known_behind_an_empty_line() {
    // "0x00CB03A0 [16] OBJ a" and a line end.
    let record = [
        0xF0, 0xA7, 0xF0, 0xF0, 0xC3, 0xC2, 0xF0, 0xF3, 0xC1, 0xF0, 0x40, 0xAD, 0xF1, 0xF6, 0xBD, 0x40, 0xD6, 0xC2,
        0xD1, 0x40, 0x81, 0x15, 0x05, 0x15,
    ];
    for start in [&[][..], &[0x15], &[0x25]] {
        let dump: Vec<u8> = start.iter().chain(&record).copied().collect();
        let ran = run_with_input(&["info", "-f", "json"], &dump).expect_code(0).json();
        assert_eq!(ran["encoding"], "ebcdic-1047");
        assert_eq!(ran["sections"][0]["objects"], 1);
    }
}

/// Blanks alone are an empty file whatever the format is said to be; any number of them may come before a dump.
#[test]
fn blanks_are_no_content() {
    run_with_input(&["stats", "--input-format", "xna-cf"], b" \n\n").expect_code(2);
    let late = "\n".repeat(9000) + "a 2 x\no 10 1 10\n\u{a0} \u{a0}\nc x\n";
    let ran = info(&late);
    assert_eq!(ran["sections"][0]["objects"], 1);
    assert_eq!(problems(&ran), [("undeclared-type".to_string(), 1)]);
}

/// Options that a command could not use were taken without a word.
#[test]
fn options_without_a_meaning_are_refused() {
    let file = "fixtures/xna_cf/43_finalizer.txt";
    for args in [
        &["show", "10", file, "--sort", "id"][..],
        &["roots", "10", file, "--sort", "id"],
        &["info", file, "--sort", "id"],
        &["stats", file, "--exclude-roots", "locale"],
        &["show", "no-such-file.txt"],
    ] {
        run(args).expect_code(2);
    }
    let typed = run(&["show", "no-such-file.txt"]);
    assert!(typed.stderr.contains("neither a file nor an object id"), "{}", typed.stderr);
}
