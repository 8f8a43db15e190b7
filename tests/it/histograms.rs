//! Class histograms as input: series in a log, comparisons, and what is refused.

use crate::common::cmd::{project, run, run_with_input};

const POD: &str = "fixtures/jvm_histogram/pod.log";
const REPORT: &str = "fixtures/sos_dumpheap/gcdump-report.log";
const SOS: &str = "fixtures/sos_dumpheap/net9-commas.log";

#[test]
fn a_log_is_a_series() {
    let trend = run(&["trend", SOS, "-q", "-f", "json"]).expect_code(0).json();
    let dumps = trend["dumps"].as_array().expect("dumps");
    assert_eq!(dumps.len(), 2);
    assert_eq!(dumps[1]["file"], format!("{SOS} (2)"));
    assert_eq!(dumps[1]["taken_at"], "2026-11-25T13:00:00.000Z");
    assert_eq!(trend["total"]["bytes_per_hour"], 480_000);
    // 600 sessions of 800 bytes in an hour, and nothing else.
    let rows = trend["types"].as_array().expect("rows");
    assert_eq!(rows.len(), 1, "{trend}");
    assert_eq!(rows[0]["type"], "Shop.Session[,]");
    assert_eq!((&rows[0]["bytes_per_hour"], &rows[0]["objects_per_hour"]), (&480_000.into(), &600.into()));
    // 1,872,024 bytes now: at 480,000 an hour the rest of a limit of 4,752,024 takes 6 hours.
    let limited = run(&["trend", SOS, "-q", "-f", "json", "--until", "4752024"]).expect_code(0);
    assert_eq!(limited.json()["types"][0]["hours_to_limit"], 6.0);
    assert!(limited.stderr.is_empty(), "{}", limited.stderr);
    let said = |size: &str| run(&["trend", SOS, "-q", "-f", "csv", "--until", size]).expect_code(0).stderr;
    assert_eq!(said("4752024"), "heapdump: the heap grows by 7.8 KiB a minute: 4.5 MiB are reached in about 6.0 h\n");
    assert_eq!(said("1MiB"), "heapdump: the heap has 1.8 MiB: 1.0 MiB are reached\n");
    // Files of a folder are a series by their names, and texts without times are steps.
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(project("fixtures/jvm_histogram/jdk7.txt")).expect("readable");
    for (name, strings) in [("b.txt", "3100"), ("a.txt", "3000"), (".c.txt", "1")] {
        std::fs::write(folder.path().join(name), text.replace("3000", strings)).expect("written");
    }
    // A dump that the last one called for is none of them.
    std::fs::copy("fixtures/hprof/tiny-8byte-segments.hprof", folder.path().join("heap-1.hprof")).expect("copied");
    let noted = run(&["trend", &folder.path().display().to_string(), "-f", "json"]).expect_code(0).stderr;
    assert!(noted.contains("1 file of another kind left out") && noted.contains("heap-1.hprof"), "{noted}");
    let by_name = run(&["trend", &folder.path().display().to_string(), "-q", "-f", "json", "--all"]);
    let by_name = by_name.expect_code(0).json();
    assert_eq!(by_name["dumps"].as_array().map(Vec::len), Some(2));
    let texts = by_name["types"].as_array().and_then(|rows| rows.iter().find(|row| row["type"] == "java.lang.String"));
    assert_eq!(texts.map(|row| &row["objects"]), Some(&serde_json::json!([3001, 3101])), "{by_name}");
    let by_minute = run(&["trend", POD, "-q", "-f", "json", "--type", "L"]).expect_code(0).json();
    let objects: Vec<u64> =
        by_minute["dumps"].as_array().expect("dumps").iter().filter_map(|dump| dump["objects"].as_u64()).collect();
    assert!(objects.len() == 3 && objects[0] < objects[1] && objects[1] < objects[2], "{by_minute}");
    let by_hour = run(&["trend", REPORT, "-q", "-f", "json"]).expect_code(0).json();
    assert_eq!(
        (&by_hour["types"][0]["type"], &by_hour["types"][0]["objects"]),
        (&"Shop.Session".into(), &serde_json::json!([300, 900]))
    );
    // All of a log are read: none is said to be left out.
    let noted = run(&["trend", POD]).expect_code(0);
    assert!(!noted.stderr.contains("snapshot"), "{}", noted.stderr);
    // Packed ones are read too, as they are and in a folder.
    let packed = |text: &str, name: &str| {
        let file = std::fs::File::create(folder.path().join(name)).expect("made");
        let mut writer = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        std::io::Write::write_all(&mut writer, text.as_bytes()).and_then(|()| writer.try_finish()).expect("written");
    };
    packed(&text.replace("3000", "3200"), "c.txt.gz");
    packed(&std::fs::read_to_string(project(POD)).expect("readable"), "log.gz");
    let log = folder.path().join("log.gz").display().to_string();
    let of_log = run(&["trend", &log, "-q", "-f", "json", "--type", "L"]).expect_code(0).json();
    assert_eq!(of_log["types"], by_minute["types"]);
    std::fs::remove_file(&log).expect("removed");
    let with_packed = run(&[
        "trend",
        &folder.path().display().to_string(),
        "-q",
        "-f",
        "json",
        "--all",
        "--type",
        "=java.lang.String",
    ]);
    assert_eq!(with_packed.expect_code(0).json()["types"][0]["objects"], serde_json::json!([3001, 3101, 3201]));
    // One histogram is no series.
    assert!(run(&["trend", SOS, "--snapshot", "2"]).expect_code(2).stderr.contains("2 dumps or more"));
    assert!(run(&["trend", "fixtures/jvm_histogram/jdk7.txt"]).expect_code(2).stderr.contains("2 dumps or more"));
    assert!(run(&["trend", SOS, "--retained"]).expect_code(2).stderr.contains("take a dump"));
}

