//! Buckets against plain climbing, and counted steps on the graphs that make other algorithms quadratic.

use super::*;
use crate::graph::{GraphBuilder, IdStyle, ObjectColumns, ResolveOptions, RootFlags, RootKind, Section};
use proptest::prelude::*;

/// Object `n` refers to `references[n]`; the first object is the only root.
fn graph(references: &[Vec<usize>]) -> HeapGraph {
    let mut builder = GraphBuilder::new(IdStyle::Hex);
    let slot = builder.new_type();
    builder.name_type(slot, "A");
    let section = builder.begin_section(Section::default());
    let mut columns = ObjectColumns::default();
    for (object, targets) in references.iter().enumerate() {
        columns.push_object(object as u64 + 1, 0, 8, 1);
        targets.iter().for_each(|&target| columns.push_reference(target as u64 + 1));
    }
    columns.seal();
    builder.append(section, &columns, 0..columns.len(), &[slot.0], 0, true).unwrap();
    builder.add_root(section, 1, RootKind::Local, RootFlags::default(), None, 1);
    builder.resolve(ResolveOptions::default()).0
}

fn all(graph: &HeapGraph, step_budget: u64) -> Vec<Dominator> {
    let dominators = Dominators::compute_with_step_budget(graph, step_budget);
    graph.nodes().map(|node| dominators.dominator_of(node)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn buckets_change_no_answer(
        references in (1usize..80).prop_flat_map(|count| {
            proptest::collection::vec(proptest::collection::vec(0..count, 0..4), count)
        })
    ) {
        let graph = graph(&references);
        let expected = all(&graph, 1_000_000);
        for step_budget in [0, 1] {
            prop_assert_eq!(all(&graph, step_budget), expected.clone());
        }
    }
}

/// More references than are sorted at a time, and many that repeat; of the last objects, which nothing reaches, some
/// refer to others about as often as a byte can count.
#[test]
fn a_large_graph_has_the_dominators_of_petgraph() {
    let mut state = 1u64;
    let mut below = |count: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((state >> 33) * count) >> 31) as usize
    };
    const REACHED: usize = 50_000;
    let references: Vec<Vec<usize>> = (0..REACHED + 10_000)
        .map(|object| {
            let targets = [below(REACHED as u64), object / 2, below(9), (object + 1).min(REACHED - 1)];
            let repeats = if (REACHED..REACHED + 100).contains(&object) { 250 } else { 0 };
            targets.into_iter().chain(std::iter::repeat_n(object - object.min(20_000), repeats)).collect()
        })
        .collect();
    let graph = graph(&references);
    let expected = petgraph::algo::dominators::simple_fast(&graph, NodeId::new(0));
    for (node, found) in graph.nodes().zip(all(&graph, CLIMB_STEPS_PER_OBJECT)).skip(1) {
        assert_eq!(found, expected.immediate_dominator(node).map_or(Dominator::Unreachable, Dominator::Node));
    }
}

const COUNT: usize = 200_000;

fn steps_per_object(references: &[Vec<usize>]) -> f64 {
    Dominators::compute(&graph(references)).climb_steps() as f64 / references.len() as f64
}

/// 6 + log2(objects): the bound of the algorithm; a quadratic one takes tens of thousands here.
fn assert_linear(graph_name: &str, references: Vec<Vec<usize>>) {
    let bound = 6.0 + (references.len() as f64).log2();
    let steps = steps_per_object(&references);
    assert!(steps <= bound, "{graph_name}: {steps} steps per object, allowed {bound}");
}

#[test]
fn bad_shapes_take_a_bounded_number_of_steps() {
    let last = COUNT - 1;
    assert_linear("chain", (0..COUNT).map(|at| vec![(at + 1).min(last)]).collect());
    assert_linear("fan", std::iter::once((1..COUNT).collect()).chain((1..COUNT).map(|_| vec![])).collect());
    assert_linear(
        "doubly linked list",
        (0..COUNT)
            .map(|at| if at == 0 { vec![1] } else { vec![1 + at % last, 1 + (at + last - 2) % last, 0] })
            .collect(),
    );
    assert_linear("chain with a shared object", (0..COUNT).map(|at| vec![(at + 1).min(last), last]).collect());
    for list_first in [true, false] {
        let half = (COUNT - 2) / 2;
        let (array, list, items) = (1, 2, 2 + half);
        let mut references = vec![if list_first { vec![list, array] } else { vec![array, list] }];
        references.push((items..items + half).collect());
        references.extend((0..half).map(|at| {
            let next = list + (at + 1).min(half - 1);
            if list_first { vec![next, items + at] } else { vec![items + at, next] }
        }));
        references.extend((0..half).map(|_| vec![]));
        assert_linear("array over a list", references);
    }
    let entries = (COUNT - 2) / 3;
    let mut references = vec![vec![1, 2], (0..entries).map(|at| 2 + 3 * at).collect()];
    for at in 0..entries {
        let own = 2 + 3 * at;
        references.push(vec![own + 1, own + 2, 2 + 3 * ((at + 1) % entries), 2 + 3 * ((at + entries - 1) % entries)]);
        references.extend([vec![], vec![own]]);
    }
    assert_linear("linked hash map", references);
}

#[test]
fn a_long_chain_needs_no_stack() {
    let worker = std::thread::Builder::new().stack_size(64 * 1024).spawn(|| {
        let count = 1_000_000;
        let graph = graph(&(0..count).map(|at| if at + 1 < count { vec![at + 1] } else { vec![] }).collect::<Vec<_>>());
        let dominators = Dominators::compute(&graph);
        dominators.children().walk(DominatorNode::ROOT, |_| {});
        (dominators.dominator_of(NodeId::new(count - 1)), dominators.reached_count())
    });
    let (last, reached) = worker.expect("starts").join().expect("ends");
    assert_eq!(last, Dominator::Node(NodeId::new(999_998)));
    assert_eq!(reached, 1_000_000);
}
