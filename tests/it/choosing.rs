//! Several types and objects chosen, limits by type, packages by level, and the words where a choice finds nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::common::cmd::{finish, heapdump, project, run, run_with_input};

const GAME: &str = "fixtures/xna_cf/small_1k.txt";
const BEFORE: &str = "fixtures/xna_cf/pair_before.txt";
const AFTER: &str = "fixtures/xna_cf/pair_after.txt";
const ZOO: &str = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
const NET: &str = "fixtures/gcdump/small-net9.gcdump.zst";
/// With strings on the frozen heap.
const FROZEN: &str = "fixtures/nettrace/small-net9.nettrace.zst";

fn text<'v>(row: &'v Value, key: &str) -> &'v str {
    row[key].as_str().unwrap_or_else(|| panic!("no text {key} in {row}"))
}

fn number(row: &Value, key: &str) -> u64 {
    row[key].as_u64().unwrap_or_else(|| panic!("no number {key} in {row}"))
}

fn rows<'v>(answer: &'v Value, key: &str) -> &'v [Value] {
    answer[key].as_array().unwrap_or_else(|| panic!("no rows {key}"))
}

/// Names of types of an answer of `stats`.
fn types(args: &[&str]) -> BTreeSet<String> {
    let args = [&["stats", GAME, "-f", "json", "-q"], args].concat();
    rows(&run(&args).json(), "types").iter().map(|row| text(row, "type").to_string()).collect()
}

/// Options, and which types they keep.
type Case<'c> = (&'c [&'c str], &'c dyn Fn(&str) -> bool);

#[test]
fn several_types_are_joined_and_others_left_out() {
    let all = types(&[]);
    let that = |is_wanted: &dyn Fn(&str) -> bool| -> BTreeSet<String> {
        all.iter().filter(|name| is_wanted(name)).cloned().collect()
    };
    let cases: [Case<'_>; 5] = [
        (&["-t", "Level", "-t", "System.*"], &|name| name.contains("Level") || name.starts_with("System.")),
        (&["--not-type", "System.*"], &|name| !name.starts_with("System.")),
        (&["-t", "Game", "--not-type", "[]", "--not-type", "Level"], &|name| {
            name.contains("Game") && !name.contains("[]") && !name.contains("Level")
        }),
        (&["-i", "-t", "bubblegame.LEVEL"], &|name| name.to_lowercase().contains("bubblegame.level")),
        (&["-i", "--not-type", "/^SYSTEM/"], &|name| !name.to_lowercase().starts_with("system")),
    ];
    for (args, is_wanted) in cases {
        let expected = that(is_wanted);
        assert!(!expected.is_empty() && expected.len() < all.len(), "{args:?} shows nothing");
        assert_eq!(types(args), expected, "{args:?}");
    }
    let ran = run(&["list", GAME, "-t", "level", "--not-type", "x"]).expect_code(1);
    assert_eq!(
        ran.stderr,
        "heapdump: no type matches --type level --not-type x (capitals matter); did you mean BubbleGame.Level?\n"
    );
    let ran = run(&["list", GAME, "-i", "-t", "nothing"]).expect_code(1);
    assert_eq!(ran.stderr, "heapdump: no type matches --type nothing\n");
    let ran = run(&["list", GAME, "-i"]).expect_code(2);
    assert!(ran.stderr.contains("--ignore-case"), "{}", ran.stderr);
    // The words of trees say what was asked for.
    let tree = run(&["roots", "-t", "Level", "-t", "Sprite", "--not-type", "[]", GAME, "-f", "json"]).json();
    assert_eq!(tree["type"], "Level or Sprite but not []");
}

