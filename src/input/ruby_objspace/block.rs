//! One block of lines: objects into columns, classes and roots into small lists. Any thread, in any order.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::problem_codes::*;
use crate::graph::RootKind;
use crate::input::Diagnostics;
use crate::input::blocks::{ParsedBlockContent, TextBlockContext};
use crate::input::json_lines::{JsonFields, LineCodes, MalformedLine, RawValue, ids, parse_lines};
use crate::input::sink::RecordSink;
use crate::input::text::decimal_field;

/// The name of a type as far as one line tells it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum TypeKey {
    /// The class at an address.
    Class(u64),
    /// The same, of data of an extension or of the virtual machine, which has a structure's name.
    DataStructure(u64, Box<[u8]>),
    /// A name that needs no class.
    Name(Box<[u8]>),
}

/// The line of a class or module.
#[derive(Debug)]
pub(super) struct ClassLine {
    pub(super) address: u64,
    /// In the block's text; none of a nameless one.
    pub(super) name: Option<Range<usize>>,
    pub(super) superclass: Option<u64>,
    /// The number of its object in the block.
    pub(super) object: usize,
}

/// The content of one block. Reused from block to block.
#[derive(Debug, Default)]
pub(super) struct Block<S> {
    pub(super) objects: S,
    /// Types in order of first mention, with the line of it.
    pub(super) types: Vec<(TypeKey, u64)>,
    type_numbers: FxHashMap<TypeKey, u32>,
    pub(super) classes: Vec<ClassLine>,
    pub(super) name_bytes: Vec<u8>,
    /// (object, kind, line).
    pub(super) roots: Vec<(u64, RootKind, u64)>,
    pub(super) root_lines: u64,
    /// References that lead nowhere as often as not: (from, to, line).
    pub(super) uncertain_references: Vec<(u64, u64, u64)>,
    pub(super) shapes: u64,
    pub(super) lines_so_far: u64,
    /// The input ends within its last line.
    pub(super) is_cut: bool,
    pub(super) diagnostics: Diagnostics,
    /// References to classes among those of the objects.
    pub(super) class_references: u64,
}

impl<S: RecordSink> Block<S> {
    fn clear(&mut self) {
        self.objects.clear();
        self.types.clear();
        self.type_numbers.clear();
        self.classes.clear();
        self.name_bytes.clear();
        self.roots.clear();
        self.uncertain_references.clear();
        (self.root_lines, self.class_references, self.shapes, self.lines_so_far) = (0, 0, 0, 0);
        self.is_cut = false;
        self.diagnostics = Diagnostics::default();
    }

    fn type_number(&mut self, key: TypeKey) -> u32 {
        let next = self.types.len() as u32;
        let (types, line) = (&mut self.types, self.lines_so_far);
        *self.type_numbers.entry(key).or_insert_with_key(|key| {
            types.push((key.clone(), line));
            next
        })
    }
}

impl<S: RecordSink> ParsedBlockContent for Block<S> {
    fn memory_bytes(&self) -> usize {
        self.objects.memory_bytes()
            + 2 * self.types.capacity() * size_of::<(TypeKey, u64)>()
            + self.classes.capacity() * size_of::<ClassLine>()
            + self.name_bytes.capacity()
            + self.roots.capacity() * size_of::<(u64, RootKind, u64)>()
            + self.uncertain_references.capacity() * size_of::<(u64, u64, u64)>()
    }
}

/// Reads all lines of a block.
pub(super) fn parse_block<S: RecordSink>(text: &[u8], place: TextBlockContext, block: &mut Block<S>) {
    block.clear();
    let codes = LineCodes { malformed: &MALFORMED_LINE, truncated: &TRUNCATED_LINE };
    let (lines, is_cut, mut problems) = parse_lines(text, place, &codes, |number, line| {
        block.lines_so_far = number;
        parse_line(line, block)
    });
    (block.lines_so_far, block.is_cut) = (lines, is_cut);
    block.diagnostics.merge_block(&mut problems, 0);
    block.objects.seal();
}

/// The fields of a line that are read. Of a key that comes twice the last counts.
#[derive(Default)]
pub(super) struct LineRecord<'a> {
    address: Option<u64>,
    /// The word under `type`: `STRING`, `CLASS`, `ROOT`.
    pub(super) kind: &'a [u8],
    class_address: Option<u64>,
    pub(super) references: &'a [u8],
    memsize: Option<&'a [u8]>,
    name: Option<&'a [u8]>,
    pub(super) superclass: Option<u64>,
    structure: Option<&'a [u8]>,
    imemo_type: Option<&'a [u8]>,
    root_category: Option<&'a [u8]>,
    pub(super) text: Option<&'a [u8]>,
    /// Elements of an array.
    pub(super) length: Option<u64>,
    /// The shape of an object, or the number of the shape that the line describes.
    pub(super) shape_id: Option<u64>,
    pub(super) parent_shape_id: Option<u64>,
    pub(super) edge_name: Option<&'a [u8]>,
    pub(super) allocation_file: Option<&'a [u8]>,
    pub(super) allocation_line: Option<u64>,
    pub(super) allocating_method: Option<&'a [u8]>,
    pub(super) allocation_generation: Option<u64>,
}

