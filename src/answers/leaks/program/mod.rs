//! A dump made ready for the search for causes: whose its types are and what they are for, what references explain, where ways
//! begin, and the rows of the tree of best ways.

mod java;
mod natures;
mod plain;
mod symbols;

use rustc_hash::{FxHashMap, FxHashSet};

pub(super) use java::DeadLoaders;
pub(super) use natures::{Structural, simple_name, structural};
pub(super) use symbols::Symbols;

use crate::analysis::leaks::{BestPaths, CUT, Causes, ObjectFacts, Owner, RowTree, Start, Step, TypeNature, Ways};
use crate::analysis::dominators::{Children, Dominators};
use crate::analysis::retained::Retained;
use crate::answers::libraries::LibraryNames;
use crate::answers::reference_names::ReferenceNames;
use crate::answers::values::ValueReader;
use crate::answers::AnswerError;
use crate::dump::OpenDump;
use crate::graph::{HeapGraph, NodeId};
use crate::input::{ObjectDetails, Runtime, Value};

/// Buffers outside the heap that are asked one by one; of more all are asked in one pass over the dump.
const FEW_BUFFERS: usize = 1000;

/// What is known of a heap before the search.
pub(super) struct Heap<'d> {
    pub(super) graph: &'d HeapGraph,
    pub(super) runtime: Option<Runtime>,
    pub(super) details: Option<&'d dyn ObjectDetails>,
    pub(super) values: Option<ValueReader<'d>>,
    pub(super) names: Option<ReferenceNames<'d>>,
    pub(super) libraries: LibraryNames,
    pub(super) structural: &'static Structural,
    pub(super) natures: Vec<TypeNature>,
    /// Threads by their objects, with their names.
    pub(super) threads: FxHashMap<NodeId, String>,
    /// Loaders that should be gone.
    pub(super) dead: FxHashSet<NodeId>,
    pub(super) off_heap: FxHashMap<NodeId, u64>,
}

/// A heap with its tree of best ways.
pub(super) struct Program<'d> {
    pub(super) heap: Heap<'d>,
    pub(super) paths: BestPaths,
    pub(super) rows: RowTree,
    pub(super) dominators: &'d Dominators,
    pub(super) retained: &'d Retained,
    pub(super) children: Children<'d>,
}

impl<'d> Heap<'d> {
    /// What types are for, threads and buffers; which loaders should be gone is said later. O(types + threads).
    pub(super) fn new(
        dump: &'d OpenDump,
        graph: &'d HeapGraph,
        libraries: &LibraryNames,
        symbols: &mut Symbols,
    ) -> Self {
        let runtime = Runtime::of_format(&dump.info().format);
        let structural = structural(runtime);
        let libraries = libraries.clone().fit(graph);
        let mut natures: Vec<TypeNature> = graph
            .types()
            .ids()
            .map(|type_id| {
                let name = graph.type_name(type_id).replace('/', ".");
                structural.nature(runtime, &name, libraries.owner_of(&name), symbols)
            })
            .collect();
        if let Some(&(class, _)) = graph.types().class_objects().first() {
            let nature = &mut natures[graph.type_of(class).index()];
            *nature = TypeNature { has_named_objects: true, is_class: true, is_glue: false, ..*nature };
        }
        let threads: FxHashMap<NodeId, String> = graph
            .threads()
            .iter()
            .filter_map(|thread| Some((thread.node?, graph.name(thread.name?).to_string())))
            .collect();
        threads.keys().for_each(|&node| natures[graph.type_of(node).index()].has_named_objects = true);
        let values = ValueReader::of(dump);
        Heap {
            graph,
            runtime,
            details: dump.details(),
            values,
            names: ReferenceNames::of(dump),
            libraries,
            structural,
            natures,
            threads,
            dead: FxHashSet::default(),
            off_heap: off_heap(graph, values, dump.details()),
        }
    }

    pub(super) fn owner(&self, node: NodeId) -> Owner {
        match self.graph.types().of_class_object(node) {
            Some(class) => self.libraries.owner_of(self.graph.type_name(class)),
            None => self.nature(node).owner,
        }
    }

    pub(super) fn nature(&self, node: NodeId) -> &TypeNature {
        &self.natures[self.graph.type_of(node).index()]
    }

    /// The name of an object's type, with dots between packages.
    pub(super) fn type_name(&self, node: NodeId) -> String {
        self.graph.type_name(self.graph.type_of(node)).replace('/', ".")
    }

    /// Numbers of the names of classes and threads.
    fn object_symbols(&self, symbols: &mut Symbols) -> FxHashMap<NodeId, u32> {
        let types = self.graph.types();
        let classes = types.class_objects().iter();
        let classes = classes.map(|&(node, class)| (node, symbols.number(&format!("class {}", types.name(class)))));
        let mut numbers: FxHashMap<NodeId, u32> = classes.collect();
        let threads = self.threads.iter();
        numbers.extend(threads.map(|(&node, name)| (node, symbols.number(&format!("thread {}", masked(name))))));
        numbers
    }
}

