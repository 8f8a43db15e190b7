//! `redact`: copies without values, and the proof that nothing is left. Texts are looked for here by a search of their own.

use std::collections::HashSet;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use heapdump::input::NoObserver;
use heapdump::redact::{DumpFile, KeptFields, KeyedHash, NameMap, RedactOptions, redact, redact_in_one_walk};
use serde_json::Value;

use crate::common::cmd::{heapdump, run, run_with_input};
use crate::common::fixtures::{all, unpacked};
use crate::common::synth_hprof::Writer;

const ZOO: &str = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
const MODES: [&[&str]; 3] = [&[], &["--keep-equality"], &["--keep", "none"]];

/// The texts of a dump, as `strings` reads them.
fn texts(path: &str) -> Vec<String> {
    let ran = run(&["strings", path, "--full", "-q", "-n", "0", "-f", "jsonl"]);
    let rows = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    rows.filter_map(|row| row["text"].as_str().map(String::from)).collect()
}

/// Runs of six bytes: of texts in one byte a character, and of three characters in two.
fn runs(texts: &[String]) -> HashSet<[u8; 6]> {
    let mut found = HashSet::new();
    for text in texts {
        let narrow: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(0)).collect();
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        found.extend(narrow.windows(6).map(|run| <[u8; 6]>::try_from(run).expect("six")));
        found.extend(wide.windows(6).step_by(2).map(|run| <[u8; 6]>::try_from(run).expect("six")));
    }
    // What is no text: zeros, and what any structure has.
    found.retain(|run| run.iter().filter(|byte| **byte >= 0x20).count() >= 3);
    found
}

fn runs_in(bytes: &[u8]) -> HashSet<[u8; 6]> {
    bytes.windows(6).map(|run| <[u8; 6]>::try_from(run).expect("six")).collect()
}

/// Every dump of Java in every mode: the same answers, and no text.
#[test]
fn copies_of_every_fixture_answer_alike_and_have_no_texts() {
    let folder = tempfile::tempdir().expect("a folder");
    for fixture in all().into_iter().filter(|fixture| fixture.format == "hprof") {
        let path = fixture.path.display().to_string();
        let copy = folder.path().join(fixture.name().trim_end_matches(".zst")).display().to_string();
        for mode in MODES {
            run(&[&["redact", &path, "-o", &copy, "--force", "-q"], mode].concat()).expect_code(0);
            let keeps: &[&str] = if mode.contains(&"none") { mode } else { &[] };
            let verified = run(&[&["redact", "--verify", &path, &copy], keeps].concat()).expect_code(0).stdout;
            assert!(verified.contains("leak suspects") && verified.contains("no text is left"), "{verified}");
            assert!(verified.lines().all(|line| line.starts_with("same ")), "{verified}");
            assert_eq!(unpacked(&path).len(), std::fs::read(&copy).expect("there").len(), "{path} {mode:?}");
        }
    }
}

/// Texts of a V8 snapshot that are values, and names: by a reading of the JSON of its own.
fn texts_of_v8(bytes: &[u8]) -> Option<(Vec<String>, Vec<String>)> {
    let file: Value = serde_json::from_slice(bytes).ok()?;
    let meta = &file["snapshot"]["meta"];
    let place = |list: &str, name: &str| meta[list].as_array()?.iter().position(|field| field == name);
    let numbers = |key: &str| {
        file[key]
            .as_array()
            .map(|all| all.iter().filter_map(Value::as_i64).map(|number| number as u64).collect::<Vec<_>>())
    };
    let kinds = |list: &str, place: usize| meta[list][place].as_array().cloned();
    let (nodes, edges) = (numbers("nodes")?, numbers("edges")?);
    let (kind, name, width) =
        (place("node_fields", "type")?, place("node_fields", "name")?, meta["node_fields"].as_array()?.len());
    let (edge_kind, edge_name) = (place("edge_fields", "type")?, place("edge_fields", "name_or_index")?);
    let (node_kinds, edge_kinds) = (kinds("node_types", kind)?, kinds("edge_types", edge_kind)?);
    let is_text =
        |kind: u64| node_kinds.get(kind as usize).and_then(Value::as_str).is_some_and(|kind| kind.contains("string"));
    let mut named: HashSet<u64> = nodes.chunks(width).filter(|row| !is_text(row[kind])).map(|row| row[name]).collect();
    named.extend(
        edges
            .chunks(3)
            .filter(|row| {
                !["element", "hidden"]
                    .map(|kind| edge_kinds.get(row[edge_kind] as usize) == Some(&Value::from(kind)))
                    .contains(&true)
            })
            .map(|row| row[edge_name]),
    );
    for field in ["name", "script_name"] {
        let Some(place) = place("trace_function_info_fields", field) else { continue };
        let width = meta["trace_function_info_fields"].as_array()?.len();
        named.extend(numbers("trace_function_infos").unwrap_or_default().chunks(width).map(|row| row[place]));
    }
    let text = |at: &u64| file["strings"][*at as usize].as_str().map(String::from);
    let values = (0..file["strings"].as_array()?.len() as u64).filter(|at| !named.contains(at));
    // Kinds of nodes stand in the header.
    let names = named.iter().filter_map(text).chain([file["snapshot"].to_string()]);
    Some((values.filter_map(|at| text(&at)).collect(), names.collect()))
}

