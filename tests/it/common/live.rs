//! Tests with real programs that may not be on this machine.

use std::io::Write;

use super::cmd::project;

/// Says that a test did not run, where it happened and for the end of the whole run. `why` begins with the program.
pub fn not_tested(why: &str) {
    println!("NOT TESTED: {why}");
    let folder = project("target/live");
    let file = || -> std::io::Result<()> {
        std::fs::create_dir_all(&folder)?;
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(folder.join("not-tested"))?;
        writeln!(file, "NOT TESTED: {why}")
    };
    file().expect("target/live can be written");
}

/// The same of a package that `tests/live/install` gets, with why it could not.
pub fn not_installed(name: &str) {
    let missing = std::fs::read_to_string(project("target/live/missing")).unwrap_or_default();
    let line = missing.lines().find(|line| line.starts_with(name)).map(str::to_string);
    not_tested(&line.unwrap_or_else(|| format!("{name}: not installed; tests/live/install gets it")));
}
