//! `export --to parquet`: the tables hold what the other commands say, files are whole or not there, and the questions of
//! `docs/fleet.md` are asked in real engines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use parquet::basic::{Compression, Encoding, Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Value, json};

use crate::common::cmd::{finish, heapdump, project, run, run_with_input};

/// A dump of each kind: with several sections, modules, generations, class objects, inferred roots, dependent handles.
const GRAPHS: [&str; 8] = [
    "fixtures/xna_cf/pair_after.txt",
    "fixtures/gcdump/small-net9.gcdump.zst",
    "fixtures/nettrace/ranges-net9.nettrace.zst",
    "fixtures/ibm_classic/small.native.txt.gz",
    "fixtures/hprof/zoo-jdk17-serial.hprof.zst",
    "fixtures/hprof/android.hprof",
    "fixtures/v8_snapshot/two-constructors.heapsnapshot",
    "fixtures/phd/every-record-v6-64bit.phd",
];
const ALLOCATIONS: [&str; 2] =
    ["fixtures/memory_infra/seed-heaps_v2.trace", "fixtures/memory_infra/chromium66-heaps.trace.gz"];

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Exports with all tables.
fn export(folder: &Path, args: &[&str]) -> crate::common::cmd::Ran {
    run(&[&["export", "--to", "parquet", "--tables", "all", "-o", &text(folder)], args].concat())
}

/// Names in a folder, sorted; none where it is not there.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Every file below a folder, with its bytes.
fn files_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for name in names_in(folder) {
        let path = folder.join(name);
        match path.is_dir() {
            true => found.extend(files_below(&path)),
            false => drop(found.insert(path.clone(), std::fs::read(&path).expect("readable"))),
        }
    }
    found
}

/// The ids of the dumps that are there.
fn ids(folder: &Path) -> Vec<String> {
    names_in(&folder.join("dumps")).iter().map(|name| name.trim_end_matches(".parquet").to_string()).collect()
}

fn value_of(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => json!(value),
        Field::Int(value) => json!(value),
        Field::Long(value) | Field::TimestampMicros(value) => json!(value),
        Field::Double(value) => json!(value),
        Field::Str(value) => json!(value),
        Field::MapInternal(map) => {
            let pairs = map.entries().iter().map(|(key, value)| {
                let key = value_of(key).as_str().expect("a text").to_string();
                (key, value_of(value))
            });
            Value::Object(pairs.collect())
        }
        other => panic!("no kind of the dataset: {other:?}"),
    }
}

/// The rows of one file.
fn rows(path: &Path) -> Vec<BTreeMap<String, Value>> {
    let reader = SerializedFileReader::new(File::open(path).expect("there")).expect("a Parquet file");
    let rows = reader.get_row_iter(None).expect("rows");
    rows.map(|row| {
        let row = row.expect("a row");
        row.get_column_iter().map(|(name, field)| (name.clone(), value_of(field))).collect()
    })
    .collect()
}

fn small(folder: &Path, table: &str, id: &str) -> Vec<BTreeMap<String, Value>> {
    rows(&folder.join(table).join(format!("{id}.parquet")))
}

