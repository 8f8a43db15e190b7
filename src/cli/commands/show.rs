//! `heapdump show OBJID`: one object.

use anyhow::{Result, bail};

use crate::answers::{ObjectOptions, object};
use crate::cli::Outcome;
use crate::cli::args::object::{parse_object_id, split_object_and_file};
use crate::cli::args::options::{Common, LimitArgs, SectionArgs};
use crate::cli::terminal::{asking::ask, session::Session};
use crate::dump::NoValues;

/// One object: sizes, roots, references out and in
///
/// OBJID is written as the dump writes it; capitals, leading zeros and 0x do not matter. Where a file has several
/// sections with the same id, write 2#7c79f or say --domain.
///
/// Example: heapdump show 7fe45 dump.txt
#[derive(Debug, clap::Args)]
#[command(override_usage = "heapdump show [OPTIONS] OBJID [FILE]")]
pub(crate) struct Args {
    /// The object's id as the dump writes it, and the dump
    #[arg(value_names = ["OBJID", "FILE"], num_args = 0..=2)]
    words: Vec<String>,
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<Outcome> {
    let (object_id, file) = split_object_and_file(&args.words);
    let Some(object_id) = object_id else { bail!("which object? heapdump show OBJID [FILE]") };
    let options = ObjectOptions {
        scope: args.section.options(),
        rows: args.limit.limit_here(),
        ..ObjectOptions::new(parse_object_id(&object_id)?)
    };
    ask(session, file.as_deref(), &args.common.input, |asked| {
        asked.warn();
        let answer = object(asked.dump, &options).map_err(|error| asked.explain(error))?;
        session.print_answer(&answer, &args.common.output)?;
        if let Some(why) = answer.no_values.as_ref().filter(|why| !matches!(why, NoValues::Format(_))) {
            asked.note(&why.to_string());
        }
        Ok(Outcome::Done)
    })
}
