//! Single objects, read again when they are printed: values of fields, names of references, texts.
//!
//! Nothing is kept for an object. A table says which part of the file has objects of which ids: of a part's megabyte the
//! heads of sub-records are walked until the object is there.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::block::Extent;
use super::records::ClassDump;
use super::sub_bytes::{SubBytes, sub_bytes};
use super::wire::{OBJECT, element_bytes, id_of, sub, u32_at};
use crate::graph::{Column, ColumnSink, ColumnSource, FieldKind, HeapGraph, Lookup, NodeId};
use crate::input::{FieldValue, ObjectDetails, RandomAccess, ReadError, ReferenceName, Reread, Value};

/// A packed file of up to so many bytes is unpacked into memory when an object of it is asked for.
const MOST_UNPACKED_BYTES: usize = 1 << 30;

/// Where objects are in the file.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) id_bytes: usize,
    /// In the order of the file.
    pub(super) extents: Vec<Extent>,
    /// Class objects and the offsets of their class dumps, ascending by id.
    pub(super) classes: Vec<(u64, u64)>,
    /// The class object that the boot loader holds.
    pub(super) of_boot_loader: Option<u64>,
}

/// Reads objects of one dump again.
pub(super) struct HprofDetails {
    places: Places,
    reread: Reread,
    file: OnceLock<Option<File>>,
    /// The extent that was read last.
    last: Mutex<Option<(usize, Vec<u8>)>>,
    /// Of the object whose references were named last: their names, and whether these are all.
    names: Mutex<Option<(NodeId, Vec<ReferenceName>, bool)>>,
}

impl fmt::Debug for HprofDetails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HprofDetails").field("extents", &self.places.extents.len()).finish_non_exhaustive()
    }
}

enum File {
    ByPosition(RandomAccess),
    /// Unpacked.
    Whole(Vec<u8>),
}

/// An object's sub-record, as far as it was asked for.
struct SubRecord {
    tag: u8,
    /// From its tag on.
    bytes: Vec<u8>,
}

impl HprofDetails {
    pub(super) fn new(places: Places, reread: Reread) -> Self {
        HprofDetails { places, reread, file: OnceLock::new(), last: Mutex::new(None), names: Mutex::new(None) }
    }

    /// The details back from an index.
    pub(super) fn from_stored(columns: &dyn ColumnSource, reread: Reread) -> Option<Self> {
        let column = |name: &str| -> Option<Column<u64>> { Column::stored(columns, name, u64::MAX) };
        let (head, extents, classes) = (column("hprof.head")?, column("hprof.extents")?, column("hprof.classes")?);
        let &[id_bytes @ (4 | 8), has_boot, boot] = head.all() else { return None };
        let extents = extents.all().chunks_exact(4);
        let extents = extents.map(|n| Extent { offset: n[0], bytes: n[1], least: n[2], greatest: n[3] });
        let classes = classes.all().chunks_exact(2).map(|n| (n[0], n[1]));
        let places = Places {
            id_bytes: id_bytes as usize,
            extents: extents.collect(),
            classes: classes.collect(),
            of_boot_loader: (has_boot == 1).then_some(boot),
        };
        Some(Self::new(places, reread))
    }

    fn file(&self) -> Result<Option<&File>, ReadError> {
        if let Some(file) = self.file.get() {
            return Ok(file.as_ref());
        }
        let file = match self.reread.by_position()? {
            Some(file) => Some(File::ByPosition(file)),
            None => self.unpacked()?.map(File::Whole),
        };
        Ok(self.file.get_or_init(|| file).as_ref())
    }

    /// All bytes of a packed file; `None` where they are too many.
    fn unpacked(&self) -> Result<Option<Vec<u8>>, ReadError> {
        let mut source = self.reread.from_start()?;
        let mut bytes = Vec::new();
        loop {
            let start = bytes.len();
            bytes.resize(start + (1 << 20), 0);
            let got = source.fill(&mut bytes[start..])?;
            bytes.truncate(start + got);
            if got < 1 << 20 {
                return Ok(Some(bytes));
            }
            if bytes.len() >= MOST_UNPACKED_BYTES {
                return Ok(None);
            }
        }
    }

    /// Bytes of the file; fewer where it ends before. `None` for a file that cannot be read by position.
    fn read(&self, range: Range<u64>) -> Result<Option<Vec<u8>>, ReadError> {
        match self.file()? {
            None => Ok(None),
            Some(File::Whole(bytes)) => {
                let end = range.end.min(bytes.len() as u64);
                let start = range.start.min(end);
                Ok(Some(bytes[start as usize..end as usize].to_vec()))
            }
            Some(File::ByPosition(file)) => {
                let end = range.end.min(file.len());
                let mut bytes = vec![0; end.saturating_sub(range.start) as usize];
                file.read_at(range.start, &mut bytes)?;
                Ok(Some(bytes))
            }
        }
    }