fn large(folder: &Path, table: &str, id: &str) -> Vec<BTreeMap<String, Value>> {
    rows(&folder.join(table).join(format!("dump={id}")).join("part-0.parquet"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a count: {value}"))
}

/// Sums of columns by the text of another.
fn sums(rows: &[BTreeMap<String, Value>], by: &str, columns: &[&str]) -> BTreeMap<String, Vec<u64>> {
    let mut sums: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for row in rows {
        let sum = sums.entry(row[by].as_str().expect("a text").into()).or_insert_with(|| vec![0; columns.len()]);
        sum.iter_mut().zip(columns).for_each(|(sum, column)| *sum += number(&row[*column]));
    }
    sums
}

/// The same of rows of JSON.
fn sums_of(rows: &Value, by: &str, keys: &[&str]) -> BTreeMap<String, Vec<u64>> {
    let rows = rows.as_array().expect("rows").iter();
    let rows: Vec<BTreeMap<String, Value>> =
        rows.map(|row| row.as_object().expect("a row").clone().into_iter().collect()).collect();
    sums(&rows, by, keys)
}

/// The number of an id as it is printed, in whatever form.
fn id_number(text: &Value) -> i64 {
    let text = text.as_str().expect("an id");
    let text = text.rsplit('#').next().unwrap_or(text);
    let parsed = match text.strip_prefix('@') {
        Some(decimal) => decimal.parse(),
        None => u64::from_str_radix(text.trim_start_matches("0x"), 16),
    };
    parsed.expect("an id").cast_signed()
}

#[test]
fn tables_hold_what_the_commands_say() {
    let folder = temporary();
    export(folder.path(), &[&GRAPHS[..], &ALLOCATIONS, &["-q"]].concat()).expect_code(0);
    let ids = ids(folder.path());
    assert_eq!(ids.len(), GRAPHS.len() + ALLOCATIONS.len());
    for id in &ids {
        let dump = small(folder.path(), "dumps", id).remove(0);
        let file = dump["file"].as_str().expect("a path").to_string();
        assert_eq!(dump["dump"], json!(id));
        if ALLOCATIONS.contains(&file.as_str()) {
            compare_allocations(folder.path(), id, &file);
        } else {
            compare_objects(folder.path(), id, &file, &dump);
        }
    }
}

fn compare_objects(folder: &Path, id: &str, file: &str, dump: &BTreeMap<String, Value>) {
    let ask = |args: &[&str]| run(&[args, &[file, "-q", "-n", "0", "-f", "json"]].concat()).json();
    let stats = ask(&["stats", "--retained"]);
    let keys = ["objects", "shallow_bytes", "reachable_objects", "reachable_bytes", "retained_bytes"];
    let types = small(folder, "types", id);
    let by_type = sums_of(&stats["types"], "type", &keys);
    assert_eq!(sums(&types, "type", &keys), by_type, "{file}");
    if dump["section_count"] == json!(1) {
        // A row for each of `stats`, those of types of one name too.
        let figures =
            |row: &dyn Fn(&str) -> Value| -> Vec<Value> { ["type"].iter().chain(&keys).map(|key| row(key)).collect() };
        let text = |loader: &Value| {
            (!loader.is_null()).then(|| format!("{} {}", loader["type"], loader["id"]).replace('"', ""))
        };
        let mut told: Vec<_> = stats["types"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| {
                let place =
                    row.get("location").map(|at| format!("{}:{}:{}", at["script_id"], at["line"], at["column"]));
                (figures(&|key| row[key].clone()), row.get("loader").map(text), place)
            })
            .collect();
        for row in &types {
            let at = told.iter().position(|(own, loader, place)| {
                *own == figures(&|key| row[key].clone())
                    && loader.as_ref().is_none_or(|loader| json!(loader) == row["loader"])
                    && place.as_ref().is_none_or(|place| json!(place) == row["location"])
            });
            told.swap_remove(at.unwrap_or_else(|| panic!("{file}: {row:?}")));
        }
        assert!(told.is_empty(), "{file}: {told:?}");
    }
    let totals = &stats["totals"];
    let dependent = totals["dependent_references"].as_u64().unwrap_or(0);
    let columns = [
        ("object_count", &totals["objects"]),
        ("shallow_bytes", &totals["shallow_bytes"]),
        ("reachable_objects", &totals["reachable_objects"]),
        ("reachable_bytes", &totals["reachable_bytes"]),
        ("reference_count", &totals["references"]),
        ("root_count", &totals["roots"]),
        ("type_count", &totals["types"]),
        ("dependent_references", &json!(dependent)),
        ("problem_count", &json!(stats["problems"].as_array().expect("problems").len())),
        ("roots_inferred", &json!(stats["roots_inferred"].as_bool().unwrap_or(false))),
        ("format", &stats["format"]),
    ];
    columns.iter().for_each(|(column, value)| assert_eq!(&dump[*column], *value, "{file}: {column}"));
    let objects = large(folder, "objects", id);
    let is_script = stats["format"] == "v8-snapshot";
    let counted: Vec<_> =
        objects.iter().filter(|row| !is_script || number(&row["shallow_bytes"]) > 0).cloned().collect();
    let figures: BTreeMap<String, u64> =
        sums(&counted, "type", &["shallow_bytes"]).into_iter().map(|(name, sum)| (name, sum[0])).collect();
    assert_eq!(figures, by_type.iter().map(|(name, sum)| (name.clone(), sum[1])).collect(), "{file}");
    // All objects, one by one.
    let listed = ask(&["list", "--sort", "id"]);
    let listed = listed["objects"].as_array().expect("objects");
    assert_eq!(objects.len(), listed.len(), "{file}");
    for (at, (row, object)) in objects.iter().zip(listed).enumerate() {
        assert_eq!((&row["object"], &row["id"]), (&json!(at), &json!(id_number(&object["id"]))), "{file}");
        let pairs = [("type", "type"), ("shallow_bytes", "shallow_bytes"), ("retained_bytes", "retained_bytes")];
        pairs.iter().for_each(|(column, key)| assert_eq!(row[*column], object[*key], "{file}: {at}"));
        assert_eq!(row["reference_count"], object["references"], "{file}: {at}");
        assert_eq!(row["class"], object.get("class").cloned().unwrap_or_default(), "{file}: {at}");
    }
    compare_tree(file, &objects, &ask(&["dominators"]));
    let references = large(folder, "object_references", id);
    assert_eq!(references.len() as u64, number(&totals["references"]) + dependent, "{file}");
    let name_of = |row: &BTreeMap<String, Value>, end: &str| {
        objects[number(&row[end]) as usize]["type"].as_str().expect("a type").to_string()
    };
    let mut pairs: BTreeMap<(String, String), u64> = BTreeMap::new();
    for row in &references {
        *pairs.entry((name_of(row, "source"), name_of(row, "target"))).or_default() += 1;
    }
    let told = small(folder, "type_references", id);
    let name = |row: &BTreeMap<String, Value>, end: &str| row[end].as_str().expect("a type").to_string();
    let told: BTreeMap<(String, String), u64> = told
        .iter()
        .map(|row| ((name(row, "source_type"), name(row, "target_type")), number(&row["reference_count"])))
        .collect();
    assert_eq!(pairs, told, "{file}");
    let reachable: u64 = small(folder, "types", id).iter().map(|row| number(&row["reachable_bytes"])).sum();
    compare_paths(folder, id, file, reachable);
    assert_eq!(small(folder, "roots", id).len() as u64, number(&totals["roots"]), "{file}");
    let suspects = ask(&["leaks"]);
    for (row, suspect) in small(folder, "suspects", id).iter().zip(suspects["suspects"].as_array().expect("suspects")) {
        for key in ["kind", "type", "objects", "retained_bytes", "share"] {
            assert_eq!(row[key], suspect[key], "{file}: {key}");
        }
        let point = &suspect["accumulation_point"];
        assert_eq!((&row["accumulation_type"], &row["shape"]), (&point["type"], &point["shape"]), "{file}");
        let nodes = suspect["path"]["nodes"].as_array().expect("a path");
        let types: Vec<&str> = nodes.iter().map(|node| node["type"].as_str().expect("a type")).collect();
        assert_eq!(row["path"], json!(types.join(" > ")), "{file}");
    }
}

/// The columns of the dominator tree, against the tree's top and against each other.
fn compare_tree(file: &str, objects: &[BTreeMap<String, Value>], tree: &Value) {
    let tops = objects.iter().filter(|row| row["dominator_depth"] == 1);
    let figures = |row: &BTreeMap<String, Value>| {
        let of = |column: &str| number(&row[column]);
        (of("retained_bytes"), of("shallow_bytes"), of("dominated_objects"), row["id"].as_i64())
    };
    let tops: BTreeSet<_> = tops.map(figures).collect();
    let nodes = tree["nodes"].as_array().expect("nodes").iter();
    let told: BTreeSet<_> = nodes
        .map(|node| {
            let of = |key: &str| number(&node[key]);
            (of("retained_bytes"), of("shallow_bytes"), of("dominated_objects"), Some(id_number(&node["id"])))
        })
        .collect();
    assert_eq!(tops, told, "{file}");
    let mut by_order = BTreeMap::new();
    for row in objects.iter().filter(|row| !row["dominator_order"].is_null()) {
        assert!(by_order.insert(number(&row["dominator_order"]), number(&row["shallow_bytes"])).is_none(), "{file}");
    }
    assert!(by_order.keys().copied().eq(0..by_order.len() as u64), "{file}");
    for row in objects {
        if row["dominator_order"].is_null() {
            assert!(["retained_bytes", "dominator", "dominator_depth"].iter().all(|column| row[*column].is_null()));
            continue;
        }
        let (start, count) = (number(&row["dominator_order"]), number(&row["dominated_objects"]));
        if count < 1000 {
            let sum: u64 = by_order.range(start..start + count).map(|(_, bytes)| bytes).sum();
            assert_eq!(sum, number(&row["retained_bytes"]), "{file}: {row:?}");
        }
        let above = row["dominator"].as_u64().map(|above| &objects[above as usize]);
        let depth = above.map_or(0, |above| number(&above["dominator_depth"]));
        assert_eq!(number(&row["dominator_depth"]), depth + 1, "{file}: {row:?}");
        if let Some(above) = above {
            let (from, under) = (number(&above["dominator_order"]), number(&above["dominated_objects"]));
            assert!(start > from && start + count <= from + under, "{file}: {row:?}");
        }
    }
}

fn compare_paths(folder: &Path, id: &str, file: &str, reachable: u64) {
    let args = ["diff", file, file, "--paths", "--all", "-q", "-n", "0", "-f", "json"];
    let told = run(&args).expect_code(0).json();
    let told = told["paths"].as_array().expect("paths");
    let large = told.iter().filter(|row| number(&row["retained_bytes_new"]) * 1000 >= reachable);
    let told: BTreeMap<&str, (u64, u64)> = large
        .filter(|row| number(&row["retained_bytes_new"]) > 0)
        .map(|row| {
            let path = row["path"].as_str().expect("a path");
            (path, (number(&row["objects_new"]), number(&row["retained_bytes_new"])))
        })
        .collect();
    let rows = small(folder, "dominator_paths", id);
    let own: BTreeMap<&str, (u64, u64)> = rows
        .iter()
        .map(|row| {
            let path = row["path"].as_str().expect("a path");
            assert!(path.ends_with(row["type"].as_str().expect("a type")), "{file}");
            (path, (number(&row["objects"]), number(&row["retained_bytes"])))
        })
        .collect();
    assert_eq!(own, told, "{file}");
}

fn compare_allocations(folder: &Path, id: &str, file: &str) {
    let args =
        ["breakdown", file, "-q", "-n", "0", "--min-bytes", "0", "--depth", "500", "--dump", "all", "-f", "json"];
    let answer = run(&args).expect_code(0).json();
    let heaps = small(folder, "allocation_heaps", id);
    let paths = small(folder, "allocation_paths", id);
    let told = answer["heaps"].as_array().expect("heaps");
    assert_eq!(heaps.len(), told.len(), "{file}");
    for (row, heap) in heaps.iter().zip(told) {
        let pairs = [("moment", "dump"), ("pid", "pid"), ("allocator", "allocator"), ("total_bytes", "total_bytes")];
        pairs.iter().for_each(|(column, key)| assert_eq!(row[*column], heap[*key], "{file}"));
        assert_eq!(row["allocations"], heap["allocations"], "{file}");
        let mut found = BTreeMap::new();
        let mut pending: Vec<(&Value, String, u64)> = vec![(&heap["tree"], String::new(), 0)];
        while let Some((node, above, depth)) = pending.pop() {
            let children = node["children"].as_array().expect("children");
            for child in children.iter().filter(|child| child["kind"] == "backtrace") {
                let own = child["name"].as_str().expect("a name");
                let path = if above.is_empty() { own.to_string() } else { format!("{above} > {own}") };
                let bytes = number(&child["bytes"]);
                if bytes > 0 && bytes * 1000 >= number(&heap["total_bytes"]) {
                    found.insert(path.clone(), (depth, bytes, child["allocations"].clone()));
                }
                pending.push((child, path, depth + 1));
            }
        }
        let own = paths.iter().filter(|path| path["heap"] == row["heap"] && path["type"].is_null());
        let own: BTreeMap<String, _> = own
            .map(|path| {
                let name = path["path"].as_str().expect("a path").to_string();
                (name, (number(&path["depth"]), number(&path["bytes"]), path["allocations"].clone()))
            })
            .collect();
        assert_eq!(own, found, "{file}");
    }
    assert!(!names_in(&folder.join("types")).contains(&format!("{id}.parquet")), "{file}");
}

/// Words that an engine takes for something else where a name stands.
const RESERVED: [&str; 16] = [
    "all",
    "case",
    "check",
    "column",
    "cross",
    "default",
    "distinct",
    "end",
    "from",
    "group",
    "order",
    "references",
    "select",
    "table",
    "user",
    "where",
];

#[test]
fn files_are_as_the_document_says() {
    let folder = temporary();
    export(folder.path(), &["-q", GRAPHS[2], GRAPHS[4], ALLOCATIONS[1], "--label", "build=7", "--label", "host=a=b"])
        .expect_code(0);
    let document = std::fs::read_to_string(project("docs/fleet.md")).expect("readable");
    let differences = ["object", "id", "source", "target", "dominator", "dominator_order"];
    let mut tables = BTreeSet::new();
    for path in files_below(folder.path()).keys() {
        let table = path.strip_prefix(folder.path()).expect("below").iter().next().expect("a table").to_string_lossy();
        let reader = SerializedFileReader::new(File::open(path).expect("there")).expect("a Parquet file");
        let file = reader.metadata().file_metadata();
        let notes = file.key_value_metadata().expect("notes");
        let schema = notes.iter().find(|note| note.key == "heapdump.schema").and_then(|note| note.value.clone());
        assert_eq!(schema, Some(format!("{table}/1")));
        let described = document.lines().find_map(|line| line.strip_prefix(&format!("| `{table}` | "))).expect(&table);
        let described: Vec<&str> = described.trim_end_matches(" |").split(", ").collect();
        let columns = file.schema_descr().root_schema().get_fields();
        assert_eq!(columns.len(), described.len(), "{table}");
        for (column, described) in columns.iter().zip(described) {
            assert_eq!(column.name(), described.split(' ').next().expect("a name"), "{table}");
            assert_eq!(column.is_optional(), described.ends_with(" N"), "{table}.{}", column.name());
            assert!(!RESERVED.contains(&column.name()) && !RESERVED.contains(&&*table));
            let unsigned = format!("{:?}", column.get_basic_info().logical_type_ref());
            assert!(!unsigned.contains("Integer"), "{table}.{}: {unsigned}", column.name());
        }
        for group in reader.metadata().row_groups() {
            assert!(group.num_rows() <= 1 << 20);
            for column in group.columns() {
                assert_eq!(column.compression(), Compression::SNAPPY);
                let is_number = column.column_type() == Type::INT64;
                let name = column.column_path().string();
                let packed = column.encodings().any(|encoding| encoding == Encoding::DELTA_BINARY_PACKED);
                assert_eq!(packed, is_number && differences.contains(&name.as_str()), "{table}.{name}");
            }
        }
        tables.insert(table.into_owned());
    }
    assert_eq!(tables.len(), 10);
    for id in ids(folder.path()) {
        let dump = small(folder.path(), "dumps", &id).remove(0);
        assert_eq!(dump["labels"], json!({"build": "7", "host": "a=b"}));
        assert_eq!(
            (&dump["schema_version"], &dump["heapdump_version"]),
            (&json!(1), &json!(env!("CARGO_PKG_VERSION")))
        );
        assert!(dump["exported_at"].as_i64() > Some(1_700_000_000_000_000), "{dump:?}");
    }
}

#[test]
fn the_same_dump_again_is_skipped_and_replaced_on_request() {
    let folder = temporary();
    let dump = GRAPHS[0];
    let out = text(folder.path());
    let summary = ["export", "--to", "parquet", "-o", &out, dump];
    run(&summary).expect_code(0);
    let id = ids(folder.path()).remove(0);
    assert!(id.starts_with("pair_after-") && id.len() == 19, "{id}");
    assert!(names_in(&folder.path().join("objects")).is_empty());
    let before = files_below(folder.path());
    assert_eq!(before.len(), 6);
    let again = run(&summary).expect_code(0);
    assert_eq!(again.stderr, format!("heapdump: note: {dump}: is in the dataset as {id}; --replace writes it anew\n"));
    let more = export(folder.path(), &[dump]).expect_code(0);
    assert!(more.stderr.contains("without objects, object_references"), "{}", more.stderr);
    assert_eq!(files_below(folder.path()), before);
    assert_eq!(run(&[&summary[..], &["-q"]].concat()).expect_code(0).stderr, "");
    export(folder.path(), &[dump, "--replace", "-q"]).expect_code(0);
    assert_eq!(files_below(folder.path()).len(), 8);
    run(&[&summary[..], &["--replace", "-q"]].concat()).expect_code(0);
    let after = files_below(folder.path());
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    let row = folder.path().join("dumps").join(format!("{id}.parquet"));
    assert!(after.iter().all(|(path, bytes)| *path == row || before[path] == *bytes), "only `dumps` has the time");
    // Another reading is another dump; a name of one's own is one.
    run(&[&summary[..], &["-q", "--exclude-roots", "static"]].concat()).expect_code(0);
    assert_eq!(ids(folder.path()).len(), 2);
    run(&[&summary[..], &["-q", "--id", "nightly"]].concat()).expect_code(0);
    let taken = run(&["export", "--to", "parquet", "-o", &out, "fixtures/xna_cf/pair_before.txt", "--id", "nightly"]);
    let taken = taken.expect_code(2);
    assert!(taken.stderr.contains("nightly") && taken.stderr.contains("--replace"), "{}", taken.stderr);
    assert_eq!(ids(folder.path()).len(), 3);
}

#[test]
fn threads_and_indexes_change_nothing() {
    let folder = temporary();
    let dump = folder.path().join("0012.txt");
    std::fs::copy(project(GRAPHS[0]), &dump).expect("a copy");
    let tables = ["types", "type_references", "dominator_paths", "roots", "objects", "object_references"];
    let all = |name: &str, args: &[&str]| {
        let to = folder.path().join(name);
        export(&to, &[args, &["-q", &text(&dump)]].concat()).expect_code(0);
        let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        for (path, bytes) in files_below(&to) {
            files.push((path.strip_prefix(&to).expect("below").to_path_buf(), bytes));
        }
        assert!(ids(&to)[0].starts_with("d-0012-"), "{:?}", ids(&to));
        files.retain(|(path, _)| tables.contains(&&*path.iter().next().expect("a table").to_string_lossy()));
        files
    };
    let one = all("one", &["--threads", "1"]);
    assert_eq!(one.len(), 6);
    assert_eq!(all("five", &["--threads", "5"]), one);
    run(&["index", &text(&dump), "-q"]).expect_code(0);
    assert_eq!(all("indexed", &[]), one);
    let index = format!("{}.hdx", text(&dump));
    let to = folder.path().join("one");
    let by_index = run(&["export", "--to", "parquet", "-o", &text(&to), &index]).expect_code(0);
    assert!(by_index.stderr.contains("is in the dataset"), "{}", by_index.stderr);
    // A damaged one is said, and the dump is read.
    let mut bytes = std::fs::read(&index).expect("an index");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    std::fs::write(&index, bytes).expect("written");
    let to = folder.path().join("damaged");
    let damaged = export(&to, &[&text(&dump)]).expect_code(0);
    assert!(damaged.stderr.contains("is damaged"), "{}", damaged.stderr);
    let id = ids(&to).remove(0);
    let objects = PathBuf::from(format!("objects/dump={id}/part-0.parquet"));
    let expected = one.iter().find(|(path, _)| *path == objects).expect("objects");
    assert_eq!(std::fs::read(to.join(&objects)).expect("there"), expected.1);
}

#[test]
fn one_that_fails_is_said_and_the_others_are_written() {
    let folder = temporary();
    let out = text(folder.path());
    let broken = folder.path().join("broken.txt");
    std::fs::write(&broken, "no dump\n").expect("written");
    let to = folder.path().join("d");
    let ran = export(&to, &["-q", GRAPHS[0], &text(&broken), "nowhere.txt", "fixtures", ALLOCATIONS[0]]).expect_code(2);
    for what in ["broken.txt", "nowhere.txt: cannot be read: No such file", "fixtures: cannot be read: Is a directory"]
    {
        assert!(ran.stderr.contains(what), "{}", ran.stderr);
    }
    assert_eq!(ids(&to).len(), 2);
    assert!(files_below(&to).keys().all(|path| path.extension().is_some_and(|own| own == "parquet")));
    let wrong: [&[&str]; 12] = [
        &["--to", "parquet", GRAPHS[0]],
        &["--to", "parquet", "-o", "-", GRAPHS[0]],
        &["--to", "parquet", "-o", &out, "--tables", "heap", GRAPHS[0]],
        &["--to", "parquet", "-o", &out, "--label", "build", GRAPHS[0]],
        &["--to", "parquet", "-o", &out, "--label", "a=1", "--label", "a=2", GRAPHS[0]],
        &["--to", "parquet", "-o", &out, "--id", "12", GRAPHS[0]],
        &["--to", "parquet", "-o", &out, "--id", "NaN", GRAPHS[0]],
        &["--to", "parquet", "-o", &out, "--id", "a", GRAPHS[0], GRAPHS[1]],
        &["--to", "parquet", "-o", &out, "--depth", "3", GRAPHS[0]],
        &["--to", "parquet", "-o", &out, "--domain", "1", GRAPHS[0]],
        &["--to", "folded", "--tables", "all", GRAPHS[0]],
        &["--to", "folded", GRAPHS[0], GRAPHS[1]],
    ];
    for args in wrong {
        run(&[&["export"], args].concat()).expect_code(2);
    }
    assert_eq!(names_in(folder.path()), ["broken.txt", "d"]);
    let file = folder.path().join("file");
    std::fs::write(&file, "mine").expect("written");
    let ran = export(&file, &["-q", GRAPHS[0]]).expect_code(2);
    assert!(ran.stderr.contains(&text(&file)), "{}", ran.stderr);
    assert_eq!(std::fs::read(&file).expect("there"), b"mine");
    // What comes through a pipe has no name.
    let bytes = std::fs::read(project(GRAPHS[0])).expect("a dump");
    let args = ["export", "--to", "parquet", "-q", "-o", &text(&to)];
    run_with_input(&args, &bytes).expect_code(2);
    run_with_input(&[&args[..], &["--id", "piped", "-"]].concat(), &bytes).expect_code(0);
    run_with_input(&[&args[..], &["--id", "piped", "-"]].concat(), &bytes).expect_code(2);
    run_with_input(&[&args[..], &["--id", "piped", "-", "--replace"]].concat(), &bytes).expect_code(0);
    assert_eq!(ids(&to).len(), 3);
    let id = ids(&to).into_iter().find(|id| id.starts_with("pair_after-")).expect("the file itself");
    assert_eq!(small(&to, "types", "piped").len(), small(&to, "types", &id).len());
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = temporary();
    let to = folder.path().join("d");
    std::fs::create_dir(&to).expect("made");
    std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o555)).expect("set");
    let can_write = std::fs::write(to.join("x"), "").is_ok();
    let ran = export(&to, &["-q", GRAPHS[0]]);
    if !can_write {
        assert!(ran.expect_code(2).stderr.contains(&text(&to.join("dumps"))));
    }
    std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o755)).expect("set");
    // No device, no link to one, and no folder takes the place of a file.
    let to = folder.path().join("e");
    export(&to, &["-q", GRAPHS[0]]).expect_code(0);
    let id = ids(&to).remove(0);
    let types = to.join("types").join(format!("{id}.parquet"));
    std::fs::remove_file(&types).expect("removed");
    std::fs::create_dir(&types).expect("made");
    let ran = export(&to, &["-q", "--replace", GRAPHS[0]]).expect_code(2);
    assert!(ran.stderr.contains(&text(&types)), "{}", ran.stderr);
    assert_eq!(ids(&to), [id.as_str()], "what was there stays");
}

