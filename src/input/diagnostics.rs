//! Problems met in a dump: kinds with stable codes, how often, and where first. Bounded memory whatever the input.

use crate::sort;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::error::{Position, ReadError, ReadErrorKind};
use super::info::FixedText;

/// A kind of problem. The name is part of the JSON output and of the format's document.
#[derive(Debug, PartialEq, Eq)]
pub struct ProblemCode {
    /// `dangling-ref`
    pub name: &'static str,
    /// Its meaning, to follow a count: "references to objects that are not in the dump".
    pub meaning: &'static str,
    /// Its weight.
    pub severity: Severity,
}

/// The weight of a kind of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The graph may differ from the heap: it is warned about, and an error under `strict`.
    Warning,
    /// Worth listing, without effect on what was read.
    Note,
}

impl ProblemCode {
    /// A kind that is warned about.
    pub const fn warning(name: &'static str, meaning: &'static str) -> Self {
        ProblemCode { name, meaning, severity: Severity::Warning }
    }

    /// A kind that is only listed.
    pub const fn note(name: &'static str, meaning: &'static str) -> Self {
        ProblemCode { name, meaning, severity: Severity::Note }
    }
}

/// All problems of one kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Problem {
    /// The name of its [`ProblemCode`].
    pub code: FixedText,
    /// The meaning of the code.
    pub meaning: FixedText,
    /// Its weight.
    pub severity: Severity,
    /// The number of times it was met.
    pub count: u64,
    /// The first place.
    pub first_at: Position,
    /// The text there, shortened; may be empty.
    pub first_text: String,
}

/// `bad-line (3 times, first at line 7: "x"): lines that are no record`
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if self.first_text.is_empty() { String::new() } else { format!(": {}", self.first_text) };
        let count = if self.count == 1 { String::new() } else { format!("{} times, first ", self.count) };
        write!(f, "{} ({count}at {}{text}): {}", self.code, self.first_at, self.meaning)
    }
}

impl Problem {
    /// Returns true for a problem of this kind.
    pub fn has_code(&self, code: &ProblemCode) -> bool {
        self.code == code.name
    }

    /// Is it worth listing, and no sign of damage?
    pub fn is_note(&self) -> bool {
        self.severity == Severity::Note
    }

    pub(super) fn meaning_and_text(&self) -> String {
        let meaning = &self.meaning;
        if self.first_text.is_empty() { meaning.to_string() } else { format!("{meaning}: {}", self.first_text) }
    }
}

/// The problems of a dump, by kind.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Diagnostics {
    problems: Vec<Problem>,
}

/// Characters of an offending line that are kept.
const MAX_TEXT_CHARS: usize = 80;

impl Diagnostics {
    /// Takes the texts of the dump away that show where a problem is.
    pub(crate) fn forget_texts(&mut self) {
        self.problems.iter_mut().for_each(|problem| problem.first_text.clear());
    }

    /// Counts `count` problems of a kind, the first of them at `at`; `text` is asked for only when it is the first so far.
    pub fn add(&mut self, code: &'static ProblemCode, count: u64, at: Position, text: impl FnOnce() -> String) {
        let ProblemCode { name, meaning, severity } = code;
        let kind = ((*name).into(), (*meaning).into(), *severity);
        if let Some(first_text) = self.count_problem(kind, count, at) {
            *first_text = text();
        }
    }

    /// Counts problems of a kind. Gives the place for the text of the first one, if that is among these.
    fn count_problem(
        &mut self,
        kind: (FixedText, FixedText, Severity),
        count: u64,
        at: Position,
    ) -> Option<&mut String> {
        if count == 0 {
            return None;
        }
        let (code, meaning, severity) = kind;
        let known = self.problems.iter().position(|problem| problem.code == code);
        let place = known.unwrap_or_else(|| {
            let first_text = String::new();
            self.problems.push(Problem { code, meaning, severity, count: 0, first_at: at, first_text });
            self.problems.len() - 1
        });
        let problem = &mut self.problems[place];
        let is_first = problem.count == 0 || at < problem.first_at;
        problem.count += count;
        problem.first_at = if is_first { at } else { problem.first_at };
        is_first.then_some(&mut problem.first_text)
    }

    /// One problem on a line, with what the line says.
    pub fn add_on_line(&mut self, code: &'static ProblemCode, line: u64, text: &[u8]) {
        self.add(code, 1, Position::Line(line), || if text.is_empty() { String::new() } else { excerpt(text) });
    }

    /// Takes over the problems of a block whose lines were counted from 1, as `lines_before` lines came before it.
    pub fn merge_block(&mut self, block: &mut Diagnostics, lines_before: u64) {
        for problem in block.problems.drain(..) {
            let at = match problem.first_at {
                Position::Line(line) => Position::Line(line + lines_before),
                byte => byte,
            };
            let Problem { code, meaning, severity, count, first_text, .. } = problem;
            if let Some(text) = self.count_problem((code, meaning, severity), count, at) {
                *text = first_text;
            }
        }
    }

    /// The problems, by code.
    pub fn sorted(&self) -> Vec<&Problem> {
        let mut problems: Vec<&Problem> = self.problems.iter().collect();
        sort::rows_by(&mut problems, &|a, b| a.code.cmp(&b.code));
        problems
    }

    /// The first byte with one of these problems.
    pub(crate) fn first_offset_of(&self, codes: &[&str]) -> Option<u64> {
        let offset = |problem: &Problem| match problem.first_at {
            Position::Byte(at) if codes.contains(&&*problem.code) => Some(at),
            _ => None,
        };
        self.problems.iter().filter_map(offset).min()
    }

    /// The first problem as an error, if there is one that counts.
    ///
    /// # Errors
    /// If `strict` and any problem is more than a note.
    pub fn fail_if_strict(&self, strict: bool) -> Result<(), ReadError> {
        let first = self
            .problems
            .iter()
            .filter(|problem| problem.severity == Severity::Warning)
            .min_by_key(|problem| problem.first_at);
        match first {
            Some(problem) if strict => {
                let kind = ReadErrorKind::StrictProblem(problem.code.to_string(), problem.meaning_and_text());
                Err(ReadError::new(kind).at(problem.first_at))
            }
            _ => Ok(()),
        }
    }
}

/// The start of a line, as text in quotes.
pub fn excerpt(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * MAX_TEXT_CHARS)]);
    let mut short: String = text.trim().chars().take(MAX_TEXT_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().count() > MAX_TEXT_CHARS {
        short.push_str("...");
    }
    format!("\"{short}\"")
}
