//! docs/json.md lists the keys of every command: those that occur, and no others.

use std::collections::{BTreeMap, BTreeSet};

use heapdump::OpenOptions;
use heapdump::answers::figure::RETAINED;
use heapdump::dump::RootPolicy;
use heapdump::report::Format;
use serde_json::Value;

use crate::common::cmd::{project, run};
use crate::common::heap::{Heap, HeapRoot};
use crate::common::synth_v8::{FORMS as FORMS_OF_V8, v8_snapshot};
use crate::common::{fixtures, questions};

/// Keys by the place of their object: `-`, `nodes[]`, `nodes[].children[]`.
type Keys = BTreeMap<String, BTreeSet<String>>;

/// Shared objects and commands, as the document has them.
#[derive(Default)]
struct Documented {
    shared: Keys,
    commands: BTreeMap<String, Keys>,
    /// (command, place, name of the shared object)
    uses: BTreeSet<(String, String, String)>,
}

fn words_between(cell: &str, mark: char) -> Vec<String> {
    cell.split(mark).skip(1).step_by(2).map(str::to_string).collect()
}

fn documented() -> Documented {
    let text = std::fs::read_to_string(project("docs/json.md")).expect("readable");
    let mut found = Documented::default();
    let mut section = String::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = title.trim_matches('`').to_string();
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let &[_, place, keys, ..] = &cells[..] else { continue };
        let names = words_between(keys, '`');
        if let Some(shared) = place.strip_prefix('*') {
            found.shared.insert(shared.trim_matches('*').to_string(), names.into_iter().collect());
        } else if place == "-" || place.starts_with('`') {
            let place = place.trim_matches('`').to_string();
            for shared in words_between(keys, '*') {
                found.uses.insert((section.clone(), place.clone(), shared));
            }
            found.commands.entry(section.clone()).or_default().entry(place).or_default().extend(names);
        }
    }
    found
}

/// Adds the keys of a value. Objects whose keys come from the dump are called `records.*` and have none.
fn add_keys(value: &Value, place: &str, found: &mut Keys) {
    match value {
        // Data of an object: its keys come from the dump.
        _ if place == "json" || place.ends_with("[].json") => {}
        Value::Array(values) => values.iter().for_each(|value| add_keys(value, &format!("{place}[]"), found)),
        Value::Object(object) if place.ends_with("records") || place.ends_with("roots_by_kind") => {
            found.entry(format!("{place}.*")).or_default();
            assert!(object.values().all(Value::is_u64), "{place}");
        }
        Value::Object(object) if ["properties", "environment"].contains(&place) => {
            found.entry(format!("{place}.*")).or_default();
            assert!(object.values().all(Value::is_string), "{place}");
        }
        // By the path of a field.
        Value::Object(_)
            if ["sum", "min", "max", "mean", "nulls"].iter().any(|key| place.ends_with(&format!("[].{key}"))) => {}
        Value::Object(_) if place == "objects[].fields" => drop(found.entry(format!("{place}.*")).or_default()),
        Value::Object(object) => {
            for (key, value) in object {
                found.entry(place.to_string()).or_default().insert(key.clone());
                let below = if place == "-" { key.clone() } else { format!("{place}.{key}") };
                // Trees are as their first level of children, and what files have as one file has.
                let below = below.replace("children[].children", "children");
                match (below.as_str(), value) {
                    ("files", Value::Array(files)) => {
                        for file in files {
                            found.entry("files[]".into()).or_default().insert("file".into());
                            let mut file = file.clone();
                            file.as_object_mut().expect("an object").remove("file").expect("its name");
                            add_keys(&file, "-", found);
                        }
                    }
                    // What several shown objects have as one has.
                    ("objects", Value::Array(objects)) if objects.iter().all(|one| one.get("referrers").is_some()) => {
                        objects.iter().for_each(|one| add_keys(one, "-", found));
                    }
                    _ => add_keys(value, &below, found),
                }
            }
        }
        _ => {}
    }
}

const OLD: &str = "fixtures/xna_cf/pair_before.txt";
const NEW: &str = "fixtures/xna_cf/pair_after.txt";
const TRACE_49: &str = "fixtures/memory_infra/chromium49-heaps.trace.gz";
const TRACE_66: &str = "fixtures/memory_infra/chromium66-heaps.trace.gz";

const ZOO: &str = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";

