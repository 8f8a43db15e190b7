//! A cursor over the JSON subset that Chromium writes (no escapes, signs or fractions). It returns `None` on anything else;
//! the caller falls back to serde_json.

use super::raw_ids::{RawId, parse_plain_decimal};
use crate::input::text::hex_digit;

/// The cursor. Every method returns `None` where the text is not of the subset.
pub(super) struct SimpleJsonCursor<'a> {
    json: &'a [u8],
    pub(super) offset: usize,
}

impl<'a> SimpleJsonCursor<'a> {
    /// Begins behind the first bytes.
    pub(super) fn new(json: &'a [u8], at: usize) -> Self {
        SimpleJsonCursor { json, offset: at }
    }

    #[inline]
    pub(super) fn remaining(&self) -> &'a [u8] {
        &self.json[self.offset..]
    }

    /// The next byte that is no blank.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.json.get(self.offset)? {
                b' ' | b'\t' | b'\r' | b'\n' => self.offset += 1,
                byte => return Some(byte),
            }
        }
    }

    /// The next byte that is no blank, passed.
    #[inline]
    pub(super) fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.offset += 1;
        Some(byte)
    }

    #[inline]
    pub(super) fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    /// Elements up to the closing bracket; at least one.
    #[inline]
    pub(super) fn for_each_element(&mut self, mut element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        loop {
            element(self)?;
            match self.next()? {
                b',' => {}
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    /// The members of an object; at least one.
    #[inline]
    pub(super) fn for_each_member(&mut self, mut member: impl FnMut(&mut Self, &[u8]) -> Option<()>) -> Option<()> {
        self.expect(b'{')?;
        loop {
            self.expect(b'"')?;
            let key = self.string()?;
            self.expect(b':')?;
            member(self, key)?;
            match self.next()? {
                b',' => {}
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// A string behind its quote, without escapes.
    #[inline]
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let rest = &self.json[self.offset..];
        let length = rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < b' ')?;
        self.offset += length + 1;
        (rest[length] == b'"').then(|| &rest[..length])
    }

    /// A number without sign, fraction and exponent: what follows it is seen by whoever reads on.
    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        self.peek()?;
        let rest = &self.json[self.offset..];
        let length = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        self.offset += length;
        parse_plain_decimal(&rest[..length])
    }

    #[inline]
    pub(super) fn id(&mut self) -> Option<RawId> {
        self.expect(b'"')?;
        let rest = &self.json[self.offset..];
        let length = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        self.offset += length + 1;
        if rest[length] != b'"' {
            return None;
        }
        if length == 0 {
            Some(RawId::EMPTY_TEXT)
        } else {
            RawId::of_short_number(parse_plain_decimal(&rest[..length])?)
        }
    }

    /// Up to 16 hexadecimal digits in quotes.
    #[inline]
    pub(super) fn hex(&mut self) -> Option<u64> {
        self.expect(b'"')?;
        let (start, mut number) = (self.offset, 0u64);
        loop {
            let byte = *self.json.get(self.offset)?;
            let digit = hex_digit(byte);
            if digit > 15 {
                let length = self.offset - start;
                self.offset += 1;
                return (byte == b'"' && (1..=16).contains(&length)).then_some(number);
            }
            number = number << 4 | u64::from(digit);
            self.offset += 1;
        }
    }

    /// Passes a key's letters, its quote, and the colon.
    #[inline]
    pub(super) fn pass_key(&mut self, letters: usize) -> Option<()> {
        self.offset += letters + 1;
        self.expect(b':')
    }
}
