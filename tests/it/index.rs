//! The index: the same answers with it as without, and never another one from a stale, cut or damaged index.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use heapdump::answers::figure::RETAINED;
use heapdump::dump::{IndexUse, RootPolicy};
use heapdump::report::Format;
use heapdump::{OpenDump, OpenOptions};

use crate::common::cmd::{Ran, finish, heapdump, project, run};
use crate::common::fixtures::{self, Fixture};
use crate::common::questions;

/// A fresh folder with a copy of a dump in it.
fn folder_with(dump: &Path) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join(dump.file_name().expect("a name"));
    fs::copy(dump, &copy).expect("copied");
    (folder, copy.display().to_string())
}

fn small_dump() -> (tempfile::TempDir, String) {
    folder_with(&project("fixtures/xna_cf/small_1k.txt"))
}

fn index_of(dump: &str) -> PathBuf {
    PathBuf::from(format!("{dump}.hdx"))
}

/// The folder has these files and no others.
fn assert_files(folder: &Path, names: &[&str]) {
    let mut found: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, names);
}

/// What a dump answers: what is wrong with it, questions of every kind, single objects from both ends of it, exports.
fn all_answers(dump: &OpenDump) -> Vec<String> {
    let forms = &[Format::Json, Format::Table][..if questions::is_small(dump) { 2 } else { 1 }];
    let mut ids = questions::ids(dump, None, None);
    if ids.len() > 6 {
        ids.drain(3..ids.len() - 3);
    }
    let mut asked = questions::ask_of_dump(dump, forms);
    asked.extend(questions::ask_of_objects(dump, &ids, forms));
    let problems = dump.diagnostics().sorted().into_iter().map(|problem| problem.to_string());
    let answers = asked.into_iter().map(|asked| format!("{:?}: {:?}", asked.words, asked.texts));
    problems.chain(answers).chain(questions::exports(dump).iter().map(|export| format!("{export:?}"))).collect()
}

/// A dump through its index, and without it.
fn open_both(options: &OpenOptions, dump: &str) -> (OpenDump, OpenDump) {
    let never = OpenOptions { index: IndexUse::Never, ..options.clone() };
    let [with, without] = [options, &never].map(|options| options.open(Path::new(dump)).expect("opens"));
    assert!(!without.is_indexed(), "{dump}");
    (with, without)
}

fixtures::test_each_format!(every_fixture_answers_alike_with_and_without_an_index, answers_alike);

fn answers_alike(fixture: &Fixture) {
    let (_folder, dump) = folder_with(&fixture.path);
    let mut words = vec!["index".to_string(), dump.clone()];
    words.extend(fixture.arguments());
    let is_indexed = run(&words.iter().map(String::as_str).collect::<Vec<_>>()).code == 0;
    assert_eq!(is_indexed, index_of(&dump).exists(), "{dump}");
    assert_eq!(is_indexed, !fixture.has_no_objects() && !fixture.expected["error"].is_string(), "{dump}");
    if !is_indexed {
        return;
    }
    let options = OpenOptions { read: fixture.read_options(), ..OpenOptions::default() };
    let (with, without) = open_both(&options, &dump);
    assert!(with.is_indexed(), "{dump}");
    assert_eq!(all_answers(&with), all_answers(&without), "{dump}");
    // What the program does before it asks.
    let (file, reading) = (dump.as_str(), fixture.arguments());
    for command in
        [&["stats", "--strict"][..], &["stats", "--shallow"], &["stats", "--raw-types"], &["list", "-f", "csv"]]
    {
        let words = command.iter().copied().chain([file]).chain(reading.iter().map(String::as_str));
        let words: Vec<&str> = words.collect();
        let (with, without) = (run(&words), run(&[&words[..], &["--no-index"]].concat()));
        assert_eq!((with.code, with.stdout), (without.code, without.stdout), "{words:?}");
        let said =
            |text: &str| text.lines().filter(|line| !line.contains(".hdx ")).map(String::from).collect::<Vec<_>>();
        assert_eq!(said(&with.stderr), said(&without.stderr), "{words:?}");
    }
    // Other roots than the dump's, and what follows from them.
    for (without, keep_unreachable) in [(&[][..], true), (&["local", "static"], false), (&["handle"], false)] {
        let without = without.iter().map(|kind| kind.to_string()).collect();
        let roots = RootPolicy { excluded_kinds: without, keep_unreachable };
        let (with, without) = open_both(&OpenOptions { roots, ..options.clone() }, &dump);
        assert_eq!(questions::ask_of_roots(&with), questions::ask_of_roots(&without), "{dump}");
    }
}

