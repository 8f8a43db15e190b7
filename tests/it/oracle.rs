//! Random heaps: analyses against the definition and against petgraph.

use crate::common::graph;
use crate::common::heap::{Heap, HeapRoot, Object, TYPES, Target};
use crate::common::synth::xna_cf;
use heapdump::analysis::dominators::{Dominator, DominatorNode, Dominators, StoredDominators};
use heapdump::analysis::histogram::tally_types;
use heapdump::analysis::merged_paths::{MergeOptions, merge_root_paths};
use heapdump::analysis::reachability::add_unreachable_roots;
use heapdump::analysis::reachability::compute_reachable;
use heapdump::analysis::retained::RetainedSizes;
use heapdump::analysis::retained_sets::{retained_exact_by_set, retained_lower_bound_by_set};
use heapdump::analysis::root_paths::RootsByNode;
use heapdump::analysis::root_paths::{RootPaths, find_root_paths};
use heapdump::analysis::shortest_parents::ShortestParents;
use heapdump::analysis::type_tree::TypeTree;
use heapdump::files::{self, Inputs};
use heapdump::graph::{HeapGraph, NodeId, RootKind, StoredGraph, TypeId};
use heapdump::index::{self, Index};
use petgraph::graph::{DiGraph, NodeIndex};
use proptest::prelude::*;

/// Heaps of `size` objects with `density` references each on average: unreachable parts, cycles, parallel and self
/// references, several roots on one object, weak roots.
pub(crate) fn heaps(size: usize, density: usize) -> impl Strategy<Value = Heap> {
    (1..=size).prop_flat_map(move |count| {
        let object = (0..TYPES.len(), 0u64..500, proptest::collection::vec(0..count, 0..=2 * density));
        let root = (0..count, 0u32..6, prop_oneof![3 => Just(0u32), 1 => Just(1), 1 => Just(2), 1 => Just(3)]);
        (proptest::collection::vec(object, count), proptest::collection::vec(root, 0..=3)).prop_map(
            |(objects, roots)| Heap {
                objects: objects
                    .into_iter()
                    .map(|(type_number, bytes, targets)| Object {
                        type_name: TYPES[type_number],
                        bytes,
                        references: targets.into_iter().map(Target::Object).collect(),
                    })
                    .collect(),
                roots: roots.into_iter().map(|(object, kind, flags)| HeapRoot { object, kind, flags }).collect(),
            },
        )
    })
}

/// Immediate dominators by petgraph, from a virtual root behind all objects.
fn petgraph_dominators(heap: &Heap) -> Vec<Option<usize>> {
    let count = heap.objects.len();
    let mut graph = DiGraph::<(), ()>::new();
    (0..=count).for_each(|_| {
        graph.add_node(());
    });
    for object in 0..count {
        for target in heap.targets(object) {
            graph.add_edge(NodeIndex::new(object), NodeIndex::new(target), ());
        }
    }
    for start in heap.strong_starts() {
        graph.add_edge(NodeIndex::new(count), NodeIndex::new(start), ());
    }
    let dominators = petgraph::algo::dominators::simple_fast(&graph, NodeIndex::new(count));
    (0..count).map(|object| dominators.immediate_dominator(NodeIndex::new(object)).map(NodeIndex::index)).collect()
}

