//! A finished graph as columns and back: what an index holds of it.

use std::io;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::byte_counts::ByteCounts;
use super::column::{Column, ColumnSink, ColumnSource};
use super::csr::Csr;
use super::graph_names::GraphNames;
use super::heap_parts::{HeapParts, NUMBERS_PER_SOFT_REFERENCE, soft_reference_from_numbers, store_soft_references};
use super::id_map::{IdRankMap, StoredIdRankMap};
use super::threads::{FrameId, NUMBERS_PER_THREAD, StackFrame, Thread, ThreadId};
use super::type_columns::TypeColumn;
use super::types::{Field, NUMBERS_PER_TYPE_DETAILS, SourcePlace, StoredLimits, TypeDetails, TypeTable};
use super::weak_references::WeakReferences;
use super::{Generation, GenerationRun, GraphNameId, HeapGraph, IdStyle, NodeId, RootFlags, RootKind, RootOrigin};
use super::{Root, Section, SectionIds, TypeId};

/// The part of a graph that is stored as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredGraph {
    nodes: usize,
    references: usize,
    types: usize,
    sections: Vec<Section>,
    ids: Vec<StoredIdRankMap>,
    id_style: IdStyle,
    roots_inferred: bool,
    dependent_references: u64,
    objects_hold_class: bool,
    classes_left_out: usize,
    unheld_in_tree: bool,
    #[serde(default)]
    references_missing: bool,
    counts_bytes_only: bool,
    generations: Vec<(usize, usize, Generation)>,
    heap_parts: HeapParts,
    #[serde(default)]
    intervals: HeapParts,
    tells_soft: bool,
}

/// Numbers of one root record: node, kind, its number where it has one, flags, container, name, origin, thread, frame,
/// and 1 where it is held through the thread.
const NUMBERS_PER_ROOT: usize = 10;
/// Stands for no container, name, thread and frame.
const NO_NUMBER: u32 = u32::MAX;
const NO_VALUE_LIMIT: u64 = u64::MAX;

