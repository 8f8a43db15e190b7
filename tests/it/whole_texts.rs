//! Texts and arrays of characters or bytes, whole: `show --raw`, `strings --full`, the mark of a text that is shown cut, `length`.

use serde_json::Value;

use crate::common::cmd::{run, run_on_terminal, run_with_input};
use crate::common::synth_java::Held::{Byte, Int, Reference};
use crate::common::synth_java::{JavaDump, units};

/// Longer than what is read at a time; half pairs stand at the ends of pieces of 1 MiB.
fn long_text() -> String {
    format!("x{}", "\u{1F600}".repeat(700_000))
}

/// Strings in three layouts, an array of each kind, and what is none of these, in a file of its folder.
fn java(folder: &std::path::Path) -> String {
    let mut dump = JavaDump::new();
    dump.class("java.lang.Class", 0, &[], &[]);
    let holder = dump.class("L$Mail", 0, &[("size", Int(0))], &[]);
    dump.class("L$Mailer", 0, &[("size", Int(0))], &[]);
    let string = dump.class("java.lang.String", 0, &[("value", Reference(0)), ("coder", Byte(0))], &[]);
    let little_endian: Vec<u8> = long_text().encode_utf16().flat_map(u16::to_le_bytes).collect();
    dump.primitives(0x1_0000_0000, 8, 1, &little_endian);
    dump.primitives(0x1100, 8, 1, &[b"caf\xE9 ".to_vec(), vec![b'z'; 2000]].concat());
    dump.primitives(0x1200, 5, 2, &units("\u{4f60}\u{597d}"));
    dump.primitives(0x1300, 8, 1, b"\x00\xff\x1b[31m");
    dump.primitives(0x1400, 10, 4, &[0; 12]);
    for (id, array, coder) in [(0x2000, 0x1_0000_0000, 1), (0x2040, 0x1100, 0)] {
        dump.instance(id, string, &[Reference(array), Byte(coder)]);
    }
    dump.instance(0x2100, holder, &[Int(7)]);
    let note = dump.class("L$Note", 0, &[("text", Reference(0))], &[]);
    dump.instance(0x2200, note, &[Reference(0x2040)]);
    [0x2200, 0x2000, 0x2040, 0x1200, 0x1300, 0x1400, 0x2100].into_iter().for_each(|id| dump.root(id));
    let path = folder.join("dump.hprof");
    std::fs::write(&path, dump.finish()).expect("written");
    path.display().to_string()
}

#[test]
fn what_an_object_holds_is_saved_whole() {
    let directory = tempfile::tempdir().unwrap();
    let file = java(directory.path());
    let out = directory.path().join("out");
    let out_name = out.display().to_string();
    for (id, expected) in [
        ("0x2000", long_text().into_bytes()),
        ("0x2040", format!("caf\u{e9} {}", "z".repeat(2000)).into_bytes()),
        ("0x1200", "\u{4f60}\u{597d}".as_bytes().to_vec()),
        ("0x1300", b"\x00\xff\x1b[31m".to_vec()),
    ] {
        let ran = run(&["show", id, &file, "--raw", "-o", &out_name]).expect_code(0);
        assert_eq!(ran.stdout, "");
        assert!(std::fs::read(&out).expect("written") == expected, "{id}");
    }
    let piped = run(&["show", "0x1200", &file, "--raw", "-o", "-"]).expect_code(0);
    assert_eq!(piped.stdout, "\u{4f60}\u{597d}");
    // Through the index it is the same.
    run(&["index", &file, "-q"]).expect_code(0);
    run(&["show", "0x2000", &file, "--raw", "-o", &out_name]).expect_code(0);
    assert!(std::fs::read_to_string(&out).expect("a text") == long_text());
    for id in ["0x1400", "0x2100"] {
        let ran = run(&["show", id, &file, "--raw", "-o", "-"]).expect_code(2);
        assert!(ran.stderr.contains(&format!("{id} is no string")), "{}", ran.stderr);
    }
    assert!(run(&["show", "0x2000", &file, "--raw"]).expect_code(2).stderr.contains("--output"));
    run(&["show", "0x2000", "0x1200", &file, "--raw", "-o", "-"]).expect_code(2);
    assert!(run(&["show", "0x2000", &file, "--raw", "-o", &file]).expect_code(2).stderr.contains("input"));
    let shown = run_on_terminal(&format!("heapdump show 0x1300 {file} --raw -o -"), 80).expect_code(2);
    assert!(!shown.stdout.contains("\u{1b}[31m"), "{}", shown.stdout);
}

