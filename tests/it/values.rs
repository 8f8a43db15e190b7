//! What objects of Java heap dumps hold and say: fields, statics, elements, texts, names; from the file, through the index,
//! packed, cut.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::common::cmd::{Ran, finish, heapdump, project, run, run_on_terminal, run_with_input};
use crate::common::questions::of_type;
use heapdump::OpenDump;
use heapdump::answers::{ObjectOptions, ObjectsOptions, object, objects};
use heapdump::input::{self, Dump, ReadOptions, Source};

/// A dump of the zoo program; both were written by other virtual machines.
const ZOOS: [&str; 2] = ["zoo-jdk11-serial.hprof.zst", "zoo-jdk17-serial.hprof.zst"];

fn fixture(name: &str) -> PathBuf {
    project("fixtures/hprof").join(name)
}

fn text_of(path: &Path) -> String {
    path.display().to_string()
}

fn unpacked(name: &str) -> Vec<u8> {
    crate::common::fixtures::unpacked(&format!("fixtures/hprof/{name}"))
}

/// Puts another text of the same length in place of one, wherever it stands.
fn overwrite(bytes: &mut [u8], text: &str, other: &str) {
    assert_eq!(text.len(), other.len());
    let places: Vec<usize> = memchr::memmem::find_iter(bytes, text).collect();
    assert!(!places.is_empty(), "{text}");
    places.into_iter().for_each(|at| bytes[at..at + text.len()].copy_from_slice(other.as_bytes()));
}

/// What `show` answers, asked of the library: a dump is asked for many objects (objects.rs compares both).
fn show(file: &Path, id: &str) -> Value {
    let dump = opened(file);
    serde_json::to_value(object(&dump, &ObjectOptions::new(id.parse().expect("an id"))).expect("an object"))
        .expect("JSON")
}

/// A dump; one that is never changed is opened once for all tests.
fn opened(file: &Path) -> Arc<OpenDump> {
    static FIXTURES: Mutex<BTreeMap<PathBuf, Arc<OpenDump>>> = Mutex::new(BTreeMap::new());
    let open = || Arc::new(heapdump::dump::open(file).expect("opens"));
    if !file.starts_with(project("fixtures")) {
        return open();
    }
    let mut fixtures = FIXTURES.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(fixtures.entry(file.to_path_buf()).or_insert_with(open))
}

/// The class object of a class.
fn class_object(file: &Path, class: &str) -> String {
    let (dump, scope) = (opened(file), of_type("/^java.lang.Class$/"));
    let list = objects(&dump, &ObjectsOptions { scope, ..ObjectsOptions::default() }).expect("a list");
    let list = serde_json::to_value(&list).expect("JSON");
    let of_class = list["objects"].as_array().expect("objects").iter().find(|object| object["class"] == class);
    of_class.expect(class)["id"].as_str().expect("an id").to_string()
}

fn field(shown: &Value, class: &str, name: &str) -> Value {
    let fields = shown["fields"].as_array().expect("fields");
    let found = fields.iter().find(|field| field["name"] == name && field["class"] == class);
    found.unwrap_or_else(|| panic!("{class}.{name} in {fields:?}")).clone()
}

/// The object that a path of fields leads to from a static variable of the zoo: `collisions`.
fn held(file: &Path, path: &[&str]) -> Value {
    let mut shown = show(file, &class_object(file, "zoo.Zoo"));
    for name in path {
        let id = match shown["fields"].as_array() {
            Some(fields) => fields.iter().find(|field| field["name"] == *name).expect(name)["id"].clone(),
            None => {
                let references = shown["references"].as_array().expect("references");
                references.iter().find(|row| row["reference"] == *name).expect(name)["id"].clone()
            }
        };
        shown = show(file, id.as_str().expect("an object"));
    }
    shown
}