/// The program gives the words of a question the answer that the library gives its options, with and without an index in turn:
/// of the first dump of each format.
#[test]
fn command_lines_ask_what_the_library_answers() {
    let mut formats = BTreeSet::new();
    let mut checked = 0;
    for fixture in fixtures::all() {
        if fixture.expected.get("error").is_some() || !formats.insert(fixture.format.clone()) {
            continue;
        }
        let (_folder, file) = folder_with(&fixture.path);
        let options = OpenOptions { read: fixture.read_options(), index: IndexUse::Never, ..OpenOptions::default() };
        let dump = options.open(Path::new(&file)).expect("opens");
        let reading = fixture.arguments();
        let file: Vec<&str> = [file.as_str()].into_iter().chain(reading.iter().map(String::as_str)).collect();
        assert_eq!(run(&[&["index", "-q"], &file[..]].concat()).code == 0, !fixture.has_no_objects());
        // What `leaks` tells to look further with reads the dump in the same way.
        let way = format!(" {} ", reading.join(" "));
        let has_way = |words: &[&str]| words[0] == "leaks" && !reading.is_empty();
        let ids = questions::ids(&dump, Some(RETAINED), Some(1));
        let mut asked = questions::ask_of_dump(&dump, &[Format::Json]);
        asked.extend(questions::ask_of_objects(&dump, &ids, &[Format::Json]));
        for (at, question) in asked.into_iter().enumerate() {
            let words = question.words.iter().map(String::as_str);
            let reading = ["-f", "json", "--no-index"].into_iter().take(2 + (at + formats.len()) % 2);
            let words: Vec<&str> = words.chain(file.iter().copied()).chain(reading).collect();
            let ran = run(&words);
            match question.texts {
                Ok(texts) if has_way(&words) => {
                    assert_eq!(texts[0], ran.stdout.replace(&way, " "), "{words:?}");
                    assert_eq!(texts[0].contains("Look further"), ran.stdout.contains(&way), "{words:?}");
                }
                Ok(texts) => assert_eq!(texts[0], ran.stdout, "{words:?}"),
                // The program reads a profile with frames named by what rows are of; the library was given no such dump.
                Err(error) if error.contains("more of frames") && ran.code == 0 => {
                    assert!(fixture.holds_allocations() && words.contains(&"--by"), "{words:?}: {error}");
                }
                Err(error) => {
                    assert!(ran.code != 0 && ran.stdout.is_empty(), "{words:?}: {error}\n{}", ran.stdout);
                    assert!(!ran.stderr.contains("Usage:"), "{words:?}: {error}\n{}", ran.stderr);
                }
            }
            checked += 1;
        }
    }
    assert!(formats.len() > 7 && checked > 400, "{formats:?}: {checked}");
}

#[test]
fn the_index_is_really_used() {
    let (folder, dump) = small_dump();
    let expected = run(&["stats", "-f", "json", &dump]).stdout;
    run(&["index", &dump]).expect_code(0);
    assert_files(folder.path(), &["small_1k.txt", "small_1k.txt.hdx"]);
    // By itself, and without its dump.
    let index = index_of(&dump).display().to_string();
    assert_eq!(run(&["stats", "-f", "json", &index]).expect_code(0).stdout, expected);
    fs::remove_file(&dump).expect("removed");
    assert_eq!(run(&["stats", "-f", "json", &index]).expect_code(0).stdout, expected);
    let refused = run(&["stats", "--no-index", &index]).expect_code(2);
    assert!(refused.stderr.contains("--no-index"), "{}", refused.stderr);
    assert!(run(&["stats", "--raw-types", &index]).expect_code(2).stderr.contains("other reading options"));
    assert!(run(&["index", &index]).expect_code(2).stderr.contains("is an index already"));
}