fn occurring() -> BTreeMap<String, Keys> {
    let mut found: BTreeMap<String, Keys> = BTreeMap::new();
    let mut see = |command: &str, answer: &Value| {
        let schema = answer["schema"].as_str().expect("a schema");
        let name = schema.strip_prefix("heapdump.").and_then(|name| name.strip_suffix("/1")).expect("a schema");
        assert!(name == command || name == format!("{command}.list"), "{schema}");
        add_keys(answer, "-", found.entry(name.to_string()).or_default());
    };
    for fixture in fixtures::all() {
        let file = fixture.path.display().to_string();
        // What is not asked of an open dump.
        for option in ["--shallow", "--raw-types"] {
            let ran = run(&["stats", &file, option, "-f", "json", "-q"]);
            if ran.code == 0 {
                see("stats", &ran.json());
            }
        }
        let options = OpenOptions { read: fixture.read_options(), ..OpenOptions::default() };
        let Ok(dump) = options.open(&fixture.path) else { continue };
        let ids = questions::ids(&dump, Some(RETAINED), Some(3));
        let mut asked = questions::ask_of_dump(&dump, &[Format::Json]);
        asked.extend(questions::ask_of_objects(&dump, &ids, &[Format::Json]));
        let roots = RootPolicy { excluded_kinds: Vec::new(), keep_unreachable: true };
        if let Ok(dump) = (OpenOptions { roots, ..options }).open(&fixture.path) {
            asked.extend(questions::ask_of_roots(&dump));
        }
        for question in &asked {
            if let Ok(texts) = &question.texts {
                see(question.command(), &serde_json::from_str(&texts[0]).expect("JSON"));
            }
        }
    }
    let mut add = |words: &[&str]| {
        let ran = run(&[words, &["-f", "json", "-q"]].concat());
        if ran.stdout.starts_with('{') {
            see(words[0], &ran.json());
        }
    };
    // A long text, an array, a class, a weak reference from both sides.
    for id in ["0xfd5f40a8", "0xfd65ab48", "0xfd5bf798", "0xfd5e9740", "0xfd5e9330"] {
        add(&["show", id, ZOO]);
    }
    add(&["show", "0xfd5f40a8", "0xfd65ab48", ZOO]);
    for dump in [ZOO, "fixtures/hprof/out-of-memory.hprof", "fixtures/hprof/tiny-4byte.hprof"] {
        add(&["threads", dump]);
    }
    add(&["info", ZOO, "--properties"]);
    // A long text on a stack, in a frame and in none.
    let mut bytes = crate::common::fixtures::unpacked(ZOO);
    for (frame, local) in [(4u32, 0xFD5B_FFC8_u64), (u32::MAX, 0xFD66_2F90)] {
        let record =
            |id: u64, frame: u32| [&[3][..], &id.to_be_bytes(), &1u32.to_be_bytes(), &frame.to_be_bytes()].concat();
        let at = bytes.windows(17).position(|window| window == record(local, 4)).expect("a local of main");
        bytes[at..at + 17].copy_from_slice(&record(0xFD5F_40A8, frame));
    }
    let directory = tempfile::tempdir().unwrap();
    let long = directory.path().join("long.hprof");
    std::fs::write(&long, bytes).expect("written");
    add(&["threads", &long.display().to_string()]);
    add(&["list", ZOO, "--select", ".name,.holder", "-t", "java.lang.Thread", "-n", "9", "--deep", "1"]);
    let of_fields = ["--sum", ".size", "--min", ".size", "--max", ".size", "--mean", ".size", "-n", "3"];
    add(&[&["stats", ZOO], &of_fields[..]].concat());
    add(&[&["stats", ZOO, "--by", "superclass", "--tree"], &of_fields[..]].concat());
    add(&["stats", ZOO, "--off-heap"]);
    add(&["stats", ZOO, "--by", "package", "--off-heap"]);
    for class in ["=java.util.HashMap", "=java.util.concurrent.ConcurrentHashMap", "=java.util.ArrayList"] {
        let ids = run(&["list", ZOO, "-q", "--ids", "-n", "20", "--type", class]).stdout;
        add(&[&["show"], &ids.lines().collect::<Vec<_>>()[..], &[ZOO, "--entries", "--deep", "1", "-n", "2"]].concat());
    }
    add(&["strings", ZOO, "--where", "reachable", "-n", "1"]);
    let rules = directory.path().join("rules.txt");
    std::fs::write(&rules, "duplicate\n  pattern duplicate text\n").expect("written");
    add(&["strings", ZOO, "--secrets", "--rules-file", &rules.display().to_string()]);
    add(&["waste", ZOO, "--where", "reachable", "-n", "1"]);
    add(&["list", ZOO, "--values", "-t", "java.lang.String", "--sort", "retained", "-n", "9"]);
    let directory = tempfile::tempdir().unwrap();
    let cut = directory.path().join("cut.hprof");
    let whole = std::fs::read(project("fixtures/hprof/tiny-8byte-segments.hprof")).expect("readable");
    std::fs::write(&cut, &whole[..whole.len() - 300]).expect("written");
    add(&["info", &cut.display().to_string()]);
    add(&["info", OLD, TRACE_66]);
    add(&["stats", OLD, NEW]);
    add(&["stats", NEW, "--exclude-roots", "static,local,handle"]);
    add(&["leaks", OLD, NEW]);
    for form in ["", "--retained", "--paths", "--roots", "--by package --retained"] {
        let words: Vec<&str> = ["diff", OLD, NEW].into_iter().chain(form.split_whitespace()).collect();
        add(&words);
    }
    add(&["trend", "fixtures/sos_dumpheap/net9-commas.log", "--until", "1GiB"]);
    add(&["trend", "fixtures/pprof/go-heap.pb.gz", "fixtures/pprof/go-heap.pb.gz", "--all"]);
    for form in ["--min-growth 0", "--by package", "--paths --causes"] {
        let words: Vec<&str> = ["trend", OLD, NEW].into_iter().chain(form.split_whitespace()).collect();
        add(&words);
    }
    add(&["diff", TRACE_49, TRACE_66]);
    add(&["diff", TRACE_49, TRACE_66, "--by", "function"]);
    let snapshots: Vec<String> = (0..3)
        .map(|number| {
            let mut heap = Heap::default();
            for _ in 0..6 + number {
                heap.object("demo.Node", 40_000);
            }
            (1..heap.objects.len()).for_each(|object| heap.refer(0, object));
            heap.roots = vec![HeapRoot { object: 0, kind: 1, flags: 0 }];
            let path = directory.path().join(format!("{number}.heapsnapshot"));
            std::fs::write(&path, v8_snapshot(&heap, FORMS_OF_V8[0])).expect("written");
            path.display().to_string()
        })
        .collect();
    let [a, b, c] = [0, 1, 2].map(|at| snapshots[at].as_str());
    add(&["diff", a, b, "--by", "object"]);
    add(&["leaks", "--since", a, "--until", b, c]);
    #[cfg(target_os = "linux")]
    for line in crate::collect::lines_with_all_keys() {
        add(&line.iter().map(String::as_str).collect::<Vec<_>>());
    }
    add(&["diff", "fixtures/ibm_classic/small.native.txt.gz", "fixtures/hprof/android.hprof"]);
    add(&["diff", "fixtures/xna_cf/12_missing_targets.txt", "fixtures/xna_cf/12_missing_targets.txt"]);
    found
}

