//! Blocks in the order of the file: sections are opened and closed, type ids get their names, roots their words.

use rustc_hash::FxHashMap;

use super::block::{Block, ListLengths, MarkKind, SectionMark};
use super::problem_codes::*;
use super::record::{RootLine, split_last_number, split_time};
use crate::graph::{GraphBuilder, IdStyle, RootFlags, RootKind, Section, SectionId, TypeSlot};
use crate::input::options::SizeRadix;
use crate::input::sink::{RecordSink, SectionPart, SlotTotals};
use crate::input::{
    Diagnostics, ParsedContent, ParsedDump, ParsedObjects, ParsedTypes, Position, ReadError, ReadExtent, Reading,
};

/// Objects from which on it is improbable that no size has a letter: a quarter of all multiples of 4 end in `c`.
const MIN_TELLING_SIZES: u64 = 1000;

#[derive(Debug)]
struct TypeEntry {
    slot: TypeSlot,
    is_declared: bool,
    /// Line of the first object of the type, and of the first static root of the class.
    first_object_line: Option<u64>,
    first_static_line: Option<u64>,
}

/// The section being read.
#[derive(Debug)]
struct OpenSection {
    section: SectionId,
    types: FxHashMap<u64, TypeEntry>,
    /// Name and time of the `a` record as they stand; `None` where there was none.
    begin_text: Option<Vec<u8>>,
}

/// Records met, by kind.
#[derive(Debug, Default)]
struct RecordCounts {
    app_domains: u64,
    types: u64,
    objects: u64,
    references: u64,
    roots: u64,
    ends: u64,
}

/// Puts blocks together.
pub(super) struct Assembler<'r> {
    reading: &'r mut Reading,
    builder: GraphBuilder,
    totals: SlotTotals,
    open_section: Option<OpenSection>,
    counts: RecordCounts,
    version: Option<u64>,
    has_letter_in_sizes: bool,
    lines_so_far: u64,
    /// Slot of each type number of the block at hand.
    slots: Vec<u32>,
}

impl<'r> Assembler<'r> {
    pub(super) fn new(reading: &'r mut Reading) -> Self {
        let mut builder = GraphBuilder::new(IdStyle::Hex);
        builder.limit_memory(&reading.budget);
        Assembler {
            reading,
            builder,
            totals: SlotTotals::default(),
            open_section: None,
            counts: RecordCounts::default(),
            version: None,
            has_letter_in_sizes: false,
            lines_so_far: 0,
            slots: Vec::new(),
        }
    }

    pub(super) fn take_block<S: RecordSink>(&mut self, block: &mut Block<S>) -> Result<(), ReadError> {
        self.builder.check_memory()?;
        self.reading.diagnostics.merge_block(&mut block.diagnostics, self.lines_so_far);
        self.has_letter_in_sizes |= block.has_letter_in_sizes;
        self.slots.clear();
        let mut from = ListLengths::default();
        let marks = std::mem::take(&mut block.section_marks);
        for (part, mark) in marks.iter().enumerate() {
            self.take_part(block, part, from, mark.lengths_before)?;
            self.take_mark(block, mark);
            self.builder.check_memory()?;
            from = mark.lengths_before;
        }
        self.take_part(block, marks.len(), from, block.list_lengths())?;
        block.section_marks = marks;
        self.counts.objects += block.objects.object_count() as u64;
        self.counts.references += block.objects.reference_count() as u64;
        self.lines_so_far += block.lines_so_far;
        Ok(())
    }

    fn take_part<S: RecordSink>(
        &mut self,
        block: &Block<S>,
        part: usize,
        from: ListLengths,
        to: ListLengths,
    ) -> Result<(), ReadError> {
        let Some(first_line) = block.first_record_lines[part] else { return Ok(()) };
        let lines = self.lines_so_far;
        let open = match &mut self.open_section {
            Some(open) => open,
            none => {
                self.reading.diagnostics.add_on_line(&RECORD_OUTSIDE_SECTION, lines + first_line, b"");
                self.totals.begin_section();
                none.insert(OpenSection::new(self.builder.begin_section(Section::default()), None))
            }
        };
        for declared in &block.type_lines[from.types..to.types] {
            let name = &block.name_bytes[declared.name.clone()];
            self.builder.check_name_memory(name.len())?;
            open.declare_type(
                declared.id,
                name,
                lines + declared.line,
                &mut self.builder,
                &mut self.reading.diagnostics,
            );
        }
        self.counts.types += (to.types - from.types) as u64;
        for &(raw_id, line) in &block.numbered_types.mentioned_types[from.mentioned_types..to.mentioned_types] {
            let entry = open.find_or_add_type(raw_id, &mut self.builder);
            entry.first_object_line.get_or_insert(lines + line);
            self.slots.push(entry.slot.0);
        }
        let section = open.section;
        block.objects.deliver(
            SectionPart {
                section,
                objects: from.objects..to.objects,
                type_indices: from.mentioned_types..to.mentioned_types,
                slots: &self.slots,
                lines_before: lines,
                takes_leading_references: false,
            },
            &mut self.builder,
            &mut self.totals,
        )?;
        for (root, line) in &block.roots[from.roots..to.roots] {
            let line = lines + line;
            let (kind, flags, container) =
                open.resolve_root(root, line, &mut self.builder, &mut self.reading.diagnostics);
            if S::BUILDS_GRAPH {
                self.builder.add_root(section, root.object, kind, flags, container, line);
            }
        }
        self.counts.roots += (to.roots - from.roots) as u64;
        Ok(())
    }

