//! `--max-memory` holds for every input: lines, names and lists longer than the limit inside small packed files, padding,
//! an index, two dumps. What is tested runs with an address space of its own that is too small for what it must not do.

use std::io::Write;
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::common::cmd::{Ran, project, run, run_with_input};

/// Unpacked bytes of what is far over the limit.
const FAR: usize = 200 << 20;

/// `start`, then `filling` again and again up to a length, then `end`; packed.
fn packed(start: &str, filling: &[u8], bytes: usize, end: &str) -> Vec<u8> {
    let mut file = GzEncoder::new(Vec::new(), Compression::fast());
    file.write_all(start.as_bytes()).expect("packs");
    let chunk = filling.repeat((1 << 20) / filling.len());
    for _ in 0..bytes / chunk.len() {
        file.write_all(&chunk).expect("packs");
    }
    file.write_all(end.as_bytes()).expect("packs");
    file.finish().expect("packs")
}

/// Runs the binary on standard input with at most so much address space.
fn run_within(kib: usize, args: &[&str], input: &[u8]) -> Ran {
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v {kib}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_heapdump")])
        .args(args)
        .current_dir(project(""))
        .env_remove("HEAPDUMP_FILE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("sh starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("writes");
    Ran {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().unwrap_or(-1),
    }
}

fn refused(ran: Ran) {
    let ran = ran.expect_code(2);
    let said = "takes more memory than it may, and --max-memory allows 47.7 MiB";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

#[test]
fn what_is_longer_than_the_limit_is_refused_before_it_is_held() {
    let ibm = "// Version: J2RE 6.0 IBM J9 2.5 Linux x86-32 build x\n0x00000010 [16] OBJ ";
    let json = "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"";
    let dump_event = b"{\"ph\":\"v\",\"name\":\"p\",\"pid\":1,\"id\":\"0x1\",\"ts\":1,\"args\":{\"dumps\":{\"heaps\":\
                       {\"malloc\":{\"entries\":[{\"size\":\"1\",\"count\":\"1\"}]}}}}},\n";
    let page = "<html><script id=\"viewer-data\" type=\"text/plain\">";
    for (start, filling, end, shallow) in [
        ("a 2 g 1\nt 1 A\no 1 1 8", &b"1 1 1 1 "[..], "\nc g 2\n", true),
        ("a 2 g 1\nt 1 ", b"N", "\no 1 1 8\nc g 2\n", true),
        ("a 2 g 1\nt 1 A\no 1 1 8\n", b"x", "\nc g 2\n", true),
        (ibm, b"N", "\n\n// EOF:  Total 'Objects',Refs(null) : 1,0(0)\n", true),
        (json, b"N", "\"}}]}", false),
        ("{\"traceEvents\":[", dump_event, "{}]}", false),
        (page, b"QUFB", "</script></html>", false),
    ] {
        let file = packed(start, filling, FAR, end);
        assert!(file.len() < FAR / 10);
        for command in [&["stats"][..], &["info"], &["stats", "--shallow"]] {
            if command.len() == 1 || shallow {
                let words = [command, &["--max-memory", "50MB"]].concat();
                refused(run_within(450_000, &words, &file));
            }
        }
    }
}

#[test]
fn padding_is_not_kept_and_is_said() {
    let gcdump = std::fs::read(project("tests/inputs/sampled_two_sizes.gcdump")).expect("a fixture");
    let xna = b"a 2 g 1\nt 1 A\no 1 1 8\nr 1 1 0\nc g 2\n".to_vec();
    let ibm = b"// Version: J9\n0x10 [16] OBJ A\n\t0x10 \n\n// EOF:  Total 'Objects',Refs(null) : 1,1(0)\n".to_vec();
    for (dump, padding) in [(&xna, &b"\0"[..]), (&xna, b" "), (&ibm, b"\0"), (&gcdump, b"\0")] {
        let plain = run_with_input(&["stats"], dump).expect_code(0);
        let mut file = GzEncoder::new(Vec::new(), Compression::fast());
        file.write_all(dump).expect("packs");
        let mut file = file.finish().expect("packs");
        // Members of a gzip file follow one another.
        file.extend(packed("", padding, FAR, ""));
        let padded = run_within(450_000, &["stats", "--max-memory", "50MB"], &file).expect_code(0);
        assert_eq!(padded.stdout, plain.stdout);
        assert!(padded.stderr.contains("warning: padding (at "), "{}", padded.stderr);
        run_within(450_000, &["stats", "--strict", "--max-memory", "50MB"], &file).expect_code(2);
    }
    // As much as a file is filled up with by itself is nobody's business.
    let filled = [&xna[..], &vec![0; 60_000]].concat();
    let ran = run_with_input(&["stats"], &filled).expect_code(0);
    assert!(!ran.stderr.contains("padding"), "{}", ran.stderr);
}

#[test]
fn padding_within_a_line_separates_as_blanks_do() {
    let mut dump = b"a 2 g 1\nt 1 A\no 1 1 8 2".to_vec();
    dump.resize(dump.len() + (3 << 20), 0);
    dump.extend_from_slice(b"3\no 2 1 8\no 3 1 8\nr 1 1 0\nc g 2\n");
    let ran = run_with_input(&["stats", "-f", "json"], &dump).expect_code(0);
    assert_eq!(ran.json()["totals"]["references"], 2);
    assert_eq!(ran.json()["totals"]["reachable_objects"], 3);
}

/// A dump of so many objects in a list.
fn list_of(objects: usize) -> String {
    let mut text = String::from("a 2 Large.exe 763f9d2\nt 1a A\n");
    for object in 1..objects {
        text += &format!("o {:x} 1a 10 {:x}\n", object * 8, (object + 1) * 8);
    }
    text + "r 8 1 0\nc Large.exe 763fbef\n"
}

#[test]
fn an_index_counts_when_somebody_says_how_much_may_be_taken() {
    let folder = tempfile::tempdir().expect("a folder");
    let (dump, index) = (folder.path().join("d.txt"), folder.path().join("d.hdx"));
    std::fs::write(&dump, list_of(100_000)).expect("writes");
    let (dump, index) = (dump.display().to_string(), index.display().to_string());
    run(&["index", "-q", &dump, "-o", &index]).expect_code(0);
    std::fs::remove_file(&dump).expect("there");
    let ran = run(&["stats", "--max-memory", "1MB", &index]).expect_code(2);
    assert!(ran.stderr.contains("--max-memory allows") || ran.stderr.contains("allowed"), "{}", ran.stderr);
    run(&["stats", "--max-memory", "50MB", &index]).expect_code(0);
    run(&["stats", &index]).expect_code(0);
}

#[test]
fn types_alone_are_counted_too() {
    let mut dump = String::from("a 2 Names.exe 763f9d2\n");
    for name in 1..100_000 {
        dump += &format!("t {name:x} A.Rather.Long.Name.Of.A.Class.In.A.Namespace{name}\no {name:x}0 {name:x} 8\n");
    }
    let ran = run_with_input(&["stats", "--shallow", "--max-memory", "1MB"], dump.as_bytes()).expect_code(2);
    assert!(ran.stderr.contains("takes more memory than it may"), "{}", ran.stderr);
    run_with_input(&["stats", "--shallow", "--max-memory", "100MB"], dump.as_bytes()).expect_code(0);
}

#[test]
fn both_dumps_of_a_diff_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let dump = folder.path().join("d.txt");
    std::fs::write(&dump, list_of(400_000)).expect("writes");
    let dump = dump.display().to_string();
    // What one takes with its dominator tree is too little for two.
    run(&["stats", "--retained", "--max-memory", "34MB", &dump]).expect_code(0);
    let ran = run(&["diff", "--retained", "--max-memory", "34MB", &dump, &dump]).expect_code(2);
    assert!(ran.stderr.contains("--max-memory allows"), "{}", ran.stderr);
    run(&["diff", "--retained", "--max-memory", "80MB", &dump, &dump]).expect_code(0);
}
