//! The neutral form: any dump written as lines answers as the dump does; figures that are known beforehand; what its document
//! says.

use crate::common::cmd::{project, run, run_with_input};
use crate::common::fixtures::{Fixture, test_each_format};
use crate::common::questions::{ask_of_dump, ask_of_objects, ids, is_small};
use heapdump::OpenOptions;
use heapdump::answers::figure::RETAINED;
use heapdump::export::{HeapgraphOptions, write_heapgraph};
use heapdump::report::Format;
use serde_json::{Value, json};

/// What a dump says of values, and of the file itself, and what only its format has a rule for.
const NOT_WRITTEN: [&str; 16] = [
    "fields",
    "location",
    "elements",
    "problems",
    "format",
    "value",
    "reference",
    "distance",
    "daemon",
    "state",
    "priority",
    "number",
    "virtual",
    "length",
    "backtrace",
    "allocated",
];

fn without_values(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(key, _)| !NOT_WRITTEN.contains(&&**key));
            kept.map(|(key, value)| (key, without_values(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_values).collect(),
        other => other,
    }
}

test_each_format!(a_dump_written_as_lines_answers_as_before, answers_as_before);

fn answers_as_before(fixture: &Fixture) {
    let options = OpenOptions { read: fixture.read_options(), ..OpenOptions::default() };
    let Ok(dump) = options.open(&fixture.path) else { return };
    let mut lines = Vec::new();
    let with_names = is_small(&dump);
    if write_heapgraph(&dump, &HeapgraphOptions { with_names }, &mut lines).is_err() {
        assert!(fixture.has_no_objects(), "{}", fixture.name());
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lines.jsonl");
    std::fs::write(&file, lines).expect("writable");
    let strict = heapdump::input::ReadOptions { strict: true, ..Default::default() };
    let read = OpenOptions { read: strict, ..OpenOptions::default() }.open(&file);
    let read = read.unwrap_or_else(|error| panic!("{}: {error}", fixture.name()));
    let has_stacks = fixture.format == "v8-snapshot" && fixture.name().contains("allocations");
    let largest = ids(&dump, Some(RETAINED), Some(3));
    let ask = |dump| {
        let mut asked = ask_of_dump(dump, &[Format::Json]);
        asked.extend(ask_of_objects(dump, &largest, &[Format::Json]));
        asked
    };
    let (before, after) = (ask(&dump), ask(&read));
    let mut compared = 0;
    for (before, after) in before.into_iter().zip(after) {
        let words = before.words.join(" ");
        assert_eq!(words, after.words.join(" "), "{}", fixture.name());
        // These rest on values, or on stacks that are more than one place.
        if matches!(before.command(), "info" | "strings" | "waste" | "leaks")
            || words.contains("--values")
            || before.command() == "breakdown" && has_stacks
            || before.command() == "roots" && !with_names && dump.details().is_some()
            || words.starts_with("stats --by file")
        {
            continue;
        }
        let parsed = |texts: Result<Vec<String>, String>| {
            let text = texts.map(|texts| serde_json::from_str(&texts[0]).expect("JSON"));
            text.map(without_values).map_err(|_| "an error")
        };
        assert_eq!(parsed(before.texts), parsed(after.texts), "{}: {words}", fixture.name());
        compared += 1;
    }
    assert!(compared > 30, "{}: {compared}", fixture.name());
}

/// With `--names` lines have the names of references, texts and places that the dump has.
#[test]
fn names_are_written_where_they_are_asked_for() {
    let export = |words: &[&str]| {
        let file = project("fixtures/ruby_objspace/every-kind.jsonl").display().to_string();
        let words: Vec<&str> = ["export", "--to", "heapgraph", "-q", &file].iter().chain(words).copied().collect();
        run(&words).expect_code(0).stdout
    };
    let (plain, named) = (export(&[]), export(&["--names"]));
    assert!(!plain.contains("\"names\"") && !plain.contains("\"text\""));
    let line = |id: &str| {
        let start = format!("{{\"id\":{},", u64::from_str_radix(id, 16).expect("hexadecimal"));
        let line = named.lines().find(|line| line.starts_with(&start)).expect("the object");
        serde_json::from_str::<Value>(line).expect("JSON")
    };
    assert_eq!(line("7f0000001000")["names"], json!(["@orders", "<class>"]));
    assert_eq!(line("7f0000001140")["text"], "x\"y\\z\n]}");
    assert_eq!(line("7f00000012a8")["at"], "new (/app/order.rb:12)");
    let back = run_with_input(&["show", "0x7f0000001000", "-f", "json", "-q", "-"], named.as_bytes());
    assert_eq!(back.expect_code(0).json()["references"][0]["reference"], ".@orders");
}

/// A million references in one line, a text of 5 MB, and no line end behind the last.
#[test]
fn lines_may_be_long() {
    let references = vec!["2"; 1_000_000].join(",");
    let lines = format!(
        "{{\"heapgraph\":1}}\n{{\"root\":1,\"kind\":\"static\"}}\n{{\"id\":1,\"type\":\"list\",\"size\":8,\"refs\":[{references}]}}\n\
         {{\"id\":2,\"type\":\"text\",\"size\":9,\"text\":\"{}\"}}\n{{\"end\":true,\"objects\":2}}",
        "x".repeat(5_000_000)
    );
    let stats = run_with_input(&["stats", "-f", "json", "--strict", "-"], lines.as_bytes()).expect_code(0).json();
    assert_eq!(stats["totals"]["reachable_bytes"], 17);
    assert_eq!(stats["totals"]["references"], 1_000_000);
}

/// `info --strict` is the checker for whoever writes the form: it passes what is right, and names the first line that is not.
#[test]
fn strict_names_what_is_wrong() {
    let check = |lines: &str| run_with_input(&["info", "--strict", "-"], lines.as_bytes());
    let right = "{\"heapgraph\":1}\n{\"id\":1,\"type\":\"a\",\"size\":8,\"refs\":[1,0]}\n{\"end\":true}\n";
    check(right).expect_code(0);
    for (from, to, code, line) in [
        ("{\"end\":true}\n", "", "no-end", 2),
        ("{\"end\":true}", "{\"end\":true,\"objects\":2}", "trailer-mismatch", 3),
        ("[1,0]", "[1,2]", "dangling-ref", 2),
        ("[1,0]", "[1,\"x\"]", "malformed-ref", 2),
        ("\"size\":8", "\"size\":-8", "malformed-record", 2),
        ("\"type\":\"a\"", "\"type\":7", "unknown-type", 2),
        ("{\"end\":true}", "{\"root\":9}\n{\"end\":true}", "dangling-root", 3),
        ("{\"end\":true}", "{\"x\":1}\n{\"end\":true}", "unknown-record", 3),
        ("{\"end\":true}", "text\n{\"end\":true}", "malformed-line", 3),
        ("\"heapgraph\":1", "\"heapgraph\":2", "unknown-version", 1),
    ] {
        let ran = check(&right.replace(from, to)).expect_code(2);
        assert!(ran.stderr.contains(code) && ran.stderr.contains(&format!("line {line}")), "{code}: {}", ran.stderr);
    }
    // What may be missing: types, sizes, kinds.
    check("{\"heapgraph\":1}\n{\"id\":\"0xff\"}\n{\"root\":255}\n{\"end\":true}\n").expect_code(0);
}

/// Every key that the reader knows stands in the document and in its schema, and the document's example is right.
#[test]
fn the_document_has_every_key() {
    let read = |path: &str| std::fs::read_to_string(project(path)).expect(path);
    let (document, schema) = (read("docs/heapgraph.md"), read("docs/heapgraph.schema.json"));
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let record = read("src/input/heapgraph/record.rs");
    let of_objects = record.split("(b\"").skip(1).filter_map(|piece| piece.split('"').next());
    let others = record.split("struct OtherLine {").nth(1).expect("the records");
    let renamed = others.split("rename = \"").skip(1).filter_map(|piece| piece.split('"').next());
    let fields = others.split("pub(super) ").skip(1).filter_map(|piece| piece.split(':').next());
    let is_key = |name: &&str| !["within", "type_name", "superclass"].contains(name);
    let keys: Vec<&str> = of_objects.chain(renamed).chain(fields.filter(is_key)).collect();
    assert!(keys.len() > 40, "{keys:?}");
    for key in keys {
        assert!(document.contains(&format!("`{key}`")), "docs/heapgraph.md: `{key}`");
        assert!(schema["properties"].get(key).is_some(), "docs/heapgraph.schema.json: {key}");
    }
    let example = document.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let stats = run_with_input(&["stats", "-f", "json", "--strict", "-"], example.as_bytes()).expect_code(0).json();
    assert_eq!(stats["totals"]["objects"], 3);
}

/// The document's statement for DuckDB makes lines of our own tables, which give the figures of the dump.
#[test]
fn tables_become_lines() {
    let packages = project("target/live/duckdb");
    if !packages.join("installed").is_file() {
        return crate::common::live::not_tested("duckdb: not installed; tests/live/install gets it");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (tables, lines) = (folder.path().join("tables"), folder.path().join("heap.jsonl"));
    let dump = project("fixtures/xna_cf/pair_after.txt").display().to_string();
    let (to, lines) = (tables.display().to_string(), lines.display().to_string());
    run(&["export", "--to", "parquet", "--tables", "all", "-q", &dump, "-o", &to]).expect_code(0);
    let document = std::fs::read_to_string(project("docs/heapgraph.md")).expect("the document");
    let sql = document.split("```sql\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a statement");
    let sql = sql.replace("DIR", &to).replace("heap.jsonl", &lines);
    let program = "import duckdb, sys; duckdb.sql(sys.argv[1])";
    let python = std::process::Command::new("python3").args(["-c", program, &sql]).env("PYTHONPATH", packages).output();
    let python = python.expect("python3");
    assert!(python.status.success(), "{}", String::from_utf8_lossy(&python.stderr));
    let stats = |file: &str| {
        let answer = run(&["stats", "--retained", "-n", "0", "-q", "-f", "json", file]).expect_code(0).json();
        let figures = |row: &Value| json!([row["type"], row["objects"], row["shallow_bytes"], row["retained_bytes"]]);
        answer["types"].as_array().expect("types").iter().map(figures).collect::<Vec<_>>()
    };
    assert_eq!(stats(&dump), stats(&lines));
}
