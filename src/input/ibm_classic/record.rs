//! nom parsers for heads, references, the version line and the two trailer lines. Heads and references are the hot path:
//! without combinators, which a plain release build calls out of line for each byte they look at.

use nom::branch::alt;
use nom::bytes::complete::tag;
use nom::character::complete::multispace0;
use nom::sequence::{delimited, preceded};
use nom::{Err, IResult, Parser};

use crate::input::text::{decimal, hex, is_blank, split_field, trim};

/// Is a record an object or a class?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordWord {
    Object,
    Class,
}

/// The head of a record as J9 writes it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RecordHead<'a> {
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) word: RecordWord,
    pub(super) type_name: &'a [u8],
}

/// Exactly `width` hexadecimal digits, 8 or 16: addresses never have another length within one dump.
#[inline]
pub(super) fn address(input: &[u8], width: usize) -> IResult<&[u8], u64, ()> {
    let Some((digits, rest)) = input.split_at_checked(width) else { return Err(Err::Error(())) };
    let mut halves = digits.as_chunks::<8>().0.iter().map(|half| eight_digits(*half));
    let first = halves.next().flatten().ok_or(Err::Error(()))?;
    match halves.next() {
        None => Ok((rest, u64::from(first))),
        Some(Some(second)) => Ok((rest, u64::from(first) << 32 | u64::from(second))),
        Some(None) => Err(Err::Error(())),
    }
}

/// Eight digits at once, no branch among them.
#[inline]
fn eight_digits(digits: [u8; 8]) -> Option<u32> {
    let mut all = 0;
    let mut value = 0u32;
    for digit in digits {
        let digit = crate::input::text::hex_digit(digit);
        all |= digit;
        value = value << 4 | u32::from(digit & 0xF);
    }
    (all <= 0xF).then_some(value)
}

/// `0xADDR`
#[inline]
fn prefixed_address(input: &[u8], width: usize) -> IResult<&[u8], u64, ()> {
    match input {
        [b'0', b'x', digits @ ..] => address(digits, width),
        _ => Err(Err::Error(())),
    }
}

/// `0xADDR [n] OBJ type` or `CLS`, alone on its line, in the exact spacing of the virtual machine.
#[inline]
pub(super) fn head(input: &[u8], width: usize) -> IResult<&[u8], RecordHead<'_>, ()> {
    let (rest, address) = prefixed_address(input, width)?;
    let [b' ', b'[', rest @ ..] = rest else { return Err(Err::Error(())) };
    let (rest, bytes) = decimal(rest)?;
    let (word, rest) = match rest {
        [b']', b' ', b'O', b'B', b'J', b' ', rest @ ..] => (RecordWord::Object, rest),
        [b']', b' ', b'C', b'L', b'S', b' ', rest @ ..] => (RecordWord::Class, rest),
        _ => return Err(Err::Error(())),
    };
    let end = memchr::memchr3(b'\n', b' ', b'\t', rest).ok_or(Err::Error(()))?;
    if rest[end] != b'\n' {
        return Err(Err::Error(()));
    }
    let name = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
    if name.is_empty() || name.contains(&b'\r') {
        return Err(Err::Error(()));
    }
    Ok((&rest[end + 1..], RecordHead { address, bytes, word, type_name: name }))
}

/// `0xREF` and a blank.
#[inline]
pub(super) fn reference(input: &[u8], width: usize) -> IResult<&[u8], u64, ()> {
    let (rest, address) = prefixed_address(input, width)?;
    match rest {
        [b' ', rest @ ..] => Ok((rest, address)),
        _ => Err(Err::Error(())),
    }
}

/// A hexadecimal word with its prefix: (value, digits). Digits past 16 make it unreadable.
pub(super) fn hex_word(word: &[u8]) -> Option<(u64, usize)> {
    let digits = without_hex_prefix(word)?;
    match hex(digits) {
        Ok(([], value)) => Some((value, digits.len())),
        _ => None,
    }
}

fn without_hex_prefix(word: &[u8]) -> Option<&[u8]> {
    word.strip_prefix(b"0x").or_else(|| word.strip_prefix(b"0X"))
}

/// Looks the word like an address, readable or not?
pub(super) fn is_address_like(word: &[u8]) -> bool {
    without_hex_prefix(word).is_some()
}

/// `[n]`
pub(super) fn size_word(word: &[u8]) -> Option<u64> {
    let digits = word.strip_prefix(b"[")?.strip_suffix(b"]")?;
    match decimal(digits) {
        Ok(([], value)) => Some(value),
        _ => None,
    }
}