#[test]
fn no_input_is_replaced() {
    let folder = temporary();
    let to = folder.path().join("d");
    std::fs::create_dir_all(to.join("types")).expect("made");
    // A dump that lies where a table of it would go, under every name that is written.
    for name in ["a.parquet", ".a.tmp"] {
        let dump = to.join("types").join(name);
        std::fs::copy(project(GRAPHS[0]), &dump).expect("a copy");
        let ran = export(&to, &["-q", "--id", "a", &text(&dump)]).expect_code(2);
        assert!(ran.stderr.contains("is an input"), "{}", ran.stderr);
        assert_eq!(std::fs::read(&dump).expect("there"), std::fs::read(project(GRAPHS[0])).expect("there"));
        assert_eq!(ids(&to), Vec::<String>::new());
        std::fs::remove_file(dump).expect("removed");
    }
    export(&to, &["-q", "--id", "a", GRAPHS[0]]).expect_code(0);
}

/// What a run that was killed has left under the same id is taken away by the next one.
#[test]
fn killed_runs_leave_nothing_that_is_not_whole() {
    let folder = temporary();
    let to = folder.path().join("d");
    let dump = GRAPHS[5];
    let mut killed = 0;
    for delay in [0, 5, 10, 15, 20, 30, 40, 60, 80, 120] {
        let mut child = heapdump(&["export", "--to", "parquet", "--tables", "all", "-q", "-o", &text(&to), dump])
            .spawn()
            .expect("the binary starts");
        std::thread::sleep(std::time::Duration::from_millis(delay));
        killed += usize::from(child.try_wait().expect("a process").is_none());
        let _ = child.kill();
        child.wait().expect("ends");
        let ids = ids(&to);
        let ids: Vec<&String> = ids.iter().filter(|name| !name.starts_with('.')).collect();
        for (path, _) in
            files_below(&to).iter().filter(|(path, _)| path.extension().is_some_and(|own| own == "parquet"))
        {
            SerializedFileReader::new(File::open(path).expect("there")).expect("a whole file");
        }
        if let Some(id) = ids.first() {
            let tables = ["types", "type_references", "dominator_paths", "roots", "suspects"];
            assert!(tables.iter().all(|table| to.join(table).join(format!("{id}.parquet")).exists()));
            let tables = ["objects", "object_references"];
            assert!(tables.iter().all(|table| to.join(table).join(format!("dump={id}/part-0.parquet")).exists()));
            std::fs::remove_dir_all(&to).expect("removed");
        }
    }
    assert!(killed > 0);
    export(&to, &["-q", dump]).expect_code(0);
    assert!(files_below(&to).keys().all(|path| path.extension().is_some_and(|own| own == "parquet")));
}

