//! One block of lines: objects into columns, the other records into small lists. Any thread, in any order.

use std::ops::Range;

use super::problem_codes::*;
use super::record::{self, RootLine};
use crate::input::blocks::{ParsedBlockContent, TextBlockContext};
use crate::input::options::SizeRadix;
use crate::input::problem_codes::PADDING;
use crate::input::sink::RecordSink;
use crate::input::text::{NumberedTypes, has_hex_letter, hex_field, split_field, split_line, trim};
use crate::input::{Diagnostics, Position};

/// A type record: its name lies in the block's text.
#[derive(Debug)]
pub(super) struct TypeLine {
    pub(super) id: u64,
    pub(super) name: Range<usize>,
    pub(super) line: u64,
}

/// An `a` or `c` record: it ends one part of the block and begins the next.
#[derive(Debug)]
pub(super) struct SectionMark {
    pub(super) kind: MarkKind,
    /// Name and time as they stand, in the block's text.
    pub(super) name: Range<usize>,
    pub(super) line: u64,
    /// The lists' lengths before it.
    pub(super) lengths_before: ListLengths,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkKind {
    Begin { version: u64 },
    End,
}

/// The length of each list of a block at some place.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ListLengths {
    pub(super) objects: usize,
    pub(super) types: usize,
    pub(super) roots: usize,
    pub(super) mentioned_types: usize,
}

/// The content of one block. Reused from block to block.
#[derive(Debug, Default)]
pub(super) struct Block<S> {
    pub(super) objects: S,
    pub(super) numbered_types: NumberedTypes,
    pub(super) type_lines: Vec<TypeLine>,
    /// With the line of each.
    pub(super) roots: Vec<(RootLine, u64)>,
    pub(super) section_marks: Vec<SectionMark>,
    pub(super) name_bytes: Vec<u8>,
    pub(super) diagnostics: Diagnostics,
    pub(super) lines_so_far: u64,
    pub(super) has_letter_in_sizes: bool,
    /// Line of the first record of each part (between marks) that belongs into a section.
    pub(super) first_record_lines: Vec<Option<u64>>,
}

impl<S: RecordSink> Block<S> {
    fn clear(&mut self) {
        self.objects.clear();
        self.numbered_types.clear();
        self.type_lines.clear();
        self.roots.clear();
        self.section_marks.clear();
        self.name_bytes.clear();
        self.diagnostics = Diagnostics::default();
        self.lines_so_far = 0;
        self.has_letter_in_sizes = false;
        self.first_record_lines.clear();
        self.first_record_lines.push(None);
    }

    pub(super) fn list_lengths(&self) -> ListLengths {
        ListLengths {
            objects: self.objects.object_count(),
            types: self.type_lines.len(),
            roots: self.roots.len(),
            mentioned_types: self.numbered_types.mentioned_types.len(),
        }
    }

    fn keep_name(&mut self, name: &[u8]) -> Range<usize> {
        let start = self.name_bytes.len();
        self.name_bytes.extend_from_slice(name);
        start..self.name_bytes.len()
    }

    fn note_first_record(&mut self) {
        let line = self.lines_so_far;
        if let Some(first) = self.first_record_lines.last_mut() {
            first.get_or_insert(line);
        }
    }
}

impl<S: RecordSink> ParsedBlockContent for Block<S> {
    fn memory_bytes(&self) -> usize {
        self.objects.memory_bytes()
            + self.numbered_types.memory_bytes()
            + self.type_lines.capacity() * size_of::<TypeLine>()
            + self.roots.capacity() * size_of::<(RootLine, u64)>()
            + self.section_marks.capacity() * size_of::<SectionMark>()
            + self.first_record_lines.capacity() * size_of::<Option<u64>>()
            + self.name_bytes.capacity()
    }
}

/// A line with nothing to read: white space, or U+00A0 (as the format's published example has it, in UTF-8 or Latin-1).
pub(super) fn is_blank_line(line: &[u8]) -> bool {
    let mut rest = trim(line);
    while let [0xC2, 0xA0, after @ ..] | [0xA0, after @ ..] = rest {
        rest = trim(after);
    }
    rest.is_empty()
}

pub(super) fn parse_block<S: RecordSink>(text: &[u8], place: TextBlockContext, radix: SizeRadix, block: &mut Block<S>) {
    block.clear();
    let (whole_lines, rest) = match memchr::memrchr(b'\n', text) {
        Some(at) => text.split_at(at + 1),
        None => (&text[..0], text),
    };
    parse_lines(whole_lines, radix, block);
    if place.is_last && !rest.is_empty() {
        parse_unfinished_line(rest, radix, block);
    }
    let at = Position::Line(block.lines_so_far.max(1));
    block
        .diagnostics
        .add(&PADDING, place.skipped_padding_bytes.min(1), at, || format!("{} bytes", place.skipped_padding_bytes));
    block.objects.seal();
}