impl HeapGraph {
    /// Writes the graph, its reverse references included. Roots that were excluded are written as if they were not.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn store(&self, sink: &mut dyn ColumnSink) -> io::Result<StoredGraph> {
        self.node_types.store(sink, "types")?;
        self.shallow.store(sink, "shallow")?;
        self.references.store(sink, "references")?;
        self.reverse_references().store(sink, "referrers")?;
        let ids: Vec<StoredIdRankMap> = self
            .section_ids
            .iter()
            .enumerate()
            .map(|(section, own)| own.id_map.store(sink, &format!("ids.{section}")))
            .collect::<io::Result<_>>()?;
        let roots: Vec<u32> = self.roots.iter().flat_map(root_to_numbers).collect();
        Column::from(roots).store(sink, "roots")?;
        self.weak_references.store(sink)?;
        store_soft_references(self.soft_references.as_deref().unwrap_or_default(), sink)?;
        self.types.store(sink)?;
        let threads: Vec<u32> = self.threads.iter().flat_map(Thread::to_numbers).collect();
        Column::from(threads).store(sink, "threads")?;
        let frames: Vec<u32> = self.frames.iter().copied().flat_map(StackFrame::to_numbers).collect();
        Column::from(frames).store(sink, "frames")?;
        Ok(StoredGraph {
            nodes: self.node_count(),
            references: self.strong_reference_count(),
            types: self.type_count(),
            sections: self.sections.clone(),
            ids,
            id_style: self.id_style,
            roots_inferred: self.roots_inferred,
            dependent_references: self.dependent_reference_count,
            objects_hold_class: self.types.objects_hold_class,
            classes_left_out: self.objects_without_stored_class,
            unheld_in_tree: self.has_unheld_in_dominator_tree,
            references_missing: self.lacks_references,
            counts_bytes_only: self.counts_only_objects_with_bytes,
            heap_parts: self.heap_parts.clone(),
            intervals: self.allocation_intervals.clone(),
            tells_soft: self.soft_references.is_some(),
            generations: self.generations.iter().map(|run| (run.nodes.start, run.nodes.end, run.generation)).collect(),
        })
    }

    /// The graph back. Touches of the large columns only what questions need; O(types + roots + sections).
    /// `None` when the columns are not those of a graph.
    pub fn from_stored(stored: &StoredGraph, source: &dyn ColumnSource) -> Option<Self> {
        let nodes = stored.nodes;
        let node_types = TypeColumn::from_stored(source, "types", stored.types)?;
        let shallow = ByteCounts::from_stored(source, "shallow", nodes)?;
        let types = TypeTable::from_stored(source, nodes, stored.objects_hold_class)?;
        let fits = nodes < u32::MAX as usize
            && node_types.len() == nodes
            && types.len() == stored.types
            && stored.classes_left_out <= nodes
            && stored.sections.len() == stored.ids.len();
        if !fits {
            return None;
        }
        let mut ids = Vec::with_capacity(stored.ids.len());
        let mut first_node = 0;
        for (section, own) in stored.ids.iter().enumerate() {
            let own = IdRankMap::from_stored(own, source, &format!("ids.{section}"))?;
            let next = first_node + own.len();
            ids.push(SectionIds { first_node: u32::try_from(first_node).ok()?, id_map: own });
            first_node = next;
        }
        if first_node != nodes {
            return None;
        }
        let generations: Vec<GenerationRun> = stored
            .generations
            .iter()
            .map(|&(start, end, generation)| GenerationRun { nodes: start..end, generation })
            .collect();
        if generations.iter().any(|run| run.nodes.start > run.nodes.end || run.nodes.end > nodes) {
            return None;
        }
        let limits = StoredLimits {
            node_count: nodes,
            type_count: types.len(),
            text_count: types.texts.len(),
            field_count: types.fields.len(),
        };
        let frames: Vec<StackFrame> =
            read_rows(source, "frames", |numbers| StackFrame::from_numbers(numbers, &limits))?;
        let threads = read_rows(source, "threads", |numbers: [u32; NUMBERS_PER_THREAD]| {
            Thread::from_numbers(numbers, &limits, frames.len())
        })?;
        let soft = read_rows(source, "soft", |numbers: [u32; NUMBERS_PER_SOFT_REFERENCE]| {
            soft_reference_from_numbers(numbers, nodes)
        })?;
        let roots =
            read_rows(source, "roots", |numbers| root_from_numbers(numbers, &limits, threads.len(), frames.len()))?;
        Some(HeapGraph {
            node_types,
            shallow,
            references: Csr::from_stored(source, "references", nodes, stored.references)?,
            referrers: OnceLock::from(Csr::from_stored(source, "referrers", nodes, stored.references)?),
            weak_references: WeakReferences::from_stored(source, nodes)?,
            soft_references: stored.tells_soft.then_some(soft),
            heap_parts: stored.heap_parts.clone_if_valid(nodes)?,
            allocation_intervals: stored.intervals.clone_if_valid(nodes)?,
            section_ids: ids,
            sections: stored.sections.clone(),
            roots,
            types,
            id_style: stored.id_style,
            roots_inferred: stored.roots_inferred,
            threads,
            frames,
            dependent_reference_count: stored.dependent_references,
            generations,
            objects_without_stored_class: stored.classes_left_out,
            has_unheld_in_dominator_tree: stored.unheld_in_tree,
            lacks_references: stored.references_missing,
            counts_only_objects_with_bytes: stored.counts_bytes_only,
        })
    }
}

impl TypeTable {
    fn store(&self, sink: &mut dyn ColumnSink) -> io::Result<()> {
        let class_objects: Vec<u32> = self.class_objects.iter().flat_map(|(node, class)| [node.0, class.0]).collect();
        Column::from(class_objects).store(sink, "class_objects")?;
        store_strings(&self.names, sink, "type_names")?;
        store_strings(&self.texts.0, sink, "names")?;
        let details: Vec<u32> = self.details.iter().copied().flat_map(TypeDetails::to_numbers).collect();
        Column::from(details).store(sink, "type_details")?;
        let fields: Vec<u32> = self.fields.iter().copied().flat_map(Field::to_numbers).collect();
        Column::from(fields).store(sink, "fields")?;
        let places = self
            .constructor_places
            .iter()
            .flat_map(|(of, place)| [of.0, place.script_number, place.line, place.column]);
        Column::from(places.collect::<Vec<u32>>()).store(sink, "type_places")?;
        let multipliers: Vec<u32> = self.multipliers.iter().map(|multiplier| multiplier.to_bits()).collect();
        Column::from(multipliers).store(sink, "multipliers")
    }

