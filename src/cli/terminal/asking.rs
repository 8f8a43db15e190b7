//! The way of every question: open the dump, compute the answer, print it.

use std::path::{Path, PathBuf};

use anyhow::{Error, Result};

use crate::answers::AnswerError;
use crate::cli::Outcome;
use crate::cli::args::options::InputArgs;
use crate::cli::terminal::load::{Input, Memory, read_dump};
use crate::cli::terminal::notes;
use crate::cli::terminal::session::Session;
use crate::dump::{Content, NoValues, OpenDump};

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
    ask_with(session, file, args, true, question)
}

/// The same; a question without values has no use for fields, texts and names of references.
pub(crate) fn ask_with(
    session: &Session,
    file: Option<&Path>,
    args: &InputArgs,
    with_values: bool,
    question: impl FnOnce(&Asked<'_>) -> Result<Outcome>,
) -> Result<Outcome> {
    let (dump, memory) = read_dump(session, &Input::find(file)?, None, args, with_values)?;
    let asked = Asked { session, dump: &dump, file: None, memory: &memory, is_quiet: args.read.quiet };
    let outcome = question(&asked)?;
    asked.note_missing_fields();
    if with_values {
        asked.note_missing_values();
    }
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
        let new = read_dump(session, &Input::find(Some(file))?, None, args, true)?;
        asked(session, &new, args).warn();
        opened.push(new);
    }
    let dumps: Vec<Asked<'_>> = opened.iter().map(|dump| asked(session, dump, args)).collect();
    let outcome = question(&dumps)?;
    dumps.iter().for_each(|dump| {
        dump.note_missing_fields();
        dump.note_missing_values();
    });
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
    let (dump, memory) = read_dump(session, input, file, args, true)?;
    let asked = Asked { session, dump: &dump, file, memory: &memory, is_quiet: args.read.quiet };
    let answer = question(&asked)?;
    asked.note_missing_fields();
    Ok((dump, answer))
}

impl Asked<'_> {
    /// A library error in words that name the options.
    pub(crate) fn explain(&self, error: AnswerError) -> Error {
        match error {
            AnswerError::Memory(error) => self.memory.explain(error),
            AnswerError::WrongFilter(error) => Error::new(error).context("--where"),
            error => Error::msg(error.advice()),
        }
    }

    /// Prints a sentence that quiet leaves out.
    pub(crate) fn note(&self, text: &str) {
        if !self.is_quiet {
            self.session.print_sentence(text);
        }
    }

    /// Says which fields that were asked for no object has.
    fn note_missing_fields(&self) {
        self.dump.missing_fields_note().iter().for_each(|note| self.note(note));
    }

    /// Says what an answer of a pipe does not have.
    fn note_missing_values(&self) {
        if let Err(why @ NoValues::Pipe) = self.dump.values() {
            self.note(&why.to_string());
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
