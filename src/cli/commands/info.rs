//! `heapdump info`: what is this file.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::answers::{FileOrder, Info, InfoOfFiles, InfoOptions, Limits, info};
use crate::cli::Outcome;
use crate::cli::args::options::{Common, LimitArgs, SortArgs, order_by};
use crate::cli::terminal::asking::{Asked, ask, ask_one_of_several, print_answer};
use crate::cli::terminal::each_file::ask_each;

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
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    order: SortArgs,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    if args.files.len() > 1 {
        return run_several(args);
    }
    for (is_given, option) in
        [(args.limit.limit.is_some(), "-n"), (args.order.sort.is_some(), "--sort"), (args.order.reverse, "--reverse")]
    {
        if is_given {
            bail!("{option}: what is told of one file has an order of its own; of several there is a table");
        }
    }
    let file = args.files.first().map(PathBuf::as_path);
    ask(file, &args.common.input, |asked| {
        print_answer(&info_of(asked)?, &args.common.output)?;
        Ok(Outcome::Done)
    })
}

fn info_of(asked: &Asked<'_>) -> Result<Info> {
    info(asked.dump, &InfoOptions::default()).map_err(|error| asked.explain(error))
}

fn run_several(args: &Args) -> Result<Outcome> {
    let known = [
        ("file", "file", FileOrder::File),
        ("format", "format", FileOrder::Format),
        ("sections", "sections", FileOrder::Sections),
        ("objects", "objects", FileOrder::Objects),
        ("shallow_bytes", "shallow", FileOrder::ShallowBytes),
        ("total_bytes", "bytes", FileOrder::TotalBytes),
        ("problems", "problems", FileOrder::Problems),
    ];
    let order = args.order.sort.as_deref().map(|column| order_by(column, &known)).transpose()?;
    let answers = ask_each(&args.files, &args.common.input, |place, file| {
        ask_one_of_several(place, file, &args.common.input, info_of)
    })?;
    let outcome = answers.outcome(Outcome::Done);
    if !answers.of_files.is_empty() {
        let limits = Limits { rows: args.limit.limit_here(), reverse: args.order.reverse };
        print_answer(&InfoOfFiles::new(answers.of_files, order, limits), &args.common.output)?;
    }
    Ok(outcome)
}