#[test]
fn fields_have_their_names_classes_types_and_values() {
    for name in ZOOS {
        let file = fixture(name);
        let shown = held(&file, &["allFieldsSub"]);
        let (own, above) = ("zoo.Zoo$AllFieldsSub", "zoo.Zoo$AllFields");
        for (class, field_name, type_name, value) in [
            (own, "i", "int", json!(42)),
            (own, "b2", "byte", json!(1)),
            (above, "z", "boolean", json!(true)),
            (above, "c", "char", json!("€")),
            (above, "f", "float", json!(1.5)),
            (above, "d", "double", json!(-2.25)),
            (above, "b", "byte", json!(-8)),
            (above, "s", "short", json!(-300)),
            (above, "i", "int", json!(123_456_789)),
            (above, "j", "long", json!(-1_234_567_890_123i64)),
        ] {
            let expected = json!({"name": field_name, "class": class, "type": type_name, "value": value});
            assert_eq!(field(&shown, class, field_name), expected, "{name}");
        }
        let text = field(&shown, above, "t");
        assert_eq!(
            (&text["type"], &text["target_type"], &text["value"]),
            (&json!("object"), &json!("java.lang.String"), &json!("text"))
        );
        assert_eq!(field(&shown, above, "nul"), json!({"name": "nul", "class": above, "type": "object", "id": null}));
        assert_ne!(field(&shown, above, "o")["id"], field(&shown, own, "o")["id"]);
        assert_eq!(field(&shown, above, "o").get("value"), None);
        // A table tells fields of one name apart.
        let id = shown["object"]["id"].as_str().expect("an id");
        let table = run(&["show", id, &text_of(&file), "-q", "-f", "csv"]).expect_code(0).stdout;
        for line in [
            "relation,id,shallow_bytes,class,reference,type,value,truncated",
            "field,,,,Zoo$AllFieldsSub.i,int,42,false",
            "field,,,,Zoo$AllFields.i,int,123456789,false",
            "field,,,,z,boolean,true,false",
            "field,,,,nul,object,null,false",
        ] {
            assert!(table.lines().any(|row| row == line), "{name}: {line}\n{table}");
        }
    }
}

#[test]
fn static_variables_are_fields_of_the_class_object() {
    for name in ZOOS {
        let file = fixture(name);
        let class = "zoo.Zoo$AllFields";
        let shown = show(&file, &class_object(&file, class));
        assert_eq!(shown["object"]["value"], format!("class {class}"));
        for (name, type_name, value) in [
            ("SZ", "boolean", json!(true)),
            ("SC", "char", json!("x")),
            ("SF", "float", json!("NaN")),
            ("SD", "double", json!("Infinity")),
            ("SB", "byte", json!(127)),
            ("SS", "short", json!(-32768)),
            ("SI", "int", json!(-1)),
            ("SJ", "long", json!(i64::MAX)),
        ] {
            let expected = json!({"name": name, "class": class, "type": type_name, "static": true, "value": value});
            assert_eq!(field(&shown, class, name), expected);
        }
        assert_eq!(field(&shown, class, "SNUL")["id"], Value::Null);
        assert_eq!(field(&shown, class, "SO")["target_type"], "zoo.Zoo$Marker");
    }
}

#[test]
fn texts_are_as_the_program_wrote_them() {
    // The characters of longer ones are blotted out in the fixtures.
    let expected = [
        (0, ""),
        (1, "plain ASCII"),
        (2, "Latin-1: \u{e9}\u{fc}\u{df}"),
        (3, "\0\0\0\0\0\0\0\0\0\0\0\0"),
        (4, "pair: \u{1f600}"),
        (5, "lone: \u{fffd}"),
    ];
    for name in ZOOS {
        let file = fixture(name);
        for (at, text) in expected {
            let shown = held(&file, &["strings", "elementData", &format!("[{at}]")]);
            assert_eq!(shown["object"]["value"], text, "{name}");
            assert_eq!(shown["object"].get("truncated"), None);
        }
        let long = held(&file, &["strings", "elementData", "[7]"]);
        assert_eq!(long["object"]["truncated"], true);
        assert_eq!(long["object"]["value"].as_str().map(str::len), Some(1024));
    }
}

