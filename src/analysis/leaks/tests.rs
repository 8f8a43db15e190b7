//! Best ways against the definition, rows against the sums that they must have, and the walk on heaps made for it.

use super::*;
use crate::analysis::retained::RetainedSizes;
use crate::analysis::threshold::{Percent, Threshold};
use crate::graph::{
    GraphBuilder, HeapGraph, IdStyle, NodeId, ObjectColumns, ResolveOptions, RootFlags, RootKind, Section,
};
use proptest::prelude::*;

/// (type, bytes, references by place)
type Object = (u32, u64, Vec<usize>);

/// The first object is the only root.
fn graph(objects: &[Object], types: usize) -> HeapGraph {
    let mut builder = GraphBuilder::new(IdStyle::Hex);
    let slots: Vec<u32> = (0..types)
        .map(|number| {
            let slot = builder.new_type();
            builder.name_type(slot, &format!("T{number}"));
            slot.0
        })
        .collect();
    let section = builder.begin_section(Section::default());
    let mut columns = ObjectColumns::default();
    for (at, (type_index, bytes, targets)) in objects.iter().enumerate() {
        columns.push_object(at as u64 + 1, *type_index, *bytes, 1);
        targets.iter().for_each(|&target| columns.push_reference(target as u64 + 1));
    }
    columns.seal();
    builder.append(section, &columns, 0..columns.len(), &slots, 0, true).unwrap();
    builder.add_root(section, 1, RootKind::Local, RootFlags::default(), None, 1);
    builder.resolve(ResolveOptions::default()).0
}

/// Costs by the numbers of both objects, the label that of an element.
struct ByNumber(u32);

impl ReferenceCosts for ByNumber {
    fn append_costs(&mut self, from: NodeId, to: &[NodeId], steps: &mut Vec<CostedReference>) {
        let cost = |to: &NodeId| ((from.index() as u32 * 7 + to.index() as u32 * 3) % self.0) as u8;
        steps.extend(to.iter().map(|to| CostedReference { cost: cost(to), label: 1 + to.index() as u32 % 2 }));
    }
}

fn type_role(symbol: u32, owner: CodeOwner) -> TypeRole {
    TypeRole {
        symbol,
        owner,
        is_carrier: false,
        has_no_own_class: false,
        is_runtime_metadata: false,
        is_chain_link: false,
        folds_same_type: true,
        is_composite_text: false,
        is_notable: false,
        is_list_node: false,
        is_anonymous: false,
        has_named_objects: false,
        is_class: false,
    }
}

