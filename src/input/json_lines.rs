//! JSON objects that each stand on a line of their own, field by field: no tree is made, and no text copied.

use std::borrow::Cow;

use super::blocks::TextBlockContext;
use super::problem_codes::PADDING;
use super::text::{decimal, decimal_field, hex, hex_field, is_blank, split_line, trim};
use super::{Diagnostics, Position, ProblemCode};

/// The value of a field, as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RawValue<'a> {
    /// A text without its quotes, escapes left in it.
    Text(&'a [u8]),
    /// The inside of an array.
    Array(&'a [u8]),
    /// An object, a number, `true`, `false` or `null`.
    Other(&'a [u8]),
}

impl<'a> RawValue<'a> {
    /// A whole number, or a text that is a hexadecimal one.
    pub(super) fn id(self) -> Option<u64> {
        match self {
            RawValue::Text(text) => hex_field(text),
            other => other.number(),
        }
    }

    /// A whole number.
    pub(super) fn number(self) -> Option<u64> {
        if let RawValue::Other(number) = self { decimal_field(number) } else { None }
    }

    /// The inside of an array, if it is one.
    pub(super) fn array(self) -> Option<&'a [u8]> {
        if let RawValue::Array(array) = self { Some(array) } else { None }
    }

    /// As it stands in the line.
    pub(super) fn json(self) -> Vec<u8> {
        match self {
            RawValue::Text(text) => [b"\"", text, b"\""].concat(),
            RawValue::Array(array) => [b"[", array, b"]"].concat(),
            RawValue::Other(other) => other.to_vec(),
        }
    }

    /// The text, if it is one.
    pub(super) fn text(self) -> Option<&'a [u8]> {
        if let RawValue::Text(text) = self { Some(text) } else { None }
    }
}

/// A key and its value.
pub(super) type JsonField<'a> = (&'a [u8], RawValue<'a>);

/// The line is no JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MalformedLine;

/// Codes for lines that are no JSON object: one in the middle, and the last one of a file that is cut.
pub(super) struct LineCodes {
    pub(super) malformed: &'static ProblemCode,
    pub(super) truncated: &'static ProblemCode,
}

/// Calls `parse` with the number, from 1, and the text of each line of a block. Returns the number of lines, whether the
/// input ends within the last of them, and the problems.
pub(super) fn parse_lines(
    text: &[u8],
    place: TextBlockContext,
    codes: &LineCodes,
    mut parse: impl FnMut(u64, &[u8]) -> Result<(), MalformedLine>,
) -> (u64, bool, Diagnostics) {
    let (mut rest, mut lines, mut is_cut, mut diagnostics) = (text, 0, false, Diagnostics::default());
    while !rest.is_empty() {
        let (line, behind) = split_line(rest);
        let is_last = place.is_last && behind.is_empty() && !rest.ends_with(b"\n");
        rest = behind;
        lines += 1;
        if let Err(MalformedLine) = parse(lines, line)
            && !line.iter().all(|&byte| is_blank(byte) || byte == 0)
        {
            is_cut |= is_last;
            diagnostics.add_on_line(if is_last { codes.truncated } else { codes.malformed }, lines, line);
        }
    }
    let at = Position::Line(lines.max(1));
    diagnostics
        .add(&PADDING, place.skipped_padding_bytes.min(1), at, || format!("{} bytes", place.skipped_padding_bytes));
    (lines, is_cut, diagnostics)
}

/// The fields of the object on a line.
#[derive(Debug, Clone)]
pub(super) struct JsonFields<'a> {
    line: &'a [u8],
    offset: usize,
    /// No field has been read yet.
    is_first: bool,
}

impl<'a> JsonFields<'a> {
    /// Begins with the first field. Error: if the line has no `{`.
    pub(super) fn of_line(line: &'a [u8]) -> Result<Self, MalformedLine> {
        let line = trim(line);
        if line.first() == Some(&b'{') {
            Ok(JsonFields { line, offset: 1, is_first: true })
        } else {
            Err(MalformedLine)
        }
    }

    /// The next key and value; `None` behind the last. Error: if the line breaks off, or something stands behind the
    /// object. Keys, numbers and what is nested are not checked further than to find their ends.
    #[inline]
    pub(super) fn next_field(&mut self) -> Result<Option<JsonField<'a>>, MalformedLine> {
        let line = self.line;
        let mut at = skip_blanks(line, self.offset);
        match line.get(at) {
            Some(b'}') => return if at + 1 == line.len() { Ok(None) } else { Err(MalformedLine) },
            Some(b',') if !self.is_first => at = skip_blanks(line, at + 1),
            _ if !self.is_first => return Err(MalformedLine),
            _ => {}
        }
        self.is_first = false;
        if line.get(at) != Some(&b'"') {
            return Err(MalformedLine);
        }
        let key_end = text_end(line, at + 1)?;
        let key = &line[at + 1..key_end];
        at = skip_blanks(line, key_end + 1);
        if line.get(at) != Some(&b':') {
            return Err(MalformedLine);
        }
        let (value, end) = parse_value(line, skip_blanks(line, at + 1))?;
        self.offset = end;
        Ok(Some((key, value)))
    }
}

