//! Answers that grow with their output and not with its square, and are never held whole: small dumps whose answers are
//! large. Nothing here looks at a clock: what is wrong takes minutes or more memory than it is given.

use std::fmt::Write;
use std::process::{Command, Stdio};

use crate::common::cmd::{Ran, project, run_with_input};

/// The program on an input, with so many MB of address space, its output piped on to `filter`.
fn within(megabytes: usize, args: &str, filter: &str, input: &str) -> Ran {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    std::io::Write::write_all(&mut file, input.as_bytes()).expect("written");
    let (program, path) = (env!("CARGO_BIN_EXE_heapdump"), file.path().display());
    let line = format!(
        "ulimit -v {}; {{ {program} {args} --threads 1 {path}; echo \"code $?\" >&2; }} | {filter}",
        megabytes * 1000
    );
    let output =
        Command::new("sh").args(["-c", &line]).current_dir(project("")).stdin(Stdio::null()).output().expect("a shell");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = stderr.lines().rev().find_map(|line| line.strip_prefix("code ")?.parse().ok());
    Ran { stdout: String::from_utf8_lossy(&output.stdout).into_owned(), code: code.unwrap_or(-1), stderr }
}

fn dump(records: impl FnOnce(&mut String)) -> String {
    let mut text = String::from("a 2 g.exe 763f9d2\n");
    records(&mut text);
    text + "c g.exe 763f9d3\n"
}

macro_rules! line {
    ($text:expr, $($words:tt)*) => { writeln!($text, $($words)*).expect("a string") };
}

/// A chain in which a root holds every object.
fn rooted_chain(length: usize) -> String {
    dump(|text| {
        line!(text, "t 1 A");
        for id in 1..=length {
            line!(text, "o {id:x} 1 8 {:x}\nr {id:x} 4 0 1", id + 1);
        }
    })
}

/// One object that refers to all others.
fn star(others: usize) -> String {
    dump(|text| {
        let ids: Vec<String> = (2..others + 2).map(|id| format!("{id:x}")).collect();
        line!(text, "t 1 A\nr 1 4 0 1\no 1 1 8 {}", ids.join(" "));
        ids.iter().for_each(|id| line!(text, "o {id} 1 8"));
    })
}

/// Objects held by roots, the types in turn.
fn types(count: usize, objects: usize) -> String {
    dump(|text| {
        for id in 1..=objects {
            line!(text, "t {id:x} T{}\no {id:x} {id:x} 8\nr {id:x} 4 0 1", id % count);
        }
    })
}

// B1
#[test]
fn all_paths_are_streamed_in_every_form() {
    let chain = rooted_chain(1500);
    for (form, least) in [("json", 47_000_000), ("jsonl", 47_000_000), ("csv", 20_000_000)] {
        let ran = within(60, &format!("roots 5dc --paths 0 -f {form}"), "wc -c", &chain).expect_code(0);
        let bytes: u64 = ran.stdout.trim().parse().expect("a number");
        assert!(bytes > least, "{form}: {bytes}");
    }
    // Rows of long paths are shortened without a walk down each: 10,000 of them have some 50 million objects.
    let ran = within(300, "roots 2710 --paths 0", "tail -n 2", &rooted_chain(10_000)).expect_code(0);
    let rows: Vec<Vec<&str>> = ran.stdout.lines().map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["10000", "9998", "270f", "8", "8", "A"]);
    assert_eq!(rows[1], ["10000", "9999", "2710", "8", "8", "A"]);
}

#[test]
fn streamed_paths_are_the_paths() {
    let json = run_with_input(&["roots", "4", "--paths", "0", "-f", "json"], rooted_chain(4).as_bytes()).json();
    let paths = json["paths"].as_array().expect("paths");
    for (length, path) in paths.iter().enumerate() {
        let ids: Vec<String> = (4 - length..=4).map(|id| id.to_string()).collect();
        let nodes = path["nodes"].as_array().expect("nodes");
        assert_eq!(nodes.iter().map(|node| node["id"].as_str().expect("an id")).collect::<Vec<_>>(), ids);
        assert_eq!(path["length"], length);
        assert_eq!(path["roots"].as_array().map(Vec::len), Some(1));
    }
    assert_eq!(paths.len(), 4);
}

