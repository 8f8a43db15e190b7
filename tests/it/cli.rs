//! The binary as users and scripts call it: every output form, every way to name a dump, exit codes, hostile names.

use std::io::Read;
use std::process::Stdio;

use crate::common::cmd::{
    finish, heapdump, project, run, run_on_terminal, run_on_terminal_with_progress, run_with_input,
};

const SMALL: &str = "fixtures/xna_cf/43_finalizer.txt";
const GAME: &str = "fixtures/xna_cf/small_1k.txt";
const BEFORE: &str = "fixtures/xna_cf/pair_before.txt";
const AFTER: &str = "fixtures/xna_cf/pair_after.txt";
const JAVA: &str = "fixtures/ibm_classic/seed-asprinted.txt";

#[test]
fn plain_bytes_are_plain_on_a_terminal() {
    let lines = [
        "info fixtures/nettrace/three-gcs-net9.nettrace.zst",
        "info fixtures/memory_infra/chromium66-heaps.trace.gz",
        "stats fixtures/xna_cf/pair_after.txt",
        "stats fixtures/gcdump/sampled-net31.gcdump.zst",
        "stats fixtures/memory_infra/chromium66-heaps.trace.gz",
        "diff fixtures/xna_cf/pair_before.txt fixtures/xna_cf/pair_after.txt",
        "diff fixtures/memory_infra/chromium49-heaps.trace.gz fixtures/memory_infra/chromium66-heaps.trace.gz",
    ];
    for line in lines {
        let human = run_on_terminal(&format!("heapdump {line}"), 100);
        let plain = run_on_terminal(&format!("heapdump {line} --bytes"), 100);
        let has_units = |text: &str| ["KiB", "MiB", "GiB"].iter().any(|unit| text.contains(unit));
        assert!(has_units(&human.stdout), "{line}:\n{}", human.stdout);
        assert!(!has_units(&plain.stdout), "{line}:\n{}", plain.stdout);
    }
}

#[test]
fn a_dump_is_named_in_four_ways() {
    let expected = run(&["stats", SMALL]).expect_code(0).stdout;
    let bytes = std::fs::read(project(SMALL)).unwrap();
    assert_eq!(run_with_input(&["stats"], &bytes).expect_code(0).stdout, expected);
    assert_eq!(run_with_input(&["stats", "-"], &bytes).expect_code(0).stdout, expected);
    let mut command = heapdump(&["stats"]);
    command.env("HEAPDUMP_FILE", SMALL);
    assert_eq!(finish(command).expect_code(0).stdout, expected);
    let mut command = heapdump(&["roots", "20"]);
    command.env("HEAPDUMP_FILE", SMALL);
    assert!(finish(command).expect_code(0).stdout.contains("Texture"));
    assert!(run_with_input(&["roots", "20"], &bytes).expect_code(0).stdout.contains("Texture"));
}

#[test]
fn packed_dumps_are_unpacked_from_files_and_pipes() {
    use std::io::Write;
    let plain = std::fs::read(project(GAME)).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&plain).unwrap();
    let once = gzip.finish().unwrap();
    // Two members, as `cat a.gz b.gz` makes them.
    let (first, second) = plain.split_at(plain.len() / 2);
    let members: Vec<u8> = [first, second]
        .iter()
        .flat_map(|part| {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            gzip.write_all(part).unwrap();
            gzip.finish().unwrap()
        })
        .collect();
    let zstd = ruzstd::encoding::compress_to_vec(&plain[..], ruzstd::encoding::CompressionLevel::Fastest);
    let frames: Vec<u8> = [first, second]
        .iter()
        .flat_map(|part| ruzstd::encoding::compress_to_vec(*part, ruzstd::encoding::CompressionLevel::Fastest))
        .collect();
    let expected = run(&["stats", GAME]).stdout;
    for packed in [&once, &members, &zstd, &frames] {
        assert_eq!(run_with_input(&["stats"], packed).expect_code(0).stdout, expected);
    }
    let cut = run_with_input(&["stats"], &once[..once.len() / 2]).expect_code(0);
    assert!(cut.stderr.contains("broken-compression"), "{}", cut.stderr);
}

