//! Heaps of Java virtual machines: which references explain, where ways begin, which loaders should be gone.

use rustc_hash::{FxHashMap, FxHashSet};

use super::classified_heap::{ClassifiedHeap, append_costs_by_place, is_list_node_by_type};
use super::symbols::SymbolTable;
use crate::analysis::leaks::{
    CodeOwner, CostedReference, ELEMENT_LABEL, MIN_UNEXPLAINED_COST, ReferenceCosts, StartObject,
};
use crate::answers::libraries::dotted_type_name;
use crate::answers::values::ValueReader;
use crate::graph::{ClearableKind, HeapGraph, Loader, NodeId, NodeSet, RootKind, SoftReference, TypeId};
use crate::input::{ReferenceName, Value};

// Costs: how little a reference or a start explains.
const CLASS_OF_PROGRAM_COST: u8 = 0;
const CLASS_OF_LIBRARY_COST: u8 = 4;
const CLASS_OF_RUNTIME_COST: u8 = 8;
const CLASS_OF_REGISTRY_COST: u8 = 16;
const CLASS_OF_FINALIZERS_COST: u8 = 30;
const THREAD_COST: u8 = 8;
/// Of a class of its own that is not the program's, as a timer's: the variable by which the program has that explains more.
const THREAD_OF_LIBRARY_COST: u8 = 12;
const OTHER_ROOT_COST: u8 = 16;
const FIELD_COST: u8 = 1;
const REFERENCE_TO_CLASS_COST: u8 = 25;
const JVM_INTERNAL_REFERENCE_COST: u8 = 12;
const NEXT_TO_CLEAN_UP_COST: u8 = 12;
const SOFT_REFERENCE_COST: u8 = 60;
const LOCAL_OF_LIBRARY_COST: u8 = 3;
const LOCAL_OF_RUNTIME_COST: u8 = 12;
const THREAD_LOCALS_COST: u8 = 3;
const INTO_THREAD_COST: u8 = 12;
const INTO_REGISTRY_COST: u8 = 12;
const INTO_LOADER_COST: u8 = 15;

/// Costs and labels in a Java heap.
pub(super) struct JavaReferenceCosts<'h> {
    graph: &'h HeapGraph,
    /// By type: what every reference to its objects costs besides.
    costs_into_type: Vec<u8>,
    /// By type: its objects stand in the runtime's lists of what is to be cleaned up.
    is_in_cleanup_list: Vec<bool>,
    /// By type: its objects are arrays.
    is_array_by_type: Vec<bool>,
    /// By type: some of its objects are classes or threads.
    has_named_objects: Vec<bool>,
    /// By type: its objects are nodes of lists or tables.
    is_list_node_by_type: Vec<bool>,
    /// By type: some of its objects hold softly.
    has_soft_references: Vec<bool>,
    soft_references: &'h [SoftReference],
    /// By class object: a step for each reference.
    reference_costs_of_classes: FxHashMap<NodeId, Vec<CostedReference>>,
    /// By thread: a step for each variable on its stack.
    reference_costs_of_stacks: FxHashMap<NodeId, Vec<CostedReference>>,
    /// Label of the reference from an object to its class.
    class_label: u32,
}

impl<'h> JavaReferenceCosts<'h> {
    pub(super) fn new(heap: &ClassifiedHeap<'h>, symbols: &mut SymbolTable) -> Self {
        let graph = heap.graph;
        let types = graph.types();
        let into = types.map_by_superclass(|type_id, above: Option<&u8>| {
            let name = types.name(type_id);
            match &*dotted_type_name(name) {
                "java.lang.Thread" => INTO_THREAD_COST,
                "java.lang.ClassLoader" => INTO_LOADER_COST,
                // What is said to be in a thread is found by its field.
                "java.lang.ThreadLocal$ThreadLocalMap" => THREAD_LOCALS_COST - FIELD_COST,
                name if heap.structural_names.is_registry(name) => INTO_REGISTRY_COST,
                _ => above.copied().unwrap_or(0),
            }
        });
        let is_in_cleanup_list = types.map_by_superclass(|type_id, above: Option<&bool>| {
            above == Some(&true) || heap.structural_names.is_in_cleanup_list(&dotted_type_name(types.name(type_id)))
        });
        let soft = graph.soft_references().unwrap_or(&[]);
        let mut is_soft = vec![false; graph.type_count()];
        soft.iter().for_each(|soft| is_soft[graph.type_of(soft.source).index()] = true);
        JavaReferenceCosts {
            graph,
            costs_into_type: into,
            is_in_cleanup_list,
            is_array_by_type: types.ids().map(|type_id| types.name(type_id).ends_with(']')).collect(),
            has_named_objects: heap.type_roles.iter().map(|type_role| type_role.has_named_objects).collect(),
            is_list_node_by_type: is_list_node_by_type(&heap.type_roles),
            has_soft_references: is_soft,
            soft_references: soft,
            reference_costs_of_classes: types
                .class_objects()
                .iter()
                .map(|&(class, _)| (class, reference_costs_of_class(heap, class, symbols)))
                .collect(),
            reference_costs_of_stacks: reference_costs_of_stacks(heap, symbols),
            class_label: symbols.intern("<class>"),
        }
    }

