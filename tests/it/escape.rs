//! Names from dumps, files and arguments, in every command and every output form: nothing steers a terminal, turns text
//! round, ends a line or hides (finding B7).

use std::path::Path;

use crate::common::cmd::{Ran, finish, heapdump, run, run_on_terminal, run_with_input};
use crate::common::fixtures::unpacked;
use crate::golden::forms;

const XNA: &str = "tests/inputs/escape_xna.txt";
const TRACE: &str = "tests/inputs/escape_memory_infra.json";
/// What no output may hold: C0 but the line end (and the tab between columns of TSV), DEL, C1, direction, separators, and
/// what shows nothing.
const HOSTILE: &str = "\u{1b}\u{7}\t\r\u{7f}\u{9b}\u{ad}\u{34f}\u{61c}\u{115f}\u{180e}\u{200b}\u{200d}\u{200f}\u{2028}\
                       \u{202e}\u{2060}\u{2067}\u{3164}\u{fe0f}\u{feff}\u{fff9}\u{1d173}\u{e0001}\u{e0041}\u{e0101}";

fn check(what: &str, ran: &Ran) {
    for line in ran.stdout.lines().chain(ran.stderr.lines()) {
        let is_raw = |ch: char| ch != '\t' && (ch.is_control() || HOSTILE.contains(ch));
        assert!(!line.contains(is_raw), "{what}: {line:?}");
    }
}

/// A dump whose type, class and section have every hostile character that a line of text may hold.
fn hostile_dump() -> String {
    let name: String = HOSTILE.chars().filter(|ch| !matches!(ch, '\t' | '\r')).collect();
    format!(
        "a 2 S{name} 1\nt 1 T{name};<&>\"|``\nt 2 System.RuntimeType\no 10 1 2000 20\no 20 1 2000\nr 10 4 0 1\nc S 2\n"
    )
}

/// A trace whose names have them all, line ends as well.
fn hostile_trace() -> String {
    let name = serde_json::to_string(&format!("N\n{HOSTILE};")).unwrap();
    format!(
        r#"{{"traceEvents": [{{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {{"name": {name}}}}},
        {{"ph": "M", "name": "process_labels", "pid": 1, "tid": 0, "ts": 0, "args": {{"labels": {name}}}}},
        {{"ph": "v", "name": {name}, "pid": 1, "tid": 0, "ts": 1000, "id": {name}, "args": {{"dumps": {{
        "level_of_detail": {name}, "heaps_v2": {{"version": 1, "maps": {{"nodes": [{{"id": 1, "name_sid": 1}}],
        "types": [{{"id": 0, "name_sid": 1}}], "strings": [{{"id": 1, "string": {name}}}]}},
        "allocators": {{{name}: {{"counts": [1], "sizes": [10], "nodes": [1], "types": [0]}}}}}}}}}}}}]}}"#
    )
}

const OBJECTS: [&str; 15] = [
    "info",
    "stats --retained",
    "stats --by domain",
    "stats --shallow",
    "list",
    "show 10",
    "roots 20",
    "roots --type T",
    "dominators --depth 3",
    "dominators --by type",
    "breakdown",
    "leaks",
    "referrers 20",
    "referrers --type T --depth 3",
    "stats --domain X",
];
const TOTALS: [&str; 4] = ["info", "stats", "breakdown", "breakdown --invert"];
const EXPORTS: [&str; 4] = [
    "export --to folded --min-bytes 0",
    "export --to flamegraph --min-bytes 0",
    "export --to memory-infra --min-bytes 0",
    "export --to dot --object 10",
];

fn each_command() -> impl Iterator<Item = (Vec<&'static str>, &'static str)> {
    let in_forms = |commands: &'static [&'static str], dump: &'static str| {
        commands
            .iter()
            .flat_map(move |command| forms().map(move |form| (command.split(' ').chain(["-f", form]).collect(), dump)))
    };
    let exports = EXPORTS.iter().map(|command| (command.split(' ').collect(), "dump"));
    let of_trace = (EXPORTS[2].split(' ').collect(), "trace");
    in_forms(&OBJECTS, "dump").chain(in_forms(&TOTALS, "trace")).chain(exports).chain([of_trace])
}

#[test]
fn no_form_lets_a_control_character_through() {
    let (dump, trace) = (hostile_dump(), hostile_trace());
    for (command, input) in each_command() {
        let text = if input == "dump" { &dump } else { &trace };
        let ran = run_with_input(&[&command[..], &["-"]].concat(), text.as_bytes());
        check(&format!("{command:?}"), &ran);
        assert_eq!(ran.code, if command.contains(&"X") { 2 } else { 0 }, "{command:?}: {}", ran.stderr);
    }
    for (file, command) in [(XNA, "stats"), (TRACE, "stats"), (TRACE, "breakdown")] {
        for form in forms() {
            check(&format!("{command} {file} {form}"), &run(&[command, file, "-f", form]).expect_code(0));
        }
    }
}