    /// The object's sub-record, of its values or elements at most so many bytes.
    fn find(&self, id: u64, most_bytes: usize) -> Result<Option<SubRecord>, ReadError> {
        for (number, extent) in self.places.extents.iter().enumerate() {
            if id < extent.least || id > extent.greatest {
                continue;
            }
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.as_ref().is_none_or(|(cached, _)| *cached != number) {
                let Some(bytes) = self.read(extent.offset..extent.offset + extent.bytes)? else { return Ok(None) };
                *last = Some((number, bytes));
            }
            let Some((_, bytes)) = &*last else { return Ok(None) };
            let Some((at, length)) = find_in(bytes, id, self.places.id_bytes) else { continue };
            let tag = bytes[at];
            let wanted = length.min((9 + 2 * self.places.id_bytes + most_bytes) as u64);
            let offset = extent.offset + at as u64;
            let bytes = match bytes.get(at..at + wanted as usize) {
                Some(bytes) => bytes.to_vec(),
                // A large array, whose head alone is in the extent.
                None => match self.read(offset..offset + wanted)? {
                    Some(bytes) => bytes,
                    None => return Ok(None),
                },
            };
            return Ok(Some(SubRecord { tag, bytes }));
        }
        Ok(None)
    }

    fn class_dump(&self, id: u64) -> Result<Option<ClassDump>, ReadError> {
        let Ok(at) = self.places.classes.binary_search_by_key(&id, |class| class.0) else { return Ok(None) };
        let offset = self.places.classes[at].1;
        let mut wanted = 1 << 12;
        loop {
            let Some(bytes) = self.read(offset..offset + wanted)? else { return Ok(None) };
            if bytes.first() != Some(&sub::CLASS_DUMP) {
                return Ok(None);
            }
            match ClassDump::parse(&bytes[1..], self.places.id_bytes, offset) {
                Ok((_, dump)) => return Ok(Some(dump)),
                Err(nom::Err::Error(())) if bytes.len() as u64 == wanted && wanted < 1 << 23 => wanted *= 2,
                Err(_) => return Ok(None),
            }
        }
    }

    fn value(&self, graph: &HeapGraph, kind: FieldKind, bytes: &[u8], at: usize) -> Option<Value> {
        if kind == FieldKind::Reference {
            return id_of(bytes, at, self.places.id_bytes).map(|id| reference(graph, id));
        }
        let bytes = bytes.get(at..at + kind.bytes(0) as usize)?;
        let raw = bytes.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
        Some(primitive(kind, raw))
    }

    /// Fields of an instance with their values.
    fn instance_fields(&self, graph: &HeapGraph, node: NodeId, record: &SubRecord) -> Vec<FieldValue> {
        let types = graph.types();
        let mut at = 9 + 2 * self.places.id_bytes;
        let mut fields = Vec::new();
        for (declaring, field) in types.instance_fields(graph.type_of(node)) {
            let Some(value) = self.value(graph, field.kind, &record.bytes, at) else { break };
            fields.push(FieldValue { name: ReferenceName::Field(declaring, types.text(field.name).into()), value });
            at += field.kind.bytes(self.places.id_bytes as u32) as usize;
        }
        fields
    }

    /// Static variables of a class with their values.
    fn static_fields(&self, graph: &HeapGraph, node: NodeId, dump: &ClassDump) -> Vec<FieldValue> {
        let types = graph.types();
        let Some(class) = types.of_class_object(node) else { return Vec::new() };
        let names = types.fields(class).iter().filter(|field| field.is_static);
        let fields = dump.statics.iter().zip(names).map(|(one, field)| FieldValue {
            name: ReferenceName::StaticField(types.text(field.name).into()),
            value: match field.kind {
                FieldKind::Reference => reference(graph, one.value),
                kind => primitive(kind, one.value),
            },
        });
        fields.collect()
    }

    fn elements(&self, graph: &HeapGraph, record: &SubRecord, limit: usize) -> Vec<FieldValue> {
        let id_bytes = self.places.id_bytes;
        let Some(count) = u32_at(&record.bytes, 5 + id_bytes) else { return Vec::new() };
        let (kind, start) = if record.tag == sub::OBJECT_ARRAY {
            (FieldKind::Reference, 9 + 2 * id_bytes)
        } else {
            let Some(kind) = record.bytes.get(9 + id_bytes).and_then(|&basic_type| kind_of(basic_type)) else {
                return Vec::new();
            };
            (kind, 10 + id_bytes)
        };
        let width = kind.bytes(id_bytes as u32) as usize;
        let wanted = if limit == 0 { count as usize } else { limit.min(count as usize) };
        let element = |index: usize| {
            let value = self.value(graph, kind, &record.bytes, start + index * width)?;
            Some(FieldValue { name: ReferenceName::Element(index as u64), value })
        };
        (0..wanted).map_while(element).collect()
    }

