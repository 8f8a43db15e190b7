//! One block of lines: objects into columns, everything else into lists. Any thread, in any order.

use rustc_hash::FxHashMap;

use super::codes::*;
use super::record::{ObjectLine, OtherLine, TypeKey};
use crate::graph::Holding;
use crate::input::blocks::{Batch, BlockPlace};
use crate::input::codes::PADDING;
use crate::input::json_lines::{Malformed, RawValue, ids, unescaped};
use crate::input::sink::RecordSink;
use crate::input::text::{is_blank, split_line};
use crate::input::{Diagnostics, Position};

/// Counts of what a block has up to the start of a section.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ends {
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
    pub(super) within: Option<TypeKey>,
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
    by_number: FxHashMap<u64, u32>,
    by_name: FxHashMap<Box<[u8]>, u32>,
    /// The type of objects that have none.
    no_type: Option<u32>,
    pub(super) roots: Vec<RootLine>,
    /// Those that were read, kept or not.
    pub(super) root_lines: u64,
    /// Records that are few.
    pub(super) others: Vec<(Box<OtherLine>, u64)>,
    /// Starts of sections: what comes before each, and its record.
    pub(super) sections: Vec<(Ends, Box<OtherLine>)>,
    /// (from, to, how).
    pub(super) soft: Vec<(u64, u64, Holding)>,
    /// (object of the block, the type whose class it is).
    pub(super) classes: Vec<(usize, TypeKey)>,
    pub(super) lines: u64,
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
        self.others.clear();
        self.sections.clear();
        self.soft.clear();
        self.classes.clear();
        (self.root_lines, self.lines, self.is_cut) = (0, 0, false);
        self.diagnostics = Diagnostics::default();
    }

    fn forget_types(&mut self) {
        self.by_number.clear();
        self.by_name.clear();
        self.no_type = None;
    }

    pub(super) fn ends(&self) -> Ends {
        Ends {
            objects: self.objects.object_count(),
            types: self.types.len(),
            others: self.others.len(),
            roots: self.roots.len(),
            soft: self.soft.len(),
            classes: self.classes.len(),
        }
    }

    /// The block's number of a type. `None` for a value that names none.
    fn type_number(&mut self, value: Option<RawValue<'_>>) -> Option<u32> {
        let next = self.types.len() as u32;
        let key = match value {
            Some(RawValue::Text(name)) => {
                if let Some(&number) = self.by_name.get(name) {
                    return Some(number);
                }
                self.by_name.insert(name.into(), next);
                type_key(RawValue::Text(name))?
            }
            Some(value) => {
                let number = value.number()?;
                if let Some(&known) = self.by_number.get(&number) {
                    return Some(known);
                }
                self.by_number.insert(number, next);
                TypeKey::Number(number)
            }
            None if self.no_type.is_some() => return self.no_type,
            None => {
                self.no_type = Some(next);
                TypeKey::Name("(unknown)".into())
            }
        };
        self.types.push((key, self.lines));
        Some(next)
    }
}

impl<S: RecordSink> Batch for Block<S> {
    fn memory_bytes(&self) -> usize {
        self.objects.memory_bytes()
            + 2 * self.types.capacity() * size_of::<(TypeKey, u64)>()
            + self.roots.capacity() * size_of::<RootLine>()
            + self.others.len() * size_of::<OtherLine>()
            + self.sections.len() * size_of::<OtherLine>()
            + self.soft.capacity() * size_of::<(u64, u64, Holding)>()
            + self.classes.capacity() * size_of::<(usize, TypeKey)>()
    }
}

