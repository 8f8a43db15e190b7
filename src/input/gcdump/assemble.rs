//! From the packed heap to the graph's builder, or to totals by type alone.

use rustc_hash::{FxHashMap, FxHashSet};

use super::heap_dump::HeapDump;
use super::memory_graph::{MemoryGraph, NodeRecord};
use super::problem_codes::*;
use super::roots::{PseudoNodeRoot, find_roots, is_com_wrapper_type};
use crate::graph::{
    GraphBuilder, IdStyle, MemoryShare, RootFlags, RootRecord, Section, SectionId, TypeId, TypeSlot, make_room,
};
use crate::input::dotnet::{file_name_of, repaired_type_name, without_size_suffix};
use crate::input::observer::ObjectTally;
use crate::input::problem_codes::{GraphCodes, PADDING};
use crate::input::sink::{RecordSink, SectionPart, SlotTotals};
use crate::input::{Position, ProblemCode, ReadError, ReadExtent, Reading, SnapshotInfo};

/// Objects that are handed on together.
const OBJECTS_PER_BATCH: usize = 32 * 1024;
/// References that are many for an object: memory is asked for before they are taken.
const MIN_MANY_CHILDREN: usize = 1 << 20;
/// Ids of objects whose address is cut off, by index; no process has addresses there.
const FIRST_MADE_UP_ID: u64 = 0x7FFF_0000_0000_0000;
/// Between the years 1 and 1970, in units of 100 ns.
const TICKS_BEFORE_1970: i64 = 621_355_968_000_000_000;
/// The largest size the format can say.
const MAX_STATED_BYTES: u64 = i32::MAX as u64;

#[derive(Debug, Default)]
pub(super) struct NodeCounts {
    pub(super) objects: u64,
    pub(super) references: u64,
    pub(super) pseudo_nodes: u64,
    pub(super) undefined_nodes: u64,
    pub(super) object_bytes: u64,
    /// Of nodes that are no objects.
    pub(super) pseudo_node_bytes: u64,
}

/// A dump on its way to the builder.
pub(super) struct Assembler<'a> {
    pub(super) reading: &'a mut Reading,
    pub(super) dump: &'a HeapDump<'a>,
    pub(super) builder: GraphBuilder,
    pub(super) section: SectionId,
    pub(super) totals: SlotTotals,
    pub(super) counts: NodeCounts,
    /// The builder's slot of each type of the dump.
    slots: Vec<u32>,
    /// By type: its nodes stand for COM wrappers, which have an address and are no objects.
    is_wrapper_by_type: Vec<bool>,
    wrapper_nodes: FxHashSet<usize>,
    /// Id and index of each object, where only totals are kept of them.
    counted_objects: Vec<(u64, usize)>,
    /// Memory beside the builder's.
    share: MemoryShare,
}

impl<'a> Assembler<'a> {
    /// Error: if there is no memory for the names.
    pub(super) fn new(dump: &'a HeapDump<'a>, reading: &'a mut Reading) -> Result<Self, ReadError> {
        let mut builder = GraphBuilder::new(IdStyle::Prefixed);
        builder.limit_memory(&reading.budget);
        let name = match &dump.process_name {
            Some(name) if !name.is_empty() => name.clone(),
            _ if dump.process_id != 0 => format!("process {}", dump.process_id),
            _ => "heap".into(),
        };
        let section = Section {
            name,
            complete: dump.graph.is_complete,
            declared_types: dump.graph.types.len() as u64,
            ..Section::default()
        };
        let section = builder.begin_section(section);
        let share = reading.budget.for_buffer();
        let raw_types = reading.options.raw_types;
        let mut assembly = Assembler {
            reading,
            dump,
            builder,
            section,
            totals: SlotTotals::default(),
            counts: NodeCounts::default(),
            slots: Vec::with_capacity(dump.graph.types.len()),
            is_wrapper_by_type: Vec::with_capacity(dump.graph.types.len()),
            wrapper_nodes: FxHashSet::default(),
            counted_objects: Vec::new(),
            share,
        };
        assembly.name_types(raw_types)?;
        Ok(assembly)
    }