/// `// Version:` and the rest of the line.
pub(super) fn version(line: &[u8]) -> Option<&[u8]> {
    let parsed: IResult<&[u8], &[u8], ()> = preceded((tag("//"), multispace0), tag("Version:")).parse(line);
    parsed.ok().map(|(rest, _)| trim(rest))
}

/// Does the line begin with an address and a size?
pub(super) fn begins_record(line: &[u8]) -> bool {
    let (address, rest) = split_field(line);
    hex_word(address).is_some() && size_word(split_field(rest).0).is_some()
}

/// Does it go on with `OBJ` or `CLS`?
pub(super) fn names_object_or_class(line: &[u8]) -> bool {
    let rest = split_field(split_field(line).1).1;
    begins_record(line) && matches!(split_field(rest).0, b"OBJ" | b"CLS")
}

/// `// Breakdown`: the dump's own record counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Breakdown {
    pub(super) classes: u64,
    pub(super) objects: u64,
    pub(super) object_arrays: u64,
    pub(super) primitive_arrays: u64,
    /// No blank after the colons, as only jdmpview writes it.
    pub(super) is_compact: bool,
}

/// `// EOF`: the dump's own totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TrailerTotals {
    pub(super) records: u64,
    pub(super) references: u64,
    /// `None` where the part in brackets is not there.
    pub(super) nulls: Option<u64>,
}

/// A word with blanks or line ends before it, as trailers are wrapped anywhere between words.
fn word<'a>(text: &'static str) -> impl Parser<&'a [u8], Output = &'a [u8], Error = ()> {
    preceded(multispace0, tag(text))
}

fn number(input: &[u8]) -> IResult<&[u8], u64, ()> {
    preceded(multispace0, decimal).parse(input)
}

/// Blanks up to a line end, which is left; what ends with the file may have lost its rest.
fn blanks_to_line_end(input: &[u8]) -> IResult<&[u8], (), ()> {
    let blanks = input.iter().take_while(|&&byte| byte != b'\n' && is_blank(byte)).count();
    match &input[blanks..] {
        rest @ [b'\n', ..] => Ok((rest, ())),
        _ => Err(Err::Error(())),
    }
}

/// `// Breakdown - Classes: c, Objects: o, ObjectArrays: a, PrimitiveArrays: p`
pub(super) fn breakdown(input: &[u8]) -> IResult<&[u8], Breakdown, ()> {
    let (rest, (_, (blanks, classes), objects, object_arrays, primitive_arrays)) = (
        (word("//"), word("Breakdown"), word("-")),
        (preceded(word("Classes:"), multispace0), decimal),
        preceded((word(","), word("Objects:")), number),
        preceded((word(","), word("ObjectArrays:")), number),
        preceded((word(","), word("PrimitiveArrays:")), number),
    )
        .parse(input)?;
    Ok((rest, Breakdown { classes, objects, object_arrays, primitive_arrays, is_compact: blanks.is_empty() }))
}

/// `// EOF:  Total 'Objects',Refs(null) : t,r(n)`; `(n)` may be missing where the line ends.
pub(super) fn trailer_totals(input: &[u8]) -> IResult<&[u8], TrailerTotals, ()> {
    let (rest, (_, records, references, nulls)) = (
        (word("//"), word("EOF:"), word("Total"), word("'Objects',Refs(null)"), word(":")),
        number,
        preceded(word(","), number),
        alt((delimited(word("("), number, word(")")).map(Some), blanks_to_line_end.map(|()| None))),
    )
        .parse(input)?;
    Ok((rest, TrailerTotals { records, references, nulls }))
}

