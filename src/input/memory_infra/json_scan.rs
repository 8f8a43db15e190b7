//! Ends of JSON values, found by their brackets and strings alone.

use memchr::memchr2;

/// Finds the end of a value in pieces of text.
#[derive(Default)]
pub(super) struct ValueEndScanner {
    depth: u64,
    has_begun: bool,
    is_in_string: bool,
    is_after_backslash: bool,
}

impl ValueEndScanner {
    /// A number or word, which ends where the text does.
    pub(super) fn is_scalar(&self) -> bool {
        self.depth == 0 && !self.is_in_string
    }

    /// The number of bytes of this piece that still belong to the value, if it ends here.
    pub(super) fn find_end(&mut self, text: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < text.len() {
            let ahead = &text[at..];
            let (length, found) = match ahead.first_chunk() {
                Some(block) if self.depth > 0 && !self.is_after_backslash => {
                    // Backslashes are rare, and a quote behind one is none.
                    let plain = !block.iter().fold(false, |found, &byte| found | (byte == b'\\'));
                    (
                        BLOCK_BYTES,
                        if plain { self.find_end_in_plain_block(block) } else { self.find_end_bytewise(block) },
                    )
                }
                _ => {
                    // Most values begin with a bracket, and can be passed in blocks from there on.
                    let length = if self.depth == 0 && !self.is_in_string { 1 } else { ahead.len().min(BLOCK_BYTES) };
                    (length, self.find_end_bytewise(&ahead[..length]))
                }
            };
            if let Some(length) = found {
                return Some(at + length);
            }
            at += length;
        }
        None
    }

    /// As `find_end` for text of any kind, byte by byte.
    fn find_end_bytewise(&mut self, text: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < text.len() {
            if self.is_in_string {
                if std::mem::take(&mut self.is_after_backslash) {
                    at += 1;
                    continue;
                }
                let found = end_of_plain_text(&text[at..])?;
                at += found + 1;
                if text[at - 1] == b'\\' {
                    self.is_after_backslash = true;
                    continue;
                }
                self.is_in_string = false;
                if self.depth == 0 {
                    return Some(at);
                }
                continue;
            }
            match text[at] {
                b'"' => (self.is_in_string, self.has_begun) = (true, true),
                b'{' | b'[' => {
                    self.depth += 1;
                    self.has_begun = true;
                }
                b'}' | b']' => {
                    if self.depth <= 1 {
                        // A closing bracket behind a number belongs to what is around it.
                        return Some(if self.depth == 1 { at + 1 } else { at });
                    }
                    self.depth -= 1;
                }
                b',' | b' ' | b'\t' | b'\r' | b'\n' | b':' if self.depth == 0 && self.has_begun => return Some(at),
                _ => self.has_begun = true,
            }
            at += 1;
        }
        None
    }

    /// As `find_end` for a block without backslashes, inside of brackets: without a branch for every string.
    fn find_end_in_plain_block(&mut self, block: &[u8; BLOCK_BYTES]) -> Option<usize> {
        // A bit for every byte that has an odd number of quotes before it, or is the first of them.
        let mut strings = matching_byte_bits(block, |byte| byte == b'"');
        for shift in [1, 2, 4, 8, 16, 32] {
            strings ^= strings << shift;
        }
        if self.is_in_string {
            strings = !strings;
        }
        self.is_in_string = strings >> (BLOCK_BYTES - 1) == 1;
        // `[`, `]`, `{` and `}`, besides what is between those.
        let mut brackets = matching_byte_bits(block, |byte| (byte | 0x20).wrapping_sub(b'{') <= 2) & !strings;
        while brackets != 0 {
            let at = brackets.trailing_zeros() as usize;
            match block[at] {
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth == 1 => {
                    (self.depth, self.is_in_string) = (0, false);
                    return Some(at + 1);
                }
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
            brackets &= brackets - 1;
        }
        None
    }
}

/// Bytes that are looked at together.
const BLOCK_BYTES: usize = 64;

/// A bit for each byte of a kind, the first byte's lowest. In two steps, of which the compiler makes vector instructions.
fn matching_byte_bits(block: &[u8; BLOCK_BYTES], is: impl Fn(u8) -> bool) -> u64 {
    let marks = block.map(|byte| u8::from(is(byte)));
    let (eights, _) = marks.as_chunks::<8>();
    // The product's highest byte has the lowest bits of all eight.
    let gather = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    eights.iter().rev().fold(0, |bits, eight| bits << 8 | gather(eight))
}

/// The end of a string, or its first backslash. Most strings of a trace are shorter than what a vector search is good for.
fn end_of_plain_text(text: &[u8]) -> Option<usize> {
    const MAX_SHORT_TEXT_BYTES: usize = 16;
    let head = &text[..text.len().min(MAX_SHORT_TEXT_BYTES)];
    match head.iter().position(|byte| matches!(byte, b'"' | b'\\')) {
        None if text.len() > MAX_SHORT_TEXT_BYTES => {
            memchr2(b'"', b'\\', &text[MAX_SHORT_TEXT_BYTES..]).map(|at| at + MAX_SHORT_TEXT_BYTES)
        }
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Text in which all that counts is frequent.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            8 => Just(b'a'),
            4 => proptest::sample::select(b"\"\"\"{}[]{}[],: ".to_vec()),
            1 => Just(b'\\'),
            1 => any::<u8>(),
        ];
        proptest::collection::vec(byte, 0..400)
    }

    proptest! {
        #[test]
        fn blocks_end_where_bytes_do(inside in text(), depth in 0usize..6, cut in 0usize..400) {
            let text = [vec![b'['; depth], inside].concat();
            let cut = cut.min(text.len());
            let mut by_bytes = ValueEndScanner::default();
            let mut in_pieces = ValueEndScanner::default();
            let expected = by_bytes.find_end_bytewise(&text);
            prop_assert_eq!(ValueEndScanner::default().find_end(&text), expected);
            let found = in_pieces.find_end(&text[..cut]);
            let found = found.or_else(|| in_pieces.find_end(&text[cut..]).map(|length| cut + length));
            prop_assert_eq!(found, expected);
            if expected.is_none() {
                let state = |scan: &ValueEndScanner| (scan.depth, scan.is_in_string, scan.has_begun, scan.is_after_backslash);
                prop_assert_eq!(state(&in_pieces), state(&by_bytes));
            }
        }

        #[test]
        fn bits_are_in_the_order_of_bytes(block in proptest::collection::vec(any::<u8>(), BLOCK_BYTES)) {
            let block: &[u8; BLOCK_BYTES] = block.as_slice().try_into().expect("as long");
            let found = matching_byte_bits(block, |byte| byte > 0x60);
            prop_assert!((0..BLOCK_BYTES).all(|at| (found >> at & 1 == 1) == (block[at] > 0x60)));
        }
    }
}
