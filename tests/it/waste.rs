//! What could be smaller: the known figures of the zoo program, and each formula on a dump that is made for it.

use std::path::Path;

use serde_json::Value;

use crate::common::cmd::{project, run};
use crate::common::synth_java::Held::{Byte, Int, Long, Reference};
use crate::common::synth_java::JavaDump;

const ZOOS: [&str; 5] = ["jdk11-serial", "jdk17-serial", "jdk17-zgc", "jdk21-serial", "jdk25-coh"];

fn zoo(name: &str) -> String {
    project("fixtures/hprof").join(format!("zoo-{name}.hprof.zst")).display().to_string()
}

fn waste(file: &str, options: &[&str]) -> Value {
    run(&[&["waste", file, "-q", "-f", "json"], options].concat()).expect_code(0).json()
}

fn kind<'v>(answer: &'v Value, name: &str) -> &'v Value {
    let kinds = answer["kinds"].as_array().expect("kinds");
    kinds.iter().find(|kind| kind["kind"] == name).unwrap_or_else(|| panic!("{name} in {kinds:?}"))
}

/// The rows of a kind that a field holds: (type, objects, wasted bytes).
fn held<'v>(answer: &'v Value, name: &str, reference: &str) -> Vec<(&'v str, u64, u64)> {
    let rows = kind(answer, name)["rows"].as_array().expect("rows").iter();
    let rows = rows.filter(|row| row["reference"] == reference);
    let figures = |row: &'v Value| {
        (row["type"].as_str().unwrap(), row["objects"].as_u64().unwrap(), row["wasted_bytes"].as_u64().unwrap())
    };
    rows.map(figures).collect()
}

#[test]
fn the_zoo_wastes_what_its_program_says() {
    for name in ZOOS {
        let answer = waste(&zoo(name), &[]);
        let mut empty = held(&answer, "empty-collections", "static Zoo.emptyCollections");
        empty.sort_unstable();
        let empty: Vec<(&str, u64)> = empty.iter().map(|row| (row.0, row.1)).collect();
        assert_eq!(empty, [("java.util.ArrayList", 60), ("java.util.HashMap", 30)], "{name}");
        let reference = if name == "jdk17-zgc" { 8 } else { 4 };
        let lists = held(&answer, "sparse-collections", "static Zoo.sparseLists");
        assert_eq!(lists, [("java.util.ArrayList", 20, 20 * 99 * reference)], "{name}");
        // 256 or 512 slots for one entry each.
        let maps = held(&answer, "sparse-collections", "static Zoo.sparseMaps");
        assert_eq!((maps[0].0, maps[0].1, maps.len()), ("java.util.HashMap", 20, 1), "{name}");
        assert!([20 * 255, 20 * 511].contains(&(maps[0].2 / reference)), "{name}: {maps:?}");
        let arrays = held(&answer, "sparse-arrays", "static Zoo.halfEmptyArray");
        assert_eq!(arrays, [("java.lang.Object[]", 1, 990 * reference)], "{name}");
        let mut boxes = held(&answer, "boxed-numbers", "static Zoo.boxed");
        boxes.sort_unstable();
        let boxes: Vec<(&str, u64)> = boxes.iter().map(|row| (row.0, row.1)).collect();
        assert_eq!(boxes, [("java.lang.Integer", 200), ("java.lang.Long", 200)], "{name}");
        let strings = kind(&answer, "duplicate-strings");
        let duplicates = run(&["strings", &zoo(name), "--duplicates", "-q", "-f", "json"]).json();
        assert_eq!(strings["wasted_bytes"], duplicates["totals"]["wasted_bytes"], "{name}");
        let colliding = kind(&answer, "colliding-maps");
        assert_eq!((&colliding["wasted_bytes"], colliding["objects"].as_u64() >= Some(1)), (&0.into(), true), "{name}");
        assert!(!held(&answer, "colliding-maps", "static Zoo.collisions").is_empty(), "{name}");
    }
}

