//! Groups by a field and sums of fields with `--shallow`: as the answer with a graph, without its columns.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::common::cmd::{Ran, project, run, run_with_input};
use crate::common::fixtures;
use crate::common::synth_java::{Held, JavaDump, units};

const ZOO: &str = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";

/// Rows in any order, without what takes the graph, and how often each is there: texts that are cut may be called alike.
fn rows(ran: &Ran) -> BTreeMap<String, usize> {
    let answer = ran.json();
    let mut found = BTreeMap::new();
    for row in answer.get("groups").or_else(|| answer.get("types")).and_then(Value::as_array).expect("rows") {
        let row = row.as_object().expect("a row").iter();
        let kept = row.filter(|(key, _)| !key.starts_with("reachable_")).map(|(key, value)| match key.as_str() {
            // With a graph a loader has more than its id.
            "loader" => (key.clone(), value["id"].to_string()),
            _ => (key.clone(), value.to_string()),
        });
        let row: BTreeMap<String, String> = kept.collect();
        *found.entry(format!("{row:?}")).or_default() += 1;
    }
    let totals = ["objects", "shallow_bytes", "types"].map(|key| answer["totals"][key].to_string());
    found.insert(totals.join(" "), 1);
    found
}

/// Returns true if counting answers as the graph does; false if it says that this takes one.
fn agree(file: &str, asked: &[&str]) -> bool {
    let ask = |how: &[&str]| run(&[&["stats", file, "--no-index", "-q", "-f", "json"], how, asked].concat());
    let (read, counted) = (ask(&[]), ask(&["--shallow"]));
    if counted.code != read.code {
        assert!(counted.code == 2 && counted.stdout.is_empty(), "{file} {asked:?}: {}", counted.stderr);
        assert!(
            counted.stderr.contains("that takes the graph of the dump, which was only counted"),
            "{}",
            counted.stderr
        );
        assert!(counted.stderr.contains("; leave --shallow out"), "{}", counted.stderr);
        return false;
    }
    if read.code == 0 {
        let (counted, read) = (rows(&counted), rows(&read));
        let differing = |a: &BTreeMap<String, usize>, b: &BTreeMap<String, usize>| -> Vec<String> {
            a.iter().filter(|(row, count)| b.get(*row) != Some(count)).map(|(row, _)| row.clone()).take(5).collect()
        };
        assert_eq!(differing(&counted, &read), differing(&read, &counted), "{file} {asked:?}");
    } else {
        assert_eq!(counted.stderr, read.stderr, "{file} {asked:?}");
    }
    true
}

const FIELDS: [&str; 14] = [
    ".hash",
    ".coder",
    ".name",
    ".key",
    ".value",
    ".count",
    ".threshold",
    ".loadFactor",
    ".state",
    ".next",
    ".tid",
    ".id",
    ".group",
    ".nothingIsCalledSo",
];

#[test]
fn counting_fields_and_reading_them_agree() {
    let (mut answered, mut refused) = (0, 0);
    // Each file is asked about every field, in one of four ways by turns.
    for (at, fixture) in fixtures::all().iter().filter(|fixture| fixture.format == "hprof").enumerate() {
        let file = fixture.path.display().to_string();
        for (turn, field) in (at..).zip(FIELDS) {
            let asked = match turn % 4 {
                0 => &["--by", field][..],
                1 => &["--by", field, "--type", "java.lang.*", "--sum", field],
                2 => &["--sum", field, "--min", field],
                _ => &["--by", "package", "--max", field, "--mean", ".hash"],
            };
            if agree(&file, asked) { answered += 1 } else { refused += 1 }
        }
        assert!(agree(
            &file,
            &["--by", ".key", "--type", "java.util.HashMap$Node", "--sum", ".hash,.key", "--raw-types"]
        ));
    }
    assert!(answered > 8 * refused, "{answered} {refused}");
}