#[test]
fn no_command_steers_a_terminal() {
    let folder = temporary_folder("terminal");
    let name = |kind: &str| folder.join(format!("{kind}\u{1b}[31m\u{202e}\u{ad}"));
    std::fs::write(name("dump"), hostile_dump()).unwrap();
    std::fs::write(name("trace"), hostile_trace()).unwrap();
    let mut script = format!("export NO_COLOR=1; cd '{}'\n", folder.display());
    for (command, input) in each_command() {
        script += &format!("heapdump {} ./{input}* -q\n", command.join(" "));
    }
    for line in [
        "heapdump info ./*",
        "heapdump stats ./*",
        "heapdump diff ./d* ./d* --all",
        "heapdump diff ./t* ./t* --all",
        "heapdump index ./d*",
        "heapdump stats \"nofile$(printf '\\033[31m\\n')\"",
        "heapdump stats \"--$(printf '\\033[31m')\"",
        "heapdump stats \"-$(printf '\\302\\233')\"",
        "heapdump stats -f \"$(printf '\\033[31m\\302\\255')\"",
        "heapdump \"$(printf '\\033]0;title\\007')\"",
        "heapdump help \"$(printf '\\033]0;title\\007')\"",
        "heapdump export --to \"$(printf 'svg\\177')\" x",
    ] {
        script += &format!("{line}\n");
    }
    std::fs::write(folder.join("run.sh"), script).unwrap();
    let ran = run_on_terminal(&format!("sh '{}'", folder.join("run.sh").display()), 80);
    std::fs::remove_dir_all(&folder).unwrap();
    check("terminal", &ran);
    for expected in ["nofile\\u{1b}[31m", "'--\\u{1b}[31m' found", "'-\\u{9b}' found", "'svg\\u{7f}'", "wrote ", "│"]
    {
        assert!(ran.stdout.contains(expected), "{expected}: {}", ran.stdout);
    }
}

/// `from` in place of `to`, wherever it stands.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        out.extend([&rest[..at], to].concat());
        rest = &rest[at + from.len()..];
    }
    [&out, rest].concat()
}

/// Finding C6: pages of hostile dumps of all formats; names of threads and types, frames, what lies on stacks, texts.
#[test]
fn no_page_holds_a_raw_control_character() {
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let mut pages = vec![hostile_dump().into_bytes(), hostile_trace().into_bytes()];
    for (dump, words) in [
        ("fixtures/hprof/zoo-jdk17-serial.hprof.zst", &["Zoo", "zoo", "main", "Thread", "Bus"][..]),
        ("fixtures/hprof/android.hprof", &["java"]),
        ("fixtures/phd/every-record-v5-64bit.phd", &["java", "String"]),
    ] {
        let dump = words.iter().fold(unpacked(dump), |dump, word| {
            let mut bytes = if word.len() == 3 { "\u{1b}\u{9b}" } else { "\u{1b}\u{202e}" }.as_bytes().to_vec();
            bytes.resize(word.len(), 0x7f);
            replaced(&dump, word.as_bytes(), &bytes)
        });
        pages.push(dump);
    }
    for dump in ["fixtures/nettrace/small-net9.nettrace.zst", "fixtures/gcdump/small-net9.gcdump.zst"] {
        let dump = replaced(&unpacked(dump), &utf16("Demo"), &utf16("\u{1b}\u{9b}\u{202e}\u{2028}"));
        pages.push(replaced(&dump, b"Demo", b"\x1b\x7f\x07\x1b"));
    }
    let snapshot = unpacked("fixtures/v8_snapshot/page156.heapsnapshot.zst");
    pages.push(replaced(&snapshot, b"Array", br"\u001b\u009b\u202e\u2028\u007f"));
    let text = unpacked("fixtures/ibm_classic/small.native.txt.gz");
    pages.push(replaced(&text, b"java", "\u{1b}\u{9b}\u{202e}".as_bytes()));
    for (number, dump) in pages.iter().enumerate() {
        let ran = run_with_input(&["report", "-o", "-", "-"], dump).expect_code(0);
        assert!(ran.stdout.contains(r"\u{1b}"), "{number}: nothing hostile came through");
        check(&format!("page {number}"), &ran);
    }
}

#[test]
fn json_and_its_exports_hold_the_names_themselves() {
    let (dump, trace) = (hostile_dump(), hostile_trace());
    let type_name = dump.lines().find_map(|line| line.strip_prefix("t 1 ")).unwrap();
    let stats = run_with_input(&["stats", "-f", "json"], dump.as_bytes()).json();
    assert_eq!(stats["types"][0]["type"], type_name);
    let frame = format!("N\n{HOSTILE};");
    let stats = run_with_input(&["stats", "-f", "json"], trace.as_bytes()).json();
    assert_eq!((&stats["types"][0]["type"], &stats["heaps"][0]["allocator"]), (&frame.clone().into(), &frame.into()));
    let exported = run_with_input(&["export", "--to", "memory-infra"], trace.as_bytes()).expect_code(0).stdout;
    let again = run_with_input(&["stats", "-f", "json"], exported.as_bytes()).json();
    assert_eq!((&again["types"], &again["heaps"][0]["process"]), (&stats["types"], &stats["heaps"][0]["process"]));
}

