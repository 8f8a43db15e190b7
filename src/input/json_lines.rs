//! JSON objects that each stand on a line of their own, field by field: no tree is made, and no text copied.

use std::borrow::Cow;

use super::blocks::BlockPlace;
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
pub(super) type Field<'a> = (&'a [u8], RawValue<'a>);

/// The line is no JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// Codes for lines that are no JSON object: one in the middle, and the last one of a file that is cut.
pub(super) struct LineCodes {
    pub(super) malformed: &'static ProblemCode,
    pub(super) truncated: &'static ProblemCode,
}

/// Calls `parse` with the number, from 1, and the text of each line of a block. Returns the number of lines, whether the
/// input ends within the last of them, and the problems.
pub(super) fn parse_lines(
    text: &[u8],
    place: BlockPlace,
    codes: &LineCodes,
    mut parse: impl FnMut(u64, &[u8]) -> Result<(), Malformed>,
) -> (u64, bool, Diagnostics) {
    let (mut rest, mut lines, mut is_cut, mut diagnostics) = (text, 0, false, Diagnostics::default());
    while !rest.is_empty() {
        let (line, behind) = split_line(rest);
        let is_last = place.is_last && behind.is_empty() && !rest.ends_with(b"\n");
        rest = behind;
        lines += 1;
        if let Err(Malformed) = parse(lines, line)
            && !line.iter().all(|&byte| is_blank(byte) || byte == 0)
        {
            is_cut |= is_last;
            diagnostics.add_on_line(if is_last { codes.truncated } else { codes.malformed }, lines, line);
        }
    }
    let at = Position::Line(lines.max(1));
    diagnostics.add(&PADDING, place.padding_bytes.min(1), at, || format!("{} bytes", place.padding_bytes));
    (lines, is_cut, diagnostics)
}

/// The fields of the object on a line.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    is_first: bool,
}

impl<'a> Fields<'a> {
    /// Begins with the first field. Error: if the line has no `{`.
    pub(super) fn of_line(line: &'a [u8]) -> Result<Self, Malformed> {
        match trim(line) {
            [b'{', rest @ ..] => Ok(Fields { rest, is_first: true }),
            _ => Err(Malformed),
        }
    }

    /// The next key and value; `None` behind the last. Error: if the line breaks off, or something stands behind the
    /// object. Keys, numbers and what is nested are not checked further than to find their ends.
    pub(super) fn next_field(&mut self) -> Result<Option<Field<'a>>, Malformed> {
        let mut rest = trim_start(self.rest);
        match rest {
            [b'}', behind @ ..] => return if trim(behind).is_empty() { Ok(None) } else { Err(Malformed) },
            [b',', behind @ ..] if !self.is_first => rest = trim_start(behind),
            _ if !self.is_first => return Err(Malformed),
            _ => {}
        }
        self.is_first = false;
        let (key, behind) = quoted(rest)?;
        let [b':', behind @ ..] = trim_start(behind) else { return Err(Malformed) };
        let (value, behind) = value(trim_start(behind))?;
        self.rest = behind;
        Ok(Some((key, value)))
    }
}

fn trim_start(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(text.len());
    &text[start..]
}

/// A text in quotes, and what follows.
fn quoted(text: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let [b'"', text @ ..] = text else { return Err(Malformed) };
    // A key of some letters takes less time letter by letter.
    let short = text.iter().take(8).position(|byte| matches!(byte, b'"' | b'\\'));
    if let Some(end) = short.filter(|&end| text[end] == b'"') {
        return Ok((&text[..end], &text[end + 1..]));
    }
    let mut from = short.unwrap_or(text.len().min(8));
    while let Some(found) = memchr::memchr2(b'"', b'\\', text.get(from..).unwrap_or_default()) {
        let at = from + found;
        if text[at] == b'"' {
            return Ok((&text[..at], &text[at + 1..]));
        }
        from = at + 2;
    }
    Err(Malformed)
}

