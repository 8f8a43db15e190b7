//! Kinds and names of all references, and the files that functions stand in.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::block::DANGLING_TARGET;
use super::edge_labels::EdgeLabel;
use super::layout::{EdgeKind, NodeKind};
use super::reread_snapshot::RereadSnapshot;
use crate::graph::{HeapGraph, NodeId, prefetch};
use crate::input::{ReferenceKind, ReferenceKinds};
use crate::parallel;

/// Kinds and names of references, from a snapshot that was read again.
pub(super) struct V8ReferenceKinds {
    reread: Arc<RereadSnapshot>,
    /// Of all strong references, in the order of the graph: where a snapshot has them they lie far apart.
    labels: Vec<EdgeLabel>,
    /// By V8's number of a script: the index of its name among the strings.
    script_names: FxHashMap<u32, u32>,
}

impl V8ReferenceKinds {
    /// O(nodes + edges); 2 bytes per strong reference.
    pub(super) fn new(read: Arc<RereadSnapshot>, graph: &HeapGraph) -> Self {
        let snapshot = &read.snapshot;
        let mut script_names = FxHashMap::default();
        for &(node, place) in snapshot.locations.iter().filter(|&&(node, _)| snapshot.kind(node) == NodeKind::Closure) {
            if !script_names.contains_key(&place.script_number)
                && let Some(script) = script_name_of_function(&read, node)
            {
                script_names.insert(place.script_number, script);
            }
        }
        let mut labels = vec![EdgeLabel::default(); graph.strong_reference_count()];
        let (mut rest, mut start) = (&mut labels[..], 0);
        let split_off = |piece: Range<usize>| {
            // A damaged index may say anything.
            let end = graph.strong_reference_end(NodeId::new(piece.end - 1)).clamp(start, start + rest.len());
            let (own, behind) = std::mem::take(&mut rest).split_at_mut(end - start);
            (rest, start) = (behind, end);
            (piece, own)
        };
        let pieces = parallel::pieces(graph.node_count()).into_iter().map(split_off).collect();
        parallel::map(pieces, &|(piece, mut rest): (Range<usize>, &mut [EdgeLabel])| {
            for node in piece.map(NodeId::new) {
                let (own, behind) = rest.split_at_mut(graph.strong_references(node).len().min(rest.len()));
                rest = behind;
                let mut own = own.iter_mut();
                for_each_strong_edge(&read, graph, node, |edge| {
                    own.next().into_iter().for_each(|label| *label = snapshot.edge_labels.labels_of(edge..edge + 1)[0]);
                });
            }
        });
        V8ReferenceKinds { reread: read, labels, script_names }
    }
}

/// Calls `take` with the edge of each strong reference of a node, in the order of the graph. O(edges).
fn for_each_strong_edge(read: &RereadSnapshot, graph: &HeapGraph, from: NodeId, mut take: impl FnMut(usize)) {
    let snapshot = &read.snapshot;
    let Some(ordinal) = read.ordinal(from) else { return };
    let edges = snapshot.edges(ordinal);
    // Of most objects every edge is a reference that holds.
    if edges.len() == graph.strong_references(from).len() {
        return edges.for_each(take);
    }
    let leads_somewhere = |&edge: &usize| {
        let target = snapshot.targets[edge];
        target != DANGLING_TARGET && !snapshot.is_category(target)
    };
    let strong = edges.filter(leads_somewhere).zip(graph.references(from)).filter(|(_, to)| !to.is_weak);
    strong.for_each(|(edge, _)| take(edge));
}

/// The index of the name of the script of a function, among the strings.
fn script_name_of_function(read: &RereadSnapshot, function: u32) -> Option<u32> {
    let snapshot = &read.snapshot;
    let shared = snapshot.field_target(function, "shared")?;
    let script =
        snapshot.field_target(shared, "script").or_else(|| snapshot.field_target(shared, "script_or_debug_info"))?;
    (snapshot.kind(script) == NodeKind::Code).then(|| snapshot.names.get(script))
}

impl ReferenceKinds for V8ReferenceKinds {
    fn append_labels(&self, graph: &HeapGraph, from: NodeId, labels: &mut Vec<u32>) {
        let (first, targets) = graph.indexed_strong_references(from);
        let own = self.labels.get(first..first + targets.len()).unwrap_or_default();
        if own.iter().all(|label| label.has_place()) {
            labels.extend(own.iter().map(|label| label.number()));
        } else {
            let edge_labels = &self.reread.snapshot.edge_labels;
            for_each_strong_edge(&self.reread, graph, from, |edge| labels.push(edge_labels.label(edge)));
        }
    }

    fn prefetch_labels(&self, graph: &HeapGraph, from: NodeId) {
        prefetch(&self.labels, graph.indexed_strong_references(from).0);
    }

    fn kind_and_name(&self, label: u32) -> (ReferenceKind, u32) {
        let (kind, number) = self.reread.snapshot.edge_labels.kind_and_number(label);
        let kind = match kind {
            Some(EdgeKind::Property) => ReferenceKind::Property,
            Some(EdgeKind::Element) => ReferenceKind::Element,
            Some(EdgeKind::Context) => ReferenceKind::CapturedVariable,
            Some(EdgeKind::Hidden) => ReferenceKind::Hidden,
            Some(EdgeKind::Shortcut) => ReferenceKind::Shortcut,
            _ => ReferenceKind::Internal,
        };
        (kind, number.unwrap_or(u32::MAX))
    }

    fn name(&self, number: u32) -> Cow<'_, str> {
        self.reread.snapshot.strings.text_or_placeholder(number)
    }

    fn script_file(&self, node: NodeId) -> Option<Cow<'_, str>> {
        let ordinal = self.reread.ordinal(node)?;
        let name = match self.reread.source_place(ordinal) {
            // A script whose name no function tells has none.
            Some(place) => self.script_names.get(&place.script_number).copied(),
            None if self.reread.snapshot.kind(ordinal) == NodeKind::Closure => {
                script_name_of_function(&self.reread, ordinal)
            }
            None => None,
        };
        name.map(|name| self.reread.snapshot.strings.text_or_placeholder(name))
    }
}