#[test]
fn sums_agree_and_kinds_can_be_asked_for_one_by_one() {
    for name in ZOOS {
        let answer = waste(&zoo(name), &[]);
        let kinds = answer["kinds"].as_array().unwrap();
        assert_eq!(kinds.len(), 9);
        let number = |value: &Value| value.as_u64().unwrap();
        assert_eq!(
            kinds.iter().map(|kind| number(&kind["wasted_bytes"])).sum::<u64>(),
            number(&answer["totals"]["wasted_bytes"])
        );
        let share = answer["totals"]["share"].as_f64().unwrap();
        let heap = number(&answer["totals"]["heap_bytes"]) as f64;
        assert!((share * heap - number(&answer["totals"]["wasted_bytes"]) as f64).abs() < 1.0);
        let stats = run(&["stats", &zoo(name), "-q", "-f", "json", "-n", "1"]).json();
        assert_eq!(answer["totals"]["heap_bytes"], stats["totals"]["shallow_bytes"]);
        assert!(kinds.windows(2).all(|pair| number(&pair[0]["wasted_bytes"]) >= number(&pair[1]["wasted_bytes"])));
        for one in kinds {
            let rows = one["rows"].as_array().unwrap();
            assert_eq!(rows.iter().map(|row| number(&row["objects"])).sum::<u64>(), number(&one["objects"]));
            assert_eq!(rows.iter().map(|row| number(&row["wasted_bytes"])).sum::<u64>(), number(&one["wasted_bytes"]));
        }
        let one = waste(&zoo(name), &["--kind", "boxed-numbers"]);
        assert_eq!(one["kinds"].as_array().unwrap().len(), 1);
        assert_eq!(kind(&one, "boxed-numbers"), kind(&answer, "boxed-numbers"));
    }
}

#[test]
fn limits_fail_when_more_is_wasted() {
    let file = zoo("jdk17-serial");
    run(&["waste", &file, "-q", "--fail-over", "100%"]).expect_code(0);
    let over = run(&["waste", &file, "-q", "--fail-over", "1KiB"]).expect_code(1);
    assert!(over.stderr.contains("is wasted, over the limit of 1.0 KiB"), "{}", over.stderr);
    run(&["waste", &file, "-q", "--fail-over", "0.1%"]).expect_code(1);
    run(&["waste", &file, "-q", "--fail-over", "1KiB", "--kind", "huge-collections"]).expect_code(0);
    run(&["waste", &file, "--fail-over", "much"]).expect_code(2);
    run(&["waste", &file, "--kind", "memes"]).expect_code(2);
}

const OBJECT_ARRAY: &str = "[Ljava/lang/Object;";

struct Made {
    dump: JavaDump,
    array: u64,
    next: u64,
    held: Vec<u64>,
}

/// A dump with a static variable `app.App.held`, an array of what is put in.
impl Made {
    fn new() -> Self {
        let mut dump = JavaDump::new();
        dump.class("java.lang.Class", 0, &[], &[]);
        dump.class("app.App", 0, &[], &[("held", Reference(0x8000))]);
        let array = dump.class(OBJECT_ARRAY, 0, &[], &[]);
        Made { dump, array, next: 0x1_0000, held: Vec::new() }
    }

    fn id(&mut self) -> u64 {
        self.next += 0x1000;
        self.next
    }

    fn held(&mut self) -> u64 {
        let id = self.id();
        self.held.push(id);
        id
    }

    /// A table of so many slots with so many references to one object.
    fn table(&mut self, slots: usize, used: usize) -> u64 {
        let id = self.id();
        let elements: Vec<u64> = (0..slots).map(|slot| if slot < used { 0x8000 } else { 0 }).collect();
        self.dump.references(id, self.array, &elements);
        id
    }

    fn finish(mut self, folder: &Path) -> String {
        self.dump.references(0x8000, self.array, &self.held);
        let path = folder.join("made.hprof");
        std::fs::write(&path, self.dump.finish()).expect("written");
        path.display().to_string()
    }
}

fn shallow(file: &str, id: u64) -> u64 {
    let shown = run(&["show", &format!("{id:#x}"), file, "-q", "-f", "json"]).expect_code(0).json();
    shown["object"]["shallow_bytes"].as_u64().unwrap()
}

