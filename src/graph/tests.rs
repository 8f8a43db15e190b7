//! The builder's rules on small heaps, each in one fact.

use super::*;

fn columns(objects: &[Object<'_>]) -> ObjectColumns {
    let mut columns = ObjectColumns::default();
    for (line, &(id, type_index, bytes, references)) in objects.iter().enumerate() {
        columns.push_object(id, type_index, bytes, line as u64 + 1);
        references.iter().for_each(|&reference| columns.push_reference(reference));
    }
    columns.seal();
    columns
}

/// (id, type, bytes, references)
type Object<'a> = (u64, u32, u64, &'a [u64]);

fn build(sections: &[&[Object<'_>]]) -> (HeapGraph, ResolveCounts) {
    let mut builder = GraphBuilder::new(IdStyle::Hex);
    let types: Vec<u32> = ["A", "B"]
        .iter()
        .map(|name| {
            let slot = builder.new_type();
            builder.name_type(slot, name);
            slot.0
        })
        .collect();
    for objects in sections {
        let section = builder.begin_section(Section::default());
        let columns = columns(objects);
        builder.append(section, &columns, 0..columns.len(), &types, 0, true).unwrap();
    }
    builder.resolve(ResolveOptions::default())
}

fn ids(graph: &HeapGraph, nodes: &[NodeId]) -> Vec<u64> {
    nodes.iter().map(|&node| graph.original_id(node)).collect()
}

fn node(graph: &HeapGraph, id: u64) -> NodeId {
    match graph.find_by_id(None, id) {
        IdLookup::One(node) => node,
        other => panic!("{id:x}: {other:?}"),
    }
}

#[test]
fn references_keep_order_and_repeats_while_nulls_and_danglings_are_counted() {
    let (graph, problems) = build(&[&[(0x10, 0, 16, &[0x20, 0, 0x20, 0x99, 0x10]), (0x20, 1, 8, &[])]]);
    assert_eq!(ids(&graph, graph.strong_references(node(&graph, 0x10))), [0x20, 0x20, 0x10]);
    assert_eq!(problems.null_references, 1);
    assert_eq!(problems.dangling_references, Occurrences { count: 1, first_position: 1 });
    assert_eq!(ids(&graph, graph.strong_referrers(node(&graph, 0x10))), [0x10]);
}

#[test]
fn objects_out_of_order_become_nodes_in_order_of_id() {
    let (graph, _) =
        build(&[&[(0x30, 0, 1, &[0x10]), (0x10, 1, u64::from(u32::MAX) + 7, &[0x30, 0x20]), (0x20, 0, 3, &[])]]);
    assert_eq!(graph.nodes().map(|n| graph.original_id(n)).collect::<Vec<_>>(), [0x10, 0x20, 0x30]);
    assert_eq!(graph.shallow_bytes(node(&graph, 0x10)), u64::from(u32::MAX) + 7);
    assert_eq!(graph.type_name(graph.type_of(node(&graph, 0x10))), "B");
    assert_eq!(ids(&graph, graph.strong_references(node(&graph, 0x10))), [0x30, 0x20]);
    assert_eq!(ids(&graph, graph.strong_references(node(&graph, 0x30))), [0x10]);
}

#[test]
fn first_of_two_objects_of_one_id_is_kept() {
    let (graph, problems) =
        build(&[&[(0x10, 0, 16, &[0x20]), (0x20, 0, 8, &[]), (0x10, 0, 16, &[0x20]), (0x20, 0, 9, &[0x77])]]);
    assert_eq!(graph.node_count(), 2);
    assert_eq!(graph.shallow_bytes(node(&graph, 0x20)), 8);
    assert_eq!(problems.duplicate_objects, Occurrences { count: 1, first_position: 3 });
    assert_eq!(problems.conflicting_objects, Occurrences { count: 1, first_position: 4 });
    assert_eq!(problems.dangling_references.count, 0);
}

#[test]
fn ids_belong_to_their_section() {
    let (graph, problems) = build(&[&[(0x10, 0, 16, &[0x20]), (0x20, 0, 8, &[])], &[], &[(0x10, 1, 4, &[0x20, 0x30])]]);
    assert_eq!(graph.node_count(), 3);
    assert_eq!(problems.dangling_references.count, 2);
    assert_eq!(problems.cross_section_references.count, 1);
    assert!(matches!(graph.find_by_id(None, 0x10), IdLookup::Several(found) if found.len() == 2));
    assert_eq!(graph.section_of(NodeId(2)), SectionId(2));
    assert_eq!(graph.display_id(NodeId(2)), "3#10");
}

#[test]
fn references_that_lead_a_block_belong_to_the_object_before() {
    let mut builder = GraphBuilder::new(IdStyle::Padded(8));
    let slot = builder.new_type();
    builder.name_type(slot, "A");
    let section = builder.begin_section(Section::default());
    let first = columns(&[(0x10, 0, 16, &[0x20]), (0x20, 0, 16, &[])]);
    builder.append(section, &first, 0..2, &[slot.0], 0, true).unwrap();
    let mut second = ObjectColumns::default();
    second.push_reference(0x10);
    second.push_reference(0x30);
    second.push_object(0x30, 0, 8, 1);
    second.push_reference(0x10);
    second.seal();
    builder.append(section, &second, 0..1, &[slot.0], 3, true).unwrap();
    let firsts: Vec<_> = builder.first_references().map(|(_, _, first)| first).collect();
    assert_eq!(firsts, [Some(0x20), Some(0x10), Some(0x10)]);
    let (graph, problems) = builder.resolve(ResolveOptions { drop_first_references: true, ..Default::default() });
    assert_eq!(problems.dropped_first_references, 3);
    assert_eq!(ids(&graph, graph.strong_references(node(&graph, 0x20))), [0x30]);
    assert!(graph.strong_references(node(&graph, 0x10)).is_empty());
    assert_eq!(graph.display_id(node(&graph, 0x20)), "0x00000020");
}

/// Lists on both sides of what a byte counts, in any order of ids, some going on in the next block, some losing references.
#[test]
fn lists_of_any_length_are_kept() {
    for is_ascending in [true, false] {
        let lengths = [0u64, 253, 254, 255, 256, 700, 3];
        let id = |at: u64| 0x1000 + 16 * if is_ascending { at } else { 99 - at };
        let mut builder = GraphBuilder::new(IdStyle::Hex);
        let slot = builder.new_type();
        builder.name_type(slot, "A");
        let section = builder.begin_section(Section::default());
        let list = |own: u64| (0..lengths[own as usize % 7]).map(move |at| if at % 128 == 2 { 7 } else { id(at % 49) });
        let mut columns = ObjectColumns::default();
        for (block, objects) in [0..20, 20..35, 35..49].into_iter().enumerate() {
            columns.clear();
            (0..130 * block as u64).for_each(|at| columns.push_reference(id(at % 49)));
            for own in objects.clone() {
                columns.push_object(id(own), 0, 16, 1);
                list(own).for_each(|to| columns.push_reference(to));
            }
            columns.seal();
            builder.append(section, &columns, 0..columns.len(), &[slot.0], 0, true).unwrap();
        }
        let (graph, problems) = builder.resolve(ResolveOptions::default());
        let mut dangling = 0;
        for own in 0..49 {
            let more = match own {
                19 => 130,
                34 => 260,
                _ => 0,
            };
            let mut wanted: Vec<u64> = list(own).filter(|&to| to != 7).collect();
            dangling += list(own).count() as u64 - wanted.len() as u64;
            wanted.extend((0..more).map(|at| id(at % 49)));
            assert_eq!(ids(&graph, graph.strong_references(node(&graph, id(own)))), wanted, "{own}");
        }
        assert_eq!(problems.dangling_references.count, dangling);
    }
}

#[test]
fn petgraph_walks_the_graph() {
    use petgraph::visit::{IntoEdgeReferences, Reversed, Walker};
    let (graph, _) = build(&[&[(1, 0, 1, &[2, 3, 3]), (2, 0, 1, &[]), (3, 0, 1, &[1]), (4, 0, 1, &[4])]]);
    let seen: Vec<_> = petgraph::visit::Dfs::new(&graph, NodeId(0)).iter(&graph).collect();
    assert_eq!(seen.len(), 3);
    let back: Vec<_> = petgraph::visit::Bfs::new(Reversed(&graph), NodeId(1)).iter(Reversed(&graph)).collect();
    assert_eq!(back, [NodeId(1), NodeId(0), NodeId(2)]);
    assert_eq!((&graph).edge_references().count(), 5);
    assert_eq!(petgraph::algo::kosaraju_scc(&graph).len(), 3);
}
