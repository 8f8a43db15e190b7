//! JSON byte by byte: texts that a format lets pass (without names of users), numbers but values, `true`, `false`, `null` and
//! signs. Other texts become fillers of their length, other words and values 0.

use rustc_hash::FxHashMap;

use super::filler::FillerMaker;
use super::names::hide_user_names;
use crate::input::v8_snapshot::block::push_unescaped;

/// Longer texts do not stay.
const MAX_KEPT_TEXT_BYTES: usize = 64 << 20;
/// Brackets in one another, at most: what is deeper counts as on the last of them.
const MAX_BRACKET_DEPTH: usize = 1000;

/// What becomes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextDecision {
    Keep,
    Replace,
    /// The file may hold anything.
    RefuseFile,
}

/// A format: what becomes of a text at a place.
pub(super) type TextRule = fn(&JsonPosition, &str) -> TextDecision;

/// What may come next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ExpectedToken {
    #[default]
    Value,
    ElementOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
}

/// Where a text stands.
#[derive(Debug, Default)]
pub(super) struct JsonPosition {
    /// Brackets that are open, and the last key in each; a list has that of which it is the value.
    open_brackets: Vec<(u8, String)>,
    /// Those beyond `MAX_BRACKET_DEPTH`.
    untracked_depth: usize,
    expected: ExpectedToken,
}

impl JsonPosition {
    /// Brackets around it.
    pub(super) fn depth(&self) -> usize {
        self.open_brackets.len() + self.untracked_depth
    }

    /// Is it a key?
    pub(super) fn is_key(&self) -> bool {
        matches!(self.expected, ExpectedToken::Key | ExpectedToken::KeyOrEnd)
    }

    /// The key that it is a value of, at whatever depth; of a key that of the object that it is in. Empty where there is none.
    pub(super) fn enclosing_key(&self) -> &str {
        let at = self.open_brackets.len().checked_sub(1 + usize::from(self.is_key()));
        at.and_then(|at| self.open_brackets.get(at)).map_or("", |(_, key)| key)
    }

    /// The key at the top of the file; empty in a list.
    pub(super) fn top_level_key(&self) -> &str {
        self.open_brackets.first().filter(|(bracket, _)| *bracket == b'{').map_or("", |(_, key)| key)
    }

    /// Is it in an object below the top?
    pub(super) fn is_in_object_below_top(&self) -> bool {
        self.open_brackets.iter().skip(1).any(|(bracket, _)| *bracket == b'{')
    }

    /// A sign that is no quote; false where none like it may come.
    fn advance_past_sign(&mut self, sign: u8) -> bool {
        use ExpectedToken::{Colon, CommaOrEnd, ElementOrEnd, Key, KeyOrEnd, Value};
        let is_in_object = self.open_brackets.last().is_some_and(|(bracket, _)| *bracket == b'{');
        let expected = self.expected;
        match sign {
            b'{' | b'[' => {
                if self.open_brackets.len() == MAX_BRACKET_DEPTH {
                    self.untracked_depth += 1;
                } else {
                    self.expected = Value;
                    let key = self.enclosing_key().to_string();
                    self.open_brackets.push((sign, key));
                }
                self.expected = if sign == b'{' { KeyOrEnd } else { ElementOrEnd };
                matches!(expected, Value | ElementOrEnd) && self.untracked_depth == 0
            }
            b'}' | b']' => {
                let is_own = is_in_object == (sign == b'}') && !self.open_brackets.is_empty();
                if self.untracked_depth > 0 {
                    self.untracked_depth -= 1;
                } else {
                    self.open_brackets.pop();
                }
                self.expected = CommaOrEnd;
                is_own && matches!((sign, expected), (_, CommaOrEnd) | (b'}', KeyOrEnd) | (b']', ElementOrEnd))
            }
            b',' => {
                self.expected = if is_in_object { Key } else { Value };
                expected == CommaOrEnd && !self.open_brackets.is_empty()
            }
            b':' => {
                self.expected = Value;
                expected == Colon
            }
            _ => true,
        }
    }

    /// A text, a number or a word; false where none may come.
    fn advance_past_value(&mut self, is_text: bool) -> bool {
        let expected = self.expected;
        self.expected = if self.is_key() { ExpectedToken::Colon } else { ExpectedToken::CommaOrEnd };
        match expected {
            ExpectedToken::Value | ExpectedToken::ElementOrEnd => true,
            ExpectedToken::Key | ExpectedToken::KeyOrEnd => is_text,
            ExpectedToken::Colon | ExpectedToken::CommaOrEnd => false,
        }
    }
}