#[test]
fn ids_are_taken_in_any_case_with_zeros_and_prefix() {
    for id in ["7fe45", "7FE45", "0x7fe45", "0007fe45", "1#7fe45"] {
        let ran = run(&["show", id, GAME, "-f", "json", "--domain", "1"]).expect_code(0);
        assert_eq!(ran.json()["object"]["id"], "1#7fe45", "{id}");
    }
    let shown = run(&["show", "436e90", JAVA, "-f", "json", "-q"]).expect_code(0);
    assert_eq!(shown.json()["object"]["id"], "0x00436E90");
}

#[test]
fn an_id_of_several_sections_must_say_which() {
    let file = "fixtures/xna_cf/14_two_domains_same_ids.txt";
    let ran = run(&["show", "10", file]).expect_code(2);
    assert!(ran.stderr.contains("1#10, 2#10"), "{}", ran.stderr);
    assert_eq!(run(&["show", "2#10", file, "-f", "json"]).json()["object"]["type"], "B");
    assert_eq!(run(&["show", "10", file, "--domain", "two.exe", "-f", "json"]).json()["object"]["type"], "B");
    let stats = run(&["stats", file, "--domain", "2", "-f", "json"]).json();
    assert_eq!(stats["sections"], serde_json::json!(["two.exe"]));
    assert_eq!((&stats["totals"]["objects"], &stats["totals"]["dangling_references"]), (&2.into(), &1.into()));
    let by = run(&["stats", file, "--by", "domain", "-f", "json"]).json();
    assert_eq!(by["groups"].as_array().unwrap().len(), 2);
    assert!(run(&["stats", file, "--domain", "three"]).expect_code(2).stderr.contains("two.exe"));
}