/// Whether a limit is passed, by the rows of the diff itself.
#[test]
fn limits_of_single_types() {
    let diff = run(&["diff", BEFORE, AFTER, "--all", "-f", "json"]).json();
    let sizes: Vec<(&str, u64, u64)> = rows(&diff, "types")
        .iter()
        .map(|row| (text(row, "type"), number(row, "shallow_bytes_old"), number(row, "shallow_bytes_new")))
        .collect();
    let grown = |(_, old, new): &(&str, u64, u64)| new.saturating_sub(*old);
    let largest = *sizes.iter().max_by_key(|row| grown(row)).unwrap();
    let (mut over, mut within) = (0, 0);
    for share in [0, 1, 10, 50, 100, 1000] {
        for least in [0, 100, 10_000, grown(&largest), grown(&largest) + 1] {
            let is_over = |row: &&(&str, u64, u64)| grown(row) * 100 > share * row.1 && grown(row) >= least;
            let expected: Vec<&str> = sizes.iter().filter(is_over).map(|row| row.0).collect();
            let (share, least) = (format!("{share}%"), least.to_string());
            let ran = run(&["diff", BEFORE, AFTER, "-f", "csv", "--fail-over-type", &share, "--min-bytes", &least]);
            assert_eq!(ran.code, i32::from(!expected.is_empty()), "{share} {least}: {expected:?}\n{}", ran.stderr);
            let count = format!("heapdump: {} type", expected.len());
            assert!(
                expected.is_empty() == ran.stderr.is_empty()
                    && (ran.stderr.is_empty() || ran.stderr.starts_with(&count))
            );
            *if expected.is_empty() { &mut within } else { &mut over } += 1;
        }
    }
    assert!(over > 3 && within > 3, "{over} {within}");

    let (name, old, new) = largest;
    assert!(old > 0, "{name} is new");
    let (limit, share) = (new - old, (new - old) * 100 / old);
    for (limit, code) in [
        (format!("{name}={limit}"), 0),
        (format!("{name}={}", limit - 1), 1),
        (format!("{name}={}%", share + 1), 0),
        (format!("{name}={}%", share - 1), 1),
        ("NoSuchType=1".into(), 0),
    ] {
        let ran = run(&["diff", BEFORE, AFTER, "-f", "csv", "--fail-over", "90%", "--fail-over", &limit]);
        assert_eq!(ran.code, code, "{limit}: {}", ran.stderr);
        assert_eq!(ran.stderr.contains(&format!("{name} grew by")), code == 1, "{}", ran.stderr);
    }
    let ran = run(&["diff", BEFORE, AFTER, "--paths", "--fail-over", "A=1"]).expect_code(2);
    assert!(ran.stderr.contains("leave --by, --paths and --roots out"), "{}", ran.stderr);
    run(&["diff", BEFORE, AFTER, "--fail-over-type", "1MiB"]).expect_code(2);
    run(&["diff", BEFORE, AFTER, "--min-bytes", "1MiB"]).expect_code(2);
}

