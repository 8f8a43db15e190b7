//! One block of lines: objects into columns, everything else into lists. Any thread, in any order.

use rustc_hash::FxHashMap;
use serde::de::IgnoredAny;

use super::problem_codes::*;
use super::record::{NonObjectLine, ObjectLine, TypeKey};
use crate::graph::ClearableKind;
use crate::input::blocks::{ParsedBlockContent, TextBlockContext};
use crate::input::diagnostics::excerpt;
use crate::input::json_lines::{
    JsonField, JsonFields, LineCodes, MalformedLine, RawValue, array_elements, ids, parse_lines, unescaped,
};
use crate::input::sink::RecordSink;
use crate::input::{Diagnostics, Position, ProblemCode};

/// Counts of what a block has up to the start of a section.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ListLengths {
    pub(super) objects: usize,
    pub(super) types: usize,
    pub(super) others: usize,
    pub(super) roots: usize,
    pub(super) soft: usize,
    pub(super) classes: usize,
}

/// A root's line.
#[derive(Debug)]
pub(super) struct RootLine {
    pub(super) id: u64,
    pub(super) kind: Option<Box<str>>,
    pub(super) name: Option<Box<str>>,
    pub(super) flags: Box<[String]>,
    pub(super) container_type: Option<TypeKey>,
    pub(super) thread: Option<u32>,
    pub(super) frame: Option<u32>,
    pub(super) line: u64,
}

/// The content of one block. Reused from block to block.
#[derive(Debug, Default)]
pub(super) struct Block<S> {
    pub(super) objects: S,
    /// Types in order of first mention in their section, with the line of it.
    pub(super) types: Vec<(TypeKey, u64)>,
    type_by_number: FxHashMap<u64, u32>,
    type_by_name: FxHashMap<Box<[u8]>, u32>,
    /// The type of objects that have none.
    untyped_number: Option<u32>,
    pub(super) roots: Vec<RootLine>,
    /// Those that were read, kept or not.
    pub(super) root_lines: u64,
    /// Records that are few.
    pub(super) other_lines: Vec<(Box<NonObjectLine>, u64)>,
    /// Starts of sections: what comes before each, and its record.
    pub(super) sections: Vec<(ListLengths, Box<NonObjectLine>)>,
    /// (from, to, how).
    pub(super) soft_references: Vec<(u64, u64, ClearableKind)>,
    /// (object of the block, the type whose class it is, line).
    pub(super) classes: Vec<(usize, TypeKey, u64)>,
    pub(super) lines_so_far: u64,
    /// Lines that are records.
    pub(super) records: u64,
    /// The first `end` record: how many records there are up to it, and its line.
    pub(super) end_record: Option<(u64, u64)>,
    /// The input ends within its last line.
    pub(super) is_cut: bool,
    pub(super) diagnostics: Diagnostics,
}

impl<S: RecordSink> Block<S> {
    fn clear(&mut self) {
        self.objects.clear();
        self.types.clear();
        self.forget_types();
        self.roots.clear();
        self.other_lines.clear();
        self.sections.clear();
        self.soft_references.clear();
        self.classes.clear();
        (self.root_lines, self.lines_so_far, self.records, self.end_record, self.is_cut) = (0, 0, 0, None, false);
        self.diagnostics = Diagnostics::default();
    }

    fn forget_types(&mut self) {
        self.type_by_number.clear();
        self.type_by_name.clear();
        self.untyped_number = None;
    }

    pub(super) fn list_lengths(&self) -> ListLengths {
        ListLengths {
            objects: self.objects.object_count(),
            types: self.types.len(),
            others: self.other_lines.len(),
            roots: self.roots.len(),
            soft: self.soft_references.len(),
            classes: self.classes.len(),
        }
    }

    /// The block's number of a type. `None` for a value that names none.
    fn type_number(&mut self, value: Option<RawValue<'_>>) -> Option<u32> {
        let next = self.types.len() as u32;
        let key = match value {
            Some(RawValue::Text(name)) => {
                if let Some(&number) = self.type_by_name.get(name) {
                    return Some(number);
                }
                self.type_by_name.insert(name.into(), next);
                type_key(RawValue::Text(name))?
            }
            Some(value) => {
                let number = value.number()?;
                if let Some(&known) = self.type_by_number.get(&number) {
                    return Some(known);
                }
                self.type_by_number.insert(number, next);
                TypeKey::Number(number)
            }
            None if self.untyped_number.is_some() => return self.untyped_number,
            None => {
                self.untyped_number = Some(next);
                TypeKey::Name("(unknown)".into())
            }
        };
        self.types.push((key, self.lines_so_far));
        Some(next)
    }
}

