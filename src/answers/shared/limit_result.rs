//! Results of limits on growth and size.

use crate::analysis::type_patterns::{TypePattern, did_you_mean};

/// Result of a limit that was passed, or that is on nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitResult {
    /// The result in words.
    pub text: String,
    /// It was passed; else no type matches its pattern.
    pub is_over: bool,
}

impl LimitResult {
    /// No row of a kind matches what a limit is on.
    pub(in crate::answers) fn without_matching_rows<'n>(
        kind: &str,
        limit: &str,
        of: &TypePattern,
        names: impl Iterator<Item = &'n str> + Clone,
    ) -> Self {
        let hint = did_you_mean(of.suggestion(names));
        LimitResult { text: format!("no {kind} matches --fail-over {limit}{hint}"), is_over: false }
    }

    /// The same as a sentence, where a limit of nothing is an error or no more than a note.
    pub fn sentence(&self, is_strict: bool) -> String {
        match (self.is_over, is_strict) {
            (true, _) => self.text.clone(),
            (false, true) => format!("{} (an error because of --strict)", self.text),
            (false, false) => format!("note: {}", self.text),
        }
    }
}
