//! The smallest pieces of the container and of event payloads, as nom parsers.

use nom::IResult;
use nom::bytes::complete::take;

/// The result of a parser of this format; where it fails, the caller knows what it was.
pub(super) type Parsed<'a, T> = IResult<&'a [u8], T, ()>;

/// A LEB128 number of at most `bits` bits: seven bits a byte, low group first.
fn varu(input: &[u8], bits: u32) -> Parsed<'_, u64> {
    let mut value = 0u64;
    for (at, &byte) in input.iter().enumerate().take(bits.div_ceil(7) as usize) {
        value |= u64::from(byte & 0x7F) << (7 * at as u32);
        if byte & 0x80 == 0 {
            return Ok((&input[at + 1..], value));
        }
    }
    Err(nom::Err::Error(()))
}

pub(super) fn varu32(input: &[u8]) -> Parsed<'_, u32> {
    let (rest, value) = varu(input, 32)?;
    // Bits beyond the 32nd mean a number that no writer writes: cut as a cast would.
    Ok((rest, value as u32))
}

pub(super) fn varu64(input: &[u8]) -> Parsed<'_, u64> {
    varu(input, 64)
}

/// UTF-16 up to and including a zero unit; without the zero.
pub(super) fn utf16z(input: &[u8]) -> Parsed<'_, &[u8]> {
    let (units, _) = input.as_chunks::<2>();
    let length = units.iter().position(|unit| *unit == [0, 0]).ok_or(nom::Err::Error(()))?;
    Ok((&input[2 * length + 2..], &input[..2 * length]))
}

/// A length in bytes and UTF-8 (container version 6).
pub(super) fn length_prefixed_utf8(input: &[u8]) -> Parsed<'_, &[u8]> {
    let (rest, length) = varu32(input)?;
    take(length as usize)(rest)
}

/// UTF-16 as text; what is no UTF-16 becomes U+FFFD.
pub(super) fn text_of_utf16(units: &[u8]) -> String {
    let (units, _) = units.as_chunks::<2>();
    char::decode_utf16(units.iter().map(|unit| u16::from_le_bytes(*unit)))
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// A number in an entry of fixed layout; 0 where the entry is too short.
#[inline]
pub(super) fn u64_at(entry: &[u8], at: usize) -> u64 {
    entry.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// A number in an entry of fixed layout; 0 where the entry is too short.
#[inline]
pub(super) fn u32_at(entry: &[u8], at: usize) -> u32 {
    entry.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// An address of `size` bytes, 4 or 8.
#[inline]
pub(super) fn address_at(entry: &[u8], at: usize, size: usize) -> u64 {
    if size == 4 { u64::from(u32_at(entry, at)) } else { u64_at(entry, at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_seven_bits_a_byte() {
        assert_eq!(varu32(&[0x7F, 9]), Ok((&[9][..], 0x7F)));
        assert_eq!(varu32(&[0x80, 0x01]), Ok((&[][..], 0x80)));
        assert_eq!(varu64(&[0xFF; 9]), Err(nom::Err::Error(())));
        assert_eq!(varu64(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]), Ok((&[][..], u64::MAX)));
        assert!(varu32(&[0x80; 5]).is_err() && varu32(&[]).is_err());
    }

    #[test]
    fn strings_end_with_a_zero_unit() {
        assert_eq!(utf16z(&[65, 0, 0, 1, 0, 0, 7]), Ok((&[7][..], &[65, 0, 0, 1][..])));
        assert!(utf16z(&[65, 0, 0]).is_err());
        assert_eq!(text_of_utf16(&[65, 0, 0, 0xD8]), "A\u{FFFD}");
    }
}