/// A day's heap of a game: a static list that keeps `levels` levels, a cache, a chain, garbage.
fn day(day: u64, levels: u64) -> String {
    let types = [
        "BubbleGame.Events.EventBus",
        "System.Collections.Generic.List`1[[BubbleGame.Level]]",
        "BubbleGame.Level[]",
        "BubbleGame.Level",
        "System.Byte[]",
        "BubbleGame.Tile",
        "BubbleGame.Node",
        "System.String",
        "BubbleGame.Spark",
    ];
    let mut lines = vec!["a 1 bubbles.exe 763f9d2".to_string()];
    lines.extend(types.iter().enumerate().map(|(at, name)| format!("t {:x} {name}", at + 1)));
    let base = 0x10_0000 + day * 0x1000;
    let id = |number: u64| format!("{:x}", base + number * 16);
    let mut object = |number: u64, type_number: u64, bytes: u64, references: &[u64]| {
        let references: String = references.iter().map(|&to| format!(" {}", id(to))).collect();
        lines.push(format!("o {} {type_number:x} {bytes:x}{references}", id(number)));
    };
    let first = 100;
    object(0, 1, 24, &[1]);
    object(1, 2, 24, &[2]);
    let all: Vec<u64> = (0..levels).map(|at| first + at * 4).collect();
    object(2, 3, 16 + 4 * levels, &all);
    for &level in &all {
        object(level, 4, 56, &[level + 1, level + 2]);
        object(level + 1, 5, 4096, &[]);
        object(level + 2, 6, 40, &[level + 3]);
        object(level + 3, 8, 36, &[]);
    }
    for number in 3..60 {
        object(number, 7, 20, &[number + 1]);
    }
    object(60, 7, 20, &[]);
    for number in 61..61 + day {
        object(number, 5, 1024, &[]);
    }
    // One day is unlike the others.
    (300..if day == 6 { 500 } else { 310 }).for_each(|number| object(number, 9, 40, &[]));
    lines.push(format!("r {} 4 0 1", id(0)));
    lines.push(format!("r {} 1 0", id(3)));
    lines.push(format!("r {} 3 2", id(first)));
    lines.push("c bubbles.exe 763fbef".to_string());
    lines.join("\n") + "\n"
}

