//! `heapdump info`: what is this file.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::answers::{Info, InfoOptions, info};
use crate::cli::Outcome;
use crate::cli::args::options::{Common, LimitArgs, SortArgs, sort_key};
use crate::cli::render::{InfoOfFile, InfoOfFiles};
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
        ("file", "file"),
        ("format", "format"),
        ("sections", "sections"),
        ("objects", "objects"),
        ("shallow_bytes", "shallow"),
        ("total_bytes", "bytes"),
        ("problems", "problems"),
    ];
    let order = args.order.sort.as_deref().map(|column| sort_key(Some(column), "file", &known)).transpose()?;
    let answers = ask_each(&args.files, &args.common.input, |place, file| {
        ask_one_of_several(place, file, &args.common.input, info_of)
    })?;
    let outcome = answers.outcome(Outcome::Done);
    let mut files: Vec<InfoOfFile> =
        answers.of_files.into_iter().map(|(file, info)| InfoOfFile { file, info }).collect();
    if let Some(order) = order {
        sort_rows(&mut files, order);
    }
    if args.order.reverse {
        files.reverse();
    }
    let shown = args.limit.rows(files.len());
    let hidden = files.len() - shown;
    files.truncate(shown);
    if !files.is_empty() || hidden > 0 {
        print_answer(&InfoOfFiles { files, hidden }, &args.common.output)?;
    }
    Ok(outcome)
}

/// By a column, figures largest first; files that are equal stay in the order they were named in.
fn sort_rows(rows: &mut [InfoOfFile], order: &str) {
    let figure = |row: &InfoOfFile| match order {
        "sections" => row.info.section_count() as u64,
        "objects" => row.info.objects().map_or(0, |(objects, _)| objects),
        "shallow_bytes" => row.info.objects().map_or(0, |(_, bytes)| bytes),
        "total_bytes" => row.info.allocated().map_or(0, |(_, bytes)| bytes),
        "problems" => row.problem_count(),
        _ => 0,
    };
    rows.sort_by(|a, b| match order {
        "file" => a.file.cmp(&b.file),
        "format" => a.info.format().format.cmp(&b.info.format().format),
        _ => figure(b).cmp(&figure(a)),
    });
}
