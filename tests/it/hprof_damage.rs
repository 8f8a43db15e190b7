//! Cut and damaged Java heap dumps through the program: what is said of them, and that nothing ends it.

use heapdump::OpenOptions;
use heapdump::analysis::threshold::Threshold;
use heapdump::answers::histogram::{FieldFigures, FieldFunction, histogram_of_counted_types};
use heapdump::answers::{
    DominatorTreeOptions, GroupBy, HistogramOptions, InfoOptions, LeaksOptions, RetainedBy, dominator_tree, histogram,
    info, leaks,
};
use heapdump::dump::IndexUse;
use heapdump::filter::FieldSelection;
use heapdump::report::Format;
use serde_json::Value;

use crate::common::cmd::{project, run, run_with_input};
use crate::common::fixtures;
use crate::common::questions::text_of;
use crate::common::synth_java::{Held, JavaDump};

fn unpacked(name: &str) -> Vec<u8> {
    fixtures::unpacked(&format!("fixtures/hprof/{name}"))
}

/// Offset and declared end of the record that `at` is in.
fn record_at(bytes: &[u8], at: usize) -> (usize, usize) {
    let mut start = bytes.iter().position(|&byte| byte == 0).expect("a header") + 13;
    loop {
        let length = u32::from_be_bytes(bytes[start + 5..start + 9].try_into().unwrap()) as usize;
        let end = start + 9 + length;
        if at < end {
            return (start, end);
        }
        start = end;
    }
}

#[test]
fn a_cut_dump_says_how_much_of_it_was_read_and_what_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let whole = unpacked("zoo-jdk17-serial.hprof.zst");
    let cut = whole.len() * 6 / 10;
    let (_, end) = record_at(&whole, cut);
    let path = directory.path().join("cut.hprof").display().to_string();
    std::fs::write(&path, &whole[..cut]).unwrap();
    let ran = run(&["info", "-f", "json", &path]).expect_code(0).json();
    let loss = &ran["loss"];
    let (read, lost) = (loss["read_bytes"].as_u64().unwrap(), loss["lost_bytes"].as_u64().unwrap());
    assert_eq!(read + lost, end as u64, "all that the last record should have");
    assert!(read <= cut as u64 && read + 4096 > cut as u64, "{read} of {cut}: all but the object that is cut");
    // How many segments would have followed is not known.
    assert!(loss["percent_read"].is_null(), "{loss}");
    let phrases = loss["lost"].to_string();
    assert!(phrases.contains("end of the last record") && phrases.contains("all root records"), "{phrases}");
    // What all figures rest on comes first.
    let table = run(&["info", &path]).expect_code(0).stdout;
    let first = table.lines().find(|line| !line.starts_with("field")).expect("a line");
    assert_eq!(first.split_whitespace().collect::<Vec<_>>(), ["roots_inferred", "true"], "{table}");
    assert!(run(&["info", "-f", "json", "fixtures/hprof/zoo-jdk17-serial.hprof.zst"]).json().get("loss").is_none());
}

/// A dump in one record says how long it is; in segments, only how long each is.
#[test]
fn the_share_that_was_read_is_told_where_it_is_known() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cut.hprof").display().to_string();
    let loss_of = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        run(&["info", "-f", "json", &path]).expect_code(0).json()["loss"].clone()
    };
    let whole = std::fs::read(project("fixtures/hprof/tiny-4byte.hprof")).unwrap();
    let mut at = whole.iter().position(|byte| *byte == 0).unwrap() + 13;
    let end = loop {
        let (start, end) = record_at(&whole, at);
        if whole[start] == 0x0C {
            break end;
        }
        at = end;
    };
    let loss = loss_of(&whole[..end - 100]);
    let (read, lost) = (loss["read_bytes"].as_f64().unwrap(), loss["lost_bytes"].as_f64().unwrap());
    assert!((read + lost - end as f64).abs() < 0.5 && lost >= 100.0, "{loss}");
    assert!((loss["percent_read"].as_f64().unwrap() - read * 100.0 / end as f64).abs() < 1e-6, "{loss}");
    // The last of three segments, whole, is all that is missing.
    let whole = std::fs::read(project("fixtures/hprof/tiny-8byte-segments.hprof")).unwrap();
    let header = whole.iter().position(|byte| *byte == 0).unwrap() + 13;
    let is_segment = |at: &usize| whole[*at] == 0x1C && record_at(&whole, *at).0 == *at;
    let places: Vec<usize> = (header..whole.len()).filter(is_segment).collect();
    assert_eq!(places.len(), 3);
    for cut in [places[2], places[2] + 20, places[1] + 20] {
        assert!(loss_of(&whole[..cut])["percent_read"].is_null(), "{cut}");
    }
    assert!(run(&["info", &path]).expect_code(0).stdout.contains("loss.read_bytes"));
}

