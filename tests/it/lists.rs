//! Lists that are walked: every reader with all that a format needs, every command with help.

use std::collections::BTreeSet;

use crate::common::cmd::{commands, project, run, run_on_terminal};
use heapdump::answers::diff::GROWTH_PERCENT;
use heapdump::answers::figure::{ColumnUnit, Figure, ID, RETAINED, SHALLOW};
use heapdump::answers::objects::ObjectsOptions;
use heapdump::answers::{
    BreakdownOptions, DiffBy, DominatorTreeOptions, GroupBy, HistogramOptions, InfoOfFiles, ReferrersOptions,
    RetainedBy, StringsOptions, ThreadsOptions, WasteOptions,
};
use heapdump::input::READERS;
use serde_json::Value;

/// Formats that no writer of `same_heap` writes, and what stands in for it.
const NOT_WRITTEN: [(&str, &str); 9] = [
    ("gcdump", "a .gcdump and a .nettrace of the same process are compared in dotnet.rs"),
    (
        "ruby-objspace",
        "every object holds its class, which the heaps of the others have not; compared with known figures in ruby.rs",
    ),
    ("jvm-histogram", "types alone; the fixtures' expected results are from a program of their own"),
    ("sos-dumpheap", "types alone; the fixtures' expected results are from a program of their own"),
    ("memory-infra", "allocation totals, no objects; written and read back in breakdown.rs"),
    ("pprof", "allocation totals, no objects"),
    ("gperftools", "allocation totals, no objects"),
    ("jemalloc", "allocation totals, no objects"),
    ("heapprofile", "allocation totals, no objects"),
];

/// The places that know every format, and which of them a new one has forgotten.
#[test]
fn every_reader_is_known_everywhere() {
    let text = |path: &str| std::fs::read_to_string(project(path)).unwrap_or_default();
    let (readme, glossary, fuzz) = (text("README.md"), text("docs/glossary.md"), text("fuzz/Cargo.toml"));
    let fixtures = crate::common::fixtures::all();
    let mut forgotten = Vec::new();
    for reader in READERS {
        let name = reader.name();
        let folder = name.replace('-', "_");
        let document = text(&format!("docs/formats/{name}.md"));
        let is_written = crate::same_heap::WRITERS.iter().any(|(written, _)| *written == name);
        let places = [
            (!reader.format().title.is_empty(), "a title".to_string()),
            (document.contains(&format!("`{name}`")), format!("docs/formats/{name}.md, which names `{name}`")),
            (document.contains("## Problems"), format!("a chapter \"Problems\" in docs/formats/{name}.md")),
            (readme.contains(&format!("(docs/formats/{name}.md)")), "a row in the README's table of formats".into()),
            (glossary.contains(&format!("`{name}`")), "a row in docs/glossary.md".into()),
            (
                !text(&format!("src/input/{folder}/problem_codes.rs")).is_empty(),
                format!("src/input/{folder}/problem_codes.rs"),
            ),
            (project(&format!("fixtures/{folder}/MANIFEST.md")).exists(), format!("fixtures/{folder}/MANIFEST.md")),
            (fixtures.iter().any(|fixture| fixture.format == name), format!("a dump in fixtures/{folder}")),
            (
                text(&format!("fuzz/fuzz_targets/{folder}.rs")).contains(&format!("\"{name}\"")),
                format!("fuzz/fuzz_targets/{folder}.rs"),
            ),
            (fuzz.contains(&format!("name = \"{folder}\"")), "a [[bin]] in fuzz/Cargo.toml".into()),
            (
                is_written != NOT_WRITTEN.iter().any(|(format, _)| *format == name),
                "a line in WRITERS of tests/it/same_heap.rs, or in NOT_WRITTEN with the reason".into(),
            ),
        ];
        forgotten
            .extend(places.into_iter().filter(|(is_there, _)| !is_there).map(|(_, place)| format!("{name}: {place}")));
    }
    assert!(forgotten.is_empty(), "missing:\n{}", forgotten.join("\n"));
    let mut names: Vec<&str> = READERS.iter().map(|reader| reader.name()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), READERS.len(), "names are unique");
}

