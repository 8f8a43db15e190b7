//! The file's header, the bodies of records that are no heap, and class dumps: one parser each; lengths of sub-records, which
//! have no length field of their own.
//!
//! ```text
//! file    = "JAVA PROFILE 1.0.2" NUL, u4 bytes of an id, u8 milliseconds since 1970, { record }
//! record  = u1 tag, u4 microseconds since the header's time, u4 bytes of the body, body
//! ```

use nom::Parser;
use nom::combinator::map_opt;
use nom::multi::count;
use nom::number::complete::{be_i32, be_u8, be_u16, be_u32, be_u64};

use super::wire::{OBJECT_BASIC_TYPE, element_bytes, sub_record_tags, u32_at, value_bytes};

/// The result of a parser of this format: an error where bytes are missing, a failure where they make no sense.
pub(crate) type Parsed<'a, T> = nom::IResult<&'a [u8], T, ()>;

/// The first bytes of every file.
pub(crate) const FILE_MAGIC: &[u8] = b"JAVA PROFILE ";
/// The first bytes, the version and its NUL take so many bytes at most.
const MAX_MAGIC_AND_VERSION_BYTES: usize = 32;

/// The header of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    /// `1.0.2`
    pub(crate) version: String,
    pub(crate) id_bytes: usize,
    pub(crate) unix_ms: u64,
    /// Its own length.
    pub(crate) header_bytes: usize,
}

/// A reason for which a file cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BadHeader {
    Truncated,
    /// Not 1.0, 1.0.1, 1.0.2 ...
    UnknownVersion(String),
    /// Ids of so many bytes.
    WrongIdBytes(u32),
}

impl Header {
    pub(crate) fn parse(start: &[u8]) -> Result<Header, BadHeader> {
        let text = start.strip_prefix(FILE_MAGIC).ok_or(BadHeader::Truncated)?;
        let end = text
            .iter()
            .take(MAX_MAGIC_AND_VERSION_BYTES - FILE_MAGIC.len())
            .position(|&byte| byte == 0)
            .ok_or(BadHeader::Truncated)?;
        let version = String::from_utf8_lossy(&text[..end]).into_owned();
        let mut numbers = (be_u32::<_, ()>, be_u64);
        let Ok((rest, (id_bytes, unix_ms))) = numbers.parse(&text[end + 1..]) else { return Err(BadHeader::Truncated) };
        if version != "1.0" && !version.starts_with("1.0.") {
            return Err(BadHeader::UnknownVersion(version));
        }
        match id_bytes {
            4 | 8 => {
                Ok(Header { version, id_bytes: id_bytes as usize, unix_ms, header_bytes: start.len() - rest.len() })
            }
            _ => Err(BadHeader::WrongIdBytes(id_bytes)),
        }
    }
}

/// `u1 tag, u4 microseconds, u4 length`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordHead {
    pub(crate) tag: u8,
    pub(crate) micros_after_header: u32,
    pub(crate) body_bytes: u32,
}

impl RecordHead {
    pub(crate) const BYTES: usize = 9;

    pub(crate) fn parse(input: &[u8]) -> Option<Self> {
        let head: Parsed<'_, _> = (be_u8, be_u32, be_u32).parse(input);
        head.ok().map(|(_, (tag, micros, length))| RecordHead { tag, micros_after_header: micros, body_bytes: length })
    }
}

/// An id of 4 or 8 bytes.
pub(crate) fn id_parser<'a>(id_bytes: usize) -> impl Parser<&'a [u8], Output = u64, Error = ()> + Clone {
    move |input: &'a [u8]| {
        if id_bytes == 8 { be_u64(input) } else { be_u32(input).map(|(rest, id)| (rest, u64::from(id))) }
    }
}

/// `u4 serial, id class, u4 trace, id name`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoadClass {
    pub(crate) serial: u32,
    pub(crate) class_id: u64,
    pub(crate) name_id: u64,
}

impl LoadClass {
    pub(crate) fn parse(input: &[u8], id_bytes: usize) -> Option<Self> {
        let fields: Parsed<'_, _> = (be_u32, id_parser(id_bytes), be_u32, id_parser(id_bytes)).parse(input);
        fields.ok().map(|(_, (serial, class, _, name))| LoadClass { serial, class_id: class, name_id: name })
    }
}

/// `id frame, id method, id signature, id file, u4 class serial, i4 line`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameRecord {
    pub(crate) id: u64,
    pub(crate) method_name_id: u64,
    pub(crate) signature_id: u64,
    /// 0 where unknown.
    pub(crate) file_name_id: u64,
    pub(crate) class_serial: u32,
    /// Above 0 a line, -2 compiled code, -3 native code, else unknown.
    pub(crate) line: i32,
}

