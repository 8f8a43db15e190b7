//! What was wrong with a dump, as every answer lists it.

use serde::Serialize;

use crate::input::Diagnostics;

/// All problems of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProblemRow {
    /// The stable code of the kind: `dangling-ref`.
    pub code: String,
    /// How often it was met.
    pub count: u64,
    /// Where first: `line 8`, `byte 1024`.
    pub first_at: String,
    /// What it means, to follow a count.
    #[serde(skip)]
    pub meaning: String,
}

/// The problems of a dump, by code.
pub(super) fn problems_of(diagnostics: &Diagnostics) -> Vec<ProblemRow> {
    let row = |problem: &&crate::input::Problem| ProblemRow {
        code: problem.code.to_string(),
        count: problem.count,
        first_at: problem.first_at.to_string(),
        meaning: problem.meaning.to_string(),
    };
    diagnostics.sorted().iter().map(row).collect()
}