/// Snapshots of V8: the same answers, the same rows but for names, and no text.
#[test]
fn copies_of_snapshots_answer_alike_and_have_no_texts() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut copied, mut looked) = (0, 0);
    for fixture in all().into_iter().filter(|fixture| fixture.format == "v8-snapshot") {
        let path = fixture.path.display().to_string();
        let copy = folder.path().join(fixture.name().trim_end_matches(".zst")).display().to_string();
        let ran = run(&["redact", &path, "-o", &copy, "--force"]);
        let (before, after) = (unpacked(&path), std::fs::read(&copy).unwrap_or_default());
        // Without its header there is no snapshot.
        let has_header = !fixture.name().contains("cut-in-header");
        assert_eq!(ran.code == 0, has_header, "{}", ran.stderr);
        copied += u32::from(has_header);
        // Rows and names come from two places of the file at once: through a pipe too.
        let piped = run_with_input(&["redact", "-", "-o", "-"], &before);
        assert!(piped.stdout == String::from_utf8_lossy(&after), "{path}: {}", piped.stderr);
        let Some((values, names)) = texts_of_v8(&before) else { continue };
        let allowed = runs(&names);
        let mut present: HashSet<[u8; 6]> = runs_in(&after).difference(&allowed).copied().collect();
        // Numbers are everywhere.
        present.retain(|run| run.iter().any(u8::is_ascii_alphabetic));
        let is_left = |text: &String| !runs(std::slice::from_ref(text)).is_disjoint(&present);
        let left: Vec<String> = values.into_iter().filter(is_left).collect();
        assert!(left.is_empty(), "{path}: {left:?}");
        // Those whose rows are damaged have no names any more.
        if !ran.stderr.contains("none is left") {
            let verified = run(&["redact", "--verify", &path, &copy]).expect_code(0).stdout;
            assert!(verified.contains("no text is left"), "{verified}");
            looked += 1;
        }
    }
    assert!(copied > 10 && looked > 5, "{copied} {looked}");
    // Not a copy of itself, nor one in which a text was put.
    let path = folder.path().join("text.heapsnapshot").display().to_string();
    let fixture = "fixtures/v8_snapshot/chat-old.heapsnapshot.zst";
    assert!(run(&["redact", "--verify", fixture, fixture]).expect_code(1).stdout.contains("differs  no text is left"));
    run(&["redact", fixture, "-o", &path]).expect_code(0);
    let copy = String::from_utf8(std::fs::read(&path).expect("there")).expect("ASCII");
    let (values, names) = texts_of_v8(&unpacked(fixture)).expect("sound");
    let allowed = runs(&names);
    let is_plain = |text: &&String| {
        text.len() >= 8
            && text.chars().all(|c| (' '..='~').contains(&c) && c != '"' && c != '\\')
            && runs(std::slice::from_ref(text)).difference(&allowed).count() > 2
            && copy.contains(&format!("\"{}\"", filler(text.len())))
    };
    let secret = values.iter().find(is_plain).expect("a text");
    let planted = copy.replacen(&filler(secret.len()), secret, 1);
    std::fs::write(&path, planted).expect("written");
    let told = run(&["redact", "--verify", fixture, &path]).expect_code(1).stdout;
    assert_eq!(told.lines().filter(|line| line.starts_with("differs")).count(), 1, "{told}");
    assert!(told.contains("differs  no text is left"), "{told}");
}

/// The first text that takes the place of one of so many characters.
fn filler(units: usize) -> String {
    (0..units)
        .map(|at| {
            if at + 1 == units {
                '0'
            } else if (units - at).is_multiple_of(2) {
                '~'
            } else {
                '|'
            }
        })
        .collect()
}

