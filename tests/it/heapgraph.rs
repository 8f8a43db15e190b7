//! The neutral form: any dump written as lines answers as the dump does; figures that are known beforehand; what its document
//! says.

use std::collections::BTreeMap;

use crate::common::cmd::{assert_linear, project, run, run_with_input};
use crate::common::fixtures::{Fixture, test_each_format};
use crate::common::questions::{ask_of_dump, ask_of_objects, ids};
use heapdump::OpenOptions;
use heapdump::answers::figure::RETAINED;
use heapdump::export::{HeapgraphOptions, write_heapgraph};
use heapdump::report::Format;
use serde_json::{Value, json};

/// What a dump says of values, and of the file itself, and what only its format has a rule for.
const NOT_WRITTEN: [&str; 15] = [
    "fields",
    "location",
    "elements",
    "problems",
    "format",
    "value",
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
        // A sentence ends with a command for its file, and may have the size that a collection's field says.
        Value::String(mut text) => {
            text.truncate(text.find(" Look further with: ").unwrap_or(text.len()));
            if let Some((before, rest)) = text.split_once(" (java.util.").filter(|(_, rest)| rest.contains(".size is "))
            {
                text = format!("{before}{}", rest.split_once(')').map_or("", |(_, behind)| behind));
            }
            json!(text)
        }
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(key, _)| !NOT_WRITTEN.contains(&&**key));
            kept.map(|(key, value)| (key, without_values(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_values).collect(),
        other => other,
    }
}

/// Removes a key wherever it is; true if it was anywhere.
fn remove_key(value: &mut Value, key: &str) -> bool {
    match value {
        Value::Object(map) => {
            let was_there = map.remove(key).is_some();
            map.values_mut().fold(was_there, |was_there, value| remove_key(value, key) | was_there)
        }
        Value::Array(items) => items.iter_mut().fold(false, |was_there, item| remove_key(item, key) | was_there),
        _ => false,
    }
}

test_each_format!(a_dump_written_as_lines_answers_as_before, answers_as_before);

