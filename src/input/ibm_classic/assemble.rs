//! Blocks in the order of the file: types get their names, the trailers are checked, the shape is decided.

use super::IbmClassic;
use super::block::{Block, Counts};
use super::codes::*;
use super::java_types::source_form;
use super::record::{Breakdown, Eof};
use super::shape::Shape;
use crate::graph::{GraphBuilder, HeapGraph, IdStyle, ResolveOptions, Section, SectionId, TypeSlot};
use crate::input::sink::{ObjectSink, Part, Totals};
use crate::input::{BROKEN_COMPRESSION, Counted, Diagnostics, Facts, Position, SIZE_OVERFLOW, check_any_read};
use crate::input::{ReadError, ReadOptions, Reader, Source};

/// Puts blocks together.
pub(super) struct Assembler {
    builder: GraphBuilder,
    section: SectionId,
    totals: Totals,
    counts: Counts,
    records: u64,
    /// No readable record is open at the end of the blocks so far.
    is_without_owner: bool,
    breakdown: Option<(Breakdown, u64)>,
    eof: Option<(Eof, u64)>,
    raw_types: bool,
    lines: u64,
    pub(super) facts: Facts,
    pub(super) diagnostics: Diagnostics,
}

impl Assembler {
    /// The source has its budget.
    pub(super) fn new(reader: &IbmClassic, source: &Source, options: &ReadOptions) -> Self {
        let mut builder = GraphBuilder::new(IdStyle::Padded(16));
        builder.limit_memory(source.budget());
        let section = builder.begin_section(Section { name: "heap".into(), ..Section::default() });
        Assembler {
            builder,
            section,
            totals: Totals::default(),
            counts: Counts::default(),
            records: 0,
            is_without_owner: true,
            breakdown: None,
            eof: None,
            raw_types: options.raw_types,
            lines: 0,
            facts: Facts {
                format: reader.name(),
                title: reader.title(),
                encoding: Some(source.encoding().name()),
                compression: source.compression().to_vec(),
                has_no_roots: true,
                ..Facts::default()
            },
            diagnostics: Diagnostics::default(),
        }
    }

    /// Takes the next block of the file.
    pub(super) fn take_block<S: ObjectSink>(&mut self, block: &mut Block<S>) -> Result<(), ReadError> {
        self.builder.check_memory()?;
        self.take_early_lines(block);
        self.diagnostics.absorb(&mut block.diagnostics, self.lines);
        for name in &block.names.list[block.slots.len()..] {
            self.builder.check_name(name.len())?;
            let name = String::from_utf8_lossy(name);
            let slot = self.builder.new_type();
            self.builder.name_type(slot, &if self.raw_types { name.into_owned() } else { source_form(&name) });
            block.slots.push(slot.0);
        }
        if block.counts.leading_full_zeros > 0 && !self.is_without_owner && !self.last_is_class() {
            self.counts.full_zeros += block.counts.leading_full_zeros;
        }
        let first = self.builder.object_count();
        let part = Part {
            section: self.section,
            objects: 0..block.objects.object_count(),
            type_indices: 0..block.names.list.len(),
            slots: &block.slots,
            lines_before: self.lines,
            takes_leading: !self.is_without_owner,
        };
        let orphans = block.objects.deliver(part, &mut self.builder, &mut self.totals)?;
        self.diagnostics.add(&ORPHAN_REF, orphans as u64, Position::Line(self.lines + 1), String::new);
        self.is_without_owner = block.ended_without_owner.unwrap_or(self.is_without_owner);
        if self.builder.object_count() > first {
            for &(object, name) in &block.classes {
                self.builder.label_object(first + object as usize, TypeSlot(block.slots[name as usize]));
            }
        }
        let lines = self.lines;
        self.breakdown = block.breakdown.take().map(|(breakdown, line)| (breakdown, line + lines)).or(self.breakdown);
        self.eof = block.eof.take().map(|(eof, line)| (eof, line + lines)).or(self.eof);
        self.records += block.objects.object_count() as u64;
        self.counts.join(&block.counts);
        self.lines += block.lines;
        Ok(())
    }

    /// Lines between the version and the first record belong to the version: jdmpview writes it in several.
    fn take_early_lines<S>(&mut self, block: &mut Block<S>) {
        let version_before = self.facts.producer.is_some();
        if self.facts.producer.is_none() {
            self.facts.producer = block.version.take();
        }
        for early in block.early.drain(..) {
            let of_version = self.records == 0 && (early.after_version || version_before);
            match &mut self.facts.producer {
                Some(producer) if of_version => {
                    producer.push_str("; ");
                    producer.push_str(&early.text);
                }
                _ => self.diagnostics.on_line(&JUNK_LINE, self.lines + early.line, early.text.as_bytes()),
            }
        }
    }

    fn last_is_class(&self) -> bool {
        let last = self.builder.object_count().wrapping_sub(1);
        self.builder.labels().last().is_some_and(|&(object, _)| object as usize == last)
    }

