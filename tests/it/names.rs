//! Names on terminals of 60, 80 and 100 columns: lines are no wider, every name of a reference and every simple name of a
//! type that the same answer has as JSON stands whole, and nothing is cut inside of one.

use serde_json::Value;

use crate::common::cmd::{Ran, finish, heapdump};
use crate::common::synth_v8::{Node, node, v8_nodes};

/// Questions on a dump: words, `ID` for an object and `TYPE` for its type. Limited, as JSON has all rows otherwise.
const OF_OBJECTS: &[&str] = &[
    "stats -n 12",
    "stats -n 8 --retained",
    "stats --by package -n 8",
    "stats --by module -n 8",
    "stats --by owner -n 8",
    "stats --by section -n 8",
    "stats --by generation",
    "list -n 8 --sort retained",
    "show ID -n 8",
    "roots ID --paths 2 --all-steps",
    "roots ID --merge -n 6 --all-steps",
    "roots --type =TYPE -n 4 --all-steps",
    "referrers --type =TYPE -n 4 --depth 3",
    "dominators -n 3 --depth 6",
    "dominators ID -n 4 --depth 3 --bytes",
    "dominators --by type -n 8",
    "breakdown --min-percent 4",
    "leaks",
    "threads",
    "strings --holders --duplicates -n 5",
    "waste -n 3",
];
const OF_ALLOCATIONS: &[&str] = &["stats -n 8", "breakdown --depth 2", "breakdown --min-percent 5"];
/// Questions whose JSON has more than the text shows: what stands on stacks, all steps of paths.
const WITH_MORE: [&str; 2] = ["leaks", "threads"];

/// An answer on a terminal of so many columns; as JSON in a pipe.
fn answer(args: &[&str], columns: usize) -> Ran {
    let mut command = heapdump(args);
    command.env("COLUMNS", columns.to_string()).env("LC_ALL", "C.UTF-8").env("NO_COLOR", "1");
    finish(command)
}

/// The names of references and the simple names of types in an answer.
fn names_in(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    // The pattern that was asked for.
                    ("of", _) => {}
                    ("type", Value::String(pattern)) if pattern.starts_with('=') => {}
                    ("reference", Value::String(names)) => found.extend(names.split(", ").map(without_package)),
                    // Of a class object people are told the class; beside a field stands the one that declares it.
                    ("type", Value::String(name)) if !fields.contains_key("class") => {
                        let end = name.find(['<', '(', ' ', '[', '`']).unwrap_or(name.len());
                        found.push(name[..end].rsplit('.').next().unwrap_or_default().to_string());
                    }
                    ("class", Value::String(name)) if fields.contains_key("id") => {
                        found.push(name.rsplit('.').next().unwrap_or_default().to_string());
                    }
                    // The first ones are shown.
                    ("holders", Value::Array(holders)) => {
                        holders.iter().take(3).for_each(|holder| names_in(holder, found));
                    }
                    _ => names_in(value, found),
                }
            }
        }
        Value::Array(rows) => rows.iter().for_each(|row| names_in(row, found)),
        _ => {}
    }
}

/// `local of zoo.Zoo.main (Zoo.java:4)` without the package, which may give way.
fn without_package(name: &str) -> String {
    match name.strip_prefix("local of ").and_then(|local| local.split_once(" (")) {
        Some((method, place)) => {
            let start = method.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
            format!("{} ({place}", &method[start..])
        }
        None => name.to_string(),
    }
}

/// Line ends, indents and borders are taken out.
fn joined(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !"│┆→".contains(*c)).collect()
}

/// Texts and keys of 30 characters and more may lose their middle.
fn may_be_cut(name: &str) -> bool {
    name.split('"').any(|part| part.chars().count() >= 28)
}

