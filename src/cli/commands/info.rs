//! `heapdump info`: what is this file.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::answers::{Info, InfoOfFiles, InfoOptions, info};
use crate::cli::CommandOutcome;
use crate::cli::args::options::{CommonArgs, RowArgs};
use crate::cli::terminal::ask_dump::{AskedDump, ask_input, ask_without_problems};
use crate::cli::terminal::{ask_dump::ask_each, session::Session};

/// What is this file: format, sections, records, problems
///
/// Also its version, the program that wrote it, whether the dump's own totals agree with what was read, and every kind
/// of problem met, with its count and first place.
///
/// Example: heapdump info dump.txt
///
/// Example: heapdump info *.gcdump --sort shallow
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dump, or several for a row each; - for standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// With system properties, environment and arguments of the process, where the dump has them
    #[arg(long)]
    properties: bool,
    /// Texts too whose name says password, token, secret or key
    #[arg(long, requires = "properties")]
    secrets: bool,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    if args.files.len() > 1 {
        return run_several(args, session);
    }
    let RowArgs { limit, sort } = &args.rows;
    let rows = [("-n", limit.limit.is_some()), ("--sort", sort.sort.is_some()), ("--reverse", sort.reverse)];
    if let Some((option, _)) = rows.iter().find(|(_, is_given)| *is_given) {
        bail!("{option}: what is told of one file has an order of its own; of several there is a table");
    }
    let file = args.files.first().map(PathBuf::as_path);
    ask_without_problems(session, file, &args.common.input, args.properties, |asked| {
        session.print_answer(&args.ask(asked)?, &args.common.output)?;
        Ok(CommandOutcome::Answered)
    })
}

impl Args {
    /// The question that these words ask, without a dump.
    pub(crate) fn options(&self) -> InfoOptions {
        InfoOptions { with_properties: self.properties, shows_secrets: self.secrets }
    }

    fn ask(&self, asked: &AskedDump<'_>) -> Result<Info> {
        info(asked.dump, &self.options()).map_err(|error| asked.explain(error))
    }
}

fn run_several(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let order = args.rows.order(&InfoOfFiles::ORDERS)?;
    let (answers, failed) = ask_each(session, &args.files, false, &args.common.input, |input, file| {
        Ok(ask_input(session, input, Some(file), &args.common.input, |asked| args.ask(asked))?.1)
    })?;
    if !answers.is_empty() {
        let answer = InfoOfFiles::new(answers, order, args.rows.limits(&args.common.output))?;
        session.print_answer(&answer, &args.common.output)?;
    }
    Ok(failed.unwrap_or(CommandOutcome::Answered))
}