fn answers_as_before(fixture: &Fixture) {
    let options = OpenOptions { read: fixture.read_options(), ..OpenOptions::default() };
    let Ok(dump) = options.open(&fixture.path) else { return };
    let mut lines = Vec::new();
    if write_heapgraph(&dump, &HeapgraphOptions { with_names: true }, &mut lines).is_err() {
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
        if matches!(before.command(), "info" | "strings" | "waste")
            || words.contains("--values")
            || before.command() == "breakdown" && has_stacks
            || words.starts_with("stats --by file")
        {
            continue;
        }
        let parsed = |texts: Result<Vec<String>, String>| {
            let text = texts.map(|texts| serde_json::from_str(&texts[0]).expect("JSON"));
            text.map(without_values).map_err(|_| "an error")
        };
        let (mut before, mut after) = (parsed(before.texts), parsed(after.texts));
        if before.as_mut().is_ok_and(|answer| remove_key(answer, "via")) {
            // Elements of collections go by their keys, which are values.
            [&mut before, &mut after].into_iter().flatten().for_each(|answer| _ = remove_key(answer, "reference"));
        }
        assert_eq!(before, after, "{}: {words}", fixture.name());
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

/// Half a million references that one object names, to objects whose ids stand in no order.
#[test]
fn names_of_many_references_take_linear_work() {
    const COUNT: u64 = 500_000;
    // A generator of the numbers below a prime: each comes once.
    let ids = (1..=COUNT).map(|number| number * 314_159 % 500_009 + 2);
    let (mut refs, mut names, mut objects) = (String::new(), String::new(), String::new());
    for id in ids {
        refs += &format!("{id},");
        names += &format!("\"k{id}\",");
        objects += &format!("{{\"id\":{id},\"type\":\"v\",\"size\":8,\"text\":\"x\"}}\n");
    }
    let (refs, names) = (refs.trim_end_matches(','), names.trim_end_matches(','));
    let all = format!(
        "{{\"heapgraph\":1}}\n{{\"root\":1,\"kind\":\"static\"}}\n\
         {{\"id\":1,\"type\":\"dict\",\"size\":8,\"refs\":[{refs}],\"names\":[{names}]}}\n{objects}"
    );
    assert_linear("names of one object", &["export", "--to", "heapgraph", "--names", "-q", "-"], all.as_bytes());
}

/// A line, and what the checker has against it: its code, and the key where it names one; nothing of a right line.
type Checked = (&'static str, &'static str, &'static str);

/// What one line tells by itself, so that the schema finds it too.
const LINES: &[Checked] = &[
    (
        r#"{"heapgraph":1,"runtime":"X 1","producer":"p","ids":"padded-8","rules":["roots-told"],"sampled":[1,2.5],"mine":{}}"#,
        "",
        "",
    ),
    (r#"{"heapgraph":2}"#, "unknown-version", ""),
    (r#"{"heapgraph":"1"}"#, "malformed-record", "heapgraph"),
    (r#"{"heapgraph":1,"runtime":5}"#, "malformed-record", "runtime"),
    (r#"{"heapgraph":1,"sampled":[1]}"#, "malformed-record", "sampled"),
    (r#"{"heapgraph":1,"ids":"hexx"}"#, "malformed-key", "ids"),
    (r#"{"heapgraph":1,"rules":["bananas"]}"#, "malformed-key", "rules"),
    (r#"{"heapgraph":1,"dependent_references":-1}"#, "malformed-record", "dependent_references"),
    (r#"{"id":5}"#, "", ""),
    (
        r#"{"id":"0x5","type":null,"size":null,"refs":null,"names":null,"weak":null,"text":null,"at":null,"generation":null}"#,
        "",
        "",
    ),
    (
        r#"{"id":18446744073709551615,"type":"A","size":1,"refs":[2,0,2,"0x2"],"names":["a",null],"weak":[0],"soft":[2],"final":[3]}"#,
        "",
        "",
    ),
    (r#"{"id":0}"#, "malformed-record", "id"),
    (r#"{"id":"0x0"}"#, "malformed-record", "id"),
    (r#"{"id":"xyz"}"#, "malformed-record", "id"),
    (r#"{"id":"0x12345678901234567"}"#, "malformed-record", "id"),
    (r#"{"id":-1}"#, "malformed-record", "id"),
    (r#"{"id":1.5}"#, "malformed-record", "id"),
    (r#"{"id":18446744073709551616}"#, "malformed-record", "id"),
    (r#"{"id":null}"#, "malformed-record", "id"),
    (r#"{"id":[5]}"#, "malformed-record", "id"),
    (r#"{"id":5,"size":-8}"#, "malformed-key", "size"),
    (r#"{"id":5,"size":"8"}"#, "malformed-key", "size"),
    (r#"{"id":5,"size":8.5}"#, "malformed-key", "size"),
    (r#"{"id":5,"type":["A"]}"#, "malformed-record", "type"),
    (r#"{"id":5,"type":-7}"#, "malformed-record", "type"),
    (r#"{"id":5,"refs":2}"#, "malformed-key", "refs"),
    (r#"{"id":5,"refs":{"a":2}}"#, "malformed-key", "refs"),
    (r#"{"id":5,"refs":[2,"zz"]}"#, "malformed-ref", ""),
    (r#"{"id":5,"refs":[2,null]}"#, "malformed-ref", ""),
    (r#"{"id":5,"refs":[2],"names":"a"}"#, "malformed-key", "names"),
    (r#"{"id":5,"refs":[2],"names":[5]}"#, "malformed-key", "names"),
    (r#"{"id":5,"refs":[2],"weak":true}"#, "malformed-key", "weak"),
    (r#"{"id":5,"refs":[2],"weak":[-1]}"#, "malformed-key", "weak"),
    (r#"{"id":5,"refs":[2],"weak":["0"]}"#, "malformed-key", "weak"),
    (r#"{"id":5,"refs":[2],"soft":[0.5]}"#, "malformed-key", "soft"),
    (r#"{"id":5,"refs":[2],"final":0}"#, "malformed-key", "final"),
    (r#"{"id":5,"text":7}"#, "malformed-key", "text"),
    (r#"{"id":5,"at":["a.py"]}"#, "malformed-key", "at"),
    (r#"{"id":5,"generation":"x"}"#, "malformed-key", "generation"),
    (r#"{"id":5,"generation":-1}"#, "malformed-key", "generation"),
    (r#"{"id":5,"_mine":[null,{"a":1}]}"#, "", ""),
    (r#"{"id":5,"references":[2]}"#, "unknown-key", "references"),
    (r#"{"id":5,"kind":"static"}"#, "unknown-key", "kind"),
    (r#"{"id":5,"class_of":{}}"#, "malformed-key", "class_of"),
    (r#"{"id":5,"function":"f()","variables_of":"g()","script":"a.js","place":[1,2,3]}"#, "", ""),
    (r#"{"id":5,"function":1}"#, "malformed-key", "function"),
    (r#"{"id":5,"place":[1,2]}"#, "malformed-key", "place"),
    (r#"{"id":5,"root":2}"#, "mixed-record", "root"),
    (r#"{"root":2,"end":true}"#, "mixed-record", ""),
    (r#"{"root":2}"#, "", ""),
    (r#"{"root":"0x2","kind":"local","name":"v","flags":["pinned"],"in":7,"thread":1,"frame":0}"#, "", ""),
    (r#"{"root":"q"}"#, "malformed-record", "root"),
    (r#"{"root":2,"kind":5}"#, "malformed-record", "kind"),
    (r#"{"root":2,"name":5}"#, "malformed-record", "name"),
    (r#"{"root":2,"flags":"weak"}"#, "malformed-record", "flags"),
    (r#"{"root":2,"flags":["weka"]}"#, "malformed-key", "flags"),
    (r#"{"root":2,"thread":"1"}"#, "malformed-record", "thread"),
    (r#"{"root":2,"frame":0}"#, "malformed-key", "frame"),
    (r#"{"root":2,"in":[]}"#, "malformed-record", "in"),
    (
        r#"{"thread":4,"name":"t","object":2,"frames":[{"method":"f","class":"C","file":"a","line":3},{"method":"g","code":"native"}]}"#,
        "",
        "",
    ),
    (r#"{"thread":4,"frames":[{"class":"C"}]}"#, "malformed-record", "frames"),
    (r#"{"thread":4,"frames":[{"method":"f","code":"x"}]}"#, "malformed-key", "code"),
    (r#"{"thread":-4}"#, "malformed-record", "thread"),
    (r#"{"type":9,"name":"Nine","class":2,"super":7,"loader":2,"place":[1,2,3],"times":1.5,"apart":true}"#, "", ""),
    (r#"{"type":9,"name":5}"#, "malformed-record", "name"),
    (r#"{"type":9,"class":"zz"}"#, "malformed-record", "class"),
    (r#"{"type":9,"place":[1]}"#, "malformed-record", "place"),
    (r#"{"range":"part","name":"x","from":1,"to":"0xffffffffffffffff"}"#, "", ""),
    (r#"{"range":"part","name":"x","from":1}"#, "malformed-record", ""),
    (r#"{"range":"bananas","name":"x","from":1,"to":9}"#, "malformed-record", "range"),
    (r#"{"section":5}"#, "malformed-record", "section"),
    (r#"{"end":false}"#, "unknown-record", ""),
    (r#"{"end":true,"objects":-1}"#, "malformed-record", "objects"),
    (r#"{"mine":1}"#, "unknown-record", ""),
];

/// What only those around it tell: whole files, behind their header.
const FILES: &[Checked] = &[
    (r#"{"id":5,"refs":[2],"names":["a","b"]}"#, "malformed-key", "names"),
    (r#"{"id":5,"refs":[2],"weak":[1]}"#, "malformed-key", "weak"),
    (r#"{"id":5,"refs":[9]}"#, "dangling-ref", ""),
    (r#"{"id":5,"type":8}"#, "unknown-type", ""),
    (r#"{"id":5,"size":01}"#, "malformed-line", ""),
    (r#"{"id":5,"_mine":[1,]}"#, "malformed-line", ""),
    (r#"{"mine":{},"heapgraph":1}"#, "second-header", ""),
    (r#"{"id":2,"size":1}"#, "duplicate-object", ""),
    (r#"{"root":9}"#, "dangling-root", ""),
    (r#"{"root":2,"thread":3}"#, "unknown-thread", ""),
    (r#"{"root":2,"thread":1,"frame":1}"#, "unknown-thread", ""),
    (r#"{"heapgraph":1}"#, "second-header", ""),
    (r#"{"range":"part","name":"x","from":3,"to":9}"#, "bad-ranges", ""),
    (r#"{"range":"generation","name":"bananas","from":3,"to":9}"#, "malformed-key", "name"),
    (r#"{"end":true}"#, "behind-end", ""),
    (r#"{"id":5,"size":1,"_mine":0,"size":2}"#, "repeated-key", "size"),
    (r#"{"root":2,"kind":"static","kind":"local"}"#, "repeated-key", "kind"),
    (r#"{"thread":1,"name":"again"}"#, "repeated-record", "thread"),
    (r#"{"type":7,"name":"Eight"}"#, "repeated-record", "type"),
    ("{\"section\":\"one\"}\n{\"section\":\"two\"}\n{\"thread\":1}", "", ""),
    ("text", "malformed-line", ""),
    ("[1]", "malformed-line", ""),
];

/// `info --strict` is the checker for whoever writes the form: it passes what is right, and names the first line and the key
/// that are not.
#[test]
fn strict_names_what_is_wrong() {
    for (line, code, key) in LINES.iter().chain(FILES) {
        let is_header = line.starts_with("{\"heapgraph\"") && *code != "second-header";
        let header = if is_header { "" } else { "{\"heapgraph\":1}\n" };
        let right = "{\"id\":2,\"size\":1}\n{\"thread\":1,\"frames\":[{\"method\":\"f\"}]}\n{\"type\":7,\"name\":\"Seven\"}\n{\"end\":true}\n";
        let (before, behind) =
            if is_header { ("", right) } else { right.split_at(right.find("{\"end").expect("an end")) };
        let lines = format!("{header}{before}{line}\n{behind}");
        let ran = run_with_input(&["info", "--strict", "-"], lines.as_bytes());
        let ran = ran.expect_code(if code.is_empty() { 0 } else { 2 });
        let number = match *code {
            // The second of two; the first place of what is not there.
            "behind-end" => 6,
            "unknown-version" | "malformed-record" | "malformed-key" if is_header => 1,
            _ => 5,
        };
        let place = if key.is_empty() { format!("line {number}") } else { format!("key \"{key}\"") };
        let is_named = ran.stderr.contains(code) && ran.stderr.contains(&place);
        assert!(
            code.is_empty() || is_named && ran.stderr.contains(&format!("line {number}")),
            "{line}: {}",
            ran.stderr
        );
    }
    // A header is one wherever its key stands, and an id that comes twice explains what the end counts.
    let twice = b"{\"by\":\"me\",\"heapgraph\":1}\n{\"id\":1}\n{\"id\":1}\n{\"end\":true,\"objects\":1}\n";
    let twice = run_with_input(&["info", "--strict", "-"], twice).expect_code(2);
    assert!(twice.stderr.contains("duplicate-object") && twice.stderr.contains("line 3"), "{}", twice.stderr);
    let cut = run_with_input(&["info", "--strict", "-"], b"{\"heapgraph\":1}\n{\"id\":1}\n").expect_code(2);
    assert!(cut.stderr.contains("no-end") && cut.stderr.contains("line 2"), "{}", cut.stderr);
}

/// The schema and the checker agree on every line that tells by itself whether it is right.
#[test]
fn the_schema_finds_what_the_checker_finds() {
    if !project("target/live/mcp/installed").is_file() {
        return crate::common::live::not_installed("mcp");
    }
    let program = "import json, sys, jsonschema\n\
        schema = json.load(open(sys.argv[1]))\n\
        jsonschema.Draft202012Validator.check_schema(schema)\n\
        is_right = jsonschema.Draft202012Validator(schema).is_valid\n\
        print(json.dumps([is_right(json.loads(line)) for line in json.loads(sys.argv[2])]))";
    let lines: Vec<&str> = LINES.iter().map(|(line, ..)| *line).collect();
    let schema = project("docs/heapgraph.schema.json").display().to_string();
    let python = std::process::Command::new("python3")
        .args(["-c", program, &schema, &json!(lines).to_string()])
        .env("PYTHONPATH", project("target/live/mcp"))
        .output()
        .expect("python3");
    assert!(python.status.success(), "{}", String::from_utf8_lossy(&python.stderr));
    let found: Vec<bool> = serde_json::from_slice(&python.stdout).expect("JSON");
    for ((line, code, _), is_right) in LINES.iter().zip(found) {
        assert_eq!(code.is_empty(), is_right, "{line}");
    }
}

/// A thread that is there holds what lies on its stack, with a root of its own or without.
#[test]
fn a_local_is_held_by_its_thread_or_by_itself() {
    for thread in ["\"object\":1,", ""] {
        let lines = format!(
            "{{\"heapgraph\":1}}\n{{\"id\":1,\"type\":\"Thread\",\"size\":8}}\n{{\"id\":2,\"type\":\"A\",\"size\":16}}\n\
             {{\"thread\":3,{thread}\"frames\":[{{\"method\":\"run\"}}]}}\n\
             {{\"root\":2,\"kind\":\"local\",\"name\":\"v\",\"thread\":3,\"frame\":0}}\n{{\"end\":true,\"objects\":2}}\n"
        );
        let ask = |words: &[&str]| {
            let words: Vec<&str> = words.iter().copied().chain(["-q", "-f", "json", "--strict", "-"]).collect();
            run_with_input(&words, lines.as_bytes()).expect_code(0).json()
        };
        let path = run_with_input(&["roots", "0x2", "-q", "-"], lines.as_bytes()).expect_code(0).stdout;
        assert!(path.contains("local v of run"), "{path}");
        let stats = ask(&["stats"]);
        assert_eq!(stats["totals"]["reachable_bytes"], if thread.is_empty() { 16 } else { 24 }, "{thread}");
        assert_eq!(
            ask(&["roots", "0x2"])["paths"][0]["root"]["kind"],
            if thread.is_empty() { "local" } else { "thread" }
        );
    }
}

/// Every key that the reader knows stands in the document and in its schema, and the document's example is right.
#[test]
fn the_document_has_every_key() {
    let read = |path: &str| std::fs::read_to_string(project(path)).expect(path);
    let (document, schema) = (read("docs/heapgraph.md"), read("docs/heapgraph.schema.json"));
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let record = read("src/input/heapgraph/record.rs");
    let of_objects = record.split("b\"").skip(1).filter_map(|piece| piece.split('"').next());
    let of_objects = of_objects.filter(|key| !["null", "{\\"].contains(key) && !key.starts_with(['\\', '}']));
    let others =
        record.split("struct NonObjectLine {").nth(1).and_then(|rest| rest.split("\n}").next()).expect("the records");
    let renamed = others.split("rename = \"").skip(1).filter_map(|piece| piece.split('"').next());
    let fields = others.split("pub(super) ").skip(1).filter_map(|piece| piece.split(':').next());
    let is_key = |name: &&str| !["container_type", "type_key", "superclass"].contains(name);
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

/// The document's statement for DuckDB makes lines of our own tables, which give the figures of the dump: of each format one.
#[test]
fn tables_become_lines() {
    let packages = project("target/live/duckdb");
    if !packages.join("installed").is_file() {
        return crate::common::live::not_tested("duckdb: not installed; tests/live/install gets it");
    }
    let document = std::fs::read_to_string(project("docs/heapgraph.md")).expect("the document");
    let sql = document.split("```sql\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a statement");
    for name in [
        "gcdump/small-net31.gcdump.zst",
        "heapgraph/known-py.jsonl.zst",
        "hprof/zoo-jdk17-serial.hprof.zst",
        "ibm_classic/small.j9v5.txt.zst",
        "nettrace/small-net9.nettrace.zst",
        "phd/every-record-v6-64bit.phd",
        "ruby_objspace/known.jsonl.zst",
        "v8_snapshot/chat-old.heapsnapshot.zst",
        "xna_cf/pair_after.txt",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let (tables, lines) = (folder.path().join("tables"), folder.path().join("heap.jsonl"));
        let dump = project(&format!("fixtures/{name}")).display().to_string();
        let (to, lines) = (tables.display().to_string(), lines.display().to_string());
        run(&["export", "--to", "parquet", "--tables", "all", "-q", &dump, "-o", &to]).expect_code(0);
        let mut sql = sql.replace("DIR", &to).replace("heap.jsonl", &lines);
        if name.starts_with("v8") {
            sql = sql.replace("\"roots-told\"", "\"roots-told\",\"unheld-in-tree\",\"counts-bytes-only\"");
        }
        let program = "import duckdb, sys; duckdb.sql(sys.argv[1])";
        let mut python = std::process::Command::new("python3");
        let python = python.args(["-c", program, &sql]).env("PYTHONPATH", &packages).output().expect("python3");
        assert!(python.status.success(), "{name}: {}", String::from_utf8_lossy(&python.stderr));
        let stats = |file: &str| {
            let words = ["stats", "--retained=exact", "-n", "0", "-q", "-f", "json", file];
            let answer = run(&words).expect_code(0).json();
            let figures = |row: &Value| {
                let row = |key: &str| row[key].as_u64().expect("a figure");
                ["objects", "shallow_bytes", "reachable_bytes", "retained_bytes"].map(row)
            };
            let mut types: BTreeMap<String, Vec<[u64; 4]>> = BTreeMap::new();
            for row in answer["types"].as_array().expect("types") {
                types.entry(row["type"].to_string()).or_default().push(figures(row));
            }
            types
        };
        let (before, after) = (stats(&dump), stats(&lines));
        assert!(before.len() > 1 && before.len() == after.len(), "{name}");
        // Types of one name became one.
        for (type_name, rows) in before.iter().filter(|(_, rows)| rows.len() == 1) {
            assert_eq!((rows, type_name), (&after[type_name], type_name), "{name}");
        }
    }
}
