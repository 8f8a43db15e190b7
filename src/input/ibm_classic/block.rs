//! One block of a dump: records into columns. Any thread, in any order.
//!
//! The fast path takes records as the virtual machine writes them, one line for the head and one for the references.
//! Whatever it does not take goes word by word, where line ends mean nothing but for `//` lines, junk, and the names
//! of shape D.

use std::hash::{BuildHasher, Hasher};

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::problem_codes::*;
use super::record::{self, Breakdown, RecordWord, TrailerTotals};
use crate::input::blocks::{ParsedBlockContent, TextBlockContext};
use crate::input::java_types::is_array_name;
use crate::input::problem_codes::PADDING;
use crate::input::sink::RecordSink;
use crate::input::text::{is_blank, split_field, split_line, trim};
use crate::input::{Diagnostics, Position};

/// Junk lines before the first record that are kept by text: a version of several lines looks like junk.
const MAX_EARLY_LINES: usize = 16;
/// Bytes of the version, or of a junk line that may belong to it, that are kept.
const MAX_VERSION_BYTES: usize = 16 * 1024;
/// Number of `java/lang/Class` in every block's names.
const JAVA_LANG_CLASS_NUMBER: u32 = 0;
const TYPE_NAME_CACHE_SLOTS: usize = 4096;

/// Type names, numbered. Kept from block to block: the assembler asks only for what is new.
#[derive(Debug)]
pub(super) struct TypeNames {
    pub(super) names: Vec<Box<[u8]>>,
    are_arrays: Vec<bool>,
    numbers_by_hash: FxHashMap<u64, Vec<u32>>,
    /// Numbers of names met lately, by a hash of some of their bytes.
    cache: Vec<u32>,
    name_bytes: usize,
}

impl Default for TypeNames {
    fn default() -> Self {
        let mut names = TypeNames {
            names: Vec::new(),
            are_arrays: Vec::new(),
            numbers_by_hash: FxHashMap::default(),
            cache: vec![0; TYPE_NAME_CACHE_SLOTS],
            name_bytes: 0,
        };
        names.number_of(b"java/lang/Class");
        names
    }
}

