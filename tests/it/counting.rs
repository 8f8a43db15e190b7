//! Types counted without a graph and with one: the same figures; records that tools write in more ways than one, and sums
//! that are too large.

use std::io::Read;

use crate::common::cmd::{Ran, project, run, run_with_input};
use crate::common::fixtures;
use serde_json::{Value, json};

fn file(name: &str) -> String {
    project(&format!("tests/inputs/{name}")).display().to_string()
}

fn problem(answer: &Value, code: &str) -> Option<Value> {
    let list = answer["problems"].as_array().expect("problems");
    list.iter().find(|problem| problem["code"] == code).cloned()
}

fn rows(answer: &Value) -> Vec<(String, u64, u64)> {
    let row = |row: &Value| {
        let number = |key: &str| row[key].as_u64().expect("a number");
        (row["type"].as_str().expect("a name").to_string(), number("objects"), number("shallow_bytes"))
    };
    answer["types"].as_array().expect("types").iter().map(row).collect()
}

/// A3: counted what two threads had written, or what two snapshots had, as one.
#[test]
fn counting_keeps_to_the_snapshot() {
    for (name, snapshots, objects) in [("shallow_two_threads", 1, 3), ("shallow_lost_first", 2, 2)] {
        let path = file(&format!("{name}.nettrace"));
        for number in 1..=snapshots {
            let number = number.to_string();
            let shallow =
                run(&["stats", "--shallow", "--snapshot", &number, &path, "-f", "json"]).expect_code(0).json();
            assert_eq!(rows(&shallow), [("Game.A".to_string(), objects, 16 * objects)], "{name} {number}");
            let full = run(&["stats", "--snapshot", &number, &path, "-f", "json"]).expect_code(0).json();
            assert_eq!(rows(&full), rows(&shallow), "{name} {number}");
        }
    }
}

/// A3: every snapshot of every trace there is, counted and read.
#[test]
fn counting_and_reading_agree_on_all_traces() {
    for fixture in fixtures::all().iter().filter(|fixture| matches!(&*fixture.format, "nettrace" | "gcdump")) {
        let path = fixture.path.display().to_string();
        let info = run(&["info", &path, "-f", "json"]);
        if info.code != 0 {
            continue;
        }
        let snapshots = info.json()["snapshots"].as_array().map_or(1, Vec::len);
        for number in (1..=snapshots.max(1)).map(|number| number.to_string()) {
            let ask = |how: &[&str]| {
                let mut args = vec!["stats", &path, "-f", "json"];
                if snapshots > 1 {
                    args.extend(["--snapshot", &number]);
                }
                args.extend(how);
                run(&args).expect_code(0).json()
            };
            let (mut full, mut shallow) = (rows(&ask(&[])), rows(&ask(&["--shallow"])));
            full.sort();
            shallow.sort();
            assert_eq!(full, shallow, "{path} {number}");
        }
    }
}

/// A16: types of one name, told apart by what loaded them or where their constructors stand, are rows of their own in both.
#[test]
fn counting_and_reading_tell_types_of_one_name_apart() {
    let mut twins = 0;
    for fixture in fixtures::all().iter().filter(|fixture| matches!(&*fixture.format, "hprof" | "v8-snapshot" | "phd"))
    {
        let path = fixture.path.display().to_string();
        for how in [&[][..], &["--raw-types"]] {
            let ask = |more: &[&str]| run(&[&["stats", &path, "-q", "-f", "json"], how, more].concat());
            let read = ask(&[]);
            if read.code != 0 {
                continue;
            }
            let rows = |answer: &Value| {
                let row = |row: &Value| {
                    let loader = row.get("loader").map(|loader| loader["id"].clone());
                    let parts =
                        [&row["type"], &row["objects"], &row["shallow_bytes"], &json!(loader), &row["location"]];
                    parts.map(Value::to_string).join(" ")
                };
                let mut rows: Vec<String> = answer["types"].as_array().expect("types").iter().map(row).collect();
                rows.sort();
                rows
            };
            let (full, shallow) = (read.json(), ask(&["--shallow"]).expect_code(0).json());
            if full["problems"].as_array().is_some_and(|problems| !problems.is_empty()) {
                continue;
            }
            assert_eq!(rows(&full), rows(&shallow), "{path} {how:?}");
            twins += full["types"].as_array().expect("types").iter().filter(|row| row.get("loader").is_some()).count();
        }
    }
    assert!(twins > 0);
    let zoo = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
    let table = run(&["stats", zoo, "--shallow", "-t", "zoo.Plugin", "-q"]).expect_code(0).stdout;
    assert_eq!(table.matches("zoo.Plugin (0x").count(), 2, "{table}");
}

