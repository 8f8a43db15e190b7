//! `heapdump report`: the page's figures are those of the other commands, its sums are exact, its commands run, names are
//! inert; and a real browser looks at it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::cmd::{Ran, finish, heapdump, project, run};

const BEFORE: &str = "fixtures/xna_cf/pair_before.txt";
const AFTER: &str = "fixtures/xna_cf/pair_after.txt";
/// A dump of each kind: of objects with and without modules, inferred roots, allocation totals, a cut one, an empty one.
const DUMPS: [&str; 9] = [
    AFTER,
    "fixtures/gcdump/small-net9.gcdump.zst",
    "fixtures/nettrace/ranges-net9.nettrace.zst",
    "fixtures/ibm_classic/small.native.txt.gz",
    "fixtures/memory_infra/seed-heaps_v2.trace",
    "fixtures/memory_infra/chromium66-heaps.trace.gz",
    "fixtures/hprof/zoo-jdk17-serial.hprof.zst",
    "fixtures/hprof/android.hprof",
    "fixtures/v8_snapshot/page156.heapsnapshot.zst",
];

fn page_of(args: &[&str]) -> String {
    run(&[&["report", "-q", "-o", "-"], args].concat()).expect_code(0).stdout
}

/// What the page's script reads.
fn data_of(page: &str) -> Value {
    let start = "<script type=\"application/json\" id=\"data\">";
    let json = page.split(start).nth(1).and_then(|rest| rest.split("</script>").next()).expect("data");
    serde_json::from_str(json).expect("JSON")
}

fn numbers(column: &Value) -> Vec<i64> {
    column.as_array().expect("a column").iter().map(|value| value.as_i64().unwrap_or(0)).collect()
}

/// Sections are made at the same time, read the dump under locks, and share what threads there are.
#[test]
fn sections_wait_for_nobody_who_waits_for_them() {
    for threads in ["1", "2"] {
        for dump in [DUMPS[8], "fixtures/ruby_objspace/known.jsonl.zst"].into_iter().cycle().take(16) {
            let mut command = Command::new("timeout");
            command.args(["60", env!("CARGO_BIN_EXE_heapdump"), "report", "-q", "-o", "-", dump, "--threads", threads]);
            finish(command).expect_code(0);
        }
    }
}

