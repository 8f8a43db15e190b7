//! Names of references, texts and distances: from the snapshot, read again whole when the first of them is asked for.
//! Its names are at its end, so that a part of the file tells nothing.

use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use twox_hash::XxHash3_128;

use super::distances::{FIRST_SYSTEM_DISTANCE, distances_of_nodes};
use super::layout::{EdgeKind, NodeKind};
use super::reference_kinds::V8ReferenceKinds;
use super::reread_snapshot::RereadSnapshot;
use super::ropes::{MAX_TEXT_UNITS, flat_text_units, visit_whole_text};
use super::snapshot::Snapshot;
use super::strings::KeptStrings;
use crate::allocations::AllocationDump;
use crate::graph::{ColumnSink, HeapGraph, NodeId, SourcePlace};
use crate::input::details::FIELD_VALUES_PER_BATCH;
use crate::input::{
    ContentKey, Contents, Diagnostics, FieldValue, LengthColumn, NamedFieldValue, ObjectDetails, ReadError,
    ReferenceKinds, ReferenceName, RereadableFile, ShownValue, StringColumns, Text, Value, WantedContents,
};

/// Reads a snapshot again.
#[derive(Debug)]
pub(super) struct V8Details {
    input: RereadableFile,
    /// The snapshot, once it was read again.
    reread_snapshot: Mutex<Option<Arc<RereadSnapshot>>>,
    allocations: OnceLock<Option<AllocationDump>>,
}

impl V8Details {
    /// `kept` is the snapshot with all its strings, where it was kept.
    pub(super) fn new(input: RereadableFile, kept: Option<Snapshot>) -> Self {
        V8Details { input, reread_snapshot: Mutex::new(kept.map(RereadSnapshot::of)), allocations: OnceLock::new() }
    }

    /// The snapshot, which is read again when it is asked for first.
    fn reread_snapshot(&self, graph: &HeapGraph) -> Result<Arc<RereadSnapshot>, ReadError> {
        let mut read = self.reread_snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(read) = &*read {
            return Ok(Arc::clone(read));
        }
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let (budget, mut problems) = (self.input.budget_beside(graph), Diagnostics::default());
        let (snapshot, _share) =
            Snapshot::read(self.input.from_start()?, KeptStrings::All, threads, &budget, &mut problems)?;
        Ok(Arc::clone(read.insert(RereadSnapshot::of(snapshot))))
    }
}

impl V8Details {
    /// An answer about the row of a node.
    fn answer_for_node<T>(
        &self,
        graph: &HeapGraph,
        node: NodeId,
        answer: impl FnOnce(&RereadSnapshot, u32) -> Option<T>,
    ) -> Result<Option<T>, ReadError> {
        let read = self.reread_snapshot(graph)?;
        Ok(read.ordinal(node).and_then(|ordinal| answer(&read, ordinal)))
    }
}

impl RereadSnapshot {
    /// A snapshot with all its strings.
    fn of(mut snapshot: Snapshot) -> Arc<Self> {
        snapshot.ids.make_unique();
        Arc::new(RereadSnapshot::new(snapshot))
    }

    /// Length and hash of a text that V8 cut, where the snapshot has them: they tell apart texts that begin alike.
    fn length_and_hash_of_cut_text(&self, ordinal: u32) -> Option<[String; 2]> {
        self.snapshot.field_target_of_value(ordinal, "truncated")?;
        let number = |name: &str| {
            let number = self.snapshot.field_target_of_value(ordinal, name)?;
            let value = self.snapshot.field_target_of_value(number, "value").unwrap_or(number);
            Some(self.snapshot.strings.text_or_placeholder(self.snapshot.names.get(value)).into_owned())
        };
        Some([number("length")?, number("hash")?])
    }

