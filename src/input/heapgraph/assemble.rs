//! Blocks in the order of the file: sections are opened, types get their names, roots their words.

use rustc_hash::{FxHashMap, FxHashSet};

use super::block::{Block, ListLengths, RootLine};
use super::problem_codes::*;
use super::record::{FrameLine, NonObjectLine, TypeKey};
use crate::graph::{
    Generation, GenerationRange, GraphBuilder, HeapGraph, HeapParts, IdStyle, LoaderRecord, RootFlags, RootKind,
    RootRecord, Section, SectionId, SourceLine, SourcePlace, StackFrame, ThreadRecord, TypeRecord, TypeSlot,
};
use crate::input::diagnostics::excerpt;
use crate::input::sink::{RecordSink, SectionPart, SlotTotals};
use crate::input::{
    ParsedContent, ParsedDump, ParsedObjects, ParsedTypes, Position, ProblemCode, ReadError, ReadExtent, Reading,
    Runtime,
};

/// A range of ids that has a name: a part of the heap, or the time of allocation.
#[derive(Debug)]
struct NamedRange {
    section: SectionId,
    name: String,
    first_id: u64,
    last_id: u64,
    line: u64,
}

/// What is said of a trailer that counts what is there.
const TRAILER_AGREES_TEXT: &str = "agrees with what was read";

/// Rules that a header may have.
const KNOWN_RULES: [&str; 8] = [
    "objects-hold-class",
    "soft-references-told",
    "roots-told",
    "threads-told",
    "frozen-heap",
    "unheld-in-tree",
    "counts-bytes-only",
    "references-missing",
];

/// Puts blocks together.
pub(super) struct Assembler<'r> {
    reading: &'r mut Reading,
    builder: GraphBuilder,
    section: Option<SectionId>,
    totals: SlotTotals,
    /// With the line of the first mention.
    slots_by_number: FxHashMap<u64, (TypeSlot, u64)>,
    slots_by_name: FxHashMap<Box<str>, TypeSlot>,
    block_type_slots: Vec<u32>,
    header_rules: Vec<String>,
    dependent_references: u64,
    multipliers: Vec<(TypeSlot, f32)>,
    heap_part_ranges: Vec<NamedRange>,
    interval_ranges: Vec<NamedRange>,
    /// Numbers of types that have a line.
    described_types: FxHashSet<u64>,
    /// By number: frames of the threads.
    thread_frame_counts: FxHashMap<u32, u32>,
    /// Threads that have a line, in each section.
    described_threads: FxHashSet<(SectionId, u32)>,
    /// Threads with an object: its section and id, and the line.
    thread_objects: Vec<(SectionId, u64, u64)>,
    /// Objects that strong roots hold.
    strongly_rooted_objects: FxHashSet<(SectionId, u64)>,
    /// Threads and frames of roots, with the first line of each.
    root_frames: FxHashMap<(u32, Option<u32>), u64>,
    /// Objects as the `end` record counts them, where there is one.
    stated_object_count: Option<Option<u64>>,
    is_cut: bool,
    objects: u64,
    references: u64,
    roots: u64,
    lines_so_far: u64,
}

impl<'r> Assembler<'r> {
    pub(super) fn new(reading: &'r mut Reading) -> Self {
        let mut builder = GraphBuilder::new(IdStyle::Prefixed);
        builder.limit_memory(&reading.budget);
        Assembler {
            reading,
            builder,
            section: None,
            totals: SlotTotals::default(),
            slots_by_number: FxHashMap::default(),
            slots_by_name: FxHashMap::default(),
            block_type_slots: Vec::new(),
            header_rules: Vec::new(),
            dependent_references: 0,
            multipliers: Vec::new(),
            heap_part_ranges: Vec::new(),
            interval_ranges: Vec::new(),
            described_types: FxHashSet::default(),
            thread_frame_counts: FxHashMap::default(),
            described_threads: FxHashSet::default(),
            thread_objects: Vec::new(),
            strongly_rooted_objects: FxHashSet::default(),
            root_frames: FxHashMap::default(),
            stated_object_count: None,
            is_cut: false,
            objects: 0,
            references: 0,
            roots: 0,
            lines_so_far: 0,
        }
    }

