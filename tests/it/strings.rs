//! Texts of Java heap dumps: copies, bytes, holders, patterns; every layout of strings; through the index, packed, redacted.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::cmd::{project, run, run_on_terminal, run_with_input};
use crate::common::synth_java::Held::{Byte, Int, Reference};
use crate::common::synth_java::{JavaDump, units};

/// One program on four virtual machines, on one of them with two collectors.
const ZOOS: [&str; 5] = ["jdk11-serial", "jdk17-serial", "jdk17-zgc", "jdk21-serial", "jdk25-coh"];

fn zoo(name: &str) -> String {
    project("fixtures/hprof").join(format!("zoo-{name}.hprof.zst")).display().to_string()
}

fn strings(file: &str, options: &[&str]) -> Value {
    run(&[&["strings", file, "-q", "-f", "json"], options].concat()).expect_code(0).json()
}

fn row<'v>(answer: &'v Value, text: &str) -> &'v Value {
    let rows = answer["strings"].as_array().expect("rows");
    rows.iter().find(|row| row["text"] == text).unwrap_or_else(|| panic!("{text:?} in {rows:?}"))
}

fn written(folder: &Path, dump: JavaDump) -> String {
    let path = folder.join("dump.hprof");
    std::fs::write(&path, dump.finish()).expect("written");
    path.display().to_string()
}

#[test]
fn the_zoo_has_its_duplicates_and_their_holders() {
    for name in ZOOS {
        let answer = strings(&zoo(name), &["--duplicates", "--holders", "-n", "1"]);
        let first = &answer["strings"][0];
        assert_eq!((first["text"].as_str(), first["copies"].as_u64()), (Some("duplicate text"), Some(251)), "{name}");
        let one = first["bytes"].as_u64().unwrap() / 251;
        assert_eq!(first["wasted_bytes"], 250 * one);
        let holders = first["holders"].as_array().unwrap();
        // The program's list has 250; the constant of the program is one more.
        assert_eq!(holders[0]["type"], "zoo.Zoo");
        assert_eq!((&holders[0]["reference"], &holders[0]["copies"]), (&"static Zoo.duplicates".into(), &250.into()));
        assert_eq!(holders.iter().map(|holder| holder["copies"].as_u64().unwrap()).sum::<u64>(), 251);
    }
}

#[test]
fn totals_are_those_of_all_rows() {
    for name in ZOOS {
        let answer = strings(&zoo(name), &[]);
        let rows = answer["strings"].as_array().unwrap();
        let sum = |key: &str| rows.iter().map(|row| row[key].as_u64().unwrap()).sum::<u64>();
        let totals = &answer["totals"];
        assert_eq!((totals["strings"].as_u64(), totals["bytes"].as_u64()), (Some(sum("copies")), Some(sum("bytes"))));
        assert_eq!(
            (totals["distinct"].as_u64(), answer["found"].as_u64()),
            (Some(rows.len() as u64), Some(rows.len() as u64))
        );
        assert_eq!(totals["wasted_bytes"], sum("wasted_bytes"));
        let stats = run(&["stats", &zoo(name), "-q", "-f", "json", "-t", "/^java.lang.String$/"]).json();
        assert_eq!(totals["strings"], stats["totals"]["objects"]);
        // Largest first.
        assert!(rows.windows(2).all(|pair| pair[0]["bytes"].as_u64() >= pair[1]["bytes"].as_u64()));
    }
}

#[test]
fn blotted_out_texts_are_said_first_and_are_no_duplicates() {
    for name in ZOOS {
        let ran = run(&["strings", &zoo(name), "--duplicates", "-f", "json"]).expect_code(0);
        let answer = ran.json();
        let redacted = answer["redacted"]["strings"].as_u64().expect("a redacted dump");
        assert!(ran.stderr.contains("the dump is redacted:"), "{}", ran.stderr);
        let is_blank = |row: &&Value| {
            !row["text"].as_str().unwrap().is_empty() && row["text"].as_str().unwrap().chars().all(|c| c == '\0')
        };
        assert_eq!(answer["strings"].as_array().unwrap().iter().filter(is_blank).count(), 0);
        let all = strings(&zoo(name), &[]);
        let blank = all["strings"].as_array().unwrap().iter().filter(is_blank).cloned().collect::<Vec<_>>();
        assert_eq!(blank.iter().map(|row| row["copies"].as_u64().unwrap()).sum::<u64>(), redacted);
        assert!(blank.iter().all(|row| row["wasted_bytes"] == 0));
    }
}

