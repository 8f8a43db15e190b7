//! Leaf parsers and helpers that the text formats share: numbers, blanks, fields.
//!
//! Leaves are byte loops over a 256-entry table, each byte looked at once: nom's own digit parsers followed by a
//! conversion take more than twice as long (docs/performance.md).

use nom::{Err, IResult};
use rustc_hash::FxHashMap;

const NOT_HEX: u8 = 0xFF;

const HEX_DIGIT_VALUES: [u8; 256] = {
    let mut table = [NOT_HEX; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            digit @ b'0'..=b'9' => digit - b'0',
            letter @ b'a'..=b'f' => letter - b'a' + 10,
            letter @ b'A'..=b'F' => letter - b'A' + 10,
            _ => NOT_HEX,
        };
        byte += 1;
    }
    table
};

/// 1 to 16 hexadecimal digits, without prefix; more are an error.
#[inline]
pub(super) fn hex(input: &[u8]) -> IResult<&[u8], u64, ()> {
    let mut value = 0u64;
    let mut count = 0;
    for &byte in input {
        let digit = HEX_DIGIT_VALUES[byte as usize];
        if digit == NOT_HEX {
            break;
        }
        value = value << 4 | u64::from(digit);
        count += 1;
    }
    if count == 0 || count > 16 { Err(Err::Error(())) } else { Ok((&input[count..], value)) }
}

/// 1 or more decimal digits of a number that fits 64 bits.
#[inline]
pub(super) fn decimal(input: &[u8]) -> IResult<&[u8], u64, ()> {
    let mut value = 0u64;
    let mut count = 0;
    for &byte in input {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = match value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit))) {
            Some(value) => value,
            None => return Err(Err::Error(())),
        };
        count += 1;
    }
    if count == 0 { Err(Err::Error(())) } else { Ok((&input[count..], value)) }
}

/// A whole field as hexadecimal, `0x` allowed.
pub(super) fn hex_field(field: &[u8]) -> Option<u64> {
    let digits = match field {
        [b'0', b'x' | b'X', digits @ ..] => digits,
        _ => field,
    };
    match hex(digits) {
        Ok(([], value)) => Some(value),
        _ => None,
    }
}

/// A whole field as decimal.
pub(super) fn decimal_field(field: &[u8]) -> Option<u64> {
    match decimal(field) {
        Ok(([], value)) => Some(value),
        _ => None,
    }
}

/// Has the number a digit a to f when written in hexadecimal?
#[inline]
pub(super) fn has_hex_letter(value: u64) -> bool {
    const TOP_BITS_OF_DIGITS: u64 = 0x8888_8888_8888_8888;
    value & (value << 1 | value << 2) & TOP_BITS_OF_DIGITS != 0
}

/// The value of a hexadecimal digit; 0xFF for any other byte.
#[inline]
pub(super) fn hex_digit(byte: u8) -> u8 {
    HEX_DIGIT_VALUES[byte as usize]
}

/// Returns true for bytes that separate fields. A NUL is one too: files from mainframes are padded with them.
#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0 | 0x0B | 0x0C)
}

/// Without blanks at both ends.
pub(super) fn trim(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&byte| !is_blank(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|&byte| !is_blank(byte)).map_or(start, |last| last + 1);
    &text[start..end]
}

/// The first field and the rest behind it, both empty at the end.
pub(super) fn split_field(text: &[u8]) -> (&[u8], &[u8]) {
    let start = text.iter().position(|&byte| !is_blank(byte)).unwrap_or(text.len());
    let text = &text[start..];
    let end = text.iter().position(|&byte| is_blank(byte)).unwrap_or(text.len());
    text.split_at(end)
}

/// The first line without its end, and what follows.
#[inline]
pub(super) fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    memchr::memchr(b'\n', text).map_or((text, &[]), |at| (&text[..at], &text[at + 1..]))
}

