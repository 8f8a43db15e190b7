//! Layers and their crates, files and folders: who may use whom. A change of this table is a change of the design.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use heapdump::input::READERS;

use crate::common::cmd::project;

/// (layer, layers it may use, outside crates it may use)
const ALLOWED: [(&str, &[&str], &[&str]); 23] = [
    ("units", &[], &[]),
    ("names", &[], &["unicode_width"]),
    ("parallel", &[], &["rayon"]),
    ("sort", &[], &[]),
    ("regex", &[], &["regex_lite"]),
    ("escape", &[], &["serde", "serde_json"]),
    ("files", &["sort"], &["rustix", "signal_hook", "tempfile", "thiserror", "windows_sys"]),
    ("graph", &["parallel", "sort"], &["bytemuck", "petgraph", "rayon", "rustc_hash", "serde", "thiserror"]),
    ("allocations", &[], &["hashbrown", "rustc_hash"]),
    (
        "input",
        &["files", "graph", "allocations", "parallel", "regex", "sort"],
        &[
            "base64",
            "chrono",
            "flate2",
            "memchr",
            "nom",
            "rayon",
            "rustc_hash",
            "ruzstd",
            "serde",
            "serde_json",
            "tempfile",
            "thiserror",
            "twox_hash",
        ],
    ),
    (
        "analysis",
        &["graph", "allocations", "units", "parallel", "regex", "sort"],
        &["petgraph", "rayon", "regex_lite", "rustc_hash", "serde", "thiserror"],
    ),
    (
        "index",
        &["files", "graph", "parallel"],
        &["bytemuck", "memmap2", "rayon", "serde", "serde_json", "thiserror", "twox_hash"],
    ),
    (
        "dump",
        &["files", "graph", "allocations", "input", "analysis", "index", "units"],
        &["rayon", "serde", "thiserror"],
    ),
    ("filter", &["graph", "input", "analysis", "dump"], &["rayon", "rustc_hash", "thiserror", "unicode_width"]),
    (
        "answers",
        &["graph", "allocations", "input", "analysis", "dump", "filter", "names", "units", "parallel", "sort"],
        &["chrono", "hashbrown", "rayon", "rustc_hash", "serde", "shlex", "thiserror"],
    ),
    ("report", &["escape", "names", "units"], &["comfy_table", "csv", "serde", "serde_json", "textwrap"]),
    (
        "export",
        &[
            "files",
            "graph",
            "allocations",
            "input",
            "analysis",
            "dump",
            "filter",
            "answers",
            "escape",
            "units",
            "parallel",
            "sort",
        ],
        &[
            "bytes",
            "flate2",
            "inferno",
            "parquet",
            "petgraph",
            "rayon",
            "rustc_hash",
            "serde",
            "thiserror",
            "twox_hash",
        ],
    ),
    (
        "redact",
        &["files", "graph", "input", "analysis", "dump", "answers", "units"],
        &["flate2", "memchr", "rustc_hash", "ruzstd", "serde", "serde_json", "thiserror"],
    ),
    (
        "page",
        &["analysis", "dump", "answers", "escape", "names", "units", "sort"],
        &["serde", "serde_json", "thiserror"],
    ),
    (
        "collect",
        &["files", "input", "units", "sort"],
        &["chrono", "flate2", "memchr", "rustix", "serde", "serde_json", "thiserror"],
    ),
    ("mcp", &["files", "input", "index", "dump", "escape"], &["serde", "serde_json"]),
    (
        "explore",
        &["files", "graph", "analysis", "dump", "filter", "answers", "escape", "names", "report", "units", "sort"],
        &["base64", "crossterm", "rustix", "serde", "signal_hook", "terminal_size", "unicode_width"],
    ),
    (
        "cli",
        &[
            "explore",
            "collect",
            "mcp",
            "graph",
            "allocations",
            "input",
            "analysis",
            "index",
            "dump",
            "filter",
            "answers",
            "escape",
            "names",
            "report",
            "export",
            "page",
            "redact",
            "files",
            "units",
        ],
        &[
            "anstyle_query",
            "anyhow",
            "clap",
            "clap_complete",
            "clap_mangen",
            "rayon",
            "rustix",
            "serde_json",
            "sysinfo",
            "terminal_size",
            "windows_sys",
        ],
    ),
];

