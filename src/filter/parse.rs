//! From the text of an expression to its tree: recursive descent, one function for each way in which parts are joined.

use super::column::{FilterColumn, ValueKind};
use super::error::FilterError;
use super::expression_tree::{Condition, FilterTest, Predicate, TestSubject};
use super::number::{Comparison, Number, NumberError};
use super::path_step::PathStep;
use super::word_scanner::{KEYWORDS, MAX_FIELD_PATHS, WordScanner};
use crate::analysis::type_patterns::TypePattern;
use crate::analysis::type_patterns::nearest_word;

/// Parentheses and `not`s around one another, at most: each takes a part of the stack.
const MAX_NESTED_CONDITIONS: usize = 200;
/// Bytes of an expression, at most.
const MAX_EXPRESSION_BYTES: usize = 64 << 10;

/// The comparisons, longer signs before those they begin with.
const COMPARISON_SIGNS: [(&str, Comparison); 8] = [
    ("!=", Comparison::Ne),
    ("<>", Comparison::Ne),
    ("<=", Comparison::Le),
    (">=", Comparison::Ge),
    ("==", Comparison::Eq),
    ("=", Comparison::Eq),
    ("<", Comparison::Lt),
    (">", Comparison::Gt),
];

/// Reads an expression; paths of fields are added to `fields`.
pub(super) fn parse(text: &str, fields: &mut Vec<Vec<PathStep>>) -> Result<Condition, FilterError> {
    let mut parser = FilterParser { scanner: WordScanner::new(text), fields, nested_count: 0 };
    if text.len() > MAX_EXPRESSION_BYTES {
        return Err(parser
            .scanner
            .error(MAX_EXPRESSION_BYTES, format!("an expression has at most {MAX_EXPRESSION_BYTES} bytes")));
    }
    let condition = parser.parse_any_of()?;
    let at = parser.scanner.skip_to_next_word();
    match parser.scanner.is_at_end() {
        true => Ok(condition),
        false if parser.scanner.take_sign(")") => Err(parser.scanner.error(at, "no ( is open here")),
        false => Err(parser.scanner.error(at, "not understood from here: `and`, `or` or the end is expected")),
    }
}

struct FilterParser<'t, 'f> {
    scanner: WordScanner<'t>,
    /// Paths of fields that were named so far.
    fields: &'f mut Vec<Vec<PathStep>>,
    /// Parentheses and `not`s that are open.
    nested_count: usize,
}

impl FilterParser<'_, '_> {
    fn parse_any_of(&mut self) -> Result<Condition, FilterError> {
        let mut parts = vec![self.parse_all_of()?];
        while self.scanner.take_keyword("or") || self.scanner.take_sign("||") {
            parts.push(self.parse_all_of()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Condition::Any(parts) })
    }

    fn parse_all_of(&mut self) -> Result<Condition, FilterError> {
        let mut parts = vec![self.parse_condition()?];
        while self.scanner.take_keyword("and") || self.scanner.take_sign("&&") {
            parts.push(self.parse_condition()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Condition::All(parts) })
    }

    fn parse_condition(&mut self) -> Result<Condition, FilterError> {
        let at = self.scanner.skip_to_next_word();
        let is_not = self.scanner.take_keyword("not") || self.scanner.take_sign("!");
        if !is_not && !self.scanner.take_sign("(") {
            return self.parse_test();
        }
        self.nested_count += 1;
        if self.nested_count > MAX_NESTED_CONDITIONS {
            let message = format!("parentheses and `not`s are nested more than {MAX_NESTED_CONDITIONS} deep");
            return Err(self.scanner.error(at, message));
        }
        let condition = if is_not {
            Condition::Not(Box::new(self.parse_condition()?))
        } else {
            let inner = self.parse_any_of()?;
            if !self.scanner.take_sign(")") {
                let here = self.scanner.skip_to_next_word();
                return Err(match self.scanner.is_at_end() {
                    true => self.scanner.error(at, "this ( is not closed"),
                    false => self.scanner.error(here, "`and`, `or` or ) is expected here"),
                });
            }
            inner
        };
        self.nested_count -= 1;
        Ok(condition)
    }

