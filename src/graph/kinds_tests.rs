//! Rules that formats with classes, threads and weak references rely on, on small heaps: each rule in one fact, and all of it
//! again behind an index.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::*;

/// A virtual machine in small: ids of class objects, of instances and of a thread.
const OBJECT_CLASS: u64 = 0x100;
const NODE_CLASS: u64 = 0x110;
const CLASS_CLASS: u64 = 0x120;
const LOADER: u64 = 0x130;
const FIRST: u64 = 0x200;
const SECOND: u64 = 0x210;
const THREAD: u64 = 0x220;

struct Java {
    builder: GraphBuilder,
    section: SectionId,
    types: Vec<TypeSlot>,
}

/// Three classes (`java.lang.Object`, `app.Node` derived from it, `java.lang.Class`); the first and the last are roots.
fn java() -> Java {
    let mut builder = GraphBuilder::new(IdStyle::Prefixed);
    builder.objects_hold_class = true;
    let section = builder.begin_section(Section::default());
    let (next, value) = (builder.intern_text("next"), builder.intern_text("value"));
    let field = |name, kind, is_static| Field { name, kind, is_static };
    let fields = [field(next, FieldKind::Reference, false), field(value, FieldKind::Reference, true)];
    let mut types = Vec::new();
    for (name, class_object, loader, fields) in [
        ("java.lang.Object", OBJECT_CLASS, LoaderRecord::Runtime, &[field(value, FieldKind::Int, false)][..]),
        ("app.Node", NODE_CLASS, LoaderRecord::Object(LOADER), &fields[..]),
        ("java.lang.Class", CLASS_CLASS, LoaderRecord::Runtime, &[]),
    ] {
        let slot = builder.new_type();
        builder.name_type_apart(slot, name, None);
        let superclass = (slot.0 > 0).then_some(TypeSlot(0));
        let fields = fields.to_vec();
        let record = TypeRecord { class_object: Some(class_object), loader, superclass, fields };
        builder.describe_type(section, slot, record);
        types.push(slot);
    }
    for class in [OBJECT_CLASS, CLASS_CLASS] {
        builder.add_root(section, class, RootKind::SystemClass, RootFlags::default(), None, 0);
    }
    Java { builder, section, types }
}

impl Java {
    fn append(&mut self, fill: impl FnOnce(&mut ObjectColumns)) {
        let mut columns = ObjectColumns::default();
        fill(&mut columns);
        columns.seal();
        let slots: Vec<u32> = self.types.iter().map(|slot| slot.0).collect();
        self.builder.append(self.section, &columns, 0..columns.len(), &slots, 0, true).unwrap();
    }

    fn classes_and_objects(&mut self, first: &[(u64, bool)]) {
        self.append(|columns| {
            // Out of order, so that objects are gathered.
            columns.push_object(SECOND, 1, 16, 1);
            columns.push_object(FIRST, 1, 16, 2);
            for &(target, is_weak) in first {
                if is_weak { columns.push_weak_reference(target) } else { columns.push_reference(target) }
            }
            for class in [OBJECT_CLASS, NODE_CLASS, CLASS_CLASS] {
                columns.push_object(class, 2, 100, 3);
            }
            columns.push_object(LOADER, 0, 8, 6);
            columns.push_object(THREAD, 0, 8, 7);
        });
    }

    fn graph(self) -> HeapGraph {
        self.builder.resolve(ResolveOptions::default()).0
    }
}

fn node(graph: &HeapGraph, id: u64) -> NodeId {
    match graph.find_by_id(None, id) {
        IdLookup::One(node) => node,
        other => panic!("{id:x}: {other:?}"),
    }
}

/// (id, is weak) of all references.
fn references(graph: &HeapGraph, id: u64) -> Vec<(u64, bool)> {
    let all = graph.references(node(graph, id));
    assert_eq!(all.len(), all.clone().count());
    all.map(|reference| (graph.original_id(reference.node), reference.is_weak)).collect()
}

fn strong(graph: &HeapGraph, id: u64) -> Vec<u64> {
    graph.strong_references(node(graph, id)).iter().map(|&node| graph.original_id(node)).collect()
}

