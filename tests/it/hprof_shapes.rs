//! Java heap dumps of odd shapes: stacks that many threads share, long chains of classes (what is wrong takes minutes, or
//! more memory than it is given); records of one id; class objects among the others.

use std::path::Path;

use crate::common::cmd::{Ran, run};
use crate::common::synth_java::{Held, JavaDump, units};

fn saved(dump: JavaDump, folder: &Path) -> String {
    let file = folder.join("dump.hprof");
    std::fs::write(&file, dump.finish()).expect("written");
    file.display().to_string()
}

/// Runs a command on a dump with a limit of memory.
fn within(limit: &str, words: &str, file: &str) -> Ran {
    let words: Vec<&str> = words.split(' ').chain(["--max-memory", limit, file]).collect();
    run(&words).expect_code(0)
}

const THREADS: usize = 6000;

/// Threads that share a stack of as many frames; the first has two objects in its second frame and one in its fourth.
fn threads_of_one_stack() -> JavaDump {
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let thread = dump.class("java.lang.Thread", object, &[], &[]);
    let methods: Vec<String> = (0..THREADS).map(|number| format!("call{number}")).collect();
    dump.trace(1, &methods.iter().map(String::as_str).collect::<Vec<_>>());
    for number in 0..THREADS {
        dump.instance(0x1000 + 16 * number as u64, thread, &[]);
        dump.thread(0x1000 + 16 * number as u64, number as u32, 1);
    }
    for (number, frame) in [(0, 1), (1, 1), (2, 3), (3, 99_999)] {
        dump.instance(0x10 + 16 * number, object, &[]);
        dump.local(0x10 + 16 * number, 0, frame);
    }
    dump
}

#[test]
fn threads_share_the_frames_of_one_stack() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = saved(threads_of_one_stack(), folder.path());
    for words in ["stats", "info", "roots 10", "threads"] {
        within("100MiB", words, &file);
    }
    let json = within("100MiB", "threads --sort locals -n 2 -f json", &file).json();
    let threads = json["threads"].as_array().expect("an array");
    let locals = |thread: usize, frame: usize| {
        let locals = threads[thread]["frames"][frame]["locals"].as_array().expect("an array");
        locals.iter().map(|local| local["id"].as_str().expect("an id").to_string()).collect::<Vec<_>>()
    };
    for thread in threads {
        let frames = thread["frames"].as_array().expect("an array");
        assert_eq!(frames.len(), THREADS);
        assert!(frames.iter().enumerate().all(|(at, frame)| frame["method"] == format!("call{at}").as_str()));
    }
    assert_eq!([1, 2, 3].map(|frame| locals(0, frame)), [vec!["0x10", "0x20"], vec![], vec!["0x30"]]);
    assert!((0..THREADS).all(|frame| locals(1, frame).is_empty()));
    assert_eq!(threads[0]["locals"][0]["id"], "0x40");

    // One row for each object, and for a frame without.
    let table = within("100MiB", "threads 0x1000 -f csv", &file).stdout;
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|row| row.split(',').collect()).collect();
    let row = |at: usize| (rows[at][1], rows[at][2], rows[at][5]);
    assert_eq!(rows.len(), THREADS + 2);
    let expected = [("0", "call0", ""), ("1", "call1", "0x10"), ("1", "call1", "0x20"), ("2", "call2", "")];
    assert_eq!([0, 1, 2, 3].map(row), expected);
    assert_eq!([4, 5].map(row), [("3", "call3", "0x30"), ("4", "call4", "")]);
    assert_eq!(row(THREADS + 1), ("", "", "0x40"));

    let index = within("100MiB", "index", &file);
    assert!(Path::new(&format!("{file}.hdx")).exists(), "{}", index.stderr);
    assert_eq!(within("100MiB", "threads --sort locals -n 2 -f json", &file).json()["threads"], json["threads"]);
    let dump = within("100MiB", "threads --sort locals -n 1 -f jstack", &file).stdout;
    assert_eq!(dump.lines().filter(|line| line.starts_with("\tat call")).count(), THREADS);
}