/// The document has the layout of the version that is written.
#[test]
fn the_version_of_the_layout_is_documented() {
    let (_folder, dump) = small_dump();
    run(&["index", "-q", &dump]).expect_code(0);
    let header = std::fs::read(index_of(&dump)).unwrap();
    let version = u32::from_ne_bytes(header[8..12].try_into().unwrap());
    let document = std::fs::read_to_string(project("docs/index.md")).unwrap();
    assert!(document.contains(&format!("## Layout, version {version}\n")), "version {version}");
}

#[test]
fn an_index_can_be_made_of_a_pipe_and_put_anywhere() {
    let (folder, dump) = small_dump();
    let output = folder.path().join("other.hdx").display().to_string();
    let bytes = fs::read(&dump).expect("readable");
    let piped = crate::common::cmd::run_with_input(&["index", "-", "-o", &output], &bytes);
    assert_eq!(piped.code, 0, "{}", piped.stderr);
    assert_eq!(run(&["stats", &output]).stdout, run(&["stats", &dump]).stdout);
    assert!(crate::common::cmd::run_with_input(&["index"], &bytes).stderr.contains("say with -o"));
}

#[test]
fn what_an_interrupted_run_left_is_taken_away() {
    let (folder, dump) = small_dump();
    let (old, new) = (".small_1k.txt.hdx.aaaaaa.part", ".small_1k.txt.hdx.bbbbbb.part");
    for name in [old, new] {
        fs::write(folder.path().join(name), "half an index").expect("written");
    }
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    let file = fs::File::options().append(true).open(folder.path().join(old)).expect("opens");
    file.set_modified(long_ago).expect("dated");
    run(&["index", "-q", &dump]).expect_code(0);
    // Somebody may still be writing the new one.
    assert_files(folder.path(), &[new, "small_1k.txt", "small_1k.txt.hdx"]);
}

#[test]
fn a_stale_index_is_told_and_not_used() {
    let (_folder, dump) = small_dump();
    run(&["index", &dump]).expect_code(0);
    let text = fs::read_to_string(&dump).expect("readable");
    // The same length: one object more of a type, one fewer of another.
    let line = text.lines().find(|line| line.starts_with("o ")).expect("an object");
    let id = line.split(' ').nth(1).expect("an id");
    let changed = text.replacen(line, &line.replacen(id, &"f".repeat(id.len()), 1), 1);
    assert_eq!(changed.len(), text.len());
    fs::write(&dump, changed).expect("written");
    let without = run(&["list", "--no-index", &dump]);
    let with = run(&["list", &dump]);
    assert_eq!(with.stdout, without.stdout);
    assert!(with.stderr.contains("does not belong to this dump"), "{}", with.stderr);
    assert_eq!(run(&["list", "-q", &dump]).stderr, "");
    // Through the index's own name as well.
    let by_index = run(&["list", &index_of(&dump).display().to_string()]);
    assert_eq!(by_index.stdout, without.stdout);
    assert!(by_index.stderr.contains("does not belong to this dump"));
    // Made anew it serves again.
    run(&["index", &dump]).expect_code(0);
    assert_eq!(run(&["list", &dump]).stderr, without.stderr);
    // For other reading options it does not.
    let other = run(&["stats", "--size-radix", "dec", &dump]);
    assert_eq!(other.stdout, run(&["stats", "--size-radix", "dec", "--no-index", &dump]).stdout);
    assert!(other.stderr.contains("other reading options"), "{}", other.stderr);
}

/// What `stats` and `roots` of the whole heap say, from an index of these bytes.
fn answers(dump: &str, index: &[u8]) -> [Ran; 3] {
    fs::write(index_of(dump), index).expect("written");
    [
        run(&["stats", "--retained", "-f", "json", dump]),
        run(&["list", "-f", "json", dump]),
        run(&["roots", "-t", "String", "-f", "json", dump]),
    ]
}