impl TypeNames {
    #[inline]
    fn number_of(&mut self, name: &[u8]) -> u32 {
        // First and last eight bytes and the length tell nearly all names apart; the comparison makes it certain.
        let ends = match (name.first_chunk::<8>(), name.last_chunk::<8>()) {
            (Some(first), Some(last)) => u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(23),
            _ => name.iter().fold(0, |key, &byte| key << 8 | u64::from(byte)),
        };
        let slot = ((ends ^ name.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52) as usize;
        let cached = self.cache[slot];
        if self.names.get(cached as usize).is_some_and(|known| **known == *name) {
            return cached;
        }
        let number = self.find_or_add(name);
        self.cache[slot] = number;
        number
    }

    fn find_or_add(&mut self, name: &[u8]) -> u32 {
        let mut hasher = FxBuildHasher.build_hasher();
        hasher.write(name);
        let candidates = self.numbers_by_hash.entry(hasher.finish()).or_default();
        if let Some(&number) = candidates.iter().find(|&&number| *self.names[number as usize] == *name) {
            return number;
        }
        let number = self.names.len() as u32;
        candidates.push(number);
        self.name_bytes += name.len();
        self.names.push(name.into());
        self.are_arrays.push(is_array_name(name));
        number
    }

    fn memory_bytes(&self) -> usize {
        // In the list, in the map, and in a list of the map's.
        const NAME_BYTES: usize = 100;
        self.name_bytes + NAME_BYTES * self.names.len() + 4 * self.cache.len()
    }
}

impl<S: RecordSink> ParsedBlockContent for Block<S> {
    fn memory_bytes(&self) -> usize {
        self.objects.memory_bytes()
            + self.names.memory_bytes()
            + 4 * self.slots.capacity()
            + self.class_objects.capacity() * size_of::<(u32, u32)>()
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BlockCounts {
    pub(super) classes: u64,
    pub(super) arrays: u64,
    /// Records with `OBJ` or `CLS`, and without.
    pub(super) records_with_word: u64,
    pub(super) records_without_word: u64,
    /// References as printed, nulls included.
    pub(super) references: u64,
    pub(super) null_references: u64,
    /// Nulls in all digits among the references of objects (not classes), and nulls as `0x0` anywhere.
    pub(super) full_width_nulls: u64,
    pub(super) short_nulls: u64,
    /// Full nulls before the block's first record: whose they are only the block before knows.
    pub(super) leading_full_width_nulls: u64,
    pub(super) max_address_digits: usize,
}

/// A junk line that may belong to the version.
#[derive(Debug)]
pub(super) struct EarlyLine {
    pub(super) line: u64,
    pub(super) text: String,
    pub(super) is_after_version: bool,
}

/// The content of one block. Reused from block to block.
#[derive(Debug, Default)]
pub(super) struct Block<S> {
    pub(super) objects: S,
    pub(super) names: TypeNames,
    /// The builder's slot of each name, as far as the assembler has seen them.
    pub(super) slots: Vec<u32>,
    /// (object in the block, number of the class's name).
    pub(super) class_objects: Vec<(u32, u32)>,
    pub(super) counts: BlockCounts,
    pub(super) version: Option<String>,
    pub(super) early_lines: Vec<EarlyLine>,
    pub(super) breakdown: Option<(Breakdown, u64)>,
    pub(super) stated_totals: Option<(TrailerTotals, u64)>,
    pub(super) diagnostics: Diagnostics,
    pub(super) line_count: u64,
    /// Was no readable record open where the block ended, so that references that lead the next belong to nobody?
    /// `None`: as before the block.
    pub(super) ended_with_no_open_record: Option<bool>,
}

impl<S: RecordSink> Block<S> {
    fn clear(&mut self) {
        self.objects.clear();
        self.class_objects.clear();
        self.counts = BlockCounts::default();
        self.version = None;
        self.early_lines.clear();
        self.breakdown = None;
        self.stated_totals = None;
        self.diagnostics = Diagnostics::default();
        self.line_count = 0;
        self.ended_with_no_open_record = None;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReferenceOwner {
    /// The last record of the block before.
    PreviousBlock,
    Object,
    Class,
    /// Nobody: no record has begun, or the last one could not be read.
    NoOpenRecord,
}

struct Parser<'a, S> {
    text: &'a [u8],
    offset: usize,
    /// Line of `offset`, from 1.
    line: u64,
    /// Digits of an address in this block, 8 or 16; from its first record.
    address_digits: usize,
    reference_owner: ReferenceOwner,
    block: &'a mut Block<S>,
}

pub(super) fn parse_block<S: RecordSink>(text: &[u8], place: TextBlockContext, block: &mut Block<S>) {
    block.clear();
    let whole = if place.is_last { record::without_cut_word(text) } else { text };
    let reference_owner = if place.is_first { ReferenceOwner::NoOpenRecord } else { ReferenceOwner::PreviousBlock };
    let mut parser = Parser { text: whole, offset: 0, line: 1, address_digits: 16, reference_owner, block };
    parser.run();
    let lines = parser.line;
    let ended_without_owner = match parser.reference_owner {
        ReferenceOwner::NoOpenRecord => Some(true),
        ReferenceOwner::Object | ReferenceOwner::Class => Some(false),
        ReferenceOwner::PreviousBlock => None,
    };
    block.ended_with_no_open_record = ended_without_owner;
    if whole.len() < text.len() {
        block.diagnostics.add_on_line(&TRUNCATED_LINE, lines, &text[whole.len()..]);
    }
    block.line_count = if text.ends_with(b"\n") { lines - 1 } else { lines };
    let at = Position::Line(block.line_count.max(1));
    block
        .diagnostics
        .add(&PADDING, place.skipped_padding_bytes.min(1), at, || format!("{} bytes", place.skipped_padding_bytes));
    block.objects.seal();
}

impl<S: RecordSink> Parser<'_, S> {
    fn run(&mut self) {
        loop {
            self.skip_blanks();
            if !self.parse_record_fast() && !self.parse_references_fast() && !self.parse_word_slowly() {
                return;
            }
        }
    }

    /// Takes a record at the start of a line in the virtual machine's own spacing, with all references that follow so.
    fn parse_record_fast(&mut self) -> bool {
        let Ok((rest, head)) = record::head(&self.text[self.offset..], self.address_digits) else { return false };
        self.begin_record(head.address, self.address_digits, head.bytes, Some(head.word), head.type_name);
        self.line += 1;
        let mut input = rest;
        let (mut references, mut nulls) = (0, 0);
        // One line of references, or several where a copy was wrapped.
        while let [b'\t', rest @ ..] = input {
            input = rest;
            while let Ok((rest, id)) = record::reference(input, self.address_digits) {
                // The head of the next record on the line of the references, as in the published examples.
                if rest.first() == Some(&b'[') {
                    break;
                }
                self.block.objects.push_reference(id);
                references += 1;
                nulls += u64::from(id == 0);
                input = rest;
            }
            let ([b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..]) = input else { break };
            self.line += 1;
            input = rest;
        }
        let counts = &mut self.block.counts;
        counts.references += references;
        counts.null_references += nulls;
        if self.reference_owner == ReferenceOwner::Object {
            counts.full_width_nulls += nulls;
        }
        self.offset = self.text.len() - input.len();
        true
    }

    /// Takes references as the virtual machine writes them, where a block begins within a long line of them.
    fn parse_references_fast(&mut self) -> bool {
        let digits = self.address_digits;
        let before = self.offset;
        while let Ok((rest, id)) = record::reference(&self.text[self.offset..], digits) {
            if rest.first() == Some(&b'[') {
                break;
            }
            self.offset = self.text.len() - rest.len();
            self.add_reference(id, digits);
        }
        self.offset > before
    }

    /// Takes one word, or what it begins; false at the end of the block.
    fn parse_word_slowly(&mut self) -> bool {
        let rest = &self.text[self.offset..];
        let (word, after) = split_field(rest);
        if word.is_empty() {
            return false;
        }
        let mut before = self.text[..self.offset].iter().rev().take_while(|&&byte| byte != b'\n');
        let first_on_line = before.all(|&byte| is_blank(byte));
        if record::is_address_like(word) {
            self.parse_address_word(word, after);
        } else if word.starts_with(b"//") {
            self.parse_comment();
        } else if !first_on_line {
            self.block.diagnostics.add_on_line(&MALFORMED_REF, self.line, word);
            self.offset += word.len();
        } else {
            self.take_other_line(word);
        }
        true
    }

    fn skip_blanks(&mut self) {
        while let Some(&byte) = self.text.get(self.offset).filter(|&&byte| is_blank(byte)) {
            self.line += u64::from(byte == b'\n');
            self.offset += 1;
        }
    }

    fn skip_line(&mut self) {
        self.offset += split_line(&self.text[self.offset..]).0.len();
    }

    /// An address with a size behind it begins a record; any other is a reference.
    fn parse_address_word(&mut self, word: &[u8], after: &[u8]) {
        let (next, behind) = split_field(after);
        if next.first() != Some(&b'[') {
            match record::hex_word(word) {
                Some((id, digits)) => self.add_reference(id, digits),
                None => self.block.diagnostics.add_on_line(&MALFORMED_REF, self.line, word),
            }
            self.offset += word.len();
            return;
        }
        let head_line = self.line;
        let behind_at = self.text.len() - behind.len();
        let parsed = record::hex_word(word).zip(record::size_word(next)).zip(parse_head_name(behind));
        match parsed {
            Some((((address, digits), bytes), (kind, name, used))) => {
                self.address_digits = if digits > 8 { 16 } else { 8 };
                self.begin_record(address, digits, bytes, kind, name);
                let end = behind_at + used;
                self.line += count_newlines(&self.text[self.offset..end]);
                self.offset = end;
            }
            None => {
                self.reference_owner = ReferenceOwner::NoOpenRecord;
                let line = split_line(&self.text[self.offset..]).0;
                self.block.diagnostics.add_on_line(&MALFORMED_RECORD, head_line, line);
                self.line += count_newlines(&self.text[self.offset..behind_at]);
                self.offset = behind_at;
                self.skip_line();
            }
        }
    }

    fn begin_record(&mut self, address: u64, digits: usize, bytes: u64, word: Option<RecordWord>, name: &[u8]) {
        let number = self.block.names.number_of(name);
        let counts = &mut self.block.counts;
        counts.max_address_digits = counts.max_address_digits.max(digits);
        let class_name = match word {
            Some(RecordWord::Class) => Some(number),
            Some(RecordWord::Object) => None,
            None => name.strip_prefix(b"class ").map(|class| self.block.names.number_of(trim(class))),
        };
        let counts = &mut self.block.counts;
        *(if word.is_some() { &mut counts.records_with_word } else { &mut counts.records_without_word }) += 1;
        let type_index = match class_name {
            Some(class_name) => {
                counts.classes += 1;
                self.block.class_objects.push((self.block.objects.object_count() as u32, class_name));
                self.reference_owner = ReferenceOwner::Class;
                JAVA_LANG_CLASS_NUMBER
            }
            None => {
                counts.arrays += u64::from(self.block.names.are_arrays[number as usize]);
                self.reference_owner = ReferenceOwner::Object;
                number
            }
        };
        self.block.objects.push_object(address, type_index, bytes, self.line);
    }

    fn add_reference(&mut self, id: u64, digits: usize) {
        if self.reference_owner == ReferenceOwner::NoOpenRecord {
            self.block.diagnostics.add_on_line(&ORPHAN_REF, self.line, b"");
            return;
        }
        let counts = &mut self.block.counts;
        counts.references += 1;
        if id == 0 {
            counts.null_references += 1;
            match (digits, self.reference_owner) {
                (1, _) => counts.short_nulls += 1,
                (8 | 16, ReferenceOwner::Object) => counts.full_width_nulls += 1,
                (8 | 16, ReferenceOwner::PreviousBlock) => counts.leading_full_width_nulls += 1,
                _ => {}
            }
        }
        self.block.objects.push_reference(id);
    }

    /// A `//` line: the version, one of the two trailers, or a comment.
    fn parse_comment(&mut self) {
        let rest = &self.text[self.offset..];
        let used = if let Ok((after, breakdown)) = record::breakdown(rest) {
            self.block.breakdown = Some((breakdown, self.line));
            rest.len() - after.len()
        } else if let Ok((after, eof)) = record::trailer_totals(rest) {
            self.block.stated_totals = Some((eof, self.line));
            rest.len() - after.len()
        } else {
            let line = split_line(rest).0;
            if let (Some(version), None) = (record::version(line), &self.block.version) {
                self.block.version =
                    Some(String::from_utf8_lossy(&version[..version.len().min(MAX_VERSION_BYTES)]).into_owned());
            }
            line.len()
        };
        self.line += count_newlines(&rest[..used]);
        self.offset += used;
        self.reference_owner = ReferenceOwner::NoOpenRecord;
    }

    /// A line whose first word is neither an address nor `//`.
    fn take_other_line(&mut self, word: &[u8]) {
        let text = self.text;
        let line = split_line(&text[self.offset..]).0;
        if matches!(word, b"OBJ" | b"CLS") {
            self.block.diagnostics.add_on_line(&MALFORMED_RECORD, self.line, line);
            self.reference_owner = ReferenceOwner::NoOpenRecord;
        } else if self.block.objects.object_count() == 0 && self.block.early_lines.len() < MAX_EARLY_LINES {
            self.block.early_lines.push(EarlyLine {
                line: self.line,
                text: String::from_utf8_lossy(trim(&line[..line.len().min(MAX_VERSION_BYTES)])).into_owned(),
                is_after_version: self.block.version.is_some(),
            });
        } else {
            self.block.diagnostics.add_on_line(&JUNK_LINE, self.line, line);
        }
        self.skip_line();
    }
}

fn count_newlines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// Parses the text behind a size: `OBJ name` or `CLS name`, line ends allowed between, or (shape D) words up to the line end
/// or the next address. Gives the word, the name, and how much that took.
fn parse_head_name(text: &[u8]) -> Option<(Option<RecordWord>, &[u8], usize)> {
    let (first, after) = split_field(text);
    let word = match first {
        b"OBJ" => RecordWord::Object,
        b"CLS" => RecordWord::Class,
        _ => {
            // Not by finding the line's end first: many heads on one long line would each look for it.
            let mut end = 0;
            let mut rest = text;
            loop {
                let (word, after) = split_field(rest);
                let start = text.len() - after.len() - word.len();
                let is_next_line = memchr::memchr(b'\n', &text[end..start]).is_some();
                if word.is_empty() || is_next_line || record::is_address_like(word) {
                    break;
                }
                end = text.len() - after.len();
                rest = after;
            }
            let name = trim(&text[..end]);
            let complete = !matches!(name, b"" | b"class" | b"array of" | b"array");
            return complete.then_some((None, name, end));
        }
    };
    let (name, rest) = split_field(after);
    let complete = !name.is_empty() && !record::is_address_like(name) && !name.starts_with(b"//");
    complete.then_some((Some(word), name, text.len() - rest.len()))
}