#[test]
fn threads_constants_and_boxes_say_what_they_are() {
    for name in ZOOS {
        let file = fixture(name);
        let list = run(&["list", &text_of(&file), "-q", "-t", "/^java.lang.Thread$/", "--ids"]).expect_code(0).stdout;
        let names: Vec<String> = list
            .split_whitespace()
            .map(|id| show(&file, id)["object"]["value"].as_str().expect("a name").into())
            .collect();
        for thread in ["main", "zoo-worker", "zoo-blocked"] {
            assert!(names.iter().any(|name| name == thread), "{name}: {names:?}");
        }
        let said = |path: &[&str]| held(&file, path)["object"]["value"].clone();
        assert_eq!(said(&["boxed", "[3]"]), 1003);
        assert_eq!(said(&["boxed", "[399]"]), 199);
        assert_eq!(said(&["byColour", "keyType"]), "class zoo.Zoo$Colour");
        assert_eq!(said(&["byColour", "keyUniverse", "[1]"]), "GREEN");
        assert_eq!(held(&file, &["ring"])["object"].get("value"), None);
    }
}

#[test]
fn arrays_have_a_length_and_elements() {
    for name in ZOOS {
        let file = fixture(name);
        let array = |place: usize| held(&file, &["primitiveArrays", &format!("[{place}]")]);
        for (place, elements) in [
            (0, json!([true, false, true])),
            (1, json!(["a", "\u{e9}", "\\u{d83d}", "\\u{de00}"])),
            (3, json!([1e300, -1.0])),
            (4, json!([-1, 0, 1, 2, 3, 4, 5])),
            (5, json!([-32768, 32767, 5])),
            (6, json!([i32::MIN, -1, 3])),
            (7, json!([i64::MIN, 1])),
        ] {
            let shown = array(place);
            assert_eq!(shown["object"]["elements"], elements, "{name} {place}");
            assert_eq!(shown["object"]["length"], elements.as_array().map(Vec::len).unwrap_or(0));
            assert_eq!(shown.get("fields"), None);
        }
        let floats = array(2)["object"]["elements"].clone();
        assert_eq!(floats[2], "NaN");
        assert_eq!(floats[1].as_f64().map(|zero| zero.is_sign_negative()), Some(true));
        assert_eq!(floats[3].as_f64().map(|least| (least as f32).to_bits()), Some(1));
        let empty = held(&file, &["emptyArrays", "[6]"]);
        assert_eq!((&empty["object"]["length"], &empty["object"]["elements"]), (&json!(0), &json!([])));
        let long = held(&file, &["big"]);
        assert_eq!(long["object"]["length"], 4000);
        assert_eq!(long["object"]["elements"].as_array().map(Vec::len), Some(100));
        let objects = held(&file, &["halfEmptyArray"]);
        assert_eq!(objects["object"]["length"], 1000);
        assert_eq!(objects["object"].get("elements"), None);
        assert_eq!(objects["references"][9]["reference"], "[900]");
    }
}

#[test]
fn weak_references_are_rows_and_marked() {
    for name in ZOOS {
        let file = fixture(name);
        let weak = held(&file, &["weakToShared"]);
        let rows = weak["references"].as_array().expect("references");
        let referent = rows.iter().find(|row| row["reference"] == ".referent").expect("a referent");
        assert_eq!(referent["weak"], true);
        assert!(rows.iter().filter(|row| row["reference"] != ".referent").all(|row| row.get("weak").is_none()));
        // From the other side too, with the name of the field.
        let shared = held(&file, &["cell", "held"]);
        assert_eq!(shared["object"]["id"], referent["id"]);
        let referrers = shared["referrers"].as_array().expect("referrers");
        let row = |reference: &str| referrers.iter().find(|row| row["reference"] == reference).expect(reference);
        assert_eq!((row(".referent").get("weak"), row(".held").get("weak")), (Some(&json!(true)), None));
        let id = weak["object"]["id"].as_str().expect("an id");
        let table = run(&["show", id, &text_of(&file), "-q"]).expect_code(0).stdout;
        assert!(table.lines().any(|line| line.starts_with("weak-reference ") && line.contains(".referent")), "{table}");
        // What soft references refer to they hold.
        let soft = held(&file, &["soft"]);
        assert!(soft["references"].as_array().expect("rows").iter().all(|row| row.get("weak").is_none()));
    }
}