    /// Of a text that V8 cut the key of its start, and of what else tells such texts apart: at least their bytes. A rope
    /// with a part that is not in the snapshot is a copy of none.
    fn content_key(&self, ordinal: u32) -> ContentKey {
        let Some(Text { text, is_cut }) = self.text(ordinal, MAX_TEXT_UNITS) else { return ContentKey::UNKNOWN };
        let content = match (self.snapshot.kind(ordinal), self.length_and_hash_of_cut_text(ordinal)) {
            (_, Some([length, hash])) => format!("{text}\0{length}\0{hash}"),
            _ if !is_cut => text,
            (NodeKind::ConsString, None) => match self.ropes().whole_digest(&self.snapshot, ordinal) {
                Some(whole) => format!("\0{}\0{}", whole.bytes, whole.hash),
                None => format!("\0{}", self.snapshot.ids.get(ordinal as usize)),
            },
            _ => format!("{text}\0{}", self.snapshot.self_size(ordinal)),
        };
        ContentKey::new(XxHash3_128::oneshot(content.as_bytes()), false)
    }
}

impl ObjectDetails for V8Details {
    /// Empty: an object has references, and none of a snapshot's fields is a value of its own.
    fn fields(&self, _: &HeapGraph, _: NodeId) -> Result<Vec<FieldValue>, ReadError> {
        Ok(Vec::new())
    }

    fn reference_name(&self, graph: &HeapGraph, from: NodeId, nth: usize) -> Result<Option<ReferenceName>, ReadError> {
        self.answer_for_node(graph, from, |read, ordinal| {
            Some(read.reference_name(ordinal, read.edge_of_reference(ordinal, nth)?))
        })
    }

