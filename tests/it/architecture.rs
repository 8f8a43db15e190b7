//! Layers and their crates: who may use whom. A change of this table is a change of the design.

use heapdump::input::READERS;

use crate::common::cmd::project;

/// (layer, layers it may use, outside crates it may use)
const ALLOWED: [(&str, &[&str], &[&str]); 18] = [
    ("units", &[], &[]),
    ("parallel", &[], &["rayon"]),
    ("escape", &[], &["serde", "serde_json"]),
    ("files", &[], &["rustix", "signal_hook", "tempfile", "windows_sys"]),
    ("graph", &["parallel"], &["bytemuck", "petgraph", "rayon", "rustc_hash", "serde"]),
    ("allocations", &[], &["rustc_hash"]),
    (
        "input",
        &["graph", "allocations", "parallel"],
        &[
            "base64",
            "nom",
            "memchr",
            "flate2",
            "rayon",
            "ruzstd",
            "rustc_hash",
            "serde",
            "serde_json",
            "tempfile",
            "time",
            "twox_hash",
        ],
    ),
    (
        "analysis",
        &["graph", "allocations", "units", "parallel"],
        &["petgraph", "rayon", "regex_lite", "rustc_hash", "serde"],
    ),
    ("index", &["files", "graph", "parallel"], &["bytemuck", "memmap2", "rayon", "serde", "serde_json", "twox_hash"]),
    ("dump", &["files", "graph", "allocations", "input", "analysis", "index", "units"], &["rayon", "serde"]),
    ("filter", &["graph", "input", "analysis", "dump"], &["rayon", "unicode_width"]),
    (
        "answers",
        &["graph", "allocations", "input", "analysis", "dump", "filter", "units", "parallel"],
        &["rayon", "serde", "shlex", "time"],
    ),
    ("report", &["escape", "units"], &["comfy_table", "csv", "serde", "serde_json", "textwrap", "unicode_width"]),
    (
        "export",
        &["files", "graph", "allocations", "analysis", "dump", "filter", "answers", "escape", "units", "parallel"],
        &["bytes", "inferno", "parquet", "petgraph", "rayon", "rustc_hash", "serde", "twox_hash"],
    ),
    ("page", &["analysis", "dump", "answers", "escape", "units"], &["serde", "serde_json"]),
    ("collect", &["files", "input", "units"], &["flate2", "memchr", "rustix", "serde", "serde_json", "time"]),
    (
        "explore",
        &["files", "graph", "analysis", "dump", "filter", "answers", "escape", "report", "units"],
        &["base64", "ratatui_core", "ratatui_crossterm", "rustix", "serde", "signal_hook", "unicode_width"],
    ),
    (
        "cli",
        &[
            "explore",
            "collect",
            "graph",
            "allocations",
            "input",
            "analysis",
            "index",
            "dump",
            "filter",
            "answers",
            "escape",
            "report",
            "export",
            "page",
            "files",
            "units",
        ],
        &[
            "anstyle_query",
            "anyhow",
            "clap",
            "clap_complete",
            "clap_mangen",
            "indicatif",
            "rayon",
            "rustix",
            "sysinfo",
            "terminal_size",
            "windows_sys",
        ],
    ),
];

/// Crates that only their layer may name.
const OUTSIDE: [&str; 37] = [
    "anstyle_query",
    "anyhow",
    "base64",
    "bytemuck",
    "bytes",
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
    "parquet",
    "petgraph",
    "ratatui_core",
    "ratatui_crossterm",
    "rayon",
    "regex_lite",
    "rustc_hash",
    "rustix",
    "ruzstd",
    "serde",
    "serde_json",
    "shlex",
    "signal_hook",
    "sysinfo",
    "tempfile",
    "terminal_size",
    "textwrap",
    "time",
    "twox_hash",
    "unicode_width",
    "windows_sys",
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

/// The paths that code names, `use` trees taken apart: `crate::graph::NodeId`, `serde_json::json`. A path's head is never
/// in the middle of another path, so `std::time::Duration` names `std` and not `time`.
fn paths_in(code: &str) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut paths = Vec::new();
    // Prefixes of the braces that are open; `None` for braces that are no part of a `use` tree.
    let mut open: Vec<Option<String>> = Vec::new();
    let mut path = String::new();
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let name: String = rest.chars().take_while(|&c| is_name(c)).collect();
        if !name.is_empty() {
            rest = &rest[name.len()..];
            if !path.ends_with("::") {
                path = open.last().cloned().flatten().unwrap_or_default();
            }
            path += &name;
            continue;
        }
        if let Some(after) = rest.strip_prefix("::") {
            path += "::";
            rest = after;
            continue;
        }
        if c == '{' {
            open.push(path.ends_with("::").then(|| std::mem::take(&mut path)));
        } else if path.contains("::") && !path.ends_with("::") {
            paths.push(path.clone());
        }
        if c == '}' {
            open.pop();
        }
        if c != '{' {
            path.clear();
        }
        rest = &rest[c.len_utf8()..];
    }
    paths
}

#[test]
fn use_trees_are_taken_apart() {
    let code = "use crate::{graph::{NodeId, a::B}, input};\nuse std::time::Duration;\nfn f() { crate::dump::open(serde_json::X) }";
    let expected = [
        "crate::graph::NodeId",
        "crate::graph::a::B",
        "crate::input",
        "std::time::Duration",
        "crate::dump::open",
        "serde_json::X",
    ];
    assert_eq!(paths_in(code), expected);
}