/// Asks everything about a dump. Gives the number of questions that it has answers to.
fn check(file: &str, questions: &[&str]) -> usize {
    let tree = answer(&["dominators", file, "-n", "2", "--depth", "4", "-f", "json", "-q"], 80);
    let tree: Value = serde_json::from_str(&tree.stdout).unwrap_or_default();
    let object = [3, 2, 1, 0].iter().find_map(|levels| {
        let below = |node: &Value, _| node["children"].as_array()?.last().cloned();
        (0..*levels).try_fold(tree["nodes"][0].clone(), |node, level| below(&node, level))
    });
    let object = object.unwrap_or_default();
    let (id, type_name) = (object["id"].as_str().unwrap_or("-"), object["type"].as_str().unwrap_or("-"));
    let (mut wrong, mut answered) = (Vec::new(), 0);
    for question in questions {
        let words: Vec<String> =
            question.split(' ').map(|word| word.replace("ID", id).replace("TYPE", type_name)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let json = answer(&[&words[..], &file.split(' ').collect::<Vec<_>>(), &["-f", "json", "-q"]].concat(), 80);
        let Ok(json) = serde_json::from_str::<Value>(&json.stdout) else { continue };
        answered += 1;
        let mut names = Vec::new();
        names_in(&json, &mut names);
        for columns in [60, 80, 100] {
            let text =
                answer(&[&words[..], &file.split(' ').collect::<Vec<_>>(), &["--pretty", "-q"]].concat(), columns);
            let text = text.stdout;
            let case = format!("{} {file} at {columns}", words.join(" "));
            let wide = text.lines().filter(|line| line.chars().count() > columns);
            wrong.extend(wide.map(|line| format!("{case}: wider: {line}")));
            let inside = |line: &&str| {
                let chars: Vec<char> = line.chars().collect();
                let is_in = |c: char| c.is_alphanumeric() || c == '_';
                !line.contains('"')
                    && chars.windows(3).any(|three| three[1] == '…' && is_in(three[0]) && is_in(three[2]))
            };
            wrong.extend(text.lines().filter(inside).map(|line| format!("{case}: cut: {line}")));
            let whole = joined(&text);
            let is_missing = |name: &&String| !may_be_cut(name) && !whole.contains(&joined(name));
            let missing = names.iter().filter(|_| !WITH_MORE.contains(&words[0])).filter(is_missing);
            wrong.extend(missing.map(|name| format!("{case}: missing: {name}")));
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "{} of\n{}", wrong.len(), wrong.join("\n"));
    answered
}

#[test]
fn names_stand_whole_in_java_dumps() {
    assert_eq!(check("fixtures/hprof/zoo-jdk17-serial.hprof.zst", OF_OBJECTS), 18);
    assert_eq!(check("fixtures/hprof/android.hprof", &["dominators -n 3 --depth 6", "show ID", "roots ID"]), 3);
}

#[test]
fn names_stand_whole_in_v8_snapshots() {
    assert!(check("fixtures/v8_snapshot/page156.heapsnapshot.zst", OF_OBJECTS) >= 14);
}

#[test]
fn names_stand_whole_in_dotnet_dumps() {
    assert!(check("fixtures/nettrace/small-net9.nettrace.zst", OF_OBJECTS) >= 14);
    assert!(check("fixtures/gcdump/small-net9.gcdump.zst", OF_OBJECTS) >= 14);
    assert!(check("fixtures/xna_cf/small_1k.txt", OF_OBJECTS) >= 14);
}

#[test]
fn names_stand_whole_in_ibm_dumps() {
    assert!(check("fixtures/ibm_classic/small.j9v5.txt.zst", OF_OBJECTS) >= 14);
    assert!(check("fixtures/phd/every-record-v6-64bit.phd", OF_OBJECTS) >= 14);
}

#[test]
fn names_stand_whole_in_allocation_totals_and_in_pairs_of_dumps() {
    assert_eq!(check("fixtures/memory_infra/chromium66-heaps.trace.gz", OF_ALLOCATIONS), 3);
    let pair = "fixtures/xna_cf/pair_before.txt fixtures/xna_cf/pair_after.txt";
    let growth = ["diff -n 9 --retained", "diff -n 5 --paths", "trend -n 6 --min-growth 0", "leaks"];
    assert_eq!(check(pair, &growth), 4);
    let pair = "fixtures/hprof/shop-old.hprof.zst fixtures/hprof/shop-new.hprof.zst";
    assert_eq!(check(pair, &growth[..3]), 3);
}

/// A snapshot in a folder of its own.
fn snapshot(nodes: &[Node]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("some.heapsnapshot");
    std::fs::write(&path, v8_nodes(nodes)).expect("written");
    let path = path.display().to_string();
    (folder, path)
}

/// Of what function the variables are, people are told; programs get the runtime's own name.
#[test]
fn captured_variables_are_those_of_a_function() {
    let (_folder, path) = snapshot(&[
        node("synthetic", "", 0).edge("element", 1, 6),
        node("object", "Server", 16).edge("property", "on", 2).edge("property", "of", 5),
        node("closure", "handle", 64).edge("internal", "shared", 3),
        node("code", "shared", 8).edge("internal", "name_or_scope_info", 4),
        node("code", "system / ScopeInfo", 8),
        node("object", "system / Context", 40).edge("internal", "scope_info", 4),
        node("synthetic", "(GC roots)", 0).edge("element", 1, 1),
    ]);
    let asked = |question: &str, more: &[&str]| {
        answer(&[&question.split(' ').collect::<Vec<_>>()[..], &[&path, "-q"], more].concat(), 100).stdout
    };
    let of_function = "closure variables of handle() (system / Context)";
    let of_any = "closure variables (system / Context)";
    for (question, words) in [
        ("show @11", of_function),
        ("show @3", of_function),
        ("roots @11", of_function),
        ("dominators --depth 3", of_function),
        ("list", of_any),
        ("stats", of_any),
        ("dominators --by type", of_any),
        ("breakdown --min-percent 1", of_any),
        ("roots --type Context", of_any),
    ] {
        let text = asked(question, &["--pretty"]);
        assert!(text.contains(words), "{question}: {text}");
        let json = asked(question, &["-f", "json"]);
        assert!(json.contains(r#""system / Context""#) && !json.contains("closure variables"), "{question}: {json}");
        // What is printed for programs is found by `--type`.
        let csv = asked(question, &["-f", "csv"]);
        assert!(csv.contains("system / Context") && !csv.contains("closure variables"), "{question}: {csv}");
    }
    let path = asked("roots @11", &["--pretty"]);
    assert!(path.contains("held by the collector (interned strings, class descriptions) (GC roots)"), "{path}");
    let merged = asked("roots --type Context", &["--pretty"]);
    assert!(merged.contains("collector (GC roots): Server"), "{merged}");
}

/// A type that is called after an address is broken where a line ends, in titles too.
#[test]
fn addresses_are_no_wider_than_the_terminal() {
    let address = format!("https://shop.example/{}index.html", "a-long-folder/".repeat(9));
    let (_folder, path) = snapshot(&[
        node("synthetic", "", 0).edge("shortcut", "window", 1),
        node("object", address.as_str(), 16).edge("property", "cart", 2),
        node("object", "Cart", 64).edge("property", "window", 1),
    ]);
    for question in [
        "roots @3",
        "roots @5",
        "roots @5 --merge",
        "roots --type Cart",
        "referrers @3",
        "referrers @5",
        "show @3",
        "dominators",
    ] {
        for columns in [40, 60, 80] {
            let words: Vec<&str> = question.split(' ').chain([path.as_str(), "-q", "--pretty"]).collect();
            let text = answer(&words, columns).stdout;
            assert!(text.contains("https://shop.e"), "{question}: {text}");
            let wide = text.lines().find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "{question} at {columns}");
        }
    }
}

/// Steps that every class of a program has are one, in trees of paths too; programs get all.
#[test]
fn merged_paths_begin_at_a_class() {
    let question = ["roots", "--type", "=zoo.Zoo$Colour", "fixtures/hprof/zoo-jdk21-serial.hprof.zst", "-n", "0", "-q"];
    let asked = |more: &[&str]| answer(&[&question[..], more].concat(), 80).stdout;
    let (text, all) = (asked(&["--pretty"]), asked(&["--pretty", "--all-steps"]));
    let start = "class zoo.Zoo$Colour (loaded by";
    assert!(text.contains(start) && !text.contains(".classes"), "{text}");
    assert!(!all.contains(start) && all.contains(".classes"), "{all}");
    assert_eq!(asked(&["-f", "json"]), asked(&["-f", "json", "--all-steps"]));
    assert!(asked(&["-f", "json"]).contains(".classes"));
}

/// A row of a breakdown says how what dominates its objects holds them.
#[test]
fn a_breakdown_names_references() {
    let question = ["breakdown", "fixtures/hprof/shop-new.hprof.zst", "--min-percent", "1", "-q"];
    let text = answer(&[&question[..], &["--pretty"]].concat(), 100).stdout;
    let json = answer(&[&question[..], &["-f", "json"]].concat(), 100).stdout;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let mut names = Vec::new();
    names_in(&json, &mut names);
    let whole = joined(&text);
    assert!(names.len() > 5 && names.iter().all(|name| whole.contains(&joined(name))), "{names:?}\n{text}");
    // Several ways in are no name: people see that there are some.
    let (_folder, path) = snapshot(&[
        node("synthetic", "", 0).edge("element", 1, 1),
        node("object", "Server", 16).edge("property", "left", 2).edge("property", "right", 3),
        node("object", "Left", 16).edge("property", "shared", 4),
        node("object", "Right", 16).edge("property", "shared", 4),
        node("object", "Shared", 1000),
    ]);
    let question = ["breakdown", &path, "--min-percent", "1", "-q"];
    let text = answer(&[&question[..], &["--pretty"]].concat(), 100).stdout;
    assert!(text.contains(".left  Left") && text.contains("…  Shared"), "{text}");
    let json = answer(&[&question[..], &["-f", "json"]].concat(), 100).stdout;
    assert!(json.contains(r#"".left""#) && json.contains(r#""Shared""#) && !json.contains('…'), "{json}");
}
