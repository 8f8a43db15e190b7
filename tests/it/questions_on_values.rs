//! What objects say, asked in groups: sums over fields, values compared whole, classes by what they extend, dominators.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::common::cmd::run;
use crate::common::synth_java::{Held, JavaDump, units};

const ZOO: &str = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
const CHAT: &str = "fixtures/v8_snapshot/chat-new.heapsnapshot.zst";

fn rows(args: &[&str]) -> Vec<Value> {
    let answer = run(&[args, &["-q", "-f", "json"]].concat()).expect_code(0).json();
    answer.get("groups").or_else(|| answer.get("types")).and_then(Value::as_array).expect("rows").clone()
}

/// A dump of orders: `status` refers to a text or a box, the others are numbers.
fn orders(orders: &[(u64, i64, f64)], fill: impl FnOnce(&mut JavaDump, [u64; 2])) -> (tempfile::TempDir, String) {
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let string = dump.class("java.lang.String", object, &[("value", Held::Reference(0))], &[]);
    let integer = dump.class("java.lang.Integer", object, &[("value", Held::Int(0))], &[]);
    let fields = [("status", Held::Reference(0)), ("size", Held::Long(0)), ("ratio", Held::Double(0.0))];
    let order = dump.class("shop.Order", object, &fields, &[]);
    fill(&mut dump, [string, integer]);
    for (at, &(status, size, ratio)) in orders.iter().enumerate() {
        let id = 0x9_0000 + 16 * at as u64;
        dump.instance(id, order, &[Held::Reference(status), Held::Long(size), Held::Double(ratio)]);
        dump.root(id);
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("orders.hprof");
    std::fs::write(&path, dump.finish()).expect("written");
    (directory, path.display().to_string())
}

#[test]
fn sums_never_overflow_and_what_is_no_number_is_counted() {
    let (largest, box_of_seven) = (i64::MAX, 0x8_0000);
    let (_directory, file) = orders(
        &[
            (0, largest, 0.5),
            (box_of_seven, largest, f64::NAN),
            (box_of_seven, largest, -2.25),
            (0xdead, -3, f64::INFINITY),
        ],
        |dump, [_, integer]| dump.instance(box_of_seven, integer, &[Held::Int(7)]),
    );
    let asked = ["--sum", ".size,.ratio", "--min", ".ratio", "--max", ".size", "--mean", ".status", "--sum", ".status"];
    let row = rows(&[&["stats", &file, "--type", "=shop.Order"], &asked[..]].concat()).remove(0);
    // Three times 2^63 - 1, less 3; its digits are no double's.
    let text =
        run(&["stats", &file, "--type", "=shop.Order", "--sum", ".size", "-q", "-f", "csv"]).expect_code(0).stdout;
    assert!(text.contains(",27670116110564327418,0,shop.Order"), "{text}");
    assert_eq!(row["sum"][".ratio"], json!("Infinity"));
    assert_eq!(row["min"], json!({".ratio": -2.25}));
    assert_eq!(row["max"], json!({".size": largest}));
    assert_eq!((&row["mean"], &row["sum"][".status"]), (&json!({".status": 7.0}), &json!(14)));
    assert_eq!(
        row["nulls"],
        json!({".ratio": 1, ".size": 0, ".status": 2}),
        "NaN is none, nor are null and what is gone"
    );
    let by_ratio: Vec<(String, Value)> =
        rows(&["stats", &file, "--type", "=shop.Order", "--by", ".ratio", "--sum", ".size"])
            .iter()
            .map(|row| (row["group"].as_str().expect("a name").to_string(), row["sum"][".size"].clone()))
            .collect();
    let expected = ["-2.25", "0.5", "Infinity", "NaN"].map(String::from);
    assert_eq!(by_ratio.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), expected);
    assert_eq!(by_ratio[2].1, json!(-3));
}

#[test]
fn sums_of_what_is_no_number_are_refused() {
    for (class, path) in [("=java.lang.Thread", ".name"), ("=java.lang.Thread", ".contextClassLoader")] {
        for function in ["--sum", "--min", "--max", "--mean"] {
            let wrong = run(&["stats", ZOO, "--type", class, function, path]).expect_code(2).stderr;
            assert!(wrong.contains(path) && wrong.contains(&format!("--by {path}")), "{wrong}");
        }
    }
}

/// What rows say is what `list` says of each object, added up here.
#[test]
fn figures_of_fields_are_those_of_the_objects() {
    for (file, by, path) in [
        (ZOO, "type", ".size"),
        (ZOO, "package", ".hash"),
        (ZOO, ".size", ".threshold"),
        (ZOO, "superclass", ".hash"),
        (ZOO, "dominator", ".key.hash"),
    ] {
        let listed = run(&["list", file, "-q", "-f", "json", "--select", path]).expect_code(0).json();
        let numbers = listed["objects"].as_array().expect("objects").iter().map(|object| &object["fields"][path]);
        let numbers: Vec<i128> = numbers.filter_map(Value::as_i64).map(i128::from).collect();
        let rows = rows(&["stats", file, "--by", by, "--sum", path, "--min", path, "--max", path, "--sort", "sum"]);
        let of = |key: &str| rows.iter().filter_map(|row| row[key][path].as_i64()).map(i128::from).collect::<Vec<_>>();
        let objects: u64 = rows.iter().map(|row| row["objects"].as_u64().expect("a number")).sum();
        let nulls: u64 = rows.iter().map(|row| row["nulls"][path].as_u64().expect("a number")).sum();
        assert!(!numbers.is_empty(), "{by} {path}");
        assert_eq!(of("sum").iter().sum::<i128>(), numbers.iter().sum::<i128>(), "{by} {path}");
        assert_eq!(of("min").iter().min(), numbers.iter().min(), "{by} {path}");
        assert_eq!(of("max").iter().max(), numbers.iter().max(), "{by} {path}");
        assert_eq!(objects - nulls, numbers.len() as u64, "{by} {path}");
        assert!(of("sum").is_sorted_by(|a, b| a >= b), "{by} {path}");
    }
}

#[test]
fn texts_are_compared_whole() {
    let long = |last: &str| units(&("x".repeat(1 << 20) + last));
    let texts = [units("open"), units("open"), long("a"), long("b"), long("a"), vec![0xD8, 0x00], vec![0xDF, 0xFF]];
    let text = |at: u64| 0x8_0000 + 0x100 * at;
    let all: Vec<(u64, i64, f64)> = (0..7).map(|at| (text(at), 1, 0.0)).collect();
    let (_directory, file) = orders(&all, |dump, [string, _]| {
        for (at, units) in texts.iter().enumerate() {
            let id = text(at as u64);
            dump.instance(id, string, &[Held::Reference(id + 0x10)]);
            dump.primitives(id + 0x10, 5, 2, units);
        }
    });
    let rows = rows(&["stats", &file, "--type", "=shop.Order", "--by", ".status"]);
    let mut found: Vec<(String, u64)> = rows
        .iter()
        .map(|row| (row["group"].as_str().expect("a name").to_string(), row["objects"].as_u64().expect("a number")))
        .collect();
    found.sort();
    let (cut, half) = ("x".repeat(1024), "\u{FFFD}".to_string());
    let expected = [("open".to_string(), 2), (cut.clone(), 1), (cut, 2), (half.clone(), 1), (half, 1)];
    assert_eq!(found, expected);
}

