//! Every command as on a terminal: how wide its lines are, which characters and colours they have.

use crate::common::cmd::{Ran, finish, heapdump, run_on_terminal};
use crate::golden::CASES;

const GAME: &str = "fixtures/xna_cf/small_1k.txt";
const BEFORE: &str = "fixtures/xna_cf/pair_before.txt";
const AFTER: &str = "fixtures/xna_cf/pair_after.txt";
const ZOO: &str = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
const NET: &str = "fixtures/nettrace/small-net9.nettrace.zst";
const PAGE: &str = "fixtures/v8_snapshot/page156.heapsnapshot.zst";
const RECORDED: &str = "fixtures/memory_infra/chromium66-heaps.trace.gz";

/// A case of the golden files as on a terminal of that many columns.
fn pretty(args: &[&str], columns: usize, settings: &[(&str, &str)]) -> Ran {
    let mut command = heapdump(&[args, &["--pretty", "-q"]].concat());
    command.env("COLUMNS", columns.to_string()).env("LC_ALL", "C.UTF-8").env("TERM", "xterm");
    command.envs(settings.iter().copied());
    finish(command).expect_code(0)
}

fn widest(lines: &[&str]) -> (usize, String) {
    lines.iter().map(|line| (line.chars().count(), line.to_string())).max().unwrap_or_default()
}

/// What is wide in other ways than the golden cases: deep trees, long names and paths, many columns.
const WIDE: &[&[&str]] = &[
    &["dominators", GAME, "--depth", "12"],
    &["dominators", ZOO, "--depth", "14", "-n", "4"],
    &["dominators", NET, "--depth", "10", "-n", "4", "--bytes"],
    &["dominators", NET, "--by", "package"],
    &["breakdown", ZOO, "--min-percent", "0.1"],
    &["breakdown", RECORDED, "--min-percent", "0.1", "--depth", "60"],
    &["breakdown", PAGE, "--min-percent", "0.1", "--depth", "60"],
    &["roots", "--type", "java.lang.String", ZOO],
    &["roots", "0xfd5c0330", ZOO, "--merge"],
    &["roots", "0xfd575620", ZOO, "--paths", "3"],
    &["referrers", "--type", "String", ZOO, "--depth", "5", "-n", "5"],
    &["show", "0xfd5bf118", ZOO],
    &["list", ZOO, "--values"],
    &["list", ZOO, "-t", "java.lang.Class", "--select", ".classLoader.name,.module.name", "-n", "5"],
    &["threads", "zoo-worker", ZOO],
    &["info", ZOO, "--properties"],
    &["leaks", PAGE],
    &["strings", PAGE, "--duplicates", "--holders"],
    &["stats", PAGE, "--retained"],
    &["trend", "--wide", BEFORE, BEFORE, BEFORE, AFTER, AFTER, AFTER, "--min-growth", "0"],
];

/// Whole words that are copied are not broken: paths, and patterns in quotes.
fn is_one_word(line: &str) -> bool {
    !line.trim().contains(' ') && line.contains(['/', '\''])
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut wider = Vec::new();
    let cases = CASES.iter().map(|(_, args)| *args).chain(WIDE.iter().copied());
    for args in cases {
        let name = args.join(" ");
        for columns in [40, 80, 120, 200] {
            let text = pretty(args, columns, &[("NO_COLOR", "1")]).stdout;
            let lines: Vec<&str> = text.lines().filter(|line| !is_one_word(line)).collect();
            let (width, line) = widest(&lines);
            if width > columns {
                wider.push(format!("{name} at {columns}: {width}: {line}"));
            }
        }
    }
    assert!(wider.is_empty(), "{}", wider.join("\n"));
}

#[test]
fn colours_are_there_only_where_they_are_wanted() {
    let mut coloured = 0;
    for (name, args) in CASES {
        let plain = pretty(args, 80, &[("NO_COLOR", "1")]).stdout;
        assert!(!plain.contains('\x1b'), "{name} has escapes under NO_COLOR");
        assert_eq!(plain, pretty(&[args, &["--color", "never"][..]].concat(), 80, &[]).stdout, "{name}");
        assert_eq!(plain, pretty(args, 80, &[("TERM", "dumb"), ("NO_COLOR", "")]).stdout, "{name}");
        let bold = pretty(args, 80, &[]).stdout;
        // For `less -R`: bold on and off and nothing else, every line by itself.
        for line in bold.lines() {
            let marks: Vec<&str> =
                line.split('\x1b').skip(1).map(|rest| rest.split('m').next().unwrap_or("")).collect();
            assert!(marks.chunks(2).all(|pair| pair == ["[1", "[0"]), "{name}: {line:?}");
        }
        // `trend` draws bars where colours are.
        let without = bold.replace("\x1b[1m", "").replace("\x1b[0m", "");
        assert!(without == plain || *name == "trend", "{name}: colours take no room\n{without}\n{plain}");
        coloured += usize::from(bold != plain);
    }
    assert!(coloured > CASES.len() / 2, "{coloured}");
}

#[test]
fn terminals_of_ascii_get_ascii() {
    for (name, args) in CASES {
        let shown = pretty(args, 80, &[("LC_ALL", "C"), ("NO_COLOR", "1")]).stdout;
        let plain = pretty(args, 80, &[("NO_COLOR", "1")]).stdout;
        assert_eq!(shown.lines().count(), plain.lines().count(), "{name}");
        for (shown, plain) in shown.lines().zip(plain.lines()) {
            assert!(shown.is_ascii(), "{name}: {shown}");
            assert_eq!(
                shown.chars().count(),
                plain.chars().count(),
                "{name}: columns stay where they are\n{shown}\n{plain}"
            );
        }
    }
}

/// `--pretty` in a pipe is what a terminal shows.
#[test]
fn a_pipe_can_have_what_a_terminal_has() {
    for (name, args) in CASES {
        let on_terminal = run_on_terminal(&format!("heapdump {} -q", args.join(" ")), 100).stdout;
        assert_eq!(pretty(args, 100, &[]).stdout, on_terminal, "{name}");
    }
}
