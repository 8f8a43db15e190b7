//! `info` and `stats` of several files at once: every form, files that cannot be read, and what a pipe gets.

use crate::common::cmd::{project, run, run_on_terminal, run_with_input};

const GAME: &str = "fixtures/xna_cf/pair_after.txt";
const JAVA: &str = "fixtures/ibm_classic/small.native.txt.gz";
const NET: &str = "fixtures/gcdump/small-net9.gcdump.zst";
const TRACE: &str = "fixtures/memory_infra/chromium66-heaps.trace.gz";

#[test]
fn info_gives_a_row_for_each_file() {
    let text = run(&["info", GAME, JAVA, NET, TRACE]).expect_code(0).stdout;
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert_eq!(lines[0][..3], ["format", "version", "sections"]);
    assert_eq!((lines[1][0], lines[1][3], lines[1][8]), ("xna-cf", "2252", GAME));
    // Two words of a version are too many for a column.
    assert_eq!(lines[2][1], "B");
    assert_eq!((lines[4][0], lines[4][3]), ("memory-infra", "-"));
    let by_size = run(&["info", NET, JAVA, GAME, "--sort", "objects", "-n", "2", "-f", "csv"]).expect_code(0).stdout;
    let files: Vec<&str> = by_size.lines().skip(1).filter_map(|line| line.rsplit(',').next()).collect();
    assert_eq!(files, [JAVA, NET]);
}

#[test]
fn json_has_for_each_file_what_it_has_for_one() {
    for command in ["info", "stats"] {
        let several = run(&[command, GAME, TRACE, NET, "-f", "json", "-q"]).expect_code(0).json();
        assert_eq!(several["schema"], format!("heapdump.{command}/1"));
        for (place, file) in [GAME, TRACE, NET].iter().enumerate() {
            let mut one = run(&[command, file, "-f", "json", "-q"]).expect_code(0).json();
            let mut of_file = several["files"][place].clone();
            assert_eq!(of_file["file"], *file);
            of_file.as_object_mut().unwrap().remove("file");
            one.as_object_mut().unwrap().remove("schema");
            assert_eq!(of_file, one, "{command} {file}");
        }
    }
}

#[test]
fn stats_in_a_pipe_has_the_file_before_the_type() {
    let one = run(&["stats", GAME, "-n", "3", "-q"]).expect_code(0).stdout;
    let text = run(&["stats", GAME, NET, "-n", "3", "-q"]).expect_code(0).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 7, "{text}");
    // Figures stay in the columns they have for one file; rows stay in its order.
    for (line, of_one) in lines.iter().zip(one.lines()).skip(1) {
        let (words, words_of_one): (Vec<&str>, Vec<&str>) =
            (line.split_whitespace().collect(), of_one.split_whitespace().collect());
        assert_eq!(words[..4], words_of_one[..4]);
        assert_eq!((words[4], words[5]), (GAME, words_of_one[4]));
    }
    let rows = run(&["stats", GAME, TRACE, "-n", "1", "-q", "-f", "jsonl"]).expect_code(0).stdout;
    let last: serde_json::Value = serde_json::from_str(rows.lines().last().unwrap()).unwrap();
    assert_eq!((&last["file"], &last["objects"]), (&TRACE.into(), &serde_json::Value::Null));
}

#[test]
fn a_file_that_cannot_be_read_is_told_and_the_others_are_shown() {
    for (command, answer) in [("info", "xna-cf"), ("stats", "System.Byte[]")] {
        let ran = run(&[command, "no-such-file", GAME, "Cargo.toml", "-q"]).expect_code(2);
        assert!(ran.stdout.contains(answer), "{}", ran.stdout);
        assert!(ran.stderr.contains("no-such-file: cannot read"), "{}", ran.stderr);
        assert!(ran.stderr.contains("Cargo.toml: unknown format"), "{}", ran.stderr);
        let none = run(&[command, "no-such-file", "nor-this", "-f", "json"]).expect_code(2);
        assert_eq!((none.stdout.as_str(), none.stderr.lines().count()), ("", 2));
    }
    // Wrong options are told once, and warnings say of which file they are.
    let wrong = run(&["stats", GAME, NET, "--type", "/(/"]).expect_code(2);
    assert_eq!(wrong.stderr.lines().filter(|line| line.starts_with("heapdump: ")).count(), 1, "{}", wrong.stderr);
    let warned = run(&["stats", GAME, "fixtures/xna_cf/31_bad_records.txt"]).expect_code(0);
    assert!(warned.stderr.contains("warning: fixtures/xna_cf/31_bad_records.txt: malformed"), "{}", warned.stderr);
}

#[test]
fn options_of_stats_hold_for_every_file() {
    let retained = run(&["stats", GAME, NET, "--retained", "exact", "-n", "1", "-f", "csv", "-q"]).expect_code(0);
    assert!(
        retained.stdout.starts_with("objects,shallow_bytes,reachable_objects,reachable_bytes,retained_bytes,file,type")
    );
    let shallow = run(&["stats", GAME, NET, "--shallow", "--by", "package", "-f", "json"]).expect_code(0).json();
    assert!(shallow["files"][1]["groups"].is_array());
    let matching = ["--type", "BubbleGame.Level"];
    run(&[&["stats", GAME, NET][..], &matching].concat()).expect_code(0);
    run(&[&["stats", JAVA, NET][..], &matching].concat()).expect_code(1);
    let over = run(&["stats", JAVA, GAME, "--fail-over", "System.Byte[]=100KiB", "-q"]).expect_code(1);
    assert!(over.stderr.contains(&format!("{GAME}: System.Byte[] takes 279.9 KiB")), "{}", over.stderr);
    assert!(run(&["stats", GAME, NET, "--domain", "2"]).expect_code(2).stderr.contains(&format!("{NET}: --domain")));
}

#[test]
fn standard_input_is_one_of_the_files_at_most_once() {
    let bytes = std::fs::read(project(GAME)).unwrap();
    let ran = run_with_input(&["info", "-", NET, "-f", "json"], &bytes).expect_code(0).json();
    assert_eq!((&ran["files"][0]["file"], &ran["files"][0]["format"]), (&"-".into(), &"xna-cf".into()));
    assert!(run_with_input(&["stats", "-", "-"], &bytes).expect_code(2).stderr.contains("read once"));
}

#[test]
fn on_a_terminal_files_stand_one_below_the_other() {
    for columns in [80, 200] {
        // Without what is shown of progress where it takes long.
        let line = format!(
            "heapdump stats {GAME} {NET} --retained -n 2 2>/dev/null; heapdump info {GAME} {NET} {JAVA} {TRACE} 2>/dev/null"
        );
        let ran = run_on_terminal(&line, columns);
        assert!(ran.stdout.contains("372.9 KiB") && ran.stdout.contains("more rows"), "{}", ran.stdout);
        let tables = ran.stdout.lines().filter(|line| !line.starts_with("heapdump: "));
        assert!(tables.map(|line| line.chars().count()).max() <= Some(columns), "{}", ran.stdout);
    }
}