/// Texts of all kinds, boxes, what says nothing, what is gone.
fn notes() -> Vec<u8> {
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let fields = [("value", Held::Reference(0)), ("offset", Held::Int(0)), ("count", Held::Int(0))];
    let string = dump.class("java.lang.String", object, &fields, &[]);
    let byte = dump.class("java.lang.Byte", object, &[("value", Held::Byte(0))], &[]);
    let double = dump.class("java.lang.Double", object, &[("value", Held::Double(0.0))], &[]);
    let base = dump.class("app.Base", object, &[("text", Held::Int(0)), ("count", Held::Int(0))], &[]);
    let note = dump.class("app.Note", base, &[("text", Held::Reference(0)), ("number", Held::Long(0))], &[]);
    let long = |last: &str| units(&("x".repeat(5 << 20) + last));
    let arrays = [units("open, shut"), long("a"), long("b"), vec![0xD8, 0x00], vec![0xDF, 0xFF], units("")];
    let array = |at: usize| 0x8_0000 + 0x10 * at as u64;
    for (at, units) in arrays.iter().enumerate() {
        dump.primitives(array(at), 5, 2, units);
    }
    let mut targets = vec![0, 0xdead, object];
    // (array, offset, count)
    let strings = [
        (0, 0, 4),
        (0, 0, 4),
        (0, 6, 4),
        (0, 6, 99),
        (1, 0, 6 << 20),
        (2, 0, 6 << 20),
        (1, 1, 6 << 20),
        (3, 0, 1),
        (4, 0, 1),
        (5, 0, 0),
    ];
    for (at, &(of, offset, count)) in strings.iter().enumerate() {
        let id = 0x9_0000 + 0x10 * at as u64;
        dump.instance(id, string, &[Held::Reference(array(of)), Held::Int(offset), Held::Int(count)]);
        targets.push(id);
    }
    for (id, of) in [(0x9_1000, 0), (0x9_1010, 0xbeef)] {
        dump.instance(id, string, &[Held::Reference(of), Held::Int(0), Held::Int(0)]);
        targets.push(id);
    }
    for (id, class, value) in [
        (0x9_2000, byte, Held::Byte(-3)),
        (0x9_2010, double, Held::Double(0.1)),
        (0x9_2020, double, Held::Double(f64::NAN)),
    ] {
        dump.instance(id, class, &[value]);
        targets.push(id);
    }
    dump.instance(0x9_3000, object, &[]);
    targets.push(0x9_3000);
    targets.retain(|&target| target != object);
    for at in 0..3 * targets.len() {
        let number = if at == 7 { i64::MAX } else { -3 };
        let target = Held::Reference(targets[at % targets.len()]);
        dump.instance(
            0xA_0000 + 0x10 * at as u64,
            note,
            &[target, Held::Long(number), Held::Int(at as i32 % 2), Held::Int(1)],
        );
    }
    dump.instance(0xB_0000, base, &[Held::Int(-3), Held::Int(0)]);
    dump.finish()
}

#[test]
fn what_fields_refer_to_is_grouped_by_what_it_says() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("notes.hprof");
    std::fs::write(&path, notes()).expect("written");
    let file = path.display().to_string();
    for asked in [
        &["--by", ".text"][..],
        &["--by", ".text", "--sum", ".number,.count", "--mean", ".text", "--max", ".text"],
        &["--by", ".number", "--sum", ".text", "--type", "app.*"],
        &["--by", ".count", "--min", ".text"],
        &["--sum", ".text,.number", "--mean", ".number", "--sort", "sum"],
    ] {
        assert!(agree(&file, asked), "{asked:?}");
    }
    // From a pipe it is kept, to be read again; where it may not be, it is said.
    let by_text = ["stats", "--shallow", "--by", ".text", "-q", "-f", "json"];
    let named = run(&[&by_text[..], &[&file]].concat()).expect_code(0);
    assert_eq!(run_with_input(&by_text, &notes()).expect_code(0).stdout, named.stdout);
    let ran = run_with_input(&[&by_text[..], &["--spool", "0"]].concat(), &notes()).expect_code(2);
    assert!(ran.stderr.contains("name the file"), "{}", ran.stderr);
    assert_eq!(run_with_input(&["stats", "--shallow", "--spool", "0"], &notes()).code, 0);
}