/// What rows can be sorted by, of every command: a key of the rows and of docs/json.md, and the rows come in its order,
/// figures largest first, names from A on.
#[test]
fn every_order_is_a_figure_of_the_rows() {
    const GAME: &str = "fixtures/xna_cf/pair_after.txt";
    const ZOO: &str = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
    const TRACE: &str = "fixtures/memory_infra/chromium66-heaps.trace.gz";
    let stats = HistogramOptions { retained: Some(RetainedBy::Minimum), ..HistogramOptions::default() };
    let owners = HistogramOptions { group_by: GroupBy::Package, ..HistogramOptions::default() };
    let pair = format!("fixtures/xna_cf/pair_before.txt {GAME}");
    let functions = HistogramOptions { group_by: GroupBy::Function, ..HistogramOptions::default() };
    let asked: [(String, Vec<Figure>); 16] = [
        (format!("breakdown {TRACE} --by type --depth 1"), BreakdownOptions::ORDERS.to_vec()),
        (format!("diff {pair} --retained"), DiffBy::default().orders(true, true)),
        (format!("diff {TRACE} --dump 1,2"), DiffBy::default().orders(false, false)),
        (format!("diff {TRACE} --dump 1,2 --by function"), DiffBy::Groups(GroupBy::Function).orders(false, false)),
        (format!("dominators {GAME}"), DominatorTreeOptions::ORDERS.to_vec()),
        (format!("dominators {GAME} --by type"), vec![RETAINED, SHALLOW]),
        (format!("info {pair} {ZOO} {TRACE}"), InfoOfFiles::ORDERS.to_vec()),
        ("list fixtures/v8_snapshot/allocations.heapsnapshot".to_string(), ObjectsOptions::ORDERS.to_vec()),
        (format!("referrers --type List {GAME}"), ReferrersOptions::ORDERS.to_vec()),
        (format!("stats {GAME} --retained"), stats.orders(true, false)),
        (format!("stats {GAME} --by package"), owners.orders(true, false)),
        (format!("stats {TRACE} --by function"), functions.orders(false, true)),
        (format!("stats {TRACE}"), HistogramOptions::default().orders(false, true)),
        (format!("strings {ZOO}"), StringsOptions::ORDERS.to_vec()),
        (format!("threads {ZOO}"), ThreadsOptions::ORDERS.to_vec()),
        (format!("waste {ZOO} --kind empty-collections"), WasteOptions::ORDERS.to_vec()),
    ];
    let sorting = commands().into_iter().filter(|name| run(&[name, "--help"]).stdout.contains("--sort <COLUMN>"));
    for name in sorting.filter(|name| !["help", "completions"].contains(&name.as_str())) {
        assert!(
            asked.iter().any(|(line, _)| line.split(' ').next() == Some(&name)),
            "no line asks for an order of {name}"
        );
    }
    let (completions, mut asked_before) = (run(&["completions", "bash"]).expect_code(0).stdout, BTreeSet::new());
    let documented = std::fs::read_to_string(project("docs/json.md")).expect("readable");
    for (line, figures) in asked {
        let words: Vec<&str> = figures.iter().map(|figure| figure.sort_word).collect();
        let wrong = run(&line.split(' ').chain(["--sort", "?"]).collect::<Vec<_>>()).expect_code(2).stderr;
        let known: Vec<&str> = wrong.trim_end().rsplit("there are: ").next().unwrap_or_default().split(", ").collect();
        assert!(words.iter().all(|word| known.contains(word)), "{line}: {words:?} of {known:?}");
        // Of several lines of a command the first has what is completed.
        if asked_before.insert(line.split(' ').next().unwrap_or_default().to_string()) {
            assert!(completions.contains(&format!("\"{}\"", words.join(" "))), "{line}: {words:?} in completions");
        }
        let sorted = |word: &str| {
            let words: Vec<&str> = line.split(' ').chain(["-q", "-n", "0", "-f", "jsonl", "--sort", word]).collect();
            run(&words).expect_code(0).stdout
        };
        // Shares of growth are drawn for people alone.
        for figure in figures.into_iter().filter(|figure| *figure != GROWTH_PERCENT) {
            let text = sorted(figure.sort_word);
            assert!(text == sorted(figure.key), "{line}: --sort {} is --sort {}", figure.key, figure.sort_word);
            assert!(documented.contains(&format!("`{}`", figure.key)), "{line}: `{}` in docs/json.md", figure.key);
            let rows: Vec<Value> = text.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
            // Each heap has its own order, in which what a tree begins with and what is left over have no place.
            let is_of_first_heap = |row: &Value| ["pid", "allocator"].iter().all(|key| row[*key] == rows[0][*key]);
            let is_rest = |row: &Value| row["depth"] == 0 || row["kind"] == "self" || row["kind"] == "other";
            let is_ordered = |row: &&Value| is_of_first_heap(row) && !is_rest(row);
            let values: Vec<&Value> = rows.iter().filter(is_ordered).map(|row| &row[figure.key]).collect();
            let is_key = rows.iter().all(|row| row.get(figure.key).is_some());
            assert!(is_key && values.len() > 1, "{line}: {} is a key of all {} rows", figure.key, rows.len());
            let is_in_order = match figure.unit {
                // By section and number.
                _ if figure == ID => true,
                ColumnUnit::Text | ColumnUnit::Word => values.is_sorted_by_key(|value| value.as_str()),
                _ => values.is_sorted_by_key(|value| std::cmp::Reverse(value.as_i64())),
            };
            assert!(is_in_order, "{line} --sort {}: {values:?}", figure.sort_word);
        }
    }
}

