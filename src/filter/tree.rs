//! An expression, parsed and not yet bound to a dump.

use super::column::Column;
use super::number::{Number, Op};
use crate::analysis::selection::TypePattern;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    Column(Column),
    /// A field of the objects, by its number in the filter's list.
    Field(usize),
}

#[derive(Debug, Clone)]
pub(super) enum Question {
    IsNull,
    /// Of what is yes or no.
    IsTrue,
    Number(Op, Number),
    /// By the order of characters.
    Text(Op, String),
    /// Is it one of these?
    OneOf(Vec<String>),
    Matches(TypePattern),
    /// An id as it was typed.
    Id(Op, String),
}

#[derive(Debug, Clone)]
pub(super) struct Test {
    pub(super) subject: Subject,
    /// The byte of the expression where it begins.
    pub(super) at: usize,
    /// The byte where what it is compared with begins.
    pub(super) value_at: usize,
    pub(super) question: Question,
}

/// An expression.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Test(Test),
}

impl Condition {
    pub(super) fn for_each(&self, visit: &mut impl FnMut(&Test)) {
        match self {
            Condition::All(parts) | Condition::Any(parts) => parts.iter().for_each(|part| part.for_each(visit)),
            Condition::Not(inner) => inner.for_each(visit),
            Condition::Test(test) => visit(test),
        }
    }
}

/// Does a text answer a question of texts?
pub(super) fn fits(question: &Question, text: &str) -> bool {
    match question {
        Question::OneOf(texts) => texts.iter().any(|one| one == text),
        Question::Text(op, other) => op.holds(text.cmp(other)),
        Question::Matches(pattern) => pattern.matches(text),
        _ => false,
    }
}
