//! Trees as the library gives them: by definition, and the same as the commands print.

use std::io::Write;

use heapdump::analysis::selection::TypePattern;
use heapdump::answers::breakdown::{BreakdownBy, Kind};
use heapdump::answers::dominator_tree::DominatorRows;
use heapdump::answers::{
    BreakdownOptions, DominatorTreeOptions, GroupBy, Limits, MergedPathsOptions, ScopeOptions, breakdown,
    dominator_tree, merged_paths,
};
use heapdump::dump::OpenDump;
use proptest::prelude::*;
use serde::Serialize;

use crate::common::cmd::run;
use crate::common::heap::Heap;
use crate::common::synth::xna_cf;
use crate::oracle::heaps;

const GAME: &str = "fixtures/xna_cf/small_1k.txt";
const TRACE: &str = "fixtures/memory_infra/chromium66-heaps.trace.gz";

fn open(heap: &Heap) -> OpenDump {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(xna_cf(heap).as_bytes()).unwrap();
    heapdump::dump::open(file.path()).unwrap()
}

fn pattern(text: &str) -> TypePattern {
    TypePattern::parse(text).unwrap()
}

/// The answer's JSON is what the command prints, byte for byte.
fn assert_same(answer: &impl Serialize, args: &[&str]) {
    let printed = run(&[args, &["-f", "json", "-q"]].concat()).expect_code(0).stdout;
    let schema = format!("{{\"schema\":\"heapdump.{}/1\",", args[0]);
    let answer = serde_json::to_string(answer).unwrap().replacen('{', &schema, 1) + "\n";
    assert_eq!(answer, printed, "{args:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_dominator_tree_agrees_with_the_definition(heap in heaps(14, 2), rows in 1usize..4) {
        let dump = open(&heap);
        let all = dominator_tree(&dump, &DominatorTreeOptions { depth: 500, ..Default::default() }).unwrap();
        let DominatorRows::Objects { nodes: all } = all.rows else { panic!("no objects") };
        let mut path: Vec<u64> = Vec::new();
        let mut seen = 0;
        for place in all.iter() {
            path.truncate(place.depth as usize);
            let object = (0..heap.objects.len()).find(|&o| format!("{:x}", Heap::address(o)) == place.row.id).unwrap();
            prop_assert_eq!(Some(place.row.retained_bytes), heap.retained_bytes(object));
            prop_assert!(place.hidden_after == 0 && path.len() == place.depth as usize);
            // What dominates it goes with it.
            prop_assert!(path.last().is_none_or(|&above| above >= place.row.retained_bytes));
            path.push(place.row.retained_bytes);
            seen += 1;
        }
        prop_assert_eq!(seen, heap.reach(&heap.strong_starts(), None).iter().filter(|&&reached| reached).count());
        // The cut tree has the first rows of each level, and says how many are missing.
        let limits = Limits { rows: Some(rows), reverse: false };
        let cut = dominator_tree(&dump, &DominatorTreeOptions { depth: 500, limits, ..Default::default() }).unwrap();
        let DominatorRows::Objects { nodes: cut } = cut.rows else { panic!("no objects") };
        let mut expected = Vec::new();
        let mut places: Vec<usize> = Vec::new();
        let mut hidden_at = None;
        for place in all.iter() {
            let depth = place.depth as usize;
            if hidden_at.is_some_and(|at| depth > at) {
                continue;
            }
            places.resize(depth + 1, 0);
            places[depth] += 1;
            places.truncate(depth + 1);
            hidden_at = (places[depth] > rows).then_some(depth);
            if hidden_at.is_none() {
                expected.push(place.row.id);
            }
        }
        prop_assert_eq!(cut.iter().map(|place| place.row.id).collect::<Vec<_>>(), expected);
        let count = |depth: u32| all.iter().filter(|place| place.depth == depth).count();
        let hidden: u32 = cut.iter().filter(|place| place.depth == 0).map(|place| place.hidden_after).sum();
        prop_assert_eq!(hidden as usize, count(0).saturating_sub(rows));
    }
}