const CLASSES: usize = 20_000;

/// A chain of classes, each derived from the one before (or after), with an instance of every thousandth.
fn chain_of_classes(last_first: bool) -> JavaDump {
    let mut dump = JavaDump::new();
    let mut superclass = dump.class("java.lang.Object", 0, &[], &[]);
    let fields = [("size", Held::Int(0)), ("table", Held::Reference(0))];
    superclass = dump.class("java.util.HashMap", superclass, &fields, &[]);
    let mut chain = vec![superclass];
    for number in 0..CLASSES {
        // Classes have ids in the order in which they are made.
        let above =
            if last_first { superclass + 0x100 * (2 + number as u64) } else { superclass + 0x100 * number as u64 };
        let is_top = last_first && number + 1 == CLASSES;
        chain.push(dump.class(&format!("C{number}"), if is_top { superclass } else { above }, &[], &[]));
    }
    for (number, &class) in chain.iter().enumerate().skip(1).step_by(1000) {
        let values = [Held::Int(5), Held::Reference(0x10 + 16 * number as u64)];
        dump.instance(0x10 + 16 * number as u64, class, &values);
        dump.root(0x10 + 16 * number as u64);
    }
    dump
}

#[test]
fn a_long_chain_of_classes_is_read_once() {
    for last_first in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = saved(chain_of_classes(last_first), folder.path());
        let words = ["stats", "stats --shallow", "stats --rules mat", "info", "waste", "strings", "threads --lenient"];
        for words in words {
            run(&words.split(' ').chain([file.as_str()]).collect::<Vec<_>>());
        }
        let found = run(&["list", "--where", ".size = 5", "--select", ".size,.table", "-f", "csv", "-n", "0", &file]);
        assert_eq!(found.expect_code(0).stdout.lines().count(), 1 + CLASSES.div_ceil(1000));
        let shown = run(&["show", "0x20", &file]).expect_code(0).stdout;
        assert!(shown.contains("table") && shown.contains("size"), "{shown}");
    }
}

/// Loaded classes are held by their objects, system classes are roots: what refers to a class is no object of it.
#[test]
fn objects_are_no_referrers_of_their_class() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let loaded = dump.loaded_class("app.Held", object, 0x500, &[("other", Held::Reference(0))]);
    dump.instance(0x500, object, &[]);
    for id in [0x10, 0x20, 0x30] {
        // The last refers to its class by a field too.
        dump.instance(id, loaded, &[Held::Reference(if id == 0x30 { loaded } else { 0 })]);
        dump.root(id);
    }
    let file = saved(dump, folder.path());
    let count = |id: u64| {
        let row = run(&["referrers", &format!("{id:#x}"), "-f", "json", &file]).expect_code(0).json();
        row["referrers"]
            .as_array()
            .expect("an array")
            .iter()
            .map(|row| row["references"].as_u64().unwrap())
            .sum::<u64>()
    };
    // Of java.lang.Object: the class derived from it.
    assert_eq!((count(object), count(loaded)), (1, 1));
    let shown = run(&["show", &format!("{loaded:#x}"), "-f", "json", &file]).expect_code(0).json();
    let of_class: Vec<&str> =
        shown["referrers"].as_array().expect("an array").iter().map(|row| row["id"].as_str().expect("an id")).collect();
    assert_eq!(of_class, ["0x30"]);
    let listed = |expression: &str| run(&["list", "--where", expression, "-f", "csv", &file]);
    assert!(listed("referrers = 1").expect_code(0).stdout.contains(&format!("{loaded:#x}")));
    listed("referrers > 1").expect_code(1);
}