#[test]
fn types_by_percent_of_what_they_were() {
    let diff = run(&["diff", BEFORE, AFTER, "--all", "--sort", "percent", "-f", "json"]).json();
    let shares: Vec<f64> = rows(&diff, "types")
        .iter()
        .map(|row| (number(row, "shallow_bytes_old") as f64, number(row, "shallow_bytes_new") as f64))
        .map(|(old, new)| if old == 0.0 && new == 0.0 { 0.0 } else { new / old })
        .collect();
    assert!(shares.len() > 5 && shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
}

/// Several objects are what each of them is alone.
#[test]
fn several_objects_at_once() {
    for (file, count) in [(GAME, 7), (ZOO, 5)] {
        let listed = run(&["list", file, "--ids", "-n", "40", "-q"]).stdout;
        let ids: Vec<&str> = listed.lines().step_by(40 / count).collect();
        let alone = |form: &str| ids.iter().map(|id| run(&["show", id, file, "-f", form, "-q"])).collect::<Vec<_>>();
        let expected: Vec<Value> = alone("json")
            .iter()
            .map(|ran| {
                let mut answer = ran.json();
                answer.as_object_mut().expect("an object").remove("schema");
                answer
            })
            .collect();
        let together = [&["show"], &ids[..], &[file, "-f", "json", "-q"]].concat();
        let answer = run(&together).expect_code(0).json();
        assert_eq!(answer["schema"], "heapdump.show/1");
        assert_eq!(answer["objects"], Value::Array(expected));
        // From standard input, with what other columns there may be.
        let lines: String = ids.iter().map(|id| format!("  {id} 12 Some.Type\n\n")).collect();
        let piped = run_with_input(&["show", "--ids-from", "-", file, "-f", "json", "-q"], lines.as_bytes());
        assert_eq!(piped.json(), answer);
        // As rows: those of each object behind its id.
        let csv = |ran: &str| ran.lines().skip(1).map(str::to_string).collect::<Vec<_>>();
        let together = [&["show"], &ids[..], &[file, "-f", "csv", "-q"]].concat();
        let of: Vec<String> = alone("csv")
            .iter()
            .zip(&ids)
            .flat_map(|(ran, id)| csv(&ran.stdout).into_iter().map(move |row| format!("{id},{row}")))
            .collect();
        let shown = csv(&run(&together).stdout);
        assert_eq!(shown.len(), of.len());
        assert!(shown.iter().zip(&of).all(|(a, b)| a.ends_with(b.split_once(',').expect("a row").1)));
    }
    run(&["show", GAME]).expect_code(2);
    run(&["show", "--ids-from", "-"]).expect_code(2);
    run(&["show", "1#7fe45", "no-such-file.txt"]).expect_code(2);
    // Ids alone: the dump is named elsewhere.
    let mut command = heapdump(&["show", "1#7fe45", "1#7c44f", "-f", "jsonl"]);
    command.env("HEAPDUMP_FILE", project(GAME));
    let ran = finish(command).expect_code(0);
    assert_eq!(ran.stdout.matches("\"relation\":\"object\"").count(), 2, "{}", ran.stdout);
}

#[test]
fn packages_by_level_are_sums_of_packages() {
    let groups = |file: &str, by: &str| -> BTreeMap<String, (u64, u64)> {
        let answer = run(&["stats", file, "--by", by, "-f", "json", "-q"]).expect_code(0).json();
        let figures = |row: &Value| (number(row, "objects"), number(row, "shallow_bytes"));
        rows(&answer, "groups").iter().map(|row| (text(row, "group").to_string(), figures(row))).collect()
    };
    for file in [ZOO, GAME, NET] {
        let packages = groups(file, "package");
        for levels in 1..=4usize {
            let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
            for (package, (objects, bytes)) in &packages {
                let is_whole = package.contains('(');
                let cut: Vec<&str> = package.split('.').take(if is_whole { usize::MAX } else { levels }).collect();
                let sum = sums.entry(cut.join(".")).or_default();
                *sum = (sum.0 + objects, sum.1 + bytes);
            }
            assert!(levels > 1 || sums.len() < packages.len(), "{file}: nothing is cut");
            assert_eq!(groups(file, &format!("package={levels}")), sums, "{file} {levels}");
        }
    }
    run(&["stats", GAME, "--by", "package=0"]).expect_code(2);
    let help = run(&["stats", "--help"]).stdout;
    assert!(help.contains("package=2") && !help.contains("package=3"), "{help}");
}

/// Nested types of .NET have no namespace in a dump: they are their module's.
#[test]
fn nested_types_belong_to_their_module() {
    let answer = run(&["stats", NET, "-f", "json", "-q", "--raw-types"]).json();
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows(&answer, "types") {
        let name = text(row, "type");
        let name = &name[..name.find(['[', '<', '(', '`', ',', '+']).unwrap_or(name.len())];
        if !name.contains('.') && row["module"].is_string() {
            *expected.entry(text(row, "module").to_string()).or_default() += number(row, "objects");
        }
    }
    let answer = run(&["stats", NET, "--by", "package", "-f", "json", "-q"]).json();
    let groups = rows(&answer, "groups").iter();
    let module = |row: &Value| text(row, "group").strip_suffix(" (no namespace)").map(str::to_string);
    let nested: BTreeMap<String, u64> = groups.filter_map(|row| Some((module(row)?, number(row, "objects")))).collect();
    assert!(!nested.is_empty());
    assert_eq!(nested, expected);
}

#[test]
fn what_does_not_act_is_refused_and_what_is_not_there_is_said() {
    let ran = run(&["roots", "1#7c44f", GAME, "--min-percent", "5"]).expect_code(2);
    assert!(ran.stderr.contains("--min-percent") && ran.stdout.is_empty(), "{}", ran.stderr);
    run(&["roots", "--type", "Level", GAME, "--min-percent", "5"]).expect_code(0);
    let ran = run(&["index", "no-such-dump.txt"]).expect_code(2);
    assert_eq!(ran.stderr, "heapdump: no-such-dump.txt: no such file\n");
    let ran = run(&["index", "no-such-dump.txt", "-o", "never-written.hdx"]).expect_code(2);
    assert!(ran.stderr.contains("no-such-dump.txt") && !ran.stderr.contains("pipe"), "{}", ran.stderr);
    assert!(!project("never-written.hdx").exists());
}

/// Frames are in the colour of whose type it is, by the page's own rule of what a library is.
#[test]
fn flame_graphs_say_whose_types_they_draw() {
    let svg = run(&["export", "--to", "flamegraph", ZOO, "--min-bytes", "0", "-q"]).expect_code(0).stdout;
    assert!(svg.contains("Heap of zoo-jdk17-serial.hprof.zst: ") && svg.contains("blue: of its libraries"));
    let mut seen = [0, 0];
    for frame in svg.split("<g>").skip(1) {
        let (Some(name), Some(color)) =
            (frame.split("<title>").nth(1), frame.split("fill=\"rgb(").nth(1).and_then(|rest| rest.split(')').next()))
        else {
            continue;
        };
        let name = name.split(" (").next().expect("a name");
        let [red, _, blue] =
            color.split(',').map(|part| part.parse::<u32>().expect("a colour")).collect::<Vec<_>>()[..]
        else {
            panic!("{color}");
        };
        if name.starts_with("java.") || name.starts_with("zoo.") {
            assert_eq!(blue > red, name.starts_with("java."), "{name} is {color}");
            seen[usize::from(blue > red)] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 3), "{seen:?}");
    let again = run(&["export", "--to", "flamegraph", ZOO, "--min-bytes", "0", "-q"]).stdout;
    assert_eq!(svg, again, "the same drawing every time");
}

/// All paths to an object as one tree: what the rows at the top count is what the list of paths has.
#[test]
fn paths_are_merged_into_one_tree() {
    let id = "0xfd5c0330";
    let listed = run(&["roots", id, ZOO, "--paths", "0", "-f", "json", "-q"]).expect_code(0).json();
    let mut tops: BTreeMap<(String, String), u64> = BTreeMap::new();
    for path in rows(&listed, "paths") {
        let kind = text(&path["root"], "kind").to_string();
        *tops.entry((kind, text(&path["nodes"][0], "type").to_string())).or_default() += 1;
    }
    let merged = run(&["roots", id, ZOO, "--merge", "-f", "json", "-q"]).expect_code(0).json();
    assert_eq!(number(&merged, "path_count"), rows(&listed, "paths").len() as u64);
    assert_eq!((number(&merged, "objects"), number(&merged, "reachable_objects")), (1, 1));
    assert_eq!(text(&merged["object"], "id"), id);
    let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
    for row in rows(&merged, "tree") {
        let key = (text(&row["root"], "kind").to_string(), text(row, "type").to_string());
        *found.entry(key).or_default() += number(row, "paths");
    }
    assert!(found.len() > 1 && found == tops, "{found:?}\n{tops:?}");
    // Every way down ends at the object, and no path is lost on it.
    fn check(row: &Value) {
        let children = rows(row, "children");
        let below: u64 = children.iter().map(|child| number(child, "paths")).sum();
        assert!(below <= number(row, "paths"));
        assert!(!children.is_empty() || text(row, "type") == "zoo.Zoo$Bus", "{row}");
        children.iter().for_each(check);
    }
    rows(&merged, "tree").iter().for_each(check);
    let drawn = run(&["roots", id, ZOO, "--merge", "--pretty", "--color", "never", "-q"]).stdout;
    assert!(drawn.contains(" paths from roots to 0xfd5c0330, ") && drawn.lines().count() < 45, "{drawn}");
    run(&["roots", "--type", "Level", GAME, "--merge"]).expect_code(2);
    run(&["roots", id, ZOO, "--merge", "--min-percent", "10", "-q"]).expect_code(0);
}

/// What no root reaches has no retained size, and the reader of a pipe is told why.
#[test]
fn unreachable_objects_are_said_in_a_pipe() {
    let all = run(&["list", ZOO, "-f", "json", "-q"]).json();
    let expected = rows(&all, "objects").iter().filter(|row| row["retained_bytes"].is_null()).count();
    let ran = run(&["list", ZOO, "-f", "csv"]).expect_code(0);
    let note = format!("note: {expected} of these objects are not reachable from any strong root");
    assert!(expected > 100 && ran.stderr.contains(&note), "{}", ran.stderr);
    let ran = run(&["list", ZOO, "-n", "3", "--sort", "retained"]).expect_code(0);
    assert!(!ran.stderr.contains("not reachable"), "{}", ran.stderr);
    let row = rows(&all, "objects").iter().find(|row| row["retained_bytes"].is_null()).expect("one");
    let id = text(row, "id");
    let ran = run(&["show", id, ZOO]).expect_code(0);
    assert!(ran.stderr.contains("1 of these objects is not reachable"), "{}", ran.stderr);
    let ran = run(&["show", id, ZOO, "--pretty"]).expect_code(0);
    assert!(
        !ran.stderr.contains("not reachable") && ran.stdout.contains("no strong root reaches it"),
        "{}",
        ran.stderr
    );
    let ran = run(&["list", FROZEN, "--where", "not reachable", "-n", "2"]).expect_code(0);
    assert!(ran.stderr.contains("2 of these objects have no root but are alive"), "{}", ran.stderr);
}

#[test]
fn bytes_without_an_owner_are_explained() {
    let ran = run(&["stats", FROZEN, "--by", "owner", "-f", "json"]).expect_code(0);
    assert!(ran.stderr.contains("--mine PATTERN"), "{}", ran.stderr);
    let answer = ran.json();
    // What is on the frozen heap is alive, and the only thing that no root reaches.
    let groups = rows(&answer, "groups");
    let frozen = groups.iter().find(|row| row["group"] == "(frozen heap)").expect("a row");
    let totals = &answer["totals"];
    let unreached = number(totals, "objects") - number(totals, "reachable_objects");
    assert_eq!(
        (number(frozen, "charged_objects"), groups.iter().any(|row| row["group"] == "(unreachable)")),
        (unreached, false)
    );
    // Those that lost their roots on request are not.
    let options = ["--exclude-roots", "static", "--exclude-roots", "handle", "--exclude-roots", "local"];
    let ran = run(&[&["stats", FROZEN, "--by", "owner", "-f", "json"], &options[..]].concat()).expect_code(0).json();
    let of = |group: &str| {
        rows(&ran, "groups").iter().find(|row| row["group"] == group).map(|row| number(row, "charged_objects"))
    };
    assert_eq!(of("(frozen heap)"), Some(unreached));
    assert!(of("(unreachable)") > Some(0), "{ran}");
    // Where types of the program hold most of it, nothing is said.
    let ran = run(&["stats", "fixtures/xna_cf/pair_after.txt", "--by", "owner"]).expect_code(0);
    assert!(!ran.stderr.contains("--mine"), "{}", ran.stderr);
}

#[test]
fn a_text_in_place_of_a_dump_is_explained() {
    for args in [&["strings", "no such", ZOO][..], &["strings", "no such"]] {
        let ran = run(args).expect_code(2);
        let words = "no such: no such file; to look for a text: heapdump strings --grep 'no such' FILE\n";
        assert_eq!(ran.stderr, format!("heapdump: {words}"), "{args:?}");
    }
    // Other mistakes are clap's.
    let ran = run(&["strings", ZOO, "no-such-file.txt"]).expect_code(2);
    assert!(ran.stderr.contains("unexpected argument"), "{}", ran.stderr);
}

/// The page of a dump that is cut says so above everything else.
#[test]
fn the_page_of_a_cut_dump_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html").display().to_string();
    for (dump, words) in [
        ("fixtures/phd/cut-mid-record.phd", Some("The dump is cut at byte 590: objects and references are missing")),
        ("fixtures/xna_cf/21_cut_in_a_line.txt", Some("The dump is cut at line ")),
        ("fixtures/xna_cf/20_no_end_record.txt", Some("The dump is probably cut at line ")),
        (GAME, None),
    ] {
        run(&["report", dump, "-o", &page, "-q"]).expect_code(0);
        let html = std::fs::read_to_string(&page).expect("a page");
        let head = html.split("<section").next().expect("a head");
        assert_eq!(head.contains("The dump is "), words.is_some(), "{dump}");
        assert!(words.is_none_or(|words| head.contains(words)), "{dump}");
    }
}