proptest::proptest! {
    /// Random references among objects and classes, some weak: petgraph's views have each from both of its ends.
    #[test]
    fn what_leads_out_of_a_node_leads_into_another(
        references in proptest::collection::vec((0usize..7, 0usize..7, proptest::bool::ANY), 0..40),
    ) {
        use petgraph::visit::{EdgeRef, IntoEdgeReferences, IntoNeighborsDirected, IntoNodeIdentifiers};
        use petgraph::Direction::{Incoming, Outgoing};
        fn from_both_ends<G>(view: G) -> [Vec<(NodeId, NodeId)>; 3]
        where
            G: IntoNeighborsDirected<NodeId = NodeId> + IntoNodeIdentifiers + IntoEdgeReferences,
        {
            let out = view.node_identifiers().flat_map(|from| {
                view.neighbors_directed(from, Outgoing).map(move |to| (from, to))
            });
            let into = view.node_identifiers().flat_map(|to| {
                view.neighbors_directed(to, Incoming).map(move |from| (from, to))
            });
            let edges = view.edge_references().map(|edge| (edge.source(), edge.target()));
            let mut ways = [out.collect::<Vec<_>>(), into.collect(), edges.collect()];
            ways.iter_mut().for_each(|way| way.sort_unstable());
            ways
        }
        let objects =
            [(FIRST, 1), (SECOND, 1), (OBJECT_CLASS, 2), (NODE_CLASS, 2), (CLASS_CLASS, 2), (LOADER, 0), (THREAD, 0)];
        let mut java = java();
        java.append(|columns| {
            for (at, (id, type_index)) in objects.into_iter().enumerate() {
                columns.push_object(id, type_index, 16, 1);
                for &(_, target, is_weak) in references.iter().filter(|(source, ..)| *source == at) {
                    let target = objects[target].0;
                    if is_weak { columns.push_weak_reference(target) } else { columns.push_reference(target) }
                }
            }
        });
        let graph = java.graph();
        let [out, into, edges] = from_both_ends(All(&graph));
        proptest::prop_assert_eq!(&out, &into);
        proptest::prop_assert_eq!(&out, &edges);
        let class = (node(&graph, FIRST), node(&graph, NODE_CLASS));
        proptest::prop_assert!(out.binary_search(&class).is_ok(), "a class that is no root is held by its objects");
        let [strong, held, edges] = from_both_ends(&graph);
        proptest::prop_assert_eq!(&strong, &held);
        proptest::prop_assert_eq!(&strong, &edges);
        proptest::prop_assert!(strong.iter().all(|edge| out.binary_search(edge).is_ok()));
    }
}

/// A graph behind an index.
#[derive(Default)]
struct Columns(BTreeMap<String, Arc<Words>>);

#[derive(Debug)]
struct Words(Vec<u64>, usize);

impl MappedImage for Words {
    fn verify(&self, _: Range<usize>) -> bool {
        true
    }

    fn bytes(&self, range: Range<usize>) -> &[u8] {
        &bytemuck::cast_slice(&self.0)[range]
    }

    fn mark_damaged(&self, reason: &'static str) {
        panic!("{reason}");
    }
}

impl ColumnSink for Columns {
    fn put_column(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        assert!(self.0.insert(name.into(), Arc::new(Words(words, bytes.len()))).is_none(), "{name} twice");
        Ok(())
    }
}

impl ColumnSource for Columns {
    fn find_column(&self, name: &str) -> Option<(Arc<dyn MappedImage>, Range<usize>)> {
        let words = Arc::clone(self.0.get(name)?);
        let bytes = words.1;
        Some((words, 0..bytes))
    }
}

fn stored(graph: &HeapGraph) -> HeapGraph {
    let mut columns = Columns::default();
    let stored = graph.store(&mut columns).unwrap();
    HeapGraph::from_stored(&stored, &columns).expect("what was stored")
}

