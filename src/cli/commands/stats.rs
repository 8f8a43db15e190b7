//! `heapdump stats`: how much is in the heap, by type, package, section, module or generation.

use std::path::PathBuf;

use anyhow::{Error, Result, bail};

use crate::answers::histogram::histogram_of_counts;
use crate::answers::{Histogram, HistogramOptions, histogram};
use crate::cli::Outcome;
use crate::cli::args::heaps::fuller_dump_note;
use crate::cli::args::histogram::HistogramArgs;
use crate::cli::args::options::ReadArgs;
use crate::cli::terminal::asking::{Asked, ask_input, ask_with};
use crate::cli::terminal::load::{Input, count_types};
use crate::cli::terminal::{each_file::ask_each, notes, session::Session};

/// How much is in the heap, by type
///
/// Objects and shallow bytes, and how much of both GC roots reach; the rest is garbage not yet collected (on .NET
/// also what is on the frozen heap, which is alive without a root). By package: by what stands before the last dot of a type's name.
///
/// Example: heapdump stats dump.txt.gz -n 10
///
/// Example: heapdump stats dump.txt --retained --sort retained
///
/// Example: heapdump stats monday.gcdump friday.gcdump --type Cache
///
/// Example: heapdump stats dump.txt -f csv | sort -t, -k2 -rn | head
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dump, or several; - for standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    question: HistogramArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<Outcome> {
    let Args { files, question: args } = args;
    let options = args.options()?;
    let (input, output) = (&args.common.input, &args.common.output);
    if files.len() > 1 {
        let (answers, failed) = ask_each(session, files, false, input, |place, file| match args.shallow {
            true => count(args, session, &options, place, Some(file)),
            false => Ok(ask_input(session, place, Some(file), input, |asked| answer(args, &options, asked))?.1),
        })?;
        session.print_each(&answers, output)?;
        let outcome = outcome(args, session, &answers, None)?;
        return Ok(failed.unwrap_or(outcome));
    }
    let file = files.first().map(PathBuf::as_path);
    let print = |answer, asked: Option<&Asked<'_>>| {
        session.print_answer(&answer, output)?;
        outcome(args, session, &[(String::new(), answer)], asked)
    };
    match args.shallow {
        true => print(count(args, session, &options, &Input::find(file)?, None)?, None),
        false => {
            let with_values = args.scope.filter.words().is_some();
            ask_with(session, file, input, with_values, |asked| print(answer(args, &options, asked)?, Some(asked)))
        }
    }
}

/// The answer of a dump, after its problems on standard error.
fn answer(args: &HistogramArgs, options: &HistogramOptions, asked: &Asked<'_>) -> Result<Histogram> {
    asked.warn();
    let is_graph = asked.dump.graph().is_some();
    if !is_graph && args.needs_objects() {
        bail!("the dump holds allocation totals, no objects: leave --by, --retained, --where and --fail-over out");
    }
    asked.note_unmatched_owners(&options.own_types);
    let options = args.ordered(options, is_graph, !is_graph)?;
    let answer = histogram(asked.dump, &options).map_err(|error| asked.explain(error))?;
    let fuller = answer.fuller_dump.iter().map(fuller_dump_note);
    fuller.chain(answer.owner_note()).for_each(|note| asked.note(&note));
    Ok(answer)
}

/// The answer of a dump that is only counted.
fn count(
    args: &HistogramArgs,
    session: &Session,
    options: &HistogramOptions,
    input: &Input,
    file: Option<&str>,
) -> Result<Histogram> {
    let options = args.ordered(options, false, false)?;
    let counted = count_types(session, input, file, &args.common.input.read)?;
    if !args.common.input.read.quiet {
        notes::warn_of_counted(session, &counted.diagnostics, file);
    }
    histogram_of_counts(&counted, &options).map_err(|error| Error::msg(error.advice()))
}

/// The end of the command, with the limits of each file on standard error; for one dump nearly equal names of types are named.
fn outcome(
    args: &HistogramArgs,
    session: &Session,
    answers: &[(String, Histogram)],
    asked: Option<&Asked<'_>>,
) -> Result<Outcome> {
    let ReadArgs { quiet, strict, .. } = args.common.input.read;
    let is_empty = answers.iter().all(|(_, answer)| answer.rows.as_slice().is_empty());
    let outcome = match asked {
        Some(asked) => args.scope.outcome(asked, is_empty),
        None => args.scope.outcome_of_several(session, is_empty, quiet),
    };
    let sentences = answers.iter().flat_map(|(file, answer)| answer.limit_sentences(file, strict));
    sentences.for_each(|text| session.print_sentence(&text));
    let mut checks = answers.iter().flat_map(|(_, answer)| &answer.limit_checks);
    if strict && checks.clone().any(|check| check.bytes.is_none()) {
        return Ok(Outcome::Failed);
    }
    if checks.any(|check| check.is_over()) {
        return Ok(Outcome::No);
    }
    let dumps = answers.iter().map(|(file, answer)| (file.as_str(), &answer.problems[..]));
    args.lenient.check(!args.fail_over.is_empty(), dumps)?;
    Ok(outcome)
}