/// Crates that only their layer may name.
const OUTSIDE: [&str; 38] = [
    "anstyle_query",
    "anyhow",
    "arrayvec",
    "base64",
    "bytemuck",
    "bytes",
    "chrono",
    "clap",
    "clap_complete",
    "clap_mangen",
    "comfy_table",
    "crossterm",
    "csv",
    "flate2",
    "hashbrown",
    "inferno",
    "memchr",
    "memmap2",
    "nom",
    "parquet",
    "petgraph",
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
    "thiserror",
    "twox_hash",
    "unicode_width",
    "windows_sys",
];

/// A file of `src`, and what it names.
#[derive(Default)]
struct File {
    path: String,
    /// What it imports.
    uses: Vec<Use>,
    /// Paths in its code, with their lines: `crate::graph::NodeId`.
    named: Vec<(Vec<String>, usize)>,
    /// Names that its code begins paths with, beside imports.
    words: HashSet<String>,
    /// What it defines.
    items: HashSet<String>,
    /// Methods that it defines, and those that it calls, with their lines.
    methods: Vec<String>,
    calls: Vec<(String, usize)>,
    /// Files below it, each under the name of its module.
    modules: Vec<(String, Option<String>)>,
}

struct Use {
    /// By which name.
    name: String,
    path: Vec<String>,
    line: usize,
    /// Others may import it from here.
    is_public: bool,
}

impl Use {
    /// Without the star behind it.
    fn whole(&self) -> &[String] {
        &self.path[..self.path.len() - usize::from(self.name == "*")]
    }
}

/// Files by their modules: `graph/roots`; the crate itself is empty.
type Files = BTreeMap<String, File>;

/// Names and signs of code with their lines. Comments, texts and characters are left out, but texts in attributes are not.
fn tokens(code: &str) -> Vec<(&str, usize)> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let (mut found, mut line, mut rest) = (Vec::new(), 1, code);
    while let Some(c) = rest.chars().next() {
        let name = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let hashes = rest[name..].find(|c| c != '#').unwrap_or(0);
        let (length, is_kept) = match &rest[name..] {
            _ if rest.starts_with("/*") => (rest.find("*/").expect("the comment ends") + 2, false),
            _ if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), false),
            // Raw texts end as they begin.
            raw if matches!(&rest[..name], "r" | "br") && raw[hashes..].starts_with('"') => {
                let end = format!("\"{}", &raw[..hashes]);
                let start = name + hashes + 1;
                (start + rest[start..].find(&end).expect("the text ends") + end.len(), false)
            }
            _ if c == '"' => {
                let mut escaped = false;
                let end = rest[1..].find(|c| {
                    let is_end = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    is_end
                });
                (end.expect("the text ends") + 2, found.last().is_some_and(|(last, _)| *last == "="))
            }
            _ if rest.starts_with("'\\") => (rest[3..].find('\'').expect("the character ends") + 4, false),
            _ if c == '\'' && rest.chars().nth(2) == Some('\'') => {
                (rest.char_indices().nth(3).map_or(rest.len(), |(at, _)| at), false)
            }
            _ if rest.starts_with("::") => (2, true),
            _ if name > 0 => (name, true),
            _ => (c.len_utf8(), !c.is_whitespace()),
        };
        if is_kept {
            found.push((&rest[..length], line));
        }
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found
}

/// Leaves out what is compiled for unit tests alone.
fn without_tests<'c>(tokens: &[(&'c str, usize)]) -> Vec<(&'c str, usize)> {
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let is_test = ["#", "[", "cfg", "(", "test", ")", "]"].iter().zip(&tokens[at..]).all(|(a, (b, _))| a == b);
        if !is_test {
            kept.push(tokens[at]);
            at += 1;
            continue;
        }
        let mut depth = 0;
        at += 7;
        while let Some((token, _)) = tokens.get(at) {
            at += 1;
            depth += i32::from(["{", "(", "["].contains(token)) - i32::from(["}", ")", "]"].contains(token));
            if depth == 0 && ["}", ";"].contains(token) {
                break;
            }
        }
    }
    kept
}

/// Returns true if the function that begins here takes `self`.
fn is_method(tokens: &[(&str, usize)]) -> bool {
    let arguments = tokens.iter().skip_while(|(token, _)| *token != "(").skip(1);
    arguments.take_while(|(token, _)| ![":", ",", ")"].contains(token)).any(|(token, _)| *token == "self")
}