/// Formats without values of objects, and those of lines: the copy answers alike, and has no texts, users or command lines.
#[test]
fn copies_of_other_formats_answer_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut copied = HashSet::new();
    for fixture in all().into_iter().filter(|fixture| !["hprof", "v8-snapshot"].contains(&fixture.format.as_str())) {
        let path = fixture.path.display().to_string();
        let copy = folder.path().join(fixture.name()).display().to_string();
        let ran = run(&["redact", &path, "-o", &copy, "--force"]);
        if ran.code != 0 {
            let is_said = [
                "other events",
                "no copies of this format: pprof",
                "no copies of this format: Java class histogram",
                "no copies of this format: .NET heap statistics",
                "no copies of this format: heap profile of",
                "no copies of this format: sampling heap profile",
                "unknown format",
                "a page with a trace",
                "cannot be read",
                "does not read",
                "of version",
                "sent as text",
                "no object could be read",
                "cut off within its header",
                "damaged",
                "truncated",
                "empty",
            ];
            assert!(is_said.iter().any(|words| ran.stderr.contains(words)), "{path}: {}", ran.stderr);
            continue;
        }
        copied.insert(fixture.format.clone());
        let has_lost = ran.stderr.contains("nothing of them");
        let verified = run(&["redact", "--verify", &path, &copy]);
        assert!(
            verified.code == 0 || has_lost || verified.stdout.is_empty(),
            "{path}: {}{}",
            verified.stdout,
            ran.stderr
        );
        // A copy in which a text was put.
        if ["ruby-objspace", "heapgraph"].contains(&fixture.format.as_str()) && !has_lost {
            let (before, after) = (unpacked(&path), String::from_utf8(unpacked(&copy)).expect("a text"));
            let runs_in_copy = runs_in(after.as_bytes());
            let is_plain =
                |text: &&String| text.len() > 7 && text.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ');
            // No part of it is a part of a name.
            let is_alone = |text: &&String| text.as_bytes().windows(6).all(|run| !runs_in_copy.contains(run));
            let texts = texts_of_lines(&before);
            if let Some(text) = texts.iter().filter(is_plain).find(is_alone) {
                let at = after.find('~').expect("a filler");
                let start = after[..at].rfind('"').expect("a text") + 1;
                let end = at + after[at..].find('"').expect("its end");
                let planted = folder.path().join("planted.jsonl").display().to_string();
                std::fs::write(&planted, format!("{}{text}{}", &after[..start], &after[end..])).expect("written");
                let told = run(&["redact", "--verify", &path, &planted]).expect_code(1).stdout;
                assert!(told.contains("differs  no text is left"), "{path}: {told}");
            }
        }
        if fixture.format == "ruby-objspace" {
            let (left, allowed) = (unpacked(&copy), unpacked(&path));
            let values = |bytes: &[u8]| {
                let lines = String::from_utf8_lossy(bytes).into_owned();
                let lines = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
                lines.filter_map(|line| line["value"].as_str().map(String::from)).collect::<Vec<_>>()
            };
            let present: HashSet<String> = values(&left).into_iter().collect();
            assert!(values(&allowed).iter().all(|text| text.len() < 6 || !present.contains(text)), "{path}");
            assert_eq!(values(&allowed).len(), values(&left).len());
        }
    }
    assert_eq!(copied.len(), 8, "{copied:?}");
    let trace = unpacked("fixtures/nettrace/small-net9.nettrace.zst");
    let path = folder.path().join("again.nettrace").display().to_string();
    run(&["redact", "fixtures/nettrace/small-net9.nettrace.zst", "-o", &path]).expect_code(0);
    let copy = std::fs::read(&path).expect("there");
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let has = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).any(|run| run == text);
    // The name of the program stands in its command line, and as that of a module.
    assert!(
        trace.len() == copy.len() && trace != copy && has(&copy, &wide("System.")),
        "{} {}",
        trace.len(),
        copy.len()
    );
    assert!(!run(&["info", &path]).stdout.contains("process ") || !has(&copy, &wide("dotnet ")));
    // Bytes are missing where other events hold texts: what is taken for the header of an event may be one of these.
    let texts = [".0.0.0", "e=neut", "KeyTok"].map(wide);
    assert!(texts.iter().all(|text| has(&trace, text) && !has(&copy, text)));
    let damaged = folder.path().join("damaged.nettrace").display().to_string();
    for (first, count) in [(425_818, 85), (426_972, 193)] {
        std::fs::write(&damaged, [&trace[..first], &trace[first + count..]].concat()).expect("written");
        run(&["redact", &damaged, "-o", &path, "--force"]).expect_code(0);
        let copy = std::fs::read(&path).expect("there");
        assert!(texts.iter().all(|text| !has(&copy, text)), "without {count} bytes from {first}");
    }
}

#[test]
fn texts_and_numbers_go_and_sizes_and_thread_names_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.hprof").display().to_string();
    run(&["redact", ZOO, "-o", &copy]).expect_code(0);
    let bytes = std::fs::read(&copy).expect("there");
    let has = |text: &str| bytes.windows(text.len()).any(|run| run == text.as_bytes());
    // A literal of the program, which is a text record too, and the virtual machine's version.
    assert!(!has("duplicate text") && !has("17.0.") && has("zoo/Zoo$View") && has("zoo-worker"));
    let rows =
        |path: &str, question: &[&str]| run(&[question, &[path, "-q", "-f", "csv"]].concat()).expect_code(0).stdout;
    for question in [
        &["stats", "--retained"][..],
        &["threads"],
        &["leaks"],
        &["waste", "--kind", "empty-collections,sparse-collections,huge-collections,colliding-maps"],
    ] {
        assert_eq!(rows(&copy, question), rows(ZOO, question), "{question:?}");
    }
    assert_eq!(run(&["info", "--properties", "-q", &copy]).expect_code(0).stdout.matches("property.").count(), 0);
    assert!(run(&["info", "--properties", "-q", ZOO]).stdout.matches("property.").count() > 10);
}