#[test]
fn damage_in_the_middle_is_counted_too() {
    let directory = tempfile::tempdir().unwrap();
    let mut bytes = std::fs::read(project("fixtures/hprof/tiny-8byte-segments.hprof")).unwrap();
    let mut at = 0;
    let (start, end) = loop {
        let (start, end) = record_at(&bytes, at.max(40));
        if bytes[start] == 0x1C {
            break (start, end);
        }
        at = end;
    };
    bytes[start + 9] = 0x5A;
    let path = directory.path().join("damaged.hprof").display().to_string();
    std::fs::write(&path, &bytes).unwrap();
    let loss = &run(&["info", "-f", "json", &path]).expect_code(0).json()["loss"];
    assert_eq!(loss["lost_bytes"], end - start - 9, "the segment whose first entry is of no known kind");
    assert_eq!(loss["read_bytes"], bytes.len() - (end - start - 9));
    // Another record is of no kind that there is: it is lost, and all that follows.
    (bytes[start + 9], bytes[end]) = (0x21, 0);
    std::fs::write(&path, &bytes).unwrap();
    let loss = &run(&["info", "-f", "json", &path]).expect_code(0).json()["loss"];
    assert_eq!((&loss["read_bytes"], &loss["lost_bytes"]), (&end.into(), &(bytes.len() - end).into()));
}