impl<S: RecordSink> ParsedBlockContent for Block<S> {
    fn memory_bytes(&self) -> usize {
        self.objects.memory_bytes()
            + 2 * self.types.capacity() * size_of::<(TypeKey, u64)>()
            + self.roots.capacity() * size_of::<RootLine>()
            + self.other_lines.len() * size_of::<NonObjectLine>()
            + self.sections.len() * size_of::<NonObjectLine>()
            + self.soft_references.capacity() * size_of::<(u64, u64, ClearableKind)>()
            + self.classes.capacity() * size_of::<(usize, TypeKey, u64)>()
    }
}

/// Reads all lines of a block.
/// `is_strict`: objects are JSON in every part, and have no key that is not known or comes twice, nor a name that is no text.
pub(super) fn parse_block<S: RecordSink>(text: &[u8], place: TextBlockContext, is_strict: bool, block: &mut Block<S>) {
    block.clear();
    let codes = LineCodes { malformed: &MALFORMED_LINE, truncated: &TRUNCATED_LINE };
    let (lines, is_cut, mut problems) = parse_lines(text, place, &codes, |number, line| {
        block.lines_so_far = number;
        parse_line(line, is_strict, block)
    });
    (block.lines_so_far, block.is_cut) = (lines, is_cut);
    block.diagnostics.merge_block(&mut problems, 0);
    block.objects.seal();
}

fn parse_line<S: RecordSink>(line: &[u8], is_strict: bool, block: &mut Block<S>) -> Result<(), MalformedLine> {
    let object = ObjectLine::of_line(line)?;
    if is_strict && let Some(field) = repeated_field(line)? {
        add_field_problem(block, &REPEATED_KEY, field);
    }
    let wrong = if object.id.is_some() {
        if is_strict {
            let text = std::str::from_utf8(line).map_err(|_| MalformedLine)?;
            serde_json::from_str::<IgnoredAny>(text).map_err(|_| MalformedLine)?;
        }
        take_object(&object, is_strict, block)
    } else {
        take_non_object_line(line, block)
    };
    block.records += 1;
    if let Err(wrong) = wrong {
        match wrong {
            Some(field) => add_field_problem(block, &MALFORMED_RECORD, field),
            None => block.diagnostics.add_on_line(&MALFORMED_RECORD, block.lines_so_far, line),
        }
    }
    Ok(())
}

/// The first field in the order of keys whose key the line has before.
fn repeated_field(line: &[u8]) -> Result<Option<JsonField<'_>>, MalformedLine> {
    let (mut fields, mut all) = (JsonFields::of_line(line)?, Vec::new());
    while let Some(field) = fields.next_field()? {
        all.push(field);
    }
    all.sort_by_key(|&(key, _)| key);
    Ok(all.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1]))
}

/// A problem with the value of a key.
fn add_field_problem<S: RecordSink>(block: &mut Block<S>, code: &'static ProblemCode, (key, value): JsonField<'_>) {
    let at = Position::Line(block.lines_so_far);
    block.diagnostics.add(code, 1, at, || format!("key {}: {}", excerpt(key), excerpt(&value.json())));
}

/// Error: the key for which the record is skipped.
fn take_object<'l, S: RecordSink>(
    object: &ObjectLine<'l>,
    is_strict: bool,
    block: &mut Block<S>,
) -> Result<(), Option<JsonField<'l>>> {
    let value = object.id.ok_or(None)?;
    let id = value.id().filter(|&id| id > 0).ok_or(Some((&b"id"[..], value)))?;
    let bytes = match object.size {
        Some(size) => size.number().unwrap_or_else(|| {
            add_field_problem(block, &MALFORMED_KEY, (b"size", size));
            0
        }),
        None => {
            block.diagnostics.add_on_line(&MISSING_SIZE, block.lines_so_far, b"");
            0
        }
    };
    let number = block.type_number(object.type_key);
    let number = number.ok_or_else(|| object.type_key.map(|value| (&b"type"[..], value)))?;
    if let Some(value) = object.class_of {
        match type_key(value) {
            Some(key) => block.classes.push((block.objects.object_count(), key, block.lines_so_far)),
            None => add_field_problem(block, &MALFORMED_KEY, (b"class_of", value)),
        }
    }
    let unknown = object.unknown_field.filter(|_| is_strict);
    for (code, field) in
        [(&MALFORMED_KEY, object.wrong_kind_field), (&MIXED_RECORD, object.other_record_field), (&UNKNOWN_KEY, unknown)]
    {
        if let Some(field) = field {
            add_field_problem(block, code, field);
        }
    }
    block.objects.push_object(id, number, bytes, block.lines_so_far);
    let marked = [(&b"weak"[..], object.weak_places), (b"soft", object.soft_places), (b"final", object.final_places)];
    let count = match marked.iter().all(|(_, places)| places.is_empty()) {
        true => push_references(object.refs, block),
        false => push_marked_references(id, object.refs, marked, block),
    };
    if is_strict {
        let is_name = |value: RawValue<'_>| value.text().is_some() || value == RawValue::Other(b"null");
        if !array_elements(object.reference_names).all(is_name)
            || array_elements(object.reference_names).count() as u64 > count
        {
            add_field_problem(block, &MALFORMED_KEY, (b"names", RawValue::Array(object.reference_names)));
        }
    }
    Ok(())
}