#[test]
fn equality_is_kept_where_it_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.hprof.gz").display().to_string();
    // Kept texts would differ from others that are the same.
    let keep = ["--keep", "none", "--keep", "java.lang.String.coder"];
    run(&[&["redact", ZOO, "-o", &copy, "--keep-equality"], &keep[..]].concat()).expect_code(0);
    // Of texts of four characters or more.
    let copies = |path: &str| {
        let ran = run(&["strings", path, "--duplicates", "-q", "-n", "0", "-f", "jsonl"]).expect_code(0).stdout;
        let rows = ran.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let long = rows.filter(|row| row["text"].as_str().is_some_and(|text| text.encode_utf16().count() >= 4));
        let mut rows: Vec<_> = long.map(|row| (row["example"].to_string(), row["copies"].to_string())).collect();
        rows.sort();
        rows
    };
    assert!(copies(ZOO).len() > 30);
    assert_eq!(copies(&copy), copies(ZOO));
    assert!(run(&["info", "--properties", "-q", &copy]).expect_code(0).stdout.matches("property.").count() == 0);
    // Another run has another key.
    let again = folder.path().join("again.hprof.gz").display().to_string();
    run(&["redact", ZOO, "-o", &again, "--keep-equality"]).expect_code(0);
    assert_ne!(unpacked(&copy), unpacked(&again));
}

#[test]
fn a_text_that_is_left_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.hprof");
    run(&["redact", ZOO, "-o", copy.to_str().expect("a path"), "-q"]).expect_code(0);
    let (original, mut bytes) = (unpacked(ZOO), std::fs::read(&copy).expect("there"));
    let at = original.windows(14).rposition(|run| run == b"duplicate text").expect("in an array");
    bytes[at..at + 14].copy_from_slice(b"duplicate text");
    std::fs::write(&copy, &bytes).expect("written");
    let told = run(&["redact", "--verify", ZOO, copy.to_str().expect("a path")]).expect_code(1).stdout;
    assert!(told.contains("differs  no text is left") && told.contains("differs  no number is left"), "{told}");
    assert_eq!(told.lines().filter(|line| line.starts_with("differs")).count(), 2, "{told}");
    bytes[at..at + 14].fill(0);
    std::fs::write(&copy, &bytes).expect("written");
    run(&["redact", "--verify", ZOO, copy.to_str().expect("a path")]).expect_code(0);
    // A name that is none of the dump, a reference, and numbers.
    let changed = |from: &[u8], to: &[u8], change: &str| {
        let at = bytes.windows(from.len()).position(|run| run == from).expect(change);
        let mut bytes = bytes.clone();
        bytes[at..at + to.len()].copy_from_slice(to);
        std::fs::write(&copy, &bytes).expect("written");
        let told = run(&["redact", "--verify", ZOO, copy.to_str().expect("a path")]).expect_code(1).stdout;
        assert!(told.contains("differs"), "{change}: {told}");
    };
    changed(b"emptyCollections", b"duplicate text  ", "a field's name");
    changed(b"zoo-worker", b"duplicate ", "a thread's name");
    changed(b"zoo/Zoo$View", b"zoo/Zoo$Views", "a class's name");
}

/// Numbers that are left, in fields and arrays.
#[test]
fn numbers_that_are_left_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    // All numbers and no text are kept.
    let copy = path("numbers.hprof");
    run(&["redact", ZOO, "-o", &copy, "--keep", "java.util.*.hash", "--keep", "java.lang.Integer.*"]).expect_code(0);
    let told = run(&["redact", "--verify", ZOO, &copy]).expect_code(1).stdout;
    let differing: Vec<&str> = told.lines().filter(|line| line.starts_with("differs")).collect();
    assert!(differing.len() == 1 && differing[0].contains("no number is left"), "{told}");
    run(&["redact", "--verify", ZOO, &copy, "--keep", "java.util.*.hash", "--keep", "java.lang.Integer.*"])
        .expect_code(0);
}

fn copy_of(bytes: &[u8], equality: bool) -> Result<Vec<u8>, String> {
    let file = DumpFile::of_reader(bytes, Arc::new(NoObserver)).expect("kept");
    let equality = equality.then(KeyedHash::default);
    let options =
        RedactOptions { kept_fields: KeptFields::known(), equality_hash: equality, ..RedactOptions::default() };
    let mut out = Vec::new();
    redact(&file, &options, &mut out).map(|_| out).map_err(|error| error.to_string())
}