    /// The names of what an object refers to by itself, in the order of the graph.
    fn own_names(&self, graph: &HeapGraph, from: NodeId, most: usize) -> Result<Vec<ReferenceName>, ReadError> {
        let id = graph.original_id(from);
        if let Some(dump) = self.class_dump(id)? {
            return Ok(self.class_names(graph, from, &dump));
        }
        let is_kept = |field: &FieldValue| matches!(field.value, Value::Object(_));
        let fields = match self.find(id, usize::MAX >> 1)? {
            Some(record) if record.tag == sub::INSTANCE => self.instance_fields(graph, from, &record),
            Some(record) if record.tag == sub::OBJECT_ARRAY => {
                // No more than it takes to come to the one that is asked for.
                let mut names = Vec::new();
                for field in self.elements(graph, &record, 0) {
                    if is_kept(&field) {
                        names.push(field.name);
                        if names.len() > most {
                            break;
                        }
                    }
                }
                return Ok(names);
            }
            _ => Vec::new(),
        };
        Ok(fields.into_iter().filter(is_kept).map(|field| field.name).collect())
    }

    /// As `class_references` lists them.
    fn class_names(&self, graph: &HeapGraph, node: NodeId, dump: &ClassDump) -> Vec<ReferenceName> {
        let constants = dump.constants.iter().enumerate();
        let constants = constants.map(|(index, _)| ReferenceName::Internal(format!("constant {index}")));
        let statics = self.static_fields(graph, node, dump).into_iter();
        let statics = statics.zip(dump.statics.iter()).filter(|(_, one)| one.basic_type == OBJECT);
        let names = [ReferenceName::Superclass, ReferenceName::Loader].into_iter();
        let names = names.chain(constants).chain(statics.map(|(field, _)| field.name)).chain([ReferenceName::Loader]);
        let statics = dump.statics.iter().filter(|one| one.basic_type == OBJECT).map(|one| one.value);
        let boot = self.places.of_boot_loader.filter(|&id| dump.loader == 0 && dump.id != id).unwrap_or(0);
        let ids = [dump.super_id, dump.loader].into_iter().chain(dump.constants.iter().copied());
        let ids = ids.chain(statics).chain([boot]);
        debug_assert_eq!(
            dump.class_references(self.places.of_boot_loader).count(),
            ids.clone().filter(|&id| id != 0).count()
        );
        names.zip(ids).filter(|&(_, id)| id != 0 && is_object(graph, id)).map(|(name, _)| name).collect()
    }
}

impl ObjectDetails for HprofDetails {
    fn fields(&self, graph: &HeapGraph, node: NodeId, limit: usize) -> Result<Vec<FieldValue>, ReadError> {
        let id = graph.original_id(node);
        if let Some(dump) = self.class_dump(id)? {
            let mut fields = self.static_fields(graph, node, &dump);
            fields.truncate(if limit == 0 { usize::MAX } else { limit });
            return Ok(fields);
        }
        let most_bytes = if limit == 0 { usize::MAX >> 1 } else { limit.saturating_mul(8).max(1 << 16) };
        Ok(match self.find(id, most_bytes)? {
            Some(record) if record.tag == sub::INSTANCE => {
                let mut fields = self.instance_fields(graph, node, &record);
                fields.truncate(if limit == 0 { usize::MAX } else { limit });
                fields
            }
            Some(record) if matches!(record.tag, sub::OBJECT_ARRAY | sub::PRIMITIVE_ARRAY) => {
                self.elements(graph, &record, limit)
            }
            _ => Vec::new(),
        })
    }

