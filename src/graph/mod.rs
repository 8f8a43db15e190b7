//! The shared object graph: what every reader makes and every analysis works on.
//!
//! Facts that every part relies on:
//! - Repeated and self references are legal; their order is the dump's. Sizes are the dump's, never rounded.
//! - Nodes are numbered by section, then by original id, both ascending.
//! - Roots and references are strong or weak. Weak ones are kept and shown but hold nothing: analyses walk strong ones.
//! - Where objects hold their class (Java), that reference is stored only where it changes what is held.
//! - An object may be unreachable: it counts in totals, and has no dominator and no retained size.
//! - References to ids that are not in the dump are counted, never invented as objects; null references apart.
//! - Original ids are scoped by section, and carry over from one dump to another only where
//!   [`HeapGraph::has_lasting_ids`].
//!
//! Not here: formats (see `input`), algorithms (see `analysis`), printing (see `report`).

mod append_numbered;
mod archived_mirrors;
mod budget;
mod builder;
mod byte_counts;
mod class_references;
mod column;
mod csr;
mod generations;
mod graph_names;
mod heap_parts;
mod id_map;
mod ids;
mod list_lengths;
mod node_set;
mod numbered_objects;
mod object_columns;
mod object_order;
mod packed_objects;
mod petgraph_interop;
mod prefetch;
mod reference_stream;
mod references;
mod resolve;
mod resolve_counts;
mod resolve_records;
mod resolve_references;
mod roots;
mod sections;
mod shown_types;
mod stored_graph;
mod threads;
mod two_stream_builder;
mod type_columns;
mod type_set;
mod types;
mod weak_references;

use std::sync::OnceLock;

pub use budget::{BuildError, MemoryBudget, MemoryShare, make_room};
pub use builder::GraphBuilder;
pub use byte_counts::{ByteCounts, PackedBytes};
pub use column::{Column, ColumnNumber, ColumnSink, ColumnSource, MappedImage};
pub(crate) use csr::CsrOffsets;
pub use generations::{Generation, GenerationRange, GenerationRun};
pub use graph_names::{GraphNameId, GraphNames};
pub use heap_parts::{ClearableKind, HeapParts, SoftReference};
pub use ids::{NodeId, SectionId, TypeId, TypeSlot};
pub use list_lengths::ListLengths;
pub use node_set::NodeSet;
pub use numbered_objects::{NumberedObjects, NumberedWeakReference, ObjectIds};
pub use object_columns::ObjectColumns;
pub use petgraph_interop::{
    All, AnyNeighbors, NodeReferences, ReferenceEdge, ReferenceEdges, Strength, StrongNeighbors,
};
pub(crate) use prefetch::prefetch;
pub use references::{Reference, References, Referrers};
pub use resolve_counts::{ArchivedMirrorSearch, Occurrences, ResolveCounts, ResolveOptions};
pub use roots::{Root, RootFlags, RootKind, RootOrigin, RootRecord};
pub use sections::{IdStyle, Section};
pub use stored_graph::StoredGraph;
pub use threads::{FrameId, SourceLine, StackFrame, StackRange, Thread, ThreadId, ThreadRecord};
pub use type_columns::{SlotColumn, TwoWidths, remove_at_indices};
pub use type_set::TypeSet;
pub use types::{Field, FieldKind, Loader, LoaderRecord, SourcePlace, TypeRecord, TypeTable};

use csr::Csr;
use sections::SectionIds;
use type_columns::TypeColumn;
use weak_references::WeakReferences;

/// Result of looking up an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdLookup {
    /// No object has this id.
    None,
    /// One has it.
    One(NodeId),
    /// One in each of these sections has it.
    Several(Vec<(SectionId, NodeId)>),
}

/// Objects, what they refer to, and what holds them. Costs stand at each method; none allocates unless it says so.
#[derive(Debug, Default)]
pub struct HeapGraph {
    node_types: TypeColumn,
    shallow: ByteCounts<u16>,
    references: Csr,
    referrers: OnceLock<Csr>,
    section_ids: Vec<SectionIds>,
    sections: Vec<Section>,
    roots: Vec<Root>,
    types: TypeTable,
    id_style: IdStyle,
    /// The dump has no root records; `roots` follow from its references.
    roots_inferred: bool,
    threads: Vec<Thread>,
    frames: Vec<StackFrame>,
    pub(crate) dependent_reference_count: u64,
    generations: Vec<GenerationRun>,
    pub(crate) heap_parts: HeapParts,
    /// Times at which objects were allocated, of all nodes, ascending, in dumps that say so; else empty.
    pub(crate) allocation_intervals: HeapParts,
    weak_references: WeakReferences,
    /// Ascending; `None` where the dump does not tell them from others.
    soft_references: Option<Vec<SoftReference>>,
    /// Objects whose class is not among their strong references, though objects hold their classes.
    objects_without_stored_class: usize,
    pub(crate) has_unheld_in_dominator_tree: bool,
    pub(crate) lacks_references: bool,
    /// Objects without bytes are not counted in histograms: in V8 snapshots they are parts of others.
    pub(crate) counts_only_objects_with_bytes: bool,
}

