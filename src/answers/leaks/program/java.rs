//! Heaps of Java virtual machines: which references explain, where ways begin, which loaders should be gone.

use rustc_hash::{FxHashMap, FxHashSet};

use super::heap::{Heap, label_by_place, list_nodes};
use super::symbols::Symbols;
use crate::analysis::leaks::{CUT, ELEMENT, Owner, Start, Step, Ways};
use crate::answers::libraries::dotted;
use crate::answers::values::ValueReader;
use crate::graph::{HeapGraph, Loader, NodeId, NodeSet, RootKind, SoftKind, SoftReference};
use crate::input::{ReferenceName, Value};

// Costs: how little a reference or a start explains.
const CLASS_OF_OWN: u8 = 0;
const CLASS_OF_LIBRARY: u8 = 4;
const CLASS_OF_RUNTIME: u8 = 8;
const CLASS_OF_REGISTRY: u8 = 16;
const CLASS_OF_FINALIZERS: u8 = 30;
const THREAD: u8 = 8;
const OTHER_ROOT: u8 = 16;
const FIELD: u8 = 1;
const TO_CLASS: u8 = 25;
const OF_THE_MACHINE: u8 = 12;
const SOFT: u8 = 60;
const LOCAL_OF_LIBRARY: u8 = 3;
const LOCAL_OF_RUNTIME: u8 = 12;
const THREAD_LOCALS: u8 = 3;
const INTO_THREAD: u8 = 12;
const INTO_REGISTRY: u8 = 12;
const INTO_LOADER: u8 = 15;

/// Costs and labels in a Java heap.
pub(super) struct JavaWays<'h> {
    graph: &'h HeapGraph,
    /// By type: what every reference to its objects costs besides.
    into: Vec<u8>,
    is_array: Vec<bool>,
    /// By type: some of its objects are classes or threads.
    has_named: Vec<bool>,
    is_node: Vec<bool>,
    /// By type: some of its objects hold softly.
    is_soft: Vec<bool>,
    soft: &'h [SoftReference],
    /// By class object: a step for each reference.
    of_classes: FxHashMap<NodeId, Vec<Step>>,
    /// By thread: a step for each variable on its stack.
    of_stacks: FxHashMap<NodeId, Vec<Step>>,
    to_class: u32,
}

impl<'h> JavaWays<'h> {
    pub(super) fn new(heap: &Heap<'h>, symbols: &mut Symbols) -> Self {
        let graph = heap.graph;
        let types = graph.types();
        let into = types.by_superclass(|type_id, above: Option<&u8>| {
            let name = types.name(type_id);
            match &*dotted(name) {
                "java.lang.Thread" => INTO_THREAD,
                "java.lang.ClassLoader" => INTO_LOADER,
                // What is said to be in a thread is found by its field.
                "java.lang.ThreadLocal$ThreadLocalMap" => THREAD_LOCALS - FIELD,
                name if heap.structural.is_registry(name) => INTO_REGISTRY,
                _ => above.copied().unwrap_or(0),
            }
        });
        let soft = graph.soft_references().unwrap_or(&[]);
        let mut is_soft = vec![false; graph.type_count()];
        soft.iter().for_each(|soft| is_soft[graph.type_of(soft.source).index()] = true);
        JavaWays {
            graph,
            into,
            is_array: types.ids().map(|type_id| types.name(type_id).ends_with(']')).collect(),
            has_named: heap.natures.iter().map(|nature| nature.has_named_objects).collect(),
            is_node: list_nodes(&heap.natures),
            is_soft,
            soft,
            of_classes: types
                .class_objects()
                .iter()
                .map(|&(class, _)| (class, steps_of_class(heap, class, symbols)))
                .collect(),
            of_stacks: steps_of_stacks(heap, symbols),
            to_class: symbols.number("<class>"),
        }
    }

    fn softly(&self, from: NodeId, to: NodeId) -> bool {
        let first = self.soft.partition_point(|soft| soft.source < from);
        let own = self.soft[first..].iter().take_while(|soft| soft.source == from);
        own.into_iter().any(|soft| soft.target == to && soft.kind == SoftKind::Soft)
    }
}