/// A list of 20,000 objects, and 3,000 objects of as many types with long names: neither may crowd out all else.
fn crowded_dump() -> String {
    let mut lines = vec!["a 1 crowded.exe 763f9d2".to_string(), "t 1 App.Node".into(), "t 2 App.Head".into()];
    let name = |at: usize| format!("t {:x} Company.{}.T{at}", at + 3, "x".repeat(200));
    lines.extend((0..3000).map(name));
    lines.push("o 8 2 10 10".into());
    lines.extend((1..20_000).map(|at| format!("o {:x} 1 18 {:x}", at * 16, (at + 1) * 16)));
    lines.push(format!("o {:x} 1 18", 20_000 * 16));
    let base = 0x100_0000;
    lines.extend((0..3000).map(|at| format!("o {:x} {:x} 20", base + at * 16, at + 3)));
    lines.push("r 8 4 0 2".into());
    lines.extend((0..3000).map(|at| format!("r {:x} 4 0 2", base + at * 16)));
    lines.push("c crowded.exe 763fbef".into());
    lines.join("\n") + "\n"
}

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn sums_are_exact_and_figures_those_of_other_commands() {
    let folder = temporary();
    let crowded = folder.path().join("crowded.txt");
    std::fs::write(&crowded, crowded_dump()).expect("written");
    let crowded = crowded.display().to_string();
    for dump in DUMPS.into_iter().chain([crowded.as_str()]) {
        let page = page_of(&[dump]);
        let data = data_of(&page);
        assert!(page.len() < 1_500_000, "{dump}");
        for map in data["maps"].as_array().expect("maps") {
            let (parent, bytes) = (numbers(&map["parent"]), numbers(&map["bytes"]));
            let mut below = vec![0; bytes.len()];
            (1..bytes.len()).for_each(|row| below[parent[row] as usize] += bytes[row]);
            (0..bytes.len()).for_each(|row| assert!(below[row] <= bytes[row], "{dump}: row {row} of the map"));
        }
        let Some(objects) = data.get("objects") else { continue };
        let reachable = data["reachable_bytes"].as_i64().expect("a number");
        assert_eq!(numbers(&data["maps"][0]["bytes"])[0], reachable, "{dump}");
        let (parent, retained) = (numbers(&objects["parent"]), numbers(&objects["retained"]));
        let shallow = numbers(&objects["shallow"]);
        let mut below = vec![0; retained.len()];
        let mut top = 0;
        for row in 0..retained.len() {
            match parent[row] {
                -1 => top += retained[row],
                above => below[above as usize] += retained[row],
            }
        }
        assert_eq!(top, reachable, "{dump}");
        for row in (0..retained.len()).filter(|&row| numbers(&objects["name"])[row] >= 0) {
            assert_eq!(below[row] + shallow[row], retained[row], "{dump}: row {row} of the objects");
        }
        let types = run(&["stats", dump, "-q", "--retained", "--sort", "retained", "-f", "json"]).expect_code(0).json();
        let rows = types["types"].as_array().expect("types");
        for (at, row) in rows.iter().take(20).enumerate() {
            let of = |key: &str| data["types"][key][at].clone();
            assert_eq!(data["names"][of("name").as_u64().expect("a number") as usize], row["type"], "{dump}");
            let keys = [("retained", "retained_bytes"), ("objects", "objects"), ("shallow", "shallow_bytes")];
            keys.iter().for_each(|(column, key)| assert_eq!(of(column), row[*key], "{dump}"));
        }
        let tops = run(&["dominators", dump, "-q", "-n", "10", "-f", "json"]).expect_code(0).json();
        let options = ["-q", "-n", "20", "--depth", "1", "--min-bytes", "1", "-f", "json"];
        let whole = run(&[&["breakdown", dump][..], &options].concat()).expect_code(0).json();
        let rows = whole["heaps"][0]["tree"]["children"].as_array().expect("children");
        let map = &data["maps"][0];
        let below = |at: &usize| map["parent"][*at] == 0 && map["name"][*at].as_i64() >= Some(0);
        let places: Vec<usize> = (1..numbers(&map["bytes"]).len()).filter(below).collect();
        for (row, at) in rows.iter().filter(|row| row["kind"] == "backtrace").zip(places) {
            let name = &data["names"][map["name"][at].as_u64().expect("a number") as usize];
            assert_eq!((name, &map["bytes"][at]), (&row["name"], &row["bytes"]), "{dump}");
        }
        for (row, top) in tops["nodes"].as_array().expect("nodes").iter().zip(0..) {
            let at = (0..retained.len()).filter(|&at| parent[at] < 0).nth(top).expect("a row");
            assert_eq!((&objects["id"][at], &objects["retained"][at]), (&row["id"], &row["retained_bytes"]), "{dump}");
        }
    }
}

#[test]
fn a_long_list_is_one_row_and_small_types_are_added_up() {
    let folder = temporary();
    let dump = folder.path().join("crowded.txt");
    std::fs::write(&dump, crowded_dump()).expect("written");
    let page = page_of(&[&dump.display().to_string()]);
    let data = data_of(&page);
    let runs: Vec<i64> =
        data["objects"]["runs"].as_object().expect("runs").values().filter_map(Value::as_i64).collect();
    assert_eq!(runs, [19_999]);
    // The head, its first node, the list below it, 198 others and what adds up the rest.
    assert_eq!(numbers(&data["objects"]["parent"]).iter().filter(|&&parent| parent < 0).count(), 201);
    assert!(page.contains("smaller types</td></tr></tfoot>"));
    assert!(page.contains("<span class=\"namespace\">Company.xxx") && page.contains("…xxx"));
}