#[test]
fn what_takes_the_graph_is_refused() {
    for (asked, why) in [
        (
            &["--by", ".kind"][..],
            ".kind refers to java.lang.invoke.LambdaForm$Kind, whose name is not in the object itself",
        ),
        (&["--by", ".value"], ".value refers to an array"),
        (&["--by", ".size"], ".size may be the size of a collection"),
        (&["--sum", ".length"], ".length may be"),
        (&["--by", ".key.hash"], ".key.hash leads over several objects"),
    ] {
        let ran = run(&[&["stats", ZOO, "--shallow", "-q"], asked].concat()).expect_code(2);
        let text = format!("heapdump: {why}");
        assert!(ran.stderr.starts_with(&text) && ran.stderr.contains("leave --shallow out"), "{}", ran.stderr);
    }
    // What holds no numbers is no matter of the graph.
    assert!(agree(ZOO, &["--type", "=java.lang.Thread", "--sum", ".name"]));
    let none = run(&["stats", ZOO, "--shallow", "--by", ".nmae", "--sum", ".hash"]).expect_code(0);
    assert_eq!(none.stderr, "heapdump: note: no object has a field .nmae\n");
    let game = project("fixtures/xna_cf/pair_after.txt").display().to_string();
    for (asked, option) in [(["--by", ".name"], "group by .name"), (["--sum", ".size"], "--sum, --min")] {
        let ran = run(&[&["stats", &game, "--shallow"], &asked[..]].concat()).expect_code(2);
        assert!(ran.stderr.contains(option) && ran.stderr.contains("leave"), "{}", ran.stderr);
    }
}

/// Groups of a dump that is cut, wherever it is, are of the objects that are counted.
#[test]
fn cut_dumps_are_counted_as_far_as_they_go() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("cut.hprof");
    let file = path.display().to_string();
    let whole = fixtures::unpacked(ZOO);
    for cut in (1..24).map(|part| whole.len() * part / 24) {
        std::fs::write(&path, &whole[..cut]).expect("written");
        let ask = |asked: &[&str]| run(&[&["stats", &file, "--shallow", "-q", "-f", "json"], asked].concat());
        let (plain, by) = (ask(&[]), ask(&["--by", ".hash", "--max", ".coder"]));
        assert_eq!(plain.code, by.code, "{cut}");
        if plain.code == 0 {
            let totals = |ran: &Ran| ["objects", "shallow_bytes"].map(|key| ran.json()["totals"][key].clone());
            assert_eq!(totals(&plain), totals(&by), "{cut}");
            assert!(agree(&file, &["--by", ".hash"]) && agree(&file, &["--sum", ".hash"]), "{cut}");
        }
    }
}

#[test]
fn many_groups_keep_to_the_limit_of_memory() {
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let note = dump.class("app.Note", object, &[("number", Held::Long(0)), ("next", Held::Reference(0))], &[]);
    for at in 0..100_000 {
        dump.instance(0x10_0000 + 0x10 * at, note, &[Held::Long(at as i64), Held::Reference(0x10_0000 + 0x10 * at)]);
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("many.hprof");
    std::fs::write(&path, dump.finish()).expect("written");
    let file = path.display().to_string();
    let ask =
        |asked: &[&str]| run(&[&["stats", &file, "--shallow", "-n", "1", "--max-memory", "16MiB"], asked].concat());
    for few in [&[][..], &["--sum", ".number"]] {
        ask(few).expect_code(0);
    }
    for many in [&["--by", ".number"][..], &["--by", ".next"], &["--by", ".number", "--sum", ".number"]] {
        let ran = ask(many).expect_code(2);
        assert!(ran.stderr.contains("the answer takes more memory than it may"), "{many:?} {}", ran.stderr);
    }
}