#[test]
fn a_cut_or_changed_index_never_changes_an_answer() {
    let (_folder, dump) = small_dump();
    run(&["index", &dump]).expect_code(0);
    let good = fs::read(index_of(&dump)).expect("readable");
    let expected = answers(&dump, &good);
    let mut noticed = 0;
    let mut check = |index: &[u8], what: &str| {
        for (now, expected) in answers(&dump, index).iter().zip(&expected) {
            assert_eq!((&now.stdout, now.code), (&expected.stdout, expected.code), "{what}\n{}", now.stderr);
            assert!(!now.stderr.contains("panicked"), "{what}\n{}", now.stderr);
            noticed += usize::from(now.stderr.contains("damaged") || now.stderr.contains("cut"));
        }
    };
    for at in (0..good.len()).step_by(good.len() / 60) {
        check(&good[..at], &format!("cut at {at}"));
        let mut flipped = good.clone();
        flipped[at] ^= 1 << (at % 8);
        check(&flipped, &format!("bit {} of byte {at} flipped", at % 8));
    }
    let mut longer = good.clone();
    longer.extend_from_slice(b"more");
    check(&longer, "longer");
    assert!(noticed > 300, "{noticed}");
}

#[test]
fn a_page_is_written_once_whatever_the_index_is_like() {
    let (_folder, dump) = small_dump();
    run(&["index", &dump]).expect_code(0);
    let good = fs::read(index_of(&dump)).expect("readable");
    let mut noticed = 0;
    for at in (100..good.len()).step_by(good.len() / 40) {
        let mut flipped = good.clone();
        flipped[at] ^= 0x10;
        fs::write(index_of(&dump), &flipped).expect("written");
        let ran = run(&["report", &dump, "-o", "-"]).expect_code(0);
        assert_eq!(ran.stdout.matches("</html>").count(), 1, "byte {at}: {}", ran.stderr);
        noticed += usize::from(ran.stderr.contains("damaged"));
    }
    assert!(noticed > 10, "{noticed}");
}

/// The index with checks that fit what is in it, as docs/index.md describes them.
fn sealed(mut index: Vec<u8>) -> Vec<u8> {
    use twox_hash::XxHash3_64;
    let number = |index: &[u8], at: usize| u64::from_ne_bytes(index[at..at + 8].try_into().expect("8 bytes"));
    let (columns, json) = (number(&index, 24) as usize, number(&index, 32) as usize);
    let tail = index.len() - json - columns.div_ceil(1 << 16) * 8;
    for (block, start) in (64..64 + columns).step_by(1 << 16).enumerate() {
        let check = XxHash3_64::oneshot(&index[start..(start + (1 << 16)).min(64 + columns)]);
        index[tail + block * 8..][..8].copy_from_slice(&check.to_ne_bytes());
    }
    let check = XxHash3_64::oneshot(&index[tail..]);
    index[40..48].copy_from_slice(&check.to_ne_bytes());
    let check = XxHash3_64::oneshot(&index[..56]);
    index[56..64].copy_from_slice(&check.to_ne_bytes());
    index
}

/// How many questions an index answers.
fn answers_of_index(path: &Path) -> usize {
    let Ok(dump) = heapdump::dump::open(path) else { return 0 };
    let asked = questions::ask_of_dump(&dump, &[Format::Json]);
    let exported = questions::exports(&dump).iter().filter(|export| export.is_ok()).count();
    exported + asked.iter().filter(|question| question.texts.is_ok()).count()
}