#[test]
fn the_same_dump_gives_the_same_bytes_from_anywhere() {
    let folder = temporary();
    let copy = folder.path().join("pair_after.txt");
    std::fs::copy(project(AFTER), &copy).expect("a copy");
    let page = page_of(&[AFTER]);
    let elsewhere = page_of(&["--threads", "1", &copy.display().to_string()]);
    assert!(page == elsewhere);
    assert!(!page.contains(&folder.path().display().to_string()) && !page.contains("fixtures"));
}

#[test]
fn with_an_older_dump_what_grew_comes_first() {
    let suspects = |old: &str, new: &str| {
        let answer = run(&["leaks", "--all", old, new, "-q", "-f", "json"]).expect_code(0).json();
        let row = |suspect: &Value| {
            let growth = suspect["growth"]["retained_bytes_delta"].as_i64().expect("a number");
            (suspect["type"].as_str().expect("a name").to_string(), growth)
        };
        answer["suspects"].as_array().expect("suspects").iter().map(row).collect::<Vec<_>>()
    };
    let grown = suspects(BEFORE, AFTER);
    assert_eq!(grown[0], ("System.Collections.Generic.List`1[[System.EventHandler]]".to_string(), 76_932), "{grown:?}");
    assert_eq!(grown[1].1, 0, "{grown:?}");
    let shrunk = suspects(AFTER, BEFORE);
    assert_eq!(shrunk.last().expect("a suspect").1, -76_932, "{shrunk:?}");
    let page = page_of(&[BEFORE, AFTER]);
    assert!(page.contains("<b class=\"grew\">+75.1 KiB</b>") && page.contains("Did not grow since pair_before.txt"));
    assert!(page.contains("Paths that grew") && page.contains(" (+75.1 KiB), "));
    assert!(page_of(&[AFTER, BEFORE]).contains("Shrank by 75.1 KiB"));
}

/// Commands of the page, as a shell takes them.
fn commands_of(page: &str) -> Vec<String> {
    let commands = page.split("<div class=\"command\"><code>").skip(1).filter_map(|rest| rest.split("</code>").next());
    commands.map(unescape).collect()
}

fn unescape(text: &str) -> String {
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&amp;", "&")];
    pairs.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}

#[test]
fn every_command_of_the_page_runs_in_the_dumps_folder() {
    let name = "a <b>'s.txt";
    for (dump, name) in [(AFTER, name), ("fixtures/memory_infra/seed-heaps_v2.trace", "t.trace")] {
        let folder = temporary();
        std::fs::copy(project(dump), folder.path().join(name)).expect("a copy");
        let binary = Path::new(env!("CARGO_BIN_EXE_heapdump")).parent().expect("a folder");
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
        let shell = |line: &str| -> Ran {
            let mut command = Command::new("sh");
            command.args(["-c", line]).current_dir(folder.path()).env("PATH", &path).env_remove("HEAPDUMP_FILE");
            finish(command)
        };
        let mut report = heapdump(&["report", "-q", "-o", "page.html", name]);
        report.current_dir(folder.path());
        finish(report).expect_code(0);
        let page = std::fs::read_to_string(folder.path().join("page.html")).expect("a page");
        let commands = commands_of(&page);
        assert!(commands.len() >= 4, "{commands:?}");
        let text = unescape(&page);
        for line in commands {
            let ran = shell(&line);
            assert_eq!(ran.code, 0, "{line}\n{}", ran.stderr);
            // The last word of the first row stands on the page, whatever the form of the row; `info` has no rows.
            if line.starts_with("heapdump info") {
                continue;
            }
            let first = ran.stdout.lines().nth(1).and_then(|row| row.split_whitespace().last()).unwrap_or_default();
            let part = first.rsplit(['.', '`', '[', ']']).find(|part| part.len() > 2).unwrap_or(first);
            assert!(text.contains(part), "{line}: {part}");
        }
    }
}