#[test]
fn weak_references_keep_their_places_and_hold_nothing() {
    let mut java = java();
    let first =
        [(SECOND, false), (THREAD, true), (0, true), (LOADER, true), (0x999, true), (SECOND, false), (FIRST, true)];
    java.classes_and_objects(&first);
    let graph = java.graph();
    for graph in [&graph, &stored(&graph)] {
        assert_eq!(strong(graph, FIRST), [SECOND, SECOND, NODE_CLASS]);
        let all =
            [(SECOND, false), (THREAD, true), (LOADER, true), (SECOND, false), (FIRST, true), (NODE_CLASS, false)];
        assert_eq!(references(graph, FIRST), all);
        assert_eq!((graph.weak_reference_count(), graph.strong_reference_count()), (3, 4));
        assert_eq!(graph.reference_count(), graph.nodes().map(|node| graph.references(node).len()).sum::<usize>());
        let of_thread: Vec<Reference> = graph.referrers(node(graph, THREAD)).collect();
        assert_eq!(of_thread, [Reference { node: node(graph, FIRST), is_weak: true }]);
        assert!(graph.strong_referrers(node(graph, THREAD)).is_empty());
        assert_eq!(graph.referrers(node(graph, SECOND)).filter(|referrer| !referrer.is_weak).count(), 2);
    }
    assert_eq!(graph.sections()[0].null_references, 1);
    assert_eq!(graph.sections()[0].dangling_references, 1);
}

#[test]
fn a_weak_reference_at_the_head_of_a_block_has_its_place_in_the_whole_list() {
    let mut java = java();
    java.append(|columns| {
        columns.push_object(FIRST, 1, 16, 1);
        columns.push_reference(SECOND);
        columns.push_weak_reference(SECOND);
    });
    for _ in 0..2 {
        java.append(|columns| {
            columns.push_reference(FIRST);
            columns.push_weak_reference(FIRST);
        });
    }
    java.append(|columns| columns.push_object(SECOND, 1, 16, 9));
    let graph = java.graph();
    let all = [(SECOND, false), (SECOND, true), (FIRST, false), (FIRST, true), (FIRST, false), (FIRST, true)];
    assert_eq!(references(&graph, FIRST), all);
}

#[test]
fn objects_hold_their_class_where_that_changes_what_is_held() {
    let mut java = java();
    java.classes_and_objects(&[(SECOND, false)]);
    let mut graph = java.graph();
    assert_eq!(strong(&graph, FIRST), [SECOND, NODE_CLASS]);
    // Classes of system classes are roots already: not stored, shown all the same.
    assert!(strong(&graph, LOADER).is_empty());
    assert_eq!(references(&graph, LOADER), [(OBJECT_CLASS, false)]);
    assert_eq!(references(&graph, NODE_CLASS), [(CLASS_CLASS, false)]);
    let count = graph.reference_count();
    assert_eq!(count, graph.nodes().map(|node| graph.references(node).len()).sum::<usize>());

    let mut again = stored(&graph);
    for graph in [&mut graph, &mut again] {
        assert!(graph.strong_referrers(node(graph, OBJECT_CLASS)).is_empty());
        graph.exclude_roots(&["system-class".into()]);
        assert_eq!(strong(graph, FIRST), [SECOND, NODE_CLASS]);
        assert_eq!(strong(graph, LOADER), [OBJECT_CLASS]);
        assert_eq!(references(graph, LOADER), [(OBJECT_CLASS, false)]);
        assert_eq!(graph.strong_referrers(node(graph, OBJECT_CLASS)).len(), 2);
        assert_eq!(graph.reference_count(), count);
    }
}