    fn is_soft_reference(&self, from: NodeId, to: NodeId) -> bool {
        let first = self.soft_references.partition_point(|soft| soft.source < from);
        let own = self.soft_references[first..].iter().take_while(|soft| soft.source == from);
        own.into_iter().any(|soft| soft.target == to && soft.kind == ClearableKind::Soft)
    }
}

impl ReferenceCosts for JavaReferenceCosts<'_> {
    fn append_costs(&mut self, from: NodeId, to: &[NodeId], steps: &mut Vec<CostedReference>) {
        let type_id = self.graph.type_of(from);
        let has_named_objects = self.has_named_objects[type_id.index()];
        let of_class = if has_named_objects { self.reference_costs_of_classes.get(&from) } else { None };
        if let Some(known) = of_class.filter(|known| known.len() == to.len()) {
            steps.extend(to.iter().zip(known).map(|(&to, step)| {
                let into = if step.cost < MIN_UNEXPLAINED_COST {
                    self.costs_into_type[self.graph.type_of(to).index()]
                } else {
                    0
                };
                CostedReference { cost: step.cost + into, ..*step }
            }));
            return;
        }
        let has_class = self.graph.types().stores_class_reference(type_id) && !to.is_empty();
        let own = &to[..to.len() - usize::from(has_class)];
        let of_stack = if has_named_objects { self.reference_costs_of_stacks.get(&from) } else { None };
        let on_stack = of_stack.map_or(&[][..], Vec::as_slice);
        let fields = own.len().saturating_sub(on_stack.len());
        let is_array = self.is_array_by_type[type_id.index()];
        if is_array {
            let step = |&to: &NodeId| CostedReference {
                cost: FIELD_COST + self.costs_into_type[self.graph.type_of(to).index()],
                label: ELEMENT_LABEL,
            };
            steps.extend(own.iter().map(step));
        } else {
            append_costs_by_place(self.graph, &self.is_list_node_by_type, &own[..fields], steps);
            let is_soft = self.has_soft_references[type_id.index()];
            let from_place = steps.len() - fields;
            for (step, &to) in steps[from_place..].iter_mut().zip(own) {
                let target = self.graph.type_of(to);
                let is_in_cleanup_list = |type_id: TypeId| self.is_in_cleanup_list[type_id.index()];
                step.cost = if is_in_cleanup_list(type_id) && is_in_cleanup_list(target) {
                    NEXT_TO_CLEAN_UP_COST
                } else if target == type_id {
                    // The tail of a list must not be nearer some other way.
                    0
                } else {
                    FIELD_COST + self.costs_into_type[target.index()]
                };
                if is_soft && self.is_soft_reference(from, to) {
                    step.cost = SOFT_REFERENCE_COST;
                }
            }
            steps.extend_from_slice(&on_stack[..own.len() - fields]);
        }
        if has_class {
            steps.push(CostedReference { cost: REFERENCE_TO_CLASS_COST, label: self.class_label });
        }
    }
}

fn reference_costs_of_class(
    heap: &ClassifiedHeap<'_>,
    class: NodeId,
    symbols: &mut SymbolTable,
) -> Vec<CostedReference> {
    let graph = heap.graph;
    let mut step = |nth: usize, to: NodeId| {
        let name = heap.details.and_then(|details| details.reference_name(graph, class, nth).ok().flatten());
        let is_of_class = graph.types().type_of_class_object(to).is_some();
        match name {
            Some(ReferenceName::StaticField(name)) => {
                let cost = if name.starts_with('<') { JVM_INTERNAL_REFERENCE_COST } else { FIELD_COST };
                CostedReference { cost, label: symbols.intern(&name) }
            }
            Some(_) => CostedReference { cost: REFERENCE_TO_CLASS_COST, label: symbols.intern("<class>") },
            None => CostedReference {
                cost: if is_of_class { REFERENCE_TO_CLASS_COST } else { FIELD_COST },
                label: ELEMENT_LABEL + 1,
            },
        }
    };
    let strong = graph.references(class).enumerate().filter(|(_, to)| !to.is_weak);
    strong.map(|(nth, to)| step(nth, to.node)).collect()
}

