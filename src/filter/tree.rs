//! An expression, parsed and not yet bound to a dump.

use std::cmp::Ordering;

use super::column::Column;
use super::number::Number;
use crate::analysis::selection::TypePattern;

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Op {
    /// Does it hold of things in this order?
    pub(super) fn holds(self, order: Ordering) -> bool {
        match self {
            Op::Eq => order.is_eq(),
            Op::Ne => order.is_ne(),
            Op::Lt => order.is_lt(),
            Op::Le => order.is_le(),
            Op::Gt => order.is_gt(),
            Op::Ge => order.is_ge(),
        }
    }

    /// What holds of all known things of which it does not.
    pub(super) fn negated(self) -> Self {
        match self {
            Op::Eq => Op::Ne,
            Op::Ne => Op::Eq,
            Op::Lt => Op::Ge,
            Op::Le => Op::Gt,
            Op::Gt => Op::Le,
            Op::Ge => Op::Lt,
        }
    }
}

/// What is tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    Column(Column),
    /// A field of the objects, by its number in the filter's list.
    Field(usize),
}

/// What is asked of it.
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

/// A test of one thing.
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
    /// Visits all tests.
    pub(super) fn for_each(&self, visit: &mut impl FnMut(&Test)) {
        match self {
            Condition::All(parts) | Condition::Any(parts) => parts.iter().for_each(|part| part.for_each(visit)),
            Condition::Not(inner) => inner.for_each(visit),
            Condition::Test(test) => visit(test),
        }
    }
}