fn parse_lines<S: RecordSink>(text: &[u8], radix: SizeRadix, block: &mut Block<S>) {
    let mut input = text;
    while let Some(&first) = input.first() {
        block.lines_so_far += 1;
        if first == b'o'
            && radix == SizeRadix::Hex
            && let Ok((rest, (id, type_id, bytes))) = record::object_head(input)
        {
            begin_object(block, id, type_id, bytes);
            let mut rest = rest;
            while let Ok((behind, id)) = record::reference(rest) {
                block.objects.push_reference(id);
                rest = behind;
            }
            if let [b'\n', next @ ..] = rest {
                input = next;
            } else {
                let (line, next) = split_line(rest);
                parse_references_slowly(line, block);
                input = next;
            }
            continue;
        }
        let (line, next) = split_line(input);
        parse_line(line, radix, block);
        input = next;
    }
}

#[inline]
fn begin_object<S: RecordSink>(block: &mut Block<S>, id: u64, type_id: u64, bytes: u64) {
    let type_index = block.numbered_types.number_of(type_id, block.lines_so_far);
    block.has_letter_in_sizes |= has_hex_letter(bytes);
    block.objects.push_object(id, type_index, bytes, block.lines_so_far);
    block.note_first_record();
}

fn parse_references_slowly<S: RecordSink>(fields: &[u8], block: &mut Block<S>) {
    let mut rest = fields;
    loop {
        let (field, after) = split_field(rest);
        if field.is_empty() {
            return;
        }
        match hex_field(field) {
            Some(id) => block.objects.push_reference(id),
            None => block.diagnostics.add_on_line(&MALFORMED_REF, block.lines_so_far, field),
        }
        rest = after;
    }
}

/// The last line has no end: an end record is taken as whole, anything else may have lost part of its last number.
fn parse_unfinished_line<S: RecordSink>(line: &[u8], radix: SizeRadix, block: &mut Block<S>) {
    block.lines_so_far += 1;
    if is_blank_line(line) {
        return;
    }
    if split_field(line).0 == b"c" {
        parse_line(line, radix, block);
    } else {
        block.diagnostics.add_on_line(&TRUNCATED_LINE, block.lines_so_far, line);
    }
}

fn parse_line<S: RecordSink>(line: &[u8], radix: SizeRadix, block: &mut Block<S>) {
    if is_blank_line(line) {
        return;
    }
    let (letter, fields) = split_field(line);
    let done = match letter {
        b"o" => parse_object_line(fields, radix, block),
        b"t" => parse_type_line(fields, block),
        b"r" => parse_root_line(fields, block),
        b"a" => parse_begin_line(fields, block),
        b"c" => push_mark(MarkKind::End, trim(fields), block),
        _ => {
            block.diagnostics.add_on_line(&UNKNOWN_RECORD, block.lines_so_far, line);
            return;
        }
    };
    if done.is_none() {
        block.diagnostics.add_on_line(&MALFORMED_RECORD, block.lines_so_far, line);
    }
}

fn parse_object_line<S: RecordSink>(fields: &[u8], radix: SizeRadix, block: &mut Block<S>) -> Option<()> {
    let (head, references) = record::object_fields(fields, radix)?;
    begin_object(block, head.id, head.type_id, head.bytes);
    parse_references_slowly(references, block);
    Some(())
}

fn parse_type_line<S: RecordSink>(fields: &[u8], block: &mut Block<S>) -> Option<()> {
    let (id, name) = record::type_record(fields)?;
    let name = block.keep_name(name);
    block.type_lines.push(TypeLine { id, name, line: block.lines_so_far });
    block.note_first_record();
    Some(())
}

fn parse_root_line<S: RecordSink>(fields: &[u8], block: &mut Block<S>) -> Option<()> {
    let root = record::root_record(fields)?;
    block.roots.push((root, block.lines_so_far));
    block.note_first_record();
    Some(())
}

fn parse_begin_line<S: RecordSink>(fields: &[u8], block: &mut Block<S>) -> Option<()> {
    let (version, name) = record::app_domain(fields)?;
    push_mark(MarkKind::Begin { version }, name, block)
}

fn push_mark<S: RecordSink>(kind: MarkKind, name: &[u8], block: &mut Block<S>) -> Option<()> {
    let before = block.list_lengths();
    let name = block.keep_name(name);
    block.section_marks.push(SectionMark { kind, name, line: block.lines_so_far, lengths_before: before });
    block.first_record_lines.push(None);
    block.numbered_types.begin_part();
    Some(())
}
