//! Suspects, differences and exports on dumps whose leaks were planted and are known.

use std::io::Cursor;

use crate::common::cmd::{project, run};
use crate::common::fixtures::{all, unpacked};
use crate::common::heap::Heap;
use crate::common::synth::xna_cf;
use crate::oracle::heaps;
use heapdump::analysis::threshold::Threshold;
use heapdump::answers::leaks::SuspectKind;
use heapdump::answers::{LeaksOptions, leaks};
use heapdump::dump::OpenOptions;
use proptest::prelude::*;
use serde_json::Value;

const BEFORE: &str = "fixtures/xna_cf/pair_before.txt";
const AFTER: &str = "fixtures/xna_cf/pair_after.txt";

#[test]
fn planted_leaks_are_the_first_or_second_suspect_with_their_holder() {
    let mut checked = 0;
    for fixture in all() {
        let Some(leak) = fixture.expected.get("planted_leak") else { continue };
        let path = fixture.path.display().to_string();
        let leaks = run(&["leaks", &path, "-f", "json", "-q"]).expect_code(0).json();
        let suspects = leaks["suspects"].as_array().unwrap();
        let place = suspects.iter().position(|suspect| suspect["id"] == leak["id"]);
        assert!(matches!(place, Some(0 | 1)), "{}: {place:?}", fixture.name());
        let suspect = &suspects[place.unwrap()];
        assert_eq!(suspect["retained_bytes"], leak["retained_bytes"]);
        assert_eq!(suspect["retained_objects"], leak["retained_objects"]);
        assert_eq!(suspect["path"]["root"]["container"], leak["container"]);
        assert!(suspect["text"].as_str().unwrap().contains(leak["container"].as_str().unwrap()));
        checked += 1;
    }
    assert!(checked >= 5);
}