#[test]
fn hand_made_dumps_of_both_widths_say_the_same() {
    for name in ["tiny-4byte.hprof", "tiny-8byte-segments.hprof", "android.hprof"] {
        let file = fixture(name);
        let list = run(&["list", &text_of(&file), "-q", "-t", "/^java.lang.String$/", "--ids"]).expect_code(0).stdout;
        let mut texts: Vec<String> = list
            .split_whitespace()
            .filter_map(|id| show(&file, id)["object"]["value"].as_str().map(String::from))
            .collect();
        texts.sort();
        let expected: &[&str] = if name.starts_with("tiny") {
            &["app-thread", "app-thread", "\u{4f60}\u{597d}"]
        } else {
            &["", "Main \u{4f60}", "app", "unreachable"]
        };
        assert_eq!(texts, expected, "{name}");
    }
}

/// A dump as a file, in a folder that goes with it.
fn as_file(bytes: &[u8], name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    std::fs::write(&file, bytes).expect("written");
    (folder, file)
}

#[test]
fn files_packed_files_and_indexes_say_the_same() {
    let whole = unpacked("zoo-jdk17-serial.hprof.zst");
    let (_folder, file) = as_file(&whole, "dump");
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(&whole).expect("packed");
    let (_other, packed) = as_file(&packer.finish().expect("packed"), "dump.gz");
    let ids: Vec<String> = [&["allFieldsSub"][..], &["strings", "elementData"], &["weak"], &["loaderA"], &["big"]]
        .iter()
        .map(|path| held(&file, path)["object"]["id"].as_str().expect("an id").to_string())
        .chain([class_object(&file, "zoo.Zoo")])
        .collect();
    let all = |file: &Path| -> Vec<Value> { ids.iter().map(|id| show(file, id)).collect() };
    let expected = all(&file);
    assert_eq!(all(&packed), expected);
    run(&["index", &text_of(&file), "-q"]).expect_code(0);
    let index = PathBuf::from(format!("{}.hdx", file.display()));
    assert!(index.is_file());
    assert_eq!(all(&file), expected);
    // Without its dump an index knows no values, and says so.
    std::fs::remove_file(&file).expect("removed");
    let alone = run(&["show", &ids[0], &text_of(&index), "-f", "json"]).expect_code(0);
    assert_eq!(alone.json().get("fields"), None);
    assert_eq!(alone.stderr.matches("which is not beside its index").count(), 1, "{}", alone.stderr);
}

