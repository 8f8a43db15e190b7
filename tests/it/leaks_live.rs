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

const JAVA: [Case; 13] = [
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
    (
        "cancelled",
        "java.util.concurrent.ScheduledThreadPoolExecutor$ScheduledFutureTask",
        "Leaks$Jobs.TIMEOUTS",
        [4000, 16_000],
    ),
    ("thread-local", "Leaks$Item", "Leaks$Requests.CURRENT", [4000, 16_000]),
    ("threads", "Leaks$Worker", "threads Thread-N", [80, 320]),
];

const NODE: [Case; 10] = [
    ("map", "Item", "Store.byId", [2000, 8000]),
    ("dictionary", "Item", "cache", [2000, 8000]),
    ("plain", "{method, url}", "rows", [2000, 8000]),
    ("interval", "Client", "TimersList", [2000, 8000]),
    ("listener", "Client", "EventEmitter._events.tick", [2000, 8000]),
    ("abort", "Client", "kEvents", [2000, 8000]),
    ("promise", "Client", "pending", [2000, 8000]),
    ("closure", "Client", "hooks", [2000, 8000]),
    ("storage", "Client", "TimersList", [2000, 8000]),
    ("global", "Item", "sessions", [2000, 8000]),
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
    for (way, element, holder, counts) in cases {
        let folder = TempDir::new().expect("a folder");
        let Some([old, new]) = dumps(folder.path(), way) else { return };
        let found = suspects(&[old.clone(), new.clone()]);
        let Some(first) = found.first() else {
            wrong.push(format!("{way}: no suspects"));
            continue;
        };
        let sentence = first["sentence"].as_str().expect("a sentence");
        // A list from both ends, a worker's task: one object more or less.
        let is_near = |figure: &Value, count: u64| figure.as_u64().is_some_and(|figure| figure.abs_diff(count) <= 2);
        let is_right = first["element"]["type"] == *element
            && sentence.contains(holder)
            && is_near(&first["element"]["objects_old"], counts[0])
            && is_near(&first["element"]["objects"], counts[1])
            && first["growth"]["retained_bytes_delta"].as_u64() <= first["retained_bytes"].as_u64();
        if !is_right || found.len() > 1 {
            wrong.push(format!("{way}: {} suspects, {}: {sentence}", found.len(), first["element"]));
        }
        assert!(suspects(&[new.clone(), new]).is_empty(), "{way}: a dump beside itself");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
#[ignore = "runs ten programs of Node"]
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
