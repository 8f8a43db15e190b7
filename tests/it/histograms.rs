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
    assert!(noted.contains("1 file of another kind or process left out") && noted.contains("heap-1.hprof"), "{noted}");
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

/// The lines of a pod's log without what stands in front of them.
fn pod_lines() -> Vec<String> {
    let text = std::fs::read_to_string(project(POD)).expect("readable");
    text.lines().map(|line| line.splitn(4, ' ').nth(3).unwrap_or_default().to_string()).collect()
}

/// Lines of a program that has much to say.
fn chatter(bytes: usize) -> String {
    let line =
        "2026-11-25 11:58:00,000 INFO  [worker 7] shop.Orders - order 4711: class name unknown, num 12, count 3\n";
    line.repeat(bytes / line.len() + 1)
}

#[test]
fn a_table_behind_much_text_is_found() {
    let types = |ran: crate::common::cmd::Ran| ran.expect_code(0).json()["types"].clone();
    let (pod, stats) = (std::fs::read_to_string(project(POD)).expect("readable"), ["stats", "-", "-q", "-f", "json"]);
    let expected = types(run(&["stats", POD, "-q", "-f", "json"]));
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("app.log").display().to_string();
    for before in [
        chatter(20_000),
        chatter(3_000_000),
        "Full thread dump OpenJDK\n".repeat(4000),
        "{\"level\":\"info\",\"msg\":\"x\"}\n".repeat(4000),
        "Gr\u{f6}\u{df}e ".repeat(9000) + "\n",
    ] {
        let text = before + &pod;
        assert_eq!(types(run_with_input(&stats, text.as_bytes())), expected);
        std::fs::write(&log, text).expect("written");
        assert_eq!(types(run(&["stats", &log, "-q", "-f", "json"])), expected);
        let trend = run(&["trend", &log, "-q", "-f", "json"]).expect_code(0).json();
        assert_eq!(trend["dumps"].as_array().map(Vec::len), Some(3));
    }
    assert_eq!(run(&["info", &log]).expect_code(0).stderr, "");
    // What begins behind 16 MiB is read by its name, which the refusal says.
    let text = chatter(17 << 20) + &pod;
    let refused = run_with_input(&stats, text.as_bytes()).expect_code(2);
    assert!(
        refused.stderr.contains("--input-format") && refused.stderr.contains("|jvm-histogram|"),
        "{}",
        refused.stderr
    );
    let named = run_with_input(&[&stats[..], &["--input-format", "jvm-histogram"]].concat(), text.as_bytes());
    assert_eq!(types(named), expected);
    // Words of a heading within other text are none.
    for text in [chatter(20_000), chatter(20_000) + "num #instances #bytes class\n", "\0".repeat(9000) + &pod] {
        run_with_input(&stats, text.as_bytes()).expect_code(2);
    }
}

#[test]
fn a_container_log_of_json_lines_is_read() {
    let of_pod = |file: &str| run(&["trend", file, "-q", "-f", "json", "--all"]).expect_code(0).json();
    let times: Vec<String> =
        std::fs::read_to_string(project(POD)).expect("readable").lines().map(|line| line[..30].into()).collect();
    let json =
        |text: &str, time: &str| serde_json::json!({"log": format!("{text}\n"), "stream": "stdout", "time": time});
    let docker: Vec<String> =
        pod_lines().iter().zip(&times).map(|(text, time)| json(text, time).to_string() + "\n").collect();
    let noise =
        serde_json::json!({"log": "hello \"class\" name\n", "stream": "stderr", "time": times[0]}).to_string() + "\n";
    // A logger's message of many lines is one of JSON.
    let logger = serde_json::json!({"@timestamp": times[0], "message": pod_lines().join("\n")}).to_string() + "\n";
    let folder = tempfile::tempdir().expect("a folder");
    let mut expected = of_pod(POD);
    let (dumps, types) = (expected["dumps"].take(), expected["types"].take());
    for before in ["".to_string(), noise.repeat(1000)] {
        let path = folder.path().join("docker.log").display().to_string();
        std::fs::write(&path, before.clone() + &docker.concat()).expect("written");
        let answer = of_pod(&path);
        assert_eq!(answer["types"], types);
        for (found, wanted) in answer["dumps"].as_array().expect("dumps").iter().zip(dumps.as_array().expect("dumps")) {
            assert_eq!(found["taken_at"], wanted["taken_at"]);
        }
        let one = run_with_input(&["stats", "-", "-q", "-f", "json"], (before + &logger).as_bytes()).expect_code(0);
        assert_eq!(one.json()["types"], run(&["stats", POD, "-q", "-f", "json"]).json()["types"]);
    }
    // What is around the table in another way is not taken for a name.
    let foreign: String = pod_lines().iter().map(|line| format!("{{\"line\":\"{line}\",\"x\":\"1\"}}\n")).collect();
    let ran = run_with_input(&["stats", "-", "-f", "json", "--input-format", "jvm-histogram"], foreign.as_bytes());
    let known: Vec<String> = names_of(&run(&["stats", POD, "-q", "-f", "json"]).json());
    assert!(ran.code != 0 || names_of(&ran.json()).iter().all(|name| known.contains(name)), "{}", ran.stdout);
}