#[test]
fn patterns_choose_texts() {
    let file = zoo("jdk17-serial");
    for (options, text, found) in [
        (&["--grep", "duplicate tex?"][..], "duplicate text", 1),
        (&["--grep", "/^dup.*text$/"], "duplicate text", 1),
        (&["--grep", "dup*text"], "duplicate text", 1),
        (&["--grep", "DUPLICATE TEX?", "-i"], "duplicate text", 1),
        (&["--grep", "/^PLAIN ascii$/", "-i"], "plain ASCII", 1),
    ] {
        let answer = strings(&file, options);
        assert_eq!(answer["found"], found, "{options:?}");
        let row = row(&answer, text);
        assert_eq!(answer["matching"]["strings"], row["copies"]);
        assert_eq!(answer["matching"]["distinct"], 1);
    }
    let ran = run(&["strings", &file, "--grep", "DUPLICATE TEXT"]).expect_code(1);
    assert!(ran.stderr.contains("no text matches --grep DUPLICATE TEXT"), "{}", ran.stderr);
    assert_eq!(
        run(&["strings", &file, "--grep", "duplicate tex?", "--duplicates", "-q", "-f", "csv"]).stdout.lines().count(),
        2
    );
    run(&["strings", &file, "--grep", "/(/"]).expect_code(2);
    run(&["strings", &file, "-i"]).expect_code(2);
}

#[test]
fn rows_are_sorted_as_asked() {
    let file = zoo("jdk17-serial");
    for (column, key) in [("copies", "copies"), ("bytes", "bytes"), ("wasted", "wasted_bytes")] {
        let answer = strings(&file, &["--sort", column, "-n", "50"]);
        let values: Vec<u64> =
            answer["strings"].as_array().unwrap().iter().map(|row| row[key].as_u64().unwrap()).collect();
        assert!(values.len() == 50 && values.is_sorted_by(|a, b| a >= b), "{column}: {values:?}");
    }
    run(&["strings", &file, "--sort", "text"]).expect_code(2);
}

#[test]
fn answers_do_not_depend_on_index_packing_and_threads() {
    let directory = tempfile::tempdir().unwrap();
    let packed = directory.path().join("zoo.hprof.zst");
    std::fs::copy(zoo("jdk17-serial"), &packed).expect("copied");
    let plain = directory.path().join("zoo.hprof");
    let mut source = heapdump::input::Source::open(&packed).expect("a dump");
    let mut bytes = vec![0; 8 << 20];
    let length = source.fill(&mut bytes).expect("readable");
    std::fs::write(&plain, &bytes[..length]).expect("written");
    let ask = |file: &PathBuf, threads: &str| {
        let file = file.display().to_string();
        run(&["strings", &file, "--holders", "--threads", threads, "-q", "-f", "json"]).expect_code(0).stdout
    };
    let first = ask(&packed, "1");
    assert!(first.len() > 100_000);
    for threads in ["1", "2", "5"] {
        assert_eq!(ask(&plain, threads), first);
    }
    for file in [&packed, &plain] {
        run(&["index", &file.display().to_string(), "-q"]).expect_code(0);
        assert_eq!(ask(file, "2"), first);
    }
    // A pipe cannot be read twice, but what was kept of it.
    let piped = run_with_input(&["strings", "-q", "-n", "3"], &bytes[..length]).expect_code(0).stdout;
    assert_eq!(piped, run(&["strings", "-q", "-n", "3", &plain.display().to_string()]).expect_code(0).stdout);
    let ran = run_with_input(&["strings", "-q", "--spool", "0"], &bytes[..length]).expect_code(2);
    assert!(ran.stderr.contains("of standard input too little was kept"), "{}", ran.stderr);
}