#[test]
fn a_class_has_its_own_objects_and_those_of_all_that_extend_it() {
    let tree = rows(&["stats", ZOO, "--by", "superclass", "--tree"]);
    let by_type: BTreeMap<String, u64> = rows(&["stats", ZOO]).iter().fold(BTreeMap::new(), |mut sums, row| {
        *sums.entry(row["type"].as_str().expect("a name").to_string()).or_default() +=
            row["objects"].as_u64().expect("a number");
        sums
    });
    let number = |row: &Value, key: &str| row[key].as_u64().expect("a number");
    let mut own: BTreeMap<String, u64> = BTreeMap::new();
    for (at, row) in tree.iter().enumerate() {
        *own.entry(row["group"].as_str().expect("a name").to_string()).or_default() += number(row, "objects");
        let below = tree[at + 1..].iter().take_while(|below| number(below, "level") > number(row, "level"));
        let sum: u64 = below.map(|below| number(below, "objects")).sum();
        assert_eq!(number(row, "objects_with_subclasses"), number(row, "objects") + sum, "{row}");
    }
    own.retain(|_, objects| *objects > 0);
    assert_eq!(own, by_type);
    for class in ["java.util.AbstractMap", "java.lang.ClassLoader", "java.lang.Thread", "java.lang.Number"] {
        let row = tree.iter().find(|row| row["group"] == class).expect("a class");
        let found =
            run(&["stats", ZOO, "--instanceof", &format!("={class}"), "-q", "-f", "json"]).expect_code(0).json();
        assert_eq!(row["objects_with_subclasses"], found["matching_objects"], "{class}");
        assert_eq!(row["shallow_bytes_with_subclasses"], found["matching_bytes"], "{class}");
    }
    let drawn = run(&["stats", ZOO, "--by", "superclass", "--tree", "-p", "-n", "2"]).expect_code(0).stdout;
    assert!(drawn.contains("  java.lang.Object\n") && drawn.contains("    byte[]\n"), "{drawn}");
    assert!(run(&["stats", ZOO, "--tree"]).expect_code(2).stderr.contains("add --by superclass"));
}

/// 1,200 classes with long names, each of which extends the one before: lines stay as wide as the terminal, and say how deep they
/// are.
#[test]
fn deep_class_trees_are_read_on_a_terminal() {
    let mut dump = JavaDump::new();
    let mut class = dump.class("java.lang.Object", 0, &[], &[]);
    for level in 1..1200u64 {
        let kept = class;
        class = dump.class(&format!("com.example.shop.warehouse.persistence.Level{level}"), class, &[], &[]);
        let twin = dump.class(&format!("com.example.shop.warehouse.persistence.Twin{level}"), kept, &[], &[]);
        dump.instance(16 * level, class, &[]);
        dump.instance(0x10_0000 + 16 * level, twin, &[]);
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("deep.hprof");
    std::fs::write(&path, dump.finish()).expect("written");
    let tree = ["stats", &path.display().to_string(), "--by", "superclass", "--tree", "-q"].map(String::from);
    let ask = |words: &[&str]| {
        let mut command = crate::common::cmd::heapdump(
            &tree.iter().map(String::as_str).chain(words.iter().copied()).collect::<Vec<_>>(),
        );
        command.env("COLUMNS", "80");
        crate::common::cmd::finish(command).expect_code(0)
    };
    let drawn = ask(&["-p", "-n", "0"]).stdout;
    assert!(drawn.lines().all(|line| line.chars().count() <= 80), "{drawn}");
    assert!(
        drawn.contains("Level490\n") && drawn.contains("(490) ") && drawn.contains("(N): a row N levels down"),
        "{drawn}"
    );
    assert!(drawn.lines().nth(3).is_some_and(|titles| titles.trim_end().ends_with("Class")), "{drawn}");
    let rows = ask(&["-f", "json"]).json()["groups"].as_array().expect("rows").clone();
    assert_eq!(rows[0]["objects_with_subclasses"], json!(2 * 1199));
    let deepest = rows.iter().map(|row| row["level"].as_u64().expect("a number")).max();
    assert!(deepest >= Some(499), "{deepest:?}");
}

#[test]
fn subclasses_are_named_where_a_class_has_no_objects_of_its_own() {
    let none = run(&["list", ZOO, "--type", "=java.lang.ClassLoader"]).expect_code(1).stderr;
    let found =
        run(&["stats", ZOO, "--instanceof", "=java.lang.ClassLoader", "-q", "-f", "json"]).expect_code(0).json();
    let classes = found["types"].as_array().expect("rows").iter().map(|row| row["type"].as_str().expect("a name"));
    let classes: std::collections::BTreeSet<&str> = classes.collect();
    let hint = format!("; {} objects of {} subclasses: --instanceof", found["matching_objects"], classes.len());
    assert!(none.trim_end().ends_with(&hint), "{none} {hint}");
    let unknown = run(&["list", ZOO, "--instanceof", "com.acme.Payable"]).expect_code(1).stderr;
    assert!(unknown.contains("--instanceof com.acme.Payable; a dump says superclasses, not interfaces"), "{unknown}");
    // Where it is not the type that is missing, nothing is said of subclasses.
    for types in [&[][..], &["--type", "=java.util.HashMap"]] {
        let none = run(&[&["list", ZOO, "--where", "shallow > 1GiB"], types].concat()).expect_code(1).stderr;
        assert!(none.contains("fulfils --where shallow > 1GiB") && !none.contains("no type matches"), "{none}");
    }
    for (args, said) in [
        (&["list", CHAT, "--instanceof", "Map"][..], "which class extends which"),
        (&["list", ZOO, "--instanceof", "/a(/"], "is not a regular expression"),
    ] {
        let wrong = run(args).expect_code(2).stderr;
        assert!(wrong.starts_with("heapdump: --instanceof: ") && wrong.contains(said), "{wrong}");
        assert!(!wrong.contains("--where") && !wrong.contains("instanceof ~"), "{wrong}");
    }
}

#[test]
fn objects_are_grouped_by_what_immediately_dominates_them() {
    let rows = rows(&["dominators", ZOO, "--type", "=byte[]", "--by", "dominator"]);
    assert!(rows.len() > 5, "{rows:?}");
    for row in rows.iter().take(6) {
        let group = row["group"].as_str().expect("a name");
        let above = match group {
            "(none)" => "dominator is null and reachable".to_string(),
            class => format!("dominator_type = '{class}'"),
        };
        let found = run(&["list", ZOO, "--type", "=byte[]", "--where", &above, "-q", "-f", "json", "-n", "1"]).json();
        assert_eq!(row["objects"], found["found"], "{group}");
    }
}

#[test]
fn lists_go_by_distance_where_the_format_has_one() {
    let listed = run(&["list", CHAT, "--sort", "distance", "-n", "400", "-q", "-f", "json"]).expect_code(0).json();
    let distances = |listed: &Value| -> Vec<Option<u64>> {
        listed["objects"].as_array().expect("objects").iter().map(|row| row["distance"].as_u64()).collect()
    };
    assert!(distances(&listed).is_sorted_by(|a, b| a >= b) && distances(&listed)[0] > Some(2));
    let all = run(&["list", CHAT, "-q", "-f", "json"]).expect_code(0).json();
    assert_eq!(distances(&listed)[0], distances(&all).into_iter().max().flatten());
    assert!(run(&["list", ZOO, "--sort", "distance"]).expect_code(2).stderr.contains("distance"));
}

/// Collections by type, the field with their number of elements, and whether it is enough to look at.
const COUNTED: [(&str, &str); 12] = [
    ("java.util.HashMap", ".size"),
    ("java.util.LinkedHashMap", ".size"),
    ("java.util.HashSet", ".map.size"),
    ("java.util.ArrayList", ".size"),
    ("java.util.Vector", ".elementCount"),
    ("java.util.TreeMap", ".size"),
    ("java.util.Hashtable", ".count"),
    ("java.util.LinkedList", ".size"),
    ("java.util.IdentityHashMap", ".size"),
    ("java.util.WeakHashMap", ".size"),
    ("java.util.concurrent.ConcurrentHashMap", ".baseCount"),
    ("java.util.Collections$UnmodifiableMap", ".m.size"),
];

#[test]
fn collections_have_as_many_entries_as_they_say() {
    for dump in ["zoo-jdk11-serial", "zoo-jdk17-zgc", "zoo-jdk25-coh"] {
        let file = format!("fixtures/hprof/{dump}.hprof.zst");
        let mut types = 0;
        for (class, path) in COUNTED {
            let args =
                ["list", &file, "-q", "-f", "json", "-n", "40", "--type", &format!("={class}"), "--select", path];
            let ran = run(&args);
            let listed = if ran.code == 0 { ran.json() } else { continue };
            let objects: Vec<&Value> = listed["objects"]
                .as_array()
                .expect("objects")
                .iter()
                .filter(|row| row["fields"][path].is_u64())
                .collect();
            let ids: Vec<&str> = objects.iter().map(|row| row["id"].as_str().expect("an id")).collect();
            if ids.is_empty() {
                continue;
            }
            types += 1;
            let words = [&["show"], &ids[..], &[&file, "--entries", "-n", "2", "-q", "-f", "json"]].concat();
            let shown = run(&words).expect_code(0).json();
            let shown = shown["objects"].as_array().cloned().unwrap_or_else(|| vec![shown.clone()]);
            for (row, shown) in objects.iter().zip(&shown) {
                let entries = &shown["collection"]["entries"];
                assert_eq!(*entries, row["fields"][path], "{dump} {class} {}", row["id"]);
                let rows = shown["entries"].as_array().expect("entries").len() as u64;
                assert_eq!(rows, entries.as_u64().expect("a number").min(2), "{class}");
            }
        }
        assert!(types >= 9, "{dump}: {types}");
    }
}

/// The properties of the process, which another part of the program reads in its own way.
#[test]
fn entries_are_keys_with_their_values() {
    let properties = run(&["info", ZOO, "--properties", "--secrets", "-q", "-f", "json"]).expect_code(0).json();
    let properties = properties["properties"].as_object().expect("properties");
    let listed = run(&["list", ZOO, "--type", "=java.util.Properties", "--ids", "-q"]).expect_code(0).stdout;
    let ids: Vec<&str> = listed.lines().collect();
    let is_of_process = |id: &&&str| {
        let shown = run(&["show", id, ZOO, "--entries", "-q", "-f", "json"]).expect_code(0).json();
        let entries = shown["entries"].as_array().expect("entries");
        let text = |end: &Value| end["value"].as_str().unwrap_or_default().to_string();
        let found: BTreeMap<String, String> =
            entries.iter().map(|row| (text(&row["key"]), text(&row["value"]))).collect();
        let expected =
            properties.iter().map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_string()));
        found == expected.collect()
    };
    assert_eq!(ids.iter().filter(is_of_process).count(), 1, "{ids:?}");
    let no_collection = run(&["list", ZOO, "--type", "=java.lang.Thread", "--ids", "-n", "1", "-q"]).stdout;
    let wrong = run(&["show", no_collection.trim(), ZOO, "--entries"]).expect_code(2).stderr;
    assert!(wrong.contains("is no collection that is known"), "{wrong}");
}