#[test]
fn arrays_count_once_for_the_first_kind_that_takes_them() {
    let directory = tempfile::tempdir().unwrap();
    let mut made = Made::new();
    let string = made.dump.class("java.lang.String", 0, &[("value", Reference(0)), ("coder", Byte(0))], &[]);
    let (equal, again, other, zero, zero_again, empty, chars) =
        (made.held(), made.held(), made.held(), made.held(), made.held(), made.held(), made.id());
    made.dump.primitives(equal, 10, 4, &[0, 0, 0, 1, 0, 0, 0, 2]);
    made.dump.primitives(again, 10, 4, &[0, 0, 0, 1, 0, 0, 0, 2]);
    // The same bytes in another type.
    made.dump.primitives(other, 11, 8, &[0, 0, 0, 1, 0, 0, 0, 2]);
    made.dump.primitives(zero, 10, 4, &[0; 400]);
    made.dump.primitives(zero_again, 10, 4, &[0; 400]);
    made.dump.primitives(empty, 10, 4, &[]);
    made.dump.primitives(chars, 8, 1, b"text");
    let bytes = made.held();
    // An array of a string, and one like it that is none.
    made.dump.primitives(bytes, 8, 1, b"text");
    let text = made.held();
    made.dump.instance(text, string, &[Reference(chars), Byte(0)]);
    let file = made.finish(directory.path());
    let answer = waste(&file, &[]);
    let by_app = "static App.held";
    assert_eq!(held(&answer, "duplicate-arrays", by_app), [("int[]", 2, shallow(&file, again))]);
    assert_eq!(held(&answer, "zero-arrays", by_app), [("int[]", 2, 2 * shallow(&file, zero))]);
    assert_eq!(kind(&answer, "duplicate-arrays")["objects"], 2);
    assert_eq!(kind(&answer, "zero-arrays")["objects"], 2);
    assert_eq!(kind(&answer, "duplicate-strings")["objects"], 0);
    assert_eq!(kind(&answer, "duplicate-arrays")["rows"][0]["example"], format!("{again:#x}"));
    assert_eq!(kind(&answer, "duplicate-arrays")["rows"][0]["holder"], "app.App");
}