/// The same for any line end; what CR LF ends has an empty line behind it.
pub(super) fn split_line_at_any_end(text: &[u8]) -> (&[u8], &[u8]) {
    memchr::memchr2(b'\n', b'\r', text).map_or((text, &[]), |at| (&text[..at], &text[at + 1..]))
}

/// Do lines end with CR alone, as on the first Macintosh? `start` is the start of the text, or all of it.
pub(super) fn ends_lines_with_cr(start: &[u8]) -> bool {
    memchr::memchr(b'\n', start).is_none() && memchr::memchr(b'\r', start).is_some()
}

/// The types that one block of input mentions, numbered in order of first mention.
#[derive(Debug)]
pub(super) struct NumberedTypes {
    numbers_by_small_id: Vec<u32>,
    numbers_by_large_id: FxHashMap<u64, u32>,
    /// (raw type id, line of its first mention in the block).
    pub(super) mentioned_types: Vec<(u64, u64)>,
    /// The place at which the numbers of the current part of the block begin.
    part_start: usize,
}

const SMALL_ID_LIMIT: usize = 4096;
const UNSEEN_TYPE: u32 = u32::MAX;

impl Default for NumberedTypes {
    fn default() -> Self {
        NumberedTypes {
            numbers_by_small_id: vec![UNSEEN_TYPE; SMALL_ID_LIMIT],
            numbers_by_large_id: FxHashMap::default(),
            mentioned_types: Vec::new(),
            part_start: 0,
        }
    }
}

impl NumberedTypes {
    /// The number of a type by its id on a line: a new one where it was not mentioned before.
    #[inline]
    pub(super) fn number_of(&mut self, raw_id: u64, line: u64) -> u32 {
        let next = self.mentioned_types.len() as u32;
        let known = if raw_id < SMALL_ID_LIMIT as u64 {
            &mut self.numbers_by_small_id[raw_id as usize]
        } else {
            self.numbers_by_large_id.entry(raw_id).or_insert(UNSEEN_TYPE)
        };
        if *known == UNSEEN_TYPE {
            *known = next;
            self.mentioned_types.push((raw_id, line));
        }
        *known
    }

    /// Forgets which ids were seen, for a section with ids of its own; numbers go on.
    pub(super) fn begin_part(&mut self) {
        for &(raw_id, _) in &self.mentioned_types[self.part_start..] {
            if raw_id < SMALL_ID_LIMIT as u64 {
                self.numbers_by_small_id[raw_id as usize] = UNSEEN_TYPE;
            }
        }
        self.numbers_by_large_id.clear();
        self.part_start = self.mentioned_types.len();
    }

    /// Bytes of memory it has, used or not.
    pub(super) fn memory_bytes(&self) -> usize {
        // An entry of the map, with its share of free places.
        4 * self.numbers_by_small_id.capacity()
            + 24 * self.numbers_by_large_id.capacity()
            + 16 * self.mentioned_types.capacity()
    }

    /// Forgets everything, keeping the memory.
    pub(super) fn clear(&mut self) {
        self.begin_part();
        self.mentioned_types.clear();
        self.part_start = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_limits() {
        assert_eq!(hex(b"1cE0 x"), Ok((&b" x"[..], 0x1ce0)));
        assert_eq!(hex(b"ffffffffffffffff"), Ok((&b""[..], u64::MAX)));
        assert!(hex(b"12345678901234567").is_err());
        assert!(hex(b"").is_err() && hex(b"zz").is_err());
        assert_eq!(decimal(b"18446744073709551615]"), Ok((&b"]"[..], u64::MAX)));
        assert!(decimal(b"18446744073709551616").is_err());
        assert_eq!(hex_field(b"0X1f"), Some(0x1f));
        assert_eq!(hex_field(b"0x"), None);
        assert_eq!(hex_field(b"+1"), None);
    }

    #[test]
    fn letters_are_found_in_the_value() {
        for value in 0..70_000u64 {
            assert_eq!(
                has_hex_letter(value),
                format!("{value:x}").bytes().any(|b| b.is_ascii_alphabetic()),
                "{value:x}"
            );
        }
    }
}