/// In traces of many tabs, and of processes that were cut short: no fixture has these.
const IN_NO_FIXTURE: [&str; 2] = ["labels", "at_least"];

#[test]
fn every_key_is_documented_and_every_documented_key_occurs() {
    let (documented, occurring) = (documented(), occurring());
    let mut wrong = Vec::new();
    for (command, places) in &occurring {
        let Some(own) = documented.commands.get(command) else {
            wrong.push(format!("{command}: not documented"));
            continue;
        };
        for (place, keys) in places {
            let mut known = own.get(place).cloned().unwrap_or_default();
            for (_, _, shared) in documented.uses.iter().filter(|(c, p, _)| (c, p) == (command, place)) {
                known.extend(documented.shared.get(shared).expect("a shared object").iter().cloned());
            }
            wrong.extend(keys.difference(&known).map(|key| format!("{command}: {place} has {key}, undocumented")));
        }
    }
    for (command, places) in &documented.commands {
        let own = occurring.get(command).unwrap_or_else(|| panic!("{command} printed nothing"));
        for (place, keys) in places {
            let Some(there) = own.get(place) else {
                wrong.push(format!("{command}: there is no {place}"));
                continue;
            };
            wrong.extend(keys.difference(there).map(|key| format!("{command}: {place} never has {key}")));
        }
    }
    for (shared, keys) in &documented.shared {
        let users = documented.uses.iter().filter(|(_, _, used)| used == shared);
        let there: BTreeSet<&String> =
            users.filter_map(|(command, place, _)| occurring.get(command)?.get(place)).flatten().collect();
        let never = keys.iter().filter(|key| !there.contains(key) && !IN_NO_FIXTURE.contains(&key.as_str()));
        wrong.extend(never.map(|key| format!("{shared} never has {key}")));
    }
    assert!(wrong.is_empty(), "docs/json.md and the output differ:\n{}", wrong.join("\n"));
}