impl HeapGraph {
    /// Objects. O(1).
    pub fn node_count(&self) -> usize {
        self.node_types.len()
    }

    /// Parts of the heap that the dump tells apart; none where it does not. O(1).
    pub fn heap_parts(&self) -> &HeapParts {
        &self.heap_parts
    }

    /// Strong references that the runtime may give up, ascending by source; `None` where the dump does not tell. O(1).
    pub fn soft_references(&self) -> Option<&[SoftReference]> {
        self.soft_references.as_deref()
    }

    /// All objects, ascending.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator + use<> {
        (0..self.node_count() as u32).map(NodeId)
    }

    /// Bytes of the object itself. O(1).
    #[inline]
    pub fn shallow_bytes(&self, node: NodeId) -> u64 {
        self.shallow.get(node.index())
    }

    /// The object's type as the dump has it; `shown_type_of` is the one to group by. O(1).
    #[inline]
    pub fn type_of(&self, node: NodeId) -> TypeId {
        self.node_types.get(node.index())
    }

    /// Consecutive objects with their types and shallow bytes: faster than asking for each.
    pub fn objects(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = (NodeId, TypeId, u64)> {
        let types = self.node_types.range(range.clone());
        let nodes = range.clone().map(NodeId::new);
        nodes.zip(types).zip(self.shallow.range(range)).map(|((node, type_id), bytes)| (node, type_id, bytes))
    }

    /// Types of consecutive objects: faster than asking for each.
    pub fn node_types(&self, range: std::ops::Range<usize>) -> impl ExactSizeIterator<Item = TypeId> {
        self.node_types.range(range)
    }

    /// Shallow bytes of consecutive objects: faster than asking for each.
    pub fn shallow_bytes_of(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = u64> {
        self.shallow.range(range)
    }

    /// The types: names, and what the dump says of them besides. O(1).
    pub fn types(&self) -> &TypeTable {
        &self.types
    }

    /// Types known to the dump, with or without objects. O(1).
    pub fn type_count(&self) -> usize {
        self.types.len()
    }

    /// A type's name; several types may have one where the dump tells them apart. O(1).
    pub fn type_name(&self, type_id: TypeId) -> &str {
        self.types.name(type_id)
    }

    /// Runs of objects by generation, together all objects; empty where the dump does not say.
    pub fn generations(&self) -> &[GenerationRun] {
        &self.generations
    }

    /// References that hold only through dependent handles (from a key to its value), among `references`.
    pub fn dependent_reference_count(&self) -> u64 {
        self.dependent_reference_count
    }

    /// Returns true if the dump is a sample of the heap.
    pub fn is_sample(&self) -> bool {
        !self.types.multipliers.is_empty()
    }

    /// Makes the dump a sample; `multiplier` is asked for each type.
    pub fn set_multipliers(&mut self, multiplier: impl Fn(TypeId) -> f32) {
        self.types.multipliers = self.types.ids().map(multiplier).collect();
    }

    /// A text that the dump's own things are named with. O(1).
    pub fn name(&self, name: GraphNameId) -> &str {
        self.types.text(name)
    }

    /// The name of the variable or method of a root, where the dump knows it. O(1).
    pub fn root_name(&self, root: &Root) -> Option<&str> {
        root.name.map(|name| self.name(name))
    }

    /// The threads that the dump knows, in its order; empty where its format has none.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// The stacks of all threads, one behind the other; [`FrameId::index`] is an index into these.
    pub fn frames(&self) -> &[StackFrame] {
        &self.frames
    }

    /// A thread's stack, innermost first. O(1).
    pub fn frames_of(&self, thread: &Thread) -> &[StackFrame] {
        self.frames.get(thread.frame_range()).unwrap_or(&[])
    }

    /// The frame a root lies in, where the dump says so. O(1).
    pub fn frame_of(&self, root: &Root) -> Option<&StackFrame> {
        self.frames.get(root.frame?.index())
    }

    /// Takes the names of threads away.
    pub(crate) fn forget_thread_names(&mut self) {
        self.threads.iter_mut().for_each(|thread| thread.name = None);
    }

    /// Names threads that the dump names by an object (Java): `name` is asked for each thread without a name.
    pub fn name_threads(&mut self, mut name: impl FnMut(&HeapGraph, &Thread) -> Option<String>) {
        for at in 0..self.threads.len() {
            if self.threads[at].name.is_none()
                && let Some(text) = name(self, &self.threads[at])
            {
                self.threads[at].name = Some(GraphNameId::new(self.types.texts.len() as u32));
                self.types.texts.0.push(text.into());
            }
        }
    }

    /// Referrers of all objects; the first call makes them.
    fn reverse_references(&self) -> &Csr {
        self.referrers.get_or_init(|| self.references.reversed(self.node_count()))
    }

    /// All root records whose object is in the dump, weak and excluded ones too, in the order of the dump.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// Root records that hold their objects.
    pub fn strong_roots(&self) -> impl Iterator<Item = &Root> {
        self.roots.iter().filter(|root| root.is_strong())
    }

    /// The dump has no root records; those here follow from its references.
    pub fn roots_inferred(&self) -> bool {
        self.roots_inferred
    }

    /// Adds roots that an analysis made up; `inferred` marks the whole graph as resting on such.
    pub fn add_roots(&mut self, roots: impl IntoIterator<Item = Root>, inferred: bool) {
        self.roots.extend(roots);
        self.roots_inferred |= inferred;
    }

    /// Leaves roots of these kinds (by `RootKind::name`, behind `weak ` the weak ones alone) out of every analysis.
    /// O(roots), and O(objects + references) where that changes which references hold.
    pub fn exclude_roots(&mut self, kinds: &[String]) {
        let mut through_threads = Vec::new();
        for root in &mut self.roots {
            let name = root.kind.name();
            let is_named =
                |kind: &String| *kind == name || (root.is_weak() && kind.strip_prefix("weak ") == Some(&name));
            if !root.is_excluded && kinds.iter().any(is_named) {
                root.is_excluded = true;
                let thread = root.thread.filter(|_| root.is_through_thread).map(|thread| &self.threads[thread.index()]);
                through_threads.extend(thread.and_then(|thread| thread.node).map(|thread| (thread, root.node)));
            }
        }
        self.remove_references(through_threads);
        self.store_class_references();
    }

    /// Returns true if what no root reaches stands in the dominator tree all the same, below its root: the rule of V8
    /// snapshots. It is not reachable for that.
    pub fn has_unheld_in_dominator_tree(&self) -> bool {
        self.has_unheld_in_dominator_tree
    }

    /// Returns true if the dump broke off before its references: what holds an object is not known of any.
    pub fn lacks_references(&self) -> bool {
        self.lacks_references
    }

    /// Returns true if histograms count the object. O(1).
    #[inline]
    pub fn is_counted_in_histograms(&self, node: NodeId) -> bool {
        !self.counts_only_objects_with_bytes || self.shallow_bytes(node) > 0
    }

    /// Sections, at least one unless the dump is empty.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Indices of the section's nodes. O(1).
    pub fn section_nodes(&self, section: SectionId) -> std::ops::Range<usize> {
        let ids = &self.section_ids[section.index()];
        let first = ids.first_node as usize;
        first..first + ids.id_map.len()
    }

    /// Indices of the section's nodes with an id from `from` to `to`. O(log² objects).
    pub(crate) fn nodes_in_id_range(&self, section: SectionId, from: u64, to: u64) -> std::ops::Range<usize> {
        let Some(SectionIds { first_node, id_map: ids }) = self.section_ids.get(section.index()) else { return 0..0 };
        let start = ids.count_below(from);
        let end = to.checked_add(1).map_or(ids.len() as u32, |behind| ids.count_below(behind));
        (first_node + start) as usize..(first_node + end.max(start)) as usize
    }

    /// The section an object belongs to. O(log sections).
    pub fn section_of(&self, node: NodeId) -> SectionId {
        // Empty sections share their first node with the next: the last that begins at or before has the object.
        let after = self.section_ids.partition_point(|ids| ids.first_node <= node.0);
        SectionId::new(after.saturating_sub(1))
    }

    /// The object's id as in the dump; unique only within its section. O(log objects).
    pub fn original_id(&self, node: NodeId) -> u64 {
        let ids = &self.section_ids[self.section_of(node).index()];
        ids.id_map.select(node.0 - ids.first_node)
    }

    /// The object's id as the user sees and types it: in the format's form, with the section where there are several.
    pub fn display_id(&self, node: NodeId) -> String {
        let id = self.id_style.format(self.original_id(node));
        if self.sections.len() > 1 { format!("{}#{id}", self.section_of(node).number()) } else { id }
    }

    /// Form in which original ids are printed.
    pub fn id_style(&self) -> IdStyle {
        self.id_style
    }

    /// Returns true if an id stays with its object as long as the process lives, from one dump to the next: those that a
    /// runtime counts up. Addresses do not.
    pub fn has_lasting_ids(&self) -> bool {
        self.id_style == IdStyle::Decimal
    }

    /// Returns true if names of types may have packages before them: those of JavaScript have none.
    pub fn types_may_have_packages(&self) -> bool {
        !self.has_lasting_ids()
    }

    /// The object of an id in a dump of one section. O(1).
    #[inline]
    pub fn node_of_id(&self, id: u64) -> Option<NodeId> {
        let ids = self.section_ids.first()?;
        ids.node_of_id(id).filter(|node| node.index() < self.node_count())
    }

    /// Finds an object by its original id, in one section or in all. O(sections).
    pub fn find_by_id(&self, section: Option<SectionId>, id: u64) -> IdLookup {
        let in_section = |section: SectionId| {
            let ids = &self.section_ids[section.index()];
            let rank = ids.id_map.rank(id).filter(|&rank| (rank as usize) < ids.id_map.len());
            rank.map(|rank| (section, NodeId(ids.first_node + rank)))
        };
        let sections = section.map_or(0..self.sections.len(), |section| section.index()..section.index() + 1);
        let mut found = sections.filter_map(|number| in_section(SectionId::new(number)));
        match (found.next(), found.next()) {
            (None, _) => IdLookup::None,
            (Some((_, node)), None) => IdLookup::One(node),
            (Some(first), Some(second)) => IdLookup::Several([first, second].into_iter().chain(found).collect()),
        }
    }

    /// Bytes of memory the graph takes: (per-object arrays, roots and names; references; reverse references).
    pub fn memory_bytes(&self) -> (usize, usize, usize) {
        let ids: usize = self.section_ids.iter().map(|section| section.id_map.memory_bytes()).sum();
        let objects =
            ids + self.node_types.memory_bytes() + self.shallow.memory_bytes() + self.references.offsets.memory_bytes();
        // With the row that an answer has for each.
        const NAME_BYTES: usize = 250;
        let texts = self.types.names.iter().chain(&self.types.texts.0);
        let names: usize = texts.map(|name| 2 * name.len() + NAME_BYTES).sum();
        let stacks = self.threads.len() * size_of::<Thread>() + self.frames.len() * size_of::<StackFrame>();
        let objects = objects + self.roots.len() * size_of::<Root>() + names + stacks + self.types.memory_bytes();
        let reverse = self.referrers.get().map_or(0, |csr| csr.offsets.memory_bytes() + csr.targets.len() * 4);
        (objects, self.references.targets.len() * 4 + self.weak_references.memory_bytes(), reverse)
    }
}

#[cfg(test)]
mod kinds_tests;
impl HeapGraph {
    /// Are type ids of one name told apart (`--raw-types`)? They are one type unless this says so, or the dump knows
    /// where their constructors stand.
    pub fn set_types_apart(&mut self, are_apart: bool) {
        self.types.shown_types.are_told_apart = are_apart;
    }

    /// The type that stands for all of its name: whatever groups or compares types goes by this one. The first call
    /// looks at all names; O(1) after.
    #[inline]
    pub fn shown_type(&self, type_id: TypeId) -> TypeId {
        if self.types.shown_types.are_told_apart || self.types.have_constructor_places() {
            type_id
        } else {
            self.first_type_of_same_name(type_id)
        }
    }

    /// The same for an object's type.
    #[inline]
    pub fn shown_type_of(&self, node: NodeId) -> TypeId {
        self.shown_type(self.type_of(node))
    }

    /// The first type of the same name, even where type ids are told apart: what is joined by name goes by this one.
    #[inline]
    pub fn first_type_of_same_name(&self, type_id: TypeId) -> TypeId {
        self.types.shown_types.first_types_by_name(&self.types.names).map_or(type_id, |first| first[type_id.index()])
    }
}

#[cfg(test)]
mod tests;
