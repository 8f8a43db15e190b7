//! `--where`: expressions against their definition, row by row and with three truth values, and what the commands do with
//! the objects.

use std::collections::BTreeSet;
use std::io::Write;

use heapdump::OpenDump;
use heapdump::analysis::dominators::{Dominator, Dominators};
use heapdump::filter::Filter;
use heapdump::graph::{HeapGraph, NodeId};
use proptest::prelude::*;
use serde_json::Value;

use crate::common::cmd::run;
use crate::common::heap::Heap;
use crate::common::synth::xna_cf;
use crate::oracle::heaps;

const GAME: &str = "fixtures/xna_cf/small_1k.txt";
const ZOO: &str = "fixtures/hprof/zoo-jdk17-serial.hprof.zst";

/// A value of a column; the definition knows no masks.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Null,
    Number(i64),
    Text(String),
    YesNo(bool),
}

/// An expression by definition.
#[derive(Debug, Clone)]
enum Expr {
    Compare(&'static str, &'static str, i64),
    Text(&'static str, &'static str, String),
    Contains(&'static str, bool, String),
    In(&'static str, bool, Vec<i64>),
    Between(&'static str, bool, i64, i64),
    IsNull(&'static str, bool),
    /// A column of bytes against a share, in percent, of what is reachable.
    Share(&'static str, &'static str, i64),
    InTexts(bool, Vec<String>),
    YesNo(&'static str),
    Not(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
}

const NUMBERS: [&str; 6] = ["shallow", "references", "retained", "dominated", "depth", "referrers"];
const TEXTS: [&str; 5] = ["type", "package", "root_kind", "dominator_type", "domain"];
const YES_NO: [&str; 2] = ["reachable", "root"];
const OPS: [&str; 6] = ["=", "!=", "<", "<=", ">", ">="];
const WORDS: [&str; 8] = ["demo.Node", "demo", "Plain", "Leaf", "static", "demo.deep", "local", ""];

impl std::fmt::Display for Expr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let not = |is_not: &bool| if *is_not { " not" } else { "" };
        match self {
            Expr::Compare(column, op, number) => write!(f, "{column} {op} {number}"),
            Expr::Text(column, op, text) => write!(f, "{column} {op} '{text}'"),
            Expr::Contains(column, is_not, text) => {
                write!(f, "{column} {}~ \"{text}\"", if *is_not { "!" } else { "" })
            }
            Expr::In(column, is_not, numbers) => {
                let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
                write!(f, "{column}{} in ({})", not(is_not), numbers.join(", "))
            }
            Expr::Between(column, is_not, a, b) => write!(f, "{column}{} BETWEEN {a} AND {b}", not(is_not)),
            Expr::IsNull(column, is_not) => write!(f, "{column} is{} null", not(is_not)),
            Expr::Share(column, op, percent) => write!(f, "{column} {op} {percent}%"),
            Expr::InTexts(is_not, texts) => {
                let texts: Vec<String> = texts.iter().map(|text| format!("'{text}'")).collect();
                write!(f, "type{} in ({})", not(is_not), texts.join(", "))
            }
            Expr::YesNo(column) => write!(f, "{column}"),
            // Without parentheses where these are not needed: `not` binds closest, then `and`.
            Expr::Not(inner) => match **inner {
                Expr::And(..) | Expr::Or(..) => write!(f, "!({inner})"),
                _ => write!(f, "not {inner}"),
            },
            Expr::And(a, b) => {
                let part =
                    |part: &Expr| if matches!(part, Expr::Or(..)) { format!("({part})") } else { part.to_string() };
                write!(f, "{} {} {}", part(a), if a.is_leaf() { "&&" } else { "and" }, part(b))
            }
            Expr::Or(a, b) => write!(f, "{a} {} {b}", if a.is_leaf() { "||" } else { "OR" }),
        }
    }
}

impl Expr {
    fn is_leaf(&self) -> bool {
        !matches!(self, Expr::Not(_) | Expr::And(..) | Expr::Or(..))
    }

    /// True, false, or not known.
    fn truth(&self, cell: &dyn Fn(&str) -> Cell) -> Option<bool> {
        let number = |column: &str| match cell(column) {
            Cell::Number(number) => Some(number),
            _ => None,
        };
        let text = |column: &str| match cell(column) {
            Cell::Text(text) => Some(text),
            _ => None,
        };
        fn compare<T: Ord>(op: &str, a: &T, b: &T) -> bool {
            match op {
                "=" => a == b,
                "!=" => a != b,
                "<" => a < b,
                "<=" => a <= b,
                ">" => a > b,
                _ => a >= b,
            }
        }
        match self {
            Expr::Compare(column, op, other) => number(column).map(|number| compare(op, &number, other)),
            Expr::Text(column, op, other) => text(column).map(|text| compare(op, &text, other)),
            Expr::Contains(column, is_not, part) => text(column).map(|text| text.contains(part) != *is_not),
            Expr::In(column, is_not, numbers) => number(column).map(|number| numbers.contains(&number) != *is_not),
            Expr::Between(column, is_not, a, b) => {
                number(column).map(|number| (*a <= number && number <= *b) != *is_not)
            }
            Expr::Share(column, op, percent) => {
                let Cell::Number(whole) = cell("reachable bytes") else { panic!("no whole") };
                number(column).map(|number| compare(op, &(number * 100), &(percent * whole)))
            }
            Expr::InTexts(is_not, texts) => text("type").map(|text| texts.contains(&text) != *is_not),
            Expr::IsNull(column, is_not) => Some((cell(column) == Cell::Null) != *is_not),
            Expr::YesNo(column) => match cell(column) {
                Cell::YesNo(value) => Some(value),
                other => panic!("{column} {other:?}"),
            },
            Expr::Not(inner) => inner.truth(cell).map(|truth| !truth),
            Expr::And(a, b) => match (a.truth(cell), b.truth(cell)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Expr::Or(a, b) => match (a.truth(cell), b.truth(cell)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
        }
    }
}

fn expressions(most: i64) -> impl Strategy<Value = Expr> {
    let word = || proptest::sample::select(&WORDS[..]).prop_map(str::to_string);
    let number = move || prop_oneof![0..6i64, 0..=most];
    let column = || proptest::sample::select(&NUMBERS[..]);
    let texts = || proptest::sample::select(&TEXTS[..]);
    let any_column = proptest::sample::select([&NUMBERS[..], &TEXTS[..], &YES_NO[..]].concat());
    let leaf = prop_oneof![
        4 => (column(), proptest::sample::select(&OPS[..]), number()).prop_map(|(c, op, n)| Expr::Compare(c, op, n)),
        3 => (texts(), proptest::sample::select(&OPS[..]), word()).prop_map(|(c, op, t)| Expr::Text(c, op, t)),
        2 => (texts(), any::<bool>(), word()).prop_map(|(c, not, t)| Expr::Contains(c, not, t)),
        1 => (column(), any::<bool>(), proptest::collection::vec(number(), 1..4))
            .prop_map(|(c, not, n)| Expr::In(c, not, n)),
        1 => (column(), any::<bool>(), number(), number()).prop_map(|(c, not, a, b)| Expr::Between(c, not, a, b)),
        2 => (any_column, any::<bool>()).prop_map(|(c, not)| Expr::IsNull(c, not)),
        2 => proptest::sample::select(&YES_NO[..]).prop_map(Expr::YesNo),
        2 => (proptest::sample::select(&["shallow", "retained"][..]), proptest::sample::select(&OPS[..]), 0..60i64)
            .prop_map(|(c, op, n)| Expr::Share(c, op, n)),
        1 => (any::<bool>(), proptest::collection::vec(word(), 1..4)).prop_map(|(not, texts)| Expr::InTexts(not, texts)),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|a| Expr::Not(Box::new(a))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Expr::And(Box::new(a), Box::new(b))),
            (inner.clone(), inner).prop_map(|(a, b)| Expr::Or(Box::new(a), Box::new(b))),
        ]
    })
}

fn open(heap: &Heap) -> OpenDump {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(xna_cf(heap).as_bytes()).unwrap();
    heapdump::dump::open(file.path()).unwrap()
}

/// A column of an object: from the description of the heap where that says it, from a walk up dominators where not.
fn cell(heap: &Heap, graph: &HeapGraph, dominators: &Dominators, object: usize, column: &str) -> Cell {
    let number = |number: usize| Cell::Number(number as i64);
    let maybe = |count: Option<usize>| count.map_or(Cell::Null, number);
    let node = NodeId::new(object);
    let dominator = |node: NodeId| match dominators.dominator_of(node) {
        Dominator::Node(above) => Some(above),
        _ => None,
    };
    let starts = heap.strong_starts();
    let reached = heap.reach(&starts, None);
    let text = |text: Option<&str>| text.map_or(Cell::Null, |text| Cell::Text(text.to_string()));
    match column {
        "reachable bytes" => {
            let bytes = (0..heap.objects.len()).filter(|&at| reached[at]).map(|at| heap.objects[at].bytes as usize);
            number(bytes.sum())
        }
        "domain" => text(Some(&graph.sections()[graph.section_of(node).index()].name)),
        "shallow" => number(heap.objects[object].bytes as usize),
        "references" => number(heap.targets(object).count()),
        "referrers" => {
            number((0..heap.objects.len()).flat_map(|other| heap.targets(other)).filter(|&to| to == object).count())
        }
        "retained" => maybe(heap.retained_bytes(object).map(|bytes| bytes as usize)),
        "dominated" => {
            let without = heap.reach(&starts, Some(object));
            let freed = (0..heap.objects.len()).filter(|&other| reached[other] && !without[other]).count();
            maybe(reached[object].then_some(freed))
        }
        "depth" => maybe(reached[object].then(|| std::iter::successors(Some(node), |&node| dominator(node)).count())),
        "dominator_type" => text(dominator(node).map(|above| heap.objects[above.index()].type_name)),
        "type" => text(Some(heap.objects[object].type_name)),
        "package" => text(heap.objects[object].type_name.rsplit_once('.').map(|(package, _)| package)),
        "reachable" => Cell::YesNo(reached[object]),
        "root" => Cell::YesNo(starts.contains(&object)),
        "root_kind" => {
            let kinds = graph.roots().iter().filter(|root| root.is_strong() && root.node == node);
            text(kinds.map(|root| root.kind).min().map(|kind| kind.name()).as_deref())
        }
        _ => panic!("{column}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn expressions_agree_with_their_definition(
        heap in heaps(14, 2),
        expressions in proptest::collection::vec(expressions(600), 1..6),
    ) {
        let dump = open(&heap);
        let graph = dump.graph().unwrap();
        let dominators = Dominators::compute(graph);
        for expression in expressions {
            let text = expression.to_string();
            let filter = Filter::parse(&[&text]).unwrap_or_else(|error| panic!("{error}")).unwrap();
            let found = filter.select(&dump, 0..graph.node_count()).unwrap();
            for object in 0..heap.objects.len() {
                let expected = expression.truth(&|column| cell(&heap, graph, &dominators, object, column));
                prop_assert_eq!(found.contains(NodeId::new(object)), expected == Some(true), "{} of {}", text, object);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Who is directly below whom, by the id of the one above.
    #[test]
    fn dominators_are_found_by_their_ids(heap in heaps(14, 2)) {
        let dump = open(&heap);
        let graph = dump.graph().unwrap();
        let dominators = Dominators::compute(graph);
        let above = |object: usize| match dominators.dominator_of(NodeId::new(object)) {
            Dominator::Node(above) => Some(above.index()),
            _ => None,
        };
        let objects = 0..heap.objects.len();
        let found = |text: &str| {
            let filter = Filter::parse(&[text]).unwrap().unwrap();
            let found = filter.select(&dump, objects.clone()).unwrap();
            objects.clone().filter(|&object| found.contains(NodeId::new(object))).collect::<Vec<usize>>()
        };
        let with = |test: &dyn Fn(Option<usize>) -> bool| objects.clone().filter(|&at| test(above(at))).collect::<Vec<_>>();
        prop_assert_eq!(found("dominator is null"), with(&|above| above.is_none()));
        for object in objects.clone() {
            let id = graph.display_id(NodeId::new(object));
            prop_assert_eq!(found(&format!("dominator = '{id}'")), with(&|above| above == Some(object)));
            let others = with(&|above| above.is_some_and(|above| above != object));
            prop_assert_eq!(found(&format!("not (dominator = '{id}')")), others);
            prop_assert_eq!(found(&format!("dominator <= '{id}'")), with(&|above| above.is_some_and(|above| above <= object)));
        }
    }
}

/// Rows of `list -f json`.
fn listed(args: &[&str]) -> Vec<Value> {
    let ran = run(&[&["list", "-n", "0", "-f", "json", "-q"], args].concat());
    ran.json()["objects"].as_array().unwrap().clone()
}

fn ids(rows: &[Value]) -> BTreeSet<String> {
    rows.iter().map(|row| row["id"].as_str().unwrap().to_string()).collect()
}

/// Chunks of objects, and the range of a section within them.
#[test]
fn objects_of_all_chunks_are_looked_at() {
    let mut heap = Heap::default();
    for number in 0..70_000 {
        heap.object(["demo.Node", "demo.Leaf"][usize::from(number % 7 == 3)], number % 1000);
    }
    (1..heap.objects.len()).filter(|number| number % 3 > 0).for_each(|number| heap.refer(number / 2, number));
    heap.root(0);
    let dump = open(&heap);
    let graph = dump.graph().unwrap();
    let dominators = Dominators::compute(graph);
    let filter = Filter::parse(&["type ~ 'Leaf' and shallow > 500 and (depth > 5 or depth is null)"]).unwrap().unwrap();
    let depth = |node| {
        std::iter::successors(Some(node), |&node| match dominators.dominator_of(node) {
            Dominator::Node(above) => Some(above),
            _ => None,
        })
    };
    let is_wanted = |&number: &usize| {
        let (object, node) = (&heap.objects[number], NodeId::new(number));
        let is_reached = dominators.dominator_of(node) != Dominator::Unreachable;
        object.type_name == "demo.Leaf" && object.bytes > 500 && (!is_reached || depth(node).count() > 5)
    };
    for range in [0..heap.objects.len(), 4095..4097, 65_000..65_999, 69_999..70_000, 5..5] {
        let found = filter.select(&dump, range.clone()).unwrap();
        let expected: Vec<usize> = range.clone().filter(is_wanted).collect();
        let there: Vec<usize> = (0..heap.objects.len()).filter(|&at| found.contains(NodeId::new(at))).collect();
        assert_eq!(there, expected, "{range:?}");
        assert!(range.len() < 100 || expected.len() > 10);
    }
}

#[test]
fn rows_of_list_are_those_that_a_script_would_keep() {
    let all = listed(&[GAME]);
    let number = |row: &Value, key: &str| row[key].as_u64();
    let name = |row: &Value| row["type"].as_str().unwrap().to_string();
    type Keeps<'k> = &'k dyn Fn(&Value) -> bool;
    let cases: [(&str, Keeps<'_>); 8] = [
        ("retained > 1KiB and type ~ 'Level'", &|row| {
            number(row, "retained_bytes") > Some(1024) && name(row).contains("Level")
        }),
        ("not (retained > 100)", &|row| number(row, "retained_bytes").is_some_and(|bytes| bytes <= 100)),
        ("retained is null or references >= 20", &|row| {
            number(row, "retained_bytes").is_none() || number(row, "references") >= Some(20)
        }),
        ("type ~ /Byte\\[\\]$/ and shallow between 100 and 1.5KiB", &|row| {
            name(row).ends_with("Byte[]") && (100..=1536).contains(&number(row, "shallow_bytes").unwrap())
        }),
        ("type in ('System.String', 'System.Byte[]') and shallow != 64", &|row| {
            ["System.String", "System.Byte[]"].contains(&&*name(row)) && number(row, "shallow_bytes") != Some(64)
        }),
        ("package = 'BubbleGame' or id = '1#7C44F'", &|row| {
            name(row).strip_prefix("BubbleGame.").is_some_and(|rest| !rest.contains('.')) || row["id"] == "1#7c44f"
        }),
        ("shallow >= 1%", &|row| number(row, "shallow_bytes").unwrap() * 100 >= 130_516),
        ("domain = 'BubbleGame.exe' and not reachable", &|row| {
            row["id"].as_str().unwrap().starts_with("1#") && row["retained_bytes"].is_null()
        }),
    ];
    for (expression, keeps) in cases {
        let expected: Vec<&Value> = all.iter().filter(|row| keeps(row)).collect();
        assert!(!expected.is_empty() && expected.len() < all.len(), "{expression}");
        let found = listed(&[GAME, "--where", expression]);
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{expression}");
        // Twice is and.
        let twice = listed(&[GAME, "--where", expression, "--where", "shallow > 40"]);
        assert_eq!(twice.len(), expected.iter().filter(|row| number(row, "shallow_bytes") > Some(40)).count());
    }
}

#[test]
fn parts_of_a_heap_make_the_whole() {
    for (file, by) in [
        (GAME, "type"),
        (ZOO, "package"),
        ("fixtures/gcdump/small-net9.gcdump.zst", "module"),
        ("fixtures/gcdump/sampled-net31.gcdump.zst", "type"),
    ] {
        let stats = |extra: &[&str]| {
            let ran = run(&[&["stats", file, "-q", "-f", "json", "--by", by], extra].concat());
            ran.json()
        };
        let whole = stats(&[]);
        let rows = |answer: &Value| {
            let rows = answer.get("types").or(answer.get("groups")).unwrap().as_array().unwrap().clone();
            rows.into_iter()
                .map(|row| {
                    let name = row.get("type").or(row.get("group")).unwrap().as_str().unwrap().to_string();
                    (
                        format!("{name} {}", row["loader"]),
                        row["objects"].as_u64().unwrap(),
                        row["shallow_bytes"].as_u64().unwrap(),
                    )
                })
                .collect::<Vec<_>>()
        };
        let mut sums = std::collections::BTreeMap::<String, (u64, u64)>::new();
        let mut matching = 0;
        for part in ["retained > 100", "not (retained > 100)", "retained is null"] {
            let answer = stats(&["--where", part]);
            assert_eq!(answer["totals"], whole["totals"], "{file} {part}");
            assert_eq!(answer["where"], part);
            matching += answer["matching_objects"].as_u64().unwrap();
            for (name, objects, bytes) in rows(&answer) {
                let sum = sums.entry(name).or_default();
                *sum = (sum.0 + objects, sum.1 + bytes);
            }
        }
        let expected: Vec<(String, u64, u64)> = rows(&whole);
        assert_eq!(matching, expected.iter().map(|(_, objects, _)| objects).sum::<u64>());
        assert_eq!(sums.len(), expected.len());
        for (name, objects, bytes) in expected {
            assert_eq!(sums[&name], (objects, bytes), "{file} {name}");
        }
    }
}

#[test]
fn other_commands_take_the_same_objects() {
    let expression = "type ~ 'Level' and retained > 1KiB";
    let wanted = ids(&listed(&[GAME, "--where", expression]));
    assert!(wanted.len() > 3);
    let json = |args: &[&str]| run(&[args, &[GAME, "--where", expression, "-f", "json", "-q"]].concat()).json();
    // The topmost of them.
    let nodes = json(&["dominators", "-n", "0"])["nodes"].as_array().unwrap().clone();
    assert!(!nodes.is_empty() && ids(&nodes).is_subset(&wanted));
    let paths = json(&["roots"]);
    assert_eq!(paths["objects"].as_u64(), Some(wanted.len() as u64));
    assert_eq!((&paths["where"], paths.get("type")), (&Value::from(expression), None));
    let referrers = json(&["referrers"]);
    assert_eq!(
        (&referrers["of"]["where"], referrers["of"]["objects"].as_u64()),
        (&Value::from(expression), Some(wanted.len() as u64))
    );
    let tree = json(&["breakdown", "--min-percent", "0"]);
    assert_eq!(tree["heaps"][0]["allocations"].as_u64(), Some(wanted.len() as u64));
    let bytes: u64 =
        listed(&[GAME, "--where", expression]).iter().map(|row| row["shallow_bytes"].as_u64().unwrap()).sum();
    assert_eq!(tree["heaps"][0]["total_bytes"].as_u64(), Some(bytes));
    let folded =
        run(&["export", "--to", "folded", GAME, "--where", expression, "--min-bytes", "0"]).expect_code(0).stdout;
    let sum: u64 = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(sum, bytes);
    let (old, new) = ("fixtures/xna_cf/pair_before.txt", "fixtures/xna_cf/pair_after.txt");
    for paths in [&[][..], &["--paths"]] {
        let args = [&["diff", old, new, "--where", "shallow > 40", "-f", "json", "-q"], paths].concat();
        let diff = run(&args).expect_code(0).json();
        let count = |file| listed(&[file, "--where", "shallow > 40"]).len() as u64;
        assert_eq!(diff["old"]["objects"].as_u64(), Some(count(old)), "{diff}");
        assert_eq!(diff["new"]["objects"].as_u64(), Some(count(new)));
    }
}

#[test]
fn wrong_expressions_and_nothing_found() {
    let deep = "(".repeat(300);
    let long = "reachable and ".repeat(7200);
    for (expression, message) in [
        ("retined > 1MiB", "no column \"retined\"; did you mean retained?\n  retined > 1MiB\n  ^\n"),
        (
            "retained > 1MX",
            "no unit \"MX\"; there are B, KB, MB, GB, KiB, MiB, GiB\n  retained > 1MX\n              ^\n",
        ),
        ("retained >", "something to compare with is expected here\n"),
        ("type ~ Cache", "a pattern in quotes is expected behind ~"),
        ("type > 5", "this is a text"),
        ("type = Foo", "this is a text: compare it with one in quotes, such as 'Foo'\n"),
        ("type in ()", "something to compare with is expected between ( and )\n  type in ()\n           ^\n"),
        ("size = 'main'", "; a field of an object begins with a dot: .size\n"),
        ("shallow > 0x10", "numbers are decimal here: write 0x10 as 16\n  shallow > 0x10\n            ^\n"),
        ("generation = 'gen2'", "no generation here: this xna-cf dump does not say where generations are\n"),
        ("id = 'xyz'", "no object id, as the dump writes them\n  id = 'xyz'\n       ^\n"),
        (".name = 'a'", "xna-cf dumps"),
        (&deep, "parentheses and `not`s are nested more than 200 deep\n"),
        (&long, "an expression has at most 65536 bytes\n"),
    ] {
        for command in ["list", "stats", "roots", "referrers", "dominators", "breakdown"] {
            let ran = run(&[command, GAME, "-q", "--where", expression]).expect_code(2);
            assert!(ran.stderr.contains(message), "{command}: {}", ran.stderr);
            assert!(ran.stdout.is_empty());
        }
    }
    for command in ["list", "stats", "dominators", "breakdown", "referrers", "roots"] {
        run(&[command, GAME, "-q", "--where", "shallow > 1GiB"]).expect_code(1);
    }
    for form in ["folded", "flamegraph"] {
        let ran = run(&["export", "--to", form, GAME, "--where", "shallow > 1GiB"]).expect_code(1);
        assert_eq!((&*ran.stdout, &*ran.stderr), ("", "heapdump: no object fulfils --where shallow > 1GiB\n"));
        // A wrong expression is told before anything is read.
        let ran = run(&["export", "--to", form, "absent.txt", "--where", "shalow > 1"]).expect_code(2);
        assert!(ran.stderr.contains("did you mean shallow?\n  shalow > 1\n  ^\n"), "{}", ran.stderr);
    }
    // Of several files each says what it does not have, with the place marked.
    let missing = "generation here: this xna-cf dump does not say where generations are\n  generation = 'gen2'\n  ^\n";
    for command in ["stats", "trend"] {
        let ran = run(&[command, GAME, GAME, "-q", "--where", "generation = 'gen2'"]).expect_code(2);
        assert_eq!(ran.stderr.matches(missing).count(), 2, "{}", ran.stderr);
    }
    let none = "heapdump: no object fulfils --where shallow > 1GiB\n";
    assert_eq!(run(&["diff", GAME, GAME, "--all", "--where", "shallow > 1GiB"]).expect_code(1).stderr, none);
    assert_eq!(run(&["roots", GAME, "--where", "shallow > 1GiB"]).expect_code(1).stderr, none);
    let same = "heapdump: what matches is the same in both dumps\n";
    assert_eq!(run(&["diff", GAME, GAME, "--where", "shallow > 24"]).expect_code(1).stderr, same);
    let garbage = run(&["roots", GAME, "--where", "not reachable"]).expect_code(1);
    assert!(garbage.stderr.contains("no path from a strong root leads to any of them"), "{}", garbage.stderr);
    assert_eq!(run(&["list", GAME, "--where", "root_kind = '\u{1b}[1m'"]).expect_code(1).stderr.find('\u{1b}'), None);
    let ran = run(&["export", "--to", "dot", "--object", "1#7c44f", "--where", "root", GAME]).expect_code(2);
    assert!(
        ran.stderr.contains("--where acts with --to folded and --to flamegraph and --to parquet only"),
        "{}",
        ran.stderr
    );
}

/// What a dump of allocation totals has is not chosen from by an expression: that is said, and never left out in silence.
#[test]
fn allocation_totals_have_no_objects_to_choose() {
    const TOTALS: &str = "fixtures/memory_infra/seed-heaps_v2.trace";
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let tables = ["export", "--to", "parquet", "-o", &out, "--tables", "all", TOTALS];
    for command in [&["stats", TOTALS][..], &["breakdown", TOTALS], &["diff", TOTALS, TOTALS], &tables] {
        run(command).expect_code(0);
        let ran = run(&[command, &["--where", "shallow > 1", "--quiet"]].concat()).expect_code(2);
        let is_said = ran.stderr.contains("allocation totals") && ran.stderr.contains("no objects: ");
        assert!(ran.stdout.is_empty() && is_said && ran.stderr.contains("--where"), "{}", ran.stderr);
    }
    // Of objects with their allocations the expression asks for the tree of objects.
    const BOTH: &str = "fixtures/v8_snapshot/allocations.heapsnapshot";
    let chosen = run(&["breakdown", BOTH, "-q", "-f", "json", "--where", "shallow > 20"]).expect_code(0).json();
    let listed = listed(&[BOTH, "--where", "shallow > 20"]);
    let bytes: u64 = listed.iter().map(|row| row["shallow_bytes"].as_u64().unwrap()).sum();
    assert_eq!(chosen["heaps"][0]["tree"]["bytes"].as_u64(), Some(bytes), "{chosen}");
    let all = run(&["breakdown", BOTH, "-q", "-f", "json"]).expect_code(0).json();
    assert!(all["heaps"][0]["tree"]["bytes"].as_u64().is_some_and(|all| all < bytes), "{all}");
}

/// Records of a thread's stack hold through the thread: they are roots all the same, as tables of roots have it.
#[test]
fn local_variables_are_roots() {
    use heapdump::graph::RootKind;
    use std::collections::{BTreeMap, BTreeSet};
    let dump = heapdump::dump::open(crate::common::cmd::project(ZOO)).unwrap();
    let graph = dump.graph().unwrap();
    let mut shown: BTreeMap<NodeId, RootKind> = BTreeMap::new();
    for root in graph.roots().iter().filter(|root| !root.is_weak() && !root.is_excluded) {
        let kind = shown.entry(root.node).or_insert(root.kind);
        let rank = |kind: RootKind| (!matches!(kind, RootKind::Static | RootKind::Thread), kind);
        *kind = if rank(root.kind) < rank(*kind) { root.kind } else { *kind };
    }
    let found = |text: &str| {
        let set = Filter::parse(&[text]).unwrap().unwrap().select(&dump, 0..graph.node_count()).unwrap();
        graph.nodes().filter(|&node| set.contains(node)).collect::<Vec<_>>()
    };
    assert_eq!(found("root"), shown.keys().copied().collect::<Vec<_>>());
    let mut kinds: Vec<RootKind> = shown.values().copied().collect();
    kinds.sort();
    kinds.dedup();
    assert!(kinds.len() > 2 && kinds.contains(&RootKind::JavaFrame), "{kinds:?}");
    let threads: BTreeSet<NodeId> =
        graph.roots().iter().filter(|root| root.kind == RootKind::Thread).map(|root| root.node).collect();
    assert_eq!(found("root_kind = 'thread'"), threads.into_iter().collect::<Vec<_>>());
    for kind in kinds {
        let expected: Vec<NodeId> = shown.iter().filter(|(_, own)| **own == kind).map(|(node, _)| *node).collect();
        assert_eq!(found(&format!("root_kind = '{}'", kind.name())), expected);
    }
}

/// Fields of a list are those that `show` has of each object.
#[test]
fn selected_fields_are_those_of_the_objects() {
    let threads = |extra: &[&str]| listed(&[&[ZOO, "--type", "/^java.lang.Thread$/"], extra].concat());
    let rows = threads(&["--select", ".name,.daemon,.group.name,.group,.absent"]);
    assert!(rows.len() > 3);
    let fields_of = |id: &str| -> Vec<Value> {
        let shown = run(&["show", id, ZOO, "-q", "-f", "json", "-n", "0"]).expect_code(0).json();
        shown["fields"].as_array().unwrap().clone()
    };
    let field = |fields: &[Value], name: &str| {
        fields.iter().find(|field| field["name"] == name && field["static"] != true).cloned().unwrap_or(Value::Null)
    };
    let mut groups = 0;
    for row in &rows {
        let fields = fields_of(row["id"].as_str().unwrap());
        let selected = &row["fields"];
        assert_eq!(selected.as_object().unwrap().keys().collect::<Vec<_>>().len(), 5);
        assert_eq!(selected[".name"], field(&fields, "name")["value"]);
        let holder = field(&fields, "holder")["id"].clone();
        let daemon = field(&fields, "daemon")["value"].clone();
        assert_eq!(selected[".daemon"], daemon, "{holder}");
        assert_eq!(selected[".absent"], Value::Null);
        if let Some(id) = field(&fields, "group")["id"].as_str() {
            groups += 1;
            let group = fields_of(id);
            assert_eq!(selected[".group.name"], field(&group, "name")["value"]);
            let with_type = format!("{id} {}", field(&fields, "group")["target_type"].as_str().unwrap_or_default());
            assert!(selected[".group"] == with_type.as_str() || selected[".group"] == field(&fields, "group")["value"]);
        }
    }
    assert!(rows.iter().any(|row| row["fields"][".name"] == "main"));
    // Lines of JSON have the same values: numbers and truth values are none in quotes.
    let words = ["list", ZOO, "-q", "-n", "0", "--type", "/^java.lang.(Thread|Integer)$/", "--values"];
    let lines = run(&[&words[..], &["--select", ".name,.daemon,.value", "-f", "jsonl"]].concat()).expect_code(0).stdout;
    let whole = run(&[&words[..], &["--select", ".name,.daemon,.value", "-f", "json"]].concat()).expect_code(0).json();
    let objects = whole["objects"].as_array().unwrap();
    assert_eq!(lines.lines().count(), objects.len());
    for (line, object) in lines.lines().zip(objects) {
        let line: Value = serde_json::from_str(line).unwrap();
        for field in [".name", ".daemon", ".value"] {
            assert_eq!(line[field], object["fields"][field], "{line}");
        }
        assert_eq!(line["value"], object["value"], "{line}");
    }
    assert!(objects.iter().any(|object| object["value"].is_i64()));
    // Columns in the other forms, in the order asked for.
    let ran =
        run(&["list", ZOO, "-q", "--type", "java.lang.Thread", "--select", ".name, .daemon", "-f", "csv", "-n", "1"]);
    let header = ran.expect_code(0).stdout.lines().next().unwrap().to_string();
    assert!(header.ends_with(",.name,.daemon,type,truncated"), "{header}");
    assert!(groups > 0 || rows.iter().all(|row| row["fields"][".group"].is_null()));
    for misspelt in [&["list", ZOO, "--select", ".dameon", "-n", "1"][..], &["stats", ZOO, "--where", ".dameon = true"]]
    {
        let ran = run(misspelt);
        assert!(ran.stderr.contains("no object has a field .dameon; did you mean .daemon?"), "{}", ran.stderr);
    }
    let wrong = run(&["list", ZOO, "--select", ".name,daemon"]).expect_code(2);
    assert!(wrong.stderr.contains("--select: the path of a field is expected here"), "{}", wrong.stderr);
    assert!(wrong.stderr.ends_with("\n  .name,daemon\n        ^\n"), "{}", wrong.stderr);
    let none = run(&["list", GAME, "--select", ".name"]).expect_code(2);
    assert!(none.stderr.contains("xna-cf dumps"), "{}", none.stderr);
}

/// Copies are the string objects that fulfil the expression, grouped by what `list --values` says of them.
#[test]
fn strings_and_waste_take_the_same_objects() {
    use std::collections::BTreeMap;
    let ask = |command: &str, extra: &[&str]| {
        run(&[&[command, ZOO, "-q", "-f", "json", "-n", "0"], extra].concat()).expect_code(0).json()
    };
    let whole = ask("strings", &[]);
    for expression in ["not reachable", "retained > 60", "referrers > 1"] {
        let answer = ask("strings", &["--where", expression]);
        assert_eq!((&answer["where"], &answer["totals"]), (&Value::from(expression), &whole["totals"]));
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        for row in listed(&[ZOO, "--type", "/^java.lang.String$/", "--values", "--where", expression]) {
            *expected.entry(row["value"].as_str().unwrap_or("?").to_string()).or_default() += 1;
        }
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for row in answer["strings"].as_array().unwrap() {
            *found.entry(row["text"].as_str().unwrap().to_string()).or_default() += row["copies"].as_u64().unwrap();
        }
        assert_eq!(answer["matching"]["strings"].as_u64(), Some(expected.values().sum()));
        assert!(expected.len() > 5, "{expression}");
        assert_eq!(found, expected, "{expression}");
    }
    let kinds = |answer: &Value| -> BTreeMap<String, (u64, u64)> {
        let rows = answer["kinds"].as_array().unwrap().iter();
        let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
        rows.map(|row| {
            (row["kind"].as_str().unwrap().to_string(), (number(row, "objects"), number(row, "wasted_bytes")))
        })
        .collect()
    };
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for part in ["retained > 60", "not (retained > 60)", "retained is null"] {
        let answer = ask("waste", &["--where", part]);
        assert_eq!(answer["where"], part);
        for (kind, (objects, bytes)) in kinds(&answer) {
            let sum = sums.entry(kind).or_default();
            *sum = (sum.0 + objects, sum.1 + bytes);
        }
    }
    assert_eq!(sums, kinds(&ask("waste", &[])));
    for command in ["strings", "waste"] {
        let ran = run(&[command, ZOO, "--where", "shallow > 1TiB"]).expect_code(1);
        assert!(ran.stderr.contains("no object fulfils --where shallow > 1TiB"), "{}", ran.stderr);
    }
}

/// The counts are those of `Class.isAssignableFrom` of OpenJDK 17 over the types of this dump, arrays left out.
#[test]
fn classes_are_found_by_what_they_extend_and_implement() {
    let objects_of = |args: &[&str]| {
        let answer = run(&[&["stats", ZOO, "-q", "-f", "json"], args].concat()).expect_code(0).json();
        answer["matching_objects"].as_u64()
    };
    for (class, objects) in
        [("java.util.Map", 386), ("java.lang.Runnable", 20), ("java.util.Collection", 807), ("java.lang.Thread", 11)]
    {
        assert_eq!(objects_of(&["--instanceof", &format!("={class}")]), Some(objects), "{class}");
        assert_eq!(objects_of(&["--where", &format!("instanceof = '{class}'")]), Some(objects), "{class}");
    }
    let both = ["--instanceof", "=java.util.Map", "--where", "type ~ 'Concurrent' and not instanceof ~ 'Runnable'"];
    let rows = run(&[&["stats", ZOO, "-q", "-f", "tsv", "--no-header"][..], &both].concat()).expect_code(0).stdout;
    assert!(rows.lines().count() == 1 && rows.contains("java.util.concurrent.ConcurrentHashMap"), "{rows}");
    let by_superclass = run(&["stats", ZOO, "-q", "-f", "json", "--by", "superclass"]).expect_code(0).json();
    let groups = by_superclass["groups"].as_array().expect("groups");
    let of = |name: &str| groups.iter().find(|row| row["group"] == name).map(|row| row["objects"].as_u64());
    // Threads have no other superclass; maps of AbstractMap are no Hashtables, which are Dictionaries.
    assert_eq!(of("java.lang.Thread"), Some(Some(11)));
    assert!(of("java.util.Dictionary").is_some() && of("java.util.AbstractMap").is_some(), "{groups:?}");
    assert_eq!(of("java.util.HashMap"), None);
    let none = run(&["stats", "fixtures/v8_snapshot/allocations.heapsnapshot", "--instanceof", "Map"]);
    assert!(none.expect_code(2).stderr.contains("does not say which class extends which"));
}

/// What `list` says of each object, added up here.
#[test]
fn objects_are_grouped_by_the_values_of_a_field() {
    use std::collections::BTreeMap;
    let node = "fixtures/v8_snapshot/chat-new.heapsnapshot.zst";
    let cases = [
        (ZOO, "java.lang.Thread", ".daemon"),
        (ZOO, "java.lang.Thread", ".name"),
        (ZOO, "=java.util.HashMap", ".size"),
        (ZOO, "Thread", ".group.name"),
        (node, "{topic}", ".topic"),
    ];
    for (file, types, path) in cases {
        let listed = run(&["list", file, "-q", "-f", "json", "--type", types, "--select", path]).expect_code(0).json();
        let mut expected: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for object in listed["objects"].as_array().expect("objects") {
            let name = match &object["fields"][path] {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            let sum = expected.entry(name).or_default();
            *sum = (sum.0 + 1, sum.1 + object["shallow_bytes"].as_u64().expect("bytes"));
        }
        let answer = run(&["stats", file, "-q", "-f", "json", "--type", types, "--by", path]).expect_code(0).json();
        assert_eq!(answer["by"], *path);
        let rows = answer["groups"].as_array().expect("groups").iter();
        let grouped: BTreeMap<String, (u64, u64)> = rows
            .map(|row| (row["group"].as_str().expect("a name").to_string(), row))
            .filter(|(name, _)| name != "(null)" && name != "(no such field)")
            .map(|(name, row)| {
                (name, (row["objects"].as_u64().expect("a number"), row["shallow_bytes"].as_u64().expect("a number")))
            })
            .collect();
        assert!(!expected.is_empty(), "{types} {path}");
        assert_eq!(grouped, expected, "{types} {path}");
    }
    let rows = run(&["stats", ZOO, "-q", "-f", "tsv", "--type", "Thread", "--by", ".daemon", "--retained"])
        .expect_code(0)
        .stdout;
    assert!(rows.contains("(no such field)"), "{rows}");
    let wrong = run(&["stats", ZOO, "--by", ".a,.b"]).expect_code(2).stderr;
    assert!(wrong.contains("no path of a field"), "{wrong}");
    assert!(run(&["stats", GAME, "--by", ".a"]).expect_code(2).stderr.contains("values"));
}