#[test]
fn options_are_those_of_other_commands_and_stand_in_the_commands() {
    let three = "fixtures/nettrace/three-gcs-net9.nettrace.zst";
    let first = page_of(&["--snapshot", "1", three]);
    assert!(first != page_of(&[three]));
    assert!(commands_of(&first).iter().all(|line| line.contains("--snapshot 1")), "{:?}", commands_of(&first));
    assert_eq!(data_of(&first)["words"], serde_json::json!(["--snapshot", "1"]));
    let domain = ["--domain", "BubbleGame.exe", "--threshold", "50KiB", "--library", "Screens", "--max-bytes", "200kB"];
    let page = page_of(&[&domain[..], &[AFTER]].concat());
    assert!(page.len() <= 200_000);
    let again = commands_of(&page).into_iter().find(|line| line.starts_with("heapdump report")).expect("a command");
    for word in ["--domain BubbleGame.exe", "--threshold 51200", "--library Screens", "--max-bytes 200000"] {
        assert!(again.contains(word), "{again}");
    }
    let totals = run(&["stats", AFTER, "-q", "--domain", "BubbleGame.exe", "-f", "json"]).expect_code(0).json();
    assert_eq!(data_of(&page)["reachable_bytes"], totals["totals"]["reachable_bytes"]);
    let kept = page_of(&["--keep-unreachable", AFTER]);
    assert!(!kept.contains("garbage not yet collected") && page_of(&[AFTER]).contains("garbage not yet collected"));
    let excluded = page_of(&["--exclude-roots", "static", AFTER]);
    assert!(excluded.contains("not reachable from the roots that were kept"));
}

#[test]
fn what_the_dump_knows_of_objects_and_references_stands_on_the_page() {
    let page = page_of(&["fixtures/hprof/zoo-jdk17-serial.hprof.zst"]);
    let data = data_of(&page);
    let said = data["objects"]["said"].as_object().expect("an object");
    let text = said.values().filter_map(Value::as_str).find(|text| text.starts_with('"')).expect("a text");
    assert!(said.values().filter_map(Value::as_str).all(|text| text.chars().count() <= 61), "{said:?}");
    assert!(!text.is_empty() && page.contains("<span class=\"reference\">static "));
    let paths = data["paths"].as_object().expect("paths");
    let named = |path: &Value| path["steps"].as_array().is_some_and(|steps| steps.iter().any(|step| step[3] != ""));
    assert!(paths.values().any(named));
    // Threads with their stacks, as `threads` has them.
    for words in
        ["<a href=\"#threads\">", "&quot;zoo-worker&quot;", "<code>zoo.Zoo.innermost (Zoo.java:77)</code>", "4.9 KiB"]
    {
        assert!(page.contains(words), "{words}");
    }
    let without = page_of(&["fixtures/xna_cf/small_1k.txt"]);
    assert!(!without.contains("id=\"threads\""));
}

#[test]
fn what_is_wasted_stands_on_the_page_of_a_dump_with_values() {
    let page = page_of(&["fixtures/hprof/zoo-jdk17-serial.hprof.zst"]);
    for part in [
        "<a href=\"#waste\">Waste</a>",
        "<section id=\"waste\">",
        "the dump is redacted: 514 of 2,992 strings",
        "<h3>empty-collections</h3>",
        "static zoo.Zoo.emptyCollections",
        "static zoo.Zoo.duplicates",
        "heapdump waste -n 5 ",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page_of(&[AFTER]).contains("id=\"waste\""));
}

#[test]
fn what_is_unreachable_is_named_as_what_it_is() {
    let frozen = page_of(&["fixtures/nettrace/ranges-net9.nettrace.zst"]);
    assert!(frozen.contains("without a root but alive: on the frozen heap") && !frozen.contains("garbage"));
    assert!(page_of(&["fixtures/ibm_classic/small.native.txt.gz"]).contains("Roots are inferred"));
    assert!(page_of(&["fixtures/gcdump/sampled-net31.gcdump.zst"]).contains("The dump is a sample"));
    assert!(page_of(&["fixtures/nettrace/truncated-net9.nettrace.zst"]).contains("figures may be low"));
}

