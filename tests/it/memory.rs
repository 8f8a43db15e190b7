//! `--max-memory`: an error in good time, and no error when there is enough.

use std::process::Stdio;
use std::time::Duration;

use crate::common::cmd::{Ran, heapdump, project, run, run_with_input};
use crate::common::fixtures;
use crate::common::synth_hprof::Writer;

/// An XNA / .NET CF dump of several blocks.
fn large_dump(objects: usize) -> String {
    let mut text = String::from("a 2 Large.exe 763f9d2\nt 1a A\n");
    for object in 1..objects {
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
    let dump = large_dump(200_000);
    refused(run_with_input(&["stats", "--max-memory", "100KiB"], dump.as_bytes()), "takes more memory than it may");
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
    refused(run_with_input(&["info", "--max-memory", "5MB"], dump.as_bytes()), "takes more memory than it may");
}

#[test]
fn the_dominator_tree_is_counted() {
    let dump = large_dump(1_000_000);
    let words = |limit: &'static str| ["dominators", "-n", "1", "--max-memory", limit];
    refused(run_with_input(&words("34MiB"), dump.as_bytes()), "of memory with the graph");
    run_with_input(&words("48MiB"), dump.as_bytes()).expect_code(0);
    run_with_input(&["stats", "--max-memory", "34MiB"], dump.as_bytes()).expect_code(0);
    run_with_input(&["stats", "--shallow", "--max-memory", "12MiB"], dump.as_bytes()).expect_code(0);
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
        assert!(ran.stderr.contains("memory than") || ran.stderr.contains("bytes of memory"), "{}", ran.stderr);
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

/// A chain of Java objects: deep for every walk, with a field to be named and chosen by.
fn java_chain(objects: u64) -> Vec<u8> {
    let mut dump = Writer::new("1.0.2", 8);
    dump.class(0x200, "Node");
    let mut segment = dump.class_dump(0x200, 8, 1);
    segment.extend([0xff].into_iter().chain(dump.id(0x10000)));
    for at in 0..objects {
        let next = if at + 1 < objects { 0x10000 + (at + 1) * 16 } else { 0 };
        segment.extend(dump.instance(0x10000 + at * 16, 0x200, &[next]));
    }
    dump.record(0x1c, &segment);
    dump.record(0x2c, &[]);
    dump.bytes
}

/// The most memory a command has had, in KiB, and how it ended.
fn peak_kib(args: &[&str]) -> (u64, i32) {
    let mut command = heapdump(args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak = peak.max(line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0));
        if let Some(ended) = child.try_wait().expect("waited for") {
            return (peak, ended.code().unwrap_or(-1));
        }
        std::thread::sleep(Duration::from_micros(300));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn no_command_takes_a_tenth_more_than_it_may() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("chain.hprof"), java_chain(250_000)).expect("written");
    let (dump, page, index, tables) = (path("chain.hprof"), path("page.html"), path("index.hdx"), path("tables"));
    let (own_kib, _) = peak_kib(&["stats", "fixtures/xna_cf/pair_after.txt"]);
    let mut ended = [0; 3];
    let _ = std::fs::create_dir(&tables);
    for (line, more) in [
        ("stats --retained", ""),
        ("stats --retained=exact", ""),
        ("stats --by owner", ""),
        ("list --values", ""),
        ("list --select .next", ""),
        ("list --sort retained", ""),
        ("list --where .next=1", ""),
        ("show 0x10010", ""),
        ("roots --type Node", ""),
        ("roots 0x3c0000", ""),
        ("referrers --type Node", ""),
        ("dominators --depth 50", ""),
        ("breakdown --min-bytes 0", ""),
        ("leaks", ""),
        ("threads", ""),
        ("strings --holders", ""),
        ("waste", ""),
        ("report --output", &page),
        ("index --output", &index),
        ("diff --retained", &dump),
        ("diff --paths", &dump),
        ("export --to folded --min-bytes 0", ""),
        ("export --to parquet --output", &tables),
        ("info", ""),
    ] {
        for mib in [4, 10, 16, 24, 40] {
            let limit = format!("{mib}MiB");
            let mut args: Vec<&str> = line.split(' ').collect();
            args.extend([more].iter().filter(|word| !word.is_empty()));
            args.extend([dump.as_str(), "--no-index", "--max-memory", limit.as_str()]);
            let takes_index = !["index", "info"].contains(&args[0]);
            args.retain(|word| *word != "--no-index" || takes_index);
            // A tenth more and 10 MiB for the program itself, which is larger in a build for tests. A machine that is busy
            // with other tests looks at the memory late now and then, not five times in a row.
            let most = own_kib.max(10 * 1024) + mib * 1024 * 11 / 10;
            let (mut peak, mut code) = peak_kib(&args);
            for _ in 0..4 {
                if peak > most {
                    (peak, code) = peak_kib(&args);
                }
            }
            assert!(peak <= most, "{args:?}: {peak} KiB");
            ended[usize::try_from(code).expect("a code")] += 1;
        }
    }
    assert!(ended[0] > 30 && ended[2] > 30, "{ended:?}: some are refused, and some are not");
}