impl FrameRecord {
    pub(crate) fn parse(input: &[u8], id_bytes: usize) -> Option<Self> {
        let id = id_parser(id_bytes);
        let fields: Parsed<'_, _> = (id.clone(), id.clone(), id.clone(), id, be_u32, be_i32).parse(input);
        fields.ok().map(|(_, (id, method, signature, file, class_serial, line))| FrameRecord {
            id,
            method_name_id: method,
            signature_id: signature,
            file_name_id: file,
            class_serial,
            line,
        })
    }
}

/// `u4 serial, u4 thread serial, u4 n, n * id frame`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TraceRecord {
    pub(crate) serial: u32,
    /// Innermost first.
    pub(crate) frame_ids: Vec<u64>,
}

impl TraceRecord {
    /// Returns true if nothing follows it in the body of its record.
    pub(crate) fn fills_body(&self, body: &[u8], id_bytes: usize) -> bool {
        body.len() == 12 + self.frame_ids.len() * id_bytes
    }

    pub(crate) fn parse(input: &[u8], id_bytes: usize) -> Option<Self> {
        let head: Parsed<'_, _> = (be_u32, be_u32, be_u32).parse(input);
        let (rest, (serial, _, frames)) = head.ok()?;
        if frames as usize > rest.len() / id_bytes {
            return None;
        }
        let ids: Parsed<'_, _> = count(id_parser(id_bytes), frames as usize).parse(rest);
        ids.ok().map(|(_, frames)| TraceRecord { serial, frame_ids: frames })
    }
}

/// A static variable, with its value as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StaticValue {
    pub(crate) name_id: u64,
    pub(crate) basic_type: u8,
    /// As many low bytes as the type has.
    pub(crate) value: u64,
}

/// A field of instances: the id of its name, and its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FieldRecord {
    pub(crate) name_id: u64,
    pub(crate) basic_type: u8,
}

/// The record that describes a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClassDump {
    pub(crate) id: u64,
    pub(crate) super_id: u64,
    /// 0 for the boot loader.
    pub(crate) loader_id: u64,
    /// The instance size that the writer states, which differs between writers.
    pub(crate) stated_instance_bytes: u32,
    /// Objects in the constant pool, 0 for null.
    pub(crate) constants: Box<[u64]>,
    pub(crate) statics: Box<[StaticValue]>,
    /// Its own, without those of superclasses.
    pub(crate) fields: Box<[FieldRecord]>,
    /// Offset of the record in the file.
    pub(crate) position: u64,
    /// The Android heap that the class object is in, as far as the caller knows.
    pub(crate) android_heap: Option<(u32, u64)>,
}

/// The way in which a class object refers to another: constants and static variables by their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClassReference {
    Superclass,
    Loader,
    Constant(usize),
    Static(usize),
}

/// The value of a basic type, in the low bytes.
fn value_parser<'a>(basic_type: u8, id_bytes: usize) -> impl FnMut(&'a [u8]) -> Parsed<'a, u64> {
    move |input| match value_bytes(basic_type, id_bytes) {
        Some(1) => be_u8(input).map(|(rest, value)| (rest, u64::from(value))),
        Some(2) => be_u16(input).map(|(rest, value)| (rest, u64::from(value))),
        Some(4) => be_u32(input).map(|(rest, value)| (rest, u64::from(value))),
        Some(_) => be_u64(input),
        None => Err(nom::Err::Failure(())),
    }
}

impl ClassDump {
    /// References of the class object in the order in which the graph has them. The boot loader is no object: what it
    /// holds, `of_boot_loader`, comes last where it is the loader.
    pub(crate) fn class_references(&self, of_boot_loader: Option<u64>) -> impl Iterator<Item = (ClassReference, u64)> {
        use ClassReference::{Constant, Loader, Static, Superclass};
        let constants = self.constants.iter().enumerate().map(|(index, &id)| (Constant(index), id));
        let statics = self.statics.iter().enumerate().filter(|(_, one)| one.basic_type == OBJECT_BASIC_TYPE);
        let statics = statics.map(|(index, one)| (Static(index), one.value));
        let boot = of_boot_loader.filter(|&id| self.loader_id == 0 && self.id != id).map(|id| (Loader, id));
        let own = [(Superclass, self.super_id), (Loader, self.loader_id)].into_iter().chain(constants).chain(statics);
        own.chain(boot).filter(|&(_, id)| id != 0)
    }

