//! `stats --by owner`: what libraries allocate, charged to the types of the program, against a walk down the dominator tree.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::common::cmd::run;
use crate::common::synth_java::{Held, JavaDump};

/// Objects, bytes, charged objects, charged bytes.
type Sums = BTreeMap<String, [u64; 4]>;

fn owners(file: &str, options: &[&str]) -> Sums {
    let answer = run(&[&["stats", file, "-q", "-f", "json", "-n", "0"], options].concat()).expect_code(0).json();
    let key = |row: &Value, key: &str| row[key].as_u64().unwrap_or_else(|| panic!("{key} in {row}"));
    let row = |row: &Value| {
        let keys = ["objects", "shallow_bytes", "charged_objects", "charged_bytes"];
        (row["group"].as_str().expect("a group").to_string(), keys.map(|name| key(row, name)))
    };
    answer["groups"].as_array().expect("groups").iter().map(row).collect()
}

/// Every reached object's type, the nearest type of the program at or above it in the dominator tree, and its bytes.
fn reached(file: &str, is_library: &dyn Fn(&str) -> bool) -> Vec<(String, String, u64)> {
    let tree = run(&["dominators", file, "-q", "-f", "tsv", "-n", "0", "--depth", "500"]).expect_code(0).stdout;
    let mut lines = tree.lines();
    let titles: Vec<&str> = lines.next().expect("a header").split('\t').collect();
    let column = |name: &str| titles.iter().position(|title| *title == name).unwrap_or_else(|| panic!("{titles:?}"));
    let (level, bytes, type_name, id) = (column("level"), column("shallow_bytes"), column("type"), column("id"));
    let mut above: Vec<String> = Vec::new();
    let mut seen = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        let level: usize = cells[level].parse().expect("a number");
        above.truncate(level);
        let owner = match is_library(cells[type_name]) {
            true if level == 0 => of_static(file, cells[id], is_library),
            true => above[level - 1].clone(),
            false => cells[type_name].to_string(),
        };
        seen.push((cells[type_name].to_string(), owner.clone(), cells[bytes].parse().expect("a number")));
        above.push(owner);
    }
    seen
}

/// The class of the program whose static variables are all that holds an object at the top.
fn of_static(file: &str, id: &str, is_library: &dyn Fn(&str) -> bool) -> String {
    let roots = run(&["show", id, file, "-q", "-f", "json"]).expect_code(0).json()["roots"].clone();
    let class = |root: &Value| {
        let class = root["container"].as_str().filter(|class| root["kind"] == "static" && !is_library(class));
        class.unwrap_or("(no owner)").to_string()
    };
    let mut classes: Vec<String> = roots.as_array().expect("roots").iter().map(class).collect();
    classes.dedup();
    if let [class] = &classes[..] { class.clone() } else { "(no owner)".into() }
}

fn by_definition(file: &str, is_library: &dyn Fn(&str) -> bool) -> Sums {
    let seen = reached(file, is_library);
    let mut sums = Sums::new();
    let mut counted: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for (type_name, owner, bytes) in seen {
        let at = if is_library(&type_name) { 2 } else { 0 };
        let sum = sums.entry(owner).or_default();
        sum[at] += 1;
        sum[at + 1] += bytes;
        let of_type = counted.entry(type_name).or_default();
        *of_type = [of_type[0] + 1, of_type[1] + bytes];
    }
    // What no root reaches: objects of the program in their own row.
    let types = run(&["stats", file, "-q", "-f", "json", "-n", "0"]).expect_code(0).json();
    for row in types["types"].as_array().expect("types") {
        let name = row["type"].as_str().expect("a type");
        let [objects, bytes] = counted.remove(name).unwrap_or_default();
        let all = ["objects", "shallow_bytes"].map(|key| row[key].as_u64().expect("a number"));
        let (owner, at) = if is_library(name) { ("(unreachable)", 2) } else { (name, 0) };
        if all[0] > objects {
            let sum = sums.entry(owner.to_string()).or_default();
            sum[at] += all[0] - objects;
            sum[at + 1] += all[1] - bytes;
        }
    }
    assert!(counted.is_empty(), "{counted:?}");
    sums
}

fn is_of_net(name: &str) -> bool {
    let name = name.trim_end_matches("[]");
    ["System.", "Microsoft.", "Mono."].iter().any(|start| name.starts_with(start))
}

#[test]
fn library_objects_are_charged_to_the_nearest_type_of_the_program() {
    let file = "fixtures/xna_cf/pair_after.txt";
    let sums = owners(file, &["--by", "owner"]);
    assert_eq!(sums, by_definition(file, &is_of_net));
    // Every object counts once.
    let totals = run(&["stats", file, "-q", "-f", "json"]).json()["totals"].clone();
    let sum = |at: [usize; 2]| sums.values().map(|sum| sum[at[0]] + sum[at[1]]).sum::<u64>();
    assert_eq!(sum([0, 2]), totals["objects"].as_u64().unwrap());
    assert_eq!(sum([1, 3]), totals["shallow_bytes"].as_u64().unwrap());
    // Pixels of the game's textures are the game's.
    assert!(sums["BubbleGame.Level"][3] > 100_000, "{sums:?}");
}

#[test]
fn what_a_library_is_can_be_said() {
    let file = "fixtures/xna_cf/pair_after.txt";
    let is_library =
        |name: &str| name.starts_with("BubbleGame.Level") || (is_of_net(name) && !name.contains("Texture2D"));
    let sums = owners(file, &["--by", "owner", "--library", "BubbleGame.Level*", "--mine", "*Texture2D"]);
    assert_eq!(sums, by_definition(file, &is_library));
    for options in [&["--library", "x"][..], &["--by", "owner", "--retained"]] {
        run(&[&["stats", file], options].concat()).expect_code(2);
    }
}

#[test]
fn owners_by_package_are_sums_of_owners() {
    let file = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
    let mut packages = Sums::new();
    for (owner, sums) in owners(file, &["--by", "owner"]) {
        let package = match owner.rsplit_once('.') {
            Some((package, _)) if !owner.starts_with('(') => package.to_string(),
            _ if owner.starts_with('(') => owner,
            _ => "(none)".into(),
        };
        let sum = packages.entry(package).or_default();
        (0..4).for_each(|at| sum[at] += sums[at]);
    }
    assert_eq!(owners(file, &["--by", "owner=package"]), packages);
}

/// A class object is its class's, and so is what only its static variables hold.
#[test]
fn statics_belong_to_the_class_that_declares_them() {
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let class = dump.class("java.lang.Class", object, &[], &[]);
    let cache = dump.class("app.Cache", object, &[], &[("BYTES", Held::Reference(0x50))]);
    dump.primitives(0x50, 8, 1, &[7; 1000]);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), dump.finish()).unwrap();
    let sums = owners(file.path().to_str().unwrap(), &["--by", "owner"]);
    let [objects, bytes, charged, charged_bytes] = sums["app.Cache"];
    assert_eq!((objects, bytes, charged), (0, 0, 2), "{sums:?} {class:x} {cache:x}");
    assert!(charged_bytes > 1000, "{sums:?}");
    let nobody = sums.get("(no owner)").copied().unwrap_or_default();
    assert!(nobody[3] < 1000, "{sums:?}");
}
