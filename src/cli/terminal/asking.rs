//! The way of every question: open the dump, compute the answer, print it.

use std::path::{Path, PathBuf};

use anyhow::{Error, Result, anyhow};

use crate::answers::{AnswerError, GroupBy};
use crate::cli::Outcome;
use crate::cli::args::options::InputArgs;
use crate::cli::terminal::load::{Input, Memory, read_dump};
use crate::cli::terminal::notes;
use crate::cli::terminal::session::Session;
use crate::dump::{Content, OpenDump};

/// A dump that a command asks, and what its errors need to be explained.
pub(crate) struct Asked<'d> {
    pub(crate) session: &'d Session,
    pub(crate) dump: &'d OpenDump,
    /// Its name, where there are several.
    pub(crate) file: Option<&'d str>,
    memory: &'d Memory,
    is_quiet: bool,
}

/// Asks the dump that the options name.
pub(crate) fn ask(
    session: &Session,
    file: Option<&Path>,
    args: &InputArgs,
    question: impl FnOnce(&Asked<'_>) -> Result<Outcome>,
) -> Result<Outcome> {
    let (dump, outcome) = ask_input(session, &Input::find(file)?, None, args, question)?;
    session.keep(dump);
    Ok(outcome)
}

/// Asks dumps together, for instance two that are compared: each is opened, and its problems said, before the next. All
/// stay in memory, within one limit.
pub(crate) fn ask_together(
    session: &Session,
    files: &[PathBuf],
    args: &InputArgs,
    question: impl FnOnce(&[Asked<'_>]) -> Result<Outcome>,
) -> Result<Outcome> {
    fn asked<'d>(session: &'d Session, (dump, memory): &'d (OpenDump, Memory), args: &InputArgs) -> Asked<'d> {
        Asked { session, dump, file: None, memory, is_quiet: args.read.quiet }
    }
    let mut opened = Vec::new();
    for file in files {
        let new = read_dump(session, &Input::find(Some(file))?, None, args)?;
        asked(session, &new, args).warn();
        opened.push(new);
    }
    let dumps: Vec<Asked<'_>> = opened.iter().map(|dump| asked(session, dump, args)).collect();
    let outcome = question(&dumps)?;
    opened.into_iter().for_each(|(dump, _)| session.keep(dump));
    Ok(outcome)
}

/// Asks a dump. One of several, with its name, is to be freed after the answer, so that there is memory for the next.
pub(crate) fn ask_input<T>(
    session: &Session,
    input: &Input,
    file: Option<&str>,
    args: &InputArgs,
    question: impl FnOnce(&Asked<'_>) -> Result<T>,
) -> Result<(OpenDump, T)> {
    let (dump, memory) = read_dump(session, input, file, args)?;
    let answer = question(&Asked { session, dump: &dump, file, memory: &memory, is_quiet: args.read.quiet })?;
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

    /// Prints a sentence that quiet leaves out.
    pub(crate) fn note(&self, text: &str) {
        if !self.is_quiet {
            self.session.print_sentence(text);
        }
    }

    /// Says what is wrong with the dump, and what to know of it.
    pub(crate) fn warn(&self) {
        if self.is_quiet {
            return;
        }
        notes::warn(self.session, self.dump.diagnostics(), self.file);
        if let Content::Objects(graph) = self.dump.content() {
            notes::note_of_graph(self.session, graph, self.dump.info(), self.file);
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