impl File {
    fn parse(path: &str, code: &str) -> File {
        let mut file = File { path: path.to_string(), ..File::default() };
        let tokens = without_tests(&tokens(code));
        let is_name = |token: &str| token.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let text = |at: usize| tokens.get(at).map_or("", |(text, _)| *text);
        let (mut at, mut paths) = (0, Vec::new());
        while at < tokens.len() {
            let (token, line) = tokens[at];
            let before = at.checked_sub(1).map_or("", text);
            match token {
                "path" if text(at + 2).ends_with(".rs\"") => paths.push(text(at + 2).trim_matches('"').to_string()),
                "mod" if text(at + 2) == ";" => {
                    let name = text(at + 1).to_string();
                    match paths.is_empty() {
                        true => file.modules.push((name, None)),
                        false => {
                            for own in paths.drain(..) {
                                let path = vec!["self".to_string(), own.trim_end_matches(".rs").to_string()];
                                file.uses.push(Use { name: name.clone(), path, line, is_public: false });
                                file.modules.push((name.clone(), Some(own)));
                            }
                        }
                    }
                    at += 2;
                }
                // Not the `use<..>` of a type.
                "use" if before != "+" => at = file.import(&tokens, at),
                "struct" | "enum" | "fn" | "trait" | "type" | "const" | "static" => {
                    if token == "fn" && is_method(&tokens[at..]) {
                        file.methods.push(text(at + 1).to_string());
                    }
                    _ = file.items.insert(text(at + 1).to_string())
                }
                // Not behind `..`.
                name if before == "."
                    && at.checked_sub(2).is_some_and(|at| text(at) != ".")
                    && is_name(name)
                    && ["(", "::"].contains(&text(at + 1)) =>
                {
                    file.calls.push((name.to_string(), line))
                }
                _ => {}
            }
            if is_name(token) && token != "use" {
                let mut path = vec![token.to_string()];
                while text(at + 1) == "::" && is_name(text(at + 2)) {
                    path.push(text(at + 2).to_string());
                    at += 2;
                }
                if before != "." && before != "::" {
                    file.words.insert(path[0].clone());
                }
                if path.len() > 1 && before != "::" {
                    file.named.push((path, line));
                }
            }
            at += 1;
        }
        file
    }

    /// Takes a `use` apart, from its first token on; returns where it ends.
    fn import(&mut self, tokens: &[(&str, usize)], start: usize) -> usize {
        let before = &tokens[start.saturating_sub(8)..start];
        let visible = before.iter().rposition(|(token, _)| ["pub", ";", "{", "}"].contains(token));
        let is_public = visible.is_some_and(|at| before[at].0 == "pub");
        let (mut open, mut path, mut alias) = (vec![], Vec::<String>::new(), None);
        for (at, &(token, line)) in tokens.iter().enumerate().skip(start + 1) {
            match token {
                "::" => {}
                "{" => open.push(path.clone()),
                "," | "}" | ";" => {
                    // Behind a brace nothing is left but what stands before it.
                    if tokens[at - 1].0 != "}" && !["{", ","].contains(&tokens[at - 1].0) {
                        let is_self = path.last().is_some_and(|last| last == "self") && path.len() > 1;
                        path.truncate(path.len() - usize::from(is_self));
                        let name = alias.take().or(path.last().cloned()).unwrap_or_default();
                        self.uses.push(Use { name, path, line, is_public });
                    }
                    if token == "}" {
                        open.pop();
                    }
                    path = open.last().cloned().unwrap_or_default();
                    if token == ";" {
                        return at;
                    }
                }
                _ if tokens[at - 1].0 == "as" => alias = Some(token.to_string()),
                "as" => {}
                _ => path.push(token.to_string()),
            }
        }
        tokens.len()
    }
}

/// All files that `lib.rs` leads to, with those of other systems.
fn sources() -> Files {
    let mut open = vec![(String::new(), "lib.rs".to_string())];
    let mut files = Files::new();
    while let Some((module, path)) = open.pop() {
        let code = std::fs::read_to_string(project("src").join(&path)).unwrap_or_else(|_| panic!("{path}"));
        let file = File::parse(&format!("src/{path}"), &code);
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (name, own_path) in &file.modules {
            let below =
                |name: &str| [&module, name].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
            let found = match own_path {
                Some(own) => (below(own.trim_end_matches(".rs")), format!("{folder}/{own}")),
                None => {
                    let flat = format!("{}.rs", below(name));
                    let is_flat = project("src").join(&flat).exists();
                    (below(name), if is_flat { flat } else { format!("{}/mod.rs", below(name)) })
                }
            };
            open.push(found);
        }
        files.insert(module, file);
    }
    files
}

/// A file, and whether a path leads to the whole of it or to something that it defines.
type Target = (String, bool);