fn names_of(answer: &serde_json::Value) -> Vec<String> {
    let rows = answer["types"].as_array().into_iter().flatten();
    rows.map(|row| row["type"].as_str().expect("a name").to_string()).collect()
}

/// An application's logger has words in front of the first line of a message alone.
#[test]
fn rows_without_the_words_before_their_heading_are_read() {
    let stats = |text: &str| run_with_input(&["stats", "-", "-f", "json"], text.as_bytes());
    for (file, heading) in
        [(POD, " num  "), ("fixtures/jvm_histogram/openj9.txt", "  num "), (SOS, " MT "), (REPORT, "Object Bytes")]
    {
        let text = match file {
            POD => pod_lines().join("\n"),
            file => std::fs::read_to_string(project(file)).expect("readable"),
        };
        let plain = stats(&text).expect_code(0);
        for words in ["INFO", "2026-11-25 12:00:00,250 INFO shop.Main -"] {
            let prefixed = text.replacen(heading, &format!("{words} {heading}"), 1);
            let ran = stats(&prefixed).expect_code(0);
            assert_eq!((&ran.json()["types"], &ran.stderr), (&plain.json()["types"], &plain.stderr), "{file} {words}");
        }
    }
    // Numbers that are not known to be such are said, and are no names.
    let broken = "num #instances #bytes class name\n 1: 1 234 56 789 L$Session\n 2: 3 24 A\nTotal 3 24\n";
    let ran = stats(broken).expect_code(0);
    assert!(names_of(&ran.json()) == ["A"] && ran.stderr.contains("bad-row"), "{}{}", ran.stdout, ran.stderr);
}

/// Of a log that says how long the JVM has run, the slope is by that.
#[test]
fn times_since_the_start_are_times() {
    let table = |uptime: &str, count: u64| {
        let in_front = format!("[{uptime}][trace][gc,classhisto] GC({count})");
        format!(
            "{in_front} Class Histogram (before full gc)\n{in_front}  num     #instances         #bytes  class name (module)\n\
             {in_front} ---\n{in_front}    1: {count} {}  L$Session\n{in_front} Total {count} {}\n",
            count * 16,
            count * 16
        )
    };
    let trend = |text: &str| run_with_input(&["trend", "-", "-q", "-f", "json"], text.as_bytes()).expect_code(0).json();
    let steady = table("10.500s", 1000) + &table("20,500s", 2000) + &table("30.500s", 3000);
    let answer = trend(&steady);
    assert_eq!(answer["types"][0]["objects_per_hour"], 360_000, "{answer}");
    assert_eq!(answer["dumps"][0]["taken_at"], serde_json::Value::Null);
    // The JVM was started again between them: no time from one to the next is known.
    let answer = trend(&(steady + &table("5.000s", 4000)));
    assert_eq!(answer["types"][0]["objects_per_hour"], serde_json::Value::Null, "{answer}");
}

#[test]
fn a_limit_that_is_near_is_told_in_seconds() {
    // 480,000 bytes an hour are 133 a second.
    let ran = run(&["trend", SOS, "-q", "-f", "json", "--until", "1873000"]).expect_code(0);
    assert_eq!(ran.json()["types"][0]["hours_to_limit"], 0.002);
    let ran = run(&["trend", SOS, "-q", "-f", "csv", "--until", "1873000"]).expect_code(0);
    assert!(ran.stderr.contains("are reached in about 7 s"), "{}", ran.stderr);
}

/// Two processes of one folder are no series.
#[test]
fn histograms_of_another_process_are_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(project("fixtures/jvm_histogram/jdk7.txt")).expect("readable");
    let names =
        ["99-20261125-120000.000", "99-20261125-120100.000", "4711-20261125-120000.000", "4711-20261125-120100.000"];
    for (name, strings) in names.iter().zip(["10", "20", "3000", "3100"]) {
        std::fs::write(folder.path().join(format!("heap-{name}.txt")), text.replace("3000", strings)).expect("written");
    }
    std::fs::write(folder.path().join("heap-4711-20261125-120200.000.txt"), text.replace("3000", "3200"))
        .expect("written");
    let path = folder.path().display().to_string();
    let ran = run(&["trend", &path, "-f", "json", "--all", "--type", "=java.lang.String"]).expect_code(0);
    assert_eq!(ran.json()["types"][0]["objects"], serde_json::json!([3001, 3101, 3201]));
    assert!(ran.stderr.contains("2 files of another kind or process left out"), "{}", ran.stderr);
}
