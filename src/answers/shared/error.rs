//! Reasons for a question to have no answer. Texts name no command-line options: `advice` adds those.

use crate::answers::shared::GroupBy;
use crate::dump::{DominatorError, MemoryError, NoValues};
use crate::filter::{FilterError, FilterProblem};
use crate::units::count_with_noun;

/// Dumps that prove that something grows, at least: two steps up prove nothing.
pub const MIN_JUDGED_DUMPS: usize = 4;

/// A reason for a question to have no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The dump holds allocation totals by backtrace and type, and the question is about objects.
    #[error("the dump holds allocation totals by backtrace and type, no objects")]
    NeedsObjects,
    /// The dump holds allocation totals, and the question is about objects that fulfil an expression.
    #[error("{}: none can be chosen by an expression", AnswerError::NeedsObjects)]
    FilterNeedsObjects,
    /// The dump holds allocation totals, and the question begins at an object: its id as it was typed.
    #[error("{objects}: there is no {0} to begin at", objects = AnswerError::NeedsObjects)]
    StartObjectNeedsObjectDump(String),
    /// The dump holds objects, and the question is about allocation totals.
    #[error("the dump holds objects, no allocation totals")]
    NeedsAllocations,
    /// One dump holds objects, the other allocation totals.
    #[error("one dump holds objects, the other allocation totals: nothing to compare")]
    MixedContents,
    /// There is not the memory for it.
    #[error(transparent)]
    OutOfMemory(#[from] MemoryError),
    /// The dump broke off before its references, on which the answer rests.
    #[error("{}", DominatorError::NoReferences)]
    NoReferences,
    /// The dump does not say what to group by: the group, and what is missing.
    #[error("this dump does not say {1}")]
    NoSuchGroups(GroupBy, &'static str),
    /// Rows cannot be ordered by this column: its key.
    #[error("rows cannot be ordered by {0}")]
    NoSuchOrder(&'static str),
    /// The dump does not say what objects own outside the heap: what it says in place of it.
    #[error("this dump has no bytes outside the heap of their own{0}")]
    NoOffHeapBytes(&'static str),
    /// Numbers are to be added up of a field that holds something else: its path.
    #[error("{0} has no numbers: what it holds can be grouped by, not added up")]
    NoNumbers(String),
    /// The dump was only counted, and a field takes its graph: its path, and why.
    #[error("{0} {1}: that takes the graph of the dump, which was only counted")]
    FieldNeedsGraph(String, String),
    /// No section is called so; there are these.
    #[error("no section \"{0}\"; there are: {there}", there = .1.join(", "))]
    NoSuchSection(String, Vec<String>),
    /// Several sections, by these numbers from 1, are called so.
    #[error("sections {numbers} are all called \"{0}\"; say which by number", numbers = numbers_in_words(.1))]
    AmbiguousSection(String, Vec<usize>),
    /// No object has this id (as it would be printed) in the dump.
    #[error("no object {0} in the dump")]
    NoSuchObject(String),
    /// No object has this id in the section asked for (its number from 1), but one has in another, by this full id.
    #[error("no object {0} in section {1}; there is {2}")]
    NoSuchObjectInSection(String, usize, String),
    /// Objects in several sections have this id; their full ids.
    #[error("object {0} is in several sections: {ids}", ids = .1.join(", "))]
    AmbiguousObject(String, Vec<String>),
    /// The question names a section, by its number from 1, for an object of another: its id.
    #[error("object {0} is not in section {1}")]
    ObjectInOtherSection(String, usize),
    /// The id names a section by a number that there is not: the id, and how many sections there are.
    #[error("object {0}: there are sections 1 to {1}")]
    NoSuchSectionOfObject(String, usize),
    /// No heap of the allocation totals fits what was asked for; there are these.
    #[error("no heap fits; there are: {there}", there = .0.join("; "))]
    NoSuchHeap(Vec<String>),
    /// No tree has a place of this path.
    #[error("no path {0:?}: names from the top down as the whole tree prints them, ';' between them")]
    NoSuchPath(String),
    /// A dump of objects is one memory dump, and another is asked for.
    #[error("the file has one dump, there is no \"{0}\"")]
    NoOtherMemoryDump(String),
    /// No memory dump of this number; there are so many.
    #[error("no dump \"{0}\"; there are 1 to {1}, last, and all")]
    NoSuchMemoryDump(String, usize),
    /// A heap has more pairs of backtrace and type than are kept: its title.
    #[error("{0}: too many pairs of backtrace and type")]
    TooManyBacktraceTypePairs(String),
    /// Names are so long that the paths of a heap, written out, take more memory than it is worth.
    #[error("names are so long that the paths take too much memory")]
    PathsTooLong,
    /// A tree has more rows than can be shown.
    #[error("{title}: {} more than {limit} rows", if *with_earlier { "the trees up to this one have" } else { "the tree has" })]
    TooManyRows {
        /// Its title.
        title: String,
        /// Rows of all trees of an answer, at most.
        limit: usize,
        /// Only together with the trees before it.
        with_earlier: bool,
    },
    /// The answer takes more work than is done without being asked: which work, in words.
    #[error("{0}")]
    TooMuchWork(String),
    /// The retained size of this many objects together takes more work than is done without being asked.
    #[error("finding what {0} objects retain together is too much work")]
    SetTooLarge(u64),
    /// No strong root reaches the object, so it retains nothing: its id.
    #[error("{0} is not reachable from any strong root, so it retains nothing")]
    Unreachable(String),
    /// Detached nodes are asked for, and the format has no pages.
    #[error("only V8 heap snapshots have pages, with nodes that may be detached")]
    NoDetachedNodes,
    /// Ids of the format do not stay with their objects.
    #[error("only V8 heap snapshots keep the ids of objects: elsewhere they are addresses, which change")]
    UnstableIds,
    /// The dumps are of two processes, or of sessions that numbered the objects anew: of the objects that have one id, so
    /// many are alike.
    #[error(
        "of the {of} ids in both snapshots, {alike} are of objects of the same type and size: these are not the same \
         objects. Either the snapshots are of two processes, or of two inspector sessions of one, each of which \
         numbers objects anew (two runs of `heapdump collect` are two). One run keeps its session open, and so the ids \
         (`heapdump collect PID --every 10min --times 3 -o FOLDER`); so do snapshots that Node.js writes itself \
         (--heapsnapshot-signal, v8.writeHeapSnapshot)"
    )]
    DifferentProcesses {
        /// Of the same type and size in both.
        alike: u64,
        /// Objects with an id that both dumps have.
        of: u64,
    },
    /// A table of collections makes no sense: where, and why.
    #[error("{0}")]
    InvalidCollectionTable(String),
    /// The dump's values cannot be had.
    #[error("{0}")]
    NoValues(NoValues),
    /// The object is no string and no array of characters or bytes: its id.
    #[error("{0} is no string and no array of characters or bytes with contents in this dump")]
    NotText(String),
    /// The object is no collection whose elements are known, and no array: its id.
    #[error("{0} is no collection that is known, and no array")]
    NoCollection(String),
    /// Dumps of two formats: types of different runtimes do not compare.
    #[error("one dump is {0}, another {1}: types of different runtimes do not compare")]
    MixedRuntimes(String, String),
    /// Dumps are to be put in order by their times, and one has none.
    #[error("not every dump says when it was taken")]
    NoDumpTimes,
    /// So few dumps that can be read prove nothing of what grows, or have no trend: how many there are, how many it takes.
    #[error("{text}", text = too_few_dumps_text(*.0, *.1))]
    TooFewDumps(usize, usize),
    /// The dump does not have what an expression names.
    #[error("{0}")]
    InvalidFilter(FilterError),
}

impl From<DominatorError> for AnswerError {
    fn from(error: DominatorError) -> Self {
        match error {
            DominatorError::Memory(error) => AnswerError::OutOfMemory(error),
            DominatorError::NoReferences => AnswerError::NoReferences,
        }
    }
}

impl From<FilterProblem> for AnswerError {
    fn from(problem: FilterProblem) -> Self {
        match problem {
            FilterProblem::Invalid(error) => AnswerError::InvalidFilter(error),
            FilterProblem::OutOfMemory(error) => AnswerError::OutOfMemory(error),
            FilterProblem::NoReferences => AnswerError::NoReferences,
            FilterProblem::NoValues(why) => AnswerError::NoValues(why),
        }
    }
}

fn too_few_dumps_text(there: usize, least: usize) -> String {
    let dumps = count_with_noun(there as u64, "dumps");
    match least {
        MIN_JUDGED_DUMPS => {
            format!("a row that grows over {dumps} proves nothing: it takes {MIN_JUDGED_DUMPS} that can be read")
        }
        _ => format!("a trend takes {least} dumps or more that can be read"),
    }
}

fn numbers_in_words(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// The way to get generations into a trace.
const GENERATIONS_HINT: &str = "; a .nettrace does when the keyword GCHeapSurvivalAndMovement (0x400000) was asked for as \
    well: 0x1D80001; a dump of Ruby when ObjectSpace.trace_object_allocations_start was called before";

/// The way to get places of allocation.
const FILES_HINT: &str = "; one of Ruby does when ObjectSpace.trace_object_allocations_start was called before, one of Python \
                          while tracemalloc runs";

const PACKAGES_HINT: &str =
    ": JavaScript has none; --by owner counts by type of the program, --by interval by time in a recording";

impl AnswerError {
    /// The error with the options that it is about, and what to do.
    pub fn advice(&self) -> String {
        match self {
            AnswerError::NeedsObjects => format!("{self}: use `heapdump breakdown`, or `stats`"),
            AnswerError::FilterNeedsObjects => format!("{self}; leave --where out"),
            AnswerError::StartObjectNeedsObjectDump(_) => format!("{self}; leave OBJID out"),
            AnswerError::NeedsAllocations => {
                "the dump holds objects: it has no processes with allocators; --domain chooses a section".into()
            }
            AnswerError::NoOtherMemoryDump(_) | AnswerError::NoSuchMemoryDump(..) => format!("--dump: {self}"),
            AnswerError::NoSuchHeap(there) => {
                format!(
                    "no heap fits --dump, --process and --allocator (capitals matter); there are: {}",
                    there.join("; ")
                )
            }
            AnswerError::NoSuchPath(_) => format!("--below: {self}"),
            AnswerError::NoSuchSection(..) | AnswerError::AmbiguousSection(..) => format!("--domain: {self}"),
            AnswerError::ObjectInOtherSection(..) => format!("{self}, which --domain asks for"),
            AnswerError::NoSuchObject(_) => format!("{self}; `heapdump list --ids` prints all ids"),
            AnswerError::AmbiguousObject(..) => format!("{self}; write it so, or say --domain"),
            AnswerError::NoSuchOrder("distance") => format!("--sort: {self}: only V8 heap snapshots have distances"),
            AnswerError::NoOffHeapBytes(_) => format!("--off-heap: {self}"),
            AnswerError::FieldNeedsGraph(..) => format!("{self}; leave --shallow out"),
            AnswerError::NoNumbers(path) => format!("{self}: --by {path}"),
            AnswerError::NoSuchGroups(GroupBy::Dominator, _) => {
                "--by dominator: dumps are not compared by it; `heapdump dominators --by dominator` groups one".into()
            }
            AnswerError::NoSuchGroups(by, _) => {
                let hint = match by {
                    GroupBy::Generation => GENERATIONS_HINT,
                    GroupBy::File => FILES_HINT,
                    GroupBy::Package | GroupBy::PackageLevels(_) => PACKAGES_HINT,
                    _ => "",
                };
                format!("--by {}: {self}{hint}", by.name())
            }
            AnswerError::TooMuchWork(what) => format!(
                "--retained=exact: {what}; -n N takes out the first N of an order by another column than retained, \
                 --retained alone gives the lower bound of all"
            ),
            AnswerError::SetTooLarge(_) => format!("{self}; fewer with --type"),
            AnswerError::TooFewDumps(_, MIN_JUDGED_DUMPS) => format!("--grows: {self}"),
            AnswerError::NoDumpTimes => format!("--sort-by-time: {self}"),
            AnswerError::NoDetachedNodes => format!("--detached: {self}"),
            AnswerError::PathsTooLong => format!("--paths: {self}; leave --paths out"),
            AnswerError::TooManyBacktraceTypePairs(_) => format!("{self}; a smaller --depth tells fewer apart"),
            AnswerError::TooManyRows { with_earlier, .. } => {
                let fewer = if *with_earlier { ", or fewer with --dump, --process and --allocator" } else { "" };
                format!("{self}; show less with --depth, --min-percent or -n{fewer}")
            }
            _ => self.to_string(),
        }
    }
}