    fn take_mark<S>(&mut self, block: &Block<S>, mark: &SectionMark) {
        let line = self.lines_so_far + mark.line;
        let text = &block.name_bytes[mark.name.clone()];
        match mark.kind {
            MarkKind::Begin { version } => {
                self.counts.app_domains += 1;
                self.close_incomplete_section(line);
                self.version.get_or_insert(version);
                if version != 2 {
                    self.reading.diagnostics.add_on_line(&UNSUPPORTED_VERSION, line, text);
                }
                let (name, time) = split_time(text);
                let section = Section {
                    name: String::from_utf8_lossy(name).into_owned(),
                    started_ms: time,
                    ..Section::default()
                };
                self.totals.begin_section();
                self.open_section = Some(OpenSection::new(self.builder.begin_section(section), Some(text.to_vec())));
            }
            MarkKind::End => {
                self.counts.ends += 1;
                match self.open_section.take() {
                    None => self.reading.diagnostics.add_on_line(&UNEXPECTED_END_RECORD, line, text),
                    Some(open) => self.close_section(open, text, line),
                }
            }
        }
    }

    fn close_section(&mut self, open: OpenSection, end: &[u8], line: u64) {
        let (mut end_name, mut end_time) = split_time(end);
        let section = self.builder.section_mut(open.section);
        section.complete = true;
        match &open.begin_text {
            // Records outside any AppDomain, closed by an end record: its name is all there is.
            None => section.name = String::from_utf8_lossy(end_name).into_owned(),
            Some(begun_as) => {
                let (mut begin_name, mut begin_time) = split_time(begun_as);
                // Short times (the device was booted under 65 s ago) show by the pair: equal but for the last words. A
                // name like "Room 101" has the same last word in both.
                if let (Some((a, a_time)), Some((c, c_time))) = (split_last_number(begun_as), split_last_number(end))
                    && a == c
                    && a_time != c_time
                {
                    (begin_name, begin_time, end_name, end_time) = (a, Some(a_time), c, Some(c_time));
                }
                section.name = String::from_utf8_lossy(begin_name).into_owned();
                section.started_ms = begin_time;
                if begin_name != end_name {
                    self.reading.diagnostics.add_on_line(&END_NAME_MISMATCH, line, end);
                }
            }
        }
        self.builder.section_mut(open.section).ended_ms = end_time;
        self.name_undeclared_types(open);
    }

    fn close_incomplete_section(&mut self, line: u64) {
        if let Some(open) = self.open_section.take() {
            self.reading.diagnostics.add_on_line(&MISSING_END_RECORD, line, b"");
            self.name_undeclared_types(open);
        }
    }

    /// Names what was never declared.
    fn name_undeclared_types(&mut self, open: OpenSection) {
        for (raw_id, entry) in &open.types {
            if entry.is_declared {
                continue;
            }
            let name = format!("<type {raw_id:#x}>");
            self.builder.name_type(entry.slot, &name);
            if let Some(line) = entry.first_object_line {
                self.reading.diagnostics.add_on_line(&UNDECLARED_TYPE, line, name.as_bytes());
            }
            if let Some(line) = entry.first_static_line {
                self.reading.diagnostics.add_on_line(&UNDECLARED_CONTAINER, line, name.as_bytes());
            }
        }
    }

    pub(super) fn into_dump(mut self) -> ParsedDump {
        let extent = self.finish();
        ParsedDump { extent, content: ParsedContent::Objects(Box::new(ParsedObjects::new(self.builder))) }
    }

    /// Totals by type name, after the last block.
    pub(super) fn into_types(mut self) -> ParsedTypes {
        let extent = self.finish();
        let (sections, names) = self.builder.into_section_and_type_names();
        ParsedTypes { extent, types: self.totals.by_name(names), origins: Vec::new(), section_names: sections }
    }

