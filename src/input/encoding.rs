//! Text encodings: everything is turned into UTF-8 on the way in, so that parsers see one.

use std::io::{self, Read};

/// An encoding of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, or bytes that are taken as they are.
    Utf8,
    /// UTF-8 behind a byte order mark.
    Utf8Bom,
    /// UTF-16, little endian, with or without a mark.
    Utf16Le,
    /// UTF-16, big endian, with or without a mark.
    Utf16Be,
    /// EBCDIC code page 1047, as z/OS writes text.
    Ebcdic1047,
}

impl Encoding {
    /// The name as `info` prints it.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 | Encoding::Utf8Bom => "utf-8",
            Encoding::Utf16Le => "utf-16le",
            Encoding::Utf16Be => "utf-16be",
            Encoding::Ebcdic1047 => "ebcdic-1047",
        }
    }

    /// Recognises an encoding by the first bytes; also how many of them are a mark.
    ///
    /// Without a mark, UTF-16 is taken for certain only where ASCII alternates with zeros as the text formats begin
    /// (`a `, `//`, `0x`, a line end), EBCDIC where the file begins with `//` in it: binary formats must pass untouched.
    pub fn recognise(start: &[u8]) -> (Encoding, usize) {
        // A dump from z/OS without its version line begins with an empty one: NEL, or LF, or CR.
        let ebcdic = match start {
            [0x15 | 0x25 | 0x0D, rest @ ..] => rest,
            _ => start,
        };
        match start {
            [0xEF, 0xBB, 0xBF, ..] => (Encoding::Utf8Bom, 3),
            [0xFF, 0xFE, ..] => (Encoding::Utf16Le, 2),
            [0xFE, 0xFF, ..] => (Encoding::Utf16Be, 2),
            [a, 0, b, 0, ..] if begins_text(*a, *b) => (Encoding::Utf16Le, 0),
            [0, a, 0, b, ..] if begins_text(*a, *b) => (Encoding::Utf16Be, 0),
            // "// " and "//" + "V": the version line of an IBM classic dump.
            _ if matches!(ebcdic, [0x61, 0x61, 0x40 | 0xE5, ..]) => (Encoding::Ebcdic1047, 0),
            // "0x" followed by a hexadecimal digit: the same without its version line.
            _ if matches!(ebcdic, [0xF0, 0xA7, 0xF0..=0xF9 | 0xC1..=0xC6 | 0x81..=0x86, ..]) => {
                (Encoding::Ebcdic1047, 0)
            }
            _ => (Encoding::Utf8, 0),
        }
    }
}

fn begins_text(a: u8, b: u8) -> bool {
    matches!(
        (a, b),
        (b'a', b' ' | b'\t') | (b'/', b'/') | (b'0', b'x' | b'X') | (b'\r', b'\n') | (b'\n', _) | (b' ', _)
    )
}

/// Turns another encoding into UTF-8 while reading. Half a character at the end is dropped: the text was cut.
pub struct Utf8Reader<R> {
    inner: R,
    encoding: Encoding,
    raw: Vec<u8>,
    /// Bytes in `raw` not yet decoded (an odd byte, or the first half of a surrogate pair).
    undecoded_bytes: usize,
    decoded_bytes: Vec<u8>,
    /// How many of the decoded bytes were handed out.
    given_bytes: usize,
}

impl<R: Read> Utf8Reader<R> {
    /// Decodes what `inner` gives.
    pub fn new(inner: R, encoding: Encoding) -> Self {
        Utf8Reader {
            inner,
            encoding,
            raw: vec![0; 64 * 1024],
            undecoded_bytes: 0,
            decoded_bytes: Vec::new(),
            given_bytes: 0,
        }
    }

    fn refill(&mut self) -> io::Result<bool> {
        let got = self.inner.read(&mut self.raw[self.undecoded_bytes..])?;
        if got == 0 {
            return Ok(false);
        }
        let len = self.undecoded_bytes + got;
        self.decoded_bytes.clear();
        self.given_bytes = 0;
        let used = match self.encoding {
            Encoding::Utf16Le => decode_utf16(&self.raw[..len], u16::from_le_bytes, &mut self.decoded_bytes),
            Encoding::Utf16Be => decode_utf16(&self.raw[..len], u16::from_be_bytes, &mut self.decoded_bytes),
            Encoding::Ebcdic1047 => {
                for &byte in &self.raw[..len] {
                    let mut utf8 = [0; 2];
                    let ch = char::from(EBCDIC_1047[byte as usize]);
                    self.decoded_bytes.extend_from_slice(ch.encode_utf8(&mut utf8).as_bytes());
                }
                len
            }
            Encoding::Utf8 | Encoding::Utf8Bom => {
                self.decoded_bytes.extend_from_slice(&self.raw[..len]);
                len
            }
        };
        self.raw.copy_within(used..len, 0);
        self.undecoded_bytes = len - used;
        Ok(true)
    }
}

impl<R: Read> Read for Utf8Reader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.given_bytes == self.decoded_bytes.len() {
            if !self.refill()? {
                return Ok(0);
            }
        }
        let count = buf.len().min(self.decoded_bytes.len() - self.given_bytes);
        buf[..count].copy_from_slice(&self.decoded_bytes[self.given_bytes..self.given_bytes + count]);
        self.given_bytes += count;
        Ok(count)
    }
}

