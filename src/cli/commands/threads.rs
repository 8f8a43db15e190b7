//! `heapdump threads`: what each thread holds and was doing.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;

use crate::answers::{AnswerError, ThreadsOptions, threads};
use crate::cli::CommandOutcome;
use crate::cli::args::object_and_heap_args::split_object_and_file;
use crate::cli::args::options::{CommonArgs, RowArgs, word_parser};
use crate::cli::terminal::{ask_dump::ask, session::Session};
use crate::report::Format;

/// Threads: what each retains, its stack, and the objects on it
///
/// All threads, the one that ran out of memory first; or those of one name, or the one with this id, each with its stack
/// and the local variables of every frame. A dump has the objects of locals, not the names of the variables. Exit code 1
/// when there is no such thread, or the dump does not say which there were.
///
/// Example: heapdump threads dump.hprof
///
/// Example: heapdump threads main dump.hprof
///
/// Example: heapdump threads dump.hprof -f jstack > threads.txt
#[derive(Debug, clap::Args)]
#[command(override_usage = "heapdump threads [OPTIONS] [NAME|OBJID] [FILE]")]
#[command(mut_arg("format", |format| format.value_parser(word_parser(Format::WORDS_OF_THREADS))))]
pub(crate) struct Args {
    /// The thread's name or id [default: all], and the dump; - for standard input
    #[arg(id = "words", value_names = ["NAME|OBJID", "FILE"], num_args = 0..=2)]
    thread_and_file: Vec<OsString>,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let (options, file) = args.options()?;
    ask(session, file.as_deref(), &args.common.input, |asked| {
        let answer = threads(asked.dump, &options).map_err(|error| asked.explain(error))?;
        session.print_answer(&answer, &args.common.output)?;
        if answer.thread_count == 0 {
            asked.print_unless_quiet("this dump does not say which threads there were");
            return Ok(CommandOutcome::NegativeAnswer);
        }
        let is_told = |why: &&AnswerError| matches!(why, AnswerError::NoValues(why) if why.concerns_every_answer());
        if let Some(why) = answer.no_values.as_ref().filter(|why| !is_told(why)) {
            asked.print_unless_quiet(&why.to_string());
        }
        let Some(which) = options.name_or_id.as_ref().filter(|_| answer.threads.is_empty()) else {
            return Ok(CommandOutcome::Answered);
        };
        asked.print_unless_quiet(&format!(
            "no thread is called \"{which}\" or has that id; there are {}",
            answer.thread_count
        ));
        Ok(CommandOutcome::NegativeAnswer)
    })
}

impl Args {
    /// The question, and the file of the dump.
    pub(crate) fn options(&self) -> Result<(ThreadsOptions, Option<PathBuf>)> {
        let (which, file) = split_object_and_file(&self.thread_and_file);
        let order = self.rows.order(&ThreadsOptions::ORDERS)?;
        Ok((ThreadsOptions { name_or_id: which, order, limits: self.rows.limits(&self.common.output) }, file))
    }
}