// B2
#[test]
fn references_are_streamed() {
    let star = star(200_000);
    for args in ["show 1 -n 0 -f json", "show 1 -n 0 -f jsonl", "dominators 1 -n 0 --depth 2 -f json", "list -f json"] {
        let ran = within(200, args, "grep -o '\"id\"' | wc -l", &star).expect_code(0);
        let ids: u64 = ran.stdout.trim().parse().expect("a number");
        assert!(ids >= 200_000, "{args}: {ids}");
    }
}

#[test]
fn trees_of_allocations_are_streamed() {
    let star = dump(|text| {
        let ids: Vec<String> = (2..150_000).map(|id| format!("{id:x}")).collect();
        line!(text, "t 1 A\nr 1 4 0 1\no 1 1 8 {}", ids.join(" "));
        ids.iter().for_each(|id| line!(text, "t {id} T{id}\no {id} {id} 8"));
    });
    let ran = within(330, "breakdown --min-bytes 0 -f json", "grep -o '\"kind\"' | wc -l", &star).expect_code(0);
    assert_eq!(ran.stdout.trim(), "150001");
}

// B4
#[test]
fn many_types_share_the_marking_of_exact_retained_sizes() {
    for (objects, bytes) in [(40_000, 8), (80_000, 16)] {
        let args = ["stats", "--retained=exact", "-f", "json"];
        let ran = run_with_input(&args, types(40_000, objects).as_bytes()).expect_code(0);
        let json = ran.json();
        let rows = json["types"].as_array().expect("types");
        assert!(rows.len() == 40_000 && rows.iter().all(|row| row["retained_bytes"] == bytes));
    }
}

#[test]
fn too_much_work_is_refused_and_the_way_out_named() {
    // 300,000 objects and references, to be looked at some 2,400 times.
    let pairs = dump(|text| {
        for id in 1..150_000 {
            line!(text, "t {id:x} T{:x}\no {id:x} {id:x} 8 {:x}\nr {id:x} 4 0 1", id / 2, id % 7 + 1);
        }
    });
    let refused = run_with_input(&["stats", "--retained=exact"], pairs.as_bytes()).expect_code(2);
    assert!(refused.stderr.contains("-n N") && refused.stderr.contains("--retained alone"), "{}", refused.stderr);
    run_with_input(&["stats", "--retained=exact", "-n", "100"], pairs.as_bytes()).expect_code(0);
}

#[test]
fn suspects_share_the_search_for_their_paths() {
    // One object with many root records holds all suspects: each has all the records.
    let held = dump(|text| {
        let ids: Vec<String> = (2..9000).map(|id| format!("{id:x}")).collect();
        line!(text, "t 1 Holder\no 1 1 8 {}", ids.join(" "));
        ids.iter().for_each(|id| line!(text, "t {id} T{id}\no {id} {id} 8"));
        (1..20_000).for_each(|number| line!(text, "r 1 4 0 {:x}", number % 9000 + 1));
    });
    let ran = run_with_input(&["leaks", "--threshold", "0", "-f", "csv"], held.as_bytes()).expect_code(0);
    assert_eq!(ran.stdout.lines().count(), 8999);
    let ran = run_with_input(&["leaks", "--threshold", "0", "-n", "20", "-f", "json"], held.as_bytes()).expect_code(0);
    let path = &ran.json()["suspects"][19]["path"];
    assert_eq!(path["roots"].as_array().map(Vec::len), Some(19_999));
    assert_eq!(path["length"], 1);
    // Paths as long as the heap, not held for every suspect. Of one type the objects of the path would be one cause.
    let below = dump(|text| {
        line!(text, "r 1 4 0 1");
        (1..=2000).for_each(|id| line!(text, "t {id:x} A{id:x}"));
        (1..2000).for_each(|id| line!(text, "o {id:x} {id:x} 8 {:x}", id + 1));
        let ids: Vec<String> = (2001..4000).map(|id| format!("{id:x}")).collect();
        line!(text, "o 7d0 7d0 8 {}", ids.join(" "));
        ids.iter().for_each(|id| line!(text, "t {id} T{id}\no {id} {id} 9999"));
    });
    let ran = within(300, "leaks --threshold 1 -f json", "wc -c", &below).expect_code(0);
    assert!(ran.stdout.trim().parse::<u64>().is_ok_and(|bytes| bytes > 150_000_000), "{}", ran.stdout);
}