/// A5: arrays kept the name of their elements where the runtime leaves `[]` out.
#[test]
fn arrays_are_called_arrays() {
    let list = run(&["list", &file("types.nettrace"), "-f", "json"]).expect_code(0).json();
    let names: Vec<&str> =
        list["objects"].as_array().unwrap().iter().map(|object| object["type"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "Demo.A[]",
            "Demo.Plain",
            "Type(0x2000077) of Module(0xabc)",
            "System.Collections.Generic.List<Demo.A>",
            "Demo.B[]",
            "Type(0x2000078)[] of Module(0xabc)",
            "Demo.C[,]"
        ]
    );
    let raw = run(&["stats", &file("types.nettrace"), "--raw-types", "-f", "csv"]).expect_code(0).stdout;
    assert!(raw.contains("Demo.A\n") && !raw.contains("Demo.A[]"), "{raw}");
    let trace = "fixtures/nettrace/nonames-net9.nettrace.zst";
    for how in [&[][..], &["--shallow"]] {
        let answer = run(&[&["stats", trace, "-f", "json", "-q"], how].concat()).expect_code(0).json();
        let arrays = ("Type(0x2000000)[] of System.Private.CoreLib.dll".to_string(), 248, 477_476);
        assert!(rows(&answer).contains(&arrays), "{:?}", rows(&answer));
    }
}

/// A8: repeats were counted without a word.
#[test]
fn counting_says_that_repeats_count() {
    let dump = |again: &str| format!("a 2 x\nt 1 A\no 10 1 20\no 20 1 20 10\n{again}o 30 1 10\nc x\n");
    let ask = |dump: &str, form: &[&str]| run_with_input(&[&["stats", "--shallow"], form].concat(), dump.as_bytes());
    let twice = dump("o 20 1 20 10\n");
    let ran = ask(&twice, &[]).expect_code(0);
    assert!(ran.stderr.contains("note: possible-repeat (at line 5)"), "{}", ran.stderr);
    assert!(ran.stderr.contains("counts repeats each time"), "{}", ran.stderr);
    let answer = ask(&twice, &["-f", "json"]).json();
    assert_eq!(problem(&answer, "possible-repeat").unwrap()["count"], 1);
    ask(&twice, &["--strict"]).expect_code(0);
    assert_eq!(ask(&dump(""), &[]).expect_code(0).stderr, "");
    // Ids belong to their section.
    assert_eq!(ask(&(dump("") + &dump("")), &[]).expect_code(0).stderr, "");
    // Blocks of the text are parsed apart and looked at in order.
    let mut large = String::from("a 2 x\nt 1 A\n");
    (1..200_000u64).for_each(|id| large += &format!("o {:x} 1 10 {:x}\n", id * 8, id * 8 + 8));
    assert_eq!(ask(&(large.clone() + "c x\n"), &["-q"]).expect_code(0).stderr, "");
    let answer = ask(&(large + "o 100 1 10\no 110 1 10\nc x\n"), &["-f", "json"]).json();
    let found = problem(&answer, "possible-repeat").unwrap();
    assert_eq!((&found["count"], &found["first_at"]), (&2.into(), &"line 200002".into()));
    // IBM classic.
    let record = "0x00000010 [24] OBJ A\n\t\n";
    let answer = ask(&format!("// Version: x\n{record}{record}"), &["-f", "json"]).json();
    assert_eq!(problem(&answer, "possible-repeat").unwrap()["count"], 1);
}

/// A10: a trailer that does not count nulls was no trailer.
#[test]
fn the_number_of_nulls_may_be_missing_in_the_trailer() {
    let text = std::fs::read_to_string(file("trailer_without_nulls.txt")).unwrap();
    let ask = |text: &str| run_with_input(&["info", "-f", "json"], text.as_bytes()).expect_code(0).json();
    let info = ask(&text);
    assert_eq!(info["problems"], json!([]));
    assert_eq!(info["trailer"], "agrees with what was read");
    assert_eq!(info["sections"][0]["complete"], true);
    // It is still compared; and the end of the file may be a cut.
    let wrong = ask(&text.replace(": 2,1", ": 3,0"));
    assert_eq!(problem(&wrong, "trailer-mismatch").unwrap()["count"], 2);
    assert!(problem(&ask(text.trim_end()), "missing-trailer").is_some());
    assert!(problem(&ask(&text.replace(": 2,1", ": 2,1(")), "missing-trailer").is_some());
}

/// A13: sums ended at 2^64 - 1 without a word.
#[test]
fn sums_that_do_not_fit_are_reported() {
    let path = file("overflow.txt");
    for command in [&["stats"][..], &["stats", "--shallow"], &["info"]] {
        let answer = run(&[command, &[&*path, "-f", "json"]].concat()).expect_code(0).json();
        let found = problem(&answer, "size-overflow").expect("reported");
        assert_eq!((&found["count"], &found["first_at"]), (&1.into(), &"line 5".into()), "{command:?}");
        run(&[command, &[&*path, "--strict"]].concat()).expect_code(2);
    }
    let text = std::fs::read_to_string(path).unwrap();
    let ask = |text: &str, how: &[&str]| {
        let answer = run_with_input(&[&["stats", "-f", "json"], how].concat(), text.as_bytes()).expect_code(0).json();
        problem(&answer, "size-overflow").map(|found| found["count"].as_u64().unwrap())
    };
    let record = "0x00000020 [18446744073709551615] OBJ A\n\t\n";
    let java = format!("// Version: x\n0x00000010 [24] OBJ A\n\t\n{record}");
    for how in [&[][..], &["--shallow"]] {
        assert_eq!(ask(&text.repeat(2), how), Some(2));
        // Two sections that fit, but not together.
        let one = "a 2 x\nt 1 A\no 10 1 ffffffffffffffff\nc x\n";
        assert_eq!((ask(one, how), ask(&one.repeat(2), how)), (None, Some(1)));
        assert_eq!(ask(&java, how), Some(1));
    }
    // The second is the first again: only one of them counts.
    assert_eq!(ask(&format!("// Version: x\n{record}{record}"), &[]), None);
}

