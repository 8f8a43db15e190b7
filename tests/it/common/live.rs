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
