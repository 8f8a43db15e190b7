//! Names of references, texts and distances: from the snapshot, read again whole when the first of them is asked for.
//! Its names are at its end, so that a part of the file tells nothing.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use twox_hash::XxHash3_128;

use super::block::NOWHERE;
use super::distances::{SYSTEM, distances};
use super::layout::{EdgeKind, Kind};
use super::rules::WeakMapPair;
use super::snapshot::Snapshot;
use super::strings::Keep;
use crate::graph::{ColumnSink, HeapGraph, MemoryBudget, NodeId};
use crate::input::{ContentKey, Contents, Diagnostics, FieldValue, ObjectDetails, ReadError, ReferenceName, Reread};
use crate::input::{Strings, Text, WantedContents};

/// Characters of a text that is put together; V8 cuts others there.
const MOST_TEXT_CHARS: usize = 1024;
/// Parts of a text that are looked at.
const MOST_PARTS: usize = 100_000;

/// What reads a snapshot again.
#[derive(Debug)]
pub(super) struct V8Details {
    input: Reread,
    read: Mutex<Option<Arc<Read>>>,
}

/// A snapshot that was read again.
#[derive(Debug)]
struct Read {
    snapshot: Snapshot,
    /// By node: its ordinal.
    ordinals: Vec<u32>,
    distances: Mutex<Option<Arc<Vec<u32>>>>,
}

impl V8Details {
    pub(super) fn new(input: Reread) -> Self {
        V8Details { input, read: Mutex::new(None) }
    }

    fn read(&self) -> Result<Arc<Read>, ReadError> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(read) = &*read {
            return Ok(Arc::clone(read));
        }
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let (budget, mut problems) = (MemoryBudget::default(), Diagnostics::default());
        let (mut snapshot, _) = Snapshot::read(self.input.from_start()?, Keep::All, threads, &budget, &mut problems)?;
        snapshot.ids.make_unique();
        let mut ordinals: Vec<u32> = (0..snapshot.len() as u32).filter(|&node| !snapshot.is_category(node)).collect();
        ordinals.par_sort_by_key(|&ordinal| snapshot.ids.get(ordinal as usize));
        Ok(Arc::clone(read.insert(Arc::new(Read { snapshot, ordinals, distances: Mutex::new(None) }))))
    }
}

impl Read {
    fn ordinal(&self, node: NodeId) -> Option<u32> {
        self.ordinals.get(node.index()).copied()
    }

    /// The edge of a node's reference, counted as the graph counts them.
    fn edge(&self, ordinal: u32, nth: usize) -> Option<usize> {
        let snapshot = &self.snapshot;
        let is_kept = |&edge: &usize| {
            let target = snapshot.targets[edge];
            target != NOWHERE && !snapshot.is_category(target)
        };
        snapshot.edges(ordinal).filter(is_kept).nth(nth)
    }

    fn name(&self, edge: usize) -> ReferenceName {
        let snapshot = &self.snapshot;
        let number = snapshot.edge_number(edge);
        let text = || snapshot.strings.name(number).into_owned();
        let is = |kind| snapshot.is_kind(edge, kind);
        if is(EdgeKind::Property) {
            ReferenceName::Property(text())
        } else if is(EdgeKind::Element) {
            ReferenceName::Element(number.into())
        } else if is(EdgeKind::Context) {
            ReferenceName::Variable(text())
        } else if is(EdgeKind::Hidden) {
            ReferenceName::Internal(format!("slot {number}"))
        } else {
            let text = text();
            match WeakMapPair::parse(&text) {
                Some(pair) => ReferenceName::Internal(format!("value in WeakMap (table @{})", pair.table)),
                None => ReferenceName::Internal(text),
            }
        }
    }

    /// The target of the first edge of a node with this name.
    fn named(&self, ordinal: u32, name: &str) -> Option<u32> {
        let snapshot = &self.snapshot;
        let mut edges = snapshot.edges(ordinal);
        let edge = edges.find(|&edge| {
            snapshot.is_kind(edge, EdgeKind::Internal) && snapshot.strings.get(snapshot.edge_number(edge)) == Some(name)
        })?;
        Some(snapshot.targets[edge]).filter(|&target| target != NOWHERE)
    }

    /// The text of a string node; a concatenated one is put together from its parts.
    fn text(&self, ordinal: u32) -> Option<String> {
        let snapshot = &self.snapshot;
        let name = || snapshot.strings.name(snapshot.names[ordinal as usize]).into_owned();
        match snapshot.kind(ordinal) {
            Kind::String | Kind::SlicedString => return Some(name()),
            Kind::ConsString => {}
            _ => return None,
        }
        let (mut text, mut chars) = (String::new(), 0);
        let mut open = vec![ordinal];
        for _ in 0..MOST_PARTS {
            let Some(part) = open.pop().filter(|_| chars < MOST_TEXT_CHARS) else { break };
            if snapshot.kind(part) == Kind::ConsString {
                open.extend(["second", "first"].iter().filter_map(|side| self.named(part, side)));
            } else {
                let own = snapshot.strings.name(snapshot.names[part as usize]);
                let more = own.chars().take(MOST_TEXT_CHARS - chars);
                text.extend(more);
                chars = text.chars().count();
            }
        }
        Some(if text.is_empty() { name() } else { text })
    }
}