/// The same in one walk, of a file; `None` where that does not work.
fn copy_in_one_walk(bytes: &[u8], names: &str) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("d.hprof");
    std::fs::write(&path, bytes).expect("written");
    let file = DumpFile::of_path(path, Arc::new(NoObserver)).expect("a file");
    let names = NameMap::parse(names).expect("names");
    let options = RedactOptions { kept_fields: KeptFields::known(), names, ..RedactOptions::default() };
    let mut out = std::io::Cursor::new(Vec::new());
    let copied = redact_in_one_walk(&file, &options, &mut out).expect("a copy");
    let mut whole = Vec::new();
    redact(&file, &options, &mut whole).expect("a copy");
    let copy = copied.map(|_| out.into_inner());
    assert!(copy.as_ref().is_none_or(|copy| *copy == whole), "one walk writes what several write");
    copy
}

/// One walk writes what several write, or says that it cannot: where a name or a class comes late, where a reference leads nowhere.
#[test]
fn one_walk_is_enough_where_names_and_classes_come_first() {
    for path in [ZOO, "fixtures/hprof/zoo-jdk17-zgc.hprof.zst", "fixtures/hprof/shop-old.hprof.zst"] {
        let copy = copy_in_one_walk(&unpacked(path), "").expect(path);
        let has = |text: &[u8]| copy.windows(text.len()).any(|run| run == text);
        assert!(has(b"main") && !has(b"duplicate text"), "{path}");
    }
    // Longer names: what is behind them moves.
    let renamed = copy_in_one_walk(&unpacked(ZOO), "zoo=a.longer.name").expect("a copy");
    assert!(
        renamed.windows(14).any(|run| run == b"a.longer.name/") && renamed.windows(10).any(|run| run == b"zoo-worker")
    );

    let [object, string, thread] = [0x1000u64, 0x1100, 0x1200];
    // Parts of a dump by their letters: classes, c; a class with its dump, l; texts of fields, f; a thread, a string, an array, t s a.
    let dump = |parts: &str, leads_to: u64| {
        let mut writer = Writer::new("1.0.2", 8);
        for part in parts.chars() {
            match part {
                'c' => {
                    for (class, name) in [(object, "java.lang.Object"), (string, "java.lang.String")] {
                        writer.class(class, name);
                    }
                }
                'l' => writer.class(thread, "java.lang.Thread"),
                'f' | 'g' => {
                    let (id, name) = if part == 'f' { (0x2000, "value") } else { (0x2003, "name") };
                    let text = [writer.id(id), name.as_bytes().to_vec()].concat();
                    writer.record(1, &text);
                }
                _ => {
                    let entry = match part {
                        'o' => class_dump(&writer, object, 0, &[]),
                        'd' => class_dump(&writer, string, object, &[(0x2000, 2), (0x2000, 10)]),
                        'h' => class_dump(&writer, thread, object, &[(0x2003, 2), (0x2000, 10)]),
                        't' => number_and_reference(&writer, 0x9100, thread, 0x9200),
                        's' => number_and_reference(&writer, 0x9200, string, 0x9300),
                        'x' => number_and_reference(&writer, 0x9280, string, leads_to),
                        'a' => byte_array(0x9300, b"main-thread"),
                        _ => byte_array(0x9380, b"ZTCHHA of a request"),
                    };
                    writer.record(0x1C, &entry);
                }
            }
        }
        writer.record(0x2C, &[]);
        writer.bytes
    };
    let check = |parts: &str, leads_to: u64, is_enough: bool| {
        let dump = dump(parts, leads_to);
        let copy = copy_in_one_walk(&dump, "java.lang=a");
        assert_eq!(copy.is_some(), is_enough, "{parts}");
        let whole = copy.unwrap_or_else(|| copy_of(&dump, false).expect("a copy"));
        let has = |text: &str| whole.windows(text.len()).any(|run| run == text.as_bytes());
        assert!(!has("ZTCHHA"), "{parts}");
        // Of a class or a field whose name comes late nothing is kept.
        assert!(has("main-thread") || !is_enough, "{parts}");
    };
    for parts in ["clfgodhtsabx", "clfgodhastbx", "gflcdhobxast"] {
        check(parts, 0x9380, true);
    }
    // A class and its dump, a class dump, a name of a field, a class's name behind objects.
    for parts in ["cfgodtsalhbx", "clfgodtsahbx", "clfodhtsagbx", "clgodhtsafbx", "cfgodhtsalbx"] {
        check(parts, 0x9380, false);
    }
    // To where no object is.
    check("clfgodhtsabx", 0x7061_7373_776F_7264, false);
}

