//! Records: objects, arrays and classes, and nothing between them.

use super::layout::PhdHeader;
use super::stream::{StopReason, Stream};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PhdRecord {
    /// An object of the class at this address.
    Object(u64),
    /// An array of references, with the word for its class.
    ObjectArray(u64),
    /// An array of elements of this kind.
    PrimitiveArray(u8),
    /// A class: bytes of its objects, the class it is derived from (0: none), its name.
    Class { instance_bytes: u32, superclass: u64, name: Vec<u8> },
    /// The end of the dump.
    End,
}

/// Reads records; it remembers what they leave out.
pub(super) struct RecordReader {
    pub(super) header: PhdHeader,
    last_address: u64,
    cached_classes: [u64; 4],
    next_cached_class: usize,
    /// Of the record that was read last.
    pub(super) address: u64,
    pub(super) references: Vec<u64>,
    /// Elements of an array.
    pub(super) element_count: u64,
    /// Bytes of an array, where the dump states them.
    pub(super) stated_bytes: u64,
}

impl RecordReader {
    pub(super) fn new(layout: PhdHeader) -> Self {
        RecordReader {
            header: layout,
            last_address: 0,
            cached_classes: [0; 4],
            next_cached_class: 0,
            address: 0,
            references: Vec::new(),
            element_count: 0,
            stated_bytes: 0,
        }
    }

    pub(super) fn read_next(&mut self, stream: &mut Stream) -> Result<PhdRecord, StopReason> {
        self.references.clear();
        let tag = stream.u8()?;
        match tag {
            0x80..=0xFF => {
                self.read_address(stream, tag >> 2 & 1)?;
                let class = self.cached_classes[usize::from(tag >> 5 & 3)];
                self.skip_short_hash(stream)?;
                self.read_references(stream, u32::from(tag >> 3 & 3), tag & 3)?;
                Ok(PhdRecord::Object(class))
            }
            0x40..=0x7F => {
                self.read_address(stream, tag >> 2 & 1)?;
                let class = self.read_and_cache_class(stream)?;
                self.skip_short_hash(stream)?;
                self.read_references(stream, u32::from(tag >> 3 & 7), tag & 3)?;
                Ok(PhdRecord::Object(class))
            }
            0x20..=0x3F => {
                self.read_address(stream, tag & 3)?;
                self.element_count = stream.unsigned_of_width(tag & 3)?;
                self.skip_short_hash(stream)?;
                self.read_stated_bytes(stream)?;
                Ok(PhdRecord::PrimitiveArray(tag >> 2 & 7))
            }
            3 => Ok(PhdRecord::End),
            4 => {
                let flags = stream.u8()?;
                self.read_address(stream, flags >> 6)?;
                let class = self.read_and_cache_class(stream)?;
                self.skip_long_hash(stream, flags & 2 != 0)?;
                let count = stream.count()?;
                self.read_references(stream, count, flags >> 4 & 3)?;
                Ok(PhdRecord::Object(class))
            }
            5 | 8 => {
                let flags = stream.u8()?;
                self.read_address(stream, flags >> 6)?;
                let class = stream.word(self.header.word_bytes)?;
                self.skip_long_hash(stream, flags & 2 != 0)?;
                let count = stream.count()?;
                self.read_references(stream, count, flags >> 4 & 3)?;
                // Written from the last to the first.
                self.references.reverse();
                self.element_count = if tag == 8 { stream.count()?.into() } else { count.into() };
                self.read_stated_bytes(stream)?;
                Ok(PhdRecord::ObjectArray(class))
            }
            6 => {
                let flags = stream.u8()?;
                self.read_address(stream, flags >> 6)?;
                let instance_bytes = stream.u32()?;
                if self.header.all_have_hashes {
                    stream.u16()?;
                } else if flags & 8 != 0 {
                    stream.u32()?;
                }
                let superclass = stream.word(self.header.word_bytes)?;
                let bytes = stream.u16()?;
                let name = stream.text_bytes(bytes)?;
                let count = stream.count()?;
                self.read_references(stream, count, flags >> 4 & 3)?;
                Ok(PhdRecord::Class { instance_bytes, superclass, name })
            }
            7 => {
                let flags = stream.u8()?;
                let code = match (flags & 0x10 != 0, self.header.word_bytes) {
                    (false, _) => 0,
                    (true, 8) => 3,
                    (true, _) => 2,
                };
                self.read_address(stream, code)?;
                self.element_count = stream.unsigned_of_width(code)?;
                self.skip_long_hash(stream, flags & 2 != 0)?;
                self.read_stated_bytes(stream)?;
                Ok(PhdRecord::PrimitiveArray(flags >> 5))
            }
            _ => Err(StopReason::Malformed),
        }
    }

    /// The way from the record before.
    fn read_address(&mut self, stream: &mut Stream, code: u8) -> Result<(), StopReason> {
        let units = stream.signed_of_width(code)?;
        self.address = self.header.address_from(self.last_address, units);
        self.last_address = self.address;
        Ok(())
    }

    fn read_and_cache_class(&mut self, stream: &mut Stream) -> Result<u64, StopReason> {
        let class = stream.word(self.header.word_bytes)?;
        self.cached_classes[self.next_cached_class] = class;
        self.next_cached_class = (self.next_cached_class + 1) % self.cached_classes.len();
        Ok(class)
    }

    fn skip_short_hash(&mut self, stream: &mut Stream) -> Result<(), StopReason> {
        if self.header.all_have_hashes { stream.u16().map(|_| ()) } else { Ok(()) }
    }

    fn skip_long_hash(&mut self, stream: &mut Stream, is_there: bool) -> Result<(), StopReason> {
        match (self.header.all_have_hashes, is_there) {
            (true, _) => stream.u16().map(|_| ()),
            (false, true) => stream.u32().map(|_| ()),
            (false, false) => Ok(()),
        }
    }

    fn read_stated_bytes(&mut self, stream: &mut Stream) -> Result<(), StopReason> {
        if self.header.has_array_sizes() {
            self.stated_bytes = u64::from(stream.u32()?) * 4;
        }
        Ok(())
    }

    fn read_references(&mut self, stream: &mut Stream, count: u32, code: u8) -> Result<(), StopReason> {
        for taken in 0..count {
            let units = stream.signed_of_width(code).map_err(|stop| match stop {
                StopReason::Truncated(_) => StopReason::Truncated(u64::from(count - taken) << code),
                other => other,
            })?;
            self.references.push(self.header.address_from(self.address, units));
        }
        Ok(())
    }
}
