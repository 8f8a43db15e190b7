//! An expression, parsed and not yet bound to a dump.

use super::column::FilterColumn;
use super::number::{Comparison, Number};
use crate::analysis::type_patterns::TypePattern;

/// What of an object a test looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TestSubject {
    Column(FilterColumn),
    /// A field of the objects, by its number in the filter's list.
    Field(usize),
}

/// What is asked of the subject of a test.
#[derive(Debug, Clone)]
pub(super) enum Predicate {
    IsNull,
    /// Of what is yes or no.
    IsTrue,
    Number(Comparison, Number),
    /// By the order of characters.
    Text(Comparison, String),
    /// Is it one of these?
    OneOf(Vec<String>),
    /// Does it match the pattern?
    Matches(TypePattern),
    /// An id as it was typed.
    Id(Comparison, String),
}

/// One comparison of an expression.
#[derive(Debug, Clone)]
pub(super) struct FilterTest {
    pub(super) subject: TestSubject,
    /// The byte of the expression where it begins.
    pub(super) start_offset: usize,
    /// The byte where what it is compared with begins.
    pub(super) value_offset: usize,
    pub(super) predicate: Predicate,
}

/// An expression.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Test(FilterTest),
}

impl Condition {
    /// Visits every test in it.
    pub(super) fn for_each_test(&self, visit: &mut impl FnMut(&FilterTest)) {
        match self {
            Condition::All(parts) | Condition::Any(parts) => parts.iter().for_each(|part| part.for_each_test(visit)),
            Condition::Not(inner) => inner.for_each_test(visit),
            Condition::Test(test) => visit(test),
        }
    }
}

/// Does a text answer a question of texts?
pub(super) fn matches_text(predicate: &Predicate, text: &str) -> bool {
    match predicate {
        Predicate::OneOf(texts) => texts.iter().any(|one| one == text),
        Predicate::Text(op, other) => op.holds(text.cmp(other)),
        Predicate::Matches(pattern) => pattern.matches(text),
        _ => false,
    }
}