/// What leads on where a command line asks for what is not there.
#[test]
fn a_name_that_nothing_has_is_said_with_the_nearest_one() {
    let said = |args: &[&str], code: i32, sentence: &str| {
        let ran = run(args).expect_code(code);
        assert!(ran.stderr.contains(sentence), "{args:?}: {}", ran.stderr);
        ran.stderr
    };
    let meant = "(capitals matter); did you mean BubbleGame.Level?";
    for command in [
        &["list", GAME][..],
        &["stats", GAME],
        &["roots", GAME],
        &["referrers", GAME],
        &["dominators", GAME],
        &["breakdown", GAME],
        &["leaks", GAME],
        &["diff", BEFORE, AFTER],
        &["list", GAME, "--where", "shallow > 0"],
    ] {
        said(&[command, &["-t", "Levle"]].concat(), 1, meant);
        said(&[command, &["-t", "=BubbleGame.level"]].concat(), 1, meant);
        assert!(!said(&[command, &["-t", "nosuchtype"]].concat(), 1, "nosuchtype").contains("did you mean"));
        assert!(!said(&[command, &["-t", "*Levle"]].concat(), 1, "*Levle").contains("did you mean"));
    }
    // One that other options leave out is there.
    let none = said(&["list", GAME, "-t", "BubbleGame.Level", "--where", "shallow > 1GB"], 1, "no object of --type");
    assert!(!none.contains("no type matches"), "{none}");
    // Of limits it is an error on request, with all that was written.
    for (command, dumps) in
        [(&["stats", AFTER][..], "dump"), (&["diff", BEFORE, AFTER], "dumps"), (&["trend", BEFORE, AFTER], "dumps")]
    {
        let sentence = format!("no type in the {dumps} matches --fail-over Levle=1MB; did you mean BubbleGame.Level?");
        let limited = [command, &["--fail-over", "Levle=1MB"]].concat();
        said(&limited, 0, &format!("heapdump: note: {sentence}\n"));
        said(
            &[&limited[..], &["--strict"]].concat(),
            2,
            &format!("heapdump: {sentence} (an error because of --strict)\n"),
        );
        // Also beside one that is passed, which is said too.
        let passed = said(&[&limited[..], &["--fail-over", "Level=1", "--strict"]].concat(), 2, &sentence);
        assert!(passed.contains("Level grew") || passed.contains("over the limit"), "{passed}");
    }
    for (option, command) in [
        ("--exclude", &["roots", GAME, "-t", "Level"][..]),
        ("--library", &["leaks", GAME]),
        ("--library", &["leaks", BEFORE, AFTER]),
        ("--library", &["report", GAME, "-o", "-"]),
        ("--library", &["stats", GAME, "--by", "owner"]),
        ("--mine", &["stats", GAME, "--by", "owner"]),
    ] {
        let sentence =
            format!("note: no type matches {option} Levle, which does nothing; did you mean BubbleGame.Level?");
        said(&[command, &[option, "Levle"]].concat(), 0, &sentence);
        assert!(!run(&[command, &[option, "Level"]].concat()).stderr.contains("no type matches"), "{command:?}");
    }
    // Whose types are is told by their modules too, and of arrays by their elements.
    let module = "fixtures/nettrace/small-net9.nettrace.zst";
    for (option, pattern, of_nothing) in
        [("--library", "=HeapGen.dll", false), ("--library", "=HeapGen", true), ("--mine", "=HeapGen.dll", true)]
    {
        let ran = run(&["stats", module, "--by", "owner", option, pattern]).expect_code(0);
        assert_eq!(ran.stderr.contains("no type matches"), of_nothing, "{option} {pattern}: {}", ran.stderr);
    }
    let arrays = b"a 2 g.exe 763f9d2\nt 1 app.Cell[]\no 1 1 8\nr 1 4 0 1\nc g.exe 763f9d3\n";
    for (option, pattern, of_nothing) in [
        ("--library", "=app.Cell", false),
        ("--mine", "=app.Cell", false),
        ("--library", "=app.Cell[]", false),
        ("--mine", "=app.Cell[]", true),
    ] {
        let ran = run_with_input(&["stats", "--by", "owner", option, pattern], arrays).expect_code(0);
        assert_eq!(ran.stderr.contains("no type matches"), of_nothing, "{option} {pattern}: {}", ran.stderr);
    }
    // A section without a name is no empty cell.
    let script = "fixtures/v8_snapshot/two-constructors.heapsnapshot";
    assert!(run(&["stats", script, "--by", "domain", "-q"]).stdout.trim_end().ends_with(" -"));
}

