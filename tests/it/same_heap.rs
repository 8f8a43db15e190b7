//! One heap written in every format gives the same answers.

use std::collections::BTreeMap;

use crate::common::graph;
use crate::common::heap::{Heap, HeapRoot, Object, TYPES, Target};
use crate::common::synth::{FORMS_OF_LINES, SHAPES, Shape, heapgraph, ibm_classic, xna_cf};
use crate::common::synth_dotnet::nettrace;
use crate::common::synth_hprof::{FORMS, hprof};
use crate::common::synth_phd::{FORMS as FORMS_OF_PHD, phd};
use crate::common::synth_v8::{FORMS as FORMS_OF_V8, v8_snapshot};
use heapdump::analysis::dominators::Dominators;
use heapdump::analysis::retained::RetainedSizes;
use heapdump::analysis::root_paths::find_root_paths;
use heapdump::graph::{HeapGraph, IdLookup, NodeId};
use proptest::prelude::*;

/// Writes a heap in all shapes of a format.
type Writer = fn(&Heap) -> Vec<Vec<u8>>;

/// Formats that a heap is written in.
pub const WRITERS: [(&str, Writer); 7] = [
    ("xna-cf", |heap| vec![xna_cf(heap).into_bytes()]),
    ("heapgraph", |heap| FORMS_OF_LINES.map(|form| heapgraph(heap, form).into_bytes()).into()),
    ("ibm-classic", |heap| SHAPES.map(|shape| ibm_classic(heap, shape).into_bytes()).into()),
    ("hprof", |heap| FORMS.map(|form| hprof(heap, form)).into()),
    ("phd", |heap| FORMS_OF_PHD.map(|form| phd(heap, form)).into()),
    ("v8-snapshot", |heap| FORMS_OF_V8.map(|form| v8_snapshot(heap, form)).into()),
    ("nettrace", |heap| [false, true].map(|reversed| nettrace(heap, reversed)).into()),
];

fn node(graph: &HeapGraph, number: usize) -> NodeId {
    match graph.find_by_id(None, Heap::address(number)) {
        IdLookup::One(node) => node,
        other => panic!("object {number}: {other:?}"),
    }
}

/// All answers about a heap, by object number.
#[derive(Debug, PartialEq)]
struct Answers {
    types: BTreeMap<String, (u64, u64)>,
    references: Vec<Vec<u64>>,
    retained: Vec<Option<u64>>,
    distances: Vec<Option<usize>>,
    dangling: u64,
}

fn answers(graph: &HeapGraph) -> Answers {
    let dominators = Dominators::compute(graph);
    let retained = RetainedSizes::compute(graph, &dominators);
    let mut types: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    // Java's class objects have no part in a heap that is written in every format.
    let is_class = |node: NodeId| graph.type_name(graph.type_of(node)) == "java.lang.Class";
    let nodes: Vec<NodeId> = graph.nodes().filter(|&node| !is_class(node)).collect();
    for &node in &nodes {
        let row = types.entry(graph.type_name(graph.type_of(node)).to_string()).or_default();
        row.0 += 1;
        row.1 += graph.shallow_bytes(node);
    }
    Answers {
        types,
        references: nodes
            .iter()
            .map(|&node| graph.references(node).map(|target| target.node).filter(|&target| !is_class(target)))
            .map(|targets| targets.map(|target| graph.original_id(target)).collect())
            .collect(),
        retained: nodes.iter().map(|&node| retained.bytes_of(&dominators, node)).collect(),
        distances: nodes
            .iter()
            .map(|&node| find_root_paths(graph, node, 1, false, |_| false).get(0).map(|path| path.length))
            .collect(),
        dangling: graph.sections().iter().map(|section| section.dangling_references).sum(),
    }
}

/// Roots by kind, but for those of class objects.
fn roots_of(graph: &HeapGraph) -> Vec<(String, NodeId)> {
    let named = graph.roots().iter().map(|root| (root.kind.name(), root.node));
    let mut roots: Vec<(String, NodeId)> = named.filter(|(kind, _)| kind != "class").collect();
    roots.sort();
    roots
}

fn expected_roots(graph: &HeapGraph, inferred: &[(&'static str, usize)]) -> Vec<(String, NodeId)> {
    let mut roots: Vec<_> = inferred.iter().map(|&(kind, object)| (kind.to_string(), node(graph, object))).collect();
    roots.sort();
    roots
}

fn heaps() -> impl Strategy<Value = Heap> {
    let target = prop_oneof![6 => (0usize..20).prop_map(Some), 1 => Just(None)];
    let object = (0..TYPES.len(), 2u64..200, proptest::collection::vec(target, 0..5), any::<bool>());
    proptest::collection::vec(object, 1..20).prop_map(|objects| {
        let count = objects.len();
        let objects = objects
            .into_iter()
            .map(|(type_number, bytes, targets, nulls)| Object {
                type_name: TYPES[type_number],
                bytes: bytes * 8,
                references: targets
                    .into_iter()
                    .map(|target| match target {
                        Some(number) => Target::Object(number % count),
                        None if nulls => Target::Null,
                        None => Target::Missing,
                    })
                    .collect(),
            })
            .collect();
        Heap { objects, roots: Vec::new() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_heap_has_the_same_answers_in_every_format(mut heap in heaps()) {
        let inferred = heap.inferred_roots();
        heap.roots = inferred.iter().map(|&(_, object)| HeapRoot { object, kind: 1, flags: 0 }).collect();
        let (xna, _) = graph(xna_cf(&heap).as_bytes());
        let expected = answers(&xna);
        prop_assert_eq!(&expected.retained, &(0..heap.objects.len()).map(|o| heap.retained_bytes(o)).collect::<Vec<_>>());
        for (format, write) in WRITERS {
            for dump in write(&heap) {
                let (other, loaded) = graph(&dump);
                prop_assert_eq!(loaded.info.format, format);
                let text = String::from_utf8_lossy(&dump);
                prop_assert_eq!(&answers(&other), &expected, "{}: {:?}\n{}", format, loaded.diagnostics, text);
                prop_assert!(loaded.info.snapshots.iter().all(|snapshot| snapshot.complete), "{}", format);
            }
        }
        for shape in SHAPES {
            let text = ibm_classic(&heap, shape);
            let (ibm, loaded) = graph(text.as_bytes());
            prop_assert_eq!(roots_of(&ibm), expected_roots(&ibm, &inferred));
            prop_assert_eq!(loaded.info.trailer.as_deref(), Some("agrees with what was read"), "{:?}\n{}", shape, text);
        }
        for form in FORMS_OF_PHD {
            let (dump, _) = graph(&phd(&heap, form));
            prop_assert_eq!(roots_of(&dump), expected_roots(&dump, &inferred));
        }
    }
}

#[test]
fn shapes_are_told_apart() {
    let mut heap = Heap::default();
    let a = heap.object("demo.Node", 16);
    let b = heap.object("demo.Leaf", 16);
    heap.refer(a, b);
    heap.objects[a].references.push(Target::Null);
    for (shape, letter) in
        [(Shape::ClassFirst, "A"), (Shape::Native, "B"), (Shape::Jdmpview, "C"), (Shape::Sovereign, "D")]
    {
        let (_, loaded) = graph(ibm_classic(&heap, shape).as_bytes());
        assert!(loaded.info.version.as_deref().unwrap().starts_with(letter), "{:?}", loaded.info.version);
    }
}