/// Newcomers' finding 16: what a pipe gives is kept in a temporary file, and answers are those of the file; where it is not
/// kept, what is missing is said, once.
#[test]
fn a_pipe_has_values_where_a_temporary_file_keeps_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let piped = |words: &[&str], dump: &str, temporary: &std::path::Path| {
        let mut cat = std::process::Command::new("cat");
        let mut cat = cat.arg(project(dump)).stdout(std::process::Stdio::piped()).spawn().expect("cat");
        let mut command = heapdump(words);
        let stdin = cat.stdout.take().expect("a pipe");
        command.args(["-f", "json", "-"]).env("TMPDIR", temporary).stdin(stdin);
        let ran = finish(command);
        let _ = cat.wait();
        ran
    };
    let said = |ran: &Ran| ran.stderr.matches("of standard input too little was kept").count();
    for (dump, id) in [
        ("fixtures/hprof/tiny-4byte.hprof", "0x22280"),
        ("fixtures/hprof/zoo-jdk17-serial.hprof.zst", ""),
        ("fixtures/v8_snapshot/page156.heapsnapshot.zst", ""),
    ] {
        let largest = run(&["list", dump, "--ids", "-n", "1", "--sort", "retained"]).expect_code(0).stdout;
        let id = if id.is_empty() { largest.trim() } else { id };
        for words in [&["show", id][..], &["roots", id], &["leaks"], &["list", "--values", "-n", "9"]] {
            let of_file = run(&[words, &["-f", "json", dump]].concat()).expect_code(0);
            // Commands in answers name the file.
            let expected = Ran { stdout: of_file.stdout.replace(&format!(" {dump}"), ""), ..of_file };
            let ran = piped(words, dump, folder.path()).expect_code(0);
            assert_eq!((ran.json(), said(&ran)), (expected.json(), 0), "{words:?} {dump}");
            // A file that the shell opens is read again itself.
            let mut command = heapdump(words);
            let stdin = std::fs::File::open(project(dump)).expect("a dump");
            command.args(["-f", "json", "-", "--spool", "0"]).stdin(stdin);
            let ran = finish(command).expect_code(0);
            assert!(!cfg!(target_os = "linux") || ran.json() == expected.json(), "{words:?} {dump}");
            assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
            if words[0] == "list" {
                continue;
            }
            for (more, temporary) in
                [("0", folder.path()), ("1000", folder.path()), ("1GB", &folder.path().join("none"))]
            {
                let ran = piped(&[words, &["--spool", more]].concat(), dump, temporary).expect_code(0);
                assert_eq!(said(&ran), 1, "{words:?} {dump}: {}", ran.stderr);
            }
        }
    }
    let stats = piped(&["stats", "--spool", "0"], "fixtures/hprof/tiny-4byte.hprof", folder.path()).expect_code(0);
    assert_eq!(said(&stats), 0, "{}", stats.stderr);
    let whole = unpacked("tiny-4byte.hprof");
    let ran = run_with_input(&["show", "0x22280", "-", "--spool", "0", "-f", "json"], &whole).expect_code(0);
    assert_eq!((ran.json().get("fields"), ran.json()["object"].get("length")), (None, None));
    // Formats without values are not told to be without.
    let other = run(&["show", "1#7fe45", "fixtures/xna_cf/small_1k.txt"]).expect_code(0);
    assert!(!other.stderr.contains("values"), "{}", other.stderr);
}

#[test]
fn a_terminal_shows_values_in_words() {
    let file = fixture("zoo-jdk17-serial.hprof.zst");
    let id = held(&file, &["allFieldsSub"])["object"]["id"].as_str().expect("an id").to_string();
    let text = run_on_terminal(&format!("heapdump show {id} {} -q --color never", text_of(&file)), 120).expect_code(0);
    for words in ["Zoo$AllFieldsSub.i ", " '€' ", " -2.25 ", "java.lang.String \"text\"", "static Zoo.allFieldsSub"] {
        assert!(text.stdout.contains(words), "{words}\n{}", text.stdout);
    }
    // A text that is all zero is told by its length.
    let id = held(&file, &["strings", "elementData", "[6]"])["object"]["id"].as_str().expect("an id").to_string();
    let text = run_on_terminal(&format!("heapdump show {id} {} -q --color never", text_of(&file)), 120).expect_code(0);
    let joined = text.stdout.replace('\n', " ");
    assert!(joined.contains("java.lang.String (26 characters, all zero)"), "{}", text.stdout);
    // In a pipe tables are for people too; other forms are data.
    let file = text_of(&file);
    for command in [&["list", "--values", "--where", &format!("id = {id}")][..], &["strings", "--grep", "/^\\x00+$/"]] {
        let form = |form: &str| run(&[command, &["-q", "-f", form, &file]].concat()).expect_code(0).stdout;
        assert!(form("table").contains("(26 characters, all zero)"), "{}", form("table"));
        assert!(["csv", "json"].iter().all(|data| !form(data).contains("all zero")), "{command:?}");
    }
}