#[test]
fn causes_of_many_suspects_are_looked_into_where_they_are_told() {
    let suspects = types(100_000, 100_000);
    let ran = run_with_input(&["leaks", "--threshold", "0", "-n", "150", "-f", "json"], suspects.as_bytes());
    let json = ran.expect_code(0).json();
    let rows = json["suspects"].as_array().expect("suspects");
    let explained = rows.iter().take_while(|row| row["sentence"].is_string()).count();
    assert_eq!((rows.len(), explained, rows.iter().filter(|row| row["sentence"].is_string()).count()), (150, 100, 100));
}

#[test]
fn kinds_of_roots_are_marked_together() {
    let kinds = dump(|text| {
        line!(text, "t 1 A");
        (1..40_000).for_each(|id| line!(text, "o {id:x} 1 8 1\nr {id:x} {:x} 0", id + 16));
    });
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    std::io::Write::write_all(&mut file, kinds.as_bytes()).expect("written");
    let path = file.path().display().to_string();
    let ran = run_with_input(&["diff", "--roots", "--all", "-f", "csv", &path, &path], b"").expect_code(0);
    // Object 1 is held by all of them, and counts for none.
    assert_eq!(ran.stdout.lines().filter(|row| row.contains(",8,8,0,")).count(), 39_998);
}

