//! The shared object graph: what every reader makes and every analysis works on.
//!
//! Facts that every part relies on:
//! - Repeated and self references are legal; their order is the dump's. Sizes are the dump's, never rounded.
//! - Nodes are numbered by section, then by original id, both ascending.
//! - A root is strong or weak. Weak roots are kept and shown but hold nothing.
//! - An object may be unreachable: it counts in totals, and has no dominator and no retained size.
//! - References to ids that are not in the dump are counted, never invented as objects; null references apart.
//! - Original ids are scoped by section, and never carry over from one dump to another.
//!
//! Not here: formats (see `input`), algorithms (see `analysis`), printing (see `report`).

mod budget;
mod builder;
mod byte_counts;
mod column;
mod columns;
mod csr;
mod findings;
mod generations;
mod id_map;
mod ids;
mod interop;
mod resolve;
mod roots;
mod shown_types;
mod stored;
mod streams;

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

pub use budget::{MemoryBudget, MemoryShare, make_room};
pub use builder::{BuildError, GraphBuilder, TypeSlot};
pub use byte_counts::ByteCounts;
pub use column::{Column, ColumnSink, ColumnSource, Image, Number};
pub use columns::ObjectColumns;
pub use findings::{Findings, Tally};
pub use generations::{Generation, GenerationRange, GenerationRun};
pub use ids::{NodeId, SectionId, TypeId};
pub use interop::{Neighbors, NodeSet, ReferenceEdge, References};
pub use resolve::ResolveOptions;
pub use roots::{Root, RootFlags, RootKind, RootName, RootOrigin, RootRecord};
pub use stored::StoredGraph;

use csr::Csr;
use id_map::IdMap;
use shown_types::ShownTypes;

/// How original ids are printed: one canonical form per format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum IdStyle {
    /// `1ce056`
    #[default]
    Hex,
    /// `0x00436E90`, with this many digits.
    Padded(u8),
    /// `0x7f2da4800010`
    Prefixed,
}

impl IdStyle {
    /// The id in this style.
    pub fn format(self, id: u64) -> String {
        match self {
            IdStyle::Hex => format!("{id:x}"),
            IdStyle::Padded(digits) => format!("0x{id:0width$X}", width = digits as usize),
            IdStyle::Prefixed => format!("{id:#x}"),
        }
    }
}

/// A part of the dump with ids of its own: an AppDomain, a heap space, a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// As in the dump; may be empty, need not be unique.
    pub name: String,
    /// When the section was begun, in milliseconds since the device was booted.
    pub started_ms: Option<u64>,
    /// When it was finished, in the same unit; equal to the start where the dump repeats that.
    pub ended_ms: Option<u64>,
    /// The dump says where the section ends, so it is whole.
    pub complete: bool,
    /// Types the section declares, used or not.
    pub declared_types: u64,
    /// References to 0.
    pub null_references: u64,
    /// References to ids without an object in the section.
    pub dangling_references: u64,
    /// Root records whose object is not in the section.
    pub dangling_roots: u64,
}

#[derive(Debug)]
struct SectionIds {
    first_node: u32,
    ids: IdMap,
}

/// What looking up an id gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
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
    node_types: Column<TypeId>,
    shallow: ByteCounts,
    references: Csr,
    referrers: OnceLock<Csr>,
    ids: Vec<SectionIds>,
    sections: Vec<Section>,
    roots: Vec<Root>,
    type_names: Vec<Box<str>>,
    labels: Vec<(NodeId, TypeId)>,
    id_style: IdStyle,
    roots_inferred: bool,
    root_names: Vec<Box<str>>,
    /// By type; empty when no type has a module.
    type_modules: Vec<u32>,
    module_names: Vec<Box<str>>,
    dependent_references: u64,
    generations: Vec<GenerationRun>,
    /// By type: objects of the dump that each stands for; empty when it is no sample.
    multipliers: Vec<f32>,
    shown_types: ShownTypes,
}

impl HeapGraph {
    /// Objects. O(1).
    pub fn node_count(&self) -> usize {
        self.node_types.len()
    }