    /// Takes the next block of the file.
    pub(super) fn take_block<S: RecordSink>(&mut self, block: &mut Block<S>) -> Result<(), ReadError> {
        self.builder.check_memory()?;
        self.reading.diagnostics.merge_block(&mut block.diagnostics, self.lines_so_far);
        self.block_type_slots.clear();
        let (records, line) = match (&self.stated_object_count, block.end_record) {
            (Some(_), _) => (0, 0),
            (None, Some(end)) => end,
            (None, None) => (block.records, 0),
        };
        let behind_end = Position::Line(self.lines_so_far + line + 1);
        self.reading.diagnostics.add(&BEHIND_END, block.records - records, behind_end, String::new);
        let mut from = ListLengths::default();
        for (until, record) in std::mem::take(&mut block.sections) {
            self.take_part(block, from, until)?;
            self.begin_section(*record);
            from = until;
        }
        self.take_part(block, from, block.list_lengths())?;
        self.objects += block.objects.object_count() as u64;
        self.references += block.objects.reference_count() as u64;
        self.roots += block.root_lines;
        self.is_cut |= block.is_cut;
        self.lines_so_far += block.lines_so_far;
        Ok(())
    }

    fn begin_section(&mut self, record: NonObjectLine) {
        let name = record.section.unwrap_or_default();
        let section = Section {
            name,
            started_ms: record.started_ms,
            ended_ms: record.ended_ms,
            complete: true,
            declared_types: 0,
            null_references: record.null_references.unwrap_or(0),
            dangling_references: record.dangling_references.unwrap_or(0),
            dangling_roots: record.dangling_roots.unwrap_or(0),
        };
        self.section = Some(self.builder.begin_section(section));
        self.totals.begin_section();
    }

    fn take_part<S: RecordSink>(
        &mut self,
        block: &mut Block<S>,
        from: ListLengths,
        to: ListLengths,
    ) -> Result<(), ReadError> {
        let lines = self.lines_so_far;
        for at in from.others..to.others {
            let (record, line) = &mut block.other_lines[at];
            self.take_non_object_line(std::mem::take(record), lines + *line)?;
        }
        if from.objects == to.objects && from.roots == to.roots {
            return Ok(());
        }
        let section = self.current_section();
        for at in from.types..to.types {
            let (key, line) = &block.types[at];
            let slot = self.find_or_add_slot(key, lines + line)?;
            self.block_type_slots.push(slot.0);
        }
        if S::BUILDS_GRAPH {
            let first = self.builder.object_count();
            for at in from.classes..to.classes {
                let (object, key, line) = &block.classes[at];
                let slot = self.find_or_add_slot(key, lines + line)?;
                self.builder.add_class_object(first + object - from.objects, slot);
            }
        }
        let part = SectionPart {
            section,
            objects: from.objects..to.objects,
            type_indices: from.types..to.types,
            slots: &self.block_type_slots,
            lines_before: lines,
            takes_leading_references: false,
        };
        block.objects.deliver(part, &mut self.builder, &mut self.totals)?;
        if S::BUILDS_GRAPH {
            if from.soft < to.soft {
                self.builder.add_soft_references(section, block.soft_references[from.soft..to.soft].iter().copied());
            }
            for at in from.roots..to.roots {
                let root = &block.roots[at];
                self.take_root(section, root, lines + root.line)?;
            }
        }
        Ok(())
    }

    /// The section that is being read; one without a name where none has begun.
    fn current_section(&mut self) -> SectionId {
        let builder = &mut self.builder;
        *self.section.get_or_insert_with(|| builder.begin_section(Section { complete: true, ..Section::default() }))
    }

    /// The slot of a type that is mentioned on this line.
    fn find_or_add_slot(&mut self, key: &TypeKey, line: u64) -> Result<TypeSlot, ReadError> {
        let builder = &mut self.builder;
        match key {
            TypeKey::Number(number) => {
                Ok(self.slots_by_number.entry(*number).or_insert_with(|| (builder.new_type(), line)).0)
            }
            TypeKey::Name(name) => {
                if let Some(&slot) = self.slots_by_name.get(&**name) {
                    return Ok(slot);
                }
                builder.check_name_memory(name.len())?;
                let slot = builder.new_type();
                builder.name_type(slot, name);
                self.slots_by_name.insert(name.as_str().into(), slot);
                Ok(slot)
            }
        }
    }