/// What a name in a file stands for; what a file only passes on is looked for where it is. `None` for what is foreign.
fn look_up(files: &Files, at: &str, name: &str, steps: usize) -> Option<Target> {
    let below = format!("{at}/{name}").trim_start_matches('/').to_string();
    if files.contains_key(&below) {
        return Some((below, true));
    }
    let file = &files[at];
    if file.items.contains(name) || steps == 0 {
        return file.items.contains(name).then(|| (at.to_string(), false));
    }
    let mut imported = file.uses.iter().filter(|one| one.name == name);
    let imported = imported.find_map(|one| follow(files, at, &one.path, steps - 1));
    imported.or_else(|| {
        file.uses.iter().filter(|one| one.name == "*" && one.path[0] != name).find_map(|one| {
            let (whole, _) = follow(files, at, one.whole(), steps - 1)?;
            look_up(files, &whole, name, steps - 1)
        })
    })
}

/// Where a path leads; `None` outside the crate.
fn follow(files: &Files, module: &str, path: &[String], steps: usize) -> Option<Target> {
    let mut at = module.to_string();
    for (place, name) in path.iter().enumerate() {
        match name.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => at.truncate(at.rfind('/').unwrap_or(0)),
            name => match look_up(files, &at, name, steps) {
                Some((found, true)) => at = found,
                Some(item) => return Some(item),
                None if place > 0 => return Some((at, false)),
                None => return None,
            },
        }
    }
    Some((at, true))
}

/// Methods of this crate that are called as those of the standard library are.
const OF_STANDARD_TYPES: [&str; 14] = [
    "any",
    "chain",
    "extend",
    "filter",
    "metadata",
    "partition_point",
    "position",
    "replace",
    "resize",
    "reverse",
    "send",
    "split",
    "truncate",
    "values",
];

/// Whom each file uses, with a line that says so; not what it only passes on. How far something is visible, as in
/// `pub(in crate::graph)`, is no use.
fn uses_of(files: &Files) -> Vec<(&str, String, String)> {
    let mut uses = Vec::new();
    for (module, file) in files {
        let is_used = |one: &&Use| match one.name.as_str() {
            "*" if one.is_public => follow(files, module, one.whole(), 8)
                .is_some_and(|(whole, _)| !file.words.is_disjoint(&files[&whole].items)),
            name => !one.is_public || file.words.contains(name),
        };
        let imported = file.uses.iter().filter(is_used).map(|one| (&one.path, one.whole(), one.line));
        for (path, whole, line) in imported.chain(file.named.iter().map(|(path, line)| (path, &path[..], *line))) {
            let Some((target, is_whole)) = follow(files, module, whole, 8) else { continue };
            let is_around = is_whole && path.len() == whole.len() && is_in(module, &target);
            if target != *module && !is_around {
                uses.push((&**module, target, format!("{}:{line}: {}", file.path, path.join("::"))));
            }
        }
    }
    uses
}

/// Whom each file calls: the one file that defines a method of that name, with a line that calls it.
fn calls_of(files: &Files) -> Vec<(&str, String, String)> {
    let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (module, file) in files {
        file.methods.iter().for_each(|name| owners.entry(name).or_default().push(module));
    }
    owners.retain(|name, modules| modules.len() == 1 && !OF_STANDARD_TYPES.contains(name));
    let mut calls = Vec::new();
    for (module, file) in files {
        for (name, line) in &file.calls {
            if let Some(target) = owners.get(&**name).filter(|target| target[0] != module) {
                calls.push((&**module, target[0].to_string(), format!("{}:{line}: .{name}()", file.path)));
            }
        }
    }
    calls
}

