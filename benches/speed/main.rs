//! `cargo bench --bench speed [-- text|programs|profiles|index|explore|where|graphs|shapes|large ...]`: figures of this machine as Markdown tables.
//!
//! Dumps and graphs are generated; nothing else is needed. Every step runs in a process of its own, so that the peak
//! memory is its own, and the median of its runs is printed. Without words: all but `large` (50 and 100 million objects).

#[cfg(all(target_os = "linux", feature = "explore"))]
mod browser;
mod dumps;
mod measure;
mod profiles;
#[cfg(all(target_os = "linux", feature = "explore"))]
#[path = "../../tests/it/common/pty.rs"]
mod pty;
mod stock_nom;
mod synthetic;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use heapdump::analysis::dominators::Dominators;
use heapdump::analysis::retained::RetainedSizes;
use heapdump::filter::Filter;
use heapdump::graph::NodeId;
use heapdump::input::{self, ReadOptions, Source};

use measure::{Figure, in_own_process, report};
use synthetic::{SHAPES, Synthetic};

const MILLION: usize = 1_000_000;
/// Objects of the graph on which petgraph is compared.
const COMPARED: usize = 11_400_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["--step", step @ ..] = &words[..] {
        return run_step(step);
    }
    let wanted = |name: &str| if words.is_empty() { name != "large" } else { words.contains(&name) };
    println!("{} threads", std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
    if wanted("text") {
        text_tables();
    }
    if wanted("programs") {
        program_tables();
    }
    if wanted("profiles") {
        profile_table();
    }
    if wanted("index") {
        index_table();
    }
    #[cfg(all(target_os = "linux", feature = "explore"))]
    if wanted("explore") {
        browser::table();
    }
    if wanted("where") {
        where_table();
    }
    if wanted("graphs") {
        graph_table();
    }
    if wanted("shapes") {
        shape_table();
    }
    if wanted("large") {
        large_table();
    }
}

/// The work of one step, told by words; prints its figures to standard error.
fn run_step(words: &[&str]) {
    let number = |word: &str| word.parse::<usize>().expect("a number");
    match words {
        ["read", path] => {
            let started = Instant::now();
            let mut file = File::open(path).expect("opens");
            let mut buffer = vec![0; 1 << 20];
            while file.read(&mut buffer).expect("reads") > 0 {}
            report(started, 0);
        }
        ["stock-nom", path] => {
            let text = std::fs::read(path).expect("reads");
            let started = Instant::now();
            std::hint::black_box(stock_nom::checksum(&text));
            report(started, 0);
        }
        [step @ ("count" | "load"), threads, path] => {
            let options = ReadOptions { threads: number(threads), ..ReadOptions::default() };
            rayon::ThreadPoolBuilder::new().num_threads(options.threads).build_global().expect("threads");
            let started = Instant::now();
            let source = Source::open(Path::new(path)).expect("opens");
            if *step == "count" {
                std::hint::black_box(input::count_types(source, &options).expect("counts"));
                report(started, 0);
            } else {
                let loaded = input::read(source, &options).expect("loads");
                report(started, 0);
                std::mem::forget(loaded);
            }
        }
        ["program", args @ ..] => {
            let started = Instant::now();
            let session = heapdump::cli::Session::default();
            heapdump::cli::run(std::iter::once("heapdump").chain(args.iter().copied()), &session);
            report(started, 0);
            std::mem::forget(session);
        }
        ["where", path, expression] => {
            let dump = heapdump::open(path).expect("opens");
            let filter = Filter::parse(&[expression]).expect("understood").expect("an expression");
            let nodes = 0..dump.graph().expect("objects").node_count();
            // What it names is there from then on.
            std::hint::black_box(filter.select(&dump, nodes.clone()).expect("chosen"));
            let started = Instant::now();
            for _ in 0..PASSES {
                std::hint::black_box(filter.select(&dump, nodes.clone()).expect("chosen"));
            }
            report(started, 0);
        }
        [step @ ("dominators" | "petgraph"), shape, objects] => {
            let heap = match *shape {
                "mixture" => Synthetic::mixture(number(objects), 1),
                "random" => Synthetic::random(number(objects), 1),
                shape => Synthetic::shape(shape, number(objects)),
            };
            let graph = heap.graph();
            drop(heap);
            let base = measure::begin_peak();
            let started = Instant::now();
            if *step == "dominators" {
                let dominators = Dominators::compute(&graph);
                std::hint::black_box(RetainedSizes::compute(&graph, &dominators));
            } else {
                std::hint::black_box(petgraph::algo::dominators::simple_fast(&graph, NodeId::new(0)));
            }
            report(started, base);
        }
        _ => panic!("no step {words:?}"),
    }
}