#[test]
fn weak_referrers_of_a_class_of_one_object_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let reference = dump.class("java.lang.ref.Reference", object, &[("referent", Held::Reference(0))], &[]);
    let weak = dump.class("java.lang.ref.WeakReference", reference, &[], &[]);
    dump.instance(0x500, object, &[]);
    let loaded = dump.loaded_class("app.Single", object, 0x500, &[]);
    dump.instance(0x60, loaded, &[]);
    dump.instance(0x70, weak, &[Held::Reference(loaded)]);
    [0x60, 0x70].into_iter().for_each(|id| dump.root(id));
    let file = saved(dump, folder.path());
    let shown = run(&["show", &format!("{loaded:#x}"), "-f", "json", &file]).expect_code(0).json();
    let row = |row: &serde_json::Value| (row["id"].clone(), row["reference"].clone());
    let rows: Vec<_> = shown["referrers"].as_array().expect("an array").iter().map(row).collect();
    assert_eq!(rows, [("0x70".into(), ".referent".into())]);
}

#[test]
fn texts_behind_an_array_that_is_listed_again_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let string = dump.class("java.lang.String", object, &[("value", Held::Reference(0))], &[]);
    let texts: Vec<String> = (0..9).map(|number| format!("text {number}")).collect();
    for (number, text) in (0..).zip(&texts) {
        let (array, holder) = (0x1000 + 0x100 * number, 0x8000 + 0x100 * number);
        for _ in 0..=(number % 3) {
            dump.primitives(array, 5, 2, &units(text));
        }
        dump.instance(holder, string, &[Held::Reference(array)]);
        dump.root(holder);
    }
    let file = saved(dump, folder.path());
    let rows = run(&["strings", "-f", "json", &file]).expect_code(0).json();
    let rows = rows["strings"].as_array().expect("an array").clone();
    let mut found: Vec<&str> = rows.iter().map(|row| row["text"].as_str().expect("a text")).collect();
    found.sort_unstable();
    assert_eq!(found, texts);
}

#[test]
fn a_dump_without_threads_has_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    dump.instance(0x10, object, &[]);
    let file = saved(dump, folder.path());
    let ran = run(&["threads", "-f", "json", &file]).expect_code(1);
    assert_eq!(ran.json()["threads"], serde_json::json!([]));
    assert!(ran.stderr.contains("does not say which threads there were"), "{}", ran.stderr);
    run(&["threads", "main", &file]).expect_code(1);
    run(&["report", "-o", "-", &file]).expect_code(0);
}

/// `HashSet.iterator` makes the map keep a view of its keys, which refers to the map.
#[test]
fn an_empty_set_that_was_iterated_is_wasted_with_its_map_and_view() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let reference = Held::Reference(0);
    let view = dump.class("java.util.HashMap$KeySet", object, &[("this$0", reference)], &[]);
    let fields = [("keySet", reference), ("table", reference), ("size", Held::Int(0))];
    let map = dump.class("java.util.HashMap", object, &fields, &[]);
    let set = dump.class("java.util.HashSet", object, &[("map", reference)], &[]);
    dump.instance(0x100, set, &[Held::Reference(0x110)]);
    dump.instance(0x110, map, &[Held::Reference(0x120), reference, Held::Int(0)]);
    dump.instance(0x120, view, &[Held::Reference(0x110)]);
    dump.root(0x100);
    let file = saved(dump, folder.path());
    let bytes =
        |id: &str| run(&["show", id, "-f", "json", &file]).expect_code(0).json()["object"]["shallow_bytes"].as_u64();
    let parts: u64 = ["0x100", "0x110", "0x120"].iter().map(|id| bytes(id).expect("bytes")).sum();
    let waste = run(&["waste", "--kind", "empty-collections", "-f", "json", &file]).json();
    assert_eq!(waste["totals"]["wasted_bytes"], parts);
}