#[test]
fn errors_name_the_option_that_was_meant() {
    let said = |args: &[&str], code: i32| run(args).expect_code(code).stderr;
    let excluded = said(&["roots", "--type", "Level", "--exclude", "nosuch.Class", GAME, "-n", "1"], 0);
    assert!(excluded.contains("no type matches --exclude nosuch.Class"), "{excluded}");
    assert!(!said(&["roots", "--type", "Level", "--exclude", "String", GAME, "-n", "1"], 0).contains("--exclude"));
    for command in [&["stats", GAME][..], &["diff", BEFORE, AFTER]] {
        let sorted = said(&[command, &["--sort", "retained"]].concat(), 2);
        assert!(sorted.contains("add --retained"), "{sorted}");
        run(&[command, &["--sort", "retained", "--retained", "-q"]].concat()).expect_code(0);
    }
    let a_type = said(&["roots", "Big", GAME], 2);
    assert!(a_type.contains("--type Big"), "{a_type}");
    let negative = said(&["stats", GAME, "-n", "-5"], 2);
    assert!(negative.contains("'-5'") && !negative.contains("-- -5"), "{negative}");
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("a.json");
    std::fs::write(&json, "{\"a\":1}\n").unwrap();
    let other = said(&["stats", json.to_str().unwrap()], 2);
    assert!(other.contains("no trace events") && !other.contains("a page"), "{other}");
}