impl<'a> LineRecord<'a> {
    pub(super) fn of_line(line: &'a [u8]) -> Result<Self, MalformedLine> {
        let mut record = LineRecord::default();
        let mut fields = JsonFields::of_line(line)?;
        while let Some((key, value)) = fields.next_field()? {
            match (key, value) {
                (b"address", value) => record.address = value.id(),
                (b"type", RawValue::Text(text)) => record.kind = text,
                (b"class", value) => record.class_address = value.id(),
                (b"references", RawValue::Array(array)) => record.references = array,
                (b"memsize", RawValue::Other(number)) => record.memsize = Some(number),
                (b"name", value) => record.name = value.text(),
                (b"superclass", value) => record.superclass = value.id(),
                (b"struct", value) => record.structure = value.text(),
                (b"imemo_type", value) => record.imemo_type = value.text(),
                (b"root", value) => record.root_category = value.text(),
                (b"value", value) => record.text = value.text(),
                (b"length", value) => record.length = value.number(),
                (b"id" | b"shape_id", value) => record.shape_id = value.number(),
                (b"parent_id", value) => record.parent_shape_id = value.number(),
                (b"edge_name", value) => record.edge_name = value.text(),
                (b"file", value) => record.allocation_file = value.text(),
                (b"line", value) => record.allocation_line = value.number(),
                (b"method", value) => record.allocating_method = value.text(),
                (b"generation", value) => record.allocation_generation = value.number(),
                _ => {}
            }
        }
        Ok(record)
    }
}

fn parse_line<S: RecordSink>(line: &[u8], block: &mut Block<S>) -> Result<(), MalformedLine> {
    let record = LineRecord::of_line(line)?;
    match record.kind {
        b"ROOT" => take_root(&record, block),
        b"SHAPE" => block.shapes += 1,
        _ => {
            if take_object(&record, block).is_none() {
                block.diagnostics.add_on_line(&MALFORMED_RECORD, block.lines_so_far, line);
            }
        }
    }
    Ok(())
}

/// Kinds of the categories that Ruby writes (3.1 and 4.0).
fn root_kind_of_category(category: &[u8]) -> Option<RootKind> {
    Some(match category {
        b"vm" => RootKind::VmInternal,
        b"machine_context" => RootKind::NativeStack,
        b"global_tbl" => RootKind::Static,
        b"global_list" => RootKind::Handle,
        b"global_symbols" | b"symbols" => RootKind::InternedString,
        b"finalizers" | b"end_proc" => RootKind::Finalizer,
        _ => return None,
    })
}

fn take_root<S: RecordSink>(record: &LineRecord<'_>, block: &mut Block<S>) {
    block.root_lines += 1;
    let category = record.root_category.unwrap_or_default();
    let kind = root_kind_of_category(category).unwrap_or_else(|| {
        block.diagnostics.add_on_line(&UNKNOWN_ROOT_CATEGORY, block.lines_so_far, category);
        RootKind::Unknown
    });
    for id in ids(record.references) {
        match id {
            Some(id) => block.roots.push((id, kind, block.lines_so_far)),
            None => block.diagnostics.add_on_line(&MALFORMED_REF, block.lines_so_far, b""),
        }
    }
}

fn take_object<S: RecordSink>(record: &LineRecord<'_>, block: &mut Block<S>) -> Option<()> {
    let address = record.address?;
    let bytes = record.memsize.map_or(Some(0), decimal_field)?;
    let key = match (record.kind, record.class_address) {
        (b"", _) => return None,
        (b"IMEMO", _) => TypeKey::Name([b"imemo:", record.imemo_type.unwrap_or(b"unknown")].concat().into()),
        (b"CLASS" | b"MODULE" | b"ICLASS", _) => TypeKey::Name(record.kind.into()),
        (b"DATA", Some(class)) if record.structure.is_some() => {
            TypeKey::DataStructure(class, record.structure.unwrap_or_default().into())
        }
        (_, Some(class)) => TypeKey::Class(class),
        (kind, None) => {
            let name = record.structure.map_or_else(|| kind.to_ascii_lowercase(), <[u8]>::to_vec);
            TypeKey::Name([b"(hidden ".as_slice(), &name, b")"].concat().into())
        }
    };
    let number = block.type_number(key);
    if matches!(record.kind, b"CLASS" | b"MODULE" | b"ICLASS") {
        let name = record.name.map(|name| {
            let start = block.name_bytes.len();
            block.name_bytes.extend_from_slice(name);
            start..block.name_bytes.len()
        });
        // Ruby 2.7 writes no `superclass`: a class refers to it last.
        let last = || ids(record.references).last().flatten().filter(|_| record.name.is_none());
        let (superclass, object) = (record.superclass.or_else(last), block.objects.object_count());
        block.classes.push(ClassLine { address, name, superclass, object });
    }
    block.objects.push_object(address, number, bytes, block.lines_so_far);
    for id in ids(record.references) {
        match id {
            Some(id) => block.objects.push_reference(id),
            None => block.diagnostics.add_on_line(&MALFORMED_REF, block.lines_so_far, b""),
        }
    }
    match record.class_address {
        // An internal object's `class` may be a cached value, an owner, or what is gone.
        Some(class) if record.kind == b"IMEMO" => block.uncertain_references.push((address, class, block.lines_so_far)),
        // `references` leaves an object's own class out.
        Some(class) => {
            block.objects.push_reference(class);
            block.class_references += 1;
        }
        None => {}
    }
    Some(())
}