    /// Each type of the file is one of the graph, for it may be sampled in its own way; names are those that are shown.
    fn name_types(&mut self, raw_types: bool) -> Result<(), ReadError> {
        for (index, dump_type) in self.dump.graph.types.iter().enumerate() {
            self.builder.check_name_memory(dump_type.name.as_ref().map_or(0, String::len))?;
            self.builder.check_memory()?;
            let name = dump_type.name.clone().filter(|name| !name.is_empty());
            let raw = name.unwrap_or_else(|| format!("<type {index:#x}>"));
            self.is_wrapper_by_type.push(is_com_wrapper_type(&raw));
            let name = if raw_types { raw } else { repaired_type_name(without_size_suffix(&raw)) };
            let module = dump_type.module.as_deref().map(file_name_of).filter(|module| !module.is_empty());
            let slot = self.builder.new_type();
            self.builder.name_type_apart(slot, &name, module);
            self.slots.push(slot.0);
        }
        Ok(())
    }

    fn add_problem(&mut self, code: &'static ProblemCode, index: usize) {
        let at = Position::Byte(self.dump.graph.record_position(index));
        self.reading.diagnostics.add(code, 1, at, String::new);
    }

    /// Hands all objects on; with a graph also their references.
    pub(super) fn add_objects<S: RecordSink>(&mut self, tally: &mut ObjectTally) -> Result<(), ReadError> {
        self.find_wrappers();
        let graph = &self.dump.graph;
        let mut batch = S::default();
        let mut left = graph.node_blob.len();
        let mut place = 0;
        for index in 0..graph.node_count {
            let node = match graph.record(index) {
                NodeRecord::Node(node) => node,
                NodeRecord::Undefined => {
                    self.counts.undefined_nodes += 1;
                    continue;
                }
                NodeRecord::Malformed => {
                    self.add_problem(&MALFORMED_NODE, index);
                    continue;
                }
            };
            if !self.is_object(index) {
                self.counts.pseudo_nodes += 1;
                self.counts.pseudo_node_bytes = self.counts.pseudo_node_bytes.saturating_add(node.bytes);
                continue;
            }
            // Records never share bytes; a damaged table of offsets must not make a heap out of one long record.
            let Some(rest) = left.checked_sub(node.record_bytes) else {
                self.add_problem(&MALFORMED_NODE, index);
                continue;
            };
            left = rest;
            self.counts.objects += 1;
            if !S::BUILDS_GRAPH {
                make_room(&mut self.counted_objects, 1);
                self.counted_objects.push((self.id(index), index));
                if self.counted_objects.len().is_multiple_of(OBJECTS_PER_BATCH) {
                    self.share.set_held_bytes((self.counted_objects.len() * size_of::<(u64, usize)>()) as u64)?;
                }
            }
            self.counts.object_bytes = self.counts.object_bytes.saturating_add(node.bytes);
            if node.bytes == MAX_STATED_BYTES {
                self.add_problem(&SIZE_LIMIT, index);
            }
            if batch.object_count() == 0 {
                // One place for all of a batch: records are of uneven length, and a place each would cost more memory
                // than the objects.
                place = graph.record_position(index);
            }
            if S::BUILDS_GRAPH && node.child_count > MIN_MANY_CHILDREN {
                self.share.set_held_bytes(batch.memory_bytes() as u64 + 12 * node.child_count as u64)?;
            }
            batch.push_object(self.id(index), node.type_index as u32, node.bytes, place);
            for child in node.children() {
                match usize::try_from(child).ok().filter(|&child| child < graph.node_count) {
                    Some(child) if self.wrapper_nodes.contains(&child) || graph.address(child) == Some(0) => {}
                    Some(child) => batch.push_reference(self.id(child)),
                    None => {
                        self.add_problem(&MALFORMED_REF, index);
                    }
                }
            }
            if batch.object_count() == OBJECTS_PER_BATCH || batch.reference_count() > MIN_MANY_CHILDREN {
                tally.add_and_report(batch.object_count());
                self.deliver(&mut batch)?;
            }
        }
        tally.add_and_report(batch.object_count());
        self.deliver(&mut batch)
    }

