//! A trace inside a page: blocks of base64, usually of gzip, as the trace viewer's own HTML reports have them.
//!
//! ```text
//! <script id="viewer-data" type="text/plain">
//! H4sIAAAAAAACA5VU0U7CMBT9FXKfIWk3wOCj...
//! </script>
//! ```

use std::io;

use crate::graph::{BuildError, MemoryShare};
use crate::input::Source;

const OPENING: &[u8] = b"<script id=\"viewer-data\"";
/// Bytes of the end that tell whether a page is whole: its last tag and blanks.
const TAIL: usize = 64;
const CLOSING: &[u8] = b"</script>";

/// Reads a page line by line.
pub(super) struct Page<'s> {
    source: &'s mut Source,
    data: Vec<u8>,
    at: usize,
    end: usize,
    before: u64,
    /// The last bytes that were read.
    tail: Vec<u8>,
}

/// The content of a block, and where it began; `closed` unless the page ends in it.
pub(super) struct Block {
    pub(super) content: Vec<u8>,
    pub(super) offset: u64,
    pub(super) closed: bool,
    /// What the content takes.
    pub(super) _share: MemoryShare,
}

impl<'s> Page<'s> {
    pub(super) fn new(source: &'s mut Source) -> Self {
        Page { source, data: vec![0; 1 << 16], at: 0, end: 0, before: 0, tail: Vec::new() }
    }

    /// The next byte; `None` at the end.
    fn next(&mut self) -> io::Result<Option<u8>> {
        if self.at == self.end {
            self.before += self.end as u64;
            self.tail.extend_from_slice(&self.data[self.end.saturating_sub(TAIL)..self.end]);
            let kept = self.tail.len().saturating_sub(TAIL);
            self.tail.drain(..kept);
            self.end = self.source.fill(&mut self.data)?;
            self.at = 0;
            if self.end == 0 {
                return Ok(None);
            }
        }
        self.at += 1;
        Ok(Some(self.data[self.at - 1]))
    }

    /// After the last block: where the page ends, and whether it is whole.
    pub(super) fn end(&self) -> (u64, bool) {
        (self.before, self.tail.trim_ascii_end().ends_with(b"</html>"))
    }

    /// Passes everything up to and with `text`; false at the end. What is passed goes to `taken`.
    fn pass(&mut self, text: &[u8], mut taken: impl FnMut(u8) -> Result<(), BuildError>) -> io::Result<bool> {
        let mut matched = 0;
        while let Some(byte) = self.next()? {
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

    /// The next block with a trace.
    pub(super) fn next_block(&mut self) -> io::Result<Option<Block>> {
        if !self.pass(OPENING, |_| Ok(()))? || !self.pass(b">", |_| Ok(()))? {
            return Ok(None);
        }
        let offset = self.before + self.at as u64;
        let share = self.source.budget().for_buffer();
        let mut decoder = Decoder { content: Vec::new(), share, bits: 0, count: 0, plain: false };
        let closed = self.pass(CLOSING, |byte| decoder.push(byte))?;
        Ok(Some(Block { content: decoder.content, offset, closed, _share: decoder.share }))
    }
}

/// Decodes base64, line ends in it or not; text that begins as JSON does stays as it is.
struct Decoder {
    content: Vec<u8>,
    share: MemoryShare,
    bits: u32,
    count: u32,
    plain: bool,
}

impl Decoder {
    fn push(&mut self, byte: u8) -> Result<(), BuildError> {
        if self.content.len() == self.content.capacity() {
            // While it moves, it is there twice.
            let (length, larger) = (self.content.len(), (2 * self.content.len()).max(1 << 16));
            self.share.hold((length + larger) as u64)?;
            self.content.reserve_exact(larger - length);
            self.share.hold(larger as u64)?;
        }
        if self.content.is_empty() && self.count == 0 && matches!(byte, b'{' | b'[') {
            self.plain = true;
        }
        if self.plain {
            self.content.push(byte);
            return Ok(());
        }
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return Ok(()),
        };
        self.bits = self.bits << 6 | u32::from(value);
        self.count += 6;
        if self.count >= 8 {
            self.count -= 8;
            self.content.push((self.bits >> self.count) as u8);
        }
        Ok(())
    }
}