#[test]
fn an_index_that_lies_does_no_harm() {
    let (_folder, dump) = small_dump();
    run(&["index", &dump]).expect_code(0);
    let good = fs::read(index_of(&dump)).expect("readable");
    assert!(sealed(good.clone()) == good, "docs/index.md and the index differ");
    fs::remove_file(&dump).expect("removed");
    let lines =
        ["info", "stats --retained", "dominators --depth 9", "leaks", "list", "roots -t String", "export --to dot"];
    let mut random = 1u64;
    let mut answered = 0;
    for round in 0..120 {
        let mut index = good.clone();
        for _ in 0..=round % 4 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = 64 + (random >> 33) as usize % (index.len() - 64);
            index[at] = (random >> 20) as u8;
        }
        let path = index_of(&dump);
        fs::write(&path, sealed(index)).expect("written");
        // In this process, and now and then by the program.
        let asked = std::panic::catch_unwind(|| answers_of_index(&path));
        answered += asked.unwrap_or_else(|_| panic!("round {round}"));
        for line in lines.into_iter().filter(|_| round % 10 == 0) {
            let mut words: Vec<&str> = line.split(' ').collect();
            let path = path.display().to_string();
            words.push(&path);
            let ran = run(&words);
            assert!((0..=2).contains(&ran.code) && !ran.stderr.contains("panicked"), "{round} {line}\n{}", ran.stderr);
        }
    }
    assert!(answered > 1000, "{answered}");
}