    fn take_root(&mut self, section: SectionId, root: &RootLine, line: u64) -> Result<(), ReadError> {
        let word = root.kind.as_deref().unwrap_or("unknown");
        let is_weak_kind = word == "weak";
        let kind = RootKind::from_words(word).unwrap_or_else(|| {
            if !is_weak_kind {
                self.reading.diagnostics.add_on_line(&UNKNOWN_ROOT_KIND, line, word.as_bytes());
            }
            RootKind::Unknown
        });
        let mut flags = RootFlags(if is_weak_kind { RootFlags::WEAK } else { 0 });
        for flag in &root.flags {
            let known = RootFlags::from_name(flag);
            flags.0 |= known.0;
            if known == RootFlags::default() {
                self.warn_of_word(&MALFORMED_KEY, line, "flags", flag);
            }
        }
        if kind.holds_in_dump() && !flags.has_any(RootFlags::WEAK) {
            self.strongly_rooted_objects.insert((section, root.id));
        }
        if let Some(thread) = root.thread {
            self.root_frames.entry((thread, root.frame)).or_insert(line);
        } else if root.frame.is_some() {
            self.warn_of_word(&MALFORMED_KEY, line, "frame", "without thread");
        }
        let container = root.container_type.as_ref().map(|key| self.find_or_add_slot(key, line)).transpose()?;
        let name = root.name.as_deref().map(|name| self.builder.intern_text(name));
        let record = RootRecord {
            flags,
            declaring_class: container,
            name,
            thread_serial: root.thread,
            frame_index: root.frame,
            ..RootRecord::new(root.id, kind, line)
        };
        self.builder.add_root_record(section, record);
        Ok(())
    }

    /// A problem with a word under a key.
    fn warn_of_word(&mut self, code: &'static ProblemCode, line: u64, key: &str, word: &str) {
        let text = || format!("key {:?}: {}", key, excerpt(word.as_bytes()));
        self.reading.diagnostics.add(code, 1, Position::Line(line), text);
    }

    fn take_non_object_line(&mut self, record: NonObjectLine, line: u64) -> Result<(), ReadError> {
        if let Some(version) = record.heapgraph {
            self.take_header(version, record, line);
        } else if record.thread.is_some() {
            self.take_thread(record, line)?;
        } else if record.range.is_some() {
            self.take_range(record, line);
        } else if record.end == Some(true) {
            self.stated_object_count.get_or_insert(record.objects);
        } else if record.type_key.is_some() {
            self.take_type(record, line)?;
        } else {
            self.reading.diagnostics.add_on_line(&UNKNOWN_RECORD, line, b"");
        }
        Ok(())
    }

    fn take_header(&mut self, version: u64, record: NonObjectLine, line: u64) {
        if self.reading.info.version.is_some() {
            self.reading.diagnostics.add_on_line(&SECOND_HEADER, line, b"");
            return;
        }
        if version != 1 {
            self.reading.diagnostics.add_on_line(&UNKNOWN_VERSION, line, version.to_string().as_bytes());
        }
        let info = &mut self.reading.info;
        info.version = Some(version.to_string());
        info.stated_runtime = record.runtime.as_deref().and_then(Runtime::from_words);
        info.producer = record.producer.or(record.runtime);
        info.sampled = record.sampled;
        if let Some(word) = record.ids {
            match IdStyle::from_word(&word) {
                Some(style) => self.builder.id_style = style,
                None => self.warn_of_word(&MALFORMED_KEY, line, "ids", &word),
            }
        }
        self.header_rules = record.rules.unwrap_or_default();
        if let Some(rule) = self.header_rules.iter().find(|rule| !KNOWN_RULES.contains(&rule.as_str())).cloned() {
            self.warn_of_word(&MALFORMED_KEY, line, "rules", &rule);
        }
        self.dependent_references = record.dependent_references.unwrap_or(0);
    }

    fn take_thread(&mut self, record: NonObjectLine, line: u64) -> Result<(), ReadError> {
        let section = self.current_section();
        let lines = record.frames.unwrap_or_default();
        let mut frames = Vec::with_capacity(lines.len());
        for frame in lines {
            let FrameLine { method, class, signature, file, line: number, code } = frame;
            if let Some(word) = code.as_deref().filter(|word| !["compiled", "native"].contains(word)) {
                self.warn_of_word(&MALFORMED_KEY, line, "code", word);
            }
            let class = class.map(|class| self.find_or_add_slot(&class, line)).transpose()?;
            let mut text = |text: String| self.builder.intern_text(&text);
            frames.push(StackFrame {
                method: text(method),
                class,
                signature: signature.map(&mut text),
                source_file: file.map(&mut text),
                line: match (number, code.as_deref()) {
                    (Some(number), _) => SourceLine::Number(number),
                    (None, Some("compiled")) => SourceLine::Compiled,
                    (None, Some("native")) => SourceLine::Native,
                    (None, _) => SourceLine::Unknown,
                },
            });
        }
        let serial = record.thread.unwrap_or_default();
        if !self.described_threads.insert((section, serial)) {
            self.warn_of_word(&REPEATED_RECORD, line, "thread", &serial.to_string());
        }
        let object = record.object.map(|id| id.0);
        self.thread_frame_counts.entry(serial).or_insert(frames.len() as u32);
        self.thread_objects.extend(object.map(|object| (section, object, line)));
        let stack = self.builder.add_stack(frames)?;
        let name = record.name.map(|name| self.builder.intern_text(&name));
        self.builder.add_thread(section, ThreadRecord { name, serial, object_id: object, stack });
        Ok(())
    }