#[test]
fn collections_are_measured_by_their_fields() {
    let directory = tempfile::tempdir().unwrap();
    let mut made = Made::new();
    let list_fields = [("elementData", Reference(0)), ("size", Int(0))];
    let list = made.dump.class("java.util.ArrayList", 0, &list_fields, &[]);
    let sub = made.dump.class("app.Names", list, &[("size", Int(0))], &[]);
    let map = made.dump.class("java.util.HashMap", 0, &[("table", Reference(0)), ("size", Int(0))], &[]);
    let set = made.dump.class("java.util.HashSet", 0, &[("map", Reference(0))], &[]);
    let cell = made.dump.class("java.util.concurrent.ConcurrentHashMap$CounterCell", 0, &[("value", Long(0))], &[]);
    let fields = [("table", Reference(0)), ("baseCount", Long(0)), ("counterCells", Reference(0))];
    let concurrent = made.dump.class("java.util.concurrent.ConcurrentHashMap", 0, &fields, &[]);
    let count = made.dump.class("java.util.concurrent.atomic.AtomicInteger", 0, &[("value", Int(0))], &[]);
    let queue = made.dump.class("java.util.concurrent.LinkedBlockingQueue", 0, &[("count", Reference(0))], &[]);
    let ring = made.dump.class("app.Ring", 0, &[("slots", Reference(0)), ("head", Int(0)), ("tail", Int(0))], &[]);
    // Scala 2.13 and 2.11 name the same fields in two ways.
    let fields = [("scala$collection$mutable$HashMap$$table", Reference(0)), ("contentSize", Int(0))];
    let scala_map = made.dump.class("scala.collection.mutable.HashMap", 0, &fields, &[]);
    let fields = [("table", Reference(0)), ("tableSize", Int(0))];
    let scala_set = made.dump.class("scala.collection.mutable.HashSet", 0, &fields, &[]);
    let add = |made: &mut Made, class: u64, values: &[crate::common::synth_java::Held]| {
        let id = made.held();
        made.dump.instance(id, class, values);
        id
    };
    // Empty: with a table of its own, with one that two share, without one.
    let (own, shared) = (made.table(10, 0), made.table(8, 0));
    let empty = add(&mut made, list, &[Reference(own), Int(0)]);
    add(&mut made, list, &[Reference(shared), Int(0)]);
    add(&mut made, list, &[Reference(shared), Int(0)]);
    add(&mut made, list, &[Reference(0), Int(0)]);
    // A subclass has a field of the same name; the list's counts.
    let table = made.table(64, 16);
    add(&mut made, sub, &[Int(0), Reference(table), Int(16)]);
    // One too many to be sparse; a table that is too small.
    let (table, small) = (made.table(64, 17), made.table(15, 1));
    add(&mut made, list, &[Reference(table), Int(17)]);
    add(&mut made, list, &[Reference(small), Int(1)]);
    // A set counts, its map does not.
    let (inner, table) = (made.id(), made.table(16, 1));
    made.dump.instance(inner, map, &[Reference(table), Int(1)]);
    add(&mut made, set, &[Reference(inner)]);
    let inner = made.id();
    made.dump.instance(inner, map, &[Reference(0), Int(0)]);
    let empty_set = add(&mut made, set, &[Reference(inner)]);
    // 40 entries in 10 buckets, and in 11.
    for used in [10, 11] {
        let table = made.table(64, used);
        add(&mut made, map, &[Reference(table), Int(40)]);
    }
    // 3 + 2 * 4 entries.
    let cells = made.id();
    let (first, second) = (made.id(), made.id());
    made.dump.instance(first, cell, &[Long(4)]);
    made.dump.instance(second, cell, &[Long(4)]);
    let class = made.array;
    made.dump.references(cells, class, &[first, 0, second]);
    let table = made.table(64, 11);
    add(&mut made, concurrent, &[Reference(table), Long(3), Reference(cells)]);
    let counter = made.id();
    made.dump.instance(counter, count, &[Int(0)]);
    add(&mut made, queue, &[Reference(counter)]);
    let table = made.table(32, 3);
    add(&mut made, ring, &[Reference(table), Int(5), Int(8)]);
    for (class, slots) in [(scala_map, 256), (scala_set, 128)] {
        let table = made.table(slots, 1);
        add(&mut made, class, &[Reference(table), Int(1)]);
    }
    let file = made.finish(directory.path());

    // Nothing lies closer to another array than references of 8 bytes allow.
    let reference = 8;
    let answer = waste(&file, &[]);
    let by_app = "static App.held";
    let bytes = 4 * shallow(&file, empty) + shallow(&file, own);
    let mut empties = held(&answer, "empty-collections", by_app);
    empties.sort_unstable();
    let set_bytes = shallow(&file, empty_set) + shallow(&file, inner);
    assert_eq!(empties[0], ("java.util.ArrayList", 4, bytes));
    assert_eq!(empties[1], ("java.util.HashSet", 1, set_bytes));
    assert_eq!((empties[2].0, empties[2].1, empties.len()), ("java.util.concurrent.LinkedBlockingQueue", 1, 3));
    let mut sparse = held(&answer, "sparse-collections", by_app);
    sparse.sort_unstable();
    let expected = [
        ("app.Names", 1, 48 * reference),
        ("java.util.HashSet", 1, 15 * reference),
        ("java.util.concurrent.ConcurrentHashMap", 1, 53 * reference),
        ("scala.collection.mutable.HashMap", 1, 255 * reference),
        ("scala.collection.mutable.HashSet", 1, 127 * reference),
    ];
    assert_eq!(sparse, expected);
    assert_eq!(held(&answer, "colliding-maps", by_app), [("java.util.HashMap", 1, 0)]);
    // Tables of collections are no sparse arrays; that of the ring is one as long as nobody says what it is.
    assert_eq!(held(&answer, "sparse-arrays", ".slots"), [("java.lang.Object[]", 1, 29 * reference)]);

    let table = directory.path().join("more.txt");
    std::fs::write(&table, "# ours\napp.Ring size=tail-head table=slots\n").expect("written");
    let answer = waste(&file, &["--collections", &table.display().to_string()]);
    assert_eq!(held(&answer, "sparse-arrays", ".slots"), []);
    assert!(held(&answer, "sparse-collections", by_app).contains(&("app.Ring", 1, 29 * reference)));
    std::fs::write(&table, "app.Ring size=count\napp.Ring slots=size\n").expect("written");
    let bad = run(&["waste", &file, "--collections", &table.display().to_string()]).expect_code(2);
    assert!(bad.stderr.contains("line 2: \"slots\" is none of size, table, in, per, map, inner"), "{}", bad.stderr);
}

#[test]
fn huge_collections_are_a_hundredth_of_the_heap() {
    let directory = tempfile::tempdir().unwrap();
    let mut made = Made::new();
    let list = made.dump.class("java.util.LinkedList", 0, &[("size", Int(0))], &[]);
    let plain = made.dump.class("app.Plain", 0, &[], &[]);
    for size in [9, 10] {
        let id = made.held();
        made.dump.instance(id, list, &[Int(size)]);
    }
    // With the classes and the array 1,000 objects.
    for _ in 0..1000 - 2 - 1 - 5 {
        let id = made.held();
        made.dump.instance(id, plain, &[]);
    }
    let file = made.finish(directory.path());
    assert_eq!(run(&["stats", &file, "-q", "-f", "json"]).json()["totals"]["objects"], 1000);
    assert_eq!(held(&waste(&file, &[]), "huge-collections", "static App.held"), [("java.util.LinkedList", 1, 0)]);
}

