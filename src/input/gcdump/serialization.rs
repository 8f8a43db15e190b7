//! The container of the format, FastSerialization.1: objects with types, references back to both by offset, strings.

use nom::bytes::complete::take;
use nom::number::complete::{le_i32, le_i64, le_u8, le_u32};
use rustc_hash::FxHashMap;

/// The result of a parser of this format; where it fails, the caller knows what it was.
pub(super) type Parsed<'a, T> = nom::IResult<&'a [u8], T, ()>;

/// The first bytes of every file.
pub(super) const FILE_MAGIC: &[u8] = b"\x14\0\0\0!FastSerialization.1";

const NULL_TAG: u8 = 1;
const REFERENCE_TAG: u8 = 2;
const BEGIN_TAG: u8 = 4;
const BEGIN_PRIVATE_TAG: u8 = 5;
const END_TAG: u8 = 6;

/// A type as an object names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TypeHead {
    pub(super) name: String,
    pub(super) version: i32,
    pub(super) min_reader_version: i32,
}

/// Reads objects of a file; remembers their types by offset.
pub(super) struct ObjectReader<'a> {
    file: &'a [u8],
    types: FxHashMap<usize, TypeHead>,
}

/// The content of an object's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FoundObject {
    Null,
    /// The object that began at this offset.
    BackReference(u32),
    /// Its fields follow; it began at this offset.
    Begun(TypeHead, u32),
}

/// A value in front of which the file says what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TaggedValue {
    End,
    Byte(u8),
    Text(Option<String>),
    /// An object follows.
    ObjectFollows,
    /// Another kind, skipped.
    Other,
}

impl<'a> ObjectReader<'a> {
    pub(super) fn new(file: &'a [u8]) -> Self {
        ObjectReader { file, types: FxHashMap::default() }
    }

    /// The offset of `rest`, an end of the file.
    pub(super) fn offset(&self, rest: &[u8]) -> usize {
        self.file.len() - rest.len()
    }

    /// `01`, or `02 u32 offset`, or `04` and a type.
    pub(super) fn object_start(&mut self, input: &'a [u8]) -> Parsed<'a, FoundObject> {
        let start = self.offset(input);
        let (rest, tag) = le_u8(input)?;
        match tag {
            NULL_TAG => Ok((rest, FoundObject::Null)),
            REFERENCE_TAG => le_u32(rest).map(|(rest, offset)| (rest, FoundObject::BackReference(offset))),
            BEGIN_TAG | BEGIN_PRIVATE_TAG => {
                let (rest, head) = self.type_head(rest)?;
                Ok((rest, FoundObject::Begun(head, start as u32)))
            }
            _ => Err(nom::Err::Error(())),
        }
    }

    /// `04 01 i32 version, i32 minReader, str name, 06`; later `02 u32 offset` of that.
    fn type_head(&mut self, input: &'a [u8]) -> Parsed<'a, TypeHead> {
        let start = self.offset(input);
        let (rest, tag) = le_u8(input)?;
        if tag == REFERENCE_TAG {
            let (rest, offset) = le_u32(rest)?;
            let head = self.types.get(&(offset as usize)).ok_or(nom::Err::Error(()))?;
            return Ok((rest, head.clone()));
        }
        let (rest, null) = le_u8(rest)?;
        if !matches!(tag, BEGIN_TAG | BEGIN_PRIVATE_TAG) || null != NULL_TAG {
            return Err(nom::Err::Error(()));
        }
        let (rest, version) = le_i32(rest)?;
        let (rest, min_reader) = le_i32(rest)?;
        let (rest, name) = text(rest)?;
        let (rest, _) = end_tag(rest)?;
        let head = TypeHead { name: name.unwrap_or_default(), version, min_reader_version: min_reader };
        self.types.insert(start, head.clone());
        Ok((rest, head))
    }
}

/// `06`.
pub(super) fn end_tag(input: &[u8]) -> Parsed<'_, ()> {
    match le_u8(input)? {
        (rest, END_TAG) => Ok((rest, ())),
        _ => Err(nom::Err::Error(())),
    }
}

/// The part behind an object's known fields, for readers older than the file.
pub(super) fn tagged_value(input: &[u8]) -> Parsed<'_, TaggedValue> {
    let (rest, tag) = le_u8(input)?;
    match tag {
        END_TAG => Ok((rest, TaggedValue::End)),
        8 => le_u8(rest).map(|(rest, value)| (rest, TaggedValue::Byte(value))),
        9 => take(2usize)(rest).map(|(rest, _): (_, &[u8])| (rest, TaggedValue::Other)),
        10 => le_i32(rest).map(|(rest, _)| (rest, TaggedValue::Other)),
        11 => le_i64(rest).map(|(rest, _)| (rest, TaggedValue::Other)),
        12 => le_i32(rest).map(|(rest, _)| (rest, TaggedValue::ObjectFollows)),
        13 => text(rest).map(|(rest, value)| (rest, TaggedValue::Text(value))),
        14 => {
            let (rest, size) = le_u32(rest)?;
            take(size)(rest).map(|(rest, _): (_, &[u8])| (rest, TaggedValue::Other))
        }
        _ => Err(nom::Err::Error(())),
    }
}

