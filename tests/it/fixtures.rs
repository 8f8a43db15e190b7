//! Every dump under fixtures/ against its expected results, through the binary; root paths of single objects through the
//! library, but for the first.

use crate::common::cmd::{Ran, run};
use crate::common::fixtures::{Fixture, all, test_each_format};
use heapdump::OpenOptions;
use heapdump::answers::{RootPathsOptions, root_paths};
use serde_json::Value;

fn ask(fixture: &Fixture, words: &[&str]) -> Ran {
    let path = fixture.path.display().to_string();
    let arguments = fixture.arguments();
    let mut args: Vec<&str> = words.to_vec();
    args.extend([path.as_str(), "-q"]);
    args.extend(arguments.iter().map(String::as_str));
    run(&args)
}

/// Every key of `expected` must be in `actual` with the same value.
fn assert_contains(what: &str, actual: &Value, expected: &Value) {
    for (key, value) in expected.as_object().into_iter().flatten() {
        assert_eq!(&actual[key], value, "{what}: {key}");
    }
}

fn counts(problems: &Value) -> Value {
    let problems = problems.as_array().unwrap().iter();
    problems.map(|problem| (problem["code"].as_str().unwrap().to_string(), problem["count"].clone())).collect()
}

test_each_format!(every_fixture_gives_its_expected_results, gives_what_is_expected);

fn gives_what_is_expected(fixture: &Fixture) {
    let (name, expected) = (fixture.name(), &fixture.expected);
    if let Some(error) = expected["error"].as_str() {
        let ran = ask(fixture, &["stats"]).expect_code(2);
        assert!(ran.stderr.contains(error), "{name}: {}", ran.stderr);
        return;
    }
    if fixture.holds_allocations() {
        check_allocations(fixture);
        return;
    }
    if fixture.has_no_objects() {
        check_types_alone(fixture);
        return;
    }
    let info = ask(fixture, &["info", "-f", "json"]).expect_code(0).json();
    let stats = ask(fixture, &["stats", "-f", "json"]).expect_code(0).json();
    assert_eq!(info["format"], expected["format"], "{name}");
    assert_eq!(info["encoding"], expected["encoding"], "{name}");
    assert_eq!(counts(&stats["problems"]), expected["problems"], "{name}");
    assert_contains(&name, &info["records"], &expected["records"]);
    if let Some(shape) = expected["shape"].as_str() {
        assert!(info["version"].as_str().unwrap().starts_with(shape), "{name}: {}", info["version"]);
    }
    if let Some(trailer) = expected.get("trailer") {
        assert_eq!(&info["trailer"], trailer, "{name}");
    }
    let sections = expected["sections"].as_array().unwrap();
    assert_eq!(info["sections"].as_array().unwrap().len(), sections.len(), "{name}");
    for (number, section) in sections.iter().enumerate() {
        assert_contains(&format!("{name} section {}", number + 1), &info["sections"][number], section);
    }
    if let Some(types) = expected["types"].as_array() {
        check_types(&name, &stats, types);
        check_types_without_graph(fixture, types);
    }
    check_objects(fixture);
}

/// All histograms of a file, and the types of the one that is asked; what needs objects is refused in one sentence.
fn check_types_alone(fixture: &Fixture) {
    let (name, expected) = (fixture.name(), &fixture.expected);
    let info = ask(fixture, &["info", "-f", "json"]).expect_code(0).json();
    assert_eq!(info["format"], expected["format"], "{name}");
    assert_eq!(info["encoding"], expected["encoding"], "{name}");
    assert_eq!(counts(&info["problems"]), expected["problems"], "{name}");
    let snapshots = expected["snapshots"].as_array().unwrap();
    assert_eq!(info["snapshots"].as_array().unwrap().len(), snapshots.len(), "{name}");
    for (number, snapshot) in snapshots.iter().enumerate() {
        let what = format!("{name} histogram {}", number + 1);
        assert_contains(&what, &info["snapshots"][number], snapshot);
        let one = ask(fixture, &["stats", "-f", "json", "--snapshot", &(number + 1).to_string()]).expect_code(0).json();
        assert_eq!(one["totals"]["objects"], snapshot["objects"], "{what}");
        assert_eq!(one["totals"]["shallow_bytes"], snapshot["shallow_bytes"], "{what}");
    }
    let shallow = ask(fixture, &["stats", "--shallow", "-f", "json"]).expect_code(0).json();
    let stats = ask(fixture, &["stats", "-f", "json"]).expect_code(0).json();
    assert_eq!(stats["types"], shallow["types"], "{name}");
    let row = |row: &Value| [row["type"].clone(), row["objects"].clone(), row["shallow_bytes"].clone()];
    let mut rows: Vec<Value> = stats["types"].as_array().unwrap().iter().map(|one| row(one).to_vec().into()).collect();
    let mut wanted = expected["types"].as_array().unwrap().clone();
    rows.sort_by_key(Value::to_string);
    wanted.sort_by_key(Value::to_string);
    assert_eq!(rows, wanted, "{name}");
    for words in [&["leaks"][..], &["dominators"], &["list"], &["threads"], &["breakdown"], &["stats", "--retained"]] {
        let ran = ask(fixture, words).expect_code(2);
        assert!(ran.stderr.contains("take a dump with `heapdump collect`"), "{name} {words:?}: {}", ran.stderr);
    }
}

