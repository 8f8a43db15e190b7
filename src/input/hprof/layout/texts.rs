//! Texts of the dump by id, and names made of them.

use std::cell::Cell;

use crate::input::java_types::source_form_with;

/// Every text record of a file, packed.
#[derive(Debug, Default)]
pub struct TextRecords {
    /// (id, start in `bytes`, length), by id if `is_sorted`; of several with one id the first counts.
    spans_by_id: Vec<(u64, u64, u32)>,
    is_sorted: bool,
    bytes: Vec<u8>,
}

impl TextRecords {
    pub fn add(&mut self, id: u64, text: &[u8]) {
        self.is_sorted = self.is_sorted && self.spans_by_id.last().is_some_and(|last| last.0 < id);
        self.is_sorted |= self.spans_by_id.is_empty();
        self.spans_by_id.push((id, self.bytes.len() as u64, text.len() as u32));
        self.bytes.extend_from_slice(text);
    }

    /// Must be called before `get` sees what was added.
    pub fn sort_by_id(&mut self) {
        if !self.is_sorted {
            // Stable: of equal ids the first stays first.
            self.spans_by_id.sort_by_key(|place| place.0);
            self.is_sorted = true;
        }
    }

    /// The bytes of a text.
    pub fn get(&self, id: u64) -> Option<&[u8]> {
        let at = self.spans_by_id.partition_point(|place| place.0 < id);
        let &(found, start, length) = self.spans_by_id.get(at)?;
        (found == id).then(|| &self.bytes[start as usize..][..length as usize])
    }

    pub fn memory_bytes(&self) -> u64 {
        (self.spans_by_id.capacity() * size_of::<(u64, u64, u32)>() + self.bytes.capacity()) as u64
    }
}

/// Modified UTF-8: NUL as `C0 80`, characters beyond the first 65,536 as two surrogates of three bytes. Real UTF-8, which
/// some writers have, is understood too. Bytes that make no sense become U+FFFD, and `is_bad` is set.
pub fn decoded_modified_utf8(bytes: &[u8], is_bad: &Cell<bool>) -> String {
    if bytes.is_ascii() {
        // Ascii is UTF-8.
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let mut units: Vec<u16> = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    let low = |byte: u8| (byte & 0xC0 == 0x80).then_some(u32::from(byte & 0x3F));
    while let [first, after @ ..] = rest {
        let one = u32::from(*first);
        let read = match (*first, after) {
            (0..=0x7F, _) => Some((one, 1)),
            (0xC0..=0xDF, [a, ..]) => low(*a).map(|a| ((one & 0x1F) << 6 | a, 2)),
            (0xE0..=0xEF, [a, b, ..]) => low(*a).zip(low(*b)).map(|(a, b)| ((one & 0xF) << 12 | a << 6 | b, 3)),
            (0xF0..=0xF7, [a, b, c, ..]) => {
                low(*a).zip(low(*b)).zip(low(*c)).map(|((a, b), c)| ((one & 7) << 18 | a << 12 | b << 6 | c, 4))
            }
            _ => None,
        };
        match read.and_then(|(code, length)| match u16::try_from(code) {
            Ok(unit) => Some(([unit, 0], 1, length)),
            Err(_) => char::from_u32(code).map(|character| {
                let mut pair = [0; 2];
                character.encode_utf16(&mut pair);
                (pair, 2, length)
            }),
        }) {
            Some((pair, count, length)) => {
                units.extend_from_slice(&pair[..count]);
                rest = &rest[length..];
            }
            None => {
                is_bad.set(true);
                units.push(0xFFFD);
                rest = after;
            }
        }
    }
    let text = char::decode_utf16(units).map(|unit| {
        unit.unwrap_or_else(|_| {
            is_bad.set(true);
            char::REPLACEMENT_CHARACTER
        })
    });
    text.collect()
}

/// A class name as source code has it: `[Ljava/lang/String;` -> `java.lang.String[]`. Android and native images write
/// that form already.
pub fn hprof_source_form(name: &str) -> String {
    source_form_with(name, 0, |class| class.replace('/', "."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> (String, bool) {
        let is_bad = Cell::new(false);
        (decoded_modified_utf8(bytes, &is_bad), is_bad.get())
    }

    #[test]
    fn both_kinds_of_utf8_are_understood() {
        assert_eq!(text(b"java/lang/Object"), ("java/lang/Object".into(), false));
        assert_eq!(text(b"a\xC0\x80b\xC3\x9C\xE2\x82\xAC"), ("a\0b\u{DC}\u{20AC}".into(), false));
        assert_eq!(text(b"\xED\xA0\xBD\xED\xB8\x80"), ("\u{1F600}".into(), false));
        assert_eq!(text("\u{1F600}".as_bytes()), ("\u{1F600}".into(), false));
    }

    #[test]
    fn what_is_no_text_is_replaced() {
        assert_eq!(text(b"bad\xFF\xFE!\xC0"), ("bad\u{FFFD}\u{FFFD}!\u{FFFD}".into(), true));
        assert_eq!(text(b"\xED\xA0\xBD"), ("\u{FFFD}".into(), true));
        assert_eq!(text(b"\xF7\xBF\xBF\xBFx"), ("\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}x".into(), true));
    }

    #[test]
    fn names_are_as_in_source_code() {
        for (name, source) in [
            ("java/util/Map$Entry", "java.util.Map$Entry"),
            ("[I", "int[]"),
            ("[[Ljava/lang/String;", "java.lang.String[][]"),
            ("int[]", "int[]"),
            ("java.lang.String[]", "java.lang.String[]"),
            ("Foo$$Lambda+0x00007f1234/0x55", "Foo$$Lambda+0x00007f1234.0x55"),
            ("[", "["),
            ("[Lodd", "[Lodd"),
        ] {
            assert_eq!(hprof_source_form(name), source);
        }
    }

    #[test]
    fn the_first_text_of_an_id_counts() {
        let mut texts = TextRecords::default();
        for (id, name) in [(5, "five"), (1, "one"), (5, "again"), (9, "")] {
            texts.add(id, name.as_bytes());
        }
        texts.sort_by_id();
        assert_eq!([1, 5, 9, 7].map(|id| texts.get(id)), [Some(&b"one"[..]), Some(b"five"), Some(b""), None]);
    }
}
