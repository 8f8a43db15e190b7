//! Threads of Java heap dumps: names, states, stacks, locals; and as a thread dump.

use serde_json::{Value, json};

use crate::common::cmd::{project, run, run_on_terminal};

const ZOOS: [&str; 5] = ["zoo-jdk11-serial", "zoo-jdk17-serial", "zoo-jdk17-zgc", "zoo-jdk21-serial", "zoo-jdk25-coh"];
const ZOO: &str = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";
const OUT_OF_MEMORY: &str = "fixtures/hprof/out-of-memory.hprof";

fn threads(words: &[&str]) -> Vec<Value> {
    let answer = run(&[&["threads", "-q", "-f", "json"], words].concat()).expect_code(0).json();
    answer["threads"].as_array().expect("threads").clone()
}

/// A thread as an independent reader lists it: name, and by frame (method with signature, file, line, ids of locals).
type Stack = (String, Vec<(String, Value, Value, Vec<String>)>);

/// The stacks of threads, sorted. An independent reader has the signature in the method, lists repeated locals of a frame
/// again, and has negative lines for native and unknown code, and empty files.
fn stacks(threads: &[Value]) -> Vec<Stack> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let stack = |thread: &Value| {
        let frames = thread["frames"].as_array().expect("frames").iter().map(|frame| {
            let locals = frame["locals"].as_array().expect("locals").iter();
            let mut locals: Vec<String> = locals.map(|local| text(&local["id"])).collect();
            locals.sort();
            locals.dedup();
            let line = frame["line"].as_i64().filter(|&line| line > 0).map_or(Value::Null, Value::from);
            let file = Some(frame["file"].clone()).filter(|file| file != "").unwrap_or(Value::Null);
            (text(&frame["method"]) + &text(&frame["signature"]), file, line, locals)
        });
        (text(&thread["name"]), frames.collect())
    };
    let mut stacks: Vec<Stack> = threads.iter().map(stack).collect();
    stacks.sort_by_key(|stack| format!("{stack:?}"));
    stacks
}

#[test]
fn stacks_are_those_of_an_independent_reader() {
    for zoo in ZOOS {
        let text = std::fs::read_to_string(project(&format!("fixtures/hprof/{zoo}.threads.json"))).expect("readable");
        let listed: Value = serde_json::from_str(&text).expect("JSON");
        let expected = stacks(listed["threads"].as_array().expect("threads"));
        let found = stacks(&threads(&[&format!("fixtures/hprof/{zoo}.hprof.zst")]));
        assert!(found.len() >= 8, "{zoo}");
        assert_eq!(found, expected, "{zoo}");
    }
}

#[test]
fn a_thread_says_what_it_is() {
    let worker = &threads(&["zoo-worker", ZOO])[0];
    assert_eq!(
        (&worker["daemon"], &worker["virtual"], &worker["state"]),
        (&json!(true), &json!(false), &json!("WAITING"))
    );
    let by_id = &threads(&[worker["id"].as_str().expect("an id"), ZOO])[0];
    assert_eq!(by_id, worker);
    assert_eq!(worker["frames"][0]["native"], true);
    // What lies on its stack is freed with it.
    let locals = worker["frames"][3]["locals"].as_array().expect("locals");
    let array = locals.iter().find(|local| local["type"] == "byte[]").expect("an array of 5,000 bytes");
    assert!(worker["retained_bytes"].as_u64() > array["retained_bytes"].as_u64());
    let dominators =
        run(&["show", array["id"].as_str().expect("an id"), ZOO, "-q", "-f", "json"]).expect_code(0).json();
    assert_eq!(dominators["object"]["dominator"], worker["id"]);
    let blocked = &threads(&["zoo-blocked", ZOO])[0];
    assert_eq!(blocked["state"], "BLOCKED");
    // Since JDK 19 most of it is in an object of its own; 25 has a virtual thread with a stack.
    let of_21 = &threads(&["zoo-worker", "fixtures/hprof/zoo-jdk21-serial.hprof.zst"])[0];
    assert_eq!((&of_21["daemon"], &of_21["state"]), (&json!(true), &json!("WAITING")));
    let of_25 = threads(&["fixtures/hprof/zoo-jdk25-coh.hprof.zst"]);
    let is_virtual: Vec<_> = of_25.iter().filter(|thread| thread["virtual"] == true).collect();
    assert_eq!(is_virtual.len(), 1);
    assert_eq!((&is_virtual[0]["daemon"], &is_virtual[0]["name"]), (&json!(true), &json!("")));
    assert!(is_virtual[0]["frames"].as_array().expect("frames").len() > 5);
}

