//! `heapdump show OBJID...`: single objects.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::answers::{ObjectAnswers, ObjectOptions, object};
use crate::cli::Outcome;
use crate::cli::args::object::{parse_object_id, read_object_ids, split_objects_and_file};
use crate::cli::args::options::{Common, LimitArgs, SectionArgs};
use crate::cli::terminal::{asking::ask, session::Session};
use crate::dump::NoValues;

/// Objects: sizes, roots, references out and in
///
/// OBJID is written as the dump writes it; capitals, leading zeros and 0x do not matter. Where a file has several
/// sections with the same id, write 2#7c79f or say --domain. The dump is read once, however many there are.
///
/// Example: heapdump show 7fe45 dump.txt
///
/// Example: heapdump list dump.txt --type Cache --ids -n 3 | heapdump show --ids-from - dump.txt
#[derive(Debug, clap::Args)]
#[command(override_usage = "heapdump show [OPTIONS] OBJID... [FILE]")]
pub(crate) struct Args {
    /// The objects' ids as the dump writes them, and the dump
    #[arg(value_names = ["OBJID", "FILE"], num_args = 0..)]
    words: Vec<String>,
    /// Ids from a file too, one a line; - for standard input
    #[arg(long, value_name = "FILE")]
    ids_from: Option<PathBuf>,
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<Outcome> {
    let (mut ids, file) = split_objects_and_file(&args.words);
    if let Some(from) = &args.ids_from {
        if from.as_os_str() == "-" && file.as_deref().is_none_or(|file| file.as_os_str() == "-") {
            bail!("--ids-from - takes standard input: name the dump");
        }
        ids.extend(read_object_ids(from)?);
    }
    if ids.is_empty() {
        bail!("which object? heapdump show OBJID... [FILE]");
    }
    let option = |id: &String| -> Result<ObjectOptions> {
        let (scope, rows) = (args.section.options(), args.limit.limit_here());
        Ok(ObjectOptions { scope, rows, ..ObjectOptions::new(parse_object_id(id)?) })
    };
    let options = ids.iter().map(option).collect::<Result<Vec<_>>>()?;
    ask(session, file.as_deref(), &args.common.input, |asked| {
        asked.warn();
        let answers = options.iter().map(|options| object(asked.dump, options));
        let answers: ObjectAnswers<'_> = answers.collect::<Result<_, _>>().map_err(|error| asked.explain(error))?;
        match &answers.objects[..] {
            [answer] => session.print_answer(answer, &args.common.output)?,
            _ => session.print_answer(&answers, &args.common.output)?,
        }
        let why = answers.objects.first().and_then(|answer| answer.no_values.as_ref());
        if let Some(why) = why.filter(|why| !matches!(why, NoValues::Format(_))) {
            asked.note(&why.to_string());
        }
        Ok(Outcome::Done)
    })
}