#[test]
fn controls_in_texts_and_names_never_reach_a_terminal() {
    let mut bytes = unpacked("zoo-jdk17-serial.hprof.zst");
    for (text, control) in
        [("duplicate text", "\x1b[31mred\x07 text"), ("zoo-worker", "\x1b]0;title\x07"), ("Plugin", "\x1b[1mPn")]
    {
        overwrite(&mut bytes, text, control);
    }
    let (_folder, path) = as_file(&bytes, "controls.hprof");
    let path = text_of(&path);
    let list = run(&["list", &path, "-q", "--values", "-f", "json"]).expect_code(0).json();
    let says = |text: &str| {
        let objects = list["objects"].as_array().expect("objects");
        let found = objects.iter().find(|object| object["value"] == text && object["type"] != "java.lang.Class");
        found.unwrap_or_else(|| panic!("{text:?}"))["id"].as_str().expect("an id").to_string()
    };
    let (text, thread) = (says("\x1b[31mred\x07 text"), says("\x1b]0;title\x07"));
    let lines = [
        format!("list {path} -t String -n 0"),
        format!("list {path} -t Thread -n 0"),
        format!("show {text} {path}"),
        format!("show {thread} {path}"),
        format!("roots {text} {path}"),
        format!("roots {thread} {path} --paths 5"),
        format!("roots --type Thread {path}"),
        format!("dominators {path} --depth 9 -n 0"),
        format!("dominators {path} --by type -n 0"),
        format!("breakdown {thread} {path}"),
        format!("leaks {path} --threshold 100 -n 30"),
        format!("stats {path} -n 0"),
        format!("stats --by loader {path} -n 0"),
    ];
    for line in lines {
        let drawn = run_on_terminal(&format!("heapdump {line} -q --color never"), 160).expect_code(0).stdout;
        assert!(!drawn.contains(['\x1b', '\x07']), "{line}: {:?}", drawn.split(['\x1b', '\x07']).next());
    }
}

#[test]
fn lists_say_what_objects_say() {
    let file = text_of(&fixture("zoo-jdk17-serial.hprof.zst"));
    let list = |more: &[&str]| run(&[&["list", &file, "-q", "--sort", "id"], more].concat());
    let all = list(&["--values", "-f", "json"]).expect_code(0).json();
    let objects = all["objects"].as_array().expect("objects");
    let count = |type_name: &str, value: &Value| {
        objects.iter().filter(|object| object["type"] == type_name && object["value"] == *value).count()
    };
    assert_eq!(count("java.lang.String", &json!("duplicate text")), 251);
    assert_eq!(count("java.lang.Integer", &json!(1003)), 21);
    assert_eq!(count("zoo.Zoo$Colour", &json!("BLUE")), 1);
    assert_eq!(count("java.lang.Thread", &json!("zoo-worker")), 1);
    assert_eq!(count("java.lang.Class", &json!("class zoo.Plugin")), 2);
    assert_eq!(count("zoo.Zoo$Ring", &Value::Null), 3);
    let csv = list(&["--values", "-f", "csv", "-t", "/^java.lang.String$/"]).expect_code(0).stdout;
    assert!(csv.starts_with("id,shallow_bytes,retained_bytes,references,class,type,value,truncated\n"), "{csv}");
    assert_eq!(csv.lines().filter(|line| line.ends_with(",java.lang.String,duplicate text,false")).count(), 251);
    // One stored reference each: to the array of characters.
    assert!(csv.lines().skip(1).all(|line| line.split(',').nth(3) == Some("1")), "{csv}");
    // Without being asked on a terminal alone.
    let without = list(&["-f", "json", "-n", "5"]).expect_code(0).json();
    assert!(without["objects"].as_array().expect("objects").iter().all(|object| object.get("value").is_none()));
    let line = format!("heapdump list {file} -q -t 'zoo.Zoo$Colour' --color never");
    let drawn = run_on_terminal(&line, 120).expect_code(0).stdout;
    assert!(drawn.contains("zoo.Zoo$Colour GREEN"), "{drawn}");
    // Where there are none that is an error.
    let none = run(&["list", "fixtures/xna_cf/small_1k.txt", "--values"]).expect_code(2);
    assert!(none.stderr.contains("xna-cf dumps hold no values"), "{}", none.stderr);
    let pipe = run_with_input(&["list", "--values", "--spool", "0", "-"], &unpacked("tiny-4byte.hprof")).expect_code(2);
    assert!(pipe.stderr.contains("of standard input too little was kept"), "{}", pipe.stderr);
}

