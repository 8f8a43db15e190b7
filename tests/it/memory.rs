//! `--max-memory`: an error in good time, and no error when there is enough.

use crate::common::cmd::{Ran, project, run, run_with_input};
use crate::common::fixtures;

/// An XNA / .NET CF dump of several blocks.
fn large_dump() -> String {
    let mut text = String::from("a 2 Large.exe 763f9d2\nt 1a A\n");
    for object in 1..200_000 {
        text += &format!("o {:x} 1a 10 {:x}\n", object * 8, (object + 1) * 8);
    }
    text + "r 8 1 0\nc Large.exe 763fbef\n"
}

fn refused(ran: Ran, what: &str) {
    let ran = ran.expect_code(2);
    assert!(ran.stderr.contains(what) && ran.stderr.contains("--max-memory allows"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

#[test]
fn a_file_that_cannot_fit_is_not_read() {
    refused(run(&["stats", "--max-memory", "100", "fixtures/xna_cf/pair_after.txt"]), "its graph takes at least");
}

#[test]
fn what_turns_out_too_large_on_the_way_is_an_error() {
    let dump = large_dump();
    refused(run_with_input(&["stats", "--max-memory", "100KiB"], dump.as_bytes()), "the dump takes more memory");
    // Packed files do not say how large they are.
    for fixture in fixtures::all().iter().filter(|fixture| fixture.format == "gcdump") {
        let path = fixture.path.display().to_string();
        let ran = run(&["stats", "--max-memory", "1KiB", &path]);
        assert!(ran.code == 2 && ran.stderr.contains("--max-memory allows 1.0 KiB"), "{path}: {}", ran.stderr);
    }
}

#[test]
fn allocation_totals_are_counted_too() {
    for name in ["chromium66-heaps.trace.gz", "seed-example.trace", "seed-embedded.html"] {
        let path = format!("fixtures/memory_infra/{name}");
        let ran = run(&["stats", "--max-memory", "100", &path]).expect_code(2);
        assert!(ran.stderr.contains("takes more memory"), "{}", ran.stderr);
        run(&["stats", "--max-memory", "100MB", &path]).expect_code(0);
    }
}

#[test]
fn names_are_counted_too() {
    let mut dump = String::from("a 2 Names.exe 763f9d2\n");
    for name in 1..200_000 {
        dump += &format!("t {name:x} A.Rather.Long.Name.Of.A.Class.In.A.Namespace{name}\n");
    }
    refused(run_with_input(&["info", "--max-memory", "5MB"], dump.as_bytes()), "the dump takes more");
}

#[test]
fn the_dominator_tree_is_counted() {
    let dump = large_dump();
    let words = |limit: &'static str| ["dominators", "-n", "1", "--max-memory", limit];
    refused(run_with_input(&words("5MiB"), dump.as_bytes()), "the dominator tree takes");
    run_with_input(&words("12MiB"), dump.as_bytes()).expect_code(0);
    run_with_input(&["stats", "--max-memory", "5MiB"], dump.as_bytes()).expect_code(0);
    run_with_input(&["stats", "--shallow", "--max-memory", "1KiB"], dump.as_bytes()).expect_code(0);
}

#[test]
fn what_is_read_again_is_counted_too() {
    // A V8 snapshot of 200 texts, which only some answers read.
    let (mut nodes, mut edges, mut strings) =
        ("9,0,1,0,1,3,1,3,16,200".to_string(), "5,1,5".to_string(), String::new());
    for text in 0..200 {
        nodes += &format!(",2,{},{},100000,0", text + 2, 2 * text + 5);
        edges += &format!(",1,{text},{}", 5 * text + 10);
        strings += &format!(",\"{text}{}\"", "x".repeat(100_000));
    }
    let header = concat!(
        r#"{"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count"],"node_types":[["hidden","array","#,
        r#""string","object","code","closure","regexp","number","native","synthetic"],"string","number","number","number"],"#,
        r#""edge_fields":["type","name_or_index","to_node"],"edge_types":[["context","element","property","internal","hidden","#,
        r#""shortcut","weak"],"string_or_number","node"]},"node_count":202,"edge_count":201}"#
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("texts.heapsnapshot");
    let json = format!("{header},\"nodes\":[{nodes}],\"edges\":[{edges}],\"strings\":[\"\",\"global\"{strings}]}}");
    std::fs::write(&path, json).expect("written");
    let path = path.display().to_string();
    let asked = || {
        run(&["stats", "--max-memory", "12MB", &path]).expect_code(0);
        let ran = run(&["strings", "--max-memory", "12MB", &path]).expect_code(2);
        assert!(ran.stderr.contains("more than") && ran.stderr.contains("bytes of memory"), "{}", ran.stderr);
        run(&["strings", "--max-memory", "100MB", &path]).expect_code(0);
    };
    asked();
    run(&["index", &path]).expect_code(0);
    asked();
}

#[test]
fn without_the_option_what_is_free_suffices() {
    run(&["stats", &project("fixtures/xna_cf/pair_after.txt").display().to_string()]).expect_code(0);
    let wrong = run(&["stats", "--max-memory", "much", "fixtures/xna_cf/pair_after.txt"]).expect_code(2);
    assert!(wrong.stderr.contains("--max-memory: \"much\" is not a size"), "{}", wrong.stderr);
}