#[test]
fn a_page_is_whole_or_not_there() {
    let folder = temporary();
    let page = folder.path().join("page.html");
    let text = page.display().to_string();
    std::fs::write(&page, "old").expect("written");
    run(&["report", "-q", AFTER, "-o", &text]).expect_code(0);
    assert!(std::fs::read(&page).expect("a page") == page_of(&[AFTER]).as_bytes());
    let cut = std::fs::read(project(AFTER)).expect("a dump");
    let cut_dump = folder.path().join("cut.txt");
    std::fs::write(&cut_dump, &cut[..cut.len() / 2]).expect("written");
    let cut_dump = cut_dump.display().to_string();
    let refused = folder.path().join("refused.html").display().to_string();
    run(&["report", "-q", "--strict", &cut_dump, "-o", &refused]).expect_code(2);
    assert!(!Path::new(&refused).exists());
    run(&["report", "-q", &cut_dump, "-o", &refused]).expect_code(0);
    let nowhere = folder.path().join("no/such/folder/page.html").display().to_string();
    let ran = run(&["report", "-q", AFTER, "-o", &nowhere]).expect_code(2);
    assert!(ran.stderr.contains("page.html"), "{}", ran.stderr);
    // A link to the dump is the dump.
    #[cfg(unix)]
    {
        let link = folder.path().join("link.html");
        std::os::unix::fs::symlink(&cut_dump, &link).expect("a link");
        run(&["report", "-q", &cut_dump, "-o", &link.display().to_string()]).expect_code(2);
    }
    assert_eq!(std::fs::read(&cut_dump).expect("there").len(), cut.len() / 2);
    // Standard input has no name.
    let mut command = heapdump(&["report", "-q", "-", "-o", "-"]);
    command.stdin(std::fs::File::open(project(AFTER)).expect("a dump"));
    let piped = finish(command).expect_code(0).stdout;
    assert!(piped.contains("<h1>standard input</h1>"));
    assert!(commands_of(&piped).iter().all(|line| line.ends_with(" FILE")), "{:?}", commands_of(&piped));
}

#[test]
fn what_cannot_be_a_page_is_said() {
    let none = run(&["report", AFTER]).expect_code(2);
    assert!(none.stderr.contains("-o report.html"), "{}", none.stderr);
    let folder = temporary();
    let copy = folder.path().join("dump.txt");
    std::fs::copy(project(AFTER), &copy).expect("a copy");
    let text = copy.display().to_string();
    run(&["report", &text, "-o", &text]).expect_code(2);
    assert_eq!(std::fs::read(&copy).expect("there"), std::fs::read(project(AFTER)).expect("there"));
    run(&["report", BEFORE, &text, "-o", &text]).expect_code(2);
    run(&["report", "fixtures/xna_cf/38_empty.txt", "-o", "-"]).expect_code(2);
}

/// Names that would be markup, script or orders to a terminal if anything took them for that.
fn hostile_dump() -> String {
    let names = [
        "</script><script>document.title='PWNED'</script>",
        "<img src=x onerror=\"document.title='PWNED'\">",
        "\"onmouseover=\"document.title='PWNED'",
        "Rtl\u{202e}exe.cod",
        "javascript:alert(1)",
        "<!-- <![CDATA[ ]]>",
        "a\u{2028}b",
        "&lt;b&gt;&amp;",
        "\u{1b}]0;PWNED\u{7}\u{1b}[31mred",
        "$(touch /tmp/pwn)`id`';id;'",
    ];
    let section = "</title><script>document.title='PWNED'</script>.exe";
    let mut lines = vec![format!("a 1 {section} 763f9d2")];
    lines.extend(names.iter().enumerate().map(|(at, name)| format!("t {:x} {name}", at + 1)));
    lines.push(format!("t {:x} {}", names.len() + 1, "X".repeat(100_000)));
    for at in 0..=names.len() {
        let base = 0x1000 * (at + 1);
        let members: Vec<String> = (1..40).map(|member| format!("{:x}", base + 16 * member)).collect();
        lines.push(format!("o {base:x} {:x} 190 {}", at + 1, members.join(" ")));
        lines.extend(members.iter().map(|member| format!("o {member} {:x} 190", at + 1)));
        lines.push(format!("r {base:x} 4 0 {:x}", at + 1));
    }
    lines.push(format!("c {section} 763fbef"));
    lines.join("\n") + "\n"
}