#[test]
fn the_thread_that_ran_out_of_memory_is_first() {
    let first = &threads(&[OUT_OF_MEMORY])[0];
    assert_eq!((&first["name"], &first["out_of_memory"]), (&json!("worker"), &json!(true)));
    let drawn = run_on_terminal(&format!("heapdump threads {OUT_OF_MEMORY} -q --color never"), 100).expect_code(0);
    assert!(drawn.stdout.starts_with("Out of memory: \"worker\", in "), "{}", drawn.stdout);
}

#[test]
fn threads_are_sorted_and_cut() {
    let figures = |words: &[&str], key: &str| -> Vec<u64> {
        let value = |thread: &Value| match &thread[key] {
            Value::Array(rows) => rows.len() as u64,
            value => value.as_u64().expect("a number"),
        };
        threads(&[words, &[ZOO]].concat()).iter().map(value).collect()
    };
    let retained = figures(&[], "retained_bytes");
    assert!(retained.is_sorted_by(|a, b| a >= b) && retained[0] > retained[8], "{retained:?}");
    assert!(figures(&["--sort", "frames"], "frames").is_sorted_by(|a, b| a >= b));
    assert!(figures(&["--reverse"], "retained_bytes").is_sorted());
    assert_eq!(figures(&["-n", "2"], "retained_bytes"), retained[..2]);
}

/// The form that tools for thread dumps read: a line with the name in quotes, the state, calls behind a tab and `at`.
#[test]
fn a_thread_dump_has_the_lines_of_jstack() {
    let dump = run(&["threads", ZOO, "-q", "-f", "jstack"]).expect_code(0).stdout;
    assert!(dump.starts_with("Full thread dump OpenJDK Runtime Environment 17."), "{dump}");
    let worker = dump.split("\n\n").find(|part| part.starts_with("\"zoo-worker\" #")).expect("the worker");
    let lines: Vec<&str> = worker.lines().collect();
    assert!(lines[0].contains(" daemon prio=5 tid=0x"), "{worker}");
    assert_eq!(lines[1], "   java.lang.Thread.State: WAITING");
    assert_eq!(lines[2], "\tat jdk.internal.misc.Unsafe.park(Native Method)");
    assert_eq!(lines[5], "\tat zoo.Zoo.innermost(Zoo.java:77)");
    assert_eq!(lines.len(), 12);
    // Other commands have no such form.
    let other = run(&["stats", ZOO, "-f", "jstack"]).expect_code(2);
    assert!(other.stderr.contains("possible values"), "{}", other.stderr);
}

#[test]
fn what_is_not_there_is_said() {
    let none = run(&["threads", "nobody", ZOO]).expect_code(1);
    assert!(none.stderr.contains("no thread is called \"nobody\" or has that id; there are 9"), "{}", none.stderr);
    let other = run(&["threads", "fixtures/xna_cf/small_1k.txt"]).expect_code(1);
    assert_eq!(other.stderr, "heapdump: this dump does not say which threads there were\n");
    // The threads stand in the dump's records, their names in its objects.
    let bytes = std::fs::read(project(OUT_OF_MEMORY)).expect("readable");
    let piped = crate::common::cmd::run_with_input(&["threads", "--spool", "0", "-f", "json"], &bytes).expect_code(0);
    assert_eq!(piped.stderr.matches("of standard input too little was kept").count(), 1, "{}", piped.stderr);
    assert_eq!(piped.json()["threads"][0]["name"], Value::Null);
}