/// References stay, and all between them becomes zero: in instances of a few bytes, and in long ones.
#[test]
fn numbers_of_all_widths_become_zero() {
    let (class, object) = (0x1000u64, 0x9100u64);
    for count in [0, 1, 2, 150] {
        let mut writer = Writer::new("1.0.2", 8);
        writer.class(class, "Widths");
        writer.record(1, &[writer.id(0x2000), b"f".to_vec()].concat());
        let (mut fields, mut values, mut expected) = (vec![(0x2000, 8)], vec![7], vec![0]);
        for (kind, bytes) in [(2, 8), (11, 8), (8, 1), (2, 8), (2, 8), (9, 2), (10, 4), (4, 1)].repeat(count) {
            fields.push((0x2000, kind));
            let of_object = object.to_be_bytes();
            values.extend(if kind == 2 { of_object.to_vec() } else { vec![7; bytes] });
            expected.extend(if kind == 2 { of_object.to_vec() } else { vec![0; bytes] });
        }
        let length = (values.len() as u32).to_be_bytes().to_vec();
        let head = [vec![0x21], writer.id(object), vec![0; 4], writer.id(class), length].concat();
        writer.record(0x1C, &[class_dump(&writer, class, 0, &fields), head.clone(), values].concat());
        writer.record(0x2C, &[]);
        let copy = copy_in_one_walk(&writer.bytes, "").expect("a copy");
        assert!(copy[..copy.len() - 9].ends_with(&[head, expected].concat()), "{count}");
    }
}

/// A class dump with fields of some names and types.
fn class_dump(writer: &Writer, class: u64, above: u64, fields: &[(u64, u8)]) -> Vec<u8> {
    let mut bytes = [vec![0x20], writer.id(class), vec![0; 4], writer.id(above), vec![0; 5 * 8 + 4 + 4]].concat();
    bytes.extend((fields.len() as u16).to_be_bytes());
    fields.iter().for_each(|(name, kind)| bytes.extend([writer.id(*name), vec![*kind]].concat()));
    bytes
}

/// An instance with a reference and a number.
fn number_and_reference(writer: &Writer, id: u64, class: u64, to: u64) -> Vec<u8> {
    let head = [vec![0x21], writer.id(id), vec![0; 4], writer.id(class), 12u32.to_be_bytes().to_vec()].concat();
    [head, writer.id(to), vec![7; 4]].concat()
}

/// An array of bytes, with ids of 8 bytes.
fn byte_array(id: u64, text: &[u8]) -> Vec<u8> {
    let length = (text.len() as u32).to_be_bytes().to_vec();
    [vec![0x23], id.to_be_bytes().to_vec(), vec![0; 4], length, vec![8], text.to_vec()].concat()
}

/// A dump with bytes changed or cut off: the copy is as long, and no text gets into it.
#[test]
fn damaged_dumps_leak_nothing() {
    let mut one_walk_count = 0;
    let mut state = 7u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for (path, changes) in [
        (ZOO, 60),
        ("fixtures/hprof/shop-old.hprof.zst", 300),
        ("fixtures/hprof/android.hprof", 3000),
        ("fixtures/hprof/tiny-4byte.hprof", 1000),
        ("fixtures/hprof/tiny-8byte-segments.hprof", 1000),
        ("fixtures/hprof/two-dumps.hprof", 1000),
    ] {
        let original = unpacked(path);
        let undamaged = copy_of(&original, false).expect("a copy");
        let secrets: HashSet<[u8; 6]> = runs(&texts(path)).difference(&runs_in(&undamaged)).copied().collect();
        for change in 0..changes {
            let mut bytes = original.clone();
            match change % 4 {
                0 => bytes.truncate(next(bytes.len())),
                1 => bytes[next(original.len())] ^= 1 << next(8),
                2 => bytes[next(original.len())] = next(256) as u8,
                _ => {
                    let at = next(original.len() - 8);
                    bytes[at..at + 4].copy_from_slice(&(next(1 << 12) as u32).to_be_bytes());
                }
            }
            let Ok(copy) = copy_of(&bytes, change % 8 > 5) else { continue };
            one_walk_count += usize::from(copy_in_one_walk(&bytes, "").is_some());
            assert_eq!(copy.len(), bytes.len(), "{path}: change {change}");
            let leaked = copy.windows(6).find(|run| secrets.contains(*run));
            assert_eq!(leaked.map(String::from_utf8_lossy), None, "{path}: change {change}");
        }
    }
    assert!(one_walk_count > 10, "{one_walk_count}");
}

/// Texts of values of a Ruby dump or a heap graph.
fn texts_of_lines(bytes: &[u8]) -> Vec<String> {
    let lines = String::from_utf8_lossy(bytes).into_owned();
    let lines = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.flat_map(|line| ["value", "text"].map(|key| line[key].as_str().map(String::from))).flatten().collect()
}