    fn from_stored(source: &dyn ColumnSource, nodes: usize, objects_hold_class: bool) -> Option<Self> {
        let names = read_strings(source, "type_names")?;
        let texts = GraphNames(read_strings(source, "names")?);
        let fields: Vec<Field> = read_rows(source, "fields", |numbers| Field::from_numbers(numbers, texts.len()))?;
        let limits = StoredLimits {
            node_count: nodes,
            type_count: names.len(),
            text_count: texts.len(),
            field_count: fields.len(),
        };
        let details = read_rows(source, "type_details", |numbers: [u32; NUMBERS_PER_TYPE_DETAILS]| {
            TypeDetails::from_numbers(numbers, &limits)
        })?;
        let class_objects = read_rows(source, "class_objects", |[node, class]: [u32; 2]| {
            let fits = (node as usize) < nodes && (class as usize) < limits.type_count;
            fits.then_some((NodeId(node), TypeId(class)))
        })?;
        let places = read_rows(source, "type_places", |[of, script, line, column]: [u32; 4]| {
            ((of as usize) < limits.type_count)
                .then_some((TypeId(of), SourcePlace { script_number: script, line, column }))
        })?;
        let multipliers = read_rows(source, "multipliers", |[bits]: [u32; 1]| Some(f32::from_bits(bits)))?;
        let fits =
            [0, limits.type_count].contains(&details.len()) && [0, limits.type_count].contains(&multipliers.len());
        let mut types = fits.then(|| TypeTable {
            names,
            details,
            fields,
            class_objects,
            multipliers,
            texts,
            constructor_places: places,
            objects_hold_class,
            shown_types: Default::default(),
            nearest_with_fields: Default::default(),
            listed_ids: Default::default(),
        })?;
        types.break_superclass_circles();
        Some(types)
    }
}

fn root_to_numbers(root: &Root) -> [u32; NUMBERS_PER_ROOT] {
    let (kind, number) = root.kind.to_numbers();
    let container = root.declaring_class.map_or(NO_NUMBER, |container| container.0);
    let name = root.name.map_or(NO_NUMBER, GraphNameId::number);
    let origin = match root.origin {
        RootOrigin::Dump => 0,
        RootOrigin::Inferred => 1,
        RootOrigin::Requested => 2,
    };
    let thread = root.thread.map_or(NO_NUMBER, |thread| thread.index() as u32);
    let frame = root.frame.map_or(NO_NUMBER, |frame| frame.index() as u32);
    let through = u32::from(root.is_through_thread);
    [root.node.0, kind, number, root.flags.0, container, name, origin, thread, frame, through]
}

fn root_from_numbers(
    numbers: [u32; NUMBERS_PER_ROOT],
    limits: &StoredLimits,
    threads: usize,
    frames: usize,
) -> Option<Root> {
    let [node, kind, number, flags, container, name, origin, thread, frame, through] = numbers;
    let origin = match origin {
        0 => RootOrigin::Dump,
        1 => RootOrigin::Inferred,
        2 => RootOrigin::Requested,
        _ => return None,
    };
    let below = |number: u32, limit: usize| number == NO_NUMBER || (number as usize) < limit;
    let fits = (node as usize) < limits.node_count
        && below(container, limits.type_count)
        && below(name, limits.text_count)
        && below(thread, threads)
        && below(frame, frames)
        && through < 2;
    let kind = RootKind::from_numbers(kind, number)?;
    fits.then(|| Root {
        flags: RootFlags(flags),
        declaring_class: (container != NO_NUMBER).then_some(TypeId(container)),
        name: (name != NO_NUMBER).then_some(GraphNameId::new(name)),
        thread: (thread != NO_NUMBER).then_some(ThreadId::new(thread)),
        frame: (frame != NO_NUMBER).then_some(FrameId::new(frame)),
        is_through_thread: through == 1,
        ..Root::new(NodeId(node), kind, origin)
    })
}

/// The rows of a table whose every row is so many numbers; `None` where any row is not what it must be.
fn read_rows<T, const N: usize>(
    source: &dyn ColumnSource,
    name: &str,
    row: impl Fn([u32; N]) -> Option<T>,
) -> Option<Vec<T>> {
    let numbers: Column<u32> = Column::from_stored(source, name, NO_VALUE_LIMIT)?;
    let (rows, rest) = numbers.all_values().as_chunks::<N>();
    if rest.is_empty() { rows.iter().map(|&numbers| row(numbers)).collect() } else { None }
}

/// All texts behind one another, and where each ends.
fn store_strings(strings: &[Box<str>], sink: &mut dyn ColumnSink, name: &str) -> io::Result<()> {
    sink.put_column(name, strings.concat().as_bytes())?;
    let mut end = 0;
    let ends: Vec<u64> = strings
        .iter()
        .map(|text| {
            end += text.len() as u64;
            end
        })
        .collect();
    Column::from(ends).store(sink, &format!("{name}.ends"))
}

fn read_strings(source: &dyn ColumnSource, name: &str) -> Option<Vec<Box<str>>> {
    let text: Column<u8> = Column::from_stored(source, name, NO_VALUE_LIMIT)?;
    let text = std::str::from_utf8(text.all_values()).ok()?;
    let ends: Column<u64> = Column::from_stored(source, &format!("{name}.ends"), text.len() as u64 + 1)?;
    let mut start = 0;
    ends.all_values()
        .iter()
        .map(|&end| {
            let own = text.get(start..end as usize)?;
            start = end as usize;
            Some(own.into())
        })
        .collect()
}