    fn parse_test(&mut self) -> Result<Condition, FilterError> {
        let at = self.scanner.skip_to_next_word();
        let (subject, kind) = self.parse_subject(at)?;
        let test = |value_at, predicate| {
            Condition::Test(FilterTest {
                subject: subject.clone(),
                start_offset: at,
                value_offset: value_at,
                predicate,
            })
        };
        let negated = |is_not, condition| if is_not { Condition::Not(Box::new(condition)) } else { condition };
        if self.scanner.take_keyword("is") {
            let is_not = self.scanner.take_keyword("not");
            self.scanner.expect_keyword("null", "`null` or `not null` is expected behind `is`")?;
            return Ok(negated(is_not, test(at, Predicate::IsNull)));
        }
        let here = self.scanner.skip_to_next_word();
        let is_not_in = self.scanner.take_keyword("not");
        if self.scanner.take_keyword("in") {
            return Ok(negated(is_not_in, self.parse_in_list(kind, &test)?));
        }
        if self.scanner.take_keyword("between") {
            let mut bounds = Vec::new();
            for op in [Comparison::Ge, Comparison::Le] {
                let value_at = self.scanner.skip_to_next_word();
                bounds.push(test(value_at, self.parse_value(kind, op)?));
                if op == Comparison::Ge {
                    self.scanner.expect_keyword("and", "`and` is expected: between A and B")?;
                }
            }
            return Ok(negated(is_not_in, Condition::All(bounds)));
        }
        if is_not_in {
            let here = self.scanner.skip_to_next_word();
            return Err(self.scanner.error(here, "`in` or `between` is expected behind `not`"));
        }
        for (sign, is_not) in [("!~", true), ("~", false)] {
            if self.scanner.take_sign(sign) {
                let value_at = self.scanner.skip_to_next_word();
                return Ok(negated(is_not, test(value_at, self.parse_pattern(kind)?)));
            }
        }
        if let Some((_, op)) = COMPARISON_SIGNS.iter().find(|(sign, _)| self.scanner.take_sign(sign)) {
            let value_at = self.scanner.skip_to_next_word();
            // `!= true` is `= false`, of what is known.
            let (is_not, predicate) = match self.parse_value(kind, *op)? {
                Predicate::IsTrue if self.is_no_word(value_at) != (*op == Comparison::Ne) => (true, Predicate::IsTrue),
                predicate => (false, predicate),
            };
            return Ok(negated(is_not, test(value_at, predicate)));
        }
        match kind {
            Some(ValueKind::YesNo) | None => Ok(test(at, Predicate::IsTrue)),
            _ => Err(self.scanner.error(here, "a comparison is expected here: = != < <= > >= ~ !~ in between is")),
        }
    }

    /// Of the word at a place that is yes or no: is it no?
    fn is_no_word(&self, at: usize) -> bool {
        let mut again = self.scanner.clone();
        again.position = at;
        let word = again.take_word();
        word.eq_ignore_ascii_case("false") || word.eq_ignore_ascii_case("no")
    }

    /// The subject of a test; the kind is not known of fields.
    fn parse_subject(&mut self, at: usize) -> Result<(TestSubject, Option<ValueKind>), FilterError> {
        if let Some(path) = self.scanner.take_path()? {
            let known = self.fields.iter().position(|known| *known == path);
            if known.is_none() && self.fields.len() == MAX_FIELD_PATHS {
                return Err(self.scanner.error(at, format!("a question names at most {MAX_FIELD_PATHS} fields")));
            }
            let number = known.unwrap_or(self.fields.len());
            if known.is_none() {
                self.fields.push(path);
            }
            return Ok((TestSubject::Field(number), None));
        }
        let word = self.scanner.take_word();
        if let Some(column) = FilterColumn::of_name(word) {
            return Ok((TestSubject::Column(column), Some(column.value_kind())));
        }
        let is_end = self.scanner.is_at_end();
        Err(self.scanner.error(
            at,
            match word {
                "" if is_end => "a column is expected here, as in: retained > 1MiB".to_string(),
                "" => "a column is expected here".to_string(),
                word if KEYWORDS.iter().any(|keyword| word.eq_ignore_ascii_case(keyword)) => {
                    format!("a column is expected before `{word}`")
                }
                word => {
                    let there = || format!("there are {}", FilterColumn::names().join(", "));
                    let meant =
                        nearest_word(word, &FilterColumn::names()).map(|meant| format!("did you mean {meant}?"));
                    let word: String = word.chars().take(40).collect();
                    let there = || format!("{}; a field of an object begins with a dot: .{word}", there());
                    format!("no column \"{word}\"; {}", meant.unwrap_or_else(there))
                }
            },
        ))
    }

    /// `(a, b)` behind `in`.
    fn parse_in_list(
        &mut self,
        kind: Option<ValueKind>,
        test: &impl Fn(usize, Predicate) -> Condition,
    ) -> Result<Condition, FilterError> {
        let at = self.scanner.skip_to_next_word();
        self.scanner.expect_sign("(", "( is expected behind `in`: in ('a', 'b')")?;
        let here = self.scanner.skip_to_next_word();
        if self.scanner.take_sign(")") {
            return Err(self.scanner.error(here, "something to compare with is expected between ( and )"));
        }
        let (mut texts, mut others) = (Vec::new(), Vec::new());
        loop {
            let value_at = self.scanner.skip_to_next_word();
            match self.parse_value(kind, Comparison::Eq)? {
                Predicate::Text(_, text) => texts.push(text),
                Predicate::IsTrue => return Err(self.scanner.error(value_at, "yes and no are compared with =")),
                predicate => others.push(test(value_at, predicate)),
            }
            if !self.scanner.take_sign(",") {
                break;
            }
        }
        self.scanner.expect_sign(")", ", or ) is expected here")?;
        if !texts.is_empty() {
            others.push(test(at, Predicate::OneOf(texts)));
        }
        Ok(if others.len() == 1 { others.remove(0) } else { Condition::Any(others) })
    }