/// Totals of heaps by every command that has them, then their types and backtraces.
fn check_allocations(fixture: &Fixture) {
    let (name, expected) = (fixture.name(), &fixture.expected);
    let info = ask(fixture, &["info", "-f", "json"]).expect_code(0).json();
    assert_eq!(info["format"], expected["format"], "{name}");
    assert_eq!(info["encoding"], expected["encoding"], "{name}");
    assert_eq!(counts(&info["problems"]), expected["problems"], "{name}");
    let stats = ask(fixture, &["stats", "--dump", "all", "-f", "json"]).expect_code(0).json();
    let frames = ask(fixture, &["breakdown", "--dump", "all", "-f", "json"]).expect_code(0).json();
    let types = ask(fixture, &["breakdown", "--dump", "all", "--by", "type", "-f", "json"]).expect_code(0).json();
    let expected = expected["heaps"].as_array().unwrap();
    for answer in [&info, &stats, &frames, &types] {
        assert_eq!(answer["heaps"].as_array().unwrap().len(), expected.len(), "{name}");
    }
    for heap in expected {
        let is_heap = |other: &&Value| ["dump", "pid", "part", "allocator"].iter().all(|key| other[*key] == heap[*key]);
        let find = |answer: &Value| answer["heaps"].as_array().unwrap().iter().find(is_heap).unwrap().clone();
        for answer in [&info, &stats, &frames, &types] {
            let found = find(answer);
            for key in ["process", "total_bytes", "allocations"] {
                assert_eq!(found[key], heap[key], "{name}: {heap}");
            }
        }
        let children = |node: &Value| node["children"].as_array().unwrap().clone();
        let figures = |node: &Value| {
            let at_least = node["at_least"].as_bool().unwrap_or(false);
            (node["bytes"].as_u64(), node["allocations"].as_u64(), Some(at_least))
        };
        let wanted = |row: &Value| (row[1].as_u64(), row[2].as_u64(), row[3].as_bool());
        let tree = find(&types)["tree"].clone();
        for row in heap["types"].as_array().into_iter().flatten() {
            let node = children(&tree).into_iter().find(|node| node["kind"] == "type" && node["name"] == row[0]);
            assert_eq!(node.as_ref().map(figures), Some(wanted(row)), "{name}: {row}");
        }
        for row in heap["frames"].as_array().into_iter().flatten() {
            let mut node = find(&frames)["tree"].clone();
            for step in row[0].as_array().unwrap() {
                let below = children(&node).into_iter();
                let mut below = below.filter(|node| node["kind"] == "backtrace" || node["kind"] == "self");
                node = below.find(|node| node["name"] == *step).unwrap_or_else(|| panic!("{name}: {row}"));
            }
            assert_eq!(figures(&node), wanted(row), "{name}: {row}");
        }
    }
}

