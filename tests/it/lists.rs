//! Things that are listed once must be complete everywhere: readers with their documents and fixtures, commands with help.

use crate::common::cmd::{project, run, run_on_terminal};
use heapdump::input::READERS;

#[test]
fn every_reader_has_its_document_and_fixtures() {
    let mut names: Vec<&str> = READERS.iter().map(|reader| reader.name()).collect();
    for reader in READERS {
        let name = reader.name();
        let document = std::fs::read_to_string(project(&format!("docs/formats/{name}.md"))).expect(name);
        assert!(document.contains(&format!("`{name}`")) && document.contains("## Problems"), "{name}");
        let folder = project("fixtures").join(name.replace('-', "_"));
        assert!(folder.join("MANIFEST.md").exists(), "{name} needs a MANIFEST.md");
        let dumps = crate::common::fixtures::all().into_iter().filter(|fixture| fixture.format == name).count();
        assert!(dumps > 0, "{name} has no fixture");
        assert!(!reader.title().is_empty());
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), READERS.len(), "names are unique");
}

/// Codes that a source file declares.
fn codes_in(path: &str) -> Vec<String> {
    let source = std::fs::read_to_string(project(path)).expect(path);
    let calls = ["Code::warning(", "Code::note("];
    let pieces = calls.iter().flat_map(|call| source.split(call).skip(1));
    pieces.map(|piece| piece.split('"').nth(1).expect("a name").to_string()).collect()
}

/// Codes that the readers' sources declare, which must all stand in the format's document; those that formats share, in
/// that of some format.
#[test]
fn every_problem_code_is_documented() {
    let mut documents = String::new();
    for reader in READERS.iter().map(|reader| reader.name()) {
        let document = std::fs::read_to_string(project(&format!("docs/formats/{reader}.md"))).expect(reader);
        let codes = codes_in(&format!("src/input/{}/codes.rs", reader.replace('-', "_")));
        assert!(codes.len() >= 5);
        for code in codes.iter().map(String::as_str).chain(["broken-compression"]) {
            assert!(document.contains(&format!("`{code}`")), "{reader}: {code} is not documented");
        }
        documents += &document;
    }
    let shared = codes_in("src/input/codes.rs");
    assert!(shared.len() >= 9);
    for code in shared {
        assert!(documents.contains(&format!("`{code}`")), "{code} is not documented");
    }
}

const COMMANDS: [&str; 13] = [
    "info",
    "stats",
    "list",
    "show",
    "roots",
    "dominators",
    "leaks",
    "breakdown",
    "diff",
    "export",
    "index",
    "completions",
    "man",
];
/// Commands that read no dump.

#[test]
fn every_command_has_help_with_an_example() {
    let overview = run(&["--help"]).expect_code(0).stdout;
    for command in COMMANDS {
        assert!(overview.contains(&format!("  {command}")), "{command}");
        let long = run(&[command, "--help"]).expect_code(0).stdout;
        assert!(long.contains(&format!("Example: heapdump {command}")), "{command}:\n{long}");
        let short = run(&[command, "-h"]).expect_code(0).stdout;
        assert!(short.lines().count() <= 40, "{command}:\n{short}");
    }
}

#[test]
fn help_fits_a_narrow_terminal() {
    for command in COMMANDS.iter().copied().chain([""]) {
        for help in ["-h", "--help"] {
            let line = format!("NO_COLOR=1 heapdump {command} {help}");
            let Some(ran) = run_on_terminal(&line, 80) else {
                println!("skipped: no `script` program to make a terminal");
                return;
            };
            let widest = ran.stdout.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= 80, "{command} {help}: {widest}\n{}", ran.stdout);
        }
    }
}
