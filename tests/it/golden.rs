//! What commands print, against the files under `tests/expected`: every command, in every form, and on terminals.
//!
//! `HEAPDUMP_UPDATE=1 cargo test --locked --test it -- golden readme` rewrites the files (and the outputs in the README) and removes
//! those that no case here is about.

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::cmd::{commands, project, run, run_on_terminal};
use crate::common::expect::{expect_file, is_update};
use heapdump::report::Format;

const SEED: &str = "fixtures/xna_cf/01_seed_xna.txt";
const GAME: &str = "fixtures/xna_cf/small_1k.txt";
const BEFORE: &str = "fixtures/xna_cf/pair_before.txt";
const AFTER: &str = "fixtures/xna_cf/pair_after.txt";
const JAVA: &str = "fixtures/ibm_classic/seed-asprinted.txt";
const ZOO: &str = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
const TOTALS: &str = "fixtures/memory_infra/seed-example.trace";
const RECORDED: &str = "fixtures/memory_infra/chromium66-heaps.trace.gz";

/// The forms that all commands have.
pub fn forms() -> impl Iterator<Item = &'static str> + Clone {
    Format::WORDS.iter().map(|(word, _)| *word)
}

/// (folder under `tests/expected`, arguments), in every form.
pub const CASES: &[(&str, &[&str])] = &[
    ("info", &["info", SEED]),
    ("stats", &["stats", GAME, "-n", "5"]),
    ("stats-package", &["stats", GAME, "--by", "package"]),
    ("stats-retained", &["stats", GAME, "--retained", "exact", "-n", "5", "--sort", "retained"]),
    ("list", &["list", GAME, "-n", "5", "--sort", "retained"]),
    ("show", &["show", "1#7fe45", GAME]),
    ("roots", &["roots", "1#7c44f", GAME, "--paths", "2"]),
    ("dominators", &["dominators", GAME, "-n", "2", "--depth", "3"]),
    ("roots-inferred", &["roots", "0x00438130", JAVA]),
    ("roots-java", &["roots", "0x70051280", "fixtures/hprof/android.hprof"]),
    ("roots-type", &["roots", "--type", "BubbleGame.Level", GAME]),
    ("referrers", &["referrers", "--type", "BubbleGame.Level", GAME, "--depth", "2", "-n", "3"]),
    ("leaks", &["leaks", GAME]),
    ("threads", &["threads", "fixtures/hprof/zoo-jdk17-serial.hprof.zst"]),
    ("threads-of-one", &["threads", "worker", "fixtures/hprof/out-of-memory.hprof"]),
    ("strings", &["strings", ZOO, "--duplicates", "--holders", "-n", "5"]),
    ("waste", &["waste", ZOO, "-n", "3"]),
    ("diff", &["diff", BEFORE, AFTER, "--retained", "-n", "3"]),
    ("trend", &["trend", BEFORE, BEFORE, AFTER, AFTER, "-n", "5", "--min-growth", "0"]),
    ("breakdown", &["breakdown", TOTALS]),
    ("breakdown-both", &["breakdown", TOTALS, "--by", "both"]),
    ("breakdown-callers", &["breakdown", RECORDED, "--invert", "--process", "Browser", "--min-percent", "5"]),
    ("breakdown-objects", &["breakdown", GAME, "--min-percent", "10"]),
    ("breakdown-object", &["breakdown", "1#7fe2d", GAME, "--min-percent", "10", "--depth", "4"]),
    ("info-allocations", &["info", "fixtures/memory_infra/chromium120-heaps_v2.trace.gz"]),
    ("stats-allocations", &["stats", RECORDED, "-n", "5"]),
    ("diff-allocations", &["diff", RECORDED, "--dump", "1,8", "--by", "backtrace", "-n", "5"]),
];