#[test]
fn formats_without_values_tell_what_the_graph_does_and_say_what_they_do_not_tell() {
    let ran = run(&["waste", "fixtures/nettrace/small-net9.nettrace.zst", "-f", "json"]).expect_code(0);
    let answer = ran.json();
    assert_eq!(answer["untold_kinds"].as_array().unwrap().len(), 7);
    let kinds: Vec<&str> =
        answer["kinds"].as_array().unwrap().iter().map(|kind| kind["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.len(), 4, "{kinds:?}");
    assert!(ran.stderr.contains("duplicate-strings"), "{}", ran.stderr);
    run(&["waste", "fixtures/memory_infra/seed-example.trace"]).expect_code(2);
}

/// Sizes and counts by another way: rows of `list`.
#[test]
fn arrays_are_judged_by_size_and_references_where_there_are_no_values() {
    let file = "fixtures/nettrace/small-net9.nettrace.zst";
    let listed = run(&["list", file, "-n", "0", "-f", "json", "-q"]).json();
    let rows: Vec<(&str, u64, u64)> = listed["objects"]
        .as_array()
        .expect("objects")
        .iter()
        .map(|row| {
            let number = |key: &str| row[key].as_u64().unwrap();
            (row["type"].as_str().unwrap(), number("shallow_bytes"), number("references"))
        })
        .collect();
    let answer = waste(file, &[]);
    let figures = |name: &str| {
        let kind = kind(&answer, name);
        (kind["objects"].as_u64().unwrap(), kind["wasted_bytes"].as_u64().unwrap())
    };

    let empty: Vec<&str> = rows.iter().filter(|row| row.0.ends_with(']') && row.1 == 24).map(|row| row.0).collect();
    let types = empty.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert!(empty.len() > types);
    assert_eq!(figures("empty-arrays"), (empty.len() as u64, (empty.len() - types) as u64 * 24));

    let nulls = |row: &&(&str, u64, u64)| (row.1.saturating_sub(24) / 8).saturating_sub(row.2);
    let is_sparse = |row: &&(&str, u64, u64)| row.1 >= 24 + 16 * 8 && 4 * nulls(row) >= 3 * ((row.1 - 24) / 8);
    let objects = rows.iter().filter(|row| row.0 == "System.Object[]").filter(is_sparse);
    let (count, bytes) = objects.fold((0, 0), |sum, row| (sum.0 + 1, sum.1 + 8 * nulls(&row)));
    assert!(count > 0);
    let sparse = kind(&answer, "sparse-arrays")["rows"].as_array().unwrap();
    let sparse: Vec<&Value> = sparse.iter().filter(|row| row["type"] == "System.Object[]").collect();
    let sum = |key: &str| sparse.iter().map(|row| row[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("objects"), sum("wasted_bytes")), (count, bytes));
}

#[test]
fn many_arrays_of_one_size_are_told() {
    let file = "fixtures/ibm_classic/small.native.txt.gz";
    let listed = run(&["list", file, "-n", "0", "-f", "json", "-q"]).json();
    let rows = listed["objects"].as_array().expect("objects");
    let figures = |row: &'_ Value| (row["type"].as_str().unwrap().to_string(), row["shallow_bytes"].as_u64().unwrap());
    let heap: u64 = rows.iter().map(|row| figures(row).1).sum();
    let mut sizes = std::collections::BTreeMap::new();
    for row in rows.iter().map(figures).filter(|row| row.0.ends_with(']')) {
        *sizes.entry(row).or_insert(0) += 1;
    }
    sizes.retain(|(_, bytes), count: &mut u64| *count >= 16 && *count * bytes * 100 >= heap);
    let mut told = std::collections::BTreeMap::new();
    for row in kind(&waste(file, &[]), "same-size-arrays")["rows"].as_array().unwrap() {
        let key = (row["type"].as_str().unwrap().to_string(), row["bytes_each"].as_u64().unwrap());
        *told.entry(key).or_insert(0) += row["objects"].as_u64().unwrap();
    }
    assert_eq!(told, sizes);
    assert!(!told.is_empty());
}

#[test]
fn nulls_are_not_told_of_where_objects_are_missing() {
    let cut = waste("fixtures/ibm_classic/seed-asprinted.txt", &[]);
    assert!(cut["untold_kinds"].as_array().unwrap().contains(&"sparse-arrays".into()));
    let whole = waste("fixtures/ibm_classic/small.native.txt.gz", &[]);
    assert!(!whole["untold_kinds"].as_array().unwrap().contains(&"sparse-arrays".into()));
    // Asked for by name, sizes are told of dumps with values too.
    let zoo = waste(&zoo("jdk17-serial"), &["--kind", "same-size-arrays"]);
    assert!(!kind(&zoo, "same-size-arrays")["rows"].as_array().unwrap().is_empty());
}