    /// The sub-record behind its tag:
    /// `id, u4 trace, 6 * id (super, loader, signers, domain, reserved), u4 instance size,
    /// u2 n * (u2 index, u1 type, value), u2 n * (id name, u1 type, value), u2 n * (id name, u1 type)`
    pub(crate) fn parse(input: &[u8], id_bytes: usize, position: u64) -> Parsed<'_, ClassDump> {
        let id = id_parser(id_bytes);
        let (rest, (class, _, super_id, loader, _, instance_bytes)) =
            (id.clone(), be_u32, id.clone(), id.clone(), count(id.clone(), 4), be_u32).parse(input)?;
        let (mut rest, constant_count) = be_u16(rest)?;
        let mut constants = Vec::new();
        for _ in 0..constant_count {
            let (after, (_, basic_type)) = (be_u16, be_u8).parse(rest)?;
            let (after, value) = value_parser(basic_type, id_bytes)(after)?;
            if basic_type == OBJECT_BASIC_TYPE {
                constants.push(value);
            }
            rest = after;
        }
        let (mut rest, static_count) = be_u16(rest)?;
        let mut statics = Vec::new();
        for _ in 0..static_count {
            let (after, (name, basic_type)) = (id.clone(), be_u8).parse(rest)?;
            let (after, value) = value_parser(basic_type, id_bytes)(after)?;
            statics.push(StaticValue { name_id: name, basic_type, value });
            rest = after;
        }
        let (mut rest, field_count) = be_u16(rest)?;
        let mut fields = Vec::new();
        for _ in 0..field_count {
            let known = |basic_type: u8| value_bytes(basic_type, id_bytes).map(|_| basic_type);
            let (after, (name, basic_type)) = (id.clone(), map_opt(be_u8, known)).parse(rest).map_err(|error| {
                // A type that is none, unless bytes are missing.
                if rest.len() > id_bytes { nom::Err::Failure(()) } else { error }
            })?;
            fields.push(FieldRecord { name_id: name, basic_type });
            rest = after;
        }
        let dump = ClassDump {
            id: class,
            super_id,
            loader_id: loader,
            stated_instance_bytes: instance_bytes,
            constants: constants.into(),
            statics: statics.into(),
            fields: fields.into(),
            position,
            android_heap: None,
        };
        Ok((rest, dump))
    }
}

/// Bytes of the next sub-record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubRecordLength {
    Known(u64),
    /// They depend on bytes that are not at hand.
    NeedsMore,
    /// There is no such sub-record.
    NoSubRecord,
}

/// Bytes of the sub-record that `data` begins with.
#[inline]
pub fn sub_record_length(data: &[u8], id_bytes: usize) -> SubRecordLength {
    let Some(&tag) = data.first() else { return SubRecordLength::NeedsMore };
    let known = |bytes: Option<u64>| bytes.map_or(SubRecordLength::NeedsMore, SubRecordLength::Known);
    let head = (9 + 2 * id_bytes) as u64;
    match tag {
        sub_record_tags::INSTANCE => known(u32_at(data, 5 + 2 * id_bytes).map(|length| head + u64::from(length))),
        sub_record_tags::OBJECT_ARRAY => {
            known(u32_at(data, 5 + id_bytes).map(|elements| head + u64::from(elements) * id_bytes as u64))
        }
        sub_record_tags::PRIMITIVE_ARRAY | sub_record_tags::PRIMITIVE_ARRAY_NO_DATA => {
            let (Some(elements), Some(&basic_type)) = (u32_at(data, 5 + id_bytes), data.get(9 + id_bytes)) else {
                return SubRecordLength::NeedsMore;
            };
            match element_bytes(basic_type) {
                None => SubRecordLength::NoSubRecord,
                Some(_) if tag == sub_record_tags::PRIMITIVE_ARRAY_NO_DATA => {
                    SubRecordLength::Known(10 + id_bytes as u64)
                }
                Some(width) => SubRecordLength::Known(10 + id_bytes as u64 + u64::from(elements) * width as u64),
            }
        }
        sub_record_tags::CLASS_DUMP => match ClassDump::parse(&data[1..], id_bytes, 0) {
            Ok((behind, _)) => SubRecordLength::Known((data.len() - behind.len()) as u64),
            Err(nom::Err::Failure(())) => SubRecordLength::NoSubRecord,
            Err(_) => SubRecordLength::NeedsMore,
        },
        _ => sub_record_tags::fixed_bytes(tag, id_bytes)
            .map_or(SubRecordLength::NoSubRecord, |bytes| SubRecordLength::Known(bytes as u64)),
    }
}