/// Some writers list an object twice; the first record counts.
#[test]
fn objects_listed_again_waste_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let wasted = |times: usize| {
        let mut dump = JavaDump::new();
        let object = dump.class("java.lang.Object", 0, &[], &[]);
        let array = dump.class("java.lang.Object[]", object, &[], &[]);
        let fields = [("elementData", Held::Reference(0)), ("size", Held::Int(0))];
        let list = dump.class("java.util.ArrayList", object, &fields, &[]);
        for _ in 0..times {
            dump.references(0x1000, array, &[0; 100]);
            dump.instance(0x2000, list, &[Held::Reference(0), Held::Int(0)]);
            dump.references(0x3000, array, &[0; 40]);
            dump.instance(0x4000, list, &[Held::Reference(0x3000), Held::Int(2)]);
        }
        [0x1000, 0x2000, 0x4000].into_iter().for_each(|id| dump.root(id));
        let file = saved(dump, folder.path());
        let info = run(&["info", "-f", "json", &file]).expect_code(0).json();
        let nulls = info["sections"][0]["null_references"].as_u64().expect("a number");
        (run(&["waste", "-f", "json", &file]).expect_code(0).json(), nulls)
    };
    let once = wasted(1);
    assert_eq!(once.1, 100 + 1 + 40);
    assert_eq!(wasted(3), once);
}

/// Of records of one id the first says what the object is, whichever thread reads it, with its class before it or behind.
#[test]
fn of_records_of_one_id_the_first_says_what_it_is() {
    const OBJECTS: u64 = 3000;
    let folder = tempfile::tempdir().expect("a folder");
    for seed in 0..6 {
        let mut dump = JavaDump::new();
        let object = dump.class("java.lang.Object", 0, &[], &[]);
        let fields = [("value", Held::Reference(0)), ("coder", Held::Byte(0))];
        let string = dump.class("java.lang.String", object, &fields, &[]);
        let array = dump.class("java.lang.Object[]", object, &[], &[]);
        let counter = dump.class("app.Counter", object, &[("count", Held::Int(0))], &[]);
        let class = dump.class("java.lang.Class", object, &[("name", Held::Reference(0))], &[]);
        for later in [false, true] {
            for number in 0..OBJECTS {
                let [holder, characters, list, count] = [1, 2, 3, 4].map(|place| place * 0x10_0000 + 0x100 * number);
                let text = if later { "ab of all".to_string() } else { format!("text {number}") };
                dump.primitives(characters, 8, 1, text.as_bytes());
                dump.instance(holder, string, &[Held::Reference(characters), Held::Byte(later.into())]);
                // Half empty, then full.
                let full = [holder; 100];
                dump.references(list, array, if later { &full } else { &[0; 100] });
                dump.instance(count, counter, &[Held::Int(if later { 7 } else { number as i32 + 1000 })]);
                if !later {
                    [holder, list, count].into_iter().for_each(|id| dump.root(id));
                }
            }
            // A primitive's class, which has no class dump.
            dump.instance(0x50_0000, class, &[Held::Reference(if later { 0x20_0100 } else { 0x10_0000 })]);
        }
        dump.root(0x50_0000);
        let mut numbers = Numbers(seed);
        let bytes = if seed == 0 { dump.finish() } else { dump.finish_scattered(|bound| numbers.below(bound)) };
        let file = folder.path().join("dump.hprof").display().to_string();
        std::fs::write(&file, bytes).expect("written");
        let json = |words: &[&str]| run(&[words, &["-f", "json", "-n", "0", &file]].concat()).expect_code(0).json();
        let texts = json(&["strings"])["strings"].clone();
        assert_eq!(texts.as_array().expect("an array").len(), OBJECTS as usize);
        let is_first = |row: &serde_json::Value| row["text"].as_str().expect("a text").starts_with("text ");
        assert!(texts.as_array().expect("an array").iter().all(is_first), "{texts}");
        assert_eq!(json(&["strings", "--duplicates"])["strings"], serde_json::json!([]));
        let waste = run(&["waste", "-f", "json", &file]).expect_code(0).json();
        let kinds = waste["kinds"].as_array().expect("an array");
        let objects = |kind: &str| kinds.iter().find(|row| row["kind"] == kind).expect("a kind")["objects"].clone();
        assert_eq!((objects("sparse-arrays"), objects("duplicate-strings")), (OBJECTS.into(), 0.into()), "{waste}");
        let counted = json(&["list", "-t", "app.Counter", "--where", ".count >= 1000", "--select", ".count"]);
        assert_eq!(counted["objects"].as_array().expect("an array").len(), OBJECTS as usize);
        let shown = json(&["show", "0x400000"]).to_string();
        assert!(shown.contains("1000"), "{shown}");
        let named = run(&["show", "0x500000", "-f", "json", &file]).expect_code(0).json().to_string();
        assert!(named.contains("0x100000") && !named.contains("0x200100"), "{named}");
    }
}