fn our_dominators(graph: &HeapGraph) -> Vec<Option<usize>> {
    let dominators = Dominators::compute(graph);
    graph
        .nodes()
        .map(|node| match dominators.dominator_of(node) {
            Dominator::Unreachable => None,
            Dominator::Roots => Some(graph.node_count()),
            Dominator::Node(node) => Some(node.index()),
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn analyses_agree_with_the_definition(heap in heaps(14, 2)) {
        let (graph, _) = graph(xna_cf(&heap).as_bytes());
        let starts = heap.strong_starts();
        let reached = heap.reach(&starts, None);
        let distances = heap.distances(&starts);
        let everywhere = heap.distances(&heap.roots.iter().map(|root| root.object).collect::<Vec<_>>());
        let dominators = Dominators::compute(&graph);
        let retained = RetainedSizes::compute(&graph, &dominators);
        let reachable = compute_reachable(&graph);
        for object in 0..heap.objects.len() {
            let node = NodeId::new(object);
            prop_assert_eq!(reachable.contains(node), reached[object]);
            prop_assert_eq!(retained.bytes_of(&dominators, node), heap.retained_bytes(object));
            let paths = find_root_paths(&graph, node, 0, false, |_| false);
            prop_assert_eq!(paths.get(0).map(|path| path.length), distances[object]);
            let weak_too = find_root_paths(&graph, node, 1, true, |_| false);
            prop_assert_eq!(weak_too.get(0).map(|path| path.length), everywhere[object]);
            for path in paths.iter() {
                let nodes: Vec<NodeId> = path.nodes().collect();
                prop_assert!(path.root.is_strong() && path.root.node == nodes[0] && nodes[path.length] == node);
                prop_assert!(nodes.windows(2).all(|step| graph.strong_references(step[0]).contains(&step[1])));
            }
            prop_assert!(paths.iter().is_sorted_by_key(|path| path.length));
            // One path from each strongly rooted object that reaches it.
            let mut holders: Vec<usize> =
                starts.iter().copied().filter(|&start| heap.reach(&[start], None)[object]).collect();
            holders.sort_unstable();
            holders.dedup();
            let mut from: Vec<usize> = paths.iter().map(|path| path.start().index()).collect();
            from.sort_unstable();
            prop_assert_eq!(from, holders);
        }
        let tallies = tally_types(&graph, &reachable, 0..graph.node_count());
        for (name, (objects, bytes, reachable_objects, reachable_bytes)) in heap.histogram() {
            let type_id = (0..graph.type_count()).find(|&t| graph.type_name(TypeId::new(t)) == name).unwrap();
            let tally = &tallies[type_id];
            prop_assert_eq!(
                (tally.objects, tally.shallow_bytes, tally.reachable_objects, tally.reachable_bytes),
                (objects, bytes, reachable_objects, reachable_bytes)
            );
        }
    }

    #[test]
    fn an_index_gives_back_what_was_put_in(heap in heaps(14, 2)) {
        let (graph, _) = graph(xna_cf(&heap).as_bytes());
        let dominators = Dominators::compute(&graph);
        let retained = RetainedSizes::compute(&graph, &dominators);
        // In memory where there is such a folder: an index is on the disk before it has its name.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let path = folder.path().join("heap.hdx");
        let target = files::OutputTarget::find(Some(&path), &Inputs::new()).unwrap();
        index::write(&target, None, |sink| {
            ShortestParents::compute(&graph).store(sink)?;
            Ok((graph.store(sink)?, dominators.store(&retained, sink)?))
        })
        .unwrap();
        let index = Index::open(&path).unwrap();
        let (stored_graph, stored_tree): (StoredGraph, StoredDominators) = index.json_content().unwrap();
        let columns = index.into_columns();
        let again = HeapGraph::from_stored(&stored_graph, &columns).unwrap();
        let (tree, sizes) = Dominators::from_stored(stored_tree, &again, &columns).unwrap();
        let parents = ShortestParents::from_stored(&again, &columns).unwrap();
        prop_assert_eq!(again.node_count(), graph.node_count());
        for node in graph.nodes() {
            prop_assert_eq!(again.original_id(node), graph.original_id(node));
            prop_assert_eq!(again.find_by_id(None, graph.original_id(node)), graph.find_by_id(None, graph.original_id(node)));
            prop_assert_eq!(again.type_name(again.type_of(node)), graph.type_name(graph.type_of(node)));
            prop_assert_eq!(again.shallow_bytes(node), graph.shallow_bytes(node));
            prop_assert_eq!(again.strong_references(node), graph.strong_references(node));
            prop_assert_eq!(again.strong_referrers(node), graph.strong_referrers(node));
            prop_assert_eq!(tree.dominator_of(node), dominators.dominator_of(node));
            prop_assert_eq!(sizes.bytes_of(&tree, node), retained.bytes_of(&dominators, node));
            let nodes = |paths: &RootPaths| paths.get(0).map(|path| path.nodes().collect::<Vec<NodeId>>());
            let path = parents.path_to(&again, &RootsByNode::new(&again), node);
            let found = find_root_paths(&graph, node, 1, false, |_| false);
            prop_assert_eq!(path.as_ref().and_then(nodes), nodes(&found));
        }
        prop_assert_eq!(format!("{:?}", again.roots()), format!("{:?}", graph.roots()));
    }

    #[test]
    fn dominators_agree_with_petgraph(heap in heaps(60, 2)) {
        let (graph, _) = graph(xna_cf(&heap).as_bytes());
        prop_assert_eq!(our_dominators(&graph), petgraph_dominators(&heap));
    }

    #[test]
    fn kept_unreachable_objects_are_reached_from_one_root_a_source(heap in heaps(14, 1)) {
        let (mut graph, _) = graph(xna_cf(&heap).as_bytes());
        let before: Vec<usize> = heap.strong_starts();
        let reached = heap.reach(&before, None);
        add_unreachable_roots(&mut graph);
        let added: Vec<usize> = graph
            .roots()
            .iter()
            .filter(|root| root.kind == RootKind::Unreachable)
            .map(|root| root.node.index())
            .collect();
        prop_assert!(compute_reachable(&graph).len() == heap.objects.len());
        for &root in &added {
            prop_assert!(!reached[root]);
            // Nothing that was kept reaches it but what it reaches itself.
            let own = heap.reach(&[root], None);
            for other in (0..heap.objects.len()).filter(|&other| heap.reach(&[other], None)[root]) {
                prop_assert!(own[other] && other >= root);
            }
        }
    }
}

/// As many types as a small heap has objects, so that merged trees tell every object apart.
const DISTINCT: [&str; 14] =
    ["T.A", "T.B", "T.C", "T.D", "T.E", "T.F", "T.G", "T.H", "T.I", "T.J", "T.K", "T.L", "T.M", "T.N"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn merged_trees_agree_with_the_definition(mut heap in heaps(14, 2), wanted in proptest::collection::vec(any::<bool>(), 14)) {
        heap.objects.iter_mut().enumerate().for_each(|(number, object)| object.type_name = DISTINCT[number]);
        let (graph, _) = graph(xna_cf(&heap).as_bytes());
        let starts = heap.strong_starts();
        let distances = heap.distances(&starts);
        let is_wanted = |node: NodeId| wanted[node.index()];
        let merging = MergeOptions { includes_weak_roots: false, shows_loader_steps: true };
        let merged = merge_root_paths(&graph, is_wanted, |_| false, merging, |node| graph.shallow_bytes(node), None);
        let reached: Vec<usize> = (0..heap.objects.len()).filter(|&o| wanted[o] && distances[o].is_some()).collect();
        prop_assert_eq!(merged.reached_objects, reached.len() as u64);
        let tops = merged.rows.iter().filter(|row| row.parent.is_none());
        prop_assert_eq!(tops.map(|row| row.objects).sum::<u64>(), reached.len() as u64);
        for row in &merged.rows {
            let object = DISTINCT.iter().position(|name| *name == graph.type_name(row.type_id)).unwrap();
            prop_assert_eq!(Some(row.depth), distances[object]);
            let below: u64 = merged.rows.iter().filter(|other| other.parent.map(|above| merged.rows[above].type_id) == Some(row.type_id)).map(|other| other.objects).sum();
            prop_assert_eq!(row.objects, below + u64::from(wanted[object]));
            prop_assert_eq!(row.root.is_some(), row.parent.is_none());
        }

        let dominators = Dominators::compute(&graph);
        let _retained = RetainedSizes::compute(&graph, &dominators);
        let tree = TypeTree::build(&graph, &dominators, &dominators.children(), dominators.children_of(DominatorNode::ROOT), 100, None);
        prop_assert_eq!(tree.places.len(), dominators.reached_count());
        for place in &tree.places {
            let object = DISTINCT.iter().position(|name| *name == graph.type_name(place.type_id)).unwrap();
            prop_assert_eq!(Some(place.retained_bytes), heap.retained_bytes(object));
        }
    }

    #[test]
    fn retained_sizes_of_types_agree_with_the_definition(heap in heaps(14, 2)) {
        let (graph, _) = graph(xna_cf(&heap).as_bytes());
        let starts = heap.strong_starts();
        let bytes_of = |reached: &[bool]| -> u64 {
            (0..reached.len()).filter(|&o| reached[o]).map(|o| heap.objects[o].bytes).sum()
        };
        let reachable_bytes = bytes_of(&heap.reach(&starts, None));
        let dominators = Dominators::compute(&graph);
        let retained = RetainedSizes::compute(&graph, &dominators);
        let set_of = |node: NodeId| graph.type_of(node).index() as u32;
        let sets: Vec<u32> = (0..graph.type_count() as u32).collect();
        let told = std::cell::RefCell::new(Vec::new());
        let progress = |done| told.borrow_mut().push(done);
        let exact = retained_exact_by_set(&graph, &sets, set_of, u64::MAX, progress).expect("allowed");
        assert!(told.borrow().is_sorted() && told.borrow().last().is_none_or(|done| *done == sets.len()));
        let least = retained_lower_bound_by_set(&dominators, &retained, &dominators.children(), DominatorNode::ROOT, sets.len(), set_of);
        for set in sets {
            let name = graph.type_name(TypeId::new(set as usize));
            let mut without = heap.clone();
            // Taken out: nothing leads to them and they lead nowhere.
            for object in 0..heap.objects.len() {
                let gone = |target: &Target| matches!(target, Target::Object(o) if heap.objects[*o].type_name == name);
                without.objects[object].references.retain(|target| !gone(target));
            }
            without.roots.retain(|root| heap.objects[root.object].type_name != name);
            let left = bytes_of(&without.reach(&without.strong_starts(), None));
            prop_assert_eq!(exact[set as usize], reachable_bytes - left);
            prop_assert!(least[set as usize].retained_bytes <= exact[set as usize]);
            prop_assert!(least[set as usize].objects > 1 || least[set as usize].retained_bytes == exact[set as usize]);
        }
    }
}

/// An array that also holds the nodes of a list, entered list first: climbs become long, so buckets must take over,
/// and they must be right.
#[test]
fn long_climbs_agree_with_petgraph() {
    for length in [10, 100, 700] {
        let mut heap = Heap::default();
        let list: Vec<usize> = (0..length).map(|_| heap.object("demo.Node", 16)).collect();
        let items: Vec<usize> = (0..length).map(|_| heap.object("demo.Leaf", 8)).collect();
        let array = heap.object("demo.deep.Holder", 80);
        for at in 0..length {
            if at + 1 < length {
                heap.refer(list[at], list[at + 1]);
            }
            heap.refer(list[at], items[at]);
            heap.refer(array, items[at]);
            heap.refer(items[at], list[at]);
        }
        heap.root(list[0]);
        heap.root(array);
        let (graph, _) = graph(xna_cf(&heap).as_bytes());
        assert_eq!(our_dominators(&graph), petgraph_dominators(&heap));
    }
}