/// Reads all lines of a block.
pub(super) fn parse_block<S: RecordSink>(text: &[u8], place: BlockPlace, block: &mut Block<S>) {
    block.clear();
    let mut rest = text;
    while !rest.is_empty() {
        let (line, behind) = split_line(rest);
        let is_cut = place.is_last && behind.is_empty() && !rest.ends_with(b"\n");
        rest = behind;
        block.lines += 1;
        if let Err(Malformed) = parse_line(line, block)
            && !line.iter().all(|&byte| is_blank(byte) || byte == 0)
        {
            block.is_cut |= is_cut;
            let code = if is_cut { &TRUNCATED_LINE } else { &MALFORMED_LINE };
            block.diagnostics.on_line(code, block.lines, line);
        }
    }
    let at = Position::Line(block.lines.max(1));
    block.diagnostics.add(&PADDING, place.padding_bytes.min(1), at, || format!("{} bytes", place.padding_bytes));
    block.objects.seal();
}

fn parse_line<S: RecordSink>(line: &[u8], block: &mut Block<S>) -> Result<(), Malformed> {
    let object = ObjectLine::of_line(line)?;
    let is_read = if object.id.is_some() { take_object(&object, block) } else { take_other(line, block) };
    if is_read.is_none() {
        block.diagnostics.on_line(&MALFORMED_RECORD, block.lines, line);
    }
    Ok(())
}

fn take_object<S: RecordSink>(object: &ObjectLine<'_>, block: &mut Block<S>) -> Option<()> {
    let id = object.id?.id()?;
    let bytes = match object.size {
        Some(size) => size.number()?,
        None => {
            block.diagnostics.on_line(&MISSING_SIZE, block.lines, b"");
            0
        }
    };
    let number = block.type_number(object.type_name)?;
    if let Some(key) = object.class_of {
        block.classes.push((block.objects.object_count(), type_key(key)?));
    }
    block.objects.push_object(id, number, bytes, block.lines);
    if object.weak.is_empty() && object.soft.is_empty() && object.finalized.is_empty() {
        for target in ids(object.refs) {
            match target {
                Some(target) => block.objects.push_reference(target),
                None => drop_reference(block),
            }
        }
        return Some(());
    }
    let [weak, soft, finalized] = [object.weak, object.soft, object.finalized].map(places);
    for (place, target) in ids(object.refs).enumerate() {
        let is_in = |places: &[u64]| places.binary_search(&(place as u64)).is_ok();
        let Some(target) = target else {
            drop_reference(block);
            continue;
        };
        if is_in(&weak) {
            block.objects.push_weak_reference(target);
            continue;
        }
        block.objects.push_reference(target);
        let how = is_in(&soft).then_some(Holding::Soft).or_else(|| is_in(&finalized).then_some(Holding::Final));
        block.soft.extend(how.map(|how| (id, target, how)));
    }
    Some(())
}

fn drop_reference<S: RecordSink>(block: &mut Block<S>) {
    block.diagnostics.on_line(&MALFORMED_REF, block.lines, b"");
}

/// Numbers of an array, ascending.
fn places(array: &[u8]) -> Vec<u64> {
    let mut places: Vec<u64> = ids(array).flatten().collect();
    places.sort_unstable();
    places
}

fn type_key(value: RawValue<'_>) -> Option<TypeKey> {
    match value {
        RawValue::Text(name) => Some(TypeKey::Name(unescaped(name).into_owned())),
        value => value.number().map(TypeKey::Number),
    }
}

fn take_other<S: RecordSink>(line: &[u8], block: &mut Block<S>) -> Option<()> {
    let mut other: OtherLine = serde_json::from_slice(line).ok()?;
    if other.section.is_some() {
        block.sections.push((block.ends(), Box::new(other)));
        block.forget_types();
        return Some(());
    }
    let root = other.root.filter(|_| other.heapgraph.is_none());
    block.root_lines += u64::from(root.is_some());
    match root {
        Some(id) if S::BUILDS_GRAPH => block.roots.push(RootLine {
            id: id.0,
            kind: other.kind.take().map(Into::into),
            name: other.name.take().map(Into::into),
            flags: std::mem::take(&mut other.flags).into(),
            within: other.within.take(),
            thread: other.thread,
            frame: other.frame,
            line: block.lines,
        }),
        Some(_) => {}
        None => block.others.push((Box::new(other), block.lines)),
    }
    Some(())
}