    /// After the last block.
    pub(super) fn finish(&mut self, source: &Source) {
        let last_line = self.lines.max(1);
        if let Some(text) = source.ended_early() {
            self.diagnostics.add(&BROKEN_COMPRESSION, 1, Position::Line(last_line), || text);
        }
        let counts = self.counts;
        let objects = self.records - counts.classes - counts.arrays;
        self.facts.records = vec![
            ("classes", counts.classes),
            ("objects", objects),
            ("arrays", counts.arrays),
            ("references", counts.references),
            ("null_references", counts.nulls),
        ];
        self.builder.section_mut(self.section).complete = self.eof.is_some();
        if self.eof.is_none() {
            self.diagnostics.on_line(&MISSING_TRAILER, last_line, b"");
        }
        self.totals.report(&mut self.diagnostics, Position::Line);
        self.builder.set_id_style(IdStyle::Padded(if counts.most_digits > 8 { 16 } else { 8 }));
    }

    /// An error when records were lost and no object is left. Around a dump that is whole there may be anything.
    pub(super) fn check_any_read(&self) -> Result<(), ReadError> {
        let lost = [&BROKEN_COMPRESSION, &MALFORMED_RECORD, &MALFORMED_REF, &ORPHAN_REF, &TRUNCATED_LINE, &JUNK_LINE];
        let junk = usize::from(self.eof.is_some());
        check_any_read(self.records, &self.diagnostics, &lost[..lost.len() - junk])
    }

    /// The dump's own totals against what was read. Of records that were dropped as repeated only the number is known,
    /// so a difference of no more than that many is none.
    pub(super) fn check_trailers(&mut self, dropped: u64) {
        let counts = self.counts;
        let objects = self.records - counts.classes - counts.arrays;
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
        if let Some((said, line)) = self.eof {
            compare("records", line, said.records, &[self.records]);
        }
        if let (Some((said, line)), 0) = (self.eof, dropped) {
            // Shapes A and C print all references they count; shape B counts its nulls without printing them. Where the
            // trailer does not say how many, the counts can differ by any number of them.
            let printed = counts.references;
            let without_nulls = printed - counts.nulls;
            let nulls = said.nulls.unwrap_or_else(|| said.references.saturating_sub(printed));
            compare(
                "references",
                line,
                said.references,
                &[printed, printed.saturating_add(nulls), without_nulls, without_nulls.saturating_add(nulls)],
            );
        }
        self.facts.trailer = Some(match (self.eof, differences.is_empty()) {
            (None, _) => "missing".into(),
            (Some(_), true) => "agrees with what was read".into(),
            (Some(_), false) => {
                let texts: Vec<&str> = differences.iter().map(|(_, text)| text.as_str()).collect();
                texts.join("; ")
            }
        });
        for (line, text) in differences {
            self.diagnostics.add(&TRAILER_MISMATCH, 1, Position::Line(line), || text);
        }
    }

    /// Decides the shape and makes the graph, once.
    ///
    /// # Errors
    /// When there is no room for it.
    pub(super) fn resolve(&mut self) -> Result<HeapGraph, ReadError> {
        self.builder.check_resolve()?;
        let builder = std::mem::take(&mut self.builder);
        let compact_trailer = self.breakdown.is_some_and(|(breakdown, _)| breakdown.compact);
        let shape = Shape::decide(&self.counts, compact_trailer, &builder);
        self.facts.version = Some(shape.describe().into());
        let (graph, findings) =
            builder.resolve(ResolveOptions { first_reference_is_class: shape == Shape::ClassFirst });
        if shape == Shape::ClassFirst {
            self.facts.records.push(("class_words", findings.class_words));
        }
        let tallies = [
            (&DANGLING_REF, findings.dangling_references),
            (&DUPLICATE_OBJECT, findings.duplicate_objects),
            (&CONFLICTING_OBJECT, findings.conflicting_objects),
            (&SIZE_OVERFLOW, findings.size_overflows),
        ];
        self.diagnostics.add_tallies(&tallies, Position::Line);
        self.check_trailers(findings.duplicate_objects.count + findings.conflicting_objects.count);
        Ok(graph)
    }

    /// Totals by type name.
    pub(super) fn into_counted(self) -> Counted {
        let (sections, names) = self.builder.into_names();
        Counted { types: self.totals.by_name(names), sections, facts: self.facts, diagnostics: self.diagnostics }
    }
}

impl Counts {
    fn join(&mut self, other: &Counts) {
        self.classes += other.classes;
        self.arrays += other.arrays;
        self.with_word += other.with_word;
        self.without_word += other.without_word;
        self.references += other.references;
        self.nulls += other.nulls;
        self.full_zeros += other.full_zeros;
        self.short_zeros += other.short_zeros;
        self.most_digits = self.most_digits.max(other.most_digits);
    }
}