/// An object of a class with a field that only the virtual machine sees takes as much in a small heap as in a large one,
/// however many of them there are, though most arrays have a class object behind them, whose record is elsewhere.
#[test]
fn classes_with_hidden_fields_have_one_size_in_small_and_large_heaps() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes_of = |more_arrays: u64, instances: u64| {
        let mut dump = JavaDump::new();
        let object = dump.class("java.lang.Object", 0, &[], &[]);
        let hidden = dump.class("java.lang.Module", object, &[("name", Held::Reference(0))], &[]);
        let seen = dump.class("java.lang.Seen", object, &[("name", Held::Reference(0))], &[]);
        let classes: Vec<u64> = (0..150).map(|number| dump.class(&format!("C{number}"), object, &[], &[])).collect();
        // In the order of the heap: instances with an array behind them, arrays with a class object behind them.
        for number in 0..instances {
            dump.instance(0x1000 + 0x80 * number, hidden, &[Held::Reference(0)]);
            dump.primitives(0x1018 + 0x80 * number, 8, 1, &[1; 24]);
            dump.instance(0x1040 + 0x80 * number, seen, &[Held::Reference(0)]);
            dump.primitives(0x1050 + 0x80 * number, 8, 1, &[1; 32]);
        }
        for number in 0..more_arrays {
            dump.primitives(0x10_0000 + 24 * number, 8, 1, &[1; 8]);
        }
        for class in &classes {
            dump.primitives(class - 24, 8, 1, &[1; 8]);
        }
        (0..instances).for_each(|number| dump.root(0x1000 + 0x80 * number));
        let file = saved(dump, folder.path());
        let info = run(&["info", "-f", "json", &file]).expect_code(0).json();
        assert_eq!(info["sizes"], "object header 12, references 4, alignment 8: measured");
        let sizes = ["--retained", "--shallow"].map(|how| {
            let types = run(&["stats", how, "-n", "0", "-f", "json", &file]).expect_code(0).json();
            let types = types["types"].as_array().expect("an array").clone();
            let bytes = |name: &str| {
                let row = types.iter().find(|row| row["type"] == name).expect("a row");
                row["shallow_bytes"].as_u64().expect("a number") / row["objects"].as_u64().expect("a number")
            };
            (bytes("java.lang.Module"), bytes("java.lang.Seen"))
        });
        assert_eq!(sizes[0], sizes[1], "{more_arrays} {instances}");
        sizes[0]
    };
    for (more_arrays, instances) in [(0, 6), (5000, 6), (0, 1), (5000, 1)] {
        assert_eq!(bytes_of(more_arrays, instances), (24, 16), "{more_arrays} {instances}");
    }
}

