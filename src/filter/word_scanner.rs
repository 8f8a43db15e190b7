//! The words of an expression, one after another.

use super::FilterError;
use super::number::Number;
use super::path_step::PathStep;

/// Fields that a path has at most.
pub(super) const MAX_FIELDS_PER_PATH: usize = 16;
/// Paths that one question names, at most.
pub(super) const MAX_FIELD_PATHS: usize = 64;

/// Words that no column may be called.
pub(super) const KEYWORDS: [&str; 11] =
    ["and", "or", "not", "in", "between", "is", "null", "true", "false", "yes", "no"];

/// Reads an expression from its start to its end.
#[derive(Debug, Clone)]
pub(super) struct WordScanner<'t> {
    text: &'t str,
    /// The byte of the expression up to which it is read.
    pub(super) position: usize,
}

impl<'t> WordScanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        WordScanner { text, position: 0 }
    }

    /// Passes over blanks. Returns where the next word begins.
    pub(super) fn skip_to_next_word(&mut self) -> usize {
        self.position += self.rest().len() - self.rest().trim_start().len();
        self.position
    }

    fn rest(&self) -> &'t str {
        &self.text[self.position..]
    }

    /// The rest of the expression from the next word on.
    pub(super) fn rest_after_blanks(&mut self) -> &'t str {
        self.skip_to_next_word();
        self.rest()
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.rest_after_blanks().is_empty()
    }

    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> FilterError {
        FilterError::new(self.text, at, message)
    }

    /// The characters that come next and belong to a word; none where something else comes.
    pub(super) fn peek_word(&mut self) -> &'t str {
        let rest = self.rest_after_blanks();
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '@' | '#');
        &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())]
    }

    /// The word that comes next, passed over.
    pub(super) fn take_word(&mut self) -> &'t str {
        let word = self.peek_word();
        self.position += word.len();
        word
    }

    /// Passes over a word in any case, if it comes next.
    pub(super) fn take_keyword(&mut self, keyword: &str) -> bool {
        let word = self.peek_word();
        let is_it = word.eq_ignore_ascii_case(keyword);
        if is_it {
            self.position += word.len();
        }
        is_it
    }

    /// Passes over a sign, if it comes next.
    pub(super) fn take_sign(&mut self, sign: &str) -> bool {
        let is_it = self.rest_after_blanks().starts_with(sign);
        if is_it {
            self.position += sign.len();
        }
        is_it
    }

    /// Passes over a sign, which must come next.
    pub(super) fn expect_sign(&mut self, sign: &str, message: &str) -> Result<(), FilterError> {
        let here = self.skip_to_next_word();
        if self.take_sign(sign) { Ok(()) } else { Err(self.error(here, message)) }
    }

    /// Passes over a word, which must come next.
    pub(super) fn expect_keyword(&mut self, keyword: &str, message: &str) -> Result<(), FilterError> {
        let here = self.skip_to_next_word();
        if self.take_keyword(keyword) { Ok(()) } else { Err(self.error(here, message)) }
    }

    /// Passes over a text in quotes, if one comes next, and returns it; the quote twice stands for itself.
    pub(super) fn take_quoted(&mut self) -> Result<Option<String>, FilterError> {
        let start = self.skip_to_next_word();
        let Some(quote) = self.rest().chars().next().filter(|c| matches!(c, '\'' | '"')) else { return Ok(None) };
        let mut text = String::new();
        self.position += 1;
        loop {
            let Some(length) = self.rest().find(quote) else {
                return Err(self.error(start, format!("the {quote} is not closed")));
            };
            text.push_str(&self.rest()[..length]);
            self.position += length + 1;
            if !self.rest().starts_with(quote) {
                return Ok(Some(text));
            }
            text.push(quote);
            self.position += 1;
        }
    }

    /// A regular expression between slashes, with them, if one comes next; a slash in it is written `\/`.
    pub(super) fn take_regex(&mut self) -> Result<Option<String>, FilterError> {
        let start = self.skip_to_next_word();
        let Some(rest) = self.rest().strip_prefix('/') else { return Ok(None) };
        let mut is_escaped = false;
        for (at, c) in rest.char_indices() {
            match c {
                '/' if !is_escaped => {
                    self.position += at + 2;
                    return Ok(Some(format!("/{}/", rest[..at].replace("\\/", "/"))));
                }
                _ => is_escaped = c == '\\' && !is_escaped,
            }
        }
        Err(self.error(start, "the / is not closed"))
    }

    /// A number and its unit, if a number comes next, and where the unit begins.
    pub(super) fn take_number(&mut self) -> Option<(&'t str, &'t str, usize)> {
        let rest = self.rest_after_blanks();
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return None;
        }
        let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
        let number = &rest[..rest.len() - digits.len() + end];
        self.position += number.len();
        let after = self.position;
        let unit_at = self.skip_to_next_word();
        if self.take_sign("%") {
            return Some((number, "%", unit_at));
        }
        let unit = self.peek_word();
        // What stands apart is one only if it is known.
        if unit_at > after && !Number::is_unit(unit) {
            return Some((number, "", after));
        }
        self.position += unit.len();
        Some((number, unit, unit_at))
    }

    /// A dotted path of names, if one comes next, with keys and numbers of elements: `.user.name`, `.map["a key"]`, `.list[0]`,
    /// `."a name"`.
    pub(super) fn take_path(&mut self) -> Result<Option<Vec<PathStep>>, FilterError> {
        let start = self.skip_to_next_word();
        let mut steps = Vec::new();
        loop {
            if let Some(rest) = self.rest().strip_prefix('.') {
                let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#');
                let name = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
                self.position += 1 + name.len();
                match name.is_empty() && rest.starts_with(['\'', '"']) {
                    true => steps.extend(self.take_quoted()?.map(PathStep::Field)),
                    false if name.is_empty() => return Err(self.error(self.position, "the name of a field is missing")),
                    false => steps.push(PathStep::Field(name.to_string())),
                }
            } else if let Some(rest) = self.rest().strip_prefix('[').filter(|_| !steps.is_empty()) {
                self.position += 1;
                let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#' | '-' | '.');
                let word = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
                self.position += word.len();
                steps.push(match (word.is_empty(), rest.starts_with(['\'', '"'])) {
                    (true, true) => PathStep::Key(self.take_quoted()?.unwrap_or_default()),
                    (true, false) => {
                        return Err(self.error(self.position, "a key in quotes or a number is expected behind ["));
                    }
                    _ => PathStep::Word(word.to_string()),
                });
                if !self.rest().starts_with(']') {
                    return Err(self.error(self.position, "] is expected here"));
                }
                self.position += 1;
            } else {
                return Ok((!steps.is_empty()).then_some(steps));
            }
            if steps.len() > MAX_FIELDS_PER_PATH {
                return Err(self.error(start, format!("a path has at most {} fields", MAX_FIELDS_PER_PATH)));
            }
        }
    }
}