/// By thread: the variables on its stack, as they stand among its references.
fn reference_costs_of_stacks(
    heap: &ClassifiedHeap<'_>,
    symbols: &mut SymbolTable,
) -> FxHashMap<NodeId, Vec<CostedReference>> {
    let graph = heap.graph;
    let mut steps: FxHashMap<NodeId, Vec<CostedReference>> = FxHashMap::default();
    for root in graph.roots().iter().filter(|root| root.is_through_thread && !root.is_excluded) {
        let Some(thread) = root.thread.and_then(|thread| graph.threads()[thread.index()].node) else { continue };
        let (owner, text) = heap.owner_and_method_of_local(root.frame);
        let cost = match owner {
            CodeOwner::Application => FIELD_COST,
            CodeOwner::Library => FIELD_COST + LOCAL_OF_LIBRARY_COST,
            CodeOwner::Runtime => FIELD_COST + LOCAL_OF_RUNTIME_COST,
        };
        steps.entry(thread).or_default().push(CostedReference { cost, label: symbols.intern(&text) });
    }
    steps
}

/// Every class that is no left-over one of a dead loader, threads, and what native code holds.
pub(super) fn start_objects(
    heap: &ClassifiedHeap<'_>,
    reachable: &NodeSet,
    symbols: &mut SymbolTable,
) -> Vec<StartObject> {
    let (graph, types) = (heap.graph, heap.graph.types());
    let label = symbols.intern("class");
    let mut starts = Vec::new();
    for &(node, type_id) in types.class_objects() {
        let is_dead =
            matches!(types.loader(type_id), Loader::Object(loader) if heap.left_over_loaders.contains(&loader));
        if is_dead || !reachable.contains(node) {
            continue;
        }
        let name = dotted_type_name(types.name(type_id));
        let cost = match heap.libraries.owner_of(&name) {
            _ if heap.structural_names.is_finalizer_list(&name) => CLASS_OF_FINALIZERS_COST,
            _ if heap.structural_names.is_registry(&name) => CLASS_OF_REGISTRY_COST,
            CodeOwner::Application => CLASS_OF_PROGRAM_COST,
            CodeOwner::Library => CLASS_OF_LIBRARY_COST,
            CodeOwner::Runtime => CLASS_OF_RUNTIME_COST,
        };
        starts.push(StartObject { node, cost, label });
    }
    let (thread, root_label) = (symbols.intern("thread"), symbols.intern("root"));
    for root in graph.strong_roots().filter(|root| !root.is_through_thread) {
        let is_class = types.type_of_class_object(root.node).is_some();
        match root.kind {
            RootKind::Thread => {
                let name = heap.type_name(root.node);
                let is_plain =
                    name.starts_with("java.lang.") || heap.libraries.owner_of(&name) == CodeOwner::Application;
                let cost = if is_plain { THREAD_COST } else { THREAD_OF_LIBRARY_COST };
                starts.push(StartObject { node: root.node, cost, label: thread });
            }
            _ if is_class => {}
            _ => starts.push(StartObject { node: root.node, cost: OTHER_ROOT_COST, label: root_label }),
        }
    }
    starts
}

/// Loaders that should be gone.
#[derive(Debug, Default)]
pub(in crate::answers::leaks) struct LeftOverLoaders {
    /// Those that say of themselves that they were stopped; later surplus twins too.
    pub(in crate::answers::leaks) left_over_nodes: FxHashSet<NodeId>,
    /// By type of the loader: those that define a class of one name, and its name where most do.
    pub(in crate::answers::leaks) twin_loaders_by_type: FxHashMap<String, (FxHashSet<NodeId>, String)>,
}

impl LeftOverLoaders {
    pub(super) fn find(heap: &ClassifiedHeap<'_>, reachable: &NodeSet) -> Self {
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
            if heap.values.is_some_and(|values| is_stopped_loader(heap, values, loader)) {
                found.left_over_nodes.insert(loader);
            }
            let base = name.strip_prefix("java.net.").unwrap_or(name);
            if !heap.structural_names.is_live_loader(base) {
                classes.iter().for_each(|class| _ = by_class.entry((class, name)).or_default().insert(loader));
            }
        }
        let mut by_class: Vec<_> = by_class.into_iter().filter(|(_, loaders)| loaders.len() > 1).collect();
        by_class.sort_by(|(a, of_a), (b, of_b)| of_b.len().cmp(&of_a.len()).then(a.cmp(b)));
        for ((class, name), loaders) in by_class {
            let twins = found
                .twin_loaders_by_type
                .entry(name.to_string())
                .or_insert_with(|| (FxHashSet::default(), class.to_string()));
            twins.0.extend(loaders);
        }
        found
    }
}

/// True where the field `state` of a loader says that it was stopped.
fn is_stopped_loader(heap: &ClassifiedHeap<'_>, values: ValueReader<'_>, loader: NodeId) -> bool {
    let fields = values.raw_fields(loader);
    let state = fields.iter().find_map(|field| match (&field.name, &field.value) {
        (ReferenceName::Field(_, name), Value::Object(state)) if name == "state" => Some(*state),
        _ => None,
    });
    let said = state.and_then(|state| values.shown_value(state));
    said.is_some_and(|said| heap.structural_names.stopped_loader_states.contains(&said.plain_text().as_str()))
}
