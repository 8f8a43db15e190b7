//! Layers and their crates: who may use whom. A change of this table is a change of the design.

use crate::common::cmd::project;

/// (layer, layers it may use, outside crates it may use)
const ALLOWED: [(&str, &[&str], &[&str]); 10] = [
    ("files", &[], &["rustix", "signal_hook", "tempfile"]),
    ("graph", &[], &["bytemuck", "petgraph", "rayon", "rustc_hash", "serde"]),
    ("allocations", &[], &["rustc_hash"]),
    ("input", &["graph", "allocations"], &["nom", "memchr", "flate2", "ruzstd", "rustc_hash", "serde", "serde_json"]),
    ("analysis", &["graph", "allocations"], &["petgraph", "rayon", "regex_lite", "rustc_hash", "serde"]),
    ("index", &["files", "graph"], &["bytemuck", "memmap2", "rayon", "serde", "serde_json", "twox_hash"]),
    ("dump", &["files", "graph", "allocations", "input", "analysis", "index"], &["rayon", "serde"]),
    ("answers", &["graph", "allocations", "analysis", "dump"], &["rayon", "serde", "shlex", "time"]),
    ("report", &[], &["comfy_table", "csv", "serde", "serde_json", "textwrap"]),
    (
        "cli",
        &["graph", "allocations", "input", "analysis", "index", "dump", "answers", "report", "files"],
        &[
            "anyhow",
            "clap",
            "clap_complete",
            "clap_mangen",
            "indicatif",
            "inferno",
            "petgraph",
            "rayon",
            "rustc_hash",
            "serde",
            "serde_json",
            "sysinfo",
            "terminal_size",
        ],
    ),
];

/// Crates that only their layer may name.
const OUTSIDE: [&str; 26] = [
    "anyhow",
    "bytemuck",
    "clap",
    "clap_complete",
    "clap_mangen",
    "comfy_table",
    "csv",
    "flate2",
    "indicatif",
    "inferno",
    "memchr",
    "memmap2",
    "nom",
    "petgraph",
    "rayon",
    "regex_lite",
    "rustc_hash",
    "rustix",
    "ruzstd",
    "serde",
    "serde_json",
    "signal_hook",
    "sysinfo",
    "tempfile",
    "terminal_size",
    "twox_hash",
];

fn sources(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Code without comments and without the unit tests at the end, which may use more.
fn code_of(path: &std::path::Path) -> String {
    let text = std::fs::read_to_string(path).expect("readable");
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn layers_use_only_what_lies_below_them() {
    let mut checked = 0;
    for (layer, layers, crates) in ALLOWED {
        let mut files = Vec::new();
        sources(&project("src").join(layer), &mut files);
        for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
            let code = code_of(file);
            for (other, ..) in ALLOWED.iter().filter(|(other, ..)| *other != layer && !layers.contains(other)) {
                let uses = code.contains(&format!("crate::{other}"));
                assert!(!uses, "{}: {layer} must not use {other}", file.display());
            }
            for outside in OUTSIDE.iter().filter(|outside| !crates.contains(outside)) {
                let uses = code.contains(&format!("{outside}::")) && !code.contains(&format!("mod {outside}"));
                assert!(!uses, "{}: {layer} must not use the crate {outside}", file.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 40, "{checked}");
}

#[test]
fn every_dependency_is_in_the_table() {
    let manifest = std::fs::read_to_string(project("Cargo.toml")).expect("readable");
    let sections = ["\n[dependencies]", "\n[target.\"cfg(unix)\".dependencies]"];
    let lines = sections.iter().flat_map(|section| {
        let section = manifest.split(section).nth(1).expect("dependencies");
        section.split("\n[").next().expect("a section").lines()
    });
    let mut names: Vec<String> = lines
        .filter_map(|line| line.split_once('=').map(|(name, _)| name.trim().replace('-', "_")))
        .filter(|name| !name.is_empty())
        .collect();
    names.sort();
    assert_eq!(names, OUTSIDE);
}

/// Two readers never use each other.
#[test]
fn readers_are_apart() {
    let readers = ["xna_cf", "ibm_classic", "nettrace", "gcdump", "memory_infra"];
    for reader in readers {
        let mut files = Vec::new();
        sources(&project("src/input").join(reader), &mut files);
        for other in readers.iter().filter(|other| **other != reader) {
            for file in &files {
                assert!(!code_of(file).contains(&format!("{other}::")), "{} uses {other}", file.display());
            }
        }
    }
}

#[test]
fn files_stay_small_enough_to_hold_in_the_head() {
    let mut files = Vec::new();
    sources(&project("src"), &mut files);
    for file in files {
        let lines = code_of(&file).lines().count();
        assert!(lines <= 500, "{} has {lines} lines of code: split it by concern", file.display());
    }
}
