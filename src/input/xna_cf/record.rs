//! nom parsers, one function per record letter.
//!
//! `object_head` and `reference` are the hot path: single blanks, no `0x`, no error data, and no combinators, which a plain
//! release build calls out of line (`stats` 1.9 times as long). A line they do not take is read again field by field by the
//! others, which allow all that the format's document allows.

use nom::combinator::{map_opt, opt};
use nom::{Err, IResult, Parser};

use crate::input::options::SizeRadix;
use crate::input::text::{decimal_field, hex, hex_field, is_blank, split_field, trim};

/// One blank and a number behind it.
#[inline]
fn field(input: &[u8]) -> IResult<&[u8], u64, ()> {
    match input {
        [b' ', number @ ..] => hex(number),
        _ => Err(Err::Error(())),
    }
}

/// A blank or a line end, as behind any field; it is not taken.
#[inline]
fn field_end(input: &[u8]) -> IResult<&[u8], (), ()> {
    match input.first() {
        Some(&byte) if is_blank(byte) => Ok((input, ())),
        _ => Err(Err::Error(())),
    }
}

/// `"o" SP objectid SP typeid SP size`, hexadecimal: (object id, type id, bytes).
#[inline]
pub(super) fn object_head(input: &[u8]) -> IResult<&[u8], (u64, u64, u64), ()> {
    let [b'o', rest @ ..] = input else { return Err(Err::Error(())) };
    let (rest, id) = field(rest)?;
    let (rest, type_id) = field(rest)?;
    let (rest, bytes) = field(rest)?;
    let (rest, ()) = field_end(rest)?;
    Ok((rest, (id, type_id, bytes)))
}

/// `SP objectid`: one reference.
#[inline]
pub(super) fn reference(input: &[u8]) -> IResult<&[u8], u64, ()> {
    let (rest, id) = field(input)?;
    field_end(rest).map(|(rest, ())| (rest, id))
}

pub(super) struct ObjectHead {
    pub(super) id: u64,
    pub(super) type_id: u64,
    pub(super) bytes: u64,
}

/// A field with what separates it from the one before.
fn word(input: &[u8]) -> IResult<&[u8], &[u8], ()> {
    match split_field(input) {
        ([], _) => Err(Err::Error(())),
        (word, rest) => Ok((rest, word)),
    }
}

/// A hexadecimal field, `0x` allowed.
fn number(input: &[u8]) -> IResult<&[u8], u64, ()> {
    map_opt(word, hex_field).parse(input)
}

/// `objectid SP typeid SP size { SP objectid }` behind the `o`: the head, and the fields behind it.
pub(super) fn object_fields(fields: &[u8], radix: SizeRadix) -> Option<(ObjectHead, &[u8])> {
    let size = |word: &[u8]| match radix {
        SizeRadix::Hex => hex_field(word),
        SizeRadix::Dec => decimal_field(word),
    };
    let (rest, (id, type_id, bytes)) = (number, number, map_opt(word, size)).parse(fields).ok()?;
    Some((ObjectHead { id, type_id, bytes }, rest))
}

/// `typeid [ SP typename ]` behind the `t`: the id and the name, which may be empty.
pub(super) fn type_record(fields: &[u8]) -> Option<(u64, &[u8])> {
    let (name, id) = number(fields).ok()?;
    Some((id, trim(name)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RootLine {
    pub(super) object: u64,
    pub(super) kind: u64,
    pub(super) flags: u64,
    /// A field behind the flags: `Some(None)` when it is not a number.
    pub(super) container: Option<Option<u64>>,
    pub(super) has_trailing_fields: bool,
}

/// `objectid SP kind SP flags [ SP typeid ]` behind the `r`.
pub(super) fn root_record(fields: &[u8]) -> Option<RootLine> {
    let (rest, (object, kind, flags, container)) = (number, number, number, opt(word)).parse(fields).ok()?;
    let container = container.map(hex_field);
    Some(RootLine { object, kind, flags, container, has_trailing_fields: !trim(rest).is_empty() })
}

/// `version SP name [ SP time ]` behind the `a`: the version, and name and time together, not empty.
pub(super) fn app_domain(fields: &[u8]) -> Option<(u64, &[u8])> {
    let (name, version) = number(fields).ok()?;
    Some((version, trim(name))).filter(|(_, name)| !name.is_empty())
}

/// Is this the line a dump begins with: `a`, one or two decimal digits, something?
pub(super) fn is_app_domain_line(line: &[u8]) -> bool {
    let (letter, rest) = split_field(line);
    let (version, rest) = split_field(rest);
    letter == b"a"
        && matches!(version.len(), 1 | 2)
        && version.iter().all(u8::is_ascii_digit)
        && !split_field(rest).0.is_empty()
}

/// Splits `name [ SP time ]` of an `a` or `c` record where the last word can only be a time: 5 to 8 hexadecimal digits
/// with a decimal digit among them, or exactly 8, and a name before it. `Room 101` and `Dead Face` are names.
pub(super) fn split_time(text: &[u8]) -> (&[u8], Option<u64>) {
    let Some((name, word)) = split_last_word(text) else { return (text, None) };
    let digits = word.strip_prefix(b"0x").or(word.strip_prefix(b"0X")).unwrap_or(word);
    let plausible = matches!(digits.len(), 5..=7) && digits.iter().any(u8::is_ascii_digit) || digits.len() == 8;
    match hex_field(word) {
        Some(time) if plausible => (name, Some(time)),
        _ => (text, None),
    }
}

/// Splits the last word off as a number, whatever its length, if a name remains before it.
pub(super) fn split_last_number(text: &[u8]) -> Option<(&[u8], u64)> {
    let (name, word) = split_last_word(text)?;
    Some((name, hex_field(word)?))
}

fn split_last_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().rposition(|&byte| is_blank(byte))?;
    let name = trim(&text[..at]);
    (!name.is_empty()).then_some((name, &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_need_single_blanks_and_an_end() {
        assert_eq!(object_head(b"o 7c79f 1d 118 7cb42\n"), Ok((&b" 7cb42\n"[..], (0x7c79f, 0x1d, 0x118))));
        assert!(object_head(b"o 1 2 3x\n").is_err());
        assert!(object_head(b"o 1  2 3\n").is_err());
        assert!(object_head(b"o 1 2 3").is_err());
        assert_eq!(reference(b" 0\n"), Ok((&b"\n"[..], 0)));
        assert!(reference(b" zz\n").is_err());
    }

    #[test]
    fn last_words_that_can_only_be_times() {
        assert_eq!(split_time(b"My Space Game.exe 763f9d2"), (&b"My Space Game.exe"[..], Some(0x763f9d2)));
        assert_eq!(split_time(b"NHLSchedule.exe 444d20df"), (&b"NHLSchedule.exe"[..], Some(0x444d20df)));
        for name in [&b"Dead Face"[..], b"Room 101", b"cafe1234", b"Ship 1f3a", b"a face0ff1c", b"a abcdef"] {
            assert_eq!(split_time(name), (name, None));
        }
        assert_eq!(split_time(b"a abcdefab").1, Some(0xabcd_efab));
    }
}
