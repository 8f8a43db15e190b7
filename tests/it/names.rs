//! Names on terminals of 60, 80 and 100 columns: lines are no wider, every name of a reference and every simple name of a
//! type that the same answer has as JSON stands whole, and nothing is cut inside of one.

use serde_json::Value;

use crate::common::cmd::{finish, heapdump};

const ZOO: &str = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
const SHOP: &str = "fixtures/hprof/shop-new.hprof.zst";
const NET: &str = "fixtures/nettrace/small-net9.nettrace.zst";
const GC: &str = "fixtures/gcdump/small-net9.gcdump.zst";
const PAGE: &str = "fixtures/v8_snapshot/page156.heapsnapshot.zst";
const GAME: &str = "fixtures/xna_cf/small_1k.txt";
const OLD_GAME: &str = "fixtures/xna_cf/pair_before.txt";
const NEW_GAME: &str = "fixtures/xna_cf/pair_after.txt";
const IBM: &str = "fixtures/ibm_classic/small.j9v5.txt.zst";
const TOTALS: &str = "fixtures/memory_infra/chromium66-heaps.trace.gz";

/// Questions whose answers have names, of every command and format. Limited, as JSON has all rows otherwise.
const CASES: &[&[&str]] = &[
    &["dominators", ZOO, "-n", "4", "--depth", "8"],
    &["dominators", SHOP, "-n", "5", "--depth", "6"],
    &["dominators", NET, "-n", "3", "--depth", "5"],
    &["dominators", GC, "-n", "3", "--depth", "5", "--bytes"],
    &["dominators", PAGE, "-n", "4", "--depth", "6"],
    &["dominators", GAME, "-n", "3", "--depth", "4"],
    &["dominators", ZOO, "--by", "loader", "-n", "8"],
    &["roots", "0xfd575620", ZOO, "--paths", "2", "--all-steps"],
    &["roots", "0xfd5c0330", ZOO, "--merge", "-n", "9"],
    &["roots", "--type", "java.lang.ref.SoftReference", ZOO, "-n", "3"],
    &["referrers", "--type", "String", ZOO, "--depth", "3", "-n", "4"],
    &["referrers", "--type", "Object", PAGE, "-n", "6"],
    &["show", "0xfd5bf118", ZOO, "-n", "12"],
    &["list", ZOO, "-t", "java.lang.Class", "-n", "5"],
    &["list", IBM, "-n", "8", "--sort", "retained"],
    &["stats", ZOO, "-n", "20"],
    &["stats", PAGE, "--retained", "-n", "12"],
    &["stats", NET, "--by", "module", "-n", "12"],
    &["stats", ZOO, "--by", "owner", "-n", "12"],
    &["stats", TOTALS, "-n", "8"],
    &["breakdown", SHOP, "--min-percent", "4"],
    &["diff", OLD_GAME, NEW_GAME, "-n", "9", "--retained"],
    &["trend", OLD_GAME, NEW_GAME, NEW_GAME, NEW_GAME, "-n", "6", "--min-growth", "0"],
    &["waste", ZOO, "-n", "3"],
    &["strings", ZOO, "--duplicates", "--holders", "-n", "5"],
    &["threads", "zoo-worker", ZOO],
];

fn text(args: &[&str], columns: usize) -> String {
    let mut command = heapdump(args);
    command.env("COLUMNS", columns.to_string()).env("LC_ALL", "C.UTF-8").env("NO_COLOR", "1");
    finish(command).expect_code(0).stdout
}

/// The names of references and the simple names of types in an answer.
fn names_in(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("reference", Value::String(name)) => found.push(name.clone()),
                    // Of a class object people are told the class; of a filter and a summary its words.
                    ("type", Value::String(name)) if !fields.contains_key("class") && !name.starts_with('<') => {
                        let end = name.find(['<', '(', ' ']).unwrap_or(name.len());
                        let start = name[..end].rfind('.').map_or(0, |at| at + 1);
                        found.push(name[start..].to_string());
                    }
                    ("class", Value::String(name)) => {
                        found.push(name[name.rfind('.').map_or(0, |at| at + 1)..].to_string());
                    }
                    // The first ones are shown.
                    ("holders", Value::Array(holders)) => {
                        holders.iter().take(3).for_each(|holder| names_in(holder, found));
                    }
                    _ => names_in(value, found),
                }
            }
        }
        Value::Array(rows) => rows.iter().for_each(|row| names_in(row, found)),
        _ => {}
    }
}

/// Line ends, indents and borders are taken out.
fn joined(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !"│┆→".contains(*c)).collect()
}

/// Texts and keys of 30 characters and more may lose their middle.
fn may_be_cut(name: &str) -> bool {
    name.split('"').any(|part| part.chars().count() >= 28)
}

#[test]
fn names_stand_whole_at_every_width() {
    let mut wrong = Vec::new();
    for args in CASES {
        let answer: Value = serde_json::from_str(&text(&[*args, &["-f", "json", "-q"]].concat(), 80)).expect("JSON");
        let mut names = Vec::new();
        names_in(&answer, &mut names);
        let has_types = !["trend", "breakdown"].contains(&args[0]) && !args.contains(&"--by");
        assert!(!names.is_empty() || !has_types, "{args:?}");
        for columns in [60, 80, 100] {
            let text = text(&[*args, &["--pretty", "-q"]].concat(), columns);
            let case = format!("{} at {columns}", args.join(" "));
            let wide = text.lines().filter(|line| line.chars().count() > columns);
            wrong.extend(wide.map(|line| format!("{case}: wider: {line}")));
            let inside = |line: &&str| {
                let chars: Vec<char> = line.chars().collect();
                let is_in = |c: char| c.is_alphanumeric() || c == '_';
                !line.contains('"')
                    && chars.windows(3).any(|three| three[1] == '…' && is_in(three[0]) && is_in(three[2]))
            };
            wrong.extend(text.lines().filter(inside).map(|line| format!("{case}: cut: {line}")));
            let whole = joined(&text);
            let missing = names.iter().filter(|name| !may_be_cut(name) && !whole.contains(&joined(name)));
            wrong.extend(missing.map(|name| format!("{case}: missing: {name}")));
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "{} of\n{}", wrong.len(), wrong.join("\n"));
}
