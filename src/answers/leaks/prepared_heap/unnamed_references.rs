//! Heaps of other runtimes, by types and roots alone: .NET, PHD, text formats.

use super::classified_heap::{ClassifiedHeap, append_costs_by_place, is_list_node_by_type};
use super::symbols::SymbolTable;
use crate::analysis::leaks::{CodeOwner, CostedReference, ELEMENT_LABEL, ReferenceCosts, StartObject};
use crate::answers::libraries::dotted_type_name;
use crate::graph::{HeapGraph, NodeId, NodeSet, Root, RootKind};
use crate::input::Runtime;

// Costs: how little a start explains.
const STATIC_OF_PROGRAM_COST: u8 = 0;
const STATIC_OF_LIBRARY_COST: u8 = 4;
const STATIC_OF_RUNTIME_COST: u8 = 8;
const CLASS_COST: u8 = 6;
const LOCAL_OR_THREAD_COST: u8 = 8;
const HANDLE_COST: u8 = 12;
const OTHER_ROOT_COST: u8 = 16;
const FINALIZER_COST: u8 = 30;
const MODULE_OF_LIBRARY_COST: u8 = 4;
const MODULE_OR_CLASS_OF_RUNTIME_COST: u8 = 10;
const CLASS_OF_PROGRAM_COST: u8 = 1;
/// More for a reference to a class, and for one of the runtime's tables.
const UNEXPLAINED_REFERENCE_COST: u8 = 12;
/// References of objects with more than this are elements.
const MAX_FIELDS: usize = 200;

/// Costs and labels where references have no names.
pub(super) struct UnnamedReferenceCosts<'h> {
    graph: &'h HeapGraph,
    /// By type: its objects are nodes of lists or tables.
    is_list_node_by_type: Vec<bool>,
    /// By type: its objects' references are elements.
    is_array_by_type: Vec<bool>,
    /// By type: its objects refer to one another as a list does.
    folds_same_type: Vec<bool>,
    /// By type: what its objects hold is not explained by them.
    explains_nothing: Vec<bool>,
    /// By type: its objects are classes, which all their objects hold.
    is_class: Vec<bool>,
}

impl<'h> UnnamedReferenceCosts<'h> {
    pub(super) fn new(heap: &ClassifiedHeap<'h>) -> Self {
        let is_array = |name: &str| {
            name.ends_with(']') && !name.ends_with("]]") || name.ends_with("[]") || heap.structural_names.is_array(name)
        };
        let names = || heap.graph.types().ids().map(|type_id| heap.graph.type_name(type_id));
        let has_classes = starts_at_classes(heap);
        UnnamedReferenceCosts {
            graph: heap.graph,
            is_list_node_by_type: is_list_node_by_type(&heap.type_roles),
            is_array_by_type: names().map(is_array).collect(),
            folds_same_type: heap.type_roles.iter().map(|type_role| type_role.folds_same_type).collect(),
            explains_nothing: names()
                .map(|name| has_classes && heap.structural_names.is_registry(&dotted_type_name(name)))
                .collect(),
            is_class: heap.type_roles.iter().map(|type_role| has_classes && type_role.is_class).collect(),
        }
    }
}

impl ReferenceCosts for UnnamedReferenceCosts<'_> {
    fn append_costs(&mut self, from: NodeId, to: &[NodeId], steps: &mut Vec<CostedReference>) {
        let type_id = self.graph.type_of(from);
        let first = steps.len();
        self.append_plain_costs(from, to, steps);
        let explains_nothing = self.explains_nothing[type_id.index()];
        for (step, &to) in steps[first..].iter_mut().zip(to) {
            if explains_nothing || self.is_class[self.graph.type_of(to).index()] {
                step.cost = step.cost.saturating_add(UNEXPLAINED_REFERENCE_COST);
            }
        }
    }
}