    fn text(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<String>, ReadError> {
        self.answer_for_node(graph, node, |read, ordinal| Some(read.text(ordinal, MAX_TEXT_UNITS)?.text))
    }

    fn visit_whole_content(
        &self,
        graph: &HeapGraph,
        node: NodeId,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<bool>, ReadError> {
        self.answer_for_node(graph, node, |read, ordinal| visit_whole_text(&read.snapshot, ordinal, take))
    }

    fn has_texts(&self) -> bool {
        true
    }

    fn contents(&self, graph: &HeapGraph, wanted: &WantedContents) -> Result<Contents, ReadError> {
        let read = self.reread_snapshot(graph)?;
        let ropes = read.ropes().standalone_ropes(&read.snapshot);
        let is_text = |node: &NodeId| {
            graph.shallow_bytes(*node) > 0
                && read.ordinal(*node).is_some_and(|ordinal| match read.snapshot.kind(ordinal) {
                    NodeKind::String => true,
                    _ => ropes.has(ordinal),
                })
        };
        let nodes: Vec<NodeId> = graph.nodes().filter(is_text).collect();
        let key = |node: &NodeId| read.ordinal(*node).map_or(ContentKey::UNKNOWN, |ordinal| read.content_key(ordinal));
        let keys = nodes.par_iter().map(key).collect();
        let length = |node: NodeId| {
            let ordinal = read.ordinal(node)?;
            let units = match read.snapshot.kind(ordinal) {
                NodeKind::ConsString => read.ropes().whole_text_units(&read.snapshot, ordinal),
                NodeKind::String | NodeKind::SlicedString => flat_text_units(&read.snapshot, ordinal),
                _ => None,
            };
            units.map(|units| (node, units))
        };
        let mut lengths = LengthColumn::default();
        if wanted.with_lengths {
            lengths = LengthColumn::of_nodes(graph.node_count());
            graph.nodes().filter_map(length).for_each(|(node, units)| lengths.set(node, units));
        }
        let strings = StringColumns::without_arrays(nodes, keys);
        Ok(Contents { strings, lengths, ..Contents::default() })
    }

    fn visit_texts(
        &self,
        graph: &HeapGraph,
        strings: &StringColumns,
        wanted: &[usize],
        most_units: usize,
        take: &(dyn Fn(usize, Text) + Sync),
    ) -> Result<(), ReadError> {
        let read = self.reread_snapshot(graph)?;
        for &at in wanted {
            let text = read.ordinal(strings.node(at)).and_then(|ordinal| read.text(ordinal, most_units));
            text.into_iter().for_each(|text| take(at, text));
        }
        Ok(())
    }

    fn shown_values(
        &self,
        graph: &HeapGraph,
        nodes: &[NodeId],
        most_units: usize,
    ) -> Result<Vec<Option<ShownValue>>, ReadError> {
        if nodes.is_empty() {
            return Ok(Vec::new());
        }
        let read = self.reread_snapshot(graph)?;
        let say = |node: &NodeId| read.ordinal(*node).and_then(|ordinal| read.shown_value(ordinal, most_units));
        Ok(nodes.iter().map(say).collect())
    }

    fn visit_field_values(
        &self,
        graph: &HeapGraph,
        names: &[&str],
        take: &(dyn Fn(&[NamedFieldValue]) + Sync),
    ) -> Result<(), ReadError> {
        let read = self.reread_snapshot(graph)?;
        let snapshot = &read.snapshot;
        let places =
            |(at, name): (usize, &&str)| snapshot.strings.indices_of(name).into_iter().map(move |index| (index, at));
        let places: FxHashMap<u32, usize> = names.iter().enumerate().flat_map(places).collect();
        let mut batch: Vec<NamedFieldValue> = Vec::new();
        for node in graph.nodes() {
            let Some(ordinal) = read.ordinal(node) else { break };
            let mut edges = snapshot.edges(ordinal).filter(|&edge| snapshot.is_kind(edge, EdgeKind::Property));
            if !edges.any(|edge| places.contains_key(&snapshot.edge_number(edge))) {
                continue;
            }
            let of_object = batch.len();
            for (nth, reference) in graph.references(node).enumerate() {
                let edge =
                    read.edge_of_reference(ordinal, nth).filter(|&edge| snapshot.is_kind(edge, EdgeKind::Property));
                if let Some(&name_index) = edge.and_then(|edge| places.get(&snapshot.edge_number(edge)))
                    && batch[of_object..].iter().all(|known| known.name_index != name_index)
                {
                    batch.push(NamedFieldValue { node, name_index, value: Value::Object(reference.node) });
                }
            }
            if batch.len() >= FIELD_VALUES_PER_BATCH {
                take(&batch);
                batch.clear();
            }
        }
        take(&batch);
        Ok(())
    }

    fn source_place(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<SourcePlace>, ReadError> {
        self.answer_for_node(graph, node, RereadSnapshot::source_place)
    }

    fn function_name(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<String>, ReadError> {
        self.answer_for_node(graph, node, RereadSnapshot::function_text)
    }

    fn function_of_captured_variables(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<String>, ReadError> {
        self.answer_for_node(graph, node, RereadSnapshot::function_of_variables)
    }

    fn reference_kinds(&self, graph: &HeapGraph) -> Result<Option<Box<dyn ReferenceKinds>>, ReadError> {
        Ok(Some(Box::new(V8ReferenceKinds::new(self.reread_snapshot(graph)?, graph))))
    }

    fn allocation_stack(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<Vec<String>>, ReadError> {
        self.answer_for_node(graph, node, RereadSnapshot::allocation_stack)
    }

    fn allocations(&self, graph: &HeapGraph) -> Result<Option<&AllocationDump>, ReadError> {
        if self.allocations.get().is_none() {
            // The usual header says that there are none: no need to read all of the file.
            let has_none =
                memchr::memmem::find(self.input.from_start()?.start(), b"\"trace_function_count\":0}").is_some();
            let read = if has_none { None } else { Some(self.reread_snapshot(graph)?) };
            let found = read.filter(|read| !read.stacks.is_empty()).map(|read| {
                let mut nodes: Vec<(u32, u32)> =
                    read.ordinals.iter().enumerate().map(|(node, &ordinal)| (ordinal, node as u32)).collect();
                nodes.sort_unstable();
                read.allocations(graph, |ordinal| {
                    let at = nodes.binary_search_by_key(&ordinal, |&(ordinal, _)| ordinal).ok()?;
                    Some(NodeId::new(nodes[at].1 as usize))
                })
            });
            _ = self.allocations.set(found);
        }
        Ok(self.allocations.get().and_then(Option::as_ref))
    }

    fn distance(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<u32>, ReadError> {
        self.answer_for_node(graph, node, |read, ordinal| {
            let distances = read.distances.get_or_init(|| distances_of_nodes(&read.snapshot));
            Some(distances[ordinal as usize]).filter(|&distance| distance < FIRST_SYSTEM_DISTANCE)
        })
    }

    fn has_distances(&self) -> bool {
        true
    }

    /// Nothing: the file is read again whole.
    fn store(&self, _: &mut dyn ColumnSink) -> io::Result<()> {
        Ok(())
    }
}