/// Snapshots and lines with bytes changed, taken out, put in, zeroed or cut off: no text that is no name gets into a copy. What
/// is put into a name is one.
#[test]
fn damaged_texts_leak_nothing() {
    let mut state = 11u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for (path, changes) in [
        ("fixtures/v8_snapshot/chat-old.heapsnapshot.zst", 400),
        ("fixtures/v8_snapshot/tiny.heapsnapshot", 1400),
        ("fixtures/ruby_objspace/every-kind.jsonl", 700),
        ("fixtures/heapgraph/every-kind.jsonl", 700),
    ] {
        let original = unpacked(path);
        let values = texts_of_v8(&original).map_or_else(|| texts_of_lines(&original), |(values, _)| values);
        // Of the list of strings the first is nobody's text.
        let values: Vec<String> = values.into_iter().filter(|text| text != "<dummy>").collect();
        let names = texts_of_v8(&original).map_or(Vec::new(), |(_, names)| names);
        let mut secrets = runs(&values);
        let undamaged = runs_in(&copy_of(&original, false).expect("a copy"));
        secrets
            .retain(|run| !undamaged.contains(run) && run.iter().filter(|byte| byte.is_ascii_alphabetic()).count() > 3);
        runs(&names).iter().for_each(|run| _ = secrets.remove(run));
        assert!(secrets.len() > 3, "{path}");
        let mut copied = 0;
        for change in 0..changes {
            let mut bytes = original.clone();
            let (at, from) = (next(original.len() - 40), next(original.len() - 40));
            match change % 6 {
                0 => bytes.truncate(at),
                1 => bytes[at] = next(256) as u8,
                2 => bytes[at] = b",\"0]}[{:\\\n"[next(10)],
                3 => drop(bytes.drain(at..at + 1 + next(8))),
                4 => drop(bytes.splice(at..at, b"\",\"".repeat(1 + from % 3))),
                _ => bytes[at..at + 1 + next(39)].fill(0),
            }
            let Ok(copy) = copy_of(&bytes, change % 2 == 0) else { continue };
            copied += 1;
            let leaked = copy.windows(6).find(|run| secrets.contains(*run));
            let damaged = String::from_utf8_lossy(&bytes);
            assert_eq!(leaked.map(String::from_utf8_lossy), None, "{path}: change {change}: {damaged}");
        }
        assert!(copied > changes / 3, "{path}: {copied}");
    }
}

#[test]
fn a_cut_dump_is_told_and_strict_refuses_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut bytes = unpacked(ZOO);
    bytes.truncate(1_000_000);
    std::fs::write(path("cut.hprof"), &bytes).expect("written");
    let (cut, copy) = (path("cut.hprof"), path("copy.hprof"));
    let refused = run(&["redact", &cut, "-o", &copy, "--strict"]).expect_code(2);
    assert!(refused.stderr.contains("cut off") && !Path::new(&copy).exists(), "{}", refused.stderr);
    let told = run(&["redact", &cut, "-o", &copy]).expect_code(0).stderr;
    assert!(told.contains("warning: ") && told.contains("cut off"), "{told}");
    run(&["redact", "--verify", &cut, &copy]).expect_code(0);
    assert_eq!(run(&["redact", &cut, "-o", &copy, "--force", "-q"]).expect_code(0).stderr, "");
}

#[test]
fn outputs_are_never_inputs_and_replaced_by_force_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("dump.hprof"), unpacked(ZOO)).expect("written");
    let (dump, copy) = (path("dump.hprof"), path("copy.hprof.zst"));
    let refused = run(&["redact", &dump, "-o", &dump, "--force"]).expect_code(2).stderr;
    assert!(refused.contains("is an input"), "{refused}");
    run(&["redact", &dump]).expect_code(2);
    run(&["redact", &dump, "-o", &copy]).expect_code(0);
    let refused = run(&["redact", &dump, "-o", &copy]).expect_code(2).stderr;
    assert!(refused.contains("--force"), "{refused}");
    run(&["redact", &dump, "-o", &copy, "--force"]).expect_code(0);
    // From a pipe.
    let piped = path("piped.hprof");
    run_with_input(&["redact", "-", "-o", &piped], &unpacked(ZOO)).expect_code(0);
    assert_eq!(unpacked(&piped), unpacked(&copy));
    // What is no dump leaves nothing.
    let nothing = path("nothing");
    run_with_input(&["redact", "-", "-o", &nothing], b"no dump").expect_code(2);
    assert!(!Path::new(&nothing).exists());
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.hprof").display().to_string();
    let mut child = heapdump(&["redact", "-", "-o", &copy]).stdin(Stdio::piped()).spawn().expect("starts");
    let mut stdin = child.stdin.take().expect("piped");
    std::io::Write::write_all(&mut stdin, &unpacked(ZOO)[..500_000]).expect("written");
    let status = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
    assert!(!child.wait().expect("ends").success());
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
}

#[test]
fn names_are_replaced_where_that_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.hprof").display().to_string();
    run(&["redact", ZOO, "-o", &copy, "--names", "zoo=a.b,java.util.HashMap=M"]).expect_code(0);
    let stats = run(&["stats", &copy, "-q", "-f", "csv"]).expect_code(0).stdout;
    assert!(stats.contains("a.b.Zoo$View") && !stats.contains("zoo.Zoo"), "{stats}");
    assert!(stats.contains("M$Node[]") && !stats.contains("java.util.HashMap"), "{stats}");
    run(&["redact", "--verify", ZOO, &copy, "--names", "zoo=a.b,java.util.HashMap=M"]).expect_code(0);
    run(&["redact", "--verify", ZOO, &copy]).expect_code(1);
    let wrong = run(&["redact", ZOO, "-o", &copy, "--force", "--names", "zoo="]).expect_code(2).stderr;
    assert!(wrong.contains("--names"), "{wrong}");
}