impl Ways for JavaWays<'_> {
    fn steps(&mut self, from: NodeId, to: &[NodeId], steps: &mut Vec<Step>) {
        let type_id = self.graph.type_of(from);
        let has_named = self.has_named[type_id.index()];
        let of_class = if has_named { self.of_classes.get(&from) } else { None };
        if let Some(known) = of_class.filter(|known| known.len() == to.len()) {
            steps.extend(to.iter().zip(known).map(|(&to, step)| {
                let into = if step.cost < CUT { self.into[self.graph.type_of(to).index()] } else { 0 };
                Step { cost: step.cost + into, ..*step }
            }));
            return;
        }
        let has_class = self.graph.types().class_is_stored(type_id) && !to.is_empty();
        let own = &to[..to.len() - usize::from(has_class)];
        let of_stack = if has_named { self.of_stacks.get(&from) } else { None };
        let on_stack = of_stack.map_or(&[][..], Vec::as_slice);
        let fields = own.len().saturating_sub(on_stack.len());
        let is_array = self.is_array[type_id.index()];
        if is_array {
            let step = |&to: &NodeId| Step { cost: FIELD + self.into[self.graph.type_of(to).index()], label: ELEMENT };
            steps.extend(own.iter().map(step));
        } else {
            label_by_place(self.graph, &self.is_node, &own[..fields], steps);
            let is_soft = self.is_soft[type_id.index()];
            let from_place = steps.len() - fields;
            for (step, &to) in steps[from_place..].iter_mut().zip(own) {
                let target = self.graph.type_of(to);
                step.cost = match target == type_id {
                    // The tail of a list must not be nearer some other way.
                    true => 0,
                    false => FIELD + self.into[target.index()],
                };
                if is_soft && self.softly(from, to) {
                    step.cost = SOFT;
                }
            }
            steps.extend_from_slice(&on_stack[..own.len() - fields]);
        }
        if has_class {
            steps.push(Step { cost: TO_CLASS, label: self.to_class });
        }
    }
}

fn steps_of_class(heap: &Heap<'_>, class: NodeId, symbols: &mut Symbols) -> Vec<Step> {
    let graph = heap.graph;
    let mut step = |nth: usize, to: NodeId| {
        let name = heap.details.and_then(|details| details.reference_name(graph, class, nth).ok().flatten());
        let is_of_class = graph.types().of_class_object(to).is_some();
        match name {
            Some(ReferenceName::StaticField(name)) => {
                let cost = if name.starts_with('<') { OF_THE_MACHINE } else { FIELD };
                Step { cost, label: symbols.number(&name) }
            }
            Some(_) => Step { cost: TO_CLASS, label: symbols.number("<class>") },
            None => Step { cost: if is_of_class { TO_CLASS } else { FIELD }, label: ELEMENT + 1 },
        }
    };
    let strong = graph.references(class).enumerate().filter(|(_, to)| !to.is_weak);
    strong.map(|(nth, to)| step(nth, to.node)).collect()
}

/// By thread: the variables on its stack, as they stand among its references.
fn steps_of_stacks(heap: &Heap<'_>, symbols: &mut Symbols) -> FxHashMap<NodeId, Vec<Step>> {
    let graph = heap.graph;
    let mut steps: FxHashMap<NodeId, Vec<Step>> = FxHashMap::default();
    for root in graph.roots().iter().filter(|root| root.is_through_thread && !root.excluded) {
        let Some(thread) = root.thread.and_then(|thread| graph.threads()[thread.index()].node) else { continue };
        let (owner, text) = heap.owner_of_local(root.frame);
        let cost = match owner {
            Owner::Own => FIELD,
            Owner::Library => FIELD + LOCAL_OF_LIBRARY,
            Owner::Runtime => FIELD + LOCAL_OF_RUNTIME,
        };
        steps.entry(thread).or_default().push(Step { cost, label: symbols.number(&text) });
    }
    steps
}