#[test]
fn layers_use_only_what_lies_below_them() {
    let mut checked = 0;
    for (layer, layers, crates) in ALLOWED {
        let mut files = Vec::new();
        match project("src").join(layer) {
            folder if folder.is_dir() => sources(&folder, &mut files),
            folder => files.push(folder.with_extension("rs")),
        }
        for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
            for path in paths_in(&code_of(file)) {
                let mut parts = path.split("::");
                let (head, next) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
                let is_layer = ALLOWED.iter().any(|(other, ..)| *other == next);
                let is_below = next == layer || layers.contains(&next);
                assert!(head != "crate" || !is_layer || is_below, "{}: {layer} must not use {path}", file.display());
                let is_outside = OUTSIDE.contains(&head);
                assert!(!is_outside || crates.contains(&head), "{}: {layer} must not use {path}", file.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 40, "{checked}");
}

#[test]
fn every_dependency_is_in_the_table() {
    let manifest = std::fs::read_to_string(project("Cargo.toml")).expect("readable");
    let sections =
        ["\n[dependencies]", "\n[target.\"cfg(unix)\".dependencies]", "\n[target.\"cfg(windows)\".dependencies]"];
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
    let readers: Vec<String> = READERS.iter().map(|reader| reader.name().replace('-', "_")).collect();
    for reader in &readers {
        let mut files = Vec::new();
        sources(&project("src/input").join(reader), &mut files);
        assert!(!files.is_empty(), "{reader} has no folder in src/input");
        for other in readers.iter().filter(|other| *other != reader) {
            for file in &files {
                assert!(!code_of(file).contains(&format!("{other}::")), "{} uses {other}", file.display());
            }
        }
    }
}

/// The file that a path of `file` leads to: `super::` and `crate::` are followed through the modules, and what a `mod.rs`
/// only passes on is looked for where it is. Names of files are modules of `src`, as `input/read`.
fn target_of(file: &str, path: &str, files: &[(String, String)]) -> Option<String> {
    let is_file = |name: &str| files.iter().any(|(file, _)| file == name);
    let mut parts: Vec<&str> = path.split("::").collect();
    let mut at: Vec<String> = file.split('/').map(String::from).collect();
    match parts[0] {
        "crate" => at.clear(),
        "super" | "self" => {}
        _ if is_file(&format!("{file}/{}", parts[0])) => {}
        _ => return None,
    }
    while matches!(parts.first(), Some(&"crate" | &"super" | &"self")) {
        if parts.remove(0) == "super" {
            at.pop();
        }
    }
    for part in parts.iter() {
        at.push(part.to_string());
        if !is_file(&at.join("/")) {
            at.pop();
            // Passed on by the folder's own file?
            let folder = at.join("/");
            let code = &files.iter().find(|(file, _)| *file == folder)?.1;
            let passed_on =
                code.split(';').filter(|line| line.trim_start().starts_with("pub") && line.contains(" use "));
            let from = passed_on
                .flat_map(|line| paths_in(&format!("{line};")))
                .find(|path| path.ends_with(&format!("::{part}")));
            return match from {
                Some(from) => target_of(&folder, &from, files).filter(|target| *target != folder),
                None => Some(folder),
            };
        }
    }
    // A folder around the file alone: how far something is visible.
    Some(at.join("/")).filter(|target| !file.starts_with(&format!("{target}/")))
}

/// No circle between the files of the readers' room: each can be understood with those it uses.
#[test]
fn files_of_readers_use_each_other_one_way() {
    let root = project("src");
    let mut paths = Vec::new();
    sources(&root.join("input"), &mut paths);
    let name_of = |path: &std::path::Path| {
        let name = path.strip_prefix(&root).expect("below src").with_extension("").to_string_lossy().into_owned();
        name.trim_end_matches("/mod").to_string()
    };
    let files: Vec<(String, String)> = paths.iter().map(|path| (name_of(path), code_of(path))).collect();
    let uses = |(file, code): &(String, String)| -> Vec<String> {
        let own: Vec<&str> =
            code.split(';').filter(|line| !line.trim_start().starts_with("pub") || !line.contains(" use ")).collect();
        let paths = paths_in(&own.join(";"));
        let mut targets: Vec<String> = paths.iter().filter_map(|path| target_of(file, path, &files)).collect();
        targets.retain(|target| target != file && files.iter().any(|(other, _)| other == target));
        targets
    };
    let mut left: Vec<(String, Vec<String>)> = files.iter().map(|file| (file.0.clone(), uses(file))).collect();
    assert!(left.iter().map(|(_, targets)| targets.len()).sum::<usize>() > 100);
    // Files that use none of those left are taken away until none is left but circles and what leads to them.
    loop {
        let names: Vec<String> = left.iter().map(|(file, _)| file.clone()).collect();
        let before = left.len();
        left.retain(|(_, targets)| targets.iter().any(|target| names.contains(target)));
        if left.len() == before {
            break;
        }
    }
    assert!(left.is_empty(), "circles: {left:#?}");
}

/// What a run has is in its `Session`; `main` decides that the process ends without giving it back.
#[test]
fn the_command_line_has_no_statics_and_leaks_nothing() {
    let mut files = Vec::new();
    sources(&project("src/cli"), &mut files);
    for file in files {
        let code = code_of(&file);
        let is_static = code.lines().any(|line| line.trim_start().trim_start_matches("pub ").starts_with("static "));
        assert!(!is_static, "{} has a static", file.display());
        let is_in_terminal = file.starts_with(project("src/cli/terminal"));
        assert!(is_in_terminal || !code.contains("process::exit"), "{} ends the process", file.display());
        let leaks = ["mem::forget", "Box::leak", ".leak()"].iter().any(|leak| code.contains(leak));
        assert!(!leaks, "{} leaks", file.display());
    }
}
