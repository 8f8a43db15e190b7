//! The memory-infra reader on what a trace may hold besides: damage, hostile JSON, odd but legal forms.

use crate::common::cmd::{assert_linear, run, run_with_input};
use serde_json::Value;

fn trace(frames: &str, types: &str, heaps: &str) -> String {
    format!(
        r#"{{"traceEvents":[{{"ph":"v","pid":7,"ts":1,"id":"0x1","args":{{"dumps":{heaps}}}}},
        {{"ph":"M","pid":7,"name":"stackFrames","args":{{"stackFrames":{frames}}}}},
        {{"ph":"M","pid":7,"name":"typeNames","args":{{"typeNames":{types}}}}}]}}"#
    )
}

fn entries(entries: &str) -> String {
    format!(r#"{{"heaps":{{"malloc":{{"entries":[{entries}]}}}}}}"#)
}

fn breakdown(text: &str) -> Value {
    run_with_input(&["breakdown", "-", "-f", "json", "-q"], text.as_bytes()).expect_code(0).json()
}

fn codes(answer: &Value) -> Vec<String> {
    let problems = answer["problems"].as_array().unwrap().iter();
    problems.map(|problem| problem["code"].as_str().unwrap().to_string()).collect()
}

#[test]
fn problems_have_their_codes_and_cost_nothing_else() {
    let frames = r#"{"0":{"name":"main"},"1":{"name":"f","parent":"0"},"a":{"name":"x","parent":"b"},"b":{"name":"y","parent":"a"},"2":{"name":"g","parent":"missing"}}"#;
    let types = r#"{"1":"T"}"#;
    let good = r#"{"size":"64","bt":""},{"size":"50","bt":"0"}"#;
    for (bad, code) in [
        (r#"{"size":"xyz","bt":"0","type":"1"}"#, "bad-entry"),
        (r#"{"size":{"a":[]},"bt":"0"}"#, "bad-entry"),
        (r#"[1,2],null,"x",7"#, "bad-entry"),
        (r#"{"size":"1","bt":"nowhere"}"#, "unknown-frame"),
        (r#"{"size":"1","bt":"2"}"#, "unknown-frame"),
        (r#"{"size":"1","bt":"0","type":"9"}"#, "unknown-type"),
        (r#"{"size":"1","bt":"a"}"#, "cyclic-stack-frames"),
        (r#"{"size":"51","bt":"1"}"#, "children-exceed-parent"),
    ] {
        let answer = breakdown(&trace(frames, types, &entries(&format!("{good},{bad}"))));
        assert_eq!(codes(&answer), [code], "{bad}");
        let tree = &answer["heaps"][0]["tree"];
        assert_eq!(tree["bytes"], 100, "{bad}");
        let main = tree["children"].as_array().unwrap().iter().find(|child| child["name"] == "main").unwrap();
        assert!(main["bytes"].as_u64().unwrap() >= 80, "{bad}");
        let strict = run_with_input(
            &["info", "-", "--strict"],
            trace(frames, types, &entries(&format!("{good},{bad}"))).as_bytes(),
        );
        assert!(strict.expect_code(2).stderr.contains(code), "{bad}");
    }
}

#[test]
fn sums_beyond_64_bits_are_reported() {
    let frames = r#"{"0":{"name":"main"},"1":{"name":"f"}}"#;
    let huge = r#"{"size":"ffffffffffffffff","bt":"0"}"#;
    assert_eq!(codes(&breakdown(&trace(frames, "{}", &entries(huge)))), [""; 0]);
    let more = format!(r#"{huge},{{"size":"1","bt":"1"}}"#);
    let text = trace(frames, "{}", &entries(&more));
    assert_eq!(codes(&breakdown(&text)), ["size-overflow"]);
    assert!(
        run_with_input(&["info", "-", "--strict"], text.as_bytes()).expect_code(2).stderr.contains("size-overflow")
    );
}

#[test]
fn a_fault_in_one_event_costs_that_event_alone() {
    let good = r#"{"ph":"v","pid":7,"ts":1,"id":"0x1","args":{"dumps":{"heaps":{"malloc":{"entries":[{"size":"64","bt":""}]}}}}}"#;
    for (bad, code) in [
        (
            r#"{"ph":"v","pid":8,"args":{"dumps":{"heaps":{"malloc":{"entries":[{"size":"1","bt":""},{"size":,}]}}}}}"#,
            "malformed-event",
        ),
        (r#"{"ph":"M","name":"typeNames","pid":7,"args":{"typeNames":{"1":"a" "2"}}}"#, "malformed-event"),
        ("17", "not-an-event"),
        (r#""text""#, "not-an-event"),
        ("null", "not-an-event"),
        (":", "not-an-event"),
    ] {
        for text in [format!("[{bad},{good}]"), format!("{{\"traceEvents\":[{bad},{good}]}}")] {
            let answer = breakdown(&text);
            assert_eq!(codes(&answer), [code], "{text}");
            let heaps = answer["heaps"].as_array().unwrap();
            assert!(heaps.iter().any(|heap| heap["total_bytes"] == 100), "{text}");
        }
    }
    let behind = breakdown(&format!("[{good}] more"));
    assert_eq!(codes(&behind), ["trailing-data"]);
    // A dump that the file cuts short is read as far as it goes.
    let cut = breakdown(
        &good
            .replace("{\"size\":\"64\",\"bt\":\"\"}]}}}}}", "{\"size\":\"64\",\"bt\":\"\"},{\"si")
            .replacen('{', "[{", 1),
    );
    assert_eq!(
        (codes(&cut), &cut["heaps"][0]["total_bytes"]),
        (vec!["truncated".into(), "unterminated-array".into()], &100.into())
    );
}

#[test]
fn forms_that_writers_take_liberties_with() {
    let good = r#"{"ph":"v","pid":"7","ts":1.5,"id":1,"args":{"dumps":{"heaps":{"malloc":{"entries":[{"size":"64","bt":""}]}}}}}"#;
    let padding = "x".repeat(20_000);
    for text in [
        format!("[{good},]"),
        format!("\u{feff} \n[\n{good}\n]\n"),
        format!("{{\"traceEvents\" : [ {good} , ] , }}"),
        format!("{{\"own\":\"{padding}\",\"traceEvents\":[{good}]}}"),
        format!("{{\"traceEvents\":[{good}],\"systemTraceEvents\":\"{padding}\\\"]}}\"}}"),
    ] {
        let answer = breakdown(&text);
        assert!(codes(&answer).is_empty(), "{:?}: {}", codes(&answer), &text[..60]);
        assert_eq!((&answer["heaps"][0]["pid"], &answer["heaps"][0]["total_bytes"]), (&7.into(), &100.into()));
    }
    let none = run_with_input(&["breakdown", "-"], b"{\"a\":1}").expect_code(2);
    assert!(none.stderr.contains("there are no trace events"), "{}", none.stderr);
}

/// No answer is larger than its text allows.
#[test]
fn hostile_json_makes_no_large_answers() {
    let good = entries(r#"{"size":"64","bt":""}"#);
    let deep = |open: &str, close: &str, times: usize| format!("{}1{}", open.repeat(times), close.repeat(times));
    let chain = |count: usize| -> String {
        let frames: Vec<String> =
            (0..count).map(|at| format!("\"{}\":{{\"name\":\"f{at}\",\"parent\":\"{at}\"}}", at + 1)).collect();
        format!("{{\"0\":{{\"name\":\"f\"}},{}}}", frames.join(","))
    };
    let many = |count: usize| -> String {
        (0..count)
            .map(|at| format!("{{\"size\":\"1\",\"bt\":\"{}\",\"type\":\"{at}\"}}", count - 1))
            .collect::<Vec<_>>()
            .join(",")
    };
    let types = |count: usize| {
        format!("{{{}}}", (0..count).map(|at| format!("\"{at}\":\"T{at}\"")).collect::<Vec<_>>().join(","))
    };
    let texts = [
        // Nesting where it is skipped, and where it is read.
        format!("{{\"deep\":{},{}", deep("[", "]", 500_000), &trace("{}", "{}", &good)[1..]),
        format!("[{{\"ph\":\"X\",\"args\":{}}},{}", deep("{\"a\":", "}", 300_000), &trace("{}", "{}", &good)[16..]),
        trace(&deep("{\"a\":", "}", 100_000), "{}", &good),
        trace("{}", "{}", &format!("{{\"x\":{},{}", deep("[", "]", 200_000), &good[1..])),
        // A long string, long chains of callers, circles of them, numbers beyond all bounds.
        trace("{}", &format!("{{\"0\":\"{}\"}}", "x".repeat(20_000_000)), &good),
        trace(&chain(200_000), "{}", &entries(r#"{"size":"64","bt":"200000"}"#)),
        trace(&chain(3_000), &types(3_000), &entries(&format!("{{\"size\":\"64\",\"bt\":\"\"}},{}", many(3_000)))),
        trace(
            &chain(50_000).replacen("{\"name\":\"f\"}", "{\"name\":\"f\",\"parent\":\"50000\"}", 1),
            "{}",
            &entries(r#"{"size":"64","bt":"7"}"#),
        ),
        trace(
            "{}",
            "{}",
            &entries(
                r#"{"size":"ffffffffffffffff","bt":"","count":"ffffffffffffffff"},{"size":"ffffffffffffffff","bt":""},{"size":"fffffffffffffffffffff","bt":""}"#,
            ),
        ),
        format!("[{}", "{\"ph\":\"v\"},".repeat(200_000) + &trace("{}", "{}", &good)[16..]),
        format!("[{}", &"]}[{,:".repeat(100_000)),
    ];
    for text in texts {
        let ran =
            run_with_input(&["breakdown", "-", "-f", "json", "-q", "--by", "both", "--depth", "20"], text.as_bytes());
        let head = &text[..text.len().min(100)];
        assert!(ran.code == 0 || (ran.code == 2 && ran.stderr.starts_with("heapdump: ")), "{head}: {}", ran.stderr);
        assert!(ran.stdout.len() < 4096 + 16 * text.len(), "{head}: {} bytes of {}", ran.stdout.len(), text.len());
    }
}

/// Nests, long chains of callers and circles of them, floods of events and of what is none: the work grows with them.
#[test]
fn hostile_traces_take_linear_work() {
    let good = entries(r#"{"size":"64","bt":""}"#);
    let deep = |open: &str, close: &str, count: usize| format!("{}1{}", open.repeat(count), close.repeat(count));
    let chain = |count: usize| -> String {
        let frame = |at: usize| format!("\"{}\":{{\"name\":\"f{at}\",\"parent\":\"{at}\"}}", at + 1);
        format!("{{\"0\":{{\"name\":\"f\"}},{}}}", (0..count).map(frame).collect::<Vec<_>>().join(","))
    };
    let of_last = |count: usize| entries(&format!("{{\"size\":\"64\",\"bt\":\"{count}\"}}"));
    let circle = |count: usize| {
        let frames =
            chain(count).replacen("{\"name\":\"f\"}", &format!("{{\"name\":\"f\",\"parent\":\"{count}\"}}"), 1);
        trace(&frames, "{}", &of_last(7))
    };
    let events = |count: usize| format!("[{}", "{\"ph\":\"v\"},".repeat(count) + &trace("{}", "{}", &good)[16..]);
    let check = |label: &str, count: usize, text: &dyn Fn(usize) -> String| {
        let args = ["breakdown", "-", "-f", "json", "-q", "--by", "both", "--depth", "20"];
        assert_linear(label, &args, text(count).as_bytes());
    };
    check("a skipped nest", 1_000_000, &|count| {
        format!("{{\"deep\":{},{}", deep("[", "]", count), &trace("{}", "{}", &good)[1..])
    });
    check("a nest in frames", 1_000_000, &|count| trace(&deep("{\"a\":", "}", count), "{}", &good));
    check("a chain of callers", 500_000, &|count| trace(&chain(count), "{}", &of_last(count)));
    check("a circle of callers", 500_000, &circle);
    check("events", 1_000_000, &events);
    check("junk", 1_000_000, &|count| format!("[{}", "]}[{,:".repeat(count)));
}

#[test]
fn columns_with_gaps_and_floats() {
    let heaps = r#"{"heaps_v2":{"version":1,"maps":{"strings":[{"id":1,"string":"main"},{"id":2,"string":"T"},{"id":3,"string":"\\u003Croot>"}],
        "nodes":[{"id":5,"name_sid":1},{"id":0,"name_sid":3},{"id":6,"name_sid":1,"parent":0}],"types":[{"id":0,"name_sid":2}]},
        "allocators":{"malloc":{"counts":[1,2,3.0,4],"sizes":[10,20.0,30,40,50],"types":[0,0,0,9],"nodes":[5,-1,18446744073709551615,6]}}}}"#;
    let answer = breakdown(&trace("{}", "{}", heaps));
    assert_eq!(codes(&answer), ["uneven-columns", "unknown-type"]);
    let tree = &answer["heaps"][0]["tree"];
    assert_eq!((&tree["bytes"], &tree["allocations"]), (&100.into(), &10.into()));
    let names: Vec<&str> = tree["children"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    // Node 0 is a parent like any other.
    assert_eq!(names, ["<root>", "main", "<self>"]);
    assert_eq!(tree["children"][0]["children"][0]["name"], "main");
}

#[test]
fn program_counters_are_shown_as_places_in_files() {
    let frames = r#"{"0":{"name":"pc:7f0000001234"},"1":{"name":"pc:7f0000003456","parent":"0"},"2":{"name":"pc:10"}}"#;
    let mapped = r#"{"process_mmaps":{"vm_regions":[{"sa":"7f0000003000","sz":"1000","mf":"/opt/libcef.so (deleted)"},
        {"sa":"7f0000000000","sz":"2000","mf":"/opt/libcef.so (deleted)"}]},"heaps":{"malloc":{"entries":[
        {"size":"64","bt":""},{"size":"10","bt":"1"},{"size":"20","bt":"2"}]}}}"#;
    let answer = breakdown(&trace(frames, "{}", mapped));
    let tree = &answer["heaps"][0]["tree"];
    assert_eq!(tree["children"][0]["name"], "pc:10");
    assert_eq!(tree["children"][1]["name"], "libcef.so+0x1234");
    assert_eq!(tree["children"][1]["children"][0]["name"], "libcef.so+0x3456");
}

#[test]
fn wrapped_type_names_are_unwrapped_unless_asked_for_raw() {
    let types = r#"{"1":"const char* WTF::getStringWithTypeName() [with T = blink::Node]","2":"const char* WTF::getStringWithTypeName() [with T = WTF::HashMap<int","3":"const char *__cdecl WTF::getStringWithTypeName<class A<class B>>(void)","4":"const char *WTF::getStringWithTypeName() [T = blink::Event]"}"#;
    let heap = entries(
        r#"{"size":"64","bt":""},{"size":"8","bt":"","type":"1"},{"size":"7","bt":"","type":"2"},{"size":"6","bt":"","type":"3"},{"size":"5","bt":"","type":4}"#,
    );
    let text = trace("{}", types, &heap);
    let names = |args: &[&str]| -> Vec<String> {
        let stats = run_with_input(args, text.as_bytes()).expect_code(0).json();
        stats["types"].as_array().unwrap().iter().map(|row| row["type"].as_str().unwrap().to_string()).collect()
    };
    let cut = "const char* WTF::getStringWithTypeName() [with T = WTF::HashMap<int";
    assert_eq!(names(&["stats", "-", "-f", "json"]), ["blink::Node", cut, "class A<class B>", "blink::Event"]);
    assert!(names(&["stats", "-", "-f", "json", "--raw-types"])[0].starts_with("const char*"));
}

/// The viewer's own unit tests and larger recordings.
#[test]
#[ignore = "needs HEAPDUMP_TEST_DATA, a folder of larger samples"]
fn data_from_elsewhere() {
    let folder = std::env::var_os("HEAPDUMP_TEST_DATA").expect("HEAPDUMP_TEST_DATA names a folder of samples");
    let folder = std::path::PathBuf::from(folder);
    let totals = |path: &str| -> Vec<(i64, String, u64, Option<u64>)> {
        let path = folder.join("memory-infra").join(path).display().to_string();
        let info = run(&["info", &path, "-f", "json"]).expect_code(0).json();
        let heaps = info["heaps"].as_array().unwrap().iter();
        heaps
            .map(|heap| {
                let allocator = heap["allocator"].as_str().unwrap().to_string();
                let bytes = heap["total_bytes"].as_u64().unwrap();
                (heap["pid"].as_i64().unwrap(), allocator, bytes, heap["allocations"].as_u64())
            })
            .collect()
    };
    let heap = |pid, allocator: &str, bytes, count| (pid, allocator.to_string(), bytes, count);
    let mut new = totals("catapult-unit/heapDumps_newFormat.json");
    new.sort();
    let mut expected = vec![
        heap(21, "partition_alloc", 4096, None),
        heap(21, "partition_alloc", 8192, None),
        heap(42, "partition_alloc", 10_559_738, Some(256)),
        heap(42, "malloc", 1929, Some(336)),
        heap(63, "winheap", 65_536, None),
        heap(84, "malloc", 43_981, None),
    ];
    expected.sort();
    assert_eq!(new, expected);
    let old = totals("catapult-unit/heapDumps_oldFormat.json");
    assert_eq!(old.iter().map(|heap| heap.2).collect::<Vec<_>>(), [4096, 6_086_545, 1929, 8192]);
    assert_eq!(totals("catapult-unit/composableDumps.json"), [heap(42, "partition_alloc", 1280, None)]);
    let mapped = totals("traces/chromium120-heaps_v2-rate1000-mmaps.json.gz");
    assert_eq!((mapped.len(), mapped[0].2, mapped[9].2), (18, 5_674_000, 5_816_000));
}
