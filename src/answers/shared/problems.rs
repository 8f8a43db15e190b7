//! Problems of a dump, as every answer lists them.

use serde::Serialize;

use crate::input::{Diagnostics, Severity};

/// All problems of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProblemRow {
    /// The stable code of the kind: `dangling-ref`.
    pub code: String,
    /// Number of times it was met.
    pub count: u64,
    /// Place of the first: `line 8`, `byte 1024`.
    pub first_at: String,
    /// A note is worth listing, and no sign of damage.
    pub severity: Severity,
    /// Meaning, to follow a count.
    #[serde(skip)]
    pub meaning: String,
}

impl ProblemRow {
    /// Returns true for what is worth listing, and no sign of damage.
    pub fn is_note(&self) -> bool {
        self.severity == Severity::Note
    }
}

/// Codes, of whatever format, that say that the end of the dump is missing; and those that make it likely.
const CUT_CODES: [&str; 3] = ["broken-compression", "truncated", "truncated-line"];
const PERHAPS_CUT_CODES: [&str; 2] = ["missing-end-record", "missing-trailer"];
/// Codes that say that objects or references are missing in its midst.
const INCOMPLETE_CODES: [&str; 8] = [
    "bad-record",
    "bad-subrecord",
    "dropped-events",
    "malformed-block",
    "malformed-container",
    "missing-edge-events",
    "missing-node-events",
    "missing-root-events",
];

/// Says that a part of a dump is missing, where its problems say so.
pub fn cut_sentence(problems: &[ProblemRow]) -> Option<String> {
    let of = |codes: &[&str]| problems.iter().find(|problem| codes.contains(&problem.code.as_str()));
    for (codes, what) in [(&CUT_CODES[..], "cut"), (&INCOMPLETE_CODES, "not complete")] {
        let Some(problem) = of(codes) else { continue };
        let lost =
            "objects and references are missing, so what is reachable and retained is that of a part of the heap";
        return Some(format!("The dump is {what} at {}: {lost}", problem.first_at));
    }
    let lost = "objects and references may be missing";
    Some(format!("The dump is probably cut at {}: {lost}", of(&PERHAPS_CUT_CODES)?.first_at))
}

/// The same in a word, for a heading: `cut`, `not complete` or `probably cut`.
pub fn cut_word(diagnostics: &Diagnostics) -> Option<&'static str> {
    let has = |codes: &[&str]| diagnostics.sorted().iter().any(|problem| codes.contains(&&*problem.code.to_string()));
    let words = [(&CUT_CODES[..], "cut"), (&INCOMPLETE_CODES, "not complete"), (&PERHAPS_CUT_CODES, "probably cut")];
    words.into_iter().find_map(|(codes, word)| has(codes).then_some(word))
}

/// The problems of a dump, by code.
pub fn problems_of(diagnostics: &Diagnostics) -> Vec<ProblemRow> {
    let row = |problem: &&crate::input::Problem| ProblemRow {
        code: problem.code.to_string(),
        count: problem.count,
        first_at: problem.first_at.to_string(),
        meaning: problem.meaning.to_string(),
        severity: problem.severity,
    };
    diagnostics.sorted().iter().map(row).collect()
}
