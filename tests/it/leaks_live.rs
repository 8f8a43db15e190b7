//! `heapdump leaks` on programs that leak in known ways, which run here: each writes a dump, leaks three times as much as
//! before, and writes another.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::cmd::{project, run};
use crate::common::live::not_installed;

/// A way to leak: its name, the type that is kept, words for who holds it, objects before and after.
type Case = (&'static str, &'static str, &'static str, [u64; 2]);

const JAVA: [Case; 15] = [
    ("list", "Leaks$Item", "Leaks$Journal.ENTRIES", [4000, 16_000]),
    ("linked-list", "Leaks$Item", "Leaks$Events.ALL", [4000, 16_000]),
    ("own-list", "Leaks$Item", "Leaks$Link.head", [4000, 16_000]),
    ("listeners", "Leaks$Panel", "Leaks$Hub.listeners", [4000, 16_000]),
    ("map-of-lists", "Leaks$Item", "Leaks$Service.byCustomer", [4000, 16_000]),
    ("sorted-map", "Leaks$Item", "Leaks$Registry.SORTED", [4000, 16_000]),
    ("names", "java.lang.String", "Leaks$Registry.NAMES", [4000, 16_000]),
    ("weak-map", "Leaks$Value", "Leaks$Registry.WEAK", [4000, 16_000]),
    ("queue", "Leaks$Item", "Leaks$Jobs.QUEUE", [4000, 16_000]),
    ("timer", "Leaks$Job", "Leaks$Jobs.TIMER", [4000, 16_000]),
    ("own-timer", "Leaks$Job", "Leaks$Dispatcher.overdue", [4000, 16_000]),
    ("indexes", "Leaks$Item", "Leaks$Book.by", [4000, 16_000]),
    (
        "cancelled",
        "java.util.concurrent.ScheduledThreadPoolExecutor$ScheduledFutureTask",
        "Leaks$Jobs.TIMEOUTS",
        [4000, 16_000],
    ),
    ("thread-local", "Leaks$Item", "Leaks$Requests.CURRENT", [4000, 16_000]),
    ("threads", "Leaks$Worker", "threads Thread-N", [80, 320]),
];

const NODE: [Case; 12] = [
    ("map", "Item", "Store.byId", [2000, 8000]),
    ("dictionary", "Item", "cache", [2000, 8000]),
    ("plain", "{method, url}", "rows", [2000, 8000]),
    ("nested", "{method, url, from}", "rows", [2000, 8000]),
    ("interval", "Client", "TimersList", [2000, 8000]),
    ("listener", "Client", "EventEmitter._events.tick", [2000, 8000]),
    ("abort", "Client", "kEvents", [2000, 8000]),
    ("promise", "Client", "pending", [2000, 8000]),
    ("closure", "Client", "hooks", [2000, 8000]),
    ("storage", "Client", "TimersList", [2000, 8000]),
    ("global", "Item", "sessions", [2000, 8000]),
    ("module", "Module", "children, kept by module leaks.js", [2000, 8000]),
];

/// What libraries hold: some of Spark's, which `tests/live/install` gets.
const JAVA_LIBRARIES: [Case; 15] = [
    ("guava-cache", "Libraries$Order", "Libraries$Prices.CACHE", LIBRARIES),
    ("guava-bus", "Libraries$Panel", "Libraries$Hub.BUS", LIBRARIES),
    ("guava-future", "Libraries$Order", "Libraries$Start.DONE", LIBRARIES),
    ("netty-timer", "Libraries$Order", "Libraries$Deadlines.TIMER", LIBRARIES),
    ("netty-promise", "Libraries$Order", "Libraries$Start.CONNECTED", LIBRARIES),
    ("vertx", "Libraries$Order", "Libraries$Verticle.VERTX", LIBRARIES),
    ("metrics", "Libraries$Order", "Libraries$Figures.METRICS.metrics", LIBRARIES),
    ("log4j", "java.lang.String", "DefaultThreadContextMap.localState", [2000, 8000]),
    ("javassist", "javassist.CtNewClass", "Libraries$Proxies.POOL.classes", LIBRARIES),
    ("scala", "Libraries$Order", "Libraries$Sessions.OPEN", LIBRARIES),
    ("collections", "Libraries$Order", "Libraries$Customers.orders", LIBRARIES),
    ("kryo", "Libraries$Order", "Libraries$Wire.KRYO", LIBRARIES),
    ("py4j", "Libraries$Order", "Libraries$Bridge.GATEWAY", LIBRARIES),
    ("derby", "org.apache.derby.impl.jdbc.EmbedResultSet42", "Libraries$Database.RESULTS", LIBRARIES),
    ("curator", "Libraries$Watcher", "Libraries$Cluster.LISTENERS", LIBRARIES),
];

const NODE_LIBRARIES: [Case; 9] = [
    ("rxjs-subject", "Order", "Subject.observers", LIBRARIES),
    ("rxjs-interval", "Order", "TimersList", LIBRARIES),
    ("eventemitter3", "Order", "bus._events", LIBRARIES),
    ("mutex", "Order", "mutex._semaphore", LIBRARIES),
    ("p-queue", "Order", "jobs._queue", LIBRARIES),
    ("express-session", "(string)", "MemoryStore.sessions", LIBRARIES),
    ("dataloader", "Order", "DataLoader._cacheMap", LIBRARIES),
    ("lodash", "Order", "priceOf.cache", LIBRARIES),
    ("mobx", "Order", "settings", LIBRARIES),
];

const LIBRARIES: [u64; 2] = [1000, 4000];

/// Runs a program; its two dumps are in the folder. `None` where the program is not installed.
fn dumps(folder: &Path, program: &str, arguments: &[&str], extension: &str) -> Option<[PathBuf; 2]> {
    let files = ["old", "new"].map(|name| folder.join(format!("{name}.{extension}")));
    let ran = Command::new(program)
        .args(arguments)
        .args(&files)
        .current_dir(folder)
        .env("NODE_PATH", project("target/live/node_modules"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    match ran {
        Ok(status) => assert!(status.success(), "{program} {arguments:?}: {status}"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => panic!("{program}: {error}"),
    }
    Some(files)
}

fn suspects(files: &[PathBuf]) -> Vec<Value> {
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let mut words = vec!["leaks", "-q", "-f", "json"];
    words.extend(files.iter().map(String::as_str));
    let answer = run(&words).expect_code(0).json();
    answer["suspects"].as_array().expect("suspects").clone()
}

fn check(cases: &[Case], dumps: impl Fn(&Path, &str) -> Option<[PathBuf; 2]>) {
    let mut wrong = Vec::new();
    for case in cases {
        let Some(fault) = fault_of(case, &dumps) else { return };
        let Some(fault) = fault else { continue };
        // What a library's own threads hold at the moment of a dump differs from run to run.
        println!("{fault}; the program runs once more");
        wrong.extend(fault_of(case, &dumps).flatten());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs a program and says what is wrong with the answer; `None` where it cannot be run.
fn fault_of(case: &Case, dumps: impl Fn(&Path, &str) -> Option<[PathBuf; 2]>) -> Option<Option<String>> {
    let (way, element, holder, counts) = case;
    let folder = TempDir::new().expect("a folder");
    let [old, new] = dumps(folder.path(), way)?;
    let found = suspects(&[old, new.clone()]);
    assert!(suspects(&[new.clone(), new]).is_empty(), "{way}: a dump beside itself");
    let Some(first) = found.first() else { return Some(Some(format!("{way}: no suspects"))) };
    let sentence = first["sentence"].as_str().expect("a sentence");
    // A list from both ends, a worker's task: one object more or less.
    let is_near = |figure: &Value, count: u64| figure.as_u64().is_some_and(|figure| figure.abs_diff(count) <= 2);
    let is_right = first["element"]["type"] == *element
        && sentence.contains(holder)
        && is_near(&first["element"]["objects_old"], counts[0])
        && is_near(&first["element"]["objects"], counts[1])
        && first["growth"]["retained_bytes_delta"].as_u64() <= first["retained_bytes"].as_u64();
    let is_wrong = !is_right || found.len() > 1;
    Some(is_wrong.then(|| format!("{way}: {} suspects, {}: {sentence}", found.len(), first["element"])))
}

/// A program for Java in a folder of its own, where there is a compiler; `jars` are what it is made with.
fn java(program: &str, jars: &str, check: impl FnOnce(&str)) {
    let classes = TempDir::new().expect("a folder");
    let folder = classes.path().display().to_string();
    let source = project(&format!("tests/live/leaks/{program}.java"));
    match Command::new("javac").args(["-nowarn", "-cp", jars, "-d", &folder]).arg(source).status() {
        Ok(status) => assert!(status.success(), "javac: {status}"),
        Err(_) => return not_installed("openjdk-17-jdk-headless"),
    }
    check(&format!("{folder}:{jars}"));
}

fn of_java(program: &str, classes: &str, folder: &Path, way: &str) -> Option<[PathBuf; 2]> {
    let files = dumps(folder, "java", &["-Xmx256m", "-cp", classes, program, way], "hprof");
    files.or_else(|| {
        not_installed("java17");
        None
    })
}

fn of_node(program: &str, folder: &Path, way: &str) -> Option<[PathBuf; 2]> {
    let program = project(&format!("tests/live/leaks/{program}")).display().to_string();
    let files = dumps(folder, "node", &["--expose-gc", &program, way], "heapsnapshot");
    files.or_else(|| {
        not_installed("node20");
        None
    })
}

#[test]
#[ignore = "runs thirteen programs of Java"]
fn causes_of_leaks_in_java_programs_are_named() {
    java("Leaks", "", |classes| check(&JAVA, |folder, way| of_java("Leaks", classes, folder, way)));
}

#[test]
#[ignore = "runs fifteen programs of Java with libraries"]
fn causes_of_leaks_in_libraries_of_java_are_named() {
    let jars = project("target/live/pyspark/pyspark/jars");
    if !jars.is_dir() {
        return not_installed("pyspark");
    }
    let jars = jars.join("*").display().to_string();
    java("Libraries", &jars, |classes| {
        check(&JAVA_LIBRARIES, |folder, way| of_java("Libraries", classes, folder, way));
    });
}

#[test]
#[ignore = "runs eleven programs of Node"]
fn causes_of_leaks_in_node_programs_are_named() {
    check(&NODE, |folder, way| of_node("leaks.js", folder, way));
}

#[test]
#[ignore = "runs nine programs of Node with libraries"]
fn causes_of_leaks_in_libraries_of_node_are_named() {
    match project("target/live/node_modules/rxjs").is_dir() {
        true => check(&NODE_LIBRARIES, |folder, way| of_node("libraries.js", folder, way)),
        false => not_installed("playwright-core"),
    }
}

#[test]
#[ignore = "runs four programs"]
fn what_is_bounded_is_no_suspect() {
    let folder = TempDir::new().expect("a folder");
    let check = |files: Option<[PathBuf; 2]>| {
        if let Some(files) = files {
            assert_eq!(suspects(&files), Vec::<Value>::new());
        }
    };
    check(of_node("leaks.js", folder.path(), "bounded"));
    if project("target/live/node_modules/rxjs").is_dir() {
        check(of_node("libraries.js", folder.path(), "bounded"));
    }
    java("Leaks", "", |classes| check(of_java("Leaks", classes, folder.path(), "bounded")));
    let jars = project("target/live/pyspark/pyspark/jars");
    if jars.is_dir() {
        let jars = jars.join("*").display().to_string();
        java("Libraries", &jars, |classes| check(of_java("Libraries", classes, folder.path(), "bounded")));
    }
}

/// Two runs of one program, the second of which keeps four times as much.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "runs a program of .NET twice"]
fn the_cause_of_a_leak_in_a_program_of_dotnet_is_named() {
    let Some(runtime) = crate::collect_live::runtime("dotnet8") else { return };
    let folder = TempDir::new().expect("a folder");
    let files = [4000, 16_000].map(|objects| {
        let path = folder.path().join(format!("{objects}.nettrace"));
        runtime.start(objects, &[]).collect(&path, &[]).expect_code(0);
        path
    });
    let found = suspects(&files);
    let row = found.first().expect("a suspect");
    assert_eq!((found.len(), &row["element"]["type"]), (1, &"Demo.Box".into()), "{row:#}");
    // A local variable has the last.
    let is_near = |key: &str, count: u64| row["element"][key].as_u64().is_some_and(|found| found.abs_diff(count) <= 1);
    assert!(is_near("objects", 4000) && is_near("objects_old", 1000), "{row:#}");
    assert!(row["sentence"].as_str().expect("a sentence").contains("kept in static Keep (List"), "{row:#}");
}

const RUBY: [Case; 7] = [
    ("constant", "Item", "static Store", [2000, 8000]),
    ("class-variable", "Item", "static Store", [2000, 8000]),
    ("class-instance-variable", "Item", "static Store", [2000, 8000]),
    ("set", "Item", "static Object", [2000, 8000]),
    ("global", "Item", "Thread::Queue", [2000, 8000]),
    ("thread-local", "Item", "Thread", [2000, 8000]),
    ("listener", "Item", "Hub", [2000, 8000]),
];

const PYTHON: [Case; 8] = [
    ("dict", "__main__.Item", "__main__.CACHE", [2000, 8000]),
    ("list", "__main__.Item", "__main__.ENTRIES", [2000, 8000]),
    ("attribute", "__main__.Item", "Store.by_id", [2000, 8000]),
    ("class", "__main__.Item", "static Store.RECENT", [2000, 8000]),
    ("lru-cache", "__main__.Item", "__main__.load", [2000, 8000]),
    ("queue", "__main__.Item", "__main__.JOBS", [2000, 8000]),
    ("listener", "__main__.Item", "Hub.listeners", [2000, 8000]),
    ("thread-local", "__main__.Item", "__main__.LOCAL", [2000, 8000]),
];

fn of_ruby(folder: &Path, way: &str) -> Option<[PathBuf; 2]> {
    let program = project("tests/live/leaks/leaks.rb").display().to_string();
    let files = dumps(folder, "ruby", &[&program, way], "jsonl");
    files.or_else(|| {
        not_installed("ruby");
        None
    })
}

fn of_python(folder: &Path, way: &str) -> Option<[PathBuf; 2]> {
    // The module's folder is the first that Python looks into.
    let program = folder.join("leaks.py");
    std::fs::copy(project("tests/live/leaks/leaks.py"), &program).expect("writable");
    std::fs::copy(project("contrib/heapgraph-python/heapgraph.py"), folder.join("heapgraph.py")).expect("writable");
    let files = dumps(folder, "python3", &[&program.display().to_string(), way], "jsonl");
    files.or_else(|| {
        not_installed("python3");
        None
    })
}

#[test]
#[ignore = "runs seven programs of Ruby"]
fn causes_of_leaks_in_ruby_programs_are_named() {
    check(&RUBY, of_ruby);
}

#[test]
#[ignore = "runs eight programs of Python"]
fn causes_of_leaks_in_python_programs_are_named() {
    check(&PYTHON, of_python);
}

#[test]
#[ignore = "runs two programs"]
fn what_is_bounded_is_no_suspect_in_ruby_and_python() {
    let folder = TempDir::new().expect("a folder");
    for files in [of_ruby(folder.path(), "bounded"), of_python(folder.path(), "bounded")].into_iter().flatten() {
        assert_eq!(suspects(&files), Vec::<Value>::new());
    }
}

/// Of every Python that is there: whatever it is called, the writer finds a root for each object, and its figures are known.
#[test]
#[ignore = "runs a program in each Python that is installed"]
fn the_heap_of_a_python_program_is_written_whole() {
    let folder = TempDir::new().expect("a folder");
    let [program, writer] = ["tests/live/python_heap.py", "contrib/heapgraph-python"].map(project);
    let mut ran = 0;
    for version in ["3", "3.9", "3.10", "3.11", "3.12", "3.13"] {
        let file = folder.path().join(format!("{version}.jsonl"));
        let python = Command::new(format!("python{version}")).arg(&program).arg(&writer).arg(&file).output();
        // A version manager has names for versions that are not chosen.
        if !python.is_ok_and(|output| output.status.success()) {
            continue;
        }
        ran += 1;
        let path = file.display().to_string();
        let ask = |words: &[&str]| {
            let words: Vec<&str> = words.iter().copied().chain(["-q", "-f", "json", "--strict", &path]).collect();
            run(&words).expect_code(0).json()
        };
        let totals = &ask(&["stats"])["totals"];
        assert_eq!(totals["objects"], totals["reachable_objects"], "{version}: everything has a root");
        assert_eq!(totals["dangling_references"], 0, "{version}");
        let row = |name: &str| ask(&["stats", "--retained", "--type", &format!("={name}")])["types"][0].clone();
        assert_eq!(row("__main__.Order")["objects"], 150, "{version}");
        assert_eq!(row("__main__.Slotted")["objects"], 10, "{version}");
        // 10 of 10,000 bytes, 200,000 of a thread, 300,000 of a function, two of 3,000.
        let buffers = row("bytearray");
        assert_eq!(buffers["objects"], 14, "{version}");
        assert!(
            (606_000..608_000).contains(&buffers["shallow_bytes"].as_u64().expect("bytes")),
            "{version}: {buffers}"
        );
        let big = ask(&["list", "--type", "=bytes", "--sort", "shallow", "-n", "1"]);
        assert_eq!(big["objects"][0]["shallow_bytes"], 1_000_033, "{version}");
        let of_thread = ask(&["threads"]);
        let threads = of_thread["threads"].as_array().expect("threads");
        let worker = threads.iter().find(|thread| thread["name"] == "known-worker").expect("the thread");
        assert!(worker["retained_bytes"].as_u64().expect("bytes") > 200_000, "{version}: {worker}");
        let orders = ask(&["show", ids_of(&path, "=__main__.Order").as_str()]);
        let names: Vec<&str> = orders["references"]
            .as_array()
            .expect("references")
            .iter()
            .filter_map(|row| row["reference"].as_str())
            .collect();
        let is_in_object = names.contains(&".number") && names.contains(&".lines");
        assert!(is_in_object || names.contains(&".__dict__"), "{version}: {names:?}");
        let lines = std::fs::read_to_string(&file).expect("lines");
        // Roots come first: a file that is cut has them. A function that runs is held by its stack, not by native code.
        let first_object = lines.lines().position(|line| line.starts_with("{\"id\"")).expect("objects");
        assert!(lines.lines().skip(first_object).all(|line| !line.starts_with("{\"root\"")), "{version}");
        assert!(lines.contains("\"kind\": \"native-stack\", \"thread\": 1, \"frame\": 0}"), "{version}");
        // A program that ends by itself leaves its variables, and its exit code.
        let (script, left) = (folder.path().join("left.py"), folder.path().join("left.jsonl"));
        std::fs::write(&script, "import sys\nKEPT = bytearray(3_000_000)\nsys.exit(3)\n").expect("writable");
        let words = ["-m", "heapgraph", "-o", &left.display().to_string(), &script.display().to_string()];
        let ran = Command::new(format!("python{version}")).args(words).env("PYTHONPATH", &writer).output();
        assert_eq!(ran.expect("python").status.code(), Some(3), "{version}");
        let kept = run(&[
            "roots",
            &ids_of(&left.display().to_string(), "=bytearray"),
            "-q",
            "-f",
            "json",
            &left.display().to_string(),
        ]);
        assert_eq!(kept.expect_code(0).json()["paths"][0]["root"]["name"], "__main__", "{version}");
    }
    if ran == 0 {
        not_installed("python3");
    }
}

fn ids_of(file: &str, pattern: &str) -> String {
    let list = run(&["list", "--type", pattern, "-n", "1", "-q", "-f", "json", file]).expect_code(0).json();
    list["objects"][0]["id"].as_str().expect("an id").to_string()
}

/// Ruby's own dump of a program that traces its allocations: by file, by collection, by place.
#[test]
#[ignore = "runs a program of Ruby"]
fn places_of_allocation_are_told_in_ruby() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("traced.jsonl").display().to_string();
    let script = "require 'objspace'; ObjectSpace.trace_object_allocations_start; \
                  KEPT = Array.new(500) { |n| ('kept %d ' % n) * 10 }; GC.start; \
                  LATER = Array.new(300) { |n| ('later %d ' % n) * 10 }; \
                  File.open(ARGV[0], 'w') { |f| ObjectSpace.dump_all(output: f) }";
    std::fs::write(folder.path().join("traced.rb"), script).expect("writable");
    let ruby = Command::new("ruby").arg("traced.rb").arg(&file).current_dir(folder.path()).status();
    if !ruby.is_ok_and(|status| status.success()) {
        return not_installed("ruby");
    }
    let ask = |words: &[&str]| {
        let words: Vec<&str> = words.iter().copied().chain(["-q", "-f", "json", "-n", "0", &file]).collect();
        run(&words).expect_code(0).json()
    };
    let files = ask(&["stats", "--by", "file"]);
    let row = |rows: &Value, key: &str, name: &str| {
        let found = rows.as_array().expect("rows").iter().find(|row| row[key] == name);
        found.unwrap_or_else(|| panic!("no {name} in {rows}")).clone()
    };
    let own = row(&files["groups"], "group", "traced.rb");
    assert!(own["objects"].as_u64().expect("objects") >= 802, "{own}");
    let rows = ask(&["stats", "--by", "generation"])["groups"].as_array().expect("generations").len();
    assert!(rows >= 3, "before, between and behind");
    let tree = ask(&["breakdown", "--by", "backtrace"]);
    assert!(tree.to_string().contains("(traced.rb:1)"), "{tree}");
}
