//! Blocks in the order of the file: types get their names, the trailers are checked, the shape is decided.

use rustc_hash::FxHashMap;

use super::block::{Block, BlockCounts};
use super::problem_codes::*;
use super::record::{Breakdown, TrailerTotals};
use crate::graph::{GraphBuilder, IdStyle, ResolveOptions, Section, SectionId, TypeSlot};
use crate::input::java_types::source_form;
use crate::input::sink::{RecordSink, SectionPart, SlotTotals};
use crate::input::{ParsedContent, ParsedDump, ParsedObjects, ParsedTypes, Position, ReadError, ReadExtent, Reading};

/// Puts blocks together.
pub(super) struct Assembler<'r> {
    reading: &'r mut Reading,
    builder: GraphBuilder,
    section: SectionId,
    totals: SlotTotals,
    record_totals: RecordTotals,
    /// No readable record is open at the end of the blocks so far.
    has_no_open_record: bool,
    lines_so_far: u64,
}

/// Counts of records, and the dump's own totals of it: (totals, line).
#[derive(Debug, Default)]
struct RecordTotals {
    record_count: u64,
    counts: BlockCounts,
    breakdown: Option<(Breakdown, u64)>,
    stated_totals: Option<(TrailerTotals, u64)>,
}

impl<'r> Assembler<'r> {
    pub(super) fn new(reading: &'r mut Reading) -> Self {
        let mut builder = GraphBuilder::new(IdStyle::Padded(16));
        builder.limit_memory(&reading.budget);
        let section = builder.begin_section(Section { name: "heap".into(), ..Section::default() });
        reading.info.has_no_roots = true;
        Assembler {
            reading,
            builder,
            section,
            totals: SlotTotals::default(),
            record_totals: RecordTotals::default(),
            has_no_open_record: true,
            lines_so_far: 0,
        }
    }

    pub(super) fn take_block<S: RecordSink>(&mut self, block: &mut Block<S>) -> Result<(), ReadError> {
        self.builder.check_memory()?;
        self.take_early_lines(block);
        self.reading.diagnostics.merge_block(&mut block.diagnostics, self.lines_so_far);
        for name in &block.names.names[block.slots.len()..] {
            self.builder.check_name_memory(name.len())?;
            let name = String::from_utf8_lossy(name);
            let slot = self.builder.new_type();
            self.builder
                .name_type(slot, &if self.reading.options.raw_types { name.into_owned() } else { source_form(&name) });
            block.slots.push(slot.0);
        }
        let last = self.builder.object_count().wrapping_sub(1);
        let last_is_class = self.builder.class_objects.last().is_some_and(|&(object, _)| object as usize == last);
        if block.counts.leading_full_width_nulls > 0 && !self.has_no_open_record && !last_is_class {
            self.record_totals.counts.full_width_nulls += block.counts.leading_full_width_nulls;
        }
        let first = self.builder.object_count();
        let part = SectionPart {
            section: self.section,
            objects: 0..block.objects.object_count(),
            type_indices: 0..block.names.names.len(),
            slots: &block.slots,
            lines_before: self.lines_so_far,
            takes_leading_references: !self.has_no_open_record,
        };
        let orphans = block.objects.deliver(part, &mut self.builder, &mut self.totals)?;
        self.reading.diagnostics.add(&ORPHAN_REF, orphans as u64, Position::Line(self.lines_so_far + 1), String::new);
        self.has_no_open_record = block.ended_with_no_open_record.unwrap_or(self.has_no_open_record);
        if self.builder.object_count() > first {
            for &(object, name) in &block.class_objects {
                self.builder.add_class_object(first + object as usize, TypeSlot(block.slots[name as usize]));
            }
        }
        let lines = self.lines_so_far;
        self.record_totals.breakdown =
            block.breakdown.take().map(|(breakdown, line)| (breakdown, line + lines)).or(self.record_totals.breakdown);
        self.record_totals.stated_totals =
            block.stated_totals.take().map(|(eof, line)| (eof, line + lines)).or(self.record_totals.stated_totals);
        self.record_totals.record_count += block.objects.object_count() as u64;
        self.record_totals.counts.join(&block.counts);
        self.lines_so_far += block.line_count;
        Ok(())
    }