#[test]
fn a_pair_differs_exactly_as_it_was_made_to() {
    let text = std::fs::read_to_string(project("fixtures/xna_cf/pair.diff.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let expected: Vec<(&str, &Value, &Value)> = expected["by_type"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["type"].as_str().unwrap(), &row["objects"], &row["bytes"]))
        .collect();
    let diff = run(&["diff", BEFORE, AFTER, "-f", "json"]).expect_code(0).json();
    let actual: Vec<(&str, &Value, &Value)> = diff["types"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["type"].as_str().unwrap(), &row["objects_delta"], &row["shallow_bytes_delta"]))
        .collect();
    assert_eq!(actual, expected);
    assert_eq!(diff["shallow_bytes_delta"], 76980);
    let back = run(&["diff", AFTER, BEFORE, "-f", "json"]).json();
    assert_eq!(back["shallow_bytes_delta"], -76980);
    let all = run(&["diff", BEFORE, AFTER, "-f", "json", "--all"]).json();
    assert_eq!(all["types"].as_array().unwrap().len(), 72);
}

#[test]
fn a_dump_does_not_differ_from_itself_in_another_format() {
    let native = "fixtures/ibm_classic/small.native.txt.gz";
    let jdmpview = "fixtures/ibm_classic/small.jdmpview.txt.gz";
    for other in [native, jdmpview] {
        let diff = run(&["diff", native, other, "-f", "json", "--retained"]).expect_code(0).json();
        assert_eq!(diff["types"].as_array().unwrap().len(), 0);
    }
}

#[test]
fn what_grew_is_under_the_path_of_the_leak() {
    let diff = run(&["diff", BEFORE, AFTER, "--paths", "-n", "1", "-f", "json"]).expect_code(0).json();
    let first = &diff["paths"][0];
    assert!(first["path"].as_str().unwrap().starts_with("System.Collections.Generic.List`1[[System.EventHandler]]"));
    assert_eq!(first["retained_bytes_delta"], 76980);
    let roots = run(&["diff", BEFORE, AFTER, "--roots", "-f", "json"]).json();
    let grown = &roots["kinds"][0];
    assert_eq!((&grown["kind"], &grown["held_bytes_delta"]), (&"static".into(), &76980.into()));
    // By definition: what is no longer reachable without the statics.
    let reachable = |args: &[&str]| run(args).json()["totals"]["reachable_bytes"].as_u64().unwrap();
    let all = reachable(&["stats", AFTER, "-f", "json"]);
    let without = reachable(&["stats", AFTER, "-f", "json", "--exclude-roots", "static"]);
    assert_eq!(grown["held_bytes_new"], all - without);
}

/// A hundred thousand links with a payload each, an array of as many, and a dictionary, below one root of another kind.
#[test]
fn shapes_are_named_without_a_limit_of_depth() {
    let count = 20_000u64;
    let mut list = String::from("a 2 x\nt 1 App.Link\nt 2 App.Payload\nt 3 App.Queue\n");
    list += "o 1 3 10 10\n";
    for at in 0..count {
        let own = 0x10 + 2 * at;
        let next = if at + 1 < count { format!(" {:x}", own + 2) } else { String::new() };
        list += &format!("o {own:x} 1 18 {:x}{next}\no {:x} 2 20\n", own + 1, own + 1);
    }
    list += "r 1 3 0\nc x\n";
    let mut array = String::from("a 2 x\nt 1 App.Item\nt 2 App.Item[]\nt 3 App.Cache\no 1 3 10 2\no 2 2 1000");
    (0..count).for_each(|at| array += &format!(" {:x}", 0x10 + at));
    array += "\n";
    (0..count).for_each(|at| array += &format!("o {:x} 1 20\n", 0x10 + at));
    array += "r 1 4 0 3\nc x\n";
    for (dump, shape, members, member_type, words) in [
        (&list, "linked-list", count, "App.Link", "a linked list of 20,000 App.Link"),
        (&array, "array", count, "App.Item", "an array of 20,000 App.Item"),
    ] {
        let ran = crate::common::cmd::run_with_input(&["leaks", "-f", "json"], dump.as_bytes()).expect_code(0).json();
        let suspect = &ran["suspects"][0];
        let point = &suspect["accumulation_point"];
        assert_eq!((&point["shape"], &point["members"]), (&shape.into(), &members.into()), "{suspect}");
        assert_eq!(point["member_type"], member_type);
        assert!(suspect["text"].as_str().unwrap().contains(words), "{suspect}");
    }
}

#[test]
fn structures_inside_a_giant_root_are_suspects_and_the_giant_is_not() {
    let mut dump = String::from("a 2 x\nt 1 App.World\nt 2 App.Cache\nt 3 App.Index\nt 4 System.Byte[]\n");
    dump += "o 1 1 10 2 3\no 2 2 10 4\no 3 3 10 5\no 4 4 10000\no 5 4 f000\nr 1 0 0\nc x\n";
    let ran = crate::common::cmd::run_with_input(&["leaks", "-f", "json"], dump.as_bytes()).expect_code(0).json();
    let types: Vec<&str> =
        ran["suspects"].as_array().unwrap().iter().map(|suspect| suspect["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["App.Cache", "App.Index"]);
    let none = crate::common::cmd::run_with_input(&["leaks", "--threshold", "90%"], dump.as_bytes()).expect_code(0);
    assert_eq!(none.stdout.matches("Suspect ").count(), 1, "the giant itself is one at 90 %: {}", none.stdout);
}

/// With a lower threshold the items of a collection took its place.
#[test]
fn a_lower_threshold_loses_no_collection() {
    for threshold in ["10%", "3%", "2%", "1%", "0.1%"] {
        let ran = run(&["leaks", AFTER, "--threshold", threshold, "-f", "json"]).expect_code(0).json();
        let suspects = ran["suspects"].as_array().unwrap();
        let list = suspects.iter().find(|suspect| suspect["id"] == "1#1cadcb").expect("the list");
        assert!(list["text"].as_str().unwrap().contains("each keeping a BubbleGame.Level"), "{threshold}: {list}");
    }
}

/// Shares and thresholds are of the section that was asked for.
#[test]
fn a_section_has_its_own_suspects() {
    let whole = run(&["stats", AFTER, "--domain", "2", "-f", "json"]).json();
    for command in ["leaks", "dominators"] {
        let ran = run(&[command, AFTER, "--domain", "2", "-f", "json"]).expect_code(0).json();
        assert_eq!(ran["reachable_bytes"], whole["totals"]["reachable_bytes"], "{command}");
    }
    let folded = run(&["export", "--to", "folded", AFTER, "--domain", "2"]).expect_code(0).stdout;
    let sum: u64 = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(whole["totals"]["reachable_bytes"], sum);
}

#[test]
fn tickets_get_paragraphs_in_markdown() {
    let text = run(&["leaks", AFTER, "-f", "markdown"]).expect_code(0).stdout;
    assert!(
        text.starts_with("### Suspect 1\n\n25 Level (153.8 KiB, 43 %) are kept in ")
            && text.contains("\n\nOne System.Collections.Generic.List\\`1\\[\\[System.EventHandler]]")
            && text.contains("\n- What to do: unsubscribe with -= ")
            && text.contains("\n- Look further with: heapdump dominators "),
        "{text}"
    );
}

const PAIRS: [[&str; 2]; 3] = [
    ["fixtures/hprof/shop-old.hprof.zst", "fixtures/hprof/shop-new.hprof.zst"],
    ["fixtures/v8_snapshot/chat-old.heapsnapshot.zst", "fixtures/v8_snapshot/chat-new.heapsnapshot.zst"],
    [BEFORE, AFTER],
];

/// What the programs of these pairs were made to leak: what, how many before and after, where, of which shape.
#[test]
fn the_cause_of_what_grew_is_one_sentence() {
    for ([old, new], element, counts, holder, pattern) in [
        (PAIRS[0], "shop.Shop$Mail", [59, 599], "Shop$Mailer.pool.workQueue", "pool-queue"),
        (PAIRS[1], "Visitor", [100, 700], "EventEmitter._events.message", "event-listeners"),
        (PAIRS[2], "BubbleGame.Level", [13, 25], "a static variable of EventBus", "dotnet-events"),
    ] {
        let ran = run(&["leaks", old, new, "-q", "-f", "json"]).expect_code(0).json();
        let suspects = ran["suspects"].as_array().expect("suspects");
        assert_eq!(suspects.len(), 1, "{new}");
        let suspect = &suspects[0];
        let sentence = suspect["sentence"].as_str().expect("a sentence");
        assert_eq!(suspect["element"]["type"], element, "{sentence}");
        assert_eq!(suspect["element"]["objects_old"], counts[0], "{sentence}");
        assert_eq!(suspect["element"]["objects"], counts[1], "{sentence}");
        assert!(suspect["holder"]["text"].as_str().expect("words").starts_with(holder), "{sentence}");
        assert_eq!(suspect["pattern"], pattern, "{sentence}");
        assert!(sentence.contains(holder) && sentence.contains(&counts[1].to_string()), "{sentence}");
        let text = suspect["text"].as_str().expect("a text");
        assert!(text.starts_with(sentence) && text.contains(suspect["advice"].as_str().expect("advice")), "{text}");
        // The path goes through what the sentence names, and the command asks of the same roots.
        let fields = suspect["holder"]["fields"].as_array().expect("fields");
        let evidence = text.split(" The memory piles up").next().expect("a text");
        assert!(fields.iter().all(|field| evidence.contains(field.as_str().expect("a name"))), "{text}");
        let words = ["leaks", old, new, "-q", "--exclude-roots", "jni-global", "-p"];
        let text = run(&words).expect_code(0).stdout;
        // On a narrow terminal it goes on behind a backslash; pasted, it answers.
        let command = text.split("Look further with: heapdump ").nth(1).expect("a command");
        let command =
            command.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ").replace('\\', "");
        let words: Vec<&str> = command.split_whitespace().collect();
        assert!(
            words.windows(2).any(|pair| pair == ["--exclude-roots", "jni-global"]) && words.ends_with(&[new]),
            "{text}"
        );
        run(&words).expect_code(0);
        let rows = run(&["leaks", old, new, "-q", "-f", "csv"]).expect_code(0).stdout;
        assert!(rows.contains(&format!("\"{}\"", sentence.replace('"', "\"\""))), "{rows}");
        let growth = suspect["growth"]["retained_bytes_delta"].as_u64().expect("a number");
        assert!(growth <= suspect["retained_bytes"].as_u64().expect("a number"), "{sentence}");
    }
}

/// However they are read: packed (as two of the pairs are) or not, from their indexes, the newer one from a pipe.
#[test]
fn a_cause_is_the_same_from_files_indexes_and_pipes() {
    let folder = tempfile::tempdir().expect("a folder");
    for pair in PAIRS {
        // What is said of files stands in the command that looks further, and in the paragraph with it.
        let causes = |old: &str, new: &str, input: &[u8]| -> Value {
            let words = ["leaks", "-q", "-f", "json", old, new];
            let mut answer = crate::common::cmd::run_with_input(&words, input).expect_code(0).json();
            for suspect in answer["suspects"].as_array_mut().expect("suspects") {
                let text = suspect["text"].as_str().expect("a text").split(" Look further").next().map(Value::from);
                suspect["text"] = text.expect("a text");
            }
            answer
        };
        let expected = causes(pair[0], pair[1], &[]);
        assert_eq!(expected["suspects"].as_array().map(Vec::len), Some(1), "{pair:?}");
        let mut plain = Vec::new();
        for (at, file) in pair.iter().enumerate() {
            let bytes = unpacked(file);
            let name = |what: &str| folder.path().join(format!("{at}.{what}")).display().to_string();
            std::fs::write(name("plain"), &bytes).expect("written");
            plain.push(name("plain"));
        }
        assert_eq!(causes(&plain[0], &plain[1], &[]), expected, "{pair:?}, unpacked");
        for file in &plain {
            run(&["index", "-q", file]).expect_code(0);
        }
        assert_eq!(causes(&plain[0], &plain[1], &[]), expected, "{pair:?}, indexes");
        let piped = causes(pair[0], "-", &std::fs::read(&plain[1]).expect("read"));
        assert_eq!(piped, expected, "{pair:?}, a pipe");
    }
}

#[test]
fn what_grows_over_many_dumps_is_explained_too() {
    for [old, new] in PAIRS {
        let of_leaks = run(&["leaks", old, new, "-q", "-f", "json"]).expect_code(0).json();
        let trend = run(&["trend", "--causes", old, old, new, "-q", "-f", "json"]).expect_code(0).json();
        assert_eq!(trend["causes"][0], of_leaks["suspects"][0]["sentence"], "{new}");
        let text = run(&["trend", "--causes", old, new, "-q", "-n", "1", "-p"]).expect_code(0).stdout;
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&text).ends_with(&words(trend["causes"][0].as_str().expect("a sentence"))), "{text}");
        // In a pipe there is a table alone, and the causes beside it.
        let piped = run(&["trend", "--causes", old, new, "-q"]).expect_code(0);
        assert!(piped.stderr.contains(trend["causes"][0].as_str().expect("a sentence")), "{}", piped.stderr);
        assert!(run(&["trend", old, new, "-q", "-f", "json"]).expect_code(0).json()["causes"].is_null());
    }
}

#[test]
fn what_did_not_grow_is_no_suspect_but_can_be_asked_for() {
    for [old, new] in PAIRS {
        for files in [[old, old], [new, new], [new, old]] {
            let ran = run(&["leaks", files[0], files[1], "-q"]).expect_code(0).stdout;
            assert!(ran.starts_with("No suspects: nothing grew by 64.0 KiB or more.\n"), "{files:?}: {ran}");
            let all = run(&["leaks", "--all", files[0], files[1], "-q", "-f", "json"]).expect_code(0).json();
            let suspects = all["suspects"].as_array().expect("suspects");
            assert!(!suspects.is_empty(), "{files:?}");
            let grew = |row: &Value| row["growth"]["retained_bytes_delta"].as_i64().expect("a number") > 0;
            assert!(!suspects.iter().any(grew), "{files:?}: {all}");
        }
    }
}

#[test]
fn what_is_mine_is_told_of_and_what_is_a_librarys_is_not() {
    let [old, new] = PAIRS[0];
    let element = |words: &[&str]| {
        let ran = run(&[&["leaks", old, new, "-q", "-f", "json"], words].concat()).expect_code(0).json();
        ran["suspects"][0]["element"]["type"].as_str().expect("a type").to_string()
    };
    assert_eq!(element(&[]), "shop.Shop$Mail");
    assert_ne!(element(&["--library", "shop.Shop$Mail", "--mine", "java.lang.String"]), "shop.Shop$Mail");
}

#[test]
fn many_small_objects_of_one_type_are_a_group() {
    let mut dump = String::from("a 2 x\nt 1 App.Ticket\nt 2 App.Rest\n");
    (0..500).for_each(|at| dump += &format!("o {:x} 1 20\nr {:x} 3 0\n", 0x10 + at, 0x10 + at));
    dump += "o 5 2 1000\nr 5 1 0\nc x\n";
    let ran = crate::common::cmd::run_with_input(&["leaks", "-f", "json"], dump.as_bytes()).expect_code(0).json();
    let suspect = &ran["suspects"][0];
    assert_eq!(
        (&suspect["kind"], &suspect["type"], &suspect["objects"]),
        (&"group".into(), &"App.Ticket".into(), &500.into())
    );
    assert_eq!(suspect["retained_bytes"], 500 * 32);
}

#[test]
fn exports_hold_all_that_is_reachable() {
    for file in [AFTER, "fixtures/ibm_classic/small.native.txt.gz"] {
        let reachable = run(&["stats", file, "-f", "json"]).json()["totals"]["reachable_bytes"].as_u64().unwrap();
        for least in ["0", "0.1%", "20%"] {
            let folded = run(&["export", "--to", "folded", file, "--min-bytes", least]).expect_code(0).stdout;
            let sum: u64 = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
            assert_eq!(sum, reachable, "{file} {least}");
        }
        let svg = run(&["export", "--to", "flamegraph", file]).expect_code(0).stdout;
        assert!(svg.starts_with("<?xml") && svg.trim_end().ends_with("</svg>"));
    }
    let dot = run(&["export", "--to", "dot", "--object", "1cadcb", AFTER]).expect_code(0).stdout;
    assert!(dot.starts_with("digraph {") && dot.contains("root: static BubbleGame.Events.EventBus"), "{dot}");
    let below =
        run(&["export", "--to", "dot", "--object", "1cadcb", AFTER, "--retained", "--max-objects", "10"]).stdout;
    assert_eq!(below.matches("label").count(), 10, "{below}");
    run(&["export", "--to", "dot", AFTER]).expect_code(2);
}

#[test]
fn known_holders_can_be_walked_around() {
    let mut dump = String::from("a 2 x\nt 1 App.Known\nt 2 App.Other\nt 3 App.Leaked\n");
    dump += "o 1 1 10 3\no 2 2 10 4\no 4 2 10 3\no 3 3 10\nr 1 4 0 1\nr 2 1 0\nc x\n";
    let length =
        |args: &[&str]| crate::common::cmd::run_with_input(args, dump.as_bytes()).json()["paths"][0]["length"].clone();
    assert_eq!(length(&["roots", "3", "-f", "json"]), 1);
    assert_eq!(length(&["roots", "3", "-f", "json", "--exclude", "App.Known"]), 2);
    let merged = ["roots", "--type", "App.Leaked", "-f", "json", "--exclude", "App.Known"];
    let tree = crate::common::cmd::run_with_input(&merged, dump.as_bytes()).json();
    assert_eq!(tree["tree"][0]["type"], "App.Other");
    // The two links of one type are one row.
    assert_eq!(tree["tree"][0]["children"][0]["type"], "App.Leaked");
}

/// Without the threshold of 10 % there are many suspects, whose paths are found together.
#[test]
fn the_answer_of_the_library_is_the_json_of_the_command() {
    let mut suspects = 0;
    for fixture in all().into_iter().filter(|fixture| !fixture.has_no_objects() && fixture.arguments().is_empty()) {
        let path = fixture.path.display().to_string();
        for threshold in [None, Some(Threshold::Bytes(100))] {
            let mut arguments = vec!["leaks", &path, "-f", "json", "-q"];
            let options = LeaksOptions { rows: Some(20), ..LeaksOptions::default() };
            let options = match threshold {
                Some(threshold) => LeaksOptions { threshold, ..options },
                None => options,
            };
            arguments.extend(["-n", "20"]);
            arguments.extend(threshold.map_or([].as_slice(), |_| &["--threshold", "100"]));
            let Ok(dump) = heapdump::dump::open(&path) else { continue };
            if dump.graph().is_some_and(|graph| graph.lacks_references()) {
                continue;
            }
            let mut printed = run(&arguments).expect_code(0).json();
            printed.as_object_mut().unwrap().remove("schema");
            let answer = leaks(&dump, &options).unwrap();
            // As text first: numbers are rounded when they are read.
            let answered: Value = serde_json::from_str(&serde_json::to_string(&answer).unwrap()).unwrap();
            assert_eq!(answered, printed, "{path}");
            suspects += answer.suspects.len();
        }
    }
    assert!(suspects > 100, "{suspects}");
}

/// The object at the end of a chain is in the row that it began with, which does not hold it.
#[test]
fn what_is_large_is_told_where_it_is_below_its_row() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("chain.txt").display().to_string();
    let lines = [
        "a 2 Shop\nt 1 demo.Node\nt 2 Plain\no 1000 1 116\no 1001 2 0 1004 1003\no 1002 2 192\no 1003 1 0",
        "\no 1004 1 10b 1000 1005\no 1005 1 197 1002\nr 1004 0 0 1\nr 1001 1 0 1\nc Shop\n",
    ];
    std::fs::write(&file, lines.concat()).expect("written");
    let answer = run(&["leaks", "-q", "--threshold", "1354", "-f", "json", &file]).expect_code(0).json();
    let suspects = answer["suspects"].as_array().expect("suspects");
    assert_eq!(suspects.len(), 1, "{answer:#}");
    assert_eq!((&suspects[0]["id"], &suspects[0]["retained_bytes"]), (&"1004".into(), &1354.into()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// An object retains what cannot be reached without it; nothing that retains the threshold is passed over.
    #[test]
    fn suspects_retain_what_the_definition_says(heap in heaps(14, 2), threshold in 1u64..1500) {
        let dump = OpenOptions::default().open_reader(Cursor::new(xna_cf(&heap).into_bytes())).unwrap();
        let options = LeaksOptions { threshold: Threshold::Bytes(threshold), ..LeaksOptions::default() };
        let answer = leaks(&dump, &options).unwrap();
        let number = |id: &str| (0..heap.objects.len()).find(|&at| format!("{:x}", Heap::address(at)) == id);
        for suspect in answer.suspects.iter() {
            prop_assert!(suspect.row.retained_bytes >= threshold);
            prop_assert_eq!(suspect.row.kind == SuspectKind::Object, suspect.row.id.is_some());
            if let Some(id) = &suspect.row.id {
                let object = number(id).unwrap();
                prop_assert_eq!(Some(suspect.row.retained_bytes), heap.retained_bytes(object));
                // From a root, over references, to the object.
                let path = suspect.path.row().expect("a path");
                let nodes: Vec<usize> = path.nodes().map(|node| number(&node.id).unwrap()).collect();
                prop_assert_eq!(nodes.last(), Some(&object));
                prop_assert!(heap.strong_starts().contains(&nodes[0]));
                prop_assert!(nodes.windows(2).all(|pair| heap.targets(pair[0]).any(|to| to == pair[1])));
            }
            let inside: u64 = suspect.holds.iter().map(|held| held.shallow_bytes).sum();
            prop_assert_eq!(inside, suspect.row.retained_bytes);
        }
        // What retains so much is told of, by itself or by what it holds.
        let most = (0..heap.objects.len()).filter_map(|object| heap.retained_bytes(object)).max().unwrap_or(0);
        prop_assert!(most < threshold || !answer.suspects.is_empty());
    }
}

/// Fields, counts and what is special about a suspect, from the values of a Java dump; the zoo program made all of these.
#[test]
fn paragraphs_say_what_values_tell() {
    const ZOO: &str = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
    let texts = |words: &[&str]| -> Vec<String> {
        let ran = run(&[&["leaks", ZOO, "-q", "-f", "json"], words].concat()).expect_code(0).json();
        ran["suspects"]
            .as_array()
            .expect("suspects")
            .iter()
            .map(|row| row["text"].as_str().expect("text").into())
            .collect()
    };
    let all = texts(&["--threshold", "1%"]);
    let find =
        |start: &str| all.iter().find(|text| text.contains(start)).unwrap_or_else(|| panic!("{start}: {all:#?}"));
    let bus = find("One zoo.Zoo$Bus ");
    for words in [
        "class zoo.Zoo (static Zoo.bus) -> zoo.Zoo$Bus (.listeners).",
        ", its .listeners.elementData, an array of 300 zoo.Zoo$View (java.util.ArrayList.size is 300)",
    ] {
        assert!(bus.contains(words), "{words}: {bus}");
    }
    let map = find("One java.util.WeakHashMap ");
    let words = "that holds itself: of 64 values looked at, 64 refer to their own keys, so that these entries are never cleared.";
    assert!(map.contains(words), "{map}");
    // Another weak map holds nothing of its own.
    assert_eq!(all.iter().filter(|text| text.contains("holds itself")).count(), 1);
    let threads = texts(&["--threshold", "100", "-t", "/^java.lang.Thread$/"]);
    assert!(threads[0].contains("It is the thread \"zoo-worker\", in zoo.Zoo.park (Zoo.java:75)."), "{}", threads[0]);
}