#[test]
fn a_text_that_is_shown_cut_is_marked_and_full_texts_are_whole() {
    let directory = tempfile::tempdir().unwrap();
    let file = java(directory.path());
    let cut = run(&["strings", &file, "-q", "-f", "csv"]).expect_code(0).stdout;
    let ends: Vec<&str> = cut.lines().map(|line| line.rsplit(',').next().unwrap()).collect();
    assert_eq!(ends, ["truncated", "true", "true"]);
    let values = run(&["list", &file, "-q", "-f", "tsv", "--values", "-t", "=java.lang.String"]).expect_code(0).stdout;
    assert!(values.lines().next().unwrap().ends_with("\tvalue\ttruncated"), "{values}");
    assert_eq!(values.lines().filter(|line| line.ends_with("\ttrue")).count(), 2);
    // As fields too, in tables by a mark.
    let select =
        |form: &str| run(&["list", &file, "-q", "-f", form, "-t", "L$Note", "--select", ".text"]).expect_code(0).stdout;
    let csv = select("csv");
    assert!(csv.lines().next().unwrap().ends_with(",type,truncated") && csv.trim_end().ends_with(",true"), "{csv}");
    assert!(select("json").contains("\"truncated\":true"), "{}", select("json"));
    for table in [select("table"), run(&["list", &file, "-q", "--values", "-t", "=java.lang.String"]).stdout] {
        assert!(table.contains("zzz…") && !table.contains("truncated"), "{table}");
    }
    let shown = run(&["show", "0x2040", &file, "-q", "-f", "csv"]).expect_code(0).stdout;
    assert!(shown.lines().next().unwrap().ends_with(",value,truncated"), "{shown}");
    let full = run(&["strings", &file, "-q", "--full", "-f", "json"]).expect_code(0).json();
    let texts: Vec<&str> =
        full["strings"].as_array().unwrap().iter().map(|row| row["text"].as_str().unwrap()).collect();
    assert!(texts == [long_text(), format!("caf\u{e9} {}", "z".repeat(2000))]);
    assert!(full["strings"].as_array().unwrap().iter().all(|row| row["truncated"] == false));
    let csv = run(&["strings", &file, "-q", "--full", "-f", "csv"]).expect_code(0).stdout;
    assert_eq!(csv.lines().filter(|line| line.ends_with(",false")).count(), 2);
}

