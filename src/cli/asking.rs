//! The way of every question: open the dump, compute the answer, print it. An index that turns out damaged on the way is
//! dropped, and the dump is asked.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Error, Result, anyhow};

use super::common::{InputArgs, OutputArgs};
use super::load::{self, Memory, Place};
use super::output::print_sentence;
use super::{Outcome, progress};
use crate::answers::AnswerError;
use crate::dump::{Content, IndexUse, OpenDump, OpenOptions, RootPolicy};
use crate::report::{Present, write, write_each};

/// A dump that a command asks, and what its errors need to be explained.
pub(super) struct Asked<'d> {
    pub(super) dump: &'d OpenDump,
    memory: &'d Memory,
}

/// The index that an answer came from is damaged: nothing was printed of it.
#[derive(Debug)]
struct IndexIsDamaged(&'static str);

impl fmt::Display for IndexIsDamaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its index is damaged ({})", self.0)
    }
}

impl std::error::Error for IndexIsDamaged {}

/// Dumps of commands that ask one. They stay until the process ends: giving a large graph back piece by piece takes
/// longer than letting the system take all of it.
static KEPT: Mutex<Vec<OpenDump>> = Mutex::new(Vec::new());

/// Asks the dump that the options name; `question` opens nothing and prints through [`Asked::print`].
pub(super) fn ask(
    file: Option<&Path>,
    input: &InputArgs,
    question: impl Fn(&Asked<'_>) -> Result<Outcome>,
) -> Result<Outcome> {
    let place = Place::find(file)?;
    let (dump, outcome) = ask_place(&place, None, input, question)?;
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(dump);
    Ok(outcome)
}

/// Asks one dump of several; it is freed after the answer, so that there is memory for the next.
pub(super) fn ask_one_of_several<T>(
    place: &Place,
    file: &str,
    input: &InputArgs,
    question: impl Fn(&Asked<'_>) -> Result<T>,
) -> Result<T> {
    ask_place(place, Some(file), input, question).map(|(_, answer)| answer)
}

fn ask_place<T>(
    place: &Place,
    file: Option<&str>,
    input: &InputArgs,
    question: impl Fn(&Asked<'_>) -> Result<T>,
) -> Result<(OpenDump, T)> {
    let without = load::excluded_roots(input)?;
    let (options, _progress, memory) = load::open_options(file, &input.read)?;
    let options = OpenOptions {
        roots: RootPolicy { without, keep_unreachable: input.keep_unreachable },
        index: if input.no_index { IndexUse::Never } else { IndexUse::WhereFresh },
        ..options
    };
    let open = |options: &OpenOptions| -> Result<OpenDump> {
        let opened = match place {
            Place::Path(path) => options.open(path),
            Place::Stdin => options.open_reader(io::stdin()),
        };
        opened.map_err(|error| memory.explain_open(error)).with_context(|| place.name())
    };
    let ask = |dump: &OpenDump| -> Result<T> {
        let asked = Asked { dump, memory: &memory };
        let answer = question(&asked)?;
        asked.check_index()?;
        Ok(answer)
    };
    let dump = open(&options)?;
    match ask(&dump) {
        Err(error) if error.is::<IndexIsDamaged>() => {
            if !input.read.quiet {
                print_sentence(&format!("note: {}: {error}; reading the dump", place.name()));
            }
            let observer = Arc::clone(&options.observer);
            let dump = open(&OpenOptions { index: IndexUse::Never, observer, ..options.clone() })?;
            let answer = ask(&dump)?;
            Ok((dump, answer))
        }
        answer => Ok((dump, answer?)),
    }
}

impl Asked<'_> {
    /// A library error in words that name the options.
    pub(super) fn explain(&self, error: AnswerError) -> Error {
        match error {
            AnswerError::Memory(error) => self.memory.explain(error),
            AnswerError::NotObjects => anyhow!("{error}: use `heapdump breakdown`, or `stats`"),
            AnswerError::NotAllocations => {
                anyhow!("the dump holds objects: it has no processes with allocators; --domain chooses a section")
            }
            AnswerError::NoSuchMemoryDump(asked, 1) if self.dump.graph().is_some() => {
                anyhow!("--dump: the file has one dump, there is no \"{asked}\"")
            }
            AnswerError::NoSuchMemoryDump(..) => anyhow!("--dump: {error}"),
            AnswerError::NoSuchHeap(there) => {
                anyhow!("no heap fits --dump, --process and --allocator; there are: {}", there.join("; "))
            }
            AnswerError::NoSuchSection(..) | AnswerError::AmbiguousSection(..) => anyhow!("--domain: {error}"),
            AnswerError::OtherSection(..) => anyhow!("{error}, which --domain asks for"),
            AnswerError::NoSuchObject(_) => anyhow!("{error}; `heapdump list --ids` prints all ids"),
            AnswerError::AmbiguousObject(..) => anyhow!("{error}; write it so, or say --domain"),
            AnswerError::NoSuchGroups(..) => super::groups::explain(error),
            AnswerError::TooManyPairs(_) => anyhow!("{error}; a smaller --depth tells fewer apart"),
            error => error.into(),
        }
    }

    /// Says what is wrong with the dump, and what to know of it. `file` is its name where there are several.
    pub(super) fn warn(&self, file: Option<&str>, quiet: bool) {
        load::warn(self.dump.diagnostics(), file, quiet);
        if let (Content::Objects(graph), false) = (self.dump.content(), quiet) {
            load::note_of_graph(graph, self.dump.info(), file);
        }
    }

    /// Prints an answer, unless it came from a damaged index.
    pub(super) fn print<A: Present>(&self, answer: &A, output: &OutputArgs) -> Result<()> {
        self.check_index()?;
        progress::end();
        let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
        write(answer, &mut out, &output.style())?;
        Ok(out.flush()?)
    }

    /// Fails when what was read of the index so far is not to be believed.
    pub(super) fn check_index(&self) -> Result<()> {
        match self.dump.index_damage() {
            Some(why) => Err(IndexIsDamaged(why).into()),
            None => Ok(()),
        }
    }
}

/// Prints an answer that rests on no dump that is open.
pub(super) fn print_one<A: Present>(answer: &A, output: &OutputArgs) -> Result<()> {
    progress::end();
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    write(answer, &mut out, &output.style())?;
    Ok(out.flush()?)
}

/// Prints the answers of several files; nothing when there are none.
pub(super) fn print_each<A: Present>(answers: &[(String, A)], output: &OutputArgs) -> Result<()> {
    if answers.is_empty() {
        return Ok(());
    }
    progress::end();
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    write_each(answers, &mut out, &output.style())?;
    Ok(out.flush()?)
}
