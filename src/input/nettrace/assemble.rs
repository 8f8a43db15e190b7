//! From the collected events to the graph of one snapshot.

use super::collector::EventCollector;
use super::primitives::text_of_utf16;
use super::problem_codes::*;
use super::rundown::Rundown;
use super::snapshot_store::{GraphStore, SnapshotStore};
use super::snapshots::{BulkStream, HeapEventKind, Snapshot, find_snapshots};
use super::trace_types::TraceTypes;
use crate::graph::{BuildError, GraphBuilder, RootFlags, RootKind, RootRecord, SectionId, TypeSlot};
use crate::input::dotnet::{HOW_TO_COLLECT_SNAPSHOT, is_array_name, source_type_name};
use crate::input::{FormatInfo, Position, ReadError, ReadErrorKind, Reading, SnapshotChoice, SnapshotInfo};

/// The parts of the snapshot that was asked for.
pub(super) struct SelectedSnapshot {
    snapshot: Snapshot,
    pub(super) nodes: BulkStream,
    edges: BulkStream,
}

impl EventCollector {
    /// Finds the snapshots, tells `reading` of all, and takes the one that was asked for.
    pub(super) fn select_snapshot(&mut self, reading: &mut Reading) -> Result<SelectedSnapshot, ReadError> {
        self.heap_events.sort_by_key(|event| (event.timestamp, event.offset));
        let mut snapshots = find_snapshots(&self.heap_events);
        if snapshots.is_empty() {
            let cut = if self.diagnostics.sorted().iter().any(|problem| problem.has_code(&TRUNCATED)) {
                "this trace is cut before any GC heap snapshot"
            } else {
                "this trace has no GC heap snapshot"
            };
            return Err(ReadError::new(ReadErrorKind::NoHeap(format!("{cut}; {HOW_TO_COLLECT_SNAPSHOT}"))));
        }
        let first = |wanted: &dyn Fn(&Snapshot) -> bool| snapshots.iter().position(wanted);
        let at = match reading.options.snapshot {
            SnapshotChoice::Last => snapshots.len() - 1,
            SnapshotChoice::Number(number) if (1..=snapshots.len()).contains(&number) => number - 1,
            SnapshotChoice::Number(number) => {
                return Err(ReadError::new(ReadErrorKind::NoSuchSnapshot(number, snapshots.len())));
            }
            SnapshotChoice::FirstComplete => first(&|snapshot| snapshot.is_undamaged(&self.heap_events))
                .or_else(|| first(&Snapshot::is_complete))
                .unwrap_or(0),
        };
        reading.info.snapshots = snapshots.iter().map(|snapshot| self.snapshot_info(snapshot)).collect();
        reading.info.snapshots[at].chosen = true;
        let snapshot = snapshots.swap_remove(at);
        let (nodes, edges) = (snapshot.node_stream(&self.heap_events), snapshot.edge_stream(&self.heap_events));
        Ok(SelectedSnapshot { snapshot, nodes, edges })
    }

    /// What is said of a snapshot, chosen or not.
    fn snapshot_info(&self, snapshot: &Snapshot) -> SnapshotInfo {
        let (nodes, edges) = (snapshot.node_stream(&self.heap_events), snapshot.edge_stream(&self.heap_events));
        let unix_ms = self.recording.filter(|trace| trace.ticks_per_second > 0).and_then(|trace| {
            let ticks = i128::from(snapshot.first_ticks) - i128::from(trace.start_ticks);
            let ms = i128::from(trace.unix_ms?) + ticks * 1000 / i128::from(trace.ticks_per_second);
            Some(i64::try_from(ms).unwrap_or(i64::MAX))
        });
        SnapshotInfo {
            unix_ms,
            uptime_ms: None,
            complete: snapshot.is_undamaged(&self.heap_events),
            objects: nodes.count,
            shallow_bytes: nodes.bytes,
            references: edges.count,
            chosen: false,
            is_passed_over: false,
        }
    }

    /// Reports what does not add up in the selected snapshot (numbers of events, counts of references, start and end),
    /// which events were dropped, and a missing rundown.
    pub(super) fn report_inconsistencies(&mut self, selected: &SelectedSnapshot) {
        let SelectedSnapshot { snapshot, nodes, edges } = selected;
        let streams = [(nodes, &MISSING_NODE_EVENTS), (edges, &MISSING_EDGE_EVENTS)];
        for (stream, missing) in streams {
            self.diagnostics.add(
                missing,
                stream.missing_events.0,
                Position::Byte(stream.missing_events.1),
                String::new,
            );
            self.diagnostics.add(
                &REPEATED_EVENT,
                stream.repeated_events.0,
                Position::Byte(stream.repeated_events.1),
                String::new,
            );
        }
        let (declared, sent) = (nodes.declared_references, edges.count);
        self.diagnostics.add(&REFERENCE_MISMATCH, declared.abs_diff(sent), Position::Byte(snapshot.offset), || {
            format!("the objects that arrived say {declared}, {sent} arrived")
        });
        if !snapshot.is_complete() {
            self.add_problem(&UNFINISHED_SNAPSHOT, snapshot.offset);
        }
        // The runtime counts what it dropped only when it can write again, which may be after the collection: a gap
        // behind a snapshot that does not add up is of the snapshot.
        let adds_up = nodes.missing_events.0 + edges.missing_events.0 == 0 && declared == sent;
        for gap in &self.gaps {
            let within = !adds_up || (gap.from_ticks <= snapshot.last_ticks && gap.until_ticks >= snapshot.first_ticks);
            let code = if within { &DROPPED_EVENTS } else { &DROPPED_ELSEWHERE };
            self.diagnostics.add(code, gap.lost_event_count, Position::Byte(gap.offset), String::new);
        }
        if self.rundown.module_names.is_empty() {
            self.add_problem(&NO_RUNDOWN, 0);
        }
        for are_roots in [true, false] {
            let (missing, offset) = self.missing_root_or_handle_events(snapshot, are_roots);
            self.diagnostics.add(&MISSING_ROOT_EVENTS, missing, Position::Byte(offset), String::new);
        }
    }