#[test]
fn a_damaged_index_without_its_dump_is_an_error() {
    let (_folder, dump) = small_dump();
    run(&["index", &dump]).expect_code(0);
    let mut index = fs::read(index_of(&dump)).expect("readable");
    // The first column.
    index[100] ^= 1;
    fs::write(index_of(&dump), index).expect("written");
    fs::remove_file(&dump).expect("removed");
    let ran = run(&["stats", &index_of(&dump).display().to_string()]).expect_code(2);
    assert!(ran.stderr.contains("damaged") && ran.stderr.contains("dump is not beside it"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

/// Damage that shows only in the middle of an answer: every block in turn, in an index of many.
#[test]
fn every_block_is_checked_when_it_is_touched() {
    let (_folder, dump) = folder_with(&project("fixtures/ibm_classic/small.native.txt.gz"));
    run(&["index", "-q", &dump]).expect_code(0);
    let good = fs::read(index_of(&dump)).expect("readable");
    let id = run(&["list", "-q", "--ids", "-n", "1", &dump]).stdout.trim().to_string();
    let lines = [
        vec!["stats", "--retained", "-f", "csv"],
        vec!["dominators", "--depth", "5", "-f", "json"],
        vec!["list", "-f", "csv"],
        vec!["roots", "-t", "String", "-f", "json"],
        vec!["show", &id, "-f", "json"],
    ];
    let ask = |line: &[&str], threads: &str| {
        let mut words = line.to_vec();
        words.extend([dump.as_str(), "--threads", threads]);
        run(&words)
    };
    let expected: Vec<Ran> = lines.iter().map(|line| ask(line, "2")).collect();
    let (mut noticed, mut untouched) = (0, 0);
    for block in (64..good.len()).step_by(1 << 16) {
        let mut index = good.clone();
        index[block + block / 7 % 1000] ^= 1 << (block % 7);
        fs::write(index_of(&dump), index).expect("written");
        for (line, expected) in lines.iter().zip(&expected) {
            let threads = if block % 2 == 0 { "1" } else { "4" };
            let ran = ask(line, threads);
            assert_eq!((&ran.stdout, ran.code), (&expected.stdout, expected.code), "{line:?} block at {block}");
            // A command that answers again says nothing twice.
            let mut said: Vec<&str> = ran.stderr.lines().collect();
            said.sort_unstable();
            assert!(said.windows(2).all(|pair| pair[0] != pair[1]), "{line:?} block at {block}: {}", ran.stderr);
            match ran.stderr.contains("is damaged") {
                true => noticed += 1,
                false => untouched += 1,
            }
        }
        assert_eq!(run(&["stats", "-q", &dump]).stderr, "");
    }
    assert!(noticed > 50 && untouched > 10, "{noticed}, {untouched}");
}

#[cfg(unix)]
#[test]
fn a_pipe_with_a_name_is_read_from_its_first_byte() {
    let (folder, dump) = small_dump();
    let expected = run(&["stats", "-f", "json", &dump]).stdout;
    for line in ["stats -f json <(cat \"$1\")", "cat \"$1\" | \"$0\" stats -f json /dev/stdin"] {
        let line = if line.starts_with("stats") { format!("\"$0\" {line}") } else { line.to_string() };
        let mut command = Command::new("bash");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_heapdump"), &dump]).env_remove("HEAPDUMP_FILE");
        assert_eq!(finish(command).expect_code(0).stdout, expected, "{line}");
    }
    let mut command = Command::new("bash");
    let output = folder.path().join("o.hdx").display().to_string();
    let line = "\"$0\" index <(cat \"$1\") -o \"$2\" && \"$0\" stats -f json \"$2\"";
    command.args(["-c", line, env!("CARGO_BIN_EXE_heapdump"), &dump, &output]).env_remove("HEAPDUMP_FILE");
    assert_eq!(finish(command).expect_code(0).stdout, expected);
}

#[test]
fn an_index_by_its_own_name_serves_as_it_was_made() {
    let (folder, dump) = folder_with(&project("fixtures/nettrace/three-gcs-net9.nettrace.zst"));
    let named = |name: &str| folder.path().join(name).display().to_string();
    for number in ["1", "3"] {
        run(&["index", "-q", "--snapshot", number, &dump, "-o", &named(&format!("{number}.hdx"))]).expect_code(0);
        let expected = run(&["stats", "-f", "json", "--no-index", "--snapshot", number, &dump]).stdout;
        assert_eq!(run(&["stats", "-f", "json", &named(&format!("{number}.hdx"))]).expect_code(0).stdout, expected);
    }
    let grown = run(&["diff", "-q", "-f", "json", &named("1.hdx"), &named("3.hdx")]).expect_code(0);
    assert!(grown.json()["types"].as_array().expect("rows").len() > 3);
    let refused = run(&["stats", "--snapshot", "2", &named("1.hdx")]).expect_code(2);
    assert!(refused.stderr.contains("--snapshot 1"), "{}", refused.stderr);
    // A file of that name beside it that is not its dump changes nothing.
    let expected = run(&["stats", "-f", "json", &named("3.hdx")]).stdout;
    fs::write(named("3"), "another file").expect("written");
    assert_eq!(run(&["stats", "-f", "json", &named("3.hdx")]).expect_code(0).stdout, expected);
}

#[test]
fn counting_without_a_graph_goes_to_the_dump_behind_an_index() {
    let (_folder, dump) = small_dump();
    run(&["index", "-q", &dump]).expect_code(0);
    let index = index_of(&dump).display().to_string();
    assert_eq!(run(&["stats", "--shallow", &index]).stdout, run(&["stats", "--shallow", &dump]).stdout);
    fs::write(&index, "no index at all").expect("written");
    let ran = run(&["stats", &index]).expect_code(0);
    assert!(ran.stderr.contains("is no index") || ran.stderr.contains("is cut"), "{}", ran.stderr);
    run(&["index", "-q", &dump]).expect_code(0);
    fs::remove_file(&dump).expect("removed");
    assert!(run(&["stats", "--shallow", &index]).expect_code(2).stderr.contains("without --shallow"));
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let (folder, dump) = small_dump();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" index \"$1\"", env!("CARGO_BIN_EXE_heapdump"), &dump]);
    let ran = finish(command).expect_code(2);
    assert!(ran.stderr.contains("cannot write"), "{}", ran.stderr);
    assert_files(folder.path(), &["small_1k.txt"]);
    // An older index stays.
    run(&["index", &dump]).expect_code(0);
    let before = fs::read(index_of(&dump)).expect("readable");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" index \"$1\"", env!("CARGO_BIN_EXE_heapdump"), &dump]);
    finish(command).expect_code(2);
    assert_eq!(fs::read(index_of(&dump)).expect("readable"), before);
    let nowhere = finish(heapdump(&["index", &dump, "-o", "/nowhere/at/all.hdx"])).expect_code(2);
    assert!(nowhere.stderr.contains("cannot write /nowhere/at/all.hdx"), "{}", nowhere.stderr);
}