/// One pass over the references tells which arrays of JNI globals nothing refers to, however many there are.
#[test]
fn arrays_of_many_jni_globals_share_one_look_at_the_references() {
    const ARRAYS: u64 = 20_000;
    let folder = tempfile::tempdir().expect("a folder");
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let fields: Vec<(&str, Held)> = (0..20).map(|_| ("field", Held::Reference(0))).collect();
    dump.class("java.lang.Class", object, &fields, &[]);
    let arrays = dump.class("[Ljava.lang.Object;", object, &[], &[]);
    dump.instance(0x1000, object, &[]);
    for number in 0..ARRAYS {
        // A class that is not listed, and an object many times.
        let mut elements = [0x1000; 50];
        elements[0] = 0x10_0000 + 112 * number;
        dump.references(0x1000_0000 + 0x1008 * number, arrays, &elements);
        dump.jni_global(0x1000_0000 + 0x1008 * number);
    }
    dump.instance(0x10_0000 + 112 * ARRAYS, object, &[]);
    let info = run(&["info", "-f", "json", &saved(dump, folder.path())]).expect_code(0).json();
    let problem = &info["problems"][0];
    assert_eq!((&problem["code"], &problem["count"]), (&"archived-mirror".into(), &ARRAYS.into()), "{info}");
    assert_eq!(info["sections"][0]["references"].as_u64().map(|count| count > 49 * ARRAYS), Some(true), "{info}");
}

/// A gap behind the only instance of a class looks like fields that only the virtual machine sees, where there are such gaps.
#[test]
fn a_gap_behind_a_single_object_is_no_hidden_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes_of = |gap: u64, instances: u64| {
        let mut dump = JavaDump::new();
        let object = dump.class("java.lang.Object", 0, &[], &[]);
        let one = dump.class("java.lang.One", object, &[("name", Held::Reference(0))], &[]);
        // Behind one array in fifty there is a gap.
        for number in 0..1000 {
            dump.primitives(0x1000 + 24 * number + gap * (number / 50), 8, 1, &[1; 8]);
        }
        for number in 0..instances {
            dump.instance(0x10_0000 + 0x80 * number, one, &[Held::Reference(0)]);
            dump.primitives(0x10_0018 + 0x80 * number, 8, 1, &[1; 88]);
        }
        let file = saved(dump, folder.path());
        let info = run(&["info", "-f", "json", &file]).expect_code(0).json();
        assert_eq!(info["sizes"], "object header 12, references 4, alignment 8: measured");
        let rows = run(&["list", "-t", "java.lang.One", "-f", "json", &file]).expect_code(0).json();
        rows["objects"][0]["shallow_bytes"].as_u64().expect("a number")
    };
    for (gap, instances, expected) in [(0, 1, 24), (8, 1, 16), (48, 1, 16), (112, 1, 24), (48, 2, 24)] {
        assert_eq!(bytes_of(gap, instances), expected, "gaps of {gap}, {instances}");
    }
}

/// A class that has the id of an instance lies at no distance from it: sizes are measured all the same.
#[test]
fn a_class_with_the_id_of_an_instance_is_not_its_neighbour() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let seen = dump.class("java.lang.Seen", object, &[("name", Held::Reference(0))], &[]);
    let other = dump.class("app.Other", object, &[], &[]);
    for number in 0..200 {
        dump.primitives(0x1000 + 24 * number, 8, 1, &[1; 8]);
    }
    for id in (0..10).map(|number| 0x10_0000 + 40 * number).chain([other]) {
        dump.instance(id, seen, &[Held::Reference(0)]);
        dump.primitives(id + 16, 8, 1, &[1; 8]);
    }
    let info = run(&["info", "-f", "json", &saved(dump, folder.path())]).expect_code(0).json();
    assert_eq!(info["sizes"], "object header 12, references 4, alignment 8: measured");
}

#[test]
fn a_circle_of_classes_is_cut_once_and_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut dump = JavaDump::new();
    let first = dump.class("java.lang.Object", 0, &[], &[]) + 0x100;
    for number in 0..CLASSES as u64 {
        let superclass = first + 0x100 * ((number + 1) % CLASSES as u64);
        dump.class(&format!("C{number}"), superclass, &[], &[]);
    }
    let file = saved(dump, folder.path());
    let warned = run(&["stats", &file]).expect_code(0).stderr;
    assert!(warned.contains(&format!("{CLASSES} times")) && warned.contains("their own superclasses"), "{warned}");
}

