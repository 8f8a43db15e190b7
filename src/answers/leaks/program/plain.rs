//! Heaps of other runtimes, by types and roots alone: .NET, PHD, text formats.

use super::heap::{Heap, label_by_place, list_nodes};
use super::symbols::Symbols;
use crate::analysis::leaks::{ELEMENT, Owner, Start, Step, Ways};
use crate::answers::libraries::dotted;
use crate::graph::{HeapGraph, NodeId, NodeSet, Root, RootKind};
use crate::input::Runtime;

// Costs: how little a start explains.
const STATIC_OF_OWN: u8 = 0;
const STATIC_OF_LIBRARY: u8 = 4;
const STATIC_OF_RUNTIME: u8 = 8;
const CLASS: u8 = 6;
const LOCAL: u8 = 8;
const HANDLE: u8 = 12;
const OTHER_ROOT: u8 = 16;
const FINALIZER: u8 = 30;
const MODULE_OF_LIBRARY: u8 = 4;
const MODULE_OF_RUNTIME: u8 = 10;
const CLASS_OF_OWN: u8 = 1;
/// More for a reference to a class, and for one of the runtime's tables.
const EXPLAINS_NOTHING: u8 = 12;
/// References of objects with more than this are elements.
const MAX_FIELDS: usize = 200;

/// Costs and labels where references have no names.
pub(super) struct PlainWays<'h> {
    graph: &'h HeapGraph,
    is_node: Vec<bool>,
    is_array: Vec<bool>,
    /// By type: its objects refer to one another as a list does.
    folds: Vec<bool>,
    /// By type: what its objects hold is not explained by them.
    explains_nothing: Vec<bool>,
    /// By type: its objects are classes, which all their objects hold.
    is_class: Vec<bool>,
}

impl<'h> PlainWays<'h> {
    pub(super) fn new(heap: &Heap<'h>) -> Self {
        let is_array = |name: &str| {
            name.ends_with(']') && !name.ends_with("]]") || name.ends_with("[]") || heap.structural.is_array(name)
        };
        let names = || heap.graph.types().ids().map(|type_id| heap.graph.type_name(type_id));
        let has_classes = classes_are_starts(heap);
        PlainWays {
            graph: heap.graph,
            is_node: list_nodes(&heap.natures),
            is_array: names().map(is_array).collect(),
            folds: heap.natures.iter().map(|nature| nature.folds).collect(),
            explains_nothing: names().map(|name| has_classes && heap.structural.is_registry(&dotted(name))).collect(),
            is_class: heap.natures.iter().map(|nature| has_classes && nature.is_class).collect(),
        }
    }
}

impl Ways for PlainWays<'_> {
    fn steps(&mut self, from: NodeId, to: &[NodeId], steps: &mut Vec<Step>) {
        let type_id = self.graph.type_of(from);
        let first = steps.len();
        self.plain_steps(from, to, steps);
        let explains_nothing = self.explains_nothing[type_id.index()];
        for (step, &to) in steps[first..].iter_mut().zip(to) {
            if explains_nothing || self.is_class[self.graph.type_of(to).index()] {
                step.cost = step.cost.saturating_add(EXPLAINS_NOTHING);
            }
        }
    }
}

impl PlainWays<'_> {
    fn plain_steps(&self, from: NodeId, to: &[NodeId], steps: &mut Vec<Step>) {
        let type_id = self.graph.type_of(from);
        if self.is_array[type_id.index()] || to.len() > MAX_FIELDS {
            steps.extend(to.iter().map(|_| Step { cost: 1, label: ELEMENT }));
            return;
        }
        label_by_place(self.graph, &self.is_node, to, steps);
        for (step, &to) in steps.iter_mut().zip(to) {
            if self.folds[type_id.index()] && self.graph.type_of(to) == type_id {
                step.cost = 0;
            }
        }
    }
}

/// Roots, a static variable of the program before all others.
pub(super) fn starts(heap: &Heap<'_>, reachable: &NodeSet, symbols: &mut Symbols) -> Vec<Start> {
    let graph = heap.graph;
    let start = |root: &Root| {
        let container = root.container.map_or("", |class| graph.type_name(class));
        let name = graph.root_name(root).unwrap_or("");
        let (cost, label) = match root.kind {
            RootKind::Static => {
                let cost = match heap.libraries.owner_of(container) {
                    _ if container.is_empty() => STATIC_OF_RUNTIME,
                    Owner::Own => STATIC_OF_OWN,
                    Owner::Library => STATIC_OF_LIBRARY,
                    Owner::Runtime => STATIC_OF_RUNTIME,
                };
                (cost, format!("static {container}.{name}"))
            }
            RootKind::Module => match heap.libraries.owner_of(name) {
                Owner::Own => (STATIC_OF_OWN, format!("module {name}")),
                Owner::Library => (MODULE_OF_LIBRARY, format!("module {name}")),
                Owner::Runtime => (MODULE_OF_RUNTIME, format!("module {name}")),
            },
            RootKind::Class | RootKind::SystemClass => (CLASS, "class".to_string()),
            RootKind::Local | RootKind::JavaFrame | RootKind::Thread => (LOCAL, format!("local {container}.{name}")),
            RootKind::Handle | RootKind::JniGlobal => (HANDLE, root.kind.name()),
            RootKind::Finalizer => (FINALIZER, root.kind.name()),
            _ => (OTHER_ROOT, root.kind.name()),
        };
        Start { node: root.node, cost, label: symbols.number(&label) }
    };
    let mut starts: Vec<Start> = graph.strong_roots().filter(|root| !root.is_through_thread).map(start).collect();
    if classes_are_starts(heap) {
        // Constants, variables of classes and stacks of threads are where a programmer looks.
        for &(node, class) in graph.types().class_objects() {
            let cost = match heap.libraries.owner_of(graph.type_name(class)) {
                Owner::Own => CLASS_OF_OWN,
                Owner::Library => CLASS,
                Owner::Runtime => MODULE_OF_RUNTIME,
            };
            starts.push(Start { node, cost, label: symbols.number("class") });
        }
        let threads = graph.threads().iter().filter_map(|thread| thread.node);
        starts.extend(threads.map(|node| Start { node, cost: LOCAL, label: symbols.number("thread") }));
        starts.retain(|start| reachable.contains(start.node));
    }
    starts
}

/// True for programs that find what they keep by their classes, of which the dump has roots at the top alone (Ruby, Python).
fn classes_are_starts(heap: &Heap<'_>) -> bool {
    matches!(heap.runtime, Some(Runtime::Python | Runtime::Ruby))
}