/// Six strings: two texts of two copies, of which one shares its array; a part of an array; an empty one.
#[test]
fn strings_of_jdk_6_are_parts_of_arrays() {
    let directory = tempfile::tempdir().unwrap();
    let mut dump = JavaDump::new();
    dump.class("java.lang.Class", 0, &[], &[]);
    let fields = [("value", Reference(0)), ("offset", Int(0)), ("count", Int(0)), ("hash", Int(0))];
    let string = dump.class("java.lang.String", 0, &fields, &[]);
    dump.primitives(0x1000, 5, 2, &units("a key and its value"));
    dump.primitives(0x1100, 5, 2, &units("key"));
    for (id, array, offset, count) in [
        (0x2000, 0x1000, 2, 3),
        (0x2040, 0x1100, 0, 3),
        (0x2080, 0x1000, 14, 5),
        (0x20C0, 0x1000, 14, 5),
        (0x2100, 0x1000, 0, 19),
        (0x2140, 0x1100, 3, 0),
    ] {
        dump.instance(id, string, &[Reference(array), Int(offset), Int(count), Int(0)]);
        dump.root(id);
    }
    let file = written(directory.path(), dump);
    let answer = strings(&file, &["--holders"]);
    let copies = |text: &str| row(&answer, text)["copies"].as_u64().unwrap();
    assert_eq!((copies("key"), copies("value"), copies("a key and its value"), copies("")), (2, 2, 1, 1));
    assert_eq!(answer["totals"]["distinct"], 4);
    let list = run(&["list", &file, "-q", "-f", "json"]).json();
    let bytes = |id: &str| {
        let objects = list["objects"].as_array().unwrap();
        objects.iter().find(|object| object["id"] == id).expect(id)["shallow_bytes"].as_u64().unwrap()
    };
    let (string, long, short) = (bytes("0x2000"), bytes("0x1000"), bytes("0x1100"));
    assert_eq!(answer["totals"]["bytes"], 6 * string + long + short);
    assert_eq!(row(&answer, "value")["bytes"], 2 * string + long);
    assert_eq!(row(&answer, "value")["wasted_bytes"], string);
    assert_eq!(row(&answer, "key")["bytes"], 2 * string + long + short);
    assert_eq!(row(&answer, "key")["wasted_bytes"], string + short);
    assert_eq!(row(&answer, "key")["holders"][0]["reference"], "(root: unknown)");
    assert_eq!(strings(&file, &["--grep", "/^val/"])["matching"]["strings"], 2);
}

#[test]
fn latin_1_and_utf_16_are_texts_and_equal_bytes_are_not_equal_texts() {
    let directory = tempfile::tempdir().unwrap();
    let mut dump = JavaDump::new();
    dump.class("java.lang.Class", 0, &[], &[]);
    let string =
        dump.class("java.lang.String", 0, &[("value", Reference(0)), ("coder", Byte(0)), ("hash", Int(0))], &[]);
    dump.primitives(0x1000, 8, 1, b"AA\xE9\xE9");
    dump.primitives(0x1100, 8, 1, b"AA\xE9\xE9");
    dump.primitives(0x1200, 8, 1, b"AA\xE9\xE9");
    for (id, array, coder) in [(0x2000, 0x1000, 0), (0x2040, 0x1100, 1), (0x2080, 0x1200, 0), (0x20C0, 0x1200, 0)] {
        dump.instance(id, string, &[Reference(array), Byte(coder), Int(0)]);
        dump.root(id);
    }
    dump.instance(0x2100, string, &[Reference(0), Byte(0), Int(0)]);
    dump.root(0x2100);
    let file = written(directory.path(), dump);
    let answer = strings(&file, &[]);
    assert_eq!(row(&answer, "AA\u{e9}\u{e9}")["copies"], 3);
    assert_eq!(row(&answer, "\u{4141}\u{e9e9}")["copies"], 1);
    // One without an array has no text.
    assert_eq!((&answer["totals"]["strings"], &answer["totals"]["distinct"]), (&5.into(), &2.into()));
}