/// A trace of one heap: a chain of frames, and so many types allocated at its end.
fn deep_trace(frames: usize, types: usize, allocators: usize) -> String {
    let mut text = String::from(
        r#"{"traceEvents":[{"ph":"v","name":"p","pid":1,"tid":0,"ts":1001,"id":"0x1","args":{"dumps":{"level_of_detail":"detailed","heaps_v2":{"version":1,"maps":{"strings":[{"id":1,"string":"f"}"#,
    );
    (0..types).for_each(|id| write!(text, r#",{{"id":{},"string":"T{id}"}}"#, id + 2).expect("a string"));
    text += r#"],"nodes":[{"id":1,"name_sid":1}"#;
    (2..=frames).for_each(|id| {
        write!(text, r#",{{"id":{id},"name_sid":1,"parent":{}}}"#, id - 1).expect("a string");
    });
    text += r#"],"types":[{"id":0,"name_sid":1}"#;
    (1..=types).for_each(|id| write!(text, r#",{{"id":{id},"name_sid":{}}}"#, id + 1).expect("a string"));
    text += r#"]},"allocators":{"#;
    let list =
        |value: &dyn Fn(usize) -> usize| (0..types).map(|at| value(at).to_string()).collect::<Vec<_>>().join(",");
    for number in 0..allocators {
        let comma = if number > 0 { "," } else { "" };
        let (ones, nodes, ids) = (list(&|_| 1), list(&|_| frames), list(&|at| at + 1));
        let columns = format!(r#""counts":[{ones}],"sizes":[{ones}],"nodes":[{nodes}],"types":[{ids}]"#);
        write!(text, r#"{comma}"a{number}":{{{columns}}}"#).expect("a string");
    }
    text + "}}}}}]}"
}

#[test]
fn a_deep_backtrace_is_exported_once_and_not_for_each_entry() {
    let chain = dump(|text| {
        line!(text, "t 1 A\nt 2 B\nt 3 C\nr 1 4 0 1");
        (1..60_000).for_each(|id| line!(text, "o {id:x} {} 8 {:x}", id % 3 + 1, id + 1));
    });
    let args = ["export", "--to", "memory-infra", "--min-bytes", "0", "--depth", "1000000"];
    let ran = run_with_input(&args, chain.as_bytes()).expect_code(0);
    assert!(ran.stdout.matches("\"parent\"").count() >= 59_998);
    let ran = run_with_input(&args[..5], deep_trace(45_000, 1, 1).as_bytes()).expect_code(0);
    assert!(ran.stdout.matches("\"parent\"").count() >= 44_999);
}

#[test]
fn pairs_of_backtrace_and_type_are_bounded() {
    let ran = within(250, "breakdown --by both --min-bytes 0 -f csv", "wc -l", &deep_trace(3000, 2500, 1));
    let ran = ran.expect_code(2);
    assert!(ran.stderr.contains("too many pairs") && ran.stderr.contains("--depth"), "{}", ran.stderr);
}

#[test]
fn frames_of_all_heaps_are_bounded() {
    let ran = within(250, "stats", "wc -l", &deep_trace(10_000, 1, 4000)).expect_code(2);
    assert!(ran.stderr.contains("stack frames"), "{}", ran.stderr);
}

#[test]
fn rows_of_all_trees_are_bounded() {
    let ran = within(500, "breakdown --min-bytes 0 -f csv", "wc -l", &deep_trace(490, 1, 3000)).expect_code(2);
    assert!(ran.stderr.contains("more than 1000000 rows") && ran.stderr.contains("--allocator"), "{}", ran.stderr);
}

// B5
#[test]
fn paths_of_types_have_a_largest_depth_and_are_streamed() {
    let nested = dump(|text| {
        line!(text, "r 1 4 0 1");
        for id in 1..300 {
            line!(text, "t {id:x} {}{id}\no {id:x} {id:x} 8 {:x}", "N".repeat(300), id + 1);
        }
        let ids: Vec<String> = (301..5000).map(|id| format!("{id:x}")).collect();
        line!(text, "t 12c L\no 12c 12c 8 {}", ids.join(" "));
        ids.iter().for_each(|id| line!(text, "t {id} T{id}\no {id} {id} 8"));
    });
    for form in ["folded", "flamegraph"] {
        let args = format!("export --to {form} --min-bytes 0 --depth");
        let refused = within(300, &format!("{args} 10000000"), "wc -l", &nested).expect_code(2);
        assert!(refused.stderr.contains("1 to 500"), "{}", refused.stderr);
    }
    let args = "export --min-bytes 0 --depth 500 --to";
    let ran = within(200, &format!("{args} folded"), "wc -l", &nested).expect_code(0);
    assert_eq!(ran.stdout.trim(), "4999");
    let sorted = within(200, &format!("{args} folded"), "LC_ALL=C sort -c && echo sorted", &nested).expect_code(0);
    assert_eq!(sorted.stdout.trim(), "sorted", "{}", sorted.stderr);
    let refused = within(300, &format!("{args} flamegraph"), "wc -c", &nested).expect_code(2);
    assert!(refused.stderr.contains("--min-bytes"), "{}", refused.stderr);
}

#[test]
fn a_drawing_of_many_objects_looks_at_each_once() {
    let star = star(300_000);
    let args = ["export", "--to", "dot", "--object", "1", "--max-objects", "1000000", "-"];
    let ran = run_with_input(&args, star.as_bytes()).expect_code(0);
    assert_eq!(ran.stdout.matches(" -> ").count(), 300_000);
}

#[test]
fn paths_of_long_names_are_not_joined() {
    let nested = dump(|text| {
        line!(text, "r 1 4 0 1");
        for id in 1..12 {
            line!(text, "t {id:x} {}{id}\no {id:x} {id:x} 8 {:x}", "N".repeat(30_000), id + 1);
        }
        let ids: Vec<String> = (13..4000).map(|id| format!("{id:x}")).collect();
        line!(text, "t c L\no c c 8 {}", ids.join(" "));
        ids.iter().for_each(|id| line!(text, "t {id} T{id}\no {id} {id} 8"));
    });
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    std::io::Write::write_all(&mut file, nested.as_bytes()).expect("written");
    let old = file.path().display();
    let refused = within(400, &format!("diff --paths --all {old}"), "wc -c", &nested).expect_code(2);
    assert!(refused.stderr.contains("--paths"), "{}", refused.stderr);
}

// B10
#[test]
fn the_depth_of_json_is_documented() {
    for command in ["dominators", "breakdown"] {
        let help = run_with_input(&[command, "--help"], b"").expect_code(0).stdout;
        assert!(help.contains("at most 500") && help.contains("jsonl"), "{help}");
    }
    let document = std::fs::read_to_string(project("docs/json.md")).expect("readable");
    assert!(document.contains("500 levels") && document.contains("jsonl"));
}