#[test]
fn answers_are_what_the_commands_print() {
    let dump = heapdump::dump::open(crate::common::cmd::project(GAME)).unwrap();
    let types = || ScopeOptions { section: None, types: Some(pattern("*Level*")) };
    let limits = Limits { rows: Some(3), reverse: false };
    let tree = |options: DominatorTreeOptions| dominator_tree(&dump, &options).unwrap();
    let all = Limits::default();
    let default = DominatorTreeOptions::default;
    assert_same(&tree(default()), &["dominators", GAME]);
    assert_same(
        &tree(DominatorTreeOptions { depth: 4, limits, ..default() }),
        &["dominators", GAME, "--depth", "4", "-n", "3"],
    );
    let by = DominatorTreeOptions { group_by: Some(GroupBy::Package), limits: all, ..default() };
    assert_same(&tree(by), &["dominators", GAME, "--by", "package"]);
    assert_same(
        &tree(DominatorTreeOptions { scope: types(), ..default() }),
        &["dominators", GAME, "--type", "*Level*"],
    );
    let paths = merged_paths(&dump, &MergedPathsOptions::new(pattern("*Level*"))).unwrap();
    assert_same(&paths, &["roots", "--type", "*Level*", GAME]);
}

#[test]
fn breakdowns_of_both_models_are_what_the_command_prints() {
    let objects = heapdump::dump::open(crate::common::cmd::project(GAME)).unwrap();
    let trace = heapdump::dump::open(crate::common::cmd::project(TRACE)).unwrap();
    assert_same(&breakdown(&objects, &BreakdownOptions::default()).unwrap(), &["breakdown", GAME]);
    assert_same(&breakdown(&trace, &BreakdownOptions::default()).unwrap(), &["breakdown", TRACE]);
    for (by, args) in [(BreakdownBy::Both, ["--by", "both"].as_slice()), (BreakdownBy::Caller, &["--invert"])] {
        let options = BreakdownOptions { by, depth: Some(6), ..BreakdownOptions::default() };
        let line = options.command_line().for_shell(Some(TRACE.as_ref()));
        assert_eq!(line, format!("heapdump breakdown {} --depth 6 -n 0 {TRACE}", args.join(" ")));
        let answer = breakdown(&trace, &options).unwrap();
        assert_same(&answer, &line.split(' ').skip(1).collect::<Vec<_>>());
        // Along one axis the children of a node and what is left are the node.
        for heap in answer.heaps.iter().filter(|_| by == BreakdownBy::Caller) {
            let rows = heap.tree.rows();
            assert_eq!(rows[0].row.bytes, heap.total_bytes());
            for (at, place) in rows.iter().enumerate() {
                let below = rows[at + 1..].iter().take_while(|below| below.depth > place.depth);
                let children: Vec<u64> =
                    below.filter(|below| below.depth == place.depth + 1).map(|below| below.row.bytes).collect();
                let is_whole = children.is_empty() || children.iter().sum::<u64>() == place.row.bytes;
                assert!(is_whole && (place.hidden_after == 0 || place.row.kind == Kind::Other), "{}", place.row.name);
            }
        }
    }
}

#[test]
fn command_lines_ask_the_same() {
    let dump = heapdump::dump::open(crate::common::cmd::project(GAME)).unwrap();
    let limits = Limits { rows: Some(2), reverse: true };
    let options = DominatorTreeOptions { depth: 3, limits, ..Default::default() };
    let line = options.command_line().for_shell(Some(GAME.as_ref()));
    assert_eq!(line, format!("heapdump dominators --depth 3 --reverse -n 2 {GAME}"));
    assert_same(&dominator_tree(&dump, &options).unwrap(), &line.split(' ').skip(1).collect::<Vec<_>>());
    let options = MergedPathsOptions { avoided: vec![pattern("X")], ..MergedPathsOptions::new(pattern("Level")) };
    let line = options.command_line().for_shell(Some(GAME.as_ref()));
    assert_eq!(line, format!("heapdump roots --exclude X -n 0 --type Level {GAME}"));
    assert_same(&merged_paths(&dump, &options).unwrap(), &line.split(' ').skip(1).collect::<Vec<_>>());
}