#[test]
fn paths_and_trees_say_what_objects_say_on_a_terminal() {
    let file = fixture("zoo-jdk17-serial.hprof.zst");
    let id = held(&file, &["strings", "elementData", "[4]"])["object"]["id"].as_str().expect("an id").to_string();
    let file = text_of(&file);
    let on_terminal =
        |line: &str| run_on_terminal(&format!("heapdump {line} -q --color never"), 140).expect_code(0).stdout;
    let path = on_terminal(&format!("roots {id} {file}"));
    assert_eq!(path.matches("java.lang.String \"pair: \u{1f600}\"").count(), 2, "{path}");
    let tree = on_terminal(&format!("dominators {file} -t '/^java.lang.Thread$/'"));
    assert!(tree.contains("java.lang.Thread zoo-worker"), "{tree}");
    let headings = on_terminal(&format!("breakdown {id} {file}"));
    assert!(headings.contains("java.lang.String \"pair: \u{1f600}\": types on the way"), "{headings}");
    let paragraphs = on_terminal(&format!("leaks {file} --threshold 1%"));
    assert!(paragraphs.contains("through class java.lang.System (static System.bootLayer)"), "{paragraphs}");
    let table = run(&["roots", &id, &file, "-q", "-f", "csv"]).expect_code(0).stdout;
    assert!(table.starts_with("path,step,id,shallow_bytes,retained_bytes,class,reference,type\n"), "{table}");
    for end in [",static LauncherHelper.appClass,java.lang.Class\n", ",[25],java.lang.String\n"] {
        assert!(table.contains(end), "{table}");
    }
}

#[test]
fn paragraphs_say_what_objects_say_on_a_terminal_alone() {
    let file = text_of(&fixture("zoo-jdk17-serial.hprof.zst"));
    let thread = "java.lang.Thread zoo-worker (";
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("heapdump leaks {file} -q -n 0 --threshold 100 -t '/^java.lang.Thread$/' --color never");
    let drawn = words(run_on_terminal(&line, 120).expect_code(0).stdout);
    assert!(drawn.contains(thread), "{drawn}");
    let piped = run(&["leaks", &file, "-q", "-n", "0", "--threshold", "100", "-t", "/^java.lang.Thread$/"]);
    let piped = piped.expect_code(0).stdout;
    assert!(
        piped.starts_with("Suspect 1\n") && piped.contains(" One java.lang.Thread (0x") && !piped.contains(thread),
        "{piped}"
    );
}

#[test]
fn loaders_of_classes_have_their_names() {
    let file = text_of(&fixture("zoo-jdk17-serial.hprof.zst"));
    let list =
        run(&["list", &file, "-q", "--values", "-f", "json", "-t", "/ClassLoaders\\$App/"]).expect_code(0).json();
    assert_eq!(list["objects"][0]["value"], "app");
    // Rows of one name say whose they are, here of loaders that have none.
    for command in [&["stats"][..], &["dominators", "--by", "type"]] {
        let rows = run(&[command, &[&file, "-q", "-f", "json", "-t", "zoo.Plugin"]].concat()).expect_code(0).json();
        let rows = rows["types"].as_array().expect("rows").clone();
        let objects: Vec<_> = rows.iter().map(|row| row["objects"].as_u64().expect("objects")).collect();
        assert_eq!(objects, [4, 1], "{command:?}");
        for row in rows {
            assert_eq!((&row["loader"]["type"], &row["loader"]["name"]), (&json!("zoo.Zoo$TwinLoader"), &Value::Null));
        }
    }
}

