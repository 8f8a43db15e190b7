//! Heaps of other runtimes, by types and roots alone: .NET, PHD, text formats.

use super::heap::{Heap, label_by_place};
use super::symbols::Symbols;
use crate::analysis::leaks::{ELEMENT, Owner, Start, Step, Ways};
use crate::graph::{HeapGraph, NodeId, Root, RootKind};

// Costs: how little a start explains.
const STATIC_OF_OWN: u8 = 0;
const STATIC_OF_LIBRARY: u8 = 4;
const STATIC_OF_RUNTIME: u8 = 8;
const CLASS: u8 = 6;
const LOCAL: u8 = 8;
const HANDLE: u8 = 12;
const OTHER_ROOT: u8 = 16;
const FINALIZER: u8 = 30;
/// References of objects with more than this are elements.
const MOST_FIELDS: usize = 200;

/// Costs and labels where references have no names.
pub(super) struct PlainWays<'h> {
    graph: &'h HeapGraph,
    is_array: Vec<bool>,
    /// By type: its objects refer to one another as a list does.
    folds: Vec<bool>,
}

impl<'h> PlainWays<'h> {
    pub(super) fn new(heap: &Heap<'h>) -> Self {
        let is_array = |name: &str| name.ends_with(']') && !name.ends_with("]]") || name.ends_with("[]");
        PlainWays {
            graph: heap.graph,
            is_array: heap.graph.types().ids().map(|type_id| is_array(heap.graph.type_name(type_id))).collect(),
            folds: heap.natures.iter().map(|nature| nature.folds).collect(),
        }
    }
}

impl Ways for PlainWays<'_> {
    fn steps(&mut self, from: NodeId, to: &[NodeId], steps: &mut Vec<Step>) {
        let type_id = self.graph.type_of(from);
        if self.is_array[type_id.index()] || to.len() > MOST_FIELDS {
            steps.extend(to.iter().map(|_| Step { cost: 1, label: ELEMENT }));
            return;
        }
        label_by_place(self.graph, to, steps);
        for (step, &to) in steps.iter_mut().zip(to) {
            if self.folds[type_id.index()] && self.graph.type_of(to) == type_id {
                step.cost = 0;
            }
        }
    }
}

/// Roots, a static variable of the program before all others.
pub(super) fn starts(heap: &Heap<'_>, symbols: &mut Symbols) -> Vec<Start> {
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
            RootKind::Class | RootKind::SystemClass => (CLASS, "class".to_string()),
            RootKind::Local | RootKind::JavaFrame | RootKind::Thread => (LOCAL, format!("local {container}.{name}")),
            RootKind::Handle | RootKind::JniGlobal => (HANDLE, root.kind.name()),
            RootKind::Finalizer => (FINALIZER, root.kind.name()),
            _ => (OTHER_ROOT, root.kind.name()),
        };
        Start { node: root.node, cost, label: symbols.number(&label) }
    };
    graph.strong_roots().filter(|root| !root.is_through_thread).map(start).collect()
}