#[test]
fn kept_fields_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.hprof").display().to_string();
    run(&["redact", ZOO, "-o", &copy, "--keep", "java.lang.Integer.value"]).expect_code(0);
    let rows = |path: &str| run(&["list", path, "-t", "=java.lang.Integer", "--values", "-q", "-f", "csv"]).stdout;
    assert_eq!(rows(&copy), rows(ZOO));
    for refused in ["java.lang.String.value", "*"] {
        run(&["redact", ZOO, "-o", &copy, "--force", "--keep", refused]).expect_code(2);
    }
}

/// A dump in which ids of kept texts come again: in another dump of the file, in the same, as text records; and a kept text
/// that is a part of a longer array.
fn dump_of_repeated_ids() -> Vec<u8> {
    let mut writer = Writer::new("1.0.2", 8);
    let [object, string, thread] = [0x1000u64, 0x1100, 0x1200];
    for (class, name) in [(object, "java.lang.Object"), (string, "java.lang.String"), (thread, "java.lang.Thread")] {
        writer.class(class, name);
    }
    let names = [(0x2000u64, "value"), (0x2001, "offset"), (0x2002, "count"), (0x2003, "name")];
    for (id, name) in names {
        let text = [writer.id(id), name.as_bytes().to_vec()].concat();
        writer.record(1, &text);
    }
    let again = [writer.id(thread + 1), b"ZTCHHA of a text record".to_vec()].concat();
    writer.record(1, &again);
    let classes = [
        class_dump(&writer, object, 0, &[]),
        class_dump(&writer, string, object, &[(0x2000, 2), (0x2001, 10), (0x2002, 10)]),
        class_dump(&writer, thread, object, &[(0x2003, 2)]),
    ]
    .concat();
    let text = |id: u64, array: u64, count: u32| {
        let values = [array.to_be_bytes().to_vec(), vec![0; 4], count.to_be_bytes().to_vec()].concat();
        let head = [vec![0x21], id.to_be_bytes().to_vec(), vec![0; 4], string.to_be_bytes().to_vec()].concat();
        [head, 16u32.to_be_bytes().to_vec(), values].concat()
    };
    let first = [
        classes.clone(),
        byte_array(0x9300, b"main-thread"),
        byte_array(0x9300, b"ZTCHHA of a repeat"),
        text(0x9200, 0x9300, 11),
        writer.instance(0x9100, thread, &[0x9200]),
        writer.instance(0x9180, thread, &[0x9280]),
        text(0x9280, 0x9380, 6),
        byte_array(0x9380, b"worker ZTCHHA of a request"),
        writer.root(0x9100),
    ];
    let second = [classes, byte_array(0x9300, b"ZTCHHA of another dump"), writer.root(0x9300)];
    for dump in [first.concat(), second.concat()] {
        writer.record(0x0C, &dump);
    }
    writer.bytes
}

#[test]
fn texts_are_kept_of_the_object_that_is_meant_alone() {
    let dump = dump_of_repeated_ids();
    for equality in [false, true] {
        let copy = copy_of(&dump, equality).expect("a copy");
        let has = |text: &str| copy.windows(text.len()).any(|run| run == text.as_bytes());
        assert!(has("main-thread") && has("worker") && has("java/lang/Thread"), "kept");
        assert!(!has("ZTCHHA"), "of another object, equality {equality}");
    }
}

#[test]
fn pages_and_exports_without_values_have_no_texts() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    // The file's name is on the page.
    let dump = path("d.hprof");
    std::fs::write(&dump, unpacked(ZOO)).expect("written");
    // What no name looks like.
    let is_text = |text: &String| text.len() >= 10 && text.contains([' ', '=', '@', ':']);
    let texts: Vec<String> = texts(&dump).into_iter().filter(is_text).collect();
    for (form, least) in [(&["report"][..], 50), (&["export", "--to", "heapgraph", "--names"], 100)] {
        let left = |more: &[&str]| {
            let out = path("out");
            run(&[form, &[dump.as_str(), "-o", out.as_str()], more].concat()).expect_code(0);
            let written = std::fs::read_to_string(&out).expect("there");
            assert!(written.contains("zoo.Zoo$View"), "{form:?}");
            texts.iter().filter(|text| written.contains(text.as_str())).cloned().collect::<Vec<_>>()
        };
        assert!(left(&[]).len() > least, "{form:?}");
        // The version of the virtual machine is no text of the program.
        assert_eq!(left(&["--no-values"]), ["OpenJDK Runtime Environment"], "{form:?}");
    }
}