    /// All objects, ascending.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + DoubleEndedIterator + use<> {
        (0..self.node_count() as u32).map(NodeId)
    }

    /// References between objects of the dump, repeats included. O(1).
    pub fn reference_count(&self) -> usize {
        self.references.targets.len()
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
        let types = self.node_types.slice(range.clone());
        let nodes = range.clone().map(NodeId::new);
        nodes.zip(types).zip(self.shallow.range(range)).map(|((node, &type_id), bytes)| (node, type_id, bytes))
    }

    /// Types known to the dump, with or without objects. O(1).
    pub fn type_count(&self) -> usize {
        self.type_names.len()
    }

    /// A type's name; several types may have one where the dump tells them apart. O(1).
    pub fn type_name(&self, type_id: TypeId) -> &str {
        &self.type_names[type_id.index()]
    }

    /// The module (assembly) a type is from, where the dump says so. O(1).
    pub fn module_of(&self, type_id: TypeId) -> Option<&str> {
        let module = *self.type_modules.get(type_id.index())? as usize;
        self.module_names.get(module).map(|name| &**name)
    }

    /// Does the dump say which modules its types are from?
    pub fn has_modules(&self) -> bool {
        !self.module_names.is_empty()
    }

    /// Runs of objects by generation, together all objects; empty where the dump does not say.
    pub fn generations(&self) -> &[GenerationRun] {
        &self.generations
    }

    /// References that hold only through dependent handles (from a key to its value), among `references`.
    pub fn dependent_reference_count(&self) -> u64 {
        self.dependent_references
    }

    /// How many objects of the heap one of this type in the dump stands for: 1 unless the dump is a sample.
    pub fn sampled_multiplier(&self, type_id: TypeId) -> f32 {
        self.multipliers.get(type_id.index()).copied().unwrap_or(1.0)
    }

    /// Is the dump a sample of the heap?
    pub fn is_sample(&self) -> bool {
        !self.multipliers.is_empty()
    }

    /// Makes the dump a sample; `multiplier` is asked for each type.
    pub fn set_multipliers(&mut self, multiplier: impl Fn(TypeId) -> f32) {
        self.multipliers = (0..self.type_count()).map(|index| multiplier(TypeId::new(index))).collect();
    }

    /// The name of the variable or method of a root, where the dump knows it. O(1).
    pub fn root_name(&self, root: &Root) -> Option<&str> {
        root.name.and_then(|name| self.root_names.get(name.0 as usize)).map(|name| &**name)
    }

    /// The class a class object stands for, in formats whose classes are objects (IBM classic). O(log classes).
    pub fn class_named_by(&self, node: NodeId) -> Option<TypeId> {
        let at = self.labels.binary_search_by_key(&node, |&(labelled, _)| labelled).ok()?;
        Some(self.labels[at].1)
    }

    /// Every class object with the class it stands for, ascending by node.
    pub fn class_objects(&self) -> &[(NodeId, TypeId)] {
        &self.labels
    }

    /// What the object refers to: order of the dump, repeats kept. O(1).
    #[inline]
    pub fn references(&self, node: NodeId) -> &[NodeId] {
        self.references.targets_of(node.index())
    }

    /// What refers to the object: ascending, repeats kept. The first call turns all references round:
    /// O(nodes + references) and 4 bytes for each of both.
    pub fn referrers(&self, node: NodeId) -> &[NodeId] {
        self.reverse_references().targets_of(node.index())
    }

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

    /// The dump has no root records; those here follow from its shape.
    pub fn roots_inferred(&self) -> bool {
        self.roots_inferred
    }

    /// Adds roots that an analysis made up; `inferred` marks the whole graph as resting on such.
    pub fn add_roots(&mut self, roots: impl IntoIterator<Item = Root>, inferred: bool) {
        self.roots.extend(roots);
        self.roots_inferred |= inferred;
    }

    /// Leaves roots of these kinds (by `RootKind::name`, behind `weak ` the weak ones alone) out of every analysis.
    /// O(roots).
    pub fn exclude_roots(&mut self, kinds: &[String]) {
        for root in &mut self.roots {
            let name = root.kind.name();
            let is_named =
                |kind: &String| *kind == name || (root.is_weak() && kind.strip_prefix("weak ") == Some(&name));
            root.excluded |= kinds.iter().any(is_named);
        }
    }

    /// Sections, at least one unless the dump is empty.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Indices of the section's nodes. O(1).
    pub fn section_nodes(&self, section: SectionId) -> std::ops::Range<usize> {
        let ids = &self.ids[section.index()];
        let first = ids.first_node as usize;
        first..first + ids.ids.len()
    }

    /// The section an object belongs to. O(log sections).
    pub fn section_of(&self, node: NodeId) -> SectionId {
        // Empty sections share their first node with the next: the last that begins at or before has the object.
        let after = self.ids.partition_point(|ids| ids.first_node <= node.0);
        SectionId::new(after.saturating_sub(1))
    }

    /// The object's id as in the dump; unique only within its section. O(log objects).
    pub fn original_id(&self, node: NodeId) -> u64 {
        let ids = &self.ids[self.section_of(node).index()];
        ids.ids.select(node.0 - ids.first_node)
    }

    /// The object's id as the user sees and types it: in the format's form, with the section where there are several.
    pub fn display_id(&self, node: NodeId) -> String {
        let id = self.id_style.format(self.original_id(node));
        if self.sections.len() > 1 { format!("{}#{id}", self.section_of(node).number()) } else { id }
    }

    /// How original ids are printed.
    pub fn id_style(&self) -> IdStyle {
        self.id_style
    }

    /// Finds an object by its original id, in one section or in all. O(sections).
    pub fn find(&self, section: Option<SectionId>, id: u64) -> Found {
        let in_section = |section: SectionId| {
            let ids = &self.ids[section.index()];
            let rank = ids.ids.rank(id).filter(|&rank| (rank as usize) < ids.ids.len());
            rank.map(|rank| (section, NodeId(ids.first_node + rank)))
        };
        let mut found: Vec<(SectionId, NodeId)> = match section {
            Some(section) => in_section(section).into_iter().collect(),
            None => (0..self.sections.len()).filter_map(|number| in_section(SectionId::new(number))).collect(),
        };
        match found.len() {
            0 => Found::None,
            1 => Found::One(found.remove(0).1),
            _ => Found::Several(found),
        }
    }

    /// Bytes of memory the graph takes: (per-object arrays, roots and names; references; reverse references).
    pub fn memory_bytes(&self) -> (usize, usize, usize) {
        let ids: usize = self.ids.iter().map(|section| section.ids.bytes()).sum();
        let objects = ids + self.node_types.len() * 4 + self.shallow.bytes() + self.references.offsets.bytes();
        // With the row that an answer has for each.
        const NAME_BYTES: usize = 250;
        let names: usize = self.type_names.iter().chain(&self.root_names).map(|name| 2 * name.len() + NAME_BYTES).sum();
        let objects = objects + self.roots.len() * size_of::<Root>() + names;
        let reverse = self.referrers.get().map_or(0, |csr| csr.offsets.bytes() + csr.targets.len() * 4);
        (objects, self.references.targets.len() * 4, reverse)
    }
}

#[cfg(test)]
mod tests;