/// Strings of a snapshot: nodes with bytes that are a text of their own. Those that are put together count, unless one of
/// their two parts is empty: then the other part is the text.
impl Read {
    fn is_text(&self, ordinal: u32) -> bool {
        let is_empty = |part: u32| {
            self.snapshot.kind(part) != Kind::ConsString
                && self.snapshot.strings.get(self.snapshot.names[part as usize]) == Some("")
        };
        match self.snapshot.kind(ordinal) {
            Kind::String => true,
            Kind::ConsString => !["first", "second"].iter().any(|side| self.named(ordinal, side).is_some_and(is_empty)),
            _ => false,
        }
    }

    /// What tells texts apart that begin alike and were cut, where the snapshot says it: length and hash.
    fn end_of_cut(&self, ordinal: u32) -> Option<[String; 2]> {
        self.named(ordinal, "truncated")?;
        let number = |name: &str| {
            let number = self.named(ordinal, name)?;
            let value = self.named(number, "value").unwrap_or(number);
            Some(self.snapshot.strings.name(self.snapshot.names[value as usize]).into_owned())
        };
        Some([number("length")?, number("hash")?])
    }

    fn key(&self, ordinal: u32) -> ContentKey {
        let mut text = self.text(ordinal).unwrap_or_default();
        for part in self.end_of_cut(ordinal).into_iter().flatten() {
            text += "\0";
            text += &part;
        }
        ContentKey::new(XxHash3_128::oneshot(text.as_bytes()), false)
    }
}

impl ObjectDetails for V8Details {
    /// What an object has are its references: none of a snapshot's fields is a value of its own.
    fn fields(&self, _: &HeapGraph, _: NodeId) -> Result<Vec<FieldValue>, ReadError> {
        Ok(Vec::new())
    }

    fn reference_name(&self, _: &HeapGraph, from: NodeId, nth: usize) -> Result<Option<ReferenceName>, ReadError> {
        let read = self.read()?;
        let edge = read.ordinal(from).and_then(|ordinal| read.edge(ordinal, nth));
        Ok(edge.map(|edge| read.name(edge)))
    }

    fn text(&self, _: &HeapGraph, node: NodeId) -> Result<Option<String>, ReadError> {
        let read = self.read()?;
        Ok(read.ordinal(node).and_then(|ordinal| read.text(ordinal)))
    }

    fn has_texts(&self) -> bool {
        true
    }

    fn contents(&self, graph: &HeapGraph, _: &WantedContents) -> Result<Contents, ReadError> {
        let read = self.read()?;
        let is_text = |node: &NodeId| {
            graph.shallow_bytes(*node) > 0 && read.ordinal(*node).is_some_and(|ordinal| read.is_text(ordinal))
        };
        let nodes: Vec<NodeId> = graph.nodes().filter(is_text).collect();
        let key = |node: &NodeId| read.ordinal(*node).map_or(ContentKey::UNKNOWN, |ordinal| read.key(ordinal));
        let keys = nodes.par_iter().map(key).collect();
        let strings = Strings::without_arrays(nodes, keys);
        Ok(Contents { strings, ..Contents::default() })
    }

    fn visit_texts(
        &self,
        _: &HeapGraph,
        strings: &Strings,
        wanted: &[usize],
        most_units: usize,
        take: &(dyn Fn(usize, Text) + Sync),
    ) -> Result<(), ReadError> {
        let read = self.read()?;
        for &at in wanted {
            let Some(text) = read.ordinal(strings.node(at)).and_then(|ordinal| read.text(ordinal)) else { continue };
            let start: String = text.chars().take(most_units).collect();
            // V8 cuts at a length, and so does what puts texts together.
            let is_cut = start.len() < text.len() || text.chars().count() >= MOST_TEXT_CHARS;
            take(at, Text { text: start, is_cut });
        }
        Ok(())
    }

    fn distance(&self, _: &HeapGraph, node: NodeId) -> Result<Option<u32>, ReadError> {
        let read = self.read()?;
        let mut known = read.distances.lock().unwrap_or_else(PoisonError::into_inner);
        let distances = known.get_or_insert_with(|| Arc::new(distances(&read.snapshot)));
        let distance = read.ordinal(node).map(|ordinal| distances[ordinal as usize]);
        Ok(distance.filter(|&distance| distance < SYSTEM))
    }

    fn has_distances(&self) -> bool {
        true
    }

    /// Nothing: the file is read again whole.
    fn store(&self, _: &mut dyn ColumnSink) -> io::Result<()> {
        Ok(())
    }
}