/// Arrays of 9 MB: longer than what is read of a dump at once. They differ in the last character.
#[test]
fn long_texts_are_compared_whole_and_shown_cut() {
    let directory = tempfile::tempdir().unwrap();
    let mut dump = JavaDump::new();
    dump.class("java.lang.Class", 0, &[], &[]);
    let string = dump.class("java.lang.String", 0, &[("value", Reference(0)), ("hash", Int(0))], &[]);
    let mut text: Vec<u8> = units(&"long text ".repeat(480_000));
    assert!(text.len() > 9 << 20);
    for (number, last) in [b'x', b'x', b'y'].into_iter().enumerate() {
        *text.last_mut().unwrap() = last;
        let array = 0x1000_0000 * (1 + number as u64);
        dump.primitives(array, 5, 2, &text);
        dump.instance(0x2000 + 64 * number as u64, string, &[Reference(array), Int(0)]);
        dump.root(0x2000 + 64 * number as u64);
    }
    let file = written(directory.path(), dump);
    let answer = strings(&file, &[]);
    let copies: Vec<u64> =
        answer["strings"].as_array().unwrap().iter().map(|row| row["copies"].as_u64().unwrap()).collect();
    assert_eq!(copies, [2, 1]);
    for row in answer["strings"].as_array().unwrap() {
        assert_eq!((row["text"].as_str().unwrap().len(), &row["truncated"]), (1024, &true.into()));
    }
    // What is matched is the whole text.
    assert_eq!(strings(&file, &["--grep", "texty"])["matching"]["strings"], 1);
    assert_eq!(strings(&file, &["--grep", "/textx$/"])["matching"]["strings"], 2);
    assert_eq!(strings(&file, &["--grep", "long text long text"])["matching"]["strings"], 3);
}

#[test]
fn a_terminal_says_what_could_be_freed() {
    let line = format!("heapdump strings {} --duplicates --holders -n 1 -q --color never", zoo("jdk17-serial"));
    let shown = run_on_terminal(&line, 120).expect_code(0).stdout;
    assert!(
        shown.contains("2,992 strings, ") && shown.contains("would be freed if each text were there once."),
        "{shown}"
    );
    assert!(shown.contains("\"duplicate text\"") && shown.contains("static Zoo.duplicates (250)"), "{shown}");
}

#[test]
fn formats_without_texts_say_so() {
    let ran = run(&["strings", "fixtures/xna_cf/small_1k.txt"]).expect_code(2);
    assert!(ran.stderr.contains("xna-cf"), "{}", ran.stderr);
}

/// As Chrome DevTools lists them.
#[test]
fn v8_snapshots_have_duplicate_strings() {
    let file = project("fixtures/v8_snapshot/page156.heapsnapshot.zst").display().to_string();
    let answer = strings(&file, &["--duplicates", "--sort", "bytes", "--holders"]);
    let rows = answer["strings"].as_array().unwrap().iter();
    let rows: Vec<(&str, u64, u64)> = rows
        .map(|row| (row["text"].as_str().unwrap(), row["copies"].as_u64().unwrap(), row["bytes"].as_u64().unwrap()))
        .collect();
    let expected = [
        ("Objects of type internal cannot be created using the constructor.", 2, 160),
        ("WebAssembly.Suspending", 3, 108),
        ("EventTarget", 2, 48),
        ("WebAssembly", 2, 48),
        ("Document", 2, 40),
    ];
    assert_eq!(rows.len(), expected.len());
    assert!(expected.iter().all(|row| rows.contains(row)), "{rows:?}");
    assert_eq!(answer["totals"]["wasted_bytes"], 80 + 72 + 24 + 24 + 20);
    let waste = run(&["waste", &file, "-q", "-f", "json"]).expect_code(0).json();
    assert_eq!(waste["kinds"][0]["kind"], "duplicate-strings");
    assert_eq!((waste["kinds"].as_array().unwrap().len(), &waste["kinds"][0]["wasted_bytes"]), (1, &220.into()));
    assert_eq!(strings(&file, &["--grep", "/^EventT/"])["matching"]["strings"], 2);
}