    /// Lines between the version and the first record belong to the version: jdmpview writes it in several.
    fn take_early_lines<S>(&mut self, block: &mut Block<S>) {
        let version_before = self.reading.info.producer.is_some();
        if self.reading.info.producer.is_none() {
            self.reading.info.producer = block.version.take();
        }
        for early in block.early_lines.drain(..) {
            let of_version = self.record_totals.record_count == 0 && (early.is_after_version || version_before);
            match &mut self.reading.info.producer {
                Some(producer) if of_version => {
                    producer.push_str("; ");
                    producer.push_str(&early.text);
                }
                _ => self.reading.diagnostics.add_on_line(
                    &JUNK_LINE,
                    self.lines_so_far + early.line,
                    early.text.as_bytes(),
                ),
            }
        }
    }

    /// Decides the shape, after the last block; the graph is made with it.
    pub(super) fn into_dump(mut self) -> ParsedDump {
        let extent = self.finish();
        let records = self.record_totals;
        let compact_trailer = records.breakdown.is_some_and(|(breakdown, _)| breakdown.is_compact);
        let shape = DumpShape::decide(&records.counts, compact_trailer, &self.builder);
        self.reading.info.version = Some(shape.describe().into());
        let class_first = shape == DumpShape::ClassFirst;
        let objects = ParsedObjects::new(self.builder)
            .with_resolve_options(ResolveOptions { drop_first_references: class_first, ..Default::default() })
            .with_finish(move |_, findings, reading| {
                if class_first {
                    reading.info.records.push(("class_words".into(), findings.dropped_first_references));
                }
                records.report_total_differences(
                    findings.duplicate_objects.count + findings.conflicting_objects.count,
                    reading,
                );
            });
        ParsedDump { extent, content: ParsedContent::Objects(Box::new(objects)) }
    }

    /// Totals by type name, after the last block.
    pub(super) fn into_types(mut self) -> ParsedTypes {
        let extent = self.finish();
        self.record_totals.report_total_differences(0, self.reading);
        let (sections, names) = self.builder.into_section_and_type_names();
        ParsedTypes { extent, types: self.totals.by_name(names), origins: Vec::new(), section_names: sections }
    }

    fn finish(&mut self) -> ReadExtent {
        let last_line = self.lines_so_far.max(1);
        let RecordTotals { record_count: all, counts, stated_totals: eof, .. } = self.record_totals;
        self.reading.info.set_records([
            ("classes", counts.classes),
            ("objects", self.record_totals.plain_object_count()),
            ("arrays", counts.arrays),
            ("references", counts.references),
            ("null_references", counts.null_references),
        ]);
        let is_complete = eof.is_some();
        self.builder.section_mut(self.section).complete = is_complete;
        if !is_complete {
            self.reading.diagnostics.add_on_line(&MISSING_TRAILER, last_line, b"");
        }
        self.totals.report(&mut self.reading.diagnostics, Position::Line);
        self.builder.id_style = IdStyle::Padded(if counts.max_address_digits > 8 { 16 } else { 8 });
        let lost = if is_complete { LOSS_CODES } else { LOSS_CODES_OF_CUT };
        ReadExtent { end: Position::Line(last_line), objects: all, loss_codes: lost }
    }
}

impl RecordTotals {
    fn plain_object_count(&self) -> u64 {
        self.record_count - self.counts.classes - self.counts.arrays
    }