    /// The number of missing events with roots, or else with dependent handles, and the offset where the first shows:
    /// they are numbered.
    fn missing_root_or_handle_events(&self, snapshot: &Snapshot, roots: bool) -> (u64, u64) {
        let mut numbers: Vec<(u32, u64)> = snapshot
            .other_events
            .iter()
            .filter_map(|&at| match self.heap_events[at].kind {
                HeapEventKind::Roots { index, .. } if roots => Some((index, self.heap_events[at].offset)),
                HeapEventKind::DependentHandles { index, .. } if !roots => Some((index, self.heap_events[at].offset)),
                _ => None,
            })
            .collect();
        numbers.sort_unstable();
        numbers.dedup_by_key(|&mut (index, _)| index);
        let Some(&(last, _)) = numbers.last() else { return (0, 0) };
        let missing = u64::from(last) + 1 - numbers.len() as u64;
        let first = numbers.iter().enumerate().find(|&(at, &(index, _))| index as usize != at);
        (missing, first.map_or(0, |(_, &(_, offset))| offset))
    }

    /// Records by kind, and what else the file says of itself.
    pub(super) fn fill_info(&self, selected: &SelectedSnapshot, info: &mut FormatInfo) {
        let [mut roots, mut statics, mut dependents, mut com] = [0; 4];
        for &at in &selected.snapshot.other_events {
            match &self.heap_events[at].kind {
                HeapEventKind::Roots { rows, .. } => roots += rows.len() as u64,
                HeapEventKind::StaticRoots(rows) => statics += rows.len() as u64,
                HeapEventKind::DependentHandles { rows, .. } => dependents += rows.len() as u64,
                HeapEventKind::ComReferences(rows) => com += rows.len() as u64,
                _ => {}
            }
        }
        info.set_records([
            ("objects", selected.nodes.count),
            ("references", selected.edges.count),
            ("roots", roots),
            ("statics", statics),
            ("dependent_handles", dependents),
            ("com_objects", com),
            ("com_wrappers", self.runtime_callable_wrapper_count),
            ("types", self.types.described_types.len() as u64),
            ("modules", self.rundown.module_names.len() as u64),
            ("methods", self.rundown.method_name_bounds.len() as u64),
            ("events", self.event_count),
        ]);
        info.producer = self.rundown.runtime_version.clone();
        let (declared, sent) = (selected.nodes.declared_references, selected.edges.count);
        info.trailer = Some(if declared == sent {
            "objects say they have as many references as there are".into()
        } else {
            format!("objects say they have {declared} references, there are {sent}")
        });
        info.frozen_heap = selected.snapshot.is_undamaged(&self.heap_events);
    }

    /// The name of the program, or the number of its process.
    pub(super) fn section_name(&self) -> String {
        let process = self.recording.map_or(0, |trace| trace.process_id);
        self.rundown.program_name().unwrap_or_else(|| format!("process {process}"))
    }

    /// The builder of the selected snapshot. Takes the store; the collector is of no other use after. Error: if there
    /// is no memory for it.
    pub(super) fn finish_builder(
        &mut self,
        selected: &SelectedSnapshot,
        raw_types: bool,
    ) -> Result<GraphBuilder, BuildError> {
        let SnapshotStore::Graph(store) = std::mem::take(&mut self.store) else {
            return Ok(GraphBuilder::default());
        };
        let GraphStore { mut builder, section, type_slots: slots, .. } = *store;
        builder.keep_chunks(&selected.nodes.pieces, &selected.edges.pieces)?;
        let objects = usize::try_from(selected.nodes.contiguous_count).unwrap_or(usize::MAX);
        builder.pair_references(objects, selected.edges.contiguous_count);
        self.name_types(&mut builder, &slots, raw_types)?;
        for &at in &selected.snapshot.other_events {
            self.add_roots_of_event(&mut builder, section, at);
            builder.check_memory()?;
        }
        builder.generations = selected.snapshot.generations();
        let name = self.section_name();
        let about = builder.section_mut(section);
        about.name = name;
        about.complete = selected.snapshot.is_undamaged(&self.heap_events);
        about.declared_types = self.types.described_types.len() as u64;
        Ok(builder)
    }

