//! What is published: which files, under which licences, with which dependencies twice.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::common::cmd::project;

/// Runs cargo in the project without the network; what is built here was downloaded.
fn cargo(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(args).current_dir(project("")).output().expect("cargo runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Licences that let a program be handed on in any form; a library under one of its own stands here with its reason.
const LICENCES: [&str; 7] = ["MIT", "Apache-2.0", "Zlib", "BSD-2-Clause", "BSD-3-Clause", "Unlicense", "Unicode-3.0"];
/// The licence of a library and of its changed files alone; and the public domain, of what parquet asks for in browsers.
const OF_ONE: [(&str, &str); 2] = [("inferno", "CDDL-1.0"), ("tiny-keccak", "CC0-1.0")];

/// Does an expression of SPDX allow it, by one of its choices? Parentheses stand around choices in lists of duties.
fn is_allowed(expression: &str) -> bool {
    expression
        .replace('/', " OR ")
        .split(" AND ")
        .all(|duty| duty.trim_matches(['(', ')', ' ']).split(" OR ").any(|choice| LICENCES.contains(&choice.trim())))
}

/// The packages of all platforms, which are downloaded first; without a network those of this platform.
fn packages() -> Vec<Value> {
    let fetched = Command::new(env!("CARGO")).args(["fetch", "--locked", "--quiet"]).current_dir(project("")).output();
    let rustc = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let version = String::from_utf8(rustc.stdout).expect("UTF-8");
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host").to_string();
    let mut args = vec!["metadata", "--locked", "--offline", "--format-version", "1"];
    if !fetched.expect("cargo runs").status.success() {
        args.extend(["--filter-platform", &host]);
    }
    let text = cargo(&args);
    let metadata: Value = serde_json::from_str(&text).expect("JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

#[test]
fn licences_of_all_dependencies_are_known() {
    let packages = packages();
    assert!(packages.len() > 20);
    let wrong: Vec<String> = packages
        .iter()
        .map(|package| (package["name"].as_str().expect("a name"), package["license"].as_str().unwrap_or("none")))
        .filter(|(name, licence)| !is_allowed(licence) && !OF_ONE.contains(&(*name, *licence)))
        .map(|(name, licence)| format!("{name}: {licence}"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0") && !is_allowed("MIT AND GPL-3.0") && !is_allowed("none"));
}

/// Two versions of one library are built twice.
#[test]
fn no_library_is_in_the_program_twice() {
    let tree = cargo(&["tree", "--locked", "--offline", "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in tree.lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(version)) = (words.next(), words.next()) {
            versions.entry(name).or_default().insert(version);
        }
    }
    versions.retain(|_, versions| versions.len() > 1);
    let twice: Vec<&str> = versions.keys().copied().collect();
    // petgraph, and inferno and parquet (by ahash), are one version behind; `syn` is there for building alone.
    assert_eq!(twice, ["foldhash", "hashbrown", "syn"], "{versions:?}");
}

#[test]
fn the_package_is_small_and_has_its_licences() {
    let list = cargo(&["package", "--list", "--locked", "--offline", "--allow-dirty"]);
    let files: Vec<&str> = list.lines().collect();
    for needed in ["LICENSE", "LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md", "Cargo.lock", "src/main.rs"]
    {
        assert!(files.contains(&needed), "{needed}");
    }
    assert!(!files.iter().any(|file| file.starts_with("tests/") || file.starts_with("fixtures/")));
    let bytes = |file: &&&str| std::fs::metadata(project(file)).map_or(0, |metadata| metadata.len());
    // Packed it is about a fourth of that.
    assert!(files.iter().map(|file| bytes(&file)).sum::<u64>() < 8_000_000);
}