impl UnnamedReferenceCosts<'_> {
    fn append_plain_costs(&self, from: NodeId, to: &[NodeId], steps: &mut Vec<CostedReference>) {
        let type_id = self.graph.type_of(from);
        if self.is_array_by_type[type_id.index()] || to.len() > MAX_FIELDS {
            steps.extend(to.iter().map(|_| CostedReference { cost: 1, label: ELEMENT_LABEL }));
            return;
        }
        append_costs_by_place(self.graph, &self.is_list_node_by_type, to, steps);
        for (step, &to) in steps.iter_mut().zip(to) {
            if self.folds_same_type[type_id.index()] && self.graph.type_of(to) == type_id {
                step.cost = 0;
            }
        }
    }
}

/// Roots, a static variable of the program before all others.
pub(super) fn start_objects<'d>(
    heap: &ClassifiedHeap<'_>,
    reachable: &dyn Fn() -> &'d NodeSet,
    symbols: &mut SymbolTable,
) -> Vec<StartObject> {
    let graph = heap.graph;
    let start = |root: &Root| {
        let container = root.declaring_class.map_or("", |class| graph.type_name(class));
        let name = graph.root_name(root).unwrap_or("");
        let (cost, label) = match root.kind {
            RootKind::Static => {
                let cost = match heap.libraries.owner_of(container) {
                    _ if container.is_empty() => STATIC_OF_RUNTIME_COST,
                    CodeOwner::Application => STATIC_OF_PROGRAM_COST,
                    CodeOwner::Library => STATIC_OF_LIBRARY_COST,
                    CodeOwner::Runtime => STATIC_OF_RUNTIME_COST,
                };
                (cost, format!("static {container}.{name}"))
            }
            RootKind::Module => match heap.libraries.owner_of(name) {
                CodeOwner::Application => (STATIC_OF_PROGRAM_COST, format!("module {name}")),
                CodeOwner::Library => (MODULE_OF_LIBRARY_COST, format!("module {name}")),
                CodeOwner::Runtime => (MODULE_OR_CLASS_OF_RUNTIME_COST, format!("module {name}")),
            },
            RootKind::Class | RootKind::SystemClass => (CLASS_COST, "class".to_string()),
            RootKind::Local | RootKind::JavaFrame | RootKind::Thread => {
                (LOCAL_OR_THREAD_COST, format!("local {container}.{name}"))
            }
            RootKind::Handle | RootKind::JniGlobal => (HANDLE_COST, root.kind.name()),
            RootKind::Finalizer => (FINALIZER_COST, root.kind.name()),
            _ => (OTHER_ROOT_COST, root.kind.name()),
        };
        StartObject { node: root.node, cost, label: symbols.intern(&label) }
    };
    let mut starts: Vec<StartObject> = graph.strong_roots().filter(|root| !root.is_through_thread).map(start).collect();
    if starts_at_classes(heap) {
        // Constants, variables of classes and stacks of threads are where a programmer looks.
        for &(node, class) in graph.types().class_objects() {
            let cost = match heap.libraries.owner_of(graph.type_name(class)) {
                CodeOwner::Application => CLASS_OF_PROGRAM_COST,
                CodeOwner::Library => CLASS_COST,
                CodeOwner::Runtime => MODULE_OR_CLASS_OF_RUNTIME_COST,
            };
            starts.push(StartObject { node, cost, label: symbols.intern("class") });
        }
        let threads = graph.threads().iter().filter_map(|thread| thread.node);
        starts.extend(threads.map(|node| StartObject {
            node,
            cost: LOCAL_OR_THREAD_COST,
            label: symbols.intern("thread"),
        }));
        let reachable = reachable();
        starts.retain(|start| reachable.contains(start.node));
    }
    starts
}

/// True for programs that find what they keep by their classes, of which the dump has roots at the top alone (Ruby, Python).
fn starts_at_classes(heap: &ClassifiedHeap<'_>) -> bool {
    matches!(heap.runtime, Some(Runtime::Python | Runtime::Ruby))
}