fn rows(graph: &HeapGraph, type_roles: &[TypeRole], cost: u32) -> RowTree {
    let starts = [StartObject { node: NodeId::new(0), cost: 0, label: 70 }];
    RowTree::build_with_paths(
        graph,
        &starts,
        &mut ByNumber(cost),
        type_roles,
        &ObjectFacts::default(),
        SearchMemory::new(graph),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_best_way_costs_what_the_definition_says(
        objects in (1usize..40).prop_flat_map(|count| proptest::collection::vec(
            (0u32..3, 0u64..99, proptest::collection::vec(0..count, 0..5)), count
        )),
        cost in 1u32..40
    ) {
        let graph = graph(&objects, 3);
        let rows = rows(&graph, &[type_role(100, CodeOwner::Application), type_role(101, CodeOwner::Library), type_role(102, CodeOwner::Runtime)], cost);
        // Distances until nothing gets nearer any more.
        let step = |from: usize, to: usize| (from as u32 * 7 + to as u32 * 3) % cost;
        let mut distances = vec![None; objects.len()];
        distances[0] = Some(0u32);
        for _ in 0..objects.len() {
            for (from, (_, _, targets)) in objects.iter().enumerate() {
                for &to in targets {
                    if let Some(way) = distances[from].map(|distance| distance + step(from, to))
                        && distances[to].is_none_or(|known| way < known)
                    {
                        distances[to] = Some(way);
                    }
                }
            }
        }
        for node in graph.nodes() {
            prop_assert_eq!(rows.row_of(node).is_some(), distances[node.index()].is_some());
            if let Some(distance) = distances[node.index()].filter(|&distance| distance < 200) {
                let way = rows.paths().path_to(node);
                let length: u32 = way.windows(2).map(|pair| step(pair[0].index(), pair[1].index())).sum();
                prop_assert_eq!(length, distance);
                prop_assert_eq!(way[0], NodeId::new(0));
            }
        }
        // Each object is in one row, each row below one that came before, and sums are those of all below.
        let reached: Vec<usize> = (0..objects.len()).filter(|&at| distances[at].is_some()).collect();
        prop_assert_eq!(rows.rows().iter().map(|row| row.objects as usize).sum::<usize>(), reached.len());
        prop_assert_eq!(rows.row(0).total_bytes, reached.iter().map(|&at| objects[at].1).sum::<u64>());
        let mut own_bytes = vec![0; rows.rows().len()];
        for node in graph.nodes() {
            rows.row_of(node).into_iter().for_each(|row| own_bytes[row as usize] += objects[node.index()].1);
        }
        for (at, row) in rows.rows().iter().enumerate().skip(1) {
            prop_assert!((row.parent as usize) < at);
            let below: u64 = rows.rows_below(at as u32).map(|below| rows.row(below).total_bytes).sum();
            prop_assert_eq!(row.total_bytes, own_bytes[at] + below);
        }
    }
}

/// A root, a list of `count` links that each hold an item, and a cache of a constant size.
fn list(count: usize) -> Vec<Object> {
    let mut objects: Vec<Object> = vec![(0, 10, vec![1, 2])];
    objects.push((1, 10, vec![3]));
    objects.push((4, 900_000, Vec::new()));
    for at in 0..count {
        let (link, item) = (3 + 2 * at, 4 + 2 * at);
        let mut targets = vec![item];
        if at + 1 < count {
            targets.push(link + 2);
        }
        objects.push((2, 24, targets));
        objects.push((3, 1000, Vec::new()));
    }
    objects
}

#[test]
fn what_grew_in_number_is_found_with_its_figures() {
    let type_roles = [
        type_role(100, CodeOwner::Application),
        type_role(101, CodeOwner::Application),
        TypeRole { is_carrier: true, is_chain_link: true, ..type_role(102, CodeOwner::Runtime) },
        type_role(103, CodeOwner::Application),
        type_role(104, CodeOwner::Application),
    ];
    let (old, new) = (graph(&list(100), 5), graph(&list(500), 5));
    let (old_rows, new_rows) = (rows(&old, &type_roles, 1), rows(&new, &type_roles, 1));
    let search = |old| GrowthSearch::new(&new_rows, old, &type_roles, Threshold::Share(Percent::TEN_PERCENT));
    let grown = search(Some(&old_rows)).find_grown_places(24);
    assert_eq!(grown.len(), 1, "{grown:?}");
    let found = &grown[0];
    assert_eq!((found.element_objects, found.element_objects_old, found.growth_bytes), (500, 100, 400 * 1024));
    assert_eq!(new_rows.row(found.element_row).symbol, 103);
    // Nothing grew, or all became less.
    assert_eq!(search(Some(&new_rows)).find_grown_places(24), []);
    assert_eq!(
        GrowthSearch::new(&old_rows, Some(&new_rows), &type_roles, Threshold::Share(Percent::TEN_PERCENT))
            .find_grown_places(24),
        []
    );
    let (dominators, retained) = RetainedSizes::with_dominators(&new, &mut |_| ());
    let children = dominators.children_when_asked();
    let causes = CauseAnalysis {
        graph: &new,
        rows: &new_rows,
        dominators: &dominators,
        retained: &retained,
        children: &children,
    };
    let mut complete = causes.measure_causes(grown, &rustc_hash::FxHashMap::default());
    causes.remove_repeated_causes(&mut complete, &type_roles);
    let cause = &complete[0];
    assert_eq!((complete.len(), cause.retained_bytes), (1, 500 * 1024));
    assert_eq!(new.type_name(new.type_of(cause.example)), "T3");
    // The links hold one another: the first holds all.
    assert_eq!(cause.topmost_objects.len(), 1);
    let holder = causes.common_dominator(&cause.topmost_objects).map(|number| dominators.node_at(number));
    assert_eq!(holder, Some(NodeId::new(1)));
}

/// References that are elements, of one cost.
struct Elements;

impl ReferenceCosts for Elements {
    fn append_costs(&mut self, _: NodeId, to: &[NodeId], steps: &mut Vec<CostedReference>) {
        steps.extend(to.iter().map(|_| CostedReference { cost: 1, label: ELEMENT_LABEL }));
    }
}

/// A root with a list of `lists` arrays, each with `each` objects of three types in turn.
fn lists_in_a_list(lists: usize, each: usize) -> Vec<Object> {
    let mut objects: Vec<Object> = vec![(0, 10, vec![1]), (1, 10, (2..2 + lists).collect())];
    for list in 0..lists {
        let first = 2 + lists + list * each;
        objects.push((2, 16, (first..first + each).collect()));
    }
    objects.extend((0..lists * each).map(|at| (3 + at as u32 % 3, 100, Vec::new())));
    objects
}

#[test]
fn without_an_older_dump_the_walk_goes_on_to_what_there_is_most_of_and_names_all_types_there() {
    let array = TypeRole { is_carrier: true, ..type_role(101, CodeOwner::Runtime) };
    let mut type_roles = vec![type_role(100, CodeOwner::Application), array];
    type_roles.extend((102..106).map(|symbol| type_role(symbol, CodeOwner::Application)));
    // 12 with 300 each: what is in them; 300 with 12 each: themselves.
    for (lists, each, symbol, objects) in [(12, 300, 103, 1200), (300, 12, 102, 300)] {
        let graph = graph(&lists_in_a_list(lists, each), 6);
        let starts = [StartObject { node: NodeId::new(0), cost: 0, label: ELEMENT_LABEL }];
        let rows = RowTree::build_with_paths(
            &graph,
            &starts,
            &mut Elements,
            &type_roles,
            &ObjectFacts::default(),
            SearchMemory::new(&graph),
        );
        let found = GrowthSearch::new(&rows, None, &type_roles, Threshold::Bytes(1000)).find_grown_places(24);
        let [found] = &found[..] else { panic!("{found:?}") };
        assert_eq!((rows.row(found.element_row).symbol, found.element_objects), (symbol, objects), "{lists} {each}");
        let beside: Vec<(u32, u64)> =
            found.neighbour_types.iter().map(|&(row, objects, _)| (rows.row(row).symbol, objects)).collect();
        assert_eq!(beside, if lists == 12 { vec![(104, 1200), (105, 1200)] } else { Vec::new() });
    }
}

#[test]
fn objects_without_a_class_that_others_have_inside_are_not_counted_with_them() {
    const COUNT: usize = 400;
    let carrier = TypeRole { is_carrier: true, ..type_role(101, CodeOwner::Runtime) };
    let plain = TypeRole { has_no_own_class: true, is_carrier: true, ..type_role(102, CodeOwner::Application) };
    let type_roles = [type_role(100, CodeOwner::Application), carrier, plain, plain];
    let starts = [StartObject { node: NodeId::new(0), cost: 0, label: ELEMENT_LABEL }];
    // A root, an array, and what is in it, each with one more inside: of another shape, or of its own as in a tree.
    for (inside, counted) in [(3, 400), (2, 800)] {
        let mut objects: Vec<Object> = vec![(0, 10, vec![1]), (1, 10, (2..2 + COUNT).collect())];
        objects.extend((0..COUNT).map(|at| (2, 100, vec![2 + COUNT + at])));
        objects.extend((0..COUNT).map(|_| (inside, 300, Vec::new())));
        let graph = graph(&objects, 4);
        let memory = SearchMemory::new(&graph);
        let rows =
            RowTree::build_with_paths(&graph, &starts, &mut Elements, &type_roles, &ObjectFacts::default(), memory);
        let found = GrowthSearch::new(&rows, None, &type_roles, Threshold::Bytes(1000)).find_grown_places(24);
        let [found] = &found[..] else { panic!("{found:?}") };
        assert_eq!((found.element_objects, rows.row(found.element_row).total_bytes), (counted, 160_000));
    }
}

#[test]
fn what_rows_refer_to_is_counted_once_whatever_way_leads_to_it() {
    // Both arrays have objects 3 to 6, the second has 7 and 8 too, and 3 twice; the root has 5.
    let objects: [Object; 9] = [
        (0, 10, vec![1, 2, 5]),
        (1, 10, vec![3, 4, 5, 6]),
        (2, 10, vec![3, 4, 5, 6, 7, 8, 3]),
        (3, 10, vec![]),
        (3, 10, vec![]),
        (3, 10, vec![]),
        (3, 10, vec![8]),
        (3, 10, vec![]),
        (4, 10, vec![]),
    ];
    let graph = graph(&objects, 5);
    let type_roles: Vec<TypeRole> = (100..105).map(|symbol| type_role(symbol, CodeOwner::Application)).collect();
    let rows = rows(&graph, &type_roles, 1);
    let (dominators, retained) = RetainedSizes::with_dominators(&graph, &mut |_| ());
    let children = dominators.children_when_asked();
    let causes =
        CauseAnalysis { graph: &graph, rows: &rows, dominators: &dominators, retained: &retained, children: &children };
    let row = |at: usize| rows.row_of(NodeId::new(at)).expect("a row");
    let sets = [(vec![row(1)], 103), (vec![row(2)], 103), (vec![row(1), row(2)], 104), (Vec::new(), 103)];
    assert_eq!(causes.count_referenced_objects(&sets, &type_roles), [4, 5, 1, 0]);
}