/// Every class that is no left-over one of a dead loader, threads, and what native code holds.
pub(super) fn starts(heap: &Heap<'_>, reachable: &NodeSet, symbols: &mut Symbols) -> Vec<Start> {
    let (graph, types) = (heap.graph, heap.graph.types());
    let label = symbols.number("class");
    let mut starts = Vec::new();
    for &(node, type_id) in types.class_objects() {
        let is_dead = matches!(types.loader(type_id), Loader::Object(loader) if heap.dead.contains(&loader));
        if is_dead || !reachable.contains(node) {
            continue;
        }
        let name = dotted(types.name(type_id));
        let cost = match heap.libraries.owner_of(&name) {
            _ if heap.structural.is_finalizer(&name) => CLASS_OF_FINALIZERS,
            _ if heap.structural.is_registry(&name) => CLASS_OF_REGISTRY,
            Owner::Own => CLASS_OF_OWN,
            Owner::Library => CLASS_OF_LIBRARY,
            Owner::Runtime => CLASS_OF_RUNTIME,
        };
        starts.push(Start { node, cost, label });
    }
    let (thread, root_label) = (symbols.number("thread"), symbols.number("root"));
    for root in graph.strong_roots().filter(|root| !root.is_through_thread) {
        let is_class = types.of_class_object(root.node).is_some();
        match root.kind {
            RootKind::Thread => starts.push(Start { node: root.node, cost: THREAD, label: thread }),
            _ if is_class => {}
            _ => starts.push(Start { node: root.node, cost: OTHER_ROOT, label: root_label }),
        }
    }
    starts
}

/// Loaders that should be gone.
#[derive(Debug, Default)]
pub(in crate::answers::leaks) struct LeftOverLoaders {
    /// They say of themselves that they were stopped.
    pub(in crate::answers::leaks) stopped: FxHashSet<NodeId>,
    /// By type of the loader: those that define a class of one name, and its name where most do.
    pub(in crate::answers::leaks) twins: FxHashMap<String, (FxHashSet<NodeId>, String)>,
}

impl LeftOverLoaders {
    pub(super) fn find(heap: &Heap<'_>, reachable: &NodeSet) -> Self {
        let (graph, types) = (heap.graph, heap.graph.types());
        let mut loaders: FxHashMap<NodeId, Vec<&str>> = FxHashMap::default();
        for type_id in types.ids() {
            let class = types.class_object(type_id).filter(|&class| reachable.contains(class));
            if let (Loader::Object(loader), Some(_)) = (types.loader(type_id), class) {
                loaders.entry(loader).or_default().push(types.name(type_id));
            }
        }
        let mut found = LeftOverLoaders::default();
        let mut by_class: FxHashMap<(&str, &str), FxHashSet<NodeId>> = FxHashMap::default();
        for (&loader, classes) in loaders.iter().filter(|(loader, _)| reachable.contains(**loader)) {
            let name = graph.type_name(graph.type_of(loader));
            if heap.values.is_some_and(|values| is_stopped(heap, values, loader)) {
                found.stopped.insert(loader);
            }
            let base = name.strip_prefix("java.net.").unwrap_or(name);
            if !heap.structural.is_live_loader(base) {
                classes.iter().for_each(|class| _ = by_class.entry((class, name)).or_default().insert(loader));
            }
        }
        let mut by_class: Vec<_> = by_class.into_iter().filter(|(_, loaders)| loaders.len() > 1).collect();
        by_class.sort_by(|(a, of_a), (b, of_b)| of_b.len().cmp(&of_a.len()).then(a.cmp(b)));
        for ((class, name), loaders) in by_class {
            let twins =
                found.twins.entry(name.to_string()).or_insert_with(|| (FxHashSet::default(), class.to_string()));
            twins.0.extend(loaders);
        }
        found
    }
}

/// True where the field `state` of a loader says that it was stopped.
fn is_stopped(heap: &Heap<'_>, values: ValueReader<'_>, loader: NodeId) -> bool {
    let fields = values.raw_fields(loader);
    let state = fields.iter().find_map(|field| match (&field.name, &field.value) {
        (ReferenceName::Field(_, name), Value::Object(state)) if name == "state" => Some(*state),
        _ => None,
    });
    let said = state.and_then(|state| values.said_by(state));
    said.is_some_and(|said| heap.structural.dead_states.contains(&said.plain().as_str()))
}
