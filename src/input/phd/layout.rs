//! The header, and the sizes that follow from it.

use super::stream::{StopReason, Stream};
use crate::input::Position;

pub(super) const SECTION_NAME: &str = "heap";

/// A place in the file.
pub(super) fn position(byte: u64) -> Position {
    Position::Byte(byte)
}

/// The first bytes of a dump.
pub(super) const FILE_MAGIC: &[u8] = b"\0\x12portable heap dump";

#[derive(Debug, Clone)]
pub(super) struct PhdHeader {
    pub(super) version: u32,
    pub(super) word_bytes: u32,
    /// Addresses are written without so many bits.
    pub(super) shift: u32,
    /// Every object has a hash of 16 bits.
    pub(super) all_have_hashes: bool,
    /// The virtual machine in its own words.
    pub(super) producer: Option<String>,
}

impl PhdHeader {
    /// Reads the header, of which the mark was taken. `StopReason::Malformed` when it is none.
    pub(super) fn parse(stream: &mut Stream, version: u32) -> Result<PhdHeader, StopReason> {
        let flags = stream.u32()?;
        let mut layout = PhdHeader {
            version,
            word_bytes: if flags & 1 != 0 { 8 } else { 4 },
            shift: if version >= 5 || flags & 4 != 0 { 2 } else { 3 },
            all_have_hashes: flags & 6 == 6,
            producer: None,
        };
        if stream.u8()? != 1 {
            return Err(StopReason::Malformed);
        }
        loop {
            match stream.u8()? {
                1 | 3 => {
                    stream.u32()?;
                    stream.u32()?;
                }
                4 => {
                    let bytes = stream.u16()?;
                    let text = stream.text_bytes(bytes)?;
                    layout.producer = Some(String::from_utf8_lossy(&text).lines().collect::<Vec<_>>().join("; "));
                }
                // The end of the header, then the start of the records.
                2 => return if stream.u8()? == 2 { Ok(layout) } else { Err(StopReason::Malformed) },
                _ => return Err(StopReason::Malformed),
            }
        }
    }

    /// An address that is so many units from another.
    pub(super) fn address_from(&self, from: u64, units: i64) -> u64 {
        let address = from.wrapping_add((units << self.shift).cast_unsigned());
        if self.word_bytes == 8 { address } else { address & 0xFFFF_FFFF }
    }

    pub(super) fn has_array_sizes(&self) -> bool {
        self.version >= 6
    }
}

/// The layout in memory of arrays that do not state their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArrayForm {
    /// 32 bits.
    Bits32,
    /// 64 bits, references of 4 bytes.
    Bits64CompressedReferences,
    /// 64 bits, references of 8 bytes, a header of so many.
    Bits64FullReferences { header_bytes: u64 },
}

impl ArrayForm {
    /// Every form of 64 bits.
    pub(super) const ALL_64_BIT: [ArrayForm; 3] = [
        ArrayForm::Bits64CompressedReferences,
        ArrayForm::Bits64FullReferences { header_bytes: 16 },
        ArrayForm::Bits64FullReferences { header_bytes: 24 },
    ];

    pub(super) fn reference_bytes(self) -> u64 {
        if matches!(self, ArrayForm::Bits64FullReferences { .. }) { 8 } else { 4 }
    }

    pub(super) fn bytes(self, length: u64, element_bytes: u64) -> u64 {
        let content = length.saturating_mul(element_bytes);
        match self {
            ArrayForm::Bits32 => round_up_to_8(content).saturating_add(16),
            ArrayForm::Bits64CompressedReferences => round_up_to_8(content.saturating_add(8)).max(16),
            ArrayForm::Bits64FullReferences { header_bytes } => round_up_to_8(content.saturating_add(header_bytes)),
        }
    }

    pub(super) fn describe(self) -> &'static str {
        match self {
            ArrayForm::Bits32 => "arrays as on 32 bits",
            ArrayForm::Bits64CompressedReferences => "arrays as on 64 bits with references of 4 bytes",
            ArrayForm::Bits64FullReferences { .. } => "arrays as on 64 bits with references of 8 bytes",
        }
    }
}

pub(super) fn round_up_to_8(bytes: u64) -> u64 {
    bytes.saturating_add(7) & !7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_take_what_virtual_machines_give_them() {
        assert_eq!(ArrayForm::Bits32.bytes(3, 2), 24);
        assert_eq!(ArrayForm::Bits32.bytes(0, 4), 16);
        assert_eq!(ArrayForm::Bits64CompressedReferences.bytes(0, 1), 16);
        assert_eq!(ArrayForm::Bits64CompressedReferences.bytes(10, 2), 32);
        assert_eq!(ArrayForm::Bits64FullReferences { header_bytes: 24 }.bytes(2, 8), 40);
        assert_eq!(ArrayForm::Bits64FullReferences { header_bytes: 16 }.bytes(u64::MAX, 8), !7);
    }
}
