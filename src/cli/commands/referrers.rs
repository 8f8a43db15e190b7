//! `heapdump referrers`: who refers to it.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::answers::referrers;
use crate::answers::referrers::{ReferredTo, ReferrersOptions};
use crate::answers::tree::LazyTree;
use crate::cli::CommandOutcome;
use crate::cli::args::object_and_heap_args::{parse_object_id, split_object_and_file};
use crate::cli::args::options::{CommonArgs, RowArgs, ScopeArgs};
use crate::cli::terminal::{ask_dump::ask, session::Session};

/// What refers to an object, or to all objects of a type
///
/// Objects that refer to it, by type, with the names of the references where the dump has them; weak references are
/// among them. With --depth what refers to those in turn; an object of a row above is not listed again below it.
///
/// Example: heapdump referrers --type BubbleGame.Level dump.txt
///
/// Example: heapdump referrers 7fe45 dump.txt --depth 3
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "heapdump referrers [OPTIONS] OBJID [FILE]\n       heapdump referrers [OPTIONS] <--type PATTERN | --where EXPR> [FILE]"
)]
pub(crate) struct Args {
    /// The object's id as the dump writes it, and the dump
    #[arg(id = "words", value_names = ["OBJID", "FILE"], num_args = 0..=2)]
    object_and_file: Vec<OsString>,
    /// Levels of referrers, at most 500
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=500))]
    depth: u32,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<CommandOutcome> {
    let (options, file) = args.options()?;
    ask(session, file.as_deref(), &args.common.input, |asked| {
        let answer = referrers(asked.dump, &options).map_err(|error| asked.explain(error))?;
        session.print_answer(&answer, &args.common.output)?;
        if answer.referrers.is_empty() && answer.of.objects > 0 {
            asked.print_unless_quiet("no object of the dump refers to it");
        }
        let is_empty = answer.of.objects == 0;
        Ok(args.scope.outcome_with_note(asked, is_empty))
    })
}

impl Args {
    /// The question, and the file of the dump.
    pub(crate) fn options(&self) -> Result<(ReferrersOptions, Option<PathBuf>)> {
        let scope = self.scope.options()?;
        let (of, file) = match (scope.chooses_some(), &self.object_and_file[..]) {
            (true, [_, _, ..]) => bail!("--type and --where ask for all objects that match: leave OBJID out"),
            (true, words) => (ReferredTo::Scope, words.first().map(Into::into)),
            (false, words) => match split_object_and_file(words) {
                (Some(object), file) => (ReferredTo::Object(parse_object_id(&object)?), file),
                (None, _) => bail!(
                    "whose referrers? heapdump referrers OBJID [FILE], or --type PATTERN or --where EXPR for all that match"
                ),
            },
        };
        let options = ReferrersOptions {
            scope,
            depth: self.depth,
            order: self.rows.order(&ReferrersOptions::ORDERS)?,
            limits: self.rows.limits(&self.common.output),
            ..ReferrersOptions::new(of)
        };
        Ok((options, file))
    }
}