    fn take_range(&mut self, record: NonObjectLine, line: u64) {
        let section = self.current_section();
        let (Some(name), Some(from), Some(to)) = (record.name, record.from, record.to) else {
            self.reading.diagnostics.add_on_line(&MALFORMED_RECORD, line, b"a range needs name, from and to");
            return;
        };
        let (from, to) = (from.0, to.0);
        match record.range.as_deref() {
            Some("generation") => {
                let generation = Generation::from_name(&name).unwrap_or_else(|| {
                    self.warn_of_word(&MALFORMED_KEY, line, "name", &name);
                    Generation::Outside
                });
                let end = to.saturating_add(1);
                self.builder.generations.push(GenerationRange { start: from, end, generation });
            }
            Some("part") => self.heap_part_ranges.push(NamedRange { section, name, first_id: from, last_id: to, line }),
            Some("interval") => {
                self.interval_ranges.push(NamedRange { section, name, first_id: from, last_id: to, line })
            }
            word => {
                let word = word.unwrap_or_default().to_string();
                self.warn_of_word(&MALFORMED_RECORD, line, "range", &word);
            }
        }
    }

    fn take_type(&mut self, record: NonObjectLine, line: u64) -> Result<(), ReadError> {
        let section = self.current_section();
        let Some(key) = record.type_key else { return Ok(()) };
        let slot = self.find_or_add_slot(&key, line)?;
        if let TypeKey::Number(number) = key
            && !self.described_types.insert(number)
        {
            self.warn_of_word(&REPEATED_RECORD, line, "type", &number.to_string());
        }
        if let (TypeKey::Number(_), Some(name)) = (&key, &record.name) {
            self.builder.check_name_memory(name.len())?;
            if self.builder.type_name(slot).is_none() {
                match record.place {
                    Some([script, line, column]) => {
                        self.builder.name_type_at(slot, name, SourcePlace { script_number: script, line, column });
                    }
                    None if record.apart == Some(true) || record.module.is_some() => {
                        self.builder.name_type_apart(slot, name, record.module.as_deref());
                    }
                    None => self.builder.name_type(slot, name),
                }
            }
        }
        let loader = match record.loader {
            Some(id) => LoaderRecord::Object(id.0),
            None if record.of_runtime == Some(true) => LoaderRecord::Runtime,
            None => LoaderRecord::Unknown,
        };
        let superclass = record.superclass.map(|key| self.find_or_add_slot(&key, line)).transpose()?;
        if record.class.is_some() || superclass.is_some() || loader != LoaderRecord::Unknown {
            let class_object = record.class.map(|id| id.0);
            let described = TypeRecord { class_object, loader, superclass, fields: Vec::new() };
            self.builder.describe_type(section, slot, described);
        }
        self.multipliers.extend(record.times.map(|times| (slot, times)));
        Ok(())
    }

    /// The graph's builder, after the last block.
    pub(super) fn into_dump(mut self) -> ParsedDump {
        let extent = self.finish();
        let rules = std::mem::take(&mut self.header_rules);
        let has = |rule: &str| rules.iter().any(|known| known == rule);
        self.builder.objects_hold_class = has("objects-hold-class");
        if has("soft-references-told") {
            let section = self.current_section();
            self.builder.add_soft_references(section, std::iter::empty());
        }
        if !has("threads-told") {
            // A thread that is there is alive.
            for &(section, object, line) in self
                .thread_objects
                .iter()
                .filter(|(section, object, _)| !self.strongly_rooted_objects.contains(&(*section, *object)))
            {
                self.builder.add_root_record(section, RootRecord::new(object, RootKind::Thread, line));
            }
        }
        let info = &mut self.reading.info;
        info.frozen_heap = has("frozen-heap");
        info.has_no_roots = self.roots == 0 && !has("roots-told");
        let multipliers: Vec<_> =
            self.multipliers.iter().map(|&(slot, times)| (self.builder.type_of(slot), times)).collect();
        let (parts, intervals) = (self.heap_part_ranges, self.interval_ranges);
        let (unheld_in_tree, counts_bytes_only) = (has("unheld-in-tree"), has("counts-bytes-only"));
        let (references_missing, dependent_references) = (has("references-missing"), self.dependent_references);
        let end = extent.end;
        let objects = ParsedObjects::new(self.builder).with_finish(move |graph, _, reading| {
            // Behind what explains it.
            report_trailer_mismatch(reading, end);
            graph.has_unheld_in_dominator_tree = unheld_in_tree;
            graph.counts_only_objects_with_bytes = counts_bytes_only;
            graph.lacks_references = references_missing;
            graph.dependent_reference_count = dependent_references;
            graph.heap_parts = heap_parts_of(graph, parts, reading);
            graph.allocation_intervals = heap_parts_of(graph, intervals, reading);
            if !multipliers.is_empty() {
                let by_type: FxHashMap<_, _> = multipliers.into_iter().collect();
                graph.set_multipliers(|type_id| by_type.get(&type_id).copied().unwrap_or(1.0));
            }
        });
        ParsedDump { extent, content: ParsedContent::Objects(Box::new(objects)) }
    }