/// Eight days, from the fifth on with more levels each; the dataset of them, in two builds.
struct Series {
    folder: tempfile::TempDir,
    files: Vec<String>,
}

impl Series {
    fn make() -> Self {
        let folder = temporary();
        let mut files = Vec::new();
        for at in 1..=8 {
            let path = folder.path().join(format!("day-{at}.txt"));
            std::fs::write(&path, day(at, 20 + 3 * at.saturating_sub(4))).expect("written");
            files.push(text(&path));
        }
        let series = Series { folder, files };
        for (build, files) in series.files.chunks(4).enumerate() {
            let label = format!("build={}", build + 100);
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            export(&series.dataset(), &[&["-q", "--label", &label][..], &files].concat()).expect_code(0);
        }
        series
    }

    fn dataset(&self) -> PathBuf {
        self.folder.path().join("tables")
    }

    fn ask(&self, engine: &str, package: &str) -> Result<Value, String> {
        ask_engine(&self.dataset(), engine, package)
    }

    fn answer(&self, args: &[&str]) -> Value {
        run(&[args, &["-q", "-n", "0", "-f", "json"]].concat()).json()
    }

    fn first_and_last(&self) -> (&str, &str) {
        (&self.files[0], &self.files[self.files.len() - 1])
    }
}

/// The rows that an engine gives for each question of a dataset; or why it cannot be asked.
fn ask_engine(dataset: &Path, engine: &str, package: &str) -> Result<Value, String> {
    let packages = project("target/live").join(package);
    if !packages.join("installed").is_file() {
        let missing = std::fs::read_to_string(project("target/live/missing")).unwrap_or_default();
        let line = missing.lines().find(|line| line.starts_with(package)).map(str::to_string);
        return Err(line.unwrap_or_else(|| format!("{package}: not installed; tests/live/install gets it")));
    }
    let mut python = Command::new("python3");
    python.args(["tests/live/fleet.py", engine, "docs/fleet.md"]).arg(dataset);
    python.current_dir(project("")).env("PYTHONPATH", &packages).env_remove("SPARK_HOME");
    let ran = finish(python);
    assert_eq!(ran.code, 0, "{engine}:\n{}\n{}", ran.stdout, ran.stderr);
    Ok(ran.json())
}

