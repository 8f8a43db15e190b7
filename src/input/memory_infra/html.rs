//! A trace inside a page: blocks of base64, usually of gzip, as the trace viewer's own HTML reports have them.
//!
//! ```text
//! <script id="viewer-data" type="text/plain">
//! H4sIAAAAAAACA5VU0U7CMBT9FXKfIWk3wOCj...
//! </script>
//! ```

use std::io;

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};

use crate::graph::{BuildError, MemoryShare};
use crate::input::Source;

/// The start of the element that holds a block of data.
const DATA_SCRIPT_START: &[u8] = b"<script id=\"viewer-data\"";
/// Bytes of the end that tell whether a page is whole: its last tag and blanks.
const TAIL_BYTES: usize = 64;
const SCRIPT_END: &[u8] = b"</script>";

/// Reads a page, and finds the blocks of data in it.
pub(super) struct HtmlPage<'s> {
    source: &'s mut Source,
    /// The bytes that were read last: `filled_bytes` of them.
    buffer: Vec<u8>,
    offset_in_buffer: usize,
    filled_bytes: usize,
    /// Bytes of the page before those.
    bytes_before: u64,
    /// The last bytes that were read.
    tail: Vec<u8>,
}

/// The content of a block, and where it began; `is_closed` unless the page ends in it.
pub(super) struct DataBlock {
    pub(super) content: Vec<u8>,
    pub(super) offset: u64,
    pub(super) is_closed: bool,
    /// Memory of the content.
    pub(super) _share: MemoryShare,
}

impl<'s> HtmlPage<'s> {
    pub(super) fn new(source: &'s mut Source) -> Self {
        HtmlPage {
            source,
            buffer: vec![0; 1 << 16],
            offset_in_buffer: 0,
            filled_bytes: 0,
            bytes_before: 0,
            tail: Vec::new(),
        }
    }

    /// The next byte; `None` at the end.
    fn next_byte(&mut self) -> io::Result<Option<u8>> {
        if self.offset_in_buffer == self.filled_bytes {
            self.bytes_before += self.filled_bytes as u64;
            self.tail.extend_from_slice(&self.buffer[self.filled_bytes.saturating_sub(TAIL_BYTES)..self.filled_bytes]);
            let kept = self.tail.len().saturating_sub(TAIL_BYTES);
            self.tail.drain(..kept);
            self.filled_bytes = self.source.fill(&mut self.buffer)?;
            self.offset_in_buffer = 0;
            if self.filled_bytes == 0 {
                return Ok(None);
            }
        }
        self.offset_in_buffer += 1;
        Ok(Some(self.buffer[self.offset_in_buffer - 1]))
    }

    /// After the last block: where the page ends, and whether it is whole.
    pub(super) fn end_and_completeness(&self) -> (u64, bool) {
        (self.bytes_before, self.tail.trim_ascii_end().ends_with(b"</html>"))
    }

    /// Passes everything up to and with `text`; false at the end. What is passed goes to `taken`.
    fn pass_until(&mut self, text: &[u8], mut taken: impl FnMut(u8) -> Result<(), BuildError>) -> io::Result<bool> {
        let mut matched = 0;
        while let Some(byte) = self.next_byte()? {
            if byte == text[matched] {
                matched += 1;
                if matched == text.len() {
                    return Ok(true);
                }
            } else {
                // Both texts have their `<` in front alone, so a match can only begin anew.
                text[..matched].iter().try_for_each(|&byte| taken(byte)).map_err(io::Error::other)?;
                matched = usize::from(byte == text[0]);
                if matched == 0 {
                    taken(byte).map_err(io::Error::other)?;
                }
            }
        }
        text[..matched].iter().try_for_each(|&byte| taken(byte)).map_err(io::Error::other)?;
        Ok(false)
    }

    /// The next block of data, decoded; `None` at the end.
    pub(super) fn next_block(&mut self) -> io::Result<Option<DataBlock>> {
        if !self.pass_until(DATA_SCRIPT_START, |_| Ok(()))? || !self.pass_until(b">", |_| Ok(()))? {
            return Ok(None);
        }
        let offset = self.bytes_before + self.offset_in_buffer as u64;
        let share = self.source.budget.for_buffer();
        let mut decoder = Base64Decoder { content: Vec::new(), share, undecoded_chars: Vec::new(), is_plain: false };
        let closed = self.pass_until(SCRIPT_END, |byte| decoder.push(byte))?;
        decoder.decode_pending().map_err(io::Error::other)?;
        Ok(Some(DataBlock { content: decoder.content, offset, is_closed: closed, _share: decoder.share }))
    }
}

/// Characters that are decoded at once; they come four by four.
const DECODED_CHARS_AT_ONCE: usize = 1 << 12;
/// Either alphabet, with or without signs at its end, as traces have it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes base64, line ends in it or not; text that begins as JSON does stays as it is.
struct Base64Decoder {
    content: Vec<u8>,
    share: MemoryShare,
    /// Characters that are not decoded yet.
    undecoded_chars: Vec<u8>,
    /// It is no base64: it stays as it is.
    is_plain: bool,
}

impl Base64Decoder {
    fn push(&mut self, byte: u8) -> Result<(), BuildError> {
        if self.content.is_empty() && self.undecoded_chars.is_empty() && matches!(byte, b'{' | b'[') {
            self.is_plain = true;
        }
        match byte {
            _ if self.is_plain => self.undecoded_chars.push(byte),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => self.undecoded_chars.push(byte),
            b'-' => self.undecoded_chars.push(b'+'),
            b'_' => self.undecoded_chars.push(b'/'),
            _ => {}
        }
        if self.undecoded_chars.len() == DECODED_CHARS_AT_ONCE { self.decode_pending() } else { Ok(()) }
    }

    fn decode_pending(&mut self) -> Result<(), BuildError> {
        if self.content.capacity() - self.content.len() < self.undecoded_chars.len() {
            // While it moves, it is there twice.
            let (length, larger) = (self.content.len(), (2 * self.content.len()).max(1 << 16));
            self.share.set_held_bytes((length + larger) as u64)?;
            self.content.reserve_exact(larger - length);
            self.share.set_held_bytes(larger as u64)?;
        }
        if self.is_plain {
            self.content.append(&mut self.undecoded_chars);
        } else {
            // A character alone at the end says nothing: it has six bits of eight.
            let whole = self.undecoded_chars.len() - usize::from(self.undecoded_chars.len() % 4 == 1);
            let start = self.content.len();
            self.content.resize(start + whole / 4 * 3 + whole % 4, 0);
            // Nothing but the alphabet is left, so it can be decoded.
            let length = BASE64.decode_slice(&self.undecoded_chars[..whole], &mut self.content[start..]).unwrap_or(0);
            self.content.truncate(start + length);
            self.undecoded_chars.clear();
        }
        Ok(())
    }
}