/// The usable part of a text that ends without a line end: without its last word unless a blank follows it, and without a
/// head that is not complete. Trailer lines are left whole: their own parsers know whether they are.
pub(super) fn without_cut_word(text: &[u8]) -> &[u8] {
    let line_start = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
    let line = &text[line_start..];
    // (offset in the line, word)
    let mut words: Vec<(usize, &[u8])> = Vec::new();
    let mut rest = line;
    loop {
        let (word, after) = split_field(rest);
        if word.is_empty() {
            break;
        }
        words.push((line.len() - after.len() - word.len(), word));
        rest = after;
    }
    let (Some(&(last_start, last)), Some(&(_, first))) = (words.last(), words.first()) else { return text };
    if first.starts_with(b"//") {
        return text;
    }
    let is_cut = !line.last().copied().is_some_and(is_blank);
    let is_head =
        |at: usize| is_address_like(words[at].1) && words.get(at + 1).is_some_and(|(_, next)| next.starts_with(b"["));
    let end = match (0..words.len()).rev().find(|&at| is_head(at)) {
        Some(head) => {
            let behind = &words[head + 2..];
            let is_named = match behind {
                [(_, b"OBJ" | b"CLS"), (_, _name), more @ ..] => !is_cut || !more.is_empty(),
                [(_, b"OBJ" | b"CLS")] | [] => false,
                // Shape D: the name goes on to the line end or the next address.
                [_, more @ ..] => !is_cut || more.iter().any(|(_, word)| is_address_like(word)),
            };
            match (is_named, is_cut) {
                (false, _) => words[head].0,
                (true, true) => last_start,
                (true, false) => line.len(),
            }
        }
        // A lone address where heads begin: its size may have been cut off.
        None if words.len() == 1 && last_start == 0 && is_address_like(last) => 0,
        None if is_cut => last_start,
        None => line.len(),
    };
    &text[..line_start + end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_both_widths() {
        let (rest, found) = head(b"0x00436E90 [28] OBJ java/lang/String\r\n\t", 8).unwrap();
        assert_eq!(rest, b"\t");
        assert_eq!(
            found,
            RecordHead { address: 0x436e90, bytes: 28, word: RecordWord::Object, type_name: b"java/lang/String" }
        );
        let (_, found) = head(b"0x00007f0000436E90 [28] CLS [C\n", 16).unwrap();
        assert_eq!((found.address, found.word), (0x7f00_0043_6e90, RecordWord::Class));
        assert!(head(b"0x00436E90 [28] java/lang/String\n", 8).is_err());
        assert!(head(b"0x00436E9G [28] OBJ a\n", 8).is_err());
    }

    #[test]
    fn trailers_wrapped_and_in_both_spacings() {
        let wrapped = b"// Breakdown - Classes: 321, Objects: 3718, ObjectArrays: 169, \nPrimitiveArrays: 2141\n";
        let found =
            Breakdown { classes: 321, objects: 3718, object_arrays: 169, primitive_arrays: 2141, is_compact: false };
        assert_eq!(breakdown(wrapped), Ok((&b"\n"[..], found)));
        let found = TrailerTotals { records: 6349, references: 23240, nulls: Some(7282) };
        assert_eq!(trailer_totals(b"// EOF:  Total 'Objects',Refs(null) : 6349,23240(7282)"), Ok((&b""[..], found)));
        assert_eq!(trailer_totals(b"// EOF: Total 'Objects',Refs(null) :6349,23240(7282)"), Ok((&b""[..], found)));
        assert!(trailer_totals(b"// EOF:  Total 'Objects',Refs(null) : 6349,232").is_err());
        assert!(trailer_totals(b"// EOF:  Total 'Objects',Refs(null) : 6349,23240(72\n").is_err());
        let found = TrailerTotals { nulls: None, ..found };
        assert_eq!(trailer_totals(b"// EOF:  Total 'Objects',Refs(null) : 6349,23240 \r\n"), Ok((&b"\n"[..], found)));
    }

    #[test]
    fn what_a_cut_leaves() {
        assert_eq!(without_cut_word(b"x\n\t0x10 0x2"), b"x\n\t0x10 ");
        assert_eq!(without_cut_word(b"x\n0x10 [12] OBJ java/la"), b"x\n");
        assert_eq!(without_cut_word(b"x\n\t0x10 0x20 "), b"x\n\t0x10 0x20 ");
        assert_eq!(without_cut_word(b"// EOF: Tot"), b"// EOF: Tot");
        assert_eq!(without_cut_word(b"0x1"), b"");
        assert_eq!(without_cut_word(b"x\n0x10 [2"), b"x\n");
        assert_eq!(without_cut_word(b"x\n0x10 "), b"x\n");
        assert_eq!(without_cut_word(b"x\n0x10 [24] OBJ "), b"x\n");
        assert_eq!(without_cut_word(b"x\n0x10 [24] OBJ B 0x20 0x3"), b"x\n0x10 [24] OBJ B 0x20 ");
        assert_eq!(without_cut_word(b"x\n\t0x20 0x10 [24] OBJ B"), b"x\n\t0x20 ");
        assert_eq!(without_cut_word(b"x\n0x10 [24] array of a/B"), b"x\n");
        assert_eq!(without_cut_word(b"x\n0x10 [24] a/B 0x2"), b"x\n0x10 [24] a/B ");
    }
}