/// Numbers from a seed, each below a bound.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A class as the definition has it.
struct Class {
    id: u64,
    name: String,
    superclass: Option<usize>,
    fields: Vec<Held>,
}

/// The fields of an instance: the class's own first, then those of its superclass.
fn fields_of(classes: &[Class], class: usize) -> Vec<Held> {
    let chain = std::iter::successors(Some(class), |&class| classes[class].superclass);
    chain.flat_map(|class| classes[class].fields.iter().copied()).collect()
}

/// Shallow bytes where nothing could be measured: a header of 16 for the topmost class, then class by class up to a
/// multiple of 8.
fn bytes_of(classes: &[Class], class: usize) -> u64 {
    let width = |held: &Held| match held {
        Held::Reference(_) | Held::Long(_) | Held::Double(_) => 8,
        Held::Int(_) => 4,
        Held::Boolean(_) | Held::Byte(_) => 1,
    };
    match classes[class].superclass {
        None => 16,
        Some(above) => {
            let own: u64 = classes[class].fields.iter().map(width).sum();
            (bytes_of(classes, above) + own).next_multiple_of(8)
        }
    }
}

/// Chains of classes, some of one name under two loaders, records of one id that come again, threads that share stacks:
/// what is read is what the records say, and of several with one id the first.
fn check_random_dump(seed: u64) {
    let mut numbers = Numbers(seed);
    let mut dump = JavaDump::new();
    let mut classes: Vec<Class> = Vec::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    classes.push(Class { id: object, name: "java.lang.Object".into(), superclass: None, fields: Vec::new() });
    for number in 0..1 + numbers.below(200) {
        // Mostly one long chain.
        let above = if numbers.below(8) == 0 { numbers.below(number + 1) } else { number } as usize;
        let kinds = [Held::Reference(0), Held::Reference(0), Held::Byte(1), Held::Int(2), Held::Long(3)];
        let fields: Vec<Held> = (0..numbers.below(4)).map(|_| kinds[numbers.below(5) as usize]).collect();
        let named: Vec<(&str, Held)> = fields.iter().map(|&held| ("field", held)).collect();
        let name = format!("app.C{}", if numbers.below(6) == 0 { number / 2 } else { number });
        let id = match numbers.below(3) {
            0 => dump.class(&name, classes[above].id, &named, &[]),
            loader => dump.loaded_class(&name, classes[above].id, 8 + 8 * loader, &named),
        };
        classes.push(Class { id, name, superclass: Some(above), fields });
    }
    let thread = dump.class("java.lang.Thread", object, &[], &[]);
    classes.push(Class { id: thread, name: "java.lang.Thread".into(), superclass: Some(0), fields: Vec::new() });

    // The loaders, threads, and others.
    let objects = 2 + numbers.below(60);
    let mut first: std::collections::BTreeMap<u64, (usize, Vec<u64>)> = std::collections::BTreeMap::new();
    let mut null_references = 0;
    let mut write = |dump: &mut JavaDump, numbers: &mut Numbers, id: u64, class: usize| {
        let mut references = Vec::new();
        let values: Vec<Held> = fields_of(&classes, class)
            .into_iter()
            .map(|held| match held {
                Held::Reference(_) => {
                    // Null, an object, or a class.
                    let target = match numbers.below(8) {
                        0 => classes[numbers.below(classes.len() as u64) as usize].id,
                        target => (0x10 + 8 * numbers.below(objects)) * u64::from(target > 2),
                    };
                    references.extend((target != 0).then_some(target));
                    Held::Reference(target)
                }
                held => held,
            })
            .collect();
        dump.instance(id, classes[class].id, &values);
        dump.root(id);
        let nulls = fields_of(&classes, class).iter().filter(|held| matches!(held, Held::Reference(_))).count();
        let nulls_of_record = nulls - references.len();
        if let std::collections::btree_map::Entry::Vacant(place) = first.entry(id) {
            place.insert((class, references));
            null_references += nulls_of_record as u64;
        }
    };
    for number in 0..objects {
        let class = numbers.below(classes.len() as u64 - 1) as usize;
        write(&mut dump, &mut numbers, 0x10 + 8 * number, class);
    }
    for _ in 0..numbers.below(20) {
        let (id, class) = (0x10 + 8 * numbers.below(objects), numbers.below(classes.len() as u64 - 1) as usize);
        write(&mut dump, &mut numbers, id, class);
    }
    let traces: Vec<Vec<String>> = (0..1 + numbers.below(4))
        .map(|trace| (0..numbers.below(30)).map(|frame| format!("method{}", frame * (trace + 1) % 7)).collect())
        .collect();
    for (serial, trace) in (1..).zip(&traces) {
        dump.trace(serial, &trace.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let mut stacks = Vec::new();
    for serial in 0..numbers.below(12) {
        let trace = numbers.below(traces.len() as u64) as usize;
        let id = 0x10_0000 + 0x10 * serial;
        write(&mut dump, &mut numbers, id, classes.len() - 1);
        dump.thread(id, serial as u32, trace as u32 + 1);
        stacks.push((id, trace));
    }

    let bytes = match numbers.below(4) {
        0 => dump.finish(),
        1 => dump.finish_objects_first(),
        _ => dump.finish_scattered(|bound| numbers.below(bound)),
    };
    let (graph, _) = crate::common::graph(&bytes);
    assert_eq!(graph.node_count(), first.len() + classes.len());
    assert_eq!(graph.sections()[0].null_references, null_references);
    for (&id, (class, references)) in &first {
        let node = graph.node_of_id(id).expect("in the dump");
        assert_eq!(graph.type_name(graph.type_of(node)), classes[*class].name, "{id:#x}");
        assert_eq!(graph.shallow_bytes(node), bytes_of(&classes, *class), "{id:#x}");
        let found: Vec<u64> = graph.references(node).map(|reference| graph.original_id(reference.node)).collect();
        let expected: Vec<u64> = references.iter().copied().chain([classes[*class].id]).collect();
        assert_eq!(found, expected, "{id:#x}");
    }
    for (class, id) in classes.iter().map(|class| class.id).enumerate() {
        let node = graph.node_of_id(id).expect("in the dump");
        let type_id = graph.types().type_of_class_object(node).expect("a class");
        let fields = graph.types().instance_fields(type_id).count();
        assert_eq!(fields, fields_of(&classes, class).len());
        let mut referrers: Vec<u64> = graph.referrers(node).map(|from| graph.original_id(from.node)).collect();
        referrers.retain(|&from| first.contains_key(&from));
        let refer =
            |(&from, of): (&u64, &(usize, Vec<u64>))| of.1.iter().filter(|&&to| to == id).map(move |_| from).collect();
        let expected: Vec<Vec<u64>> = first.iter().map(refer).collect();
        assert_eq!(referrers, expected.concat(), "referrers of {id:#x}");
    }
    let used: std::collections::BTreeSet<usize> = stacks.iter().map(|stack| stack.1).collect();
    assert_eq!(
        graph.frames().len(),
        used.iter().map(|&trace| traces[trace].len()).sum::<usize>(),
        "once for each trace"
    );
    assert_eq!(graph.threads().len(), stacks.len());
    for (thread, (id, trace)) in graph.threads().iter().zip(stacks) {
        assert_eq!(thread.node, graph.node_of_id(id));
        let methods: Vec<&str> = graph.frames_of(thread).iter().map(|frame| graph.types().text(frame.method)).collect();
        assert_eq!(methods, traces[trace]);
    }
}

proptest::proptest! {
    #[test]
    fn random_dumps_are_what_their_records_say(seed in proptest::prelude::any::<u64>()) {
        check_random_dump(seed);
    }
}
