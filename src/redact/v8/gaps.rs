//! What stands between the arrays of a snapshot: brackets, keys, the header, and arrays that no reader needs.

/// Keys of the one object.
const KEYS: [&[u8]; 11] = [
    b"snapshot",
    b"nodes",
    b"edges",
    b"trace_function_infos",
    b"trace_tree",
    b"samples",
    b"locations",
    b"scopes",
    b"scope_context_vars",
    b"scope_uses",
    b"strings",
];
/// Longer words are none of the header.
const MAX_WORD_BYTES: usize = 64;

/// Lets numbers, brackets and the words of the header pass; other texts become fillers.
#[derive(Debug, Default)]
pub(super) struct GapFilter {
    depth: u32,
    /// The key at the top that the value belongs to is `snapshot`.
    is_in_header: bool,
    /// A colon came last.
    is_value: bool,
    /// A text from behind its quote, or a number or word.
    word: Vec<u8>,
    is_text: bool,
    is_escaped: bool,
    pub(super) is_over: bool,
}

impl GapFilter {
    /// Appends what may stay of the next bytes. Returns how many belong to the one object.
    pub(super) fn pass(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        for (at, &byte) in bytes.iter().enumerate() {
            if self.is_over {
                return at;
            }
            self.byte(byte, out);
        }
        bytes.len()
    }

    fn byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        if self.is_text {
            match byte {
                b'"' if !self.is_escaped => self.end_text(out),
                _ => {
                    self.is_escaped = byte == b'\\' && !self.is_escaped;
                    if self.word.len() <= MAX_WORD_BYTES {
                        self.word.push(byte);
                    }
                }
            }
            return;
        }
        match byte {
            b'"' | b'{' | b'}' | b'[' | b']' | b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => self.end_word(out),
            _ => {
                if self.word.len() <= MAX_WORD_BYTES {
                    self.word.push(byte);
                }
                return;
            }
        }
        match byte {
            b'"' => self.is_text = true,
            b'{' | b'[' => (self.depth, self.is_value) = (self.depth + 1, false),
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.is_over = self.depth == 0;
            }
            b':' => self.is_value = true,
            b',' => self.is_value = false,
            _ => {}
        }
        if byte != b'"' {
            out.push(byte);
        }
    }

    fn end_text(&mut self, out: &mut Vec<u8>) {
        let is_key = self.depth == 1 && !self.is_value;
        let is_known = match is_key {
            true => KEYS.contains(&&self.word[..]),
            false => self.is_in_header && (self.depth > 2 || !self.is_value) && is_word(&self.word),
        };
        if is_key {
            self.is_in_header = self.word == KEYS[0];
        }
        out.push(b'"');
        if is_known {
            out.extend_from_slice(&self.word);
        } else {
            out.extend(std::iter::repeat_n(*b"~|", self.word.len().div_ceil(2)).flatten());
        }
        out.push(b'"');
        (self.is_text, self.is_escaped) = (false, false);
        self.word.clear();
    }

    fn end_word(&mut self, out: &mut Vec<u8>) {
        let is_number = std::str::from_utf8(&self.word).is_ok_and(|word| word.parse::<f64>().is_ok_and(f64::is_finite));
        if is_number || [&b"true"[..], b"false", b"null"].contains(&&self.word[..]) {
            out.extend_from_slice(&self.word);
        } else if !self.word.is_empty() {
            out.push(b'0');
        }
        self.word.clear();
    }
}

/// Names of fields and of kinds.
fn is_word(word: &[u8]) -> bool {
    word.len() <= MAX_WORD_BYTES && word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_ .-".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_the_header_pass_and_other_texts_do_not() {
        let file = br#"{"snapshot":{"title":"of alice","meta":{"node_fields":["type","name"],"x":"a\"secret@"},"node_count":2},
"nodes":[1,2],"comment":"of alice \" x","trace_tree":[1,0,[-2,{}],secret],"more":{"of alice":true}} of alice"#;
        for step in [1, 7, 1000] {
            let (mut filter, mut out, mut taken) = (GapFilter::default(), Vec::new(), 0);
            file.chunks(step).for_each(|part| taken += filter.pass(part, &mut out));
            let expected = br#"{"snapshot":{"title":"~|~|~|~|","meta":{"node_fields":["type","name"],"x":"~|~|~|~|~|"},"node_count":2},
"nodes":[1,2],"~|~|~|~|":"~|~|~|~|~|~|~|","trace_tree":[1,0,[-2,{}],0],"~|~|":{"~|~|~|~|":true}}"#;
            assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(expected));
            assert_eq!(taken, file.len() - " of alice".len());
        }
    }
}