    /// Takes objects that came before out of the totals, and reports them, as the graph's builder does. Memory for each, which
    /// the file takes anyway.
    pub(super) fn uncount_repeats(&mut self) {
        let (graph, codes) = (&self.dump.graph, &GraphCodes::DEFAULT);
        let mut counted = std::mem::take(&mut self.counted_objects);
        counted.sort_unstable();
        for same in counted.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            for &(_, index) in &same[1..] {
                let NodeRecord::Node(node) = graph.record(index) else { continue };
                let slot = self.slots[node.type_index] as usize;
                let Some(total) = self.totals.by_slot.get_mut(slot) else { continue };
                total.objects = total.objects.saturating_sub(1);
                total.bytes = total.bytes.saturating_sub(node.bytes.into());
                let code = if self.have_same_record(same[0].1, index) {
                    &codes.duplicate_object
                } else {
                    &codes.conflicting_object
                };
                self.add_problem(code, index);
            }
        }
    }

    /// Have two nodes one type, one size, and the same references?
    fn have_same_record(&self, a: usize, b: usize) -> bool {
        let graph = &self.dump.graph;
        let (NodeRecord::Node(a), NodeRecord::Node(b)) = (graph.record(a), graph.record(b)) else { return false };
        let reference = |child: i32| {
            let child = usize::try_from(child).ok().filter(|&child| child < graph.node_count)?;
            let is_wrapper = self.wrapper_nodes.contains(&child) || graph.address(child) == Some(0);
            (!is_wrapper).then(|| self.id(child))
        };
        self.slots[a.type_index] == self.slots[b.type_index]
            && a.bytes == b.bytes
            && a.children().filter_map(reference).eq(b.children().filter_map(reference))
    }

    fn deliver<S: RecordSink>(&mut self, batch: &mut S) -> Result<(), ReadError> {
        batch.seal();
        self.counts.references += batch.reference_count() as u64;
        let part = SectionPart {
            section: self.section,
            objects: 0..batch.object_count(),
            type_indices: 0..self.slots.len(),
            slots: &self.slots,
            lines_before: 0,
            takes_leading_references: false,
        };
        batch.deliver(part, &mut self.builder, &mut self.totals)?;
        batch.clear();
        Ok(())
    }

    fn find_wrappers(&mut self) {
        if !self.is_wrapper_by_type.contains(&true) {
            return;
        }
        let graph = &self.dump.graph;
        let is_wrapper = |index: usize| match graph.record(index) {
            NodeRecord::Node(node) => self.is_wrapper_by_type[node.type_index],
            _ => false,
        };
        self.wrapper_nodes = (0..graph.node_count).filter(|&index| is_wrapper(index)).collect();
    }

    /// The id of a node: its address, or one made up where that is cut off.
    fn id(&self, index: usize) -> u64 {
        self.dump.graph.address(index).unwrap_or(FIRST_MADE_UP_ID + 8 * index as u64)
    }

    /// Pseudo nodes have no address; where addresses are cut off, names in brackets tell them.
    fn is_object(&self, index: usize) -> bool {
        match self.dump.graph.address(index) {
            Some(0) => false,
            Some(_) => !self.wrapper_nodes.contains(&index),
            None => match self.dump.graph.record(index) {
                NodeRecord::Node(node) => {
                    let name = self.dump.graph.types[node.type_index].name.as_deref().unwrap_or("");
                    !(name.starts_with('[') && name.ends_with(']') && node.bytes == 0 && name != "[]")
                }
                _ => false,
            },
        }
    }

    /// Pseudo nodes as roots of what they hold. Error: if there is no memory for them.
    pub(super) fn add_roots(&mut self) -> Result<(), ReadError> {
        let graph = &self.dump.graph;
        let mut share = std::mem::take(&mut self.share);
        for PseudoNodeRoot { object_index: index, meaning } in
            find_roots(graph, |index| self.is_object(index), &mut share)?
        {
            self.builder.check_memory()?;
            let name = meaning.name.map(|name| self.builder.intern_text(&self.variable_name(index, &name)));
            let record = RootRecord {
                flags: RootFlags(meaning.flags),
                name,
                ..RootRecord::new(self.id(index), meaning.kind, graph.record_position(index))
            };
            self.builder.add_root_record(self.section, record);
        }
        Ok(())
    }

    /// Makers write the type of the value before the name of the field, as if that type had it.
    fn variable_name(&self, index: usize, name: &str) -> String {
        let NodeRecord::Node(node) = self.dump.graph.record(index) else { return name.into() };
        let value_type = self.dump.graph.types[node.type_index].name.as_deref().unwrap_or("");
        let field = name.strip_prefix(without_size_suffix(value_type)).and_then(|rest| rest.strip_prefix('.'));
        repaired_type_name(field.unwrap_or(name))
    }

    /// The number of objects in the heap that one of each type stands for, by the graph's types; empty when that is one.
    pub(super) fn multipliers(&self) -> FxHashMap<TypeId, f32> {
        let mut found = FxHashMap::default();
        if self.is_sample() {
            for (index, &slot) in self.slots.iter().enumerate() {
                let multiplier =
                    self.dump.type_multipliers.get(index).copied().unwrap_or(self.dump.object_and_byte_multipliers.0);
                found.insert(self.builder.type_of(TypeSlot(slot)), multiplier);
            }
        }
        found
    }

    /// Is the dump a sample of the heap?
    pub(super) fn is_sample(&self) -> bool {
        let (objects, bytes) = self.dump.object_and_byte_multipliers;
        !self.dump.type_multipliers.is_empty() || objects != 1.0 || bytes != 1.0
    }

    /// Compares the dump's own totals with what was found.
    fn report_inconsistencies(&mut self) {
        let (graph, counts) = (&self.dump.graph, &self.counts);
        let at = Position::Byte(0);
        let file_end = Position::Byte(graph.blob_file_offset as u64);
        self.reading.diagnostics.add(&UNDEFINED_NODE, counts.undefined_nodes, at, String::new);
        let without_address = (0..graph.node_count).rev().take_while(|&index| graph.address(index).is_none()).count();
        self.reading.diagnostics.add(&MISSING_ADDRESSES, without_address as u64, file_end, String::new);
        if !graph.is_complete {
            self.reading.diagnostics.add(&TRUNCATED, 1, file_end, String::new);
        }
        if let Some(offset) = self.dump.unread_from_offset {
            self.reading.diagnostics.add(&UNREADABLE_EXTRAS, 1, Position::Byte(offset as u64), String::new);
        }
        let stated = u64::try_from(graph.stated_total_bytes).unwrap_or(0);
        let difference = stated.abs_diff(counts.object_bytes.saturating_add(counts.pseudo_node_bytes));
        self.reading.diagnostics.add(&SIZE_MISMATCH, difference, at, || format!("the dump says {stated}"));
    }

    /// Fills in the dump's facts and returns its extent.
    pub(super) fn finish(&mut self, file_bytes: usize, padding_bytes: u64) -> ReadExtent {
        self.report_inconsistencies();
        let end = Position::Byte(file_bytes as u64);
        self.reading.diagnostics.add(&PADDING, padding_bytes.min(1), end, || format!("{padding_bytes} bytes"));
        let (dump, counts) = (self.dump, &self.counts);
        let is_sample = self.is_sample();
        let extent = ReadExtent { end, objects: counts.objects, loss_codes: LOSS_CODES };
        let info = &mut self.reading.info;
        info.version = Some(dump.version.to_string());
        info.producer = dump.tool.clone();
        info.set_records([
            ("objects", counts.objects),
            ("references", counts.references),
            ("types", dump.graph.types.len() as u64),
            ("pseudo_nodes", counts.pseudo_nodes),
            ("undefined_nodes", counts.undefined_nodes),
            ("com_objects", dump.wrapper_counts.1.into()),
            ("com_wrappers", dump.wrapper_counts.0.into()),
        ]);
        let top = usize::try_from(dump.graph.root_index).ok().and_then(|root| dump.graph.type_name_of_node(root));
        // A heap that a tool walked holds dead objects too; what the runtime itself reports is what the collector kept.
        info.frozen_heap = top == Some("[.NET Roots]") && !dump.has_segments && dump.graph.is_complete;
        if is_sample {
            info.sampled = Some(dump.object_and_byte_multipliers);
            let (objects, bytes) = dump.object_and_byte_multipliers;
            let text = || format!("objects x{objects:.3}, bytes x{bytes:.3}");
            self.reading.diagnostics.add(&SAMPLED, 1, Position::Byte(0), text);
        }
        if dump.ticks > TICKS_BEFORE_1970 {
            info.snapshots = vec![SnapshotInfo {
                unix_ms: Some((dump.ticks - TICKS_BEFORE_1970) / 10_000),
                uptime_ms: None,
                complete: dump.graph.is_complete,
                objects: counts.objects,
                shallow_bytes: counts.object_bytes,
                references: counts.references,
                chosen: true,
                is_passed_over: false,
            }];
        }
        if !dump.graph.is_complete {
            return extent;
        }
        info.trailer = Some(
            if u64::try_from(dump.graph.stated_total_bytes)
                == Ok(counts.object_bytes.saturating_add(counts.pseudo_node_bytes))
            {
                "agrees with what was read".into()
            } else {
                format!("says {} bytes in all, {} were read", dump.graph.stated_total_bytes, counts.object_bytes)
            },
        );
        extent
    }
}

impl MemoryGraph<'_> {
    /// The offset in the file of the node's record.
    fn record_position(&self, index: usize) -> u64 {
        (self.blob_file_offset + self.node_offset_in_blob(index)) as u64
    }
}