/// Codes that a source file declares.
fn codes_in(path: &str) -> Vec<String> {
    let source = std::fs::read_to_string(project(path)).expect(path);
    let calls = ["warning(", "note("];
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
        let codes = codes_in(&format!("src/input/{}/problem_codes.rs", reader.replace('-', "_")));
        assert!(codes.len() >= 3);
        for code in codes.iter().map(String::as_str).chain(["broken-compression"]) {
            assert!(document.contains(&format!("`{code}`")), "{reader}: {code} is not documented");
        }
        documents += &document;
    }
    let shared = codes_in("src/input/problem_codes.rs");
    assert!(shared.len() >= 9);
    for code in shared {
        assert!(documents.contains(&format!("`{code}`")), "{code} is not documented");
    }
}

#[test]
fn every_command_has_help_with_an_example() {
    for command in commands() {
        let long = run(&[&command, "--help"]).expect_code(0).stdout;
        assert!(long.contains(&format!("Example: heapdump {command}")), "{command}:\n{long}");
        let short = run(&[&command, "-h"]).expect_code(0).stdout;
        assert!(short.lines().count() <= 40, "{command}:\n{short}");
    }
}

#[test]
fn every_command_is_in_one_group_of_the_help() {
    let help = run(&["--help"]).expect_code(0).stdout;
    for command in commands() {
        let lines =
            help.lines().filter(|line| line.split_whitespace().next() == Some(&command) && line.starts_with("  "));
        assert_eq!(lines.count(), 1, "{command}:\n{help}");
    }
    assert!(!help.contains("More:"), "a command is in no group:\n{help}");
}

#[test]
fn help_fits_a_narrow_terminal() {
    for command in commands().into_iter().chain([String::new()]) {
        for help in ["-h", "--help"] {
            let line = format!("NO_COLOR=1 heapdump {command} {help}");
            let ran = run_on_terminal(&line, 80);
            let widest = ran.stdout.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= 80, "{command} {help}: {widest}\n{}", ran.stdout);
        }
    }
}