/// The problems of a dump with an array of a runtime's archive: with more elements, held by a reference or a root, and with
/// a field that dangles.
fn problems_of_archive(elements: &[u64], is_referred_to: bool, has_root: bool, field: u64) -> (Value, String) {
    const ARRAY: u64 = 0x1_0000;
    let mut dump = JavaDump::new();
    let object = dump.class("java.lang.Object", 0, &[], &[]);
    let fields: Vec<(&str, Held)> = (0..10).map(|_| ("field", Held::Reference(0))).collect();
    dump.class("java.lang.Class", object, &fields, &[]);
    let arrays = dump.class("[Ljava.lang.Object;", object, &[], &[]);
    let holder = dump.class("app.Holder", object, &[("held", Held::Reference(0)), ("other", Held::Reference(0))], &[]);
    // Classes of 112 bytes and more, between objects that are listed.
    let mirrors: Vec<u64> = (0..50).map(|number| 0x2_0000 + 112 * number + 8 * (number / 2)).collect();
    dump.references(ARRAY, arrays, &[&[0, 0x3_0000], &mirrors[..], elements].concat());
    dump.primitives(0x2_0000 - 40, 8, 1, &[1; 16]);
    dump.primitives(mirrors[49] + 112, 8, 1, &[1; 1000]);
    let held = if is_referred_to { ARRAY } else { 0 };
    dump.instance(0x3_0000, holder, &[Held::Reference(held), Held::Reference(field)]);
    dump.jni_global(ARRAY);
    if has_root {
        dump.root(ARRAY);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dump.hprof").display().to_string();
    std::fs::write(&file, dump.finish()).unwrap();
    let info = run(&["info", "-f", "json", &file]).expect_code(0).json();
    let counts: Vec<(Value, Value)> = info["problems"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|problem| (problem["code"].clone(), problem["count"].clone()))
        .collect();
    let dangling = counts.iter().find(|count| count.0 == "dangling-ref").map_or(0, |count| count.1.as_u64().unwrap());
    assert_eq!(info["sections"][0]["dangling_references"], dangling);
    let is_alarming = dangling > 0;
    assert_eq!(run(&["stats", "--strict", &file]).code, if is_alarming { 2 } else { 0 });
    assert_eq!(run(&["stats", &file]).expect_code(0).stderr.contains("dangling-ref"), is_alarming);
    let all = run(&["info", &file, "fixtures/hprof/android.hprof", "-f", "csv"]).expect_code(0).stdout;
    assert!(all.contains(&format!(",{dangling},{file}")), "{all}");
    let page = folder.path().join("page.html").display().to_string();
    run(&["report", &file, "-o", &page]).expect_code(0);
    let page = std::fs::read_to_string(&page).unwrap();
    assert_eq!(page.contains("1 kind of problem in the dump"), is_alarming);
    (counts.into_iter().map(|(code, count)| (code.as_str().unwrap().to_string(), count)).collect(), page)
}

/// Healthy dumps of HotSpot refer to classes of its archive that were not loaded, from one array: these are known. Whatever
/// else leads nowhere is told, in the same dump too.
#[test]
fn archived_mirrors_are_known_and_other_dangling_references_are_told() {
    let json = |counts: &[(&str, u64)]| -> Value {
        counts.iter().map(|&(code, count)| (code.to_string(), count.into())).collect::<serde_json::Map<_, _>>().into()
    };
    let known = problems_of_archive(&[], false, false, 0);
    assert_eq!(known.0, json(&[("archived-mirror", 50)]));
    assert!(known.1.contains("<code>archived-mirror</code>"));
    // Within a listed array, before the end of a class object, and from another object.
    let both = problems_of_archive(&[0x2_1800], false, false, 0x7_0000).0;
    assert_eq!(both, json(&[("archived-mirror", 50), ("dangling-ref", 2)]));
    let both = problems_of_archive(&[0x2_0040], false, false, 0).0;
    assert_eq!(both, json(&[("archived-mirror", 49), ("dangling-ref", 2)]));
    // No array of the archive.
    assert_eq!(problems_of_archive(&[], true, false, 0).0, json(&[("dangling-ref", 50)]));
    assert_eq!(problems_of_archive(&[], false, true, 0).0, json(&[("dangling-ref", 50)]));
    let far: Vec<u64> = (0..160).map(|number| 0x10_0000 + 0x1000 * number).collect();
    assert_eq!(problems_of_archive(&far, false, false, 0).0, json(&[("dangling-ref", 210)]));
    // A third of the places has no room for two classes.
    assert_eq!(problems_of_archive(&far[..100], false, false, 0).0, json(&[("archived-mirror", 150)]));
}

/// Healthy dumps of HotSpot list roots of archived classes that were not loaded.
#[test]
fn roots_without_a_record_are_noted_and_raise_no_alarm() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dump.hprof").display().to_string();
    let write = |roots: &[u64]| {
        let mut dump = JavaDump::new();
        let object = dump.class("java.lang.Object", 0, &[], &[]);
        dump.instance(0x1000, object, &[]);
        roots.iter().for_each(|&root| dump.root(root));
        [0x7000, 0x8000].into_iter().for_each(|class| dump.sticky_class(class));
        std::fs::write(&file, dump.finish()).unwrap();
    };
    write(&[0x1000]);
    let said = run(&["stats", "--strict", &file]).expect_code(0).stderr;
    assert!(!said.contains("dangling"), "{said}");
    let info = run(&["info", "-f", "json", &file]).expect_code(0).json();
    let problem = &info["problems"][0];
    assert_eq!((&problem["code"], &problem["count"]), (&"dangling-class-root".into(), &2.into()), "{info}");
    assert_eq!((&problem["severity"], &info["problems"][1]), (&"note".into(), &Value::Null), "{info}");
    assert_eq!(info["sections"][0]["dangling_roots"], 2);
    // Roots of other kinds are damage.
    write(&[0x1000, 0x9000]);
    assert!(run(&["stats", "--strict", &file]).expect_code(2).stderr.contains("dangling-root"));
    let dangling = run(&["info", "-f", "json", "fixtures/hprof/tiny-4byte.hprof"]).expect_code(0).json();
    let of =
        |code: &str| dangling["problems"].as_array().unwrap().iter().find(|problem| problem["code"] == code).cloned();
    assert_eq!(of("dangling-ref").expect("a problem")["severity"], "warning", "{dangling}");
}