    fn parse_pattern(&mut self, kind: Option<ValueKind>) -> Result<Predicate, FilterError> {
        let at = self.scanner.skip_to_next_word();
        if let Some(kind) = kind.filter(|kind| *kind != ValueKind::Text) {
            let what = if kind == ValueKind::YesNo { "yes or no" } else { "a number" };
            return Err(self.scanner.error(at, format!("~ compares texts, and this is {what}")));
        }
        let pattern = match self.scanner.take_quoted()? {
            Some(pattern) => pattern,
            None => match self.scanner.take_regex()? {
                Some(regex) => regex,
                None => {
                    let word = self.scanner.peek_word();
                    let example = if word.is_empty() { "Cache" } else { word };
                    let message = format!("a pattern in quotes is expected behind ~: '{example}', or /{example}/");
                    return Err(self.scanner.error(at, message));
                }
            },
        };
        TypePattern::parse(&pattern)
            .map(Predicate::Matches)
            .map_err(|why| self.scanner.error(at, why.lines().collect::<Vec<_>>().join(" ")))
    }

    /// The value that something of a kind is compared with.
    fn parse_value(&mut self, kind: Option<ValueKind>, op: Comparison) -> Result<Predicate, FilterError> {
        let at = self.scanner.skip_to_next_word();
        if self.scanner.is_at_end() {
            return Err(self.scanner.error(at, "something to compare with is expected here"));
        }
        if self.scanner.peek_word().eq_ignore_ascii_case("null") {
            return Err(self.scanner.error(at, "nothing equals null; write `is null` or `is not null`"));
        }
        match kind {
            Some(ValueKind::Id) => self.parse_id(op),
            Some(ValueKind::Text) => match self.scanner.take_quoted()? {
                Some(text) => Ok(text_predicate(op, text)),
                None => {
                    let word = self.scanner.peek_word();
                    let example: String = if word.is_empty() { "abc" } else { word }.chars().take(40).collect();
                    let message = format!("this is a text: compare it with one in quotes, such as '{example}'");
                    Err(self.scanner.error(at, message))
                }
            },
            Some(ValueKind::Number) => self.parse_number(at, op, false),
            Some(ValueKind::Bytes) => self.parse_number(at, op, true),
            Some(ValueKind::YesNo) => self.parse_yes_or_no(at, op),
            None => match self.scanner.take_quoted()? {
                Some(text) => Ok(text_predicate(op, text)),
                None if self.is_yes_or_no_next() => self.parse_yes_or_no(at, op),
                None => self.parse_number(at, op, false),
            },
        }
    }

    fn parse_id(&mut self, op: Comparison) -> Result<Predicate, FilterError> {
        let at = self.scanner.skip_to_next_word();
        let id = match self.scanner.take_quoted()? {
            Some(id) => id,
            None => self.scanner.take_word().to_string(),
        };
        match id.is_empty() {
            true => Err(self.scanner.error(at, "an id is expected here, as the dump writes it")),
            false => Ok(Predicate::Id(op, id)),
        }
    }

    fn is_yes_or_no_next(&mut self) -> bool {
        let word = self.scanner.peek_word();
        ["yes", "no", "true", "false"].iter().any(|known| word.eq_ignore_ascii_case(known))
    }

    fn parse_yes_or_no(&mut self, at: usize, op: Comparison) -> Result<Predicate, FilterError> {
        if !self.is_yes_or_no_next() || !matches!(op, Comparison::Eq | Comparison::Ne) {
            return Err(self.scanner.error(at, "this is yes or no: compare it by = with true or false"));
        }
        self.scanner.take_word();
        Ok(Predicate::IsTrue)
    }

    fn parse_number(&mut self, at: usize, op: Comparison, may_be_share: bool) -> Result<Predicate, FilterError> {
        let Some((number, unit, unit_at)) = self.scanner.take_number() else {
            let what = if may_be_share { "a size, such as 4096, 1MiB or 2%" } else { "a number, such as 1000" };
            return Err(self.scanner.error(at, format!("{what} is expected here")));
        };
        if unit == "%" && !may_be_share {
            return Err(self.scanner.error(unit_at, "only shallow and retained have shares of the reachable bytes"));
        }
        Number::new(number, unit).map(|number| Predicate::Number(op, number)).map_err(|error| match error {
            NumberError::UnknownUnit(unit) if number == "0" && unit.starts_with(['x', 'X']) => {
                self.scanner.error(at, "numbers are decimal here: write 0x10 as 16")
            }
            NumberError::UnknownUnit(unit) => {
                let unit: String = unit.chars().take(40).collect();
                self.scanner.error(unit_at, format!("no unit \"{unit}\"; there are {}", Number::listed_units()))
            }
            NumberError::TooLong => self.scanner.error(at, "the number has too many digits"),
            NumberError::Malformed => self.scanner.error(at, "not a number; write it as 4096 or 1.5"),
        })
    }
}

/// The question of a comparison with a text.
fn text_predicate(op: Comparison, text: String) -> Predicate {
    if op == Comparison::Eq { Predicate::OneOf(vec![text]) } else { Predicate::Text(op, text) }
}