fn value(text: &[u8]) -> Result<(RawValue<'_>, &[u8]), Malformed> {
    match text.first() {
        Some(b'"') => quoted(text).map(|(text, rest)| (RawValue::Text(text), rest)),
        Some(b'[') => nested_end(text).map(|end| (RawValue::Array(&text[1..end - 1]), &text[end..])),
        Some(b'{') => nested_end(text).map(|end| (RawValue::Other(&text[..end]), &text[end..])),
        _ => {
            let is_end = |byte: &u8| matches!(byte, b',' | b'}') || byte.is_ascii_whitespace();
            let end = text.iter().position(is_end).filter(|&end| end > 0).ok_or(Malformed)?;
            Ok((RawValue::Other(&text[..end]), &text[end..]))
        }
    }
}

/// The end of an array or object at the start of the text. Brackets are counted, not matched.
fn nested_end(text: &[u8]) -> Result<usize, Malformed> {
    // An array of numbers.
    if text.starts_with(b"[")
        && let Some(end) = memchr::memchr3(b']', b'"', b'[', &text[1..])
        && text[1 + end] == b']'
    {
        return Ok(end + 2);
    }
    // A flat array without escapes, as most are: its first `]` stands outside of a text.
    if text.starts_with(b"[")
        && let Some(end) = memchr::memchr(b']', text)
        && memchr::memchr3(b'[', b'{', b'\\', &text[1..end]).is_none()
        && memchr::memchr_iter(b'"', &text[1..end]).count().is_multiple_of(2)
    {
        return Ok(end + 1);
    }
    let (mut depth, mut at) = (0u64, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at = text.len() - quoted(&text[at..])?.1.len() - 1,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Ok(at);
        }
    }
    Err(Malformed)
}

/// Ids in an array, one by one; `None` for an element that is none.
pub(super) fn ids(array: &[u8]) -> impl Iterator<Item = Option<u64>> {
    let mut rest = trim_start(array);
    std::iter::from_fn(move || {
        let (id, behind) = match rest {
            [] => return None,
            [b'"', b'0', b'x', digits @ ..] => match hex(digits) {
                Ok(([b'"', behind @ ..], id)) => (Some(id), behind),
                _ => element_id(rest),
            },
            [b'0'..=b'9', ..] => match decimal(rest) {
                Ok((behind, id)) if matches!(behind, [] | [b',' | b' ', ..]) => (Some(id), behind),
                _ => element_id(rest),
            },
            _ => element_id(rest),
        };
        let behind = trim_start(behind);
        rest = trim_start(behind.strip_prefix(b",").unwrap_or(behind));
        Some(id)
    })
}

/// The id of an array's first element, if it is one, and what follows the element.
fn element_id(text: &[u8]) -> (Option<u64>, &[u8]) {
    let (value, behind) = element(text);
    (value.id(), behind)
}

/// An array's first element, and what follows it.
fn element(text: &[u8]) -> (RawValue<'_>, &[u8]) {
    // A number at the end of the array has nothing behind it.
    value(text).unwrap_or((RawValue::Other(text), &text[text.len()..]))
}

/// Elements of an array, one by one, as they stand.
pub(super) fn elements(array: &[u8]) -> impl Iterator<Item = RawValue<'_>> {
    let mut rest = trim_start(array);
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (value, behind) = element(rest);
        let behind = trim_start(behind);
        rest = trim_start(behind.strip_prefix(b",").unwrap_or(behind));
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

    fn fields(line: &str) -> Result<Vec<(String, String)>, Malformed> {
        let mut fields = Fields::of_line(line.as_bytes())?;
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
            assert_eq!(fields(&line[..end]), Err(Malformed), "{end}");
        }
        assert_eq!(fields(&format!("{line}x")), Err(Malformed));
        for bad in ["[]", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1 \"b\":2}", "{\"a\":1,,\"b\":2}"] {
            assert_eq!(fields(bad), Err(Malformed), "{bad}");
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
        assert_eq!(elements(br#""a]", null ,[1],7"#).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn escapes_are_read_where_they_can_be() {
        assert_eq!(unescaped(br"a\u00e4\n"), "aä\n");
        assert_eq!(unescaped(br"\ud800"), r"\ud800");
        assert_eq!(unescaped(b"\xff"), "\u{fffd}");
    }
}
