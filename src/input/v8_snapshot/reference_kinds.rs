//! Kinds and names of all references, and the files that functions stand in.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::block::DANGLING_TARGET;
use super::layout::{EdgeKind, NodeKind};
use super::reread_snapshot::RereadSnapshot;
use crate::graph::{HeapGraph, NodeId};
use crate::input::{ReferenceKind, ReferenceKinds};

/// Kinds and names of references, from a snapshot that was read again.
pub(super) struct V8ReferenceKinds {
    reread: Arc<RereadSnapshot>,
    /// By V8's number of a script: the index of its name among the strings.
    script_names: FxHashMap<u32, u32>,
}

impl V8ReferenceKinds {
    /// O(nodes), and the edges of functions.
    pub(super) fn new(read: Arc<RereadSnapshot>) -> Self {
        let snapshot = &read.snapshot;
        let mut script_names = FxHashMap::default();
        for &(node, place) in snapshot.locations.iter().filter(|&&(node, _)| snapshot.kind(node) == NodeKind::Closure) {
            if !script_names.contains_key(&place.script_number)
                && let Some(script) = script_name_of_function(&read, node)
            {
                script_names.insert(place.script_number, script);
            }
        }
        V8ReferenceKinds { reread: read, script_names }
    }
}

/// The index of the name of the script of a function, among the strings.
fn script_name_of_function(read: &RereadSnapshot, function: u32) -> Option<u32> {
    let snapshot = &read.snapshot;
    let shared = snapshot.field_target(function, "shared")?;
    let script =
        snapshot.field_target(shared, "script").or_else(|| snapshot.field_target(shared, "script_or_debug_info"))?;
    (snapshot.kind(script) == NodeKind::Code).then(|| snapshot.names[script as usize])
}

impl ReferenceKinds for V8ReferenceKinds {
    fn append_kinds(&self, graph: &HeapGraph, from: NodeId, kinds: &mut Vec<(ReferenceKind, u32)>) {
        let snapshot = &self.reread.snapshot;
        let Some(ordinal) = self.reread.ordinal(from) else { return };
        let reference = |edge: usize| {
            let kind = match snapshot.edge_labels.kind(edge) {
                Some(EdgeKind::Property) => ReferenceKind::Property,
                Some(EdgeKind::Element) => ReferenceKind::Element,
                Some(EdgeKind::Context) => ReferenceKind::CapturedVariable,
                Some(EdgeKind::Hidden) => ReferenceKind::Hidden,
                Some(EdgeKind::Shortcut) => ReferenceKind::Shortcut,
                _ => ReferenceKind::Internal,
            };
            (kind, snapshot.edge_number(edge))
        };
        // Of most objects every edge is a reference that holds.
        if snapshot.edges(ordinal).len() == graph.strong_references(from).len() {
            kinds.extend(snapshot.edges(ordinal).map(reference));
            return;
        }
        let leads_somewhere = |&edge: &usize| {
            let target = snapshot.targets[edge];
            target != DANGLING_TARGET && !snapshot.is_category(target)
        };
        let edges = snapshot.edges(ordinal).filter(leads_somewhere);
        let strong = edges.zip(graph.references(from)).filter(|(_, to)| !to.is_weak);
        kinds.extend(strong.map(|(edge, _)| reference(edge)));
    }

    fn name(&self, number: u32) -> Cow<'_, str> {
        self.reread.snapshot.strings.text_or_placeholder(number)
    }

    fn script_file(&self, node: NodeId) -> Option<Cow<'_, str>> {
        let ordinal = self.reread.ordinal(node)?;
        let by_place =
            self.reread.source_place(ordinal).and_then(|place| self.script_names.get(&place.script_number).copied());
        let of_function = || match self.reread.snapshot.kind(ordinal) {
            NodeKind::Closure => script_name_of_function(&self.reread, ordinal),
            _ => None,
        };
        by_place.or_else(of_function).map(|name| self.reread.snapshot.strings.text_or_placeholder(name))
    }
}