#[test]
fn a_record_of_csv_is_one_line() {
    for form in ["csv", "tsv"] {
        let stats = run_with_input(&["stats", "-f", form], hostile_trace().as_bytes()).expect_code(0).stdout;
        assert_eq!((stats.lines().count(), stats.matches('\t').count() % 4), (2, 0), "{stats}");
        assert!(stats.contains("N\\u{a}\\u{1b}\\u{7}\\u{9}\\u{d}\\u{7f}\\u{9b}\\u{ad}"), "{stats}");
    }
}

/// Finding C13: what a spreadsheet would run, marked on request; numbers are numbers.
#[test]
fn no_cell_is_a_formula_where_that_is_asked_for() {
    let names = ["=HYPERLINK(1)", "+1+1", "-2+3", "@SUM(1)", "plain=1"];
    let lines = |kind: &dyn Fn(usize, &str) -> String| -> String {
        names.iter().enumerate().map(|(at, name)| kind(at + 1, name)).collect()
    };
    let dump = format!(
        "a 2 x 1\n{}{}c x 2\n",
        lines(&|at, name| format!("t {at} {name}\n")),
        lines(&|at, _| format!("o {at}0 {at} 20\nr {at}0 4 0 {at}\n"))
    );
    for form in ["csv", "tsv"] {
        let bare = run_with_input(&["stats", "-f", form], dump.as_bytes()).expect_code(0).stdout;
        let safe = run_with_input(&["stats", "-f", form, "--csv-safe"], dump.as_bytes()).expect_code(0).stdout;
        for name in names {
            assert!(bare.contains(name) && !bare.contains(&format!("'{name}")), "{bare}");
            assert_eq!(safe.contains(&format!("'{name}")), name != "plain=1", "{safe}");
        }
    }
    let folder = temporary_folder("csv_safe");
    let path = |name: &str| folder.join(name).display().to_string();
    std::fs::write(path("old"), &dump).unwrap();
    std::fs::write(path("new"), dump.replace("o 10 1 20\nr 10 4 0 1\n", "")).unwrap();
    let diff = run(&["diff", &path("old"), &path("new"), "-f", "csv", "--csv-safe"]).expect_code(0).stdout;
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(diff.contains(",-32,") && !diff.contains("'-32"), "{diff}");
    let ran = run_with_input(&["stats", "-f", "json", "--csv-safe"], dump.as_bytes()).expect_code(2);
    assert!(ran.stderr.contains("--csv-safe is of -f csv"), "{}", ran.stderr);
}

#[test]
fn arguments_that_are_not_unicode_are_repeated_harmlessly() {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        for bytes in [&b"--\xff\x1b[31m"[..], b"-f\xff\x1b", b"\xff\x1b[31m"] {
            let mut command = heapdump(&["stats"]);
            command.arg(std::ffi::OsStr::from_bytes(bytes));
            let ran = finish(command).expect_code(2);
            check("not Unicode", &ran);
        }
    }
}

#[test]
fn a_code_span_holds_any_name() {
    let stats = run_with_input(&["stats", "-f", "markdown"], hostile_dump().as_bytes()).expect_code(0).stdout;
    assert!(stats.contains("| ``` T\\u{1b}") && stats.contains("\"\\|`` ``` |"), "{stats}");
}

fn temporary_folder(name: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("escape_{name}_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// clap repeats what it cannot use; characters of Unicode's private planes stay what they are.
#[test]
fn wrong_arguments_are_repeated_without_their_controls() {
    for (words, expected) in [
        (&["st\u{1b}[31mats"][..], r"subcommand 'st\u{1b}[31mats'"),
        (&["stats", "--\u{1b}[31m\u{ad}"], r"argument '--\u{1b}[31m\u{ad}' found"),
        (&["stats", "-\u{9b}"], r"argument '-\u{9b}' found"),
        (&["stats", "-f", "cs\nv\u{e0041}"], r"value 'cs\u{a}v\u{e0041}' for '--format <FORM>'"),
        (&["stats", "-n", "\u{202e}1\u{100000}"], "value '\\u{202e}1\u{100000}' for"),
        (&["completions", "ba\u{7f}sh"], r"value 'ba\u{7f}sh' for '<SHELL>'"),
    ] {
        let ran = run(words).expect_code(2);
        check(expected, &ran);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.ends_with("try '--help'.\n"), "{}", ran.stderr);
    }
}