/// Decodes whole characters; returns how many bytes that took. Lone surrogates become U+FFFD.
fn decode_utf16(raw: &[u8], unit: impl Fn([u8; 2]) -> u16, out: &mut Vec<u8>) -> usize {
    let mut units: Vec<u16> = raw.as_chunks::<2>().0.iter().map(|&pair| unit(pair)).collect();
    if units.last().is_some_and(|last| (0xD800..0xDC00).contains(last)) {
        units.pop();
    }
    for ch in char::decode_utf16(units.iter().copied()) {
        let mut utf8 = [0; 4];
        out.extend_from_slice(ch.unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut utf8).as_bytes());
    }
    units.len() * 2
}

/// EBCDIC code page 1047 to Latin-1, with both of its line ends (0x15 NEL, 0x25 LF) as LF.
#[rustfmt::skip]
const EBCDIC_1047: [u8; 256] = [
    0x00, 0x01, 0x02, 0x03, 0x9C, 0x09, 0x86, 0x7F, 0x97, 0x8D, 0x8E, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F,
    0x10, 0x11, 0x12, 0x13, 0x9D, 0x0A, 0x08, 0x87, 0x18, 0x19, 0x92, 0x8F, 0x1C, 0x1D, 0x1E, 0x1F,
    0x80, 0x81, 0x82, 0x83, 0x84, 0x0A, 0x17, 0x1B, 0x88, 0x89, 0x8A, 0x8B, 0x8C, 0x05, 0x06, 0x07,
    0x90, 0x91, 0x16, 0x93, 0x94, 0x95, 0x96, 0x04, 0x98, 0x99, 0x9A, 0x9B, 0x14, 0x15, 0x9E, 0x1A,
    0x20, 0xA0, 0xE2, 0xE4, 0xE0, 0xE1, 0xE3, 0xE5, 0xE7, 0xF1, 0xA2, 0x2E, 0x3C, 0x28, 0x2B, 0x7C,
    0x26, 0xE9, 0xEA, 0xEB, 0xE8, 0xED, 0xEE, 0xEF, 0xEC, 0xDF, 0x21, 0x24, 0x2A, 0x29, 0x3B, 0x5E,
    0x2D, 0x2F, 0xC2, 0xC4, 0xC0, 0xC1, 0xC3, 0xC5, 0xC7, 0xD1, 0xA6, 0x2C, 0x25, 0x5F, 0x3E, 0x3F,
    0xF8, 0xC9, 0xCA, 0xCB, 0xC8, 0xCD, 0xCE, 0xCF, 0xCC, 0x60, 0x3A, 0x23, 0x40, 0x27, 0x3D, 0x22,
    0xD8, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0xAB, 0xBB, 0xF0, 0xFD, 0xFE, 0xB1,
    0xB0, 0x6A, 0x6B, 0x6C, 0x6D, 0x6E, 0x6F, 0x70, 0x71, 0x72, 0xAA, 0xBA, 0xE6, 0xB8, 0xC6, 0xA4,
    0xB5, 0x7E, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7A, 0xA1, 0xBF, 0xD0, 0x5B, 0xDE, 0xAE,
    0xAC, 0xA3, 0xA5, 0xB7, 0xA9, 0xA7, 0xB6, 0xBC, 0xBD, 0xBE, 0xDD, 0xA8, 0xAF, 0x5D, 0xB4, 0xD7,
    0x7B, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0xAD, 0xF4, 0xF6, 0xF2, 0xF3, 0xF5,
    0x7D, 0x4A, 0x4B, 0x4C, 0x4D, 0x4E, 0x4F, 0x50, 0x51, 0x52, 0xB9, 0xFB, 0xFC, 0xF9, 0xFA, 0xFF,
    0x5C, 0xF7, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5A, 0xB2, 0xD4, 0xD6, 0xD2, 0xD3, 0xD5,
    0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0xB3, 0xDB, 0xDC, 0xD9, 0xDA, 0x9F,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8], encoding: Encoding) -> String {
        let mut text = String::new();
        Utf8Reader::new(bytes, encoding).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn utf16_of_both_orders_with_a_pair_and_a_cut_end() {
        let text = "a 2 Größe\u{1F600}\n";
        let le: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).chain([0x41]).collect();
        let be: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decode(&le, Encoding::Utf16Le), text);
        assert_eq!(decode(&be, Encoding::Utf16Be), text);
        assert_eq!(Encoding::recognise(&le), (Encoding::Utf16Le, 0));
        assert_eq!(Encoding::recognise(&be), (Encoding::Utf16Be, 0));
    }

    #[test]
    fn ebcdic_version_line() {
        let bytes = [0x61, 0x61, 0x40, 0xE5, 0x85, 0x99, 0xA2, 0x89, 0x96, 0x95, 0x7A, 0x15, 0xAD, 0xF1, 0xBD];
        assert_eq!(Encoding::recognise(&bytes).0, Encoding::Ebcdic1047);
        assert_eq!(decode(&bytes, Encoding::Ebcdic1047), "// Version:\n[1]");
    }

    #[test]
    fn binary_formats_pass_untouched() {
        for start in [&b"Nettrace\x14\0\0\0"[..], b"\x14\0\0\0!FastSerialization.1", b"\x1f\x8b\x08\0", b"{\"trace"] {
            assert_eq!(Encoding::recognise(start), (Encoding::Utf8, 0));
        }
    }
}