#[test]
fn objects_are_chosen_by_their_length() {
    let directory = tempfile::tempdir().unwrap();
    let file = java(directory.path());
    let ids = |expression: &str| {
        let ran = run(&["list", &file, "-q", "--ids", "--sort", "id", "--where", expression]);
        ran.stdout.split_whitespace().map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(ids("length = 1400001"), ["0x2000"]);
    assert_eq!(ids("length = 2800002"), ["0x100000000"]);
    assert_eq!(ids("length between 1KiB and 1MB"), ["0x1100", "0x2040"]);
    assert_eq!(ids("length < 10"), ["0x1200", "0x1300", "0x1400"]);
    assert_eq!(ids("length is null and type = 'L$Mail'"), ["0x2100"]);
    assert_eq!(ids("not (length > 0) or type = 'L$Mail'"), ["0x2100"]);
    assert_eq!(ids("length != 2 and type = 'char[]'"), Vec::<String>::new());
    let none = run(&["list", "fixtures/xna_cf/pair_after.txt", "--where", "length > 1"]).expect_code(2);
    assert!(none.stderr.contains("xna-cf dumps hold no values"), "{}", none.stderr);
}

#[test]
fn a_name_behind_a_sign_of_equality_is_that_type_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = java(directory.path());
    let classes = |pattern: &str| {
        let list = run(&["list", &file, "-q", "-f", "json", "--where", &format!("class ~ '{pattern}'")]).json();
        list["objects"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["class"].as_str().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(classes("L$Mail"), Vec::from(["L$Mail".to_string(), "L$Mailer".into()]));
    assert_eq!(classes("=L$Mail"), Vec::from(["L$Mail".to_string()]));
    assert_eq!(run(&["list", &file, "-q", "--ids", "-t", "=l$mail", "-i"]).expect_code(0).stdout, "0x2100\n");
    run(&["list", &file, "-q", "--ids", "-t", "=L$Mai"]).expect_code(1);
}

/// A snapshot of an object that holds a text of parts: `first` and `second` are nodes, or texts.
fn rope() -> Vec<u8> {
    let (a, b) = ("a".repeat(1000), "b".repeat(1000));
    let meta = r#"{"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count","trace_node_id","detachedness"],
        "node_types":[["hidden","array","string","object","code","closure","regexp","number","native","synthetic","concatenated string","sliced string","symbol","bigint"],"string","number","number","number","number","number"],
        "edge_fields":["type","name_or_index","to_node"],
        "edge_types":[["context","element","property","internal","hidden","shortcut","weak"],"string_or_number","node"],
        "trace_function_info_fields":[],"trace_node_fields":[],"sample_fields":[],"location_fields":[]},"node_count":7,"edge_count":7,"trace_function_count":0},"#;
    // root, (GC roots), b and the cut one, a and b, a, b, the cut one.
    let nodes = "9,1,1,0,1,0,0, 9,2,3,0,2,0,0, 10,3,5,32,2,0,0, 10,3,7,32,2,0,0, 2,4,9,1016,0,0,0, 2,5,11,1016,0,0,0, 2,6,13,4016,0,0,0";
    let edges = "1,1,7, 1,1,14, 1,2,21, 3,7,35, 3,8,42, 3,7,28, 3,8,35";
    let cut = "c".repeat(1024);
    let strings =
        format!(r#"["<dummy>","","(GC roots)","(concatenated string)","{a}","{b}","{cut}","first","second"]"#);
    format!(
        "{meta}\n\"nodes\":[{nodes}],\n\"edges\":[{edges}],\n\"trace_function_infos\":[],\n\"trace_tree\":[],\n\"samples\":[],\n\"locations\":[],\n\"strings\":{strings}}}"
    )
    .into_bytes()
}

#[test]
fn texts_of_v8_are_put_together_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rope.heapsnapshot");
    std::fs::write(&path, rope()).expect("written");
    let file = path.display().to_string();
    let whole = run(&["show", "@7", &file, "-q", "--raw", "-o", "-"]).expect_code(0);
    assert!(whole.stdout == "a".repeat(1000) + &"b".repeat(1000));
    // V8 itself cuts after 1,024 characters.
    let cut = run(&["show", "@5", &file, "--raw", "-o", "-"]).expect_code(0);
    assert_eq!(cut.stdout.len(), 2024);
    assert!(cut.stderr.contains("the dump does not have all of @5"), "{}", cut.stderr);
    let full = run(&["strings", &file, "-q", "--full", "-f", "json"]).expect_code(0).json();
    let lengths = |row: &Value| (row["text"].as_str().unwrap().len(), row["truncated"] == true);
    let mut texts: Vec<(usize, bool)> = full["strings"].as_array().unwrap().iter().map(lengths).collect();
    texts.sort_unstable();
    assert_eq!(texts, [(1000, false), (1000, false), (1024, true), (2000, false), (2024, true)]);
    let of_length = run(&["list", &file, "-q", "--ids", "--sort", "id", "--where", "length = 1000"]).expect_code(0);
    assert_eq!(of_length.stdout, "@9\n@11\n");
    // A rope is as long as its parts; of one with a part that V8 cut nothing tells.
    let of_length = |length: &str| run(&["list", &file, "-q", "--ids", "--where", length]).expect_code(0).stdout;
    assert_eq!(of_length("length = 2000"), "@7\n");
    assert_eq!(of_length("length is null and type ~ 'string)'"), "@5\n");
}

#[test]
fn names_with_blanks_are_as_they_are_in_a_pipe() {
    let mut dump = JavaDump::new();
    dump.class("java.lang.Class", 0, &[], &[]);
    let holder = dump.class("a.Holder", 0, &[("a field ", Reference(0))], &[]);
    dump.instance(0x1000, holder, &[Reference(0x1100)]);
    dump.instance(0x1100, holder, &[Reference(0)]);
    dump.root(0x1000);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("dump.hprof");
    std::fs::write(&path, dump.finish()).expect("written");
    let file = path.display().to_string();
    let roots = run(&["roots", "0x1100", &file, "-q"]).expect_code(0).stdout;
    let last = roots.lines().last().unwrap();
    assert!(last.contains(" .a field ") && last.ends_with("  a.Holder") && !roots.contains("\\u{20}"), "{roots}");
    assert_eq!(last.split_whitespace().nth(2), Some("0x1100"), "{roots}");
    let show = run(&["show", "0x1000", &file, "-q"]).expect_code(0).stdout;
    assert!(show.contains("a field ") && !show.contains("\\u{20}"), "{show}");
    // From a pipe there are no names, and the columns are the same words.
    let piped = run_with_input(&["roots", "0x1100", "-q"], &std::fs::read(&path).unwrap()).expect_code(0).stdout;
    assert!(piped.lines().last().unwrap().ends_with(" a.Holder"), "{piped}");
}