    fn finish(&mut self) -> ReadExtent {
        let last_line = self.lines_so_far.max(1);
        self.close_incomplete_section(last_line);
        let counts = &self.counts;
        let is_hex = self.reading.options.xna_cf.size_radix == SizeRadix::Hex;
        if is_hex && !self.has_letter_in_sizes && counts.objects >= MIN_TELLING_SIZES {
            self.reading.diagnostics.add_on_line(&SIZES_LOOK_DECIMAL, 1, b"");
        }
        self.totals.report(&mut self.reading.diagnostics, Position::Line);
        self.reading.info.version = self.version.map(|version| version.to_string());
        self.reading.info.set_records([
            ("app_domains", counts.app_domains),
            ("types", counts.types),
            ("objects", counts.objects),
            ("references", counts.references),
            ("roots", counts.roots),
            ("ends", counts.ends),
        ]);
        ReadExtent { end: Position::Line(last_line), objects: counts.objects, loss_codes: LOSS_CODES }
    }
}

impl OpenSection {
    fn new(section: SectionId, begun_as: Option<Vec<u8>>) -> Self {
        OpenSection { section, types: FxHashMap::default(), begin_text: begun_as }
    }

    fn find_or_add_type(&mut self, raw_id: u64, builder: &mut GraphBuilder) -> &mut TypeEntry {
        self.types.entry(raw_id).or_insert_with(|| TypeEntry {
            slot: builder.new_type(),
            is_declared: false,
            first_object_line: None,
            first_static_line: None,
        })
    }

    fn declare_type(
        &mut self,
        raw_id: u64,
        name: &[u8],
        line: u64,
        builder: &mut GraphBuilder,
        diagnostics: &mut Diagnostics,
    ) {
        let section = self.section;
        let entry = self.find_or_add_type(raw_id, builder);
        let name = if name.is_empty() {
            format!("<unnamed type {raw_id:#x}>")
        } else {
            String::from_utf8_lossy(name).into_owned()
        };
        if !entry.is_declared {
            entry.is_declared = true;
            let slot = entry.slot;
            builder.name_type(slot, &name);
            builder.section_mut(section).declared_types += 1;
        } else if builder.type_name(entry.slot) == Some(&name) {
            diagnostics.add_on_line(&DUPLICATE_TYPE, line, name.as_bytes());
        } else {
            diagnostics.add_on_line(&CONFLICTING_TYPE, line, name.as_bytes());
        }
    }

    /// A root record in the graph's words.
    fn resolve_root(
        &mut self,
        root: &RootLine,
        line: u64,
        builder: &mut GraphBuilder,
        diagnostics: &mut Diagnostics,
    ) -> (RootKind, RootFlags, Option<TypeSlot>) {
        let kind = match root.kind {
            0 => RootKind::Runtime,
            1 => RootKind::Local,
            2 => RootKind::Finalizer,
            3 => RootKind::Handle,
            4 => RootKind::Static,
            5 => RootKind::Gc,
            other => {
                diagnostics.add_on_line(&UNKNOWN_ROOT_KIND, line, format!("kind {other:x}").as_bytes());
                RootKind::Other(u32::try_from(other).unwrap_or(u32::MAX))
            }
        };
        let known = u64::from(RootFlags::PINNED | RootFlags::WEAK | RootFlags::INTERIOR);
        if root.flags & !known != 0 {
            diagnostics.add_on_line(&UNKNOWN_ROOT_FLAGS, line, format!("flags {:x}", root.flags).as_bytes());
        }
        let flags = RootFlags(root.flags as u32);
        if flags.has_any(RootFlags::WEAK) && flags.has_any(RootFlags::PINNED | RootFlags::INTERIOR) {
            diagnostics.add_on_line(&WEAK_AND_STRONG_FLAGS, line, format!("flags {:x}", root.flags).as_bytes());
        }
        let container = match (kind, root.container) {
            (RootKind::Static, Some(Some(class))) => {
                let entry = self.find_or_add_type(class, builder);
                entry.first_static_line.get_or_insert(line);
                Some(entry.slot)
            }
            (RootKind::Static, _) => {
                diagnostics.add_on_line(&STATIC_ROOT_WITHOUT_CONTAINER, line, b"");
                None
            }
            (_, Some(_)) => {
                diagnostics.add_on_line(&UNEXPECTED_CONTAINER, line, b"");
                None
            }
            (_, None) => None,
        };
        if root.has_trailing_fields {
            diagnostics.add_on_line(&TRAILING_FIELDS, line, b"");
        }
        (kind, flags, container)
    }
}