#[test]
fn types_say_what_the_dump_says() {
    let mut java = java();
    java.classes_and_objects(&[]);
    let graph = java.graph();
    for graph in [&graph, &stored(&graph)] {
        let types = graph.types();
        let ids: Vec<TypeId> = types.ids().collect();
        let (object, app, class) = (ids[0], ids[1], ids[2]);
        assert_eq!(types.name(app), "app.Node");
        assert_eq!(types.loader(object), Loader::Runtime);
        assert_eq!(types.loader(app), Loader::Object(node(graph, LOADER)));
        assert_eq!(types.superclass_chain(app).collect::<Vec<_>>(), [app, object]);
        assert_eq!(types.class_object(class), Some(node(graph, CLASS_CLASS)));
        assert_eq!(types.type_of_class_object(node(graph, NODE_CLASS)), Some(app));
        assert_eq!(types.type_of_class_object(node(graph, FIRST)), None);
        let names: Vec<(TypeId, &str)> =
            types.instance_fields(app).map(|(declaring, field)| (declaring, types.text(field.name))).collect();
        assert_eq!(names, [(app, "next"), (object, "value")]);
        assert_eq!(types.fields(app).iter().filter(|field| field.is_static).count(), 1);
        assert!(types.fields(class).is_empty() && !types.have_modules());
    }
}

#[test]
fn what_lies_on_a_stack_is_held_by_its_thread_where_that_is_an_object() {
    let mut java = java();
    let kind = RootKind::JavaFrame;
    // The record comes before its thread: other writers have it so.
    let local = RootRecord { thread_serial: Some(7), frame_index: Some(1), ..RootRecord::new(SECOND, kind, 0) };
    java.builder.add_root_record(java.section, local);
    java.builder
        .add_root_record(java.section, RootRecord { thread_serial: Some(8), ..RootRecord::new(FIRST, kind, 0) });
    java.builder.add_root_record(java.section, RootRecord::new(FIRST, RootKind::Unreachable, 0));
    java.builder.add_root_record(
        java.section,
        RootRecord { thread_serial: Some(7), ..RootRecord::new(THREAD, RootKind::Thread, 0) },
    );
    java.classes_and_objects(&[]);
    let mut frame = |method: &str, line| StackFrame {
        method: java.builder.intern_text(method),
        class: Some(java.types[1]),
        signature: None,
        source_file: Some(java.builder.intern_text("Node.java")),
        line,
    };
    let frames = vec![frame("inner", SourceLine::Native), frame("outer", SourceLine::Number(42))];
    let name = Some(java.builder.intern_text("main"));
    let stack = java.builder.add_stack(frames).expect("there is memory");
    java.builder.add_thread(java.section, ThreadRecord { name, serial: 7, object_id: Some(THREAD), stack });
    java.builder
        .add_thread(java.section, ThreadRecord { serial: 8, object_id: Some(0x999), ..ThreadRecord::default() });
    let mut graph = java.graph();
    graph.name_threads(|_, thread| Some(format!("thread {}", thread.serial)));
    let mut again = stored(&graph);
    for graph in [&mut graph, &mut again] {
        let thread = &graph.threads()[0];
        assert_eq!((thread.serial, thread.node), (7, Some(node(graph, THREAD))));
        assert_eq!(thread.name.map(|name| graph.name(name)), Some("main"));
        assert_eq!(graph.threads()[1].name.map(|name| graph.name(name)), Some("thread 8"));
        let lines: Vec<SourceLine> = graph.frames_of(thread).iter().map(|frame| frame.line).collect();
        assert_eq!(lines, [SourceLine::Native, SourceLine::Number(42)]);

        let roots: Vec<&Root> = graph.roots().iter().filter(|root| root.kind == kind).collect();
        let frame = graph.frame_of(roots[0]).expect("a frame");
        assert_eq!((graph.name(frame.method), frame.line), ("outer", SourceLine::Number(42)));
        assert!(roots[0].is_through_thread && !roots[0].is_strong() && !roots[0].is_weak());
        // A thread without an object holds nothing: its roots stand for themselves.
        assert!(roots[1].is_strong() && graph.frame_of(roots[1]).is_none());
        assert!(graph.roots().iter().any(|root| root.kind == RootKind::Unreachable && root.is_weak()));
        assert_eq!(strong(graph, THREAD), [SECOND]);
        assert_eq!(graph.dependent_reference_count(), 0);

        graph.exclude_roots(&["java-frame".into()]);
        assert!(strong(graph, THREAD).is_empty());
        assert!(graph.strong_roots().all(|root| root.kind != kind));
    }
}