    /// The dump's own totals against what was read. Of records that were dropped as repeated only the number is known,
    /// so a difference of no more than that many is none.
    fn report_total_differences(&self, dropped: u64, reading: &mut Reading) {
        let (counts, objects) = (self.counts, self.plain_object_count());
        let mut differences = Vec::new();
        let mut compare = |what: &str, line: u64, said: u64, found: &[u64]| {
            if !found.iter().any(|&found| (said..=said.saturating_add(dropped)).contains(&found)) {
                differences.push((line, format!("{what}: the dump says {said}, {} were read", found[0])));
            }
        };
        if let Some((said, line)) = self.breakdown {
            compare("classes", line, said.classes, &[counts.classes]);
            compare("objects", line, said.objects, &[objects]);
            // An int[][] is a primitive array to the virtual machine and an object array to jdmpview: compare the sum.
            compare("arrays", line, said.object_arrays.saturating_add(said.primitive_arrays), &[counts.arrays]);
        }
        if let Some((said, line)) = self.stated_totals {
            compare("records", line, said.records, &[self.record_count]);
        }
        if let (Some((said, line)), 0) = (self.stated_totals, dropped) {
            // Shapes A and C print all references they count; shape B counts its nulls without printing them. Where the
            // trailer does not say how many, the counts can differ by any number of them.
            let printed = counts.references;
            let without_nulls = printed - counts.null_references;
            let nulls = said.nulls.unwrap_or_else(|| said.references.saturating_sub(printed));
            compare(
                "references",
                line,
                said.references,
                &[printed, printed.saturating_add(nulls), without_nulls, without_nulls.saturating_add(nulls)],
            );
        }
        reading.info.trailer = Some(match (self.stated_totals, differences.is_empty()) {
            (None, _) => "missing".into(),
            (Some(_), true) => "agrees with what was read".into(),
            (Some(_), false) => {
                let texts: Vec<&str> = differences.iter().map(|(_, text)| text.as_str()).collect();
                texts.join("; ")
            }
        });
        for (line, text) in differences {
            reading.diagnostics.add(&TRAILER_MISMATCH, 1, Position::Line(line), || text);
        }
    }
}

impl BlockCounts {
    fn join(&mut self, other: &BlockCounts) {
        self.classes += other.classes;
        self.arrays += other.arrays;
        self.records_with_word += other.records_with_word;
        self.records_without_word += other.records_without_word;
        self.references += other.references;
        self.null_references += other.null_references;
        self.full_width_nulls += other.full_width_nulls;
        self.short_nulls += other.short_nulls;
        self.max_address_digits = self.max_address_digits.max(other.max_address_digits);
    }
}

/// The shapes, by who writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DumpShape {
    /// J9 2.3 to 2.5: the first reference of an object is its class; nulls are printed in all digits.
    ClassFirst,
    /// J9 2.6 and later, OpenJ9: heap references only, no nulls.
    Native,
    /// The `heapdump` command of jdmpview: as native, nulls printed as `0x0`.
    Jdmpview,
    /// IBM SDK 1.3.1 and 1.4, and printing tools: no `OBJ` and `CLS`.
    Sovereign,
}

impl DumpShape {
    /// The version text that `info` prints.
    pub(super) fn describe(self) -> &'static str {
        match self {
            DumpShape::ClassFirst => "A (J9 2.3-2.5: an object's first reference is its class)",
            DumpShape::Native => "B (J9 2.6 and later, OpenJ9)",
            DumpShape::Jdmpview => "C (jdmpview)",
            DumpShape::Sovereign => "D (IBM SDK 1.4 and earlier, or a printing tool)",
        }
    }

    /// Decides. Small files by their nulls; without nulls by whether at least nine objects in ten have a class record
    /// of their own type as first reference. O(objects) at worst; today's dumps show within their first tenth.
    pub(super) fn decide(counts: &BlockCounts, compact_trailer: bool, builder: &GraphBuilder) -> DumpShape {
        if counts.records_without_word > counts.records_with_word {
            DumpShape::Sovereign
        } else if counts.full_width_nulls > 0 {
            DumpShape::ClassFirst
        } else if counts.short_nulls > 0 || compact_trailer {
            DumpShape::Jdmpview
        } else if has_class_first(counts, builder) {
            DumpShape::ClassFirst
        } else {
            DumpShape::Native
        }
    }
}

fn has_class_first(counts: &BlockCounts, builder: &GraphBuilder) -> bool {
    let objects = builder.object_count() as u64 - counts.classes;
    if objects == 0 || counts.classes == 0 {
        return false;
    }
    let classes: FxHashMap<u64, TypeSlot> =
        builder.class_objects.iter().map(|&(object, class)| (builder.id_of(object as usize), class)).collect();
    let mut class_objects = builder.class_objects.iter().map(|&(object, _)| object as usize).peekable();
    let allowed = objects / 10;
    let mut others = 0;
    for (object, type_slot, first) in builder.first_references() {
        while class_objects.next_if(|&class_object| class_object < object).is_some() {}
        if class_objects.peek() == Some(&object) {
            continue;
        }
        let class = first.and_then(|address| classes.get(&address));
        if !class.is_some_and(|&class| builder.have_same_type_name(class, type_slot)) {
            others += 1;
            if others > allowed {
                return false;
            }
        }
    }
    true
}