/// What came of an array that the file ends in is lost, whether the file's length is known or not.
#[test]
fn a_dump_cut_in_a_large_array_lost_as_much_in_a_pipe() {
    let mut dump = JavaDump::new();
    dump.class("java.lang.Object", 0, &[], &[]);
    dump.primitives(0x1000, 8, 1, &vec![1; 9 << 20]);
    let bytes = dump.finish();
    let cut = &bytes[..bytes.len() - (1 << 20)];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cut.hprof").display().to_string();
    std::fs::write(&file, cut).unwrap();
    let of_file = run(&["info", "-f", "json", &file]).expect_code(0).json()["loss"].clone();
    let of_pipe = run_with_input(&["info", "-f", "json", "-"], cut).expect_code(0).json()["loss"].clone();
    assert_eq!(of_file, of_pipe);
    assert!(of_file["lost_bytes"].as_u64().unwrap() > 9 << 20, "{of_file}");
}

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// Some bytes changed, taken out, repeated or cut off.
fn damaged(whole: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(bytes.len());
        let length = (1 + numbers.below(64)).min(bytes.len() - at);
        match numbers.below(6) {
            0 => bytes[at] = numbers.below(256) as u8,
            1 => bytes[at..at + length].fill(0),
            2 => drop(bytes.drain(at..at + length)),
            3 => {
                let copy = bytes[at..at + length].to_vec();
                let to = numbers.below(bytes.len());
                drop(bytes.splice(to..to, copy));
            }
            4 => bytes[at..at + length].fill(0xFF),
            _ => bytes.truncate(at.max(64)),
        }
    }
    bytes
}

/// Asks a damaged dump one of five questions, and writes the answer. Returns false if the dump gives none.
fn is_answered(path: &str, question: usize) -> bool {
    let options = OpenOptions { index: IndexUse::Never, ..OpenOptions::default() };
    if question == 1 {
        let Ok(counted) = options.count_types(path) else { return false };
        let mut fields = FieldFigures::default();
        fields.add_fields(FieldFunction::Sum, &FieldSelection::parse(".value,.hash").expect("fields"));
        for field in [".name", ".next", ".value", ".hash"] {
            let field = FieldSelection::parse(field).ok();
            let field_figures = fields.clone();
            let by = HistogramOptions { group_by: GroupBy::Field, field, field_figures, ..HistogramOptions::default() };
            // An error says what takes the graph.
            let _ = histogram_of_counted_types(&counted, &by);
        }
        return true;
    }
    let Ok(dump) = options.open(path) else { return false };
    let retained = HistogramOptions { retained: Some(RetainedBy::Minimum), ..HistogramOptions::default() };
    let tree = DominatorTreeOptions { depth: 3, ..DominatorTreeOptions::default() };
    let all = LeaksOptions { threshold: Threshold::Bytes(0), ..LeaksOptions::default() };
    let text = match question {
        0 => histogram(&dump, &retained).map(|answer| text_of(&answer, Format::Table)),
        2 => dominator_tree(&dump, &tree).map(|answer| text_of(&answer, Format::Table)),
        3 => info(&dump, &InfoOptions::default()).map(|answer| text_of(&answer, Format::Table)),
        _ => leaks(&dump, &all).map(|answer| text_of(&answer, Format::Table)),
    };
    text.is_ok()
}

#[test]
fn a_thousand_random_damages_end_in_an_answer_or_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("damaged.hprof").display().to_string();
    let mut numbers = Numbers(13);
    let mut answers = 0;
    let names = ["tiny-4byte.hprof", "tiny-8byte-segments.hprof", "android.hprof", "two-dumps.hprof"];
    let wholes: Vec<Vec<u8>> =
        names.iter().map(|name| std::fs::read(project("fixtures/hprof").join(name)).unwrap()).collect();
    for round in 0..1000 {
        let bytes = damaged(&wholes[round % wholes.len()], &mut numbers);
        std::fs::write(&path, &bytes).unwrap();
        let question = round % 5;
        let asked = std::panic::catch_unwind(|| is_answered(&path, question));
        let is_answered = asked.unwrap_or_else(|_| panic!("round {round}"));
        answers += usize::from(is_answered);
        // Every question of every dump by the program too.
        if round < 100 {
            let words: &[&str] = match question {
                0 => &["stats", "--retained"],
                1 => &["stats", "--shallow"],
                2 => &["dominators", "--depth", "3"],
                3 => &["info"],
                _ => &["leaks", "--threshold", "0"],
            };
            let ran = run(&[words, &["--no-index", &path]].concat());
            let said = format!("round {round}, {words:?}: code {}\n{}", ran.code, ran.stderr);
            assert_eq!(ran.code, if is_answered { 0 } else { 2 }, "{said}");
            assert!(!ran.stderr.contains("panicked"), "{said}");
            assert!(is_answered || (ran.stdout.is_empty() && ran.stderr.starts_with("heapdump: ")), "{said}");
        }
    }
    // Damage before the heap begins mostly ends the reading there.
    assert!(answers > 300, "{answers}");
}