/// Returns how many there are, with those that are no id.
fn push_references<S: RecordSink>(refs: &[u8], block: &mut Block<S>) -> u64 {
    let mut count = 0;
    for target in ids(refs) {
        count += 1;
        match target {
            Some(target) => block.objects.push_reference(target),
            None => block.diagnostics.add_on_line(&MALFORMED_REF, block.lines_so_far, b""),
        }
    }
    count
}

/// The same of an object with references that are weak, soft, and final: three keys with their places.
fn push_marked_references<S: RecordSink>(
    id: u64,
    refs: &[u8],
    marked: [(&[u8], &[u8]); 3],
    block: &mut Block<S>,
) -> u64 {
    let [weak, soft, finalized] = marked.map(|(_, array)| sorted_places(array));
    let mut count = 0;
    for (place, target) in (0..).zip(ids(refs)) {
        count = place + 1;
        let is_in = |places: &[u64]| places.binary_search(&place).is_ok();
        let Some(target) = target else {
            block.diagnostics.add_on_line(&MALFORMED_REF, block.lines_so_far, b"");
            continue;
        };
        if is_in(&weak) {
            block.objects.push_weak_reference(target);
            continue;
        }
        block.objects.push_reference(target);
        let how =
            is_in(&soft).then_some(ClearableKind::Soft).or_else(|| is_in(&finalized).then_some(ClearableKind::Final));
        block.soft_references.extend(how.map(|how| (id, target, how)));
    }
    for ((key, array), places) in marked.into_iter().zip([weak, soft, finalized]) {
        if places.last().is_some_and(|&last| last >= count) {
            add_field_problem(block, &MALFORMED_KEY, (key, RawValue::Array(array)));
        }
    }
    count
}

/// Numbers of an array, ascending; of what is no number the largest there is.
pub(super) fn sorted_places(array: &[u8]) -> Vec<u64> {
    let mut places: Vec<u64> = array_elements(array).map(|value| value.number().unwrap_or(u64::MAX)).collect();
    places.sort_unstable();
    places
}

fn type_key(value: RawValue<'_>) -> Option<TypeKey> {
    match value {
        RawValue::Text(name) => Some(TypeKey::Name(unescaped(name).into_owned())),
        value => value.number().map(TypeKey::Number),
    }
}

/// Error: the key for which the record is skipped, where it is one.
fn take_non_object_line<'l, S: RecordSink>(line: &'l [u8], block: &mut Block<S>) -> Result<(), Option<JsonField<'l>>> {
    let mut other = NonObjectLine::of_line(line)?;
    if other.is_mixed() {
        block.diagnostics.add_on_line(&MIXED_RECORD, block.lines_so_far, line);
    }
    let root = other.root.filter(|_| other.heapgraph.is_none());
    block.root_lines += u64::from(root.is_some());
    match root {
        Some(id) if S::BUILDS_GRAPH => block.roots.push(RootLine {
            id: id.0,
            kind: other.kind.take().map(Into::into),
            name: other.name.take().map(Into::into),
            flags: other.flags.take().unwrap_or_default().into(),
            container_type: other.container_type.take(),
            thread: other.thread,
            frame: other.frame,
            line: block.lines_so_far,
        }),
        Some(_) => {}
        None if other.section.is_some() && other.heapgraph.is_none() => {
            block.sections.push((block.list_lengths(), Box::new(other)));
            block.forget_types();
        }
        None => {
            if other.end == Some(true) {
                block.end_record.get_or_insert((block.records + 1, block.lines_so_far));
            }
            block.other_lines.push((Box::new(other), block.lines_so_far));
        }
    }
    Ok(())
}