    fn reference_name(&self, graph: &HeapGraph, from: NodeId, nth: usize) -> Result<Option<ReferenceName>, ReadError> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let is_enough =
            |&(node, ref own, are_all): &(NodeId, Vec<_>, bool)| node == from && (are_all || nth < own.len());
        if !names.as_ref().is_some_and(is_enough) {
            // Some more than are asked for: the next ones will be.
            let most = nth.saturating_mul(2).max(1 << 12);
            let own = self.own_names(graph, from, most)?;
            let are_all = own.len() <= most;
            *names = Some((from, own, are_all));
        }
        let Some((_, own, _)) = &*names else { return Ok(None) };
        if let Some(name) = own.get(nth) {
            return Ok(Some(name.clone()));
        }
        let is_of_thread = |thread: crate::graph::ThreadId| graph.threads()[thread.index()].node == Some(from);
        let locals =
            graph.roots().iter().filter(|root| root.is_through_thread && root.thread.is_some_and(is_of_thread));
        if let Some(local) = locals.clone().nth(nth - own.len()) {
            return Ok(Some(ReferenceName::Local(local.frame)));
        }
        let others = own.len() + locals.count();
        Ok((nth == others && nth + 1 == graph.references(from).len()).then_some(ReferenceName::Class))
    }

    fn text(&self, graph: &HeapGraph, node: NodeId) -> Result<Option<String>, ReadError> {
        if graph.type_name(graph.type_of(node)) != "java.lang.String" {
            return Ok(None);
        }
        let fields = self.fields(graph, node, 0)?;
        let field = |wanted: &str| {
            fields.iter().find_map(|field| match &field.name {
                ReferenceName::Field(_, name) if name == wanted => Some(&field.value),
                _ => None,
            })
        };
        let number = |wanted: &str| match field(wanted) {
            Some(&Value::Integer(number)) => usize::try_from(number).ok(),
            _ => None,
        };
        let Some(&Value::Object(array)) = field("value") else { return Ok(None) };
        let Some(record) = self.find(graph.original_id(array), usize::MAX >> 1)? else { return Ok(None) };
        let start = 10 + self.places.id_bytes;
        let (Some(&basic_type), Some(values)) = (record.bytes.get(start - 1), record.bytes.get(start..)) else {
            return Ok(None);
        };
        let units: Vec<u16> = match (basic_type, number("coder")) {
            (8, Some(1)) => values.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect(),
            (8, _) => values.iter().map(|&byte| byte.into()).collect(),
            (5, _) => {
                let all = values.chunks_exact(2).map(|unit| u16::from_be_bytes([unit[0], unit[1]]));
                match (number("offset"), number("count")) {
                    // Texts of JDK 6 share arrays.
                    (Some(offset), Some(count)) => all.skip(offset).take(count).collect(),
                    _ => all.collect(),
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(String::from_utf16_lossy(&units)))
    }

    fn store(&self, sink: &mut dyn ColumnSink) -> io::Result<()> {
        let Places { id_bytes, extents, classes, of_boot_loader } = &self.places;
        let head = vec![*id_bytes as u64, of_boot_loader.is_some().into(), of_boot_loader.unwrap_or(0)];
        Column::from(head).store(sink, "hprof.head")?;
        let extents = extents.iter().flat_map(|one| [one.offset, one.bytes, one.least, one.greatest]);
        Column::from(extents.collect::<Vec<u64>>()).store(sink, "hprof.extents")?;
        let classes = classes.iter().flat_map(|&(id, offset)| [id, offset]);
        Column::from(classes.collect::<Vec<u64>>()).store(sink, "hprof.classes")
    }
}

/// Where in a run of sub-records an object is, and how long its sub-record is.
fn find_in(bytes: &[u8], id: u64, id_bytes: usize) -> Option<(usize, u64)> {
    let mut at = 0;
    while at < bytes.len() {
        let SubBytes::Known(length) = sub_bytes(&bytes[at..], id_bytes) else { return None };
        let is_object = matches!(bytes[at], sub::INSTANCE..=sub::PRIMITIVE_ARRAY | sub::PRIMITIVE_ARRAY_NO_DATA);
        if is_object && id_of(bytes, at + 1, id_bytes) == Some(id) {
            return Some((at, length));
        }
        at = usize::try_from(length).ok().and_then(|length| at.checked_add(length))?;
    }
    None
}

fn is_object(graph: &HeapGraph, id: u64) -> bool {
    matches!(graph.find(None, id), Lookup::One(_))
}

fn reference(graph: &HeapGraph, id: u64) -> Value {
    match graph.find(None, id) {
        _ if id == 0 => Value::Null,
        Lookup::One(node) => Value::Object(node),
        _ => Value::Dangling(id),
    }
}

fn kind_of(basic_type: u8) -> Option<FieldKind> {
    element_bytes(basic_type)?;
    Some(match basic_type {
        4 => FieldKind::Boolean,
        5 => FieldKind::Char,
        6 => FieldKind::Float,
        7 => FieldKind::Double,
        8 => FieldKind::Byte,
        9 => FieldKind::Short,
        10 => FieldKind::Int,
        _ => FieldKind::Long,
    })
}

fn primitive(kind: FieldKind, raw: u64) -> Value {
    match kind {
        FieldKind::Reference => Value::Null,
        FieldKind::Boolean => Value::Boolean(raw as u8 != 0),
        FieldKind::Char => Value::Char(raw as u16),
        FieldKind::Float => Value::Float(f32::from_bits(raw as u32)),
        FieldKind::Double => Value::Double(f64::from_bits(raw)),
        FieldKind::Byte => Value::Integer((raw as u8 as i8).into()),
        FieldKind::Short => Value::Integer((raw as u16 as i16).into()),
        FieldKind::Int => Value::Integer((raw as u32 as i32).into()),
        FieldKind::Long => Value::Integer(raw as i64),
    }
}