    fn name_types(&mut self, builder: &mut GraphBuilder, slots: &[u32], raw_types: bool) -> Result<(), BuildError> {
        for (number, &slot) in slots.iter().enumerate() {
            let (name, module) = type_name_and_module(&self.types, &self.rundown, number, raw_types);
            builder.check_name_memory(name.len())?;
            builder.name_type_apart(TypeSlot(slot), &name, module.as_deref());
        }
        self.report_missing_types();
        builder.check_memory()
    }

    /// Reports types that the trace does not describe, and those without a name.
    fn report_missing_types(&mut self) {
        let at = Position::Byte(0);
        let unknown = self.types.ids.iter().filter(|id| !self.types.described_types.contains_key(id)).count();
        self.diagnostics.add(&MISSING_TYPE, unknown as u64, at, || format!("of {}", self.types.ids.len()));
        let described = self.types.ids.iter().filter_map(|id| self.types.described_types.get(id));
        let nameless = described.filter(|info| info.name.is_empty()).count();
        self.diagnostics.add(&MISSING_TYPE_NAME, nameless as u64, at, String::new);
    }

    /// Adds the roots, or the references of dependent handles, that an event has.
    fn add_roots_of_event(&mut self, builder: &mut GraphBuilder, section: SectionId, at: usize) {
        let position = self.heap_events[at].offset;
        let record = |id, kind, flags| RootRecord { flags: RootFlags(flags), ..RootRecord::new(id, kind, position) };
        match self.heap_events[at].kind.clone() {
            HeapEventKind::Roots { rows, .. } => {
                for root in &self.roots[rows] {
                    let kind = match root.kind {
                        0 => RootKind::Local,
                        1 => RootKind::Finalizer,
                        // 4: a handle with the size of what it holds.
                        2 | 4 => RootKind::Handle,
                        3 => RootKind::Runtime,
                        kind => {
                            if kind > 5 && root.object != 0 {
                                let at = Position::Byte(position);
                                self.diagnostics.add(&UNKNOWN_ROOT_KIND, 1, at, || format!("kind {kind}"));
                            }
                            RootKind::Other(kind.into())
                        }
                    };
                    let method = if kind == RootKind::Local { self.rundown.method_name(root.root_id) } else { None };
                    if root.object != 0 {
                        let name = method.map(|method| builder.intern_text(&method));
                        builder.add_root_record(section, RootRecord { name, ..record(root.object, kind, root.flags) });
                    }
                }
            }
            HeapEventKind::StaticRoots(rows) => {
                for field in self.static_roots[rows].iter().filter(|field| field.object != 0) {
                    let name = text_of_utf16(&self.static_field_names[field.name.clone()]);
                    let flags = if field.flags & 1 != 0 { RootFlags::THREAD_LOCAL } else { 0 };
                    let name = Some(builder.intern_text(&name));
                    let root = record(field.object, RootKind::Static, flags);
                    builder.add_root_record(section, RootRecord { name, ..root });
                }
            }
            HeapEventKind::ComReferences(rows) => {
                for object in self.com_references[rows].iter().filter(|object| object.object != 0) {
                    let held = object.flags & 1 != 0 || object.reference_count > 0;
                    let flags = RootFlags::REF_COUNTED | if held { 0 } else { RootFlags::WEAK };
                    builder.add_root_record(section, record(object.object, RootKind::Com, flags));
                }
            }
            HeapEventKind::DependentHandles { rows, .. } => {
                for handle in self.dependent_handles[rows].iter().filter(|handle| handle.key != 0 && handle.value != 0)
                {
                    builder.add_reference(section, handle.key, handle.value, position);
                }
            }
            _ => {}
        }
    }

    /// (type, objects, bytes) of the selected snapshot, by name.
    pub(super) fn count_types(&mut self, selected: &SelectedSnapshot, raw_types: bool) -> Vec<(String, u64, u64)> {
        let mut types = Vec::new();
        if let SnapshotStore::Counts(counts) = &self.store {
            let totals = counts.totals_of(&selected.nodes.pieces, &mut self.diagnostics);
            let names = 0..totals.by_slot.len();
            let names = names.map(|number| type_name_and_module(&self.types, &self.rundown, number, raw_types).0);
            types = totals.by_name(names);
        }
        self.report_missing_types();
        types
    }
}

/// The name of a type number, and its module as far as it is known.
fn type_name_and_module(
    types: &TraceTypes,
    rundown: &Rundown,
    number: usize,
    raw_types: bool,
) -> (String, Option<String>) {
    let id = types.ids[number];
    let Some(info) = types.described_types.get(&id) else { return (format!("<type {id:#x}>"), None) };
    let module =
        rundown.module_name(info.module_id).map_or_else(|| format!("Module({:#x})", info.module_id), String::from);
    let rank = if info.is_array && !is_array_name(&info.name) { "[]" } else { "" };
    let name = if info.name.is_empty() {
        format!("Type({:#x}){rank} of {module}", info.token)
    } else if raw_types {
        info.name.to_string()
    } else {
        source_type_name(&info.name) + rank
    };
    (name, Some(module))
}