fn check_types(name: &str, stats: &Value, expected: &[Value]) {
    let rows = stats["types"].as_array().unwrap();
    let mut actual: Vec<Value> = rows
        .iter()
        .map(|row| {
            let keys = ["type", "objects", "shallow_bytes", "reachable_objects", "reachable_bytes"];
            keys.iter().map(|key| row[*key].clone()).collect()
        })
        .collect();
    assert_eq!(stats["totals"]["types"], rows.len(), "{name}");
    let by_bytes = |row: &Value| (std::cmp::Reverse(row[2].as_u64()), row[0].as_str().map(String::from));
    assert!(actual.is_sorted_by_key(by_bytes), "{name}: largest first, then by name");
    let mut expected = expected.to_vec();
    expected.sort_by_key(by_bytes);
    // Expected results go by name alone: rows of two loaders are added up.
    let twice = rows.iter().filter(|row| row.get("loader").is_some()).count();
    actual.sort_by_key(|row| row[0].as_str().map(String::from));
    actual.dedup_by(|row, kept| {
        let is_same = row[0] == kept[0];
        for figure in (1..5).filter(|_| is_same) {
            kept[figure] = (kept[figure].as_u64().unwrap() + row[figure].as_u64().unwrap()).into();
        }
        is_same
    });
    assert_eq!(rows.len() - actual.len(), twice / 2, "{name}: of each such name there are two");
    actual.sort_by_key(by_bytes);
    assert_eq!(actual, expected, "{name}");
}

fn check_types_without_graph(fixture: &Fixture, expected: &[Value]) {
    let stats = ask(fixture, &["stats", "--shallow", "-f", "json"]).expect_code(0).json();
    let total = |column: usize| expected.iter().map(|row| row[column].as_u64().unwrap()).sum::<u64>();
    assert_eq!(stats["totals"]["objects"], total(1), "{}", fixture.name());
    assert_eq!(stats["totals"]["shallow_bytes"], total(2), "{}", fixture.name());
    // Rows of two loaders, or of two places, are one of the expected.
    let names: std::collections::BTreeSet<&str> =
        stats["types"].as_array().unwrap().iter().map(|row| row["type"].as_str().unwrap()).collect();
    let expected_names: std::collections::BTreeSet<&str> =
        expected.iter().map(|row| row[0].as_str().unwrap()).collect();
    assert_eq!(names, expected_names, "{}", fixture.name());
}

/// Retained bytes of all objects in one run; distances from roots one by one, a sample where there are many.
fn check_objects(fixture: &Fixture) {
    let Some(objects) = fixture.expected["objects"].as_array().filter(|objects| !objects.is_empty()) else { return };
    let name = fixture.name();
    let listed = ask(fixture, &["list", "-f", "json"]).expect_code(0).json();
    let listed: std::collections::HashMap<&str, &Value> =
        listed["objects"].as_array().unwrap().iter().map(|row| (row["id"].as_str().unwrap(), row)).collect();
    for row in objects {
        let id = row[0].as_str().unwrap();
        assert_eq!(listed[id]["retained_bytes"], row[1], "{name}: {id}");
    }
    let every = objects.len().div_ceil(12);
    let options = OpenOptions { read: fixture.read_options(), ..OpenOptions::default() };
    let dump = options.open(&fixture.path).unwrap();
    for (at, row) in objects.iter().step_by(every).enumerate() {
        let id = row[0].as_str().unwrap();
        let reachable = !row[1].is_null();
        let answer = root_paths(&dump, &RootPathsOptions::new(id.parse().unwrap())).unwrap();
        let roots = match at {
            0 => ask(fixture, &["roots", id, "-f", "json"]).expect_code(i32::from(!reachable)).json(),
            _ => serde_json::to_value(&answer).unwrap(),
        };
        assert_eq!(roots["object"]["retained_bytes"], row[1], "{name}: {id}");
        assert_eq!(roots["reachable"], reachable, "{name}: {id}");
        if !row[2].is_null() {
            assert_eq!(roots["paths"][0]["length"], row[2], "{name}: {id}");
            let nodes = roots["paths"][0]["nodes"].as_array().unwrap();
            assert_eq!(nodes.len() as u64, row[2].as_u64().unwrap() + 1, "{name}: {id}");
            assert_eq!(nodes.last().unwrap()["id"], id, "{name}");
        }
    }
}

#[test]
fn planted_leaks_have_their_known_size_and_root() {
    let mut checked = 0;
    for fixture in all() {
        let Some(leak) = fixture.expected.get("planted_leak") else { continue };
        let id = leak["id"].as_str().unwrap();
        let roots = ask(&fixture, &["roots", id, "-f", "json"]).expect_code(0).json();
        assert_eq!(roots["object"]["retained_bytes"], leak["retained_bytes"]);
        assert_eq!(roots["paths"][0]["root"]["kind"], leak["root"]);
        assert_eq!(roots["paths"][0]["root"]["container"], leak["container"]);
        checked += 1;
    }
    assert!(checked >= 5);
}
