//! Values that are made to harm, in every form of the answers that print values.

use serde_json::Value;

use crate::common::cmd::{Ran, finish, heapdump};
use crate::common::synth_java::{Held, JavaDump, units};

const THING: u64 = 0x2_0000;
const MAP: &str = "0x30000";
const NESTED: u64 = 0x10_0000;
const LONG_KEY: usize = 1 << 20;
/// Half a character; what would steer a terminal, break lines and end cells; what is a formula; what data has names for.
const TEXTS: [&str; 6] = ["half", "\u{1b}[31m\r\n\t\u{7f}\u{202e}\u{9b}x,\"q\"|`", "", "@id", "=1+1", "a\0b"];
const NUMBERS: [f64; 7] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 5e-324, f64::MAX, 0.1];

/// Things with a text and a number each, in a map by these texts, which holds itself and lists in lists, 10,000 deep.
fn dump() -> (tempfile::TempDir, String) {
    let mut dump = JavaDump::new();
    let reference = Held::Reference(0);
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let string = dump.class("java.lang.String", object, &[("value", reference)], &[]);
    let map = dump.class("java.util.HashMap", object, &[("size", Held::Int(0)), ("table", reference)], &[]);
    let fields = [("key", reference), ("value", reference), ("next", reference)];
    let node = dump.class("java.util.HashMap$Node", object, &fields, &[]);
    let array = dump.class("java.util.HashMap$Node[]", object, &[], &[]);
    let list = dump.class("java.util.ArrayList", object, &[("size", Held::Int(0)), ("elementData", reference)], &[]);
    let objects = dump.class("java.lang.Object[]", object, &[], &[]);
    let fields = [("name", reference), ("ratio", Held::Double(0.0)), ("parts", reference)];
    let thing = dump.class("shop.Thing", object, &fields, &[]);
    let mut texts = vec![units(&"k".repeat(LONG_KEY))];
    texts.extend(TEXTS.map(|text| if text == "half" { vec![0xD8, 0x00] } else { units(text) }));
    let mut nodes = Vec::new();
    for (at, (text, number)) in (0u64..).zip(texts.iter().zip(NUMBERS)) {
        let [name, of_thing, entry] = [0x1_0000, THING, 0x4_0000].map(|start| start + 32 * at);
        dump.instance(name, string, &[Held::Reference(name + 16)]);
        dump.primitives(name + 16, 5, 2, text);
        dump.instance(of_thing, thing, &[Held::Reference(name), Held::Double(number), Held::Reference(0x3_0000)]);
        dump.root(of_thing);
        let value = [of_thing, 0x3_0000, NESTED][at as usize % 3];
        dump.instance(entry, node, &[name, value, 0].map(Held::Reference));
        nodes.push(entry);
    }
    dump.references(0x3_0010, array, &nodes);
    dump.instance(0x3_0000, map, &[Held::Int(7), Held::Reference(0x3_0010)]);
    for level in 0..10_000 {
        let id = NESTED + 32 * level;
        dump.instance(id, list, &[Held::Int(1), Held::Reference(id + 16)]);
        dump.references(id + 16, objects, &[if level < 9_999 { id + 32 } else { 0x3_0000 }]);
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("hostile.hprof");
    std::fs::write(&path, dump.finish()).expect("written");
    (directory, path.display().to_string())
}

/// Rows of delimited text, whose cells are in quotes where they have to be.
fn delimited_rows(text: &str, delimiter: u8) -> Vec<usize> {
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(text.as_bytes());
    reader.records().map(|record| record.expect("as many cells as titles").len()).collect()
}

#[test]
fn values_harm_no_form_of_an_answer() {
    let (_directory, path) = dump();
    let ask = |words: &[&str], form: &[&str]| -> Ran {
        let mut command = heapdump(&[&words[..1], &[&path[..]], &words[1..], form, &["-q"]].concat());
        command.env("COLUMNS", "80");
        finish(command).expect_code(0)
    };
    let show = |more: [&'static str; 2]| vec!["show", MAP, more[0], more[1]];
    let questions = [
        vec!["list", "-t", "=shop.Thing", "--select", ".name,.ratio", "--values"],
        vec!["list", "-t", "=java.lang.String", "--values"],
        vec!["stats", "-t", "=shop.Thing", "--by", ".name", "--sum", ".ratio", "--max", ".ratio"],
        vec!["stats", "-t", "=shop.Thing", "--by", ".ratio"],
        vec!["roots", "-t", "=shop.Thing", "--all-steps"],
    ];
    // Of `show` and `roots` of one object the file comes last.
    let of_one = |words: &[&str], form: &[&str]| -> Ran {
        let mut command = heapdump(&[words, form, &["-q", &path[..]]].concat());
        command.env("COLUMNS", "80");
        finish(command).expect_code(0)
    };
    let data = [
        vec!["list", "-t", "=shop.Thing", "--deep", "32"],
        vec!["list", "-t", "=java.util.ArrayList", "--deep", "32", "-n", "40"],
    ];
    let check = |words: &[&str], form: &[&str], ran: Ran| {
        let text = ran.stdout;
        let label = || format!("{words:?} {form:?}\n{}", text.chars().take(4000).collect::<String>());
        let is_tsv = form.contains(&"tsv");
        let harms = |ch: char| ch.is_control() && ch != '\n' && !(is_tsv && ch == '\t') || ch == '\u{202e}';
        assert!(!text.contains(harms), "{}", label());
        assert!(!text.contains("\\ud800") && !text.is_empty(), "{}", label());
        match form.last() {
            Some(&"json") => {
                drop(serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{error} {}", label())))
            }
            Some(&"jsonl") => text.lines().for_each(|line| {
                let row: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} {}", label()));
                assert!(row.is_object(), "{}", label());
            }),
            Some(&"csv") => assert!(!delimited_rows(&text, b',').is_empty(), "{}", label()),
            Some(&"tsv") => assert!(!delimited_rows(&text, b'\t').is_empty(), "{}", label()),
            Some(&"markdown") => {
                let cells = |line: &str| line.replace("\\|", "").matches('|').count();
                let titles = cells(text.lines().next().unwrap_or_default());
                assert!(text.lines().all(|line| cells(line) == titles), "{}", label());
            }
            Some(&"-p") => assert!(text.lines().all(|line| line.chars().count() <= 80), "{}", label()),
            _ => {}
        }
        // Texts are cut, but in data, of which there is 1 MiB of each object.
        let most = if words.contains(&"--deep") { 40 << 20 } else { 1 << 20 };
        assert!(text.len() < most, "{} bytes {}", text.len(), label());
    };
    const FORMS: [&[&str]; 7] = [
        &["-f", "table"],
        &["--color", "never", "-p"],
        &["-f", "markdown"],
        &["-f", "csv"],
        &["-f", "tsv"],
        &["-f", "json"],
        &["-f", "jsonl"],
    ];
    for form in FORMS {
        for words in &questions {
            check(words, form, ask(words, form));
        }
        let words = show(["--entries", "-q"]);
        check(&words, form, of_one(&words[..3], form));
    }
    for words in &data {
        for form in [&["-f", "json"][..], &["-f", "jsonl"]] {
            check(words, form, ask(words, form));
        }
    }
    let words = [&show(["--deep", "32"])[..], &["--deep-bytes", "4MiB"]].concat();
    let ran = of_one(&words, &["-f", "json"]);
    let told = ran.json()["json"].clone();
    check(&words, &["-f", "json"], ran);
    // Numbers that JSON has no words for are texts, the map in itself is a reference, and levels behind the last are stubs.
    let things: Vec<&Value> =
        told.as_array().expect("keys that are no names").iter().map(|row| &row["value"]).collect();
    assert_eq!(things[0]["ratio"], "NaN");
    assert_eq!((&things[1]["@ref"], &things[3]["ratio"]), (&Value::from(MAP), &Value::from(-0.0)));
    let mut nested = things[2];
    let mut levels = 0;
    while let Some(inner) = nested.as_array().and_then(|list| list.first()) {
        (nested, levels) = (inner, levels + 1);
    }
    assert_eq!((levels, nested["@type"].as_str()), (32, Some("java.util.ArrayList")));
}
