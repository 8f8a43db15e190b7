//! Reasons for a question to have no answer. Texts name no command-line options: the command line adds those.

use std::fmt;

use super::GroupBy;
use crate::dump::{MemoryError, NoValues, TreeError};
use crate::filter::{FilterError, FilterProblem};
use crate::units::count_of;

/// Dumps that prove that something grows, at least: two steps up prove nothing.
pub const MIN_JUDGED: usize = 4;

/// A reason for a question to have no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerError {
    /// The dump holds allocation totals by backtrace and type, and the question is about objects.
    NotObjects,
    /// The dump holds allocation totals, and the question is about objects that fulfil an expression.
    NoObjectsToChoose,
    /// The dump holds allocation totals, and the question begins at an object: its id as it was typed.
    NoObjectsToBeginAt(String),
    /// The dump holds objects, and the question is about allocation totals.
    NotAllocations,
    /// One dump holds objects, the other allocation totals.
    MixedContents,
    /// There is not the memory for it.
    Memory(MemoryError),
    /// The dump broke off before its references, on which the answer rests.
    NoReferences,
    /// The dump does not say what to group by: the group, and what is missing.
    NoSuchGroups(GroupBy, &'static str),
    /// No section is called so; there are these.
    NoSuchSection(String, Vec<String>),
    /// Several sections, by these numbers from 1, are called so.
    AmbiguousSection(String, Vec<usize>),
    /// No object has this id (as it would be printed) in the dump.
    NoSuchObject(String),
    /// No object has this id in the section asked for (its number from 1), but one has in another, by this full id.
    NoSuchObjectInSection(String, usize, String),
    /// Objects in several sections have this id; their full ids.
    AmbiguousObject(String, Vec<String>),
    /// The question names section `asked` for an object of another.
    OtherSection(String, usize),
    /// The id names a section by a number that there is not: the id, and how many sections there are.
    NoSuchSectionOfObject(String, usize),
    /// No heap of the allocation totals fits what was asked for; there are these.
    NoSuchHeap(Vec<String>),
    /// No tree has a place of this path.
    NoSuchPath(String),
    /// A dump of objects is one memory dump, and another is asked for.
    OneMemoryDump(String),
    /// No memory dump of this number; there are so many.
    NoSuchMemoryDump(String, usize),
    /// A heap has more pairs of backtrace and type than are kept: its title.
    TooManyPairs(String),
    /// Names are so long that the paths of a heap, written out, take more memory than it is worth.
    PathsTooLong,
    /// A tree has more rows than can be shown.
    TooManyRows {
        /// Its title.
        title: String,
        /// Rows of all trees of an answer, at most.
        limit: usize,
        /// Only together with the trees before it.
        with_earlier: bool,
    },
    /// The answer takes more work than is done without being asked: what, and how much is allowed.
    TooMuchWork(String),
    /// The retained size of this many objects together takes more work than is done without being asked.
    SetTooLarge(u64),
    /// No strong root reaches the object, so it retains nothing: its id.
    Unreachable(String),
    /// Detached nodes are asked for, and the format has no pages.
    NoPages,
    /// Ids of the format do not stay with their objects.
    NoLastingIds,
    /// The dumps are of two processes, or of sessions that numbered the objects anew: of the objects that have one id, so
    /// many are alike.
    OtherProcess {
        /// Of the same type and size in both.
        alike: u64,
        /// Objects with an id that both dumps have.
        of: u64,
    },
    /// A table of collections makes no sense: where, and why.
    BadCollections(String),
    /// The dump's values cannot be had.
    NoValues(NoValues),
    /// The object is no string and no array of characters or bytes: its id.
    NoText(String),
    /// Dumps of two formats: types of different runtimes do not compare.
    MixedFormats(String, String),
    /// Dumps are to be put in order by their times, and one has none.
    NoTimes,
    /// So few dumps that can be read prove nothing of what grows, or have no trend: how many it takes.
    TooFewDumps(usize, usize),
    /// The dump does not have what an expression names.
    WrongFilter(FilterError),
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnswerError::NotObjects => {
                f.write_str("the dump holds allocation totals by backtrace and type, no objects")
            }
            AnswerError::NoObjectsToChoose => {
                write!(f, "{}: none can be chosen by an expression", AnswerError::NotObjects)
            }
            AnswerError::NoObjectsToBeginAt(id) => {
                write!(f, "{}: there is no {id} to begin at", AnswerError::NotObjects)
            }
            AnswerError::NotAllocations => f.write_str("the dump holds objects, no allocation totals"),
            AnswerError::MixedContents => {
                f.write_str("one dump holds objects, the other allocation totals: nothing to compare")
            }
            AnswerError::Memory(error) => error.fmt(f),
            AnswerError::NoReferences => TreeError::NoReferences.fmt(f),
            AnswerError::NoSuchGroups(_, missing) => write!(f, "this dump does not say {missing}"),
            AnswerError::NoSuchSection(asked, there) => {
                write!(f, "no section \"{asked}\"; there are: {}", there.join(", "))
            }
            AnswerError::AmbiguousSection(asked, numbers) => {
                let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
                write!(f, "sections {} are all called \"{asked}\"; say which by number", numbers.join(", "))
            }
            AnswerError::NoSuchObject(id) => write!(f, "no object {id} in the dump"),
            AnswerError::NoSuchObjectInSection(id, section, other) => {
                write!(f, "no object {id} in section {section}; there is {other}")
            }
            AnswerError::AmbiguousObject(id, ids) => {
                write!(f, "object {id} is in several sections: {}", ids.join(", "))
            }
            AnswerError::OtherSection(id, asked) => write!(f, "object {id} is not in section {asked}"),
            AnswerError::NoSuchSectionOfObject(id, count) => write!(f, "object {id}: there are sections 1 to {count}"),
            AnswerError::NoSuchPath(path) => {
                write!(f, "no path {path:?}: names from the top down as the whole tree prints them, ';' between them")
            }
            AnswerError::NoSuchHeap(there) => write!(f, "no heap fits; there are: {}", there.join("; ")),
            AnswerError::OneMemoryDump(asked) => write!(f, "the file has one dump, there is no \"{asked}\""),
            AnswerError::NoSuchMemoryDump(asked, count) => {
                write!(f, "no dump \"{asked}\"; there are 1 to {count}, last, and all")
            }
            AnswerError::TooManyPairs(title) => write!(f, "{title}: too many pairs of backtrace and type"),
            AnswerError::PathsTooLong => f.write_str("names are so long that the paths take too much memory"),
            AnswerError::TooManyRows { title, limit, with_earlier: false } => {
                write!(f, "{title}: the tree has more than {limit} rows")
            }
            AnswerError::TooManyRows { title, limit, with_earlier: true } => {
                write!(f, "{title}: the trees up to this one have more than {limit} rows")
            }
            AnswerError::BadCollections(what) => f.write_str(what),
            AnswerError::TooMuchWork(what) => f.write_str(what),
            AnswerError::SetTooLarge(objects) => {
                write!(f, "finding what {objects} objects retain together is too much work")
            }
            AnswerError::NoValues(why) => why.fmt(f),
            AnswerError::WrongFilter(error) => error.fmt(f),
            AnswerError::MixedFormats(first, other) => {
                write!(f, "one dump is {first}, another {other}: types of different runtimes do not compare")
            }
            AnswerError::TooFewDumps(there, MIN_JUDGED) => {
                let there = count_of(*there as u64, "dumps");
                write!(f, "a row that grows over {there} proves nothing: it takes {MIN_JUDGED} that can be read")
            }
            AnswerError::TooFewDumps(_, least) => write!(f, "a trend takes {least} dumps or more that can be read"),
            AnswerError::NoTimes => f.write_str("not every dump says when it was taken"),
            AnswerError::NoText(id) => {
                write!(f, "{id} is no string and no array of characters or bytes with contents in this dump")
            }
            AnswerError::NoPages => f.write_str("only V8 heap snapshots have pages, with nodes that may be detached"),
            AnswerError::NoLastingIds => f.write_str(
                "only V8 heap snapshots keep the ids of objects: elsewhere they are addresses, which change",
            ),
            AnswerError::OtherProcess { alike, of } => write!(
                f,
                "of the {of} ids in both snapshots, {alike} are of objects of the same type and size: these are not the same \
                 objects. Either the snapshots are of two processes, or of two inspector sessions of one, each of which \
                 numbers objects anew (two runs of `heapdump collect` are two); snapshots of one session keep the ids, \
                 and those that Node.js writes itself (--heapsnapshot-signal, v8.writeHeapSnapshot)"
            ),
            AnswerError::Unreachable(id) => {
                write!(f, "{id} is not reachable from any strong root, so it retains nothing")
            }
        }
    }
}

impl std::error::Error for AnswerError {}

impl From<TreeError> for AnswerError {
    fn from(error: TreeError) -> Self {
        match error {
            TreeError::Memory(error) => AnswerError::Memory(error),
            TreeError::NoReferences => AnswerError::NoReferences,
        }
    }
}

impl From<FilterProblem> for AnswerError {
    fn from(problem: FilterProblem) -> Self {
        match problem {
            FilterProblem::Wrong(error) => AnswerError::WrongFilter(error),
            FilterProblem::Memory(error) => AnswerError::Memory(error),
            FilterProblem::NoReferences => AnswerError::NoReferences,
            FilterProblem::NoValues(why) => AnswerError::NoValues(why),
        }
    }
}

impl From<MemoryError> for AnswerError {
    fn from(error: MemoryError) -> Self {
        AnswerError::Memory(error)
    }
}