#[test]
fn names_of_a_dump_stay_text() {
    let folder = temporary();
    let dump = folder.path().join("<img src=x onerror=alert(1)>.txt");
    std::fs::write(&dump, hostile_dump()).expect("written");
    let page = page_of(&[&dump.display().to_string()]);
    assert_eq!(page.matches("<script").count(), 2);
    assert!(!page.contains("<img") && !page.contains('\u{202e}') && !page.contains('\u{1b}'));
    assert!(page.contains("\\u{202e}") && page.contains("more)… "));
}

/// What the tests in a real browser need, or why it is not there.
fn browser() -> Result<PathBuf, String> {
    let found = |name: &str| {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&paths).map(|path| path.join(name)).find(|path| path.is_file())
    };
    let why = |name: &str| {
        let missing = std::fs::read_to_string(project("target/live/missing")).unwrap_or_default();
        let line = missing.lines().find(|line| line.starts_with(name)).map(str::to_string);
        line.unwrap_or_else(|| format!("{name}: not installed; tests/live/install gets it"))
    };
    found("node").ok_or_else(|| why("nodejs"))?;
    // The same browser, without the windows that take most of the time.
    let chromium = found("chromium-headless-shell").or_else(|| found("chromium")).ok_or_else(|| why("chromium"))?;
    match project("target/live/node_modules/playwright-core").is_dir() {
        true => Ok(chromium),
        false => Err(why("playwright-core")),
    }
}

#[test]
fn a_browser_shows_the_page() {
    let chromium = match browser() {
        Ok(chromium) => chromium,
        Err(why) => return crate::common::live::not_tested(&why),
    };
    let folder = temporary();
    let hostile = folder.path().join("hostile.txt");
    std::fs::write(&hostile, hostile_dump()).expect("written");
    let hostile = hostile.display().to_string();
    let crowded = folder.path().join("crowded.txt");
    std::fs::write(&crowded, crowded_dump()).expect("written");
    let crowded = crowded.display().to_string();
    let dumps: [&[&str]; 7] =
        [&[BEFORE, AFTER], &[&hostile], &[&crowded], &[DUMPS[1]], &[DUMPS[5]], &[DUMPS[6]], &[DUMPS[8]]];
    let look = |dump: &[&str]| -> bool {
        let page = tempfile::Builder::new().suffix(".html").tempfile().expect("a file");
        std::fs::write(page.path(), page_of(dump)).expect("written");
        let mut node = Command::new("node");
        node.arg("tests/live/page.mjs").arg(&chromium).arg(page.path()).current_dir(project(""));
        let ran = finish(node);
        assert_eq!(ran.code, 0, "{dump:?}\n{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.lines().filter(|line| line.starts_with("ok ")).count() > 20, "{}", ran.stdout);
        let Some(line) = ran.stdout.lines().find_map(|line| line.strip_prefix("zoomed ")) else { return false };
        let (bytes, command) = line.split_once(' ').expect("bytes and a command");
        let dump = dump[dump.len() - 1];
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        assert_eq!(Path::new(dump).file_name().and_then(|name| name.to_str()), words.last().copied());
        let answer = run(&[&words[..words.len() - 1], &[dump, "-q", "-f", "json"]].concat()).expect_code(0).json();
        assert_eq!(answer["heaps"][0]["tree"]["bytes"].to_string(), bytes, "{command}");
        true
    };
    // Browsers wait more than they work: three at a time.
    let zoomed: usize = std::thread::scope(|scope| {
        let some = |dumps: &'_ [&[&str]]| dumps.iter().filter(|dump| look(dump)).count();
        let threads: Vec<_> = dumps.chunks(2).map(|dumps| scope.spawn(move || some(dumps))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a browser that was looked at")).sum()
    });
    assert!(zoomed >= 3, "{zoomed}");
}