fn is_in(module: &str, folder: &str) -> bool {
    folder.is_empty() || module.strip_prefix(folder).is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// A circle between the files and folders of one folder, by the lines that make it; empty if they use each other one way.
fn circle_in(folder: &str, uses: &[(&str, String, String)]) -> Vec<String> {
    let part = |module: &str| -> Option<String> {
        let inside = if folder.is_empty() { module } else { module.strip_prefix(folder)? };
        match inside.strip_prefix('/') {
            Some(below) => below.split('/').next().map(String::from),
            None if inside.is_empty() => Some("mod".to_string()),
            None => folder.is_empty().then(|| inside.split('/').next().unwrap_or_default().to_string()),
        }
    };
    let mut left: BTreeMap<String, BTreeMap<String, &str>> = BTreeMap::new();
    for (from, to, line) in uses {
        if let (Some(from), Some(to)) = (part(from), part(to))
            && from != to
        {
            left.entry(from).or_default().entry(to).or_insert(line);
        }
    }
    // Those that use none of the others that are left are in no circle, nor is what only they use.
    loop {
        let names: HashSet<String> = left.keys().cloned().collect();
        left.values_mut().for_each(|targets| targets.retain(|target, _| names.contains(target)));
        left.retain(|_, targets| !targets.is_empty());
        if left.len() == names.len() {
            break;
        }
    }
    let (mut way, mut lines) = (Vec::from_iter(left.keys().next().cloned()), Vec::new());
    while let Some((next, line)) = way.last().and_then(|last| left[last].first_key_value()) {
        lines.push(line.to_string());
        if let Some(start) = way.iter().position(|part| part == next) {
            return lines.split_off(start);
        }
        way.push(next.clone());
    }
    Vec::new()
}

/// The folders of all files, the crate's own first.
fn folders(files: &Files) -> BTreeSet<String> {
    files
        .keys()
        .flat_map(|module| module.match_indices('/').map(|(at, _)| module[..at].to_string()))
        .chain([String::new()])
        .collect()
}

fn circles(files: &Files) -> Vec<Vec<String>> {
    let uses = uses_of(files);
    folders(files).iter().map(|folder| circle_in(folder, &uses)).filter(|circle| !circle.is_empty()).collect()
}

fn made_up(sources: &[(&str, &str)]) -> Files {
    sources.iter().map(|(module, code)| (module.to_string(), File::parse(&format!("{module}.rs"), code))).collect()
}

#[test]
fn circles_are_found() {
    let files = |b: &str| {
        made_up(&[
            ("", "mod room;"),
            ("room", "mod a;\nmod b;\nmod c;\npub use a::{A, More};\npub use c::*;"),
            ("room/a", "use super::b::B;\npub struct A;\npub struct More;"),
            ("room/b", &format!("pub struct B;\n{b}")),
            ("room/c", "pub struct C;\nfn f(_: super::A) {}"),
        ])
    };
    let by_a = "room/a.rs:1: super::b::B";
    for (line, path) in [
        ("use crate::{room::{a::{More as Other}, b}, room};", "crate::room::a::More"),
        ("fn f() { crate::room::a::A }", "crate::room::a::A"),
        ("fn f() -> super::A {}", "super::A"),
        ("use crate::room;\nfn f(_: room::More) {}", "room::More"),
        ("use crate::room::{self as all};\nfn f(_: all::A) {}", "all::A"),
    ] {
        let found = circles(&files(line));
        let at = 1 + line.lines().count();
        assert_eq!(found, [[by_a.to_string(), format!("room/b.rs:{at}: {path}")]], "{line}");
    }
    let over_three = circles(&files("use super::C;"));
    assert_eq!(over_three, [[by_a, "room/b.rs:2: super::C", "room/c.rs:2: super::A"]]);
    for line in [
        "#[cfg(test)]\nmod tests { use super::super::a::A; }",
        "#[cfg(test)]\nuse super::a::A;",
        "/* super::a::A */ // super::a::A",
        "fn f<'c>(_: &'c str) { [\"super::a::A\", r#\"\"super::a::A\"#]; '\"'; b'\\''; \"\\\" super::a::A\" }",
        "pub(in crate::room) use std::fmt;",
        "impl A { fn f(&self) { self.a.b() } }",
    ] {
        assert_eq!(circles(&files(line)), Vec::<Vec<String>>::new(), "{line}");
    }
    let passed_on = made_up(&[
        ("", "mod room;"),
        ("room", "mod a;\npub use a::*;\nfn f(_: A) {}"),
        ("room/a", "pub struct A;\nfn g() { super::f() }"),
    ]);
    assert_eq!(circles(&passed_on), [["room/a.rs:2: super::f", "room.rs:2: a::*"]]);
    // Two folders that use each other, though no two of their files do.
    let folders = made_up(&[
        ("", "mod a;\nmod b;"),
        ("a", "pub mod x;\npub mod y;"),
        ("a/x", "use crate::b::x::X;\npub struct X;"),
        ("a/y", "pub struct Y;"),
        ("b", "mod x;\nmod y;"),
        ("b/x", "pub struct X;"),
        ("b/y", "use crate::a::y::Y;"),
    ]);
    assert_eq!(circles(&folders), [["a/x.rs:1: crate::b::x::X", "b/y.rs:1: crate::a::y::Y"]]);
}

#[test]
fn calls_of_methods_are_found() {
    let files = made_up(&[
        ("", "mod a;\nmod b;\nmod c;"),
        ("a", "impl A {\nfn only<T>(&'a mut self, x: u8) {}\nfn both(self: Box<Self>) {}\nfn none(of: &A) {}\n}"),
        ("b", "impl B { fn both(mut self) {} }"),
        (
            "c",
            "fn f(x: X) {\nx.only(1);\nx.y.only::<u8>(1);\nx.both();\nx.none();\nx.only;\nx.filter(1);\nX { ..only() };\n}",
        ),
    ]);
    let expected = [2, 3].map(|line| ("c", "a".to_string(), format!("c.rs:{line}: .only()")));
    assert_eq!(calls_of(&files), expected);
}

/// In every folder the files and folders use each other one way: each can be understood with those it uses.
#[test]
fn files_and_folders_use_each_other_one_way() {
    let files = sources();
    assert!(uses_of(&files).len() > 1000 && files.len() > 300);
    let circles = circles(&files);
    assert!(circles.is_empty(), "circles: {circles:#?}");
}

/// What a question needs of another lies in what they share.
#[test]
fn questions_are_apart() {
    let files = sources();
    let question =
        |module: &str| module.strip_prefix("answers/").and_then(|below| below.split('/').next()).map(String::from);
    for (from, to, line) in uses_of(&files).into_iter().chain(calls_of(&files)) {
        let (from, to) = (question(from), question(&to));
        assert!(from.is_none() || to.is_none() || from == to || to.as_deref() == Some("shared"), "{line}");
    }
}

#[test]
fn layers_use_only_what_lies_below_them() {
    let files = sources();
    let mut checked = 0;
    for (module, file) in &files {
        let layer = module.split('/').next().unwrap_or_default();
        let Some((_, layers, crates)) = ALLOWED.iter().find(|(name, ..)| *name == layer) else { continue };
        let imported = file.uses.iter().map(|one| (&one.path, one.line));
        for (path, line) in imported.chain(file.named.iter().map(|(path, line)| (path, *line))) {
            let (head, next) = (path[0].as_str(), path.get(1).map_or("", String::as_str));
            let is_layer = head == "crate" && ALLOWED.iter().any(|(other, ..)| *other == next);
            let is_below = next == layer || layers.contains(&next);
            let is_outside = OUTSIDE.contains(&head);
            let is_allowed = (!is_layer || is_below) && (!is_outside || crates.contains(&head));
            assert!(is_allowed, "{}:{line}: {layer} must not use {}", file.path, path.join("::"));
        }
        checked += 1;
    }
    assert!(checked > 300, "{checked}");
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
    let readers: Vec<String> =
        READERS.iter().map(|reader| format!("input/{}", reader.name().replace('-', "_"))).collect();
    let files = sources();
    assert!(readers.iter().all(|reader| files.contains_key(reader)), "a reader has no folder in src/input");
    let reader_of = |module: &str| readers.iter().find(|reader| is_in(module, reader));
    for (from, to, line) in uses_of(&files).into_iter().chain(calls_of(&files)) {
        let (from, to) = (reader_of(from), reader_of(&to));
        assert!(from.is_none() || to.is_none() || from == to, "{line}");
    }
}

/// What a run has is in its `Session`; `main` decides that the process ends without giving it back.
#[test]
fn the_command_line_has_no_statics_and_leaks_nothing() {
    for file in sources().values().filter(|file| file.path.starts_with("src/cli/")) {
        let code = std::fs::read_to_string(project(&file.path)).expect("readable");
        let tokens = without_tests(&tokens(&code));
        let has = |words: &[&str]| tokens.windows(words.len()).any(|at| at.iter().zip(words).all(|((a, _), b)| a == b));
        // The allocator of the program has no other place for what it knows.
        let may_have_statics = file.path == "src/cli/terminal/memory_watch.rs";
        let is_static = tokens.windows(2).any(|at| at[0].0 != "'" && at[1].0 == "static");
        assert!(!is_static || may_have_statics, "{} has a static", file.path);
        let is_in_terminal = file.path.starts_with("src/cli/terminal/");
        assert!(is_in_terminal || !has(&["process", "::", "exit"]), "{} ends the process", file.path);
        let leaks =
            [["mem", "::", "forget"], ["Box", "::", "leak"]].iter().any(|words| has(words)) || has(&[".", "leak"]);
        assert!(!leaks, "{} leaks", file.path);
    }
}
