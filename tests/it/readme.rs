//! Every command that the README shows gives the output that the README shows.

use crate::common::cmd::{project, run_on_terminal};
use crate::common::expect::is_update;

const COLUMNS: usize = 100;

/// The README with the outputs in its console blocks as they are now, and how many commands they show.
fn with_real_outputs(readme: &str) -> (String, usize) {
    let mut text = String::new();
    let mut commands = 0;
    let mut in_block = false;
    for line in readme.lines() {
        if line == "```console" {
            in_block = true;
        } else if in_block && line == "```" {
            in_block = false;
        } else if in_block {
            if let Some(command) = line.strip_prefix("$ ") {
                let ran = run_on_terminal(&format!("NO_COLOR=1; export NO_COLOR; {command}"), COLUMNS);
                text += &format!("{line}\n{}", ran.stdout);
                commands += 1;
            }
            continue;
        }
        text += &format!("{line}\n");
    }
    (text, commands)
}

/// Checks the outputs of a document, or renews them, and says how many commands it shows.
fn check(name: &str) -> usize {
    let path = project(name);
    let text = std::fs::read_to_string(&path).expect("readable");
    let (real, commands) = with_real_outputs(&text);
    if is_update() {
        std::fs::write(&path, &real).expect("can be written");
    } else {
        assert!(text == real, "HEAPDUMP_UPDATE=1 cargo test rewrites {name}, which should be\n{real}");
    }
    commands
}

#[test]
fn the_readme_shows_real_output() {
    assert!(check("README.md") >= 5);
}

#[test]
fn the_readme_is_short_and_begins_with_a_leak() {
    let readme = std::fs::read_to_string(project("README.md")).expect("readable");
    assert!(readme.lines().count() <= 200, "at most 200 lines; what is more belongs to docs/guide.md");
    let leak = readme.lines().position(|line| line == "## Finding a leak in five minutes").expect("there");
    assert!(leak < 60, "line {leak}");
}

#[test]
fn documents_show_real_output() {
    let mut commands = 0;
    for entry in std::fs::read_dir(project("docs")).expect("readable") {
        let name = entry.expect("readable").file_name().into_string().expect("a name");
        if name.ends_with(".md") {
            commands += check(&format!("docs/{name}"));
        }
    }
    assert!(commands >= 20, "{commands}");
}

/// Links of a document to files of the project, with the folder of the document before them.
fn links(name: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(project(name)).expect("readable");
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    targets
        .filter(|target| !target.contains("://"))
        .map(|target| target.split_once('#').unwrap_or((target, "")))
        .map(|(path, anchor)| {
            let path = if path.is_empty() { name.to_string() } else { format!("{folder}/{path}") };
            (path.trim_start_matches('/').to_string(), anchor.to_string())
        })
        .collect()
}

/// Headings of a document as links name them.
fn anchors(path: &std::path::Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    headings
        .map(|heading| heading.to_lowercase().replace(' ', "-"))
        .map(|heading| heading.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect())
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let mut names = vec!["README.md".to_string(), "CONTRIBUTING.md".into(), "CHANGELOG.md".into()];
    for entry in std::fs::read_dir(project("docs")).expect("readable") {
        let name = entry.expect("readable").file_name().into_string().expect("a name");
        names.extend(name.ends_with(".md").then(|| format!("docs/{name}")));
    }
    let mut dead = Vec::new();
    for name in &names {
        for (path, anchor) in links(name) {
            let file = project(&path);
            if !file.exists() || (!anchor.is_empty() && !anchors(&file).contains(&anchor)) {
                dead.push(format!("{name}: {path}#{anchor}"));
            }
        }
    }
    assert!(dead.is_empty(), "{dead:#?}");
}

#[test]
fn the_two_commands_of_the_readme_are_those_of_ci() {
    let readme = std::fs::read_to_string(project("README.md")).expect("readable");
    let ci = std::fs::read_to_string(project(".ci/run")).expect("readable");
    for command in
        ["cargo run --locked --release -- stats fixtures/xna_cf/pair_after.txt -n 10", "cargo test --locked --release"]
    {
        assert!(readme.contains(command) && ci.contains(command), "{command}");
    }
}