#[test]
fn merged_paths_name_their_references() {
    for name in ZOOS {
        let file = text_of(&fixture(name));
        let merged = run(&["roots", "--type", "zoo.Zoo$View", &file, "-q", "-f", "json"]).expect_code(0).json();
        let mut row = &merged["tree"][0];
        assert_eq!(row.get("reference"), None);
        let mut names = Vec::new();
        while let Some(below) = row["children"].get(0) {
            row = below;
            names.push(row["reference"].as_str().expect("a name").to_string());
        }
        let end: Vec<&str> = names.iter().rev().take(4).rev().map(String::as_str).collect();
        assert_eq!(end, ["static Zoo.bus", ".listeners", ".elementData", "[*]"], "{name}");
        let csv = run(&["roots", "--type", "zoo.Zoo$Ring", &file, "-q", "-f", "csv"]).expect_code(0).stdout;
        assert!(csv.starts_with("level,objects,retained_bytes,chain_objects,reference,type\n"), "{csv}");
        assert!(csv.contains(",static Zoo.ring,zoo.Zoo$Ring\n"), "{csv}");
        let drawn = run_on_terminal(&format!("heapdump roots --type 'zoo.Zoo$Ring' {file} -q --color never"), 120);
        assert!(drawn.stdout.contains("static Zoo.ring  zoo.Zoo$Ring"), "{}", drawn.stdout);
    }
}

/// Every object of a dump that breaks off anywhere, or is damaged anywhere, can be asked for everything.
#[test]
fn damage_takes_values_away_and_nothing_else() {
    let whole = unpacked("tiny-8byte-segments.hprof");
    let mut asked = 0;
    for at in (40..whole.len()).step_by(7) {
        let mut changed = whole.clone();
        changed[at] ^= 0x41;
        for bytes in [&whole[..at], &changed[..]] {
            let (_folder, file) = as_file(bytes, "dump");
            let Ok(loaded) = input::read(Source::open(&file).expect("opens"), &ReadOptions::default()) else {
                continue;
            };
            let (Dump::Graph(graph), Some(details)) = (loaded.dump, loaded.details) else { panic!("no graph") };
            let nodes: Vec<_> = graph.nodes().collect();
            assert_eq!(details.shown_values(&graph, &nodes, 10).expect("readable").len(), nodes.len());
            for node in nodes {
                details.fields(&graph, node).expect("readable");
                details.elements(&graph, node, 100).expect("readable");
                details.reference_name(&graph, node, 0).expect("readable");
                asked += 1;
            }
            // The file may be gone, or shorter than it was: that is an error, or less to say, and no more.
            std::fs::write(&file, &bytes[..bytes.len() / 2]).expect("written");
            graph.nodes().for_each(|node| drop(details.fields(&graph, node)));
        }
    }
    assert!(asked > 10_000, "{asked}");
}

#[test]
fn info_has_the_properties_of_the_process_and_masks_secrets() {
    let mut bytes = unpacked("zoo-jdk17-serial.hprof.zst");
    overwrite(&mut bytes, "java.specification.vendor", "a.Password.of.the.program");
    let (_folder, path) = as_file(&bytes, "secret.hprof");
    let path = text_of(&path);
    for (words, secret) in [(&["--properties"][..], "***"), (&["--properties", "--secrets"], "Oracle Corporation")] {
        let info = run(&[&["info", &path, "-q", "-f", "json"], words].concat()).expect_code(0).json();
        let properties = info["properties"].as_object().expect("properties");
        assert_eq!(properties["java.version"], "17.0.15");
        assert_eq!(properties["java.vm.name"], "OpenJDK 64-Bit Server VM");
        assert_eq!(properties["a.Password.of.the.program"], secret);
        assert!(properties.len() > 40, "{properties:?}");
        assert_eq!(info["environment"], json!({}));
        assert_eq!(info["arguments"][0], "zoo.Zoo", "{}", info["arguments"]);
    }
    let lines = run(&["info", &path, "-q", "--properties"]).expect_code(0).stdout;
    assert!(lines.lines().any(|line| line.split_whitespace().eq(["property.java.version", "17.0.15"])), "{lines}");
    let without = run(&["info", &path, "-q", "-f", "json"]).expect_code(0).json();
    assert_eq!(without.get("properties"), None);
    run(&["info", "fixtures/xna_cf/small_1k.txt", "--properties"]).expect_code(2);
    run(&["info", &path, "--secrets"]).expect_code(2);
}