    /// Totals by type name, after the last block.
    pub(super) fn into_types(mut self) -> ParsedTypes {
        let extent = self.finish();
        report_trailer_mismatch(self.reading, extent.end);
        let (sections, names) = self.builder.into_section_and_type_names();
        ParsedTypes { extent, types: self.totals.by_name(names), origins: Vec::new(), section_names: sections }
    }

    fn finish(&mut self) -> ReadExtent {
        self.current_section();
        for (&number, &(slot, line)) in &self.slots_by_number {
            if self.builder.type_name(slot).is_none() {
                self.builder.name_type(slot, &format!("(type {number})"));
                self.reading.diagnostics.add_on_line(&UNKNOWN_TYPE, line, number.to_string().as_bytes());
            }
        }
        for ((thread, frame), line) in std::mem::take(&mut self.root_frames) {
            let (frames, text) = (self.thread_frame_counts.get(&thread), || match frame {
                Some(frame) => format!("thread {thread}, frame {frame}"),
                None => format!("thread {thread}"),
            });
            if frames.is_none_or(|&frames| frame.is_some_and(|frame| frame >= frames)) {
                self.reading.diagnostics.add(&UNKNOWN_THREAD, 1, Position::Line(line), text);
            }
        }
        self.totals.report(&mut self.reading.diagnostics, Position::Line);
        let end = Position::Line(self.lines_so_far.max(1));
        let last = self.current_section();
        match self.stated_object_count {
            Some(stated) => {
                let agrees = stated.is_none_or(|stated| stated == self.objects);
                let found = format!("{} of {} objects", self.objects, stated.unwrap_or(self.objects));
                self.reading.info.trailer = stated.map(|_| if agrees { TRAILER_AGREES_TEXT.into() } else { found });
            }
            None => {
                self.reading.diagnostics.add(&NO_END, u64::from(!self.is_cut), end, String::new);
                self.builder.section_mut(last).complete = false;
            }
        }
        self.reading.info.set_records([
            ("roots", self.roots),
            ("objects", self.objects),
            ("references", self.references),
        ]);
        ReadExtent { end, objects: self.objects, loss_codes: LOSS_CODES }
    }
}

fn report_trailer_mismatch(reading: &mut Reading, end: Position) {
    if let Some(found) = reading.info.trailer.clone().filter(|found| found != TRAILER_AGREES_TEXT) {
        reading.diagnostics.add(&TRAILER_MISMATCH, 1, end, || found);
    }
}

/// Runs of nodes from ranges of ids, which lie in the order of the file; nothing, and a problem, where they do not ascend or
/// leave objects out.
fn heap_parts_of(graph: &HeapGraph, ranges: Vec<NamedRange>, reading: &mut Reading) -> HeapParts {
    let mut parts = HeapParts::default();
    let mut numbers: FxHashMap<String, u32> = FxHashMap::default();
    let mut last_line = None;
    for NamedRange { section, name, first_id: from, last_id: to, line } in ranges {
        let nodes = graph.nodes_in_id_range(section, from, to);
        let next = parts.runs.last().map_or(0, |(nodes, _)| nodes.end);
        last_line = Some(line);
        if nodes.start != next {
            reading.diagnostics.add_on_line(&BAD_RANGES, line, name.as_bytes());
            return HeapParts::default();
        }
        let number = *numbers.entry(name).or_insert_with_key(|name| {
            parts.names.push(name.clone());
            parts.names.len() as u32 - 1
        });
        parts.runs.push((nodes, number));
    }
    let is_whole = parts.runs.last().map_or(0, |(nodes, _)| nodes.end) == graph.node_count();
    if let Some(line) = last_line.filter(|_| !is_whole) {
        reading.diagnostics.add_on_line(&BAD_RANGES, line, b"");
    }
    if is_whole { parts } else { HeapParts::default() }
}