fn heading(title: &str, columns: &str) {
    let count = columns.matches('|').count() - 1;
    println!("\n### {title}\n\n{columns}\n|{}", " --- |".repeat(count));
}

fn text_tables() {
    for format in ["xna-cf", "ibm-classic"] {
        let path = dumps::dump(format, 10 * MILLION).expect("written");
        let gigabytes = std::fs::metadata(&path).expect("is there").len() as f64 / 1e9;
        let path = path.display().to_string();
        heading(
            &format!("{format} text, 10 M objects, {gigabytes:.2} GB"),
            "| step | s | GB/s | of reading | peak MiB |",
        );
        let reading = in_own_process(&["read", &path], 5);
        let line = |name: &str, figure: Figure| {
            println!(
                "| {name} | {:.3} | {:.2} | {:.2} | {:.0} |",
                figure.seconds,
                gigabytes / figure.seconds,
                reading.seconds / figure.seconds,
                figure.peak_bytes as f64 / 1048576.0
            );
        };
        line("read in blocks of 1 MiB, nothing else", reading);
        if format == "xna-cf" {
            line(
                "nom with its stock leaves into a checksum (file in memory)",
                in_own_process(&["stock-nom", &path], 3),
            );
        }
        for threads in ["1", "2"] {
            line(&format!("count types, {threads} threads"), in_own_process(&["count", threads, &path], 5));
        }
        for threads in ["1", "2"] {
            line(&format!("load the graph, {threads} threads"), in_own_process(&["load", threads, &path], 5));
        }
    }
}

fn program_tables() {
    for format in ["xna-cf", "ibm-classic"] {
        let small = dumps::dump(format, MILLION).expect("written");
        let large = dumps::dump(format, 10 * MILLION).expect("written");
        heading(
            &format!("Whole program, {format}"),
            "| command | 1 M objects, s | 10 M objects, s | ratio | bytes/object |",
        );
        for command in [
            &["stats", "-n", "30"][..],
            &["stats", "--shallow", "-n", "30"],
            &["dominators", "-n", "30"],
            &["stats", "--retained", "-n", "30"],
        ] {
            let at_small = measure::heapdump(command, &small, 5);
            let at_large = measure::heapdump(command, &large, 5);
            println!(
                "| `{}` | {:.3} | {:.3} | {:.1} | {:.1} |",
                command.join(" "),
                at_small.seconds,
                at_large.seconds,
                at_large.seconds / at_small.seconds,
                at_large.peak_bytes as f64 / (10 * MILLION) as f64
            );
        }
    }
}

fn profile_table() {
    heading("pprof profiles, 1 M stacks of 50 frames", "| frames that stacks share | command | s | peak MiB |");
    for sharing in profiles::SHARINGS {
        let path = profiles::profile(sharing, MILLION).expect("written");
        for command in [&["stats"][..], &["stats", "--by", "function"]] {
            let figure = measure::heapdump(command, &path, 5);
            let (seconds, peak) = (figure.seconds, figure.peak_bytes as f64 / (1u64 << 20) as f64);
            println!("| {sharing} | `{}` | {seconds:.2} | {peak:.0} |", command.join(" "));
        }
    }
}

/// What the second question takes through an index.
fn index_table() {
    heading("Asked again, 10 M objects", "| dump | command | from the dump, s | through the index, s | peak MiB |");
    for format in ["xna-cf", "ibm-classic"] {
        let path = dumps::dump(format, 10 * MILLION).expect("written");
        let index = std::path::PathBuf::from(format!("{}.hdx", path.display()));
        let line = |command: &str, without: Option<f64>, with: Figure| {
            let without = without.map_or("-".into(), |seconds| format!("{seconds:.3}"));
            let peak = with.peak_bytes as f64 / (1u64 << 20) as f64;
            println!("| {format} | `{command}` | {without} | {:.3} | {peak:.0} |", with.seconds);
        };
        line("index", None, measure::heapdump(&["index", "-q"], &path, 3));
        let object = middle_object(&path);
        for command in
            [&["stats"][..], &["dominators", "-n", "30"], &["show", &object], &["roots", &object], &["leaks"]]
        {
            let without = measure::heapdump(&[command, &["--no-index"]].concat(), &path, 3).seconds;
            line(&command.join(" "), Some(without), measure::heapdump(command, &path, 5));
        }
        let bytes = std::fs::metadata(&index).expect("written").len();
        println!("\n{format}: the index has {:.1} bytes per object.\n", bytes as f64 / (10 * MILLION) as f64);
        // Other tables time what is done without it.
        std::fs::remove_file(&index).expect("removed");
    }
}

