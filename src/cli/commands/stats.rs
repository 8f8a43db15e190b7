//! `heapdump stats`: how much is in the heap, by type, package, section, module or generation.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::answers::histogram::histogram_of_counts;
use crate::answers::{Histogram, HistogramOptions, histogram};
use crate::cli::Outcome;
use crate::cli::args::heaps::note_fuller_dump;
use crate::cli::args::histogram::HistogramArgs;
use crate::cli::render::histogram::limit_sentences;
use crate::cli::terminal::asking::{Asked, ask, ask_one_of_several, print_answer, print_each};
use crate::cli::terminal::each_file::ask_each;
use crate::cli::terminal::load::{self, Input};
use crate::cli::terminal::output::print_sentence;

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

pub(crate) fn run(Args { files, question: args }: &Args) -> Result<Outcome> {
    let options = args.options()?;
    let (input, output) = (&args.common.input, &args.common.output);
    if files.len() > 1 {
        let answers = ask_each(files, input, |place, file| match args.shallow {
            true => count(args, &options, place, Some(file)),
            false => ask_one_of_several(place, file, input, |asked| answer(args, &options, asked, Some(file))),
        })?;
        print_each(&answers.of_files, output)?;
        return Ok(answers.outcome(outcome(args, &answers.of_files)));
    }
    let file = files.first().map(PathBuf::as_path);
    let print = |answer| {
        print_answer(&answer, output)?;
        Ok(outcome(args, &[(String::new(), answer)]))
    };
    match args.shallow {
        true => print(count(args, &options, &Input::find(file)?, None)?),
        false => ask(file, input, |asked| print(answer(args, &options, asked, None)?)),
    }
}

/// The answer of a dump, after its problems on standard error.
fn answer(
    args: &HistogramArgs,
    options: &HistogramOptions,
    asked: &Asked<'_>,
    file: Option<&str>,
) -> Result<Histogram> {
    asked.warn(file, args.common.is_quiet());
    let is_graph = asked.dump.graph().is_some();
    if !is_graph && args.needs_objects() {
        bail!("the dump holds allocation totals, no objects: leave --by, --retained and --fail-over out");
    }
    let options = HistogramOptions { order: args.order(is_graph, !is_graph)?, ..options.clone() };
    let answer = histogram(asked.dump, &options).map_err(|error| asked.explain(error))?;
    answer.fuller_dump.iter().filter(|_| !args.common.is_quiet()).for_each(note_fuller_dump);
    Ok(answer)
}

/// The answer of a dump that is only counted.
fn count(args: &HistogramArgs, options: &HistogramOptions, place: &Input, file: Option<&str>) -> Result<Histogram> {
    let options = HistogramOptions { order: args.order_of_counts()?, ..options.clone() };
    let read = &args.common.input.read;
    let counted = load::count_types(place, file, read)?;
    load::warn(&counted.diagnostics, file, read.quiet);
    load::note_problem(&counted.diagnostics, &crate::input::POSSIBLE_REPEAT, file, read.quiet);
    Ok(histogram_of_counts(&counted, &options)?)
}

/// How the command ends, with the limits of each file on standard error.
fn outcome(args: &HistogramArgs, answers: &[(String, Histogram)]) -> Outcome {
    let nothing_matches = answers.iter().all(|(_, answer)| answer.rows.as_slice().is_empty());
    let outcome = args.types.outcome(nothing_matches && args.types.type_pattern.is_some(), args.common.is_quiet());
    answers.iter().flat_map(|(file, answer)| limit_sentences(file, answer)).for_each(|text| print_sentence(&text));
    let is_over = answers.iter().flat_map(|(_, answer)| &answer.limit_checks).any(|check| check.is_over());
    if is_over { Outcome::No } else { outcome }
}