/// A15: what old traces leave out is nothing.
#[test]
fn sums_of_old_traces_are_exact() {
    let trace = "fixtures/memory_infra/seed-old.trace";
    for command in [&["breakdown"][..], &["breakdown", "--by", "type"], &["breakdown", "--by", "both"]] {
        let table = run(&[command, &[trace]].concat()).expect_code(0).stdout;
        assert!(table.contains(" 876 ") || command.len() > 1, "{table}");
        assert!(!table.contains("at-least"), "{table}");
    }
    // What cannot be read is missing.
    let text = std::fs::read_to_string(project(trace)).unwrap().replacen("\"259\"", "\"-\"", 1);
    let table = run_with_input(&["breakdown", "-q"], text.as_bytes()).expect_code(0).stdout;
    assert!(table.contains("at-least"), "{table}");
}

/// A15: what is written of an old trace is read as the same tree.
#[test]
fn old_traces_come_back_as_they_were() {
    let trace = "fixtures/memory_infra/seed-old.trace";
    let written = run(&["export", "--to", "memory-infra", trace]).expect_code(0).stdout;
    let tree = |ran: Ran| ran.expect_code(0).json()["heaps"][0]["tree"].clone();
    let again = tree(run_with_input(&["breakdown", "-f", "json"], written.as_bytes()));
    assert_eq!(tree(run(&["breakdown", trace, "-f", "json"])), again);
}

fn unpacked(path: &str) -> Vec<u8> {
    let file = std::fs::File::open(project(path)).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

/// A17: lines that end with CR alone were one line, and a table of nothing the answer.
#[test]
fn lines_may_end_with_cr() {
    let dumps = [
        std::fs::read(project("fixtures/xna_cf/small_1k.txt")).unwrap(),
        std::fs::read(project("fixtures/ibm_classic/seed-asprinted.txt")).unwrap(),
        unpacked("fixtures/ibm_classic/small.native.txt.gz"),
        [b"<html>\n\n".to_vec(), unpacked("fixtures/ibm_classic/small.native.txt.gz")].concat(),
    ];
    for dump in dumps {
        let old: Vec<u8> = dump.iter().map(|&byte| if byte == b'\n' { b'\r' } else { byte }).collect();
        for command in [&["stats", "-f", "json"][..], &["stats", "--shallow", "-f", "json"], &["info", "-f", "json"]] {
            let (new, old) = (run_with_input(command, &dump), run_with_input(command, &old));
            assert_eq!(new.expect_code(0).stdout, old.expect_code(0).stdout);
        }
    }
}

/// A17: nothing read of something is an error; nothing read of nothing is an answer.
#[test]
fn nothing_read_is_an_error_unless_there_is_nothing() {
    for dump in [
        "a 2 x\nobject 10 1 20\nc x\n",
        "a 2 x\nt 1 A\no 10 zz 20\nc x\n",
        "a 2 x\no 10 1 2",
        "// Version: x\n0x10 [zz] OBJ A\n// EOF:  Total 'Objects',Refs(null) : 1,0(0)\n",
        "// Version: x\n0x00000010 [24] OBJ",
    ] {
        for command in ["stats", "info", "leaks"] {
            let ran = run_with_input(&[command], dump.as_bytes()).expect_code(2);
            assert!(
                ran.stderr.contains("no object could be read: ") && ran.stderr.lines().count() == 1,
                "{}",
                ran.stderr
            );
            assert_eq!(ran.stdout, "");
        }
        run_with_input(&["stats", "--shallow"], dump.as_bytes()).expect_code(2);
    }
    for path in [&*file("empty.txt"), "fixtures/xna_cf/37_nothing_inside.txt"] {
        for command in [&["stats"][..], &["stats", "--shallow"], &["info"], &["leaks"]] {
            run(&[command, &[path]].concat()).expect_code(0);
        }
    }
    let nothing = "// Version: x\n// Breakdown - Classes: 0, Objects: 0, ObjectArrays: 0, PrimitiveArrays: 0\n\
                   // EOF:  Total 'Objects',Refs(null) : 0,0(0)\n";
    run_with_input(&["stats"], nothing.as_bytes()).expect_code(0);
}