#[test]
fn histograms_are_compared() {
    let (old, new) = ("fixtures/jvm_histogram/jdk7.txt", "fixtures/jvm_histogram/openj9.txt");
    let diff = run(&["diff", old, new, "-q", "-f", "json"]).expect_code(0).json();
    let row = |name: &str| {
        let mut rows = diff["types"].as_array().expect("rows").iter();
        rows.find(|row| row["type"] == name).cloned().unwrap_or_else(|| panic!("{name}: {diff}"))
    };
    assert_eq!(row("char[]")["objects_delta"], 3354 - 4096);
    assert_eq!(row("java.lang.String")["shallow_bytes_delta"], 38_832 - (72_000 + 16));
    assert_eq!(row("java.util.HashMap$Entry[]")["shallow_bytes_new"], 0);
    let over = run(&["diff", old, new, "-q", "--fail-over-type", "5%"]);
    assert_eq!(over.code, 1, "{}", over.stderr);
    let same = run(&["diff", SOS, SOS, "-q", "-f", "csv"]).expect_code(0).stdout;
    assert_eq!(same.lines().count(), 1, "{same}");
    // A text and a dump of a Java VM.
    let shop = "fixtures/hprof/shop-new.hprof.zst";
    let mixed = run(&["diff", old, shop, "-q", "-f", "json"]).expect_code(0).json();
    let classes = run(&["stats", shop, "-q", "-f", "json", "--type", "=java.lang.String"]).expect_code(0).json();
    let strings = classes["types"][0]["objects"].as_i64().expect("objects");
    let rows = mixed["types"].as_array().expect("rows");
    let found = rows.iter().find(|row| row["type"] == "java.lang.String").expect("strings");
    assert_eq!(found["objects_delta"], strings - 3001, "{found}");
    assert!(run(&["diff", old, SOS]).expect_code(2).stderr.contains("jvm-histogram"));
}

#[test]
fn what_is_asked_is_said() {
    let noted = run(&["stats", POD, "-n", "3"]).expect_code(0);
    assert!(noted.stderr.contains("snapshot 1 of 3; --snapshot N reads another"), "{}", noted.stderr);
    assert!(run(&["stats", POD, "--snapshot", "4"]).expect_code(2).stderr.contains("snapshots 1 to 3"));
    let packages = run(&["stats", POD, "-q", "--by", "package", "-f", "json"]).expect_code(0).json();
    let all = run(&["stats", POD, "-q", "-f", "json"]).expect_code(0).json();
    assert_eq!(packages["totals"]["shallow_bytes"], all["totals"]["shallow_bytes"]);
    assert_eq!(run(&["stats", POD, "-q", "--fail-over", "byte[]=1KiB"]).code, 1);
    let text = std::fs::read(project(POD)).expect("readable");
    let piped = run_with_input(&["stats", "-", "-q", "-f", "json"], &text).expect_code(0).json();
    assert_eq!(piped["types"], all["types"]);
}

#[test]
fn a_series_has_a_page_with_a_chart() {
    let page = run(&["report", "--series", SOS, "--until", "4752024", "-o", "-"]).expect_code(0).stdout;
    // One type grows, from the lower left to the upper right.
    assert_eq!(page.matches("<polyline").count(), 1, "{page}");
    assert!(page.contains("points=\"90.0,270.0 790.0,10.0\""), "{page}");
    assert!(page.contains("4.5 MiB are reached in about 6.0 h") && page.contains("<td>+7.8 KiB</td>"), "{page}");
    assert!(page.contains("2026-11-25T12:00:00.000Z") && !page.contains("<script"), "{page}");
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("a.log");
    let text = std::fs::read_to_string(project(SOS)).expect("readable").replace("Shop.Session[,]", "<script>&\u{1b}x");
    std::fs::write(&log, text).expect("written");
    let page = run(&["report", "--series", &log.display().to_string(), "-o", "-"]).expect_code(0).stdout;
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;&amp;\\u{1b}x"), "{page}");
    let one = run(&["report", "--series", "fixtures/jvm_histogram/jdk7.txt", "-o", "-"]).expect_code(2);
    assert!(one.stderr.contains("2 dumps or more"), "{}", one.stderr);
}