#[inline(always)]
pub(super) fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Words that are looked at one by one, before what takes more time to begin with and less for each byte.
const MAX_WORDS_SCANNED_SINGLY: usize = 4;
const ONE_IN_EACH_BYTE: u64 = 0x0101_0101_0101_0101;

/// The high bits of the bytes of a word that are equal to `byte`, and at times of some above the lowest of them.
#[inline(always)]
fn mask_of_equal_bytes(word: u64, byte: u8) -> u64 {
    mask_of_lesser_bytes(word ^ (ONE_IN_EACH_BYTE * u64::from(byte)), 1)
}

/// The same of bytes less than `byte`, which is at most 128.
#[inline(always)]
fn mask_of_lesser_bytes(word: u64, byte: u8) -> u64 {
    word.wrapping_sub(ONE_IN_EACH_BYTE * u64::from(byte)) & !word & ONE_IN_EACH_BYTE << 7
}

/// The first place from `offset` where `in_word` finds a byte of its kind; `in_text` finds the same in what is far.
#[inline(always)]
fn find_byte_by_words(
    text: &[u8],
    mut at: usize,
    in_word: impl Fn(u64) -> u64,
    in_text: impl Fn(&[u8]) -> Option<usize>,
) -> Option<usize> {
    for _ in 0..MAX_WORDS_SCANNED_SINGLY {
        let Some(word) = text.get(at..at + 8).and_then(|word| word.first_chunk()) else { break };
        let found = in_word(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    in_text(text.get(at..)?).map(|found| at + found)
}

/// The place of the quote that ends a text, which begins at `offset`.
#[inline(always)]
pub(super) fn text_end(text: &[u8], mut at: usize) -> Result<usize, MalformedLine> {
    loop {
        let in_word = |word| mask_of_equal_bytes(word, b'"') | mask_of_equal_bytes(word, b'\\');
        at = find_byte_by_words(text, at, in_word, |text| memchr::memchr2(b'"', b'\\', text)).ok_or(MalformedLine)?;
        if text[at] == b'"' {
            return Ok(at);
        }
        at += 2;
    }
}

/// The value at a place, and where it ends.
#[inline(always)]
pub(super) fn parse_value(text: &[u8], at: usize) -> Result<(RawValue<'_>, usize), MalformedLine> {
    match text.get(at) {
        Some(b'"') => text_end(text, at + 1).map(|end| (RawValue::Text(&text[at + 1..end]), end + 1)),
        Some(b'[') => nested_end(text, at).map(|end| (RawValue::Array(&text[at + 1..end - 1]), end)),
        Some(b'{') => nested_end(text, at).map(|end| (RawValue::Other(&text[at..end]), end)),
        _ => {
            let in_word = |word| {
                mask_of_equal_bytes(word, b',') | mask_of_equal_bytes(word, b'}') | mask_of_lesser_bytes(word, b' ' + 1)
            };
            let is_end = |byte: &u8| matches!(byte, 0..=b' ' | b',' | b'}');
            let end = find_byte_by_words(text, at, in_word, |text| text.iter().position(is_end));
            let end = end.filter(|&end| end > at).ok_or(MalformedLine)?;
            Ok((RawValue::Other(&text[at..end]), end))
        }
    }
}

/// The end of the array or object at a place. Brackets are counted, not matched.
fn nested_end(text: &[u8], start: usize) -> Result<usize, MalformedLine> {
    let inside = &text[start + 1..];
    let close = if text[start] == b'[' { b']' } else { b'}' };
    // An array of numbers.
    if let Some(end) = memchr::memchr3(close, b'"', b'[', inside)
        && inside[end] == close
    {
        return Ok(start + end + 2);
    }
    // A flat one without escapes, as most are: its first bracket stands outside of a text.
    if let Some(end) = memchr::memchr(close, inside)
        && memchr::memchr3(b'[', b'{', b'\\', &inside[..end]).is_none()
        && memchr::memchr_iter(b'"', &inside[..end]).count().is_multiple_of(2)
    {
        return Ok(start + end + 2);
    }
    let (mut depth, mut at) = (0u64, start);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at = text_end(text, at + 1)?,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Ok(at);
        }
    }
    Err(MalformedLine)
}

/// Ids in an array, one by one; `None` for an element that is none.
pub(super) fn ids(array: &[u8]) -> impl Iterator<Item = Option<u64>> {
    let mut at = skip_blanks(array, 0);
    std::iter::from_fn(move || {
        let rest = array.get(at..).filter(|rest| !rest.is_empty())?;
        let plain = match rest {
            [b'"', b'0', b'x', digits @ ..] => match hex(digits) {
                Ok(([b'"', behind @ ..], id)) => Some((id, behind)),
                _ => None,
            },
            [b'0'..=b'9', ..] => match decimal(rest) {
                Ok((behind @ ([] | [b',' | b' ', ..]), id)) => Some((id, behind)),
                _ => None,
            },
            _ => None,
        };
        let (id, end) = match plain {
            Some((id, behind)) => (Some(id), array.len() - behind.len()),
            None => {
                let (value, end) = parse_element(array, at);
                (value.id(), end)
            }
        };
        at = next_element_offset(array, end);
        Some(id)
    })
}