/// Passes of an expression over all objects in one step.
const PASSES: usize = 10;

/// Expressions over columns that are there.
fn where_table() {
    heading("`--where`, 10 M objects, columns there", "| expression | s | million objects/s |");
    let path = dumps::dump("xna-cf", 10 * MILLION).expect("written").display().to_string();
    for expression in [
        "shallow > 100",
        "retained > 1MiB and type ~ 'List'",
        "type ~ 'List' or (shallow >= 64 and references = 0 and retained is not null)",
        "references = 0 and retained > 10KiB",
        "not reachable",
    ] {
        let seconds = in_own_process(&["where", &path, expression], 3).seconds / PASSES as f64;
        println!("| `{expression}` | {seconds:.4} | {:.0} |", 10.0 / seconds);
    }
}

/// The id of the object in the middle of a dump.
fn middle_object(path: &Path) -> String {
    let source = Source::open(path).expect("opens");
    let input::Dump::Graph(graph) = input::read(source, &ReadOptions::default()).expect("a dump").dump else {
        panic!("not a graph")
    };
    graph.display_id(NodeId::new(graph.node_count() / 2))
}

/// Dominators of a graph in memory: seconds, and bytes per object above the graph itself.
fn dominators_of(step: &str, shape: &str, objects: usize, runs: usize) -> (f64, f64) {
    let figure = in_own_process(&[step, shape, &objects.to_string()], runs);
    (figure.seconds, figure.peak_bytes as f64 / objects as f64)
}

fn graph_table() {
    heading(
        "Dominators and retained sizes, graph in memory",
        "| graph | objects | algorithm | s | ns/object | extra bytes/object |",
    );
    let line = |graph: &str, objects: usize, algorithm: &str, (seconds, extra): (f64, f64)| {
        println!(
            "| {graph} | {:.1} M | {algorithm} | {seconds:.2} | {:.0} | {extra:.0} |",
            objects as f64 / 1e6,
            seconds * 1e9 / objects as f64
        );
    };
    let ours = dominators_of("dominators", "mixture", COMPARED, 3);
    line("mixture", COMPARED, "ours", ours);
    let theirs = dominators_of("petgraph", "mixture", COMPARED, 1);
    line("mixture", COMPARED, "petgraph `simple_fast` (no retained sizes)", theirs);
    line("random", 10 * MILLION, "ours", dominators_of("dominators", "random", 10 * MILLION, 3));
    println!("\n{:.0} times as fast as petgraph.", theirs.0 / ours.0);
}

fn shape_table() {
    let objects = 5 * MILLION;
    heading("Shapes that are bad for some algorithm, 5 M objects", "| shape | s | ns/object | of the mixture |");
    let mixture = dominators_of("dominators", "mixture", objects, 3).0;
    println!("| mixture | {mixture:.2} | {:.0} | 1.00 |", mixture * 1e9 / objects as f64);
    for shape in SHAPES {
        let seconds = dominators_of("dominators", shape, objects, 3).0;
        println!("| {shape} | {seconds:.2} | {:.0} | {:.2} |", seconds * 1e9 / objects as f64, seconds / mixture);
    }
}

fn large_table() {
    heading("Very large dumps, xna-cf", "| command | objects | s | peak GiB | bytes/object |");
    for objects in [50 * MILLION, 100 * MILLION] {
        let path = dumps::dump("xna-cf", objects).expect("written");
        for command in [&["stats", "-n", "30"][..], &["dominators", "-n", "30"]] {
            let figure = measure::heapdump(command, &path, 1);
            println!(
                "| `{}` | {} M | {:.2} | {:.2} | {:.1} |",
                command.join(" "),
                objects / MILLION,
                figure.seconds,
                figure.peak_bytes as f64 / (1u64 << 30) as f64,
                figure.peak_bytes as f64 / objects as f64
            );
        }
    }
}
