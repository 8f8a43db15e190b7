//! Errors in an expression, with the place marked.

use std::fmt;

use unicode_width::UnicodeWidthStr;

use crate::dump::{DominatorError, MemoryError, NoValues};
use crate::input::ReadError;

/// Characters of an expression that are shown before and behind the place of an error.
const CHARACTERS_BEFORE_ERROR: usize = 50;
const CHARACTERS_BEHIND_ERROR: usize = 30;

/// A mistake in an expression, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    /// The mistake, in a line.
    pub(super) message: String,
    /// The whole expression.
    expression: String,
    /// The byte of it where that was noticed; its length for the end.
    pub(super) error_offset: usize,
    /// The expression was written as a pattern of classes.
    is_of_class_pattern: bool,
}

impl FilterError {
    pub(super) fn new(text: &str, at: usize, message: impl Into<String>) -> Self {
        FilterError {
            message: message.into(),
            expression: text.to_string(),
            error_offset: at.min(text.len()),
            is_of_class_pattern: false,
        }
    }

    pub(super) fn of_class_pattern(self) -> Self {
        FilterError { is_of_class_pattern: true, ..self }
    }

    /// Returns true if the mistake is in a pattern of classes, not in an expression.
    pub fn is_of_class_pattern(&self) -> bool {
        self.is_of_class_pattern
    }
}

/// Three lines: what is wrong, the expression, a mark below the place. Of a long expression the part around the place. Of a
/// pattern what is wrong.
impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_of_class_pattern {
            return f.write_str(&self.message);
        }
        let shown = |c: char| if c.is_control() { ' ' } else { c };
        let (before, behind) = self.expression.split_at_checked(self.error_offset).unwrap_or((&self.expression, ""));
        let skipped = before.chars().count().saturating_sub(CHARACTERS_BEFORE_ERROR);
        let start: String = before.chars().skip(skipped).map(shown).collect();
        let end: String = behind.chars().take(CHARACTERS_BEHIND_ERROR).map(shown).collect();
        let (more_before, more_behind) = (skipped > 0, behind.chars().nth(CHARACTERS_BEHIND_ERROR).is_some());
        let dots = |more: bool| if more { "..." } else { "" };
        let width = start.width() + dots(more_before).len();
        writeln!(f, "{}", self.message)?;
        writeln!(f, "  {}{start}{end}{}", dots(more_before), dots(more_behind))?;
        write!(f, "  {:width$}^", "")
    }
}

impl std::error::Error for FilterError {}

/// The reason for which no objects were chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterProblem {
    /// The dump has no such column, or no such id can be.
    #[error(transparent)]
    Invalid(#[from] FilterError),
    /// There is not the memory for a column.
    #[error(transparent)]
    OutOfMemory(#[from] MemoryError),
    /// The dump broke off before its references, on which a column rests.
    #[error("{}", DominatorError::NoReferences)]
    NoReferences,
    /// Fields are named, and the dump's values cannot be had.
    #[error(transparent)]
    NoValues(#[from] NoValues),
}

impl From<DominatorError> for FilterProblem {
    fn from(error: DominatorError) -> Self {
        match error {
            DominatorError::Memory(error) => FilterProblem::OutOfMemory(error),
            DominatorError::NoReferences => FilterProblem::NoReferences,
        }
    }
}

/// The reason where values cannot be read.
pub(super) fn unreadable(error: ReadError) -> NoValues {
    NoValues::Unreadable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_marked() {
        let error = FilterError::new("retined > 1MiB", 0, "no column");
        assert_eq!(error.to_string(), "no column\n  retined > 1MiB\n  ^");
        let error = FilterError::new("a\t> 'ä' x", 9, "what");
        assert_eq!(error.to_string(), "what\n  a > 'ä' x\n          ^");
        let error = FilterError::new("type ~ '日本' x", 16, "what");
        assert_eq!(error.to_string().lines().last(), Some("                ^"));
        let long = format!("{}?{}", "a".repeat(100), "b".repeat(100));
        let shown = FilterError::new(&long, 100, "what").to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1], format!("  ...{}?{}...", "a".repeat(50), "b".repeat(29)));
        assert_eq!(lines[2].len() - 1, lines[1].find('?').unwrap());
    }
}