/// Goes through JSON, and collects what may stay of it.
pub(super) struct JsonRedactor {
    rule: TextRule,
    pub(super) position: JsonPosition,
    /// What may stay so far. Who takes it leaves it empty.
    pub(super) out: Vec<u8>,
    fillers: FillerMaker,
    /// By text: its number, where equal ones stay equal; 30 bytes for each.
    filler_numbers: Option<FxHashMap<Vec<u8>, u64>>,
    /// What has come of the text or word at hand; of a text from behind its quote on.
    open_token: Vec<u8>,
    is_in_text: bool,
    is_escaped: bool,
    /// A text was met of which the rule says so.
    pub(super) is_refused: bool,
    /// Something came that breaks the rules of JSON.
    pub(super) is_broken: bool,
    /// Where they are asked for, texts as they stand in the file, and whether they stay. Who takes them leaves it empty.
    pub(super) seen_texts: Option<Vec<(Vec<u8>, bool)>>,
}

impl JsonRedactor {
    pub(super) fn new(rule: TextRule, keeps_equality: bool) -> Self {
        JsonRedactor {
            rule,
            position: JsonPosition::default(),
            out: Vec::new(),
            fillers: FillerMaker::default(),
            filler_numbers: keeps_equality.then(FxHashMap::default),
            open_token: Vec::new(),
            is_in_text: false,
            is_escaped: false,
            is_refused: false,
            is_broken: false,
            seen_texts: None,
        }
    }

    /// Forgets what is open: a line begins.
    pub(super) fn begin_line(&mut self) {
        self.open_token.clear();
        (self.position, self.is_in_text, self.is_escaped) = (JsonPosition::default(), false, false);
    }

    pub(super) fn push_byte(&mut self, byte: u8) {
        let is_sign = matches!(byte, b'"' | b'{' | b'}' | b'[' | b']' | b',' | b':') || byte.is_ascii_whitespace();
        if self.is_in_text && byte == b'"' && !self.is_escaped {
            return self.end_text();
        }
        if self.is_in_text || !is_sign {
            self.is_escaped = self.is_in_text && byte == b'\\' && !self.is_escaped;
            self.is_broken |= byte < b' ';
            if self.open_token.len() < MAX_KEPT_TEXT_BYTES {
                self.open_token.push(byte);
            }
            return;
        }
        self.end_word();
        if byte == b'"' {
            return self.is_in_text = true;
        }
        self.is_broken |= !self.position.advance_past_sign(byte);
        self.out.push(byte);
    }

    /// A number, which under `value` becomes zero, or a word.
    pub(super) fn end_word(&mut self) {
        if self.open_token.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.open_token);
        let number = std::str::from_utf8(&word).ok().filter(|word| word.parse::<f64>().is_ok_and(f64::is_finite));
        match (number, &word[..]) {
            (Some(_), word) if self.position.enclosing_key() == "value" => {
                self.out.extend(word.iter().map(|byte| if byte.is_ascii_digit() { b'0' } else { *byte }));
            }
            (Some(_), word) | (None, word @ (b"true" | b"false" | b"null")) => self.out.extend_from_slice(word),
            _ => {
                self.is_broken = true;
                self.out.push(b'0');
            }
        }
        self.is_broken |= !self.position.advance_past_value(false);
    }

    fn end_text(&mut self) {
        self.is_in_text = false;
        let raw = std::mem::take(&mut self.open_token);
        let mut text = Vec::new();
        push_unescaped(&raw, &mut text);
        let plain = String::from_utf8_lossy(&text);
        let fate =
            if raw.len() < MAX_KEPT_TEXT_BYTES { (self.rule)(&self.position, &plain) } else { TextDecision::Replace };
        self.is_refused |= fate == TextDecision::RefuseFile;
        if self.position.is_key()
            && self.position.untracked_depth == 0
            && let Some((_, key)) = self.position.open_brackets.last_mut()
        {
            *key = plain.clone().into_owned();
        }
        self.is_broken |= !self.position.advance_past_value(true);
        if let Some(texts) = &mut self.seen_texts {
            texts.push((raw.clone(), fate == TextDecision::Keep));
        }
        self.out.push(b'"');
        let start = self.out.len();
        if fate == TextDecision::Keep {
            self.out.extend_from_slice(&raw);
            hide_user_names(&mut self.out[start..]);
        } else {
            let units = plain.encode_utf16().count();
            match &mut self.filler_numbers {
                Some(known) => {
                    let next = known.len() as u64;
                    let number = *known.entry(text.clone()).or_insert(next);
                    FillerMaker::append_numbered_filler(number, units, &mut self.out);
                }
                None => self.fillers.append_filler(units, &mut self.out),
            }
        }
        self.out.push(b'"');
    }
}