/// The element of an array at a place, and where it ends.
fn parse_element(array: &[u8], at: usize) -> (RawValue<'_>, usize) {
    // A number at the end of the array has nothing behind it.
    parse_value(array, at).unwrap_or((RawValue::Other(&array[at..]), array.len()))
}

/// The place of the next element of an array.
#[inline(always)]
fn next_element_offset(array: &[u8], end: usize) -> usize {
    let at = skip_blanks(array, end);
    skip_blanks(array, at + usize::from(array.get(at) == Some(&b',')))
}

/// Elements of an array, one by one, as they stand.
pub(super) fn array_elements(array: &[u8]) -> impl Iterator<Item = RawValue<'_>> {
    let mut at = skip_blanks(array, 0);
    std::iter::from_fn(move || {
        if at >= array.len() {
            return None;
        }
        let (value, end) = parse_element(array, at);
        at = next_element_offset(array, end);
        Some(value)
    })
}

/// A text with its escapes read; one that breaks the rules as it stands, bytes that are no UTF-8 replaced.
pub(super) fn unescaped(text: &[u8]) -> Cow<'_, str> {
    if memchr::memchr(b'\\', text).is_some() {
        let quoted = [b"\"", text, b"\""].concat();
        if let Ok(text) = serde_json::from_slice::<String>(&quoted) {
            return Cow::Owned(text);
        }
    }
    String::from_utf8_lossy(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str) -> Result<Vec<(String, String)>, MalformedLine> {
        let mut fields = JsonFields::of_line(line.as_bytes())?;
        let mut all = Vec::new();
        while let Some((key, value)) = fields.next_field()? {
            let (RawValue::Text(text) | RawValue::Array(text) | RawValue::Other(text)) = value;
            all.push((String::from_utf8_lossy(key).into_owned(), String::from_utf8_lossy(text).into_owned()));
        }
        Ok(all)
    }

    #[test]
    fn fields_come_as_they_stand() {
        let line = r#" {"a":"x\"}", "b" : [1, ["]"], {"c":"["}],"d":{"e":[{}]} ,"f":-1.5e3,"g":null} "#;
        assert_eq!(fields(r#"{"a":["x]y","z"],"b":[],"c":["\"]"]}"#).map(|fields| fields.len()), Ok(3));
        let expected =
            [("a", r#"x\"}"#), ("b", r#"1, ["]"], {"c":"["}"#), ("d", r#"{"e":[{}]}"#), ("f", "-1.5e3"), ("g", "null")];
        assert_eq!(fields(line), Ok(expected.map(|(a, b)| (a.to_string(), b.to_string())).into()));
        assert_eq!(fields("{}"), Ok(Vec::new()));
    }

    #[test]
    fn every_cut_of_a_line_is_malformed() {
        let line =
            r#"{"address":"0x1", "type":"A\\", "references":["0x2", "0x3"], "memsize":40, "flags":{"old":true}}"#;
        assert_eq!(fields(line).map(|fields| fields.len()), Ok(5));
        for end in 0..line.len() {
            assert_eq!(fields(&line[..end]), Err(MalformedLine), "{end}");
        }
        assert_eq!(fields(&format!("{line}x")), Err(MalformedLine));
        for bad in ["[]", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1 \"b\":2}", "{\"a\":1,,\"b\":2}"] {
            assert_eq!(fields(bad), Err(MalformedLine), "{bad}");
        }
    }

    #[test]
    fn ids_are_hexadecimal_texts_or_numbers() {
        let read: Vec<_> =
            ids(br#" "0x1f", "0xFFFFFFFFFFFFFFFF","x", 7 ,18446744073709551615,1.5,-1,"1f","0x",null,8"#).collect();
        let none = None;
        let max = Some(u64::MAX);
        assert_eq!(read, [Some(0x1f), max, none, Some(7), max, none, none, Some(0x1f), none, none, Some(8)]);
        assert_eq!(ids(b" ").count(), 0);
    }

    #[test]
    fn elements_come_as_they_stand() {
        let (text, number) = (RawValue::Text, RawValue::Other);
        let expected = [text(b"a]"), number(b"null"), RawValue::Array(b"1"), number(b"7")];
        assert_eq!(array_elements(br#""a]", null ,[1],7"#).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn escapes_are_read_where_they_can_be() {
        assert_eq!(unescaped(br"a\u00e4\n"), "aä\n");
        assert_eq!(unescaped(br"\ud800"), r"\ud800");
        assert_eq!(unescaped(b"\xff"), "\u{fffd}");
    }
}