/// `i32 count`, then so many UTF-16 units, each by itself in one to three bytes; -1 is no string. Counting units and
/// not bytes matters: most readers go wrong at the first name that is not ASCII.
pub(super) fn text(input: &[u8]) -> Parsed<'_, Option<String>> {
    let (mut rest, count) = le_i32(input)?;
    if count < 0 {
        return Ok((rest, None));
    }
    let count = count as usize;
    if let Some(ascii) = rest.get(..count).filter(|bytes| bytes.is_ascii()) {
        return Ok((&rest[count..], Some(String::from_utf8_lossy(ascii).into_owned())));
    }
    if count > rest.len() {
        return Err(nom::Err::Error(()));
    }
    let mut units = Vec::with_capacity(count);
    for _ in 0..count {
        let first = u16::from(*rest.first().ok_or(nom::Err::Error(()))?);
        let length = match first {
            0..0x80 => 1,
            0x80..0xE0 => 2,
            _ => 3,
        };
        let bytes = rest.get(..length).ok_or(nom::Err::Error(()))?;
        let low = |at: usize| u16::from(bytes[at] & 0x3F);
        units.push(match length {
            1 => first,
            2 => (first & 0x1F) << 6 | low(1),
            _ => (first & 0x0F) << 12 | low(1) << 6 | low(2),
        });
        rest = &rest[length..];
    }
    Ok((rest, Some(String::from_utf16_lossy(&units))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_count_units() {
        assert_eq!(text(&[2, 0, 0, 0, b'A', 0xC3, 0xB6, 9]), Ok((&[9][..], Some("Aö".into()))));
        // A surrogate pair is two groups of three bytes.
        let smile = [2, 0, 0, 0, 0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80];
        assert_eq!(text(&smile), Ok((&[][..], Some("\u{1F600}".into()))));
        assert_eq!(text(&[0xFF; 4]), Ok((&[][..], None)));
        assert!(text(&[9, 0, 0, 0, b'A']).is_err() && text(&[1, 0, 0, 0, 0xE0, 0x80]).is_err());
    }

    #[test]
    fn types_are_named_once() {
        let mut file = vec![4u8, 4, 1, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, b'T', 6];
        file.extend([4, 2, 1, 0, 0, 0]);
        let mut objects = ObjectReader::new(&file);
        let (rest, first) = objects.object_start(&file).unwrap();
        let head = TypeHead { name: "T".into(), version: 3, min_reader_version: 2 };
        assert_eq!(first, FoundObject::Begun(head.clone(), 0));
        assert_eq!(objects.object_start(rest), Ok((&[][..], FoundObject::Begun(head, 17))));
    }
}