#[test]
fn exit_codes_are_those_of_the_contract() {
    run(&["stats", SMALL]).expect_code(0);
    run(&["roots", "10", "fixtures/xna_cf/17_weak_roots.txt"]).expect_code(1);
    run(&["roots", "10", "fixtures/xna_cf/17_weak_roots.txt", "--all-kinds"]).expect_code(1);
    run(&["stats", SMALL, "--type", "nothing like it"]).expect_code(1);
    run(&["list", SMALL, "--type", "nothing like it"]).expect_code(1);
    run(&["dominators", SMALL, "--type", "nothing like it"]).expect_code(1);
    for (args, text) in [
        (&["stats", "no-such-file"][..], "no-such-file: cannot read"),
        (&["stats", "src"], "src: is a directory"),
        (&["stats", "fixtures/xna_cf/38_empty.txt"], "the file is empty"),
        (&["stats", "Cargo.toml"], "unknown format"),
        (&["stats", SMALL, "--input-format", "nope"], "xna-cf"),
        (&["stats", SMALL, "--sort", "nope"], "shallow"),
        (&["stats", SMALL, "--snapshot", "2"], "one snapshot"),
        (&["stats", SMALL, "--nope"], "--nope"),
        (&["stats", SMALL, "--type", "/(/"], "regular expression"),
        (&["show", "77", SMALL], "no object 77"),
        (&["show", "xyz", SMALL], "neither a file nor an object id"),
        (&["roots", SMALL], "which object?"),
        (&["stats", "fixtures/xna_cf/12_missing_targets.txt", "--strict"], "dangling-ref"),
        (&["stats", "fixtures/xna_cf/31_bad_records.txt", "--strict"], "line 3"),
        (&["stats", "--shallow", "fixtures/xna_cf/31_bad_records.txt", "--strict"], "line 3"),
        (&["nonsense"], "nonsense"),
    ] {
        let ran = run(args).expect_code(2);
        assert!(ran.stderr.contains(text), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{args:?}");
    }
    // A terminal on standard input and no file at all.
    let ran = run_on_terminal("heapdump stats < /dev/tty", 80).expect_code(2);
    assert!(ran.stdout.contains("HEAPDUMP_FILE"), "{}", ran.stdout);
}

#[test]
fn files_of_other_tools_are_called_by_their_names() {
    let elf_core = [&b"\x7fELF\x02\x01\x01"[..], &[0; 9], &[4, 0, 62, 0], &[0; 40]].concat();
    let files: [(&[u8], &str); 6] = [
        (b"PK\x03\x04\x14\0\0\0\x08\0", "zip archive"),
        (b"\xfd7zXZ\0\0\x04\xe6\xd6", "xz -dc FILE"),
        (b"BZh91AY&SY", "bzip2 -dc FILE"),
        (b"MDMP\x93\xa7\0\0\x10\0\0\0", "Windows minidump"),
        (&elf_core, "ELF core dump"),
        (b"0SECTION       TITLE subcomponent dump routine\n", "Java core"),
    ];
    for (file, name) in files {
        let ran = run_with_input(&["stats"], file).expect_code(2);
        assert!(ran.stderr.contains(name), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("which heapdump does not read"), "{}", ran.stderr);
    }
}

#[test]
fn progress_is_for_terminals_that_wait() {
    let slowly = format!("(head -c 9000 {GAME}; sleep 1; tail -c +9001 {GAME}) | heapdump stats -n 1");
    let ran = run_on_terminal_with_progress(&slowly, 80);
    assert!(ran.stdout.contains("reading, ") && ran.stdout.contains("KiB/s"), "{}", ran.stdout);
    for quiet in ["-q", "2> /dev/null"] {
        let ran = run_on_terminal_with_progress(&format!("{slowly} {quiet}"), 80);
        assert!(!ran.stdout.contains("reading") && ran.stdout.contains("objects of"), "{}", ran.stdout);
    }
    let quick = run_on_terminal_with_progress(&format!("heapdump stats {GAME} -n 1"), 80);
    assert!(!quick.stdout.contains("reading"), "{}", quick.stdout);
}

#[test]
fn problems_are_told_once_a_kind_and_silenced() {
    let file = "fixtures/xna_cf/31_bad_records.txt";
    let ran = run(&["stats", file]).expect_code(0);
    assert_eq!(ran.stderr.lines().count(), 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("malformed-record (5 times, first at line 3: \"o 10 1\")"), "{}", ran.stderr);
    assert_eq!(run(&["stats", file, "-q"]).expect_code(0).stderr, "");
    run(&["stats", "--strict", "fixtures/xna_cf/10_types_after_objects.txt"]).expect_code(0);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let mut child = heapdump(&["list", GAME, "--ids"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn pipes_get_one_header_line_and_words() {
    let stats = run(&["stats", GAME]).expect_code(0).stdout;
    let header: Vec<&str> = stats.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(header, ["objects", "shallow_bytes", "reachable_objects", "reachable_bytes", "type"]);
    let total: u64 =
        stats.lines().skip(1).map(|line| line.split_whitespace().next().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(total, 1000);
    assert!(!stats.contains('\u{1b}') && !stats.contains('│'));
    let without = run(&["stats", GAME, "--no-header"]).stdout;
    assert_eq!(without.lines().count() + 1, stats.lines().count());
    let human = run(&["stats", GAME, "--human", "-n", "1", "--no-header"]).stdout;
    assert!(human.contains("92.7KiB"), "{human}");
}

#[test]
fn limits_orders_and_patterns() {
    let ids = run(&["list", GAME, "--ids", "-n", "3", "--sort", "id"]).expect_code(0).stdout;
    assert_eq!(ids, "1#7c000\n1#7c00d\n1#7c01a\n");
    let reversed = run(&["list", GAME, "--ids", "--sort", "id", "--reverse"]).stdout;
    assert_eq!(reversed.lines().last(), Some("1#7c000"));
    assert_eq!(reversed.lines().count(), 1000);
    for pattern in ["BubbleGame.Level", "*.Level", "/^BubbleGame.Level$/"] {
        let stats = run(&["stats", GAME, "-t", pattern, "-f", "json"]).expect_code(0).json();
        assert_eq!(stats["types"].as_array().unwrap().len(), 1, "{pattern}");
        assert_eq!(stats["totals"]["objects"], stats["types"][0]["objects"]);
    }
    let by_count = run(&["stats", GAME, "--sort", "objects", "-n", "1", "-f", "json"]).json();
    assert_eq!(by_count["types"][0]["type"], "System.String");
}

#[test]
fn names_from_a_dump_cannot_steer_a_terminal() {
    let evil = "a 2 x\nt 1 Evil\u{1b}[31m\u{9b}\u{202e},\"quote\"|`tick`\no 10 1 10\nr 10 1 0\nc x\n";
    for args in [
        &["stats"][..],
        &["list"],
        &["show", "10"],
        &["roots", "10"],
        &["dominators"],
        &["stats", "-f", "markdown"],
        &["stats", "-f", "json"],
    ] {
        let ran = run_with_input(args, evil.as_bytes()).expect_code(0);
        assert!(!ran.stdout.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{args:?}: {}", ran.stdout);
        assert!(ran.stdout.contains("Evil\\u"), "{args:?}: {}", ran.stdout);
    }
    let csv = run_with_input(&["stats", "-f", "csv"], evil.as_bytes()).stdout;
    assert!(csv.contains("\"Evil\\u{1b}[31m\\u{9b}\\u{202e},\"\"quote\"\"|`tick`\""), "{csv}");
    let json = run_with_input(&["stats", "-f", "json"], evil.as_bytes()).json();
    assert_eq!(json["types"][0]["type"], "Evil\u{1b}[31m\u{9b}\u{202e},\"quote\"|`tick`");
    let unknown = run_with_input(&["stats"], b"a 2 x\n\x1b[31m\nc x\n").expect_code(2);
    assert!(!unknown.stderr.contains('\u{1b}'), "{}", unknown.stderr);
}

#[test]
fn long_paths_are_shortened_in_text_and_whole_in_json() {
    let mut dump = String::from("a 2 x\nt 1 Link\n");
    (1..=100).for_each(|at| dump += &format!("o {at:x} 1 8 {:x}\n", at + 1));
    dump += "o 65 1 8\nr 1 1 0\nc x\n";
    let text = run_with_input(&["roots", "65"], dump.as_bytes()).expect_code(0).stdout;
    assert!(text.contains("61 objects left out") && text.lines().count() == 43, "{text}");
    let json = run_with_input(&["roots", "65", "-f", "json"], dump.as_bytes()).json();
    assert_eq!(json["paths"][0]["length"], 100);
    assert_eq!(json["paths"][0]["nodes"].as_array().unwrap().len(), 101);
}

#[test]
fn roots_can_be_left_out_or_added() {
    let file = "fixtures/xna_cf/43_finalizer.txt";
    let stats = run(&["stats", file, "--exclude-roots", "finalizer", "-f", "json"]).json();
    assert_eq!(stats["totals"]["reachable_objects"], 1);
    let weak = "fixtures/xna_cf/17_weak_roots.txt";
    assert_eq!(run(&["stats", weak, "-f", "json"]).json()["totals"]["reachable_objects"], 1);
    let kept = run(&["roots", "11", weak, "--keep-unreachable", "-f", "json", "-q"]).expect_code(0).json();
    assert_eq!(kept["paths"][0]["root"]["kind"], "unreachable");
    assert_eq!(kept["object"]["retained_bytes"], 16);
    let weakly = run(&["roots", "11", weak, "--all-kinds", "-f", "json", "-q"]).expect_code(1).json();
    assert_eq!(weakly["paths"][0]["root"]["flags"], serde_json::json!(["weak"]));
}

#[test]
fn threads_change_no_byte_of_output() {
    for command in [&["stats", "-f", "json"][..], &["list", "--sort", "retained"], &["dominators", "--depth", "4"]] {
        for file in [GAME, "fixtures/ibm_classic/small.native.txt.gz", "fixtures/ibm_classic/small.j9v5wrap.txt.zst"] {
            let outputs: Vec<String> = ["1", "2", "7"]
                .iter()
                .map(|threads| {
                    let mut args = command.to_vec();
                    args.extend([file, "--threads", threads]);
                    run(&args).expect_code(0).stdout
                })
                .collect();
            assert!(outputs.windows(2).all(|pair| pair[0] == pair[1]), "{command:?} {file}");
        }
    }
}

#[test]
fn limits_of_ci_gates() {
    let ran = run(&["stats", AFTER, "--fail-over", "System.Byte[]=100KiB", "-n", "1"]).expect_code(1);
    assert!(ran.stderr.contains("System.Byte[] takes 279.9 KiB"), "{}", ran.stderr);
    run(&["stats", AFTER, "--fail-over", "System.Byte[]=1MiB", "--shallow"]).expect_code(0);
    run(&["stats", AFTER, "--fail-over", "nonsense"]).expect_code(2);
    let ran = run(&["diff", BEFORE, AFTER, "--fail-over", "10%"]).expect_code(1);
    assert!(ran.stderr.contains("the heap grew by 75.2 KiB"), "{}", ran.stderr);
    run(&["diff", BEFORE, AFTER, "--fail-over", "80000"]).expect_code(0);
    run(&["diff", AFTER, BEFORE, "--fail-over", "1"]).expect_code(0);
    run(&["diff", BEFORE, AFTER, "--fail-over", "much"]).expect_code(2);
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&["completions", shell]).expect_code(0).stdout;
        assert!(script.contains("dominators"), "{shell}");
        // The columns of --sort; powershell and elvish are told no words of any option.
        let has_words = !["powershell", "elvish"].contains(&shell);
        assert!(!has_words || script.contains("copies"), "{shell}");
        if shell == "bash" {
            let mut after: Vec<&str> = script.split("--sort)\n").collect();
            after.remove(0);
            let without: Vec<_> =
                after.iter().filter(|text| !text.trim_start().starts_with("COMPREPLY=($(compgen -W")).collect();
            assert!(after.len() > 8 && without.is_empty(), "commands whose --sort has no words: {}", without.len());
        }
    }
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let on_terminal = |line: &str| run_on_terminal(line, 80).stdout.contains('\u{1b}');
    let plain = format!("heapdump stats {GAME} -n 1");
    assert!(on_terminal(&plain));
    for line in [format!("NO_COLOR=1 {plain}"), format!("TERM=dumb {plain}"), format!("{plain} --color never")] {
        assert!(!on_terminal(&line), "{line}");
    }
    assert!(on_terminal(&format!("NO_COLOR=1 {plain} --color always")));
    assert!(!run(&["stats", GAME, "-n", "1"]).stdout.contains('\u{1b}'));
}

/// Finding C11: a file name is bytes.
#[cfg(target_os = "linux")]
#[test]
fn every_command_takes_a_file_whose_name_is_not_unicode() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &[u8], from: &str| {
        let path = folder.path().join(std::ffi::OsStr::from_bytes(name));
        std::fs::copy(project(from), &path).unwrap();
        path
    };
    let xna = file(b"d\xff.txt", GAME);
    let java = file(b"d\xfe.hprof", "fixtures/hprof/tiny-4byte.hprof");
    let output = folder.path().join(std::ffi::OsStr::from_bytes(b"out\xff"));
    let output = output.as_os_str();
    let id = run(&["list", GAME, "--ids", "-n", "1", "--type", "Bubble"]).expect_code(0).stdout.trim().to_string();
    for (dump, line) in [
        (&xna, "info"),
        (&xna, "stats"),
        (&xna, "list"),
        (&xna, "show ID"),
        (&xna, "roots ID"),
        (&xna, "roots --type Bubble"),
        (&xna, "dominators ID"),
        (&xna, "dominators --type Bubble"),
        (&xna, "referrers ID"),
        (&xna, "referrers --type Bubble"),
        (&xna, "breakdown"),
        (&xna, "breakdown ID"),
        (&xna, "leaks"),
        (&xna, "report -o OUT"),
        (&xna, "export --to folded -o OUT"),
        (&xna, "index"),
        (&xna, "index --check"),
        (&java, "threads"),
        (&java, "threads main"),
        (&java, "strings"),
        (&java, "waste"),
    ] {
        let mut command = heapdump(&[]);
        for word in line.split(' ') {
            match word {
                "ID" => command.arg(&id),
                "OUT" => command.arg(output),
                word => command.arg(word),
            };
        }
        command.arg(dump);
        let ran = finish(command);
        // What is asked may not be there: the dump was read.
        assert!(matches!(ran.code, 0 | 1), "{line}: {}", ran.stderr);
    }
    for line in ["diff", "trend", "leaks"] {
        let mut command = heapdump(&[line]);
        command.arg(&xna).arg(&xna);
        assert!(matches!(finish(command).code, 0 | 1), "{line}");
    }
}
