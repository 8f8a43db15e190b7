//! The way of every question: open the dump, compute the answer, print it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Error, Result, anyhow};

use crate::answers::{AnswerError, GroupBy};
use crate::cli::Outcome;
use crate::cli::args::options::{InputArgs, OutputArgs};
use crate::cli::terminal::indexes::AnswerOutput;
use crate::cli::terminal::load::{self, Input, Memory, ReadDump};
use crate::cli::terminal::progress;
use crate::dump::{Content, OpenDump};
use crate::report::{Present, write, write_each};

/// A dump that a command asks, and what its errors need to be explained.
pub(crate) struct Asked<'d> {
    pub(crate) dump: &'d OpenDump,
    memory: &'d Memory,
}

/// Dumps of commands that ask one. They stay until the process ends: giving a large graph back piece by piece takes
/// longer than letting the system take all of it.
static KEPT: Mutex<Vec<OpenDump>> = Mutex::new(Vec::new());

/// Asks the dump that the options name. `question` prints through [`print_answer`].
pub(crate) fn ask(
    file: Option<&Path>,
    input: &InputArgs,
    question: impl Fn(&Asked<'_>) -> Result<Outcome>,
) -> Result<Outcome> {
    let place = Input::find(file)?;
    let (dump, outcome) = ask_place(&place, None, input, question)?;
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(dump);
    Ok(outcome)
}

/// Asks dumps together, for instance two that are compared: each is opened, and its problems said, before the next. All
/// stay in memory, within one limit.
pub(crate) fn ask_together(
    files: &[PathBuf],
    input: &InputArgs,
    question: impl Fn(&[Asked<'_>]) -> Result<Outcome>,
) -> Result<Outcome> {
    let mut opened = Vec::new();
    for file in files {
        let ReadDump { dump, memory, .. } = load::read_dump(&Input::find(Some(file))?, None, input)?;
        Asked { dump: &dump, memory: &memory }.warn(None, input.read.quiet);
        opened.push((dump, memory));
    }
    let asked: Vec<Asked<'_>> = opened.iter().map(|(dump, memory)| Asked { dump, memory }).collect();
    let outcome = question(&asked)?;
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).extend(opened.into_iter().map(|(dump, _)| dump));
    Ok(outcome)
}

/// Asks one dump of several; it is freed after the answer, so that there is memory for the next.
pub(crate) fn ask_one_of_several<T>(
    place: &Input,
    file: &str,
    input: &InputArgs,
    question: impl Fn(&Asked<'_>) -> Result<T>,
) -> Result<T> {
    ask_place(place, Some(file), input, question).map(|(_, answer)| answer)
}

fn ask_place<T>(
    place: &Input,
    file: Option<&str>,
    input: &InputArgs,
    question: impl Fn(&Asked<'_>) -> Result<T>,
) -> Result<(OpenDump, T)> {
    let ReadDump { dump, memory, .. } = load::read_dump(place, file, input)?;
    let answer = question(&Asked { dump: &dump, memory: &memory })?;
    Ok((dump, answer))
}

impl Asked<'_> {
    /// A library error in words that name the options.
    pub(crate) fn explain(&self, error: AnswerError) -> Error {
        match error {
            AnswerError::Memory(error) => self.memory.explain(error),
            error => explain(error),
        }
    }

    /// Makes sure that the dump holds objects.
    pub(crate) fn check_objects(&self) -> Result<()> {
        self.dump.graph().map(drop).ok_or_else(|| self.explain(AnswerError::NotObjects))
    }

    /// Says what is wrong with the dump, and what to know of it. `file` is its name where there are several.
    pub(crate) fn warn(&self, file: Option<&str>, quiet: bool) {
        load::warn(self.dump.diagnostics(), file, quiet);
        if let (Content::Objects(graph), false) = (self.dump.content(), quiet) {
            load::note_of_graph(graph, self.dump.info(), file);
        }
    }
}

/// A library error in words that name the options; memory is for [`Asked::explain`], which knows whose limit it is.
pub(crate) fn explain(error: AnswerError) -> Error {
    match error {
        AnswerError::NotObjects => anyhow!("{error}: use `heapdump breakdown`, or `stats`"),
        AnswerError::NoObjectsToBeginAt(_) => anyhow!("{error}; leave OBJID out"),
        AnswerError::NotAllocations => {
            anyhow!("the dump holds objects: it has no processes with allocators; --domain chooses a section")
        }
        AnswerError::OneMemoryDump(_) | AnswerError::NoSuchMemoryDump(..) => anyhow!("--dump: {error}"),
        AnswerError::NoSuchHeap(there) => {
            anyhow!("no heap fits --dump, --process and --allocator; there are: {}", there.join("; "))
        }
        AnswerError::NoSuchSection(..) | AnswerError::AmbiguousSection(..) => anyhow!("--domain: {error}"),
        AnswerError::OtherSection(..) => anyhow!("{error}, which --domain asks for"),
        AnswerError::NoSuchObject(_) => anyhow!("{error}; `heapdump list --ids` prints all ids"),
        AnswerError::AmbiguousObject(..) => anyhow!("{error}; write it so, or say --domain"),
        AnswerError::NoSuchGroups(by, _) => {
            let hint = if by == GroupBy::Generation { GENERATIONS_HINT } else { "" };
            anyhow!("--by {}: {error}{hint}", by.name())
        }
        AnswerError::TooMuchWork(what) => anyhow!(
            "--retained=exact: {what}; -n N takes out the first N of an order by another column than retained, \
             --retained alone gives the lower bound of all"
        ),
        AnswerError::PathsTooLong => anyhow!("--paths: {error}; leave --paths out"),
        AnswerError::TooManyPairs(_) => anyhow!("{error}; a smaller --depth tells fewer apart"),
        AnswerError::TooManyRows { with_earlier, .. } => {
            let fewer = if with_earlier { ", or fewer with --dump, --process and --allocator" } else { "" };
            anyhow!("{error}; show less with --depth, --min-percent or -n{fewer}")
        }
        error => error.into(),
    }
}

/// How to get generations into a trace.
const GENERATIONS_HINT: &str =
    "; a .nettrace does when the keyword GCHeapSurvivalAndMovement (0x400000) was asked for as well: 0x1D80001";

/// Prints an answer.
pub(crate) fn print_answer<A: Present>(answer: &A, output: &OutputArgs) -> Result<()> {
    progress::end();
    let mut out = AnswerOutput::begin();
    write(answer, &mut out, &output.style())?;
    Ok(out.finish()?)
}

/// Prints an answer that is bare words, one a line.
pub(crate) fn print_lines(mut lines: impl Iterator<Item = String>) -> Result<()> {
    progress::end();
    let mut out = AnswerOutput::begin();
    lines.try_for_each(|line| writeln!(out, "{line}"))?;
    Ok(out.finish()?)
}

/// Prints the answers of several files; nothing when there are none.
pub(crate) fn print_each<A: Present>(answers: &[(String, A)], output: &OutputArgs) -> Result<()> {
    if answers.is_empty() {
        return Ok(());
    }
    progress::end();
    let mut out = AnswerOutput::begin();
    write_each(answers, &mut out, &output.style())?;
    Ok(out.finish()?)
}