/// Finding C10: a change in the middle that keeps length, time and both ends is seen by `--check`.
#[test]
fn the_whole_dump_is_compared_on_request() {
    let (folder, dump) = folder_with(&project("fixtures/hprof/zoo-jdk17-serial.hprof.zst"));
    let check = |file: &str, code: i32, words: &str| {
        let ran = run(&["index", "--check", file]).expect_code(code);
        assert!(ran.stderr.contains(words) && ran.stdout.is_empty(), "{}", ran.stderr);
    };
    check(&dump, 2, "has no index");
    run(&["index", &dump]).expect_code(0);
    let index = index_of(&dump).display().to_string();
    check(&dump, 0, "all bytes of both are as they were");
    check(&index, 0, "all bytes of both are as they were\n");
    let (written, modified) = (fs::read(&dump).expect("there"), fs::metadata(&dump).expect("there").modified());
    assert!(written.len() > 150_000, "larger than the ends that are compared");
    let mut changed = written.clone();
    changed[100_000] ^= 1;
    fs::write(&dump, &changed).expect("written");
    let file = fs::File::options().write(true).open(&dump).expect("opened");
    file.set_modified(modified.expect("a time")).expect("set back");
    assert!(run(&["stats", &dump]).expect_code(0).stderr.is_empty(), "believed without a look at the middle");
    check(&dump, 1, "does not belong to this dump as it is now");
    fs::write(&dump, &written).expect("written");
    check(&dump, 0, "as they were; the time of the dump is another, though, so commands do not use the index");
    assert!(run(&["stats", &dump]).expect_code(0).stderr.contains("does not belong to this dump as it is now"));
    // What is read from the dump is missing where that is: one line says so.
    let alone = folder.path().join("alone.hdx").display().to_string();
    fs::copy(&index, &alone).expect("copied");
    for command in ["leaks", "threads", "dominators"] {
        let said = run(&[command, &alone]).expect_code(0).stderr;
        assert_eq!(
            said,
            "heapdump: no fields, texts and names of references: they are read from the dump, which is not beside its index\n"
        );
    }
    let mut damaged = fs::read(&index).expect("there");
    damaged[70_000] ^= 1;
    fs::write(&index, damaged).expect("written");
    check(&dump, 1, "is damaged");
    fs::remove_file(&dump).expect("removed");
    check(&index, 2, "is not beside it");
    drop(folder);
}

/// Finding C7: the name was not typed, and in a folder of others somebody may have put something there.
#[cfg(unix)]
#[test]
fn an_index_beside_its_dump_replaces_regular_files_alone() {
    let (folder, dump) = small_dump();
    let (index, other) = (index_of(&dump), folder.path().join("other"));
    let refused = || {
        let ran = run(&["index", &dump]).expect_code(2);
        let expected = format!("heapdump: {} is a link or no regular file", index.display());
        assert!(
            ran.stderr.starts_with(&expected) && ran.stderr.contains("-o puts the index elsewhere"),
            "{}",
            ran.stderr
        );
        fs::remove_file(&index).expect("still there");
    };
    fs::write(&other, "the user's own").expect("written");
    std::os::unix::fs::symlink(&other, &index).expect("linked");
    refused();
    assert_eq!(fs::read(&other).expect("readable"), b"the user's own");
    std::os::unix::fs::symlink(folder.path().join("nothing"), &index).expect("linked");
    refused();
    // Nobody reads it: what opens it waits for ever.
    assert!(Command::new("mkfifo").arg(&index).status().expect("mkfifo").success());
    refused();
    run(&["index", &dump]).expect_code(0);
    run(&["index", &dump]).expect_code(0);
    // What was typed is followed.
    std::os::unix::fs::symlink(&other, folder.path().join("typed")).expect("linked");
    run(&["index", &dump, "-o", &folder.path().join("typed").display().to_string()]).expect_code(0);
    assert_eq!(fs::read(&other).expect("readable")[..4], *b"\x89HDX");
}

#[test]
fn allocation_totals_have_no_index() {
    let (folder, trace) = folder_with(&project("fixtures/memory_infra/seed-example.trace"));
    let ran = run(&["index", &trace]).expect_code(2);
    assert!(ran.stderr.contains("allocation totals"), "{}", ran.stderr);
    assert_files(folder.path(), &["seed-example.trace"]);
}
