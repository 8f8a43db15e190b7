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

#[test]
fn the_readme_shows_real_output() {
    let path = project("README.md");
    let readme = std::fs::read_to_string(&path).expect("readable");
    let (real, commands) = with_real_outputs(&readme);
    assert!(commands >= 5, "{commands}");
    if is_update() {
        std::fs::write(&path, &real).expect("can be written");
    } else {
        assert!(readme == real, "HEAPDUMP_UPDATE=1 cargo test rewrites README.md, which should be\n{real}");
    }
}

#[test]
fn the_two_commands_of_the_readme_are_those_of_ci() {
    let readme = std::fs::read_to_string(project("README.md")).expect("readable");
    let ci = std::fs::read_to_string(project(".ci/run")).expect("readable");
    for command in ["cargo run --locked --release -- stats fixtures/xna_cf/pair_after.txt -n 10", "cargo test --locked"]
    {
        assert!(readme.contains(command) && ci.contains(command), "{command}");
    }
}