/// Rows of an answer's JSON as lists of these keys.
fn columns(rows: &Value, keys: &[&str]) -> Vec<Value> {
    let rows = rows.as_array().expect("rows").iter();
    rows.map(|row| Value::Array(keys.iter().map(|key| row[*key].clone()).collect())).collect()
}

#[test]
fn duckdb_gives_what_the_commands_say() {
    let series = Series::make();
    let answers = match series.ask("duckdb", "duckdb") {
        Ok(answers) => answers,
        Err(why) => return crate::common::live::not_tested(&why),
    };
    let empty: Vec<usize> =
        (1..=16).filter(|at| answers[at.to_string()].as_array().is_none_or(Vec::is_empty)).collect();
    assert!(empty.is_empty(), "questions without a row: {empty:?}");
    let (first, last) = series.first_and_last();
    // 1: what grew most, by types.
    let grown = series.answer(&["diff", first, last, "--all"]);
    let keys = ["type", "shallow_bytes_old", "shallow_bytes_new", "shallow_bytes_delta"];
    assert_eq!(answers["1"].as_array().expect("rows")[..], columns(&grown["types"], &keys)[..5]);
    // 2 and 4: what a type retains, day by day.
    let of_days = |name: &str| -> Vec<u64> {
        let types = series.files.iter().map(|file| series.answer(&["stats", "--retained", file]));
        types.map(|stats| sums_of(&stats["types"], "type", &["retained_bytes"])[name][0]).collect()
    };
    let days = of_days("BubbleGame.Level");
    let row = answers["2"].as_array().expect("rows").iter().find(|row| row[0] == "BubbleGame.Level").expect("it grows");
    let up = days.windows(2).filter(|pair| pair[1] > pair[0]).count();
    assert_eq!([&row[1], &row[2], &row[3], &row[5]], [&json!(8), &json!(days[0]), &json!(days[7]), &json!(up)]);
    let over: Vec<usize> = (0..days.len()).filter(|&at| days[at] > 100_000).collect();
    let since = answers["4"][0][0].as_str().expect("a dump");
    assert!(since.starts_with(&format!("day-{}-", over[0] + 1)), "{since}");
    assert_eq!(answers["4"][0][1], json!(over.len()));
    // 3: both builds are there.
    assert_eq!(answers["3"].as_array().map(Vec::len), Some(2));
    assert_eq!(answers["3"][0][0], json!("101"));
    // 7: what grew under what.
    let paths = series.answer(&["diff", first, last, "--paths", "--all"]);
    let keys = ["path", "objects_delta", "retained_bytes_delta"];
    assert_eq!(answers["7"].as_array().expect("rows")[..3], columns(&paths["paths"], &keys)[..3]);
    // 8: who holds it, in the last dump as in all.
    let holders = series.answer(&["referrers", "--type", "BubbleGame.Level", last]);
    assert_eq!(answers["9"][0][0], json!("BubbleGame.Level[]"));
    assert!(holders["referrers"].as_array().expect("rows").iter().any(|row| row["type"] == answers["8"][0][0]));
    // 11 and 12: the dominator tree.
    let tree = series.answer(&["dominators", last]);
    let tops = answers["12"].as_array().expect("rows");
    let keys = ["id", "type", "retained_bytes", "dominated_objects"];
    assert_eq!(tops[..], columns(&tree["nodes"], &keys)[..tops.len()]);
    let inside = answers["11"].as_array().expect("rows").iter().map(|row| (number(&row[1]), number(&row[2])));
    let inside = inside.fold((0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
    // The five largest types: all but the bus itself and its list, of 24 bytes each.
    assert_eq!((inside.0 + 2, inside.1 + 48), (number(&tops[0][3]), number(&tops[0][2])));
    // 13: garbage of the worst day.
    let totals = series.answer(&["stats", last])["totals"].clone();
    let (all, reachable) = (number(&totals["shallow_bytes"]), number(&totals["reachable_bytes"]));
    let percent = ((all - reachable) as f64 * 1000.0 / all as f64).round() / 10.0;
    let worst = answers["13"]
        .as_array()
        .expect("rows")
        .iter()
        .find(|row| row[0].as_str().is_some_and(|dump| dump.starts_with("day-8-")));
    assert_eq!(worst.expect("the last day").get(1).and_then(Value::as_f64), Some(percent));
    // 14: roots by kind.
    let roots = series.answer(&["diff", first, last, "--roots", "--all"]);
    let kinds: BTreeMap<String, Value> = columns(&roots["kinds"], &["kind", "roots_old", "roots_new"])
        .into_iter()
        .map(|row| (row[0].as_str().expect("a kind").to_string(), row))
        .filter(|(kind, _)| !kind.starts_with("weak "))
        .collect();
    assert_eq!(answers["14"].as_array().expect("rows")[..], kinds.into_values().collect::<Vec<_>>()[..]);
    // And what another reader says of the files.
    let checks = &answers["checks"];
    assert_eq!(checks["unsigned"], json!([]));
    assert_eq!(checks["differing"], json!([]));
    assert_eq!(checks["codecs"], json!(["SNAPPY"]));
    assert_eq!(checks["files"], json!(8 * 8));
}

#[test]
#[ignore = "takes a minute: .ci/run runs it where there is Java"]
fn spark_gives_the_rows_of_duckdb() {
    let series = Series::make();
    let (duckdb, spark) = match (series.ask("duckdb", "duckdb"), series.ask("spark", "pyspark")) {
        (Ok(duckdb), Ok(spark)) => (duckdb, spark),
        (Err(why), _) | (_, Err(why)) => return crate::common::live::not_tested(&why),
    };
    for question in 1..=16 {
        let question = question.to_string();
        assert_eq!(spark[&question], duckdb[&question], "question {question}");
    }
    println!("Spark: 16 questions, the rows of DuckDB");
}

/// Rows of objects that fulfil an expression, and the references from them; all else is of the whole heap.
#[test]
fn an_expression_chooses_rows_of_objects() {
    let folder = temporary();
    let (file, expression) = ("fixtures/xna_cf/small_1k.txt", "type ~ 'Level' or shallow > 200");
    export(folder.path(), &[file, "-q"]).expect_code(0);
    let whole = ids(folder.path()).remove(0);
    let labelled = export(folder.path(), &[file, "--label", "build=7"]).expect_code(0);
    assert!(labelled.stderr.contains("; its labels stay as they are;"), "{}", labelled.stderr);
    export(folder.path(), &[file, "-q", "--where", expression]).expect_code(0);
    let both = ids(folder.path());
    assert_eq!(both.len(), 2, "another expression is another id");
    let chosen = both.into_iter().find(|id| *id != whole).expect("the second");
    let list = run(&["list", file, "-q", "-n", "0", "-f", "json", "--sort", "id", "--where", expression]).json();
    let wanted: Vec<i64> = list["objects"].as_array().unwrap().iter().map(|row| id_number(&row["id"])).collect();
    let objects = large(folder.path(), "objects", &chosen);
    assert!(wanted.len() > 5 && wanted.len() < large(folder.path(), "objects", &whole).len());
    assert_eq!(objects.iter().map(|row| row["id"].as_i64().unwrap()).collect::<Vec<_>>(), wanted);
    let of_whole: BTreeMap<i64, BTreeMap<String, Value>> =
        large(folder.path(), "objects", &whole).into_iter().map(|row| (row["object"].as_i64().unwrap(), row)).collect();
    objects.iter().for_each(|row| assert_eq!(*row, of_whole[&row["object"].as_i64().unwrap()]));
    let numbers: Vec<i64> = objects.iter().map(|row| row["object"].as_i64().unwrap()).collect();
    let mut expected = large(folder.path(), "object_references", &whole);
    expected.retain(|row| numbers.contains(&row["source"].as_i64().unwrap()));
    assert!(!expected.is_empty());
    assert_eq!(large(folder.path(), "object_references", &chosen), expected);
    for table in ["types", "roots", "dominator_paths", "type_references"] {
        let without_id = |id: &str| {
            let mut rows = small(folder.path(), table, id);
            rows.iter_mut().for_each(|row| drop(row.remove("dump")));
            rows
        };
        assert_eq!(without_id(&chosen), without_id(&whole), "{table}");
    }
    assert_eq!(small(folder.path(), "dumps", &chosen)[0]["object_filter"], json!(expression));
    assert_eq!(small(folder.path(), "dumps", &whole)[0]["object_filter"], Value::Null);
    let out = text(folder.path());
    let ran = run(&["export", "--to", "parquet", "-o", &out, file, "--where", expression]).expect_code(2);
    assert!(ran.stderr.contains("none of these is asked for: --tables all"), "{}", ran.stderr);
    let ran = export(folder.path(), &[file, "--where", "generation = 'gen2'"]).expect_code(2);
    assert!(ran.stderr.contains("--where: no generation here") && ran.stderr.ends_with("\n  ^\n"), "{}", ran.stderr);
    // No object of any dump fulfils it: the tables are there, and the exit code says so.
    let none = [file, GRAPHS[0], "-q", "--where", "shallow > 1GiB and shallow > 2"];
    export(folder.path(), &none).expect_code(1);
    assert_eq!(ids(folder.path()).len(), 4);
    let said =
        export(folder.path(), &[&none[..1], &["--replace", "--where", "shallow > 1GiB"]].concat()).expect_code(1);
    assert_eq!(said.stderr, "heapdump: no object fulfils --where shallow > 1GiB\n");
    export(folder.path(), &[file, GRAPHS[0], "-q", "--replace", "--where", expression]).expect_code(0);
}

/// What a run that was killed has left of tables that nobody asks for any more goes too.
/// Of a class histogram there are types, as paths too.
#[test]
fn class_histograms_are_exported() {
    let (folder, file) = (temporary(), "fixtures/jvm_histogram/jdk7.txt");
    export(folder.path(), &["--id", "h", file]).expect_code(0);
    let types = small(folder.path(), "types", "h");
    let stats = run(&["stats", file, "-q", "-f", "json"]).expect_code(0).json();
    let keys = ["objects", "shallow_bytes"];
    assert_eq!(sums(&types, "type", &keys), sums_of(&stats["types"], "type", &keys));
    assert!(types.iter().all(|row| row["retained_bytes"] == 0));
    assert_eq!(names_in(folder.path()), ["dumps", "types"]);
    let dump = &small(folder.path(), "dumps", "h")[0];
    assert_eq!((&dump["format"], &dump["shallow_bytes"]), (&"jvm-histogram".into(), &stats["totals"]["shallow_bytes"]));
    let folded = |more: &[&str]| run(&[&["export", "--to", "folded", file, "-q"], more].concat());
    let lines = folded(&["--min-bytes", "0"]).expect_code(0).stdout;
    let mut found: Vec<(&str, &str)> = lines.lines().map(|line| line.rsplit_once(' ').expect("a number")).collect();
    found.sort_unstable();
    let rows = stats["types"].as_array().expect("types").iter();
    let mut wanted: Vec<(String, String)> =
        rows.map(|row| (row["type"].as_str().expect("a name").into(), row["shallow_bytes"].to_string())).collect();
    wanted.sort_unstable();
    assert_eq!(found, wanted.iter().map(|(name, bytes)| (name.as_str(), bytes.as_str())).collect::<Vec<_>>());
    let cut = folded(&["--min-bytes", "50%"]).expect_code(0).stdout;
    let whole = |text: &str| text.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum::<u64>();
    assert!(cut.starts_with("<smaller> ") && whole(&cut) == whole(&lines), "{cut}");
    for more in [&["--object", "1"][..], &["--where", "shallow > 1"]] {
        assert!(folded(more).expect_code(2).stderr.contains("take a dump"), "{more:?}");
    }
}

#[test]
fn leftovers_of_tables_that_are_not_asked_for_go() {
    let folder = temporary();
    let file = GRAPHS[0];
    export(folder.path(), &[file, "-q"]).expect_code(0);
    let id = ids(folder.path()).remove(0);
    let left = folder.path().join(format!("objects/dump={id}/.{id}.tmp"));
    std::fs::write(&left, "half").expect("written");
    let out = text(folder.path());
    run(&["export", "--to", "parquet", "-o", &out, file, "-q", "--replace"]).expect_code(0);
    assert!(!left.exists() && names_in(&folder.path().join("objects")).is_empty());
}

/// An index in a dump's place: the dataset names the dump.
#[test]
fn a_dump_behind_an_index_is_named() {
    let folder = temporary();
    let dump = folder.path().join("a.txt");
    std::fs::copy(crate::common::cmd::project("fixtures/xna_cf/small_1k.txt"), &dump).expect("copied");
    run(&["index", &text(&dump), "-q"]).expect_code(0);
    let index = folder.path().join("a.txt.hdx");
    assert!(index.exists());
    let tables = folder.path().join("tables");
    export(&tables, &[&text(&index), "-q"]).expect_code(0);
    let row = small(&tables, "dumps", &ids(&tables)[0]).remove(0);
    assert_eq!(row["file"], json!(text(&dump)));
    assert_eq!(row["file_bytes"], json!(dump.metadata().expect("there").len()));
}

/// Small dumps are written several at a time, with what comes of one after the other; the same dump twice waits for itself.
#[test]
fn dumps_written_together_are_as_one_by_one() {
    let folder = temporary();
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    std::fs::create_dir_all(&one).and_then(|()| std::fs::create_dir_all(&other)).expect("made");
    let mut files: Vec<String> = Vec::new();
    for number in 0..12 {
        let path = one.join(format!("{number}.txt"));
        std::fs::write(&path, day(number, number * 3)).expect("written");
        files.push(text(&path));
    }
    // The same name and content in another folder.
    std::fs::copy(one.join("3.txt"), other.join("3.txt")).expect("copied");
    files.insert(4, text(&other.join("3.txt")));
    files.insert(7, text(&other.join("absent.txt")));
    let (together, alone) = (folder.path().join("together"), folder.path().join("alone"));
    let arguments: Vec<&str> = files.iter().map(String::as_str).collect();
    let ran = export(&together, &arguments).expect_code(2);
    assert_eq!(ran.stderr.matches("is in the dataset as d-3-").count(), 1, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("absent.txt").count(), 1, "{}", ran.stderr);
    let warnings = ran.stderr.matches("heapdump: warning: ").count();
    assert_eq!(ran.stderr.lines().count(), warnings + 2, "{}", ran.stderr);
    // Of the two with one content the first that is begun is written; suspects name its file.
    let with_other = folder.path().join("with_other");
    for (alone, left_out) in [(&alone, text(&other.join("3.txt"))), (&with_other, text(&one.join("3.txt")))] {
        for file in files.iter().filter(|file| **file != left_out && !file.contains("absent")) {
            export(alone, &[file]).expect_code(0);
        }
    }
    let without_dumps = |folder: &Path| {
        let mut files = files_below(folder);
        files.retain(|path, _| !path.starts_with(folder.join("dumps")));
        let below = |path: PathBuf| path.strip_prefix(folder).expect("below").to_path_buf();
        files.into_iter().map(|(path, bytes)| (below(path), bytes)).collect::<Vec<_>>()
    };
    assert_eq!(ids(&together), ids(&alone));
    assert_eq!(ids(&together).len(), 12);
    let written = without_dumps(&together);
    assert!(written == without_dumps(&alone) || written == without_dumps(&with_other), "the same bytes");
}

/// Rows of `fields` are what `show` says of every object; formats without values, and `--no-values`, say why there are none.
#[test]
fn fields_are_those_of_show() {
    const ZOO: &str = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
    let folder = temporary();
    export(folder.path(), &["--values", "--id", "zoo", "-q", ZOO]).expect_code(0);
    let objects = large(folder.path(), "objects", "zoo");
    let mut rows: BTreeMap<i64, Vec<BTreeMap<String, Value>>> = BTreeMap::new();
    for row in large(folder.path(), "fields", "zoo") {
        rows.entry(objects[number(&row["node"]) as usize]["id"].as_i64().expect("an id")).or_default().push(row);
    }
    let ids = run(&["list", ZOO, "--ids", "-q", "-n", "0"]).stdout;
    let shown = run_with_input(&["show", "--ids-from", "-", ZOO, "-q", "-n", "0", "-f", "json"], ids.as_bytes()).json();
    let (mut fields, mut texts, mut with_target) = (0, 0, 0);
    for object in shown["objects"].as_array().expect("objects") {
        let told = object["fields"].as_array().map_or(&[][..], Vec::as_slice);
        let own = rows.remove(&id_number(&object["object"]["id"])).unwrap_or_default();
        assert_eq!(own.len(), told.len(), "{}", object["object"]);
        for (row, field) in own.iter().zip(told) {
            let context = format!("{} {field} {row:?}", object["object"]);
            assert_eq!([&row["field"], &row["class"], &row["kind"]], [&field["name"], &field["class"], &field["type"]]);
            let target = (!row["target"].is_null()).then(|| &objects[number(&row["target"]) as usize]["id"]);
            let id = (!field["id"].is_null()).then(|| json!(id_number(&field["id"])));
            assert_eq!(target, id.as_ref(), "{context}");
            match &field["value"] {
                Value::Bool(is_true) => assert_eq!(row["long"], json!(i64::from(*is_true)), "{context}"),
                Value::Number(value) if value.is_i64() => assert_eq!(row["long"], json!(value), "{context}"),
                // JSON has the fewest digits that tell a number from its neighbours of the same width.
                Value::Number(value) => {
                    let [own, told] = [row["double"].as_f64(), value.as_f64()].map(|number| number.expect("a number"));
                    let is_float = row["kind"] == "float" && own as f32 == told as f32;
                    assert!(is_float || (own - told).abs() <= told.abs() * 1e-15, "{context}");
                }
                Value::String(text) if ["float", "double"].contains(&row["kind"].as_str().expect("a kind")) => {
                    assert!(["NaN", "Infinity", "-Infinity"].contains(&text.as_str()), "{context}");
                }
                // Half a character has no text of its own.
                Value::String(text) if row["kind"] == "char" && text.starts_with("\\u{") => {
                    let unit = u32::from_str_radix(&text[3..text.len() - 1], 16).expect("a unit");
                    assert_eq!(row["long"], json!(unit), "{context}");
                }
                Value::String(text) if text.chars().count() < 1000 && !text.contains(char::REPLACEMENT_CHARACTER) => {
                    texts += usize::from(row["text"] == json!(text));
                    assert!(row["text"].as_str().is_some_and(|own| text.contains(own)), "{context}");
                }
                _ => {}
            }
            fields += 1;
            with_target += usize::from(target.is_some());
        }
    }
    assert!(rows.is_empty() && fields > 5_000 && texts > 500 && with_target > 1_000, "{fields} {texts} {with_target}");
    let without = [&["fixtures/phd/every-record-v6-64bit.phd"][..], &[ZOO, "--no-values", "--id", "other"]];
    for args in without {
        let ran = export(folder.path(), &[&["--values"], args].concat()).expect_code(2);
        assert!(ran.stderr.contains("values"), "{}", ran.stderr);
    }
}

#[test]
fn duckdb_joins_what_fields_hold() {
    const SHOP: &str = "fixtures/hprof/shop-new.hprof.zst";
    let folder = temporary();
    export(folder.path(), &["--values", "-q", SHOP]).expect_code(0);
    let answers = match ask_engine(folder.path(), "duckdb", "duckdb") {
        Ok(answers) => answers,
        Err(why) => return crate::common::live::not_tested(&why),
    };
    let ask = |args: &[&str]| run(&[args, &[SHOP, "-q", "-n", "0", "-f", "json"]].concat()).json();
    // V1 and V2: what the program of the fixture does, and what `stats` says.
    let by_recipient = ask(&["stats", "--type", "shop.Shop$Mail", "--by", ".to", "--max", ".order.number"]);
    let mut told = columns(&by_recipient["groups"], &["group", "objects"]);
    told.retain(|row| row[0] != "(no such field)");
    told.sort_by_key(|row| row[0].as_str().map(str::to_string));
    assert_eq!(answers["V1"].as_array().expect("rows")[..], told[..3]);
    assert_eq!(answers["V1"][0], json!(["customer0@example.org", 3]));
    assert_eq!(answers["V2"][0], json!(["customer0@example.org", 200, 600]));
    // V3: orders 1 to 600 have 1 to 4 products each.
    let mut ordered: BTreeMap<String, u64> = BTreeMap::new();
    for order in 1..=600 {
        for at in 0..1 + order % 4 {
            *ordered.entry(format!("product {}", (order * 7 + at) % 40)).or_default() += 1;
        }
    }
    let mut ordered: Vec<(String, u64)> = ordered.into_iter().collect();
    ordered.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    assert_eq!(answers["V3"], json!(ordered[..5]));
}