impl<'d> Program<'d> {
    /// Finds the best ways and merges them. O(objects + references) beside the dominator tree.
    ///
    /// # Errors
    /// If there is not the memory for the dominator tree.
    pub(super) fn new(dump: &'d OpenDump, mut heap: Heap<'d>, loaders: DeadLoaders, symbols: &mut Symbols) -> Result<Self, AnswerError> {
        let (dominators, retained) = dump.dominators()?;
        heap.dead = loaders.stopped;
        let facts = ObjectFacts { symbols: heap.object_symbols(symbols), off_heap: std::mem::take(&mut heap.off_heap) };
        let (starts, mut ways) = heap.ways(dump, symbols);
        let mut paths = BestPaths::find(heap.graph, &starts, &mut ways);
        drop(ways);
        let rows = RowTree::merge(heap.graph, &mut paths, &heap.natures, &facts);
        heap.off_heap = facts.off_heap;
        Ok(Program { heap, paths, rows, dominators, retained, children: dominators.children() })
    }

    pub(super) fn causes(&self) -> Causes<'_> {
        Causes {
            graph: self.heap.graph,
            paths: &self.paths,
            rows: &self.rows,
            dominators: self.dominators,
            retained: self.retained,
            children: &self.children,
        }
    }
}

impl<'d> Heap<'d> {
    /// Loaders that should be gone, of a Java heap.
    pub(super) fn dead_loaders(&self, dump: &OpenDump) -> DeadLoaders {
        match self.runtime {
            Some(Runtime::Java) if !self.graph.types().class_objects().is_empty() => {
                DeadLoaders::find(self, dump.reachable())
            }
            _ => DeadLoaders::default(),
        }
    }

    fn ways<'h>(&'h self, dump: &OpenDump, symbols: &mut Symbols) -> (Vec<Start>, Box<dyn Ways + 'h>) {
        let has_classes = !self.graph.types().class_objects().is_empty();
        match self.runtime {
            Some(Runtime::Java) if has_classes => {
                (java::starts(self, dump.reachable(), symbols), Box::new(java::JavaWays::new(self, symbols)))
            }
            _ => (plain::starts(self, symbols), Box::new(plain::PlainWays::new(self))),
        }
    }
}

impl Ways for Box<dyn Ways + '_> {
    fn steps(&mut self, from: NodeId, to: &[NodeId], steps: &mut Vec<Step>) {
        (**self).steps(from, to, steps);
    }
}

/// Bytes outside the heap by the buffer that frees them: views have none of their own.
fn off_heap(
    graph: &HeapGraph,
    values: Option<ValueReader<'_>>,
    details: Option<&dyn ObjectDetails>,
) -> FxHashMap<NodeId, u64> {
    let types = graph.types();
    let (Some(values), Some(details)) = (values, details) else { return FxHashMap::default() };
    let is_direct = types.by_superclass(|type_id, above: Option<&bool>| {
        types.name(type_id).replace('/', ".") == "java.nio.DirectByteBuffer" || above.copied().unwrap_or(false)
    });
    if !is_direct.contains(&true) {
        return FxHashMap::default();
    }
    let buffers: Vec<NodeId> = graph.nodes().filter(|&node| is_direct[graph.type_of(node).index()]).collect();
    if buffers.len() > FEW_BUFFERS {
        let columns = details.values_of_fields(graph, &["capacity", "cleaner"]).unwrap_or_default();
        let [capacities, cleaners] = &columns[..] else { return FxHashMap::default() };
        let frees: FxHashSet<NodeId> =
            cleaners.iter().filter(|(_, value)| matches!(value, Value::Object(_))).map(|&(node, _)| node).collect();
        let own = capacities.iter().filter(|(node, _)| frees.contains(node) && is_direct[graph.type_of(*node).index()]);
        return own.filter_map(|&(node, ref value)| Some((node, bytes_of(value)?))).collect();
    }
    let of_buffer = |node: NodeId| {
        let fields = values.raw_fields(node);
        let field = |wanted: &str| {
            let mut named = fields.iter().filter(|field| field.name.to_string().trim_start_matches('.') == wanted);
            named.next().map(|field| &field.value)
        };
        matches!(field("cleaner"), Some(Value::Object(_))).then(|| Some((node, bytes_of(field("capacity")?)?)))?
    };
    buffers.into_iter().filter_map(of_buffer).collect()
}

fn bytes_of(value: &Value) -> Option<u64> {
    match value {
        Value::Integer(bytes) => u64::try_from(*bytes).ok(),
        _ => None,
    }
}

/// The name of a thread without the numbers in it.
pub(super) fn masked(name: &str) -> String {
    let mut masked = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter.is_ascii_digit() {
            true if masked.ends_with('#') => {}
            true => masked.push('#'),
            false => masked.push(letter),
        }
    }
    masked
}

/// Appends a step for each reference, labelled by its place among those of the object to its type. O(references).
fn label_by_place(graph: &HeapGraph, to: &[NodeId], steps: &mut Vec<Step>) {
    const FEW: usize = 12;
    if to.len() <= FEW {
        let mut types = [0u32; FEW];
        for (at, &to) in to.iter().enumerate() {
            let type_id = graph.type_of(to).index() as u32;
            let place = types[..at].iter().filter(|&&known| known == type_id).count();
            types[at] = type_id;
            steps.push(Step { cost: 1, label: Symbols::place(place) });
        }
        return;
    }
    let mut places: FxHashMap<crate::graph::TypeId, usize> = FxHashMap::default();
    for &to in to {
        let place = places.entry(graph.type_of(to)).or_default();
        steps.push(Step { cost: 1, label: Symbols::place(*place) });
        *place += 1;
    }
}

impl Heap<'_> {
    /// Whose a variable on a stack is, and its method.
    pub(super) fn owner_of_local(&self, frame: Option<crate::graph::FrameId>) -> (Owner, String) {
        java::local(self, frame)
    }
}