/// (folder, command line, columns) on a terminal.
const ON_TERMINALS: &[(&str, &str, &[usize])] = &[
    ("info", "info fixtures/xna_cf/01_seed_xna.txt", &[80, 200]),
    ("stats", "stats fixtures/xna_cf/small_1k.txt -n 5", &[80, 200]),
    ("list", "list fixtures/xna_cf/small_1k.txt -n 5", &[80, 200]),
    ("show", "show 1#7fe45 fixtures/xna_cf/small_1k.txt", &[80, 200]),
    ("roots", "roots 1#7c44f fixtures/xna_cf/small_1k.txt", &[80, 200]),
    ("roots-java", "roots 0x70051280 fixtures/hprof/android.hprof", &[80, 200]),
    ("dominators", "dominators fixtures/xna_cf/small_1k.txt -n 2 --depth 3", &[80, 200]),
    ("roots-type", "roots --type Level fixtures/xna_cf/small_1k.txt", &[80, 200]),
    ("roots-type-largest", "roots --type java.lang.String fixtures/hprof/zoo-jdk17-serial.hprof.zst", &[40, 80]),
    ("referrers", "referrers 0xfd5c0330 fixtures/hprof/zoo-jdk17-serial.hprof.zst --depth 3", &[80, 200]),
    ("leaks", "leaks fixtures/xna_cf/small_1k.txt", &[80, 200]),
    ("threads", "threads fixtures/hprof/zoo-jdk17-serial.hprof.zst", &[80, 200]),
    ("threads-of-one", "threads zoo-worker fixtures/hprof/zoo-jdk17-serial.hprof.zst", &[80, 200]),
    ("strings", "strings fixtures/hprof/zoo-jdk17-serial.hprof.zst -q --duplicates --holders -n 5", &[80, 200]),
    ("waste", "waste fixtures/hprof/zoo-jdk17-serial.hprof.zst -q", &[100, 200]),
];

/// Cases of allocation totals, whose tables may be wider than the terminal.
const ALLOCATIONS_ON_TERMINALS: [&str; 8] = [
    "breakdown",
    "breakdown-both",
    "breakdown-callers",
    "breakdown-objects",
    "breakdown-object",
    "info-allocations",
    "stats-allocations",
    "diff-allocations",
];

#[test]
fn every_command_in_every_form() {
    for (name, args) in CASES {
        for form in forms() {
            let args = [args, &["-f", form, "-q"][..]].concat();
            expect_file(&format!("{name}/{form}.txt"), &run(&args).expect_code(0).stdout);
        }
    }
}

#[test]
fn every_command_on_a_terminal() {
    for (name, line, widths) in ON_TERMINALS {
        for &columns in *widths {
            let ran = run_on_terminal(&format!("heapdump {line} --color never"), columns).expect_code(0);
            expect_file(&format!("{name}/terminal-{columns}.txt"), &ran.stdout);
        }
    }
    for name in ALLOCATIONS_ON_TERMINALS {
        let (_, args) = CASES.iter().find(|(case, _)| *case == name).expect("a case");
        let ran = run_on_terminal(&format!("heapdump {} --color never -q", args.join(" ")), 100);
        expect_file(&format!("{name}/terminal-100.txt"), &ran.stdout);
    }
}

/// Commands that answer no question about a dump in a form of text; the page and the server have tests of their own.
const NO_ANSWER: [&str; 9] = ["collect", "explore", "export", "index", "completions", "man", "mcp", "redact", "report"];

#[test]
fn every_command_that_answers_has_a_case() {
    for command in commands().iter().filter(|command| !NO_ANSWER.contains(&command.as_str())) {
        assert!(CASES.iter().any(|(_, args)| args[0] == command), "{command} needs a line in CASES");
    }
}

/// Files below a folder, by their path from it.
fn files_below(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        match path.is_dir() {
            true => found.extend(files_below(&path).into_iter().map(|below| format!("{name}/{below}"))),
            false => drop(found.insert(name)),
        }
    }
    found
}

#[test]
fn no_expected_output_is_left_over() {
    let in_forms = CASES.iter().flat_map(|(name, _)| forms().map(move |form| format!("{name}/{form}.txt")));
    let terminals = ON_TERMINALS
        .iter()
        .flat_map(|(name, _, widths)| widths.iter().map(move |columns| format!("{name}/terminal-{columns}.txt")));
    let allocations = ALLOCATIONS_ON_TERMINALS.iter().map(|name| format!("{name}/terminal-100.txt"));
    let wanted: BTreeSet<String> = in_forms.chain(terminals).chain(allocations).collect();
    let folder = project("tests/expected");
    for file in files_below(&folder).difference(&wanted) {
        assert!(is_update(), "tests/expected/{file} is of no case; HEAPDUMP_UPDATE=1 cargo test removes it");
        std::fs::remove_file(folder.join(file)).expect("can be removed");
        // Where it was the last one.
        let _ = std::fs::remove_dir(folder.join(file).parent().expect("a folder"));
    }
}