#[test]
fn damaged_and_huge_collections_end() {
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
    let (text, chars) = (0x1_0000, 0x1_0010);
    dump.instance(text, string, &[Held::Reference(chars)]);
    dump.primitives(chars, 5, 2, &units(&"k".repeat(1 << 20)));
    let at = |number: u64| 0x10_0000 + 16 * number;
    const CHAIN: u64 = 20_000;
    for number in 0..CHAIN {
        // The last is followed by the first.
        let next = at((number + 1) % CHAIN);
        dump.instance(at(number), node, &[Held::Reference(text), Held::Reference(0), Held::Reference(next)]);
    }
    dump.references(0x2_0000, array, &[0, at(0), 0, at(7)]);
    dump.instance(0x2_0010, map, &[Held::Int(2), Held::Reference(0x2_0000)]);
    dump.references(0x3_0000, objects, &[text, 0, 0xdead, 0]);
    dump.instance(0x3_0010, list, &[Held::Int(3), Held::Reference(0x3_0000)]);
    dump.instance(0x3_0020, list, &[Held::Int(i32::MAX), Held::Reference(0x3_0000)]);
    dump.instance(0x3_0030, list, &[Held::Int(-1), Held::Reference(0xdead)]);
    for id in [0x2_0010, 0x3_0010, 0x3_0020, 0x3_0030] {
        dump.root(id);
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("made.hprof");
    std::fs::write(&path, dump.finish()).expect("written");
    let path = path.display().to_string();
    let shown = |id: &str| run(&["show", id, &path, "--entries", "-q", "-f", "json", "-n", "3"]).expect_code(0).json();
    let map = shown("0x20010");
    assert_eq!(map["collection"], json!({"entries": CHAIN, "capacity": 4, "collisions": CHAIN - 2}));
    let key = &map["entries"][0]["key"];
    assert_eq!(key["value"], json!("k".repeat(1024)));
    assert_eq!(key["truncated"], json!(true));
    assert_eq!(map["entries"][0]["value"], Value::Null);
    let list = shown("0x30010");
    let keys: Vec<&Value> = list["entries"].as_array().expect("entries").iter().map(|row| &row["key"]).collect();
    assert_eq!(keys, [&json!(0), &json!(1), &json!(2)]);
    assert_eq!(list["entries"][0]["value"]["id"], json!("0x10000"));
    assert_eq!(shown("0x30020")["collection"]["entries"], json!(4));
    assert_eq!(shown("0x30030")["collection"]["entries"], json!(0));
}

/// The module image that the runtime maps: the capacity of the one buffer that is no view, by an independent pass.
#[test]
fn bytes_outside_the_heap_are_those_of_buffers_that_own_them() {
    for (dump, bytes) in
        [("zoo-jdk17-serial", 128_651_445u64), ("zoo-jdk21-serial", 68_579_678), ("zoo-jdk25-coh", 145_959_730)]
    {
        let file = format!("fixtures/hprof/{dump}.hprof.zst");
        let answer = run(&["stats", &file, "--off-heap", "--sort", "off-heap", "-n", "1", "-q", "-f", "json"])
            .expect_code(0)
            .json();
        assert_eq!(answer["totals"]["off_heap_bytes"], json!(bytes), "{dump}");
        assert_eq!(answer["types"][0]["type"], "java.nio.DirectByteBuffer");
        assert_eq!(answer["types"][0]["off_heap_bytes"], json!(bytes));
    }
    let mut dump = JavaDump::new();
    let reference = Held::Reference(0);
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let buffer = dump.class("java.nio.Buffer", object, &[("capacity", Held::Int(0)), ("address", Held::Long(0))], &[]);
    let direct = dump.class("java.nio.DirectByteBuffer", buffer, &[("att", reference), ("cleaner", reference)], &[]);
    let read_only = dump.class("java.nio.DirectByteBufferR", direct, &[], &[]);
    let cleaner = dump.class("jdk.internal.ref.Cleaner", object, &[("thunk", reference)], &[]);
    let deallocator = dump.class("java.nio.DirectByteBuffer$Deallocator", object, &[("address", Held::Long(0))], &[]);
    for (id, address) in [(0x1000, 0), (0x1010, 77)] {
        dump.instance(id, deallocator, &[Held::Long(address)]);
        dump.instance(id + 0x100, cleaner, &[Held::Reference(id)]);
    }
    let mut add = |id: u64, class: u64, [capacity, address, att, cleaner]: [i64; 4]| {
        let [att, cleaner] = [att, cleaner].map(|id| Held::Reference(id as u64));
        dump.instance(id, class, &[att, cleaner, Held::Int(capacity as i32), Held::Long(address)]);
        dump.root(id);
    };
    // Its own; a slice and a copy of it; freed; at no address; damaged.
    for (at, fields) in [
        [4096, 9, 0, 0x1110],
        [100, 9, 0x2000, 0],
        [4096, 9, 0x2000, 0],
        [512, 9, 0, 0x1100],
        [33, 0, 0, 0],
        [-5, 9, 0, 0],
    ]
    .into_iter()
    .enumerate()
    {
        add(0x2000 + 16 * at as u64, if at == 2 { read_only } else { direct }, fields);
    }
    // Many are read in one pass; of two at one address that nothing frees one counts.
    add(0x2100, direct, [1, 100_000, 0, 0]);
    for at in 0..2000 {
        add(0x10_0000 + 16 * at, direct, [1, 100_000 + at as i64, 0, 0]);
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("buffers.hprof");
    std::fs::write(&path, dump.finish()).expect("written");
    let answer = run(&["stats", &path.display().to_string(), "--off-heap", "-q", "-f", "json"]).expect_code(0).json();
    assert_eq!(answer["totals"]["off_heap_bytes"], json!(4096 + 2000));
    assert!(run(&["stats", CHAT, "--off-heap"]).expect_code(2).stderr.contains("outside the heap"));
}

/// Allocations of arenas count at what frees them, as JDK 17 to 21 and later ones name its fields; left-over ones of closed arenas and
/// buffers over segments do not; of the global arena what no other object has. The same in one pass over many objects.
#[test]
fn memory_of_arenas_counts_once() {
    for (with_many, since_22) in [(false, true), (true, true), (false, false)] {
        let mut dump = JavaDump::new();
        let [reference, long] = [Held::Reference(0), Held::Long(0)];
        let object = dump.class("java.lang.Object", 0, &[], &[]);
        let [size_field, address_field, cleanup_class] = match since_22 {
            true => ["val$allocationSize", "val$allocationBase", "jdk.internal.foreign.SegmentFactories$1"],
            false => ["val$alignedSize", "val$buf", "jdk.internal.foreign.NativeMemorySegmentImpl$1"],
        };
        let cleanup = dump.class(cleanup_class, object, &[(address_field, long), (size_field, long)], &[]);
        let unmapping = dump.class("sun.nio.ch.FileChannelImpl$1", object, &[("val$unmapper", reference)], &[]);
        let fields = [("address", long), ("size", long), ("cap", long)];
        let mapping = dump.class("sun.nio.ch.FileChannelImpl$DefaultUnmapper", object, &fields, &[]);
        let session = dump.class("jdk.internal.foreign.GlobalSession", object, &[("ref", reference)], &[]);
        let fields = [("min", long), ("length", long), ("scope", reference)];
        let segment = dump.class("jdk.internal.foreign.NativeMemorySegmentImpl", object, &fields, &[]);
        let fields = [("capacity", Held::Int(0)), ("address", long), ("segment", reference)];
        let buffer = dump.class("java.nio.Buffer", object, &fields, &[]);
        let fields = [("att", reference), ("cleaner", reference)];
        let direct = dump.class("java.nio.DirectByteBuffer", buffer, &fields, &[]);
        // Another class with fields of these names.
        let other = dump.class("shop.Segment", object, &[("val$allocationSize", long), ("length", long)], &[]);
        // An allocation, one of a closed arena, a mapping.
        dump.instance(0x1000, cleanup, &[Held::Long(0x10_0000), Held::Long(1_000_008)]);
        dump.instance(0x1010, cleanup, &[Held::Long(0x90_0000), Held::Long(77)]);
        dump.instance(0x1020, mapping, &[Held::Long(0x80_0000), Held::Long(4096), Held::Long(3000)]);
        dump.instance(0x1030, unmapping, &[Held::Reference(0x1020)]);
        dump.instance(0x1040, other, &[Held::Long(5), Held::Long(6)]);
        // The global arena, and that of the segments of a buffer.
        dump.instance(0x1100, session, &[Held::Reference(0)]);
        dump.instance(0x1110, session, &[Held::Reference(0x1300)]);
        dump.instance(
            0x1300,
            direct,
            &[Held::Reference(0), Held::Reference(0), Held::Int(500), Held::Long(0x70_0000), Held::Reference(0)],
        );
        let view =
            [Held::Reference(0), Held::Reference(0), Held::Int(900), Held::Long(0x40_0000), Held::Reference(0x1200)];
        dump.instance(0x1310, direct, &view);
        for (at, (address, length, scope)) in [
            // 8,000 of which 2,000 are another's; a slice of it; of a buffer; inside of an allocation; no memory; unmeasured.
            (0x40_0000, 8000i64, 0x1100),
            (0x40_0000 + 7000, 3000, 0x1100),
            (0x70_0000, 500, 0x1110),
            (0x10_0000 + 8, 1_000_000, 0x1100),
            (4096, 1 << 40, 0x1100),
            (0x50_0000, i64::MAX, 0x1100),
            (0, 0, 0x1100),
            (-1, -1, 0x1100),
        ]
        .into_iter()
        .enumerate()
        {
            let id = 0x1200 + 16 * at as u64;
            dump.instance(id, segment, &[Held::Long(address), Held::Long(length), Held::Reference(scope)]);
            dump.root(id);
        }
        [0x1000, 0x1030, 0x1040, 0x1300, 0x1310].into_iter().for_each(|id| dump.root(id));
        let many = if with_many { 2000 } else { 0 };
        for at in 0..many {
            let fields = [
                Held::Reference(0),
                Held::Reference(0),
                Held::Int(3),
                Held::Long(0x100_0000 + 16 * at),
                Held::Reference(0),
            ];
            let id = 0x10_0000 + 16 * at as u64;
            dump.instance(id, direct, &fields);
            dump.root(id);
        }
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("arenas.hprof");
        std::fs::write(&path, dump.finish()).expect("written");
        let path = path.display().to_string();
        let answer = run(&["stats", &path, "--off-heap", "-q", "-f", "json"]).expect_code(0).json();
        let rows = answer["types"].as_array().expect("rows");
        let bytes = |class: &str| rows.iter().find(|row| row["type"] == class).map(|row| row["off_heap_bytes"].clone());
        assert_eq!(bytes(cleanup_class), Some(json!(1_000_008)));
        assert_eq!(bytes("sun.nio.ch.FileChannelImpl$1"), Some(json!(3000)));
        assert_eq!(bytes("java.nio.DirectByteBuffer"), Some(json!(500 + 3 * many)));
        assert_eq!(bytes("jdk.internal.foreign.NativeMemorySegmentImpl"), Some(json!(7000 + 3000)));
        assert_eq!(bytes("shop.Segment"), Some(json!(0)));
        let total = 1_000_008 + 3000 + 500 + 3 * many + 10_000;
        assert_eq!(answer["totals"]["off_heap_bytes"], json!(total));
        assert_eq!(run(&["info", &path, "-q", "-f", "json"]).expect_code(0).json()["off_heap_bytes"], json!(total));
    }
}

/// A queue that keeps an entry before the first: numbers of elements from either end, null keys, empty and linked maps.
#[test]
fn queues_and_maps_have_their_elements_in_order() {
    let mut dump = JavaDump::new();
    let reference = Held::Reference(0);
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let string = dump.class("java.lang.String", object, &[("value", reference)], &[]);
    let counter = dump.class("java.util.concurrent.atomic.AtomicInteger", object, &[("value", Held::Int(0))], &[]);
    let fields = [("count", reference), ("head", reference), ("last", reference)];
    let queue = dump.class("java.util.concurrent.LinkedBlockingQueue", object, &fields, &[]);
    let node = dump.class(
        "java.util.concurrent.LinkedBlockingQueue$Node",
        object,
        &[("item", reference), ("next", reference)],
        &[],
    );
    let map = dump.class("java.util.HashMap", object, &[("size", Held::Int(0)), ("table", reference)], &[]);
    let linked = dump.class("java.util.LinkedHashMap", map, &[("head", reference)], &[]);
    let fields = [("head", reference), ("tail", reference)];
    let uncounted = dump.class("java.util.concurrent.ConcurrentLinkedQueue", object, &fields, &[]);
    let fields = [("item", reference), ("next", reference)];
    let uncounted_node = dump.class("java.util.concurrent.ConcurrentLinkedQueue$Node", object, &fields, &[]);
    let fields = [("key", reference), ("value", reference), ("next", reference)];
    let entry = dump.class("java.util.HashMap$Node", object, &fields, &[]);
    let linked_entry = dump.class("java.util.LinkedHashMap$Entry", entry, &[("after", reference)], &[]);
    let array = dump.class("java.util.HashMap$Node[]", object, &[], &[]);
    let refer = Held::Reference;
    for (at, text) in ["a", "b", "c"].into_iter().enumerate() {
        let id = 0x100 + 32 * at as u64;
        dump.instance(id, string, &[refer(id + 16)]);
        dump.primitives(id + 16, 5, 2, &units(text));
    }
    let [a, b, c] = [0x100, 0x120, 0x140];
    dump.instance(0x200, counter, &[Held::Int(3)]);
    dump.instance(0x210, queue, &[refer(0x200), refer(0x220), refer(0x250)]);
    for (id, item) in [(0x220, 0), (0x230, a), (0x240, b), (0x250, c)] {
        dump.instance(id, node, &[refer(item), refer(if id == 0x250 { 0 } else { id + 16 })]);
    }
    // In the order b, null, a, which is not that of the table.
    dump.instance(0x300, linked, &[refer(0x330), Held::Int(3), refer(0x310)]);
    dump.references(0x310, array, &[0x350, 0x330, 0x340, 0]);
    for (id, key, value, after) in [(0x330, b, c, 0x340), (0x340, 0, a, 0x350), (0x350, a, 0, 0)] {
        dump.instance(id, linked_entry, &[refer(after), refer(key), refer(value), refer(0)]);
    }
    dump.instance(0x400, map, &[Held::Int(0), refer(0)]);
    dump.instance(0x410, map, &[Held::Int(1), refer(0x420)]);
    dump.references(0x420, array, &[0x430]);
    dump.instance(0x430, entry, &[refer(0), refer(b), refer(0)]);
    // Its tail is the last but one.
    let order = dump.class("shop.Order", object, &[], &[]);
    dump.instance(0x500, uncounted, &[refer(0x510), refer(0x530)]);
    for (id, item) in [(0x510, 0), (0x520, a), (0x530, b), (0x540, 0x600)] {
        dump.instance(id, uncounted_node, &[refer(item), refer(if id == 0x540 { 0 } else { id + 16 })]);
    }
    dump.instance(0x600, order, &[]);
    [0x210, 0x300, 0x400, 0x410, 0x500].into_iter().for_each(|id| dump.root(id));
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("queues.hprof");
    std::fs::write(&path, dump.finish()).expect("written");
    let path = path.display().to_string();
    let entries = |id: &str| -> Vec<[Value; 2]> {
        let shown = run(&["show", id, &path, "--entries", "-q", "-f", "json"]).expect_code(0).json();
        let rows = shown["entries"].as_array().expect("entries").clone();
        assert_eq!(shown["collection"]["entries"], json!(rows.len()));
        let said = |end: &Value| end.get("value").unwrap_or(end).clone();
        rows.iter().map(|row| [said(&row["key"]), said(&row["value"])]).collect()
    };
    assert_eq!(entries("0x210"), [json!([0, "a"]), json!([1, "b"]), json!([2, "c"])].map(pair));
    assert_eq!(entries("0x300"), [json!(["b", "c"]), json!([null, "a"]), json!(["a", null])].map(pair));
    assert_eq!((entries("0x400"), entries("0x410")), (vec![], vec![pair(json!([null, "b"]))]));
    let sizes =
        run(&["list", &path, "-q", "-f", "json", "--where", "instanceof = 'java.util.HashMap'", "--select", ".size"]);
    let sizes = sizes.expect_code(0).json()["objects"].clone();
    let sizes = sizes.as_array().expect("objects").iter().map(|row| row["fields"][".size"].as_u64());
    assert_eq!(sizes.collect::<Option<Vec<u64>>>().map(|sizes| sizes.iter().sum::<u64>()), Some(4));
    let name = |target: &str, exclude: &str| {
        let args = ["roots", target, &path, "-q", "-f", "json", "--exclude", exclude];
        run(&args).expect_code(0).json()["paths"][0]["nodes"].as_array().expect("nodes").last().expect("one")["reference"].clone()
    };
    // From the last entry, and from the one before the first.
    assert_eq!(
        [name("0x140", "=java.util.LinkedHashMap$Entry"), name("0x100", "=java.util.LinkedHashMap$Entry")],
        [json!("[2]"), json!("[0]")]
    );
    assert_eq!(entries("0x500").len(), 3);
    assert_eq!(name("0x600", "=shop.None"), json!("[2]"));
}

fn pair(both: Value) -> [Value; 2] {
    [both[0].clone(), both[1].clone()]
}

/// Each row of the document's tables is asked; the numbers are those of an independent pass over the dump.
#[test]
fn queries_of_other_tools_are_answered() {
    let text = std::fs::read_to_string(crate::common::cmd::project("docs/coming-from.md")).expect("readable");
    for (title, dump, least) in [
        ("OQL", ZOO, 25),
        ("YourKit and JProfiler", ZOO, 12),
        ("jmap, hprof-analyzer and hprof-slurp", ZOO, 6),
        ("LeakCanary", "fixtures/hprof/android.hprof", 4),
        ("dotnet-dump and SOS", "fixtures/gcdump/small-net9.gcdump.zst", 8),
    ] {
        let section = text.split(&format!("\n## {title}\n")).nth(1).and_then(|text| text.split("\n## ").next());
        ask_queries_of(section.expect(title), dump, least);
    }
}

fn ask_queries_of(section: &str, dump: &str, least: usize) {
    let rows: Vec<Vec<&str>> = section
        .lines()
        .filter(|line| line.contains("| `heapdump "))
        .map(|line| line.split(" | ").map(|cell| cell.trim_matches([' ', '|', '`'])).collect())
        .collect();
    assert!(rows.len() >= least, "{}", rows.len());
    for row in rows {
        let [query, command, expected] = row[..] else { panic!("three cells: {row:?}") };
        let words = shlex::split(command).expect("words");
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let answer = run(&[&words[..], &[dump, "-q", "-f", "json"]].concat()).expect_code(0).json();
        let rows = |key: &str| answer[key].as_array().cloned().unwrap_or_default();
        let groups = [rows("types"), rows("groups")].concat();
        let sum = |key: &str, path: &str| -> Option<u64> {
            let value = |row: &Value| if path.is_empty() { row[key].as_u64() } else { row[key][path].as_u64() };
            groups.iter().map(value).sum()
        };
        let number = match words[0] {
            "list" => answer["found"].as_u64(),
            "strings" => rows("strings").iter().map(|row| row["copies"].as_u64()).sum(),
            "stats" if words.contains(&"--sum") => sum("sum", ".size"),
            "stats" if words.contains(&"--max") => sum("max", ".threshold"),
            "stats" => sum("objects", ""),
            _ => None,
        };
        let number = number.filter(|_| expected != "-").map_or("-".to_string(), |number| number.to_string());
        assert_eq!(number, expected.replace(',', ""), "{query}");
    }
}

/// Maps in maps, lists, sets and arrays, and what they say of themselves.
#[test]
fn sizes_and_elements_of_collections_are_fields() {
    let selected = |class: &str, paths: &str, n: &str| -> Vec<Value> {
        let args = ["list", ZOO, "-q", "-f", "json", "-n", n, "--type", class, "--select", paths];
        run(&args).expect_code(0).json()["objects"].as_array().expect("objects").clone()
    };
    // Of each collection as many as its entries are.
    for class in
        ["=java.util.HashSet", "=java.util.ImmutableCollections$ListN", "=java.util.concurrent.ConcurrentHashMap"]
    {
        for row in selected(class, ".size,.length", "5") {
            let shown = run(&["show", row["id"].as_str().expect("an id"), ZOO, "--entries", "-q", "-f", "json"]);
            let entries = &shown.expect_code(0).json()["collection"]["entries"];
            assert_eq!([&row["fields"][".size"], &row["fields"][".length"]], [entries; 2], "{row}");
        }
    }
    let texts = run(&[
        "list",
        ZOO,
        "-q",
        "-f",
        "json",
        "-n",
        "50",
        "--type",
        "=java.lang.String",
        "--select",
        ".length",
        "--values",
    ]);
    for row in texts.expect_code(0).json()["objects"].as_array().expect("objects") {
        let text = row["value"].as_str().expect("a text");
        assert!(
            row["truncated"] == json!(true) || row["fields"][".length"] == json!(text.encode_utf16().count()),
            "{row}"
        );
    }
    // Sums are those of the list; groups too.
    let sets = selected("=java.util.HashSet", ".size", "0");
    let sizes: Vec<u64> = sets.iter().map(|row| row["fields"][".size"].as_u64().expect("a size")).collect();
    let row = rows(&["stats", ZOO, "--type", "=java.util.HashSet", "--sum", ".size"]).remove(0);
    assert_eq!((&row["sum"][".size"], &row["nulls"][".size"]), (&json!(sizes.iter().sum::<u64>()), &json!(0)));
    let by_size = rows(&["stats", ZOO, "--type", "=java.util.HashSet", "--by", ".size"]);
    let ones = by_size.iter().find(|row| row["group"] == "1").expect("a row");
    assert_eq!(ones["objects"], json!(sizes.iter().filter(|size| **size == 1).count()));
    let large = run(&["list", ZOO, "-q", "-f", "json", "--type", "=java.util.HashSet", "--where", ".size >= 10"]);
    assert_eq!(large.expect_code(0).json()["found"], json!(sizes.iter().filter(|size| **size >= 10).count()));
    // Elements by their keys.
    let properties = run(&["info", ZOO, "--properties", "--secrets", "-q", "-f", "json"]).expect_code(0).json();
    let path = ".map[\"java.home\"]";
    let found = selected("=java.util.Properties", path, "0");
    let homes: Vec<&Value> = found.iter().map(|row| &row["fields"][path]).filter(|home| home.is_string()).collect();
    assert_eq!(homes, [&properties["properties"]["java.home"]]);
    let asked = run(&["list", ZOO, "-q", "--ids", "--where", ".map[\"java.home\"].size > 5"]).expect_code(0).stdout;
    assert_eq!(asked.lines().count(), 1, "{asked}");
    let wrong = run(&["list", ZOO, "--select", ".map[]"]).expect_code(2).stderr;
    assert!(wrong.contains("a key in quotes or a number is expected behind ["), "{wrong}");
}

/// A map of orders by number in a holder: its elements are one step of a path.
#[test]
fn paths_tell_elements_by_their_keys() {
    let mut dump = JavaDump::new();
    let reference = Held::Reference(0);
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let string = dump.class("java.lang.String", object, &[("value", reference)], &[]);
    let map = dump.class("java.util.HashMap", object, &[("size", Held::Int(0)), ("table", reference)], &[]);
    let set = dump.class("java.util.HashSet", object, &[("map", reference)], &[]);
    let fields = [("key", reference), ("value", reference), ("next", reference)];
    let node = dump.class("java.util.HashMap$Node", object, &fields, &[]);
    let array = dump.class("java.util.HashMap$Node[]", object, &[], &[]);
    let list = dump.class("java.util.ArrayList", object, &[("size", Held::Int(0)), ("elementData", reference)], &[]);
    let objects = dump.class("java.lang.Object[]", object, &[], &[]);
    let order = dump.class("shop.Order", object, &[("lines", reference)], &[]);
    let store = dump.class("shop.Store", object, &[("orders", reference)], &[]);
    dump.instance(0x100, string, &[Held::Reference(0x110)]);
    dump.primitives(0x110, 5, 2, &units("abc \"1\""));
    // store -> map -> table -> node -> node -> order -> list -> array -> order -> set -> map ... -> order
    dump.instance(0x200, store, &[Held::Reference(0x210)]);
    dump.instance(0x210, map, &[Held::Int(2), Held::Reference(0x220)]);
    dump.references(0x220, array, &[0, 0x230]);
    dump.instance(0x230, node, &[Held::Reference(0), Held::Reference(0), Held::Reference(0x240)]);
    dump.instance(0x240, node, &[Held::Reference(0x100), Held::Reference(0x250), Held::Reference(0)]);
    dump.instance(0x250, order, &[Held::Reference(0x260)]);
    dump.instance(0x260, list, &[Held::Int(3), Held::Reference(0x270)]);
    dump.references(0x270, objects, &[0, 0, 0x280, 0]);
    dump.instance(0x280, order, &[Held::Reference(0x290)]);
    dump.instance(0x290, set, &[Held::Reference(0x2a0)]);
    dump.instance(0x2a0, map, &[Held::Int(1), Held::Reference(0x2b0)]);
    dump.references(0x2b0, array, &[0x2c0]);
    dump.instance(0x2c0, node, &[Held::Reference(0x2d0), Held::Reference(0x999), Held::Reference(0)]);
    dump.instance(0x2d0, order, &[Held::Reference(0)]);
    dump.root(0x200);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("made.hprof");
    std::fs::write(&path, dump.finish()).expect("written");
    let path = path.display().to_string();
    let answer = run(&["roots", "0x2d0", &path, "-q", "-f", "json"]).expect_code(0).json();
    let nodes = answer["paths"][0]["nodes"].as_array().expect("nodes").clone();
    // No step is left out of JSON.
    assert_eq!((nodes.len(), &answer["paths"][0]["length"]), (14, &json!(13)));
    let of = |id: &str| nodes.iter().find(|node| node["id"] == id).expect("a node").clone();
    let entry = of("0x250");
    assert_eq!(entry["reference"], json!("[\"abc \\\"1\\\"\"]"));
    assert_eq!(entry["via"], json!(["java.util.HashMap$Node[]", "java.util.HashMap$Node", "java.util.HashMap$Node"]));
    assert_eq!((&of("0x280")["reference"], &of("0x280")["via"]), (&json!("[2]"), &json!(["java.lang.Object[]"])));
    assert_eq!(of("0x2d0")["reference"], json!("[shop.Order 0x2d0]"));
    assert_eq!(of("0x2d0")["via"].as_array().map(Vec::len), Some(3));
    assert_eq!((&of("0x210")["reference"], &of("0x210")["via"]), (&json!(".orders"), &Value::Null));
    let drawn = run(&["roots", "0x2d0", &path, "-q", "--pretty"]).expect_code(0).stdout;
    assert!(drawn.contains("[\"abc \\\"1\\\"\"]") && !drawn.contains("HashMap$Node"), "{drawn}");
    let all = run(&["roots", "0x2d0", &path, "-q", "--pretty", "--all-steps"]).expect_code(0).stdout;
    assert!(all.contains("HashMap$Node"), "{all}");
    // Merged: of the orders in the map, in the list and in the set, and to one of them.
    let merged = |words: &[&str]| run(&[&["roots", &path, "-q", "-p"], words].concat()).expect_code(0).stdout;
    let rows = |drawn: &str| -> Vec<String> {
        let last = |line: &str| line.rsplit("→ ").next().unwrap_or_default().to_string();
        drawn.lines().skip(4).map(last).collect()
    };
    let expected = [
        ".orders  java.util.HashMap",
        "[*]  shop.Order",
        ".lines  java.util.ArrayList",
        "[*]  shop.Order",
        ".lines  java.util.HashSet",
        "[*]  shop.Order",
    ];
    let drawn = merged(&["--type", "=shop.Order"]);
    assert_eq!(rows(&drawn), expected, "{drawn}");
    let of_one = run(&["roots", "0x2d0", &path, "-q", "-p", "--merge"]).expect_code(0).stdout;
    assert_eq!(of_one.matches("[*]").count(), 3, "{of_one}");
    assert!(merged(&["--type", "=shop.Order", "--all-steps"]).contains(".table  java.util.HashMap$Node[]"));
    // A path that ends inside a collection, and one to a key of a map, are told whole; so is all in JSON.
    assert!(merged(&["--type", "java.util.HashMap$Node"]).contains(".next  java.util.HashMap$Node"));
    let of_key = merged(&["--type", "=java.lang.String"]);
    assert!(
        of_key.contains(".key  java.lang.String") && of_key.contains(".table  java.util.HashMap$Node[]"),
        "{of_key}"
    );
    let tree = run(&["roots", &path, "-q", "-f", "json", "--type", "=shop.Order"]).expect_code(0).stdout;
    assert!(tree.contains("HashMap$Node[]"), "{tree}");
    // The same way as a path of fields.
    let selected = [".orders[\"abc \"\"1\"\"\"].lines[2].lines.size", ".orders.size", ".orders[x].lines"];
    let args = ["list", &path, "-q", "-f", "json", "--type", "=shop.Store", "--select", &selected.join(",")];
    let fields = run(&args).expect_code(0).json()["objects"][0]["fields"].clone();
    assert_eq!(selected.map(|path| fields[path].clone()), [json!(1), json!(2), Value::Null]);
}

#[test]
fn objects_are_data() {
    let mut dump = JavaDump::new();
    let reference = Held::Reference(0);
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let string = dump.class("java.lang.String", object, &[("value", reference)], &[]);
    let integer = dump.class("java.lang.Integer", object, &[("value", Held::Int(0))], &[]);
    let map = dump.class("java.util.HashMap", object, &[("size", Held::Int(0)), ("table", reference)], &[]);
    let fields = [("key", reference), ("value", reference), ("next", reference)];
    let node = dump.class("java.util.HashMap$Node", object, &fields, &[]);
    let array = dump.class("java.util.HashMap$Node[]", object, &[], &[]);
    let list = dump.class("java.util.ArrayList", object, &[("size", Held::Int(0)), ("elementData", reference)], &[]);
    let objects = dump.class("java.lang.Object[]", object, &[], &[]);
    let date = dump.class(
        "java.time.LocalDate",
        object,
        &[("year", Held::Int(0)), ("month", Held::Int(0)), ("day", Held::Int(0))],
        &[],
    );
    let own = [
        ("name", reference),
        ("ratio", Held::Double(0.0)),
        ("parts", reference),
        ("next", reference),
        ("day", reference),
    ];
    let thing = dump.class("shop.Thing", object, &own, &[]);
    let text = |dump: &mut JavaDump, id: u64, units: &[u8]| {
        dump.instance(id, string, &[Held::Reference(id + 8)]);
        dump.primitives(id + 8, 5, 2, units);
    };
    text(&mut dump, 0x100, &units("a \u{1F600}"));
    text(&mut dump, 0x120, &[0xD8, 0x00]);
    text(&mut dump, 0x140, &units(&"k".repeat(1 << 20)));
    dump.instance(0x160, integer, &[Held::Int(-7)]);
    dump.instance(0x170, date, &[Held::Int(2026), Held::Int(11), Held::Int(26)]);
    let mut add = |id: u64, [name, parts, next, day]: [u64; 4], ratio: f64| {
        let [name, parts, next, day] = [name, parts, next, day].map(Held::Reference);
        dump.instance(id, thing, &[name, Held::Double(ratio), parts, next, day]);
    };
    // In a circle; keys of a text, a number and half a character.
    add(0x200, [0x100, 0x300, 0x210, 0x170], f64::NAN);
    add(0x210, [0x120, 0x400, 0x200, 0xdead], 0.5);
    // A chain of 10,000.
    for at in 0..10_000u64 {
        add(0x10_0000 + 16 * at, [0, 0, 0x10_0000 + 16 * (at + 1), 0], 1.0);
    }
    dump.instance(0x300, list, &[Held::Int(4), Held::Reference(0x310)]);
    dump.references(0x310, objects, &[0x100, 0, 0x160, 0x300]);
    dump.instance(0x400, map, &[Held::Int(3), Held::Reference(0x410)]);
    dump.references(0x410, array, &[0x420, 0x430, 0x440]);
    for (id, key, value) in [(0x420, 0x100, 0x160), (0x430, 0x160, 0), (0x440, 0x140, 0x200)] {
        dump.instance(id, node, &[key, value, 0].map(Held::Reference));
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("made.hprof");
    std::fs::write(&path, dump.finish()).expect("written");
    let path = path.display().to_string();
    let data = |id: &str, more: &[&str]| {
        run(&[&["show", id, &path, "-q", "-f", "json"], more].concat()).expect_code(0).json()["json"].clone()
    };
    let stub = |id: &str, class: &str| json!({"@type": class, "@id": id});
    assert_eq!(
        data("0x200", &["--deep", "0"]),
        json!({"@type": "shop.Thing", "@id": "0x200", "name": "a \u{1F600}", "ratio": "NaN",
            "parts": stub("0x300", "java.util.ArrayList"), "next": stub("0x210", "shop.Thing"), "day": "2026-11-26"})
    );
    let deep = data("0x200", &["--deep", "3", "--deep-bytes", "4MiB"]);
    assert_eq!(deep["parts"], json!(["a \u{1F600}", null, -7, {"@ref": "0x300"}]));
    assert_eq!(deep["next"]["next"], json!({"@ref": "0x200"}));
    assert_eq!((&deep["next"]["name"], &deep["next"]["day"]), (&json!("\u{FFFD}"), &json!({"@ref": "0xdead"})));
    // A key that is longer than what is read of all is no name.
    let entries = deep["next"]["parts"].as_array().expect("entries");
    assert_eq!(entries[..2], [json!({"key": "a \u{1F600}", "value": -7}), json!({"key": -7, "value": null})]);
    assert_eq!(entries[2], json!({"key": "k".repeat(1 << 20), "value": {"@ref": "0x200"}}));
    // 1 MiB of texts, and what was told before took some of it.
    let cut = data("0x200", &["--deep", "3"]);
    let key = &cut["next"]["parts"][2]["key"];
    assert!(key["@more"].as_u64().is_some_and(|more| more > 0 && more < 200), "{}", key["@more"]);
    assert_eq!(cut["next"]["@more"], json!(2));
    // So many levels, then a stub; never a stack that overflows.
    let mut chain = &data("0x100000", &["--deep", "32"]);
    let mut levels = 0;
    while chain["next"].is_object() {
        (chain, levels) = (&chain["next"], levels + 1);
    }
    assert_eq!((levels, chain.as_object().map(|stub| stub.len())), (33, Some(2)));
    assert_eq!(data("0x200", &["--deep", "3", "--deep-values", "3"])["@more"], json!(3));
    let lines =
        run(&["list", &path, "-q", "-f", "jsonl", "--type", "=java.time.LocalDate", "--deep", "0"]).expect_code(0);
    let lines: Vec<Value> = lines.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((lines.len(), &lines[0]["json"]), (1, &json!("2026-11-26")));
    assert!(run(&["show", "0x200", &path, "--deep", "1"]).expect_code(2).stderr.contains("add -f json"));
    run(&["show", "0x200", &path, "-f", "json", "--deep", "33"]).expect_code(2);
}

#[test]
fn bytes_outside_the_heap_are_facts_of_a_file() {
    let answer = run(&["info", ZOO, "-q", "-f", "json"]).expect_code(0).json();
    assert_eq!(answer["off_heap_bytes"], json!(128_651_445));
    assert!(run(&["info", CHAT, "-q", "-f", "json"]).expect_code(0).json().get("off_heap_bytes").is_none());
}

/// Each side of a diff, and each dump of a trend, has what `stats` says of it.
#[test]
fn diffs_and_trends_are_grouped_as_histograms() {
    const SHOPS: [&str; 2] = ["fixtures/hprof/shop-old.hprof.zst", "fixtures/hprof/shop-new.hprof.zst"];
    for by in [".number", ".size", "owner", "owner=package", "loader", "package", "superclass"] {
        // Objects and bytes by group; the program's own and what goes to them.
        let of_file = |file: &&str| -> BTreeMap<String, [u64; 2]> {
            let number = |row: &Value, key: &str| row[key].as_u64().unwrap_or(0);
            let sum = |row: &Value, own: &str, charged: &str| number(row, own) + number(row, charged);
            let group = |row: &Value| {
                let amounts = [sum(row, "objects", "charged_objects"), sum(row, "shallow_bytes", "charged_bytes")];
                (row["group"].as_str().expect("a name").to_string(), amounts)
            };
            rows(&["stats", file, "--by", by]).iter().map(group).filter(|(_, amounts)| amounts[0] > 0).collect()
        };
        let expected: Vec<BTreeMap<String, [u64; 2]>> = SHOPS.iter().map(of_file).collect();
        let trend = run(&["trend", SHOPS[0], SHOPS[1], "--by", by, "--all", "--min-growth", "0", "-q", "-f", "json"]);
        for row in trend.expect_code(0).json()["groups"].as_array().expect("groups") {
            let name = row["group"].as_str().expect("a name");
            let of_dump = |place: usize| expected[place].get(name).copied().unwrap_or_default();
            let found = [0, 1]
                .map(|place| [&row["objects"][place], &row["bytes"][place]].map(|one| one.as_u64().expect("a number")));
            assert_eq!(found, [of_dump(0), of_dump(1)], "{by} {name}");
        }
        if by == "owner=package" {
            continue;
        }
        let diff = run(&["diff", SHOPS[0], SHOPS[1], "--by", by, "--all", "-q", "-f", "json"]).expect_code(0).json();
        let groups = diff["groups"].as_array().expect("groups");
        let names: std::collections::BTreeSet<&String> = expected.iter().flat_map(BTreeMap::keys).collect();
        assert_eq!(groups.len(), names.len(), "{by}");
        for row in groups {
            let name = row["group"].as_str().expect("a name");
            let of_dump = |place: usize| expected[place].get(name).copied().unwrap_or_default();
            let found = [["objects_old", "shallow_bytes_old"], ["objects_new", "shallow_bytes_new"]]
                .map(|keys| keys.map(|key| row[key].as_u64().expect("a number")));
            assert_eq!(found, [of_dump(0), of_dump(1)], "{by} {name}");
        }
    }
    // In so many hours as lie between the times of the two.
    let trend = run(&["trend", SHOPS[0], SHOPS[1], "--by", ".size", "-q", "-f", "json"]).expect_code(0).json();
    for row in trend["groups"].as_array().expect("groups").iter().chain([&trend["total"]]) {
        let grown = row["growth_bytes"].as_f64().expect("a number");
        assert_eq!(row["bytes_per_hour"].as_f64(), Some((grown * 3600.0 / 1.283).round()), "{row}");
    }
    let histogram = "fixtures/sos_dumpheap/core3.txt";
    for question in [&["--sum", ".size"][..], &["--off-heap"], &["--by", ".size"]] {
        run(&[&["stats", histogram], question].concat()).expect_code(2);
    }
}
